"""Graphs of evaluations and clocks."""

from __future__ import annotations

import pytest

from enginetour.model.game import Game, MoveMade, Opening, Outcome, Pairing, Termination
from enginetour.reports.html import game as graphs
from enginetour.reports.html.replay import start_of


def game(*moves: MoveMade, fen: str | None = None) -> Game:
    return Game(Pairing("A", "B"), Outcome.DRAW, Termination.AGREEMENT, opening=Opening(fen=fen), moves=moves)


def test_a_score_is_drawn_as_the_points_it_promises() -> None:
    """Level is the middle, a mate the edge, both sides alike."""
    assert [graphs.height(score) for score in (0, 32_000, -32_000)] == [0, 100, -100]
    assert graphs.height(100) == -graphs.height(-100) == 18  # a share of 59 % by the source


def test_both_engines_are_told_from_white_and_gaps_stay_gaps() -> None:
    """Black's score is turned; a move without one breaks its line; one alone is a dot."""
    played = game(*(MoveMade("a1a1", "?", score=score) for score in (100, 100, None, 100, 100, 0, 100, 0)))
    drawn = str(graphs.evaluations(start_of(played), played.moves))
    assert '<polyline class="w" points="1,-18 1,-18"/><polyline class="w" points="5,-18 7,-18"/>' in drawn
    assert '<polyline class="b" points="2,18 4,18 6,0 8,0"/>' in drawn


def test_nothing_told_is_nothing_drawn() -> None:
    """No axis without a line."""
    played = game(MoveMade("e2e4", "e4", book=True))
    assert graphs.evaluations(start_of(played), played.moves) is None
    assert graphs.clocks(start_of(played), played.moves) is None


def test_without_clocks_the_time_of_each_move_is_drawn() -> None:
    """Games by nodes or depth have none."""
    played = game(MoveMade("e2e4", "e4", 500), MoveMade("e7e5", "e5", 1000))
    found = graphs.clocks(start_of(played), played.moves)
    assert found is not None
    assert found[0] == "Time of each move"
    assert 'points="1,50 1,50"' in found[1]


@pytest.mark.parametrize(
    ("ms", "words"),
    [(0, "0.00 s"), (1_250, "1.25 s"), (12_340, "12.3 s"), (245_000, "4:05"), (3_845_000, "1:04:05")],
)
def test_times_are_as_long_as_they_need(ms: int, words: str) -> None:
    """Hundredths below ten seconds, minutes from one on."""
    assert graphs.seconds(ms) == words


def test_move_numbers_stand_below_white_moves() -> None:
    """At the end of White's ply; a start with Black to move is counted too."""
    shuffled = ("g1f3", "g8f6", "f3g1", "f6g8") * 6
    played = game(*(MoveMade(move, "?", score=0) for move in shuffled))
    assert '<text class="x" x="37.5%" y="100%" dy="1.2em">5</text>' in str(
        graphs.evaluations(start_of(played), played.moves)
    )
