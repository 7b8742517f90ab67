"""A round of the Gotha kind after five others: weights and certified matching, against networkx and the matching."""

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

BEFORE = 5  # rounds
FEWEST = 8  # entrants that can play them and one more
TIMES = (1, 10, 20)  # the engines of the other parts: 100, 1000, 2000
CENTRE = 2500.0  # rating, in the middle of the field


def gotha(settings: Settings) -> Iterator[str]:
    """Networkx, which gets its graph made, is asked in the smallest field only."""
    for system in (SwissGotha(SwissGothaOptions()), McMahon(McMahonOptions())):
        for times in TIMES:
            field = played(system, max(FEWEST, times * settings.engines))
            weighed = system.weighed(field)
            assert weighed is not None  # so it would be with renumber
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
    """So many entrants, best first, who have played five rounds of the system with dice."""
    dice = random.Random(count)
    ratings = sorted((dice.gauss(CENTRE, SPREAD) for _ in range(count)), reverse=True)
    members = tuple(Member(f"E{at}", rating) for at, rating in enumerate(ratings))
    field = Field(members, (), tuple(range(count)), 2 * BEFORE)
    for _ in range(BEFORE):
        field = after(field, system.pair(field), dice)
    return field
