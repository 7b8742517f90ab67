"""Read EPD and FEN, one position per line, and check whether a game can start there."""

from __future__ import annotations

import codecs
import re
from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from enginetour.model.errors import InputRefused
from enginetour.model.game import Opening
from enginetour.model.variants import STANDARD, VARIANTS, LazyOpenings, board_of, start_fen

if TYPE_CHECKING:
    import chess  # imported late: games from the initial position do not need it, and it slows down the start


# A game can start at a position that is legal, not over and not drawn by rule, if both sides have a move.

_MOST_DIGITS = 4  # digits of a move counter; no game has 10,000 moves
_WALLED_MEN = 2  # largest number of pieces other than kings and pawns for which a wall of pawns is examined
_WHITE_HALF = 32  # squares of ranks 1 to 4
_HOMES = ((4, (0, 7)), (60, (56, 63)))  # squares of kings and rooks: e1 with a1 and h1, e8 with a8 and h8
_UNMATEABLE = "neither side can checkmate"
_FULFILLED = "the fifty-move rule applies"
_ECO = re.compile(r"[A-E]\d\d\w?")  # Encyclopaedia of Chess Openings, optionally with a letter of Scid
_MEND = "correct the opening"
MEND_OR_SKIP = "correct the opening, or skip invalid openings with skip_bad = true"


@dataclass(frozen=True, slots=True)
class BadOpening:
    """Line of an opening that cannot be played, and the reason."""

    line: int
    why: str


@dataclass(frozen=True, slots=True)
class SkippedOpenings:
    """Number of openings of a book that were skipped, and the first of them as ``file:line: why``.

    In a large file only openings that the games can need are checked; the number is complete only if `whole` is True.
    """

    count: int = 0
    of: int = 0
    first: str = ""
    whole: bool = True

    def __str__(self) -> str:
        """Return a note, or an empty text if no opening was skipped."""
        more = "" if self.whole else "at least "
        text = f"openings: {more}{self.count} of {self.of} skipped because they cannot be played; first: {self.first}"
        return text if self.count else ""


NONE_SKIPPED = SkippedOpenings()


@dataclass(frozen=True, slots=True)
class WrittenOpening:
    """An opening as written in a file; `sans` are pairs of line number and SAN move."""

    line: int
    name: str = ""
    eco: str = ""
    fen: str | None = None
    sans: tuple[tuple[int, str], ...] = ()


def check_opening(written: WrittenOpening, plies: int | None = None, variant: str = STANDARD) -> Opening | BadOpening:
    """Check with python-chess whether a game can start at the opening; moves are cut after `plies`."""
    line, fen = written.line, written.fen
    if not fen and not written.sans[:plies] and variant == STANDARD:
        return _as_opening(written, None, (), variant)  # the initial position needs no check
    if fen and any(len(word) > _MOST_DIGITS for word in fen.split()[-2:]):
        return BadOpening(line, f"a move counter has more than {_MOST_DIGITS} digits")
    try:
        board = board_of(variant, fen)
    except (ValueError, IndexError) as error:
        return BadOpening(line, f"not a valid position: {quote_text(str(error))}")
    status = board.status()
    if status:
        return BadOpening(line, f"impossible position ({_format_status(status)}): {quote_text(fen or '')}")
    start = board.fen() if fen else start_fen(variant)
    moves: list[str] = []
    for where, san in written.sans[:plies]:
        try:
            move = board.parse_san(san)
        except ValueError:
            return BadOpening(where, f"illegal or unreadable move {quote_text(san)} after {len(moves)} plies")
        if not move:
            return BadOpening(where, "null moves are not supported")
        moves.append(move.uci())
        board.push(move)
        if board.halfmove_clock >= 8 and board.is_repetition(3):  # a repetition needs 8 reversible plies
            return BadOpening(where, f"threefold repetition after {len(moves)} plies")
        if _is_fifty(board, variant):
            return BadOpening(where, f"{_FULFILLED} after {len(moves)} plies")
    why = why_over(board, variant)
    if why:
        return BadOpening(line, why + ("; set plies to cut whole games" if plies is None and written.sans else ""))
    usual = start == start_fen(variant) and not VARIANTS[variant].any_rank
    return _as_opening(written, None if usual else start, tuple(moves), variant)


