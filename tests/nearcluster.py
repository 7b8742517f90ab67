"""A Dask cluster in the test's own process: its scheduler and workers are threads, its games are in slot processes."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from distributed import Scheduler, SpecCluster, Worker

OURS: Mapping[str, Any] = {"host": "127.0.0.1", "dashboard": False, "dashboard_address": "127.0.0.1:0"}


def worker_options(name: str, slots: int) -> dict[str, Any]:
    """As ``dask worker --name NAME --nthreads N --resources slot=N`` has them."""
    return {**OURS, "name": name, "nthreads": max(1, slots), "resources": {"slot": slots}}


@contextmanager
def near_cluster(*names: str, slots: int = 1) -> Iterator[SpecCluster]:
    """Workers of these names, all started in the folder of this process."""
    workers = {name: {"cls": Worker, "options": worker_options(name, slots)} for name in names}
    scheduler = {"cls": Scheduler, "options": {**OURS, "port": 0}}
    one = SpecCluster(workers=workers, scheduler=scheduler, silence_logs=logging.CRITICAL)  # type: ignore[no-untyped-call]
    with one as cluster:
        yield cluster


def place_of(cluster: SpecCluster) -> str:
    """As `--place` takes it."""
    return f"dask={cluster.scheduler_address}"
