"""Tests of opening databases and of transactions."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Dialect, bindparam, func, insert, select

from enginetour.model.errors import StorageFailed, StoreRefused
from enginetour.store import database as prepared
from enginetour.store.codecs import Json
from enginetour.store.database import Database, Prepared
from enginetour.store.sqlite import check_directory, file_system
from enginetour.store.tables import EVENTS, TOURNAMENTS
from enginetour.store.tournaments import Store
from tests.support.databases import (
    add_game,
    changed,
    counts_are_kept,
    foreign,
    game,
    garbage,
    newer,
    open_log,
    with_trigger,
)

# Opening a file: foreign files are rejected and not changed.


def zeros(path: Path) -> None:
    path.write_bytes(bytes(8192))


def without_version(path: Path) -> None:
    changed(path, "PRAGMA user_version=0")


def with_view(path: Path) -> None:
    changed(path, "CREATE VIEW v AS SELECT 1")


def with_table(path: Path) -> None:
    changed(path, "CREATE TABLE extra (x)")


def without_table(path: Path) -> None:
    changed(path, "DROP TABLE rating_events")


def with_column(path: Path) -> None:
    changed(path, "ALTER TABLE games ADD COLUMN extra TEXT")


def cut_off(path: Path) -> None:
    Database.open(path).close()
    path.write_bytes(path.read_bytes()[:6000])


def overwritten(path: Path) -> None:
    Database.open(path).close()
    whole = bytearray(path.read_bytes())
    whole[4096:] = b"\x55" * (len(whole) - 4096)
    path.write_bytes(bytes(whole))


@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.parametrize(
    "make, words",
    [
        (garbage, "not a SQLite database"),
        (zeros, "not a SQLite database"),
        (foreign, "another program"),
        (newer, "newer enginetour version"),
        (without_version, "valid schema version"),
        (with_trigger, "contains the trigger 't'"),
        (with_view, "contains the view 'v'"),
        (with_table, "contains the table 'extra'"),
        (without_table, "the table 'rating_events' is missing"),
        (with_column, "'games' is missing or has unexpected columns"),
        (cut_off, "damaged"),
    ],
)
def test_refused_untouched(tmp_path: Path, make: Callable[[Path], None], words: str, readonly: bool) -> None:
    """A foreign file gives a one-line error, is not changed, and gets no side files."""
    path = tmp_path / "t.db"
    make(path)
    before = path.read_bytes(), path.stat().st_mtime_ns, os.listdir(tmp_path)
    with pytest.raises(StoreRefused, match=words) as refused:
        Database.open(path, readonly=readonly)
    assert "\n" not in str(refused.value)
    assert str(path) in str(refused.value)
    assert (path.read_bytes(), path.stat().st_mtime_ns, os.listdir(tmp_path)) == before


def test_trigger_in_the_wal(tmp_path: Path) -> None:
    """A trigger in the log is found too, and file and log are not changed."""
    path = tmp_path / "t.db"
    Database.open(path).close()
    meddler = sqlite3.connect(path, isolation_level=None)
    meddler.execute("CREATE TRIGGER t AFTER INSERT ON games BEGIN DELETE FROM games; END")
    before = path.read_bytes(), path.with_name("t.db-wal").read_bytes()
    with pytest.raises(StoreRefused, match="trigger"):
        Database.open(path)
    assert (path.read_bytes(), path.with_name("t.db-wal").read_bytes()) == before
    meddler.close()


def test_damaged_pages(tmp_path: Path) -> None:
    """A file with damaged pages is not used."""
    path = tmp_path / "t.db"
    overwritten(path)
    with pytest.raises(StoreRefused, match=r"damaged|missing"):
        Database.open(path)


def test_made_durable(tmp_path: Path) -> None:
    """A new database gets its directory, and every connection syncs each commit."""
    with Database.open(tmp_path / "results" / "t.db") as database, database.reading() as connection:
        told = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("journal_mode", "synchronous", "foreign_keys", "trusted_schema", "busy_timeout")
        }
    assert told == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "trusted_schema": 0,
        "busy_timeout": 5000,
    }


def test_open_again(tmp_path: Path) -> None:
    """A database can be opened again, also by a link; an empty file becomes a database."""
    path = tmp_path / "t.db"
    path.touch()
    Database.open(path).close()
    (tmp_path / "link.db").symlink_to(path)
    with Database.open(tmp_path / "link.db", create=False) as database:
        assert database.path == path
        assert list(database.integrity()) == []
    assert sorted(os.listdir(tmp_path)) == ["link.db", "t.db"]


def test_not_there(tmp_path: Path) -> None:
    """Without `create`, a missing or empty database is an error and is not created."""
    for readonly in (False, True):
        with pytest.raises(StoreRefused, match="database does not exist"):
            Database.open(tmp_path / "results" / "t.db", create=False, readonly=readonly)
    (tmp_path / "t.db").touch()
    with pytest.raises(StoreRefused, match="does not contain a tournament"):
        Database.open(tmp_path / "t.db", readonly=True)
    assert os.listdir(tmp_path) == ["t.db"]


def test_a_folder(tmp_path: Path) -> None:
    """A directory is not a database."""
    with pytest.raises(StoreRefused, match="is not a file"):
        Database.open(tmp_path)


UNWRITABLE = """
import os, sys
from enginetour.model.errors import StorageFailed
from enginetour.store.database import Database
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
try:
    Database.open(sys.argv[1])
