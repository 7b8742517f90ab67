"""A game file as bytes from its front: plain, packed or a pipe, known by its first bytes; and its lines by number."""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import BinaryIO, cast

from enginetour.interop.files import open_regular, refuse_bomb
from enginetour.model.errors import InputRefused

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
