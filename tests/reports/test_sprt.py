"""Tables of simulations."""

from __future__ import annotations

from enginetour.formats.planning import Candidate, Night, Played, Proposal
from enginetour.formats.simulation import FIGURES, ComparisonResult, Estimate, SimulationModel, SimulationResult
from enginetour.model.game import Entrant
from enginetour.ratings.design import Goal
from enginetour.reports.sheet import render
from enginetour.reports.sprt import comparison_rows, comparison_sheet, plan_sheet, rehearsal_row, rehearsal_sheet

SOME = {name: Estimate(0.5, 0.0123) for name in FIGURES}
NONE = {name: Estimate(0.0, 0.0) for name in FIGURES}
FOUND = [
    ComparisonResult("swiss-gotha", {**SOME, "games": Estimate(96, 0.0), "gap": Estimate(188.4, 1.6)}, NONE),
    ComparisonResult("mcmahon:base=2000:groups=bands:bar=2:floor=-2", {**SOME, "games": Estimate(96.5, 0.04)}, SOME),
]


def test_an_error_is_never_shown_as_nothing() -> None:
    """A figure without error has no ±, and a small error has as many decimals as necessary."""
    text = render(comparison_sheet("title", FOUND), 80)
    assert " 96 " in text and "188±2" in text
    assert "96.50±0.04" in text and "0.500±0.012" in text
    assert "over swiss-gotha: by table +0.500 ± 0.012" in " ".join(text.split())


def test_a_comparison_keeps_to_the_window() -> None:
    """Short names fit one block of 80 columns. With long names the last figures continue in a block below."""
    lines = render(comparison_sheet("title", FOUND[:1]), 80).splitlines()
    assert lines[1].split()[0] == "system" and lines[1].endswith("gap")
    sure = {name: Estimate(0.98765, 0.00012) for name in FIGURES} | {"games": Estimate(1_999_000.0, 0.04)}
    text = render(comparison_sheet("title", [*FOUND, ComparisonResult("swiss" + "-gotha" * 9, sure, sure)]), 80)
    assert max(map(len, text.splitlines())) <= 80
    assert all(text.count(word) == 1 for word in ("1999000.00±0.04", "188±2", "tau by fit", "gap\n"))


def test_rows_have_figure_and_error() -> None:
    """Each row has every figure with its error, and the difference to the first system."""
    first, second = comparison_rows(FOUND).rows
    assert {*FIGURES, *(f"{name}_error" for name in FIGURES)} < set(first)
    assert (first["tau_fit_above"], second["tau_fit_above"]) == (0.0, 0.5)


def test_one_configuration() -> None:
    """The table has the fewest, expected and most games, and the duration if a clock limits it."""
    found = SimulationResult({**SOME, "games": Estimate(1270.0, 3.0)}, 1000, 2000, 1200.0, 1340.0)
    text = render(rehearsal_sheet("title", found, 2.0))
    assert "1270 ± 3, 80 % between 1200 and 1340" in text and "2 h 00 min if all games are long" in text
    assert "time" not in render(rehearsal_sheet("title", found, None)).partition("tau:")[0]
    row = rehearsal_row(found, None).rows[0]
    assert (row["fewest"], row["games"], row["most"], row["hours"]) == (1000, 1270.0, 2000, None)


def test_a_plan_with_few_simulations_says_so() -> None:
    """The notes name formats without a simulation, formats that are too long, and few simulations."""
    night = Night(tuple(map(Entrant, "AB")), SimulationModel(), 100, Goal(error=30.0))
    played = [Played(90, 20.0, 1.0, 1.0, False, 41.0, ((1, 1),)) for _ in range(4)]
    best = Proposal.of(Candidate("roundrobin", {"cycles": 45}), night, played)
    sheet = plan_sheet(
        "night", "as given", [best], lambda games: games / 100, {"bubble": 2.5, "dutch": 0.03}, ["adaptive"]
    )
    assert sheet.rows[0]["hours"] == 0.9
    notes = " ".join(sheet.notes)
    assert "too long: bubble (2 h 30 min), dutch (2 min)" in notes
    assert "not simulated in time: adaptive" in notes
    assert "fewer than 10 simulations" in notes
    assert "leaves an interval too wide: place 1 (100%)" in notes
    assert "median of the largest with roundrobin: ± 41.0" in notes
