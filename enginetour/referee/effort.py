"""How hard an engine worked in one game, as it told it: sums to be averaged over a tournament."""

from __future__ import annotations

from enginetour.model import MoveMade

FIGURES = ("depth", "seldepth", "nodes", "nps", "hashfull", "tbhits")


class Effort:
    """Sums over the moves of one side, each with the number of moves that told the figure."""

    def __init__(self) -> None:
        self._sums: dict[str, tuple[int, int]] = {}

    def add(self, move: MoveMade) -> None:
        """One of its own moves, not of a book."""
        for name in FIGURES:
            figure = getattr(move, name)
            if figure is not None:
                self._add(name, figure)
        if move.nodes is not None:
            self._add("nodes_ms", move.elapsed_ms)

    def _add(self, name: str, figure: int) -> None:
        moves, total = self._sums.get(name, (0, 0))
        self._sums[name] = moves + 1, total + figure

    def told(self) -> tuple[tuple[str, int, int], ...]:
        """(figure, moves that told it, sum); `nodes_ms` is the time of the moves that told their nodes."""
        return tuple((name, moves, total) for name, (moves, total) in self._sums.items())
