"""The same match of two free engines through several runners: relay gap and own CPU, start-up taken out.

*Relay gap*: from one engine's answer to the other's receipt of `go`, stamped by the engines. *Own CPU*: all processes
of the runner without the engines'; the difference of a long and a short match, by ply.
"""

from __future__ import annotations

import os
import resource
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from tests.bench import free
from tests.bench.measure import Settings, line

SHORTEST = 2  # games of the match that is taken out: both colours
TC = "60+1"  # a clock that free engines never use up
PEERS = {"fastchess": "FASTCHESS", "cutechess-cli": "CUTECHESS"}
CONFIG = """\
[tournament]
name = "free"
[format]
system = "roundrobin"
games_per_pairing = {games}
[play]
tc = "{tc}"
openings = {{ plies = 0 }}
"""
ENTRANT = """
[[entrants]]
name = "{name}"
protocol = "uci"
dir = "scratch"
command = {command}
"""

Match = Callable[[tuple[str, ...], Path, int], None]
"""Play so many games between two engines of that program; their stamps go into the folder."""


def matches(settings: Settings, program: tuple[str, ...]) -> Iterator[str]:
    """Ours and every peer against the barest loop, and ours against each peer."""
    runners: dict[str, Match] = {"bare": bare, "enginetour": ours}
    silent = []
    for name, variable in PEERS.items():
        binary = os.environ.get(variable)
        if binary:
            runners[name] = peer(name, binary)
        else:
            silent.append(f"{variable}=/path/to/{name}")
    gaps: dict[str, list[float]] = {name: [] for name in runners}
    shares: dict[str, list[float]] = {name: [] for name in runners}
    for number in range(settings.rounds):
        for name, match in runners.items():
            folder = settings.folder / f"{name}-{number}"
            gap, share = _measured(match, program, folder, settings.match)
            gaps[name].append(gap)
            shares[name].append(share)
    for other in ("bare", *(name for name in runners if name in PEERS)):
        what = "a bare loop in Python" if other == "bare" else other
        yield line(f"relay gap, free engine, {settings.match} games", gaps["enginetour"], gaps[other], what)
        yield line("own CPU a ply, database and PGN included", shares["enginetour"], shares[other], what)
    if silent:
        yield f"no ratio to other runners: set {' or '.join(silent)}"


def _measured(match: Match, program: tuple[str, ...], folder: Path, games: int) -> tuple[float, float]:
    """Median relay gap of the long match, and own CPU of a ply."""
    spent = []
    for count in (SHORTEST, games):
        stamps = folder / str(count)
        stamps.mkdir(parents=True)
        before = _cpu()
        match(program, stamps, count)
        spent.append((_cpu() - before - free.cpu_spent(stamps), free.plies(stamps)))
        expected = count * len(free.GAME.read_text().split())
        if spent[-1][1] != expected:
            raise SystemExit(f"{folder.name}: {spent[-1][1]} plies were played, not {expected}; see {stamps}")
    (short, few), (long, many) = spent
    return median(free.relay_gaps(folder / str(games))), (long - short) / (many - few)


def _cpu() -> float:
    """Seconds of CPU of this process and of all that ended below it."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def ours(program: tuple[str, ...], stamps: Path, games: int) -> None:
    """Through the command line, in a workspace of its own."""
    workspace = stamps / "workspace"
    (workspace / "results").mkdir(parents=True)
    path = workspace / "free.toml"
    engine = str(free.command(program, stamps)).replace("'", '"')
    entrants = "".join(ENTRANT.format(name=name, command=engine) for name in free.NAMES)
    path.write_text(CONFIG.format(games=games, tc=TC) + entrants, "utf-8")
    _run([sys.executable, "-m", "enginetour", "run", "free.toml"], workspace)


def peer(name: str, binary: str) -> Match:
    """A runner with the command line that fastchess and cutechess-cli share, but for arguments of engines."""

    def match(program: tuple[str, ...], stamps: Path, games: int) -> None:
        first, *rest = free.command(program, stamps)
        arguments = [f"args={' '.join(rest)}"] if name == "fastchess" else [f"arg={word}" for word in rest]
        words = [binary]
        for engine in free.NAMES:
            words += ["-engine", f"name={engine}", f"cmd={first}", *arguments]
        words += ["-each", "proto=uci", f"tc={TC}", "-rounds", str(games // 2), "-games", "2"]
        words += ["-concurrency", "1", "-pgnout", "file=free.pgn" if name == "fastchess" else "free.pgn"]
        _run(words, stamps)

    return match


def _run(words: list[str], folder: Path) -> None:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: exit {done.returncode}\n{done.stdout}{done.stderr}")


def bare(program: tuple[str, ...], stamps: Path, games: int) -> None:
    """Relays moves, and nothing else: no rules, clocks, log or store."""
    words = free.command(program, stamps)
    both = [subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) for _ in free.NAMES]
    pipes = []
    for engine in both:
        assert engine.stdin is not None
        assert engine.stdout is not None
        pipes.append((engine.stdin.fileno(), engine.stdout.fileno()))
    poll = select.poll()
    for _, out in pipes:
        poll.register(out, select.POLLIN)
    for into, out in pipes:
        os.write(into, b"uci\nisready\n")
        _read_until(poll, out, b"readyok")
    plies = len(free.GAME.read_text().split())
    for _ in range(games):
        position = b"position startpos moves"
        for ply in range(plies):
            into, out = pipes[ply % 2]
            os.write(into, position + b"\ngo wtime 60000 btime 60000 winc 1000 binc 1000\n")
            position += b" " + _read_until(poll, out, b"bestmove").partition(b"bestmove ")[2].split()[0]
    for engine in both:
        engine.communicate(b"quit\n")


def _read_until(poll: select.poll, fd: int, word: bytes) -> bytes:
    """What was said up to the end of the line with that word."""
    held = b""
    while word not in held or not held.endswith(b"\n"):
        poll.poll()
        held += os.read(fd, 65536)
    return held
