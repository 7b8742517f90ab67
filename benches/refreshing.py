"""`python -m benches refresh`: games per second of a match while its forecast is refreshed.

A match of Stockfish against itself at nodes=1 is played by `enginetour run`, which starts a process for each forecast.
Games that ended while such a process was there are compared with those of the 15 s before and after it. A run spends
at most 0.5 % of one processor on forecasts; their cost is the part of all games that they prevented.
"""

from __future__ import annotations

import argparse
import sqlite3
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

from benches.measure import alone
from benches.realgames import QUICK, path_of
from benches.runners import Bout, playing
from enginetour.tournament.forecasting import FIRST_CPU_S, REST

GAMES = 19_998  # of the match, which is stopped before; a run with more games has no forecasts
NEAR_S = 15.0  # seconds before and after a forecast
LOOK_S = 0.1  # until a forecast begins; reading all processes takes some milliseconds
SAMPLE_S = 0.02  # until it ends
Span = tuple[float, float]  # seconds since 1970


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the benchmark."""
    parser.add_argument("--forecasts", type=int, default=6, help="number of forecasts (default %(default)s)")
    parser.add_argument("--slots", type=int, nargs="+", default=(1, 2), help="concurrent games (default 1 2)")


def measured(given: argparse.Namespace, folder: Path) -> Iterator[str]:
    """Play a match for each number of slots and yield the results as lines."""
    for number, slots in enumerate(given.slots):
        yield from _match(folder / str(number), slots, given.forecasts)


def _match(folder: Path, slots: int, count: int) -> Iterator[str]:
    """Play a match until it has refreshed its forecast `count` times, and yield the results as lines."""
    one, other = ((name, [path_of(program)]) for name, program in zip("AB", QUICK, strict=True))
    with playing(Bout((one, other), "nodes=1", GAMES, slots), folder) as run:
        begun = time.time()
        spans, cpu = zip(*(_forecast(run) for _ in range(count)), strict=True)
        time.sleep(NEAR_S)
    with closing(sqlite3.connect(folder / "results" / "enginetour.db")) as database:
        ends = [ended for (ended,) in database.execute("SELECT ended_unix FROM games")]
    seconds = spans[-1][1] + NEAR_S - begun
    usual, during = [], []
    for begins, ended in spans:
        usual.append((_rate(ends, begins - NEAR_S, begins) + _rate(ends, ended, ended + NEAR_S)) / 2)
        during.append(_rate(ends, begins, ended))
    lengths = [ended - begins for begins, ended in spans]
    prevented = sum((1 - mine / base) * length for mine, base, length in zip(during, usual, lengths, strict=True))
    yield f"stockfish at nodes=1, {slots} slot{'s' * (slots > 1)}, {count} forecasts in {seconds:.0f} s"
    yield alone("  games before and after forecasts", usual, show="{:.1f}/s".format)
    yield alone("  games during forecasts", during, show="{:.1f}/s".format)
    ratios = [mine / base for mine, base in zip(during, usual, strict=True)]
    yield alone("  games during, relative to before and after", ratios, show="{:.3f} x".format)
    yield alone("  length of a forecast", lengths)
    yield alone("  CPU of a forecast", cpu)
    yield f"  forecasts took {sum(lengths) / seconds:.2%} of the time, {sum(cpu) / seconds:.2%} of one processor"
    yield f"  games that they prevented: {prevented / seconds:.2%} of all"


def _forecast(run: subprocess.Popen[bytes]) -> tuple[Span, float]:
    """Wait for the next forecast of a run. Return its start and end, and its CPU seconds."""
    due = time.time() + 2 * REST * FIRST_CPU_S
    while not (pid := _forecaster(run.pid)):
        if run.poll() is not None or time.time() > due:
            raise SystemExit("the run has started no forecast")
        time.sleep(LOOK_S)
    begun, cpu = time.time(), 0.0
    while _words(pid):  # none after its end, also before the run has read its result
        with suppress(OSError):
            cpu = sum(int(path.read_text().split()[0]) for path in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9
        time.sleep(SAMPLE_S)
    return (begun, time.time()), cpu


def _forecaster(run: int) -> int:
    """Return the process that computes a forecast for a run, or 0."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parent = path.read_text().rpartition(")")[2].split()[1]  # proc(5): the name in parentheses, state, parent
            if parent == str(run) and b"forecast" in _words(pid := int(path.parent.name)):
                return pid
    return 0


def _words(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
    except OSError:
        return []


def _rate(ends: Sequence[float], begun: float, ended: float) -> float:
    return sum(begun <= end < ended for end in ends) / (ended - begun)
