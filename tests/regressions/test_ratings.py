"""Rating lists that once went wrong."""

import json

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
