"""Sheets and names as markup: tables whose engines and games lead to their pages. All words are escaped here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup, escape

from enginetour.reports.html.site import Site
from enginetour.reports.sheet import Column, Sheet, safe

ENGINES = frozenset({"name", "engine", "opponent", "white", "black"})  # columns that name engines
GAMES = frozenset({"number", "game"})  # columns with a game's number
_LONG, _END = 18, 6  # signs of a name that has room on a phone, and of the end that a longer one keeps


def isolated(name: str, *, cut: bool = False) -> str:
    """A name that keeps its direction to itself; cut to its cell a long one keeps its end, where versions differ."""
    told = safe(name)
    if cut and len(told) > _LONG:
        return f'<bdi class="long"><span>{escape(told[:-_END])}</span><span>{escape(told[-_END:])}</span></bdi>'
    return f"<bdi>{escape(told)}</bdi>"


def engine(name: str, site: Site, here: str, *, cut: bool = False) -> Markup:
    """A name, isolated from the direction of the words around it, and linked where the engine has a page."""
    shown = isolated(name, cut=cut)
    address = site.engine(name)
    return _own(shown if address is None else f'<a href="{escape(site.link(address, here))}">{shown}</a>')


def game(number: int, site: Site, here: str, words: object = None) -> Markup:
    """A game's number, or other `words` for it, linked where the game has a page."""
    told = escape(number if words is None else words)
    address = site.game(number)
    return told if address is None else _own(f'<a href="{escape(site.link(address, here))}">{told}</a>')


def _own(text: str) -> Markup:
    """Markup of ours, its words escaped: a quarter of the time that `Markup.format` takes (measured)."""
    return Markup(text)  # noqa: S704


def table(sheet: Sheet, site: Site, here: str, *, label: str = "", kind: str = "") -> Markup:
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
    return boxed(body, label or sheet.title) + notes(sheet.notes)


def boxed(body: Markup, label: str) -> Markup:
    """What is wide scrolls in a box of its own, by keyboard too."""
    return Markup('<div class="scroll" role="region" tabindex="0" aria-label="{}">\n{}\n</div>\n').format(
        safe(label), body
    )


def notes(lines: Sequence[str]) -> Markup:
    """What is told below a table."""
    items = Markup("").join(Markup("<li>{}</li>").format(safe(line)) for line in lines)
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
        if cell and column.key in ENGINES and isinstance(value, str):
            told = engine(value, site, here, cut=True)
        elif column.key in GAMES and isinstance(value, int):
            told = game(value, site, here)
        if column.key == "name":
            yield Markup('<th scope="row">{}</th>').format(told)
        else:
            yield Markup("<td{}>{}</td>").format("" if column.left else Markup(' class="n"'), told)
