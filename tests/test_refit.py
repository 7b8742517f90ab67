from random import Random

import numpy as np
import pytest

from enginetour.ratings import curvature, refit
from enginetour.ratings.likelihood import ModelName, fit
from enginetour.ratings.pairs import Counts
from enginetour.ratings.priors import GaussianPrior, PhantomDraws, Prior, VirtualDraws
from enginetour.ratings.refit import Followed, follow

NAMES = [f"v{number:02}" for number in range(25)]


def season(games: int = 900) -> tuple[dict[tuple[str, str], tuple[int, int, int]], list[tuple[str, str, int]]]:
    """Games of a pool, as counts and one by one."""
    dice = Random(4)
    played = []
    counts: dict[tuple[str, str], tuple[int, int, int]] = {}
    for _ in range(games):
        white, black = dice.sample(NAMES, 2)
        half_points = dice.choice((0, 1, 1, 2))
        played.append((white, black, half_points))
        counts[white, black] = added(counts.get((white, black), (0, 0, 0)), half_points)
    return counts, played


def added(tally: tuple[int, int, int], half_points: int) -> tuple[int, int, int]:
    won, drawn, lost = tally
    return won + (half_points == 2), drawn + (half_points == 1), lost + (half_points == 0)


@pytest.mark.parametrize(
    ("model", "prior", "anchors"),
    [
        ("logistic", None, {}),
        ("davidson", GaussianPrior(200.0), {}),
        ("raokupper", PhantomDraws(), {}),
        ("raokupper", None, {"v03": 2800.0}),
    ],
)
def test_following_arrives_where_a_fit_does(model: ModelName, prior: Prior | None, anchors: dict[str, float]) -> None:
    """Forty games later the ratings, White's worth and the draw parameter are those of a fit of all games."""
    counts, played = season()
    followed = follow(fit(counts, model=model, prior=prior, anchors=anchors, advantage="fit"))
    for white, black, half_points in played[:40]:
        followed = followed.after(white, black, half_points)
        counts[white, black] = added(counts[white, black], half_points)
        assert followed.fit.residual <= 1e-8
    whole = fit(counts, model=model, prior=prior, anchors=anchors, advantage="fit")
    assert followed.fit.by_name() == pytest.approx(whole.by_name(), abs=1e-6)
    assert (followed.fit.advantage, followed.fit.draw) == pytest.approx((whole.advantage, whole.draw), abs=1e-6)
    assert followed.fit.pairs.played.tolist() == whole.pairs.played.tolist()


def test_one_game_takes_chords_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """After one game of many no curvature is inverted, and what was followed stays as it was."""
    first = follow(fit(season(5000)[0]))
    monkeypatch.setattr(refit, "summit", None)
    second = first.after("v01", "v02", 2)
    assert second.fit.steps <= 4
    assert second.inverse == pytest.approx(second.fit.curvature.inverse(), rel=1e-3, abs=1e-4)
    assert second.fit.by_name()["v01"] > first.fit.by_name()["v01"]
    assert first.fit.pairs.games.sum() == 5000


def test_a_surprise_takes_newton(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the steps do not shrink quickly the inverse is taken anew, exactly."""
    monkeypatch.setattr(refit, "SHRINKING", 0.01)
    few: Counts = {("A", "B"): (1, 1, 0), ("B", "C"): (1, 1, 1)}
    second = follow(fit(few)).after("C", "A", 2)
    assert second.inverse == pytest.approx(second.fit.curvature.inverse(), rel=1e-12)
    whole = fit({**few, ("C", "A"): (1, 0, 0)})
    assert second.fit.by_name() == pytest.approx(whole.by_name(), abs=1e-6)


def test_large_pools_follow_without_an_inverse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where fits go by conjugate gradients so does what follows them."""
    for module in (curvature, refit):
        monkeypatch.setattr(module, "DENSE_ENGINES", 5)
    counts = season()[0]
    followed = follow(fit(counts)).after("v01", "v02", 0)
    counts["v01", "v02"] = added(counts["v01", "v02"], 0)
    assert followed.inverse is None
    assert followed.fit.by_name() == pytest.approx(fit(counts).by_name(), abs=1e-6)


def test_imagined_games_are_dropped_when_real_ones_bound_the_draws() -> None:
    """A win and a loss are imagined only as long as they must be."""
    first = follow(fit({("A", "B"): (0, 4, 6)}, model="davidson"))
    assert first.fit.problem.imagined
    second = first.after("A", "B", 2)
    assert not second.fit.problem.imagined
    assert second.fit.by_name() == pytest.approx(fit({("A", "B"): (1, 4, 6)}, model="davidson").by_name(), abs=1e-6)


@pytest.mark.parametrize(
    ("followed", "game"),
    [
        (follow(fit({("A", "B"): (3, 0, 2)}, model="davidson")), ("A", "B", 1)),
        (follow(fit({("A", "B"): (3, 2, 2)}, prior=VirtualDraws())), ("A", "B", 1)),
        (follow(fit({("A", "B"): (3, 2, 2)})), ("A", "Z", 1)),
        (follow(fit({("A", "B"): (3, 2, 2)})), ("A", "A", 1)),
        (follow(fit({("A", "B"): (3, 2, 2)})), ("A", "B", 3)),
    ],
)
def test_what_cannot_be_followed(followed: Followed, game: tuple[str, str, int]) -> None:
    """A first draw, virtual draws, a newcomer, a game against oneself or with three half points is refused."""
    with pytest.raises(ValueError, match=r"new fit|two engines|half points"):
        followed.after(*game)


def test_a_game_in_the_columns() -> None:
    """A game adds to its own row, or opens one in its place."""
    pairs = fit({("A", "C"): (1, 1, 1), ("C", "B"): (1, 2, 1)}).pairs
    more = pairs.with_game("A", "C", 2).with_game("B", "A", 0).with_game("C", "B", 1)
    rows = np.stack((more.white, more.black, more.wins, more.draws, more.losses), axis=1).tolist()
    assert rows == [[0, 2, 2, 1, 1], [1, 0, 0, 0, 1], [2, 1, 1, 3, 1]]
    assert pairs.games.sum() == 7


@pytest.mark.parametrize("advantage", [0.0, 35.0])
def test_nothing_adds_up_over_a_night(advantage: float) -> None:
    """After 300 games one by one, newcomers to each other among them, every rating is a cold fit's to 1e-9 Elo."""
    counts, played = season(500)
    followed = follow(fit(counts, advantage=advantage))
    for white, black, half_points in [*played[:290], *(("v00", name, 1) for name in NAMES[1:11])]:
        followed = followed.after(white, black, half_points)
        counts[white, black] = added(counts.get((white, black), (0, 0, 0)), half_points)
    whole = fit(counts, advantage=advantage)
    assert followed.fit.by_name() == pytest.approx(whole.by_name(), abs=1e-9)


def test_both_colours_in_one_row() -> None:
    """Folding turns what the later name had as White: its wins are the other's losses."""
    pairs = fit({("A", "B"): (1, 2, 3), ("B", "A"): (10, 20, 30), ("C", "B"): (0, 1, 4)}).pairs.folded
    rows = np.stack((pairs.white, pairs.black, pairs.wins, pairs.draws, pairs.losses), axis=1).tolist()
    assert rows == [[0, 1, 31, 22, 13], [1, 2, 4, 1, 0]]
