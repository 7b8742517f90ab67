"""`enginetour games N --replay` through the command line."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.playing import SCRIPT
from tests.test_polyglot import book
from tests.touring import CONFIG, left_running, read, tour

BROKEN = """\
[[entrants]]
name = "broken"
command = ["{program}"]
protocol = "uci"
[[entrants]]
engine = "wren1"
"""


def broken(folder: Path, at: int = 2) -> Path:
    """A tournament of one game that a crash decides; the engine is a script beside it."""
    program = folder / "broken"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -E -S {SCRIPT} --protocol uci --fault crash --at {at}\n")
    program.chmod(0o755)
    entrants = BROKEN.format(program=program)
    path = folder / "trial.toml"
    text = CONFIG.format(name="trial", system="roundrobin", settings="", tc="depth=1", entrants=entrants)
    path.write_text(text, "utf-8")
    return path


def test_a_crash_is_seen_again_and_nothing_is_written(tmp_path: Path) -> None:
    """Each time is a line, then how often; the database is the same to the byte, and no process is left."""
    tour(tmp_path, "run", str(broken(tmp_path)))
    database = tmp_path / "results" / "enginetour.db"
    before = database.read_bytes()
    said = tour(tmp_path, "games", "1", "--replay", "--times", "2", "--speed", "10").stdout
    assert "built again from the moves of the game: handshake, options, new game" in said
    assert said.count("again: crashes: exit 3") == 2
    assert said.endswith("it happened again in 2 of 2\n")
    alone = read(tmp_path, "games", "1", "--replay", "--last-search")
    assert (alone["again"], alone["runs"][0]["status"]) == (0, "")  # it counts its searches
    assert database.read_bytes() == before
    assert not left_running(tmp_path)


def test_moves_of_a_longer_book_are_no_opening(tmp_path: Path) -> None:
    """The searches between them are made again: the engine that crashes at its second one was asked for its first."""
    path = broken(tmp_path)
    book(tmp_path / "book.bin", {"g1f3 d7d5": 1, "e2e4 g8f6 e4e5": 1})
    (tmp_path / "start.pgn").write_text('[Event "the usual start"]\n\n*\n')
    text = path.read_text().replace("[report]", 'openings = { file = "start.pgn" }\n[report]')
    path.write_text(text + 'own_book = { file = "book.bin" }\n')
    tour(tmp_path, "run", str(path))
    said = tour(tmp_path, "games", "1", "--replay", "--speed", "10").stdout
    assert "again: crashes: exit 3\n" in said, said


def test_refusals(tmp_path: Path) -> None:
    """No number, no incident, a changed program, one that is gone: a line each, with the next step."""
    path = broken(tmp_path)
    tour(tmp_path, "run", str(path))
    assert "needs the NUMBER" in tour(tmp_path, "games", "--replay", expect=2).stderr
    assert "go with --replay" in tour(tmp_path, "games", "1", "--times", "3", expect=2).stderr
    for words in (("--endings",), ("--engine", "wren1"), ("--termination", "time"), ("--replay", "--incidents")):
        assert "are for the list of games" in tour(tmp_path, "games", "1", *words, expect=2).stderr
    said = tour(tmp_path, "games", "1", "--replay", "--engine", "wren1", expect=2).stderr
    assert "no incident of wren1" in said
    broken(tmp_path, at=9)
    said = tour(tmp_path, "games", "1", "--replay", expect=4).stderr
    assert "have changed since the game" in said
    assert "--accept-change" in said
    accepted = tour(tmp_path, "games", "1", "--replay", "--accept-change").stdout
    assert "it happened again in 0 of 1" in accepted
    (tmp_path / "broken").unlink()
    assert "cannot read" in tour(tmp_path, "games", "1", "--replay", expect=4).stderr


def test_an_incident_is_told_readably(tmp_path: Path) -> None:
    """`games N` has the traffic in milliseconds from the question on."""
    tour(tmp_path, "run", str(broken(tmp_path)))
    said = tour(tmp_path, "games", "1").stdout
    assert "process ended: exit 3; memory up to" in said
    assert "         0.000 > go depth 1" in said
