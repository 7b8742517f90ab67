"""Scan PGN files of any size: a fast reader for usual files, and a careful reader for everything else.

The fast reader splits a piece of the file at blank lines, reads the tags with one regular expression, and does not read
the moves. If only players and results are wanted, the compiled part (native/games.c) reads usual pieces in half the
time, and in a quarter if there are few moves. A result is used only if it must be correct: each block of tags has
White, Black and Result in the usual order, no line of moves may be a tag, and no game starts inside a comment.
`TagReader` reads all other pieces.
Pieces end where both readers can start, so both can read pieces of one file, and two processes can share a file.
"""

from __future__ import annotations

import os
import pickle
import re
import signal
import stat
import threading
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from hashlib import sha256
from importlib import import_module
from itertools import accumulate
from operator import add
from pathlib import Path
from types import ModuleType
from typing import BinaryIO, TypeVar, cast

from enginetour.interop.compiled import native
from enginetour.interop.files import open_regular, refuse_bomb, refuse_packed
from enginetour.interop.gamepairs import LONGEST_OPENING, UNKNOWN_OPENING, may_have_opening, opening_of
from enginetour.interop.gametags import (
    BLACK_TC,
    DIGEST,
    HANDICAP,
    TERMINATION,
    WHITE_TC,
    GameColumns,
    TagReader,
    contradicts,
    has_other_variant,
    is_odds_tag,
    tags_in,
    tags_of,
)
from enginetour.interop.tally import MOST_TAGS, TERMINATORS, VARIANT, Tally, tag_text
from enginetour.model.errors import InputRefused

BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # may begin a file in UTF-8 (RFC 3629, section 6)
_BLOCK = 1 << 19  # bytes read at once to count their lines
_TAIL = 1 << 16  # bytes at the end of a file that may have the result of its last game
_HEAD = 1 << 16  # bytes; files with different games differ in their first bytes


class InputPart:
    """Read the bytes of a file in order, and remember the line on which each piece starts.

    A plain file is read by position and not mapped: a process is killed if a mapped file is shortened.
    """

    def __init__(self, path: Path, read: Callable[[int], bytes], start: int = 0, plain: BinaryIO | None = None) -> None:
        self.path = path
        self.read = read
        self.start = start
        self.mark = 0  # bytes of a byte order mark at the front
        self._plain = plain
        self._lines = {0: 0}  # number of newlines before an offset
        self._seen = 0

    def passed(self, offset: int, piece: bytes) -> None:
        """Count the lines of a piece if it cannot be read again."""
        if not offset and piece.startswith(BYTE_ORDER_MARK):
            self.mark = len(BYTE_ORDER_MARK)
        if self._plain is None:
            self._lines[offset] = self._seen
            self._seen += piece.count(b"\n")

    def place(self, offset: int, number: int) -> str:
        """Return ``file:line`` of line `number` (from 0) in the piece at `offset`."""
        if offset not in self._lines and self._plain is not None:
            at = max(known for known in self._lines if known <= offset)
            lines, begin = self._lines[at], at
            while at < offset and (piece := os.pread(self._plain.fileno(), min(_BLOCK, offset - at), at)):
                at, lines = at + len(piece), lines + piece.count(b"\n")
            self._lines = {0: 0, begin: self._lines[begin], offset: lines}
        return f"{self.path}:{self._lines[offset] + number + 1}"


@contextmanager
def open_game_file(path: Path) -> Iterator[tuple[InputPart, BinaryIO | None]]:
    """Open a file of games, unpacked if necessary; yield also the file itself if it can be read by position.

    Raise InputRefused for a file that cannot be read or unpacked, also for errors inside the context.
    """
    try:
        with open_regular(path, named=True) as file:
            status = os.fstat(file.fileno())
            head = file.peek(4)
            unpacked = _unpacked(path, file, head)
            if unpacked is None:
                refuse_packed(path, head)
            if unpacked is None and stat.S_ISREG(status.st_mode):
                yield plain_part(path, file, 0, status.st_size), file
                return
            try:
                yield InputPart(path, file.read if unpacked is None else _bounded(path, file, unpacked)), None
            except _damages() as error:
                step = "gzip -t FILE or zstd -t FILE shows details"
                raise InputRefused(f"cannot be unpacked: {error}", place=str(path), step=step) from None
    except OSError as error:
        raise InputRefused(f"cannot be read: {error.strerror or error}", place=str(path)) from None


