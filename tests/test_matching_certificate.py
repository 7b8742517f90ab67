"""The check of a proof: everything wrong in pairs, duals or sets is noticed."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from enginetour.formats.pairing.blossom import allowed_pairs
from enginetour.formats.pairing.matching import Certificate, OddSet, ProofFailed, best_matching, check

# two triangles of heavy pairs with one light pair between: only odd sets prove it
APART = np.array([[0 if i == j else 10 if i // 3 == j // 3 else 1 + i * j % 3 for j in range(6)] for i in range(6)])
ALLOWED = allowed_pairs(APART, None)
FOUND = best_matching(APART)


def holds(mates: tuple[int, ...], proof: Certificate) -> bool:
    """Does the check let it pass?"""
    try:
        check(APART, ALLOWED, mates, proof)
    except ProofFailed:
        return False
    return True


def test_odd_sets_are_needed() -> None:
    """The case is one that vertices alone do not prove."""
    assert FOUND.proof.sets
    assert holds(FOUND.mates, FOUND.proof)
    assert not holds(FOUND.mates, replace(FOUND.proof, sets=()))


@pytest.mark.parametrize("step", [-2, -1, 1, 2])
@pytest.mark.parametrize("vertex", range(6))
def test_changed_dual(vertex: int, step: int) -> None:
    """No single y may be another number."""
    y = list(FOUND.proof.y)
    y[vertex] += step
    assert not holds(FOUND.mates, replace(FOUND.proof, y=tuple(y)))


@pytest.mark.parametrize("step", [-1, 1, -100])
def test_changed_set(step: int) -> None:
    """No z may be another number, and below 0 it proves nothing."""
    first, *rest = FOUND.proof.sets
    assert not holds(FOUND.mates, replace(FOUND.proof, sets=(replace(first, z=first.z + step), *rest)))


def test_negative_z_with_a_fitting_bound() -> None:
    """A z below 0 that another one makes up for does not pass either."""
    inside = FOUND.proof.sets[0].vertices
    wrong = (*FOUND.proof.sets, OddSet(inside, -1), OddSet(inside, 1))
    assert not holds(FOUND.mates, replace(FOUND.proof, sets=wrong))


@pytest.mark.parametrize("inside", [(0, 1), (0, 0, 1), (0, 1, 9), ()])
def test_no_odd_set(inside: tuple[int, ...]) -> None:
    """Even sets, vertices named twice and vertices that are not there are noticed, even with z = 0."""
    assert not holds(FOUND.mates, replace(FOUND.proof, sets=(*FOUND.proof.sets, OddSet(inside, 0))))


def test_every_other_matching() -> None:
    """All exchanges of two pairs of a unique optimum are lighter and noticed."""
    dice = np.random.default_rng(5)
    half = np.triu(dice.integers(0, 2**40, (10, 10)), 1)
    weights = half + half.T
    found = best_matching(weights)
    allowed = allowed_pairs(weights, None)
    for a, b in found.pairs:
        for c, d in found.pairs:
            if a < c:
                for one, other in (((a, c), (b, d)), ((a, d), (b, c))):
                    mates = list(found.mates)
                    for i, j in (one, other):
                        mates[i], mates[j] = j, i
                    with pytest.raises(ProofFailed, match="twice the weight"):
                        check(weights, allowed, mates, found.proof)


@pytest.mark.parametrize(
    "mates", [(1, 0, 3, 2, 5, 5), (0, 1, 2, 3, 4, 5), (1, 0), (1, 0, 3, 2, 5, 6), (1, 2, 0, 4, 5, 3)]
)
def test_not_a_matching(mates: tuple[int, ...]) -> None:
    """Vertices left out, alone, in a ring or not there."""
    assert not holds(mates, FOUND.proof)


def test_forbidden_pair_in_the_matching() -> None:
    """A pair that is not allowed is noticed though all sums fit."""
    one, other = FOUND.pairs[0]
    allowed = ALLOWED.copy()
    allowed[one, other] = allowed[other, one] = False
    with pytest.raises(ProofFailed, match="allowed pairs"):
        check(APART, allowed, FOUND.mates, FOUND.proof)


def test_slack_of_every_pair_counts() -> None:
    """Making any unmatched pair heavy enough is noticed, in every strip of rows."""
    weights = np.zeros((300, 300), dtype=np.int64)
    found = best_matching(weights)
    for one, other in ((0, 299), (130, 132), (298, 1), (200, 100)):
        assert found.mates[one] != other
        heavier = weights.copy()
        heavier[one, other] = heavier[other, one] = 1
        with pytest.raises(ProofFailed, match="slack -2"):
            check(heavier, allowed_pairs(heavier, None), found.mates, found.proof)


def test_duals_beyond_a_word() -> None:
    """Duals that a machine word would wrap round are compared as they are."""
    weights = np.zeros((2, 2), dtype=np.int64)
    allowed = allowed_pairs(weights, None)
    with pytest.raises(ProofFailed):
        check(weights, allowed, (1, 0), Certificate((2**64 + 1, -(2**64)), ()))
    assert check(weights, allowed, (1, 0), Certificate((2**64, -(2**64)), ())) == 0


def wrong_answer(how: Callable[[list[int]], None]) -> Callable[..., object]:
    """A search whose matching was tampered with."""
    from enginetour.formats.pairing import matching

    search = matching._search

    def tampered(costs: object) -> object:
        found = search(costs)  # type: ignore[arg-type]
        assert found is not None
        mates = list(found[0])
        how(mates)
        return tuple(mates), found[1]

    return tampered


def test_wrong_answers_are_not_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure of the search is our failure, with exit code 1, and no pairing."""

    def exchange(mates: list[int]) -> None:
        a, b = 0, mates[0]
        c = next(vertex for vertex in range(6) if vertex not in (a, b))
        d = mates[c]
        mates[a], mates[c], mates[b], mates[d] = c, a, d, b

    weights = np.array([[abs(i - j) ** 2 for j in range(6)] for i in range(6)])
    monkeypatch.setattr("enginetour.formats.pairing.matching._search", wrong_answer(exchange))
    with pytest.raises(ProofFailed) as failed:
        best_matching(weights)
    assert failed.value.exit_code == 1
