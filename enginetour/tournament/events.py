"""Event log of a run: one event per line as JSON, in files that rotate.

event      fields in addition to `at` (UTC), `event`, `tournament` and `text`
started    games_done, last_game, remaining, resumed, pid, version; paths: options that may make engines open files
game       number, white, black, result, termination, cause, plies, seconds, decisions
incident   game, engine, category, cause; `warning` if it did not cost a point
suspended  engine, cause; engines, cause: no game can start without them, and the run waits
withdrawn  engine, cause: it failed more often than allowed, or did not start; `reserve` takes its place, or ""
paused     cause; `resumed` when games start again
slots      slots, before: the number of concurrent games was changed
asked      cause: another request that was carried out, to finish or about a machine
disk-low   cause
trouble    cause: any other message for the user
finished   games_done
stopped    games_done, remaining, cause
"""

from __future__ import annotations

import errno
import json
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from enginetour.model.errors import os_reason
from enginetour.model.game import Game, Note
from enginetour.store.games import TournamentReader
from enginetour.tournament.scheduler import Scheduler, Watcher

# The database is the complete record; a line that cannot be written to this file is lost. A resumed run reads the file
# only to find its last game. It then adds the later games, because games that were stored just before a kill are only
# in the database.

ROTATE_BYTES = 10_000_000
KEPT = 5  # number of older files; NAME.1 is the newest of them
# Largest number of characters of one text. A line then has a few KB, which is far below the 1 MB that a fault may lose
# (reliability spec 6).
_LONGEST_TEXT = 1000

TAIL = 1 << 16  # bytes read at once from the end


