"""`enginetour import` and `enginetour imports`: games of files into the store, and what came in so."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from enginetour.cli.common import database_option, open_store, output_options, say_json, show
from enginetour.cli.gamefiles import left_out_told, reading_bar, tell_broken, without_collecting
from enginetour.errors import InputRefused
from enginetour.reports.sheet import safe

if TYPE_CHECKING:
    from enginetour.interop.gamecolumns import Games
    from enginetour.interop.ratable import Ratable
    from enginetour.store.imports import Imported

_ENDINGS = {".gz", ".zst", ".pgn"}  # no part of an event's name


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE.pgn...", type=click.Path(path_type=Path))
@click.option("--name", metavar="EVENT", help="What the games are an event of; default: the first file's name.")
@click.option("--aliases", type=click.Path(path_type=Path), help='Lines of "name","alias","alias".')
@click.option("--include", multiple=True, metavar="GLOB", help="Only games between such engines; repeat.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="No games of such engines; repeat.")
@click.option("--dry-run", is_flag=True, help="Tell what would come in, write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@database_option
def import_(
    files: tuple[Path, ...],
    name: str | None,
    aliases: Path | None,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    dry_run: bool,
    as_json: bool,
    db: Path | None,
) -> None:
    """Take the games of PGN files (also .gz, .zst) into the store.

    They count in every list. A game that is there already, from an import or
    because it was played here, is not counted again: the same file, or one
    that has grown, brings only what is new.

    Example: enginetour import ccrl.pgn.gz --name CCRL --aliases names.csv
    """
    from enginetour.interop.aliases import read_aliases
    from enginetour.interop.naming import Naming
    from enginetour.interop.pgngames import read_games
    from enginetour.store.imports import refuse_name
    from enginetour.workspace import database_of

    event = _event(files[0]) if name is None else " ".join(name.split())
    refuse_name(event)
    naming = Naming(read_aliases(aliases) if aliases else {}, include, exclude)
    database = database_of(Path.cwd(), db)
    events = _titles(database)
    with reading_bar(files) as progress, without_collecting():
        games = read_games(files, events, progress)
    tell_broken(games)
    from enginetour.interop.ratable import ratable

    rated = ratable(games, naming)
    left = left_out_told(rated.left_out)
    if not len(rated.wanted):
        raise InputRefused(f"no game to import; left out: {left}", place=", ".join(map(str, files)))
    found = _entered(database, event, games, rated, files, write=not dry_run)
    if as_json:
        broken = [{"place": place, "why": why} for place, why in games.broken]
        value = {
            **asdict(found),
            "dry_run": dry_run,
            "files": list(map(str, files)),
            "left_out": asdict(rated.left_out),
        }
        say_json({**value, "broken": broken})
        return
    click.echo(safe(_told(found, dry_run=dry_run)))
    if left:
        click.echo(safe(f"games left out: {left}"))


@click.command()
@database_option
@output_options
def imports(db: Path | None, as_json: bool, as_csv: bool) -> None:
    """What was imported: when, from which files, how many games.

    Example: enginetour imports --csv
    """
    from enginetour.reports.sheet import Column, Sheet
    from enginetour.reports.text import moment
    from enginetour.store.imports import imports_of

    with open_store(db) as store:
        lines = imports_of(store.database)
    rows = tuple({**asdict(line), "made": moment(line.made), "files": list(line.files)} for line in lines)
    shown = tuple({"files": ", ".join(line.files)} for line in lines)
    columns = (
        Column("name", "import", left=True, flexible=True),
        Column("edition", "#"),
        Column("made", "made", left=True),
        Column("games", "games"),
        Column("duplicates", "there"),
        Column("engines", "engines"),
        Column("files", "files", left=True, flexible=True),
    )
    notes = ("there: games of the files that the store had already",) if lines else ("nothing was imported yet",)
    show(Sheet("imports", columns, rows, shown, notes), as_json=as_json, as_csv=as_csv)


def _event(path: Path) -> str:
    """The file's name without what tells its kind; a path like ``.`` has none and is refused when it is read."""
    while path.suffix.lower() in _ENDINGS:
        path = path.with_suffix("")
    return " ".join(path.name.split()) or str(path)


def _titles(database: Path) -> frozenset[str]:
    """Of the tournaments that were played here, whose games may be among those of the files."""
    from enginetour.store.database import is_made
    from enginetour.store.known import titles
    from enginetour.store.tournaments import Store

    if not is_made(database):
        return frozenset()
    with Store.open(database, create=False, readonly=True) as store:
        return titles(store.database)


def _entered(
    database: Path, event: str, games: Games, rated: Ratable, files: tuple[Path, ...], *, write: bool
) -> Imported:
    """Into the store, which is made if there is none; a dry run asks an empty one then."""
    from enginetour.store.database import is_made
    from enginetour.store.imports import import_games
    from enginetour.store.tournaments import Store

    with ExitStack() as stack:
        if not write and not is_made(database):
            database = Path(stack.enter_context(TemporaryDirectory())) / "empty.db"
        store = stack.enter_context(Store.open(database, create=True, readonly=not write and is_made(database)))
        return import_games(store.database, event, games, rated, [str(path) for path in files], write=write)


def _told(found: Imported, *, dry_run: bool) -> str:
    if not found.games:
        return f"nothing new: all {found.duplicates:,} games are in the store already"
    title = found.name if found.edition <= 1 else f"{found.name} #{found.edition}"
    done = "would be imported" if dry_run else "imported"
    there = f"{found.duplicates:,} are there already" if dry_run else f"{found.duplicates:,} were there already"
    return (
        f"{title}: {found.games:,} games {done}, {there}; {found.engines:,} engines, {found.new_engines:,} of them new"
    )
