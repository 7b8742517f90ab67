"""Adjudication never overrules the board, is never early, and does not depend on how the lines of engines arrive.

The rules of cutechess-cli and fastchess are implemented here for comparison.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import cast

import chess
from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.engines.position import Position
from enginetour.engines.uci_lines import last_search_info
from enginetour.engines.wire import LineBuffer
from enginetour.model.game import Termination
from enginetour.model.task import DrawRule, ResignRule, Rules
from enginetour.referee.adjudication import Adjudicator, End
from enginetour.referee.ends import RuleEnds

SCORES = st.one_of(st.none(), st.sampled_from([-32_000, -700, -600, -11, -10, 0, 10, 11, 600, 700, 31_999]))
HISTORIES = st.lists(st.tuples(SCORES, st.sampled_from([False, False, False, True])), max_size=60)
RULES = st.tuples(st.integers(0, 10), st.integers(1, 4), st.sampled_from([0, 10, 600]))


@dataclass
class Counters:
    """Values of a board that the rules use, after a move of the other side."""

    turn: bool = chess.WHITE
    fullmove_number: int = 1
    halfmove_clock: int = 0

    def step(self, zeroing: bool) -> chess.Board:
        """Count one ply."""
        self.turn = not self.turn
        self.fullmove_number += self.turn == chess.WHITE
        self.halfmove_clock = 0 if zeroing else self.halfmove_clock + 1
        return cast("chess.Board", self)


def ours(rules: Rules, history: list[tuple[int | None, bool]]) -> tuple[int, str] | None:
    """Return ply and result of the end by enginetour's rules."""
    adjudicator, board = Adjudicator(rules), Counters()
    for ply, (score, zeroing) in enumerate(history, start=1):
        end = adjudicator.judge(board.step(zeroing), score)
        if end is not None:
            return ply, str(end[0])
    return None


def peers_draw(after_move: int, moves: int, score: int, history: list[tuple[int | None, bool]]) -> int | None:
    """Return the ply at which both other programs adjudicate a draw, from the start position."""
    run = 0
    for ply, (said, zeroing) in enumerate(history, start=1):
        run = 0 if zeroing else run
        run = run + 1 if said is not None and abs(said) <= score else 0
        if ply // 2 >= after_move and run >= 2 * moves:
            return ply
    return None


def cutechess_resign(moves: int, score: int, two_sided: bool, history: list[tuple[int | None, bool]]) -> int | None:
    """Return the ply at which cutechess-cli ends the game."""
    lost, won = [0, 0], [0, 0]
    for ply, (said, _) in enumerate(history, start=1):
        side = ply % 2
        lost[side] = lost[side] + 1 if said is not None and said <= -score else 0
        won[side] = won[side] + 1 if said is not None and said >= score else 0
        if lost[side] >= moves and (not two_sided or won[1 - side] >= moves):
            return ply
    return None


@given(HISTORIES, RULES)
def test_draws_are_those_of_the_peers(history: list[tuple[int | None, bool]], rule: tuple[int, int, int]) -> None:
    """A game is adjudicated as a draw at the same ply as in the other programs."""
    found = ours(Rules(draw=DrawRule(*rule)), history)
    assert (None if found is None else found[0]) == peers_draw(*rule, history)


@given(HISTORIES, st.integers(1, 4), st.sampled_from([10, 600]), st.booleans())
def test_resignations_are_those_of_cutechess(
    history: list[tuple[int | None, bool]], moves: int, score: int, two_sided: bool
) -> None:
    """Scores of each side are counted separately, and the side that moved last loses."""
    found = ours(Rules(resign=ResignRule(moves, score, two_sided)), history)
    expected = cutechess_resign(moves, score, two_sided, history)
    assert found == (None if expected is None else (expected, "1-0" if expected % 2 == 0 else "0-1"))


@given(HISTORIES, st.integers(1, 4), st.booleans())
def test_no_rule_ends_a_game_before_its_moves_are_played(
    history: list[tuple[int | None, bool]], moves: int, two_sided: bool
) -> None:
    """No rule ends a game after fewer moves than configured."""
    drawn = ours(Rules(draw=DrawRule(0, moves, 10)), history)
    assert drawn is None or all(
        score is not None and abs(score) <= 10 for score, _ in history[drawn[0] - 2 * moves : drawn[0]]
    )
    resigned = ours(Rules(resign=ResignRule(moves, 600, two_sided)), history)
    if resigned is not None:
        last = resigned[0]
        assert all((score or 0) <= -600 for score, _ in history[last - 2 * moves + 1 : last : 2])
        assert last >= 2 * moves - 1 + two_sided


@settings(max_examples=20)
@given(st.integers(0, 10**6))
def test_the_board_is_never_overruled(seed: int) -> None:
    """A game ends by the board, or by adjudication before it."""
    dice = random.Random(seed)
    fen = dice.choice([None, "4k3/8/8/8/8/8/3P4/R3K3 w - - 80 60", "7k/5Q2/8/6K1/8/8/8/8 w - - 0 1"])
    rules = {"max_moves": 40, "repetition": 3}
    plain = RuleEnds(Position(fen), Rules(**rules))  # type: ignore[arg-type]
    draw, resign = DrawRule(dice.randrange(20), dice.randrange(1, 4), 30), ResignRule(dice.randrange(1, 4), 25)
    position = Position(fen)
    judged = RuleEnds(position, Rules(draw=draw, resign=resign, **rules))  # type: ignore[arg-type]
    end: End | None = None
    while end is None:
        move = dice.choice(list(position.board.legal_moves))
        by_board = plain.push(move)
        end = judged.answered(move, lambda: dice.randrange(-40, 41))
        assert end == by_board or (by_board is None and end is not None and end[1] in _BY_SCORES)


_BY_SCORES = (Termination.ADJUDICATION_DRAW, Termination.ADJUDICATION_RESIGN)


@given(st.lists(st.integers(-900, 900), min_size=1, max_size=6), st.lists(st.integers(0, 400), max_size=8))
def test_scores_do_not_depend_on_how_lines_come(scores: list[int], cuts: list[int]) -> None:
    """However the output is divided into reads, the last score before the move is the same."""
    lines = [f"info depth {n} score cp {score} nodes 5 pv e2e4\n" for n, score in enumerate(scores, start=1)]
    text = "".join([*lines, "info string score of nothing\n", "bestmove e2e4\n"]).encode()
    intake, begin, found = LineBuffer(), 0, None
    for end in [*sorted(cut for cut in cuts if cut < len(text)), len(text)]:
        intake.feed(text[begin:end])
        found = found or intake.answer(b"bestmove")
        begin = end
    assert found is not None
    assert last_search_info(found[0]).score == scores[-1]
