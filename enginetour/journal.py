"""What a run went through, for people and programs that read along: one event, one JSON line, in files that rotate.

Beside the database, and never its equal: nothing is read back from here, and what cannot be written is lost.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

ROTATE_BYTES = 10_000_000
KEPT = 5  # older files, NAME.1 the youngest
LONGEST_TEXT = (
    1000  # characters of one text: a line is some KB, far below the 1 MB a fault may cost (reliability spec 6)
)


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
            torn = size and os.pread(sink, 1, size - 1) != b"\n"  # a kill or a full disk in the middle of a line
            whole = b"\n" * bool(torn) + line
            if os.write(sink, whole) < len(whole):
                with suppress(OSError):
                    os.ftruncate(sink, size)
                raise OSError(0, "the disk is full")
        finally:
            if sink >= 0:
                os.close(sink)

    def _opened(self) -> int:
        """Only a plain file, never a link or a pipe that would wait for its reader."""
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
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


def line_of(event: Mapping[str, object]) -> bytes:
    """One JSON object in ASCII and a newline."""
    return json.dumps({key: _cut(value) for key, value in event.items()}, separators=(",", ":")).encode() + b"\n"


def _cut(value: object) -> object:
    if isinstance(value, list):
        return [_cut(item) for item in value]
    return value[:LONGEST_TEXT] if isinstance(value, str) else value
