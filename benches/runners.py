"""Play the same match with several runners: enginetour, and other programs named by environment variables.

The time margin is 0, without adjudication, and every game begins from the start position. All runners write a PGN file.
enginetour also writes a database, but no report; its modules are compiled before, as in an installation.
"""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import enginetour
from tests.support.tournaments import entrant

OURS = "enginetour"
PEERS = {"fastchess": "FASTCHESS", "cutechess-cli": "CUTECHESS"}
CONFIG = """\
[tournament]
name = "bout"
[format]
system = "roundrobin"
games_per_pairing = {games}
[play]
tc = "{limit}"
concurrency = {slots}
timemargin = 0
doubtful_flag = "loss"
openings = {{ plies = 0 }}
[report]
write = false
"""
_PLIES = re.compile(r'^\[PlyCount "(\d+)"\]', re.MULTILINE)
_FORFEIT = re.compile(r'^\[Termination "time forfeit"\]', re.MULTILINE)


@dataclass(frozen=True)
class Bout:
    """A match: two engines by name and command, a clock or nodes=N, an even number of games, and concurrent games."""

    engines: tuple[tuple[str, list[str]], tuple[str, list[str]]]
    limit: str
    games: int
    slots: int = 1


@dataclass(frozen=True)
class Played:
    """Cost of a match: CLOCK_MONOTONIC in ns at its start and end, CPU seconds of runner and engines, and its PGN."""

    begun: int
    ended: int
    cpu: float
    pgn: str

    @property
    def seconds(self) -> float:
        """Wall time, including start and end of the program."""
        return (self.ended - self.begun) / 1e9

    @property
    def plies(self) -> int:
        """Number of plies, from the tags of the games."""
        return sum(map(int, _PLIES.findall(self.pgn)))

    @property
    def forfeits(self) -> int:
        """Number of games lost on time."""
        return len(_FORFEIT.findall(self.pgn))


Runner = Callable[[Bout, Path], Played]
"""Plays a match; the directory for all its files must not exist."""


def present() -> dict[str, Runner]:
    """Return the available runners: enginetour first, then the other programs named by the environment."""
    named = {name: os.environ.get(variable, "") for name, variable in PEERS.items()}
    return {OURS: ours, **{name: peer(name, binary) for name, binary in named.items() if binary}}


def missing_peers() -> str:
    """Return a note with the environment variables of missing runners; "" if there are none."""
    missing = [f"{variable}=/path/to/{name}" for name, variable in PEERS.items() if not os.environ.get(variable)]
    return f"no ratio to other runners: set {' or '.join(missing)}" if missing else ""


def ours(bout: Bout, folder: Path) -> Played:
    """Play a match with enginetour on the command line, in a new workspace."""
    return _played(_prepared(bout, folder), folder, folder / "results" / "bout.pgn", compiled())


@contextmanager
def playing(bout: Bout, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Play a match with enginetour inside the block, in a new workspace; its output is in the file `output`."""
    words = _prepared(bout, folder)
    with (folder / "output").open("wb") as output:
        run = subprocess.Popen(words, cwd=folder, env=compiled(), stdout=output, stderr=output, start_new_session=True)
        try:
            yield run
        finally:
            run.send_signal(signal.SIGTERM)
            run.wait()


def _prepared(bout: Bout, folder: Path) -> list[str]:
    """Write the configuration of a match into a new workspace, and return the command that plays it there."""
    (folder / "results").mkdir(parents=True)
    config = CONFIG.format(games=bout.games, limit=bout.limit, slots=bout.slots)
    entrants = (entrant(name, command) for name, command in bout.engines)
    (folder / "bout.toml").write_text(config + "".join(entrants), "utf-8")
    return [sys.executable, "-m", "enginetour", "run", "bout.toml", "--force"]


def peer(name: str, binary: str) -> Runner:
    """Make a runner for fastchess or cutechess-cli, which have most options in common."""
    fast = name == "fastchess"

    def run(bout: Bout, folder: Path) -> Played:
        folder.mkdir(parents=True)
        words = [binary]
        for engine, (first, *rest) in bout.engines:
            arguments = [f"args={' '.join(rest)}"] if fast else [f"arg={word}" for word in rest]
            words += ["-engine", f"name={engine}", f"cmd={first}", *(arguments if rest else ())]
        clock = [f"tc={bout.limit}"] if "=" not in bout.limit else [*(() if fast else ("tc=inf",)), bout.limit]
        words += ["-each", "proto=uci", *clock, "timemargin=0", "-rounds", str(bout.games // 2), "-games", "2"]
        words += ["-repeat", "-concurrency", str(bout.slots), *(("-force-concurrency",) if fast else ())]
        words += ["-recover", "-pgnout", "file=bout.pgn" if fast else "bout.pgn"]
        return _played(words, folder, folder / "bout.pgn")

    return run


@cache
def compiled() -> dict[str, str]:
    """Compile the modules; return an environment in which Python writes compiled modules."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(
        [sys.executable, "-m", "compileall", "-q", str(Path(enginetour.__file__).parent)], env=env, check=True
    )
    return env


def _played(words: list[str], folder: Path, pgn: Path, env: Mapping[str, str] | None = None) -> Played:
    before, begun = cpu(), time.monotonic_ns()
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False)
    ended = time.monotonic_ns()
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return Played(begun, ended, cpu() - before, pgn.read_text("utf-8"))


def cpu() -> float:
    """Return the CPU seconds of this process and of its ended child processes."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)
