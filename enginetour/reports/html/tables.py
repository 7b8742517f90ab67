"""Names, links and tables of a report as markup. All inserted text is escaped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup, escape

from enginetour.formats.pairing.standings import CrossRow
from enginetour.reports.sheet import (
    NARROW_COLUMNS,
    WIDE_COLUMNS,
    Column,
    Sheet,
    Texts,
    format_duration,
    format_points,
    safe_text,
)
from enginetour.reports.standings import MAX_CELL_GAMES
from enginetour.store.games import GameLine

LEFT_OUT = "left-out"  # id of the section that lists what a single file leaves out


@dataclass(frozen=True, slots=True)
class Site:
    """The common properties of the pages of a report, and the links between them.

    `pages` contains the address and the label of each link in the navigation. `slugs` maps each engine to the name of
    its page. `games` contains the numbers of the games that have a page; None means all games. `prefix` precedes all
    addresses of a report on the web server. If `single` is true, the report is one file, without the pages in
    `left_out`. If `is_report` is true, pages show a note if a run has started since they were written.
    """

    title: str
    pages: tuple[tuple[str, str], ...]
    slugs: Mapping[str, str] = field(default_factory=dict, compare=False)  # the frame of a page does not depend on it
    games: frozenset[int] | None = None
    foot: str = ""
    prefix: str = ""
    single: bool = False
    left_out: frozenset[str] = frozenset()
    is_report: bool = True

    def link(self, address: str, here: str) -> str:
        """Return the link to `address` from the page `here`."""
        if self.single:
            return f"#{LEFT_OUT if address in self.left_out else section_id(address)}"
        return self.prefix + address if self.prefix else "../" * here.count("/") + address


def section_id(address: str) -> str:
    """Return the id of a page's section in a single file: ``engines-toga``, ``index`` or ``games-12``."""
    page, _, part = address.partition("#")
    return part or page.removesuffix(".html").replace("/", "-")


def trusted_markup(text: str) -> Markup:
    """Mark a text as markup that is already escaped. It takes a quarter of the time of `Markup.format` (measured)."""
    return Markup(text)  # noqa: S704  # tests send hostile text through every caller


# Escapes a text of an engine or user, and removes characters that change the writing direction.
ESCAPED = Texts[str](lambda text: str(escape(safe_text(text))))


def engine_link(name: str, site: Site, here: str) -> Markup:
    """Return the name of an engine, as a link if the engine has a page. The name keeps its own writing direction."""
    return trusted_markup(engine_links(site, here)(name))


def engine_links(site: Site, here: str) -> Callable[[str], str]:
    """Return the function `engine_link` for a page with many links."""
    start, end = _link_parts("engines/\0.html", site, here)
    slugs = site.slugs

    def link(name: str) -> str:
        shown, slug = f"<bdi>{ESCAPED[name]}</bdi>", slugs.get(name)
        return shown if slug is None else f"{start}{slug}{end}{shown}</a>"

    return link


def game_link(number: int, site: Site, here: str, text: object = None) -> Markup:
    """Return the number of a game, or `text` if it is given. The result is a link if the game has a page."""
    shown = number if text is None else ESCAPED[text] if type(text) is str else escape(text)
    return trusted_markup(game_links(site, here)(number, shown))


def game_links(site: Site, here: str) -> Callable[[int, object], str]:
    """Return a function that makes the link to a game, for a page with many links. Its texts must be escaped.

    The function returns only the text if the game does not have a page.
    """
    start, end = _link_parts("games/\0.html", site, here)
    games = site.games

    def link(number: int, shown: object) -> str:
        return f"{start}{number}{end}{shown}</a>" if games is None or number in games else str(shown)

    return link


def _link_parts(address: str, site: Site, here: str) -> tuple[str, str]:
    """Return the opening tag of a link before and after the character NUL of `address`."""
    before, after = site.link(address, here).split("\0")
    return f'<a href="{ESCAPED[before]}', f'{after}">'


_ENGINE_COLUMNS = frozenset({"name", "engine", "opponent", "white", "black"})  # columns that name engines
_GAME_COLUMNS = frozenset({"number", "game"})  # columns with the number of a game
# Columns of a rating list, of ratings game by game, or of encounters to play next, that narrow windows hide.
_NOT_ON_PHONES = (frozenset(WIDE_COLUMNS) - frozenset(NARROW_COLUMNS)) | {"score", "lowest", "highest", "errors_after"}


