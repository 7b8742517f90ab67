"""Clusters in which workers, the scheduler, the manager and the network fail at random times.

Environment: ENGINETOUR_NIGHT_STORMS (default 10 tournaments), ENGINETOUR_NIGHT_SEED (default 2007).
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests.support.network import Cluster, Relay, cluster, unhurried
from tests.support.tournaments import FOUR, GONE_S, SEED, Forked, audit, config, left_running, until

pytestmark = [pytest.mark.night, pytest.mark.timeout(0)]

STORMS = int(os.environ.get("ENGINETOUR_NIGHT_STORMS", "10"))
WORKERS = ("a", "b", "c")
ACTS = ("kill", "kill", "cut", "cut", "mend", "mend", "time out", "scheduler", "manager")
STILL_S = 20.0  # without a game: all machines are suspended, and only the test can end this
NOBODY = (
    b"has no worker",
    b"no machine of the cluster can play",
    b"no Dask scheduler responds",
)  # at the start of the manager
SYSTEMS = {
    "bubble": "size = 3\nmin_matches = 4\nunpark_threshold = 2\ngames_per_pairing = 4",
    "swiss": "rounds = 3\ngames_per_pairing = 8",
    "roundrobin": "games_per_pairing = 2\ncycles = 6",
}


class Storm:
    """One tournament on one cluster, whose workers have separate networks."""

    def __init__(self, folder: Path, dice: random.Random, dask: Cluster, relays: dict[str, Relay]) -> None:
        self.folder, self.dice, self.dask, self.relays = folder, dice, dask, relays
        (folder / "results").mkdir(parents=True)
        self.system = dice.choice(sorted(SYSTEMS))
        self.path = config(folder, (), self.system, SYSTEMS[self.system], unhurried(FOUR, 3))
        self.said: list[bytes] = []
        self.done: Counter[str] = Counter()
        self.begin()

    def begin(self) -> None:
        """Start or restart the manager."""
        words = ["run", str(self.path), "--place", self.dask.place, "--slots", "3", "--force"]
        self.run = Forked(self.folder, words, Path("/dev/stdout"))
        self.listener = threading.Thread(target=self._listen, args=(self.run,), daemon=True)
        self.listener.start()

    def _listen(self, run: Forked) -> None:
        assert run.stdout is not None
        while chunk := run.stdout.read(1 << 16):
            self.said.append(chunk)
        run.stdout.close()

    def rage(self, act: str) -> None:
        """Let one random failure happen."""
        name = self.dice.choice(WORKERS)
        self.done[act] += 1
        if act == "kill":
            self.dask.kill(name)
        elif act == "cut":
            self.relays[name].cut()
        elif act == "mend":
            self.relays[name].mend()
        elif act == "time out":
            self.relays[name].time_out()
        elif act == "scheduler":
            self.dask.kill("scheduler")
            self.dask.start_scheduler()
        elif self.run.process.is_alive():
            self.run.process.kill()
        self.revive()

    def revive(self) -> None:
        """Restart ended processes as a service manager does, except a manager that ended regularly."""
        for name in WORKERS:
            self.dask.revive(name)
        if self.run.process.exitcode not in (None, 0):
            code = self.end()
            assert code == -signal.SIGKILL or any(why in self.said[-1] for why in NOBODY), self.said[-1]
            self.begin()

    def end(self) -> int:
        """Read the output of the manager to its end; return its exit code."""
        self.listener.join()
        return self.run.wait()

    def settle(self) -> int:
        """Play to the end without failures, check that no game is lost or doubled, and return the number of games."""
        for relay in self.relays.values():
            relay.mend()
        heard, since = len(self.said), time.monotonic()
        while self.run.process.exitcode != 0:
            self.revive()
            time.sleep(0.1)
            if len(self.said) > heard:
                heard, since = len(self.said), time.monotonic()
            elif time.monotonic() - since > STILL_S:
                self.done["stood still"] += 1
                self.run.process.kill()
                since = time.monotonic()
        assert self.end() == 0
        told = b"".join(self.said).decode()
        assert "Traceback" not in told, told
        assert "internal error, " not in told, told
        since = time.monotonic()
        until(lambda: left_running(self.folder) == [])
        assert time.monotonic() - since < GONE_S
        return audit(self.folder)


@pytest.mark.parametrize("number", range(STORMS))
def test_storm(tmp_path: Path, number: int) -> None:
    """After random failures the log is complete, and the tournament ends when the failures stop."""
    dice = random.Random(SEED + number)
    with ExitStack() as stack:
        relays = {name: stack.enter_context(closing(Relay())) for name in WORKERS}
        dask = stack.enter_context(cluster(tmp_path / "dask", slots=1))
        for name, relay in relays.items():
            dask.start_worker(name, relay)
        dask.wait_for_workers()
        storm = Storm(tmp_path / "tour", dice, dask, relays)
        for _ in range(dice.randint(10, 40)):
            time.sleep(dice.expovariate(1.0))
            if storm.run.process.exitcode == 0:
                break
            storm.rage(dice.choice(ACTS))
        games = storm.settle()
    assert left_running(tmp_path) == []
    print(f"seed {SEED + number}: {games} games of a {storm.system}, {dict(storm.done)}")
