"""What the charts share: a heading, rows with names, an axis below with its grid, a legend."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from enginetour.reports.charts.marks import SMALL, TEXT, TITLE, Area, Line, Mark, Words, box, brief, told
from enginetour.reports.charts.output import width_of
from enginetour.reports.charts.scales import Scale, number

WIDTH = 720.0  # units: what a page of text is wide, and a post in a forum
HEAD = 34.0  # of the title
LABEL = 18.0  # of the numbers at an axis


def heading(title: str, width: float = WIDTH) -> list[Mark]:
    """The title; shortened where it would run out of the picture."""
    return [Words(0, 16, fitted(title, width, TITLE, bold=True), size=TITLE, bold=True)]


def fitted(text: str, room: float, size: float = TEXT, *, bold: bool = False) -> str:
    """Foreign words in at most `room` units, without their middle where they are longer."""
    whole = told(text)
    # A sign is two columns wide at most, and no word is made of signs narrower than 0.3 only.
    most = min(2 * len(whole), int(room / (size * 0.3)))
    short = brief(whole, max(1, most))
    while most > 1 and width_of(short, size, bold=bold) > room:
        most = min(most - 1, int(most * max(0.5, room / width_of(short, size, bold=bold))))
        short = brief(whole, max(1, most))
    return short


def names_width(names: Sequence[str], most: float, size: float = TEXT) -> float:
    """Room for the longest of them as `brief` has it, `most` at most."""
    return min(most, max((width_of(brief(name), size) for name in names), default=0.0) + 1)


def bands(count: int, row: float, top: float, width: float) -> list[Mark]:
    """Every second row on a shade, for eyes that follow one."""
    odd = tuple(box(0, top + place * row, width, row) for place in range(1, count, 2))
    return [Area(odd, "grid", 0.3)] if odd else []


def across(
    scale: Scale,
    top: float,
    bottom: float,
    words: str = "",
    *,
    above: bool = False,
    grid: bool = True,
    say: Callable[[float], str] = number,
) -> Iterator[Mark]:
    """A scale from left to right: grid or short strokes, numbers below (and `above`), what they count.

    A tick of which there is nothing to `say` is left out.
    """
    for tick in scale.ticks(max(2, int(abs(scale.end - scale.start) / 60))):
        x = scale.at(tick)
        if not say(tick):
            continue
        yield Line(((x, top if grid else bottom - 1), (x, bottom + (not grid) * 3)), "grid" if grid else "muted")
        yield Words(x, bottom + 13, say(tick), "muted", SMALL, "middle")
        if above:
            yield Words(x, top - 5, say(tick), "muted", SMALL, "middle")
    if words:
        yield Words((scale.start + scale.end) / 2, bottom + 28, words, "muted", SMALL, "middle")


def upward(scale: Scale, left: float, right: float, *, say: Callable[[float], str] = number) -> Iterator[Mark]:
    """A scale from bottom to top: grid, and numbers on the left."""
    for tick in _upward_ticks(scale):
        y = scale.at(tick)
        if not say(tick):
            continue
        yield Line(((left, y), (right, y)), "grid")
        yield Words(left - 6, y + 3.5, say(tick), "muted", SMALL, "end")


def beside(scale: Scale, say: Callable[[float], str] = number) -> float:
    """Room for the numbers of an upward scale."""
    return max(46.0, *(width_of(say(tick), SMALL) + 10 for tick in _upward_ticks(scale)))


def _upward_ticks(scale: Scale) -> list[float]:
    return scale.ticks(max(2, int(abs(scale.end - scale.start) / 40)))


def empty(words: str, y: float, width: float = WIDTH) -> Mark:
    """What stands where there is nothing to draw."""
    return Words(width / 2, y, words, "muted", TEXT, "middle")
