"""Databases of an older schema are upgraded whole or not at all; files of commit 433f15d work as they did.

``golden/older/README.md`` tells what was recorded and how, and which outputs differ since on purpose.
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

from enginetour.engines.enginefile import read_entry
from enginetour.model.errors import StoreRefused, UsageRefused
from enginetour.model.game import Opening, SideRecord
from enginetour.model.task import Quirks, Resources
from enginetour.store.address import parse_address
from enginetour.store.backup import copy_store, upgrade_database
from enginetour.store.check import inspect
from enginetour.store.database import Database, lock_of, schema_version
from enginetour.store.schema.versions.schema_7 import ADDED
from enginetour.store.schema.versions.schema_8 import RENAMED
from enginetour.store.tables import SCHEMA_VERSION
from enginetour.store.tournaments import Store
from enginetour.tournament.config.load import load
from tests.support.databases import OLDER, Server, meddled, older, older_on_server
from tests.support.tournaments import tour

FACTS: dict[str, Any] = json.loads((OLDER / "facts.json").read_text("utf-8"))
DATABASES = ("league", "systems", "rules", "interrupted")
CHANGED = ("epm", "gerlach", "godraw", "gopair", "gotha-2005", "mcmahon", "probe")
FINDINGS = {"league": ["edition 1 of everything: 15 lines", "edition 2 of everything: 14 lines"]}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recorded workspace for tests that only read it, its databases upgraded."""
    folder = unpacked(tmp_path_factory.mktemp("recorded"))
    for name in DATABASES:
        upgrade_database(folder / "results" / f"{name}.db")
    return folder


def unpacked(folder: Path) -> Path:
    """The recorded workspace, its databases unpacked, made in a folder."""
    for name in ("engines", "configs", "pgn"):
        shutil.copytree(OLDER / name, folder / name)
    (folder / "results").mkdir(exist_ok=True)
    for name in DATABASES:
        older(folder / "results" / f"{name}.db", name)
    return folder


def printed(name: str) -> dict[str, list[str]]:
    """By command line the lines that it printed."""
    found = {}
    for block in f"\n{(OLDER / 'printed' / name).read_text('utf-8')}".split("\n$ enginetour ")[1:]:
        words, *lines = block.rstrip("\n").split("\n")
        found[words] = lines
    return found


def prints(folder: Path, words: str) -> list[str]:
    """The lines that a command prints today; TRF has CR LF."""
    return tour(folder, *shlex.split(words)).stdout.replace("\r\n", "\n").rstrip("\n").split("\n")


# The upgrade itself.


