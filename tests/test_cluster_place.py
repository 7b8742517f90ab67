"""The place of a cluster with a scripted connection: late, lost and doubled games, machines set aside, stops."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from pkgutil import resolve_name
from queue import SimpleQueue
from typing import Any

import pytest

from enginetour.model.errors import InternalFailure, MachineFailure, UsageRefused
from enginetour.model.game import Game, Pairing
from enginetour.model.task import GameTask, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.referee.talk import VERSION
from enginetour.tournament.cluster import place as module
from enginetour.tournament.cluster.machines import Demand, Found, Order, Seen
from enginetour.tournament.cluster.place import DaskPlace
from enginetour.tournament.cluster.worker import look
from tests.playing import sound
from tests.promises import Promise
from tests.storing import game
from tests.touring import LONG_S


class Script:
    """A cluster as a test wants it: `seen` is who is there, None where the scheduler is gone."""

    def __init__(self, address: str, run: str, heard: Callable[[Any], None]) -> None:
        self.run, self.heard = run, heard
        self.seen: dict[str, Seen] | None = {"a:1": Seen("a", "a", 1, 1), "b:1": Seen("b", "b", 1, 1)}
        self.games: SimpleQueue[tuple[str, str, Order, Promise]] = SimpleQueue()
        self.guards: dict[str, Promise] = {}
        self.lacks: dict[str, tuple[str, ...]] = {}
        self.versions: dict[str, object] = {}
        self.asked: list[tuple[object, ...]] = []
        self.is_open = True

    async def open(self) -> None:
        if not self.is_open:
            raise OSError("refused")

    async def workers(self) -> dict[str, Seen] | None:
        return self.seen

    async def close(self) -> None:
        pass

    def submit(self, task: Any, *words: Any, worker: str, slot: bool, key: str) -> Promise:
        promise = Promise()
        if task is resolve_name:
            self.asked.append(words)
            promise.settle(self.versions.get(worker, VERSION))
        elif task is look:
            self.guards[worker] = promise
            promise.settle(Found(worker, lacks=self.lacks.get(worker, ())))
        else:
            self.games.put((worker, key, words[0], promise))
        return promise


class Stage:
    """A place, its script, and what it told."""

    def __init__(self, place: DaskPlace) -> None:
        self.place = place
        self.script: Any = place._link
        self.told: SimpleQueue[str] = SimpleQueue()
        place.look_round(lambda: None)
        place.open("tag", lambda *event: self.told.put(repr(event)), self.told.put)

    def next(self) -> tuple[str, str, Promise]:
        """Worker, key and promise of the next game that was handed over."""
        worker, key, _, promise = self.script.games.get(timeout=LONG_S)
        return worker, key, promise

    def settle(self, promise: Promise, value: object) -> None:
        self.place._loop.post(lambda: promise.settle(value))

    def hears(self, words: str) -> str:
        """The next line with these words."""
        while words not in (line := self.told.get(timeout=LONG_S)):
            pass
        return line


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """Two machines with a slot each."""
    monkeypatch.setattr(module, "Connection", Script)
    monkeypatch.setattr(module, "LOOK_S", 0.01)
    place = DaskPlace("tcp://x:1", 2, Demand(()))
    try:
        yield Stage(place)
    finally:
        place.close()


def task(meeting: int = 1, leg: int = 1) -> GameTask:
    side = Side(sound(), TimeControl.parse("60"))
    return GameTask(Pairing("A", "B", meeting, leg), side, side)


def result(meeting: int = 1) -> tuple[str, Game]:
    return "result", game(meeting=meeting)


def test_results_come_in_any_order_and_each_to_its_game(stage: Stage) -> None:
    """The second game ends before the first; a third waits for a seat."""
    futures = [stage.place.submit(task(number), number) for number in range(3)]
    first, second = stage.next(), stage.next()
    assert {first[0], second[0]} == {"a:1", "b:1"}
    stage.settle(second[2], result(1))
    assert futures[1].result(LONG_S).pairing.meeting == 1
    third = stage.next()
    assert third[0] == second[0]
    stage.settle(third[2], result(2))
    stage.settle(first[2], result(0))
    assert [future.result(LONG_S).pairing.meeting for future in futures] == [0, 1, 2]


def test_a_dead_worker_s_game_is_played_elsewhere_and_counts_once(stage: Stage) -> None:
    """Its own late result is nobody's any more: the task was let go."""
    future = stage.place.submit(task(), 0)
    worker, _, late = stage.next()
    stage.script.seen = {address: seen for address, seen in stage.script.seen.items() if address != worker}
    stage.hears(f"{worker[0]} has left the cluster with 1 game in the air")
    other, _, promise = stage.next()
    assert other != worker
    stage.settle(late, result(7))
    stage.settle(promise, result(1))
    assert future.result(LONG_S).pairing.meeting == 1
    assert late.released
    stage.script.seen = {**stage.script.seen, f"{worker[0]}:2": Seen(worker[0], "host", 1, 1)}
    stage.hears(f"{worker[0]} is back: 1 slot")


