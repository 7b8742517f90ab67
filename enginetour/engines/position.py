"""The position as it is sent to engines, fast tests of moves, and the reading of move texts.

operation                                   here     python-chess (us per ply, in a game of 186 plies)
test whether a move is legal                2.9      5.1
test whether there is a legal move          2.0      4.6
play a move that cannot be taken back       0.7      1.7
return the SAN of a move, and play it       4.4      13.2

python-chess itself is used for all special cases.
"""

from __future__ import annotations

import re
from functools import lru_cache

import chess

from enginetour.model.variants import STANDARD, VARIANTS, board_of

# Faster forms of functions of python-chess, with the same results; only for the rules of FIDE, including Chess960.

_LETTERS = ("", "", "N", "B", "R", "Q", "K")  # by piece type
_OFFICERS = (chess.QUEEN, chess.ROOK, chess.BISHOP, chess.KNIGHT)
_NOTHING = (None,)
# by color: a pawn that reaches this rank with one step may move a second step
_THIRD = (chess.BB_RANK_6, chess.BB_RANK_3)
_STRAIGHT = tuple(chess.BB_RANK_ATTACKS[square][0] | chess.BB_FILE_ATTACKS[square][0] for square in chess.SQUARES)
_SLANTED = tuple(chess.BB_DIAG_ATTACKS[square][0] for square in chess.SQUARES)
# By the square of a king: the squares on its lines, because only pieces on these squares can be pinned.
_LINES = tuple(straight | slanted for straight, slanted in zip(_STRAIGHT, _SLANTED, strict=True))
_REACH = (
    (),
    (),
    chess.BB_KNIGHT_ATTACKS,
    _SLANTED,
    _STRAIGHT,
    _LINES,
)  # squares that a piece attacks on an empty board, by piece type


def _is_hit(board: chess.Board, square: chess.Square, occupied: int, theirs: int) -> bool:
    """Return whether one of the pieces `theirs`, which belong to the side not to move, attacks the square."""
    rooks = theirs & _STRAIGHT[square] & (board.rooks | board.queens)
    if rooks and rooks & (
        chess.BB_RANK_ATTACKS[square][chess.BB_RANK_MASKS[square] & occupied]
        | chess.BB_FILE_ATTACKS[square][chess.BB_FILE_MASKS[square] & occupied]
    ):
        return True
    bishops = theirs & _SLANTED[square] & (board.bishops | board.queens)
    if bishops and bishops & chess.BB_DIAG_ATTACKS[square][chess.BB_DIAG_MASKS[square] & occupied]:
        return True
    steps = (
        chess.BB_KNIGHT_ATTACKS[square] & board.knights
        | chess.BB_PAWN_ATTACKS[board.turn][square] & board.pawns
        | chess.BB_KING_ATTACKS[square] & board.kings
    )
    return bool(steps & theirs)


def is_plainly_legal(board: chess.Board, move: chess.Move, *, check: bool | None = None) -> bool:
    """Return True if a move is surely legal. False means that it is not known.

    Castling and en passant are not tested; in en passant, the captured pawn may shield the king. `check` is whether the
    side to move is in check, or None if that is not known.
    """
    turn, start, end = board.turn, move.from_square, move.to_square
    own = board.occupied_co[turn]
    here, there = chess.BB_SQUARES[start], chess.BB_SQUARES[end]
    king = board.kings & own
    if not own & here or own & there or not king or end == board.ep_square:
        return False
    if here == king:
        steps = not move.promotion and chess.BB_KING_ATTACKS[start] & there
        return bool(steps) and not _is_hit(board, end, board.occupied ^ here, board.occupied_co[not turn])
    if board.pawns & here:
        if move.promotion not in (_OFFICERS if there & chess.BB_BACKRANKS else _NOTHING):
            return False
        steps = (here << 8 if turn else here >> 8) & ~board.occupied
        if steps & _THIRD[turn]:
            steps |= (steps << 8 if turn else steps >> 8) & ~board.occupied
        if not (steps | chess.BB_PAWN_ATTACKS[turn][start] & board.occupied) & there:
            return False
    elif move.promotion or not board.attacks_mask(start) & there:
        return False
    square = king.bit_length() - 1
    if check is False and not _LINES[square] & here:
        return True
    return not _is_hit(board, square, board.occupied & ~here | there, board.occupied_co[not turn] & ~there)


