"""One side's clock: what is charged, what is late, what engines are told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enginetour.model.task import EngineSpec, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.referee import clock as module
from enginetour.referee.clock import MS, Clock, Halts

SPEC = EngineSpec("e", ("/e",), "uci")


def clock(text: str, margin: int = 50, hang_limit: float = 60.0) -> Clock:
    return Clock(Side(SPEC, TimeControl.parse(text), margin), hang_limit)


def test_the_first_clock_is_base_and_increment() -> None:
    """The first move has its increment already, as in fastchess and cutechess-cli."""
    assert clock("10+0.1").rest_ms == 10_100


@given(st.lists(st.integers(0, 400), max_size=40))
def test_what_one_hourglass_uses_runs_to_the_other(spent: list[int]) -> None:
    """Nothing of it is lost or made, also by a move within the margin."""
    glasses = clock("hourglass=1"), clock("hourglass=1")
    for ply, ms in enumerate(spent):
        own, other = glasses[ply % 2], glasses[(ply + 1) % 2]
        before, taken = (own.rest_ms or 0, other.rest_ms or 0), own.charge(ms * MS, other)
        used = 0 if taken is None else min(taken, before[0])
        assert (own.rest_ms, other.rest_ms) == (before[0] - used, before[1] + used)
    assert sum(glass.rest_ms or 0 for glass in glasses) == 2000


def test_an_hourglass_gives_a_clock_nothing() -> None:
    """Nor the other way round: a clock has no other end."""
    glass, plain = clock("hourglass=1"), clock("1")
    glass.charge(100 * MS, plain)
    plain.charge(200 * MS, glass)
    assert (glass.rest_ms, plain.rest_ms) == (900, 800)


def test_elapsed_time_is_cut_to_whole_milliseconds() -> None:
    """A move of 99.999 ms costs 99 ms; then comes the increment."""
    side = clock("1+0.05")
    assert side.charge(99_999_999) == 99
    assert side.rest_ms == 1050 - 99 + 50


@pytest.mark.parametrize(
    ("elapsed_ns", "spent", "uses"),
    [(1_000 * MS, 1000, 0), (1_001 * MS, 1001, 1), (1_050_999_999, 1050, 1), (1_051 * MS, None, 0)],
)
def test_within_the_margin_nothing_is_lost(elapsed_ns: int, spent: int | None, uses: int) -> None:
    """A move within clock and margin is in time, its negative rest becomes 0, and its margin use is counted."""
    side = clock("1")
    assert side.charge(elapsed_ns) == spent
    assert side.margin_uses == uses
    assert side.rest_ms == (0 if spent is not None else 1000)


def test_the_wait_ends_a_grace_after_the_flag() -> None:
    """Waiting goes on for 100 ms, only to learn the true overrun."""
    side = clock("1", margin=0)
    assert side.flag_ns() == 1_001 * MS
    assert side.wait_ns() == 1_101 * MS
    assert side.overrun_ms(1_036_500_000) == 36


def test_a_clock_is_never_shown_below_one() -> None:
    """Two surveyed engines search for ever on a clock of nothing."""
    side = clock("0.1")
    side.charge(120 * MS)
    assert side.rest_ms == 0
    assert side.shown_ms() == 1


def test_stages_follow_each_other_and_the_last_repeats() -> None:
    """After its moves a stage gives way to the next one's base and increment; the last one comes again."""
    side = clock("2/10:3/5+1")
    left = []
    for _ in range(8):
        side.charge(1_000 * MS)
        left.append((side.rest_ms, side.moves_to_go))
    assert left == [
        (9_000, 1),
        (14_000, 3),
        (14_000, 2),
        (14_000, 1),
        (19_000, 3),
        (19_000, 2),
        (19_000, 1),
        (24_000, 3),
    ]


def test_the_stage_for_the_rest_of_the_game_has_no_move_count() -> None:
    """Without a number of moves nothing is left to go."""
    side = clock("1/10:20")
    assert side.moves_to_go == 1
    side.charge(0)
    assert (side.moves_to_go, side.rest_ms) == (0, 30_000)


def test_a_fixed_time_knows_its_margin_and_no_clock() -> None:
    """movetime and margin make the limit; nothing runs down."""
    side = clock("movetime=0.5", margin=100)
    assert side.shown_ms() is None
    assert side.charge(600 * MS) == 600
    assert side.margin_uses == 1
    assert side.charge(601 * MS) is None


def test_nodes_and_depth_have_a_hang_limit() -> None:
    """Without a clock the limit for a hung engine holds, without any margin."""
    side = clock("nodes=1000", hang_limit=2.0)
    assert side.flag_ns() == 2_001 * MS
    beside = clock("10+0.1,depth=4", hang_limit=2.0)
    assert beside.rest_ms == 10_100
    assert (side.hang_words, beside.hang_words) == ("the hang limit of 2 s", "")


def test_what_is_counted() -> None:
    """Moves, their sum, the longest, the smallest clock left."""
    side = clock("1")
    for spent in (100, 300, 200):
        side.charge(spent * MS)
    assert (side.moves, side.total_ms, side.longest_ms, side.least_ms) == (3, 600, 300, 400)


def words(halts: Halts) -> str:
    return halts.words


def test_a_referee_that_overslept_knows_it() -> None:
    """A wait that ended more than a second late is told, less is not."""
    halts = Halts()
    halts.overslept(900 * MS)
    assert words(halts) == ""
    halts.overslept(3_200 * MS)
    assert words(halts) == "the referee woke up 3.2 s late"
    halts.close()


def test_a_machine_that_slept_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock since boot runs on in a sleep, the monotonic one does not: more than a second between them is told."""
    halts = Halts()
    awake = module.slept_ns()
    monkeypatch.setattr(module, "slept_ns", lambda: awake + 900 * MS)
    assert words(halts) == ""
    monkeypatch.setattr(module, "slept_ns", lambda: awake + 1_100 * MS)
    assert words(halts) == "the machine was suspended during a move"
    halts.close()
