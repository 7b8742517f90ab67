"""Tests of formats/epm."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.formats.epm import Epm, EpmOptions, Steps, TooLong, backtracked, first_round, floats
from enginetour.formats.pairing.field import Field, Unpairable
from enginetour.formats.pairing.gorounds import Restrictions
from tests.support.databases import field_of, names, random_field, rated


def epm(**settings_: Any) -> Epm:
    return Epm(EpmOptions(**settings_))


def noise(one: int, other: int) -> int:
    """Return different weights without a pattern."""
    return hash((min(one, other), max(one, other))) % 1009


def plain(field: Field, order: list[int]) -> list[tuple[int, int]] | None:
    """Return the first round by simple recursion."""
    if not order:
        return []
    one, *rest = order
    for other in sorted((other for other in rest if not field.met(one, other)), key=lambda other: -noise(one, other)):
        further = plain(field, [member for member in rest if member != other])
        if further is not None:
            return [(one, other), *further]
    return None


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 10**9), count=st.sampled_from([4, 6, 8]), rounds=st.integers(0, 7))
def test_pointers_find_what_recursion_finds(seed: int, count: int, rounds: int) -> None:
    """Pointers find the same round as recursion, or none."""
    field = random_field(seed, count, rounds)
    assert backtracked(field, range(count), noise, Restrictions(), Steps(10**6)) == plain(field, list(range(count)))


def test_the_middle_floats_to_the_middle() -> None:
    """Floats are tried from the middle of both groups outwards."""
    field = field_of(rated(*[1] * 6))
    chosen = list(floats(field, [[0, 1, 2], [3, 4, 5]], Restrictions()))
    assert chosen[0] == [(1, 4)] and chosen[1:3] == [[(1, 3)], [(1, 5)]] and chosen[3:5] == [[(0, 4)], [(2, 4)]]
    assert len(chosen) == 9


def test_floats_go_on_to_lower_groups() -> None:
    """A group made odd by a float floats too; met and empty groups are skipped."""
    field = field_of(rated(*[1] * 6), "A=C")
    assert next(floats(field, [[0], [1, 2, 3, 4], [5]], Restrictions())) == [(0, 3), (2, 5)]
    assert next(floats(field, [[0], [1], [2], [3]], Restrictions())) == [(0, 1), (2, 3)]
    assert list(floats(field, [[0], [2]], Restrictions())) == []


def test_the_next_float_is_tried() -> None:
    """If a float leads to no round, the next one is tried."""
    field = field_of(rated(*[1] * 6), "A=C", "A=D", "A=F")
    groups = [[0, 1, 2], [3, 4, 5]]
    assert first_round(field, groups, lambda *_: 0, Restrictions(), Steps(99)) == [(0, 4), (1, 3), (2, 5)]


def test_steps_run_out() -> None:
    """After too many steps the whole round is matched, with a remark."""
    field = field_of(rated(*[1] * 6))
    with pytest.raises(TooLong):
        backtracked(field, range(6), noise, Restrictions(), Steps(2))
    paired = epm(steps=2).pair(field)
    assert paired.guarantee == "fallback: no valid round in 2 steps; maximum weight, certified"
    assert paired.remarks == ("no valid round in 2 steps: all pairs are matched at once, with the same weights",)


def test_no_round_at_all() -> None:
    """If all have met, the oldest rematches are played, or strict stops."""
    field = field_of(rated(1, 1, 1, 1), "A1B C1D", "A1C B1D", "A1D B1C")
    paired = epm(rounds=3).pair(field)
    assert paired.guarantee.startswith("fallback: no choice of floats leads to a valid round")
    assert names(field, paired) in ("AB CD", "CD AB") and len(paired.remarks) == 3
    with pytest.raises(Unpairable, match="rematch of round 1"):
        epm(rounds=3, strict=True).pair(field)


def test_lists_by_the_older_function() -> None:
    """The lists separate families in round 1 and fold equal entrants."""
    field = field_of(rated(4, 3, 2, 1, families="f  f"))
    assert "AD" not in names(field, epm(seeding="fold").pair(field))
    assert names(field_of(rated(4, 3, 2, 1)), epm(seeding="fold").pair(field_of(rated(4, 3, 2, 1)))) == "AD BC"
    assert names(field_of(rated(4, 3, 2, 1)), epm(seeding="slip").pair(field_of(rated(4, 3, 2, 1)))) == "AC BD"
    worths = {reason.name: reason.worth for reason in epm().explain(field, 0, 3)}
    assert worths["family"] == 0 and worths["not met"] == 10**12


def test_half_the_wins_lift_the_bar_on_families() -> None:
    """Entrants with half of all wins can meet their family."""
    field = field_of(rated(4, 3, 2, 1, families="ff"), "A1C B1D", "A1D B1C", "A+C B+D")
    worth = [{reason.name: reason.worth for reason in epm(exempt_wins=on).explain(field, 0, 1)} for on in (True, False)]
    assert worth[0]["family"] == 20_000 * 10**6 and worth[1]["family"] == 0


def test_groups_are_mcmahon_scores() -> None:
    """Groups follow McMahon scores, and absences count for the pairing only."""
    members = rated(2400, 2300, 2200, 2100, 1000, 900, 800, 700, 2350, 1050)
    field = field_of(members, "A1E B1F C1G D1H", "B0A C0D F1E H1G")
    system = epm()
    assert system.scores(field)[0] == (2, 2, 2, 2, 0, 0, 0, 0, 2, 0)
    assert [score / 2 for score in system.scores(field)[-1]] == [3, 2, 2, 3, 0, 1, 0, 1, 2, 1]
    table = {line.name: dict(line.tiebreaks)["MMS"] / 2 for line in system.table(field, field.present)}
    assert (table["I"], table["J"], table["A"]) == (1, 0, 3)
    paired = system.pair(field)
    assert names(field, paired)[:5] in ("AD BI", "AD IB")
    told = " ".join(system.rules(field, paired, 0, 8))
    assert "groups of MMS 3 and 2" in told
    everywhere = epm(absence="standings").table(field, field.present)
    assert {line.name: dict(line.tiebreaks)["MMS"] / 2 for line in everywhere}["I"] == 2


def test_the_last_rests() -> None:
    """The last by wins, SOS and rating without a bye gets it."""
    assert epm(rounds=3).pair(field_of(rated(1, 3, 2))).byes == (0,)
    assert epm(rounds=3).pair(field_of(rated(1, 3, 2), "B1C A")).byes == (2,)
