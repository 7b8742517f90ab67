"""Tests of the check and the repair of databases."""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text, update

from enginetour.engines.enginefile import stored_spec
from enginetour.model.errors import StoreRefused
from enginetour.store.address import Address, rows_of_others
from enginetour.store.backup import upgrade_database
from enginetour.store.check import Inspection, damages, inspect, repair
from enginetour.store.database import Database
from enginetour.store.definition import ListDefinition, define_list
from enginetour.store.editions import COMPUTATION, publish
from enginetour.store.sqlite import TournamentLock
from enginetour.store.tables import ENTRANTS
from enginetour.store.tournaments import Store
from tests.support.databases import add_game, full_game, game, meddled, older, open_log, sound_log
from tests.support.faults import SPOILT, spoil, tried
from tests.support.tournaments import THREE, config, read, running, tour, unwrapped

# Cells with values that enginetour never writes.


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A tournament with a game that has a value in every field."""
    store, log = sound_log(tmp_path / "t.db")
    with store:
        add_game(log, game())
        add_game(log, replace(full_game(), pairing=game("Toga", "Fruit", meeting=2).pairing, replay=0))
    return tmp_path / "t.db"


def found(path: Path) -> list[str]:
    with Database.open(path, create=False, readonly=True) as database, database.reading() as connection:
        return list(database.backend.invalid_cells(connection))


def test_ours_are_in_order(path: Path) -> None:
    """Cells that enginetour wrote are valid."""
    assert found(path) == []


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("UPDATE games SET started_unix = 'soon' WHERE number = 2", "row 2 of games: invalid started_unix 'soon'"),
        ("UPDATE games SET plies = 1e300", "row 1 of games: invalid plies '1.0e+300' (and 1 more)"),
        ("UPDATE games SET ended_unix = 9e999 WHERE number = 1", "row 1 of games: invalid ended_unix 'Inf'"),
        ("UPDATE games SET round = 1 << 62 WHERE number = 1", "row 1 of games: invalid round '4611686018427387904'"),
        ("UPDATE games SET opening = '[' WHERE number = 1", "row 1 of games: invalid opening '['"),
        ("UPDATE tournaments SET config = ''", "row 1 of tournaments: invalid config ''"),
        ("UPDATE games SET cause = x'ff1b' WHERE number = 1", "row 1 of games: invalid cause '\\\\xff\\x1b'"),
        ("UPDATE moves SET moves = 'e4' WHERE game = 1", "row 1 of moves: invalid moves 'e4'"),
        ("UPDATE entrants SET new = 2 WHERE starting_rank = 1", "row 1 of entrants: invalid new '2'"),
    ],
)
def test_each_kind_is_named(path: Path, statement: str, told: str) -> None:
    """A finding names row, table, value and column, and the number of further cells."""
    meddled(path, statement)
    assert found(path) == [told]


def test_whose_fault_it_is(path: Path) -> None:
    """A failure while reading a sound database is an internal error; with a damaged one it is an input error."""
    with pytest.raises(KeyError), rows_of_others(path):
        raise KeyError("our own")
    with pytest.raises(KeyError), rows_of_others(path.with_name("none.db")):
        raise KeyError("our own")
    meddled(path, "UPDATE games SET started_unix = 'soon' WHERE number = 2")
    told = r"row 2 of games: invalid started_unix 'soon'.* enginetour db check"
    with pytest.raises(StoreRefused, match=told), rows_of_others(path):
        raise KeyError("theirs")


# The full check finds nothing in a sound database, and each damage with its place.


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished tournament, an import and an edition of a list of both."""
    folder = tmp_path_factory.mktemp("played")
    (folder / "results").mkdir()
    config(folder, ("wren1", "wren2", "wren3"), "roundrobin", "games_per_pairing = 2")
    tour(folder, "run", "trial.toml")
    tour(folder, "export", "pgn", "-o", "games.pgn")
    tags = (folder / "games.pgn").read_text().replace('[Event "trial"]', '[Event "elsewhere"]')
    (folder / "games.pgn").write_text(tags)
    tour(folder, "import", "games.pgn", "--name", "files")
    tour(folder, "lists", "define", "all")
    tour(folder, "publish", "all")
    return folder / "results" / "enginetour.db"


