"""Rating list from a PGN file, compared with Ordo and BayesElo: times of whole processes.

The environment variables ORDO and BAYESELO name the programs. The time of Ordo's simulations is extrapolated.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from benches.corpora import Corpus
from benches.exactness import chain, confidence
from benches.measure import Settings, line
from benches.peers import CAP, Spent, bayeselo, ordo, ours, python

MOVES = "\n".join(["1. Nf3 {+0.31/18 0.10s} Nc6 {-0.30/17 0.11s}"] * 57) + " "  # 2.6 KB
SIMULATED = 100  # simulations that users of Ordo usually run; times are extrapolated to this number


@dataclass(frozen=True)
class Field:
    """A PGN file; `wanted` names the runs of other programs that are measured with it."""

    name: str
    corpus: Corpus
    wanted: tuple[str, ...]
    moves: str = ""


def beside(settings: Settings) -> Iterator[str]:
    """Measure times with four files, then the exactness of the ratings."""
    engines, games = settings.beside
    usual = ("Ordo", "Ordo -s", "BayesElo covariance")
    small = Corpus("mesh", max(2, engines // 5), games // 10)
    fields = (
        Field("large", Corpus("mesh", engines, games), usual),
        Field("small", small, usual),
        Field("2.6 KB of moves", small, ("Ordo",), MOVES),
        Field("many engines", Corpus("mesh", 10 * engines, games), ("Ordo", "BayesElo")),
    )
    binaries = {name: os.environ[name] for name in ("ORDO", "BAYESELO") if os.environ.get(name)}
    for each in fields:
        yield from _times(settings, each, binaries)
    yield from chain(settings, binaries)
    if "ORDO" in binaries:
        yield from confidence(settings, binaries["ORDO"])
    if missing := sorted({"ORDO", "BAYESELO"} - set(binaries)):
        yield f"no ratio to other lists: set {' or '.join(f'{name}=/path/to/{name.lower()}' for name in missing)}"


def _times(settings: Settings, each: Field, binaries: Mapping[str, str]) -> Iterator[str]:
    """Measure all programs in turn; yield lines with wall time and CPU time."""
    pgn = settings.folder / "beside.pgn"
    each.corpus.write(pgn, each.moves)
    runs = {"ours": ours(pgn, settings.folder / "ours.txt"), **_peers(settings, each, binaries, pgn)}
    runs["numpy"] = python(settings.folder, "-c", "import numpy")
    runs["ours"]()  # compiles the modules and caches the file
    taken: dict[str, list[Spent]] = {name: [] for name in runs}
    for _ in range(settings.rounds):
        for name, run in runs.items():
            taken[name].append(run())
    pgn.unlink()
    if "Ordo -s" in taken:
        rate = SIMULATED / settings.simulations
        plain = taken["Ordo"]
        taken["Ordo -s"] = [_extrapolated(one, few, rate) for one, few in zip(plain, taken["Ordo -s"], strict=True)]
    size = f"{each.name}, {each.corpus.games:,} games, {each.corpus.engines:,} engines"
    yield size
    start = taken.pop("numpy")
    mine = taken.pop("ours")
    for word in ("wall", "cpu"):
        yield line(f"  enginetour's list with errors, {word}", _of(mine, word), _of(start, word), "importing numpy")
        for name, theirs in taken.items():
            label = f"{name} {SIMULATED} extrapolated from {settings.simulations}" if name == "Ordo -s" else name
            label += f", stopped after {CAP:.0f} s" if any(one.stopped for one in theirs) else ""
            yield line(f"  {label}, {word}", _of(theirs, word), _of(mine, word), "enginetour")


def _peers(settings: Settings, each: Field, binaries: Mapping[str, str], pgn: Path) -> dict[str, Callable[[], Spent]]:
    out = settings.folder / "theirs"
    runs: dict[str, Callable[[], Spent]] = {}
    if "ORDO" in binaries:
        runs["Ordo"] = ordo(binaries["ORDO"], pgn, out)
        runs["Ordo -s"] = ordo(binaries["ORDO"], pgn, out, "-s", str(settings.simulations))
    if "BAYESELO" in binaries:
        orders = ("advantage 0", "mm 0 1")
        runs["BayesElo"] = bayeselo(binaries["BAYESELO"], pgn, out.with_name("plain"), *orders)
        runs["BayesElo covariance"] = bayeselo(binaries["BAYESELO"], pgn, out.with_name("sure"), *orders, "covariance")
    return {name: run for name, run in runs.items() if name in each.wanted}


def _extrapolated(plain: Spent, few: Spent, rate: float) -> Spent:
    """Return the time of all simulations, each of which takes the same time."""
    wall, cpu = plain.wall + (few.wall - plain.wall) * rate, plain.cpu + (few.cpu - plain.cpu) * rate
    return replace(few, wall=wall, cpu=cpu)


def _of(taken: list[Spent], word: str) -> list[float]:
    return [one.wall if word == "wall" else one.cpu for one in taken]
