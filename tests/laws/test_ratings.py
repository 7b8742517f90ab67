"""Laws of rating systems: what Elo keeps, and invariances of likelihood ratings.

The laws of all incremental systems are in `enginetour.testing`.
"""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.ratings import elo
from enginetour.ratings.incremental import RatedGame
from enginetour.ratings.likelihood import ModelName, fit
from enginetour.ratings.priors import GaussianPrior, PhantomDraws, VirtualDraws
from enginetour.ratings.ratinglist import rating_list
from enginetour.ratings.systems import SYSTEMS
from enginetour.testing.test_ratings import NAMES, logs, pairings

LAW = settings(max_examples=60, deadline=None)

ratings = st.floats(-3000, 3000)
results = st.tuples(pairings, st.integers(0, 2))
tables = st.dictionaries(pairings, st.tuples(*[st.integers(0, 9)] * 3).filter(any), min_size=1, max_size=20)
priors = st.sampled_from([GaussianPrior(350.0), GaussianPrior(150.0, 0.0), PhantomDraws(1.0)])
models: st.SearchStrategy[ModelName] = st.sampled_from(["logistic", "davidson", "raokupper"])


@given(log=logs(), mode=st.sampled_from(["sequential", "batch"]))
@LAW
def test_elo_keeps_the_sum(log: list[RatedGame], mode: Any) -> None:
    """With one K for all engines, the average stays the same."""
    start = dict.fromkeys(NAMES, 1000.0)
    events = SYSTEMS["elo"].rate(log, elo.EloSettings(mode=mode, adv=33), start)
    assert sum((start | {event.engine: event.after for event in events}).values()) == pytest.approx(7000, abs=1e-8)


@given(counts=tables, prior=priors, model=models, data=st.data())
@LAW
def test_order_and_names(counts: Any, prior: Any, model: ModelName, data: st.DataObject) -> None:
    """The order of games changes no bit of a likelihood rating, and names change nothing else."""
    ratings = fit(counts, prior=prior, model=model).by_name()
    shuffled = dict(data.draw(st.permutations(list(counts.items()))))
    assert fit(shuffled, prior=prior, model=model).by_name() == ratings
    other = dict(zip(NAMES, data.draw(st.permutations(NAMES)), strict=True))
    moved = {(other[w], other[b]): tally for (w, b), tally in counts.items()}
    renamed = fit(moved, prior=prior, model=model).by_name()
    assert renamed == pytest.approx({other[name]: rating for name, rating in ratings.items()}, abs=1e-6)


@given(counts=tables, prior=priors, model=models, advantage=st.sampled_from([0.0, 35.0]))
@LAW
def test_mirror(counts: Any, prior: Any, model: ModelName, advantage: float) -> None:
    """Swapped results give mirrored ratings."""
    ratings = fit(counts, prior=prior, model=model, advantage=advantage).by_name()
    swapped = {pair: tally[::-1] for pair, tally in counts.items()}
    mirrored = fit(swapped, prior=prior, model=model, advantage=-advantage).by_name()
    assert mirrored == pytest.approx({name: -rating for name, rating in ratings.items()}, abs=1e-6)


@given(counts=tables, prior=priors, model=models)
@LAW
def test_residual(counts: Any, prior: Any, model: ModelName) -> None:
    """The score equations are satisfied to 1e-8 points per engine, and a prior keeps the average at 0."""
    fitted = fit(counts, prior=prior, model=model)
    assert fitted.residual <= 1e-8
    if isinstance(prior, GaussianPrior):
        assert fitted.ratings.mean() == pytest.approx(0, abs=1e-6)


@given(
    counts=tables,
    prior=st.sampled_from(["auto", "none", VirtualDraws()]),
    mean=st.sampled_from([None, 0.0, 1500.0]),
    model=models,
)
@LAW
def test_lists_are_honest(counts: Any, prior: Any, mean: float | None, model: ModelName) -> None:
    """Pools have the right average, every error is positive, and every engine is listed."""
    made = rating_list(counts, model=model, prior=prior, mean=mean)
    for number, pool in enumerate(made.pools, 1):
        rows = [row for row in made.rows if row.pool == number]
        assert sum(row.rating for row in rows) / len(rows) == pytest.approx(mean or 0.0, abs=1e-6)
        assert {row.name for row in rows} == set(pool)
    for row in made.rows:
        assert row.plus is None or 0 < row.plus < 1e4
        assert row.minus is None or 0 < row.minus < 1e4
        assert row.plus is not None or row.remarks
    met = {name for pair in counts for name in pair}
    assert {row.name for row in made.rows} | {engine.name for engine in made.unrated} == met
    assert made.residual <= 1e-8


@given(counts=tables, model=models, more=st.tuples(pairings, st.integers(0, 2)))
@LAW
def test_warm_starts_arrive(counts: Any, model: ModelName, more: Any) -> None:
    """A fit that starts from earlier ratings has the same result as a fit from zero."""
    pair, place = more
    tally = list(counts.get(pair, (0, 0, 0)))
    tally[place] += 1
    after = {**counts, pair: tuple(tally)}
    start = fit(counts, model=model, prior=GaussianPrior())
    warm, cold = (fit(after, model=model, prior=GaussianPrior(), start=begun) for begun in (start, None))
    assert warm.by_name() == pytest.approx(cold.by_name(), abs=1e-6)
