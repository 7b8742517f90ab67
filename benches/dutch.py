"""A round of the Dutch system after five others, against its plain reading in networkx and against one matching."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial

from benches.matching import groups
from benches.measure import Settings, in_turn, line
from enginetour.formats.dutch import pair_dutch
from enginetour.formats.pairing.field import Field
from enginetour.formats.pairing.matching import best_matching
from tests.laws.dutch_oracle import oracle
from tests.support.databases import after, entered

BEFORE = 5  # rounds
FEWEST = 8  # entrants that can play them and one more
TIMES = (0.2, 1, 4)  # the engines of the other parts: 20, 100, 400


def dutch(settings: Settings) -> Iterator[str]:
    """The plain reading plays in all fields but the largest."""
    for times in TIMES:
        count = max(FEWEST, int(times * settings.engines))
        field = played(count)
        plain = times < TIMES[-1]
        base: Callable[[], object] = partial(oracle, field) if plain else partial(best_matching, *groups(count))
        name = "plain reading" if plain else "one matching by score groups"
        mine, theirs = in_turn(settings.rounds, partial(pair_dutch, field), base)
        yield line(f"a Dutch round of {count} after {BEFORE}", mine, theirs, name)


def played(count: int) -> Field:
    """So many entrants, who have played five Dutch rounds with dice."""
    dice, field = random.Random(count), entered(count, 2 * BEFORE)
    for _ in range(BEFORE):
        field = after(field, pair_dutch(field), dice)
    return field
