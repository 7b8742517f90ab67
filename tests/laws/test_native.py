"""The compiled module gives the same results as python-chess and the Python code."""

from __future__ import annotations

import math
import random
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import chess
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.engines import pipes, position, process, wire
from enginetour.engines.uci_lines import complete_info, last_search_info
from enginetour.interop.compiled import native
from enginetour.model.game import Game, MoveMade, Opening
from enginetour.model.task import DrawRule, EngineSpec, ResignRule
from enginetour.model.variants import shuffled_fen
from enginetour.referee import clock, record, relay, waits
from enginetour.referee.record import RawPly, SearchClaims
from tests.laws.test_quick import INFO, STARTS, STATE, usual_lines
from tests.support.engines import game

NATIVE = Path(relay.__file__).parent.parent / "native"
DICING = str(Path(__file__).parent.parent / "programs" / "dicing.py")
EVERY = [
    chess.SQUARE_NAMES[start] + chess.SQUARE_NAMES[end] + promotion
    for start in chess.SQUARES
    for end in chess.SQUARES
    for promotion in ("", "q", "n")
    if start != end
]


def test_it_was_built() -> None:
    """The compiled module exists, because otherwise the tests would compare Python with Python."""
    assert native is not None


@settings(deadline=None)
@given(st.sampled_from(STARTS), st.integers(0, 2**32), st.booleans())
def test_rules_are_those_of_python_chess(fen: str | None, seed: int, shuffled: bool) -> None:
    """In random games, legality, checks, notation and positions are those of python-chess."""
    assert native is not None
    dice = random.Random(seed)
    if shuffled:
        board = chess.Board(shuffled_fen(dice.randrange(960), dice.randrange(960)), chess960=True)
    else:
        board = chess.Board(fen or chess.STARTING_FEN)
    board.castling_rights = board.clean_castling_rights()
    own, copy = native.Board(board), chess.Board(chess960=shuffled)
    for _ in range(40):
        legal = {move.uci() for move in board.legal_moves}
        assert {text for text in (*legal, *dice.choices(EVERY, k=99)) if own.is_legal(text)} == legal
        assert own.in_check() == board.is_check()
        assert own.can_move() == any(not board.is_castling(move) or not shuffled for move in board.legal_moves)
        assert own.turn == board.turn
        if not legal:
            return
        move = dice.choice(sorted(legal))
        assert own.play(move) == board.san(chess.Move.from_uci(move))
        board.push_uci(move)
        own.onto(copy)
        assert all(getattr(copy, name) == getattr(board, name) for name in STATE)


@pytest.mark.parametrize(
    "fen", ["8/8/8/8/8/8/8/K7 w - - 0 1", "k7/8/8/8/8/8/8/KK6 w - - 0 1", "k7/Q7/8/8/8/8/8/K7 w - - 0 1"]
)
def test_positions_that_cannot_be_are_left_to_python(fen: str) -> None:
    """Invalid positions are left to Python: no king, two kings, a check of the side that has moved."""
    assert native is not None
    with pytest.raises(ValueError, match="usual chess"):
        native.Board(chess.Board(fen))


def test_what_is_no_move_is_refused() -> None:
    """An illegal move is an error and is not played."""
    assert native is not None
    own = native.Board(chess.Board())
    for text in ("e2e5", "e2", "", "e2e4q", "e2e2", "i1i2", "E2E4", "e7e8k", "0000"):
        with pytest.raises(ValueError, match="move"):
            own.play(text)
    assert own.play("e2e4") == "e4"


PVS = st.lists(
    st.sampled_from(["e2e4", "e7e5", "g1f3", "b8c6", "f1b5", "e1g1", "a1a8", "e4", "x", "1.", "d2d4"]), max_size=7
).map(" ".join)
TOLD = st.builds(lambda pv, score: f"info depth 4 score cp {score} nodes 5 pv {pv}".encode(), PVS, st.integers(-99, 99))
PUT_IN = st.binary(min_size=1, max_size=3) | st.integers(0, 255).map(
    lambda value: bytes([value])
)  # half of it is not ASCII
SPOILT = st.builds(lambda line, at, odd: line[:at] + odd + line[at:], TOLD, st.integers(0, 60), PUT_IN)
SCORED = INFO.map(lambda words: f"info {words} score cp 7".encode())
SAID = st.lists(st.one_of(TOLD, usual_lines(), SCORED, SPOILT), max_size=4)


@settings(deadline=None)
@given(SAID, st.sampled_from(["e2e4", "d2d4"]), st.integers(0, 9))
def test_searches_are_read_as_python_reads_them(lines: list[bytes], move: str, plies: int) -> None:
    """The last scored line and the validity of its PV are the same, or the line is left to Python."""
    assert native is not None
    text = b"".join(line + b"\n" for line in lines)
    board = chess.Board()
    raw = RawPly(None, plies, 7, text)
    found = native.Board(board).write(MoveMade, raw, 12_345, move)
    thought = complete_info(last_search_info(text), text)
    if found is None:
        return
    assert found == MoveMade(move, move[2:], plies, 7, *thought[:4], False, *thought[4:8], 12)
    assert not thought.bound
    looked = SearchClaims(reads_pv=True, usual=True)
    for _ in looked.heard(thought._replace(score=0), chess.Move.from_uci(move), board, plies) or ():
        pass
    assert not looked.broken()


