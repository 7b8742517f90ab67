"""Games that start while the last result is being written would also start after it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.formats.base import SYSTEMS, make_format, options_model
from enginetour.model.game import Entrant, Game, Note, Pairing
from enginetour.model.task import GameTask
from enginetour.testing.formats import settings_of
from enginetour.tournament.scheduler import RunEnd, Scheduler
from tests.support.tournaments import Landing, MemoryLog, task_for


class Strict(MemoryLog):
    """A log that checks the games in progress when a result becomes durable."""

    loop: Scheduler
    known: Sequence[Pairing] = ()  # in progress when no result was waiting
    begun: int = 0  # games that started while a result was waiting

    def record_game(self, game: Game, notes: Sequence[Note]) -> int | None:
        """Check that all games in progress were offered or certain before this result."""
        state, format_ = self.loop.state, self.loop.format
        promised = {*format_.offers(state), *format_.ahead(state)}
        new = [pairing for pairing, _ in self.loop.flying.values() if pairing not in self.known]
        assert promised.issuperset(new)
        self.begun += len(new)
        return super().record_game(game, notes)


def played(system: str, seed: int, *, early: bool) -> tuple[list[GameTask], Strict]:
    """Play a tournament with a random order of ends; return the games in the order in which they started."""
    dice = random.Random(seed)
    count = 2 if system == "match" else dice.randint(2, 7)
    field = tuple(Entrant(f"E{number}", rating=2000.0 - 100 * number) for number in range(count))
    format_ = make_format(system, options_model(system).model_validate(settings_of(system, dice, count)))
    place, log, slots = Landing(seed), Strict(), dice.randint(1, 3)
    loop = Scheduler(log, format_, field, place, task_for, slots=slots, inbox=place)  # type: ignore[arg-type]
    log.loop, submit = loop, loop._submit

    def begin(after: Any = None) -> None:
        if after is None or early:
            submit(after)
        if after is None:
            log.known = [pairing for pairing, _ in loop.flying.values()]

    loop._submit = begin  # type: ignore[method-assign]
    assert loop.run() is RunEnd.FINISHED
    return place.tasks, log


@pytest.mark.parametrize("system", sorted(SYSTEMS))
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_what_begins_beforehand_would_have_begun(system: str, seed: int) -> None:
    """The same games start in the same order as if each waited for the last commit."""
    tasks, log = played(system, seed, early=True)
    waited, patient = played(system, seed, early=False)
    assert tasks == waited
    assert log.notes == patient.notes
    assert patient.begun == 0


def test_most_games_of_a_round_robin_begin_beforehand() -> None:
    """All games except the first of each slot start early."""
    for seed in range(5):
        tasks, log = played("roundrobin", seed, early=True)
        assert log.begun >= len(tasks) - 3
