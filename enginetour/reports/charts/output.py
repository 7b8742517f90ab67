"""Output of charts as SVG and PNG, and the parts that all charts share.

matplotlib is only loaded for the first PNG, and without pyplot. The user's settings of matplotlib are ignored, so that
the same data always produce the same bytes.
"""

from __future__ import annotations

import io
import logging
import os
import threading
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path as File
from typing import TYPE_CHECKING, Literal
from unicodedata import east_asian_width

from enginetour.model.errors import UsageRefused
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

# PNG, drawn by matplotlib.

_EM = 100  # unit of the widths of characters
_UNIT_DPI = 72  # dots per inch, so that one unit of a picture is one point of matplotlib
PNG_SCALE = 2  # pixels per unit, for screens with a high resolution
_LONGEST_SIDE = 16_000  # pixels; a longer PNG is made smaller, because browsers and forums do not show larger pictures
MARGIN = 12.0  # units; margin around a picture file
_PNG_COLORS = 128  # size of the palette; it contains a dozen colors, and their mixtures at the edges of characters
# Fonts for characters that DejaVu Sans, the font of matplotlib, does not contain. Fonts that are installed are used.
_FALLBACKS = ("Noto Sans CJK JP", "Noto Sans", "Noto Sans Devanagari", "Noto Sans Thai", "Noto Emoji", "Unifont")
_ANCHORS: dict[Anchor, Literal["left", "center", "right"]] = {"start": "left", "middle": "center", "end": "right"}
_drawing = threading.RLock()  # needed because matplotlib is not thread-safe (its FAQ), and the live page has threads


def png(picture: Picture) -> bytes:
    """Return the picture as a PNG with the light colors and two pixels per unit."""
    sink = io.BytesIO()
    scale = min(PNG_SCALE, _LONGEST_SIDE / (max(picture.width, picture.height) + 2 * MARGIN))
    with _matplotlib_lock():
        _figure(picture).savefig(sink, format="png", dpi=_UNIT_DPI * scale, metadata={"Software": None})
        return _reduce_colors(sink)


def _reduce_colors(sink: io.BytesIO) -> bytes:
    """Convert the PNG to a palette. This reduces the chart of 14 engines from 134 KB to 48 KB."""
    from PIL import Image

    packed = io.BytesIO()
    with Image.open(sink) as whole:
        few = whole.convert("RGB").quantize(_PNG_COLORS, dither=Image.Dither.NONE)
        few.save(packed, format="png")  # level 9 would take 12 times as long and save 10 %
    return packed.getvalue()


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Return the width of a text in a PNG, in units. The fonts of pages are seldom wider."""
    return sum(_advance(char, bold=bold) for char in text) * size


def _advance(char: str, *, bold: bool) -> float:
    """Return the width of one character in ems. Wide characters are not in the font; their width is one em."""
    widths = _widths(bold=bold)
    return 1.0 if east_asian_width(char) in "WF" else widths[min(ord(char), len(widths) - 1)] / _EM


@cache
def _widths(*, bold: bool) -> bytes:
    """Return the width of each character of DejaVu Sans in hundredths of an em, measured at the size of 100 pixels.

    Characters that the font does not have, among them the last one, get the width of the box that is shown for them.
    The widths are bundled, so that SVG charts need neither matplotlib nor its font.
    """
    both = zlib.decompress((File(__file__).parent / "widths.zlib").read_bytes())
    half = len(both) // 2
    return both[half:] if bold else both[:half]


def _data_dir() -> File:
    import importlib.util

    spec = importlib.util.find_spec("matplotlib")
    if spec is None or spec.origin is None:
        step = "run pip install 'enginetour[charts]', or draw an SVG file"
        raise UsageRefused("charts as PNG need the package matplotlib, which is not installed", step=step)
    return File(spec.origin).parent / "mpl-data"


@contextmanager
def _matplotlib_lock() -> Iterator[None]:
    """Prepare matplotlib, and allow only one thread at a time to use it.

    Characters that no font contains are shown as boxes in a PNG. Warnings about them are turned off.
    """
    with _drawing, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _prepare()
        yield


@cache
def _prepare() -> None:
    """Load matplotlib with its defaults, ignoring the user's files and variables, and change a few settings."""
    logging.getLogger("matplotlib").setLevel(logging.CRITICAL)  # otherwise it writes about caches and fonts to stderr
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
        "text.parse_math": False,  # a name may contain two dollar signs, which would begin and end a formula
        "text.usetex": False,
        "path.sketch": None,
    })  # fmt: skip


