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
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, cast

from enginetour.interop.gamefile import Part, opened, plain
from enginetour.interop.oddstags import HANDICAP
from enginetour.interop.pgntags import TagReader, contradicts
from enginetour.interop.tally import TERMINATORS, VARIANT, Tally
from enginetour.interop.wholefile import MOST_TAGS
from enginetour.model.errors import InputRefused

PIECE = 1 << 16  # bytes; glibc maps blocks of 128 KiB anew each time (mallopt(3)): a tenth of the time (measured)
LONGEST_PIECE = 1 << 20  # bytes without the start of a game that are held at once
WORTH_TWO = 5_000_000  # bytes; measured: 50 ms of reading, below it the second process saves nothing
START = 4_000_000  # bytes; measured: as many are read while numpy is imported
LEAST_TAG = 5  # bytes: [A""]
TRIES = 64  # places of a piece that are looked at for the start of a game

Progress = Callable[[int], object]

# Three tags in three lines, and a fourth value that is empty unless each other line is one tag, none of these three:
# those behind them in the block, and those of the next block before its three. Between the blocks is the bracket, alone
# in its line, that `_count` puts there.
_THREE_TAGS = rb'\[White "(?<=\n\[White ")(%(any)b*)"\]%(n)b\[Black "(%(any)b*)"\]%(n)b\[Result "([^"\r\n]*)"\]'
_NEXT_THREE = rb'\[White "%(any)b*%(n)b\[Black "%(any)b*%(n)b\[Result "'
# Most tags are known as others by their first letter, which is tried first: two thirds of the time (measured).
_OTHERS = rb'(?:(?<=[][]%(end)b)\[(?:[AC-QS-VX-Z]|(?!(?i:White|Black|Result)[\s"])\w)[^[]*+)*+'
_BOTH = rb"(?:[^[]*+" + _OTHERS + rb"(?<=\]%(end)b(%(end)b))\[%(end)b" + _OTHERS + rb"(?=" + _NEXT_THREE + rb"|\Z)|)"


def _games_of(n: bytes, sign: bytes, end: bytes) -> re.Pattern[bytes]:
    """Games whose three lines end with `n` and blocks with `end`; `sign` is what stands within a line."""
    return re.compile((_THREE_TAGS + rb"(?=[ \t]*[\r\n])" + _BOTH) % {b"n": n, b"any": sign, b"end": end})


# A bare newline ends a line here too: a block with games in such lines has more than one, and is not plain.
_GAME = _games_of(rb"\r?\n", rb"[^\r\n]", rb"\r\n")
# The same where no carriage return stands: a dot and a bare newline take two thirds of the time (measured).
_GAME_LF = _games_of(rb"\n", b".", rb"\n")
_RESULT_TAG = re.compile(rb"\[\s*Result", re.IGNORECASE)
_ANY_OF_THREE = re.compile(rb'\[\s*(?:White|Black|Result)[\s"]', re.IGNORECASE)
_THREE = 3
_NO_TAG = re.compile(rb"\n(?![\[\r\n])")  # a line among tags
# Among moves, a line that may be one of tags. Comments of programs may begin with [%.
_BRACKET = re.compile(rb"[\r\n](?:\n\[|[ \t]*\[(?!%))")
_BRACKET_LF = re.compile(rb"\n(?:\n\[|[ \t]*\[(?!%))")
_BEGUN = re.compile(rb"\n[ \t]*\r?\n1\.")  # moves that begin behind a blank line
_WHITE = b'\n[White "'
_ODDS = re.compile(rb"\[\s*%b\s" % HANDICAP)
_MAYBE = VARIANT[:1]  # a sign that no move has: where it is missing that is seen in a tenth of the time (measured)


def scan(paths: Iterable[Path], progress: Progress = lambda _: None, *, take_odds: bool = False) -> Tally:
    """Count all games of the files. InputRefused for what cannot be read or holds no game.

    `progress` is told how many bytes were read; of packed files, how many they unpack to. Games with our Handicap tag
    are set aside unless `take_odds`, those of other variants than standard chess always.
    """
    found: Tally | None = None
    for path in paths:
        with opened(path) as (part, file):
            one = (file and _by_two(path, file, progress, take_odds=take_odds)) or _counted(
                part, progress, take_odds=take_odds
            )
        refuse_empty(path, one.games + one.broken_games - one.untagged)
        if found is None:
            found = one
        else:
            found.join(one)
    return found or Tally(take_odds=take_odds)


