"""Damaged specifications: a run refuses them in one line, `db check` finds and `db repair` repairs them."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from sqlalchemy import update

from enginetour.engines.enginefile import stored_spec
from enginetour.model.errors import StoreRefused
from enginetour.store.address import Address
from enginetour.store.check import damages, repair
from enginetour.store.tables import ENTRANTS
from enginetour.store.tournaments import Store
from tests.damagedspecs import SPOILT, spoil, tried
from tests.storing import meddled, open_log
from tests.touring import THREE, config, read, running, tour

ENTRANT = "Wren 2"


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stopped tournament whose configuration no longer names one of its entrants; `whole.db` is its database."""
    folder = tmp_path_factory.mktemp("begun")
    tour(folder, "run", config(folder, THREE, "roundrobin", "cycles = 40").name, "--max-games", "1", expect=8)
    shutil.copy(folder / "results" / "enginetour.db", folder / "whole.db")
    config(folder, ("wren1", "wren3"), "roundrobin", "cycles = 40")
    return folder


def database(folder: Path) -> Path:
    return folder / "results" / "enginetour.db"


def test_a_damaged_specification_is_refused_and_repaired(begun: Path) -> None:
    """`run` names the entrant and the command, reacts to SIGTERM, and plays on after the repair.

    The number 5 as a program was read as the descriptor of the run's own pipe, for ever.
    """
    assert len(list(tried(begun, begun / "trial.toml", ("a descriptor as program",), ENTRANT))) == 1


@pytest.mark.parametrize("name", SPOILT)
def test_each_damaged_specification_is_found_and_repaired(name: str, begun: Path) -> None:
    """One damage, one line; after the repair the entrant can be read under its name, and starts as it did."""
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
    """The command comes from the engine version, the protocol from the specification; a copy stays."""
    spoil(database(begun), begun / "whole.db", ENTRANT, SPOILT["a descriptor as program"])
    told = read(begun, "db", "repair")
    assert [row["tournament"] for row in told["repairs"]] == ["trial"]
    assert told["repairs"][0]["repair"].startswith("it now starts ")
    assert Path(told["backup"]).name.startswith("enginetour.db.before-repair-")
    assert "cannot be read" in json.dumps(read_all(begun, Path(told["backup"])))
    assert read(begun, "db", "repair") == {"database": str(database(begun)), "repairs": [], "backup": None}


def read_all(folder: Path, copy: Path) -> object:
    return json.loads(tour(folder, "db", "check", "--json", "--db", str(copy), expect=5).stdout)


def test_a_lost_command_names_what_to_do(begun: Path) -> None:
    """Where the engine version has none either, the engine can be replaced or withdrawn, and the rest goes on."""
    spoil(database(begun), begun / "whole.db", ENTRANT, SPOILT["a descriptor as program"])
    meddled(database(begun), "UPDATE engines SET command = '[5]', protocol = 'telnet' WHERE name = 'Wren 2'")
    told = tour(begun, "db", "repair").stdout
    assert "its command is lost; use enginetour replace -t trial 'Wren 2' ENGINE, or enginetour withdraw" in told
    tour(begun, "db", "check")
    tour(begun, "replace", "-t", "trial", ENTRANT, "wren4")
    tour(begun, "run", "trial.toml", "--max-games", "1", expect=8)


def test_the_event_of_a_newcomer_is_repaired(begun: Path) -> None:
    """An entrant that joined later stands in the log too: written again from the list of entrants."""
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
    """Its database is left to it."""
    path = config(tmp_path, THREE, "roundrobin", "cycles = 200")
    (tmp_path / "results").mkdir()
    with running(tmp_path, path):
        assert tour(tmp_path, "db", "repair").stdout.endswith(": nothing to repair\n")
        meddled(database(tmp_path), "UPDATE entrants SET spec = '[]' WHERE name = 'Wren 2'")
        assert "already running" in tour(tmp_path, "db", "repair", expect=5).stderr


def test_a_damaged_entrant_is_repaired_on_either_ground(place: Address) -> None:
    """On a server too, where a cell has the type of its column."""
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
    """A program in a directory of any bytes keeps its command."""
    spec = {"name": "A", "command": ["/opt/\udcff/a"], "protocol": "uci", "limits": ["clock"]}
    assert stored_spec(json.dumps(spec)).command == ("/opt/\udcff/a",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("7", "not a JSON object (found 7)"),
        (
            '{"name": "A", "command": ["a"], "protocol": "uci", "limits": [], "quirks": []}',
            "quirks: not a JSON object (found [])",
        ),
        (
            '{"name": "A", "command": ["a"], "protocol": "uci", "limits": [], "ponder": 1}',
            "ponder: input should be true or false (found 1)",
        ),
        ("[" * 50_000, "it is not JSON (nested too deeply; found '[[[[[[[[[[[[...[[[[[[[[[[[[[')"),
    ],
)
def test_what_is_wrong_with_a_specification_has_no_words_of_python(text: str, words: str) -> None:
    """It named a class of enginetour and a limit of the interpreter."""
    with pytest.raises(ValueError, match=re.escape(words)):
        stored_spec(text)
