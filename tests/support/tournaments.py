"""Whole tournaments in a temporary workspace: run, killed, resumed and changed.

Sizes by environment: ENGINETOUR_NIGHT_KILLS (default 1000), ENGINETOUR_NIGHT_SEED (default 2007).
"""

from __future__ import annotations

import io
import json
import multiprocessing
import os
import random
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path
from queue import Empty, SimpleQueue
from types import SimpleNamespace
from typing import IO, Any, Protocol, Self, TextIO, cast
from unittest import mock

import chess.pgn
import pytest
from click.testing import CliRunner, Result

from enginetour.cli.main import cli, main
from enginetour.engines import protocol, strays
from enginetour.formats.base import make_format, options_model
from enginetour.interop.files import bundled_directory
from enginetour.model.errors import MachineFailure, StoreRefused, UsageRefused
from enginetour.model.game import Entrant, Event, Game, GameFinished, GameKey, Note, Outcome, Pairing, Termination
from enginetour.model.task import EngineSpec, GameTask, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.referee import clock, probe, slot
from enginetour.referee.compliance import common, course
from enginetour.reports.sheet import SCHEMA
from enginetour.store import replay
from enginetour.store.check import inspect
from enginetour.store.log import TournamentLog
from enginetour.store.replay import fold, format_of
from enginetour.store.tournaments import Store
from enginetour.testing import PLAYING
from enginetour.tournament import executor
from enginetour.tournament.control import ask as control_ask
from enginetour.tournament.control import socket_path
from enginetour.tournament.plan import prepare
from enginetour.tournament.scheduler import Scheduler, Watcher
from tests.support.databases import counts_are_kept
from tests.support.engines import alive

FORKS = multiprocessing.get_context("forkserver")
OUTSIDE = (os.getcwd(), dict(os.environ))

# Configurations, the command line, and checks of finished tournaments.

CONFIG = """\
[tournament]
name = "{name}"
seed = 4
[format]
system = "{system}"
{settings}
[play]
{play}tc = "{tc}"
[report]
write = false
{entrants}
"""
BUBBLE = "size = 3\nmin_matches = 2\nunpark_threshold = 2\ngames_per_pairing = 2"
FOUR = ("wren1", "wren2", "wren3", "wren4")
THREE = FOUR[:3]
LONG_S = 60.0  # longer than anything takes on a busy machine
GONE_S = 5.0  # all processes end within this time after the scheduler (reliability section 3)
BUSY_S = 5.0  # additional time for a busy machine


def config(
    folder: Path,
    engines: tuple[str, ...],
    system: str = "bubble",
    settings: str = BUBBLE,
    more: str = "",
    *,
    name: str = "trial",
    tc: str = "depth=1",
    play: str = "",
    strong: bool = False,
) -> Path:
    """Write a configuration with bundled engines; `more` is appended, and `play` is added to [play].

    Wrens are replaced by fast engines, also if they join later, unless the strong must win.
    """
    if not strong and any(engine.startswith("wren") for engine in engines):
        for level in range(1, 9):
            stand_in(folder, f"wren{level}")
    entrants = "\n".join(f'[[entrants]]\nengine = "{engine}"' for engine in engines) + more
    path = folder / f"{name}.toml"
    text = CONFIG.format(
        name=name, system=system, settings=settings, tc=tc, play=play and f"{play}\n", entrants=entrants
    )
    path.write_text(text, "utf-8")
    return path


def stand_in(folder: Path, engine: str) -> None:
    """Write an engine file for a Wren that plays a draw by repetition in milliseconds."""
    shipped_file = (bundled_directory("engines") / f"{engine}.toml").read_text()
    program = json.dumps(str(Path(__file__).parents[1] / "programs" / "shuffling.py"))
    (folder / "engines").mkdir(exist_ok=True)
    text = shipped_file.replace('"{here}/wren.py"', f'"-I", "-S", {program}')
    (folder / "engines" / f"{engine}.toml").write_text(text)


def entrant(name: str, command: Sequence[str], protocol: str = "uci") -> str:
    """Return the section of a configuration for an engine with this command."""
    words = json.dumps([*command])  # a list of strings is the same in TOML
    return f'\n[[entrants]]\nname = "{name}"\nprotocol = "{protocol}"\ndir = "scratch"\ncommand = {words}\n'


TRIED_ONCE = "TESTS_TRY_ENGINES_ONCE"  # in the environment of a forked slot


class ForkedSlot:
    """A slot process with the interface of `subprocess`, forked from a process that has loaded the rules of chess."""

    def __init__(self, kind: Any, folder: str, env: dict[str, str]) -> None:
        theirs, self.stdin = FORKS.Pipe(duplex=False)
        self.stdout, out = FORKS.Pipe(duplex=False)
        self.stderr, err = FORKS.Pipe(duplex=False)
        self.process = kind(target=_be_slot, args=(folder, env, theirs, out, err), daemon=True)
        self.process.start()
        for end in (theirs, out, err):
            end.close()
        assert self.process.pid is not None
        self.pid = self.process.pid
        self.kill = self.process.kill

    def poll(self) -> int | None:
        """Return its exit code; None while it is alive."""
        self.process.join(0 if alive(self.pid) else LONG_S)
        code: int | None = self.process.exitcode
        return code

    def wait(self) -> None:
        """Wait until it has ended."""
        self.process.join()


