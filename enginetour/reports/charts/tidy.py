"""A picture as SVG text, fit to stand in a page: no ids, no styles, no namespace, short numbers.

A page may hold many pictures, so none has an id that another could have; and a page may forbid styles in elements, so
colours and sizes are attributes, which can name the page's variables as well (CSS Values, presentation attributes).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr

from enginetour.reports.charts.marks import TITLE_HEIGHT, Area, Line, Mark, Picture, Spot, Tip, Words
from enginetour.reports.charts.palette import LIGHT

NAMESPACE = "http://www.w3.org/2000/svg"
WIDE = 760  # units: a wider picture has small letters in the width of a text, a page may give it more
_VARIABLES = {role: f"var(--{role})" for role in LIGHT}
# What a file on its own says once for all its text: what people's screens have, then what PNGs are drawn with.
_LETTERS = "system-ui, 'DejaVu Sans', sans-serif"


def inline(picture: Picture) -> str:
    """Return the element for a page, without the title, which pages have as a heading: colours by variable.

    It has a role and a name for who cannot see it.
    """
    view = f"0 {_short(TITLE_HEIGHT)} {_short(picture.width)} {_short(picture.height - TITLE_HEIGHT)}"
    kind = "chart wide" if picture.width > WIDE else "chart"
    head = f'<svg class="{kind}" viewBox="{view}" role="img" aria-label={quoteattr(picture.title)}>'
    lines = [head, f"<desc>{escape(picture.summary)}</desc>", *_drawn(picture.marks[1:], _VARIABLES), "</svg>"]
    return "\n".join(lines) + "\n"


def standalone(picture: Picture, margin: float) -> str:
    """The same as a file of its own, on white with a margin."""
    width, height = (_short(side + 2 * margin) for side in (picture.width, picture.height))
    view = f'viewBox="{_short(-margin)} {_short(-margin)} {width} {height}"'
    head = f'<svg xmlns="{NAMESPACE}" {view} width="{width}" height="{height}" role="img" font-family="{_LETTERS}">'
    paper = f'<rect x="{_short(-margin)}" y="{_short(-margin)}" width="100%" height="100%" fill="{LIGHT["paper"]}"/>'
    words = [f"<title>{escape(picture.title)}</title>", f"<desc>{escape(picture.summary)}</desc>"]
    first = '<?xml version="1.0" encoding="UTF-8"?>'
    return "\n".join([first, head, *words, paper, *_drawn(picture.marks, LIGHT), "</svg>"]) + "\n"


def _drawn(marks: Sequence[Mark], colours: Mapping[str, str]) -> Iterator[str]:
    """What is seen in its order, and over it what a pointer finds."""
    for mark in marks:
        if isinstance(mark, Line):
            yield _line(mark, colours[mark.role])
        elif isinstance(mark, Area):
            faint = "" if mark.alpha == 1 else f' opacity="{_short(mark.alpha)}"'
            yield f'<path d="{"".join(map(_outline, mark.outlines)).rstrip()}" fill="{colours[mark.role]}"{faint}/>'
        elif isinstance(mark, Words):
            yield _words(mark, colours[mark.role])
    for mark in marks:
        if isinstance(mark, Tip):
            place = zip(("x", "y", "width", "height"), (mark.x, mark.y, mark.width, mark.height), strict=True)
            told = " ".join(f'{name}="{_short(value)}"' for name, value in place)
            yield f'<rect {told} fill="none" pointer-events="all"><title>{escape(mark.text)}</title></rect>'


def _line(mark: Line, colour: str) -> str:
    faint = "" if mark.alpha == 1 else f' stroke-opacity="{_short(mark.alpha)}"'
    dashes = f' stroke-dasharray="{",".join(map(_short, mark.dash))}"' if mark.dash else ""
    width = "" if mark.width == 1 else f' stroke-width="{_short(mark.width)}"'
    return f'<path d="M {_path(mark.spots)}" fill="none"{dashes} stroke="{colour}"{faint}{width}/>'


def _words(mark: Words, colour: str) -> str:
    x, y = _short(mark.x), _short(mark.y)
    turned = f' transform="rotate({_short(-mark.angle)} {x} {y})"' if mark.angle else ""
    bold = ' font-weight="700"' if mark.bold else ""
    anchor = "" if mark.anchor == "start" else f' text-anchor="{mark.anchor}"'
    size = f'font-size="{_short(mark.size)}"'
    return f'<text x="{x}" y="{y}"{turned} {size}{bold}{anchor} fill="{colour}">{escape(mark.text)}</text>'


def _outline(spots: Sequence[Spot]) -> str:
    """A closed one; rectangles are most of all areas and have a shorter form."""
    if len(spots) == 4:
        (left, top), (right, also_top), (also_right, bottom), (also_left, also_bottom) = spots
        if (top, right, bottom, left) == (also_top, also_right, also_bottom, also_left):
            return f"M{_short(left)} {_short(top)}H{_short(right)}V{_short(bottom)}H{_short(left)}z"
    return f"M {_path(spots)} z "


def _path(spots: Sequence[Spot]) -> str:
    return " L ".join(f"{_short(x)} {_short(y)}" for x, y in spots)


def _short(value: float) -> str:
    """A tenth of a hundredth of a pixel is nothing to see: two digits behind the point."""
    return f"{round(value, 2) + 0.0:g}" if abs(value) < 1e5 else f"{value:.0f}"
