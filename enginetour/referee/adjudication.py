"""Adjudication: end a game early by the engines' scores (draw, resign) or by tablebases (runner spec 10).

A rule sees each move of an engine once, in order, unless the board has ended the game by it; a book move has no
score, and neither has a search that told bounds alone: of each search the last exact score counts.

rule    counts                                                      begins anew at
draw    moves of both sides in a row with a score within `score`    a capture, a pawn move, a larger score, none
resign  own moves in a row at -score or less; two-sided: and those  another score, none
        of the opponent at +score or more
tables  nothing: the first position they know ends the game

Draws and resignations as cutechess-cli and fastchess judge them, moves counted by the board's own number as fastchess
does; a side resigns with its own move.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import chess

from enginetour.model.game import Outcome, Termination
from enginetour.model.task import DrawRule, ResignRule, Rules

End = tuple[Outcome, Termination, str]


class Tables(Protocol):
    """What knows the result of positions."""

    def result(self, board: chess.Board) -> Outcome | None:
        """With best play from here, counters included; None: not known, or not to be judged."""


class Counters(NamedTuple):
    """What draws and resignations are judged by on a board, after the move; a board has it too."""

    turn: bool
    halfmove_clock: int
    fullmove_number: int


class Adjudicator:
    """The rules of one game that are on; in the order tables, resign, draw."""

    def __init__(self, rules: Rules, tables: Tables | None = None) -> None:
        self._tables = tables
        self._resign = None if rules.resign is None else _Resignations(rules.resign)
        self._draw = None if rules.draw is None else _Draws(rules.draw)
        self.needs_scores = rules.resign is not None or rules.draw is not None

    def judge(self, board: chess.Board, score: int | None) -> End | None:
        """How the game ends by the last move of `board`; `score` is its mover's, in centipawns."""
        if self._tables is not None and (outcome := self._tables.result(board)) is not None:
            return outcome, Termination.ADJUDICATION_TABLEBASE, f"{_subject(outcome)} by adjudication: SyzygyTB"
        return self.by_score(board, score)

    def by_score(self, board: chess.Board | Counters, score: int | None) -> End | None:
        """As `judge`, tables left aside."""
        resigned = None if self._resign is None else self._resign.judge(board, score)
        drawn = None if self._draw is None else self._draw.judge(board, score)
        return resigned or drawn


def _subject(outcome: Outcome) -> str:
    return {Outcome.WHITE: "White wins", Outcome.BLACK: "Black wins"}.get(outcome, "Draw")


class _Draws:
    def __init__(self, rule: DrawRule) -> None:
        self._rule = rule
        self._plies = 0  # in a row

    def judge(self, board: chess.Board | Counters, score: int | None) -> End | None:
        rule = self._rule
        if board.halfmove_clock == 0:
            self._plies = 0
        self._plies = 0 if score is None or abs(score) > rule.score else self._plies + 1
        if self._plies < 2 * rule.moves or board.fullmove_number - 1 < rule.after_move:
            return None
        words = f"Draw by adjudication: both within {rule.score} for {_moves(rule.moves)}"
        return Outcome.DRAW, Termination.ADJUDICATION_DRAW, words


class _Resignations:
    def __init__(self, rule: ResignRule) -> None:
        self._rule = rule
        self._lost = {chess.WHITE: 0, chess.BLACK: 0}  # own moves in a row at -score or less
        self._won = {chess.WHITE: 0, chess.BLACK: 0}  # and at +score or more

    def judge(self, board: chess.Board | Counters, score: int | None) -> End | None:
        rule, mover = self._rule, not board.turn
        self._lost[mover] = self._lost[mover] + 1 if score is not None and score <= -rule.score else 0
        self._won[mover] = self._won[mover] + 1 if score is not None and score >= rule.score else 0
        if self._lost[mover] < rule.moves or (rule.two_sided and self._won[board.turn] < rule.moves):
            return None
        outcome = Outcome.BLACK if mover == chess.WHITE else Outcome.WHITE
        loser = "White" if mover == chess.WHITE else "Black"
        agreed = ", the opponent agrees" if rule.two_sided else ""
        words = (
            f"{_subject(outcome)} by adjudication: {loser} at -{rule.score} or less for {_moves(rule.moves)}{agreed}"
        )
        return outcome, Termination.ADJUDICATION_RESIGN, words


def _moves(count: int) -> str:
    return "1 move" if count == 1 else f"{count} moves"
