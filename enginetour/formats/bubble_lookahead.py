"""What is certain of the next round robin while the last matches of this one are open.

The decision is run for every total the open matches can still reach; a game that is in the next round robin in all
cases, with the same colours and numbers, may be played now. Cases differ only in their table, so each pair of leaver
and newcomer is looked at once. Source: bubble spec 6.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import prod

from immutables import Map

from enginetour.formats.bubble_choice import Limits, choose, parted
from enginetour.formats.bubble_state import BubbleState
from enginetour.formats.bubble_table import final_table
from enginetour.formats.pairing.standings import Grid
from enginetour.formats.pairing.tiebreaks import NOTHING, Tally
from enginetour.model.game import Pairing

MOST_MATCHES, MOST_CASES = 4, 100  # open matches, and combinations of their totals (bubble spec 6)

Pair = tuple[str, str]


def certain(state: BubbleState, limits: Limits) -> tuple[Pairing, ...]:
    """Games of the next round robin that are sure to come and not played yet, in playing order."""
    if state.ended or state.due or not (state.old or state.parked):
        return ()
    if not 0 < state.docket.left <= MOST_MATCHES * state.pair_games:
        return ()
    left = Counter(game.pair for game in state.docket.unfinished())
    if len(left) > MOST_MATCHES or prod(2 * games + 1 for games in left.values()) > MOST_CASES:
        return ()
    complete = _all_met(state, left)
    seen: set[tuple[str, str]] = set()
    common: tuple[Pairing, ...] | None = None
    for grid in _cases(state.grid, left):
        lines = final_table(replace(complete, grid=grid))
        choice = choose(complete, lines[0].name, lines[-1].name, limits)
        if (choice.leaver, choice.entry.engine) in seen:
            continue
        seen.add((choice.leaver, choice.entry.engine))
        games = parted(complete, choice).next_round_robin(limits.size).entered(choice.entry).docket.games
        common = games if common is None else tuple(game for game in common if game in games)
        if not common:
            return ()
    return tuple(game for game in common or () if game.key not in state.early.results)


def _all_met(state: BubbleState, pairs: Mapping[Pair, int]) -> BubbleState:
    """As at the decision, but for the results; which of two leaves the section does not change who has met whom."""
    met = state.met
    for pair in pairs:
        for name, other in (pair, pair[::-1]):
            met = met.set(name, met.get(name, frozenset()) | {other})
    return replace(state, met=met)


def _cases(grid: Grid, left: Mapping[Pair, int]) -> Iterator[Grid]:
    """The tallies after all the open matches, for every combination of their totals; wins are not told."""
    if not left:
        yield grid
        return
    (pair, games), *others = left.items()
    for points in range(2 * games + 1):
        filled = grid
        for (name, other), gained in ((pair, points), (pair[::-1], 2 * games - points)):
            row = filled.get(name, Map[str, Tally]())
            old = row.get(other, NOTHING)
            filled = filled.set(name, row.set(other, Tally(old.half_points + gained, old.games + games, old.wins)))
        yield from _cases(filled, dict(others))
