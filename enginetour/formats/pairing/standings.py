"""Standings and crosstables, ordered by tie-break codes, with shared ranks and a legend of the codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Annotated, Generic, TypeVar

from pydantic import AfterValidator, BeforeValidator

from enginetour.formats.pairing.field import Field
from enginetour.formats.pairing.persistent import Map
from enginetour.formats.pairing.tiebreaks import (
    CODES,
    EVENED,
    NOTHING,
    PLACEMENT_CODES,
    Cross,
    PlacementData,
    PlacementTerms,
    Tally,
)
from enginetour.model.errors import did_you_mean
from enginetour.model.game import Outcome, StandingsRow

_K = TypeVar("_K", str, int)
_C = TypeVar("_C")  # content of a cell

Grid = Map[str, Map[str, Tally]]  # a `Cross` that can be updated quickly
_DEFAULT_CODES = ("SB", "DE", "WIN")
_SIGNS = "0=1"


@dataclass(frozen=True, slots=True)
class Scored:
    """One game with its result, as needed for tables."""

    white: str
    black: str
    outcome: Outcome

    def half_points(self, name: str) -> int:
        """Return the half points (0, 1 or 2) of one of the two entrants."""
        return self.outcome.half_points(white=name == self.white)


def with_game(grid: Grid, game: Scored, sign: int = 1) -> Grid:
    """Return the grid with one game added (`sign` 1) or removed (-1); a void game changes nothing."""
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


def with_results(grid: Cross, results: Mapping[tuple[str, str], tuple[int, int, int]]) -> dict[str, dict[str, Tally]]:
    """Return the rows of a grid that several games change: White's wins, draws and losses by (White, Black)."""
    nothing: dict[str, Tally] = {}
    found = {name: grid.get(name, nothing) for name in set(chain.from_iterable(results))}
    # A view is faster than the keys of a `Map`, but not than the keys of a plain row.
    rows = {name: row.copy() if isinstance(row, dict) else dict(row.items()) for name, row in found.items()}
    for (white, black), (won, drawn, lost) in results.items():
        games = won + drawn + lost
        for name, other, wins, losses in ((white, black, won, lost), (black, white, lost, won)):
            old = rows[name].get(other, NOTHING)
            half_points = old.half_points + games + wins - losses
            rows[name][other] = Tally(half_points, old.games + games, old.wins + wins)
    return rows


def cross(games: Iterable[Scored]) -> Grid:
    """Return the tallies of all pairs that played."""
    grid: Grid = Map()
    for game in games:
        grid = with_game(grid, game)
    return grid


def total(tallies: Cross, name: str, among: Iterable[str] | None = None) -> Tally:
    """Return the sum of an entrant's tallies against all opponents, or against the opponents in `among`."""
    row = tallies.get(name) or {}
    found = row.values() if among is None else [row[other] for other in among if other in row]
    return Tally(*map(sum, zip(NOTHING, *found, strict=True)))


def table(names: Sequence[str], tallies: Cross, codes: Sequence[str] = _DEFAULT_CODES) -> tuple[StandingsRow, ...]:
    """Rank `names`, best first, by points and then by the codes in this order; only games among them count.

    Each code separates the entrants that are tied on all values before it. Entrants that are tied on all codes share a
    rank and keep the order of `names`. The units of the values are listed in `tiebreaks`.
    """
    among = frozenset(names)
    tallies = {name: _among(row, among) for name in names if (row := tallies.get(name)) is not None}
    sums = {name: total(tallies, name) for name in names}
    keys: dict[str, tuple[int, ...]] = {name: (sums[name].half_points,) for name in names}
    for code in codes:
        keys = {
            name: (*key, value)
            for key, tied in _groups(keys)
            for name, value in CODES[code](tied, tallies, sums).items()
        }
    lines: list[StandingsRow] = []
    for key, tied in _groups({name: keys[name] for name in names}):
        rank = len(lines) + 1
        breaks = tuple(zip(codes, key[1:], strict=True))
        lines += [StandingsRow(rank, name, key[0], sums[name].games, "", breaks) for name in tied]
    return tuple(lines)


def _among(row: Mapping[str, Tally], names: frozenset[str]) -> dict[str, Tally]:
    """Return the tallies against these opponents as a plain row, because the codes look up each pair several times."""
    if isinstance(row, dict) and row.keys() <= names:
        return row
    return {other: tally for other, tally in row.items() if other in names}


def _groups(keys: dict[_K, tuple[int, ...]]) -> list[tuple[tuple[int, ...], list[_K]]]:
    """Group the items with equal keys, the highest key first; items of a group keep their order."""
    ordered = sorted(keys, key=keys.__getitem__, reverse=True)
    return [(key, list(tied)) for key, tied in groupby(ordered, key=keys.__getitem__)]


@dataclass(frozen=True, slots=True)
class CrossRow(Generic[_C]):
    """One entrant of a crosstable; `cells` has its results against each entrant in order, and None for itself."""

    name: str
    half_points: int
    games: int
    cells: tuple[_C | None, ...]


