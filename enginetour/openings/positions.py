"""EPD and FEN, one line each; whether a game may start there."""

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
    import chess  # not where every game begins at the usual start: it takes a tenth of the way to the first one


# Whether a game can begin at an opening: legal, not over, not drawn by rule, and both sides have a move.

_MOST_DIGITS = 4  # of a move counter: no game has ten thousand moves
_WALLED_MEN = 2  # beside kings and pawns
_WHITE_HALF = 32  # squares of ranks 1 to 4
_HOMES = ((4, (0, 7)), (60, (56, 63)))  # squares of kings and rooks: e1 with a1 and h1, e8 with a8 and h8
_UNMATEABLE = "neither side can mate any more"
_FULFILLED = "the fifty-move rule is fulfilled"
_ECO = re.compile(r"[A-E]\d\d\w?")  # Encyclopaedia of Chess Openings, with a letter of Scid's behind it


@dataclass(frozen=True, slots=True)
class BadOpening:
    """An opening that cannot be played, and why."""

    line: int
    why: str


@dataclass(frozen=True, slots=True)
class SkippedOpenings:
    """How many of a suite were left out as bad, and the first of them as ``file:line: why``.

    Of a large file only those that the games can need are looked at: there may be more unless it is the `whole`.
    """

    count: int = 0
    of: int = 0
    first: str = ""
    whole: bool = True

    def __str__(self) -> str:
        """A sentence; an empty text where none was."""
        more = "" if self.whole else "at least "
        words = f"openings: {more}{self.count} of {self.of} left out as they cannot be played: {self.first}"
        return words if self.count else ""


NONE_SKIPPED = SkippedOpenings()


@dataclass(frozen=True, slots=True)
class WrittenOpening:
    """An opening as a file has it; `sans` are (line, SAN)."""

    line: int
    name: str = ""
    eco: str = ""
    fen: str | None = None
    sans: tuple[tuple[int, str], ...] = ()


def check_opening(written: WrittenOpening, plies: int | None = None, variant: str = STANDARD) -> Opening | BadOpening:
    """The rules of the module's docstring, with python-chess as the authority; moves are cut after `plies`."""
    line, fen = written.line, written.fen
    if not fen and not written.sans[:plies] and variant == STANDARD:
        return _as_opening(written, None, (), variant)  # it needs no look
    if fen and any(len(word) > _MOST_DIGITS for word in fen.split()[-2:]):
        return BadOpening(line, f"move counters of more than {_MOST_DIGITS} digits")
    try:
        board = board_of(variant, fen)
    except (ValueError, IndexError) as error:
        return BadOpening(line, f"no position: {quote_text(str(error))}")
    status = board.status()
    if status:
        return BadOpening(line, f"impossible position ({_words(status)}): {quote_text(fen or '')}")
    start = board.fen() if fen else start_fen(variant)
    moves: list[str] = []
    for where, san in written.sans[:plies]:
        try:
            move = board.parse_san(san)
        except ValueError:
            return BadOpening(where, f"illegal or unreadable move {quote_text(san)} after {len(moves)} plies")
        if not move:
            return BadOpening(where, "a null move")
        moves.append(move.uci())
        board.push(move)
        if board.halfmove_clock >= 8 and board.is_repetition(3):  # it takes 8 reversible plies
            return BadOpening(where, f"a threefold repetition after {len(moves)} plies")
        if _is_fifty(board, variant):
            return BadOpening(where, f"{_FULFILLED} after {len(moves)} plies")
    why = why_over(board, variant)
    if why:
        return BadOpening(line, why + (", set plies to cut whole games" if plies is None and written.sans else ""))
    usual = start == start_fen(variant) and not VARIANTS[variant].any_rank
    return _as_opening(written, None if usual else start, tuple(moves), variant)


def _as_opening(written: WrittenOpening, start: str | None, moves: tuple[str, ...], variant: str) -> Opening:
    if start is None and written.sans and not moves:
        return Opening(variant=variant)  # a line cut to nothing: the usual start is no opening of that name
    eco = written.eco if _ECO.fullmatch(written.eco) else ""
    return Opening(_one_line(written.name), 0, start, moves, eco, variant)


def is_editable(board: chess.Board) -> bool:
    """Whether the `edit` of CECP can express the position: engines take castling rights from king and rook squares.

    It expresses neither en passant nor counters (protocol spec, "edit"); counters are the referee's affair.
    """
    rights = sum(1 << square for king, corners in _HOMES for square in corners if _is_home(board, king, square))
    return board.clean_castling_rights() == rights and not board.has_legal_en_passant()


def _is_home(board: chess.Board, king: int, corner: int) -> bool:
    color = king < _WHITE_HALF
    own = board.occupied_co[color]
    return bool(board.kings & own & 1 << king and board.rooks & own & 1 << corner)


def needs_setboard(opening: Opening) -> bool:
    """Whether a CECP engine without setboard cannot be told where a game from this opening begins."""
    if opening.fen is None:
        return opening.variant != STANDARD
    return opening.variant != STANDARD or not is_editable(board_of(opening.variant, opening.fen))


