"""Rating lists of Ordo and BayesElo for generated games: the cases, and a program that writes their golden numbers.

``ORDO=... BAYESELO=... python -m benches.parity`` writes tests/golden/peers again. A case has a corpus, the options of
the other program, and the same settings for `rating_list`.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from math import log10
from pathlib import Path
from typing import Any

from benches.corpora import Corpus
from benches.peers import bayeselo, ordo, read_bayeselo, read_ordo
from enginetour.ratings.priors import VirtualDraws
from enginetour.ratings.ratinglist import RatingList, rating_list

GOLDEN = Path(__file__).parents[1] / "tests" / "golden" / "peers"
ELO_76 = 400 * log10(0.76 / 0.24)  # rating difference for 76 % (Elo 1978)
ORDO_SCALE = 400 * 202 / ELO_76  # Ordo has 202 points for 76 % (its manual)
BAYESELO_PRIOR = VirtualDraws(2.0)  # BayesElo's default
VERSIONS = {"ordo": "Ordo 1.2.6", "bayeselo": "BayesElo 0058"}
VARIABLES = {"ordo": "ORDO", "bayeselo": "BAYESELO"}


@dataclass(frozen=True)
class Case:
    """One list of another program. `within` is the largest difference of a rating in Elo that its rounding explains."""

    peer: str
    name: str
    corpus: Corpus
    options: tuple[str, ...]
    within: float
    terms: dict[str, Any] = field(default_factory=dict)  # arguments of `rating_list`

    @property
    def path(self) -> Path:
        """Path of the golden numbers."""
        return GOLDEN / f"{self.peer}-{self.name}.json"

    def ours(self) -> RatingList:
        """Compute enginetour's list with the same settings."""
        if self.peer == "ordo":
            return rating_list(self.corpus.counts(), **{"scale": ORDO_SCALE, **self.terms})
        return rating_list(self.corpus.counts(), model="raokupper", prior=BAYESELO_PRIOR, **self.terms)


MESH = Corpus("mesh", 60, 6_000)
THIN = Corpus("mesh", 200, 6_000, seed=2)  # 60 games per engine
GAUNTLET = Corpus("gauntlet", 12, 2_200, advantage=35.0, seed=3)
WHITE = Corpus("mesh", 60, 6_000, advantage=40.0, seed=4)
BANDS = Corpus("bands", 100, 10_000, seed=5)
DRAWN = Corpus("bands", 100, 10_000, draws=8.0, seed=6)  # four of five games of equal engines
ANCHORS = {"Engine 00010": 3000.0, "Engine 00050": 2800.0, "Engine 00090": 2500.0}

CASES = (
    Case("ordo", "mesh", MESH, ("-a", "0"), 1e-4),
    Case("ordo", "elo-points", MESH, ("-a", "0", "-z", repr(ELO_76)), 1e-4, {"scale": 400.0}),
    Case("ordo", "thin", THIN, ("-a", "0"), 1e-4),
    Case("ordo", "gauntlet", GAUNTLET, ("-a", "0", "-w", "35"), 1e-4, {"advantage": 35.0}),
    Case("ordo", "white-fitted", WHITE, ("-a", "0", "-W"), 1e-4, {"advantage": "fit"}),
    Case("ordo", "anchor", BANDS, ("-A", "Engine 00050", "-a", "2800"), 1e-4, {"anchors": {"Engine 00050": 2800.0}}),
    Case("ordo", "average-drawn", DRAWN, ("-a", "3000"), 1e-4, {"mean": 3000.0}),
    # Ordo's result differs from its own equations by 0.0008 points.
    Case("ordo", "anchors", BANDS, ("-m", "anchors.csv"), 0.1, {"anchors": ANCHORS}),
    Case("ordo", "anchors-likelihood", BANDS, ("-M", "-m", "anchors.csv"), 1e-3, {"anchors": ANCHORS}),
    # BayesElo stops if no strength changes by more than 1e-5 of its value, which is too early for sparse results.
    Case("bayeselo", "mesh", MESH, ("advantage 0", "mm 0 1"), 0.02),
    Case("bayeselo", "thin", THIN, ("advantage 0", "mm 0 1"), 0.02),
    Case("bayeselo", "gauntlet", GAUNTLET, ("advantage 0", "mm 0 1"), 0.02),
    Case("bayeselo", "white-fitted", WHITE, ("mm 1 1",), 0.02, {"advantage": "fit"}),
    Case("bayeselo", "given", WHITE, ("advantage 32.8", "drawelo 97.3", "mm"), 0.02, {"advantage": 32.8, "draw": 97.3}),
    Case("bayeselo", "bands", BANDS, ("advantage 0", "mm 0 1"), 0.5),
)


def measured(case: Case, binary: str, folder: Path) -> dict[str, object]:
    """Return the result of the other program, ready for JSON."""
    pgn, out = folder / "corpus.pgn", folder / "list"
    case.corpus.write(pgn)
    (folder / "anchors.csv").write_text("".join(f'"{name}",{elo}\n' for name, elo in ANCHORS.items()), "utf-8")
    if case.peer == "ordo":
        options = [str(folder / word) if word.endswith(".csv") else word for word in case.options]
        ordo(binary, pgn, out, *options)()
        ratings = read_ordo(out)
        advantage = re.findall(r"White advantage = (\S+)", out.with_name("list.log").read_text("utf-8"))
        command, extra = ["ordo -N 7 -p corpus.pgn -c list", *case.options], {"white_advantage": float(advantage[-1])}
    else:
        bayeselo(binary, pgn, out, *case.options, asked=case.corpus.engines)()
        ratings, extra = read_bayeselo(out), {}
        command = [
            "bayeselo: readpgn corpus.pgn; elo;",
            *(f"{order};" for order in case.options),
            "offset 0; elo 0 ...",
        ]
    return {"peer": VERSIONS[case.peer], "command": " ".join(command), **extra, "ratings": ratings}


def golden() -> Iterator[str]:
    """Write the results of the programs named by the environment, a file per case."""
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for case in CASES:
        if binary := os.environ.get(VARIABLES[case.peer]):
            with tempfile.TemporaryDirectory(prefix="enginetour-parity-") as folder:
                found = {**measured(case, binary, Path(folder)), "games": digest(case.corpus)}
            case.path.write_text(json.dumps(found, indent=0) + "\n", "utf-8")
            yield str(case.path)


def digest(corpus: Corpus) -> str:
    """Return a digest of the results, which shows whether golden numbers are for these games."""
    return sha256(repr(sorted(corpus.counts().items())).encode()).hexdigest()


if __name__ == "__main__":
    for written in golden():
        print(written)
