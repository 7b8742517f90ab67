"""`enginetour history`: one engine over editions, rating events and opponents."""

from __future__ import annotations

from dataclasses import asdict

import click

from enginetour.cli.common import ask_for, database_option, format_option, open_store, say_json, show
from enginetour.store.address import Address

EVENTS_SHOWN = 10  # of each system: half a screen


@click.command()
@click.argument("engine")
@database_option
@click.option("--list", "list_name", metavar="NAME", help="Opponents and gaps by this list; default: the whole store.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--csv",
    "table",
    type=click.Choice(["opponents", "editions", "events"]),
    is_flag=False,
    flag_value="opponents",
    help="Print CSV of one table; default: opponents.",
)
@format_option
def history(
    engine: str, db: Address | None, list_name: str | None, as_json: bool, table: str | None, form: str | None
) -> None:
    """An engine's ratings over editions and events, opponents, and days.

    Example: enginetour history "Toga II" --list blitz
    """
    from enginetour.reports import editions as sheets
    from enginetour.reports.standings import moment
    from enginetour.store.careers import career

    if form is not None and (as_json, bool(table)) not in ((False, False), (form == "json", form == "csv")):
        raise click.UsageError(f"--{'json' if as_json else 'csv'} and --format {form} do not go together")
    as_json, table = as_json or form == "json", "opponents" if form == "csv" and not table else table
    ask_for(form)
    with open_store(db) as store:
        found = career(store, engine, list_name=list_name)
        value = {
            "name": found.name,
            "rating": found.rating,
            "games": found.games,
            "first": None if found.first is None else found.first.isoformat(),
            "last": None if found.last is None else found.last.isoformat(),
            "published": [{**asdict(line), "made": moment(line.made)} for line in found.published],
            "events": [event._asdict() for event in found.events],
            "opponents": [asdict(opponent) for opponent in found.opponents],
        }
        if as_json:
            say_json(value)
            return
        if table:
            sheet = {"opponents": sheets.opponents, "editions": sheets.published, "events": sheets.all_events}[table](
                value
            )
            show(sheet, as_json=False, as_csv=True)
            return
        show(sheets.opponents(value), as_json=False, as_csv=False)
        for more in (sheets.published(value), sheets.events(value, EVENTS_SHOWN)):
            if more.rows:
                click.echo("")
                show(more, as_json=False, as_csv=False)
