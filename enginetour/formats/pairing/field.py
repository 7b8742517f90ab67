"""Field: state of a tournament in rounds for pairing systems, with the history of all members.

Members are identified by their place in the entry order, from 0; a pairing number is place + 1. Points are half points
of games unless a system counts matches: `win` is the value of a won match (2 for each of its games). Pairing systems
are pure functions `Field -> Paired`. Random numbers come from `Dice`, which is seeded by words and never by the clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from hashlib import sha256
from typing import TypeVar

T = TypeVar("T")

WHITE, BLACK, NEITHER = 1, -1, 0  # their sum over the games is the color balance


class Kind(StrEnum):
    """Type of a member's round; the characters in parentheses are the codes of TRF."""

    PLAYED = "played"  # over the board (1 = 0 W D L)
    FORFEIT = "forfeit"  # paired but not played: the points show the winner (+ -)
    BYE = "bye"  # allocated by the pairing (U)
    HALF_BYE = "half-point bye"  # requested (H)
    FULL_BYE = "full-point bye"  # given by an arbiter (F)
    ABSENT = "absent"  # absent, announced or not (Z)


@dataclass(frozen=True, slots=True)
class Turn:
    """The round of one member.

    `color` is NEITHER if there was no game or the match had both colors. `handicap` is in bands; it is positive if the
    member gave it and negative if it received it.
    """

    kind: Kind = Kind.ABSENT
    opponent: int | None = None
    color: int = NEITHER
    points: int = 0
    handicap: int = 0
    games: int = 0  # number of games played over the board

    @property
    def met(self) -> bool:
        """Return whether the member played over the board; a forfeit does not count."""
        return self.kind is Kind.PLAYED

    @property
    def paired(self) -> bool:
        """Return whether the member had an opponent, even if the game was forfeited."""
        return self.opponent is not None


@dataclass(frozen=True, slots=True)
class Member:
    """Entrant in the entry order; `rating` is its configured rating, on the scale of the system.

    `band` is its grade if this is not computed from the rating. `drawn` is the text from which OpenGotha computes its
    random numbers.
    """

    name: str
    rating: float | None = None
    family: str = ""
    origin: str = ""
    band: int | None = None
    drawn: str = ""


@dataclass(frozen=True)
class Field:
    """State before a round. `history[round][member]` has the finished rounds; `present` has the members to be paired.

    `counted` has the scores for the score groups, in the form of `points`, if the system does not use points for them.
    """

    members: tuple[Member, ...]
    history: tuple[tuple[Turn, ...], ...] = ()
    present: tuple[int, ...] = ()
    rounds: int = 1
    win: int = 2
    seed: int = 1
    loss: int = 0
    draw: int | None = None  # half points of a draw if it is not half of a win
    virtual: tuple[tuple[int, ...], ...] = ()  # points that count for the pairing only, by round from round 1 on
    bye: int | None = None  # member that an arbiter gave the bye of this round; it is not in `present`
    counted: tuple[tuple[int, ...], ...] = ()

    @property
    def level(self) -> int:
        """Return the half points of a draw."""
        return self.win // 2 if self.draw is None else self.draw

    @property
    def number(self) -> int:
        """Return the number of the round to be paired, from 1."""
        return len(self.history) + 1

    @cached_property
    def points(self) -> tuple[tuple[int, ...], ...]:
        """Return the points of all members before each round and now; ``points[-1]`` are the scores."""
        sums = [[0] * len(self.members)]
        for row in self.history:
            sums.append([before + turn.points for before, turn in zip(sums[-1], row, strict=True)])
        return tuple(map(tuple, sums))

    @property
    def scores(self) -> tuple[int, ...]:
        """Return the current points of all members."""
        return self.points[-1]

    @cached_property
    def meetings(self) -> tuple[dict[int, int], ...]:
        """Return for each member a map from opponents to the latest round (from 1) in which the two met.

        Only games over the board count.
        """
        found: tuple[dict[int, int], ...] = tuple({} for _ in self.members)
        for number, row in enumerate(self.history, 1):
            for member, turn in enumerate(row):
                if turn.met and turn.opponent is not None:
                    found[member][turn.opponent] = number
        return found

    def turns(self, member: int) -> tuple[Turn, ...]:
        """Return the rounds of one member."""
        return tuple(row[member] for row in self.history)

    def met(self, one: int, other: int) -> bool:
        """Return whether two members have played over the board."""
        return other in self.meetings[one]

    def balance(self, member: int) -> int:
        """Return the number of rounds with White minus the number with Black, in played rounds without a handicap."""
        return sum(turn.color for turn in self.turns(member) if turn.met and not turn.handicap)

    def games(self, member: int) -> int:
        """Return the number of games that a member has played over the board."""
        return sum(turn.games for turn in self.turns(member))

    def unplayed(self, member: int) -> int:
        """Return the points that a member got from byes and forfeits."""
        return sum(turn.points for turn in self.turns(member) if not turn.met)

    def byes(self, member: int) -> int:
        """Return the number of byes that the pairing gave to a member."""
        return sum(turn.kind is Kind.BYE for turn in self.turns(member))

    def before(self, number: int) -> Field:
        """Return the field before round `number` (from 1); all members that were not absent then are present."""
        row = self.history[number - 1]
        there = tuple(member for member, turn in enumerate(row) if turn.paired or turn.kind is Kind.BYE)
        return replace(self, history=self.history[: number - 1], present=there, bye=None, counted=())


@dataclass(frozen=True, slots=True)
class Board:
    """Pair of members; in a match with both colors `white` has White in game 1.

    `handicap` is the handicap in bands that White gives to Black.
    """

    white: int
    black: int
    handicap: int = 0

    @property
    def pair(self) -> tuple[int, int]:
        """Return the places of both members, lower first."""
        return (self.white, self.black) if self.white < self.black else (self.black, self.white)


CERTIFIED = "maximum weight, certified"


@dataclass(frozen=True, slots=True)
class Paired:
    """Boards of a round, best first, and the members with a bye.

    `guarantee` states what is proven: `CERTIFIED`, "by rule", or "fallback: " with the reason.
    `remarks` must be shown to the user, such as unavoidable rematches and unavoidable pairs of the same family.
    """

    boards: tuple[Board, ...]
    byes: tuple[int, ...] = ()
    guarantee: str = "by rule"
    remarks: tuple[str, ...] = ()
    accelerated: int = 0  # number of rounds with virtual points by the rules of the system


class Unpairable(ValueError):
    """No legal round exists; the message names the members that cannot be paired and the reason."""


class Dice:
    """Random numbers that are the same on all machines: SHA-256 over seed words and a counter."""

    def __init__(self, *words: object) -> None:
        self._key = "\x1f".join(map(str, words)).encode()
        self._rolled = 0

    def below(self, limit: int) -> int:
        """Return a uniform random number from 0 to limit - 1.

        Numbers beyond the last multiple of `limit` are rejected, so that all results are equally likely.
        """
        if limit < 1:
            raise ValueError("limit must be at least 1")
        span = 1 << 64
        while True:
            self._rolled += 1
            rolled = int.from_bytes(sha256(self._key + b"\x1e%d" % self._rolled).digest()[:8], "big")
            if rolled < span - span % limit:
                return rolled % limit

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return the items in uniform random order (Fisher and Yates 1938, Durstenfeld 1964)."""
        found = list(items)
        for last in range(len(found) - 1, 0, -1):
            other = self.below(last + 1)
            found[last], found[other] = found[other], found[last]
        return found
