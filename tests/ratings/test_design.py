"""Tests of ratings/design."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from enginetour.ratings.design import (
    EXTRA_MEAN,
    EXTRA_SD,
    Goal,
    Posterior,
    Progress,
    Sketch,
    gains,
    information,
    permitted,
    posterior,
    progress,
    scatter,
)
from enginetour.ratings.likelihood import SharedParameters, fit
from enginetour.ratings.models import davidson_chances
from enginetour.ratings.pairs import Vector
from enginetour.ratings.priors import DivisionPrior, GaussianPrior

NAMES = ("A", "B", "C", "D", "E")
PRIOR = GaussianPrior()
GOALS = (
    Goal(error=10),
    Goal(error=10, of=("A", "B")),
    Goal(los=0.95),
    Goal(top=2, los=0.95),
    Goal(top=2, los=0.95, ordered=True),
    Goal(entrant="C", error=8),
    Goal(entrant="C", error=8, of=("A", "E")),
    Goal(divisions=(("A", "C"), ("D",), ("B", "E")), error=8),
)
ALL = pytest.mark.parametrize("goal", GOALS, ids=lambda goal: str(goal.model_dump(exclude_defaults=True)))


def results(seed: int, most: int = 12, names: int = len(NAMES)) -> Vector:
    """Return random counts of game pairs."""
    dice = np.random.default_rng(seed)
    counts = dice.integers(0, most, (names, names, 3)).astype(np.float64)
    counts[np.arange(names), np.arange(names)] = 0
    return counts


def known(mode: list[float], sd: float) -> Posterior:
    """Return a posterior with independent ratings of the same standard deviation."""
    names = NAMES[: len(mode)]
    covariance = np.eye(len(mode)) * sd**2
    return replace(
        posterior(names, np.zeros((len(mode), len(mode), 3)), PRIOR), mode=np.array(mode), covariance=covariance
    )


@given(seed=st.integers(0, 10_000), sd=st.sampled_from((20.0, 350.0)), spread=st.sampled_from((0.0, 400.0)))
@settings(max_examples=15)
def test_the_posterior_is_that_of_the_rating_list(seed: int, sd: float, spread: float) -> None:
    """Mode and curvature are those of the fit with the same model and priors; the covariance is that of Elo ratings.

    The value of a natural unit in Elo depends on the draw parameter, the prior does not.
    """
    counts = results(seed)
    means = dict(zip(NAMES, np.linspace(-spread, spread, len(NAMES)).tolist(), strict=True))
    found = posterior(NAMES, counts, GaussianPrior(sd, means))
    point = float(found.point)
    rows = {
        (white, black): tuple(counts[i, j].astype(int).tolist())
        for i, white in enumerate(NAMES)
        for j, black in enumerate(NAMES)
        if i != j and counts[i, j].any()
    }
    given_extra = SharedParameters(EXTRA_MEAN, np.zeros(2), np.diag(EXTRA_SD**-2), np.diag(EXTRA_SD**-2))
    fitted = fit(
        rows,
        model="davidson",
        prior=GaussianPrior(sd / point, {name: mean / point for name, mean in means.items()}),
        advantage="fit",
        elsewhere=given_extra,
        names=NAMES,
    )
    assert found.draw == pytest.approx(fitted.draw, rel=1e-6)
    assert found.mode == pytest.approx(fitted.ratings * point, abs=1e-4)
    assert found.advantage == pytest.approx(fitted.advantage * point, abs=1e-4)
    count, small = len(NAMES), 1e-4
    natural = fitted.problem.slopes(fitted.at)[1].of_free()
    prior = np.diag(np.append(np.full(count, (fitted.unit * point / sd) ** 2), EXTRA_SD**-2))
    turn = np.diag(np.append(np.full(count, 1 / (fitted.unit * point)), (1.0, 1.0)))  # natural units per unit of these
    units = [fitted.unit * 2 / (2 + fitted.draw * np.exp(step)) for step in (small, -small)]
    turn[:count, -1] = found.mode * (1 / units[0] - 1 / units[1]) / (2 * small)
    whole = turn.T @ (natural - prior) @ turn + np.diag(np.append(np.full(count, sd**-2), EXTRA_SD**-2))
    assert found.covariance == pytest.approx(np.linalg.inv(whole)[:count, :count], rel=1e-5)


def test_ratings_in_divisions() -> None:
    """Before the first game, the covariance is that of the levels and of the ratings around them."""
    prior = DivisionPrior((("A", "C"), ("B", "D", "E")), (75.0, -75.0), sd=300.0, scatter=60.0)
    found = posterior(NAMES, np.zeros((5, 5, 3)), prior)
    assert found.mode == pytest.approx([75.0, -75.0, 75.0, -75.0, -75.0])
    upper = np.array([True, False, True, False, False])
    same = upper[:, None] == upper
    assert found.covariance == pytest.approx(300.0**2 * same + 60.0**2 * np.eye(5), rel=1e-6, abs=1e-4)
    games = posterior(NAMES, results(3), prior)
    assert games.differences()[1][0, 2] < found.differences()[1][0, 2] == pytest.approx(2 * 60.0**2, rel=1e-6)


@pytest.mark.parametrize("spread", [40.0, 150.0])
def test_the_scatter_in_divisions(spread: float) -> None:
    """It is estimated from the games in the divisions; without games it is that of the levels."""
    names = tuple(f"E{number:02}" for number in range(36))
    goal = Goal(divisions=(names[:12], names[12:24], names[24:]), error=10)
    dice, division = np.random.default_rng(1), np.arange(36) // 12
    strength = dice.normal(0, spread, 36)
    chances = np.stack(davidson_chances((strength[:, None] - strength) / 95, np.array(1.6)), axis=-1)
    counts = dice.multinomial(4, chances) * (division[:, None] == division)[..., None].astype(float)
    counts[np.arange(36), np.arange(36)] = 0
    assert scatter(counts, names, goal, 350.0) == pytest.approx(spread, rel=0.35)
    assert scatter(np.zeros_like(counts), names, goal, 350.0) == pytest.approx(350.0)


def test_the_draw_parameter_does_not_widen_a_large_difference() -> None:
    """The error of a large difference is that of its expected score: it hardly depends on the prior of the draws."""
    counts = np.zeros((2, 2, 3))
    counts[0, 1] = counts[1, 0, ::-1] = (60, 35, 5)
    found = posterior(("A", "B"), counts, GaussianPrior(5000.0))
    assert float(found.mode[0] - found.mode[1]) > 200
    expected = 1 / (100 * float(information(found)[0, 1]))
    assert float(found.differences()[1][0, 1]) == pytest.approx(expected, rel=0.1)


@given(seed=st.integers(0, 10_000), sd=st.sampled_from((20.0, 350.0)))
@settings(max_examples=10)
def test_without_games_the_prior_stays(seed: int, sd: float) -> None:
    """Before the first game, the covariance is that of the prior, also for different given ratings."""
    mean = dict(zip(NAMES, np.random.default_rng(seed).normal(0, 300, len(NAMES)).tolist(), strict=True))
    found = posterior(NAMES, np.zeros((len(NAMES), len(NAMES), 3)), GaussianPrior(sd, mean))
    assert found.covariance == pytest.approx(sd**2 * np.eye(len(NAMES)), rel=1e-6, abs=1e-6)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=15)
def test_the_start_does_not_matter(seed: int) -> None:
    """A start from another posterior, however far, gives the same result."""
    counts, far = results(seed), results(seed + 1, most=90)
    cold, warm = posterior(NAMES, counts, PRIOR), posterior(NAMES, counts, PRIOR, posterior(NAMES, far, PRIOR))
    assert warm.mode == pytest.approx(cold.mode, abs=1e-6)
    assert warm.covariance == pytest.approx(cold.covariance, rel=1e-6)


@pytest.mark.parametrize("result", [0, 1, 2])
def test_results_of_one_kind(result: int) -> None:
    """If all games have the same result, the ratings are finite, also far from wrong given ratings."""
    counts = np.zeros((3, 3, 3))
    counts[0, 1, result] = counts[1, 2, result] = 1_000_000
    wrong = GaussianPrior(30.0, {"A": -3000.0 * (1 - result), "B": 0.0, "C": 3000.0 * (1 - result)})
    for prior in (PRIOR, wrong):
        found = posterior(NAMES[:3], counts, prior)
        assert np.isfinite(found.mode).all()
        assert np.isfinite(found.covariance).all()
        assert np.linalg.eigvalsh(found.covariance).min() > 0


@ALL
def test_leading_dimensions(goal: Goal) -> None:
    """Several tournaments in one array are computed as each of them."""
    both = np.stack((results(1), results(2)))
    found = posterior(NAMES, both, PRIOR)
    pending = np.stack([np.ones((5, 5)) - np.eye(5), np.zeros((5, 5))])
    reached = progress(found, goal)
    for at in range(2):
        one = posterior(NAMES, both[at], PRIOR)
        assert found.mode[at] == pytest.approx(one.mode, abs=1e-6)
        alone = gains(one.informed(pending[at] * information(one)), goal)
        assert gains(found.informed(pending * information(found)), goal)[at] == pytest.approx(alone, rel=1e-6)
        single = progress(one, goal)
        assert reached.reached[at] == pytest.approx(single.reached)
        assert bool(reached.done[at]) == bool(single.done)
        assert (reached.doubt[at] == single.doubt).all()


def test_information_is_the_expected_curvature() -> None:
    """The information is minus the expected second derivative of the log likelihood of two games."""
    found = posterior(NAMES, results(3), PRIOR)
    each = information(found)
    unit = 400 / np.log(10) * float(found.point)
    nu, lead, small = float(found.draw), float(found.advantage), 0.5

    def chances(gap: float) -> Vector:
        weights = np.array((np.exp(gap / unit / 2), nu, np.exp(-gap / unit / 2)))
        return np.asarray(weights / weights.sum())

    gap = float(found.mode[0] - found.mode[3])
    curvature = 0.0
    for there in (gap + lead, gap - lead):
        bent = np.log(chances(there + small)) + np.log(chances(there - small)) - 2 * np.log(chances(there))
        curvature -= float(chances(there) @ bent) / small**2
    assert each[0, 3] == pytest.approx(curvature, rel=1e-4)
    assert each == pytest.approx(each.T)
    assert (each.diagonal() == 0).all()


@ALL
def test_the_gain_is_the_fall_of_the_variance(goal: Goal) -> None:
    """The gain is the difference of trace(L S) before and after the information of the pair is added to S^-1."""
    found = posterior(NAMES, results(4), PRIOR)
    gained, each, before = gains(found, goal), information(found), found.covariance
    lengths = []
    for one in range(len(NAMES)):
        for other in range(len(NAMES)):
            way = np.eye(len(NAMES))[one] - np.eye(len(NAMES))[other]
            after = np.linalg.inv(np.linalg.inv(before) + each[one, other] * np.outer(way, way))
            fall = before - after  # of rank one: fall = w uu' with u = S e / sqrt(1 + w e'Se)
            if goal.kind == "errors" and not goal.of:
                centre = np.eye(len(NAMES)) - 1 / len(NAMES)
                assert gained[one, other] == pytest.approx(np.trace(centre @ fall @ centre), abs=1e-7)
            elif goal.kind == "version":
                others = goal.of or ("A", "B", "D", "E")
                line = np.array([float(name == "C") - (name in others) / len(others) for name in NAMES])
                assert gained[one, other] == pytest.approx(line @ fall @ line, abs=1e-7)
            elif goal.kind == "divisions":
                lines = np.array([[0.5, 0, 0.5, -1, 0], [0, -0.5, 0, 1, -0.5]])
                assert gained[one, other] == pytest.approx(np.trace(lines @ fall @ lines.T), abs=1e-7)
            lengths.append(gained[one, other])
    assert max(lengths) > 0
    assert min(lengths) >= 0
    assert gained == pytest.approx(gained.T)


@ALL
def test_names_do_not_matter(goal: Goal) -> None:
    """With entrants in another order, gains and progress are the same for the same entrants."""
    counts, order = results(5), np.array([3, 0, 4, 1, 2])
    there = posterior(NAMES, counts, PRIOR)
    moved = posterior([NAMES[at] for at in order], counts[np.ix_(order, order)], PRIOR)
    assert moved.mode == pytest.approx(there.mode[order], abs=1e-6)
    assert gains(moved, goal) == pytest.approx(gains(there, goal)[np.ix_(order, order)], rel=1e-6)
    assert progress(moved, goal).reached == pytest.approx(progress(there, goal).reached)
    assert (progress(moved, goal).doubt == progress(there, goal).doubt[np.ix_(order, order)]).all()


@ALL
def test_games_in_progress_count(goal: Goal) -> None:
    """A pair that plays already gains less than before, by its expected information."""
    found = posterior(NAMES, results(6), PRIOR)
    before = gains(found, goal)
    one, other = np.unravel_index(int(before.argmax()), before.shape)
    pending = np.zeros_like(before)
    pending[one, other] = pending[other, one] = 1
    after = found.informed(pending * information(found))
    assert gains(after, goal)[one, other] < before[one, other]
    if goal.error is not None:
        way = np.eye(len(NAMES))[one] - np.eye(len(NAMES))[other]
        inner = np.linalg.inv(found.covariance) + information(found)[one, other] * np.outer(way, way)
        assert after.covariance == pytest.approx(np.linalg.inv(inner), rel=1e-6)


@ALL
def test_a_sketch_is_nearly_the_posterior(goal: Goal) -> None:
    """After two more games, it has the ratings, covariance and gains of the posterior with the same weights."""
    names = tuple(f"E{number}" for number in range(20))
    counts = results(3, 3, len(names))
    divisions = goal.divisions and (names[:5], names[5:9], names[9:])
    replaced = {"of": goal.of and names[:2], "entrant": goal.entrant and names[2], "divisions": divisions}
    goal, before = goal.model_copy(update=replaced), posterior(names, counts, PRIOR)
    sketch = Sketch.of(before, goal)
    assert sketch.gains() == pytest.approx(gains(before, goal))
    after = sketch.with_games([4, 9], [9, 4], [1, 0])
    counts[4, 9, 0] += 1
    counts[9, 4, 1] += 1
    exact = posterior(names, counts, PRIOR, before)
    assert np.abs(exact.mode - before.mode).max() > 1
    assert after.posterior.mode == pytest.approx(exact.mode, abs=0.1)
    assert after.posterior.covariance == pytest.approx(exact.covariance, abs=exact.covariance.max() / 1000)
    middle, covariance = np.linalg.inv(before.covariance), after.posterior.covariance
    weights = middle @ sketch.weighed @ middle
    assert after.weighed == pytest.approx(covariance @ weights @ covariance, abs=1e-6 * after.weighed.max())
    size, way = 2.0, np.eye(len(names))[1] - np.eye(len(names))[5]
    inner = np.linalg.inv(np.linalg.inv(covariance) + size * after.each[1, 5] * np.outer(way, way))
    outer = inner @ weights @ inner
    fall = [each.diagonal()[:, None] + each.diagonal() - 2 * each for each in (outer, inner)]
    pending = np.zeros_like(inner)
    pending[1, 5] = pending[5, 1] = size
    ahead = after.expected(pending)
    assert ahead.posterior.covariance == pytest.approx(inner, rel=1e-6)
    assert ahead.gains() == pytest.approx(after.each * fall[0] / (1 + after.each * fall[1]), rel=1e-6)


@given(seed=st.integers(0, 10_000), count=st.integers(2, 12), fewest=st.integers(0, 9))
@settings(max_examples=15)
def test_permitted_pairs_keep_the_limits(seed: int, count: int, fewest: int) -> None:
    """Random choices among the permitted pairs give opponents first, then games, and never too large a share."""
    dice, played = np.random.default_rng(seed), np.zeros((count, count))
    for _ in range(12 * count):
        before, allowed = played.copy(), permitted(played, opponents=3, fewest=fewest)
        assert not allowed.diagonal().any()
        pairs = np.argwhere(np.triu(allowed))
        one, other = pairs[dice.integers(len(pairs))]
        lonely = (before > 0).sum(axis=1) < min(3, count - 1)
        if lonely.any():
            assert before[one, other] == 0
            assert lonely[one] or lonely[other]
        played[one, other] += 1
        played[other, one] += 1
    assert (played.sum(axis=1) >= fewest).all()
    most = np.ceil(max(0.25, 2 / (count - 1)) * played.sum(axis=1))
    assert (played <= most[:, None]).all()


def test_what_is_known_has_no_weight() -> None:
    """Only entrants with too wide intervals count, and only pairs that are neither separated nor level."""
    found = known([60.0, 0.0, -30.0, -30.0], 5.0)
    covariance = np.diag([25.0, 25.0, 25.0, 400.0])
    late = gains(replace(found, covariance=covariance), Goal(error=30))
    assert late[3].min(initial=np.inf, where=np.arange(4) < 3) > 20 * late[:3, :3].max()
    doubtful = gains(found, Goal(los=0.95))
    assert doubtful[2, 3] == doubtful.max()
    assert (gains(found, Goal(los=0.95, level=15)) == 0).all()  # the pair in doubt is level, all others are separated


def test_permitted_pairs_of_several_tournaments() -> None:
    """Each tournament of an array has its own permitted pairs."""
    played = np.zeros((2, 4, 4))
    played[1, 0, 1] = played[1, 1, 0] = 1
    found = permitted(played)
    assert found[0].sum() == 12
    assert not found[1, 0, 1]
    assert (found[1] == permitted(played[1])).all()


@given(seed=st.integers(0, 10_000), times=st.integers(2, 9))
@settings(max_examples=10)
def test_more_games_are_more_certain(seed: int, times: int) -> None:
    """If all results occur several times, each interval is narrower."""
    counts = results(seed) + 1 - np.eye(len(NAMES))[..., None]
    few, many = (posterior(NAMES, counts * number, PRIOR) for number in (1, times))
    assert progress(many, Goal(error=1)).reached < progress(few, Goal(error=1)).reached
    assert (many.differences()[1] <= few.differences()[1]).all()


def in_doubt(found: Progress, names: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Return the pairs of names in doubt; an entrant whose own interval is too wide is alone."""
    one, other = np.nonzero(np.triu(found.doubt))
    pairs = zip(one.tolist(), other.tolist(), strict=True)
    return tuple(tuple(names[at] for at in dict.fromkeys(pair)) for pair in pairs)


