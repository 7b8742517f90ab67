"""Tests of formats/pairing/matching."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from numpy.typing import NDArray

from enginetour.formats.pairing.blossom import TooWide, allowed_pairs, costs_of, integers
from enginetour.formats.pairing.matching import (
    WIDEST,
    Certificate,
    Face,
    OddSet,
    ProofFailed,
    Shortage,
    Unpairable,
    best_matching,
    check,
    check_shortage,
    relaxed_matching,
    shortage,
)

FOUR = [[0, 3, 1, 1], [3, 0, 1, 1], [1, 1, 0, 0], [1, 1, 0, 0]]
Matrix = NDArray[np.int64]
Mates = tuple[int, ...]


def symmetric(dice: np.random.Generator, size: int, low: int, high: int) -> Matrix:
    upper = np.triu(dice.integers(low, high, (size, size)), 1)
    return upper + upper.T


def test_heaviest() -> None:
    """The heaviest pairs are found, and the diagonal is ignored."""
    found = best_matching(np.array(FOUR) + 9 * np.eye(4, dtype=np.int64))
    assert (found.pairs, found.mates, found.weight) == (((0, 1), (2, 3)), (1, 0, 3, 2), 3)


def test_forbidden_pair() -> None:
    """A forbidden pair is not used."""
    forbidden = np.zeros((4, 4), dtype=bool)
    forbidden[2, 3] = forbidden[3, 2] = True
    assert best_matching(FOUR, forbidden).weight == 2


def test_nobody() -> None:
    """An empty field has an empty matching."""
    assert best_matching([]).pairs == ()


def test_slack_bounds_the_cost_of_a_pair() -> None:
    """Forcing a pair costs at least half of its slack."""
    dice = np.random.default_rng(8)
    weights = symmetric(dice, 8, -50, 50)
    best = best_matching(weights)
    for one in range(8):
        for other in range(one):
            rest = [vertex for vertex in range(8) if vertex not in (one, other)]
            forced = int(weights[one, other]) + best_matching(weights[np.ix_(rest, rest)]).weight
            slack = best.proof.slack(one, other, int(weights[one, other]))
            assert 2 * (best.weight - forced) >= slack >= 0
            assert slack == 0 or best.mates[one] != other


def test_huge_weights() -> None:
    """Weights of hundreds of digits are exact."""
    huge = 10**300
    weights = np.array([[huge * FOUR[i][j] + (i + j == 3) for j in range(4)] for i in range(4)], dtype=object)
    assert best_matching(weights).weight == 3 * huge
    weights[0, 1] = weights[1, 0] = 2 * huge + 1
    assert best_matching(weights).weight == 2 * huge + 2


def test_words_and_integers_agree() -> None:
    """Machine words and Python integers give the same pairs."""
    dice = np.random.default_rng(3)
    weights = symmetric(dice, 30, 0, 9)
    assert best_matching(weights).pairs == best_matching(weights.astype(object) * 2**70).pairs


def test_duals_out_of_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a dual leaves its range, the search is repeated with Python integers."""
    dice = np.random.default_rng(4)
    weights = symmetric(dice, 10, 0, 1 << 49)
    expected = best_matching(weights).weight
    monkeypatch.setattr("enginetour.formats.pairing.blossom._WORD_FAR", 1 << 52)
    tight = costs_of(weights, allowed_pairs(weights, None))
    with pytest.raises(TooWide):
        tight.within(np.array([1 << 48]))
    monkeypatch.setattr("enginetour.formats.pairing.matching.jump_start", lambda costs: (costs.filled(0), [-1] * 10))
    assert best_matching(weights).weight == expected


