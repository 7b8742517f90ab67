"""Engines taken through the course of their protocol, one after another, each in a slot process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from enginetour.compliance.verdicts import Compliance, ComplianceTask
from enginetour.errors import MachineFailure, TourError
from enginetour.places import LocalPlace
from enginetour.task import EngineSpec


def examine_each(specs: Iterable[EngineSpec], only: tuple[str, ...] = ()) -> Iterator[Compliance]:
    """The course of each, as it ends; `only` these steps. One at a time: two would judge each other's times."""
    with LocalPlace(1) as place:
        for spec in specs:
            try:
                yield cast("Compliance", place.submit(ComplianceTask(spec, only)).result())
            except MachineFailure as failure:
                step = "see to the machine, then try again"
                raise TourError(f"{spec.name} cannot be tried: {failure}", step=step) from None
