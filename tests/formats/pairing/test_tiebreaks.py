"""Tests of formats/pairing/tiebreaks."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest

from enginetour.formats.pairing.field import BLACK, NEITHER, WHITE, Field, Kind, Member, Turn
from enginetour.formats.pairing.standings import Scored, code_values, cross, total
from enginetour.formats.pairing.tiebreaks import (
    CODES,
    NOTHING,
    PLACEMENT_CODES,
    PlacementTerms,
    Tally,
    against,
    direct_encounter,
    sonneborn_berger,
)
from enginetour.interop.pairers import rank_report
from enginetour.interop.trf import read
from enginetour.model.errors import UsageRefused
from enginetour.model.game import Outcome

GAMES = [
    Scored("A", "B", Outcome.WHITE),
    Scored("C", "A", Outcome.WHITE),
    Scored("B", "C", Outcome.DRAW),
    Scored("D", "A", Outcome.BLACK),
    Scored("B", "D", Outcome.WHITE),
    Scored("C", "D", Outcome.BLACK),
]
CROSS = cross(GAMES)
SUMS = {name: total(CROSS, name) for name in "ABCD"}


def test_sonneborn_berger_in_quarter_points() -> None:
    """Beaten opponents count fully, drawn ones half."""
    assert {name: tally.half_points for name, tally in SUMS.items()} == {"A": 4, "B": 3, "C": 3, "D": 2}
    assert sonneborn_berger("A", CROSS, SUMS) == 2 * 3 + 2 * 2  # beat B and D
    assert sonneborn_berger("B", CROSS, SUMS) == 1 * 3 + 2 * 2  # drew C, beat D
    assert sonneborn_berger("C", CROSS, SUMS) == 2 * 4 + 1 * 3


def test_sonneborn_berger_counts_listed_opponents_only() -> None:
    """Withdrawn opponents do not count."""
    assert sonneborn_berger("A", CROSS, {"A": Tally(2), "B": Tally(1), "C": Tally(3)}) == 2 * 1


def test_direct_encounter_among_the_tied() -> None:
    """Only points against tied entrants count."""
    assert direct_encounter(["A", "B", "C"], CROSS) == {"A": 2, "B": 1, "C": 3}
    assert direct_encounter(["A"], CROSS) == {"A": 0}


def test_direct_encounter_needs_all_to_have_met() -> None:
    """A pair that has not met makes all values 0."""
    assert direct_encounter(["A", "B"], cross([GAMES[1]])) == {"A": 0, "B": 0}


def test_wins_are_counted() -> None:
    """Wins count with both colors."""
    assert CODES["WIN"]("ABCD", CROSS, SUMS) == {"A": 2, "B": 1, "C": 1, "D": 1}


def test_strangers_have_an_empty_tally() -> None:
    """Unmet and unknown opponents have an empty tally."""
    assert against(CROSS, "A", "Z") is NOTHING
    assert against(CROSS, "Z", "A") is NOTHING


GOLDEN = Path(__file__).parents[2] / "golden" / "tiebreaks"
ALONE = {"P": Turn(Kind.BYE, points=2), "H": Turn(Kind.HALF_BYE, points=1), "Z": Turn()}
COLORS = {"W": WHITE, "B": BLACK, "F": NEITHER}
ROUNDS = "12345"
FIDE = PlacementTerms(unplayed="fide")
# 62.5, 37.5 and 12.5 %: the slides take the middle of two lines of the table, we the upper one: a half is rounded up.
BETWEEN = {"7": 4, "8": 4, "14": 7}
# 2 (2500) beat 8 (2000): the slides count more than 400 points of difference as 400, FIDE's exercises do not.
FARTHEST = 400.0

Row = dict[str, str]


def rows(name: str) -> list[Row]:
    with (GOLDEN / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def tournament(read: list[Row]) -> Field:
    """Return all five rounds of the exercise."""
    members = tuple(Member(row["number"], float(row["rating"])) for row in read)
    history = tuple(tuple(turn(row[number]) for row in read) for number in ROUNDS)
    for row in history:
        for place, one in enumerate(row):
            assert one.opponent is None or row[one.opponent].opponent == place
            assert one.opponent is None or one.points + row[one.opponent].points == 2
    return Field(members, history, tuple(range(len(members))), len(ROUNDS))


def turn(word: str) -> Turn:
    if word in ALONE:
        return ALONE[word]
    kind = Kind.FORFEIT if word[1] == "F" else Kind.PLAYED
    return Turn(kind, int(word[2:]) - 1, COLORS[word[1]], "-=+".index(word[0]), games=int(kind is Kind.PLAYED))


def told(code: str, name: str) -> Iterator[tuple[str, float, float]]:
    """Return number, published value and computed value."""
    read = rows(name)
    found = code_values(tournament(read), [code], FIDE)[code]
    for row, value in zip(read, found, strict=True):
        yield row["number"], float(row[code]), value / PLACEMENT_CODES[code].per


@pytest.mark.parametrize("code", ["PTS", "ARO", "TPR", "WIN", "WON", "BPG", "PS"])
def test_the_exercises_of_2023(code: str) -> None:
    """All values that rules of 2026 did not change are the published ones."""
    assert [(number, mine) for number, _, mine in told(code, "exercises-2023")] == [
        (number, theirs) for number, theirs, _ in told(code, "exercises-2023")
    ]


@pytest.mark.parametrize(
    ("code", "less"),
    [
        ("BH", {"4": 3.5 - 2.5, "6": 3.0 - 2.5, "11": 2.5 - 1.5}),
        ("BH-C1", {"4": 0.0, "6": 3.0 - 2.5, "11": 2.5 - 1.5}),
        ("SB", {"4": (3.5 - 2.5) / 2, "6": 3.0 - 2.5, "11": 2.5 - 1.5}),
    ],
)
def test_the_dummy_of_2026_has_a_ceiling(code: str, less: dict[str, float]) -> None:
    """Only the values of three entrants differ from 2023, whose dummy is limited.

    The half-point bye of entrant 4 is cut first, so its BH-C1 does not differ.
    """
    for number, theirs, mine in told(code, "exercises-2023"):
        assert (number, mine) == (number, theirs - less.get(number, 0.0))


def test_average_buchholz_of_the_opponents() -> None:
    """Averages without these three opponents are the published ones."""
    read = rows("exercises-2023")
    changed = {
        row["number"] for row in read if {"4", "6", "11"} & {row[number][2:] for number in ROUNDS if row[number][2:]}
    }
    kept = [(theirs, mine) for number, theirs, mine in told("AOB", "exercises-2023") if number not in changed]
    assert len(kept) == 5 and all(mine == theirs for theirs, mine in kept)


def nearer(read: list[Row], row: Row) -> PlacementTerms:
    """Return ratings limited to `FARTHEST` points from one entrant's."""
    own = float(row["rating"])
    seen = (min(max(float(other["rating"]), own - FARTHEST), own + FARTHEST) for other in read)
    return PlacementTerms(unplayed="fide", ratings=tuple(seen))