def test_word_limit_is_the_spread() -> None:
    """The spread of the weights decides the use of machine words."""
    near = integers([[0, 2**60], [2**60, 0]])
    assert costs_of(near, allowed_pairs(near, None)).matrix.dtype == np.int64
    apart = np.full((4, 4), 0)
    apart[0, 1] = apart[1, 0] = 2**50
    assert costs_of(apart, allowed_pairs(apart, None)).matrix.dtype == object
    assert best_matching(apart).weight == 2**50


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        ([[0, 1, 2]], "square"),
        ([[0, 1], [2, 0]], "must be symmetric"),
        ([[0, 0.5], [0.5, 0]], "scale them"),
        (np.array([[0, 0.5], [0.5, 0]], dtype=object), "Python integers"),
    ],
)
def test_not_weights(weights: object, says: str) -> None:
    """Invalid matrices are errors with the reason."""
    with pytest.raises(ValueError, match=says):
        best_matching(weights)  # type: ignore[arg-type]


def test_odd_field_without_bye() -> None:
    """Three entrants cannot be paired."""
    with pytest.raises(Unpairable, match="1 would be left over") as refused:
        best_matching(np.zeros((3, 3), dtype=np.int64))
    assert refused.value.shortage.parts == ((0, 1, 2),)


def met(*rounds: tuple[tuple[int, int], ...], count: int = 4) -> np.ndarray:
    """Return the rounds of the last meetings, from 1."""
    bars = np.zeros((count, count), dtype=np.int64)
    for number, pairs in enumerate(rounds, 1):
        for one, other in pairs:
            bars[one, other] = bars[other, one] = number
    return bars


def test_no_rematch_when_avoidable() -> None:
    """A rematch is not used if it can be avoided, whatever its weight."""
    found = relaxed_matching(np.array(FOUR) * 1000, met(((0, 1), (2, 3))))
    assert found.weight == 2000
    assert (0, 1) not in found.pairs


def test_least_recent_rematches() -> None:
    """If all have met, the least recent rematches are used."""
    bars = met(((0, 2), (1, 3)), ((0, 1), (2, 3)), ((0, 3), (1, 2)))
    found = relaxed_matching(FOUR, bars)
    assert (found.pairs, found.weight) == (((0, 2), (1, 3)), 2)


def test_fewest_rematches_come_first() -> None:
    """One recent rematch is better than two old ones."""
    bars = met(((0, 1), (2, 3), (0, 3), (1, 2)), ((0, 2),))
    assert relaxed_matching(FOUR, bars).pairs == ((0, 2), (1, 3))


def test_relaxing_does_not_allow_the_forbidden() -> None:
    """Forbidden pairs stay forbidden."""
    forbidden = np.zeros((4, 4), dtype=bool)
    forbidden[0, :] = forbidden[:, 0] = True
    with pytest.raises(Unpairable) as refused:
        relaxed_matching(FOUR, met(((1, 2),)), forbidden)
    assert (0,) in refused.value.shortage.parts
    with pytest.raises(ValueError, match="without negative values"):
        relaxed_matching(FOUR, -met(((1, 2),)))


def test_same_weights_same_matching() -> None:
    """The same weights give the same matching with a valid proof."""
    weights = np.ones((20, 20), dtype=np.int64)
    found = best_matching(weights)
    assert found == best_matching(weights.copy())
    assert check(weights, allowed_pairs(weights, None), found.mates, found.proof) == 10


def members(allowed: NDArray[np.bool_], vertices: tuple[int, ...] | None = None) -> Iterator[dict[int, int]]:
    """Return all perfect matchings."""
    left = tuple(range(len(allowed))) if vertices is None else vertices
    if not left:
        yield {}
        return
    for other in left[1:]:
        if allowed[left[0], other]:
            for rest in members(allowed, tuple(v for v in left[1:] if v != other)):
                yield rest | {left[0]: other}


def weight(pairs: dict[int, int], matrix: Matrix) -> int:
    return sum(int(matrix[i, j]) for i, j in pairs.items())


