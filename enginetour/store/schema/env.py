"""Environment of Alembic: run the upgrade scripts in the transaction of the connection from `migrations.upgrade`."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
with context.begin_transaction():
    context.run_migrations()