class Child:
    """A child of this process without the fork server; unlike `multiprocessing`, it uses no descriptor."""

    exitcode: int | None = None

    def __init__(self, target: Callable[..., object], args: tuple[Any, ...], daemon: bool) -> None:
        self.run = partial(target, *args)

    def start(self) -> None:
        """Fork; the exit code of the child is 1 after an exception."""
        self.pid = os.fork()
        if not self.pid:
            try:
                self.run()
                os._exit(0)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)

    def kill(self) -> None:
        """Send SIGKILL if it has not been waited for."""
        if self.exitcode is None:
            os.kill(self.pid, signal.SIGKILL)

    def join(self, seconds: float | None = None) -> None:
        """Wait until it has ended, for at most these seconds."""
        if self.exitcode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG if seconds == 0 else 0)
            self.exitcode = os.waitstatus_to_exitcode(status) if pid else None


def _streams() -> tuple[TextIO, TextIO]:
    """Return stdout and stderr of a new process; they leave their descriptors open when other streams replace them."""
    out, err = (
        io.TextIOWrapper(io.FileIO(number, "w", closefd=False), "utf-8", write_through=True) for number in (1, 2)
    )
    return out, err


def _be_slot(folder: str, env: dict[str, str], *streams: Connection) -> None:
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream.fileno(), number)
        stream.close()
    os.closerange(3, 1 << 16)  # descriptors of the run
    sys.stdout, sys.stderr = _streams()
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    clock.OVERSLEPT_NS = 60_000 * clock.MS  # a busy machine must not void a game
    if TRIED_ONCE in env:
        probe.AGAIN_S, course.TRIES = (), 1  # type: ignore[assignment]
        protocol.OWED_NS = 100 * protocol.MS
        common.ANSWER_S = 1.0  # type: ignore[attr-defined]
    slot.main()


def start_fork_server() -> None:
    """Start it outside the test's directory: `left_running` finds processes by directory and environment."""
    folder, environment = OUTSIDE
    with chdir(folder), mock.patch.dict(os.environ, environment, clear=True):
        forkserver.ensure_running()


@contextmanager
def forked_slots(kind: Any = FORKS.Process) -> Iterator[None]:
    """Fork the slots of this process, because loading their modules takes most of a test's time."""
    if kind is FORKS.Process:
        start_fork_server()

    def popen(command: Sequence[str], *, env: dict[str, str], **more: Any) -> Any:
        return (
            ForkedSlot(kind, os.getcwd(), env)
            if command == executor.SLOT
            else subprocess.Popen(command, env=env, **more)
        )

    with mock.patch.object(executor, "subprocess", SimpleNamespace(PIPE=subprocess.PIPE, Popen=popen)):
        yield


@forked_slots()
def tour(folder: Path, *words: str, expect: int | None = 0) -> subprocess.CompletedProcess[str]:
    """Call the entry point of the command line in a workspace, because a process would take half of a test's time."""
    out, err = io.StringIO(), io.StringIO()
    code: Any = 0
    argv = ["enginetour", *words]
    with chdir(folder), mock.patch.object(sys, "argv", argv), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = end.code
    return _checked(subprocess.CompletedProcess(argv, code, out.getvalue(), err.getvalue()), expect)


def try_engines_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let slots of `tour` try an engine once, with a short wait for an engine that does not respond.

    The three tries and their pauses are tested in referee/test_probe.py.
    """
    monkeypatch.setenv(TRIED_ONCE, "1")


def typed(folder: Path, *words: str, expect: int | None = 0) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process."""
    command = [sys.executable, "-m", "enginetour", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=100)
    return _checked(done, expect)


def _checked(done: subprocess.CompletedProcess[str], expect: int | None) -> subprocess.CompletedProcess[str]:
    assert "Traceback" not in done.stderr, done.stderr
    assert "internal error, " not in done.stderr, done.stderr
    if expect is not None:
        assert done.returncode == expect, done.stdout + done.stderr
    return done


def ask(db: Path, *words: str) -> Result:
    """Run a command on a database; an error is the exception of the result."""
    return CliRunner().invoke(cli, [*words, "--db", str(db)])


def usage_error(done: Result) -> str:
    """Return the error text of a command that a CliRunner called, and check that it is a usage error."""
    if done.exit_code == 2:
        return done.stderr
    assert isinstance(done.exception, UsageRefused), done.exception
    return str(done.exception)


def read(folder: Path, *words: str) -> Any:
    """Return the JSON output of a command without its version; a list for a document with rows only."""
    printed = tour(folder, *words, "--json").stdout
    check_document(words, printed)
    return unwrapped(printed)


def check_document(words: Sequence[str], printed: str) -> None:
    """Check that a command has printed one of its documents, with the keys and values of the type."""
    from enginetour.cli.schemas import DOCUMENTS  # see `stage` in conftest.py

    commands: dict[tuple[str, ...], list[Any]] = {}
    for key, kind in DOCUMENTS.items():
        named = tuple(takewhile(lambda word: word.isalpha() and word.islower(), key.split()))
        commands.setdefault(named, []).append(kind)
    command = max((named for named in commands if named == tuple(words[: len(named)])), key=len)
    faults = []
    for kind in commands[command]:
        try:
            kind.model_validate_json(printed, strict=True)
            return
        except ValueError as fault:
            faults.append(str(fault))
    raise AssertionError(min(faults, key=len))


def unwrapped(text: str) -> Any:
    """Return a JSON document without its version; a list for a document with rows only."""
    document = json.loads(text)
    assert document.pop("schema") == SCHEMA
    return document["rows"] if list(document) == ["rows"] else document


def loaded_by(*words: str, folder: Path | None = None, code: int = 0) -> tuple[str, set[str]]:
    """Return the output of a command in a new process, and the modules that it has loaded at its end."""
    source = (
        "import json, sys; from enginetour.cli.main import main; sys.argv = json.loads(sys.argv[1])\n"
        "try: main()\nexcept SystemExit as end: print(json.dumps([end.code or 0, *sys.modules]), file=sys.stderr)"
    )
    argv = [sys.executable, "-c", source, json.dumps(["enginetour", *words])]
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=True)
    *said, last = done.stderr.splitlines()
    ended, *modules = json.loads(last)
    assert ended == code, done.stderr
    return "\n".join([done.stdout, *said]), set(modules)


