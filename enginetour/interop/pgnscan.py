"""Who played whom with what result, from PGN files of any size: quick where the tags stand as usual, else careful.

The quick way is one regular expression over a piece of the file. It is believed only where it cannot err: every Result
tag of the piece was found by it, and no game began inside a comment. Other pieces go through `TagReader`. Pieces end
where both readers begin anew, so a quick piece may follow a careful one, and two processes may share a file.
"""

from __future__ import annotations

import os
import pickle
import re
import signal
import stat
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

from enginetour.errors import InputRefused
from enginetour.interop.pgntags import TagReader
from enginetour.interop.tally import Tally

PIECE = 1 << 19  # bytes; measured: what is cut from larger pieces leaves the processor's cache
LONGEST_PIECE = 1 << 22  # bytes without the start of a game that are held at once
WORTH_TWO = 40_000_000  # bytes; measured: a fifth of a second of reading, below it the second process saves nothing
TRIES = 64  # places of a piece that are looked at for the start of a game

Progress = Callable[[int], object]

# Every White tag matches, with three empty values unless Black and Result follow on the next lines.
_GAME = re.compile(
    rb'\n\[White "(?:([^\r\n]*)"\]\r?\n\[Black "([^\r\n]*)"\]\r?\n\[Result "([^"\r\n]*)"\](?=[ \t]*[\r\n]))?'
)
_WHITE = b'\n[White "'


def scan(paths: Iterable[Path], progress: Progress = lambda _: None) -> Tally:
    """Count all games of the files. InputRefused for what cannot be read or holds no game.

    `progress` is told how many bytes were read; of packed files, how many they unpack to.
    """
    found: Tally | None = None
    for path in paths:
        try:
            one = _file(path, progress)
        except OSError as error:
            raise InputRefused(f"cannot read: {error.strerror or error}", place=str(path)) from None
        if not one.games and not one.broken_games:
            raise InputRefused("no game in it: no White and Result tags", place=str(path), step="give PGN files")
        if found is None:
            found = one
        else:
            found.join(one)
    return found or Tally()


class _Part:
    """Bytes of a file in order, and the line each piece begins on.

    A plain file is read by place, not mapped: a map of a file that somebody shortens kills the process.
    """

    def __init__(self, path: Path, read: Callable[[int], bytes], start: int = 0, plain: BinaryIO | None = None) -> None:
        self.path = path
        self.read = read
        self.start = start
        self._plain = plain
        self._lines = {0: 0}  # newlines before an offset
        self._seen = 0

    def passed(self, offset: int, piece: bytes) -> None:
        """What cannot be read again is counted as it comes."""
        if self._plain is None:
            self._lines[offset] = self._seen
            self._seen += piece.count(b"\n")

    def place(self, offset: int, number: int) -> str:
        """``file:line`` of the line with that number, from 0, in the piece at the offset."""
        if offset not in self._lines and self._plain is not None:
            at = max(known for known in self._lines if known <= offset)
            lines, begin = self._lines[at], at
            while at < offset and (piece := os.pread(self._plain.fileno(), min(PIECE, offset - at), at)):
                at, lines = at + len(piece), lines + piece.count(b"\n")
            self._lines = {0: 0, begin: self._lines[begin], offset: lines}
        return f"{self.path}:{self._lines[offset] + number + 1}"


def _file(path: Path, progress: Progress) -> Tally:
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        head = file.peek(4)
        if head.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise InputRefused("is UTF-16", place=str(path), step="iconv -f UTF-16 -t UTF-8 FILE > NEW")
        unpacked = _unpacked(path, file, head)
        if unpacked is not None or not stat.S_ISREG(status.st_mode):
            tally = Tally()
            try:
                _read(_Part(path, (unpacked or file).read), tally, progress)
            except (EOFError, zlib.error) as error:
                raise InputRefused(f"cannot be unpacked: {error}", place=str(path), step="gzip -t FILE") from None
            return tally
        middle = _middle(file, status.st_size)
        if middle and (both := _by_two(path, file, middle, status.st_size, progress)):
            return both
        tally = Tally()
        _read(_plain(path, file, 0, status.st_size), tally, progress)
        return tally


def _unpacked(path: Path, file: BinaryIO, head: bytes) -> BinaryIO | None:
    """The file behind the packing, told by its first bytes, not its name."""
    if head.startswith(b"\x1f\x8b"):  # RFC 1952
        import gzip

        return cast("BinaryIO", gzip.GzipFile(fileobj=file))
    if head.startswith(b"\x28\xb5\x2f\xfd"):  # RFC 8878
        from importlib import import_module

        try:
            return cast("BinaryIO", import_module("compression.zstd").ZstdFile(file))
        except ModuleNotFoundError:
            raise InputRefused(
                "zstd needs Python 3.14", place=str(path), step="zstd -dc FILE | enginetour rate /dev/stdin"
            ) from None
    return None


