"""Tests of databases on a PostgreSQL server."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from typing import Any

import pytest

from enginetour.model.errors import StorageFailed, StoreRefused, TourError, UsageRefused
from enginetour.store.address import Address, parse_address
from enginetour.store.database import Database, backend_of, database_exists, schema_version
from enginetour.store.tables import SCHEMA_VERSION
from enginetour.store.tournaments import Store
from tests.support.databases import Server, add_game, full_game, game, open_log, sound_log


def opened(address: Address) -> None:
    Store.open(address).close()


def changed(server: Server, *statements: str) -> str:
    """Run statements of another program on a database."""
    url = server.schema()
    opened(parse_address(url))
    for statement in statements:
        server.ask_there(url, statement)
    return url


def newer(server: Server) -> str:
    return changed(server, f"COMMENT ON TABLE tournaments IS 'enginetour, schema {SCHEMA_VERSION + 1}'")


def half_migrated(server: Server) -> str:
    return changed(server, "ALTER TABLE incidents DROP COLUMN referee_us")


def without_table(server: Server) -> str:
    return changed(server, "DROP TABLE notes")


def without_version(server: Server) -> str:
    return changed(server, "COMMENT ON TABLE tournaments IS NULL")


def with_trigger(server: Server) -> str:
    trigger = (
        "CREATE TRIGGER t BEFORE UPDATE ON games FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()"
    )
    return changed(server, trigger)


def with_view(server: Server) -> str:
    return changed(server, "CREATE VIEW v AS SELECT 1")


def foreign(server: Server) -> str:
    url = server.schema()
    server.ask_there(url, "CREATE TABLE bookmarks (url text)")
    return url


def of_other_letters(server: Server) -> str:
    return server.database(more="ENCODING 'SQL_ASCII' TEMPLATE template0")


def without_schema(server: Server) -> str:
    return f"{server.url('postgres')}?options=-csearch_path%3Dnowhere"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (newer, "newer enginetour version"),
        (half_migrated, "'incidents' is missing or has unexpected columns"),
        (without_table, "'notes' is missing or has unexpected columns"),
        (without_version, "is not an enginetour database"),
        (with_trigger, "contains the trigger 't'"),
        (with_view, "contains the view 'v'"),
        (foreign, "not an enginetour database: it contains the table 'bookmarks'"),
        (of_other_letters, "the encoding must be UTF8"),
        (without_schema, "does not have a schema"),
    ],
)
def test_refused_untouched(server: Server, make: Callable[[Server], str], words: str) -> None:
    """A foreign or invalid database gives a one-line error and is not changed."""
    url = make(server)
    before = server.holds(url)
    for readonly in (False, True):
        with pytest.raises(StoreRefused, match=words) as refused:
            Store.open(parse_address(url), readonly=readonly)
        assert str(parse_address(url)) in str(refused.value)
        assert "\n" not in str(refused.value)
    assert server.holds(url) == before


def test_nothing_there_yet(server: Server) -> None:
    """An empty database is only created with `create`."""
    address = parse_address(server.schema())
    assert not database_exists(address)
    with pytest.raises(StoreRefused, match="database does not exist"):
        Store.open(address, create=False)
    opened(address)
    assert database_exists(address)
    assert schema_version(address) == SCHEMA_VERSION


def test_doors_that_stay_shut(server: Server) -> None:
    """A failed connection gives a one-line error without the password."""
    name = server.user("clara", "sesame")
    cases: list[tuple[str, type[TourError], str]] = [
        ("postgresql://tester:sesame@127.0.0.1:1/x", StorageFailed, "cannot be reached"),
        (server.url("nowhere"), StoreRefused, "create it with createdb"),
        (server.url("postgres", "nobody", "sesame"), StoreRefused, "cannot connect"),
        (server.url("postgres", name, "sesame1"), StoreRefused, "~/.pgpass"),
    ]
    for url, kind, words in cases:
        with pytest.raises(kind, match=words) as refused:
            Store.open(parse_address(url))
        assert "sesame" not in str(refused.value)
        assert "\n" not in str(refused.value)


def test_an_old_server(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is too old is an error."""
    from enginetour.store import postgres

    monkeypatch.setattr(postgres, "_OLDEST", 99)
    with pytest.raises(StoreRefused, match=r"PostgreSQL 99 or newer is required \(found \d\d\)"):
        Store.open(server.schema())


