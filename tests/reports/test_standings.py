"""Tests of standings, crosstables and pairing reports."""

from __future__ import annotations

from math import log, tanh
from pathlib import Path
from typing import Any

import pytest

from enginetour.formats.pairing.field import BLACK, WHITE, Field, Kind, Member, Turn
from enginetour.formats.pairing.tiebreaks import PLACEMENT_CODES
from enginetour.model.game import Note, StandingsRow
from enginetour.reports.sheet import render
from enginetour.reports.standings import (
    PairingError,
    crosstable_sheet,
    pairing_error,
    pairing_figures,
    pairing_report,
    points_notes,
    relative_strengths,
    standings_sheet,
)
from tests.support.databases import field_of, rated
from tests.support.tournaments import config, read, tour

# Pairing error.

NATURAL = log(10) / 400
NOBODY = Turn()


def meeting(count: int, *boards: tuple[int, int, int]) -> tuple[Turn, ...]:
    """Play one round: White, Black, White's half points."""
    row = [NOBODY] * count
    for white, black, points in boards:
        row[white] = Turn(Kind.PLAYED, black, WHITE, points, 0, 1)
        row[black] = Turn(Kind.PLAYED, white, BLACK, 2 - points, 0, 1)
    return tuple(row)


FOUR = tuple(map(Member, "ABCD"))
TWO_ROUNDS = Field(FOUR, (meeting(4, (0, 1, 2), (2, 3, 2)), meeting(4, (0, 2, 1), (1, 3, 2))), rounds=2)


def test_the_worked_example() -> None:
    """The error of the example of Vuorinen 2010, section 7.1 (squares sum to 150000)."""
    found = pairing_error(TWO_ROUNDS, (100.0, 50.0, 0.0, -150.0), range(2))
    assert found.total == pytest.approx(24.206146, abs=1e-6)
    assert found.rms == pytest.approx(136.930639, abs=1e-6)


def test_it_shrinks_with_the_size_of_the_tournament() -> None:
    """The RMS gap does not depend on the size of the tournament, unlike the total error."""
    boards = tuple((one, one + 1, 1) for one in range(0, 32, 2))
    field = Field(tuple(Member(str(place)) for place in range(32)), (meeting(32, *boards),) * 5)
    found = pairing_error(field, tuple(float(place % 2) for place in range(32)), range(5))
    assert found.total == pytest.approx(0.0395285, abs=1e-7)
    assert found.rms == 1.0


def test_relative_strengths_solve_their_equations() -> None:
    """Each score with the phantom draw is the expected score of the fitted strengths."""
    field, strengths = TWO_ROUNDS, relative_strengths(TWO_ROUNDS)
    for member, own in enumerate(strengths):
        expected = (1 + tanh(own * NATURAL / 2)) / 2 - 0.5
        for turn in field.turns(member):
            assert turn.opponent is not None
            expected += (1 + tanh((own - strengths[turn.opponent]) * NATURAL / 2)) / 2
        assert expected == pytest.approx(field.scores[member] / 2, abs=1e-9)
    assert strengths[0] > strengths[2] > strengths[1] > strengths[3]


def test_byes_forfeits_and_strangers_say_nothing() -> None:
    """Without games there are no strengths and no error."""
    row = (Turn(Kind.FORFEIT, 1, WHITE, 2), Turn(Kind.FORFEIT, 0, BLACK, 0), Turn(Kind.BYE, points=2))
    field = Field(FOUR[:3], (row,))
    assert relative_strengths(field) == (0.0, 0.0, 0.0)
    assert pairing_figures(field)[-1].error == PairingError(0.0, None)
    assert pairing_figures(Field(FOUR))[-1].error == PairingError(0.0, None)


def test_matches_enter_by_their_points() -> None:
    """Three of four half points count as a win and a draw."""
    match = (Turn(Kind.PLAYED, 1, 0, 3, 0, 2), Turn(Kind.PLAYED, 0, 0, 1, 0, 2))
    singly = (meeting(2, (0, 1, 2)), meeting(2, (1, 0, 1)))
    one = relative_strengths(Field(FOUR[:2], (match,), win=4))
    assert one == pytest.approx(relative_strengths(Field(FOUR[:2], singly)), abs=1e-9)


