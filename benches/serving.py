"""`python -m benches serve`: games per second of a match while `enginetour serve` answers requests for its standings.

One match of free engines is played. In each round, its games are counted for some seconds

* alone: without a server,
* with a server that follows the match without requests,
* with a client that sends requests to a program that does almost nothing for them and sends the same answer,
* with the same client and `enginetour serve`.

Match, server and client are sessions of their own, as in several terminals. The third case shows the cost of the
client, which is usually on another machine. CPU times are those of all threads of a process, from the kernel.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

from benches import free
from benches.measure import alone
from benches.runners import CONFIG, compiled
from tests.support.tournaments import entrant

PATH = "/api/v1/tournaments/bout/standings"
REQUEST = f"GET {PATH} HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\nUser-Agent: benches\r\n\r\n"
TC = "60+1"  # a clock that free engines never use up
GAMES = 100_000  # of the match, which is stopped before
SETTLE_S = 0.3  # seconds from a change until games are counted
ALONE, IDLE, CONTROL, SERVED = "alone", "idle server", "requests, control", "requests, enginetour"


@dataclass(frozen=True)
class Window:
    """Seconds since 1970 in which games are counted, and figures of the client and the server in this time."""

    begun: float
    ended: float
    answers: int = 0
    left_out: int = 0
    client_s: float = 0.0
    server_s: float = 0.0


def main(args: Sequence[str]) -> None:
    """Run the benchmark and print its results."""
    parser = argparse.ArgumentParser(
        prog="python -m benches serve", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=8, help="rounds (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=4.0, help="seconds of each case (default %(default)s)")
    parser.add_argument("--rate", type=float, default=1000.0, help="requests per second (default %(default)s)")
    parser.add_argument("--connections", type=int, default=10, help="connections of the client (default %(default)s)")
    parser.add_argument("--slots", type=int, default=2, help="concurrent games (default %(default)s)")
    parser.add_argument("--folder", type=Path, help="directory of the database (default: the temporary directory)")
    given = parser.parse_args(args)
    if (compiler := shutil.which("cc")) is None:
        parser.error("this benchmark needs a C compiler")
    with tempfile.TemporaryDirectory(prefix="enginetour-bench-", dir=given.folder) as folder:
        load = str(Path(folder) / "http_load")
        subprocess.run([compiler, "-O2", "-o", load, str(Path(__file__).with_name("http_load.c"))], check=True)
        for line in measured(given, Path(folder), load):
            print(line, flush=True)


def measured(given: argparse.Namespace, folder: Path, load: str) -> Iterator[str]:
    """Play the match and yield the results as lines."""
    windows: dict[str, list[Window]] = defaultdict(list)

    def count(case: str, pid: int = 0, port: int = 0) -> None:
        windows[case].append(_counted(given, load, pid, port))

    with _match(folder, free.build(folder), given.slots):
        for _ in range(given.rounds):
            count(ALONE)
            with _server(folder) as (pid, port, answer):
                count(IDLE, pid)
                with _control(load, answer) as (other, elsewhere):
                    count(CONTROL, other, elsewhere)
                count(SERVED, pid, port)
    with closing(sqlite3.connect(folder / "results" / "enginetour.db")) as database:
        ends = [ended for (ended,) in database.execute("SELECT ended_unix FROM games")]
    yield (
        f"free engines, {given.slots} concurrent games, {given.rounds} rounds of {given.seconds:g} s, "
        f"{given.rate:,.0f} requests/s, answers of {len(answer):,} bytes"
    )
    yield from _lines(windows, ends)


def _lines(windows: dict[str, list[Window]], ends: Sequence[float]) -> Iterator[str]:
    def figures(case: str, of: Callable[[Window], float]) -> list[float]:
        return [of(one) for one in windows[case]]

    def rate(one: Window) -> float:
        return sum(one.begun <= ended < one.ended for ended in ends) / (one.ended - one.begun)

    first = figures(ALONE, rate)
    for case in windows:
        yield alone(f"{case}, games", figures(case, rate), show=lambda value: f"{value:.1f}/s")
    for case in (IDLE, CONTROL, SERVED):
        ratios = [mine / base for mine, base in zip(figures(case, rate), first, strict=True)]
        yield alone(f"{case}, games relative to alone", ratios, show=lambda value: f"{value:.3f} x")
    for case in (CONTROL, SERVED):
        answers = figures(case, lambda one: one.answers / (one.ended - one.begun))
        yield alone(f"{case}, answers", answers, show=lambda value: f"{value:,.0f}/s")
        yield alone(f"{case}, left out", figures(case, lambda one: one.left_out), show=lambda value: f"{value:,.0f}")
    yield alone(f"{IDLE}, CPU of the server", figures(IDLE, _share), show="{:.2%}".format)
    for case in (CONTROL, SERVED):
        yield alone(f"{case}, CPU of the server", figures(case, _share), show="{:.2%}".format)
        mine = figures(case, lambda one: one.server_s / one.answers * 1e6)
        yield alone(f"{case}, CPU of the server per answer", mine, show="{:.1f} us".format)
        theirs = figures(case, lambda one: one.client_s / one.answers * 1e6)
        yield alone(f"{case}, CPU of the client per answer", theirs, show="{:.1f} us".format)


def _share(one: Window) -> float:
    return one.server_s / (one.ended - one.begun)


def _counted(given: argparse.Namespace, load: str, pid: int, port: int) -> Window:
    """Wait for the end of a case. Requests are sent if `port` is not 0."""
    if not port:
        time.sleep(SETTLE_S)
        before, begun = _cpu(pid), time.time()
        time.sleep(given.seconds)
        return Window(begun, time.time(), server_s=_cpu(pid) - before)
    words = [load, "client", str(port), str(given.connections), str(given.rate)]
    for seconds in (SETTLE_S, given.seconds):
        before, begun = _cpu(pid), time.time()
        said = subprocess.run(
            [*words, str(seconds)], input=REQUEST, text=True, stdout=subprocess.PIPE, check=True, start_new_session=True
        ).stdout.split()
        window = Window(begun, time.time(), int(said[0]), int(said[1]), float(said[2]), _cpu(pid) - before)
    return window


def _cpu(pid: int) -> float:
    """Return the CPU seconds of all threads of a process; 0 for no process."""
    if not pid:
        return 0.0
    return sum(int(path.read_text().split()[0]) for path in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9


@contextmanager
def _match(folder: Path, program: tuple[str, ...], slots: int) -> Iterator[None]:
    """Play the match inside the block."""
    (folder / "results").mkdir()
    config = CONFIG.format(games=GAMES, limit=TC, slots=slots)
    config += "".join(entrant(name, free.command(program, folder / "stamps")) for name in free.NAMES)
    (folder / "bout.toml").write_text(config, "utf-8")
    words = [sys.executable, "-m", "enginetour", "run", "bout.toml", "--force"]
    with (folder / "output").open("wb") as output:
        run = subprocess.Popen(words, cwd=folder, env=compiled(), stdout=output, stderr=output, start_new_session=True)
        try:
            while not (folder / "results" / "bout.pgn").exists():  # written after the first games
                if run.poll() is not None:
                    raise SystemExit((folder / "output").read_text())
                time.sleep(0.1)
            yield
        finally:
            run.send_signal(signal.SIGTERM)
            run.wait()


@contextmanager
def _server(folder: Path) -> Iterator[tuple[int, int, bytes]]:
    """Serve the match inside the block. Yield the process, the port, and a whole answer with the standings."""
    words = [sys.executable, "-u", "-m", "enginetour", "serve", "--port", "0"]
    with subprocess.Popen(
        words, cwd=folder, env=compiled(), stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as server:
        assert server.stdout is not None
        port = next(line for line in server.stdout if line.startswith("http")).split()[0].rpartition(":")[2]
        with urlopen(f"http://localhost:{port.strip('/')}{PATH}") as response:
            head = "".join(f"{name}: {value}\r\n" for name, value in response.headers.items())
            answer = f"HTTP/1.1 200 OK\r\n{head}\r\n".encode() + response.read()
        try:
            yield server.pid, int(port.strip("/")), answer
        finally:
            server.terminate()


@contextmanager
def _control(load: str, answer: bytes) -> Iterator[tuple[int, int]]:
    """Run the program that sends the same answer to everything. Yield its process and port."""
    words = [load, "server"]
    with ExitStack() as stack:
        server = stack.enter_context(
            subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        )
        stack.callback(server.kill)
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(answer)
        server.stdin.close()
        yield server.pid, int(server.stdout.readline())
