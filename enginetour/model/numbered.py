"""Openings by their place in a suite, whatever stands behind it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import overload

from enginetour.model.game import Opening


class Numbered(Sequence[Opening]):
    """Each is made, read or checked when it is asked for."""

    @abstractmethod
    def _at(self, number: int) -> Opening:
        """That of a place from 0 on, below the length."""

    @overload
    def __getitem__(self, place: int) -> Opening: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Opening]: ...
    def __getitem__(self, place: int | slice) -> Opening | Sequence[Opening]:
        numbers = range(len(self))[place]
        return self._at(numbers) if isinstance(numbers, int) else [self._at(one) for one in numbers]
