"""Names, links and tables of a report as markup, for a site: crosstable, list of games, any sheet.

Every word that is not ours is escaped here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup, escape

from enginetour.formats.pairing.standings import CrossRow
from enginetour.reports.sheet import Column, Sheet, Texts, format_duration, format_points, safe_text
from enginetour.store.games import GameLine

LEFT_OUT = "left-out"  # id of the section that says what a single file has no room for


@dataclass(frozen=True, slots=True)
class Site:
    """What the pages of one report share: its name, its pages, and how one of them is linked from another.

    `pages` are (address, label) of the navigation, addresses from the root of the report. `slugs` name the page of each
    engine by the engine's name; `games` are the numbers that have a page of their own, None for all. `prefix` stands
    before every address of a served report. `single`: all is in one file, but for the addresses in `left_out`; who
    follows a link to one of them is told so.
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
            return f"#{LEFT_OUT if address in self.left_out else section_id(address)}"
        return self.prefix + address if self.prefix else "../" * here.count("/") + address


def section_id(address: str) -> str:
    """The id of a page's section where all are in one file: ``engines-toga``, ``index`` or ``games-12``."""
    page, _, part = address.partition("#")
    return part or page.removesuffix(".html").replace("/", "-")


def trusted_markup(text: str) -> Markup:
    """Markup of ours, every word in it escaped: a quarter of the time that `Markup.format` takes (measured)."""
    return Markup(text)  # noqa: S704  # laws send hostile words through every caller


# Words of engines and people as they stand in markup: without anything that turns a line round, and escaped.
SAFE_WORDS = Texts[str](lambda words: str(escape(safe_text(words))))
_LONG, _END = 18, 6  # characters of a name that has room on a phone, and of the end that a longer one keeps


def name_markup(name: str, *, cut: bool = False) -> str:
    """A name that keeps its direction to itself; cut to its cell a long one keeps its end, where versions differ."""
    shown = safe_text(name)
    if cut and len(shown) > _LONG:
        return f'<bdi class="long"><span>{escape(shown[:-_END])}</span><span>{escape(shown[-_END:])}</span></bdi>'
    return f"<bdi>{SAFE_WORDS[name]}</bdi>"


def engine_link(name: str, site: Site, here: str, *, cut: bool = False) -> Markup:
    """A name, isolated from the direction of the words around it, and linked where the engine has a page."""
    shown, slug = name_markup(name, cut=cut), site.slugs.get(name)
    return trusted_markup(shown if slug is None else _link(f"engines/{slug}.html", shown, site, here))


def game_link(number: int, site: Site, here: str, words: object = None) -> Markup:
    """A game's number, or other `words` for it, linked where the game has a page."""
    shown = SAFE_WORDS[words] if type(words) is str else escape(number if words is None else words)
    if site.games is not None and number not in site.games:
        return trusted_markup(shown)
    return trusted_markup(_link(f"games/{number}.html", shown, site, here))


def _link(address: str, shown: str, site: Site, here: str) -> str:
    return f'<a href="{SAFE_WORDS[site.link(address, here)]}">{shown}</a>'


# Any sheet.

_ENGINE_COLUMNS = frozenset({"name", "engine", "opponent", "white", "black"})  # columns that name engines
_GAME_COLUMNS = frozenset({"number", "game"})  # columns with a game's number


def sheet_table(sheet: Sheet, site: Site, here: str, *, label: str = "", kind: str = "") -> Markup:
    """A sheet in a box that scrolls sideways, its engines and games linked; `label` is told to screen readers.

    `kind` is one of the style sheet's: ``cross`` for square tables.
    """
    lines = sheet.cells()
    used = [place for place, column in enumerate(sheet.columns) if column.header or any(line[place] for line in lines)]
    heads = "".join(
        f'<th scope="col"{_side(sheet.columns[place])}>{escape(sheet.columns[place].header)}</th>' for place in used
    )
    rows = "\n".join(
        f"<tr>{''.join(_cell(sheet.columns[place], line[place], row, site, here) for place in used)}</tr>"
        for line, row in zip(lines, sheet.rows, strict=True)
    )
    return scroll_box(heads, rows, label or sheet.title, kind) + notes_list(sheet.notes)


def _side(column: Column) -> str:
    return "" if column.left else ' class="n"'


def _cell(column: Column, shown: str, row: Mapping[str, Any], site: Site, here: str) -> str:
    value, words = row.get(column.key), escape(shown)
    if shown and column.key in _ENGINE_COLUMNS and isinstance(value, str):
        words = engine_link(value, site, here, cut=True)
    elif column.key in _GAME_COLUMNS and isinstance(value, int):
        words = game_link(value, site, here)
    return f'<th scope="row">{words}</th>' if column.key == "name" else f"<td{_side(column)}>{words}</td>"


