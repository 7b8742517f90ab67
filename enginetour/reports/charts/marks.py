"""What a picture is made of: lines, areas, words at places, and words that show under the pointer.

Places and lengths are units of the picture, one CSS pixel each when it is shown at its own width; x to the right, y
down. A mark that is not at finite places cannot be made: what has no number is not drawn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Literal

from enginetour.reports.sheet import safe, shortened

TEXT = 12.0  # units: what a page calls small text
SMALL = 10.5  # of ticks and notes
TITLE, TITLE_HEIGHT = 14.0, 24.0  # size of the title, and the height that it takes
LONGEST = 34  # signs of a name beside a chart; the whole name shows under the pointer
LARGEST = 1e9  # of a number that is drawn
_NO_XML = re.compile("[\ufffe\uffff]")  # noncharacters that XML 1.0 (2.2) forbids; `safe` takes the rest

Anchor = Literal["start", "middle", "end"]
Spot = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Line:
    """Through these places; `dash` are lengths on and off, none for a whole line."""

    spots: tuple[Spot, ...]
    role: str = "ink"
    width: float = 1.0
    dash: tuple[float, ...] = ()
    alpha: float = 1.0

    def __post_init__(self) -> None:
        _finite(value for spot in self.spots for value in spot)


@dataclass(frozen=True, slots=True)
class Area:
    """Closed outlines of one colour, filled together."""

    outlines: tuple[tuple[Spot, ...], ...]
    role: str = "accent"
    alpha: float = 1.0

    def __post_init__(self) -> None:
        _finite(value for outline in self.outlines for spot in outline for value in spot)


@dataclass(frozen=True, slots=True)
class Words:
    """Text whose baseline is at `y`, as `told` makes it; at an `angle` in degrees, turned about its place."""

    x: float
    y: float
    text: str
    role: str = "ink"
    size: float = TEXT
    anchor: Anchor = "start"
    bold: bool = False
    angle: float = 0.0

    def __post_init__(self) -> None:
        _finite((self.x, self.y))


@dataclass(frozen=True, slots=True)
class Tip:
    """A box that cannot be seen and tells its text to a pointer; a PNG has none."""

    x: float
    y: float
    width: float
    height: float
    text: str

    def __post_init__(self) -> None:
        _finite((self.x, self.y, self.width, self.height))


Mark = Line | Area | Words | Tip


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


def told(text: object) -> str:
    """A name or other foreign words as a picture can hold them: as the tables show them, and nothing XML forbids."""
    return _NO_XML.sub("\ufffd", safe(text))


def brief(name: str, most: int = LONGEST) -> str:
    """A name where room is short, without its middle."""
    return shortened(told(name), most)


def retitled(picture: Picture, title: str) -> Picture:
    """The same under another title, such as one that names the tournament where no page does."""
    head = Words(0, 16, brief(title, int(picture.width / (0.6 * TITLE))), size=TITLE, bold=True)
    return replace(picture, title=told(title), marks=(head, *picture.marks[1:]))


def box(x: float, y: float, width: float, height: float) -> tuple[Spot, ...]:
    """The outline of a rectangle."""
    return ((x, y), (x + width, y), (x + width, y + height), (x, y + height))


def diamond(x: float, y: float, radius: float) -> tuple[Spot, ...]:
    """The outline of a point that an error bar goes through."""
    return ((x - radius, y), (x, y - radius), (x + radius, y), (x, y + radius))


def cross(x: float, y: float, radius: float, role: str) -> tuple[Line, Line]:
    """Two strokes: the sign of who is out."""
    low, high = (
        ((x - radius, y - radius), (x + radius, y + radius)),
        ((x - radius, y + radius), (x + radius, y - radius)),
    )
    return Line(low, role, 1.6), Line(high, role, 1.6)


def arrow(x: float, y: float, radius: float, *, up: bool) -> tuple[Spot, ...]:
    """The outline of a small triangle."""
    tip = -radius if up else radius
    return ((x - radius, y - tip), (x + radius, y - tip), (x, y + tip))


def finite(value: float | None) -> bool:
    """A number that can be drawn: neither rating nor time nor count is larger, and a scale would lose its digits."""
    return value is not None and isfinite(value) and abs(value) <= LARGEST


def listed(names: Sequence[str], most: int = 3) -> str:
    """``A, B and 4 more``, for a summary."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(map(told, names[:most]))}{more}"


def _finite(values: Iterable[float]) -> None:
    if not all(map(isfinite, values)):
        raise ValueError("a mark must be at a finite place")
