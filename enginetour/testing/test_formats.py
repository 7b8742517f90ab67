"""Laws of every registered format, with any sequence of events: `pytest --pyargs enginetour.testing`.

A format of a plug-in is included when its distribution is installed; `-k NAME` selects one format.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.model.game import (
    Added,
    Entrant,
    Event,
    Extended,
    GameFinished,
    GameKey,
    GameVoided,
    Outcome,
    Pairing,
    Replaced,
    Withdrawn,
)
from enginetour.testing.formats import ALL, any_order, outcome_of, promises, tournament


@ALL
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_a_tournament_keeps_its_promises(system: str, seed: int) -> None:
    """The promises are kept for any events; the night tests have a thousand tournaments."""
    promises(system, seed)


@ALL
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_the_order_of_finishing_does_not_matter(system: str, seed: int) -> None:
    """Games, numbers and table do not depend on the order in which games of a round end."""
    any_order(system, seed)


@ALL
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_what_remains_is_always_true(system: str, seed: int) -> None:
    """Without withdrawals and additions, the bounds on the remaining games are right at every game."""
    format_, entrants, _ = tournament(system, seed)
    state = format_.start(entrants)
    bounds = [format_.remaining(state)]
    keys: list[GameKey] = []
    while offers := format_.offers(state):
        keys.append(offers[-1].key)
        state = format_.step(state, GameFinished(offers[-1], outcome_of(offers[-1], seed)))
        bounds.append(format_.remaining(state))
    assert len(keys) == len(set(keys))
    for done, (fewest, most) in enumerate(bounds):
        assert fewest <= len(keys) - done <= most


@ALL
def test_impossible_events_are_refused(system: str) -> None:
    """Unknown games and entrants, repeated games and existing entrants are errors."""
    format_, entrants, _ = tournament(system, 3)
    state = format_.start(entrants)
    game = format_.offers(state)[0]
    once = format_.step(state, GameFinished(game, Outcome.DRAW))
    wrong: list[tuple[Any, Event]] = [
        (state, GameFinished(Pairing("E0", "Z"), Outcome.DRAW)),
        (state, GameFinished(Pairing(game.black, game.white, game.meeting, game.leg), Outcome.DRAW)),
        (state, GameVoided(game, Outcome.DRAW)),
        (state, Withdrawn("Z")),
        (state, Added(entrants[0])),
        (state, Replaced("Z", Entrant("Y"))),
        (state, Extended((("cycles", 1),))),
        (state, Extended((("cycles", 9), ("games_per_pairing", 9)))),
        (state, Extended(())),
        (once, GameFinished(game, Outcome.DRAW)),
    ]
    for before, event in wrong:
        with pytest.raises(ValueError, match=r".+"):
            format_.step(before, event)
