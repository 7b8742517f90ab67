"""Tests of ratings/ratinglist."""

from __future__ import annotations

import json
from dataclasses import replace
from math import exp, log, log10
from typing import Any, Literal

import pytest

from enginetour.model.errors import InputRefused
from enginetour.ratings import ratinglist
from enginetour.ratings.likelihood import ModelName, fit
from enginetour.ratings.pentanomial import NORMAL_95
from enginetour.ratings.priors import GaussianPrior, PhantomDraws, VirtualDraws
from enginetour.ratings.ratinglist import (
    FEW,
    TOO_FEW,
    at_confidence,
    bubble_rating_order,
    quantile,
    rating_list,
)
from enginetour.ratings.uncertainty import errors_of
from tests.support.databases import row

# Intervals at confidences other than 95 %.

MANY = {("A", "B"): (30, 40, 15), ("B", "C"): (20, 40, 25), ("C", "A"): (30, 20, 35)}
FEWER = {("A", "B"): (5, 1, 2), ("B", "C"): (3, 2, 3), ("C", "A"): (1, 1, 4)}
CLEAN = {("A", "B"): (12, 0, 0), ("B", "C"): (9, 2, 10), ("C", "B"): (9, 2, 10), ("A", "C"): (12, 1, 0)}


def test_known_quantiles() -> None:
    """Quantiles are 1.644854, 1.959964 and 2.575829."""
    assert [quantile(percent) for percent in (90, 95, 99)] == pytest.approx([1.644854, 1.959964, 2.575829], abs=1e-6)


def test_normal_errors_grow_with_the_quantile() -> None:
    """Plus, minus and errors increase with the quantile; ratings and LOS are unchanged."""
    usual, wide = rating_list(MANY), at_confidence(rating_list(MANY), 99)
    ratio = quantile(99) / quantile(95)
    for before, after in zip(usual.rows, wide.rows, strict=True):
        for key in ("plus", "minus", "error", "opponents_error"):
            assert getattr(after, key) == pytest.approx(getattr(before, key) * ratio)
        same: dict[str, Any] = dict.fromkeys(("plus", "minus", "error", "opponents_error"))
        assert replace(after, **same) == replace(before, **same)


def test_a_profile_bound_is_where_the_likelihood_has_fallen_so_far() -> None:
    """The end of a profile-likelihood interval solves the likelihood equation at every confidence.

    One number is fitted to nine games, so the likelihood falls by 9/8 of the value of an infinite sample.
    """
    won, lost, unit = 7, 2, 400 / log(10)

    def height(points: float) -> float:
        share = 1 / (1 + exp(-points / unit))
        return won * log(share) + lost * log(1 - share)

    for percent in (68.0, 90.0, 99.0):
        found = row(at_confidence(rating_list({("A", "B"): (won, 0, lost)}, anchors={"B": 0.0}), percent), "A")
        assert FEW in found.remarks
        assert found.plus is not None and found.minus is not None
        assert found.error == pytest.approx((found.plus + found.minus) / 2)
        for end in (found.rating + found.plus, found.rating - found.minus):
            assert height(found.rating) - height(end) == pytest.approx(9 / 8 * quantile(percent) ** 2 / 2, rel=1e-6)


@pytest.mark.parametrize("counts", [FEWER, CLEAN])
def test_more_confidence_is_never_narrower(counts: dict[tuple[str, str], tuple[int, int, int]]) -> None:
    """Higher confidence never gives a narrower interval; an unlimited one has a remark."""
    found = rating_list(counts)
    last = {each.name: (0.0, 0.0) for each in found.rows}
    for percent in (50.0, 80.0, 95.0, 99.0, 99.9):
        for each in at_confidence(found, percent).rows:
            if each.plus is None or each.minus is None:
                assert TOO_FEW in each.remarks
                continue
            assert each.plus > last[each.name][0] and each.minus > last[each.name][1]
            last[each.name] = each.plus, each.minus


