"""One engine as sheets: its lines in editions, its rating events, its opponents. Rows are those of the JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from enginetour.reports.sheet import Column, Sheet

_PUBLISHED = (
    Column("list", "list", left=True, flexible=True),
    Column("edition", "edition"),
    Column("made", "published", left=True),
    Column("rank", "#"),
    Column("rating", "rating"),
    Column("plus", "+"),
    Column("minus", "-"),
    Column("games", "games"),
)
_EVENTS = (
    Column("system", "system", left=True),
    Column("event", "tournament", left=True, flexible=True),
    Column("game", "game"),
    Column("before", "before"),
    Column("change", "change"),
    Column("after", "after"),
    Column("games", "games"),
)
_OPPONENTS = (
    Column("name", "opponent", left=True, flexible=True),
    Column("games", "games"),
    Column("wins", "W"),
    Column("draws", "D"),
    Column("losses", "L"),
    Column("score", "score"),
    Column("rating", "rating"),
    Column("gap", "gap"),
    Column("performance", "perf."),
)


def opponents(found: Mapping[str, Any]) -> Sheet:
    """Against whom it played, most games first."""
    rows = tuple(found["opponents"])
    rating = "no rating" if found["rating"] is None else f"rating {round(found['rating'])}"
    days = f", {found['first']} to {found['last']}" if found["first"] else ""
    shown = tuple(
        {"score": f"{100 * row['score']:.1f}%"}
        | {key: "" if row[key] is None else str(round(row[key])) for key in ("rating", "gap", "performance")}
        for row in rows
    )
    return Sheet(f"{found['name']} · {rating}, {found['games']} games{days}", _OPPONENTS, rows, shown)


def published(found: Mapping[str, Any]) -> Sheet:
    """Its lines in editions, oldest first."""
    rows = tuple(found["published"])
    shown = tuple(
        {
            "rating": str(round(row["rating"])),
            "plus": "" if row["plus"] is None else f"+{row['plus']:.0f}",
            "minus": "" if row["minus"] is None else f"-{row['minus']:.0f}",
        }
        for row in rows
    )
    return Sheet("editions", _PUBLISHED, rows, shown)


def events(found: Mapping[str, Any], most: int) -> Sheet:
    """Its newest rating events by incremental systems; `most` of each system."""
    rows: list[Mapping[str, Any]] = []
    notes = []
    for system in dict.fromkeys(row["system"] for row in found["events"]):
        own = [row for row in found["events"] if row["system"] == system]
        rows += own[-most:]
        if len(own) > most:
            notes.append(f"{system}: the newest {most} of {len(own)} changes; --csv events has all")
    shown = tuple(
        {"before": f"{row['before']:.1f}", "change": f"{row['change']:+.1f}", "after": f"{row['after']:.1f}"}
        for row in rows
    )
    return Sheet("rating events", _EVENTS, tuple(rows), shown, tuple(notes))


def all_events(found: Mapping[str, Any]) -> Sheet:
    """Every rating event, oldest first."""
    return Sheet("rating events", _EVENTS, tuple(found["events"]))