class EventLog:
    """The event log file of a tournament. The writer must hold the tournament's lock.

    `complain` receives a message at the first failure, and again only after the file was writable.
    """

    def __init__(self, path: Path, complain: Callable[[str], None]) -> None:
        self.path = path
        self._complain = complain
        self._complained = False  # reset when the file can be written again

    def __call__(self, event: Mapping[str, object]) -> None:
        """Append an event. Texts are shortened and in ASCII, so that they cannot start a line or move a cursor."""
        try:
            self._append(event_line(event))
            self._complained = False
        except OSError as error:
            if not self._complained:
                self._complained = True
                why = os_reason(error)
                self._complain(f"{self.path} cannot be written ({why}); the tournament continues without it")

    def _append(self, line: bytes) -> None:
        sink = self._opened()
        try:
            size = os.fstat(sink).st_size
            if size and size + len(line) > ROTATE_BYTES:
                os.close(sink)
                sink = -1
                self._rotate()
                sink, size = self._opened(), 0
            size = self._mended(sink, size)
            if os.write(sink, line) < len(line):
                with suppress(OSError):
                    os.ftruncate(sink, size)
                raise OSError(errno.ENOSPC, "")
        finally:
            if sink >= 0:
                os.close(sink)

    def mend(self) -> None:
        """Remove an incomplete last line, which a killed run leaves. If only its line end is missing, add it."""
        with suppress(OSError):
            sink = self._opened(0)
            try:
                self._mended(sink, os.fstat(sink).st_size)
            finally:
                os.close(sink)

    @staticmethod
    def _mended(sink: int, size: int) -> int:
        if not size or os.pread(sink, 1, size - 1) == b"\n":
            return size
        begin = max(0, size - ROTATE_BYTES)
        tail = os.pread(sink, size - begin, begin)
        line = tail[tail.rfind(b"\n") + 1 :]
        # The line is complete but has no line end, or it is not an event.
        if _event(line) or (begin and len(line) == ROTATE_BYTES):
            return size + os.write(sink, b"\n")
        os.ftruncate(sink, size - len(line))
        return size - len(line)

    def backwards(self) -> Iterator[dict[str, Any]]:
        """Yield the events of all kept files, newest first; lines that are not events are skipped."""
        for number in range(KEPT + 1):
            try:
                source = os.open(self._numbered(number), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            except OSError:  # the run may have been killed between renaming the old file and creating the new one
                continue
            try:
                if stat.S_ISREG(os.fstat(source).st_mode):
                    yield from filter(None, map(_event, _lines_backwards(source)))
            finally:
                os.close(source)

    def _opened(self, create: int = os.O_CREAT) -> int:
        """Open the file if it is a regular file. A link would be unsafe, and a pipe would wait for its reader."""
        flags = os.O_RDWR | os.O_APPEND | create | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        sink = os.open(self.path, flags, 0o644)
        if not stat.S_ISREG(os.fstat(sink).st_mode):
            os.close(sink)
            raise OSError(0, "not a regular file")
        return sink

    def _rotate(self) -> None:
        for number in range(KEPT - 1, -1, -1):
            with suppress(FileNotFoundError):
                self._numbered(number).replace(self._numbered(number + 1))

    def _numbered(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}") if number else self.path


def _lines_backwards(source: int) -> Iterator[bytes]:
    """Yield the complete lines of a file, the last line first. An overlong line is split into parts."""
    at, rest = os.fstat(source).st_size, b""
    torn = True
    while at > 0:
        begin = max(0, at - TAIL)
        rest, *lines = (os.pread(source, at - begin, begin) + rest[:ROTATE_BYTES]).split(b"\n")
        at = begin
        for line in reversed(lines):
            if not torn:
                yield line
            torn = False
    if not torn:
        yield rest


def _event(line: bytes) -> dict[str, Any]:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return event if isinstance(event, dict) else {}


def event_line(event: Mapping[str, object]) -> bytes:
    """Encode an event as one JSON object in ASCII with a newline."""
    return json.dumps({key: _cut(value) for key, value in event.items()}, separators=(",", ":")).encode() + b"\n"


def _cut(value: object) -> object:
    if isinstance(value, list):
        return [_cut(item) for item in value]
    return value[:_LONGEST_TEXT] if isinstance(value, str) else value


# Events of a run for its sinks: the event log and notifications.

_PAUSED = "paused by request: games start again after enginetour unpause"
Sink = Callable[[Mapping[str, object]], None]


def make_event(kind: str, tournament: str, at: float, fields: Mapping[str, object], text: str) -> Mapping[str, object]:
    """Return an event for sinks. `at` is its time in seconds since 1970 UTC."""
    stamp = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {"at": stamp, "event": kind, "tournament": tournament, **fields, "text": f"{tournament}: {text}"}


class RunEvents(Watcher):
    """Sends the events of a run to every sink. It finds some changes by comparing states of the scheduler."""

    def __init__(self, tournament: str, sinks: Sequence[Sink], clock: Callable[[], float] = time.time) -> None:
        self.tournament = tournament
        self.sinks = sinks
        self.clock = clock
        self.suspended: set[str] = set()  # as of the last comparison
        self._awaited: tuple[str, ...] = ()
        self._cramped = self._paused = False
        self._slots = 0
        self._said = ""  # the last message; if a pause starts now, it contains the reason

    def tell(self, kind: str, text: str, **fields: object) -> None:
        """Send one event to all sinks."""
        event = make_event(kind, self.tournament, self.clock(), fields, text)
        for sink in self.sinks:
            sink(event)

    def game(self, number: int, game: Game, notes: Sequence[Note]) -> None:
        """Send the game, then its incidents."""
        pairing = game.pairing
        names = f"{pairing.white} - {pairing.black}"
        self.tell(
            "game",
            f"game {number}, {names}: {game.outcome} ({game.cause})",
            number=number,
            white=pairing.white,
            black=pairing.black,
            result=str(game.outcome),
            termination=str(game.termination),
            cause=game.cause,
            plies=game.plies,
            seconds=round(game.ended_unix - game.started_unix, 3),
            decisions=[note.text for note in notes],
        )
        self.incidents(number, game)

    def incidents(self, number: int, game: Game, told: int = 0) -> None:
        """Send the incidents of a game, except the first `told` incidents, which were already sent."""
        names = f"{game.pairing.white} - {game.pairing.black}"
        for incident in game.incidents[told:]:
            self.tell(
                "warning" if incident.is_warning else "incident",
                f"game {number}, {names}: {incident.at_fault}, {incident.category}: {incident.cause}",
                game=number,
                engine=incident.engine,
                category=incident.category,
                cause=incident.cause,
            )

    def trouble(self, text: str) -> None:
        """Send a message for the user."""
        self._said = text
        self.tell("trouble", text, cause=text)

    def asked(self, text: str) -> None:
        """Send an event for a request that has no other event."""
        self.tell("asked", text, cause=text)

    def withdrawn(self, name: str, why: str, reserve: str = "") -> None:
        """Send an event for the withdrawal of an engine by the run, or for its replacement by a reserve."""
        text = f"{reserve} replaces {name}: {why}" if reserve else f"{name} is withdrawn: {why}"
        self.tell("withdrawn", text, engine=name, cause=why, reserve=reserve)

    def progress(self, scheduler: Scheduler) -> None:
        """Send suspensions, pauses and a change of the concurrency since the last call."""
        suspended = scheduler.setbacks.suspended
        for engine in sorted(suspended.keys() - self.suspended - scheduler.setbacks.tried_again):
            self.tell(
                "suspended", f"{engine} is suspended: {suspended[engine]}", engine=engine, cause=suspended[engine]
            )
        self.suspended = suspended.keys() | scheduler.setbacks.tried_again
        awaited = scheduler.standstill.names
        if awaited and not self._awaited:
            self.tell("suspended", self._said, engines=list(awaited), cause=self._said)
        self._awaited = awaited
        slots, before = scheduler.slots, self._slots or scheduler.slots
        if slots != before:
            self.tell("slots", f"concurrency {slots} instead of {before}", slots=slots, before=before)
        self._slots = slots
        cramped, paused = scheduler.setbacks.cramped, scheduler.setbacks.is_pausing() or scheduler.paused
        waits, waited = cramped or paused, self._cramped or self._paused
        if cramped and not self._cramped:
            self.tell("disk-low", self._said, cause=self._said)
        elif waits and not waited:
            cause = self._said if scheduler.setbacks.is_pausing() else _PAUSED
            self.tell("paused", cause, cause=cause)
        elif waited and not waits:
            self.tell("resumed", "games start again")
        self._cramped, self._paused = cramped, paused


def catch_up(log: TournamentReader, journal: EventLog, stopping: Callable[[], bool]) -> int:
    """Write the games that are missing in the event log because of a kill. Return the number of its last game.

    A missing event log is not restored; a new one starts now. The returned number is the last game of the tournament,
    unless `stopping` returned true.
    """
    journal.mend()
    last, told = _reached(log, journal)
    if last is None or last > log.last_number:
        return log.last_number
    at = 0.0
    missed = RunEvents(log.title, (journal,), lambda: at)
    notes = log.decisions(last + 1)
    if last and told is not None:
        game = log.game(last).game
        at = game.ended_unix
        missed.incidents(last, game, told)
    for stored in log.full_games(last + 1):
        if stopping():
            break
        last, at = stored.number, stored.game.ended_unix
        missed.game(last, stored.game, notes.get(last, []))
    return last


def _reached(log: TournamentReader, journal: EventLog) -> tuple[int | None, int | None]:
    """Return the last game in the event log, and how many incidents of this game it contains (None: all).

    The game is None if the event log does not show it. The event `started` of a run contains the number of the last
    game before it.
    """
    told = 0
    for event in journal.backwards():
        if event.get("tournament") != log.title:
            continue
        kind, number, last = event.get("event"), event.get("number"), event.get("last_game")
        if kind in ("incident", "warning"):
            told += 1
        elif kind == "game" and isinstance(number, int):
            return number, told
        elif kind == "started" and isinstance(last, int):
            return last, None
        elif kind == "started" and event.get("resumed") is False:
            return 0, None
    return None, None
