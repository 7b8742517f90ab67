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

from enginetour.errors import InputRefused
from enginetour.interop.gamefile import Part, opened, plain
from enginetour.interop.oddstags import HANDICAP
from enginetour.interop.pgntags import TagReader, contradicts
from enginetour.interop.tally import RESULTS, VARIANT, Tally
from enginetour.supervise.strays import hear_parent_death
from enginetour.wholefile import MOST_TAGS

PIECE = 1 << 17  # bytes; measured: with larger ones a third of the time goes into memory that malloc gives back
LONGEST_PIECE = 1 << 20  # bytes without the start of a game that are held at once
WORTH_TWO = 5_000_000  # bytes; measured: 50 ms of reading, below it the second process saves nothing
START = 4_000_000  # bytes; measured: as many are read while numpy is imported
LONG_GAME = 1000  # bytes; measured: in shorter games one search of the whole piece is quicker than one a header
LEAST_TAG = 5  # bytes: [A""]
TRIES = 64  # places of a piece that are looked at for the start of a game

Progress = Callable[[int], object]

# Every White tag matches, with empty values unless Black and Result follow on the next lines.
_TAGS = rb'\n\[White "(?:(%(any)b*)"\]%(n)b\[Black "(%(any)b*)"\]%(n)b\[Result "([^"\r\n]*)"\](?=[ \t]*[\r\n])'
# The moves must be searched for the next White tag anyway, so a look at the result behind them takes little time. The
# fourth value is empty unless one tag a line follows, none of these three, and then moves that end with the result of
# the tag, before a blank line and another tag than White, or before the end of the piece.
_MORE = rb"(?:%(n)b\[(?!\s*(?:White|Black|Result)\s)[^[\r\n]*)*+%(n)b%(n)b[^[]*+(?:\[%%[^[]*+)*+"
_ENDS = rb'(?<="%(result)b"\])%(more)b(?:(?<=%(last)b%(end)b%(end)b)|(?<=%(last)b%(cut)b)\Z)'
_LAST = 3  # characters that tell a result from another one


def _games_between(n: bytes, end: bytes, sign: bytes) -> re.Pattern[bytes]:
    """Games in lines that end with `end`, which `n` matches; `sign` is what stands within a line."""
    line = {b"n": n, b"end": end, b"any": sign, b"cut": (end + end)[:-1]}
    line[b"more"] = _MORE % line
    ends = b"|".join(_ENDS % {**line, b"result": result, b"last": result[-_LAST:]} for result in RESULTS)
    return re.compile(_TAGS % line + rb"(?:(?:%b)(?<=(\s))(?!\[White )|)|)" % ends)


