"""Bounded reads, compressed files, replacement by rename."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from hashlib import sha256
from importlib import import_module
from io import BufferedReader
from pathlib import Path
from types import ModuleType
from typing import BinaryIO, Literal, cast

from enginetour.model.errors import InputRefused, TourError, UsageRefused

# Files as a whole: those of other people read within bounds, packed or not, and ours put in their place by rename.

_NULL_DEVICE = os.makedev(1, 3)  # Linux, Documentation/admin-guide/devices.txt
_UNPACKED_AT_LEAST = 10_000_000  # bytes; what unpacks to less harms nobody
# Measured: a night of games packs 5 times, their tags alone 27, one game again and again 238 (zstd -19); zeros 1029
# times by gzip, and 32 000 by zstd.
_MOST_TIMES = 500
MOST_TAGS = 1000  # of one game of a PGN, our choice: the seven of the standard, and some dozens by the programs in use
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


# A game file as bytes from its front: plain, packed or a pipe, known by its first bytes; and its lines by number.

BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # may begin a file in UTF-8 (RFC 3629, section 6)
_BLOCK = 1 << 19  # bytes read at once to count their lines
_HEAD = 1 << 16  # bytes in which two files with different games differ


class InputPart:
    """Bytes of a file in order, and the line each piece of them begins on.

    A plain file is read by place, not mapped: a map of a file that somebody shortens kills the process.
    """

    def __init__(self, path: Path, read: Callable[[int], bytes], start: int = 0, plain: BinaryIO | None = None) -> None:
        self.path = path
        self.read = read
        self.start = start
        self.mark = 0  # bytes at the front that are no text
        self._plain = plain
        self._lines = {0: 0}  # newlines before an offset
        self._seen = 0

    def passed(self, offset: int, piece: bytes) -> None:
        """What cannot be read again is counted as it comes."""
        if not offset and piece.startswith(BYTE_ORDER_MARK):
            self.mark = len(BYTE_ORDER_MARK)
        if self._plain is None:
            self._lines[offset] = self._seen
            self._seen += piece.count(b"\n")

    def place(self, offset: int, number: int) -> str:
        """``file:line`` of the line with that number, from 0, in the piece at the offset."""
        if offset not in self._lines and self._plain is not None:
            at = max(known for known in self._lines if known <= offset)
            lines, begin = self._lines[at], at
            while at < offset and (piece := os.pread(self._plain.fileno(), min(_BLOCK, offset - at), at)):
                at, lines = at + len(piece), lines + piece.count(b"\n")
            self._lines = {0: 0, begin: self._lines[begin], offset: lines}
        return f"{self.path}:{self._lines[offset] + number + 1}"


@contextmanager
def open_game_file(path: Path) -> Iterator[tuple[InputPart, BinaryIO | None]]:
    """All of a file to be read from its front, unpacked if need be, and the file itself if it may be read by place.

    InputRefused for what cannot be read or unpacked, by whoever reads inside too.
    """
    try:
        with open_regular(path, named=True) as file:
            status = os.fstat(file.fileno())
            head = file.peek(4)
            if head.startswith((b"\xff\xfe", b"\xfe\xff")):
                raise InputRefused("is UTF-16", place=str(path), step="iconv -f UTF-16 -t UTF-8 FILE > NEW")
            unpacked = _unpacked(path, file, head)
            if unpacked is None and stat.S_ISREG(status.st_mode):
                yield plain_part(path, file, 0, status.st_size), file
                return
            try:
                yield InputPart(path, file.read if unpacked is None else _bounded(path, file, unpacked)), None
            except _damages() as error:
                step = "gzip -t FILE or zstd -t FILE tells more"
                raise InputRefused(f"cannot be unpacked: {error}", place=str(path), step=step) from None
    except OSError as error:
        raise InputRefused(f"cannot read: {error.strerror or error}", place=str(path)) from None


def same_content(paths: Sequence[Path]) -> list[list[Path]]:
    """Groups of files whose content, unpacked, is the same. Pipes are left out: they can be read only once."""
    found = [[path for path in paths if path.is_file()]]
    for most in (_HEAD, None):
        alike: dict[tuple[int, bytes], list[Path]] = {}
        for number, group in enumerate(found):
            for path in group:
                alike.setdefault((number, _digest(path, most)), []).append(path)
        found = [group for group in alike.values() if len(group) > 1]
    return found


def _digest(path: Path, most: int | None) -> bytes:
    with open_game_file(path) as (part, _):
        digest = sha256()
        while piece := part.read(most or _BLOCK):
            digest.update(piece)
            if most:
                break
        return digest.digest()


def _unpacked(path: Path, file: BinaryIO, head: bytes) -> BinaryIO | None:
    """The file behind the packing, told by its first bytes, not its name."""
    if head.startswith(b"\x1f\x8b"):  # RFC 1952
        import gzip

        return cast("BinaryIO", gzip.GzipFile(fileobj=file))
    if head.startswith(b"\x28\xb5\x2f\xfd"):  # RFC 8878
        if (zstd := _zstd()) is None:
            step = "pip install 'enginetour[zst]', or unpack it: zstd -d FILE"
            raise InputRefused("zstd needs Python 3.14 or the extra zst", place=str(path), step=step)
        return cast("BinaryIO", zstd.ZstdFile(file))
    return None


def _bounded(path: Path, file: BinaryIO, unpacked: BinaryIO) -> Callable[[int], bytes]:
    size = 0

    def read(most: int) -> bytes:
        nonlocal size
        piece = unpacked.read(most)
        size += len(piece)
        refuse_bomb(path, file.tell(), size)
        return piece

    return read


def _zstd() -> ModuleType | None:
    """PEP 784, from Python 3.14 on or as its backport."""
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return import_module(name)
        except ModuleNotFoundError:
            continue
    return None


def _damages() -> tuple[type[Exception], ...]:
    zstd = _zstd()
    return (EOFError, zlib.error, *((zstd.ZstdError,) if zstd else ()))


def plain_part(path: Path, file: BinaryIO, start: int, stop: int) -> InputPart:
    """From one place of an unpacked file to another."""
    at = start

    def read(size: int) -> bytes:
        nonlocal at
        found = os.pread(file.fileno(), min(size, stop - at), at)
        at += len(found)
        return found

    return InputPart(path, read, start, file)