def same_content(paths: Sequence[Path]) -> list[list[Path]]:
    """Return groups of files with the same unpacked content; pipes are left out, as they can be read only once."""
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
    """Return the unpacked file, or None if the file is not packed; the first bytes decide, not the name."""
    if head.startswith(b"\x1f\x8b"):  # RFC 1952
        import gzip

        return cast("BinaryIO", gzip.GzipFile(fileobj=file))
    if head.startswith(b"\x28\xb5\x2f\xfd"):  # RFC 8878
        if (zstd := _zstd()) is None:
            step = "pip install 'enginetour[zst]', or unpack the file with zstd -d FILE"
            raise InputRefused("zstd files need Python 3.14 or the extra zst", place=str(path), step=step)
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
    """Return the module of PEP 784, from Python 3.14 or the backport, or None if it is not installed."""
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
    """Return a part of an unpacked file from `start` to `stop`."""
    at = start

    def read(size: int) -> bytes:
        nonlocal at
        found = os.pread(file.fileno(), min(size, stop - at), at)
        at += len(found)
        return found

    return InputPart(path, read, start, file)


# Fast reader: who played whom, with what result.

PIECE = 1 << 16  # bytes; glibc maps 128 KiB blocks each time (mallopt(3)), which costs a tenth of the time (measured)
LONGEST_PIECE = 1 << 20  # bytes; largest piece without the start of a game
WORTH_TWO = 5_000_000  # bytes, 50 ms of reading (measured); a second process saves no time for smaller files
START = 4_000_000  # bytes that are read while numpy is imported (measured)
# WORTH_TWO and START are multiplied by this number if the compiled part reads: chosen, because 50 MB then take 60 ms
# with comments and 110 ms without moves (measured).
_COMPILED = 10
_LEAST_TAG = 5  # bytes: [A""]
TRIES = 64  # number of places in a piece that are checked for the start of a game

Progress = Callable[[int], object]
_T = TypeVar("_T", bound=Tally)

# A block of tags: the seven tags in order, or White first, and one tag in each further line (PGN standard 8.1.1).
# The careful reader starts a game at Event or White, so no other tag may come first.
_TAGS = re.compile(
    rb'\n\n\[(?:Event "%(any)b(?:\[Site "%(any)b)?(?:\[Date "([^"\n]*+)"\]\n)?(?:\[Round "%(any)b)?\[)?'
    rb'White "([^"\n]*+)"\]\n\[Black "([^"\n]*+)"\]\n\[Result "([^"\n]*+)"\]((?:\n\[[^\s"].*+)*+)(?=\n\n|\Z)'
    % {b"any": rb'[^"\n]*+"\]\n'}
)
_BLANK = re.compile(rb"\n\n")  # `bytes.split` takes twice the time (measured)
_BETWEEN_GAMES = re.compile(rb"\n\n(?=\[)")
# A line among moves that may be a tag. Comments of programs may begin with [%.
_TAG_LINE = re.compile(rb"\n(?:\n\[|[ \t]*\[(?!%))")
_BEGUN = re.compile(rb"\n[ \t]*\n1\.")  # moves that begin after a blank line
# The test of the first letter excludes most other tags, which takes half the time (measured).
_OF_A_GAME = re.compile(rb"\n\[(?=[BERWberw])(?i:Event|White|Black|Result)[\s\"]")
_TABBED = re.compile(rb"\n\[[^\s\"]*\t")
# A game with only these tags, which may have no moves.
_THREE_TAGS = re.compile(rb'\[White "[^\r\n]*"\]\r?\n\[Black "[^\r\n]*"\]\r?\n\[Result "[^"\r\n]*"\]')
_WHITE = b'\n[White "'
_ODDS = re.compile(rb"\[\s*%b\s" % HANDICAP)
_EVENT = re.compile(rb'\[Event "([^"\n]*)"\]')
_NOTED = (b"Odds ", b"[Handicap ", b"[%s " % WHITE_TC, b"[%s " % VARIANT)  # tags that `GameColumns.note` reads


