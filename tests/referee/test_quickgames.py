"""Tests of referee/quickgames."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from enginetour.engines import strays
from enginetour.engines.machine import CPUS
from enginetour.model.game import Opening, Pairing
from enginetour.model.task import DrawRule, EngineSpec, GameTask, ProbeTask, Rules, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.referee import quickgames
from enginetour.referee.game import play
from enginetour.referee.link import Link
from enginetour.referee.quickgames import (
    SHARE_PROCESSOR,
    PinnedThreads,
    ProcessorClaim,
    SharedProcessor,
    _takes_turns,
    claim_engine_processors,
    claim_processor,
)
from enginetour.referee.slot import PipeLink, serve
from enginetour.referee.startup import EnginePool, Seat
from enginetour.tournament.executor import LocalExecutor, SlotSettings
from tests.support.engines import KEPT, LONG, scripted, sound
from tests.support.tournaments import config, tour

# Fast games with a short limit were pinned, where another process could make an engine late.


@pytest.mark.parametrize(
    ("tc", "hang_limit", "may"),
    [
        ("movetime=0.002", 60.0, False),
        ("movetime=9.9", 60.0, False),
        ("nodes=1", 60.0, True),
        ("nodes=1", 5.0, False),
        ("depth=3", 10.0, True),
        ("9+0.1", 60.0, False),
        ("60+1", 60.0, True),
    ],
)
def test_a_flag_that_is_near_is_no_game_of_turns(tc: str, hang_limit: float, may: bool) -> None:
    """A game with a near flag is not pinned, whatever sets the flag."""
    seat = Seat(Side(sound(), TimeControl.parse(tc)), Rules(hang_limit=hang_limit), white=True)
    engine: Any = SimpleNamespace(games=2)
    seat.engine = engine
    assert _takes_turns(seat) == may


# Processes on one processor: all are pinned and released, no others are changed, and slots do not share one.

ALL = os.sched_getaffinity(0)
FIRST, LAST = min(ALL), max(ALL)
# It starts a thread and a process on request, and reports when they run.
BUSY = """\
import subprocess, sys, threading
def more():
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    child = subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE)
    print("there", flush=True)
    return child
children = [more()]
input()
children.append(more())
input()
for child in children:
    child.communicate(b"\\n")
"""


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Release all claims and processes after a test."""
    for name in ("TURNS", "OWN"):
        monkeypatch.setattr(quickgames, name, f"\0enginetour/test/{os.urandom(8).hex()}/{{}}")
    yield
    left = os.sched_getaffinity(0)
    os.sched_setaffinity(0, ALL)
    assert left == ALL


