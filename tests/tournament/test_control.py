"""Tests of the control socket: answers, live events, and hostile clients."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, cast

import pytest

from enginetour.engines import process
from enginetour.model.errors import StorageFailed, StoreRefused
from enginetour.model.task import EngineSpec, ProbeResult, ProbeTask, Sandbox
from enginetour.tournament import control
from enginetour.tournament.control import (
    LONGEST_REQUEST,
    ControlServer,
    PendingRequest,
    ask,
    candidates,
    peer_trouble,
    refusal,
    socket_path,
    subscribe,
)
from enginetour.tournament.executor import LocalExecutor, SlotSettings
from tests.support.tournaments import until

Answering = tuple[Path, ControlServer]


def answer_all(inbox: SimpleQueue[PendingRequest | None]) -> None:
    """Answer all requests with an echo, except for two."""
    while (request := inbox.get()) is not None:
        if request.message["do"] == "refuse":
            request.reply(refusal("no such entrant", 2))
        elif request.message["do"] != "ignore":
            request.reply({"ok": True, **request.message})


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Answering]:
    inbox: SimpleQueue[Any] = SimpleQueue()
    path = socket_path(tmp_path / "t.db", "autumn")
    thread = threading.Thread(target=answer_all, args=(inbox,))
    thread.start()
    with ControlServer(path, inbox) as server:
        yield path, server
    inbox.put(None)
    thread.join()


def raw(server: ControlServer) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(60)
    connection.connect(os.fspath(server.path))
    return connection


def test_answer(running: Answering) -> None:
    """A request gets its answer."""
    path, _ = running
    assert ask(path, {"do": "withdraw", "name": "Toga II"}) == {"ok": True, "do": "withdraw", "name": "Toga II"}


def test_refusal(running: Answering) -> None:
    """A rejected request gets an error and an exit code."""
    path, _ = running
    assert ask(path, {"do": "refuse"}) == {"ok": False, "error": "no such entrant", "exit": 2}


def test_nobody_listens(tmp_path: Path) -> None:
    """Without a running tournament there is no answer, even if a killed one left its socket."""
    path = socket_path(tmp_path / "t.db", "autumn")
    assert ask(path, {"do": "status"}) is None
    assert subscribe(path) is None
    left = socket.socket(socket.AF_UNIX)
    left.bind(os.fspath(path))
    left.close()
    assert ask(path, {"do": "status"}) is None
    with ControlServer(path, SimpleQueue()) as server:
        assert server.path == path, "the new run takes the place of the dead one"
    assert not path.exists()


def test_only_the_user(running: Answering) -> None:
    """Only the user can open the socket."""
    _, server = running
    assert stat.S_IMODE(server.path.stat().st_mode) == 0o600


def test_other_user_is_hung_up_on(running: Answering, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process of another user is rejected, whatever the mode of the file."""
    _, server = running
    monkeypatch.setattr(control, "peer_trouble", lambda connection: "it belongs to another user")
    with raw(server) as connection:
        assert json.loads(connection.recv(1000))["ok"] is False
        assert connection.recv(100) == b""


def test_silent_tournament(running: Answering) -> None:
    """A tournament that does not respond in time raises another error than a missing one."""
    path, _ = running
    with pytest.raises(StoreRefused, match="did not respond"):
        ask(path, {"do": "ignore"}, timeout=0.05)


@contextmanager
def ending(database: Path, act: Callable[[PendingRequest], None]) -> Iterator[Path]:
    """Yield the socket of a tournament that ends after its first request."""
    path = socket_path(database, "autumn")
    inbox: SimpleQueue[PendingRequest] = SimpleQueue()
    server = ControlServer(path, inbox)
    server.start()

    def end() -> None:
        act(inbox.get())
        server.close()

    ender = threading.Thread(target=end)
    ender.start()
    yield path
    ender.join()


def test_end_without_answer(tmp_path: Path) -> None:
    """A tournament that ends before it answers raises ConnectionClosed."""
    with ending(tmp_path / "t.db", lambda _: None) as path, pytest.raises(StoreRefused, match="before it responded"):
        ask(path, {"do": "stop"})


def test_answer_before_the_end(tmp_path: Path) -> None:
    """The answer to the request that ends a tournament is delivered."""
    with ending(tmp_path / "t.db", lambda request: request.reply({"ok": True})) as path:
        assert ask(path, {"do": "stop"}) == {"ok": True}


@pytest.mark.parametrize(
    "nonsense", [b"hello\n", b"[]\n", b'{"do": 3}\n', b"[" * 60_000 + b"\n", b"\xff\xfe\n", b"\n" * 60_000, b"{}\n"]
)
def test_nonsense(running: Answering, nonsense: bytes) -> None:
    """An invalid request gets an error of one line, and the server continues."""
    path, server = running
    with raw(server) as connection:
        connection.sendall(nonsense)
        refused = connection.recv(LONGEST_REQUEST)
    assert json.loads(refused.splitlines()[0])["exit"] == 2
    assert ask(path, {"do": "status"}) == {"ok": True, "do": "status"}


