"""The bubble against the naive one and its invariants, on random cases."""

import json
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.formats.bubble import Bubble
from enginetour.interop.bubblecase import read_case, trace
from enginetour.model import Entrant, GameFinished
from enginetour.simulate import play_case
from tests.laws.bubble_cases import check_invariants, random_case
from tests.laws.bubble_oracle import oracle_trace

seeds = st.integers(0, 10**9)


@settings(max_examples=150, deadline=None)
@given(seeds)
def test_two_readings_of_the_rules_agree(seed: int) -> None:
    """Every decision, game and colour is that of the naive reading, and P1-P13 hold."""
    case = random_case(seed, longest=24)
    got = play_case(case)
    assert json.dumps(got, sort_keys=True) == json.dumps(oracle_trace(case), sort_keys=True)
    check_invariants(case, got)


@settings(max_examples=40, deadline=None)
@given(seeds, st.randoms(use_true_random=False))
def test_the_order_of_finishing_never_shows(seed: int, dice: random.Random) -> None:
    """Without withdrawals the whole trace is the same for every order of finishing inside the round robins."""
    case = {**random_case(seed, longest=16), "withdrawals": []}
    known = read_case(case)
    bubble = Bubble(known.options)
    state = bubble.start(tuple(Entrant(name) for name in reversed(known.ranking)))
    while games := bubble.offers(state):
        game = dice.choice(games)
        state = bubble.step(state, GameFinished(game, known.outcome(game)))
    assert trace(bubble.notes(state)) == play_case(case)


@settings(max_examples=40, deadline=None)
@given(seeds)
def test_bounds_and_forecast_hold_at_every_game(seed: int) -> None:
    """Fewest <= what is really to come <= most, and the forecast lies between."""
    case = {**random_case(seed, longest=16), "withdrawals": []}
    known = read_case(case)
    bubble = Bubble(known.options)
    state = bubble.start(tuple(Entrant(name) for name in reversed(known.ranking)))
    told = [(*bubble.remaining(state), bubble.likely(state))]
    while games := bubble.offers(state):
        state = bubble.step(state, GameFinished(games[-1], known.outcome(games[-1])))
        told.append((*bubble.remaining(state), bubble.likely(state)))
    for to_come, (fewest, most, likely) in zip(range(len(told) - 1, -1, -1), told, strict=True):
        assert fewest <= to_come <= most
        assert fewest <= likely <= most