@contextmanager
def running(folder: Path, path: Path, *options: str) -> Iterator[Forked]:
    """`enginetour run` in a process, after its first finished game; killed if the test fails."""
    with Forked(folder, ["run", str(path), *options], folder / "errors") as run:
        run.first_game()
        yield run


def until(condition: Callable[[], object], within: float = LONG_S) -> None:
    """Wait until a condition is true, for at most these seconds."""
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.01)


def default_signals() -> None:
    """Restore default signals, because the parent of the tests may ignore some (nohup, a shell's ``&``)."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def audit(folder: Path, name: str = "trial") -> int:
    """Check that no game is lost or doubled and that the log replays to its decisions; return the number of games."""
    with Store.open(folder / "results" / "enginetour.db", create=False) as store:
        return audited(store.tournament(name))


def audited(log: TournamentLog) -> int:
    """Check an open log as `audit` does."""
    replay.audit(log)
    lines = log.games()
    assert [line.number for line in lines] == list(range(1, len(lines) + 1))
    keys = [(*sorted((line.white, line.black)), line.meeting, line.leg, line.replay) for line in lines]
    assert len(set(keys)) == len(keys)
    return len(lines)


def pgn_games(path: Path) -> int:
    """Return the number of readable games in a PGN file."""
    with path.open() as source:
        return sum(1 for _ in iter(lambda: chess.pgn.read_game(source), None))


def left_running(folder: Path) -> list[str]:
    """Return all other processes with the directory in their command, environment or working directory."""
    wanted = os.fsencode(folder)
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        if process.name == str(os.getpid()):
            continue
        try:
            seen = [(process / name).read_bytes() for name in ("cmdline", "environ")]
            seen.append(os.readlink(os.fsencode(process / "cwd")))
        except OSError:  # it has ended, is a zombie, or belongs to another user
            continue
        if any(wanted in text for text in seen):
            found.append(f"{process.name}: {seen[0].replace(bytes(1), b' ').decode('utf-8', 'replace')}")
    return found


# A tournament that is killed at random times and resumed.

KILLS = int(os.environ.get("ENGINETOUR_NIGHT_KILLS", "1000"))
ENDS = max(4, KILLS // 20)  # number of ends of each other kind
SEED = int(os.environ.get("ENGINETOUR_NIGHT_SEED", "2007"))
ALL_OF_IT = 0.3  # share of kills of scheduler, slots and engines together
STUCK_S = 120.0  # a run without output for this time hangs
FINISHED = re.compile(r"Finished game (\d+) \((.+) vs (.+)\): (\S+) ")


class Started(Protocol):
    """A process with the interface of `subprocess`; `stdout` is read without buffer."""

    pid: int

    @property
    def stdout(self) -> IO[bytes] | None:
        """Its output."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its exit code, which is negative for a signal."""


Starter = Callable[[Path, list[str], Path], Started]
"""Folder, words of the command line, file for stderr -> the process."""


def by_name(folder: Path, words: list[str], errors: Path) -> Started:
    """Start the program in a new session."""
    with errors.open("wb") as sink:
        return subprocess.Popen(
            [sys.executable, "-u", "-m", "enginetour", *words],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=sink,
            env=os.environ | {"TMPDIR": str(temporary(folder))},
            preexec_fn=default_signals,
            start_new_session=True,
        )


def temporary(folder: Path) -> Path:
    """Set the directory for temporary files of a run to the test's directory."""
    made = folder / "tmp"
    made.mkdir(exist_ok=True)
    return made


@dataclass
class Life:
    """One `enginetour run` until it was killed or has ended."""

    process: Started
    errors: Path
    held: bytes = b""
    announced: list[tuple[int, str, str, str]] = field(default_factory=list)

    def listen(self, seconds: float, games: int = 1 << 30) -> bool:
        """Read its output for this time or until this number of games; False if it has ended."""
        assert self.process.stdout is not None
        until = time.monotonic() + seconds
        wanted = len(self.announced) + games
        while len(self.announced) < wanted and (left := until - time.monotonic()) > 0:
            if select.select([self.process.stdout], [], [], left)[0] and not self._hear():
                return False
        return True

    def _hear(self) -> bool:
        assert self.process.stdout is not None
        chunk = os.read(self.process.stdout.fileno(), 1 << 16)
        *lines, self.held = (self.held + chunk).split(b"\n")
        for line in lines:
            found = FINISHED.match(line.decode())
            if found:
                number, white, black, result = found.groups()
                self.announced.append((int(number), white, black, result))
        return bool(chunk)

    def end(self) -> int:
        """Read the remaining output and wait; return the exit code, negative for a signal."""
        assert self.listen(STUCK_S) is False, f"still there after {STUCK_S:.0f} s: {self.said()}"
        code = self.process.wait(STUCK_S)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code

    def said(self) -> str:
        """Return its stderr."""
        return self.errors.read_text("utf-8", "replace")


