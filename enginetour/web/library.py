"""The database as the live page reads it: one thread that nobody waits for in the event loop, and what it remembers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from enginetour.store.address import Address
from enginetour.store.tournaments import Entry, Store, entries
from enginetour.web.pages import Pages, listed
from enginetour.web.standing import Made, Standings

T = TypeVar("T")


class Library:
    """Opened for reading. Everything in it is done by one thread, in order: two pages at once cost no more memory.

    Each answer is of one moment, however many games end while it is made.
    """

    def __init__(self, path: Address) -> None:
        """With the refusals of `Store.open`."""
        self.path = path
        self._store = Store.open(path, create=False, readonly=True)
        self._standings = Standings(self._store)
        self._pages = Pages(self._store)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="library")

    def close(self) -> None:
        """Let go of the database."""
        self._thread.shutdown(wait=True, cancel_futures=True)
        self._store.close()

    async def entries(self) -> list[Entry]:
        """Which tournaments there are."""
        return await self._ask(partial(entries, self._store))

    async def standing(self, entry: Entry, *, lines: bool) -> Made:
        """Table, progress and, where asked, the last lines of a tournament."""
        return await self._ask(partial(self._standings.made, entry, lines=lines))

    async def page(self, entry: Entry, address: str) -> str | None:
        """A page of its report, None where there is none of that address."""
        return await self._ask(partial(self._pages.page, entry, address))

    async def live(self, entry: Entry, room: Mapping[str, Any]) -> str:
        """Its live page; `room` is the snapshot of its room."""
        return await self._ask(partial(self._pages.live, entry, room))

    async def index(self, entries: list[Entry], running: Mapping[str, Any], told: str) -> str:
        """The page of all tournaments; `running` is the progress of those that run, by slug, `told` `Hall.shown`."""

        def made() -> str:
            shown = listed(entries, running)
            states = self._standings.states([entry for entry in shown if entry.slug not in running])
            return self._pages.index(shown, running, states, left=len(entries) - len(shown), told=told)

        return await self._ask(made)

    async def _ask(self, work: Callable[[], T]) -> T:
        def done() -> T:
            with self._store.database.still():
                return work()

        return await asyncio.get_running_loop().run_in_executor(self._thread, done)
