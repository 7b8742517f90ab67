"""Lexicographic matchings in stages, against all perfect matchings there are."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from enginetour.formats.pairing.matching import WIDEST, Face, Unpairable

Matrix = NDArray[np.int64]
Mates = tuple[int, ...]


def symmetric(dice: np.random.Generator, size: int, low: int, high: int) -> Matrix:
    upper = np.triu(dice.integers(low, high, (size, size)), 1)
    return upper + upper.T


def members(allowed: NDArray[np.bool_], vertices: tuple[int, ...] | None = None) -> Iterator[dict[int, int]]:
    """All perfect matchings."""
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
    """By one digit after another, few or many in a machine word: no best matching is lost and no other one is left."""
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
    """Two triangles that are dear inside keep a pair each, however much the next digit likes three pairs across."""
    dear = np.kron(np.eye(2, dtype=np.int64), np.full((3, 3), 10, dtype=np.int64))
    across = 100 * np.kron(np.array([[0, 1], [1, 0]]), np.eye(3, dtype=np.int64))
    across[2, 5] = across[5, 2] = 200
    face = Face.of(~np.eye(6, dtype=bool)).best([dear])
    assert face.inside[0, 1] + face.inside[3, 5] > 0 and face.inside[0, 3] == 0  # one of them is filled by force
    assert face.allowed[0, 3] and face.allowed[1, 4]
    assert face.best([across]).mates == (1, 0, 5, 4, 3, 2)


def test_restrictions_keep_the_member_at_hand() -> None:
    """Pairs may be struck out unless the matching at hand uses them; what is decided may be left out."""
    face = Face.of(~np.eye(6, dtype=bool))
    one, other = 0, face.mates[0]
    with pytest.raises(ValueError, match="outside"):
        face.within(np.arange(6)[:, None] + np.arange(6) != one + other)
    rest = [vertex for vertex in range(6) if vertex not in (one, other)]
    part = face.part(rest, face.mates)
    assert [rest[mate] for mate in part.mates] == [face.mates[vertex] for vertex in rest]


def test_a_digit_too_wide_is_refused() -> None:
    """It says how far its sums reach."""
    wide = np.zeros((4, 4), dtype=np.int64)
    wide[0, 1] = wide[1, 0] = WIDEST
    with pytest.raises(ValueError, match="split"):
        Face.of(~np.eye(4, dtype=bool)).best([wide])
