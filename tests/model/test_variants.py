"""Tests of model/variants: names, boards, starts by number, ends of games, and messages to engines."""

from __future__ import annotations

import io
import random
from dataclasses import replace
from pathlib import Path

import chess.variant
import pytest

from enginetour.engines.cecp import CecpEngine
from enginetour.engines.position import MAX_LINE, Position, read_move
from enginetour.engines.uci import UciEngine
from enginetour.model.errors import Unsupported
from enginetour.model.game import Game, MoveMade, Opening, Outcome, Pairing, Termination
from enginetour.model.task import DeclaredOption, EngineSpec, Rules
from enginetour.model.variants import (
    BACK_RANKS,
    CHESS960,
    VARIANTS,
    board_of,
    shuffled_fen,
    start_fen,
    tag_fits,
    variant_named,
)
from enginetour.referee.ends import RuleEnds
from enginetour.reports import pgn
from tests.support.engines import BOTH, Protocol, game, scripted, sound
from tests.support.tournaments import config, entrant, tour, try_engines_once

OTHERS = [name for name, variant in VARIANTS.items() if not variant.is_usual]
UNLIKE = {  # for shuffled variants, the starts that differ most from the standard one
    name: shuffled_fen(0, 0 if name == CHESS960 else BACK_RANKS - 1) for name, v in VARIANTS.items() if v.any_rank
}


def test_all_variants_of_the_rules() -> None:
    """Every variant of python-chess is known by its UCI name, and its CECP name is among the known ones."""
    for board in chess.variant.VARIANTS[1:]:
        variant = VARIANTS[str(board.uci_variant)]
        assert board.xboard_variant in variant.cecp
        assert board.uci_variant in variant.uci
        assert isinstance(board_of(variant.name), board)
        assert tag_fits(variant.tag, variant.name)
    assert all(start_fen(name) == board_of(name).fen() for name in VARIANTS)
    assert not tag_fits("Atomic", "standard")
    assert tag_fits("fischerandom", "double-chess960")
    assert not tag_fits("Wild 5", "atomic")


def test_an_unknown_variant_is_named() -> None:
    """The error for an unknown variant suggests the closest name."""
    with pytest.raises(ValueError, match="did you mean 'crazyhouse'"):
        variant_named("crazyhous")


def test_back_ranks_by_number() -> None:
    """All 960 back ranks exist, 518 is the standard one, and both sides can have different ones."""
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
    """Random games end when and how python-chess says; the moves and the PGN lead to the same board."""
    dice, position = random.Random(f"{name}{seed}"), Position(UNLIKE.get(name), name)
    ends = RuleEnds(position, Rules(repetition=5, fifty=75))
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
    opening = Opening(fen=UNLIKE.get(name), variant=name)
    read = chess.pgn.read_game(io.StringIO(pgn.game_pgn(replace(game, opening=opening), 1, "trial")))
    assert read is not None
    assert not read.errors
    assert read.end().board().fen() == record.fen()


def test_variant_ends_have_words() -> None:
    """A king in the center and a third check win, and the cause says so."""
    hill = RuleEnds(Position("4k3/8/8/8/8/4K3/8/8 w - - 0 1", "kingofthehill"), Rules())
    assert hill.push(chess.Move.from_uci("e3e4")) == (
        Outcome.WHITE,
        Termination.VARIANT,
        "White's king reaches the center",
    )
    check = RuleEnds(Position("4k3/8/8/8/8/8/8/R3K3 w - - 1+3 0 1", "3check"), Rules())
    assert check.push(chess.Move.from_uci("a1a8")) == (
        Outcome.WHITE,
        Termination.VARIANT,
        "White gives the third check",
    )


def test_pockets_make_another_position() -> None:
    """In crazyhouse, the same board with other pockets is not a repetition, and fifty moves are not a draw."""
    full = Position("4k3/8/8/8/8/8/8/4K2R[Q] w - - 99 80", "crazyhouse")
    empty = Position("4k3/8/8/8/8/8/8/4K2R[] w - - 99 80", "crazyhouse")
    seen = RuleEnds(full, Rules())
    assert seen.push(chess.Move.from_uci("h1h2")) is None
    assert not seen.drawn()
    assert RuleEnds(empty, Rules()).seen.keys() != RuleEnds(full, Rules()).seen.keys()


