"""Statistics of a match by games and by pairs."""

from __future__ import annotations

from itertools import pairwise
from math import exp, isfinite, log, log10

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from enginetour.ratings.pentanomial import (
    FEW_GAMES,
    NELO_UNIT,
    NORMAL_95,
    at_score,
    class_counts,
    elo_of,
    error_of,
    is_error_at_most,
    pair_half_points,
    statistics_of,
    tilted,
)


@pytest.mark.parametrize(
    ("counts", "score", "elo", "error", "los", "nelo"),
    [
        ((900, 2100, 1000), 0.5125, 8.6877, 7.4215, 0.989153, 12.6111),
        ((30, 440, 1100, 500, 30), 0.507143, 4.9637, 5.5670, 0.959763, 9.3708),
    ],
)
def test_published_figures(
    counts: tuple[int, ...], score: float, elo: float, error: float, los: float, nelo: float
) -> None:
    """Elo, error, LOS and nElo are reproduced to the last printed digit."""
    found = statistics_of(counts)
    assert found.score == pytest.approx(score, abs=6e-7)
    assert found.elo == pytest.approx(elo, abs=6e-5)
    assert found.error == pytest.approx(error, abs=6e-5)
    assert found.los == pytest.approx(los, abs=6e-7)
    assert found.nelo == pytest.approx(nelo, abs=6e-5)
    assert not found.by_profile


def test_the_ends_are_the_error() -> None:
    """The error is half of the width of the interval."""
    found = statistics_of((900, 2100, 1000))
    assert found.low is not None
    assert found.high is not None
    assert found.error == pytest.approx((found.high - found.low) / 2, rel=1e-12)


def test_pairs_that_cancel_are_surer_than_their_games() -> None:
    """A hundred openings won by White twice give a smaller error than two hundred independent games."""
    by_games, by_pairs = statistics_of((100, 0, 110)), statistics_of((0, 0, 100, 0, 5))
    assert by_games.elo == pytest.approx(by_pairs.elo, abs=1e-2)
    assert by_games.error is not None
    assert by_pairs.error is not None
    assert by_pairs.error < by_games.error / 3


def test_nelo_is_sure_to_one_over_the_root_of_the_games_between_equals() -> None:
    """The error of nElo between equals is independent of the draw rate."""
    for counts, games in (((50, 300, 50), 400), ((10, 40, 100, 40, 10), 400)):
        assert statistics_of(counts).nelo_error == pytest.approx(NORMAL_95 * NELO_UNIT / games**0.5, rel=1e-9)


def test_nelo_of_a_one_sided_match_knows_that_its_spread_is_estimated() -> None:
    """With two classes the delta method agrees with the exact derivative."""
    p, n = 0.9, 1000
    found = statistics_of((100, 0, 900))
    slope = 0.25 / (p * (1 - p)) ** 1.5 / 1  # of (p - 1/2)/sqrt(p(1-p))
    assert found.nelo_error == pytest.approx(NORMAL_95 * NELO_UNIT * slope * (p * (1 - p) / n) ** 0.5, rel=1e-4)


@pytest.mark.parametrize(
    "counts", [(0, 0, 1), (1, 0, 0), (0, 3, 0), (0, 0, 200, 0, 0), (0, 0, 0, 0, 9), (1, 2, 30), (2, 0, 2)]
)
def test_few_or_one_sided_games_claim_little(counts: tuple[int, ...]) -> None:
    """Few or one-sided games have a finite, uncertain interval by the profile likelihood."""
    found = statistics_of(counts)
    assert found.by_profile
    assert found.error is None
    assert 0 < found.los < 1
    ends = [end for end in (found.low, found.elo, found.high) if end is not None]
    assert ends
    assert all(isfinite(end) for end in ends)
    assert all(low + 1 < high for low, high in pairwise(ends))


def test_one_win_bounds_the_score_from_below_only() -> None:
    """One win has only a lower end, no Elo, and the LOS of a likelihood ratio of two."""
    found = statistics_of((0, 0, 1))
    assert found.elo is None
    assert found.high is None
    assert found.nelo is None
    assert found.low == pytest.approx(-400 * log10(exp(NORMAL_95**2 / 2) - 1), abs=2)
    assert found.los == pytest.approx(0.8805, abs=2e-3)  # Phi(sqrt(2 ln 2))


def test_no_game_has_no_statistics() -> None:
    """No games and counts of unknown shape raise an error."""
    for counts in ((0, 0, 0), (1, 2), (1, 2, 3, 4), (-1, 2, 3)):
        with pytest.raises(ValueError, match=r"game|count"):
            statistics_of(counts)


def test_the_tilt_is_the_likeliest() -> None:
    """The tilted probabilities add up to 1, have the requested mean, and are most likely."""
    seen = [0.2, 0.5, 0.3]
    found = at_score(seen, 0.6)
    assert sum(found) == pytest.approx(1, abs=1e-14)
    assert found[1] / 2 + found[2] == pytest.approx(0.6, abs=1e-14)

    def height(chances: list[float]) -> float:
        return sum(s * log(p) for s, p in zip(seen, chances, strict=True))

    for aside in (1e-4, -1e-4):
        assert height([found[0] + aside, found[1] - 2 * aside, found[2] + aside]) < height(found)


def test_the_tilt_keeps_its_digits_next_to_a_pole() -> None:
    """A class that was hardly observed gets nearly all probability."""
    found = at_score([1 - 1e-9, 5e-10, 5e-10], 0.999)
    assert found[1] / 2 + found[2] == pytest.approx(0.999, rel=1e-6)  # 1e-16 of 5e-10
    assert all(chance > 0 for chance in found)
    with pytest.raises(ValueError, match="cannot be 0"):
        tilted([0.5, 0.5], [1.0, 2.0])


def test_pairs_are_completed_in_any_order() -> None:
    """A pair is placed at its second game; a single game waits; a third game starts another pair."""
    games = [("a", 2), ("b", 0), ("b", 1), ("c", 2), ("a", 2), ("a", 1), ("a", 0)]
    assert pair_half_points(games) == [1, 4, 1]
    assert class_counts([1, 4, 1], 5) == (0, 2, 0, 0, 1)


@pytest.mark.parametrize("counts", [(0, 0, 1, 1, 5), (4, 1, 4, 0, 3), (0, 6, 12)])
def test_elo_is_that_of_the_score(counts: tuple[int, ...]) -> None:
    """Elo is that of the actual score; the value of empty classes once changed it."""
    found = statistics_of(counts)
    assert found.elo == elo_of(found.score)


FEW_OR_MANY = st.integers(0, 4) | st.integers(0, 5000)


@given(counts=st.lists(FEW_OR_MANY, min_size=3, max_size=3) | st.lists(FEW_OR_MANY, min_size=5, max_size=5))
def test_a_glance_never_hides_that_it_is_known(counts: list[int]) -> None:
    """The quick test agrees with the exact error, and the error is half of the interval."""
    assume(sum(counts) >= FEW_GAMES)
    error, told = error_of(counts), statistics_of(counts)
    if error is None:
        assert told.low is None or told.high is None
        assert not is_error_at_most(1e9, counts)
        return
    assert told.low is not None and told.high is not None
    assert error == pytest.approx((told.high - told.low) / 2)
    assert is_error_at_most(error, counts)
    assert not is_error_at_most(error * 0.999, counts)