def test_the_opponents_error_is_ordos() -> None:
    """The opponents' error is the average over the games, and an anchor counts as 0."""
    found = rating_list(MANY, anchors={"B": 0.0})
    a, c = row(found, "A"), row(found, "C")
    assert a.error is not None and c.error is not None
    assert row(found, "B").opponents_error == pytest.approx((a.error + c.error) / 2)
    assert a.opponents_error == pytest.approx(c.error / 2)
    assert row(found, "B").error is None


def test_large_pools_have_the_same_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals computed one by one equal those from square arrays, also with opening pairs."""
    both = MANY | {("B", "A"): (15, 40, 30)}
    openings = {("A", "B"): (1, 5, 15, 14, 5)}
    wide = at_confidence(rating_list(both, openings=openings), 99)
    monkeypatch.setattr(ratinglist, "DENSE_ERRORS", 1)
    asked = at_confidence(rating_list(both, openings=openings, errors_for={"A", "B"}), 99)
    for name in "AB":
        assert row(asked, name).plus == pytest.approx(row(wide, name).plus)
    assert row(asked, "C").plus is None
    assert row(asked, "A").opponents_error is None


MATCH = {("A", "B"): (30, 40, 15)}
TOP = {("A", "B"): (3, 0, 0), ("C", "A"): (0, 0, 2), ("B", "C"): (1, 1, 1)}
BOTH = {("A", "B"): (60, 20, 20), ("B", "A"): (30, 30, 40)}
OTHER = {("X", "Y"): (9, 20, 11), ("Y", "X"): (13, 20, 7), ("Y", "Z"): (4, 2, 1), ("Z", "X"): (1, 3, 6)}
LONG = {("A", "B"): (30, 40, 15), ("B", "C"): (20, 40, 25), ("C", "D"): (30, 20, 35)}


def test_match() -> None:
    """All values of a row are correct for a simple match."""
    made = rating_list(MATCH)
    first, second = made.rows
    rating = 200 * log10(50 / 35)
    assert (first.rank, first.name, first.games, first.wins, first.draws, first.losses) == (1, "A", 85, 30, 40, 15)
    assert (first.rating, first.opponents, first.performance) == pytest.approx((rating, -rating, rating), abs=1e-9)
    assert (first.plus, first.minus) == pytest.approx([NORMAL_95 * 13.727991] * 2, abs=1e-5)
    assert (first.score, first.pool) == (50 / 85, 1)
    assert first.los == pytest.approx(0.987988, abs=1e-6)
    assert (second.rank, second.los, second.remarks) == (2, None, ())
    assert (made.draw_rate, made.games, made.pools, made.caption) == (40 / 85, 85, (("A", "B"),), ())


def test_unbeaten() -> None:
    """An unbeaten engine has a remark with the prior, and the caption explains the prior."""
    made = rating_list(TOP)
    assert row(made, "A").remarks[0] == "unbeaten: rating depends on the prior (0 ± 350)"
    assert row(made, "A").performance is None
    assert row(made, "A").rank == 1
    assert made.caption[0].endswith("connected components {B, C}, {A}")
    assert "Gaussian prior (standard deviation 350 around the pool mean)" in made.caption[0]
    assert made.caption[1] == "unbeaten: A"


def test_winless() -> None:
    """A winless engine has a remark with the prior around the list's mean."""
    made = rating_list({("A", "B"): (5, 0, 0), ("C", "B"): (5, 0, 0), ("A", "C"): (1, 2, 1)}, mean=2000)
    assert row(made, "B").remarks[0] == "winless: rating depends on the prior (2000 ± 350)"
    assert row(made, "B").rank == 3
    assert "winless: B" in made.caption


def test_no_prior_where_none_is_needed() -> None:
    """One connected component is rated without a prior and without a note."""
    made = rating_list(LONG)
    assert [each.rating for each in sorted(made.rows, key=lambda each: each.name)] == pytest.approx(fit(LONG).ratings)
    assert made.caption == ()


