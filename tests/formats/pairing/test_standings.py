"""Tests of formats/pairing/standings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from enginetour.formats.pairing import tiebreaks
from enginetour.formats.pairing.field import BLACK, WHITE, Field, Kind, Member, Turn
from enginetour.formats.pairing.standings import (
    CrossRow,
    Scored,
    code_values,
    cross,
    crosstable,
    order_by_codes,
    rank_by_codes,
    table,
    total,
    with_game,
)
from enginetour.formats.pairing.tiebreaks import PLACEMENT_CODES, PlacementTerms, Tally
from enginetour.model.game import Outcome, StandingsRow
from tests.support.databases import field_of, read, shown, turns

W, D, B, VOID = Outcome.WHITE, Outcome.DRAW, Outcome.BLACK, Outcome.VOID
GAMES = [
    Scored("A", "B", W),
    Scored("B", "A", D),
    Scored("A", "C", B),
    Scored("B", "C", W),
    Scored("C", "B", VOID),
]


def test_table_with_tie_breaks() -> None:
    """The table orders by points, then Sonneborn-Berger."""
    assert table(["C", "B", "A"], cross(GAMES)) == (
        StandingsRow(1, "A", 3, 3, "", (("SB", 3 * 3), ("DE", 0), ("WIN", 1))),
        StandingsRow(2, "B", 3, 3, "", (("SB", 1 * 3 + 2 * 2), ("DE", 0), ("WIN", 1))),
        StandingsRow(3, "C", 2, 2, "", (("SB", 2 * 3), ("DE", 0), ("WIN", 1))),
    )


def test_fully_tied_share_a_rank_in_list_order() -> None:
    """Entrants equal in all values share a rank."""
    lines = table(["X", "Y", "Z"], cross([Scored("Y", "X", D), Scored("Z", "X", D), Scored("Y", "Z", D)]))
    assert [(line.rank, line.name) for line in lines] == [(1, "X"), (1, "Y"), (1, "Z")]


def test_each_code_splits_those_still_tied() -> None:
    """Each code counts among the entrants tied so far."""
    lines = table(["B", "A", "C"], cross(GAMES), ("DE",))
    assert [(line.name, line.tiebreaks) for line in lines] == [
        ("A", (("DE", 3),)),
        ("B", (("DE", 1),)),
        ("C", (("DE", 0),)),
    ]
    assert [line.tiebreaks[1] for line in table(["B", "A", "C"], cross(GAMES))] == [("DE", 0)] * 3


def test_only_games_among_the_named_count() -> None:
    """Games against other entrants do not count."""
    assert shown(table(["B", "C"], cross(GAMES)), "name half_points games") == ["B 2 1", "C 0 1"]


def test_a_game_taken_back_leaves_no_trace_in_the_sums() -> None:
    """Removing a game undoes adding it."""
    grid = with_game(with_game(cross(GAMES[:3]), GAMES[3]), GAMES[3], -1)
    for name in "ABC":
        assert total(grid, name) == total(cross(GAMES[:3]), name)
    assert total(cross(GAMES), "B", ["A"]) == Tally(1, 2, 0)


def test_crosstable_cells_read_from_the_row() -> None:
    """Cells show the results of the row's entrant in order, without void games."""
    rows = crosstable(["A", "B", "C"], GAMES)
    assert [["x" if cell is None else cell for cell in row.cells] for row in rows] == [
        ["x", "1=", "0"],
        ["0=", "x", "1"],
        ["1", "0", "x"],
    ]
    assert [(row.name, row.half_points, row.games) for row in rows] == [("A", 3, 3), ("B", 3, 3), ("C", 2, 2)]
    assert crosstable(["A"], GAMES) == (CrossRow("A", 0, 0, (None,)),)


RECORDED = ("MM_n14_s1", "Swiss_odd13_s8")  # a McMahon and a Swiss tournament, five rounds each


def recorded(name: str) -> Iterator[tuple[Field, PlacementTerms, dict[str, Any]]]:
    """Return the field after each round, and the recorded values."""
    told = read(name)
    bands = tuple(player["rank"] for player in told["players"])
    bar, floor = (3, -20) if told["mode"] == "MM" else (8, -30)
    terms = PlacementTerms(tuple(min(max(band, floor), bar) + 30 for band in bands), bands, unplayed="start")
    members = tuple(Member(player["name"], player["rating"]) for player in told["players"])
    history: tuple[tuple[Turn, ...], ...] = ()
    for state in told["states"]:
        history += (turns(told, state),)
        yield Field(members, history, rounds=told["rounds"]), terms, state["criteria_x"]


