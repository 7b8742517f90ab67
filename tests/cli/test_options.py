"""Options that select a database, completion by the shell, and the files that wheels install for it."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.shell_completion import BashComplete

from enginetour.cli.main import COMMANDS, cli
from enginetour.store.address import parse_address
from enginetour.store.database import backend_of
from enginetour.store.tournaments import Store
from enginetour.tournament.control import socket_path
from tests.support.databases import STORING_NAMES, Server, draft
from tests.support.databases import store as hostile_store

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


MANUAL = Path(__file__).parents[2] / "docs" / "manual.py"


@pytest.fixture
def completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Return a function that completes the last of its words in a workspace with one tournament."""
    monkeypatch.setenv("_ENGINETOUR_COMPLETE", "bash_complete")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    with Store.open(tmp_path / "results" / "enginetour.db") as store:
        store.create_tournament(draft("autumn"))
    complete = BashComplete(cli, {}, "enginetour", "_ENGINETOUR_COMPLETE")
    return lambda *words: [item.value for item in complete.get_completions(list(words[:-1]), words[-1])]


def test_names_come_from_the_database_and_engine_files(completed: Callable[..., list[str]]) -> None:
    assert completed("standings", "au") == completed("standings", "-t", "") == ["autumn"]
    assert completed("withdraw", "") == sorted(STORING_NAMES)
    assert completed("withdraw", STORING_NAMES[0]) == [STORING_NAMES[0]]
    assert completed("standings", "%") == []
    assert completed("match", "wren1", "wren") == [f"wren{number}" for number in range(1, 9)]


def test_a_database_that_cannot_be_read_completes_nothing(
    completed: Callable[..., list[str]], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "results" / "enginetour.db").write_text("no database")
    assert completed("standings", "") == completed("standings", "--db", "missing.db", "") == []
    assert capfd.readouterr() == ("", "")


def test_names_with_control_characters_are_not_completed(completed: Callable[..., list[str]], tmp_path: Path) -> None:
    hostile_store(tmp_path / "hostile.db")
    assert all(name.isprintable() for name in completed("standings", "--db", "hostile.db", ""))


def test_each_command_has_a_man_page_and_each_shell_a_completion_file(tmp_path: Path) -> None:
    runpy.run_path(str(MANUAL))["write_all"](tmp_path)
    pages = {path.name for path in (tmp_path / "man" / "man1").iterdir()}
    assert {"enginetour.1", "enginetour-db-backup.1"} <= pages
    assert {f"enginetour-{name}.1" for name in COMMANDS} <= pages
    page = (tmp_path / "man" / "man1" / "enginetour-run.1").read_text()
    assert "Start the tournament" in page and "\\-\\-help" in page
    assert "_ENGINETOUR_COMPLETE=bash_complete" in (tmp_path / "bash-completion/completions/enginetour").read_text()


def test_no_range_has_a_number_that_is_not_one() -> None:
    """Each option with a range of numbers refuses nan, which click takes for a number in every range."""
    ranges = [
        (param, context)
        for name in COMMANDS
        if (command := cli.get_command(context := click.Context(cli), name)) is not None
        for param in command.params
        if isinstance(param.type, click.FloatRange)
    ]
    assert len(ranges) > 5
    for param, context in ranges:
        with pytest.raises(click.BadParameter, match="nan is not in the range"):
            param.type.convert("nan", param, context)
