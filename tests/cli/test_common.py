"""Tests of cli/common."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from enginetour.cli.common import ERASE, StepLine
from enginetour.referee.compliance.course import HANDSHAKE, run_checks, steps_of
from enginetour.referee.compliance.exam import ComplianceTask
from enginetour.store.address import parse_address
from enginetour.store.database import backend_of
from enginetour.tournament.control import socket_path
from enginetour.tournament.probing import examine_each
from tests.support.databases import Server
from tests.support.engines import Eavesdropper, scripted

# The line that tells how far an examination is.


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, term: str = "xterm") -> str:
    """What two engines leave there, one step of each."""
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("COLUMNS", "40")
    line = StepLine(["a", "b\x1b[2J"])
    line.step(1, 58, "the first thing that an engine is asked to do")
    line.clear()
    line.step(2, 58, "more")
    line.clear()
    return stream.getvalue()


def test_it_stands_in_one_line_and_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut to the window, each over the last; names are only text."""
    told = shown(monkeypatch, Terminal())
    assert told.startswith(ERASE) and told.endswith(ERASE)
    first, second = (part for part in told.split(ERASE) if part)
    assert first == "a: step 1 of 58, the first thing that an engine"[:39]
    assert second.startswith("b") and second.endswith("step 2 of 58, more")
    assert "\x1b" not in first + second


@pytest.mark.parametrize(("stream", "term"), [(io.StringIO(), "xterm"), (Terminal(), "dumb")])
def test_elsewhere_nothing_is_written(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, term: str) -> None:
    """A file or a terminal that knows no erasing."""
    assert shown(monkeypatch, stream, term) == ""


def test_each_step_is_told_before_it_is_taken() -> None:
    """The handshake, then those asked for, with their number and words."""
    link = Eavesdropper()
    run_checks(ComplianceTask(scripted("uci"), ("new-game", "quit-idle")), link)
    words = {step.key: step.what for step in steps_of("uci")}
    assert [payload for name, payload in link.told if name == "step"] == [
        (0, 2, HANDSHAKE),
        (1, 2, words["new-game"]),
        (2, 2, words["quit-idle"]),
    ]


def test_a_slot_passes_the_steps_on() -> None:
    """From its process to whoever asked, all before the course comes back."""
    heard: list[tuple[int, int, str]] = []
    for _ in examine_each([scripted("uci")], ("quit-idle",), lambda *step: heard.append(step)):
        assert [number for number, _, _ in heard] == [0, 1]
    assert heard[0] == (0, 1, HANDSHAKE)


# One database of a server has many addresses: a command found no run of it unless both spelled it alike.


def spellings(server: Server, url: str) -> list[str]:
    """By number, by name, by the socket in its folder, and by another user."""
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
    """Socket and tag are of the database, whoever asks; another schema and another database have others."""
    url = server.schema()
    others = [server.schema(), server.database(), url.replace("/postgres?", "/template1?")]
    found = {socket_path(parse_address(words), "autumn") for words in spellings(server, url)}
    assert len(found) == 1
    assert len(found | {socket_path(parse_address(words), "autumn") for words in others}) == 4
    assert len({backend_of(words).tag() for words in spellings(server, url)}) == 1


def test_a_file_is_found_by_any_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its socket is beside the file itself, whatever leads there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path)
    paths = {socket_path(path, "autumn") for path in (tmp_path / "t.db", Path("t.db"), Path("link/t.db"))}
    assert paths == {tmp_path.resolve() / "t.db.autumn.sock"}
