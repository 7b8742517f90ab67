"""The rating list: who is rated with whom, by which model and prior, and what is told with the numbers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import log10
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from enginetour.model.errors import InputRefused
from enginetour.ratings.base import CAPTION
from enginetour.ratings.bridges import connecting_games, games_told
from enginetour.ratings.climb import Undetermined
from enginetour.ratings.connectivity import pools, unbeaten, winless
from enginetour.ratings.likelihood import ELO_SCALE, Fit, ModelName, fit
from enginetour.ratings.loose import Loose
from enginetour.ratings.openingpairs import Dependence, OpeningPairs, Openings, Surprise, opening_pairs
from enginetour.ratings.pairs import Counts, Pairs, pairs_of
from enginetour.ratings.priors import GaussianPrior, PhantomDraws, Prior
from enginetour.ratings.rows import DENSE_ERRORS, NOT_ASKED, SHARED, Row, grounds_of, rows_of, shown
from enginetour.ratings.sandwich import moments, surprise_of
from enginetour.ratings.sharing import joint
from enginetour.ratings.uncertainty import FEW_GAMES
from enginetour.ratings.units import PRIOR_SD, Terms, units

SURPRISING = 3.3  # standard deviations; one in a thousand by chance
FEW_NAMED = 10  # anchors in a note
OLD_PLACE_SD = 150.0  # Elo; simulated bubbles: what a place in the old list is worth


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
    draw_parameter: float | None = None  # nu of davidson, drawElo of raokupper, in the model's points
    point: float = 1.0  # what the model's points were multiplied with to be shown
    level: str = "pool average = 0"  # where the ratings lie, in words; "" where the system says it

    @property
    def white_advantage_sd(self) -> float | None:
        """Of a fitted advantage, in the list's points; None for a given one."""
        ground = grounds_of(self.rows).get(1)  # all pools share the advantage
        sd = None if ground is None else ground.errors.advantage_sd
        return None if ground is None or sd is None else sd * ground.shown.point

    def to_json(self) -> dict[str, object]:
        """Ready for json.dumps: numbers, strings, None; never NaN."""
        return {
            "list": [{**asdict(row), "remarks": list(row.remarks)} for row in self.rows],
            "unrated": [asdict(engine) for engine in self.unrated],
            "model": self.model,
            "white_advantage": self.white_advantage,
            "white_advantage_sd": self.white_advantage_sd,
            "draw_parameter": self.draw_parameter,
            "point": self.point,
            "draw_rate": self.draw_rate,
            "residual": self.residual,
            "pools": [list(pool) for pool in self.pools],
            "anchors": dict(self.anchors),
            "level": self.level,
            "games": self.games,
            "skipped": self.skipped,
            "caption": list(self.caption),
        }


