"""Every document of every command with --json has its declared type, and every key of a type occurs."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from pydantic import BaseModel

from enginetour.cli.main import cli
from enginetour.cli.schemas import DOCUMENTS
from enginetour.reports.sheet import SCHEMA
from enginetour.store.backup import upgrade_database
from enginetour.tournament.changes import RunController
from enginetour.tournament.cluster.machines import ListedWorker, Machines, WorkerReport
from enginetour.tournament.control import ControlServer, PendingRequest, socket_path
from enginetour.tournament.requests import parsed
from tests.cli.test_games import broken
from tests.support.databases import older
from tests.support.tournaments import THREE, config, running, tour

TESTS = Path(__file__).parents[1]
BUBBLES = TESTS / "golden" / "bubble"
FILES = {  # words of commands that stand for files
    "TRF": TESTS / "golden" / "trf" / "112_clean_n11_r7.trf",
    "DIFFERING": TESTS / "cases" / "pairing" / "accelerated-absent-in-round-1.trf",
    "GROUPS": TESTS / "cases" / "mcmahon" / "two-groups-of-four.trf",
    "GOTHA": TESTS / "cases" / "opengotha" / "evening.xml",
    "CASE": BUBBLES / "everybody-withdraws.json",
    "NOBODY": BUBBLES / "empty.json",
    "QUICK": TESTS.parent / "configs" / "quickstart.toml",
    "MATCH": TESTS.parent / "configs" / "match.toml",
    "OLD": TESTS / "golden" / "older" / "pgn" / "old.pgn",
}
RECORDED = ("league", "systems", "interrupted")  # databases of an earlier version
# Database or workspace -> commands with the document that each of them prints, in the order in which they are called.
# A command after an exclamation mark has another exit code than 0.
CASES = {
    "league": {
        "engines list": "engines list",
        "engines check wren1 --step quit-idle": "engines check ENGINE",
        "systems": "systems",
        "systems bubble": "systems NAME",
        "systems dutch": "systems NAME",
        "check QUICK": "check CONFIG",
        "check MATCH": "check CONFIG",
        "plan --entrants 4 --hours 0.04 --tc 1+0.01 --processes 1 --fields 2": "plan",
        "simulate QUICK --fields 2": "simulate CONFIG",
        "simulate --compare roundrobin,dutch --entrants 6 --rounds 3 --fields 3": "simulate --compare",
        "simulate --case CASE": "simulate --case",
        "simulate --case NOBODY": "simulate --case",
        "pair TRF --round 5": "pair FILE",
        "pair GROUPS --system mcmahon": "pair FILE",
        "pair TRF --check-all": "pair FILE --check-all",
        "!pair DIFFERING --check-all": "pair FILE --check-all",
        "pair TRF --round 5 --why 1 2": "pair FILE --why A B",
        "pair GROUPS --system mcmahon --why 1 2": "pair FILE --why A B",
        "standings TRF": "standings FILE",
        "standings GOTHA": "standings FILE",
        "status": "status",
        "standings": "standings",
        "standings -t odds": "standings",
        "standings --engines": "standings --engines",
        "crosstable": "crosstable",
        "crosstable --pairs": "crosstable --pairs",
        "games": "games",
        "games --endings": "games --endings",
        "games 1": "games NUMBER",
        "ratings --all": "ratings",
        "ratings blitz": "ratings",
        "ratings --all --matrix los": "ratings",
        "ratings --all --matrix diff": "ratings",
        "ratings --all --matrix score": "ratings",
        "ratings --all --head-to-head all": "ratings",
        "ratings --all --system elo": "ratings --system elo",
        "ratings --all --system elo --by name": "ratings",
        "ratings --all --sprt 'Pebble 0' 'Pebble 1' 0 5": "ratings --sprt A B ELO0 ELO1",
        "rate OLD": "rate FILE",
        "rate OLD --matrix errors": "rate FILE",
        "rate OLD --system elo --start 'Fruit 2.1=1500'": "rate FILE",
        "rate OLD --sprt 'Toga II 3.0' 'Fruit 2.1' 0 5": "rate FILE --sprt A B ELO0 ELO1",
        "sprt --penta 30,440,1100,500,30": "sprt",
        "sprt --wdl 300,400,100": "sprt",
        "next --all": "next",
        "lists": "lists",
        "lists show blitz": "lists show NAME",
        "publish blitz --again": "publish NAME",
        "editions": "editions",
        "editions blitz 1": "editions NAME NUMBER",
        "import --remove More": "import --remove NAME",
        "diff blitz 1": "diff NAME",
        "diff everything 1": "diff NAME",
        "history 'Pebble 0'": "history ENGINE",
        "imports": "imports",
        "import --list": "import --list",
        "import OLD --dry-run --name new": "import FILE",
        "import OLD --dry-run --by-event": "import FILE --by-event",
        "db check": "db check",
        "db repair": "db repair",
        "db backup backup.db": "db backup FILE",
        "db copy results/enginetour.db copy.db": "db copy SOURCE TARGET",
        "db upgrade": "db upgrade",
    },
    "systems": {
        "standings -t swiss": "standings",
        "standings -t swiss --pairing-report": "standings --pairing-report",
        "bubble -t bubble": "bubble",
        "bubble -t bubble --step 1": "bubble --step N",
        "db check": "db check",
    },
    "interrupted": {
        "status -t 'evening swiss'": "status",
        "forecast -t 'evening swiss' --simulations 2": "forecast",
        "bubble -t 'night bubble'": "bubble",
        "bubble -t 'night bubble' --step 1": "bubble --step N",
    },
    "stopped": {
        "withdraw 'Wren 1'": "withdraw ENGINE",
        "!withdraw 'Wren 1'": "withdraw ENGINE",
        "add wren4": "add ENGINE",
        "replace 'Wren 2' wren5": "replace OLD ENGINE",
        "void 1 --why test": "void GAME",
        "crosstable": "crosstable",
    },
    "running": {
        "status": "status",
        "concurrency 1": "concurrency N",
        "pause": "pause",
        "unpause": "unpause",
        "!machines": "machines",
        "finish": "finish",
    },
    "cluster": {"machines -t league": "machines"},
    "crashing": {
        "standings --engines": "standings --engines",
        "games 1": "games NUMBER",
        "games 1 --replay": "games NUMBER --replay",
    },
}


@dataclass(frozen=True)
class Printed:
    """What a command printed, and the document that it should print."""

    words: str
    document: str
    text: str

    @classmethod
    def by(cls, folder: Path, line: str, document: str) -> Printed:
        """Call a command in a directory."""
        words = [str(FILES.get(word, word)) for word in shlex.split(line.removeprefix("!"))]
        done = tour(folder, *words, "--json", expect=None if line.startswith("!") else 0)
        assert bool(done.returncode) == line.startswith("!"), done
        return cls(line, document, done.stdout)


@contextmanager
def world(name: str, folder: Path) -> Iterator[None]:
    """Make a database or workspace, and keep what runs in it until its commands have been called."""
    (folder / "results").mkdir()
    database = folder / "results" / "enginetour.db"
    if name == "stopped":
        tour(folder, "run", str(config(folder, THREE, "roundrobin", "cycles = 2")), "--max-games", "1", expect=8)
    elif name == "crashing":
        tour(folder, "run", str(broken(folder)))
    elif name == "running":
        with running(folder, config(folder, THREE, "roundrobin", "cycles = 500")) as process:
            yield
            assert process.ended()[0] == 8
        return
    else:
        upgrade_database(older(database, name if name in RECORDED else "league"))
    if name == "cluster":
        with ControlServer(socket_path(database, "league"), MachinesOnly()):
            yield
        return
    yield


class MachinesOnly:
    """The inbox of a run on a cluster with two machines, one of them gone, that only lists its machines."""

    def put(self, request: PendingRequest) -> None:
        """Answer a request as a run does."""
        machines = Machines()
        first, second = (f"tcp://10.0.0.{number}:1" for number in (1, 2))
        seen = {first: ListedWorker("io", "10.0.0.1", 2, 2), second: ListedWorker("one", "10.0.0.2", 2, 2)}
        machines.update(seen)
        machines.look(first, WorkerReport("io", processor="Example CPU", speed=1.0, lacks=("tablebases",)))
        machines.update({first: seen[first]})
        scheduler: Any = SimpleNamespace(executor=machines)
        asked = parsed({"do": request.do, **request.arguments})
        found = RunController(scheduler, lambda *_: None, print, print).carry_out(asked)
        assert found is not None
        request.reply(found)


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[Printed]:
    """The documents of all cases."""
    found = []
    for name, cases in CASES.items():
        folder = tmp_path_factory.mktemp(name)
        with world(name, folder):
            found += [Printed.by(folder, words, document) for words, document in cases.items()]
    return found


def commands_with_json(command: click.Command = cli, words: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the commands with --json below a command."""
    context = click.Context(command)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from commands_with_json(found, (*words, name))
    if any("--json" in param.opts for param in command.get_params(context)):
        yield " ".join(words)


