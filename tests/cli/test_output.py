"""Console output that never delays a game, and the signals of a run."""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import os
import re
import select
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from enginetour.cli import output
from enginetour.cli.output import SignalState
from enginetour.store.database import Database
from enginetour.store.tournaments import Store
from enginetour.tournament import notify
from enginetour.tournament.control import ask, socket_path
from tests.support.tournaments import (
    BUSY_S,
    LONG_S,
    Forked,
    audit,
    config,
    default_signals,
    entrant,
    everybody,
    quick,
    scripted,
    send,
    until,
)

# Signals of a run are counted one by one.

LONG = 400_000  # rounds of a digest: a tenth of a second in C, in which Python calls no handler


@pytest.fixture
def _noted() -> Iterator[None]:
    """Reset signals that the parent process of the tests ignores, so that they are noted."""
    before = {
        number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    yield
    for number, action in before.items():
        signal.signal(number, action)


def sent(number: signal.Signals) -> None:
    """Send a signal to this process and wait until it is delivered; the kernel merges equal pending signals."""
    os.kill(os.getpid(), number)
    bit = 1 << (number - 1)
    while True:
        lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        if not int(lines["ShdPnd"], 16) & bit:
            return


@pytest.mark.usefixtures("_noted")
@pytest.mark.parametrize(
    ("numbers", "hard"), [((signal.SIGINT,), False), ((signal.SIGINT,) * 2, True), ((signal.SIGHUP,), True)]
)
def test_every_one_counts_though_python_is_busy(numbers: tuple[signal.Signals, ...], hard: bool) -> None:
    """A second Ctrl-C counts during a long step in C; the previous signal handlers are restored afterwards."""
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    heard, busy = SignalState(), threading.Event()
    acts: list[int] = []
    heard.act = lambda: acts.append(len(heard.numbers))

    def send() -> None:
        busy.wait()
        for number in numbers:
            sent(number)

    with heard.noting():
        assert not heard
        sender = threading.Thread(target=send)
        sender.start()
        busy.set()
        hashlib.pbkdf2_hmac("sha256", b"", b"", LONG)
        sender.join()
    assert heard.numbers == list(numbers)
    assert heard.is_hard() is hard
    assert heard.code == 128 + numbers[-1]
    assert heard.name == numbers[-1].name
    assert acts[-1] == len(numbers)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before
    assert signal.set_wakeup_fd(-1) == -1


# Signals from outside, while an engine that heeds nothing thinks and nobody answers the webhook: codes and limits.

INT, TERM, HUP = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
# Ignores every signal it can, end of file and `quit`; says through a named pipe when its first search begins.
STUBBORN = """\
import signal, sys, time
for number in signal.valid_signals():
    if number not in (signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_IGN)
for line in sys.stdin:
    word = line.split()[0]
    if word == "go":
        open({thinks!r}, "w").close()
        break
    print({{"uci": "uciok", "isready": "readyok"}}.get(word, ""), flush=True)
while True:
    time.sleep(60)
"""


@pytest.fixture
def silence() -> Iterator[str]:
    """Return the address of a webhook that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"


def stubborn(folder: Path, more: str = "", play: str = "") -> Path:
    """Return the configuration of a tournament whose first game never ends."""
    (folder / "stubborn.py").write_text(STUBBORN.format(thinks=str(folder / "thinks")))
    os.mkfifo(folder / "thinks")
    entrants = entrant("Eve", [sys.executable, "-I", str(folder / "stubborn.py")])
    return config(folder, (), "roundrobin", "", entrants + scripted("Ada", "uci") + more, tc="600", play=play)


def patient() -> None:
    """In the new process: without a signal, waits are longer than `BUSY_S`."""
    notify.WEBHOOK_S = notify.FAREWELL_S = output.LAST_WORDS_S = 600.0


def thinking(folder: Path, path: Path) -> Forked:
    """Start a run and wait until its engine thinks in a game of the scheduler's loop."""
    run = Forked(folder, ["run", str(path)], folder / "errors", patient)
    (folder / "thinks").read_text()
    place = socket_path(folder / "results" / "enginetour.db", "trial")
    until(lambda: ask(place, {"do": "status"}, timeout=LONG_S))
    return run


@pytest.mark.parametrize(
    ("numbers", "whole", "within"),
    [((INT, INT), False, 3.0), ((TERM,), False, 5.0), ((TERM,), True, 5.0), ((HUP,), False, 5.0)],
    ids=["int-twice", "term", "term-everybody", "hup"],
)
def test_whoever_is_in_a_hurry_gets_out(
    workspace: Path, silence: str, numbers: tuple[signal.Signals, ...], whole: bool, within: float
) -> None:
    """A signal ends the run in time, with its exit code and the command that resumes it, and without an incident."""
    path = stubborn(workspace, f'\n[notify]\nwebhook = "{silence}"\n')
    run = thinking(workspace, path)
    begun = time.monotonic()
    for number in numbers[:-1]:
        run.send(number)
        until_heard(workspace)
    send(everybody(workspace) if whole else [run.pid], numbers[-1])
    code, _, told = run.ended()
    assert time.monotonic() - begun < within + BUSY_S
    assert code == 128 + numbers[-1]
    assert f"enginetour run {path} resumes it" in told
    with Store.open(workspace / "results" / "enginetour.db", create=False) as store:
        assert store.tournament("trial").games() == []
        assert store.tournament("trial").incidents() == []


def until_heard(folder: Path) -> None:
    """Wait until a signal is handled, because the kernel and Python merge two pending equal signals."""
    until(lambda: "Ctrl-C again" in (folder / "errors").read_text())


def test_ctrl_c_gives_the_game_its_grace(workspace: Path) -> None:
    """After one Ctrl-C, a game has the grace time to finish, then the run ends with exit code 130."""
    path = stubborn(workspace, play="grace = 0.3")
    run = thinking(workspace, path)
    run.send(INT)
    code, _, told = run.ended()
    assert code == 130
    assert "games in progress have 0.3 s to finish; Ctrl-C again stops at once" in told
    assert f"enginetour run {path} resumes it" in told


def test_ctrl_c_after_finish_gives_the_game_its_grace(workspace: Path) -> None:
    """Ctrl-C after `finish` limits the time of the games in progress."""
    path = stubborn(workspace, play="grace = 0.3")
    run = thinking(workspace, path)
    ask(socket_path(workspace / "results" / "enginetour.db", "trial"), {"do": "finish"}, timeout=LONG_S)
    run.send(INT)
    until_heard(workspace)
    code, _, told = run.ended()
    assert code == 130
    assert "games in progress have 0.3 s to finish; Ctrl-C again stops at once" in told


def test_no_grace_at_all(workspace: Path) -> None:
    """With grace = 0, one Ctrl-C stops the game at once."""
    path = stubborn(workspace, play="grace = 0")
    run = thinking(workspace, path)
    run.send(INT)
    assert run.ended()[0] == 130


def ignore(*numbers: signal.Signals) -> None:
    """Ignore signals as nohup and a shell's ``&`` do."""
    for number in numbers:
        signal.signal(number, signal.SIG_IGN)


def test_what_was_ignored_at_start_stays_ignored(workspace: Path) -> None:
    """A run under nohup or ``&`` ignores Ctrl-C and a closed terminal; SIGTERM ends it."""
    path = quick(workspace, system="roundrobin", settings="cycles = 500")
    run = Forked(workspace, ["run", str(path)], workspace / "errors", partial(ignore, INT, HUP))
    run.first_game()
    for number in (INT, HUP, HUP, INT):
        run.send(number)
    run.first_game()
    run.send(TERM)
    code, _, told = run.ended()
    assert code == 143
    assert "Ctrl-C" not in told
    assert audit(workspace) > 1


def test_a_closed_terminal_ends_a_run_that_plays(workspace: Path) -> None:
    """SIGHUP ends a run with exit code 129, and the same command resumes it."""
    path = quick(workspace)
    run = Forked(workspace, ["run", str(path)], workspace / "errors")
    begun = run.first_game().decode()
    run.send(HUP)
    code, said, _ = run.ended()
    assert code in (129, 0)  # 0 when it had played all before it heard
    rest = Forked(workspace, ["run", str(path)], workspace / "errors").ended()
    assert rest[0] == 0
    assert audit(workspace) == (begun + said).count("Finished game") + rest[1].count("Finished game")


def test_a_signal_while_a_configuration_is_read(workspace: Path) -> None:
    """A signal while a configuration is read ends the run at once, and nothing is written."""
    slow = workspace / "slow.toml"
    os.mkfifo(slow)
    run = Forked(workspace, ["run", str(slow)], workspace / "errors")
    with slow.open("w"):
        until(lambda: "pipe" in Path(f"/proc/{run.pid}/wchan").read_text())  # and waits for it
        run.send(TERM)
        code, _, _ = run.ended()
    assert code == 143
    assert list((workspace / "results").iterdir()) == []


READERS = (
    ("run", "{}"),
    ("check", "{}"),
    ("rate", "{}"),
    ("import", "{}"),
    ("pair", "{}"),
    ("simulate", "--case", "{}"),
    ("match", "wren1", "wren2", "--openings", "{}"),
)


def waits_for_a_writer(pid: int) -> bool:
    """Return whether a process waits in opening a pipe, or has ended."""
    try:
        return Path(f"/proc/{pid}/wchan").read_text() == "wait_for_partner"
    except OSError:
        return False


@pytest.mark.parametrize("number", [INT, TERM, HUP])
@pytest.mark.parametrize("words", READERS, ids=[words[0] for words in READERS])
def test_whoever_waits_for_a_file_is_ended_at_once(workspace: Path, words: tuple[str, ...], number: int) -> None:
    """A command that waits for a pipe ends within 1 s of a signal, or rejects the pipe."""
    slow = workspace / "slow"
    os.mkfifo(slow)
    run = Forked(workspace, [word.format(slow) for word in words], workspace / "errors")
    until(lambda: not run.process.is_alive() or waits_for_a_writer(run.pid))
    begun = time.monotonic()
    if run.process.is_alive():
        run.send(signal.Signals(number))
    code, _, told = run.ended()
    assert time.monotonic() - begun < 1.0 + BUSY_S
    assert (code, told) == (128 + number, "") or (code in (2, 3) and "slow" in told)


def computing(place: Path) -> None:
    """In the new process: reading the configuration is an endless computation in C."""
    from enginetour.tournament import plan

    def prepare(*_: object, **__: object) -> None:
        place.touch()
        re.match("(x+x+)+y", "x" * 200)

    plan.prepare = prepare  # type: ignore[assignment]


@pytest.mark.parametrize("number", [INT, TERM, HUP])
def test_a_long_step_in_c_holds_no_signal_up(workspace: Path, number: signal.Signals) -> None:
    """A signal during a long step in C ends the program within 1 s."""
    place = workspace / "reached"
    run = Forked(workspace, ["run", str(quick(workspace))], workspace / "errors", partial(computing, place))
    until(place.exists)
    begun = time.monotonic()
    run.send(number)
    code, _, told = run.ended()
    assert time.monotonic() - begun < 1.0 + BUSY_S
    assert (code, told) == (128 + number, "")


@pytest.mark.parametrize("number", [INT, TERM, HUP])
def test_signals_end_the_first_process_of_a_container(workspace: Path, number: signal.Signals) -> None:
    """Signals end a run that is the first process of a PID namespace, where the kernel ignores unhandled signals."""
    if shutil.which("bwrap") is None:
        pytest.skip("bwrap is not on this machine")
    slow = workspace / "slow"
    os.mkfifo(slow)
    here = ["bwrap", "--bind", "/", "/", "--dev", "/dev", "--unshare-pid", "--proc", "/proc", "--as-pid-1"]
    whole = [*here, sys.executable, "-m", "enginetour", "rate", str(slow)]
    with subprocess.Popen(whole, preexec_fn=default_signals) as first:

        def waiting() -> list[int]:
            inner = Path(f"/proc/{first.pid}/task/{first.pid}/children").read_text().split()
            return [pid for pid in map(int, inner) if waits_for_a_writer(pid)]

        until(waiting)
        os.kill(waiting()[0], number)
        assert first.wait(1.0 + BUSY_S) == 128 + number


def hang(place: Path) -> None:
    """As for a disk that is gone: in the kernel, where no signal that has a handler is looked at.

    Here it waits for a process that is about to be another program, and that waits for the pipe. Python's own call
    would keep all threads of Python waiting.
    """
    libc = ctypes.CDLL(None)
    actions = ctypes.create_string_buffer(1024)
    words = (ctypes.c_char_p * 2)(b"/bin/true", None)
    libc.posix_spawn_file_actions_init(actions)
    libc.posix_spawn_file_actions_addopen(actions, 9, os.fsencode(place), os.O_RDONLY, 0)
    libc.posix_spawn(ctypes.byref(ctypes.c_int()), words[0], actions, None, words, None)


def hanging_at_once(place: Path) -> None:
    """In the new process: the step after the probes hangs on the disk."""
    from enginetour.tournament import run as tournament

    def opened(*_: object, **__: object) -> None:
        place.with_suffix(".reached").touch()
        hang(place)

    tournament.open_session = opened  # type: ignore[assignment]


def hanging_in_the_loop(place: Path) -> None:
    """In the new process: writing the first game hangs on the disk."""
    from enginetour.store.log import TournamentLog

    def record(*_: object, **__: object) -> None:
        place.with_suffix(".reached").touch()
        hang(place)

    TournamentLog.record_games = record  # type: ignore[assignment, method-assign]


@pytest.mark.parametrize(
    ("where", "within", "words"),
    [(hanging_at_once, 1.0, "stopped before the first game"), (hanging_in_the_loop, 5.0, "resumes it")],
)
def test_a_disk_that_hangs_holds_no_stop_up(
    workspace: Path, where: Callable[[Path], None], within: float, words: str
) -> None:
    """A run with a hanging disk ends in the documented time, prints the next step, and leaves no process."""
    place = workspace / "disk"
    os.mkfifo(place)
    run = Forked(workspace, ["run", str(quick(workspace))], workspace / "errors", partial(where, place))
    until(place.with_suffix(".reached").exists)
    begun = time.monotonic()
    run.send(TERM)
    run.process.join(LONG_S)
    taken = time.monotonic() - begun
    os.close(os.open(place, os.O_RDWR | os.O_NONBLOCK))  # what was about to be another program has its streams
    code, _, told = run.ended()
    assert taken < within + BUSY_S
    assert code == 143
    assert words in told


# A run whose output is not read, or whose database is locked by another program, continues and accepts signals.

SMALLEST_PIPE = 4096  # bytes, fcntl(2)
QUIET_S = 0.5  # many games long
# The command line; who is not in a hurry waits for a reader longer than `BUSY_S`.
PATIENT = """\
from enginetour.cli.main import main
from enginetour.cli import output as outlet
outlet.LAST_WORDS_S = 600.0
main()
"""


def robin(folder: Path) -> Path:
    return quick(folder, system="roundrobin", settings="games_per_pairing = 2")


def full_from_the_start() -> None:
    """In the new process: no output is kept, and the end does not wait for its reader."""
    os.write(1, b"\n" * fcntl.fcntl(1, fcntl.F_GETPIPE_SZ))
    output.LAST_WORDS_S = 0.1


def test_a_pipe_nobody_reads_holds_up_no_game(workspace: Path) -> None:
    """A run whose output is not read plays and stores all games, and ends with exit code 0."""
    run = Forked(workspace, ["run", str(robin(workspace))], workspace / "errors", full_from_the_start)
    assert run.wait(60.0) == 0
    assert audit(workspace) == 12
    assert run.stdout is not None
    run.stdout.close()


def test_a_stopped_terminal_holds_up_neither_games_nor_sigterm(workspace: Path) -> None:
    """With a stopped terminal (Ctrl-S), games start, and SIGTERM ends the run in time."""
    path = stubborn(workspace)
    ours, theirs = os.openpty()
    termios.tcflow(theirs, termios.TCOOFF)
    command = [sys.executable, "-c", PATIENT, "run", str(path)]
    environment = os.environ | {"TERM": "xterm"}
    with subprocess.Popen(
        command, cwd=workspace, stdout=theirs, stderr=theirs, env=environment, preexec_fn=default_signals
    ) as run:
        (workspace / "thinks").read_text()  # until the engine has begun its search
        begun = time.monotonic()
        run.send_signal(signal.SIGTERM)
        assert run.wait(60.0) == 143
        assert time.monotonic() - begun < 5.0 + BUSY_S
    os.close(ours)
    os.close(theirs)


def test_a_held_database_does_not_hold_up_sigterm(workspace: Path) -> None:
    """SIGTERM ends a run that waits for a locked database in time, with exit code 143; a later run plays the rest."""
    path = robin(workspace)
    run = Forked(workspace, ["run", str(path)], workspace / "errors")
    run.first_game()
    other = sqlite3.connect(workspace / "results" / "enginetour.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert run.stdout is not None
    while select.select([run.stdout], [], [], QUIET_S)[0]:
        assert run.stdout.read(4096)
    begun = time.monotonic()
    run.send(signal.SIGTERM)
    code, _, told = run.ended()
    assert time.monotonic() - begun < 5.0 + BUSY_S
    assert code == 143
    assert f"enginetour run {path} resumes it" in told
    other.execute("ROLLBACK")
    other.close()
    assert Forked(workspace, ["run", str(path)], workspace / "errors").ended()[0] == 0
    assert audit(workspace) == 12


class Enough(Exception):
    """A signal asks the wait to end."""


def test_a_wait_for_a_held_file_is_heeded(tmp_path: Path) -> None:
    """A wait for a locked file checks for signals several times a second; an exception ends it without a write."""
    looks: list[float] = []

    def heed() -> None:
        looks.append(time.monotonic())
        if len(looks) == 3:
            raise Enough

    with Database.open(tmp_path / "t.db", check_stop=heed) as database:
        other = sqlite3.connect(tmp_path / "t.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Enough), database.writing(patience=60.0):
            raise AssertionError("two writers at once")
        other.close()
        with database.writing() as connection:
            connection.exec_driver_sql("PRAGMA user_version")
    assert len(looks) == 3


def test_what_nobody_reads_is_bounded_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Output beyond the limit is dropped in whole lines; the reader gets the number of dropped lines."""
    monkeypatch.setattr(output, "KEPT_BYTES", 1000)
    monkeypatch.setattr(output, "LAST_WORDS_S", 0.0)
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, SMALLEST_PIPE)
    out = output.NonBlockingStream(writing)
    line = b"x" * 99 + b"\n"
    for _ in range(200):
        out.write(line)
    out.drain(lambda: True)
    said = b""
    while out.waits():
        said += os.read(reading, 1 << 16)
    out.write(b"back\n")
    while not said.endswith(b"back\n"):
        said += os.read(reading, 1 << 16)
    *lines, told, last = said.splitlines()
    assert last == b"back"
    assert told == b"... %d lines left out, because the output was not read" % (200 - len(lines))
    assert set(lines) == {line.rstrip()}
    os.close(reading)
    os.close(writing)
