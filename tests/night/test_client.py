"""A client that a public generator makes from the OpenAPI document reads a tournament, a list and a game.

openapi-python-client is installed into its own environment, which needs a registry of Python packages.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from enginetour.store.definition import ListDefinition, define_list
from enginetour.store.editions import publish
from tests.support.databases import game
from tests.support.network import Stage, move, serving, start

pytestmark = pytest.mark.night

# Types of answers that the generator does not know, as docs/reference/http.md shows them.
SETTINGS = """\
content_type_overrides:
  application/x-chess-pgn: text/plain
  text/event-stream: text/plain
post_hooks: []
"""
SCRIPT = """\
import sys
from made import Client
from made.api.default import edition, game, game_pgn, games, list_ratings, live, standings, tournament

client = Client(base_url=sys.argv[1], raise_on_unexpected_status=True)
found = tournament.sync("autumn", client=client)
print(found.running, found.progress.state.value, found.progress.games_done, found.progress.remaining)
print([row.name for row in standings.sync("autumn", client=client).table][:1])
page = games.sync("autumn", client=client, limit=1)
print(page.rows[0].white, page.rows[0].result.value, page.next_)
one = game.sync("autumn", 2, client=client)
print(one.pairing.black, one.outcome.value, one.moves[0].uci, one.relay_gap_us)
print(game_pgn.sync("autumn", 2, client=client).splitlines()[0])
print([(row.name, row.games) for row in list_ratings.sync("all", client=client).list_][:1])
print(edition.sync("all", 1, client=client).note)
print(live.sync("autumn", client=client).games["0"].searches[0].score)
"""


def test_a_generated_client_reads_a_running_tournament(stage: Stage) -> None:
    """The client is generated without warnings, and its types have the values of the database."""
    stage.record(game())
    stage.record(game("Toga", "Fruit", meeting=2))
    define_list(stage.store, "all", ListDefinition())
    publish(stage.store, "all", note="first")
    stage.playing = [start() | move(1) | {"moves": ["g1f3"]}]
    folder = stage.database.parents[1]
    environment = _environment(folder)
    with stage.running(), serving(folder) as (url, _):
        with urlopen(f"{url}/api/v1/openapi.json", timeout=60) as answer:
            (folder / "openapi.json").write_bytes(answer.read())
        (folder / "settings.yml").write_text(SETTINGS)
        words = ["generate", "--path", "openapi.json", "--meta", "none", "--output-path", "made"]
        words += ["--config", "settings.yml", "--fail-on-warning"]
        _run(folder, environment / "openapi-python-client", *words)
        (folder / "reads.py").write_text(SCRIPT)
        told = _run(folder, environment / "python", "reads.py", f"{url}/api/v1").splitlines()
    assert told == [
        "True running 2 [6, 12]",
        "['Fruit']",
        "Fruit 1-0 1",
        "Fruit 1-0 e2e4 None",
        '[Event "autumn"]',
        "[('Fruit', 2)]",
        "first",
        "+0.15",
    ]


def _environment(folder: Path) -> Path:
    """Return the directory of the programs of a new environment with the generator."""
    _run(folder, Path(sys.executable), "-m", "venv", "generator")
    programs = folder / "generator" / "bin"
    _run(folder, programs / "python", "-m", "pip", "install", "--quiet", "openapi-python-client>=0.26,<1")
    return programs


def _run(folder: Path, program: Path, *words: str) -> str:
    done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr
