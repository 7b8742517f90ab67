"""Event log of a run: one event, one JSON line, in files that rotate.

event      fields beside `at` (UTC), `event`, `tournament` and `text`
started    games_done, last_game, remaining, resumed, pid, version; paths: options that may make engines open files
game       number, white, black, result, termination, cause, plies, seconds, decisions
incident   game, engine, category, cause; a warning instead where it cost nobody a point
suspended  engine, cause; engines, cause: they are waited for, nothing else can be played
withdrawn  engine, cause: it was waited for in vain
paused     cause; resumed when games begin again
slots      slots, before: somebody asked for more or fewer
asked      cause: another order that was carried out, to finish or about a machine
disk-low   cause
trouble    cause: whatever else the user should read now
finished   games_done
stopped    games_done, remaining, cause
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from enginetour.model.game import Game, Note
from enginetour.store.games import TournamentReader
from enginetour.tournament.scheduler import Scheduler, Watcher

# What a run went through, for people and programs that read along: one event, one JSON line, in files that rotate.
#
# The database is the record, not this file: a line that cannot be written is lost. A resumed run reads the file only to
# find its last game, and adds the later ones: games committed just before a kill are only in the database.

ROTATE_BYTES = 10_000_000
KEPT = 5  # older files, NAME.1 the youngest
_LONGEST_TEXT = (
    1000  # characters of one text: a line is some KB, far below the 1 MB a fault may cost (reliability spec 6)
)

TAIL = 1 << 16  # bytes read at once from the end


class EventLog:
    """The file of one tournament; whoever writes holds the tournament's lock. `complain` hears of trouble once."""

    def __init__(self, path: Path, complain: Callable[[str], None]) -> None:
        self.path = path
        self._complain = complain
        self._complained = False  # until it can be written again

    def __call__(self, event: Mapping[str, object]) -> None:
        """Append an event; its texts are cut, and in ASCII, so that none can begin a line or move a cursor."""
        try:
            self._append(event_line(event))
            self._complained = False
        except OSError as error:
            if not self._complained:
                self._complained = True
                self._complain(f"{self.path} not written ({error.strerror}); the tournament goes on without it")

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
                raise OSError(0, "the disk is full")
        finally:
            if sink >= 0:
                os.close(sink)

    def mend(self) -> None:
        """Remove an incomplete last line, which a kill leaves; add the line end if only that is missing."""
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
        if _event(line) or (begin and len(line) == ROTATE_BYTES):  # an editor's last line; no line of ours
            return size + os.write(sink, b"\n")
        os.ftruncate(sink, size - len(line))
        return size - len(line)

    def backwards(self) -> Iterator[dict[str, Any]]:
        """Yield the events of all kept files, newest first; lines that are not events are skipped."""
        for number in range(KEPT + 1):
            try:
                source = os.open(self._numbered(number), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            except OSError:  # a kill may have come between the old file's new name and the new file
                continue
            try:
                if stat.S_ISREG(os.fstat(source).st_mode):
                    yield from filter(None, map(_event, _lines_backwards(source)))
            finally:
                os.close(source)

    def _opened(self, create: int = os.O_CREAT) -> int:
        """Only a plain file, never a link or a pipe that would wait for its reader."""
        flags = os.O_RDWR | os.O_APPEND | create | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        sink = os.open(self.path, flags, 0o644)
        if not stat.S_ISREG(os.fstat(sink).st_mode):
            os.close(sink)
            raise OSError(0, "it is no plain file")
        return sink

    def _rotate(self) -> None:
        for number in range(KEPT - 1, -1, -1):
            with suppress(FileNotFoundError):
                self._numbered(number).replace(self._numbered(number + 1))

    def _numbered(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}") if number else self.path


def _lines_backwards(source: int) -> Iterator[bytes]:
    """The lines of a file that have an end, the last one first; of one that no file of ours can hold, parts."""
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
    """One JSON object in ASCII and a newline."""
    return json.dumps({key: _cut(value) for key, value in event.items()}, separators=(",", ":")).encode() + b"\n"


def _cut(value: object) -> object:
    if isinstance(value, list):
        return [_cut(item) for item in value]
    return value[:_LONGEST_TEXT] if isinstance(value, str) else value


# Events of a run for its sinks: the event log and notifications.

_PAUSED = "paused as asked: games begin again after enginetour unpause"
Sink = Callable[[Mapping[str, object]], None]


def make_event(kind: str, tournament: str, at: float, fields: Mapping[str, object], text: str) -> Mapping[str, object]:
    """An event as every sink has it; `at` in UTC seconds."""
    stamp = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {"at": stamp, "event": kind, "tournament": tournament, **fields, "text": f"{tournament}: {text}"}


class RunEvents(Watcher):
    """Tells every sink what becomes of one run; what the scheduler does not say is seen by looking at it."""

    def __init__(self, tournament: str, sinks: Sequence[Sink], clock: Callable[[], float] = time.time) -> None:
        self.tournament = tournament
        self.sinks = sinks
        self.clock = clock
        self.suspended: set[str] = set()  # as they were last seen
        self._awaited: tuple[str, ...] = ()
        self._cramped = self._paused = False
        self._slots = 0
        self._said = ""  # the last trouble: the reason of a pause that begins with it

    def tell(self, kind: str, text: str, **fields: object) -> None:
        """One event to all."""
        event = make_event(kind, self.tournament, self.clock(), fields, text)
        for sink in self.sinks:
            sink(event)

    def game(self, number: int, game: Game, notes: Sequence[Note]) -> None:
        """The game, then what was wrong in it."""
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
        """What was wrong in a game, but the first `told` incidents of it."""
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
        """Whatever it is."""
        self._said = text
        self.tell("trouble", text, cause=text)

    def asked(self, text: str) -> None:
        """Somebody's order, of which nothing else here tells."""
        self.tell("asked", text, cause=text)

    def withdrawn(self, name: str, why: str) -> None:
        """The run goes on without it."""
        self.tell("withdrawn", f"{name} is withdrawn: it {why}", engine=name, cause=why)

    def progress(self, scheduler: Scheduler) -> None:
        """Engines set aside and pauses, by what has changed since the last look."""
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
            self.tell("slots", f"{slots} slot{'s' * (slots != 1)} instead of {before}", slots=slots, before=before)
        self._slots = slots
        cramped, paused = scheduler.setbacks.cramped, scheduler.setbacks.is_pausing() or scheduler.paused
        waits, waited = cramped or paused, self._cramped or self._paused
        if cramped and not self._cramped:
            self.tell("disk-low", self._said, cause=self._said)
        elif waits and not waited:
            cause = self._said if scheduler.setbacks.is_pausing() else _PAUSED
            self.tell("paused", cause, cause=cause)
        elif waited and not waits:
            self.tell("resumed", "games begin again")
        self._cramped, self._paused = cramped, paused


def catch_up(log: TournamentReader, journal: EventLog, stopping: Callable[[], bool]) -> int:
    """Write the games that the journal lacks because a kill came between them and their lines, as if it had not come.

    A journal that is not there begins now: somebody took it away. The number of the last game that is in it, which is
    that of the last game of the log unless `stopping`.
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
    """The last game in the journal, None if nothing there says so, and how many of its incidents are in it, if not all.

    A run begins with the number of the last game before it.
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
