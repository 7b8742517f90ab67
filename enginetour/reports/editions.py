"""Tables of rating lists, their editions and revisions, and the history of an engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from enginetour.model.game import format_fixed
from enginetour.reports.sheet import Column, Sheet, format_whole, shared_columns
from enginetour.store.tables import OTHER_POOL

if TYPE_CHECKING:
    from enginetour.ratings.ratinglist import RatingList

# Lists, editions and the changes between them. The rows have the same keys as the JSON.

_Rows = Sequence[Mapping[str, Any]]


def _signed(value: float | None) -> str:
    return "" if value is None else format_fixed(value, 1, signed=True)


def _distance(sign: str) -> Callable[[float | None], str]:
    return lambda value: "" if value is None else f"{sign}{value:.0f}"


_RATED = (
    Column("rating", "rating", form=format_whole),
    Column("plus", "+", form=_distance("+")),
    Column("minus", "-", form=_distance("-")),
)

_OTHER_ZERO = f"{OTHER_POOL}: the rating pool has a different zero point than before, so the ratings cannot be compared"
_LISTS = (
    Column("name", "list", left=True, flexible=True),
    Column("revision", "revision"),
    Column("edition", "edition", form=lambda number: str(number or "none")),
    Column("published", "published", left=True),
    Column("definition", "definition", left=True, flexible=True),
)
_REVISIONS = (
    Column("revision", "revision"),
    Column("made", "made", left=True),
    Column("why", "what changed", left=True, flexible=True),
)
_EDITIONS = (
    Column("list", "list", left=True, flexible=True),
    Column("edition", "#"),
    Column("made", "published", left=True),
    Column("revision", "rev."),
    Column("games", "games"),
    Column("last_game", "last game"),
    Column("last_imported", "imported"),
    Column("note", "note", left=True, flexible=True),
)
_EDITION = (
    *shared_columns("rank", "name"),
    *_RATED,
    Column("difference", "change"),
    *shared_columns("games", "score", "opponents", "draw_rate", "los", "remarks"),
)
_MOVES = (
    Column("rank_before", "was"),
    *shared_columns("rank", "name"),
    Column("before", "from", form=format_whole),
    Column("rating", "to", form=format_whole),
    Column("change", "change", form=_signed),
    Column("own", "own", form=_signed),
    Column("others", "others", form=_signed),
    Column("terms", "definition", form=_signed),
    Column("new", "new"),
    Column("struck", "void"),
)


LIKELIHOODS = ("logistic", "davidson", "raokupper")  # models of a maximum-likelihood list, which has errors


def list_sheet(title: str, found: RatingList) -> Sheet:
    """Return the table of a rating list of the database, for any rating system."""
    from enginetour.reports import ratinglist  # imported here: tables of lists and editions need no numbers

    if found.model in LIKELIHOODS:
        return ratinglist.likelihood_sheet(title, found)
    sheet = ratinglist.incremental_sheet(title, {row.name: (row.rating, row.games) for row in found.rows})
    return replace(sheet, notes=found.caption)


def lists_sheet(rows: _Rows) -> Sheet:
    """Return the table of all lists, with the newest revision and edition of each."""
    notes = () if rows else ("no rating list yet. Hint: define a list with enginetour lists define NAME",)
    flat = tuple({**row, "definition": _format_definition(row["definition"])} for row in rows)
    return Sheet("lists", _LISTS, flat, notes=notes)


def _format_definition(definition: Mapping[str, str]) -> str:
    """Return one line with the settings of a list that differ from the defaults."""
    return "; ".join(f"{name}: {value}" for name, value in definition.items()) or "all games"


def revisions_sheet(name: str, definition: Mapping[str, str], rows: _Rows) -> Sheet:
    """Return the table of a list's revisions, with the definition of the list as notes."""
    notes = [f"{key}: {value}" for key, value in definition.items()] or [
        "all games of the database, maximum likelihood"
    ]
    return Sheet(f"list {name}", _REVISIONS, tuple(rows), (), tuple(notes))


def editions_sheet(rows: _Rows) -> Sheet:
    """Return the table of published editions, oldest first."""
    notes = () if rows else ("no edition yet. Hint: publish one with enginetour publish NAME",)
    return Sheet("editions", _EDITIONS, tuple(rows), (), notes)


def edition_sheet(made: Mapping[str, Any]) -> Sheet:
    """Return the table of an edition as it was published, from its JSON."""
    rows = tuple({**row, "draw_rate": row["draws"] / row["games"]} for row in made["list"])
    marks = sorted({mark for row in rows for mark in row["remarks"]} - {OTHER_POOL})
    shown = tuple(_edition_cells(row, marks, first=made["edition"] == 1) for row in rows)
    many = len(made["pools"]) > 1
    columns = (Column("pool", "pool"), *_EDITION) if many else _EDITION
    notes = [f"[{number}] {mark}" for number, mark in enumerate(marks, 1)]
    notes += [_OTHER_ZERO] if any(OTHER_POOL in row["remarks"] for row in rows) else []
    notes += [f"not rated, {engine['why']}: {engine['name']}" for engine in made["unrated"]]
    notes += made["caption"]
    until = [f"game {made['last_game']}"] if made["last_game"] else []
    until += [f"imported game {made['last_imported']}"] if made["last_imported"] else []
    level = f" {each}," if (each := made.get("level")) else ""  # older editions do not contain a level
    games = f"{made['games']} games up to {' and '.join(until)}"
    notes.append(f"{made['model']},{level} {games}, residual {made['residual']:.1g}")
    if made["note"]:
        notes.append(made["note"])
    flat = tuple({**row, "remarks": "; ".join(row["remarks"])} for row in rows)
    title = f"{made['name']} · edition {made['edition']}, {made['made']}, revision {made['revision']}"
    return Sheet(title, columns, flat, shown, tuple(notes))


