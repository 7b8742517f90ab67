"""The machine a tournament is played on: its speed, once measured, holds for it and is kept with the tournament."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from enginetour.engines import pace
from enginetour.engines.machine import processor

SpeedWish = Literal["measure"] | float | None  # as play.speed: to be measured, a number of the user's own, none


@dataclass(frozen=True, slots=True)
class Machine:
    """Where games are played; `speed` is against the reference of `pace`, None where clocks do not go by it."""

    host: str
    processor: str
    speed: float | None = None

    def to_json(self) -> dict[str, Any]:
        """As it is stored with the configuration."""
        return asdict(self)

    @property
    def words(self) -> str:
        """``speed 1.04 of HOST (PROCESSOR): times are multiplied by 0.962``."""
        assert self.speed is not None
        return f"speed {self.speed:g} of {self.host} ({self.processor}): times are multiplied by {1 / self.speed:.3f}"


def here(wish: SpeedWish, stored: Mapping[str, Any] | None = None) -> Machine:
    """This machine at the speed asked for; one that was measured here before is not measured again."""
    host, model = platform.node(), processor()
    if wish != "measure":
        return Machine(host, model, wish)
    known = stored or {}
    if (known.get("host"), known.get("processor")) == (host, model) and known.get("speed"):
        return Machine(host, model, float(known["speed"]))
    return Machine(host, model, pace.speed())
