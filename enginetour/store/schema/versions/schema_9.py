"""Schema 9: a table for the seasons of leagues."""

from __future__ import annotations

from alembic import op

revision = "9"
down_revision = "8"

ADDED = frozenset({"seasons"})


def upgrade() -> None:
    """Create the table."""
    from enginetour.store.tables import SEASONS

    SEASONS.create(op.get_bind(), checkfirst=False)