def test_without_prior_groups_are_apart() -> None:
    """Without a prior connected components are separate pools, and a single engine is not rated."""
    made = rating_list(TOP, prior="none")
    assert made.pools == (("B", "C"),)
    assert [(each.name, each.games) for each in made.rows] == [("B", 3), ("C", 3)]
    assert [(each.name, each.why) for each in made.unrated] == [("A", "unbeaten: no finite rating without a prior")]
    assert "rated separately" in made.caption[0]


def test_few_games_have_profile_bounds() -> None:
    """With fewer than twenty games the interval is asymmetric and has a remark."""
    made = rating_list({("A", "B"): (7, 1, 2)})
    first = made.rows[0]
    assert first.remarks == ("few games: profile-likelihood interval",)
    assert first.plus is not None
    assert first.minus is not None
    assert first.plus > first.minus + 1
    assert "fewer than 20 games" in made.caption[-1]


def test_extreme_score_has_profile_bounds() -> None:
    """With a score above 95 % the interval has a remark, whatever the number of games."""
    assert rating_list({("A", "B"): (97, 2, 1)}).rows[0].remarks == ("extreme score: profile-likelihood interval",)
    assert rating_list({("A", "B"): (90, 9, 1)}).rows[0].remarks == ()


@pytest.mark.parametrize("result", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 30, 0)])
def test_smallest_samples_are_honest(result: tuple[int, int, int]) -> None:
    """One game, or only draws, give an error above 0 and never NaN."""
    made = rating_list({("A", "B"): result})
    json.dumps(made.to_json(), allow_nan=False)
    for each in made.rows:
        assert each.plus is not None
        assert each.minus is not None
        assert min(each.plus, each.minus) > 5


def test_equal_ratings_share_a_rank() -> None:
    """Equal ratings share a rank, and the next engine keeps its number."""
    made = rating_list({("A", "B"): (3, 3, 3), ("A", "C"): (5, 2, 2), ("B", "C"): (5, 2, 2)})
    assert [(each.rank, each.name) for each in made.rows] == [(1, "A"), (1, "B"), (3, "C")]
    assert made.rows[0].los == pytest.approx(0.5, abs=1e-9)


def test_pools_do_not_compare() -> None:
    """Pools without a common game have separate ranks and means."""
    made = rating_list({**LONG, ("X", "Y"): (20, 10, 5)}, mean=100)
    assert made.pools == (("A", "B", "C", "D"), ("X", "Y"))
    assert [each.rank for each in made.rows if each.pool == 2] == [1, 2]
    assert sum(each.rating for each in made.rows if each.pool == 2) == pytest.approx(200)
    last_of_first = [each for each in made.rows if each.pool == 1][-1]
    assert last_of_first.los is None
    assert made.caption == (
        "2 rating pools without a common game: their ratings cannot be compared",
        "a game B - X would connect pools 1 and 2",
    )


def test_pools_stay_apart_under_any_prior() -> None:
    """A prior does not connect pools."""
    made = rating_list({**LONG, ("X", "Y"): (20, 10, 5)}, prior=GaussianPrior(200, 0.0))
    assert len(made.pools) == 2


def test_no_games() -> None:
    """An engine without games is not rated, and no games make an empty list."""
    assert [(each.name, each.why) for each in rating_list(MATCH, names=["Z"]).unrated] == [("Z", "no games")]
    empty = rating_list({}, names=["Z"])
    assert (empty.rows, empty.draw_rate, len(empty.unrated)) == ((), None, 1)


