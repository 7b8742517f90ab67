"""Seasons in a database: games that are voided late, engines that leave or are added, and names that are taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from enginetour.formats.league import Rules, SeasonResult, first_season, next_season
from enginetour.model.errors import UsageRefused
from enginetour.model.game import Added, Entrant, GameVoided, Withdrawn
from enginetour.model.task import EngineSpec
from enginetour.reports.league import stage_state
from enginetour.store.address import stage_name
from enginetour.store.log import TournamentLog
from enginetour.store.seasons import SeasonBook, newest_season, seasons_of, write_season
from enginetour.store.tournaments import Store
from tests.support.databases import league_played, play_on, reported_played

EIGHT = ("Ada", "Bea", "Cid", "Dot", "Eve", "Fay", "Gus", "Hal")


def newest(store: Store) -> SeasonBook:
    """Return the newest season, read again."""
    book = newest_season(store, "Mini")
    assert book is not None
    return book


def void(log: TournamentLog, number: int) -> None:
    """Void a game."""
    game = log.game(number).game
    log.record_event(GameVoided(game.pairing, game.outcome, "dice"), why="dice")


def played(path: Path, names: tuple[str, ...], label: str, most: int = 10_000) -> None:
    """Play a tournament of the first season."""
    reported_played(path, names, options={"games_per_pairing": 2}, name=f"Mini S1 {label}", most=most)[0].close()


def test_a_season_stays_as_it_is_after_the_next_one_was_written(tmp_path: Path) -> None:
    """If a game of an earlier season is voided, the season is still finished, with all its playoffs."""
    league_played(tmp_path / "db", EIGHT, 2)
    with Store.open(tmp_path / "db") as store:
        before = SeasonBook(store, seasons_of(store)[0])
        pairs = [stage.entrants for stage in before.playoffs]
        void(store.tournament("Mini S1 First"), 1)
        void(store.tournament("Mini S2 First"), 1)
        first, second = (SeasonBook(store, stored) for stored in seasons_of(store))
        assert first.playable() == []
        assert [stage.entrants for stage in first.playoffs] == pairs
        assert first.result().playoffs == before.result().playoffs
        assert [stage.label for stage in second.playable()] == ["First"]


def test_divisions_that_have_begun_keep_their_engines(tmp_path: Path) -> None:
    """If a game of the qualifier is voided after a division has begun, every engine still has one place."""
    rules = Rules(("Premier", "First"), (2, 2), (1,), (0,))
    with Store.open(tmp_path / "db") as store:
        entered = first_season(Rules(rules.names, rules.sizes, (1,), (0,), "qualifier", 1), EIGHT[:6])
        write_season(store, "Some", 1, {}, rules, entered)
        some = newest_season(store, "Some")
        assert some is not None
        assert [stage.ranked for stage in some.divisions] == [("Ada", "Bea"), ("Cid",)]
        assert [stage.label for stage in some.playable()] == ["Qualifier"]
        write_season(store, "Mini", 1, {}, rules, first_season(rules, EIGHT[:5], qualifier=True))
        played(tmp_path / "db", EIGHT[:5], "Qualifier")
        upper = newest(store).season.divisions[0]
        played(tmp_path / "db", upper, "Premier", 1)
        qualifier = store.tournament("Mini S1 Qualifier")
        for line in qualifier.games():
            if upper[0] in (line.white, line.black):
                void(qualifier, line.number)
        book = newest(store)
        assert [stage.label for stage in book.playable()] == ["Qualifier"]
        assert book.season.divisions[0] == upper
        assert len(set(book.season.engines)) == len(book.season.engines) == 5
        play_on(qualifier, 100)
        assert [stage.entrants for stage in newest(store).divisions] == [*newest(store).season.divisions]
        assert [stage.label for stage in newest(store).playable()] == ["Premier", "First"]


def test_a_qualifier_leaves_one_engine_for_a_division(tmp_path: Path) -> None:
    """A division has no games if the qualifier leaves one engine for it; the season ends without them."""
    rules = Rules(("Premier", "First"), (2, 2), (1,), (0,), entries=0)
    with Store.open(tmp_path / "db") as store:
        write_season(store, "Mini", 1, {"cross": {"engines": 1}}, rules, first_season(rules, EIGHT[:4], qualifier=True))
        played(tmp_path / "db", EIGHT[:4], "Qualifier")
        store.tournament("Mini S1 Qualifier").record_event(Withdrawn("Bea"))
        for label in ("Premier", "Cross"):
            (stage,) = newest(store).playable()
            assert stage.label == label
            entrants = stage.entrants or (newest(store).tables[0][-1], newest(store).tables[1][0])
            played(tmp_path / "db", entrants, label)
        book = newest(store)
        assert book.playable() == []
        assert [len(table) for table in book.tables] == [2, 1]
        assert [stage_state(stage) for stage in book.divisions] == ["finished", "too few engines"]
        after = next_season(rules, book.season, book.result(), EIGHT)
        assert [len(division) for division in after.divisions] == [2, 2]


def test_a_playoff_that_has_begun_counts_after_a_withdrawal(tmp_path: Path) -> None:
    """If engines leave a division after its playoff, the result of the playoff counts."""
    rules = Rules(("Premier", "First"), (2, 2), (0,), (1,))
    with Store.open(tmp_path / "db") as store:
        write_season(store, "Mini", 1, {}, rules, first_season(rules, EIGHT[:6]))
        for stage in newest(store).divisions:
            played(tmp_path / "db", stage.entrants, stage.label)
        (match,) = newest(store).playoffs
        played(tmp_path / "db", match.entrants, match.label)
        log = store.tournament("Mini S1 First")
        for name in newest(store).tables[1]:
            log.record_event(Withdrawn(name))
        book = newest(store)
        assert [stage.entrants for stage in book.playoffs] == [match.entrants]
        assert book.playable() == []
        after = next_season(rules, book.season, book.result(), EIGHT)
        assert len(set(after.engines)) == len(after.engines) == 6


def test_matches_between_divisions_need_two_divisions_with_engines(tmp_path: Path) -> None:
    """If all engines of the only other division left, there are no matches between divisions, and the season ends."""
    rules = Rules(("Premier", "First"), (2, 2), (1,), (0,))
    with Store.open(tmp_path / "db") as store:
        write_season(store, "Mini", 1, {"cross": {"engines": 1}}, rules, first_season(rules, EIGHT[:4]))
        for stage in newest(store).divisions:
            played(tmp_path / "db", stage.entrants, stage.label, 1)
        log = store.tournament("Mini S1 First")
        for name in ("Cid", "Dot"):
            log.record_event(Withdrawn(name))
        assert newest(store).cross is not None
        play_on(store.tournament("Mini S1 Premier"), 100)
        assert newest(store).cross is None
        assert newest(store).playable() == []
        assert newest(store).tables[1] == ()


def test_an_engine_that_was_added_to_a_second_division(tmp_path: Path) -> None:
    """An engine that plays in two divisions counts in the upper one, and has one place in the next season."""
    league_played(tmp_path / "db", EIGHT)
    with Store.open(tmp_path / "db") as store:
        book = newest(store)
        last = book.tables[1][-1]
        log = store.tournament("Mini S1 Premier")
        log.record_event(Added(Entrant(last)), spec=EngineSpec(last, ("x",), "uci"))
        book = newest(store)
        assert [last in table for table in book.tables] == [True, False]
        after = next_season(book.rules, book.season, SeasonResult(book.tables), EIGHT)
        assert len(set(after.engines)) == len(after.engines) == 8


def test_a_name_that_is_taken(tmp_path: Path) -> None:
    """A season is not written if a tournament already has the name of one of its tournaments."""
    rules = Rules(("Premier", "First"), (2, 2), (1,), (0,))
    with Store.open(tmp_path / "db") as store:
        played(tmp_path / "db", EIGHT[:4], "First", 1)
        with pytest.raises(UsageRefused, match=r"tournament 'Mini S1 First' already exists"):
            write_season(store, "Mini", 1, {}, rules, first_season(rules, EIGHT[:4]))
        assert seasons_of(store) == []
        write_season(store, "mini", 1, {}, rules, first_season(rules, EIGHT[:4]))
        assert newest_season(store, "Mini") is None
        assert stage_name("mini", 1, "First") == "mini S1 First"