def scan(paths: Iterable[Path], progress: Progress = lambda _: None, *, take_odds: bool = False) -> Tally:
    """Count all games of the files; raise InputRefused for a file that cannot be read or has no games.

    `progress` is called with the number of bytes read; for packed files, unpacked bytes count. Games with enginetour's
    Handicap tag are set aside unless `take_odds` is true. Games of variants are always set aside.
    """
    return _read_files(paths, lambda: Tally(take_odds=take_odds), progress)


def read_games(
    paths: Iterable[Path],
    events: frozenset[str] = frozenset(),
    progress: Progress = lambda _: None,
    *,
    by_event: bool = False,
    complete: bool = False,
) -> GameColumns:
    """Read all games of the files; games whose tags name one of `events` are also in `claims`.

    Errors and `progress` are as in `scan`. With `by_event` the Event tag of each game is kept. With `complete` the last
    game of a file is left out if its moves break off.
    """
    return _read_files(paths, lambda: GameColumns(events=events, by_event=by_event, complete=complete), progress)


def _read_files(paths: Iterable[Path], new: Callable[[], _T], progress: Progress) -> _T:
    """Read each file into a new tally, and join the tallies."""
    found: _T | None = None
    for path in paths:
        with open_game_file(path) as (part, file):
            one = _by_two(path, file, new, progress) if file else None
            if one is None:
                one = new()
                _read(part, one, progress)
        _refuse_empty(path, one.games + one.broken_games - one.untagged)
        if isinstance(one, GameColumns):
            one.end_file(str(path))
        one.ends.append(one.games)
        if found is None:
            found = one
        else:
            found.join(one)
    return found or new()


def _refuse_empty(path: Path, games: int) -> None:
    if not games:
        raise InputRefused("no games found: White and Result tags are missing", place=str(path), step="use PGN files")


def _is_compiled(tally: Tally) -> bool:
    """Return whether the compiled part reads usual games of this tally."""
    return native is not None and type(tally) is Tally


def _middle(file: BinaryIO, size: int, pace: int) -> int:
    """Return the offset where a second process begins, or 0 if it saves no time or no game starts there.

    The second process reads the larger part. `pace` is 1 if Python reads, otherwise `_COMPILED`.
    """
    if (
        size < WORTH_TWO * pace
        or not hasattr(os, "sched_getaffinity")
        or len(os.sched_getaffinity(0)) < 2
        or threading.active_count() > 1
    ):
        return 0
    near = (size - START * pace) // 2
    cut = game_start(os.pread(file.fileno(), PIECE, near))
    return near + cut if cut else 0


