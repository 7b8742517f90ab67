"""`run --fail-on incidents`: the exit code for scripts that must notice what went wrong."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.touring import config, tour

INCIDENTS = 6
ENOUGH = 8


def test_incidents_are_an_exit_code_where_asked_for(tmp_path: Path) -> None:
    """A crash lost its game and nothing else; also when the run stops early, and of an earlier run."""
    script = Path(__file__).parent / "engines" / "scripted.py"
    command = json.dumps([sys.executable, str(script), "--protocol", "uci", "--fault", "crash", "--at", "2"])
    more = f'\n[[entrants]]\nname = "odd"\nprotocol = "uci"\ncommand = {command}\n'
    path = str(config(tmp_path, ("wren1",), "match", "games = 4", more))
    tour(tmp_path, "run", path, "--max-games", "1", expect=ENOUGH)
    done = tour(tmp_path, "run", path, "--max-games", "1", "--fail-on", "incidents", expect=INCIDENTS)
    assert "disconnects: exit 3" in done.stdout
    tour(tmp_path, "run", path)
    tour(tmp_path, "run", path, "--fail-on", "incidents", expect=INCIDENTS)


def test_warnings_are_none(tmp_path: Path) -> None:
    """What was tolerated is told, and fails nobody's script."""
    script = Path(__file__).parent / "engines" / "scripted.py"
    command = json.dumps([sys.executable, str(script), "--protocol", "uci", "--fault", "upper", "--at", "2"])
    more = f'\n[[entrants]]\nname = "odd"\nprotocol = "uci"\ncommand = {command}\n'
    path = str(config(tmp_path, ("wren1",), "match", "games = 2", more))
    text = Path(path).read_text().replace("[play]\n", "[play]\nmax_moves = 4\nopenings = { plies = 0 }\n")
    Path(path).write_text(text)
    assert "warning: odd: odd-move: " in tour(tmp_path, "run", path, "--fail-on", "incidents").stdout
