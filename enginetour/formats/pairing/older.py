"""The older Gotha function, as its documentation of about 2005 has it; weights are millionths of its points.

name              points at most                       wants
not met           1 000 000                            two who have not met
random            w, default 0                         a draw among equals
colours           100                                  more Whites against more Blacks
score             50 000 (20-D)/20                     near scores; D points apart, at most 20
small gaps        25 000 D (20-D)/400                  rather n gaps of 1 than one of n
seeding           100, equal scores only               fold, slip or split-random
position          100, else                            last of the upper group against first of the lower
compensation      100 F, F from 1/2 to 1               floats that undo earlier ones
handicap          200 000 (40-h)/40                    few stones; h before the ceiling, at most 40
small handicaps   100 000 h (40-h)/1600                rather n times 1 stone than once n
origin, family    2 000; 20 000                        strangers

D is the difference of the scores in points (wins), h the handicap before the ceiling. Colors are those of even games
so far, whatever the handicap of the pair. The last four are secondary: two exempt entrants get the maximum of each, a
pair with one exempt entrant the mean of that and the computed value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from enginetour.formats.pairing.chance import Chance
from enginetour.formats.pairing.field import Field
from enginetour.formats.pairing.kinship import codes, families
from enginetour.formats.pairing.lineup import Flags, Ints, Lineup
from enginetour.formats.pairing.present import Criterion, stones

Floats = NDArray[np.float64]
OlderSeeding = Literal["fold", "slip", "split-random"]
SOURCE = "Gotha documentation, about 2005"
MILLION = 10**6  # weights in millionths, so that fractions of a point still tell pairs apart
FARTHEST = 20  # points beyond which a difference of scores does not grow
MOST_STONES = 40  # beyond which a handicap does not grow
SEEDING = 100  # points
TENTH = 0.1  # split-random: the share of its points that chance moves


@dataclass(frozen=True, slots=True, eq=False)
class Older:
    """The function for one lineup in groups of half steps.

    `strength` in bands and the `correction` give the handicap, which is 0 without a correction; `exempt` by number.
    """

    field: Field
    lineup: Lineup
    met: Flags
    chance: Chance
    exempt: Flags
    strength: Ints | None = None
    correction: int | None = None
    seeding: OlderSeeding = "split-random"
    random: int = 0

    def criteria(self) -> tuple[Criterion, ...]:
        """All of them, in the order of the table."""
        family, member = families(self.field, self.lineup), self.lineup.member
        origin = codes([self.field.members[at].origin for at in member.tolist()])
        drawn = Criterion(
            "random",
            self.random * MILLION,
            SOURCE,
            lambda a, b: self.chance(member[a], member[b], self.random) * MILLION,
        )
        return (
            _points("not met", 1_000_000, lambda a, b: np.where(self.met[a, b], 0.0, 1_000_000.0)),
            *((drawn,) if self.random else ()),
            _points("colours", 100, self._colours),
            _points("score", 50_000, lambda a, b: 50_000 * (FARTHEST - self._gap(a, b)) / FARTHEST),
            _points("small gaps", 6_250, lambda a, b: _parabola(25_000, self._gap(a, b), FARTHEST)),
            _points("seeding", SEEDING, self._seeding),
            _points("position", 100, lambda a, b: np.where(self._gap(a, b) > 0, 100 * self._position(a, b), 0.0)),
            _points("compensation", 100, self._compensation),
            self._secondary("handicap", 200_000, lambda a, b: 200_000 * (MOST_STONES - self._h(a, b)) / MOST_STONES),
            self._secondary("small handicaps", 25_000, lambda a, b: _parabola(100_000, self._h(a, b), MOST_STONES)),
            self._secondary("origin", 2_000, lambda a, b: np.where(origin[a] != origin[b], 2_000.0, 0.0)),
            self._secondary("family", 20_000, lambda a, b: np.where(family[a] != family[b], 20_000.0, 0.0)),
        )

    def _gap(self, one: Ints, other: Ints) -> Floats:
        group = self.lineup.group
        gap: Floats = np.minimum(abs(group[one] - group[other]) / self.lineup.span.step, FARTHEST)
        return gap

    def _h(self, one: Ints, other: Ints) -> Ints:
        if self.strength is None or self.correction is None:
            return np.zeros(np.broadcast_shapes(one.shape, other.shape), dtype=np.int64)
        return stones(self.strength, self.correction, MOST_STONES)(one, other)

    def _colours(self, one: Ints, other: Ints) -> Floats:
        return np.where(self.lineup.balance[one] * self.lineup.balance[other] < 0, 100.0, 0.0)

    def _seeding(self, one: Ints, other: Ints) -> Floats:
        p, q, n = self.lineup.place[one], self.lineup.place[other], self.lineup.size[one]
        if self.seeding == "split-random":
            across = (2 * p < n) != (2 * q < n)
            fine = 10**6  # steps of chance inside its tenth
            drawn = self.chance(self.lineup.member[one], self.lineup.member[other], fine) / fine * TENTH
            share = np.where(across, 1 - TENTH + drawn, drawn)
        else:
            last = np.maximum(n - 1, 1)
            off = p + q - n + 1 if self.seeding == "fold" else 2 * abs(p - q) - n
            share = 1 - (off / last) ** 2
        return np.where(self._gap(one, other) == 0, SEEDING * share, 0.0)

    def _position(self, one: Ints, other: Ints) -> Floats:
        """How near the two are to each other in their groups, up to 1."""
        place, size = self.lineup.place, self.lineup.size
        first = self.lineup.group[one] < self.lineup.group[other]
        upper, lower = np.where(first, one, other), np.where(first, other, one)
        share: Floats = (place[lower] + 1) * (size[upper] - place[upper]) / (size[upper] * size[lower])
        return share

    def _compensation(self, one: Ints, other: Ints) -> Floats:
        """Our decision: only the range of F and its direction are published."""
        group = self.lineup.group
        owed_up, owed_down = self.lineup.down > self.lineup.up, self.lineup.up > self.lineup.down
        betters = np.where(group[one] < group[other], owed_down[one] | owed_up[other], owed_down[other] | owed_up[one])
        worth = 100 * (0.5 + 0.5 * self._position(one, other))
        return np.where(betters & (self._gap(one, other) > 0), worth, 0.0)

    def _secondary(self, name: str, most: int, points: Callable[[Ints, Ints], Floats]) -> Criterion:
        """As computed, as the best possible for two exempt, the mean of both for one."""

        def softened(one: Ints, other: Ints) -> Floats:
            share = (self.exempt[one].astype(np.float64) + self.exempt[other]) / 2
            return (1 - share) * points(one, other) + share * most

        return _points(name, most, softened)


def _parabola(most: int, steps: Floats | Ints, farthest: int) -> Floats:
    worth: Floats = most * steps * (farthest - steps) / farthest**2
    return worth


def _points(name: str, most: int, points: Callable[[Ints, Ints], Floats]) -> Criterion:
    """A criterion in points, in millionths; each is rounded by itself, so that they add up to the weight."""
    return Criterion(name, most * MILLION, SOURCE, lambda a, b: np.rint(points(a, b) * MILLION).astype(np.int64))
