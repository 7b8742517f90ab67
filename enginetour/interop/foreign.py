"""Tournaments of other programs in the form that pairing systems need, and their next round."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from enginetour.formats.pairing.field import WHITE, Board, Field, Kind, Paired, Turn, Unpairable
from enginetour.formats.rounds import PairingSystem
from enginetour.model.errors import match_name

Pairs = tuple[tuple[int, int | None], ...]


@dataclass(frozen=True)
class SeparatedField(Field):
    """A field with pairs that must not meet: they count as having met in the round to be paired."""

    apart: frozenset[tuple[int, int]] = frozenset()  # pairs of places, lower first

    @cached_property
    def meetings(self) -> tuple[dict[int, int], ...]:
        """Return the meetings of the field; the pairs in `apart` count as met in this round."""
        found = tuple(map(dict, super().meetings))
        for one, other in self.apart:
            found[one][other] = found[other][one] = self.number
        return found

    def parted(self, one: int, other: int) -> SeparatedField:
        """Return the field with one more pair in `apart`."""
        return replace(self, apart=self.apart | {(min(one, other), max(one, other))})

    def resting(self, place: int) -> SeparatedField:
        """Return the field with the bye of this round fixed for a member that is present."""
        there = {*self.present, *([] if self.bye is None else [self.bye])} - {place}
        return replace(self, bye=place, present=tuple(sorted(there)))


@dataclass(frozen=True, slots=True)
class ForeignTournament:
    """Tournament that was read from a file, before its next round.

    `labels` are the names of the members in the file, by place. `settings` are the pairing settings of the file, by key
    of the system. `asked` has the kind of unplayed round that absent members requested, by place. `one_dan` is the
    rating at which 1 dan begins, if the file has a scale of grades.
    """

    field: SeparatedField
    labels: tuple[str, ...]
    settings: Mapping[str, object]
    asked: Mapping[int, Kind]
    warnings: tuple[str, ...] = ()
    one_dan: float | None = None
    existing: Paired | None = None  # the round to be paired, if the file already has it
    colorless: frozenset[tuple[int, int]] = frozenset()  # pairs of `existing` without colors in the file

    def differing(self, paired: Paired) -> tuple[Pairs, Pairs]:
        """Return the pairs of `paired` that are not in the file, and the pairs of the file that are not in `paired`.

        A bye is a pair with None.
        """
        assert self.existing is not None
        mine, theirs = (
            {*((board.white, board.black) for board in one.boards), *((place, None) for place in one.byes)}
            for one in (paired, self.existing)
        )
        mine = {(b, w) if b is not None and (b, w) in theirs and (b, w) in self.colorless else (w, b) for w, b in mine}
        return tuple(sorted(mine - theirs, key=_first)), tuple(sorted(theirs - mine, key=_first))

    def place(self, label: str) -> int | None:
        """Return the place of the member with this label, name, or unique beginning of a name, or None."""
        wanted = plain_label(label)
        for place, known in enumerate(self.labels):
            if plain_label(known) == wanted or self.field.members[place].name.lower() == label.strip().lower():
                return place
        names = [member.name for member in self.field.members]
        name = None if label.strip().isdigit() else match_name(label.strip(), names)
        return None if name is None or names.count(name) > 1 else names.index(name)


def existing_round(row: Sequence[Turn]) -> tuple[Paired, frozenset[tuple[int, int]]]:
    """Return a round of the file, and its pairs without colors."""
    pairs = [(at, turn) for at, turn in enumerate(row) if turn.opponent is not None]
    boards = [
        Board(at, turn.opponent, max(turn.handicap, 0))
        for at, turn in pairs
        if turn.opponent is not None and (turn.color == WHITE or (not turn.color and at < turn.opponent))
    ]
    byes = tuple(at for at, turn in enumerate(row) if turn.kind is Kind.BYE)
    colorless = frozenset((board.white, board.black) for board in boards if not row[board.white].color)
    return Paired(tuple(boards), byes), colorless


def is_as_heavy(system: PairingSystem, field: Field, one: Paired, other: Paired) -> bool:
    """Return whether two rounds have the same sum of weights and bars, if the system maximizes that sum."""
    weighed = system.weighed(field)
    if weighed is None:
        return False
    at = {member: place for place, member in enumerate(weighed.members)}
    if any({place for board in paired.boards for place in board.pair} != at.keys() for paired in (one, other)):
        return False
    first, second = (
        (
            sum(int(weighed.weights[at[board.white], at[board.black]]) for board in paired.boards),
            sorted(int(weighed.barred[at[board.white], at[board.black]]) for board in paired.boards),
        )
        for paired in (one, other)
    )
    return first == second


def plain_label(text: str) -> str:
    """Return a label in lower case without leading zeros of its number."""
    return re.sub(r"^([^0-9]*)0+(?=[0-9])", r"\1", text.strip().lower())


def _first(pair: tuple[int, int | None]) -> tuple[bool, int]:
    return pair[1] is None, min(place for place in pair if place is not None)


def next_round(system: PairingSystem, field: SeparatedField) -> Paired:
    """Return the next round of the system.

    Raise Unpairable if fewer than two members are present, or if the round contains a pair of `apart`.
    """
    there = len(field.present)
    bye = "" if field.bye is None else field.members[field.bye].name
    if bye and there % 2:
        raise Unpairable(f"{bye} has the bye, and {there} entrants remain, but their number must be even")
    if there < 2:
        who = f"only {field.members[field.present[0]].name} is" if there else "no entrant is"
        raise Unpairable(f"{who} present for round {field.number}, but two entrants are needed")
    paired = system.paired(field)
    if not paired.boards:
        raise Unpairable(f"the system does not have a round {field.number}: the tournament is over")
    for board in paired.boards:
        if board.pair in field.apart:
            one, other = (field.members[place].name for place in board.pair)
            raise Unpairable(f"the round contains {one} - {other}, but they must not meet according to the file")
    if field.bye is None:
        return paired
    turns = field.turns(field.bye)
    again = any(turn.kind is Kind.BYE or (not turn.met and turn.points >= field.win) for turn in turns)
    remark = (f"{bye} gets the requested bye, but already had a bye or a win without a game (C2)",) * again
    return replace(paired, byes=(field.bye,), remarks=(*paired.remarks, *remark))
