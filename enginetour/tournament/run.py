"""Start or resume a tournament: a plan and the database become a session, and the session is played."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from enginetour.model.task import EngineSpec, GameTask, ProbeResult, Side
from enginetour.store.address import slug_of
from enginetour.store.database import PATIENCE_S, backend_of, lock_of
from enginetour.store.dialect import Lock
from enginetour.store.log import TournamentLog
from enginetour.store.ratings import update_ratings
from enginetour.store.replay import audit, fold, last_standings, refuse_unfinished
from enginetour.store.tournaments import Draft, Store
from enginetour.tournament.changes import StoppedTournament, TournamentEditor, find_newcomer
from enginetour.tournament.config.entrants import control_warnings
from enginetour.tournament.config.sections import RatingsSection, listed_order
from enginetour.tournament.executor import LocalExecutor, SlotSettings, end_leftovers
from enginetour.tournament.limits import own_cores
from enginetour.tournament.plan import Plan, ordered, refuse_few, refuse_field, refuse_openings, scale_doubts
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
    from enginetour.tournament.cluster.executor import DaskExecutor


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
    executor: LocalExecutor,
    *,
    new: bool,
    accept_change: bool,
    tell: Callable[[str], None],
    check_stop: Callable[[], None] = lambda: None,
) -> Iterator[Session]:
    """Lock, probe what must be probed, create or resume; nothing is written before all engines are known to be fit.

    Engines are probed in `executor`. `check_stop` is called while they are, before anything is written, and as long as
    the session lasts while another program holds the database; what it raises ends that.
    """
    with ExitStack() as stack:
        lock = lock_of(plan.database, slug_of(plan.config.tournament.name))
        opening = _Opening(plan, executor, tell, check_stop, accept_change, stack, lock)
        yield opening.session(new=new)


@dataclass
class _Opening:
    """What is needed to create or resume a tournament."""

    plan: Plan
    executor: LocalExecutor
    tell: Callable[[str], None]
    check_stop: Callable[[], None]
    accept_change: bool
    stack: ExitStack
    lock: Lock

    def session(self, *, new: bool) -> Session:
        plan, name = self.plan, self.plan.config.tournament.name
        backend = backend_of(plan.database)
        made = backend.is_made()  # `mktemp`, or a kill in the first moment, leaves an empty file
        backend.refuse_unwritable()
        edition = 1
        if made:
            # An existing database is looked at before its tournament is locked: one from elsewhere would get a lock of
            # ours beside it.
            store = self._store(create=False)
            if store.has(name) and not new:
                return self._resume(store)
            refuse_unfinished(store, name)
            refuse_few(plan)
            plan = ordered(plan, store, self.tell, last_standings)
            edition = store.newest_edition(name) + 1
        elif listed_order(plan.config.tournament.order):
            step = "a list orders the next tournament of its database"
            raise InputRefused("there is no list yet", place=plan.config.at("tournament", "order"), step=step)
        else:
            refuse_few(plan)
            refuse_field(plan)  # no database, no ratings from it
        refuse_openings(plan, edition)
        probes = self._probe(plan.sides)
        self._warn(release_warnings(probes, plan.files))
        self._warn(unsupported_openings(plan.suite, plan.sides, probes))
        self._warn(control_warnings(plan.sides.values()))
        self.check_stop()
        if not made:
            store = self._store(create=True)
            if store.has(name):  # another run made it while we were probing, and has stopped
                return self._resume(store)
        return self._create(plan, store)

    def _store(self, *, create: bool) -> Store:
        store = self.stack.enter_context(Store.open(self.plan.database, create=create, heed=self.check_stop))
        self._warn(store.database.warnings)
        store.database.patience, store.database.tell = PATIENCE_S, self.tell
        self.stack.enter_context(self.lock)
        return store

    def _probe(self, sides: Mapping[str, Side]) -> dict[str, ProbeResult]:
        probes = probe_all(sides, check_stop=self.check_stop, executor=self.executor)
        refuse_unfit(probes, sides)
        return probes

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
            | {"sides": stored_controls(plan.sides), "suite": plan.suite.digest, "per": plan.suite.per}
            | {"dealing": asdict(plan.suite.dealing), **known},
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
        return Session(plan, store, log, dict(plan.sides), resumed=False, folded=fold(log))

    def _resume(self, store: Store) -> Session:
        plan, log = self.plan, store.tournament(self.plan.config.tournament.name)
        log.require_lock(self.lock)
        grown = grown_settings(plan, log)
        format_, state = audit(log)
        refuse_openings_to_come(plan, log, grown, format_, state)
        sides = same_engines(
            plan, log, accept_change=self.accept_change, check_stop=self.check_stop, executor=self.executor
        )
        plan = self._at_speed(plan, machinespeed.this_machine(plan.wanted_speed, log.config.get("machine")))
        if format_.offers(state):
            self._warn(ignored_changes(plan, log))
        session = Session(plan, store, log, sides, resumed=True, folded=None)
        editor = TournamentEditor(log, format_, StoppedTournament(state))
        if grown:
            self.tell(editor.extend(grown, "in the file"))
        joining = [entrant for entrant in plan.entrants if entrant.name not in log.specs]
        if joining:
            self._probe({entrant.name: plan.sides[entrant.name] for entrant in joining})
        for entrant in joining:
            side = session.sides[entrant.name] = plan.sides[entrant.name]
            try:
                self.tell(editor.add(entrant, side.spec, "added to the file"))
            except ValueError as error:
                step = "start the next edition with run --new"
                raise UsageRefused(str(error), place=entrant.name, step=step) from None
        session.folded = (format_, editor.state)
        return session

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
    most_games: int | None,
    ready: Ready,
    cluster: DaskExecutor | None = None,
) -> RunEnd:
    """Play to the end, on this machine (`here`) or on a `cluster`; the executor is closed then.

    `ready` is called once before the first game, with what signals and the socket act on.
    """
    config, settings = session.plan.config, session.plan.config.play
    if config.ratings.settings():
        update_rating_systems(session.store, config.ratings)  # the settings hold from now on, however this run ends
    picture = getattr(watcher, "event", None)
    # What an earlier run of this very tournament left behind after a SIGKILL is ended first; the lock is ours.
    backend = session.store.database.backend
    tag = f"{backend.tag()}:{session.log.slug}"
    for leftover in end_leftovers(tag):
        watcher.trouble(f"ended a leftover of an earlier run: {leftover}")
    affinity = settings.affinity
    cores = own_cores(session.sides.values(), slots, config.at("play", "affinity")) if affinity is True else None
    (format_, state), session.folded = session.folded or fold(session.log), None  # a state of long ago is not kept
    executor = cluster or here
    slot_settings = SlotSettings(tag, cores, affinity == "quick", settings.start_parallel, session.plan.results)
    here.reassign(slots, picture, slot_settings)
    copies = {name: side.spec.max_copies for name, side in session.sides.items()}
    scheduler = Scheduler(
        log=session.log,
        format=format_,
        entrants=session.log.entrants,
        folded=state,
        executor=executor,
        task_for=session.task,
        slots=slots,
        most_games=most_games,
        copies=copies,
        watcher=watcher,
        free_bytes=backend.free_bytes,
        busy=describe_overload if cluster is None else str,
        standstill=Standstill(settings.suspend_patience, settings.on_suspend == "withdraw"),
    )

    if cluster is not None:
        cluster.open(tag, picture, lambda text: scheduler.inbox.put(lambda: watcher.trouble(text)))

    def joined(entrant: Entrant, spec: EngineSpec) -> None:
        session.sides[entrant.name] = session.plan.side(spec)
        copies[entrant.name] = spec.max_copies

    newcomer = partial(find_newcomer, workspace=session.plan.workspace)
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
    """Bring the rating events of the incremental systems asked for up to the log, by the settings given."""
    given = ratings.settings()
    for system in ratings.systems:
        if system != "ml":
            update_ratings(store, system, given.get(system))
