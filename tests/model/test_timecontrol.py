"""Tests of model/timecontrol."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enginetour.model.timecontrol import TIME_CLASSES, Stage, TimeControl, class_of, describe_time_classes, time_class

# Grammar.


@pytest.mark.parametrize(
    ("text", "control"),
    [
        ("10+0.1", TimeControl((Stage(0, 10_000, 100),))),
        ("40/60", TimeControl((Stage(40, 60_000),))),
        ("40/60:20/30+0.5", TimeControl((Stage(40, 60_000), Stage(20, 30_000, 500)))),
        ("1.+.01", TimeControl((Stage(0, 1000, 10),))),
        ("movetime=.1", TimeControl(movetime_ms=100)),
        ("movetime=0.1", TimeControl(movetime_ms=100)),
        ("nodes=1000", TimeControl(nodes=1000)),
        ("depth=8", TimeControl(depth=8)),
        ("movetime=1,nodes=5", TimeControl(movetime_ms=1000, nodes=5)),
        ("5+0.05, depth=9", TimeControl((Stage(0, 5000, 50),), depth=9)),
        ("hourglass=60", TimeControl((Stage(0, 60_000),), hourglass=True)),
        ("*180", TimeControl((Stage(0, 180_000),), hourglass=True)),
        ("nodes=9,hourglass=.5", TimeControl((Stage(0, 500),), nodes=9, hourglass=True)),
    ],
)
def test_what_testers_write_is_read(text: str, control: TimeControl) -> None:
    """The usual forms of a time control are parsed to milliseconds."""
    assert TimeControl.parse(text) == control
    assert TimeControl.parse(str(control)) == control


@pytest.mark.parametrize(
    "text", ["", "0", "0+0", "40/", "x", "-1", "1+-1", "0/10", "movetime=0", "movetime=1,5+1", "1,2", "depth=1.5",
             "nodes=0", "mate=3", "1e3", "depth=1,depth=2", "nodes=" + "9" * 16, "depth=1001", "１0+1",
             "depth=４", "depth=99999999999999", "999999", ".", "1+.", "movetime=.",
             "hourglass=1+1", "hourglass=40/60", "hourglass=0", "hourglass=1,5", "hourglass=1,movetime=1", "*"],
)  # fmt: skip
def test_what_is_no_control_is_refused(text: str) -> None:
    """A control without a limit is not valid, and invalid numbers are not guessed."""
    with pytest.raises(ValueError, match=r"."):
        TimeControl.parse(text)


@pytest.mark.parametrize("text", ["5:00", "40/5:00", "0:10"])
def test_five_minutes_are_told_how_to_be_written(text: str) -> None:
    """A stage of no time after a colon means minutes in other programs; the error says how to write them."""
    with pytest.raises(ValueError, match="write minutes in seconds"):
        TimeControl.parse(text)


@given(
    st.lists(st.builds(Stage, st.integers(0, 999), st.integers(1, 86_400_000), st.integers(0, 86_400_000)), max_size=4),
    st.none() | st.integers(1, 10**15 - 1),
    st.none() | st.integers(1, 999),
)
def test_every_control_is_written_so_that_it_reads_back(
    stages: list[Stage], nodes: int | None, depth: int | None
) -> None:
    """`parse(str(control))` returns the same control."""
    control = TimeControl(tuple(stages), nodes=nodes, depth=depth)
    if control.limits:
        assert TimeControl.parse(str(control)) == control


def test_the_last_stage_repeats() -> None:
    """The last stage of 40/60:20/30 repeats."""
    control = TimeControl.parse("40/60:20/30")
    assert [control.stage(number).moves for number in range(4)] == [40, 20, 20, 20]


# Time classes.


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
    """Base time and 40 increments determine the class; repeated stages count each time; other limits are classes."""
    assert class_of(control) == expected
    assert expected in TIME_CLASSES


def test_odds() -> None:
    """Sides of two classes are in the class "odds"; different controls of one class are not."""
    assert time_class("60", "600") == "odds"
    assert time_class("180+2", "300") == "blitz"


def test_bounds_are_told() -> None:
    """The limits of the classes are described."""
    assert describe_time_classes(("ultrabullet", "blitz", "classical", "nodes")) == (
        "ultrabullet (0 to 30 s for 40 moves), blitz (180 to 480 s for 40 moves), "
        "classical (from 1500 s for 40 moves), nodes"
    )
