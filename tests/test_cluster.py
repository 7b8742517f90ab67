"""Games on a real Dask cluster: workers, its scheduler and the manager are killed, and nothing is lost or doubled."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from enginetour.store.tournaments import Store
from tests.clusters import cluster
from tests.test_process import until
from tests.touring import BUBBLE, FOUR, audit, config, default_signals, left_running, typed

pytestmark = pytest.mark.timeout(300)  # processes of Dask take seconds to start, many on a busy machine

SWISS = "rounds = 3\ngames_per_pairing = 10"


@contextmanager
def manager(folder: Path, path: Path, place: str) -> Iterator[subprocess.Popen[str]]:
    """`enginetour run --place` in a process of its own."""
    words = ["run", str(path), "--place", place, "--slots", "3", "--plain", "--force"]
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "enginetour", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=default_signals,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def heard(process: subprocess.Popen[str], words: str) -> str:
    """Read on to the next line with these words."""
    assert process.stdout is not None
    told = []
    for line in process.stdout:
        told.append(line)
        if words in line:
            return line
    raise AssertionError("".join(told))


@pytest.mark.parametrize(
    ("system", "settings"),
    [
        ("bubble", "size = 3\nmin_matches = 2\nunpark_threshold = 2\ngames_per_pairing = 8"),
        pytest.param("swiss", SWISS, marks=pytest.mark.night),
    ],
)
def test_killed_twice_each_and_nothing_is_lost_or_doubled(tmp_path: Path, system: str, settings: str) -> None:
    """A worker is killed twice, the scheduler once, the manager once: the log is whole and replays to its decisions."""
    folder = tmp_path / "tour"
    folder.mkdir()
    (folder / "results").mkdir()
    path = config(folder, FOUR, system, settings)
    with cluster(tmp_path / "dask", "a", "b", "c", slots=1) as dask:
        with manager(folder, path, dask.place) as process:
            heard(process, "Finished game")
            dask.kill("a")
            heard(process, "a has left the cluster")
            dask.kill("b")
            heard(process, "b has left the cluster")
            heard(process, "Finished game")
            process.kill()
        until(lambda: left_running(folder) == [])
        with manager(folder, path, dask.place) as process:
            heard(process, "Finished game")
            dask.kill("scheduler")
            heard(process, "does not answer: games wait")
            dask.kill("c")
            dask.start_scheduler()
            dask.start_worker("a")
            heard(process, "is back")
            told, _ = process.communicate()
            assert process.returncode == 0, told
        until(lambda: left_running(folder) == [])
    assert audit(folder) >= 12
    assert left_running(tmp_path) == []
    with Store.open(folder / "results" / "enginetour.db", create=False) as store:
        assert all(stored.game.hardware.count("speed") == 1 for stored in store.tournament("trial").full_games())


def test_any_place_gives_the_same_log_and_who_lacks_an_engine_plays_nothing(tmp_path: Path) -> None:
    """Engines that always move alike make the same games on two machines as on one; a machine with another build of
    an engine is named and gets none; where no other is left nothing begins.
    """
    folders = [tmp_path / name for name in ("here", "there", "nowhere")]
    for folder in folders:
        (folder / "results").mkdir(parents=True)
    other = tmp_path / "other"
    (other / "engines").mkdir(parents=True)
    (other / "engines" / "wren1.toml").write_text('name = "Wren 1"\ncommand = ["/bin/cat"]\nprotocol = "uci"\n')
    here, there, nowhere = (config(folder, FOUR, "bubble", BUBBLE) for folder in folders)
    typed(folders[0], "run", str(here), "--plain")
    with cluster(tmp_path / "dask", "a", "b", slots=1) as dask:
        dask.start_worker("odd", cwd=other)
        dask.wait_for_workers()
        words = ["--place", dask.place, "--slots", "2", "--plain"]
        done = typed(folders[1], "run", str(there), *words)
        assert "odd lacks Wren 1: another build: /bin/cat makes it" in done.stdout + done.stderr
        dask.kill("a")
        dask.kill("b")
        refused = typed(folders[2], "run", str(nowhere), *words, expect=3)
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
