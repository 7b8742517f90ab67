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
from enginetour.ratings.pentanomial import ELO_SCALE
from enginetour.ratings.ratinglist import RatingList
from enginetour.reports.charts import output
from enginetour.reports.charts.canvas import (
    MAX_SHADE,
    SMALL_SIZE,
    TEXT_SIZE,
    XY,
    Area,
    Label,
    Line,
    Mark,
    Picture,
    Scale,
    Tooltip,
    clean_text,
    diamond,
    is_drawable,
    linear_scale,
    name_list,
    rectangle,
)
from enginetour.reports.charts.output import text_width
from enginetour.reports.sheet import format_count, format_points

# A rating list as a picture: a point for each engine, and how far its rating may be off.

MAX_ENGINES = 200  # engines of a picture that can be read
_ROW, _CLOSE_ROW, _MANY = 20.0, 15.0, 60  # units; of a list with more engines than that
_LEAST_SPAN = 20.0  # Elo: a list of equals does not look like one of rivals


@dataclass(frozen=True, slots=True)
class RatedEngine:
    """A line of a list; `rating` None is not rated, `plus` and `minus` are distances to bounds, None for none."""

    name: str
    rating: float | None
    plus: float | None
    minus: float | None
    games: int


def largest_pool(found: RatingList) -> tuple[RatedEngine, ...]:
    """The first pool of a list, which is the largest: ratings of different pools compare in nothing."""
    rows = [row for row in found.rows if row.pool == 1]
    return tuple(RatedEngine(row.name, row.rating, row.plus, row.minus, row.games) for row in rows)


def list_chart(found: RatingList, title: str) -> Picture:
    """A picture of a whole list; UsageRefused where nobody is rated."""
    if not found.rows:
        raise UsageRefused("nobody is rated, there is nothing to draw", place=title)
    bounded = any(row.error is not None for row in found.rows)
    return rating_chart(largest_pool(found), title=title, confidence=95.0 if bounded else None)


def rating_chart(
    rows: Sequence[RatedEngine], *, title: str, confidence: float | None = 95.0, most: int = MAX_ENGINES
) -> Picture:
    """The first `most` in the order given; `confidence` of the bounds in %, None for systems that have none."""
    rows, more = rows[:most], max(0, len(rows) - most)
    size, row = (TEXT_SIZE, _ROW) if len(rows) <= _MANY else (SMALL_SIZE, _CLOSE_ROW)
    rank = text_width(str(len(rows)), size) + 8
    names = output.name_column_width([one.name for one in rows], 230, size)
    figures = max((text_width(_figures(one), size) for one in rows), default=0.0)
    top, width = output.HEADING_HEIGHT + output.AXIS_HEIGHT, output.CHART_WIDTH
    bottom = top + row * max(1, len(rows))
    ends = [bound for one in rows for bound in _bounds(one)]
    scale = linear_scale(ends, rank + names + 16, width - figures - 14, least=_LEAST_SPAN)
    marks: list[Mark] = [*output.heading(title), *output.row_bands(len(rows), row, top, width)]
    marks += output.x_axis(scale, top, bottom, _below(confidence), above=True)
    for place, one in enumerate(rows):
        marks += _row(one, place, rank, names, top + place * row, row, size, scale)
    if not rows:
        marks.append(output.empty_message("no engine is rated", top + 14))
    if more:
        marks.append(Label(rank, bottom + 28, f"and {more:,} more", "muted", SMALL_SIZE))
    return Picture(clean_text(title), _summary(rows), width, bottom + 36, tuple(marks))


def _row(
    one: RatedEngine, place: int, rank: float, names: float, y: float, row: float, size: float, scale: Scale
) -> Iterator[Mark]:
    middle, base = y + row / 2, y + row / 2 + size * 0.36
    yield Label(rank - 8, base, str(place + 1), "muted", size, "end")
    yield Label(rank, base, output.fit_text(one.name, names, size), size=size)
    yield Label(output.CHART_WIDTH - 4, base, _figures(one), size=size, anchor="end")
    if one.rating is not None and is_drawable(one.rating):
        low, high = (scale.at(bound) for bound in (min(_bounds(one)), max(_bounds(one))))
        if high > low:
            yield Line(((low, middle), (high, middle)), "accent", 1.6)
            for end, bound in ((low, one.minus), (high, one.plus)):
                if is_drawable(bound):
                    yield Line(((end, middle - 3.5), (end, middle + 3.5)), "accent", 1.6)
        yield Area((diamond(scale.at(one.rating), middle, 4.5),), "accent")
    yield Tooltip(
        0,
        y,
        output.CHART_WIDTH,
        row,
        f"{place + 1}. {clean_text(one.name)}: {_figures(one)}, {format_count(one.games, 'game')}",
    )


