"""What python-chess would answer, found sooner: only for FIDE's rules on FIDE's board, Chess960 among them.

question                          here     python-chess (us a ply, over a game of 186 plies)
whether there is a legal move     2.5      4.5
SAN of a move, and playing it     4.4      13.2

Whatever is not plain is left to python-chess itself.
"""

from __future__ import annotations

import chess

_LETTERS = ("", "", "N", "B", "R", "Q", "K")  # by piece type
# What a king's square is in line with: only pieces there can be pinned.
_LINES = tuple(
    chess.BB_DIAG_ATTACKS[square][0] | chess.BB_RANK_ATTACKS[square][0] | chess.BB_FILE_ATTACKS[square][0]
    for square in chess.SQUARES
)


def is_plainly_legal(board: chess.Board, move: chess.Move) -> bool:
    """True for most legal moves of a side that is not in check: of pieces that nothing can pin, and no king.

    False says nothing. A pawn taken in passing may have stood between a king and a bishop, so that is not plain.
    """
    king, start = board.king(board.turn), move.from_square
    if king is None or start == king or _LINES[king] & chess.BB_SQUARES[start] or move.to_square == board.ep_square:
        return False
    return board.is_pseudo_legal(move)


def can_move(board: chess.Board, *, check: bool | None = None) -> bool:
    """Whether the side to move has a legal move: a pawn that nothing pins may step when there is no check.

    `check`: whether there is one, where that is known.
    """
    turn = board.turn
    king = board.king(turn)
    if king is not None and not (board.is_check() if check is None else check):
        pawns = board.pawns & board.occupied_co[turn] & ~_LINES[king]
        if (pawns << 8 if turn else pawns >> 8) & ~board.occupied:
            return True
    return any(board.generate_legal_moves())


def play_san(board: chess.Board, move: chess.Move, *, check: bool | None = None) -> str:
    """Play a legal move; its SAN. `check`: whether it gives one, where that is known."""
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
        others = board.pieces_mask(piece, board.turn) & ~chess.BB_SQUARES[start]
        if others and others & board.attackers_mask(board.turn, end):
            san = board.san(move)  # it may need to be told apart from another
            board.push(move)
            return san
        san = f"{_LETTERS[piece]}{'x' if board.occupied & there & ~own else ''}{chess.SQUARE_NAMES[end]}"
    board.push(move)
    if not (board.is_check() if check is None else check):
        return san
    return f"{san}+" if can_move(board, check=True) else f"{san}#"
