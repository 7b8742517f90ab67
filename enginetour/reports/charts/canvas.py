"""Elements of charts: shapes, texts, scales and colors.

Positions and lengths are in units of the picture. If a picture has its original width, one unit is one CSS pixel. x
increases to the right, and y increases downwards. Positions must be finite numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from math import ceil, floor, isfinite, log10
from types import MappingProxyType
from typing import Literal

from enginetour.reports.sheet import safe_text, shorten_middle

# Shapes and texts.

TEXT_SIZE = 12.0  # units; the same size as small text of a page
SMALL_SIZE = 10.5  # units; used for ticks and notes
TITLE_SIZE, TITLE_HEIGHT = 14.0, 24.0  # units; font size and height of the title
_MAX_NAME_LENGTH = 44  # characters of a name in a chart; the tooltip has the whole name
_MAX_VALUE = 1e9  # the largest number that is drawn
_NO_XML = re.compile("[\ufffe\uffff]")  # noncharacters that XML 1.0 (2.2) forbids; `safe_text` removes the others

Anchor = Literal["start", "middle", "end"]
XY = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Line:
    """A line through points. `dash` contains the lengths of dashes and gaps, and is empty for a solid line."""

    spots: tuple[XY, ...]
    role: str = "ink"
    width: float = 1.0
    dash: tuple[float, ...] = ()
    alpha: float = 1.0

    def __post_init__(self) -> None:
        _check_finite(chain.from_iterable(self.spots))


@dataclass(frozen=True, slots=True)
class Area:
    """Closed outlines that are filled together with one color."""

    outlines: tuple[tuple[XY, ...], ...]
    role: str = "accent"
    alpha: float = 1.0

    def __post_init__(self) -> None:
        _check_finite(chain.from_iterable(chain.from_iterable(self.outlines)))


@dataclass(frozen=True, slots=True)
class Label:
    """A text with its baseline at `y`, rotated by `angle` degrees around (`x`, `y`)."""

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
    """An invisible box that shows a text if the pointer is over it. A PNG has no tooltips."""

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
    """Marks in the order in which they are drawn. `summary` describes the picture.

    The first mark is the title, in the upper `TITLE_HEIGHT` units. Pages omit it, because they have headings.
    """

    title: str
    summary: str
    width: float
    height: float
    marks: tuple[Mark, ...] = field(repr=False)


@lru_cache(4096)  # the charts of all engines have the same names
def clean_text(text: str) -> str:
    """Return a text as in tables, but without characters that XML forbids."""
    return _NO_XML.sub("\ufffd", safe_text(text))


def short_name(name: str, most: int = _MAX_NAME_LENGTH) -> str:
    """Return a name with at most `most` characters, shortened in its middle."""
    return shorten_middle(clean_text(name), most)


def rectangle(x: float, y: float, width: float, height: float) -> tuple[XY, ...]:
    """Return the outline of a rectangle."""
    return ((x, y), (x + width, y), (x + width, y + height), (x, y + height))


def diamond(x: float, y: float, radius: float) -> tuple[XY, ...]:
    """Return the outline of a diamond, the symbol of a point."""
    return ((x - radius, y), (x, y - radius), (x + radius, y), (x, y + radius))


def cross(x: float, y: float, radius: float, role: str) -> tuple[Line, Line]:
    """Return two crossed lines, the symbol of an engine that dropped out or withdrew."""
    low, high = (
        ((x - radius, y - radius), (x + radius, y + radius)),
        ((x - radius, y + radius), (x + radius, y - radius)),
    )
    return Line(low, role, 1.6), Line(high, role, 1.6)


def arrow(x: float, y: float) -> tuple[XY, ...]:
    """Return the outline of a small triangle that points up."""
    return ((x - 4.5, y + 4.5), (x + 4.5, y + 4.5), (x, y - 4.5))


def is_drawable(value: float | None) -> bool:
    """Return whether a number can be drawn. On a scale, numbers above `_MAX_VALUE` would cause rounding errors."""
    return value is not None and -_MAX_VALUE <= value <= _MAX_VALUE


def name_list(names: Sequence[str], most: int = 3) -> str:
    """Return a text such as ``A, B and 4 more``, with the first `most` names."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(map(clean_text, names[:most]))}{more}"


