"""Tests of pair counts, removed imports, variants and earlier states of the database."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from enginetour.model.errors import UsageRefused
from enginetour.model.game import GameVoided, Opening, Outcome
from enginetour.store import codecs
from enginetour.store.address import Address
from enginetour.store.counts import (
    counts_by_name,
    counts_by_pair,
    engines_in,
    join_counts,
    kept_counts,
    nonstandard_variants,
    pack_counts,
    remove_imports,
)
from enginetour.store.definition import ListDefinition, define_list, revisions_of
from enginetour.store.editions import Edition, difference, make_edition, publish, read_edition
from enginetour.store.games import head_to_head
from enginetour.store.imports import imports_of
from enginetour.store.lists import rate_selection
from enginetour.store.log import TournamentLog
from enginetour.store.ratings import number_rated, rated_games, ratings_of, update_ratings
from enginetour.store.selection import select_games
from enginetour.store.tables import IMPORTS
from enginetour.store.tournaments import Store
from tests.support.databases import (
    add_game,
    bring,
    draft,
    enter,
    findings,
    game,
    invoke,
    meddled,
    open_log,
    pgn,
    record,
    rows,
    spec,
)
from tests.support.tournaments import unwrapped, usage_error

# Pair counts: the rows of a tournament and the packed counts of an import are read alike.


def test_rows_and_packed_counts_read_alike(tmp_path: Path) -> None:
    """Counts of all or of some tournaments are read, however they are stored."""
    store, log = open_log(tmp_path / "t.db")
    add_game(log, game())
    add_game(log, game(meeting=2, outcome=Outcome.DRAW))
    bring(store, [(2, 1, 2), (1, 2, 0), (2, 1, 1)])
    with store.database.reading() as connection:
        kept = kept_counts(connection)
        assert {event: counts_by_pair(sums) for event, sums in kept.items()} == {
            1: {(1, 2): (1, 1, 0)},
            2: {(1, 2): (0, 0, 1), (2, 1): (1, 1, 0)},
        }
        assert set(kept_counts(connection, [2])) == {2}
        assert kept_counts(connection, []) == {}
    store.close()


def test_a_pair_without_results_has_met(tmp_path: Path) -> None:
    """After an annulment, the engines of the game are still known, without a count."""
    store, log = open_log(tmp_path / "t.db")
    add_game(log, game())
    log.record_event(GameVoided(game().pairing, Outcome.WHITE))
    with store.database.reading() as connection:
        [sums] = kept_counts(connection).values()
    assert counts_by_pair(sums) == {}
    assert engines_in(sums) == {1, 2}
    store.close()


def test_nothing_kept(tmp_path: Path) -> None:
    """An empty database has no counts and no engines."""
    with Store.open(tmp_path / "t.db") as store, store.database.reading() as connection:
        assert kept_counts(connection) == {}
    assert join_counts([]).shape == (5, 0)
    assert engines_in(join_counts([])) == set()


def test_packed_numbers_are_the_same_on_every_machine(tmp_path: Path) -> None:
    """Packed counts are little-endian numbers of four bytes, one line after the other."""
    store, _ = open_log(tmp_path / "t.db")
    assert pack_counts(np.array([[1], [2], [3], [0], [258]])).hex() == "01000000020000000300000000000000" + "02010000"
    bring(store, [(1, 2, 2)] * 258)
    with store.database.reading() as connection:
        assert len(connection.execute(IMPORTS.select()).one().counts) == 20
        assert counts_by_pair(kept_counts(connection)[2]) == {(1, 2): (258, 0, 0)}
    store.close()


def test_versions_of_one_name_are_added_up() -> None:
    """Counts are summed by names; versions without a name are left out."""
    counts = {(1, 2): (1, 0, 0), (3, 2): (0, 1, 0), (2, 9): (0, 0, 1)}
    assert counts_by_name(counts.items(), {1: "Fruit", 3: "Fruit", 2: "Toga"}) == {("Fruit", "Toga"): (1, 1, 0)}


# Removed imports: their games are only in lists of an earlier time, and can be imported again.


@pytest.fixture
def club(tmp_path: Path) -> Path:
    path = tmp_path / "club.pgn"
    path.write_text(pgn(("Fruit", "Toga", "1-0"), ("Toga", "Fruit", "1/2-1/2"), ("Fruit", "Rebel", "0-1")))
    return path


@pytest.fixture
def store(tmp_path: Path, club: Path) -> Iterator[Store]:
    """Two games of a tournament, with an import of three games between them."""
    with Store.open(tmp_path / "x.db") as opened:
        log = opened.create_tournament(draft())
        record(log, "Phalanx", "HoiChess")
        enter(opened, club, "club")
        record(log, "HoiChess", "Phalanx", day="2026-11-02")
        yield opened


def games(store: Store, as_of: str | None = None, **parts: Any) -> int:
    return select_games(store, ListDefinition.model_validate(parts), as_of).games


@pytest.mark.parametrize("parts", [{}, {"min_games": 1, "tc": ("*",)}, {"system": "elo"}])
def test_a_list_loses_its_games_and_gets_them_back(store: Store, club: Path, parts: dict[str, Any]) -> None:
    """A removal takes the games out of the list, and the same file brings them back."""
    assert games(store, **parts) == 5
    [struck] = remove_imports(store.database, ["club"], why="wrong clocks")
    assert (struck.title, struck.games) == ("club", 3)
    assert games(store, **parts) == 2
    assert enter(store, club, "club").games == 3
    assert games(store, **parts) == 5
    assert [line.removed_unix is None for line in imports_of(store.database)] == [False, True]


def test_it_is_an_event_of_its_time(tmp_path: Path, store: Store, club: Path) -> None:
    """A removal changes no row; only later editions and lists lose the games."""
    define_list(store, "all", ListDefinition())
    first = publish(store, "all")
    before = {table: rows(tmp_path / "x.db", table) for table in ("imports", "imported_games", "tournaments", "games")}
    remove_imports(store.database, ["club"], why="wrong clocks")
    assert {table: rows(tmp_path / "x.db", table) for table in before} == before
    assert games(store, "game 2") == 5
    assert read_edition(store, "all", 1).numbers() == first.numbers()
    again = select_games(store, ListDefinition(), first.moment)
    assert (again.games, again.names) == (5, ("Fruit", "HoiChess", "Phalanx", "Rebel", "Toga"))
    found = difference(store, "all").to_json()
    assert found["removed"] == [{"import": "club", "games": 3, "why": "wrong clocks"}]
    publish(store, "all")
    enter(store, club, "club")
    assert difference(store, "all", 1, 2).to_json()["removed"] == found["removed"]
    assert difference(store, "all", 2).to_json()["removed"] == []


@pytest.mark.parametrize("system", ["elo", "gor"])
def test_incremental_ratings_are_rated_again(store: Store, club: Path, system: str) -> None:
    """After a removal, ratings have the same bits as in a database without the import."""
    update_ratings(store, system)
    remove_imports(store.database, ["club"])
    update_ratings(store, system)
    assert set(ratings_of(store, system)) == {"Phalanx", "HoiChess"}
    with Store.open(club.parent / "other.db") as other:
        log = other.create_tournament(draft())
        record(log, "Phalanx", "HoiChess")
        record(log, "HoiChess", "Phalanx")
        update_ratings(other, system)
        assert ratings_of(other, system) == ratings_of(store, system)
    enter(store, club, "club")
    update_ratings(store, system)
    assert len(ratings_of(store, system)) == 5


def test_whoever_reads_games_one_by_one_leaves_them_out(store: Store, club: Path) -> None:
    """A sequential test does not count games of removed imports."""
    remove_imports(store.database, ["club"])
    with pytest.raises(UsageRefused, match="have no games"):
        head_to_head(store.database, "Fruit", "Toga")
    enter(store, club, "club")
    assert [points for _, points in head_to_head(store.database, "Fruit", "Toga").games] == [2, 1]


def test_the_check_understands_it(tmp_path: Path, store: Store, club: Path) -> None:
    """A removal is sound and its games can be imported again; a second removal of one import is a finding."""
    define_list(store, "all", ListDefinition())
    publish(store, "all")
    remove_imports(store.database, ["club"])
    enter(store, club, "club")
    assert findings(store) == []
    meddled(
        tmp_path / "x.db",
        "INSERT INTO events SELECT tournament, 2, kind, game, payload, at_unix FROM events WHERE kind = 'removed'",
    )
    assert ["can only contain one removal" in words for words in findings(store)] == [True]


def test_which_import_is_meant(store: Store, club: Path, tmp_path: Path) -> None:
    """An import is chosen by name, number or pattern; nothing is removed if one choice is invalid."""
    other = tmp_path / "more.pgn"
    other.write_text(pgn(("Rebel", "Toga", "1-0")))
    enter(store, other, "club")
    for words, refusal in (
        (["club"], "2 imports have the name 'club'"),
        (["clubs"], "did you mean 'club'"),
        (["autumn"], "import 'autumn' not found"),
        (["club #2", "nobody"], "import 'nobody' not found"),
    ):
        with pytest.raises(UsageRefused, match=refusal):
            remove_imports(store.database, words)
    assert games(store) == 6
    assert [one.title for one in remove_imports(store.database, ["club #2"])] == ["club #2"]
    with pytest.raises(UsageRefused, match="already removed"):
        remove_imports(store.database, ["club #2"])
    assert [one.edition for one in remove_imports(store.database, ["club #*"], write=False)] == [1]
    assert games(store) == 5, "nothing was written"
    assert [one.edition for one in remove_imports(store.database, ["club", "club #1"])] == [1]


# The commands.


def test_list_and_remove_on_the_command_line(tmp_path: Path, club: Path) -> None:
    """`--list` is the same as `imports`, which shows removals with their reasons."""
    invoke(tmp_path, "import", club)
    assert invoke(tmp_path, "import", "--list").output == invoke(tmp_path, "imports").output
    assert "would be removed" in invoke(tmp_path, "import", "--remove", "club", "--dry-run").output
    told = unwrapped(invoke(tmp_path, "import", "--remove", "club", "--why", "wrong clocks", "--json").stdout)
    assert [(one["name"], one["edition"], one["games"]) for one in told["removed"]] == [("club", 1, 3)]
    [line] = unwrapped(invoke(tmp_path, "import", "--list", "--json").stdout)
    assert (line["removed"], line["why"]) == (told["removed"][0]["at"], "wrong clocks")
    assert "club #1 was removed: wrong clocks" in invoke(tmp_path, "imports").output
    refused = invoke(tmp_path, "ratings", "-t", "club")
    assert isinstance(refused.exception, UsageRefused)
    assert "was removed on" in str(refused.exception)
    assert invoke(tmp_path, "ratings", "-t", "club", "--as-of", "2000-01-01").exit_code == 0


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("a.pgn", "--list"),
        ("--list", "--remove", "x"),
        ("a.pgn", "--why", "x"),
        ("--list", "--name", "x"),
        ("a.pgn", "--csv"),
    ],
)
def test_one_thing_at_a_time(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Files, --list and --remove exclude each other and each other's options."""
    assert usage_error(invoke(tmp_path, "import", *words))