def sheet_table(sheet: Sheet, site: Site, here: str, *, label: str = "", kind: str = "") -> Markup:
    """Return a table that scrolls horizontally, with links to engines and games. Screen readers read its `label`.

    `kind` is a class of the style sheet, such as ``cross`` for crosstables. Narrow windows hide some columns of a
    rating list.
    """
    lines = sheet.cells()
    used = [place for place, column in enumerate(sheet.columns) if column.header or any(line[place] for line in lines)]
    is_list = any(column.key in ("rating", "lowest", "errors_after") for column in sheet.columns)
    classes = [_class(column, wide=is_list and column.key in _NOT_ON_PHONES) for column in sheet.columns]
    heads = "".join(f'<th scope="col"{classes[place]}>{escape(sheet.columns[place].header)}</th>' for place in used)

    def cells(line: Sequence[str], row: Mapping[str, Any]) -> str:
        return "".join(_cell(sheet.columns[i], line[i], classes[i], row, site, here) for i in used)

    rows = "\n".join(f"<tr>{cells(line, row)}</tr>" for line, row in zip(lines, sheet.rows, strict=True))
    return scroll_box(heads, rows, label or sheet.title, kind) + notes_list(sheet.notes)


def _class(column: Column, *, wide: bool) -> str:
    names = " ".join(filter(None, ("" if column.left else "n", "wide" if wide else "")))
    return f' class="{names}"' if names else ""


def _cell(column: Column, shown: str, kind: str, row: Mapping[str, Any], site: Site, here: str) -> str:
    value, text = row.get(column.key), escape(shown)
    if shown and column.key in _ENGINE_COLUMNS and isinstance(value, str):
        text = engine_link(value, site, here)
        kind = kind or ' class="name"'
    elif column.key in _GAME_COLUMNS and isinstance(value, int):
        text = game_link(value, site, here)
    return f'<th scope="row">{text}</th>' if column.key == "name" else f"<td{kind}>{text}</td>"


def scroll_box(heads: str, rows: str, label: str, kind: str = "", more: str = "") -> Markup:
    """Return a table in a box that scrolls horizontally if the table is too wide. The keyboard can scroll it too.

    `more` contains additional attributes of the table.
    """
    return trusted_markup(
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(safe_text(label))}">\n'
        f'<table class="{f"table {kind}".rstrip()}"{more}>\n<thead><tr>{heads}</tr></thead>\n'
        f"<tbody>\n{rows}\n</tbody>\n</table>\n</div>\n"
    )


def notes_list(lines: Sequence[str]) -> Markup:
    """Return the notes below a table."""
    items = "".join(f"<li>{escape(safe_text(line))}</li>" for line in lines)
    return trusted_markup(f'<ul class="notes">{items}</ul>\n' if items else "")


def facts_list(rows: Iterable[tuple[str, str]]) -> Markup:
    """Return a list of labels and texts. Rows with an empty text are left out."""
    items = "".join([f"<dt>{ESCAPED[label]}</dt><dd>{ESCAPED[text]}</dd>\n" for label, text in rows if text])
    return trusted_markup(f'<dl class="facts">\n{items}</dl>\n')


# Crosstable.

RESULT_SIGNS = "0=1"  # the sign of a result, by half points
_MOST_LINKS = 24_000  # links in a table; each takes about 40 bytes, so together they take 1 MB
_PHONE_SIGNS, _PAPER_SIGNS = 18, 72  # characters next to the names on a phone, and on a sheet of A4 in portrait


@dataclass(frozen=True, slots=True)
class CrossGames:
    """The games of two engines that count, in order: number and half points (0, 1, 2) of the engine in the row."""

    games: tuple[tuple[int, int], ...]

    @property
    def half_points(self) -> int:
        """Return the half points of the engine in the row."""
        return sum([points for _, points in self.games])


def crosstable_markup(rows: Sequence[CrossRow[CrossGames]], site: Site, here: str) -> Markup:
    """Return the crosstable. With too many games, cells do not have links."""
    is_linked = sum(len(cell.games) for row in rows for cell in row.cells if cell) <= _MOST_LINKS
    link = game_links(site, here) if is_linked else None
    signs = sum(
        1 + max(map(_cell_signs, column), default=0) for column in zip(*(row.cells for row in rows), strict=True)
    )
    kind = "cross" + " many" * (signs > _PHONE_SIGNS) + " most" * (signs > _PAPER_SIGNS)
    lines = [(row.name, row.half_points, row.games, _cross_cells(at, row, link)) for at, row in enumerate(rows)]
    return cross_table(lines, kind, site, here)


