"""Change a tournament (withdraw, add, replace, void) and control a run (concurrency, pause, finish).

The same code changes a running tournament, through its socket, and a stopped one.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from pydantic import ValidationError

from enginetour.engines.registry import of_workspace
from enginetour.formats.base import Format
from enginetour.model.errors import TourError, UsageRefused, match_name, no_match_hint
from enginetour.model.game import Added, Entrant, Event, Extended, GameVoided, Pairing, Replaced, Withdrawn
from enginetour.model.task import EngineSpec, Side, TimeTerms
from enginetour.model.timecontrol import TimeControl, format_controls
from enginetour.model.validation import plain_error
from enginetour.model.variants import STANDARD
from enginetour.store.log import TournamentLog
from enginetour.tournament.config.entrants import CLOCK_MARGIN_MS, refuse_limits, resolve, without_options
from enginetour.tournament.config.sections import DefaultsSection, EntrantSection
from enginetour.tournament.control import refusal
from enginetour.tournament.requests import Add, Machines, Plain, Replace, Request, Slots, Void, Withdraw
from enginetour.tournament.scheduler import Scheduler

if TYPE_CHECKING:
    from enginetour.tournament.cluster.executor import DaskExecutor

_Joining = Callable[[str, str | None], tuple[Entrant, EngineSpec]]  # arguments: id of an engine file, optional name

_COLORS = ("white_tc", "black_tc")  # keys of [play]; their default is tc


def find_newcomer(engine: str, name: str | None, workspace: Path, log: TournamentLog) -> tuple[Entrant, EngineSpec]:
    """Return the engine of an engine file of a workspace as a new entrant, with the defaults of the tournament.

    Raise UsageRefused or InputRefused if the engine file does not exist or is not valid.
    """
    registry = of_workspace(workspace)
    if engine not in registry.paths and "/" in engine:
        made = re.sub(r"[^a-z0-9._-]+", "-", Path(engine).stem.lower()).strip("-.") or "my-engine"
        step = f"write an engine file first: {shlex.join(['enginetour', 'engines', 'add', made, engine])}"
        raise UsageRefused(f"{engine!r} is a path, not the id of an engine file", step=step)
    try:
        defaults = DefaultsSection.model_validate(log.config.get("defaults", {}))
        section = EntrantSection(engine=engine, name=name, new=True).with_defaults(defaults)
    except ValidationError as error:
        raise UsageRefused(plain_error(error, EntrantSection)) from None
    return next(iter(resolve(section, registry, Path.cwd(), f"engine {engine}", defaults=defaults)))[:2]


def default_side(log: TournamentLog, spec: EngineSpec) -> Side:
    """Return how an engine without its own settings plays in this tournament.

    Raise InputRefused if the engine does not support the limit.
    """
    play, usual = log.config["play"], log.config.get("defaults", {})
    tcs = [TimeControl.parse(usual.get(key) or usual.get("tc") or play.get(key) or play["tc"]) for key in _COLORS]
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
        """Store the state after an event."""
        self.state = after

    def playing(self) -> Sequence[Pairing]:
        """Return an empty sequence, because no games are in progress."""
        return ()


def _lines(sentences: Sequence[str], others: Sequence[str]) -> str:
    """Return a line of sentences without the empty ones, and the other lines after it."""
    return "\n".join([" ".join(filter(None, sentences)), *others])


@dataclass
class TournamentEditor:
    """Changes a tournament: writes events to the log and passes the new state to `owner`.

    `joining` finds the engine file of a request; `joined` is called for each new entrant.
    """

    log: TournamentLog
    format: Format[Any]
    owner: Scheduler | StoppedTournament
    joining: _Joining | None = None
    joined: Callable[[Entrant, EngineSpec], None] = lambda _entrant, _spec: None

    @property
    def state(self) -> Any:
        """The current state of the format."""
        return self.owner.state

    def carry_out(self, request: Request) -> dict[str, Any]:
        """Carry out a request from the socket or the command line; return a reply for JSON. Errors become replies."""
        try:
            match request:
                case Withdraw():
                    text = self._withdraw(request)
                case Void():
                    text = self._void(request)
                case Add(why=why):
                    text = self.add(*self._newcomer(request), why)
                case Replace(engine=old, why=why):
                    text = self.replace(old, *self._newcomer(request), why)
                case _:
                    return refusal(f"{request.do} is not possible here", UsageRefused.exit_code)
        except TourError as error:
            return refusal(str(error), error.exit_code)
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError) as error:  # raised by the format
            return refusal(f"{request.do} is not possible: {error}", UsageRefused.exit_code)
        return {"ok": True, "said": text}

    def _write(self, event: Event, why: str, spec: EngineSpec | None = None) -> tuple[str, list[str]]:
        """Step the format, write the log and pass on the state. An error writes nothing.

        Return the sentences about entrants, "" if there are none, and a line for each other decision.
        """
        before = self.state
        after = self.format.step(before, event)
        notes = self.format.notes(after)[len(self.format.notes(before)) :]
        self.log.record_event(event, notes, why=why, spec=spec)
        self.owner.take(event, after)
        texts = [(dict(note.fields).keys() >= {"engine"}, f"{note.text}.") for note in notes]
        return " ".join(text for is_own, text in texts if is_own), [text for is_own, text in texts if not is_own]

    def _withdraw(self, request: Withdraw) -> str:
        name = self._known(request.engine)
        text, others = self._write(Withdrawn(name), request.why)
        return _lines([text or f"{name} is withdrawn.", self._games_in_progress(name)], others)

    def _games_in_progress(self, leaver: str) -> str:
        others = [
            other for game in self.owner.playing() if leaver in game.pair for other in game.pair if other != leaver
        ]
        if not others:
            return ""
        games = f"game against {others[0]}" if len(others) == 1 else f"{len(others)} games in progress"
        ends = "is played to its end and counts" if len(others) == 1 else "are played to their ends and count"
        return f"Its {games} {ends} for the ratings only."

    def _void(self, request: Void) -> str:
        number, why = request.game, request.why
        stored = self.log.game(number)
        game = stored.game
        if stored.voided or game.outcome.value == "*":
            raise UsageRefused(f"game {number} is already void", step="list the games: enginetour games")
        text, others = self._write(GameVoided(game.pairing, game.outcome, why), why)
        open_now = (*self.format.offers(self.state), *self.format.ahead(self.state))
        again = game.pairing.key in {pairing.key for pairing in open_now}
        rest = "it will be replayed" if again else self.format.after_void
        who = f"{game.pairing.white} - {game.pairing.black} {game.outcome}"
        return _lines([f"game {number} ({who}) is void; {rest}.", text], others)

    def add(self, entrant: Entrant, spec: EngineSpec, why: str) -> str:
        """Add an entrant. Raise UsageRefused or ValueError if the format does not accept more entrants."""
        self._refuse_namesake(entrant.name)
        self._refuse_late(entrant.name)
        text, others = self._write(Added(entrant), why, spec)
        self.joined(entrant, spec)
        return _lines([text or f"{entrant.name} joins."], others)

    def extend(self, grown: dict[str, int], why: str) -> str:
        """Increase settings of the format, such as cycles. Raise ValueError if the format does not allow it."""
        text, others = self._write(Extended(tuple(grown.items())), why)
        return _lines([f"{self.log.title}:", text, *others[:1]], others[1:])

    def replace(self, old: str, entrant: Entrant, spec: EngineSpec, why: str) -> str:
        """Replace an entrant by another engine. Raise the same errors as `add`."""
        old = self._known(old)
        if entrant.name != old:
            self._refuse_namesake(entrant.name)
        self._refuse_late(entrant.name)
        text, others = self._write(Replaced(old, entrant), why, spec)
        self.joined(entrant, spec)
        first = f"{entrant.name} takes the place of {old}"
        text = text if text.startswith(first) else f"{first}. {text}"  # the text of a bubble starts with these words
        return _lines([text, self._games_in_progress(old), self._other_control(entrant.name, old)], others)

    def _other_control(self, name: str, old: str) -> str:
        """Describe both time controls if they differ; the new entrant has the time control of the tournament."""
        play = self.log.config["play"]
        had, has = self.log.config.get("sides", {}).get(old), [play.get(key) or play["tc"] for key in _COLORS]
        own = has if had is None else [had["tc"], had.get("black", had)["tc"]]
        if own == has:
            return ""
        controls = f"{name} plays with {format_controls(*has)}; {old} had {format_controls(*own)}"
        return f"{controls}. An entrant that is added to the configuration can have its own time control."

    def _newcomer(self, request: Add | Replace) -> tuple[Entrant, EngineSpec]:
        """Return the new entrant. Raise all errors here: once its event is written, the entrant must play."""
        if self.joining is None:
            raise UsageRefused("no engine files are available for this tournament")
        entrant, spec = self.joining(request.id, request.name)
        spec = without_options(spec, {option.casefold() for option in request.lacking}.intersection(spec.optional))
        default_side(self.log, spec)
        if request.fingerprint not in ("", spec.fingerprint):
            what = f"the running tournament uses an engine file {request.id!r} that differs from the checked one"
            raise UsageRefused(what, step="put the checked file into the engines directory next to the configuration")
        return entrant, spec

    def _refuse_namesake(self, name: str) -> None:
        if name in {line.name for line in self.format.standings(self.state)}:
            what = f"{name} is or was an entrant of {self.log.title}"
            raise UsageRefused(what, step="give the new entrant another name with --name")

    def _refuse_late(self, name: str) -> None:
        why = self.format.too_late(self.state) if hasattr(self.format, "too_late") else ""
        if why:
            step = "increase the rounds in the configuration first, or start the next edition with run --new"
            raise UsageRefused(f"{name} cannot join any more: {why}", step=step)

    def _known(self, word: str) -> str:
        names = [line.name for line in self.format.standings(self.state)]
        if (name := match_name(word, names)) is None:
            close = no_match_hint(word, names)
            step = "" if close else f"use one of {', '.join(names)}"
            raise UsageRefused(f"{word!r} is not an entrant of {self.log.title}{close}", step=step)
        return name


class SlotPool(Protocol):
    """Concurrent games, whose number requests change: those of one run, or of all tournaments of a league."""

    @property
    def slots(self) -> int:
        """Number of concurrent games."""

    def resize(self, slots: int) -> None:
        """Change the number; games in progress are played to their ends. Another thread may call it."""


@dataclass
class RunController:
    """Carries out requests that the log does not record (concurrency, pause, finish), in the scheduler's thread.

    `refuse(slots, force)` raises TourError if this machine cannot run that number of slots. `tell` shows a message on
    the screen of the run. `note` writes a message to the event log; it is used if no other event records the change.
    `pool` has the concurrent games of a league; None if the scheduler has its own.
    """

    scheduler: Scheduler
    refuse: Callable[[int, bool], None]
    tell: Callable[[str], None]
    note: Callable[[str], None]
    pool: SlotPool | None = None

    def carry_out(self, request: Request) -> dict[str, Any] | None:
        """Carry out a request; return a reply for JSON, or None for a request of another kind.

        Errors become replies.
        """
        plain = {"pause": self._pause, "unpause": self._unpause, "finish": self._finish}
        try:
            match request:
                case Slots():
                    text: Any = self._slots(request)
                case Machines():
                    text = self._machines(request)
                case Plain(do=do) if do in plain:
                    text = plain[do]()
                case _:
                    return None
        except TourError as error:
            return refusal(str(error), error.exit_code)
        return {"ok": True, "said": text}

    def _slots(self, request: Slots) -> str:
        self._refuse_stopping()
        pool = self.pool or self.scheduler
        wanted, now = request.slots, pool.slots
        shown = f"concurrency {wanted}"
        if wanted == now:
            return f"{shown}, unchanged"
        if wanted > now:
            self.refuse(wanted, request.force)
        pool.resize(wanted)
        self.tell(f"{shown} instead of {now}, by request")
        if self.pool is not None:
            return f"{shown} instead of {now}, of all tournaments of the league"
        over = len(self.scheduler.flying) - wanted
        end = "1 game ends" if over == 1 else f"{over} games end"
        more = f"; it is reached when {end}" if over > 0 else ""
        return f"{shown} instead of {now}{more}"

    def _pause(self) -> str:
        self._refuse_stopping()
        if self.scheduler.paused:
            return "already paused"
        self.scheduler.paused = True
        for waiting in list(self.scheduler.flying):  # games that wait for a slot of the executor
            waiting.cancel()
        self.tell("paused by request: games start again after enginetour unpause")
        return f"paused: no new games start, {self._games_left()}; resume with enginetour unpause"

    def _unpause(self) -> str:
        self._refuse_stopping()
        if not self.scheduler.paused:
            return "not paused"
        self.scheduler.paused = False
        self.tell("pause ended by request")
        return "pause ended: games start again"

    def _finish(self) -> str:
        if not self.scheduler.stopping:
            self.scheduler.stop(now=False)
            self._announce("stopping by request: no new games start, games in progress are played to the end")
        return f"stopping: no new games start, {self._games_left()}; resume later with enginetour run"

    def _machines(self, request: Machines) -> Any:
        if not hasattr(self.scheduler.executor, "rows"):
            raise UsageRefused(
                "this run uses one machine", step="use a Dask cluster: enginetour run --executor dask=ADDRESS"
            )
        cluster = cast("DaskExecutor", self.scheduler.executor)
        for name, act, words in (
            (request.drain, cluster.drain, "gets no new games"),
            (request.use, cluster.use, "gets games again"),
        ):
            if name is None:
                continue
            if not act(name):
                known = ", ".join(dict.fromkeys(str(row["machine"]) for row in cluster.rows()))
                raise UsageRefused(f"machine {name!r} not found", step=f"use one of {known}")
            self._announce(f"{name} {words}, by request")
        return cluster.rows()

    def _announce(self, text: str) -> None:
        self.tell(text)
        self.note(text)

    def _refuse_stopping(self) -> None:
        if self.scheduler.stopping:
            raise UsageRefused("the run is stopping", step="start it again after it has ended")

    def _games_left(self) -> str:
        count = sum(not taken_back.cancelled() for taken_back in self.scheduler.flying)
        if count == 1:
            return "1 game in progress is played to the end"
        return f"{count} games in progress are played to the end" if count else "no game is in progress"
