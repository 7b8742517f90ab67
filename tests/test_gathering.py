"""Processes on one processor for a while: nobody is forgotten, no stranger touched, and no two slots meet there."""

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
from enginetour.referee import quickgames
from enginetour.referee.quickgames import Claim, Gathered, claim, claim_own
from enginetour.referee.slot import PipeLink, serve

ALL = os.sched_getaffinity(0)
FIRST, LAST = min(ALL), max(ALL)
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
def _alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Slots of other tests have claims too; whatever fails here leaves nobody bound."""
    for name in ("TURNS", "OWN"):
        monkeypatch.setattr(quickgames, name, f"\0enginetour/test/{os.urandom(8).hex()}/{{}}")
    yield
    left = os.sched_getaffinity(0)
    os.sched_setaffinity(0, ALL)
    assert left == ALL


@pytest.fixture
def busy() -> Iterator[Any]:
    """An engine with threads and children, more of them behind `more()`."""
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
        yield SimpleNamespace(pid=process.pid, more=more, family=lambda: strays.family(process.pid))
        process.communicate("\n")


def masks(*roots: int) -> set[frozenset[int]]:
    """Processors of all threads of processes and their children."""
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
    """Those of a machine of ours, and where we are on it."""
    machine = SimpleNamespace(cores=((0, 4), (1, 5), (2, 6)), here=1)
    monkeypatch.setattr(quickgames, "find", lambda _: machine)
    monkeypatch.setattr(quickgames, "_here", lambda: machine.here)
    return machine


def taken(count: int, but: int | None = None) -> list[int | None]:
    """What so many slots get, one after the other."""
    found = [claim(but) for _ in range(count)]
    for one in found:
        if one is not None:
            one.close()
    return [None if one is None else one.processor for one in found]


def test_a_processor_is_one_slots(cores: Any) -> None:
    """From where we are on, threads of a core that has a slot last, until none is left; then they are free again."""
    assert taken(7) == [1, 2, 0, 5, 6, 4, None]
    cores.here = 6
    assert taken(2) == [2, 0]
    cores.here = 99
    assert taken(1) == [0]
    cores.cores = ((0,),)
    assert taken(1) == [None]


def test_what_did_not_pay_is_tried_last(cores: Any) -> None:
    """Not never: the others may be taken."""
    assert taken(7, but=1) == [2, 0, 5, 6, 4, 1, None]
    cores.cores = ((0, 4),)
    assert taken(2, but=4) == [0, 4]


def test_cores_of_a_tournament_are_its_own(cores: Any) -> None:
    """No thread of them is claimed, and who is there already sees it; two such tournaments are their users' matter."""
    del cores
    early = claim() or pytest.fail("a core is free")
    assert (early.processor, early.is_owned) == (1, False)
    own, second = claim_own((1, 6)), claim_own((1,))
    assert (len(own), second, early.is_owned) == (2, [], True)
    assert taken(3) == [0, 4, None]
    for one in (early, *own):
        one.close()
    assert taken(1) == [1]


def test_a_slot_with_cores_of_its_own_claims_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as it serves."""
    monkeypatch.setenv(CPUS, "4711,4712")
    seen = list[bool]()

    def next_task(_: PipeLink) -> None:
        seen.extend(quickgames._is_owned((number,)) for number in (4711, 4712, 4713))

    link: Any = SimpleNamespace(next_task=lambda: next_task(link), stopping=lambda: "now")
    serve(link)
    assert seen == [True, True, False]
    assert not quickgames._is_owned((4711, 4712))


def test_a_claim_ends_with_its_slot() -> None:
    """However it ends: the kernel gives the name back."""
    words = f"from enginetour.referee import quickgames as g; g.TURNS = {quickgames.TURNS!r}; c = g.Claim((7,), 7)"
    words += "; print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", words], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout
        other.stdout.readline()
        with pytest.raises(OSError, match="in use"):
            Claim((7,), 7)
        other.kill()
    Claim((7,), 7).close()


def test_where_we_are_is_one_of_ours() -> None:
    """By the kernel's word."""
    assert quickgames._here() in ALL


# Who is bound.


def gathered(*engines: Any) -> Gathered | None:
    """On the first of our processors; None where that is the only one, on which they are already."""
    if len(ALL) > 1:
        return Gathered(FIRST, engines)
    with pytest.raises(PermissionError):
        Gathered(FIRST, engines)
    return None


def test_all_threads_are_bound_and_let_go(busy: Any) -> None:
    """Those below an engine too, and what they start meanwhile; in the next game again."""
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
    """A process whose start was under way: by another look, or with the others behind the next game."""
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
    """By its user, or by its own will, before or meanwhile, and we too; nobody else is bound then."""
    if gathered() is None:
        return
    os.sched_setaffinity(0, ALL)
    child = child_of(busy.pid)
    for bound in ({LAST}, {FIRST}):
        os.sched_setaffinity(child, bound)
        with pytest.raises(PermissionError):
            Gathered(FIRST, (busy,))
        assert masks(busy.pid) == {frozenset(ALL), frozenset(bound)}
        assert os.sched_getaffinity(0) == ALL
    os.sched_setaffinity(child, ALL)
    found = Gathered(FIRST, (busy,))
    os.sched_setaffinity(child, {LAST})
    os.sched_setaffinity(0, {LAST})
    found.part()
    assert masks(busy.pid) == {frozenset(ALL), frozenset({LAST})}
    assert os.sched_getaffinity(0) == {LAST}
    os.sched_setaffinity(0, ALL)


def test_an_engine_of_too_many_processes_is_not_bound(busy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """To look at them all in each game would take longer than it saves."""
    monkeypatch.setattr(quickgames, "MOST", 2)
    with pytest.raises(OSError):
        Gathered(FIRST, (busy,))
    assert masks(busy.pid) == {frozenset(ALL)}
    assert os.sched_getaffinity(0) == ALL


def test_an_engine_that_has_gone_is_no_harm() -> None:
    """It ended before, or in the game."""
    gone = subprocess.Popen([sys.executable, "-S", "-c", ""])
    gone.wait()
    if (found := gathered(SimpleNamespace(family=lambda: [gone.pid]))) is not None:
        found.part()
