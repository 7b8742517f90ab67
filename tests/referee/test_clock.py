"""Tests of referee/clock."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enginetour.engines.process import EngineProcess, Wake, wait
from enginetour.engines.protocol import Ask, Engine
from enginetour.engines.uci import UciEngine
from enginetour.interop.compiled import native
from enginetour.model.game import Game, Outcome, Termination
from enginetour.model.task import EngineSpec, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.referee import clock as module
from enginetour.referee import relay, talk, waits
from enginetour.referee.clock import MS, Clock, Interruptions
from enginetour.referee.record import Record
from tests.support.engines import BOTH, OVERSLEPT_NS, Protocol, game, scripted, sound
from tests.support.tournaments import Forked, audit, left_running, quick, read

# One side's clock: what is charged, what is late, what is sent to engines.

SPEC = EngineSpec("e", ("/e",), "uci")


def clock(text: str, margin: int = 50, hang_limit: float = 60.0) -> Clock:
    return Clock(Side(SPEC, TimeControl.parse(text), margin), hang_limit)


def test_the_first_clock_is_base_and_increment() -> None:
    """The first move has its increment already, as in fastchess and cutechess-cli."""
    assert clock("10+0.1").rest_ms == 10_100


@given(st.lists(st.integers(0, 400), max_size=40))
def test_what_one_hourglass_uses_runs_to_the_other(spent: list[int]) -> None:
    """What one hourglass uses goes to the other, also by a move within the margin."""
    glasses = clock("hourglass=1"), clock("hourglass=1")
    for ply, ms in enumerate(spent):
        own, other = glasses[ply % 2], glasses[(ply + 1) % 2]
        before, taken = (own.rest_ms or 0, other.rest_ms or 0), own.charge(ms * MS, other)
        used = 0 if taken is None else min(taken, before[0])
        assert (own.rest_ms, other.rest_ms) == (before[0] - used, before[1] + used)
    assert sum(glass.rest_ms or 0 for glass in glasses) == 2000


def test_an_hourglass_gives_a_clock_nothing() -> None:
    """An hourglass and another clock do not exchange time."""
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
    """A move within clock and margin is in time; the clock becomes 0, and the use of the margin is counted."""
    side = clock("1")
    assert side.charge(elapsed_ns) == spent
    assert side.margin_uses == uses
    assert side.rest_ms == (0 if spent is not None else 1000)


def test_the_wait_ends_a_grace_after_the_flag() -> None:
    """Waiting continues for 100 ms after the flag, to learn the true overrun."""
    side = clock("1", margin=0)
    assert side.flag_ns() == 1_001 * MS
    assert side.wait_ns() == 1_101 * MS
    assert side.overrun_ms(1_036_500_000) == 36


def test_a_clock_is_never_shown_below_one() -> None:
    """A clock is never sent as less than 1 ms: two surveyed engines would search for ever."""
    side = clock("0.1")
    side.charge(120 * MS)
    assert side.rest_ms == 0
    assert side.shown_ms() == 1


def test_stages_follow_each_other_and_the_last_repeats() -> None:
    """After its moves a stage is followed by the next one; the last one is repeated."""
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
    """A stage without a number of moves lasts to the end of the game."""
    side = clock("1/10:20")
    assert side.moves_to_go == 1
    side.charge(0)
    assert (side.moves_to_go, side.rest_ms) == (0, 30_000)


def test_a_fixed_time_knows_its_margin_and_no_clock() -> None:
    """A fixed time has its limit and margin; nothing runs down."""
    side = clock("movetime=0.5", margin=100)
    assert side.shown_ms() is None
    assert side.charge(600 * MS) == 600
    assert side.margin_uses == 1
    assert side.charge(601 * MS) is None


def test_nodes_and_depth_have_a_hang_limit() -> None:
    """Without a clock the hang limit applies, without a margin."""
    side = clock("nodes=1000", hang_limit=2.0)
    assert side.flag_ns() == 2_001 * MS
    beside = clock("10+0.1,depth=4", hang_limit=2.0)
    assert beside.rest_ms == 10_100
    assert (side.hang_limit_text, beside.hang_limit_text) == ("the hang limit of 2 s", "")


def test_what_is_counted() -> None:
    """Moves, their sum, the longest move and the smallest clock are counted."""
    side = clock("1")
    for spent in (100, 300, 200):
        side.charge(spent * MS)
    assert (side.moves, side.total_ms, side.longest_ms, side.least_ms) == (3, 600, 300, 400)


def words(halts: Interruptions) -> str:
    return halts.reason


def test_a_referee_that_overslept_knows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wait that ended more than a second late is reported, less is not."""
    monkeypatch.setattr(module, "OVERSLEPT_NS", OVERSLEPT_NS)
    halts = Interruptions()
    halts.overslept(900 * MS)
    assert words(halts) == ""
    halts.overslept(3_200 * MS)
    assert words(halts) == "the referee woke up 3.2 s late"
    halts.close()


