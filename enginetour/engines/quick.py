"""What python-chess would answer, found sooner: only for FIDE's rules on FIDE's board, Chess960 among them.

question                          here     python-chess (us a ply, over a game of 186 plies)
whether a move is legal           2.9      5.1
whether there is a legal move     2.0      4.6
playing a move, no way back       0.7      1.7
SAN of a move, and playing it     4.4      13.2

Whatever is not plain is left to python-chess itself.
"""

from __future__ import annotations

import chess

_LETTERS = ("", "", "N", "B", "R", "Q", "K")  # by piece type
_OFFICERS = (chess.QUEEN, chess.ROOK, chess.BISHOP, chess.KNIGHT)
_NOTHING = (None,)
_THIRD = (chess.BB_RANK_6, chess.BB_RANK_3)  # a pawn there after one step may have made two, by colour
_STRAIGHT = tuple(chess.BB_RANK_ATTACKS[square][0] | chess.BB_FILE_ATTACKS[square][0] for square in chess.SQUARES)
_SLANTED = tuple(chess.BB_DIAG_ATTACKS[square][0] for square in chess.SQUARES)
# What a king's square is in line with: only pieces there can be pinned.
_LINES = tuple(straight | slanted for straight, slanted in zip(_STRAIGHT, _SLANTED, strict=True))
_REACH = ((), (), chess.BB_KNIGHT_ATTACKS, _SLANTED, _STRAIGHT, _LINES)  # on an empty board, by piece type


def _is_hit(board: chess.Board, square: chess.Square, occupied: int, theirs: int) -> bool:
    """Whether one of `theirs`, pieces of the side not to move, attacks the square: most are in no line with it."""
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
    """True for most legal moves. `check`: whether the side to move is in check, where that is known.

    False says nothing: castling is not plain, nor is a pawn taken in passing, which may stand between king and bishop.
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
    """Whether the side to move is in check."""
    turn = board.turn
    king = board.kings & board.occupied_co[turn]
    return bool(king) and _is_hit(board, king.bit_length() - 1, board.occupied, board.occupied_co[not turn])


def can_move(board: chess.Board, *, check: bool | None = None) -> bool:
    """Whether the side to move has a legal move: without a check, any of a piece that nothing pins.

    `check`: whether there is one, where that is known.
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
    """Play a legal move on a board with clean castling rights. There is no way back on it: its stack stays empty."""
    start, end = move.from_square, move.to_square
    here, there = chess.BB_SQUARES[start], chess.BB_SQUARES[end]
    turn, sides = board.turn, board.occupied_co
    castles = board.kings & here and (sides[turn] & there or abs(end - start) == 2)  # king takes rook, or two squares
    if castles or move.promotion or end == board.ep_square:
        board.push(move)
        board.clear_stack()
        return
    both = here | there
    if board.promoted:  # which pieces were pawns
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
    """As `play`; its SAN. `mark`: the ``+`` or ``#`` at its end, or "", where that is known."""
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
            san = board.san(move)  # it may need to be told apart from another
            play(board, move)
            return san
        san = f"{_LETTERS[piece]}{'x' if board.occupied & there & ~own else ''}{chess.SQUARE_NAMES[end]}"
    play(board, move)
    if mark is None:
        mark = ("+" if can_move(board, check=True) else "#") if in_check(board) else ""
    return san + mark