def _check_finite(values: Iterable[float]) -> None:
    if not all(map(isfinite, values)):
        raise ValueError("the coordinates of a mark must be finite")


# Scales.

_STEPS = (1.0, 2.0, 5.0, 10.0)  # possible steps of an axis, times a power of 10
_DECADES = 3  # longer logarithmic scales only have ticks at powers of 10; shorter scales also at 2 and 5 times these


@dataclass(frozen=True, slots=True)
class Scale:
    """A scale that maps the numbers `low` to `high` to the positions `start` to `end`.

    `low` and `high` must be finite and different, and above 0 for a logarithmic scale (`log`).
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        """Return the position of a number. For numbers outside the scale, the position is also outside."""
        low, high, here = self.low, self.high, value
        if self.log:
            low, high, here = log10(low), log10(high), log10(max(value, self.low))
        return self.start + (here - low) / (high - low) * (self.end - self.start)

    def within(self, value: float) -> float:
        """Return the position of a number. For numbers outside the scale, return the position of the nearer end."""
        return self.at(min(max(value, self.low), self.high))

    def ticks(self, most: int = 6) -> list[float]:
        """Return at most `most` round numbers of the scale. A logarithmic scale has ticks as `_DECADES` describes."""
        if self.log:
            powers = range(floor(log10(self.low)), floor(log10(self.high)) + 1)
            parts = (1,) if log10(self.high / self.low) > _DECADES else _STEPS[:3]
            found = (part * 10.0**power for power in powers for part in parts)
            return [tick for tick in found if self.low <= tick <= self.high]
        step = _round_step((self.high - self.low) / most)
        first = ceil(self.low / step - 1e-9)
        return [number * step for number in range(first, floor(self.high / step + 1e-9) + 1)]


def _round_step(least: float) -> float:
    """Return the smallest round step that is at least `least`, which must be above 0."""
    power = 10.0 ** floor(log10(least))
    return next(part * power for part in _STEPS if part * power >= least * (1 - 1e-9))


def linear_scale(values: Iterable[float | None], start: float, end: float, *, least: float = 1.0) -> Scale:
    """Return a linear scale for the drawable values, with a margin at both ends.

    It spans at least `least`. Without values it spans 0 to `least`.
    """
    there = [value for value in values if value is not None and is_drawable(value)]
    low, high = (min(there), max(there)) if there else (0.0, least)
    if high - low < least:
        middle = (low + high) / 2
        low, high = middle - least / 2, middle + least / 2
    margin = (high - low) * 0.03
    return Scale(low - margin, high + margin, start, end)


def format_tick(value: float) -> str:
    """Format the number of a tick, for example ``2600``, ``0.5`` or ``-40``, but never ``-0``."""
    return f"{value + 0.0:.10g}" if abs(value) >= 1e-9 else "0"


def format_count_tick(value: float) -> str:
    """Format the tick of a count. Return an empty text for a number that is not an integer."""
    return format_tick(value) if value == round(value) else ""


# Colors by role. Picture files use these values; in pages, colors are CSS variables.
#
# The eight series colors are the colors of Okabe and Ito (Color Universal Design, 2008), made darker or lighter until
# their contrast with the background is 3:1 (WCAG 2.2, 1.4.11). Text colors have a contrast of 4.5:1 (1.4.3). A test
# checks both.

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

MAX_SHADE = 0.5  # maximum opacity of a background behind text, for a contrast of 4.5:1 with light and dark colors
SERIES_ROLES = tuple(role for role in LIGHT_COLORS if role.startswith("series-"))


def series_role(number: int) -> str:
    """Return the color role of a series. Numbers start at 0, and the ninth series has the first color again."""
    return SERIES_ROLES[number % len(SERIES_ROLES)]