def test_huge_request(running: Answering) -> None:
    """A line of more than 64 KiB closes the connection."""
    path, server = running
    with raw(server) as connection, pytest.raises(OSError):
        for _ in range(10_000):
            connection.sendall(b"x" * 65_536)
    assert ask(path, {"do": "status"}) == {"ok": True, "do": "status"}


def test_unfinished_request(running: Answering, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that does not finish its line in time is disconnected; others get their answers."""
    path, server = running
    with raw(server) as connection:
        connection.sendall(b'{"do": "sta')
        monkeypatch.setattr(control, "PATIENCE_S", 0.0)
        with suppress(ConnectionResetError):
            assert connection.recv(100) == b""
    monkeypatch.undo()
    assert ask(path, {"do": "status"}) == {"ok": True, "do": "status"}


def test_several_requests(running: Answering) -> None:
    """Requests on one connection are answered in order."""
    _, server = running
    with raw(server) as connection, connection.makefile("rb") as answers:
        connection.sendall(b"".join(b'{"do":"n","n":%d}\n' % n for n in range(50)))
        assert [json.loads(answers.readline())["n"] for _ in range(50)] == list(range(50))


def test_silent_clients_give_their_places_to_others(running: Answering, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the server is full, the oldest client without an open request is disconnected."""
    path, server = running
    monkeypatch.setattr(control, "MOST_CLIENTS", 3)
    monkeypatch.setattr(control, "PATIENCE_S", 3600.0)
    with ExitStack() as stack:
        asked, silent, partial = (stack.enter_context(raw(server)) for _ in range(3))
        asked.sendall(b'{"do":"status"}\n')
        assert asked.recv(1000)
        partial.sendall(b'{"do":')
        assert ask(path, {"do": "status"}) == {"ok": True, "do": "status"}
        assert ended(silent)
        for _ in range(30):
            stack.enter_context(raw(server))
        assert ended(asked)
        assert ended(partial)
        assert ask(path, {"do": "status"}) == {"ok": True, "do": "status"}


def ended(connection: socket.socket) -> bool:
    """Whether the server closed the connection without a message."""
    try:
        return connection.recv(100) == b""
    except ConnectionResetError:
        return True


def test_a_client_that_waits_for_an_answer_keeps_its_place(running: Answering, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients that wait for an answer and subscribers are not disconnected; a new client is."""
    path, server = running
    monkeypatch.setattr(control, "MOST_CLIENTS", 2)
    stream = subscribe(path)
    assert stream is not None
    with raw(server) as waits:
        waits.sendall(b'{"do":"n"}\n{"do":"ignore"}\n')
        assert waits.recv(1000), "the second request is under way now"
        with raw(server) as surplus:
            assert ended(surplus)
        server.publish({"event": "game", "number": 1})
        assert next(stream) == {"event": "game", "number": 1}


def test_listeners_leave_room_for_commands(running: Answering, monkeypatch: pytest.MonkeyPatch) -> None:
    """A subscriber too many is rejected, and commands are still answered."""
    path, server = running
    monkeypatch.setattr(control, "MOST_CLIENTS", 4)
    monkeypatch.setattr(control, "MOST_LISTENERS", 3)
    streams = [subscribe(path) for _ in range(3)]
    with pytest.raises(StoreRefused, match="3 programs already subscribe to this tournament"):
        subscribe(path)
    assert ask(path, {"do": "status"}) == {"ok": True, "do": "status"}
    server.publish({"event": "game", "number": 1})
    assert [next(stream) for stream in streams if stream is not None] == [{"event": "game", "number": 1}] * 3


def test_live_events(running: Answering) -> None:
    """Every subscriber gets every event in order until the tournament ends."""
    path, server = running
    streams = [subscribe(path) for _ in range(3)]
    heard: list[list[dict[str, Any]]] = [[] for _ in streams]

    def listen(number: int) -> None:
        stream = streams[number]
        assert stream is not None
        heard[number].extend(stream)

    listeners = [threading.Thread(target=listen, args=(n,)) for n in range(3)]
    for listener in listeners:
        listener.start()
    assert ask(path, {"do": "status"}) is not None, "answered after the subscriptions were taken"
    for number in range(200):
        server.publish({"event": "game", "number": number})
    server.close()
    for listener in listeners:
        listener.join()
    assert heard == [[{"event": "game", "number": number} for number in range(200)]] * 3


def test_slow_subscriber(running: Answering, monkeypatch: pytest.MonkeyPatch) -> None:
    """A subscriber that does not read is disconnected, and nothing waits for it."""
    path, server = running
    monkeypatch.setattr(control, "UNREAD_BYTES", 10_000)
    with raw(server) as sleeper:
        sleeper.sendall(b'{"do":"subscribe"}\n')
        assert json.loads(sleeper.recv(100)) == {"ok": True}
        for _ in range(300):
            server.publish({"event": "board", "text": "x" * 5_000})
        assert ask(path, {"do": "status"}) == {"ok": True, "do": "status"}
        until(lambda: server.listeners == 0)  # a sleeper that starts to read earlier could keep up
        received = 0
        while data := sleeper.recv(65_536):
            received += len(data)
    assert received < 300 * 5_000


def test_long_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the path is too long for a socket, the runtime directory is used."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", os.fspath(tmp_path))
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    path = socket_path(deep / "t.db", "autumn")
    inbox: SimpleQueue[Any] = SimpleQueue()
    thread = threading.Thread(target=answer_all, args=(inbox,))
    thread.start()
    with ControlServer(path, inbox) as server:
        assert server.path.parent == tmp_path / "enginetour"
        assert stat.S_IMODE(server.path.parent.stat().st_mode) == 0o700
        assert ask(path, {"do": "status"}) == {"ok": True, "do": "status"}
        assert ask(socket_path(deep / "other.db", "autumn"), {"do": "status"}) is None
    inbox.put(None)
    thread.join()


def test_folder_of_somebody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A runtime directory that others can enter is not used, and foreign files are not removed."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", os.fspath(tmp_path))
    (tmp_path / "enginetour").mkdir()
    (tmp_path / "enginetour").chmod(0o777)
    path = socket_path(tmp_path / "t.db", "autumn")
    path.write_text("mine")
    monkeypatch.setattr(
        control,
        "candidates",
        lambda path: [place for place in candidates(path) if place.is_relative_to(tmp_path)],
    )
    with pytest.raises(StorageFailed, match="socket cannot be created"):
        ControlServer(path, SimpleQueue()).start()
    assert path.read_text() == "mine"


ASKER = Path(__file__).parents[1] / "programs" / "proc_asker.py"


@pytest.mark.parametrize("sandbox", ["none", "bwrap", "landlock"])
@pytest.mark.parametrize("how", ["plain", "orphan"])
@pytest.mark.parametrize("namespace", ["pid", "off"])
def test_an_engine_is_not_heard(
    running: Answering, how: str, namespace: str, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine's request is rejected, whatever it does to hide its origin; a sandboxed one cannot reach the socket."""
    if f"{sandbox} no" in process.describe_safeguards():
        pytest.skip(f"no {sandbox} here")
    monkeypatch.setenv("ENGINETOUR_NAMESPACE", namespace)
    path, server = running
    command = (sys.executable, "-I", "-S", str(ASKER), how, bytes(server.path).hex())
    spec = EngineSpec("asker", command, "uci", dir="scratch", sandbox=sandbox)
    with LocalExecutor(1) as place:
        told = cast("ProbeResult", place.submit(ProbeTask(spec)).result(60)).own_name
    expected = "refused the running tournament rejects this program" if sandbox == "none" else "none "
    assert told.startswith(expected), told
    assert ask(path, {"do": "void", "game": 1}) == {"ok": True, "do": "void", "game": 1}


def test_results_are_hidden_from_a_sandboxed_engine() -> None:
    """Sandboxes hide the results directory, also outside of /tmp."""
    if "bwrap no" in process.describe_safeguards():
        pytest.skip("no bwrap here")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        path = socket_path(Path(name) / "t.db", "autumn")
        with ControlServer(path, SimpleQueue()), LocalExecutor(1, None, SlotSettings(hidden=Path(name))) as place:
            command = (sys.executable, "-I", "-S", str(ASKER), "plain", bytes(path).hex())
            spec = EngineSpec("asker", command, "uci", dir="scratch", sandbox="bwrap")
            told = cast("ProbeResult", place.submit(ProbeTask(spec)).result(60)).own_name
    assert told == "none No such file or directory"


def test_a_program_that_the_run_starts_is_heard(running: Answering, monkeypatch: pytest.MonkeyPatch) -> None:
    """A notification command may send requests, also on a kernel before 6.5 without SO_PEERPIDFD."""
    path, _ = running
    monkeypatch.setattr(control, "_SO_PEERPIDFD", 4000)
    script = "import sys; from pathlib import Path; from enginetour.tournament.control import ask; "
    script += "print(ask(Path(sys.argv[1]), {'do': 'pause'}))"
    command = [sys.executable, "-c", script, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "{'ok': True, 'do': 'pause'}\n"


def test_a_peer_that_has_ended_is_not_heard(running: Answering) -> None:
    """A client that ends and leaves its connection to a child process is rejected."""
    _, server = running
    script = (
        "import contextlib, os, socket, sys\n"
        "s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n"
        "if os.fork(): os._exit(0)\n"
        "with contextlib.suppress(BrokenPipeError):  # refused already\n"
        ' s.sendall(b\'{"do":"status"}\\n\')\n'
        "print(s.makefile().readline())\n"
    )

    def late(connection: socket.socket) -> str:
        gone.wait(60)
        return peer_trouble(connection)

    gone = threading.Event()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(control, "peer_trouble", late)
        command = [sys.executable, "-c", script, str(server.path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
            parent.wait(60)
            gone.set()
            assert parent.stdout is not None
            assert "rejects this program" in parent.stdout.read()
