"""Scripted engines, their faults, and games between them."""

from __future__ import annotations

import asyncio
import importlib.util
import itertools
import os
import random
import resource
import subprocess
import sys
import tarfile
import time
import types
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal
from unittest import mock

import pytest

from enginetour.engines import cecp, strays
from enginetour.engines.enginefile import USUAL_LIMITS
from enginetour.engines.process import EngineProcess, running_engines, wait
from enginetour.engines.protocol import MS, Engine
from enginetour.engines.wire import LineBuffer
from enginetour.model.game import Game, Opening, Outcome, Pairing, Termination
from enginetour.model.task import EngineSpec, GameTask, LimitName, Quirks, Rules, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.referee import clock, probe, relay
from enginetour.referee.compliance import common, course, exam
from enginetour.referee.compliance.course import run_checks
from enginetour.referee.compliance.exam import Compliance, ComplianceTask
from enginetour.referee.game import play
from enginetour.referee.link import Link
from enginetour.referee.startup import EnginePool
from enginetour.testing import scripted_engine

# Games between scripted engines in the process of the test.

Protocol = Literal["uci", "cecp"]
BOTH = pytest.mark.parametrize("protocol", ["uci", "cecp"])
SHUFFLE = ("g1f3", "g8f6", "f3g1", "f6g8")  # knights move back and forth
OVERSLEPT_NS = clock.OVERSLEPT_NS  # of a run; in most tests it is longer, because the machine may be busy
LONG = "60"  # enough time for every test, even on a busy machine


class Eavesdropper(Link):
    """A link that keeps all events."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Any]] = []

    def tell(self, name: str, payload: object) -> None:
        self.told.append((name, payload))


def scripted(
    protocol: Protocol = "uci",
    fault: str = "",
    *,
    name: str = "",
    at: int = 2,
    moves: str = "",
    variants: str = "",
    seconds: float = 1.0,
    told: str = "",
    options: tuple[tuple[str, str], ...] = (),
    **quirks: Any,
) -> EngineSpec:
    """Make an engine with a fault at its search number `at`."""
    command = list(scripted_engine(fault, protocol=protocol, at=at, moves=moves))
    if variants:
        command += ["--variants", variants]
    if told:
        command += ["--told", told]
    command += ["--seconds", str(seconds)]
    quirks.setdefault("ready_timeout", 20.0)
    quirks.setdefault("handshake_timeout", 20.0)
    return EngineSpec(
        name or fault or "sound",
        tuple(command),
        protocol,
        dir="scratch",
        options=options,
        quirks=Quirks(**quirks),
    )


def deaf_at_first(starts: Path, times: int, monkeypatch: pytest.MonkeyPatch) -> EngineSpec:
    """Make a CECP engine whose first processes send their features but read nothing; each process leaves a file.

    The handshake with such a process ends as soon as this is known; a process that reads has enough time.
    """
    spec = scripted("cecp", "deaf-at-first", at=times, tells_features=True)
    whole: Callable[[Engine], int] = vars(Engine)["handshake_deadline"].fget
    count = itertools.count(1)

    def deadline(engine: Engine) -> int:
        if engine.spec.name != spec.name or (number := next(count)) > times:
            return whole(engine)
        while not starts.exists() or starts.stat().st_size < number:
            time.sleep(0.001)
        return time.monotonic_ns()

    monkeypatch.setattr(Engine, "handshake_deadline", property(deadline))
    return replace(spec, command=(*spec.command, "--starts", str(starts)))


def sound(protocol: Protocol = "uci", **kept: Any) -> EngineSpec:
    """Make an engine without a fault."""
    return scripted(protocol, name="sound", **kept)


def game(
    white: EngineSpec,
    black: EngineSpec,
    *,
    white_tc: str = LONG,
    black_tc: str = LONG,
    margin: int = 50,
    opening: Opening | None = None,
    pool: EnginePool | None = None,
    link: Link | None = None,
    replay: int = 0,
    aborts: int = 0,
    keep_lines: str = "",
    spare: Opening | None = None,
    **rules: Any,
) -> Game:
    """Play one game with up to five repetitions, and end the engines unless a pool keeps them.

    Time losses count even if a busy machine makes them doubtful.
    """
    rules.setdefault("repetition", 5)
    rules.setdefault("doubtful_flag", "loss")
    task = GameTask(
        Pairing(white.name, black.name),
        Side(white, TimeControl.parse(white_tc), margin),
        Side(black, TimeControl.parse(black_tc), margin),
        opening or Opening(),
        Rules(**rules),
        replay,
        aborts=aborts,
        keep_lines=keep_lines,
        watched=link is not None,
        spare=spare,
    )
    own = EnginePool()
    try:
        return play(task, link or Link(), pool if pool is not None else own)
    finally:
        own.close_all()


HURRIED = "59"  # seconds on the clock of an engine that `hurry` concerns


def hurry(monkeypatch: pytest.MonkeyPatch, search: int, ms: int) -> None:
    """Let an engine with the clock HURRIED lose on time after `ms` in one search, counted from 0, and in no other.

    A busy machine cannot make it lose in an earlier search. An engine that needs much longer than `ms` is late even if
    the referee was halted while it wrote `go`.
    """
    usual = clock.Clock.flag_ns

    def flag_ns(side: clock.Clock) -> int:
        return ms * MS if side.moves == search and str(side.tc) == HURRIED else usual(side)

    monkeypatch.setattr(relay, "native", None)  # it computes flags by itself
    monkeypatch.setattr(clock.Clock, "flag_ns", flag_ns)


# Games against engines that print random text: each game must end with a valid verdict.

QUICK = Quirks(handshake_timeout=0.6, ready_timeout=0.4)  # short, because a lost line is not repeated
CLOCK = "0.3"  # seconds; a lost move loses the game soon
MEMORY_KB = 20_000  # largest growth with any fault (reliability spec 6)


def babbler(protocol: Protocol, seed: int) -> EngineSpec:
    """Make an engine that prints random text: with a seed, from a line on, and with a frequency."""
    dice = random.Random(seed)
    words: tuple[str, ...] = (sys.executable, "-E", "-S", BABBLING, "--protocol", protocol, "--seed", str(seed))
    words += ("--calm", str(dice.choice([0, 3, 8, 12, 16])), "--rate", str(dice.choice([1, 2, 4, 8])))
    return EngineSpec("babbler", words, protocol, dir="scratch", quirks=QUICK)


def babbled(protocol: Protocol, seed: int) -> Game:
    """Play a game of at most six moves, with the color from the seed, and check everything."""
    odd, other = babbler(protocol, seed), sound("cecp" if protocol == "uci" else "uci")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if seed % 2:
        played = game(odd, other, white_tc=CLOCK, max_moves=6)
    else:
        played = game(other, odd, black_tc=CLOCK, max_moves=6)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEMORY_KB
    assert played.culprit in ("", "babbler"), played
    assert played.cause
    if played.outcome in (Outcome.WHITE, Outcome.BLACK):
        winner = played.pairing.white if played.outcome is Outcome.WHITE else played.pairing.black
        assert winner == "sound", played
    told = (played.cause, *(line for incident in played.incidents for line in (*incident.traffic, *incident.stderr)))
    assert all(line.isprintable() for line in told)
    assert len(played.white.own_name) <= 103 and len(played.black.own_name) <= 103
    return played


# Compliance tests of engines with faults, with short timeouts.

EXAMINEE = str(Path(__file__).parents[1] / "programs" / "examinee.py")
BABBLING = str(Path(__file__).parents[1] / "programs" / "babbling.py")
MISBEHAVING = str(Path(__file__).parents[1] / "programs" / "misbehaving.py")


def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Return short timeouts for steps that fail, and long ones where a response is required."""
    waits = {"PATIENCE_S": 2.0, "SHORT_PATIENCE_S": 0.3, "THOUGHT_S": 0.02, "QUIET_S": 0.1}
    for name, seconds in {**waits, "ANSWER_S": 0.5, "MOVE_S": 0.5, "OWED_S": 0.5}.items():
        monkeypatch.setattr(exam, name, seconds)
    monkeypatch.setattr(probe, "AGAIN_S", ())
    monkeypatch.setattr(course, "TRIES", 1)
    monkeypatch.setattr(common, "QUIT_WAIT", 0.5)
    monkeypatch.setattr(common, "TERM_WAIT", 0.5)