def rating_list(
    counts: Counts | Pairs,
    *,
    model: ModelName = "logistic",
    prior: Literal["auto", "none"] | Prior = "auto",
    anchors: Mapping[str, float] | None = None,
    loose: Loose | None = None,
    advantage: float | Literal["fit"] = 0.0,
    draw: float | Literal["fit"] = "fit",
    scale: float = ELO_SCALE,
    mean: float | None = None,
    names: Collection[str] = (),
    errors_for: Collection[str] | None = None,
    openings: Openings | None = None,
    skipped: int = 0,
) -> RatingList:
    """Rate every pool apart, centred on `mean` (0) unless anchors, loose ones or the prior's means give the level.

    `auto`: no prior where everybody can be reached from everybody, else a Gaussian one about the pool's mean.
    `none`: mutually reachable groups are rated apart, and whoever is alone in its group gets no rating.
    `advantage`, `draw` and what priors say are in the model's own points. `names` adds engines that may have no
    games; `errors_for` are those with errors in a pool of more than 4,000; `skipped` games were left out by whoever
    counted. `openings` tells which of the counted games came in pairs on one opening: errors go by their pair scores.
    """
    pairs = pairs_of(counts, names)
    terms = Terms(model, anchors or {}, scale, mean, loose or {})
    if (terms.anchors or terms.loose) and mean is not None:
        raise InputRefused("a list has anchors or a mean, not both", step="leave one out")
    if terms.loose and not isinstance(prior, str) and not _has_room(prior):
        raise InputRefused("loose anchors go with no prior, auto or gaussian=SD", step="leave one of both out")
    if twice := sorted({*terms.anchors} & {*terms.loose}):
        raise InputRefused(f"{twice[0]} is a fixed and a loose anchor", step="leave one out")
    if strangers := sorted({*terms.anchors, *terms.loose} - set(pairs.names)):
        raise InputRefused(f"anchor {strangers[0]} is not among the rated", step="name an engine that has games")
    told: list[str] = []
    alone: list[Unrated] = []
    found = pools(pairs)
    if len(found) > 1:
        told.append(f"{len(found)} pools without a common game: nothing compares across them")
        told.append(games_told(connecting_games(pairs, found), numbered=prior != "none"))
    members: list[tuple[Pairs, Prior | None]] = []
    for part, belief in units(pairs, found, prior, terms, told):
        inside = pairs.within(part)
        met = [name for name, games in zip(part, inside.played, strict=True) if games]  # anchors join without a game
        if len(met) < len(part):
            alone += (Unrated(name, _alone(name, pairs)) for name in part if name not in met)
        if met:
            members.append((inside.within(met), belief))
    fits = _fits(members, terms, advantage, draw, told)
    rated = [(fitted, belief) for fitted, (_, belief) in zip(fits, members, strict=True)]
    for fitted, _ in rated:
        told += _contradictions(fitted)
    if rated:
        told += _points(rated[0][0], shown(*rated[0], mean).point)
    residual = max((fitted.residual for fitted, _ in rated), default=0.0)
    largest = rated[0][0] if rated else None
    if terms.loose and not terms.anchors:
        told.append("errors are against the pool average: what is unsure of the loose anchors comes on top")
    if openings:
        rated = _paired(rated, opening_pairs(openings, pairs.names), told)
    rows: list[Row] = []
    for number, (fitted, belief) in enumerate(rated, 1):
        rows += rows_of(fitted, belief, number, shown(fitted, belief, mean), errors_for)
    point = shown(*rated[0], mean).point if rated else 1.0
    if any("bounds" in remark for row in rows for remark in row.remarks):
        told.append(f"profile bounds where an engine has fewer than {FEW_GAMES} games or an extreme score")
    if any(NOT_ASKED in row.remarks for row in rows):
        told.append(f"a pool of more than {DENSE_ERRORS} engines: errors only where they were asked for")
    idle = [name for name, games in zip(pairs.names, pairs.played, strict=True) if not games]
    games = int(pairs.games.sum())
    return RatingList(
        rows=tuple(rows),
        unrated=(*alone, *(Unrated(name, "no games") for name in idle)),
        pools=tuple(fitted.names for fitted, _ in rated),
        caption=tuple(told),
        white_advantage=0.0 if largest is None else largest.advantage * point,
        draw_rate=float(pairs.draws.sum()) / games if games else None,
        residual=residual,
        anchors=tuple(sorted(terms.anchors.items())),
        games=games,
        skipped=skipped,
        model=model,
        draw_parameter=None if largest is None else largest.draw,
        point=point,
        level=_level(terms, prior),
    )


