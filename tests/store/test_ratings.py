"""Tests of the stored incremental ratings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from sqlalchemy import insert, select, update

from enginetour.model.errors import InputRefused, UsageRefused
from enginetour.model.game import Added, Entrant, GameVoided, Outcome
from enginetour.ratings import elo
from enginetour.ratings.elo import EloSettings
from enginetour.store import ratings
from enginetour.store.address import Address
from enginetour.store.counts import pack_counts
from enginetour.store.log import TournamentLog
from enginetour.store.ratings import (
    Position,
    prior_ratings,
    rated_games,
    rating_history,
    ratings_of,
    stream,
    update_ratings,
)
from enginetour.store.tables import IMPORTED_GAMES, IMPORTS, RATING_EVENTS, RATING_REVISIONS, TOURNAMENTS
from enginetour.store.tournaments import Store
from enginetour.tournament import run
from enginetour.tournament.config import load
from enginetour.tournament.config.sections import RatingsSection
from tests.support.databases import add_game, counted_pairs, draft, game, spec

# Ratings of the whole database.


@pytest.fixture
def store(place: Address) -> Iterator[Store]:
    with Store.open(place) as opened:
        yield opened


def start(store: Store, name: str = "autumn") -> TournamentLog:
    """Fruit has 1800 and Toga 2000, as in the published example of Elo."""
    plan = draft(name, ("Fruit", "Toga"))
    return store.create_tournament(
        replace(plan, entrants=(Entrant("Fruit", rating=1800), Entrant("Toga", rating=2000)))
    )


def rows(store: Store) -> list[tuple[int, int, float]]:
    """Return revision, position and new rating of every stored rating event, including replaced ones."""
    columns = RATING_EVENTS.c.revision, RATING_EVENTS.c.position, RATING_EVENTS.c.after
    with store.database.reading() as connection:
        return [(row[0], row[1], row[2]) for row in connection.execute(select(*columns).order_by(*columns))]


def test_elo(store: Store) -> None:
    """1800 beats 2000 with K 24: expected 0.240253, new 1818.233926 (Elo 1978)."""
    add_game(start(store), game())
    assert update_ratings(store, "elo", EloSettings(k=24)) == 2
    ratings = ratings_of(store, "elo")
    assert ratings["Fruit"][0] == pytest.approx(1818.233926, abs=1e-6)
    assert ratings["Toga"][0] == pytest.approx(1981.766074, abs=1e-6)
    assert list(ratings) == ["Toga", "Fruit"], "best first"


@pytest.mark.parametrize(("scale", "elo", "gor"), [(None, 1818, 1857), ("elo", 1818, 100), ("go", 12, 1857)])
def test_ratings_of_another_scale_are_not_brought(store: Store, scale: str | None, elo: int, gor: int) -> None:
    """Ratings with a stated scale are only used by systems of this scale."""
    plan = draft("autumn", ("Fruit", "Toga"), "f1")
    entrants = (Entrant("Fruit", rating=1800), Entrant("Toga", rating=2000))
    config = {**plan.config, "tournament": {"name": "autumn", "rating_scale": scale}}
    log = store.create_tournament(replace(plan, config=config, entrants=entrants))
    add_game(log, game())
    found = {}
    for system in ("elo", "gor"):
        update_ratings(store, system, EloSettings(k=24) if system == "elo" else None)
        found[system] = ratings_of(store, system)["Fruit"][0]
    assert found["elo"] == pytest.approx(elo, abs=0.5)
    assert found["gor"] == pytest.approx(gor, abs=60)


def test_only_new_games_are_appended(store: Store) -> None:
    """An update appends the events of new games and keeps the others."""
    log = start(store)
    add_game(log, game())
    update_ratings(store, "elo")
    first = rows(store)
    assert update_ratings(store, "elo") == 0
    add_game(log, game(meeting=2, outcome=Outcome.VOID))
    assert update_ratings(store, "elo") == 0, "void games are not rated"
    add_game(log, game(meeting=3))
    assert update_ratings(store, "elo") == 2
    assert rows(store)[:2] == first
    assert {revision for revision, _, _ in rows(store)} == {1}


def test_struck_out_game_makes_a_revision(store: Store) -> None:
    """After an annulment, a new revision replaces the later events; the older rows stay."""
    log = start(store)
    for meeting in (1, 2, 3):
        add_game(log, game(meeting=meeting))
    update_ratings(store, "elo")
    before = rows(store)
    log.record_event(GameVoided(game(meeting=2).pairing, Outcome.WHITE))
    assert update_ratings(store, "elo") == 2
    assert rows(store)[:6] == before
    assert [(revision, place) for revision, place, _ in rows(store)[6:]] == [(2, 2), (2, 3)]
    assert ratings_of(store, "elo")["Fruit"][1] == 2
    log.record_event(GameVoided(game(meeting=3).pairing, Outcome.WHITE))
    assert update_ratings(store, "elo") == 0, "the stream only gets shorter"
    assert ratings_of(store, "elo")["Fruit"][1] == 1


def test_other_settings_make_a_revision(store: Store) -> None:
    """Other settings make a new revision and stay valid."""
    add_game(start(store), game())
    update_ratings(store, "elo")
    assert update_ratings(store, "elo", EloSettings(k=32)) == 2
    assert update_ratings(store, "elo") == 0, "without settings those of the newest revision hold"
    with store.database.reading() as connection:
        assert list(connection.execute(select(RATING_REVISIONS.c.why))) == [("first",), ("settings",)]


def test_go_rates_whole_tournaments(store: Store) -> None:
    """A tournament is one event of the Go systems, and later games of it are rated with it."""
    first, second = start(store), start(store, "spring")
    add_game(first, game())
    add_game(second, game(outcome=Outcome.BLACK))
    update_ratings(store, "gor")
    assert [(event.event, event.game) for event in rating_history(store, "gor", "Fruit")] == [
        ("autumn", None),
        ("spring", None),
    ]
    add_game(first, game(meeting=2))
    assert update_ratings(store, "gor") == 4
    assert [event.games for event in rating_history(store, "gor", "Fruit")] == [2, 3]


def test_rating_below_a_scale(store: Store) -> None:
    """A rating that a Go system does not know is ignored."""
    plan = draft("autumn", ("Fruit", "Toga"))
    log = store.create_tournament(replace(plan, entrants=(Entrant("Fruit", rating=-50), Entrant("Toga"))))
    add_game(log, game(outcome=Outcome.DRAW))
    update_ratings(store, "gor")
    assert {name: rating for name, (rating, _) in ratings_of(store, "gor").items()} == {"Fruit": 100, "Toga": 100}


def test_versions(store: Store) -> None:
    """Two binaries of one name have separate ratings and are shown with marks."""
    log = start(store)
    add_game(log, game())
    log.accept_change({"Fruit": spec("Fruit", "abcdef0123456789"), "Toga": spec("Toga", "f2")})
    update_ratings(store, "elo")
    assert set(ratings_of(store, "elo")) == {"Fruit", "Toga"}, "a version without games does not show"
    add_game(log, game(meeting=2))
    log.accept_change({"Fruit": spec("Fruit", "abcdef0123456789", Hash="64")})
    add_game(log, game(meeting=3))
    update_ratings(store, "elo")
    fruits = {"Fruit [f1]", "Fruit [abcdef01]", "Fruit [abcdef01-2]"}
    assert set(ratings_of(store, "elo")) == fruits | {"Toga [f1]", "Toga [f2]"}
    newest = ratings_of(store, "elo")["Fruit [abcdef01-2]"][0]
    assert prior_ratings(store, ["Fruit", "Stranger"]) == {"Fruit": newest}
    assert {event.engine for event in rating_history(store, "elo", "Fruit")} == fruits
    assert log.pair_counts() == {("Fruit", "Toga"): (3, 0, 0)}
    assert counted_pairs(store)["Fruit [f1]", "Toga [f1]"] == (1, 0, 0)


def test_unknown_system(store: Store) -> None:
    """The error for an unknown system names the known ones."""
    for ask in (update_ratings, ratings_of):
        with pytest.raises(UsageRefused, match="choose one of: elo, gor, egf"):
            ask(store, "glicko")


# Settings of incremental systems in the configuration.

TOML = """\
[tournament]
name = "trial"
[format]
system = "bubble"
[ratings]
systems = ["ml", "elo", "gor", "egf", "egf2021"]
{}
[[entrants]]
engine = "wren1"
[[entrants]]
engine = "wren2"
"""


def section(folder: Path, words: str) -> RatingsSection:
    path = folder / "trial.toml"
    path.write_text(TOML.format(words), "utf-8")
    return load.load(path).ratings


@pytest.mark.parametrize(
    ("words", "line", "found"),
    [
        ('[ratings.elo]\nk_polcy = "fide"', 8, "did you mean 'k_policy'?"),
        ('[ratings.elo]\nmode = "batch"\nk_policy = "FIDE"', 9, "ratings.elo.k_policy"),
        ('[ratings.elo]\nk = "24"', 8, "ratings.elo.k"),
        ('[ratings.gor]\nvariant = "egf"', 8, "ratings.gor.variant"),
        ("[ratings.gor]\nstart_value = 50", 8, "must be between 100"),
        ("[ratings.gor]\neps = 0.01", 7, "eps and integer_steps are settings of the system egf"),
        ("[ratings.egf2021]\nstart_value = 3300", 8, "less than 3300"),
        ("[ratings.glicko]\nk = 3", 7, "unknown key 'ratings.glicko'"),
    ],
)
def test_refusals_name_the_line(tmp_path: Path, words: str, line: int, found: str) -> None:
    """An invalid setting gives a one-line error with its place and the allowed values."""
    with pytest.raises(InputRefused) as caught:
        section(tmp_path, words)
    assert f"trial.toml:{line}: " in str(caught.value)
    assert found in str(caught.value)
    assert "\n" not in str(caught.value)


def test_settings_of_a_system_that_is_not_shown(tmp_path: Path) -> None:
    """Settings of a system that is not shown are errors."""
    path = tmp_path / "trial.toml"
    path.write_text(TOML.format("[ratings.elo]\nk = 24").replace('"ml", "elo", "gor", "egf", "egf2021"', '"ml"'))
    with pytest.raises(InputRefused, match="settings of elo are given, but systems does not contain elo"):
        load.load(path)


def test_settings_reach_the_ratings(tmp_path: Path) -> None:
    """The settings of the file are used; without them, the previous ones stay valid."""
    words = '[ratings.elo]\nk_policy = "fide"\nstart_value = 1500\n[ratings.egf]\nstart_value = 2000\neps = 0.0'
    asked = section(tmp_path, words)
    with Store.open(tmp_path / "t.db") as store:
        log = store.create_tournament(replace(draft(), entrants=(Entrant("Fruit"), Entrant("Toga"))))
        add_game(log, game())
        run.update_rating_systems(store, asked)
        assert ratings_of(store, "elo") == {"Fruit": (1520.0, 1), "Toga": (1480.0, 1)}
        assert ratings_of(store, "egf")["Fruit"] == (2013.5, 1)
        assert ratings_of(store, "gor")["Toga"] == (100.0, 1)
        run.update_rating_systems(store, RatingsSection(systems=("elo",)))
        assert ratings_of(store, "elo")["Fruit"] == (1520.0, 1)


def test_ratings_brought_along(tmp_path: Path) -> None:
    """An entrant starts with its configured rating in every system of its scale."""
    with Store.open(tmp_path / "t.db") as store:
        log = store.create_tournament(
            replace(draft(), entrants=(Entrant("Fruit", rating=1800), Entrant("Toga", rating=2000), Entrant("Phalanx")))
        )
        add_game(log, game())
        add_game(log, game("Phalanx", "Toga"))
        run.update_rating_systems(store, section(tmp_path, ""))
        for system, other in (("elo", 0.0), ("gor", 100.0), ("egf", 100.0), ("egf2021", 100.0)):
            begun = [rating_history(store, system, name)[0].before for name in ("Fruit", "Toga", "Phalanx")]
            assert begun == [1800, 2000, other], system


def test_a_new_version_inherits(tmp_path: Path) -> None:
    """With `inherit`, a new version starts with the rating of its predecessor."""
    with Store.open(tmp_path / "t.db") as store:
        log = store.create_tournament(replace(draft(), entrants=(Entrant("Fruit"), Entrant("Toga"))))
        add_game(log, game())
        log.accept_change({"Fruit": spec("Fruit", "f2")})
        add_game(log, game(meeting=2))
        run.update_rating_systems(store, section(tmp_path, "[ratings.elo]\ninherit = true"))
        first, second = rating_history(store, "elo", "Fruit")
        assert (first.before, first.after, second.before) == (0, 8, 8)
        run.update_rating_systems(store, section(tmp_path, "[ratings.elo]\ninherit = false"))
        assert rating_history(store, "elo", "Fruit")[1].before == 0


def test_event_classes_go_by_tournament(tmp_path: Path) -> None:
    """An EGF event has the class of its tournament's name or edition."""
    with Store.open(tmp_path / "t.db") as store:
        plan = replace(draft(), entrants=(Entrant("Fruit"), Entrant("Toga")))
        for _ in range(2):
            add_game(store.create_tournament(plan), game())
        run.update_rating_systems(
            store, section(tmp_path, '[ratings.egf2021]\nclasses = { "autumn" = "C", "autumn #2" = "D" }')
        )
        halved, quartered = rating_history(store, "egf2021", "Fruit")
        run.update_rating_systems(store, section(tmp_path, "[ratings.egf2021]"))
        whole, after = rating_history(store, "egf2021", "Fruit")
        assert halved.change == whole.change / 2
        assert quartered.weight < after.weight / 3


