from __future__ import annotations

import math

import pytest

from enginetour.ratings.likelihood import ModelName
from enginetour.ratings.ratinglist import rating_list


@pytest.mark.parametrize("model", ["davidson", "raokupper"])
def test_paired_draws_have_errors(model: ModelName) -> None:
    """Pairs of games that were all drawn made a variance negative: a failure of ours instead of a list."""
    counts = {("A", "B"): (0, 1000, 0), ("B", "A"): (0, 1000, 30)}
    found = rating_list(counts, model=model, openings={("A", "B"): (0, 0, 500, 0, 0)})
    for row in found.rows:
        assert row.plus is not None and row.minus is not None
        assert math.isfinite(row.plus) and row.plus > 0 and row.minus > 0
