"""Games on a real Dask cluster: workers, its scheduler, manager and network fail: nothing is lost or doubled."""

from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from enginetour.store.address import address_of
from enginetour.store.tournaments import Store
from tests.clusters import Cluster, Manager, cluster, manager, unhurried
from tests.relays import Relay
from tests.servers import Server
from tests.touring import BUBBLE, FOUR, GONE_S, audit, audited, config, left_running, pgn_games, tour, until

pytestmark = pytest.mark.timeout(300)  # processes of Dask take seconds to start, many on a busy machine

REAL = ("stockfish", "toga2", "glaurung", "fairymax")
TROUBLED = {
    "bubble": "size = 3\nmin_matches = 2\nunpark_threshold = 2\ngames_per_pairing = 4",
    "swiss": "rounds = 3\ngames_per_pairing = 4",
}


def kill_at_play(dask: Cluster, worker: str, manager: Manager) -> None:
    """Kill a worker in the middle of a game that is not the first, and wait until it is missed and its engines gone."""
    manager.hears("Finished game")
    dask.wait_for_game(worker)
    dask.kill(worker)
    manager.hears(f"{worker} has left the cluster")
    dask.wait_for_end(worker)


def only_the_worker(dask: Cluster, name: str) -> bool:
    """No slot and no engine is left on a machine whose worker goes on."""
    return len(left_running(dask.folder_of(name))) == 1


@pytest.mark.engine(*REAL)
@pytest.mark.parametrize("system", TROUBLED)
def test_killed_twice_each_and_nothing_is_lost_or_doubled(tmp_path: Path, server: Server, system: str) -> None:
    """Real engines, a worker killed twice, the scheduler once, the manager once: the log is whole, and replays to its
    decisions; no process is left anywhere.
    """
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
            one.hears("does not answer: games wait")
            dask.start_scheduler()
            dask.again("b")
            dask.start_worker("a")
            one.hears("is back")
            one.finishes()
        until(lambda: left_running(folder) == [])
        for name in "ab":
            until(partial(only_the_worker, dask, name), GONE_S)  # its slots end beside the manager, not in it
    assert left_running(tmp_path) == []
    with Store.open(address_of(url), create=False) as store:
        log = store.tournament("trial")
        assert audited(log) == pgn_games(folder / "results" / "trial.pgn") >= 20
        assert all(stored.game.hardware.count("speed") == 1 for stored in log.full_games())


def test_a_machine_whose_network_is_cut_is_used_again(tmp_path: Path) -> None:
    """Cut off for a while, it says the result of its game afterwards, and nobody heard of anything. Cut off for longer
    than TCP bears, its game is played elsewhere and its engines end; when it is back, it plays what is left.
    """
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


def test_any_place_gives_the_same_log_and_who_lacks_an_engine_plays_nothing(tmp_path: Path) -> None:
    """Engines that always move alike make the same games on two machines as on one; a machine with another build of
    an engine is named and gets none; where no other is left nothing begins.
    """
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
        words = ["--place", dask.place, "--slots", "2", "--plain"]
        done = tour(folders[1], "run", str(there), *words)
        assert "odd lacks Wren 1: another build: /bin/cat makes it" in done.stdout + done.stderr
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
