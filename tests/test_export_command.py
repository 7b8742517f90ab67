"""`enginetour export`: PGN with more in its comments, final positions, checksums; and the settings of records."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import chess
import pytest

from enginetour.referee.keptlines import KEPT_LENGTH, KEPT_LINES, kept_lines
from tests.touring import config, tour


@pytest.fixture
def played(tmp_path: Path) -> Path:
    """A tournament of two games in a workspace."""
    (tmp_path / "results").mkdir()
    path = config(tmp_path, ("wren1", "wren4"), "roundrobin", "cycles = 2")
    tour(tmp_path, "run", str(path))
    return tmp_path


def test_what_is_exported(played: Path) -> None:
    """Comments on demand, one final position a game, and the digest that sha256sum gives."""
    plain = tour(played, "export", "pgn").stdout
    more = tour(played, "export", "pgn", "--comments", "nodes,timeleft").stdout
    assert "n=" not in plain
    assert re.search(r"s, n=\d+", more)
    told = tour(played, "export", "pgn", "--comments", "all", "-o", str(played / "all.pgn")).stderr
    assert hashlib.sha256((played / "all.pgn").read_bytes()).hexdigest() in told
    ends = tour(played, "export", "epd").stdout.splitlines()
    assert len(ends) == plain.count("[Event ")
    for line in ends:
        chess.Board().set_epd(line)


def test_what_no_output_replaces(played: Path) -> None:
    """A slip of -o took the whole database with all games, or the configuration that was played."""
    (played / "engines").mkdir()
    (played / "engines" / "mine.toml").write_text('name = "Mine"\n')
    kept = {
        path: path.read_bytes() for path in (*played.glob("*.toml"), *played.glob("*/*.toml"), *played.glob("*/*.db"))
    }
    assert len(kept) == 3
    for path in kept:
        for words in (("export", "pgn"), ("export", "json"), ("ratings", "--all"), ("rate", "results/trial.pgn")):
            told = tour(played, *words, "-o", str(path), expect=2).stderr
            assert told.splitlines()[-1].startswith(f"enginetour: --output: {path} is a ")
    assert {path: path.read_bytes() for path in kept} == kept
    tour(played, "export", "csv", "-o", "new.toml")  # nobody's file


def test_what_is_not_exported(played: Path) -> None:
    """An unknown comment is refused with its near name; comments go with PGN alone."""
    refused = tour(played, "export", "pgn", "--comments", "node", expect=2).stderr
    assert "'node'" in refused
    assert "'nodes'" in refused
    tour(played, "export", "csv", "--comments", "nodes", expect=2)


@pytest.mark.parametrize("line", ['pgn = ["nodez"]', 'keep_lines = "("'])
def test_settings_of_records_are_checked(tmp_path: Path, line: str) -> None:
    """A comment nobody knows, a pattern that is none: refused with place and what is allowed."""
    path = config(tmp_path, ("wren1", "wren4"), "roundrobin", "cycles = 2")
    path.write_text(path.read_text().replace("[play]\n", f"[play]\n{line}\n"))
    refused = tour(tmp_path, "check", str(path), expect=3).stderr
    assert re.search(r"trial\.toml:\d+: play\.(pgn|keep_lines)", refused)
    assert "nps" in refused or "regular expression" in refused


def test_lines_of_engines_are_kept_by_a_pattern() -> None:
    """The last of them, cut, oldest first; the pattern is tried on what is kept of a line."""
    text = b"\n".join([b"info depth 1", *(b"info string WDL %d" % n for n in range(30)), b"x" * 400 + b"WDL", b""])
    found = kept_lines(text, re.compile("WDL"))
    assert len(found) == KEPT_LINES
    assert (found[0], found[-1]) == ("info string WDL 10", "info string WDL 29")
    (cut,) = kept_lines(b"WDL" + b"y" * 400, re.compile("WDL"))
    assert len(cut) == KEPT_LENGTH
