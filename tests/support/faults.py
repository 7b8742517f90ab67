"""Engines, databases and files with one fault each, and the expected results.

Scheduler, slot process and database are real. A kind of fault has the expected verdicts and categories of its four
games, and the expected warnings. `KINDS` follows the tables of the reliability spec (2).
"""

from __future__ import annotations

import json
import random
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from enginetour.engines import strays
from enginetour.formats.base import make_format, options_model
from enginetour.model.game import Entrant, Game, Incident, Opening, Outcome, Pairing
from enginetour.model.task import EngineSpec, GameTask, Quirks, Rules, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.store.tournaments import Draft, Store
from enginetour.tournament.executor import LocalExecutor, SlotSettings
from enginetour.tournament.scheduler import RunEnd, Scheduler, Watcher
from tests.support.engines import LONG, MISBEHAVING, Protocol
from tests.support.tournaments import BUSY_S, GONE_S, default_signals, left_running, tour

# A faulty engine plays a tournament of six games with two sound engines.

ODD, SOUND = "odd", ("sound one", "sound two")
MEMORY_KB = 20_000  # largest growth of scheduler and slot with any fault (reliability 6)
LOG_BYTES = 1_000_000  # largest growth of the log with any fault (reliability 6)
MARGIN_MS = 50

Ends = Mapping[tuple[str, str], int]  # (play, loss or void; category) -> games


@dataclass(frozen=True)
class Kind:
    """One kind of fault and its expected results."""

    fault: str
    protocol: Protocol
    ends: Ends
    warnings: tuple[str, ...] = ()  # categories of the expected warnings
    restarts: int = 0  # number of processes that cannot start another game
    blocked: bool = False  # whether its pairings stay open
    at: int = 2  # number of the faulty search of a process
    seconds: float = 0.0
    tc: str = LONG
    opening: Opening = field(default_factory=Opening)
    quirks: Quirks = field(default_factory=lambda: Quirks(handshake_timeout=20.0, ready_timeout=20.0))
    hang_limit: float = 60.0
    says: str = ""  # text in the cause of every verdict except play
    variant: str = ""  # distinguishes two kinds of one fault

    @property
    def title(self) -> str:
        """Name in the tests."""
        return "-".join(filter(None, (self.protocol, self.fault, self.variant)))


@dataclass
class Course:
    """Results of a kind: the log, and the recorded times (CLOCK_MONOTONIC, seconds) and sizes."""

    kind: Kind
    end: RunEnd
    games: list[Game]
    incidents: list[Incident]
    stamps: list[tuple[float, str]]  # times of the events start and end of the slot
    marks: list[float]  # times of the fault
    gone_s: float  # from the end of the run to the end of the last process
    left: list[str]
    grown_kb: int  # largest growth of the scheduler
    slot_grown_kb: int
    sockets: int  # additional open descriptors

    @property
    def ends(self) -> Counter[tuple[str, str]]:
        """Return the verdicts on the games of the faulty engine."""
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
        """Record an event, in the thread of the executor."""
        del slot, payload
        if name in ("start", "end"):
            self.stamps.append((time.monotonic(), name))
            me = Path("/proc/self").resolve().name
            ours = [seen.pid for seen in strays.process_table() if str(seen.parent) == me and _is_slot(seen.pid)]
            self.slot_kb += [_most_kb(pid) for pid in ours]