def test_anchor() -> None:
    """An anchor keeps its rating without an error; the errors of the others are relative to it."""
    made = rating_list(LONG, anchors={"B": 2800})
    assert (row(made, "B").rating, row(made, "B").plus, row(made, "B").remarks) == (2800, None, ("anchor",))
    assert row(made, "A").rating == pytest.approx(2800 + 400 * log10(50 / 35))
    errors = errors_of(fit(LONG, anchors={"B": 2800}))
    assert row(made, "A").plus == row(made, "A").minus == pytest.approx(NORMAL_95 * errors.difference_sd(0, 1))


def test_anchored_prior_floats() -> None:
    """The automatic prior is around the pool's mean, so a high anchor does not change differences."""
    low, high = (rating_list(TOP, anchors={"B": level}) for level in (0, 3000))
    for name in "ABC":
        assert row(high, name).rating - 3000 == pytest.approx(row(low, name).rating, abs=1e-6)


def test_anchors_that_contradict_the_games_are_noted() -> None:
    """One note names the anchors with improbable scores, in every model."""
    wrong = {"A": 2000.0, "B": 2400.0, "C": 2420.0}
    [told] = rating_list(LONG, anchors=wrong).caption
    first = "A at 2000 scored 50.0 of 85, expected 7.7"
    assert told == f"anchors that do not fit the games: {first}; B at 2400 scored 75.0 of 170, expected 117.3"
    for model in ("davidson", "raokupper"):
        assert any("do not fit" in note for note in rating_list(LONG, model=model, anchors=wrong).caption)


def test_anchors_that_the_games_bear_out_are_not_noted() -> None:
    """Anchors with probable scores, a single anchor, and anchors of two pools have no note."""
    apart = {**LONG, ("X", "Y"): (10, 10, 50)}
    for anchors in ({"A": 2060, "B": 2010}, {"A": 2000, "D": 1990}, {"A": 9000}, {"A": 2000, "X": 5000}):
        assert not any("do not fit" in note for note in rating_list(apart, anchors=anchors).caption)


def test_wrong_anchors() -> None:
    """An unknown anchor is named in the error; anchors with a mean raise an error."""
    with pytest.raises(InputRefused, match="Fruit"):
        rating_list(MATCH, anchors={"Fruit": 0})
    with pytest.raises(InputRefused, match="cannot be combined"):
        rating_list(MATCH, anchors={"A": 0}, mean=5)


def test_loose_anchors_keep_their_level() -> None:
    """A prior with means keeps its level unless a mean is given."""
    prior = GaussianPrior(50.0, {"A": 2500.0, "B": 2500.0})
    assert sum(each.rating for each in rating_list(MATCH, prior=prior).rows) == pytest.approx(5000)
    assert sum(each.rating for each in rating_list(MATCH, prior=prior, mean=0).rows) == pytest.approx(0, abs=1e-6)


def test_white_advantage() -> None:
    """White's advantage is fitted if colors vary; otherwise it is 0, with a note."""
    both = rating_list(BOTH, advantage="fit")
    assert both.white_advantage == pytest.approx(200 * (log10(70 / 30) - log10(55 / 45)), abs=1e-6)
    assert both.white_advantage_sd == pytest.approx(errors_of(fit(BOTH, advantage="fit")).advantage_sd)
    one = rating_list(MATCH, advantage="fit")
    assert one.white_advantage == 0
    assert one.caption == ("White's advantage cannot be separated from the ratings; 0 is used",)