@dataclass
class Tour:
    """One configuration, its runs, and every game that was reported."""

    folder: Path
    path: Path
    dice: random.Random
    slots: int = 1
    start: Starter = by_name
    start_s: float = 2.0  # approximate time of a run's preparations
    in_order: bool = True  # False if games failed on a machine, because other games precede them then
    lives: int = 0
    announced: dict[int, tuple[str, str, str]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the tournament."""
        return self.path.stem

    def begin(self) -> Life:
        """Start or resume the tournament with the same command in a new process."""
        self.lives += 1
        errors = self.folder / f"{self.name}-{self.lives}.stderr"
        words = ["run", str(self.path), "--concurrency", str(self.slots), "--force"]
        return Life(self.start(self.folder, words, errors), errors)

    def wait_for_a_moment(self, life: Life) -> bool:
        """Wait for a random time or for the report of a game; False if the run has ended."""
        if self.dice.random() < 0.4:
            return life.listen(self.dice.uniform(0.0, self.start_s))
        later = self.dice.choice((0.0, self.dice.uniform(0.0, 0.3)))
        return life.listen(STUCK_S, self.dice.randint(1, 4)) and life.listen(later)

    def after(self, life: Life, code: int) -> None:
        """Check after a run that no process is left, and that every reported game is stored once."""
        said = life.said()
        assert "internal error, " not in said, said
        assert "Traceback" not in said or code == -signal.SIGINT, said
        self.nothing_left()
        for number, *rest in life.announced:
            assert number not in self.announced, f"game {number} was announced in two lives"
            self.announced[number] = (rest[0], rest[1], rest[2])
        if self.announced:
            with self.log() as (log, _):
                lines = {line.number: (line.white, line.black, line.outcome.value) for line in log.games()}
                lost = {number: told for number, told in self.announced.items() if lines.get(number) != told}
                assert not lost, f"announced and not there: {lost}"
                audited(log)

    def nothing_left(self) -> None:
        """Check that all processes end within the promised time."""
        until = time.monotonic() + GONE_S
        while left := left_running(self.folder):
            assert time.monotonic() < until, left
            time.sleep(0.02)  # poll, because they are not child processes

    def log(self) -> _Opened:
        """Open the stored tournament."""
        return _Opened(self.folder, self.name)

    def finished(self) -> bool:
        """Whether no game is left to play."""
        if not self.announced:
            return False
        with self.log() as (log, _):
            format_, state = fold(log)
            return not format_.offers(state)

    def finish(self) -> int:
        """Play the remaining games without a kill; check that games and decisions are as in one uninterrupted run."""
        life = self.begin()
        code = life.end()
        assert code == 0, life.said()
        self.after(life, code)
        assert self.finished()
        assert "Finished game" not in tour(self.folder, "run", str(self.path)).stdout
        with self.log() as (log, _):
            self._as_unbroken(log)
            games = audited(log)
            pgn = self.folder / "results" / f"{self.name}.pgn"
            assert pgn_games(pgn) == len(log.games(counting=True))
            assert pgn.read_text("utf-8") == tour(self.folder, "export", "pgn", "-t", self.name).stdout
            events = [json.loads(line) for line in pgn.with_suffix(".log.jsonl").read_text("ascii").splitlines()]
            logged = [event["number"] for event in events if event["event"] == "game"]
            assert logged == [line.number for line in log.games()], "each game has one line in the log"
            blamed = [incident for _, incident in log.incidents() if not incident.is_warning]
            assert [incident for incident in blamed if incident.category in ("crash", "host")] == [], blamed
            return games

    def _as_unbroken(self, log: TournamentLog) -> None:
        """Check that pairings, openings and decisions are those of an uninterrupted run with the same results."""
        pairings, notes = unbroken(log)
        played = [event.pairing for event in log.events() if isinstance(event, GameFinished) and counts(event)]
        assert sorted(pairings, key=str) == sorted(played, key=str)
        if self.slots == 1 and self.in_order:
            assert pairings == played
        assert as_json(notes) == as_json(note for _, note in log.notes())
        book = prepare(self.path, None).book
        assert all(stored.game.opening == book.pick(stored.game.pairing) for stored in log.full_games())


class _Opened:
    """The log of a tournament and its database, which is closed at the end."""

    def __init__(self, folder: Path, name: str) -> None:
        self.store = Store.open(folder / "results" / "enginetour.db", create=False)
        self.name = name

    def __enter__(self) -> tuple[TournamentLog, Store]:
        return self.store.tournament(self.name), self.store

    def __exit__(self, *_: object) -> None:
        self.store.close()


def counts(event: GameFinished) -> bool:
    """Whether a game is not void."""
    return event.outcome is not Outcome.VOID


def as_json(notes: Iterable[Note]) -> list[str]:
    """Return a comparable value, because the database has lists where formats have tuples."""
    return [json.dumps([note.kind, note.text, note.fields]) for note in notes]


def unbroken(log: TournamentLog) -> tuple[list[Pairing], list[Note]]:
    """Replay a tournament game by game with the results of the log; return its pairings and decisions."""
    format_ = format_of(log)
    results = {event.pairing.key: event for event in log.events() if isinstance(event, GameFinished) and counts(event)}
    state: Any = format_.start(log.entrants)
    pairings: list[Pairing] = []
    while offers := format_.offers(state):
        pairings.append(offers[0])
        state = format_.step(state, GameFinished(offers[0], results[offers[0].key].outcome))
    return pairings, list(format_.notes(state))


def send(pids: list[int], number: signal.Signals) -> None:
    """Send a signal to all processes; some may have ended."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def everybody(folder: Path) -> list[int]:
    """Return scheduler, slots and engines, as the kernel or a service manager would end them."""
    return [int(line.partition(":")[0]) for line in left_running(folder)]


def kill_everybody(folder: Path) -> None:
    """Kill all process groups, first the scheduler's, faster than one can end the next."""
    found = sorted(everybody(folder))
    for pid in found:
        seen = strays.process_info(pid)
        if seen is not None and seen.group == pid:  # only for a group leader
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)


def slots_of(scheduler: int) -> list[int]:
    """Return the slot processes of a scheduler."""
    return [seen.pid for seen in strays.process_table() if seen.parent == scheduler and seen.state != "Z"]