_GAME = _games_between(rb"\r?\n", b"\r\n", rb"[^\r\n]")
# The same where no carriage return stands: a dot and a bare newline take two thirds of the time (measured).
_GAME_LF = _games_between(rb"\n", b"\n", b".")
_RESULT_TAG = re.compile(rb"\[\s*Result", re.IGNORECASE)
_WHITE_TAG = re.compile(rb'\[\s*White[\s"]', re.IGNORECASE)
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
    child = os.fork()
    if not child:
        code = 1
        try:
            os.close(ours)
            hear_parent_death(signal.SIGKILL)  # a signal that ends who asked for the list ends us too
            tally = Tally(take_odds=take_odds)
            _read(plain(path, file, middle, size), tally, lambda _: None)
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
    if not piece.startswith(b"\n"):
        piece = b"\n" + piece
    end, game = (b"\r\n", _GAME) if b"\r" in piece else (b"\n", _GAME_LF)
    if b"{" in piece:
        found = list(game.finditer(piece))
        if not _closed(piece, found):
            return False
        if (not tally.take_odds and _has(HANDICAP, piece, found) and _ODDS.search(piece)) or (
            _MAYBE in piece and _has(VARIANT, piece, found) and _names_another(piece)
        ):
            return False
        games = [each.groups(b"") for each in found]
    else:
        games = game.findall(piece)
        if (not tally.take_odds and HANDICAP in piece and _ODDS.search(piece)) or (
            _MAYBE in piece and VARIANT in piece and _names_another(piece)
        ):
            return False
    if not games:
        return False
    if has_untagged(piece, end) or has_many_tags(piece, end):
        return False
    whites, blacks, results, agree = zip(*games, strict=True)
    contradicted: int | None = 0
    # All agree and each block of tags has one of them: then there is nothing else that could be a game.
    blocks = piece.count(b"\n%b[" % end) + piece.startswith(b"\n[")
    if blocks != len(games) or not all(agree):
        if not len(games) == len(_RESULT_TAG.findall(piece)) == len(_WHITE_TAG.findall(piece)):
            return False
        if has_many_tags(piece, end, MOST_TAGS // 2):  # one blank line may stand between the tags of a game
            return False
        contradicted = _contradicted(piece, results, end)
    if contradicted is None or (contradicted and not tally.contradicted_at):
        return False
    if not tally.add(whites, blacks, results):
        return False
    tally.contradicted += contradicted
    return True


def results_in(piece: bytes, games: int) -> int:
    """How many Result tags there are, with blanks in their brackets too; quick where each of the games has one."""
    return games if piece.count(b"Result") == games else len(_RESULT_TAG.findall(piece))


def has_untagged(piece: bytes, end: bytes = b"\n") -> bool:
    """Whether moves begin behind a blank line that no tag stands before. Lines end with `end`."""
    begun = b"%b%b1." % (end, end)
    return piece.count(b"]" + begun) != piece.count(begun)


def has_many_tags(piece: bytes, end: bytes = b"\n", most: int = MOST_TAGS) -> bool:
    """Whether a block of tags may have more than so many: so long a one is met by looking at a few places."""
    least, blank = most * LEAST_TAG, b"\n" + end
    for at in range(least, len(piece), least):
        line = piece.rfind(b"\n", 0, at) + 1
        if piece[line : line + 1] == b"[":
            begin, behind = max(0, piece.rfind(blank, 0, line)), piece.find(blank, line)
            behind = len(piece) if behind < 0 else behind
            if behind - begin >= least and piece.count(b"[", begin, behind) > most:
                return True
    return False


def _contradicted(piece: bytes, results: Sequence[bytes], end: bytes) -> int | None:
    """Games whose moves end with another result than their tag; None where it is not plain where games end."""
    parts = piece.split(b"\n%b[" % end)
    if parts[0].strip() and not parts[0].startswith(b"\n["):
        return None
    parts = parts[-len(results) :] if len(parts) in (len(results), len(results) + 1) else []
    if not parts:
        return None
    lasts = (own.rstrip().rpartition(b"\n")[2] for own in parts)
    return sum(map(contradicts, results, lasts))


def _names_another(piece: bytes) -> bool:
    """A Variant tag says something else than standard chess."""
    from enginetour.interop.varianttags import names_another  # it knows chess: most files have no such tag

    return names_another(piece)


def _has(word: bytes, piece: bytes, found: Sequence[re.Match[bytes]]) -> bool:
    """The word is in the piece. Where games are long only their headers are looked at."""
    if len(piece) < LONG_GAME * len(found):
        return word in piece
    blank = b"\n\r\n" if b"\r" in piece else b"\n\n"
    ends = ((game.end(3), piece.find(blank, game.end(3))) for game in found)
    return any(piece.find(word, begin, end if end > 0 else len(piece)) >= 0 for begin, end in ends)


def _closed(piece: bytes, found: Iterable[re.Match[bytes]]) -> bool:
    """Whether no game is in a comment: between two games braces close after they open."""
    ends = 0
    for start in (*(game.start() for game in found), len(piece)):
        if piece.rfind(b"{", ends, start) > piece.rfind(b"}", ends, start):
            return False
        ends = start
    return True


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
    game = _GAME.match(piece, piece.rfind(_WHITE, 0, line - 2))
    return bool(game and game[1] and game.end(3) + 2 == len(above) and piece.startswith(_WHITE[1:], line))
