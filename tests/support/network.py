"""Clusters, relays, networks and pages under test."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from multiprocessing.process import BaseProcess
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar
from unittest import mock

from distributed import Scheduler, Security, SpecCluster, Worker
from starlette.types import ASGIApp, Message, Scope

from enginetour.engines.launch import call
from enginetour.model.game import Game, Note
from enginetour.tournament.control import ControlServer, PendingRequest, socket_path
from enginetour.web import app
from enginetour.web.hub import TournamentHub
from enginetour.web.pages import DatabaseReader
from tests.support.databases import add_game, open_log
from tests.support.engines import SHUFFLE
from tests.support.tournaments import FORKS, LONG_S, Forked, default_signals, left_running, until

# Requests to an ASGI application without a server.

T = TypeVar("T")


def looped(scene: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine, run in another thread because this one may already have a loop."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, scene).result()


def raised(error: Exception) -> None:
    """Raise an error, so that an internal failure fails the test."""
    raise error


def in_a_hub(
    database: Path,
    scene: Callable[[TournamentHub, ASGIApp], Coroutine[Any, Any, T]],
    tell: Callable[[str], None] = print,
    failed: Callable[[Exception], None] = raised,
) -> T:
    """Run a scene with an application and its open hub; `tell` and `failed` are called with its errors."""

    async def play() -> T:
        reader = DatabaseReader(database)
        hub = TournamentHub(reader, tell, failed)
        await hub.open()
        try:
            return await scene(hub, app.create_app(hub, reader))
        finally:
            hub.close()
            reader.close()

    return looped(play())


@dataclass(frozen=True)
class Answer:
    """A response with lower-case names of headers."""

    status: int
    headers: dict[str, str]
    body: bytes


def scope_of(path: str, method: str = "GET", *, host: str | None = "localhost:8390", **headers: str) -> Scope:
    """Make a request as uvicorn does; underscores in header names become hyphens."""
    target, _, query = path.partition("?")
    told = [(b"host", host.encode())] if host is not None else []
    told += [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items()]
    return {
        "type": "http",
        "method": method,
        "path": target,
        "raw_path": target.encode(),
        "query_string": query.encode(),
        "headers": told,
        "server": ("127.0.0.1", 8390),
        "scheme": "http",
        "root_path": "",
        "http_version": "1.1",
    }


async def answered(app: ASGIApp, scope: Scope) -> Answer:
    """Return the response to a request without a body."""
    sent: list[Message] = []

    async def receive() -> Message:
        await asyncio.sleep(3600)
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    headers = {name.decode().lower(): value.decode("latin-1") for name, value in sent[0]["headers"]}
    return Answer(sent[0]["status"], headers, b"".join(message.get("body", b"") for message in sent[1:]))


def ask(app: ASGIApp, path: str, method: str = "GET", *, host: str | None = "localhost:8390", **headers: str) -> Answer:
    """Return the response to a request, in a new loop."""
    return looped(answered(app, scope_of(path, method, host=host, **headers)))


# A relay for TCP connections that can simulate a broken network, in which nothing is forwarded or closed.


class Relay:
    """Forwards connections to ports of this machine, in threads that end with `close`."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self._open.set()
        self._doors: list[socket.socket] = []
        self._ends: list[socket.socket] = []

    def to(self, port: int) -> int:
        """Return a new port that is forwarded to a port."""
        door = socket.create_server(("127.0.0.1", 0))
        self._doors.append(door)
        self._begin(self._admit, door, port)
        return int(door.getsockname()[1])

    def cut(self) -> None:
        """Stop to forward data and to accept connections."""
        self._open.clear()

    def time_out(self) -> None:
        """End all connections, as the kernels of both sides do after a long interruption."""
        while self._ends:
            end = self._ends.pop()
            with suppress(OSError):  # the other end closed it first
                end.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        """Continue, and forward the waiting data."""
        self._open.set()

    def close(self) -> None:
        """Close all connections and ports and end all threads."""
        self._ends += self._doors
        self.mend()
        self.time_out()

    @staticmethod
    def _begin(act: Callable[..., None], *words: object) -> None:
        threading.Thread(target=act, args=words, daemon=True).start()

    def _admit(self, door: socket.socket, port: int) -> None:
        with door, suppress(OSError):
            while True:
                near, _ = door.accept()
                self._begin(self._join, near, port)

    def _join(self, near: socket.socket, port: int) -> None:
        self._ends.append(near)
        self._open.wait()
        with near, suppress(OSError), socket.create_connection(("127.0.0.1", port)) as far:
            self._ends.append(far)
            back = threading.Thread(target=self._forward, args=(far, near), daemon=True)
            back.start()
            self._forward(near, far)
            back.join()

    def _forward(self, source: socket.socket, sink: socket.socket) -> None:
        """Forward a connection, including its end."""
        with suppress(OSError):
            while said := source.recv(1 << 16):
                self._open.wait()
                sink.sendall(said)
        self._open.wait()
        for one in (source, sink):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


