"""`enginetour ratings`: a list from the store, or the sequential test of two engines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginetour.cli.common import chosen, open_store, output_options, tournament_options
from enginetour.cli.display import Display, asked_errors, display_options, errors_option, present
from enginetour.cli.gamefiles import without_collecting
from enginetour.cli.listoptions import TERMS, definition_from, flags, given, list_options
from enginetour.cli.outputfile import Target, output_option, size_words, target
from enginetour.cli.sprt import asked_test, sprt_options, tell_test
from enginetour.model.errors import UsageRefused
from enginetour.store.address import Address

if TYPE_CHECKING:
    from enginetour.ratings.ratinglist import RatingList
    from enginetour.store.log import TournamentLog
    from enginetour.store.tournaments import Store


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
    into = target(output, as_json=as_json, as_csv=as_csv)
    display.check(as_json=into.as_json, as_csv=into.as_csv)
    fields = given(asked)
    test = asked_test(sprt, model, alpha, beta)
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
    which = Which(list_name, name, edition, everything, as_of)
    with open_store(db, change=stored) as store:
        if sprt is not None and test is not None:
            tell_test(store, which.log(store, fields), sprt[:2], test, as_json=as_json, as_csv=as_csv)
            return
        if stored:
            _tell_stream(store, which.log(store, fields), fields["system"], into)
            return
        heading, found = asked_list(store, which, asked, errors_for)
    if into.put_picture(found, heading, shown=display != Display()):
        return
    if found.model in ("logistic", "davidson", "raokupper"):
        told = present(*(found, None, display), title=heading, room=into.room, as_json=into.as_json, as_csv=into.as_csv)
        into.put(told, size_words(found))
        return
    if shown:
        raise click.UsageError(_ML_ONLY)
    from enginetour.reports.editions import listed

    into.put_sheet(listed(heading, found), found.to_json(), size_words(found))


@dataclass(frozen=True, slots=True)
class Which:
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
        return chosen(store, self.name, self.edition)


def asked_list(
    store: Store, which: Which, asked: dict[str, Any], errors_for: tuple[str, ...] = ()
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
    from enginetour.store.counts import edition_in
    from enginetour.store.definition import revisions_of
    from enginetour.store.editions import edition
    from enginetour.store.lists import list_of
    from enginetour.store.selection import selected

    revisions, number = revisions_of(store, name), edition_in(as_of)
    made = None if number is None else edition(store, name, number)
    revision = revisions[-1] if made is None else next(one for one in revisions if one.number == made.revision)
    title = f"{name}, revision {revision.number}" + (", changed for this once" if given(asked) else "")
    selection = selected(store, definition_from(asked, revision.definition), made.moment if made else as_of)
    return title, list_of(store, selection, errors_for=asked_errors(errors_for, selection.pairs))


def _asked(
    store: Store, log: TournamentLog | None, asked: dict[str, Any], as_of: str | None, errors_for: tuple[str, ...]
) -> RatingList:
    """The whole store or one tournament on the terms asked for; a tournament's own anchors hold unless others do."""
    from dataclasses import replace

    from enginetour.store.counts import moment_of
    from enginetour.store.lists import list_of
    from enginetour.store.selection import selected

    definition = definition_from(asked)
    if log is None:
        selection = selected(store, definition, as_of)
        return list_of(store, selection, errors_for=asked_errors(errors_for, selection.pairs))
    fields = given(asked)
    anchor = log.config.get("ratings", {}).get("anchor", {})
    if as_of is None and set(fields) <= _STORED and not errors_for:
        from enginetour.reports.review.tournament import tournament_list

        return tournament_list(log, definition.anchors or anchor)
    inside = {"tournaments": (f"{log.name} #{log.edition}",), "by": fields.get("by") or "name"}
    inside["variant"] = log.config.get("play", {}).get("variant", definition.variant)
    with store.database.reading() as connection:
        moment = None if as_of is None else moment_of(connection, as_of, log.id)
    selection = selected(store, definition.model_copy(update=inside), moment)
    if definition.system == "ml" and not definition.anchors and not definition.loose and definition.average is None:
        there = {name: rating for name, rating in anchor.items() if selection.meant.get(name)}
        selection = replace(selection, definition=selection.definition.model_copy(update={"anchors": there}))
    return list_of(store, selection, errors_for=asked_errors(errors_for, selection.pairs))


def _tell_stream(store: Store, log: TournamentLog | None, system: str, into: Target) -> None:
    """An incremental system as its stored events have it: over the whole store, shown for a tournament."""
    from enginetour.reports import ratinglist as sheets
    from enginetour.store.ratings import ratings_of, refresh

    if log is not None:
        log.refuse_struck_out()
    refresh(store, system)
    known = ratings_of(store, system, None if log is None else log.id)
    title = "all tournaments" if log is None else log.title
    sheet = sheets.incremental(f"{sheets.SYSTEM_NAMES[system]} · {title}", known)
    value = {"list": [dict(row) for row in sheet.rows], "model": system}
    into.put_sheet(sheet, value, f"{len(sheet.rows):,} engines")


def _known(fixed: Mapping[str, Any], log: TournamentLog) -> tuple[tuple[str, Any], ...]:
    """What is fixed, by the names of the entrants that are meant."""
    from enginetour.model.errors import called, near, not_called

    meant: dict[str, Any] = {}
    for word, rating in fixed.items():
        if (name := called(word, log.specs)) is None:
            raise UsageRefused(
                f"{word!r} is not in {log.title}{not_called(word, log.specs) or near(word, log.specs)}",
                place="--anchor",
            )
        if name in meant:
            raise UsageRefused(f"{name!r} is fixed twice, the second time as {word!r}", place="--anchor")
        meant[name] = rating
    return tuple(meant.items())