def _is_slot(pid: int) -> bool:
    try:
        return b"enginetour.referee.slot" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _most_kb(pid: int | str = "self") -> int:
    """Return the peak memory of a process since the last reset; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


def spec(kind: Kind, folder: Path, name: str = ODD) -> EngineSpec:
    """Return the specification of an engine of this kind, with the directory in its command and environment."""
    words = [sys.executable, "-E", "-S", MISBEHAVING, "--protocol", kind.protocol, "--fault", kind.fault]
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
    """Play the six games of a kind."""
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

        Path("/proc/self/clear_refs").write_text("5")  # resets the peak: proc(5)
        before = _most_kb()
        place = LocalExecutor(1, on_event=watcher.event, settings=SlotSettings(f"{folder}:trial"))
        try:
            end = Scheduler(log, format_, entrants, place, task, watcher=watcher).run()
        finally:
            ended = time.monotonic()
            place.close()
        left, gone_s = _gone(folder, place.settings.tag, ended)
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
    """Return the processes that are still alive after a time, and the time at which the last one ended."""
    while True:
        left = left_running(folder)
        left += [seen.name for seen in strays.process_table() if strays.process_tag(seen.pid).startswith(tag)]
        now = time.monotonic() - since
        if not left or now > GONE_S:
            return left, now
        time.sleep(0.02)  # poll, because they are not child processes


def judge(found: Course) -> None:
    """Check everything that must be true for every kind (reliability 1, 2, 6)."""
    kind = found.kind
    told = [(game.pairing.white, game.outcome.value, game.category, game.cause) for game in found.games]
    assert found.ends == kind.ends, told
    assert found.end is (RunEnd.BLOCKED if kind.blocked else RunEnd.FINISHED)
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
        if "does not exist" not in incident.cause:  # an engine that never started has no output
            assert incident.stderr, incident
            assert incident.traffic or "start" in incident.category, incident
        said = sum(len(line.encode()) for line in (*incident.traffic, *incident.stderr, incident.cause))
        assert said < LOG_BYTES
        assert all(line.isprintable() for line in (*incident.traffic, *incident.stderr, incident.cause))


def title(kind: Kind) -> str:
    """Return the name of a kind for pytest."""
    return kind.title


# Kinds of faults in the order of section 2 of the reliability spec.

BOTH: tuple[Protocol, ...] = ("uci", "cecp")
UCI: tuple[Protocol, ...] = ("uci",)
CECP: tuple[Protocol, ...] = ("cecp",)
SHORT = "0.3"  # seconds on the clock of an engine that loses on time
HASTY = Quirks(handshake_timeout=1.0, ready_timeout=1.0)  # for engines that exceed it
SLOW = Quirks(handshake_timeout=4.0)
FRACTIONS = Quirks(handshake_timeout=20.0, ready_timeout=20.0, st_fraction=True)
ANEW = Quirks(restart=True)  # a process per game, which ends before the next game
PLAY: Ends = {("play", ""): 4}
ILLEGAL: Ends = {("loss", "illegal-move"): 4}
CRASH: Ends = {("loss", "crash"): 4}
TIME: Ends = {("loss", "time"): 4}
LATE_ONCE: Ends = {("loss", "time"): 1, ("play", ""): 3}  # its process is kept and fails once
RESIGNS_ONCE: Ends = {("loss", "resign"): 1, ("play", ""): 3}
FALSE_CLAIM: Ends = {("loss", "false-claim"): 4}
# Three failed starts in a row suspend it; it is tried again when no other game is left (reliability 1).
FAILED: Ends = {("void", "start-failure"): 4}
TIMED_OUT: Ends = {("void", "start-timeout"): 4}
BLACK_FIRST = Opening("black first", fen="rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR b KQkq - 0 1")
WITH_MOVES = Opening("four moves", moves=("e2e3", "e7e6", "d2d3", "d7d6"))
PAWNS = Opening("pawns on the seventh", fen="1nbqkbnr/P5pp/8/8/8/8/p5PP/1NBQKBNR w Kk - 0 1")
BISHOPS = Opening("bishops beside the kings", fen="4k1n1/7p/8/7b/7B/8/7P/4K1N1 w - - 0 1")
ONE = ("protocol-warning",)


def under_limits(fault: str, ends: Ends) -> list[Kind]:
    """Make the fault with each search limit except a clock; CECP does not support nodes."""
    tc = "movetime=0.2" if ends == TIME else "movetime=20"
    hang = 0.4 if ends == TIME else 60.0
    return [
        *kinds(fault, BOTH, ends, tc=tc, quirks=FRACTIONS, variant="movetime"),
        *kinds(fault, UCI, ends, tc="nodes=100", hang_limit=hang, variant="nodes"),
        *kinds(fault, BOTH, ends, tc="depth=3", hang_limit=hang, variant="depth"),
    ]


def kinds(fault: str, protocols: tuple[Protocol, ...], ends: Ends, **more: Any) -> list[Kind]:
    """Make one kind for each protocol."""
    return [Kind(fault, protocol, ends, **more) for protocol in protocols]


STARTS = [
    *kinds("exit-at-start", BOTH, FAILED, blocked=True, says="exit 7"),
    *kinds("exit-0-at-start", BOTH, FAILED, blocked=True, says="exit 0"),
    *kinds("kill-at-start", BOTH, FAILED, blocked=True, says="SIGKILL"),
    *kinds("dies-after-banner", BOTH, FAILED, blocked=True, says="SIGSEGV"),
    *kinds("sigill", BOTH, FAILED, blocked=True, at=1, says="another processor"),
    *kinds(
        "vanishes", BOTH, {("play", ""): 1, ("void", "start-failure"): 4}, blocked=True,
        quirks=ANEW, says="does not exist",
    ),
    *kinds("no-uciok", UCI, TIMED_OUT, blocked=True, quirks=HASTY, says="no uciok within 1 s"),
    *kinds("silent", UCI, TIMED_OUT, blocked=True, quirks=HASTY, says="does it flush"),
    *kinds("silent", CECP, TIMED_OUT, blocked=True, quirks=HASTY, says="no feature line within 1 s"),
    *kinds("done-0", CECP, TIMED_OUT, blocked=True, quirks=HASTY, says="no done=1 within 1 s"),
    *kinds("chatter", UCI, TIMED_OUT, blocked=True, quirks=HASTY, says="no uciok within 1 s"),
    *kinds("chatter", CECP, TIMED_OUT, blocked=True, quirks=HASTY, says="no feature line within 1 s"),
    *kinds("unflushed", UCI, TIMED_OUT, blocked=True, quirks=HASTY, says="does it flush"),
    *kinds("no-pong", BOTH, TIMED_OUT, blocked=True, quirks=HASTY),
    *kinds("line-by-line", UCI, TIMED_OUT, blocked=True, quirks=HASTY, says="set line_delay_ms"),
    *kinds("line-by-line", CECP, TIMED_OUT, blocked=True, quirks=SLOW, says="set line_delay_ms"),
    *kinds("line-by-line", BOTH, PLAY, quirks=Quirks(line_delay_ms=30), variant="with-the-quirk"),
    *kinds("slow-start", BOTH, PLAY, seconds=0.7),
    *kinds("banner", BOTH, PLAY),
    *kinds("long-banner", BOTH, PLAY),
    *kinds("odd-options", UCI, PLAY, warnings=("protocol-warning",) * 2),
    *kinds("many-options", BOTH, PLAY),
    *kinds("refuses-setboard", CECP, {("void", "unsupported"): 12}, blocked=True, opening=BLACK_FIRST,
           says="cannot set the position"),
    *kinds("ignores-position", UCI, {("loss", "illegal-move"): 2, ("play", ""): 2}, opening=BLACK_FIRST,
           says="may have ignored the start position", at=0),
    *kinds("ignores-position", CECP, ILLEGAL, opening=BLACK_FIRST, says="may have ignored the start position"),
    *kinds("no-setboard", CECP, PLAY, opening=WITH_MOVES),
    *kinds("no-setboard", CECP, PLAY, opening=BLACK_FIRST, variant="edit"),
    *kinds("dies-at-second-game", BOTH, PLAY, restarts=3),
    *kinds("hangs-at-second-game", BOTH, PLAY, restarts=3, quirks=HASTY),
    *kinds("no-pong-between-games", BOTH, PLAY, restarts=3, quirks=HASTY),
    *kinds("plays-on", BOTH, {("play", ""): 2, ("loss", "illegal-move"): 2}),
    *kinds("late-pong", BOTH, PLAY, seconds=0.2),
    *kinds("no-pong-in-game", BOTH, {("loss", "stall"): 4}, quirks=replace(HASTY, fence="wait")),
    *kinds("double-pong", BOTH, PLAY),
    *kinds("early-pong", BOTH, PLAY),
]  # fmt: skip

CRASHES = [
    *kinds("crash", BOTH, CRASH, says="exit 3"),
    *kinds("crash", BOTH, CRASH, at=1, variant="first-search"),
    *under_limits("crash", CRASH),
    *kinds("exit-0", BOTH, CRASH, says="exit 0"),
    *kinds("abort-call", BOTH, CRASH, says="SIGABRT"),
    *kinds("segv", BOTH, CRASH, says="SIGSEGV"),
    *kinds("stack-overflow", BOTH, CRASH, says="SIGSEGV"),
    *kinds("sigfpe", BOTH, CRASH, says="SIGFPE"),
    *kinds("killed", BOTH, CRASH, says="SIGKILL"),
    *kinds("kills-its-group", BOTH, CRASH, says="SIGKILL"),
    *kinds("out-of-memory", BOTH, CRASH, says="exit 1"),
    *kinds("out-of-cpu", BOTH, CRASH, says="SIGXCPU"),
    *kinds("dies-with-a-child", BOTH, CRASH, says="exit 6"),
    *kinds("answer-die", BOTH, CRASH, says="exit 5"),
    *kinds("eof", BOTH, CRASH, says="closed its output"),
    *kinds("closes-input", BOTH, CRASH, says="closed its input"),
    *kinds("closes-input-and-thinks", BOTH, CRASH, says="closed its input"),
    *kinds("half", BOTH, CRASH, says="exit 5"),
    *kinds("half-move", BOTH, CRASH, says="exit 5"),
]

TIMES = [
    *kinds("hang", BOTH, TIME, tc=SHORT, says="after the flag"),
    *kinds("deaf", BOTH, TIME, tc=SHORT, says="after the flag"),
    *kinds("stopped", BOTH, TIME, tc=SHORT, says="after the flag"),
    *kinds("spins", BOTH, TIME, tc=SHORT, says="after the flag"),
    *kinds("flood", BOTH, TIME, tc=SHORT),
    *kinds("half-a-line", BOTH, TIME, tc=SHORT),
    *kinds("drips", BOTH, TIME, tc=SHORT),
    *kinds("endless-line", BOTH, TIME, tc=SHORT, warnings=ONE),
    *kinds("late", BOTH, LATE_ONCE, tc=SHORT, seconds=0.7, says="ms over the limit, after stop"),
    *kinds("late-then-dies", BOTH, TIME, tc=SHORT, seconds=0.39),
    *kinds("late-and-illegal", BOTH, LATE_ONCE, tc=SHORT, seconds=0.6),
    *kinds("always-slow", BOTH, TIME, tc=SHORT, seconds=0.14),
    *under_limits("hang", TIME),
    *under_limits("deaf", TIME),
    *under_limits("flood", TIME),
    *kinds("flood-then-move", BOTH, PLAY),
    *kinds("flood-on-stderr", BOTH, PLAY),
    *kinds("flood-out-of-turn", BOTH, TIME, tc=SHORT),
]

ANSWERS = [
    *kinds("illegal", BOTH, ILLEGAL),
    *under_limits("illegal", ILLEGAL),
    *kinds("illegal-then-dies", BOTH, ILLEGAL),
    *kinds("other-side", BOTH, ILLEGAL),
    *kinds("wrong-geometry", BOTH, ILLEGAL),
    *kinds("into-check", BOTH, ILLEGAL, opening=BISHOPS, at=1),
    *kinds("empty-square", BOTH, ILLEGAL),
    *kinds("a1a1", BOTH, ILLEGAL),
    *kinds("garbage", BOTH, ILLEGAL),
    *kinds("none", BOTH, ILLEGAL),
    *kinds("null", BOTH, ILLEGAL),
    *kinds("null-word", BOTH, ILLEGAL),
    *kinds("null-capitals", BOTH, ILLEGAL),
    *kinds("no-move", UCI, ILLEGAL),
    *kinds("resign-word", UCI, ILLEGAL),
    *kinds("promotes-to-nothing", BOTH, ILLEGAL, opening=PAWNS),
    *kinds("promotes-to-nothing", BOTH, PLAY, opening=PAWNS, quirks=Quirks(lenient_promotion=True), warnings=ONE,
           variant="lenient"),
    *kinds("promotes-to-a-king", BOTH, ILLEGAL, opening=PAWNS),
    *kinds("promotes-capital", BOTH, PLAY, opening=PAWNS, warnings=ONE),
    *kinds("promotes-equals", BOTH, PLAY, opening=PAWNS, warnings=ONE),
    *kinds("promotes-san", BOTH, PLAY, opening=PAWNS, warnings=ONE),
    *kinds("promotes-bracket", BOTH, PLAY, opening=PAWNS, warnings=ONE),
    *kinds("upper", BOTH, PLAY, warnings=ONE),
    *kinds("san", BOTH, PLAY, warnings=ONE),
    *kinds("crlf", BOTH, PLAY),
    *kinds("spaces", BOTH, PLAY),
    *kinds("bad-utf8", BOTH, PLAY),
    *kinds("two", BOTH, PLAY, warnings=ONE),
    *kinds("stale-first", BOTH, PLAY, warnings=ONE),
    *kinds("speaks-after-its-answer", BOTH, PLAY),
    *kinds("ten-megabyte-line", BOTH, PLAY, warnings=ONE),
    *kinds("absurd", BOTH, PLAY),
    *kinds("mate-claim", BOTH, PLAY),
    *kinds("no-ping", CECP, PLAY),
    *kinds("no-features", CECP, PLAY, warnings=ONE),
    *kinds("late-features", CECP, PLAY),
    *kinds("numbered", CECP, PLAY, warnings=ONE),
    *kinds("my-move-is", CECP, PLAY),
    *kinds("echo", CECP, PLAY),
    *kinds("dotted-depth", CECP, PLAY),
]  # fmt: skip

CLAIMS = [
    *kinds("resign", CECP, RESIGNS_ONCE),
    *kinds("own-loss", CECP, RESIGNS_ONCE),
    *kinds("win", CECP, FALSE_CLAIM),
    *kinds("move-and-win", CECP, FALSE_CLAIM),
    *kinds("draw-silent", CECP, FALSE_CLAIM, tc=SHORT),
    *kinds("draw-move", CECP, PLAY),
    *kinds("blames", CECP, FALSE_CLAIM),
    *kinds("error-blames", CECP, FALSE_CLAIM),
    *kinds("abort", CECP, {("void", "engine-abort"): 8, ("loss", "engine-abort"): 4}),
    *kinds("offer", CECP, PLAY),
    *kinds("offer-and-move", CECP, PLAY),
    *kinds("unsupported", CECP, PLAY, warnings=ONE),
    *kinds("tells-users", CECP, PLAY, warnings=("protocol-warning",) * 2),
]

PROCESSES = [
    *kinds("ignores-quit", BOTH, PLAY, warnings=("shutdown-warning",), quirks=ANEW),
    *kinds("ignores-everything", BOTH, PLAY, warnings=("shutdown-warning",), quirks=ANEW),
    *kinds("holds-the-pipes", BOTH, PLAY),
    *kinds("leaves-a-child", BOTH, PLAY, warnings=("orphan-warning",), quirks=ANEW),
    *kinds("signals-its-group", BOTH, PLAY),
    *kinds("reads-the-terminal", BOTH, PLAY),
    *kinds("litters", BOTH, PLAY),
    *kinds("hostile-names", UCI, PLAY),
    *kinds("hostile-names", CECP, PLAY),
]

KINDS = [*STARTS, *CRASHES, *TIMES, *ANSWERS, *CLAIMS, *PROCESSES]


# Databases with one damaged specification each.

ENDS_S = 1.0  # from SIGTERM to the end, before the main loop
LOOP_ENDS_S = 5.0  # from SIGTERM to the end, in the main loop
Spoil = Callable[[dict[str, Any]], object]


def _with(**changed: Any) -> Spoil:
    return lambda spec: {**spec, **changed}


def _without(key: str) -> Spoil:
    return lambda spec: {name: value for name, value in spec.items() if name != key}


SPOILT: dict[str, Spoil] = {
    "a descriptor as program": _with(command=[5]),
    "a descriptor as argument": lambda spec: {**spec, "command": [*spec["command"], 5]},
    "a text as command": _with(command="/bin/sh"),
    "no command": _with(command=[]),
    "a blank program": _with(command=[" "]),
    "null as command": _with(command=None),
    "a nul in the command": _with(command=["/bin/true", "a\0b"]),
    "a nested command": _with(command=[["/bin/true"]]),
    "a number in env": _with(env=[["A", 1]]),
    "a table as env": _with(env={"A": "1"}),
    "three in env": _with(env=[["A", "1", "2"]]),
    "one in env": _with(env=[["A"]]),
    "a number in options": _with(options=[["Hash", 64]]),
    "null in options": _with(options=[[None, "64"]]),
    "true as options": _with(options=True),
    "an unknown protocol": _with(protocol="xboard"),
    "a list as protocol": _with(protocol=["uci"]),
    "no protocol": _without("protocol"),
    "an unknown limit": _with(limits=["speed"]),
    "a number as limits": _with(limits=7),
    "no limits": _without("limits"),
    "a list as limit": _with(limits=[["clock"]]),
    "an unknown key": _with(shell=True),
    "a number as name": _with(name=7),
    "another name": _with(name="Wren 9"),
    "no name": _without("name"),
    "a number as directory": _with(dir=5),
    "a negative number of copies": _with(max_copies=-1),
    "true as copies": _with(max_copies=True),
    "a fraction of copies": _with(max_copies=1.5),
    "a number as fingerprint": _with(fingerprint=5),
    "a list as quirks": _with(quirks=[]),
    "an unknown quirk": _with(quirks={"rocket": True}),
    "an endless time-out": _with(quirks={"handshake_timeout": float("inf")}),
    "a number as init": _with(quirks={"init": [5]}),
    "a text as memory": _with(resources={"memory": "much"}),
    "a negative memory": _with(resources={"memory": -1}),
    "an unknown resource": _with(resources={"rockets": 1}),
    "an unknown sandbox": _with(sandbox="castle"),
    "a number in pass_env": _with(pass_env=[5]),
    "a text as pass_env": _with(pass_env="PATH"),
    "a number as keep_scratch": _with(keep_scratch=1),
    "a number as ponder": _with(ponder=1),
    "an unknown restart": _with(restart="never"),
    "numbers as files": _with(files=[[1, 2]]),
    "numbers as offered": _with(offered=[[1, 2]]),
    "deep nesting": lambda _: "[" * 30_000 + "]" * 30_000,
    "half of it": lambda spec: json.dumps(spec)[:200],
    "nothing": lambda _: "",
    "a list": lambda _: [],
}


def spoil(database: Path, whole: Path, name: str, spoilt: Spoil) -> None:
    """Replace a database by one in which the specification of an entrant is damaged."""
    for left in (database, *(database.with_name(database.name + end) for end in ("-wal", "-shm"))):
        left.unlink(missing_ok=True)
    shutil.copy(whole, database)
    raw = sqlite3.connect(database, isolation_level=None)
    (text,) = raw.execute("SELECT spec FROM entrants WHERE name = ?", (name,)).fetchone()
    found = spoilt(json.loads(text))
    raw.execute(
        "UPDATE entrants SET spec = ? WHERE name = ?", (found if isinstance(found, str) else json.dumps(found), name)
    )
    raw.close()


def tried(folder: Path, config: Path, names: tuple[str, ...], entrant: str) -> Iterator[tuple[str, float, float]]:
    """For each damage, return the error of `run`, and its seconds from SIGTERM to the end before and after the repair.

    The configuration does not name the entrant, so that only the database has its specification.
    """
    database = folder / "results" / "enginetour.db"
    whole = folder / "whole.db"
    for name in names:
        spoil(database, whole, entrant, SPOILT[name])
        before = _ended(folder, config, wait_for="")
        refused = tour(folder, "run", str(config), expect=5).stderr.strip()
        assert refused.count("\n") == 0 and entrant in refused and "enginetour db repair" in refused, refused
        assert entrant in tour(folder, "db", "check", expect=5).stdout
        repaired = tour(folder, "db", "repair").stdout.splitlines()
        assert [entrant in line for line in repaired] == [True, False], repaired
        tour(folder, "db", "check")
        after = _ended(folder, config, wait_for="Started game")
        assert before <= ENDS_S + BUSY_S, f"{name}: {before:.2f} s to the end before the repair"
        assert after <= LOOP_ENDS_S + BUSY_S, f"{name}: {after:.2f} s to the end after the repair"
        yield refused, before, after


def _ended(folder: Path, config: Path, wait_for: str) -> float:
    """Return the seconds from SIGTERM, sent after the first output or after a moment, to the end."""
    command = [sys.executable, "-u", "-m", "enginetour", "run", str(config), "--plain"]
    more: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(command, cwd=folder, preexec_fn=default_signals, **more) as run:
        try:
            assert run.stdout is not None
            if wait_for:
                next((line for line in run.stdout if line.startswith(wait_for)), None)
            else:
                time.sleep(0.7)  # any time is suitable
            run.send_signal(signal.SIGTERM)
            begun = time.monotonic()
            run.wait(60)
            return time.monotonic() - begun
        finally:
            run.kill()


# The rows of the tables of faults (reliability spec 2.1 to 2.6) with their tests.
#
# A row has its verdict and category, faults of the scripted engines (by title if the protocols differ), and tests of
# everything that a tournament cannot show. Illegal ponder moves need pondering.

CONTROLS = ("clock", "movetime", "nodes", "depth")


@dataclass(frozen=True)
class Row:
    """One row of a table. `faults` and `tests` are separated by spaces; verdict "-": nothing is played."""

    words: str
    verdict: str  # play, loss, void or -
    category: str = ""
    faults: str = ""
    tests: str = ""
    on: tuple[Protocol, ...] = BOTH
    controls: tuple[str, ...] = ()  # search limits with which its faults must be tested; nodes only in UCI


FAULTROWS_STARTS = (
    Row("ends at start", "void", "start-failure", "exit-at-start exit-0-at-start kill-at-start dies-after-banner",
        "tournament/test_scheduler::test_an_engine_that_never_starts_is_suspended"),
    Row("illegal instruction", "void", "start-failure", "sigill"),
    Row("binary missing or vanished", "void", "start-failure", "vanishes",
        "engines/test_process::test_every_failed_start_is_named "
        "referee/test_game::test_a_missing_program_is_a_failed_start"),
    Row("never says uciok or done=1, silent", "void", "start-timeout", "uci-no-uciok silent cecp-done-0"),
    Row("the same, printing all the while", "void", "start-timeout", "chatter"),
    Row("answers sit in a buffer", "void", "start-timeout", "unflushed", on=UCI),
    Row("reads one line per wake-up", "void", "start-timeout", "line-by-line",
        "referee/test_probe::test_only_an_empty_line_that_wakes_it_twice_shows_a_reader_of_single_lines"),
    Row("reads one line per wake-up, with the quirk", "play", "",
        "uci-line-by-line-with-the-quirk cecp-line-by-line-with-the-quirk", "referee/test_game::test_line_by_line"),
    Row("slow start, slow first ping", "play", "", "slow-start late-pong"),
    Row("banner, colors, prompts", "play", "", "banner long-banner"),
    Row("many, odd and doubled options", "play", "", "many-options uci-odd-options"),
    Row("aborts on a bad option value", "-", "", "",
        "engines/test_uci::test_a_wrong_option_is_never_sent referee/test_game::test_a_bad_option_is_void_and_named"),
    Row("refuses setboard", "void", "unsupported", "refuses-setboard",
        "tournament/test_scheduler::test_a_pairing_an_engine_cannot_play_stays_open", on=CECP),
    Row("does not support setboard", "play", "", "no-setboard cecp-no-setboard-edit", on=CECP),
    Row("silently ignores the position", "loss", "illegal-move", "ignores-position"),
    Row("dies or hangs at the second game", "play", "restart", "dies-at-second-game hangs-at-second-game"),
    Row("plays moves of the previous game", "loss", "illegal-move", "plays-on"),
    Row("forgets its options at a new game", "play", "", "",
        "referee/test_game::test_what_may_not_play_again_is_ended"),
    Row("pong late between games", "play", "restart", "no-pong-between-games"),
    Row("no pong at the start", "void", "start-timeout", "no-pong"),
    Row("no pong in a game", "loss", "stall", "no-pong-in-game"),
    Row("answers each ping twice, or early", "play", "", "double-pong early-pong"),
)  # fmt: skip

FAULTROWS_CRASHES = (
    Row("dies in a search", "loss", "crash",
        "crash uci-crash-first-search cecp-crash-first-search exit-0 abort-call segv stack-overflow sigfpe killed"
        " kills-its-group dies-with-a-child uci-crash-movetime cecp-crash-movetime uci-crash-nodes uci-crash-depth"
        " cecp-crash-depth", controls=CONTROLS),
    Row("answers and then dies", "loss", "crash", "answer-die",
        "referee/test_game::test_a_dying_engine_may_still_mate"),
    Row("closes stdout and lives", "loss", "crash", "eof"),
    Row("closes stdin", "loss", "crash", "closes-input closes-input-and-thinks"),
    Row("exceeds its memory limit", "loss", "crash", "out-of-memory"),
    Row("exceeds a CPU limit", "loss", "crash", "out-of-cpu"),
    Row("half an answer and then exits", "loss", "crash", "half half-move"),
)  # fmt: skip

FAULTROWS_TIMES = (
    Row("silent in a search", "loss", "time",
        "hang uci-hang-movetime cecp-hang-movetime uci-hang-nodes uci-hang-depth cecp-hang-depth", controls=CONTROLS),
    Row("silent and deaf", "loss", "time", "deaf stopped spins"),
    Row("prints and does not move", "loss", "time",
        "flood half-a-line drips endless-line uci-flood-nodes uci-flood-depth cecp-flood-depth uci-flood-movetime"
        " cecp-flood-movetime", controls=CONTROLS),
    Row("answers late", "loss", "time", "late late-then-dies late-and-illegal",
        "referee/test_game::test_a_late_answer_is_told_with_its_true_overrun"),
    Row("uses a little more than it says", "loss", "time", "always-slow"),
    Row("ignores nodes, depth, movetime, stop", "loss", "time", "uci-deaf-nodes uci-deaf-movetime cecp-deaf-movetime"
        " uci-deaf-depth cecp-deaf-depth"),
    Row("no answer in finished positions: never asked", "-", "", "",
        "referee/test_game::test_a_dying_engine_may_still_mate "
        "referee/test_game::test_sound_engines_draw_by_repetition"),
    Row("flood of info lines, then an answer", "play", "", "flood-then-move"),
    Row("flood out of turn", "loss", "time", "flood-out-of-turn",
        "referee/test_game::test_a_flood_out_of_turn_costs_the_opponent_nothing"),
    Row("flood on stderr", "play", "", "flood-on-stderr",
        "engines/test_process::test_a_flood_on_stderr_is_drained_and_bounded"),
)  # fmt: skip

FAULTROWS_ANSWERS = (
    Row("no legal move", "loss", "illegal-move",
        "illegal illegal-then-dies other-side wrong-geometry into-check empty-square a1a1 garbage promotes-to-a-king"
        " uci-resign-word uci-illegal-movetime cecp-illegal-movetime uci-illegal-nodes uci-illegal-depth"
        " cecp-illegal-depth", controls=CONTROLS),
    Row("no move at all", "loss", "illegal-move", "none null null-word null-capitals uci-no-move"),
    Row("promotion without piece", "loss", "illegal-move", "promotes-to-nothing"),
    Row("the same, leniently", "play", "protocol-warning",
        "uci-promotes-to-nothing-lenient cecp-promotes-to-nothing-lenient"),
    Row("odd forms of a move", "play", "protocol-warning",
        "promotes-capital promotes-equals promotes-san promotes-bracket upper san"),
    Row("odd characters", "play", "", "crlf spaces bad-utf8"),
    Row("two answers", "play", "protocol-warning", "two stale-first"),
    Row("talks out of turn", "play", "", "speaks-after-its-answer",
        "referee/test_game::test_a_stale_answer_is_dropped"),
    Row("10 MB line, then a legal move", "play", "protocol-warning", "ten-megabyte-line"),
    Row("absurd numbers", "play", "", "absurd", "referee/test_game::test_numbers_beyond_sense_are_clamped"),
    Row("claims a mate that is none", "play", "", "mate-claim"),
    Row("CECP of all ages", "play", "", "no-ping late-features my-move-is echo dotted-depth", on=CECP),
    Row("CECP of all ages, told once", "play", "protocol-warning", "no-features numbered", on=CECP),
)  # fmt: skip

FAULTROWS_CLAIMS = (
    Row("resigns or announces its loss", "loss", "resign", "resign own-loss",
        "referee/test_game::test_a_resignation_ends_the_game_at_once", on=CECP),
    Row("announces a win that is none", "loss", "false-claim", "win move-and-win", on=CECP),
    Row("claims a draw that is none and does not move", "loss", "false-claim", "draw-silent", on=CECP),
    Row("claims a draw that is none and moves", "play", "", "draw-move",
        "referee/test_game::test_a_true_draw_claim_ends_the_game", on=CECP),
    Row("says that a legal move was illegal", "loss", "false-claim", "blames error-blames", on=CECP),
    Row("*, twice", "void", "engine-abort", "abort", on=CECP),
    Row("*, the third time", "loss", "engine-abort", "abort",
        "referee/test_game::test_an_abort_is_void_twice_and_then_a_loss", on=CECP),
    Row("draw offers", "play", "", "offer offer-and-move", on=CECP),
    Row("tellusererror, telluser, Error", "play", "protocol-warning", "tells-users unsupported", on=CECP),
)  # fmt: skip

FAULTROWS_PROCESSES = (
    Row("ignores quit and SIGTERM", "play", "shutdown-warning", "ignores-quit ignores-everything"),
    Row("children hold the pipes open", "play", "", "holds-the-pipes"),
    Row("a child leaves the session", "play", "orphan-warning", "leaves-a-child"),
    Row("signals its whole process group", "play", "", "signals-its-group"),
    Row("reads the terminal", "play", "", "reads-the-terminal"),
    Row("writes files with odd names", "play", "", "litters",
        "engines/test_process::test_scratch_is_wiped_without_following_links"),
    Row("hostile names", "play", "", "hostile-names"),
)  # fmt: skip

RULES = (
    Row("both at fault", "void", tests="referee/test_game::test_both_at_fault_is_void"),
    Row("the first cause wins", "loss",
        tests="referee/test_game::test_an_engine_that_flags_and_then_dies_lost_on_time"),
    Row("the host's voids use up no replays; pauses of 5 to 60 s", "void",
        tests="tournament/test_setbacks::test_voids_by_the_host_use_up_no_replays "
        "tournament/test_setbacks::test_pauses_grow_to_a_minute"),
    Row("two replays, then open", "void",
        tests="tournament/test_scheduler::test_a_pairing_an_engine_cannot_play_stays_open"),
    Row("suspended, and nothing goes on without it", "-",
        tests="tournament/test_setbacks::test_it_is_withdrawn_when_patience_is_used_up"),
    Row("the referee was stopped, or woke up late", "void",
        tests="referee/test_game::test_a_referee_that_was_stopped_judges_no_time"
        " referee/test_clock::test_a_referee_that_overslept_knows_it"),
    Row("the machine slept", "void", tests="referee/test_clock::test_a_machine_that_slept_is_noticed"),
    Row("a doubtful flag", "void", tests="referee/test_verdict::test_a_doubtful_flag_is_void_and_the_hosts"),
    Row("the slot died", "void",
        tests="tournament/test_executor::test_a_dead_slot_fails_its_game_with_words_and_is_replaced"),
)  # fmt: skip

TABLES = (
    *FAULTROWS_STARTS,
    *FAULTROWS_CRASHES,
    *FAULTROWS_TIMES,
    *FAULTROWS_ANSWERS,
    *FAULTROWS_CLAIMS,
    *FAULTROWS_PROCESSES,
)


# Randomly damaged files of each kind: the command that reads them must give a clear one-line error.

REFUSALS = {2, 3, 4, 5, 7}
TOKENS = (
    *(b'"', b"'", b"[", b"]", b"{", b"}", b"(", b")", b"=", b".", b",", b";", b"#", b"%", b"\\", b"/", b"-", b"+"),
    *(b"\x00", b"\x1b[2J", b"\xff\xfe", b"\xef\xbb\xbf", b"\xc2\x9b", b"\xe2\x80\xae"),
    *(b"\r", b"\n", b"\n\n", b"\t", b" " * 40),
    *(b"nan", b"inf", b"-1", b"0", b"1e999", b"99999999999999999999", b"9" * 5000, b"true", b"null", b"2026-02-30"),
    *(b"[" * 600, b"{" * 600, b"(" * 600, b"a." * 600, b"A" * 70_000, b"../../x", b"/dev/null", b"%s%n{0}", b"\\ud800"),
)  # fmt: skip

BOOK = b"""[Event "one"]\n\n1. e4 e5 2. Nf3 {a comment} (2. f4) *\n
[Event "two"]\n[FEN "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"]\n[SetUp "1"]\n\n1. e4 *\n"""
EPD = b"""rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - hmvc 0; fmvn 1; id "start";
4k3/8/8/8/8/8/4P3/4K3 w - - 0 1\n# a comment\n"""
GAMES = b"".join(
    b'[Event "club"]\n[Site "?"]\n[Date "2026.11.01"]\n[Round "1"]\n[White "%s"]\n[Black "%s"]\n[Result "%s"]\n'
    b'[TimeControl "60+1"]\n\n1. e4 {+0.3/12 1s} e5 (1... c5) 2. Nf3 ; rest\n%s\n\n' % (white, black, result, result)
    for white, black, result in (
        (b"A", b"B", b"1-0"),
        (b"B", b"C", b"0-1"),
        (b"C", b"A", b"1/2-1/2"),
        (b"B", b"A", b"*"),
    )
)
TRF = "".join(
    f"{line}\r\n"
    for line in (
        "012 club", "XXR 3", "XXC white1", "162  W1.0 D0.5", "240 H   2    4", "260 001 004    1    3",
        *(f"001 {n:4d} m    {name:33} {2100 - n:4} CZE {n:11} {'1980/01/01':10} {points:4.1f} {n:4d}  {cell}"
          for n, name, points, cell in ((1, "Ada", 1.0, "   2 w 1"), (2, "Bea", 0.0, "   1 b 0"),
                                        (3, "Cid", 0.5, "   4 b ="), (4, "Dan", 0.5, "   3 w ="))),
    )
).encode()  # fmt: skip
REGISTER = b"# club\nA1 Ada, A 2.5 CLUB=x\nB1 Bea 5k BYE\nC1 Cid 3d # DROP2\nD1 Dan -4.2\n## HANDICAPS MIN\n"
ROUND = b"A1 B1 w 0 6.5\nC1 D1 b 2 0.5 # x\n"
XML, H9 = (
    (Path(__file__).parents[1] / "cases" / "opengotha" / f"evening.{kind}").read_bytes() for kind in ("xml", "h9")
)
CONFIG = b"""[tournament]\nname = "club"\nseed = 3\n[format]\nsystem = "dutch"\nrounds = 1\n[play]\ntc = "40/60:20/30"
openings = { file = "suite.pgn", order = "random" }\n[ratings]\nsystems = ["ml", "elo"]\n[ratings.elo]\nk = 20.0
[[entrants]]\nengine = "mine"\n[[entrants]]\nengine = "wren1"\noptions = { Skill = 3 }\n"""
ENGINE = b"""name = "Mine"\ncommand = ["{python}", "x.py"]\nprotocol = "uci"\nlimits = ["clock", "depth"]\nrating = 2000
[options]\nHash = 16\n[files]\n"book.ini" = "a"\n[quirks]\nline_delay_ms = 3\ninit = ["x"]\n"""
ALIASES = b'"A","Ada","Ada 1.0"\nB, "Bea, the"\n# a comment\n'
CASE = json.dumps(
    {
        "format": "enginetour-bubble-case/1", "name": "three", "note": "",
        "params": {"size": 2, "min_matches": 1, "unpark_threshold": 1, "games_per_pairing": 1},
        "ranking": ["A", "B", "C"], "withdrawals": [{"engine": "A", "after_games": 1}],
        "results": [["-10", "0-1", "10-"]],
    }
).encode()  # fmt: skip


