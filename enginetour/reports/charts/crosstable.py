"""Everybody against everybody as a picture: each cell has the score and a colour by its share.

Above half is blue, below is orange, the paler the nearer to half: told apart without green and red. In a field too
large for figures the colours stay, and a bubble or Swiss of 200 engines still shows who has met whom.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from enginetour.formats.pairing.standings import CrossRow
from enginetour.reports.charts import frame
from enginetour.reports.charts.marks import SMALL, TEXT, Area, Mark, Picture, Spot, Tip, Words, box, listed, told
from enginetour.reports.charts.output import width_of
from enginetour.reports.charts.palette import STRONGEST
from enginetour.reports.sheet import points

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
    names = frame.names_width([row.name for row in rows], 190, size)
    scores = max((width_of(_score(row), size) for row in rows), default=0.0) + 12
    before = ceil(rank + names + 8 + scores)  # whole units are short numbers, thousands of times
    if figures:
        least = max([22.0, *(width_of(text, SMALL) + 6 for text in set(texts))])
        cell = max(least, min(34.0, (frame.WIDTH - before) / max(1, count)))
    else:
        cell = float(max(_LEAST_CELL, min(14, (_WIDEST - before) // count)))
    row = max(cell if not figures else 20.0, 13.0)
    top, width = frame.HEAD + frame.LABEL, max(frame.WIDTH / 2, before + cell * count)
    marks = [*frame.heading(title, width), *frame.bands(count, row, top, before)]
    marks += _shades(rows, before, top, cell, row)
    for number, line in enumerate(rows, 1):
        y = top + (number - 1) * row
        base = y + row / 2 + size * 0.36
        marks.append(Words(rank - 8, base, str(number), "muted", size, "end"))
        marks.append(Words(rank, base, frame.fitted(line.name, names, size), size=size))
        marks.append(Words(before - 8, base, _score(line), size=size, anchor="end", bold=True))
        if figures or number % 10 == 0 or number == 1:
            marks.append(Words(before + (number - 0.5) * cell, top - 6, str(number), "muted", SMALL, "middle"))
        if figures:
            marks += _figures(line, before, y, cell, row)
        if count <= _TIPS_UP_TO:
            marks += _tips(line, rows, before, y, cell, row)
    if not rows:
        marks.append(frame.empty("nobody has played", top + 14, width))
    return Picture(told(title), _summary(rows), width, top + row * max(1, count) + 4, tuple(marks))


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


def _figures(line: Row, left: float, y: float, cell: float, row: float) -> Iterator[Mark]:
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


def _summary(rows: Sequence[Row]) -> str:
    if not rows:
        return "A crosstable without engines."
    first = rows[0]
    return (
        f"Crosstable of {len(rows)} engines: {told(first.name)} has {_score(first)} of {first.games}; "
        f"then {listed([row.name for row in rows[1:]])}."
    )
