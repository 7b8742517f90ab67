"""Brackets and the matches of knockout systems: which entrants advance.

A match is the games of a pairing; while it is level, more games in pairs of reversed colours follow up to a limit, then
one of sudden death in which a draw counts for Black, then the higher seed goes on. Seeds are the entry order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import Field as Setting

from enginetour.formats.base import ColourOptions, GamesOfMatch, RoundsByName
from enginetour.formats.pairing.field import BLACK, Board, Field, Kind, Member, Paired, Turn
from enginetour.formats.rounds import PairingSystem


class KnockoutOptions(ColourOptions):
    """Settings of every knock-out; the number of rounds follows from the field."""

    colours_by: ClassVar[str] = "the tree"
    scoring: ClassVar[str] = "games"
    placement: ClassVar[tuple[str, ...]] = ()
    unplayed: ClassVar[Literal["preset"]] = "preset"
    absent: ClassVar[RoundsByName] = {}
    half_bye: ClassVar[RoundsByName] = {}

    games_per_pairing: GamesOfMatch = 2
    seeding: Literal["fold", "lottery"] = Setting(
        default="fold", description="fold: first against last, the entry order seeds; lottery: all by lot"
    )
    extra_pairs: int = Setting(
        default=2, ge=0, le=50, description="a level match goes on, by at most so many pairs of games"
    )
    sudden_death: bool = Setting(
        default=True, description="still level: one game more, a draw counts for Black; then the higher seed goes on"
    )


@dataclass(frozen=True, slots=True)
class KnockoutMatch:
    """A match as it stands: places of both, the first with White in the first game; `text` once it is over."""

    white: int
    black: int
    winner: int | None = None
    text: str = ""

    @property
    def over(self) -> bool:
        """No game of it is to come; without a winner both withdrew."""
        return bool(self.text)

    @property
    def loser(self) -> int | None:
        """Who was beaten, or left."""
        return None if self.winner is None else self.white + self.black - self.winner


@dataclass(frozen=True, slots=True)
class PlayedRound:
    """One round seen from after it: who was there at its start, and who when the next was paired."""

    there: frozenset[int]
    row: tuple[Turn, ...]
    after: frozenset[int]


def played_rounds(field: Field, now: Collection[int]) -> Iterator[PlayedRound]:
    """The rounds of the history; `now` are those still in. Who was passed on but not there had withdrawn."""
    there = [frozenset(m for m, turn in enumerate(row) if turn.kind is not Kind.ABSENT) for row in field.history]
    for row, before, after in zip(field.history, there, [*there[1:], frozenset(now)], strict=False):
        yield PlayedRound(before, row, after)


class Knockout(PairingSystem):
    """The rules of a match and its story; subclasses know the tree."""

    options: KnockoutOptions
    late_entry = False
    extensible = False

    def check(self, members: tuple[Member, ...]) -> None:
        """ValueError: nobody to play against."""
        if len(members) < 2:
            raise ValueError("a knock-out needs at least two entrants")

    def warnings(self) -> tuple[str, ...]:
        """The table follows from the rounds: no codes that could contradict each other."""
        return ()

    def bye_points(self, _field: Field) -> int:
        """A pass goes on without points: they are those of games."""
        return 0

    def more(self, _field: Field, _board: Board, points: tuple[int, int], played: int) -> int:
        """Two games while there are pairs left, then sudden death, then nothing."""
        extra, limit = played - self.options.games_per_pairing, 2 * self.options.extra_pairs
        if points[0] != points[1] or extra > limit:
            return 0
        return 2 if extra < limit else int(self.options.sudden_death)

    def games_ahead(self, boards: int) -> int:
        """All pairs and the sudden death on every board."""
        return boards * (2 * self.options.extra_pairs + int(self.options.sudden_death))

    def rules(self, field: Field, paired: Paired, one: int, other: int) -> tuple[str, ...]:
        """Seeds, who is out and who passes; a tree adds where two can meet."""
        texts = [f"{field.members[place].name} is seed {place + 1}" for place in (one, other)]
        there = {place for board in paired.boards for place in board.pair} | set(paired.byes)
        texts += [f"{field.members[place].name} is out" for place in (one, other) if place not in there]
        texts += [
            f"{field.members[place].name} passes: nobody is left to meet in this round"
            for place in (one, other)
            if place in paired.byes
        ]
        return tuple(texts)

    def board(self, field: Field, pair: tuple[int, int]) -> Board:
        """With one game White goes to who had it less often; else, and with both colours, to the lower seed first.

        So the higher seed is Black, should sudden death come.
        """
        high, low = sorted(pair)
        turned = self.options.games_per_pairing == 1 and field.balance(high) < field.balance(low)
        return Board(high, low) if turned else Board(low, high)

    def duel(self, pair: tuple[int, int], seen: PlayedRound, names: Sequence[Member]) -> KnockoutMatch:
        """What became of a match; of one that was called off in the middle, who stayed goes on."""
        white, black = sorted(pair, reverse=True)
        if seen.row[white].colour == BLACK:
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
            how = "" if extra <= 0 else f" after {extra} more games" if extra <= limit else " in sudden death"
        elif extra > limit:
            winner, how = black, ": a draw with Black in sudden death"
        else:
            winner, how = min(white, black), ": the higher seed"
        other = names[white + black - winner].name
        if how == "withdrew":
            return KnockoutMatch(white, black, winner, f"{names[winner].name} goes on, {other} withdrew")
        score = "-".join(f"{turn.points / 2:g}" for turn in (turns if winner == white else turns[::-1]))
        return KnockoutMatch(white, black, winner, f"{names[winner].name} beat {other} {score}{how}")


Node = int | None  # a member's place; nobody
Couple = tuple[Node, Node]


def neighbours(nodes: Sequence[Node]) -> list[Couple]:
    """Who is to meet in a row of a tree with more than one node."""
    return list(zip(nodes[::2], nodes[1::2], strict=True)) if len(nodes) > 1 else []


def full_couples(couples: Iterable[Couple]) -> list[tuple[int, int]]:
    """Those of which both are there."""
    return [(one, other) for one, other in couples if one is not None and other is not None]


def advance(couples: Iterable[Couple], duels: Sequence[KnockoutMatch]) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
    """The winners of these matches and whoever passed, couple by couple, and the losers."""
    by_couple = {frozenset[Node]((duel.white, duel.black)): duel for duel in duels}
    found = [(couple, by_couple.get(frozenset(couple))) for couple in couples]
    through = tuple(duel.winner if duel else couple[couple[0] is None] for couple, duel in found)
    return through, tuple(duel.loser if duel else None for _, duel in found)


def seed_labels(size: int) -> tuple[int, ...]:
    """Labels of a tree's leaves from left to right, 1 to 2^k, as seeds have.

    As long as the lower label wins, those of a pair in a round of n add up to n + 1; the best of each half, quarter,
    ... are as far apart as can be.
    """
    row: tuple[int, ...] = (1,)
    while len(row) < size:
        row = tuple(label for best in row for label in (best, 2 * len(row) + 1 - best))
    return row


def bracket_size(entrants: int) -> int:
    """Leaves of the smallest tree with room for so many."""
    return 1 << (entrants - 1).bit_length()


def bracket_leaves(order: Sequence[int], passing: Collection[int], *, folded: bool) -> tuple[Node, ...]:
    """Everybody of `order` on a leaf, those `passing` beside an empty one.

    Folded, the best of those who play meets the last, and pairs are placed by their better seed; else those who play
    meet their neighbours in `order` and pairs are placed as they come: with an order by lot, all is by lot.
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
    """Pairs of one family that could meet inside a quarter of the tree, inside an eighth, ..., a pair.

    `families` are by entry order, "" for none.
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
    """Exchange entrants until no exchange lessens `family_crowding`, the nearest seeds first.

    Only equals change seats: both pass or neither does and, folded, they are of one tier (3-4, 5-8, 9-16, ...), so
    that the best still meet as late as they should.
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
