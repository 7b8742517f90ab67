"""Which games a list takes: its filter as conditions on rows, and how many games fall to which part of it.

The parts are asked in one order (that of `PARTS`), and a game counts with the first that does not want it: what is
left out and what is taken add up to all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, func, literal, select, true, tuple_

from enginetour.interop.gamefilter import any_fits, ended_so
from enginetour.model.game import Termination
from enginetour.model.timecontrol import time_class
from enginetour.model.variants import STANDARD
from enginetour.store.definition import ListDefinition
from enginetour.store.moments import DAY, Moment
from enginetour.store.queries import EVEN, EVEN_READ
from enginetour.store.tables import GAMES, IMPORTED_GAMES, TOURNAMENTS
from enginetour.store.variantgames import odd_ones

_TOLD = (GAMES.c.white_tc, GAMES.c.black_tc, GAMES.c.termination)
_TAGS = (IMPORTED_GAMES.c.tc, IMPORTED_GAMES.c.black_tc, IMPORTED_GAMES.c.termination)
PARTS = ("variant", "tournament", "odds", "date", "time class", "control", "termination", "hardware")
# The `ENDINGS` of game files, for games that were played here.
_PLAYED: Mapping[str, frozenset[str]] = {
    "time": frozenset({Termination.TIME}),
    "crash": frozenset({Termination.CRASH}),
    "stall": frozenset({Termination.STALL}),
    "illegal-move": frozenset({Termination.ILLEGAL_MOVE, Termination.FALSE_CLAIM}),
    "adjudication": frozenset(code for code in Termination if code.startswith("adjudication")),
}


@dataclass(frozen=True, slots=True)
class Cut:
    """Conditions on rows of games and of imported games; `left_out` counts the games that stand and are not taken."""

    games: ColumnElement[bool]
    imported: ColumnElement[bool]
    left_out: dict[str, int]
    standing: int


def tournaments_of(connection: Connection, definition: ListDefinition) -> set[int]:
    """Those of the variant that are wanted by name, or by ``name #edition`` for one of them."""
    rows = connection.execute(select(TOURNAMENTS.c.id, TOURNAMENTS.c.name, TOURNAMENTS.c.edition)).fetchall()
    odd = odd_ones(connection)
    return {
        row.id
        for row in rows
        if odd.get(row.id, STANDARD) == definition.variant and _wanted_tournament(row, definition)
    }


def is_whole(definition: ListDefinition) -> bool:
    """The filter takes or leaves whole tournaments and engines, so that the kept pair counts answer it."""
    tags = definition.since or definition.until or definition.time_classes or definition.tc
    return not (tags or definition.exclude_termination or definition.hardware or definition.odds)


def cut_of(connection: Connection, definition: ListDefinition, moment: Moment) -> Cut:
    """The filter at a moment. Two scans of the games."""
    tournaments, odd = tournaments_of(connection, definition), odd_ones(connection)
    wanted: dict[str, set[Any]] = {"told": set(), "hardware": set(), "tags": set()}
    left: Counter[str] = Counter()
    standing = 0
    inside, inside_read = _days(definition)
    groups: Select[Any] = (
        select(GAMES.c.tournament, EVEN, inside, *_TOLD, GAMES.c.hardware, func.count())
        .where(moment.standing())
        .group_by(GAMES.c.tournament, EVEN, inside, *_TOLD, GAMES.c.hardware)
    )
    for tournament, even, in_time, white_tc, black_tc, termination, hardware, count in connection.execute(groups):
        why = _why_not(
            definition,
            variant=odd.get(tournament, STANDARD),
            tournament=tournament in tournaments,
            even=bool(even),
            in_time=bool(in_time),
            controls=(white_tc, black_tc),
            excluded=any(termination in _PLAYED[name] for name in definition.exclude_termination),
            hardware=hardware,
        )
        standing += count
        if why:
            left[why] += count
        else:
            wanted["told"].add((white_tc, black_tc, termination))
            wanted["hardware"].add(hardware)
    read: Select[Any] = (
        select(IMPORTED_GAMES.c.tournament, EVEN_READ, inside_read, *_TAGS, func.count())
        .where(moment.read())
        .group_by(IMPORTED_GAMES.c.tournament, EVEN_READ, inside_read, *_TAGS)
    )
    for tournament, even, in_time, tc, black_tc, termination, count in connection.execute(read):
        why = _why_not(
            definition,
            variant=odd.get(tournament, STANDARD),
            tournament=tournament in tournaments,
            even=bool(even),
            in_time=bool(in_time),
            controls=(tc, black_tc or tc),
            excluded=ended_so(termination, definition.exclude_termination),
            hardware="",
        )
        standing += count
        if why:
            left[why] += count
        else:
            wanted["tags"].add((tc, black_tc, termination))
    games = and_(
        moment.standing(),
        GAMES.c.tournament.in_(tournaments),
        inside,
        tuple_(*_TOLD).in_(sorted(wanted["told"])),
        GAMES.c.hardware.in_(sorted(wanted["hardware"])),
        true() if definition.odds else EVEN,
    )
    imported = and_(
        moment.read(),
        IMPORTED_GAMES.c.tournament.in_(tournaments),
        inside_read,
        tuple_(*_TAGS).in_(sorted(wanted["tags"])),
        true() if definition.odds else EVEN_READ,
    )
    return Cut(games, imported, {part: left[part] for part in PARTS if left[part]}, standing)


def _wanted_tournament(row: Any, definition: ListDefinition) -> bool:
    names = (row.name, f"{row.name} #{row.edition}")
    if definition.tournaments and not any(any_fits(name, definition.tournaments) for name in names):
        return False
    return not any(any_fits(name, definition.not_tournaments) for name in names)


def _why_not(
    definition: ListDefinition,
    *,
    variant: str,
    tournament: bool,
    even: bool,
    in_time: bool,
    controls: tuple[str, str],
    excluded: bool,
    hardware: str,
) -> str | None:
    """The first part of the filter that does not want such games."""
    kept = {
        "variant": variant == definition.variant,
        "tournament": tournament,
        "odds": even or definition.odds,
        "date": in_time,
        "time class": not definition.time_classes or time_class(*controls) in definition.time_classes,
        "control": not definition.tc or all(any_fits(control, definition.tc) for control in controls),
        "termination": not excluded,
        "hardware": not definition.hardware or any_fits(hardware, definition.hardware),
    }
    return next((part for part in PARTS if not kept[part]), None)


def _days(definition: ListDefinition) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
    """Ended between the days, for games; dated between them, for imported ones: a game without a date is on no day."""
    ended: list[ColumnElement[bool]] = []
    dated: list[ColumnElement[bool]] = []
    if definition.since:
        ended.append(GAMES.c.ended >= _seconds(definition.since))
        dated.append(IMPORTED_GAMES.c.day >= _number(definition.since))
    if definition.until:
        ended.append(GAMES.c.ended < _seconds(definition.until) + DAY)
        dated += [IMPORTED_GAMES.c.day <= _number(definition.until), IMPORTED_GAMES.c.day > 0]
    if not ended:
        return literal(True), literal(True)  # noqa: FBT003 - a bound value: a bare one groups nothing in PostgreSQL
    return and_(*ended), and_(*dated)


def _seconds(day: date) -> float:
    return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()


def _number(day: date) -> int:
    return day.year * 10_000 + day.month * 100 + day.day
