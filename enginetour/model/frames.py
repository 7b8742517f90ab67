"""Data frames of pandas and tables of Arrow from rows. Both packages are optional."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from enginetour.model.errors import UsageRefused

Rows = Sequence[Mapping[str, object]]


def to_frame(rows: Rows) -> Any:
    """Return a `pandas.DataFrame` with a column for each key. Raise UsageRefused if pandas is not installed."""
    return _package("pandas").DataFrame.from_records([dict(row) for row in rows])


def to_arrow(rows: Rows) -> Any:
    """Return a `pyarrow.Table` with a column for each key. Raise UsageRefused if pyarrow is not installed."""
    return _package("pyarrow").Table.from_pylist([dict(row) for row in rows])


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name != name:
            raise
        raise UsageRefused(f"{name} is not installed", step=f"run pip install {name}") from None
