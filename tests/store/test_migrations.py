"""Tests of schema upgrades, and of files and databases that commit 433f15d wrote.

``golden/older/README.md`` describes how they were recorded, and which outputs have changed on purpose.
"""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import shutil
import signal
import sqlite3
import sys
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import asdict, fields
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event

from enginetour.cli import reading
from enginetour.engines.enginefile import read_entry
from enginetour.model.errors import StoreRefused, UsageRefused
from enginetour.model.game import Opening, SideRecord
from enginetour.model.renamed import rename_keys
from enginetour.model.task import Quirks, Resources
from enginetour.store.address import parse_address
from enginetour.store.backup import copy_store, upgrade_database
from enginetour.store.check import inspect
from enginetour.store.database import Database, lock_of, schema_version
from enginetour.store.schema.versions.schema_7 import ADDED
from enginetour.store.schema.versions.schema_8 import RENAMED
from enginetour.store.schema.versions.schema_9 import ADDED as NEW_TABLES
from enginetour.store.tables import SCHEMA_VERSION
from enginetour.store.tournaments import Store
from enginetour.tournament.config.load import load
from tests.support.databases import OLDER, Server, meddled, older, older_on_server
from tests.support.tournaments import tour

FACTS: dict[str, Any] = json.loads((OLDER / "facts.json").read_text("utf-8"))
DATABASES = ("league", "systems", "rules", "interrupted")
CHANGED = ("epm", "gerlach", "godraw", "gopair", "gotha-2005", "mcmahon", "probe")
NOT_REPLAYED = {
    "league": ["edition 1 of everything: not replayed", "edition 2 of everything: not replayed"],
    "rules": [f"tournament {name}: not replayed" for name in CHANGED],
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recorded workspace with upgraded databases, for tests that only read it."""
    folder = unpacked(tmp_path_factory.mktemp("recorded"))
    for name in DATABASES:
        upgrade_database(folder / "results" / f"{name}.db")
    return folder


def unpacked(folder: Path) -> Path:
    """Unpack the recorded workspace and its databases into a directory."""
    for name in ("engines", "configs", "pgn"):
        shutil.copytree(OLDER / name, folder / name)
    (folder / "results").mkdir(exist_ok=True)
    for name in DATABASES:
        older(folder / "results" / f"{name}.db", name)
    return folder


def printed(name: str) -> dict[str, list[str]]:
    """Return the recorded output lines by command line."""
    found = {}
    for block in f"\n{(OLDER / 'printed' / name).read_text('utf-8')}".split("\n$ enginetour ")[1:]:
        words, *lines = block.rstrip("\n").split("\n")
        found[words] = lines
    return found


def prints(folder: Path, words: str) -> list[str]:
    """Return the output lines of a command; TRF lines end in CR LF."""
    return tour(folder, *shlex.split(words)).stdout.replace("\r\n", "\n").rstrip("\n").split("\n")


# Upgrades.


def tables_of(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Return every row of a SQLite file by its columns, for each table."""
    with closing(sqlite3.connect(path)) as raw:
        raw.row_factory = sqlite3.Row
        names = [row[0] for row in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: [dict(row) for row in raw.execute(f'SELECT * FROM "{name}" ORDER BY rowid')] for name in names}


def schema_of(path: Path) -> dict[str, str]:
    """Return the statements of a SQLite file, without blanks and quotes, by names of tables and indexes."""
    with closing(sqlite3.connect(path)) as raw:
        found = raw.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    return {name: re.sub(r'[\s"]+', "", words) for name, words in found}


USUAL = {name: json.loads(json.dumps(asdict(kind()))) for name, kind in (("opening", Opening), ("side", SideRecord))}


def unnamed(column: str, cell: str) -> list[Any]:
    """Return a cell as schema 6 stored it, with all default values at the end."""
    found = json.loads(cell or "{}")
    if column == "opening":
        return [found.get(key, usual) for key, usual in USUAL["opening"].items()]
    if column in ("white_side", "black_side"):
        found["effort"] = [[name, *told.values()] for name, told in found.get("effort", {}).items()]
        found["claims"] = [list(told.values()) for told in found.get("claims", ())]
        return [found.get(key, usual) for key, usual in USUAL["side"].items()]
    return [list(pair) for pair in found.items()] if column == "fields" else list(found.values())


def as_then(table: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with the column names of schema 6."""
    names = {new: old for old, new in RENAMED.get(table, {}).items()}
    return {names.get(column, column): cell for column, cell in row.items() if column not in ADDED.get(table, ())}


REWRITTEN = {"games": ("opening", "white_side", "black_side", "relay_gap_us"), "notes": ("fields",)}


@pytest.mark.parametrize("name", DATABASES)
def test_an_upgrade_keeps_every_cell(tmp_path: Path, name: str) -> None:
    """Every cell has the same value under its new name, and the tables are those of a new file."""
    path = older(tmp_path / "old.db", name)
    before = tables_of(path)
    made = upgrade_database(path)
    assert (made.before, made.after, made.backup) == (6, SCHEMA_VERSION, f"{path}.schema-6")
    assert tables_of(Path(f"{path}.schema-6")) == before
    after = tables_of(path)
    assert [after.pop(table) for table in NEW_TABLES] == [[]]
    assert after.keys() == before.keys()
    for table, rows in after.items():
        for old, row in zip(before[table], rows, strict=True):
            then = as_then(table, row)
            for column in REWRITTEN.get(table, ()):
                key = {new: was for was, new in RENAMED.get(table, {}).items()}.get(column, column)
                was, now = json.loads(old.pop(key) or "[]"), unnamed(column, then.pop(key))
                assert now[: len(was)] == was
                assert now[len(was) :] == list(USUAL.get(column, USUAL["side"]).values())[len(was) : len(now)]
            if old.get("steal") is not None:
                assert then.pop("steal") == 100 * old.pop("steal")
            assert then == old
    Database.open(tmp_path / "new.db").close()
    assert schema_of(path) == schema_of(tmp_path / "new.db")


def test_a_server_is_upgraded_likewise(server: Server, tmp_path: Path) -> None:
    """A server gets the same rows as a file, and the backup is a schema that 433f15d can open."""
    url = older_on_server(server, tmp_path, "league")
    before = server.holds(url)
    path = older(tmp_path / "file.db", "league")
    upgrade_database(path)
    made = upgrade_database(parse_address(url))
    new = server.schema()
    Database.open(parse_address(new)).close()
    assert server.holds(url) == server.holds(new)
    assert made.backup == f"{server.schema_of(url)}_schema_6"
    kept = f"{url}_schema_6"
    assert [row for row in server.holds(kept) if len(row) == 5] == [row for row in before if len(row) == 5]
    assert schema_version(parse_address(kept)) == 6
    assert copy_store(parse_address(url), tmp_path / "one.db").digest == copy_store(path, tmp_path / "two.db").digest


@pytest.mark.parametrize("statement", [*range(1, 40, 3), 45, 55, 70])
def test_a_kill_leaves_the_database_before_or_after(tmp_path: Path, statement: int) -> None:
    """After SIGKILL during the upgrade of a file, the old rows are complete and the upgrade can be repeated."""
    path = older(tmp_path / "old.db")
    before = tables_of(path)
    child = os.fork()
    if not child:
        kill_at(statement)
        upgrade_database(path)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    done = os.WIFEXITED(status)
    assert done or os.WTERMSIG(status) == signal.SIGKILL
    assert schema_version(path) == (SCHEMA_VERSION if done else 6)
    if not done:
        assert tables_of(path) == before
    upgrade_database(path)
    upgrade_database(older(tmp_path / "other.db"))
    assert tables_of(path) == tables_of(tmp_path / "other.db")
    with Store.open(path, readonly=True) as store:
        assert inspect(store).findings == ()


@pytest.mark.parametrize("statement", [3, 20, 30, 40])
def test_a_kill_on_a_server_leaves_it_before_or_after(server: Server, tmp_path: Path, statement: int) -> None:
    """After SIGKILL during the upgrade of a server, nothing has changed and the upgrade can be repeated."""
    url = older_on_server(server, tmp_path)
    before = server.holds(url)
    child = os.fork()
    if not child:
        kill_at(statement)
        upgrade_database(parse_address(url))
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    assert server.holds(url) == before
    made = upgrade_database(parse_address(url))
    assert (made.before, made.after) == (6, SCHEMA_VERSION)


def kill_at(statement: int) -> None:
    """Kill this process before its n-th statement from now."""
    numbers = count(1)

    def look(*_: object) -> None:
        if next(numbers) == statement:
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(Engine, "before_cursor_execute", look)


def at_a_terminal(folder: Path, words: str, answer: str) -> tuple[int, str]:
    """Run a command in a terminal where a user types an answer; return its exit code and output."""
    child, terminal = pty.fork()
    if not child:
        os.chdir(folder)
        os.execv(sys.executable, [sys.executable, "-m", "enginetour", *shlex.split(words)])
    os.write(terminal, answer.encode())
    shown = b""
    with suppress(OSError):  # EIO: the other end is closed
        while part := os.read(terminal, 4096):
            shown += part
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), shown.decode().replace("\r\n", "\n")


def test_an_older_database_is_refused_with_the_command(tmp_path: Path) -> None:
    """Without a terminal, an older database is an error that names the command, and is not changed."""
    path = older(tmp_path / "old.db")
    before = path.read_bytes()
    for words in (("standings", "-t", "voids"), ("void", "1", "-t", "voids"), ("db", "check")):
        told = tour(tmp_path, *words, "--db", "old.db", expect=5).stderr
        assert f"has schema 6, but this enginetour version needs schema {SCHEMA_VERSION}" in told
        assert f"back up and upgrade it with enginetour db upgrade --db {path}" in told
    assert path.read_bytes() == before


@pytest.mark.parametrize("answer", ["y", "n"])
def test_an_upgrade_is_offered_at_a_terminal(tmp_path: Path, answer: str) -> None:
    """With the answer yes, the command runs on the upgraded database; with no, nothing changes."""
    path = older(tmp_path / "old.db")
    before = path.read_bytes()
    code, screen = at_a_terminal(tmp_path, "standings -t voids --db old.db", f"{answer}\n")
    assert "Upgrade it now? A backup is made first. [Y/n]" in screen
    if answer == "n":
        assert (code, path.read_bytes()) == (5, before)
    else:
        assert code == 0
        assert f"schema 6 upgraded to {SCHEMA_VERSION}; backup: {path}.schema-6" in screen
        assert "Pebble" in screen.rpartition("schema-6")[2]


def test_a_running_tournament_keeps_its_schema(tmp_path: Path) -> None:
    """The database of a running tournament is not upgraded."""
    path = older(tmp_path / "old.db")
    with lock_of(path, "voids"), pytest.raises(StoreRefused, match="already running"):
        upgrade_database(path)
    assert schema_version(path) == 6


def test_without_backup(tmp_path: Path) -> None:
    """With --no-backup, no backup is made."""
    older(tmp_path / "old.db")
    tour(tmp_path, "db", "upgrade", "--no-backup", "--db", "old.db")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["old.db"]


def test_an_upgrade_replaces_the_backup_of_an_interrupted_one(tmp_path: Path) -> None:
    """The backup of an interrupted upgrade is replaced, a file of another program is not."""
    path = older(tmp_path / "old.db")
    older(tmp_path / "old.db.schema-6", "league")
    upgrade_database(path)
    assert len(tables_of(Path(f"{path}.schema-6"))["tournaments"]) == 3
    other = older(tmp_path / "other.db")
    (tmp_path / "other.db.schema-6").write_text("mine")
    with pytest.raises(UsageRefused, match="cannot be replaced"):
        upgrade_database(other)
    assert schema_version(other) == 6


@pytest.mark.parametrize(("version", "words"), [(5, "or newer can be upgraded"), (0, "a valid schema version")])
def test_what_is_not_upgraded(tmp_path: Path, version: int, words: str) -> None:
    """Databases of schemas before 6, or without a version, are not upgraded."""
    path = older(tmp_path / "old.db")
    meddled(path, f"PRAGMA user_version={version}")
    before = path.read_bytes()
    with pytest.raises(StoreRefused, match=words):
        upgrade_database(path)
    assert path.read_bytes() == before


def test_an_older_schema_that_is_not_ours(tmp_path: Path) -> None:
    """A database with other columns than those of its schema version is not upgraded."""
    path = older(tmp_path / "old.db")
    meddled(path, "ALTER TABLE notes RENAME COLUMN kind TO sort")
    before = path.read_bytes()
    with pytest.raises(StoreRefused, match="notes"):
        upgrade_database(path)
    assert path.read_bytes() == before


def test_a_damaged_cell_stays_for_the_check(tmp_path: Path) -> None:
    """The upgrade does not change a damaged cell, and `db check` finds it."""
    path = older(tmp_path / "old.db")
    meddled(path, "UPDATE games SET white_side = '[1' WHERE id = 1", "UPDATE games SET opening = '7' WHERE id = 2")
    upgrade_database(path)
    told = tour(tmp_path, "db", "check", "--db", "old.db", expect=5).stdout
    assert "row 1 of games: invalid white_side '[1'" in told
    assert "game 2 cannot be read" in told


# Recorded databases and files.


@pytest.mark.parametrize("name", DATABASES)
def test_older_databases_are_sound(recorded: Path, name: str) -> None:
    """After the upgrade, `db check` does not replay what older rules decided, and finds no damage."""
    done = tour(recorded, "db", "check", "--db", f"results/{name}.db")
    told, expected = sorted(done.stderr.splitlines()), sorted(NOT_REPLAYED.get(name, ()))
    assert done.stdout.startswith("sound: ")
    assert len(told) == len(expected), told
    assert all(line.startswith(start) for line, start in zip(told, expected, strict=True))


@pytest.mark.parametrize("name", DATABASES)
def test_older_databases_print_the_same(recorded: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outputs are the recorded ones, except those in `printed/since`."""
    monkeypatch.setattr(reading, "_FORECAST_CPU_S", 0.0)  # the time that it may use decides about a forecast
    monkeypatch.setenv("ENGINETOUR_DB", f"results/{name}.db")
    since = OLDER / "printed" / "since" / f"{name}.txt"
    expected = printed(f"{name}.txt") | (printed(f"since/{name}.txt") if since.exists() else {})
    assert {words: prints(recorded, words) for words in expected} == expected


@pytest.mark.parametrize("name", CHANGED)
def test_systems_with_other_rules_say_so(recorded: Path, name: str) -> None:
    """A tournament of an older format version is not replayed, and the error names the version."""
    done = tour(recorded, "standings", "-t", name, "--db", "results/rules.db", expect=5)
    told = f"{name}: was written by version 1 of the format {name}, but this is version 2"
    assert done.stderr.startswith(f"enginetour: {told}")


@pytest.mark.parametrize(
    ("name", "words"), [("league", "-t league"), ("league", "blitz"), ("interrupted", "-t 'night bubble'")]
)
def test_older_databases_have_reports(recorded: Path, tmp_path: Path, name: str, words: str) -> None:
    """Reports of older tournaments and rating lists are written."""
    target = tmp_path / "report"
    tour(recorded, "report", *shlex.split(words), "-o", str(target), "--db", f"results/{name}.db")
    assert (target / "index.html").is_file()


def test_interrupted_tournaments_are_resumed(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupted tournaments end as they did with the older program."""
    unpacked(workspace)
    monkeypatch.setenv("ENGINETOUR_DB", "results/interrupted.db")
    tour(workspace, "db", "upgrade")
    for name in ("bubble", "swiss", "voids"):
        tour(workspace, "run", f"configs/{name}.toml", "--plain")
    expected = printed("resumed.txt")
    assert {words: prints(workspace, words) for words in expected} == expected
    tour(workspace, "db", "check")


@pytest.mark.parametrize("name", [name for name in DATABASES if name != "rules"])  # its defaults have changed
def test_older_configurations_fit_their_tournaments(recorded: Path, name: str) -> None:
    """A configuration has the same values as when its tournament started."""
    read = {config.tournament.name: config for config in map(load, sorted((OLDER / "configs").rglob("*.toml")))}
    with Store.open(recorded / "results" / f"{name}.db", create=False) as store:
        stored = {one.name: store.tournament(one.name).config for one in store.tournaments()}
    assert stored
    for tournament, then in stored.items():
        assert within(then, read[tournament].as_stored()), tournament


def within(then: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether every section and key of the first mapping has the same value in the second."""
    return all(
        within(value, now[key]) if isinstance(value, dict) and key in now else now.get(key, value) == value
        for key, value in then.items()
    )


@pytest.mark.parametrize("name", [name for name in FACTS if name.startswith("configs/")])
def test_older_configurations_are_read(name: str) -> None:
    """Every section and key of older configurations is read as before."""
    config = load(OLDER / name)
    sections = ("tournament", "play", "ratings", "notify", "report")
    told = {section: getattr(config, section).model_dump(mode="json", exclude_defaults=True) for section in sections}
    told["format"] = config.format_options.model_dump(mode="json", exclude_defaults=True)
    told["entrants"] = [entrant.model_dump(mode="json", exclude_defaults=True) for entrant in config.entrants]
    assert told == rename_keys(FACTS[name])[0]


@pytest.mark.parametrize("name", [name for name in FACTS if name.startswith("engines/")])
def test_older_engine_files_are_read(name: str) -> None:
    """Every key of older engine files is read as before."""
    entry = read_entry(OLDER / name)
    for key, expected in FACTS[name].items():
        value = getattr(entry, key)
        if key in ("quirks", "resources"):
            usual: Any = Quirks() if key == "quirks" else Resources()
            names = [field.name for field in fields(usual)]
            value = {each: getattr(value, each) for each in names if getattr(value, each) != getattr(usual, each)}
        elif isinstance(value, frozenset):
            value = sorted(value)
        assert json.loads(json.dumps(value)) == expected, key
