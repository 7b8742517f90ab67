"""Variants: names as the boards have them, starts by number, ends as python-chess judges them, words for engines."""

from __future__ import annotations

import io
import random
from dataclasses import replace

import chess
import chess.pgn
import chess.variant
import pytest

from enginetour.adapters.cecp import CecpEngine
from enginetour.adapters.moves import read_move
from enginetour.adapters.position import MAX_LINE, Position
from enginetour.adapters.uci import UciEngine
from enginetour.errors import Unsupported
from enginetour.model import Game, MoveMade, Opening, Outcome, Pairing, Termination
from enginetour.referee.ends import Ends
from enginetour.reports import pgn
from enginetour.task import Declared, Rules
from enginetour.variants import VARIANTS, board_of, shuffled_fen, start_fen, tag_fits, trial_fen, variant_named
from tests.playing import scripted

OTHERS = [name for name, variant in VARIANTS.items() if not variant.is_usual]


def test_all_variants_of_the_rules() -> None:
    """Every variant that python-chess knows is there, under its UCI name, with its CECP name among ours."""
    for board in chess.variant.VARIANTS[1:]:
        variant = VARIANTS[str(board.uci_variant)]
        assert board.xboard_variant in variant.cecp
        assert board.uci_variant in variant.uci
        assert isinstance(board_of(variant.name), board)
        assert tag_fits(variant.tag, variant.name)
    assert not tag_fits("Atomic", "standard")
    assert tag_fits("fischerandom", "double-chess960")
    assert not tag_fits("Wild 5", "atomic")


def test_an_unknown_variant_is_named() -> None:
    """With the nearest one that there is."""
    with pytest.raises(ValueError, match="did you mean 'crazyhouse'"):
        variant_named("crazyhous")


def test_back_ranks_by_number() -> None:
    """All 960 are there, 518 is the usual one, and both sides may have their own."""
    assert shuffled_fen(518, 518) == chess.STARTING_FEN
    assert len({shuffled_fen(number, number) for number in range(960)}) == 960
    for number in (0, 337, 959):
        assert shuffled_fen(number, number) == chess.Board.from_chess960_pos(number).fen()
    board = chess.Board(shuffled_fen(0, 959), chess960=True)
    assert board.status() == chess.STATUS_VALID
    assert chess.popcount(board.castling_rights) == 4


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("seed", range(3))
def test_games_end_where_the_rules_end_them(name: str, seed: int) -> None:
    """By random moves to the end: outcome and moment are python-chess's, line and PGN lead to the same board."""
    dice, position = random.Random(f"{name}{seed}"), Position(trial_fen(name), name)
    ends = Ends(position, Rules(repetition=5, fifty=75))
    record = position.start_board()
    made, end = [], None
    for _ in range(160):
        move = dice.choice(list(position.board.legal_moves))
        assert read_move(position.board, move.uci()) == (move, False)
        made.append(MoveMade(move.uci(), record.san(move)))
        record.push(move)
        end = ends.push(move)
        judged = record.outcome()
        assert (end is None) == (judged is None)
        if end is not None and judged is not None:
            assert end[0].value == judged.result()
            break
    words = position.line.decode().split(" moves ")
    fen = words[0].removeprefix("position ").removeprefix("fen ").replace("startpos", start_fen(name))
    told = board_of(name, fen)
    for text in words[1].split():
        told.push_uci(text)
    assert told.fen() == position.board.fen() == record.fen()
    outcome, cause = (end[0], end[2]) if end else (Outcome.VOID, "")
    game = Game(Pairing("a", "b"), outcome, Termination.ABORTED, cause, moves=tuple(made))
    opening = Opening(fen=trial_fen(name), variant=name)
    read = chess.pgn.read_game(io.StringIO(pgn.text(replace(game, opening=opening), 1, "trial")))
    assert read is not None
    assert not read.errors
    assert read.end().board().fen() == record.fen()


def test_variant_ends_have_words() -> None:
    """A king in the centre and a third check win, and say so."""
    hill = Ends(Position("4k3/8/8/8/8/4K3/8/8 w - - 0 1", "kingofthehill"), Rules())
    assert hill.push(chess.Move.from_uci("e3e4")) == (
        Outcome.WHITE,
        Termination.VARIANT,
        "White's king reaches the centre",
    )
    check = Ends(Position("4k3/8/8/8/8/8/8/R3K3 w - - 1+3 0 1", "3check"), Rules())
    assert check.push(chess.Move.from_uci("a1a8")) == (
        Outcome.WHITE,
        Termination.VARIANT,
        "White gives the third check",
    )