def _bounds(one: RatedEngine) -> list[float]:
    """The rating and where its bounds are, of what is a number."""
    if one.rating is None or not is_drawable(one.rating):
        return []
    up = [one.rating + one.plus] if one.plus is not None and is_drawable(one.plus) else []
    down = [one.rating - one.minus] if one.minus is not None and is_drawable(one.minus) else []
    return [*down, one.rating, *up]


def _figures(one: RatedEngine) -> str:
    if one.rating is None or not is_drawable(one.rating):
        return "not rated"
    sides = "".join(
        f" {sign}{_distance(side)}"
        for sign, side in (("+", one.plus), ("-", one.minus))
        if side is not None and is_drawable(side)
    )
    return f"{round(one.rating)}{sides}"


def _distance(side: float) -> str:
    return f"{side:.0f}" if side >= 0.95 else "<1"


def _below(confidence: float | None) -> str:
    return "rating" if confidence is None else f"rating, bars hold {confidence:g} %"


def _summary(rows: Sequence[RatedEngine]) -> str:
    if not rows:
        return "A rating list without engines."
    best = f"{clean_text(rows[0].name)} {_figures(rows[0])}"
    return f"Rating list of {len(rows)} engines, best first: {best}; then {name_list([one.name for one in rows[1:]])}."


# Everybody against everybody as a picture: each cell has the score and a colour by its share.

_FIGURES_UP_TO = 40  # engines: cells still wide enough for a score
_TIPS_UP_TO = 24  # engines: a tip for each cell of more would be most of the file
_WIDEST, _LEAST_CELL = 1200.0, 5  # units of a picture, of a cell
_SHADES = 5  # on either side of half
_SMALL_CELL = 8.0  # units: a gap beside a smaller one would be most of it


@dataclass(frozen=True, slots=True)
class CrossScore:
    """The games of a row's engine against a column's, in half points of the row's."""

    half_points: int
    games: int


_CrossRow = CrossRow[CrossScore]


def crosstable_chart(rows: Sequence[_CrossRow], *, title: str) -> Picture:
    """In the order given, best first. ValueError where a row has not a cell for each."""
    count = len(rows)
    if any(len(row.cells) != count for row in rows):
        raise ValueError("a crosstable is square")
    figures = count <= _FIGURES_UP_TO
    size = TEXT_SIZE if count <= 24 else SMALL_SIZE
    texts = (
        [format_points(met.half_points) for row in rows for met in row.cells if met and met.games] if figures else []
    )
    rank = text_width(str(count), size) + 8
    names = output.name_column_width([row.name for row in rows], 190, size)
    scores = max((text_width(_score(row), size) for row in rows), default=0.0) + 12
    before = ceil(rank + names + 8 + scores)  # whole units are short numbers, thousands of times
    if figures:
        least = max([22.0, *(text_width(text, SMALL_SIZE) + 6 for text in set(texts))])
        cell = max(least, min(34.0, (output.CHART_WIDTH - before) / max(1, count)))
    else:
        cell = float(max(_LEAST_CELL, min(14, (_WIDEST - before) // count)))
    row = max(cell if not figures else 20.0, 13.0)
    top, width = output.HEADING_HEIGHT + output.AXIS_HEIGHT, max(output.CHART_WIDTH / 2, before + cell * count)
    marks = [*output.heading(title, width), *output.row_bands(count, row, top, before)]
    marks += _shades(rows, before, top, cell, row)
    for number, line in enumerate(rows, 1):
        y = top + (number - 1) * row
        base = y + row / 2 + size * 0.36
        marks.append(Label(rank - 8, base, str(number), "muted", size, "end"))
        marks.append(Label(rank, base, output.fit_text(line.name, names, size), size=size))
        marks.append(Label(before - 8, base, _score(line), size=size, anchor="end", bold=True))
        if figures or number % 10 == 0 or number == 1:
            marks.append(Label(before + (number - 0.5) * cell, top - 6, str(number), "muted", SMALL_SIZE, "middle"))
        if figures:
            marks += _cross_figures(line, before, y, cell, row)
        if count <= _TIPS_UP_TO:
            marks += _tips(line, rows, before, y, cell, row)
    if not rows:
        marks.append(output.empty_message("nobody has played", top + 14, width))
    return Picture(clean_text(title), _cross_summary(rows), width, top + row * max(1, count) + 4, tuple(marks))


def _shades(rows: Sequence[_CrossRow], left: float, top: float, cell: float, row: float) -> Iterator[Mark]:
    """One area a shade; where cells have no gaps, neighbours of a row with the same shade are one box."""
    found: dict[tuple[str, float], list[tuple[XY, ...]]] = {}
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
            outline = rectangle(left + over * cell + gap / 2, y, (last - over) * cell - gap, row - gap)
            found.setdefault(look, []).append(outline)
    for (role, alpha), outlines in sorted(found.items()):
        yield Area(tuple(outlines), role, alpha)


def _look(met: CrossScore | None, *, own: bool) -> tuple[str, float] | None:
    """Role and strength of a cell's colour, None for no games; a trace of grey at half, more where nobody meets."""
    if met is None or not met.games:
        return ("grid", 1.0) if own else None
    over = met.half_points - met.games  # half points above half of what could be had
    if not over:
        return "muted", 0.18
    shade = -(-abs(over) * _SHADES // met.games)  # 1 to _SHADES, rounded up
    return "accent" if over > 0 else "accent-2", round(0.1 + (MAX_SHADE - 0.1) * shade / _SHADES, 3)


def _cross_figures(line: _CrossRow, left: float, y: float, cell: float, row: float) -> Iterator[Mark]:
    for over, met in enumerate(line.cells):
        if met is not None and met.games:
            x = left + (over + 0.5) * cell
            yield Label(x, y + row / 2 + SMALL_SIZE * 0.36, format_points(met.half_points), "ink", SMALL_SIZE, "middle")


def _tips(line: _CrossRow, rows: Sequence[_CrossRow], left: float, y: float, cell: float, row: float) -> Iterator[Mark]:
    yield Tooltip(0, y, left, row, f"{clean_text(line.name)}: {_score(line)} of {line.games}")
    for over, met in enumerate(line.cells):
        if met is not None and met.games:
            opponent = clean_text(rows[over].name)
            words = f"{clean_text(line.name)} {format_points(met.half_points)} of {met.games} against {opponent}"
            yield Tooltip(left + over * cell, y, cell, row, words)


def _score(line: _CrossRow) -> str:
    return format_points(line.half_points)


def _cross_summary(rows: Sequence[_CrossRow]) -> str:
    if not rows:
        return "A crosstable without engines."
    first = rows[0]
    return (
        f"Crosstable of {len(rows)} engines: {clean_text(first.name)} has {_score(first)} of {first.games}; "
        f"then {name_list([row.name for row in rows[1:]])}."
    )


# An engine against its opponents: its score by their ratings, beside what its own rating would expect.

_WIDTH, _HEIGHT = 460.0, 200.0  # units: a small picture beside tables
_STEPS = 24  # pieces of the expected curve


@dataclass(frozen=True, slots=True)
class OpponentScore:
    """All games against one opponent, in half points of the engine's; `rating` None where it has none."""

    name: str
    rating: float | None
    half_points: int
    games: int


def score_by_rating_chart(rating: float | None, faced: Sequence[OpponentScore], *, title: str) -> Picture:
    """Opponents without a rating or a game are left out, and said to be; points grow with games, up to six."""
    there = [one for one in faced if one.rating is not None and is_drawable(one.rating) and one.games]
    left, right, top = 46.0, _WIDTH - 10, output.HEADING_HEIGHT
    bottom = top + _HEIGHT
    own = rating if rating is not None and is_drawable(rating) else None
    xs = linear_scale([*(one.rating for one in there), own], left, right, least=100.0)
    ys = Scale(-0.04, 1.04, bottom, top)
    marks: list[Mark] = [*output.heading(title, _WIDTH), *output.y_axis(ys, left, right, say=_percent)]
    marks += output.x_axis(xs, top, bottom, "rating of the opponent", grid=False)
    if own is not None:
        marks.append(Line(tuple(_expected(own, xs, ys)), "muted", 1.4, (6.0, 3.0)))
    for one in there:
        share = one.half_points / (2 * one.games)
        x, y = xs.at(one.rating or 0.0), ys.at(share)
        marks.append(Area((diamond(x, y, 2.5 + min(6, one.games) / 2),), "accent", 0.8))
        marks.append(
            Tooltip(
                x - 8,
                y - 8,
                16,
                16,
                f"{clean_text(one.name)} ({one.rating:.0f}): {format_points(one.half_points)} of {one.games}",
            )
        )
    if not there:
        marks = [
            *output.heading(title, _WIDTH),
            output.empty_message("no opponent with a rating", (top + bottom) / 2, _WIDTH),
        ]
    apart = len(faced) - len(there)
    summary = f"Score against {len(there)} rated opponents by their ratings" + (
        f"; {apart} without one." if apart else "."
    )
    return Picture(clean_text(title), summary, _WIDTH, bottom + 36, tuple(marks))


def _expected(own: float, xs: Scale, ys: Scale) -> Iterator[tuple[float, float]]:
    """What the logistic model expects of the engine along the axis."""
    for step in range(_STEPS + 1):
        rating = xs.low + (xs.high - xs.low) * step / _STEPS
        yield xs.at(rating), ys.at(1 / (1 + 10 ** ((rating - own) / ELO_SCALE)))


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
