"""Laws of stored ratings: the bits are always those of a replay of all games."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import func, insert, select

from enginetour.model.game import Added, Entrant, GameVoided, Outcome, Pairing
from enginetour.ratings import elo
from enginetour.ratings.elo import EloSettings
from enginetour.ratings.gor import CzechSettings, Egf2021Settings, EgfSettings
from enginetour.ratings.incremental import RatedGame
from enginetour.ratings.systems import SYSTEMS
from enginetour.store import ratings
from enginetour.store.counts import pack_counts
from enginetour.store.log import TournamentLog
from enginetour.store.ratings import entry_ratings, stream, update_ratings, version_lineage, with_event_classes
from enginetour.store.tables import EVENTS, GAMES, IMPORTED_GAMES, IMPORTS, TOURNAMENTS
from enginetour.store.tournaments import Store
from tests.support.databases import STORING_NAMES, add_game, draft, game, spec

CHOICES: dict[str, tuple[Any, ...]] = {
    "elo": (EloSettings(k_policy="fide", inherit=True), EloSettings(start_value=40), EloSettings(mode="batch")),
    "gor": (CzechSettings(inherit=True), CzechSettings(mode="sequential", start_value=1500, inherit=True)),
    "egf": (EgfSettings(eps=0.01, mode="sequential"), EgfSettings(integer_steps=True)),
    "egf2021": (Egf2021Settings(classes={"autumn": "D", "spring #2": "B"}), Egf2021Settings(inherit=True)),
}
WHERE = st.sampled_from(["autumn", "spring", "spring #2"])
KINDS = st.sampled_from(["play", "play", "play", "strike", "version", "enter", "import", "refresh", "refresh", "other"])
STEPS = st.lists(st.tuples(KINDS, WHERE, st.integers(0, 1 << 16)), min_size=5, max_size=14)
Step = tuple[str, str, int]
RESULTS = (Outcome.WHITE, Outcome.DRAW, Outcome.BLACK, Outcome.VOID)


def take(store: Store, log: TournamentLog, kind: str, dice: Random) -> None:
    """Let one random change happen between two updates."""
    if kind == "play":
        for _ in range(dice.randint(1, 9)):
            white, black = dice.sample(sorted(log.specs), 2)
            outcome = dice.choice(RESULTS)
            add_game(log, game(white, black, outcome, meeting=log.last_position + 1))
    elif kind == "strike":
        standing = [stored for stored in log.games() if stored.counts]
        if standing:
            struck = dice.choice(standing)
            pairing = Pairing(struck.white, struck.black, struck.meeting, 1, struck.meeting, 1)
            log.record_event(GameVoided(pairing, struck.outcome))
    elif kind == "version":
        changed = dice.choice(STORING_NAMES[:3])
        log.accept_change({changed: spec(changed, f"changed {dice.randrange(3)}")})
    elif (
        kind == "enter" and STORING_NAMES[3] not in log.specs
    ):  # it may have played in another tournament without a rating
        joining = Entrant(STORING_NAMES[3], rating=dice.choice([None, 1500.0]), family="family")
        log.record_event(Added(joining), spec=spec(STORING_NAMES[3]))
    elif kind == "import":
        imported(store, dice.randrange(3), dice.randint(1, 4))


def imported(store: Store, half_points: int, number: int) -> None:
    """Import games between the first two engine versions."""
    with store.database.writing() as connection:
        key = int(connection.execute(select(func.max(TOURNAMENTS.c.id))).scalar_one()) + 1
        like = connection.execute(select(TOURNAMENTS).limit(1)).mappings().one()
        own = {"id": key, "name": f"file {key}", "slug": f"file-{key}", "edition": 1, "system": "import"}
        connection.execute(insert(TOURNAMENTS), {**like, **own})
        newest = connection.execute(select(func.coalesce(func.max(GAMES.c.id), 0))).scalar_one()
        sums = np.array([[1], [2], *([number * (half_points == value)] for value in (2, 1, 0))])
        sizes = {"games": number, "duplicates": 0, "counts": pack_counts(sums), "digests": b""}
        connection.execute(insert(IMPORTS), {"tournament": key, "files": (), "after_game": newest, **sizes})
        row: dict[str, object] = {
            "tournament": key,
            "white_engine": 1,
            "black_engine": 2,
            "white_half_points": half_points,
        }
        row |= {"played_yyyymmdd": 0, "tc": "", "file_index": 0}
        connection.execute(insert(IMPORTED_GAMES), [{**row, "offset_bytes": place} for place in range(number)])


def games_of(store: Store) -> list[RatedGame]:
    """Return all rated games in their order, computed in a simple way."""
    with store.database.reading() as connection:
        struck = {row.game for row in connection.execute(select(EVENTS).where(EVENTS.c.kind == "voided"))}
        placed: list[tuple[tuple[int, int, int], RatedGame]] = []
        for row in connection.execute(select(GAMES)):
            if row.outcome != Outcome.VOID.value and row.id not in struck:
                scored = Outcome(row.outcome).half_points(white=True)
                rated = RatedGame(str(row.white_engine), str(row.black_engine), scored, row.id, str(row.tournament))
                placed.append(((row.id, 0, 0), rated))
        for row in connection.execute(
            select(IMPORTED_GAMES, IMPORTS.c.after_game).join(
                IMPORTS, IMPORTS.c.tournament == IMPORTED_GAMES.c.tournament
            )
        ):
            ends = str(row.white_engine), str(row.black_engine)
            rated = RatedGame(*ends, row.white_half_points, -row.id, str(row.tournament))
            placed.append(((row.after_game, 1, row.id), rated))
    return [rated for _, rated in sorted(placed)]


def agrees(store: Store, system: str, chosen: Any) -> None:
    """Check that the stored events are those of a full replay."""
    known = SYSTEMS[system]
    with store.database.reading() as connection:
        start = known.fitting(entry_ratings(connection, known.scale))
        events = known.rate(games_of(store), with_event_classes(connection, chosen), start, version_lineage(connection))
        rows = [tuple(row) for row in stream(connection, system).rows()]
    expected = []
    for place, (_, engine, event, number, *floats) in enumerate(events):
        keys = (number, None) if number is None or number > 0 else (None, -number)
        expected.append((place, int(engine), int(event), keys[0], *floats, keys[1]))
    assert rows == expected


def entrants(title: str) -> tuple[Entrant, ...]:
    """Return an engine near the largest K, one with a rating in only one tournament, and one of its family without."""
    brought_along = (2395.0, 2000.0 if title == "spring" else None, None)
    return tuple(
        Entrant(name, rating=own, family="family") for name, own in zip(STORING_NAMES, brought_along, strict=False)
    )


@pytest.mark.parametrize("system", sorted(CHOICES))
@settings(max_examples=12, deadline=None)
@given(steps=STEPS, first=st.integers(0, 2), again=st.integers(0, 2))
def test_a_replay_from_the_middle_is_a_full_one(system: str, steps: list[Step], first: int, again: int) -> None:
    """Every update is exact after games, voids, imports, new versions, late ratings and other settings."""
    choices = CHOICES[system]
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "t.db") as store:
        logs = {
            title: store.create_tournament(
                replace(draft(title.split(" #")[0], STORING_NAMES[:3]), entrants=entrants(title))
            )
            for title in ("autumn", "spring", "spring #2")
        }
        chosen = choices[first % len(choices)]
        update_ratings(store, system, chosen)
        # even with few games, a high peak reduces K
        with patch.object(ratings, "_RATED_AGAIN", again), patch.object(elo, "NEW_GAMES", 1):
            for kind, where, seed in [*steps, ("refresh", "autumn", 0)]:
                if kind == "other":
                    chosen = choices[seed % len(choices)]
                    update_ratings(store, system, chosen)
                elif kind == "refresh":
                    update_ratings(store, system)
                    agrees(store, system, chosen)
                else:
                    take(store, logs[where], kind, Random(seed))