def _plain(path: Path, file: BinaryIO, start: int, stop: int) -> _Part:
    at = start

    def read(size: int) -> bytes:
        nonlocal at
        found = os.pread(file.fileno(), min(size, stop - at), at)
        at += len(found)
        return found

    return _Part(path, read, start, file)


def _middle(file: BinaryIO, size: int) -> int:
    """Where a second process begins; 0 when there is no use or no place for one."""
    if size < WORTH_TWO or len(os.sched_getaffinity(0)) < 2 or threading.active_count() > 1:
        return 0
    around = os.pread(file.fileno(), PIECE, size // 2)
    cut = game_start(around)
    return size // 2 + cut if cut else 0


def _by_two(path: Path, file: BinaryIO, middle: int, size: int, progress: Progress) -> Tally | None:
    """Both halves at once; None when the first one ends in a comment, so that the middle was no start of a game."""
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        code = 1
        try:
            os.close(ours)
            tally = Tally()
            _read(_plain(path, file, middle, size), tally, lambda _: None)
            with os.fdopen(theirs, "wb") as sink:
                pickle.dump(tally, sink, protocol=5)
            code = 0
        finally:
            os._exit(code)
    os.close(theirs)
    try:
        with os.fdopen(ours, "rb") as source:
            first = Tally()
            # Every byte here stands for one of the other half too.
            if not _read(_plain(path, file, 0, middle), first, lambda read: progress(read * size // middle)):
                return None
            try:
                first.join(cast("Tally", pickle.load(source)))  # noqa: S301  our own child wrote it
            except (EOFError, pickle.UnpicklingError):
                return None  # it was killed: read all of it ourselves
            return first
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _read(part: _Part, tally: Tally, progress: Progress) -> bool:
    """Count the games of a part; False when it ends inside a comment."""
    reader = TagReader(tally, part.place)
    settled = True
    for offset, piece, whole in _pieces(part):
        part.passed(offset, piece)
        if not (settled and whole and _quick(piece, tally)):
            reader.feed(offset, piece.removeprefix(b"\xef\xbb\xbf") if not offset else piece, whole=whole)
            settled = whole and reader.settle()
        progress(len(piece))
    reader.finish()
    return settled


def _quick(piece: bytes, tally: Tally) -> bool:
    """Count a piece that begins outside of comments; False, and nothing counted, if it may be read in two ways."""
    if not piece.startswith(b"\n"):
        piece = b"\n" + piece
    games = _GAME.findall(piece)
    if len(games) != piece.count(b"[Result"):
        return False
    # A comment holds no game: between two games braces close after they open.
    if b"{" in piece and any(between.rfind(b"{") > between.rfind(b"}") for between in piece.split(_WHITE)):
        return False
    return tally.add(games)


def _pieces(part: _Part) -> Iterator[tuple[int, bytes, bool]]:
    """Offset, bytes, and whether the next piece begins a game if it does not begin in a comment."""
    at, kept = part.start, b""
    while fresh := part.read(max(PIECE, len(kept))):
        kept += fresh
        cut, whole = game_start(kept), True
        if not cut and len(kept) >= LONGEST_PIECE:
            cut, whole = kept.rfind(b"\n") + 1 or kept.rfind(b"\r") + 1 or len(kept), False
        if cut:
            yield at, kept[:cut], whole
            at, kept = at + cut, kept[cut:]
    if kept:
        yield at, kept, True


def game_start(piece: bytes) -> int:
    """The newline before the last line where a game begins for every reader, unless in a comment; 0 for none."""
    end = len(piece)
    for _ in range(TRIES):
        line = piece.rfind(b"\n\n[", 0, end) + 2
        line = max(line, piece.rfind(b"\n\r\n[", max(0, line - 2), end) + 3)
        if line < 4:
            return 0
        if piece.startswith(b'[Event "', line) or _ends_game(piece, line):
            return line - 1
        end = line - 1
    return 0


def _ends_game(piece: bytes, line: int) -> bool:
    """Whether moves, or a game without moves, stand before the blank line above."""
    above = piece[: line - 1].rstrip(b"\r\n")
    last = above[above.rfind(b"\n") + 1 :]
    if last and not last.isspace() and last[:1] not in (b"[", b"%", b";"):
        return True
    game = _GAME.match(piece, piece.rfind(_WHITE, 0, line - 2))
    return bool(game and game[1] and game.end() == len(above) and piece.startswith(_WHITE[1:], line))
