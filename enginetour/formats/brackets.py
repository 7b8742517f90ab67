"""Brackets and matches of knockout formats: which entrants advance.

A match consists of the games of a pairing. While it is tied, game pairs with reversed colors follow, up to a limit,
then one last game ("sudden death") in which a draw counts as a win for Black. If the match is still tied, the higher
seed advances. The entry order is the seeding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import Field as Setting

from enginetour.formats.base import ColorOptions, GamesOfMatch, RoundsByName
from enginetour.formats.pairing.field import BLACK, Board, Field, Kind, Member, Paired, Turn
from enginetour.formats.rounds import PairingSystem, StartingGroup


class KnockoutOptions(ColorOptions):
    """Settings of all knockout formats; the number of entrants determines the number of rounds."""

    colors_by: ClassVar[str] = "the bracket"
    scoring: ClassVar[str] = "games"
    placement: ClassVar[tuple[str, ...]] = ()
    unplayed: ClassVar[Literal["preset"]] = "preset"
    absent: ClassVar[RoundsByName] = {}
    half_bye: ClassVar[RoundsByName] = {}

    games_per_pairing: GamesOfMatch = 2
    seeding: Literal["fold", "lottery"] = Setting(
        default="fold", description="fold: the first entrant meets the last, in entry order; lottery: random pairs."
    )
    extra_pairs: int = Setting(
        default=2, ge=0, le=50, description="Maximum number of game pairs added to a tied match."
    )
    sudden_death: bool = Setting(
        default=True,
        description="Add a last game to a match that is still tied after the game pairs. A draw in it counts as a win "
        "for Black. If this game is not played or is void, the higher seed advances.",
    )


@dataclass(frozen=True, slots=True)
class KnockoutMatch:
    """State of a match between two entrants; `white` has White in game 1.

    `text` describes the result when the match is over, and is "" before.
    """

    white: int
    black: int
    winner: int | None = None
    text: str = ""

    @property
    def over(self) -> bool:
        """Return whether no game of the match is left; if there is no winner then, both entrants withdrew."""
        return bool(self.text)

    @property
    def loser(self) -> int | None:
        """Return the entrant that lost or withdrew, or None if the match has no winner."""
        return None if self.winner is None else self.white + self.black - self.winner


@dataclass(frozen=True, slots=True)
class PlayedRound:
    """A finished round: the entrants present at its start, its results, and the entrants present after it."""

    there: frozenset[int]
    row: tuple[Turn, ...]
    after: frozenset[int]


def played_rounds(field: Field, now: Collection[int]) -> Iterator[PlayedRound]:
    """Return the rounds of the history; `now` has the entrants that are still in the tournament.

    An entrant that advanced but is not present in the next round has withdrawn.
    """
    there = [frozenset(m for m, turn in enumerate(row) if turn.kind is not Kind.ABSENT) for row in field.history]
    for row, before, after in zip(field.history, there, [*there[1:], frozenset(now)], strict=False):
        yield PlayedRound(before, row, after)


class Knockout(PairingSystem):
    """Rules that all knockout formats share: matches, their extra games and their colors."""

    options: KnockoutOptions
    late_entry = False
    extensible = False

    def check(self, members: tuple[Member, ...]) -> None:
        """Raise ValueError if there are fewer than two entrants."""
        if len(members) < 2:
            raise ValueError("a knockout needs at least two entrants")

    def starting_groups(self, _field: Field) -> tuple[StartingGroup, ...]:
        """Return no groups, because a bracket has no points; its pairs and byes show where the entrants start."""
        return ()

    def warnings(self) -> tuple[str, ...]:
        """Return no warnings, because the rounds determine the table, so its codes cannot contradict each other."""
        return ()

    def bye_points(self, _field: Field) -> int:
        """Return 0, because a bye gives no points in a knockout."""
        return 0

    def more(self, _field: Field, _board: Board, points: tuple[int, int], played: int) -> int:
        """Return the number of games to add to a tied match: 2 as long as pairs are left, then 1, then 0."""
        extra, limit = played - self.options.games_per_pairing, 2 * self.options.extra_pairs
        if points[0] != points[1] or extra > limit:
            return 0
        return 2 if extra < limit else int(self.options.sudden_death)

    def games_ahead(self, boards: int) -> int:
        """Return the largest number of extra games on these boards."""
        return boards * (2 * self.options.extra_pairs + int(self.options.sudden_death))

    def rules(self, field: Field, paired: Paired, one: int, other: int) -> tuple[str, ...]:
        """Explain the seeds of two entrants, and whether one of them is out or has a bye."""
        texts = [f"{field.members[place].name} is seed {place + 1}" for place in (one, other)]
        there = {place for board in paired.boards for place in board.pair} | set(paired.byes)
        texts += [f"{field.members[place].name} is out" for place in (one, other) if place not in there]
        texts += [
            f"{field.members[place].name} has a bye and advances without a match"
            for place in (one, other)
            if place in paired.byes
        ]
        return tuple(texts)

    def board(self, field: Field, pair: tuple[int, int]) -> Board:
        """Return the board of a pair.

        In a match of one game, the entrant that had White less often has White. Otherwise the lower seed has White in
        game 1, so the higher seed has Black in a last game.
        """
        high, low = sorted(pair)
        turned = self.options.games_per_pairing == 1 and field.balance(high) < field.balance(low)
        return Board(high, low) if turned else Board(low, high)

    def duel(self, pair: tuple[int, int], seen: PlayedRound, names: Sequence[Member]) -> KnockoutMatch:
        """Return the result of a match; if an entrant withdrew during the match, the other one advances."""
        white, black = sorted(pair, reverse=True)
        if seen.row[white].color == BLACK:
            white, black = black, white
        turns = seen.row[white], seen.row[black]
        extra = turns[0].games - self.options.games_per_pairing
        lead, limit = turns[0].points - turns[1].points, 2 * self.options.extra_pairs
        if extra < 0 or (lead == 0 and extra < limit + self.options.sudden_death):
            stayed = [place for place in (white, black) if place in seen.after]
            if len(stayed) == 2:
                return KnockoutMatch(white, black)
            if not stayed:
                return KnockoutMatch(white, black, None, f"{names[white].name} and {names[black].name} withdrew")
            winner, how = stayed[0], "withdrew"
        elif lead:
            winner = white if lead > 0 else black
            how = "" if extra <= 0 else f" after {extra} more games" if extra <= limit else " in the last game"
        elif extra > limit:
            winner, how = black, " by a draw with Black in the last game"
        else:
            winner, how = min(white, black), " as the higher seed"
        other = names[white + black - winner].name
        if how == "withdrew":
            return KnockoutMatch(white, black, winner, f"{names[winner].name} advances, {other} withdrew")
        score = "-".join(f"{turn.points / 2:g}" for turn in (turns if winner == white else turns[::-1]))
        return KnockoutMatch(white, black, winner, f"{names[winner].name} beat {other} {score}{how}")


Node = int | None  # the place of a member, or None
Couple = tuple[Node, Node]


def neighbours(nodes: Sequence[Node]) -> list[Couple]:
    """Return the pairs of neighbors in a row of the bracket, which meet; the list is empty if the row has one node."""
    return list(zip(nodes[::2], nodes[1::2], strict=True)) if len(nodes) > 1 else []


def full_couples(couples: Iterable[Couple]) -> list[tuple[int, int]]:
    """Return the couples in which both members are present."""
    return [(one, other) for one, other in couples if one is not None and other is not None]


def advance(couples: Iterable[Couple], duels: Sequence[KnockoutMatch]) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
    """Return for each couple the entrant that advances and the loser of the match.

    An entrant without an opponent advances. The loser is None if there was no match or no loser.
    """
    by_couple = {frozenset[Node]((duel.white, duel.black)): duel for duel in duels}
    found = [(couple, by_couple.get(frozenset(couple))) for couple in couples]
    through = tuple(duel.winner if duel else couple[couple[0] is None] for couple, duel in found)
    return through, tuple(duel.loser if duel else None for _, duel in found)


def seed_labels(size: int) -> tuple[int, ...]:
    """Return the seeds at the leaves of a bracket of `size` leaves, from left to right.

    If the better seed always wins, the two seeds of a pair in a round of n add up to n + 1. The best seeds of each
    half, quarter and so on are as far apart as possible.
    """
    row: tuple[int, ...] = (1,)
    while len(row) < size:
        row = tuple(label for best in row for label in (best, 2 * len(row) + 1 - best))
    return row


def bracket_size(entrants: int) -> int:
    """Return the number of leaves of the smallest bracket for this number of entrants."""
    return 1 << (entrants - 1).bit_length()


def bracket_leaves(order: Sequence[int], passing: Collection[int], *, folded: bool) -> tuple[Node, ...]:
    """Return the leaves of a bracket; each entrant in `passing` has a bye in round 1 and is next to an empty leaf.

    If `folded`, the best of the other entrants meets the last, and pairs are placed by their better seed. Otherwise
    neighbors in `order` meet and pairs are placed in this order; if `order` is random, the whole bracket is random.
    """
    playing = [entrant for entrant in order if entrant not in passing]
    half = len(playing) // 2
    opponents = playing[: half - 1 : -1] if folded else playing[1::2]
    couples: list[tuple[int, Node]] = [(entrant, None) for entrant in passing]
    couples += zip(playing[:half] if folded else playing[::2], opponents, strict=True)
    seat = {entrant: number for number, entrant in enumerate(order)}
    couples.sort(key=lambda couple: seat[couple[0]])
    return tuple(leaf for label in seed_labels(len(couples)) for leaf in couples[label - 1])


def family_crowding(row: Sequence[Node], families: Sequence[str]) -> tuple[int, ...]:
    """Return the number of pairs of the same family that can meet inside a quarter, an eighth, ... of the bracket.

    `families` contains the family of each entrant in entry order, or "" for an entrant without a family.
    """
    found, size = [], len(row) // 4
    while size > 1:
        kin = Counter(
            (leaf // size, families[entrant])
            for leaf, entrant in enumerate(row)
            if entrant is not None and families[entrant]
        )
        found.append(sum(count * (count - 1) // 2 for count in kin.values()))
        size //= 2
    return tuple(found)


def separate_families(leaves: Sequence[Node], families: Sequence[str], *, folded: bool) -> tuple[Node, ...]:
    """Exchange entrants until no exchange lowers `family_crowding`; exchanges of near seeds are tried first.

    Two entrants are exchanged only if both of them or neither of them has a bye. If `folded`, they must also be in the
    same tier of seeds (3-4, 5-8, 9-16, ...), so that the best entrants still meet as late as possible.
    """
    row, best = list(leaves), family_crowding(leaves, families)
    labels = seed_labels(len(row))
    rank = [((labels[leaf] - 1).bit_length() if folded else 0, row[leaf ^ 1] is None) for leaf in range(len(row))]
    equals = sorted(
        (abs(labels[one] - labels[other]), one, other)
        for one in range(len(row))
        for other in range(one)
        if rank[one] == rank[other] and None not in (row[one], row[other])
    )
    better = True
    while better and any(best):
        better = False
        for _, one, other in equals:
            row[one], row[other] = row[other], row[one]
            fewer = family_crowding(row, families)
            if fewer < best:
                best, better = fewer, True
            else:
                row[one], row[other] = row[other], row[one]
    return tuple(row)
