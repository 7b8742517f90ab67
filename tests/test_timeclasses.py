"""Classes of time controls."""

from __future__ import annotations

import pytest

from enginetour.model.timecontrol import TIME_CLASSES, bounds_told, class_of, time_class


@pytest.mark.parametrize(
    ("control", "expected"),
    [
        ("29.999", "ultrabullet"),
        ("30", "bullet"),
        ("10+0.1", "ultrabullet"),
        ("99+2", "bullet"),
        ("100+2", "blitz"),
        ("480", "rapid"),
        ("1500", "classical"),
        ("40/60+0.6", "bullet"),
        ("20/60", "bullet"),
        ("10/60", "blitz"),
        ("40/7200:3600", "classical"),
        ("30/100:500", "rapid"),
        ("nodes=1000", "nodes"),
        ("60,depth=8", "depth"),
        ("depth=8,nodes=9", "nodes"),
        ("movetime=1", "movetime"),
        ("?", "unknown"),
        ("-", "unknown"),
        ("*200", "blitz"),
        ("", "unknown"),
    ],
)
def test_class(control: str, expected: str) -> None:
    """Base and 40 increments name the class, periods count as often as they begin, limits are classes of their own."""
    assert class_of(control) == expected
    assert expected in TIME_CLASSES


def test_odds() -> None:
    """Sides of two classes are a class of their own; another control of the same class is not."""
    assert time_class("60", "600") == "odds"
    assert time_class("180+2", "300") == "blitz"


def test_bounds_are_told() -> None:
    """A list says what its classes are."""
    assert bounds_told(("ultrabullet", "blitz", "classical", "nodes")) == (
        "ultrabullet (0 to 30 s for 40 moves), blitz (180 to 480 s for 40 moves), "
        "classical (from 1500 s for 40 moves), nodes"
    )
