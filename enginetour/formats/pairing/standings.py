"""Games and scores -> tables: standings with tie-breaks, crosstable. Scores are half points."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Generic, TypeVar

from immutables import Map

from enginetour.formats.pairing.tiebreaks import CODES, NOTHING, Cross, Tally
from enginetour.model.game import Outcome, Placed

C = TypeVar("C")  # what one has done against another

Grid = Map[str, Map[str, Tally]]  # a Cross that can be carried on cheaply
DEFAULT_CODES = ("SB", "DE", "WIN")
_SIGNS = {0: "0", 1: "=", 2: "1"}


@dataclass(frozen=True, slots=True)
class Scored:
    """One game as tables see it."""

    white: str
    black: str
    outcome: Outcome

    def half_points(self, name: str) -> int:
        """0, 1 or 2 for one of the two."""
        return self.outcome.half_points(white=name == self.white)

    def opponent(self, name: str) -> str:
        """The other one."""
        return self.black if name == self.white else self.white


def with_game(grid: Grid, game: Scored, sign: int = 1) -> Grid:
    """The grid with one game more (`sign` 1) or less (-1); a void game changes nothing."""
    if game.outcome is Outcome.VOID:
        return grid
    for name, other in ((game.white, game.black), (game.black, game.white)):
        row = grid.get(name)
        if row is None:
            row = Map()
        old, points = row.get(other, NOTHING), game.half_points(name)
        new = Tally(old.half_points + sign * points, old.games + sign, old.wins + sign * (points == 2))
        grid = grid.set(name, row.set(other, new))
    return grid


def cross(games: Iterable[Scored]) -> Grid:
    """The tallies of all pairs that met."""
    grid: Grid = Map()
    for game in games:
        grid = with_game(grid, game)
    return grid


def total(tallies: Cross, name: str, among: Iterable[str] | None = None) -> Tally:
    """The sum over all opponents of one entrant, or over those of `among`."""
    row = tallies.get(name) or {}
    chosen = list(row.values()) if among is None else [row[other] for other in among if other in row]
    return Tally(sum(t.half_points for t in chosen), sum(t.games for t in chosen), sum(t.wins for t in chosen))


def table(names: Sequence[str], tallies: Cross, codes: Sequence[str] = DEFAULT_CODES) -> tuple[Placed, ...]:
    """Standings from the games of `names` among each other: points, then the codes in their order.

    Each code splits those still tied on everything before it. Who is tied on all of them shares a rank and
    stands in the order of `names`. Best first; units as in `tiebreaks`.
    """
    sums = {name: total(tallies, name, names) for name in names}
    scores = {name: tally.half_points for name, tally in sums.items()}
    keys: dict[str, tuple[int, ...]] = {name: (scores[name],) for name in names}
    for code in codes:
        keys = {
            name: (*key, value)
            for key, tied in _groups(keys)
            for name, value in CODES[code](tied, tallies, scores).items()
        }
    lines: list[Placed] = []
    for key, tied in _groups({name: keys[name] for name in names}):
        rank = len(lines) + 1
        breaks = tuple(zip(codes, key[1:], strict=True))
        lines += [Placed(rank, name, scores[name], sums[name].games, "", breaks) for name in tied]
    return tuple(lines)


def _groups(keys: dict[str, tuple[int, ...]]) -> list[tuple[tuple[int, ...], list[str]]]:
    """Names of equal keys together, highest key first; inside a group the order stays."""
    ordered = sorted(keys, key=lambda name: keys[name], reverse=True)
    return [(key, list(tied)) for key, tied in groupby(ordered, key=lambda name: keys[name])]


@dataclass(frozen=True, slots=True)
class Cell:
    """One pair seen from the row: half points of each game in order, and as text, "1=0"."""

    half_points: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """``1`` won, ``=`` drawn, ``0`` lost; empty if they have not met."""
        return "".join(_SIGNS[points] for points in self.half_points)


@dataclass(frozen=True, slots=True)
class CrossRow(Generic[C]):
    """One entrant of a crosstable; `cells` in the order of the rows, its own is None."""

    name: str
    half_points: int
    games: int
    cells: tuple[C | None, ...]


def crosstable(names: Sequence[str], games: Iterable[Scored]) -> tuple[CrossRow[Cell], ...]:
    """Who did what against whom, rows and columns in the order of `names`; others' games and voids are left out."""
    met: dict[tuple[str, str], list[int]] = {}
    for game in games:
        if game.outcome is not Outcome.VOID:
            for name, other in ((game.white, game.black), (game.black, game.white)):
                met.setdefault((name, other), []).append(game.half_points(name))
    rows = []
    for name in names:
        cells = tuple(None if name == other else Cell(tuple(met.get((name, other), ()))) for other in names)
        points = [points for cell in cells if cell for points in cell.half_points]
        rows.append(CrossRow(name, sum(points), len(points), cells))
    return tuple(rows)
