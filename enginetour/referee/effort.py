"""How hard an engine worked in one game, as it told it: sums to be averaged over a tournament."""

from __future__ import annotations

from collections.abc import Sequence

from enginetour.model.game import MoveMade

_PLACE = {name: place for place, name in enumerate(MoveMade._fields)}
FIGURES = ("depth", "seldepth", "nodes", "nps", "hashfull", "tbhits")


def effort(moves: Sequence[MoveMade], pondered_ms: int = 0) -> tuple[tuple[str, int, int], ...]:
    """(figure, moves that told it, their sum) over one side's own moves; what none told is left out.

    `nodes_ms` is the time of the searches that told their nodes, with the part of it that was the opponent's,
    `pondered_ms`: an engine counts nodes from `go ponder` on.
    """
    columns = list(zip(*moves, strict=True)) or [()] * len(MoveMade._fields)  # a third of the time of move by move
    told = {name: [figure for figure in columns[_PLACE[name]] if figure is not None] for name in FIGURES}
    spent, nodes = columns[_PLACE["elapsed_ms"]], columns[_PLACE["nodes"]]
    told["nodes_ms"] = [ms for ms, count in zip(spent, nodes, strict=True) if count is not None]
    before = {"nodes_ms": pondered_ms}
    return tuple((name, len(figures), sum(figures) + before.get(name, 0)) for name, figures in told.items() if figures)
