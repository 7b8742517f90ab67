"""Shortcuts of the referee give the same results as python-chess in random positions."""

from __future__ import annotations

import random

import chess
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.engines import uci_lines
from enginetour.engines.position import Position, can_move, in_check, is_plainly_legal, play_san, read_move
from enginetour.model.variants import shuffled_fen

# Positions with few moves or with ambiguous notation.
STARTS = (
    None,
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "8/8/8/8/k2Pp2Q/8/8/3K4 b - d3 0 1",
    "8/7k/8/Q2Q2Q1/8/8/8/QK1Q2Q1 w - - 0 1",
    "k7/P7/K7/8/8/8/8/8 b - - 0 1",
    "5k2/5P2/5K2/8/8/8/8/8 b - - 0 1",
    "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1",
)


@settings(deadline=None)
@given(st.sampled_from(STARTS), st.integers(0, 2**32), st.booleans())
def test_a_game_is_told_as_python_chess_tells_it(fen: str | None, seed: int, shuffled: bool) -> None:
    """In random games, legality, texts of moves and notation are those of python-chess."""
    dice = random.Random(seed)
    if shuffled:
        board = chess.Board(shuffled_fen(dice.randrange(960), dice.randrange(960)), chess960=True)
    else:
        board = chess.Board(fen or chess.STARTING_FEN)
    assert board.is_valid()
    for _ in range(40):
        legal = list(board.generate_legal_moves())
        assert can_move(board) == can_move(board, check=board.is_check()) == bool(legal)
        tried = *board.generate_pseudo_legal_moves(), *dice.choices(EVERY, k=9)
        assert in_check(board) == board.is_check()
        for check in (None, board.is_check()):
            assert {move for move in tried if is_plainly_legal(board, move, check=check)} <= set(legal)
            odd = [move for move in legal if not is_plainly_legal(board, move, check=check)]
            assert all(board.is_castling(move) or move.to_square == board.ep_square for move in odd)
        if not legal:
            return
        move = dice.choice(legal)
        assert read_move(board, move.uci()) == (move, False)
        assert read_move(board, move.uci(), usual=True, check=board.is_check()) == (move, False)
        shadow, san, irreversible = board.copy(), board.san(move), board.is_irreversible(move)
        here = Position(board.fen(), "chess960" if shuffled else "standard")
        assert here.push(move) == irreversible
        shadow.castling_rights = shadow.clean_castling_rights()
        assert play_san(shadow, move) == san
        board.push(move)
        assert all(getattr(shadow, name) == getattr(board, name) for name in STATE)


STATE = (
    *("pawns", "knights", "bishops", "rooks", "queens", "kings", "occupied", "occupied_co", "promoted"),
    *("turn", "castling_rights", "ep_square", "halfmove_clock", "fullmove_number"),
)  # the whole state of python-chess
EVERY = [
    chess.Move(start, end, promotion)
    for start in chess.SQUARES
    for end in chess.SQUARES
    for promotion in (None, chess.QUEEN, chess.PAWN, chess.KING)
    if start != end
]
WORDS = "depth seldepth multipv score cp mate nodes nps hashfull tbhits time lowerbound upperbound pv string currmove"
NUMBERS = st.one_of(st.integers(-40, 40).map(str), st.sampled_from(["1", "+5", "1e9", "²", "9" * 40, "-", "x"]))
INFO = st.lists(st.one_of(st.sampled_from(WORDS.split()), NUMBERS), max_size=24).map(" ".join)
SHORT = st.integers(0, 10**18 - 1)


@st.composite
def usual_lines(draw: st.DrawFn) -> bytes:
    """Yield lines of words, mostly in the usual order."""
    names = ("seldepth", "score", "nodes", "nps", "hashfull", "tbhits", "time", "pv")
    told = {name: f"{name} {draw(SHORT)}" for name in names}
    told["score"] = f"score {draw(st.sampled_from(['cp', 'mate']))} {draw(st.integers(-40_000, 40_000))}"
    told["pv"] = f"pv {draw(st.sampled_from(['e2e4', 'e2e4 e7e5  g1f3 ', 'a1 ' * 300, 'x' * 3000]))}"
    left_out = draw(st.sets(st.sampled_from([name for name in names if name != "score"])))
    words = [told[name] for name in names if name not in left_out]
    return " ".join(("info", f"depth {draw(SHORT)}", *words)).encode() + draw(st.sampled_from([b"", b"\r\n", b" "]))


@given(st.one_of(INFO.map(lambda words: f"info {words} score cp 7".encode()), usual_lines()))
def test_a_scored_line_is_read_alike_on_both_ways(line: bytes) -> None:
    """The fast parser gives the same result as the full parser, or leaves the line to it."""
    assert uci_lines.read_usual_info(line) in (uci_lines.read_any_info(line), None)


@pytest.mark.parametrize(
    "line",
    [
        b"info depth 1 seldepth 2 multipv 1 score cp -17 nodes 20 nps 20000 hashfull 0 tbhits 0 time 1 pv e2e4",
        b"info depth 24 seldepth 31 score mate -2 nodes 4 nps 7 time 9 pv e2e4 e7e5\r\n",
        b"info depth 5 score cp 3",
    ],
)
def test_plain_lines_are_read_the_quick_way(line: bytes) -> None:
    """Usual lines are read by the fast parser."""
    found = uci_lines.read_usual_info(line)
    assert found is not None
    assert found == uci_lines.read_any_info(line)
