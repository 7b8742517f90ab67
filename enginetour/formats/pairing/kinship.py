"""Criteria of families and origins: what a meeting of strangers is worth in groups of score difference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from enginetour.formats.pairing.field import Field
from enginetour.formats.pairing.lineup import Flags, Ints, Lineup
from enginetour.formats.pairing.present import PROGRAM, Criterion, curve

UPPERMOST = 10**11  # OpenGotha 3.51: what the criterion is worth at most if it weighs no more than the score
STRANGERS, ALLIED, SAME = 0, 1, 2  # families that differ, differ inside a declared group, are one


def codes(words: Sequence[str]) -> Ints:
    """One number for each word, capitals or not; a blank is unlike every other."""
    known: dict[str, int] = {}
    folded = [word.strip().casefold() for word in words]
    numbers = [known.setdefault(word, len(known)) if word else -1 - at for at, word in enumerate(folded)]
    return np.array(numbers, dtype=np.int64)


def families(field: Field, lineup: Lineup) -> Ints:
    """A number for the family of everybody in the lineup."""
    return codes([field.members[at].family for at in lineup.member.tolist()])


def same_family(field: Field, lineup: Lineup) -> Flags:
    """Which pairs are of one family, as a matrix over the lineup."""
    family = families(field, lineup)
    return np.equal(family[:, None], family)


def kinship(
    field: Field,
    lineup: Lineup,
    most: int,
    *,
    family_worth: float = 3.0,
    origin_worth: float = 1.0,
    groups: Sequence[Sequence[str]] = (),
) -> Criterion:
    """Strange origins buy `origin_worth` groups of score difference, strange families `family_worth`.

    Families of one of the declared `groups` are half strange. May be negative where `most` is above the score's
    weight, as in the Swiss by category.
    """
    family, origin = families(field, lineup), codes([field.members[at].origin for at in lineup.member.tolist()])
    declared = {name.strip().casefold(): number for number, names in enumerate(groups) for name in names}
    names = [field.members[at].family.strip().casefold() for at in lineup.member.tolist()]
    alliance = np.array([declared.get(name, -1 - at) for at, name in enumerate(names)], dtype=np.int64)
    count = lineup.span.all_groups
    # OpenGotha 3.51: a family has a fifth more than its worth, an allied one half of it
    family_share = (min(family_worth * 12 / 10 / count, 1.0), family_worth / 2 / count, 0.0)
    table = np.array(
        [
            [_worth(most, count, origin_worth / count * strange, family_share[relation]) for strange in (0, 1)]
            for relation in (STRANGERS, ALLIED, SAME)
        ],
        dtype=np.int64,
    )

    def value(one: Ints, other: Ints) -> Ints:
        relation = np.where(alliance[one] == alliance[other], ALLIED, STRANGERS)
        relation = np.where(family[one] == family[other], SAME, relation)
        worth: Ints = table[relation, (origin[one] != origin[other]).astype(np.int64)]
        return worth

    return Criterion("kinship", most, PROGRAM, value)


def _worth(most: int, groups: int, origin: float, family: float) -> int:
    origin = min(origin, 1.0)
    share = max(origin, family) + min(origin, family) / 2
    if share > 0:
        share += 0.5 / groups
    return min(min(most, UPPERMOST) - curve(most, share), most)