# Which games an update rates again.


@pytest.fixture
def refold_store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "t.db") as opened, patch.object(ratings, "_RATED_AGAIN", 0):
        yield opened


def refold_start(refold_store: Store, name: str = "autumn", rating: float | None = None) -> TournamentLog:
    return refold_store.create_tournament(
        replace(draft(name), entrants=(Entrant("Fruit", rating=rating), Entrant("Toga")))
    )


def never_whole() -> object:
    return patch.object(ratings, "_rate_all", side_effect=AssertionError("everything was rated again"))


def imported(refold_store: Store, after_game: int) -> None:
    """Import two draws from a file."""
    with refold_store.database.writing() as connection:
        own = {
            "id": 9,
            "name": "file",
            "slug": "file",
            "edition": 1,
            "system": "import",
            "seed": 1,
            "created_unix": 0.0,
        }
        connection.execute(insert(TOURNAMENTS), {**own, "format_version": 1, "config": {}, "version": ""})
        sizes = {"games": 2, "duplicates": 0, "digests": b"", "files": ()}
        sizes["counts"] = pack_counts(np.array([[1], [2], [0], [2], [0]]))
        connection.execute(insert(IMPORTS), {"tournament": 9, "after_game": after_game, **sizes})
        row = {
            "tournament": 9,
            "white_engine": 1,
            "black_engine": 2,
            "white_half_points": 1,
            "played_yyyymmdd": 0,
            "tc": "",
            "file_index": 0,
        }
        connection.execute(insert(IMPORTED_GAMES), [{**row, "offset_bytes": place} for place in range(2)])


