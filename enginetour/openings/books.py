"""Read opening books (PGN, EPD, FEN) as streams.

Every opening must be legal and not over, must not be a threefold repetition or a draw by the fifty-move rule, and
both sides must have a move. Errors name file and line.
"""

from __future__ import annotations

import codecs
import gzip
import os
import re
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from enginetour.interop.files import open_regular, refuse_bomb, refuse_packed
from enginetour.interop.tally import MOST_TAGS
from enginetour.model.errors import InputRefused
from enginetour.model.game import Opening
from enginetour.model.variants import STANDARD, LazyOpenings, tag_fits
from enginetour.openings.positions import (
    LONGEST_LINE,
    MEND_OR_SKIP,
    BadOpening,
    WrittenOpening,
    check_opening,
    decode_line,
    parse_position,
    quote_text,
)

# Opening books as text: PGN, EPD and FEN lines, also compressed, read as a stream and checked game by game.

# Limits for files of users: the longest usual books have about 2.6 million lines of 70 bytes.
_LARGEST_TEXT = 1_000_000_000
_LOOK = 1 << 20  # unpacked bytes between two checks of the compressed size, which needs a system call
MOST_OPENINGS = 5_000_000
LARGE = 1_500_000  # bytes of positions: about 20,000 positions, which take 2 s of CPU time and 10 MB (measured)
PACKED_LARGE = LARGE // 20  # gzip compresses positions by at most a factor of 20
MOST_PLIES = 20_000  # plies of a game (chosen here); the limit bounds the memory
_TAG = re.compile(r'\s*\[\s*(\w+)\s+"((?:\\.|[^"\\])*)"\s*\]\s*')
_LINE_TAG = re.compile(r'\s*\[\s*(\w+)\s+"(.*)"\s*\]\s*')  # tag alone on its line: quotes in it need no backslash
# Text after a move, with or without a space: suffix annotations (PGN standard 8.2.3.8), en passant (FIDE Laws,
# appendix C.13), and symbols of the Chess Informant: better, equal, novelty, diagram.
_BEHIND = re.compile(r"(?:(?<=\d)e\.?p\.?)?[^\w\s]*$")
_SIGNS = frozenset({"N", "TN", "D", "RR", "ep", "e.p", "e.p."})
_NULL_MOVE = "--"
_WORD = re.compile(r"\{|\}|\(|\)|;.*|\$\d+|[^\s{}();$]+")
_NUMBER = re.compile(r"^(?:\d+\.*|\.+)")
_RESULTS = frozenset({"1-0", "0-1", "1/2-1/2", "*"})


@dataclass(slots=True)
class _Game:
    line: int = 0
    tags: dict[str, str] = field(default_factory=dict)
    moves: list[tuple[int, str]] = field(default_factory=list)  # (line, SAN)
    broken: BadOpening | None = None


def read_openings(path: Path, plies: int | None = None, variant: str = STANDARD) -> Iterator[Opening | BadOpening]:
    """Yield the openings of a file in order, cut after `plies`; `index` counts the valid openings from 1."""
    lines = _lines(path)
    pgn, lines = _is_pgn(path, lines)
    found: Iterator[Opening | BadOpening | None]
    if pgn:
        games = _games(lines, variant)
        found = (game if isinstance(game, BadOpening) else check_opening(game, plies, variant) for game in games)
    else:
        found = (_position(line, text, variant) for line, text in lines)
    index = 0
    for opening in found:
        if opening is None:
            continue
        if isinstance(opening, BadOpening):
            yield opening
            continue
        index += 1
        if index > MOST_OPENINGS:
            raise InputRefused(f"more than {MOST_OPENINGS:,} openings", place=str(path), step="use a smaller file")
        yield replace(opening, index=index)


def holds_games(path: Path) -> bool:
    """Return whether a book contains games and not positions."""
    return _is_pgn(path, _lines(path))[0]


def _written_games(path: Path, variant: str = STANDARD) -> Iterator[WrittenOpening | BadOpening]:
    return _games(_lines(path), variant)


def _position(line: int, text: str | BadOpening, variant: str) -> Opening | BadOpening | None:
    return text if isinstance(text, BadOpening) else parse_position(line, text, variant)


def open_large_positions(path: Path) -> BinaryIO | None:
    """Return the open, unpacked file if it has too many positions to load and check as a whole, otherwise None."""
    if not path.is_file() or path.stat().st_size < (PACKED_LARGE if _is_packed(path) else LARGE):
        return None
    pgn, _ = _is_pgn(path, _lines(path))
    if pgn:
        return None
    stream = _unpacked(path) if _is_packed(path) else open_regular(path)
    if stream.seek(0, os.SEEK_END) >= LARGE:
        return stream
    stream.close()
    return None


