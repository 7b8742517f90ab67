"""Bounded reads, replacement by rename, bundled files."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, Literal

from enginetour.model.errors import InputRefused, TourError, UsageRefused

# Files as a whole: those of other people read within bounds, packed or not, and ours put in their place by rename.

_NULL_DEVICE = os.makedev(1, 3)  # Linux, Documentation/admin-guide/devices.txt
_UNPACKED_AT_LEAST = 10_000_000  # bytes; what unpacks to less harms nobody
# Measured: a night of games packs 5 times, their tags alone 27, one game again and again 238 (zstd -19); zeros 1029
# times by gzip, and 32 000 by zstd.
_MOST_TIMES = 500
SQLITE_MAGIC = b"SQLite format 3\x00"  # SQLite file format 1.3


_FLAGGED = re.compile(r"(--?\w[\w-]*=)(.+)", re.DOTALL)


def split_flag(argument: str) -> tuple[str, str]:
    """``--weights=net.pb`` as ``--weights=`` and ``net.pb``; of any other argument all is the word."""
    flagged = _FLAGGED.fullmatch(argument)
    return (flagged[1], flagged[2]) if flagged else ("", argument)


def refuse_special(path: Path, *, named: bool = False) -> None:
    """InputRefused for what is not a regular file: reading a device or a pipe may wait for ever.

    A pipe may be read where the user named it on the command line: `named`. The null device is an empty file.
    """
    found = path.stat()
    kind = found.st_mode
    if stat.S_ISREG(kind) or stat.S_ISDIR(kind) or (named and stat.S_ISFIFO(kind)) or found.st_rdev == _NULL_DEVICE:
        return  # a folder has other words for it
    what = "a pipe" if stat.S_ISFIFO(kind) else "a socket" if stat.S_ISSOCK(kind) else "a device"
    raise InputRefused(
        f"found {what}, expected a regular file{' or a pipe' if named else ''}",
        place=str(path),
        step="save its content in a file, and give that file",
    )


def open_regular(path: Path, *, named: bool = False) -> BufferedReader:
    """A file to be read from its start, InputRefused as `refuse_special`. OSError is for the caller to explain."""
    refuse_special(path, named=named)
    return path.open("rb")


def read_whole(path: Path, largest: int, *, named: bool = True) -> bytes:
    """All bytes of a file of at most `largest`; InputRefused for a larger one, and as `refuse_special`.

    OSError is the caller's to tell. One byte more is read at most: pipes have no size to be asked for.
    """
    with open_regular(path, named=named) as source:
        content = source.read(largest + 1)
    if len(content) > largest:
        raise InputRefused(f"more than {largest:,} bytes", place=str(path), step="is it the right file?")
    return content


def refuse_bomb(path: Path, packed: int, unpacked: int) -> None:
    """InputRefused for a file that unpacks to far more than any text does; both are bytes so far."""
    if unpacked > _UNPACKED_AT_LEAST and unpacked > _MOST_TIMES * packed:
        what = f"unpacks to more than {_MOST_TIMES} times its size, as no game file does"
        raise InputRefused(what, place=str(path), step="if it is one all the same, unpack it first")


def file_digest(path: Path) -> str:
    """128 bits of the bytes as they are on the disk; 200 MB take a quarter of a second of processor (measured)."""
    with open_regular(path) as source:
        return hashlib.file_digest(source, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def is_special(path: Path) -> bool:
    """A device, pipe or socket lies there, or is linked to: to be written into, never to be replaced by a file."""
    try:
        kind = path.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(kind) and not stat.S_ISDIR(kind)


def refuse_valuable(path: Path, place: str) -> None:
    """UsageRefused where a table would take the place of what nobody can make anew: games, a configuration, an engine.

    What cannot be looked at is refused when it is written.
    """
    what = "a configuration or an engine file" if path.suffix.lower() == ".toml" and path.is_file() else ""
    if not what and path.is_file():
        with suppress(OSError), path.open("rb") as source:
            what = "a database" if source.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC else ""
    if what:
        raise UsageRefused(f"{path} is {what}", place=place, step="choose another name")


def replace_file(path: Path, chunks: Iterable[str]) -> None:
    """A text as `replace_bytes`, in a folder that is made where there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_bytes(path, (chunk.encode("utf-8") for chunk in chunks))


def replace_bytes(path: Path, chunks: Iterable[bytes]) -> None:
    """Write beside, sync, rename, sync the folder: readers see the old file or the new one, never a part.

    What is no plain file (/dev/null, a named pipe) is written into.
    """
    if is_special(path):
        with named_errors(path), path.open("wb") as device:
            device.writelines(chunks)
        return
    with named_errors(path), replacement_file(path) as sink:
        sink.writelines(chunks)
        sink.flush()
        os.fsync(sink.fileno())
        Path(sink.name).replace(path)
    sync_directory(path.parent)


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """What fails names the file asked for: one that is open already names none, ours beside it nobody knows."""
    try:
        yield
    except OSError as error:
        if not error.filename or Path(os.fsdecode(error.filename)).name.startswith(f".{path.name}."):
            error.filename = str(path)
        raise


@contextmanager
def replacement_file(path: Path, mode: int = 0o666) -> Iterator[BinaryIO]:
    """An empty file of our own to be renamed, with the rights of `mode` less the umask.

    Its name is always the same, so a kill leaves one at most. It is gone afterwards unless it was renamed.
    BlockingIOError while somebody else makes a file for the same path, who might be stopped: nobody waits for it.
    OSError where a link has that name: it was not we who made it.
    """
    name = path.with_name(f".{path.name}.new")
    while True:
        with open(name, "ab", opener=partial(_no_link, mode)) as sink:
            fcntl.flock(sink, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not has_name(sink.fileno(), name):
                continue  # it was renamed in this moment: that is the other's file
            try:
                sink.truncate(0)
                yield sink
            finally:
                if has_name(sink.fileno(), name):  # else the name may be the next one's
                    name.unlink()
            return


def _no_link(mode: int, name: str, flags: int) -> int:
    return os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK, mode)


def has_name(fd: int, path: Path) -> bool:
    """An open file still has that name."""
    try:
        return os.path.samestat(os.fstat(fd), path.lstat())
    except FileNotFoundError:
        return False


def sync_directory(folder: Path) -> None:
    """The names in it are durable on return."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# What comes with the program: the folders ``engines`` and ``configs``, in a checkout as in an installed wheel.


def bundled_directory(folder: Literal["engines", "configs"]) -> Path:
    """Absolute path of a shipped folder. A wheel keeps it inside the package, a checkout beside it."""
    package = Path(__file__).resolve().parents[1]
    for place in (package / "shipped" / folder, package.parent / folder):
        if place.is_dir():
            return place
    raise TourError(
        f"the folder {folder} of the program is missing", place=str(package), step="install enginetour anew"
    )


def bundled_openings() -> Path:
    """Our own opening suite, used when a configuration names none."""
    return bundled_directory("configs") / "suite.pgn"
