"""Tests of referee/adjudication: draws and resignations for sequences of scores (runner spec 10)."""

from __future__ import annotations

from collections.abc import Sequence

import chess
import pytest

from enginetour.engines.position import Position
from enginetour.model.game import Outcome, Termination
from enginetour.model.task import DrawRule, ResignRule, Rules
from enginetour.referee.adjudication import Adjudicator
from enginetour.referee.ends import RuleEnds
from enginetour.reports.pgn import termination_tag
from tests.support.engines import SHUFFLE, Protocol, game, scripted, sound

FAR = "4k3/pppppppp/8/8/8/8/PPPPPPPP/4K2R w - - 0 30"


def ended(rules: Rules, scores: Sequence[int | None], moves: Sequence[str] = SHUFFLE) -> tuple[int, str] | None:
    """Return after how many plies a game with these scores ends, and the text; moves are repeated."""
    adjudicator, board = Adjudicator(rules), chess.Board()
    for ply, score in enumerate(scores):
        board.push_uci(moves[ply % len(moves)])
        end = adjudicator.judge(board, score)
        if end is not None:
            return ply + 1, end[2]
    return None


def draw(after_move: int, moves: int, score: int) -> Rules:
    """Return an adjudicator with a draw rule only."""
    return Rules(draw=DrawRule(after_move, moves, score))


def resign(moves: int, score: int, *, two_sided: bool = True) -> Rules:
    """Return an adjudicator with a resign rule only."""
    return Rules(resign=ResignRule(moves, score, two_sided))


def test_both_sides_within_the_score_for_so_many_moves_each() -> None:
    """Eight moves of each side are sixteen plies."""
    assert ended(draw(0, 8, 10), [10, -10] * 8) == (
        16,
        "Draw by adjudication: both scores within 10 centipawns for 8 moves",
    )
    assert ended(draw(0, 8, 10), [10, -10] * 7 + [0]) is None


def test_a_draw_is_not_judged_before_its_move() -> None:
    """A draw needs the move number of the rule; the count may begin before."""
    assert ended(draw(5, 2, 10), [0] * 12) == (10, "Draw by adjudication: both scores within 10 centipawns for 2 moves")


def test_moves_are_counted_as_the_position_counts_them() -> None:
    """A game from move 30 is past move 29 at once."""
    adjudicator, board = Adjudicator(draw(30, 1, 10)), chess.Board(FAR)
    for text, last in (("h1g1", False), ("e8d8", True)):
        board.push_uci(text)
        assert (adjudicator.judge(board, 0) is not None) == last


@pytest.mark.parametrize("breaking", [11, -11, None, 31_990])
def test_another_score_or_none_breaks_the_run(breaking: int | None) -> None:
    """Another score, or none, starts the count again."""
    assert ended(draw(0, 2, 10), [0, 0, 0, breaking, 0, 0, 0, 0]) == (
        8,
        "Draw by adjudication: both scores within 10 centipawns for 2 moves",
    )


def test_a_pawn_move_or_capture_begins_the_run() -> None:
    """A pawn move or capture is the first move of a new count."""
    moves = ["g1f3", "g8f6", "f3g1", "e7e5", "g1f3", "f6g8", "f3g1", "g8f6"]
    assert ended(draw(0, 2, 10), [0] * 8, moves) == (
        7,
        "Draw by adjudication: both scores within 10 centipawns for 2 moves",
    )
    taking = ["e2e4", "d7d5", "e4d5", "g8f6", "g1f3", "f6g8"]
    assert ended(draw(0, 2, 10), [0] * 6, taking) == (
        6,
        "Draw by adjudication: both scores within 10 centipawns for 2 moves",
    )


def test_a_side_resigns_with_its_own_move_when_the_other_agrees() -> None:
    """A side resigns with its own move, if the other side agrees."""
    words = "White wins by adjudication: Black at -600 centipawns or less for 4 moves, the opponent agrees"
    assert ended(resign(4, 600), [600, -600] * 4) == (8, words)
    words = "Black wins by adjudication: White at -600 centipawns or less for 4 moves, the opponent agrees"
    assert ended(resign(4, 600), [-700] + [800, -900] * 5) == (9, words)


def test_the_opponent_must_have_agreed_as_often() -> None:
    """The opponent must have agreed as many times; three scores are not four."""
    assert ended(resign(4, 600), [500, -600] + [600, -600] * 3) is None
    assert ended(resign(4, 600), [500, -600] + [600, -600] * 4) == (
        10,
        "White wins by adjudication: Black at -600 centipawns or less for 4 moves, the opponent agrees",
    )
    assert ended(resign(2, 600), [600, -600, None, -600, 600, -600]) is None


