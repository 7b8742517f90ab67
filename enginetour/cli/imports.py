"""Commands import and imports: PGN files into the database, list and remove imports."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from enginetour.cli.listoptions import without_collecting
from enginetour.cli.options import PATH, database_option, open_store, rows_of_others, usage_errors
from enginetour.cli.printing import echo, output_form, output_options, print_json, print_sheet, refuse_tables
from enginetour.cli.rate import describe_left_out, reading_bar, report_broken_games
from enginetour.model.errors import InputRefused
from enginetour.model.variants import variant_named
from enginetour.reports.sheet import Column, Sheet, format_count, iso_timestamp
from enginetour.store.address import Address, database_of

if TYPE_CHECKING:
    from enginetour.interop.gamefilter import RatableGames
    from enginetour.interop.gametags import GameColumns
    from enginetour.store.imports import Imported


# `enginetour imports`, `import --list`, `import --remove`.


@click.command()
@database_option
@output_options
def imports(db: Address | None) -> None:
    """What was imported: when, from which files, how many games.

    Example: enginetour imports --csv
    """
    _print_imports(db)


def _print_imports(db: Address | None) -> None:
    from enginetour.store.imports import imports_of

    with open_store(db) as store:
        lines = imports_of(store.database)
    rows = tuple(
        {
            "name": line.name,
            "edition": line.edition,
            "made": iso_timestamp(line.created_unix),
            "files": list(line.files),
            "games": line.games,
            "duplicates": line.duplicates,
            "odds": line.odds_games,
            "engines": line.engines,
            "removed": None if line.removed_unix is None else iso_timestamp(line.removed_unix),
            "why": line.why,
        }
        for line in lines
    )
    shown = tuple({"files": ", ".join(line.files)} for line in lines)
    whole = output_form() == "csv"
    columns = (
        Column("name", "import", left=True, flexible=True),
        Column("edition", "#"),
        Column("made", "made", left=True),
        Column("games", "games"),
        *((Column("odds", "at odds"),) if whole or any(line.odds_games for line in lines) else ()),
        Column("duplicates", "there"),
        Column("engines", "engines"),
        *((Column("removed", "struck out", left=True),) if whole or any(row["removed"] for row in rows) else ()),
        Column("files", "files", left=True, flexible=True),
    )
    notes = ["there: games of the files that the store had already"] if lines else ["nothing was imported yet"]
    notes += [f"{line.name} #{line.edition} was struck out: {line.why}" for line in lines if line.why]
    print_sheet(Sheet("imports", columns, rows, shown, tuple(notes)))


def _remove_imports(db: Address | None, names: tuple[str, ...], why: str, *, dry_run: bool) -> None:
    from enginetour.store.counts import remove_imports

    with open_store(db, change=not dry_run) as store:
        removed = remove_imports(store.database, names, why=why, write=not dry_run)
    if output_form() == "json":
        rows = [
            {"name": one.name, "edition": one.edition, "games": one.games, "at": iso_timestamp(one.at)}
            for one in removed
        ]
        print_json({"removed": rows, "why": why, "dry_run": dry_run})
        return
    done = "would be struck out" if dry_run else "struck out"
    for one in removed:
        echo(f"{one.title}: {format_count(one.games, 'game')} {done}; editions stay as they were published")


# `enginetour import`: add games of PGN files to the database.

_ENDINGS = {".gz", ".zst", ".pgn"}  # no part of an event's name


@click.command("import")
@click.argument("files", nargs=-1, metavar="[FILE.pgn...]", type=PATH)
@click.option("--list", "listing", is_flag=True, help="Tell what was imported, as enginetour imports does.")
@click.option("--remove", multiple=True, metavar="NAME", help="Strike out an import, or 'NAME #2' of several; repeat.")
@click.option("--why", default="", metavar="TEXT", help="With --remove: words that stand with it.")
@click.option("--name", metavar="EVENT", help="What the games are an event of; default: the first file's name.")
@click.option("--by-event", is_flag=True, help="Make a tournament of each Event tag; rating systems rate it as one.")
@click.option("--aliases", type=PATH, help='Lines of "name","alias","alias".')
@click.option("--include", multiple=True, metavar="GLOB", help="Only games between such engines; repeat.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="No games of such engines; repeat.")
@click.option(
    "--match-names",
    is_flag=True,
    help="Count the games of a name for the engine of this store that has it, if it is the only one.",
)
@click.option("--variant", default="standard", show_default=True, help="Which games: chess960, crazyhouse, ...")
@click.option("--dry-run", is_flag=True, help="Tell what would come in, or go; write nothing.")
@output_options
@database_option
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
    """Take the games of PGN files (also .gz, .zst) into the store.

    They count in every list. A game that is there already, from an import or
    because it was played here, is not counted again: the same file, or one
    that has grown, brings only what is new.

    An import is of one variant, by the Variant tags, and counts in the lists
    of that variant (ratings --variant).

    An import that is struck out counts in no list any more, but in those of
    before (--as-of) and in the editions that were published with it; its files
    imported once more bring the games back.

    Example: enginetour import ccrl.pgn.gz --name CCRL --aliases names.csv

    Another: enginetour import --remove CCRL --why "wrong time control"
    """
    _refuse_mixture(files, listing=listing, remove=remove, why=why, others=(name, aliases, *include, *exclude))
    given = {"--by-event": by_event, "--match-names": match_names, "--variant": variant != "standard"}
    if not files and (only := [option for option, there in given.items() if there]):
        raise click.UsageError(f"{only[0]} is for files")
    if listing:
        _print_imports(db)
        return
    if output_form() == "csv":
        raise click.UsageError("--csv is for --list")
    refuse_tables("leave it out, or ask for --list")
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
    with reading_bar(files) as progress, without_collecting():
        games = read_games(files, events, progress, by_event=by_event)
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
            "left_out": asdict(rated.left_out),
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
        echo(f"counted for the engine of this store that has the name: {list_few(matched)}")
    for note in spelling_notes(games, rated.names):
        echo(note)


def _refuse_mixture(
    files: tuple[Path, ...], *, listing: bool, remove: tuple[str, ...], why: str, others: tuple[object, ...]
) -> None:
    """One of three: files, --list, --remove."""
    asked = [word for word, given in (("FILE.pgn", files), ("--list", listing), ("--remove", remove)) if given]
    if not asked:
        raise click.UsageError("name the PGN files to import; --list tells what was imported, --remove strikes out")
    if len(asked) > 1:
        raise click.UsageError(f"{asked[0]} and {asked[1]} do not go together")
    if why and not remove:
        raise click.UsageError("--why belongs to --remove")
    if not files and any(others):
        raise click.UsageError(f"--name, --aliases, --include and --exclude are for files, not for {asked[0]}")


def _event(path: Path) -> str:
    """The file's name without what tells its kind; a path like ``.`` has none and is refused when it is read."""
    while path.suffix.lower() in _ENDINGS:
        path = path.with_suffix("")
    return " ".join(path.name.split()) or str(path)


