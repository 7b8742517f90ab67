"""`enginetour db`: check, repair, back up, copy or upgrade the database."""

from __future__ import annotations

from dataclasses import asdict
from itertools import count
from pathlib import Path

import click

from enginetour.cli.options import PATH, Database, database_option, quote_command
from enginetour.cli.printing import echo, json_option, output_form, print_json
from enginetour.model.errors import StoreRefused
from enginetour.store.address import Address, existing_database


@click.group()
def db() -> None:
    """Check, repair, back up, copy or upgrade the database.

    Example: enginetour db check
    """


@db.command()
@database_option
@json_option
def check(db: Address | None) -> int:
    """Check the whole database without changing it.

    Checks pages, references, logs, games, pair counts, imports and published
    editions. Replays every log and compares its decisions. Prints one line
    per finding and exits with code 5 if there are findings. A tournament may
    run at the same time.

    Example: enginetour db check --json
    """
    from enginetour.store.check import inspect
    from enginetour.store.tournaments import Store

    database = _existing(db)
    with Store.open(database, create=False, readonly=True) as store:
        found = inspect(store)
    if output_form() == "json":
        print_json({"database": str(database), **found.to_json()})
        return StoreRefused.exit_code if found.findings else 0
    for finding in found.findings:
        echo(f"{finding.place}: {finding.what}")
    for finding in found.unreplayed:
        echo(f"{finding.place}: not replayed, {finding.what}", err=True)
    counts = (
        (found.tournaments, "tournament"),
        (found.games, "game"),
        (found.imports, "import"),
        (found.editions, "edition"),
    )
    content = ", ".join(f"{number} {noun}{'s' * (number != 1)}" for number, noun in counts)
    if not found.findings:
        echo(f"sound: {database}; {content}")
        return 0
    step = "use a backup with --db, or continue with this database"
    if found.repairable:
        step = f"run {quote_command('db', 'repair', db=db)}"
    findings = len(found.findings)
    raise StoreRefused(f"{findings} finding{'s' * (findings != 1)} in {content}", place=str(database), step=step)


@db.command()
@database_option
@json_option
def repair(db: Address | None) -> None:
    """Repair entrants that `db check` finds damaged.

    A damaged specification (how an engine is started) is written again from
    its valid parts and from the engine version. If no command remains, the
    output shows how to replace or withdraw the engine. Games and results do
    not change. A database file is copied to NAME.before-repair-N first. On a
    PostgreSQL server, no copy is made; the repair is one transaction.

    Example: enginetour db repair
    """
    from enginetour.store import check
    from enginetour.store.backup import back_up
    from enginetour.store.tournaments import Store

    database = _existing(db)
    kept: Path | None = None
    with Store.open(database, create=False) as store:
        found = check.damages(store.database)
        if found and isinstance(database, Path):
            database = database.resolve()
            names = (database.with_name(f"{database.name}.before-repair-{number}") for number in count(1))
            kept = back_up(database, next(name for name in names if not name.exists())).path
        found = check.repair(store.database)
    if output_form() == "json":
        rows = [{"tournament": one.tournament, "damage": one.what, "repair": one.repair} for one in found]
        print_json({"database": str(database), "repairs": rows, "backup": kept and str(kept)})
        return
    for one in found:
        echo(f"{one.tournament}: {one.what}; {one.repair}")
    before = f"; copy of the database before the repair: {kept}" if kept else ""
    repairs = f"{len(found)} repair{'s' * (len(found) != 1)}{before}" if found else "nothing to repair"
    echo(f"{database}: {repairs}")


@db.command()
@click.argument("file", type=PATH)
@database_option
@click.option("--replace", is_flag=True, help="Replace an existing backup.")
@json_option
def backup(file: Path, db: Address | None, replace: bool) -> None:
    """Back up the database to FILE, also while a tournament runs.

    The copy is a consistent state of the database. It is verified page by
    page and row by row before it is renamed to FILE. The backup of a
    database on a PostgreSQL server is a file, too. Every command can open it.

    Example: enginetour db backup /mnt/disk/enginetour.db --replace
    """
    from enginetour.store.backup import back_up

    made = back_up(_existing(db), file, replace=replace)
    if output_form() == "json":
        print_json({**asdict(made), "path": str(made.path)})
    else:
        echo(
            f"{made.path} written and verified: {made.rows:,} rows, {made.bytes:,} bytes, schema {made.database_schema}"
        )


@db.command()
@database_option
@click.option("--no-backup", is_flag=True, help="Do not make a backup before the upgrade.")
@json_option
def upgrade(db: Address | None, no_backup: bool) -> None:
    """Upgrade the database of an older enginetour.

    A backup is made first: the file NAME.schema-N next to the database, or
    the schema NAME_schema_N on a PostgreSQL server. The upgrade is one
    transaction: if it is interrupted, the database does not change. No
    tournament may be running.

    Example: enginetour db upgrade
    """
    from enginetour.store.backup import upgrade_database

    database = existing_database(Path.cwd(), db)
    made = upgrade_database(database, backup=not no_backup)
    if output_form() == "json":
        value = {"database": str(database), "from": made.before, "to": made.after, "backup": made.backup}
        print_json(value)
    elif made.before == made.after:
        echo(f"{database}: schema {made.after}, nothing to upgrade")
    else:
        backup = f"; backup: {made.backup}" if made.backup else ""
        echo(f"{database}: schema {made.before} upgraded to {made.after}{backup}")


@db.command()
@click.argument("source", type=Database())
@click.argument("target", type=Database())
@json_option
def copy(source: Address, target: Address) -> None:
    """Copy the database SOURCE to TARGET, which must be empty.

    SOURCE and TARGET are files or postgresql://USER@HOST:PORT/NAME. A
    tournament may run at the same time. The row counts and digests of all
    tables are compared before the copy is committed.

    Example: enginetour db copy results/enginetour.db postgresql://me@host/chess
    """
    from enginetour.store.backup import copy_store

    made = copy_store(source, target)
    if output_form() == "json":
        print_json({"source": str(source), "target": str(target), **asdict(made)})
        return
    content = f"{made.tournaments:,} tournament{'s' * (made.tournaments != 1)}, {made.rows:,} rows"
    echo(f"{target} written and verified: {content} of {made.tables} tables, digest {made.digest[:16]}")


def _existing(db: Address | None) -> Address:
    from enginetour.store.database import schema_version

    database = existing_database(Path.cwd(), db)
    schema_version(database)
    return database
