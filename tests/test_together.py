"""Quick games on one processor: who is bound and for how long, and that nobody stays so."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from enginetour.headstart import warmed
from enginetour.model import Opening, Pairing
from enginetour.referee import together
from enginetour.referee.game import play
from enginetour.referee.link import Link
from enginetour.referee.shelf import EngineShelf
from enginetour.referee.together import Together
from enginetour.supervise import gathering
from enginetour.supervise.cores import find
from enginetour.supervise.gathering import TOGETHER, Claim, Gathered, claim
from enginetour.task import EngineSpec, GameTask, Rules, Side
from enginetour.timecontrol import TimeControl
from tests.playing import LONG, scripted
from tests.test_cores import KEPT
from tests.touring import config, tour

ALL = os.sched_getaffinity(0)
SEVERAL = len(find(1).cores) > 1
FIRST = find(1).cores[0][0]
EVER = 1 << 62
# It starts a thread and a process when it is told to, and says when they are there.
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
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slots of other tests have claims too."""
    monkeypatch.setattr(gathering, "CLAIM", f"\0enginetour/test/{os.urandom(8).hex()}/{{}}")


@pytest.fixture
def busy() -> Iterator[Any]:
    """A process with threads and children, more of them behind each line."""
    with subprocess.Popen(
        [sys.executable, "-S", "-c", BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin and process.stdout
        process.stdout.readline()
        yield process
        process.communicate("\n")


def masks(*roots: int) -> set[frozenset[int]]:
    """Processors of all threads of processes and their children."""
    found = set()
    for root in roots:
        for thread in Path(f"/proc/{root}/task").iterdir():
            found.add(frozenset(os.sched_getaffinity(int(thread.name))))
            found |= masks(*map(int, (thread / "children").read_text().split()))
    return found


def test_a_processor_is_one_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each claim is of another core, until none is left; what is given back is the next one's."""
    cores = [core[0] for core in find(1).cores]
    if SEVERAL:
        claims = [claim() or pytest.fail("a core is free") for _ in cores]
        assert [one.processor for one in claims] == cores
        assert claim() is None
        claims.pop().close()
        claims.append(claim() or pytest.fail("a core was given back"))
        assert claims[-1].processor == cores[-1]
        for one in claims:
            one.close()
    monkeypatch.setattr("enginetour.supervise.gathering.find", lambda _: SimpleNamespace(cores=((7,),)))
    assert claim() is None


def test_a_claim_ends_with_its_slot() -> None:
    """However it ends: the kernel gives the name back."""
    words = f"from enginetour.supervise import gathering as g; g.CLAIM = {gathering.CLAIM!r}; c = g.Claim({FIRST})"
    words += "; print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", words], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout
        other.stdout.readline()
        with pytest.raises(OSError, match="in use"):
            Claim(FIRST)
        other.kill()
    Claim(FIRST).close()


def test_all_threads_are_bound_and_let_go(busy: Any) -> None:
    """Those below an engine too, and what they start meanwhile; the others of ours are not touched."""
    if not SEVERAL:
        with pytest.raises(PermissionError):  # they are there already
            Gathered(FIRST, (busy.pid,))
        return
    gathered = Gathered(FIRST, (busy.pid,))
    try:
        assert masks(busy.pid) == {frozenset({FIRST})}
        assert os.sched_getaffinity(0) == {FIRST}
        busy.stdin.write("\n")
        busy.stdin.flush()
        busy.stdout.readline()
        assert masks(busy.pid) == {frozenset({FIRST})}
    finally:
        gathered.part()
    assert masks(busy.pid) == {frozenset(ALL)}
    assert os.sched_getaffinity(0) == ALL
    gathered.part()


def test_who_is_bound_already_stays_so(busy: Any) -> None:
    """By its user, or by its own will, before or meanwhile; nobody else is bound then."""
    if not SEVERAL:
        with pytest.raises(PermissionError):  # they are there already
            Gathered(FIRST, (busy.pid,))
        return
    child = int((Path(f"/proc/{busy.pid}/task/{busy.pid}") / "children").read_text().split()[0])
    other = max(ALL)
    os.sched_setaffinity(child, {other})
    with pytest.raises(OSError):
        Gathered(FIRST, (busy.pid,))
    assert masks(busy.pid) == {frozenset(ALL), frozenset({other})}
    assert os.sched_getaffinity(0) == ALL
    os.sched_setaffinity(child, ALL)
    gathered = Gathered(FIRST, (busy.pid,))
    os.sched_setaffinity(child, {other})
    gathered.part()
    assert masks(busy.pid) == {frozenset(ALL), frozenset({other})}


def test_an_engine_that_has_gone_is_no_harm() -> None:
    """It ended before, or in the game."""
    gone = subprocess.Popen([sys.executable, "-S", "-c", ""])
    gone.wait()
    Gathered(FIRST, (gone.pid,)).part()
    assert os.sched_getaffinity(0) == ALL


# What a slot goes by.


@pytest.fixture
def rule(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Those of a slot whose clock is ours; a game takes so long and so many plies."""
    now = SimpleNamespace(ns=1)
    bound = list[int]()
    monkeypatch.setenv(TOGETHER, "1")
    monkeypatch.setattr(together, "time", SimpleNamespace(monotonic_ns=lambda: now.ns))
    monkeypatch.setattr(
        together, "Gathered", lambda processor, _: SimpleNamespace(part=lambda: bound.append(processor))
    )
    monkeypatch.setattr(together, "claim", lambda: SimpleNamespace(processor=3, close=lambda: bound.append(-1)))
    slot = Together()

    def play(each_ms: float, *, plies: int = 40, slow: bool = False, **seat: Any) -> bool:
        slot.begin([_seat("A", **seat), _seat("B")], 10)
        was = slot.quick_ns > 0
        if slow:
            slot.part()
        now.ns += int(each_ms * 1e6 * plies)
        slot.end(10 + plies)
        slot.end(10 + plies + 1)
        assert slot.quick_ns == 0
        return was

    return SimpleNamespace(play=play, now=now, bound=bound, slot=slot)


def _seat(name: str, *, rest_ms: int | None = None, threads: int = 1, tc: str = "nodes=1") -> Any:
    clock = SimpleNamespace(rest_ms=rest_ms, tc=TimeControl.parse(tc))
    engine = SimpleNamespace(process=SimpleNamespace(engine_pid=0))
    return SimpleNamespace(
        name=name, clock=clock, engine=engine, side=SimpleNamespace(spec=SimpleNamespace(threads=threads))
    )


def test_the_second_quick_game_is_played_together(rule: Any) -> None:
    """The first one is to compare with. A game that is not quick leaves the processor to others."""
    assert [rule.play(0.2), rule.play(0.1), rule.play(0.25)] == [False, True, True]
    assert rule.bound == [3, 3]
    assert [rule.play(0.2, tc="nodes=9"), rule.play(2, tc="nodes=99")] == [False, False]
    assert rule.bound == [3, 3, -1]
    assert [rule.play(9, tc="nodes=99"), rule.play(0.1)] == [False, True]


def test_who_wants_more_than_turns_is_not_bound(rule: Any) -> None:
    """Threads, or a clock beside which a moment is something."""
    for seat in ({"threads": 2}, {"rest_ms": 9_999}):
        assert [rule.play(0.1, **seat) for _ in range(3)] == [False] * 3
    assert [rule.play(0.1, rest_ms=10_000) for _ in range(2)] == [False, True]


def test_a_game_that_broke_off_says_nothing(rule: Any) -> None:
    """Not even when a game behind it, of which nothing is to be learned, ends in its place."""
    rule.slot.begin([_seat("A"), _seat("B")], 0)
    rule.slot.begin([_seat("A"), _seat("B", threads=2)], 0)
    rule.now.ns += 1_000_000
    rule.slot.end(40)
    assert [rule.play(0.1), rule.play(0.1)] == [False, True]


def test_a_few_plies_say_nothing(rule: Any) -> None:
    """Neither that a game was quick nor that it paid."""
    assert [rule.play(0.1, plies=7), rule.play(0.1), rule.play(9, plies=7), rule.play(0.1)] == [
        False, False, True, True
    ]  # fmt: skip


def test_where_it_does_not_pay_they_stay_apart_for_a_while(rule: Any) -> None:
    """Each time twice as long, as long as it goes on so; a slow answer is no reason."""
    rule.play(0.1)
    for wait_ms in (1000, 2000, 4000):
        assert rule.play(0.2)
        rule.now.ns += (wait_ms - 20) * 1_000_000
        assert not rule.play(0.1)
        rule.now.ns += 100_000_000
    assert [rule.play(5, slow=True), rule.play(0.1), rule.play(0.2)] == [True] * 3
    rule.now.ns += 1_000_000_000
    assert [rule.play(0.1), rule.play(0.1)] == [False, True]


def test_without_a_processor_they_are_apart(rule: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """All are taken, or an engine cannot be bound."""

    def refuse(*_: object) -> None:
        raise PermissionError

    for name, instead in (("claim", lambda: None), ("Gathered", refuse)):
        with monkeypatch.context() as patch:
            patch.setattr(together, name, instead)
            assert [rule.play(0.1) for _ in range(3)] == [False] * 3
        rule.now.ns += 10_000_000_000
    assert rule.play(0.1)


def test_a_slot_must_be_told(rule: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a place was not told, its slots do not do."""
    monkeypatch.delenv(TOGETHER)
    slot = Together()
    for _ in range(3):
        slot.begin([_seat("A"), _seat("B")], 0)
        assert slot.quick_ns == 0
        slot.end(40)


# Games.


def played(shelf: EngineShelf, white: EngineSpec | None = None) -> list[set[str]]:
    """What the engines of a game told of their processors, by ply."""
    specs = white or scripted("uci", "tells-processors", name="A"), scripted("uci", "tells-processors", name="B")
    one, other = (Side(spec, TimeControl.parse(LONG)) for spec in specs)
    task = GameTask(Pairing("A", "B"), one, other, Opening(), Rules(repetition=5), keep_lines=KEPT)
    return [{line.split()[-1] for line in move.lines} for move in play(task, Link(), shelf).moves]


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> Iterator[EngineShelf]:
    """Of a slot that takes every game for a quick one."""
    monkeypatch.setenv(TOGETHER, "1")
    for name in ("QUICK_NS", "WORSE", "SLOW_NS"):
        monkeypatch.setattr(together, name, EVER)
    shelf = EngineShelf()
    yield shelf
    shelf.close_all()
    assert os.sched_getaffinity(0) == ALL


WIDE = {",".join(map(str, sorted(ALL)))}
NARROW = {str(FIRST)} if SEVERAL else WIDE


def test_engines_of_a_quick_game_share_ours(shelf: EngineShelf) -> None:
    """From the second game on, in each of its plies, and we with them; not between two games."""
    assert played(shelf) == [WIDE] * 16
    assert os.sched_getaffinity(0) == ALL
    assert played(shelf) == [NARROW] * 16
    assert all(masks(engine.process.engine_pid) == {frozenset(ALL)} for engine in shelf._engines)
    assert played(shelf) == [NARROW] * 16


def test_a_slow_answer_sets_them_free(shelf: EngineShelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it is waited for: from then on the game is played as if nothing had been, and the next one together."""
    slow = scripted("uci", "wordless", name="A", at=12, seconds=0.5)  # in its fourth search of the second game
    assert played(shelf, slow)[1::2] == [WIDE] * 8
    monkeypatch.setattr(together, "SLOW_NS", 250_000_000)
    assert played(shelf, slow)[1::2] == [NARROW] * 3 + [WIDE] * 5
    monkeypatch.setattr(together, "SLOW_NS", EVER)
    assert played(shelf, slow)[1::2] == [NARROW] * 8


def test_a_game_that_breaks_off_sets_us_free(shelf: EngineShelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever broke it off."""
    played(shelf)

    def fail(*_: object) -> None:
        assert os.sched_getaffinity(0) == ({FIRST} if SEVERAL else ALL)
        raise RuntimeError

    monkeypatch.setattr("enginetour.referee.relay.Relay._watch", fail)
    with pytest.raises(RuntimeError):
        played(shelf)
    assert os.sched_getaffinity(0) == ALL


# The setting.


@pytest.mark.parametrize(("setting", "may"), [("", True), ('affinity = "quick"', True), ("affinity = false", False)])
def test_affinity_says_whether(tmp_path: Path, setting: str, may: bool) -> None:
    """Of [play]; "quick" if nothing is said."""
    path = config(tmp_path, ("wren1", "wren2"), "match", "games = 2")
    path.write_text(path.read_text().replace("[play]\n", f"[play]\n{setting}\n"))
    with warmed(path, None, None) or pytest.fail("it has a head start") as ahead:
        while not (slots := ahead._place._slots):
            pass
        environment = Path(f"/proc/{slots[0].process.pid}/environ").read_bytes().split(b"\0")
    assert (f"{TOGETHER}=1".encode() in environment) == may
    tour(tmp_path, "run", str(path))