def _as_opening(written: WrittenOpening, start: str | None, moves: tuple[str, ...], variant: str) -> Opening:
    if start is None and written.sans and not moves:
        return Opening(variant=variant)  # a line without moves after the cut does not keep its name
    eco = written.eco if _ECO.fullmatch(written.eco) else ""
    return Opening(_one_line(written.name), 0, start, moves, eco, variant)


def is_editable(board: chess.Board) -> bool:
    """Return whether the CECP command `edit` can express the position.

    Engines derive castling rights from the squares of king and rook. `edit` cannot express en passant and move counters
    (protocol spec, "edit"); the referee counts moves itself.
    """
    rights = sum(1 << square for king, corners in _HOMES for square in corners if _is_home(board, king, square))
    return board.clean_castling_rights() == rights and not board.has_legal_en_passant()


def _is_home(board: chess.Board, king: int, corner: int) -> bool:
    color = king < _WHITE_HALF
    own = board.occupied_co[color]
    return bool(board.kings & own & 1 << king and board.rooks & own & 1 << corner)


def needs_setboard(opening: Opening) -> bool:
    """Return whether a CECP engine without setboard cannot start a game at this opening."""
    if opening.fen is None:
        return opening.variant != STANDARD
    return opening.variant != STANDARD or not is_editable(board_of(opening.variant, opening.fen))


def why_over(board: chess.Board, variant: str = STANDARD) -> str:
    """Return why no game can start at this position, or an empty text."""
    if board.is_variant_end():
        return f"the game of {variant} is over"
    if not any(board.legal_moves):
        return "the final position is checkmate" if board.is_check() else "the final position is stalemate"
    if board.is_insufficient_material():
        return _UNMATEABLE
    if _is_fifty(board, variant):
        return _FULFILLED
    for move in board.legal_moves:
        board.push(move)
        reply = not board.is_variant_end() and any(board.legal_moves)
        board.pop()
        if reply:
            return _UNMATEABLE if _is_walled_off(board) else ""
    return "every move ends the game"


def _is_walled_off(board: chess.Board) -> bool:
    """Return whether a wall of pawns separates both sides; with more pieces the proof takes too long."""
    from enginetour.model.mating import is_dead  # imported late, as chess

    men = board.occupied & ~board.kings & ~board.pawns
    return men.bit_count() <= _WALLED_MEN and board.uci_variant == "chess" and is_dead(board)


def _is_fifty(board: chess.Board, variant: str) -> bool:
    return VARIANTS[variant].fifty and board.halfmove_clock >= 100  # FIDE 9.3, in plies


def _format_status(status: Any) -> str:
    return ", ".join(one.name.lower().replace("_", " ") for one in type(status) if one and one in status and one.name)


def quote_text(text: str) -> str:
    """Return text of a file for a message: quoted, with escapes, at most 60 characters."""
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


def _one_line(text: str) -> str:
    return "".join(char for char in " ".join(text.split()) if char.isprintable())[:100]


# Positions, one per line: EPD (PGN standard 16.2) and FEN. A large file is not kept in memory, but indexed.

# Spaces are removed later: matching them here would take quadratic time.
_OPERATION = re.compile(r'(\w+)(?:\s+("[^"]*"|[^;"]*))?')
_CHECKS = re.compile(r"\d\+\d\s*")
_GIVEN = re.compile(r"\+\d\+\d(?=\s|;|$)")
_BLANK = b" \t\r\n\x1a"
LONGEST_LINE = 65_536  # bytes; usual books have lines of 70 bytes
_MOST_SKIPPED = 1000  # invalid positions in a row that are skipped before the file is rejected


