"""Charts of ratings, scores and places over time, and of the fairness of a tournament."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import ceil, log10
from typing import TYPE_CHECKING

from enginetour.reports.charts import output
from enginetour.reports.charts.canvas import (
    SERIES_ROLES,
    SMALL_SIZE,
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
    format_count_tick,
    format_tick,
    is_drawable,
    linear_scale,
    name_list,
    rectangle,
    series_role,
)
from enginetour.reports.sheet import format_points

if TYPE_CHECKING:
    from enginetour.reports.review.fairness import WhiteShare

# Curves. Each curve ends with its name in its color. The ninth curve has the color of the first one and is dashed.

_MAX_CURVES = 16  # curves; two of each color
_HEIGHT = 300.0  # units
_APART, _DASH = 14.0, (6.0, 3.0)  # units; minimum distance of two names, lengths of dash and gap
_EACH = 25  # points; if a curve has more points, they are not drawn as symbols
_LONGEST = 1200  # points; of a curve with more points, only some are drawn


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a curve. `x` is the number of an edition or game; `low` and `high` are the ends of the interval."""

    x: float
    y: float | None
    low: float | None = None
    high: float | None = None
    tooltip: str = ""


@dataclass(frozen=True, slots=True)
class Curve:
    """The curve of an engine over time."""

    name: str
    points: tuple[Point, ...]


def curve_chart(
    lines: Sequence[Curve],
    *,
    title: str,
    below: str = "edition",
    say_y: Callable[[float], str] = format_tick,
    level: float | None = None,
    least: float = 20.0,
    width: float = output.CHART_WIDTH,
) -> Picture:
    """Return the chart of the first `_MAX_CURVES` curves. `below` is the label of the x axis, for example of a game.

    `level` is the y value of an additional horizontal line. `least` is the smallest span of the y axis.
    """
    shown = [Curve(line.name, _drawable(line.points)) for line in lines[:_MAX_CURVES]]
    names = [line.name for line in shown]
    column, line_height = output.name_space(names, width, SMALL_SIZE, share=0.36)
    legend = 40.0 if line_height else max(0.2 * width, column + 20)
    places = [point for line in shown for point in line.points]
    top, bottom = output.HEADING_HEIGHT, output.HEADING_HEIGHT + _HEIGHT
    ends = [value for point in places for value in (point.y, point.low, point.high)]
    ys = linear_scale([*ends, level], bottom, top, least=least)
    left, right = output.y_axis_width(ys, say_y), width - legend
    xs = linear_scale((point.x for point in places), left, right, least=1.0)
    marks: list[Mark] = [*output.y_axis(ys, left, right, say=say_y)]
    marks += output.x_axis(xs, top, bottom, below, grid=False, say=format_count_tick)
    if level is not None:
        marks.append(Line(((left, ys.at(level)), (right, ys.at(level))), "muted", 1.2))
    each = all(len(line.points) <= _EACH for line in shown)
    for place, line in enumerate(shown):
        marks += _curve(line, place, xs, ys, single=len(shown) == 1, each=each)
    if line_height:
        names = [str(number) for number in range(1, len(shown) + 1)]
    marks += _names(shown, names, ys, right, legend - 16, top, bottom)
    height = bottom + 36
    for place, line in enumerate(shown if line_height else ()):  # the names below the chart
        height += line_height
        text = output.fit_text(line.name, width - 24, SMALL_SIZE)
        marks.append(Label(18, height, names[place], series_role(place), SMALL_SIZE, "end"))
        marks.append(Label(24, height, text, series_role(place), SMALL_SIZE))
    if len(lines) > _MAX_CURVES:
        x, y = (24.0, height + 13) if line_height else (right + 12, bottom + 13)
        marks.append(Label(x, y, f"and {len(lines) - _MAX_CURVES} more", "muted", SMALL_SIZE))
        height = max(height, y)
    if not places:
        marks = [output.empty_message("no data yet", (top + bottom) / 2, width)]
    return output.framed(title, _summary(shown, len(lines)), width, height + 4 * bool(line_height), marks)


