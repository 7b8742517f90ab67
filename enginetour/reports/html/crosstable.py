"""The crosstable of a page: everybody against everybody, each sign of a cell leading to its game."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from enginetour.formats.pairing.standings import CrossRow
from enginetour.reports.html.site import Site
from enginetour.reports.html.tables import boxed, engine
from enginetour.reports.sheet import points, safe

SIGNS = "0=1"  # by half points
MOST_SIGNS = 12  # games of a cell that are told one by one; more as points of games
MOST_LINKS = 24_000  # of some 40 bytes each: a page of 1 MB


@dataclass(frozen=True, slots=True)
class Cell:
    """One pair from the row's view: number and half points (0, 1, 2) of each game that counts, in order."""

    games: tuple[tuple[int, int], ...]

    @property
    def half_points(self) -> int:
        """What the row scored against the column."""
        return sum(points for _, points in self.games)


def crosstable(rows: Sequence[CrossRow[Cell]], site: Site, here: str) -> Markup:
    """Head and first column stay while the rest scrolls. A page of too many links has none in its cells."""
    linked = sum(len(cell.games) for row in rows for cell in row.cells if cell) <= MOST_LINKS
    addresses: dict[int, str] = {}

    def link(number: int) -> str:
        if number not in addresses:
            address = site.game(number)
            addresses[number] = "" if address is None else str(escape(site.link(address, here)))
        return addresses[number]

    numbers = "".join(
        f'<th scope="col" title="{escape(safe(row.name))}">{number}</th>' for number, row in enumerate(rows, 1)
    )
    lines = [
        f'<tr><th scope="row" class="stick"><span class="rank">{place + 1}</span> '
        f"{engine(row.name, site, here, cut=True)}</th>"
        f'<td class="n">{points(row.half_points)}</td><td class="n muted">{row.games}</td>'
        f"{_cells(place, row, link if linked else None)}</tr>"
        for place, row in enumerate(rows)
    ]
    head = (
        '<tr><th scope="col" class="stick">engine</th><th scope="col" class="n">points</th>'
        f'<th scope="col" class="n">games</th>{numbers}</tr>'
    )
    body = "\n".join(lines)
    made = f'<table class="table cross">\n<thead>{head}</thead>\n<tbody>\n{body}\n</tbody>\n</table>'
    return boxed(Markup(made), "crosstable")  # noqa: S704  # names were escaped above, the rest are numbers of ours


def _cells(place: int, row: CrossRow[Cell], link: Callable[[int], str] | None) -> str:
    found = []
    for column, cell in enumerate(row.cells):
        if cell is None:
            found.append('<td class="self"></td>' if column == place else "<td></td>")
        else:
            share = cell.half_points - len(cell.games)
            look = ' class="p"' if share > 0 else ' class="m"' if share < 0 else ""
            found.append(f"<td{look}>{_told(cell, link)}</td>")
    return "".join(found)


def _told(cell: Cell, link: Callable[[int], str] | None) -> str:
    if len(cell.games) > MOST_SIGNS:
        return f"{points(cell.half_points)}/{len(cell.games)}"
    if link is None:
        return "".join(SIGNS[half] for _, half in cell.games)
    return "".join(
        f'<a href="{address}">{SIGNS[half]}</a>' if (address := link(number)) else SIGNS[half]
        for number, half in cell.games
    )