def _is_packed(path: Path) -> bool:
    with open_regular(path) as raw:
        return raw.read(2) == b"\x1f\x8b"  # RFC 1952, 2.3.1


def _unpacked(path: Path) -> BinaryIO:
    """Return the text of a gzip file as an unnamed temporary file."""
    sink = tempfile.TemporaryFile()  # noqa: SIM115 - it stays open as long as the book
    with open_regular(path) as raw:
        try:
            with gzip.GzipFile(fileobj=raw) as packed:
                while block := packed.read(1 << 20):
                    sink.write(block)
                    refuse_bomb(path, raw.tell(), sink.tell())
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise InputRefused("damaged gzip file", place=str(path), step="download or compress it again") from None
    return cast("BinaryIO", sink)


def _lines(path: Path) -> Iterator[tuple[int, str | BadOpening]]:
    """Yield numbered lines; a line that is too long becomes a `BadOpening`, and its rest is skipped."""
    try:
        with open_regular(path) as raw:
            zipped = raw.read(2) == b"\x1f\x8b"  # RFC 1952, 2.3.1
            raw.seek(0)
            stream = cast("BinaryIO", gzip.GzipFile(fileobj=raw)) if zipped else raw
            number, size, whole, due = 0, 0, True, _LOOK
            while piece := stream.readline(LONGEST_LINE):
                size += len(piece)
                if zipped and size >= due:
                    refuse_bomb(path, raw.tell(), size)
                    due = size + _LOOK
                if size > _LARGEST_TEXT:
                    step = "shorten its games (pgn-extract --plylimit 20), or use a part of the file"
                    raise InputRefused(f"more than {_LARGEST_TEXT:,} bytes of openings", place=str(path), step=step)
                number += whole
                ended = piece.endswith(b"\n")
                if not whole or (not ended and len(piece) == LONGEST_LINE):
                    if whole:
                        yield number, BadOpening(number, f"the line is longer than {LONGEST_LINE:,} bytes")
                    whole = ended
                    continue
                if number == 1:
                    refuse_packed(path, piece)
                yield number, decode_line(piece.removeprefix(codecs.BOM_UTF8) if number == 1 else piece)
    except FileNotFoundError:
        raise InputRefused("opening book not found", place=str(path)) from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise InputRefused("damaged gzip file", place=str(path), step="download or compress it again") from None
    except OSError as error:
        raise InputRefused(f"opening book cannot be read: {error.strerror or error}", place=str(path)) from None


def _is_pgn(
    path: Path, lines: Iterator[tuple[int, str | BadOpening]]
) -> tuple[bool, Iterator[tuple[int, str | BadOpening]]]:
    """Return whether the file is PGN, and all its lines; the name decides, or else the first line with text."""
    kind = Path(path.name.lower().removesuffix(".gz")).suffix
    if kind in (".pgn", ".epd", ".fen"):
        return kind == ".pgn", lines
    seen: list[tuple[int, str | BadOpening]] = []
    pgn = False
    for numbered in lines:
        if numbered[1] == "":
            continue  # a file may begin with millions of empty lines
        seen.append(numbered)
        if isinstance(numbered[1], str) and numbered[1].strip():
            pgn = numbered[1].lstrip().startswith(("[", "1.", "{"))
            break

    def again() -> Iterator[tuple[int, str | BadOpening]]:
        yield from seen
        yield from lines

    return pgn, again()


def _games(lines: Iterator[tuple[int, str | BadOpening]], variant: str) -> Iterator[WrittenOpening | BadOpening]:
    game = _Game()
    comment, depth = False, 0
    for number, text in lines:
        if isinstance(text, BadOpening):
            game.line, game.broken = game.line or number, text
            continue
        if text.startswith("%"):
            continue
        at = 0
        while not (comment or depth) and (tag := _TAG.match(text, at) or _LINE_TAG.fullmatch(text, at)):
            at = tag.end()
            if game.moves or (game.broken and len(game.tags) < MOST_TAGS) or tag[1] in game.tags:
                yield _written(game, variant)
                game = _Game()
            game.line = game.line or number
            if len(game.tags) == MOST_TAGS:
                game.broken = game.broken or BadOpening(number, f"the game has more than {MOST_TAGS:,} tags")
                continue
            game.tags[tag[1]] = tag[2].replace('\\"', '"').replace("\\\\", "\\")
        while at < len(text):
            if comment:
                comment, at = "}" not in text[at:], text.find("}", at) + 1 or len(text)
                continue
            found = _WORD.search(text, at)
            if found is None:
                break
            at, word = found.end(), found[0]
            if word == "{":
                comment = True
            elif word in "()":
                depth = max(0, depth + (1 if word == "(" else -1))
            elif depth or word[0] in ";$}":
                continue
            elif word in _RESULTS:
                if game.line:
                    yield _written(game, variant)
                game = _Game()
            elif san := _move_of(word):
                game.line = game.line or number
                if len(game.moves) < MOST_PLIES:
                    game.moves.append((number, san))
                elif not game.broken:
                    game.broken = BadOpening(number, f"the game has more than {MOST_PLIES:,} plies")
    if comment or depth:
        yield BadOpening(game.line, "a comment or variation is not closed")
    elif game.line:
        yield _written(game, variant)


