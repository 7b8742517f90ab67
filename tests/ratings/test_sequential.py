"""Tests of ratings/sequential."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Sequence
from itertools import product
from math import exp, isfinite, log, sqrt

import numpy as np
import pytest

from enginetour.ratings.pentanomial import elo_of, moments, regularized, statistics_of
from enginetour.ratings.sequential import (
    MODELS,
    Sprt,
    Walk,
    _first_through,
    _follow,
    assumed_chances,
    corrected_bounds,
    estimate,
    expected_lengths,
    match_test,
    sample_number,
    step,
)
from enginetour.reports import sprt
from enginetour.reports.sheet import render
from tests.support.databases import rolled

# Sequential tests: ratio, bounds and state.

GAMES, PAIRS = (900, 2100, 1000), (30, 440, 1100, 500, 30)


@pytest.mark.parametrize(
    ("counts", "bounds", "model", "llr"),
    [
        (GAMES, (0, 5), "logistic", 2.158362),
        (GAMES, (0, 5), "normalized", 1.674015),
        (GAMES, (0, 5), "bayesian", 1.736696),
        (PAIRS, (0, 4), "logistic", 1.467315),
        (PAIRS, (0, 4), "normalized", 1.024096),
    ],
)
def test_published_ratios(counts: tuple[int, ...], bounds: tuple[float, float], model: str, llr: float) -> None:
    """Published log likelihood ratios are reproduced to 1e-6."""
    test = Sprt(*bounds, model=model)  # type: ignore[arg-type]
    assert test.llr(counts) == pytest.approx(llr, abs=1e-6)


def test_walds_bounds() -> None:
    """Wald's bounds are correct for equal and different error rates."""
    assert Sprt(0, 5).bounds == pytest.approx((-2.944439, 2.944439), abs=1e-6)
    assert Sprt(0, 5, alpha=0.02, beta=0.1).bounds == pytest.approx((-2.282382, 3.806662), abs=1e-6)


def test_the_ratio_holds_in_extremes() -> None:
    """4250 wins in 4250 games, 0 against 10 nElo, give 120.5; the closed form for long tests gives 0.13."""
    test = Sprt(0, 10, "normalized")
    assert test.llr((0, 0, 4250)) == pytest.approx(120.5, abs=0.05)


def _highest_likelihood(counts: tuple[int, ...], test: Sprt, bound: float) -> float:
    """Return the maximum of the trinomial likelihood by golden section over the share of draws, without multipliers."""
    seen = regularized(counts)
    score, spread = 1 / (1 + 10 ** (-bound / 400)), bound * log(10) / 800
    most_draws = 2 * min(score, 1 - score) if test.model == "logistic" else 1 / (1 + spread**2)

    def height(draw: float) -> float:
        off = score - 0.5
        if test.model == "normalized":  # off = spread sd, sd^2 = (1 - draw)/4 - off^2
            off = spread * sqrt((1 - draw) / 4 / (1 + spread**2))
        chances = (0.5 - off - draw / 2, draw, 0.5 + off - draw / 2)
        return sum(count * log(chance) for count, chance in zip(seen, chances, strict=True))

    low, high, ratio = 1e-12, most_draws * (1 - 1e-12), (sqrt(5) - 1) / 2
    for _ in range(100):
        one, other = high - ratio * (high - low), low + ratio * (high - low)
        if height(one) < height(other):
            low = one
        else:
            high = other
    return height((low + high) / 2)


@pytest.mark.parametrize("model", ["logistic", "normalized"])
@pytest.mark.parametrize("counts", [(900, 2100, 1000), (3, 10, 40), (700, 20, 100), (0, 30, 2)])
def test_against_a_climb_without_multipliers(counts: tuple[int, ...], model: str) -> None:
    """The ratio agrees with that of two maxima found by search, to 1e-7."""
    test = Sprt(-3, 12, model=model)  # type: ignore[arg-type]
    expected = _highest_likelihood(counts, test, 12) - _highest_likelihood(counts, test, -3)
    assert test.llr(counts) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("counts", [GAMES, PAIRS, (0, 0, 4250), (0, 3, 0, 0, 0), (0, 0, 7, 0, 0), (1, 0, 1)])
