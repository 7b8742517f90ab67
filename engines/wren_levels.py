"""Data of Wren: how each level searches, and the values of pieces and squares."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import chess

VALUES = (0, 100, 305, 320, 500, 960, 0)  # P N B R Q K in centipawns, from test matches
DEEPEST = 64
Placement = tuple[int, int, int, int, int, int, int, bool, int, int | None]


class Level(NamedTuple):
    """How a level searches: depth in plies, noise in centipawns, blindness in percent of the moves it overlooks."""

    depth: int
    noise: int
    blind: int
    quiet: bool  # search captures to their end
    squares: bool  # know good squares for the pieces
    sharp: bool = False  # skip moves that hardly matter, to search deeper
    pace: float = 1.0  # part of the available time that it uses


LEVELS = (
    Level(1, 1500, 0, quiet=False, squares=False),
    Level(1, 150, 0, quiet=False, squares=True),
    Level(1, 60, 40, quiet=True, squares=True),
    Level(1, 40, 12, quiet=True, squares=True),
    Level(1, 15, 0, quiet=True, squares=True),
    Level(2, 40, 6, quiet=True, squares=True),
    Level(3, 25, 0, quiet=True, squares=True, sharp=True, pace=0.4),
    Level(DEEPEST, 4, 0, quiet=True, squares=True, sharp=True),
)


def placement(board: chess.Board) -> Placement:
    """Return what equal positions share, for repetitions and for the memory of a search."""
    return (
        board.pawns,
        board.knights,
        board.bishops,
        board.rooks,
        board.queens,
        board.kings,
        board.occupied_co[chess.WHITE],
        board.turn,
        board.castling_rights,
        board.ep_square,
    )


@cache
def squares(*, endgame: bool, known: bool) -> tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]:
    """Return the value of each piece on each square, ``[color][piece][square]``, Black first; chosen values."""

    def worth(piece: int, square: int) -> int:
        file, rank = square & 7, square >> 3
        wing = min(file, 7 - file)
        centre = wing + min(rank, 7 - rank)
        if not known or not piece:
            return VALUES[piece]
        if piece == chess.PAWN:
            start = -12 if rank == 1 and wing == 3 else 0
            return VALUES[piece] + (0, 0, 2, 7, 14, 30, 60, 0)[rank] * (2 if endgame else 1) + 3 * wing + start
        if piece == chess.KING:
            return 9 * centre if endgame else -14 * rank - (0, 0, 8, 14)[wing] + (12 if file == 6 else 0)
        if piece == chess.ROOK:
            return VALUES[piece] + 3 * wing + (18 if rank == 6 else 0)
        return VALUES[piece] + (0, 0, 8, 4, 0, 1)[piece] * centre - (8 if rank == 0 else 0)

    white = tuple(tuple(worth(piece, square) for square in range(64)) for piece in range(7))
    black = tuple(tuple(row[square ^ 56] for square in range(64)) for row in white)
    return black, white
