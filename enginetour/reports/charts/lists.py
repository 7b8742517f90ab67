"""List, crosstable, opposition.

Above half is blue, below is orange, the paler the nearer to half: told apart without green and red. In a field too
large for figures the colours stay, and a bubble or Swiss of 200 engines still shows who has met whom.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from enginetour.formats.pairing.standings import CrossRow
from enginetour.model.errors import UsageRefused
from enginetour.ratings.likelihood import ELO_SCALE
from enginetour.ratings.ratinglist import RatingList
from enginetour.reports.charts import output
from enginetour.reports.charts.canvas import (
    SMALL,
    STRONGEST,
    TEXT,
    Area,
    Line,
    Mark,
    Picture,
    Scale,
    Spot,
    Tip,
    Words,
    around,
    box,
    diamond,
    finite,
    listed,
    told,
)
from enginetour.reports.charts.output import width_of
from enginetour.reports.sheet import counted, points

# A rating list as a picture: a point for each engine, and how far its rating may be off.

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
    names = output.names_width([one.name for one in rows], 230, size)
    figures = max((width_of(_figures(one), size) for one in rows), default=0.0)
    top, width = output.HEAD + output.LABEL, output.WIDTH
    bottom = top + row * max(1, len(rows))
    ends = [bound for one in rows for bound in _bounds(one)]
    scale = around(ends, rank + names + 16, width - figures - 14, least=_LEAST_SPAN)
    marks: list[Mark] = [*output.heading(title), *output.bands(len(rows), row, top, width)]
    marks += output.across(scale, top, bottom, _below(confidence), above=True)
    for place, one in enumerate(rows):
        marks += _row(one, place, rank, names, top + place * row, row, size, scale)
    if not rows:
        marks.append(output.empty("no engine is rated", top + 14))
    if more:
        marks.append(Words(rank, bottom + 28, f"and {more:,} more", "muted", SMALL))
    return Picture(told(title), _summary(rows), width, bottom + 36, tuple(marks))


def _row(
    one: Rated, place: int, rank: float, names: float, y: float, row: float, size: float, scale: Scale
) -> Iterator[Mark]:
    middle, base = y + row / 2, y + row / 2 + size * 0.36
    yield Words(rank - 8, base, str(place + 1), "muted", size, "end")
    yield Words(rank, base, output.fitted(one.name, names, size), size=size)
    yield Words(output.WIDTH - 4, base, _figures(one), size=size, anchor="end")
    if one.rating is not None and finite(one.rating):
        low, high = (scale.at(bound) for bound in (min(_bounds(one)), max(_bounds(one))))
        if high > low:
            yield Line(((low, middle), (high, middle)), "accent", 1.6)
            for end, bound in ((low, one.minus), (high, one.plus)):
                if finite(bound):
                    yield Line(((end, middle - 3.5), (end, middle + 3.5)), "accent", 1.6)
        yield Area((diamond(scale.at(one.rating), middle, 4.5),), "accent")
    yield Tip(0, y, output.WIDTH, row, f"{place + 1}. {told(one.name)}: {_figures(one)}, {counted(one.games, 'game')}")


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


# Everybody against everybody as a picture: each cell has the score and a colour by its share.

_FIGURES_UP_TO = 40  # engines: cells still wide enough for a score
_TIPS_UP_TO = 24  # engines: a tip for each cell of more would be most of the file
_WIDEST, _LEAST_CELL = 1200.0, 5  # units of a picture, of a cell
_SHADES = 5  # on either side of half
_SMALL_CELL = 8.0  # units: a gap beside a smaller one would be most of it


@dataclass(frozen=True, slots=True)
class Met:
    """The games of a row's engine against a column's, in half points of the row's."""

    half_points: int
    games: int


Row = CrossRow[Met]


