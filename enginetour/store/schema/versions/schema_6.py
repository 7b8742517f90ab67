"""Schema 6: the first that is upgraded. Databases that Alembic has not seen yet begin here or at a later revision."""

revision = "6"
down_revision = None


def upgrade() -> None:
    """Do nothing: the tables are there."""
