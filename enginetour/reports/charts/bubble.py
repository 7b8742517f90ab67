"""The chart of a bubble tournament over time.

Each row is an engine, best first. The x axis is time, in games or in round robins. A blue cell is a round robin in the
section, and a darker blue means a better place. A thin line is time in parking. A cross shows when the engine dropped
out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from statistics import median
from typing import Any

from enginetour.model.game import Note, StandingsRow
from enginetour.reports.charts import output
from enginetour.reports.charts.canvas import (
    MAX_SHADE,
    SMALL_SIZE,
    TEXT_SIZE,
    Area,
    Label,
    Line,
    Mark,
    Picture,
    Scale,
    Tooltip,
    arrow,
    clean_text,
    cross,
    rectangle,
)
from enginetour.reports.charts.output import text_width


@dataclass(slots=True)
class SectionRound:
    """One round robin of the section. `games` counts all games finished up to its decision, or so far.

    `order` contains its engines by place, best first; it is empty while the round robin is in progress. `parking`
    contains the engines that were parked during it, longest wait first. `withdrawn` contains the engines that withdrew
    during it, and `left` only the withdrawn engines of the section.
    """

    number: int = 1
    games: int = 0
    members: list[str] = field(default_factory=list)
    parking: list[str] = field(default_factory=list)
    order: tuple[str, ...] = ()
    entered: list[str] = field(default_factory=list)
    returned: list[str] = field(default_factory=list)
    parked: str | None = None
    dropped: str | None = None
    withdrawn: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    def enter(self, entry: Mapping[str, Any]) -> None:
        """Add an engine to the section, from the list or from parking."""
        name = entry["engine"]
        (self.returned if entry["from"] == "parked" else self.entered).append(name)
        self.leave(name)
        self.members.append(name)

    def leave(self, name: str) -> None:
        """Remove an engine from the section or from parking."""
        for where in (self.members, self.parking):
            if name in where:
                where.remove(name)


def round_robins(notes: Iterable[Note], games: int | None = None) -> tuple[SectionRound, ...]:
    """Return the round robins in order. The last one may be in progress; `games` is the current number of games."""
    found, now = list[SectionRound](), SectionRound()
    for note in notes:
        row: dict[str, Any] = dict(note.fields)
        now.number = row["step"]
        if note.kind in ("enter", "unpark"):
            for entry in row["entered"]:
                now.enter(entry)
        elif note.kind == "withdraw":
            now.leave(row["engine"])
            now.withdrawn.append(row["engine"])
            now.left += [row["engine"]] if row["was"] == "active" else []
            if row["replacement"] is not None:
                now.enter(row["replacement"])
        elif note.kind in ("park", "drop", "finish"):
            leaver = row["engine"]
            now.games, now.order = row["games_total"], tuple(line[0] for line in row["table"])
            now.parked = leaver if note.kind == "park" else None
            now.dropped = leaver if note.kind == "drop" else None
            found.append(now)
            now = SectionRound(now.number, now.games)
            if note.kind != "finish":
                now.members, now.parking = [*found[-1].members], [*found[-1].parking]
                now.leave(leaver)
                now.parking += [leaver] if note.kind == "park" else []
    if now.members:
        now.games = max(now.games, games or 0)
        found.append(now)
    return tuple(found)


# The chart.

_WIDEST = 1400.0  # units; maximum width of the chart
_FIGURE = 17.0  # units; minimum width of a round robin, so that a place with two digits fits into it
_ROOMY = 24.0  # units; the chart becomes wider until the average width of a round robin is this value
_TIPS_UP_TO = 1500  # cells; with more cells, the tooltips would be most of the file


def bubble_chart(
    rounds: Sequence[SectionRound],
    ranking: Sequence[StandingsRow],
    *,
    title: str,
    by_games: bool | None = None,
    width: float = output.CHART_WIDTH,
) -> Picture:
    """Return the chart with rows in the order of `ranking`.

    The x axis counts games (`by_games` true) or round robins (false). None selects games if most round robins are then
    wide enough for the numbers of the places. If these numbers need it, the chart is wider than `width`, except on a
    phone.
    """
    size = TEXT_SIZE if len(ranking) <= 60 else SMALL_SIZE
    names, line = output.name_space([one.name for one in ranking], width, size)
    row = line + (20.0 if len(ranking) <= 30 else 16.0)
    rank = text_width(str(len(ranking)), size) + 8
    left = rank + names + 10
    right = max((text_width(_end(one), SMALL_SIZE) for one in ranking), default=0.0) + 20
    edges = [0.0, *(float(one.games) for one in rounds)]
    scale = _scale(edges, left, right, width)
    if by_games is None:
        by_games = scale.at(_usual(edges)) - scale.start >= _FIGURE
    if not by_games:
        edges = [float(number) for number in range(len(rounds) + 1)]
        scale = _scale(edges, left, right, width)
    top = output.HEADING_HEIGHT + output.AXIS_HEIGHT
    bottom = top + row * max(1, len(ranking))
    whole = scale.end + right
    marks = [*output.row_bands(len(ranking), row, top, whole)]
    if by_games:
        marks += output.x_axis(scale, top, bottom, "games finished", grid=False)
    else:
        marks += _games(rounds, scale, bottom)
    marks += _round_numbers(rounds, edges, scale, top)
    tips = sum(len(one.members) for one in rounds) <= _TIPS_UP_TO
    for place, one in enumerate(ranking):
        y = top + place * row
        base = y + (line or row) / 2 + size * 0.36
        marks.append(Label(rank - 8, base, str(place + 1), "muted", size, "end"))
        marks.append(
            Label(rank, base, output.fit_text(one.name, names + 2 if names else whole - rank, size), size=size)
        )
        marks.append(Label(scale.end + 16, y + (row + line) / 2 + size * 0.36, _end(one), "muted", SMALL_SIZE))
        marks += _row_marks(one.name, rounds, edges, scale, y + line, row - line, tips=tips)
    marks += _legend(left if width > output.PHONE_WIDTH else 0.0, bottom + 36)
    return output.framed(title, _summary(rounds, ranking), whole, bottom + 56, marks)


def _usual(edges: Sequence[float]) -> float:
    """Return the median number of games of a round robin."""
    steps = [after - before for before, after in pairwise(edges) if after > before]
    return median(steps) if steps else max(1.0, edges[-1])


def _scale(edges: Sequence[float], left: float, right: float, width: float) -> Scale:
    """Return a scale as wide as a page, or wider if the numbers of the places need it."""
    whole = max(1.0, edges[-1])
    wanted = min(_FIGURE / _usual(edges) * whole, _ROOMY * (len(edges) - 1))
    room = width - left - right
    most = width if width <= output.PHONE_WIDTH else _WIDEST
    return Scale(0, whole, left, left + max(60.0, min(max(room, wanted), most - left - right)))


def _games(rounds: Sequence[SectionRound], scale: Scale, bottom: float) -> Iterator[Mark]:
    """Yield the numbers of finished games below round robins of equal width."""
    last = scale.start
    for number, one in enumerate(rounds, 1):
        x = scale.at(number)
        if x - last >= text_width(str(one.games), SMALL_SIZE) + 6:
            yield Label(x, bottom + 13, str(one.games), "muted", SMALL_SIZE, "middle")
            last = x
    yield Label((scale.start + scale.end) / 2, bottom + 28, "games finished", "muted", SMALL_SIZE, "middle")


def _round_numbers(rounds: Sequence[SectionRound], edges: Sequence[float], scale: Scale, top: float) -> Iterator[Mark]:
    if scale.start >= text_width("round robin", SMALL_SIZE) + 8:
        yield Label(scale.start - 8, top - 6, "round robin", "muted", SMALL_SIZE, "end")
    else:  # above the numbers
        yield Label(0, top - 19, "round robin", "muted", SMALL_SIZE)
    last = float("-inf")
    for number, one in enumerate(rounds):
        middle = (scale.at(edges[number]) + scale.at(edges[number + 1])) / 2
        if middle - last >= 22:
            yield Label(middle, top - 6, str(one.number), "muted", SMALL_SIZE, "middle")
            last = middle


def _row_marks(
    name: str, rounds: Sequence[SectionRound], edges: Sequence[float], scale: Scale, y: float, row: float, *, tips: bool
) -> Iterator[Mark]:
    middle = y + row / 2
    for first, last in _parked(name, rounds):
        yield Line(((scale.at(edges[first]), middle), (scale.at(edges[last]), middle)), "accent-2", 2.0)
    for number, one in enumerate(rounds):
        start, end = scale.at(edges[number]), scale.at(edges[number + 1])
        if name in one.members or name in one.order:
            yield from _cell(name, one, start, end, y, row)
            if tips and end > start:
                yield Tooltip(start, y, end - start, row, _cell_tip(name, one))
        elif name in one.left:
            yield Area((rectangle(start, y + 1, max(1.0, end - start - 1), row - 2),), "muted", 0.25)
        if one.parked == name:
            yield Area((arrow(end + 5, middle),), "accent-2")
        if one.dropped == name:
            yield from cross(end + 6, middle, 4.0, "bad")
        if name in one.withdrawn:
            yield from cross(end + 6, middle, 4.0, "muted")


def _parked(name: str, rounds: Sequence[SectionRound]) -> Iterator[tuple[int, int]]:
    """Yield the periods in parking, each as the first round robin and the round robin after the last."""
    for parked, run in groupby(range(len(rounds)), key=lambda number: name in rounds[number].parking):
        numbers = list(run)
        if parked:
            yield numbers[0], numbers[-1] + 1


def _cell(name: str, one: SectionRound, start: float, end: float, y: float, row: float) -> Iterator[Mark]:
    outline = rectangle(start, y + 1, max(1.0, end - start - (1 if end - start > 4 else 0)), row - 2)
    if name not in one.order:  # a round robin in progress has no places yet
        yield Area((outline,), "muted", 0.25)
        return
    place = one.order.index(name)
    yield Area((outline,), "accent", round(MAX_SHADE - 0.4 * place / max(1, len(one.order) - 1), 3))
    if end - start >= text_width(str(place + 1), 9.5) + 3:
        yield Label((start + end) / 2, y + row / 2 + 3.5, str(place + 1), "ink", 9.5, "middle")


def _cell_tip(name: str, one: SectionRound) -> str:
    where = f"{clean_text(name)}, round robin {one.number}"
    if name not in one.order:
        return f"{where}: in progress"
    place = f"place {one.order.index(name) + 1} of {len(one.order)}, decided after {one.games} games"
    left = ", then parked" if one.parked == name else ", then dropped out" if one.dropped == name else ""
    came = " (from the starting list)" if name in one.entered else " (from parking)" if name in one.returned else ""
    return f"{where}{came}: {place}{left}"


def _end(line: StandingsRow) -> str:
    return "" if line.status in ("final", "") else line.status


def _legend(left: float, y: float) -> Iterator[Mark]:
    x = left
    for alpha, label in ((MAX_SHADE, "first"), (0.1, "last of the section")):
        yield Area((rectangle(x, y, 12, 12),), "accent", alpha)
        yield Label(x + 17, y + 10, label, "muted", SMALL_SIZE)
        x += 17 + text_width(label, SMALL_SIZE) + 14
    yield Area((arrow(x + 4, y + 6),), "accent-2")
    yield Line(((x + 4, y + 6), (x + 24, y + 6)), "accent-2", 2.0)
    yield Label(x + 29, y + 10, "parked", "muted", SMALL_SIZE)
    x += 29 + text_width("parked", SMALL_SIZE) + 14
    yield from cross(x + 5, y + 6, 4.0, "bad")
    yield Label(x + 14, y + 10, "dropped out", "muted", SMALL_SIZE)


def _summary(rounds: Sequence[SectionRound], ranking: Sequence[StandingsRow]) -> str:
    if not rounds or not ranking:
        return "A bubble tournament before its first round robin."
    out = sum(one.dropped is not None for one in rounds)
    parked = sum(one.parked is not None for one in rounds)
    return (
        f"Bubble history of {len(ranking)} engines, {len(rounds)} round robins and {rounds[-1].games} games: "
        f"{out} drop-outs, {parked} parkings; {clean_text(ranking[0].name)} is in first place."
    )