@dataclass(frozen=True)
class Door:
    """A file to damage, the files next to it, and the command that reads them."""

    name: str
    content: bytes
    words: tuple[str, ...]
    beside: Mapping[str, bytes] | None = None


_BESIDE = {
    "suite.pgn": BOOK,
    "engines/mine.toml": ENGINE,
    "engines/x.py": b"",
    "club.toml": CONFIG,
    "games.pgn": GAMES,
}
_PLAY = ("simulate", "club.toml", "--fields", "1")
DOORS: Mapping[str, Door] = {
    "config": Door("club.toml", CONFIG, _PLAY, _BESIDE),
    "engine-file": Door("engines/mine.toml", ENGINE, _PLAY, _BESIDE),
    "engines-list": Door("engines/mine.toml", ENGINE, ("engines", "list"), _BESIDE),
    "book-pgn": Door("suite.pgn", BOOK, _PLAY, _BESIDE),
    "book-epd": Door("suite.epd", EPD, _PLAY, {**_BESIDE, "club.toml": CONFIG.replace(b".pgn", b".epd")}),
    "rate": Door("games.pgn", GAMES, ("rate", "games.pgn", "-o", "made")),
    "import": Door("games.pgn", GAMES, ("import", "games.pgn", "--dry-run", "--name", "x")),
    "aliases": Door("names.csv", ALIASES, ("rate", "games.pgn", "--aliases", "names.csv"), _BESIDE),
    "pair-trf": Door("club.trf", TRF, ("pair", "club.trf", "-o", "made")),
    "pair-tde": Door("register.tde", REGISTER, ("pair", "register.tde"), {"1.tde": ROUND}),
    "tde-round": Door("1.tde", ROUND, ("pair", "register.tde"), {"register.tde": REGISTER}),
    "pair-xml": Door("evening.xml", XML, ("pair", "evening.xml")),
    "pair-h9": Door("evening.h9", H9, ("pair", "evening.h9", "--rounds", "5")),
    "case": Door("case.json", CASE, ("simulate", "--case", "case.json")),
}  # fmt: skip


