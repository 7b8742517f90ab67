import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from enginetour.ratings.connectivity import groups, pools, unbeaten, winless


def test_one_drawn_pair() -> None:
    """A draw lets each reach the other."""
    assert groups({("A", "B"): (0, 1, 0)}) == (("A", "B"),)


def test_unbeaten_engine_is_a_group() -> None:
    """A beats B and C without a draw, B and C share: two groups, one pool."""
    counts = {("A", "B"): (2, 0, 0), ("C", "A"): (0, 0, 2), ("B", "C"): (1, 0, 1)}
    assert groups(counts) == (("B", "C"), ("A",))
    assert pools(counts) == (("A", "B", "C"),)
    assert (unbeaten(counts), winless(counts)) == (("A",), ())


def test_two_mixed_groups() -> None:
    """Only wins from one mixed set to the other: one pool, two groups, nobody unbeaten."""
    counts = {("A", "B"): (1, 0, 1), ("C", "D"): (0, 3, 0), ("A", "C"): (1, 0, 0), ("D", "B"): (0, 0, 4)}
    assert groups(counts) == (("A", "B"), ("C", "D"))
    assert len(pools(counts)) == 1
    assert unbeaten(counts) == winless(counts) == ()


def test_pools_without_a_common_game() -> None:
    """Engines that never met, not even through others, are apart; the largest pool comes first."""
    counts = {("X", "Y"): (0, 1, 0), ("A", "B"): (1, 1, 1), ("B", "C"): (1, 1, 1), ("C", "X"): (0, 0, 0)}
    assert pools(counts) == (("A", "B", "C"), ("X", "Y"))
    assert groups(counts) == (("A", "B", "C"), ("X", "Y"))


def test_cycle_of_wins() -> None:
    """A beats B, B beats C, C beats A: all reach each other without a draw."""
    counts = {("A", "B"): (1, 0, 0), ("B", "C"): (1, 0, 0), ("A", "C"): (0, 0, 1)}
    assert groups(counts) == (("A", "B", "C"),)


def test_anchors_link() -> None:
    """Two engines of fixed ratings reach each other without a game."""
    counts = {("A", "B"): (1, 1, 1), ("C", "D"): (1, 1, 1)}
    assert groups(counts, ("A", "C")) == (("A", "B", "C", "D"),)
    assert groups({("A", "B"): (1, 0, 0), ("B", "C"): (1, 0, 0)}, ("A", "C")) == (("A", "B", "C"),)


def test_winless() -> None:
    """Losses with either colour count; a draw is enough not to be winless."""
    counts = {("A", "B"): (1, 0, 0), ("B", "C"): (0, 0, 2), ("A", "D"): (1, 0, 0), ("D", "C"): (0, 1, 0)}
    assert winless(counts) == ("B",)


def test_no_games() -> None:
    """No games make no pools and no groups."""
    assert pools({}) == groups({}) == pools({("A", "B"): (0, 0, 0)}) == ()


@given(
    st.dictionaries(
        st.tuples(st.sampled_from("ABCDEF"), st.sampled_from("ABCDEF")).filter(lambda ends: ends[0] != ends[1]),
        st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 1)),
        max_size=14,
    )
)
def test_as_a_graph_library_finds_them(counts: dict[tuple[str, str], tuple[int, int, int]]) -> None:
    """However few games show it: pools are the connected parts, groups the strongly connected ones."""
    met, took = nx.Graph(), nx.DiGraph()
    for (white, black), (won, drawn, lost) in counts.items():
        if won or drawn or lost:
            met.add_edge(white, black)
        took.add_edges_from([(white, black)] if won or drawn else [])
        took.add_edges_from([(black, white)] if lost or drawn else [])
    assert {frozenset(pool) for pool in pools(counts)} == {frozenset(part) for part in nx.connected_components(met)}
    parts = nx.strongly_connected_components(took)
    assert {frozenset(group) for group in groups(counts)} == {frozenset(part) for part in parts}
