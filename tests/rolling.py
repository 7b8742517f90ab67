"""Outcomes by dice, drawn many at a time: one draw of numpy costs more than the step of a test it is for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

BLOCK = 256


def rolled(dice: np.random.Generator, chances: Sequence[float]) -> Iterator[int]:
    """Classes of outcome by their chances, without end."""
    while True:
        yield from dice.choice(len(chances), size=BLOCK, p=chances).tolist()
