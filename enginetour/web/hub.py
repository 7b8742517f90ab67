"""The tournaments of a database that the live page shows, and the threads that follow the running ones."""

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

_POLL_S = 1.0  # between two looks for tournaments that began, and two tables of one
_EVENTS_AHEAD = 1000  # of one tournament that may wait for the loop; then its thread waits, and at last it is cut off
_EventHandler = Callable[[Mapping[str, Any]], None]


def _follow(path: Path, begin: _EventHandler, take: _EventHandler, end: Callable[[], None]) -> None:
    """Pass on the answer to `status` once, then every event; call `end` in any case, and once.

    Events may repeat what the status had already; those of boards say at which ply they are.
    """
    try:
        events = subscribe(path)  # before asking: nothing can fall between the two
        status = None if events is None else ask(path, {"do": "status"})
        if events is not None and status is not None and status.get("ok"):
            begin(status)
            for event in events:
                take(event)
    except (TourError, OSError, ValueError):  # it ended, or stopped answering: the next look finds it again
        pass
    finally:
        end()


def _no_table() -> dict[str, Any]:
    return {"rows": [], "more": 0}


class TournamentHub:
    """All tournaments, the threads that follow them and their tables. Of the event loop but where it says otherwise."""

    def __init__(
        self, reader: DatabaseReader, report: Callable[[str], None], failed: Callable[[Exception], None]
    ) -> None:
        """`report` gets what cannot be looked at, `failed` internal errors."""
        self.reader = reader
        self.tournaments: dict[str, LiveTournament] = {}  # by slug
        self.listeners: set[Listener] = set()  # pages that show which tournaments there are
        self.entries: list[TournamentEntry] = []
        self.closing = False
        self._report, self._failed = report, failed
        self._followed: set[str] = set()  # names of tournaments: one edition runs at a time
        self._task: asyncio.Task[None] | None = None
        self._reported = ""

    async def open(self) -> None:
        """Look once, then every second until `close`; what fails is reported, and looked at again."""
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
        """Return the tournament of an address."""
        return next((entry for entry in self.entries if entry.slug == slug), None)

    def live(self, entry: TournamentEntry) -> LiveTournament:
        """Return what is live of it, whether it runs or not."""
        if entry.slug not in self.tournaments:
            self.tournaments[entry.slug] = LiveTournament(entry.title)
        return self.tournaments[entry.slug]

    async def ready(self, entry: TournamentEntry) -> LiveTournament:
        """Return it for one more page. While no page followed a running tournament its table was not kept."""
        live = self.live(entry)
        if not (live.table and live.running and live.listeners):
            try:
                await self._refresh(entry, live)
            except StoreBusy:
                raise
            except StoreRefused:
                if not live.running:
                    raise
                live.table = live.table or _no_table()  # its boards are there all the same; the next look tells why
        return live

    def shown(self) -> str:
        """Return how many tournaments there are and which run; if it differs, so does the page of all tournaments."""
        return " ".join([str(len(self.entries)), *(entry.slug for entry in self.entries if self.runs(entry))])

    def add_listener(self, listener: Listener) -> None:
        """Send one more page which tournaments there are."""
        self.listeners.add(listener)
        listener.put("shown", sse_frame("shown", {"shown": self.shown()}))

    def runs(self, entry: TournamentEntry) -> bool:
        """Whether it is being played now."""
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
        except (TourError, OSError) as error:  # a busy or vanished database: reported once
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
        for entry in {entry.name: entry for entry in self.entries}.values():  # the newest edition of each name
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
                except StoreRefused as refused:  # its log is another version's, or no log of this format
                    live.table, live.stale = _no_table(), False
                    if live.refused != str(refused):  # each game asks again
                        live.refused = str(refused)
                        self._report(live.refused)

    async def _refresh(self, entry: TournamentEntry, live: LiveTournament) -> None:
        """Bring its table up to the log; its last lines too, if some are missing."""
        lines = not live.whole
        live.stale, live.whole = False, True  # before it is read: what comes meanwhile makes it so again
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
            """From the thread: done by the loop, in order, and never more than so many ahead of it."""

            def done() -> None:
                ahead.release()
                act()

            ahead.acquire()
            try:
                loop.call_soon_threadsafe(done)
            except RuntimeError as closed:  # the loop is
                raise ConnectionAbortedError(str(closed)) from None

        def begin(status: Mapping[str, Any]) -> None:
            if status.get("tournament") != entry.title:
                raise ValueError("another edition runs")
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
