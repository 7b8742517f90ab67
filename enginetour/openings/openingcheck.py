"""Whether a game can begin at an opening: legal, not over, not drawn by rule, and both sides have a move."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from enginetour.model.game import Opening
from enginetour.model.variants import STANDARD, VARIANTS, board_of, start_fen

if TYPE_CHECKING:
    import chess  # not where every game begins at the usual start: it takes a tenth of the way to the first one


MOST_DIGITS = 4  # of a move counter: no game has ten thousand moves
WALLED_MEN = 2  # beside kings and pawns
WHITE_HALF = 32  # squares of ranks 1 to 4
_HOMES = ((4, (0, 7)), (60, (56, 63)))  # squares of kings and rooks: e1 with a1 and h1, e8 with a8 and h8
UNMATEABLE = "neither side can mate any more"
FULFILLED = "the fifty-move rule is fulfilled"
_ECO = re.compile(r"[A-E]\d\d\w?")  # Encyclopaedia of Chess Openings, with a letter of Scid's behind it


@dataclass(frozen=True, slots=True)
class Bad:
    """An opening that cannot be played, and why."""

    line: int
    why: str


@dataclass(frozen=True, slots=True)
class LeftOut:
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


NONE = LeftOut()


@dataclass(frozen=True, slots=True)
class Written:
    """An opening as a file has it; `sans` are (line, SAN)."""

    line: int
    name: str = ""
    eco: str = ""
    fen: str | None = None
    sans: tuple[tuple[int, str], ...] = ()


def checked(written: Written, plies: int | None = None, variant: str = STANDARD) -> Opening | Bad:
    """The rules of the module's docstring, with python-chess as the authority; moves are cut after `plies`."""
    line, fen = written.line, written.fen
    if not fen and not written.sans[:plies] and variant == STANDARD:
        return _told(written, None, (), variant)  # it needs no look
    if fen and any(len(word) > MOST_DIGITS for word in fen.split()[-2:]):
        return Bad(line, f"move counters of more than {MOST_DIGITS} digits")
    try:
        board = board_of(variant, fen)
    except (ValueError, IndexError) as error:
        return Bad(line, f"no position: {shown(str(error))}")
    status = board.status()
    if status:
        return Bad(line, f"impossible position ({_words(status)}): {shown(fen or '')}")
    start = board.fen() if fen else start_fen(variant)
    moves: list[str] = []
    for where, san in written.sans[:plies]:
        try:
            move = board.parse_san(san)
        except ValueError:
            return Bad(where, f"illegal or unreadable move {shown(san)} after {len(moves)} plies")
        if not move:
            return Bad(where, "a null move")
        moves.append(move.uci())
        board.push(move)
        if board.halfmove_clock >= 8 and board.is_repetition(3):  # it takes 8 reversible plies
            return Bad(where, f"a threefold repetition after {len(moves)} plies")
        if _is_fifty(board, variant):
            return Bad(where, f"{FULFILLED} after {len(moves)} plies")
    why = over(board, variant)
    if why:
        return Bad(line, why + (", set plies to cut whole games" if plies is None and written.sans else ""))
    usual = start == start_fen(variant) and not VARIANTS[variant].any_rank
    return _told(written, None if usual else start, tuple(moves), variant)


def _told(written: Written, start: str | None, moves: tuple[str, ...], variant: str) -> Opening:
    if start is None and written.sans and not moves:
        return Opening(variant=variant)  # a line cut to nothing: the usual start is no opening of that name
    eco = written.eco if _ECO.fullmatch(written.eco) else ""
    return Opening(one_line(written.name), 0, start, moves, eco, variant)


def is_editable(board: chess.Board) -> bool:
    """Whether the `edit` of CECP can express the position: engines take castling rights from king and rook squares.

    It expresses neither en passant nor counters (protocol spec, "edit"); counters are the referee's affair.
    """
    rights = sum(1 << square for king, corners in _HOMES for square in corners if _is_home(board, king, square))
    return board.clean_castling_rights() == rights and not board.has_legal_en_passant()


def _is_home(board: chess.Board, king: int, corner: int) -> bool:
    color = king < WHITE_HALF
    own = board.occupied_co[color]
    return bool(board.kings & own & 1 << king and board.rooks & own & 1 << corner)


def needs_setboard(opening: Opening) -> bool:
    """Whether a CECP engine without setboard cannot be told where a game from this opening begins."""
    if opening.fen is None:
        return opening.variant != STANDARD
    return opening.variant != STANDARD or not is_editable(board_of(opening.variant, opening.fen))


def over(board: chess.Board, variant: str = STANDARD) -> str:
    """Why nothing can be played from here, or an empty text."""
    if board.is_variant_end():
        return f"the game of {variant} is over at its end"
    if not any(board.legal_moves):
        return "checkmate at its end" if board.is_check() else "stalemate at its end"
    if board.is_insufficient_material():
        return UNMATEABLE
    if _is_fifty(board, variant):
        return FULFILLED
    for move in board.legal_moves:
        board.push(move)
        reply = not board.is_variant_end() and any(board.legal_moves)
        board.pop()
        if reply:
            return UNMATEABLE if _is_walled_off(board) else ""
    return "every move ends the game"


def _is_walled_off(board: chess.Board) -> bool:
    """Neither side can pass a wall of pawns; with more men the proof takes too long for each opening of a suite."""
    from enginetour.model.mating import is_dead  # as chess above

    men = board.occupied & ~board.kings & ~board.pawns
    return men.bit_count() <= WALLED_MEN and board.uci_variant == "chess" and is_dead(board)


def _is_fifty(board: chess.Board, variant: str) -> bool:
    return VARIANTS[variant].fifty and board.halfmove_clock >= 100  # FIDE 9.3, in plies


def _words(status: Any) -> str:
    return ", ".join(one.name.lower().replace("_", " ") for one in type(status) if one and one in status and one.name)


def shown(text: str) -> str:
    """Foreign text for a message: printable, quoted, at most 60 characters."""
    return repr(text if len(text) <= 60 else f"{text[:57]}...")


def one_line(text: str) -> str:
    """Printable, one line, at most 100 characters."""
    return "".join(sign for sign in " ".join(text.split()) if sign.isprintable())[:100]
