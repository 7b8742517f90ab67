"""Simulated engines: how strong they are, what is believed of them beforehand, and how their games end.

All chance comes from `Dice` by words, so a game between two engines ends the same in every format that has it played:
common random numbers, which make differences between formats surer than either figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, median

from enginetour.formats.pairing.field import Dice
from enginetour.model import task
from enginetour.model.game import Entrant, Outcome, Pairing
from enginetour.ratings.elo import expected_score

FINE = 1 << 53  # steps of a chance: all a float between 0 and 1 can tell
NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class World:
    """What simulated engines are like, in Elo; the defaults are those of our published comparisons."""

    spread: float = 150.0  # standard deviation of strengths
    noise: float = 150.0  # of what is believed about the truth
    white: float = 20.0  # worth of the white pieces
    draws: float = 0.45  # share of games between equals that are drawn; falls as 1 - |2e - 1|
    level: float = 2000.0  # median of the ratings brought along: clear of the floor of Go ratings
    odds: tuple[float, ...] | None = None  # divisors of time for 1, 2 ... bands, instead of the formula

    def chances(self, white: float, black: float) -> tuple[float, float, float]:
        """White's win, draw, White's loss."""
        share = expected_score(white - black + self.white)
        drawn = self.draws * (1 - abs(2 * share - 1))
        return share - drawn / 2, drawn, 1 - share - drawn / 2


@dataclass(frozen=True, slots=True)
class Population:
    """Engines of one simulated tournament: entrants best first as believed, their true strengths, and their luck."""

    entrants: tuple[Entrant, ...]
    strengths: Mapping[str, float]
    world: World
    seed: str

    def lead(self, pairing: Pairing) -> float:
        """Elo by which White is the stronger, after what the odds of this game are assumed to cost the giver."""
        even = self.strengths[pairing.white] - self.strengths[pairing.black]
        return even - task.worth(pairing.handicap, self.world.odds)

    def outcome(self, pairing: Pairing) -> Outcome:
        """How this game ends; the luck is that of the pair, whoever has White."""
        first, second = pairing.pair
        luck = _share(self.seed, first, second, pairing.meeting, pairing.leg)
        won, drawn, _ = self.world.chances(self.lead(pairing), 0.0)
        if pairing.white != first:
            luck = 1 - luck
        return Outcome.WHITE if luck < won else Outcome.DRAW if luck < won + drawn else Outcome.BLACK


def drawn(world: World, count: int, seed: str) -> Population:
    """So many engines of random strength; ratings are the truth and noise, their median at the world's level."""
    strengths = [world.spread * _normal(seed, "strength", number) for number in range(count)]
    beliefs = [strength + world.noise * _normal(seed, "noise", at) for at, strength in enumerate(strengths)]
    middle = median(beliefs)
    order = sorted(range(count), key=lambda at: -beliefs[at])
    names = [f"E{place:0{len(str(count))}}" for place in range(1, count + 1)]
    entrants = tuple(
        Entrant(name, rating=world.level + beliefs[at] - middle) for name, at in zip(names, order, strict=True)
    )
    return Population(entrants, {name: strengths[at] for name, at in zip(names, order, strict=True)}, world, seed)


def cast(world: World, entrants: Sequence[Entrant], seed: str) -> Population:
    """These entrants: as strong as they are rated, and noise; of random strength in their order if any is unrated."""
    ratings = [entrant.rating for entrant in entrants if entrant.rating is not None]
    if len(ratings) == len(entrants):
        strengths = [rating + world.noise * _normal(seed, "noise", at) for at, rating in enumerate(ratings)]
    else:
        strengths = list(drawn(world, len(entrants), seed).strengths.values())
    truth = {entrant.name: strength for entrant, strength in zip(entrants, strengths, strict=True)}
    return Population(tuple(entrants), truth, world, seed)


def _share(*words: object) -> float:
    return (Dice(*words).below(FINE) + 0.5) / FINE


def _normal(*words: object) -> float:
    return NORMAL.inv_cdf(_share(*words))
