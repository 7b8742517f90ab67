"""Check whether a side can still mate by any series of legal moves of both sides (FIDE 5.2.2, 6.9, 7.5.5).

The answer "no" is a proof, but "yes" is not: if a position cannot be decided quickly, a mate counts as possible. There
are two proofs:

* by material: the remaining pieces cannot mate in any position (`chess.Board.has_insufficient_material`);
* by walls: for each piece, the squares that it may ever reach are extended until nothing changes. A blocked pawn that
  cannot be captured stays and keeps the enemy king off the squares that it attacks. No mate is possible if no square of
  the king can be attacked while all squares around it are attacked too, or occupied by its own pieces.

A line of forced moves is followed to its end, because the only legal move may capture the last piece that could mate.
Source of the reasoning with reachable squares: M. Ambrona, A Practical Algorithm for Chess Unwinnability (FUN 2022).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import chess

_FORCED = 2  # largest number of legal moves in each position of a forced line
DEPTH = 4  # largest number of plies of a forced line: at most 31 positions, about 10 ms each (measured)
_ROOK = ((0, 1), (0, -1), (1, 0), (-1, 0))
_BISHOP = ((1, 1), (1, -1), (-1, 1), (-1, -1))
_STEPS = {chess.ROOK: _ROOK, chess.BISHOP: _BISHOP, chess.QUEEN: _ROOK + _BISHOP}
_LAST_RANKS = chess.BB_RANK_1 | chess.BB_RANK_8


def can_mate(board: chess.Board, side: chess.Color) -> bool:
    """Return whether `side` may still mate; False is certain. Variants are decided by material alone."""
    if board.uci_variant != chess.Board.uci_variant:
        return not board.has_insufficient_material(side)
    return not _is_lost_cause(board, side, DEPTH)


def is_dead(board: chess.Board) -> bool:
    """Return whether neither side can mate, so that the game is drawn (FIDE 5.2.2). True is certain."""
    return not (can_mate(board, chess.WHITE) or can_mate(board, chess.BLACK))


def _is_lost_cause(board: chess.Board, side: chess.Color, depth: int) -> bool:
    if board.has_insufficient_material(side):
        return True
    if board.is_checkmate():
        return board.turn == side
    if not board.castling_rights and not _Reach(board).can_mate(side):
        return True
    moves = list(board.legal_moves)
    if len(moves) > _FORCED or depth == 0:
        return False
    for move in moves:
        board.push(move)
        lost = _is_lost_cause(board, side, depth - 1)
        board.pop()
        if not lost:
            return False
    return True


@dataclass(slots=True)
class _Man:
    """A piece or pawn; `reach` contains every square that it may ever reach."""

    color: chess.Color
    kind: chess.PieceType
    square: chess.Square
    reach: int
    may_fall: bool = False

    @property
    def may_leave(self) -> bool:
        return self.may_fall or self.reach != chess.BB_SQUARES[self.square]


class _Reach:
    """All pieces of a position, and the squares that they may reach; possibly too many squares, but never too few."""

    def __init__(self, board: chess.Board) -> None:
        self._men = [
            _Man(piece.color, piece.piece_type, square, chess.BB_SQUARES[square])
            for square, piece in board.piece_map().items()
        ]
        self._on = {man.square: man for man in self._men}
        self._passed = board.ep_square
        self._promotes = False

    def can_mate(self, side: chess.Color) -> bool:
        while not self._promotes and self._grow():
            pass
        return self._promotes or self._may_mate(side)

    def _grow(self) -> bool:
        """Extend the reach of every piece by one move; return whether anything changed."""
        before = [(man.reach, man.may_fall) for man in self._men]
        for man in self._men:
            for square in chess.scan_forward(man.reach):
                for target in self._targets(man, square):
                    man.reach |= chess.BB_SQUARES[target]
                    self._take(not man.color, target)
            if man.kind == chess.PAWN and man.reach & _LAST_RANKS:
                self._promotes = True
        return before != [(man.reach, man.may_fall) for man in self._men]

    def _take(self, color: chess.Color, square: chess.Square) -> None:
        for man in self._men:
            if man.color == color and man.kind != chess.KING and man.reach & chess.BB_SQUARES[square]:
                man.may_fall = True

    def _targets(self, man: _Man, square: chess.Square) -> Iterator[chess.Square]:
        if man.kind == chess.PAWN:
            yield from self._pawn_targets(man, square)
            return
        kept_off = self._kept_off(not man.color) if man.kind == chess.KING else 0
        for target in chess.scan_forward(self._attacks(man, square) & ~kept_off):
            other = self._on.get(target)
            if other is None or other.may_leave or (other.color != man.color and other.kind != chess.KING):
                yield target

    def _pawn_targets(self, man: _Man, square: chess.Square) -> Iterator[chess.Square]:
        ahead = 8 if man.color == chess.WHITE else -8
        if self._may_be_empty(square + ahead):
            yield square + ahead
            first = square == man.square and chess.square_rank(square) == (1 if man.color == chess.WHITE else 6)
            if first and self._may_be_empty(square + 2 * ahead):
                yield square + 2 * ahead
        for target in chess.scan_forward(chess.BB_PAWN_ATTACKS[man.color][square]):
            bit = chess.BB_SQUARES[target]
            if any(one.color != man.color and one.kind != chess.KING and one.reach & bit for one in self._men):
                yield target
            elif (passing := self._passing(man.color, target)) is not None:
                passing.may_fall = True
                yield target

    def _passing(self, color: chess.Color, target: chess.Square) -> _Man | None:
        """Return the enemy pawn that a pawn of `color` may capture en passant by moving to `target`."""
        beyond = target + (-8 if color == chess.WHITE else 8)
        for man in self._men:
            if man.color != color and man.kind == chess.PAWN and man.reach & chess.BB_SQUARES[beyond]:
                double = abs(man.square - beyond) == 16
                if double or (target == self._passed and man.square == beyond):
                    return man
        return None

    def _may_be_empty(self, square: chess.Square) -> bool:
        man = self._on.get(square)
        return man is None or man.may_leave

    def _kept_off(self, color: chess.Color) -> int:
        """Return the squares that immovable pieces of `color` attack during the whole game."""
        squares = 0
        for man in self._men:
            if man.color == color and not man.may_leave and man.kind in (chess.PAWN, chess.KNIGHT, chess.KING):
                squares |= self._attacks(man, man.square)
        return squares

    def _attacks(self, man: _Man, square: chess.Square, through: chess.Square | None = None) -> int:
        """Return the squares that a piece may attack; immovable pieces block it, except on the square `through`."""
        if man.kind == chess.PAWN:
            return chess.BB_PAWN_ATTACKS[man.color][square]
        if man.kind == chess.KNIGHT:
            return chess.BB_KNIGHT_ATTACKS[square]
        if man.kind == chess.KING:
            return chess.BB_KING_ATTACKS[square]
        found = 0
        for files, ranks in _STEPS[man.kind]:
            file, rank = chess.square_file(square) + files, chess.square_rank(square) + ranks
            while 0 <= file < 8 and 0 <= rank < 8:
                target = chess.square(file, rank)
                found |= chess.BB_SQUARES[target]
                if target != through and not self._may_be_empty(target):
                    break
                file, rank = file + files, rank + ranks
        return found

    def _may_mate(self, side: chess.Color) -> bool:
        """Return whether a square of the king may be attacked while every square around it is attacked or occupied."""
        king = next(man for man in self._men if man.kind == chess.KING and man.color != side)
        checked = covered = blocked = 0
        for man in self._men:
            if man.color != side:
                blocked |= 0 if man is king else man.reach
                continue
            attacked = 0
            for square in chess.scan_forward(man.reach):
                attacked |= self._attacks(man, square, king.square)
            covered |= attacked
            checked |= 0 if man.kind == chess.KING else attacked
        return any(
            not chess.BB_KING_ATTACKS[square] & ~(covered | blocked)
            for square in chess.scan_forward(king.reach & checked)
        )