def why_over(board: chess.Board, variant: str = STANDARD) -> str:
    """Why nothing can be played from here, or an empty text."""
    if board.is_variant_end():
        return f"the game of {variant} is over at its end"
    if not any(board.legal_moves):
        return "checkmate at its end" if board.is_check() else "stalemate at its end"
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
    """Neither side can pass a wall of pawns; with more men the proof takes too long for each opening of a suite."""
    from enginetour.model.mating import is_dead  # as chess above

    men = board.occupied & ~board.kings & ~board.pawns
    return men.bit_count() <= _WALLED_MEN and board.uci_variant == "chess" and is_dead(board)


def _is_fifty(board: chess.Board, variant: str) -> bool:
    return VARIANTS[variant].fifty and board.halfmove_clock >= 100  # FIDE 9.3, in plies


def _words(status: Any) -> str:
    return ", ".join(one.name.lower().replace("_", " ") for one in type(status) if one and one in status and one.name)


def quote_text(text: str) -> str:
    """Foreign text for a message: printable, quoted, at most 60 characters."""
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


def _one_line(text: str) -> str:
    return "".join(sign for sign in " ".join(text.split()) if sign.isprintable())[:100]


# Positions, one a line: EPD (PGN standard 16.2) and FEN. A large file is indexed by byte offsets, not held.

_OPERATION = re.compile(r'(\w+)(?:\s+("[^"]*"|[^;"]*))?')  # no blanks around it: their number would count squared
_CHECKS = re.compile(r"\d\+\d\s*")
_GIVEN = re.compile(r"\+\d\+\d(?=\s|;|$)")
_BLANK = b" \t\r\n\x1a"
LONGEST_LINE = 65_536  # bytes; the longest books in use have lines of 70
_MOST_SKIPPED = 1000  # bad positions in a row that are passed over before a file is taken for no suite


def decode_line(raw: bytes) -> str:
    """A line without its end: UTF-8, or what older programs of Windows write."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("cp1252", "replace")
    return text.strip("\r\n\x1a")  # DOS ends files with a ^Z


def read_position(line: int, text: str, variant: str = STANDARD) -> WrittenOpening | BadOpening | None:
    """One line of EPD (``id``, ``hmvc``, ``fmvn`` and ``eco`` are kept) or FEN; None for blanks and ``#`` comments."""
    fields = text.split(None, 4)
    if not fields or fields[0].startswith("#"):
        return None
    if len(fields) < 4:
        return BadOpening(line, f"neither FEN nor EPD: {quote_text(text)}")
    rest = fields[4] if len(fields) == 5 else ""
    still = _CHECKS.match(rest) if variant == "3check" else None  # checks still to give: "3+3"
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
            return BadOpening(line, f"hmvc and fmvn are whole numbers, found {quote_text(rest)}")
        counters = _counters(half, full)
    fen = " ".join([*fields[:4], *checks, counters, *given])
    return WrittenOpening(line, operations.get("id", ""), operations.get("eco", ""), fen)


def _given(rest: str, variant: str) -> tuple[str, list[str]]:
    """What is behind the checks given, where these come next, and they: ``+1+0``, as lichess writes them."""
    found = _GIVEN.match(rest) if variant == "3check" else None
    return (rest[found.end() :].lstrip(), [found[0]]) if found else (rest, [])


def parse_position(line: int, text: str, variant: str = STANDARD) -> Opening | BadOpening | None:
    """The opening of one line, checked."""
    written = read_position(line, text, variant)
    return check_opening(written, variant=variant) if isinstance(written, WrittenOpening) else written


def _counters(half: str, full: str) -> str:
    """As FEN has them; a first move 0 is 1."""
    return f"{half.lstrip('0') or '0'} {full.lstrip('0') or '1'}"


class IndexedPositions(LazyOpenings):
    """The positions of a file that is kept open; each is read and checked when it is asked for.

    `index` is the place among all lines that hold something. InputRefused for a bad one, or with `skip_bad` the next
    good one in its place: which one a game gets stays a matter of its number alone.
    """

    def __init__(self, stream: BinaryIO, path: Path, variant: str = STANDARD, *, skip_bad: bool = False) -> None:
        self._stream, self._path, self._variant, self._skip_bad = stream, path, variant, skip_bad
        self._offsets = array("Q")
        self._bad: set[int] = set()  # places of those that were found bad so far
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
        step = "mend it" if self._skip_bad else "mend it, or leave bad openings out with skip_bad = true"
        raise InputRefused(f"bad opening, {bad.why}", place=f"{self._path}:{self._line(number)}", step=step)

    def left_out(self) -> SkippedOpenings:
        """What `skip_bad` has passed over so far."""
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
            return BadOpening(0, f"a line longer than {LONGEST_LINE:,} bytes")
        text = decode_line(raw.removeprefix(codecs.BOM_UTF8))
        return parse_position(0, text, self._variant) or BadOpening(0, "nothing in it")

    def _line(self, number: int) -> int:
        self._stream.seek(0)
        left, lines = self._offsets[number], 1
        while left and (block := self._stream.read(min(left, 1 << 20))):
            lines += block.count(b"\n")
            left -= len(block)
        return lines
