"""Who goes down when a group is odd, and to whom: floats that undo earlier ones first, then by place or by a rule.

rule          goes down                        comes up                          source
position      top, middle or bottom            top, middle or bottom             Gotha
sos-even      highest SOS                      lowest SOS                        Gerlach, as reconstructed
godraw        lost the last round              floated down last time and won    GoDraw
information   -                                most wins, to one 100-300 points  Vuorinen 2010
                                               above the strongest it has beaten
compensate    whom it evens out, no more       the same                          Gotha
fide          bottom; floats of two rounds     top                               FIDE C.04.3
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from enginetour.formats.pairing.field import Field
from enginetour.formats.pairing.lineup import Flags, Ints, Lineup
from enginetour.formats.pairing.present import PROGRAM, Criterion, Value

Position = Literal["top", "middle", "bottom"]
Rule = Literal["position", "sos-even", "godraw", "information", "compensate", "fide"]
REACH = 4  # OpenGotha 3.51: groups this far apart and farther are no float any more
MEMORY: dict[str, int] = {"fide": 2, "godraw": 1}  # rounds in which a float counts: FIDE C.04.3; GoDraw: last time
WINDOW = (100.0, 300.0)  # rating points above the strongest beaten, Vuorinen 2010


@dataclass(frozen=True, slots=True, eq=False)
class Suited:
    """How well everybody in the lineup suits a float, each from 0 to half a unit; `pair` adds up to as much."""

    down: Ints
    up: Ints
    pair: Value | None = None


def floats(lineup: Lineup, suited: Suited, unit: int = 2 * 10**7, *, compensate: bool = True) -> Criterion:
    """Worth of a pair of near groups, up to five units.

    Two units for two who never floated that way, one more for each whose balance it evens; none if both did before.
    """
    group, kind = lineup.group, lineup.category
    was_down, was_up = (lineup.down > 0).astype(np.int64), (lineup.up > 0).astype(np.int64)
    above = below = np.full(len(lineup), unit, dtype=np.int64)
    if compensate:
        above = unit * (1 - was_down + (lineup.up > lineup.down))
        below = unit * (1 - was_up + (lineup.down > lineup.up))
    reach = REACH * lineup.span.step

    def downwards(upper: Ints, lower: Ints) -> Ints:
        worth = above[upper] + below[lower]
        if compensate:
            worth = np.where(was_down[upper] & was_up[lower], 0, worth)
        worth = worth + suited.down[upper] + suited.up[lower]
        return worth if suited.pair is None else worth + suited.pair(upper, lower)

    def value(one: Ints, other: Ints) -> Ints:
        gap = group[other] - group[one]
        worth = np.where(gap > 0, downwards(one, other), downwards(other, one))
        if lineup.span.categories > 1:
            apart = abs(kind[one] - kind[other]) + 1
            worth = worth // apart // apart // apart // apart
        return np.where((gap != 0) & (abs(gap) < reach), worth, 0)

    return Criterion("floats", 5 * unit, PROGRAM, value)


def by_position(lineup: Lineup, down: Position, up: Position, unit: int = 2 * 10**7) -> Suited:
    """By place in the own group."""
    return Suited(_position(lineup, down, unit // 2), _position(lineup, up, unit // 2))


def _position(lineup: Lineup, where: Position, most: int) -> Ints:
    size, place = lineup.size, lineup.place
    off = {"top": place, "middle": abs(2 * place - size + 1), "bottom": size - 1 - place}[where]
    return most * (size - 1 - off) // size


def by_rule(field: Field, lineup: Lineup, rule: Rule, sos: Sequence[int], unit: int = 2 * 10**7) -> Suited:
    """By a rule other than `position`; `sos` is of everybody in the lineup."""
    most, there = unit // 2, lineup.member.tolist()
    nothing = np.zeros(len(lineup), dtype=np.int64)
    if rule == "sos-even":
        rank = _ranks(lineup, np.array(sos, dtype=np.int64))
        return Suited(most * (lineup.size - 1 - rank) // lineup.size, most * rank // lineup.size)
    if rule == "fide":
        return by_position(lineup, "bottom", "top", unit)
    if rule == "compensate" or not field.history:
        return Suited(nothing, nothing)
    if rule == "godraw":
        last = field.history[-1]
        won = [2 * last[at].points > field.win for at in there]
        lost = [last[at].paired and 2 * last[at].points < field.win for at in there]
        returns = (lineup.down > 0) & np.array(won)
        return Suited(most * np.array(lost, dtype=np.int64), most * returns.astype(np.int64))
    return _information(field, lineup, most)


def _ranks(lineup: Lineup, values: Ints) -> Ints:
    """Place by value inside the group, the highest 0, equals by placement."""
    order = np.lexsort((lineup.place, -values, lineup.group))
    first = np.searchsorted(lineup.group[order], lineup.group[order])
    rank = np.empty(len(lineup), dtype=np.int64)
    rank[order] = np.arange(len(lineup)) - first
    return rank


def _information(field: Field, lineup: Lineup, most: int) -> Suited:
    """Ratings that are unknown suit nobody."""
    known = [float("nan") if member.rating is None else member.rating for member in field.members]
    wins, strongest = [0] * len(known), [float("nan")] * len(known)
    for row in field.history:
        for member, turn in enumerate(row):
            if turn.opponent is not None and turn.met and 2 * turn.points > field.win:
                wins[member] += 1
                strongest[member] = float(np.fmax(strongest[member], known[turn.opponent]))
    there = lineup.member
    rating, beaten, won = np.array(known)[there], np.array(strongest)[there], np.array(wins, dtype=np.int64)[there]

    def pair(upper: Ints, lower: Ints) -> Ints:
        ahead = rating[upper] - beaten[lower]
        fits: Flags = (ahead >= WINDOW[0]) & (ahead <= WINDOW[1])
        return np.where(fits, most, 0)

    return Suited(np.zeros(len(lineup), dtype=np.int64), most * won // max(1, int(won.max(initial=0))), pair)
