"""Rating list: ratings, errors, opponents and remarks of the engines of every rating pool."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import zip_longest
from math import isnan, log, log10
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from enginetour.model.errors import InputRefused, UsageRefused, did_you_mean
from enginetour.model.frames import to_arrow, to_frame
from enginetour.ratings.connectivity import (
    Parts,
    connecting_games,
    connecting_points,
    format_connecting_games,
    format_connecting_points,
    groups,
    pools,
    unbeaten,
    winless,
)
from enginetour.ratings.likelihood import (
    MAX_DRAW_PARAMETER,
    MOST_STEPS,
    RUNAWAY,
    STEP_DONE,
    Fit,
    ModelName,
    NoMaximum,
    SharedParameters,
    eliminate_ratings,
    fit,
    is_identified,
)
from enginetour.ratings.models import MODELS, ONE_EACH, drawn_rate
from enginetour.ratings.opponents import opponent_diversity
from enginetour.ratings.pairs import (
    Counts,
    Index,
    OpeningDependence,
    OpeningPairs,
    Openings,
    Pairs,
    PairScoreSpread,
    Vector,
    opening_pairs,
    pairs_of,
)
from enginetour.ratings.pentanomial import ELO_SCALE, EXTREME_SCORE, FEW_GAMES, NORMAL_95
from enginetour.ratings.priors import (
    PRIOR_SD,
    GaussianPrior,
    LooseAnchors,
    PhantomDraws,
    Prior,
    VirtualDraws,
    describe_prior,
    loose_anchor_prior,
    with_virtual_draws,
)
from enginetour.ratings.uncertainty import (
    ErrorsOnRequest,
    FitBasis,
    ShownRatings,
    errors_of,
    moments,
    pair_score_spread,
    sandwich_middle,
)

# The rows of one pool: displayed ratings, errors and remarks.

SHARED = 6  # decimal places; engines whose ratings are equal after rounding to this precision have the same rank
DENSE_ERRORS = 4000  # engines; for more, a square array takes over 128 MB, and computing all errors takes minutes
NOT_ASKED, _ANCHOR, TOO_FEW = "error not computed", "anchor", "too few games"
FEW, EXTREME = "few games: profile-likelihood interval", "extreme score: profile-likelihood interval"
INCREMENTAL = "incremental ratings have no error estimate; they become more accurate with more games"
_INTERVAL_REMARKS = {NOT_ASKED, _ANCHOR, TOO_FEW, FEW, EXTREME}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One engine in a rating list.

    `plus` and `minus` are the distances to the ends of the 95 % interval, or None if there is no interval. `error` is
    half the width of the interval. `opponents_error` is the average error of the opponents, as in Ordo's list; the
    error of an anchor counts as 0. `diversity` is the number of equally frequent opponents with the same entropy (exp
    of the entropy; Ordo's manual). `rank` is the rank in the pool. `basis` is the fit of the pool, or None for a list
    without fits.
    """

    rank: int
    name: str
    rating: float
    plus: float | None = None
    minus: float | None = None
    games: int
    score: float
    wins: int
    draws: int
    losses: int
    opponents: float
    performance: float | None  # None for a score of 0 or 100 %
    los: float | None = None  # likelihood of superiority over the next engine in the pool
    pool: int = 1
    remarks: tuple[str, ...] = ()
    error: float | None = None
    opponents_error: float | None = None  # None if an opponent does not have an error
    opponent_count: int | None = None
    diversity: float | None = None
    basis: FitBasis | None = field(default=None, compare=False, repr=False)

    @property
    def points(self) -> float:
        """Return the points of all games."""
        return self.wins + self.draws / 2

    @property
    def draw_rate(self) -> float | None:
        """Return the share of draws, or None without games."""
        return self.draws / self.games if self.games else None


def _shown(fitted: Fit, prior: Prior | None, mean: float | None) -> ShownRatings:
    """Return the ratings converted to Elo points around a fixed value: an anchor, the average or the prior's mean.

    If several anchors or several prior means also fix the scale, return the ratings in the model's own points.
    """
    ratings, point = fitted.ratings, fitted.point
    if not fitted.fixed and (fitted.level_free or mean is not None):
        return ShownRatings((ratings - ratings.mean()) * point + (mean or 0.0), point)
    if isinstance(prior, GaussianPrior) and prior.mean is not None:
        centre = None if fitted.fixed or not isinstance(prior.mean, float | int) else float(prior.mean)
    elif isinstance(prior, PhantomDraws):
        centre = None if fitted.fixed else prior.about
    else:
        centre = float(ratings[next(iter(fitted.fixed))]) if len(fitted.fixed) == 1 else None
    if centre is None or point == 1:
        return ShownRatings(ratings, 1.0)
    return ShownRatings(centre + (ratings - centre) * point, point)


