"""Thousands of damaged files, unusual arguments of every command, and engines that print random text."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from enginetour.cli.main import cli
from enginetour.web import server
from tests.support.engines import Protocol, babbled
from tests.support.faults import DOORS, REFUSALS, opened, spoilt
from tests.support.tournaments import BUBBLE, config, tour

pytestmark = pytest.mark.night

FILES = 3000  # of each kind
GAMES = 300  # of each protocol
ODD = (
    *("", "x", "-1", "0", "1", "-0.0", "nan", "inf", "-inf", "1e999", "1e-999", "1_0", "０", "٣", "9" * 20, "9" * 5000),
    *("=", "a=b", "=1", "a=", "a=nan", "a=1e400", "*", "[", "**", "[!", "\n", "\udcff", "😀" * 200, "a" * 5000),
    *("/", "..", ".", "/dev/null", "/none/x", "--", "-h", "{0}", "%s", "'", '"', "'; DROP TABLE games; --"),
    *("2026-02-30", "0001-01-01", "9999-12-31", "25:00", "game 0", f"game {2**64}", "gaussian=nan", "draws=0"),
    *("list:x#0", "fit", "true", "null", "[1", "{", "nodes=0", "depth=0", "movetime=nan", "40/0", "1e9+1e9", "1+-1"),
)
# Usual values of arguments.
USUAL = {
    "files": "games.pgn", "file": "club.trf", "config": "trial.toml", "name": "l", "kind": "pgn", "game": "1",
    "number": "1", "list_name": "l", "one": "1", "other": "2", "command": "/bin/true", "target": "copy.db",
}  # fmt: skip
RESULTS = {0, 8, 9, 10}  # exit codes of commands that end without an error
STARTS_ENGINES = {
    ("run",),
    ("demo",),
    ("match",),
    ("engines", "add"),
    ("engines", "check"),
    ("check",),
    ("add",),
    ("replace",),
}


@pytest.mark.parametrize("name", DOORS)
def test_spoilt_files(name: str, tmp_path: Path) -> None:
    """Thousands of mutated files of each kind give a clear error or are accepted."""
    for number in range(FILES):
        opened(DOORS[name], spoilt(DOORS[name].content, random.Random(f"{name} {number}")), tmp_path)


@pytest.mark.parametrize("protocol", ["uci", "cecp"])
def test_babbling_engines(protocol: Protocol) -> None:
    """Every game ends with a verdict that blames no other engine."""
    for seed in range(GAMES):
        babbled(protocol, seed)


def _commands(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _commands(inner, (*path, name))
    else:
        yield path, command


def _typed(command: click.Command) -> Iterator[list[str]]:
    """Yield the arguments of each command, each with every unusual value."""
    arguments = [one for one in command.params if isinstance(one, click.Argument)]
    needed = [USUAL.get(one.name or "", "x") for one in arguments if one.required]
    for one in command.params:
        if isinstance(one, click.Argument):
            before = [USUAL.get(other.name or "", "x") for other in arguments[: arguments.index(one)]]
            yield from (["--", *before, value] for value in ODD)
        elif isinstance(one, click.Option) and one.is_flag:
            yield [*needed, one.opts[0]]
        else:
            yield from ([*needed, one.opts[-1], *[value] * max(1, one.nargs)] for value in ODD)


COMMANDS = {path: command for path, command in _commands(cli) if path not in STARTS_ENGINES}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with two tournaments, a list and two editions."""
    folder = tmp_path_factory.mktemp("played")
    (folder / "results").mkdir()
    config(folder, ("wren1", "wren2", "wren3"), settings=BUBBLE, strong=True)
    tour(folder, "run", "trial.toml", "--plain")
    config(folder, ("wren1", "wren2", "wren3"), "dutch", "rounds = 2", name="swiss", strong=True)
    tour(folder, "run", "swiss.toml", "--plain")
    for words in (("lists", "define", "l"), ("publish", "l"), ("publish", "l", "--again")):
        tour(folder, *words)
    for name in ("rate", "pair-trf", "case"):
        (folder / DOORS[name].name).write_bytes(DOORS[name].content)
    return folder


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_odd_words(path: tuple[str, ...], played: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unusual argument is accepted or gives exactly one message, without an internal failure or partial files.

    `serve` ends before it answers requests.
    """
    monkeypatch.setattr(server, "serve", lambda _guard, _hub, listener: listener.close())
    monkeypatch.setattr("os.nice", lambda _more: 0)
    with tempfile.TemporaryDirectory() as folder:
        here = Path(shutil.copytree(played, Path(folder) / "w"))
        for words in _typed(COMMANDS[path]):
            done = tour(here, *path, *words, expect=None)
            assert done.returncode in RESULTS | REFUSALS, (path, words, done.stderr)
            said = [line for line in done.stderr.splitlines() if line.startswith(("enginetour: ", "Error: "))]
            assert len(said) == (done.returncode not in RESULTS) or "--json" in words, (path, words, done.stderr)
            assert not [file.name for file in here.rglob(".*") if file.suffix in (".new", ".draft")]
