"""Opponents of an engine in a rating list: number, diversity, and the result of each matchup."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import log10

import numpy as np

from enginetour.ratings.likelihood import Fit
from enginetour.ratings.models import logistic
from enginetour.ratings.pairs import Index, Pairs, Vector
from enginetour.ratings.uncertainty import FitBasis


@dataclass(frozen=True, slots=True)
class OpponentRecord:
    """The results and ratings of one matchup from an engine's point of view. `gap` is in the list's points.

    Values that cannot be computed are None. Between engines of different pools, only the score can be computed. There
    is no performance for a score of 0 or 100 %. There are no errors between anchors or in a pool that is too large.
    """

    opponent: str
    games: int
    wins: int
    draws: int
    losses: int
    gap: float | None = None
    sd: float | None = None  # standard deviation of the gap
    expected: float | None = None
    performance: float | None = None
    los: float | None = None

    @property
    def score(self) -> float:
        """Return the engine's share of the points, 0 to 1."""
        return (self.wins + self.draws / 2) / self.games


def opponent_diversity(pairs: Pairs) -> tuple[Index, Vector]:
    """Return the number of opponents of each engine, and their diversity: exp of the entropy of the games.

    The diversity is the number of equally frequent opponents that would have the same entropy (Ordo's manual, columns
    13 and 14). It is 0 for an engine without games.
    """
    count = len(pairs.names)
    folded = pairs.folded
    one, other, games = folded.white, folded.black, folded.games
    surprise = np.zeros(count)
    for end in (one, other):
        share = games / pairs.played[end]
        surprise -= np.bincount(end, share * np.log(share), count)
    opponents = np.bincount(one, minlength=count) + np.bincount(other, minlength=count)
    return opponents.astype(np.intp), np.where(opponents > 0, np.exp(surprise), 0.0)


def rated_games(bases: list[FitBasis]) -> Pairs:
    """Return the games inside the rated pools, without games between different pools."""
    names = tuple(sorted(name for basis in bases for name in basis.fit.names))
    place = {name: number for number, name in enumerate(names)}
    moved = [np.array([place[name] for name in basis.fit.names], dtype=np.intp) for basis in bases]
    parts = [basis.fit.pairs for basis in bases]
    nobody = np.zeros(0, dtype=np.intp)
    white = np.concatenate([there[part.white] for there, part in zip(moved, parts, strict=True)] or [nobody])
    black = np.concatenate([there[part.black] for there, part in zip(moved, parts, strict=True)] or [nobody])
    order = np.lexsort((black, white))
    results = (
        np.concatenate([getattr(part, column) for part in parts] or [np.zeros(0)])[order]
        for column in ("wins", "draws", "losses")
    )
    return Pairs(names, white[order], black[order], *results)


def opponents_of(
    pairs: Pairs, bases: list[FitBasis], *, only: str | None = None
) -> Iterator[tuple[str, tuple[OpponentRecord, ...]]]:
    """Yield every engine of `pairs` (or only the engine `only`) with its opponents, sorted by name.

    `bases` are the rated pools.
    """
    count, rows = len(pairs.names), len(pairs.white)
    ends = np.concatenate((pairs.white, pairs.black))
    others = np.concatenate((pairs.black, pairs.white))
    order = np.lexsort((others, ends))
    starts = np.searchsorted(ends[order], np.arange(count + 1))
    home = {name: (basis, place) for basis in bases for place, name in enumerate(basis.fit.names)}
    for engine, name in enumerate(pairs.names):
        if only not in (None, name):
            continue
        mine = order[starts[engine] : starts[engine + 1]]
        yield name, tuple(_matchups(pairs, mine % rows, mine < rows, others[mine], home, name))


def _matchups(
    pairs: Pairs,
    rows: Index,
    as_white: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
    others: Index,
    home: dict[str, tuple[FitBasis, int]],
    name: str,
) -> Iterator[OpponentRecord]:
    wins = np.where(as_white, pairs.wins[rows], pairs.losses[rows])
    losses = np.where(as_white, pairs.losses[rows], pairs.wins[rows])
    draws, games = pairs.draws[rows], pairs.games[rows]
    first = np.flatnonzero(np.r_[True, others[1:] != others[:-1]]) if len(others) else np.zeros(0, dtype=np.intp)
    for start, end in zip(first, [*first[1:], len(others)], strict=True):
        part = slice(int(start), int(end))
        opponent = pairs.names[others[start]]
        won, drawn, lost = (int(column[part].sum()) for column in (wins, draws, losses))
        met = OpponentRecord(opponent, won + drawn + lost, won, drawn, lost)
        basis, place = home.get(name, (None, 0))
        there, other = home.get(opponent, (None, 0))
        if basis is None or basis is not there:
            yield met
        else:
            whites = float(games[part][as_white[part]].sum())
            yield _rated(met, basis, place, other, whites)


def _rated(met: OpponentRecord, basis: FitBasis, place: int, other: int, whites: float) -> OpponentRecord:
    """Add the values from the pool's fit. `whites` is the number of games that the engine played as White."""
    fit, ratings = basis.fit, basis.shown.ratings
    ahead = float(fit.at[place] - fit.at[other])
    white, black = _expected(fit, np.array([ahead + fit.at[-2], ahead - fit.at[-2]])).tolist()
    certain = fit.fixed >= {place, other}
    asked = not certain and {fit.names[place], fit.names[other]} & basis.wanted
    score = met.score
    return replace(
        met,
        gap=float(ratings[place] - ratings[other]),
        sd=basis.errors.difference_sd(place, other) * basis.shown.point if asked else None,
        expected=(whites * white + (met.games - whites) * black) / met.games,
        performance=float(ratings[other]) + fit.scale * log10(score / (1 - score)) if 0 < score < 1 else None,
        los=basis.errors.los(place, other) if asked else None,
    )


def _expected(fit: Fit, gaps: Vector) -> Vector:
    """Return the expected score for each rating gap in natural units, computed with the fit's model."""
    draw = float(fit.at[-1])
    if fit.model == "raokupper":
        return np.asarray((logistic(gaps - draw) + logistic(gaps + draw)) / 2)
    if fit.model == "davidson":
        win, loss = np.exp(gaps / 2), np.exp(-gaps / 2)
        return np.asarray((win + np.exp(draw) / 2) / (win + np.exp(draw) + loss))
    return np.asarray(logistic(gaps))
