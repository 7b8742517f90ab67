"""Write schema.md, the reference of the database, from the classes of the tables: ``python docs/schema.py``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlmodel import SQLModel

from enginetour.store import tables
from enginetour.store.codecs import JsonText, stored_type
from enginetour.store.tables import METADATA, SCHEMA_VERSION

PAGE = Path(__file__).with_suffix(".md")
QUERIES = Path(__file__).with_name("queries")

_HEAD = f"""# The database

enginetour stores all data in one SQLite file, `results/enginetour.db`, or in one schema of a PostgreSQL server. This
page describes the tables of schema {SCHEMA_VERSION}. `python docs/schema.py` generates it from the classes in
`enginetour/store/tables.py`.

You can read the database with any program, even while a tournament is running. Do not write to it. Use the commands of
enginetour instead, which check every change.

* A column whose name ends in `_unix` is a time in seconds since 1970 UTC. In SQLite,
  `datetime(started_unix, 'unixepoch')` shows it as text.
* Other names end in their unit: `_us` microseconds, `_ms` milliseconds, `_kb` KiB, `_percent`, `_bytes`.
* The values in JSON columns have names. Default values are omitted.
* A game counts if its outcome is not `*` and no event of the kind `voided` refers to it.
"""


def page() -> str:
    """Return the whole page as Markdown."""
    parts = [_HEAD, "## Queries\n", *map(_query, sorted(QUERIES.glob("*.sql"))), "## Tables\n", _diagram()]
    parts += [_table(row) for row in _rows()]
    return "\n".join(parts)


def _rows() -> list[Any]:
    return [row for row in vars(tables).values() if isinstance(row, type) and hasattr(row, "__tablename__")
            and issubclass(row, SQLModel) and row.__tablename__ in METADATA.tables]  # fmt: skip


def _query(path: Path) -> str:
    title, _, statement = path.read_text("utf-8").partition("\n")
    return f"{title.removeprefix('-- ')}\n\n```sql\n{statement.strip()}\n```\n"


def _diagram() -> str:
    """Return the references between the tables as a diagram that GitHub draws."""
    lines = [
        f"    {key.column.table.name} ||--o{{ {table.name} : {key.parent.name}"
        for table in METADATA.sorted_tables
        for key in sorted(table.foreign_keys, key=lambda key: key.parent.name)
    ]
    return "\n".join(["```mermaid", "erDiagram", *lines, "```", ""])


def _table(row: Any) -> str:
    lines = [f"### {row.__tablename__}\n", f"{row.__doc__.strip().splitlines()[0]}\n"]
    lines += ["| column | type | meaning |", "|---|---|---|"]
    lines += [f"| `{column.name}` | {_type(column)} | {_meaning(row, column)} |" for column in row.__table__.columns]
    return "\n".join(lines) + "\n"


def _type(column: Any) -> str:
    kind = "JSON" if isinstance(column.type, JsonText) else type(stored_type(column.type)).__name__.lower()
    known = {"integer": "whole number", "string": "text", "autostring": "text", "float": "number", "boolean": "boolean"}
    word = {**known, "largebinary": "bytes", "json": "JSON"}.get(kind.lower(), kind)
    key = ", key" if column.primary_key else ""
    return f"{word}{key}{', may be null' if column.nullable else ''}"


def _meaning(row: Any, column: Any) -> str:
    about = row.model_fields[column.name].description or ""
    target = "".join(f"`{key.column.table.name}.{key.column.name}`" for key in column.foreign_keys)
    return "; ".join(filter(None, (about, target)))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
