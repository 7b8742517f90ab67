"""Rating lists that once went wrong."""

import json

import pytest

from enginetour.ratings.likelihood import ModelName
from enginetour.ratings.listing import rating_list


def test_anchors_that_met_nobody_of_their_group() -> None:
    """Two anchors are one group without a game between them: a share of no games was reckoned, 0/0."""
    counts = {("A", "B"): (1, 0, 0), ("B", "C"): (0, 0, 1), ("A", "D"): (1, 1, 1)}
    made = rating_list(counts, prior="none", anchors={"A": 0.0, "C": 0.0})
    json.dumps(made.to_json(), allow_nan=False)
    assert [row.name for row in made.rows] == ["A", "D"]
    assert [(each.name, each.why.partition(":")[0]) for each in made.unrated] == [("C", "unbeaten"), ("B", "winless")]
    del counts["A", "D"]
    assert rating_list(counts, prior="none", anchors={"A": 0.0, "C": 0.0}).rows == ()


@pytest.mark.parametrize("model", ["davidson", "raokupper"])
def test_draws_beside_a_clean_score(model: ModelName) -> None:
    """All drawn but for one pair that never draws: draw parameter and gaps run away together unless bounded."""
    counts = {("A", "B"): (0, 1000, 0), ("A", "F"): (0, 0, 30), ("B", "F"): (0, 1000, 0)}
    found = rating_list(counts, model=model)
    assert [row.name for row in found.rows] == ["F", "B", "A"]
    assert any("are imagined" in words for words in found.caption)
