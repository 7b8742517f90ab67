"""`python -m benches league`: play a season of a league with many slots on this machine, without engines.

Everything is that of `enginetour run league.toml`, but the function that plays a game in a slot is simulated. A slot
is busy from the start to the end of a game, by the times in the database. The first figure is for the time from the
start of the last slot until the first division ends; the second one is for the whole season, with the matches between
divisions at its end.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

from benches.cluster import probed
from enginetour.store.seasons import newest_season
from enginetour.store.tournaments import Store
from enginetour.tournament import league, run
from enginetour.tournament.executor import LocalExecutor
from enginetour.tournament.league import LeagueRun, read_league

MOST_FULL = 2  # mean lengths of a game after which all slots have started


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the benchmark."""
    parser.add_argument("--slots", type=int, default=60, help="concurrent games (default %(default)s)")
    parser.add_argument("--mean", type=float, default=2.0, help="mean seconds of a game (default %(default)s)")
    parser.add_argument("--divisions", type=int, default=6, help="number of divisions (default %(default)s)")
    parser.add_argument("--size", type=int, default=12, help="engines of a division (default %(default)s)")
    parser.add_argument("--cycles", type=int, default=8, help="cycles of the round robins (default %(default)s)")


def configured(given: argparse.Namespace, folder: Path) -> Path:
    """Write a league of engines that are never started."""
    words = [f'[league]\nname = "bench"\nparallel = {given.divisions}\ncross = {{ engines = 3 }}\n']
    for number in range(given.divisions):
        words.append(f'[[league.divisions]]\nname = "D{number + 1}"\nsize = {given.size}\n')
        words.append(f'format = {{ system = "roundrobin", cycles = {given.cycles} }}\n')
    words.append('[play]\ntc = "60+0.5"\n[report]\nwrite = false\n')
    engines = (f"Engine {number:03}" for number in range(given.divisions * given.size))
    words += [f'[[entrants]]\nname = "{name}"\ncommand = ["/bin/true"]\nprotocol = "uci"\n' for name in engines]
    path = folder / "league.toml"
    path.write_text("".join(words))
    return path


def measured(given: argparse.Namespace, folder: Path) -> Iterator[str]:
    """Play a season and yield the results as lines."""
    path, database = configured(given, folder), folder / "bench.db"
    command = (sys.executable, "-P", "-m", "benches.slots_process", str(given.mean))
    with ExitStack() as stack:
        for module in (run, league):
            stack.enter_context(mock.patch.object(module, "probe_all", probed))
        stack.enter_context(mock.patch.dict(LocalExecutor.__init__.__kwdefaults__, command=command))
        season = LeagueRun(read_league(path), database, lambda _: None, print, given.slots, force=True)
        before = time.process_time()
        season.play()
        cpu = time.process_time() - before
    with Store.open(database, readonly=True) as store:
        book = newest_season(store, "bench")
        assert book is not None
        spans = {
            stage.label: [(one.game.started_unix, one.game.ended_unix) for one in stage.log.full_games()]
            for stage in book.stages()
            if stage.log
        }
        divisions = [spans[stage.label] for stage in book.divisions]
    games = [span for part in spans.values() for span in part]
    begin, end = min(first for first, _ in games), max(last for _, last in games)
    first_end = min(max(last for _, last in part) for part in divisions)
    full, ended = begin + MOST_FULL * given.mean, first_end - MOST_FULL * given.mean
    shape = f"{given.divisions} divisions of {given.size}, {given.slots} slots, games of {given.mean:g} s"
    busy, whole = (_busy(games, *span) / given.slots for span in ((full, ended), (begin, end)))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    yield f"{shape}: {len(games)} games"
    yield f"slots busy       {busy:8.1%} while all divisions play, {ended - full:.0f} s"
    yield f"  whole season   {whole:8.1%} of {end - begin:.0f} s"
    yield f"CPU of a game    {1000 * cpu / len(games):8.2f} ms of the manager"
    yield f"memory           {memory:8.0f} MiB of the manager"


def _busy(games: Sequence[tuple[float, float]], begin: float, end: float) -> float:
    return sum(max(0.0, min(end, last) - max(begin, first)) for first, last in games) / (end - begin)
