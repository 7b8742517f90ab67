"""Laws of the log: derived counts are those of the games after any sequence of events."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.model.errors import UsageRefused
from enginetour.model.game import GameFinished, GameKey, GameVoided, Outcome, Pairing
from enginetour.ratings.systems import SYSTEMS
from enginetour.store.log import TournamentLog
from enginetour.store.ratings import rating_history, ratings_of, update_ratings
from enginetour.store.tables import RATING_EVENTS, RATING_REVISIONS
from enginetour.store.tournaments import Store
from tests.support.databases import STORING_NAMES, add_game, counts_are_kept, draft, game, spec

SIDES = st.sampled_from(
    [(white, black) for white in STORING_NAMES[:3] for black in STORING_NAMES[:3] if white != black]
)
PLAYED = st.tuples(st.just("game"), SIDES, st.sampled_from(Outcome), st.integers(1, 2), st.integers(0, 1))
STRUCK = st.tuples(st.just("void"), SIDES, st.sampled_from(Outcome), st.integers(1, 2), st.just(0))
CHANGED = st.tuples(st.just("change"), SIDES, st.just(Outcome.VOID), st.integers(1, 2), st.just(0))
STEPS = st.lists(st.one_of(PLAYED, PLAYED, STRUCK, CHANGED), max_size=25)
Step = tuple[str, tuple[str, str], Outcome, int, int]


def take(log: TournamentLog, step: Step) -> None:
    kind, (white, black), outcome, meeting, replay = step
    if kind == "game":
        add_game(log, game(white, black, outcome, meeting=meeting, replay=replay))
    elif kind == "change":
        log.accept_change({white: spec(white, f"changed {meeting}")})
    else:
        try:
            log.record_event(GameVoided(Pairing(white, black, meeting, 1, meeting, 1), outcome))
        except UsageRefused:
            return  # an invalid annulment changes nothing


def standing(log: TournamentLog) -> list[GameFinished]:
    """Return the results that count, from the events only."""
    games: dict[GameKey, list[GameFinished]] = {}
    for event in log.events():
        if isinstance(event, GameFinished) and event.outcome is not Outcome.VOID:
            games.setdefault(event.pairing.key, []).append(event)
        elif isinstance(event, GameVoided):
            games[event.pairing.key].remove(GameFinished(event.pairing, event.outcome))
    return [event for events in games.values() for event in events]


@settings(max_examples=25, deadline=None)
@given(STEPS)
def test_counts_are_those_of_the_events(steps: list[Step]) -> None:
    """Pair counts equal a recount after games, voids, duplicates and changed engines."""
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "t.db") as store:
        log = store.create_tournament(draft())
        for step in steps:
            take(log, step)
        recount: Counter[tuple[str, str, Outcome]] = Counter(
            (event.pairing.white, event.pairing.black, event.outcome) for event in standing(log)
        )
        pairs = {(white, black) for white, black, _ in recount}
        counted = (Outcome.WHITE, Outcome.DRAW, Outcome.BLACK)
        assert log.pair_counts() == {pair: tuple(recount[*pair, outcome] for outcome in counted) for pair in pairs}
        assert counts_are_kept(log)
        assert sum(line.counts for line in log.games()) == recount.total()


@settings(max_examples=12, deadline=None)
@given(STEPS, st.sets(st.integers(0, 24), max_size=4), st.sampled_from(sorted(SYSTEMS)))
def test_ratings_are_those_of_a_full_replay(steps: list[Step], looks: set[int], system: str) -> None:
    """Ratings after any number of updates have the bits of a replay of all games."""
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "t.db") as store:
        log = store.create_tournament(draft())
        for number, step in enumerate(steps):
            take(log, step)
            if number in looks:
                update_ratings(store, system)
        update_ratings(store, system)
        piecemeal = ratings_of(store, system), [rating_history(store, system, name) for name in STORING_NAMES]
        assert update_ratings(store, system) == 0, "nothing is left to do"
        with store.database.writing() as connection:
            connection.execute(RATING_EVENTS.delete())
            connection.execute(RATING_REVISIONS.delete())
        update_ratings(store, system)
        assert (ratings_of(store, system), [rating_history(store, system, name) for name in STORING_NAMES]) == piecemeal
