"""Engines that misbehave against two sound ones, each kind through a whole little tournament of six games.

Everything but the engines is real: scheduler, slot process, store. A kind says what must come of it: the verdict on
each of its four games, by word and category, and the warnings. `KINDS` follows the tables of the reliability spec (2).
"""

from __future__ import annotations

import shlex
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from enginetour.engines import strays
from enginetour.formats.base import make_format, options_model
from enginetour.model.game import Entrant, Game, Incident, Opening, Outcome, Pairing
from enginetour.model.task import EngineSpec, GameTask, Quirks, Rules, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.store.tournaments import Draft, Store
from enginetour.tournament.places import LocalPlace
from enginetour.tournament.scheduler import End, Scheduler, Watcher
from tests.playing import LONG, Protocol
from tests.touring import GONE_S, left_running

SCRIPT = str(Path(__file__).parent / "engines" / "misbehaving.py")
ODD, SOUND = "odd", ("sound one", "sound two")
GAMES = 4  # of the odd one, in six
MEMORY_KB = 20_000  # scheduler and slot, under any fault (reliability 6)
LOG_BYTES = 1_000_000  # a fault may add to the log (reliability 6)
MARGIN_MS = 50

Ends = Mapping[tuple[str, str], int]  # (play, loss or void; category) -> games


@dataclass(frozen=True)
class Kind:
    """One way to misbehave, and what must come of it."""

    fault: str
    protocol: Protocol
    ends: Ends
    warnings: tuple[str, ...] = ()  # categories, one for each that is told
    restarts: int = 0  # times a process could not begin another game
    blocked: bool = False  # its open pairings stay open
    at: int = 2  # the search of its process that goes wrong
    seconds: float = 0.0
    tc: str = LONG
    opening: Opening = field(default_factory=Opening)
    quirks: Quirks = field(default_factory=lambda: Quirks(handshake_timeout=20.0, ready_timeout=20.0))
    hang_limit: float = 60.0
    says: str = ""  # in the cause of every verdict that is not play
    variant: str = ""  # tells two kinds of one fault apart

    @property
    def title(self) -> str:
        """Its name among the tests."""
        return "-".join(filter(None, (self.protocol, self.fault, self.variant)))


@dataclass
class Course:
    """What came of a kind: the log, and what was stamped and measured on the way (CLOCK_MONOTONIC, seconds)."""

    kind: Kind
    end: End
    games: list[Game]
    incidents: list[Incident]
    stamps: list[tuple[float, str]]  # of the slot's events start and end
    marks: list[float]  # when the fault struck
    gone_s: float  # from the end of the run to the last process
    left: list[str]
    grown_kb: int  # scheduler, at its highest
    slot_grown_kb: int
    sockets: int  # descriptors more than before

    @property
    def ends(self) -> Counter[tuple[str, str]]:
        """The verdicts on the odd one's games."""
        return Counter(_end(game) for game in self.games if ODD in game.pairing.pair)


def _end(game: Game) -> tuple[str, str]:
    if game.outcome is Outcome.VOID:
        return "void", game.category
    if game.outcome is Outcome.DRAW:
        return "play", game.category
    loser = game.pairing.black if game.outcome is Outcome.WHITE else game.pairing.white
    return ("loss" if loser == ODD else f"{loser} lost"), game.category or game.termination.value


class _Stamped(Watcher):
    def __init__(self) -> None:
        self.stamps: list[tuple[float, str]] = []
        self.slot_kb: list[int] = []

    def event(self, slot: int, name: str, payload: object) -> None:
        """From the place's thread."""
        del slot, payload
        if name in ("start", "end"):
            self.stamps.append((time.monotonic(), name))
            me = Path("/proc/self").resolve().name
            ours = [seen.pid for seen in strays.table() if str(seen.parent) == me and _is_slot(seen.pid)]
            self.slot_kb += [_most_kb(pid) for pid in ours]


