"""A report told "-0" and changed the order of equal engines from one kind of processor to the next."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from enginetour.model.game import Outcome, fixed
from enginetour.reports.html.page import rounded
from enginetour.reports.review.engines import opponents_of


@pytest.mark.parametrize("noise", [1e-13, -1e-13])
def test_equal_ratings_stand_by_name_and_none_is_minus_nothing(noise: float) -> None:
    """Which of two equal engines a fit leaves a hair above the other, and above 0, is up to the processor."""
    games: list[Any] = [
        SimpleNamespace(white="Rybka", black=black, number=number, outcome=Outcome.DRAW, counts=True)
        for number, black in enumerate(("Toga", "Fruit"), 1)
    ]
    met = opponents_of(games, {"Fruit": noise, "Toga": -noise})["Rybka"]
    assert [one.name for one in met] == ["Fruit", "Toga"]
    assert [rounded(one.rating) for one in met] == ["0", "0"]


@pytest.mark.parametrize(
    ("value", "digits", "signed", "told"),
    [
        (-1e-13, 0, False, "0"),
        (-0.04, 1, True, "+0.0"),
        (-0.06, 1, True, "-0.1"),
        (12.0, 1, False, "12.0"),
        (-0.0, 2, False, "0.00"),
    ],
)
def test_a_figure_is_never_minus_nothing(value: float, digits: int, signed: bool, told: str) -> None:
    """Rounded first, then told."""
    assert fixed(value, digits, signed=signed) == told
