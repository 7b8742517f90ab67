"""An engine against its opponents: its score by their ratings, beside what its own rating would expect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from enginetour.ratings.likelihood import ELO_SCALE
from enginetour.reports.charts import frame
from enginetour.reports.charts.marks import Area, Line, Mark, Picture, Tip, diamond, finite, told
from enginetour.reports.charts.scales import Scale, around
from enginetour.reports.sheet import points

_WIDTH, _HEIGHT = 460.0, 200.0  # units: a small picture beside tables
_STEPS = 24  # pieces of the expected curve


@dataclass(frozen=True, slots=True)
class Faced:
    """All games against one opponent, in half points of the engine's; `rating` None where it has none."""

    name: str
    rating: float | None
    half_points: int
    games: int


def score_by_rating(rating: float | None, faced: Sequence[Faced], *, title: str) -> Picture:
    """Opponents without a rating or a game are left out, and said to be; points grow with games, up to six."""
    there = [one for one in faced if one.rating is not None and finite(one.rating) and one.games]
    left, right, top = 46.0, _WIDTH - 10, frame.HEAD
    bottom = top + _HEIGHT
    own = rating if rating is not None and finite(rating) else None
    xs = around([*(one.rating for one in there), own], left, right, least=100.0)
    ys = Scale(-0.04, 1.04, bottom, top)
    marks: list[Mark] = [*frame.heading(title, _WIDTH), *frame.upward(ys, left, right, say=_percent)]
    marks += frame.across(xs, top, bottom, "rating of the opponent", grid=False)
    if own is not None:
        marks.append(Line(tuple(_expected(own, xs, ys)), "muted", 1.4, (6.0, 3.0)))
    for one in there:
        share = one.half_points / (2 * one.games)
        x, y = xs.at(one.rating or 0.0), ys.at(share)
        marks.append(Area((diamond(x, y, 2.5 + min(6, one.games) / 2),), "accent", 0.8))
        marks.append(
            Tip(x - 8, y - 8, 16, 16, f"{told(one.name)} ({one.rating:.0f}): {points(one.half_points)} of {one.games}")
        )
    if not there:
        marks = [*frame.heading(title, _WIDTH), frame.empty("no opponent with a rating", (top + bottom) / 2, _WIDTH)]
    apart = len(faced) - len(there)
    summary = f"Score against {len(there)} rated opponents by their ratings" + (
        f"; {apart} without one." if apart else "."
    )
    return Picture(told(title), summary, _WIDTH, bottom + 36, tuple(marks))


def _expected(own: float, xs: Scale, ys: Scale) -> Iterator[tuple[float, float]]:
    """What the logistic model expects of the engine along the axis."""
    for step in range(_STEPS + 1):
        rating = xs.low + (xs.high - xs.low) * step / _STEPS
        yield xs.at(rating), ys.at(1 / (1 + 10 ** ((rating - own) / ELO_SCALE)))


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
