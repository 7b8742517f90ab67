"""A real Dask cluster: a scheduler and workers, each a process of its own, killed, cut off and started again."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.process import BaseProcess
from pathlib import Path
from unittest import mock

from tests.forked import FORKS, Forked
from tests.relays import Relay
from tests.touring import LONG_S, default_signals, left_running, until

HERE = "127.0.0.1"


def unhurried(engines: Iterable[str], delay: int) -> str:
    """Entrants of a configuration whose games take time and no processor: so many ms between two lines to an engine."""
    return "".join(f'\n[[entrants]]\nengine = "{name}"\nquirks = {{ line_delay_ms = {delay} }}' for name in engines)


@dataclass(frozen=True)
class Program:
    """A process of Dask: which, the words of its command, where it starts; `before` is called in it first."""

    kind: str
    words: tuple[str, ...]
    folder: Path
    log: Path
    before: Callable[[], object] = int

    def run(self) -> None:
        """As `dask` runs it. TMPDIR tells whose process is whose."""
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
    """Workers are named, each starts in a folder of its own in `folder`, and nothing of them stays after `end`.

    `host` is the scheduler's address, and `before` what leads to it where that is in another network.
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
        """As `--place` takes it."""
        return f"dask={self.address}"

    @property
    def _port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def start_scheduler(self, port: int | None = None) -> None:
        """At a free port, later at the same again."""
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
        """It joins when it is ready. With a relay, it and the scheduler reach each other by that alone."""
        if relay is None:
            self.join(name, self.address, "--host", HERE)
            return
        with socket.socket() as free:
            free.bind((HERE, 0))
            port = free.getsockname()[1]
        words = ("--listen-address", f"tcp://{HERE}:{port}", "--contact-address", f"tcp://{HERE}:{relay.to(port)}")
        self.join(name, f"tcp://{HERE}:{relay.to(self._port)}", *words)

    def join(self, name: str, *words: str, before: Callable[[], object] = int) -> None:
        """A worker, by the words of its command that say where it is."""
        self._started += 1
        words += ("--no-nanny", "--name", name, "--nthreads", str(self.slots), "--resources", f"slot={self.slots}")
        words += ("--local-directory", str(self.folder))
        self._start(name, Program("worker", words, self.folder_of(name), self._log, before))

    def again(self, name: str) -> None:
        """Wait until it has ended by itself, and start it again, as a service is."""
        until(lambda: self._processes[name].exitcode is not None)
        self.revive(name)

    def revive(self, name: str) -> None:
        """Start it again where it has ended, killed or by itself."""
        if name not in self._processes or self._processes[name].exitcode is not None:
            self._start(name, self._programs[name])

    def wait_for_workers(self) -> None:
        """Until as many have joined as were started."""
        until(lambda: self._log.read_text().count("Registered to:") >= self._started)

    def wait_for_game(self, name: str) -> None:
        """Until one is under way there: besides the worker its slot and two engines live."""
        until(lambda: len(left_running(self.folder_of(name))) > 3)

    def wait_for_end(self, name: str) -> None:
        """Until nothing of it lives: no worker, slot or engine."""
        until(lambda: left_running(self.folder_of(name)) == [])

    def kill(self, name: str) -> None:
        """SIGKILL."""
        process = self._processes.pop(name)
        process.kill()
        process.join()

    def folder_of(self, name: str) -> Path:
        """Where a process starts; it, and all that it starts, can be told by it."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        return folder

    def _start(self, name: str, program: Program) -> None:
        self._programs[name] = program
        process = self._processes[name] = FORKS.Process(target=program.run, daemon=True)
        process.start()

    def end(self) -> None:
        """Kill what is left."""
        for name in list(self._processes):
            self.kill(name)


@contextmanager
def cluster(
    folder: Path, *workers: str, slots: int = 2, host: str = HERE, before: Callable[[], object] = int
) -> Iterator[Cluster]:
    """A scheduler and such workers; none of them alive afterwards."""
    one = Cluster(folder, slots, host, before)
    try:
        for name in workers:
            one.start_worker(name)
        one.wait_for_workers()
        yield one
    finally:
        one.end()


class Manager:
    """`enginetour run --place` in a process of its own, and what it says, line by line."""

    def __init__(self, path: Path, place: str, *more: str, before: Callable[[], object] = int) -> None:
        words = ["run", str(path), "--place", place, "--slots", "2", "--plain", "--force", *more]
        self._run = Forked(path.parent, words, Path("/dev/stdout"), before)
        assert self._run.stdout is not None
        self._said = open(os.dup(self._run.stdout.fileno()), encoding="utf-8")  # noqa: SIM115 - closed by `kill`
        self._run.stdout.close()

    def hears(self, words: str) -> str:
        """What it says up to the next line with these words."""
        told = ""
        for line in self._said:
            told += line
            if words in line:
                return told
        raise AssertionError(told)

    def finishes(self) -> str:
        """The rest of what it says, when everything has been played."""
        told = self._said.read()
        self._said.close()
        assert self._run.wait(LONG_S) == 0, told
        assert "Traceback" not in told, told
        return told

    def kill(self) -> None:
        """SIGKILL, where it has not ended."""
        if not self._said.closed:
            self._said.close()
            self._run.process.kill()
            self._run.wait(LONG_S)


@contextmanager
def manager(path: Path, place: str, *more: str, before: Callable[[], object] = int) -> Iterator[Manager]:
    """One that is not alive afterwards."""
    one = Manager(path, place, *more, before=before)
    try:
        yield one
    finally:
        one.kill()
