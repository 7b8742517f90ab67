"""Texts of engines as moves."""

from __future__ import annotations

import chess
import pytest

from enginetour.engines.position import read_move

CASTLING = "4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1"
PROMOTION = "3rk3/4P3/8/8/8/8/8/R3K2R w KQ - 0 1"


@pytest.mark.parametrize(
    ("fen", "text", "uci", "odd"),
    [
        (chess.STARTING_FEN, "e2e4", "e2e4", False),
        (chess.STARTING_FEN, "E2E4", "e2e4", True),
        (chess.STARTING_FEN, "e2-e4", "e2e4", True),
        (chess.STARTING_FEN, "Nf3", "g1f3", True),
        (chess.STARTING_FEN, "Ng1-f3", "g1f3", True),
        (chess.STARTING_FEN, "e4!", "e2e4", True),
        (PROMOTION, "e7d8q", "e7d8q", False),
        (PROMOTION, "e7d8N", "e7d8n", True),
        (PROMOTION, "e7d8=R", "e7d8r", True),
        (PROMOTION, "e7d8(B)", "e7d8b", True),
        (PROMOTION, "exd8=Q+", "e7d8q", True),
        (PROMOTION, "exd8(Q)", "e7d8q", True),
        (PROMOTION, "exd8Q", "e7d8q", True),
        (CASTLING, "O-O", "e1g1", True),
        (CASTLING, "0-0-0", "e1c1", True),
        (CASTLING, "e1g1", "e1g1", False),
        (CASTLING, "e1h1", "e1g1", True),
        ("4k3/8/8/8/8/8/4K3/R7 w - - 0 1", "a1h1", "a1h1", False),
        ("r3k3/8/8/8/8/8/8/4Q2K w - - 0 1", "e1a1", "e1a1", False),
    ],
)
def test_forms_that_are_understood(fen: str, text: str, uci: str, odd: bool) -> None:
    """Plain moves are plain, all other forms are odd; a rook's or queen's e1a1 is no castling."""
    move, was_odd = read_move(chess.Board(fen), text)
    assert move == chess.Move.from_uci(uci)
    assert was_odd is odd


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0000",
        "(none)",
        "(null)",
        "NULL",
        "a1a1",
        "e2e5",
        "e7e5",
        "--",
        "Z0",
        "@@@@",
        "N@f3",
        "resign",
        "e2",
        "\x00",
    ],
)
def test_what_is_never_a_move(text: str) -> None:
    """Null moves, drops, moves of the other side and words."""
    assert read_move(chess.Board(), text)[0] is None


@pytest.mark.parametrize("text", ["e7d8", "exd8", "e7d8k", "e7d8p", "e7d8=K", "exd8=K"])
def test_a_promotion_needs_a_piece(text: str) -> None:
    """No piece, a king, a pawn: illegal."""
    assert read_move(chess.Board(PROMOTION), text)[0] is None


@pytest.mark.parametrize("text", ["e7d8", "exd8"])
def test_a_lenient_reader_makes_a_queen(text: str) -> None:
    """Only where the engine's file says so."""
    assert read_move(chess.Board(PROMOTION), text, lenient_promotion=True)[0] == chess.Move.from_uci("e7d8q")


@pytest.mark.timeout(5)
def test_a_long_answer_is_no_move_and_costs_nothing() -> None:
    """An answer as long as a line may be is refused at once: the opponent's clock may be running."""
    assert read_move(chess.Board(), "e2e4" + "." * 60_000 + "x") == (None, False)
    assert read_move(chess.Board(), "e2e4" + "!?" * 3) == (chess.Move.from_uci("e2e4"), True)
