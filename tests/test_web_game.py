"""A running game as a page shows it."""

from __future__ import annotations

import json
from typing import Any

import chess
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.web.room import LINE_LENGTH, TOLD_MOVES, LiveGame
from tests.serving import move, start


def played(*moves: str, **more: Any) -> LiveGame:
    game = LiveGame(start(**more))
    for ply, uci in enumerate(moves, 1):
        assert game.move(move(ply, uci=uci, pv="", score=None))
    return game


def test_board_and_moves_follow() -> None:
    """Placement, side to move, last move and movetext are those of the game."""
    told = played("e2e4", "e7e5", "e1e2").told()
    assert told["placement"] == "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPPKPPP/RNBQ1BNR"
    assert (told["turn"], told["last"], told["moves"], told["ply"]) == ("black", ["e1", "e2"], "1. e4 e5 2. Ke2", 3)
    assert told["clocks"] == [59_000, 58_500]


def test_a_score_is_whites_view() -> None:
    """What Black says of itself is turned; a mate counts its moves; a curve is cut where it says no more."""
    game = LiveGame(start())
    game.move(move(1, score=35))
    game.move(move(2, score=120))
    game.move(move(3, score=31_995))
    told = game.told(whole=True)
    assert [said["score"] for said in told["said"]] == ["+M5", "-1.20"]
    assert told["graph"] == [35, -120, 1000]


def test_games_of_the_same_two_are_told_apart() -> None:
    """A page that missed the end of one and the beginning of the next draws no curve of both."""
    one, other = (LiveGame(start(at=at)) for at in (1000.0, 1060.0))
    for ply in range(1, 5):
        one.move(move(ply))
        other.move(move(ply))
    assert one.told()["begun"] == one.told(whole=True)["begun"] != other.told()["begun"]


def test_black_may_begin() -> None:
    """Numbers, sides and scores are right where the position has Black to move."""
    fen = chess.Board().fen().replace(" w ", " b ").replace(" 1", " 7")
    game = LiveGame(start(fen=fen))
    game.move(move(1, uci="e7e5", score=50))
    game.move(move(2, uci="e2e4", score=20))
    told = game.told(whole=True)
    assert told["moves"] == "7… e5 8. e4"
    assert (told["graph"], told["first"]) == ([-50, 20], "black")
    assert [said["score"] for said in told["said"]] == ["+0.20", "-0.50"]


def test_a_game_joined_in_its_course_is_whole() -> None:
    """The answer to `status` has all moves so far; what was told already is not told twice."""
    game = LiveGame(start() | move(2, uci="e7e5") | {"moves": ["e2e4", "e7e5"]})
    assert game.told()["moves"] == "1. e4 e5"
    assert not game.move(move(2))
    assert game.move(move(3, uci="g1f3"))
    assert game.told()["moves"] == "1. e4 e5 2. Nf3"


def test_missed_moves_leave_the_board_alone() -> None:
    """After a gap nobody knows the position: the board stays, and says so."""
    game = played("e2e4", "e7e5")
    before = game.told()["placement"]
    assert game.move(move(5, uci="g1f3"))
    told = game.told()
    assert (told["placement"], told["lost"]) == (before, True)


def test_a_pv_is_san_from_before_its_move() -> None:
    """As far as it can be played; free text of CECP as it stands, cut."""
    game = LiveGame(start())
    game.move(move(1, uci="e2e4", pv="e2e4 e7e5 g1f3 a1a8"))
    game.move(move(2, uci="e7e5", pv="e5 Nf3 (hash) <b>" + "x" * 300))
    first, second = (said["pv"] for said in game.told()["said"])
    assert first == "1. e4 e5 2. Nf3"
    assert second.startswith("e5 Nf3 (hash) <b>")
    assert len(second) == LINE_LENGTH


@pytest.mark.parametrize(
    ("variant", "moves", "extra"),
    [
        ("crazyhouse", ("e2e4", "d7d5", "e4d5", "d8d5", "P@e4"), "in hand: –"),
        ("3check", ("e2e4", "e7e5", "d1h5", "e8e7", "h5e5"), "checks left: 2"),
        ("chess960", ("e2e4", "e7e5"), None),
    ],
)
def test_variants_show_what_lies_beside_the_board(variant: str, moves: tuple[str, ...], extra: str | None) -> None:
    """Pieces in hand, checks left; boards of any back rank are plain boards."""
    told = played(*moves, variant=variant).told()
    assert not told["lost"]
    assert told["variant"] == variant
    assert (told["extra"] or [None])[0] == extra
    assert "~" not in told["placement"]


@pytest.mark.parametrize(("pv", "shown"), [("0000", "0000"), ("e2e4 0000 g1f3", "1. e4")])
def test_a_pass_ends_a_pv(pv: str, shown: str) -> None:
    """Some engines search passes and print them: what comes before is shown."""
    game = LiveGame(start())
    game.move(move(1, uci="e2e4", pv=pv))
    assert game.told()["said"][0]["pv"] == shown


def test_only_the_last_moves_are_told() -> None:
    """A game of hundreds of moves is no longer to tell than one of a few."""
    game = LiveGame(start())
    for ply in range(1, 301):
        game.move(move(ply))
    told = game.told()
    assert len([word for word in told["moves"].split() if not word.endswith(".")]) == TOLD_MOVES
    assert len(json.dumps(told)) < 2000


FIELDS = st.fixed_dictionaries({}, optional=dict.fromkeys(("fen", "variant", "opening", "white"), st.text(max_size=30)))
UCI = st.text(max_size=6) | st.sampled_from(["e2e4", "e7e5", "0000"])


@given(fields=FIELDS, ucis=st.lists(UCI, max_size=5), pv=st.text(max_size=40) | st.lists(UCI).map(" ".join))
@settings(max_examples=60, deadline=None)
def test_whatever_is_said_the_page_has_something_to_show(fields: dict[str, Any], ucis: list[str], pv: str) -> None:
    """Positions, moves and lines that are none never fail: less is known then, and all of it is JSON."""
    game = LiveGame(start(**fields))
    for ply, uci in enumerate(ucis, 1):
        game.move(move(ply, uci=uci, pv=pv))
    assert json.loads(json.dumps(game.told(whole=True)))["ply"] == len(ucis)
