"""A field under its terms, worked out once for all codes: scores, opponents and starts by place in the entry order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from enginetour.formats.pairing.field import Field, Kind, Turn
from enginetour.formats.pairing.mcmahon import band, mcmahon_points
from enginetour.formats.pairing.terms import Terms

Account = Literal["wins", "mms", "sts"]
"""Which score a code is about: NBW, MMS, or MMS with the lead of a cup inside."""


@dataclass(frozen=True, eq=False)
class Ledger:
    """Scores in half points of games, as in the field."""

    field: Field
    terms: Terms

    @cached_property
    def turns(self) -> tuple[tuple[Turn, ...], ...]:
        """What each member did, round by round, but for boards that have no result yet."""
        listed = self.terms.pair_list
        return tuple(
            tuple(
                row[member]
                for row in self.field.history
                if not _open(row, row[member]) and (row[member].paired or not listed)
            )
            for member in range(len(self.field.members))
        )

    @property
    def main(self) -> Account:
        """The score the tournament is about."""
        return "mms" if self.terms.starts and not self.terms.by_wins else "wins"

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """What McMahon scores begin with."""
        return tuple(start * self.field.win for start in self._start_wins)

    @cached_property
    def bands(self) -> tuple[int, ...]:
        """As given, or the grades of the members; else by hundreds of the rating, 0 without one."""
        graded = zip(self.field.members, self.ratings, strict=True)
        return self.terms.bands or tuple(
            band(rating or 0.0) if member.band is None else member.band for member, rating in graded
        )

    @cached_property
    def ratings(self) -> tuple[float | None, ...]:
        """Now, or as the members brought them."""
        return self.terms.ratings or tuple(member.rating for member in self.field.members)

    @cached_property
    def mms(self) -> tuple[tuple[int, ...], ...]:
        """McMahon scores in the table, before each round so far and now."""
        return self._mcmahon(absence=self.terms.absence == "standings", whole=self.terms.whole)

    @cached_property
    def lead(self) -> tuple[int, ...]:
        """Of the cup inside: two wins for whoever is unbeaten through the quarter-final, two more the semi-final."""
        found = [0] * len(self.field.members)
        for member in self.terms.cup:
            for rounds in (self.field.rounds - 2, self.field.rounds - 1):  # our decision: the last round is the final
                first = self.turns[member][:rounds]
                unbeaten = all(2 * turn.points >= self.field.win for turn in first)
                found[member] += 2 * self.field.win * (len(first) == rounds > 0 and unbeaten)
        return tuple(found)

    def scores(self, account: Account) -> Sequence[int]:
        """Of every member, as the table has it."""
        match account:
            case "wins":
                return self.field.scores
            case "mms":
                return self.mms[-1]
            case "sts":
                return [one + more for one, more in zip(self.mms[-1], self.lead, strict=True)]

    def told(self, account: Account) -> Sequence[int]:
        """As the standings have it: with the points by hand, which count nowhere else."""
        bonus = self.terms.bonus or (0,) * len(self.field.members)
        return [one + more for one, more in zip(self.scores(account), bonus, strict=True)]

    def seen(self, account: Account) -> Sequence[int]:
        """Of every member, as its opponents' sums see it: absences may count there alone."""
        counts, in_sos = self.terms.absence == "standings", self.terms.absence_in_sos
        if account == "wins":
            half = self.field.win // 2 if in_sos else 0
            idle = (sum(turn.kind is Kind.ABSENT for turn in row) for row in self.turns)
            return [score + half * rounds for score, rounds in zip(self.field.scores, idle, strict=True)]
        counts = counts or in_sos or self.terms.absence == "pairing-only"
        mms = self._mcmahon(absence=counts, whole=self.terms.whole and not in_sos)[-1]
        return [one + more for one, more in zip(mms, self.lead, strict=True)] if account == "sts" else mms

    def begun(self, account: Account) -> Sequence[int]:
        """What each score begins with."""
        return (0,) * len(self.field.members) if account == "wins" else self.starts

    def won(self, turn: Turn) -> bool:
        """More than half of what the match was worth, with or without a game."""
        return 2 * turn.points > self.field.win

    def faced(self, turn: Turn) -> int | None:
        """The opponent that counts: Gotha takes a forfeit for a meeting, FIDE does not."""
        return turn.opponent if turn.met or self.terms.unplayed == "start" else None

    @property
    def _start_wins(self) -> tuple[int, ...]:
        return self.terms.starts or (0,) * len(self.field.members)

    def _mcmahon(self, *, absence: bool, whole: bool) -> tuple[tuple[int, ...], ...]:
        return mcmahon_points(self.field, self._start_wins, absence=absence, whole=whole)


def _open(row: Sequence[Turn], turn: Turn) -> bool:
    """Paired and not begun: the running round has such boards, and a finished one shares out points."""
    if not turn.met or turn.opponent is None:
        return False
    return not (turn.games or turn.points or row[turn.opponent].points)