def _figure(picture: Picture) -> Figure:
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


def _artist(mark: Line | Area | Label, color: str) -> Artist:
    from matplotlib.lines import Line2D
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path
    from matplotlib.text import Text

    if isinstance(mark, Label):
        return Text(
            *(mark.x, mark.y, mark.text),
            color=color,
            fontsize=mark.size,
            fontweight="bold" if mark.bold else "normal",
            horizontalalignment=_ANCHORS[mark.anchor],
            verticalalignment="baseline",
            rotation=mark.angle,
            rotation_mode="anchor",
        )
    if isinstance(mark, Line):
        dash: Literal["solid"] | tuple[float, tuple[float, ...]] = "solid"
        if mark.dash:  # in matplotlib, the lengths are multiples of the line width
            dash = (0.0, tuple(length / mark.width for length in mark.dash))
        xs, ys = zip(*mark.spots, strict=True)
        return Line2D(xs, ys, color=color, linewidth=mark.width, linestyle=dash, alpha=mark.alpha, dash_capstyle="butt")
    codes = [
        code for outline in mark.outlines for code in (Path.MOVETO, *[Path.LINETO] * (len(outline) - 1), Path.CLOSEPOLY)
    ]
    places = [spot for outline in mark.outlines for spot in (*outline, outline[0])]
    return PathPatch(Path(places, codes), facecolor=color, edgecolor="none", linewidth=0, alpha=mark.alpha)


# SVG. Elements have no ids, because a page can contain several pictures. Colors and sizes are attributes, because pages
# forbid inline styles. Attributes can refer to the CSS variables of the page.

_NAMESPACE = "http://www.w3.org/2000/svg"
_WIDE_FROM = 760  # units; wider pictures are not readable in the width of the text, so pages show them larger
_VARIABLES = {role: f"var(--{role})" for role in LIGHT_COLORS}
# The font of an SVG file is the font of the system or, if there is none, the font of PNG files.
_LETTERS = "system-ui, 'DejaVu Sans', sans-serif"


