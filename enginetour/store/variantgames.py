"""Which variant each tournament and import is of, as its configuration says; lists never mix them."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from enginetour.model.variants import STANDARD
from enginetour.store.sqlwords import variant_told
from enginetour.store.tables import TOURNAMENTS

_VARIANT = func.coalesce(variant_told(TOURNAMENTS.c.config), STANDARD)


def odd_ones(connection: Connection) -> dict[int, str]:
    """The tournaments that were not of standard chess, with their variants; imports too."""
    rows = select(TOURNAMENTS.c.id, _VARIANT).where(_VARIANT != STANDARD)
    return {event: str(variant) for event, variant in connection.execute(rows)}
