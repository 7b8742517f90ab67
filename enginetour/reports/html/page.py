"""Templates, site, one-file report."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from enginetour.formats.pairing.standings import CrossRow
from enginetour.reports.sheet import Column, Sheet, format_count, format_points, safe_text
from enginetour.reports.standings import format_duration

if TYPE_CHECKING:
    from jinja2 import Environment
    from jinja2.runtime import Context


# What the pages of one report share: its name, its pages, and how one of them is linked from another.

_LEFT_OUT = "left-out"  # id of the section that says what a single file has no room for
GENERATOR_TAG = '<meta name="generator" content="enginetour report">'  # by which a report is known again


@dataclass(frozen=True, slots=True)
class Site:
    """`pages` are (address, label) of the navigation, addresses from the root of the report.

    `slugs` name the page of each engine by the engine's name; `games` are the numbers that have a page of their own,
    None for all. `prefix` stands before every address of a served report. `single`: all is in one file, but for the
    addresses in `left_out`; who follows a link to one of them is told so.
    """

    title: str
    pages: tuple[tuple[str, str], ...]
    slugs: Mapping[str, str] = field(default_factory=dict)
    games: frozenset[int] | None = None
    foot: str = ""
    prefix: str = ""
    single: bool = False
    left_out: frozenset[str] = frozenset()

    def link(self, address: str, here: str) -> str:
        """Where `address` is, seen from the page `here`."""
        if self.single:
            return f"#{_LEFT_OUT if address in self.left_out else section_id(address)}"
        return self.prefix + address if self.prefix else "../" * here.count("/") + address

    def engine(self, name: str) -> str | None:
        """Address of an engine's page, if it has one."""
        slug = self.slugs.get(name)
        return None if slug is None else f"engines/{slug}.html"

    def game(self, number: int) -> str | None:
        """Address of a game's page, if it has one."""
        return f"games/{number}.html" if self.games is None or number in self.games else None


def section_id(address: str) -> str:
    """The id of a page's section where all are in one file: ``engines-toga``, ``index`` or ``games-12``."""
    page, _, part = address.partition("#")
    return part or page.removesuffix(".html").replace("/", "-")


# Sheets and names as markup: tables whose engines and games lead to their pages. All words are escaped here.

_ENGINE_COLUMNS = frozenset({"name", "engine", "opponent", "white", "black"})  # columns that name engines
_GAME_COLUMNS = frozenset({"number", "game"})  # columns with a game's number
_LONG, _END = 18, 6  # signs of a name that has room on a phone, and of the end that a longer one keeps


def name_markup(name: str, *, cut: bool = False) -> str:
    """A name that keeps its direction to itself; cut to its cell a long one keeps its end, where versions differ."""
    told = safe_text(name)
    if cut and len(told) > _LONG:
        return f'<bdi class="long"><span>{escape(told[:-_END])}</span><span>{escape(told[-_END:])}</span></bdi>'
    return f"<bdi>{escape(told)}</bdi>"


def engine_link(name: str, site: Site, here: str, *, cut: bool = False) -> Markup:
    """A name, isolated from the direction of the words around it, and linked where the engine has a page."""
    shown = name_markup(name, cut=cut)
    address = site.engine(name)
    return _own(shown if address is None else f'<a href="{escape(site.link(address, here))}">{shown}</a>')


def game_link(number: int, site: Site, here: str, words: object = None) -> Markup:
    """A game's number, or other `words` for it, linked where the game has a page."""
    told = escape(number if words is None else words)
    address = site.game(number)
    return told if address is None else _own(f'<a href="{escape(site.link(address, here))}">{told}</a>')


def _own(text: str) -> Markup:
    """Markup of ours, its words escaped: a quarter of the time that `Markup.format` takes (measured)."""
    return Markup(text)  # noqa: S704


def sheet_table(sheet: Sheet, site: Site, here: str, *, label: str = "", kind: str = "") -> Markup:
    """A sheet in its own box that scrolls sideways, with its notes below; `label` is told to screen readers.

    `kind` is one of the style sheet's: ``cross`` for square tables.
    """
    cells = sheet.cells()
    used = [place for place, column in enumerate(sheet.columns) if column.header or any(row[place] for row in cells)]
    columns = [sheet.columns[place] for place in used]
    head = Markup("").join(_head(column) for column in columns)
    rows = Markup("\n").join(
        _row(columns, [row[place] for place in used], sheet.rows[number], site, here)
        for number, row in enumerate(cells)
    )
    body = Markup('<table class="{}">\n<thead><tr>{}</tr></thead>\n<tbody>\n{}\n</tbody>\n</table>').format(
        f"table {kind}".rstrip(), head, rows
    )
    return scroll_box(body, label or sheet.title) + notes_list(sheet.notes)


def scroll_box(body: Markup, label: str) -> Markup:
    """What is wide scrolls in a box of its own, by keyboard too."""
    return Markup('<div class="scroll" role="region" tabindex="0" aria-label="{}">\n{}\n</div>\n').format(
        safe_text(label), body
    )


