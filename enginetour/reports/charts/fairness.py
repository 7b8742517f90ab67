"""Was it fair: White's share of the points, how long answers lay at the referee, how busy the machine was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log10

from enginetour.reports.charts import frame
from enginetour.reports.charts.marks import (
    Area,
    Line,
    Mark,
    Picture,
    Tip,
    Words,
    box,
    diamond,
    finite,
    told,
)
from enginetour.reports.charts.scales import Scale, counting, whole

_ROW, _HEIGHT = 20.0, 170.0  # units
_BINS = 30  # bars of a distribution
_LARGEST_LOAD = 1000  # places of one colour: more than a picture has units are thinned


@dataclass(frozen=True, slots=True)
class Share:
    """White's share of the points, 0 to 1, in some games; `error` is the distance to its bounds, None for too few."""

    name: str
    share: float | None
    error: float | None
    games: int


def white_share(rows: Sequence[Share], *, title: str) -> Picture:
    """A line for all games, for openings, or for engines; in the order given, a stroke at one half."""
    names = frame.names_width([row.name for row in rows], 240)
    right = frame.WIDTH - 130
    ends = [end for row in rows for end in _ends(row)]
    reach = max([0.1, *(abs(end - 0.5) for end in ends)])
    scale = Scale(max(0.0, 0.5 - reach), min(1.0, 0.5 + reach), names + 16, right)
    top, bottom = frame.HEAD, frame.HEAD + _ROW * max(1, len(rows))
    marks: list[Mark] = [*frame.heading(title), *frame.bands(len(rows), _ROW, top, frame.WIDTH)]
    marks += frame.across(scale, top, bottom, "White's share, bars hold 95 %", say=_percent)
    marks.append(Line(((scale.at(0.5), top), (scale.at(0.5), bottom)), "muted", 1.2))
    for place, row in enumerate(rows):
        y = top + (place + 0.5) * _ROW
        marks.append(Words(0, y + 4, frame.fitted(row.name, names)))
        marks.append(Words(frame.WIDTH - 4, y + 4, _told(row), anchor="end"))
        if row.share is not None and finite(row.share):
            low, high = scale.within(min(_ends(row))), scale.within(max(_ends(row)))
            marks += [Line(((low, y), (high, y)), "accent", 1.6)] if high > low else []
            marks.append(Area((diamond(scale.at(row.share), y, 4.5),), "accent"))
        marks.append(Tip(0, y - _ROW / 2, frame.WIDTH, _ROW, f"{told(row.name)}: {_told(row)}"))
    if not rows:
        marks.append(frame.empty("no games yet", top + 14))
    first = f"{told(rows[0].name)} {_told(rows[0])}" if rows else "no games"
    return Picture(told(title), f"White's share of the points: {first}.", frame.WIDTH, bottom + 36, tuple(marks))


def distribution(values: Sequence[float], *, title: str, unit: str) -> Picture:
    """How often which size, on a logarithmic scale; what is not above 0 has no place on it and is left out."""
    there = sorted(value for value in values if finite(value) and value > 0)
    left, right, top = 46.0, frame.WIDTH - 10, frame.HEAD
    bottom = top + _HEIGHT
    low, high = (there[0], there[-1]) if there else (1.0, 10.0)
    if high < low * 10:  # one decade at least
        middle = (low * high) ** 0.5
        low, high = middle / 10**0.5, middle * 10**0.5
    scale = Scale(low / 1.05, high * 1.05, left, right, log=True)
    counts = [0] * _BINS
    for value in there:
        counts[min(_BINS - 1, int((scale.at(value) - left) / (right - left) * _BINS))] += 1
    heights = counting(max(counts), bottom, top)
    marks: list[Mark] = [*frame.heading(title), *frame.upward(heights, left, right, say=whole)]
    marks += frame.across(scale, top, bottom, f"{unit}, logarithmic; {_quantiles(there, unit)}", grid=False)
    wide = (right - left) / _BINS
    for place, count in enumerate(counts):
        if count:
            y, x = heights.at(count), left + place * wide
            marks.append(Area((box(x + 0.5, y, wide - 1, bottom - y),), "accent"))
            ends = (
                10 ** (log10(scale.low) + (place + side) / _BINS * log10(scale.high / scale.low)) for side in (0, 1)
            )
            marks.append(Tip(x, top, wide, bottom - top, f"{' to '.join(map(_size, ends))} {unit}: {count}"))
    if not there:
        marks = [*frame.heading(title), frame.empty("nothing was measured", (top + bottom) / 2)]
    summary = f"Distribution of {len(there)} values: {_quantiles(there, unit)}."
    return Picture(told(title), summary, frame.WIDTH, bottom + 36, tuple(marks))


def load(values: Sequence[tuple[float, float]], *, title: str, cores: int | None) -> Picture:
    """The machine's load after each game, (number, load); a line at its processors, above which clocks may suffer.

    `cores` None: not known, or not the same for all games.
    """
    there = [(game, value) for game, value in values if finite(game) and finite(value)]
    left, right, top = 46.0, frame.WIDTH - 10, frame.HEAD
    bottom = top + _HEIGHT
    xs = Scale(min((x for x, _ in there), default=0) - 1, max((x for x, _ in there), default=1) + 1, left, right)
    highest = max([cores or 0, *(value for _, value in there)])
    ys = Scale(0, max(1.0, highest * 1.1), bottom, top)
    marks: list[Mark] = [*frame.heading(title), *frame.upward(ys, left, right)]
    below = "game" if cores is None else f"game; the dashed line: its {cores} processors"
    marks += frame.across(xs, top, bottom, below, grid=False, say=whole)
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
        marks = [*frame.heading(title), frame.empty("nothing was measured", (top + bottom) / 2)]
    busy = "" if cores is None else f", above its processors in {len(above)}"
    summary = f"Load of the machine after {len(there)} games{busy}."
    return Picture(told(title), summary, frame.WIDTH, bottom + 36, tuple(marks))


def _ends(row: Share) -> list[float]:
    """The share and its bounds, of what is a number."""
    if row.share is None or not finite(row.share):
        return []
    error = row.error if row.error is not None and finite(row.error) else 0.0
    return [row.share - error, row.share, row.share + error]


def _told(row: Share) -> str:
    if row.share is None or not finite(row.share):
        return "no games" if not row.games else f"{row.games} games"
    error = f" ± {100 * row.error:.1f}" if row.error is not None and finite(row.error) else ""
    return f"{100 * row.share:.1f}{error} %, {row.games}"


def quantile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of them does not exceed."""
    return ordered[max(0, ceil(share * len(ordered)) - 1)]


def _percent(value: float) -> str:
    return f"{100 * value:.3g} %"


def _quantiles(there: Sequence[float], unit: str) -> str:
    if not there:
        return "no values"
    half, most = quantile(there, 0.5), quantile(there, 0.99)
    return f"half up to {_size(half)}, 99 % up to {_size(most)}, at most {_size(there[-1])} {unit}"


def _size(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
