"""`enginetour report`: the pages of a tournament, or of a list, to look at in a browser."""

from __future__ import annotations

from pathlib import Path

import click

from enginetour.cli.common import chosen, open_store, say, tournament_options


@click.command()
@tournament_options
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder to write; default: beside the database.")
def report(db: Path | None, name: str | None, edition: int | None, output: Path | None) -> None:
    """A report to look at in a browser, from the disk and without network.

    Who is best and how sure that is, what happened, was it fair, what went
    wrong, what next; every game to replay. A report that stands there
    already is replaced, anything else is refused.

    Example: enginetour report -t autumn -o ~/autumn
    """
    from enginetour.tournamentreport import folder_of, write_report

    with open_store(db) as store:
        log = chosen(store, name, edition)
        target = output or folder_of(store.database.path.resolve(), log.slug)
        written = write_report(log, target)
        say(f"report: {written.start}")