def test_an_import_stands_where_it_was_made(refold_store: Store) -> None:
    """Imported games are rated after earlier and before later games."""
    log = refold_start(refold_store)
    add_game(log, game())
    imported(refold_store, after_game=1)
    add_game(log, game(meeting=2))
    with refold_store.database.reading() as connection:
        assert [rated.game for rated in rated_games(connection)] == [1, -1, -2, 2]
        assert [rated.game for rated in rated_games(connection, Position(1, 1))] == [-2, 2]


def test_new_games_are_all_that_is_rated(refold_store: Store) -> None:
    """One more game is rated alone, even after an import, an inherited rating and an annulment."""
    log, chosen = refold_start(refold_store), EloSettings(inherit=True)
    add_game(log, game())
    imported(refold_store, after_game=1)
    add_game(log, game(meeting=2))
    log.accept_change({"Fruit": spec("Fruit", "f2")})
    add_game(log, game(meeting=3))
    log.accept_change({"Fruit": spec("Fruit", "f1")})
    add_game(log, game(meeting=4))
    assert update_ratings(refold_store, "elo", chosen) == 12
    with never_whole():  # type: ignore[attr-defined]
        add_game(log, game(meeting=5))
        assert update_ratings(refold_store, "elo") == 2
        log.record_event(GameVoided(game(meeting=4).pairing, Outcome.WHITE))
        assert update_ratings(refold_store, "elo") == 2
        add_game(log, game(meeting=6))
        assert update_ratings(refold_store, "elo") == 2
    entered = next(event for event in rating_history(refold_store, "elo", "Fruit") if event.engine == "Fruit [f2]")
    assert entered.before == rating_history(refold_store, "elo", "Fruit")[3].after


