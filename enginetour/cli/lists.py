"""Commands of rating lists: ratings, lists, publish, editions, diff, history."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginetour.cli.common import (
    COUNTED,
    ListOutput,
    choose_tournament,
    database_option,
    format_option,
    list_output,
    markup,
    open_store,
    output_option,
    output_options,
    say,
    say_json,
    set_format,
    show_sheet,
    size_words,
    tournament_options,
)
from enginetour.cli.games import without_collecting
from enginetour.cli.listoptions import (
    TERMS,
    Display,
    definition_from,
    display_options,
    errors_option,
    flags,
    given,
    list_options,
    present,
    requested_errors,
)
from enginetour.cli.match import requested_test, show_test, sprt_options
from enginetour.model.errors import UsageRefused
from enginetour.store.address import Address

if TYPE_CHECKING:
    from enginetour.ratings.ratinglist import RatingList
    from enginetour.store.log import TournamentLog
    from enginetour.store.tournaments import Store


# `enginetour ratings`: a list from the store, or the sequential test of two engines.

_ML_ONLY = "columns, layouts, matrices, errors and confidence are for --system ml"  # others have no errors
_STORED = {"system", "anchors"}  # what a tournament's own list, and the stored streams of incremental systems, know


@click.command()
@click.argument("list_name", metavar="[LIST]", required=False)
@tournament_options
@output_options
@click.option("--all", "everything", is_flag=True, help="All tournaments of the store in one list.")
@click.option("--as-of", metavar="MOMENT", help="The list of then: a day, a time (UTC), 'edition N', 'game N'.")
@list_options
@errors_option
@display_options
@output_option
@sprt_options
@without_collecting()
def ratings(
    list_name: str | None,
    db: Address | None,
    name: str | None,
    edition: int | None,
    as_json: bool,
    as_csv: bool,
    everything: bool,
    as_of: str | None,
    sprt: tuple[str, str, float, float] | None,
    model: str | None,
    alpha: float | None,
    beta: float | None,
    display: Display,
    output: Path | None,
    errors_for: tuple[str, ...],
    **asked: Any,
) -> None:
    """A list of `lists define`, of a tournament or of the store; or a test.

    A filter without -t asks the whole store; with LIST it changes the list
    for this once. --as-of 'edition N' is LIST as it was published, on the terms
    of then; 'game N' is just after game N of -t, or, without -t, of the whole
    store, as `editions` counts its last games.

    Example: enginetour ratings --time-class blitz --since 2026-01-01

    A sequential test: enginetour ratings --all --sprt "Toga II" Fruit 0 5
    """
    into = list_output(output, as_json=as_json, as_csv=as_csv)
    display.check(as_json=into.as_json, as_csv=into.as_csv)
    fields = given(asked)
    test = requested_test(sprt, model, alpha, beta)
    shown = display != Display() or bool(errors_for)
    if sprt is not None and (shown or output is not None):
        raise click.UsageError(f"--sprt makes no list: leave out {'how to show one' if shown else '--output'}")
    if sprt is not None and (fields or list_name or as_of):
        raise click.UsageError(f"--sprt makes no list: leave out {flags(fields) or 'LIST and --as-of'}")
    stored = list_name is None and as_of is None and set(fields) <= _STORED and fields.get("system") not in (None, "ml")
    if stored and shown:
        raise click.UsageError(_ML_ONLY)
    if stored and "anchors" in fields:
        raise click.UsageError("--anchor is for --system ml")
    which = ListSelection(list_name, name, edition, everything, as_of)
    with open_store(db, change=stored) as store:
        if sprt is not None and test is not None:
            show_test(store, which.log(store, fields), sprt[:2], test, as_json=as_json, as_csv=as_csv)
            return
        if stored:
            _tell_stream(store, which.log(store, fields), fields["system"], into)
            return
        heading, found = requested_list(store, which, asked, errors_for)
    if into.put_picture(found, heading, shown=display != Display()):
        return
    if found.model in ("logistic", "davidson", "raokupper"):
        told = present(*(found, None, display), title=heading, room=into.room, as_json=into.as_json, as_csv=into.as_csv)
        into.put(told, size_words(found))
        return
    if shown:
        raise click.UsageError(_ML_ONLY)
    from enginetour.reports.editions import list_sheet as listed

    into.put_sheet(listed(heading, found), found.to_json(), size_words(found))


@dataclass(frozen=True, slots=True)
class ListSelection:
    """The list that is meant: of a name, of a tournament, of the whole store; now, or `as_of` a moment."""

    list_name: str | None
    name: str | None
    edition: int | None
    everything: bool
    as_of: str | None

    def __post_init__(self) -> None:
        if self.list_name is not None and (self.name or self.edition or self.everything):
            raise click.UsageError("a list names its tournaments itself: leave out -t and --all, or use --tournaments")
        if self.everything and (self.name or self.edition):
            raise click.UsageError("--all is of all tournaments: leave it out, or -t and --edition")

    def log(self, store: Store, fields: Mapping[str, object]) -> TournamentLog | None:
        """The tournament; None for the whole store, which a filter in `fields` asks for unless one is named."""
        filtered = self.as_of is not None or not set(fields) <= set(TERMS)
        if self.everything or (filtered and not self.name and not self.edition):
            return None
        return choose_tournament(store, self.name, self.edition)


def requested_list(
    store: Store, which: ListSelection, asked: dict[str, Any], errors_for: tuple[str, ...] = ()
) -> tuple[str, RatingList]:
    """The list with the filters and terms of `list_options`, and its heading."""
    then = f", as of {which.as_of}" if which.as_of else ""
    if which.list_name is not None:
        title, found = _defined(store, which.list_name, asked, which.as_of, errors_for)
        return f"{_called(found)} · {title}{then}", found
    fields = given(asked)
    log = which.log(store, fields)
    if log is not None and which.as_of is None:
        log.refuse_struck_out()
    if log is not None:
        asked = {**asked, **{key: _known(fields[key], log) for key in ("anchors", "loose") if fields.get(key)}}
    title = "all tournaments" if log is None else log.title
    found = _asked(store, log, asked, which.as_of, errors_for)
    return f"{_called(found)} · {title}{then}", found


def _called(found: RatingList) -> str:
    """What its heading begins with: an incremental system by its name, for two have lists that look alike."""
    from enginetour.reports.ratinglist import SYSTEM_NAMES

    return SYSTEM_NAMES.get(found.model, "ratings")


def _defined(
    store: Store, name: str, asked: dict[str, Any], as_of: str | None, errors_for: tuple[str, ...]
) -> tuple[str, RatingList]:
    from enginetour.store.definition import revisions_of
    from enginetour.store.editions import read_edition
    from enginetour.store.lists import rate_selection
    from enginetour.store.moments import edition_in
    from enginetour.store.selection import select_games

    revisions, number = revisions_of(store, name), edition_in(as_of)
    made = None if number is None else read_edition(store, name, number)
    revision = revisions[-1] if made is None else next(one for one in revisions if one.number == made.revision)
    title = f"{name}, revision {revision.number}" + (", changed for this once" if given(asked) else "")
    selection = select_games(store, definition_from(asked, revision.definition), made.moment if made else as_of)
    return title, rate_selection(store, selection, errors_for=requested_errors(errors_for, selection.pairs))


def _asked(
    store: Store, log: TournamentLog | None, asked: dict[str, Any], as_of: str | None, errors_for: tuple[str, ...]
) -> RatingList:
    """The whole store or one tournament on the terms asked for; a tournament's own anchors hold unless others do."""
    from dataclasses import replace

    from enginetour.store.lists import rate_selection
    from enginetour.store.moments import moment_of
    from enginetour.store.selection import select_games

    definition = definition_from(asked)
    if log is None:
        selection = select_games(store, definition, as_of)
        return rate_selection(store, selection, errors_for=requested_errors(errors_for, selection.pairs))
    fields = given(asked)
    anchor = log.config.get("ratings", {}).get("anchor", {})
    if as_of is None and set(fields) <= _STORED and not errors_for:
        from enginetour.reports.review.tournament import tournament_rating_list as tournament_list

        return tournament_list(log, definition.anchors or anchor)
    inside = {"tournaments": (f"{log.name} #{log.edition}",), "by": fields.get("by") or "name"}
    inside["variant"] = log.config.get("play", {}).get("variant", definition.variant)
    with store.database.reading() as connection:
        moment = None if as_of is None else moment_of(connection, as_of, log.id)
    selection = select_games(store, definition.model_copy(update=inside), moment)
    if definition.system == "ml" and not definition.anchors and not definition.loose and definition.average is None:
        there = {name: rating for name, rating in anchor.items() if selection.meant.get(name)}
        selection = replace(selection, definition=selection.definition.model_copy(update={"anchors": there}))
    return rate_selection(store, selection, errors_for=requested_errors(errors_for, selection.pairs))