def scroll_box(heads: str, rows: str, label: str, kind: str = "", more: str = "") -> Markup:
    """A table that scrolls in a box of its own where it is wide, by keyboard too; `more` are attributes of it."""
    return trusted_markup(
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(safe_text(label))}">\n'
        f'<table class="{f"table {kind}".rstrip()}"{more}>\n<thead><tr>{heads}</tr></thead>\n'
        f"<tbody>\n{rows}\n</tbody>\n</table>\n</div>\n"
    )


def notes_list(lines: Sequence[str]) -> Markup:
    """What is told below a table."""
    items = "".join(f"<li>{escape(safe_text(line))}</li>" for line in lines)
    return trusted_markup(f'<ul class="notes">{items}</ul>\n' if items else "")


def facts_list(rows: Iterable[tuple[str, str]]) -> Markup:
    """Labels and words; what has no words is left out."""
    items = "".join([f"<dt>{SAFE_WORDS[label]}</dt><dd>{SAFE_WORDS[words]}</dd>\n" for label, words in rows if words])
    return trusted_markup(f'<dl class="facts">\n{items}</dl>\n')


# Everybody against everybody, each sign of a cell leading to its game.

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
    is_linked = sum(len(cell.games) for row in rows for cell in row.cells if cell) <= _MOST_LINKS

    def sign(number: int, half_points: int) -> str:
        shown = RESULT_SIGNS[half_points]
        return game_link(number, site, here, shown) if is_linked else shown

    heads = "".join(
        f'<th scope="col" title="{escape(safe_text(row.name))}">{number}</th>' for number, row in enumerate(rows, 1)
    )
    lines = "\n".join(
        f'<tr><th scope="row" class="stick"><span class="rank">{place + 1}</span> '
        f"{engine_link(row.name, site, here, cut=True)}</th>"
        f'<td class="n">{format_points(row.half_points)}</td><td class="n muted">{row.games}</td>'
        f"{_cross_cells(place, row, sign)}</tr>"
        for place, row in enumerate(rows)
    )
    heads = (
        '<th scope="col" class="stick">engine</th><th scope="col" class="n">points</th>'
        f'<th scope="col" class="n">games</th>{heads}'
    )
    return scroll_box(heads, lines, "crosstable", "cross")


def _cross_cells(place: int, row: CrossRow[CrossGames], sign: Callable[[int, int], str]) -> str:
    found = []
    for column, cell in enumerate(row.cells):
        if cell is None:
            found.append('<td class="self"></td>' if column == place else "<td></td>")
            continue
        share = cell.half_points - len(cell.games)
        look = ' class="p"' if share > 0 else ' class="m"' if share < 0 else ""
        words = "".join(sign(*game) for game in cell.games)
        if len(cell.games) > _MAX_CELL_GAMES:
            words = f"{format_points(cell.half_points)}/{len(cell.games)}"
        found.append(f"<td{look}>{words}</td>")
    return "".join(found)


# The list of games: a line each, in parts where one page would be too much.

_MAX_PART_BYTES = 1_400_000  # bytes of a part, as estimated: pages stay below 2 MB
_LINE = 190  # bytes of a line without its names (measured)
_LIST_HEADS = "".join(
    f'<th scope="col"{side}>{head}</th>'
    for head, side in (
        ("#", ' class="n"'), ("round", ' class="n"'), ("White", ""), ("Black", ""), ("result", ""), ("ended by", ""),
        ("moves", ' class="n"'), ("time", ' class="n"'), ("incidents", ""),
    )
)  # fmt: skip


def list_address(part: int) -> str:
    """Of a part of the list, from 0."""
    return "games.html" if part == 0 else f"games-{part + 1}.html"


def list_parts(games: Iterable[GameLine]) -> list[list[GameLine]]:
    """The games in order, as many to a page as it can hold; one empty part without games."""
    found: list[list[GameLine]] = [[]]
    size = 0
    for one in games:
        size += _LINE + sum(len(name_markup(name, cut=True).encode()) for name in (one.white, one.black))
        if size > _MAX_PART_BYTES:
            found.append([])
            size = 0
        found[-1].append(one)
    return found


def list_table(games: Sequence[GameLine], site: Site, here: str) -> Markup:
    """A line each; the scripts filter by the words in it."""
    names = {name: name_markup(name, cut=True) for one in games for name in (one.white, one.black)}
    lines = "\n".join(
        f'<tr><td class="n">{game_link(one.number, site, here)}</td><td class="n">{one.round}</td>'
        f"<td>{names[one.white]}</td><td>{names[one.black]}</td>"
        f"<td>{'struck out' if one.voided else one.outcome}</td><td>{one.termination}</td>"
        f'<td class="n">{(one.plies + 1) // 2}</td><td class="n">{format_duration(one.seconds)}</td>'
        f"<td>{one.incidents or ''}</td></tr>"
        for one in games
    )
    return scroll_box(_LIST_HEADS, lines, "games", more=' id="game-list"')