def refuse_empty(path: Path, games: int) -> None:
    """InputRefused for a file in which nothing looked like a game."""
    if not games:
        raise InputRefused("no game in it: no White and Result tags", place=str(path), step="give PGN files")


def _middle(file: BinaryIO, size: int) -> int:
    """Where a second process begins; 0 when there is no use or no place for one. Its share is the larger one."""
    if size < WORTH_TWO or len(os.sched_getaffinity(0)) < 2 or threading.active_count() > 1:
        return 0
    near = (size - START) // 2
    cut = game_start(os.pread(file.fileno(), PIECE, near))
    return near + cut if cut else 0


def _by_two(path: Path, file: BinaryIO, progress: Progress, *, take_odds: bool) -> Tally | None:
    """Both parts at once; None where that is no use, or the first one ends in a comment: no game starts behind it."""
    size = os.fstat(file.fileno()).st_size
    middle = _middle(file, size)
    if not middle:
        return None
    ours, theirs = os.pipe()
    reader = os.getpid()
    child = os.fork()
    if not child:
        code = 1
        try:
            os.close(ours)
            tally = Tally(take_odds=take_odds)
            _read(plain(path, file, middle, size), tally, lambda _: _end_without(reader))
            with os.fdopen(theirs, "wb") as sink:
                pickle.dump(tally, sink, protocol=5)
            code = 0
        finally:
            os._exit(code)
    os.close(theirs)
    try:
        with os.fdopen(ours, "rb") as source:
            first = Tally(take_odds=take_odds)
            # Every byte here stands for some of the other part too.
            if not _read(plain(path, file, 0, middle), first, lambda read: progress(read * size // middle)):
                return None
            import numpy  # noqa: F401, ICN001  what follows needs it; the other process still reads

            try:
                first.join(cast("Tally", pickle.load(source)))  # noqa: S301  our own child wrote it
            except (EOFError, pickle.UnpicklingError):
                return None  # it was killed: read all of it ourselves
            return first
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _end_without(parent: int) -> None:
    """End the process when its parent has ended: nobody is left to take the result."""
    if os.getppid() != parent:
        os._exit(1)


def _counted(part: Part, progress: Progress, *, take_odds: bool) -> Tally:
    tally = Tally(take_odds=take_odds)
    _read(part, tally, progress)
    return tally


def _read(part: Part, tally: Tally, progress: Progress) -> bool:
    """Count the games of a part; False when it ends inside a comment."""
    return read(part, TagReader(tally, part.place), lambda _, piece: _quick(piece, tally), progress)


def read(part: Part, reader: TagReader, quick: Callable[[int, bytes], bool], progress: Progress) -> bool:
    """Read a part: each piece, with its offset, the quick way or else by the reader. False: it ends in a comment."""
    settled = True
    for offset, piece, whole in _pieces(part):
        part.passed(offset, piece)
        if not (settled and whole and quick(offset, piece)):
            reader.feed(offset, piece if offset else piece[part.mark :], whole=whole)
            settled = whole and reader.settle()
        progress(len(piece))
    reader.finish()
    return settled


def _quick(piece: bytes, tally: Tally) -> bool:
    """Count a piece that begins outside of comments; False, and nothing counted, if it may be read in two ways."""
    piece = piece.strip(b"\r\n")
    if piece[:1] != b"[":
        return False
    end = b"\r\n" if b"\r" in piece else b"\n"
    # As a rule each blank line stands between tags and moves. Else a bracket behind one begins tags.
    parts = piece.split(end + end)
    if len(parts) % 2 == 0 and _count(parts[::2], parts[1::2], end, tally, MOST_TAGS):
        return True
    chunks = [chunk.partition(end + end) for chunk in piece[1:].split(end + end + b"[")]
    moves = [behind.lstrip(b"\r\n") for _, _, behind in chunks]
    untagged = any(map(_BEGUN.search, moves))
    blocks = [b"[" + block for block, _, _ in chunks]
    # One blank line may stand between the tags of a game, so two blocks may have too many tags together.
    return not untagged and _count(blocks, moves, end, tally, MOST_TAGS // 2)


def _count(blocks: Sequence[bytes], moves: Sequence[bytes], end: bytes, tally: Tally, most: int) -> bool:
    """Count one game for each block of tags and the moves after it; False if a block has more than `most` tags.

    Also False, with nothing counted, if the careful reader must read the piece. Lines end with `end`.
    """
    least = most * LEAST_TAG
    if max(map(len, blocks)) >= least and any(block.count(b"[") > most for block in blocks):
        return False
    marked, text = b"\n" + (end + end + b"[" + end).join([*blocks, b""]), b"\n\n".join([b"", *moves])
    game, bracket = (_GAME_LF, _BRACKET_LF) if end == b"\n" else (_GAME, _BRACKET)
    games = game.findall(marked)
    if len(games) != len(blocks):
        return False
    whites, blacks, results, clean = zip(*games, strict=True)
    # In a clean block is one game. Else each must have one, nothing besides tags, and none of the three twice.
    alone = all(clean) and len(_ANY_OF_THREE.findall(blocks[0])) == _THREE
    if not alone and not (
        all(b'[White "' in block for block in blocks)
        and len(_ANY_OF_THREE.findall(marked)) == _THREE * len(games)
        and not _NO_TAG.search(marked)
    ):
        return False
    if (b"[" in text and bracket.search(text)) or not (_closed(text, moves) and _closed(marked, blocks)):
        return False
    if (not tally.take_odds and HANDICAP in marked and _ODDS.search(marked)) or (
        _MAYBE in marked and VARIANT in marked and _names_another(marked)
    ):
        return False
    contradicted = _contradicted(results, moves)
    if (contradicted and not tally.contradicted_at) or not tally.add(whites, blacks, results):
        return False
    tally.contradicted += contradicted
    return True


def results_in(piece: bytes, games: int) -> int:
    """How many Result tags there are, with blanks in their brackets too; quick where each of the games has one."""
    return games if piece.count(b"Result") == games else len(_RESULT_TAG.findall(piece))


def has_untagged(piece: bytes) -> bool:
    """Whether moves begin behind a blank line that no tag stands before."""
    return piece.count(b"]\n\n1.") != piece.count(b"\n\n1.")


def has_many_tags(piece: bytes) -> bool:
    """Return whether a block of tags may have more than `MOST_TAGS` tags.

    Such a block is long, so it is enough to look at every place that is a multiple of its shortest length.
    """
    least, blank = MOST_TAGS * LEAST_TAG, b"\n\n"
    for at in range(least, len(piece), least):
        line = piece.rfind(b"\n", 0, at) + 1
        if piece[line : line + 1] == b"[":
            begin, behind = max(0, piece.rfind(blank, 0, line)), piece.find(blank, line)
            behind = len(piece) if behind < 0 else behind
            if behind - begin >= least and piece.count(b"[", begin, behind) > MOST_TAGS:
                return True
    return False


def _contradicted(results: Sequence[bytes], moves: Sequence[bytes]) -> int:
    """How many games have moves that end with another result than their tag."""
    if all(map(bytes.endswith, moves, results)) and not set(results) - TERMINATORS.keys():
        return 0
    return sum(
        contradicts(result, own.rstrip().rpartition(b"\n")[2])
        for result, own in zip(results, moves, strict=True)
        if result not in TERMINATORS or not own.endswith(result)
    )


def _names_another(piece: bytes) -> bool:
    """A Variant tag says something else than standard chess."""
    from enginetour.interop.varianttags import names_another  # it knows chess: most files have no such tag

    return names_another(piece)


def _closed(text: bytes, parts: Iterable[bytes]) -> bool:
    """Return whether every part closes the comments that it opens: its last brace is a closing one."""
    return b"{" not in text or all(part.rfind(b"{") <= part.rfind(b"}") for part in parts)


def _pieces(part: Part) -> Iterator[tuple[int, bytes, bool]]:
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
    goes_on = last.count(b"]") > last.count(b"[")  # a tag that began in the line before
    if last and not last.isspace() and last[:1] not in (b"[", b"%", b";") and not goes_on:
        return True
    game = (_GAME if b"\r" in piece else _GAME_LF).match(piece, piece.rfind(_WHITE, 0, line - 2) + 1)
    return bool(game and game[1] and game.end(3) + 2 == len(above) and piece.startswith(_WHITE[1:], line))
