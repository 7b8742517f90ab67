"""Time of a round of the Gotha systems (weights and certified matching), compared with networkx and the matching."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial

import networkx as nx

from benches.matching import SPREAD
from benches.measure import Settings, in_turn, line
from enginetour.formats.gotha import Gotha
from enginetour.formats.mcmahon import McMahon, McMahonOptions
from enginetour.formats.pairing.field import Field, Member
from enginetour.formats.pairing.matching import relaxed_matching
from enginetour.formats.swiss import SwissGotha, SwissGothaOptions
from tests.support.databases import after

BEFORE = 5  # rounds before the measured one
FEWEST = 8  # entrants that can play all these rounds
TIMES = (1, 10, 20)  # times the engines of the other benchmarks: 100, 1000, 2000
CENTER = 2500.0  # mean rating


def gotha(settings: Settings) -> Iterator[str]:
    """Measure three fields; networkx is too slow for the larger ones."""
    for system in (SwissGotha(SwissGothaOptions()), McMahon(McMahonOptions())):
        for times in TIMES:
            field = played(system, max(FEWEST, times * settings.engines))
            weighed = system.weighed(field)
            assert weighed is not None  # it is only None with `renumber`
            base: Callable[[], object] = partial(relaxed_matching, weighed.weights, weighed.barred)
            name = "its matching alone"
            if times == TIMES[0]:
                graph = nx.Graph()
                for i, j in zip(*(weighed.barred == 0).nonzero(), strict=True):
                    if i < j:
                        graph.add_edge(i, j, weight=int(weighed.weights[i, j]))
                base, name = partial(nx.max_weight_matching, graph, maxcardinality=True), "networkx's matching"
            mine, theirs = in_turn(settings.rounds, partial(system.pair, field), base)
            yield line(f"a {system.name} round of {len(field.members)} after {BEFORE}", mine, theirs, name)


def played(system: Gotha, count: int) -> Field:
    """Return a field of entrants after five rounds of the system with random results."""
    dice = random.Random(count)
    ratings = sorted((dice.gauss(CENTER, SPREAD) for _ in range(count)), reverse=True)
    members = tuple(Member(f"E{at}", rating) for at, rating in enumerate(ratings))
    field = Field(members, (), tuple(range(count)), 2 * BEFORE)
    for _ in range(BEFORE):
        field = after(field, system.pair(field), dice)
    return field
