"""Resume: changes of the configuration and the engines since the start, accepted or rejected.

Pairings, openings and clocks follow from them; a round robin may have more cycles, for nothing that was played changes.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any

from pydantic import BaseModel

from enginetour.engines.identity import changed_engines_error, new_fingerprint
from enginetour.formats.base import Format
from enginetour.interop.files import bundled_openings
from enginetour.model.errors import InputRefused, StoreRefused
from enginetour.model.game import Added, Extended
from enginetour.model.task import EngineSpec, OwnBook, Side, TimeTerms
from enginetour.model.timecontrol import TimeControl
from enginetour.store.log import TournamentLog
from enginetour.tournament.config.sections import PlaySection
from enginetour.tournament.executor import LocalExecutor
from enginetour.tournament.plan import Plan
from enginetour.tournament.probing import probe_all, refuse_unfit

_FIRST_LABELS = "858bde0be4a96838daf3e837b9d749dc"  # of our own suite when its lines were called E001 to E060


def stored_controls(sides: Mapping[str, Side]) -> dict[str, dict[str, Any]]:
    """What everybody plays by, JSON-ready, to be stored with the configuration."""
    return {name: _control(side) for name, side in sides.items()}


def _control(side: Side) -> dict[str, Any]:
    terms: dict[str, Any] = {"tc": str(side.tc), "margin_ms": side.margin_ms}
    if side.own_book is not None:
        terms["own_book"] = asdict(side.own_book)
    if side.black is None:
        return terms
    return {**terms, "black": {"tc": str(side.black.tc), "margin_ms": side.black.margin_ms}}


def _terms(control: Mapping[str, Any]) -> TimeTerms:
    return TimeTerms(TimeControl.parse(control["tc"]), control["margin_ms"])


def _known(log: TournamentLog, spec: EngineSpec, control: Mapping[str, Any]) -> Side:
    from enginetour.store.check import misshapen  # here, for a quicker start of a new tournament

    try:
        white, black = _terms(control), control.get("black")
        book = OwnBook(**control["own_book"]) if control.get("own_book") else None
        black_terms = None if black is None else _terms(black)
        side = Side(spec, white.tc, white.margin_ms, own_book=book, black=black_terms)
        odd = misshapen(side)
    except (ValueError, TypeError, LookupError, AttributeError) as error:  # whatever JSON can hold
        odd = f"{type(error).__name__}: {error}"
    if odd:
        what = f"the time control of {spec.name!r} cannot be read: {odd}"
        raise StoreRefused(what, place=log.title, step="put a backup of the database in its place")
    return side


def _refuse_control(log: TournamentLog, name: str, before: Side, side: Side, place: str) -> None:
    for was, now, word in zip(before.controls, side.controls, ("", " with Black"), strict=True):
        if was != now:
            what = f"the tc of {name}{word} is frozen for {log.title}: it was {was}, the file says {now}"
            raise StoreRefused(what, place=place, step="put it back")
    books = [None if each.own_book is None else replace(each.own_book, path="") for each in (before, side)]
    if books[0] != books[1]:
        what = f"the own_book of {name} is frozen for {log.title}, and it is another or has changed"
        raise StoreRefused(what, place=place, step="put it back")


def grown_settings(plan: Plan, log: TournamentLog) -> dict[str, int]:
    """Numbers of the format that are larger in the file than now; StoreRefused for every other difference."""
    stored, written = log.config, plan.config.frozen_part()
    grown: dict[str, int] = {}
    relabelled = stored.get("suite") == _FIRST_LABELS and plan.suite.source == str(bundled_openings())
    if stored.get("suite", plan.suite.digest) != plan.suite.digest and not relabelled:
        what = f"the openings of {log.title} have changed since it began: {plan.suite.source}"
        step = "put the file back, or start the next edition with run --new once this one has ended"
        raise StoreRefused(what, place=plan.config.at("play", "openings", "file"), step=step)
    defaults = {
        "format": type(plan.config.format_options).model_construct().model_dump(mode="json"),
        "play": PlaySection().model_dump(mode="json"),
    }
    for section in ("tournament", "format", "play"):
        now = stored[section] | (log.grown if section == "format" else {})
        for key, value in written[section].items():
            before = now[key] if key in now else defaults[section].get(key)  # an older enginetour did not have it
            if isinstance(before, dict):  # of its keys neither
                before = {**(defaults[section].get(key) or _usual(plan.config.format_options, key)), **before}
            if before == value:
                continue
            if section != "format" or type(value) is not int or type(before) is not int or value < before:
                raise frozen(plan, log, section, key, before, value)
            grown[key] = value
    return grown


def _usual(options: BaseModel, key: str) -> dict[str, Any]:
    """The defaults within a table of the format that is not there unless it is written."""
    table = type(getattr(options, key, None))
    fields = table.model_fields if issubclass(table, BaseModel) else {}
    return {name: field.default for name, field in fields.items() if not field.is_required()}


def frozen(
    plan: Plan, log: TournamentLog, section: str, key: str, before: object, value: object, why: str = ""
) -> StoreRefused:
    """The refusal of a changed setting."""
    what = f"{section}.{key} is frozen for {log.title}: it was {before!r}, the file says {value!r}{why}"
    step = "put it back, or start the next edition with run --new once this one has ended"
    return StoreRefused(what, place=plan.config.at(section, key), step=step)


def refuse_openings_to_come(
    plan: Plan, log: TournamentLog, grown: dict[str, int], format_: Format[Any], state: Any
) -> None:
    """As `plan.refuse_openings`, once settings have grown and who is new in the file has joined; nothing is written.

    StoreRefused when the format cannot go on with the larger settings.
    """
    if grown:
        try:
            state = format_.step(state, Extended(tuple(grown.items())))
        except ValueError as error:
            key = next(iter(grown))
            now = {**log.config["format"], **log.grown}
            raise frozen(plan, log, "format", key, now[key], grown[key], f" ({error})") from None
    for entrant in plan.entrants:
        with suppress(ValueError):  # whom the format does not take is refused in a moment
            state = state if entrant.name in log.specs else format_.step(state, Added(entrant))
    if not plan.suite.is_large or not (offers := format_.offers(state)):
        return
    most = log.last_number + format_.remaining(state)[1]
    with suppress(ValueError, InputRefused):  # that it takes no more with so few
        # Encounters of who has left are not played, and the numbers go on behind them.
        most = max(most, plan.format.remaining(plan.format.start(log.entrants))[1])
    suite = plan.of_edition(log.edition, log.config.get("per", plan.config.play.openings.per)).suite
    suite.check(most, min(map(suite.dealing.turn, offers)))


def same_engines(
    plan: Plan,
    log: TournamentLog,
    *,
    accept_change: bool,
    check_stop: Callable[[], None],
    executor: LocalExecutor | None = None,
) -> dict[str, Side]:
    """Sides for every entrant of the log; a changed binary, net or option stops here unless it is accepted."""
    _refuse_exchanged(plan, log)
    sides: dict[str, Side] = {}
    changed: dict[str, EngineSpec] = {}
    played_by, gone = log.config.get("sides", {}), log.gone
    for name, spec in log.specs.items():
        if name in gone:  # it plays no more, so it may change: a replaced one often has
            continue
        side, control = plan.sides.get(name), played_by.get(name)
        if side is None:  # joined while running, or left out of the file since: as the log knows it
            known = replace(_known(log, spec, control), variant=plan.config.play.variant) if control else None
            sides[name] = known or plan.side(spec)
            if now := new_fingerprint(spec):
                changed[name] = replace(spec, fingerprint=now)
                sides[name] = replace(sides[name], spec=changed[name])
            continue
        if control:
            _refuse_control(log, name, _known(log, spec, control), side, str(plan.config.path))
        if side.spec.ponder != spec.ponder:
            what = f"ponder of {name} is frozen for {log.title}: it was {spec.ponder}, the file says {side.spec.ponder}"
            raise StoreRefused(what, place=str(plan.config.path), step="put it back")
        sides[name] = side
        if (side.spec.fingerprint, side.spec.options) != (spec.fingerprint, spec.options):
            changed[name] = side.spec
    if changed and not accept_change:
        raise changed_engines_error(changed, log.title)
    if changed:
        tried = {name: sides[name] for name in changed}
        refuse_unfit(probe_all(tried, check_stop=check_stop, hidden=plan.results, executor=executor), sides)
        log.accept_change(changed)
    return sides


def left_out(plan: Plan, log: TournamentLog) -> list[str]:
    """Who stood in the file when the tournament began, stands there no more, and plays on all the same."""
    begun_with, gone = log.config.get("sides", {}), log.gone
    return [name for name in log.specs if name in begun_with and name not in gone and name not in plan.sides]


def ignored_changes(plan: Plan, log: TournamentLog) -> Iterator[str]:
    """What the file says now and the tournament does not do, a sentence each."""
    for name in left_out(plan, log):
        leave = shlex.join(["enginetour", "withdraw", "-t", log.name, name])
        yield f"{name} is no longer in {plan.config.path.name} and plays on; {leave} takes it out"
    known = log.known_ratings
    for entrant in plan.entrants:
        before, now = known.get(entrant.name), entrant.rating
        if now not in (None, before) and entrant.name in log.specs and entrant.name not in log.gone:
            began = "began without a rating" if before is None else f"keeps the rating it began with, {before:g}"
            yield f"{entrant.name} {began}; {plan.config.path.name} says {now:g}, which holds for the next edition"


def _refuse_exchanged(plan: Plan, log: TournamentLog) -> None:
    """StoreRefused when somebody is new in the file and another left out: the one would join, the other play on.

    It is a new name, an exchange, or a copy of the file for another tournament.
    """
    joining = [entrant.name for entrant in plan.entrants if entrant.name not in log.specs]
    if joining and (away := left_out(plan, log)):
        new, old = (f"{names[0]}{f' and {len(names) - 1} more' * (len(names) > 1)}" for names in (joining, away))
        what = f"the file has {new} instead of {old}, and {log.title} would play on with both"
        step = (
            "put back what it had, or enginetour replace OLD NEW; another tournament has another name, the next "
            "edition starts with run --new once this one has ended"
        )
        raise StoreRefused(what, place=str(plan.config.path), step=step)
