"""What a run went through, for people and programs that read along: one event, one JSON line, in files that rotate.

The database is the record, not this file: a line that cannot be written is lost. A resumed run reads the file only to
find its last game, and adds the later ones: games committed just before a kill are only in the database.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

ROTATE_BYTES = 10_000_000
KEPT = 5  # older files, NAME.1 the youngest
LONGEST_TEXT = (
    1000  # characters of one text: a line is some KB, far below the 1 MB a fault may cost (reliability spec 6)
)

TAIL = 1 << 16  # bytes read at once from the end


class Journal:
    """The file of one tournament; whoever writes holds the tournament's lock. `complain` hears of trouble once."""

    def __init__(self, path: Path, complain: Callable[[str], None]) -> None:
        self.path = path
        self._complain = complain
        self._complained = False  # until it can be written again

    def __call__(self, event: Mapping[str, object]) -> None:
        """Append an event; its texts are cut, and in ASCII, so that none can begin a line or move a cursor."""
        try:
            self._append(line_of(event))
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
        """The size with a last line that is whole."""
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
    """The event of a line; an empty one for anything else."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return event if isinstance(event, dict) else {}


def line_of(event: Mapping[str, object]) -> bytes:
    """One JSON object in ASCII and a newline."""
    return json.dumps({key: _cut(value) for key, value in event.items()}, separators=(",", ":")).encode() + b"\n"


def _cut(value: object) -> object:
    if isinstance(value, list):
        return [_cut(item) for item in value]
    return value[:LONGEST_TEXT] if isinstance(value, str) else value
