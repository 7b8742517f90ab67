"""What a page of a game is made of: the game, and where it stands among the others."""

from __future__ import annotations

from dataclasses import dataclass

from enginetour.model.game import Game


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Another game of the same encounter: another leg, or the same one played again (`replay` from 1 on)."""

    number: int
    leg: int
    replay: int


@dataclass(frozen=True, slots=True)
class GameRow:
    """One game of the tournament `event`; `voided`: it was struck out afterwards; `before` and `after` are numbers."""

    number: int
    game: Game
    voided: bool
    event: str
    neighbours: tuple[Neighbour, ...] = ()
    before: int | None = None
    after: int | None = None
