"""What is told of a flag, to the millisecond: the true overrun, and what the referee itself may have cost."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from typing import Any

import pytest

from enginetour.engines.process import EngineProcess, Wake, wait
from enginetour.engines.protocol import Ask, Engine
from enginetour.engines.uci import UciEngine
from enginetour.model.game import Game, Outcome, Termination
from enginetour.referee import clock, relay, talk
from enginetour.referee import game as game_module
from enginetour.referee.books import Books
from enginetour.referee.clock import MS, EngineQueue
from enginetour.referee.compiled import native
from tests.playing import BOTH, Protocol, game, scripted, sound

LIMIT_MS, MARGIN_MS, GRACE_MS, OWED_MS = 20, 10, 100, 1_000
FLAG_MS = LIMIT_MS + MARGIN_MS + 1
SECOND = 1_000 * MS


class StillClock:
    """Time passes only where a test says that something takes it, in ns; by Python's clock, which C does not read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = time.monotonic_ns()
        self.write = self.judging = 0  # of each ply
        self.think = 0  # of the second search of the engine called late
        self.silent = False  # it is not heard up to the deadline
        self.deaf = False  # nor behind it
        self._searches = 0
        self._late: Engine | None = None
        self._answered = True
        go, read, enter = Engine.go, EngineProcess.read, Books.enter

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

        def with_care(books: Books, ply: Any) -> None:
            self.now += self.judging
            enter(books, ply)

        def unheard(processes: Sequence[EngineProcess], control: int | None, until: int, chatter: Any = None) -> Wake:
            if not (self.silent and not self._answered and self._is_late(processes[0])):
                return wait(processes, control, until, chatter)
            self.now = max(self.now, until)
            return Wake((), control=False)

        def unheard_too(processes: Sequence[EngineProcess], control: int | None, until: int) -> Wake:
            return unheard(processes, control, until) if self.deaf else wait(processes, control, until)

        monkeypatch.setattr(time, "monotonic_ns", lambda: self.now)
        monkeypatch.setattr(clock, "slept_ns", lambda: 0)
        monkeypatch.setattr(relay, "native", None)
        monkeypatch.setattr(clock.RunQueue, "look", lambda queue: b"")
        monkeypatch.setattr(EngineQueue, "machine_ns", lambda queue: None)
        monkeypatch.setattr(EngineQueue, "is_kept_waiting", lambda queue, used_ns: False)
        monkeypatch.setattr(Engine, "go", slowly)
        monkeypatch.setattr(EngineProcess, "read", at_last)
        monkeypatch.setattr(Books, "enter", with_care)
        monkeypatch.setattr(game_module, "wait", unheard)
        monkeypatch.setattr(talk, "wait", unheard_too)

    def _is_late(self, process: EngineProcess) -> bool:
        return self._late is not None and process is self._late.process


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> StillClock:
    """A game on a clock that stands, played in Python alone."""
    return StillClock(monkeypatch)


def flagged(protocol: Protocol = "uci", *, limit_ms: int = LIMIT_MS, **more: Any) -> Game:
    """White is late with its second move."""
    late = scripted(protocol, name="late")
    played = game(late, sound(protocol), white_tc=f"{limit_ms / 1000}", margin=MARGIN_MS, **more)
    assert (played.termination, played.plies) == (Termination.TIME, 2), played.cause
    return played


@BOTH
def test_an_overrun_is_that_of_the_answer(protocol: Protocol, still: StillClock) -> None:
    """Beyond the clock, not beyond clock and margin, cut to whole milliseconds; the referee has cost nothing of it."""
    still.think = 56 * MS + 700_000
    played = flagged(protocol)
    assert played.cause.startswith(
        "White loses on time, 36 ms over, with 'f3g1' (margin 10 ms; referee's own share up to 0.0 ms"
    )
    assert (played.outcome, played.culprit, played.own_us) == (Outcome.BLACK, "late", 0)