def test_three_failures_in_a_row_set_a_machine_aside_and_name_it(stage: Stage) -> None:
    """It gets no game any more until somebody says so; the line has the command."""
    assert stage.place.drain("b")
    failed = stage.place.submit(task(), 0)
    for _ in range(3):
        stage.settle(stage.next()[2], ("failed", "broken"))
    line = stage.hears("set aside")
    assert line.startswith("a is set aside, it failed three games in a row: broken; enginetour machines --use a")
    assert isinstance(failed.exception(LONG_S), MachineFailure)
    waiting = stage.place.submit(task(2), 0)
    assert {row["machine"]: row["state"] for row in stage.place.rows()} == {"a": "aside", "b": "drained"}
    assert stage.script.games.empty()
    assert stage.place.use("a")
    worker, _, promise = stage.next()
    assert worker == "a:1"
    stage.settle(promise, result(2))
    assert waiting.result(LONG_S)


def test_games_that_a_machine_fails_at_once_are_one_failure(stage: Stage) -> None:
    """Slots that were ended together set their machine aside, the only one of its cluster, and nothing went on."""
    stage.script.seen = {"c:1": Seen("c", "c", 4, 4)}
    stage.hears("c has joined")
    stage.place.resize(4)
    for number in range(4):
        stage.place.submit(task(number), number)
    games = [stage.next()[2] for _ in range(4)]
    for promise in games:
        stage.settle(promise, ("failed", "killed"))
    again = [stage.next()[2] for _ in range(4)]
    assert stage.place.rows()[0]["state"] == "fit"
    stage.settle(again[0], ("failed", "killed"))
    stage.settle(stage.next()[2], ("failed", "killed"))
    assert stage.hears("set aside").startswith("c is set aside, it failed three games in a row: killed")


def test_what_several_machines_fail_is_the_scheduler_s(stage: Stage) -> None:
    """After three tries the future raises, and the loop's own pauses begin."""
    future = stage.place.submit(task(), 0)
    for _ in range(3):
        stage.settle(stage.next()[2], ("failed", "broken"))
    with pytest.raises(MachineFailure, match="broken"):
        future.result(LONG_S)


def test_a_failure_of_our_own_is_no_machine_s(stage: Stage) -> None:
    """The loop hears of it at once, as of a failure in a slot here; the machine is not counted."""
    future = stage.place.submit(task(), 0)
    stage.settle(stage.next()[2], ("internal", "the slot failed: KeyError('x')"))
    with pytest.raises(InternalFailure, match="KeyError"):
        future.result(LONG_S)


def test_a_scheduler_that_is_away_holds_the_games_until_it_is_back(stage: Stage) -> None:
    """Nobody is blamed; each game is played again, also where the connection was back before anybody looked."""
    future = stage.place.submit(task(), 0)
    stage.next()
    there, stage.script.seen = stage.script.seen, None
    stage.hears("does not answer: games wait until it does")
    stage.script.seen = there
    stage.hears("is back")
    stage.settle(stage.next()[2], CancelledError())
    for guard in list(stage.script.guards.values()):
        guard.status = "cancelled"
    stage.hears("does not answer")
    stage.hears("is back")
    promise = stage.next()[2]
    while promise.released:
        promise = stage.next()[2]
    stage.settle(promise, result(1))
    assert future.result(LONG_S)
    assert all(not one.failures for one in stage.place.machines.standing.values())