def crosstable(names: Sequence[str], games: Iterable[Scored]) -> tuple[CrossRow[str], ...]:
    """Return the results of all pairs, with rows and columns in the order of `names`.

    Void games and games of other entrants are ignored. A cell has one character for each game in order: ``1`` for a
    win of the row's entrant, ``=`` for a draw, ``0`` for a loss. It is empty if the two have not played.
    """
    met: dict[tuple[str, str], list[int]] = {}
    for game in games:
        if game.outcome is not Outcome.VOID:
            for name, other in ((game.white, game.black), (game.black, game.white)):
                met.setdefault((name, other), []).append(game.half_points(name))
    rows = []
    for name in names:
        points = {other: met.get((name, other), []) for other in names if other != name}
        cells = tuple("".join(_SIGNS[each] for each in points[other]) if other != name else None for other in names)
        rows.append(CrossRow(name, sum(map(sum, points.values())), sum(map(len, points.values())), cells))
    return tuple(rows)


_SHOWN = ("PTS", "NBW")  # codes that a row already shows as its points
_PLAIN = PlacementTerms()


def order_by_codes(
    field: Field, codes: Sequence[str], members: Sequence[int], terms: PlacementTerms = _PLAIN
) -> list[tuple[tuple[int, ...], list[int]]]:
    """Group members with equal values of the codes, best first; each group is in entry order."""
    data = PlacementData(field, terms)
    keys: dict[int, tuple[int, ...]] = dict.fromkeys(sorted(members), ())
    for code in map(PLACEMENT_CODES.__getitem__, codes):
        groups = [tied for _, tied in _groups(keys)] if code.tied else [list(keys)]
        fresh: dict[int, int] = {}
        for tied in groups:
            fresh |= zip(tied, code.values(data, tied), strict=True)
        keys = {member: (*key, fresh[member]) for member, key in keys.items()}
    return _groups(keys)


def code_values(field: Field, codes: Sequence[str], terms: PlacementTerms = _PLAIN) -> dict[str, tuple[int, ...]]:
    """Return for each code the values of all members in entry order.

    Codes that depend on the tied members treat all members as tied.
    """
    data, everybody = PlacementData(field, terms), range(len(field.members))
    return {code: tuple(PLACEMENT_CODES[code].values(data, everybody)) for code in codes}


def rank_by_codes(
    field: Field, codes: Sequence[str], members: Sequence[int], terms: PlacementTerms = _PLAIN
) -> tuple[StandingsRow, ...]:
    """Rank the members by the codes; members that are tied on all codes share a rank."""
    lines: list[StandingsRow] = []
    for key, tied in order_by_codes(field, codes, members, terms):
        rank = len(lines) + 1
        breaks = tuple((code, value) for code, value in zip(codes, key, strict=True) if code not in _SHOWN)
        lines += [
            StandingsRow(
                rank,
                field.members[member].name,
                field.scores[member],
                field.games(member),
                tiebreaks=breaks,
                unplayed=field.unplayed(member),
            )
            for member in tied
        ]
    return tuple(lines)


_MOST = 6  # largest number of codes, as in Gotha
# codes that can come first; the others only break ties
_FIRST = ("PTS", "NBW", "MMS", "STS", "CPS", "CAT", "RANK", "RATING")


def check_codes(codes: Sequence[str]) -> tuple[str, ...]:
    """Return the codes if there are at most six known codes without duplicates. Raises ValueError otherwise."""
    for number, code in enumerate(codes):
        if code not in PLACEMENT_CODES:
            meant = did_you_mean(code, PLACEMENT_CODES) or f". Hint: use {', '.join(PLACEMENT_CODES)}"
            raise ValueError(f"unknown code {code!r}{meant}")
        if code in codes[:number]:
            raise ValueError(f"code {code} is listed twice")
    if len(codes) > _MOST:
        raise ValueError(f"there must be at most {_MOST} codes (found {len(codes)})")
    return tuple(codes)


def _as_tuple(value: object) -> object:
    if isinstance(value, str):
        raise ValueError(f"placement must be a list of codes (found {value!r}). Hint: write [{value!r}]")
    return tuple(value) if isinstance(value, list) else value


Codes = Annotated[tuple[str, ...], BeforeValidator(_as_tuple), AfterValidator(check_codes)]
"""The setting `placement` of a format; if it is empty, the usual order of the format applies."""


def warnings(codes: Sequence[str], *, evens_sos: bool = False) -> tuple[str, ...]:
    """Return warnings about codes that contradict each other or have little meaning.

    `evens_sos` is true if the pairing makes the SOS of all entrants similar.
    """
    by_basis = {basis: [code for code in codes if PLACEMENT_CODES[code].basis == basis] for basis in ("wins", "mms")}
    found = []
    if codes and codes[0] not in _FIRST:
        found.append(f"placement begins with the tie-break {codes[0]}. Hint: put PTS or NBW first to rank by points")
    if by_basis["wins"] and by_basis["mms"]:
        wins, mms = ", ".join(by_basis["wins"]), ", ".join(by_basis["mms"])
        found.append(f"placement mixes codes based on wins ({wins}) with codes based on McMahon scores ({mms})")
    if {"DC", "SDC"} <= set(codes):
        found.append("placement has both DC and SDC, two versions of direct confrontation. Hint: remove one of them")
    if evens_sos and (sums := [code for code in codes if code.startswith(EVENED)]):
        found.append(f"the pairing equalizes SOS, so ranking by {', '.join(sums)} has little meaning")
    return tuple(found)


def legend(codes: Iterable[str], meanings: Mapping[str, str] = {}) -> tuple[str, ...]:
    """Return a footnote that explains these codes, as a tuple of one line, or of none if there are no codes.

    `meanings` are those of a format that differ from the usual ones.
    """
    line = "; ".join(f"{code}: {meanings.get(code, PLACEMENT_CODES[code].name)}" for code in codes)
    return (line,) if line else ()
