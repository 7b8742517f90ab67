"""A moment of a match of two: which games are in, which may be played, how far the test has looked.

Games are numbered from 0 in the order of the schedule, outcomes are half points of the first entrant. The test
looks at units: encounters, or single games. It is a value, as `Docket` is; a step costs the same in long matches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from immutables import Map

from enginetour.model.game import Note, Pairing
from enginetour.ratings.pentanomial import PAIR_CLASSES, class_counts
from enginetour.ratings.sequential import Walk

WINDOW = 256  # open games offered at once, for 128 slots (our choice): a look at them goes through all


@dataclass(frozen=True, slots=True)
class MatchState:
    """`looked` units are complete from the start on, and walked over; games below `reach` have been on offer.

    `legs` games have one opening, `unit` games make one look, `most` games can be played. `counts` are losses, draws,
    wins; `late` are games that came in after a withdrawal. Without a walk `seen` counts the units looked at by their
    outcomes, and `known` is whether their error is as small as was asked for.
    """

    pair: tuple[str, str]
    legs: int
    unit: int
    most: int
    walk: Walk | None = None
    seen: tuple[int, ...] = ()
    known: bool = False
    outcomes: Map[int, int] = field(default_factory=Map)
    counts: tuple[int, int, int] = (0, 0, 0)
    looked: int = 0
    reach: int = 0
    late: frozenset[int] = frozenset()
    gone: tuple[str, ...] = ()
    swap: bool = True
    reverse: bool = False
    notes: tuple[Note, ...] = ()

    @property
    def verdict(self) -> str:
        """H0, H1 or "" while there is none."""
        return self.walk.verdict if self.walk else ""

    @property
    def is_decided(self) -> bool:
        """What was to be found out is."""
        return bool(self.verdict) or self.known

    @property
    def is_over(self) -> bool:
        """Nothing more is offered, whatever has not been played."""
        return bool(self.is_decided or self.gone)

    def noted(self, kind: str, text: str, **fields: object) -> MatchState:
        """The same moment with one decision more on record."""
        return replace(self, notes=(*self.notes, Note(kind, text, tuple(fields.items()))))

    def pairing(self, number: int) -> Pairing:
        """A game as it is offered; the colours alternate unless `swap` is off, `reverse` begins with the second."""
        encounter, leg = divmod(number, self.legs)
        first, second = self.pair
        turned = self.reverse != (self.swap and number % 2 == 1)
        names = (second, first) if turned else (first, second)
        return Pairing(*names, encounter + 1, leg + 1, encounter + 1, encounter + 1)

    def number(self, pairing: Pairing) -> int:
        """Which game it is; ValueError: it was never on offer, or with the other colours."""
        number = (pairing.meeting - 1) * self.legs + pairing.leg - 1
        known = set(pairing.pair) == set(self.pair) and 1 <= pairing.leg <= self.legs and 0 <= number < self.reach
        if not known or self.pairing(number).white != pairing.white:
            which = f"game {pairing.leg} of encounter {pairing.meeting}"
            raise ValueError(f"{pairing.white} - {pairing.black}, {which}, was never on offer")
        return number

    def open(self) -> Iterator[int]:
        """Games on offer, unless the match is over; once shown a game stays."""
        return (n for n in range(self.looked * self.unit, self.reach) if n not in self.outcomes)

    def shown(self) -> MatchState:
        """As many games on offer as the window holds beyond what the test has looked at."""
        return replace(self, reach=max(self.reach, min(self.most, self.looked * self.unit + WINDOW)))

    def with_outcome(self, number: int, half_points: int) -> MatchState:
        """One game more."""
        outcomes = self.outcomes.set(number, half_points)
        return replace(self, outcomes=outcomes, counts=self._counts(half_points, 1))

    def without(self, number: int) -> MatchState:
        """One game less."""
        counts = self._counts(self.outcomes[number], -1)
        return replace(self, outcomes=self.outcomes.delete(number), counts=counts)

    def games_of(self, unit: int) -> range:
        """The numbers of its games."""
        return range(unit * self.unit, (unit + 1) * self.unit)

    def unit_outcome(self, unit: int) -> int | None:
        """Half points of all its games; None while one of them is missing."""
        outcomes = [self.outcomes.get(number) for number in self.games_of(unit)]
        return None if None in outcomes else sum(outcome or 0 for outcome in outcomes)

    def ahead(self) -> list[int]:
        """Outcomes of units that are complete and not looked at: something before them is missing, or it is over."""
        found = (self.unit_outcome(unit) for unit in range(self.looked, self.reach // self.unit))
        return [outcome for outcome in found if outcome is not None]

    def pairs(self) -> tuple[int, ...] | None:
        """All complete pairs on one opening by their half points; None where each opening is played once."""
        if self.legs == 1:
            return None
        if self.walk and self.unit == self.legs:
            known = class_counts(self.ahead(), PAIR_CLASSES)
            return tuple(one + other for one, other in zip(self.walk.counts, known, strict=True))
        couples = ((self.outcomes.get(n), self.outcomes.get(n + 1)) for n in range(0, self.reach, 2))
        whole = [one + other for one, other in couples if one is not None and other is not None]
        return class_counts(whole, PAIR_CLASSES)

    def _counts(self, half_points: int, change: int) -> tuple[int, int, int]:
        losses, draws, wins = (n + change * (place == half_points) for place, n in enumerate(self.counts))
        return losses, draws, wins
