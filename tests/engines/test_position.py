"""Tests of engines/position."""

from __future__ import annotations

import random
import time

import chess
import pytest

from enginetour.engines.position import MAX_LINE, Position, read_move
from enginetour.model.errors import EngineStalled
from enginetour.model.task import EngineSpec, Rules, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.referee import verdict
from enginetour.referee.ends import RuleEnds
from enginetour.referee.startup import Seat

# The position as it is sent to engines.


def told(line: bytes) -> chess.Board:
    """Return the board that an engine builds from a position line."""
    words = line.decode().split()
    at = words.index("moves") if "moves" in words else len(words)
    board = chess.Board() if words[1] == "startpos" else chess.Board(" ".join(words[2:at]))
    for text in words[at + 1 :]:
        board.push_uci(text)
    return board


def test_the_line_is_extended_move_by_move() -> None:
    """The line is extended by one word per ply."""
    position = Position()
    assert position.line == b"position startpos"
    position.push(chess.Move.from_uci("e2e4"))
    before = position.line
    position.push(chess.Move.from_uci("e7e5"))
    assert position.line == before + b" e7e5" == b"position startpos moves e2e4 e7e5"


def test_a_start_position_of_its_own() -> None:
    """Castling rights without king and rook at home are not sent, because engines crash on them."""
    position = Position("4k3/8/8/8/8/8/4P3/4K3 w KQkq - 0 1")
    assert position.line == b"position fen 4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"


def test_a_long_game_begins_anew_after_an_irreversible_move() -> None:
    """The line never exceeds its limit, and always leads to the same position."""
    dice = random.Random(3)
    position = Position()
    for _ in range(900):
        moves = list(position.board.legal_moves)
        if not moves:
            break
        before = len(position.line)
        quiet = [move for move in moves if not position.board.is_zeroing(move)] or moves
        position.push(dice.choice(moves if len(position.moves) % 40 == 0 else quiet))
        assert len(position.line) <= MAX_LINE
        if len(position.line) < before or len(position.moves) % 10 == 0:
            assert told(position.line).fen() == position.board.fen()
    assert len(position.moves) > 300


def test_the_last_move_in_san() -> None:
    """The last move in SAN is as written before the move, whenever it is requested."""
    position = Position()
    assert position.last_san == ""
    position.push(chess.Move.from_uci("g1f3"))
    before = position.board.fen(), position.line
    assert position.last_san == "Nf3"
    assert (position.board.fen(), position.line) == before
    late = Position()
    for text in ("g1f3", "b8c6", "f3g1", "c6b4"):
        late.push(chess.Move.from_uci(text))
    assert late.last_san == "Nb4"
    late.push(chess.Move.from_uci("g1f3"))
    assert late.last_san == "Nf3"


def test_a_pawn_is_dropped_by_its_letter() -> None:
    """A pawn is dropped with its letter: CECP engines with san=1 got ``@e5``, and lost if they rejected it."""
    house = Position("4k3/8/8/8/8/8/8/4K3[PPn] w - - 0 1", "crazyhouse")
    house.push(chess.Move.from_uci("P@e5"))
    assert house.last_san == "P@e5"
    for uci, san in (("N@c6", "N@c6"), ("P@d5", "P@d5")):
        house.push(chess.Move.from_uci(uci))
        assert house.last_san == san


def test_a_board_of_some_plies_ago() -> None:
    """A board of some plies ago is played again from the start, in any variant."""
    position = Position(variant="crazyhouse")
    boards = [position.board.fen()]
    for text in ("e2e4", "d7d5", "e4d5", "d8d5", "g1f3", "d5f3", "g2f3", "P@e2", "f1e2", "e7e5", "e1g1"):
        position.push(chess.Move.from_uci(text))
        boards.append(position.board.fen())
    assert [position.back(plies).fen() for plies in range(len(boards))] == boards[::-1]


# Move texts of engines.

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
    """Plain moves are plain, all other forms are odd; e1a1 of a rook or queen is not castling."""
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
    """Null moves, drops, moves of the other side and words are never moves."""
    assert read_move(chess.Board(), text)[0] is None