# Tournaments of chess variants have lists of their own.


@pytest.fixture
def variantgames_store(tmp_path: Path) -> Store:
    """Two games of standard chess and three of Chess960."""
    made = Store.open(tmp_path / "t.db")
    for name, variant, games in (("old", None, 1), ("usual", "standard", 1), ("shuffled", "chess960", 3)):
        play = {} if variant is None else {"play": {"variant": variant}}  # older configurations have no variant
        plan = replace(draft(name), config={**draft().config, **play})
        log = made.create_tournament(plan)
        for meeting in range(1, games + 1):
            add_game(log, game(outcome=Outcome.WHITE, meeting=meeting))
    return made


def test_a_list_is_of_one_variant(variantgames_store: Store) -> None:
    """A list is of standard chess by default, and counts the games of other variants as excluded."""
    with variantgames_store:
        usual = select_games(variantgames_store, ListDefinition())
        shuffled = select_games(variantgames_store, ListDefinition(variant="chess960"))
        assert (usual.games, usual.left_out) == (2, {"variant": 3})
        assert (shuffled.games, shuffled.left_out) == (3, {"variant": 2})
        now = "2100-01-01"
        assert select_games(variantgames_store, ListDefinition(), now).left_out == {"variant": 3}
        assert select_games(variantgames_store, ListDefinition(variant="chess960", tc=("*",)), now).games == 3
        assert select_games(variantgames_store, ListDefinition(tournaments=("usual",))).left_out == {
            "variant": 3,
            "tournament": 1,
        }


