"""Time of a round of the Dutch system, compared with a simple implementation with networkx and with one matching."""

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

BEFORE = 5  # rounds before the measured one
FEWEST = 8  # entrants that can play all these rounds
TIMES = (0.2, 1, 4)  # times the engines of the other benchmarks: 20, 100, 400


def dutch(settings: Settings) -> Iterator[str]:
    """Measure three fields; the simple implementation is too slow for the largest one."""
    for times in TIMES:
        count = max(FEWEST, int(times * settings.engines))
        field = played(count)
        plain = times < TIMES[-1]
        base: Callable[[], object] = partial(oracle, field) if plain else partial(best_matching, *groups(count))
        name = "simple implementation" if plain else "one matching by score groups"
        mine, theirs = in_turn(settings.rounds, partial(pair_dutch, field), base)
        yield line(f"a Dutch round of {count} after {BEFORE}", mine, theirs, name)


def played(count: int) -> Field:
    """Return a field of entrants after five Dutch rounds with random results."""
    dice, field = random.Random(count), entered(count, 2 * BEFORE)
    for _ in range(BEFORE):
        field = after(field, pair_dutch(field), dice)
    return field
