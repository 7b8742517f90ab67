"""A picture as SVG text for a page, as an SVG file, and as PNG bytes, which matplotlib draws.

Nothing of matplotlib is loaded before the first PNG or measured text, and its pyplot never: a figure is an object like
another. What a user has set for matplotlib holds for other programs, not for these pictures: the same rows are the
same bytes.
"""

from __future__ import annotations

import io
import logging
import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path as File
from typing import TYPE_CHECKING, Literal

from enginetour.reports.charts.marks import Anchor, Area, Line, Picture, Tip, Words
from enginetour.reports.charts.palette import LIGHT

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

UNIT_DPI = 72  # of matplotlib: one unit of ours is one of its points, and one unit of its viewBox
PNG_SCALE = 2  # pixels a unit: sharp on the screens of today
LONGEST_SIDE = 16_000  # pixels of a PNG: a longer one is drawn smaller; browsers and forums show no more
MARGIN = 12.0  # units of paper around a picture that stands on its own
PNG_COLOURS = 128  # of its palette: a dozen, and their mixtures at the edges of letters
# Whose letters DejaVu Sans, which matplotlib brings along, does not have: those of them that the machine has.
_FALLBACKS = ("Noto Sans CJK JP", "Noto Sans", "Noto Sans Devanagari", "Noto Sans Thai", "Noto Emoji", "Unifont")
_ANCHORS: dict[Anchor, Literal["left", "center", "right"]] = {"start": "left", "middle": "center", "end": "right"}
_drawing = threading.RLock()  # matplotlib is not made for threads (its FAQ), and the live page has some


def svg(picture: Picture) -> str:
    """One ``<svg>`` element for a page: its colours are the page's variables, its letters the page's.

    The title is not drawn, as pages have headings: it is the element's name for who cannot see it.
    """
    from enginetour.reports.charts.tidy import inline

    return inline(picture)


def svg_file(picture: Picture) -> str:
    """A whole SVG file in the light colours."""
    from enginetour.reports.charts.tidy import standalone

    return standalone(picture, MARGIN)


def png(picture: Picture) -> bytes:
    """In the light colours, two pixels a unit."""
    sink = io.BytesIO()
    scale = min(PNG_SCALE, LONGEST_SIDE / (max(picture.width, picture.height) + 2 * MARGIN))
    with _ready():
        _drawn(picture).savefig(sink, format="png", dpi=UNIT_DPI * scale, metadata={"Software": None})
        return _fewer_colours(sink)


def _fewer_colours(sink: io.BytesIO) -> bytes:
    """The same picture with a palette: 48 KB where 134 were (a list of 14), and forums count them."""
    from PIL import Image

    packed = io.BytesIO()
    with Image.open(sink) as whole:
        few = whole.convert("RGB").quantize(PNG_COLOURS, dither=Image.Dither.NONE)
        few.save(packed, format="png")  # 9, the best, takes 12 times as long for a tenth less
    return packed.getvalue()


def width_of(text: str, size: float, *, bold: bool = False) -> float:
    """Units that the text takes in the letters of a PNG, sign by sign; those of a page are seldom wider."""
    return sum(_advance(sign, bold=bold) for sign in text) * size


@cache
def _advance(sign: str, *, bold: bool) -> float:
    """Of one sign, in ems."""
    with _ready():
        from matplotlib.font_manager import FontProperties
        from matplotlib.textpath import text_to_path

        font = FontProperties(size=100, weight="bold" if bold else "normal")
        return float(text_to_path.get_text_width_height_descent(sign, font, ismath=False)[0]) / 100


@contextmanager
def _ready() -> Iterator[None]:
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
    import importlib.util

    logging.getLogger("matplotlib").setLevel(logging.CRITICAL)  # of caches and fonts it would tell on stderr
    spec = importlib.util.find_spec("matplotlib")
    assert spec is not None and spec.origin is not None, "a dependency of enginetour"
    theirs = {name: os.environ.pop(name, None) for name in ("MPLBACKEND", "MATPLOTLIBRC")}
    os.environ["MATPLOTLIBRC"] = str(File(spec.origin).parent / "mpl-data" / "matplotlibrc")
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


def _drawn(picture: Picture) -> Figure:
    """The figure with a margin around."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.transforms import Affine2D

    size = ((picture.width + 2 * MARGIN) / UNIT_DPI, (picture.height + 2 * MARGIN) / UNIT_DPI)
    figure = Figure(figsize=size, dpi=UNIT_DPI, facecolor=LIGHT["paper"])
    FigureCanvasAgg(figure)
    scaled = Affine2D().translate(MARGIN, MARGIN).scale(1 / UNIT_DPI, -1 / UNIT_DPI).translate(0, size[1])
    units = scaled + figure.dpi_scale_trans
    for order, mark in enumerate(picture.marks):
        if not isinstance(mark, Tip):
            artist = _artist(mark, LIGHT[mark.role])
            artist.set_zorder(order)
            figure.add_artist(artist)
            artist.set_transform(units)
    return figure


def _artist(mark: Line | Area | Words, colour: str) -> Artist:
    from matplotlib.lines import Line2D
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path
    from matplotlib.text import Text

    if isinstance(mark, Words):
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
