"""A run whose words nobody reads, and one whose database another program holds: games go on, signals are heeded."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import sqlite3
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from enginetour.cli import output
from enginetour.store.database import Database
from tests.forked import Forked, quick
from tests.test_signals import stubborn
from tests.touring import BUSY_S, audit, default_signals

SMALLEST_PIPE = 4096  # bytes, fcntl(2)
QUIET_S = 0.5  # many games long
# The command line; who is not in a hurry waits for a reader longer than `BUSY_S`.
PATIENT = """\
from enginetour.cli.main import main
from enginetour.cli import output as outlet
outlet.LAST_WORDS_S = 600.0
main()
"""


def robin(folder: Path) -> Path:
    return quick(folder, system="roundrobin", settings="games_per_pairing = 2")


def full_from_the_start() -> None:
    """In the new process: there is no room for a word, and its end waits for no reader."""
    os.write(1, b"\n" * fcntl.fcntl(1, fcntl.F_GETPIPE_SZ))
    output.LAST_WORDS_S = 0.1


def test_a_pipe_nobody_reads_holds_up_no_game(workspace: Path) -> None:
    """All games are played and stored, and the run ends by itself, with 0."""
    run = Forked(workspace, ["run", str(robin(workspace))], workspace / "errors", full_from_the_start)
    assert run.wait(60.0) == 0
    assert audit(workspace) == 12
    assert run.stdout is not None
    run.stdout.close()


def test_a_stopped_terminal_holds_up_neither_games_nor_sigterm(workspace: Path) -> None:
    """Ctrl-S before the first word: the first game begins all the same, and SIGTERM ends it in time."""
    path = stubborn(workspace)
    ours, theirs = os.openpty()
    termios.tcflow(theirs, termios.TCOOFF)
    command = [sys.executable, "-c", PATIENT, "run", str(path)]
    environment = os.environ | {"TERM": "xterm"}
    with subprocess.Popen(
        command, cwd=workspace, stdout=theirs, stderr=theirs, env=environment, preexec_fn=default_signals
    ) as run:
        (workspace / "thinks").read_text()  # until the engine has begun its search
        begun = time.monotonic()
        run.send_signal(signal.SIGTERM)
        assert run.wait(60.0) == 143
        assert time.monotonic() - begun < 5.0 + BUSY_S
    os.close(ours)
    os.close(theirs)


def test_a_held_database_does_not_hold_up_sigterm(workspace: Path) -> None:
    """Another program has it, a finished game waits for it: out in time, 143; later the rest is played."""
    path = robin(workspace)
    run = Forked(workspace, ["run", str(path)], workspace / "errors")
    run.first_game()
    other = sqlite3.connect(workspace / "results" / "enginetour.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert run.stdout is not None
    while select.select([run.stdout], [], [], QUIET_S)[0]:
        assert run.stdout.read(4096)
    begun = time.monotonic()
    run.send(signal.SIGTERM)
    code, _, told = run.ended()
    assert time.monotonic() - begun < 5.0 + BUSY_S
    assert code == 143
    assert f"enginetour run {path} goes on" in told
    other.execute("ROLLBACK")
    other.close()
    assert Forked(workspace, ["run", str(path)], workspace / "errors").ended()[0] == 0
    assert audit(workspace) == 12


class Enough(Exception):
    """Somebody is in a hurry."""


def test_a_wait_for_a_held_file_is_heeded(tmp_path: Path) -> None:
    """However long the patience: several looks a second, and what one raises ends the wait with nothing written."""
    looks: list[float] = []

    def heed() -> None:
        looks.append(time.monotonic())
        if len(looks) == 3:
            raise Enough

    with Database.open(tmp_path / "t.db", heed=heed) as database:
        other = sqlite3.connect(tmp_path / "t.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Enough), database.writing(patience=60.0):
            raise AssertionError("two writers at once")
        other.close()
        with database.writing() as connection:
            connection.exec_driver_sql("PRAGMA user_version")
    assert len(looks) == 3


def test_what_nobody_reads_is_bounded_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words beyond the room are lost, whole lines of them; the reader who comes back is told how many."""
    monkeypatch.setattr(output, "KEPT_BYTES", 1000)
    monkeypatch.setattr(output, "LAST_WORDS_S", 0.0)
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, SMALLEST_PIPE)
    out = output.Outlet(writing)
    line = b"x" * 99 + b"\n"
    for _ in range(200):
        out.write(line)
    out.drain(lambda: True)
    said = b""
    while out.waits():
        said += os.read(reading, 1 << 16)
    out.write(b"back\n")
    while not said.endswith(b"back\n"):
        said += os.read(reading, 1 << 16)
    *lines, told, last = said.splitlines()
    assert last == b"back"
    assert told == b"... %d lines nobody read are left out" % (200 - len(lines))
    assert set(lines) == {line.rstrip()}
    os.close(reading)
    os.close(writing)