def _is_slot(pid: int) -> bool:
    try:
        return b"enginetour.referee.slot" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _most_kb(pid: int | str = "self") -> int:
    """The most memory a process ever held, or since it was last forgotten; 0 when it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


def spec(kind: Kind, folder: Path, name: str = ODD) -> EngineSpec:
    """How an engine of this kind is started; the folder is in its command and its environment."""
    words = [sys.executable, "-E", "-S", SCRIPT, "--protocol", kind.protocol, "--fault", kind.fault]
    words += ["--at", str(kind.at), "--seconds", str(kind.seconds), "--marks", str(folder / "marks")]
    command = tuple(words)
    if kind.fault == "vanishes":
        program = folder / "vanishing"
        program.write_text(f"#!/bin/sh\nexec {shlex.join(words)} --program {program}\n")
        program.chmod(0o755)
        command = (str(program),)
    env = (("UNDER_TEST", str(folder)),)
    return EngineSpec(name, command, kind.protocol, dir="scratch", env=env, quirks=kind.quirks)


def course(kind: Kind, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Course:
    """Play the six games of a kind to their end."""
    monkeypatch.setenv("TMPDIR", str(folder))
    sides = {ODD: Side(spec(kind, folder), TimeControl.parse(kind.tc), MARGIN_MS)}
    for name, protocol in zip(SOUND, ("uci", "cecp"), strict=True):
        healthy = Kind("", protocol, {})  # type: ignore[arg-type]
        sides[name] = Side(spec(healthy, folder, name), TimeControl.parse(LONG), MARGIN_MS)
    entrants = tuple(Entrant(name) for name in sides)
    settings = {"games_per_pairing": 2}
    format_ = make_format("roundrobin", options_model("roundrobin")(**settings))
    specs = {name: side.spec for name, side in sides.items()}
    draft = Draft("trial", "roundrobin", format_.version, {"format": settings}, 1, entrants, specs)
    rules = Rules(hang_limit=kind.hang_limit)
    watcher = _Stamped()
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    with Store.open(folder / "trial.db", create=True) as store:
        log = store.create_tournament(draft)

        def task(pairing: Pairing, again: int) -> GameTask:
            white, black = sides[pairing.white], sides[pairing.black]
            return GameTask(pairing, white, black, kind.opening, rules, again, aborts=log.aborts(pairing.key))

        Path("/proc/self/clear_refs").write_text("5")  # forgets the highest: proc(5)
        before = _most_kb()
        place = LocalPlace(1, on_event=watcher.event, tag=f"{folder}:trial")
        try:
            end = Scheduler(log, format_, entrants, place, task, watcher=watcher).run()
        finally:
            ended = time.monotonic()
            place.close()
        left, gone_s = _gone(folder, place.tag, ended)
        grown = _most_kb() - before
        games = [stored.game for stored in log.full_games()]
        incidents = [incident for _, incident in log.incidents()]
    marks = folder / "marks"
    struck = [int(line) / 1e9 for line in marks.read_text().split()] if marks.exists() else []
    slot_kb = [kb for kb in watcher.slot_kb if kb] or [0]
    now = len(list(Path("/proc/self/fd").iterdir()))
    return Course(
        kind, end, games, incidents, watcher.stamps, struck, gone_s, left, grown,
        max(slot_kb) - slot_kb[0], now - descriptors,
    )  # fmt: skip


def _gone(folder: Path, tag: str, since: float) -> tuple[list[str], float]:
    """What is still alive so long after the end, by path and by tag; and when the last one was gone."""
    while True:
        left = left_running(folder)
        left += [seen.name for seen in strays.table() if strays.tag_of(seen.pid).startswith(tag)]
        now = time.monotonic() - since
        if not left or now > GONE_S:
            return left, now
        time.sleep(0.02)  # nothing to wait on: they are nobody's children any more


def judge(found: Course) -> None:
    """All that must hold for every kind (reliability 1, 2, 6)."""
    kind = found.kind
    told = [(game.pairing.white, game.outcome.value, game.category, game.cause) for game in found.games]
    assert found.ends == kind.ends, told
    assert found.end is (End.BLOCKED if kind.blocked else End.FINISHED)
    assert not found.left
    assert found.sockets == 0
    assert found.grown_kb < MEMORY_KB
    assert found.slot_grown_kb < MEMORY_KB
    between = [game for game in found.games if ODD not in game.pairing.pair]
    assert [_end(game) for game in between] == [("play", "")] * 2, told
    assert {incident.engine for incident in found.incidents} <= {ODD}
    assert {game.culprit for game in found.games} <= {"", ODD}
    faults = [game for game in found.games if game.culprit]
    assert all(kind.says in game.cause for game in faults), told
    again = [incident for incident in found.incidents if incident.category == "restart"]
    assert len(again) == kind.restarts, [incident.cause for incident in again]
    grave = [incident for incident in found.incidents if not (incident.is_warning or incident in again)]
    assert [(incident.category, incident.cause) for incident in grave] == [(g.category, g.cause) for g in faults]
    warned = [incident for incident in found.incidents if incident.is_warning]
    assert sorted(incident.category for incident in warned) == sorted(kind.warnings), [i.cause for i in warned]
    for incident in found.incidents:
        if "is missing" not in incident.cause:  # never started: it said nothing
            assert incident.stderr, incident
            assert incident.traffic or "start" in incident.category, incident
        said = sum(len(line.encode()) for line in (*incident.traffic, *incident.stderr, incident.cause))
        assert said < LOG_BYTES
        assert all(line.isprintable() for line in (*incident.traffic, *incident.stderr, incident.cause))


def title(kind: Kind) -> str:
    """For pytest."""
    return kind.title