def inspected(played: Path, folder: Path, *statements: str) -> Inspection:
    """Check a copy of the database after these statements."""
    path = folder / "t.db"
    path.write_bytes(played.read_bytes())
    meddled(path, *statements)
    with Store.open(path, create=False, readonly=True) as store:
        return inspect(store)


def test_sound(played: Path, tmp_path: Path) -> None:
    """A sound database has no findings."""
    found = inspected(played, tmp_path)
    assert found.findings == found.unreplayed == ()
    assert (found.tournaments, found.games, found.imports, found.editions) == (1, 6, 1, 1)


def test_an_edition_of_an_older_computation(tmp_path: Path) -> None:
    """Its ratings may differ without damage. Its numbers of games, and ratings of this computation, are checked."""
    path = older(tmp_path / "league.db", "league")  # its pools had their own White advantages
    upgrade_database(path)

    def faults(statement: str = "SELECT 1") -> tuple[list[str], list[str]]:
        found = inspected(path, tmp_path, statement)
        places = ([one.place for one in findings] for findings in (found.findings, found.unreplayed))
        faulty, unreplayed = ([place for place in each if place.startswith("edition")] for each in places)
        return faulty, unreplayed

    both = ["edition 1 of everything", "edition 2 of everything"]
    assert faults() == ([], both)
    one = "(SELECT id FROM editions WHERE list = 'everything' AND number = 1)"
    assert faults(f"UPDATE edition_lines SET wins = wins + 1 WHERE ordinal = 1 AND edition = {one}") == (
        both[:1],
        both[1:],
    )
    now = f"UPDATE editions SET details = json_set(details, '$.computation', {COMPUTATION}) WHERE id = {one}"
    assert faults(now) == (both[:1], both[1:])


@pytest.mark.parametrize(
    "statement, place, words",
    [
        ("UPDATE pair_counts SET wins = wins + 1 WHERE rowid = 1", "tournament trial", "stored as +"),
        ("DELETE FROM notes WHERE ordinal = 1", "tournament trial", "the replay of the log gives"),
        ("UPDATE games SET outcome = 'won' WHERE number = 2", "tournament trial", "game 2 cannot be read"),
        ("UPDATE moves SET moves = x'00' WHERE game = 3", "tournament trial", "game 3 cannot be read"),
        ("DELETE FROM moves WHERE game = 3", "tournament trial", "game 3 has no moves"),
        (
            "DELETE FROM events WHERE position = 4",
            "tournament trial",
            "there are 5 events, but the last one has number 6",
        ),
        ("UPDATE games SET plies = plies + 1 WHERE number = 1", "tournament trial", "but its row has"),
        ("DELETE FROM imported_games WHERE id = 2", "import files", "it had 6 games, but 5 were found"),
        ("UPDATE imports SET digests = x'00'", "import files", "digests, but 6 games"),
        ("UPDATE imports SET digests = zeroblob(48)", "imports", "5 imported games are stored twice"),
        ("UPDATE imports SET counts = x'0000'", "import files", "cannot be read"),
        ("UPDATE edition_lines SET rating = rating + 1 WHERE ordinal = 1", "edition 1 of all", "1 lines"),
        (
            "UPDATE edition_lines SET remarks = '[5]' WHERE ordinal = 2",
            "edition 1 of all",
            "lines.2.remarks.1: must be text",
        ),
        ("UPDATE lists SET definition = '{'", "edition 1 of all", "revision 1 cannot be read"),
        ("UPDATE tournaments SET config = '[]' WHERE name = 'trial'", "tournament trial", "cannot be read"),
    ],
)
def test_found(played: Path, tmp_path: Path, statement: str, place: str, words: str) -> None:
    """Each change by another program is found."""
    found = inspected(played, tmp_path, statement)
    assert any(finding.place == place and words in finding.what for finding in found.findings), found.findings


def test_log_of_another_format_version(played: Path, tmp_path: Path) -> None:
    """A log of another format version is listed separately, not as damage."""
    found = inspected(played, tmp_path, "UPDATE tournaments SET format_version = 99 WHERE name = 'trial'")
    assert found.findings == ()
    assert "version 99" in found.unreplayed[0].what


