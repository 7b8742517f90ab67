"""Laws of sequential tests and match statistics."""

from math import isfinite

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from enginetour.ratings.pentanomial import statistics_of
from enginetour.ratings.sequential import Model, Sprt, _follow, estimate

LAW = settings(max_examples=80, deadline=None)

sizes = st.one_of(st.integers(0, 3), st.integers(0, 5000))
counts = st.sampled_from([3, 5]).flatmap(lambda classes: st.tuples(*[sizes] * classes)).filter(any)
bounds = st.tuples(st.floats(-100, 100), st.floats(0.1, 60))
models: st.SearchStrategy[Model] = st.sampled_from(["logistic", "normalized", "bayesian"])


@given(seen=counts, at=bounds, model=models)
@LAW
def test_mirror(seen: tuple[int, ...], at: tuple[float, float], model: Model) -> None:
    """With swapped sides and mirrored bounds, only the sign of the ratio changes."""
    assume(len(seen) == 3 or model != "bayesian")
    low, high = at[0], at[0] + at[1]
    ratio = Sprt(low, high, model).llr(seen)
    assert isfinite(ratio)
    assert Sprt(-high, -low, model).llr(seen[::-1]) == pytest.approx(-ratio, abs=1e-7, rel=1e-9)


@given(seen=counts, at=bounds, middle=st.floats(0.1, 0.9))
@LAW
def test_ratios_chain(seen: tuple[int, ...], at: tuple[float, float], middle: float) -> None:
    """The ratio of c to a is the sum of those of c to b and of b to a."""
    low, between, high = at[0], at[0] + middle * at[1], at[0] + at[1]
    for model in ("logistic", "normalized"):
        parts = Sprt(low, between, model).llr(seen) + Sprt(between, high, model).llr(seen)
        assert Sprt(low, high, model).llr(seen) == pytest.approx(parts, abs=1e-7, rel=1e-9)


@given(base=st.tuples(*[st.integers(1, 50)] * 5), times=st.integers(2, 50), at=bounds)
@LAW
def test_evidence_adds_up(base: tuple[int, ...], times: int, at: tuple[float, float]) -> None:
    """The same results n times have n times the ratio."""
    for model in ("logistic", "normalized"):
        test = Sprt(at[0], at[0] + at[1], model)
        assert test.llr([times * count for count in base]) == pytest.approx(times * test.llr(base), rel=1e-8, abs=1e-7)


@given(seen=counts)
@LAW
def test_statistics_claim_no_more_than_there_is(seen: tuple[int, ...]) -> None:
    """Statistics are finite, in order, never without an error, and mirrored with swapped sides."""
    found, other = statistics_of(seen), statistics_of(seen[::-1])
    for figure in (found.elo, found.low, found.high, found.error, found.nelo, found.nelo_error):
        assert figure is None or isfinite(figure)
    assert found.error is None or found.error > 0.01
    assert (found.error is None) == found.by_profile
    ends = [end for end in (found.low, found.elo, found.high) if end is not None]
    assert ends == sorted(ends)
    assert found.low is not None or found.high is not None
    assert 0 <= found.los <= 1
    assert found.los + other.los == pytest.approx(1, abs=1e-9)
    for one, mirrored in ((found.elo, other.elo), (found.low, other.high), (found.nelo, other.nelo)):
        assert (one is None) == (mirrored is None)
        assert one is None or mirrored is None or one == pytest.approx(-mirrored, abs=1e-5, rel=1e-6)


@given(outcomes=st.lists(st.integers(0, 4), max_size=60), model=st.sampled_from(["logistic", "normalized"]))
@LAW
def test_a_walk_stops_once(outcomes: list[int], model: Model) -> None:
    """Verdict and estimate stay those of the stop after later games; the ratio is that of all counts."""
    test = Sprt(0, 100, model)
    walk = _follow(test, outcomes, 5)
    assert walk.llr == test.llr(walk.counts)
    assert sum(walk.counts) == len(outcomes)
    assert bool(walk.verdict) == bool(walk.stopped)
    if walk.verdict:
        short = _follow(test, outcomes[: sum(walk.stopped)], 5)
        assert (short.verdict, short.stopped) == (walk.verdict, walk.stopped)
        assert estimate(test, short) == estimate(test, walk)
