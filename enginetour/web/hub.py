"""The tournaments of a database on the live page, and the threads that follow the running ones."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from enginetour.model.errors import StoreRefused, TourError
from enginetour.store.address import slug_of
from enginetour.store.dialect import StoreBusy
from enginetour.store.tables import TournamentEntry
from enginetour.tournament.control import ask, candidates, socket_path, subscribe
from enginetour.web.live import Listener, LiveTournament, sse_frame
from enginetour.web.pages import DatabaseReader

_POLL_S = 1.0  # seconds between two searches for running tournaments, and between two updates of standings
_EVENTS_AHEAD = 1000  # pending events of one tournament; with more, its thread waits
_EventHandler = Callable[[Mapping[str, Any]], None]


def _follow(path: Path, begin: _EventHandler, take: _EventHandler, end: Callable[[], None]) -> None:
    """Call `begin` with the answer to `status`, then `take` with every event, and finally `end` once in any case.

    Events can repeat changes that are already in the status. Events of boards contain the ply, so that a repeated move
    is recognized.
    """
    try:
        events = subscribe(path)  # before the request for the status, so that no event is missed
        status = None if events is None else ask(path, {"do": "status"})
        if events is not None and status is not None and status.get("ok"):
            begin(status)
            for event in events:
                take(event)
    except (TourError, OSError, ValueError):  # the run ended or does not respond; if it runs, it is found again
        pass
    finally:
        end()


def _no_table() -> dict[str, Any]:
    return {"rows": [], "more": 0, "decisions": None}


class TournamentHub:
    """All tournaments of a database. Its methods run in the event loop, except where stated otherwise."""

    def __init__(
        self, reader: DatabaseReader, report: Callable[[str], None], failed: Callable[[Exception], None]
    ) -> None:
        """`report` receives problems of the database, `failed` receives internal errors."""
        self.reader = reader
        self.tournaments: dict[str, LiveTournament] = {}  # by slug
        self.listeners: set[Listener] = set()  # pages that list the tournaments
        self.entries: list[TournamentEntry] = []
        self.closing = False
        self._report, self._failed = report, failed
        self._followed: set[str] = set()  # names of tournaments; only one edition can run at a time
        self._reads: dict[str, asyncio.Task[None]] = {}  # the last reading for new pages, by slug
        self._task: asyncio.Task[None] | None = None
        self._reported = ""

    async def open(self) -> None:
        """Read the database now and then every second until `close`. Failures are reported and tried again."""
        await self._try_look()
        self._task = asyncio.get_running_loop().create_task(self._keep_looking())

    def close(self) -> None:
        """Close all streams."""
        self.closing = True
        if self._task is not None:
            self._task.cancel()
        for listener in [*self.listeners, *(one for live in self.tournaments.values() for one in live.listeners)]:
            listener.close()

    def entry(self, slug: str) -> TournamentEntry | None:
        """Return the tournament of a slug, or None if it is unknown."""
        return next((entry for entry in self.entries if entry.slug == slug), None)

    def live(self, entry: TournamentEntry) -> LiveTournament:
        """Return the live state of a tournament, whether it runs or not."""
        if entry.slug not in self.tournaments:
            self.tournaments[entry.slug] = LiveTournament(entry.title)
        return self.tournaments[entry.slug]

    async def ready(self, entry: TournamentEntry) -> LiveTournament:
        """Return the live state for a new page. Its standings are read if no page has kept them up to date.

        Pages that are opened at the same time share one reading.
        """
        live = self.live(entry)
        if not (live.table and live.running and (live.listeners or not live.stale)):
            read = self._reads.get(entry.slug)
            if read is None or read.done():
                read = self._reads[entry.slug] = asyncio.ensure_future(self._refresh(entry, live))
            try:
                await asyncio.shield(read)  # a client that leaves does not stop it for the others
            except StoreBusy:
                raise
            except StoreRefused:
                if not live.running:
                    raise
                live.table = live.table or _no_table()  # its boards can still be shown
        return live

    def shown(self) -> str:
        """Return a text that changes if the page of all tournaments changes: their number, and the running ones."""
        return " ".join([str(len(self.entries)), *(entry.slug for entry in self.entries if self.runs(entry))])

    def add_listener(self, listener: Listener) -> None:
        """Add a page of all tournaments."""
        self.listeners.add(listener)
        listener.put("shown", sse_frame("shown", {"shown": self.shown()}))

    def runs(self, entry: TournamentEntry) -> bool:
        """Return whether a tournament is running."""
        live = self.tournaments.get(entry.slug)
        return live is not None and live.running

    async def _keep_looking(self) -> None:
        while True:
            await asyncio.sleep(_POLL_S)
            await self._try_look()

    async def _try_look(self) -> None:
        try:
            await self._look()
            self._reported = ""
        except (TourError, OSError) as error:  # the same problem is reported once
            if str(error) != self._reported:
                self._reported = str(error)
                self._report(self._reported)
        except Exception as error:
            self._failed(error)

    async def _look(self) -> None:
        found = await self.reader.entries()
        known, self.entries = len(self.entries), found
        if len(found) != known:
            self._send_shown()
        for entry in {entry.name: entry for entry in self.entries}.values():  # the newest edition of each tournament
            path = socket_path(self.reader.path, slug_of(entry.name))
            if entry.name not in self._followed and any(os.path.lexists(place) for place in candidates(path)):
                self._start_following(entry, path)
        for entry in self.entries:
            live = self.tournaments.get(entry.slug)
            if live is not None and live.stale and (live.listeners or not live.table):
                try:
                    await self._refresh(entry, live)
                except StoreBusy:
                    raise
                except StoreRefused as refused:  # the event log is of another version or damaged
                    live.table, live.stale = _no_table(), False
                    if live.refused != str(refused):  # the same problem is reported once
                        live.refused = str(refused)
                        self._report(live.refused)

    async def _refresh(self, entry: TournamentEntry, live: LiveTournament) -> None:
        """Read the standings, and the last lines if some are missing."""
        lines = not live.whole
        live.stale, live.whole = False, True  # set before reading, because events during it set them again
        try:
            made = await self.reader.standing(entry, lines=lines)
        except BaseException:
            live.stale, live.whole = True, live.whole and not lines
            raise
        live.table, live.refused = made.table, ""
        if lines:
            live.merge_lines(made.lines, made.incidents)
        live.send("table", "table", live.table)
        if not live.running:
            live.progress = made.progress
            live.send("progress", "progress", live.progress)

    def _start_following(self, entry: TournamentEntry, path: Path) -> None:
        live, loop = self.live(entry), asyncio.get_running_loop()
        ahead = threading.Semaphore(_EVENTS_AHEAD)

        def later(act: Callable[[], None]) -> None:
            """Run a function in the loop. This is called in the other thread; it waits if too many are pending."""

            def done() -> None:
                ahead.release()
                act()

            ahead.acquire()
            try:
                loop.call_soon_threadsafe(done)
            except RuntimeError as closed:  # the loop is closed
                raise ConnectionAbortedError(str(closed)) from None

        def begin(status: Mapping[str, Any]) -> None:
            if status.get("tournament") != entry.title:
                raise ValueError("another edition is running")
            later(lambda: self._begun(live, status))

        def end() -> None:
            with suppress(ConnectionAbortedError):
                later(lambda: self._ended(entry, live))

        self._followed.add(entry.name)
        args = (path, begin, lambda event: later(lambda: live.take(event)), end)
        threading.Thread(target=_follow, args=args, name=f"feed of {path.name}", daemon=True).start()

    def _begun(self, live: LiveTournament, status: Mapping[str, Any]) -> None:
        live.begin(status)
        self._send_shown()

    def _ended(self, entry: TournamentEntry, live: LiveTournament) -> None:
        self._followed.discard(entry.name)
        if live.running:
            live.end()
            self._send_shown()

    def _send_shown(self) -> None:
        frame = sse_frame("shown", {"shown": self.shown()})
        for listener in self.listeners:
            listener.put("shown", frame)