@pytest.fixture
def busy() -> Iterator[Any]:
    """Return an engine with threads and children; `more()` starts more of them."""
    with subprocess.Popen(
        [sys.executable, "-S", "-c", BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        stdin, stdout = process.stdin, process.stdout
        assert stdin and stdout

        def more() -> None:
            stdin.write("\n")
            stdin.flush()
            stdout.readline()

        stdout.readline()
        yield SimpleNamespace(pid=process.pid, more=more, family=lambda: strays.process_tree(process.pid))
        process.communicate("\n")


def masks(*roots: int) -> set[frozenset[int]]:
    """Return the processors of all threads of processes and their children."""
    found = set()
    for root in roots:
        for thread in Path(f"/proc/{root}/task").iterdir():
            found.add(frozenset(os.sched_getaffinity(int(thread.name))))
            found |= masks(*map(int, (thread / "children").read_text().split()))
    return found


def child_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


# Claims.


@pytest.fixture
def cores(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Set the cores of a machine, and the current processor."""
    machine = SimpleNamespace(cores=((0, 4), (1, 5), (2, 6)), here=1)
    monkeypatch.setattr(quickgames, "find_cores", lambda _: machine)
    monkeypatch.setattr(quickgames, "_here", lambda: machine.here)
    return machine


def taken(count: int, but: int | None = None) -> list[int | None]:
    """Return what so many slots claim, one after the other."""
    found = [claim_processor(but) for _ in range(count)]
    for one in found:
        if one is not None:
            one.close()
    return [None if one is None else one.processor for one in found]


def test_a_processor_is_one_slots(cores: Any) -> None:
    """Claims start at the current core, with threads of claimed cores last, until none is left."""
    assert taken(7) == [1, 2, 0, 5, 6, 4, None]
    cores.here = 6
    assert taken(2) == [2, 0]
    cores.here = 99
    assert taken(1) == [0]
    cores.cores = ((0,),)
    assert taken(1) == [None]


def test_what_did_not_pay_is_tried_last(cores: Any) -> None:
    """The processor that did not pay off is claimed last."""
    assert taken(7, but=1) == [2, 0, 5, 6, 4, 1, None]
    cores.cores = ((0, 4),)
    assert taken(2, but=4) == [0, 4]


def test_cores_of_a_tournament_are_its_own(cores: Any) -> None:
    """No thread of a tournament's own cores is claimed, and other slots notice them."""
    del cores
    early = claim_processor() or pytest.fail("a core is free")
    assert (early.processor, early.is_owned) == (1, False)
    own, second = claim_engine_processors((1, 6)), claim_engine_processors((1,))
    assert (len(own), second, early.is_owned) == (2, [], True)
    assert taken(3) == [0, 4, None]
    for one in (early, *own):
        one.close()
    assert taken(1) == [1]


def test_a_slot_with_cores_of_its_own_claims_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slot with its own cores claims them while it serves."""
    monkeypatch.setenv(CPUS, "4711,4712")
    seen = list[bool]()

    def next_task(_: PipeLink) -> None:
        seen.extend(quickgames._is_owned((number,)) for number in (4711, 4712, 4713))

    link: Any = SimpleNamespace(next_task=lambda: next_task(link), stopping=lambda: "now")
    serve(link)
    assert seen == [True, True, False]
    assert not quickgames._is_owned((4711, 4712))


def test_a_claim_ends_with_its_slot() -> None:
    """A claim ends with its slot, because the kernel frees the name."""
    words = (
        f"from enginetour.referee import quickgames as g; g.TURNS = {quickgames.TURNS!r}; c = g.ProcessorClaim((7,), 7)"
    )
    words += "; print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", words], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout
        other.stdout.readline()
        with pytest.raises(OSError, match="in use"):
            ProcessorClaim((7,), 7)
        other.kill()
    ProcessorClaim((7,), 7).close()


def test_where_we_are_is_one_of_ours() -> None:
    """The current processor is one of the usable ones."""
    assert quickgames._here() in ALL


# Pinned processes.


def gathered(*engines: Any) -> PinnedThreads | None:
    """Return the first usable processor with these processes pinned; None if there is only one."""
    if len(ALL) > 1:
        return PinnedThreads(FIRST, engines)
    with pytest.raises(PermissionError):
        PinnedThreads(FIRST, engines)
    return None


def test_all_threads_are_bound_and_let_go(busy: Any) -> None:
    """All threads, children and later ones are pinned and released, in the next game again."""
    if (found := gathered(busy)) is None:
        return
    assert masks(busy.pid) == {frozenset({FIRST})}
    assert os.sched_getaffinity(0) == {FIRST}
    busy.more()
    assert masks(busy.pid) == {frozenset({FIRST})}
    found.part()
    assert masks(busy.pid) == {frozenset(ALL)}
    assert os.sched_getaffinity(0) == ALL
    found.again()
    assert masks(busy.pid, os.getpid()) >= {frozenset({FIRST})}
    assert os.sched_getaffinity(0) == {FIRST}
    found.part()
    found.part()
    assert masks(busy.pid) == {frozenset(ALL)}


def test_who_was_left_behind_is_let_go_later(busy: Any) -> None:
    """A process that was being started is released by a second look, or after the next game."""
    if (found := gathered(busy)) is None:
        return
    for goes_on in (False, True):
        found.part()
        os.sched_setaffinity(child_of(busy.pid), {FIRST})
        if goes_on:
            found.again()
        found.part()
        assert masks(busy.pid) == {frozenset(ALL)}


def test_who_is_bound_already_stays_so(busy: Any) -> None:
    """A process that was pinned by others stays so, and then nothing is pinned."""
    if gathered() is None:
        return
    os.sched_setaffinity(0, ALL)
    child = child_of(busy.pid)
    for bound in ({LAST}, {FIRST}):
        os.sched_setaffinity(child, bound)
        with pytest.raises(PermissionError):
            PinnedThreads(FIRST, (busy,))
        assert masks(busy.pid) == {frozenset(ALL), frozenset(bound)}
        assert os.sched_getaffinity(0) == ALL
    os.sched_setaffinity(child, ALL)
    found = PinnedThreads(FIRST, (busy,))
    os.sched_setaffinity(child, {LAST})
    os.sched_setaffinity(0, {LAST})
    found.part()
    assert masks(busy.pid) == {frozenset(ALL), frozenset({LAST})}
    assert os.sched_getaffinity(0) == {LAST}
    os.sched_setaffinity(0, ALL)


def test_an_engine_of_too_many_processes_is_not_bound(busy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine with too many processes is not pinned."""
    monkeypatch.setattr(quickgames, "MOST_PROCESSES", 2)
    with pytest.raises(OSError):
        PinnedThreads(FIRST, (busy,))
    assert masks(busy.pid) == {frozenset(ALL)}
    assert os.sched_getaffinity(0) == ALL


def test_an_engine_that_has_gone_is_no_harm() -> None:
    """An engine that has ended does not prevent pinning."""
    gone = subprocess.Popen([sys.executable, "-S", "-c", ""])
    gone.wait()
    if (found := gathered(SimpleNamespace(family=lambda: [gone.pid]))) is not None:
        found.part()


# Fast games on one processor: which games, and who is pinned for how long.

EVER = 1 << 62
WIDE = {",".join(map(str, sorted(ALL)))}
NARROW = {str(FIRST)}  # the same if there is only one


# The decisions of a slot.


@pytest.fixture
def rule(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the pinning of a slot with a set clock; `done` lists its actions."""
    now, done, claimed = SimpleNamespace(ns=1), list[Any](), list[int]()
    claims = [3, 4]  # free processors, the usual one first
    monkeypatch.setenv(SHARE_PROCESSOR, "1")
    monkeypatch.setattr(quickgames, "time", SimpleNamespace(monotonic_ns=lambda: now.ns))

    def claim(but: int | None = None) -> Any:
        free = sorted(claims, key=lambda one: one == but)
        claimed.extend(free[:1])
        return SimpleNamespace(processor=free[0], close=lambda: done.append("leave"), is_owned=False) if free else None

    def gathered(processor: int, engines: Any) -> Any:
        done.append(processor)
        again, part = lambda: done.append("again"), lambda: done.append("part")
        return SimpleNamespace(again=again, part=part, engines=engines)

    monkeypatch.setattr(quickgames, "claim_processor", claim)
    monkeypatch.setattr(quickgames, "PinnedThreads", gathered)
    slot, engines = SharedProcessor(), [SimpleNamespace(process=name, games=2) for name in ("one", "other")]

    def play(
        each_ms: float, *, plies: int = 40, slow: bool = False, ends: int = 2, closes: bool = True, **seats: Any
    ) -> bool:
        slot.begin([_seat(name, engine, seats) for name, engine in zip("AB", engines, strict=True)], 10)
        was = slot.quick_ns > 0
        now.ns += int(each_ms * 1e6 * plies)
        if slow:
            slot.part()
        for late in range(ends):
            slot.end(10 + plies + late)
            assert slot.quick_ns == 0
        if closes:
            slot.close()
        return was

    return SimpleNamespace(play=play, now=now, done=done, slot=slot, claims=claims, claimed=claimed, engines=engines)


def _seat(name: str, engine: Any, seats: Any) -> Any:
    """Return a seat; `seats` has settings of both, or of one by its name and an underscore."""
    said = {"limit_ms": 60_000, "threads": 1, "tc": "nodes=1"} | seats
    said |= {key[2:]: value for key, value in seats.items() if key.startswith(f"{name}_")}
    clock = SimpleNamespace(limit_ms=said["limit_ms"], tc=TimeControl.parse(said["tc"]))
    side = SimpleNamespace(spec=SimpleNamespace(threads=said["threads"]))
    return SimpleNamespace(name=name, clock=clock, engine=engine, side=side)


def test_the_game_behind_a_quick_one_is_played_together(rule: Any) -> None:
    """The game after a fast one is pinned; a game that is not fast leaves the processor to others."""
    assert [rule.play(0.2), rule.play(0.1), rule.play(0.25)] == [False, True, True]
    assert rule.done == [3, "part", "again", "part"]
    assert rule.claimed == [3]
    rule.done.clear()
    assert [rule.play(0.2, tc="nodes=9"), rule.play(2, tc="nodes=99")] == [False, False]
    assert rule.done == ["part", "leave"]  # processes that `part` did not reach
    assert [rule.play(9, tc="nodes=99"), rule.play(0.1)] == [False, True]


def test_quick_is_half_a_millisecond_a_ply(rule: Any) -> None:
    """A fast game takes at most half a millisecond per ply on average."""
    assert [rule.play(0.51), rule.play(0.1), rule.play(0.1)] == [False, False, True]
    assert [rule.play(0.49, tc="nodes=2"), rule.play(0.1, tc="nodes=2")] == [False, True]
    assert quickgames.SLOW_NS == 10_000_000 == quickgames.LEAST_MS * 1000  # a thousandth of what it may cost


@pytest.mark.parametrize("color", ["", "A_", "B_"])
def test_who_wants_more_than_turns_is_not_bound(rule: Any, color: str) -> None:
    """Engines with threads, or with a near flag of either color, are not pinned."""
    assert [rule.play(0.1, limit_ms=10_000) for _ in range(2)] == [False, True]
    rule.done.clear()
    for word, value in (("threads", 2), ("limit_ms", 9_999)):
        assert [rule.play(0.1, **{color + word: value}) for _ in range(3)] == [False] * 3
    assert rule.done == ["part", "leave"]


def test_the_first_game_of_a_process_is_played_apart(rule: Any) -> None:
    """The first game of a process is not pinned, because some engines count processors at its first `go`."""
    for engine in rule.engines:
        rule.play(0.1)
        engine.games = 1
        assert not rule.play(0.1)
        engine.games = 2
        assert rule.play(0.1)
    rule.engines[0].process = "a third one"
    rule.done.clear()
    assert rule.play(0.1)
    assert rule.done == ["part", 3, "part"]  # the others are released, wherever they are


def test_a_game_apart_that_is_slow_is_believed(rule: Any) -> None:
    """A slow game without pinning ends pinning of that pair."""
    assert [rule.play(0.1), rule.play(0.2), rule.play(0.1), rule.play(2)] == [False, True, False, False]
    rule.now.ns += 1_000_000_000
    assert [rule.play(0.1), rule.play(0.1)] == [False, True]


@pytest.mark.parametrize("closes", [True, False])
def test_a_game_that_broke_off_says_nothing(rule: Any, closes: bool) -> None:
    """A game that broke off is not a measurement."""
    rule.play(0.1, ends=0, closes=closes)
    rule.play(0.1, threads=2)
    assert [rule.play(0.1), rule.play(0.1, ends=0), rule.play(0.1)] == [False, True, True]
    assert rule.done == [3, "part", "again", "part"]


def test_a_few_plies_say_nothing(rule: Any) -> None:
    """A game of a few plies is not a measurement."""
    assert [rule.play(0.1, plies=7), rule.play(0.1, plies=8), rule.play(9, plies=7), rule.play(0.1)] == [
        False, False, True, True
    ]  # fmt: skip


def test_where_it_does_not_pay_they_stay_apart_for_a_while(rule: Any) -> None:
    """If pinning does not pay off it pauses, each time twice as long, up to a minute."""
    rule.play(0.1)
    for at, wait_ms in enumerate((1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 64_000)):
        rule.done.clear()
        assert rule.play(0.2)
        assert rule.done == [3 + at % 2, "part", "part", "leave"]
        rule.now.ns += (wait_ms - 20) * 1_000_000
        assert [rule.play(0.1), rule.play(0.1)] == [False] * 2  # the one to compare with, and one in the pause
        rule.now.ns += 100_000_000
    assert [rule.play(0.1), rule.play(0.2)] == [True] * 2
    rule.now.ns += 990_000_000
    assert [rule.play(0.1), rule.play(0.1)] == [False] * 2
    rule.now.ns += 10_000_000
    assert rule.play(0.1)


@pytest.mark.parametrize("wrong", [{"slow": True}, {"plies": 7}])
def test_slow_answers_in_a_row_are_no_chance(rule: Any, wrong: Any) -> None:
    """Slow answers in three games in a row end pinning; a good game between starts the count again."""
    rule.play(0.1)
    games: list[dict[str, Any]] = [wrong, wrong, {"plies": 8}, wrong, wrong, wrong, {}]
    assert [rule.play(0.1, **how) for how in games] == [True] * 6 + [False]
    rule.now.ns += 1_100_000_000
    assert [rule.play(0.1, **wrong) for _ in range(4)] == [True] * 3 + [False]


def test_what_is_compared_with_is_measured_anew(rule: Any) -> None:
    """Every 65th game is not pinned, and the next ones are compared with it."""
    rule.play(0.45)
    assert [rule.play(0.3) for _ in range(64)] == [True] * 64
    assert [rule.play(0.1), rule.play(0.3), rule.play(0.3)] == [False, True, False]


def test_pairs_are_not_told_apart_without_end(rule: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of remembered pairs is limited."""
    monkeypatch.setattr(quickgames, "MOST_PAIRS", 2)
    for nodes in (1, 2, 3):
        assert not rule.play(0.1, tc=f"nodes={nodes}")
    assert [rule.play(0.1, tc="nodes=3"), rule.play(0.1, tc="nodes=1")] == [True, False]


def test_without_a_processor_they_are_apart(rule: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a free processor, or if an engine cannot be pinned, games are not pinned."""

    def refuse(*_: object) -> None:
        raise PermissionError

    rule.play(0.1)
    rule.claims.clear()
    assert not rule.play(0.1)
    rule.claims.append(3)
    assert not rule.play(0.1)
    rule.now.ns += 10_000_000_000
    with monkeypatch.context() as patch:
        patch.setattr(quickgames, "PinnedThreads", refuse)
        rule.done.clear()
        assert [rule.play(0.1) for _ in range(3)] == [False] * 3
        assert rule.done == ["leave"]  # the others were in a pause
    rule.now.ns += 10_000_000_000
    assert rule.play(0.1)


def test_a_core_that_is_somebodys_now_is_left(rule: Any) -> None:
    """A core that another tournament has taken is left in the next game."""
    rule.play(0.1)
    rule.play(0.1)
    rule.slot._claim.is_owned = True
    rule.claims.remove(3)
    rule.done.clear()
    assert rule.play(0.1)
    assert rule.done == ["part", "leave", 4, "part"]


def test_a_slot_must_be_told(rule: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slot pins only if its environment allows it."""
    monkeypatch.delenv(SHARE_PROCESSOR)
    slot = SharedProcessor()
    for _ in range(3):
        slot.begin([_seat(name, engine, {}) for name, engine in zip("AB", rule.engines, strict=True)], 0)
        assert slot.quick_ns == 0
        slot.end(40)


# Games.


def played(pool: EnginePool, white: EngineSpec | None = None, **rules: Any) -> list[set[str]]:
    """Return the processors that the engines of a game reported, by ply."""
    specs = white or scripted("uci", "tells-processors", name="A"), scripted("uci", "tells-processors", name="B")
    one, other = (Side(spec, TimeControl.parse(LONG)) for spec in specs)
    task = GameTask(Pairing("A", "B"), one, other, Opening(), Rules(**{"repetition": 5} | rules), keep_lines=KEPT)
    return [{line.split()[-1] for line in move.lines} for move in play(task, Link(), pool).moves]


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[EnginePool]:
    """Return the pool of a slot that takes every game for a fast one."""
    monkeypatch.setenv(SHARE_PROCESSOR, "1")
    for name in ("QUICK_NS", "WORSE", "SLOW_NS"):
        monkeypatch.setattr(quickgames, name, EVER)
    free = SimpleNamespace(processor=FIRST, close=lambda: None, is_owned=False)
    monkeypatch.setattr(quickgames, "claim_processor", lambda **_: free)
    pool = EnginePool()
    yield pool
    pool.close_all()


def test_engines_of_a_quick_game_share_ours(pool: EnginePool) -> None:
    """Engines of a fast game share this processor in each of its plies, but not between games."""
    assert [played(pool) for _ in range(2)] == [[WIDE] * 16] * 2
    for _ in range(2):
        assert os.sched_getaffinity(0) == ALL
        assert played(pool) == [NARROW] * 16
        assert all(masks(engine.process.engine_pid) == {frozenset(ALL)} for engine in pool._engines)


def test_a_slow_answer_sets_them_free(pool: EnginePool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow answer releases the engines; the next game is pinned again."""
    slow = scripted("uci", "wordless", name="A", at=20, seconds=0.5)  # in its fourth search of the third game
    for _ in range(2):
        assert played(pool, slow)[1::2] == [WIDE] * 8
    monkeypatch.setattr(quickgames, "SLOW_NS", 250_000_000)
    assert played(pool, slow)[1::2] == [NARROW] * 3 + [WIDE] * 5
    monkeypatch.setattr(quickgames, "SLOW_NS", EVER)
    assert played(pool, slow)[1::2] == [NARROW] * 8


def test_what_is_not_plain_sets_them_free(pool: EnginePool) -> None:
    """A ply in Python releases the engines; later plain plies are not pinned."""
    talks = scripted("uci", "two", name="A", at=20)  # as above
    for _ in range(2):
        played(pool, talks)
    assert played(pool, talks)[1::2] == [NARROW] * 3 + [WIDE] * 5


@pytest.mark.parametrize("fault", ["crash", "illegal"])
def test_an_engine_that_fails_leaves_nobody_bound(pool: EnginePool, fault: str) -> None:
    """After an engine's failure neither this process nor the other engine is pinned."""
    fails = scripted("uci", fault, name="A", at=20)
    for _ in range(2):
        played(pool, fails)
    assert played(pool, fails)[1::2] == [NARROW] * 3
    assert masks(os.getpid()) == {frozenset(ALL)}


def test_an_adjudicated_end_sets_us_free(pool: EnginePool) -> None:
    """After an adjudicated end nothing is pinned."""
    rule = DrawRule(after_move=1, moves=6, score=1000)
    for told in (WIDE, WIDE, NARROW):
        assert played(pool, draw=rule) == [told] * 12
        assert os.sched_getaffinity(0) == ALL


def test_a_game_that_breaks_off_sets_us_free(pool: EnginePool, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a game that breaks off nothing is pinned."""
    for _ in range(2):
        played(pool)

    def fail(*_: object) -> None:
        assert os.sched_getaffinity(0) == {FIRST}
        raise RuntimeError

    monkeypatch.setattr("enginetour.referee.relay.CompiledRelay._watch", fail)
    monkeypatch.setattr("enginetour.referee.record.Record.release", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        played(pool)
    assert os.sched_getaffinity(0) == ALL


def test_a_game_that_breaks_off_leaves_its_processor(pool: EnginePool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A game that breaks off gives up its processor."""
    left = list[int]()
    free = SimpleNamespace(processor=FIRST, close=lambda: left.append(FIRST), is_owned=False)
    monkeypatch.setattr(quickgames, "claim_processor", lambda **_: free)
    for _ in range(3):
        played(pool)
    left.clear()
    monkeypatch.setattr("enginetour.referee.relay.CompiledRelay._watch", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        played(pool)
    assert left == [FIRST] * (len(ALL) > 1)


# The setting.


@pytest.mark.parametrize(("setting", "may"), [("", True), ('affinity = "quick"', True), ("affinity = false", False)])
def test_affinity_says_whether(tmp_path: Path, setting: str, may: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """`affinity` under [play] is "quick" by default."""
    path = config(tmp_path, ("wren1", "wren2"), "match", "games = 4")
    path.write_text(path.read_text().replace("[play]\n", f"[play]\n{setting}\n"))
    told = list[bool]()
    usual = LocalExecutor.reassign

    def reassign(place: LocalExecutor, slots: int, listener: Any, settings: SlotSettings) -> None:
        told.append(settings.together)
        usual(place, slots, listener, settings)

    monkeypatch.setattr(LocalExecutor, "reassign", reassign)
    tour(tmp_path, "run", str(path))
    assert told == [may]


@pytest.mark.parametrize("may", [True, False])
def test_a_slot_is_told_whether_it_may(may: bool) -> None:
    """The environment of a slot says whether it may pin."""
    with LocalExecutor(1, settings=SlotSettings(together=may)) as place:
        place.submit(ProbeTask(scripted())).result(60)
        environment = Path(f"/proc/{place._slots[0].process.pid}/environ").read_bytes().split(b"\0")
        assert (f"{SHARE_PROCESSOR}=1".encode() in environment) == may


def test_a_match_says_it_on_its_line(tmp_path: Path) -> None:
    """A match can set it on its command line."""
    for words, told in (((), None), (("--affinity",), "affinity = true"), (("--no-affinity",), "affinity = false")):
        name = f"m{len(words)}{told}".replace(" = ", "-")
        tour(tmp_path, "match", "wren1", "wren2", *words, "--name", name, "--write-only")
        text = next((tmp_path / "results").glob(f"{name.lower()}*.toml")).read_text()
        assert ("affinity" in text) == (told is not None)
        assert told is None or told in text