def test_hypotheses_fulfil_their_bounds(counts: tuple[int, ...]) -> None:
    """The most likely probabilities add up to 1 and have the score of the hypothesis."""
    pairs = 2 if len(counts) == 5 else 1
    for test in (Sprt(-10, 30), Sprt(-10, 30, "normalized")):
        for chances, bound in zip(test.hypotheses(counts), (-10, 30), strict=True):
            assert sum(chances) == pytest.approx(1, abs=1e-9)
            mean, variance = moments(chances)
            if test.model == "logistic":
                assert mean == pytest.approx(1 / (1 + 10 ** (-bound / 400)), abs=1e-9)
            else:
                assert (mean - 0.5) / (pairs * variance) ** 0.5 * 800 / log(10) == pytest.approx(bound, abs=1e-6)


def test_bayesian_knows_no_pairs() -> None:
    """The bayesian model does not accept pairs."""
    with pytest.raises(ValueError, match="not pairs"):
        Sprt(0, 5, "bayesian").llr(PAIRS)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((5, 5), "elo0 must be below elo1"),
        ((5, 0), "elo0 must be below elo1"),
        ((0, float("nan")), "must be between"),
        ((0, 1e6), "must be between"),
        ((0, 300, "normalized"), "between -200 and 200"),
        ((0, 5, "pentanomial"), "known: logistic"),
        ((0, 5, "logistic", 0.6, 0.6), "alpha, beta"),
        ((0, 5, "logistic", 0.0, 0.05), "alpha, beta"),
    ],
)
def test_bounds_that_cannot_be_tested(words: tuple[object, ...], told: str) -> None:
    """Impossible bounds raise an error with an explanation."""
    with pytest.raises(ValueError, match=told):
        Sprt(*words)  # type: ignore[arg-type]


def test_nothing_played_says_nothing() -> None:
    """No games give a ratio of 0, and an unknown outcome raises an error."""
    assert Sprt(0, 5).llr((0, 0, 0)) == 0
    with pytest.raises(ValueError, match="between 0 and 2"):
        step(Sprt(0, 5), Walk((0, 0, 0)), 3)


@pytest.mark.parametrize(("outcome", "verdict"), [(2, "H1"), (1, "H0"), (0, "H0")])
def test_a_verdict_is_the_first_one(outcome: int, verdict: str) -> None:
    """Games after the stop change the ratio, but not the verdict."""
    test = Sprt(0, 40)
    walk = _until_verdict(test, 3, itertools.repeat(outcome))
    assert walk.verdict == verdict
    assert walk.stopped == walk.counts
    later = walk
    for _ in range(sum(walk.counts) * 3):
        later = step(test, later, 0 if verdict == "H1" else 2)
    assert later.verdict == verdict
    assert later.stopped == walk.stopped
    assert later.overshoot == walk.overshoot
    assert later.llr == test.llr(later.counts)


def test_overshoot_is_that_of_the_steps() -> None:
    """With equal steps h to new records the mean overshoot is h/2 (Siegmund 1985), and the bounds move by it."""
    test = Sprt(0, 5)
    walk = _follow(test, [2] * 50, 3)
    steps = np.diff([test.llr((0, 0, number)) for number in range(51)])
    assert walk.overshoot == pytest.approx((0.0, (steps**2).sum() / steps.sum() / 2))
    low, high = corrected_bounds(test, walk)
    assert low == test.bounds[0]
    assert high == pytest.approx(test.bounds[1] - walk.overshoot[1])


@pytest.mark.parametrize(("model", "classes"), [(m, c) for m, c in product(MODELS, (3, 5)) if (m, c) != (MODELS[2], 5)])
def test_error_rates(model: str, classes: int) -> None:
    """If elo0 is true, H1 is reached in about 5 % of 200 short tests with a fixed seed."""
    dice = np.random.default_rng(11)
    even = [0.25, 0.5, 0.25] if classes == 3 else [0.06, 0.24, 0.4, 0.24, 0.06]
    test, wrong = Sprt(0, 160, model=model), 0  # type: ignore[arg-type]
    for _ in range(200):
        wrong += _played(test, even, dice).verdict == "H1"
    assert wrong <= 18  # 10 expected, 2.6 standard deviations


