"""Season of a league as text and JSON: tables with zones, tournaments still to come, moves with their reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from enginetour.formats.league import Move, zones
from enginetour.reports.progress import format_games
from enginetour.reports.sheet import Column, Sheet, shared_columns
from enginetour.store.seasons import SeasonBook, Stage, StoredSeason

_COLUMNS = (
    Column("division", "division", left=True),
    *shared_columns("rank", "name", "points", "games"),
    Column("zone", "zone", left=True),
)


def division_rows(book: SeasonBook, stage: Stage) -> Iterator[dict[str, Any]]:
    """Yield the table of a division with the zones of promotion and relegation; engines that left it come last.

    An engine that left a playoff or a match between divisions has no zone, but leaves the league after the season.
    """
    present = stage.ranked
    tables = [each.ranked for each in book.divisions]
    meanings = zones(book.rules, tables, stage.number) if stage.log else [""] * len(present)
    zone = dict(zip(present, meanings, strict=True))
    zone |= {name: f"leaves: {why}" for name, why in book.departures.items() if name in zone}
    lines = {line.name: line for line in stage.standings}
    for rank, name in enumerate([*present, *stage.departures], 1):
        line = lines.get(name)
        yield {
            "division": stage.label,
            "rank": rank if name in zone else None,
            "name": name,
            "points": line.half_points / 2 if line else 0.0,
            "games": line.games if line else 0,
            "zone": zone[name] if name in zone else f"left: {book.departures[name]}",
        }


def stage_state(stage: Stage) -> str:
    """Return the state of a tournament, such as ``finished`` or ``12 of 30 games``."""
    if stage.result is None:
        return "too few engines" if stage.is_idle else "not begun"
    return "finished" if stage.is_finished else format_games(stage.result.games, stage.result.remaining)


def season_sheet(book: SeasonBook) -> Sheet:
    """Return the tables of all divisions, with the state of each tournament in the notes."""
    rows = [row for stage in book.divisions for row in division_rows(book, stage)]
    notes = [f"{stage.title}: {stage_state(stage)}" for stage in book.stages()]
    notes += [f"playoff: {text}" for text in map(playoff_text, book.playoffs) if text]
    if book.season.waiting:
        notes.append(f"waiting for a place: {', '.join(book.season.waiting)}")
    return Sheet(book.title, _COLUMNS, tuple(rows), notes=tuple(notes))


def playoff_text(stage: Stage) -> str:
    """Return what a playoff has decided; empty before its end."""
    if not stage.is_finished:
        return ""
    lower, upper = stage.entrants
    return f"{lower} defeats {upper} and is promoted" if stage.lower_won() else f"{upper} stays above {lower}"


_MOVES = (
    Column("engine", "engine", left=True),
    Column("kind", "move", left=True),
    Column("source", "from", left=True),
    Column("target", "to", left=True),
    Column("why", "reason", left=True),
)


def moves_rows(moves: Sequence[Move], names: Sequence[str]) -> list[dict[str, Any]]:
    """Return moves as rows, in the order of the divisions `names`."""
    places = {name: place for place, name in enumerate(names)}

    def order(move: Move) -> tuple[int, int]:
        return places.get(move.target, len(names)), places.get(move.source, len(names))

    return [asdict(move) for move in sorted(moves, key=order)]


def moves_table(title: str, rows: Sequence[Mapping[str, Any]]) -> Sheet:
    """Return a table of moves with their reasons."""
    return Sheet(title, _MOVES, tuple(rows))


def moves_sheet(stored: StoredSeason) -> Sheet:
    """Return who moves at the beginning of a season, and why."""
    title = f"moves · {stored.league}, season {stored.number}"
    return moves_table(title, moves_rows(stored.season.moves, stored.rules.names))


def season_json(book: SeasonBook) -> dict[str, Any]:
    """Return a season, ready for JSON."""
    stored = book.stored
    return {
        "league": stored.league,
        "season": stored.number,
        "created_unix": stored.created_unix,
        "finished": not book.playable(),
        "divisions": [
            {
                "name": stage.label,
                "size": book.rules.sizes[stage.number],
                "tournament": stage.title,
                "state": stage_state(stage),
                "table": [{key: row[key] for key in row if key != "division"} for row in division_rows(book, stage)],
            }
            for stage in book.divisions
        ],
        "others": [
            {
                "kind": stage.kind,
                "tournament": stage.title,
                "state": stage_state(stage),
                "engines": list(stage.entrants),
            }
            for stage in book.stages()
            if stage.kind != "division"
        ],
        "waiting": list(book.season.waiting),
        "moves": [asdict(move) for move in stored.season.moves],
    }