@pytest.mark.parametrize("model", ["logistic", "davidson", "raokupper"])
@pytest.mark.parametrize("prior", ["auto", GaussianPrior(200)])
def test_unlinked_pools_share_one_white_advantage(model: ModelName, prior: Literal["auto"] | GaussianPrior) -> None:
    """Pools without a common game share White's advantage and draw parameter, like pools linked by anchors."""
    anchors, counts = {"A": 0.0, "X": 0.0}, {**BOTH, **OTHER}
    asked: Any = {"model": model, "anchors": anchors, "advantage": "fit"}
    made, whole = (
        rating_list(counts, prior=prior, **asked),
        fit(counts, prior=None if prior == "auto" else prior, **asked),
    )
    if prior == "auto":
        errors = errors_of(whole)
        assert errors.advantage_sd is not None
        assert made.white_advantage == pytest.approx(whole.advantage * made.point, abs=1e-6)
        sd = errors.advantage_sd * made.point
        near = 2e-3 if model == "logistic" else 1e-6  # there each pool has another draw rate
        assert made.white_advantage_sd == pytest.approx(sd, rel=near)
        for each in made.rows:
            place = whole.names.index(each.name)
            assert each.rating == pytest.approx(whole.ratings[place] * made.point, abs=1e-6)
            if model != "logistic" and each.plus is not None and not each.remarks:
                assert each.plus == pytest.approx(NORMAL_95 * errors.sd_of(place) * made.point, rel=near)
        assert made.draw_parameter == (None if whole.draw is None else pytest.approx(whole.draw))
    apart = [rating_list(part, prior=prior, model=model, advantage="fit").white_advantage for part in (BOTH, OTHER)]
    assert min(apart) < made.white_advantage < max(apart)


def test_the_white_advantage_is_that_of_ordo() -> None:
    """Differences agree with Ordo 1.2.6 (-W -G -M -z 200.2409) for two pools without a common game."""
    made = rating_list({**BOTH, **OTHER}, advantage="fit")
    ordo = {"A": 63.31127, "B": -26.64988, "X": 36.79703, "Y": 66.44065, "Z": -139.89908}
    for one, other in (("A", "B"), ("Y", "X"), ("Y", "Z"), ("X", "Z")):
        assert row(made, one).rating - row(made, other).rating == pytest.approx(ordo[one] - ordo[other], abs=1e-4)
    assert made.white_advantage == pytest.approx(41.13, abs=0.005)


def test_a_pool_that_shows_no_advantage_takes_that_of_the_others() -> None:
    """A pool that does not determine White's advantage uses that of the others; if none does, it is 0."""
    alone = rating_list(BOTH, advantage="fit").white_advantage
    for more in ({("X", "Y"): (3, 3, 3)}, {("X", "Y"): (300, 300, 300)}):
        made = rating_list({**BOTH, **more}, advantage="fit")
        assert made.white_advantage == pytest.approx(alone, abs=1e-6)
        assert row(made, "X").rating - row(made, "Y").rating == pytest.approx(-alone, abs=1e-6)
        assert not any("0 is used" in note for note in made.caption)
    made = rating_list({("A", "B"): (1, 2, 1), ("X", "Y"): (300, 300, 300)}, advantage="fit")
    assert made.white_advantage == 0
    assert "White's advantage cannot be separated from the ratings; 0 is used" in made.caption


def test_json_keys() -> None:
    """The JSON has the keys that scripts use."""
    made = rating_list(LONG, anchors={"A": 5}, skipped=3).to_json()
    assert {"list", "model", "white_advantage", "draw_rate", "residual", "pools", "anchors", "games", "skipped"} <= set(
        made
    )
    assert (made["model"], made["skipped"], made["anchors"]) == ("logistic", 3, {"A": 5})
    rows = made["list"]
    assert isinstance(rows, list)
    assert {
        "rank", "name", "rating", "plus", "minus", "games", "score", "wins", "draws", "losses", "opponents",
        "performance", "los", "pool",
    } <= set(rows[0])  # fmt: skip


def test_scale() -> None:
    """Another scale changes the unit of all values, also of the automatic prior."""
    elo, half = rating_list(TOP), rating_list(TOP, scale=200)
    assert row(half, "A").rating == pytest.approx(row(elo, "A").rating / 2, abs=1e-7)
    assert row(half, "A").plus == pytest.approx((row(elo, "A").plus or 0) / 2, abs=1e-6)


