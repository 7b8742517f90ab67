"""Disks that fill, that cannot be written, and processes with few descriptors: one line, the right code, no loss."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from enginetour.tournament.setbacks import GAME_BYTES, MIN_FREE
from tests.forked import Forked, quick, scripted
from tests.touring import LONG_S, audit, config, entrant, pgn_games, tour

# In user and mount namespaces of their own these need no rights; they last until end of file.
SMALL = "mount -t tmpfs -o size=4m none results"
READ_ONLY = "mount --bind results results && mount -o remount,bind,ro results"
# The command line; a disk that was nearly full is looked at again soon.
WATCHFUL = """\
from enginetour.cli import main as cli
from enginetour.tournament import setbacks

setbacks.LOOK_S = 0.1
cli.main()
"""
# Plays at once; each game's first search waits until it is told to, but where there is a file `free`.
GATED = """\
import os, sys
moves, plies = ["g1f3", "g8f6", "f3g1", "f6g8"], 0
for line in sys.stdin:
    words = line.split()
    if words[0] == "position":
        plies = len(words[words.index("moves") + 1:]) if "moves" in words else 0
    if words[0] == "go":
        if plies < 2 and not os.path.exists({here!r} + "/free"):
            open({here!r} + "/begun", "w").close()
            open({here!r} + "/gate").read()
        print("bestmove", moves[plies % 4], flush=True)
    print({{"uci": "uciok", "isready": "readyok"}}.get(words[0], ""), flush=True)