# A test of two engines with their games.

PAIRED = [(number // 2, half_points) for number, half_points in enumerate([2, 1, 0, 2, 1, 1, 2, 2, 1, 0])]


def test_games_that_came_in_pairs_are_tested_by_pairs() -> None:
    """Games in pairs are tested by pairs; wins, draws and losses count games."""
    found = match_test(Sprt(0, 10), PAIRED)
    assert found.games == (2, 4, 4)
    assert found.pairs == (0, 1, 2, 1, 1)
    assert found.lone == 0
    assert found.walk == _follow(Sprt(0, 10), [3, 2, 2, 4, 1], 5)
    assert found.statistics == statistics_of((0, 1, 2, 1, 1))


def test_a_lone_game_waits_for_its_partner() -> None:
    """A single game counts only in wins, draws and losses."""
    found = match_test(Sprt(0, 10), [*PAIRED, ("in the air", 2)])
    assert found.games == (2, 4, 5)
    assert found.pairs == (0, 1, 2, 1, 1)
    assert found.lone == 1


@pytest.mark.parametrize(
    ("test", "half_points"),
    [
        *itertools.product([Sprt(-50, 50), Sprt(-50, 50, "normalized"), Sprt(-10, -5, "bayesian")], (0, 2)),
        *itertools.product([Sprt(5, 10)], (0, 1, 2)),
    ],
)
def test_results_all_alike_have_an_elo_at_the_stop(test: Sprt, half_points: int) -> None:
    """If all outcomes are equal, the plain estimate is used, with at least one end."""
    found = match_test(test, [(number // 2, half_points) for number in range(2000)])
    after = found.after_stop
    assert after is not None and after.plain
    assert after.low is not None or after.high is not None
    assert "Elo is the plain estimate" in render(sprt.sprt_sheet("t", ("A", "B"), found))


def test_far_beyond_the_test_the_plain_figures_hold() -> None:
    """If the time of the stop contains no information, the plain estimate is used."""
    found = match_test(Sprt(-50, 50), [(number // 2, 0 if number % 20 else 2) for number in range(40)])
    assert found.after_stop is not None
    plain = statistics_of((9, 0, 1, 0, 0))
    assert (found.after_stop.elo, found.after_stop.low, found.after_stop.high) == (plain.elo, plain.low, plain.high)


def test_games_mostly_alone_are_tested_one_by_one() -> None:
    """A pair among many single games does not make a pentanomial."""
    found = match_test(Sprt(0, 10), [("a", 2), ("a", 0), *((number, 1) for number in range(3))])
    assert found.pairs is None
    assert found.lone == 0
    assert found.walk.counts == found.games == (1, 3, 1)


def test_bayesian_walks_over_games() -> None:
    """The bayesian model tests single games; the other statistics use pairs."""
    found = match_test(Sprt(0, 10, "bayesian"), PAIRED)
    assert found.walk.counts == (2, 4, 4)
    assert not found.walks_by_pairs
    assert found.statistics.observations == 5


def test_no_games_no_test() -> None:
    """Without games there is no test."""
    with pytest.raises(ValueError, match="without games"):
        match_test(Sprt(0, 10), [])


def test_json_has_no_nan() -> None:
    """Unknown values are null in JSON, never NaN."""
    value = json.loads(json.dumps(match_test(Sprt(0, 5), [("a", 2)]).to_json(), allow_nan=False))
    assert value["wins"] == 1
    assert value["pentanomial"] is None
    assert value["elo"] is None
    assert value["sprt"]["verdict"] is None
    assert value["sprt"]["stopped_after"] is None
    assert value["sprt"]["estimate"] is None


# Mean length of a test.


@pytest.mark.parametrize("classes", [3, 5])
def test_assumed_chances_are_those_of_equals(classes: int) -> None:
    """The assumed probabilities add up to 1, are symmetric, and have 50 % draws."""
    chances = assumed_chances(classes)
    assert sum(chances) == pytest.approx(1)
    assert chances == chances[::-1]
    assert chances == {3: (0.25, 0.5, 0.25), 5: (0.0625, 0.25, 0.375, 0.25, 0.0625)}[classes]


@pytest.mark.parametrize("truth", [-40.0, 0.0, 30.0, 60.0, 120.0])
@pytest.mark.parametrize("classes", [3, 5])
def test_against_simulated_tests(truth: float, classes: int) -> None:
    """The mean length agrees with 150 simulated tests, to a tenth and their noise."""
    test, dice = Sprt(0, 60), np.random.default_rng(2)
    chances = test.likeliest(assumed_chances(classes), truth)
    lengths = [sum(_played(test, chances, dice).stopped) for _ in range(150)]
    noise = 3 * float(np.std(lengths)) / 150**0.5
    assert sample_number(test, chances) == pytest.approx(float(np.mean(lengths)), abs=noise + 0.1 * np.mean(lengths))


def test_without_drift_it_is_the_product_of_the_ways_over_the_variance() -> None:
    """Without drift the length is the product of the distances divided by the variance."""
    test = Sprt(-20, 20)
    even = assumed_chances(5)
    straight = sample_number(test, even)
    for aside in (-0.01, 0.01):
        assert sample_number(test, test.likeliest(even, aside)) == pytest.approx(straight, rel=1e-3)
    told = expected_lengths(test, 5)
    assert told["elo0"] == pytest.approx(told["elo1"], rel=1e-6)
    assert told["middle"] == pytest.approx(straight)


def test_what_is_walked_already_is_not_walked_again() -> None:
    """The length is smaller closer to the bound in the direction of the drift, and 0 at a bound."""
    test = Sprt(0, 60)
    chances = test.likeliest(assumed_chances(5), 60)
    ahead = [sample_number(test, chances, llr) for llr in (-2.0, 0.0, 2.0, 2.9, 3.0)]
    assert ahead == sorted(ahead, reverse=True)
    assert ahead[-1] == 0


def test_far_from_the_bounds_nothing_overflows() -> None:
    """A thousand Elo from the bounds every length is finite."""
    test = Sprt(0, 1)
    for truth in (-900.0, 900.0):
        assert isfinite(sample_number(test, test.likeliest(assumed_chances(5), truth)))


# The estimate after a stop.


@pytest.mark.parametrize(("distance", "width", "lean"), [(1, 2, 0.0), (1, 5, 0.7), (3, 5, -0.4), (4, 5, 0.01)])
def test_with_all_the_time_it_is_the_gamblers_ruin(distance: float, width: float, lean: float) -> None:
    """With unlimited time the probability is that of the gambler's ruin, with and without drift."""
    behind = width - distance
    ruin = behind / width if not lean else (1 - exp(-2 * lean * behind)) / (1 - exp(-2 * lean * width))
    if lean < 0:
        ruin = (exp(2 * lean * distance) - exp(2 * lean * width)) / (1 - exp(2 * lean * width))
    assert _first_through(distance, width, lean * 1e4, 1e4) == pytest.approx(ruin, abs=1e-11)


@pytest.mark.parametrize(
    ("distance", "width", "drift", "variance"), [(1.0, 2.0, 0.0, 1.0), (1.0, 5.0, 2.0, 4.0), (2.0, 4.0, -3.0, 3.0)]
)
def test_at_any_time_it_is_a_fine_random_walk(distance: float, width: float, drift: float, variance: float) -> None:
    """At any time the probability agrees with a random walk on 200 places."""
    cells = 200
    size = width / cells
    steps = round(variance / size**2)
    up = (1 + drift / steps / size) / 2
    chances = np.zeros(cells + 1)
    chances[cells - round(distance / size)] = 1
    through = 0.0
    for _ in range(steps):
        moved = np.zeros(cells + 1)
        moved[1:] = up * chances[:-1]
        moved[:-1] += (1 - up) * chances[1:]
        through += moved[cells]
        moved[0] = moved[cells] = 0
        chances = moved
    assert _first_through(distance, width, drift, variance) == pytest.approx(through, rel=2e-3)


def test_far_from_anything_nothing_overflows() -> None:
    """Certain and impossible events, and no variance, do not overflow."""
    assert _first_through(1, 2, 1e6, 1.0) == 1
    assert _first_through(1, 2, -1e6, 1.0) == 0
    assert _first_through(1, 2, 2.0, 0.0) == 1
    assert _first_through(1, 2, 0.5, 0.0) == 0


def test_no_stop_no_correction() -> None:
    """A running test does not have an estimate."""
    test = Sprt(0, 5)
    assert estimate(test, _follow(test, [2, 1, 0], 3)) is None


@pytest.mark.parametrize("outcome", [0, 1, 2])
def test_one_kind_of_outcome(outcome: int) -> None:
    """If all outcomes are equal, a missing end is None and the others are in order."""
    test = Sprt(0, 60)
    walk = _until_verdict(test, 3, itertools.repeat(outcome))
    found = estimate(test, walk)
    assert found is not None
    ends = [end for end in (found.low, found.elo, found.high) if end is not None]
    assert ends == sorted(ends)
    assert found.observations == sum(walk.stopped)


STOPPED = pytest.mark.parametrize(
    ("test", "chances"),
    [
        (Sprt(0, 80), (0.18, 0.5, 0.32)),
        (Sprt(0, 80), (0.25, 0.5, 0.25)),
        (Sprt(0, 100, "bayesian"), (0.18, 0.5, 0.32)),
        (Sprt(0, 80), (0.03, 0.18, 0.4, 0.32, 0.07)),
        (Sprt(0, 160, "normalized"), (0.03, 0.18, 0.4, 0.32, 0.07)),
        (Sprt(0, 30), (0.0, 0.0, 0.39, 0.45, 0.16)),  # far beyond the test: 141 Elo
        (Sprt(0, 30), (0.001, 0.009, 0.4, 0.44, 0.15)),
        (Sprt(-10, 10), (0.15, 0.45, 0.4, 0.0, 0.0)),
    ],
)


@STOPPED
def test_half_of_the_estimates_are_too_high(test: Sprt, chances: tuple[float, ...]) -> None:
    """Half of the estimates are too high, and intervals cover 95 %, in 120 tests with a fixed seed."""
    median_and_cover(test, chances, 120)


def median_and_cover(test: Sprt, chances: tuple[float, ...], tests: int) -> None:
    """Check median and coverage of simulated tests, each within three standard deviations."""
    dice = np.random.default_rng(7)
    truth = elo_of(float(np.arange(len(chances)) @ chances) / (len(chances) - 1))
    above = held = 0
    for _ in range(tests):
        found = estimate(test, _played(test, chances, dice))
        assert found is not None
        above += found.elo is None or found.elo > truth
        held += (found.low is None or found.low <= truth) and (found.high is None or truth <= found.high)
    assert abs(above - tests / 2) <= 1.5 * tests**0.5
    assert held >= 0.95 * tests - 3 * (0.95 * 0.05 * tests) ** 0.5


def test_the_plain_score_after_a_stop_is_too_good_or_too_bad() -> None:
    """Without the estimate, far fewer than half of 250 equal engines score above their strength after a stop."""
    dice, test, chances = np.random.default_rng(7), Sprt(0, 80), (0.25, 0.5, 0.25)
    counts = [_played(test, chances, dice).stopped for _ in range(250)]
    assert sum(won > lost for lost, _, won in counts) < 100


def _played(test: Sprt, chances: Sequence[float], dice: np.random.Generator) -> Walk:
    return _until_verdict(test, len(chances), rolled(dice, chances))


def _until_verdict(test: Sprt, classes: int, outcomes: Iterable[int]) -> Walk:
    walk = Walk((0,) * classes)
    for outcome in outcomes:
        walk = step(test, walk, outcome)
        if walk.verdict:
            break
    return walk
