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
        "t\n#  engine  points  games  SB  DE  WIN  status\n"
        "1  A           2½      3  2¼   ½    2\n   B            0      0               withdrawn\n"
    )


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


def test_an_error_that_was_not_asked_for_is_no_lack_of_games() -> None:
    """Pools too large for all errors at once say nothing in the columns, and the remark says why."""
    from enginetour.ratings.rows import NOT_ASKED, Row
    from enginetour.reports.ratings import _shown

    row = Row(1, "Ada", 12.0, None, None, 500, 0.5, 200, 100, 200, 0.0, 12.0, None, 1, (NOT_ASKED,))
    shown = _shown(row, [NOT_ASKED])
    assert (shown["plus"], shown["minus"], shown["remarks"]) == ("", "", "[1]")