def test_rating_events_are_of_standard_chess(variantgames_store: Store) -> None:
    """Incremental systems rate only standard chess."""
    with variantgames_store, variantgames_store.database.reading() as connection:
        assert len(list(rated_games(connection))) == number_rated(connection) == 2
        assert list(nonstandard_variants(connection).values()) == ["chess960"]


def test_an_unknown_variant_is_no_list() -> None:
    """The error for an unknown variant names the most similar one."""
    with pytest.raises(ValueError, match="did you mean 'crazyhouse'"):
        ListDefinition(variant="crazyhous")


def test_the_variant_of_a_game_comes_back() -> None:
    """The variant is stored with the opening; a row without it is of standard chess."""
    opening = Opening("SP 7", 8, "8/8/8/8/8/8/8/8 w - - 0 1", (), "", "chess960")
    assert codecs._opening_of(codecs._set_fields(opening)) == opening
    assert codecs._opening_of({"index": 3, "moves": ["e2e4"]}) == Opening("", 3, None, ("e2e4",))


OWN, READ = "Fruit [f1]", "Fruit [imported]"


@pytest.fixture
def store_too(place: Address, tmp_path: Path) -> Iterator[Store]:
    """Fruit beat Toga in a tournament, and engines of the same names met Rebel in a file."""
    path = tmp_path / "club.pgn"
    path.write_text(pgn(("Fruit", "Toga", "0-1"), ("Toga", "Rebel", "1/2-1/2"), ("Rebel", "Fruit", "1-0")))
    with Store.open(place) as opened:
        log = opened.create_tournament(draft("spring", ("Fruit", "Toga")))
        record(log, "Fruit", "Toga")
        enter(opened, path, "club")
        yield opened


