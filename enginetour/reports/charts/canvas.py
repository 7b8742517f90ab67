"""Marks, scales, palette.

Places and lengths are units of the picture, one CSS pixel each when it is shown at its own width; x to the right, y
down. A mark that is not at finite places cannot be made: what has no number is not drawn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, floor, isfinite, log10
from types import MappingProxyType
from typing import Literal

from enginetour.reports.sheet import safe_text, shorten_middle

# What a picture is made of: lines, areas, words at places, and words that show under the pointer.

TEXT_SIZE = 12.0  # units: what a page calls small text
SMALL_SIZE = 10.5  # of ticks and notes
TITLE_SIZE, TITLE_HEIGHT = 14.0, 24.0  # size of the title, and the height that it takes
_MAX_NAME_LENGTH = 34  # signs of a name beside a chart; the whole name shows under the pointer
_MAX_VALUE = 1e9  # of a number that is drawn
_NO_XML = re.compile("[\ufffe\uffff]")  # noncharacters that XML 1.0 (2.2) forbids; `safe` takes the rest

Anchor = Literal["start", "middle", "end"]
XY = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Line:
    """Through these places; `dash` are lengths on and off, none for a whole line."""

    spots: tuple[XY, ...]
    role: str = "ink"
    width: float = 1.0
    dash: tuple[float, ...] = ()
    alpha: float = 1.0

    def __post_init__(self) -> None:
        _check_finite(value for spot in self.spots for value in spot)


@dataclass(frozen=True, slots=True)
class Area:
    """Closed outlines of one colour, filled together."""

    outlines: tuple[tuple[XY, ...], ...]
    role: str = "accent"
    alpha: float = 1.0

    def __post_init__(self) -> None:
        _check_finite(value for outline in self.outlines for spot in outline for value in spot)


@dataclass(frozen=True, slots=True)
class Label:
    """Text whose baseline is at `y`, as `told` makes it; at an `angle` in degrees, turned about its place."""

    x: float
    y: float
    text: str
    role: str = "ink"
    size: float = TEXT_SIZE
    anchor: Anchor = "start"
    bold: bool = False
    angle: float = 0.0

    def __post_init__(self) -> None:
        _check_finite((self.x, self.y))


@dataclass(frozen=True, slots=True)
class Tooltip:
    """A box that cannot be seen and tells its text to a pointer; a PNG has none."""

    x: float
    y: float
    width: float
    height: float
    text: str

    def __post_init__(self) -> None:
        _check_finite((self.x, self.y, self.width, self.height))


Mark = Line | Area | Label | Tooltip


@dataclass(frozen=True, slots=True)
class Picture:
    """Marks in the order in which they are drawn; `title` names it, `summary` says in words what is to be seen.

    The first mark is the title, in the upper `TITLE_HEIGHT` units: pages with headings of their own leave it out.
    """

    title: str
    summary: str
    width: float
    height: float
    marks: tuple[Mark, ...] = field(repr=False)


def clean_text(text: object) -> str:
    """A name or other foreign words as a picture can hold them: as the tables show them, and nothing XML forbids."""
    return _NO_XML.sub("\ufffd", safe_text(text))


def short_name(name: str, most: int = _MAX_NAME_LENGTH) -> str:
    """A name where room is short, without its middle."""
    return shorten_middle(clean_text(name), most)


def with_title(picture: Picture, title: str) -> Picture:
    """The same under another title, such as one that names the tournament where no page does."""
    head = Label(0, 16, short_name(title, int(picture.width / (0.6 * TITLE_SIZE))), size=TITLE_SIZE, bold=True)
    return replace(picture, title=clean_text(title), marks=(head, *picture.marks[1:]))


def rectangle(x: float, y: float, width: float, height: float) -> tuple[XY, ...]:
    """The outline of a rectangle."""
    return ((x, y), (x + width, y), (x + width, y + height), (x, y + height))


def diamond(x: float, y: float, radius: float) -> tuple[XY, ...]:
    """The outline of a point that an error bar goes through."""
    return ((x - radius, y), (x, y - radius), (x + radius, y), (x, y + radius))


def cross(x: float, y: float, radius: float, role: str) -> tuple[Line, Line]:
    """Two strokes: the sign of who is out."""
    low, high = (
        ((x - radius, y - radius), (x + radius, y + radius)),
        ((x - radius, y + radius), (x + radius, y - radius)),
    )
    return Line(low, role, 1.6), Line(high, role, 1.6)


def arrow(x: float, y: float, radius: float, *, up: bool) -> tuple[XY, ...]:
    """The outline of a small triangle."""
    tip = -radius if up else radius
    return ((x - radius, y - tip), (x + radius, y - tip), (x, y + tip))


def is_drawable(value: float | None) -> bool:
    """A number that can be drawn: neither rating nor time nor count is larger, and a scale would lose its digits."""
    return value is not None and isfinite(value) and abs(value) <= _MAX_VALUE


def name_list(names: Sequence[str], most: int = 3) -> str:
    """``A, B and 4 more``, for a summary."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(map(clean_text, names[:most]))}{more}"


