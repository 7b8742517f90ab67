"""The command line in processes forked from one that has loaded everything, and tournaments that cost little.

An interpreter of its own for each run would take most of a test's time; nothing else tells these runs from typed ones.
"""

from __future__ import annotations

import io
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO
from unittest import mock

from tests.lives import temporary
from tests.playing import SCRIPT
from tests.touring import BUBBLE, LONG_S, config, default_signals, entrant

FIELD = (("Ada", "uci"), ("Bea", "cecp"), ("Cid", "uci"), ("Dot", "cecp"))
# Two draws by shuffling, and two games that whoever misses a knight loses by an illegal move.
SUITE = """\
rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq -
rnbqkbnr/ppp1pppp/8/3p4/3P4/8/PPP1PPPP/RNBQKB1R w KQkq -
rnbqkb1r/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq -
rnbqkbnr/ppp1pppp/8/3p4/3P4/8/PPP1PPPP/RNBQKBNR w KQkq -
"""
FORKS = multiprocessing.get_context("forkserver")
DASK = ["distributed.cli.dask_scheduler", "distributed.cli.dask_worker", "enginetour.tournament.cluster.place"]
FORKS.set_forkserver_preload(["enginetour.cli.run", "enginetour.cli.run", "networkx", "tests.forked", *DASK])


class Forked:
    """`enginetour` as `subprocess` would show it; `before` is called in the new process first."""

    def __init__(self, folder: Path, words: list[str], errors: Path, before: Callable[[], object] = int) -> None:
        ours, theirs = FORKS.Pipe(duplex=False)
        self.process = FORKS.Process(target=live, args=(folder, words, errors, theirs, before))
        self.process.start()
        theirs.close()
        assert self.process.pid is not None
        self.pid = self.process.pid
        self.errors = errors
        self.stdout: IO[bytes] | None = io.FileIO(os.dup(ours.fileno()))
        ours.close()

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, negative for a signal."""
        self.process.join(timeout)
        code = self.process.exitcode
        assert code is not None, "it does not end"
        self.process.close()
        return code

    def send(self, number: signal.Signals) -> None:
        """A signal to it alone."""
        os.kill(self.pid, number)

    def first_game(self) -> bytes:
        """What it says up to its first finished game."""
        assert self.stdout is not None
        said = b""
        while b"Finished game" not in said:
            chunk = self.stdout.read(4096)
            assert chunk, self.errors.read_text()
            said += chunk
        return said

    def ended(self) -> tuple[int, str, str]:
        """Exit code as a shell sees it, all it still says, its stderr."""
        assert self.stdout is not None
        said = self.stdout.read().decode()
        self.stdout.close()
        code = self.wait(LONG_S)
        told = self.errors.read_text()
        assert "Traceback" not in told, told
        assert "our own failure" not in told, told
        return (128 - code if code < 0 else code), said, told


def live(folder: Path, words: list[str], errors: Path, out: Connection, before: Callable[[], object]) -> None:
    """The new process: a session of its own, the folder, the streams, then the command line."""
    from enginetour.cli.main import main

    with suppress(PermissionError):  # it leads its session already
        os.setsid()
    default_signals()
    os.dup2(out.fileno(), 1)
    with errors.open("wb") as sink:
        os.dup2(sink.fileno(), 2)
    out.close()
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(io.FileIO(number, "w"), "utf-8", write_through=True) for number in (1, 2)
    )
    os.environ["TMPDIR"] = str(temporary(folder))
    os.chdir(folder)
    before()
    with mock.patch.object(sys, "argv", ["enginetour", *words]):
        main()


def scripted(name: str, protocol: str, *more: str) -> str:
    """An entrant that shuffles its knights, as text of a configuration."""
    words = [sys.executable, "-I", "-S", SCRIPT, "--protocol", protocol, *more]
    return entrant(name, words, protocol)


def quick(folder: Path, name: str = "trial", system: str = "bubble", settings: str = BUBBLE, more: str = "") -> Path:
    """A configuration between four scripted engines of both protocols; their games take milliseconds."""
    entrants = "".join(scripted(*who) for who in FIELD)
    path = config(folder, (), system, settings, entrants + more, name=name, tc="60+1")
    path.write_text(path.read_text().replace("[play]", '[play]\nopenings = { file = "suite.epd" }'))
    (folder / "suite.epd").write_text(SUITE)
    return path
