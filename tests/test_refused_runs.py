"""Rows of the table of stops as `run` shows them: exit code, one line, and nothing touched."""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from enginetour.store.database import Database
from enginetour.store.tournaments import Store
from tests.forked import quick, scripted
from tests.test_database import foreign, garbage, newer, with_trigger
from tests.touring import audit, config, entrant, tour

# Shuffles its knights; its net is a file, named by an option.
WITH_NET = """\
import sys
moves, plies = ["g1f3", "g8f6", "f3g1", "f6g8"], 0
for line in sys.stdin:
    words = line.split()
    if words[0] == "position":
        plies = len(words[words.index("moves") + 1:]) if "moves" in words else 0
    if words[0] == "uci":
        print("option name EvalFile type string default <empty>\\nuciok", flush=True)
    if words[0] == "isready":
        print("readyok", flush=True)
    if words[0] == "go":
        print("bestmove", moves[plies % 4], flush=True)
"""
STOPS = "changed since the last game: Netty (binary, net or options); put it back, go on with run --accept-change"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (newer, "newer enginetour"),
        (with_trigger, "holds the trigger 't'"),
        (foreign, "another program"),
        (garbage, "no SQLite database"),
    ],
)
def test_a_database_that_is_not_ours_to_write(tmp_path: Path, make: Callable[[Path], None], words: str) -> None:
    """Exit 5 before any engine starts; not a byte of it changed, nothing laid beside it."""
    results = tmp_path / "results"
    results.mkdir()
    path = results / "enginetour.db"
    make(path)
    before = path.read_bytes(), os.listdir(results)
    told = tour(tmp_path, "run", str(quick(tmp_path)), expect=5)
    assert words in told.stderr
    assert told.stderr.count("\n") == 1
    assert (path.read_bytes(), os.listdir(results)) == before


def netty(folder: Path, net: str = "x.nnue") -> Path:
    """A round robin of an engine with a net and one without."""
    (folder / "netty.py").write_text(WITH_NET)
    own = entrant("Netty", [sys.executable, "-I", str(folder / "netty.py")])
    own += f'\noptions = {{ EvalFile = "{folder / net}" }}\n'
    return config(folder, (), "roundrobin", "cycles = 3", own + scripted("Ada", "uci"), tc="60+1")


@pytest.mark.parametrize("command", ["check", "run"])
@pytest.mark.parametrize(
    ("key", "code"),
    [
        ("[play]\nopenings = { file = 'PIPE' }", 3),
        ("[play]\nopenings = { file = 'PIPE.bin' }", 3),
        ("own_book = { file = 'PIPE' }", 3),
        ("options = { EvalFile = 'PIPE' }", 4),
        ("options = { EvalFile = '/dev/tty' }", 4),
    ],
)
def test_a_pipe_or_a_device_is_no_file_of_a_tournament(tmp_path: Path, command: str, key: str, code: int) -> None:
    """Whoever reads it would wait for ever: refused in one line that names it, before anything is written."""
    for name in ("PIPE", "PIPE.bin"):
        os.mkfifo(tmp_path / name)
    path = netty(tmp_path)
    text = path.read_text().replace("[play]", key) if key.startswith("[play]") else path.read_text()
    option = f'options = {{ EvalFile = "{tmp_path / "x.nnue"}" }}'
    (tmp_path / "x.nnue").write_text("weights")
    path.write_text(text if key.startswith("[play]") else text.replace(option, key).replace("PIPE", f"{tmp_path}/PIPE"))
    told = tour(tmp_path, command, str(path), expect=code).stderr
    assert "expected a regular file" in told and told.count("\n") == 1
    assert not (tmp_path / "results").exists()


def test_a_configuration_may_come_through_a_pipe(tmp_path: Path) -> None:
    """The user named it; it is read once."""
    path = netty(tmp_path)
    (tmp_path / "x.nnue").write_text("weights")
    text = path.read_text()
    path.unlink()
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(text,))
    writer.start()
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    writer.join()
    assert audit(tmp_path) == 1


def test_a_changed_net_under_the_same_option_stops_a_resume(tmp_path: Path) -> None:
    """Its content counts: another is refused with what to type, the old one goes on, an accepted one is a version."""
    (tmp_path / "x.nnue").write_text("weights")
    path = netty(tmp_path)
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    before = (tmp_path / "results" / "enginetour.db").read_bytes()
    (tmp_path / "x.nnue").write_text("others")
    assert STOPS in tour(tmp_path, "run", str(path), expect=3).stderr
    assert (tmp_path / "results" / "enginetour.db").read_bytes() == before
    (tmp_path / "x.nnue").write_text("weights")
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    (tmp_path / "x.nnue").write_text("others")
    tour(tmp_path, "run", str(path), "--accept-change")
    assert audit(tmp_path) == 3
    connection = sqlite3.connect(tmp_path / "results" / "enginetour.db")
    played = "SELECT count(*) FROM games JOIN engines ON engines.id IN (white_engine, black_engine)"
    by_version = f"{played} WHERE engines.name = 'Netty' GROUP BY fingerprint ORDER BY engines.id"
    assert connection.execute(by_version).fetchall() == [(2,), (1,)]
    connection.close()


def test_an_option_and_a_program_that_changed_stop_a_resume_too(tmp_path: Path) -> None:
    """Another file under the option, another script under the command."""
    for name in ("x.nnue", "y.nnue"):
        (tmp_path / name).write_text("weights")
    path = netty(tmp_path)
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    netty(tmp_path, "y.nnue")
    assert STOPS in tour(tmp_path, "run", str(path), expect=3).stderr
    netty(tmp_path)
    (tmp_path / "netty.py").write_text(WITH_NET + "# another\n")
    assert STOPS in tour(tmp_path, "run", str(path), expect=3).stderr


ODD = (
    ("A", (("Hash", "1"), ("Log", "x"))),
    ("A", (("Hash", "1\nLog"), ("x", ""))),
    ("A", (("Hash", "1,Log"), ("x", ""))),
    ("A", (('Hash","1"],["Log', "x"),)),
    ("A", (("Hash", "1 name Log value x"),)),
    ("A", (("hash", "1"), ("Log", "x"))),
    ("a", (("Hash", "1"), ("Log", "x"))),
    ("A ", (("Hash", "1"), ("Log", "x"))),
    ("Ä", (("Hash", "1"),)),  # composed
    ("A\u0308", (("Hash", "1"),)),  # the same to the eye
    ("A|Hash=1", ()),
    ("A", ()),
)


def test_names_and_options_never_collide_in_the_store(tmp_path: Path) -> None:
    """Whatever separates them in anybody's notation: each is an engine version of its own, and one again the same."""
    from enginetour.model.game import Entrant
    from enginetour.model.task import EngineSpec
    from enginetour.store.engines import engine_version

    specs = [EngineSpec(name, ("/opt/x",), "uci", options=options, fingerprint="f") for name, options in ODD]
    with Database.open(tmp_path / "t.db") as database:
        for _ in range(2):
            with database.writing() as connection:
                rows = [engine_version(connection, spec, Entrant(spec.name)) for spec in specs]
            assert len(set(rows)) == len(ODD)
    with Store.open(tmp_path / "t.db", create=False) as store:
        assert store.tournaments() == []