def _check_finite(values: Iterable[float]) -> None:
    if not all(map(isfinite, values)):
        raise ValueError("a mark must be at a finite place")


# From numbers to places: linear and logarithmic scales, with ticks at round numbers.

_STEPS = (1.0, 2.0, 5.0, 10.0)  # round steps of an axis
_DECADES = 3  # of a logarithmic scale with ticks at 1, 2 and 5; a longer one has those at 1


@dataclass(frozen=True, slots=True)
class Scale:
    """`low` stands at `start`, `high` at `end`; both numbers finite and apart, above 0 for a logarithmic one."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        """The place of a number; beyond the ends for what lies beyond them."""
        low, high, here = self.low, self.high, value
        if self.log:
            low, high, here = log10(low), log10(high), log10(max(value, self.low))
        return self.start + (here - low) / (high - low) * (self.end - self.start)

    def within(self, value: float) -> float:
        """The place of a number, at the nearer end for what lies beyond."""
        return self.at(min(max(value, self.low), self.high))

    def ticks(self, most: int = 6) -> list[float]:
        """Round numbers inside, `most` at most or the few that a logarithmic scale has."""
        if self.log:
            powers = range(floor(log10(self.low)), floor(log10(self.high)) + 1)
            parts = (1,) if log10(self.high / self.low) > _DECADES else _STEPS[:3]
            found = (part * 10.0**power for power in powers for part in parts)
            return [tick for tick in found if self.low <= tick <= self.high]
        step = _round_step((self.high - self.low) / most)
        first = ceil(self.low / step - 1e-9)
        return [number * step for number in range(first, floor(self.high / step + 1e-9) + 1)]


def _round_step(least: float) -> float:
    """The smallest round step that is not below `least`, which is above 0."""
    power = 10.0 ** floor(log10(least))
    return next(part * power for part in _STEPS if part * power >= least * (1 - 1e-9))


def linear_scale(values: Iterable[float | None], start: float, end: float, *, least: float = 1.0) -> Scale:
    """A linear scale over the finite ones with a margin, `least` wide; 0 to `least` for none."""
    there = [value for value in values if value is not None and is_drawable(value)]
    low, high = (min(there), max(there)) if there else (0.0, least)
    if high - low < least:
        middle = (low + high) / 2
        low, high = middle - least / 2, middle + least / 2
    margin = (high - low) * 0.03
    return Scale(low - margin, high + margin, start, end)


def count_scale(most: int, start: float, end: float) -> Scale:
    """From 0 to a count, or to 1."""
    return Scale(0, max(1, most), start, end)


def format_tick(value: float) -> str:
    """Of a tick: ``2600``, ``0.5``, ``-40``, never ``-0``."""
    return f"{value + 0.0:.10g}" if abs(value) >= 1e-9 else "0"


def format_count_tick(value: float) -> str:
    """Of a tick among things that are counted: "" between two of them."""
    return format_tick(value) if value == round(value) else ""


# Colours by what they are for: CSS variables in a page, these values in a picture on its own.
#
# The eight series are the colours of Okabe and Ito (Color Universal Design, 2008), made darker or lighter until each
# stands at 3:1 from the paper (WCAG 2.2, 1.4.11) and text colours at 4.5:1 (1.4.3); a test counts it again.

LIGHT_COLORS = MappingProxyType({
    "ink": "#1a1c20",
    "muted": "#5a5f68",
    "grid": "#d8dbe0",
    "paper": "#ffffff",
    "accent": "#0b5fa5",
    "accent-2": "#b24a00",
    "good": "#00734f",
    "bad": "#b3261e",
    "series-1": "#0072b2",
    "series-2": "#c75000",
    "series-3": "#008560",
    "series-4": "#b3548c",
    "series-5": "#8f6a00",
    "series-6": "#2a86bd",
    "series-7": "#4b3f9e",
    "series-8": "#6b6f76",
})  # fmt: skip

MAX_SHADE = 0.5  # of a shade with words on it: light and dark, the ink stands at 4.5:1 from it
SERIES_ROLES = tuple(role for role in LIGHT_COLORS if role.startswith("series-"))


def series_role(number: int) -> str:
    """The role of the line with this number, from 0; a ninth has the first colour again, and another dash."""
    return SERIES_ROLES[number % len(SERIES_ROLES)]
