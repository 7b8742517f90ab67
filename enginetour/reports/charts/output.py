"""SVG, PNG, frame.

Nothing of matplotlib is loaded before the first PNG, and its pyplot never: a figure is an object like
another. What a user has set for matplotlib holds for other programs, not for these pictures: the same rows are the
same bytes.
"""

from __future__ import annotations

import io
import logging
import os
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path as File
from typing import TYPE_CHECKING, Literal
from unicodedata import east_asian_width
from xml.sax.saxutils import escape, quoteattr

from enginetour.reports.charts.canvas import (
    LIGHT_COLORS,
    SMALL_SIZE,
    TEXT_SIZE,
    TITLE_HEIGHT,
    TITLE_SIZE,
    XY,
    Anchor,
    Area,
    Label,
    Line,
    Mark,
    Picture,
    Scale,
    Tooltip,
    clean_text,
    format_tick,
    rectangle,
    short_name,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure
    from PIL import ImageFont


# A picture as SVG text for a page, as an SVG file, and as PNG bytes, which matplotlib draws.

_EM = 100  # size at which letters are measured
_UNIT_DPI = 72  # of matplotlib: one unit of ours is one of its points, and one unit of its viewBox
PNG_SCALE = 2  # pixels a unit: sharp on the screens of today
_LONGEST_SIDE = 16_000  # pixels of a PNG: a longer one is drawn smaller; browsers and forums show no more
MARGIN = 12.0  # units of paper around a picture that stands on its own
_PNG_COLOURS = 128  # of its palette: a dozen, and their mixtures at the edges of letters
# Whose letters DejaVu Sans, which matplotlib brings along, does not have: those of them that the machine has.
_FALLBACKS = ("Noto Sans CJK JP", "Noto Sans", "Noto Sans Devanagari", "Noto Sans Thai", "Noto Emoji", "Unifont")
_ANCHORS: dict[Anchor, Literal["left", "center", "right"]] = {"start": "left", "middle": "center", "end": "right"}
_drawing = threading.RLock()  # matplotlib is not made for threads (its FAQ), and the live page has some


def svg(picture: Picture) -> str:
    """One ``<svg>`` element for a page: its colours are the page's variables, its letters the page's.

    The title is not drawn, as pages have headings: it is the element's name for who cannot see it.
    """
    return inline(picture)


def svg_file(picture: Picture) -> str:
    """A whole SVG file in the light colours."""
    return _standalone(picture, MARGIN)


def png(picture: Picture) -> bytes:
    """In the light colours, two pixels a unit."""
    sink = io.BytesIO()
    scale = min(PNG_SCALE, _LONGEST_SIDE / (max(picture.width, picture.height) + 2 * MARGIN))
    with _matplotlib_lock():
        _figure(picture).savefig(sink, format="png", dpi=_UNIT_DPI * scale, metadata={"Software": None})
        return _fewer_colours(sink)


def _fewer_colours(sink: io.BytesIO) -> bytes:
    """The same picture with a palette: 48 KB where 134 were (a list of 14), and forums count them."""
    from PIL import Image

    packed = io.BytesIO()
    with Image.open(sink) as whole:
        few = whole.convert("RGB").quantize(_PNG_COLOURS, dither=Image.Dither.NONE)
        few.save(packed, format="png")  # 9, the best, takes 12 times as long for a tenth less
    return packed.getvalue()


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Units that the text takes in the letters of a PNG, sign by sign; those of a page are seldom wider."""
    return sum(_advance(sign, bold=bold) for sign in text) * size


@cache
def _advance(sign: str, *, bold: bool) -> float:
    """Of one sign, in ems; wide ones, which the font does not have, take one."""
    return 1.0 if east_asian_width(sign) in "WF" else _font(bold=bold).getlength(sign) / _EM


@cache
def _font(*, bold: bool) -> ImageFont.FreeTypeFont:
    """Matplotlib's own: measuring with it does not load matplotlib, which takes as long as the rest of a report."""
    from PIL import ImageFont

    path = _data_dir() / "fonts" / "ttf" / f"DejaVuSans{'-Bold' if bold else ''}.ttf"
    return ImageFont.truetype(str(path), _EM, layout_engine=ImageFont.Layout.BASIC)


def _data_dir() -> File:
    import importlib.util

    spec = importlib.util.find_spec("matplotlib")
    assert spec is not None and spec.origin is not None, "a dependency of enginetour"
    return File(spec.origin).parent / "mpl-data"


@contextmanager
def _matplotlib_lock() -> Iterator[None]:
    """One thread at a time, matplotlib as we want it.

    Letters that no font here has are boxes in a PNG and themselves in an SVG: nothing to warn of.
    """
    with _drawing, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _prepare()
        yield


@cache
def _prepare() -> None:
    """Load matplotlib with its own defaults, whatever files and variables of a user say, and set what is ours."""
    logging.getLogger("matplotlib").setLevel(logging.CRITICAL)  # of caches and fonts it would tell on stderr
    theirs = {name: os.environ.pop(name, None) for name in ("MPLBACKEND", "MATPLOTLIBRC")}
    os.environ["MATPLOTLIBRC"] = str(_data_dir() / "matplotlibrc")
    try:
        import matplotlib as mpl
        from matplotlib import font_manager
    finally:
        del os.environ["MATPLOTLIBRC"]
        os.environ.update({name: value for name, value in theirs.items() if value is not None})
    there = set(font_manager.get_font_names())
    mpl.rcParams.update({
        "font.family": ["DejaVu Sans", *(name for name in _FALLBACKS if name in there)],
        "text.parse_math": False,  # a name may have two dollar signs
        "text.usetex": False,
        "path.sketch": None,
    })  # fmt: skip


def _figure(picture: Picture) -> Figure:
    """The figure with a margin around."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.transforms import Affine2D

    size = ((picture.width + 2 * MARGIN) / _UNIT_DPI, (picture.height + 2 * MARGIN) / _UNIT_DPI)
    figure = Figure(figsize=size, dpi=_UNIT_DPI, facecolor=LIGHT_COLORS["paper"])
    FigureCanvasAgg(figure)
    scaled = Affine2D().translate(MARGIN, MARGIN).scale(1 / _UNIT_DPI, -1 / _UNIT_DPI).translate(0, size[1])
    units = scaled + figure.dpi_scale_trans
    for order, mark in enumerate(picture.marks):
        if not isinstance(mark, Tooltip):
            artist = _artist(mark, LIGHT_COLORS[mark.role])
            artist.set_zorder(order)
            figure.add_artist(artist)
            artist.set_transform(units)
    return figure


def _artist(mark: Line | Area | Label, colour: str) -> Artist:
    from matplotlib.lines import Line2D
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path
    from matplotlib.text import Text

    if isinstance(mark, Label):
        return Text(
            *(mark.x, mark.y, mark.text),
            color=colour,
            fontsize=mark.size,
            fontweight="bold" if mark.bold else "normal",
            horizontalalignment=_ANCHORS[mark.anchor],
            verticalalignment="baseline",
            rotation=mark.angle,
            rotation_mode="anchor",
        )
    if isinstance(mark, Line):
        dash: Literal["solid"] | tuple[float, tuple[float, ...]] = "solid"
        if mark.dash:  # in matplotlib they are multiples of the line's width
            dash = (0.0, tuple(length / mark.width for length in mark.dash))
        xs, ys = zip(*mark.spots, strict=True)
        return Line2D(
            xs, ys, color=colour, linewidth=mark.width, linestyle=dash, alpha=mark.alpha, dash_capstyle="butt"
        )
    codes = [
        code for outline in mark.outlines for code in (Path.MOVETO, *[Path.LINETO] * (len(outline) - 1), Path.CLOSEPOLY)
    ]
    places = [spot for outline in mark.outlines for spot in (*outline, outline[0])]
    return PathPatch(Path(places, codes), facecolor=colour, edgecolor="none", linewidth=0, alpha=mark.alpha)


# A picture as SVG text, fit to stand in a page: no ids, no styles, no namespace, short numbers.
#
# A page may hold many pictures, so none has an id that another could have; and a page may forbid styles in elements, so
# colours and sizes are attributes, which can name the page's variables as well (CSS Values, presentation attributes).

_NAMESPACE = "http://www.w3.org/2000/svg"
_WIDE_FROM = 760  # units: a wider picture has small letters in the width of a text, a page may give it more
_VARIABLES = {role: f"var(--{role})" for role in LIGHT_COLORS}
# What a file on its own says once for all its text: what people's screens have, then what PNGs are drawn with.
_LETTERS = "system-ui, 'DejaVu Sans', sans-serif"


def inline(picture: Picture) -> str:
    """Return the element for a page, without the title, which pages have as a heading: colours by variable.

    It has a role and a name for who cannot see it.
    """
    view = f"0 {_short(TITLE_HEIGHT)} {_short(picture.width)} {_short(picture.height - TITLE_HEIGHT)}"
    kind = "chart wide" if picture.width > _WIDE_FROM else "chart"
    head = f'<svg class="{kind}" viewBox="{view}" role="img" aria-label={quoteattr(picture.title)}>'
    lines = [head, f"<desc>{escape(picture.summary)}</desc>", *_svg_elements(picture.marks[1:], _VARIABLES), "</svg>"]
    return "\n".join(lines) + "\n"


def _standalone(picture: Picture, margin: float) -> str:
    """The same as a file of its own, on white with a margin."""
    width, height = (_short(side + 2 * margin) for side in (picture.width, picture.height))
    view = f'viewBox="{_short(-margin)} {_short(-margin)} {width} {height}"'
    head = f'<svg xmlns="{_NAMESPACE}" {view} width="{width}" height="{height}" role="img" font-family="{_LETTERS}">'
    paper = (
        f'<rect x="{_short(-margin)}" y="{_short(-margin)}" width="100%" height="100%" fill="{LIGHT_COLORS["paper"]}"/>'
    )
    words = [f"<title>{escape(picture.title)}</title>", f"<desc>{escape(picture.summary)}</desc>"]
    first = '<?xml version="1.0" encoding="UTF-8"?>'
    return "\n".join([first, head, *words, paper, *_svg_elements(picture.marks, LIGHT_COLORS), "</svg>"]) + "\n"


def _svg_elements(marks: Sequence[Mark], colours: Mapping[str, str]) -> Iterator[str]:
    """What is seen in its order, and over it what a pointer finds."""
    for mark in marks:
        if isinstance(mark, Line):
            yield _line(mark, colours[mark.role])
        elif isinstance(mark, Area):
            faint = "" if mark.alpha == 1 else f' opacity="{_short(mark.alpha)}"'
            yield f'<path d="{"".join(map(_outline, mark.outlines)).rstrip()}" fill="{colours[mark.role]}"{faint}/>'
        elif isinstance(mark, Label):
            yield _label(mark, colours[mark.role])
    for mark in marks:
        if isinstance(mark, Tooltip):
            place = zip(("x", "y", "width", "height"), (mark.x, mark.y, mark.width, mark.height), strict=True)
            told = " ".join(f'{name}="{_short(value)}"' for name, value in place)
            yield f'<rect {told} fill="none" pointer-events="all"><title>{escape(mark.text)}</title></rect>'


def _line(mark: Line, colour: str) -> str:
    faint = "" if mark.alpha == 1 else f' stroke-opacity="{_short(mark.alpha)}"'
    dashes = f' stroke-dasharray="{",".join(map(_short, mark.dash))}"' if mark.dash else ""
    width = "" if mark.width == 1 else f' stroke-width="{_short(mark.width)}"'
    return f'<path d="M {_path(mark.spots)}" fill="none"{dashes} stroke="{colour}"{faint}{width}/>'


def _label(mark: Label, colour: str) -> str:
    x, y = _short(mark.x), _short(mark.y)
    turned = f' transform="rotate({_short(-mark.angle)} {x} {y})"' if mark.angle else ""
    bold = ' font-weight="700"' if mark.bold else ""
    anchor = "" if mark.anchor == "start" else f' text-anchor="{mark.anchor}"'
    size = f'font-size="{_short(mark.size)}"'
    return f'<text x="{x}" y="{y}"{turned} {size}{bold}{anchor} fill="{colour}">{escape(mark.text)}</text>'


def _outline(spots: Sequence[XY]) -> str:
    """A closed one; rectangles are most of all areas and have a shorter form."""
    if len(spots) == 4:
        (left, top), (right, also_top), (also_right, bottom), (also_left, also_bottom) = spots
        if (top, right, bottom, left) == (also_top, also_right, also_bottom, also_left):
            return f"M{_short(left)} {_short(top)}H{_short(right)}V{_short(bottom)}H{_short(left)}z"
    return f"M {_path(spots)} z "


def _path(spots: Sequence[XY]) -> str:
    return " L ".join(f"{_short(x)} {_short(y)}" for x, y in spots)


def _short(value: float) -> str:
    """A tenth of a hundredth of a pixel is nothing to see: two digits behind the point."""
    return f"{round(value, 2) + 0.0:g}" if abs(value) < 1e5 else f"{value:.0f}"


# What the charts share: a heading, rows with names, an axis below with its grid, a legend.

CHART_WIDTH = 720.0  # units: what a page of text is wide, and a post in a forum
HEADING_HEIGHT = 34.0  # of the title
AXIS_HEIGHT = 18.0  # of the numbers at an axis


def heading(title: str, width: float = CHART_WIDTH) -> list[Mark]:
    """The title; shortened where it would run out of the picture."""
    return [Label(0, 16, fit_text(title, width, TITLE_SIZE, bold=True), size=TITLE_SIZE, bold=True)]


def fit_text(text: str, room: float, size: float = TEXT_SIZE, *, bold: bool = False) -> str:
    """Foreign words in at most `room` units, without their middle where they are longer."""
    whole = clean_text(text)
    # A sign is two columns wide at most, and no word is made of signs narrower than 0.3 only.
    most = min(2 * len(whole), int(room / (size * 0.3)))
    short = short_name(whole, max(1, most))
    while most > 1 and text_width(short, size, bold=bold) > room:
        most = min(most - 1, int(most * max(0.5, room / text_width(short, size, bold=bold))))
        short = short_name(whole, max(1, most))
    return short


def name_column_width(names: Sequence[str], most: float, size: float = TEXT_SIZE) -> float:
    """Room for the longest of them as `brief` has it, `most` at most."""
    return min(most, max((text_width(short_name(name), size) for name in names), default=0.0) + 1)


def row_bands(count: int, row: float, top: float, width: float) -> list[Mark]:
    """Every second row on a shade, for eyes that follow one."""
    odd = tuple(rectangle(0, top + place * row, width, row) for place in range(1, count, 2))
    return [Area(odd, "grid", 0.3)] if odd else []


def x_axis(
    scale: Scale,
    top: float,
    bottom: float,
    words: str = "",
    *,
    above: bool = False,
    grid: bool = True,
    say: Callable[[float], str] = format_tick,
) -> Iterator[Mark]:
    """A scale from left to right: grid or short strokes, numbers below (and `above`), what they count.

    A tick of which there is nothing to `say` is left out.
    """
    for tick in scale.ticks(max(2, int(abs(scale.end - scale.start) / 60))):
        x = scale.at(tick)
        if not say(tick):
            continue
        yield Line(((x, top if grid else bottom - 1), (x, bottom + (not grid) * 3)), "grid" if grid else "muted")
        yield Label(x, bottom + 13, say(tick), "muted", SMALL_SIZE, "middle")
        if above:
            yield Label(x, top - 5, say(tick), "muted", SMALL_SIZE, "middle")
    if words:
        yield Label((scale.start + scale.end) / 2, bottom + 28, words, "muted", SMALL_SIZE, "middle")


def y_axis(scale: Scale, left: float, right: float, *, say: Callable[[float], str] = format_tick) -> Iterator[Mark]:
    """A scale from bottom to top: grid, and numbers on the left."""
    for tick in _y_ticks(scale):
        y = scale.at(tick)
        if not say(tick):
            continue
        yield Line(((left, y), (right, y)), "grid")
        yield Label(left - 6, y + 3.5, say(tick), "muted", SMALL_SIZE, "end")


def y_axis_width(scale: Scale, say: Callable[[float], str] = format_tick) -> float:
    """Room for the numbers of an upward scale."""
    return max(46.0, *(text_width(say(tick), SMALL_SIZE) + 10 for tick in _y_ticks(scale)))


def _y_ticks(scale: Scale) -> list[float]:
    return scale.ticks(max(2, int(abs(scale.end - scale.start) / 40)))


def empty_message(words: str, y: float, width: float = CHART_WIDTH) -> Mark:
    """What stands where there is nothing to draw."""
    return Label(width / 2, y, words, "muted", TEXT_SIZE, "middle")
