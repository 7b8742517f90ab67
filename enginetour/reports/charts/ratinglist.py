"""A rating list as a picture: a point for each engine, and how far its rating may be off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from enginetour.model.errors import UsageRefused
from enginetour.ratings.ratinglist import RatingList
from enginetour.reports.charts import frame
from enginetour.reports.charts.marks import (
    SMALL,
    TEXT,
    Area,
    Line,
    Mark,
    Picture,
    Tip,
    Words,
    diamond,
    finite,
    listed,
    told,
)
from enginetour.reports.charts.output import width_of
from enginetour.reports.charts.scales import Scale, around
from enginetour.reports.sheet import counted

MOST_RATED = 200  # engines of a picture that can be read
_ROW, _CLOSE_ROW, _MANY = 20.0, 15.0, 60  # units; of a list with more engines than that
_LEAST_SPAN = 20.0  # Elo: a list of equals does not look like one of rivals


@dataclass(frozen=True, slots=True)
class Rated:
    """A line of a list; `rating` None is not rated, `plus` and `minus` are distances to bounds, None for none."""

    name: str
    rating: float | None
    plus: float | None
    minus: float | None
    games: int


def rated(found: RatingList) -> tuple[Rated, ...]:
    """The first pool of a list, which is the largest: ratings of different pools compare in nothing."""
    rows = [row for row in found.rows if row.pool == 1]
    return tuple(Rated(row.name, row.rating, row.plus, row.minus, row.games) for row in rows)


def of_list(found: RatingList, title: str) -> Picture:
    """A picture of a whole list; UsageRefused where nobody is rated."""
    if not found.rows:
        raise UsageRefused("nobody is rated, there is nothing to draw", place=title)
    bounded = any(row.error is not None for row in found.rows)
    return rating_list(rated(found), title=title, confidence=95.0 if bounded else None)


def rating_list(
    rows: Sequence[Rated], *, title: str, confidence: float | None = 95.0, most: int = MOST_RATED
) -> Picture:
    """The first `most` in the order given; `confidence` of the bounds in %, None for systems that have none."""
    rows, more = rows[:most], max(0, len(rows) - most)
    size, row = (TEXT, _ROW) if len(rows) <= _MANY else (SMALL, _CLOSE_ROW)
    rank = width_of(str(len(rows)), size) + 8
    names = frame.names_width([one.name for one in rows], 230, size)
    figures = max((width_of(_figures(one), size) for one in rows), default=0.0)
    top, width = frame.HEAD + frame.LABEL, frame.WIDTH
    bottom = top + row * max(1, len(rows))
    ends = [bound for one in rows for bound in _bounds(one)]
    scale = around(ends, rank + names + 16, width - figures - 14, least=_LEAST_SPAN)
    marks: list[Mark] = [*frame.heading(title), *frame.bands(len(rows), row, top, width)]
    marks += frame.across(scale, top, bottom, _below(confidence), above=True)
    for place, one in enumerate(rows):
        marks += _row(one, place, rank, names, top + place * row, row, size, scale)
    if not rows:
        marks.append(frame.empty("no engine is rated", top + 14))
    if more:
        marks.append(Words(rank, bottom + 28, f"and {more:,} more", "muted", SMALL))
    return Picture(told(title), _summary(rows), width, bottom + 36, tuple(marks))


def _row(
    one: Rated, place: int, rank: float, names: float, y: float, row: float, size: float, scale: Scale
) -> Iterator[Mark]:
    middle, base = y + row / 2, y + row / 2 + size * 0.36
    yield Words(rank - 8, base, str(place + 1), "muted", size, "end")
    yield Words(rank, base, frame.fitted(one.name, names, size), size=size)
    yield Words(frame.WIDTH - 4, base, _figures(one), size=size, anchor="end")
    if one.rating is not None and finite(one.rating):
        low, high = (scale.at(bound) for bound in (min(_bounds(one)), max(_bounds(one))))
        if high > low:
            yield Line(((low, middle), (high, middle)), "accent", 1.6)
            for end, bound in ((low, one.minus), (high, one.plus)):
                if finite(bound):
                    yield Line(((end, middle - 3.5), (end, middle + 3.5)), "accent", 1.6)
        yield Area((diamond(scale.at(one.rating), middle, 4.5),), "accent")
    yield Tip(0, y, frame.WIDTH, row, f"{place + 1}. {told(one.name)}: {_figures(one)}, {counted(one.games, 'game')}")


def _bounds(one: Rated) -> list[float]:
    """The rating and where its bounds are, of what is a number."""
    if one.rating is None or not finite(one.rating):
        return []
    up = [one.rating + one.plus] if one.plus is not None and finite(one.plus) else []
    down = [one.rating - one.minus] if one.minus is not None and finite(one.minus) else []
    return [*down, one.rating, *up]


def _figures(one: Rated) -> str:
    if one.rating is None or not finite(one.rating):
        return "not rated"
    sides = "".join(
        f" {sign}{_distance(side)}"
        for sign, side in (("+", one.plus), ("-", one.minus))
        if side is not None and finite(side)
    )
    return f"{round(one.rating)}{sides}"


def _distance(side: float) -> str:
    return f"{side:.0f}" if side >= 0.95 else "<1"


def _below(confidence: float | None) -> str:
    return "rating" if confidence is None else f"rating, bars hold {confidence:g} %"


def _summary(rows: Sequence[Rated]) -> str:
    if not rows:
        return "A rating list without engines."
    best = f"{told(rows[0].name)} {_figures(rows[0])}"
    return f"Rating list of {len(rows)} engines, best first: {best}; then {listed([one.name for one in rows[1:]])}."
