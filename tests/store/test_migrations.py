"""Databases, configurations and engine files of commit 433f15d work as they did.

``golden/older/README.md`` tells what was recorded and how, and which outputs differ since on purpose.
"""

from __future__ import annotations

import json
import lzma
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from enginetour.engines.enginefile import read_entry
from enginetour.model.task import Quirks, Resources
from enginetour.store.tournaments import Store
from enginetour.tournament.config.load import load
from tests.support.tournaments import tour

OLDER = Path(__file__).parents[1] / "golden" / "older"
FACTS: dict[str, Any] = json.loads((OLDER / "facts.json").read_text("utf-8"))
DATABASES = ("league", "systems", "rules", "interrupted")
CHANGED = ("epm", "gerlach", "godraw", "gopair", "gotha-2005", "mcmahon", "probe")
FINDINGS = {"league": ["edition 1 of everything: 15 lines", "edition 2 of everything: 14 lines"]}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recorded workspace for tests that only read it."""
    return unpacked(tmp_path_factory.mktemp("recorded"))


def unpacked(folder: Path) -> Path:
    """The recorded workspace, its databases unpacked, made in a folder."""
    for name in ("engines", "configs", "pgn"):
        shutil.copytree(OLDER / name, folder / name)
    (folder / "results").mkdir(exist_ok=True)
    for name in DATABASES:
        packed = (OLDER / "databases" / f"{name}.db.xz").read_bytes()
        (folder / "results" / f"{name}.db").write_bytes(lzma.decompress(packed))
    return folder


def printed(name: str) -> dict[str, list[str]]:
    """By command line the lines that it printed."""
    found = {}
    for block in f"\n{(OLDER / 'printed' / name).read_text('utf-8')}".split("\n$ enginetour ")[1:]:
        words, *lines = block.rstrip("\n").split("\n")
        found[words] = lines
    return found


def prints(folder: Path, words: str) -> list[str]:
    """The lines that a command prints today; TRF has CR LF."""
    return tour(folder, *shlex.split(words)).stdout.replace("\r\n", "\n").rstrip("\n").split("\n")


@pytest.mark.parametrize("name", DATABASES)
def test_older_databases_are_sound(recorded: Path, name: str) -> None:
    """After `db upgrade`, `db check` reads each game and replays each log; only fitted advantages moved."""
    expected = FINDINGS.get(name, [])
    tour(recorded, "db", "upgrade", "--db", f"results/{name}.db")
    done = tour(recorded, "db", "check", "--db", f"results/{name}.db", expect=5 if expected else 0)
    told = done.stdout.splitlines()
    assert [line for line in told if not line.startswith(("sound: ", *expected))] == []
    assert len(told) == max(1, len(expected))


@pytest.mark.parametrize("name", DATABASES)
def test_older_databases_print_the_same(recorded: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables, lists, editions, games and exports are those of then, but for what `printed/since` has."""
    monkeypatch.setenv("ENGINETOUR_DB", f"results/{name}.db")
    since = OLDER / "printed" / "since" / f"{name}.txt"
    expected = printed(f"{name}.txt") | (printed(f"since/{name}.txt") if since.exists() else {})
    assert {words: prints(recorded, words) for words in expected} == expected


@pytest.mark.parametrize("name", CHANGED)
def test_systems_with_other_rules_say_so(recorded: Path, name: str) -> None:
    """Rounds that were paired by rules of then are not replayed by those of today; one line tells the version."""
    done = tour(recorded, "standings", "-t", name, "--db", "results/rules.db", expect=5)
    told = f"{name}: written by version 1 of {name}, this is version 2; read it with the enginetour that wrote it"
    assert done.stderr == f"enginetour: {told}\n"


@pytest.mark.parametrize(
    ("name", "words"), [("league", "-t league"), ("league", "blitz"), ("interrupted", "-t 'night bubble'")]
)
def test_older_databases_have_reports(recorded: Path, tmp_path: Path, name: str, words: str) -> None:
    """The pages of a tournament, of a rating list and of an interrupted bubble are written."""
    target = tmp_path / "report"
    tour(recorded, "report", *shlex.split(words), "-o", str(target), "--db", f"results/{name}.db")
    assert (target / "index.html").is_file()


def test_interrupted_tournaments_are_resumed(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bubble, the Swiss with byes and the Scheveningen with a void game end as they did under the older program."""
    unpacked(workspace)
    monkeypatch.setenv("ENGINETOUR_DB", "results/interrupted.db")
    for name in ("bubble", "swiss", "voids"):
        tour(workspace, "run", f"configs/{name}.toml", "--plain")
    expected = printed("resumed.txt")
    assert {words: prints(workspace, words) for words in expected} == expected
    tour(workspace, "db", "check")


@pytest.mark.parametrize("name", [name for name in DATABASES if name != "rules"])  # there defaults changed, too
def test_older_configurations_fit_their_tournaments(recorded: Path, name: str) -> None:
    """A configuration read today says all that was stored when its tournament began, defaults included."""
    read = {config.tournament.name: config for config in map(load, sorted((OLDER / "configs").rglob("*.toml")))}
    with Store.open(recorded / "results" / f"{name}.db", create=False) as store:
        stored = {one.name: store.tournament(one.name).config for one in store.tournaments()}
    assert stored
    for tournament, then in stored.items():
        assert within(then, read[tournament].as_stored()), tournament


def within(then: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether every section and key of then has its value still; today's may have more keys."""
    return all(
        within(value, now[key]) if isinstance(value, dict) and key in now else now.get(key, value) == value
        for key, value in then.items()
    )


@pytest.mark.parametrize("name", [name for name in FACTS if name.startswith("configs/")])
def test_older_configurations_are_read(name: str) -> None:
    """Every section and key, and what `init` and `match` wrote, is read as it was."""
    config = load(OLDER / name)
    sections = ("tournament", "play", "ratings", "notify", "report")
    told = {section: getattr(config, section).model_dump(mode="json", exclude_defaults=True) for section in sections}
    told["format"] = config.format_options.model_dump(mode="json", exclude_defaults=True)
    told["entrants"] = [entrant.model_dump(mode="json", exclude_defaults=True) for entrant in config.entrants]
    assert told == FACTS[name]


@pytest.mark.parametrize("name", [name for name in FACTS if name.startswith("engines/")])
def test_older_engine_files_are_read(name: str) -> None:
    """Each key of an engine file, and the hints that an examination wrote back, is read as it was."""
    entry = read_entry(OLDER / name)
    for key, expected in FACTS[name].items():
        value = getattr(entry, key)
        if key in ("quirks", "resources"):
            usual: Any = Quirks() if key == "quirks" else Resources()
            names = [field.name for field in fields(usual)]
            value = {each: getattr(value, each) for each in names if getattr(value, each) != getattr(usual, each)}
        elif isinstance(value, frozenset):
            value = sorted(value)
        assert json.loads(json.dumps(value)) == expected, key
