"""Charts of a rating list, of a crosstable, and of one engine against its opponents.

Scores above one half are blue, scores below one half are orange, and both are paler near one half. People with
red-green blindness can distinguish these colors. Crosstables that are too large for numbers only have colors, which
also show which engines have played each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from enginetour.model.errors import UsageRefused
from enginetour.ratings.pentanomial import ELO_SCALE
from enginetour.ratings.ratinglist import RatingList, Row
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

if TYPE_CHECKING:
    from enginetour.formats.pairing.standings import CrossRow
    from enginetour.reports.html.tables import CrossGames

    _CrossRow = CrossRow[CrossGames]

# Rating list: a point and a confidence interval for each engine.

MAX_ENGINES = 200  # engines; a chart with more engines is not readable
_ROW, _CLOSE_ROW, _MANY = 20.0, 15.0, 60  # units: height of a row, height in a long list; engines: limit of a long list
_LEAST_SPAN = 20.0  # Elo; with a smaller span, tiny differences would seem large


def largest_pool(found: RatingList) -> list[Row]:
    """Return the rows of the first pool, which is the largest. Ratings of different pools cannot be compared."""
    return [row for row in found.rows if row.pool == 1]


def list_chart(found: RatingList, title: str) -> Picture:
    """Return the chart of a list. Raise UsageRefused if no engine is rated."""
    if not found.rows:
        raise UsageRefused("no engine is rated, so there is nothing to draw", place=title)
    bounded = any(row.error is not None for row in found.rows)
    return rating_chart(largest_pool(found), title=title, confidence=95.0 if bounded else None)


def rating_chart(
    rows: Sequence[Row],
    *,
    title: str,
    confidence: float | None = 95.0,
    width: float = output.CHART_WIDTH,
) -> Picture:
    """Return the chart of the first `MAX_ENGINES` engines in the given order.

    `confidence` is the confidence level of the intervals in %, or None for a system without intervals. `width` is in
    units.
    """
    rows, more = rows[:MAX_ENGINES], max(0, len(rows) - MAX_ENGINES)
    size, row = (TEXT_SIZE, _ROW) if len(rows) <= _MANY else (SMALL_SIZE, _CLOSE_ROW)
    rank = text_width(str(len(rows)), size) + 8
    names, line = output.name_space([one.name for one in rows], width, size)
    row += line
    figures = max((text_width(_figures(one), size) for one in rows), default=0.0)
    top = output.HEADING_HEIGHT + output.AXIS_HEIGHT
    bottom = top + row * max(1, len(rows))
    ends = [bound for one in rows for bound in _bounds(one)]
    scale = linear_scale(ends, rank + names + 16, width - figures - 14, least=_LEAST_SPAN)
    marks: list[Mark] = [*output.row_bands(len(rows), row, top, width)]
    below = "rating" if confidence is None else f"rating with {confidence:g} % confidence intervals"
    marks += output.x_axis(scale, top, bottom, below, above=True)
    for place, one in enumerate(rows):
        y = top + place * row
        middle, base = y + (row + line) / 2, y + (line or row) / 2 + size * 0.36
        text = f"{one.rank}. {clean_text(one.name)}: {_figures(one)}, {format_count(one.games, 'game')}"
        marks.append(Label(rank - 8, base, str(one.rank), "muted", size, "end"))
        marks.append(Label(rank, base, output.fit_text(one.name, names or width - rank, size), size=size))
        marks.append(Label(width - 4, middle + size * 0.36, _figures(one), size=size, anchor="end"))
        marks += _interval(one, middle, scale)
        marks.append(Tooltip(0, y, width, row, text))
    if not rows:
        marks.append(output.empty_message("no engine is rated", top + 14, width))
    if more:
        marks.append(Label(rank, bottom + 28, f"and {more:,} more", "muted", SMALL_SIZE))
    return output.framed(title, _summary(rows), width, bottom + 36, marks)


def _interval(one: Row, y: float, scale: Scale) -> Iterator[Mark]:
    if not is_drawable(one.rating):
        return
    low, high = (scale.at(bound) for bound in (min(_bounds(one)), max(_bounds(one))))
    if high > low:
        yield Line(((low, y), (high, y)), "accent", 1.6)
        for end, bound in ((low, one.minus), (high, one.plus)):
            if is_drawable(bound):
                yield Line(((end, y - 3.5), (end, y + 3.5)), "accent", 1.6)
    yield Area((diamond(scale.at(one.rating), y, 4.5),), "accent")


def _bounds(one: Row) -> list[float]:
    """Return the rating and the ends of the interval, as far as they are finite."""
    if not is_drawable(one.rating):
        return []
    up = [one.rating + one.plus] if one.plus is not None and is_drawable(one.plus) else []
    down = [one.rating - one.minus] if one.minus is not None and is_drawable(one.minus) else []
    return [*down, one.rating, *up]


def _figures(one: Row) -> str:
    if not is_drawable(one.rating):
        return "not rated"
    sides = "".join(
        f" {sign}{_distance(side)}"
        for sign, side in (("+", one.plus), ("-", one.minus))
        if side is not None and is_drawable(side)
    )
    return f"{round(one.rating)}{sides}"


def _distance(side: float) -> str:
    return f"{side:.0f}" if side >= 0.95 else "<1"


def _summary(rows: Sequence[Row]) -> str:
    if not rows:
        return "A rating list without engines."
    best = f"{clean_text(rows[0].name)} {_figures(rows[0])}"
    return f"Rating list of {len(rows)} engines, best first: {best}; then {name_list([one.name for one in rows[1:]])}."


# Crosstable: each cell contains the score, and its color depends on the share of the points.

_FIGURES_UP_TO = 40  # engines; with more engines, cells are too narrow for a score
_TIPS_UP_TO = 24  # engines; with more engines, the tooltips would be most of the file
_WIDEST, _LEAST_CELL = 1200.0, 5  # units; maximum width of the chart, minimum width of a cell
_SHADES = 5  # number of shades above one half, and the same number below
_SMALL_CELL = 8.0  # units; between smaller cells there are no gaps


def crosstable_chart(rows: Sequence[_CrossRow], *, title: str) -> Picture:
    """Return the crosstable in the given order. Raise ValueError if a row does not have a cell for each engine."""
    count = len(rows)
    if any(len(row.cells) != count for row in rows):
        raise ValueError("each row of a crosstable must have a cell for each engine")
    figures = count <= _FIGURES_UP_TO
    size = TEXT_SIZE if count <= 24 else SMALL_SIZE
    texts = (
        [format_points(met.half_points) for row in rows for met in row.cells if met and met.games] if figures else []
    )
    rank = text_width(str(count), size) + 8
    names = output.name_column_width([row.name for row in rows], 290, size)
    scores = max((text_width(_score(row), size) for row in rows), default=0.0) + 12
    before = ceil(rank + names + 8 + scores)  # rounded, because short numbers make the file smaller
    if figures:
        least = max([22.0, *(text_width(text, SMALL_SIZE) + 6 for text in set(texts))])
        cell = max(least, min(34.0, (output.CHART_WIDTH - before) / max(1, count)))
    else:
        cell = float(max(_LEAST_CELL, min(14, (_WIDEST - before) // count)))
    row = max(cell if not figures else 20.0, 13.0)
    top, width = output.HEADING_HEIGHT + output.AXIS_HEIGHT, max(output.CHART_WIDTH / 2, before + cell * count)
    marks = [*output.row_bands(count, row, top, before)]
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
        marks.append(output.empty_message("no games yet", top + 14, width))
    return output.framed(title, _cross_summary(rows), width, top + row * max(1, count) + 4, marks)


def _shades(rows: Sequence[_CrossRow], left: float, top: float, cell: float, row: float) -> Iterator[Mark]:
    """Yield one area for each shade. If there are no gaps, adjacent cells with the same shade form one rectangle."""
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


def _look(met: CrossGames | None, *, own: bool) -> tuple[str, float] | None:
    """Return the role and the opacity of the color of a cell, or None without games. An even score is gray."""
    if met is None or not met.games:
        return ("grid", 1.0) if own else None
    over = met.half_points - len(met.games)  # half points above one half of the possible points
    if not over:
        return "muted", 0.18
    shade = -(-abs(over) * _SHADES // len(met.games))  # 1 to _SHADES, rounded up
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
            text = f"{clean_text(line.name)} {format_points(met.half_points)} of {len(met.games)} against {opponent}"
            yield Tooltip(left + over * cell, y, cell, row, text)


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


# One engine against its opponents: its scores by the opponents' ratings, and the expected score from its own rating.

_WIDTH, _HEIGHT = 360.0, 180.0  # units; small enough for a phone
_STEPS = 24  # number of segments of the curve of the expected score


@dataclass(frozen=True, slots=True)
class OpponentScore:
    """The result of all games against one opponent. `half_points` are those of the engine."""

    name: str
    rating: float | None
    half_points: int
    games: int


def score_by_rating_chart(rating: float | None, faced: Sequence[OpponentScore], *, title: str) -> Picture:
    """Return the chart of the scores by rating. Opponents without a rating or without games are omitted.

    The size of a point increases with the number of games, up to six.
    """
    there = [one for one in faced if one.rating is not None and is_drawable(one.rating) and one.games]
    left, right, top = 46.0, _WIDTH - 10, output.HEADING_HEIGHT
    bottom = top + _HEIGHT
    own = rating if rating is not None and is_drawable(rating) else None
    xs = linear_scale([*(one.rating for one in there), own], left, right, least=100.0)
    ys = Scale(-0.04, 1.04, bottom, top)
    marks: list[Mark] = [*output.y_axis(ys, left, right, say=_percent)]
    marks += output.x_axis(xs, top, bottom, "rating of the opponent", grid=False)
    if own is not None:
        marks.append(Line(tuple(_expected(own, xs, ys)), "muted", 1.4, (6.0, 3.0)))
    for one in there:
        share = one.half_points / (2 * one.games)
        x, y = xs.at(one.rating or 0.0), ys.at(share)
        marks.append(Area((diamond(x, y, 2.5 + min(6, one.games) / 2),), "accent", 0.8))
        text = f"{clean_text(one.name)} ({one.rating:.0f}): {format_points(one.half_points)} of {one.games}"
        marks.append(Tooltip(x - 8, y - 8, 16, 16, text))
    if not there:
        marks = [output.empty_message("no opponent with a rating", (top + bottom) / 2, _WIDTH)]
    apart = len(faced) - len(there)
    summary = f"Score against {len(there)} rated opponents by their ratings" + (
        f"; {apart} opponents without a rating or games are not shown." if apart else "."
    )
    return output.framed(title, summary, _WIDTH, bottom + 36, marks)


def _expected(own: float, xs: Scale, ys: Scale) -> Iterator[tuple[float, float]]:
    """Yield the expected score of the logistic model along the axis."""
    for step in range(_STEPS + 1):
        rating = xs.low + (xs.high - xs.low) * step / _STEPS
        yield xs.at(rating), ys.at(1 / (1 + 10 ** ((rating - own) / ELO_SCALE)))


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