def _rows_of(
    fitted: Fit, prior: Prior | None, pool: int, seen: ShownRatings, asked: Collection[str] | None
) -> Iterator[Row]:
    """Yield the rows of a pool, best first. In a very large pool, only the engines in `asked` get errors."""
    pairs, ratings = fitted.pairs, seen.ratings
    large = len(fitted.names) > DENSE_ERRORS
    errors = ErrorsOnRequest(fitted) if large else errors_of(fitted)
    wanted = frozenset(asked or ()) if large else frozenset(fitted.names)
    basis = FitBasis(fitted, seen, errors, wanted)
    bounds = _interval_fields(basis)
    met, diversity = opponent_diversity(pairs)
    level = float(ratings.mean())
    opponents = pairs.per_engine(pairs.games * ratings[pairs.black], pairs.games * ratings[pairs.white]) / pairs.played
    order = sorted(range(len(ratings)), key=lambda place: (-round(float(ratings[place]), SHARED), place))
    rank, last = 0, None
    for position, place in enumerate(order, 1):
        rating, name = round(float(ratings[place]), SHARED), fitted.names[place]
        rank, last = (rank if rating == last else position), rating
        won, drawn, lost = (int(column[place]) for column in pairs.record)
        score = (won + drawn / 2) / (won + drawn + lost)
        following = order[position] if position < len(order) else None
        compared = following is not None and name in wanted and not fitted.fixed >= {place, following}
        yield Row(
            rank=rank,
            name=name,
            rating=float(ratings[place]),
            games=won + drawn + lost,
            score=score,
            wins=won,
            draws=drawn,
            losses=lost,
            opponents=float(opponents[place]),
            performance=float(opponents[place]) + fitted.scale * log10(score / (1 - score)) if 0 < score < 1 else None,
            los=errors.los(place, following) if compared and following is not None else None,
            pool=pool,
            **bounds[place]
            | {"remarks": (*_prior_remark(fitted, prior, place, score, level, seen.point), *bounds[place]["remarks"])},
            opponent_count=int(met[place]),
            diversity=float(diversity[place]),
            basis=basis,
        )


def _interval_fields(basis: FitBasis, quantile: float = NORMAL_95) -> list[dict[str, Any]]:
    """Return the fields of each row that depend on the intervals, in the order of the fit's names."""
    fit, pairs, point = basis.fit, basis.fit.pairs, basis.shown.point
    found = []
    for place, (games, points) in enumerate(zip(pairs.played, pairs.scored, strict=True)):
        bounds, remarks = _bounds(basis, place, float(games), float(points / games), quantile)
        minus, plus = (None, None) if bounds is None else (bounds[0] * point, bounds[1] * point)
        error = None if bounds is None else (bounds[1] + bounds[0]) / 2 * point
        found.append({"plus": plus, "minus": minus, "error": error, "remarks": remarks})
    # The error of an anchor counts as 0. The average is nan if an opponent does not have an error.
    halves = np.array(
        [0.0 if place in fit.fixed else one["error"] for place, one in enumerate(found)], dtype=np.float64
    )
    around = pairs.per_engine(pairs.games * halves[pairs.black], pairs.games * halves[pairs.white]) / pairs.played
    return [
        one | {"opponents_error": None if isnan(own) else own} for one, own in zip(found, around.tolist(), strict=True)
    ]


def fit_bases(rows: Iterable[Row]) -> dict[int, FitBasis]:
    """Return the fit of every pool by pool number."""
    return {row.pool: row.basis for row in rows if row.basis is not None}


def _bounds(
    basis: FitBasis, place: int, games: float, score: float, quantile: float
) -> tuple[tuple[float, float] | None, tuple[str, ...]]:
    """Return the distances to the lower and upper end in the fit's points, or None if unknown; and remarks."""
    if place in basis.fit.fixed:
        return None, (_ANCHOR,)
    if basis.fit.names[place] not in basis.wanted:
        return None, (NOT_ASKED,)
    if games >= FEW_GAMES and EXTREME_SCORE <= score <= 1 - EXTREME_SCORE:
        error = quantile * basis.errors.sd_of(place)
        return (error, error), ()
    bounds = basis.errors.bounds(place, basis.overfitting, quantile)
    return bounds, (TOO_FEW if bounds is None else FEW if games < FEW_GAMES else EXTREME,)


