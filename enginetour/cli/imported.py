"""`enginetour imports`, `import --list`, `import --remove`: what came in from files, and out again."""

from __future__ import annotations

from dataclasses import asdict

import click

from enginetour.cli.common import database_option, open_store, output_options, say, say_json, show
from enginetour.store.address import Address


@click.command()
@database_option
@output_options
def imports(db: Address | None, as_json: bool, as_csv: bool) -> None:
    """What was imported: when, from which files, how many games.

    Example: enginetour imports --csv
    """
    tell(db, as_json=as_json, as_csv=as_csv)


def tell(db: Address | None, *, as_json: bool, as_csv: bool) -> None:
    """The imports of a store, also those struck out."""
    from enginetour.reports.sheet import Column, Sheet
    from enginetour.reports.standings import moment
    from enginetour.store.imports import imports_of

    with open_store(db) as store:
        lines = imports_of(store.database)
        rows = tuple(
            {
                **asdict(line),
                "made": moment(line.made),
                "files": list(line.files),
                "removed": None if line.removed is None else moment(line.removed),
            }
            for line in lines
        )
        shown = tuple({"files": ", ".join(line.files)} for line in lines)
        struck, odds = any(line.removed is not None for line in lines), any(line.odds for line in lines)
        columns = (
            Column("name", "import", left=True, flexible=True),
            Column("edition", "#"),
            Column("made", "made", left=True),
            Column("games", "games"),
            *((Column("odds", "at odds"),) if odds or as_csv else ()),
            Column("duplicates", "there"),
            Column("engines", "engines"),
            *((Column("removed", "struck out", left=True),) if struck or as_csv else ()),
            Column("files", "files", left=True, flexible=True),
        )
        notes = ["there: games of the files that the store had already"] if lines else ["nothing was imported yet"]
        notes += [f"{line.name} #{line.edition} was struck out: {line.why}" for line in lines if line.why]
        show(Sheet("imports", columns, rows, shown, tuple(notes)), as_json=as_json, as_csv=as_csv)


def remove(db: Address | None, words: tuple[str, ...], why: str, *, dry_run: bool, as_json: bool) -> None:
    """Strike out imports by their names, or tell what would go."""
    from enginetour.reports.standings import moment
    from enginetour.store.counts import remove_imports

    with open_store(db, change=not dry_run) as store:
        struck = remove_imports(store.database, words, why=why, write=not dry_run)
    if as_json:
        told = [{"name": one.name, "edition": one.edition, "games": one.games, "at": moment(one.at)} for one in struck]
        say_json({"removed": told, "why": why, "dry_run": dry_run})
        return
    done = "would be struck out" if dry_run else "struck out"
    for one in struck:
        say(f"{one.title}: {one.games:,} game{'s' * (one.games != 1)} {done}; editions stay as they were published")
