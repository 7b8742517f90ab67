"""Compare the bubble with a simple implementation and check its invariants, in random cases."""

import json
import random
from functools import reduce

from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.cli.simulate import decisions
from enginetour.formats.bubble import Bubble
from enginetour.formats.bubble_state import BubbleState
from enginetour.formats.pairing.persistent import Map
from enginetour.interop.bubblecase import read_case, trace_bubble
from enginetour.model.game import RESULTS, Added, Entrant, Event, GameFinished, GameKey, GameVoided, Pairing, Withdrawn
from tests.laws.bubble_cases import check_invariants, random_case
from tests.laws.bubble_oracle import oracle_trace

seeds = st.integers(0, 10**9)


@settings(max_examples=150, deadline=None)
@given(seeds)
def test_two_readings_of_the_rules_agree(seed: int) -> None:
    """Decisions, games and colors are those of the simple implementation, and P1-P13 are satisfied."""
    case = random_case(seed, longest=24)
    got = trace_bubble(decisions(case))
    assert json.dumps(got, sort_keys=True) == json.dumps(oracle_trace(case), sort_keys=True)
    check_invariants(case, got)


@settings(max_examples=40, deadline=None)
@given(seeds, st.randoms(use_true_random=False))
def test_the_order_of_finishing_never_shows(seed: int, dice: random.Random) -> None:
    """Without withdrawals, the trace does not depend on the order in which games of a round robin end."""
    case = {**random_case(seed, longest=16), "withdrawals": []}
    known = read_case(case)
    bubble = Bubble(known.options)
    state = bubble.start(tuple(Entrant(name) for name in reversed(known.ranking)))
    while games := bubble.offers(state):
        game = dice.choice(games)
        state = bubble.step(state, GameFinished(game, known.outcome(game)))
    assert trace_bubble(bubble.notes(state)) == trace_bubble(decisions(case))


@settings(max_examples=40, deadline=None)
@given(seeds)
def test_bounds_and_forecast_hold_at_every_game(seed: int) -> None:
    """The number of remaining games is within its bounds, and the forecast too."""
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


def played_at_once(seed: int, dice: random.Random, slots: int) -> tuple[BubbleState, Bubble, list[GameFinished]]:
    """Play an edition in several slots with random order of ends and with early starts."""
    known = read_case({**random_case(seed, longest=14), "withdrawals": []})
    bubble = Bubble(known.options)
    state = bubble.start(tuple(Entrant(name) for name in reversed(known.ranking)))
    air: list[Pairing] = []
    log: list[GameFinished] = []
    while True:
        wanted = [*bubble.offers(state), *(bubble.ahead(state) if slots > 1 else ())]
        assert len({game.key for game in wanted}) == len(wanted)
        assert {game.key for game in air} <= {game.key for game in wanted}
        air += [game for game in wanted if game not in air][: slots - len(air)]
        if not air:
            return state, bubble, log
        game = air.pop(dice.randrange(len(air)))
        log.append(GameFinished(game, known.outcome(game)))
        state = bubble.step(state, log[-1])


@settings(max_examples=60, deadline=None)
@given(seeds, st.randoms(use_true_random=False), st.sampled_from([2, 4, 16]))
def test_looking_ahead_never_shows(seed: int, dice: random.Random, slots: int) -> None:
    """Games, colors, numbers, decisions and table do not depend on the number of slots."""
    ahead, bubble, log = played_at_once(seed, dice, slots)
    alone, _, games = played_at_once(seed, dice, 1)
    assert {event.pairing: event.outcome for event in log} == {event.pairing: event.outcome for event in games}
    assert bubble.notes(ahead) == bubble.notes(alone)
    assert bubble.standings(ahead) == bubble.standings(alone)
    assert ahead.early.results == alone.early.results == Map()


@settings(max_examples=80, deadline=None)
@given(seeds, st.randoms(use_true_random=False))
def test_what_was_begun_is_taken(seed: int, dice: random.Random) -> None:
    """Every started game is used, even after withdrawals, additions and annulments, and no game is played twice."""
    known = read_case({**random_case(seed, longest=12), "withdrawals": []})
    bubble = Bubble(known.options)
    start = state = bubble.start(tuple(Entrant(name) for name in reversed(known.ranking)))
    present, air, log, done = list(known.ranking), list[Pairing](), list[Event](), list[GameFinished]()
    joined, played = 0, set[GameKey]()
    while True:
        gone = set(known.ranking) - set(present)
        fresh = [game for game in (*bubble.offers(state), *bubble.ahead(state)) if game.key not in {g.key for g in air}]
        assert all(gone.isdisjoint(game.pair) and game.key not in played for game in fresh)
        air += fresh[: 4 - len(air)]
        if not air:
            break
        event: Event
        match dice.choice(["end"] * 12 + ["withdraw", "add", "void"]):
            case "withdraw" if present:
                event = Withdrawn(present.pop(dice.randrange(len(present))))
            case "add" if joined < 2 and not state.ended:
                joined += 1
                event = Added(Entrant(f"N{joined}"))
            case "void" if done:
                struck = done.pop(dice.randrange(len(done)))
                event = GameVoided(struck.pairing, struck.outcome)
                played.discard(struck.pairing.key)
            case _:
                game = air.pop(dice.randrange(len(air)))
                event = GameFinished(game, dice.choice(RESULTS))
                done.append(event)
                played.add(game.key)
        state = bubble.step(state, event)
        log.append(event)
    assert state.ended
    names = sorted(line.name for line in bubble.standings(state))
    assert names == sorted([*known.ranking, *(f"N{number}" for number in range(1, joined + 1))])
    assert reduce(bubble.step, log, start) == state
