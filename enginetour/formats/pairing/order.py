"""Members in the order of some codes: each splits those still tied on everything before it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from enginetour.formats.pairing.codes import CODES
from enginetour.formats.pairing.field import Field
from enginetour.formats.pairing.ledger import Ledger
from enginetour.formats.pairing.terms import Terms
from enginetour.model.game import Placed

SHOWN = ("PTS", "NBW")  # are the points of the table's line already
PLAIN = Terms()

Groups = list[tuple[tuple[int, ...], list[int]]]


def ordered(field: Field, codes: Sequence[str], members: Sequence[int], terms: Terms = PLAIN) -> Groups:
    """Members of equal values together, best first, each group in entry order, with the values by `codes`."""
    ledger = Ledger(field, terms)
    keys: dict[int, tuple[int, ...]] = dict.fromkeys(sorted(members), ())
    for code in map(CODES.__getitem__, codes):
        groups = [tied for _, tied in _groups(keys)] if code.tied else [list(keys)]
        fresh: dict[int, int] = {}
        for tied in groups:
            fresh |= zip(tied, code.of(ledger, tied), strict=True)
        keys = {member: (*key, fresh[member]) for member, key in keys.items()}
    return _groups(keys)


def values(field: Field, codes: Sequence[str], terms: Terms = PLAIN) -> dict[str, tuple[int, ...]]:
    """Each code's values of all members, by place in the entry order; codes of tied groups take all as tied."""
    ledger, everybody = Ledger(field, terms), range(len(field.members))
    return {code: tuple(CODES[code].of(ledger, everybody)) for code in codes}


def table(field: Field, codes: Sequence[str], members: Sequence[int], terms: Terms = PLAIN) -> tuple[Placed, ...]:
    """Standings by the codes; whoever is tied on all of them shares a rank."""
    lines: list[Placed] = []
    for key, tied in ordered(field, codes, members, terms):
        rank = len(lines) + 1
        breaks = tuple((code, value) for code, value in zip(codes, key, strict=True) if code not in SHOWN)
        lines += [
            Placed(
                rank,
                field.members[member].name,
                field.scores[member],
                field.games(member),
                tiebreaks=breaks,
                unplayed=field.unplayed(member),
            )
            for member in tied
        ]
    return tuple(lines)


def _groups(keys: dict[int, tuple[int, ...]]) -> Groups:
    by_key = sorted(keys, key=lambda member: keys[member], reverse=True)
    return [(key, list(tied)) for key, tied in groupby(by_key, key=lambda member: keys[member])]
