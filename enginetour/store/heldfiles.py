"""Are the files we hold open still those under their names? What lies in one without a name goes with its last user."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from enginetour.model.errors import StorageFailed

_Identity = tuple[int, int]  # device and inode
OPEN_HERE = Path("/proc/self/fd")  # proc(5)
NAMELESS = " (deleted)"  # what the kernel says behind the name a file had: proc(5), /proc/pid/fd


class HeldFiles:
    """A database file and its log, as they were when we opened them."""

    def __init__(self, path: Path, log: Path) -> None:
        self._path, self._log = path, log
        self._file = identity(path)
        self._known_log: _Identity | None = None  # the one we last knew to be ours

    def require(self) -> None:
        """StorageFailed if one was removed or replaced. To be called in a transaction: its connection holds the log."""
        if identity(self._path) != self._file:
            what = "was removed or replaced while it was in use"
            raise StorageFailed(what, place=str(self._path), step="put it back and run again")
        found = identity(self._log)
        if found is None or found != self._known_log:
            if _is_nameless(self._log):  # closing folds its games into the file; with us killed they would be lost
                raise StorageFailed("was removed while it was in use", place=str(self._log), step="run again")
            self._known_log = found


def identity(path: Path) -> _Identity | None:
    """The file of this name, whoever opened it; None where there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _is_nameless(path: Path) -> bool:
    """We hold a file open that had this name. SQLite itself removes a log only after it has closed it."""
    had = f"{path}{NAMELESS}"
    for link in OPEN_HERE.iterdir() if OPEN_HERE.is_dir() else ():
        with suppress(OSError):  # closed by another thread meanwhile
            if str(link.readlink()) == had:
                return True
    return False
