"""Commands of rating lists in the database: ratings, lists, publish, editions, diff, history."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginetour.cli.listoptions import (
    LIKELIHOODS,
    TERMS,
    Display,
    check_typed_aliases,
    display_options,
    errors_option,
    flags,
    list_options,
    present,
)
from enginetour.cli.match import TestRequest, print_test, sprt_options
from enginetour.cli.options import (
    COUNTED,
    ListOutput,
    TournamentChoice,
    announce_config,
    count_option,
    database_option,
    list_output,
    open_store,
    output_option,
    output_path_option,
    refuse_group_options,
    size_of,
    tournament_options,
    without_collecting,
)
from enginetour.cli.printing import echo, format_option, json_option, output_form, output_options, print_sheet, set_form
from enginetour.model.errors import UsageRefused, usage_errors
from enginetour.reports.sheet import format_count, iso_timestamp
from enginetour.store.address import Address
from enginetour.tournament.rating import ONLY_ANCHORS, definition_from, rate_stored

if TYPE_CHECKING:
    from enginetour.ratings.ratinglist import RatingList
    from enginetour.reports.encounters import NextEncounters
    from enginetour.store.log import TournamentLog
    from enginetour.store.tournaments import Store


all_option = click.option("--all", "everything", is_flag=True, help="Rate all tournaments of the database in one list.")
as_of_option = click.option(
    "--as-of", metavar="MOMENT", help="State of the list on a day, at a time (UTC), at 'edition N' or at 'game N'."
)
_ML_ONLY = "columns, layouts, matrices, errors and confidence need --system ml"  # only this system computes errors


@click.command()
@click.argument("list_name", metavar="[LIST]", required=False)
@tournament_options
@output_options
@all_option
@as_of_option
@list_options
@errors_option
@display_options
@output_option
@sprt_options
@without_collecting()
def ratings(
    list_name: str | None,
    chosen: TournamentChoice,
    everything: bool,
    as_of: str | None,
    test: TestRequest | None,
    display: Display,
    output: Path | None,
    errors_for: tuple[str, ...],
    fields: dict[str, Any],
) -> None:
    """Show a rating list of a tournament, of the whole database, or LIST.

    A filter without -t selects games of the whole database. With LIST, it
    changes the list for this call only. --as-of 'edition N' shows LIST as it
    was published. --as-of 'game N' shows the list after game N of the
    tournament. Without -t, N counts the games of the whole database, as in
    `editions`.

    Example: enginetour ratings --time-class blitz --since 2026-01-01

    Example: enginetour ratings --all --sprt "Toga II" Fruit 0 5
    """
    into = list_output(output)
    display.check(output_form())
    shown = display != Display() or bool(errors_for)
    if test is not None and (shown or output is not None):
        other = "display options" if shown else "--output"
        raise UsageRefused(f"cannot be combined with {other}", place="--sprt", step=f"omit {other}")
    if test is not None and (fields or list_name or as_of):
        other = flags(fields) or "LIST and --as-of"
        raise UsageRefused(f"cannot be combined with {other}", place="--sprt", step=f"omit {other}")
    stored = (
        list_name is None and as_of is None and set(fields) <= ONLY_ANCHORS and fields.get("system") not in (None, "ml")
    )
    if stored and shown:
        raise UsageRefused(_ML_ONLY)
    if stored and "anchors" in fields:
        raise UsageRefused("needs --system ml", place="--anchor", step="omit --anchor, or use --system ml")
    which = ListSelection(list_name, chosen, everything, as_of)
    with open_store(chosen.db, change=stored) as store:
        if test is not None:
            print_test(store, which.log(store, fields), test)
            return
        if stored:
            _print_stream(store, which.log(store, fields), fields["system"], into)
            return
        heading, found = which.rate(store, fields, errors_for)
    if into.put_picture(found, heading, display=display != Display()):
        return
    if found.model in LIKELIHOODS:
        into.put(present(found, None, display, output_form(), into.columns, title=heading), size_of(found))
        return
    if shown:
        raise UsageRefused(_ML_ONLY)
    from enginetour.reports.editions import list_sheet
    from enginetour.reports.ratinglist import list_json

    into.put_sheet(list_sheet(heading, found), list_json(found, display.confidence), found)


@dataclass(frozen=True, slots=True)
class ListSelection:
    """The list that the options select: a named list, or the list of a tournament or of the whole database.

    `as_of` is the moment of its state, or None for the present state.
    """

    list_name: str | None
    chosen: TournamentChoice
    everything: bool
    as_of: str | None

    def __post_init__(self) -> None:
        named = self.chosen.name or self.chosen.edition
        if self.list_name is not None and (named or self.everything):
            step = "omit -t and --all, or use --tournaments"
            raise UsageRefused(
                "-t and --all cannot be combined with LIST, because a list defines its tournaments", step=step
            )
        if self.everything and named:
            raise UsageRefused("cannot be combined with -t and --edition", place="--all")

    def log(self, store: Store, fields: Mapping[str, object]) -> TournamentLog | None:
        """Return the log of the tournament, or None for the whole database (with --all, or with a filter but no -t)."""
        filtered = self.as_of is not None or not set(fields) <= set(TERMS)
        if self.everything or (filtered and not self.chosen.name and not self.chosen.edition):
            return None
        return self.chosen.log(store)

    def rate(self, store: Store, fields: dict[str, Any], errors_for: tuple[str, ...] = ()) -> tuple[str, RatingList]:
        """Return the heading and the rating list. `fields`: the values of `list_options`."""
        _check_aliases(store)
        log = None if self.list_name is not None else self.log(store, fields)
        return rate_stored(store, self.list_name, log, fields, as_of=self.as_of, errors_for=errors_for)


def _check_aliases(store: Store) -> None:
    """Raise UsageRefused if --alias is given for an engine that the database does not have."""
    from enginetour.store.engines import marked_names, version_rows

    def names() -> Iterable[str]:
        with store.database.reading() as connection:
            rows = version_rows(connection)
        return (*(row.name for row in rows), *marked_names(rows).values())

    check_typed_aliases(names)


def _print_stream(store: Store, log: TournamentLog | None, system: str, into: ListOutput) -> None:
    """Print the stored ratings of an incremental system, which are computed over the whole database.

    Only the entrants of the tournament `log` are printed, or all engines if `log` is None.
    """
    from enginetour.ratings.systems import system_title
    from enginetour.reports import ratinglist as sheets
    from enginetour.store.ratings import ratings_of, update_ratings

    if log is not None:
        log.require_not_removed()
    update_ratings(store, system)
    known = ratings_of(store, system, None if log is None else log.id)
    title = "all tournaments" if log is None else log.title
    sheet = sheets.incremental_sheet(f"{system_title(system)} · {title}", known)
    into.put_sheet(sheet, {"list": sheet.rows, "model": system})


@click.command(name="next")
@click.argument("list_name", metavar="[LIST]", required=False)
@tournament_options
@output_options
@click.option("--all", "everything", is_flag=True, help="Use all tournaments and imports of the database.")
@list_options
@count_option("--games", least=2, most=10_000, default=20, show_default=True, help="Games per encounter, even.")
@click.option(
    "--control",
    "control",
    metavar="TC",
    show_default="most frequent in the list, or 10+0.1",
    help="Time control of the games to play.",
)
@output_path_option("Write a configuration that plays the encounters.")
@without_collecting()
def next_games(
    list_name: str | None,
    chosen: TournamentChoice,
    everything: bool,
    fields: dict[str, Any],
    games: int,
    control: str | None,
    output: Path | None,
) -> None:
    """Show five encounters that reduce the errors of a list most per hour.

    The list is that of a tournament, of the whole database, or LIST. If its
    rating pools never met, the games that connect them come first. With -o,
    only engines that can play on this machine are chosen, and FILE is a
    configuration that plays the encounters.

    Example: enginetour next --all -o next.toml
    """
    from enginetour.model.timecontrol import TimeControl
    from enginetour.tournament.rating import rate_next

    if control is not None:
        with usage_errors("--control"):
            control = str(TimeControl.parse(control))
    if output is not None and output.exists():
        raise UsageRefused("already exists", place=str(output), step="choose another name")
    if output is not None and not output.absolute().parent.is_dir():
        raise UsageRefused("directory does not exist", place=str(output.parent), step="create it first")
    which, sections = ListSelection(list_name, chosen, everything, None), dict[str, dict[str, Any]]()

    def playable(engines: Mapping[str, Any]) -> Collection[str]:
        from enginetour.tournament.config.write import entrant_sections

        assert output is not None
        sections.update(entrant_sections(engines, output.resolve().parent))
        return sections

    with open_store(chosen.db) as store:
        _check_aliases(store)
        log = None if list_name is not None else which.log(store, fields)
        here = None if output is None else playable
        found = rate_next(store, list_name, log, fields, games=games, control=control or "", playable=here)
        if output is not None:
            _write_encounters(found, sections, store, output, control or found.times.control or "10+0.1")
    print_sheet(found.sheet(), found.to_json())
    if output is None:
        return
    if left := len(found.times.engines) - len(sections):
        echo(f"note: left out {format_count(left, 'engine')} that cannot play on this machine", err=True)
    if changed := _changed(found, output, chosen.db):
        from enginetour.formats.base import listed

        again = f"{listed(changed)} differ from the versions in the list, so the games count for new versions"
        echo(f"warning: {again}. Hint: rate all versions of a name as one engine with --by name", err=True)
    announce_config(output, err=True)


def _write_encounters(
    found: NextEncounters, sections: Mapping[str, dict[str, Any]], store: Store, file: Path, tc: str
) -> None:
    from enginetour.tournament.config.write import draft_pairs, free_name, write_draft

    chosen = found.suggestion.encounters
    pairs, games = [(one.one, one.other) for one in chosen], chosen[0].games
    write_draft(draft_pairs(free_name(file.stem, store), pairs, sections, games=games, tc=tc), file)


def _changed(found: NextEncounters, file: Path, db: Address | None) -> list[str]:
    """Return the engines of a written configuration that would play as other versions than those in the list."""
    from enginetour.tournament.plan import prepare

    sides = prepare(file, db).sides
    own = {row.name: row for row in found.times.engines.values() if row.name in sides}
    specs = {name: side.spec for name, side in sides.items()}
    return [
        name
        for name, row in own.items()
        if found.by_version and (row.fingerprint, row.options) != (specs[name].fingerprint, specs[name].options)
    ]


# Named rating lists and their published editions.


@click.group(invoke_without_command=True)
@database_option
@output_options
@click.pass_context
def lists(ctx: click.Context, db: Address | None) -> None:
    """List the named rating lists, or define or show one.

    Example: enginetour lists define blitz --time-class blitz --min-games 30
    """
    if ctx.invoked_subcommand is not None:
        refuse_group_options(ctx)
        return
    from enginetour.reports import documents
    from enginetour.reports import editions as sheets

    with open_store(db) as store:
        rows = documents.lists(store)
        print_sheet(sheets.lists_sheet(rows), rows)


@lists.command()
@click.argument("name")
@database_option
@click.option("--reset", is_flag=True, help="Start from the defaults instead of the list's newest revision.")
@list_options
def define(name: str, db: Address | None, reset: bool, fields: dict[str, Any]) -> None:
    """Define a list, or change it in a new revision.

    Options that are not given keep their values. An empty value restores the
    default.

    Example: enginetour lists define blitz --min-games 50 --hardware ''
    """
    from enginetour.store.definition import define_list, has_list, revisions_of
    from enginetour.store.ratings import require_system

    with open_store(db, change=True) as store:
        base = revisions_of(store, name)[-1].definition if has_list(store, name) and not reset else None
        require_system(store, fields.get("system") or (base.system if base else "ml"))
        revision, written = define_list(store, name, definition_from(fields, base))
    if not written:
        echo(f"list {name}: no change, the newest revision is {revision.revision}")
    elif revision.revision == 1:
        typed = shlex.quote(name)
        echo(f"list {name} defined")
        echo(f"enginetour ratings {typed} shows it, enginetour publish {typed} publishes an edition")
    else:
        echo(f"list {name}, revision {revision.revision}: {revision.why}")


@lists.command(name="show")
@click.argument("name")
@database_option
@output_options
def show_list(name: str, db: Address | None) -> None:
    """Show the filters and terms of a list, and its revisions.

    Example: enginetour lists show blitz
    """
    from enginetour.reports import documents
    from enginetour.reports import editions as sheets
    from enginetour.store.definition import describe_definition, revisions_of

    with open_store(db) as store:
        found = revisions_of(store, name)
        value = documents.revisions(found)
        rows = [{key: row[key] for key in ("revision", "made", "why")} for row in value["revisions"]]
        print_sheet(sheets.revisions_sheet(name, describe_definition(found[-1].definition), rows), value)


@click.command()
@click.argument("name")
@database_option
@output_options
@click.option("--note", default="", metavar="TEXT", help="Note that is stored with the edition.")
@click.option("--again", is_flag=True, help="Publish although nothing has changed.")
def publish(name: str, db: Address | None, note: str, again: bool) -> None:
    """Publish the present state of a list as its next edition.

    Example: enginetour publish blitz --note "with the new Toga"
    """
    from enginetour.reports import documents
    from enginetour.reports import editions as sheets
    from enginetour.store.editions import publish as freeze

    with open_store(db, change=True) as store:
        made = freeze(store, name, note=note, again=again)
        value = documents.edition(made)
        print_sheet(sheets.edition_sheet(value), value)


@click.command()
@click.argument("name", metavar="[NAME]", required=False)
@click.argument("number", metavar="[NUMBER]", required=False, type=COUNTED)
@database_option
@output_options
def editions(name: str | None, number: int | None, db: Address | None) -> None:
    """List the editions of all lists or of one, or show one edition.

    NAME is a list and NUMBER one of its editions.

    Example: enginetour editions blitz 3 --csv
    """
    from enginetour.reports import documents
    from enginetour.reports import editions as sheets
    from enginetour.store.editions import read_edition

    with open_store(db) as store:
        if name is not None and number is not None:
            made = read_edition(store, name, number)
            value = documents.edition(made)
            print_sheet(sheets.edition_sheet(value), value)
            return
        rows = documents.editions(store, name)
        print_sheet(sheets.editions_sheet(rows), rows)


@click.command()
@click.argument("name")
@click.argument("one", metavar="[N]", required=False, type=COUNTED)
@click.argument("other", metavar="[M]", required=False, type=COUNTED)
@database_option
@output_options
@count_option("--most", least=0, default=10, show_default=True, help="Number of rating changes to show and explain.")
def diff(name: str, one: int | None, other: int | None, db: Address | None, most: int) -> None:
    """Compare edition N with edition M of a list, and explain changes.

    By default, N is the newest edition and M is the present state.

    Example: enginetour diff blitz 3 4
    """
    from enginetour.reports import editions as sheets
    from enginetour.store.editions import difference

    with open_store(db) as store:
        value = difference(store, name, one, other, movers=most).to_json()
        print_sheet(sheets.difference_sheet(value, None if output_form() == "csv" else most), value)


_EVENTS_SHOWN = 10  # number of events of each rating system; about half a screen


@click.command()
@click.argument("engine")
@database_option
@click.option(
    "--list", "list_name", metavar="NAME", show_default="all games", help="List that contains the opponents' ratings."
)
@json_option
@click.option(
    "--csv",
    "table",
    type=click.Choice(["opponents", "editions", "events"]),
    is_flag=False,
    flag_value="opponents",
    show_default="opponents",
    help="Print this table as CSV.",
)
@format_option
def history(engine: str, db: Address | None, list_name: str | None, table: str | None, form: str | None) -> None:
    """Show an engine's ratings over time, opponents and activity.

    Example: enginetour history "Toga II" --list blitz
    """
    from enginetour.reports import editions as sheets
    from enginetour.store.careers import career

    flag = "json" if output_form() == "json" else "csv" if table else form
    if form not in (None, flag) or (form is not None and table and form != "csv"):
        raise UsageRefused(f"cannot be combined with --format {form}", place=f"--{flag}", step="use only one of them")
    set_form(flag or "text")
    with open_store(db) as store:
        found = career(store, engine, list_name=list_name)
        value = {
            "name": found.name,
            "rating": found.rating,
            "games": found.games,
            "first": None if found.first is None else found.first.isoformat(),
            "last": None if found.last is None else found.last.isoformat(),
            "published": [
                {**line.model_dump(exclude={"made_unix"}), "made": iso_timestamp(line.made_unix)}
                for line in found.published
            ],
            "events": [event._asdict() for event in found.events],
            "opponents": [asdict(opponent) for opponent in found.opponents],
        }
        if flag == "csv" and table in ("editions", "events"):
            print_sheet(sheets.published_sheet(value) if table == "editions" else sheets.events_sheet(value))
            return
        print_sheet(sheets.opponents_sheet(value), value)
        if flag in ("json", "csv"):
            return
        for more in (sheets.published_sheet(value), sheets.events_sheet(value, _EVENTS_SHOWN)):
            if more.rows:
                click.echo("")
                print_sheet(more)
