"""What people read in the morning."""

from __future__ import annotations

from enginetour.model import Placed
from enginetour.reports.sheet import render
from enginetour.reports.text import standings


def test_tie_breaks_are_shown_in_points() -> None:
    """SB is kept in quarter points and DE in half points, so that they stay whole; a tester reads points."""
    placed = (Placed(1, "A", 5, 3, "", (("SB", 9), ("DE", 1), ("WIN", 2))), Placed(None, "B", 0, 0, "withdrawn"))
    sheet = standings("t", placed)
    assert [sheet.rows[0][code] for code in ("SB", "DE", "WIN")] == [2.25, 0.5, 2]
    assert render(sheet) == (
        "t\n#  engine  points  games    SB   DE  WIN  status\n"
        "1  A           2½      3  2.25  0.5    2\n   B            0      0                  withdrawn\n"
    )


def test_an_error_that_was_not_asked_for_is_no_lack_of_games() -> None:
    """Pools too large for all errors at once say nothing in the columns, and the remark says why."""
    from enginetour.ratings.rows import NOT_ASKED, Row
    from enginetour.reports.ratings import _shown

    row = Row(1, "Ada", 12.0, None, None, 500, 0.5, 200, 100, 200, 0.0, 12.0, None, 1, (NOT_ASKED,))
    shown = _shown(row, [NOT_ASKED])
    assert (shown["plus"], shown["minus"], shown["remarks"]) == ("", "", "[1]")
