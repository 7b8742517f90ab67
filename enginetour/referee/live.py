"""What whoever looks on is told of a game's moves."""

from __future__ import annotations

import time
from collections.abc import Sequence

import chess

from enginetour.engines.position import Position
from enginetour.engines.process import NEVER_NS
from enginetour.model.game import MoveMade
from enginetour.referee.link import Link

EVERY_NS = 100_000_000  # between two tellings: ten a second are as many as anybody sees


class LiveMoves:
    """The live events "move" of one game from its first move after the opening on.

    A game that is over before anything of it was told is told by its result alone: nobody can follow games of a tenth
    of a second, and telling them takes 9 % of what they cost us at nodes=1 (measured).
    """

    def __init__(
        self, link: Link, position: Position, clocks: Sequence[int | None], *, hourglass: bool = False
    ) -> None:
        """`clocks` in milliseconds, White's first; the position is that in which the engines begin."""
        self._link = link
        self.next_ns = time.monotonic_ns() + EVERY_NS  # from when on moves are told again
        self._clocks = list(clocks)
        self._sand = sum(ms or 0 for ms in clocks) if hourglass else None  # what one has not the other has
        self._first = self._told = len(position.moves)
        self._black_begins = position.board.turn == chess.BLACK

    def is_behind(self, moves: Sequence[MoveMade]) -> bool:
        """There is a move that was not told."""
        return self._told < len(moves)

    def look(self, moves: Sequence[MoveMade]) -> int:
        """Tell what was not told if it is time to; when it will be, in CLOCK_MONOTONIC ns."""
        if not self.is_behind(moves):
            return NEVER_NS
        now = time.monotonic_ns()
        if now < self.next_ns:
            return self.next_ns
        self.next_ns = now + EVERY_NS
        self._tell(moves)
        return NEVER_NS

    def end(self, moves: Sequence[MoveMade]) -> None:
        """The last moves of a game that was followed."""
        if self._told > self._first:
            self._tell(moves)

    def _tell(self, moves: Sequence[MoveMade]) -> None:
        """All together: one alone costs 60 us in both processes, among others 10."""
        told = []
        for move in moves[self._told :]:
            black = (self._told - self._first + self._black_begins) % 2
            self._clocks[black] = move.clock_ms
            if self._sand is not None:
                self._clocks[not black] = self._sand - (move.clock_ms or 0)
            self._told += 1
            told.append(
                {
                    "ply": self._told,
                    "uci": move.uci,
                    "san": move.san,
                    "score": move.score,
                    "depth": move.depth,
                    "nodes": move.nodes,
                    "pv": move.pv,
                    "elapsed_ms": move.elapsed_ms,
                    "clock_ms": move.clock_ms,
                    "clocks": list(self._clocks),
                    "at": time.time(),
                }
            )
        if told:
            self._link.tell("moves", told)