def test_a_machine_that_slept_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A suspension of more than a second is noticed by the clock since boot."""
    halts = Interruptions()
    awake = module.suspended_ns()
    monkeypatch.setattr(module, "suspended_ns", lambda: awake + 900 * MS)
    assert words(halts) == ""
    monkeypatch.setattr(module, "suspended_ns", lambda: awake + 1_100 * MS)
    assert words(halts) == "the machine was suspended during a move"
    halts.close()


# The text of a time loss, to the millisecond: the true overrun, and the delay of the referee.

LIMIT_MS, MARGIN_MS, GRACE_MS, OWED_MS = 20, 10, 100, 1_000
FLAG_MS = LIMIT_MS + MARGIN_MS + 1
SECOND = 1_000 * MS


class StillClock:
    """A clock on which time passes only where a test says so, in ns; C does not read it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = time.monotonic_ns()
        self.write = self.judging = 0  # of each ply
        self.think = 0  # of the second search of the engine called late
        self.silent = False  # no output up to the deadline
        self.deaf = False  # nor after it
        self._searches = 0
        self._late: Engine | None = None
        self._answered = True
        go, read, enter = Engine.go, EngineProcess.read, Record.enter

        def slowly(engine: Engine, ask: Ask) -> int:
            self.now += self.write
            if engine.spec.name == "late":
                self._searches += 1
                self._late, self._answered = engine, self._searches != 2
            return go(engine, ask)

        def at_last(process: EngineProcess) -> tuple[bytes, int]:
            data, _ = read(process)
            if not self._answered and self._is_late(process) and b"move " in data:
                self._answered = True
                self.now += self.think
            return data, self.now

        def with_care(record: Record, ply: Any) -> None:
            self.now += self.judging
            enter(record, ply)

        def unheard(processes: Sequence[EngineProcess], control: int | None, until: int, chatter: Any = None) -> Wake:
            if not (self.silent and not self._answered and self._is_late(processes[0])):
                return wait(processes, control, until, chatter)
            self.now = max(self.now, until)
            return Wake((), control=False)

        def unheard_too(processes: Sequence[EngineProcess], control: int | None, until: int) -> Wake:
            return unheard(processes, control, until) if self.deaf else wait(processes, control, until)

        monkeypatch.setattr(time, "monotonic_ns", lambda: self.now)
        monkeypatch.setattr(module, "suspended_ns", lambda: 0)
        monkeypatch.setattr(relay, "native", None)
        monkeypatch.setattr(waits.OwnWaits, "look", lambda queue: b"")
        monkeypatch.setattr(waits.EngineWaits, "machine_ns", lambda queue: None)
        monkeypatch.setattr(waits.EngineWaits, "is_kept_waiting", lambda queue, used_ns: False)
        monkeypatch.setattr(Engine, "go", slowly)
        monkeypatch.setattr(EngineProcess, "read", at_last)
        monkeypatch.setattr(Record, "enter", with_care)
        monkeypatch.setattr(relay, "wait", unheard)
        monkeypatch.setattr(talk, "wait", unheard_too)

    def _is_late(self, process: EngineProcess) -> bool:
        return self._late is not None and process is self._late.process


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> StillClock:
    """Return a game on such a clock, played in Python alone."""
    return StillClock(monkeypatch)


def flagged(protocol: Protocol = "uci", *, limit_ms: int = LIMIT_MS, **more: Any) -> Game:
    """Return a game in which White is late with its second move."""
    late = scripted(protocol, name="late")
    played = game(late, sound(protocol), white_tc=f"{limit_ms / 1000}", margin=MARGIN_MS, **more)
    assert (played.termination, played.plies) == (Termination.TIME, 2), played.cause
    return played


@BOTH
def test_an_overrun_is_that_of_the_answer(protocol: Protocol, still: StillClock) -> None:
    """The overrun is that of the answer beyond the clock, in whole milliseconds, without a delay of the referee."""
    still.think = 56 * MS + 700_000
    played = flagged(protocol)
    assert played.cause.startswith(
        "White loses on time, 36 ms over the limit, with answer 'f3g1' (time margin 10 ms; referee delay up to 0.0 ms"
    )
    assert (played.outcome, played.culprit, played.referee_us) == (Outcome.BLACK, "late", 0)


@BOTH
def test_an_answer_to_stop_is_told_with_the_time_of_its_arrival(protocol: Protocol, still: StillClock) -> None:
    """An answer to stop is reported with the time of its arrival."""
    still.silent, still.think = True, 81 * MS + 500_000
    over = FLAG_MS + GRACE_MS + 81 - LIMIT_MS
    assert flagged(protocol).cause.startswith(f"White loses on time, {over} ms over the limit, after stop (time margin")


@BOTH
def test_no_answer_is_told_with_all_that_was_waited(protocol: Protocol, still: StillClock) -> None:
    """Without an answer, the whole wait after the flag is reported."""
    still.silent = still.deaf = True
    late = (GRACE_MS + OWED_MS) / 1000
    cause = flagged(protocol, limit_ms=3_000).cause
    assert cause.startswith(f"White loses on time, no answer {late:.1f} s after the flag (time margin")