def cross_table(rows: Sequence[tuple[str, int, int, str]], kind: str, site: Site, here: str) -> Markup:
    """Return the table of a crosstable. Its head and first column do not scroll.

    `rows` have name, half points, games, and the markup of the cells. The classes ``many`` and ``most`` of `kind` mean
    that the cells are too wide for a phone and for a sheet of paper.
    """
    heads = '<th scope="col" class="stick">engine</th><th scope="col" class="n">points</th>'
    heads += '<th scope="col" class="n wide">games</th>'
    lines = []
    for number, (name, half_points, games, cells) in enumerate(rows, 1):
        heads += f'<th scope="col" title="{escape(safe_text(name))}">{number}</th>'
        lines.append(
            f'<tr><th scope="row" class="stick"><span class="rank">{number}</span> {engine_link(name, site, here)}</th>'
            f'<td class="n">{format_points(half_points)}</td><td class="n muted wide">{games}</td>{cells}</tr>'
        )
    return scroll_box(heads, "\n".join(lines), "crosstable", kind)


def _cell_signs(cell: CrossGames | None) -> int:
    """Return the number of characters of a cell, or 6 for points and games."""
    count = len(cell.games) if cell else 0
    return count if count <= MAX_CELL_GAMES else 6


def _cross_cells(place: int, row: CrossRow[CrossGames], link: Callable[[int, object], str] | None) -> str:
    found = []
    for column, cell in enumerate(row.cells):
        if cell is None:
            found.append('<td class="self"></td>' if column == place else "<td></td>")
            continue
        half_points = cell.half_points
        share = half_points - len(cell.games)
        look = ' class="p"' if share > 0 else ' class="m"' if share < 0 else ""
        if len(cell.games) > MAX_CELL_GAMES:
            text = f"{format_points(half_points)}/{len(cell.games)}"
        elif link is None:
            text = "".join([RESULT_SIGNS[points] for _, points in cell.games])
        else:
            text = "".join([link(number, RESULT_SIGNS[points]) for number, points in cell.games])
        found.append(f"<td{look}>{text}</td>")
    return "".join(found)


# The list of games, in several parts if one page would be too large.

_MAX_PART_BYTES = 1_400_000  # estimated bytes of a part; pages stay below 2 MB
_LINE = 240  # bytes of a row without its names (measured)
_LIST_HEADS = "".join(
    f'<th scope="col"{side}>{head}</th>'
    for head, side in (
        ("#", ' class="n"'), ("round", ' class="n wide"'), ("White", ""), ("Black", ""), ("result", ""),
        ("ended by", ""), ("moves", ' class="n wide"'), ("time", ' class="n wide"'), ("incidents", ' class="wide"'),
    )
)  # fmt: skip


def list_address(part: int) -> str:
    """Return the address of a part of the list of games. The first part is 0."""
    return "games.html" if part == 0 else f"games-{part + 1}.html"


def list_parts(games: Iterable[GameLine]) -> list[list[GameLine]]:
    """Split the games into parts, each small enough for a page. Without games there is one empty part."""
    found: list[list[GameLine]] = [[]]
    size = 0
    for one in games:
        size += _LINE + sum(len(ESCAPED[name].encode()) for name in (one.white, one.black))
        if size > _MAX_PART_BYTES:
            found.append([])
            size = 0
        found[-1].append(one)
    return found


def list_table(games: Sequence[GameLine], site: Site, here: str) -> Markup:
    """Return the table of games. The script of the page filters its rows by the texts of the cells."""
    link = game_links(site, here)
    lines = "\n".join(
        f'<tr><td class="n">{link(one.number, one.number)}</td><td class="n wide">{one.round}</td>'
        f'<td class="name"><bdi>{ESCAPED[one.white]}</bdi></td><td class="name"><bdi>{ESCAPED[one.black]}</bdi></td>'
        f'<td class="nowrap">{one.outcome if one.counts else "void"}</td><td>{one.termination}</td>'
        f'<td class="n wide">{(one.plies + 1) // 2}</td><td class="n wide">{format_duration(one.seconds)}</td>'
        f'<td class="wide">{one.incidents or ""}</td></tr>'
        for one in games
    )
    return scroll_box(_LIST_HEADS, lines, "games", more=' id="game-list"')