def log_of(store_too: Store) -> TournamentLog:
    return store_too.tournament("spring")


def published(store_too: Store, **parts: object) -> Edition:
    define_list(store_too, "all", ListDefinition.model_validate(parts))
    return publish(store_too, "all")


def again(store_too: Store) -> Edition:
    """The first edition, computed again."""
    made, definition = read_edition(store_too, "all", 1), revisions_of(store_too, "all")[0].definition
    selection = select_games(store_too, definition, made.moment)
    return make_edition("all", 1, selection, rate_selection(store_too, selection))


@pytest.mark.parametrize("parts", [{}, {"min_games": 1, "tc": ("*",)}, {"by": "name"}, {"system": "elo"}])
def test_an_edition_outlives_its_import(store_too: Store, parts: dict[str, object]) -> None:
    """An edition is computed again with the same names after the removal of an import."""
    made = published(store_too, **parts)
    remove_imports(store_too.database, ["club"])
    assert again(store_too).numbers() == made.numbers()
    assert again(store_too).versions == made.versions
    assert findings(store_too) == []


def test_marks_are_those_of_the_moment(store_too: Store) -> None:
    """Marks are shown with the import, but not before it and not after its removal."""
    made = published(store_too)
    assert {line.name for line in made.lines} == {OWN, READ, "Rebel", "Toga [f1]", "Toga [imported]"}
    remove_imports(store_too.database, ["club"])
    assert {line.name for line in publish(store_too, "all").lines} == {"Fruit", "Toga"}
    then = select_games(store_too, ListDefinition(), made.moment)
    assert set(then.names) == set(made.versions)
    assert select_games(store_too, ListDefinition(), "game 1").names == ("Fruit", "Toga")


def test_a_difference_counts_what_an_import_took_along(store_too: Store) -> None:
    """A difference counts only the games of the removed import as annulled."""
    published(store_too)
    remove_imports(store_too.database, ["club"])
    found = difference(store_too, "all")
    assert [(move.name, move.new, move.struck) for move in found.moves] == [("Fruit", 0, 0), ("Toga", 0, 0)]
    assert sorted(name for name, _ in found.left) == [READ, "Rebel", "Toga [imported]"]
    assert [one.title for one in found.removed] == ["club"]


@pytest.mark.parametrize("parts", [{"aliases": {OWN: "Old"}}, {"engines": (OWN, "Toga*")}, {"anchors": {OWN: 2700.0}}])
def test_a_marked_name_means_one_version_at_every_moment(store_too: Store, parts: dict[str, object]) -> None:
    """A name with mark means the same version even if the mark is not shown."""
    made = published(store_too, **parts)
    remove_imports(store_too.database, ["club"])
    assert findings(store_too) == []
    now = publish(store_too, "all")
    name = "Old" if "aliases" in parts else "Fruit"
    assert set(now.versions) == {name, "Toga"}
    assert [line.games for line in now.lines] == [1, 1]
    assert again(store_too).numbers() == made.numbers()


def test_a_pattern_fits_marks_of_the_moment_alone(store_too: Store) -> None:
    """A pattern that matches a name also matches it with a mark."""
    remove_imports(store_too.database, ["club"])
    made = published(store_too, not_engines=("*f1?",))
    log_of(store_too).accept_change({"Fruit": spec("Fruit", "f2")})
    record(log_of(store_too), "Fruit", "Toga")
    assert findings(store_too) == []
    assert again(store_too).numbers() == made.numbers()


@pytest.mark.parametrize("parts", [{}, {"min_games": 1, "tc": ("*",)}])
def test_a_family_is_told_by_versions_with_games_in_the_list(store_too: Store, parts: dict[str, object]) -> None:
    """Only versions with games in the list define the family of a name."""
    made = published(store_too, by="name", best_of_family=True, **parts)
    with store_too.database.writing() as connection:
        connection.exec_driver_sql(
            "INSERT INTO engines (name, fingerprint, options, protocol, own_name, family, origin, command)"
            " VALUES ('Toga', 'f9', '[]', 'uci', '', 'Fruit', '', '[]')"
        )
    assert again(store_too).numbers() == made.numbers()


def test_a_game_voided_by_a_clock_that_was_set_back(store_too: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Earlier editions keep a game that is annulled after the clock was set back."""
    made = published(store_too)
    pairing = replace(game().pairing, meeting=log_of(store_too).games()[0].meeting)
    monkeypatch.setattr("time.time", lambda: 1.0)
    log_of(store_too).record_event(GameVoided(pairing, Outcome.WHITE), why="wrong book")
    assert again(store_too).numbers() == made.numbers()
    assert "Fruit [f1]" not in select_games(store_too, ListDefinition()).names