def difference_sheet(found: Mapping[str, Any], most: int | None) -> Sheet:
    """Return the table of rating changes between two states of a list, from their JSON.

    The table contains the `most` largest changes and no empty columns. If `most` is None, it contains all rows and
    columns, for CSV. Other changes of the list are notes.
    """
    rows = tuple(found["moves"])
    idle = {key for key in ("own", "others", "terms", "struck") if most is not None and not any(r[key] for r in rows)}
    most = len(rows) if most is None else most
    later = f"edition {found['after']}" if found["after"] else "now"
    notes = [f"{found['new_games']} new {'game' if found['new_games'] == 1 else 'games'}"]
    if len(rows) > most:
        few = "change is" if len(rows) - most == 1 else "changes are"
        notes.append(f"{len(rows) - most} smaller {few} not shown; --most shows more")
    pools, now = found["pools"]
    if pools > 1 or now > 1:
        changed = f" (before: {pools})" if pools != now else ""
        notes.append(f"rating pools: {now}{changed}; each pool has its own ranks")
    if any(row["note"] for row in rows):
        notes.append(_OTHER_ZERO)
    notes += [f"definition: {text}" for text in found["changes"]]
    notes += [
        f"new: {one['name']} ({one['games']} {'game' if one['games'] == 1 else 'games'})" for one in found["entered"]
    ]
    notes += [f"left: {one['name']}, {one['why']}" for one in found["left"]]
    notes += [
        f"void: {game['tournament']} game {game['number']}, {game['white']} - {game['black']} {game['outcome']}"
        f" ({game['why']})"
        for game in found["struck"]
    ]
    notes += [
        f"removed: import {one['import']}, {one['games']:,} games" + (f" ({one['why']})" if one["why"] else "")
        for one in found["removed"]
    ]
    if any(row["own"] for row in rows):
        notes.append("own: change by the engine's own new games; others: change by all other new games")
    return Sheet(
        f"{found['list']} · edition {found['before']} to {later}",
        tuple(column for column in _MOVES if column.key not in idle),
        rows[:most],
        tuple({"change": row["note"]} if row["note"] else {} for row in rows),
        tuple(notes),
    )


def _edition_cells(row: Mapping[str, Any], marks: list[str], *, first: bool) -> dict[str, str]:
    unknown = OTHER_POOL if OTHER_POOL in row["remarks"] else "new"
    moved = "" if first else unknown if row["difference"] is None else _signed(row["difference"])
    return {
        "difference": moved,
        "remarks": " ".join(f"[{number}]" for number, mark in enumerate(marks, 1) if mark in row["remarks"]),
    }


# The history of an engine. The rows have the same keys as the JSON.

_PUBLISHED = (
    Column("list", "list", left=True, flexible=True),
    Column("edition", "edition"),
    Column("made", "published", left=True),
    Column("rank", "#"),
    *_RATED,
    Column("games", "games"),
)
_EVENTS = (
    Column("system", "system", left=True),
    Column("event", "tournament", left=True, flexible=True),
    Column("game", "game"),
    Column("before", "before", form="{:.1f}".format),
    Column("change", "change", form="{:+.1f}".format),
    Column("after", "after", form="{:.1f}".format),
    Column("games", "games"),
)
_OPPONENTS = (
    Column("name", "opponent", left=True, flexible=True),
    *shared_columns("games", "wins", "draws", "losses", "score", "rating"),
    Column("gap", "gap", form=format_whole),
    Column("performance", "perf.", form=format_whole),
)


def opponents_sheet(found: Mapping[str, Any]) -> Sheet:
    """Return the table of an engine's opponents, most games first."""
    rating = "no rating" if found["rating"] is None else f"rating {round(found['rating'])}"
    days = f", {found['first']} to {found['last']}" if found["first"] else ""
    title = f"{found['name']} · {rating}, {found['games']} games{days}"
    return Sheet(title, _OPPONENTS, tuple(found["opponents"]))


def published_sheet(found: Mapping[str, Any]) -> Sheet:
    """Return the table of an engine's ratings in published editions, oldest first."""
    return Sheet("editions", _PUBLISHED, tuple(found["published"]))


def events_sheet(found: Mapping[str, Any], most: int | None = None) -> Sheet:
    """Return the table of an engine's changes in incremental systems: all of them, oldest first.

    If `most` is given, return the newest changes of each system, at most this number.
    """
    if most is None:
        return Sheet("rating changes", _EVENTS, tuple(found["events"]))
    rows: list[Mapping[str, Any]] = []
    notes = []
    for system in dict.fromkeys(row["system"] for row in found["events"]):
        own = [row for row in found["events"] if row["system"] == system]
        rows += own[-most:]
        if len(own) > most:
            notes.append(f"{system}: the newest {most} of {len(own)} changes; --csv events shows all of them")
    return Sheet("rating changes", _EVENTS, tuple(rows), (), tuple(notes))
