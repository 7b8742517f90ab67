"""Compare "cannot mate" with helpmates that a search finds."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from random import Random

import chess
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.model.mating import can_mate, is_dead
from enginetour.model.variants import board_of

NODES = 400  # positions of a search


def helpmate(board: chess.Board, side: chess.Color, nodes: int = NODES) -> list[chess.Move] | None:
    """Search a helpmate by `side`, in positions in which the king has few squares first."""
    count = itertools.count()
    front: list[tuple[int, int, chess.Board, list[chess.Move]]] = [
        (_room(board, side), next(count), board.copy(stack=False), [])
    ]
    seen = {board.epd()}
    while front and nodes > 0:
        nodes -= 1
        _, _, here, line = heapq.heappop(front)
        for move in here.legal_moves:
            here.push(move)
            if here.is_checkmate() and here.turn != side:
                return [*line, move]
            if (mark := here.epd()) not in seen:
                seen.add(mark)
                heapq.heappush(front, (_room(here, side), next(count), here.copy(stack=False), [*line, move]))
            here.pop()
    return None


def _room(board: chess.Board, side: chess.Color) -> int:
    """Return the number of squares of the king and the distance of the other king, which a helpmate reduces."""
    king, other = board.king(not side), board.king(side)
    assert king is not None and other is not None
    free = [
        square
        for square in chess.scan_forward(chess.BB_KING_ATTACKS[king])
        if not board.is_attacked_by(side, square) and not board.occupied_co[not side] & chess.BB_SQUARES[square]
    ]
    men = board.occupied_co[side] & ~board.kings
    return 4 * len(free) + chess.square_distance(king, other) - 6 * men.bit_count()


@st.composite
def positions(draw: st.DrawFn) -> chess.Board:
    """Yield kings, blocked pawns on some files, and one or two more pieces."""
    board = chess.Board(None)
    for file in draw(st.sets(st.integers(0, 7), max_size=8)):
        rank = draw(st.sampled_from((2, 3, 3, 4)))
        board.set_piece_at(chess.square(file, rank), chess.Piece(chess.PAWN, chess.WHITE))
        board.set_piece_at(chess.square(file, rank + 1), chess.Piece(chess.PAWN, chess.BLACK))
    kinds = st.sampled_from((chess.PAWN, chess.KNIGHT, chess.BISHOP, chess.BISHOP, chess.ROOK, chess.QUEEN))
    more = draw(st.lists(st.tuples(kinds, st.booleans()), max_size=3))
    for kind, color in [(chess.KING, chess.WHITE), (chess.KING, chess.BLACK), *more]:
        free = [square for square in chess.SQUARES if board.piece_at(square) is None]
        inner = [square for square in free if 0 < chess.square_rank(square) < 7]
        square = draw(st.sampled_from(inner if kind == chess.PAWN else free))
        board.set_piece_at(square, chess.Piece(kind, color))
    board.turn = draw(st.booleans())
    if not board.is_valid():
        board.turn = not board.turn
    return board


@given(positions().filter(chess.Board.is_valid), st.booleans())
@settings(deadline=None, max_examples=60)
def test_whoever_can_be_helped_to_mate_can_mate(board: chess.Board, side: bool) -> None:
    """The program finds a mate possible in every position of a helpmate."""
    line = helpmate(board, side)
    if line is None:
        return
    for move in line:
        assert can_mate(board, side), f"{board.fen()}: {line}"
        board.push(move)


@given(st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=40)
def test_whoever_mates_in_a_game_could_mate_before(random: Random) -> None:
    """The program finds a mate possible before every mate of a random game with many captures."""
    board = chess.Board()
    line = list[chess.Board]()
    for _ in range(200):
        moves = list(board.legal_moves)
        if not moves:
            break
        taking = [move for move in moves if board.is_capture(move)]
        board.push(random.choice(taking or moves))
        line.append(board.copy(stack=False))
    if board.is_checkmate():
        assert all(can_mate(one, not board.turn) for one in line)


WALLS = (
    "8/8/2p1k3/1pPp1p2/pP1P1P1p/P6P/4K3/8 w - - 0 1",
    "4k3/8/8/p1p1p1p1/P1P1P1P1/8/8/4K3 w - - 0 1",
    "7k/8/8/1p1p1p1p/pPpPpPpP/P1P1P1P1/8/2B4K w - - 0 1",
    "7k/8/8/1p1p1p1p/pPpPpPpP/P1P1P1P1/8/2B4K b - - 0 1",
    "5k2/6p1/5pP1/4pP2/1p1pP3/1P1P4/8/6K1 w - - 0 1",
)


@pytest.mark.parametrize("fen", WALLS)
def test_behind_a_wall_of_pawns_nobody_can_mate(fen: str) -> None:
    """No side can mate behind a pawn wall, with kings only or with a bad bishop."""
    assert is_dead(chess.Board(fen))


@pytest.mark.parametrize(
    ("fen", "white", "black"),
    [
        ("7k/8/8/1p1p1p1p/pPpPpPpP/P1P1P1P1/8/5B1K w - - 0 1", True, True),  # the bishop can capture pawns
        ("7k/8/8/1p1p1p1p/pPpPpPpP/P1P1P1P1/8/5N1K w - - 0 1", True, True),
        ("7k/8/8/8/8/8/1p6/K1N5 w - - 0 1", True, True),  # a knight against a pawn that can be promoted
        ("7k/8/8/8/8/8/8/K1N1b3 w - - 0 1", True, True),
        ("7k/8/8/8/8/8/8/K1N1q3 w - - 0 1", False, True),  # a knight cannot mate against a queen
        ("7k/8/8/8/8/8/8/K1B1b3 w - - 0 1", False, False),  # bishops on squares of the same color
        ("7k/8/8/8/8/8/8/K1B2b2 w - - 0 1", True, True),
        ("7k/8/8/8/8/8/8/KNN5 w - - 0 1", True, False),
        ("8/8/8/8/8/8/5k1p/7K w - - 0 1", False, False),  # stalemate
        ("8/8/8/8/8/6k1/5q2/7K w - - 0 1", False, False),
        ("8/8/8/8/8/8/1k6/rK6 w - - 0 1", False, True),
        ("k7/8/8/8/8/8/1r6/K7 w - - 0 1", False, False),  # the only legal move captures the rook
        ("r3k3/8/8/8/8/8/8/4K3 b q - 0 1", False, True),
        ("4k3/8/8/8/Pp6/1P6/8/4K3 b - a3 0 1", True, True),  # en passant opens the pawn wall
    ],
)
def test_what_can_be_decided_is(fen: str, white: bool, black: bool) -> None:
    """Known cases of material, pawn walls and forced moves are decided."""
    board = chess.Board(fen)
    assert (can_mate(board, chess.WHITE), can_mate(board, chess.BLACK)) == (white, black)


def placed(*men: tuple[str, chess.Square]) -> chess.Board:
    board = chess.Board(None)
    for symbol, square in men:
        board.set_piece_at(square, chess.Piece.from_symbol(symbol))
    board.turn = chess.BLACK
    return board


def mates_of(symbol: str, blockers: str) -> Iterator[chess.Board]:
    """Yield mates by one piece and the king; `blockers` occupy the other king's free squares."""
    corner = [chess.square(file, rank) for rank in range(4) for file in range(4) if rank <= file]
    for king, other, square in itertools.product(corner, chess.SQUARES, chess.SQUARES):
        if len({king, other, square}) < 3 or chess.square_distance(king, other) < 2:
            continue
        board = placed(("k", king), ("K", other), (symbol, square))
        if not board.is_check():
            continue
        left = [move.to_square for move in board.legal_moves]
        if len(left) > 2:
            continue
        for kinds in itertools.product(blockers, repeat=len(left)):
            tried = placed(("k", king), ("K", other), (symbol, square), *zip(kinds, left, strict=True))
            if tried.is_valid() and tried.is_checkmate():
                yield tried


@pytest.mark.parametrize(("symbol", "blockers"), [("N", "q"), ("B", "rq")])
def test_what_material_cannot_do_no_position_shows(symbol: str, blockers: str) -> None:
    """There is no mate by a knight against queens, or by a bishop against rooks and queens."""
    assert not list(mates_of(symbol, blockers))


def test_mates_by_a_knight_against_other_men_are_found() -> None:
    """The search finds mates by a knight against other pieces, and the program finds them possible."""
    found = list(mates_of("N", "rbnp"))
    assert len(found) > 10
    assert all(can_mate(board, chess.WHITE) for board in found)


def test_variants_keep_their_own_rule() -> None:
    """In variants, only material decides: an atomic king can explode behind a pawn wall."""
    board = board_of("atomic", WALLS[0])
    assert can_mate(board, chess.WHITE) is not board.has_insufficient_material(chess.WHITE)
    assert can_mate(board_of("atomic", "8/8/8/4k3/8/8/8/K7 w - - 0 1"), chess.WHITE) is False
