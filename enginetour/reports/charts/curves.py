"""Lines over time: ratings over editions or games, and the score of a tournament as it came.

Each line ends with its name in its colour, so that nobody has to match colours with a legend; a ninth line has the
first one's colour and is dashed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from enginetour.reports.charts import frame
from enginetour.reports.charts.marks import (
    SMALL,
    Area,
    Line,
    Mark,
    Picture,
    Spot,
    Tip,
    Words,
    diamond,
    finite,
    listed,
    told,
)
from enginetour.reports.charts.palette import SERIES, series
from enginetour.reports.charts.scales import Scale, around, number, whole

MOST = 16  # lines of a picture: two of each colour
_HEIGHT, _LEGEND = 300.0, 160.0  # units of the field, of the names beside it
_APART, _DASH = 14.0, (6.0, 3.0)  # units between two names; lengths of a dash
_EACH = 25  # points of a line: more are drawn as a line only
_LONGEST = 1200  # places of a line: more than a picture has units are thinned


@dataclass(frozen=True, slots=True)
class Point:
    """`x` is an edition or a game; `low` and `high` are bounds, None for none; `words` tell it."""

    x: float
    y: float | None
    low: float | None = None
    high: float | None = None
    words: str = ""


@dataclass(frozen=True, slots=True)
class Curve:
    """An engine through time."""

    name: str
    points: tuple[Point, ...]


def curves(
    lines: Sequence[Curve],
    *,
    title: str,
    below: str,
    say_y: Callable[[float], str] = number,
    level: float | None = None,
    least: float = 20.0,
) -> Picture:
    """The first `MOST` of `lines`, in their order; `below` says what runs to the right.

    A `level` is drawn as a line of its own; `least` is the smallest span of the upward scale.
    """
    shown = [Curve(line.name, _drawable(line.points)) for line in lines[:MOST]]
    places = [point for line in shown for point in line.points]
    top, bottom = frame.HEAD, frame.HEAD + _HEIGHT
    ends = [value for point in places for value in (point.y, point.low, point.high)]
    ys = around([*ends, level], bottom, top, least=least)
    left, right = frame.beside(ys, say_y), frame.WIDTH - _LEGEND
    xs = around((point.x for point in places), left, right, least=1.0)
    marks: list[Mark] = [*frame.heading(title), *frame.upward(ys, left, right, say=say_y)]
    marks += frame.across(xs, top, bottom, below, grid=False, say=whole)
    if level is not None:
        marks.append(Line(((left, ys.at(level)), (right, ys.at(level))), "muted", 1.2))
    each = all(len(line.points) <= _EACH for line in shown)
    for place, line in enumerate(shown):
        marks += _curve(line, place, xs, ys, single=len(shown) == 1, each=each)
    marks += _names(shown, ys, right, top, bottom)
    if len(lines) > MOST:
        marks.append(Words(right + 12, bottom + 13, f"and {len(lines) - MOST} more", "muted", SMALL))
    if not places:
        marks = [*frame.heading(title), frame.empty("nothing to draw yet", (top + bottom) / 2)]
    return Picture(told(title), _summary(shown, len(lines)), frame.WIDTH, bottom + 36, tuple(marks))


def _drawable(points: Sequence[Point]) -> tuple[Point, ...]:
    """Those with a number, thinned to what can be seen: the first and the last always stay."""
    there = [point for point in points if finite(point.x) and finite(point.y)]
    every = -(-len(there) // _LONGEST) or 1
    return tuple(point for place, point in enumerate(there) if place % every == 0 or place == len(there) - 1)


def _curve(line: Curve, place: int, xs: Scale, ys: Scale, *, single: bool, each: bool) -> Iterator[Mark]:
    role = series(place)
    spots: list[Spot] = [(xs.at(point.x), ys.at(point.y or 0.0)) for point in line.points]
    if not spots:
        return
    bounded = [point for point in line.points if finite(point.low) and finite(point.high)]
    if len(bounded) > 1 and single:  # bands of many lines hide each other
        upper = [(xs.at(point.x), ys.at(point.high or 0.0)) for point in bounded]
        lower = [(xs.at(point.x), ys.at(point.low or 0.0)) for point in bounded]
        yield Area(((*upper, *reversed(lower)),), role, 0.18)
    yield Line(tuple(spots), role, 1.8, () if place < len(SERIES) else _DASH)
    if spots[-1][0] < xs.end - 12:  # it ends before the others: which name is its own?
        yield Line((spots[-1], (xs.end, spots[-1][1])), role, 1.0, (1.0, 3.0), 0.7)
    if each:
        yield Area(tuple(diamond(x, y, 3.2) for x, y in spots), role)
        for point, (x, y) in zip(line.points, spots, strict=True):
            yield Tip(x - 7, y - 7, 14, 14, f"{told(line.name)}: {point.words or number(point.y or 0.0)}")


def _names(lines: Sequence[Curve], ys: Scale, right: float, top: float, bottom: float) -> Iterator[Mark]:
    """Beside the ends of their lines, pushed apart where they would touch."""
    ends = sorted((ys.at(line.points[-1].y or 0.0), place) for place, line in enumerate(lines) if line.points)
    low = top + 4
    heights = []
    for place_from_top, (y, _) in enumerate(ends):
        low = max(low, min(y, bottom - (len(ends) - 1 - place_from_top) * _APART))
        heights.append(low)
        low += _APART
    for (y, place), height in zip(ends, heights, strict=True):
        role = series(place)
        yield Line(((right + 3, y), (right + 12, height)), role, 1.0, () if place < len(SERIES) else _DASH)
        room = _LEGEND - 16
        yield Words(right + 16, height + 3.5, frame.fitted(lines[place].name, room, SMALL), role, SMALL)


def _summary(lines: Sequence[Curve], count: int) -> str:
    there = [line for line in lines if line.points]
    if not there:
        return "No line yet."
    points = max(len(line.points) for line in there)
    return f"{count} line{'s' * (count != 1)} of up to {points} points: {listed([line.name for line in there], 8)}."
