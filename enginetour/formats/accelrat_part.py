"""AccelRat: from the top, everybody meets the nearest it has not met. Undesirability counts in 10^-5.

|rating gap| / 100 + 0.5 for one family + 0.1 for one origin + `mismatch` for two (where origins are hardware).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from enginetour.formats.pairing.current import MILLI
from enginetour.formats.pairing.exact import Bars, Pairs, same_family, same_origin
from enginetour.formats.pairing.field import Field

UNIT = 100 * MILLI  # 100 points are 1 of undesirability (AGA: a stone); ratings come in thousandths


@dataclass(frozen=True, slots=True)
class Undesirability:
    """How far apart two members are. `ratings` in thousandths; the rest in undesirability, as in the settings."""

    field: Field
    ratings: tuple[int, ...]
    family: float
    origin: float
    mismatch: float

    def terms(self, one: int, other: int) -> tuple[tuple[str, int], ...]:
        """Each part by name."""
        differ = bool(self.field.members[one].origin and self.field.members[other].origin) and not same_origin(
            self.field, one, other
        )
        return (
            ("rating gap", abs(self.ratings[one] - self.ratings[other])),
            ("same family", round(UNIT * self.family) * same_family(self.field, one, other)),
            ("same origin", round(UNIT * self.origin) * same_origin(self.field, one, other)),
            ("mismatch", round(UNIT * self.mismatch) * differ),
        )

    def __call__(self, one: int, other: int) -> int:
        """The sum."""
        return sum(value for _, value in self.terms(one, other))


def from_the_top(order: Sequence[int], undesirability: Undesirability, bars: Bars) -> Pairs | None:
    """Pairs in the order they were made, of equals the higher rated; None at a dead end. `order` is best first."""
    left, pairs = list(order), []
    while left:
        highest = left.pop(0)
        free = [other for other in left if bars.allow(undesirability.field, highest, other)]
        if not free:
            return None
        nearest = min(free, key=lambda other: undesirability(highest, other))
        left.remove(nearest)
        pairs.append((highest, nearest))
    return pairs
