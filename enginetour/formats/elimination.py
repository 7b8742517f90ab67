"""Double elimination: an entrant is out after two lost matches; rounds are paired by score groups or fixed brackets."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Literal

import numpy as np
from pydantic import Field as Setting

from enginetour.formats.brackets import (
    Couple,
    Knockout,
    KnockoutMatch,
    KnockoutOptions,
    Node,
    PlayedRound,
    advance,
    bracket_leaves,
    bracket_size,
    full_couples,
    neighbours,
    played_rounds,
)
from enginetour.formats.pairing.field import Dice, Field, Member, Paired
from enginetour.formats.pairing.matching import relaxed_matching
from enginetour.model.game import StandingsRow

Pair = tuple[int, int]


def _group_pairs(field: Field, losses: Sequence[int], order: Sequence[int]) -> list[Pair]:
    """Pair the next round of entrants with fewer than two losses; `order` has all members, best first.

    Unbeaten entrants meet each other, and entrants with one loss meet each other. If both groups are odd, the lowest
    unbeaten entrant meets the highest of the others. If one group is odd, one of its entrants has a bye: the highest
    of those with the fewest byes. Inside a group, the first meets the last, the second meets the last but one, and so
    on, as far as possible.

    Rematches are avoided within these rules: the first choice without a rematch is taken, otherwise the choice with the
    fewest and least recent rematches.
    """
    there = [place for place in order if place in field.present and losses[place] < 2]
    best: tuple[tuple[int, ...], list[Pair]] | None = None
    for across, groups in _choices(field, there, losses):
        pairs = [*across, *chain.from_iterable(_folded(field, group) for group in groups)]
        again = sorted((field.meetings[one][other] for one, other in pairs if field.met(one, other)), reverse=True)
        cost = (len(again), *again)
        if best is None or cost < best[0]:
            best = cost, pairs
        if not again:
            break
    return best[1] if best else []


def _choices(field: Field, there: list[int], losses: Sequence[int]) -> Iterator[tuple[list[Pair], list[list[int]]]]:
    """Yield the possible divisions of the entrants, best first.

    A division has the pair across the groups, if there must be one, and the two groups with an even number of entrants.
    """
    groups = [[place for place in there if losses[place] == count] for count in (0, 1)]
    odd = [group for group in groups if len(group) % 2]
    if len(odd) == 2:
        for one in reversed(groups[0]):
            for other in groups[1]:
                yield [(one, other)], [[p for p in group if p not in (one, other)] for group in groups]
    elif odd:
        fewest = min(field.byes(place) for place in odd[0])
        for passing in odd[0]:
            if field.byes(passing) == fewest:
                yield [], [[place for place in group if place != passing] for group in groups]
    else:
        yield [], groups


def _folded(field: Field, group: list[int]) -> list[Pair]:
    """Pair the first of an ordered group with the last, the second with the last but one, and so on.

    If this is not allowed, the sum of the squared distances from this ideal is as small as possible (Vuorinen 2010).
    """
    if not group:
        return []
    seats = np.arange(len(group))
    weights = len(group) ** 2 - (seats[:, None] + seats[None, :] - len(group) + 1) ** 2
    barred = np.array([[field.meetings[one].get(other, 0) for other in group] for one in group])
    return [(group[one], group[other]) for one, other in relaxed_matching(weights, barred).pairs]


@dataclass(frozen=True, slots=True)
class Double:
    """State of the fixed form before a round: a bracket of unbeaten entrants and one of entrants with a loss.

    Losers of round 1 meet their neighbors in the lower bracket. Then two kinds of rounds alternate: winners of the
    lower bracket meet the losers of the next upper round, starting from the opposite end, and then each other. If this
    gives a rematch, entrants change places. Both brackets are ordered from left to right; `drops` has the losers of
    each upper round in order.
    """

    upper: tuple[Node, ...]
    depth: int  # number of rounds of the upper bracket
    reset: bool
    lower: tuple[Node, ...] = ()
    drops: tuple[tuple[Node, ...], ...] = ()
    turn: int = 1
    met: frozenset[frozenset[Node]] = frozenset()

    @property
    def last(self) -> bool:
        """Return whether only the winners of both brackets are left."""
        return self.turn >= 2 * self.depth

    def couples(self) -> tuple[list[Couple], list[Couple]]:
        """Return the couples of the upper and of the lower bracket; in the last round, these are the two winners."""
        if self.last:
            return [(self.upper[0], self.lower[0])], []
        if self.turn == 1 or self.turn % 2 == 0:
            return neighbours(self.upper), neighbours(self.lower)
        return neighbours(self.upper), self._dropped(self.drops[self.turn // 2])

    def matches(self) -> list[tuple[int, int]]:
        """Return the couples in which both members are present."""
        return full_couples(chain(*self.couples()))

    def left(self, there: Collection[int]) -> Double:
        """Return the brackets without absent entrants, at the next round that has a match.

        Rounds in which all entrants have a bye are skipped.
        """

        def here(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
            return tuple(node if node in there else None for node in nodes)

        tree = replace(self, upper=here(self.upper), lower=here(self.lower), drops=tuple(map(here, self.drops)))
        while not tree.last and not tree.matches():
            tree = tree.after(())
        return tree

    def after(self, duels: Sequence[KnockoutMatch]) -> Double:
        """Return the brackets after these matches.

        Winners and entrants with a bye advance, and losers of the upper bracket move to the lower bracket.
        """
        upper, lower = self.couples()
        (winners, fallen), (through, _) = advance(upper, duels), advance(lower, duels)
        met = self.met | {frozenset((duel.white, duel.black)) for duel in duels}
        later = replace(self, turn=self.turn + 1, met=met)
        if self.last:
            again = self.reset and self.turn == 2 * self.depth and winners == self.lower
            return later if again else replace(later, upper=winners, lower=(None,))
        drops = (*self.drops, fallen)
        return replace(later, upper=winners or self.upper, lower=fallen if self.turn == 1 else through, drops=drops)

    def _dropped(self, drops: tuple[Node, ...]) -> list[Couple]:
        """Pair the lower bracket from the left with `drops` from the right; change places only to avoid rematches."""
        count = len(drops)
        seats = np.arange(2 * count)
        weights = (2 * count) ** 2 - (seats[:, None] + seats[None, :] - 2 * count + 1) ** 2
        nodes = (*self.lower, *drops)
        met = np.array([[int(frozenset((one, other)) in self.met) for other in nodes] for one in nodes])
        sides = seats < count
        found = relaxed_matching(weights, met, sides[:, None] == sides[None, :])
        return [(self.lower[one], nodes[other]) for one, other in found.pairs]


class DoubleEliminationOptions(KnockoutOptions):
    """Settings of double elimination."""

    bracket: Literal["score", "fixed"] = Setting(
        default="score",
        description="score: entrants with the same number of losses form a group and are paired again each round "
        "(Vuorinen 2010); fixed: two fixed brackets, for unbeaten entrants and for entrants with one loss.",
    )
    reset: bool = Setting(
        default=True,
        description="Play a second final if the unbeaten entrant loses the first one, so that no entrant is out after "
        "one loss.",
    )


@dataclass(frozen=True, slots=True)
class Seen:
    """A finished round, the losses of all entrants after it, and, in the fixed form, the brackets before it."""

    played: PlayedRound
    duels: tuple[KnockoutMatch, ...]
    losses: tuple[int, ...]
    tree: Double | None


class DoubleElimination(Knockout):
    """Format of double elimination; losses and pairings are computed from the results and the draw."""

    codes = ()  # the table depends on the rounds only
    options: DoubleEliminationOptions

    def rounds(self, members: tuple[Member, ...]) -> int:
        """Return the largest possible number of rounds.

        With score groups, at least n - 1 of the n entrants of a group play, and in each match one entrant loses one of
        its two lives.
        """
        if self.options.bracket == "fixed":
            return 2 * (len(members) - 1).bit_length() + 1
        lives, rounds = 2 * len(members), 0
        while lives > 1:
            lives -= max(1, (lives + 1) // 2 // 2)
            rounds += 1
        return rounds

    def pair(self, field: Field) -> Paired:
        """Pair the entrants with fewer than two losses; the remarks describe the results of the previous round."""
        seen = list(self._course(field, field.present))
        losses = self._losses(field, seen)
        alive = [place for place in field.present if losses[place] < 2]
        if len(alive) < 2:
            return Paired(())
        pairs = self._pairs(field, seen)
        names = [member.name for member in field.members]
        again = [f"{names[one]} and {names[other]} meet again" for one, other in pairs if field.met(one, other)]
        boards = tuple(self.board(field, pair) for pair in pairs)
        playing = {place for pair in pairs for place in pair}
        byes = tuple(place for place in alive if place not in playing)
        guarantee = "by rule"
        if self.options.bracket == "score":
            guarantee += ", maximum weight inside each group, certified"
        before = seen[-1].duels if seen else ()
        return Paired(boards, byes, guarantee, (*again, *(duel.text for duel in before)))

    def table(self, field: Field, members: tuple[int, ...]) -> tuple[StandingsRow, ...]:
        """Order the members by the rounds they survived, then by remaining lives; equal entrants share a rank.

        The status describes how far each entrant came.
        """
        seen = list(self._course(field, members))
        losses = self._losses(field, seen)
        survived = dict.fromkeys(members, 0)
        for number, round_ in enumerate(seen, 1):
            waiting = {place for duel in round_.duels if not duel.over for place in (duel.white, duel.black)}
            for place in members:
                if round_.losses[place] < 2 and place not in waiting:
                    survived[place] = number
        alive = [place for place in members if losses[place] < 2]
        decided = len(alive) == 1 and all(duel.over for duel in (seen[-1].duels if seen else ()))
        ended = len(seen)
        lines: list[StandingsRow] = []
        rank, last = 1, (0, 0)
        keys = {place: (survived[place], max(0, 2 - losses[place])) for place in members}
        for place in sorted(members, key=lambda member: keys[member], reverse=True):
            if losses[place] < 2:
                status = "winner" if decided else "one loss" if losses[place] else "unbeaten"
            else:
                number = survived[place] + 1
                status = "lost the final" if decided and number == ended else f"out in round {number}"
            if not lines or keys[place] != last:
                rank, last = len(lines) + 1, keys[place]
            name, score, without = field.members[place].name, field.scores[place], field.unplayed(place)
            lines.append(StandingsRow(rank, name, score, field.games(place), status, unplayed=without))
        return tuple(lines)

    def rules(self, field: Field, paired: Paired, one: int, other: int) -> tuple[str, ...]:
        """Explain how many matches each of the two entrants has lost."""
        losses = self._losses(field, list(self._course(field, field.present)))
        texts = [
            f"{field.members[place].name} has lost {losses[place]} matches (an entrant with 2 losses is out)"
            for place in (one, other)
        ]
        score = self.options.bracket == "score"
        how = "inside groups with the same number of losses" if score else "by two fixed brackets"
        return (*super().rules(field, paired, one, other), *texts, f"rounds are paired {how}")

    def boards_ahead(self, field: Field, _rounds_left: int) -> tuple[int, int]:
        """Return the fewest and the most matches that are still to be played.

        Each match costs one life, and one or two lives remain at the end. If an entrant withdrew in this round, the
        bounds are wide.
        """
        seen = list(self._course(field, field.present))
        losses = self._losses(field, seen)
        alive = [place for place in field.present if losses[place] < 2]
        lives = sum(2 - losses[place] for place in alive)
        most = max(0, lives - 1)
        started = seen[-1].played.there if seen else frozenset(range(len(field.members)))
        if any(losses[place] < 2 and place not in field.present for place in started):
            return 0, most
        unbeaten = any(losses[place] == 0 for place in alive)
        if len(alive) == 2 and lives == 3 and not self.options.reset:
            most = 1
        by_tree = self.options.bracket == "fixed"
        now = len(self._pairs(field, seen)) if by_tree else len(alive) // 2
        return max(0, lives - 1 - unbeaten - now), max(0, most - now)

    def _losses(self, field: Field, seen: list[Seen]) -> tuple[int, ...]:
        return seen[-1].losses if seen else (0,) * len(field.members)

    def _pairs(self, field: Field, seen: list[Seen]) -> list[tuple[int, int]]:
        if self.options.bracket == "score":
            return _group_pairs(field, self._losses(field, seen), self._order(field))
        tree = self._tree(field)
        if seen and seen[-1].tree is not None:
            tree = seen[-1].tree.after(seen[-1].duels)
        return tree.left(field.present).matches()

    def _course(self, field: Field, now: Collection[int]) -> Iterator[Seen]:
        losses = [0] * len(field.members)
        tree = self._tree(field) if self.options.bracket == "fixed" else None
        for played in played_rounds(field, now):
            tree = tree.left(played.there) if tree else None
            facing = ((place, turn.opponent) for place, turn in enumerate(played.row))
            pairs = [(place, other) for place, other in facing if other is not None and place < other]
            duels = tuple(self.duel(pair, played, field.members) for pair in pairs)
            alive = sorted(losses[place] for place in played.there if losses[place] < 2)
            cost = 2 if alive == [0, 1] and not self.options.reset else 1
            for duel in duels:
                if duel.loser is not None:
                    losses[duel.loser] += cost
            yield Seen(played, duels, tuple(losses), tree)
            tree = tree.after(duels) if tree else None

    def _order(self, field: Field) -> tuple[int, ...]:
        everybody = range(len(field.members))
        dice = Dice(field.seed, "double-elimination", 1, 0)
        return tuple(everybody if self.options.seeding == "fold" else dice.shuffled(everybody))

    def _tree(self, field: Field) -> Double:
        order = self._order(field)
        return _initial_brackets(order, folded=self.options.seeding == "fold", reset=self.options.reset)


@lru_cache(maxsize=16)
def _initial_brackets(order: tuple[int, ...], *, folded: bool, reset: bool) -> Double:
    """Return both brackets before round 1; the top seeds have a bye if the bracket is not full."""
    size = bracket_size(len(order))
    row = bracket_leaves(order, range(size - len(order)), folded=folded)
    return Double(row, size.bit_length() - 1, reset)
