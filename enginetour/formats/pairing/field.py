"""Field: a tournament in rounds as pairing systems see it, with the history of every member.

Members are known by their place in the entry order, from 0; a pairing number is place + 1. Points are half points of
games, undivided, unless a system counts matches: `win` says how many a won match is worth (2 for each of its games).
Pairing systems are pure functions `Field -> Paired`; chance comes from `Dice`, seeded by words, never from the clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from hashlib import sha256
from typing import TypeVar

T = TypeVar("T")

WHITE, BLACK, NEITHER = 1, -1, 0  # as summands of a colour balance


class Kind(StrEnum):
    """How a round went for one member; the letters of TRF are in brackets."""

    PLAYED = "played"  # 1 = 0 W D L
    FORFEIT = "forfeit"  # paired, not played: the points say who won (+ -)
    BYE = "bye"  # allocated by the pairing (U)
    HALF_BYE = "half-point bye"  # asked for (H)
    FULL_BYE = "full-point bye"  # given by hand (F)
    ABSENT = "absent"  # not there, whether it said so or not (Z)


@dataclass(frozen=True, slots=True)
class Turn:
    """One member's round. `colour` is NEITHER without a game or with both; `handicap` is given (> 0) or taken (< 0)."""

    kind: Kind = Kind.ABSENT
    opponent: int | None = None
    colour: int = NEITHER
    points: int = 0
    handicap: int = 0
    games: int = 0  # played over the board

    @property
    def met(self) -> bool:
        """The two sat at the board: a forfeit is no meeting."""
        return self.kind is Kind.PLAYED

    @property
    def paired(self) -> bool:
        """There was an opponent, whether it came or not."""
        return self.opponent is not None


@dataclass(frozen=True, slots=True)
class Member:
    """An entrant in the entry order. `rating` is what it brings along, in the system's own points.

    `band` is its grade where the rating does not decide it, `drawn` the text by which OpenGotha draws random numbers.
    """

    name: str
    rating: float | None = None
    family: str = ""
    origin: str = ""
    band: int | None = None
    drawn: str = ""


@dataclass(frozen=True)
class Field:
    """Before a round: `history[round][member]` of the rounds so far; `present` is to be paired, in entry order.

    `counted` are the scores that make groups, as `points`, in systems where points alone do not.
    """

    members: tuple[Member, ...]
    history: tuple[tuple[Turn, ...], ...] = ()
    present: tuple[int, ...] = ()
    rounds: int = 1
    win: int = 2
    seed: int = 1
    loss: int = 0
    draw: int | None = None  # half points of a draw where it is not half of a win
    virtual: tuple[tuple[int, ...], ...] = ()  # points that count for the pairing only, from round 1 on
    bye: int | None = None  # has the bye of this round by an arbiter's decision, so it is not present
    counted: tuple[tuple[int, ...], ...] = ()

    @property
    def level(self) -> int:
        """Half points of a draw."""
        return self.win // 2 if self.draw is None else self.draw

    @property
    def number(self) -> int:
        """The round to be paired, from 1."""
        return len(self.history) + 1

    @cached_property
    def points(self) -> tuple[tuple[int, ...], ...]:
        """Points of every member before each round so far and now: ``points[-1]`` is the score."""
        sums = [[0] * len(self.members)]
        for row in self.history:
            sums.append([before + turn.points for before, turn in zip(sums[-1], row, strict=True)])
        return tuple(map(tuple, sums))

    @property
    def scores(self) -> tuple[int, ...]:
        """Points of every member now."""
        return self.points[-1]

    @cached_property
    def meetings(self) -> tuple[dict[int, int], ...]:
        """For every member, opponent -> the latest round (from 1) in which the two met over the board."""
        found: tuple[dict[int, int], ...] = tuple({} for _ in self.members)
        for number, row in enumerate(self.history, 1):
            for member, turn in enumerate(row):
                if turn.met and turn.opponent is not None:
                    found[member][turn.opponent] = number
        return found

    def turns(self, member: int) -> tuple[Turn, ...]:
        """What one member did, round by round."""
        return tuple(row[member] for row in self.history)

    def met(self, one: int, other: int) -> bool:
        """They have played each other."""
        return other in self.meetings[one]

    def balance(self, member: int) -> int:
        """Whites less Blacks over played rounds without handicap."""
        return sum(turn.colour for turn in self.turns(member) if turn.met and not turn.handicap)

    def games(self, member: int) -> int:
        """Games it has played over the board."""
        return sum(turn.games for turn in self.turns(member))

    def unplayed(self, member: int) -> int:
        """Points that came without a game: of byes and forfeits."""
        return sum(turn.points for turn in self.turns(member) if not turn.met)

    def byes(self, member: int) -> int:
        """How often the pairing left it without an opponent."""
        return sum(turn.kind is Kind.BYE for turn in self.turns(member))

    def before(self, number: int) -> Field:
        """The same tournament before round `number` (from 1); whoever was not absent then is present."""
        row = self.history[number - 1]
        there = tuple(member for member, turn in enumerate(row) if turn.paired or turn.kind is Kind.BYE)
        return replace(self, history=self.history[: number - 1], present=there, bye=None, counted=())


@dataclass(frozen=True, slots=True)
class Board:
    """Two members meet; with both colours in a match `white` has it in the first game. `handicap` White gives Black."""

    white: int
    black: int
    handicap: int = 0

    @property
    def pair(self) -> tuple[int, int]:
        """The two places, lower first."""
        return (self.white, self.black) if self.white < self.black else (self.black, self.white)


@dataclass(frozen=True, slots=True)
class Paired:
    """A round's boards, best first, and who stays without an opponent.

    `guarantee` says what is proven: "maximum weight, certified", "by rule", or "fallback: " and the reason.
    `remarks` must be told: rematches nobody could avoid, families that had to meet.
    """

    boards: tuple[Board, ...]
    byes: tuple[int, ...] = ()
    guarantee: str = "by rule"
    remarks: tuple[str, ...] = ()
    accelerated: int = 0  # rounds that have virtual points by the system's own scheme


class Unpairable(ValueError):
    """No legal round exists; the words say who cannot be paired and why."""


class Dice:
    """Chance that is the same on every machine and for ever: SHA-256 over seed words and a counter."""

    def __init__(self, *words: object) -> None:
        self._key = "\x1f".join(map(str, words)).encode()
        self._rolled = 0

    def below(self, limit: int) -> int:
        """A number from 0 to limit - 1, each as likely: draws beyond the last whole multiple are thrown away."""
        if limit < 1:
            raise ValueError("dice need at least one side")
        span = 1 << 64
        while True:
            self._rolled += 1
            rolled = int.from_bytes(sha256(self._key + b"\x1e%d" % self._rolled).digest()[:8], "big")
            if rolled < span - span % limit:
                return rolled % limit

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """All orders as likely (Fisher and Yates 1938, Durstenfeld 1964)."""
        found = list(items)
        for last in range(len(found) - 1, 0, -1):
            other = self.below(last + 1)
            found[last], found[other] = found[other], found[last]
        return found