def test_figures_of_rounds() -> None:
    """The figures count floats, rematches, uneven colors and byes, for each round and for all rounds."""
    rounds = (
        meeting(4, (0, 1, 2), (2, 3, 1)),
        (*meeting(4, (0, 1, 1))[:2], Turn(Kind.BYE), Turn()),
        meeting(4, (0, 2, 0), (1, 3, 0)),
    )
    lines = pairing_figures(Field(FOUR, rounds, rounds=3))
    told = [(r.number, r.boards, r.floats, r.widest, r.rematches, r.uneven, r.unpaired) for r in lines]
    assert told == [
        (1, 2, 0, 0, 0, 0, 0),
        (2, 1, 1, 2, 1, 2, 1),
        (3, 2, 1, 2, 0, 2, 0),
        (0, 5, 2, 2, 1, 2, 1),
    ]
    assert lines[-1].error == pairing_error(Field(FOUR, rounds), relative_strengths(Field(FOUR, rounds)), range(3))


def test_starting_points_make_floats() -> None:
    """Scores that decided the pairing are used for floats."""
    field = Field(FOUR, (meeting(4, (0, 1, 1), (2, 3, 1)),))
    scores = [[one + more for one, more in zip(row, (2, 0, 0, 0), strict=True)] for row in field.points]
    assert [line.floats for line in pairing_figures(field, scores)] == [1, 1]


def test_a_game_at_odds_has_no_colors() -> None:
    """Games at odds do not count for the color balance."""
    rounds = (meeting(2, (0, 1, 2)),) * 2
    assert pairing_figures(Field(FOUR[:2], rounds))[-1].uneven == 2
    odds = (Turn(Kind.PLAYED, 1, WHITE, 2, 3, 1), Turn(Kind.PLAYED, 0, BLACK, 0, -3, 1))
    assert pairing_figures(Field(FOUR[:2], (rounds[0], odds)))[-1].uneven == 0


def test_no_round_yet() -> None:
    """A tournament without rounds has one row without figures."""
    (line,) = pairing_figures(Field(FOUR))
    assert (line.number, line.boards, line.error.rms) == (0, 0, None)


# Pairing report.


def test_a_row_a_round_and_one_for_all() -> None:
    """The report has a row for each round with its figures and its guarantee."""
    field = field_of(rated(4, 3, 2, 1), "A1B C1D", "A1C B=D", "A1B C0D")
    notes = (Note("round", "", (("round", 2), ("guarantee", "by rule"))), Note("add", ""))
    rows = pairing_report("", pairing_figures(field), notes).rows
    assert [row["round"] for row in rows] == [1, 2, 3, None]
    assert [row["boards"] for row in rows] == [2, 2, 2, 6]
    assert [row["floats"] for row in rows] == [0, 0, 2, 2]
    assert [row["widest"] for row in rows] == [0, 0, 1.5, 1.5]
    assert [row["rematches"] for row in rows] == [0, 0, 2, 2]
    assert [row["guarantee"] for row in rows] == [None, "by rule", None, None]


def test_the_command(tmp_path: Path) -> None:
    """The report is available as JSON and as text, but not for a bubble."""
    tour(tmp_path, "run", str(config(tmp_path, ("wren1", "wren2", "wren3"), "dutch", "rounds = 2")))
    rounds = read(tmp_path, "standings", "--pairing-report")["rounds"]
    assert [(row["round"], row["boards"], row["without"]) for row in rounds] == [(1, 1, 1), (2, 1, 1), (None, 2, 2)]
    assert rounds[0]["guarantee"] == "maximum weight, certified"
    told = tour(tmp_path, "standings", "--pairing-report").stdout
    assert "RMS gap  proof" in told and "\n[1] maximum weight, certified\n" in told
    assert max(map(len, told.splitlines())) <= 80
    tour(
        tmp_path, "run", str(config(tmp_path, ("wren1", "wren2", "wren3"), name="other")), "--max-games", "1", expect=8
    )
    assert "is not paired in rounds" in tour(tmp_path, "standings", "--pairing-report", expect=2).stderr


# Standings.


def test_tie_breaks_are_shown_in_points() -> None:
    """Tie-breaks are stored in parts of a point and shown in points."""
    placed = (
        StandingsRow(1, "A", 5, 3, "", (("SB", 9), ("DE", 1), ("WIN", 2))),
        StandingsRow(None, "B", 0, 0, "withdrawn"),
    )
    sheet = standings_sheet("t", placed)
    assert [sheet.rows[0][code] for code in ("SB", "DE", "WIN")] == [2.25, 0.5, 2]
    assert render(sheet) == (
        "t\n#  engine  points  games  SB  DE  WIN  status\n"
        "1  A           2½      3  2¼   ½    2\n   B            0      0               withdrawn\n"
        "SB: Sonneborn-Berger, scores of beaten opponents, half for draws; DE: direct\n"
        "  encounter; WIN: wins\n"
    )