def test_pockets_make_another_position() -> None:
    """In crazyhouse the same board with another pocket is no repetition, and fifty moves are no draw."""
    full = Position("4k3/8/8/8/8/8/8/4K2R[Q] w - - 99 80", "crazyhouse")
    empty = Position("4k3/8/8/8/8/8/8/4K2R[] w - - 99 80", "crazyhouse")
    seen = Ends(full, Rules())
    assert seen.push(chess.Move.from_uci("h1h2")) is None
    assert not seen.drawn()
    assert Ends(empty, Rules())._seen.keys() != Ends(full, Rules())._seen.keys()


def test_castling_in_the_words_of_each_protocol() -> None:
    """In Chess960 UCI takes king takes rook, CECP O-O; standard moves stay as they are."""
    position = Position("1k5r/8/8/8/8/8/8/1K4R1 w G - 0 1", "chess960")
    assert position.line == b"position fen 1k5r/8/8/8/8/8/8/1K4R1 w K - 0 1"
    castle, odd = read_move(position.board, "O-O")
    assert castle == chess.Move.from_uci("b1g1")
    assert odd
    position.push(castle)
    assert position.line.endswith(b"moves b1g1")
    assert position.castled == "O-O"
    assert position.board.king(chess.WHITE) == chess.G1
    standard = Position("4k3/8/8/8/8/8/8/4K2R w K - 0 1")
    standard.push(chess.Move.from_uci("e1g1"))
    assert standard.castled == ""


def test_a_king_is_a_promotion_only_where_kings_are_pieces() -> None:
    """In antichess a pawn may become a king."""
    fen = "8/P6k/8/8/8/8/8/7K w - - 0 1"
    assert read_move(board_of("antichess", fen), "a7a8k")[0] == chess.Move.from_uci("a7a8k")
    assert read_move(board_of("standard", fen), "a7a8k")[0] is None


def test_a_line_that_cannot_be_shortened_is_not_begun_anew_again_and_again() -> None:
    """In crazyhouse hardly a move is irreversible: the line grows, and still leads to the board."""
    dice, position = random.Random(4), Position(None, "crazyhouse")
    while len(position.line) < MAX_LINE + 200 and (moves := list(position.board.legal_moves)):
        position.push(dice.choice(moves))
    begun = position.line
    position.shorten()
    assert position.line == begun


@pytest.fixture
def uci() -> UciEngine:
    engine = UciEngine.__new__(UciEngine)
    engine._variant, engine._options = "standard", {}
    return engine


def test_uci_words(uci: UciEngine) -> None:
    """UCI_Variant and UCI_Chess960 are sent where declared, once; an engine without them is unsupported."""
    with pytest.raises(Unsupported, match="chess960: it has no UCI_Chess960"):
        uci.variant_lines("chess960")
    with pytest.raises(Unsupported, match="atomic: no such value"):
        uci.variant_lines("atomic")
    uci._options["uci_chess960"] = Declared("UCI_Chess960", "check", "false")
    assert uci.variant_lines("double-chess960") == [b"setoption name UCI_Chess960 value true"]
    uci._options["uci_variant"] = Declared("UCI_Variant", "combo", "chess", None, None, ("chess", "Atomic"))
    assert uci.variant_lines("atomic") == [
        b"setoption name UCI_Variant value Atomic",
        b"setoption name UCI_Chess960 value false",
    ]
    uci._variant = "atomic"
    assert uci.variant_lines("atomic") == []
    assert uci.variant_lines("standard")[0] == b"setoption name UCI_Variant value chess"


def test_cecp_words() -> None:
    """`variant` by the first name that the engine declares; none for standard chess."""
    engine = CecpEngine(scripted("cecp"))
    try:
        assert engine.variant_lines("standard") == []
        with pytest.raises(Unsupported, match="chess960: not in its feature variants"):
            engine.variant_lines("chess960")
        engine.features.read('variants="normal,chess960,king-of-the-hill"')
        assert engine.variant_lines("chess960") == [b"variant chess960"]
        assert engine.variant_lines("kingofthehill") == [b"variant king-of-the-hill"]
    finally:
        engine.kill()
