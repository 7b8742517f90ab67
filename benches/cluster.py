"""`python -m benches cluster`: measure the manager of a run with a simulated cluster.

Scheduler, database (durable), PGN, log file, progress lines, live socket and executor are those of
`enginetour run --executor dask=...`. Engines, machines and Dask are simulated: games have realistic lengths and
records.
With `--mean 0` games take no time, so that the manager is always busy.

Measurements start after two mean lengths of a game and end when no game is left to start. CPU times are those of the
manager's process: of its loop by activity, and of the thread that receives games and moves from the cluster.
"""

from __future__ import annotations

import argparse
import math
import resource
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass, field
from functools import wraps
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

from benches.cluster_machines import Machinery
from benches.cluster_place import Simulated
from enginetour.cli.run import RunOptions
from enginetour.cli.session import Run
from enginetour.model.task import ProbeResult
from enginetour.store.address import Address, parse_address
from enginetour.store.log import TournamentLog
from enginetour.tournament import run as tournament
from enginetour.tournament.cluster import executor as cluster_executor
from enginetour.tournament.executor import probe_executor
from enginetour.tournament.plan import prepare
from enginetour.tournament.scheduler import Scheduler
from enginetour.tournament.watching import RunWatcher

PARTS: dict[str, tuple[type, str]] = {
    "record": (TournamentLog, "record_games"),
    "step": (Scheduler, "step"),
    "make task": (tournament.Session, "task"),
    "hand over": (cluster_executor.DaskExecutor, "submit"),
    "tell": (RunWatcher, "game"),
    "progress": (RunWatcher, "progress"),
}
SAMPLE_S = 0.5
ELO = (2400.0, 3400.0)  # Elo of the last and of the first entrant


@dataclass(frozen=True)
class Sample:
    """State of the run at one moment: seconds, bytes, counts."""

    at: float
    cpu: float
    loop: float
    receiving: float
    games: int
    events: int
    rss: int
    parts: dict[str, float]


