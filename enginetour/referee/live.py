"""What whoever looks on is told of a game's moves."""

from __future__ import annotations

import time
from collections.abc import Sequence

import chess

from enginetour.adapters.position import Position
from enginetour.model import MoveMade
from enginetour.referee.link import Link


class LiveMoves:
    """The live events "move" of one game from its first move after the opening on.

    A game that is over before anything of it was told is told by its result alone: nobody can follow games of a tenth
    of a second, and telling them takes 9 % of what they cost us at nodes=1 (measured).
    """

    def __init__(self, link: Link, position: Position, clocks: Sequence[int | None]) -> None:
        """`clocks` in milliseconds, White's first; the position is that in which the engines begin."""
        self._link = link
        self._clocks = list(clocks)
        self._first = self._told = len(position.moves)
        self._black_begins = position.board.turn == chess.BLACK

    def behind(self, moves: Sequence[MoveMade]) -> bool:
        """There is a move that was not told."""
        return self._told < len(moves)

    def tell(self, moves: Sequence[MoveMade]) -> None:
        """Those that were not told yet, oldest first."""
        for move in moves[self._told :]:
            self._clocks[(self._told - self._first + self._black_begins) % 2] = move.clock_ms
            self._told += 1
            self._link.tell(
                "move",
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
                },
            )
        self._link.pass_on()

    def end(self, moves: Sequence[MoveMade]) -> None:
        """The last of a game that was followed."""
        if self._told > self._first:
            self.tell(moves)
