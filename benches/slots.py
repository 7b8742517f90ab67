"""`python -m benches slots`: measure the manager of a run with many slots on this machine, without engines.

Scheduler, database (durable), PGN, log file, progress lines, executor and slot processes are those of `enginetour run`.
Only the function that plays a game in a slot is simulated: it waits, sends live events, and returns a result.

Measurements start two mean lengths of a game after the start of the last slot and end when no game is left to start. A
slot is busy from the start to the end of a game, by the times in the database. Memory is the proportional set size of a
slot process after its last game.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, redirect_stdout
from pathlib import Path
from statistics import mean
from unittest import mock

from benches.cluster import PARTS, Meter, configured, probed, tournament_options
from enginetour.cli.run import RunOptions
from enginetour.cli.session import Run
from enginetour.store.tournaments import Store
from enginetour.tournament import run as tournament
from enginetour.tournament.executor import LocalExecutor, SlotProcess
from enginetour.tournament.plan import prepare


class Measured(LocalExecutor):
    """Local slots. When they are closed, `memory` is the proportional set size of each slot process in KiB.

    `begun` and `full` are the times at which the first and the last slot process started (CLOCK_MONOTONIC, s).
    """

    memory: tuple[int, ...] = ()
    begun = full = 0.0

    def _start(self, index: int) -> SlotProcess:
        self.full = time.monotonic()
        self.begun = self.begun or self.full
        return super()._start(index)

    def close(self) -> None:
        """Read the memory of all slots, then end them."""
        found = [Path(f"/proc/{slot.process.pid}/smaps_rollup").read_text() for slot in self._slots.values()]
        lines = (line.split() for text in found for line in text.splitlines())
        self.memory = self.memory or tuple(int(words[1]) for words in lines if words[0] == "Pss:")
        super().close()


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the benchmark."""
    tournament_options(parser, slots=128, games=3_000)


def measured(given: argparse.Namespace, folder: Path) -> Iterator[str]:
    """Play the tournament and yield the results as lines."""
    path, _ = configured(given, folder)
    meter = Meter(PARTS | {"hand over": (LocalExecutor, "submit")}, "executor")
    plan = prepare(path, None)
    command = (sys.executable, "-P", "-m", "benches.slots_process", str(given.mean))
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(tournament, "probe_all", probed))
        output = stack.enter_context((folder / "output.txt").open("w"))
        stack.enter_context(redirect_stdout(output))
        stack.enter_context(meter.metering())
        offset = time.time() - time.monotonic()
        executor = Measured(given.slots, command=command)
        stack.enter_context(executor)
        Run(plan, None, executor, {}, RunOptions(given.slots, given.games, force=True)).go()
    if (window := meter.window(executor.full + 2 * given.mean, given.games - given.slots)) is None:
        yield "too short: all slots were never busy"
        return
    begin, end = window[0], window[-1]
    with Store.open(plan.database, readonly=True) as store:
        spans = [
            (one.game.started_unix - offset, one.game.ended_unix - offset)
            for one in store.tournament("cluster").full_games()
        ]
    busy = sum(max(0.0, min(end.at, last) - max(begin.at, first)) for first, last in spans)
    games, seconds = end.games - begin.games, end.at - begin.at
    yield (
        f"{given.system} of {given.entrants}, {given.slots} slots, games of {given.mean:g} s: "
        f"{end.games} games, {games} of them measured in {seconds:.1f} s"
    )
    yield f"all slots after  {executor.full - executor.begun:8.1f} s"
    yield f"recorded         {games / seconds:8.1f} games/s"
    yield f"slots busy       {busy / seconds / given.slots:8.1%}"
    yield from meter.times(begin, end)
    memory = [size / 1024 for size in executor.memory]
    yield f"memory           {end.rss / 2**20:8.1f} MiB of the manager"
    yield f"  of a slot      {mean(memory):8.1f} MiB, at most {max(memory):.1f}"
