"""Tests of ratings/connectivity."""

from typing import Any

import networkx as nx
from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.ratings.connectivity import (
    connecting_games,
    connecting_points,
    format_connecting_games,
    format_connecting_points,
    groups,
    pools,
    unbeaten,
    winless,
)
from enginetour.ratings.pairs import Counts, pairs_of
from enginetour.ratings.ratinglist import rating_list


def test_one_drawn_pair() -> None:
    """A draw connects two engines in both directions."""
    assert groups({("A", "B"): (0, 1, 0)}) == (("A", "B"),)


def test_unbeaten_engine_is_a_group() -> None:
    """An unbeaten engine is a component of its own, in the same pool as the others."""
    counts = {("A", "B"): (2, 0, 0), ("C", "A"): (0, 0, 2), ("B", "C"): (1, 0, 1)}
    assert groups(counts) == (("B", "C"), ("A",))
    assert pools(counts) == (("A", "B", "C"),)
    assert (unbeaten(counts), winless(counts)) == (("A",), ())


def test_two_mixed_groups() -> None:
    """If one group only wins against another, there are two components in one pool, and no engine is unbeaten."""
    counts = {("A", "B"): (1, 0, 1), ("C", "D"): (0, 3, 0), ("A", "C"): (1, 0, 0), ("D", "B"): (0, 0, 4)}
    assert groups(counts) == (("A", "B"), ("C", "D"))
    assert len(pools(counts)) == 1
    assert unbeaten(counts) == winless(counts) == ()


def test_pools_without_a_common_game() -> None:
    """Engines without a common game, directly or through others, are in different pools; the largest is first."""
    counts = {("X", "Y"): (0, 1, 0), ("A", "B"): (1, 1, 1), ("B", "C"): (1, 1, 1), ("C", "X"): (0, 0, 0)}
    assert pools(counts) == (("A", "B", "C"), ("X", "Y"))
    assert groups(counts) == (("A", "B", "C"), ("X", "Y"))


def test_cycle_of_wins() -> None:
    """A cycle of wins makes one component without a draw."""
    counts = {("A", "B"): (1, 0, 0), ("B", "C"): (1, 0, 0), ("A", "C"): (0, 0, 1)}
    assert groups(counts) == (("A", "B", "C"),)


def test_anchors_link() -> None:
    """Two anchors are connected without a game."""
    counts = {("A", "B"): (1, 1, 1), ("C", "D"): (1, 1, 1)}
    assert groups(counts, ("A", "C")) == (("A", "B", "C", "D"),)
    assert groups({("A", "B"): (1, 0, 0), ("B", "C"): (1, 0, 0)}, ("A", "C")) == (("A", "B", "C"),)


def test_winless() -> None:
    """Losses with both colors count; an engine with a draw is not winless."""
    counts = {("A", "B"): (1, 0, 0), ("B", "C"): (0, 0, 2), ("A", "D"): (1, 0, 0), ("D", "C"): (0, 1, 0)}
    assert winless(counts) == ("B",)


def test_no_games() -> None:
    """Without games there are no pools and no components."""
    assert pools({}) == groups({}) == pools({("A", "B"): (0, 0, 0)}) == ()


@given(
    st.dictionaries(
        st.tuples(st.sampled_from("ABCDEF"), st.sampled_from("ABCDEF")).filter(lambda ends: ends[0] != ends[1]),
        st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 1)),
        max_size=14,
    )
)
def test_as_a_graph_library_finds_them(counts: dict[tuple[str, str], tuple[int, int, int]]) -> None:
    """Pools are the connected components and groups the strongly connected components found by networkx."""
    met, took = nx.Graph(), nx.DiGraph()
    for (white, black), (won, drawn, lost) in counts.items():
        if won or drawn or lost:
            met.add_edge(white, black)
        took.add_edges_from([(white, black)] if won or drawn else [])
        took.add_edges_from([(black, white)] if lost or drawn else [])
    assert {frozenset(pool) for pool in pools(counts)} == {frozenset(part) for part in nx.connected_components(met)}
    parts = nx.strongly_connected_components(took)
    assert {frozenset(group) for group in groups(counts)} == {frozenset(part) for part in parts}


NAMES = "ABCDEFGHIJ"
pairings = st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)).filter(lambda pair: pair[0] < pair[1])
decided = st.sampled_from([(1, 0, 0), (0, 0, 1), (1, 0, 1), (0, 1, 0)])


@given(counts=st.dictionaries(pairings, decided, min_size=1, max_size=14))
@settings(max_examples=150, deadline=None)
def test_they_connect_and_are_fewest(counts: dict[tuple[str, str], tuple[int, int, int]]) -> None:
    """The suggested games make one pool and the suggested points one component, and fewer do not suffice.

    Every component without a loss to others needs one, every component without a point from others needs one.
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
    """Games are suggested for engines with most games; points for the best and the worst of two components."""
    counts: Counts = {
        ("Toga II", "Joker"): (3, 3, 3),
        ("Fruit 2.1", "Gaviota"): (1, 1, 1),
        ("Fruit 2.1", "Rebel"): (1, 1, 1),
    }
    assert rating_list(counts).caption[1] == "a game Fruit 2.1 - Joker would connect pools 1 and 2"
    assert format_connecting_games((("A", "B"),), numbered=False) == "a game A - B would connect their pools"
    strong: Counts = {("A", "B"): (2, 1, 1), ("C", "D"): (2, 1, 1), ("A", "C"): (1, 0, 0), ("B", "D"): (1, 0, 0)}
    for prior in ("auto", "none"):
        made = rating_list(strong, prior=prior)
        assert "a win or draw of C against B would connect all engines" in made.caption


def test_a_caption_stays_a_line() -> None:
    """The note lists only the first of many suggestions."""
    many = tuple((name, "Z") for name in NAMES)
    assert format_connecting_points(many).endswith("a win or draw of C against Z and 7 more would connect all engines")
    assert format_connecting_games(many, numbered=True).endswith("would connect pools 1 and 4 and 7 more")
    counts = {(f"{number:03}", "x"): (1, 0, 0) for number in range(250)}
    assert connecting_points(pairs_of(counts), groups(counts)) == ()
