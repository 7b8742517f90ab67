"""The rating list: one row per engine and pool, errors that are honest in small samples, and what each rests on."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import log10
from statistics import NormalDist
from typing import Literal

from enginetour.errors import InputRefused
from enginetour.ratings.connectivity import groups, pools, unbeaten, winless
from enginetour.ratings.likelihood import ELO_SCALE, Fit, GaussianPrior, Undetermined, fit
from enginetour.ratings.pairs import Counts, Pairs, pairs_of
from enginetour.ratings.uncertainty import EXTREME_SCORE, FEW_GAMES, NORMAL_95, Errors, errors_of

PRIOR_SD = 350.0  # Elo; Glickman 1999 starts a newcomer with it
OLD_PLACE_SD = 150.0  # Elo; simulated bubbles: what a place in the old list is worth
SHARED = 6  # digits behind the point; closer ratings share a rank


@dataclass(frozen=True, slots=True)
class Row:
    """One engine. `plus` and `minus` are the 95 % bounds' distances, None when nothing can be said; ranks per pool."""

    rank: int
    name: str
    rating: float
    plus: float | None
    minus: float | None
    games: int
    score: float
    wins: int
    draws: int
    losses: int
    opponents: float
    performance: float | None  # None at 0 or 100 %
    los: float | None  # against the next of the pool
    pool: int  # from 1
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unrated:
    """An engine that the games give no rating, and why."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class RatingList:
    """Rows by pool and rank; ratings of different pools compare in nothing. `caption` is told with every list."""

    rows: tuple[Row, ...]
    unrated: tuple[Unrated, ...]
    pools: tuple[tuple[str, ...], ...]
    caption: tuple[str, ...]
    white_advantage: float
    draw_rate: float | None
    residual: float
    anchors: tuple[tuple[str, float], ...]
    games: int
    skipped: int
    model: str = "logistic"

    def to_json(self) -> dict[str, object]:
        """Ready for json.dumps: numbers, strings, None; never NaN."""
        return {
            "list": [{**asdict(row), "remarks": list(row.remarks)} for row in self.rows],
            "unrated": [asdict(engine) for engine in self.unrated],
            "model": self.model,
            "white_advantage": self.white_advantage,
            "draw_rate": self.draw_rate,
            "residual": self.residual,
            "pools": [list(pool) for pool in self.pools],
            "anchors": dict(self.anchors),
            "games": self.games,
            "skipped": self.skipped,
            "caption": list(self.caption),
        }


@dataclass(frozen=True, slots=True)
class _Terms:
    """What a whole list is made with."""

    anchors: Mapping[str, float]
    scale: float
    mean: float | None


def rating_list(
    counts: Counts | Pairs,
    *,
    prior: Literal["auto", "none"] | GaussianPrior = "auto",
    anchors: Mapping[str, float] | None = None,
    advantage: float | Literal["fit"] = 0.0,
    scale: float = ELO_SCALE,
    mean: float | None = None,
    names: Collection[str] = (),
    skipped: int = 0,
) -> RatingList:
    """Rate every pool apart, centred on `mean` (0) unless anchors or the prior's own means give the level.

    `auto`: no prior where everybody can be reached from everybody, else a Gaussian one about the pool's mean.
    `none`: mutually reachable groups are rated apart, and whoever is alone in its group gets no rating.
    `names` adds engines that may have no games; `skipped` games were left out by whoever counted.
    """
    pairs = pairs_of(counts, names)
    terms = _Terms(anchors or {}, scale, mean)
    if terms.anchors and mean is not None:
        raise InputRefused("a list has anchors or a mean, not both", step="leave one out")
    if strangers := sorted(set(terms.anchors) - set(pairs.names)):
        raise InputRefused(f"anchor {strangers[0]} is not among the rated", step="name an engine that has games")
    rows: list[Row] = []
    parts: list[tuple[str, ...]] = []
    told: list[str] = []
    alone: list[Unrated] = []
    residual, adv = 0.0, advantage
    found = pools(pairs)
    if len(found) > 1:
        told.append(f"{len(found)} pools without a common game: nothing compares across them")
    for part, belief in _units(pairs, found, prior, terms, told):
        inside = pairs.within(part)
        if len(part) == 1:
            alone.append(Unrated(part[0], _alone(part[0], pairs)))
            continue
        fitted = _fit(inside, belief, adv, terms, told)
        adv = fitted.advantage  # the first unit is the largest; the others lean on its advantage
        residual = max(residual, fitted.residual)
        parts.append(part)
        rows += _rows(fitted, belief, len(parts), terms)
    if any("bounds" in remark for row in rows for remark in row.remarks):
        told.append(f"profile bounds where an engine has fewer than {FEW_GAMES} games or an extreme score")
    idle = [name for name, games in zip(pairs.names, pairs.played, strict=True) if not games]
    games = int(pairs.games.sum())
    return RatingList(
        rows=tuple(rows),
        unrated=(*alone, *(Unrated(name, "no games") for name in idle)),
        pools=tuple(parts),
        caption=tuple(told),
        white_advantage=0.0 if adv == "fit" else adv,
        draw_rate=float(pairs.draws.sum()) / games if games else None,
        residual=residual,
        anchors=tuple(sorted(terms.anchors.items())),
        games=games,
        skipped=skipped,
    )


def bubble_rating_order(
    starting_list_bottom_to_top: Sequence[str], newcomers: Sequence[str], counts: Counts | Pairs
) -> tuple[str, ...]:
    """Best first, by likelihood with the old list as prior; ties keep the old order, newcomers behind.

    Place i of m is worth z((i+1/2)/m) * 350 with sd 150, a newcomer 0 with sd 350. ValueError for a stranger.
    """
    old = [name for name in starting_list_bottom_to_top if name not in set(newcomers)]
    means = {name: NormalDist().inv_cdf((i + 0.5) / len(old)) * PRIOR_SD for i, name in enumerate(old)}
    spreads = dict.fromkeys(old, OLD_PLACE_SD)
    for name in newcomers:
        means[name], spreads[name] = 0.0, PRIOR_SD
    if not means:
        return ()
    pairs = pairs_of(counts, tuple(means))
    if strangers := sorted(set(pairs.names) - set(means)):
        raise ValueError(f"{strangers[0]} is neither in the starting list nor new")
    rated = fit(pairs, prior=GaussianPrior(spreads, means)).by_name()
    return tuple(sorted((*reversed(old), *newcomers), key=lambda name: -round(rated[name], SHARED)))


def _units(
    pairs: Pairs,
    found: tuple[tuple[str, ...], ...],
    prior: Literal["auto", "none"] | GaussianPrior,
    terms: _Terms,
    told: list[str],
) -> Iterator[tuple[tuple[str, ...], GaussianPrior | None]]:
    """What is rated together, with what is believed before: whole pools, or the groups of a pool."""
    for pool in found:
        inside = pairs.within(pool)
        parts = groups(inside, [name for name in pool if name in terms.anchors])
        if isinstance(prior, GaussianPrior):
            yield pool, prior
        elif len(parts) == 1:
            yield pool, None
        elif prior == "none":
            told.append(f"{_told(parts)} are rated apart: the games between them bound no difference")
            yield from ((part, None) for part in parts)
        else:
            sd = PRIOR_SD * terms.scale / ELO_SCALE
            told.append(
                f"no finite maximum, so a Gaussian prior (sd {sd:g} about the pool mean) is used: {_told(parts)}"
            )
            for word, which in (("unbeaten", unbeaten(inside)), ("winless", winless(inside))):
                if which:
                    told.append(f"{word}: {', '.join(which)}")
            yield pool, GaussianPrior(sd)


def _told(parts: tuple[tuple[str, ...], ...]) -> str:
    """The groups as sets; a large one by its size."""
    shown = ("{" + (", ".join(part) if len(part) <= 8 else f"{len(part)} engines") + "}" for part in parts)
    return "groups " + ", ".join(shown)


def _alone(name: str, pairs: Pairs) -> str:
    if name in unbeaten(pairs):
        return "unbeaten: no finite rating without a prior"
    if name in winless(pairs):
        return "winless: no finite rating without a prior"
    return "alone in its group: no finite rating without a prior"


def _fit(
    pairs: Pairs, prior: GaussianPrior | None, advantage: float | Literal["fit"], terms: _Terms, told: list[str]
) -> Fit:
    """The pool's fit; an advantage that cannot be told from strength is 0, and said to be."""
    anchors = {name: terms.anchors[name] for name in pairs.names if name in terms.anchors}
    try:
        return fit(pairs, prior=prior, anchors=anchors, advantage=advantage, scale=terms.scale)
    except Undetermined as failure:
        if advantage != "fit":
            raise
        told.append(f"{failure.what}: taken as 0")
        return fit(pairs, prior=prior, anchors=anchors, scale=terms.scale)


