"""Where a database may lie: on a disk of this machine that can be written.

Locks and shared memory fail quietly on network file systems.
"""

from __future__ import annotations

import math
import os
import re
from pathlib import Path

from enginetour.model.errors import StorageFailed, StoreRefused

# Locks or mmap differ between machines there: SQLite "How To Corrupt", section 2.1; WAL, "same host".
NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "ncpfs", "lustre", "gpfs", "fuse.sshfs"})
DOUBTFUL = ("9p", "fuse")  # may or may not lead to another machine
MOUNTS = Path("/proc/self/mountinfo")  # proc(5)


def file_system(folder: Path, mounts: str) -> str:
    """Type of the file system that holds `folder`, from the text of mountinfo; "" if it is not told."""
    best, found = -1, ""
    parts = folder.parts
    for line in mounts.splitlines():
        before, dash, after = line.partition(" - ")
        fields = before.split()
        if not dash or len(fields) < 5:
            continue
        point = Path(re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), fields[4])).parts
        if parts[: len(point)] == point and len(point) >= best:  # of equal ones the later mount lies on top
            best, found = len(point), after.split()[0]
    return found


def free_bytes(folder: Path) -> float:
    """Room left on the disk of a folder; infinite where the file system does not tell."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return math.inf  # a folder that is gone is told by the next write
    return found.f_bavail * found.f_frsize if found.f_blocks else math.inf


def check_folder(folder: Path) -> tuple[str, ...]:
    """Warnings about the folder; StoreRefused for a network file system."""
    mounts = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape") if MOUNTS.exists() else ""
    kind = file_system(folder.resolve(), mounts)
    if kind in NETWORK:
        step = "put the database on a local disk: --db PATH"
        raise StoreRefused(
            f"is on a network file system ({kind}), where locks are not safe", place=str(folder), step=step
        )
    if kind.startswith(DOUBTFUL):
        return (f"{folder} is on a {kind} file system: if it leads to another machine, put the database elsewhere",)
    return ()


def refuse_unwritable(database: Path) -> None:
    """StorageFailed before the first engine starts, when the store could not be written anyway."""
    place = database if database.exists() else next(folder for folder in database.parents if folder.exists())
    if not os.access(place, os.W_OK):
        raise StorageFailed("cannot be written", place=str(place), step="check its rights, or choose another --db")


def refuse_second_name(database: Path) -> None:
    """StoreRefused for a file with a hard link.

    Each name has a log and locks of its own; writers by two names spoil the file (SQLite, "How To Corrupt", 2.4).
    """
    if database.exists() and database.stat().st_nlink > 1:
        step = f"make it a file of its own: cp {database.name} new.db; mv new.db {database.name}"
        raise StoreRefused(
            "has a second name (a hard link), by which it could be written too", place=str(database), step=step
        )
