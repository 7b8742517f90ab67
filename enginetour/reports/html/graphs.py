"""Evaluations and clocks of a game as SVG of our own: a handful of polylines, since 10,000 pages are made in seconds.

matplotlib takes 30 ms for such a chart, this 0.05 ms (measured). The x axis is the ply; lines stretch with the
page and keep their width, words beside them keep their size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import exp

from markupsafe import Markup, escape

from enginetour.model.game import MoveMade
from enginetour.reports.html.ownmarkup import own
from enginetour.reports.html.replay import Start

STEEPNESS = 0.00368208  # share of points expected = 1 / (1 + exp(-STEEPNESS cp)): lichess.org/page/accuracy
_HIGHEST = 3000  # centipawns beyond which a line stands at the edge anyway
_MARKS = (-500, -200, 0, 200, 500)
_EVERY = (5, 10, 20, 40, 100, 200, 500)  # moves between two marks of the x axis
_MOST_MARKS = 12


def height(score: int) -> int:
    """-100 to 100 for centipawns: twice the share of points expected, less one."""
    return round(200 / (1 + exp(-STEEPNESS * max(-_HIGHEST, min(_HIGHEST, score))))) - 100


@lru_cache(1 << 13)  # most scores come again and again
def _depth(score: int) -> int:
    """SVG counts downwards."""
    return -height(score)


def evaluations(start: Start, moves: Sequence[MoveMade]) -> Markup | None:
    """What both engines thought of White's chances; None where neither told it."""
    sides: tuple[list[str], list[str]] = ([], [])
    for side in (0, 1):
        sign = 1 if start.is_white(side) else -1
        run: list[str] = []
        for ply, move in zip(range(side + 1, len(moves) + 1, 2), moves[side::2], strict=True):
            if move.score is None:
                _end(run, sides[side])
                run = []
            else:
                run.append(f"{ply},{_depth(sign * move.score)}")
        _end(run, sides[side])
    if not any(sides):
        return None
    marks = [(f"{50 - height(mark) / 2:.1f}%", f"{mark / 100:+.0f}" if mark else "0") for mark in _MARKS]
    first, second = sides if start.white_begins else sides[::-1]
    label = "Evaluations of both engines by move, from White's side, in pawns"
    return _graph("evals", label, start, moves, (-100, 100), marks, first, second)


def clocks(start: Start, moves: Sequence[MoveMade]) -> tuple[str, Markup] | None:
    """Time left on both clocks, or the time of each move where there is no clock; with what it shows in words."""
    timed = any(move.clock_ms is not None for move in moves)
    values = [move.clock_ms if timed else None if move.book else move.elapsed_ms for move in moves]
    most = max((value for value in values if value is not None), default=0)
    if most <= 0:
        return None
    sides: tuple[list[str], list[str]] = ([], [])
    for side in (0, 1):
        points = [
            f"{ply + 1},{100 - value * 100 // most}"
            for ply in range(side, len(values), 2)
            if (value := values[ply]) is not None
        ]
        _end(points, sides[side])
    first, second = sides if start.white_begins else sides[::-1]
    words = "Time left" if timed else "Time of each move"
    marks = [("0%", seconds(most)), ("50%", seconds(most // 2)), ("100%", "0")]
    label = f"{words} of both engines by move, at most {seconds(most)}"
    return words, _graph("clocks", label, start, moves, (0, 100), marks, first, second)


def seconds(milliseconds: int) -> str:
    """``0.10 s``, ``12.3 s``, ``4:05``, ``1:04:05``."""
    if milliseconds < 60_000:
        return f"{milliseconds / 1000:.{2 if milliseconds < 10_000 else 1}f} s"
    minutes, rest = divmod(milliseconds // 1000, 60)
    return f"{minutes}:{rest:02}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def _end(run: list[str], lines: list[str]) -> None:
    """A run of one point is a line of no length, which round ends make a dot."""
    if run:
        lines.append(" ".join(run if len(run) > 1 else run * 2))


def _graph(
    kind: str,
    label: str,
    start: Start,
    moves: Sequence[MoveMade],
    span: tuple[int, int],
    marks: Sequence[tuple[str, str]],
    white: Sequence[str],
    black: Sequence[str],
) -> Markup:
    low, high = span
    plies = max(1, len(moves))
    book = next((ply for ply, move in enumerate(moves) if not move.book), plies)
    shade = f'<rect class="book" x="0" y="{low}" width="{book}" height="{high - low}"/>' if book else ""
    lines = "".join(
        f'<polyline class="{side}" points="{points}"/>'
        for side, all_ in (("w", white), ("b", black))
        for points in all_
    )
    across = "".join(f'<line x1="0" x2="100%" y1="{y}" y2="{y}"/>' for y, _ in marks)
    words = "".join(f'<text x="0" y="{y}" dy="{_shift(y)}">{escape(text)}</text>' for y, text in marks)
    down = "".join(
        f'<text class="x" x="{x:.1f}%" y="100%" dy="1.2em">{text}</text>' for x, text in _moves(start, plies)
    )
    box = f'width="100%" height="100%" viewBox="0 {low} {plies} {high - low}" preserveAspectRatio="none"'
    return own(
        f'<svg class="graph {kind}" role="img" aria-label="{escape(label)}" data-plies="{plies}">'
        f'<svg {box}>{shade}</svg><g class="grid">{across}</g><svg class="plot" {box}>{lines}</svg>'
        f'<g class="marks" aria-hidden="true">{words}{down}</g></svg>'
    )


def _shift(y: str) -> str:
    """Words stand above their line, but for the uppermost."""
    return "1em" if y == "0%" else "-.25em"


def _moves(start: Start, plies: int) -> Iterator[tuple[float, str]]:
    """Where round move numbers are on the x axis, in per cent."""
    last = start.number + (plies + (not start.white_begins)) // 2
    every = next((step for step in _EVERY if (last - start.number) / step <= _MOST_MARKS), _EVERY[-1] * 4)
    for number in range((start.number // every + 1) * every, last, every):
        ply = (number - start.number) * 2 - (not start.white_begins)
        yield 100 * (ply + 1) / plies, str(number)
