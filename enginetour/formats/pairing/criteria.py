"""Pairing criteria of Gotha, current and older (about 2005), as weights; families and origins.

Arrays have one value for each present member, in entry order. Group 0 is the top group. Sizes and places include the
member with the bye.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from enginetour.formats.pairing.field import Dice, Field

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Span:
    """Rule for the division of scores into groups.

    `step` is the number of groups per win: 1 for groups of whole wins, 2 if half wins form separate groups. `highest`
    is the score of group 0 in steps. `groups` is the number of groups in each category, including empty ones.
    """

    highest: int
    groups: int
    step: int = 1
    categories: int = 1

    @property
    def all_groups(self) -> int:
        """Return the number of groups of all categories together."""
        return self.groups * self.categories


@dataclass(frozen=True, slots=True, eq=False)
class Lineup:
    """Data of the present members that the criteria use."""

    member: Ints  # place in the entry order
    category: Ints
    group: Ints
    size: Ints  # size of the member's group
    place: Ints  # place in the group; 0 is the best
    up: Ints  # number of floats up
    down: Ints  # number of floats down
    balance: Ints  # games with White minus games with Black, without handicap games
    span: Span

    def __len__(self) -> int:
        return len(self.member)

    def renumbered(self, out: Flags) -> Lineup:
        """Return the lineup with places counted among the members that are not `out`. Source: Vuorinen 2010.

        The members that are `out` keep their sizes and places.
        """
        there = np.flatnonzero(~out)
        there = there[np.lexsort((self.place[there], self.group[there]))]
        group = self.group[there]
        first = np.searchsorted(group, group)
        size, place = self.size.copy(), self.place.copy()
        size[there] = np.searchsorted(group, group, side="right") - first
        place[there] = np.arange(len(there)) - first
        return replace(self, size=size, place=place)


def lineup_of(
    field: Field,
    points: Sequence[Sequence[int]],
    span: Span,
    order: Sequence[int],
    *,
    categories: Sequence[int] = (),
    recent: int | None = None,
) -> Lineup:
    """Return the lineup of a field.

    `points` has the scores before each round and now, in the form of `Field.points`. `order` has all present members,
    best first. `categories` has the category of each place in the entry order. Floats count in the last `recent`
    rounds, or in all rounds if it is None.
    """
    there = list(field.present)
    member = np.array(there, dtype=np.int64)
    steps = [[value * span.step // field.win for value in row] for row in points]
    kind = [categories[at] if categories else 0 for at in there]
    group = [span.groups * cat + span.highest - steps[-1][at] for at, cat in zip(there, kind, strict=True)]
    of = dict(zip(there, group, strict=True))
    counted: dict[int, int] = {}
    places: dict[int, int] = {}
    for at in order:
        places[at] = counted.get(of[at], 0)
        counted[of[at]] = places[at] + 1
    up, down = _floats(field, steps, recent)
    return Lineup(
        member,
        np.array(kind, dtype=np.int64),
        np.array(group, dtype=np.int64),
        np.array([counted[value] for value in group], dtype=np.int64),
        np.array([places[at] for at in there], dtype=np.int64),
        up[member],
        down[member],
        np.array([field.balance(at) for at in there], dtype=np.int64),
        span,
    )


def _floats(field: Field, steps: list[list[int]], recent: int | None) -> tuple[Ints, Ints]:
    """Return for each member the number of rounds against a higher score, and the number against a lower score."""
    up = np.zeros(len(field.members), dtype=np.int64)
    down = np.zeros(len(field.members), dtype=np.int64)
    first = 0 if recent is None else max(0, len(field.history) - recent)
    for number, row in list(enumerate(field.history))[first:]:
        before = steps[number]
        for member, turn in enumerate(row):
            if turn.opponent is not None:
                up[member] += before[turn.opponent] > before[member]
                down[member] += before[turn.opponent] < before[member]
    return up, down


PairRandom = Callable[[Ints, Ints, int], Ints]
"""(places in the entry order, places, top) -> a number from 0 to `top` (inclusive) for each pair."""

_WIDE = 1 << 63
# constants of SplitMix: Steele, Lea, Flood 2014
_GAMMA, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_RECORDED_FACTOR = 1_234_567  # OpenGotha 3.51, as its recorded tournaments show


def random_by_seed(dice: Dice, members: int) -> PairRandom:
    """Return a function for random numbers; it mixes a number from the dice with the pair. `top` is below 2**32."""
    key = np.uint64(dice.below(_WIDE))

    def number(one: Ints, other: Ints, top: int) -> Ints:
        pair = np.minimum(one, other) * np.int64(members) + np.maximum(one, other) + 1
        mixed = pair.astype(np.uint64) * np.uint64(_GAMMA) + key
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(_FIRST)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(_SECOND)
        mixed ^= mixed >> np.uint64(31)
        return (((mixed >> np.uint64(32)) * np.uint64(top + 1)) >> np.uint64(32)).astype(np.int64)

    return number


def random_by_names(names: Sequence[str]) -> PairRandom:
    """Return a function for OpenGotha's random numbers, which depend only on the two names.

    With it, results can be compared with those of OpenGotha.
    """
    plain = np.array([sum(map(ord, name)) for name in names], dtype=np.int64)
    risen = np.array([sum(ord(c) * at for at, c in enumerate(name, 1)) for name in names], dtype=np.int64)
    length = np.array([len(name) for name in names], dtype=np.int64)
    ranks = {name: at for at, name in enumerate(sorted(set(names)))}
    rank = np.array([ranks[name] for name in names], dtype=np.int64)

    def number(one: Ints, other: Ints, top: int) -> Ints:
        first, second = np.minimum(one, other), np.maximum(one, other)
        ordered = rank[first] <= rank[second]
        small, large = np.where(ordered, first, second), np.where(ordered, second, first)
        total = risen[small] + risen[large] + length[small] * plain[large]
        value = total * _RECORDED_FACTOR % (top + 1)
        return np.where(ordered, value, top - value)

    return number


PROGRAM = "OpenGotha 3.51"  # the formulas agree with its recorded tournaments
_STRIP = 128  # rows computed at once, so that their data fits into the processor's cache
Value = Callable[[Ints, Ints], Ints]
"""(indexes in the lineup, indexes) -> the value of each pair; the function is symmetric and broadcasts the arrays."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """A criterion for pairs; `most` is its largest value, in weight units."""

    name: str
    most: int
    source: str
    value: Value


def curve(most: int, share: float) -> int:
    """Return a value that falls from `most` for share 0 to 0 for share 1, slowly at first. Source: OpenGotha 3.51."""
    return int(most * (1 - share) * (1 + 0.5 * share))


def weigh(criteria: Sequence[Criterion], count: int) -> Ints:
    """Return the weights of all pairs of a lineup of `count` as a symmetric matrix; its diagonal has no meaning."""
    weights = np.zeros((count, count), dtype=np.int64)
    numbers = np.arange(count, dtype=np.int64)
    for first in range(0, count, _STRIP):
        rows, columns = numbers[first : first + _STRIP, None], numbers[None, first:]
        strip = weights[first : first + _STRIP, first:]
        for criterion in criteria:
            strip += criterion.value(rows, columns)
        weights[first + _STRIP :, first : first + _STRIP] = strip[:, _STRIP:].T
    return weights


def base() -> Criterion:
    """Return the criterion that gives each pair a positive weight."""
    return Criterion("base", 1, PROGRAM, lambda one, other: np.ones(np.broadcast_shapes(one.shape, other.shape), int))


def not_met(met: Flags) -> Criterion:
    """Return the criterion for pairs that have not met; `met` is a symmetric matrix over the lineup."""
    most = 5 * 10**14
    return Criterion("not met", most, PROGRAM, lambda one, other: np.where(met[one, other], 0, most))


def random(lineup: Lineup, chance: PairRandom, most: int) -> Criterion:
    """Return the criterion that adds a random number from 0 to `most`."""
    member = lineup.member
    return Criterion("random", most, "enginetour", lambda one, other: chance(member[one], member[other], most))


def colors(lineup: Lineup, stones: Value | None, most: int = 10**6) -> Criterion:
    """Return the criterion for color balances of opposite signs; a balance of 0 against 2 or more counts half.

    With a handicap, the weaker entrant has Black, so colors do not count.
    """
    balance = lineup.balance

    def value(one: Ints, other: Ints) -> Ints:
        a, b = balance[one], balance[other]
        worth = np.where(a * b < 0, most, 0) + np.where((a * b == 0) & (abs(a + b) >= 2), most // 2, 0)
        return worth if stones is None else np.where(stones(one, other) == 0, worth, 0)

    return Criterion("colours", most, PROGRAM, value)


def category(lineup: Lineup, most: int = 2 * 10**13) -> Criterion:
    """Return the criterion for near categories; its value falls with their distance, as given by `curve`."""
    kinds = lineup.span.categories
    by_gap = np.array([curve(most, gap / kinds) for gap in range(kinds)], dtype=np.int64)
    of = lineup.category
    return Criterion("category", most, PROGRAM, lambda one, other: by_gap[abs(of[one] - of[other])])


def score(lineup: Lineup, most: int = 10**11) -> Criterion:
    """Return the criterion for near groups of the same category; its value falls with their distance, as in `curve`."""
    groups = lineup.span.all_groups
    reach = max(groups, int(np.ptp(lineup.group)) + 1 if len(lineup) else 1)
    by_gap = np.array([curve(most, gap / groups) for gap in range(reach)], dtype=np.int64)
    group, kind = lineup.group, lineup.category

    def value(one: Ints, other: Ints) -> Ints:
        worth: Ints = by_gap[abs(group[one] - group[other])]
        return worth if lineup.span.categories == 1 else np.where(kind[one] == kind[other], worth, 0)

    return Criterion("score", most, PROGRAM, value)


def handicap(strength: Ints, span: int, most: int = 2 * 10**13) -> Criterion:
    """Return the criterion for similar `strength`; its value falls to 0 over `span` bands, as given by `curve`."""
    reach = int(np.ptp(strength)) + 1 if len(strength) else 1
    by_gap = np.array([curve(most, gap / span) for gap in range(reach)], dtype=np.int64)
    return Criterion("handicap", most, PROGRAM, lambda one, other: by_gap[abs(strength[one] - strength[other])])


def stones(strength: Ints, correction: int, ceiling: int) -> Value:
    """Return the handicap of a pair in bands: the difference minus `correction`, at most `ceiling`."""
    return lambda one, other: np.clip(abs(strength[one] - strength[other]) - correction, 0, ceiling)


_UPPERMOST = 10**11  # OpenGotha 3.51: largest value of the criterion if it does not weigh more than the score
# relations of two entrants: different families, families of the same declared group, the same family
_STRANGERS, _ALLIED, _SAME = 0, 1, 2


def _name_numbers(field: Field, lineup: Lineup, key: Literal["family", "origin"]) -> Ints:
    """Return one number for each family or origin, ignoring case; an empty name differs from all others."""
    known: dict[str, int] = {}
    words = [str(getattr(field.members[at], key)).strip().casefold() for at in lineup.member.tolist()]
    numbers = [known.setdefault(word, len(known)) if word else -1 - at for at, word in enumerate(words)]
    return np.array(numbers, dtype=np.int64)


def same_family(field: Field, lineup: Lineup) -> Flags:
    """Return a matrix over the lineup that is true for pairs of the same family."""
    family = _name_numbers(field, lineup, "family")
    return np.equal(family[:, None], family)


def kinship(
    field: Field,
    lineup: Lineup,
    most: int,
    *,
    family_worth: float = 3.0,
    origin_worth: float = 1.0,
    groups: Sequence[Sequence[str]] = (),
) -> Criterion:
    """Return the criterion for different families and origins.

    A different origin compensates for `origin_worth` groups of score difference, a different family for `family_worth`
    groups. Different families of the same declared group in `groups` count half. The value can be negative if `most` is
    above the weight of the score, as in Swiss by category.
    """
    family, origin = _name_numbers(field, lineup, "family"), _name_numbers(field, lineup, "origin")
    declared = {name.strip().casefold(): number for number, names in enumerate(groups) for name in names}
    names = [field.members[at].family.strip().casefold() for at in lineup.member.tolist()]
    alliance = np.array([declared.get(name, -1 - at) for at, name in enumerate(names)], dtype=np.int64)
    count = lineup.span.all_groups
    # OpenGotha 3.51: a different family counts 6/5 of its value, but one half inside the same declared group
    family_share = (min(family_worth * 12 / 10 / count, 1.0), family_worth / 2 / count, 0.0)
    table = np.array(
        [
            [_worth(most, count, origin_worth / count * strange, family_share[relation]) for strange in (0, 1)]
            for relation in (_STRANGERS, _ALLIED, _SAME)
        ],
        dtype=np.int64,
    )

    def value(one: Ints, other: Ints) -> Ints:
        relation = np.where(alliance[one] == alliance[other], _ALLIED, _STRANGERS)
        relation = np.where(family[one] == family[other], _SAME, relation)
        worth: Ints = table[relation, (origin[one] != origin[other]).astype(np.int64)]
        return worth

    return Criterion("kinship", most, PROGRAM, value)


def _worth(most: int, groups: int, origin: float, family: float) -> int:
    origin = min(origin, 1.0)
    share = max(origin, family) + min(origin, family) / 2
    if share > 0:
        share += 0.5 / groups
    return min(min(most, _UPPERMOST) - curve(most, share), most)


_Floats = NDArray[np.float64]
OlderSeeding = Literal["fold", "slip", "split-random"]
_SOURCE = "Gotha documentation, about 2005"
MILLION = 10**6  # weights are millionths, so that fractions of a point still distinguish pairs
_FARTHEST = 20  # wins; larger score differences count the same
_MOST_STONES = 40  # bands; larger handicaps count the same
_SEEDING = 100  # points of the criterion `seeding`
_TENTH = 0.1  # share of these points that is random with split-random


@dataclass(frozen=True, slots=True, eq=False)
class OlderGotha:
    """The older Gotha function (documentation of about 2005) for one lineup with groups of half wins.

    Score differences count up to 20 wins, and handicaps (before the ceiling) up to 40 bands. The color balance is that
    of all games without a handicap, even if this pair has a handicap. Handicap, origin and family are secondary
    criteria: a pair of two exempt entrants gets the maximum of each, and a pair with one exempt entrant gets the mean
    of the maximum and the computed value.

    The handicap is computed from `strength` (in bands) and `correction`; it is 0 without a correction. `exempt` is
    indexed by the lineup.
    """

    field: Field
    lineup: Lineup
    met: Flags
    chance: PairRandom
    exempt: Flags
    strength: Ints | None = None
    correction: int | None = None
    seeding: OlderSeeding = "split-random"
    random: int = 0

    def criteria(self) -> tuple[Criterion, ...]:
        """Return all criteria in the order of the documentation."""
        family = _name_numbers(self.field, self.lineup, "family")
        origin = _name_numbers(self.field, self.lineup, "origin")
        member = self.lineup.member
        drawn = Criterion(
            "random",
            self.random * MILLION,
            _SOURCE,
            lambda a, b: self.chance(member[a], member[b], self.random) * MILLION,
        )
        return (
            _points("not met", 1_000_000, lambda a, b: np.where(self.met[a, b], 0.0, 1_000_000.0)),
            *((drawn,) if self.random else ()),
            _points("colours", 100, self._colors),
            _points("score", 50_000, lambda a, b: 50_000 * (_FARTHEST - self._gap(a, b)) / _FARTHEST),
            _points("small gaps", 6_250, lambda a, b: _parabola(25_000, self._gap(a, b), _FARTHEST)),
            _points("seeding", _SEEDING, self._seeding),
            _points("position", 100, lambda a, b: np.where(self._gap(a, b) > 0, 100 * self._position(a, b), 0.0)),
            _points("compensation", 100, self._compensation),
            self._secondary("handicap", 200_000, lambda a, b: 200_000 * (_MOST_STONES - self._h(a, b)) / _MOST_STONES),
            self._secondary("small handicaps", 25_000, lambda a, b: _parabola(100_000, self._h(a, b), _MOST_STONES)),
            self._secondary("origin", 2_000, lambda a, b: np.where(origin[a] != origin[b], 2_000.0, 0.0)),
            self._secondary("family", 20_000, lambda a, b: np.where(family[a] != family[b], 20_000.0, 0.0)),
        )

    def _gap(self, one: Ints, other: Ints) -> _Floats:
        group = self.lineup.group
        gap: _Floats = np.minimum(abs(group[one] - group[other]) / self.lineup.span.step, _FARTHEST)
        return gap

    def _h(self, one: Ints, other: Ints) -> Ints:
        if self.strength is None or self.correction is None:
            return np.zeros(np.broadcast_shapes(one.shape, other.shape), dtype=np.int64)
        return stones(self.strength, self.correction, _MOST_STONES)(one, other)

    def _colors(self, one: Ints, other: Ints) -> _Floats:
        return np.where(self.lineup.balance[one] * self.lineup.balance[other] < 0, 100.0, 0.0)

    def _seeding(self, one: Ints, other: Ints) -> _Floats:
        p, q, n = self.lineup.place[one], self.lineup.place[other], self.lineup.size[one]
        if self.seeding == "split-random":
            across = (2 * p < n) != (2 * q < n)
            fine = 10**6  # steps of the random part
            drawn = self.chance(self.lineup.member[one], self.lineup.member[other], fine) / fine * _TENTH
            share = np.where(across, 1 - _TENTH + drawn, drawn)
        else:
            last = np.maximum(n - 1, 1)
            off = p + q - n + 1 if self.seeding == "fold" else 2 * abs(p - q) - n
            share = 1 - (off / last) ** 2
        return np.where(self._gap(one, other) == 0, _SEEDING * share, 0.0)

    def _position(self, one: Ints, other: Ints) -> _Floats:
        """Return a value of at most 1, which it has for the best of the upper group and the last of the lower group."""
        place, size = self.lineup.place, self.lineup.size
        first = self.lineup.group[one] < self.lineup.group[other]
        upper, lower = np.where(first, one, other), np.where(first, other, one)
        share: _Floats = (place[lower] + 1) * (size[upper] - place[upper]) / (size[upper] * size[lower])
        return share

    def _compensation(self, one: Ints, other: Ints) -> _Floats:
        """Return the value of a float that undoes earlier floats; the source gives only the range of this value."""
        group = self.lineup.group
        owed_up, owed_down = self.lineup.down > self.lineup.up, self.lineup.up > self.lineup.down
        betters = np.where(group[one] < group[other], owed_down[one] | owed_up[other], owed_down[other] | owed_up[one])
        worth = 100 * (0.5 + 0.5 * self._position(one, other))
        return np.where(betters & (self._gap(one, other) > 0), worth, 0.0)

    def _secondary(self, name: str, most: int, points: Callable[[Ints, Ints], _Floats]) -> Criterion:
        """Return a criterion with the computed value.

        Two exempt entrants get its maximum, and a pair with one exempt entrant gets the mean of value and maximum.
        """

        def softened(one: Ints, other: Ints) -> _Floats:
            share = (self.exempt[one].astype(np.float64) + self.exempt[other]) / 2
            return (1 - share) * points(one, other) + share * most

        return _points(name, most, softened)


def _parabola(most: int, steps: _Floats | Ints, farthest: int) -> _Floats:
    worth: _Floats = most * steps * (farthest - steps) / farthest**2
    return worth


def _points(name: str, most: int, points: Callable[[Ints, Ints], _Floats]) -> Criterion:
    """Return a criterion in millionths of a point; each is rounded, so that the criteria add up to the weight."""
    return Criterion(name, most * MILLION, _SOURCE, lambda a, b: np.rint(points(a, b) * MILLION).astype(np.int64))