def test_a_user_without_rights(server: Server) -> None:
    """Missing privileges are reported before anything starts."""
    name = server.user("dora", "sesame")
    strange = parse_address(server.schema().replace("tester@", f"{name}:sesame@"))
    for look in (Store.open, lambda address: backend_of(address).require_writable()):
        with pytest.raises(StoreRefused, match="does not have a schema that this user can read"):
            look(strange)
    url = server.schema()
    server.ask_there(url, f"GRANT USAGE ON SCHEMA {server.schema_of(url)} TO {name}")
    hers = parse_address(url.replace("tester@", f"{name}:sesame@"))
    with pytest.raises(StorageFailed, match=r"cannot be used|cannot create tables"):
        Store.open(hers)
    with pytest.raises(StorageFailed, match=f"ask its owner for GRANT CREATE ON SCHEMA {server.schema_of(url)}"):
        backend_of(hers).require_writable()
    opened(parse_address(url))
    with pytest.raises(StorageFailed, match="cannot read and write the table"):
        Store.open(hers)
    server.ask_there(url, f"GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA {server.schema_of(url)} TO {name}")
    server.ask_there(url, f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {server.schema_of(url)} TO {name}")
    store, log = open_log(hers)
    with store:
        assert add_game(log, game()) == 1


def test_without_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the driver, the error names the package to install."""
    real = builtins.__import__

    def refusing(name: str, *rest: Any, **more: Any) -> Any:
        if name == "psycopg" or name.startswith("psycopg."):
            raise ImportError(name)
        return real(name, *rest, **more)

    for name in [name for name in sys.modules if name.startswith("enginetour.store.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", refusing)
    with pytest.raises(UsageRefused, match=r"pip install 'enginetour\[postgres\]'"):
        Database.open(parse_address("postgresql://me@host/chess"))


def test_settings_that_lose_games(server: Server) -> None:
    """A commit waits for the disk whatever the server's default is; unsafe settings give a warning."""
    url = server.schema()
    server.ask("ALTER ROLE tester SET synchronous_commit = off")
    try:
        with Store.open(parse_address(url)) as store, store.database.reading() as connection:
            assert connection.exec_driver_sql("SHOW synchronous_commit").scalar_one() == "on"
    finally:
        server.ask("ALTER ROLE tester RESET synchronous_commit")
    assert any("fsync = off" in warning for warning in store.database.warnings)  # the server of the tests runs with it


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("SELECT 1", ""),
        ("UPDATE games SET started_unix = 'NaN' WHERE number = 1", "games with id 1: invalid started_unix 'nan'"),
        ("UPDATE games SET round = 1::bigint << 60", "games with id 1: invalid round '1152921504606846976'"),
        ("UPDATE engines SET command = '[' WHERE id = 2", "engines with id 2: invalid command '['"),
        ("UPDATE pair_counts SET wins = wins + 1", "stored as"),
        ("DELETE FROM moves", "game 1 has no moves"),
        (
            "ALTER TABLE notes DROP CONSTRAINT notes_tournament_fkey; UPDATE notes SET tournament = 7 WHERE ordinal=1",
            "1 rows of notes refer to rows of tournaments that do not exist",
        ),
        (
            "ALTER TABLE moves DROP CONSTRAINT moves_game_fkey, "
            "ADD CONSTRAINT m FOREIGN KEY (game) REFERENCES games (id) NOT VALID",
            "the reference m of moves was not checked",
        ),
    ],
)
def test_what_the_check_finds(server: Server, statement: str, words: str) -> None:
    """The check finds changed rows, and nothing in a sound database."""
    from enginetour.store.check import inspect

    url = server.schema()
    store, log = sound_log(parse_address(url))
    with store:
        add_game(log, game())
    server.ask_there(url, statement)
    with Store.open(parse_address(url), create=False, readonly=True) as store:
        found = [finding.what for finding in inspect(store).findings]
    assert any(words in what for what in found) if words else found == []


def test_a_sign_that_no_server_holds(server: Server) -> None:
    """Text of an engine with a NUL character is stored with a replacement."""
    from dataclasses import replace

    store, log = open_log(parse_address(server.schema()))
    with store:
        add_game(log, replace(full_game(), cause="it said \0", culprit="\0"))
        assert log.game(1).game.cause == "it said ?"