def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Return long timeouts for sound engines on a busy machine."""
    monkeypatch.setattr(cecp, "SILENT_NS", 20_000 * MS)
    for name in ("ANSWER_S", "OWED_S", "MOVE_S", "PATIENCE_S"):
        monkeypatch.setattr(exam, name, 20.0)
    monkeypatch.setattr(common, "QUIT_WAIT", 20.0)
    monkeypatch.setattr(common, "TERM_WAIT", 20.0)


def taken(
    protocol: Protocol, fault: str, *only: str, limits: tuple[LimitName, ...] = (), program: str = "", **quirks: object
) -> Compliance:
    """Run all or some steps of a compliance test, and check that no process of the engine is left."""
    command: tuple[str, ...] = (sys.executable, "-E", EXAMINEE, "--protocol", protocol, "--fault", fault)
    if program:
        command = (program,)
    spec = EngineSpec(
        fault or "sound",
        command,
        protocol,
        dir="scratch",
        limits=frozenset(limits or (USUAL_LIMITS[protocol] | {"depth"})),
        quirks=Quirks(**{"handshake_timeout": 20.0, "ready_timeout": 20.0, **quirks}),  # type: ignore[arg-type]
    )
    found = run_checks(ComplianceTask(spec, only), Link())
    assert not running_engines
    return found


# The compiled module.

ROOT = Path(__file__).parents[2]


def build_hook() -> Any:
    """Load the module `hatch_build` without the builder."""
    interface = types.ModuleType("hatchling.builders.hooks.plugin.interface")
    interface.BuildHookInterface = object  # type: ignore[attr-defined]
    with mock.patch.dict(sys.modules, {interface.__name__: interface}):
        return loaded("hatch_build", ROOT / "enginetour/native/hatch_build.py")


def built(root: Path, flags: str) -> Path:
    """Build the sources under `root` in place with additional flags."""
    with mock.patch.dict(os.environ, {"CC": f"cc {flags}"}):
        made = build_hook().compiled(root)
    assert made is not None
    return Path(made)


def loaded(name: str, path: Path) -> Any:
    """Load a module file under a new name."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# A future of Dask, without Dask.


