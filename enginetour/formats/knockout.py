"""Knockout: an entrant that loses a match is out; the table is ordered by rounds won or passed with a bye (CPS)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from pydantic import Field as Setting

from enginetour.formats.brackets import (
    Knockout,
    KnockoutMatch,
    KnockoutOptions,
    Node,
    advance,
    bracket_leaves,
    bracket_size,
    full_couples,
    neighbours,
    played_rounds,
    separate_families,
)
from enginetour.formats.pairing import standings
from enginetour.formats.pairing.field import Dice, Field, Kind, Member, Paired, Turn
from enginetour.model.game import StandingsRow


class SingleEliminationOptions(KnockoutOptions):
    """Settings of the knockout."""

    seeding: Literal["fold", "lottery", "list"] = Setting(  # type: ignore[assignment]  # adds list
        default="fold",
        description="fold: the first entrant meets the last, in entry order; lottery: random pairs; list: the first "
        "entrant meets the second, the third the fourth, and winners of neighboring matches meet.",
    )
    passes: Literal["top", "lot"] = Setting(
        default="top",
        description="Entrants that have a bye in round 1 if the bracket is not full: the top seeds (top), or random "
        "entrants (lot).",
    )
    third_place: bool = Setting(
        default=False, description="Play a match for third place between the losers of the semi-finals."
    )
    part_families: bool = Setting(
        default=True,
        description="Place entrants of the same family in different quarters of the bracket, as far as seeds of equal "
        "rank allow it; no effect with seeding = list.",
    )


@dataclass(frozen=True, slots=True)
class _Tree:
    """Bracket before a round. `nodes` are the remaining entrants in order; neighbors meet.

    `semi` has the losers of the semi-finals if they play for third place.
    """

    nodes: tuple[Node, ...]
    third: bool = False
    semi: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        return {2: "final", 4: "semi-final", 8: "quarter-final"}.get(len(self.nodes), f"round of {len(self.nodes)}")

    def matches(self, there: Collection[int]) -> list[tuple[int, int]]:
        """Return the pairs in which both entrants are present, from left to right, then the match for third place."""
        found = full_couples(neighbours(self.nodes))
        if len(self.nodes) == 2 and len(self.semi) == 2 and set(self.semi) <= set(there):
            found.append((self.semi[0], self.semi[1]))
        return found

    def left(self, there: Collection[int]) -> _Tree:
        """Return the bracket without absent entrants, at the next round that has a match.

        Rounds in which all entrants have a bye are skipped.
        """
        tree = replace(self, nodes=tuple(node if node in there else None for node in self.nodes))
        while len(tree.nodes) > 1 and not tree.matches(there):
            tree = tree.after(())
        return tree

    def after(self, duels: Sequence[KnockoutMatch]) -> _Tree:
        """Return the bracket of the winners of these matches and the entrants with a bye."""
        through, fallen = advance(neighbours(self.nodes), duels)
        semi = tuple(loser for loser in fallen if loser is not None)
        return _Tree(through, self.third, semi if self.third and len(self.nodes) == 4 else ())


class SingleElimination(Knockout):
    """Knockout with a bracket that is drawn once; all later rounds are determined by the results."""

    codes = ("CPS",)
    options: SingleEliminationOptions

    def rounds(self, members: tuple[Member, ...]) -> int:
        """Return the binary logarithm of the number of entrants, rounded up."""
        return (len(members) - 1).bit_length()

    def pair(self, field: Field) -> Paired:
        """Pair neighbors of the bracket; the remarks describe the results of the previous round."""
        tree, duels = self._now(field, field.present)
        boards = tuple(self.board(field, pair) for pair in tree.matches(field.present))
        playing = {place for board in boards for place in board.pair}
        byes = tuple(sorted(node for node in tree.nodes if node is not None and node not in playing))
        return Paired(boards, byes if boards else (), "by rule", tuple(duel.text for duel in duels))

    def rules(self, field: Field, paired: Paired, one: int, other: int) -> tuple[str, ...]:
        """Explain in which round two entrants can meet."""
        nodes = self._drawn(field).nodes
        low, high = sorted(nodes.index(place) for place in (one, other))
        rounds = (low ^ high).bit_length()
        called = _Tree(nodes[: len(nodes) >> (rounds - 1)]).name
        text = f"places {low + 1} and {high + 1} of the bracket can meet in round {rounds} of the bracket, the {called}"
        return (*super().rules(field, paired, one, other), text)

    def table(self, field: Field, members: tuple[int, ...]) -> tuple[StandingsRow, ...]:
        """Order the members by CPS; the status shows how far each of them came."""
        status = dict.fromkeys(members, f"in the {self._drawn(field).name}")
        history = []
        for tree, duels in self._course(field, members):
            coming = tree.after(duels)
            through = "winner" if len(coming.nodes) == 1 else f"in the {coming.name}"
            status |= dict.fromkeys((node for node in coming.nodes if node is not None), through)
            points = dict.fromkeys((node for node in tree.nodes if node is not None), 2)
            for duel in duels:
                minor = duel.white in tree.semi
                for place in (duel.white, duel.black):
                    won = place == duel.winner
                    points[place] = 1 if not duel.over else 2 * won
                    if minor:
                        status[place] = (
                            "in the match for third place" if not duel.over else "third" if won else "fourth"
                        )
                    elif not won:
                        status[place] = f"in the {tree.name}" if not duel.over else f"lost the {tree.name}"
            history.append(tuple(Turn(Kind.PLAYED, points=points.get(m, 0)) for m in range(len(field.members))))
        last, matches = self._now(field, members)
        if len(last.nodes) == 1 and last.nodes[0] is not None and all(duel.over for duel in matches):
            status[last.nodes[0]] = "winner"
        seat = {member.name: number for number, member in enumerate(field.members)}
        lines = []
        for line in standings.rank_by_codes(Field(field.members, tuple(history)), self.codes, members):
            m = seat[line.name]
            score, games, without = field.scores[m], field.games(m), field.unplayed(m)
            lines.append(replace(line, half_points=score, games=games, unplayed=without, status=status[m]))
        return tuple(lines)

    def boards_ahead(self, field: Field, _rounds_left: int) -> tuple[int, int]:
        """Return the fewest and the most matches that are still to be played.

        Every match except the one for third place eliminates one entrant. If an entrant withdrew in this round, the
        bounds are wide.
        """
        tree, _ = self._now(field, field.present, skipping=False)
        alive = [node for node in tree.nodes if node in field.present]
        quarter = max(1, len(tree.nodes) // 4)
        parts = [tree.nodes[at : at + quarter] for at in range(0, len(tree.nodes), quarter)]
        third = int(tree.third and len(parts) == 4 and all(any(n in alive for n in part) for part in parts))
        most = max(0, len(alive) - 1 + third)
        if len(alive) < sum(node is not None for node in tree.nodes):
            return 0, most
        now = tree.left(field.present)
        ahead = most - sum(set(pair) != set(now.semi) for pair in now.matches(field.present))
        return ahead, ahead

    def _drawn(self, field: Field) -> _Tree:
        return _draw(field.members, self.options, field.seed)

    def _now(
        self, field: Field, now: Collection[int], *, skipping: bool = True
    ) -> tuple[_Tree, Sequence[KnockoutMatch]]:
        """Return the bracket before the next round, and the matches of the previous round."""
        tree, duels = self._drawn(field), list[KnockoutMatch]()
        for before, duels in self._course(field, now):
            tree = before.after(duels)
        return (tree.left(now) if skipping else tree), duels

    def _course(self, field: Field, now: Collection[int]) -> Iterator[tuple[_Tree, list[KnockoutMatch]]]:
        tree = self._drawn(field)
        for seen in played_rounds(field, now):
            tree = tree.left(seen.there)
            duels = [self.duel(pair, seen, field.members) for pair in tree.matches(seen.there)]
            yield tree, duels
            tree = tree.after(duels)


def _adjacent_leaves(order: Sequence[int], passing: Collection[int]) -> tuple[Node, ...]:
    """Return the bracket in the order of `order`; each entrant in `passing` has a bye and is next to an empty place."""
    playing = [entrant for entrant in order if entrant not in passing]
    mates: dict[int, Node] = dict(zip(playing[::2], playing[1::2], strict=True)) | dict.fromkeys(passing)
    return tuple(leaf for entrant in order if entrant in mates for leaf in (entrant, mates[entrant]))


@lru_cache(maxsize=16)
def _draw(members: tuple[Member, ...], options: SingleEliminationOptions, seed: int) -> _Tree:
    # The seed word "cup" is the former name of this format. Another word would change the draw of stored tournaments.
    dice, everybody = Dice(seed, "cup", 1, 0), range(len(members))
    folded = options.seeding == "fold"
    order = list(everybody) if folded else dice.shuffled(everybody)
    spare = bracket_size(len(members)) - len(members)
    passing = list(everybody)[:spare] if options.passes == "top" else dice.shuffled(everybody)[:spare]
    if options.seeding == "list":
        return _Tree(_adjacent_leaves(everybody, passing), options.third_place)
    row = bracket_leaves(order, passing, folded=folded)
    if options.part_families:
        row = separate_families(row, [member.family for member in members], folded=folded)
    return _Tree(row, options.third_place)
