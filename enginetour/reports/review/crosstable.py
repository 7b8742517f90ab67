"""Everybody against everybody with the numbers of the games, so that a cell leads to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from enginetour.formats.pairing.standings import CrossRow
from enginetour.reports.html.crosstable import Cell
from enginetour.store.games import GameLine


def crosstable(names: Sequence[str], games: Iterable[GameLine]) -> tuple[CrossRow[Cell], ...]:
    """Rows and columns in the order of `names`; void games and those struck out are left out."""
    met: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for game in games:
        if game.counts:
            points = game.outcome.half_points(white=True)
            met.setdefault((game.white, game.black), []).append((game.number, points))
            met.setdefault((game.black, game.white), []).append((game.number, 2 - points))
    return tuple(_row(name, names, met) for name in names)


def _row(name: str, names: Sequence[str], met: dict[tuple[str, str], list[tuple[int, int]]]) -> CrossRow[Cell]:
    found = (met.get((name, other)) for other in names)
    cells = tuple(None if games is None else Cell(tuple(games)) for games in found)
    inside = [cell for cell in cells if cell is not None]
    return CrossRow(name, sum(cell.half_points for cell in inside), sum(len(cell.games) for cell in inside), cells)