def kill(folder: Path, life: Life, dice: random.Random) -> None:
    """Send SIGKILL to the scheduler or to all processes."""
    if dice.random() < ALL_OF_IT:
        kill_everybody(folder)
    send([life.process.pid], signal.SIGKILL)


def killed(folder: Path, tours: Iterable[Tour], wanted: int) -> str:
    """Kill runs this number of times, with as many tournaments as needed, and describe the result."""
    kills = games = lives = 0
    for one in tours:
        while kills < wanted:
            life = one.begin()
            if one.wait_for_a_moment(life):
                kill(folder, life, one.dice)
                kills += 1
            code = life.end()
            assert code in (0, -signal.SIGKILL), life.said()
            one.after(life, code)
            if one.finished():
                break
        games += one.finish()
        lives += one.lives
        if kills >= wanted:
            break
    return f"{kills} kills in {lives} lives, {games} games, none lost, none doubled, nothing left running"


# The command line in forked processes, because a new interpreter for each run would take most of a test's time.

FIELD = (("Ada", "uci"), ("Bea", "cecp"), ("Cid", "uci"), ("Dot", "cecp"))
# Two draws by repetition, and two games that the engine without a knight loses by an illegal move.
BOOK = """\
rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq -
rnbqkbnr/ppp1pppp/8/3p4/3P4/8/PPP1PPPP/RNBQKB1R w KQkq -
rnbqkb1r/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq -
rnbqkbnr/ppp1pppp/8/3p4/3P4/8/PPP1PPPP/RNBQKBNR w KQkq -
"""
LOADED = ["enginetour.cli.run", "enginetour.cli.session", "enginetour.referee.game", "networkx"]
SERVED = ["enginetour.cli.report", "enginetour.web.server", "enginetour.web.app"]
DASK = ["distributed.cli.dask_scheduler", "distributed.cli.dask_worker", "enginetour.tournament.cluster.executor"]
FORKS.set_forkserver_preload([*LOADED, *SERVED, *DASK, "tests.support.tournaments"])


class Forked:
    """`enginetour` with the interface of `subprocess`; `before` is called in the new process first."""

    def __init__(self, folder: Path, words: list[str], errors: Path, before: Callable[[], object] = int) -> None:
        errors.touch()  # the new process can be killed before it opens its file
        start_fork_server()
        ours, theirs = FORKS.Pipe(duplex=False)
        self.process = FORKS.Process(target=live, args=(folder, words, errors, theirs, before, dict(os.environ)))
        self.process.start()
        theirs.close()
        assert self.process.pid is not None
        self.pid = self.process.pid
        self.errors = errors
        self.stdout: IO[bytes] | None = io.FileIO(os.dup(ours.fileno()))
        ours.close()

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its exit code, which is negative for a signal."""
        self.process.join(timeout)
        code = self.process.exitcode
        assert code is not None, "it does not end"
        self.process.close()
        return code

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Kill it if it has not been waited for."""
        assert self.stdout is not None
        self.stdout.close()
        with suppress(ValueError):
            self.process.kill()
            self.wait()

    def send(self, number: signal.Signals) -> None:
        """Send a signal to this process only."""
        os.kill(self.pid, number)

    def first_game(self) -> bytes:
        """Return its output up to its first finished game."""
        return self.hear(b"Finished game")

    def hear(self, words: bytes) -> bytes:
        """Return its output up to this text, and the rest of the last read."""
        assert self.stdout is not None
        said = b""
        while words not in said:
            chunk = self.stdout.read(4096)
            assert chunk, self.errors.read_text()
            said += chunk
        return said

    def ended(self) -> tuple[int, str, str]:
        """Return its exit code as in a shell, its remaining output, and its stderr."""
        assert self.stdout is not None
        said = self.stdout.read().decode()
        self.stdout.close()
        code = self.wait(LONG_S)
        told = self.errors.read_text()
        assert "Traceback" not in told, told
        assert "internal error, " not in told, told
        return (128 - code if code < 0 else code), said, told


def live(
    folder: Path,
    words: list[str],
    errors: Path,
    out: Connection,
    before: Callable[[], object],
    environment: dict[str, str],
) -> None:
    """Run the command line in the new process, with its own session, directory and streams."""

    with suppress(PermissionError):  # it is already a session leader
        os.setsid()
    default_signals()
    os.dup2(out.fileno(), 1)
    with errors.open("wb") as sink:
        os.dup2(sink.fileno(), 2)
    out.close()
    sys.stdout, sys.stderr = _streams()
    os.environ.clear()
    os.environ.update(environment | {"TMPDIR": str(temporary(folder))})
    os.chdir(folder)
    before()
    with mock.patch.object(sys, "argv", ["enginetour", *words]), forked_slots(Child):
        main()


def scripted(name: str, protocol: str, *more: str) -> str:
    """Return the section of a configuration for an engine that moves its knights back and forth."""
    words = [sys.executable, "-I", "-S", PLAYING, "--protocol", protocol, *more]
    return entrant(name, words, protocol)


def quick(folder: Path, name: str = "trial", system: str = "bubble", settings: str = BUBBLE, play: str = "") -> Path:
    """Write a configuration with four scripted engines of both protocols and very short games."""
    entrants = "".join(scripted(*who) for who in FIELD)
    (folder / "suite.epd").write_text(BOOK)
    play = f'openings = {{ file = "suite.epd" }}\n{play}'.strip()
    return config(folder, (), system, settings, entrants, name=name, tc="60+1", play=play)