def test_a_peak_of_long_ago(refold_store: Store) -> None:
    """An engine whose rating once reached 2400 keeps the small K in later revisions."""
    log = refold_start(refold_store, rating=2395)
    with patch.object(elo, "NEW_GAMES", 1):
        for meeting in (1, 2, 3, 4, 5, 6):
            outcome = Outcome.BLACK if meeting > 1 else Outcome.WHITE
            add_game(log, game("Fruit", "Toga", outcome, meeting=meeting))
        update_ratings(refold_store, "elo", EloSettings(k_policy="fide", start_value=2395))
        log.record_event(GameVoided(game(meeting=3).pairing, Outcome.BLACK))
        update_ratings(refold_store, "elo")
        add_game(log, game(meeting=7))
        with never_whole():  # type: ignore[attr-defined]
            update_ratings(refold_store, "elo")
        own = rating_history(refold_store, "elo", "Fruit")
    assert own[0].after > 2400 > own[-1].before
    assert own[-1].weight == 10


def test_a_rating_that_came_late(refold_store: Store) -> None:
    """A rating that an entrant gets later is its rating from its first game on."""
    older, newer = (
        refold_store.create_tournament(draft(names=("Toga", "Phalanx"))),
        refold_start(refold_store, "spring"),
    )
    add_game(newer, game())
    update_ratings(refold_store, "elo")
    older.record_event(Added(Entrant("Fruit", rating=1500)), spec=spec("Fruit"))
    add_game(newer, game(meeting=2))
    assert update_ratings(refold_store, "elo") == 4
    assert rating_history(refold_store, "elo", "Fruit")[0].before == 1500


def test_other_settings_rate_everything(refold_store: Store) -> None:
    """With other settings, all games are rated again."""
    add_game(refold_start(refold_store), game())
    update_ratings(refold_store, "elo")
    assert update_ratings(refold_store, "elo", EloSettings(k=24)) == 2


def test_rows_of_another_arithmetic(refold_store: Store) -> None:
    """If the last rows differ from a replay, all games are rated again."""
    log = refold_start(refold_store)
    add_game(log, game())
    update_ratings(refold_store, "elo")
    with refold_store.database.writing() as connection:
        connection.execute(update(RATING_EVENTS).values(change=7.5))
    add_game(log, game(meeting=2))
    with patch.object(ratings, "_RATED_AGAIN", 1):
        assert update_ratings(refold_store, "elo") == 4
    with refold_store.database.reading() as connection:
        assert {span.revision for span in stream(connection, "elo").spans} == {2}
