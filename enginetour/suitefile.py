"""Opening suites as text: PGN, EPD and plain FEN lines, also compressed, read as a stream and checked game by game.

Every opening must parse, be legal, not be over, not stand at a threefold repetition or the fifty-move rule,
and leave both sides a move; what fails is told with file and line.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

import chess

from enginetour.errors import InputRefused
from enginetour.model import Opening
from enginetour.wholefile import refuse_bomb

# Bounds on other people's files: the longest books in use have about 2.6 million lines of 70 bytes.
LONGEST_LINE = 65_536
LARGEST_TEXT = 1_000_000_000
MOST_OPENINGS = 5_000_000
MOST_PLIES = 20_000  # of a game, as tags our choice: what is held of one has an end
MOST_TAGS = 1000
MOST_DIGITS = 4  # of a move counter: no game has ten thousand moves
_TAG = re.compile(r'\s*\[\s*(\w+)\s+"((?:\\.|[^"\\])*)"\s*\]\s*')
_WORD = re.compile(r"\{|\}|\(|\)|;.*|\$\d+|[^\s{}();$]+")
_NUMBER = re.compile(r"^(?:\d+\.*|\.+)")
_RESULTS = frozenset({"1-0", "0-1", "1/2-1/2", "*"})
_OPERATION = re.compile(r'(\w+)(?:\s+("[^"]*"|[^;"]*))?')  # no blanks around it: their number would count squared


@dataclass(frozen=True, slots=True)
class Bad:
    """An opening that cannot be played, and why."""

    line: int
    why: str


@dataclass(slots=True)
class _Written:
    """One game of a PGN as far as it has been read."""

    line: int = 0
    tags: dict[str, str] = field(default_factory=dict)
    moves: list[tuple[int, str]] = field(default_factory=list)  # (line, SAN)
    broken: Bad | None = None


def read_suite(path: Path, plies: int | None = None) -> Iterator[Opening | Bad]:
    """Openings of a file in its order, cut after `plies`; `index` counts the good ones from 1."""
    lines = _lines(path)
    pgn, lines = _is_pgn(path, lines)
    found = _games(lines, plies) if pgn else (_position(line, text) for line, text in lines)
    index = 0
    for opening in found:
        if opening is None:
            continue
        if isinstance(opening, Bad):
            yield opening
            continue
        index += 1
        if index > MOST_OPENINGS:
            raise InputRefused(f"more than {MOST_OPENINGS:,} openings", place=str(path), step="cut the file")
        yield Opening(opening.name, index, opening.fen, opening.moves)


def _lines(path: Path) -> Iterator[tuple[int, str | Bad]]:
    """Numbered lines; one that is too long comes as `Bad`, its rest is read past."""
    try:
        with path.open("rb") as raw:
            zipped = raw.read(2) == b"\x1f\x8b"  # RFC 1952, 2.3.1
            raw.seek(0)
            stream = cast("BinaryIO", gzip.GzipFile(fileobj=raw)) if zipped else raw
            number, size, whole = 0, 0, True
            while piece := stream.readline(LONGEST_LINE):
                size += len(piece)
                if zipped:
                    refuse_bomb(path, raw.tell(), size)
                if size > LARGEST_TEXT:
                    step = "shorten its games (pgn-extract --plylimit 20), or take a part of them"
                    raise InputRefused(f"more than {LARGEST_TEXT:,} bytes of openings", place=str(path), step=step)
                number += whole
                ended = piece.endswith(b"\n")
                if not whole or (not ended and len(piece) == LONGEST_LINE):
                    if whole:
                        yield number, Bad(number, f"a line longer than {LONGEST_LINE:,} bytes")
                    whole = ended
                    continue
                text = piece.decode("utf-8", "replace").strip("\r\n")
                yield number, text.removeprefix("\ufeff") if number == 1 else text
    except FileNotFoundError:
        raise InputRefused("no such file of openings", place=str(path)) from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise InputRefused("broken gzip file", place=str(path), step="fetch or pack it again") from None
    except OSError as error:
        raise InputRefused(f"cannot read openings: {error.strerror or error}", place=str(path)) from None


def _is_pgn(path: Path, lines: Iterator[tuple[int, str | Bad]]) -> tuple[bool, Iterator[tuple[int, str | Bad]]]:
    """Told by the name, else by the first line that says something."""
    kind = Path(path.name.lower().removesuffix(".gz")).suffix
    if kind == ".bin":
        step = "give PGN, EPD or FEN lines"
        raise InputRefused("a Polyglot book is no suite of openings", place=str(path), step=step)
    if kind in (".pgn", ".epd", ".fen"):
        return kind == ".pgn", lines
    seen: list[tuple[int, str | Bad]] = []
    pgn = False
    for numbered in lines:
        if numbered[1] == "":
            continue  # a file may begin with millions of them
        seen.append(numbered)
        if isinstance(numbered[1], str) and numbered[1].strip():
            pgn = numbered[1].lstrip().startswith(("[", "1.", "{"))
            break

    def again() -> Iterator[tuple[int, str | Bad]]:
        yield from seen
        yield from lines

    return pgn, again()


def _position(line: int, text: str | Bad) -> Opening | Bad | None:
    """One line of EPD (``id``, ``hmvc`` and ``fmvn`` are kept) or FEN; None for blanks and ``#`` comments."""
    if isinstance(text, Bad):
        return text
    fields = text.split(None, 4)
    if not fields or fields[0].startswith("#"):
        return None
    if len(fields) < 4:
        return Bad(line, f"neither FEN nor EPD: {_shown(text)}")
    rest = fields[4] if len(fields) == 5 else ""
    name, counters = "", "0 1"
    plain = re.fullmatch(r"(\d+)\s+(\d+)\s*;?\s*(.*)", rest)
    if plain:
        counters, rest = _counters(plain[1], plain[2]), plain[3]
    operations = {match[1]: (match[2] or "").strip().strip('"') for match in _OPERATION.finditer(rest)}
    name = operations.get("id", "")
    if not plain:
        half, full = operations.get("hmvc", "0"), operations.get("fmvn", "1")
        if not (half.isdecimal() and full.isdecimal()):
            return Bad(line, f"hmvc and fmvn are whole numbers, found {_shown(rest)}")
        counters = _counters(half, full)
    return _checked(line, _name(name), " ".join([*fields[:4], counters]), [], None)


