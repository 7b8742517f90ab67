"""Every document of every command with --json has its declared type, and every key of a type occurs."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

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
from enginetour.web import schemas as web_schemas
from tests.cli.test_games import broken
from tests.support.databases import meddled, older
from tests.support.network import Stage, move, start
from tests.support.tournaments import DIVISIONS, FOUR, THREE, Forked, config, league, running, tour, until

TESTS = Path(__file__).parents[1]
BUBBLES = TESTS / "golden" / "bubble"
FILES = {  # words of commands that stand for files
    "TRF": TESTS / "golden" / "trf" / "112_clean_n11_r7.trf",
    "DIFFERING": TESTS / "cases" / "pairing" / "accelerated-absent-in-round-1.trf",
    "GROUPS": TESTS / "cases" / "mcmahon" / "two-groups-of-four.trf",
    "GOTHA": TESTS / "cases" / "opengotha" / "evening.xml",
    "WITHDRAWALS": BUBBLES / "everybody-withdraws.json",
    "MIXED": BUBBLES / "mixed-1.json",
    "QUICK": TESTS.parent / "configs" / "quickstart.toml",
    "MATCH": TESTS.parent / "configs" / "match.toml",
    "OLD": TESTS / "golden" / "older" / "pgn" / "old.pgn",
}
NEW = "".join(
    f'[Event "e"]\n[White "{white}"]\n[Black "{black}"]\n[Result "{result}"]\n\n1. e4 {result}\n\n'
    for white, black, result in (("Pebble slow", "New", "1-0"), ("New", "Pebble slow", "1/2-1/2"), ("?", "New", "0-1"))
)
PLAN = "plan --engine wren1 --engine wren2 --engine wren3 --hours 0.04 --tc 1+0.01 --processes 1 --fields 2"
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
        "check MATCH": "check CONFIG",
        f"{PLAN} --goal los=0.9,level=3": "plan",
        f"{PLAN} --goal top=2,ordered=true": "plan",
        f"{PLAN} --goal 'entrant=Wren 1,error=30'": "plan",
        "simulate QUICK --fields 2": "simulate CONFIG",
        "simulate --compare roundrobin,dutch --entrants 6 --rounds 3 --fields 3": "simulate --compare",
        "simulate --case WITHDRAWALS": "simulate --case",
        "simulate --case MIXED": "simulate --case",
        "pair TRF --round 5": "pair FILE",
        "pair GROUPS --system mcmahon": "pair FILE",
        "pair TRF --round 1 --set 'handicap={ per = 10, correction = 0 }'": "pair FILE",
        "pair TRF --check-all": "pair FILE --check-all",
        "!pair DIFFERING --check-all": "pair FILE --check-all",
        "pair TRF --round 5 --why 1 2": "pair FILE --why A B",
        "pair GROUPS --system mcmahon --why 1 2": "pair FILE --why A B",
        "standings TRF": "standings FILE",
        "standings GOTHA": "standings FILE",
        "status -t 'test of Stone 2'": "status",
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
        "rate OLD new.pgn --head-to-head all": "rate FILE",
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
        "import new.pgn --name new": "import FILE",
        "void 3 -t league": "void GAME",
        "diff blitz 1": "diff NAME",
        "diff everything 2": "diff NAME",
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
    "old": {"db upgrade": "db upgrade"},
    "damaged": {"!db check": "db check", "db repair": "db repair"},
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
    "begun": {"status": "status"},
    "playing": {"status -t autumn": "status"},
    "stopped": {
        "withdraw 'Wren 1'": "withdraw ENGINE",
        "!withdraw 'Wren 1'": "withdraw ENGINE",
        "add wren5": "add ENGINE",
        "replace 'Wren 2' wren6": "replace OLD ENGINE",
        "void 1 --why test": "void GAME",
        "crosstable": "crosstable",
        "standings": "standings",
        "status": "status",
    },
    "running": {
        "status": "status",
        "concurrency 1": "concurrency N",
        "pause": "pause",
        "unpause": "unpause",
        "!machines": "machines",
        "finish": "finish",
    },
    "seasons": {
        "season": "season",
        "season show 1": "season show",
        "check league.toml": "check LEAGUE",
        "plan --league league.toml --seasons 2 --fields 2 --processes 1": "plan --league",
    },
    "divisions": {"status": "status", "finish": "finish"},
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
    with ExitStack() as kept:
        if name == "running":
            path = config(folder, THREE, "roundrobin", "cycles = 500")
            process = kept.enter_context(running(folder, path, "--stop-at", "2999-01-01T00:00"))
            kept.callback(process.ended)
        elif name == "playing":
            stage = Stage(folder)
            kept.callback(stage.store.close)
            stage.playing = [start(round=1, encounter=1, leg=1, handicap=0, **PLAYING) | move(1)]
            kept.enter_context(stage.running())
        elif name == "divisions":
            long = DIVISIONS.replace('"roundrobin"', '"roundrobin", games_per_pairing = 500')
            path = league(folder, "parallel = 2", long)
            process = kept.enter_context(Forked(folder, ["run", path.name], folder / "errors"))
            kept.callback(process.ended)
            until(lambda: len([*(folder / "results").glob("*.sock")]) == 2)
        elif name == "seasons":
            path = league(folder, "playoff = { games = 2 }")
            tour(folder, "run", path.name)
            tour(folder, "season", "next", path.name)
        elif name == "crashing":
            tour(folder, "run", str(broken(folder)))
        elif name in ("stopped", "begun"):
            system, settings = ("roundrobin", "cycles = 2") if name == "stopped" else ("dutch", "rounds = 2")
            tour(folder, "run", str(config(folder, FOUR, system, settings)), "--max-games", "1", expect=8)
        else:
            older(database, name if name in RECORDED else "league")
        if name in (*RECORDED, "cluster", "damaged"):
            upgrade_database(database)
        if name == "damaged":
            meddled(database, "UPDATE entrants SET spec = '{}'")
        elif name == "cluster":
            kept.enter_context(ControlServer(socket_path(database, "league"), MachinesOnly()))
        elif name == "league":
            tour(folder, "lists", "define", "anchored", "--anchor", "Pebble slow=1000")
            (folder / "new.pgn").write_text(NEW, "utf-8")
        yield


PLAYING: dict[str, Any] = {"engines": ["Fruit 2.1", ""], "hardware": "Ryzen 9", "opening_number": 7, "eco": "C20"}


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
        asked = parsed(request.message)
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


def inside(*kinds: Any) -> set[type[BaseModel]]:
    """Return the types of objects that these types contain, with themselves."""
    found: set[type[BaseModel]] = set()
    waiting = [*kinds]
    while waiting:
        kind = waiting.pop()
        waiting += get_args(kind)
        if isinstance(kind, type) and issubclass(kind, BaseModel) and kind not in found:
            found.add(kind)
            waiting += (field.annotation for field in kind.model_fields.values())
    return found


def used(value: object) -> Iterator[tuple[str, str]]:
    """Yield the name of each type inside a document with each key that occurs."""
    if isinstance(value, BaseModel):
        yield from ((type(value).__name__, key) for key in value.model_fields_set)
        value = dict(value)
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    for part in parts:
        yield from used(part)


def test_every_key_of_a_type_occurs(printed: list[Printed]) -> None:
    """Each key has a description, and a document of a case has it."""
    keys = {
        (kind.__name__, key): field for kind in inside(*DOCUMENTS.values()) for key, field in kind.model_fields.items()
    }
    assert [place for place, field in keys.items() if not field.description] == []
    documents = (DOCUMENTS[one.document].model_validate_json(one.text) for one in printed)
    assert sorted(keys.keys() - {place for one in documents for place in used(one)}) == []


def test_names_of_types_are_unique() -> None:
    """A name means one type in all documents of commands and of the HTTP interface."""
    sent = [kind for kind in vars(web_schemas).values() if "schema_version" in getattr(kind, "model_fields", ())]
    names = Counter(kind.__name__ for kind in inside(*DOCUMENTS.values(), *sent))
    assert [name for name, count in names.items() if count > 1] == []