except StorageFailed as error:
    print(error)
    sys.exit(error.exit_code)
with Database.open(sys.argv[1], readonly=True) as database, database.reading() as connection:
    print(connection.exec_driver_sql("SELECT count(*) FROM games").scalar_one())
"""


def unwritable(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", UNWRITABLE, os.fspath(path)], capture_output=True, text=True)


@pytest.fixture
def readable(tmp_path: Path) -> Path:
    """A directory that every user can reach."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder.owner() == tmp_path.owner() and not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o055)
    return tmp_path


def test_folder_without_rights(readable: Path) -> None:
    """A directory without write permission is reported before anything starts."""
    folder = readable / "locked"
    folder.mkdir(mode=0o555)
    told = unwritable(folder / "t.db")
    assert told.returncode == 7, told.stderr
    assert len(told.stdout.splitlines()) == 1


def test_file_without_rights(readable: Path) -> None:
    """A read-only database is an error for writing."""
    folder = readable / "locked"
    folder.mkdir()
    Database.open(folder / "t.db").close()
    (folder / "t.db").chmod(0o444)
    folder.chmod(0o555)
    told = unwritable(folder / "t.db")
    assert told.returncode == 7, told.stderr


def test_locked_by_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that another program has locked is busy, not damaged."""
    monkeypatch.setattr("enginetour.store.dialect.BUSY_TIMEOUT_MS", 10)
    path = tmp_path / "t.db"
    Database.open(path).close()
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreRefused, match="locked by another"):
        Database.open(path)
    holder.execute("ROLLBACK")
    holder.close()
    Database.open(path).close()


CREATOR = """
import sys
from enginetour.store.database import Database
sys.stdin.readline()
with Database.open(sys.argv[1]) as database:
    print(list(database.integrity()))
"""


def test_made_by_two_at_once(tmp_path: Path) -> None:
    """Two processes can create the same database at the same time."""
    command = [sys.executable, "-c", CREATOR, os.fspath(tmp_path / "t.db")]
    makers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    for maker in makers:
        assert maker.stdin is not None
        maker.stdin.write("go\n")
        maker.stdin.flush()
    assert [maker.communicate()[0] for maker in makers] == ["[]\n"] * 4


DYING = """
import os, sys
from enginetour.store import database, migrations as schema
from enginetour.store.tables import METADATA

SPILL = "CREATE TABLE spill AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT 9000) "
make = METADATA.create_all

def half(connection, **how):
    make(connection, **how)
    connection.exec_driver_sql("PRAGMA cache_size=1")
    connection.exec_driver_sql(SPILL + "SELECT i, hex(randomblob(50)) AS b FROM n")
    os.kill(os.getpid(), 9)

if sys.argv[2] == "early":
    METADATA.create_all = half
else:
    schema.check_schema = lambda *_: os.kill(os.getpid(), 9)
