"""How many openings the games before one have taken: by the numbers of its pairing and the policy alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from enginetour.model.game import Pairing

Per = Literal["pairing", "round", "encounter"]


@dataclass(frozen=True, slots=True)
class Dealing:
    """`size` openings, a fresh one for each `repeat` games of what `per` counts, whose encounters have `legs` games."""

    per: Per
    legs: int
    repeat: int
    size: int

    def turn(self, pairing: Pairing) -> int:
        """How many openings the games before this one have taken, by the policy's count."""
        counts = {"pairing": pairing.meeting, "round": pairing.round, "encounter": pairing.encounter}
        leg = min(pairing.leg, self.legs)  # a level match of single games is decided by pairs of them
        return ((counts[self.per] - 1) * self.legs + leg - 1) // self.repeat

    def uses(self, pairing: Pairing) -> int:
        """How often the suite had been used up before this game; above 0 openings come again."""
        return self.turn(pairing) // self.size

    def used_up(self, pairings: Iterable[Pairing]) -> str:
        """A sentence where openings came again, as they do once a suite is used up; else an empty text."""
        passes = max(map(self.uses, pairings), default=0)
        again = "once" if passes == 1 else f"{passes} times"
        return f"the {self.size} of the suite were used up {again} and came again" if passes else ""


def dealing_of(config: Mapping[str, Any]) -> Dealing | None:
    """That of a stored tournament; None for one that was stored before dealings were."""
    stored = config.get("dealing")
    return Dealing(**stored) if stored else None
