"""``python -m benches``: figures with ratios to a baseline measured in the same run. Nothing is asserted.

A ratio says more than a time: it holds on another machine. The medians are over rounds in which subject and baseline
take turns; in brackets the fastest and the slowest round. `cluster` is a bench of its own: `cluster --help`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from benches import free
from benches.beside import beside
from benches.clocks import clocks
from benches.crashing import crashing
from benches.dutch import dutch
from benches.folding import folding
from benches.gotha import gotha
from benches.importing import importing
from benches.incremental import incremental
from benches.matches import matches
from benches.matching import matching
from benches.measure import Settings
from benches.pages import pages
from benches.rating import rating
from benches.realgames import real_games
from benches.scanning import scanning
from benches.starting import starting
from benches.storing import storing

LISTS = ("fold", "store", "rate", "step", "scan", "import", "peers")
PAIRINGS = ("pair", "dutch", "gotha")
RUNNERS = ("start", "match", "clock", "real", "pages", "crash")
PARTS = (*LISTS, *PAIRINGS, *RUNNERS)


def main() -> None:
    """Print one line per measure; `cluster` is on its own, with options of its own."""
    if sys.argv[1:2] == ["cluster"]:
        from benches import cluster  # here: it needs Dask

        cluster.main(sys.argv[2:])
        return
    words = argparse.ArgumentParser(prog="python -m benches", description=__doc__)
    words.add_argument("parts", nargs="*", metavar="PART", help=f"which, default all: {', '.join(PARTS)}")
    words.add_argument("--rounds", type=int, default=5, help="rounds of every measure (default %(default)s)")
    words.add_argument("--games", type=int, default=10_000, help="games folded and stored (default %(default)s)")
    words.add_argument("--engines", type=int, default=100, help="engines of the bubble (default %(default)s)")
    words.add_argument("--rated", type=int, nargs=2, default=(1000, 100_000), metavar=("ENGINES", "GAMES"))
    words.add_argument("--beside", type=int, nargs=2, default=(1000, 1_000_000), metavar=("ENGINES", "GAMES"))
    words.add_argument("--simulations", type=int, default=5, help="of Ordo, to tell 100 from (default %(default)s)")
    words.add_argument("--commits", type=int, default=100, help="commits a round (default %(default)s)")
    words.add_argument("--match", type=int, default=20, help="games of the free engines, even (default %(default)s)")
    words.add_argument("--real", type=int, default=120, help="games at nodes=1, even (default %(default)s)")
    words.add_argument("--timed", type=int, default=20, help="games at a short clock, even (default %(default)s)")
    words.add_argument("--at-once", type=int, nargs="+", default=(1, 2, 8), help="games of the clocks (default 1 2 8)")
    words.add_argument(
        "--forfeits", type=int, default=200, help="games that look for losses on time, even (default %(default)s)"
    )
    words.add_argument("--kills", type=int, default=30, help="of engines that think, even (default %(default)s)")
    words.add_argument("--folder", type=Path, help="where databases are measured (default: the temporary folder)")
    given = words.parse_args()
    if unknown := sorted(set(given.parts) - set(PARTS)):
        words.error(f"unknown part {unknown[0]}; there are {', '.join(PARTS)}")
    for name, least in (("match", 6), ("real", 6), ("timed", 6), ("forfeits", 2), ("kills", 2)):
        if (count := getattr(given, name)) % 2 or count < least:
            words.error(f"--{name} is an even number from {least}")
    with tempfile.TemporaryDirectory(prefix="enginetour-bench-", dir=given.folder) as folder:
        settings = Settings(
            given.rounds,
            given.games,
            given.engines,
            tuple(given.rated),
            tuple(given.beside),
            given.simulations,
            given.commits,
            given.match,
            given.real,
            given.timed,
            tuple(given.at_once),
            given.forfeits,
            given.kills,
            Path(folder),
        )
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
            "crash": lambda: crashing(settings, program),
        }
        for name in given.parts or PARTS:
            for said in parts[name]():
                print(said, flush=True)


main()