def in_check(board: chess.Board) -> bool:
    """Return whether the side to move is in check."""
    turn = board.turn
    king = board.kings & board.occupied_co[turn]
    return bool(king) and _is_hit(board, king.bit_length() - 1, board.occupied, board.occupied_co[not turn])


def can_move(board: chess.Board, *, check: bool | None = None) -> bool:
    """Return whether the side to move has a legal move.

    If it is not in check, any move of a piece that cannot be pinned is enough. `check` is whether the side is in check,
    or None if that is not known.
    """
    turn = board.turn
    own = board.occupied_co[turn]
    king = board.kings & own
    if king and not (in_check(board) if check is None else check):
        free = own & ~_LINES[king.bit_length() - 1]
        pawns = board.pawns & free
        if (pawns << 8 if turn else pawns >> 8) & ~board.occupied:
            return True
        pieces = free & ~pawns & ~king
        while pieces:
            piece = pieces.bit_length() - 1
            if board.attacks_mask(piece) & ~own:
                return True
            pieces ^= chess.BB_SQUARES[piece]
    return any(board.generate_legal_moves())


def play(board: chess.Board, move: chess.Move) -> None:
    """Play a legal move on a board with clean castling rights. It cannot be taken back, because the stack stays empty.

    The castling rights are clean if king and rook are still on their squares.
    """
    start, end = move.from_square, move.to_square
    here, there = chess.BB_SQUARES[start], chess.BB_SQUARES[end]
    turn, sides = board.turn, board.occupied_co
    castles = board.kings & here and (sides[turn] & there or abs(end - start) == 2)  # king takes rook, or two squares
    if castles or move.promotion or end == board.ep_square:
        board.push(move)
        board.clear_stack()
        return
    both = here | there
    if board.promoted:  # promoted pieces
        kept = board.promoted & ~there
        board.promoted = kept ^ both if kept & here else kept
    rights = board.castling_rights & ~both
    passed, clock = None, board.halfmove_clock + 1
    if sides[not turn] & there:
        kept = ~there
        board.pawns &= kept
        board.knights &= kept
        board.bishops &= kept
        board.rooks &= kept
        board.queens &= kept
        sides[not turn] &= kept
        clock = 0
    if board.pawns & here:
        board.pawns ^= both
        clock = 0
        if end - start in (16, -16):
            passed = (start + end) >> 1
    elif board.knights & here:
        board.knights ^= both
    elif board.bishops & here:
        board.bishops ^= both
    elif board.rooks & here:
        board.rooks ^= both
    elif board.queens & here:
        board.queens ^= both
    else:
        board.kings ^= both
        rights &= ~(chess.BB_RANK_1 if turn else chess.BB_RANK_8)
    sides[turn] ^= both
    board.occupied = sides[True] | sides[False]
    board.castling_rights, board.ep_square, board.halfmove_clock = rights, passed, clock
    board.fullmove_number += not turn
    board.turn = not turn


def play_san(board: chess.Board, move: chess.Move, *, mark: str | None = None) -> str:
    """Play a move as `play` does, and return its SAN. `mark` is the ``+``, ``#`` or "" at its end; None: unknown."""
    start, end = move.from_square, move.to_square
    piece = board.piece_type_at(start) or 0
    there = chess.BB_SQUARES[end]
    own = board.occupied_co[board.turn]
    if piece == chess.PAWN:
        straight = (start ^ end) & 7 == 0
        san = chess.SQUARE_NAMES[end] if straight else f"{chess.FILE_NAMES[start & 7]}x{chess.SQUARE_NAMES[end]}"
        if move.promotion:
            san += f"={_LETTERS[move.promotion]}"
    elif piece == chess.KING:
        if board.is_castling(move):
            san = "O-O" if board.is_kingside_castling(move) else "O-O-O"
        else:
            san = f"K{'x' if board.occupied & there else ''}{chess.SQUARE_NAMES[end]}"
    else:
        others = board.pieces_mask(piece, board.turn) & ~chess.BB_SQUARES[start] & _REACH[piece][end]
        if others and others & board.attackers_mask(board.turn, end):
            san = board.san(move)  # another piece of the same type may be able to move to this square
            play(board, move)
            return san
        san = f"{_LETTERS[piece]}{'x' if board.occupied & there & ~own else ''}{chess.SQUARE_NAMES[end]}"
    play(board, move)
    if mark is None:
        mark = ("+" if can_move(board, check=True) else "#") if in_check(board) else ""
    return san + mark


# Move texts of engines. The usual form is tried first, because that is fast, and then odd forms (runner spec 6, 7).

