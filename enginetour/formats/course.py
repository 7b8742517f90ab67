"""One format played to its end by a population, game by game, through the contract every format keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from enginetour.formats.base import Format
from enginetour.formats.world import Population
from enginetour.model.game import GameFinished, Outcome, Pairing, Placed

TWO = 2  # entrants: a sequential test between them may end at any game, so games are played one by one


@dataclass(frozen=True, slots=True)
class Course:
    """What happened: the games in playing order, the final table, the bounds of their number before the first."""

    games: tuple[tuple[Pairing, Outcome], ...]
    table: tuple[Placed, ...]
    bounds: tuple[int, int]


def play(format_: Format[Any], population: Population) -> Course:
    """To the last offer. ValueError when the format refuses the field."""
    state = format_.start(population.entrants)
    bounds = format_.remaining(state)
    games: list[tuple[Pairing, Outcome]] = []
    while offers := format_.offers(state):
        for pairing in offers[:1] if len(population.entrants) == TWO else offers:
            outcome = population.outcome(pairing)
            games.append((pairing, outcome))
            state = format_.step(state, GameFinished(pairing, outcome))
    return Course(tuple(games), format_.standings(state), bounds)
