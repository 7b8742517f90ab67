"""Many simulated tournaments: one configuration again and again, or several systems on the same fields.

Where systems are compared they play the same engines with the same luck, so their differences are surer than either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from statistics import quantiles
from typing import Any

from enginetour.formats.accuracy import Accuracy, Estimate, accuracy, estimate
from enginetour.formats.base import Format
from enginetour.formats.contender import Contender
from enginetour.formats.course import play
from enginetour.formats.world import Population, World, cast, drawn
from enginetour.model.errors import InputRefused, UsageRefused
from enginetour.model.game import Entrant

FIGURES = tuple(figure.name for figure in fields(Accuracy))
TENTHS = 10  # the outermost of its cuts bound the middle 80 %

Told = Callable[[int], object]
"""Is told of so many tournaments more that are played."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One system over all fields: its figures, and by how much each is above the first system's on the same fields."""

    words: str
    figures: Mapping[str, Estimate]
    above: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """One format over many simulations: its figures, bounds of its games before the first, and the middle 80 %."""

    figures: Mapping[str, Estimate]
    fewest: int
    most: int
    low: float
    high: float


def compare(
    contenders: Sequence[Contender],
    world: World,
    *,
    entrants: int,
    count: int,
    seed: int,
    told: Told = lambda _: None,
) -> list[Compared]:
    """All contenders on `count` fields of so many entrants. UsageRefused names the one that cannot take the field."""
    found: list[list[Accuracy]] = [[] for _ in contenders]
    for number in range(count):
        population = drawn(world, entrants, f"{seed}/{number}")
        for rows, contender in zip(found, contenders, strict=True):
            rows.append(_measured(contender.words, contender.format(seed + number), population)[0])
        told(1)
    columns = [_columns(rows) for rows in found]
    return [
        Compared(contender.words, _estimates(own), _estimates(_differences(own, columns[0])))
        for contender, own in zip(contenders, columns, strict=True)
    ]


def rehearse(
    make: Callable[[int], Format[Any]],
    entrants: Sequence[Entrant],
    world: World,
    *,
    count: int,
    seed: int,
    told: Told = lambda _: None,
) -> Rehearsed:
    """One format, `make(seed)`, with these entrants, `count` times. UsageRefused when it cannot take them."""
    rows: list[Accuracy] = []
    bounds = (0, 0)
    for number in range(count):
        row, bounds = _measured("the format", make(seed + number), cast(world, entrants, f"{seed}/{number}"))
        rows.append(row)
        told(1)
    columns = _columns(rows)
    low, high = _middle(columns["games"])
    return Rehearsed(_estimates(columns), *bounds, low, high)


def _measured(words: str, format_: Format[Any], population: Population) -> tuple[Accuracy, tuple[int, int]]:
    try:
        course = play(format_, population)
    except (ValueError, InputRefused) as error:
        raise UsageRefused(str(error), place=words) from None
    return accuracy(course, population), course.bounds


def _columns(rows: Sequence[Accuracy]) -> dict[str, list[float]]:
    return {name: [float(getattr(row, name)) for row in rows] for name in FIGURES}


def _estimates(columns: Mapping[str, Sequence[float]]) -> dict[str, Estimate]:
    return {name: estimate(column) for name, column in columns.items()}


def _differences(own: Mapping[str, list[float]], first: Mapping[str, list[float]]) -> dict[str, list[float]]:
    return {name: [mine - theirs for mine, theirs in zip(own[name], first[name], strict=True)] for name in own}


def _middle(games: Sequence[float]) -> tuple[float, float]:
    if len(games) == 1:
        return games[0], games[0]
    cuts = quantiles(games, n=TENTHS, method="inclusive")
    return cuts[0], cuts[-1]
