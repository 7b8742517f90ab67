"""Positions an engine must find a legal move in: common ones, and those in which move generators have erred."""

from __future__ import annotations

import chess

from enginetour.engines.position import MAX_LINE, Position

# (key, what it is, FEN or "" for the start position, moves behind it). In those called "only" there is one move, or
# one kind of move.
PLACES: tuple[tuple[str, str, str, str], ...] = (
    ("start", "the start position", "", ""),
    ("moves", "after a list of moves", "", "e2e4 e7e5"),
    ("black", "Black to move, from the start", "", "d2d4"),
    ("fen", "a FEN, White to move", "r1bq1rk1/pp2bppp/2n1pn2/2pp4/3P1B2/2PBPN2/PP1N1PPP/R2QK2R w KQ - 4 8", ""),
    ("fen-black", "a FEN, Black to move", "r1bqkbnr/pp1p1ppp/2n1p3/8/3NP3/8/PPP2PPP/RNBQKB1R b KQkq - 1 5", ""),
    (
        "fen-moves",
        "a FEN and moves behind it",
        "rnbqkb1r/pp2pppp/3p1n2/8/3NP3/8/PPP2PPP/RNBQKB1R w KQkq - 1 5",
        "b1c3 a7a6",
    ),
    ("castled", "castling among the moves", "", "e2e4 e7e5 g1f3 b8c6 f1c4 f8c5 e1g1 g8f6 d2d3 e8g8"),
    ("castled-long", "long castling among the moves", "", "d2d4 d7d5 b1c3 b8c6 c1f4 c8f5 d1d2 d8d7 e1c1 e8c8"),
    ("rights", "some castling rights only", "r3k2r/pppq1ppp/2npbn2/4p3/4P3/2NPBN2/PPPQ1PPP/R3K2R w Kq - 4 9", ""),
    ("passing", "a capture en passant is there", "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3", ""),
    ("passing-moves", "en passant among the moves", "", "e2e4 a7a6 e4e5 d7d5 e5d6"),
    ("passing-only", "only en passant parries the check", "1N6/3Q1R2/8/4k3/3Pp3/K1N4B/8/8 b - d3 0 1", ""),
    ("promoted", "a promotion to a knight among the moves", "", "h2h4 g7g5 h4g5 h7h6 g5h6 a7a6 h6h7 a6a5 h7g8n"),
    ("promotion-only", "only promotions are legal", "8/P7/8/8/8/1q6/8/K6k w - - 0 1", ""),
    ("double-check", "a double check", "r3k3/8/8/1B6/8/8/8/4R1K1 b q - 0 1", ""),
    ("pinned", "a pinned piece and a check", "4k3/8/4r3/8/7b/8/4B3/4K3 w - - 0 1", ""),
    ("one-move", "one legal move, a step from stalemate", "7k/5Q2/8/8/p7/8/8/K7 b - - 0 1", ""),
    ("mate", "a mate in one", "6k1/5ppp/8/8/8/8/8/K2R4 w - - 0 1", ""),
    ("fifty", "one move before the fifty-move rule", "8/8/4k3/8/8/3QK3/8/8 w - - 98 120", ""),
    ("repeated", "a position that has occurred twice", "", "g1f3 g8f6 f3g1 f6g8"),
    ("crowded", "218 legal moves", "R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1", ""),
)
# In Chess960: one legal move, castling with a rook that is not in the corner.
ONLY_CASTLING = "k3r3/8/8/8/8/6p1/6P1/5KRB w K - 0 1"
RARE = frozenset({"passing-only", "crowded"})  # a surveyed engine never answers in the first: once in many games
WINNING_BLACK = "3qk3/8/8/8/8/8/3P4/4K3 b - - 0 1"  # a queen ahead: a score from White's side has the wrong sign
_TURN = 6_364_136_223_846_793_005  # multiplier of the generator MMIX (Knuth, TAOCP 2, 3.3.4)
_STEP = 1_442_695_040_888_963_407  # its increment
LONGEST_MOVE = 6  # bytes of a move with its blank
_QUIET_PLIES = 90  # then a pawn move or capture, long before the fifty-move rule


def position(fen: str, moves: str = "") -> Position:
    """A position with the moves that led to it."""
    made = Position(fen or None)
    for text in moves.split():
        made.push(chess.Move.from_uci(text))
    return made


def long_game() -> Position:
    """A legal game that is not over, as long as one line may tell; always the same one.

    No position of it comes twice, and no fifty moves pass without a pawn move or capture.
    """
    made, state, seen = Position(), 1, {chess.Board().epd()}
    while len(made.line) + LONGEST_MOVE <= MAX_LINE:
        board = made.board
        moves = sorted(board.legal_moves, key=chess.Move.uci)
        state = (state * _TURN + _STEP) % 2**64
        start = (state >> 33) % len(moves)
        turned = [*moves[start:], *moves[:start]]
        wanted = board.halfmove_clock >= _QUIET_PLIES
        turned.sort(key=lambda move: _cost(board, move, wanted))
        for move in turned:
            board.push(move)
            fits = board.epd() not in seen and not board.is_game_over()
            board.pop()
            if fits:
                break
        else:
            break
        made.push(move)
        seen.add(board.epd())
    return made


def _cost(board: chess.Board, move: chess.Move, wanted: bool) -> int:  # noqa: FBT001
    """How much of the game's length a move takes: captures most, then pawn moves; checks force them."""
    capture, zeroing = board.is_capture(move), board.is_zeroing(move)
    return 4 * capture + 2 * (zeroing != wanted) + board.gives_check(move)
