from math import inf, log10, nan
from random import Random

import numpy as np
import pytest

from enginetour.ratings.likelihood import Fit, Undetermined, fit
from enginetour.ratings.models import GaussianPrior
from enginetour.ratings.pairs import Counts, Pairs, pairs_of

MATCH = {("A", "B"): (30, 40, 15)}
MIXED = {("A", "B"): (4, 3, 2), ("B", "C"): (2, 2, 5), ("C", "A"): (1, 6, 3), ("B", "A"): (1, 0, 2)}


def gap(fitted: Fit, one: str = "A", other: str = "B") -> float:
    return fitted.by_name()[one] - fitted.by_name()[other]


def test_two_engines() -> None:
    """A match has the closed form 400 log10(50/35), split about 0."""
    fitted = fit(MATCH)
    assert gap(fitted) == pytest.approx(400 * log10(50 / 35), rel=1e-9)
    assert gap(fitted) == pytest.approx(61.960784, abs=1e-6)
    assert sum(fitted.ratings) == pytest.approx(0, abs=1e-9)
    assert fitted.residual <= 1e-8


def test_scale() -> None:
    """Another scale is another unit for the same thing."""
    assert gap(fit(MATCH, scale=200)) == pytest.approx(gap(fit(MATCH)) / 2, rel=1e-12)


def test_given_advantage() -> None:
    """White's worth comes off White's rating."""
    assert gap(fit(MATCH, advantage=35)) == pytest.approx(gap(fit(MATCH)) - 35, abs=1e-9)


def test_fitted_advantage() -> None:
    """From both colours strength and White's worth come apart in closed form."""
    fitted = fit({("A", "B"): (60, 20, 20), ("B", "A"): (30, 30, 40)}, advantage="fit")
    as_white, as_black = 400 * log10(70 / 30), 400 * log10(55 / 45)
    assert gap(fitted) == pytest.approx((as_white + as_black) / 2, abs=1e-7)
    assert fitted.advantage == pytest.approx((as_white - as_black) / 2, abs=1e-7)


@pytest.mark.parametrize(
    ("counts", "why"),
    [
        (MATCH, "does not show apart"),
        ({("A", "B"): (1, 0, 0), ("B", "A"): (1, 0, 0)}, "no bound"),
    ],
)
def test_advantage_that_cannot_be_told(counts: Counts, why: str) -> None:
    """An engine that always had White, or White winning all: the advantage is refused, not invented."""
    with pytest.raises(Undetermined, match=why):
        fit(counts, advantage="fit")


def test_chain() -> None:
    """A chain of 300 versions is the sum of its links, to 1e-6."""
    rng = Random(5)
    counts, links = {}, [0.0]
    for number in range(300):
        won, drawn = rng.randint(20, 110), rng.randint(10, 70)
        counts[f"v{number:03}", f"v{number + 1:03}"] = (won, drawn, 200 - won - drawn)
        links.append(links[-1] - 400 * log10((won + drawn / 2) / (200 - won - drawn / 2)))
    fitted = fit(counts)
    exact = np.array(links) - np.mean(links)
    assert float(np.abs(fitted.ratings - exact).max()) <= 1e-6
    assert fitted.residual <= 1e-8


def test_steep_chain() -> None:
    """Links of 920 points each, 40 of them: limited steps still arrive."""
    fitted = fit({(f"v{number:02}", f"v{number + 1:02}"): (199, 0, 1) for number in range(40)})
    assert gap(fitted, "v00", "v40") == pytest.approx(40 * 400 * log10(199), abs=1e-6)


def test_anchor() -> None:
    """An anchor keeps its rating and moves the rest as a block."""
    free, held = fit(MIXED).by_name(), fit(MIXED, anchors={"B": 2800}).by_name()
    assert held["B"] == 2800
    for name in free:
        assert held[name] - 2800 == pytest.approx(free[name] - free["B"], abs=1e-7)


def test_several_anchors() -> None:
    """Between two fixed opponents the expected points are the points scored."""
    fitted = fit(MIXED, anchors={"A": 100, "C": 20})
    own = fitted.by_name()["B"]
    hoped = 12 / (1 + 10 ** ((100 - own) / 400)) + 9 / (1 + 10 ** ((20 - own) / 400))
    assert (fitted.by_name()["A"], fitted.by_name()["C"]) == (100, 20)
    assert hoped == pytest.approx((2 + 3 / 2 + 1) + (2 + 1), abs=1e-8)


def test_anchors_link_groups() -> None:
    """What two anchors hold apart needs no games between them."""
    counts = {("A", "B"): (1, 1, 1), ("C", "D"): (1, 1, 1)}
    assert fit(counts, anchors={"A": 0, "C": 500}).by_name() == pytest.approx({"A": 0, "B": 0, "C": 500, "D": 500})


