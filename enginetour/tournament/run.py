"""Start or resume a tournament: a plan and the database become a session, and the session is played."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from enginetour.engines import machine as machinespeed
from enginetour.engines.identity import EngineFiles
from enginetour.engines.machine import describe_overload, off_engine_cores
from enginetour.formats.base import Format
from enginetour.model.errors import InputRefused, TourError, UsageRefused
from enginetour.model.game import Entrant, Pairing
from enginetour.model.task import EngineSpec, GameTask, Side
from enginetour.store.address import slug_of
from enginetour.store.database import PATIENCE_S, backend_of, lock_of
from enginetour.store.dialect import Lock
from enginetour.store.log import TournamentLog
from enginetour.store.ratings import update_ratings
from enginetour.store.replay import audit, fold, last_standings, refuse_unfinished
from enginetour.store.tournaments import Draft, Store
from enginetour.tournament.changes import TournamentEditor, editor_of, find_newcomer
from enginetour.tournament.config.entrants import control_warnings
from enginetour.tournament.config.sections import RatingsSection, listed_order
from enginetour.tournament.limits import own_cores
from enginetour.tournament.places import LocalExecutor, end_leftovers
from enginetour.tournament.plan import Plan, refuse_few, refuse_field, refuse_openings, scale_doubts
from enginetour.tournament.probing import probe_all, refuse_unfit, release_warnings, unsupported_openings
from enginetour.tournament.resume import (
    grown_settings,
    ignored_changes,
    refuse_openings_to_come,
    same_engines,
    stored_controls,
)
from enginetour.tournament.scheduler import RunEnd, Scheduler, Watcher
from enginetour.tournament.setbacks import Standstill

if TYPE_CHECKING:
    from enginetour.tournament.cluster.place import DaskExecutor


Ready = Callable[[Scheduler, TournamentEditor], Sequence[AbstractContextManager[Any]]]


@dataclass
class Session:
    """One run of one tournament: what is locked, open and known while it lasts."""

    plan: Plan
    store: Store
    log: TournamentLog
    sides: dict[str, Side]
    resumed: bool
    folded: tuple[Format[Any], Any] | None  # the format, and the state after the log; taken by `play`
    refusal: TourError | None = None  # why the run could not go on; known when `play` has come back

    def __post_init__(self) -> None:
        """The plan is that of the edition, its openings are dealt as they were from the beginning."""
        per = self.log.config.get("per", self.plan.config.play.openings.per)
        self.plan = self.plan.of_edition(self.log.edition, per)
        self._files = EngineFiles(self.log.title)

    def task(self, pairing: Pairing, again: int) -> GameTask:
        """The game of a pairing; InputRefused when an engine is not what it was at its last game."""
        task, aborts = self.plan.task(self.sides, pairing, again), self.log.aborts(pairing.key)
        self._files.refuse_changed(*(self.sides[name].spec for name in pairing.pair))
        return replace(task, aborts=aborts) if aborts else task


@contextmanager
def open_session(
    plan: Plan,
    place: LocalExecutor,
    *,
    new: bool,
    accept_change: bool,
    tell: Callable[[str], None],
    heed: Callable[[], None] = lambda: None,
) -> Iterator[Session]:
    """Lock, probe what must be probed, create or resume; nothing is written before all engines are known to be fit.

    `place` is where they are probed. `heed` is called while they are, before anything is written, and as long as the
    session lasts while somebody else holds the database; what it raises ends that.
    """
    name = plan.config.tournament.name

    def resumed(store: Store) -> Session:
        return _resume(plan, place, store, lock, tell, accept_change=accept_change, heed=heed)

    def opened_store(*, create: bool) -> Store:
        store = stack.enter_context(Store.open(plan.database, create=create, heed=heed))
        for warning in store.database.warnings:
            tell(f"warning: {warning}")
        store.database.patience, store.database.tell = PATIENCE_S, tell
        stack.enter_context(lock)
        return store

    with ExitStack() as stack:
        ground, lock = backend_of(plan.database), lock_of(plan.database, slug_of(name))
        made = ground.is_made()  # `mktemp`, or a kill in the first moment, leaves an empty file
        ground.refuse_unwritable()
        if made:
            # An existing database is looked at before its tournament is locked: one from elsewhere would get a lock of
            # ours beside it.
            store = opened_store(create=False)
            if store.has(name) and not new:
                yield resumed(store)
                return
            refuse_unfinished(store, name)
            refuse_few(plan)
            from enginetour.tournament.plan import ordered  # here: a first tournament does without lists and numpy

            plan = ordered(plan, store, tell, last_standings)
            edition = store.newest_edition(name) + 1
        elif listed_order(plan.config.tournament.order):
            step = "a list orders the next tournament of its database"
            raise InputRefused("there is no list yet", place=plan.config.at("tournament", "order"), step=step)
        else:
            refuse_few(plan)
            refuse_field(plan)  # no database, no ratings from it
            edition = 1
        refuse_openings(plan, edition)
        probes = probe_all(plan.sides, heed=heed, place=place)
        refuse_unfit(probes, plan.sides)
        doubts = (*release_warnings(probes, plan.files), *unsupported_openings(plan.suite, plan.sides, probes))
        for words in (*doubts, *control_warnings(plan.sides.values())):
            tell(f"warning: {words}")
        heed()
        if not made:
            store = opened_store(create=True)
            if store.has(name):  # another run made it while we were probing, and has stopped
                yield resumed(store)
                return
        yield _create(plan, store, lock, tell)


def play(
    session: Session,
    here: LocalExecutor,
    watcher: Watcher,
    *,
    slots: int,
    most_games: int | None,
    ready: Ready,
    cluster: DaskExecutor | None = None,
) -> RunEnd:
    """Play to the end, at the place that is `here` or on a `cluster`; it is closed then.

    `ready` is called once before the first game, with what signals and the socket act on.
    """
    config, settings = session.plan.config, session.plan.config.play
    if config.ratings.settings():
        update_rating_systems(session.store, config.ratings)  # the settings hold from now on, however this run ends
    picture = getattr(watcher, "event", None)
    # What an earlier run of this very tournament left behind after a SIGKILL is ended first; the lock is ours.
    ground = session.store.database.backend
    tag = f"{ground.tag()}:{session.log.slug}"
    for leftover in end_leftovers(tag):
        watcher.trouble(f"ended a leftover of an earlier run: {leftover}")
    affinity = settings.affinity
    cores = own_cores(session.sides.values(), slots, config.at("play", "affinity")) if affinity is True else None
    (format_, state), session.folded = session.folded or fold(session.log), None  # a state of long ago is not kept
    place: LocalExecutor | DaskExecutor = cluster or here
    here.reassign(
        slots,
        picture,
        tag=tag,
        cores=cores,
        together=affinity == "quick",
        start_parallel=settings.start_parallel,
        hidden=session.plan.results,
    )
    copies = {name: side.spec.max_copies for name, side in session.sides.items()}
    scheduler = Scheduler(
        log=session.log,
        format=format_,
        entrants=session.log.entrants,
        folded=state,
        place=place,
        task_for=session.task,
        slots=slots,
        most_games=most_games,
        copies=copies,
        watcher=watcher,
        free_bytes=ground.free_bytes,
        busy=describe_overload if cluster is None else str,
        standstill=Standstill(settings.suspend_patience, settings.on_suspend == "withdraw"),
    )

    if cluster is not None:
        cluster.open(tag, picture, lambda text: scheduler.inbox.put(lambda: watcher.trouble(text)))
    editor = _editor(session, scheduler, copies)
    try:
        with ExitStack() as stack:
            stack.enter_context(off_engine_cores(cores, slots))
            for context in ready(scheduler, editor):
                stack.enter_context(context)
            end = scheduler.run()
            session.refusal = scheduler.refusal
            return end
    finally:
        place.close()


def _editor(session: Session, scheduler: Scheduler, copies: dict[str, int]) -> TournamentEditor:
    """An editor of the running tournament; an engine that joins gets its side and its entry in `copies`."""

    def joined(entrant: Entrant, spec: EngineSpec) -> None:
        session.sides[entrant.name] = session.plan.side(spec)
        copies[entrant.name] = spec.max_copies

    return TournamentEditor(
        session.log,
        scheduler.format,
        lambda: scheduler.state,
        scheduler.take,
        joined,
        scheduler.playing,
        partial(find_newcomer, workspace=session.plan.workspace),
    )


def update_rating_systems(store: Store, ratings: RatingsSection) -> None:
    """Bring the rating events of the incremental systems asked for up to the log, by the settings given."""
    given = ratings.settings()
    for system in ratings.systems:
        if system != "ml":
            update_ratings(store, system, given.get(system))


def _create(plan: Plan, store: Store, lock: Lock, tell: Callable[[str], None]) -> Session:
    machine = machinespeed.this_machine(plan.wanted_speed)
    plan, known = _at_speed(plan, machine, tell), {"machine": machine.to_json()} if machine.speed else {}
    draft = Draft(
        name=plan.config.tournament.name,
        system=plan.config.system,
        format_version=plan.format.version,
        config=plan.config.as_stored()
        | {"sides": stored_controls(plan.sides), "suite": plan.suite.digest, "per": plan.suite.per}
        | {"dealing": asdict(plan.suite.dealing), **known},
        seed=plan.config.tournament.seed,
        entrants=plan.entrants,
        specs={name: side.spec for name, side in plan.sides.items()},
    )
    notes = plan.format.notes(plan.format.start(plan.entrants))
    log = store.create_tournament(draft, notes)
    log.require_lock(lock)
    for note in notes:
        if note.is_warning:
            tell(f"warning: {note.text}")
        elif note.kind in ("starts", "round"):
            tell(note.text)
    for doubt in scale_doubts(plan):
        tell(f"warning: {doubt}")
    return Session(plan, store, log, dict(plan.sides), resumed=False, folded=fold(log))


def _resume(
    plan: Plan,
    place: LocalExecutor,
    store: Store,
    lock: Lock,
    tell: Callable[[str], None],
    *,
    accept_change: bool,
    heed: Callable[[], None],
) -> Session:
    log = store.tournament(plan.config.tournament.name)
    log.require_lock(lock)
    grown = grown_settings(plan, log)
    format_, state = audit(log)
    refuse_openings_to_come(plan, log, grown, format_, state)
    sides = same_engines(plan, log, accept_change=accept_change, heed=heed, place=place)
    plan = _at_speed(plan, machinespeed.this_machine(plan.wanted_speed, log.config.get("machine")), tell)
    for words in ignored_changes(plan, log) if format_.offers(state) else ():
        tell(f"warning: {words}")
    session = Session(plan, store, log, sides, resumed=True, folded=None)
    desk = editor_of(log, format_, state)
    if grown:
        tell(desk.extend(grown, "in the file"))
    joining = {entrant.name: plan.sides[entrant.name] for entrant in plan.entrants if entrant.name not in log.specs}
    if joining:
        refuse_unfit(probe_all(joining, heed=heed, place=place), joining)
    for entrant in plan.entrants:
        if entrant.name in joining:
            side = session.sides[entrant.name] = joining[entrant.name]
            try:
                tell(desk.add(entrant, side.spec, "added to the file"))
            except ValueError as error:
                step = "start the next edition with run --new"
                raise UsageRefused(str(error), place=entrant.name, step=step) from None
    session.folded = (format_, desk.state())
    return session


def _at_speed(plan: Plan, machine: machinespeed.Machine, tell: Callable[[str], None]) -> Plan:
    """InputRefused where a measured speed makes a clock of more than a day."""
    if machine.speed is not None:
        tell(machine.words)
        try:
            for side in plan.sides.values():
                for white in (True, False):
                    side.playing(white=white).at_speed(machine.speed)
        except ValueError as error:
            raise InputRefused(str(error), place=plan.config.at("play", "speed"), step="choose a shorter tc") from None
    return replace(plan, speed=machine.speed)
