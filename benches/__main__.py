"""``python -m benches``: run benchmarks and print times with their ratios to a baseline. Nothing is asserted.

Ratios, unlike times, can be compared between machines. Each round measures subject and baseline. The output has the
median of the rounds, with the fastest and the slowest round in parentheses. The benchmarks of clusters, of many slots,
of seasons of leagues, of the calibration of forecasts, of the rules of adaptive tournaments, of the games between
divisions, of the site of a league, of the server and of the forecasts of a run are separate: see `cluster --help`,
`slots --help`, `league --help`, `forecast --help`, `adaptive --help`, `cross --help`, `site --help`, `serve --help` and
`refresh --help`.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

from benches import free
from benches.beside import beside
from benches.clocks import clocks
from benches.crashing import crashing
from benches.dutch import dutch
from benches.encounters import encounters
from benches.folding import folding
from benches.gotha import gotha
from benches.importing import importing
from benches.incremental import incremental
from benches.matches import matches
from benches.matching import matching
from benches.measure import Settings, load
from benches.pages import pages
from benches.planning import planning
from benches.rating import rating
from benches.realgames import real_games
from benches.reporting import reporting
from benches.scanning import scanning
from benches.starting import starting
from benches.storing import storing
from enginetour.cli.main import GARBAGE

LISTS = ("fold", "store", "rate", "step", "scan", "import", "peers")
PAIRINGS = ("pair", "dutch", "gotha")
RUNNERS = ("start", "match", "clock", "real", "pages", "report", "crash")
FORECASTS = ("plan", "next")
PARTS = (*LISTS, *PAIRINGS, *RUNNERS, *FORECASTS)
# Benchmarks with options of their own, by the module that is imported for them only, because they need much.
SEPARATE = {
    **{name: name for name in ("cluster", "slots", "league", "adaptive", "site", "cross")},
    "forecast": "forecasting",
    "serve": "serving",
    "refresh": "refreshing",
}

WITHOUT_FILES = ("benches.adaptive", "benches.cross", "benches.forecasting")  # these do not write files


def run_separate(name: str) -> None:
    """Run a benchmark with options of its own: its module has `options(parser)` and `measured(given, folder)`."""
    module = import_module(name)
    parser = argparse.ArgumentParser(
        prog=f"python -m benches {sys.argv[1]}",
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.options(parser)
    if name not in WITHOUT_FILES:
        parser.add_argument("--folder", type=Path, help="directory of all files (default: the temporary directory)")
    given = parser.parse_args(sys.argv[2:])
    with tempfile.TemporaryDirectory(prefix="enginetour-bench-", dir=getattr(given, "folder", None)) as folder:
        for line in module.measured(given, Path(folder)):
            print(line, flush=True)


def main() -> None:
    """Run the chosen benchmarks and print a line for each measurement."""
    gc.set_threshold(GARBAGE)  # as in the command
    if sys.argv[1:2] and (separate := SEPARATE.get(sys.argv[1])):
        run_separate(f"benches.{separate}")
        return
    parser = argparse.ArgumentParser(prog="python -m benches", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"benchmarks to run, default all: {', '.join(PARTS)}")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of every benchmark (default %(default)s)")
    parser.add_argument("--games", type=int, default=10_000, help="games to replay and to store (default %(default)s)")
    parser.add_argument("--engines", type=int, default=100, help="engines in bubble and report (default %(default)s)")
    parser.add_argument("--rated", type=int, nargs=2, default=(1000, 100_000), metavar=("ENGINES", "GAMES"))
    parser.add_argument("--beside", type=int, nargs=2, default=(1000, 1_000_000), metavar=("ENGINES", "GAMES"))
    parser.add_argument(
        "--simulations", type=int, default=5, help="simulations of Ordo, extrapolated to 100 (default %(default)s)"
    )
    parser.add_argument("--commits", type=int, default=100, help="commits per round (default %(default)s)")
    parser.add_argument("--match", type=int, default=20, help="games of free engines, even (default %(default)s)")
    parser.add_argument("--real", type=int, default=120, help="games at nodes=1, even (default %(default)s)")
    parser.add_argument("--timed", type=int, default=20, help="games with a short clock, even (default %(default)s)")
    parser.add_argument(
        "--at-once", type=int, nargs="+", default=(1, 2, 8), help="concurrent games for clocks (default 1 2 8)"
    )
    parser.add_argument(
        "--forfeits", type=int, default=200, help="games in which time losses are counted, even (default %(default)s)"
    )
    parser.add_argument("--kills", type=int, default=30, help="thinking engines to kill, even (default %(default)s)")
    parser.add_argument("--load", action="store_true", help="run one busy process per processor beside the benchmarks")
    parser.add_argument("--folder", type=Path, help="directory of the databases (default: the temporary directory)")
    given = parser.parse_args()
    if unknown := sorted(set(given.parts) - set(PARTS)):
        parser.error(f"unknown benchmark {unknown[0]}; choose from {', '.join(PARTS)}")
    for name, least in (("match", 6), ("real", 6), ("timed", 6), ("forfeits", 2), ("kills", 2)):
        if (count := getattr(given, name)) % 2 or count < least:
            parser.error(f"--{name} must be an even number of at least {least}")
    with tempfile.TemporaryDirectory(prefix="enginetour-bench-", dir=given.folder) as folder:
        sizes = {name: size for name, size in vars(given).items() if name not in ("parts", "load", "folder")}
        settings = Settings(folder=Path(folder), **sizes)
        program = free.build(settings.folder)
        parts: dict[str, Callable[[], Iterator[str]]] = {
            "fold": lambda: folding(settings),
            "store": lambda: storing(settings),
            "rate": lambda: rating(settings),
            "step": lambda: incremental(settings),
            "scan": lambda: scanning(settings),
            "import": lambda: importing(settings),
            "pair": lambda: matching(settings),
            "dutch": lambda: dutch(settings),
            "gotha": lambda: gotha(settings),
            "start": lambda: starting(settings, program),
            "peers": lambda: beside(settings),
            "match": lambda: matches(settings, program),
            "clock": lambda: clocks(settings, program),
            "real": lambda: real_games(settings, program),
            "pages": lambda: pages(settings, program),
            "report": lambda: reporting(settings),
            "crash": lambda: crashing(settings, program),
            "plan": lambda: planning(settings),
            "next": encounters,
        }
        with load(len(os.sched_getaffinity(0)) if given.load else 0):
            for name in given.parts or PARTS:
                for line in parts[name]():
                    print(line, flush=True)


main()
