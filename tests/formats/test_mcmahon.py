"""Tests of formats/mcmahon and formats/starts."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from enginetour.formats.gotha import Handicap
from enginetour.formats.mcmahon import GerlachOptions, Gotha2005, Gotha2005Options, McMahon, McMahonOptions
from enginetour.formats.pairing import mcmahon
from enginetour.formats.pairing.field import Field, Member, Turn
from enginetour.formats.swiss import SwissCatOptions, SwissGothaOptions
from tests.support.databases import field_of, rated
from tests.support.tournaments import read


def system(**settings: Any) -> McMahon:
    return McMahon(McMahonOptions.model_validate(settings))


def starts(field: Field, **settings: Any) -> tuple[int, ...]:
    return system(**settings).starts(field).wins


def test_small_fields_have_groups_too() -> None:
    """Entrants within 300 points of the best start at the bar, those near the weakest at the floor."""
    field = field_of(rated(3000, 2700, 2400, 2100))
    assert starts(field) == (1, 1, 0, 0)
    assert starts(field, bar=30, floor=21, groups="bands") == (9, 6, 3, 0)
    assert starts(field, bar=27, floor=21, groups="bands", zero=20) == (7, 7, 4, 1)


def test_bands_are_merged_by_the_table() -> None:
    """Twenty entrants in five rounds make three groups; corrections go beyond them."""
    field = field_of(rated(*range(3000, 1000, -100)))
    wins = starts(field, bar=30, floor=11)
    assert sorted(set(wins)) == [0, 1, 2] and list(wins) == sorted(wins, reverse=True)
    assert wins.count(1) <= min(wins.count(0), wins.count(2))
    assert starts(field, bar=30, floor=11, groups=2, corrections={"A": 2, "T": -1})[::19] == (3, -1)


RATINGS = st.lists(st.floats(0, 3000), min_size=6, max_size=62)


def most_groups(bands: tuple[int, ...]) -> int:
    """Return the largest number of groups of several entrants, by trying all ways."""
    sizes = [bands.count(grade) for grade in sorted(set(bands))]
    best = [0] + [-len(sizes)] * len(sizes)
    for end in range(1, len(sizes) + 1):
        found = [best[begin] + 1 for begin in range(end) if sum(sizes[begin:end]) > 1]
        best[end] = max(found, default=best[end])
    return max(1, best[-1])


@given(ratings=RATINGS, lowest=st.floats(0, 1000), span=st.floats(1500.5, 3000), rounds=st.integers(3, 7))
def test_wide_fields_have_the_groups_of_the_table(
    ratings: list[float], lowest: float, span: float, rounds: int
) -> None:
    """Wide fields have the number of groups of the table if the bands allow it."""
    field = field_of(rated(*ratings, lowest, lowest + span))
    made = system(rounds=rounds)
    found, count = made.starts(field), len(field.members)
    sizes = Counter(found.wins)
    possible = most_groups(found.bands)
    assert mcmahon.most_groups(found.bands) == possible == len(mcmahon.merge_bands(found.bands, count))
    fewest, most = (limit(count, rounds) for limit in (mcmahon.fewest_groups, mcmahon.groups_wanted))
    assert min(fewest, possible) <= len(sizes) <= most
    assert len(sizes) >= min(2, most, possible)
    assert min(sizes.values()) > 1
    bar, floor = made.limits(field)
    assert floor <= bar
    at_bar = [wins for wins, grade in zip(found.wins, found.bands, strict=True) if grade >= bar]
    at_floor = [wins for wins, grade in zip(found.wins, found.bands, strict=True) if grade <= floor]
    assert at_bar and set(at_bar) == {max(found.wins)} and at_floor and set(at_floor) == {min(found.wins)}
    by_rating = sorted(zip((member.rating or 0.0 for member in field.members), found.wins, strict=True))
    assert [wins for _, wins in by_rating] == sorted(found.wins)


def test_starts_are_shown() -> None:
    """The notes show bands, bar, floor and starting scores, and warn about a single group."""
    field = field_of(rated(2400, 2300, 2200, 2100, 1000, 900, 800, 700))
    assert system().starting_notes(field) == (
        ("starts", "bands of 100 rating points, band 0 begins at 0: bar 21, floor 10"),
        ("starts", "start 1 (bands 21 to 24): A, B, C, D"),
        ("starts", "start 0 (bands 7 to 10): E, F, G, H"),
    )
    swiss = "all entrants start equal, as in a Swiss"
    for alike in (field_of(rated(2000, 2010, 2020, 2030)), field_of(rated(*range(2000, 1000, -50)))):
        assert dict(system(rounds=9).starting_notes(alike))["warning"].startswith(swiss)
    assert dict(system(bar=7).starting_notes(field))["warning"].startswith(swiss)
    assert "warning" not in dict(system(groups=1).starting_notes(field))


def test_who_comes_late_moves_nobody() -> None:
    """A late entrant does not change the starting scores of others."""
    early = field_of(rated(*range(3000, 2000, -100)), "A1B C1D E1F G1H I1J", total=2)
    members = (*early.members, Member("K", 5000.0), Member("L"))
    rounds = tuple((*row, Turn(), Turn()) for row in early.history)
    late = Field(members, rounds, tuple(range(12)), 2)
    before, after = starts(early, rounds=2, bar=28, floor=22), starts(late, rounds=2, bar=28, floor=22)
    assert after[:10] == before and after[10] == max(before) and after[11] == min(before)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"zero": -30}, 'groups = "bands"'),
        ({"bar": 3, "floor": 4}, "floor must not be above bar = 3"),
        ({"float_rule": "fide", "float_up": "top"}, 'float_rule = "position"'),
        ({"family_weight": 0, "families": [["A", "B"]]}, "family_weight"),
        ({"corrections": {"A": 3}}, "less than or equal to 2"),
        ({"bonus": {"A": 0.25}}, "multiple of 0.5"),
        ({"bonus": {"A": 1}, "placement": ["NBW"]}, "the code MMS or STS"),
        ({"cup_top_group": True}, "STS or SOSTS"),
        ({"score_weight": 10**15}, "less than or equal to"),
    ],
)
def test_settings_that_contradict_each_other(settings: dict[str, Any], named: str) -> None:
    """Contradicting settings are an error that names the needed setting."""
    with pytest.raises(ValidationError) as refused:
        system(**settings)
    assert named in str(refused.value)


@pytest.mark.parametrize(
    "options",
    [
        McMahonOptions(float_rule="fide", handicap=Handicap(), families=[["A", "B"]], corrections={"A": 1}),
        GerlachOptions(groups="bands", zero=3, bar=9),
        Gotha2005Options(exempt_above=7),
        SwissGothaOptions(float_rule="sos-even", placement=("NBW", "SOSW")),
        SwissCatOptions(categories=[2400.0, 2000.0], exempt_band=0),
    ],
    ids=lambda options: type(options).__name__,
)
def test_settings_come_back_from_the_store(options: BaseModel) -> None:
    """Settings written out with all defaults are read back as the same settings."""
    assert type(options).model_validate(options.model_dump(mode="json")) == options


def test_fields_that_cannot_start() -> None:
    """Missing ratings, unknown names and too many rounds are errors before game 1."""
    unrated = (*rated(2000, 1900), *(Member(f"N{at}") for at in range(7)))
    with pytest.raises(ValueError, match=r"N0, N1, N2, N3, N4 and 2 more.*rating = "):
        system().check(unrated)
    with pytest.raises(ValueError, match=r"corrections: 'AA' is not an entrant"):
        system(rounds=1, corrections={"AA": 1}).check(rated(2000, 1900))
    with pytest.raises(ValueError, match="at most 3"):
        system(rounds=4).check(rated(4, 3, 2, 1))


def test_the_table_counts_from_the_start() -> None:
    """The table orders by McMahon score; an absence counts half a win as configured."""
    field = field_of(rated(3000, 2700, 2400, 2100, 2100), "A1B C=D", "D1A C0B E")
    given = {"bar": 30, "floor": 21, "groups": "bands"}
    table = system(**given).table(field, field.present)
    assert [(line.name, dict(line.tiebreaks)["MMS"]) for line in table][:2] == [("A", 20), ("B", 14)]
    scores = {line.name: dict(line.tiebreaks)["MMS"] for line in table}
    assert scores["E"] == 2  # the bye's win; half a win for its absence is rounded down
    unrounded = system(**given, whole=False).table(field, field.present)
    assert {line.name: dict(line.tiebreaks)["MMS"] for line in unrounded}["E"] == 3
    pairing_only = system(**given, whole=False, absence="pairing-only")
    assert {line.name: dict(line.tiebreaks)["MMS"] for line in pairing_only.table(field, field.present)}["E"] == 2
    assert pairing_only.context(field).points[-1][4] == 3


def test_handicaps_by_mcmahon_score() -> None:
    """The stronger entrant has White and gives the difference less one band, up to the ceiling."""
    field = field_of(rated(3000, 2700))
    (board,) = system(rounds=1, handicap={}).pair(field).boards
    assert (board.white, board.black, board.handicap) == (0, 1, 2)
    assert system(rounds=1, handicap={"ceiling": 1}).pair(field).boards[0].handicap == 1
    assert system(rounds=1, handicap={"threshold": 28}).pair(field).boards[0].handicap == 0
    assert system(rounds=1).pair(field).boards[0].handicap == 0


def test_who_is_exempt_in_the_older_function() -> None:
    """Entrants above the bar or with half of all rounds won are exempt from the family criterion."""
    field = field_of(rated(3100, 3000, 2900, 2800, families="ffff"), "C1D A=B", total=2)
    older = Gotha2005(Gotha2005Options(rounds=2, bar=30))
    family = {
        (one, other): next(row.worth for row in older.explain(field, one, other) if row.name == "family")
        for one, other in ((0, 1), (0, 3), (1, 3))
    }
    assert family == {(0, 1): 10_000 * 10**6, (0, 3): 10_000 * 10**6, (1, 3): 0}
    plain = Gotha2005(Gotha2005Options(rounds=2, bar=30, exempt_above=40))
    assert next(row.worth for row in plain.explain(field, 0, 3) if row.name == "family") == 0
    for wins, worth in ((False, 0), (True, 10_000 * 10**6)):
        system_ = Gotha2005(Gotha2005Options(rounds=2, bar=30, exempt_wins=wins))
        assert next(row.worth for row in system_.explain(field, 2, 3) if row.name == "family") == worth


def test_the_older_function_counts_scores_in_points(tmp_path: Path) -> None:
    """A difference of five wins is worth 37,500 for the score and 4,687.5 for small gaps."""
    words = ("--set", "groups=bands", "--set", "floor=-20", "--set", "bar=30", "--why", "Dd", "Ee")
    case = Path(__file__).parents[1] / "cases" / "mcmahon" / "gotha-2005.trf"
    told = read(tmp_path, "pair", str(case), "--system", "gotha-2005", *words)
    worth = {row["name"]: row["worth"] for row in told["criteria"]}
    assert (worth["score"], worth["small gaps"]) == (37_500 * 10**6, 4_687_500_000)


def test_a_bonus_counts_in_the_standings_only() -> None:
    """A bonus changes the table but not SOS, groups or places."""
    field = field_of(rated(300, 200, 100, 0), "A1C B=D", total=3)
    plain, given = system(), system(bonus={"D": 2.5})
    table = {line.name: dict(line.tiebreaks) for line in given.table(field, field.present)}
    before = {line.name: dict(line.tiebreaks) for line in plain.table(field, field.present)}
    assert {name: row["MMS"] - before[name]["MMS"] for name, row in table.items()} == {"A": 0, "B": 0, "C": 0, "D": 5}
    assert all(row["SOSM"] == before[name]["SOSM"] for name, row in table.items())
    assert given.table(field, field.present)[0].name == "D"
    assert given.pair(field) == plain.pair(field)


def test_bonus_names_entrants() -> None:
    """An unknown name in `bonus` is an error with the nearest name."""
    with pytest.raises(ValueError, match="bonus: 'Anm' is not an entrant, did you mean 'Ann'"):
        system(rounds=1, bonus={"Anm": 1}).check((Member("Ann", 1.0), Member("Bob", 2.0)))


def test_absences_in_the_opponents_sums() -> None:
    """With absence_in_sos, an absence adds half a win to the opponents' SOS."""
    field = field_of(rated(300, 200, 100, 0), "A1B C1D", "A1C", total=3)
    sums = {on: dict(system(absence_in_sos=on).table(field, (0,))[0].tiebreaks)["SOSM"] for on in (False, True)}
    assert sums[True] - sums[False] == 1


def test_a_cup_in_the_top_group() -> None:
    """An entrant at the bar that is unbeaten through the semi-final leads by four wins."""
    field = field_of(rated(2000, 2000, 0, 0), "A1B C1D", "A1C B1D", total=3)
    limits = {"bar": 20, "floor": 0, "groups": "bands", "placement": ["STS", "MMS"]}
    table = system(rounds=3, cup_top_group=True, **limits).table(field, field.present)
    leads = {line.name: line.tiebreaks[0][1] - line.tiebreaks[1][1] for line in table}
    assert leads == {"A": 8, "B": 0, "C": 0, "D": 0}
