"""Game schedule of a format, games of a match, Berger tables and round-robin orders.

All formats that schedule games in advance use it. A schedule is an immutable value. Each change returns a new schedule
and needs only a few steps in a persistent map, independent of the length of the tournament.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Literal, NamedTuple

from enginetour.formats.pairing.persistent import Map
from enginetour.model.game import GameKey, Outcome, Pairing

# Number of games offered at once: two games of an encounter for each of 1000 slots, and some more (enginetour's
# choice). `window_size` enlarges it, so that the games of one suspended engine never fill it.
_WINDOW = 2304
LONGEST_WINDOW = 4096  # an encounter of two games for each of 2000 slots (enginetour's choice)
# games of a tournament: a round robin of 2000 engines; limited because all are in memory, 0.5 kB each (measured)
MOST_GAMES = 2_000_000
MOST_EACH = 10_000  # games per match in rounds; limited because all games of a match are listed at once
_BLOCK = 64  # size of a block: the square root of the longest window, so that a game is removed quickly (measured)


def window_size(for_entrant: int) -> int:
    """Return the number of games to offer at once, if each entrant has `for_entrant` games.

    It leaves room for other games, even if no game of two entrants can be played.
    """
    return min(_WINDOW + 2 * for_entrant, LONGEST_WINDOW)


def fair_count(games: int) -> int:
    """Return `games` if it is 1 or even, so that both entrants get the same colors. Raises ValueError otherwise."""
    if games > 1 and games % 2:
        raise ValueError(f"games_per_pairing must be 1 or an even number (found {games})")
    return games


def games_per_opening(pair_games: int) -> int:
    """Return the number of games with the same opening: one for each color, or one if a match has one game."""
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
) -> list[Pairing]:
    """Return all games of a match; `white` has White in game 1, then colors alternate unless `swap` is off.

    `encounter` is the number of the first encounter in the tournament, and `number` is the round. The pair has already
    played `earlier` encounters. The entrant `white` gives `handicap` bands in all games, also when it has Black.
    """
    each, turned = games_per_opening(games), (black, white, -handicap) if swap else (white, black, handicap)
    found = []
    for game in range(games):
        first, second, given = turned if game % 2 else (white, black, handicap)
        found.append(
            Pairing(first, second, earlier + game // each + 1, game % each + 1, encounter + game // each, number, given)
        )
    return found


class GameSchedule(NamedTuple):
    """Games in playing order; `played` has all finished games, also those of earlier schedules.

    `off` has the canceled games that may have been in progress, with None until they are finished. `void` has finished
    games that were voided after a decision had used them. `blocks` has the open games before `reach` in blocks by
    place, beginning with block `base`. They are stored because the scheduler needs them after each game.
    """

    games: tuple[Pairing, ...] = ()
    place: Map[GameKey, int] = Map()
    played: Map[GameKey, Outcome] = Map()
    off: Map[GameKey, Outcome | None] = Map()
    void: Map[GameKey, Outcome] = Map()
    left: int = 0
    front: int = 0
    reach: int = 0
    width: int = _WINDOW
    blocks: tuple[tuple[Pairing, ...], ...] = ()
    base: int = 0

    def renewed(self, games: Iterable[Pairing], width: int = _WINDOW) -> GameSchedule:
        """Return a schedule of other games that keeps the results of the earlier games."""
        blank = self._replace(games=(), place=Map(), left=0, front=0, reach=0, width=width, blocks=(), base=0)
        return blank.extended(games)

    def extended(self, games: Iterable[Pairing]) -> GameSchedule:
        """Return the schedule with more games at its end."""
        more = tuple(games)
        place = self.place.update({game.key: len(self.games) + i for i, game in enumerate(more)})
        left = self.left + len(more)
        shown = self.left - (len(self.games) - self.reach)
        reach = self.reach + min(max(0, self.width - shown), len(self.games) + len(more) - self.reach)
        return self._replace(games=self.games + more, place=place, left=left, reach=reach)._in_blocks()

    def open(self) -> tuple[Pairing, ...]:
        """Return the games that can be played now; a game stays in the list until it is played or canceled."""
        return tuple(chain.from_iterable(self.blocks))

    def _in_blocks(self) -> GameSchedule:
        played, base = self.played, min(self.front, self.reach) // _BLOCK
        blocks = tuple(
            tuple(game for game in self.games[begin : min(begin + _BLOCK, self.reach)] if game.key not in played)
            for begin in range(base * _BLOCK, self.reach, _BLOCK)
        )
        return self._replace(blocks=blocks, base=base)

    def unfinished(self) -> Iterator[Pairing]:
        """Return all unplayed games, offered or not."""
        return (game for game in self.games[self.front :] if game.key not in self.played)

    def counts(self, pairing: Pairing) -> bool:
        """Return whether a game that has just ended counts; it does not count if it was canceled while in progress.

        Raises ValueError if the game was never scheduled with these colors, or was already finished.
        """
        key = pairing.key
        place = self.place.get(key)
        if place is not None and key not in self.played:
            if self.games[place].white != pairing.white:
                raise ValueError(f"{game_name(pairing)} was scheduled with the other colors")
            return True
        if key in self.played or self.off.get(key):
            raise ValueError(f"{game_name(pairing)} is already finished")
        if key not in self.off:
            raise ValueError(f"{game_name(pairing)} was not scheduled")
        return False

    def scheduled(self, key: GameKey) -> Pairing | None:
        """Return the unplayed game with this key, if there is one."""
        place = self.place.get(key)
        return None if place is None or key in self.played else self.games[place]

    def knows(self, key: GameKey) -> bool:
        """Return whether a game with this key was ever scheduled or canceled."""
        return key in self.place or key in self.played or key in self.off

    def renumbered(self, games: Iterable[Pairing]) -> GameSchedule:
        """Return the schedule in which these games replace the ones with the same keys, but other colors or numbers."""
        other = {self.place[game.key]: game for game in games if self.scheduled(game.key) is not None}
        games = tuple(other.get(place, game) for place, game in enumerate(self.games))
        return self._replace(games=games)._in_blocks()

    def set_aside(self, games: Mapping[GameKey, Outcome | None]) -> GameSchedule:
        """Add games that do not count; the outcome is None for games that may still be in progress."""
        return self._replace(off=self.off.update(games)) if games else self

    def finished(self, pairing: Pairing, outcome: Outcome) -> GameSchedule:
        """Record a result; call `counts` before. The result of a canceled game is stored but does not count."""
        key = pairing.key
        if key in self.off:
            return self._replace(off=self.off.set(key, outcome))
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
        return self._replace(played=played, left=left, front=front, reach=reach, blocks=blocks, base=base)

    def all_finished(self, results: Mapping[GameKey, Outcome]) -> GameSchedule:
        """Record the results of several games that count, as `finished` does for each of them."""
        played, front = self.played.update(results), self.front
        while front < len(self.games) and self.games[front].key in played:
            front += 1
        reach = min(len(self.games), self.reach + len(results))
        left = self.left - len(results)
        return self._replace(played=played, left=left, front=front, reach=reach)._in_blocks()

    def _blocks_without(self, place: int) -> tuple[tuple[Pairing, ...], ...]:
        number = place // _BLOCK - self.base
        if not 0 <= number < len(self.blocks):
            return self.blocks
        gone = self.games[place]
        block = tuple([game for game in self.blocks[number] if game is not gone])
        return (*self.blocks[:number], block, *self.blocks[number + 1 :])

    def voidable(self, pairing: Pairing) -> Outcome | None:
        """Return the outcome of a finished game, or None if the game is not part of this schedule any more.

        Raises ValueError if the game is not finished or is already void.
        """
        key = pairing.key
        if key in self.void or not (key in self.played or self.off.get(key)):
            raise ValueError(f"{game_name(pairing)} is not a finished game")
        return self.played.get(key) if key in self.place else None

    def reopened(self, pairing: Pairing) -> GameSchedule:
        """Offer a voided game again."""
        key = pairing.key
        front = min(self.front, self.place[key])
        return self._replace(played=self.played.delete(key), left=self.left + 1, front=front)._in_blocks()

    def annulled(self, pairing: Pairing, outcome: Outcome) -> GameSchedule:
        """Void a game for the ratings only; decisions that used its result remain."""
        return self._replace(void=self.void.set(pairing.key, outcome))

    def without(self, name: str) -> tuple[GameSchedule, tuple[Pairing, ...]]:
        """Return the schedule without the unplayed games of an entrant, and these games."""
        called_off = tuple(game for game in self.unfinished() if name in game.pair)
        keys = {game.key for game in called_off}
        games = tuple(game for game in self.games if game.key not in keys)
        hidden = sum(game.key not in keys for game in self.games[self.reach :])
        schedule = self._replace(
            games=games,
            place=Map({game.key: i for i, game in enumerate(games)}),
            off=self.off.update(dict.fromkeys(keys)),
            left=self.left - len(keys),
            front=0,
            reach=len(games) - hidden,
        )
        return schedule.extended(()), called_off


def game_name(pairing: Pairing) -> str:
    """Return the name of a game in messages, such as ``A - B (encounter 2, game 1)``."""
    return f"{pairing.white} - {pairing.black} (encounter {pairing.meeting}, game {pairing.leg})"


_Round = tuple[tuple[int, int], ...]  # pairs of seats in board order


def berger(seats: int) -> tuple[_Round, ...]:
    """Return the rounds of the Berger tables as pairs of seats (White, Black). Source: FIDE C.05 annex 1.

    The numbers of games with White and Black of a seat differ by at most one. If the number of seats is odd, the last
    seat of the table is empty, and these numbers are equal.
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
    """Return rounds in which each of the `front` seats meets each of the `back` seats once.

    One row slides along the other one. Pairs are (front seat, back seat), both from 0; no seat plays twice in a round.
    """
    length = max(front, back) if min(front, back) else 0
    return tuple(
        tuple((seat, (number + seat) % length) for seat in range(front) if (number + seat) % length < back)
        for number in range(length)
    )


Order = Literal["berger", "seats", "circle"]
Colors = Literal["balanced", "rows"]


def rounds_of(order: Order, colors: Colors, entrants: int) -> tuple[_Round, ...]:
    """Return rounds of pairs of seats (White, Black), from 0; if the number of entrants is odd, the last seat is empty.

    `berger` means the tables of FIDE C.05 annex 1. The other orders have two rows; each column is a board, and in each
    round all entrants except the first move by one seat. `seats` numbers both rows from left to right (Vuorinen 2010,
    3.1). `circle` numbers the lower row from right to left, so that the first meets the last.

    With `balanced`, the numbers of games with White and Black differ by at most one. If the number of entrants is odd,
    they differ by at most two with `seats` and `circle`, and are equal with `berger`. With `rows`, the upper row has
    White in every second round, and the numbers differ by up to three, or four if the number of entrants is odd.
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
            # The column determines the colors, so an entrant that moves changes its color. In column 0 it is the round.
            parity = number if colors == "rows" or column == 0 else column
            boards.append((one, other) if parity % 2 == 0 else (other, one))
        rounds.append(tuple(pair for pair in boards if max(pair) < entrants))
        lower.append(upper.pop())
        upper.insert(1, lower.pop(0))
    return tuple(rounds)