def test_castling_in_the_words_of_each_protocol() -> None:
    """In Chess960, castling is king takes rook in UCI and O-O in CECP; standard moves do not change."""
    position = Position("1k5r/8/8/8/8/8/8/1K4R1 w G - 0 1", "chess960")
    assert position.line == b"position fen 1k5r/8/8/8/8/8/8/1K4R1 w G - 0 1"
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
    """In antichess, a pawn may become a king."""
    fen = "8/P6k/8/8/8/8/8/7K w - - 0 1"
    assert read_move(board_of("antichess", fen), "a7a8k")[0] == chess.Move.from_uci("a7a8k")
    assert read_move(board_of("standard", fen), "a7a8k")[0] is None


def test_a_line_that_cannot_be_shortened_is_not_begun_anew_again_and_again() -> None:
    """In crazyhouse nearly all moves are reversible: the line of moves grows and still leads to the board."""
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
    """UCI_Variant and UCI_Chess960 are sent once if declared; an engine without them is unsupported."""
    with pytest.raises(Unsupported, match="chess960: it does not have the option UCI_Chess960"):
        uci.variant_lines("chess960")
    with pytest.raises(Unsupported, match="does not declare atomic as a value of UCI_Variant"):
        uci.variant_lines("atomic")
    uci._options["uci_chess960"] = DeclaredOption("UCI_Chess960", "check", "false")
    assert uci.variant_lines("double-chess960") == [b"setoption name UCI_Chess960 value true"]
    uci._options["uci_variant"] = DeclaredOption("UCI_Variant", "combo", "chess", None, None, ("chess", "Atomic"))
    assert uci.variant_lines("atomic") == [
        b"setoption name UCI_Variant value Atomic",
        b"setoption name UCI_Chess960 value false",
    ]
    uci._variant = "atomic"
    assert uci.variant_lines("atomic") == []
    assert uci.variant_lines("standard")[0] == b"setoption name UCI_Variant value chess"


@pytest.mark.parametrize(("name", "value"), [("UCI_Chess960", "true"), ("UCI_Variant", "crazyhouse")])
def test_an_option_of_another_variant_is_refused_in_standard_chess(name: str, value: str) -> None:
    """In standard chess, UCI_Chess960 and similar options are errors, because they make engines send illegal moves."""
    engine = scripted("uci", variants="chess960,crazyhouse", options=((name, value),))
    standard = game(engine, sound())
    assert (standard.outcome, standard.category) == (Outcome.VOID, "unsupported")
    assert f"the option {name} = {value}; remove it for games of standard" in standard.cause
    opening = Opening(fen=shuffled_fen(518, 518), variant="chess960")
    assert game(engine, sound(variants="chess960"), opening=opening).outcome is Outcome.DRAW


def test_cecp_words() -> None:
    """`variant` is sent with the first name that the engine declares, and not at all in standard chess."""
    engine = CecpEngine(scripted("cecp"))
    try:
        assert engine.variant_lines("standard") == []
        with pytest.raises(Unsupported, match="does not declare chess960 in its feature variants"):
            engine.variant_lines("chess960")
        engine.features.read('variants="normal,chess960,king-of-the-hill"')
        assert engine.variant_lines("chess960") == [b"variant chess960"]
        assert engine.variant_lines("kingofthehill") == [b"variant king-of-the-hill"]
    finally:
        engine.kill()


def of_variant(folder: Path, variant: str, *specs: EngineSpec) -> Path:
    """Write a match of two games of a variant that stores engine logs; Chess960 has one back rank."""
    (folder / "results").mkdir()
    entrants = "".join(entrant(spec.name, spec.command, spec.protocol) for spec in specs)
    path = config(folder, (), "match", "games = 2", entrants, tc="60")
    play = f'[play]\nvariant = "{variant}"\nrestart = "on"\nengine_log = true\n'
    if variant == "chess960":
        play += "openings = { positions = [423] }\n"  # RNBQKNRB: the side to move may castle short at once
    path.write_text(path.read_text().replace("[play]\n", play))
    return path