def test_one_sided_the_opponent_is_not_asked() -> None:
    """In a one-sided rule only own scores count."""
    words = "Black wins by adjudication: White at -500 centipawns or less for 2 moves"
    assert ended(resign(2, 500, two_sided=False), [-500, None, -500]) == (3, words)
    assert ended(resign(2, 500, two_sided=False), [-500, 0, -499, 0, -500, 0, None, 0, -500, 0, -500]) == (11, words)


def test_mates_count_as_scores() -> None:
    """Mated in 3 is -31 997, mate in 3 is 31 997."""
    assert ended(resign(1, 31_000), [31_997, -31_997]) == (
        2,
        "White wins by adjudication: Black at -31000 centipawns or less for 1 move, the opponent agrees",
    )


def test_resignation_goes_before_a_draw() -> None:
    """If both rules hold, the resignation counts."""
    rules = Rules(draw=DrawRule(0, 1, 10_000), resign=ResignRule(1, 10))
    assert ended(rules, [10, -10]) == (
        2,
        "White wins by adjudication: Black at -10 centipawns or less for 1 move, the opponent agrees",
    )


def test_the_board_goes_first() -> None:
    """Ends on the board come before adjudication; so does the limit of moves."""
    for rules, last, expected in (
        (resign(1, 1, two_sided=False), "d8h4", Termination.MATE),
        (Rules(max_moves=2, resign=ResignRule(1, 1, two_sided=False)), "d8e7", Termination.ADJUDICATION_LENGTH),
        (resign(1, 1, two_sided=False), "d8e7", Termination.ADJUDICATION_RESIGN),
    ):
        ends = RuleEnds(Position(), rules)
        for text in ("f2f3", "e7e5", "g2g4"):
            assert ends.answered(chess.Move.from_uci(text), lambda: 0) is None
        end = ends.answered(chess.Move.from_uci(last), lambda: -900)
        assert end is not None
        assert end[1] is expected


def test_scores_are_read_only_for_a_rule() -> None:
    """Without a rule no score is read between an answer and the opponent's go."""
    ends = RuleEnds(Position(), Rules())

    def score() -> int:
        raise AssertionError

    assert ends.answered(chess.Move.from_uci("e2e4"), score) is None


@pytest.mark.parametrize("protocol", ["uci", "cecp"])
def test_engines_that_see_a_draw_for_so_long_get_it(protocol: str) -> None:
    """If both engines report +0.31 in every move, a rule for six moves ends the game with the sixth."""
    played = game(sound(protocol), sound(protocol), draw=DrawRule(3, 6, 31))  # type: ignore[arg-type]
    assert (played.outcome, played.termination, played.plies) == (Outcome.DRAW, Termination.ADJUDICATION_DRAW, 12)
    assert played.cause == "Draw by adjudication: both scores within 31 centipawns for 6 moves"
    assert termination_tag(played.termination) == "adjudication"
    assert not played.incidents
    assert game(sound(), sound(), draw=DrawRule(0, 6, 30)).termination is Termination.REPETITION


@pytest.mark.parametrize("protocol", ["uci", "cecp"])
def test_a_bound_is_no_score_to_judge_by(protocol: Protocol) -> None:
    """A bound does not count: after a search that ends with a bound, its last exact score counts."""
    cut = scripted(protocol, "ends-with-a-bound")
    played = game(cut, sound(protocol), resign=ResignRule(2, 600, False))
    assert played.termination is Termination.REPETITION
    assert {(move.score, move.depth) for move in played.moves} == {(31, 5)}
    assert game(cut, sound(protocol), draw=DrawRule(3, 6, 31)).termination is Termination.ADJUDICATION_DRAW


@pytest.mark.parametrize("protocol", ["uci", "cecp"])
def test_scores_from_whites_side_are_turned(protocol: Protocol) -> None:
    """Scores of an engine with `whitepov` are turned for Black."""
    rule = ResignRule(3, 31)
    black = scripted(protocol, name="black", whitepov=True)
    played = game(sound(), black, resign=rule)
    assert (played.outcome, played.termination, played.plies) == (Outcome.WHITE, Termination.ADJUDICATION_RESIGN, 6)
    assert game(sound(), sound(), resign=rule).termination is Termination.REPETITION
