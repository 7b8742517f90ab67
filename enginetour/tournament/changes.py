"""Changes of a tournament: withdraw, add, replace, void; and control of a run: slots, pause, finish.

The same four acts serve a tournament that is running (through its socket) and one that is not.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pydantic import ValidationError

from enginetour.engines.registry import of_workspace
from enginetour.formats.base import Format
from enginetour.interop.toml import validation_error
from enginetour.model.errors import TourError, UsageRefused, match_name, no_match_hint
from enginetour.model.game import Added, Entrant, Event, Extended, GameVoided, Pairing, Replaced, Withdrawn
from enginetour.model.task import EngineSpec, Side, TimeTerms
from enginetour.model.timecontrol import TimeControl, format_controls
from enginetour.model.variants import STANDARD
from enginetour.store.log import TournamentLog
from enginetour.tournament.config.entrants import CLOCK_MARGIN_MS, refuse_limits, resolve
from enginetour.tournament.config.sections import EntrantSection
from enginetour.tournament.control import refusal
from enginetour.tournament.requests import Add, Machines, Plain, Replace, Request, Slots, Void, Withdraw
from enginetour.tournament.scheduler import Scheduler

if TYPE_CHECKING:
    from enginetour.tournament.cluster.executor import DaskExecutor

_Joining = Callable[[str, str | None], tuple[Entrant, EngineSpec]]  # by the id of an engine file, and another name

_COLORS = ("white_tc", "black_tc")  # of [play]; without one the tc counts


def find_newcomer(engine: str, name: str | None, workspace: Path) -> tuple[Entrant, EngineSpec]:
    """An engine file of a workspace by its id, as it would join a tournament; UsageRefused or InputRefused."""
    registry = of_workspace(workspace)
    if engine not in registry.paths and "/" in engine:
        made = re.sub(r"[^a-z0-9._-]+", "-", Path(engine).stem.lower()).strip("-.") or "my-engine"
        step = f"write an engine file first: {shlex.join(['enginetour', 'engines', 'add', made, engine])}"
        raise UsageRefused(f"{engine!r} is a path, not the id of an engine file", step=step)
    try:
        section = EntrantSection(engine=engine, name=name, new=True)
    except ValidationError as error:
        raise UsageRefused(validation_error(error, Path(), "", EntrantSection).what) from None
    return next(iter(resolve(section, registry, Path.cwd(), f"engine {engine}")))[:2]


def default_side(log: TournamentLog, spec: EngineSpec) -> Side:
    """How an engine without settings of its own plays in this tournament; InputRefused when it does not obey that."""
    play = log.config["play"]
    tcs = [TimeControl.parse(play.get(key) or play["tc"]) for key in _COLORS]
    for tc in tcs:
        refuse_limits(spec, tc, log.title)
    white, black = tcs
    other = TimeTerms(black, CLOCK_MARGIN_MS) if black != white else None
    return Side(spec, white, variant=play.get("variant", STANDARD), black=other)


@dataclass
class StoppedTournament:
    """The state of a tournament that is not running; the caller holds its lock."""

    state: Any

    def take(self, _event: Event, after: Any) -> None:
        """Take the state after an event."""
        self.state = after

    def playing(self) -> Sequence[Pairing]:
        """No games are in progress."""
        return ()


@dataclass
class TournamentEditor:
    """Carries out changes: writes them into the log, and gives the state after them to its owner.

    `joining` finds the engine file that a request names; `joined` is told of each newcomer.
    """

    log: TournamentLog
    format: Format[Any]
    owner: Scheduler | StoppedTournament
    joining: _Joining | None = None
    joined: Callable[[Entrant, EngineSpec], None] = lambda _entrant, _spec: None

    @property
    def state(self) -> Any:
        """The state of the format now."""
        return self.owner.state

    def carry_out(self, request: Request) -> dict[str, Any]:
        """The reply to a request of the socket or the command line, JSON-ready and never an exception."""
        try:
            match request:
                case Withdraw():
                    said = self._withdraw(request)
                case Void():
                    said = self._void(request)
                case Add(why=why):
                    said = self.add(*self._newcomer(request), why)
                case Replace(engine=old, why=why):
                    said = self.replace(old, *self._newcomer(request), why)
                case _:
                    return refusal(f"cannot {request.do} here", UsageRefused.exit_code)
        except TourError as error:
            return refusal(str(error), error.exit_code)
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:  # of the format: no room
            return refusal(f"cannot {request.do}: {error}", UsageRefused.exit_code)
        return {"ok": True, "said": said}

    def _write(self, event: Event, why: str, spec: EngineSpec | None = None) -> str:
        """Step first (a refusal writes nothing), log, then take the state; the new decisions as sentences."""
        before = self.state
        after = self.format.step(before, event)
        notes = self.format.notes(after)[len(self.format.notes(before)) :]
        self.log.record_event(event, notes, why=why, spec=spec)
        self.owner.take(event, after)
        return " ".join(f"{note.text}." for note in notes)

    def _withdraw(self, request: Withdraw) -> str:
        name = self._known(request.engine)
        said = self._write(Withdrawn(name), request.why) or f"{name} is withdrawn."
        return f"{said} {self._games_in_progress(name)}".strip()

    def _games_in_progress(self, leaver: str) -> str:
        others = [
            other for game in self.owner.playing() if leaver in game.pair for other in game.pair if other != leaver
        ]
        if not others:
            return ""
        games = f"game against {others[0]}" if len(others) == 1 else f"{len(others)} games in the air"
        ends = "is played to its end and counts" if len(others) == 1 else "are played to their ends and count"
        return f"Its {games} {ends} for the ratings only."

    def _void(self, request: Void) -> str:
        number, why = request.game, request.why
        stored = self.log.game(number)
        game = stored.game
        if stored.voided or game.outcome.value == "*":
            raise UsageRefused(f"game {number} is void already", step="enginetour games lists them")
        said = self._write(GameVoided(game.pairing, game.outcome, why), why)
        open_now = (*self.format.offers(self.state), *self.format.ahead(self.state))
        again = game.pairing.key in {pairing.key for pairing in open_now}
        rest = "it is offered again" if again else "what it decided stands, it only leaves the ratings"
        who = f"{game.pairing.white} - {game.pairing.black} {game.outcome}"
        return f"game {number} ({who}) is void; {rest}. {said}".strip()

    def add(self, entrant: Entrant, spec: EngineSpec, why: str) -> str:
        """Let an engine join; UsageRefused or ValueError when the format has no room for it any more."""
        self._refuse_namesake(entrant.name)
        self._refuse_late(entrant.name)
        said = self._write(Added(entrant), why, spec)
        self.joined(entrant, spec)
        return said or f"{entrant.name} joins."

    def extend(self, grown: dict[str, int], why: str) -> str:
        """Let settings of the format grow, more cycles for one; ValueError when it cannot."""
        return f"{self.log.title}: {self._write(Extended(tuple(grown.items())), why)}"

    def replace(self, old: str, entrant: Entrant, spec: EngineSpec, why: str) -> str:
        """Let an engine take the place of another one; refused as `add`."""
        old = self._known(old)
        if entrant.name != old:
            self._refuse_namesake(entrant.name)
        self._refuse_late(entrant.name)
        said = self._write(Replaced(old, entrant), why, spec)
        self.joined(entrant, spec)
        first = f"{entrant.name} takes the place of {old}"
        said = said if said.startswith(first) else f"{first}. {said}"  # a bubble says so itself
        told = (said, self._games_in_progress(old), self._other_control(entrant.name, old))
        return " ".join(sentence for sentence in told if sentence)

    def _other_control(self, name: str, old: str) -> str:
        """A newcomer plays by the tournament's control, which need not be that of the one it replaces."""
        play = self.log.config["play"]
        had, has = self.log.config.get("sides", {}).get(old), [play.get(key) or play["tc"] for key in _COLORS]
        own = has if had is None else [had["tc"], had.get("black", had)["tc"]]
        if own == has:
            return ""
        told = f"{name} plays by {format_controls(*has)}, {old} had {format_controls(*own)} of its own"
        return f"{told}; an entrant added to the configuration may have its own too."

    def _newcomer(self, request: Add | Replace) -> tuple[Entrant, EngineSpec]:
        """Refused before its event is written, for after that it would have to play."""
        if self.joining is None:
            raise UsageRefused("this tournament has no engine files")
        entrant, spec = self.joining(request.id, request.name)
        default_side(self.log, spec)
        if request.fingerprint not in ("", spec.fingerprint):
            what = f"the engine file {request.id!r} of the running tournament is not the one that was tried"
            raise UsageRefused(what, step="write it into the engines directory next to the tournament's configuration")
        return entrant, spec

    def _refuse_namesake(self, name: str) -> None:
        if name in {line.name for line in self.format.standings(self.state)}:
            what = f"{name} is in {self.log.title} already, or was"
            raise UsageRefused(what, step="give the newcomer another name with --name")

    def _refuse_late(self, name: str) -> None:
        why = self.format.too_late(self.state) if hasattr(self.format, "too_late") else ""
        if why:
            step = "give the file more rounds first, or start the next edition with run --new"
            raise UsageRefused(f"{name} comes too late: {why}", step=step)

    def _known(self, word: str) -> str:
        names = [line.name for line in self.format.standings(self.state)]
        if (name := match_name(word, names)) is None:
            meant = no_match_hint(word, names) or f"; entrants: {', '.join(names)}"
            raise UsageRefused(f"{word!r} is not in {self.log.title}{meant}")
        return name


