"""How hard an engine worked in one game, as it told it: sums to be averaged over a tournament."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from enginetour.model import MoveMade

FIGURES = ("depth", "seldepth", "nodes", "nps", "hashfull", "tbhits")


def effort(moves: Sequence[MoveMade], pondered_ms: int = 0) -> tuple[tuple[str, int, int], ...]:
    """(figure, moves that told it, their sum) over one side's own moves; what none told is left out.

    `nodes_ms` is the time of the searches that told their nodes, with the part of it that was the opponent's,
    `pondered_ms`: an engine counts nodes from `go ponder` on.
    """
    told = {name: [figure for figure in map(attrgetter(name), moves) if figure is not None] for name in FIGURES}
    told["nodes_ms"] = [move.elapsed_ms for move in moves if move.nodes is not None]
    before = {"nodes_ms": pondered_ms}
    return tuple((name, len(figures), sum(figures) + before.get(name, 0)) for name, figures in told.items() if figures)
