"""A matrix of a list as text, CSV and JSON: rows by number and name, columns by number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from enginetour.ratings.matrices import Matrix
from enginetour.ratings.pairs import Vector
from enginetour.reports.ratings import distance
from enginetour.reports.sheet import Column, Sheet, points

_TOLD = {
    "los": "likelihood in % that the engine of the row is stronger than that of the column",
    "diff": "rating of the row less that of the column, with its error",
    "errors": "error of the difference between row and column",
    "score": "points of the row in its games against the column",
}


def sheet(title: str, matrix: Matrix, *, confidence: float = 95, notes: Sequence[str] = ()) -> Sheet:
    """The matrix as a table; CSV has plain numbers, of a score the share of the points."""
    many = len(set(matrix.pools)) > 1
    numbers = range(1, len(matrix.names) + 1)
    columns = (
        *((Column("pool", "pool"),) if many else ()),
        Column("number", "#"),
        Column("name", "engine", left=True, flexible=True),
        *(Column(f"vs{number}", str(number), continues=True) for number in numbers),
    )
    rows, shown = [], []
    plain = matrix.values if matrix.games is None else matrix.values / np.maximum(matrix.games, 1)
    for place, (name, pool) in enumerate(zip(matrix.names, matrix.pools, strict=True)):
        cells = {f"vs{number}": cell for number, cell in zip(numbers, _plain(plain[place]), strict=True)}
        rows.append({"pool": pool, "number": place + 1, "name": name, **cells})
        shown.append({f"vs{number}": _cell(matrix, place, number - 1) for number in numbers})
    told = [_TOLD[matrix.kind] + (f"; errors are {confidence:g} %" if matrix.kind in ("diff", "errors") else "")]
    if many:
        told.append(f"{len(set(matrix.pools))} pools: nothing is given across them" + _but_scores(matrix))
    return Sheet(title, columns, tuple(rows), tuple(shown), (*told, *notes))


def to_json(matrix: Matrix, *, confidence: float = 95) -> dict[str, object]:
    """Names and rows of numbers in their order; null is blank."""
    value: dict[str, object] = {
        "kind": matrix.kind,
        "names": list(matrix.names),
        "pools": list(matrix.pools),
        "values": [_plain(row) for row in matrix.values],
    }
    if matrix.errors is not None:
        value["errors"] = [_plain(row) for row in matrix.errors]
    if matrix.games is not None:
        value["games"] = [[int(cell) for cell in row] for row in matrix.games.tolist()]
    return value | ({"confidence": confidence} if matrix.kind in ("diff", "errors") else {})


def percent(share: float) -> str:
    """A likelihood in whole %; short of certainty it is never shown as certain."""
    if 0 < share < 0.005:
        return "<1"
    if 0.995 < share < 1:
        return ">99"
    return f"{100 * share:.0f}"


def _but_scores(matrix: Matrix) -> str:
    return " but scores" if matrix.kind == "score" else ""


def _plain(row: Vector) -> list[float | None]:
    return [None if cell != cell else cell for cell in row.tolist()]  # nan is not itself


def _cell(matrix: Matrix, row: int, column: int) -> str:
    value = float(matrix.values[row, column])
    if np.isnan(value):
        return "·" if row == column else ""
    if matrix.kind == "los":
        return percent(value)
    if matrix.kind == "errors":
        return distance(value)
    if matrix.games is not None:
        return f"{points(round(2 * value))}/{matrix.games[row, column]:.0f}"
    number = round(value)
    error = float("nan") if matrix.errors is None else float(matrix.errors[row, column])
    return f"{number:+d}" if np.isnan(error) else f"{number:+d} ±{distance(error)}"
