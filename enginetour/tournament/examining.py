"""Engines taken through the course of their protocol, one after another, each in a slot process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import cast

from enginetour.model.errors import TaskFailed, TourError
from enginetour.model.task import EngineSpec
from enginetour.referee.compliance.exam import Compliance, ComplianceTask
from enginetour.tournament.places import LocalPlace


def examine_each(
    specs: Iterable[EngineSpec], only: tuple[str, ...] = (), on_step: Callable[[int, int, str], None] | None = None
) -> Iterator[Compliance]:
    """The course of each, as it ends; `only` these steps. One at a time: two would judge each other's times.

    `on_step` is told the number, how many there are and the words of each step as it begins, in another thread, and
    nothing of an engine once its course has come back.
    """

    def heard(_: int, name: str, payload: object) -> None:
        if name == "step" and on_step is not None:
            on_step(*cast("tuple[int, int, str]", payload))

    with LocalPlace(1, heard) as place:
        for spec in specs:
            try:
                yield cast("Compliance", place.submit(ComplianceTask(spec, only)).result())
            except TaskFailed as failure:
                raise TourError(f"{spec.name} cannot be tried: {failure}", step=failure.step) from None
