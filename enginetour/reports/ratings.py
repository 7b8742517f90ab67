"""Rating lists as sheets: likelihood lists with errors, and the ratings of incremental systems."""

from __future__ import annotations

from collections.abc import Mapping

from enginetour.ratings.listing import RatingList
from enginetour.ratings.rows import NOT_ASKED, Row
from enginetour.reports.sheet import Column, Sheet

_COLUMNS = (
    Column("rank", "#"),
    Column("name", "engine", left=True, flexible=True),
    Column("rating", "rating"),
    Column("plus", "+"),
    Column("minus", "-"),
    Column("games", "games"),
    Column("score", "score"),
    Column("opponents", "opp."),
    Column("draw_rate", "draws"),
    Column("los", "LOS"),
    Column("remarks", "", left=True),
)


def likelihood(title: str, found: RatingList) -> Sheet:
    """The list by maximum likelihood; every uncertain number with its 95 % bounds, pools apart."""
    many = len(found.pools) > 1
    columns = (Column("pool", "pool"), *_COLUMNS) if many else _COLUMNS
    marks = sorted({remark for row in found.rows for remark in row.remarks})
    rows = tuple(_row(row) for row in found.rows)
    shown = tuple(_shown(row, marks) for row in found.rows)
    notes = [f"[{number}] {mark}" for number, mark in enumerate(marks, 1)]
    reasons = dict.fromkeys(engine.why for engine in found.unrated)
    notes += [f"not rated, {why}: {', '.join(e.name for e in found.unrated if e.why == why)}" for why in reasons]
    notes += list(found.caption)
    notes.append(_footing(found))
    return Sheet(title, columns, rows, shown, tuple(notes))


def incremental(title: str, known: Mapping[str, tuple[float, int]]) -> Sheet:
    """Ratings of an incremental system, best first."""
    ordered = sorted(known.items(), key=lambda item: (-item[1][0], item[0]))
    columns = (
        Column("rank", "#"),
        Column("name", "engine", left=True, flexible=True),
        Column("rating", "rating"),
        Column("games", "games"),
    )
    rows = tuple(
        {"rank": rank, "name": name, "rating": round(rating, 6), "games": games}
        for rank, (name, (rating, games)) in enumerate(ordered, 1)
    )
    shown = tuple({"rating": f"{rating:.1f}"} for _, (rating, _games) in ordered)
    return Sheet(title, columns, rows, shown, ("incremental: no error can be given; more games, surer ratings",))


def _row(row: Row) -> dict[str, object]:
    return {
        "pool": row.pool,
        "rank": row.rank,
        "name": row.name,
        "rating": row.rating,
        "plus": row.plus,
        "minus": row.minus,
        "games": row.games,
        "score": row.score,
        "wins": row.wins,
        "draws": row.draws,
        "losses": row.losses,
        "opponents": row.opponents,
        "draw_rate": row.draws / row.games if row.games else None,
        "performance": row.performance,
        "los": row.los,
        "remarks": "; ".join(row.remarks),
    }


def _shown(row: Row, marks: list[str]) -> dict[str, str]:
    # An anchor has no error: it is where the others are measured from. Large pools have errors on request only.
    few = ("", "") if {"anchor", NOT_ASKED} & {*row.remarks} else ("too few", "games")
    return {
        "rating": str(round(row.rating)),  # an int has no "-0"
        "plus": few[0] if row.plus is None else f"+{row.plus:.0f}",
        "minus": few[1] if row.minus is None else f"-{row.minus:.0f}",
        "score": f"{100 * row.score:.1f}%",
        "opponents": str(round(row.opponents)),
        "draw_rate": f"{100 * row.draws / row.games:.0f}%" if row.games else "",
        "los": "" if row.los is None else f"{100 * row.los:.0f}%",
        "remarks": " ".join(f"[{number}]" for number, mark in enumerate(marks, 1) if mark in row.remarks),
    }


def _footing(found: RatingList) -> str:
    level = ", ".join(f"{name} = {rating:g}" for name, rating in found.anchors) or "pool average = 0"
    draws = "" if found.draw_rate is None else f", {100 * found.draw_rate:.0f}% draws"
    return f"maximum likelihood ({found.model}), {level}; {found.games} games{draws}; + and - are 95 %"