def spoilt(content: bytes, dice: random.Random) -> bytes:
    """Make one to six random changes of bytes, pieces, lines or typical words."""
    if dice.randrange(20) == 0:
        return dice.randbytes(dice.randrange(400))
    changes: tuple[Callable[[bytes], bytes], ...] = (
        lambda at: content[:place] + at + content[place:],
        lambda at: content[:place] + at + content[place + dice.randrange(1, 12) :],
        lambda _: content[:place] + content[place + dice.randrange(1, 40) :],
        lambda _: content[:place],
        lambda _: content[:place] + bytes([dice.randrange(256)]) + content[place + 1 :],
        lambda _: content[:place] + content[dice.randrange(len(content) + 1) :],
    )
    for _ in range(dice.randint(1, 6)):
        place = dice.randrange(len(content) + 1)
        lines = content.split(b"\n")
        if dice.randrange(4) == 0:
            one, other = dice.randrange(len(lines)), dice.randrange(len(lines))
            key, sign, _ = lines[one].partition(b"=")
            lines[one] = key + sign + lines[other].rpartition(b"=")[2] if dice.randrange(2) else lines[other]
            content = b"\n".join(lines)
        else:
            content = dice.choice(changes)(dice.choice(TOKENS))
    return content


def opened(door: Door, content: bytes, folder: Path) -> int:
    """Check that a file is accepted or gives a one-line error with a place, and return the exit code."""
    for name, other in {**(door.beside or {}), door.name: content}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(other)
    before = set(folder.rglob("*"))
    (folder / "results").mkdir(exist_ok=True)
    done = tour(folder, *door.words, expect=None)
    made = {path.name for path in set(folder.rglob("*")) - before} - {"results"}
    assert done.returncode == 0 or done.returncode in REFUSALS, done
    said = [line for line in done.stderr.splitlines() if line.startswith("enginetour: ")]
    assert len(said) == (done.returncode != 0), done.stderr
    if done.returncode:
        assert len(done.stderr.splitlines()[-1]) <= 2000
        assert done.stderr.splitlines()[-1] == said[0]
        assert not made, made
    else:
        assert made <= {"made"}, made
    for path in set(folder.rglob("made")):
        path.unlink()
    return done.returncode
