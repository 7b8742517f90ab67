"""Chart of a league: the place of each engine in each season, with a line for each engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from enginetour.reports.charts import output
from enginetour.reports.charts.canvas import (
    SMALL_SIZE,
    Area,
    Label,
    Line,
    Mark,
    Picture,
    Scale,
    Tooltip,
    clean_text,
    diamond,
    rectangle,
    series_role,
)
from enginetour.reports.charts.output import text_width

_ROW = 15.0  # units; height of a place
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
    """Return the chart.

    Args:
        divisions: names and sizes of the divisions of the newest season, from top to bottom.
        places: the place of each engine in the league by season.
        seasons: numbers of all seasons, the oldest first.
        title: title of the chart.
        width: width in units.
    """
    last = seasons[-1]
    left = text_width("000", SMALL_SIZE) + 6
    names = [name for name, own in places.items() if last in own]
    right = output.name_column_width(names, 0.42 * width, SMALL_SIZE) + 14
    room = width - left - right
    shown = list(seasons)[-max(2, int(room / _LEAST_STEP) + 1) :]
    end = left + min(room, _WIDEST_STEP * (len(shown) - 1))
    scale = Scale(shown[0], max(shown[0] + 1, last), left, end if len(shown) > 1 else left + 1)
    most = max((place for own in places.values() for number, place in own.items() if number in shown), default=1)
    top = output.HEADING_HEIGHT + output.AXIS_HEIGHT
    marks = [*output.heading(title, width), *_bands(divisions, top, width)]
    for number in shown:
        x = scale.at(number)
        marks.append(Label(x, top - 6, str(number), "muted", SMALL_SIZE, "middle"))
        marks.append(Line(((x, top), (x, top + most * _ROW)), "grid"))
    if text_width("season", SMALL_SIZE) + 12 < left + right:
        marks.append(Label(scale.end + 14, top - 6, "season", "muted", SMALL_SIZE))
    order = sorted(places, key=lambda name: places[name].get(last, most + 1))
    for nth, name in enumerate(order):
        marks += _engine(name, places[name], shown, scale, top, series_role(nth))
        if last in places[name]:
            y = top + (places[name][last] - 0.5) * _ROW + SMALL_SIZE * 0.36
            marks.append(Label(left - 8, y, str(places[name][last]), "muted", SMALL_SIZE, "end"))
            shown_name = output.fit_text(name, right - 12, SMALL_SIZE)
            marks.append(Label(scale.end + 10, y, shown_name, "ink", SMALL_SIZE))
    best = ", ".join(map(clean_text, order[:3]))
    summary = f"Places of {len(order)} engines in seasons {shown[0]} to {last}. First places now: {best}."
    return Picture(clean_text(title), summary, width, top + most * _ROW + 8, tuple(marks))


def _bands(divisions: Sequence[tuple[str, int]], top: float, width: float) -> Iterator[Mark]:
    """Yield a shade for every second division, and a line at each border."""
    ends = [*accumulate(size for _, size in divisions)]
    for number, ((name, size), end) in enumerate(zip(divisions, ends, strict=True)):
        y = top + (end - size) * _ROW
        if number % 2:
            yield Area((rectangle(0, y, width, size * _ROW),), "grid", 0.35)
        yield Tooltip(0, y, 4, size * _ROW, clean_text(name))


def _engine(
    name: str, own: Mapping[int, int], seasons: Sequence[int], scale: Scale, top: float, role: str
) -> Iterator[Mark]:
    """Yield the line of an engine, with a gap for seasons without a place."""
    run: list[tuple[float, float]] = []
    before = None
    for number in seasons:
        place = own.get(number)
        if place is not None:
            spot = scale.at(number), top + (place - 0.5) * _ROW
            run.append(spot)
            yield Area((diamond(*spot, _DOT),), role)
            change = "" if before is None else f" ({before - place:+d})" if before != place else " (same)"
            tip = f"{clean_text(name)}, season {number}: place {place}{change}"
            yield Tooltip(spot[0] - 8, spot[1] - _ROW / 2, 16, _ROW, tip)
        if place is None or number == seasons[-1]:
            if len(run) > 1:
                yield Line(tuple(run), role, 1.6)
            run = []
        before = place
