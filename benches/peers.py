"""Run Ordo, BayesElo and enginetour as programs for a rating list, read the result and measure the time."""

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

CAP = 600.0  # seconds after which a program is stopped
DIGITS = 7  # decimals in Ordo's output
_BAYESELO_RATING = re.compile(r"Rating of player \d+ \((.*)\) is (\S+)\.")


@dataclass(frozen=True)
class Spent:
    """Seconds of a process and its children; `stopped`: whether it was stopped at the limit."""

    wall: float
    cpu: float
    stopped: bool = False


def spent(
    command: list[str], *, script: Path | None = None, into: Path | None = None, env: Mapping[str, str] | None = None
) -> Spent:
    """Run a command to its end, with `script` as its input; SystemExit if it fails."""
    errors = None if into is None else into.with_name(into.name + ".errors")
    with (
        open(script or os.devnull, "rb") as source,
        open(into or os.devnull, "wb") as sink,
        open(errors or os.devnull, "wb") as trouble,
    ):
        begun = time.perf_counter()
        process = subprocess.Popen(command, stdin=source, stdout=sink, stderr=trouble, env=env)
        stop = threading.Timer(CAP, process.kill)
        stop.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begun
        stop.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    stopped = wall >= CAP
    if process.returncode and not stopped:
        raise SystemExit(f"{' '.join(command)}: exit {process.returncode}{'' if errors is None else f'; see {errors}'}")
    return Spent(wall, usage.ru_utime + usage.ru_stime, stopped)


def ours(pgn: Path, out: Path, *options: str) -> Callable[[], Spent]:
    """Make a list with enginetour, always with errors."""
    return python(out.parent, "-m", "enginetour", "rate", str(pgn), "-o", str(out), *options)


def python(folder: Path, *words: str) -> Callable[[], Spent]:
    """Run this interpreter; it keeps compiled modules in a directory, as in an installation."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return lambda: spent([sys.executable, *words], env={**kept, "PYTHONPYCACHEPREFIX": str(folder / "compiled")})


def ordo(binary: str, pgn: Path, out: Path, *options: str) -> Callable[[], Spent]:
    """Make a list with Ordo, which also accepts unconnected groups."""
    command = [binary, "-q", "-G", "-N", str(DIGITS), "-p", str(pgn), "-c", str(out), *options]
    return lambda: spent(command, into=out.with_name(out.name + ".log"))


def read_ordo(out: Path) -> dict[str, float]:
    """Return ratings by name from Ordo's table; its log has White's advantage and the draw rate."""
    with out.open(newline="", encoding="utf-8") as source:
        rows = csv.reader(source)
        next(rows)
        return {row[1]: float(row[2]) for row in rows if len(row) > 2}


def bayeselo(binary: str, pgn: Path, out: Path, *orders: str, asked: int = 0) -> Callable[[], Spent]:
    """Make a list with BayesElo and these commands for its Elo estimation; `asked` ratings are printed in full."""
    script = out.with_name(out.name + ".orders")
    single = [f"elo {number}" for number in range(asked)]
    lines = [f"readpgn {pgn}", "elo", *orders, "offset 0", *([] if asked else ["ratings"]), *single, "x", "x"]
    script.write_text("".join(f"{each}\n" for each in lines), "utf-8")
    return lambda: spent([binary], script=script, into=out)


def read_bayeselo(out: Path) -> dict[str, float]:
    """Return the ratings that were printed in full."""
    return {name: float(value) for name, value in _BAYESELO_RATING.findall(out.read_text("utf-8"))}
