"""Rating lists as tables."""

from __future__ import annotations

from enginetour.ratings.ratinglist import rating_list
from enginetour.reports.ratinglist import likelihood
from enginetour.reports.sheet import render


def test_an_anchor_has_no_error_and_nothing_is_minus_zero() -> None:
    """The others are measured from it: no figure, and not the words for too few games."""
    found = rating_list({("A", "B"): (5, 0, 5), ("C", "A"): (3, 1, 4)}, anchors={"A": -0.2})
    text = render(likelihood("t", found))
    line = next(line for line in text.splitlines() if " A " in line)
    assert line.split()[:3] == [line.split()[0], "A", "0"]
    assert "too few" not in line
    assert "-0 " not in text