def _drawable(points: Sequence[Point]) -> tuple[Point, ...]:
    """Return the drawable points. If there are very many, return every n-th point and the last point."""
    there = [point for point in points if is_drawable(point.x) and is_drawable(point.y)]
    every = -(-len(there) // _LONGEST) or 1
    return tuple(point for place, point in enumerate(there) if place % every == 0 or place == len(there) - 1)


def _curve(line: Curve, place: int, xs: Scale, ys: Scale, *, single: bool, each: bool) -> Iterator[Mark]:
    role = series_role(place)
    spots: list[XY] = [(xs.at(point.x), ys.at(point.y or 0.0)) for point in line.points]
    if not spots:
        return
    bounded = [point for point in line.points if is_drawable(point.low) and is_drawable(point.high)]
    if len(bounded) > 1 and single:  # the bands of several curves would hide each other
        upper = [(xs.at(point.x), ys.at(point.high or 0.0)) for point in bounded]
        lower = [(xs.at(point.x), ys.at(point.low or 0.0)) for point in bounded]
        yield Area(((*upper, *reversed(lower)),), role, 0.18)
    yield Line(tuple(spots), role, 1.8, () if place < len(SERIES_ROLES) else _DASH)
    if spots[-1][0] < xs.end - 12:  # connect a curve that ends early with its name
        yield Line((spots[-1], (xs.end, spots[-1][1])), role, 1.0, (1.0, 3.0), 0.7)
    if each:
        yield Area(tuple(diamond(x, y, 3.2) for x, y in spots), role)
        for point, (x, y) in zip(line.points, spots, strict=True):
            yield Tooltip(
                x - 7, y - 7, 14, 14, f"{clean_text(line.name)}: {point.tooltip or format_tick(point.y or 0.0)}"
            )


def _names(
    lines: Sequence[Curve], names: Sequence[str], ys: Scale, right: float, room: float, top: float, bottom: float
) -> Iterator[Mark]:
    """Yield `names`, one for each curve, next to the ends of the curves. Names that would overlap are moved apart."""
    ends = sorted((ys.at(line.points[-1].y or 0.0), place) for place, line in enumerate(lines) if line.points)
    low = top + 4
    heights = []
    for place_from_top, (y, _) in enumerate(ends):
        low = max(low, min(y, bottom - (len(ends) - 1 - place_from_top) * _APART))
        heights.append(low)
        low += _APART
    for (y, place), height in zip(ends, heights, strict=True):
        role = series_role(place)
        yield Line(((right + 3, y), (right + 12, height)), role, 1.0, () if place < len(SERIES_ROLES) else _DASH)
        yield Label(right + 16, height + 3.5, output.fit_text(names[place], room, SMALL_SIZE), role, SMALL_SIZE)


def _summary(lines: Sequence[Curve], count: int) -> str:
    there = [line for line in lines if line.points]
    if not there:
        return "No data yet."
    points = max(len(line.points) for line in there)
    return f"{count} curve{'s' * (count != 1)} of up to {points} points: {name_list([line.name for line in there], 8)}."


def edition_point(edition: int, rating: float, plus: float | None, minus: float | None, games: int) -> Point:
    """Return the point of a rating in an edition. `plus` and `minus` are the distances to the ends of the interval."""
    sides = [
        f" {sign}{side:.0f}" for sign, side in (("+", plus), ("-", minus)) if side is not None and is_drawable(side)
    ]
    tooltip = f"edition {edition}: {rating:.0f}{''.join(sides)}, {games:,} games" if is_drawable(rating) else ""
    low, high = None if minus is None else rating - minus, None if plus is None else rating + plus
    return Point(edition, rating, low, high, tooltip)


def score_chart(results: Mapping[str, Sequence[int]], *, title: str, width: float = output.CHART_WIDTH) -> Picture:
    """Return the chart of each engine's points above 50 % after each game. `results` are half points of each game."""
    return curve_chart(
        [Curve(name, _over_half(points)) for name, points in results.items()],
        title=title,
        below="games of the engine (y axis: points above 50 %)",
        say_y=lambda value: f"{value:+g}" if value else "0",
        level=0.0,
        least=4.0,
        width=width,
    )


def _over_half(results: Sequence[int]) -> tuple[Point, ...]:
    over, found = 0, [Point(0, 0.0, tooltip="before its first game")]
    for nth, half in enumerate(results, 1):
        over += half - 1
        sign = "+" if over > 0 else "-" if over < 0 else "±"
        tooltip = f"after game {nth}: {sign}{format_points(abs(over))}"
        found.append(Point(nth, over / 2, tooltip=tooltip))
    return tuple(found)


# Fairness.

_ROW, _SHARE_HEIGHT = 20.0, 170.0  # units; height of a row, height of a chart of measurements
_BINS = 30  # number of bars of a distribution
_LARGEST_LOAD = 1000  # points of one color; of more points, only some are drawn


def white_share_chart(
    rows: Sequence[tuple[str, WhiteShare]], *, title: str, width: float = output.CHART_WIDTH
) -> Picture:
    """Return the chart of White's share, with the rows in the given order and a line at one half."""
    names = output.name_column_width([name for name, _ in rows], width / 3)
    right = width - 130
    ends = [end for _, share in rows for end in _ends(share)]
    reach = max([0.1, *(abs(end - 0.5) for end in ends)])
    scale = Scale(max(0.0, 0.5 - reach), min(1.0, 0.5 + reach), names + 16, right)
    top, bottom = output.HEADING_HEIGHT, output.HEADING_HEIGHT + _ROW * max(1, len(rows))
    marks: list[Mark] = [*output.row_bands(len(rows), _ROW, top, width)]
    marks += output.x_axis(scale, top, bottom, "White's share with 95 % confidence interval", say=_percent)
    marks.append(Line(((scale.at(0.5), top), (scale.at(0.5), bottom)), "muted", 1.2))
    for place, (name, one) in enumerate(rows):
        y, text = top + (place + 0.5) * _ROW, _format_share(one)
        marks.append(Label(0, y + 4, output.fit_text(name, names)))
        marks.append(Label(width - 4, y + 4, text, anchor="end"))
        if one.share is not None:
            low, high = scale.within(min(_ends(one))), scale.within(max(_ends(one)))
            marks += [Line(((low, y), (high, y)), "accent", 1.6)] if high > low else []
            marks.append(Area((diamond(scale.at(one.share), y, 4.5),), "accent"))
        marks.append(Tooltip(0, y - _ROW / 2, width, _ROW, f"{clean_text(name)}: {text}"))
    if not rows:
        marks.append(output.empty_message("no games yet", top + 14, width))
    first = f"{clean_text(rows[0][0])} {_format_share(rows[0][1])}" if rows else "no games"
    summary = f"White's share of the points: {first}."
    return output.framed(title, summary, width, bottom + 36, marks)


def histogram(values: Sequence[float], *, title: str, unit: str, width: float = output.CHART_WIDTH) -> Picture:
    """Return the chart of the distribution of the values above 0, with a logarithmic scale."""
    there = sorted(value for value in values if is_drawable(value) and value > 0)
    left, right, top = 46.0, width - 10, output.HEADING_HEIGHT
    bottom = top + _SHARE_HEIGHT
    low, high = (there[0], there[-1]) if there else (1.0, 10.0)
    if high < low * 10:  # show at least one decade
        middle = (low * high) ** 0.5
        low, high = middle / 10**0.5, middle * 10**0.5
    scale = Scale(low / 1.05, high * 1.05, left, right, log=True)

    def bar(value: float) -> int:
        return int((scale.at(value) - left) / (right - left) * _BINS)

    firsts = [bisect_left(there, number, key=bar) for number in range(_BINS)]
    counts = [after - first for first, after in pairwise([*firsts, len(there)])]
    heights = Scale(0, max(1, *counts), bottom, top)
    marks: list[Mark] = [*output.y_axis(heights, left, right, say=format_count_tick)]
    marks += output.x_axis(scale, top, bottom, f"{unit}; {_quantiles(there)}", grid=False)
    wide = (right - left) / _BINS
    for place, count in enumerate(counts):
        if count:
            y, x = heights.at(count), left + place * wide
            marks.append(Area((rectangle(x + 0.5, y, wide - 1, bottom - y),), "accent"))
            ends = (
                10 ** (log10(scale.low) + (place + side) / _BINS * log10(scale.high / scale.low)) for side in (0, 1)
            )
            marks.append(Tooltip(x, top, wide, bottom - top, f"{' to '.join(map(_size, ends))} {unit}: {count}"))
    if not there:
        marks = [output.empty_message("no measurements", (top + bottom) / 2, width)]
    summary = f"Distribution of {len(there)} values in {unit}: {_quantiles(there)}."
    return output.framed(title, summary, width, bottom + 36, marks)


def load_chart(
    values: Sequence[tuple[float, float]], *, title: str, cores: int | None, width: float = output.CHART_WIDTH
) -> Picture:
    """Return the chart of the machine's load after each game. `values` are (number of the game, load).

    A line shows the number of processors (`cores`), above which clocks are unreliable. `cores` is None if it is unknown
    or not the same for all games.
    """
    there = [(game, value) for game, value in values if is_drawable(game) and is_drawable(value)]
    left, right, top = 46.0, width - 10, output.HEADING_HEIGHT
    bottom = top + _SHARE_HEIGHT
    xs = Scale(min((x for x, _ in there), default=0) - 1, max((x for x, _ in there), default=1) + 1, left, right)
    highest = max([cores or 0, *(value for _, value in there)])
    ys = Scale(0, max(1.0, highest * 1.1), bottom, top)
    marks: list[Mark] = [*output.y_axis(ys, left, right)]
    below = "game" if cores is None else f"game (dashed line: {cores} processors)"
    marks += output.x_axis(xs, top, bottom, below, grid=False, say=format_count_tick)
    if cores is not None:
        y = ys.at(cores)
        marks.append(Line(((left, y), (right, y)), "accent-2", 1.2, (6.0, 3.0)))
    most = highest if cores is None else cores
    above = [spot for spot in there if spot[1] > most]
    for role, spots in (("accent", [spot for spot in there if spot[1] <= most]), ("accent-2", above)):
        if spots:
            few = spots[:: -(-len(spots) // _LARGEST_LOAD)]
            marks.append(Area(tuple(diamond(xs.at(x), ys.at(value), 2.8) for x, value in few), role))
    if not there:
        marks = [output.empty_message("no measurements", (top + bottom) / 2, width)]
    busy = "" if cores is None else f"; after {len(above)} of them it was higher than the number of processors"
    summary = f"Load of the machine after {len(there)} games{busy}."
    return output.framed(title, summary, width, bottom + 36, marks)


def _ends(one: WhiteShare) -> list[float]:
    """Return the share and the ends of the interval, as far as they are finite."""
    if one.share is None:
        return []
    error = one.error if one.error is not None and is_drawable(one.error) else 0.0
    return [one.share - error, one.share, one.share + error]


def _format_share(one: WhiteShare) -> str:
    if one.share is None:
        return "no games"
    error = f" ± {100 * one.error:.1f}" if one.error is not None and is_drawable(one.error) else ""
    return f"{100 * one.share:.1f}{error} %, n = {one.games}"


def quantile(ordered: Sequence[float], share: float) -> float:
    """Return the smallest of the ordered values for which at least `share` of the values are not larger."""
    return ordered[max(0, ceil(share * len(ordered)) - 1)]


def _percent(value: float) -> str:
    return f"{100 * value:.3g} %"


def _quantiles(there: Sequence[float]) -> str:
    if not there:
        return "no values"
    half, most = quantile(there, 0.5), quantile(there, 0.99)
    return f"median {_size(half)}, 99 % up to {_size(most)}, maximum {_size(there[-1])}"


def _size(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


# A league.

_PLACE = 15.0  # units; height of a place
_WIDEST_STEP = 150.0  # units; largest distance of two seasons
_LEAST_STEP = 26.0  # units; smallest distance: if there are more seasons, the chart shows the newest ones
_DOT = 2.6  # units


def movement_chart(
    divisions: Sequence[tuple[str, int]],
    places: Mapping[str, Mapping[int, int]],
    seasons: Sequence[int],
    *,
    title: str,
    width: float = output.CHART_WIDTH,
) -> Picture:
    """Return the chart of a league: the place of each engine in each season, with a line for each engine.

    `divisions` has the names and sizes of the divisions of the newest season, from top to bottom. `places` has the
    place of each engine in the league by season, and `seasons` the numbers of all seasons, the oldest first.
    """
    last = seasons[-1]
    left = output.text_width("000", SMALL_SIZE) + 6
    names = [name for name, own in places.items() if last in own]
    right = output.name_column_width(names, 0.42 * width, SMALL_SIZE) + 14
    room = width - left - right
    shown = list(seasons)[-max(2, int(room / _LEAST_STEP) + 1) :]
    end = left + min(room, _WIDEST_STEP * (len(shown) - 1))
    scale = Scale(shown[0], max(shown[0] + 1, last), left, end if len(shown) > 1 else left + 1)
    most = max((place for own in places.values() for number, place in own.items() if number in shown), default=1)
    top = output.HEADING_HEIGHT + output.AXIS_HEIGHT
    marks = [*_division_bands(divisions, top, width)]
    for number in shown:
        x = scale.at(number)
        marks.append(Label(x, top - 6, str(number), "muted", SMALL_SIZE, "middle"))
        marks.append(Line(((x, top), (x, top + most * _PLACE)), "grid"))
    if output.text_width("season", SMALL_SIZE) + 12 < left + right:
        marks.append(Label(scale.end + 14, top - 6, "season", "muted", SMALL_SIZE))
    order = sorted(places, key=lambda name: places[name].get(last, most + 1))
    for nth, name in enumerate(order):
        marks += _places(name, places[name], shown, scale, top, series_role(nth))
        if last in places[name]:
            y = top + (places[name][last] - 0.5) * _PLACE + SMALL_SIZE * 0.36
            marks.append(Label(left - 8, y, str(places[name][last]), "muted", SMALL_SIZE, "end"))
            shown_name = output.fit_text(name, right - 12, SMALL_SIZE)
            marks.append(Label(scale.end + 10, y, shown_name, "ink", SMALL_SIZE))
    best = ", ".join(map(clean_text, order[:3]))
    summary = f"Places of {len(order)} engines in seasons {shown[0]} to {last}. First places now: {best}."
    return output.framed(title, summary, width, top + most * _PLACE + 8, marks)


def _division_bands(divisions: Sequence[tuple[str, int]], top: float, width: float) -> Iterator[Mark]:
    """Yield a shade for every second division, and a line at each border."""
    ends = [*accumulate(size for _, size in divisions)]
    for number, ((name, size), end) in enumerate(zip(divisions, ends, strict=True)):
        y = top + (end - size) * _PLACE
        if number % 2:
            yield Area((rectangle(0, y, width, size * _PLACE),), "grid", 0.35)
        yield Tooltip(0, y, 4, size * _PLACE, clean_text(name))


def _places(
    name: str, own: Mapping[int, int], seasons: Sequence[int], scale: Scale, top: float, role: str
) -> Iterator[Mark]:
    """Yield the line of an engine, with a gap for seasons without a place."""
    run: list[tuple[float, float]] = []
    before = None
    for number in seasons:
        place = own.get(number)
        if place is not None:
            spot = scale.at(number), top + (place - 0.5) * _PLACE
            run.append(spot)
            yield Area((diamond(*spot, _DOT),), role)
            change = "" if before is None else f" ({before - place:+d})" if before != place else " (same)"
            tip = f"{clean_text(name)}, season {number}: place {place}{change}"
            yield Tooltip(spot[0] - 8, spot[1] - _PLACE / 2, 16, _PLACE, tip)
        if place is None or number == seasons[-1]:
            if len(run) > 1:
                yield Line(tuple(run), role, 1.6)
            run = []
        before = place
