"""The whole round at once."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.formats.pairing.field import Unpairable
from enginetour.formats.pairing.gorounds import Bars, same_family, whole_round
from tests.pastfields import field_of, random_field, rated


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**9), rounds=st.integers(0, 5), family=st.booleans())
def test_fewest_bars_are_broken_then_the_sum_decides(seed: int, rounds: int, family: bool) -> None:
    """Rematches count before families, their rounds before families too; against all fifteen rounds of six."""
    field = random_field(seed, 6, rounds)
    bars = Bars(forbid_family=family)

    def worth(one: int, other: int) -> int:
        return (one * other * (seed % 997)) % 31

    def price(pairs: tuple[tuple[int, int], ...]) -> tuple[object, ...]:
        met = sorted((field.meetings[one][other] for one, other in pairs if field.met(one, other)), reverse=True)
        kin = sum(family and same_family(field, *pair) for pair in pairs)
        latest = [met.count(number) for number in range(5, 0, -1)]
        return len(met), latest, kin, -sum(worth(*pair) for pair in pairs)

    pairs, remarks = whole_round(field, field.present, worth, bars)
    every = [tuple(zip(order[::2], order[1::2], strict=True)) for order in permutations(range(6))]
    assert price(tuple(pairs)) == min(map(price, every))
    broken = price(tuple(pairs))
    assert len(remarks) == int(str(broken[0])) + int(str(broken[2]))


def test_strict_says_what_it_would_have_to_allow() -> None:
    """Names, and the setting that allows it."""
    field = field_of(rated(2, 1, families="ff"), "A1B")
    with pytest.raises(Unpairable, match=r"A - B is a rematch of round 1.*one family.*strict = false"):
        whole_round(field, field.present, lambda *_: 0, Bars(strict=True, forbid_family=True))


def test_nobody_is_a_round_too() -> None:
    """No pairs, nothing to say."""
    assert whole_round(field_of(()), (), lambda *_: 0, Bars()) == ([], ())