def _counters(half: str, full: str) -> str:
    """As FEN has them; a first move 0 is 1."""
    return f"{half.lstrip('0') or '0'} {full.lstrip('0') or '1'}"


def _games(lines: Iterator[tuple[int, str | Bad]], plies: int | None) -> Iterator[Opening | Bad]:
    """Games of a PGN; comments, variations, glyphs and move numbers are passed over."""
    game = _Written()
    comment, depth = False, 0
    for number, text in lines:
        if isinstance(text, Bad):
            game.line, game.broken = game.line or number, text
            continue
        if text.startswith("%"):
            continue
        tag = None if comment or depth else _TAG.fullmatch(text)
        if tag:
            if game.moves or game.broken or tag[1] in game.tags:
                yield _judged(game, plies)
                game = _Written()
            game.line = game.line or number
            if len(game.tags) == MOST_TAGS:
                game.broken = Bad(number, f"more than {MOST_TAGS} tags")
                continue
            game.tags[tag[1]] = tag[2].replace('\\"', '"').replace("\\\\", "\\")
            continue
        at = 0
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
                    yield _judged(game, plies)
                game = _Written()
            elif san := word if word.startswith("0-0") else _NUMBER.sub("", word):
                game.line = game.line or number
                if len(game.moves) < MOST_PLIES:
                    game.moves.append((number, san))
                elif not game.broken:
                    game.broken = Bad(number, f"a game of more than {MOST_PLIES:,} plies")
    if comment or depth:
        yield Bad(game.line, "a comment or variation without end")
    elif game.line:
        yield _judged(game, plies)


def _judged(game: _Written, plies: int | None) -> Opening | Bad:
    if game.broken:
        return game.broken
    variant = game.tags.get("Variant", "standard")
    if variant.lower() not in ("standard", "chess", "normal", "from position"):
        return Bad(game.line, f"variant {_shown(variant)}, only standard chess is played")
    event = game.tags.get("Event", "?")
    name = game.tags.get("Opening") or game.tags.get("ECO") or ("" if event == "?" else event)
    return _checked(game.line, _name(name), game.tags.get("FEN"), game.moves, plies)


def _checked(line: int, name: str, fen: str | None, sans: list[tuple[int, str]], plies: int | None) -> Opening | Bad:
    """The rules of the module's docstring, with python-chess as the authority."""
    if fen and any(len(field) > MOST_DIGITS for field in fen.split()[4:]):
        return Bad(line, f"move counters of more than {MOST_DIGITS} digits")
    try:
        board = chess.Board(fen) if fen else chess.Board()
    except ValueError as error:
        return Bad(line, f"no position: {_shown(str(error))}")
    status = board.status()
    if status != chess.STATUS_VALID:
        return Bad(line, f"impossible position ({_words(status)}): {_shown(fen or '')}")
    start = board.fen()
    moves: list[str] = []
    for where, san in sans[:plies]:
        try:
            move = board.parse_san(san)
        except ValueError:
            return Bad(where, f"illegal or unreadable move {_shown(san)} after {len(moves)} plies")
        if not move:
            return Bad(where, "a null move")
        moves.append(move.uci())
        board.push(move)
        if board.halfmove_clock >= 8 and board.is_repetition(3):  # it takes 8 reversible plies
            return Bad(where, f"a threefold repetition after {len(moves)} plies")
    why = _over(board)
    if why:
        return Bad(line, why + (", set plies to cut whole games" if plies is None and sans else ""))
    return Opening(name, 0, None if start == chess.STARTING_FEN else start, tuple(moves))


def _over(board: chess.Board) -> str:
    """Why nothing can be played from here, or an empty text."""
    if not any(board.legal_moves):
        return "checkmate at its end" if board.is_check() else "stalemate at its end"
    if board.is_insufficient_material():
        return "nobody can mate any more"
    if board.halfmove_clock >= 100:  # FIDE 9.3, in plies
        return "the fifty-move rule is fulfilled"
    for move in board.legal_moves:
        board.push(move)
        reply = any(board.legal_moves)
        board.pop()
        if reply:
            return ""
    return "every move ends the game"


def _words(status: chess.Status) -> str:
    return ", ".join(one.name.lower().replace("_", " ") for one in chess.Status if one and one in status and one.name)


def _shown(text: str) -> str:
    """Foreign text for a message: printable, quoted, at most 60 characters."""
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


def _name(text: str) -> str:
    """Printable, one line, at most 100 characters."""
    return "".join(sign for sign in " ".join(text.split()) if sign.isprintable())[:100]
