"""What engine versions are called in lists: by name, with a mark where several versions of a name have games.

A mark never changes. Whether it is shown does, with the games: a list of a moment shows those of that moment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Connection, select, union

from enginetour.model.game import Outcome
from enginetour.store.moments import Moment
from enginetour.store.paircounts import engines_in, kept_counts
from enginetour.store.queries import EVEN, EVEN_READ
from enginetour.store.tables import ENGINES, GAMES, IMPORTED_GAMES

IMPORTED = "imported"  # a version of which a file told the name alone
_COLUMNS = ("id", "name", "fingerprint", "protocol", "family")


def rated_names(connection: Connection) -> dict[int, str]:
    """Engine versions as people read them now: the name, with the mark where several versions have games."""
    rows = version_rows(connection)
    return shown_names(rows, marked_names(rows), played_by(connection))


def version_rows(connection: Connection) -> Sequence[Any]:
    """Every engine version that the store has, oldest first, with what it is named by and its family."""
    return connection.execute(select(*(ENGINES.c[name] for name in _COLUMNS)).order_by(ENGINES.c.id)).fetchall()


def marked_names(rows: Sequence[Any]) -> dict[int, str]:
    """Each version with its mark, shown or not: a version that comes later changes none of them."""
    names: dict[int, str] = {}
    seen: Counter[tuple[str, str]] = Counter()
    for row in rows:
        short = row.fingerprint[:8] or (IMPORTED if not row.protocol else "")
        seen[row.name, short] += 1  # other options of the same binary: numbered as they came
        again = seen[row.name, short]
        mark = f"{short}-{again}".strip("-") if again > 1 or not short else short
        names[row.id] = f"{row.name} [{mark}]"
    return names


def shown_names(rows: Sequence[Any], marked: dict[int, str], played: Collection[int]) -> dict[int, str]:
    """Marks only where several versions of a name are among those that have `played`."""
    several = Counter(row.name for row in rows if row.id in played)
    return {row.id: row.name if several[row.name] < 2 else marked[row.id] for row in rows}


def played_by(connection: Connection, moment: Moment | None = None) -> set[int]:
    """Versions with an even game by a moment, or now for None; one that was struck out counts, but for an import's."""
    if moment is None:
        return set[int]().union(*map(engines_in, kept_counts(connection).values()))
    own = GAMES.c.id <= moment.game, GAMES.c.outcome != Outcome.VOID.value, EVEN
    met = union(
        select(GAMES.c.white_engine).where(*own),
        select(GAMES.c.black_engine).where(*own),
        select(IMPORTED_GAMES.c.white).where(moment.read(), EVEN_READ),
        select(IMPORTED_GAMES.c.black).where(moment.read(), EVEN_READ),
    )
    return {row[0] for row in connection.execute(met)}
