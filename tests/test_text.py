"""What people read in the morning."""

from __future__ import annotations

from enginetour.formats.pairing.standings import NAMES
from enginetour.formats.pairing.tiebreaks import PLACEMENT_CODES
from enginetour.model.game import Placed
from enginetour.reports.sheet import render
from enginetour.reports.standings import apart, crosstable, duration, standings


def test_tie_breaks_are_shown_in_points() -> None:
    """SB is kept in quarter points and DE in half points, so that they stay whole; a tester reads points."""
    placed = (Placed(1, "A", 5, 3, "", (("SB", 9), ("DE", 1), ("WIN", 2))), Placed(None, "B", 0, 0, "withdrawn"))
    sheet = standings("t", placed)
    assert [sheet.rows[0][code] for code in ("SB", "DE", "WIN")] == [2.25, 0.5, 2]
    assert render(sheet) == (
        "t\n#  engine  points  games  SB  DE  WIN  status\n"
        "1  A           2½      3  2¼   ½    2\n   B            0      0               withdrawn\n"
        "SB: Sonneborn-Berger, scores of opponents beaten, half of those drawn with; DE:\n"
        "  direct encounter; WIN: wins\n"
    )


def test_every_code_has_its_words() -> None:
    """A table says what its codes stand for, and nothing where it has none."""
    assert NAMES.keys() == PLACEMENT_CODES.keys()
    assert (NAMES["SOSM-2"], NAMES["SODOSW"]) == (
        "sum of opponents' McMahon scores without the lowest two",
        "sum of defeated opponents' wins, half for a draw",
    )
    assert standings("t", (Placed(1, "A", 5, 3),)).notes == ()
    square = crosstable("t", ["A"], {}, [Placed(1, "A", 5, 3, "", (("SB", 9),))], ("SB",), notes=("first",))
    assert square.notes == ("first", "SB: Sonneborn-Berger, scores of opponents beaten, half of those drawn with")


def test_six_tie_breaks_fit_eighty_columns() -> None:
    """Beside a status they continue below; hundredths of a point are written as such, categories as they are named."""
    breaks = (("SOSM-1", 361), ("SOSOSM", 1563), ("SODOSM", -1), ("AOB", 433), ("CAT", -2), ("SOSTS", 0))
    for status in ("", "withdrawn"):
        text = render(standings("t", [Placed(1, "An engine of a very long name", 5, 3, status, breaks)]), 80)
        assert max(map(len, text.splitlines())) <= 80
        assert ("withdrawn" in text) == bool(status)
        words = text.split()
        assert all(word in words for word in ("SOSM-1", "180½", "781½", "-¼", "4.33", "2", "0", "SOSTS"))
    assert standings("t", [Placed(1, "A", 5, 3, "", breaks)]).rows[0]["CAT"] == 2


def test_points_without_a_game_stand_in_a_column_of_their_own() -> None:
    """Two points and two games look like two wins, where one is a bye and both games were lost."""
    placed = (Placed(1, "A", 6, 4), Placed(2, "B", 4, 2, unplayed=4))
    assert render(standings("t", placed)) == (
        "t\n#  engine  points  games  byes\n1  A            3      4\n2  B            2      2     2\n"
        "byes: points without a game, among the points\n"
    )
    assert [row["unplayed"] for row in standings("t", placed).rows] == [0, 2]


def test_a_crosstable_says_why_its_signs_and_the_points_differ() -> None:
    """Byes, games struck out that had decided, games against the withdrawn; a table without them says nothing."""
    placed = (Placed(1, "A", 6, 2, unplayed=2), Placed(2, "B", 4, 4), Placed(3, "C", 1, 3), Placed(None, "D", 2, 2))
    told = apart(placed, {"A": 4, "B": 2, "C": 4, "D": 2})
    assert told == (
        "points without a game (byes): A 1",
        "points of games that were struck out when they had decided: B 1",
        "points against the withdrawn, which the standings leave out: C 1½",
    )
    assert apart(placed[3:], {"D": 2}) == ()
    assert apart(placed[1:], {"B": 9, "C": 9, "D": 9}, by_match=True) == (
        "points are those of matches, signs those of games",
    )


def test_no_cell_of_a_crosstable_is_a_formula() -> None:
    """A spreadsheet reads =10 as ten; people read the sign they know."""
    placed = (Placed(1, "A", 3, 3), Placed(2, "B", 3, 3))
    sheet = crosstable("t", ["A", "B"], {("A", "B"): "=10", ("B", "A"): "=01"}, placed)
    assert sheet.csv() == "rank,name,points,vs1,vs2\n1,A,1.5,x,½10\n2,B,1.5,½01,x\n"
    assert "=10" in render(sheet)


def test_a_short_time_is_not_none() -> None:
    """A game of 0.4 s took some time."""
    assert [duration(seconds) for seconds in (0, 0.02, 0.4, 1.4)] == ["0 s", "0.1 s", "0.4 s", "1 s"]


def test_an_error_that_was_not_asked_for_is_no_lack_of_games() -> None:
    """Pools too large for all errors at once say nothing in the columns, and the remark says why."""
    from enginetour.ratings.ratinglist import NOT_ASKED, Row
    from enginetour.reports.ratinglist import _shown

    row = Row(1, "Ada", 12.0, None, None, 500, 0.5, 200, 100, 200, 0.0, 12.0, None, 1, (NOT_ASKED,))
    shown = _shown(row, [NOT_ASKED])
    assert (shown["plus"], shown["minus"], shown["remarks"]) == ("", "", "[1]")
