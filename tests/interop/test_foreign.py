"""Tests of interop/foreign."""

from __future__ import annotations

import pytest

from enginetour.formats.base import SYSTEMS, make_format, options_model
from enginetour.formats.dutch import Dutch, DutchOptions
from enginetour.formats.pairing.field import Field, Member, Unpairable
from enginetour.formats.rounds import Rounds
from enginetour.interop.foreign import SeparatedField, next_round
from tests.interop.test_pairers import before
from tests.interop.test_trf import entry
from tests.support.databases import field_of, rated


def test_pairs_apart_are_never_made() -> None:
    """Pairs in `apart` are never made; if there is no other round, an error is raised."""
    blank = [entry(number) for number in range(1, 5)]
    free = before("152 W", *blank, rounds=3).field
    apart = before("152 W", "260 001 001    1    3", *blank, rounds=3).field
    system = Dutch(DutchOptions(rounds=3, initial_color="white"))
    assert (0, 2) in {board.pair for board in next_round(system, free).boards}
    assert apart.apart == {(0, 2)} and apart.meetings[0] == {2: 1}
    assert (0, 2) not in {board.pair for board in next_round(system, apart).boards}
    with pytest.raises(Unpairable, match="the round contains E1 - E2, but they must not meet according to the file"):
        next_round(system, before("XXP 1 2", *blank[:2], rounds=1).field)
    assert before("260 002 003    1    3", *blank, rounds=3).field.apart == set()


def test_nobody_or_one_alone_cannot_be_paired() -> None:
    """Fewer than two members raise an error that names them."""
    field = field_of(rated(3, 2, 1))
    system = Dutch(DutchOptions(rounds=3))
    for present, words in (
        ((), "no entrant is present for round 1"),
        ((1,), "only B is present for round 1"),
    ):
        with pytest.raises(Unpairable, match=words):
            next_round(system, SeparatedField(field.members, (), present, 3))


KEEPING = ("swiss-gotha", "mcmahon", "swiss-cat", "gotha-2005", "gerlach", "dutch", "entropy", "accelrat", "godraw")


@pytest.mark.parametrize("system", KEEPING)
def test_who_must_not_meet_does_not(system: str) -> None:
    """All systems keep the file's forbidden pairs apart if a legal round exists."""
    assert system in SYSTEMS
    format_ = make_format(system, options_model(system)(rounds=3))
    assert isinstance(format_, Rounds)
    members = tuple(Member(f"E{number}", 2000.0 - 50 * number) for number in range(6))
    blank = Field(members, (), tuple(range(6)), 3, 2, 1)
    for one in range(6):
        for other in range(one + 1, 6):
            field = SeparatedField(blank.members, (), blank.present, 3, 2, 1, apart=frozenset({(one, other)}))
            assert (one, other) not in {board.pair for board in next_round(format_.system, field).boards}
