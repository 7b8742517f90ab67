"""Ordo and BayesElo as programs: how each is asked for a list, what it answers, and what that cost."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

CAP = 600.0  # seconds a peer may take before it is stopped
DIGITS = 7  # behind the point, of what Ordo writes
_BAYESELO_RATING = re.compile(r"Rating of player \d+ \((.*)\) is (\S+)\.")


@dataclass(frozen=True)
class Spent:
    """Seconds of one process with all it started; `stopped` when it had to be."""

    wall: float
    cpu: float
    stopped: bool = False


def spent(
    words: list[str], *, told: Path | None = None, into: Path | None = None, env: Mapping[str, str] | None = None
) -> Spent:
    """Run to the end, `told` on its input. SystemExit with what it said when it fails."""
    errors = None if into is None else into.with_name(into.name + ".errors")
    with (
        open(told or os.devnull, "rb") as source,
        open(into or os.devnull, "wb") as sink,
        open(errors or os.devnull, "wb") as trouble,
    ):
        begun = time.perf_counter()
        process = subprocess.Popen(words, stdin=source, stdout=sink, stderr=trouble, env=env)
        stop = threading.Timer(CAP, process.kill)
        stop.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begun
        stop.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    stopped = wall >= CAP
    if process.returncode and not stopped:
        raise SystemExit(f"{' '.join(words)}: exit {process.returncode}{'' if errors is None else f'; see {errors}'}")
    return Spent(wall, usage.ru_utime + usage.ru_stime, stopped)


def ours(pgn: Path, out: Path, *options: str) -> Callable[[], Spent]:
    """Our list, always with errors."""
    return python(out.parent, "-m", "enginetour", "rate", str(pgn), "-o", str(out), *options)


def python(folder: Path, *words: str) -> Callable[[], Spent]:
    """Our interpreter. From its second run modules are compiled, as in an installation, and kept in that folder."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return lambda: spent([sys.executable, *words], env={**kept, "PYTHONPYCACHEPREFIX": str(folder / "compiled")})


def ordo(binary: str, pgn: Path, out: Path, *options: str) -> Callable[[], Spent]:
    """Ordo's list, also of a field in groups apart."""
    words = [binary, "-q", "-G", "-N", str(DIGITS), "-p", str(pgn), "-c", str(out), *options]
    return lambda: spent(words, into=out.with_name(out.name + ".said"))


def read_ordo(out: Path) -> dict[str, float]:
    """Ratings by name from Ordo's table; White's advantage and the draw rate are in what it said."""
    with out.open(newline="", encoding="utf-8") as source:
        rows = csv.reader(source)
        next(rows)
        return {row[1]: float(row[2]) for row in rows if len(row) > 2}


def bayeselo(binary: str, pgn: Path, out: Path, *orders: str, asked: int = 0) -> Callable[[], Spent]:
    """BayesElo's list after these orders to its Elo estimation; `asked` ratings in full digits besides."""
    script = out.with_name(out.name + ".orders")
    single = [f"elo {number}" for number in range(asked)]
    lines = [f"readpgn {pgn}", "elo", *orders, "offset 0", *([] if asked else ["ratings"]), *single, "x", "x"]
    script.write_text("".join(f"{each}\n" for each in lines), "utf-8")
    return lambda: spent([binary], told=script, into=out)


def read_bayeselo(out: Path) -> dict[str, float]:
    """The ratings that were asked for one by one."""
    return {name: float(value) for name, value in _BAYESELO_RATING.findall(out.read_text("utf-8"))}