class Promise:
    """A future with a state that can be awaited and released; a released future can still get a result."""

    def __init__(self) -> None:
        self.status = "pending"
        self.released = False
        self._future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def __await__(self) -> Any:
        return self._future.__await__()

    def settle(self, value: object) -> None:
        """Set the first result; an exception is raised by the await."""
        if self._future.done():
            return
        if isinstance(value, BaseException):
            self._future.set_exception(value)
        else:
            self._future.set_result(value)

    def release(self) -> None:
        """Release it, because its result is not needed."""
        self.released = True


# Syzygy tables for tests: pip downloads those of the source distribution of python-chess into pytest's cache.
# ENGINETOUR_TABLES names another directory of tables.

SOURCE = "chess==1.11.2"  # 3 and 4 pieces, WDL and DTZ, 4.4 MB
LONGEST = 120  # seconds for six megabytes


def tables(config: pytest.Config) -> Path:
    """The directory of the tables; the test is skipped if they cannot be downloaded."""
    named = os.environ.get("ENGINETOUR_TABLES")
    if named:
        return Path(named)
    if config.pluginmanager.has_plugin("cacheprovider"):
        folder = config.cache.mkdir("syzygy")
    else:
        pytest.skip("no Syzygy tables: there is no cache to keep them in")
    if not (folder / "KQvK.rtbw").exists():
        _fetch(folder)
    return folder


def _fetch(folder: Path) -> None:
    words = f"-m pip download {SOURCE} --no-binary chess --no-deps -q -d".split()
    fetch = [sys.executable, *words, str(folder)]
    try:
        subprocess.run(fetch, check=True, capture_output=True, timeout=LONGEST)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"Syzygy tables cannot be fetched: {error}")
    (archive,) = folder.glob("chess-*.tar.gz")
    with tarfile.open(archive) as packed:
        for member in packed:
            if member.isfile() and "/syzygy/regular/" in member.name and member.name.endswith((".rtbw", ".rtbz")):
                member.name = Path(member.name).name
                packed.extract(member, folder, filter="data")
    archive.unlink()


KEPT = "processors [0-9,]+$"  # these engines print it with each search


def lost(played: Game, fault: str, termination: Termination) -> Game:
    """Check that the faulty engine, with White, lost by `termination` with one incident."""
    assert (played.outcome, played.termination) == (Outcome.BLACK, termination), played.cause
    assert played.culprit == fault
    told = [incident for incident in played.incidents if incident.category == played.category]
    assert [incident.engine for incident in told] == [fault]
    assert told[0].traffic
    return played


def drawn(played: Game) -> Game:
    """Check that the game ended with the fifth repetition."""
    assert (played.outcome, played.termination) == (Outcome.DRAW, Termination.REPETITION), played.cause
    assert not played.culprit
    return played


ODD = str(Path(__file__).parents[1] / "programs" / "proc_odd.py")
SECOND = 1_000_000_000  # ns


def odd(mode: str, *arguments: str, dir: str | None = "scratch", **more: object) -> EngineSpec:
    """Make the scripted engine with one of its behaviors."""
    command = (sys.executable, "-I", "-S", ODD, mode, *arguments)
    return EngineSpec(mode, command, "uci", dir=dir, **more)  # type: ignore[arg-type]


def alive(pid: int) -> bool:
    """Whether a process is running and not a zombie."""
    seen = strays.process_info(pid)
    return seen is not None and seen.state != "Z"


def lines_of(engine: EngineProcess, wanted: int) -> list[str]:
    """Return the first lines of its output."""
    intake, lines = LineBuffer(), list[bytes]()
    deadline = time.monotonic_ns() + 60 * SECOND
    while len(lines) < wanted and not engine.eof:
        assert wait((engine,), None, deadline).readable, "it said nothing"
        intake.feed(engine.read()[0])
        lines += filter(None, map(bytes.strip, iter(intake.line, None)))
    return [line.decode() for line in lines]


SCRIPTED = str(Path(__file__).parents[1] / "programs" / "proc_slot.py")


def task(what: str, white: EngineSpec | None = None, black: EngineSpec | None = None, memory: str = "b") -> GameTask:
    """Make a task for a game in which the scripted referee does `what`."""
    first, second = (Side(spec or odd("quiet"), TimeControl(nodes=1)) for spec in (white, black))
    return GameTask(Pairing(what, memory), first, second)


COMMAND = (sys.executable, "-P", SCRIPTED)