@BOTH
def test_an_answer_to_stop_is_told_with_the_time_of_its_arrival(protocol: Protocol, still: StillClock) -> None:
    """81 ms after the wait was given up, which is no part of what is told of it by itself."""
    still.silent, still.think = True, 81 * MS + 500_000
    over = FLAG_MS + GRACE_MS + 81 - LIMIT_MS
    assert flagged(protocol).cause.startswith(f"White loses on time, {over} ms over, after stop (margin")


@BOTH
def test_no_answer_is_told_with_all_that_was_waited(protocol: Protocol, still: StillClock) -> None:
    """From the flag on: the grace, and the second in which an answer to `stop` may come."""
    still.silent = still.deaf = True
    late = (GRACE_MS + OWED_MS) / 1000
    cause = flagged(protocol, limit_ms=3_000).cause
    assert cause.startswith(f"White loses on time, no answer {late:.1f} s after the flag (margin")


@pytest.mark.parametrize("part", ["write", "judging", "queue"])
@pytest.mark.parametrize("enough", [True, False])
def test_what_the_referee_cost_is_told_with_a_flag(
    part: str, *, enough: bool, still: StillClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The write, the relay gap, the wait for a processor: each by itself makes a smaller overrun doubtful."""
    still.think = FLAG_MS * MS + 5 * MS
    cost = (6 if enough else 4) * MS
    if part == "queue":
        waits = itertools.count(step=cost)
        monkeypatch.setattr(clock.RunQueue, "look", lambda queue: b"1 %d 1" % next(waits))
    else:
        setattr(still, part, cost)
    played = flagged(doubtful_flag="void")
    assert (played.outcome, played.category) == ((Outcome.VOID, "host") if enough else (Outcome.BLACK, "time"))
    assert played.own_us == cost // 1000
    assert f"referee's own share up to {cost / MS:.1f} ms" in played.cause


def test_what_the_referee_cost_is_added_up(still: StillClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of one ply, nothing of those before it."""
    waits = itertools.count(step=7 * MS)
    monkeypatch.setattr(clock.RunQueue, "look", lambda queue: b"1 %d 1" % next(waits))
    still.write, still.judging, still.think = 2 * MS, 3 * MS, 56 * MS
    played = flagged()
    assert played.own_us == 12_000
    assert [move.gap_us for move in played.moves] == [None, 3_000]
    assert played.relay_us == (3_000, 3_000, 3_000)


def test_a_freeze_is_the_referees_in_python_too(still: StillClock) -> None:
    """Who waited was woken long after the deadline: nobody can tell when the answer came."""
    still.think = SECOND // 2
    played = flagged(doubtful_flag="void")
    assert (played.outcome, played.category, played.culprit) == (Outcome.VOID, "host", ""), played.cause


class Retold:
    """A relay that tells of a search which it leaves to Python what the test says."""

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
    """It leaves an answer to Python that came 86 ms too late, and what it noted of the search on its way there."""
    made, take_over = relay.Relay, UciEngine.take_over
    cost = dict.fromkeys(COMPILED, 0) | {part: COMPILED[part]}

    def retold(*words: Any) -> Any:
        found = made(*words)
        found._own = Retold(found._own, write=cost["write"], gap=cost["gap"], waited=b"1 %d 1" % SECOND, now=0)
        return found

    def late(engine: UciEngine, text: bytes, stamp_ns: int) -> None:
        if b"bestmove F3G1" in text:
            stamp_ns = engine._last_write_ns + 60_086 * MS + 999_999
        take_over(engine, text, stamp_ns)

    monkeypatch.setattr(game_module, "Relay", retold)
    monkeypatch.setattr(UciEngine, "take_over", late)
    monkeypatch.setattr(clock.Halts, "woke", lambda *_: 0)  # however busy the machine is
    monkeypatch.setattr(clock.RunQueue, "look", lambda queue: b"1 %d 1" % (SECOND + cost["queue"]))
    played = game(scripted("uci", "upper"), sound(), doubtful_flag="void")
    assert (played.outcome, played.category, played.plies) == (Outcome.VOID, "host", 2)
    rest = 60_000 - played.moves[0].elapsed_ms
    assert played.cause.startswith(f"White loses on time, {60_086 - rest} ms over, with 'F3G1' (")
    assert played.own_us == COMPILED[part] // 1000