def incremental_list(
    pairs: Pairs, ratings: Mapping[str, float], system: str, *, skipped: int = 0, told: Sequence[str] = ()
) -> RatingList:
    """The last ratings of an incremental system as a list: one pool, without errors."""
    won, drawn, lost = pairs.record
    met = np.array([ratings[name] for name in pairs.names])
    opponents = pairs.per_engine(pairs.games * met[pairs.black], pairs.games * met[pairs.white]) / pairs.played
    place_of = {name: place for place, name in enumerate(pairs.names)}
    rows: list[Row] = []
    for place, name in enumerate(sorted(pairs.names, key=lambda name: (-round(ratings[name], SHARED), name)), 1):
        at = place_of[name]
        games, points = int(won[at] + drawn[at] + lost[at]), float(won[at] + drawn[at] / 2)
        score, others = points / games, float(opponents[at])
        shared = rows and round(rows[-1].rating, SHARED) == round(ratings[name], SHARED)
        rows.append(
            Row(
                rank=rows[-1].rank if shared else place,
                name=name,
                rating=ratings[name],
                plus=None,
                minus=None,
                games=games,
                score=score,
                wins=int(won[at]),
                draws=int(drawn[at]),
                losses=int(lost[at]),
                opponents=others,
                performance=others + ELO_SCALE * log10(score / (1 - score)) if 0 < score < 1 else None,
                los=None,
                pool=1,
            )
        )
    total = int(pairs.games.sum())
    return RatingList(
        rows=tuple(rows),
        unrated=(),
        pools=(pairs.names,) if pairs.names else (),
        caption=(CAPTION, *told),
        white_advantage=0.0,
        draw_rate=float(pairs.draws.sum()) / total if total else None,
        residual=0.0,
        anchors=(),
        games=total,
        skipped=skipped,
        model=system,
        level="",
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


def _has_room(prior: Prior) -> bool:
    """For loose anchors: what it says of single engines leaves some unsaid."""
    return isinstance(prior, GaussianPrior) and prior.mean is None and not isinstance(prior.sd, Mapping)


def _level(terms: Terms, prior: Literal["auto", "none"] | Prior) -> str:
    """Where the ratings lie, in words; without anchors or a mean phantom draws hold them."""
    if isinstance(prior, PhantomDraws) and not terms.anchors and terms.mean is None:
        return f"phantom draws at {prior.about:g}"
    return terms.level


def _paired(
    rated: list[tuple[Fit, Prior | None]], couples: OpeningPairs, told: list[str]
) -> list[tuple[Fit, Prior | None]]:
    """The fits with one ratio of variances for the whole list: single pools and engines have too few pairs."""
    inside = [couples.within(fitted.names) for fitted, _ in rated]
    surprise = sum((surprise_of(fitted, own) for (fitted, _), own in zip(rated, inside, strict=True)), Surprise())
    if not surprise.pairs:
        return rated
    told.append(surprise.told)
    return [
        (replace(fitted, dependence=Dependence(surprise.ratio, own.in_rows(fitted.problem.pairs))), belief)
        for (fitted, belief), own in zip(rated, inside, strict=True)
    ]


def _alone(name: str, pairs: Pairs) -> str:
    if name in unbeaten(pairs):
        return "unbeaten: no finite rating without a prior"
    if name in winless(pairs):
        return "winless: no finite rating without a prior"
    return "alone in its group: no finite rating without a prior"


def _fits(
    members: Sequence[tuple[Pairs, Prior | None]],
    terms: Terms,
    advantage: float | Literal["fit"],
    draw: float | Literal["fit"],
    told: list[str],
) -> list[Fit]:
    """The fits of all pools, the largest first. White's advantage and the draw parameter are those of all games.

    An advantage that cannot be told from strength is 0, and said to be.
    """

    def fitted(pool: int, advantage: float | Literal["fit"], draw: float | Literal["fit"], **more: Any) -> Fit:
        pairs, prior = members[pool]
        anchors = {name: terms.anchors[name] for name in pairs.names if name in terms.anchors}
        own: dict[str, Any] = {"prior": prior, "anchors": anchors, "model": terms.model, "scale": terms.scale, **more}
        return fit(pairs, advantage=advantage, draw=draw, **own)

    if len(members) > 1 and (advantage == "fit" or (terms.model != "logistic" and draw == "fit")):
        try:
            return joint(fitted, len(members), advantage, draw)
        except Undetermined as failure:
            if advantage != "fit":
                raise
            told.append(f"{failure.what}: taken as 0")
            return joint(fitted, len(members), 0.0, draw)
    found = list[Fit]()
    for place in range(len(members)):
        try:
            found.append(fitted(place, advantage, draw))
        except Undetermined as failure:
            if advantage != "fit":
                raise
            told.append(f"{failure.what}: taken as 0")
            found.append(fitted(place, 0.0, draw))
    return found


def _contradictions(fitted: Fit) -> tuple[str, ...]:
    """The anchors of a pool whose results are not to be expected at the ratings given, in one note."""
    if len(fitted.fixed) < 2:
        return ()
    pairs = fitted.problem.pairs
    mean, variance = moments(fitted, fitted.problem.gaps(fitted.at))
    surprise, spread = pairs.points - pairs.games * mean, pairs.games * variance
    off, variances = pairs.per_engine(surprise, -surprise), pairs.per_engine(spread, spread)
    told = [
        f"{fitted.names[place]} at {fitted.ratings[place]:g} scored {pairs.scored[place]:,.1f} of "
        f"{pairs.played[place]:,.0f}, not {pairs.scored[place] - off[place]:,.1f}"
        for place in sorted(fitted.fixed)
        if abs(off[place]) > SURPRISING * variances[place] ** 0.5
    ]
    few = "; ".join(told[:FEW_NAMED]) + "; ..." * (len(told) > FEW_NAMED)
    return (f"anchors that contradict the games: {few}",) if told else ()


def _points(fitted: Fit, point: float) -> tuple[str, ...]:
    """What a point of the list is, where the model's is not Elo's."""
    if fitted.point == 1:
        return ()
    bounded = ("the decided games bound no draw parameter: a win and a loss between equals are imagined",)
    told = bounded if fitted.problem.imagined else ()
    draws = "" if fitted.draw is None else f", {'nu' if fitted.model == 'davidson' else 'drawElo'} {fitted.draw:.4g}"
    if point == 1:
        return (
            *told,
            f"points of the {fitted.model} model{draws}: near equality one is worth {fitted.point:.4f} Elo",
        )
    return (
        *told,
        f"points of the {fitted.model} model{draws}, times {point:.4f}: near equality they are Elo points",
    )
