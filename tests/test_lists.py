"""Ratings of the whole store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from sqlalchemy import select

from enginetour.model.errors import UsageRefused
from enginetour.model.game import Entrant, GameVoided, Outcome
from enginetour.ratings.elo import EloSettings
from enginetour.store.address import Address
from enginetour.store.log import TournamentLog
from enginetour.store.ratings import history, prior_ratings, ratings_of, refresh
from enginetour.store.tables import RATING_EVENTS, RATING_REVISIONS
from enginetour.store.tournaments import Store
from tests.storing import add_game, counted_pairs, draft, game, spec


@pytest.fixture
def store(place: Address) -> Iterator[Store]:
    with Store.open(place) as opened:
        yield opened


def start(store: Store, name: str = "autumn", fingerprint: str = "f1") -> TournamentLog:
    """Fruit 1800 and Toga 2000, as in the printed example of Elo."""
    plan = draft(name, ("Fruit", "Toga"), fingerprint)
    return store.create_tournament(
        replace(plan, entrants=(Entrant("Fruit", rating=1800), Entrant("Toga", rating=2000)))
    )


def rows(store: Store) -> list[tuple[int, int, float]]:
    """Revision, place and new rating of every stored rating event, replaced ones too."""
    columns = RATING_EVENTS.c.revision, RATING_EVENTS.c.place, RATING_EVENTS.c.after
    with store.database.reading() as connection:
        return [(row[0], row[1], row[2]) for row in connection.execute(select(*columns).order_by(*columns))]


def test_elo(store: Store) -> None:
    """1800 beats 2000 with K 24: expected 0.240253, new 1818.233926 (Elo 1978)."""
    add_game(start(store), game())
    assert refresh(store, "elo", EloSettings(k=24)) == 2
    ratings = ratings_of(store, "elo")
    assert ratings["Fruit"][0] == pytest.approx(1818.233926, abs=1e-6)
    assert ratings["Toga"][0] == pytest.approx(1981.766074, abs=1e-6)
    assert list(ratings) == ["Toga", "Fruit"], "best first"


@pytest.mark.parametrize(("scale", "elo", "gor"), [(None, 1818, 1857), ("elo", 1818, 100), ("go", 12, 1857)])
def test_ratings_of_another_scale_are_not_brought(store: Store, scale: str | None, elo: int, gor: int) -> None:
    """Entrants of a tournament that states a scale begin with their rating in the systems of that scale alone."""
    plan = draft("autumn", ("Fruit", "Toga"), "f1")
    entrants = (Entrant("Fruit", rating=1800), Entrant("Toga", rating=2000))
    config = {**plan.config, "tournament": {"name": "autumn", "rating_scale": scale}}
    log = store.create_tournament(replace(plan, config=config, entrants=entrants))
    add_game(log, game())
    found = {}
    for system in ("elo", "gor"):
        refresh(store, system, EloSettings(k=24) if system == "elo" else None)
        found[system] = ratings_of(store, system)["Fruit"][0]
    assert found["elo"] == pytest.approx(elo, abs=0.5)
    assert found["gor"] == pytest.approx(gor, abs=60)


def test_only_new_games_are_appended(store: Store) -> None:
    """A refresh appends the events of new games and leaves the others."""
    log = start(store)
    add_game(log, game())
    refresh(store, "elo")
    first = rows(store)
    assert refresh(store, "elo") == 0
    add_game(log, game(meeting=2, outcome=Outcome.VOID))
    assert refresh(store, "elo") == 0, "void games are not rated"
    add_game(log, game(meeting=3))
    assert refresh(store, "elo") == 2
    assert rows(store)[:2] == first
    assert {revision for revision, _, _ in rows(store)} == {1}


def test_struck_out_game_makes_a_revision(store: Store) -> None:
    """A game struck out replays from there; what was written before stays."""
    log = start(store)
    for meeting in (1, 2, 3):
        add_game(log, game(meeting=meeting))
    refresh(store, "elo")
    before = rows(store)
    log.record_event(GameVoided(game(meeting=2).pairing, Outcome.WHITE))
    assert refresh(store, "elo") == 2
    assert rows(store)[:6] == before
    assert [(revision, place) for revision, place, _ in rows(store)[6:]] == [(2, 2), (2, 3)]
    assert ratings_of(store, "elo")["Fruit"][1] == 2
    log.record_event(GameVoided(game(meeting=3).pairing, Outcome.WHITE))
    assert refresh(store, "elo") == 0, "the stream only gets shorter"
    assert ratings_of(store, "elo")["Fruit"][1] == 1


def test_other_settings_make_a_revision(store: Store) -> None:
    """Other settings give a new revision, and hold until others are given."""
    add_game(start(store), game())
    refresh(store, "elo")
    assert refresh(store, "elo", EloSettings(k=32)) == 2
    assert refresh(store, "elo") == 0, "without settings those of the newest revision hold"
    with store.database.reading() as connection:
        assert list(connection.execute(select(RATING_REVISIONS.c.why))) == [("first",), ("settings",)]


def test_go_rates_whole_tournaments(store: Store) -> None:
    """A tournament is one event of the Go systems, and a game that came late is rated inside it."""
    first, second = start(store), start(store, "spring")
    add_game(first, game())
    add_game(second, game(outcome=Outcome.BLACK))
    refresh(store, "gor")
    assert [(event.event, event.game) for event in history(store, "gor", "Fruit")] == [
        ("autumn", None),
        ("spring", None),
    ]
    add_game(first, game(meeting=2))
    assert refresh(store, "gor") == 4
    assert [event.games for event in history(store, "gor", "Fruit")] == [2, 3]


def test_rating_below_a_scale(store: Store) -> None:
    """A rating that Go does not know counts as none, instead of stopping the list."""
    plan = draft("autumn", ("Fruit", "Toga"))
    log = store.create_tournament(replace(plan, entrants=(Entrant("Fruit", rating=-50), Entrant("Toga"))))
    add_game(log, game(outcome=Outcome.DRAW))
    refresh(store, "gor")
    assert {name: rating for name, (rating, _) in ratings_of(store, "gor").items()} == {"Fruit": 100, "Toga": 100}


def test_versions(store: Store) -> None:
    """Two builds under one name are two rated things, told apart by their fingerprints."""
    log = start(store)
    add_game(log, game())
    log.accept_change({"Fruit": spec("Fruit", "abcdef0123456789"), "Toga": spec("Toga", "f2")})
    refresh(store, "elo")
    assert set(ratings_of(store, "elo")) == {"Fruit", "Toga"}, "a version without games does not show"
    add_game(log, game(meeting=2))
    log.accept_change({"Fruit": spec("Fruit", "abcdef0123456789", Hash="64")})
    add_game(log, game(meeting=3))
    refresh(store, "elo")
    fruits = {"Fruit [f1]", "Fruit [abcdef01]", "Fruit [abcdef01-2]"}
    assert set(ratings_of(store, "elo")) == fruits | {"Toga [f1]", "Toga [f2]"}
    newest = ratings_of(store, "elo")["Fruit [abcdef01-2]"][0]
    assert prior_ratings(store, ["Fruit", "Stranger"]) == {"Fruit": newest}
    assert {event.engine for event in history(store, "elo", "Fruit")} == fruits
    assert log.pair_counts() == {("Fruit", "Toga"): (3, 0, 0)}
    assert counted_pairs(store)["Fruit [f1]", "Toga [f1]"] == (1, 0, 0)


def test_unknown_system(store: Store) -> None:
    """A system that is not there is answered with those that are."""
    for ask in (refresh, ratings_of):
        with pytest.raises(UsageRefused, match="known: elo, gor, egf"):
            ask(store, "glicko")
