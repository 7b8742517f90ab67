from __future__ import annotations

import pytest

from enginetour.formats.base import SYSTEMS, make_format, options_model
from enginetour.formats.pairing.field import Field, Member
from enginetour.formats.rounds import Rounds
from enginetour.interop.pairers import Separated, next_round

KEEPING = ("swiss-gotha", "mcmahon", "swiss-cat", "gotha-2005", "gerlach", "dutch", "entropy", "accelrat", "godraw")


@pytest.mark.parametrize("system", KEEPING)
def test_who_must_not_meet_does_not(system: str) -> None:
    """Pairs that a file keeps apart were made by the Gotha systems, and the round refused, though others were legal."""
    assert system in SYSTEMS
    format_ = make_format(system, options_model(system)(rounds=3))
    assert isinstance(format_, Rounds)
    members = tuple(Member(f"E{number}", 2000.0 - 50 * number) for number in range(6))
    blank = Field(members, (), tuple(range(6)), 3, 2, 1)
    for one in range(6):
        for other in range(one + 1, 6):
            field = Separated(blank.members, (), blank.present, 3, 2, 1, apart=frozenset({(one, other)}))
            assert (one, other) not in {board.pair for board in next_round(format_.system, field).boards}
