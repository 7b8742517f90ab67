"""Laws of clocks, compared with exact arithmetic that rounds only at the end."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import chain, repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enginetour.model.task import EngineSpec, Side
from enginetour.model.timecontrol import LONGEST_STAGE_MS, Stage, TimeControl
from enginetour.referee.clock import GRACE_NS, MS, Clock
from tests.support.engines import Protocol, game, scripted, sound

SPEC = EngineSpec("e", ("/e",), "uci")
STAGES = st.builds(
    Stage, moves=st.integers(1, 5), base_ms=st.integers(1, 20_000), increment_ms=st.sampled_from([0, 0, 1, 100, 2_500])
)
LAST = st.builds(Stage, moves=st.integers(0, 3), base_ms=st.integers(1, 20_000), increment_ms=st.integers(0, 500))
CONTROLS = st.builds(lambda first, last: TimeControl((*first, last)), st.lists(STAGES, max_size=3), LAST)
THOUGHTS = st.lists(st.one_of(st.integers(0, 3_000 * MS), st.integers(0, 300).map(lambda ms: ms * MS)), max_size=30)


def additions(tc: TimeControl) -> Iterator[tuple[int, int]]:
    """Yield the time added before each move: the increment, and the base time at the start of a stage."""
    for stage in chain(tc.stages, repeat(tc.stages[-1])):
        for number in range(stage.moves or 10_000):
            yield stage.increment_ms, stage.base_ms if number == 0 else 0


@given(tc=CONTROLS, margin=st.integers(0, 60), thoughts=THOUGHTS)
def test_a_clock_is_the_sum_of_what_came_and_went(tc: TimeControl, margin: int, thoughts: list[int]) -> None:
    """A clock is the sum of base times and increments minus whole milliseconds, never below zero by the margin."""
    clock = Clock(Side(SPEC, tc, margin), 60.0)
    left = spent = uses = 0
    for thought, (increment, base) in zip(thoughts, additions(tc), strict=False):
        left += increment + base
        assert clock.rest_ms == left
        assert clock.shown_ms() == max(1, left)
        assert clock.increment_ms == increment
        cost = Fraction(thought, MS)
        charged = clock.charge(thought)
        if cost >= left + margin + 1:
            assert charged is None
            assert clock.rest_ms == left
            break
        assert charged == cost.numerator // cost.denominator
        spent += charged
        uses += charged > left
        left = max(0, left - charged)
        assert clock.least_ms is not None
        assert clock.least_ms <= left
    assert (clock.total_ms, clock.margin_uses) == (spent, uses)


@given(tc=CONTROLS, margin=st.integers(0, 60), beyond=st.integers(-5, 5))
def test_a_flag_falls_at_one_nanosecond(tc: TimeControl, margin: int, beyond: int) -> None:
    """A time loss begins at one millisecond beyond clock and margin, and the wait includes the grace time."""
    clock = Clock(Side(SPEC, tc, margin), 60.0)
    at = (clock.limit_ms + margin + 1) * MS + beyond
    assert clock.wait_ns() - GRACE_NS == clock.flag_ns()
    assert (at >= clock.flag_ns()) == (beyond >= 0)
    assert (clock.charge(at) is None) == (beyond >= 0)


@given(
    ms=st.integers(1, LONGEST_STAGE_MS),
    margin=st.integers(0, 60_000),
    limit=st.floats(0.001, 86_400),
    thought=st.integers(0, 10**15),
    kind=st.sampled_from(["movetime", "nodes", "depth"]),
)
def test_without_a_clock_every_move_is_like_the_first(
    ms: int, margin: int, limit: float, thought: int, kind: str
) -> None:
    """A fixed time per move has its margin, and nodes and depth have the hang limit, for every move."""
    controls = {"movetime": TimeControl(movetime_ms=ms), "nodes": TimeControl(nodes=ms), "depth": TimeControl(depth=ms)}
    tc = controls[kind]
    clock = Clock(Side(SPEC, tc, margin), limit)
    allowed = ms + margin if kind == "movetime" else int(limit * 1000)
    for _ in range(2):
        assert clock.flag_ns() == (allowed + 1) * MS
        in_time = thought // MS <= allowed
        assert clock.charge(thought) == (thought // MS if in_time else None)
        assert (clock.rest_ms, clock.shown_ms()) == (None, None)


@pytest.mark.parametrize("protocol", ["uci", "cecp"])
@pytest.mark.parametrize("seconds", [0.0209, 0.1001])
def test_no_thought_costs_less_than_it_took(protocol: Protocol, seconds: float) -> None:
    """An engine is charged at least its thinking time, truncated to milliseconds.

    The clock starts after the write of `go`. A busy machine can stop the referee between the two, and then a thought
    costs less. Therefore up to five games are played.
    """
    charged: list[int] = []
    while len(charged) < 5 and max(charged, default=0) < int(seconds * 1000):
        played = game(scripted(protocol, "late", at=3, seconds=seconds), sound())
        charged.append(played.moves[4].elapsed_ms)
        assert played.white.longest_ms == max(move.elapsed_ms for move in played.moves[::2])
        assert played.white.think_ms == sum(move.elapsed_ms for move in played.moves[::2])
    assert max(charged) >= int(seconds * 1000)
