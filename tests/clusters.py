"""A real Dask cluster on loopback: a scheduler and workers, each a process of its own, killed and started again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.touring import default_signals

PATIENCE = 60  # s until a process of Dask is there, on a machine with much else to do


class Cluster:
    """Workers are named; all processes start in `folder`, and nothing of them stays after `end`."""

    def __init__(self, folder: Path, slots: int = 2) -> None:
        self.folder = folder
        self.slots = slots
        self._file = folder / "scheduler.json"
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._logs = (folder / "dask.log").open("ab")
        self._started = 0
        self.address = ""
        self.start_scheduler(port=0)

    @property
    def place(self) -> str:
        """As `--place` takes it."""
        return f"dask={self.address}"

    def start_scheduler(self, port: int | None = None) -> None:
        """At a free port, later at the same again."""
        port = int(self.address.rpartition(":")[2]) if port is None else port
        self._file.unlink(missing_ok=True)
        words = ["--host", "127.0.0.1", "--port", str(port), "--scheduler-file", str(self._file)]
        self._start("scheduler", "scheduler", *words)
        deadline = time.monotonic() + PATIENCE
        while not self._is_there():
            assert time.monotonic() < deadline, "the scheduler does not start"
            time.sleep(0.02)

    def _is_there(self) -> bool:
        try:
            self.address = json.loads(self._file.read_text())["address"]
        except (OSError, ValueError):
            return False
        return True

    def start_worker(self, name: str, *, cwd: Path | None = None, slots: int | None = None) -> None:
        """It joins when it has loaded Dask."""
        self._started += 1
        count = str(self.slots if slots is None else slots)
        words = ["--no-nanny", "--host", "127.0.0.1", "--name", name, "--nthreads", str(max(1, int(count)))]
        words += ["--resources", f"slot={count}", "--local-directory", str(self.folder)]
        self._start(name, "worker", self.address, *words, cwd=cwd)

    def wait_for_workers(self) -> None:
        """Until as many have joined as were started."""
        deadline = time.monotonic() + PATIENCE
        while (self.folder / "dask.log").read_text().count("Registered to:") < self._started:
            assert time.monotonic() < deadline, (self.folder / "dask.log").read_text()
            time.sleep(0.02)

    def kill(self, name: str) -> None:
        """SIGKILL."""
        process = self._processes.pop(name)
        process.kill()
        process.wait()

    def _start(self, name: str, *words: str, cwd: Path | None = None) -> None:
        environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
        self._processes[name] = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_" + words[0], *words[1:], "--no-dashboard"],
            cwd=cwd or self.folder,
            stdout=self._logs,
            stderr=self._logs,
            env=environment,
            preexec_fn=default_signals,
        )

    def end(self) -> None:
        """Kill what is left."""
        for name in list(self._processes):
            self.kill(name)
        self._logs.close()


@contextmanager
def cluster(folder: Path, *workers: str, slots: int = 2) -> Iterator[Cluster]:
    """A scheduler and such workers; none of them alive afterwards."""
    folder.mkdir(exist_ok=True)
    one = Cluster(folder, slots)
    try:
        for name in workers:
            one.start_worker(name)
        one.wait_for_workers()
        yield one
    finally:
        one.end()