@pytest.mark.parametrize("text", ["e7d8", "exd8", "e7d8k", "e7d8p", "e7d8=K", "exd8=K"])
def test_a_promotion_needs_a_piece(text: str) -> None:
    """A promotion without a piece, to a king or to a pawn is illegal."""
    assert read_move(chess.Board(PROMOTION), text)[0] is None


@pytest.mark.parametrize("text", ["e7d8", "exd8"])
def test_a_lenient_reader_makes_a_queen(text: str) -> None:
    """A promotion without a piece is a queen only if the engine file says so."""
    assert read_move(chess.Board(PROMOTION), text, lenient_promotion=True)[0] == chess.Move.from_uci("e7d8q")


def test_a_long_answer_is_no_move_and_costs_nothing() -> None:
    """A very long answer is rejected at once, because the opponent's clock may be running."""
    begun = time.thread_time()
    assert read_move(chess.Board(), "e2e4" + "." * 60_000 + "x") == (None, False)
    assert read_move(chess.Board(), "e2e4" + "!?" * 3) == (chess.Move.from_uci("e2e4"), True)
    assert time.thread_time() - begun < 5  # of a processor, however many others wait for it


# Ends of games use the texts of cutechess-cli and fastchess, because scripts search for them.

REPEATED = "g1f3 g8f6 f3g1 f6g8"


@pytest.mark.parametrize(
    ("fen", "moves", "rules", "words"),
    [
        (None, "f2f3 e7e5 g2g4 d8h4", {}, "Black mates"),
        ("7k/8/6K1/8/8/8/8/5Q2 w - - 0 1", "f1f7", {}, "Draw by stalemate"),
        ("4k3/8/8/8/8/8/3p4/4K3 w - - 0 1", "e1d2", {}, "Draw by insufficient mating material"),
        ("4k3/8/8/8/8/8/8/R3K3 w - - 99 80", "a1a2", {}, "Draw by fifty moves rule"),
        ("4k3/8/8/8/8/8/8/R3K3 w - - 119 80", "a1a2", {"fifty": 60}, "Draw by fifty moves rule, counted to 60"),
        (None, " ".join([REPEATED] * 2), {}, "Draw by 3-fold repetition"),
        (None, " ".join([REPEATED] * 3), {"repetition": 4}, "Draw by 4-fold repetition"),
    ],
)
def test_ends_by_the_board(fen: str | None, moves: str, rules: dict[str, int], words: str) -> None:
    """Ends on the board have the known texts."""
    ends = RuleEnds(Position(fen), Rules(**rules))  # type: ignore[arg-type]
    end = [ends.push(chess.Move.from_uci(text)) for text in moves.split()][-1]
    assert end is not None
    assert end[2] == words


def test_faults() -> None:
    """Details of a fault follow the known text."""
    seat = Seat(Side(EngineSpec("b", ("/b",), "uci"), TimeControl.parse("1"), 50), Rules(), white=False)
    seat.searched = True
    board = chess.Board("8/4k3/8/8/8/8/1p6/4K3 b - - 0 50")
    draw = "the opponent cannot mate"
    told = {text: verdict.illegal(seat, text, board).cause for text in ("e1e3", "", "b2b1")}
    assert told["e1e3"] == f"Black makes an illegal move: e1e3 in {board.fen()}; {draw}"
    assert told[""] == f"Black makes an illegal move: '' in {board.fen()}; {draw}"
    hint = "the promotion piece is missing (with lenient_promotion = true under [quirks], it is a queen)"
    assert told["b2b1"] == f"Black makes an illegal move: b2b1 in {board.fen()}; {hint}; {draw}"
    assert verdict.crash(seat, "signal 11 (SIGSEGV)").cause == "Black disconnects: signal 11 (SIGSEGV)"
    assert verdict.stall(seat, EngineStalled("no pong")).cause == "Black's connection stalls: no pong"