def test_progress_errors() -> None:
    """The widest interval must be narrow enough; the zero point is the average of all entrants or of some."""
    found = known([30.0, 0.0, -30.0], 5.0)
    assert progress(found, Goal(error=8)).reached == pytest.approx(1.959964 * 5 * np.sqrt(2 / 3))
    late = progress(found, Goal(error=8))
    assert not late.done
    assert in_doubt(late, found.names) == (("A",), ("B",), ("C",))
    assert progress(found, Goal(error=8.01)).done
    anchored = progress(found, Goal(error=8.01, of=("B",)))
    assert anchored.reached == pytest.approx(1.959964 * 5 * np.sqrt(2))
    assert in_doubt(anchored, found.names) == (("A",), ("C",))


def test_progress_version() -> None:
    """The difference between an entrant and the average of the others must be known well enough."""
    found = known([30.0, 0.0, -30.0], 5.0)
    assert progress(found, Goal(entrant="A", error=13)).reached == pytest.approx(1.959964 * 5 * np.sqrt(1.5))
    assert progress(found, Goal(entrant="A", error=13)).done
    one = progress(found, Goal(entrant="A", error=13, of=("C",)))
    assert one.reached == pytest.approx(1.959964 * 5 * np.sqrt(2))
    assert (bool(one.done), in_doubt(one, found.names)) == (False, (("A",),))


