"""Signals from outside, while an engine that heeds nothing thinks and nobody answers the webhook: codes and limits."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from enginetour.cli import output
from enginetour.store.tournaments import Store
from enginetour.tournament import notify
from enginetour.tournament.control import ask, socket_path
from tests.forked import Forked, quick, scripted
from tests.lives import everybody, send
from tests.touring import BUSY_S, LONG_S, audit, config, entrant, until

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
    """A webhook that takes the call and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"


def stubborn(folder: Path, more: str = "") -> Path:
    """A tournament whose first game is never going to end."""
    (folder / "stubborn.py").write_text(STUBBORN.format(thinks=str(folder / "thinks")))
    os.mkfifo(folder / "thinks")
    entrants = entrant("Eve", [sys.executable, "-I", str(folder / "stubborn.py")])
    return config(folder, (), "roundrobin", "", entrants + scripted("Ada", "uci") + more, tc="600")


def patient() -> None:
    """In the new process: who is not in a hurry waits for everybody longer than `BUSY_S`."""
    notify.WEBHOOK_S = notify.FAREWELL_S = output.LAST_WORDS_S = 600.0


def thinking(folder: Path, path: Path) -> Forked:
    """A run of it in which the engine thinks, in a game that is the loop's: it may have begun before the loop."""
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
    """In time, with the code of the signal and the command that goes on; no game is booked, nobody is blamed."""
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
    assert f"enginetour run {path} goes on" in told
    with Store.open(workspace / "results" / "enginetour.db", create=False) as store:
        assert store.tournament("trial").games() == []
        assert store.tournament("trial").incidents() == []


def until_heard(folder: Path) -> None:
    """Two signals before the first one is acted on are one, to the kernel and to Python."""
    until(lambda: "Ctrl-C again" in (folder / "errors").read_text())


def test_ctrl_c_gives_the_game_its_grace(workspace: Path) -> None:
    """Once: told how long and how to hurry; the game that does not end in that time is dropped; 130."""
    path = stubborn(workspace)
    path.write_text(path.read_text().replace("[play]", "[play]\ngrace = 0.3"))
    run = thinking(workspace, path)
    run.send(INT)
    code, _, told = run.ended()
    assert code == 130
    assert "running games may end within 0.3 s; Ctrl-C again drops them" in told
    assert f"enginetour run {path} goes on" in told


def test_ctrl_c_after_finish_gives_the_game_its_grace(workspace: Path) -> None:
    """`finish` lets games take as long as they do, and then one Ctrl-C did nothing and said nothing."""
    path = stubborn(workspace)
    path.write_text(path.read_text().replace("[play]", "[play]\ngrace = 0.3"))
    run = thinking(workspace, path)
    ask(socket_path(workspace / "results" / "enginetour.db", "trial"), {"do": "finish"}, timeout=LONG_S)
    run.send(INT)
    until_heard(workspace)
    code, _, told = run.ended()
    assert code == 130
    assert "running games may end within 0.3 s; Ctrl-C again drops them" in told


def test_no_grace_at_all(workspace: Path) -> None:
    """grace = 0: one Ctrl-C drops the game."""
    path = stubborn(workspace)
    path.write_text(path.read_text().replace("[play]", "[play]\ngrace = 0"))
    run = thinking(workspace, path)
    run.send(INT)
    assert run.ended()[0] == 130


def ignore(*numbers: signal.Signals) -> None:
    """As nohup and a shell's ``&`` leave them."""
    for number in numbers:
        signal.signal(number, signal.SIG_IGN)


def test_what_was_ignored_at_start_stays_ignored(workspace: Path) -> None:
    """nohup and ``&``: neither the closed terminal nor its Ctrl-C ends the run; SIGTERM does."""
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
    """SIGHUP between short games: 129, and the same command plays the rest."""
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
    """Before anything is open: out at once, nothing written."""
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
    """It hangs in opening a pipe; not if it has ended, in this very moment too."""
    try:
        return Path(f"/proc/{pid}/wchan").read_text() == "wait_for_partner"
    except OSError:
        return False


@pytest.mark.parametrize("number", [INT, TERM, HUP])
@pytest.mark.parametrize("words", READERS, ids=[words[0] for words in READERS])
def test_whoever_waits_for_a_file_is_ended_at_once(workspace: Path, words: tuple[str, ...], number: int) -> None:
    """A pipe to which nobody writes, named on the command line: within a second of any signal, or refused before."""
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
    """In the new process: reading the configuration is a search that takes years, in C."""
    from enginetour.cli import run as session

    def prepare(*_: object, **__: object) -> None:
        place.touch()
        re.match("(x+x+)+y", "x" * 200)

    session.prepare = prepare  # type: ignore[assignment, attr-defined]


@pytest.mark.parametrize("number", [INT, TERM, HUP])
def test_a_long_step_in_c_holds_no_signal_up(workspace: Path, number: signal.Signals) -> None:
    """Python calls no handler in it; the signal ends the program within a second all the same."""
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
    """The kernel ignores signals without a handler for the first process of a pid namespace."""
    if shutil.which("bwrap") is None:
        pytest.skip("bwrap is not on this machine")
    slow = workspace / "slow"
    os.mkfifo(slow)
    here = ["bwrap", "--bind", "/", "/", "--dev", "/dev", "--unshare-pid", "--proc", "/proc", "--as-pid-1"]
    with subprocess.Popen([*here, sys.executable, "-m", "enginetour", "rate", str(slow)]) as first:

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
    """In the new process: what comes after the engines were tried waits for the disk."""
    from enginetour.tournament import run as tournament

    def opened(*_: object, **__: object) -> None:
        place.with_suffix(".reached").touch()
        hang(place)

    tournament.opened = opened  # type: ignore[assignment]


def hanging_in_the_loop(place: Path) -> None:
    """In the new process: so does writing the first game."""
    from enginetour.store.log import TournamentLog

    def record(*_: object, **__: object) -> None:
        place.with_suffix(".reached").touch()
        hang(place)

    TournamentLog.record_games = record  # type: ignore[assignment, method-assign]


@pytest.mark.parametrize(
    ("where", "within", "words"),
    [(hanging_at_once, 1.0, "stopped before the first game"), (hanging_in_the_loop, 5.0, "goes on")],
)
def test_a_disk_that_hangs_holds_no_stop_up(
    workspace: Path, where: Callable[[Path], None], within: float, words: str
) -> None:
    """The program ends in the promised time, says what to type, and nothing of it is left."""
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