def command_of(document: str) -> str:
    """Return the command that prints a document: its longest beginning that is a command."""
    known = [name for name in commands_with_json() if f"{document} ".startswith(f"{name} ")]
    return max(known, key=len)


def test_every_command_with_json_has_a_type() -> None:
    """Each command with --json is in the registry, each document of the registry has a command and a case."""
    assert {command_of(document) for document in DOCUMENTS} == set(commands_with_json())
    assert {document for cases in CASES.values() for document in cases.values()} == set(DOCUMENTS)


def test_every_document_has_its_declared_form(printed: list[Printed]) -> None:
    """Each document has the version of its form, no key that its type lacks, and only values of the declared types."""
    faults = []
    for one in printed:
        assert json.loads(one.text)["schema"] == SCHEMA
        try:
            DOCUMENTS[one.document].model_validate_json(one.text, strict=True)
        except ValueError as error:
            faults.append(f"{one.words}: {error}")
    assert not faults, "\n".join(faults)


def seen(value: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield each type below a value with its keys and their values."""
    if isinstance(value, BaseModel):
        for name in value.model_fields_set:
            yield type(value).__name__, name, getattr(value, name)
            yield from seen(getattr(value, name))
    elif isinstance(value, dict):
        for one in value.values():
            yield from seen(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from seen(one)
