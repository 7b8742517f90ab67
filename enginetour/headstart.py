"""What the run of a new tournament begins while the rest of the program is still being loaded: slots, probes, games.

Only where nothing can turn out otherwise: the database knows no tournament of that name, the order is that of the file,
no speed is measured, no engine has processors of its own. Nothing is written meanwhile. Games go on, of those that are
on offer whatever the results, until the loop takes over: each is then written and told in its turn, as if it had ended
just now. That is so if the loop's first task is the very one that was begun first; else all is dropped and begun anew.
"""

from __future__ import annotations

import os
import threading
import tomllib
from collections.abc import Callable
from concurrent.futures import Future, wait
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enginetour.allotment import Allotment
from enginetour.demand import few_files
from enginetour.errors import TaskFailed, TourError
from enginetour.model import GameKey, Outcome, Pairing
from enginetour.places import START_PARALLEL, Listener, LocalPlace, say_wait
from enginetour.rebuilt import Files
from enginetour.store.glimpse import is_new
from enginetour.store.slugs import slug_of
from enginetour.supervise.processors import allowed
from enginetour.task import GameTask, Probe, ProbeTask, SeatTask
from enginetour.wholefile import is_special
from enginetour.workspace import database_of, results_of, workspace_of

if TYPE_CHECKING:
    from enginetour.plan import Plan
    from enginetour.serveraddress import Address

MOST_AHEAD = 64  # games of which nothing is durable yet: those of half a second at most
HEED_S = 0.2  # between two looks at whether to go on, as while engines are probed


def birth_tag(database: Path, workspace: Path, name: str) -> str:
    """Marks what is started for a tournament before its database is there; a file's number is not known yet."""
    here = workspace.stat()
    return f"{database}:{here.st_dev:x}-{here.st_ino:x}:{slug_of(name)}:new"


def birth_tags(plan: Plan) -> tuple[str, ...]:
    """That of a plan's tournament; none where its database is no file."""
    if not isinstance(plan.database, Path):
        return ()
    return (birth_tag(plan.database, plan.workspace, plan.config.tournament.name),)


def warmed(config: Path, db: Address | None, slots: int | None) -> HeadStart | None:
    """Slots for a configuration as it looks at first sight; None where it can have no head start, or cannot be read."""
    if is_special(config):
        return None  # a pipe can be read once
    try:
        table = tomllib.loads(config.read_text("utf-8"))
        name, play = table["tournament"]["name"], table.get("play", {})
        count = slots or play.get("slots", 1)
        folder = config.resolve().parent
        database, workspace = database_of(folder, db), workspace_of(folder)
        fits = isinstance(name, str) and type(count) is int and 0 < count <= allowed().count
        fits = fits and few_files(count) is None  # it would take those by which the refusal is told
        affinity = play.get("affinity", "quick")
        if not fits or affinity is True or not isinstance(database, Path) or not is_new(database, name):
            return None
        tag, together = birth_tag(database, workspace, name), affinity == "quick"
        return HeadStart(tag, count, name, together=together, hidden=results_of(workspace, database))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None  # whoever reads it in earnest has words for it


