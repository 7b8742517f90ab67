"""Adjudication by real tablebases: a win can be won before the move counter ends, and no draw counts as a win."""

from __future__ import annotations

import random
from pathlib import Path

import chess.syzygy
import pytest

from enginetour.model.game import Opening, Outcome, Termination
from enginetour.model.task import Rules, TablebaseRule
from enginetour.referee.tablebases import find_tables, open_tables
from tests.support import engines
from tests.support.engines import game, sound

pytestmark = pytest.mark.night
PIECES = ("KQk", "KRk", "KPk", "KBNk", "KBBk", "KQkr", "KRkn", "KRkb", "KPkp", "KQkp", "KRPk")
TRIALS = 150


@pytest.fixture(scope="module")
def folder(request: pytest.FixtureRequest) -> Path:
    """Tables of three and four pieces."""
    return engines.tables(request.config)


def placed(dice: random.Random, pieces: str, clock: int) -> chess.Board:
    """Return a legal position with these pieces and this value of the move counter."""
    while True:
        board = chess.Board(None)
        for sign, square in zip(pieces, dice.sample(range(64), len(pieces)), strict=True):
            board.set_piece_at(square, chess.Piece.from_symbol(sign))
        board.turn, board.halfmove_clock = dice.choice((chess.WHITE, chess.BLACK)), clock
        if board.is_valid() and not board.is_game_over():
            return board


def won(board: chess.Board, tables: chess.syzygy.Tablebase) -> bool:
    """Play by DTZ to the next capture, pawn move or mate; return whether it comes before the end of the counter."""
    while board.halfmove_clock < 100:
        winning = tables.probe_wdl(board) > 0
        replies = []
        for move in board.legal_moves:
            zeroing = board.is_zeroing(move)
            board.push(move)
            mated = board.is_checkmate()
            value = -tables.probe_wdl(board)
            length = 0 if mated or zeroing else abs(tables.probe_dtz(board))
            board.pop()
            replies.append((value, -length if winning else length, mated or zeroing, move))
        _, _, done, move = max(replies, key=lambda reply: reply[:2])
        board.push(move)
        if done:
            return True
    return False


def test_a_win_by_the_tables_can_be_won_in_time(folder: Path) -> None:
    """Every win by the tables can be won in time, with any value of the counter."""
    dice = random.Random(5)
    judge = open_tables(Rules(tables=TablebaseRule((str(folder),), 4)), "standard")
    assert judge is not None
    wins = 0
    with chess.syzygy.open_tablebase(str(folder)) as tables:
        for _ in range(TRIALS):
            board = placed(dice, dice.choice(PIECES), dice.randrange(1, 100))
            result = judge.result(board)
            exact = tables.probe_wdl(board)
            if result is Outcome.DRAW:
                assert abs(exact) < 2
            elif result is not None:
                wins += 1
                assert (result is Outcome.WHITE) == ((exact > 0) == board.turn), board.fen()
                assert won(board.copy(), tables), board.fen()
    assert wins > TRIALS // 10


def test_all_tables_of_the_package_are_found(folder: Path) -> None:
    """The tables of three and four pieces are complete."""
    assert find_tables((str(folder),)).lines(4) == (
        "WDL tables for 3 pieces: 5 of 5 files",
        "WDL tables for 4 pieces: 30 of 30 files",
    )


def test_a_game_ends_where_the_tables_know_it(folder: Path) -> None:
    """A game ends with the capture that leaves a won position of three pieces."""
    opening = Opening(fen="7k/8/8/8/8/5n2/8/K4Q2 w - - 12 60")
    white, black = sound(moves="f1f3"), sound(moves="h8g7")
    played = game(white, black, opening=opening, tables=TablebaseRule((str(folder),), 4))
    assert (played.outcome, played.termination) == (Outcome.WHITE, Termination.ADJUDICATION_TABLEBASE)
    assert played.cause == "White wins by adjudication: SyzygyTB"
    assert played.plies == 1