_PLAIN = re.compile(r"([a-h][1-8])[-x]?([a-h][1-8])(?:[=(/]?([nbrq])\)?)?", re.IGNORECASE)
_TRAILING = re.compile(r"[+#!?.,;]+$")
_BARE_PROMOTION = re.compile(r"([a-h][18])[(/]?([NBRQnbrq])\)?$")
LONGEST = 16  # maximum number of characters of a move in any form, with marks: a7xb8=(Q)+!? has 13
# The Chess960 form of castling (king takes rook), which is also accepted in standard chess.
_ROOK_TAKING = frozenset({"e1h1", "e1a1", "e8h8", "e8a8"})
_PROMOTIONS = frozenset("nbrq")


# Move objects never change, so all games share them; a look-up takes 20 % of the time of a new object (measured).
written = lru_cache(maxsize=4096)(chess.Move.from_uci)


def san_of(board: chess.Board, move: chess.Move) -> str:
    """Return the SAN as engines read it: with the letter P for a dropped pawn, which python-chess omits."""
    san = board.san(move)
    return f"P{san}" if san[0] == "@" else san


def read_move(
    board: chess.Board, text: str, *, lenient_promotion: bool = False, usual: bool = False, check: bool | None = None
) -> tuple[chess.Move | None, bool]:
    """Return the legal move that `text` means, or None, and whether the text has an odd form (for a warning).

    Null moves, promotions to pawns and moves of the opponent are never legal. Promotions to kings and drops are legal
    only in variants that have them.

    Args:
        board: the position before the move.
        text: the text that the engine sent.
        lenient_promotion: whether a promotion without a piece means a queen.
        usual: whether the rules of FIDE apply.
        check: whether the side to move is in check; None if that is not known.
    """
    plain = len(text) == 4 or (len(text) == 5 and (text[4] in _PROMOTIONS or (text[4] == "k" and _crowns(board))))
    if plain and text not in _ROOK_TAKING:
        try:
            move = written(text)
        except ValueError:
            pass
        else:
            if (usual and is_plainly_legal(board, move, check=check)) or board.is_legal(move):
                return move, False
    meant = _odd(board, text, lenient_promotion) if len(text) <= LONGEST else None
    return meant, meant is not None and meant.uci() != text


def _odd(board: chess.Board, text: str, lenient: bool) -> chess.Move | None:  # noqa: FBT001
    text = _TRAILING.sub("", text.strip())
    plain = _PLAIN.fullmatch(text)
    if plain is not None and (text[:2].islower() or (text.isupper() and plain[1].isupper())):
        squares = (plain[1] + plain[2]).lower()
        move = _legal(board, squares + (plain[3] or "").lower())
        if move is None and lenient and plain[3] is None:
            move = _legal(board, squares + "q")
        if move is not None:
            return move
    return _san(board, text, lenient)


def _legal(board: chess.Board, uci: str) -> chess.Move | None:
    try:
        return board.parse_uci(uci) or None
    except ValueError:
        return None


def _san(board: chess.Board, text: str, lenient: bool) -> chess.Move | None:  # noqa: FBT001
    san = text.replace("0-0-0", "O-O-O").replace("0-0", "O-O").replace("o-o-o", "O-O-O").replace("o-o", "O-O")
    promotion = _BARE_PROMOTION.search(san)
    if promotion is not None:
        san = f"{san[: promotion.start()]}{promotion[1]}={promotion[2].upper()}"
    for form in (san, san + "=Q") if lenient else (san,):
        try:
            move = board.parse_san(form)
        except ValueError:
            continue
        if move and move.promotion != chess.PAWN and (move.promotion != chess.KING or _crowns(board)):
            return move
    return None


def _crowns(board: chess.Board) -> bool:
    """Return whether pawns may promote to kings: in variants with compulsory captures, a king is a normal piece."""
    return type(board).captures_compulsory


# The game as it is sent to engines: one byte string, to which each move is appended.

# Maximum number of bytes of a `position` line; a surveyed engine aborts above 4 to 6 KB (runner spec 6).
MAX_LINE = 3_500
ROOM = 100  # bytes (20 plies); a line that is nearer to MAX_LINE is shortened when there is time for it