def svg(picture: Picture, kind: str = "") -> str:
    """Return an ``<svg>`` element for a page, with the colors and the font of the page.

    The title is not drawn, because pages have headings, but it is the accessible name of the element. `kind` is an
    additional CSS class.
    """
    view = f"0 {_short(TITLE_HEIGHT)} {_short(picture.width)} {_short(picture.height - TITLE_HEIGHT)}"
    classes = " ".join(filter(None, ("chart", "wide" if picture.width > _WIDE_FROM else "", kind)))
    head = f'<svg class="{classes}" viewBox="{view}" role="img" aria-label="{_escaped(picture.title)}">'
    lines = [head, f"<desc>{_escaped(picture.summary)}</desc>", *_svg_elements(picture.marks[1:], _VARIABLES), "</svg>"]
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    """Escape a text for an element or an attribute in double quotes."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def svg_file(picture: Picture) -> str:
    """Return the picture as an SVG file with the light colors and a margin."""
    edge, width, height = _short(-MARGIN), _short(picture.width + 2 * MARGIN), _short(picture.height + 2 * MARGIN)
    view = f'viewBox="{edge} {edge} {width} {height}"'
    head = f'<svg xmlns="{_NAMESPACE}" {view} width="{width}" height="{height}" role="img" font-family="{_LETTERS}">'
    paper = f'<rect x="{edge}" y="{edge}" width="100%" height="100%" fill="{LIGHT_COLORS["paper"]}"/>'
    texts = [f"<title>{_escaped(picture.title)}</title>", f"<desc>{_escaped(picture.summary)}</desc>"]
    first = '<?xml version="1.0" encoding="UTF-8"?>'
    return "\n".join([first, head, *texts, paper, *_svg_elements(picture.marks, LIGHT_COLORS), "</svg>"]) + "\n"


def _svg_elements(marks: Sequence[Mark], colors: Mapping[str, str]) -> Iterator[str]:
    """Yield the visible elements in order, and then the tooltips, so that these are on top."""
    for mark in marks:
        if isinstance(mark, Line):
            yield _line(mark, colors[mark.role])
        elif isinstance(mark, Area):
            faint = "" if mark.alpha == 1 else f' opacity="{_short(mark.alpha)}"'
            yield f'<path d="{"".join(map(_outline, mark.outlines)).rstrip()}" fill="{colors[mark.role]}"{faint}/>'
        elif isinstance(mark, Label):
            yield _label(mark, colors[mark.role])
    for mark in marks:
        if isinstance(mark, Tooltip):
            place = f'x="{_short(mark.x)}" y="{_short(mark.y)}"'
            box = f'{place} width="{_short(mark.width)}" height="{_short(mark.height)}"'
            yield f'<rect {box} fill="none" pointer-events="all"><title>{_escaped(mark.text)}</title></rect>'


def _line(mark: Line, color: str) -> str:
    faint = "" if mark.alpha == 1 else f' stroke-opacity="{_short(mark.alpha)}"'
    dashes = f' stroke-dasharray="{",".join(map(_short, mark.dash))}"' if mark.dash else ""
    width = "" if mark.width == 1 else f' stroke-width="{_short(mark.width)}"'
    return f'<path d="M {_path(mark.spots)}" fill="none"{dashes} stroke="{color}"{faint}{width}/>'


def _label(mark: Label, color: str) -> str:
    x, y = _short(mark.x), _short(mark.y)
    turned = f' transform="rotate({_short(-mark.angle)} {x} {y})"' if mark.angle else ""
    bold = ' font-weight="700"' if mark.bold else ""
    anchor = "" if mark.anchor == "start" else f' text-anchor="{mark.anchor}"'
    size = f'font-size="{_short(mark.size)}"'
    return f'<text x="{x}" y="{y}"{turned} {size}{bold}{anchor} fill="{color}">{_escaped(mark.text)}</text>'


def _outline(spots: Sequence[XY]) -> str:
    """Return a closed path. Rectangles have a shorter form, because most areas are rectangles."""
    if len(spots) == 4:
        (left, top), (right, also_top), (also_right, bottom), (also_left, also_bottom) = spots
        if (top, right, bottom, left) == (also_top, also_right, also_bottom, also_left):
            return f"M{_short(left)} {_short(top)}H{_short(right)}V{_short(bottom)}H{_short(left)}z"
    return f"M {_path(spots)} z "


def _path(spots: Sequence[XY]) -> str:
    return " L ".join([f"{_short(x)} {_short(y)}" for x, y in spots])


@lru_cache(4096)  # the charts of all engines share most of their coordinates
def _short(value: float) -> str:
    """Format a number with at most two decimals."""
    return f"{round(value, 2) + 0.0:g}" if abs(value) < 1e5 else f"{value:.0f}"


# Parts that all charts share: heading, rows with names, axes.

CHART_WIDTH = 720.0  # units; the width of the text on a page, and of a post in a forum
PHONE_WIDTH = 360.0  # units; the width of a chart on a phone
HEADING_HEIGHT = 34.0  # units; the height of the title
AXIS_HEIGHT = 18.0  # units; the height of the numbers of an axis


def framed(title: str, summary: str, width: float, height: float, marks: Sequence[Mark]) -> Picture:
    """Return the picture of these marks below its title, which is shortened to the width."""
    head = Label(0, 16, fit_text(title, width, TITLE_SIZE, bold=True), size=TITLE_SIZE, bold=True)
    return Picture(clean_text(title), summary, width, height, (head, *marks))


def with_title(picture: Picture, title: str) -> Picture:
    """Return the picture with another title."""
    return framed(title, picture.summary, picture.width, picture.height, picture.marks[1:])


def fit_text(text: str, room: float, size: float = TEXT_SIZE, *, bold: bool = False) -> str:
    """Shorten a text in its middle, so that its width is at most `room` units."""
    whole = clean_text(text)
    # A character is at most two columns wide, and the average width of the characters of a text is at least 0.3 em.
    most = min(2 * len(whole), int(room / (size * 0.3)))
    short = short_name(whole, max(1, most))
    while most > 1 and text_width(short, size, bold=bold) > room:
        most = min(most - 1, int(most * max(0.5, room / text_width(short, size, bold=bold))))
        short = short_name(whole, max(1, most))
    return short


def name_column_width(names: Sequence[str], most: float, size: float = TEXT_SIZE) -> float:
    """Return the width of the longest name, but at most `most`."""
    return min(most, max((text_width(short_name(name), size) for name in names), default=0.0) + 1)


def name_space(names: Sequence[str], width: float, size: float = TEXT_SIZE, share: float = 0.4) -> tuple[float, float]:
    """Return the width of the column of names, at most a share of `width`, and the height of a line for each name.

    On a phone, names that are longer than the column have a line of their own, and the column has no width. Otherwise
    that line has no height.
    """
    column = name_column_width(names, share * width, size)
    if width > PHONE_WIDTH or all(text_width(clean_text(name), size) <= column for name in names):
        return column, 0.0
    return 0.0, size + 4


def row_bands(count: int, row: float, top: float, width: float) -> list[Mark]:
    """Return the shades of every second row."""
    odd = tuple(rectangle(0, top + place * row, width, row) for place in range(1, count, 2))
    return [Area(odd, "grid", 0.3)] if odd else []


def x_axis(
    scale: Scale,
    top: float,
    bottom: float,
    label: str = "",
    *,
    above: bool = False,
    grid: bool = True,
    say: Callable[[float], str] = format_tick,
) -> Iterator[Mark]:
    """Yield the marks of a horizontal axis: grid or ticks, numbers below (also above if `above`), and the label.

    Ticks for which `say` returns an empty text are omitted.
    """
    for x, text in _ticks(scale, 50, say):
        yield Line(((x, top if grid else bottom - 1), (x, bottom + (not grid) * 3)), "grid" if grid else "muted")
        yield Label(x, bottom + 13, text, "muted", SMALL_SIZE, "middle")
        if above:
            yield Label(x, top - 5, text, "muted", SMALL_SIZE, "middle")
    if label:
        yield Label((scale.start + scale.end) / 2, bottom + 28, label, "muted", SMALL_SIZE, "middle")


def y_axis(scale: Scale, left: float, right: float, *, say: Callable[[float], str] = format_tick) -> Iterator[Mark]:
    """Yield the marks of a vertical axis: its grid, and the numbers on the left."""
    for y, text in _ticks(scale, 40, say):
        yield Line(((left, y), (right, y)), "grid")
        yield Label(left - 6, y + 3.5, text, "muted", SMALL_SIZE, "end")


def y_axis_width(scale: Scale, say: Callable[[float], str] = format_tick) -> float:
    """Return the width of the numbers of a vertical axis."""
    return max([46.0, *(text_width(text, SMALL_SIZE) + 10 for _, text in _ticks(scale, 40, say))])


def _ticks(scale: Scale, apart: float, say: Callable[[float], str]) -> Iterator[tuple[float, str]]:
    """Yield the position and the text of each tick that has a text. They are about `apart` units apart."""
    for tick in scale.ticks(max(2, int(abs(scale.end - scale.start) / apart))):
        if text := say(tick):
            yield scale.at(tick), text


def empty_message(text: str, y: float, width: float = CHART_WIDTH) -> Mark:
    """Return the mark of a text for a chart without data."""
    return Label(width / 2, y, text, "muted", TEXT_SIZE, "middle")


def picture_file(picture: Picture, path: File) -> bytes:
    """Return a picture in the format that the ending of the file selects: PNG for .png, otherwise SVG."""
    return png(picture) if path.suffix.lower() == ".png" else svg_file(picture).encode()