def test_a_lost_connection_uses_up_no_try(stage: Stage) -> None:
    """Seen by its games before anybody looked who is there: they wait, and no machine is named."""
    future = stage.place.submit(task(), 0)
    for lost in (CancelledError(), OSError("closed"), CancelledError(), OSError("closed")):
        stage.settle(stage.next()[2], lost)
    stage.settle(stage.next()[2], result(1))
    assert future.result(LONG_S)
    assert stage.told.empty()


def test_a_machine_may_join_during_the_night(stage: Stage) -> None:
    """It looks what it has, is named, and gets the next game; one that lacks something is named and gets none."""
    stage.script.lacks["d:1"] = ("tablebases: no folder /tb",)
    stage.script.seen = {**stage.script.seen, "c:1": Seen("c", "c", 4, 4), "d:1": Seen("d", "d", 4, 4)}
    lines = {stage.hears("joined" if number == 0 else "gets no games") for number in range(2)}
    assert lines == {"c has joined: 4 slots", "d gets no games, it lacks tablebases: no folder /tb"}
    stage.place.resize(9)
    for number in range(9):
        stage.place.submit(task(number), number)
    assert {stage.next()[0] for _ in range(6)} == {"a:1", "b:1", "c:1"}


def test_who_has_another_version_is_sent_nothing_of_ours(stage: Stage) -> None:
    """It tells its version, or that it has none; both are one line, and its games are nobody's."""
    stage.script.versions = {"c:1": "0.0.1 (ffffffff)", "d:1": ModuleNotFoundError("No module named 'enginetour'")}
    stage.script.seen = {**stage.script.seen, "c:1": Seen("", "10.0.0.3", 1, 1), "d:1": Seen("d", "d", 1, 1)}
    lines = {stage.hears("gets no games") for _ in range(2)}
    assert lines == {
        f"10.0.0.3 gets no games, it lacks enginetour {VERSION}: it has 0.0.1 (ffffffff); install the same there",
        f"d gets no games, it lacks enginetour {VERSION}: No module named 'enginetour'",
    }
    assert not {"c:1", "d:1"} & stage.script.guards.keys()
    assert [resolve_name(*words) for words in stage.script.asked] == [VERSION] * 4


def test_stop_now_lets_go_of_every_game(stage: Stage) -> None:
    """Running and queued games fail, and the workers are told."""
    futures = [stage.place.submit(task(number), number) for number in range(3)]
    promises = [stage.next()[2] for _ in range(2)]
    stage.place.stop(now=True)
    for future in futures:
        assert isinstance(future.exception(LONG_S), MachineFailure)
    assert all(promise.released for promise in promises)
    with pytest.raises(RuntimeError, match="stopped"):
        stage.place.submit(task())


def test_events_of_games_that_are_over_are_dropped(stage: Stage) -> None:
    """A late move of an ended game would stand on the board of the next."""
    future = stage.place.submit(task(), 5)
    _, key, promise = stage.next()
    hear = stage.script.heard
    stage.place._loop.ask(lambda: hear([(key, "move", 1), ("other", "move", 2)]))
    assert stage.hears("move") == "(5, 'move', 1)"
    stage.settle(promise, result())
    future.result(LONG_S)
    stage.place._loop.ask(lambda: hear([(key, "move", 3)]))
    assert stage.told.empty()


def test_close_leaves_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice is once; where nobody answers there is one line, and no thread either."""
    monkeypatch.setattr(module, "Connection", Script)
    before = threading.active_count()
    place = DaskPlace("tcp://x:1", 2, Demand(()))
    place.close()
    place.close()
    monkeypatch.setattr(Script, "open", _refuse)
    with pytest.raises(UsageRefused, match=r"no scheduler of Dask answers at tcp://x:1 \(refused\)"):
        DaskPlace("tcp://x:1", 2, Demand(()))
    assert threading.active_count() == before


async def _refuse(_: Script) -> None:
    raise OSError("refused")