def _prior_remark(
    fitted: Fit, prior: Prior | None, place: int, score: float, level: float, point: float
) -> tuple[str, ...]:
    """Return a remark if the engine won or lost all games, so that only the prior limits its rating."""
    if prior is None or 0 < score < 1 or place in fitted.fixed:
        return ()
    kind, given = "unbeaten" if score else "winless", describe_prior(prior, fitted.names[place], level, point)
    return (f"{kind}: rating depends on {given}",)


# Engines that are rated together, and their prior. They are a whole pool or a connected component of a pool.


@dataclass(frozen=True, slots=True)
class _ListTerms:
    model: ModelName
    prior: Literal["auto", "none"] | Prior
    anchors: Mapping[str, float]
    loose: LooseAnchors
    scale: float
    mean: float | None

    @property
    def level(self) -> str:
        """Return a text for the caption about what fixes the level of the ratings."""
        if isinstance(self.prior, PhantomDraws) and not self.anchors and self.mean is None:
            return f"phantom draws at {self.prior.about:g}"
        parts = [f"{name} = {rating:g}" for name, rating in sorted(self.anchors.items())]
        parts += [f"{name} = {each.text}" for name, each in sorted(self.loose.items())]
        return ", ".join(parts) or f"pool average = {self.mean or 0:g}"

    def check(self, names: Collection[str]) -> None:
        if (self.anchors or self.loose) and self.mean is not None:
            raise InputRefused("anchors and a mean cannot be combined", step="give only one of them")
        if self.loose and not isinstance(self.prior, str):
            # Loose anchors are a prior for single engines, so another prior must not be set for the same engines.
            gaussian = self.prior if isinstance(self.prior, GaussianPrior) else None
            if gaussian is None or gaussian.mean is not None or isinstance(gaussian.sd, Mapping):
                raise InputRefused("loose anchors need the prior auto, none or gaussian=SD")
        if twice := sorted({*self.anchors} & {*self.loose}):
            raise InputRefused(f"{twice[0]} is both a fixed and a loose anchor", step="give only one of them")
        if strangers := sorted({*self.anchors, *self.loose} - set(names)):
            raise InputRefused(
                f"anchor {strangers[0]} is not an engine of this list", step="choose an engine that has games"
            )


def _rating_units(
    pairs: Pairs, found: Parts, terms: _ListTerms, notes: list[str]
) -> Iterator[tuple[tuple[str, ...], Prior | None]]:
    """Yield the engines that are rated together, with their prior. Add remarks for the caption to `notes`."""
    prior = terms.prior
    if isinstance(prior, VirtualDraws):
        notes.append(f"{prior.weight:g} virtual draws per engine are added, only for comparison with lists of BayesElo")
    elif isinstance(prior, PhantomDraws):
        notes.append(f"phantom draws are added: {prior.weight:g} per engine, against a rating of {prior.about:g}")
    elif isinstance(prior, GaussianPrior) and not isinstance(prior.sd, Mapping):
        about = "the loose anchors" if terms.loose else "the pool mean" if prior.mean is None else "the given means"
        unit = "" if terms.model == "logistic" else " points of the model"
        notes.append(f"a Gaussian prior is used: standard deviation {prior.sd:g}{unit} around {about}")
    for pool in found:
        if not isinstance(prior, str):
            spread = prior.sd if isinstance(prior, GaussianPrior) else {}
            own = None if isinstance(spread, Mapping) else loose_anchor_prior(pool, terms.loose, spread)
            yield pool, own or prior
            continue
        inside = pairs.within(pool)
        parts = groups(inside, [name for name in pool if name in terms.anchors or name in terms.loose])
        if len(parts) == 1:
            yield pool, loose_anchor_prior(pool, terms.loose)
        elif prior == "none":
            notes.append(f"{_format_parts(parts)} are rated separately: no games limit the differences between them")
            notes += _connection_notes(inside, parts)
            yield from ((part, loose_anchor_prior(part, terms.loose)) for part in parts)
        else:
            sd = PRIOR_SD * terms.scale / ELO_SCALE
            near_anchors = loose_anchor_prior(pool, terms.loose, sd)
            about = "the loose anchors" if near_anchors else "the pool mean"
            notes.append(
                f"the likelihood has no finite maximum, so a Gaussian prior (standard deviation {sd:g} around {about}) "
                f"is used: {_format_parts(parts)}"
            )
            for label, which in (("unbeaten", unbeaten(inside)), ("winless", winless(inside))):
                if which:
                    notes.append(f"{label}: {', '.join(which)}")
            notes += _connection_notes(inside, parts)
            yield pool, near_anchors or GaussianPrior(sd)