# A real Dask cluster with processes that can be killed, cut off and restarted.

HERE = "127.0.0.1"


def unhurried(engines: Iterable[str], delay: int) -> str:
    """Make entrants whose games take time without CPU: milliseconds between two lines."""
    return "".join(f'\n[[entrants]]\nengine = "{name}"\nquirks = {{ line_delay_ms = {delay} }}' for name in engines)


@dataclass(frozen=True)
class Program:
    """A process of Dask: its kind, arguments and directory; `before` is called in it first."""

    kind: str
    words: tuple[str, ...]
    folder: Path
    log: Path
    before: Callable[[], object] = int

    def run(self) -> None:
        """Run it as the command `dask` does; TMPDIR identifies its processes."""
        default_signals()
        with self.log.open("ab") as sink:
            os.dup2(sink.fileno(), 1)
            os.dup2(sink.fileno(), 2)
        os.environ["TMPDIR"] = str(self.folder)
        os.chdir(self.folder)
        self.before()
        module = import_module(f"distributed.cli.dask_{self.kind}")
        with mock.patch.object(sys, "argv", ["dask", *self.words, "--no-dashboard"]):
            module.main()


class Cluster:
    """A cluster with named workers, each started in its own directory in `folder`; `end` ends all processes.

    `host` is the scheduler's address, and `before` enters its network namespace.
    """

    def __init__(self, folder: Path, slots: int = 2, host: str = HERE, before: Callable[[], object] = int) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.slots = slots
        self._host, self._before = host, before
        self._file = folder / "scheduler.json"
        self._log = folder / "dask.log"
        self._programs: dict[str, Program] = {}
        self._processes: dict[str, BaseProcess] = {}
        self._started = 0
        self.address = ""
        self.start_scheduler(port=0)

    @property
    def place(self) -> str:
        """The value of `--executor`."""
        return f"dask={self.address}"

    @property
    def _port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def start_scheduler(self, port: int | None = None) -> None:
        """Start the scheduler at a free port, or again at the same port."""
        port = self._port if port is None else port
        self._file.unlink(missing_ok=True)
        words = ("--host", self._host, "--port", str(port), "--scheduler-file", str(self._file))
        folder = self.folder_of("scheduler")
        self._start("scheduler", Program("scheduler", words, folder, self._log, self._before))
        until(self._is_there)

    def _is_there(self) -> bool:
        try:
            self.address = json.loads(self._file.read_text())["address"]
        except (OSError, ValueError):
            return False
        return True

    def start_worker(self, name: str, relay: Relay | None = None) -> None:
        """Start a worker; with a relay, it and the scheduler are only connected by it."""
        if relay is None:
            self.join(name, self.address, "--host", HERE)
            return
        with socket.socket() as free:
            free.bind((HERE, 0))
            port = free.getsockname()[1]
        words = ("--listen-address", f"tcp://{HERE}:{port}", "--contact-address", f"tcp://{HERE}:{relay.to(port)}")
        self.join(name, f"tcp://{HERE}:{relay.to(self._port)}", *words)

    def join(self, name: str, *words: str, before: Callable[[], object] = int) -> None:
        """Start a worker with these arguments."""
        self._started += 1
        words += ("--no-nanny", "--name", name, "--nthreads", str(self.slots), "--resources", f"slot={self.slots}")
        words += ("--local-directory", str(self.folder))
        self._start(name, Program("worker", words, self.folder_of(name), self._log, before))

    def again(self, name: str) -> None:
        """Wait until a process has ended, and restart it, as a service manager does."""
        until(lambda: self._processes[name].exitcode is not None)
        self.revive(name)

    def revive(self, name: str) -> None:
        """Restart a process that has ended."""
        if name not in self._processes or self._processes[name].exitcode is not None:
            self._start(name, self._programs[name])

    def wait_for_workers(self) -> None:
        """Wait until all started workers have joined."""
        until(lambda: self._log.read_text().count("Registered to:") >= self._started)

    def wait_for_game(self, name: str) -> None:
        """Wait until a game is in progress on a worker, with a slot and two engines."""
        until(lambda: len(left_running(self.folder_of(name))) > 3)

    def wait_for_end(self, name: str) -> None:
        """Wait until no process of a worker is alive."""
        until(lambda: left_running(self.folder_of(name)) == [])

    def kill(self, name: str) -> None:
        """Kill a process with SIGKILL."""
        process = self._processes.pop(name)
        process.kill()
        process.join()

    def folder_of(self, name: str) -> Path:
        """Return the directory of a process, which identifies it and its child processes."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        return folder

    def _start(self, name: str, program: Program) -> None:
        self._programs[name] = program
        process = self._processes[name] = FORKS.Process(target=program.run, daemon=True)
        process.start()

    def end(self) -> None:
        """Kill all remaining processes."""
        for name in list(self._processes):
            self.kill(name)


@contextmanager
def cluster(
    folder: Path, *workers: str, slots: int = 2, host: str = HERE, before: Callable[[], object] = int
) -> Iterator[Cluster]:
    """A scheduler and workers, all of them ended after the block."""
    one = Cluster(folder, slots, host, before)
    try:
        for name in workers:
            one.start_worker(name)
        one.wait_for_workers()
        yield one
    finally:
        one.end()


class Manager:
    """`enginetour run --executor` in a process, with its output line by line."""

    def __init__(self, path: Path, place: str, *more: str, before: Callable[[], object] = int) -> None:
        words = ["run", str(path), "--executor", place, "--concurrency", "2", "--plain", "--force", *more]
        self._run = Forked(path.parent, words, Path("/dev/stdout"), before)
        assert self._run.stdout is not None
        self._said = open(os.dup(self._run.stdout.fileno()), encoding="utf-8")  # noqa: SIM115 - closed by `kill`
        self._run.stdout.close()

    def hears(self, words: str) -> str:
        """Return the output up to the next line with this text."""
        told = ""
        for line in self._said:
            told += line
            if words in line:
                return told
        raise AssertionError(told)

    def finishes(self) -> str:
        """Return the remaining output after the end of the tournament."""
        told = self._said.read()
        self._said.close()
        assert self._run.wait(LONG_S) == 0, told
        assert "Traceback" not in told, told
        return told

    def kill(self) -> None:
        """Kill the process with SIGKILL if it is running."""
        if not self._said.closed:
            self._said.close()
            self._run.process.kill()
            self._run.wait(LONG_S)


@contextmanager
def manager(path: Path, place: str, *more: str, before: Callable[[], object] = int) -> Iterator[Manager]:
    """A manager that is ended after the block."""
    one = Manager(path, place, *more, before=before)
    try:
        yield one
    finally:
        one.kill()


# A Dask cluster in the process of the test, with games in slot processes.

OURS: Mapping[str, Any] = {"host": HERE, "dashboard": False, "dashboard_address": f"{HERE}:0"}


def worker_options(name: str, slots: int) -> dict[str, Any]:
    """Return the options of ``dask worker --name NAME --nthreads N --resources slot=N``."""
    return {**OURS, "name": name, "nthreads": max(1, slots), "resources": {"slot": slots}}


@contextmanager
def near_cluster(*names: str, slots: int = 1, security: Security | None = None) -> Iterator[SpecCluster]:
    """Workers with these names in this directory; with `security`, connected by TLS."""
    more: dict[str, Any] = {} if security is None else {"security": security, "protocol": "tls://"}
    workers = {name: {"cls": Worker, "options": worker_options(name, slots) | more} for name in names}
    scheduler = {"cls": Scheduler, "options": {**OURS, "port": 0, **more}}
    given = {"workers": workers, "scheduler": scheduler, "security": security, "silence_logs": logging.CRITICAL}
    one = SpecCluster(**given)  # type: ignore[no-untyped-call]
    with one as cluster:
        yield cluster


@contextmanager
def started_worker(cluster: SpecCluster, folder: Path, name: str, *words: str) -> Iterator[None]:
    """Start a worker with a slot as another interpreter, with these arguments and directory."""
    command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address, "--name", name]
    command += ["--nthreads", "1", "--resources", "slot=1"]
    command += ["--no-nanny", "--host", HERE, "--no-dashboard", "--local-directory", str(folder), *words]
    there = len(cluster.scheduler_info["workers"])
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    with (
        (folder / "worker.log").open("ab") as log,
        subprocess.Popen(
            command, cwd=folder, stdout=log, stderr=log, env=environment, preexec_fn=default_signals
        ) as process,
    ):
        try:
            cluster.wait_for_workers(there + 1, timeout=LONG_S)
            yield
        finally:
            process.kill()


def place_of(cluster: SpecCluster) -> str:
    """Return the value of `--executor`."""
    return f"dask={cluster.scheduler_address}"


# A network of namespaces as hosts, each connected to a switch. A disconnected host loses packets without an error.

NEW = ("unshare", "--user", "--map-root-user", "--net")
INSIDE = ("nsenter", "--preserve-credentials", "--user", "--net", "--target")


def lacking() -> str:
    """Say why such a network cannot be created; "" if it can."""
    if shutil.which("ip") is None:
        return "no program ip: apt install iproute2"
    done = subprocess.run([*NEW, "ip", "link", "add", "type", "veth"], capture_output=True, text=True, check=False)
    return f"no network namespaces here: {done.stderr.strip()}" if done.returncode else ""


class Network:
    """Hosts by name; a namespace lives as long as a process in it."""

    def __init__(self, *hosts: str) -> None:
        self._hosts: dict[str, subprocess.Popen[bytes]] = {}
        self._switch = _living(*NEW, "cat")
        _ip(self._switch, "link add switch type bridge", "link set switch up")
        for name in hosts:
            host = self._hosts[name] = _living(*INSIDE, str(self._switch.pid), "unshare", "--net", "cat")
            cable = self._cable(name)
            _ip(self._switch, f"link add {cable} type veth peer name cable netns {host.pid}")
            _ip(self._switch, f"link set {cable} master switch up")
            _ip(host, f"address add {self.address(name)}/24 dev cable", "link set cable up", "link set lo up")

    def address(self, name: str) -> str:
        """Return the address of a host."""
        return f"10.0.0.{self._number(name)}"

    def enter(self, name: str) -> Callable[[], None]:
        """Return a function that moves a new process to a host."""
        return partial(_enter, self._hosts[name].pid)

    def pull(self, name: str) -> None:
        """Disconnect a host from the switch."""
        _ip(self._switch, f"link set {self._cable(name)} down")

    def plug(self, name: str) -> None:
        """Connect a host to the switch again."""
        _ip(self._switch, f"link set {self._cable(name)} up")

    def close(self) -> None:
        """Remove all hosts and the switch."""
        for process in (*self._hosts.values(), self._switch):
            process.communicate()

    def _number(self, name: str) -> int:
        return 1 + list(self._hosts).index(name)

    def _cable(self, name: str) -> str:
        return f"cable{self._number(name)}"


def _living(*words: str) -> subprocess.Popen[bytes]:
    """A process in its own namespace that lives until its input ends."""
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    until(lambda: os.readlink(f"/proc/{process.pid}/exe").endswith("/cat"))
    return process


def _ip(where: subprocess.Popen[bytes], *commands: str) -> None:
    for words in commands:
        subprocess.run([*INSIDE, str(where.pid), "ip", *words.split()], check=True)


def _enter(pid: int) -> None:
    for kind in ("user", "net"):
        space = os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY)
        call("setns", space, 0)
        os.close(space)


# A server for live pages, and a simulated run.


@contextmanager
def served(folder: Path, *options: str) -> Iterator[str]:
    """Run `enginetour serve` on a free port; yield its address without a slash at the end."""
    with serving(folder, *options) as (url, _):
        yield url


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[tuple[str, Forked]]:
    """Run `enginetour serve` on a free port; yield its address and process."""
    if "--port" not in options:
        options = (*options, "--port", "0")
    with Forked(folder, ["serve", *options], folder / "served") as server:
        said = server.hear(b"stop with Ctrl-C").decode()
        try:
            yield said[said.index("http") :].split()[0].rstrip("/"), server
        finally:  # ends with an event for open pages
            with suppress(ValueError):
                server.process.terminate()
                server.wait(LONG_S)


class Stage:
    """A tournament in a database of `folder`, and the socket of a simulated run that sends given events."""

    def __init__(self, folder: Path) -> None:
        (folder / "results").mkdir(exist_ok=True)
        self.database = folder / "results" / "enginetour.db"
        self.store, self.log = open_log(self.database)
        self.playing: list[dict[str, Any]] = []
        self.inbox: SimpleQueue[PendingRequest | None] = SimpleQueue()
        self.server: ControlServer | None = None

    def record(self, game: Game, *notes: Note) -> int:
        """Write a game into the log."""
        number = add_game(self.log, game, notes)
        assert number is not None
        return number

    def status(self) -> dict[str, Any]:
        """Return the status that a run reports."""
        told = {"tournament": self.log.title, "system": self.log.system, "state": "running", "slots": 1, "incidents": 0}
        far = {"games_done": self.log.last_number, "remaining": [6, 12], "eta": 3600.0, "eta_range": [1800.0, 3600.0]}
        return {"ok": True, **told, **far, "open_ended": False, "playing": self.playing, "endings": {}, "warnings": []}

    @contextmanager
    def running(self) -> Iterator[ControlServer]:
        """Simulate a run inside the block."""
        thread = threading.Thread(target=self._answer, daemon=True)
        thread.start()
        with ControlServer(socket_path(self.database, self.log.slug), self.inbox) as self.server:
            yield self.server
        self.server = None
        self.inbox.put(None)
        thread.join()

    def _answer(self) -> None:
        while (request := self.inbox.get()) is not None:
            request.reply(self.status())

    def tell(self, event: str, **fields: Any) -> None:
        """Publish an event."""
        assert self.server is not None
        self.server.publish({"event": event, **fields})


def start(slot: int = 0, white: str = "Fruit", black: str = "Toga", **more: Any) -> dict[str, Any]:
    """Return the fields of the event "start"."""
    fields = {"slot": slot, "white": white, "black": black, "opening": "E001", "variant": "standard", "fen": None}
    return {**fields, "moves": [], "clocks": [60_000, 60_000], "tc": ["60+1", "60+1"], "at": time.time(), **more}


def move(ply: int, slot: int = 0, **more: Any) -> dict[str, Any]:
    """Return the fields of the event "move" at a ply of a game in which knights move back and forth."""
    fields: dict[str, Any] = {"slot": slot, "ply": ply, "uci": SHUFFLE[(ply - 1) % 4], "san": "N", "score": 15}
    fields |= {"depth": 9, "nodes": 12_345, "pv": SHUFFLE[(ply - 1) % 4], "elapsed_ms": 1234, "clock_ms": 59_000}
    return {**fields, "clocks": [59_000, 58_500], "at": time.time(), **more}
