"""Fields that cannot be paired: the proof names who, and is itself checked."""

import networkx as nx
import numpy as np
import pytest

from enginetour.formats.pairing.matching import (
    ProofFailed,
    Shortage,
    Unpairable,
    best_matching,
    check_shortage,
    shortage,
)


def allowed(count: int, *pairs: tuple[int, int]) -> np.ndarray:
    """Only these pairs."""
    out = np.zeros((count, count), dtype=bool)
    for one, other in pairs:
        out[one, other] = out[other, one] = True
    return out


STAR = allowed(4, (0, 1), (0, 2), (0, 3))


def test_star() -> None:
    """Three who may only meet the same one: two are left over."""
    found = shortage(STAR)
    assert found == Shortage((0,), ((1,), (2,), (3,)))
    assert found.left_over == 2


def test_message() -> None:
    """The line names the entrants, how many groups and the next step."""
    with pytest.raises(Unpairable) as refused:
        best_matching(np.zeros((4, 4), dtype=np.int64), ~STAR)
    line = "2 cannot be paired: entrants 2, 3, 4 make 3 groups of odd size with only 1 entrants outside to meet"
    assert str(refused.value) == f"{line}; allow more pairs"
    assert refused.value.exit_code == 3


def test_two_triangles() -> None:
    """Fractionally paired, really not: each triangle is a part, with no barrier."""
    pairs = ((0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3))
    assert shortage(allowed(6, *pairs)) == Shortage((), ((0, 1, 2), (3, 4, 5)))


def test_perfect() -> None:
    """A ring of six lacks nothing."""
    assert shortage(allowed(6, *((i, (i + 1) % 6) for i in range(6)))) is None


def test_as_many_as_networkx() -> None:
    """On sparse random graphs the number left over is that of a largest matching."""
    dice = np.random.default_rng(7)
    for _ in range(150):
        count = int(dice.integers(1, 20))
        half = np.triu(dice.random((count, count)) < 1.4 / count, 1)
        largest = len(nx.max_weight_matching(nx.from_numpy_array(half | half.T), maxcardinality=True))
        found = shortage(half | half.T)
        assert (found.left_over if found else 0) == count - 2 * largest


@pytest.mark.parametrize(
    "wrong",
    [
        Shortage((0,), ((1,), (2,))),
        Shortage((), ((1,), (2,))),
        Shortage((0,), ((1,), (1,), (3,))),
        Shortage((), ((1, 2), (3,))),
        Shortage((1,), ((0,), (2,), (3,))),
    ],
)
def test_wrong_proofs(wrong: Shortage) -> None:
    """Too few parts, parts that meet others, even ones and vertices named twice prove nothing."""
    with pytest.raises(ProofFailed):
        check_shortage(STAR, wrong, 2)