class Position:
    """A board, and the UCI command `line` (without its line end) that sets up the same position.

    The earlier moves are in `moves`, because the board may not have a stack of moves.
    """

    def __init__(self, fen: str | None = None, variant: str = STANDARD) -> None:
        self.fen = fen
        self.variant = variant
        self.board = self.start_board()
        # python-chess cleans castling rights only at the first push, but the keys of repetitions need clean rights now.
        self.board.castling_rights = self.board.clean_castling_rights()
        self.usual = VARIANTS[variant].is_usual  # whether the rules of FIDE apply
        self.check: bool | None = None  # whether the side to move is in check; None if it was not tested yet
        self.moves: list[str] = []  # all moves from the start position, in UCI
        self.anchor = 0  # number of plies up to and including the last irreversible move
        # O-O or O-O-O if the last move was castling in Chess960, because only UCI engines read it as squares
        self.castled = ""
        self.line = b"position startpos" if fen is None else b"position fen " + self._fen_text(self.board)
        self._last_san: str | None = None  # None until it is used for the first time, then updated
        self.words_begun = False
        self.begun_at = 0  # number of plies before the first move of `line`

    def start_board(self) -> chess.Board:
        """Return a new board with the position before the first move."""
        return board_of(self.variant, self.fen)

    @staticmethod
    def _fen_text(board: chess.Board) -> bytes:
        """Return the FEN. In Chess960, castling rights are files, because Glaurung 2.2 reads K as a rook on h."""
        return board.fen(shredder=board.chess960).encode("ascii")

    @property
    def last_san(self) -> str:
        """The last move as SAN, or "" if there is no move.

        After its first use it takes about 10 us per ply, so it is only used for the few engines that need SAN.
        """
        if self._last_san is None:
            self._last_san = san_of(self.back(1), written(self.moves[-1])) if self.moves else ""
        return self._last_san

    def back(self, plies: int) -> chess.Board:
        """Return a new board with the position `plies` plies earlier. The game is played again from the start."""
        board = self.start_board()
        for text in self.moves[: len(self.moves) - plies]:
            board.push(written(text))
        return board

    def push(self, move: chess.Move) -> bool:
        """Play a legal move. Return whether it is irreversible, that is, no earlier position can occur again."""
        board = self.board
        if self._last_san is not None:
            self._last_san = san_of(board, move)
        if board.chess960:
            self.castled = castling(board, move)
        if self.usual:  # python-chess makes the same tests, but takes three times as long
            rights = board.castling_rights
            irreversible = board.ep_square is not None and board.has_legal_en_passant()
            play(board, move)
            irreversible = irreversible or not board.halfmove_clock or board.castling_rights != rights
        else:
            irreversible = board.is_irreversible(move)
            board.push(move)
        self.check = None
        text = move.uci()
        self.moves.append(text)
        if irreversible:
            self.anchor = len(self.moves)
        if self.words_begun:
            self.line += b" " + text.encode("ascii")
        else:
            self.line += b" moves " + text.encode("ascii")
            self.words_begun = True
        if len(self.line) > MAX_LINE:
            self.shorten()
        return irreversible

    def resume(self, line: bytes, anchor: int, *, words_begun: bool) -> None:
        """Continue after plies that compiled code has played; it has already updated `board` and `moves`."""
        self.line, self.anchor, self.words_begun, self.check = line, anchor, words_begun, None

    def line_with(self, move: chess.Move) -> bytes:
        """Return `line` with one more move. The game itself does not change."""
        start = self.line if self.words_begun else self.line + b" moves"
        return start + b" " + move.uci().encode("ascii")

    def is_long(self, room: int) -> bool:
        """Return whether `line` is less than `room` bytes below its maximum, and `shorten` can shorten it."""
        return len(self.line) > MAX_LINE - room and self.anchor != self.begun_at

    def shorten(self, room: int = 0) -> None:
        """If `line` is less than `room` bytes below its maximum, let it begin at the last irreversible move.

        Repetitions are not affected. The method plays the game again, so it is called when there is time for it.
        """
        if not self.is_long(room):
            return
        since = len(self.moves) - self.anchor
        self.begun_at = self.anchor
        words = [b"position fen " + self._fen_text(self.back(since))]
        self.words_begun = since > 0
        if since:
            words.append(b"moves")
            words.extend(text.encode("ascii") for text in self.moves[-since:])
        self.line = b" ".join(words)


def castling(board: chess.Board, move: chess.Move) -> str:
    """Return ``O-O`` or ``O-O-O`` for a legal castling move, "" for any other."""
    if not board.is_castling(move):
        return ""
    return "O-O" if board.is_kingside_castling(move) else "O-O-O"
