"""Our end of a Dask cluster: its scheduler found again after it was gone, workers listed, tasks handed over.

Everything runs in one asyncio loop, that of the place. Dask keeps tasks and results; nothing is decided here.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
from collections.abc import Callable
from typing import Any

from distributed import Client, Future

from enginetour.model.errors import UsageRefused
from enginetour.tournament.cluster.certificates import TLS
from enginetour.tournament.cluster.machines import Seen
from enginetour.tournament.cluster.worker import SLOT

PREFIX = "dask="
SCHEMES = ("tcp://", TLS)
CONNECT_S = 5.0  # for the first answer: what a person waits for; later on it is tried again and again

Heard = Callable[[list[tuple[str, str, object]]], None]


def address_of(place: str) -> str:
    """The address in ``dask=tcp://HOST:PORT``; UsageRefused for anything else."""
    address = place.removeprefix(PREFIX)
    scheme = next((one for one in SCHEMES if address.startswith(one)), None)
    host, colon, port = address.removeprefix(scheme or "").rpartition(":")
    good = scheme and host and colon and port.isascii() and port.isdigit() and 0 < int(port) < 1 << 16
    if not place.startswith(PREFIX) or not good:
        step = "say --place dask=tcp://HOST:8786, or dask=tls://HOST:8786"
        raise UsageRefused(f"{place!r} is no place to play", place="--place", step=step)
    return address


class Connection:
    """To one scheduler, by its address. `heard` takes live events of the run named `run`."""

    def __init__(self, address: str, run: str, heard: Heard) -> None:
        self.address = address
        self._run = run
        self._heard = heard
        self._client: Any = None
        for name in ("distributed", "distributed.client"):  # each has a level of its own
            logging.getLogger(name).setLevel(logging.CRITICAL)  # of lost connections, which the place tells in words

    async def open(self) -> None:
        """Connect; OSError where nobody answers like a scheduler of Dask."""
        client = Client(self.address, asynchronous=True, timeout=CONNECT_S, set_as_default=False, name="enginetour")
        try:
            async with asyncio.timeout(CONNECT_S):  # Dask itself waits for ever for whoever takes the call and is mute
                await client
        except Exception as error:  # whatever speaks another language there
            await client.close()
            raise OSError(str(error) or f"no answer within {CONNECT_S:g} s") from error
        client.subscribe_topic(self._run, self._hear)
        self._client = client

    async def _hear(self, event: tuple[float, bytes]) -> None:
        self._heard(pickle.loads(event[1]))  # noqa: S301 - from our own workers

    @property
    def is_open(self) -> bool:
        """The scheduler answered lately."""
        return self._client is not None and self._client.status == "running"

    async def workers(self) -> dict[str, Seen] | None:
        """Those that are there, by address; None while the scheduler does not answer. A lost one is looked for."""
        if self._client is not None and self._client.status in ("closing", "closed"):
            self._client = None
        try:
            if self._client is None:
                await self.open()
            if not self.is_open:
                return None
            info = await self._client.scheduler.identity(n_workers=-1)
        except (OSError, RuntimeError):  # distributed's CommClosedError is an OSError; RuntimeError: it is closing
            return None
        return {address: _seen(address, one) for address, one in info["workers"].items() if _is_running(one)}

    def submit(self, task: Callable[..., Any], *words: object, worker: str, slot: bool, key: str) -> Future[Any]:
        """A task for one worker alone; with `slot` it takes one of its slots. OSError while nobody is there."""
        if not self.is_open:
            raise OSError("the scheduler does not answer")
        future: Future[Any] = self._client.submit(
            task,
            *words,
            workers=[worker],
            allow_other_workers=False,
            resources={SLOT: 1} if slot else None,
            pure=False,
            key=key,
            retries=0,  # who is to play it again is decided with the machine in mind
        )
        return future

    async def close(self) -> None:
        """Let go of every task: workers drop what they play for us."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()


def _is_running(worker: dict[str, Any]) -> bool:
    return bool(worker.get("status", "running") == "running")


def _seen(address: str, worker: dict[str, Any]) -> Seen:
    name = worker.get("name", address)
    host = str(worker.get("host") or address)
    slots = int((worker.get("resources") or {}).get(SLOT, 0))
    named = str(name) if isinstance(name, str) and "://" not in name else ""
    return Seen(named, host, slots, int(worker.get("nthreads", 0)))
