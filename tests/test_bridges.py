from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.ratings.connectivity import connecting_games, connecting_points, games_told, groups, points_told, pools
from enginetour.ratings.pairs import Counts, pairs_of
from enginetour.ratings.ratinglist import rating_list

NAMES = "ABCDEFGHIJ"
pairings = st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)).filter(lambda pair: pair[0] < pair[1])
decided = st.sampled_from([(1, 0, 0), (0, 0, 1), (1, 0, 1), (0, 1, 0)])


@given(counts=st.dictionaries(pairings, decided, min_size=1, max_size=14))
@settings(max_examples=150, deadline=None)
def test_they_connect_and_are_fewest(counts: dict[tuple[str, str], tuple[int, int, int]]) -> None:
    """With the games there is one pool, with the points one group, and no fewer would do.

    Every group that lost nothing to others needs a point taken from it, every one that took nothing must take one.
    """
    whole = dict[tuple[str, str], Any](counts)
    found = pools(counts)
    games = connecting_games(pairs_of(counts), found)
    assert len(games) == len(found) - 1
    whole |= dict.fromkeys(games, (0, 1, 0))
    assert len(pools(whole)) == 1
    parts, inside = groups(whole), pairs_of(whole)
    points = connecting_points(inside, parts)
    for taker, giver in points:
        won, drawn, lost = whole.get((taker, giver), (0, 0, 0))
        whole[taker, giver] = (won + 1, drawn, lost)
    assert len(groups(whole)) == 1
    of = {name: number for number, part in enumerate(parts) for name in part}
    took, gave = set[int](), set[int]()
    for place, (white, black) in enumerate(zip(inside.white, inside.black, strict=True)):
        one, other = of[inside.names[white]], of[inside.names[black]]
        if one != other and inside.wins[place] + inside.draws[place]:
            took.add(one)
            gave.add(other)
        if one != other and inside.losses[place] + inside.draws[place]:
            took.add(other)
            gave.add(one)
    assert len(points) == (max(len(parts) - len(took), len(parts) - len(gave)) if len(parts) > 1 else 0)


def test_whom_to_play() -> None:
    """Between pools those that played most; between groups the best of the weaker against the worst of the stronger."""
    counts: Counts = {
        ("Toga II", "Joker"): (3, 3, 3),
        ("Fruit 2.1", "Gaviota"): (1, 1, 1),
        ("Fruit 2.1", "Rebel"): (1, 1, 1),
    }
    assert rating_list(counts).caption[1] == "a game Fruit 2.1 - Joker would connect pools 1 and 2"
    assert games_told((("A", "B"),), numbered=False) == "a game A - B would connect their pools"
    strong: Counts = {("A", "B"): (2, 1, 1), ("C", "D"): (2, 1, 1), ("A", "C"): (1, 0, 0), ("B", "D"): (1, 0, 0)}
    for prior in ("auto", "none"):
        made = rating_list(strong, prior=prior)
        assert "a point of C against B would make them one group" in made.caption


def test_a_caption_stays_a_line() -> None:
    """Of many only the first are named."""
    many = tuple((name, "Z") for name in NAMES)
    assert points_told(many).endswith("a point of C against Z and 7 more would make them one group")
    assert games_told(many, numbered=True).endswith("would connect pools 1 and 4 and 7 more")
    counts = {(f"{number:03}", "x"): (1, 0, 0) for number in range(250)}
    assert connecting_points(pairs_of(counts), groups(counts)) == ()