@pytest.mark.parametrize("part", ["write", "judging", "queue"])
@pytest.mark.parametrize("enough", [True, False])
def test_what_the_referee_cost_is_told_with_a_flag(
    part: str, *, enough: bool, still: StillClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The write, the relay gap and the wait for a processor each make a smaller overrun doubtful."""
    still.think = FLAG_MS * MS + 5 * MS
    cost = (6 if enough else 4) * MS
    if part == "queue":
        stamps = itertools.count(step=cost)
        monkeypatch.setattr(waits.OwnWaits, "look", lambda queue: b"1 %d 1" % next(stamps))
    else:
        setattr(still, part, cost)
    played = flagged(doubtful_flag="void")
    assert (played.outcome, played.category) == ((Outcome.VOID, "host") if enough else (Outcome.BLACK, "time"))
    assert played.referee_us == cost // 1000
    assert f"referee delay up to {cost / MS:.1f} ms" in played.cause


def test_what_the_referee_cost_is_added_up(still: StillClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """The delays of one ply are added up, without those of earlier plies."""
    stamps = itertools.count(step=7 * MS)
    monkeypatch.setattr(waits.OwnWaits, "look", lambda queue: b"1 %d 1" % next(stamps))
    still.write, still.judging, still.think = 2 * MS, 3 * MS, 56 * MS
    played = flagged()
    assert played.referee_us == 12_000
    assert [move.gap_us for move in played.moves] == [None, 3_000]
    assert played.relay_gap_us == (3_000, 3_000, 3_000)


def test_a_freeze_is_the_referees_in_python_too(still: StillClock) -> None:
    """After a freeze nobody knows when the answer came, so the time loss is doubtful."""
    still.think = SECOND // 2
    played = flagged(doubtful_flag="void")
    assert (played.outcome, played.category, played.culprit) == (Outcome.VOID, "host", ""), played.cause


class Retold:
    """A relay that reports a search left to Python with the values of the test."""

    def __init__(self, own: Any, **told: Any) -> None:
        self._own, self._told = own, told

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    def ply(self) -> Any:
        names = ["thinking", "text", "stamp", "go", "write", "gap", "answered"]
        names += ["waited", "now", "until", "taken", "unread", "end"]
        return tuple((dict(zip(names, self._own.ply(), strict=True)) | self._told).values())


COMPILED = {"write": 5 * SECOND, "gap": 7 * SECOND, "queue": 9 * SECOND}


@pytest.mark.skipif(native is None, reason="without the compiled part all is Python's")
@pytest.mark.parametrize("part", COMPILED)
def test_what_compiled_code_cost_is_told_with_a_flag(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled code leaves a late answer to Python with the delays that it noted."""
    made, take_over = relay.CompiledRelay, UciEngine.take_over
    cost = dict.fromkeys(COMPILED, 0) | {part: COMPILED[part]}

    def retold(*words: Any) -> Any:
        found = made(*words)
        found._own = Retold(found._own, write=cost["write"], gap=cost["gap"], waited=b"1 %d 1" % SECOND, now=0)
        return found

    def late(engine: UciEngine, text: bytes, stamp_ns: int) -> None:
        if b"bestmove F3G1" in text:
            stamp_ns = engine._last_write_ns + 60_086 * MS + 999_999
        take_over(engine, text, stamp_ns)

    monkeypatch.setattr(relay, "CompiledRelay", retold)
    monkeypatch.setattr(UciEngine, "take_over", late)
    monkeypatch.setattr(module.Interruptions, "woke", lambda *_: 0)  # however busy the machine is
    monkeypatch.setattr(waits.OwnWaits, "look", lambda queue: b"1 %d 1" % (SECOND + cost["queue"]))
    played = game(scripted("uci", "upper"), sound(), doubtful_flag="void")
    assert (played.outcome, played.category, played.plies) == (Outcome.VOID, "host", 2)
    rest = 60_000 - played.moves[0].elapsed_ms
    assert played.cause.startswith(f"White loses on time, {60_086 - rest} ms over the limit, with answer 'F3G1' (")
    assert played.referee_us == COMPILED[part] // 1000


# A wall clock that jumps by days at every look of the scheduler.

DAYS_S = 5 * 86_400.0


def jumping() -> None:
    """Make every time stamp of this process jump by days from here on."""
    true, jumps = time.time, itertools.cycle((0.0, DAYS_S, -DAYS_S))
    time.time = lambda: true() + next(jumps)


def test_days_more_or_less_touch_no_game(tmp_path: Path) -> None:
    """Under such a clock all games are played once, in order, none void, and the list is rated."""
    (tmp_path / "results").mkdir()
    path = quick(tmp_path, system="roundrobin", settings="cycles = 1\ngames_per_pairing = 2")
    for more, expected in (("--max-games", "5"), 8), ((), 0):
        code, _, told = Forked(tmp_path, ["run", str(path), *more], tmp_path / "errors", jumping).ended()
        assert code == expected, told
    assert audit(tmp_path) == 12
    assert [row["result"] for row in read(tmp_path, "games")].count("*") == 0
    assert sum(row["games"] for row in read(tmp_path, "ratings", "--system", "elo")["list"]) == 24
    assert left_running(tmp_path) == []