class HeadStart:
    """A place whose slots start at once; as a context manager it leaves nothing.

    `begun`: the engines of a plan are being probed, and its first game begins when all are fit.
    """

    def __init__(self, tag: str, slots: int, name: str, *, together: bool = False, hidden: Path | None = None) -> None:
        self.begun = False
        self._slots = slots
        self._listener: Listener | None = None
        self._early: list[tuple[int, str, object]] = []  # live events that nobody listened to yet
        self._lock = threading.RLock()  # guards the listener, what it has not heard, probes still to end and the games
        self._probes: list[Future[Any]] = []
        self._decided = threading.Event()  # whether the first game begins
        self._due = 0  # probes still to end
        self._plan: Plan | None = None
        self._allotment = Allotment(slots)
        self._open: list[Pairing] = []  # to be begun until the loop takes over
        self._first: GameKey | None = None
        self.files = Files(name)
        self._games: dict[GameKey, tuple[GameTask, Future[Any]]] = {}  # begun, and not asked for yet
        tag = f"{tag}/{os.urandom(4).hex()}"
        self._place = LocalPlace(slots, self._hear, tag=tag, together=together, hidden=hidden)
        self.tag = self._place.tag
        self._place.warm()

    def begin(self, plan: Plan, slots: int, most_games: int | None = None) -> None:
        """Probe the engines of a plan, then begin its games; nothing where something could turn out otherwise."""
        from enginetour.plan import refuse_openings  # loaded meanwhile

        play, order = plan.config.play, plan.config.tournament.order
        usual = order in (None, "file") and play.speed is None and play.start_parallel == START_PARALLEL
        offers = plan.format.offers(plan.format.start(plan.entrants)) if usual and len(plan.entrants) > 1 else ()
        alone = all(not side.spec.max_copies for side in plan.sides.values())
        if not offers or not alone or slots != self._slots:
            return
        self._plan, self._first = plan, offers[0].key
        self._open = list(offers[: min(MOST_AHEAD, most_games or MOST_AHEAD)])
        refuse_openings(plan)
        task = plan.task(plan.sides, offers[0], 0)  # what it refuses is refused at once
        first = (task.white, task.black)
        others = [side for name, side in plan.sides.items() if name not in offers[0].pair]
        if others:
            self._place.resize(max(slots, min(START_PARALLEL, os.cpu_count() or 1)))
        tried = [SeatTask(tuple(ProbeTask(side.spec, side.variant) for side in first))]
        self._due = 1 + len(others)
        self.begun = True
        self._probes = [self._place.submit(tried[0], prefer=0)]
        self._probes += [self._place.submit(ProbeTask(side.spec, side.variant)) for side in others]
        for future in self._probes:
            future.add_done_callback(self._probed)

    def found(self, heed: Callable[[], None]) -> dict[str, Probe] | None:
        """What the probes found, by name; None where the machine failed one, and all of this is dropped."""
        assert self._plan is not None
        waiting = set(self._probes)
        while waiting:
            heed()
            waiting = wait(waiting, timeout=HEED_S).not_done
        self._decided.wait()  # a moment: whoever waits for a future is woken before those it calls
        try:
            seats, *others = (future.result() for future in self._probes)
        except (TaskFailed, TourError):
            self.close()
            return None
        found = {probe.name: probe for probe in (*seats, *others)}
        return {name: found[name] for name in self._plan.sides}

    def _probed(self, future: Future[Any]) -> None:
        """One more has ended; with the last one, and all fit, the games begin. In the place's thread, or in ours."""
        del future
        with self._lock:
            self._due -= 1
            if self._due:
                return
        try:
            if not any(each.exception() for each in self._probes):
                seats, *others = (each.result() for each in self._probes)
                if not any(probe.problems for probe in (*seats, *others)):
                    self._place.resize(self._slots)
                    self._go_on()
        finally:
            self._decided.set()  # a failure of ours is met again by the loop

    def _go_on(self) -> None:
        """Begin what there is room for. In the place's thread, or in ours."""
        with self._lock:
            for pairing in self._allotment.ordered(self._open):
                slot = self._allotment.slot_for(pairing)
                if slot is None or self._plan is None or pairing not in self._open:  # begun as one ended in this moment
                    continue
                specs = [self._plan.sides[name].spec for name in pairing.pair]
                is_first = pairing.key == self._first
                try:
                    task = self._plan.task(self._plan.sides, pairing, 0)
                    if not is_first:
                        self.files.refuse_changed(*specs)
                    future = self._place.submit(task, prefer=slot)
                    self._open.remove(pairing)
                    self._allotment.begin(slot, pairing)
                    self._games[pairing.key] = (task, future)
                    if is_first:
                        self.files.refuse_changed(*specs)  # beside the game: it takes a tenth of a second and more
                except (RuntimeError, TourError):  # closed in this very moment; or the loop will tell what is wrong
                    if is_first:
                        self._games.clear()  # played by who knows which engine
                    self._open.clear()
                    return
                future.add_done_callback(partial(self._ended, pairing))

    def _ended(self, pairing: Pairing, future: Future[Any]) -> None:
        """The next one begins, unless something was wrong: what that means is for the loop."""
        with self._lock:
            self._allotment.end(pairing, failed=False)
            if future.cancelled() or future.exception() is not None or future.result().outcome is Outcome.VOID:
                self._open.clear()
            self._go_on()

    def has_begun(self, task: GameTask) -> bool:
        """This very game, and nobody has it yet; its engines were those that their fingerprints tell of."""
        with self._lock:
            found = self._games.get(task.pairing.key)
        return found is not None and found[0] == task

    def goes_on(self, task: GameTask, listener: Listener | None) -> bool:
        """Whether the loop takes it over, as its first task is the game that has begun; else all of it is dropped."""
        with self._lock:
            fits = task.pairing.key == self._first and self.has_begun(task)
            self._open.clear()  # from now on the loop says what begins
        if fits:
            self.listen(listener)
        else:
            self.close()
        return fits

    def listen(self, listener: Listener | None) -> None:
        """Tell live events from now on, those that were missed first."""
        with self._lock:
            self._listener = listener
            if listener is not None:
                for event in self._early:
                    if event[1] != "waits":  # those were said at once
                        listener(*event)
            self._early.clear()

    def _hear(self, slot: int, name: str, payload: object) -> None:
        with self._lock:
            if self._listener is None:
                say_wait(slot, name, payload)
                self._early.append((slot, name, payload))
            else:
                self._listener(slot, name, payload)

    # A place, once it was taken over.

    def submit(self, task: GameTask, prefer: int | None = None) -> Future[Any]:
        """As a place, but a game that has begun is not begun again."""
        with self._lock:
            _, game = self._games.pop(task.pairing.key) if self.has_begun(task) else (None, None)
        return self._place.submit(task, prefer) if game is None else game

    def resize(self, slots: int) -> None:
        """As a place."""
        self._place.resize(slots)

    def stop(self, *, now: bool) -> None:
        """As a place."""
        self._place.stop(now=now)

    def close(self) -> None:
        """As a place."""
        self.begun = False
        self._place.close()

    def __enter__(self) -> HeadStart:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