def _titles(database: Address) -> frozenset[str]:
    """Of the tournaments that were played here, whose games may be among those of the files."""
    from enginetour.store.database import database_exists
    from enginetour.store.imports import export_titles
    from enginetour.store.tournaments import Store

    if not database_exists(database):
        return frozenset()
    with rows_of_others(database), Store.open(database, create=False, readonly=True) as store:
        return export_titles(store.database)


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
    """Into the store, which is made if there is none; a dry run asks an empty one then.

    With the anchors of lists that other engines have the name of now, each with its list.
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
    """New engines that have the name of others, and the lists whose anchors are ambiguous by them."""
    from enginetour.interop.gamefilter import list_few

    namesakes = list(dict.fromkeys(name for found in made for name in found.namesakes))
    if namesakes and match_names:
        yield f"several engines of this store have the name, so these are counted apart: {list_few(namesakes)}"
    elif namesakes:
        what = "other engines of this store have the same name, so lists show two versions"
        yield f"{what}: {list_few(namesakes)}. Hint: --match-names counts the games for the engine that is there"
    for anchor, name in anchors:
        yield (
            f"the anchor {anchor} of the list {name} is now ambiguous. Hint: name one version, "
            f"enginetour lists define {shlex.quote(name)} --anchor {shlex.quote('NAME [mark]=RATING')}, or undo this "
            f"import, enginetour import --remove {shlex.quote(made[0].name)}, and repeat it with --match-names"
        )


def _describe(found: Imported, *, dry_run: bool, alone: bool) -> str:
    if not found.games:
        name = "" if alone else f"{found.name}: "
        return f"{name}nothing new: all {found.duplicates:,} games are in the store already"
    title = found.name if found.edition <= 1 else f"{found.name} #{found.edition}"
    done = "would be imported" if dry_run else "imported"
    games = (
        f"{format_count(found.games, 'game')} {done}, {found.duplicates:,} {'are' if dry_run else 'were'} there already"
    )
    odds = f"; {found.odds:,} games at odds, which no list of even games counts" if found.odds else ""
    return f"{title}: {games}; {found.engines:,} engines, {found.new_engines:,} of them new{odds}"
