"""What engine versions are called in lists."""

from __future__ import annotations

from collections import Counter

from sqlalchemy import Connection, select

from enginetour.store.paircounts import engines_in, kept_counts
from enginetour.store.tables import ENGINES

IMPORTED = "imported"  # a version of which a file told the name alone


def rated_names(connection: Connection) -> dict[int, str]:
    """Engine versions as people read them: the name, with the fingerprint where several versions have games."""
    played = set[int]().union(*map(engines_in, kept_counts(connection).values()))
    columns = (ENGINES.c.id, ENGINES.c.name, ENGINES.c.fingerprint, ENGINES.c.protocol)
    rows = connection.execute(select(*columns).order_by(ENGINES.c.id)).fetchall()
    several = Counter(row.name for row in rows if row.id in played)
    names: dict[int, str] = {}
    seen: Counter[tuple[str, str]] = Counter()
    for row in rows:
        short = row.fingerprint[:8] or (IMPORTED if not row.protocol else "")
        if several[row.name] < 2:
            names[row.id] = row.name
            continue
        seen[row.name, short] += 1  # other options of the same binary: numbered as they came
        again = seen[row.name, short]
        mark = f"{short}-{again}".strip("-") if again > 1 or not short else short
        names[row.id] = f"{row.name} [{mark}]"
    return names
