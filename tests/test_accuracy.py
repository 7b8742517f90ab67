"""How near a simulated tournament came to the truth."""

from __future__ import annotations

import pytest

from enginetour.formats.simulation import Course, Population, World, accuracy, estimate, tau
from enginetour.model.game import Entrant, Outcome, Pairing, Placed

TRUTH = {"A": 300.0, "B": 100.0, "C": 0.0}
THREE = Population(tuple(map(Entrant, "ABC")), TRUTH, World(white=0.0), "x")
GAMES = (
    (Pairing("A", "B"), Outcome.WHITE),
    (Pairing("C", "B"), Outcome.WHITE),
    (Pairing("A", "C"), Outcome.DRAW),
)


def course(*ranks: int | None) -> Course:
    table = tuple(Placed(rank, name, 0, 2) for name, rank in zip("ABC", ranks, strict=True))
    return Course(GAMES, table, (3, 3))


@pytest.mark.parametrize(
    ("ranks", "expected", "best"),
    [
        ((1, 2, 3), 1.0, 1.0),
        ((3, 2, 1), -1.0, 0.0),
        ((1, 3, 2), 1 / 3, 1.0),
        ((1, 1, 3), 2 / 3, 0.5),
        ((2, 1, None), 1 / 3, 0.0),
    ],
)
def test_tables_against_the_truth(ranks: tuple[int | None, ...], expected: float, best: float) -> None:
    """Kendall's tau by hand; shared places are in no order and share the chance of being the best."""
    found = accuracy(course(*ranks), THREE)
    assert found.tau_table == pytest.approx(expected)
    assert found.best_table == best


def test_the_fit_looks_at_games_alone() -> None:
    """A beat B, C beat B, A drew C: A and C level, B behind, whatever the table says."""
    found = accuracy(course(1, 2, 3), THREE)
    assert found.tau_fit == pytest.approx(tau({"A": 1.0, "B": 0.0, "C": 1.0}, TRUTH)) == 0
    assert found.games == 3
    assert found.gap == pytest.approx(((200**2 + 100**2 + 300**2) / 3) ** 0.5)


def test_standard_errors() -> None:
    """Of 1, 2, 3: mean 2, deviation 1, error 1/sqrt 3; one figure has none."""
    assert estimate([1.0, 2.0, 3.0]).error == pytest.approx(3**-0.5)
    assert (estimate([5.0]).mean, estimate([5.0]).error) == (5.0, 0.0)
