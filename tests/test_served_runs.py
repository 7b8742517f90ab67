"""Whole tournaments on a PostgreSQL server: killed and gone on with, several at once, and the same to every command."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from enginetour.store.address import address_of
from enginetour.store.tournaments import Store
from tests.servers import Server
from tests.touring import THREE, audited, config, left_running, pgn_games, read, running, tour

CYCLES = "games_per_pairing = 2\ncycles = 3"


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A runtime folder of the test's own, for sockets, whose paths are short."""
    with TemporaryDirectory(prefix="run-") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield Path(folder)


def games(url: str, name: str = "trial") -> int:
    with Store.open(address_of(url), create=False, readonly=True) as store:
        return audited(store.tournament(name))


def test_killed_twice(server: Server, tmp_path: Path, runtime: Path) -> None:
    """SIGKILL of the manager, twice: what was announced is there, nothing is doubled, and all of it is played."""
    (tmp_path / "results").mkdir()
    url = server.schema().replace("tester@", "tester:sesame@")
    path = config(tmp_path, THREE, "roundrobin", CYCLES)
    seen = 0
    for _ in range(2):
        with running(tmp_path, path, "--db", url) as process:
            process.send_signal(signal.SIGKILL)
        assert games(url) > seen
        seen = games(url)
    last = tour(tmp_path, "run", path.name, "--db", url)
    assert games(url) == 18
    written = [file.read_text() for file in (tmp_path / "results").iterdir() if file.is_file()]
    assert "sesame" not in "".join((last.stdout, last.stderr, *written)), "a password was shown"
    assert pgn_games(tmp_path / "results" / "trial.pgn") == 18
    assert "sound" in tour(tmp_path, "db", "check", "--db", url).stdout
    assert left_running(tmp_path) == []


def test_two_managers_at_once(server: Server, tmp_path: Path, runtime: Path) -> None:
    """Each plays its own tournament in one database; a third is refused and told who plays it; requests reach them."""
    (tmp_path / "results").mkdir()
    url = server.schema()
    one, other = (
        config(tmp_path, THREE, "roundrobin", "games_per_pairing = 2\ncycles = 200", name=name)
        for name in ("one", "other")
    )
    with running(tmp_path, one, "--db", url) as first, running(tmp_path, other, "--db", url) as second:
        refused = tour(tmp_path, "run", one.name, "--db", url, expect=5).stderr
        assert f"already running: pid {first.pid} on " in refused
        assert len(list((runtime / "enginetour").iterdir())) == 2  # nothing in their names tells a password
        assert read(tmp_path, "status", "-t", "one", "--db", url)["state"] == "running"
        assert read(tmp_path, "status", "-t", "other", "--db", url)["state"] == "running"
        for process, name in ((first, "one"), (second, "other")):
            assert "withdraws" in tour(tmp_path, "withdraw", "Wren 1", "-t", name, "--db", url).stdout
            tour(tmp_path, "finish", "-t", name, "--db", url)
            assert process.wait() == 8
    assert list((runtime / "enginetour").iterdir()) == []
    assert games(url, "one") > 0
    assert games(url, "other") > 0
    with Store.open(address_of(url), create=False) as store:
        assert store.tournament("one").gone == store.tournament("other").gone == {"Wren 1"}


COMMANDS = (
    ("status", "--json"),
    ("standings", "--csv"),
    ("standings", "--engines"),
    ("crosstable", "--pairs"),
    ("games", "--json"),
    ("games", "2"),
    ("ratings", "--json"),
    ("ratings", "--all", "--system", "elo"),
    ("ratings", "--all", "--since", "2020-01-01", "--tc", "depth=*"),
    ("ratings", "all", "--as-of", "edition 1"),
    ("history", "Wren 1"),
    ("import", "--list"),
    ("export", "pgn"),
)


def test_the_same_to_every_command(server: Server, tmp_path: Path, runtime: Path) -> None:
    """Played, imported, rated and published on a server, and copied to a file: every command says the same of both."""
    (tmp_path / "results").mkdir()
    url = server.schema()
    config(tmp_path, THREE, "roundrobin", "games_per_pairing = 2")
    tour(tmp_path, "run", "trial.toml", "--db", url)
    tour(tmp_path, "export", "pgn", "-o", "games.pgn", "--db", url)
    tags = (tmp_path / "games.pgn").read_text().replace('[Event "trial"]', '[Event "elsewhere"]')
    (tmp_path / "games.pgn").write_text(tags)
    tour(tmp_path, "import", "games.pgn", "--name", "files", "--db", url)
    tour(tmp_path, "ratings", "--all", "--system", "elo", "--db", url)
    tour(tmp_path, "lists", "define", "all", "--db", url)
    tour(tmp_path, "publish", "all", "--db", url)
    tour(tmp_path, "db", "copy", url, "copy.db")
    for words in COMMANDS:
        there, here = (tour(tmp_path, *words, "--db", place).stdout for place in (url, "copy.db"))
        assert there == here, words
        assert there, words
    for place in (url, "copy.db"):
        assert "1 tournament, 6 games, 1 import, 1 edition" in tour(tmp_path, "db", "check", "--db", place).stdout
