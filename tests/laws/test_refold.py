"""Laws of the stored ratings: whatever happened, and wherever rating goes on, the bits are a full replay's."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import func, insert, select

from enginetour.errors import UsageRefused
from enginetour.model import Added, Entrant, GameVoided, Outcome, Pairing
from enginetour.ratings import elo
from enginetour.ratings.base import RatedGame
from enginetour.ratings.egf2021 import Egf2021Settings
from enginetour.ratings.elo import EloSettings
from enginetour.ratings.gor import CzechSettings, EgfSettings
from enginetour.store import refold
from enginetour.store.lists import SYSTEMS, refresh
from enginetour.store.log import TournamentLog
from enginetour.store.ratedgames import brought, for_events, versions
from enginetour.store.ratingstream import stream
from enginetour.store.tables import EVENTS, GAMES, IMPORTED_GAMES, IMPORTS, PAIR_COUNTS, TOURNAMENTS
from enginetour.store.tournaments import Store
from tests.storing import NAMES, draft, game, spec

CHOICES: dict[str, tuple[Any, ...]] = {
    "elo": (EloSettings(k_policy="fide", inherit=True), EloSettings(start_value=40), EloSettings(mode="batch")),
    "gor": (CzechSettings(inherit=True), CzechSettings(mode="sequential", start_value=1500, inherit=True)),
    "egf": (EgfSettings(eps=0.01, mode="sequential"), EgfSettings(integer_steps=True)),
    "egf2021": (Egf2021Settings(classes={"autumn": "D", "spring #2": "B"}), Egf2021Settings(inherit=True)),
}
SIDES = st.sampled_from([(white, black) for white in NAMES[:3] for black in NAMES[:3] if white != black])
WHERE = st.sampled_from(["autumn", "spring", "spring #2"])
PLAYED = st.tuples(st.just("game"), WHERE, SIDES, st.sampled_from(Outcome), st.integers(1, 4))
OTHERS = [
    st.tuples(st.just("void"), WHERE, SIDES, st.sampled_from(Outcome), st.integers(1, 4)),
    st.tuples(st.just("version"), WHERE, SIDES, st.just(Outcome.VOID), st.integers(1, 2)),
    st.tuples(st.just("rated"), WHERE, SIDES, st.just(Outcome.VOID), st.integers(1, 2)),
    st.tuples(st.just("import"), WHERE, SIDES, st.sampled_from(Outcome), st.integers(1, 3)),
]
REFRESHED = st.tuples(st.just("refresh"), WHERE, SIDES, st.just(Outcome.VOID), st.integers(0, 3))
STEPS = st.lists(st.one_of(PLAYED, PLAYED, PLAYED, *OTHERS, REFRESHED), max_size=30)
Step = tuple[str, str, tuple[str, str], Outcome, int]


def take(store: Store, logs: dict[str, TournamentLog], step: Step) -> None:
    """One thing that may happen between two looks at the ratings."""
    kind, where, (white, black), outcome, number = step
    log = logs[where]
    try:
        if kind == "game":
            log.record_game(game(white, black, outcome, meeting=number))
        elif kind == "void":
            log.record_event(GameVoided(Pairing(white, black, number, 1, number, 1), outcome))
        elif kind == "version":
            log.accept_change({white: spec(white, f"changed {number}")})
        elif kind == "rated":  # a version that may have played elsewhere enters with a rating
            joining = Entrant(NAMES[3], rating=1500.0 + number)
            log.record_event(Added(joining), spec=spec(NAMES[3], "f9"))
        elif outcome is not Outcome.VOID:
            imported(store, outcome.half_points(white=True), number)
    except UsageRefused:
        return  # nothing to strike out, or in the tournament already


def imported(store: Store, half_points: int, number: int) -> None:
    """Games from a file, between the first two engine versions of the store."""
    with store.database.writing() as connection:
        key = int(connection.execute(select(func.max(TOURNAMENTS.c.id))).scalar_one()) + 1
        like = connection.execute(select(TOURNAMENTS).limit(1)).mappings().one()
        own = {"id": key, "name": f"file {key}", "slug": f"file-{key}", "edition": 1, "system": "import"}
        connection.execute(insert(TOURNAMENTS), {**like, **own})
        newest = connection.execute(select(func.coalesce(func.max(GAMES.c.id), 0))).scalar_one()
        sizes = {"games": number, "duplicates": 0, "digests": b""}
        connection.execute(insert(IMPORTS), {"tournament": key, "files": "[]", "after_game": newest, **sizes})
        row = {"tournament": key, "white": 1, "black": 2, "half_points": half_points, "day": 0, "tc": "", "file": 0}
        connection.execute(insert(IMPORTED_GAMES), [{**row, "offset": place} for place in range(number)])
        counts = {name: number * (half_points == value) for name, value in (("wins", 2), ("draws", 1), ("losses", 0))}
        connection.execute(insert(PAIR_COUNTS), {"tournament": key, "white": 1, "black": 2, **counts})


def games_of(store: Store) -> list[RatedGame]:
    """All that is rated, put into its order the plain way."""
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
            rated = RatedGame(str(row.white), str(row.black), row.half_points, -row.id, str(row.tournament))
            placed.append(((row.after_game, 1, row.id), rated))
    return [rated for _, rated in sorted(placed)]


def agrees(store: Store, system: str, chosen: Any) -> None:
    """The stored stream is what a fold over all games from nothing writes."""
    known = SYSTEMS[system]
    with store.database.reading() as connection:
        start = known.fitting(brought(connection))
        events = known.rate(games_of(store), for_events(connection, chosen), start, versions(connection))
        rows = [tuple(row) for row in stream(connection, system).rows()]
    expected = [
        (place, int(e.engine), int(e.event), e.game if (e.game or 0) > 0 else None, *e[4:],
         -e.game if (e.game or 0) < 0 else None)
        for place, e in enumerate(events)
    ]  # fmt: skip
    assert rows == expected


@settings(max_examples=40, deadline=None)
@given(STEPS, st.sampled_from(sorted(CHOICES)), st.integers(0, 3))
def test_a_replay_from_the_middle_is_a_full_one(steps: list[Step], system: str, again: int) -> None:
    """Games, voids, imports, new versions, ratings that came late and other settings: every refresh is exact."""
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "t.db") as store:
        logs = {}
        for title in ("autumn", "spring", "spring #2"):
            plan = draft(title.split(" #")[0], NAMES[:3])
            given_ratings = [2395.0, 2000.0 if title == "spring" else None, None]
            entrants = tuple(
                Entrant(name, rating=own, family="family") for name, own in zip(NAMES, given_ratings, strict=False)
            )
            logs[title] = store.create_tournament(replace(plan, entrants=entrants))
        chosen = SYSTEMS[system].settings
        # with few games, too, K falls once the peak was high
        with patch.object(refold, "AGAIN", again), patch.object(elo, "NEW_GAMES", 1):
            for step in [*steps, ("refresh", "autumn", ("", ""), Outcome.VOID, 3)]:
                if step[0] != "refresh":
                    take(store, logs, step)
                    continue
                told = CHOICES[system][step[4]] if step[4] < len(CHOICES[system]) else None
                chosen = told or chosen
                refresh(store, system, told)
                agrees(store, system, chosen)