@pytest.mark.parametrize("name", RECORDED)
def test_all_eighteen_codes_of_a_recorded_tournament(name: str) -> None:
    """All values of all codes are the recorded ones."""
    for field, terms, told in recorded(name):
        few = len(field.history) < 3  # it records the cut sums of McMahon scores as 0 then
        wanted = [code for code in next(iter(told.values())) if not (few and code in ("SOSM-1", "SOSM-2"))]
        found = code_values(field, wanted, terms)
        for place, member in enumerate(field.members):
            mine = {code: found[code][place] / PLACEMENT_CODES[code].per for code in wanted}
            assert mine == {code: told[member.name][code] for code in wanted}


def played(*rounds: str, members: int = 4, win: int = 2, rated: tuple[float | None, ...] = ()) -> Field:
    """Return a field like `field_of`, with `members` or these ratings."""
    entered = tuple(Member(name, rating) for name, rating in zip("ABCDE", rated or (None,) * members, strict=False))
    return field_of(entered, *rounds, total=len(rounds), win=win)


CIRCLE = played("A1B C1D", "B1C D1A", "C1A D=B")  # A, B and C beat each other in a ring


def one(field: Field, code: str, terms: PlacementTerms | None = None) -> tuple[int, ...]:
    return code_values(field, [code], terms or PlacementTerms())[code]


def test_the_table_of_codes_is_whole() -> None:
    """The table in the module docstring has all codes and no others."""
    rows = (tiebreaks.__doc__ or "").split("\n\n")[1].splitlines()[1:]
    assert {row.split()[0] for row in rows} <= set(PLACEMENT_CODES)
    named = {word.rstrip(",") for row in rows for word in row.split()}
    assert set(PLACEMENT_CODES) <= named


def test_an_order_splits_only_those_still_tied() -> None:
    """Codes order tied entrants only, and equal ones share a rank."""
    lines = rank_by_codes(CIRCLE, ("PTS", "SOSW"), (0, 1, 2, 3))
    assert [(line.rank, line.name, line.half_points, line.tiebreaks) for line in lines] == [
        (1, "C", 4, (("SOSW", 8),)),
        (2, "B", 3, (("SOSW", 9),)),
        (2, "D", 3, (("SOSW", 9),)),
        (4, "A", 2, (("SOSW", 10),)),
    ]
    assert order_by_codes(CIRCLE, ("PTS",), (3, 1)) == [((3,), [1, 3])]


def test_cumulated_scores() -> None:
    """Cumulative scores favor early wins, and CPS doubles each round."""
    early = played("A1B", "A1B", "A1B", "B1A", "B1A", members=2)
    assert one(early, "PS") == one(early, "CUSSW") == (24, 6)  # 12 and 3 points
    assert one(early, "CPS") == (2 * (16 + 8 + 4), 2 * (2 + 1))
    assert one(early, "CUSSM", PlacementTerms((1, 0))) == (24 + 5 * 2, 6)
    assert one(early, "CUSS", PlacementTerms((1, 0))) == one(early, "CUSSM", PlacementTerms((1, 0)))


def test_mcmahon_scores_and_absences() -> None:
    """Absences count half a win as configured."""
    field = played("A1B C=D", "A1C", "A=D C")
    starts = (3, 2, 2, 0)
    assert one(field, "MMS", PlacementTerms(starts)) == (6 + 5, 4 + 2, 4 + 3, 0 + 2)
    assert one(field, "MMS", PlacementTerms(starts, whole=False)) == (11, 4 + 2, 4 + 1 + 2, 0 + 2 + 1)
    for absence in ("pairing-only", "nothing"):
        assert one(field, "MMS", PlacementTerms(starts, absence=absence)) == (11, 4, 7, 2)
    assert one(field, "SOSM", PlacementTerms(starts, absence="pairing-only"))[0] == 6 + 7 + 2
    assert one(field, "SOSM", PlacementTerms(starts, absence="nothing"))[0] == 4 + 7 + 2
    assert one(field, "SOSM", PlacementTerms(starts, absence_in_sos=True))[0] == 6 + 7 + 3
    assert one(field, "SOSW")[0] == 0 + 3 + 2
    assert one(field, "SOSW", PlacementTerms(absence_in_sos=True))[0] == 2 + 3 + 3


