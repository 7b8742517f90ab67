"""Schema 6: the oldest schema that can be upgraded."""

revision = "6"
down_revision = None


def upgrade() -> None:
    """Do nothing, because the tables exist."""