def tables_of(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Every row of a SQLite file by its columns, table by table."""
    with closing(sqlite3.connect(path)) as raw:
        raw.row_factory = sqlite3.Row
        names = [row[0] for row in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: [dict(row) for row in raw.execute(f'SELECT * FROM "{name}" ORDER BY rowid')] for name in names}


def schema_of(path: Path) -> dict[str, str]:
    """The statements of a SQLite file, without blanks and quotes, by the names of tables and indexes."""
    with closing(sqlite3.connect(path)) as raw:
        found = raw.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    return {name: re.sub(r'[\s"]+', "", words) for name, words in found}


USUAL = {name: json.loads(json.dumps(asdict(kind()))) for name, kind in (("opening", Opening), ("side", SideRecord))}


def unnamed(column: str, cell: str) -> list[Any]:
    """A cell of today as schema 6 had it, with all values that it may have left out at the end."""
    found = json.loads(cell or "{}")
    if column == "opening":
        return [found.get(key, usual) for key, usual in USUAL["opening"].items()]
    if column in ("white_side", "black_side"):
        found["effort"] = [[name, *told.values()] for name, told in found.get("effort", {}).items()]
        found["claims"] = [list(told.values()) for told in found.get("claims", ())]
        return [found.get(key, usual) for key, usual in USUAL["side"].items()]
    return [list(pair) for pair in found.items()] if column == "fields" else list(found.values())


def as_then(table: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of today under the names of schema 6."""
    names = {new: old for old, new in RENAMED.get(table, {}).items()}
    return {names.get(column, column): cell for column, cell in row.items() if column not in ADDED.get(table, ())}


REWRITTEN = {"games": ("opening", "white_side", "black_side", "relay_gap_us"), "notes": ("fields",)}


@pytest.mark.parametrize("name", DATABASES)
def test_an_upgrade_keeps_every_cell(tmp_path: Path, name: str) -> None:
    """Under its new name each cell has its value, with names for places in JSON; the tables are those of a new file."""
    path = older(tmp_path / "old.db", name)
    before = tables_of(path)
    made = upgrade_database(path)
    assert (made.before, made.after, made.backup) == (6, SCHEMA_VERSION, f"{path}.schema-6")
    assert tables_of(Path(f"{path}.schema-6")) == before
    after = tables_of(path)
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
    """The same rows as in a file, in the tables of a new schema; the backup is a schema that 433f15d can open."""
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
    """SIGKILL at a statement of the upgrade: the old rows are all there, and the next try ends as without it."""
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
    """Nothing of an interrupted upgrade is there, not even its backup, and the next try goes through."""
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
    """Kill this process when it is about to run its n-th statement from now."""
    numbers = count(1)

    def look(*_: object) -> None:
        if next(numbers) == statement:
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(Engine, "before_cursor_execute", look)


def at_a_terminal(folder: Path, words: str, answer: str) -> tuple[int, str]:
    """The exit code of a command at a terminal where somebody types an answer, and all that it showed."""
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
    """Where nobody can be asked nothing is written, whether a command reads or writes."""
    path = older(tmp_path / "old.db")
    before = path.read_bytes()
    for words in (("standings", "-t", "voids"), ("void", "1", "-t", "voids"), ("db", "check")):
        told = tour(tmp_path, *words, "--db", "old.db", expect=5).stderr
        assert f"has schema 6, this enginetour reads and writes schema {SCHEMA_VERSION}. Hint: " in told
        assert f"enginetour db upgrade --db {path} makes a backup and upgrades it" in told
    assert path.read_bytes() == before


@pytest.mark.parametrize("answer", ["y", "n"])
def test_an_upgrade_is_offered_at_a_terminal(tmp_path: Path, answer: str) -> None:
    """After yes the same command runs on the upgraded database; after no nothing has changed."""
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
    """The program that plays it would not find its columns."""
    path = older(tmp_path / "old.db")
    with lock_of(path, "voids"), pytest.raises(StoreRefused, match="already running"):
        upgrade_database(path)
    assert schema_version(path) == 6


def test_without_backup(tmp_path: Path) -> None:
    """There is none then."""
    older(tmp_path / "old.db")
    tour(tmp_path, "db", "upgrade", "--no-backup", "--db", "old.db")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["old.db"]


def test_an_upgrade_replaces_the_backup_of_an_interrupted_one(tmp_path: Path) -> None:
    """What a killed upgrade left is a backup too; a file of another program stays."""
    path = older(tmp_path / "old.db")
    older(tmp_path / "old.db.schema-6", "league")
    upgrade_database(path)
    assert len(tables_of(Path(f"{path}.schema-6"))["tournaments"]) == 3
    other = older(tmp_path / "other.db")
    (tmp_path / "other.db.schema-6").write_text("mine")
    with pytest.raises(UsageRefused, match="not replaced"):
        upgrade_database(other)
    assert schema_version(other) == 6


@pytest.mark.parametrize(("version", "words"), [(5, "is the oldest that is upgraded"), (0, "no schema of ours")])
def test_what_is_not_upgraded(tmp_path: Path, version: int, words: str) -> None:
    """A schema before the first that is upgraded, and a file without a version."""
    path = older(tmp_path / "old.db")
    meddled(path, f"PRAGMA user_version={version}")
    before = path.read_bytes()
    with pytest.raises(StoreRefused, match=words):
        upgrade_database(path)
    assert path.read_bytes() == before


def test_an_older_schema_that_is_not_ours(tmp_path: Path) -> None:
    """What an older version of ours would not have made is refused, not upgraded."""
    path = older(tmp_path / "old.db")
    meddled(path, "ALTER TABLE notes RENAME COLUMN kind TO sort")
    before = path.read_bytes()
    with pytest.raises(StoreRefused, match="notes"):
        upgrade_database(path)
    assert path.read_bytes() == before


def test_a_damaged_cell_stays_for_the_check(tmp_path: Path) -> None:
    """The upgrade leaves it as it is, and `db check` names it."""
    path = older(tmp_path / "old.db")
    meddled(path, "UPDATE games SET white_side = '[1' WHERE id = 1", "UPDATE games SET opening = '7' WHERE id = 2")
    upgrade_database(path)
    told = tour(tmp_path, "db", "check", "--db", "old.db", expect=5).stdout
    assert "row 1 of games has '[1' as white_side" in told
    assert "game 2 cannot be read" in told


# What was recorded.


@pytest.mark.parametrize("name", DATABASES)
def test_older_databases_are_sound(recorded: Path, name: str) -> None:
    """After the upgrade, `db check` reads each game and replays each log; only fitted advantages moved."""
    expected = FINDINGS.get(name, [])
    done = tour(recorded, "db", "check", "--db", f"results/{name}.db", expect=5 if expected else 0)
    told = done.stdout.splitlines()
    assert [line for line in told if not line.startswith(("sound: ", *expected))] == []
    assert len(told) == max(1, len(expected))


@pytest.mark.parametrize("name", DATABASES)
def test_older_databases_print_the_same(recorded: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables, lists, editions, games and exports are those of then, but for what `printed/since` has."""
    monkeypatch.setenv("ENGINETOUR_DB", f"results/{name}.db")
    since = OLDER / "printed" / "since" / f"{name}.txt"
    expected = printed(f"{name}.txt") | (printed(f"since/{name}.txt") if since.exists() else {})
    assert {words: prints(recorded, words) for words in expected} == expected


@pytest.mark.parametrize("name", CHANGED)
def test_systems_with_other_rules_say_so(recorded: Path, name: str) -> None:
    """Rounds that were paired by rules of then are not replayed by those of today; one line tells the version."""
    done = tour(recorded, "standings", "-t", name, "--db", "results/rules.db", expect=5)
    told = (
        f"{name}: written by version 1 of {name}, this is version 2. Hint: read it with the enginetour that wrote it."
    )
    assert done.stderr == f"enginetour: {told}\n"


@pytest.mark.parametrize(
    ("name", "words"), [("league", "-t league"), ("league", "blitz"), ("interrupted", "-t 'night bubble'")]
)
def test_older_databases_have_reports(recorded: Path, tmp_path: Path, name: str, words: str) -> None:
    """The pages of a tournament, of a rating list and of an interrupted bubble are written."""
    target = tmp_path / "report"
    tour(recorded, "report", *shlex.split(words), "-o", str(target), "--db", f"results/{name}.db")
    assert (target / "index.html").is_file()


def test_interrupted_tournaments_are_resumed(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bubble, the Swiss with byes and the Scheveningen with a void game end as they did under the older program."""
    unpacked(workspace)
    monkeypatch.setenv("ENGINETOUR_DB", "results/interrupted.db")
    tour(workspace, "db", "upgrade")
    for name in ("bubble", "swiss", "voids"):
        tour(workspace, "run", f"configs/{name}.toml", "--plain")
    expected = printed("resumed.txt")
    assert {words: prints(workspace, words) for words in expected} == expected
    tour(workspace, "db", "check")


@pytest.mark.parametrize("name", [name for name in DATABASES if name != "rules"])  # there defaults changed, too
def test_older_configurations_fit_their_tournaments(recorded: Path, name: str) -> None:
    """A configuration read today says all that was stored when its tournament began, defaults included."""
    read = {config.tournament.name: config for config in map(load, sorted((OLDER / "configs").rglob("*.toml")))}
    with Store.open(recorded / "results" / f"{name}.db", create=False) as store:
        stored = {one.name: store.tournament(one.name).config for one in store.tournaments()}
    assert stored
    for tournament, then in stored.items():
        assert within(then, read[tournament].as_stored()), tournament


def within(then: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether every section and key of then has its value still; today's may have more keys."""
    return all(
        within(value, now[key]) if isinstance(value, dict) and key in now else now.get(key, value) == value
        for key, value in then.items()
    )


@pytest.mark.parametrize("name", [name for name in FACTS if name.startswith("configs/")])
def test_older_configurations_are_read(name: str) -> None:
    """Every section and key, and what `init` and `match` wrote, is read as it was."""
    config = load(OLDER / name)
    sections = ("tournament", "play", "ratings", "notify", "report")
    told = {section: getattr(config, section).model_dump(mode="json", exclude_defaults=True) for section in sections}
    told["format"] = config.format_options.model_dump(mode="json", exclude_defaults=True)
    told["entrants"] = [entrant.model_dump(mode="json", exclude_defaults=True) for entrant in config.entrants]
    assert told == FACTS[name]


@pytest.mark.parametrize("name", [name for name in FACTS if name.startswith("engines/")])
def test_older_engine_files_are_read(name: str) -> None:
    """Each key of an engine file, and the hints that an examination wrote back, is read as it was."""
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
