"""Ratings through time: over the editions of a list, and over the games of an incremental system; scores over games."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from enginetour.reports.charts.curves import Curve, Point, curves
from enginetour.reports.charts.marks import Picture, finite
from enginetour.reports.sheet import points


@dataclass(frozen=True, slots=True)
class Run:
    """An engine's results in the order they came: half points of each game, 0 to 2."""

    name: str
    half_points: tuple[int, ...]


def rating_history(lines: Sequence[Curve], *, title: str, below: str = "edition") -> Picture:
    """Ratings with their bounds; x is the number of an edition, or of a game."""
    return curves(lines, title=title, below=below)


def edition_point(edition: int, rating: float, plus: float | None, minus: float | None, games: int) -> Point:
    """A line of an edition; bounds are distances, None where there are none."""
    sides = [f" {sign}{side:.0f}" for sign, side in (("+", plus), ("-", minus)) if side is not None and finite(side)]
    words = f"edition {edition}: {rating:.0f}{''.join(sides)}, {games:,} games" if finite(rating) else ""
    return Point(
        edition,
        rating,
        None if minus is None else rating - minus,
        None if plus is None else rating + plus,
        words,
    )


def score_over_games(runs: Sequence[Run], *, title: str) -> Picture:
    """How many points above half of the possible each engine has after each of its games."""
    return curves(
        [Curve(run.name, _over_half(run)) for run in runs],
        title=title,
        below="games of the engine; points above 50 %",
        say_y=lambda value: f"{value:+g}" if value else "0",
        level=0.0,
        least=4.0,
    )


def _over_half(run: Run) -> tuple[Point, ...]:
    over, found = 0, [Point(0, 0.0, words="before its first game")]
    for nth, half in enumerate(run.half_points, 1):
        over += half - 1
        sign = "+" if over > 0 else "-" if over < 0 else "±"
        words = f"after game {nth}: {sign}{points(abs(over))}"
        found.append(Point(nth, over / 2, words=words))
    return tuple(found)