def _by_two(path: Path, file: BinaryIO, new: Callable[[], _T], progress: Progress) -> _T | None:
    """Read both parts at the same time; return None if that saves no time or the first part ends in a comment."""
    size = os.fstat(file.fileno()).st_size
    tally = new()
    middle = _middle(file, size, _COMPILED if _is_compiled(tally) else 1)
    if not middle:
        return None
    ours, theirs = os.pipe()
    reader = os.getpid()
    child = os.fork()
    if not child:
        code = 1
        try:
            os.close(ours)
            _read(plain_part(path, file, middle, size), tally, lambda _: _end_without(reader))
            with os.fdopen(theirs, "wb") as sink:
                pickle.dump(tally, sink, protocol=5)
            code = 0
        finally:
            os._exit(code)
    os.close(theirs)
    try:
        with os.fdopen(ours, "rb") as source:
            # Each byte of this part also represents bytes of the other part.
            if not _read(plain_part(path, file, 0, middle), tally, lambda read: progress(read * size // middle)):
                return None
            import numpy  # noqa: F401, ICN001  needed below; imported while the other process still reads

            try:
                tally.join(cast("_T", pickle.load(source)))  # noqa: S301  written by the child process
            except (EOFError, pickle.UnpicklingError):
                return None  # the child was killed: read the whole file here
            return tally
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _end_without(parent: int) -> None:
    if os.getppid() != parent:
        os._exit(1)


def _read(part: InputPart, tally: Tally, progress: Progress) -> bool:
    """Count the games of a part, piece by piece; return False if the part ends inside a comment."""
    reader = GameReader(tally, part) if isinstance(tally, GameColumns) else TagReader(tally, part.place)
    settled = True
    for offset, piece, whole in _pieces(part):
        part.passed(offset, piece)
        if not (settled and whole and _quick(tally, offset, piece)):
            reader.feed(offset, piece if offset else piece[part.mark :], whole=whole)
            settled = whole and reader.settle()
        progress(len(piece))
        if isinstance(tally, GameColumns) and tally.complete:
            tail = tally.tail[1] + piece
            tally.tail = offset + len(piece) - min(_TAIL, len(tail)), tail[-_TAIL:]
    reader.finish()
    return settled


def _quick(tally: Tally, at: int, piece: bytes) -> bool:
    """Count the games of a piece that begins outside of comments; return False, with nothing counted, if ambiguous."""
    if not at and piece.startswith(BYTE_ORDER_MARK):
        at, piece = len(BYTE_ORDER_MARK), piece[len(BYTE_ORDER_MARK) :]
    if native is not None and _is_compiled(tally):
        found = native.usual_games(piece, tally.names)
        if found is not None:
            return tally.append(*found)
    games = piece.strip(b"\r\n")
    at += piece.index(games[:1])
    ends = b"\r" in games
    if ends:
        if not games.count(b"\r") == games.count(b"\r\n") == games.count(b"\n"):
            return False
        games = games.replace(b"\r\n", b"\n")
    if (parts := _tags_and_moves(games)) is None:
        return False
    blocks, moves = parts
    # `split` takes less time than `findall`, whose tuples would be taken apart again (measured).
    fields, step = _TAGS.split(b"\n\n".join([b"", *blocks])), _TAGS.groups + 1
    if any(fields[::step]):  # text between two blocks that were read
        return False
    dates, whites, blacks, results, others = (fields[first::step] for first in range(1, step))
    tags = b"".join(others)  # all tags but the seven
    # Each line of them has one tag, with a blank after the name, that cannot start another game.
    if tags.count(b"[") != tags.count(b"\n") or _OF_A_GAME.search(tags) or (b"\t" in tags and _TABBED.search(tags)):
        return False
    columns = tally if isinstance(tally, GameColumns) else None
    if columns is None and (
        (not tally.take_odds and HANDICAP in tags and _ODDS.search(tags))
        or (VARIANT in tags and has_other_variant(tags))
    ):
        return False
    contradicted = _contradicted(results, moves)
    if (contradicted and not tally.contradicted_at) or not tally.add(whites, blacks, results):
        return False
    tally.contradicted += contradicted
    if columns is not None:
        texts = [block[1:] + b"\n\n" + own if own else block[1:] for block, own in zip(blocks, moves, strict=True)]
        sizes = map(len, texts) if not ends else (len(text) + text.count(b"\n") + 2 for text in texts)
        columns.offsets.extend(map(add, accumulate(sizes, initial=at), range(0, len(texts) * 3, 3)))  # 3: "\n\n["
        _keep(columns, blocks, moves, dates, others, texts)
    return True


def _tags_and_moves(games: bytes) -> tuple[Sequence[bytes], Sequence[bytes]] | None:
    """Return the block of tags and the moves of each game, or None if the careful reader must read them."""
    parts = _BLANK.split(games)
    blocks, moves = parts[::2], parts[1::2]
    text = b"\n\n".join([b"", *moves])
    # Usually each blank line is between tags and moves. Otherwise a bracket after a blank line starts tags.
    if len(parts) % 2 or not all(moves) or (b"[" in text and _TAG_LINE.search(text)):
        chunks = [chunk.partition(b"\n\n") for chunk in _BETWEEN_GAMES.split(games)]
        blocks, moves = [block for block, _, _ in chunks], [own for _, _, own in chunks]
        if any(blank and not own for _, blank, own in chunks) or any(map(_BEGUN.search, moves)):
            return None
        text = b"\n\n".join([b"", *moves])
        if b"[" in text and _TAG_LINE.search(text):
            return None
    least = MOST_TAGS * _LEAST_TAG
    if max(map(len, blocks)) >= least and any(block.count(b"[") > MOST_TAGS for block in blocks):
        return None
    # No game starts in a comment: the last brace of its moves closes one.
    if b"{" in text and any(own.rfind(b"{") > own.rfind(b"}") for own in moves):
        return None
    return blocks, moves


def _contradicted(results: Sequence[bytes], moves: Sequence[bytes]) -> int:
    if all(map(bytes.endswith, moves, results)) and not set(results) - TERMINATORS.keys():
        return 0
    return sum(
        contradicts(result, own.rstrip().rpartition(b"\n")[2])
        for result, own in zip(results, moves, strict=True)
        if result not in TERMINATORS or not own.endswith(result)
    )


def _pieces(part: InputPart) -> Iterator[tuple[int, bytes, bool]]:
    """Yield offset and bytes of each piece, and whether a game starts after it unless it ends inside a comment."""
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
    """Return the offset of the last line that starts a game unless it is in a comment, or 0."""
    end = len(piece)
    for _ in range(TRIES):
        line = piece.rfind(b"\n\n[", 0, end) + 2
        line = max(line, piece.rfind(b"\n\r\n[", max(0, line - 2), end) + 3)
        if line < 4:
            return 0
        if piece.startswith(b'[Event "', line) or _ends_game(piece, line):
            return line
        end = line - 1
    return 0


def _ends_game(piece: bytes, line: int) -> bool:
    """Return whether moves, or a game without moves, are above the blank line before `line`."""
    above = piece[: line - 1].rstrip(b"\r\n")
    last = above[above.rfind(b"\n") + 1 :]
    goes_on = last.count(b"]") > last.count(b"[")  # end of a tag that began on the line before
    if last and not last.isspace() and last[:1] not in (b"[", b"%", b";") and not goes_on:
        return True
    return piece.startswith(_WHITE[1:], line) and bool(_THREE_TAGS.fullmatch(above, above.rfind(_WHITE) + 1))


# Careful reader of whole games: finds where each game begins and ends, and computes a digest of its bytes.

_KEPT = (b"Event", b"Date", b"Round", b"TimeControl", WHITE_TC, BLACK_TC, b"GameStartTime", VARIANT, TERMINATION)


class _Open:
    """A counted game that has not ended, with digests of its bytes so far; only the first bytes are kept."""

    def __init__(self, tags: dict[bytes, bytes], begin: int) -> None:
        self.tags = tags
        self.begin = begin
        self.read = begin + 1  # offset after the bracket
        self.front = b"["  # the first bytes, with the opening
        self._sum = sha256()  # digest of all bytes
        self._body = self._sum.copy()  # digest of all bytes except white space at the end
        self._held = b""  # carriage return that may be part of a line end

    def feed(self, own: bytes) -> None:
        own = self._held + own
        self._held = b"\r" * own.endswith(b"\r")
        own = own.removesuffix(b"\r").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        self.front += own[: LONGEST_OPENING - len(self.front)]
        body = own.rstrip()
        if body:
            self._sum.update(body)
            self._body = self._sum.copy()
        self._sum.update(own[len(body) :])

    def digest(self) -> bytes:
        return self._body.digest()


class GameReader(TagReader):
    """Count games in columns, as `TagReader` does in a tally; pieces must be consecutive until it is settled."""

    def __init__(self, games: GameColumns, part: InputPart) -> None:
        super().__init__(games, part.place)
        self._games = games
        self._part = part
        self._others: dict[bytes, bytes] = {}
        self._open: _Open | None = None
        self._header_at = 0  # offset of the first line of the current tags
        self._at = 0  # offset of the bytes that may belong to a game that is not counted yet
        self._bytes = b""
        self._fed = 0  # offset of the last piece
        self._lines = array("q")  # offsets of the lines of the last piece
        self._partial_place = 0  # offset of a tag that continues in the next piece

    def feed(self, offset: int, lines: bytes, *, whole: bool = True) -> None:
        """Read the next lines; the bytes of a counted game are added to its digest."""
        here = offset or self._part.mark
        if not self._bytes:
            self._at = here
        self._bytes += lines
        self._lines = array("q", accumulate(map(len, lines.splitlines(keepends=True)), initial=here))
        self._fed = offset
        super().feed(offset, lines, whole=whole)
        passed = here + len(lines)
        if self._partial:
            passed = self._partial_place = self._place_of(self._partial_at)
        if self._broken:
            self._close(self._header_at)
        self._pass(self._header_at if self._header and not self._broken else passed)

    def settle(self) -> bool:
        """Count the last game as `TagReader` does, and end it."""
        settled = super().settle()
        if settled:
            self._close(self._at + len(self._bytes))
            self._bytes = b""
        return settled

    def finish(self) -> None:
        """End the last game at the end of the file."""
        super().finish()
        self._close(self._at + len(self._bytes))

    def _bracket(self, line: bytes, here: tuple[int, int], *, whole: bool = False) -> None:
        super()._bracket(line, here, whole=whole)
        if self._header and self._begun == here:
            self._header_at = self._at + self._bytes.index(b"[", self._place_of(here) - self._at)
        if self._header:
            self._others |= {name: value for name, value in tags_of(line) if name in _KEPT or is_odds_tag(name)}

    def _untagged(self, here: tuple[int, int]) -> None:
        super()._untagged(here)
        self._close(self._place_of(here))

    def _place_of(self, here: tuple[int, int]) -> int:
        """Return the offset of a line of the last piece, or of the tag that it continued."""
        return self._lines[here[1]] if here[0] == self._fed else self._partial_place

    def _end(self) -> None:
        if not self._header:
            return
        named, counted = self._named, self._games.games
        tags = self._others | self._tags
        super()._end()
        if named:
            self._close(self._header_at)
        if self._games.games > counted:
            self._open = _Open(tags, self._header_at)

    def _forget(self) -> None:
        super()._forget()
        self._others = {}

    def _close(self, end: int) -> None:
        self._pass(end)
        if self._open is not None:
            opening = opening_of(self._open.front)
            self._games.keep(self._open.tags, self._open.begin, self._open.digest(), opening)
            self._open = None

    def _pass(self, end: int) -> None:
        """Assign the bytes before `end` to the open game, or to none."""
        if self._open is not None and end > self._open.read:
            self._open.feed(self._bytes[self._open.read - self._at : end - self._at])
            self._open.read = end
        if end > self._at:
            self._bytes, self._at = self._bytes[end - self._at :], end


# Values of single games that the fast reader has counted.


def _keep(
    games: GameColumns,
    blocks: Sequence[bytes],
    moves: Sequence[bytes],
    dates: Sequence[bytes],
    others: Sequence[bytes],
    texts: Sequence[bytes],
) -> None:
    """Keep games with these blocks of tags, moves, dates or b"", tags after Result, and texts without first bracket."""
    tags = b"".join(others)
    dates = [later or date or b"" for date, later in zip(dates, _values(b"Date", tags, others), strict=True)]
    games.days.extend(list(map(games.by_day.__getitem__, dates)))
    games.control.extend(list(map(games.controls.__getitem__, _values(b"TimeControl", tags, others))))
    if games.by_event:
        games.event.extend([games.event_tags[_value(b"Event", b"\n" + block, b"\n[Event ")] for block in blocks])
    games.digests += b"".join([sha256(text.rstrip()).digest()[:DIGEST] for text in texts])
    if may_have_opening(tags, moves):
        games.openings.extend([opening_of(b"[" + text[:LONGEST_OPENING]) for text in texts])
    else:
        games.openings.extend([UNKNOWN_OPENING] * len(texts))
    first = len(games.days) - len(texts)
    if TERMINATION in tags:
        for number, ending in enumerate(_values(TERMINATION, tags, others), first):
            games.end(number, ending)
    if any(words in tags for words in _NOTED):
        for number, block in enumerate(blocks, first):
            games.note(number, tags_in(block))
    if games.events and not games.events.isdisjoint(map(tag_text, set(_EVENT.findall(b"\n".join(blocks))))):
        for number, block in enumerate(blocks, first):
            games.claim(number, tags_in(block))


def _values(name: bytes, tags: bytes, blocks: Sequence[bytes]) -> Sequence[bytes]:
    """Return the value of a tag in each block of lines, or b"" if it is missing; `tags` is all blocks together."""
    sign = b"\n[%s " % name
    return [_value(name, block, sign) for block in blocks] if sign in tags else [b""] * len(blocks)


def _value(name: bytes, header: bytes, sign: bytes) -> bytes:
    at = header.rfind(sign)
    if at < 0:
        return b""
    end = header.find(b"\n", at + 1)
    return _in_line(name, header[at + 1 :] if end < 0 else header[at + 1 : end])


@lru_cache(maxsize=4096)  # a file has few dates and time controls
def _in_line(name: bytes, line: bytes) -> bytes:
    return dict(tags_of(line)).get(name, b"")