SEVEN = ("Ada", "Bea", "Cid", "Dot", "Eve", "Fay", "Gus")
DIVISIONS = """
[[league.divisions]]
name = "Premier"
size = 3
format = { system = "roundrobin" }

[[league.divisions]]
name = "First"
size = 3
format = { system = "roundrobin", cycles = 2 }
play = { max_moves = 90 }
"""


def league(folder: Path, rules: str = "", divisions: str = DIVISIONS, names: tuple[str, ...] = SEVEN) -> Path:
    """Write a league of scripted engines; the engines without a knight lose."""
    (folder / "suite.epd").write_text(BOOK)
    words = [f'[league]\nname = "Mini"\n{rules}\n{divisions}\n[play]\ntc = "60+1"\nconcurrency = 2\n']
    words.append('openings = { file = "suite.epd" }\n[report]\nwrite = false\n')
    words += [scripted(name, "cecp" if number % 2 else "uci") for number, name in enumerate(names)]
    path = folder / "league.toml"
    path.write_text("".join(words))
    return path


# Thousands of random, mutated and malicious requests to a running tournament.

# Valid requests. An engine leaves or joins once, and no request ends the run.
SEEDS: tuple[dict[str, Any], ...] = (
    {"do": "void", "game": 1, "why": "dice"},
    {"do": "void", "game": 2},
    {"do": "withdraw", "engine": "Dot", "why": "dice"},
    {"do": "add", "id": "wren4", "name": "New", "why": "dice"},
    {"do": "replace", "engine": "Cid", "id": "wren3", "fingerprint": ""},
    {"do": "slots", "slots": 2, "force": False},
    {"do": "machines", "drain": "kallisto"},
    {"do": "pause"},
    {"do": "unpause"},
    {"do": "unpause"},
    {"do": "status"},
)
# Texts of older requests and of engine files.
FOREIGN = ("spec", "entrant", "command", "env", "options", "protocol", "shell", "place", "grace", "do", "exit", "\0")
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, 2**31, 2**63, -(2**64), float("inf"), float("nan"), 10**300),
    *("", " ", "\0", "\ud800", "😀", "../../bin/sh", "/bin/sh", "wren4\n", "x" * 5000, "[" * 30_000, "{}", "null"),
    *([], [5], ["/bin/sh", "-c", "id"], [[["a"]]], {}, {"name": 7}, {"do": "void"}, [None] * 100),
    {"name": "X", "command": [5], "protocol": "uci", "limits": ["clock"], "env": [["A", 1]]},
)
REAL = frozenset(("void", "withdraw", "add", "replace"))  # requests that write an event


def requests(dice: random.Random) -> Iterator[bytes]:
    """Yield requests as lines without their end."""
    while True:
        line = _one(dice).replace(b"\n", b" ")
        if not line.strip().startswith(b'{"do": "subscribe"'):
            yield line


def _one(dice: random.Random) -> bytes:
    request = dict(dice.choice(SEEDS))
    kind = dice.random()
    if kind < 0.05:
        return dice.randbytes(dice.randint(1, 200))
    if kind < 0.10:
        deep = dice.choice((10, 300, 900, 30_000))
        inside = b"[" * deep + b"]" * deep * dice.randint(0, 1)
        return dice.choice((inside, b'{"do":"add","id":' + inside + b"}", b'{"do":' + inside + b"}"))
    for _ in range(dice.randint(0, 3)):
        _mutate(request, dice)
    text = json.dumps(request, ensure_ascii=dice.random() < 0.9).encode("utf-8", "surrogatepass")
    if kind < 0.35:
        spoilt = bytearray(text)
        for _ in range(dice.randint(1, 4)):
            at = dice.randrange(len(spoilt))
            spoilt[at : at + dice.randint(0, 3)] = dice.randbytes(dice.randint(0, 3))
            spoilt = spoilt or bytearray(b"{")
        return bytes(spoilt)
    return text


def _mutate(request: dict[str, Any], dice: random.Random) -> None:
    keys = list(request)
    match dice.randrange(5):
        case 0 if keys:
            del request[dice.choice(keys)]
        case 1 if keys:
            request[dice.choice(keys)] = dice.choice(ODD)
        case 2:
            request[dice.choice(FOREIGN)] = dice.choice(ODD)
        case 3 if keys:
            request[dice.choice(keys).upper()] = request.pop(dice.choice(keys), None)
        case _:
            request |= dice.choice(SEEDS)


