"""The history page's tables: editions of a list, engines through them, and paths of incremental systems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from enginetour.model.game import fixed
from enginetour.reports.html.page import day_and_time
from enginetour.reports.ratings import SYSTEM_NAMES
from enginetour.reports.review.editions import History, ListHistory, RatingPath
from enginetour.reports.sheet import Column, Sheet
from enginetour.store.careers import Published

MOST_EDITIONS = 12  # columns: the newest


def editions(one: ListHistory) -> Sheet:
    """Every edition of the list, newest first."""
    columns = (
        Column("edition", "edition"),
        Column("made", "published", left=True),
        Column("games", "games"),
        Column("note", "note", left=True),
    )
    rows = tuple(
        {"edition": number, "made": day_and_time(made), "games": games, "note": note}
        for number, made, games, note in reversed(one.editions)
    )
    return Sheet("editions", columns, rows)


def engines(one: ListHistory) -> Sheet:
    """An engine a line, its rating with error in each of the newest editions."""
    numbers = [number for number, *_ in one.editions][-MOST_EDITIONS:]
    columns = (
        Column("name", "engine", left=True),
        *(Column(f"e{number}", f"edition {number}") for number in numbers),
    )
    rows = []
    for name, points in one.engines:
        by_number = {point.edition: rated(point) for point in points}
        rows.append({"name": name, **{f"e{number}": by_number.get(number, "") for number in numbers}})
    return Sheet("engines through the editions", columns, tuple(rows))


def rated(point: Published) -> str:
    """``2641 ±60``; the larger distance where the bounds differ."""
    bounds = [bound for bound in (point.plus, point.minus) if bound is not None]
    return f"{round(point.rating)} ±{max(bounds):.0f}" if len(bounds) == 2 else str(round(point.rating))


def by_system(history: History) -> Iterator[tuple[str, tuple[RatingPath, ...]]]:
    """The paths of each incremental system, by its name for people."""
    for system in dict.fromkeys(path.system for path in history.paths):
        yield SYSTEM_NAMES[system], tuple(path for path in history.paths if path.system == system)


def paths(own: Sequence[RatingPath]) -> Sheet:
    """Where each engine came from and stands now, the best now first."""
    columns = (
        Column("name", "engine", left=True),
        Column("before", "before"),
        Column("lowest", "lowest"),
        Column("highest", "highest"),
        Column("after", "now"),
        Column("change", "change"),
        Column("games", "games"),
    )
    rows = []
    for path in sorted(own, key=lambda one: (-one.points[-1][1], one.name)):
        ratings = [path.before, *(rating for _, rating in path.points)]
        told = {"before": path.before, "lowest": min(ratings), "highest": max(ratings), "after": ratings[-1]}
        row: dict[str, object] = {key: fixed(value, 1) for key, value in told.items()}
        change = fixed(ratings[-1] - path.before, 1, signed=True)
        rows.append({"name": path.name, **row, "change": change, "games": len(path.points)})
    return Sheet("ratings game by game", columns, tuple(rows))
