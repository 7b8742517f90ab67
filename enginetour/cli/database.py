"""Commands import, imports and db: games from PGN files, and checks, repair, backups and copies of the database."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from enginetour.cli.options import (
    PATH,
    Database,
    database_option,
    many_option,
    open_store,
    path_option,
    quote_command,
    without_collecting,
)
from enginetour.cli.printing import (
    echo,
    json_option,
    output_form,
    output_options,
    print_json,
    print_result,
    print_sheet,
    refuse_tables,
)
from enginetour.cli.rate import reading_bar, report_broken_games
from enginetour.model.errors import InputRefused, StoreRefused, UsageRefused, usage_errors
from enginetour.model.variants import variant_named
from enginetour.reports.sheet import Column, Sheet, format_count, iso_timestamp
from enginetour.store.address import Address, database_of, existing_database, rows_of_others
from enginetour.tournament.rating import describe_left_out

if TYPE_CHECKING:
    from enginetour.interop.gamefilter import RatableGames
    from enginetour.interop.gametags import GameColumns
    from enginetour.store.imports import Imported


@click.command()
@database_option
@output_options
def imports(db: Address | None) -> None:
    """List the imports with their time, files and numbers of games.

    Example: enginetour imports --csv
    """
    _print_imports(db)


def _print_imports(db: Address | None) -> None:
    from enginetour.reports import documents

    with open_store(db) as store:
        rows: Sequence[Mapping[str, Any]] = documents.imports(store)
    whole = output_form() == "csv"
    columns = (
        Column("name", "import", left=True, flexible=True),
        Column("edition", "#"),
        Column("made", "made", left=True),
        Column("games", "games"),
        *((Column("odds", "at odds"),) if whole or any(row["odds"] for row in rows) else ()),
        Column("duplicates", "duplicates"),
        Column("engines", "engines"),
        *((Column("removed", "removed", left=True),) if whole or any(row["removed"] for row in rows) else ()),
        Column("files", "files", left=True, flexible=True, form=", ".join),
    )
    notes = ["duplicates: games that were already in the database"] if rows else ["no imports yet"]
    notes += [f"{row['name']} #{row['edition']} was removed: {row['why']}" for row in rows if row["why"]]
    print_sheet(Sheet("imports", columns, tuple(rows), notes=tuple(notes)))


def _remove_imports(db: Address | None, names: tuple[str, ...], why: str, *, dry_run: bool) -> None:
    from enginetour.store.counts import remove_imports

    with open_store(db, change=not dry_run) as store:
        removed = remove_imports(store.database, names, why=why, write=not dry_run)
    rows = [
        {"name": one.name, "edition": one.edition, "games": one.games, "at": iso_timestamp(one.at)} for one in removed
    ]
    done = "would be removed" if dry_run else "removed"
    print_result(
        {"removed": rows, "why": why, "dry_run": dry_run},
        (f"{one.title}: {format_count(one.games, 'game')} {done}; published editions do not change" for one in removed),
    )


_CONFIG = ".json"  # ending of a config.json of fastchess
_ENDINGS = {".gz", ".zst", ".pgn", _CONFIG}  # endings of a file name that are not part of the name of the import


@click.command("import")
@click.argument("files", nargs=-1, metavar="[FILE.pgn...]", type=PATH)
@click.option("--list", "listing", is_flag=True, help="List the imports, as enginetour imports does.")
@many_option("--remove", metavar="NAME", help="Remove an import; 'NAME #2' selects one of several with the same name.")
@click.option("--why", default="", metavar="TEXT", help="Reason for the removal (with --remove).")
@click.option("--name", metavar="EVENT", show_default="name of the first file", help="Name of the import.")
@click.option(
    "--by-event",
    is_flag=True,
    help="Import the games of each Event tag as a separate tournament; rating systems rate each tournament as a whole.",
)
@path_option("--aliases", help='File with aliases of engines, in lines "name","alias","alias".')
@many_option("--include", metavar="GLOB", help="Only games between these engines.")
@many_option("--exclude", metavar="GLOB", help="No games of these engines.")
@click.option(
    "--match-names",
    is_flag=True,
    help="Count games for the existing engine with the same name, if the database has only one.",
)
@click.option(
    "--variant",
    default="standard",
    show_default=True,
    metavar="NAME",
    help="Variant of the games: chess960, crazyhouse, ...",
)
@click.option("--dry-run", is_flag=True, help="Show the result, but write nothing.")
@output_options
@database_option
@without_collecting()
def import_(
    files: tuple[Path, ...],
    listing: bool,
    remove: tuple[str, ...],
    why: str,
    name: str | None,
    by_event: bool,
    aliases: Path | None,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    variant: str,
    match_names: bool,
    dry_run: bool,
    db: Address | None,
) -> None:
    """Import games from PGN files, also .gz and .zst, into the database.

    The games count in every rating list. A game that is in the database
    already, imported or played here, is not counted again. So a file that has
    grown can be imported again. If the last game of a file breaks off before
    its result, it is left out.

    A file that ends in .json is a config.json of fastchess. Its counts of
    results become games with both colors in each game pair. If its PGN file
    still exists, import that file instead.

    An import takes only the games of one variant (--variant), as given by the
    Variant tags. They count in the lists of that variant (ratings --variant).

    A removed import does not count in lists, except in lists of an earlier
    moment (--as-of) and in published editions. To restore it, import its
    files again.

    Example: enginetour import ccrl.pgn.gz --name CCRL --aliases names.csv

    Example: enginetour import --remove CCRL --why "wrong time control"
    """
    _check_mode(files, listing=listing, remove=remove, why=why, others=(name, aliases, *include, *exclude))
    given = {"--by-event": by_event, "--match-names": match_names, "--variant": variant != "standard"}
    if not files and (only := [option for option, there in given.items() if there]):
        raise UsageRefused("needs files to import", place=only[0])
    if listing:
        _print_imports(db)
        return
    refuse_tables("the result of an import")
    if remove:
        _remove_imports(db, remove, why, dry_run=dry_run)
        return
    from enginetour.interop.gamefilter import EngineNames, list_few, ratable_games, read_aliases, spelling_notes
    from enginetour.interop.pgn import read_games
    from enginetour.store.imports import check_event_name

    event = _event(files[0]) if name is None else " ".join(name.split())
    check_event_name(event)
    with usage_errors("--variant"):
        variant_named(variant)
    naming = EngineNames(read_aliases(aliases) if aliases else {}, include, exclude)
    database = database_of(Path.cwd(), db)
    events = _titles(database)
    with _as_pgn(files) as sources, reading_bar(sources) as progress:
        games = read_games(sources, events, progress, by_event=by_event, complete=True)
    report_broken_games(games)
    rated = ratable_games(games, naming, variant)
    left = describe_left_out(rated.left_out)
    if not len(rated.wanted):
        raise InputRefused(f"no game to import; left out: {left}", place=", ".join(map(str, files)))
    options: dict[str, Any] = {"variant": variant, "match_names": match_names, "write": not dry_run}
    made, anchors = _entered(database, event, games, rated, files, **options)
    for line in _warnings(made, anchors, match_names=match_names):
        echo(f"warning: {line}", err=True)
    if output_form() == "json":
        print_json({
            **({"events": list(map(asdict, made))} if by_event else asdict(made[0])),
            "anchors": [{"name": anchor, "list": name} for anchor, name in anchors],
            "dry_run": dry_run,
            "files": list(map(str, files)),
            "left_out": rated.left_out.to_json(),
            "respelled": dict(games.respelled),
            "contradicted": games.contradicted,
            "broken": [{"place": place, "why": why} for place, why in games.broken],
        })  # fmt: skip
        return
    for found in made:
        echo(_describe(found, dry_run=dry_run, alone=not by_event))
    if left:
        echo(f"games left out: {left}")
    if matched := list(dict.fromkeys(name for found in made for name in found.matched)):
        echo(f"counted for existing engines with the same name: {list_few(matched)}")
    for note in spelling_notes(games, rated.names):
        echo(note)


@contextmanager
def _as_pgn(files: tuple[Path, ...]) -> Iterator[tuple[Path, ...]]:
    """Yield the files, with a temporary PGN file instead of each config.json of fastchess."""
    if not any(path.suffix == _CONFIG for path in files):
        yield files
        return
    from enginetour.interop.fastchess import read_fastchess

    with TemporaryDirectory() as folder:
        made = []
        for number, path in enumerate(files):
            made.append(path if path.suffix != _CONFIG else Path(folder) / f"{number}.pgn")
            if path.suffix == _CONFIG:
                read_fastchess(path).write_games(made[-1])
                echo(f"note: {path} has counts only: enginetour chose the colors, and dates are unknown", err=True)
        yield tuple(made)


def _check_mode(
    files: tuple[Path, ...], *, listing: bool, remove: tuple[str, ...], why: str, others: tuple[object, ...]
) -> None:
    """Raise UsageRefused unless exactly one of files, --list and --remove is given, with options that fit."""
    asked = [word for word, given in (("FILE.pgn", files), ("--list", listing), ("--remove", remove)) if given]
    if len(asked) != 1:
        found = " and ".join(asked) or "none"
        raise UsageRefused(f"needs exactly one of FILE.pgn, --list and --remove (found {found})")
    if why and not remove:
        raise UsageRefused("needs --remove", place="--why")
    if not files and any(others):
        raise UsageRefused(f"--name, --aliases, --include and --exclude need files to import (found {asked[0]})")


def _event(path: Path) -> str:
    """Return the file name without its endings, or the whole path if nothing remains of the name."""
    while path.suffix.lower() in _ENDINGS:
        path = path.with_suffix("")
    return " ".join(path.name.split()) or str(path)


def _titles(database: Address) -> frozenset[str]:
    """Return the titles of the tournaments that were played here, because the files may contain their games."""
    from enginetour.store.imports import export_titles
    from enginetour.store.tournaments import existing_store

    with rows_of_others(database), existing_store(database) as store:
        return frozenset() if store is None else export_titles(store.database)


def _entered(
    database: Address,
    event: str,
    games: GameColumns,
    rated: RatableGames,
    files: tuple[Path, ...],
    *,
    write: bool,
    **options: Any,
) -> tuple[list[Imported], list[tuple[str, str]]]:
    """Import the games into the database; create it if it does not exist, or use an empty temporary one in a dry run.

    Return the imports, and pairs (anchor, list) of anchors that became ambiguous through engines with the same name.
    """
    from enginetour.store.database import database_exists
    from enginetour.store.definition import anchored_by
    from enginetour.store.imports import import_games
    from enginetour.store.tournaments import Store

    with ExitStack() as stack:
        if not write and not database_exists(database):
            database = Path(stack.enter_context(TemporaryDirectory())) / "empty.db"
        stack.enter_context(rows_of_others(database))
        store = stack.enter_context(Store.open(database, create=True, readonly=not write and database_exists(database)))
        paths = [str(path) for path in files]
        made = import_games(store.database, event, games, rated, paths, write=write, **options)
        namesakes = {name for found in made for name in found.namesakes}
        return made, anchored_by(store, namesakes) if namesakes else []


def _warnings(made: Sequence[Imported], anchors: Sequence[tuple[str, str]], *, match_names: bool) -> Iterator[str]:
    """Yield warnings of new engines that have the name of another engine, and of anchors that they made ambiguous."""
    from enginetour.interop.gamefilter import list_few

    namesakes = list(dict.fromkeys(name for found in made for name in found.namesakes))
    if namesakes and match_names:
        what = "counted as new engines, because several engines in the database have the same name"
        yield f"{what}: {list_few(namesakes)}"
    elif namesakes:
        what = "new engines have the same name as engines in the database, so lists show two versions"
        yield f"{what}: {list_few(namesakes)}. Hint: use --match-names to count the games for the existing engine."
    for anchor, name in anchors:
        yield (
            f"the anchor {anchor} of the list {name} is now ambiguous. Hint: name one version with "
            f"enginetour lists define {shlex.quote(name)} --anchor {shlex.quote('NAME [mark]=RATING')}, or remove this "
            f"import with enginetour import --remove {shlex.quote(made[0].name)} and repeat it with --match-names."
        )


def _describe(found: Imported, *, dry_run: bool, alone: bool) -> str:
    if not found.games:
        name = "" if alone else f"{found.name}: "
        known = "the game is" if found.duplicates == 1 else f"all {found.duplicates:,} games are"
        return f"{name}nothing new: {known} in the database already"
    title = found.name if found.edition <= 1 else f"{found.name} #{found.edition}"
    done = "would be imported" if dry_run else "imported"
    games = f"{format_count(found.games, 'game')} {done}, {format_count(found.duplicates, 'duplicate')}"
    odds = f"; {found.odds:,} games at time odds, which lists count only with --odds" if found.odds else ""
    return f"{title}: {games}; {found.engines:,} engines, {found.new_engines:,} of them new{odds}"


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
    rows = [{"tournament": one.tournament, "damage": one.what, "repair": one.repair} for one in found]
    before = f"; copy of the database before the repair: {kept}" if kept else ""
    repairs = f"{len(found)} repair{'s' * (len(found) != 1)}{before}" if found else "nothing to repair"
    print_result(
        {"database": str(database), "repairs": rows, "backup": kept and str(kept)},
        [*(f"{one.tournament}: {one.what}; {one.repair}" for one in found), f"{database}: {repairs}"],
    )


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
    content = f"{made.rows:,} rows, {made.bytes:,} bytes, schema {made.database_schema}"
    print_result({**asdict(made), "path": str(made.path)}, [f"{made.path} written and verified: {content}"])


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
    done = f"schema {made.before} upgraded to {made.after}" + (f"; backup: {made.backup}" if made.backup else "")
    if made.before == made.after:
        done = f"schema {made.after}, nothing to upgrade"
    value = {"database": str(database), "from": made.before, "to": made.after, "backup": made.backup}
    print_result(value, [f"{database}: {done}"])


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
    content = f"{format_count(made.tournaments, 'tournament')}, {made.rows:,} rows of {made.tables} tables"
    print_result(
        {"source": str(source), "target": str(target), **asdict(made)},
        [f"{target} written and verified: {content}, digest {made.digest[:16]}"],
    )


def _existing(db: Address | None) -> Address:
    from enginetour.store.database import schema_version

    database = existing_database(Path.cwd(), db)
    schema_version(database)
    return database