class Bombarded:
    """A tournament that gets `count` requests and is then finished."""

    def __init__(self, folder: Path, count: int, seed: int) -> None:
        (folder / "results").mkdir(exist_ok=True)
        path = quick(folder, system="roundrobin", settings="cycles = 5000\ngames_per_pairing = 2")
        self.folder, self.count = folder, count
        self.database = folder / "results" / "enginetour.db"
        self.answers: Counter[str] = Counter()  # "ok" or the exit code
        self.written = 0
        self.run = Forked(folder, ["run", str(path), "--concurrency", "2"], folder / "errors.txt")
        self.run.first_game()
        listener = threading.Thread(target=self._listen, daemon=True)
        listener.start()
        begun = time.monotonic()
        self._bombard(random.Random(seed))
        self.seconds = time.monotonic() - begun
        control_ask(socket_path(self.database, "trial"), {"do": "unpause"}, timeout=LONG_S)
        control_ask(socket_path(self.database, "trial"), {"do": "finish"}, timeout=LONG_S)
        listener.join(LONG_S)
        assert not listener.is_alive(), "the run does not end"
        assert self.run.stdout is not None
        self.run.stdout.close()
        self.code = self.run.wait(LONG_S)

    def _listen(self) -> None:
        assert self.run.stdout is not None
        while self.run.stdout.read(1 << 16):
            pass

    def _bombard(self, dice: random.Random) -> None:
        where = os.fspath(socket_path(self.database, "trial"))
        lines = requests(dice)
        done = 0
        while done < self.count:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(LONG_S)
                connection.connect(where)
                answers = connection.makefile("rb")
                while done < self.count:
                    line = next(lines)
                    with suppress(BrokenPipeError):  # it was rejected in the middle of a long line
                        connection.sendall(line + b"\n")
                    try:
                        answer = answers.readline()
                    except ConnectionResetError:
                        answer = b""
                    if not answer:  # the server has closed the connection: ask again
                        break
                    done += 1
                    self._count(line, json.loads(answer))

    def _count(self, line: bytes, answer: dict[str, Any]) -> None:
        if answer["ok"]:
            self.answers["ok"] += 1
            self.written += json.loads(line)["do"] in REAL
            return
        assert answer["error"] and "\n" not in answer["error"], answer
        assert len(answer["error"]) < 2000, answer
        self.answers[f"exit {answer['exit']}"] += 1

    def settle(self) -> str:
        """Check that nothing failed and nothing invalid was written; return the numbers."""
        told = self.run.errors.read_text()
        assert self.code == 8, told
        assert "Traceback" not in told and "internal error, " not in told, told
        games = audit(self.folder)
        with Store.open(self.database, create=False, readonly=True) as store:
            assert inspect(store).findings == ()
            log = store.tournament("trial")
            assert log.last_position == games + self.written
            joined = [spec for name, spec in log.specs.items() if name not in dict(FIELD)]
            assert all(Path(spec.command[1]).name == "wren.py" and spec.name.isprintable() for spec in joined), joined
        assert left_running(self.folder) == []
        figures = ", ".join(f"{count} {name}" for name, count in sorted(self.answers.items()))
        return f"{self.count} requests in {self.seconds:.0f} s: {figures}; {self.written} events, {games} games"


# A run that gets random requests while its slots are killed.

SLOTS = 8
ACTS = ("slots", "slots", "slots", "pause", "unpause", "unpause", "status", "void", "withdraw", "kill")


class Turmoil:
    """One tournament in a directory: call `steer` several times, then `settle`."""

    def __init__(self, folder: Path, dice: random.Random, cycles: int) -> None:
        (folder / "results").mkdir()
        path = quick(folder, system="roundrobin", settings=f"cycles = {cycles}\ngames_per_pairing = 2")
        self.folder, self.dice = folder, dice
        self.database = folder / "results" / "enginetour.db"
        self.done: Counter[str] = Counter()
        self.stays = [name for name, _ in FIELD]
        self.run = Forked(folder, ["run", str(path), "--concurrency", str(SLOTS), "--force"], folder / "errors.txt")
        self.said = bytearray(self.run.first_game())
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()

    def _listen(self) -> None:
        assert self.run.stdout is not None
        while chunk := self.run.stdout.read(1 << 16):
            self.said += chunk

    def steer(self, act: str) -> None:
        """Send a random request or signal."""
        if act == "kill":
            slots = [seen.pid for seen in strays.process_table() if seen.parent == self.run.pid and seen.state != "Z"]
            if slots:
                with suppress(ProcessLookupError):
                    os.kill(self.dice.choice(slots), signal.SIGKILL)
                self.done[act] += 1
            return
        request: dict[str, Any] = {"do": act} | ({"why": "dice"} if act in ("void", "withdraw") else {})
        if act == "slots":
            request |= {"slots": self.dice.randint(1, SLOTS), "force": True}
        elif act == "void":
            request["game"] = self.dice.randint(1, 1 + self.said.count(b"Finished game"))
        elif act == "withdraw":
            if len(self.stays) < len(FIELD):
                return
            request["engine"] = self.stays.pop(self.dice.randrange(len(self.stays)))
        try:
            answer = control_ask(socket_path(self.database, "trial"), request, timeout=60.0)
        except StoreRefused:  # the run has just ended
            return
        self.done[act] += bool(answer and answer["ok"])
        if answer and act == "status":
            assert len(answer["playing"]) <= SLOTS

    def settle(self) -> int:
        """Play to the end and check that no game is lost or doubled; return the number of games."""
        self.steer("unpause")
        self.listener.join()
        assert self.run.stdout is not None
        self.run.stdout.close()
        code = self.run.wait(60.0)
        told = self.run.errors.read_text()
        assert code == 0, told
        assert "Traceback" not in told, told
        games = audit(self.folder)
        with Store.open(self.database, create=False) as store:
            log = store.tournament("trial")
            lines = log.games()
            keys = Counter((*sorted((line.white, line.black)), line.meeting, line.leg) for line in lines if line.counts)
            assert set(keys.values()) == {1}
            assert counts_are_kept(log)
        assert pgn_games(self.folder / "results" / "trial.pgn") == keys.total()
        assert left_running(self.folder) == []
        return games


class Kept(list[Any]):
    """A sink that keeps all events."""

    def __call__(self, event: Any) -> None:
        self.append(event)

    def of(self, *kinds: str) -> list[Any]:
        return [event for event in self if event["event"] in kinds]


ENTRANTS = tuple(Entrant(name) for name in ("Ada", "Bea", "Cid", "Dot"))


