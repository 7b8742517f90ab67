"""One run per tournament: a lock on a file beside the database, which dies with its process.

Its holder takes the file away as it lets go. That is no race: whoever has locked a file looks whether it still has its
name, and takes the one of that name otherwise. A file that a kill left means nothing by itself, and its text is for the
message only: a pid in use by somebody else, or a file left over, needs nothing done by hand.
"""

from __future__ import annotations

import fcntl
import os
import socket
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from enginetour.interop.files import is_there
from enginetour.model.errors import StorageFailed, StoreRefused

if TYPE_CHECKING:
    from sqlalchemy import Connection


_LONGEST = 300  # bytes of a lock's text that are believed


def lock_path(database: Path, slug: str) -> Path:
    """The file whose lock is the tournament's."""
    database = Path(os.path.realpath(database))
    return database.with_name(f"{database.name}.{slug}.lock")


class TournamentLock:
    """Held from `acquire` to `release`, or to the end of the process; a context manager does both."""

    def __init__(self, database: Path | str, slug: str) -> None:
        self.path = lock_path(Path(database), slug)
        self._fd: int | None = None

    def acquire(self) -> None:
        """Take it now or not at all: StoreRefused names who has it, StorageFailed if the file cannot be made."""
        if self._fd is not None:
            raise RuntimeError(f"{self.path} is held by this object already")
        try:
            fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o644)
        except OSError as error:
            step = "check the rights of its folder, and that it is no link"
            raise StorageFailed(f"cannot be locked ({error.strerror})", place=str(self.path), step=step) from error
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            refused = _held(fd)
            os.close(fd)
            raise refused from None
        except OSError as error:
            os.close(fd)
            step = "put the database on a local disk"
            raise StorageFailed(f"cannot be locked ({error.strerror})", place=str(self.path), step=step) from error
        if not is_there(fd, self.path):  # somebody removed it in this moment: a lock on no name keeps nobody out
            os.close(fd)
            self.acquire()
            return
        self._fd = fd
        now = datetime.now(UTC).isoformat(sep=" ", timespec="seconds").removesuffix("+00:00")
        text = f"pid {os.getpid()} on {socket.gethostname()} since {now} UTC\n"
        try:
            os.ftruncate(fd, 0)
            os.pwrite(fd, text.encode("utf-8", "replace"), 0)
        except OSError:
            pass  # a full disk: the lock holds without its text

    def release(self) -> None:
        """Let go, the file first; nothing happens if it was not held."""
        if self._fd is not None:
            with suppress(OSError):  # a folder that may not be written to any more: the file means nothing
                if is_there(self._fd, self.path):  # else it was removed by hand, and this one may be another's
                    self.path.unlink()
            os.close(self._fd)
            self._fd = None

    def is_held(self, connection: Connection) -> bool:  # noqa: ARG002 - a server's lock is asked for by it
        """A lock on an open file is lost with its process alone."""
        return self._fd is not None

    def regain(self) -> None:
        """Take it again."""
        self.acquire()

    def __enter__(self) -> TournamentLock:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def _held(fd: int) -> StoreRefused:
    """What whoever comes second is told."""
    step = "wait for its end, or ask it with: enginetour status"
    return StoreRefused(f"already running{_shown(os.pread(fd, _LONGEST, 0))}", step=step)


def _shown(text: bytes) -> str:
    """The holder's own words, printable and on one line; nothing if it had not written them yet."""
    line = text.decode("utf-8", "replace").partition("\n")[0]
    line = "".join(sign for sign in line if sign.isprintable())
    return f": {line}" if line else ""