def crosstable(rows: Sequence[Row], *, title: str) -> Picture:
    """In the order given, best first. ValueError where a row has not a cell for each."""
    count = len(rows)
    if any(len(row.cells) != count for row in rows):
        raise ValueError("a crosstable is square")
    figures = count <= _FIGURES_UP_TO
    size = TEXT if count <= 24 else SMALL
    texts = [points(met.half_points) for row in rows for met in row.cells if met and met.games] if figures else []
    rank = width_of(str(count), size) + 8
    names = output.names_width([row.name for row in rows], 190, size)
    scores = max((width_of(_score(row), size) for row in rows), default=0.0) + 12
    before = ceil(rank + names + 8 + scores)  # whole units are short numbers, thousands of times
    if figures:
        least = max([22.0, *(width_of(text, SMALL) + 6 for text in set(texts))])
        cell = max(least, min(34.0, (output.WIDTH - before) / max(1, count)))
    else:
        cell = float(max(_LEAST_CELL, min(14, (_WIDEST - before) // count)))
    row = max(cell if not figures else 20.0, 13.0)
    top, width = output.HEAD + output.LABEL, max(output.WIDTH / 2, before + cell * count)
    marks = [*output.heading(title, width), *output.bands(count, row, top, before)]
    marks += _shades(rows, before, top, cell, row)
    for number, line in enumerate(rows, 1):
        y = top + (number - 1) * row
        base = y + row / 2 + size * 0.36
        marks.append(Words(rank - 8, base, str(number), "muted", size, "end"))
        marks.append(Words(rank, base, output.fitted(line.name, names, size), size=size))
        marks.append(Words(before - 8, base, _score(line), size=size, anchor="end", bold=True))
        if figures or number % 10 == 0 or number == 1:
            marks.append(Words(before + (number - 0.5) * cell, top - 6, str(number), "muted", SMALL, "middle"))
        if figures:
            marks += _cross_figures(line, before, y, cell, row)
        if count <= _TIPS_UP_TO:
            marks += _tips(line, rows, before, y, cell, row)
    if not rows:
        marks.append(output.empty("nobody has played", top + 14, width))
    return Picture(told(title), _cross_summary(rows), width, top + row * max(1, count) + 4, tuple(marks))


def _shades(rows: Sequence[Row], left: float, top: float, cell: float, row: float) -> Iterator[Mark]:
    """One area a shade; where cells have no gaps, neighbours of a row with the same shade are one box."""
    found: dict[tuple[str, float], list[tuple[Spot, ...]]] = {}
    gap = 1.0 if cell > _SMALL_CELL else 0.0
    for down, line in enumerate(rows):
        y = top + down * row + gap / 2
        looks = [_look(met, own=over == down) for over, met in enumerate(line.cells)]
        for over, look in enumerate(looks):
            if look is None or (not gap and over and looks[over - 1] == look):
                continue
            last = over + 1
            while not gap and last < len(looks) and looks[last] == look:
                last += 1
            outline = box(left + over * cell + gap / 2, y, (last - over) * cell - gap, row - gap)
            found.setdefault(look, []).append(outline)
    for (role, alpha), outlines in sorted(found.items()):
        yield Area(tuple(outlines), role, alpha)


def _look(met: Met | None, *, own: bool) -> tuple[str, float] | None:
    """Role and strength of a cell's colour, None for no games; a trace of grey at half, more where nobody meets."""
    if met is None or not met.games:
        return ("grid", 1.0) if own else None
    over = met.half_points - met.games  # half points above half of what could be had
    if not over:
        return "muted", 0.18
    shade = -(-abs(over) * _SHADES // met.games)  # 1 to _SHADES, rounded up
    return "accent" if over > 0 else "accent-2", round(0.1 + (STRONGEST - 0.1) * shade / _SHADES, 3)


def _cross_figures(line: Row, left: float, y: float, cell: float, row: float) -> Iterator[Mark]:
    for over, met in enumerate(line.cells):
        if met is not None and met.games:
            x = left + (over + 0.5) * cell
            yield Words(x, y + row / 2 + SMALL * 0.36, points(met.half_points), "ink", SMALL, "middle")


def _tips(line: Row, rows: Sequence[Row], left: float, y: float, cell: float, row: float) -> Iterator[Mark]:
    yield Tip(0, y, left, row, f"{told(line.name)}: {_score(line)} of {line.games}")
    for over, met in enumerate(line.cells):
        if met is not None and met.games:
            words = f"{told(line.name)} {points(met.half_points)} of {met.games} against {told(rows[over].name)}"
            yield Tip(left + over * cell, y, cell, row, words)


def _score(line: Row) -> str:
    return points(line.half_points)


def _cross_summary(rows: Sequence[Row]) -> str:
    if not rows:
        return "A crosstable without engines."
    first = rows[0]
    return (
        f"Crosstable of {len(rows)} engines: {told(first.name)} has {_score(first)} of {first.games}; "
        f"then {listed([row.name for row in rows[1:]])}."
    )


# An engine against its opponents: its score by their ratings, beside what its own rating would expect.

_WIDTH, _HEIGHT = 460.0, 200.0  # units: a small picture beside tables
_STEPS = 24  # pieces of the expected curve


@dataclass(frozen=True, slots=True)
class Faced:
    """All games against one opponent, in half points of the engine's; `rating` None where it has none."""

    name: str
    rating: float | None
    half_points: int
    games: int


def score_by_rating(rating: float | None, faced: Sequence[Faced], *, title: str) -> Picture:
    """Opponents without a rating or a game are left out, and said to be; points grow with games, up to six."""
    there = [one for one in faced if one.rating is not None and finite(one.rating) and one.games]
    left, right, top = 46.0, _WIDTH - 10, output.HEAD
    bottom = top + _HEIGHT
    own = rating if rating is not None and finite(rating) else None
    xs = around([*(one.rating for one in there), own], left, right, least=100.0)
    ys = Scale(-0.04, 1.04, bottom, top)
    marks: list[Mark] = [*output.heading(title, _WIDTH), *output.upward(ys, left, right, say=_percent)]
    marks += output.across(xs, top, bottom, "rating of the opponent", grid=False)
    if own is not None:
        marks.append(Line(tuple(_expected(own, xs, ys)), "muted", 1.4, (6.0, 3.0)))
    for one in there:
        share = one.half_points / (2 * one.games)
        x, y = xs.at(one.rating or 0.0), ys.at(share)
        marks.append(Area((diamond(x, y, 2.5 + min(6, one.games) / 2),), "accent", 0.8))
        marks.append(
            Tip(x - 8, y - 8, 16, 16, f"{told(one.name)} ({one.rating:.0f}): {points(one.half_points)} of {one.games}")
        )
    if not there:
        marks = [*output.heading(title, _WIDTH), output.empty("no opponent with a rating", (top + bottom) / 2, _WIDTH)]
    apart = len(faced) - len(there)
    summary = f"Score against {len(there)} rated opponents by their ratings" + (
        f"; {apart} without one." if apart else "."
    )
    return Picture(told(title), summary, _WIDTH, bottom + 36, tuple(marks))


def _expected(own: float, xs: Scale, ys: Scale) -> Iterator[tuple[float, float]]:
    """What the logistic model expects of the engine along the axis."""
    for step in range(_STEPS + 1):
        rating = xs.low + (xs.high - xs.low) * step / _STEPS
        yield xs.at(rating), ys.at(1 / (1 + 10 ** ((rating - own) / ELO_SCALE)))


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