def told(folder: Path) -> dict[str, list[list[str]]]:
    """Return the lines that the engines received, by protocol and game."""
    lines: dict[str, list[list[str]]] = {"uci": [], "cecp": []}
    for path in sorted((folder / "results" / "trial.traffic").glob("*.log")):
        talk = [line.split(maxsplit=2) for line in path.read_text().splitlines()[1:]]
        for color in ("White", "Black"):
            own = [words[2].removeprefix("> ") for words in talk if words[1] == color and words[2].startswith("> ")]
            lines["uci" if "uci" in own else "cecp"].append(own)
    return lines


def played(folder: Path) -> list[chess.pgn.Game]:
    """Return the games of the PGN and check that none has an error."""
    with (folder / "results" / "trial.pgn").open() as file:
        games = list(iter(lambda: chess.pgn.read_game(file), None))
    assert all(not one.errors for one in games)
    return games


KNOWN = "fischerandom,chess960,crazyhouse"
START = shuffled_fen(423, 423)
TOLD = chess.Board(START, chess960=True).fen(shredder=True)
DROPS = "e2e4,e4d5,P@e5,a2a3/d7d5,d8d5,P@e6,a7a6"
TOURNAMENTS = {  # moves of the UCI engine and of the CECP engine, when the latter resigns, and the expected lines
    "chess960": (
        ("f1g1,a2a3/f8g8,a7a6", "O-O,a2a3/O-O,a7a6", 2),
        ["UCI_Variant value chess", "UCI_Chess960 value true"],
        f"position fen {TOLD} moves f1g1 f8g8",
        ["variant fischerandom", f"setboard {START}", "usermove O-O", "usermove a2a3"],
        ("Chess960", "O-O O-O a3"),
    ),
    "crazyhouse": (
        (DROPS, DROPS, 4),
        ["UCI_Variant value crazyhouse", "UCI_Chess960 value false"],
        "position startpos moves e2e4 d7d5 e4d5 d8d5 P@e5 P@e6",
        ["variant crazyhouse", "usermove e2e4", "usermove e4d5", "usermove P@e5", "usermove a2a3"],
        ("Crazyhouse", "e4 d5 exd5 Qxd5 @e5 @e6 a3"),
    ),
}


@pytest.mark.parametrize("variant", TOURNAMENTS)
def test_a_tournament_of_a_variant(tmp_path: Path, variant: str) -> None:
    """Engines of both protocols get the variant, the start and the moves in their own notation; the PGN is valid."""
    (moves, cecp_moves, at), options, position, cecp_lines, (tag, line) = TOURNAMENTS[variant]
    uci = scripted("uci", name="U", moves=moves, variants=KNOWN)
    cecp = scripted("cecp", "resign", name="C", at=at, moves=cecp_moves, variants=KNOWN)
    tour(tmp_path, "run", str(of_variant(tmp_path, variant, uci, cecp)))
    lines = told(tmp_path)
    for own in lines["uci"]:
        begun = own.index("ucinewgame")
        assert own[begun - 2 : begun] == [f"setoption name {words}" for words in options]
    assert [own for own in lines["uci"][0] if own.startswith("position")][-1] == position
    for own in lines["cecp"]:
        assert own[own.index("new") + 1] == cecp_lines[0]
    words = ("variant", "setboard", "usermove")
    assert [own for own in lines["cecp"][0] if own.startswith(words)] == cecp_lines
    games = played(tmp_path)
    assert [(one.headers["Variant"], one.headers["Result"]) for one in games] == [(tag, "1-0"), (tag, "0-1")]
    start = board_of(variant, START if variant == "chess960" else None).fen()
    assert [one.board().fen() for one in games] == [start, start]
    first, second = (" ".join(node.san() for node in one.mainline()) for one in games)
    assert first == line
    assert line.startswith(second)


@BOTH
@pytest.mark.parametrize("variant", ["chess960", "atomic"])
def test_who_does_not_declare_it_is_refused(
    tmp_path: Path, protocol: Protocol, variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`check` and `run` report an engine that does not declare the variant, before the first game."""
    try_engines_once(monkeypatch)
    knows, does_not = (
        scripted(protocol, name=name, variants=known) for name, known in (("K", "chess960,atomic"), ("D", ""))
    )
    path = of_variant(tmp_path, variant, knows, does_not)
    for command in ("check", "run"):
        done = tour(tmp_path, command, str(path), expect=3)
        assert f"D does not declare {variant}" in done.stderr
        assert "K does not" not in done.stderr