def _rows(fitted: Fit, prior: GaussianPrior | None, pool: int, terms: _Terms) -> Iterator[Row]:
    """The pool's rows, best first."""
    pairs, errors = fitted.pairs, errors_of(fitted)
    ratings = fitted.ratings
    if not fitted.fixed and (fitted.level_free or terms.mean is not None):
        ratings = ratings - ratings.mean() + (terms.mean or 0.0)
    level = float(ratings.mean())
    opponents = pairs.per_engine(pairs.games * ratings[pairs.black], pairs.games * ratings[pairs.white]) / pairs.played
    order = sorted(range(len(ratings)), key=lambda place: (-round(float(ratings[place]), SHARED), place))
    rank, last = 0, None
    for position, place in enumerate(order, 1):
        rating = round(float(ratings[place]), SHARED)
        rank, last = (rank if rating == last else position), rating
        won, drawn, lost = (int(column[place]) for column in pairs.record)
        games = won + drawn + lost
        score = (won + drawn / 2) / games
        minus, plus, remarks = _bounds(errors, place, games, score)
        following = order[position] if position < len(order) else None
        yield Row(
            rank=rank,
            name=fitted.names[place],
            rating=float(ratings[place]),
            plus=plus,
            minus=minus,
            games=games,
            score=score,
            wins=won,
            draws=drawn,
            losses=lost,
            opponents=float(opponents[place]),
            performance=float(opponents[place]) + terms.scale * log10(score / (1 - score)) if 0 < score < 1 else None,
            los=None if following is None or fitted.fixed >= {place, following} else errors.los(place, following),
            pool=pool,
            remarks=(*_rests_on(fitted, prior, place, score, level), *remarks),
        )


def _bounds(errors: Errors, place: int, games: int, score: float) -> tuple[float | None, float | None, tuple[str, ...]]:
    """Distances down and up, and what to say about them."""
    if place in errors.fit.fixed:
        return None, None, ("anchor",)
    if games >= FEW_GAMES and EXTREME_SCORE <= score <= 1 - EXTREME_SCORE:
        return (error := NORMAL_95 * float(errors.sd[place])), error, ()
    bounds = errors.bounds(place)
    if bounds is None:
        return None, None, ("too few games",)
    return *bounds, ("few games: profile bounds" if games < FEW_GAMES else "extreme score: profile bounds",)


def _rests_on(fitted: Fit, prior: GaussianPrior | None, place: int, score: float, level: float) -> tuple[str, ...]:
    """Named when only the prior holds a rating."""
    if prior is None or 0 < score < 1 or place in fitted.fixed:
        return ()
    name = fitted.names[place]
    mean, sd = prior.mean_of(name), prior.sd_of(name)
    about = round(level if mean is None else mean, 1) + 0.0  # never "-0"
    return (f"{'unbeaten' if score else 'winless'}: rests on the prior ({about:g} ± {sd:g})",)