def test_what_engines_usually_say_is_not_left_to_python() -> None:
    """Usual lines of engines are not left to Python."""
    assert native is not None
    line, board = "e2e4 e7e5 g1f3", native.Board

    def written(text: bytes) -> MoveMade | None:
        found: MoveMade | None = board(chess.Board()).write(MoveMade, RawPly(None, 50, 60, text), None, "e2e4")
        return found

    usual = f"info depth 9 seldepth 12 multipv 1 score cp -17 nodes 20 nps 20000 tbhits 0 time 1 pv {line}\n".encode()
    assert written(b"info string net\n" + usual) == MoveMade(
        "e2e4", "e4", 50, 60, -17, 9, 20, line, seldepth=12, nps=20000, tbhits=0
    )
    other = b"info time 3 nodes 7 score cp 2 depth 4\r\n"
    assert written(other) == MoveMade("e2e4", "e4", 50, 60, 2, 4, 7)
    for odd in (usual + other, other[:-2] + b" pv d2d4\n", b"info score mate 3\n", b"info depth 3\n", b""):
        assert written(odd) is None  # values of an earlier line, another move, a mate claim, no score


def dice(seed: str, name: str) -> EngineSpec:
    """An engine that plays random moves."""
    return EngineSpec(name, (sys.executable, DICING, seed), "uci", dir="scratch")


def bare(played: Game) -> tuple[Any, ...]:
    """Return a game without times; plies of a PV are checked according to the time of the search."""
    moves = [replace_times(move) for move in played.moves]
    sides = [
        (side.moves, [claim for claim in side.claims if claim[0] != "pv-illegal"], side.warnings, side.own_name)
        for side in (played.white, played.black)
    ]
    return played.outcome, played.termination, played.cause, played.category, played.culprit, moves, sides


def replace_times(move: Any) -> Any:
    changed = {"elapsed_ms": 0, "clock_ms": None, "gap_us": None}
    return move._replace(**changed) if hasattr(move, "_replace") else replace(move, **changed)


ROOKS = Opening("rooks", fen="r3k2r/pppppppp/8/8/8/8/PPPPPPPP/R3K2R w KQkq - 0 1", moves=("e1g1", "e8c8"))
SHUFFLED = Opening("shuffled", fen=shuffled_fen(17, 300), variant="double-chess960")
PAWNS = Opening("pawns", fen="4k3/PPPP4/8/8/8/8/pppp4/4K3 b - - 0 1")
BARE = Opening("bare", fen="8/8/4k3/8/8/3NK3/8/8 w - - 80 90")


@pytest.mark.parametrize("tc", ["nodes=1", "60+1", "9/60:50+0.5"])
@pytest.mark.parametrize("opening", [None, ROOKS, SHUFFLED, PAWNS, BARE], ids=lambda one: one.name if one else "usual")
def test_a_game_is_the_same_on_both_ways(opening: Opening | None, tc: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Moves, end, texts and warnings of a game are the same in C and in Python."""
    in_python = 0
    slow = relay.Relay._ply

    def counted(player: relay.Relay) -> Any:
        nonlocal in_python
        in_python += 1
        return slow(player)

    monkeypatch.setattr(relay.Relay, "_ply", counted)
    rules: dict[str, Any] = {"repetition": 3, "max_moves": 60}
    if tc == "60+1":
        rules |= {"resign": ResignRule(3, 400, two_sided=True), "draw": DrawRule(20, 5, 120)}
    both = dice("one", "A"), dice("two", "B")
    quick = game(*both, white_tc=tc, black_tc=tc, opening=opening, **rules)
    few = in_python
    monkeypatch.setattr(relay, "native", None)
    monkeypatch.setattr(record, "native", None)
    slowly = game(*both, white_tc=tc, black_tc=tc, opening=opening, **rules)
    assert bare(quick) == bare(slowly)
    assert few < (in_python - few) / 4 + 2  # nearly all plies before were compiled


CONSTANTS = {
    "GRACE": clock.GRACE_NS,
    "LATE_WAKE": clock.LATE_WAKE_NS,
    "SLEPT": clock.SLEPT_NS,
    "SLICE": process.SLICE_NS,
    "PATIENCE": record.PATIENCE_NS,
    "HELD": record.HELD_NS,
    "HELD_PLIES": record.HELD_PLIES,
    "ROOM": position.ROOM,
    "MARK": waits.MARK_NS,
    "MOST_THREADS": waits.MOST_THREADS,
    "LONG": waits.LONG_NS,
    "LONG_PART": waits.LONG_PART,
    "READ_SIZE": process.READ_SIZE,
    "NOTED": pipes._BLOCK,
    "PV_PLIES": wire.PV_PLIES,
    "LONGEST_PV": wire.LONGEST_PV,
    "SOME_MATE": wire.MATE - record._MATE_RANGE,
    "ELAPSED": RawPly._fields.index("elapsed_ms"),
}


@pytest.mark.parametrize(("name", "value"), CONSTANTS.items())
def test_constants_are_those_of_python(name: str, value: int) -> None:
    """Constants in C equal those in Python."""
    text = "".join(path.read_text("utf-8") for path in NATIVE.glob("*.[ch]"))
    found = re.search(rf"\b{name} = ([\d *MS]+)[;,]", text)
    assert found is not None
    assert math.prod(1_000_000 if part == "MS" else int(part) for part in found[1].split(" * ")) == value