@dataclass
class RunController:
    """Carries out requests that the log does not record (slots, pause, finish), in the scheduler's thread.

    `refuse` raises TourError for a number of slots that this machine cannot bear, forced or not; `tell` is for the
    screen of the run, `note` for its event log, where no other event shows the order.
    """

    scheduler: Scheduler
    refuse: Callable[[int, bool], None]
    tell: Callable[[str], None]
    note: Callable[[str], None]

    def carry_out(self, request: Request) -> dict[str, Any] | None:
        """The reply, JSON-ready and never an exception; None for a request of another kind."""
        plain = {"pause": self._pause, "unpause": self._unpause, "finish": self._finish}
        try:
            match request:
                case Slots():
                    said: Any = self._slots(request)
                case Machines():
                    said = self._machines(request)
                case Plain(do=do) if do in plain:
                    said = plain[do]()
                case _:
                    return None
        except TourError as error:
            return refusal(str(error), error.exit_code)
        return {"ok": True, "said": said}

    def _slots(self, request: Slots) -> str:
        self._refuse_stopping()
        wanted, now = request.slots, self.scheduler.slots
        shown = f"{wanted} slot{'s' * (wanted != 1)}"
        if wanted == now:
            return f"{shown}, as before"
        if wanted > now:
            self.refuse(wanted, request.force)
        self.scheduler.resize(wanted)
        self.tell(f"{shown} instead of {now}, as asked")
        over = len(self.scheduler.flying) - wanted
        return f"{shown} instead of {now}" + (f"; {over} more until games end" if over > 0 else "")

    def _pause(self) -> str:
        self._refuse_stopping()
        if self.scheduler.paused:
            return "paused already"
        self.scheduler.paused = True
        for waiting in list(self.scheduler.flying):  # for a seat, where the executor has fewer of them than slots
            waiting.cancel()
        self.tell("paused as asked: no game begins until enginetour unpause")
        return f"paused: no game begins, {self._games_left()}; enginetour unpause goes on"

    def _unpause(self) -> str:
        self._refuse_stopping()
        if not self.scheduler.paused:
            return "not paused"
        self.scheduler.paused = False
        self.tell("the pause is over, as asked")
        return "the pause is over: games begin again"

    def _finish(self) -> str:
        if not self.scheduler.stopping:
            self.scheduler.stop(now=False)
            self._announce("stopping as asked: no game begins, those in the air may end")
        return f"stopping: no game begins, {self._games_left()}; run goes on later"

    def _machines(self, request: Machines) -> Any:
        if not hasattr(self.scheduler.executor, "rows"):
            raise UsageRefused("this run has one machine", step="run --executor has those of a Dask cluster")
        cluster = cast("DaskExecutor", self.scheduler.executor)
        for kind, act, words in (
            ("drain", cluster.drain, "gets no new games"),
            ("use", cluster.use, "gets games again"),
        ):
            name = request.drain if kind == "drain" else request.use
            if name is None:
                continue
            if not act(name):
                known = ", ".join(dict.fromkeys(str(row["machine"]) for row in cluster.rows()))
                raise UsageRefused(f"no machine is called {name!r}", step=f"there are: {known}")
            self._announce(f"{name} {words}, as asked")
        return cluster.rows()

    def _announce(self, text: str) -> None:
        self.tell(text)
        self.note(text)

    def _refuse_stopping(self) -> None:
        if self.scheduler.stopping:
            raise UsageRefused("the run is stopping", step="start it again when it has ended")

    def _games_left(self) -> str:
        count = sum(not taken_back.cancelled() for taken_back in self.scheduler.flying)
        return f"{count} in the air may end" if count else "none is in the air"
