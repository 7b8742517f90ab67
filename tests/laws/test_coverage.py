"""A 95 % interval has a coverage of 95 %; the night tests have larger fields and all models."""

import pytest

from tests.laws.coverage import Field, chain, covered, gauntlet, mesh, shown_to_cover


@pytest.mark.parametrize(
    ("field", "least"), [(gauntlet(12, 50, 100), 0.94), (chain(30, 50, 25), 0.93)], ids=["gauntlet", "chain"]
)
def test_intervals_cover(field: Field, least: float) -> None:
    """Intervals against the average, against an anchor and of differences are right, in 200 tournaments."""
    for place, share in covered(field, 200).items():
        assert least <= share <= 0.965, place


def test_intervals_of_few_games_cover() -> None:
    """Profile-likelihood intervals of few games are corrected for the number of fitted parameters."""
    assert shown_to_cover(mesh(2, 6, 80), 600) == pytest.approx(0.95, abs=0.012)
    assert shown_to_cover(mesh(6, 1, 120), 150) == pytest.approx(0.955, abs=0.012)


def test_favoured_openings_cover_by_pairs_only() -> None:
    """If openings favor White, errors of single games are too large, and errors of game pairs are right."""
    field = mesh(12, 10, 120)
    single, paired = (covered(field, 200, favour=1.2, paired=paired) for paired in (False, True))
    for place in ("average", "difference"):  # intervals against one anchor are not independent
        assert single[place] > 0.97
        assert paired[place] == pytest.approx(0.95, abs=0.015)
