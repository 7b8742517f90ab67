"""Start or resume a tournament: create a session from a plan and the database, and play it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import wait
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from enginetour.engines import machine as machinespeed
from enginetour.engines.identity import EngineFiles, changed_engines_error, new_fingerprint
from enginetour.engines.machine import describe_overload, off_engine_cores
from enginetour.formats.base import Format
from enginetour.interop.files import bundled_openings
from enginetour.model.errors import InputRefused, StoreRefused, TourError, UsageRefused
from enginetour.model.game import Added, Entrant, Extended, Pairing
from enginetour.model.task import EngineSpec, GameTask, OwnBook, ProbeResult, Side, TimeTerms
from enginetour.model.timecontrol import TimeControl
from enginetour.store.database import PATIENCE_S, backend_of, lock_of
from enginetour.store.dialect import Lock
from enginetour.store.log import TournamentLog
from enginetour.store.replay import audit, fold, require_finished
from enginetour.store.tournaments import Draft, Store
from enginetour.tournament.changes import StoppedTournament, TournamentEditor, find_newcomer
from enginetour.tournament.config.entrants import control_warnings, without_options
from enginetour.tournament.config.sections import PlaySection, RatingsSection, listed_order
from enginetour.tournament.executor import LocalExecutor, SlotSettings, end_leftovers
from enginetour.tournament.plan import (
    Plan,
    ordered,
    own_cores,
    refuse_few,
    refuse_field,
    refuse_openings,
    reserve_doubts,
    scale_doubts,
)
from enginetour.tournament.probing import (
    Begun,
    probe_all,
    refuse_unfit,
    release_warnings,
    unsupported_openings,
    without_lacking,
)
from enginetour.tournament.quality import FailureCounts, Reserves, counted_failures
from enginetour.tournament.scheduler import GameLimit, RunEnd, Scheduler, Watcher
from enginetour.tournament.setbacks import Standstill

if TYPE_CHECKING:
    from enginetour.tournament.cluster.executor import DaskExecutor


_FIRST_LABELS = "858bde0be4a96838daf3e837b9d749dc"  # digest of the bundled openings when their names were E001 to E060


def stored_controls(sides: Mapping[str, Side]) -> dict[str, dict[str, Any]]:
    """Return the time controls, margins and books of all entrants, ready for JSON."""
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
    from enginetour.store.check import wrong_type  # imported here: a new tournament starts faster without it

    try:
        white, black = _terms(control), control.get("black")
        book = OwnBook(**control["own_book"]) if control.get("own_book") else None
        black_terms = None if black is None else _terms(black)
        side = Side(spec, white.tc, white.margin_ms, own_book=book, black=black_terms)
        odd = wrong_type(side)
    except (ValueError, TypeError, LookupError, AttributeError) as error:  # the stored JSON may have any shape
        odd = f"{type(error).__name__}: {error}"
    if odd:
        what = f"the time control of {spec.name!r} cannot be read: {odd}"
        raise StoreRefused(what, place=log.title, step="restore a backup of the database")
    return side


def _refuse_control(log: TournamentLog, name: str, before: Side, side: Side, place: str) -> None:
    for was, now, word in zip(before.controls, side.controls, ("", " with Black"), strict=True):
        if was != now:
            what = f"tc of {name}{word} cannot change in {log.title}: it was {was}, found {now}"
            raise StoreRefused(what, place=place, step="restore the previous value")
    books = [None if each.own_book is None else replace(each.own_book, path="") for each in (before, side)]
    if books[0] != books[1]:
        what = f"own_book of {name} cannot change in {log.title}, but the book or its settings differ"
        raise StoreRefused(what, place=place, step="restore the previous book")


def grown_settings(plan: Plan, log: TournamentLog) -> dict[str, int]:
    """Return numbers of the format that the file increases. Raise StoreRefused for every other changed setting."""
    stored, written = log.config, plan.config.frozen_part()
    grown: dict[str, int] = {}
    relabelled = stored.get("suite") == _FIRST_LABELS and plan.book.source == str(bundled_openings())
    if stored.get("suite", plan.book.digest) != plan.book.digest and not relabelled:
        what = f"the openings of {log.title} have changed since it started: {plan.book.source}"
        step = f"restore the file, or {plan.config.later}"
        raise StoreRefused(what, place=plan.config.at("play", "openings", "file"), step=step)
    defaults = {
        "format": type(plan.config.format_options).model_construct().model_dump(mode="json"),
        "play": PlaySection().model_dump(mode="json"),
    }
    for section in ("tournament", "format", "play"):
        now = stored[section] | (log.extended_settings if section == "format" else {})
        for key, value in written[section].items():
            before = now[key] if key in now else defaults[section].get(key)  # older versions did not store the key
            if isinstance(before, dict):  # nor some keys of its tables
                before = {**(defaults[section].get(key) or _usual(plan.config.format_options, key)), **before}
            if before == value:
                continue
            if section != "format" or type(value) is not int or type(before) is not int or value < before:
                raise frozen(plan, log, section, key, before, value)
            grown[key] = value
    return grown


def _usual(options: BaseModel, key: str) -> dict[str, Any]:
    """Return the default values of the keys in an optional table of the format."""
    table = type(getattr(options, key, None))
    fields = table.model_fields if issubclass(table, BaseModel) else {}
    return {name: field.default for name, field in fields.items() if not field.is_required()}


def frozen(
    plan: Plan, log: TournamentLog, section: str, key: str, before: object, value: object, why: str = ""
) -> StoreRefused:
    """Return the error for a changed setting."""
    what = f"{section}.{key} cannot change in {log.title}: it was {before!r}, found {value!r}{why}"
    return StoreRefused(what, place=plan.config.at(section, key), step=f"restore the value, or {plan.config.later}")


def refuse_openings_to_come(
    plan: Plan, log: TournamentLog, grown: dict[str, int], format_: Format[Any], state: Any
) -> None:
    """Check the openings that may still be played, with increased settings and new entrants. Nothing is written.

    Raise InputRefused for an invalid opening, and StoreRefused if the format cannot continue with the increased
    settings.
    """
    if grown:
        try:
            state = format_.step(state, Extended(tuple(grown.items())))
        except ValueError as error:
            key = next(iter(grown))
            now = {**log.config["format"], **log.extended_settings}
            raise frozen(plan, log, "format", key, now[key], grown[key], f" ({error})") from None
    for entrant in plan.entrants:
        with suppress(ValueError):  # this error is raised later, when the entrant joins
            state = state if entrant.name in log.specs else format_.step(state, Added(entrant))
    if not plan.book.is_large or not (offers := format_.offers(state)):
        return
    most = log.last_number + format_.remaining(state)[1]
    with suppress(ValueError, InputRefused):  # if the format does not allow so few entrants
        # Encounters of withdrawn entrants are not played, but their numbers are not used again.
        most = max(most, plan.format.remaining(plan.format.start(log.entrants))[1])
    book = plan.of_edition(log.edition, log.config.get("per", plan.config.play.openings.per)).book
    book.check(most, min(map(book.dealing.turn, offers)))


def same_engines(plan: Plan, log: TournamentLog, *, accept_change: bool) -> tuple[dict[str, Side], list[str]]:
    """Return how each entrant plays, and the entrants whose engines or options have changed.

    A change is an error, unless `accept_change` is true.
    """
    _refuse_exchanged(plan, log)
    sides: dict[str, Side] = {}
    changed: dict[str, EngineSpec] = {}
    played_by, gone = log.config.get("sides", {}), log.gone
    for name, spec in log.specs.items():
        if name in gone:  # it does not play any more, so its engine may change
            continue
        side, control = plan.sides.get(name), played_by.get(name)
        if side is None:  # it joined during a run, or was removed from the file: the log has its settings
            known = replace(_known(log, spec, control), variant=plan.config.play.variant) if control else None
            sides[name] = known or plan.side(spec)
            if now := new_fingerprint(spec):
                changed[name] = replace(spec, fingerprint=now)
                sides[name] = replace(sides[name], spec=changed[name])
            continue
        if control:
            _refuse_control(log, name, _known(log, spec, control), side, str(plan.config.path))
        if side.spec.ponder != spec.ponder:
            what = f"ponder of {name} cannot change in {log.title}: it was {spec.ponder}, found {side.spec.ponder}"
            raise StoreRefused(what, place=str(plan.config.path), step="restore the previous value")
        sides[name] = side
        if (side.spec.fingerprint, side.spec.options) != (spec.fingerprint, spec.options):
            changed[name] = side.spec
    if changed and not accept_change:
        raise changed_engines_error(changed, log.title)
    return sides, [*changed]


def as_recorded(plan: Plan, log: TournamentLog) -> Plan:
    """Return the plan without options of ``[defaults]`` that the engines of a tournament turned out not to have."""
    sides = dict(plan.sides)
    for name, spec in log.specs.items():
        if name in sides and spec.optional:
            has = {option.casefold() for option, _ in spec.options}
            lacking = [option for option in spec.optional if option not in has]
            sides[name] = replace(sides[name], spec=without_options(sides[name].spec, lacking))
    return replace(plan, sides=sides)


def left_out(plan: Plan, log: TournamentLog) -> list[str]:
    """Return entrants that were in the file at the start, are not in it now, and have not withdrawn."""
    begun_with, gone = log.config.get("sides", {}), log.gone
    return [name for name in log.specs if name in begun_with and name not in gone and name not in plan.sides]


def ignored_changes(plan: Plan, log: TournamentLog) -> Iterator[str]:
    """Yield warnings about differences between the file and the tournament that have no effect."""
    reserves, gone = {entrant.name for entrant in plan.reserves}, log.gone
    for name in (entrant.name for entrant in log.entrants if entrant.name in reserves - gone):
        yield f"{name} is a reserve in {plan.config.path.name} but has started the tournament, so it stays in it"
    for name in left_out(plan, log):
        step = f"to remove it, run {shlex.join(['enginetour', 'withdraw', '-t', log.name, name])}"
        yield f"{name} is no longer in {plan.config.path.name} but stays in the tournament. Hint: {step}"
    known = log.known_ratings
    for entrant in plan.entrants:
        before, now = known.get(entrant.name), entrant.rating
        if now not in (None, before) and entrant.name in log.specs and entrant.name not in log.gone:
            started = "started without a rating" if before is None else f"keeps its starting rating {before:g}"
            yield f"{entrant.name} {started}; the rating {now:g} in {plan.config.path.name} applies to the next edition"


def _refuse_exchanged(plan: Plan, log: TournamentLog) -> None:
    """Raise StoreRefused if the file has both new and missing entrants.

    The user may have renamed or replaced an entrant, or copied the file for another tournament. Without this check, the
    new entrant would join and the missing entrant would stay.
    """
    joining = [entrant.name for entrant in plan.entrants if entrant.name not in log.specs]
    if joining and (away := left_out(plan, log)):
        new, old = (f"{names[0]}{f' and {len(names) - 1} more' * (len(names) > 1)}" for names in (joining, away))
        what = f"the file has {new} instead of {old}; {log.title} would continue with both"
        step = (
            "restore the entrants, use enginetour replace OLD NEW, set another tournament name, or start the next "
            "edition with run --new after this one has ended"
        )
        raise StoreRefused(what, place=str(plan.config.path), step=step)


# Sessions.

Ready = Callable[[Scheduler, TournamentEditor], Sequence[AbstractContextManager[Any]]]


@dataclass
class Session:
    """One run of one tournament, with its lock and open database."""

    plan: Plan
    store: Store
    log: TournamentLog
    sides: dict[str, Side]
    resumed: bool
    folded: tuple[Format[Any], Any] | None  # the format, and the state after the log; `play` uses it
    reserves: Reserves  # may be shared with other tournaments
    refusal: TourError | None = None  # why the run could not continue; set when `play` returns

    def __post_init__(self) -> None:
        """Use the plan of the edition, with the order of openings that the tournament started with."""
        per = self.log.config.get("per", self.plan.config.play.openings.per)
        self.plan = self.plan.of_edition(self.log.edition, per)
        self._files = EngineFiles(self.log.title)

    def failures(self) -> FailureCounts:
        """Return the failures of the tournament so far, with the limits of the file."""
        return counted_failures(self.log, self.plan.config.quality.limits())

    def task(self, pairing: Pairing, again: int) -> GameTask:
        """Return the task of a game. Raise InputRefused if an engine has changed since its last game."""
        task, aborts = self.plan.task(self.sides, pairing, again), self.log.aborts(pairing.key)
        self._files.refuse_changed(*(self.sides[name].spec for name in pairing.pair))
        return replace(task, aborts=aborts) if aborts else task


@contextmanager
def open_session(
    plan: Plan,
    executor: LocalExecutor,
    *,
    new: bool,
    accept_change: bool,
    tell: Callable[[str], None],
    check_stop: Callable[[], None] = lambda: None,
    begun: Begun | None = None,
    reserves: Reserves | None = None,
) -> Iterator[Session]:
    """Lock, probe engines, and create or resume the tournament. Nothing is written before all engines can play.

    `check_stop` is called during probes, before writes, and while another program has locked the database; an error
    that it raises ends the session. `begun` are probes that have been started. `reserves` are shared with other
    tournaments; by default, they are the reserves of the plan that have not played in this tournament.
    """
    with ExitStack() as stack:
        lock = lock_of(plan.database, plan.config.tournament.name)
        opening = _Opening(plan, executor, tell, check_stop, accept_change, stack, lock, begun or {}, reserves)
        yield opening.session(new=new)


@dataclass
class _Opening:
    """Creates or resumes a tournament."""

    plan: Plan
    executor: LocalExecutor
    tell: Callable[[str], None]
    check_stop: Callable[[], None]
    accept_change: bool
    stack: ExitStack
    lock: Lock
    begun: Begun
    reserves: Reserves | None

    def session(self, *, new: bool) -> Session:
        plan, name = self.plan, self.plan.config.tournament.name
        backend = backend_of(plan.database)
        made = backend.exists()  # an empty file, from `mktemp` or an early kill, does not count
        backend.require_writable()
        edition = 1
        if made:
            wait(self.begun.values())  # a resumed tournament needs no probes, but its games need free slots
            # Open an existing database before the lock: a database of another program must not get a lock file.
            store = self._store(create=False)
            if store.has(name) and not new:
                return self._resume(store)
            require_finished(store, name)
            refuse_few(plan)
            plan = ordered(plan, store, self.tell)
            edition = store.newest_edition(name) + 1
        elif listed_order(plan.config.tournament.order):
            step = "create the list first: enginetour lists define NAME"
            raise InputRefused("list not found", place=plan.config.at("tournament", "order"), step=step)
        else:
            refuse_few(plan)
            refuse_field(plan)  # there is no database with ratings
        refuse_openings(plan, edition)
        probes = self._probe(plan.sides)
        plan = self._without_lacking(plan, probes)
        self._warn(release_warnings(probes, plan.files))
        self._warn(unsupported_openings(plan.book, plan.sides, probes))
        self._warn(control_warnings(plan.sides.values()))
        self.check_stop()
        if not made:
            store = self._store(create=True)
            if store.has(name):  # another run created it during the probes, and has stopped
                return self._resume(store)
        return self._create(plan, store)

    def _store(self, *, create: bool) -> Store:
        store = self.stack.enter_context(Store.open(self.plan.database, create=create, check_stop=self.check_stop))
        self._warn(store.database.warnings)
        store.database.patience, store.database.notify = PATIENCE_S, self.tell
        self.stack.enter_context(self.lock)
        return store

    def _probe(self, sides: Mapping[str, Side]) -> dict[str, ProbeResult]:
        probes = probe_all(sides, check_stop=self.check_stop, executor=self.executor, begun=self.begun)
        refuse_unfit(probes, sides)
        return probes

    def _without_lacking(self, plan: Plan, probes: Mapping[str, ProbeResult]) -> Plan:
        """Return the plan without options of ``[defaults]`` that the probed engines do not have; report them."""
        sides, notes = without_lacking(plan.sides, probes)
        for note in notes:
            self.tell(f"note: {note}")
        return replace(plan, sides=sides)

    def _tell_lines(self, text: str) -> None:
        for line in text.splitlines():
            self.tell(line)

    def _warn(self, warnings: Iterable[str]) -> None:
        for text in warnings:
            self.tell(f"warning: {text}")

    def _create(self, plan: Plan, store: Store) -> Session:
        machine = machinespeed.this_machine(plan.wanted_speed)
        plan, known = self._at_speed(plan, machine), {"machine": machine.to_json()} if machine.speed else {}
        draft = Draft(
            name=plan.config.tournament.name,
            system=plan.config.system,
            format_version=plan.format.version,
            config=plan.config.as_stored()
            | {"sides": stored_controls(plan.sides), "suite": plan.book.digest, "per": plan.book.per}
            | {"dealing": asdict(plan.book.dealing), **known},
            seed=plan.config.tournament.seed,
            entrants=plan.entrants,
            specs={name: side.spec for name, side in plan.sides.items()},
        )
        notes = plan.format.notes(plan.format.start(plan.entrants))
        log = store.create_tournament(draft, notes)
        log.require_lock(self.lock)
        for note in notes:
            if note.is_warning:
                self._warn([note.text])
            elif note.kind in ("starts", "round"):
                self.tell(note.text)
        self._warn(scale_doubts(plan))
        self._warn(reserve_doubts(plan))
        return Session(
            plan, store, log, dict(plan.sides), resumed=False, folded=fold(log), reserves=self._reserves(log)
        )

    def _resume(self, store: Store) -> Session:
        log = store.tournament(self.plan.config.tournament.name)
        plan = as_recorded(self.plan, log)
        log.require_lock(self.lock)
        grown = grown_settings(plan, log)
        format_, state = audit(log)
        refuse_openings_to_come(plan, log, grown, format_, state)
        sides, names = same_engines(plan, log, accept_change=self.accept_change)
        reserves, changed = self._reserves(log), {name: sides[name] for name in names}
        joining = [entrant for entrant in plan.entrants if entrant.name not in log.specs]
        waiting = [name for name in reserves.free if name in plan.sides and name not in log.specs]
        fresh = {name: plan.sides[name] for name in [*(one.name for one in joining), *waiting]}
        probes = self._probe(changed | fresh)  # all of them before the first write
        plan = self._at_speed(plan, machinespeed.this_machine(plan.wanted_speed, log.config.get("machine")))
        if format_.offers(state):
            self._warn(ignored_changes(plan, log))
        session = Session(plan, store, log, sides, resumed=True, folded=None, reserves=reserves)
        if changed:
            session.sides |= without_lacking(changed, {name: probes[name] for name in changed})[0]
            log.accept_change({name: session.sides[name].spec for name in changed})
        editor = TournamentEditor(log, format_, StoppedTournament(state))
        if grown:
            self._tell_lines(editor.extend(grown, "in the file"))
        plan = self._without_lacking(plan, {name: probes[name] for name in fresh})
        session.sides |= {name: plan.sides[name] for name in waiting}
        for entrant in joining:
            side = session.sides[entrant.name] = plan.sides[entrant.name]
            try:
                self._tell_lines(editor.add(entrant, side.spec, "added to the file"))
            except ValueError as error:
                step = "start the next edition with run --new"
                raise UsageRefused(str(error), place=entrant.name, step=step) from None
        session.folded = (format_, editor.state)
        return session

    def _reserves(self, log: TournamentLog) -> Reserves:
        if self.reserves is not None:
            return self.reserves
        played = log.specs
        return Reserves(entrant.name for entrant in self.plan.reserves if entrant.name not in played)

    def _at_speed(self, plan: Plan, machine: machinespeed.Machine) -> Plan:
        if machine.speed is not None:
            self.tell(machine.words)
            try:
                for tc in [tc for side in plan.sides.values() for tc in side.controls]:
                    tc.scaled(1 / machine.speed, nodes=False)
            except ValueError as error:
                place = plan.config.at("play", "speed")
                raise InputRefused(str(error), place=place, step="choose a shorter tc") from None
        return replace(plan, speed=machine.speed)


def play(
    session: Session,
    here: LocalExecutor,
    watcher: Watcher,
    *,
    slots: int,
    limit: GameLimit,
    ready: Ready,
    cluster: DaskExecutor | None = None,
) -> RunEnd:
    """Play until the end of the run, on this machine (`here`) or on a `cluster`. Then close the executor.

    `ready` is called once before the first game, with the scheduler and the editor. It returns contexts for signals and
    the control socket.
    """
    config, settings = session.plan.config, session.plan.config.play
    if config.ratings.settings():
        update_rating_systems(session.store, config.ratings)  # the settings apply even if this run ends early
    picture = getattr(watcher, "event", None)
    # End processes that an earlier run of this tournament left after a SIGKILL; this run has the lock now.
    backend = session.store.database.backend
    tag = f"{backend.tag()}:{session.log.slug}"
    for leftover in end_leftovers(tag):
        watcher.trouble(f"ended a process of an earlier run: {leftover}")
    affinity = settings.affinity
    cores = own_cores(session.sides.values(), slots, config.at("play", "affinity")) if affinity is True else None
    (format_, state), session.folded = session.folded or fold(session.log), None  # so that old states are freed
    executor = cluster or here
    slot_settings = SlotSettings(tag, cores, affinity == "quick", settings.start_parallel, session.plan.results)
    here.reassign(slots, picture, slot_settings)
    copies = {name: side.spec.max_copies for name, side in session.sides.items()}
    waiting = [entrant for entrant in session.plan.reserves if entrant.name in session.sides]
    scheduler = Scheduler(
        log=session.log,
        format=format_,
        entrants=session.log.entrants,
        folded=state,
        executor=executor,
        task_for=session.task,
        slots=slots,
        limit=limit,
        copies=copies,
        watcher=watcher,
        free_bytes=backend.free_bytes,
        busy=describe_overload if cluster is None else str,
        standstill=Standstill(settings.suspend_patience, settings.on_suspend == "withdraw"),
        count_failures=session.failures,
        reserves=session.reserves,
        substitutes={one.name: (one, session.sides[one.name].spec) for one in waiting},
    )

    if cluster is not None:
        cluster.open(tag, picture, lambda text: scheduler.inbox.put(lambda: watcher.trouble(text)))

    def joined(entrant: Entrant, spec: EngineSpec) -> None:
        session.sides[entrant.name] = session.plan.side(spec)
        copies[entrant.name] = spec.max_copies

    newcomer = partial(find_newcomer, workspace=session.plan.workspace, log=session.log)
    editor = TournamentEditor(session.log, format_, scheduler, newcomer, joined)
    try:
        with ExitStack() as stack:
            stack.enter_context(off_engine_cores(cores, slots))
            for context in ready(scheduler, editor):
                stack.enter_context(context)
            end = scheduler.run()
            session.refusal = scheduler.refusal
            return end
    finally:
        executor.close()


def update_rating_systems(store: Store, ratings: RatingsSection) -> None:
    """Update the rating events of the configured incremental systems, with the given settings."""
    given = ratings.settings()
    for system in ratings.systems:
        if system != "ml":
            from enginetour.store.ratings import update_ratings  # imported here: it is rarely used

            update_ratings(store, system, given.get(system))
