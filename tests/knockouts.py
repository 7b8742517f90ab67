"""Knock-outs, for the tests of the cup and of double elimination: how they stand, and played to the end with dice."""

from __future__ import annotations

import random

from enginetour.formats.rounds import Rounds, RoundsState
from enginetour.model.game import Entrant, GameFinished, Outcome, Withdrawn


def pairs(format_: Rounds, state: RoundsState) -> list[str]:
    """Who is to play now, in single letters."""
    return sorted("".join(game.pair) for game in format_.offers(state))


def told(format_: Rounds, state: RoundsState) -> dict[str, str]:
    """Rank and status of each."""
    return {line.name: f"{line.rank} {line.status}" for line in format_.standings(state)}


def played_out(format_: Rounds, entrants: tuple[Entrant, ...], dice: random.Random, *, staying: int) -> RoundsState:
    """The end, with withdrawals until so many are left; the bounds since the last of them were true."""
    state, present = format_.start(entrants), [entrant.name for entrant in entrants]
    since: list[tuple[int, int]] = []
    while offers := format_.offers(state):
        since.append(format_.remaining(state))
        if len(present) > staying and dice.random() < 0.1:
            state = format_.step(state, Withdrawn(present.pop(dice.randrange(len(present)))))
            since = []
        else:
            outcome = dice.choice([Outcome.WHITE, Outcome.BLACK, Outcome.DRAW])
            state = format_.step(state, GameFinished(dice.choice(offers), outcome))
    for done, (fewest, most) in enumerate(since):
        assert fewest <= len(since) - done <= most
    return state
