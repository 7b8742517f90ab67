"""A Dask cluster in the test's own process: scheduler and workers are of one thread, games are in slot processes."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from distributed import Scheduler, Security, SpecCluster, Worker

from tests.clusters import HERE
from tests.touring import LONG_S, default_signals

OURS: Mapping[str, Any] = {"host": HERE, "dashboard": False, "dashboard_address": f"{HERE}:0"}


def worker_options(name: str, slots: int) -> dict[str, Any]:
    """As ``dask worker --name NAME --nthreads N --resources slot=N`` has them."""
    return {**OURS, "name": name, "nthreads": max(1, slots), "resources": {"slot": slots}}


@contextmanager
def near_cluster(*names: str, slots: int = 1, security: Security | None = None) -> Iterator[SpecCluster]:
    """Workers of these names, all started in the folder of this process; with `security` by TLS."""
    more: dict[str, Any] = {} if security is None else {"security": security, "protocol": "tls://"}
    workers = {name: {"cls": Worker, "options": worker_options(name, slots) | more} for name in names}
    scheduler = {"cls": Scheduler, "options": {**OURS, "port": 0, **more}}
    given = {"workers": workers, "scheduler": scheduler, "security": security, "silence_logs": logging.CRITICAL}
    one = SpecCluster(**given)  # type: ignore[no-untyped-call]
    with one as cluster:
        yield cluster


@contextmanager
def started_worker(cluster: SpecCluster, folder: Path, name: str, *words: str) -> Iterator[None]:
    """One more with a slot, an interpreter of its own with such words on its command line, in that folder."""
    command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address, "--name", name]
    command += ["--nthreads", "1", "--resources", "slot=1"]
    command += ["--no-nanny", "--host", HERE, "--no-dashboard", "--local-directory", str(folder), *words]
    there = len(cluster.scheduler_info["workers"])
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    with (
        (folder / "worker.log").open("ab") as log,
        subprocess.Popen(
            command, cwd=folder, stdout=log, stderr=log, env=environment, preexec_fn=default_signals
        ) as process,
    ):
        try:
            cluster.wait_for_workers(there + 1, timeout=LONG_S)
            yield
        finally:
            process.kill()


def place_of(cluster: SpecCluster) -> str:
    """As `--place` takes it."""
    return f"dask={cluster.scheduler_address}"
