"""Tests of the slot process: its start, its messages, and its end with the scheduler."""

import array
import fcntl
import os
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import IO, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enginetour.model.task import ProbeTask
from enginetour.referee.link import HEAD, VERSION, Environment, Frames, Link, Stop, frame
from enginetour.referee.slot import LAST_BREATH, PipeLink
from tests.support.engines import SCRIPTED, alive, odd, task
from tests.support.tournaments import BUSY_S, GONE_S, LONG_S, until

TAG = "slot-test"

Child = subprocess.Popen[bytes]


@pytest.fixture
def child(tmp_path: Path) -> Iterator[Child]:
    """Return a slot with the scripted referee."""
    environment = os.environ | {"ENGINETOUR_TAG": TAG, "ENGINETOUR_SCRATCH": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-P", SCRIPTED],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=True,
        bufsize=0,
    ) as process:
        try:
            assert hear(process) == ("hello", VERSION)
            yield process
        finally:
            process.kill()


def pipe(end: IO[bytes] | None) -> IO[bytes]:
    """Return the same end, which is a pipe."""
    assert end
    return end


def send(child: Child, message: object) -> None:
    """Send one frame."""
    pipe(child.stdin).write(frame(message))


def hear(child: Child) -> Any:
    """Read one frame."""
    stream = pipe(child.stdout)
    frames = Frames()
    _, length, _ = HEAD.unpack(head := stream.read(HEAD.size))
    messages = frames.feed(head)
    while not messages and length:
        chunk = stream.read(length)
        assert chunk, "it ended in the middle of a message"
        messages = frames.feed(chunk)
        length -= len(chunk)
    return messages[0]


def waiting_bytes(fd: int) -> int:
    """Return how much a pipe holds."""
    count = array.array("i", [0])
    fcntl.ioctl(fd, termios.FIONREAD, count)
    return count[0]


def test_frames_do_not_depend_on_how_they_are_cut() -> None:
    """Messages come whole and in order, in one piece or byte by byte."""
    messages: list[object] = [Stop(now=True), ("event", "moves", ["e2e4"] * 1000), ("failed", "")]
    stream = b"".join(frame(message) for message in messages)
    assert Frames().feed(stream) == messages
    bytewise = Frames()
    assert [message for at in range(len(stream)) for message in bytewise.feed(stream[at : at + 1])] == messages


def test_the_link_of_a_game_in_our_own_process_leads_nowhere() -> None:
    """A game in this process needs no executor."""
    link = Link()
    link.tell("moves", ["e2e4"])
    assert (link.control_fd, link.stopping()) == (None, "")


def test_games_and_probes_are_answered_in_order(child: Child) -> None:
    """Each task has one answer, in order; a game keeps the tag of its engines below its own."""
    send(child, task("draw"))
    send(child, ProbeTask(odd("quiet")))
    kind, game = hear(child)
    assert (kind, game.pairing.white, game.cause.split()[2]) == ("result", "draw", TAG)
    kind, probe = hear(child)
    assert (kind, probe.own_name) == ("result", "probed")


def test_stray_prints_do_not_reach_the_stream(child: Child) -> None:
    """Output to descriptor 1 goes to stderr, not into the messages."""
    send(child, task("prints"))
    kind, game = hear(child)
    assert (kind, game.pairing.white) == ("result", "prints")
    pipe(child.stdin).close()
    assert b"a stray print" in pipe(child.stderr).read()


WHOLE = [frame(Stop(now=True)), frame(("failed", ""))]


@given(st.lists(st.one_of(st.binary(min_size=1, max_size=30), st.sampled_from(WHOLE))))
def test_whatever_comes_through_a_pipe_is_read_without_an_error(pieces: list[bytes]) -> None:
    """Any bytes are read without an error, up to the first that is not part of a valid frame."""
    frames, heard = Frames(), list[Any]()
    for piece in pieces:
        heard += frames.feed(piece)
    assert len(heard) == len([*takewhile(WHOLE.__contains__, pieces)])
    assert set(map(type, heard)) <= {Stop, tuple}


def test_a_pickle_of_anything_else_is_not_loaded() -> None:
    """A pickle of anything but enginetour's own classes is not loaded."""
    for odd_one in (os.system, os.getpid, print, partial(os.system, "false")):
        frames = Frames()
        assert frames.feed(frame(odd_one)) == []
        assert frames.broken


def test_a_slot_whose_control_pipe_is_scribbled_on_ends(child: Child) -> None:
    """A slot whose control pipe has invalid data ends without a traceback."""
    send(child, task("waits"))
    assert hear(child)[:2] == ("event", "playing")
    pipe(child.stdin).write(b"info depth 1\n")
    pipe(child.stdin).flush()
    assert child.wait(LONG_S) == 0
    assert b"Traceback" not in pipe(child.stderr).read()


