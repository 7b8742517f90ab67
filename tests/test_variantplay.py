"""Whole games of every variant through both adapters, against what python-chess plays from the true positions."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import chess.pgn
import pytest

from enginetour.engines import position
from enginetour.model.game import Game, Opening
from enginetour.model.task import EngineSpec, Quirks
from enginetour.model.variants import VARIANTS, board_of, shuffled_fen
from enginetour.referee.startup import EngineShelf
from enginetour.reports import pgn
from tests.engines.variantplayer import choice
from tests.playing import game
from tests.touring import config, entrant, read, tour

SCRIPT = str(Path(__file__).parent / "engines" / "variantplayer.py")
# A seed by which much happens in a short game, where it begins, what happens, what ends it.
Told = tuple[str, str | None, str, str]
GAMES: dict[str, list[Told]] = {
    "standard": [("101", None, "white O-O, black O-O-O, crowned n", "material")],
    "chess960": [
        ("683", shuffled_fen(322, 322), "white O-O-O, black O-O", "mate"),
        ("369", shuffled_fen(224, 224), "white O-O, black O-O-O", "stalemate"),
    ],
    "double-chess960": [
        ("265", shuffled_fen(216, 850), "white O-O, black O-O-O", "mate"),
        ("564", shuffled_fen(719, 329), "white O-O-O, black O-O, crowned q", "mate"),
        ("706", shuffled_fen(213, 271), "white O-O-O", "mate"),  # both rooks right of the middle
        ("2119", shuffled_fen(654, 904), "white O-O", "mate"),  # both left of it
    ],
    "crazyhouse": [
        ("10", None, "black O-O, white drop, black drop, crowned r, crowned b", "mate"),
        ("27", "r2qk2r/ppp2ppp/8/3Q~4/8/4n~3/PPP2PPP/R3K2R[Nb] w KQkq - 0 1", "black O-O, white drop", "mate"),
    ],
    "atomic": [("64", None, "white O-O, black O-O", "variant"), ("2", None, "white O-O-O, en passant", "variant")],
    "antichess": [("3", None, "en passant, crowned k", "variant")],
    "giveaway": [("53", None, "white O-O, en passant, crowned k", "variant")],
    "suicide": [("67", None, "black O-O, en passant, crowned k", "variant")],
    "kingofthehill": [("31", None, "black O-O, white O-O-O", "variant")],
    "racingkings": [("71", None, "", "variant"), ("24", None, "", "variant")],
    "horde": [
        ("160", None, "en passant, crowned r", "mate"),
        ("51", "rnbqkbnr/pppppppp/8/8/8/5P2/8/P6P w kq - 0 1", "black O-O-O", "variant"),
    ],
    "3check": [
        ("31", None, "white O-O, black O-O", "variant"),
        ("16", "r3k2r/pppq1ppp/8/8/8/8/PPPQ1PPP/R3K2R w KQkq - 2+1 0 9", "white O-O, black O-O", "variant"),
    ],
}
ENDS = {
    chess.Termination.CHECKMATE: "mate",
    chess.Termination.STALEMATE: "stalemate",
    chess.Termination.INSUFFICIENT_MATERIAL: "material",
    chess.Termination.VARIANT_WIN: "variant",
    chess.Termination.VARIANT_LOSS: "variant",
}
CASES = [(name, *one) for name, several in GAMES.items() for one in several]
Protocols = tuple[str, str]  # of White, of Black; san is CECP with san=1


def player(protocol: str, colour: str, seed: str, *faults: str) -> EngineSpec:
    """An engine that chooses by its colour too: who plays it changes no game."""
    return EngineSpec(
        f"{colour} {protocol}",
        (sys.executable, SCRIPT, protocol, f"{colour} {seed}", *faults),
        "uci" if protocol == "uci" else "cecp",
        dir="scratch",
        quirks=Quirks(ready_timeout=20.0, handshake_timeout=20.0),
    )


def true_game(
    variant: str, seed: str, fen: str | None, colours: tuple[str, str] = ("Black", "White")
) -> tuple[chess.Board, set[str]]:
    """The game that both play if nothing is told wrongly, and what happens in it."""
    board, happened = board_of(variant, fen), set()
    while board.outcome() is None:
        colour = "white" if board.turn else "black"
        move = choice(board, f"{colours[board.turn]} {seed}")
        if board.is_castling(move):
            happened.add(f"{colour} {board.san(move).rstrip('+#')}")
        if move.drop:
            happened.add(f"{colour} drop")
        if move.promotion:
            happened.add(f"crowned {chess.piece_symbol(move.promotion)}")
        if board.is_en_passant(move):
            happened.add("en passant")
        board.push(move)
    return board, happened


def holds(played: Game, true: chess.Board, end: str) -> None:
    """Moves, end and winner are the true ones; python-chess reads the same from the PGN."""
    moves = [move.uci() for move in true.move_stack]
    assert [move.uci for move in played.moves] == moves, played.cause
    outcome = true.outcome()
    assert outcome is not None
    assert (played.termination.value, played.outcome.value) == (end, outcome.result()), played.cause
    assert (ENDS[outcome.termination], played.final_fen) == (end, true.fen())
    assert not played.culprit
    assert all(not side.warnings for side in (played.white, played.black))
    read = chess.pgn.read_game(io.StringIO(pgn.text(played, 1, "trial")))
    assert read is not None
    assert not read.errors
    assert [move.uci() for move in read.mainline_moves()] == moves
    assert read.end().board().fen() == true.fen()
    assert type(read.board()) is type(true)
    assert read.headers["Result"] == outcome.result()


SURPLUS = [
    *(("standard", "101", None, lacks) for lacks in ("", "no-ping", "no-setboard", "no-setboard no-ping")),
    ("atomic", "64", None, ""),
    ("atomic", "64", None, "no-setboard"),
    ("chess960", "683", shuffled_fen(322, 322), ""),
]


@pytest.mark.parametrize(("fault", "protocol"), [("surplus", "cecp"), ("surplus", "san"), ("late", "cecp")])
@pytest.mark.parametrize(("variant", "seed", "fen", "lacks"), SURPLUS)
def test_surplus_moves_change_no_game(
    fault: str, protocol: str, variant: str, seed: str, fen: str | None, lacks: str
) -> None:
    """An engine that also moves for its opponent is told the position again: both play the true game to its end.

    Its move may also come when the opponent has moved already, which it then refuses. In SAN it may be a legal answer.
    """
    true, _ = true_game(variant, seed, fen)
    white = player(protocol, "White", seed, fault, *lacks.split())
    black = player(protocol, "Black", seed, fault, *lacks.split())
    opening = Opening(fen=fen, variant=variant)
    played = game(white, black, opening=opening, fifty=75, max_moves=400)
    assert [move.uci for move in played.moves] == [move.uci() for move in true.move_stack], played.cause
    assert not played.culprit
    for side in (played.white, played.black):
        assert any(words.startswith("out-of-turn") for words in side.warnings)


@pytest.mark.parametrize("protocols", [("uci", "cecp"), ("cecp", "uci"), ("san", "san")], ids="-".join)
@pytest.mark.parametrize(
    ("variant", "seed", "fen", "happens", "end"), CASES, ids=[f"{one[0]}-{one[1]}" for one in CASES]
)
def test_a_whole_game(
    variant: str,
    seed: str,
    fen: str | None,
    happens: str,
    end: str,
    protocols: Protocols,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """From its start; then anew in the same processes, its first half told as the opening.

    What is told in UCI begins anew again and again.
    """
    monkeypatch.setattr(position, "MAX_LINE", 250)
    true, happened = true_game(variant, seed, fen)
    assert happened >= {word for word in happens.split(", ") if word}
    white, black = (
        player(protocol, colour, seed) for protocol, colour in zip(protocols, ("White", "Black"), strict=True)
    )
    shelf = EngineShelf()
    for plies in (0, len(true.move_stack) // 2):
        moves = tuple(move.uci() for move in true.move_stack[:plies])
        opening = Opening("begun", fen=fen, variant=variant, moves=moves)
        holds(game(white, black, shelf=shelf, opening=opening, fifty=75, max_moves=400), true, end)
    shelf.close_all()


def test_ends_of_a_variant_are_counted(tmp_path: Path) -> None:
    """In a match of three-check, as what they are: points, `games`, `status` and PGN say the same."""
    (tmp_path / "results").mkdir()
    specs = [player(protocol, "White", "1") for protocol in ("uci", "cecp")]
    entrants = "".join(entrant(spec.name, spec.command, spec.protocol) for spec in specs)
    path = config(tmp_path, (), "match", "games = 2", entrants, tc="60")
    path.write_text(path.read_text().replace("[play]\n", '[play]\nvariant = "3check"\n'))
    done = tour(tmp_path, "run", str(path))
    assert "Score of White uci vs White cecp: 1 - 1 - 0  [0.500] 2" in done.stdout
    board = true_game("3check", "1", None, colours=("White", "White"))[0]
    result = board.result()
    assert result == "1-0"
    games = read(tmp_path, "games")
    assert [(one["result"], one["termination"], one["plies"]) for one in games] == [
        (result, "variant", len(board.move_stack))
    ] * 2
    assert "ended by: 2 variant" in tour(tmp_path, "status").stdout
    with (tmp_path / "results" / "trial.pgn").open() as file:
        written = list(iter(lambda: chess.pgn.read_game(file), None))
    assert [(one.headers["Result"], one.headers["Termination"], one.errors) for one in written] == [
        (result, "normal", [])
    ] * 2


def test_every_variant_is_played() -> None:
    """A new one needs a game here."""
    assert GAMES.keys() == VARIANTS.keys()
