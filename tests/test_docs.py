"""The reference of the database matches the tables, and its queries work."""

from __future__ import annotations

import importlib.util
import sqlite3
from contextlib import closing
from pathlib import Path
from types import ModuleType

import pytest

from enginetour.store.backup import upgrade_database
from enginetour.store.tables import METADATA
from tests.support.databases import older

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


@pytest.fixture(scope="module")
def schema() -> ModuleType:
    """The script that writes the page."""
    found = importlib.util.spec_from_file_location("schema", DOCS / "schema.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_the_page_is_that_of_the_tables(schema: ModuleType) -> None:
    """The page is the output of `python docs/schema.py`."""
    assert (DOCS / "schema.md").read_text("utf-8") == schema.page()


def test_every_table_and_column_is_explained(schema: ModuleType) -> None:
    """Every table and column has a description, or is a reference to another table."""
    page = schema.page()
    for table in METADATA.sorted_tables:
        assert f"### {table.name}\n" in page
        for column in table.columns:
            lines = [line for line in page.splitlines() if line.startswith(f"| `{column.name}` |")]
            assert lines
            assert not [line for line in lines if line.endswith("|  |")], column


@pytest.mark.parametrize("name", sorted(path.stem for path in (DOCS / "queries").iterdir()))
def test_the_queries_answer(tmp_path: Path, name: str) -> None:
    """Every query gives the expected columns and first row for a recorded database."""
    path = older(tmp_path / "league.db", "league")
    upgrade_database(path)
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as raw:
        found = raw.execute((DOCS / "queries" / f"{name}.sql").read_text("utf-8"))
        columns = tuple(column[0] for column in found.description)
        assert (columns, found.fetchone()) == ANSWERS[name]