def test_a_mistake_of_ours_is_a_failure_and_the_slot_goes_on(child: Child) -> None:
    """An exception in a game is reported, and the same process plays the next game."""
    send(child, task("raise"))
    assert hear(child) == ("internal", "the slot failed: ValueError('a mistake of ours')")
    send(child, task("fail"))
    assert hear(child) == ("failed", "no room")
    send(child, task("odd-result"))
    kind, text = hear(child)
    assert (kind, "pickle" in text) == ("internal", True)
    send(child, task("draw"))
    assert hear(child)[1].cause.split()[1] == str(child.pid)


def test_events_are_dropped_when_nobody_reads_and_the_result_is_not(child: Child) -> None:
    """Events are dropped if no process reads them. The result is kept."""
    send(child, task("events"))
    until(lambda: waiting_bytes(pipe(child.stdout).fileno()) > 40_000)  # full: pages of 4 KiB with three frames each
    messages = [hear(child)]
    while messages[-1][0] == "event":
        messages.append(hear(child))
    assert messages[-1][0] == "result"
    numbers = [number for _, _, (_, number) in messages[:-1]]
    assert 0 < len(numbers) < 20_000
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize("how", ["end of file", "stop now", "terminate"])
def test_a_slot_told_to_go_takes_its_engines_along(child: Child, how: str, tmp_path: Path) -> None:
    """End of file, Stop(now) and SIGTERM end a slot with its engines, their children and their files."""
    send(child, task("plays", odd("escapes"), odd("deaf")))
    _, _, (slot, engines, children) = hear(child)
    everybody = [slot, *engines, *children]
    assert len(everybody) == 4
    assert all(alive(pid) for pid in everybody)
    if how == "end of file":
        pipe(child.stdin).close()
    elif how == "stop now":
        send(child, Stop(now=True))
    else:
        os.kill(slot, signal.SIGTERM)
    until(lambda: not any(alive(pid) for pid in everybody), GONE_S + BUSY_S)
    assert not tmp_path.exists() or os.listdir(tmp_path) == []


def test_a_running_game_may_end_when_asked_politely(child: Child) -> None:
    """After Stop without `now` the game ends, its result arrives, and the slot exits with 0."""
    send(child, task("waits"))
    assert hear(child)[1] == "playing"
    send(child, Stop(now=False))
    assert hear(child)[0] == "result"
    assert child.wait(GONE_S + BUSY_S) == 0


def test_engines_kept_between_games_end_with_the_slot(child: Child) -> None:
    """Engines in the pool end with the slot."""
    send(child, task("keeps"))
    _, _, (_, engines, _) = hear(child)
    assert hear(child)[0] == "result"
    assert all(alive(pid) for pid in engines)
    send(child, Stop(now=False))
    assert child.wait(GONE_S + BUSY_S) == 0
    assert not any(alive(pid) for pid in engines)


def test_a_daemon_without_our_tag_is_adopted_and_ended(child: Child) -> None:
    """A daemon without the tag is adopted by the slot and ends with its engine."""
    send(child, task("leaves", odd("escapes-bare")))
    pid, told = hear(child)[1].cause.split(" ", 1)
    assert not alive(int(pid))
    assert told.count("python") == 1


def test_a_hung_slot_is_ended_by_its_alarm(child: Child) -> None:
    """A slot that cannot act on SIGTERM is ended by its alarm."""
    send(child, task("sleeps"))
    assert hear(child)[1] == "playing"
    child.send_signal(signal.SIGTERM)
    assert child.wait(LAST_BREATH + BUSY_S) == -signal.SIGALRM


def test_a_slot_loads_the_rules_only() -> None:
    """A slot process loads no database, configuration or event loop."""
    program = (
        "import sys, enginetour.referee.slot\n"
        "print(*sorted({'pydantic','sqlalchemy','sqlmodel','click','rich','numpy','networkx','asyncio','tempfile',"
        "'multiprocessing','enginetour.tournament.config.load','enginetour.store'} & set(sys.modules)))"
    )
    ended = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout.split() == []


def test_a_task_that_came_before_the_end_is_played(monkeypatch: pytest.MonkeyPatch) -> None:
    """A task that came before the stop is played; after "now" none is."""
    monkeypatch.setattr(signal, "setitimer", lambda *_: None)
    monkeypatch.setattr(signal, "set_wakeup_fd", lambda *_, **__: -1)
    for now in (False, True):
        control, told = os.pipe()
        heard, results = os.pipe()
        link = PipeLink(control, results)
        os.write(told, frame(Environment({})) + frame(Stop(now)))
        tasks = [link.next_task(), link.next_task()]
        assert [one is None for one in tasks] == [now, True]
        for end in (told, control, heard, results):
            os.close(end)