def notes_list(lines: Sequence[str]) -> Markup:
    """What is told below a table."""
    items = Markup("").join(Markup("<li>{}</li>").format(safe_text(line)) for line in lines)
    return Markup('<ul class="notes">{}</ul>\n').format(items) if lines else Markup("")


def _head(column: Column) -> Markup:
    side = "" if column.left else Markup(' class="n"')
    return Markup('<th scope="col"{}>{}</th>').format(side, column.header)


def _row(columns: Sequence[Column], cells: Sequence[str], row: object, site: Site, here: str) -> Markup:
    return Markup("<tr>") + Markup("").join(_cells(columns, cells, row, site, here)) + Markup("</tr>")


def _cells(columns: Sequence[Column], cells: Sequence[str], row: object, site: Site, here: str) -> Iterator[Markup]:
    for column, cell in zip(columns, cells, strict=True):
        value = row.get(column.key) if isinstance(row, dict) else None
        told: object = cell
        if cell and column.key in _ENGINE_COLUMNS and isinstance(value, str):
            told = engine_link(value, site, here, cut=True)
        elif column.key in _GAME_COLUMNS and isinstance(value, int):
            told = game_link(value, site, here)
        if column.key == "name":
            yield Markup('<th scope="row">{}</th>').format(told)
        else:
            yield Markup("<td{}>{}</td>").format("" if column.left else Markup(' class="n"'), told)


# Templates to pages: everything that is put into one is text, made safe and escaped on its way in.

HTML_DIR = Path(__file__).parent
REPORT_ASSETS = ("report.css", "report.js")  # of every report
STATE_CSS = "state.css"  # of a report on the disk: whether a run has begun since it was made
GAME_ASSETS = ("game.css", "board.js")  # of pages of games, beside the pieces
# From disk, too: Chromium takes 'self' of a file: page for files. Nothing inline, nothing from anywhere else.
_CONTENT_POLICY = (
    "default-src 'none'; img-src 'self' data:; style-src 'self'; script-src 'self'; base-uri 'none'; form-action 'none'"
)


def render_page(template: str, *, site: Site, here: str, policy: str = _CONTENT_POLICY, **rows: object) -> str:
    """A page of a report; `here` is its own address from the root. A row that the template misses is an error."""
    return _environment().get_template(template).render(site=site, here=here, policy=policy, **rows)


def read_asset(name: str) -> str:
    """One of our own style sheets and scripts."""
    return (HTML_DIR / "assets" / name).read_text("utf-8")


@cache
def _environment() -> Environment:
    """Loaded when a page is made and not before: other commands never pay for it."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context

    made = Environment(
        loader=FileSystemLoader(HTML_DIR / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalized,
        auto_reload=False,  # or each page asks the disk for three templates
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update(_FILTERS)
    made.globals |= {"anchor": section_id, "generator": Markup(GENERATOR_TAG), "state": STATE_CSS}  # noqa: S704  # ours
    made.globals |= {name: pass_context(make) for name, make in _MAKERS.items()}
    return made


def _link(context: Context, address: str) -> str:
    site: Site = context["site"]
    return site.link(address, context["here"])


def _engine(context: Context, name: str) -> Markup:
    return engine_link(name, context["site"], context["here"])


def _game(context: Context, number: int, words: object = None) -> Markup:
    return game_link(number, context["site"], context["here"], words)


def _table(context: Context, sheet: Sheet, **options: Any) -> Markup:
    return sheet_table(sheet, context["site"], context["here"], **options)


def _finalized(value: object) -> object:
    """Words of engines and people without anything that turns a line round; None is nothing."""
    if value is None:
        return ""
    return safe_text(value) if type(value) is str else value  # markup of ours is a subclass


def format_utc(seconds: float | None) -> str:
    """UTC seconds as people write them: ``2026-11-21 20:05 UTC``."""
    return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _format_percent(share: float | None) -> str:
    """``52.4 %``."""
    return "" if share is None else f"{100 * share:.1f} %"


def format_rounded(number: float | None) -> str:
    """Whole points, nothing for None."""
    return "" if number is None else str(round(number))


_FILTERS: Mapping[str, Callable[..., object]] = {
    "points": format_points,
    "duration": format_duration,
    "moment": format_utc,
    "percent": _format_percent,
    "rounded": format_rounded,
    "counted": format_count,
}

# What a template calls with its page in mind: an address, a name, a game, a sheet.
_MAKERS: Mapping[str, Callable[..., object]] = {"link": _link, "engine": _engine, "game": _game, "table": _table}


# A whole report in one file: sections one below the other, with the style sheets and scripts in it.

MAX_FILE_BYTES = 2_000_000  # bytes: what mail and forums still take
_HEADING = re.compile(r"(</?)h([1-5])(?=[\s>])")


@dataclass(frozen=True, slots=True)
class Section:
    """A page without its head and foot; `summary`: it is folded below these words."""

    address: str
    text: Markup
    summary: str = ""

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.text.encode())


def make_section(address: str, text: str, summary: str = "") -> Section:
    """A page made for a single file; below the first one all headings are a step deeper."""
    if address != "index.html":
        text = _HEADING.sub(lambda found: f"{found[1]}h{int(found[2]) + 1}", text)
    return Section(address, Markup(text), summary)  # noqa: S704  # a page of ours, escaped when it was made


def single_file(
    site: Site,
    sections: Sequence[Section],
    *,
    styles: Sequence[str],
    scripts: Sequence[str],
    missing: str,
    command: str,
    shared: Markup | None = None,
) -> str:
    """The file. `missing` tells what was left out, "" for nothing; `command` is how to have all of it.

    `shared` are definitions that drawings in it use.
    """
    return render_page(
        "single.html",
        site=site,
        here="index.html",
        policy=_policy(styles, scripts),
        sections=sections,
        styles=[Markup(text) for text in styles],  # noqa: S704  # ours
        scripts=[Markup(text) for text in scripts],  # noqa: S704  # ours
        shared=shared,
        missing=missing,
        command=command,
        left_out_id=_LEFT_OUT,
        limit=MAX_FILE_BYTES // 1_000_000,
    )


def _policy(styles: Sequence[str], scripts: Sequence[str]) -> str:
    """Nothing runs and nothing styles but these very texts (CSP 3, 2.3.1: hashes)."""
    style, script = (" ".join(map(_hashed, texts)) or "'none'" for texts in (styles, scripts))
    rest = "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'"
    return f"{rest}; style-src {style}; script-src {script}"


def _hashed(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


# The one door past the escaping: markup of our own, in which every word that is not ours has been escaped.


def trusted_markup(text: str) -> Markup:
    """For whoever writes thousands of cells, where a format for each would cost seconds."""
    return Markup(text)  # noqa: S704  # laws send hostile words through every caller


# The crosstable of a page: everybody against everybody, each sign of a cell leading to its game.

RESULT_SIGNS = "0=1"  # by half points
_MAX_CELL_GAMES = 12  # games of a cell that are told one by one; more as points of games
_MOST_LINKS = 24_000  # of some 40 bytes each: a page of 1 MB


@dataclass(frozen=True, slots=True)
class CrossGames:
    """One pair from the row's view: number and half points (0, 1, 2) of each game that counts, in order."""

    games: tuple[tuple[int, int], ...]

    @property
    def half_points(self) -> int:
        """What the row scored against the column."""
        return sum(points for _, points in self.games)