def _move_of(word: str) -> str:
    """Return the SAN in a word of a game, without number and annotations; "" for a number or symbol."""
    move = word if word.startswith("0-0") else _NUMBER.sub("", word)
    return "" if move in _SIGNS else move if move.rstrip("!?") == _NULL_MOVE else _BEHIND.sub("", move)


def _written(game: _Game, variant: str) -> WrittenOpening | BadOpening:
    if game.broken:
        return game.broken
    tags = game.tags
    if "Variant" in tags and not tag_fits(tags["Variant"], variant):
        return BadOpening(
            game.line, f"the game is of variant {quote_text(tags['Variant'])}, but the variant is {variant}"
        )
    event = tags.get("Event", "?")
    eco = tags.get("ECO", "")
    name = tags.get("Opening") or eco or ("" if event == "?" else event)
    if tags.get("Opening") and tags.get("Variation"):
        name = f"{name}, {tags['Variation']}"
    return WrittenOpening(game.line, name, eco, tags.get("FEN"), tuple(game.moves))


# The games of a PGN book, kept as written; each game is checked on request.
# Reading a game takes an eighth of the time of checking it (60 and 480 us, measured). Large books are read as a
# whole, but only the games that can be needed are checked before game 1.


class _Packed(NamedTuple):
    """A game in a tenth of the memory of `WrittenOpening`; line numbers of moves are read again if necessary."""

    line: int
    name: str
    eco: str
    fen: str | None
    sans: str


class HeldGames(LazyOpenings):
    """Provide all games of a file, cut after `plies`; an invalid game raises InputRefused on request."""

    def __init__(self, path: Path, plies: int | None = None, variant: str = STANDARD) -> None:
        self._path, self._plies, self._variant = path, plies, variant
        self._games: list[_Packed | BadOpening] = []
        for game in _written_games(path, variant):
            if len(self._games) == MOST_OPENINGS:
                raise InputRefused(f"more than {MOST_OPENINGS:,} openings", place=str(path), step="use a smaller file")
            self._games.append(game if isinstance(game, BadOpening) else self._pack(game))

    def __len__(self) -> int:
        return len(self._games)

    def _at(self, number: int) -> Opening:
        game = self._games[number]
        found = game if isinstance(game, BadOpening) else self._check(game)
        if isinstance(found, Opening):
            return replace(found, index=number + 1)
        raise self._error(number)

    def check_readable(self) -> None:
        """Raise InputRefused for the first game that cannot be read, without checking the others."""
        for number, game in enumerate(self._games):
            if isinstance(game, BadOpening):
                raise self._error(number)

    @property
    def longest(self) -> tuple[int, str]:
        """Return plies and name of the longest game, after cutting."""
        games = (game for game in self._games if not isinstance(game, BadOpening))
        plies, name = max(((game.sans.count(" ") + bool(game.sans), game.name) for game in games), default=(0, ""))
        return plies if self._plies is None else min(plies, self._plies), name

    def _pack(self, game: WrittenOpening) -> _Packed:
        # One ply more shows that the game was cut.
        kept = game.sans if self._plies is None else game.sans[: self._plies + 1]
        return _Packed(game.line, game.name, game.eco, game.fen, " ".join(san for _, san in kept))

    def _check(self, game: _Packed) -> Opening | BadOpening:
        sans = tuple((game.line, san) for san in game.sans.split())
        return check_opening(WrittenOpening(game.line, game.name, game.eco, game.fen, sans), self._plies, self._variant)

    def _error(self, number: int) -> InputRefused:
        """Return an error with the line of the invalid move; the file is read again to find it."""
        game = next(islice(_written_games(self._path, self._variant), number, None))
        bad = game if isinstance(game, BadOpening) else check_opening(game, self._plies, self._variant)
        assert isinstance(bad, BadOpening)
        return InputRefused(f"invalid opening: {bad.why}", place=f"{self._path}:{bad.line}", step=MEND_OR_SKIP)