class MemoryLog:
    """A log in memory that stores each key and replay number once."""

    def __init__(self) -> None:
        self.games: dict[tuple[GameKey, int], Game] = {}
        self.notes: list[Note] = []
        self.left: list[tuple[Event, str]] = []

    def events(self) -> Iterable[Event]:
        return [GameFinished(game.pairing, game.outcome) for game in self.games.values()]

    def record_games(self, games: Sequence[tuple[Game, Sequence[Note]]]) -> list[int | None]:
        return [self.record_game(game, notes) for game, notes in games]

    def record_game(self, game: Game, notes: Sequence[Note]) -> int | None:
        place = (game.pairing.key, game.replay)
        if place in self.games:
            return None
        self.games[place] = game
        self.notes += notes
        return len(self.games)

    def record_event(self, event: Event, notes: Sequence[Note], *, why: str, spec: EngineSpec | None = None) -> int:
        self.left.append((event, why))
        return len(self.left)

    def replays(self, key: GameKey) -> int:
        return sum(place[0] == key and game.outcome is Outcome.VOID for place, game in self.games.items())


class Inline:
    """An executor that plays in the calling thread: `verdict` decides each game, or raises an error of the machine."""

    def __init__(self, verdict: Callable[[GameTask], Game]) -> None:
        self.verdict = verdict
        self.tasks: list[GameTask] = []
        self.stopped = ""
        self.sizes: list[int] = []

    def submit(self, task: GameTask, prefer: int | None = None) -> Future[Any]:
        self.tasks.append(task)
        future: Future[Any] = Future()
        try:
            future.set_result(self.verdict(task))
        except MachineFailure as failure:
            future.set_exception(failure)
        return future

    def resize(self, slots: int) -> None:
        self.sizes.append(slots)

    def stop(self, *, now: bool) -> None:
        self.stopped = "now" if now else "finish"


class Heard(Watcher):
    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.words: list[str] = []

    def game(self, number: int, game: Game, notes: Sequence[Note]) -> None:
        self.numbers.append(number)

    def trouble(self, text: str) -> None:
        self.words.append(text)


def ended(task: GameTask, outcome: Outcome = Outcome.WHITE, **more: Any) -> Game:
    return Game(task.pairing, outcome, Termination.MATE, replay=task.replay, **more)


def without_dot(task: GameTask) -> Game:
    """Fail each start of Dot."""
    if "Dot" in task.pairing.pair:
        return ended(task, Outcome.VOID, culprit="Dot", category="start-failure", cause="exit 1")
    return ended(task)


def task_for(pairing: Pairing, replay: int) -> GameTask:
    side = Side(EngineSpec("x", ("x",), "uci"), TimeControl.parse("1+0"))
    return GameTask(pairing, side, side, replay=replay)


class Unwaiting(SimpleQueue[Callable[[], None]]):
    """An inbox that does not wait, because games end immediately; the test sets its clock."""

    def get(self, block: bool = True, timeout: float | None = None) -> Callable[[], None]:
        return super().get(block=False)


def loop_of(
    executor: Any, log: Any = None, field: tuple[Entrant, ...] = ENTRANTS, system: str = "roundrobin", **more: Any
) -> Scheduler:
    """Return the loop of a tournament in memory; `options` are those of the format."""
    format_ = make_format(system, options_model(system).model_validate(more.pop("options", {})))
    settings: dict[str, Any] = {"task_for": task_for, "watcher": Heard(), "inbox": Unwaiting(), **more}
    log = MemoryLog() if log is None else log
    return Scheduler(log, format_, field, executor, **settings)


def logged(loop: Scheduler) -> MemoryLog:
    return cast("MemoryLog", loop.log)


def scheduler(verdict: Callable[[GameTask], Game], log: MemoryLog | None = None, **more: Any) -> Scheduler:
    ticks = iter(range(0, 10_000_000, 100))
    return loop_of(Inline(verdict), log, **{"clock": lambda: float(next(ticks)), **more})


class Airborne(Inline):
    """An executor whose games are in progress until a test ends them."""

    def __init__(self, seats: int = 99) -> None:
        super().__init__(ended)
        self.futures: list[Future[Any]] = []
        self.seats = seats
        self.wishes: list[int | None] = []

    def submit(self, task: GameTask, prefer: int | None = None) -> Future[Any]:
        self.tasks.append(task)
        self.futures.append(Future())
        self.wishes.append(prefer)
        if len(self.futures) <= self.seats:
            self.futures[-1].set_running_or_notify_cancel()
        return self.futures[-1]

    def end(self, number: int) -> None:
        self.futures[number].set_result(ended(self.tasks[number]))

    def pairs(self) -> list[tuple[str, str]]:
        return [task.pairing.pair for task in self.tasks]


def airborne(seats: int = 99, **options: Any) -> tuple[Scheduler, Airborne]:
    """A round robin of four engines in two slots, step by step; more games than seats wait."""
    place = Airborne(seats)
    loop = loop_of(place, slots=2, options=options)
    loop._submit()
    return loop, place


def settle(loop: Scheduler) -> None:
    """Return the actions of the loop after games have ended."""
    loop._settle_all()
    loop._submit()


class Landing(Inline):
    """An executor and inbox in which a random game ends whenever the loop waits."""

    def __init__(self, seed: int) -> None:
        super().__init__(ended)
        self.air: list[tuple[Future[Any], GameTask]] = []
        self.dice = random.Random(seed)

    def submit(self, task: GameTask, prefer: int | None = None) -> Future[Any]:
        future: Future[Any] = Future()
        self.tasks.append(task)
        self.air.append((future, task))
        return future

    def get(self, block: bool = True, timeout: float | None = None) -> Callable[[], None]:
        if self.air:
            future, task = self.air.pop(self.dice.randrange(len(self.air)))
            outcome = random.Random(f"{task.pairing.key}").choice([Outcome.WHITE, Outcome.DRAW, Outcome.BLACK])
            future.set_result(ended(task, outcome))
        return lambda: None

    def get_nowait(self) -> Callable[[], None]:
        raise Empty

    def empty(self) -> bool:
        return True

    def put(self, _: Callable[[], None]) -> None:
        pass


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now
