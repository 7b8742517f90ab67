from math import log10

import pytest

from enginetour.ratings import ratinglist
from enginetour.ratings.likelihood import ModelName, fit
from enginetour.ratings.models import GaussianPrior, PhantomDraws, VirtualDraws
from enginetour.ratings.ratinglist import rating_list
from enginetour.ratings.uncertainty import NORMAL_95, errors_of
from tests.listing_games import row

MATCH = {("A", "B"): (30, 40, 15)}
POOL = {("A", "B"): (30, 40, 15), ("B", "C"): (20, 40, 25), ("C", "A"): (30, 20, 35), ("B", "A"): (9, 30, 20)}
BOTH = pytest.mark.parametrize(("model", "gap"), [("davidson", 61.978298), ("raokupper", 61.632865)])


@BOTH
def test_shown_in_elo(model: ModelName, gap: float) -> None:
    """Ratings, errors and White's worth are shown in Elo points near equality, and the list says what was done."""
    made = rating_list(MATCH, model=model)
    fitted = fit(MATCH, model=model)
    assert [each.rating for each in made.rows] == pytest.approx([gap / 2, -gap / 2], abs=1e-6)
    assert made.rows[0].plus == pytest.approx(NORMAL_95 * errors_of(fitted).sd_of(0) * fitted.point)
    assert made.rows[0].los == pytest.approx(errors_of(fitted).los(0, 1))
    assert (made.model, made.point, made.draw_parameter) == (model, fitted.point, fitted.draw)
    scaled = {"davidson": "nu 1.886, times 0.5147", "raokupper": "drawElo 186.4, times 0.7595"}[model]
    assert made.caption == (f"points of the {model} model, {scaled}: near equality they are Elo points",)
    assert made.to_json()["point"] == fitted.point


@BOTH
def test_one_anchor_stays(model: ModelName, gap: float) -> None:
    """The scale turns about the anchor, or the mean that was asked for."""
    made = rating_list(MATCH, model=model, anchors={"B": 2800.0})
    assert row(made, "A").rating == pytest.approx(2800 + gap, abs=1e-6)
    assert row(made, "B").rating == 2800
    assert rating_list(MATCH, model=model, mean=2800.0).rows[0].rating == pytest.approx(2800 + gap / 2, abs=1e-6)


def test_several_anchors_show_the_models_points() -> None:
    """Two fixed ratings say what a point is, so nothing is scaled, and the list says so."""
    made = rating_list(POOL, model="raokupper", anchors={"A": 100.0, "B": 50.0})
    assert (row(made, "A").rating, row(made, "B").rating, made.point) == (100, 50, 1.0)
    assert row(made, "C").rating == fit(POOL, model="raokupper", anchors={"A": 100.0, "B": 50.0}).by_name()["C"]
    assert "near equality one is worth 0." in made.caption[0]


@pytest.mark.parametrize("prior", [GaussianPrior(100, 2000.0), PhantomDraws(2, 2000.0)])
def test_a_priors_mean_stays(prior: GaussianPrior | PhantomDraws) -> None:
    """Where a prior gives the level the scale turns about it."""
    made, fitted = rating_list(MATCH, model="davidson", prior=prior), fit(MATCH, model="davidson", prior=prior)
    assert row(made, "A").rating == pytest.approx(2000 + (fitted.ratings[0] - 2000) * fitted.point, abs=1e-9)
    loose = GaussianPrior({"A": 5.0, "B": 5.0}, {"A": 10.0, "B": 0.0})
    assert rating_list(MATCH, model="davidson", prior=loose).point == 1.0


def test_white_advantage_is_shown_in_the_same_points() -> None:
    """A fitted advantage of davidson is scaled like the ratings."""
    made = rating_list(POOL, model="davidson", advantage="fit")
    assert made.white_advantage == pytest.approx(fit(POOL, model="davidson", advantage="fit").advantage * made.point)
    assert 0 < made.point < 1


def test_priors_of_draws_are_told() -> None:
    """An unbeaten engine is said to rest on the draws, and virtual draws to be for comparison only."""
    top = {("A", "B"): (9, 0, 0)}
    assert rating_list(top, prior=PhantomDraws()).rows[0].remarks[0] == "unbeaten: rests on phantom draws (1)"
    made = rating_list(top, prior=VirtualDraws())
    assert made.rows[0].remarks[0] == "unbeaten: rests on virtual draws (2)"
    assert (made.rows[0].draws, made.games) == (0, 9)
    assert made.rows[0].rating - made.rows[1].rating == pytest.approx(400 * log10(10))
    assert made.caption[0] == "2 virtual draws an engine are counted, to compare with BayesElo's lists only"


def test_pools_share_one_draw_parameter() -> None:
    """Two pools are shown in points of one draw parameter, between those of each alone."""
    lone = {("X", "Y"): (20, 10, 15)}
    made = rating_list({**POOL, **lone}, model="davidson")
    apart = [fit(pool, model="davidson").draw or 0 for pool in (lone, POOL)]
    assert apart[0] < (made.draw_parameter or 0) < apart[1]
    for pool, name, at in ((lone, "X", 0), (POOL, "A", 0)):
        held = fit(pool, model="davidson", draw=made.draw_parameter or 0)
        assert row(made, name).rating == pytest.approx(held.ratings[at] * made.point)


def test_errors_only_for_those_asked_in_a_very_large_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the size of square arrays rows have errors on request, equal to the usual ones, and the list says so."""
    whole = rating_list(POOL)
    monkeypatch.setattr(ratinglist, "DENSE_ERRORS", 2)
    made = rating_list(POOL, errors_for=["A"])
    assert row(made, "A").plus == pytest.approx(row(whole, "A").plus)
    assert row(made, "A").los == pytest.approx(row(whole, "A").los)
    assert (row(made, "B").plus, row(made, "B").los, row(made, "B").remarks) == (None, None, ("error on request",))
    assert made.caption[-1].endswith("errors only where they were asked for")
    assert [each.rating for each in made.rows] == [each.rating for each in whole.rows]
