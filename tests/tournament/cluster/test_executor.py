"""Tests of tournament/cluster/executor."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import closing
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from queue import SimpleQueue
from typing import Any

import pytest

from enginetour.model.errors import InternalFailure, MachineFailure, UsageRefused
from enginetour.model.game import Game, Pairing
from enginetour.model.task import GameTask, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.referee.link import VERSION
from enginetour.store.address import parse_address
from enginetour.store.tournaments import Store
from enginetour.tournament.cluster import executor as module
from enginetour.tournament.cluster.executor import DaskExecutor
from enginetour.tournament.cluster.machines import Demand, GameOrder, ListedWorker, WorkerReport
from enginetour.tournament.cluster.worker import inspect_worker
from tests.support.databases import Server, game
from tests.support.engines import Promise, sound
from tests.support.network import Cluster, Manager, Relay, cluster, manager, unhurried
from tests.support.tournaments import (
    BUBBLE,
    FOUR,
    GONE_S,
    LONG_S,
    audit,
    audited,
    config,
    left_running,
    pgn_games,
    tour,
    until,
)

# Games on a real Dask cluster, in which workers, scheduler, manager and network fail.


REAL = ("stockfish", "toga2", "glaurung", "fairymax")
TROUBLED = {
    "bubble": "size = 3\nmin_matches = 2\nunpark_threshold = 2\ngames_per_pairing = 4",
    "swiss": "rounds = 3\ngames_per_pairing = 4",
}


def kill_at_play(dask: Cluster, worker: str, manager: Manager) -> None:
    """Kill a worker during a game other than the first, and wait until it is missed and its engines are gone."""
    manager.hears("Finished game")
    dask.wait_for_game(worker)
    dask.kill(worker)
    manager.hears(f"{worker} has left the cluster")
    dask.wait_for_end(worker)


def only_the_worker(dask: Cluster, name: str) -> bool:
    """Whether a machine has no slot and no engine left while its worker runs."""
    return len(left_running(dask.folder_of(name))) == 1


@pytest.mark.timeout(300)
@pytest.mark.engine(*REAL)
@pytest.mark.parametrize("system", ["bubble", pytest.param("swiss", marks=pytest.mark.night)])
def test_killed_twice_each_and_nothing_is_lost_or_doubled(tmp_path: Path, server: Server, system: str) -> None:
    """After kills of workers, scheduler and manager the log is complete, and no process is left."""
    folder = tmp_path / "tour"
    (folder / "results").mkdir(parents=True)
    field = unhurried(REAL, 2)
    path = config(folder, (), system, TROUBLED[system], field)
    url = server.schema()
    with cluster(tmp_path / "dask", "a", "b", slots=1) as dask:
        with manager(path, dask.place, "--db", url) as one:
            kill_at_play(dask, "a", one)
            dask.start_worker("a")
            one.hears("Finished game")
            one.kill()
        until(lambda: left_running(folder) == [])
        dask.wait_for_workers()
        with manager(path, dask.place, "--db", url) as one:
            kill_at_play(dask, "a", one)
            dask.kill("scheduler")
            one.hears("does not respond: games wait")
            dask.start_scheduler()
            dask.again("b")
            dask.start_worker("a")
            one.hears("is back")
            one.finishes()
        until(lambda: left_running(folder) == [])
        for name in "ab":
            until(partial(only_the_worker, dask, name), GONE_S)  # its slots end together with the manager
    assert left_running(tmp_path) == []
    with Store.open(parse_address(url), create=False) as store:
        log = store.tournament("trial")
        assert audited(log) == pgn_games(folder / "results" / "trial.pgn") >= 20
        assert all(stored.game.hardware.count("speed") == 1 for stored in log.full_games())


@pytest.mark.timeout(300)
def test_a_machine_whose_network_is_cut_is_used_again(tmp_path: Path) -> None:
    """A short network cut loses nothing; after a long one the game is replayed and the machine returns."""
    folder = tmp_path / "tour"
    (folder / "results").mkdir(parents=True)
    field = unhurried(FOUR[:2], 1)
    path = config(folder, (), "roundrobin", "games_per_pairing = 2\ncycles = 10", field)
    with closing(Relay()) as far, cluster(tmp_path / "dask", "near", slots=1) as dask:
        dask.start_worker("far", relay=far)
        dask.wait_for_workers()
        with manager(path, dask.place) as one:
            dask.wait_for_game("far")
            far.cut()
            told = one.hears("Finished game") + one.hears("Finished game")
            far.mend()
            assert "left" not in told + one.hears("Finished game")
            dask.wait_for_game("far")
            far.cut()
            far.time_out()
            one.hears("far has left the cluster")
            one.hears("Finished game")
            dask.wait_for_end("far")
            dask.kill("near")
            dask.again("far")
            far.mend()
            one.hears("far is back: 1 slot")
            assert "Finished game" in one.finishes()
        until(lambda: left_running(folder) == [])
        until(lambda: only_the_worker(dask, "far"), GONE_S)
    assert left_running(tmp_path) == []
    assert audit(folder) == 20


@pytest.mark.timeout(300)
def test_any_place_gives_the_same_log_and_who_lacks_an_engine_plays_nothing(tmp_path: Path) -> None:
    """Two machines give the same log as one; a machine with another build is named and gets no games."""
    folders = [tmp_path / name for name in ("here", "there", "nowhere")]
    for folder in folders:
        (folder / "results").mkdir(parents=True)
    here, there, nowhere = (config(folder, FOUR, "bubble", BUBBLE) for folder in folders)
    tour(folders[0], "run", str(here), "--plain")
    with cluster(tmp_path / "dask", "a", "b", slots=1) as dask:
        engines = dask.folder_of("odd") / "engines"
        engines.mkdir()
        (engines / "wren1.toml").write_text('name = "Wren 1"\ncommand = ["/bin/cat"]\nprotocol = "uci"\n')
        dask.start_worker("odd")
        dask.wait_for_workers()
        words = ["--executor", dask.place, "--concurrency", "2", "--plain"]
        done = tour(folders[1], "run", str(there), *words)
        assert "odd lacks Wren 1: different build: fingerprint of /bin/cat is" in done.stdout + done.stderr
        dask.kill("a")
        dask.kill("b")
        refused = tour(folders[2], "run", str(nowhere), *words, expect=3)
        assert "no machine of the cluster can play" in refused.stderr
    played = []
    for folder in folders[:2]:
        with Store.open(folder / "results" / "enginetour.db", create=False) as store:
            games = [stored.game for stored in store.tournament("trial").full_games()]
        assert not any("(odd" in game.hardware for game in games)
        assert audit(folder) == len(games)
        played.append(
            {game.pairing.key: (game.pairing.white, game.outcome, [move.uci for move in game.moves]) for game in games}
        )
    assert played[0] == played[1]
    assert not (folders[2] / "results" / "enginetour.db").exists()


# The executor with a scripted connection.


class Script:
    """A cluster under control of a test: `seen` are its workers, None if the scheduler is lost."""

    def __init__(self, address: str, run: str, heard: Callable[[Any], None]) -> None:
        self.run, self.heard = run, heard
        self.seen: dict[str, ListedWorker] | None = {
            "a:1": ListedWorker("a", "a", 1, 1),
            "b:1": ListedWorker("b", "b", 1, 1),
        }
        self.games: SimpleQueue[tuple[str, str, GameOrder, Promise]] = SimpleQueue()
        self.guards: dict[str, Promise] = {}
        self.lacks: dict[str, tuple[str, ...]] = {}
        self.versions: dict[str, object] = {}
        self.asked: list[tuple[object, ...]] = []
        self.is_open = True

    async def open(self) -> None:
        if not self.is_open:
            raise OSError("refused")

    async def workers(self) -> dict[str, ListedWorker] | None:
        return self.seen

    async def close(self) -> None:
        pass

    def submit(self, task: Any, *words: Any, worker: str, slot: bool, key: str) -> Promise:
        promise = Promise()
        if task is resolve_name:
            self.asked.append(words)
            promise.settle(self.versions.get(worker, VERSION))
        elif task is inspect_worker:
            self.guards[worker] = promise
            promise.settle(WorkerReport(worker, lacks=self.lacks.get(worker, ())))
        else:
            self.games.put((worker, key, words[0], promise))
        return promise


class Stage:
    """An executor, its script, and its messages."""

    def __init__(self, place: DaskExecutor) -> None:
        self.place = place
        self.script: Any = place._link
        self.told: SimpleQueue[str] = SimpleQueue()
        place.look_round(lambda: None)
        place.open("tag", lambda *event: self.told.put(repr(event)), self.told.put)

    def next(self) -> tuple[str, str, Promise]:
        """Return worker, key and future of the next submitted game."""
        worker, key, _, promise = self.script.games.get(timeout=LONG_S)
        return worker, key, promise

    def settle(self, promise: Promise, value: object) -> None:
        self.place._loop.post(lambda: promise.settle(value))

    def hears(self, words: str) -> str:
        """Return the next message with these words."""
        while words not in (line := self.told.get(timeout=LONG_S)):
            pass
        return line


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """Make two machines with one slot each."""
    monkeypatch.setattr(module, "Connection", Script)
    monkeypatch.setattr(module, "LOOK_S", 0.01)
    place = DaskExecutor("tcp://x:1", 2, Demand(()))
    try:
        yield Stage(place)
    finally:
        place.close()


def task(meeting: int = 1) -> GameTask:
    side = Side(sound(), TimeControl.parse("60"))
    return GameTask(Pairing("A", "B", meeting), side, side)


def result(meeting: int = 1) -> tuple[str, Game]:
    return "result", game(meeting=meeting)


def test_results_come_in_any_order_and_each_to_its_game(stage: Stage) -> None:
    """Results may come in any order; a third game waits for a slot."""
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
    """The game of a lost worker is played elsewhere and counted once; its own late result is ignored."""
    future = stage.place.submit(task(), 0)
    worker, _, late = stage.next()
    stage.script.seen = {address: seen for address, seen in stage.script.seen.items() if address != worker}
    stage.hears(f"{worker[0]} has left the cluster, with 1 game in progress")
    other, _, promise = stage.next()
    assert other != worker
    stage.settle(late, result(7))
    stage.settle(promise, result(1))
    assert future.result(LONG_S).pairing.meeting == 1
    assert late.released
    stage.script.seen = {
        **stage.script.seen,
        f"{worker[0]}:2": ListedWorker(worker[0], "host", 1, 1),
    }
    stage.hears(f"{worker[0]} is back: 1 slot")


def test_three_failures_in_a_row_set_a_machine_aside_and_name_it(stage: Stage) -> None:
    """After three failures in a row a machine gets no games until a user allows it; the message has the command."""
    assert stage.place.drain("b")
    failed = stage.place.submit(task(), 0)
    for _ in range(3):
        stage.settle(stage.next()[2], ("failed", "broken"))
    line = stage.hears("gets no more games")
    assert line.startswith(
        "a gets no more games, because it failed three games in a row: broken; enginetour machines --use a"
    )
    assert isinstance(failed.exception(LONG_S), MachineFailure)
    waiting = stage.place.submit(task(2), 0)
    assert {row["machine"]: row["state"] for row in stage.place.rows()} == {
        "a": "aside",
        "b": "drained",
    }
    assert stage.script.games.empty()
    assert stage.place.use("a")
    worker, _, promise = stage.next()
    assert worker == "a:1"
    stage.settle(promise, result(2))
    assert waiting.result(LONG_S)


def test_games_that_a_machine_fails_at_once_are_one_failure(stage: Stage) -> None:
    """Games that a machine fails at the same time count as one failure."""
    stage.script.seen = {"c:1": ListedWorker("c", "c", 4, 4)}
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
    assert stage.hears("gets no more games").startswith(
        "c gets no more games, because it failed three games in a row: killed"
    )


def test_what_several_machines_fail_is_the_scheduler_s(stage: Stage) -> None:
    """After three tries the future raises, and the loop pauses."""
    future = stage.place.submit(task(), 0)
    for _ in range(3):
        stage.settle(stage.next()[2], ("failed", "broken"))
    with pytest.raises(MachineFailure, match="broken"):
        future.result(LONG_S)


def test_a_failure_of_our_own_is_no_machine_s(stage: Stage) -> None:
    """An internal error is reported to the loop at once, and the machine is not blamed."""
    future = stage.place.submit(task(), 0)
    stage.settle(stage.next()[2], ("internal", "the slot failed: KeyError('x')"))
    with pytest.raises(InternalFailure, match="KeyError"):
        future.result(LONG_S)


def test_a_scheduler_that_is_away_holds_the_games_until_it_is_back(stage: Stage) -> None:
    """While the scheduler does not respond, games wait; then each is replayed, and no machine is blamed."""
    future = stage.place.submit(task(), 0)
    stage.next()
    there, stage.script.seen = stage.script.seen, None
    stage.hears("does not respond: games wait until it does")
    stage.script.seen = there
    stage.hears("is back")
    stage.settle(stage.next()[2], CancelledError())
    for guard in list(stage.script.guards.values()):
        guard.status = "cancelled"
    stage.hears("does not respond")
    stage.hears("is back")
    promise = stage.next()[2]
    while promise.released:
        promise = stage.next()[2]
    stage.settle(promise, result(1))
    assert future.result(LONG_S)
    assert all(not one.failures for one in stage.place.machines.standing.values())


def test_a_lost_connection_uses_up_no_try(stage: Stage) -> None:
    """A lost connection does not count as a try, and no machine is named."""
    future = stage.place.submit(task(), 0)
    for lost in (CancelledError(), OSError("closed"), CancelledError(), OSError("closed")):
        stage.settle(stage.next()[2], lost)
    stage.settle(stage.next()[2], result(1))
    assert future.result(LONG_S)
    assert stage.told.empty()


def test_a_machine_may_join_during_the_night(stage: Stage) -> None:
    """A new machine is checked, named, and gets the next game, unless it lacks something."""
    stage.script.lacks["d:1"] = ("tablebases: no folder /tb",)
    stage.script.seen = {
        **stage.script.seen,
        "c:1": ListedWorker("c", "c", 4, 4),
        "d:1": ListedWorker("d", "d", 4, 4),
    }
    lines = {stage.hears("joined" if number == 0 else "gets no games") for number in range(2)}
    assert lines == {"c has joined: 4 slots", "d gets no games: tablebases: no folder /tb"}
    stage.place.resize(9)
    for number in range(9):
        stage.place.submit(task(number), number)
    assert {stage.next()[0] for _ in range(6)} == {"a:1", "b:1", "c:1"}


def test_who_has_another_version_is_sent_nothing_of_ours(stage: Stage) -> None:
    """A worker of another version gets no task; one line names its version or that it has none."""
    stage.script.versions = {
        "c:1": "0.0.1 (ffffffff)",
        "d:1": ModuleNotFoundError("No module named 'enginetour'"),
    }
    stage.script.seen = {
        **stage.script.seen,
        "c:1": ListedWorker("", "10.0.0.3", 1, 1),
        "d:1": ListedWorker("d", "d", 1, 1),
    }
    lines = {stage.hears("gets no games") for _ in range(2)}
    assert lines == {
        f"10.0.0.3 gets no games: enginetour {VERSION}: found 0.0.1 (ffffffff); install the same version",
        f"d gets no games: enginetour {VERSION}: No module named 'enginetour'",
    }
    assert not {"c:1", "d:1"} & stage.script.guards.keys()
    assert [resolve_name(*words) for words in stage.script.asked] == [VERSION] * 4


def test_stop_now_lets_go_of_every_game(stage: Stage) -> None:
    """`stop(now=True)` fails all games and tells the workers."""
    futures = [stage.place.submit(task(number), number) for number in range(3)]
    promises = [stage.next()[2] for _ in range(2)]
    stage.place.stop(now=True)
    for future in futures:
        assert isinstance(future.exception(LONG_S), MachineFailure)
    assert all(promise.released for promise in promises)
    with pytest.raises(RuntimeError, match="stopped"):
        stage.place.submit(task())


def test_events_of_games_that_are_over_are_dropped(stage: Stage) -> None:
    """Events of a game that has ended are ignored."""
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
    """A second close does nothing; an address without a server is one error, and no thread is left."""
    monkeypatch.setattr(module, "Connection", Script)
    before = threading.active_count()
    place = DaskExecutor("tcp://x:1", 2, Demand(()))
    place.close()
    place.close()
    monkeypatch.setattr(Script, "open", _refuse)
    with pytest.raises(UsageRefused, match=r"no Dask scheduler responds at tcp://x:1 \(refused\)"):
        DaskExecutor("tcp://x:1", 2, Demand(()))
    assert threading.active_count() == before


async def _refuse(_: Script) -> None:
    raise OSError("refused")
