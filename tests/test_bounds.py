from math import isfinite

import pytest

from enginetour.ratings.likelihood import ModelName
from enginetour.ratings.models import VirtualDraws
from enginetour.ratings.ratinglist import rating_list


@pytest.mark.parametrize("model", ["logistic", "davidson", "raokupper"])
def test_bounds_far_out_come_back(model: ModelName) -> None:
    """Where the search overshoots to gaps that decide everything it returns, with a bound or the word that none is."""
    counts = {("E", "C"): (15, 56, 58), ("D", "A"): (100, 0, 0), ("C", "A"): (1, 0, 0)}
    made = rating_list(counts, model=model, prior=VirtualDraws(2.0), advantage=30.0)
    told = {row.name: (row.plus, row.remarks[-1:]) for row in made.rows}
    assert {name for name, (plus, _) in told.items() if plus is None} == {"A"}  # one lost game holds it
    assert told["A"][1] == ("too few games",)
    assert all(isfinite(plus) and plus > 10 for plus, _ in told.values() if plus is not None)


def test_draws_alone_are_not_certain() -> None:
    """An engine that drew all its few games has bounds wider than nothing, even where White's advantage is fitted."""
    counts = {("D", "C"): (0, 2, 0), ("C", "E"): (0, 1, 1), ("E", "D"): (0, 1, 0)}
    for row in rating_list(counts, advantage="fit").rows:
        assert (row.plus or 0) > 50
