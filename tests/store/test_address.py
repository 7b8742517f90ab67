"""Addresses of databases: files, servers, and hidden passwords."""

from __future__ import annotations

from pathlib import Path

import pytest

from enginetour.model.errors import UsageRefused
from enginetour.store.address import ServerAddress, database_of, existing_database, parse_address
from enginetour.store.backup import upgrade_database
from tests.support.databases import older
from tests.support.tournaments import tour

SQLITE = b"SQLite format 3\0"


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("postgresql://me@host:5433/chess", "postgresql://me@host:5433/chess"),
        ("postgres://me:secret@host/chess", "postgresql://me@host/chess"),
        ("postgresql://me:s%3Acr%40et@[::1]:5/a%20b", "postgresql://me@[::1]:5/a%20b"),
        ("postgresql://me:a?secret@host/chess", "postgresql://me@host/chess"),
        ("postgresql://me:a#secret@host/chess", "postgresql://me@host/chess"),
        ("postgresql:///chess?host=/run/pg&password=secret", "postgresql:///chess?host=%2Frun%2Fpg"),
        ("postgresql://a,b:6000/chess?sslpassword=secret&options=-csearch_path%3Dx", None),
    ],
)
def test_shown_without_its_password(words: str, shown: str | None) -> None:
    """Only the URL for libpq contains the password."""
    address = parse_address(words)
    assert isinstance(address, ServerAddress)
    assert address.url == words
    assert shown is None or str(address) == shown
    for told in (str(address), repr(address), address.identity, f"{address}", address.name):
        assert "secret" not in told
        assert "s%3Acr" not in told


def test_a_file_is_a_path() -> None:
    """An address without a scheme is a file, whatever its name is."""
    assert parse_address("results/a b.db") == Path("results/a b.db")
    assert parse_address("C:x.db") == Path("C:x.db")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("mysql://me@host/chess", "unsupported scheme mysql://"),
        ("postgresql://me:secret@host", "write postgresql://"),
        ("postgresql://me:secret@host/", "write postgresql://"),
        ("postgresql://me:secret%@host/chess", "write % as %25"),
        ("postgresql://me:sec/ret@host/chess", "write / as %2F"),
        ("postgresql://me:a@secret@host/chess", "@ as %40"),
        ("postgresql://host?password=secret/chess", "write postgresql://"),
        ("postgresql://me:secret@host:many/chess", "'many' is not a valid port"),
        ("postgresql://me:secret@host:70000/chess", "'70000' is not a valid port"),
    ],
)
def test_no_address(words: str, told: str) -> None:
    """An invalid address gives a one-line error without the password."""
    with pytest.raises(UsageRefused) as refused:
        parse_address(words)
    assert told in str(refused.value)
    assert "secret" not in str(refused.value)


def test_one_database_has_one_identity() -> None:
    """Host, port, name and schema make the identity; user and password do not."""
    same = ("postgresql://me:x@Host/chess", "postgresql://you@host:5432/chess", "postgres://host/chess")
    others = ("postgresql://host/go", "postgresql://host:1/chess", "postgresql://host/chess?options=-csearch_path%3Dx")
    found = [parse_address(words) for words in (*same, *others)]
    identities = [address.identity for address in found if isinstance(address, ServerAddress)]
    assert len(set(identities[:3])) == 1
    assert len(set(identities)) == 4


def test_a_name_is_all_that_libpq_takes_for_it() -> None:
    """The name of a database can contain any character, as in libpq; the driver checks the host."""
    found = [parse_address(words) for words in ("postgresql://host/a#b", "postgresql://host/a", "postgresql://[abc]/a")]
    assert [address.name for address in found if isinstance(address, ServerAddress)] == ["a#b", "a", "a"]
    assert len({address.identity for address in found if isinstance(address, ServerAddress)}) == 3


def test_the_only_database_is_found(tmp_path: Path) -> None:
    """A command that reads finds the only database; the usual one has priority, and several are an error."""
    results = tmp_path / "results"
    results.mkdir()
    assert existing_database(tmp_path, None) == results / "enginetour.db"
    (tmp_path / "near.db").write_bytes(SQLITE)
    (results / "notes.db").write_text("no database")
    assert existing_database(tmp_path, None) == tmp_path / "near.db"
    (results / "demo.db").write_bytes(SQLITE)
    assert existing_database(tmp_path, None) == results / "demo.db"
    assert existing_database(tmp_path, tmp_path / "x.db") == tmp_path / "x.db"
    for name in ("a.db", "b.db", "c.db"):
        (results / name).write_bytes(SQLITE)
    with pytest.raises(UsageRefused) as caught:
        existing_database(tmp_path, None)
    step = f"choose one, for example --db {results / 'a.db'}"
    assert str(caught.value) == f"{results}: contains several databases: a.db, b.db, c.db and 1 more. Hint: {step}."
    (results / "enginetour.db").write_bytes(SQLITE)
    assert existing_database(tmp_path, None) == results / "enginetour.db"


def test_commands_after_a_demo(tmp_path: Path) -> None:
    """Commands in the directory of a demo read its database without --db, and name it; a run does not write to it."""
    (tmp_path / "results").mkdir()
    upgrade_database(older(tmp_path / "results" / "demo.db", "league"))
    for words in (("report", "-o", "pages"), ("ratings",), ("bubble",), ("games",), ("status",), ("db", "check")):
        done = tour(tmp_path, *words, expect=None)
        assert "not found" not in done.stderr and "internal error" not in done.stderr, words
    assert f"database {tmp_path / 'results' / 'demo.db'}" in tour(tmp_path, "games", "--csv").stderr
    assert (tmp_path / "pages" / "index.html").exists()
    assert database_of(tmp_path, None) == tmp_path / "results" / "enginetour.db"