def test_progress_divisions() -> None:
    """The difference of the averages of each two neighboring divisions must be known; pairs of the others are known."""
    found = replace(known([30.0, 10.0, 0.0, -30.0], 5.0), covariance=np.diag([25.0, 25.0, 100.0, 64.0]))
    goal = Goal(divisions=(("A", "B"), ("C",), ("D",)), error=22)
    assert progress(found, goal).reached == pytest.approx(1.959964 * np.sqrt(100 + 64))
    late = progress(found, goal)
    assert (bool(late.done), in_doubt(late, found.names)) == (False, (("C", "D"),))
    assert in_doubt(progress(found, goal.model_copy(update={"error": 20.0})), found.names) == (
        ("A", "C"),
        ("B", "C"),
        ("C", "D"),
    )
    assert progress(found, goal.model_copy(update={"error": 25.2})).done
    assert goal.meets(found.names).tolist() == [
        [False, False, True, True],
        [False, False, True, True],
        [True, True, False, True],
        [True, True, True, False],
    ]


def test_progress_places() -> None:
    """Neighbors must be separated or level."""
    apart = known([30.0, 0.0, -30.0], 5.0)  # z = 30 / (5 sqrt 2): likelihood 0.99999
    assert progress(apart, Goal(los=0.95)).done
    near = known([6.0, 0.0, -30.0], 5.0)
    late = progress(near, Goal(los=0.95))
    assert (bool(late.done), in_doubt(late, near.names)) == (False, (("A", "B"),))
    assert late.reached == pytest.approx(0.801931, abs=1e-5)  # Phi(6 / (5 sqrt 2))
    assert progress(near, Goal(los=0.95, level=18)).done  # 0.955: the difference is within 18 Elo
    assert not progress(near, Goal(los=0.95, level=17)).done


