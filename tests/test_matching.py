"""Heaviest perfect matchings: what is asked, what is refused, what a bye and an unavoidable rematch cost."""

import numpy as np
import pytest

from enginetour.formats.pairing.blossom import TooWide, allowed_pairs, costs_of, integers
from enginetour.formats.pairing.matching import Unpairable, best_matching, check, relaxed_matching

FOUR = [[0, 3, 1, 1], [3, 0, 1, 1], [1, 1, 0, 0], [1, 1, 0, 0]]


def test_heaviest() -> None:
    """3 + 0 is more than 1 + 1, whatever the diagonal says."""
    found = best_matching(np.array(FOUR) + 9 * np.eye(4, dtype=np.int64))
    assert (found.pairs, found.mates, found.weight) == (((0, 1), (2, 3)), (1, 0, 3, 2), 3)


def test_forbidden_pair() -> None:
    """Without the best pair the two others remain, and weigh 2."""
    forbidden = np.zeros((4, 4), dtype=bool)
    forbidden[2, 3] = forbidden[3, 2] = True
    assert best_matching(FOUR, forbidden).weight == 2


def test_nobody() -> None:
    """An empty field is paired."""
    assert best_matching([]).pairs == ()


def test_slack_bounds_the_cost_of_a_pair() -> None:
    """Forcing a pair costs at least half of its slack; pairs of the matching have none."""
    dice = np.random.default_rng(8)
    half = np.triu(dice.integers(-50, 50, (8, 8)), 1)
    weights = half + half.T
    best = best_matching(weights)
    for one in range(8):
        for other in range(one):
            rest = [vertex for vertex in range(8) if vertex not in (one, other)]
            forced = int(weights[one, other]) + best_matching(weights[np.ix_(rest, rest)]).weight
            slack = best.proof.slack(one, other, int(weights[one, other]))
            assert 2 * (best.weight - forced) >= slack >= 0
            assert slack == 0 or best.mates[one] != other


def test_huge_weights() -> None:
    """Weights of hundreds of digits keep their last one."""
    huge = 10**300
    weights = np.array([[huge * FOUR[i][j] + (i + j == 3) for j in range(4)] for i in range(4)], dtype=object)
    assert best_matching(weights).weight == 3 * huge
    weights[0, 1] = weights[1, 0] = 2 * huge + 1
    assert best_matching(weights).weight == 2 * huge + 2


def test_words_and_integers_agree() -> None:
    """The same weights, in words and moved out of their reach, give the same pairs."""
    dice = np.random.default_rng(3)
    half = np.triu(dice.integers(0, 9, (30, 30)), 1)
    weights = half + half.T
    assert best_matching(weights).pairs == best_matching(weights.astype(object) * 2**70).pairs


def test_duals_out_of_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """When a dual leaves the room of a word the search is done again in Python's integers, not wrongly."""
    dice = np.random.default_rng(4)
    half = np.triu(dice.integers(0, 1 << 49, (10, 10)), 1)
    weights = half + half.T
    expected = best_matching(weights).weight
    monkeypatch.setattr("enginetour.formats.pairing.blossom.WORD_FAR", 1 << 52)
    tight = costs_of(weights, allowed_pairs(weights, None))
    with pytest.raises(TooWide):
        tight.within(np.array([1 << 48]))
    monkeypatch.setattr("enginetour.formats.pairing.matching.jump_start", lambda costs: (costs.filled(0), [-1] * 10))
    assert best_matching(weights).weight == expected


def test_word_limit_is_the_spread() -> None:
    """Large weights near to each other stay in machine words; one apart by 2**50 does not."""
    near = integers([[0, 2**60], [2**60, 0]])
    assert costs_of(near, allowed_pairs(near, None)).matrix.dtype == np.int64
    apart = np.full((4, 4), 0)
    apart[0, 1] = apart[1, 0] = 2**50
    assert costs_of(apart, allowed_pairs(apart, None)).matrix.dtype == object
    assert best_matching(apart).weight == 2**50


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        ([[0, 1, 2]], "square"),
        ([[0, 1], [2, 0]], "no first"),
        ([[0, 0.5], [0.5, 0]], "scale them first"),
        (np.array([[0, 0.5], [0.5, 0]], dtype=object), "Python integers"),
    ],
)
def test_not_weights(weights: object, says: str) -> None:
    """What is no symmetric integer matrix is refused with the reason."""
    with pytest.raises(ValueError, match=says):
        best_matching(weights)  # type: ignore[arg-type]


def test_odd_field_without_bye() -> None:
    """Three entrants cannot be paired: one part of three, nobody to meet."""
    with pytest.raises(Unpairable, match="1 cannot be paired") as refused:
        best_matching(np.zeros((3, 3), dtype=np.int64))
    assert refused.value.shortage.parts == ((0, 1, 2),)


def met(*rounds: tuple[tuple[int, int], ...], count: int = 4) -> np.ndarray:
    """The round of the last meeting, from 1."""
    bars = np.zeros((count, count), dtype=np.int64)
    for number, pairs in enumerate(rounds, 1):
        for one, other in pairs:
            bars[one, other] = bars[other, one] = number
    return bars


def test_no_rematch_when_avoidable() -> None:
    """However heavy, a rematch is not taken while there is another way."""
    found = relaxed_matching(np.array(FOUR) * 1000, met(((0, 1), (2, 3))))
    assert found.weight == 2000
    assert (0, 1) not in found.pairs


def test_least_recent_rematches() -> None:
    """Four who have all met play again what is longest ago, not what is heaviest."""
    bars = met(((0, 2), (1, 3)), ((0, 1), (2, 3)), ((0, 3), (1, 2)))
    found = relaxed_matching(FOUR, bars)
    assert (found.pairs, found.weight) == (((0, 2), (1, 3)), 2)


def test_fewest_rematches_come_first() -> None:
    """One recent rematch is taken rather than two old ones."""
    bars = met(((0, 1), (2, 3), (0, 3), (1, 2)), ((0, 2),))
    assert relaxed_matching(FOUR, bars).pairs == ((0, 2), (1, 3))


def test_relaxing_does_not_allow_the_forbidden() -> None:
    """Bars give way, forbidden pairs do not: nobody may meet the first."""
    forbidden = np.zeros((4, 4), dtype=bool)
    forbidden[0, :] = forbidden[:, 0] = True
    with pytest.raises(Unpairable) as refused:
        relaxed_matching(FOUR, met(((1, 2),)), forbidden)
    assert (0,) in refused.value.shortage.parts
    with pytest.raises(ValueError, match="nothing below 0"):
        relaxed_matching(FOUR, -met(((1, 2),)))


def test_same_weights_same_matching() -> None:
    """A tie comes out the same every time, and its proof holds."""
    weights = np.ones((20, 20), dtype=np.int64)
    found = best_matching(weights)
    assert found == best_matching(weights.copy())
    assert check(weights, allowed_pairs(weights, None), found.mates, found.proof) == 10
