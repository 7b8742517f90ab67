"""FIDE Dutch system: Swiss pairing by the rules of FIDE C.04.3, exact and with a proof of the maximum.

To pair a bracket, a lexicographic matching of all entrants that are not paired yet is computed. So the rest of the
round stays pairable, and the next bracket is as good as possible. In a bracket, entrants moved down are paired with
residents first, then the remainder. `pairing.dutch_criteria` has the color preferences and the criteria C5 to C21; the
absolute criteria C1 to C4 are here. A pairing number is the place in the entry order; with ``order = "rating"`` this is
the FIDE initial ranking.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import numpy as np
from pydantic import Field as Setting

from enginetour.formats.pairing.blossom import Numbers
from enginetour.formats.pairing.dutch_criteria import (
    Bracket,
    Bye,
    PlayerCard,
    check_pair,
    color_of_first,
    entered,
    player_cards,
    settle_bye,
    virtual_points,
)
from enginetour.formats.pairing.field import BLACK, CERTIFIED, WHITE, Board, Dice, Field, Paired, Unpairable
from enginetour.formats.pairing.matching import Face
from enginetour.formats.pairing.matching import Unpairable as NoMatching
from enginetour.formats.rounds import PairingSystem, Reason, RoundsOptions, StartingGroup

_EXPONENTS = 16  # binary digits in one weight; with 5000 entrants, the weights still fit into 64 bits


def pair_brackets(
    face: Face, there: Sequence[PlayerCard], bye: Bye | None
) -> tuple[list[tuple[int, int]], tuple[int, ...]]:
    """Pair a whole round from the top; return the pairs of card indexes, higher first, and the mates of all vertices.

    `face` has all legal rounds. Its vertices are the cards and, if their number is odd, the bye as the last vertex.
    """
    pairs: list[tuple[int, int]] = []
    mates, left, moved = list(face.mates), list(range(len(face.mates))), 0
    while len(rest := [vertex for vertex in left if vertex < len(there)]) > moved:
        inside = moved + _same(there, rest[moved:])
        following = inside + _same(there, rest[inside:])
        part = face.part(left, tuple(mates))
        found, local = _pair_bracket(part, Bracket([there[vertex] for vertex in rest], moved, inside, following, bye))
        for vertex, mate in zip(left, local, strict=True):
            mates[vertex] = left[mate]
        pairs += [(left[one], left[other]) for one, other in found]
        taken = {vertex for pair in found for vertex in pair}
        if bye and following > inside:
            here = bye.score >= there[rest[inside]].score
            low = range(following, len(rest))
            bye = Bye(bye.score, here and all(local[v] not in low for v in range(following) if v not in taken))
        moved = inside - len(taken)
        left = [vertex for number, vertex in enumerate(left) if number not in taken]
    return pairs, tuple(mates)


def _same(there: Sequence[PlayerCard], vertices: list[int]) -> int:
    """Return the number of vertices with the same score as the first one."""
    return sum(there[vertex].score == there[vertices[0]].score for vertex in vertices)


def _pair_bracket(face: Face, bracket: Bracket) -> tuple[list[tuple[int, int]], tuple[int, ...]]:
    """Return the final pairs of a bracket, higher first, and the mates of a whole legal round with these pairs.

    The vertices of `face` are the cards of the bracket and, if the number of entrants is odd, the bye as the last one.
    """
    moved, inside = bracket.moved, bracket.inside
    allowed = np.ones_like(face.allowed)
    allowed[:moved, :moved] = False
    face = face.within(allowed).best(bracket.digits()).best(_moved_down(bracket, len(face.mates)))
    pairs = [(i, face.mates[i]) for i in range(moved) if moved <= face.mates[i] < inside]
    fixed = {vertex for pair in pairs for vertex in pair}
    rest = [vertex for vertex in range(moved, inside) if vertex not in fixed]
    loose = [vertex for vertex in range(moved) if vertex not in fixed]
    allowed = np.ones_like(face.allowed)
    allowed[np.ix_(loose, rest)] = allowed[np.ix_(rest, loose)] = False
    for one, other in pairs:
        allowed[[one, other], :] = allowed[:, [one, other]] = False
        allowed[one, other] = allowed[other, one] = True
    face = _remainder(face.within(allowed), rest)
    pairs += [(i, face.mates[i]) for i in _highs(face, rest)]
    return pairs, face.mates


def _moved_down(bracket: Bracket, size: int) -> Iterator[Numbers]:
    """Yield weights that pair the highest entrants moved down first, and then give them the highest residents."""
    residents = range(bracket.moved, bracket.inside)
    for i in range(bracket.moved):
        yield _pairs(size, i, residents, [1] * len(residents))
    for i in range(bracket.moved):
        yield _pairs(size, i, residents, list(range(len(residents), 0, -1)))


def _remainder(face: Face, rest: list[int]) -> Face:
    """Return the best rounds for the residents in `rest` that are not paired with entrants moved down."""
    count = len(_highs(face, rest))
    if not count:
        return face
    size = len(face.mates)
    upper = np.zeros((size, size), dtype=np.int64)
    for number, i in enumerate(rest[:count]):
        upper[i, rest[number + 1 :]] = upper[rest[number + 1 :], i] = 1
    face = face.best([upper])
    highs = _highs(face, rest)
    if highs != rest[:count]:
        face = face.best(_exchanges(size, rest, count))
        highs = _highs(face, rest)
    return _in_order(face, rest, highs)


def _highs(face: Face, rest: list[int]) -> list[int]:
    held = set(rest)
    return [i for i in rest if face.mates[i] > i and face.mates[i] in held]


def _exchanges(size: int, rest: list[int], count: int) -> Iterator[Numbers]:
    """Yield weights for exchanges between the halves.

    They prefer the smallest sum of numbers in the upper half. Then they prefer that its lowest entrants leave it and
    that the highest entrants of the lower half enter it.
    """
    total = np.zeros((size, size), dtype=np.int64)
    for number, i in enumerate(rest):
        total[i, rest[number + 1 :]] = total[rest[number + 1 :], i] = len(rest) - number
    yield total
    leaving = [(number, -1) for number in range(count - 1, -1, -1)]
    coming = [(number, 1) for number in range(count, len(rest))]
    for way in (leaving, coming):
        for start in range(0, len(way), _EXPONENTS):
            some = way[start : start + _EXPONENTS]
            digit = np.zeros((size, size), dtype=np.int64)
            for exponent, (number, sign) in enumerate(reversed(some)):
                i, below = rest[number], rest[number + 1 :]
                digit[i, below] = digit[below, i] = sign << exponent
            yield digit


def _in_order(face: Face, rest: list[int], highs: list[int]) -> Face:
    """Return the rounds in which each entrant of the upper half, in order, has the highest possible opponent."""
    size = len(face.mates)
    digits = []
    for i in highs:
        below = [j for j in rest if j > i]
        digits.append(_pairs(size, i, below, list(range(len(below), 0, -1))))
    return face.best(digits)


def _pairs(size: int, i: int, others: Sequence[int], values: list[int]) -> Numbers:
    digit = np.zeros((size, size), dtype=np.int64)
    digit[i, others] = digit[others, i] = values
    return digit


# Legal rounds have no rematch, no clash of absolute color preferences, and no bye after a bye or a win without a game.
#
# If there is no legal round, the rules are broken as little as possible. The round has the fewest rematches, then the
# oldest rematches, then the fewest second byes, the fewest pairs of the same family, and the fewest color clashes.

_SHOWN = 8  # number of names shown in a message


class LegalRounds:
    """Forbidden pairs of a round; vertices are the cards in order and, if their number is odd, the bye as the last."""

    def __init__(self, field: Field, cards: Sequence[PlayerCard], *, forbid_family: bool) -> None:
        self.field = field
        self.cards = cards
        size = len(cards) + len(cards) % 2
        self.met = np.zeros((size, size), dtype=np.int64)  # number of the round in which the pair last met, or 0
        self.kin, self.clash, self.second_bye = (np.zeros((size, size), dtype=np.bool_) for _ in range(3))
        for i, one in enumerate(cards):
            family = field.members[one.place].family
            for j, other in enumerate(cards[:i]):
                self.met[i, j] = self.met[j, i] = field.meetings[one.place].get(other.place, 0)
                clash = one.colors.clashes(other.colors) and not (one.top or other.top)
                self.clash[i, j] = self.clash[j, i] = clash
                kin = forbid_family and family != "" and family == field.members[other.place].family
                self.kin[i, j] = self.kin[j, i] = kin
            if len(cards) % 2:
                self.second_bye[i, -1] = self.second_bye[-1, i] = one.barred

    def face(self, *, strict: bool) -> tuple[Face, bool]:
        """Return all legal rounds and True, or all rounds that break the rules as little as possible and False.

        Raises Unpairable if `strict` is set and no legal round exists.
        """
        barred = (self.met > 0) | self.kin | self.clash | self.second_bye
        anything = ~np.eye(len(barred), dtype=np.bool_)
        try:
            return Face.of(anything & ~barred), True
        except NoMatching as error:
            if strict:
                raise Unpairable(self._why(error)) from None
        return Face.of(anything).best(self._breaches()), False

    def remarks(self, pairs: Sequence[tuple[int, int]]) -> tuple[str, ...]:
        """Return a remark for each pair of vertices that breaks a rule; in a pair, the lower vertex is first."""
        names = [self.field.members[card.place].name for card in self.cards]
        remarks = []
        for one, other in pairs:
            if self.met[one, other]:
                remarks.append(f"{names[one]} - {names[other]} is a rematch of round {self.met[one, other]}")
            if self.kin[one, other]:
                remarks.append(f"{names[one]} and {names[other]} belong to the same family")
            if self.clash[one, other]:
                remarks.append(f"{names[one]} and {names[other]} have the same absolute color preference")
            if self.second_bye[one, other]:
                remarks.append(f"{names[one]} gets the bye, but already had a bye or a win without a game (C2)")
        return tuple(remarks)

    def _breaches(self) -> list[Numbers]:
        latest = [self.met == number for number in sorted(set(self.met.flat) - {0}, reverse=True)]
        return [-bar.astype(np.int64) for bar in (self.met > 0, *latest, self.second_bye, self.kin, self.clash)]

    def _why(self, error: NoMatching) -> str:
        lacking = error.shortage
        names = [
            self.field.members[self.cards[vertex].place].name
            for part in lacking.parts
            for vertex in part
            if vertex < len(self.cards)
        ]
        who = ", ".join(names[:_SHOWN]) + (" ..." if len(names) > _SHOWN else "")
        return f"no legal round exists for {who}. Hint: set strict = false to allow the fewest rematches"


BREACH = "fallback: no legal round exists, so the rules are broken as little as possible"
EVEN = "each match has both colors, so color rules do not apply; this is not FIDE Dutch"


def pair_dutch(
    field: Field,
    *,
    initial_color: int = WHITE,
    accelerated: int = 0,
    color_blind: bool = False,
    forbid_family: bool = False,
    strict: bool = False,
) -> Paired:
    """Return the next round by the Dutch system, with boards in the order of their higher entrant.

    `initial_color` is the color of the first entrant in round 1; `accelerated` is the number of accelerated rounds
    (Baku). With `color_blind`, each match has both colors, so colors do not count. Raises Unpairable only if `strict`
    is set and no legal round exists.
    """
    there = player_cards(field, accelerated, color_blind=color_blind)
    law = LegalRounds(field, there, forbid_family=forbid_family)
    face, legal = law.face(strict=strict)
    face, bye = settle_bye(face, there)
    pairs, mates = pair_brackets(face, there, bye)
    rests = [(mates[-1], len(there))] if bye else []
    seats = _colors(field, initial_color)
    boards = tuple(Board(*seats(there[one], there[other])) for one, other in sorted(pairs))
    byes = tuple(there[one].place for one, _ in rests)
    guarantee = "; ".join(
        text for text, applies in ((BREACH, not legal), (CERTIFIED, True), (EVEN, color_blind)) if applies
    )
    remarks = law.remarks(sorted(pairs) + rests) + ((EVEN,) if color_blind else ())
    return Paired(boards, byes, guarantee, remarks, accelerated)


def explain(
    field: Field, one: int, other: int, *, accelerated: int = 0, color_blind: bool = False
) -> list[tuple[str, bool, str]]:
    """Return for each criterion its name, whether the pair meets it, and its number in FIDE C.04.3."""
    pair = [card for card in player_cards(field, accelerated, color_blind=color_blind) if card.place in (one, other)]
    return [("not met before", not field.met(one, other), "C1"), *check_pair(pair, color_blind=color_blind)]


def _colors(field: Field, initial: int) -> Callable[[PlayerCard, PlayerCard], tuple[int, int]]:
    """Return a function that seats a pair as (White, Black).

    Pairing numbers are counted among the entrants so far, because late entrants change which numbers are odd.
    """
    number = {member: count for count, member in enumerate(entered(field), 1)}

    def seats(first: PlayerCard, second: PlayerCard) -> tuple[int, int]:
        without = initial if number[first.place] % 2 else -initial
        white = color_of_first(first.colors, second.colors, without) == WHITE
        return (first.place, second.place) if white else (second.place, first.place)

    return seats


COLORS = {"white": WHITE, "black": BLACK}


class DutchOptions(RoundsOptions):
    """Settings of the Dutch system."""

    rounds: int = Setting(
        default=7, ge=1, le=1000, description="Number of rounds; in the last round the color rules are relaxed."
    )
    initial_color: Literal["lot", "white", "black"] = Setting(
        default="lot",
        description="Color of the first entrant in round 1; lot: random, from the seed of the tournament, as in FIDE "
        "C.04.3.",
    )
    acceleration: Literal["none", "baku"] = Setting(
        default="none",
        description="baku: virtual points for the upper half in the first half of the rounds (FIDE Handbook C.04).",
    )
    forbid_family: bool = Setting(
        default=False, description="Do not pair entrants of the same family; FIDE rules do not have families."
    )
    strict: bool = Setting(
        default=False,
        description="Stop if no legal round exists. false: break the rules as little as possible; rematches are the "
        "last resort, as few and as old as possible.",
    )


class Dutch(PairingSystem):
    """Pairing system by the FIDE Dutch rules; colors do not count if each match has both colors."""

    codes = ("PTS", "BH-C1", "BH", "SB", "DE")
    unplayed = "fide"
    bye = "the lowest score with which all others can still be paired, then the fewest unplayed games (FIDE C.04.3)"
    options: DutchOptions

    def pair(self, field: Field) -> Paired:
        """Return the next round. Raises Unpairable only if `strict` is set."""
        options = self.options
        lot = (WHITE, BLACK)[Dice(field.seed, "dutch", "initial colour").below(2)]
        return pair_dutch(
            field,
            initial_color=COLORS.get(options.initial_color, lot),
            accelerated=self._accelerated,
            color_blind=options.games_per_pairing > 1,
            forbid_family=options.forbid_family,
            strict=options.strict,
        )

    def alone(self, field: Field) -> Paired:
        """Return a round in which the only entrant has the bye; a remark is added if it has already had one."""
        return self.pair(field) if field.present else super().alone(field)

    def starting_groups(self, field: Field) -> tuple[StartingGroup, ...]:
        """Return the upper half with virtual points and the lower half, or all entrants without acceleration."""
        given = virtual_points(field, 1, self._accelerated)
        if not any(given):
            return super().starting_groups(field)
        last, full = self._accelerated, -(-self._accelerated // 2)
        rounds = "round 1" if full == 1 else f"rounds 1 to {full}"
        then = f", then {field.win / 4:g} until round {last}" if last > full else ""
        names = {0: "virtual points 0", field.win: f"virtual points {field.win / 2:g} in {rounds}{then}"}
        return tuple(
            StartingGroup(names[points], points / 2, tuple(at for at in field.present if given[at] == points))
            for points in sorted(set(given), reverse=True)
        )

    @property
    def _accelerated(self) -> int:
        return (self.options.rounds + 1) // 2 if self.options.acceleration == "baku" else 0

    def explain(self, field: Field, one: int, other: int) -> tuple[Reason, ...]:
        """Return each criterion for a single pair; criteria for a whole bracket are not included."""
        blind = self.options.games_per_pairing > 1
        found = explain(field, one, other, accelerated=self._accelerated, color_blind=blind)
        return tuple(Reason(name, int(met), 1, f"FIDE C.04.3 {number}") for name, met, number in found)
