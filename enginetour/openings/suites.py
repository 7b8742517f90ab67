"""Opening books: PGN, EPD, FEN as streams.

Every opening must parse, be legal, not be over, not stand at a threefold repetition or the fifty-move rule,
and leave both sides a move; what fails is told with file and line.
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

from enginetour.interop.files import open_regular, refuse_bomb
from enginetour.interop.tally import MOST_TAGS
from enginetour.model.errors import InputRefused
from enginetour.model.game import Opening
from enginetour.model.variants import STANDARD, LazyOpenings, tag_fits
from enginetour.openings.positions import (
    LONGEST_LINE,
    BadOpening,
    WrittenOpening,
    check_opening,
    decode_line,
    parse_position,
    quote_text,
)

# Opening suites as text: PGN, EPD and plain FEN lines, also compressed, read as a stream and checked game by game.

# Bounds on other people's files: the longest books in use have about 2.6 million lines of 70 bytes.
_LARGEST_TEXT = 1_000_000_000
_LOOK = 1 << 20  # bytes unpacked between two looks at how many they were packed: each is a system call
MOST_OPENINGS = 5_000_000
LARGE = 1_500_000  # bytes of positions: 20 000 of them, which take 2 s of processor and 10 MB (measured)
PACKED_LARGE = LARGE // 20  # as gzip packs positions at best
MOST_PLIES = 20_000  # of a game, our choice: what is held of one has an end
_TAG = re.compile(r'\s*\[\s*(\w+)\s+"((?:\\.|[^"\\])*)"\s*\]\s*')
_LINE_TAG = re.compile(r'\s*\[\s*(\w+)\s+"(.*)"\s*\]\s*')  # alone on its line: quotes in it need no backslash
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_PACKERS = {
    b"PK\3\4": "zip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"7z\xbc\xaf": "7z",
    b"Rar!": "rar",
    b"\x28\xb5\x2f\xfd": "zstd",
}
# What is written behind a move, with or without a blank: suffix annotations (PGN standard 8.2.3.8), en passant (FIDE
# Laws, appendix C.13), and the signs of the Chess Informant: better, equal, novelty, diagram.
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


def read_suite(path: Path, plies: int | None = None, variant: str = STANDARD) -> Iterator[Opening | BadOpening]:
    """Openings of a file in its order, cut after `plies`; `index` counts the good ones from 1."""
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
            raise InputRefused(f"more than {MOST_OPENINGS:,} openings", place=str(path), step="cut the file")
        yield replace(opening, index=index)


def holds_games(path: Path) -> bool:
    """Whether a file of openings holds games; else positions."""
    return _is_pgn(path, _lines(path))[0]


def _written_games(path: Path, variant: str = STANDARD) -> Iterator[WrittenOpening | BadOpening]:
    return _games(_lines(path), variant)


def _position(line: int, text: str | BadOpening, variant: str) -> Opening | BadOpening | None:
    return text if isinstance(text, BadOpening) else parse_position(line, text, variant)


def open_large_positions(path: Path) -> BinaryIO | None:
    """The file, open and unpacked, if it holds positions and too many of them to be held and checked at once."""
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
    """The text of a gzip file in one without a name, which goes with us."""
    sink = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the suite
    with open_regular(path) as raw:
        try:
            with gzip.GzipFile(fileobj=raw) as packed:
                while block := packed.read(1 << 20):
                    sink.write(block)
                    refuse_bomb(path, raw.tell(), sink.tell())
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise InputRefused("broken gzip file", place=str(path), step="fetch or pack it again") from None
    return cast("BinaryIO", sink)


def _lines(path: Path) -> Iterator[tuple[int, str | BadOpening]]:
    """Numbered lines; one that is too long comes as `Bad`, its rest is read past."""
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
                    step = "shorten its games (pgn-extract --plylimit 20), or take a part of them"
                    raise InputRefused(f"more than {_LARGEST_TEXT:,} bytes of openings", place=str(path), step=step)
                number += whole
                ended = piece.endswith(b"\n")
                if not whole or (not ended and len(piece) == LONGEST_LINE):
                    if whole:
                        yield number, BadOpening(number, f"a line longer than {LONGEST_LINE:,} bytes")
                    whole = ended
                    continue
                if number == 1:
                    _refuse_no_text(path, piece)
                yield number, decode_line(piece.removeprefix(codecs.BOM_UTF8) if number == 1 else piece)
    except FileNotFoundError:
        raise InputRefused("no such file of openings", place=str(path)) from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise InputRefused("broken gzip file", place=str(path), step="fetch or pack it again") from None
    except OSError as error:
        raise InputRefused(f"cannot read openings: {error.strerror or error}", place=str(path)) from None


def _refuse_no_text(path: Path, start: bytes) -> None:
    packer = next((name for magic, name in _PACKERS.items() if start.startswith(magic)), None)
    if packer is not None:
        raise InputRefused(f"a file packed by {packer}", place=str(path), step="unpack it; of packed ones .gz is read")
    if start.startswith(_UTF_16):
        what = "text in UTF-16, which programs of Windows call Unicode"
        raise InputRefused(what, place=str(path), step="save it as UTF-8: iconv -f UTF-16 -t UTF-8")


def _is_pgn(
    path: Path, lines: Iterator[tuple[int, str | BadOpening]]
) -> tuple[bool, Iterator[tuple[int, str | BadOpening]]]:
    """Told by the name, else by the first line that says something."""
    kind = Path(path.name.lower().removesuffix(".gz")).suffix
    if kind in (".pgn", ".epd", ".fen"):
        return kind == ".pgn", lines
    seen: list[tuple[int, str | BadOpening]] = []
    pgn = False
    for numbered in lines:
        if numbered[1] == "":
            continue  # a file may begin with millions of them
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
                game.broken = game.broken or BadOpening(number, f"more than {MOST_TAGS:,} tags")
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
                    game.broken = BadOpening(number, f"a game of more than {MOST_PLIES:,} plies")
    if comment or depth:
        yield BadOpening(game.line, "a comment or variation without end")
    elif game.line:
        yield _written(game, variant)


def _move_of(word: str) -> str:
    """The SAN in a word of a game, without its number and what is written behind it; "" for a number or a sign."""
    move = word if word.startswith("0-0") else _NUMBER.sub("", word)
    return "" if move in _SIGNS else move if move.rstrip("!?") == _NULL_MOVE else _BEHIND.sub("", move)


def _written(game: _Game, variant: str) -> WrittenOpening | BadOpening:
    if game.broken:
        return game.broken
    tags = game.tags
    if "Variant" in tags and not tag_fits(tags["Variant"], variant):
        return BadOpening(game.line, f"variant {quote_text(tags['Variant'])}, and {variant} is played")
    event = tags.get("Event", "?")
    eco = tags.get("ECO", "")
    name = tags.get("Opening") or eco or ("" if event == "?" else event)
    if tags.get("Opening") and tags.get("Variation"):
        name = f"{name}, {tags['Variation']}"
    return WrittenOpening(game.line, name, eco, tags.get("FEN"), tuple(game.moves))


# The games of a PGN as openings, held as they are written; each is checked when it is asked for.
#
# Reading a game takes an eighth of what checking it takes (60 and 480 us, measured): large suites are read whole, and
# of them only those that the games can need are checked before game 1.


class _Packed(NamedTuple):
    """A game in a tenth of the room that `Written` takes; the lines of its moves are read again in need."""

    line: int
    name: str
    eco: str
    fen: str | None
    sans: str


class HeldGames(LazyOpenings):
    """All games of a file, cut after `plies`; InputRefused for a bad one when it is asked for."""

    def __init__(self, path: Path, plies: int | None = None, variant: str = STANDARD) -> None:
        self._path, self._plies, self._variant = path, plies, variant
        self._games: list[_Packed | BadOpening] = []
        for game in _written_games(path, variant):
            if len(self._games) == MOST_OPENINGS:
                raise InputRefused(f"more than {MOST_OPENINGS:,} openings", place=str(path), step="cut the file")
            self._games.append(game if isinstance(game, BadOpening) else self._packed(game))

    def __len__(self) -> int:
        return len(self._games)

    def _at(self, number: int) -> Opening:
        game = self._games[number]
        found = game if isinstance(game, BadOpening) else self._checked(game)
        if isinstance(found, Opening):
            return replace(found, index=number + 1)
        raise self._refusal(number)

    def refuse_unreadable(self) -> None:
        """InputRefused for the first that is no game at all, without checking the others."""
        for number, game in enumerate(self._games):
            if isinstance(game, BadOpening):
                raise self._refusal(number)

    @property
    def longest(self) -> tuple[int, str]:
        """Plies and name of the longest, as far as they are used."""
        games = (game for game in self._games if not isinstance(game, BadOpening))
        plies, name = max(((game.sans.count(" ") + bool(game.sans), game.name) for game in games), default=(0, ""))
        return plies if self._plies is None else min(plies, self._plies), name

    def _packed(self, game: WrittenOpening) -> _Packed:
        kept = game.sans if self._plies is None else game.sans[: self._plies + 1]  # one more tells that it is cut
        return _Packed(game.line, game.name, game.eco, game.fen, " ".join(san for _, san in kept))

    def _checked(self, game: _Packed) -> Opening | BadOpening:
        sans = tuple((game.line, san) for san in game.sans.split())
        return check_opening(WrittenOpening(game.line, game.name, game.eco, game.fen, sans), self._plies, self._variant)

    def _refusal(self, number: int) -> InputRefused:
        """It names the line of the bad move, for which the file is read once more."""
        game = next(islice(_written_games(self._path, self._variant), number, None))
        bad = game if isinstance(game, BadOpening) else check_opening(game, self._plies, self._variant)
        assert isinstance(bad, BadOpening)
        step = "mend it, or leave bad openings out with skip_bad = true"
        return InputRefused(f"bad opening, {bad.why}", place=f"{self._path}:{bad.line}", step=step)
