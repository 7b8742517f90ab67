"""What matplotlib writes as SVG, made fit to stand in a page: no ids, no styles, no namespace, short numbers.

A page may hold many pictures, so none has an id that another could have; and a page may forbid styles in elements, so
colours and sizes are attributes, which can name the page's variables as well (CSS Values, presentation attributes).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape, quoteattr

from enginetour.reports.charts.marks import TITLE_HEIGHT, Picture, Tip
from enginetour.reports.charts.palette import BY_SENTINEL, LIGHT

NAMESPACE = "http://www.w3.org/2000/svg"
WIDE = 760  # units: a wider picture has small letters in the width of a text, a page may give it more
_RECTANGLE = re.compile(r"M (\S+) (\S+) L (\S+) \2 L \3 (\S+) L \1 \4 z ?")
_DECIMALS = re.compile(r"-?\d+\.\d+")
_KEPT = {"fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "fill-opacity", "stroke-opacity"}
_KEPT |= {"font-size", "font-weight", "text-anchor"}
_IDLE = {("opacity", "1"), ("text-anchor", "start"), ("font-weight", "400"), ("stroke", "none"), ("stroke-width", "1")}
# What a file on its own says once for all its text: what people's screens have, then what PNGs are drawn with.
_LETTERS = "system-ui, 'DejaVu Sans', sans-serif"


def inline(raw: str, picture: Picture) -> str:
    """The element for a page: role and name for who cannot see it, colours by variable."""
    variables = {role: f"var(--{role})" for role in BY_SENTINEL.values()}
    view = f"0 {_short(TITLE_HEIGHT)} {_short(picture.width)} {_short(picture.height - TITLE_HEIGHT)}"
    kind = "chart wide" if picture.width > WIDE else "chart"
    head = f'<svg class="{kind}" viewBox="{view}" role="img" aria-label={quoteattr(picture.title)}>'
    lines = [head, f"<desc>{escape(picture.summary)}</desc>", *_marks(raw, variables), *_tips(picture), "</svg>"]
    return "\n".join(lines) + "\n"


def standalone(raw: str, picture: Picture, margin: float) -> str:
    """The same as a file of its own, on white with a margin."""
    width, height = (_short(side + 2 * margin) for side in (picture.width, picture.height))
    view = f'viewBox="{_short(-margin)} {_short(-margin)} {width} {height}"'
    head = f'<svg xmlns="{NAMESPACE}" {view} width="{width}" height="{height}" role="img" font-family="{_LETTERS}">'
    paper = f'<rect x="{_short(-margin)}" y="{_short(-margin)}" width="100%" height="100%" fill="{LIGHT["paper"]}"/>'
    words = [f"<title>{escape(picture.title)}</title>", f"<desc>{escape(picture.summary)}</desc>"]
    first = '<?xml version="1.0" encoding="UTF-8"?>'
    return "\n".join([first, head, *words, paper, *_marks(raw, LIGHT), *_tips(picture), "</svg>"]) + "\n"


def _marks(raw: str, colours: Mapping[str, str]) -> Iterator[str]:
    """Paths and texts in their order; everything else that matplotlib writes is frame."""
    for element in ET.fromstring(raw).iter():  # noqa: S314  # matplotlib wrote it a moment ago
        tag = element.tag.rpartition("}")[2]
        if tag == "path":
            path = _shortened(" ".join(element.get("d", "").split()))
            attributes = {"d": _RECTANGLE.sub(r"M\1 \2H\3V\4H\1z", path)}
            body = "/>"
        elif tag == "text":
            attributes = {name: _short(float(element.get(name, "0"))) for name in ("x", "y")}
            turned = _shortened(element.get("transform", ""))
            attributes |= {} if turned.startswith(("rotate(-0 ", "rotate(0 ")) else {"transform": turned}
            body = f">{escape(element.text or '')}</text>"
        else:
            continue
        attributes |= _presented(element.get("style", ""), colours)
        told = " ".join(f'{name}="{value}"' for name, value in attributes.items())  # numbers, colours, anchors
        yield f"<{tag} {told}{body}"


def _presented(style: str, colours: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The attributes that say what a style says, less what is so anyway."""
    for part in style.split(";"):
        name, _, value = (piece.strip() for piece in part.partition(":"))
        if name in _KEPT and (name, value) not in _IDLE:
            role = BY_SENTINEL.get(value)
            yield name, colours[role] if role else _shortened(value.removesuffix("px"))


def _tips(picture: Picture) -> Iterator[str]:
    for mark in picture.marks:
        if isinstance(mark, Tip):
            place = zip(("x", "y", "width", "height"), (mark.x, mark.y, mark.width, mark.height), strict=True)
            told = " ".join(f'{name}="{_short(value)}"' for name, value in place)
            yield f'<rect {told} fill="none" pointer-events="all"><title>{escape(mark.text)}</title></rect>'


def _shortened(text: str) -> str:
    return _DECIMALS.sub(lambda found: _short(float(found[0])), text)


def _short(value: float) -> str:
    """A tenth of a hundredth of a pixel is nothing to see: two digits behind the point."""
    return f"{round(value, 2) + 0.0:g}" if abs(value) < 1e5 else f"{value:.0f}"
