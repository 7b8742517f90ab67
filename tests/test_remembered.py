"""A writer's memory of its log says what a reader finds there."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings

from enginetour.model.game import Entrant, Outcome, Replaced
from enginetour.store.log import TournamentLog
from enginetour.store.tournaments import Store
from tests.laws.test_log import STEPS, Step, take
from tests.storing import NAMES, add_game, draft, game, spec

KEYS = [(*sorted((one, other)), meeting, 1) for one in NAMES for other in NAMES for meeting in (1, 2)]


def assert_as_read(store: Store, log: TournamentLog) -> None:
    """One that never wrote asks the database."""
    reader = store.tournament()
    assert log.pair_counts() == reader.pair_counts()
    assert list(log.pair_counts()) == list(reader.pair_counts())
    assert log.known_ratings == reader.known_ratings
    for one, other, meeting, leg in KEYS:
        key = (str(one), str(other), int(meeting), int(leg))
        assert (log.replays(key), log.aborts(key)) == (reader.replays(key), reader.aborts(key))


@settings(max_examples=6, deadline=None)
@given(STEPS)
def test_what_is_remembered_is_what_is_written(steps: list[Step]) -> None:
    """After any game, void, double or changed engine."""
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "t.db") as store:
        log = store.create_tournament(draft())
        for step in steps:
            take(log, step)
            assert_as_read(store, log)


def test_games_given_up_are_remembered_apart(tmp_path: Path) -> None:
    """Of games that do not count those that an engine gave up are told apart, before and after they are asked for."""
    with Store.open(tmp_path / "t.db") as store:
        log = store.create_tournament(draft())
        given_up = replace(game(outcome=Outcome.VOID), category="engine-abort")
        add_game(log, given_up)
        assert_as_read(store, log)
        add_game(log, replace(given_up, replay=1))
        add_game(log, replace(game(outcome=Outcome.VOID, replay=2), category="start-failure"))
        assert_as_read(store, log)
        assert (log.replays(game().pairing.key), log.aborts(game().pairing.key)) == (3, 2)


def test_a_game_that_was_not_written_is_not_remembered(tmp_path: Path) -> None:
    """Neither one of a stranger nor one that is there already; who joins later is known from then on."""
    with Store.open(tmp_path / "t.db") as store:
        log = store.create_tournament(draft())
        add_game(log, game())
        assert_as_read(store, log)
        assert add_game(log, game(outcome=Outcome.BLACK)) is None
        with pytest.raises(KeyError):
            add_game(log, game(black="Stranger"))
        assert_as_read(store, log)
        log.record_event(Replaced("Toga", Entrant("Rival", rating=2100.0)), spec=spec("Rival"))
        assert_as_read(store, log)
        add_game(log, game(black="Rival"))
        assert_as_read(store, log)
        assert ("Fruit", "Rival") in log.pair_counts()