def _tell_stream(store: Store, log: TournamentLog | None, system: str, into: ListOutput) -> None:
    """An incremental system as its stored events have it: over the whole store, shown for a tournament."""
    from enginetour.reports import ratinglist as sheets
    from enginetour.store.ratings import ratings_of, update_ratings

    if log is not None:
        log.refuse_struck_out()
    update_ratings(store, system)
    known = ratings_of(store, system, None if log is None else log.id)
    title = "all tournaments" if log is None else log.title
    sheet = sheets.incremental_sheet(f"{sheets.SYSTEM_NAMES[system]} · {title}", known)
    value = {"list": [dict(row) for row in sheet.rows], "model": system}
    into.put_sheet(sheet, value, f"{len(sheet.rows):,} engines")


def _known(fixed: Mapping[str, Any], log: TournamentLog) -> tuple[tuple[str, Any], ...]:
    """What is fixed, by the names of the entrants that are meant."""
    from enginetour.model.errors import match_name, no_match_hint, suggest

    meant: dict[str, Any] = {}
    for word, rating in fixed.items():
        if (name := match_name(word, log.specs)) is None:
            raise UsageRefused(
                f"{word!r} is not in {log.title}{no_match_hint(word, log.specs) or suggest(word, log.specs)}",
                place="--anchor",
            )
        if name in meant:
            raise UsageRefused(f"{name!r} is fixed twice, the second time as {word!r}", place="--anchor")
        meant[name] = rating
    return tuple(meant.items())


