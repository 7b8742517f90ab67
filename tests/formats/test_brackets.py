"""Tests of formats/brackets."""

import random
from itertools import permutations, product

import pytest

from enginetour.formats.brackets import bracket_leaves, bracket_size, family_crowding, seed_labels, separate_families


def test_labels_are_those_of_seeds() -> None:
    """If the better seed always wins, each round pairs the first with the last."""
    assert [bracket_size(count) for count in (2, 3, 4, 5, 8, 9)] == [2, 4, 4, 8, 8, 16]
    for size in (2, 4, 8, 16, 32):
        row = list(seed_labels(size))
        while len(row) > 1:
            couples = list(zip(row[::2], row[1::2], strict=True))
            assert all(one + other == len(row) + 1 for one, other in couples)
            row = [min(couple) for couple in couples]


def test_five_with_passes_for_the_top() -> None:
    """Of five entrants, the fourth and fifth play and the top seeds pass."""
    assert bracket_leaves(range(5), [0, 1, 2], folded=True) == (0, None, 3, 4, 1, None, 2, None)
    assert bracket_leaves(range(5), [4, 2, 3], folded=True) == (0, 1, 4, None, 2, None, 3, None)
    assert bracket_leaves([3, 0, 4, 1, 2], [4, 1, 2], folded=False) == (3, 0, 2, None, 4, None, 1, None)


@pytest.mark.parametrize("seed", range(60))
def test_families_are_parted_as_well_as_can_be(seed: int) -> None:
    """No exchange of equal seeds separates families better, in fields of up to eight."""
    dice = random.Random(seed)
    count = dice.randint(5, 8)
    row = bracket_leaves(range(count), range(8 - count), folded=True)
    families = [dice.choice(["", "x", "y", "z"]) for _ in range(count)]
    found = separate_families(row, families, folded=True)
    tiers: dict[object, list[int]] = {}
    for leaf, label in enumerate(seed_labels(8)):
        if row[leaf] is not None:
            tiers.setdefault(((label - 1).bit_length(), row[leaf ^ 1] is None), []).append(leaf)
    for tier in tiers.values():
        assert {found[leaf] for leaf in tier} == {row[leaf] for leaf in tier}
    ways = []
    for orders in product(*(permutations(tier) for tier in tiers.values())):
        way = list(row)
        for tier, order in zip(tiers.values(), orders, strict=True):
            for leaf, source in zip(tier, order, strict=True):
                way[leaf] = row[source]
        ways.append(family_crowding(way, families))
    assert family_crowding(found, families) == min(ways)
