"""`enginetour lists`, `publish`, `editions`, `diff`: rating lists by name, and what was published of them."""

from __future__ import annotations

import shlex
from typing import Any

import click

from enginetour.cli.common import COUNTED, database_option, markup, open_store, output_options, say, show
from enginetour.cli.listoptions import definition_from, list_options
from enginetour.store.address import Address


@click.group(invoke_without_command=True)
@database_option
@output_options
@click.pass_context
def lists(ctx: click.Context, db: Address | None, as_json: bool, as_csv: bool) -> None:
    """Rating lists by name: which there are, what they take, how they came to be.

    Example: enginetour lists define blitz --time-class blitz --min-games 30
    """
    if ctx.invoked_subcommand is not None:
        typed = ctx.get_parameter_source("db") is click.core.ParameterSource.COMMANDLINE
        if typed or as_json or as_csv or markup():
            raise click.UsageError(f"options go behind {ctx.invoked_subcommand}")
        return
    from enginetour.reports import editions as sheets
    from enginetour.reports.standings import moment
    from enginetour.store.definition import described, lists_of

    with open_store(db) as store:
        rows = [
            {
                "name": one.revision.name,
                "revision": one.revision.number,
                "edition": one.edition or None,
                "published": None if one.published is None else moment(one.published),
                "definition": described(one.revision.definition),
            }
            for one in lists_of(store)
        ]
        show(sheets.lists(rows), as_json=as_json, as_csv=as_csv, value=rows)


@lists.command()
@click.argument("name")
@database_option
@click.option("--anew", is_flag=True, help="Start from the defaults, not from the list's newest revision.")
@list_options
def define(name: str, db: Address | None, anew: bool, **asked: Any) -> None:
    """Make a list, or give it a new revision where something changes.

    What is not named stays as it is; an empty value takes a part back.

    Example: enginetour lists define blitz --min-games 50 --hardware ''
    """
    from enginetour.store.definition import define as write
    from enginetour.store.definition import has_list, revisions_of

    with open_store(db, change=True) as store:
        base = revisions_of(store, name)[-1].definition if has_list(store, name) and not anew else None
        revision, written = write(store, name, definition_from(asked, base))
    if not written:
        say(f"list {name}: nothing changed, revision {revision.number} holds")
    elif revision.number == 1:
        typed = shlex.quote(name)
        say(f"list {name} defined")
        say(f"enginetour ratings {typed} shows it, enginetour publish {typed} freezes it")
    else:
        say(f"list {name}, revision {revision.number}: {revision.why}")


@lists.command(name="show")
@click.argument("name")
@database_option
@output_options
def show_list(name: str, db: Address | None, as_json: bool, as_csv: bool) -> None:
    """What a list takes and on which terms, with all its revisions.

    Example: enginetour lists show blitz
    """
    from enginetour.reports import editions as sheets
    from enginetour.reports.standings import moment
    from enginetour.store.definition import described, revisions_of

    with open_store(db) as store:
        found = revisions_of(store, name)
        rows = [{"revision": one.number, "made": moment(one.made), "why": one.why} for one in found]
        value = {
            "name": name,
            "revisions": [
                {**row, "definition": one.definition.model_dump(mode="json")}
                for row, one in zip(rows, found, strict=True)
            ],
        }
        sheet = sheets.revisions(name, described(found[-1].definition), rows)
        show(sheet, as_json=as_json, as_csv=as_csv, value=value)


@click.command()
@click.argument("name")
@database_option
@output_options
@click.option("--note", default="", metavar="TEXT", help="Words that stand with the edition.")
@click.option("--again", is_flag=True, help="Publish although nothing has changed.")
def publish(name: str, db: Address | None, as_json: bool, as_csv: bool, note: str, again: bool) -> None:
    """Freeze a list as it is now: the next edition.

    Example: enginetour publish blitz --note "with the new Toga"
    """
    from enginetour.reports import editions as sheets
    from enginetour.store.editions import publish as freeze

    with open_store(db, change=True) as store:
        made = freeze(store, name, note=note, again=again)
        value = made.to_json() | {"made": _time(made.made)}
        show(sheets.edition(value), as_json=as_json, as_csv=as_csv, value=value)


@click.command()
@click.argument("name", required=False)
@click.argument("number", required=False, type=COUNTED)
@database_option
@output_options
def editions(name: str | None, number: int | None, db: Address | None, as_json: bool, as_csv: bool) -> None:
    """What was published: all editions, those of a list, or one as it was.

    Example: enginetour editions blitz 3 --csv
    """
    from enginetour.reports import editions as sheets
    from enginetour.store.editions import edition, editions_of

    with open_store(db) as store:
        if name is not None and number is not None:
            made = edition(store, name, number)
            value = made.to_json() | {"made": _time(made.made)}
            show(sheets.edition(value), as_json=as_json, as_csv=as_csv, value=value)
            return
        rows = [
            {
                "list": one.name,
                "edition": one.number,
                "made": _time(one.made),
                "revision": one.revision,
                "games": one.games,
                "last_game": one.moment.game,
                "last_imported": one.moment.imported,
                "note": one.note,
            }
            for one in editions_of(store, name)
        ]
        show(sheets.editions(rows), as_json=as_json, as_csv=as_csv, value=rows)


@click.command()
@click.argument("name")
@click.argument("one", metavar="[N]", required=False, type=COUNTED)
@click.argument("other", metavar="[M]", required=False, type=COUNTED)
@database_option
@output_options
@click.option("--most", type=click.IntRange(min=0), default=10, show_default=True, help="Moves shown and explained.")
def diff(
    name: str, one: int | None, other: int | None, db: Address | None, as_json: bool, as_csv: bool, most: int
) -> None:
    """What moved between two editions and why; the newest and now unless told.

    Example: enginetour diff blitz 3 4
    """
    from enginetour.reports import editions as sheets
    from enginetour.store.editions import difference

    with open_store(db) as store:
        value = difference(store, name, one, other, movers=most).to_json()
        show(sheets.difference(value, None if as_csv else most), as_json=as_json, as_csv=as_csv, value=value)


def _time(seconds: float) -> str:
    from enginetour.reports.standings import moment

    return moment(seconds)
