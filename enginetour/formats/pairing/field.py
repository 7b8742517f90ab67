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

WHITE, BLACK, NEITHER = 1, -1, 0  # they add up to the color balance


class Kind(StrEnum):
    """How a round went for one member; letters in brackets are those of TRF."""

    PLAYED = "played"  # in TRF: 1 = 0 W D L
    FORFEIT = "forfeit"  # paired but not played: the points show the winner (+ -)
    BYE = "bye"  # allocated by the pairing (U)
    HALF_BYE = "half-point bye"  # requested (H)
    FULL_BYE = "full-point bye"  # given by an arbiter (F)
    ABSENT = "absent"  # absent, announced or not (Z)


@dataclass(frozen=True, slots=True)
class Turn:
    """The round of one member.

    `colour` is NEITHER without a game or with both colors; `handicap` is positive if given, negative if received.
    """

    kind: Kind = Kind.ABSENT
    opponent: int | None = None
    colour: int = NEITHER
    points: int = 0
    handicap: int = 0
    games: int = 0  # played over the board

    @property
    def met(self) -> bool:
        """Return whether the two played over the board; a forfeit does not count."""
        return self.kind is Kind.PLAYED

    @property
    def paired(self) -> bool:
        """Return whether the member had an opponent, even if the game was forfeited."""
        return self.opponent is not None


@dataclass(frozen=True, slots=True)
class Member:
    """Entrant in the entry order; `rating` is its configured rating, on the scale of the system.

    `band` is its grade if the rating does not decide it; `drawn` is the text from which OpenGotha draws random numbers.
    """

    name: str
    rating: float | None = None
    family: str = ""
    origin: str = ""
    band: int | None = None
    drawn: str = ""


@dataclass(frozen=True)
class Field:
    """State before a round: `history[round][member]` of the finished rounds; `present` members are to be paired.

    `counted` are the scores that make groups (like `points`) in systems where points alone do not.
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
        """Half points of a draw."""
        return self.win // 2 if self.draw is None else self.draw

    @property
    def number(self) -> int:
        """Number of the round to be paired, from 1."""
        return len(self.history) + 1

    @cached_property
    def points(self) -> tuple[tuple[int, ...], ...]:
        """Points of all members before each round and now; ``points[-1]`` are the scores."""
        sums = [[0] * len(self.members)]
        for row in self.history:
            sums.append([before + turn.points for before, turn in zip(sums[-1], row, strict=True)])
        return tuple(map(tuple, sums))

    @property
    def scores(self) -> tuple[int, ...]:
        """Current points of all members."""
        return self.points[-1]

    @cached_property
    def meetings(self) -> tuple[dict[int, int], ...]:
        """For each member, a map of opponent to the latest round (from 1) in which the two played over the board."""
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
        """Return Whites minus Blacks over played rounds without a handicap."""
        return sum(turn.colour for turn in self.turns(member) if turn.met and not turn.handicap)

    def games(self, member: int) -> int:
        """Return the number of games that a member has played over the board."""
        return sum(turn.games for turn in self.turns(member))

    def unplayed(self, member: int) -> int:
        """Return the points of byes and forfeits."""
        return sum(turn.points for turn in self.turns(member) if not turn.met)

    def byes(self, member: int) -> int:
        """Return how often the pairing gave a member the bye."""
        return sum(turn.kind is Kind.BYE for turn in self.turns(member))

    def before(self, number: int) -> Field:
        """Return the field before round `number` (from 1); all members that were not absent then are present."""
        row = self.history[number - 1]
        there = tuple(member for member, turn in enumerate(row) if turn.paired or turn.kind is Kind.BYE)
        return replace(self, history=self.history[: number - 1], present=there, bye=None, counted=())


@dataclass(frozen=True, slots=True)
class Board:
    """Pair of members; in a match with both colors `white` has White in game 1.

    `handicap` is given by White to Black, in bands.
    """

    white: int
    black: int
    handicap: int = 0

    @property
    def pair(self) -> tuple[int, int]:
        """The places of both members, lower first."""
        return (self.white, self.black) if self.white < self.black else (self.black, self.white)


@dataclass(frozen=True, slots=True)
class Paired:
    """Boards of a round, best first, and the members with a bye.

    `guarantee` states what is proven: "maximum weight, certified", "by rule", or "fallback: " with the reason.
    `remarks` must be shown to the user: unavoidable rematches, and members of one family that had to meet.
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
        """Return a uniform number from 0 to limit - 1; draws beyond the last multiple of `limit` are rejected."""
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