def decode_line(raw: bytes) -> str:
    """Decode a line without its end: UTF-8, or cp1252 of older Windows programs."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("cp1252", "replace")
    return text.strip("\r\n\x1a")  # DOS programs end files with ^Z


def read_position(line: int, text: str, variant: str = STANDARD) -> WrittenOpening | BadOpening | None:
    """Read one line of EPD (with ``id``, ``hmvc``, ``fmvn``, ``eco``) or FEN.

    Return None for blank lines and ``#`` comments.
    """
    fields = text.split(None, 4)
    if not fields or fields[0].startswith("#"):
        return None
    if len(fields) < 4:
        return BadOpening(line, f"not a valid FEN or EPD line: {quote_text(text)}")
    rest = fields[4] if len(fields) == 5 else ""
    still = _CHECKS.match(rest) if variant == "3check" else None  # checks that remain: "3+3"
    checks = [still[0].strip()] if still else []
    rest, given = _given(rest[still.end() :] if still else rest, variant)
    counters = "0 1"
    plain = re.fullmatch(r"(\d+)\s+(\d+)\s*;?\s*(.*)", rest)
    if plain:
        counters, rest = _counters(plain[1], plain[2]), plain[3]
        rest, given = (rest, given) if given else _given(rest, variant)
    operations = {match[1]: (match[2] or "").strip().strip('"') for match in _OPERATION.finditer(rest)}
    if not plain:
        half, full = operations.get("hmvc", "0"), operations.get("fmvn", "1")
        if not (half.isdecimal() and full.isdecimal()):
            return BadOpening(line, f"hmvc and fmvn must be whole numbers (found {quote_text(rest)})")
        counters = _counters(half, full)
    fen = " ".join([*fields[:4], *checks, counters, *given])
    return WrittenOpening(line, operations.get("id", ""), operations.get("eco", ""), fen)


def _given(rest: str, variant: str) -> tuple[str, list[str]]:
    """Split the text into the rest and the checks given (``+1+0`` of lichess), if the text begins with them."""
    found = _GIVEN.match(rest) if variant == "3check" else None
    return (rest[found.end() :].lstrip(), [found[0]]) if found else (rest, [])


def parse_position(line: int, text: str, variant: str = STANDARD) -> Opening | BadOpening | None:
    """Return the checked opening of one line."""
    written = read_position(line, text, variant)
    return check_opening(written, variant=variant) if isinstance(written, WrittenOpening) else written


def _counters(half: str, full: str) -> str:
    """Return the counters in the form of FEN; move number 0 becomes 1."""
    return f"{half.lstrip('0') or '0'} {full.lstrip('0') or '1'}"


class IndexedPositions(LazyOpenings):
    """Provide the positions of an open file; each is read and checked on request.

    `index` is the place among all lines that are not empty. An invalid position raises InputRefused; with `skip_bad`
    the next valid position is used instead, so that the opening of a game still depends only on its number.
    """

    def __init__(self, stream: BinaryIO, path: Path, variant: str = STANDARD, *, skip_bad: bool = False) -> None:
        self._stream, self._path, self._variant, self._skip_bad = stream, path, variant, skip_bad
        self._offsets = array("Q")
        self._bad: set[int] = set()  # places of invalid positions found so far
        at, whole = 0, True
        stream.seek(0)
        while piece := stream.readline(LONGEST_LINE):
            if whole and (text := piece.strip(_BLANK)) and not text.startswith(b"#"):
                self._offsets.append(at)
            at += len(piece)
            whole = piece.endswith(b"\n")

    def __del__(self) -> None:
        self._stream.close()

    def __len__(self) -> int:
        return len(self._offsets)

    def _at(self, number: int) -> Opening:
        for later in range(_MOST_SKIPPED if self._skip_bad else 1):
            place = (number + later) % len(self)
            found = self._read(place)
            if isinstance(found, Opening):
                return Opening(found.name, place + 1, found.fen, (), found.eco, self._variant)
            self._bad.add(place)
        bad = self._read(number)
        assert isinstance(bad, BadOpening)
        step = _MEND if self._skip_bad else MEND_OR_SKIP
        raise InputRefused(f"invalid opening: {bad.why}", place=f"{self._path}:{self._line(number)}", step=step)

    def left_out(self) -> SkippedOpenings:
        """Return which openings `skip_bad` has skipped so far."""
        if not self._bad:
            return NONE_SKIPPED
        first = min(self._bad)
        bad = self._read(first)
        assert isinstance(bad, BadOpening)
        place = f"{self._path}:{self._line(first)}"
        return SkippedOpenings(len(self._bad), len(self), f"{place}: {bad.why}", whole=False)

    def _read(self, number: int) -> Opening | BadOpening:
        self._stream.seek(self._offsets[number])
        raw = self._stream.readline(LONGEST_LINE)
        if len(raw) == LONGEST_LINE and not raw.endswith(b"\n"):
            return BadOpening(0, f"the line is longer than {LONGEST_LINE:,} bytes")
        text = decode_line(raw.removeprefix(codecs.BOM_UTF8))
        return parse_position(0, text, self._variant) or BadOpening(0, "the line is empty")

    def _line(self, number: int) -> int:
        self._stream.seek(0)
        left, lines = self._offsets[number], 1
        while left and (block := self._stream.read(min(left, 1 << 20))):
            lines += block.count(b"\n")
            left -= len(block)
        return lines
