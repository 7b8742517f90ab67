"""The documentation: generated pages equal the code, links lead to files, console blocks and queries run."""

from __future__ import annotations

import json
import os
import re
import shlex
import sqlite3
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import enginetour
from enginetour.cli.main import cli
from enginetour.formats.base import SYSTEMS
from enginetour.store.backup import upgrade_database
from enginetour.store.tables import METADATA
from tests.support.databases import older
from tests.support.engines import loaded
from tests.support.tournaments import stand_in, tour

DOCS = Path(__file__).parents[1] / "docs"
ANSWERS = {  # columns and first row of each query for the recorded league
    "1-openings": (("opening_name", "games", "white_percent"), ("balanced 3", 37, 40.5)),
    "2-faults": (
        ("engine", "termination", "games", "last"),
        ("Pebble illegal", "illegal-move", 12, "2026-11-26 14:37:54"),
    ),
    "3-search": (("engine", "games", "depth", "nps"), ("Pebble 0", 21, 3.0, 11692)),
    "4-head-to-head": (("engine", "opponent", "wins", "draws", "losses"), ("Pebble 0", "Pebble 0 late", 0, 2, 0)),
    "5-editions": (
        ("edition", "published", "rank", "rating", "plus", "minus", "games"),
        (1, "2026-11-26 14:38:18", 6, 1500.0, None, None, 24),
    ),
}


