"""The few words that SQLite and PostgreSQL say differently, and the statements that both read alike."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Float, String, Table, TextClause, bindparam, text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement


class larger(FunctionElement[float]):  # noqa: N801 - a function of SQL
    """The larger one of two numbers of a row."""

    type = Float()
    inherit_cache = True
    name = "larger"


class variant_told(FunctionElement[str]):  # noqa: N801 - a function of SQL
    """`play.variant` of a tournament's configuration; null where it does not say."""

    type = String()
    inherit_cache = True
    name = "variant_told"


class scale_told(FunctionElement[str]):  # noqa: N801 - a function of SQL
    """`tournament.rating_scale` of a tournament's configuration; null where it does not state it."""

    type = String()
    inherit_cache = True
    name = "scale_told"


@compiles(larger)
def _larger(element: Any, compiler: Any, **kw: Any) -> str:
    return f"max({compiler.process(element.clauses, **kw)})"


@compiles(larger, "postgresql")
def _greatest(element: Any, compiler: Any, **kw: Any) -> str:
    return f"greatest({compiler.process(element.clauses, **kw)})"


@compiles(variant_told)
def _json_extract(element: Any, compiler: Any, **kw: Any) -> str:
    return f"json_extract({compiler.process(element.clauses, **kw)}, '$.play.variant')"


@compiles(variant_told, "postgresql")
def _json_path(element: Any, compiler: Any, **kw: Any) -> str:
    return f"(CAST({compiler.process(element.clauses, **kw)} AS json) #>> '{{play,variant}}')"


@compiles(scale_told)
def _scale_extract(element: Any, compiler: Any, **kw: Any) -> str:
    return f"json_extract({compiler.process(element.clauses, **kw)}, '$.tournament.rating_scale')"


@compiles(scale_told, "postgresql")
def _scale_path(element: Any, compiler: Any, **kw: Any) -> str:
    return f"(CAST({compiler.process(element.clauses, **kw)} AS json) #>> '{{tournament,rating_scale}}')"


def upsert(table: Table, keys: Sequence[str], changed: Collection[str], *, adds: bool = False) -> TextClause:
    """Insert a row of all columns, or change those named where its key is there: replaced, or with `adds` added up."""
    columns = [column.name for column in table.columns]
    quoted = {name: f'"{name}"' for name in columns}
    old = f'"{table.name}".'
    new = ", ".join(
        f"{quoted[name]} = {f'{old}{quoted[name]} + ' if adds else ''}excluded.{quoted[name]}" for name in changed
    )
    words = (
        f'INSERT INTO "{table.name}" ({", ".join(quoted.values())}) '  # noqa: S608 - names of ours
        f"VALUES ({', '.join(f':{name}' for name in columns)}) "
        f"ON CONFLICT ({', '.join(quoted[name] for name in keys)}) DO UPDATE SET {new}"
    )
    return text(words).bindparams(*(bindparam(column.name, type_=column.type) for column in table.columns))
