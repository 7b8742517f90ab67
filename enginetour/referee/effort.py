"""How hard an engine worked in one game, as it told it: sums to be averaged over a tournament."""

from __future__ import annotations

from operator import attrgetter

from enginetour.model import MoveMade

FIGURES = ("depth", "seldepth", "nodes", "nps", "hashfull", "tbhits")
_figures = attrgetter(*FIGURES)


class Effort:
    """Sums over the moves of one side, each with the number of moves that told the figure."""

    def __init__(self) -> None:
        self._sums: dict[str, tuple[int, int]] = {}

    def add(self, move: MoveMade) -> None:
        """One of its own moves, not of a book."""
        sums = self._sums
        figures = _figures(move)
        for name, figure in zip(FIGURES, figures, strict=True):
            if figure is not None:
                moves, total = sums.get(name, (0, 0))
                sums[name] = moves + 1, total + figure
        if move.nodes is not None:
            moves, total = sums.get("nodes_ms", (0, 0))
            sums["nodes_ms"] = moves + 1, total + move.elapsed_ms

    def told(self) -> tuple[tuple[str, int, int], ...]:
        """(figure, moves that told it, sum); `nodes_ms` is the time of the moves that told their nodes."""
        return tuple((name, moves, total) for name, (moves, total) in self._sums.items())