@pytest.mark.parametrize("high", [2, 3, 1000, WIDEST // 5])
def test_the_face_is_all_that_are_best(high: int) -> None:
    """The face has exactly the best matchings by each digit."""
    dice = np.random.default_rng(high)
    for _ in range(40):
        allowed = symmetric(dice, 8, 0, 4) > 0
        digits = [symmetric(dice, 8, -high + 1, high) // 2 for _ in range(4)]
        every = list(members(allowed))
        if not every:
            with pytest.raises(Unpairable):
                Face.of(allowed)
            continue
        face = Face.of(allowed).best(digits)
        most = max([weight(pairs, digit) for digit in digits] for pairs in every)
        best = [pairs for pairs in every if [weight(pairs, digit) for digit in digits] == most]
        left = list(members(face.allowed))
        filled = max(weight(pairs, face.inside) for pairs in left)
        assert [pairs for pairs in left if weight(pairs, face.inside) == filled] == best
        assert {i: j for i, j in enumerate(face.mates) if i < j} in best


def test_odd_sets_stay_filled() -> None:
    """Full odd sets stay full for later digits."""
    dear = np.kron(np.eye(2, dtype=np.int64), np.full((3, 3), 10, dtype=np.int64))
    across = 100 * np.kron(np.array([[0, 1], [1, 0]]), np.eye(3, dtype=np.int64))
    across[2, 5] = across[5, 2] = 200
    face = Face.of(~np.eye(6, dtype=bool)).best([dear])
    assert face.inside[0, 1] + face.inside[3, 5] > 0 and face.inside[0, 3] == 0  # one of them is filled by force
    assert face.allowed[0, 3] and face.allowed[1, 4]
    assert face.best([across]).mates == (1, 0, 5, 4, 3, 2)


def test_restrictions_keep_the_member_at_hand() -> None:
    """Restrictions must keep the current matching."""
    face = Face.of(~np.eye(6, dtype=bool))
    one, other = 0, face.mates[0]
    with pytest.raises(ValueError, match="not allowed"):
        face.within(np.arange(6)[:, None] + np.arange(6) != one + other)
    rest = [vertex for vertex in range(6) if vertex not in (one, other)]
    part = face.part(rest, face.mates)
    assert [rest[mate] for mate in part.mates] == [face.mates[vertex] for vertex in rest]


def test_a_digit_too_wide_is_refused() -> None:
    """A digit with too large sums is an error."""
    wide = np.zeros((4, 4), dtype=np.int64)
    wide[0, 1] = wide[1, 0] = WIDEST
    with pytest.raises(ValueError, match="split"):
        Face.of(~np.eye(4, dtype=bool)).best([wide])


# two triangles of heavy pairs with one light pair between: only odd sets prove it
APART = np.array([[0 if i == j else 10 if i // 3 == j // 3 else 1 + i * j % 3 for j in range(6)] for i in range(6)])
ALLOWED = allowed_pairs(APART, None)
FOUND = best_matching(APART)


def holds(mates: tuple[int, ...], proof: Certificate) -> bool:
    """Return whether the check accepts a proof."""
    try:
        check(APART, ALLOWED, mates, proof)
    except ProofFailed:
        return False
    return True


def test_odd_sets_are_needed() -> None:
    """The example needs odd sets for its proof."""
    assert FOUND.proof.sets
    assert holds(FOUND.mates, FOUND.proof)
    assert not holds(FOUND.mates, replace(FOUND.proof, sets=()))


@pytest.mark.parametrize("step", [-2, -1, 1, 2])
@pytest.mark.parametrize("vertex", range(6))
def test_changed_dual(vertex: int, step: int) -> None:
    """Changing any y makes the proof invalid."""
    y = list(FOUND.proof.y)
    y[vertex] += step
    assert not holds(FOUND.mates, replace(FOUND.proof, y=tuple(y)))


@pytest.mark.parametrize("step", [-1, 1, -100])
def test_changed_set(step: int) -> None:
    """Changing any z makes the proof invalid."""
    first, *rest = FOUND.proof.sets
    assert not holds(FOUND.mates, replace(FOUND.proof, sets=(replace(first, z=first.z + step), *rest)))


def test_negative_z_with_a_fitting_bound() -> None:
    """A negative z is invalid, also if the bound fits."""
    inside = FOUND.proof.sets[0].vertices
    wrong = (*FOUND.proof.sets, OddSet(inside, -1), OddSet(inside, 1))
    assert not holds(FOUND.mates, replace(FOUND.proof, sets=wrong))


@pytest.mark.parametrize("inside", [(0, 1), (0, 0, 1), (0, 1, 9), ()])
def test_no_odd_set(inside: tuple[int, ...]) -> None:
    """Even sets, repeated and unknown vertices are invalid."""
    assert not holds(FOUND.mates, replace(FOUND.proof, sets=(*FOUND.proof.sets, OddSet(inside, 0))))


def test_every_other_matching() -> None:
    """Other matchings than the unique optimum are rejected."""
    dice = np.random.default_rng(5)
    weights = symmetric(dice, 10, 0, 2**40)
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
    """Incomplete and inconsistent matchings are rejected."""
    assert not holds(mates, FOUND.proof)


def test_forbidden_pair_in_the_matching() -> None:
    """A matching with a forbidden pair is rejected."""
    one, other = FOUND.pairs[0]
    allowed = ALLOWED.copy()
    allowed[one, other] = allowed[other, one] = False
    with pytest.raises(ProofFailed, match="allowed pairs"):
        check(APART, allowed, FOUND.mates, FOUND.proof)


def test_slack_of_every_pair_counts() -> None:
    """A too heavy unmatched pair is found in each strip of rows."""
    weights = np.zeros((300, 300), dtype=np.int64)
    found = best_matching(weights)
    for one, other in ((0, 299), (130, 132), (298, 1), (200, 100)):
        assert found.mates[one] != other
        heavier = weights.copy()
        heavier[one, other] = heavier[other, one] = 1
        with pytest.raises(ProofFailed, match="slack -2"):
            check(heavier, allowed_pairs(heavier, None), found.mates, found.proof)


def test_duals_beyond_a_word() -> None:
    """Duals too large for a machine word are compared exactly."""
    weights = np.zeros((2, 2), dtype=np.int64)
    allowed = allowed_pairs(weights, None)
    with pytest.raises(ProofFailed):
        check(weights, allowed, (1, 0), Certificate((2**64 + 1, -(2**64)), ()))
    assert check(weights, allowed, (1, 0), Certificate((2**64, -(2**64)), ())) == 0


def wrong_answer(how: Callable[[list[int]], None]) -> Callable[..., object]:
    """Return a search whose matching was changed."""
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
    """A wrong matching is an internal error with exit code 1."""

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


def allowed(count: int, *pairs: tuple[int, int]) -> np.ndarray:
    """Return the matrix of these allowed pairs."""
    out = np.zeros((count, count), dtype=bool)
    for one, other in pairs:
        out[one, other] = out[other, one] = True
    return out


STAR = allowed(4, (0, 1), (0, 2), (0, 3))


def test_star() -> None:
    """Three vertices with one common opponent leave two over."""
    found = shortage(STAR)
    assert found == Shortage((0,), ((1,), (2,), (3,)))
    assert found.left_over == 2


def test_message() -> None:
    """The error names the entrants, the number of groups and the next step."""
    with pytest.raises(Unpairable) as refused:
        best_matching(np.zeros((4, 4), dtype=np.int64), ~STAR)
    line = "not all entrants can be paired: 2 would be left over, because entrants 2, 3, 4 form 3 groups of odd size"
    assert (refused.value.what, refused.value.step) == (
        f"{line} with too few opponents outside (1)",
        "allow more pairs",
    )
    assert refused.value.exit_code == 3


def test_two_triangles() -> None:
    """Two triangles have no perfect matching, although a fractional one exists."""
    pairs = ((0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3))
    assert shortage(allowed(6, *pairs)) == Shortage((), ((0, 1, 2), (3, 4, 5)))


def test_perfect() -> None:
    """A ring of six has a perfect matching."""
    assert shortage(allowed(6, *((i, (i + 1) % 6) for i in range(6)))) is None


def test_as_many_as_networkx() -> None:
    """The number left over is that of a largest matching of networkx."""
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
    """Invalid barriers and parts are rejected."""
    with pytest.raises(ProofFailed):
        check_shortage(STAR, wrong, 2)