"""


class Mounted:
    """Another disk on the results folder of a workspace, seen only by what runs there."""

    def __init__(self, folder: Path, holder: subprocess.Popen[bytes]) -> None:
        self.folder = folder
        self.holder = holder
        self.results = Path(f"/proc/{holder.pid}/root{folder}/results")

    @contextmanager
    def running(self, *words: str) -> Iterator[subprocess.Popen[str]]:
        """The command line, but for how soon a disk is looked at again; killed if the test fails."""
        enter = ["nsenter", f"--target={self.holder.pid}", "--user", "--preserve-credentials", "--mount"]
        command = [*enter, f"--wd={self.folder}", sys.executable, "-u", "-c", WATCHFUL, *words]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                yield process
            finally:
                process.kill()

    def run(self, *words: str, expect: int = 0) -> tuple[str, str]:
        """The same to its end; stdout and stderr."""
        with self.running(*words) as process:
            out, err = process.communicate(timeout=LONG_S)
        assert process.returncode == expect, err
        assert "Traceback" not in err
        return out, err

    def leave(self, left: int) -> None:
        """Fill it but for so many bytes, or make that room; anew if somebody writes to it in this moment."""
        with (self.results / "ballast").open("ab") as sink:
            while not self._leaves(sink.fileno(), left):
                pass

    def _leaves(self, ballast: int, left: int) -> bool:
        held = os.fstat(ballast).st_size
        found = os.fstatvfs(ballast)
        wanted = held + found.f_bavail * found.f_frsize - left
        try:
            if wanted < held:
                os.ftruncate(ballast, wanted)
            elif wanted:
                os.posix_fallocate(ballast, 0, wanted)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            return False
        return True


@contextmanager
def mounted(folder: Path, how: str) -> Iterator[Mounted]:
    """Skips where this machine allows no namespaces."""
    call = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", f"{how} && echo mounted && exec cat"]
    with subprocess.Popen(call, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        if holder.stdout.readline() != b"mounted\n":
            pytest.skip("no user and mount namespaces on this machine")
        yield Mounted(folder, holder)
        holder.stdin.close()


def until(lines: Iterator[str], words: str) -> None:
    """Read on to a line with these words."""
    assert any(words in line for line in lines), f"not told: {words}"


def gated(folder: Path) -> Path:
    """Four games between an engine that can be held up and one that cannot."""
    (folder / "gated.py").write_text(GATED.format(here=str(folder)))
    for name in ("begun", "gate"):
        os.mkfifo(folder / name)
    entrants = entrant("Gate", [sys.executable, "-S", str(folder / "gated.py")])
    settings = "cycles = 2\ngames_per_pairing = 2"
    more = entrants + scripted("Ada", "uci")
    path = config(folder, (), "roundrobin", settings, more, tc="600")
    path.write_text(path.read_text().replace("[play]", "[play]\nopenings = { plies = 0 }"))
    return path


def test_a_disk_that_fills(workspace: Path) -> None:
    """Low: one line, and no game begins until there is room; full in a commit: 7 and one line; with room it goes on.

    Every announced game is there, and in the end PGN and log hold them all.
    """
    path = gated(workspace)
    with mounted(workspace, SMALL) as disk:
        disk.leave(MIN_FREE + GAME_BYTES // 2)
        with disk.running("run", str(path)) as run:
            assert run.stdout is not None
            assert run.stderr is not None
            until(run.stderr, "no new games until the disk has room again")
            disk.leave(MIN_FREE + 3 * GAME_BYTES)
            (workspace / "begun").read_text()
            (workspace / "gate").write_text("")
            until(run.stdout, "Finished game 1 ")
            (workspace / "begun").read_text()  # the second is in the air
            disk.leave(0)
            (workspace / "gate").write_text("")
            out, err = run.communicate(timeout=LONG_S)
        assert run.returncode == 7
        assert "Finished game" not in out
        *others, last = err.splitlines()
        assert last.endswith("enginetour.db: the disk is full; make room and run again")
        assert not [line for line in others if line.startswith("enginetour:")]
        (workspace / "free").touch()
        disk.leave(2 << 20)
        out, err = disk.run("run", str(path))
        assert "continuing after 1 of 4 games" in err
        assert [line.split(" (")[0] for line in out.splitlines() if line.startswith("Finished game")] == [
            f"Finished game {number}" for number in (2, 3, 4)
        ]
        assert disk.run("export", "pgn")[0] == (disk.results / "trial.pgn").read_text()
        assert disk.run("db", "check")[0].startswith("sound: ")


def test_a_read_only_disk(workspace: Path) -> None:
    """A new and a known tournament: 7 in one line before any engine starts; what only reads still does."""
    path = gated(workspace)
    with mounted(workspace, READ_ONLY) as disk:
        _, err = disk.run("run", str(path), expect=7)
        assert err.count("\n") == 1
    (workspace / "free").touch()
    tour(workspace, "run", str(path), "--max-games", "1", expect=8)
    (workspace / "free").unlink()
    with mounted(workspace, READ_ONLY) as disk:
        _, err = disk.run("run", str(path), expect=7)
        assert err.count("\n") == 1
        assert disk.run("standings")[0]
    assert audit(workspace) == 1


def limited(kind: int, most: int) -> None:
    """This process and what it starts."""
    resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))


def test_a_file_that_may_not_grow(workspace: Path) -> None:
    """A limit on the size of files ends the run with 7 in one line; without it the same command plays the rest."""
    path = quick(workspace, system="roundrobin", settings="cycles = 3\ngames_per_pairing = 2")
    limit = partial(limited, resource.RLIMIT_FSIZE, 300_000)
    code, said, told = Forked(workspace, ["run", str(path)], workspace / "errors", limit).ended()
    assert code == 7
    assert told.splitlines()[-1].startswith("enginetour: ")
    assert "cannot be read or written" in told.splitlines()[-1]
    games = said.count("Finished game")
    assert 0 < games < 36
    assert audit(workspace) == games
    code, said, _ = Forked(workspace, ["run", str(path)], workspace / "errors").ended()
    assert code == 0
    assert games + said.count("Finished game") == audit(workspace) == 36
    assert pgn_games(workspace / "results" / "trial.pgn") == 36


def test_sixty_four_descriptors(workspace: Path) -> None:
    """They suffice for two games at once."""
    path = quick(workspace, system="roundrobin", settings="cycles = 1\ngames_per_pairing = 2")
    words = ["run", str(path), "--slots", "2", "--force"]
    limit = partial(limited, resource.RLIMIT_NOFILE, 64)
    code, said, told = Forked(workspace, words, workspace / "errors", limit).ended()
    assert code == 0, told
    assert said.count("Finished game") == audit(workspace) == 12


@pytest.mark.parametrize("most", [12, 14, 16, 39])
def test_too_few_descriptors(workspace: Path, most: int) -> None:
    """One line before game 1, and the same command with enough of them plays."""
    path = quick(workspace, system="roundrobin", settings="cycles = 1")
    words = ["run", str(path), "--slots", "2", "--force"]
    limit = partial(limited, resource.RLIMIT_NOFILE, most)
    code, said, told = Forked(workspace, words, workspace / "errors", limit).ended()
    assert (code, said) == (2, "")
    assert told == f"enginetour: ulimit -n: {most} open files are too few, 2 slots need 40; say ulimit -n 1024\n"
    assert list((workspace / "results").iterdir()) == []
    code, _, told = Forked(workspace, words, workspace / "errors", partial(limited, resource.RLIMIT_NOFILE, 40)).ended()
    assert code == 0, told
    assert audit(workspace) == 6
