"""Forecasts of tournaments that are planned or running.

A run does not compute its forecasts itself, because its loop must start the next game at once. It starts the command
`enginetour forecast --json` in a process with the lowest priority.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enginetour.reports.progress import Progress
from enginetour.store.address import Address, ServerAddress
from enginetour.tournament.plan import Plan
from enginetour.tournament.scheduler import Scheduler, Watcher

if TYPE_CHECKING:
    from enginetour.formats.forecast import Prospect


def prospect_of_plan(plan: Plan, slots: int | None = None) -> Prospect:
    """Return everything that the forecast of a tournament before its first game depends on.

    Its entrants must be possible to pair. `slots` is the number of concurrent games, by default that of the
    configuration.
    """
    from enginetour.formats.forecast import Belief, Prospect, prior_ratings  # imported here: a run does not need it
    from enginetour.reports.forecast import estimated_lengths

    config, format_ = plan.config, plan.format
    is_elo, names = config.tournament.rating_scale != "go", [entrant.name for entrant in plan.entrants]
    ratings = {one.name: one.rating for one in plan.entrants if one.rating is not None and is_elo}
    return Prospect(
        config.tournament.name,
        config.system,
        format_,
        format_.start(plan.entrants),
        Belief.of(names, format_.earlier, prior_ratings(format_, names, ratings)),
        lengths=estimated_lengths({name: side.controls for name, side in plan.sides.items()}),
        slots=slots or config.play.concurrency,
        odds=config.play.odds,
    )


# Forecasts of a running tournament.

INTERVAL_S = 30.0  # seconds between two forecasts, at least
REST = 200  # seconds of a run per second of processor time; limits forecasts to 0.5 % of one processor
FIRST_CPU_S = 1.0  # assumed processor time of the first forecast; half of it is the start of the program
_LOWEST = 19  # nice value; next to an engine that thinks, such a process gets 1.5 % of the processor (sched(7))
_MOST_GAMES = 20_000  # remaining games; one simulation of more games takes more than a second
_LOOK_S = 0.5  # seconds between two looks at a process that computes a forecast


def lower_priority(pid: int) -> None:
    """Give a process and its session the lowest priority, if the system allows it."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, _LOWEST)
        # Where the kernel schedules sessions as groups, the nice value of a process has no effect outside its session.
        Path(f"/proc/{pid}/autogroup").write_text(str(_LOWEST))


class ForecastProcess:
    """A process that computes one forecast, with the lowest priority of the system."""

    def __init__(self, arguments: Sequence[str], variables: Mapping[str, str]) -> None:
        """Start `enginetour` with these arguments and environment variables. Raise OSError if that is impossible."""
        self._out = tempfile.TemporaryFile()  # noqa: SIM115 - `result` and `close` close it
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", **variables}
        command = [sys.executable, "-P", "-m", "enginetour", *arguments]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self._out,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,  # an interrupt of the terminal is not for this process
        )
        lower_priority(self._process.pid)

    def result(self) -> tuple[dict[str, Any] | None, float] | None:
        """Return None while the process runs; then its document, or None if it failed, and its processor seconds."""
        pid, status, usage = os.wait4(self._process.pid, os.WNOHANG)
        if not pid:
            return None
        self._process.returncode = os.waitstatus_to_exitcode(status)
        with self._out:
            self._out.seek(0)
            text = self._out.read()
        found = json.loads(text) if self._process.returncode == 0 else None
        return found, usage.ru_utime + usage.ru_stime

    def close(self) -> None:
        """End the process."""
        if self._process.returncode is None:
            self._process.kill()
            self._process.wait()
            self._out.close()


class ForecastRefresher(Watcher):
    """A watcher that keeps the forecast of a run up to date. It never waits."""

    def __init__(
        self,
        picture: Progress,
        tournament: tuple[str, int],
        database: Address,
        publish: Callable[[Mapping[str, Any]], None],
        *,
        start: Callable[[Sequence[str], Mapping[str, str]], Any] = ForecastProcess,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create a watcher for a run that starts now. `picture` and `publish` receive each forecast.

        `tournament` is its name and its edition.
        """
        self._picture, self._tournament, self._publish = picture, tournament, publish
        self._variables = {"ENGINETOUR_DB": database.url if isinstance(database, ServerAddress) else str(database)}
        self._start, self._clock = start, clock
        self._process: Any = None
        self._begun = clock()
        self._due = self._begun + REST * FIRST_CPU_S
        self._spent = 0.0  # seconds of processor time of all forecasts
        self._known = -1  # number of games in the last forecast

    def progress(self, scheduler: Scheduler) -> None:
        """Read a finished forecast, or start the next one if it is due and a game has ended since the last one."""
        now = self._clock()
        if now < self._due:
            return
        self._due = now + _LOOK_S
        if self._process is not None:
            self._read()
        elif self._picture.done != self._known and self._picture.remaining[0] < _MOST_GAMES and not scheduler.stopping:
            name, edition = self._tournament
            given = ["forecast", "--json", f"--tournament={name}", f"--edition={edition}"]
            self._known = self._picture.done
            try:
                self._process = self._start([*given, f"--concurrency={scheduler.slots}"], self._variables)
            except OSError:  # too many processes or open files; games are more important
                self._due = now + INTERVAL_S

    def _read(self) -> None:
        if (ended := self._process.result()) is None:
            return
        self._process = None
        found, cpu_s = ended
        self._spent += cpu_s
        # After the next forecast, which will cost as much as this one, all of them will have used 0.5 % of a processor.
        self._due = max(self._clock() + INTERVAL_S, self._begun + REST * (self._spent + cpu_s))
        if found is not None:
            self._picture.forecast = {key: value for key, value in found.items() if key != "schema"}
            self._publish({"event": "forecast", **self._picture.forecast})

    def close(self) -> None:
        """End a process that computes a forecast."""
        if self._process is not None:
            self._process.close()
            self._process = None
