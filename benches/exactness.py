"""Exactness of rating lists: on a chain of engines, which has an exact solution, and for pairs of similar engines."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from itertools import pairwise
from math import sqrt
from statistics import NormalDist

import numpy as np

from benches.corpora import Corpus
from benches.measure import NAME_WIDTH, Settings
from benches.parity import ELO_76, MESH, ORDO_SCALE
from benches.peers import bayeselo, ordo, ours, read_bayeselo, read_ordo
from enginetour.ratings.likelihood import fit
from enginetour.ratings.pairs import Vector
from enginetour.ratings.uncertainty import errors_of

LINKS, LINK_GAMES = 300, 200  # like the versions of one engine
GIVEN_DRAWS = 97.3  # drawElo, BayesElo's default
CONFIDENCE = 1000  # simulations for a confidence for superiority
NORMAL = NormalDist()


def chain(settings: Settings, binaries: Mapping[str, str]) -> Iterator[str]:
    """Compare ratings with the sums of the links, each of which is exact by itself."""
    corpus = Corpus("chain", LINKS + 1, LINKS * LINK_GAMES)
    pgn, out = settings.folder / "chain.pgn", settings.folder / "chain"
    corpus.write(pgn)
    counts, names = corpus.counts(), corpus.names()
    steps = []
    for one, other in pairwise(names):
        (wins, draws, losses), (lost, drawn, won) = counts[one, other], counts[other, one]
        points = wins + won + (draws + drawn) / 2
        steps.append(400 * np.log10(points / (wins + draws + losses + lost + drawn + won - points)))
    mine = out.with_name("chain.json")
    ours(pgn, mine)()
    rows = json.loads(mine.read_text("utf-8"))["list"]
    yield _error(f"chain of {LINKS} links, largest error", {row["name"]: row["rating"] for row in rows}, names, steps)
    if "ORDO" in binaries:
        ordo(binaries["ORDO"], pgn, out, "-a", "0", "-z", repr(ELO_76))()
        yield _error("  Ordo", read_ordo(out), names, steps)
    if "BAYESELO" in binaries:
        orders = ("prior 0", "advantage 0", f"drawelo {GIVEN_DRAWS}", "mm", "scale 1")
        bayeselo(binaries["BAYESELO"], pgn, out, *orders, asked=len(names))()
        links = [_link(counts, one, other) for one, other in pairwise(names)]
        yield _error("  BayesElo, with the links of its own model", read_bayeselo(out), names, links)
    pgn.unlink()


def _link(counts: Mapping[tuple[str, str], tuple[int, int, int]], one: str, other: str) -> float:
    """Return the rating difference of two engines from their own games, with BayesElo's model."""
    alone = {pair: counts[pair] for pair in ((one, other), (other, one))}
    found = fit(alone, model="raokupper", draw=GIVEN_DRAWS).by_name()
    return found[one] - found[other]


def _error(what: str, found: Mapping[str, float], names: list[str], steps: list[float]) -> str:
    """Format the largest error of a rating, when both lists have the average 0."""
    theirs = _centred(np.array([found[name] for name in names]))
    exact = _centred(-np.cumsum([0.0, *steps]))
    return f"{what:<{NAME_WIDTH}} {np.abs(theirs - exact).max():.2g} Elo"


def _centred(ratings: Vector) -> Vector:
    return np.asarray(ratings - ratings.mean())


def confidence(settings: Settings, binary: str) -> Iterator[str]:
    """Compare likelihoods of superiority with Ordo's confidence for superiority, for all pairs of a mesh."""
    pgn, matrix = settings.folder / "mesh.pgn", settings.folder / "matrix"
    MESH.write(pgn)
    ordo(binary, pgn, settings.folder / "mesh", "-D", "-s", str(CONFIDENCE), "-C", str(matrix))()
    errors = errors_of(fit(MESH.counts(), scale=ORDO_SCALE))
    with matrix.open(newline="", encoding="utf-8") as source:
        _, *rows = csv.reader(source)
    places = [errors.fit.names.index(row[1].strip()) for row in rows]
    off, noise = [], []
    for place, row in zip(places, rows, strict=True):
        for other, cell in zip(places, row[2:], strict=True):
            if cell:
                los = errors.los(place, other)
                off.append(float(cell) - 100 * los)
                noise.append(_scatter(los))
    name, figures = f"LOS minus CFS of {CONFIDENCE} simulations", f"at most {max(map(abs, off)):.2g} points"
    yield f"{name:<{NAME_WIDTH}} {figures}, {_rms(off):.2g} rms; the simulations' own error is {_rms(noise):.2g} rms"
    pgn.unlink()


def _scatter(los: float) -> float:
    """Return the error of a CFS in points, if n simulations estimate its spread with a relative error of 1/sqrt(2n)."""
    gap = NORMAL.inv_cdf(los) if 0 < los < 1 else 0.0
    return 100 * NORMAL.pdf(gap) * abs(gap) / sqrt(2 * CONFIDENCE)


def _rms(values: list[float]) -> float:
    return sqrt(sum(value * value for value in values) / len(values))