def test_rounds_without_a_game() -> None:
    """Unplayed rounds count as `unplayed` decides."""
    field = played("A1B C", "A1C B", "C1B A?", members=3)
    scores = (5, 2, 4)
    terms = (3, 0, 0)
    assert one(field, "PTS") == scores
    assert one(field, "SOSW", PlacementTerms(unplayed="zero"))[0] == 2 + 4
    assert one(field, "SOSW", PlacementTerms(unplayed="own"))[0] == 2 + 4 + 5
    assert one(field, "SOSM", PlacementTerms(terms, unplayed="start"))[0] == 2 + 4 + 6
    assert one(field, "SOSOSW", PlacementTerms(unplayed="own"))[0] == sum(
        one(field, "SOSW", PlacementTerms(unplayed="own"))
    )
    assert one(field, "SODOSW", PlacementTerms(unplayed="own"))[0] == 2 * 2 + 2 * 4
    assert one(field, "BH", PlacementTerms(unplayed="fide"))[0] == 2 + 4 + 3  # the dummy draws all rounds
    assert one(field, "SB", PlacementTerms(unplayed="fide"))[0] == 2 * 2 + 2 * 4 + 1 * 3


def test_a_forfeit_is_a_meeting_for_gotha_only() -> None:
    """A forfeit is a meeting for Gotha, and a limited dummy for FIDE."""
    field = played("A+B C1D", "A1C D1B")
    assert one(field, "SOSW", PlacementTerms(unplayed="start"))[0] == 0 + 2
    assert one(field, "SOSW", PlacementTerms(unplayed="zero"))[0] == 2
    assert one(field, "BH", PlacementTerms(unplayed="fide")) == (0 + 2, 0 + 2, 2 + 4, 2 + 0)
    assert one(played("A1C B1D", "A+B"), "BH", PlacementTerms(unplayed="fide"))[:2] == (1 + 2, 1 + 2)
    assert one(field, "WIN") == (2, 0, 1, 1)
    assert one(field, "WON") == (1, 0, 1, 1)


def test_boards_that_have_no_result_yet() -> None:
    """Unfinished boards do not count in the table."""
    before = played("A1B C1D", rated=(2000, 1900, 2100, 1800))
    row = list(played("A1C B1D").history[0])
    row[1], row[3] = Turn(Kind.PLAYED, 3, WHITE), Turn(Kind.PLAYED, 1, BLACK)
    field = Field(before.members, (*before.history, tuple(row)), before.present, 2)
    expected = {"SOSW": 2, "BPG": 1, "TPR": 2100 - 800, "WIN": 0}  # of D
    assert {code: one(field, code)[3] for code in expected} == expected
    assert one(field, "DE") == (0, 0, 0, 0) and one(field, "BPG") == (0, 1, 1, 1)
    assert one(field, "CPS") == (2 * 2 + 2, 0, 4, 0)


def test_what_fide_cuts() -> None:
    """FIDE cuts rounds unplayed by choice first; medians cut the highest too."""
    fide = PlacementTerms(unplayed="fide")
    field = played("A1B C1D", "A1C B1D", "A? B0D", members=4)
    assert one(field, "BH", fide)[0] == 2 + (2 + 1) + 3  # C stayed away at the end; the dummy draws all rounds
    assert one(field, "BH-C1", fide)[0] == 2 + (2 + 1)
    zero = PlacementTerms()
    assert one(field, "BH-C1", zero)[0] == one(field, "SOSW-1", zero)[0] == 2 + 2
    assert one(field, "BH-M1", zero)[0] == 2
    assert one(field, "SOS-2", zero)[0] == 2
    assert one(CIRCLE, "BH") == (10, 9, 8, 9)
    assert one(CIRCLE, "AOB") == (433, 450, 467, 450)  # a third of half of 26, 27, 28 and 27


def test_byes_asked_for_at_the_end_count_as_draws() -> None:
    """Requested byes at the end count as draws for opponents (C.07 16.3)."""
    field = played("A1B C1D", "A1C", "A1D C1B")
    assert one(field, "PTS") == (6, 0, 4, 0)
    assert one(field, "BH", PlacementTerms(unplayed="fide"))[0] == 0 + 4 + 0  # B and D came back
    field = played("A1B C1D", "A1C", "A1E", members=5)
    assert one(field, "BH", PlacementTerms(unplayed="fide"))[0] == 2 + (2 + 1) + 0
    field = played("A1B C1D", "A1C B?", "D+B A1E", members=5)
    assert one(field, "BH", PlacementTerms(unplayed="fide"))[0] == 1 + (2 + 1) + 0  # B's forfeit stays lost


