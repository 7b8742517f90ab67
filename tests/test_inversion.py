"""The inverse by halves: as exact as elimination, and elimination where it could not be."""

from __future__ import annotations

import numpy as np
import pytest

from enginetour.ratings.likelihood import WHOLE, inverse_of
from enginetour.ratings.pairs import Vector

SIZE = 2 * WHOLE + 3  # two rounds of halves, the first of them uneven


def laplacian(weights: Vector) -> Vector:
    """The curvature of a pool with a free level, from symmetric weights of pairs."""
    matrix = np.diag(weights.sum(axis=1)) - weights
    return np.asarray(matrix + matrix.trace() / len(matrix) ** 2)


def mesh(size: int) -> Vector:
    """Everybody met everybody, unevenly."""
    weights = np.random.default_rng(size).random((size, size))
    weights = np.triu(weights, 1)
    return laplacian(weights + weights.T)


def chain(size: int, weight: float) -> Vector:
    """Each its neighbours only."""
    return laplacian(weight * (np.eye(size, k=1) + np.eye(size, k=-1)))


@pytest.mark.parametrize("size", [1, WHOLE, WHOLE + 1, SIZE])
def test_mesh_as_by_elimination(size: int) -> None:
    """In a mesh both ways give the same but for rounding."""
    matrix = mesh(size) if size > 1 else np.array([[4.0]])
    eliminated = np.linalg.inv(matrix)
    assert np.abs(inverse_of(matrix) - eliminated).max() <= 1e-13 * np.abs(eliminated).max()


def test_halves_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mesh is never eliminated whole."""
    sizes: list[int] = []
    eliminate = np.linalg.inv

    def noted(matrix: Vector) -> Vector:
        sizes.append(len(matrix))
        return np.asarray(eliminate(matrix))

    monkeypatch.setattr(np.linalg, "inv", noted)
    inverse_of(mesh(SIZE))
    assert max(sizes) <= WHOLE


def test_chain_keeps_its_digits() -> None:
    """Along a chain variances add up: 699 links are 699 times one."""
    inverse = inverse_of(chain(700, 25.0))
    ends = inverse[0, 0] + inverse[-1, -1] - 2 * inverse[0, -1]
    assert ends == pytest.approx(699 / 25, rel=1e-11)


def test_singular() -> None:
    """What has no inverse is refused, large or small."""
    with pytest.raises(np.linalg.LinAlgError):
        inverse_of(np.zeros((SIZE, SIZE)))
    with pytest.raises(np.linalg.LinAlgError):
        inverse_of(np.zeros((2, 2)))