def test_performances_of_the_slides_of_2026() -> None:
    """Performances with forfeits, byes and absences are the published ones."""
    read = rows("slides-2026")
    for place, row in enumerate(read):
        mine = code_values(tournament(read), ["TPR"], nearer(read, row))["TPR"][place]
        assert (row["number"], mine) == (row["number"], float(row["TPR"]) + BETWEEN.get(row["number"], 0))


def test_opponents_count_with_their_own_rating() -> None:
    """Without the limit of the slides, only two values differ."""
    off = {number: mine - theirs for number, theirs, mine in told("TPR", "slides-2026") if mine != theirs}
    assert off == {"2": -20, "7": 4, "8": 29, "14": 7}
    read = rows("exercises-2023")
    limited = [
        code_values(tournament(read), ["TPR"], nearer(read, row))["TPR"][place] for place, row in enumerate(read)
    ]
    assert sum(mine != float(row["TPR"]) for mine, row in zip(limited, read, strict=True)) == 8


@pytest.mark.parametrize(
    ("code", "number", "value"),
    [
        ("BH", "11", 11.5),  # everybody played all rounds
        ("BH", "3", 15.0),  # an opponent won by forfeit and went on: at face value, 16.3.1
        ("BH", "4", 13.5),  # own forfeit: the dummy has what the opponent has who did not come, 16.4.1
        ("BH", "14", 10.0),  # own absence: the dummy has the own score, here below five draws, 16.4.2
        ("BH-C1", "11", 10.0),
        ("BH-C1", "14", 9.5),  # the absence is cut, 16.5
        ("PS", "1", 12.5),
        ("PS", "2", 11.0),
    ],
)
def test_the_worked_entrants_of_the_slides_of_2026(code: str, number: str, value: float) -> None:
    """Each example of section 16 has its published value."""
    read = rows("slides-2026")
    found = code_values(tournament(read), [code], FIDE)[code]
    assert found[int(number) - 1] / PLACEMENT_CODES[code].per == value


def report_of(read: list[Row], *lines: str) -> str:
    """Return the tournament as a TRF with open ranks."""
    result = {"+": "1", "-": "0", "=": "="}
    text = [*lines]
    for row in read:
        cells = []
        for word in (row[number] for number in ROUNDS):
            alone = {"P": "U"}.get(word, word)
            if word in ALONE:
                cells.append(f"0000 - {alone}")
            elif word[1] == "F":
                cells.append(f"{int(word[2:]):4d} - {word[0]}")
            else:
                cells.append(f"{int(word[2:]):4d} {word[1].lower()} {result[word[0]]}")
        head = f"001 {int(row['number']):4d}      {'E' + row['number']:33} {row['rating']:>4}"
        text.append(f"{head:80}{float(row['PTS']):4.1f}       " + "  ".join(cells))
    return "\n".join(text)