def test_bubble_order_without_games() -> None:
    """Without games the order is the reversed old list with newcomers in its middle."""
    assert bubble_rating_order(["a", "b", "c", "d"], ["n", "m"], {}) == ("d", "c", "n", "m", "b", "a")


def test_bubble_order() -> None:
    """Results change the order of the old list, and newcomers move faster."""
    counts = {("n", "c"): (3, 1, 0), ("a", "b"): (6, 0, 0), ("b", "c"): (0, 2, 0)}
    assert bubble_rating_order(["a", "b", "c"], ["n"], counts) == ("n", "c", "a", "b")
    assert bubble_rating_order(["a", "b", "c"], [], {("a", "c"): (1, 0, 0)}) == ("c", "b", "a")


def test_bubble_order_prior() -> None:
    """The prior of place i of m is z((i+1/2)/m) * 350 with standard deviation 150.

    Two neighbors are 472 points apart; at equality each prior has the effect of 1.82 points. Three wins of the lower
    one (1.5 above an even score) do not change the order, four (2 above) do.
    """
    assert bubble_rating_order(["low", "high"], [], {("low", "high"): (3, 0, 0)}) == ("high", "low")
    assert bubble_rating_order(["low", "high"], [], {("low", "high"): (4, 0, 0)}) == ("low", "high")


def test_bubble_order_of_nobody() -> None:
    """Without entrants the order is empty, and results of an unknown engine raise an error."""
    assert bubble_rating_order([], [], {}) == ()
    with pytest.raises(ValueError, match="stranger"):
        bubble_rating_order(["a"], [], {("a", "stranger"): (1, 0, 0)})


def test_errors_by_opening_pairs() -> None:
    """One variance ratio applies to the whole list and is noted; single games keep their error."""
    counts = {("A", "B"): (40, 40, 20), ("B", "A"): (40, 40, 20), ("X", "Y"): (60, 40, 50), ("Y", "X"): (20, 20, 10)}
    plain = rating_list(counts)
    made = rating_list(counts, openings={("A", "B"): (0, 10, 80, 10, 0)})
    seen, variance = 20 * 0.25, 2 * 0.6 / 4
    factor = ((seen + 20 * variance) / (119 * variance)) ** 0.5
    assert f"errors by game pairs: {factor:.2f} times those of single games, 100 game pairs" in made.caption
    for name, expected in (("A", factor), ("X", 1.0)):
        assert row(made, name).plus == pytest.approx((row(plain, name).plus or 0) * expected, rel=2e-2)
        assert row(made, name).rating == row(plain, name).rating
    assert rating_list(counts, openings={}) == plain


POOL = {("A", "B"): (30, 40, 15), ("B", "C"): (20, 40, 25), ("C", "A"): (30, 20, 35), ("B", "A"): (9, 30, 20)}
ROWS_BOTH = pytest.mark.parametrize(("model", "gap"), [("davidson", 61.978298), ("raokupper", 61.632865)])


@ROWS_BOTH
def test_shown_in_elo(model: ModelName, gap: float) -> None:
    """Ratings, errors and White's advantage are shown as Elo points near equality, with a note."""
    made = rating_list(MATCH, model=model)
    fitted = fit(MATCH, model=model)
    assert [each.rating for each in made.rows] == pytest.approx([gap / 2, -gap / 2], abs=1e-6)
    assert made.rows[0].plus == pytest.approx(NORMAL_95 * errors_of(fitted).sd_of(0) * fitted.point)
    assert made.rows[0].los == pytest.approx(errors_of(fitted).los(0, 1))
    assert (made.model, made.point, made.draw_parameter) == (model, fitted.point, fitted.draw)
    scaled = {"davidson": "nu 1.886, multiplied by 0.5147", "raokupper": "drawElo 186.4, multiplied by 0.7595"}[model]
    assert made.caption == (f"ratings in points of the {model} model, {scaled}: near equality they are Elo points",)
    assert made.to_json()["point"] == fitted.point


