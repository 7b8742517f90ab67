"""The opening of a game depends on numbers only, not on slots, order of ends, void games or a resume."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.formats.base import SYSTEMS, make_format, options_model, replay
from enginetour.model.game import RESULTS, Entrant, Event, GameFinished, GameKey, Opening, Outcome, Pairing
from enginetour.openings.choice import OpeningBook, OpeningScope, OpeningSettings, load_opening_book
from enginetour.testing.formats import settings_of

MOST_GAMES = 120


def _outcome(pairing: Pairing) -> Outcome:
    """Return a result that depends on the game only."""
    return RESULTS[hashlib.blake2b(repr(pairing.key).encode()).digest()[0] % len(RESULTS)]


def _played(system: str, seed: int, book: OpeningBook, slots: int, dice: random.Random) -> dict[GameKey, Opening]:
    """Play a tournament with concurrent games, void games, replays and resumes."""
    entrants = tuple(Entrant(f"E{n}", rating=2000.0 - 50 * n) for n in range(2 if system == "match" else 5))
    options = options_model(system).model_validate(settings_of(system, random.Random(seed), len(entrants)))
    format_ = make_format(system, options, seed)
    state, log, found = format_.start(entrants), list[Event](), dict[GameKey, Opening]()
    air: dict[GameKey, Pairing] = {}
    while len(found) < MOST_GAMES:
        for pairing in format_.offers(state):
            if len(air) < slots and pairing.key not in air:
                air[pairing.key] = pairing
                assert found.setdefault(pairing.key, book.pick(pairing)) == book.pick(pairing)
        if not air:
            break
        pairing = air.pop(dice.choice(sorted(air)))
        event = GameFinished(pairing, Outcome.VOID if dice.random() < 0.1 else _outcome(pairing))
        state = format_.step(state, event)
        log.append(event)
        if dice.random() < 0.1:
            state, air = replay(format_, entrants, log), {}
    return found


@pytest.mark.parametrize("system", sorted(SYSTEMS))
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 2**32), per=st.sampled_from(["pairing", "round", "encounter"]), luck=st.integers(0, 2**32))
def test_openings_are_a_matter_of_numbers(system: str, seed: int, per: OpeningScope, luck: int) -> None:
    """Games have the same openings with 1, 2 and 4 slots."""
    book = load_opening_book(OpeningSettings(per=per), seed=seed, legs=2, folder=Path("/"))
    one, two, four = (_played(system, seed, book, slots, random.Random(luck + slots)) for slots in (1, 2, 4))
    for other in (two, four):
        assert all(other[key] == opening for key, opening in one.items() if key in other)
        assert set(one) & set(other)
