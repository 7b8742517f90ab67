"""How a game ended, in the words that cutechess-cli and fastchess made known: scripts look for them."""

from __future__ import annotations

import chess
import pytest

from enginetour.engines.position import Position
from enginetour.model.errors import EngineStalled
from enginetour.model.task import EngineSpec, Rules, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.referee import verdict
from enginetour.referee.ends import Ends
from enginetour.referee.seats import Seat

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
    """Were told in words of our own, "the position came 3 times"."""
    ends = Ends(Position(fen), Rules(**rules))  # type: ignore[arg-type]
    end = [ends.push(chess.Move.from_uci(text)) for text in moves.split()][-1]
    assert end is not None
    assert end[2] == words


def test_faults() -> None:
    """What went wrong follows behind the known words."""
    seat = Seat(Side(EngineSpec("b", ("/b",), "uci"), TimeControl.parse("1"), 50), Rules(), white=False)
    seat.searched = True
    board = chess.Board("8/4k3/8/8/8/8/1p6/4K3 b - - 0 50")
    draw = "the opponent cannot mate"
    told = {text: verdict.illegal(seat, text, board).cause for text in ("e1e3", "", "b2b1")}
    assert told["e1e3"] == f"Black makes an illegal move: e1e3 in {board.fen()}; {draw}"
    assert told[""] == f"Black makes an illegal move: '' in {board.fen()}; {draw}"
    hint = "it promotes to no piece: with lenient_promotion = true under [quirks] that is a queen"
    assert told["b2b1"] == f"Black makes an illegal move: b2b1 in {board.fen()}; {hint}; {draw}"
    assert verdict.crash(seat, "signal 11 (SIGSEGV)").cause == "Black disconnects: signal 11 (SIGSEGV)"
    assert verdict.stall(seat, EngineStalled("no pong")).cause == "Black's connection stalls: no pong"
