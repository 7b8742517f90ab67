"""Tournaments of a database."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from enginetour.model.errors import StoreRefused, TourError
from enginetour.store.address import Address, slug_of
from enginetour.store.dialect import StoreBusy
from enginetour.store.tables import TournamentEntry
from enginetour.store.tournaments import Store, tournament_entries
from enginetour.tournament.control import ask, candidates, socket_path, subscribe
from enginetour.web.pages import ReportPages, listed_tournaments
from enginetour.web.room import Listener, LiveTournament, StandingsCache, StandingsData, sse_frame

# The thread that listens to one running tournament for as long as it runs.

_EventHandler = Callable[[Mapping[str, Any]], None]


class _Feed(threading.Thread):
    """`begin` gets the answer to `status` once, `take` every event after it, `end` nothing: all from this thread.

    Events may tell what the status has told already; those of boards say at which ply they are. `end` is called
    in any case, and once.
    """

    def __init__(self, path: Path, begin: _EventHandler, take: _EventHandler, end: Callable[[], None]) -> None:
        super().__init__(name=f"feed of {path.name}", daemon=True)
        self._path, self._begin, self._take, self._end = path, begin, take, end

    def run(self) -> None:
        """Subscribe first, then ask: nothing can fall between the two."""
        try:
            events = subscribe(self._path)
            status = None if events is None else ask(self._path, {"do": "status"})
            if events is not None and status is not None and status.get("ok"):
                self._begin(status)
                for event in events:
                    self._take(event)
        except (TourError, OSError, ValueError):  # it ended, or stopped answering: whoever started us looks again
            pass
        finally:
            self._end()


# The database as the live page reads it: one thread that nobody waits for in the event loop, and what it remembers.

_T = TypeVar("_T")


class DatabaseReader:
    """Opened for reading. Everything in it is done by one thread, in order: two pages at once cost no more memory.

    Each answer is of one moment, however many games end while it is made.
    """

    def __init__(self, path: Address) -> None:
        """With the refusals of `Store.open`."""
        self.path = path
        self._store = Store.open(path, create=False, readonly=True)
        self._standings = StandingsCache(self._store)
        self._pages = ReportPages(self._store)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="library")

    def close(self) -> None:
        """Let go of the database."""
        self._thread.shutdown(wait=True, cancel_futures=True)
        self._store.close()

    async def entries(self) -> list[TournamentEntry]:
        """Which tournaments there are."""
        return await self._ask(partial(tournament_entries, self._store))

    async def standing(self, entry: TournamentEntry, *, lines: bool) -> StandingsData:
        """Table, progress and, where asked, the last lines of a tournament."""
        return await self._ask(partial(self._standings.made, entry, lines=lines))

    async def page(self, entry: TournamentEntry, address: str) -> str | None:
        """A page of its report, None where there is none of that address."""
        return await self._ask(partial(self._pages.page, entry, address))

    async def live(self, entry: TournamentEntry, room: Mapping[str, Any]) -> str:
        """Its live page; `room` is the snapshot of its room."""
        return await self._ask(partial(self._pages.live, entry, room))

    async def index(self, entries: list[TournamentEntry], running: Mapping[str, Any], told: str) -> str:
        """The page of all tournaments; `running` is the progress of those that run, by slug, `told` `Hall.shown`."""

        def made() -> str:
            shown = listed_tournaments(entries, running)
            states = self._standings.states([entry for entry in shown if entry.slug not in running])
            return self._pages.index(shown, running, states, left=len(entries) - len(shown), told=told)

        return await self._ask(made)

    async def _ask(self, work: Callable[[], _T]) -> _T:
        def done() -> _T:
            with self._store.database.snapshot():
                return work()

        return await asyncio.get_running_loop().run_in_executor(self._thread, done)


# The playing hall: which tournaments of a database there are and which of them run, looked at again every second.

_POLL_S = 1.0  # between two looks for tournaments that began, and two tables of one
_EVENTS_AHEAD = 1000  # of one tournament that may wait for the loop; then its thread waits, and at last it is cut off


def _no_table() -> dict[str, Any]:
    """That of a tournament whose log cannot be read."""
    return {"rows": [], "more": 0}


class TournamentHub:
    """All rooms, the threads that feed them and the tables they show. Of the event loop but where it says otherwise."""

    def __init__(
        self, library: DatabaseReader, tell: Callable[[str], None], failed: Callable[[Exception], None]
    ) -> None:
        """`tell` hears what cannot be looked at, `failed` our own failures."""
        self.library = library
        self.rooms: dict[str, LiveTournament] = {}  # by slug
        self.doors: set[Listener] = set()  # pages that show which tournaments there are
        self.entries: list[TournamentEntry] = []
        self.closing = False
        self._tell, self._failed = tell, failed
        self._feeds: dict[str, _Feed] = {}  # by the name of the tournament: one edition runs at a time
        self._task: asyncio.Task[None] | None = None
        self._said = ""

    async def open(self) -> None:
        """Look once, then every second until `close`; what fails is told, and looked at again."""
        await self._look_or_tell()
        self._task = asyncio.get_running_loop().create_task(self._keep_looking())

    def close(self) -> None:
        """No page hears anything more."""
        self.closing = True
        if self._task is not None:
            self._task.cancel()
        for listener in [*self.doors, *(one for room in self.rooms.values() for one in room.audience)]:
            listener.close()

    def entry(self, slug: str) -> TournamentEntry | None:
        """The tournament of an address."""
        return next((entry for entry in self.entries if entry.slug == slug), None)

    def room(self, entry: TournamentEntry) -> LiveTournament:
        """Its room, whether it runs or not."""
        if entry.slug not in self.rooms:
            self.rooms[entry.slug] = LiveTournament(entry.title)
        return self.rooms[entry.slug]

    async def ready(self, entry: TournamentEntry) -> LiveTournament:
        """Its room for one more page. Where nobody looks on at a running tournament its table was left to itself."""
        room = self.room(entry)
        if not (room.table and room.running and room.audience):
            try:
                await self._furnish(entry, room)
            except StoreBusy:
                raise
            except StoreRefused:
                if not room.running:
                    raise
                room.table = room.table or _no_table()  # its boards are there all the same; the next look tells why
        return room

    def shown(self) -> str:
        """What the page of all tournaments tells of: how many there are and which run. Another word, another page."""
        return " ".join([str(len(self.entries)), *(entry.slug for entry in self.entries if self.runs(entry))])

    def attend(self, listener: Listener) -> None:
        """One more looks at which tournaments there are."""
        self.doors.add(listener)
        listener.put("shown", sse_frame("shown", {"shown": self.shown()}))

    def runs(self, entry: TournamentEntry) -> bool:
        """Whether it is being played now."""
        room = self.rooms.get(entry.slug)
        return room is not None and room.running

    async def _keep_looking(self) -> None:
        while True:
            await asyncio.sleep(_POLL_S)
            await self._look_or_tell()

    async def _look_or_tell(self) -> None:
        try:
            await self._look()
            self._said = ""
        except (TourError, OSError) as error:  # a busy or vanished database: said once
            if str(error) != self._said:
                self._said = str(error)
                self._tell(self._said)
        except Exception as error:
            self._failed(error)

    async def _look(self) -> None:
        found = await self.library.entries()
        known, self.entries = len(self.entries), found
        if len(found) != known:
            self._tell_doors()
        for entry in {entry.name: entry for entry in self.entries}.values():  # the newest edition of each name
            path = socket_path(self.library.path, slug_of(entry.name))
            if entry.name not in self._feeds and any(os.path.lexists(place) for place in candidates(path)):
                self._listen_to(entry, path)
        for entry in self.entries:
            room = self.rooms.get(entry.slug)
            if room is not None and room.stale and (room.audience or not room.table):
                try:
                    await self._furnish(entry, room)
                except StoreBusy:
                    raise
                except StoreRefused as refused:  # its log is another version's, or no log of this format
                    room.table, room.stale = _no_table(), False
                    if room.refused != str(refused):  # each game asks again
                        room.refused = str(refused)
                        self._tell(room.refused)

    async def _furnish(self, entry: TournamentEntry, room: LiveTournament) -> None:
        """Bring the table of a room up to the log; its last lines too, if some are missing."""
        lines = not room.whole
        room.stale, room.whole = False, True  # before it is read: what comes meanwhile makes it so again
        try:
            made = await self.library.standing(entry, lines=lines)
        except BaseException:
            room.stale, room.whole = True, room.whole and not lines
            raise
        room.table, room.refused = made.table, ""
        if lines:
            room.remember(made.lines, made.incidents)
        room.tell("table", "table", room.table)
        if not room.running:
            room.progress = made.progress
            room.tell("progress", "progress", room.progress)

    def _listen_to(self, entry: TournamentEntry, path: Path) -> None:
        room, loop = self.room(entry), asyncio.get_running_loop()
        ahead = threading.Semaphore(_EVENTS_AHEAD)

        def later(act: Callable[[], None]) -> None:
            """From the feed's thread: done by the loop, in order, and never more than so many ahead of it."""

            def done() -> None:
                ahead.release()
                act()

            ahead.acquire()
            try:
                loop.call_soon_threadsafe(done)
            except RuntimeError as closed:  # the loop is: nobody is left to hear it
                raise ConnectionAbortedError(str(closed)) from None

        def begin(status: Mapping[str, Any]) -> None:
            if status.get("tournament") != entry.title:
                raise ValueError("another edition runs")
            later(lambda: self._begun(room, status))

        def end() -> None:
            with suppress(ConnectionAbortedError):
                later(lambda: self._ended(entry, room))

        feed = _Feed(path, begin, lambda event: later(lambda: room.take(event)), end)
        self._feeds[entry.name] = feed
        feed.start()

    def _begun(self, room: LiveTournament, status: Mapping[str, Any]) -> None:
        room.begin(status)
        self._tell_doors()

    def _ended(self, entry: TournamentEntry, room: LiveTournament) -> None:
        self._feeds.pop(entry.name, None)
        if room.running:
            room.end()
            self._tell_doors()

    def _tell_doors(self) -> None:
        frame = sse_frame("shown", {"shown": self.shown()})
        for listener in self.doors:
            listener.put("shown", frame)
