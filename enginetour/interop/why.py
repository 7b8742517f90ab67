"""Why two are paired or are not: criterion by criterion, and what the other decision would have cost.

Where a round is of maximum weight, the cost is exact: the best round with the pair, or without it, is solved too. From
below it is bounded by the proof alone: half the slack of the pair. Where a rule decides, it is followed again with the
other decision forced on it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from enginetour.formats.pairing.field import Field, Paired, Unpairable
from enginetour.formats.pairing.matching import Unpairable as ShortageUnpairable
from enginetour.formats.pairing.matching import best_matching, relaxed_matching
from enginetour.formats.rounds import PairingSystem, Reason, Weighed
from enginetour.interop.foreign import Separated

Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Cost:
    """Weight that the other decision loses: at `least`, from the proof, and exactly; None: it cannot be had at all."""

    total: int
    least: int | None
    exact: int | None


@dataclass(frozen=True, slots=True)
class Why:
    """`instead` are the pairs of the best round with the other decision, None if there is none; members by place."""

    pair: tuple[int, int]
    paired: Paired
    together: bool
    facts: tuple[str, ...]
    rules: tuple[str, ...]
    reasons: tuple[Reason, ...]
    cost: Cost | None
    instead: Pairs | None


def facts(system: PairingSystem, field: Field, one: int, other: int) -> tuple[str, ...]:
    """What every system asks of a pair, in words."""
    names = [field.members[place].name for place in (one, other)]
    rows = system.scores(field)
    scores = [rows[-1][place] for place in (one, other)]
    told = []
    for place, name, score in zip((one, other), names, scores, strict=True):
        begun = f", started with {rows[0][place] / 2:g}" if system.score == "MMS" else ""
        told.append(f"{name} has {_told(system, score)}{begun}")
    told.append("one score group" if scores[0] == scores[1] else f"{_points(abs(scores[0] - scores[1]))} apart")
    for place, name in zip((one, other), names, strict=True):
        if balance := field.balance(place):
            told.append(f"{name} had {abs(balance)} more {'White' if balance > 0 else 'Black'}")
    if number := field.meetings[one].get(other):
        told.append(f"met in round {number}" if number < field.number else "must not meet, says the file")
    family = field.members[one].family
    if family and family == field.members[other].family:
        told.append(f"both of family {family}")
    return tuple(told)


def _told(system: PairingSystem, score: int) -> str:
    return _points(score) if system.score == "points" else f"{system.score} {score / 2:g}"


def _points(half_points: int) -> str:
    return f"{half_points / 2:g} point{'' if half_points == 2 else 's'}"


def why(system: PairingSystem, field: Separated, paired: Paired, one: int, other: int) -> Why:
    """Of a round that the system paired and two who are there for it. ValueError if one of them is not."""
    pair = (min(one, other), max(one, other))
    there = {place for board in paired.boards for place in board.pair}
    for place in pair:
        if place not in field.present:
            raise ValueError(f"{field.members[place].name} is not there in round {field.number}")
    together = pair in {board.pair for board in paired.boards}
    cost, instead = None, None
    weighed = system.weighed(field) if set(pair) <= there else None
    if weighed is not None:
        cost, instead = _cost(weighed, pair, together=together)
    else:
        instead = _followed(system, field, paired, pair, together=together)
    told = list(facts(system, field, *pair))
    told += [f"{field.members[place].name} rests: it has the bye" for place in pair if place in paired.byes]
    rules = system.rules(field, paired, *pair)
    reasons = system.explain(field, *pair) if set(pair) <= there else ()
    return Why(pair, paired, together, tuple(told), rules, reasons, cost, instead)


def _cost(weighed: Weighed, pair: tuple[int, int], *, together: bool) -> tuple[Cost, Pairs | None]:
    one, other = (weighed.members.index(place) for place in pair)
    best = relaxed_matching(weighed.weights, weighed.barred)
    count = len(weighed.members)
    forbidden = np.zeros((count, count), dtype=np.bool_)
    if together:
        forbidden[one, other] = forbidden[other, one] = True
    else:
        for place, mate in ((one, other), (other, one)):
            forbidden[place, :] = forbidden[:, place] = True
            forbidden[place, mate] = forbidden[mate, place] = False
        forbidden[one, other] = forbidden[other, one] = False
    least = None if together else _slack_bound(weighed, one, other)
    try:
        changed = best_matching(weighed.weights, forbidden | (weighed.barred > 0))
    except ShortageUnpairable:
        return Cost(best.weight, least, None), None
    places = [sorted((weighed.members[i], weighed.members[j])) for i, j in changed.pairs]
    return Cost(best.weight, least, best.weight - changed.weight), tuple((low, high) for low, high in places)


def _followed(
    system: PairingSystem, field: Separated, paired: Paired, pair: tuple[int, int], *, together: bool
) -> Pairs | None:
    """The system's own round with the pair or without it; None if that bends more than the round it made."""
    one, other = pair
    if not together and other in field.meetings[one]:
        return None
    forced = field.parted(one, other) if together else field
    if not together:
        for place in field.present:
            if place not in pair:
                forced = forced.parted(one, place).parted(other, place)
    try:
        found = system.paired(forced)
    except Unpairable:
        return None
    if len(found.remarks) > len(paired.remarks):
        return None
    pairs = tuple(board.pair for board in found.boards)
    return pairs if (pair in pairs) is not together else None


def _slack_bound(weighed: Weighed, one: int, other: int) -> int | None:
    """Half of the pair's slack, rounded up: the proof says as much; None if the best round had to bend the bars."""
    if weighed.barred[one, other]:
        return None
    try:
        proof = best_matching(weighed.weights, weighed.barred > 0).proof
    except ShortageUnpairable:
        return None
    return -(-proof.slack(one, other, int(weighed.weights[one, other])) // 2)