database.Database.open(sys.argv[1])
"""


def test_killed_while_made(tmp_path: Path) -> None:
    """A database is usable after a kill during its creation."""
    path = tmp_path / "t.db"
    for when in ("early", "late"):
        ended = subprocess.run([sys.executable, "-c", DYING, os.fspath(path), when], check=False)
        assert ended.returncode == -9
    with Database.open(path) as database:
        assert list(database.integrity()) == []


def test_torn_wal(tmp_path: Path) -> None:
    """After the log was cut at any byte, every game that was reported before is stored, and the run can continue."""
    path = tmp_path / "t.db"
    wal = path.with_name("t.db-wal")
    store, log = open_log(path)
    begun = wal.stat().st_size
    ends = []  # length of the log when a game was reported
    for meeting in range(1, 13):
        add_game(log, game(meeting=meeting))
        ends.append(wal.stat().st_size)
    whole, written = path.read_bytes(), wal.read_bytes()
    store.close()
    assert ends == sorted(set(ends))  # the log was not merged into the file
    dice = random.Random(12)
    cuts = {*ends, *(end - 1 for end in ends), *(dice.randint(begun, ends[-1]) for _ in range(20))}
    torn = tmp_path / "torn.db"
    for cut in sorted(cuts):
        torn.with_name("torn.db-shm").unlink(missing_ok=True)
        torn.write_bytes(whole)
        torn.with_name("torn.db-wal").write_bytes(written[:cut] + bytes(dice.randint(0, 300)))  # followed by zeros
        announced = sum(end <= cut for end in ends)
        with Store.open(torn, create=False) as reopened:
            late = reopened.tournament()
            assert [line.number for line in late.games()] == list(range(1, announced + 1)), cut
            assert late.last_position == announced
            assert counts_are_kept(late)
            assert add_game(late, game(meeting=announced + 1)) == announced + 1


@pytest.mark.parametrize(
    "folder, kind",
    [
        ("/home/me/results", "nfs4"),
        ("/home", "ext4"),
        ("/homestead", "ext4"),
        ("/mnt/my disk/x", "cifs"),
        ("/over", "tmpfs"),
    ],
)
def test_file_system(folder: str, kind: str) -> None:
    """The deepest and last mount point defines the file system of a directory."""
    mounts = (
        "1 0 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\n"
        "2 1 0:40 / /home/me rw - nfs4 server:/home rw\n"
        "3 1 0:41 / /mnt/my\\040disk rw - cifs //server/share rw\n"
        "4 1 0:42 / /over rw - nfs x rw\n"
        "5 1 0:43 / /over rw - tmpfs x rw\n"
        "nonsense\n"
    )
    assert file_system(Path(folder), mounts) == kind
    assert file_system(Path(folder), "") == ""


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "afs", "ceph"])
def test_network_file_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Network file systems are errors, uncertain ones give a warning, local ones nothing."""
    mounts = tmp_path / "mounts"
    monkeypatch.setattr("enginetour.store.sqlite._MOUNTS", mounts)
    mounts.write_text(f"1 0 0:1 / / rw - {kind} x rw\n")
    with pytest.raises(StoreRefused, match=kind):
        check_directory(tmp_path)
    mounts.write_text("1 0 0:1 / / rw - 9p x rw\n")
    assert len(check_directory(tmp_path)) == 1
    mounts.write_text("1 0 0:1 / / rw - ext4 x rw\n")
    assert check_directory(tmp_path) == ()


# Prepared statements.

ROW = {"name": "t", "edition": 1, "slug": "t", "system": "bubble", "format_version": 1, "config": {}, "seed": 7}
STAMP = {"created_unix": 0.5, "version": "1"}


@pytest.mark.parametrize("layers", [False, True])
def test_both_ways_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, layers: bool) -> None:
    """The driver reads and writes the same as SQLAlchemy."""
    if layers:
        monkeypatch.setattr(prepared, "sqlite_connection", lambda _: None)
    known = Prepared(select(func.coalesce(func.max(TOURNAMENTS.c.id), 40) + bindparam("more")))
    new, event = Prepared(insert(TOURNAMENTS)), Prepared(insert(EVENTS))
    with Database.open(tmp_path / "t.db") as database:
        with database.writing() as connection:
            assert tuple(known.first(connection, {"more": 2})) == (42,)
            assert new.made(connection, {**ROW, **STAMP}) == 1
            row = {
                "tournament": 1,
                "position": 1,
                "kind": "withdrawn",
                "game": None,
                "payload": {"why": ""},
                "at_unix": 3,
            }
            event.write(connection, row)
        with database.reading() as connection:
            assert connection.execute(select(EVENTS.c.at_unix, EVENTS.c.payload)).one() == (3.0, {"why": ""})


def test_another_thread_runs_a_statement_that_is_being_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tournaments of a league write in several threads: no thread writes values that are not encoded."""
    new = Prepared(insert(TOURNAMENTS))
    with Database.open(tmp_path / "t.db") as database, database.writing() as connection:

        def compiled_late(kind: Json, dialect: Dialect) -> object:
            monkeypatch.undo()
            new.write(connection, {**ROW, **STAMP})  # as the other thread does at this moment
            return kind.bind_processor(dialect)

        monkeypatch.setattr(Json, "bind_processor", compiled_late)
        new.write(connection, {**ROW, **STAMP, "edition": 2, "slug": "u"})
        assert connection.execute(select(TOURNAMENTS.c.config)).all() == [({},), ({},)]


def test_rolled_back_and_translated(tmp_path: Path) -> None:
    """An error of the driver rolls the transaction back and is translated for the user."""
    new = Prepared(insert(TOURNAMENTS))
    with Database.open(tmp_path / "t.db") as database:
        with pytest.raises(StoreRefused, match="locked"), database.writing() as connection:
            new.write(connection, {**ROW, **STAMP})
            raw = prepared.sqlite_connection(connection)
            assert raw is not None
            raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # fails in a transaction
        with pytest.raises(StorageFailed, match="full"), database.writing() as connection:
            raw = prepared.sqlite_connection(connection)
            assert raw is not None
            raw.execute("PRAGMA max_page_count=1")
            new.write(connection, {**ROW, **STAMP, "config": "x" * 10**7})
        with database.reading() as connection:
            assert connection.execute(select(TOURNAMENTS.c.id)).all() == []