# `enginetour lists`, `publish`, `editions`, `diff`: named rating lists and their published editions.


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
    from enginetour.reports.standings import iso_timestamp as moment
    from enginetour.store.definition import describe_definition, lists_of

    with open_store(db) as store:
        rows = [
            {
                "name": one.revision.name,
                "revision": one.revision.number,
                "edition": one.edition or None,
                "published": None if one.published is None else moment(one.published),
                "definition": describe_definition(one.revision.definition),
            }
            for one in lists_of(store)
        ]
        show_sheet(sheets.lists_sheet(rows), as_json=as_json, as_csv=as_csv, value=rows)


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
    from enginetour.store.definition import define_list, has_list, revisions_of

    with open_store(db, change=True) as store:
        base = revisions_of(store, name)[-1].definition if has_list(store, name) and not anew else None
        revision, written = define_list(store, name, definition_from(asked, base))
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
    from enginetour.reports.standings import iso_timestamp as moment
    from enginetour.store.definition import describe_definition, revisions_of

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
        sheet = sheets.revisions_sheet(name, describe_definition(found[-1].definition), rows)
        show_sheet(sheet, as_json=as_json, as_csv=as_csv, value=value)


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
        show_sheet(sheets.edition_sheet(value), as_json=as_json, as_csv=as_csv, value=value)


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
    from enginetour.store.editions import editions_of, read_edition

    with open_store(db) as store:
        if name is not None and number is not None:
            made = read_edition(store, name, number)
            value = made.to_json() | {"made": _time(made.made)}
            show_sheet(sheets.edition_sheet(value), as_json=as_json, as_csv=as_csv, value=value)
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
        show_sheet(sheets.editions_sheet(rows), as_json=as_json, as_csv=as_csv, value=rows)


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
        show_sheet(
            sheets.difference_sheet(value, None if as_csv else most), as_json=as_json, as_csv=as_csv, value=value
        )


def _time(seconds: float) -> str:
    from enginetour.reports.standings import iso_timestamp as moment

    return moment(seconds)


# `enginetour history`: rating history, opponents and activity of one engine.

_EVENTS_SHOWN = 10  # of each system: half a screen


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
    from enginetour.reports.standings import iso_timestamp as moment
    from enginetour.store.careers import career

    if form is not None and (as_json, bool(table)) not in ((False, False), (form == "json", form == "csv")):
        raise click.UsageError(f"--{'json' if as_json else 'csv'} and --format {form} do not go together")
    as_json, table = as_json or form == "json", "opponents" if form == "csv" and not table else table
    set_format(form)
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
            sheet = {
                "opponents": sheets.opponents_sheet,
                "editions": sheets.published_sheet,
                "events": sheets.all_events_sheet,
            }[table](value)
            show_sheet(sheet, as_json=False, as_csv=True)
            return
        show_sheet(sheets.opponents_sheet(value), as_json=False, as_csv=False)
        for more in (sheets.published_sheet(value), sheets.events_sheet(value, _EVENTS_SHOWN)):
            if more.rows:
                click.echo("")
                show_sheet(more, as_json=False, as_csv=False)
