"""Options that select a database."""

from __future__ import annotations

from pathlib import Path

import pytest

from enginetour.store.address import parse_address
from enginetour.store.database import backend_of
from enginetour.tournament.control import socket_path
from tests.support.databases import Server

# One database of a server has many addresses: a command found no run of it unless both spelled it alike.


def spellings(server: Server, url: str) -> list[str]:
    """Return addresses of one database: by number, by name, by the directory of its socket, and by another user."""
    plain = url.replace(f"@127.0.0.1:{server.port}", "@")
    name = server.user("emma", "sesame")
    server.ask_there(url, f"GRANT USAGE ON SCHEMA {server.schema_of(url)} TO {name}")
    return [
        url,
        url.replace("127.0.0.1", "localhost"),
        f"{plain.replace('@', f'@:{server.port}')}&host={server.folder}",
        url.replace("tester@", f"{name}:sesame@"),
    ]


def test_a_run_is_found_by_any_of_its_addresses(server: Server) -> None:
    """All addresses of one database give one socket and tag; another schema or database has others."""
    url = server.schema()
    others = [server.schema(), server.database(), url.replace("/postgres?", "/template1?")]
    found = {socket_path(parse_address(words), "autumn") for words in spellings(server, url)}
    assert len(found) == 1
    assert len(found | {socket_path(parse_address(words), "autumn") for words in others}) == 4
    assert len({backend_of(words).tag() for words in spellings(server, url)}) == 1


def test_a_file_is_found_by_any_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All paths to a database file give one socket next to the file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path)
    paths = {socket_path(path, "autumn") for path in (tmp_path / "t.db", Path("t.db"), Path("link/t.db"))}
    assert paths == {tmp_path.resolve() / "t.db.autumn.sock"}
