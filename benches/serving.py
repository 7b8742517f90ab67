"""`python -m benches serve`: games per second of a match while `enginetour serve` answers requests for its standings.

One match of free engines is played. In each round, its games are counted in turns of some seconds

* alone: without a server,
* idle server: with a server that follows the match without requests,
* control: with a client that sends requests to a program that does almost nothing for them and sends the same answer,
* requests: with the same client and `enginetour serve`.

The first case is measured before and after the others, which alternate. Match, server and client are sessions of their
own, as in several terminals. The control shows the cost of the client, which is usually on another machine. With
`--apart`, the match has the first processor, and server and client have the others, as on a machine with more
processors than games. CPU times are those of all threads of a process, from the kernel, in parts of one processor.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import urlopen

from benches import free
from benches.measure import alone
from benches.runners import Bout, compiled, playing

PATH = "/api/v1/tournaments/bout/standings"
REQUEST = f"GET {PATH} HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\nUser-Agent: benches\r\n\r\n"
TC = "60+1"  # a clock that free engines never use up
GAMES = 100_000  # of the match, which is stopped before
TURNS = 3  # of the cases with a server in each round
SETTLE_S = 0.3  # seconds from a change until games are counted
CASES = ALONE, IDLE, CONTROL, SERVED = "alone", "idle server", "control", "requests"


@dataclass
class Figures:
    """Sums of the turns of one case in one round."""

    spans: list[tuple[float, float]] = field(default_factory=list)  # seconds since 1970 in which games are counted
    answers: int = 0
    left_out: int = 0
    client_s: float = 0.0
    server_s: float = 0.0

    @property
    def seconds(self) -> float:
        """Length of all turns."""
        return sum(ended - begun for begun, ended in self.spans)

    def games(self, ends: Sequence[float]) -> float:
        """Games per second that ended in the turns."""
        return sum(begun <= end < ended for begun, ended in self.spans for end in ends) / self.seconds


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the benchmark."""
    parser.add_argument("--rounds", type=int, default=8, help="rounds (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=2.0, help="seconds of each turn (default %(default)s)")
    parser.add_argument("--rate", type=float, default=1000.0, help="requests per second (default %(default)s)")
    parser.add_argument("--connections", type=int, default=10, help="connections of the client (default %(default)s)")
    parser.add_argument("--slots", type=int, default=2, help="concurrent games (default %(default)s)")
    parser.add_argument("--apart", action="store_true", help="the match does not share its processor")


def measured(given: argparse.Namespace, folder: Path) -> Iterator[str]:
    """Play the match and yield the results as lines."""
    if (compiler := shutil.which("cc")) is None:
        raise SystemExit("this benchmark needs a C compiler")
    load = str(folder / "http_load")
    subprocess.run([compiler, "-O2", "-o", load, str(Path(__file__).with_name("http_load.c"))], check=True)
    rounds: list[dict[str, Figures]] = []

    def turn(case: str, pid: int = 0, port: int = 0) -> None:
        _take_turn(rounds[-1][case], given, load, pid, port)

    processors = sorted(os.sched_getaffinity(0))
    if given.apart and len(processors) < 2:
        raise SystemExit("--apart needs two processors")
    with ExitStack() as ending:
        program = free.build(folder)
        if given.apart:
            os.sched_setaffinity(0, processors[:1])
        ending.enter_context(_match(folder, program, given.slots))
        if given.apart:
            os.sched_setaffinity(0, processors[1:])
        for _ in range(given.rounds):
            rounds.append({case: Figures() for case in CASES})
            turn(ALONE)
            with _server(folder) as (pid, port, answer):
                for _ in range(TURNS):
                    turn(IDLE, pid)
                    with _control(load, answer) as (other, elsewhere):
                        turn(CONTROL, other, elsewhere)
                    turn(SERVED, pid, port)
            turn(ALONE)
    with closing(sqlite3.connect(folder / "results" / "enginetour.db")) as database:
        ends = [ended for (ended,) in database.execute("SELECT ended_unix FROM games")]
    yield (
        f"free engines, {given.slots} concurrent games{', a processor of their own' if given.apart else ''}, "
        f"{given.rounds} rounds with turns of {given.seconds:g} s, "
        f"{given.rate:,.0f} requests/s, answers of {len(answer):,} bytes"
    )
    yield from _lines(rounds, ends)


def _lines(rounds: Sequence[dict[str, Figures]], ends: Sequence[float]) -> Iterator[str]:
    def figures(case: str, of: Callable[[Figures], float]) -> list[float]:
        return [of(one[case]) for one in rounds]

    def share(one: Figures) -> float:
        return one.server_s / one.seconds

    rates = {case: figures(case, lambda one: one.games(ends)) for case in CASES}
    for case in CASES:
        yield alone(f"{case}, games", rates[case], show="{:.1f}/s".format)
    for case, base in [*((case, ALONE) for case in CASES[1:]), (SERVED, CONTROL)]:
        ratios = [mine / other for mine, other in zip(rates[case], rates[base], strict=True)]
        yield alone(f"{case}, games relative to {base}", ratios, show="{:.3f} x".format)
    for case in CASES[2:]:
        yield alone(f"{case}, answers", figures(case, lambda one: one.answers / one.seconds), show="{:,.0f}/s".format)
        yield alone(f"{case}, left out", figures(case, lambda one: one.left_out), show="{:,.0f}".format)
    for case in CASES[1:]:
        yield alone(f"{case}, CPU of the server", figures(case, share), show="{:.2%}".format)
    for case in CASES[2:]:
        mine = figures(case, lambda one: one.server_s / one.answers * 1e6)
        yield alone(f"{case}, CPU of the server per answer", mine, show="{:.1f} us".format)
        theirs = figures(case, lambda one: one.client_s / one.answers * 1e6)
        yield alone(f"{case}, CPU of the client per answer", theirs, show="{:.1f} us".format)
        both = figures(case, lambda one: (one.server_s + one.client_s) / one.seconds / len(os.sched_getaffinity(0)))
        yield alone(f"{case}, CPU of both, of all processors", both, show="{:.2%}".format)


def _take_turn(figures: Figures, given: argparse.Namespace, load: str, pid: int, port: int) -> None:
    """Add the figures of one turn. Requests are sent if `port` is not 0."""
    words = [load, "client", str(port), str(given.connections), str(given.rate)]
    if port:
        subprocess.run([*words, str(SETTLE_S)], input=REQUEST, text=True, stdout=subprocess.DEVNULL, check=True)
    else:
        time.sleep(SETTLE_S)
    before, begun = _cpu(pid), time.time()
    if port:
        words.append(str(given.seconds))
        done = subprocess.run(
            words, input=REQUEST, text=True, stdout=subprocess.PIPE, check=True, start_new_session=True
        )
        answers, left_out, client_s = done.stdout.split()
        figures.answers += int(answers)
        figures.left_out += int(left_out)
        figures.client_s += float(client_s)
    else:
        time.sleep(given.seconds)
    figures.spans.append((begun, time.time()))
    figures.server_s += _cpu(pid) - before


def _cpu(pid: int) -> float:
    """Return the CPU seconds of all threads of a process; 0 for no process."""
    if not pid:
        return 0.0
    return sum(int(path.read_text().split()[0]) for path in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9


@contextmanager
def _match(folder: Path, program: tuple[str, ...], slots: int) -> Iterator[None]:
    """Play the match inside the block."""
    one, other = ((name, free.command(program, folder / "stamps")) for name in free.NAMES)
    with playing(Bout((one, other), TC, GAMES, slots), folder) as run:
        while not (folder / "results" / "bout.pgn").exists():  # written after the first games
            if run.poll() is not None:
                raise SystemExit((folder / "output").read_text())
            time.sleep(0.1)
        yield


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