def test_every_code_has_its_words() -> None:
    """Standings with tie-breaks have a legend."""
    assert all(code.name for code in PLACEMENT_CODES.values())
    assert (PLACEMENT_CODES["SOSM-2"].name, PLACEMENT_CODES["SODOSW"].name) == (
        "sum of opponents' McMahon scores without the two lowest values",
        "sum of defeated opponents' wins, half for a draw",
    )
    assert standings_sheet("t", (StandingsRow(1, "A", 5, 3),)).notes == ()
    square = crosstable_sheet("t", ["A"], {}, [StandingsRow(1, "A", 5, 3, "", (("SB", 9),))], ("SB",), notes=("first",))
    assert square.notes == ("first", "SB: Sonneborn-Berger, scores of beaten opponents, half for draws")


def test_six_tie_breaks_fit_eighty_columns() -> None:
    """Many tie-breaks continue in a block below, and their values have the format of their unit."""
    breaks = (("SOSM-1", 361), ("SOSOSM", 1563), ("SODOSM", -1), ("AOB", 433), ("CAT", -2), ("SOSTS", 0))
    for status in ("", "withdrawn"):
        text = render(
            standings_sheet("t", [StandingsRow(1, "An engine of a very long name", 5, 3, status, breaks)]), 80
        )
        assert max(map(len, text.splitlines())) <= 80
        assert ("withdrawn" in text) == bool(status)
        words = text.split()
        assert all(word in words for word in ("SOSM-1", "180½", "781½", "-¼", "4.33", "2", "0", "SOSTS"))
    assert standings_sheet("t", [StandingsRow(1, "A", 5, 3, "", breaks)]).rows[0]["CAT"] == 2


def test_points_without_a_game_stand_in_a_column_of_their_own() -> None:
    """Points of byes have their own column."""
    placed = (StandingsRow(1, "A", 6, 4), StandingsRow(2, "B", 4, 2, unplayed=4))
    assert render(standings_sheet("t", placed)) == (
        "t\n#  engine  points  games  byes\n1  A            3      4\n2  B            2      2     2\n"
        "byes: points without a game; they are included in the points\n"
    )
    assert [row["unplayed"] for row in standings_sheet("t", placed).rows] == [0, 2]


def test_a_crosstable_says_why_its_signs_and_the_points_differ() -> None:
    """Notes explain points of byes, void games and withdrawn engines."""
    placed = (
        StandingsRow(1, "A", 6, 2, unplayed=2),
        StandingsRow(2, "B", 4, 4),
        StandingsRow(3, "C", 1, 3),
        StandingsRow(None, "D", 2, 2),
    )
    told = points_notes(placed, {"A": 4, "B": 2, "C": 4, "D": 2})
    assert told == (
        "points without a game (byes): A 1",
        "points of voided games that still count, because a later round was paired with their results: B 1",
        "points against withdrawn engines, not included in the standings: C 1½",
    )
    assert points_notes(placed[3:], {"D": 2}) == ()
    assert points_notes(placed[1:], {"B": 9, "C": 9, "D": 9}, by_match=True) == (
        "points are counted by match, results by game",
    )


def test_no_cell_of_a_crosstable_is_a_formula() -> None:
    """CSV has ½ for a draw, and text has =."""
    placed = (StandingsRow(1, "A", 3, 3), StandingsRow(2, "B", 3, 3))
    sheet = crosstable_sheet("t", ["A", "B"], {("A", "B"): "=10", ("B", "A"): "=01"}, placed)
    assert sheet.csv() == "rank,name,points,vs1,vs2\n1,A,1.5,x,½10\n2,B,1.5,½01,x\n"
    assert "=10" in render(sheet)


def test_a_cell_with_many_games_has_points_and_games() -> None:
    """All results are in CSV."""
    placed = (StandingsRow(1, "A", 15, 13), StandingsRow(2, "B", 11, 13))
    sheet = crosstable_sheet("t", ["A", "B"], {("A", "B"): "1" * 7 + "=" + "0" * 5, ("B", "A"): "=10"}, placed)
    assert "7½/13" in render(sheet)
    assert "=10" in render(sheet)
    assert "1111111½00000" in sheet.csv()


def test_an_error_that_was_not_asked_for_is_no_lack_of_games() -> None:
    """Large pools have no errors in the columns, and a remark says why."""
    from enginetour.ratings.ratinglist import NOT_ASKED, Row
    from enginetour.reports.ratinglist import _shown

    record: dict[str, Any] = {"games": 500, "score": 0.5, "wins": 200, "draws": 100, "losses": 200}
    row = Row(rank=1, name="Ada", rating=12.0, opponents=0.0, performance=12.0, remarks=(NOT_ASKED,), **record)
    shown = _shown(row, [NOT_ASKED])
    assert (shown["plus"], shown["minus"], shown["remarks"]) == ("", "", "[1]")
