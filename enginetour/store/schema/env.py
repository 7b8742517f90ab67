"""Alembic's environment: run the revisions inside the transaction of the connection that `migrations.upgrade` gives."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
with context.begin_transaction():
    context.run_migrations()