def test_progress_top() -> None:
    """Only pairs of the first and the other entrants count, and with `ordered` neighbors among the first."""
    found = known([31.0, 30.0, 0.0, -1.0], 5.0)
    assert progress(found, Goal(top=2, los=0.95)).done
    late = progress(found, Goal(top=2, los=0.95, ordered=True))
    assert (bool(late.done), in_doubt(late, found.names)) == (False, (("A", "B"),))
    first = progress(found, Goal(top=1, los=0.95))
    assert (bool(first.done), in_doubt(first, found.names)) == (False, (("A", "B"),))
    unsure = progress(known([10.0, 0.0, 0.0], 5.0), Goal(top=1, los=0.9))
    assert unsure.reached == pytest.approx(0.921350**2, abs=1e-5)  # Phi(10 / (5 sqrt 2)) twice


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({}, "must have error or los"),
        ({"error": 10, "los": 0.95}, "different goals"),
        ({"error": 10, "level": 3}, "level has no effect without los"),
        ({"los": 0.9, "of": ("A",)}, "of has no effect without error"),
        ({"los": 0.9, "ordered": True}, "ordered has no effect without top"),
        ({"top": 3}, "must have error or los"),
        ({"top": 3, "los": 0.9, "level": 4}, "level has no effect with top"),
        ({"entrant": "A", "los": 0.9}, "entrant has no effect without error"),
        ({"error": 0}, "greater than 0"),
        ({"error": inf}, "finite"),
        ({"los": 0.5}, "greater than 0.5"),
        ({"eror": 3}, "not permitted"),
        ({"divisions": [["A"], ["B"]]}, "must have error or los"),
        ({"divisions": [["A"], ["B"]], "los": 0.9}, "divisions has no effect without error"),
        ({"divisions": [["A"], ["B"]], "error": 8, "of": ["A"]}, "of and divisions are different goals"),
        ({"divisions": [["A"], ["B"]], "error": 8, "entrant": "A"}, "entrant and divisions are different goals"),
        ({"divisions": [["A", "B"]], "error": 8}, "at least two lists of entrants \\(found lists of 2 entrants"),
        ({"divisions": [["A", "B"], []], "error": 8}, "found lists of 2, 0 entrants"),
        ({"divisions": [["A", "B"], ["C", "A"]], "error": 8}, "divisions: 'A' is listed twice"),
    ],
)
def test_goals_that_are_not_valid(keys: dict[str, object], text: str) -> None:
    """A goal with a key that has no effect is an error that names the key."""
    with pytest.raises(ValidationError, match=text):
        Goal.model_validate(keys)


@pytest.mark.parametrize(
    ("goal", "text"),
    [
        (Goal(entrant="X", error=1), "'X' is not an entrant"),
        (Goal(error=1, of=("A", "Y")), "'Y' is not an entrant"),
        (Goal(entrant="A", error=1, of=("A",)), "contains the entrant 'A' itself"),
        (Goal(top=5, los=0.9), "below the number of entrants"),
        (Goal(divisions=(("A", "B", "C", "D", "E"), ("X",)), error=1), "'X', which is not an entrant"),
        (Goal(divisions=(("A", "B", "C"), ("D",)), error=1), "the entrant 'E' is in no division"),
    ],
)
def test_goals_that_do_not_fit_the_entrants(goal: Goal, text: str) -> None:
    """A goal names only entrants, and asks for fewer first places than there are entrants."""
    with pytest.raises(ValueError, match=text):
        goal.check(NAMES)
    goal.model_copy(update={"entrant": None, "of": (), "top": None, "divisions": ()}).check(NAMES)
