"""Schema 7: the Termination tag of imported games."""

from alembic import op
from sqlalchemy import Column

from enginetour.store.codecs import WORDS

revision = "7"
down_revision = "6"

ADDED = {"imported_games": ("termination",)}


def upgrade() -> None:
    """Append the column; older rows get an empty tag."""
    op.add_column("imported_games", Column("termination", WORDS, nullable=False, server_default=""))
