"""Game schedule of a format, games of a match, Berger tables and round-robin orders.

All formats that schedule games ahead share it. It is a value: each change gives a new one, and costs a few
steps in a persistent map however long the tournament is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Literal

from immutables import Map

from enginetour.model.game import GameKey, Outcome, Pairing

# Open games offered at once: two of an encounter for 1000 slots and some (our choice), grown by `for_entrant` so that
# one suspended engine's games never fill it.
_WINDOW = 2304
LONGEST_WINDOW = 4096  # an encounter of two games for 2000 slots (our choice)
MOST_GAMES = 2_000_000  # of one tournament, all listed: a round robin of 2000 engines; 0.5 kB each (measured)
MOST_EACH = 10_000  # games_per_pairing where rounds follow each other: all of a match are listed at once
_BLOCK = 64  # of the window: the square root of the longest, so that a game costs little to take out (measured)


def window_size(for_entrant: int) -> int:
    """Games to offer at once when one entrant has `for_entrant` games: two idle entrants leave room for others."""
    return min(_WINDOW + 2 * for_entrant, LONGEST_WINDOW)


def fair_count(games: int) -> int:
    """A number of games of one match that gives both the same colours, or a single game; ValueError otherwise."""
    if games > 1 and games % 2:
        raise ValueError(f"games_per_pairing {games} is odd: 1 or an even number gives both the same colours")
    return games


def games_per_opening(pair_games: int) -> int:
    """Games played from one opening: both colours, or the only game there is."""
    return min(2, pair_games)


def match_games(
    white: str,
    black: str,
    *,
    games: int,
    encounter: int,
    number: int,
    earlier: int = 0,
    handicap: int = 0,
    swap: bool = True,
) -> Iterator[Pairing]:
    """All games of one match, `white` having White in the first, then alternating, or without `swap` in all.

    `encounter` is the number of the first encounter, `number` the round; `earlier` encounters of the pair came before.
    `white` gives `handicap` bands in every game of it, whatever its colour there.
    """
    for game in range(games):
        meeting, leg = divmod(game, games_per_opening(games))
        turned = swap and game % 2 == 1
        pair, given = ((black, white), -handicap) if turned else ((white, black), handicap)
        yield Pairing(*pair, earlier + meeting + 1, leg + 1, encounter + meeting, number, given)


@dataclass(frozen=True, slots=True)
class GameSchedule:
    """`games` in playing order; `played` remembers all finished games, also of schedules before this one.

    `off` holds games called off while they may have been in the air, with None until they come in all the same.
    `struck` holds finished games voided after they had been decided upon. `blocks` are the open games before `reach`,
    each by its place, from that of number `base` on: a loop asks for them after every game.
    """

    games: tuple[Pairing, ...] = ()
    place: Map[GameKey, int] = field(default_factory=Map)
    played: Map[GameKey, Outcome] = field(default_factory=Map)
    off: Map[GameKey, Outcome | None] = field(default_factory=Map)
    struck: Map[GameKey, Outcome] = field(default_factory=Map)
    left: int = 0
    front: int = 0
    reach: int = 0
    width: int = _WINDOW
    blocks: tuple[tuple[Pairing, ...], ...] = ()
    base: int = 0

    def renewed(self, games: Iterable[Pairing], width: int = _WINDOW) -> GameSchedule:
        """A schedule of other games that remembers what became of the earlier ones."""
        blank = replace(self, games=(), place=Map(), left=0, front=0, reach=0, width=width, blocks=(), base=0)
        return blank.extended(games)

    def extended(self, games: Iterable[Pairing]) -> GameSchedule:
        """More games at the end."""
        more = tuple(games)
        place = self.place.update({game.key: len(self.games) + i for i, game in enumerate(more)})
        left = self.left + len(more)
        shown = self.left - (len(self.games) - self.reach)
        reach = self.reach + min(max(0, self.width - shown), len(self.games) + len(more) - self.reach)
        return replace(self, games=self.games + more, place=place, left=left, reach=reach)._in_blocks()

    def open(self) -> tuple[Pairing, ...]:
        """Games that may be played now; once shown, a game stays until it is played or called off."""
        return tuple(chain.from_iterable(self.blocks))

    def _in_blocks(self) -> GameSchedule:
        played, base = self.played, min(self.front, self.reach) // _BLOCK
        blocks = tuple(
            tuple(game for game in self.games[begin : min(begin + _BLOCK, self.reach)] if game.key not in played)
            for begin in range(base * _BLOCK, self.reach, _BLOCK)
        )
        return replace(self, blocks=blocks, base=base)

    def unfinished(self) -> Iterator[Pairing]:
        """All games still to be played, shown or not."""
        return (game for game in self.games[self.front :] if game.key not in self.played)

    def counts(self, pairing: Pairing) -> bool:
        """Whether a game that came in was still wanted; False if it was called off while in the air.

        ValueError: it was never scheduled so, or came in before.
        """
        key = pairing.key
        place = self.place.get(key)
        if place is not None and key not in self.played:
            if self.games[place].white != pairing.white:
                raise ValueError(f"{_called(pairing)} was scheduled with the other colours")
            return True
        if key in self.played or self.off.get(key):
            raise ValueError(f"{_called(pairing)} is finished already")
        if key not in self.off:
            raise ValueError(f"{_called(pairing)} was never on offer")
        return False

    def scheduled(self, key: GameKey) -> Pairing | None:
        """The game of that key that is still to be played."""
        place = self.place.get(key)
        return None if place is None or key in self.played else self.games[place]

    def knows(self, key: GameKey) -> bool:
        """Whether such a game was ever scheduled or called off."""
        return key in self.place or key in self.played or key in self.off

    def renumbered(self, games: Iterable[Pairing]) -> GameSchedule:
        """The same games with other colours or numbers."""
        other = {self.place[game.key]: game for game in games if self.scheduled(game.key) is not None}
        games = tuple(other.get(place, game) for place, game in enumerate(self.games))
        return replace(self, games=games)._in_blocks()

    def set_aside(self, games: Mapping[GameKey, Outcome | None]) -> GameSchedule:
        """Games that count for nothing, and None for those that may still come in."""
        return replace(self, off=self.off.update(games)) if games else self

    def finished(self, pairing: Pairing, outcome: Outcome) -> GameSchedule:
        """One game less to play; ask `counts` first. A game called off is only remembered."""
        key = pairing.key
        if key in self.off:
            return replace(self, off=self.off.set(key, outcome))
        played = self.played.set(key, outcome)
        front = self.front
        while front < len(self.games) and self.games[front].key in played:
            front += 1
        blocks, reach = self._blocks_without(self.place[key]), self.reach
        if reach < len(self.games):
            more = () if self.games[reach].key in played else (self.games[reach],)
            blocks = (*blocks[:-1], blocks[-1] + more) if reach % _BLOCK else (*blocks, more)
            reach += 1
        base = min(front, reach) // _BLOCK
        blocks, left = blocks[base - self.base :], self.left - 1
        return replace(self, played=played, left=left, front=front, reach=reach, blocks=blocks, base=base)

    def _blocks_without(self, place: int) -> tuple[tuple[Pairing, ...], ...]:
        number = place // _BLOCK - self.base
        if not 0 <= number < len(self.blocks):
            return self.blocks
        gone = self.games[place]
        block = tuple([game for game in self.blocks[number] if game is not gone])
        return (*self.blocks[:number], block, *self.blocks[number + 1 :])

    def voidable(self, pairing: Pairing) -> Outcome | None:
        """What a finished game of this schedule had been; None if it is past changing.

        ValueError: it is not finished, or is void already.
        """
        key = pairing.key
        if key in self.struck or not (key in self.played or self.off.get(key)):
            raise ValueError(f"{_called(pairing)} is not a finished game")
        return self.played.get(key) if key in self.place else None

    def reopened(self, pairing: Pairing) -> GameSchedule:
        """The game is on offer again."""
        key = pairing.key
        front = min(self.front, self.place[key])
        return replace(self, played=self.played.delete(key), left=self.left + 1, front=front)._in_blocks()

    def struck_out(self, pairing: Pairing, outcome: Outcome) -> GameSchedule:
        """The game is void for the ratings; what was decided with it stands."""
        return replace(self, struck=self.struck.set(pairing.key, outcome))

    def without(self, name: str) -> tuple[GameSchedule, tuple[Pairing, ...]]:
        """The schedule without the unplayed games of one entrant, and those games."""
        called_off = tuple(game for game in self.unfinished() if name in game.pair)
        keys = {game.key for game in called_off}
        games = tuple(game for game in self.games if game.key not in keys)
        hidden = sum(game.key not in keys for game in self.games[self.reach :])
        schedule = replace(
            self,
            games=games,
            place=Map({game.key: i for i, game in enumerate(games)}),
            off=self.off.update(dict.fromkeys(keys)),
            left=self.left - len(keys),
            front=0,
            reach=len(games) - hidden,
        )
        return schedule.extended(()), called_off


def _called(pairing: Pairing) -> str:
    return f"{pairing.white} - {pairing.black} (meeting {pairing.meeting}, game {pairing.leg} of it)"


_Round = tuple[tuple[int, int], ...]  # pairs of seats in board order


def berger(seats: int) -> tuple[_Round, ...]:
    """Rounds of (white, black) seats by the Berger tables; nobody's colours differ by more than one.

    An odd field sits with a dummy in the last seat and then has equal colours. Source: FIDE C.05 annex 1.
    """
    even = seats + seats % 2
    ring = even - 1
    rounds: list[_Round] = []
    for number in range(ring if seats > 1 else 0):
        pivot = number * (even // 2) % ring
        pairs = [(pivot, ring) if number % 2 == 0 else (ring, pivot)]
        pairs += [((pivot + k) % ring, (pivot - k) % ring) for k in range(1, even // 2)]
        rounds.append(tuple(pair for pair in pairs if max(pair) < seats))
    return tuple(rounds)


def slide(front: int, back: int) -> tuple[_Round, ...]:
    """Rounds in which each of `front` seats meets each of `back` seats once, the rows sliding past each other.

    Pairs are (front seat, back seat), both counted from 0; nobody sits twice in a round.
    """
    length = max(front, back) if min(front, back) else 0
    return tuple(
        tuple((seat, (number + seat) % length) for seat in range(front) if (number + seat) % length < back)
        for number in range(length)
    )


Order = Literal["berger", "seats", "circle"]
Colours = Literal["balanced", "rows"]


def rounds_of(order: Order, colours: Colours, entrants: int) -> tuple[_Round, ...]:
    """Rounds of (white, black) seats, counted from 0; an odd field sits with a dummy in the last seat.

    `berger` are the tables of FIDE C.05 annex 1. The others have two rows whose columns are the boards, and everybody
    but the first moves one seat a round: `seats` reads both rows from left to right (Vuorinen 2010, 3.1), `circle` the
    lower one back, so that the first meets the last.

    Balanced colours differ by one at most, by two in an odd field of `seats` and `circle`, by nothing in one of
    `berger`. With `rows` the upper row has White in every other round, and colours differ by up to three, four if odd.
    """
    if order == "berger":
        return berger(entrants)
    even = entrants + entrants % 2
    upper, lower = list(range(even // 2)), list(range(even // 2, even))
    if order == "circle":
        lower.reverse()
    rounds: list[_Round] = []
    for number in range(even - 1 if entrants > 1 else 0):
        boards = []
        for column, (one, other) in enumerate(zip(upper, lower, strict=True)):
            # by columns whoever moves on has the other colour, in the first it takes the turn of the round
            parity = number if colours == "rows" or column == 0 else column
            boards.append((one, other) if parity % 2 == 0 else (other, one))
        rounds.append(tuple(pair for pair in boards if max(pair) < entrants))
        lower.append(upper.pop())
        upper.insert(1, lower.pop(0))
    return tuple(rounds)
