"""Files out: export."""

from __future__ import annotations

from pathlib import Path

import click

from enginetour.cli.common import chosen, open_store, tournament_options


@click.command()
@click.argument("kind", type=click.Choice(["pgn", "csv", "json"]))
@tournament_options
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File to replace; default: standard output.")
def export(kind: str, db: Path | None, name: str | None, edition: int | None, output: Path | None) -> None:
    """Games and results of a tournament as PGN, CSV or JSON.

    Example: enginetour export pgn -t autumn-bubble -o games.pgn
    """
    from enginetour.cli.games import game_rows, games_sheet
    from enginetour.errors import UsageRefused
    from enginetour.exports import games_text, replace_file
    from enginetour.reports.sheet import dumps

    with open_store(db) as store:
        log = chosen(store, name, edition)
        if kind == "pgn":
            chunks = games_text(log)
        elif kind == "csv":
            chunks = [games_sheet(log.title, log.games()).csv()]
        else:
            whole = {"tournament": log.title, "system": log.system, "games": game_rows(log.games())}
            whole["decisions"] = [note.text for _, note in log.notes()]
            chunks = [dumps(whole), "\n"]
        if output is not None:
            if output.is_dir() or not output.absolute().parent.is_dir():
                raise UsageRefused("not a file in a folder that is there", place=str(output), step="choose another -o")
            replace_file(output, chunks)
            click.echo(f"{output} written", err=True)
            return
        for chunk in chunks:
            click.echo(chunk, nl=False)
