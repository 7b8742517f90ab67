"""A 95 % interval holds the truth 95 times in a hundred; the night has larger fields and all models."""

import pytest

from tests.laws.coverage import Field, chain, covered, gauntlet, mesh, shown_to_cover


@pytest.mark.parametrize(
    ("field", "least"), [(gauntlet(12, 50, 100), 0.94), (chain(30, 50, 25), 0.93)], ids=["gauntlet", "chain"]
)
def test_intervals_cover(field: Field, least: float) -> None:
    """Against the pool's average, against an anchor, of every difference, in 200 tournaments."""
    for place, share in covered(field, 200).items():
        assert least <= share <= 0.965, place


def test_intervals_of_few_games_cover() -> None:
    """Twelve games of a match, ten of a mesh: likelihood bounds count the numbers that were fitted to so few."""
    assert shown_to_cover(mesh(2, 6, 80), 600) == pytest.approx(0.95, abs=0.012)
    assert shown_to_cover(mesh(6, 1, 120), 150) == pytest.approx(0.955, abs=0.012)


def test_favoured_openings_cover_by_pairs_only() -> None:
    """Where openings favour White errors of single games are too long; those of pairs are right, as 200 can tell."""
    field = mesh(12, 10, 120)
    single, paired = (covered(field, 200, favour=1.2, paired=paired) for paired in (False, True))
    for place in ("average", "difference"):  # against one anchor all intervals of a tournament fail together
        assert single[place] > 0.97
        assert paired[place] == pytest.approx(0.95, abs=0.015)