def test_the_sentence_of_a_decision_is_not_compared(played: Path, tmp_path: Path) -> None:
    """A decision worded by another release is sound; a decision with other data is not."""
    assert inspected(played, tmp_path, "UPDATE notes SET text = 'in other words'").findings == ()
    found = inspected(played, tmp_path, "UPDATE notes SET fields = '{}' WHERE ordinal = 1").findings
    assert any("the replay of the log gives" in finding.what for finding in found), found


# Damaged specifications: a run reports them in one line, `db check` finds them, `db repair` repairs them.

ENTRANT = "Wren 2"


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stopped tournament whose configuration lacks one of its entrants; `whole.db` is its database."""
    folder = tmp_path_factory.mktemp("begun")
    tour(folder, "run", config(folder, THREE, "roundrobin", "cycles = 40").name, "--max-games", "1", expect=8)
    shutil.copy(folder / "results" / "enginetour.db", folder / "whole.db")
    config(folder, ("wren1", "wren3"), "roundrobin", "cycles = 40")
    return folder


def database(folder: Path) -> Path:
    return folder / "results" / "enginetour.db"


def test_a_damaged_specification_is_refused_and_repaired(begun: Path) -> None:
    """`run` names the entrant and the command, reacts to SIGTERM, and continues after the repair."""
    assert len(list(tried(begun, begun / "trial.toml", ("a descriptor as program",), ENTRANT))) == 1


@pytest.mark.parametrize("name", SPOILT)
def test_each_damaged_specification_is_found_and_repaired(name: str, begun: Path) -> None:
    """A damage is one finding; after the repair the entrant is read and started as before."""
    spoil(database(begun), begun / "whole.db", ENTRANT, SPOILT[name])
    with Store.open(database(begun), create=False) as store:
        log = store.tournament("trial")
        with pytest.raises(StoreRefused, match=r"specification of 'Wren 2' cannot be read: .*enginetour db repair"):
            _ = log.specs
        (damage,) = repair(store.database)
        assert ENTRANT in damage.what and "\n" not in damage.what + damage.repair
        assert log.specs[ENTRANT].name == ENTRANT
        assert log.specs[ENTRANT].command[-1] == "2"
        assert damages(store.database) == []


def test_a_repair_keeps_what_is_valid_and_the_database_as_it_was(begun: Path) -> None:
    """Valid parts of a specification are kept, and a copy of the database is made before."""
    spoil(database(begun), begun / "whole.db", ENTRANT, SPOILT["a descriptor as program"])
    told = read(begun, "db", "repair")
    assert [row["tournament"] for row in told["repairs"]] == ["trial"]
    assert told["repairs"][0]["repair"].startswith("its command is now: ")
    assert Path(told["backup"]).name.startswith("enginetour.db.before-repair-")
    assert "cannot be read" in json.dumps(read_all(begun, Path(told["backup"])))
    assert read(begun, "db", "repair") == {"database": str(database(begun)), "repairs": [], "backup": None}


def read_all(folder: Path, copy: Path) -> object:
    return unwrapped(tour(folder, "db", "check", "--json", "--db", str(copy), expect=5).stdout)


def test_a_lost_command_names_what_to_do(begun: Path) -> None:
    """Without a stored command, the repair names the commands that replace or withdraw the engine."""
    spoil(database(begun), begun / "whole.db", ENTRANT, SPOILT["a descriptor as program"])
    meddled(database(begun), "UPDATE engines SET command = '[5]', protocol = 'telnet' WHERE name = 'Wren 2'")
    told = tour(begun, "db", "repair").stdout
    assert "its command is lost; run enginetour replace -t trial 'Wren 2' ENGINE, or enginetour withdraw" in told
    tour(begun, "db", "check")
    tour(begun, "replace", "-t", "trial", ENTRANT, "wren4")
    tour(begun, "run", "trial.toml", "--max-games", "1", expect=8)


def test_the_event_of_a_newcomer_is_repaired(begun: Path) -> None:
    """The event of an entrant that joined later is repaired from the list of entrants."""
    shutil.copy(begun / "whole.db", database(begun))
    tour(begun, "add", "wren4", "--why", "more")
    meddled(
        database(begun),
        'UPDATE events SET payload = \'{"entrant":{"name":7},"why":"more"}\' WHERE kind = \'added\'',
        "UPDATE entrants SET rating = 'strong' WHERE name = 'Wren 4'",
    )
    refused = tour(begun, "run", "trial.toml", expect=5).stderr
    assert refused.count("\n") == 1
    assert tour(begun, "db", "repair").stdout.count("Wren 4") == 2
    tour(begun, "db", "check")
    tour(begun, "run", "trial.toml", "--max-games", "1", expect=8)


def test_a_running_tournament_is_not_repaired(tmp_path: Path) -> None:
    """The database of a running tournament is not repaired."""
    path = config(tmp_path, THREE, "roundrobin", "cycles = 200")
    (tmp_path / "results").mkdir()
    with running(tmp_path, path):
        assert tour(tmp_path, "db", "repair").stdout.endswith(": nothing to repair\n")
        meddled(database(tmp_path), "UPDATE entrants SET spec = '[]' WHERE name = 'Wren 2'")
        assert "already running" in tour(tmp_path, "db", "repair", expect=5).stderr


def test_a_running_later_edition_is_not_repaired(tmp_path: Path) -> None:
    """The lock of a tournament is for all its editions."""
    path = config(tmp_path, THREE[:2], "roundrobin", "")
    tour(tmp_path, "run", path.name)
    tour(tmp_path, "run", path.name, "--new", "--max-games", "1")
    meddled(database(tmp_path), "UPDATE entrants SET spec = '[]' WHERE name = 'Wren 2' AND tournament = 2")
    with TournamentLock(database(tmp_path), "trial"):
        told = tour(tmp_path, "db", "repair", expect=5).stderr
    assert f"trial is already running: pid {os.getpid()} on " in told
    assert "Hint: wait until it has ended, or end it with enginetour finish -t trial." in told


def test_a_damaged_entrant_is_repaired_on_either_ground(place: Address) -> None:
    """Entrants are repaired in both backends."""
    opened, log = open_log(place)
    name = log.entrants[0].name
    with opened:
        with opened.database.writing() as connection:
            connection.execute(update(ENTRANTS).where(ENTRANTS.c.name == name).values(spec='{"command":[5]}'))
        (damage,) = repair(opened.database)
        assert name in damage.what
        assert log.specs[name].command
        assert repair(opened.database) == []


def test_a_path_that_is_not_utf_8_is_read_back() -> None:
    """A command with bytes that are not UTF-8 is read again."""
    spec = {"name": "A", "command": ["/opt/\udcff/a"], "protocol": "uci", "limits": ["clock"]}
    assert stored_spec(json.dumps(spec)).command == ("/opt/\udcff/a",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("7", "must be a JSON object (found 7)"),
        (
            '{"name": "A", "command": ["a"], "protocol": "uci", "limits": [], "quirks": []}',
            "quirks: must be a JSON object (found [])",
        ),
        (
            '{"name": "A", "command": ["a"], "protocol": "uci", "limits": [], "ponder": 1}',
            "ponder: must be true or false (found 1)",
        ),
        ("[" * 50_000, "it is not JSON (nested too deeply; found '[[[[[[[[[[[[...[[[[[[[[[[[[[')"),
    ],
)
def test_what_is_wrong_with_a_specification_has_no_words_of_python(text: str, words: str) -> None:
    """Errors of specifications do not name classes or limits of Python."""
    with pytest.raises(ValueError, match=re.escape(words)):
        stored_spec(text)


def test_what_cannot_be_read_hides_nothing(place: Address) -> None:
    """One failed statement gives one finding; later checks in the same snapshot still work."""
    store, log = sound_log(place)
    with store:
        add_game(log, game())
        for name in ("one", "other"):
            define_list(store, name, ListDefinition())
            publish(store, name)
        with store.database.writing() as connection:
            connection.execute(text("UPDATE tournaments SET config = '{'"))
        found = {finding.place: finding.what for finding in inspect(store).findings if "edition" in finding.place}
    assert len(found) == 2
    assert len(set(found.values())) == 1, found
    assert not any("\n" in words or "SQL" in words for words in found.values())