ROOT = DOCS.parent
REFERENCE, SCHEMA = (loaded(name, DOCS / f"{name}.py") for name in ("reference", "schema"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)")


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


GENERATED = sorted(
    page.name for page in (DOCS / "reference").glob("*.md") if REFERENCE._BEGIN in page.read_text("utf-8")
)


@pytest.fixture(scope="module")
def generated() -> dict[str, str]:
    """The output of `python docs/reference.py`; it takes more than a second."""
    made: dict[str, str] = REFERENCE.pages()
    assert sorted(made) == GENERATED
    return made


@pytest.mark.parametrize("name", GENERATED)
def test_a_generated_page_equals_the_code(generated: dict[str, str], name: str) -> None:
    """The page is the output of `python docs/reference.py`."""
    assert (DOCS / "reference" / name).read_text("utf-8") == generated[name]


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_to_files(page: Path) -> None:
    """Every relative link leads to a file of the repository."""
    links = [link for link in LINK.findall(page.read_text("utf-8")) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []


def _failure(command: str, *, shell: bool = True) -> str:
    """Return what a command prints if it fails. Without `shell`, commands that play run in this process, too."""
    words = shlex.split(command)
    if words[0] == "enginetour" and words[1] not in ("run", "match", "check", "--version"):
        done = CliRunner().invoke(cli, words[1:])
        return "" if done.exit_code == 0 else f"{done.exception!r} {done.output}"
    if words[0] == "enginetour" and not shell:
        played = tour(Path.cwd(), *words[1:], expect=None)
        return "" if played.returncode == 0 else played.stdout + played.stderr
    ran = subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return "" if ran.returncode == 0 else ran.stdout + ran.stderr


@pytest.mark.parametrize("page", [page for page in PAGES if "```console" in page.read_text("utf-8")], ids=_name)
def test_console_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the commands of a page in a new directory, with the configurations that the page shows.

    Those of the README run in a shell with the bundled engines. For other pages, the directory has engine files with
    the same ids whose engines play in milliseconds.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    shell = page.name == "README.md"
    for level in () if shell else range(1, 9):
        stand_in(tmp_path, f"wren{level}")
    for language, title, text in BLOCK.findall(page.read_text("utf-8")):
        if language == "toml" and title:
            (tmp_path / title).write_text(text, "utf-8")
        for line in text.splitlines() if language == "console" else ():
            if line.startswith("$ "):
                assert not (failed := _failure(line[2:], shell=shell)), f"{line}\n{failed}"


def test_the_command_that_checks_a_wheel_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The game that cibuildwheel plays with each wheel is played in an empty directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["cibuildwheel"]
    assert not _failure(settings["test-command"].partition(" && ")[0])


def test_the_program_of_the_page_of_documents_prints_a_schema(capsys: pytest.CaptureFixture[str]) -> None:
    """The Python program of the page runs as it is written."""
    page = DOCS / "reference" / "json.md"
    (program,) = [text for language, _, text in BLOCK.findall(page.read_text("utf-8")) if language == "python"]
    exec(compile(program, str(page), "exec"), {})
    assert {"schema", "table", "finished", "withdrawals"} == json.loads(capsys.readouterr().out)["properties"].keys()


def test_the_page_is_that_of_the_tables() -> None:
    """The page is the output of `python docs/schema.py`."""
    assert (DOCS / "schema.md").read_text("utf-8") == SCHEMA.page()


def test_every_table_and_column_is_explained() -> None:
    """Every table and column has a description, or is a reference to another table."""
    page = SCHEMA.page()
    for table in METADATA.sorted_tables:
        assert f"### {table.name}\n" in page
        for column in table.columns:
            lines = [line for line in page.splitlines() if line.startswith(f"| `{column.name}` |")]
            assert lines
            assert not [line for line in lines if line.endswith("|  |")], column


@pytest.mark.parametrize("name", sorted(path.stem for path in (DOCS / "queries").iterdir()))
def test_the_queries_answer(tmp_path: Path, name: str) -> None:
    """On a real database, with the columns that they promise."""
    path = older(tmp_path / "league.db", "league")
    upgrade_database(path)
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as raw:
        found = raw.execute((DOCS / "queries" / f"{name}.sql").read_text("utf-8"))
        columns = tuple(column[0] for column in found.description)
        assert (columns, found.fetchone()) == ANSWERS[name]


def test_python_blocks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks run one after another, as a script in an empty workspace, and draw their charts."""
    (tmp_path / "results").mkdir()
    monkeypatch.chdir(tmp_path)
    page, names = DOCS / "howto" / "python.md", dict[str, Any]()
    for language, _, text in BLOCK.findall(page.read_text("utf-8")):
        if language == "python":
            exec(compile(text, str(page), "exec"), names)
    assert names["run"].state == "finished"
    assert {path.name for path in tmp_path.glob("*.svg")} == {"lengths.svg", "ratings.svg"}


def test_the_python_page_has_every_name_of_the_api() -> None:
    """Each name that stays stable has a section with a text, also those of other packages."""
    page = (DOCS / "reference" / "python.md").read_text("utf-8")
    sections = re.findall(r"^## (\w+)\n\n```text\n.*\n```\n\n(.)", page, re.MULTILINE)
    assert sorted(name for name, _ in sections) == sorted(enginetour.__all__)


# The keys of a configuration.

KEYS = REFERENCE.list_keys()


def test_every_key_has_a_description() -> None:
    """Every key has a description."""
    assert [key.key for key in KEYS if not key.description.strip()] == []


def test_what_a_line_holds() -> None:
    """Type, default and allowed values come from the models; formats that share a key share a line."""
    found = {key.key: key for key in KEYS if not key.systems}
    concurrency, score, order = found["play.concurrency"], found["play.draw.score"], found["play.openings.order"]
    assert (concurrency.type, concurrency.default, concurrency.allowed) == ("integer", "1", "1 to 1024")
    assert (score.type, score.required, score.default) == ("integer", True, "")
    assert (order.type, order.default, order.allowed) == ("string", '"random"', '"random", "sequential"')
    assert found["play.affinity"].type == "boolean or string"
    assert found["entrants.own_book.plies"].default == "40"
    assert found["entrants.rating"].type == "number or string"
    assert '"swiss"' in found["format.system"].allowed
    by_system = [key for key in KEYS if key.key == "format.size"]
    assert [key.systems for key in by_system] == [("bubble",)]
    assert {name for key in KEYS for name in key.systems} == set(SYSTEMS)


def paths(table: dict[str, Any], before: str = "") -> Iterator[str]:
    """Yield the keys of a TOML table with dots, including lists of tables."""
    for key, value in table.items():
        yield before + key
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, dict):
                yield from paths(each, f"{before}{key}.")


FREE = (
    "league.divisions.format",
    "league.divisions.play",
    "entrants.options",
    "entrants.env",
    "ratings.anchor",
    "entrants.quirks",
    "entrants.resources",
)


@pytest.mark.parametrize("path", sorted(ROOT.glob("configs/*.toml")), ids=lambda path: path.stem)
def test_keys_of_bundled_configurations_are_listed(path: Path) -> None:
    """The keys of bundled configurations are in the reference."""
    known = {key.key for key in [*KEYS, *REFERENCE.list_league_keys()]} | {
        "league",
        "tournament",
        "format",
        "play",
        "ratings",
        "entrants",
        "notify",
        "report",
    }
    used = {
        key
        for key in paths(tomllib.loads(path.read_text("utf-8")))
        if not key.startswith(tuple(f"{one}." for one in FREE))
    }
    assert used <= known
