"""Adjudication: end a game early by the engines' scores (draw, resign) or by tablebases (runner spec 10).

Each rule is applied to every move of an engine, in order, unless the move ends the game on the board. The last exact
score of a search counts. A book move has no score, and a search that reports only bounds has no score either.

  rule    counts                                                   the count restarts after
  draw    successive moves of both sides within `score`            a capture, a pawn move, a larger score, no score
  resign  successive own moves at -score or less; two-sided: also  any other score, no score
          successive moves of the opponent at +score or more
  tables  nothing: the first position in the tables ends the game

Draws and resignations follow cutechess-cli and fastchess. Moves are counted by the move number of the board, as in
fastchess. A side resigns with its own move.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import chess

from enginetour.model.game import Outcome, Termination
from enginetour.model.task import DrawRule, ResignRule, Rules

if TYPE_CHECKING:
    from enginetour.referee.tablebases import TableJudge

End = tuple[Outcome, Termination, str]


class Counters(NamedTuple):
    """The data of a position after a move that draw and resign adjudication need. A board has the same attributes."""

    turn: bool
    halfmove_clock: int
    fullmove_number: int


class Adjudicator:
    """The adjudication rules of one game, applied in the order tables, resign, draw."""

    def __init__(self, rules: Rules, tables: TableJudge | None = None) -> None:
        self._tables = tables
        self._resign = None if rules.resign is None else _Resignations(rules.resign)
        self._draw = None if rules.draw is None else _Draws(rules.draw)
        self.needs_scores = rules.resign is not None or rules.draw is not None

    def judge(self, board: chess.Board, score: int | None) -> End | None:
        """Return how the last move on `board` ends the game, or None if it does not.

        `score` is in centipawns, from the point of view of the engine that made the move.
        """
        if self._tables is not None and (outcome := self._tables.result(board)) is not None:
            return outcome, Termination.ADJUDICATION_TABLEBASE, f"{_subject(outcome)} by adjudication: SyzygyTB"
        return self.by_score(board, score)

    def by_score(self, board: chess.Board | Counters, score: int | None) -> End | None:
        """Return the same as `judge`, without tablebases."""
        resigned = None if self._resign is None else self._resign.judge(board, score)
        drawn = None if self._draw is None else self._draw.judge(board, score)
        return resigned or drawn


def _subject(outcome: Outcome) -> str:
    return {Outcome.WHITE: "White wins", Outcome.BLACK: "Black wins"}.get(outcome, "Draw")


class _Draws:
    def __init__(self, rule: DrawRule) -> None:
        self._rule = rule
        self._plies = 0  # successive plies within the score

    def judge(self, board: chess.Board | Counters, score: int | None) -> End | None:
        rule = self._rule
        if board.halfmove_clock == 0:
            self._plies = 0
        self._plies = 0 if score is None or abs(score) > rule.score else self._plies + 1
        if self._plies < 2 * rule.moves or board.fullmove_number - 1 < rule.after_move:
            return None
        text = f"Draw by adjudication: both scores within {rule.score} centipawns for {_moves(rule.moves)}"
        return Outcome.DRAW, Termination.ADJUDICATION_DRAW, text


class _Resignations:
    def __init__(self, rule: ResignRule) -> None:
        self._rule = rule
        self._lost = {chess.WHITE: 0, chess.BLACK: 0}  # successive own moves at -score or less
        self._won = {chess.WHITE: 0, chess.BLACK: 0}  # successive own moves at +score or more

    def judge(self, board: chess.Board | Counters, score: int | None) -> End | None:
        rule, mover = self._rule, not board.turn
        self._lost[mover] = self._lost[mover] + 1 if score is not None and score <= -rule.score else 0
        self._won[mover] = self._won[mover] + 1 if score is not None and score >= rule.score else 0
        if self._lost[mover] < rule.moves or (rule.two_sided and self._won[board.turn] < rule.moves):
            return None
        outcome = Outcome.BLACK if mover == chess.WHITE else Outcome.WHITE
        loser = "White" if mover == chess.WHITE else "Black"
        agreed = ", the opponent agrees" if rule.two_sided else ""
        text = f"{loser} at -{rule.score} centipawns or less for {_moves(rule.moves)}{agreed}"
        return outcome, Termination.ADJUDICATION_RESIGN, f"{_subject(outcome)} by adjudication: {text}"


def _moves(count: int) -> str:
    return "1 move" if count == 1 else f"{count} moves"