@ROWS_BOTH
def test_one_anchor_stays(model: ModelName, gap: float) -> None:
    """The scale is changed around the anchor, or the given mean."""
    made = rating_list(MATCH, model=model, anchors={"B": 2800.0})
    assert row(made, "A").rating == pytest.approx(2800 + gap, abs=1e-6)
    assert row(made, "B").rating == 2800
    assert rating_list(MATCH, model=model, mean=2800.0).rows[0].rating == pytest.approx(2800 + gap / 2, abs=1e-6)


def test_several_anchors_show_the_models_points() -> None:
    """Two anchors define the size of a point, so nothing is scaled, with a note."""
    made = rating_list(POOL, model="raokupper", anchors={"A": 100.0, "B": 50.0})
    assert (row(made, "A").rating, row(made, "B").rating, made.point) == (100, 50, 1.0)
    assert row(made, "C").rating == fit(POOL, model="raokupper", anchors={"A": 100.0, "B": 50.0}).by_name()["C"]
    assert "near equality one point is worth 0." in made.caption[0]


@pytest.mark.parametrize("prior", [GaussianPrior(100, 2000.0), PhantomDraws(2, 2000.0)])
def test_a_priors_mean_stays(prior: GaussianPrior | PhantomDraws) -> None:
    """The scale is changed around the mean of a prior."""
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
    """Remarks and notes describe phantom draws and virtual draws."""
    top = {("A", "B"): (9, 0, 0)}
    assert rating_list(top, prior=PhantomDraws()).rows[0].remarks[0] == "unbeaten: rating depends on phantom draws (1)"
    made = rating_list(top, prior=VirtualDraws())
    assert made.rows[0].remarks[0] == "unbeaten: rating depends on virtual draws (2)"
    assert (made.rows[0].draws, made.games) == (0, 9)
    assert made.rows[0].rating - made.rows[1].rating == pytest.approx(400 * log10(10))
    assert made.caption[0] == "2 virtual draws per engine are added, only for comparison with lists of BayesElo"


def test_pools_share_one_draw_parameter() -> None:
    """Two pools share one draw parameter, between those of the single pools."""
    lone = {("X", "Y"): (20, 10, 15)}
    made = rating_list({**POOL, **lone}, model="davidson")
    apart = [fit(pool, model="davidson").draw or 0 for pool in (lone, POOL)]
    assert apart[0] < (made.draw_parameter or 0) < apart[1]
    for pool, name, at in ((lone, "X", 0), (POOL, "A", 0)):
        held = fit(pool, model="davidson", draw=made.draw_parameter or 0)
        assert row(made, name).rating == pytest.approx(held.ratings[at] * made.point)


def test_pools_without_a_draw_share_the_advantage() -> None:
    """Pools without draws share White's advantage without NaN."""
    counts = {("A", "B"): (3, 0, 2), ("B", "A"): (2, 0, 3), ("X", "Y"): (4, 0, 2), ("Y", "X"): (2, 0, 1)}
    made = rating_list(counts, model="davidson", advantage="fit")
    assert made.white_advantage == pytest.approx(rating_list(counts, advantage="fit").white_advantage, abs=1e-5)


def test_errors_only_for_those_asked_in_a_very_large_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a very large pool only selected rows have errors, equal to the usual ones, with a note."""
    whole = rating_list(POOL)
    monkeypatch.setattr(ratinglist, "DENSE_ERRORS", 2)
    made = rating_list(POOL, errors_for=["A"])
    assert row(made, "A").plus == pytest.approx(row(whole, "A").plus)
    assert row(made, "A").los == pytest.approx(row(whole, "A").los)
    assert (row(made, "B").plus, row(made, "B").los, row(made, "B").remarks) == (None, None, ("error not computed",))
    assert made.caption[-1].endswith("errors are computed only for the selected engines")
    assert [each.rating for each in made.rows] == [each.rating for each in whole.rows]
