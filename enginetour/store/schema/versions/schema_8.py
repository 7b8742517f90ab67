"""Schema 8: columns have descriptive names with units, and values in JSON have names instead of positions."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from alembic import op
from sqlalchemy import Connection, column, select, table, tuple_, update
from sqlalchemy.sql.expression import bindparam

revision = "8"
down_revision = "7"

RENAMED = {
    "tournaments": {"created": "created_unix"},
    "entrants": {"since": "since_event", "place": "starting_rank"},
    "events": {"at": "at_unix"},
    "games": {
        "a": "pair_low",
        "b": "pair_high",
        "started": "started_unix",
        "ended": "ended_unix",
        "relay": "relay_gap_us",
        "load": "load_average",
        "steal": "steal_percent",
        "own_us": "referee_us",
    },
    "incidents": {"load": "load_average", "asked_us": "last_go_us", "own_us": "referee_us"},
    "pair_counts": {"white": "white_engine", "black": "black_engine"},
    "rating_revisions": {"start": "first_position", "made": "made_unix"},
    "rating_events": {"place": "position", "imported": "imported_game"},
    "imports": {"odds": "odds_games"},
    "imported_games": {
        "white": "white_engine",
        "black": "black_engine",
        "half_points": "white_half_points",
        "day": "played_yyyymmdd",
        "file": "file_index",
        "offset": "offset_bytes",
        "opening": "opening_key",
    },
    "lists": {"made": "made_unix"},
    "editions": {"made": "made_unix", "story": "details"},
}
_ROWS_A_BLOCK = 2000
_Names = tuple[tuple[str, Any], ...]

# Names of the values that schema 7 stored as lists, in order, with the default values, which are left out.
_OPENING: _Names = (("name", ""), ("index", 0), ("fen", None), ("moves", []), ("eco", ""), ("variant", "standard"))
_SIDE: _Names = (
    *(("own_name", ""), ("moves", 0), ("think_ms", 0), ("longest_ms", 0), ("least_clock_ms", None), ("margin_uses", 0)),
    *(("warnings", []), ("cpu_ms", None), ("ponders", None), ("ponder_hits", None), ("speed", None), ("effort", [])),
    *(("claims", []), ("waited_ms", None)),
)


def upgrade() -> None:
    """Rename the columns, then rewrite the cells; cells that schema 7 did not write are not changed."""
    for name, columns in RENAMED.items():
        for old, new in columns.items():
            op.alter_column(name, old, new_column_name=new)
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":  # PostgreSQL names an index after its columns
        keys = "meeting_leg_replay_key"
        op.execute(f"ALTER INDEX games_tournament_a_b_{keys} RENAME TO games_tournament_pair_low_pair_high_{keys}")
    cells = {"opening": _opening, "white_side": _side, "black_side": _side, "relay_gap_us": _relay_gap}
    _rewrite(connection, "games", ("id",), {**cells, "steal_percent": _percent})
    _rewrite(connection, "notes", ("tournament", "position", "ordinal"), {"fields": _fields})


def _rewrite(connection: Connection, name: str, keys: Sequence[str], cells: dict[str, Callable[[Any], Any]]) -> None:
    """Rewrite the cells of a table in blocks of rows, in the order of its key."""
    rows = table(name, *map(column, (*keys, *cells)))
    key = tuple_(*(rows.c[one] for one in keys))
    changed = update(rows).where(*(rows.c[one] == bindparam(f"key_{one}") for one in keys))
    changed = changed.values({one: bindparam(f"new_{one}") for one in cells})
    block = select(rows).order_by(*(rows.c[one] for one in keys)).limit(_ROWS_A_BLOCK)
    following = block
    while found := connection.execute(following).fetchall():
        connection.execute(changed, [
            {f"key_{one}": getattr(row, one) for one in keys}
            | {f"new_{one}": _rewritten(getattr(row, one), write) for one, write in cells.items()}
            for row in found
        ])  # fmt: skip
        following = block.where(key > tuple_(*(getattr(found[-1], one) for one in keys)))


def _rewritten(cell: Any, write: Callable[[Any], Any]) -> Any:
    if isinstance(cell, float):
        return write(cell)
    try:
        found = json.loads(cell)
        return json.dumps(write(found), separators=(",", ":")) if isinstance(found, list) else cell
    except (ValueError, TypeError, KeyError, RecursionError):
        return cell


def _named(names: _Names, values: list[Any]) -> dict[str, Any]:
    found = zip(names, values, strict=False)
    return {name: value for (name, usual), value in found if value != usual}


def _opening(values: list[Any]) -> dict[str, Any]:
    return _named(_OPENING, values)


def _side(values: list[Any]) -> dict[str, Any]:
    found = _named(_SIDE, values)
    if "effort" in found:
        found["effort"] = {figure: {"moves": moves, "sum": total} for figure, moves, total in found["effort"]}
    if "claims" in found:
        found["claims"] = [{"kind": kind, "count": count, "first": first} for kind, count, first in found["claims"]]
    return found


def _relay_gap(values: list[Any]) -> dict[str, Any]:
    return dict(zip(("median", "p99", "max"), values, strict=True))


def _fields(pairs: list[Any]) -> dict[str, Any]:
    return {str(name): value for name, value in pairs}


def _percent(share: Any) -> Any:
    return 100 * share