def crosstable_markup(rows: Sequence[CrossRow[CrossGames]], site: Site, here: str) -> Markup:
    """Head and first column stay while the rest scrolls. A page of too many links has none in its cells."""
    linked = sum(len(cell.games) for row in rows for cell in row.cells if cell) <= _MOST_LINKS
    addresses: dict[int, str] = {}

    def link(number: int) -> str:
        if number not in addresses:
            address = site.game(number)
            addresses[number] = "" if address is None else str(escape(site.link(address, here)))
        return addresses[number]

    numbers = "".join(
        f'<th scope="col" title="{escape(safe_text(row.name))}">{number}</th>' for number, row in enumerate(rows, 1)
    )
    lines = [
        f'<tr><th scope="row" class="stick"><span class="rank">{place + 1}</span> '
        f"{engine_link(row.name, site, here, cut=True)}</th>"
        f'<td class="n">{format_points(row.half_points)}</td><td class="n muted">{row.games}</td>'
        f"{_cross_cells(place, row, link if linked else None)}</tr>"
        for place, row in enumerate(rows)
    ]
    head = (
        '<tr><th scope="col" class="stick">engine</th><th scope="col" class="n">points</th>'
        f'<th scope="col" class="n">games</th>{numbers}</tr>'
    )
    body = "\n".join(lines)
    made = f'<table class="table cross">\n<thead>{head}</thead>\n<tbody>\n{body}\n</tbody>\n</table>'
    return scroll_box(Markup(made), "crosstable")  # noqa: S704  # names were escaped above, the rest are numbers of ours


def _cross_cells(place: int, row: CrossRow[CrossGames], link: Callable[[int], str] | None) -> str:
    found = []
    for column, cell in enumerate(row.cells):
        if cell is None:
            found.append('<td class="self"></td>' if column == place else "<td></td>")
        else:
            share = cell.half_points - len(cell.games)
            look = ' class="p"' if share > 0 else ' class="m"' if share < 0 else ""
            found.append(f"<td{look}>{_cross_text(cell, link)}</td>")
    return "".join(found)


def _cross_text(cell: CrossGames, link: Callable[[int], str] | None) -> str:
    if len(cell.games) > _MAX_CELL_GAMES:
        return f"{format_points(cell.half_points)}/{len(cell.games)}"
    if link is None:
        return "".join(RESULT_SIGNS[half] for _, half in cell.games)
    return "".join(
        f'<a href="{address}">{RESULT_SIGNS[half]}</a>' if (address := link(number)) else RESULT_SIGNS[half]
        for number, half in cell.games
    )
