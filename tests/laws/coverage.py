"""Coverage of 95 % intervals, measured in simulated tournaments with known true ratings.

White has an advantage of 30 Elo, equal engines draw 40 % of their games, and draws follow Davidson 1970. The two games
of a pair have the same opening, whose advantage for White is normally distributed; without it, games are independent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log

import numpy as np

from enginetour.ratings.likelihood import Fit, ModelName, fit
from enginetour.ratings.pairs import Index, OpeningDependence, OpeningPairs, Pairs, Vector
from enginetour.ratings.pentanomial import NORMAL_95
from enginetour.ratings.ratinglist import rating_list
from enginetour.ratings.uncertainty import errors_of, expected_draws, pair_score_spread

UNIT = 400 / log(10)
WHITE = 30 / UNIT
DRAW_RATE = 0.4


@dataclass(frozen=True, eq=False)
class Field:
    """Pairs of opponents with numbers of game pairs, and their strengths in natural units."""

    truth: Vector
    one: Index
    other: Index
    pairs: Index

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{number:03}" for number in range(len(self.truth)))

    def played(self, dice: np.random.Generator, favour: float) -> tuple[Pairs, OpeningPairs]:
        """Simulate a tournament; `favour` is the standard deviation of the openings' advantage for White."""
        meeting = np.repeat(np.arange(len(self.one)), self.pairs)
        opening = WHITE + dice.normal(0, favour, len(meeting))
        gap = (self.truth[self.one] - self.truth[self.other])[meeting]
        points = []
        for ahead in (gap + opening, gap - opening):
            share = 1 / (1 + np.exp(-ahead))
            drawn, roll = expected_draws(share, DRAW_RATE), dice.random(len(meeting))
            points.append(np.where(roll < share - drawn / 2, 2, np.where(roll < share + drawn / 2, 1, 0)))
        tables = [np.bincount(meeting * 3 + own, minlength=3 * len(self.one)).reshape(-1, 3) for own in points]
        white, black = np.append(self.one, self.other), np.append(self.other, self.one)
        wins, draws, losses = np.concatenate((tables[0][:, ::-1], tables[1])).astype(np.float64).T
        order = np.lexsort((black, white))
        pairs = Pairs(self.names, white[order], black[order], wins[order], draws[order], losses[order])
        scores = np.bincount(meeting * 5 + points[0] + points[1], minlength=5 * len(self.one)).reshape(-1, 5)
        return pairs, OpeningPairs(self.names, self.one, self.other, scores.astype(np.float64))


def mesh(engines: int, pairs: int, spread: float) -> Field:
    """Every engine plays every other one."""
    one, other = np.triu_indices(engines, 1)
    return _field(np.random.default_rng(1).normal(0, spread, engines), one, other, pairs)


def thin(engines: int, opponents: int, pairs: int, spread: float) -> Field:
    """Every engine plays a few of many."""
    seats = np.arange(engines)
    ends = [np.sort(np.stack((seats, (seats + 1 + 3 * step) % engines)), axis=0) for step in range(opponents // 2)]
    one, other = np.concatenate(ends, axis=1)
    return _field(np.random.default_rng(2).normal(0, spread, engines), one, other, pairs)


def gauntlet(engines: int, pairs: int, spread: float) -> Field:
    """One engine plays all others."""
    others = np.arange(1, engines)
    return _field(np.random.default_rng(3).normal(0, spread, engines), np.zeros_like(others), others, pairs)


def chain(versions: int, pairs: int, step: float) -> Field:
    """Every version plays the next one."""
    seats = np.arange(versions)
    truth = np.cumsum(np.random.default_rng(4).normal(step / 2, step, versions))
    return _field(truth, seats[:-1], seats[1:], pairs)


def _field(elo: Vector, one: Index, other: Index, pairs: int) -> Field:
    return Field((elo - elo.mean()) / UNIT, one, other, np.full(len(one), pairs))


def covered(
    field: Field, rounds: int, *, favour: float = 0.0, paired: bool = False, model: ModelName = "logistic"
) -> dict[str, float]:
    """Return the coverage of 95 % intervals: against the average, against an anchor, and of all differences.

    With advantages of openings, or with another model than the logistic one, the truth is a fit of very many games.
    """
    dice, truth = np.random.default_rng(len(field.truth)), field.truth * UNIT
    if favour or model != "logistic":
        many = replace(field, pairs=np.full(len(field.one), 3_000_000 // len(field.one)))
        truth = fit(many.played(dice, favour)[0], model=model, advantage="fit").ratings
    one, other = np.triu_indices(len(truth), 1)
    shares: dict[str, list[float]] = {"average": [], "anchor": [], "difference": []}
    for _ in range(rounds):
        pairs, openings = field.played(dice, favour)
        for place, anchors in (("average", {}), ("anchor", {field.names[0]: float(truth[0])})):
            fitted = fit(pairs, model=model, advantage="fit", anchors=anchors)
            errors = errors_of(_with_pairs(fitted, openings) if paired else fitted)
            held = np.abs(fitted.ratings - truth) < NORMAL_95 * errors.sd
            shares[place].append(float(held[1:].mean() if anchors else held.mean()))
            if not anchors:
                square = errors.covariance
                sd = np.sqrt(np.diag(square)[one] + np.diag(square)[other] - 2 * square[one, other]) * fitted.unit
                off = fitted.ratings - truth
                shares["difference"].append(float((np.abs(off[one] - off[other]) < NORMAL_95 * sd).mean()))
    return {place: float(np.mean(found)) for place, found in shares.items()}


def shown_to_cover(field: Field, rounds: int) -> float:
    """Return the coverage of displayed intervals against the average, without an advantage of White."""
    dice, truth = np.random.default_rng(len(field.truth)), dict(zip(field.names, field.truth * UNIT, strict=True))
    held = [
        row.rating - row.minus <= truth[row.name] <= row.rating + row.plus
        for _ in range(rounds)
        for row in rating_list(field.played(dice, 0.0)[0]).rows
        if row.plus is not None and row.minus is not None
    ]
    return float(np.mean(held))


def _with_pairs(fitted: Fit, openings: OpeningPairs) -> Fit:
    ratio = pair_score_spread(fitted, openings).ratio
    return replace(fitted, dependence=OpeningDependence(ratio, openings.in_rows(fitted.problem.pairs)))