@dataclass
class Meter:
    """CPU times of the parts of the manager's loop, without nested parts, and a sample of the run every half second."""

    parts: dict[str, tuple[type, str]]
    receiver: str  # name of the thread that receives results and live events
    events: Callable[[], int] = lambda: 0  # number of live events that were received
    games: int = 0
    spent: dict[str, float] = field(default_factory=dict)
    samples: list[Sample] = field(default_factory=list)
    _within: list[float] = field(default_factory=list)  # for each active part: the time of its nested parts

    @contextmanager
    def metering(self) -> Iterator[None]:
        """Measure all parts inside the block."""
        with ExitStack() as stack:
            for part, (kind, name) in self.parts.items():
                self.spent[part] = 0.0
                stack.enter_context(mock.patch.object(kind, name, self._metered(part, getattr(kind, name))))
            yield

    def _metered(self, part: str, act: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(act)
        def metered(*args: Any, **more: Any) -> Any:
            self._within.append(0.0)
            begun = time.thread_time()
            try:
                return act(*args, **more)
            finally:
                took = time.thread_time() - begun
                self.spent[part] += took - self._within.pop()
                if self._within:
                    self._within[-1] += took
                self.games += len(args[1]) if part == "record" else 0
                if part == "progress":
                    self._sample()

        return metered

    def _sample(self) -> None:
        now = time.monotonic()
        if self.samples and now - self.samples[-1].at < SAMPLE_S:
            return
        receiver = next(thread for thread in threading.enumerate() if thread.name == self.receiver)
        receiving = time.clock_gettime(time.pthread_getcpuclockid(receiver.ident or 0))
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        spent = time.process_time(), time.thread_time(), receiving
        self.samples.append(
            Sample(now, *spent, self.games, self.events(), pages * resource.getpagesize(), dict(self.spent))
        )

    def window(self, first: float, most: int) -> list[Sample] | None:
        """Return the samples from `first` on (CLOCK_MONOTONIC, s) until `most` games; None if fewer than two."""
        full = [one for one in self.samples if one.at >= first and one.games <= most]
        return full if len(full) > 1 else None

    def times(self, begin: Sample, end: Sample) -> Iterator[str]:
        """Yield the CPU time for each game between two samples: of the manager and of its parts."""
        games = end.games - begin.games
        share = (end.cpu - begin.cpu) / (end.at - begin.at)
        yield f"manager's CPU    {_each(begin.cpu, end.cpu, games)} ms a game, {share:.0%} of a core"
        for part in self.parts:
            yield f"  {part:<14} {_each(begin.parts[part], end.parts[part], games)}"
        parts = sum(end.parts[part] - begin.parts[part] for part in self.parts)
        yield f"  {'choose, loop':<14} {_each(parts, end.loop - begin.loop, games)}"
        yield f"  {self.receiver:<14} {_each(begin.receiving, end.receiving, games)}"
        rest = end.cpu - begin.cpu - (end.loop - begin.loop) - (end.receiving - begin.receiving)
        yield f"  {'other threads':<14} {_each(0.0, rest, games)}"


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the benchmark."""
    tournament_options(parser, slots=100, games=2_000)
    parser.add_argument("--machines", type=int, default=10, help="number of machines (default %(default)s)")
    parser.add_argument("--life", type=float, default=0.0, help="mean seconds until a machine fails, 0: never")
    parser.add_argument("--db", help="URL of a PostgreSQL server instead of a SQLite file")


def tournament_options(parser: argparse.ArgumentParser, *, slots: int, games: int) -> None:
    """Add the options of the tournament, with defaults for two of them."""
    parser.add_argument("--slots", type=int, default=slots, help="concurrent games (default %(default)s)")
    parser.add_argument("--mean", type=float, default=2.0, help="mean seconds of a game (default %(default)s)")
    parser.add_argument("--games", type=int, default=games, help="games to play (default %(default)s)")
    parser.add_argument(
        "--system", default="gauntlet", help="gauntlet, roundrobin, bubble or swiss (default %(default)s)"
    )
    parser.add_argument("--entrants", type=int, default=100, help="number of entrants (default %(default)s)")


def measured(given: argparse.Namespace, folder: Path) -> Iterator[str]:
    """Play the tournament and yield the results as lines."""
    path, elo = configured(given, folder)
    seats = math.ceil(given.slots / given.machines)
    machinery = Machinery(given.machines, seats, given.mean, given.life, elo)
    built: list[Simulated] = []

    def connection(_address: str, _run: str, heard: Any) -> Simulated:
        built.append(Simulated(machinery, heard))
        return built[-1]

    meter = Meter(PARTS, "cluster", lambda: sum(one.events for one in built))
    db: Address | None = parse_address(given.db) if given.db else None
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(cluster_executor, "Connection", connection))
        stack.enter_context(mock.patch.object(tournament, "probe_all", probed))
        output = stack.enter_context((folder / "output.txt").open("w"))
        stack.enter_context(redirect_stdout(output))
        stack.enter_context(meter.metering())
        executor = stack.enter_context(probe_executor())
        options = RunOptions(given.slots, given.games, cluster="dask=tcp://127.0.0.1:1")
        Run(prepare(path, db), db, executor, {}, options).go()
    yield from _results(given, meter, built[0])


def probed(sides: dict[str, Any], *_: object, **_named: object) -> dict[str, ProbeResult]:
    return {name: ProbeResult(name) for name in sides}


def configured(given: argparse.Namespace, folder: Path) -> tuple[Path, dict[str, float]]:
    """Write a configuration with more games than will be played, and engines that are never started."""
    count, games = given.entrants, given.games + 4 * given.slots
    best, last = ELO[1], ELO[0]
    elo = {f"Engine {n:04}": best - (best - last) * n / max(1, count - 1) for n in range(count)}
    sizes = {
        "gauntlet": f"cycles = {math.ceil(games / 2 / (count - 1))}",
        "roundrobin": f"cycles = {math.ceil(games / (count * (count - 1)))}",
        "bubble": f"size = {min(count, 64)}\nmin_matches = {count}\nunpark_threshold = {min(count, 64) // 2}",
        "swiss": f"rounds = {min(count - 1, math.ceil(games / count))}",
    }
    entrants = "\n".join(
        f'[[entrants]]\nname = "{name}"\ncommand = ["/bin/true"]\nprotocol = "uci"\nrating = {rating:.0f}'
        for name, rating in elo.items()
    )
    path = folder / "cluster.toml"
    path.write_text(
        f'[tournament]\nname = "cluster"\nseed = 1\n[format]\nsystem = "{given.system}"\n{sizes[given.system]}\n'
        f'games_per_pairing = 2\n[play]\ntc = "60+0.5"\n[report]\nwrite = false\n{entrants}\n'
    )
    return path, elo


def _results(given: argparse.Namespace, meter: Meter, heard: Simulated) -> Iterator[str]:
    if (window := meter.window(meter.samples[0].at + 2 * given.mean, given.games - given.slots)) is None:
        yield "too short: all slots were never busy"
        return
    begin, end = window[0], window[-1]
    games, seconds = end.games - begin.games, end.at - begin.at
    events = end.events - begin.events
    yield (
        f"{given.system} of {given.entrants}, {given.slots} slots on {given.machines} machines, games of "
        f"{given.mean:g} s: {end.games} games, {games} of them measured in {seconds:.1f} s"
    )
    yield f"recorded         {games / seconds:8.1f} games/s"
    yield f"live events      {events / seconds:8.0f} /s"
    yield f"slots busy       {_busy(heard, begin.at, end.at) / given.slots:8.1%}"
    yield from meter.times(begin, end)
    yield f"memory           {end.rss / 2**20:8.0f} MiB, {meter.samples[0].rss / 2**20:.0f} before the first game"
    for one, other in _tenths(window):
        if other.games > one.games:
            cpu = _each(one.cpu, other.cpu, other.games - one.games)
            rate = (other.games - one.games) / (other.at - one.at)
            yield f"  to game {other.games:8}: {cpu} ms a game, {rate:6.1f} games/s, {other.rss / 2**20:6.0f} MiB"


def _each(begin: float, end: float, games: int) -> str:
    return f"{(end - begin) * 1000 / max(1, games):8.3f}"


def _tenths(samples: Sequence[Sample]) -> Iterator[tuple[Sample, Sample]]:
    marks = [samples[round(n * (len(samples) - 1) / 10)] for n in range(11)]
    return pairwise(marks)


def _busy(heard: Simulated, begin: float, end: float) -> float:
    """Return the mean number of games in progress."""
    together = (min(end, ended) - max(begin, begun) for begun, ended in zip(heard.begins, heard.ends, strict=True))
    return sum(max(0.0, overlap) for overlap in together) / (end - begin)