@pytest.mark.parametrize(
    "counts",
    [
        {("A", "B"): (1, 0, 0)},
        {("A", "B"): (1, 1, 1), ("C", "D"): (1, 1, 1)},
        {("A", "B"): (1, 1, 1), ("B", "C"): (1, 0, 0)},
    ],
)
def test_no_finite_maximum(counts: Counts) -> None:
    """Groups that do not reach each other are refused without a prior, and rated with one."""
    with pytest.raises(Undetermined, match="groups"):
        fit(counts)
    assert np.isfinite(fit(counts, prior=GaussianPrior()).ratings).all()


def test_prior_on_one_game() -> None:
    """With one win the surprise equals the pull of the prior on either side."""
    fitted = fit({("A", "B"): (1, 0, 0)}, prior=GaussianPrior(350, 0.0))
    own = fitted.by_name()["A"]
    surprise = 1 - 1 / (1 + 10 ** (-2 * own / 400))
    assert surprise == pytest.approx(own / 350**2 * 400 / np.log(10), abs=1e-10)


def test_floating_prior_is_the_centred_one() -> None:
    """A prior about the pool's own mean gives the ratings of one about 0, at any level."""
    centred, floating = fit(MIXED, prior=GaussianPrior(100, 0.0)), fit(MIXED, prior=GaussianPrior(100))
    assert floating.ratings == pytest.approx(centred.ratings, abs=1e-8)
    held = fit(MIXED, prior=GaussianPrior(100), anchors={"A": 3000.0})
    assert np.ptp(held.ratings) < np.ptp(fit(MIXED).ratings)
    assert abs(held.ratings.mean() - 3000) < 100


def test_loose_anchors() -> None:
    """Means and spreads by name: a tight belief holds, a wide one yields, none is none."""
    prior = GaussianPrior({"A": 1e-3, "C": 1e4}, {"A": 2000.0, "C": 0.0})
    believed, free = fit(MIXED, prior=prior).by_name(), fit(MIXED).by_name()
    assert believed["A"] == pytest.approx(2000, abs=1e-3)
    assert believed["B"] - believed["A"] == pytest.approx(free["B"] - free["A"], abs=0.5)


def test_engines_without_games() -> None:
    """An engine that only has a prior rests on its mean."""
    prior = GaussianPrior({"A": 50.0, "B": 50.0, "Z": 50.0}, {"A": 0.0, "B": 0.0, "Z": 77.0})
    assert fit(MATCH, prior=prior, names=("Z",)).by_name()["Z"] == pytest.approx(77, abs=1e-9)
    with pytest.raises(Undetermined):
        fit(MATCH, names=("Z",))


@pytest.mark.parametrize("wrong", [{("A", "A"): (1, 0, 0)}, {("A", "B"): (1, -1, 0)}])
def test_what_cannot_be_counts(wrong: Counts) -> None:
    """Games against oneself and fewer than none are programming errors."""
    with pytest.raises(ValueError, match="counts"):
        pairs_of(wrong)


def test_numbers_must_be_finite() -> None:
    """An infinite anchor, no scale or a prior without spread would never converge."""
    with pytest.raises(ValueError, match="finite"):
        fit(MATCH, anchors={"A": inf})
    with pytest.raises(ValueError, match="finite"):
        fit(MATCH, advantage=nan)
    with pytest.raises(ValueError, match="scale"):
        fit(MATCH, scale=0)
    with pytest.raises(ValueError, match="spread"):
        fit(MATCH, prior=GaussianPrior(0))


def test_columns() -> None:
    """Columns hold each engine's record, and a part of them only the games inside it."""
    pairs = pairs_of(MIXED)
    assert [column.tolist() for column in pairs.record] == [[9, 5, 6], [9, 5, 8], [4, 11, 5]]
    assert dict(zip(pairs.names, pairs.played.tolist(), strict=True)) == {"A": 22, "B": 21, "C": 19}
    inner = pairs.within(("A", "B"))
    assert isinstance(inner, Pairs)
    assert (inner.names, inner.played.tolist(), inner.scored.tolist()) == (("A", "B"), [12, 12], [7.5, 4.5])


def test_old_prior_weighs_like_games() -> None:
    """Far more games than prior: the prior's pull fades with the number of games."""
    few = gap(fit(MATCH, prior=GaussianPrior(100)))
    many = gap(fit({("A", "B"): (3000, 4000, 1500)}, prior=GaussianPrior(100)))
    assert few + 4 < many < gap(fit(MATCH)) < many + 1


def test_both_colours_in_one_row() -> None:
    """Folding turns what the later name had as White: its wins are the other's losses."""
    pairs = fit({("A", "B"): (1, 2, 3), ("B", "A"): (10, 20, 30), ("C", "B"): (0, 1, 4)}).pairs.folded
    rows = np.stack((pairs.white, pairs.black, pairs.wins, pairs.draws, pairs.losses), axis=1).tolist()
    assert rows == [[0, 1, 31, 22, 13], [1, 2, 4, 1, 0]]
