"""A worker's side of a cluster, without Dask's processes: games that come twice, games nobody wants."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from enginetour.engines import strays
from enginetour.model.game import Game, Pairing
from enginetour.model.task import EngineSpec, GameTask, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.tournament.cluster import worker
from enginetour.tournament.cluster.machines import Demand, Order
from enginetour.tournament.cluster.worker import Desk, look, seats_of
from enginetour.tournament.places import LocalPlace
from tests.playing import scripted, sound
from tests.test_process import alive
from tests.touring import GONE_S, until

LONG = 30  # s; nothing here takes that long
TAG = f"cluster-desk-{os.getpid()}"  # tests of another process may run beside this one


class Loop:
    """Calls at once what it is asked to call."""

    def __init__(self) -> None:
        self.told = threading.Event()

    def add_callback(self, act: Any, **_: object) -> None:
        self.told.set()


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Dask's worker as far as we use it: two slots, one thread."""
    state = SimpleNamespace(total_resources={"slot": 2.0}, nthreads=1)
    one = SimpleNamespace(loop=Loop(), get_current_task=lambda: "guard", plugins={}, state=state)
    monkeypatch.setattr(worker, "get_worker", lambda: one)
    monkeypatch.setattr(worker, "_speed", lambda _: 1.5)
    return one


@pytest.fixture
def desk(here: Any, tmp_path: Path) -> Iterator[Desk]:
    """Of a run whose clocks do not go by the machine's speed."""
    one = Desk(here, "run", Demand(()), 2, tmp_path, None)
    yield one
    if one._place is not None:
        one._place.close()


def order(white: EngineSpec | None = None) -> Order:
    spec = white or sound()
    side = Side(spec, TimeControl.parse("60"))
    return Order("run", TAG, 0, GameTask(Pairing("A", "B"), side, side))


def test_a_worker_that_lacks_something_opens_no_desk(here: Any) -> None:
    """It tells what, and its processor; a game takes a slot and a thread."""
    found = look(pickle.dumps(Demand((), books=(("/no/book", ""),))), "run")
    assert found.lacks == ("book: no file /no/book",)
    assert (found.speed, bool(found.processor), here.plugins) == (1.5, True, {})
    assert seats_of(here) == 1


def test_a_game_tells_its_machine(desk: Desk) -> None:
    """Processor, host, and the speed that was measured."""
    kind, game = desk.play(order(), "one")
    assert kind == "result"
    assert isinstance(game, Game)
    assert game.hardware.endswith(", speed 1.5)")


def test_as_many_engines_start_at_once_as_the_run_says(here: Any, tmp_path: Path) -> None:
    """`start_parallel` of the configuration holds on every machine."""
    one = Desk(here, "run", Demand((), start_parallel=1), 2, tmp_path, None)
    place = one._slots(TAG)
    place.close()
    assert place._starters == 1


def test_a_task_that_comes_twice_is_one_game(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask may run a task again while its first run goes on: both get the one result."""
    submitted: list[GameTask] = []
    submit = LocalPlace.submit

    def counted(self: LocalPlace, task: Any, prefer: int | None = None) -> Any:
        submitted.append(task)
        return submit(self, task, prefer)

    monkeypatch.setattr(LocalPlace, "submit", counted)
    replies: list[Any] = []
    slow = order(scripted(name="slow", fault="slow", seconds=0.05))
    threads = [threading.Thread(target=lambda: replies.append(desk.play(slow, "same"))) for _ in range(2)]
    desk._lock.acquire()
    for thread in threads:
        thread.start()
    desk._lock.release()
    for thread in threads:
        thread.join(LONG)
    assert len(replies) == 2
    assert len(submitted) == 1
    assert replies[0] == replies[1]


def test_a_key_that_is_released_drops_its_game_and_engines(desk: Desk) -> None:
    """Nobody waits for it any more: its manager has gone, or plays it elsewhere."""
    replies: list[Any] = []
    hanging = order(scripted(name="hangs", fault="hang"))
    thread = threading.Thread(target=lambda: replies.append(desk.play(hanging, "key")))
    thread.start()
    until(lambda: len(processes()) >= 3)
    desk.transition("another", "executing", "released")
    desk.transition("key", "executing", "memory")
    assert len(processes()) >= 3
    desk.transition("key", "executing", "released")
    thread.join(LONG)
    assert replies[0][0] == "failed"
    until(lambda: processes() == [], GONE_S)


def test_the_guard_s_release_closes_the_desk(desk: Desk, here: Any) -> None:
    """It is held by the manager as long as it lives."""
    desk.transition("guard", "executing", "memory")
    assert not here.loop.told.is_set()
    desk.transition("guard", "memory", "released")
    assert here.loop.told.is_set()
    assert desk.teardown(here) is None
    assert desk.play(order(), "late") == ("failed", "its manager is gone")


def test_an_engine_that_changed_is_lacking(desk: Desk, tmp_path: Path) -> None:
    """A game with another build would be another engine's."""
    changed = EngineSpec("Owl", ("/bin/cat",), "uci", fingerprint="0" * 16)
    kind, words = desk.play(order(changed), "one")
    assert kind == "lacks"
    assert "another build: /bin/cat" in str(words)


def processes() -> list[int]:
    """Slots and engines of the desk that live."""
    own = [seen.pid for seen in strays.table() if strays.tag_of(seen.pid).startswith(f"{TAG}/")]
    return [pid for pid in own if alive(pid)]