CODES_OF_2023 = ("BH-C1", "BH", "SB", "AOB", "PS", "ARO", "TPR", "WIN", "WON", "BPG")


def test_a_file_is_ranked_by_the_rules_of_2023() -> None:
    """All published values follow from a TRF and the rules of 2023."""
    wanted = rows("exercises-2023")
    codes = "BH:GP/C1,BH,SB,AOB,PS,ARO,TPR,WIN,WON,BPG"
    found = rank_report(read(report_of(wanted, "012 Exercises", "142 5", f"202 {codes}")), None, "fide-2023")
    assert found.title == "Exercises" and found.finished and len(found.placed) == 16
    by_name = {line.name: line for line in found.placed}
    for row in wanted:
        line = by_name[f"E{row['number']}"]
        assert line.half_points == 2 * float(row["PTS"])
        values = {code: value / PLACEMENT_CODES[code].per for code, value in line.tiebreaks}
        assert values == {code: float(row[code]) for code in CODES_OF_2023}, row["number"]
    best = sorted(wanted, key=lambda row: (-float(row["PTS"]), -float(row["BH-C1"]), -float(row["BH"])))
    assert [line.name for line in found.placed][:3] == [f"E{row['number']}" for row in best][:3]


def test_virtual_opponents_of_2009() -> None:
    """A round R without a game counts SPR + (1 - SfPR) + 0.5 (n - R).

    The opponents then have 1.5, 1.5, 1.0 and 2.0 points.
    """
    cells = {
        "1.5": ("   2 w 1", "   3 b =", "   4 w 0"),
        "2.0": ("   1 b 0", "   4 w +", "   3 w 1"),
        "1.0": ("0000 - H", "   1 w =", "   2 b 0"),
        "2.0 ": ("0000 - U", "   2 b -", "   1 b 1"),
    }
    text = ["142 3", "212 PTS,BH"]
    for number, (points, rounds) in enumerate(cells.items(), 1):
        text.append(f"{f'001 {number:4d}      E{number}':80}{points.strip():>4}       " + "  ".join(rounds))
    found = rank_report(read("\n".join(text), "f.trf"), None, "fide-2009")
    assert {line.name: dict(line.tiebreaks)["BH"] / 2 for line in found.placed} == {
        "E1": 1.5 + 1.0 + 2.0,
        "E2": 1.5 + (0.0 + (1 - 1) + 0.5) + 1.0,
        "E3": (0.0 + (1 - 0.5) + 2 * 0.5) + 1.5 + 1.5,
        "E4": (0.0 + (1 - 1) + 2 * 0.5) + (1.0 + (1 - 0) + 0.5) + 1.5,
    }
    assert [line.name for line in found.placed] == ["E4", "E2", "E1", "E3"]


def test_what_a_file_says_of_its_table() -> None:
    """Line 212 goes before 202, and unknown codes and other ranks are noted."""
    wanted = rows("exercises-2023")
    text = report_of(wanted, "142 6", "202 BH", "212 PTS, SB/C9, BH")
    found = rank_report(read(text, "f.trf"), None, "fide")
    assert not found.finished and found.title == "f.trf"
    assert found.notes[0] == "tie-break SB/C9 of the file is not supported; only the tie-breaks before it are used"
    assert all(not line.tiebreaks for line in found.placed)
    lines = [f"{line[:85]}{number:4d}{line[89:]}" for number, line in enumerate(text.splitlines()[3:], 1)]
    ranked = rank_report(read("\n".join(lines), "f.trf"), ("PTS", "BH"), "fide")
    assert ranked.notes[-1].startswith("ranks differ from the file for 15 entrants: E")
    with pytest.raises(UsageRefused, match="NOPE"):
        rank_report(read(text), ("NOPE",), "fide")


def test_a_draw_that_is_not_half_a_win() -> None:
    """The dummy of 2026 has at most the file's value of a draw in each round."""
    lines = ["162  W 3.0    D 1.0", "142 2", "212 PTS,BH"]
    rounds = {
        "6.0": "   2 w 1  0000 - F",
        "0.0": "   1 b 0  0000 - Z",
        "2.0": "   4 w =     4 b =",
        "2.0 ": "   3 b =     3 w =",
    }
    for number, (points, cells) in enumerate(rounds.items(), 1):
        lines.append(f"{f'001 {number:4d}      E{number}':80}{points.strip():>4}       {cells}")
    found = rank_report(read("\n".join(lines)), None, "fide")
    assert [(line.name, dict(line.tiebreaks)["BH"] / 2) for line in found.placed] == [
        ("E1", 1.0 + 2.0),  # the absence of E2 at the end is a draw; two draws are less than the own score
        ("E3", 4.0),
        ("E4", 4.0),
        ("E2", 6.0),
    ]
