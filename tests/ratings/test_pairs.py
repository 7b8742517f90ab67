import numpy as np
import pytest

from enginetour.ratings.pairs import BELIEVED_PAIRS, PairScoreSpread, opening_pairs, pairs_of
from enginetour.ratings.ratinglist import rating_list

COUNTS = {("A", "B"): (10, 6, 4), ("B", "A"): (8, 6, 6), ("B", "C"): (3, 1, 1), ("C", "B"): (2, 2, 1)}


def test_both_orders_are_one_pair() -> None:
    """Both orders of two names are added up, from the side of the name that sorts first."""
    found = opening_pairs(
        {("B", "A"): (1, 2, 3, 4, 5), ("A", "B"): (0, 0, 0, 0, 2), ("B", "C"): (0,) * 5}, ("A", "B", "C")
    )
    assert (found.one.tolist(), found.other.tolist()) == ([0], [1])
    assert found.counts.tolist() == [[5, 4, 3, 2, 3]]


def test_a_pair_has_a_game_in_each_color() -> None:
    """Each pair has one game in each color; the other games of a row are single."""
    found = opening_pairs({("A", "B"): (1, 2, 9, 3, 0), ("B", "C"): (1, 0, 2, 0, 0)}, ("A", "B", "C"))
    assert found.in_rows(pairs_of(COUNTS)).tolist() == [15, 15, 3, 3]
    inside = found.within(["B", "C"])
    assert (inside.names, inside.counts.tolist()) == (("B", "C"), [[1, 0, 2, 0, 0]])
    assert inside.in_rows(pairs_of(COUNTS).within(["B", "C"])).tolist() == [3, 3]


@pytest.mark.parametrize(
    "openings",
    [
        {("A", "Z"): (1, 0, 0, 0, 0)},
        {("A", "A"): (1, 0, 0, 0, 0)},
        {("A", "B"): (1, 0, -1, 0, 0)},
        {("A", "B"): (21, 0, 0, 0, 0)},
        {("A", "C"): (1, 0, 0, 0, 0)},
    ],
)
def test_pairs_are_of_counted_games(openings: dict[tuple[str, str], tuple[int, int, int, int, int]]) -> None:
    """Unknown engines, negative counts and more pairs than games raise an error."""
    with pytest.raises(ValueError, match="pairs"):
        rating_list(COUNTS, openings=openings)


def test_few_pairs_hardly_count() -> None:
    """The ratio starts at 1 and approaches the measured one as the number of pairs increases."""
    assert PairScoreSpread().ratio == 1
    assert PairScoreSpread(0.0, 0.4, 0.4, 1).ratio == pytest.approx(BELIEVED_PAIRS / (BELIEVED_PAIRS + 1))
    whole = sum((PairScoreSpread(0.2, 0.4, 0.4, 1) for _ in range(2000)), PairScoreSpread())
    assert whole.pairs == 2000
    assert whole.ratio == pytest.approx(0.5, abs=0.01)
    assert np.isfinite(PairScoreSpread(0.0, 0.0, 0.5, 3).ratio)


@pytest.mark.parametrize(("pairs", "words"), [(1, "1 game pair"), (2, "2 game pairs")])
def test_a_pair_alone_is_one(pairs: int, words: str) -> None:
    """The caption uses singular and plural correctly."""
    assert PairScoreSpread(0.2, 0.4, 0.4, pairs).note.endswith(f", {words}")