def test_strength_of_the_opponents() -> None:
    """ARO and TPR use rated opponents met over the board."""
    field = played("A1B C1D", "A=C", "A+D B1C", rated=(2000, 1900.5, 2100, None))
    assert one(field, "RATING") == (2000, 1901, 2100, 0)
    assert one(field, "ARO") == (2000, 2050, 1950, 2100)  # 2000.25; (2000 + 2100)/2; (2000 + 1900.5)/2; 2100
    assert one(field, "TPR")[0] == 2000 + 193  # 1.5 of 2
    assert one(field, "TPR")[1] == 2050
    assert one(field, "TPR")[3] == 2100 - 800
    assert one(field, "ARO", PlacementTerms(ratings=(None,) * 4)) == (0, 0, 0, 0)


def test_the_least_predictable_game_removed() -> None:
    """LPR removes the latest game between the nearest ratings."""
    field = played("A1B C1D", "A0C B1D", rated=(2000, 1900, 2100, None))
    assert one(field, "LPR") == (2 - 0, 2, 4 - 2, 0)


def test_direct_encounters() -> None:
    """DE needs all meetings, SDC decided ones, and DC orders by wins."""
    tied = [0, 1, 2]
    assert one(CIRCLE, "DE") == (2, 3, 4, 3)
    three = played("A1B", "B1C", "A=C", members=3)
    assert one(three, "DE") == (3, 2, 1)
    assert one(three, "SDC") == (0, 0, 0)
    assert one(three, "DC") == (2, 1, 0)
    assert one(played("A1B C1D", "B1C D=A"), "DE") == (0, 0, 0, 0)
    assert one(played("A1B C1D", "B1C D=A"), "DC") == (3, 2, 1, 0)
    ring = played("A1B", "B1C", "C1A", members=3)
    assert one(ring, "DC") == (0, 0, 0) and one(ring, "SDC") == (1, 1, 1)
    assert order_by_codes(CIRCLE, ("DC",), tied) == [((0,), tied)]
    assert one(played("A1B", "B1C", "C1A", "A1D"), "DC") == (1, 1, 1, 0)
    level = played("A1B C1D", "B1C A1D")
    split = order_by_codes(level, ("PTS", "DE"), range(4))
    assert split == [((4, 0), [0]), ((2, 2), [1]), ((2, 0), [2]), ((0, 0), [3])]
    assert one(played("A1B", members=3), "DC") == (1, 0, 1)  # strangers stand as high as they can


def test_a_direct_encounter_that_no_missing_game_could_turn() -> None:
    """DE is 0 if two tied entrants have not met."""
    tied = played("A1B C1D", "A1C B1D", "D1A")
    assert order_by_codes(tied, ("DE",), [0, 1, 2]) == [((0,), [0, 1, 2])]
    met = played("A1B C1D", "A1C B1D", "D1A B=C")
    assert order_by_codes(met, ("DE",), [0, 1, 2]) == [((4,), [0]), ((1,), [1, 2])]
    forfeit = played("A1B", "A1C", "B+C", members=3)
    assert one(forfeit, "DE") == (0, 0, 0)


def test_matches_of_two_games() -> None:
    """More than half of the points is a won round; half of the games are with Black."""
    field = played("A1B C=D", "A=C", win=4)
    assert one(field, "WIN") == (1, 0, 0, 0)
    assert one(field, "BPG") == (2, 1, 2, 1)
    assert one(played("A1B"), "BPG") == (0, 1, 0, 0)


def test_a_cup_inside() -> None:
    """A top group's knockout adds two or four wins for unbeaten entrants."""
    field = played("A1B C1D", "A1C B1D", "A0D B1C")
    cup = PlacementTerms((1,) * 4, cup=frozenset({0, 2}))
    assert one(field.before(2), "STS", cup) == (4 + 4, 2, 4 + 4, 2)
    assert one(field, "STS", cup) == (6 + 8, 6, 4 + 4, 4)
    assert one(field, "SOSTS", cup)[3] == 8 + 6 + 14


def test_bands_and_categories() -> None:
    """Bands follow the ratings unless given, and lower categories are better."""
    field = played("A1B", rated=(250, 199, None, -1), members=4)
    assert one(field, "RANK") == (2, 1, 0, -1)
    assert one(field, "CAT", PlacementTerms(categories=(0, 1, 1, 2))) == (0, -1, -1, -2)
    assert one(field, "CAT") == (0, 0, 0, 0)
    assert PLACEMENT_CODES["CAT"].per == -1


def test_exploits() -> None:
    """EXT counts opponents' wins up to three times, EXR only beaten ones."""
    field = played("A1B C0D", "C1A D1B", rated=(300, 300, 100, 0))
    assert one(field, "EXT") == (0, 1 * 2, 3 * 2, 2 * 2 + 3 * 0)
    assert one(field, "EXR") == (0, 0, 3 * 2, 2 * 2 + 3 * 0)
