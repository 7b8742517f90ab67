"""The JSON documents of the database, as `--json` prints them and the HTTP interface sends them.

A function that also serves the command line returns the table for text and the value for JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from enginetour.formats.pairing.standings import Scored
from enginetour.formats.pairing.standings import crosstable as cross_rows
from enginetour.reports.sheet import Sheet, iso_timestamp
from enginetour.reports.standings import crosstable_sheet, points_notes, standings_sheet

if TYPE_CHECKING:
    from enginetour.formats.base import Format
    from enginetour.store.definition import Revision
    from enginetour.store.editions import Edition
    from enginetour.store.games import StoredGame, TournamentReader
    from enginetour.store.tournaments import Store

# Tournaments.


def standings(log: TournamentReader, format_: Format[Any], state: Any) -> tuple[Sheet, dict[str, object]]:
    """Return the standings of a tournament whose event log was replayed to `state`."""
    left, odds = log.withdrawals(), log.odds_by_entrant()
    sheet = standings_sheet(f"standings · {log.title}", format_.standings(state), odds, left, format_.meanings)
    value: dict[str, object] = {"table": sheet.rows, "finished": not format_.offers(state)}
    return sheet, value | ({"withdrawals": [asdict(one) for one in left]} if left else {})


def crosstable(log: TournamentReader, format_: Format[Any], state: Any) -> tuple[Sheet, dict[str, object]]:
    """Return the head-to-head results of all entrants of a tournament whose event log was replayed to `state`."""
    placed = format_.standings(state)
    names = [line.name for line in placed]
    games = [Scored(game.white, game.black, game.outcome) for game in log.games(counting=True)]
    cells = cross_cells(names, games)
    rows = [
        {"rank": n, "name": line.name, "points": line.half_points / 2, "against": against(line.name, names, cells)}
        for n, line in enumerate(placed, 1)
    ]
    sums = {row.name: row.half_points for row in cross_rows(names, games)}
    notes = points_notes(placed, sums, by_match=log.config.get("format", {}).get("scoring") == "match")
    sheet = crosstable_sheet(f"crosstable · {log.title}", names, cells, placed, notes=notes)
    return sheet, {"table": rows}


def cross_cells(names: Sequence[str], games: Iterable[Scored]) -> dict[tuple[str, str], str]:
    """Return the results of each engine against each other one, such as ``1=0``, by both names."""
    met = ((row, name, cell) for row in cross_rows(names, games) for name, cell in zip(names, row.cells, strict=True))
    return {(row.name, name): cell for row, name, cell in met if cell}


def against(one: str, names: Sequence[str], cells: Mapping[tuple[str, str], str]) -> dict[str, str]:
    """Return the results of one engine by opponent."""
    return {other: cells[one, other] for other in names if (one, other) in cells}


# Games and incidents.


def whole_game(stored: StoredGame) -> dict[str, object]:
    """Return one game with its moves and incidents."""
    game = stored.game
    times = {"started": iso_timestamp(game.started_unix), "ended": iso_timestamp(game.ended_unix)}
    moves = [move._asdict() for move in game.moves]
    return {"number": stored.number, "voided": stored.voided, **asdict(game), "moves": moves, **times}


def incidents(log: TournamentReader) -> list[dict[str, object]]:
    """Return all incidents of a tournament with the numbers of their games, oldest first."""
    return [{"game": number, "warning": one.is_warning, **asdict(one)} for number, one in log.incidents()]


# Rating lists.


def lists(store: Store) -> list[dict[str, object]]:
    """Return all lists with their newest revision and edition."""
    from enginetour.store.definition import describe_definition, lists_of

    return [
        {
            "name": one.revision.name,
            "revision": one.revision.revision,
            "edition": one.edition or None,
            "published": None if one.published is None else iso_timestamp(one.published),
            "definition": describe_definition(one.revision.definition),
        }
        for one in lists_of(store)
    ]


def revisions(found: Sequence[Revision]) -> dict[str, Any]:
    """Return all revisions of a list with their definitions, oldest first."""
    rows = [
        {
            "revision": one.revision,
            "made": iso_timestamp(one.made_unix),
            "why": one.why,
            "definition": one.definition.model_dump(mode="json"),
        }
        for one in found
    ]
    return {"name": found[-1].name, "revisions": rows}


def editions(store: Store, name: str | None = None) -> list[dict[str, object]]:
    """Return the editions of one list or of all lists without their lines, oldest first."""
    from enginetour.store.editions import editions_of

    return [
        {
            "list": one.list,
            "edition": one.number,
            "made": iso_timestamp(one.made_unix),
            "revision": one.revision,
            "games": one.games,
            "last_game": one.last_game,
            "last_imported": one.last_imported,
            "note": one.note,
        }
        for one in editions_of(store, name)
    ]


def imports(store: Store) -> list[dict[str, object]]:
    """Return all imports, oldest first, including removed ones."""
    from enginetour.store.imports import imports_of

    return [
        {
            "name": one.name,
            "edition": one.edition,
            "made": iso_timestamp(one.created_unix),
            "files": list(one.files),
            "games": one.games,
            "duplicates": one.duplicates,
            "odds": one.odds_games,
            "engines": one.engines,
            "removed": None if one.removed_unix is None else iso_timestamp(one.removed_unix),
            "why": one.why,
        }
        for one in imports_of(store.database)
    ]


def edition(made: Edition) -> dict[str, object]:
    """Return an edition with its lines."""
    return made.to_json() | {"made": iso_timestamp(made.made_unix)}