def _connection_notes(pairs: Pairs, parts: Parts) -> Iterator[str]:
    if points := connecting_points(pairs, parts):
        yield format_connecting_points(points)


def _format_parts(parts: Parts) -> str:
    shown = ("{" + (", ".join(part) if len(part) <= 8 else f"{len(part)} engines") + "}" for part in parts)
    return "connected components " + ", ".join(shown)


# All pools share White's advantage and the draw parameter. Each pool is fitted with the information of the other pools
# about these two parameters, so that their errors include all games.
_Pool = tuple[Pairs, Prior | None]


def _fit_pool(
    pool: _Pool, terms: _ListTerms, advantage: float | Literal["fit"], draw: float | Literal["fit"], **more: Any
) -> Fit:
    """Fit one pool with this advantage and draw parameter. `more` is passed to `fit`."""
    pairs, prior = pool
    anchors = {name: terms.anchors[name] for name in pairs.names if name in terms.anchors}
    own: dict[str, Any] = {"prior": prior, "anchors": anchors, "model": terms.model, "scale": terms.scale, **more}
    return fit(pairs, advantage=advantage, draw=draw, **own)


def _fit_jointly(
    members: Sequence[_Pool], terms: _ListTerms, advantage: float | Literal["fit"], draw: float | Literal["fit"]
) -> list[Fit]:
    """Fit pools without a common game. White's advantage and the draw parameter are the most likely for all games.

    Newton's method is used for these two parameters. For each of their values, the ratings of each pool are fitted.
    Raises NoMaximum like `fit`.
    """
    games, draws = (sum(totals) for totals in zip(*(_totals(*pool) for pool in members), strict=True))
    model, unit = MODELS[terms.model], terms.scale / log(10)
    given = 0.0 if advantage == "fit" else advantage / unit
    drawing = model.guess(drawn_rate(games, draws)) if draw == "fit" else model.natural(draw, unit)
    draw_fitted = model.draws and draw == "fit" and draws > 0
    extra = np.array([0] * (advantage == "fit") + [1] * draw_fitted, dtype=np.intp)
    problem = _Shared(members, terms, draw, extra, imagined=draw_fitted and draws == games)
    begin = np.array([given, drawing])
    try:
        fits, shared = problem.fit(begin)
    except NoMaximum:
        if problem.imagined or not draw_fitted:
            raise
        fits, shared = replace(problem, imagined=True).fit(begin)
    return [
        _fit_pool(own, terms, advantage, draw, start=each, elsewhere=elsewhere if len(extra) else None)
        for own, each, elsewhere in zip(members, fits, shared, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class _Shared:
    """The fit of the shared parameters `extra`: 0 is White's advantage, and 1 is the draw parameter.

    If `imagined` is true, a win and a loss between equal engines are added.
    """

    members: Sequence[_Pool]
    terms: _ListTerms
    draw: float | Literal["fit"]
    extra: Index
    imagined: bool

    def fit(self, begin: Vector) -> tuple[list[Fit], list[SharedParameters]]:
        """Return the fits of the pools, and for each pool the information of the other pools."""
        extra, model, unit = self.extra, MODELS[self.terms.model], self.terms.scale / log(10)
        at, fits = begin.copy(), list[Fit]()
        for _ in range(MOST_STEPS):
            fits = self._pools(float(at[0]) * unit, model.published(float(at[1]), unit), fits)
            slopes, bends, held, ways = _shared_slopes(fits, extra)
            slope, bend = slopes.sum(axis=0), bends.sum(axis=0)
            if self.imagined:
                one_each = model.slopes(ONE_EACH, np.zeros(1), float(at[1]))
                slope[1] += one_each.draw_score
                bend[1, 1] += one_each.draw_curve
                held[-1] += one_each.draw_curve
            if not is_identified(bend[np.ix_(extra, extra)], held):
                raise NoMaximum.not_separable()
            step = np.linalg.solve(bend[np.ix_(extra, extra)], slope[extra])
            moved = float(np.abs(step).max(initial=0.0))
            if moved < STEP_DONE:
                break
            before = float(at[1])
            at[extra] += step / max(1.0, moved)
            if 1 in extra and not model.published(float(at[1]), unit) > 0:
                at[1] = before / 2  # the step went below 0, but Rao and Kupper's parameter is positive
            if abs(at[0]) > RUNAWAY or (1 in extra and at[1] > MAX_DRAW_PARAMETER):
                raise NoMaximum.unlimited_advantage()
        else:
            raise NoMaximum.of_ratings()
        spreads = bends.copy()
        for pool, (each, way) in enumerate(zip(fits, ways, strict=True)):
            middle = sandwich_middle(each)
            if middle is not None and len(extra):  # this is the logistic model, which does not have a draw parameter
                spreads[pool][0, 0] = middle.square(way[0])
        spread = spreads.sum(axis=0)
        return fits, [
            SharedParameters(at.copy(), slope - slopes[pool], bend - bends[pool], spread - spreads[pool])
            for pool in range(len(fits))
        ]

    def _pools(self, advantage: float, draw: float, starts: Sequence[Fit]) -> list[Fit]:
        drawn = draw if 1 in self.extra else self.draw
        return [
            _fit_pool(own, self.terms, advantage, drawn, start=start)
            for own, start in zip_longest(self.members, starts)
        ]


def _shared_slopes(fits: Sequence[Fit], extra: Index) -> tuple[Vector, Vector, Vector, list[Vector]]:
    """Return derivatives of each pool's log likelihood by the shared parameters, always with the best ratings.

    The result contains: the first derivatives and the negative second derivatives of each pool; the sum of the
    diagonals of the second derivatives for constant ratings; and the change of each pool's unknowns per change of the
    parameters.
    """
    slopes, bends, held = np.zeros((len(fits), 2)), np.zeros((len(fits), 2, 2)), np.zeros(len(extra))
    ways = list[Vector]()
    for pool, each in enumerate(fits):
        gradient, bent = each.problem.slopes(each.at)
        slopes[pool][extra] = gradient[-2:][extra]
        way, bends[pool][np.ix_(extra, extra)], alone = eliminate_ratings(each.problem, bent, extra + len(each.names))
        held += alone
        ways.append(way)
    return slopes, bends, held, ways


def _totals(pairs: Pairs, prior: Prior | None) -> tuple[float, float]:
    """Return the numbers of games and draws in the fit of a pool, including virtual draws."""
    counted = with_virtual_draws(pairs, prior.weight) if isinstance(prior, VirtualDraws) else pairs
    return float(counted.games.sum()), float(counted.draws.sum())


# The rating list and its caption.

# If a change of this package gives other ratings for the same games and settings, increase `COMPUTATION` in
# store/editions.py.
_SURPRISING = 3.3  # standard deviations; chance alone causes a larger deviation in about 1 of 1,000 cases
_FEW_NAMED = 10  # maximum number of anchors listed in a note
_OLD_PLACE_SD = 150.0  # Elo; error of a strength that is predicted by the old place (simulated bubble tournaments)


@dataclass(frozen=True, slots=True)
class _Unrated:
    name: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingList:
    """The rows of a rating list by pool and rank, and its caption. Ratings of different pools cannot be compared."""

    rows: tuple[Row, ...]
    unrated: tuple[_Unrated, ...] = ()
    pools: Parts
    caption: tuple[str, ...]
    white_advantage: float = 0.0
    advantage_origin: str = "given"  # "estimated" if the ratings were computed with an estimate as a fixed number
    draw_rate: float | None
    residual: float = 0.0
    anchors: tuple[tuple[str, float], ...] = ()
    games: int
    skipped: int
    model: str = "logistic"
    draw_parameter: float | None = None  # nu of davidson, or drawElo of raokupper in the model's points
    point: float = 1.0  # number of displayed points per point of the model
    level: str = "pool average = 0"  # what fixes the level of the ratings; "" if the rating system defines it

    @property
    def white_advantage_sd(self) -> float | None:
        """Return the standard deviation of a fitted White advantage in the list's points, or None if it was given."""
        basis = fit_bases(self.rows).get(1)  # all pools share the advantage
        sd = None if basis is None else basis.errors.advantage_sd
        return None if basis is None or sd is None else sd * basis.shown.point

    def los(self, one: str, other: str) -> float:
        """Return the likelihood that `one` is stronger than `other`. Raise UsageRefused if it is not known."""
        return self._between("los", one, other)[0]

    def difference(self, one: str, other: str) -> tuple[float, float]:
        """Return the rating of `one` minus that of `other`, and half the width of its 95 % interval."""
        return self._between("diff", one, other)

    def _between(self, kind: Literal["los", "diff"], one: str, other: str) -> tuple[float, float]:
        from enginetour.ratings.matrices import matrix_of

        matrix = matrix_of(kind, self, None)
        for name in (one, other):
            if name not in matrix.names:
                raise UsageRefused(f"{name!r} is not rated in this list{did_you_mean(name, matrix.names)}")
        cell = matrix.names.index(one), matrix.names.index(other)
        value, error = matrix.values[cell], 0.0 if matrix.errors is None else matrix.errors[cell]
        if isnan(value) or isnan(error):
            raise UsageRefused(f"{one!r} and {other!r} cannot be compared in this list")
        return float(value), float(error)

    def to_frame(self) -> Any:
        """Return the rows as a `pandas.DataFrame`. Raise UsageRefused if pandas is not installed."""
        return to_frame(self.to_rows())

    def to_arrow(self) -> Any:
        """Return the rows as a `pyarrow.Table`. Raise UsageRefused if pyarrow is not installed."""
        return to_arrow(self.to_rows())

    def to_rows(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries for json.dumps, without NaN."""
        return [
            {name: getattr(row, name) for name in Row.__slots__ if name != "basis"} | {"remarks": list(row.remarks)}
            for row in self.rows
        ]

    def to_json(self) -> dict[str, object]:
        """Return the list as a dictionary for json.dumps, without NaN."""
        return {
            "list": self.to_rows(),
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
    loose: LooseAnchors | None = None,
    advantage: float | Literal["fit"] = 0.0,
    draw: float | Literal["fit"] = "fit",
    scale: float = ELO_SCALE,
    mean: float | None = None,
    names: Collection[str] = (),
    errors_for: Collection[str] | None = None,
    openings: Openings | None = None,
    skipped: int = 0,
) -> RatingList:
    """Rate every pool separately and return the list.

    The average of each pool is `mean` (default 0) unless anchors, loose anchors or prior means fix the level. With the
    prior "auto", pools that are a single connected component have no prior. Other pools have a Gaussian prior around
    the pool mean. With the prior "none", connected components are rated separately, and an engine alone in its
    component is not rated. `advantage`, `draw` and the values of priors are in the model's own points. `names` adds
    engines that may have no games. In a pool of more than 4,000 engines, only those in `errors_for` get errors.
    `skipped` is the number of games that the caller omitted. With `openings`, errors are computed from the scores of
    game pairs.
    """
    pairs = pairs_of(counts, names)
    terms = _ListTerms(model, prior, anchors or {}, loose or {}, scale, mean)
    terms.check(pairs.names)
    notes: list[str] = []
    alone: list[_Unrated] = []
    found = pools(pairs)
    if len(found) > 1:
        notes.append(f"{len(found)} rating pools without a common game: their ratings cannot be compared")
        notes.append(format_connecting_games(connecting_games(pairs, found), numbered=prior != "none"))
    members: list[_Pool] = []
    for part, belief in _rating_units(pairs, found, terms, notes):
        inside = pairs.within(part)
        met = [name for name, games in zip(part, inside.played, strict=True) if games]  # an anchor may have no games
        if len(met) < len(part):
            alone += (_Unrated(name, _why_unrated(name, pairs)) for name in part if name not in met)
        if met:
            members.append((inside.within(met), belief))
    fits = _fits(members, terms, advantage, draw, notes)
    rated = [(fitted, belief) for fitted, (_, belief) in zip(fits, members, strict=True)]
    for fitted, _ in rated:
        notes += _contradictions(fitted)
    if rated:
        notes += _point_notes(rated[0][0], _shown(*rated[0], mean).point)
    residual = max((fitted.residual for fitted, _ in rated), default=0.0)
    largest = rated[0][0] if rated else None
    if terms.loose and not terms.anchors:
        notes.append("errors are relative to the pool average, without the uncertainty of the loose anchors")
    if openings:
        rated = _with_dependence(rated, opening_pairs(openings, pairs.names), notes)
    rows: list[Row] = []
    for number, (fitted, belief) in enumerate(rated, 1):
        rows += _rows_of(fitted, belief, number, _shown(fitted, belief, mean), errors_for)
    point = _shown(*rated[0], mean).point if rated else 1.0
    if any(remark in (FEW, EXTREME) for row in rows for remark in row.remarks):
        notes.append(f"profile-likelihood intervals for engines with fewer than {FEW_GAMES} games or an extreme score")
    if any(NOT_ASKED in row.remarks for row in rows):
        notes.append(f"a pool has more than {DENSE_ERRORS} engines: errors are computed only for the selected engines")
    idle = [name for name, games in zip(pairs.names, pairs.played, strict=True) if not games]
    games = int(pairs.games.sum())
    return RatingList(
        rows=tuple(rows),
        unrated=(*alone, *(_Unrated(name, "no games") for name in idle)),
        pools=tuple(fitted.names for fitted, _ in rated),
        caption=tuple(notes),
        white_advantage=0.0 if largest is None else largest.advantage * point,
        draw_rate=float(pairs.draws.sum()) / games if games else None,
        residual=residual,
        anchors=tuple(sorted(terms.anchors.items())),
        games=games,
        skipped=skipped,
        model=model,
        draw_parameter=None if largest is None else largest.draw,
        point=point,
        level=terms.level,
    )


def incremental_list(
    pairs: Pairs, ratings: Mapping[str, float], system: str, *, skipped: int = 0, notes: Sequence[str] = ()
) -> RatingList:
    """Return a list with the last ratings of an incremental system, in one pool and without errors."""
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
                games=games,
                score=score,
                wins=int(won[at]),
                draws=int(drawn[at]),
                losses=int(lost[at]),
                opponents=others,
                performance=others + ELO_SCALE * log10(score / (1 - score)) if 0 < score < 1 else None,
            )
        )
    total = int(pairs.games.sum())
    return RatingList(
        rows=tuple(rows),
        pools=(pairs.names,) if pairs.names else (),
        caption=(INCREMENTAL, *notes),
        draw_rate=float(pairs.draws.sum()) / total if total else None,
        games=total,
        skipped=skipped,
        model=system,
        level="",
    )


def bubble_rating_order(
    starting_list_bottom_to_top: Sequence[str], newcomers: Sequence[str], counts: Counts | Pairs
) -> tuple[str, ...]:
    """Return all engines, best first, by likelihood with the old list as prior. Equal engines keep the old order.

    The prior of place i of m has the mean z((i+1/2)/m) * 350 Elo and the standard deviation 150 Elo. The prior of a
    newcomer has the mean 0 and the standard deviation 350 Elo. Raises ValueError for an engine that is in neither list.
    """
    old = [name for name in starting_list_bottom_to_top if name not in set(newcomers)]
    means = {name: NormalDist().inv_cdf((i + 0.5) / len(old)) * PRIOR_SD for i, name in enumerate(old)}
    spreads = dict.fromkeys(old, _OLD_PLACE_SD)
    for name in newcomers:
        means[name], spreads[name] = 0.0, PRIOR_SD
    if not means:
        return ()
    pairs = pairs_of(counts, tuple(means))
    if strangers := sorted(set(pairs.names) - set(means)):
        raise ValueError(f"{strangers[0]} is neither in the starting list nor new")
    rated = fit(pairs, prior=GaussianPrior(spreads, means)).by_name()
    return tuple(sorted((*reversed(old), *newcomers), key=lambda name: -round(rated[name], SHARED)))


def _with_dependence(
    rated: list[tuple[Fit, Prior | None]], couples: OpeningPairs, notes: list[str]
) -> list[tuple[Fit, Prior | None]]:
    """Add the dependence of paired games to the fits.

    All pools get the same variance ratio, because single pools have too few pairs.
    """
    inside = [couples.within(fitted.names) for fitted, _ in rated]
    surprise = sum(
        (pair_score_spread(fitted, own) for (fitted, _), own in zip(rated, inside, strict=True)), PairScoreSpread()
    )
    if not surprise.pairs:
        return rated
    notes.append(surprise.note)
    return [
        (replace(fitted, dependence=OpeningDependence(surprise.ratio, own.in_rows(fitted.problem.pairs))), belief)
        for (fitted, belief), own in zip(rated, inside, strict=True)
    ]


def _why_unrated(name: str, pairs: Pairs) -> str:
    if name in unbeaten(pairs):
        return "unbeaten: no finite rating without a prior"
    if name in winless(pairs):
        return "winless: no finite rating without a prior"
    return "alone in its connected component: no finite rating without a prior"


def _fits(
    members: Sequence[_Pool],
    terms: _ListTerms,
    advantage: float | Literal["fit"],
    draw: float | Literal["fit"],
    notes: list[str],
) -> list[Fit]:
    """Fit all pools in their order. They share White's advantage and the draw parameter.

    If the advantage cannot be determined, it is set to 0 and a note is added.
    """
    shared = len(members) > 1 and (advantage == "fit" or (terms.model != "logistic" and draw == "fit"))
    found = list[Fit]()
    for group in [members] if shared else [[pool] for pool in members]:
        try:
            found += (
                _fit_jointly(group, terms, advantage, draw) if shared else [_fit_pool(group[0], terms, advantage, draw)]
            )
        except NoMaximum as failure:
            if advantage != "fit":
                raise
            notes.append(f"{failure.what}; 0 is used")
            found += _fit_jointly(group, terms, 0.0, draw) if shared else [_fit_pool(group[0], terms, 0.0, draw)]
    return found


def _contradictions(fitted: Fit) -> tuple[str, ...]:
    """Return a note about anchors whose results are improbable for their given ratings."""
    if len(fitted.fixed) < 2:
        return ()
    pairs = fitted.problem.pairs
    mean, variance = moments(fitted, fitted.problem.gaps(fitted.at))
    surprise, spread = pairs.points - pairs.games * mean, pairs.games * variance
    off, variances = pairs.per_engine(surprise, -surprise), pairs.per_engine(spread, spread)
    found = [
        f"{fitted.names[place]} at {fitted.ratings[place]:g} scored {pairs.scored[place]:,.1f} of "
        f"{pairs.played[place]:,.0f}, expected {pairs.scored[place] - off[place]:,.1f}"
        for place in sorted(fitted.fixed)
        if abs(off[place]) > _SURPRISING * variances[place] ** 0.5
    ]
    few = "; ".join(found[:_FEW_NAMED]) + "; ..." * (len(found) > _FEW_NAMED)
    return (f"anchors that do not fit the games: {few}",) if found else ()


def _point_notes(fitted: Fit, point: float) -> tuple[str, ...]:
    """Return notes that explain the points of a model if they are not Elo points."""
    if fitted.point == 1:
        return ()
    added = ("the games do not determine the draw parameter: one win and one loss between equal engines are added",)
    notes = added if fitted.problem.imagined else ()
    draws = "" if fitted.draw is None else f", {'nu' if fitted.model == 'davidson' else 'drawElo'} {fitted.draw:.4g}"
    worth = f": near equality one point is worth {fitted.point:.4f} Elo"
    scaled = f", multiplied by {point:.4f}: near equality they are Elo points"
    return *notes, f"ratings in points of the {fitted.model} model{draws}{worth if point == 1 else scaled}"


# Intervals at a confidence other than 95 %.

_USUAL = 95.0  # %


def quantile(percent: float) -> float:
    """Return the number of standard deviations around the mean that enclose `percent` of a normal distribution."""
    return NORMAL_95 if percent == _USUAL else NormalDist().inv_cdf((1 + percent / 100) / 2)


def at_confidence(found: RatingList, percent: float) -> RatingList:
    """Return the list with plus, minus and errors for the confidence `percent`. Rows without a fit do not change."""
    if percent == _USUAL:
        return found
    bounds = {
        name: own
        for basis in fit_bases(found.rows).values()
        for name, own in zip(basis.fit.names, _interval_fields(basis, quantile(percent)), strict=True)
    }
    rows = (_with_bounds(row, bounds[row.name]) if row.name in bounds else row for row in found.rows)
    return replace(found, rows=tuple(rows))


def _with_bounds(row: Row, bounds: dict[str, Any]) -> Row:
    kept = (each for each in row.remarks if each not in _INTERVAL_REMARKS)
    return replace(row, **bounds | {"remarks": (*kept, *bounds["remarks"])})
