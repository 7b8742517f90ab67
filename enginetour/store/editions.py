"""Editions: a list frozen as it was published, number by number, never edited; a correction is a new one."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from sqlalchemy import Connection, func, insert, select

from enginetour.model.errors import UsageRefused
from enginetour.ratings.ratinglist import OTHER_POOL, RatingList
from enginetour.store import codecs
from enginetour.store.entrants import made_id
from enginetour.store.lists import list_of
from enginetour.store.moments import Moment
from enginetour.store.revisions import revisions_in, revisions_of
from enginetour.store.selected import Selection, selected
from enginetour.store.tables import EDITION_LINES, EDITIONS, ENGINES
from enginetour.store.tournaments import Store

STORY = (
    *("model", "white_advantage", "draw_parameter", "point", "draw_rate", "pools", "anchors", "level"),
    *("skipped", "unrated", "caption"),
)


@dataclass(frozen=True, slots=True)
class Line:
    """One engine of an edition, in the columns of its table; `difference` is against the edition before.

    It is None for a new engine, and for one with the remark `OTHER_POOL`.
    """

    ordinal: int
    pool: int
    rank: int
    name: str
    rating: float
    plus: float | None
    minus: float | None
    games: int
    wins: int
    draws: int
    losses: int
    opponents: float
    performance: float | None
    los: float | None
    difference: float | None
    remarks: tuple[str, ...]

    @property
    def score(self) -> float:
        """Share of the points."""
        return (self.wins + self.draws / 2) / self.games


@dataclass(frozen=True, slots=True)
class Edition:
    """A published list. `story` is what its list told beside the lines; `versions`: rows of the store by name.

    `moment` is the state of the store it was made from, `made` when it was published (UTC seconds). Number 0 is a
    list that is not published.
    """

    name: str
    number: int
    revision: int
    made: float
    moment: Moment
    games: int
    residual: float
    story: Mapping[str, Any]
    versions: Mapping[str, tuple[int, ...]]
    note: str
    lines: tuple[Line, ...]

    def to_json(self) -> dict[str, object]:
        """Ready for json.dumps."""
        head = {"name": self.name, "edition": self.number, "revision": self.revision, "made": self.made}
        place = {"last_game": self.moment.game, "last_imported": self.moment.imported, "note": self.note}
        lines = [{**asdict(line), "score": line.score, "remarks": list(line.remarks)} for line in self.lines]
        return {**head, **place, "list": lines, **self.story, "residual": self.residual, "games": self.games}

    def numbers(self) -> tuple[object, ...]:
        """What a reader sees change: everything but when it was made, its note and the differences."""
        lines = tuple(
            replace(line, difference=None, remarks=tuple(mark for mark in line.remarks if mark != OTHER_POOL))
            for line in self.lines
        )
        return self.revision, self.games, self.residual, dict(self.story), lines


def current(store: Store, name: str) -> Edition:
    """The list as it would be published now, with the differences against its newest edition."""
    return _current(store, name)[0]


def edition_of(name: str, revision: int, selection: Selection, found: RatingList) -> Edition:
    """A list in the form of an edition that is not published."""
    whole = found.to_json()
    lines = tuple(
        Line(
            ordinal=ordinal,
            difference=None,
            **{field: getattr(row, field) for field in Line.__slots__ if field not in ("ordinal", "difference")},
        )
        for ordinal, row in enumerate(found.rows, 1)
    )
    story = json.loads(json.dumps({key: whole[key] for key in STORY}))  # as it will be read
    versions = selection.versions
    return Edition(
        *(name, 0, revision, time.time(), selection.moment, found.games, found.residual, story, versions, ""), lines
    )


def publish(store: Store, name: str, *, note: str = "", again: bool = False) -> Edition:
    """Freeze the list as it is now; UsageRefused if it has no engine, or is as it was published last."""
    while True:
        made, newest = _current(store, name)
        if not made.lines:
            raise UsageRefused(f"the list {name!r} rates no engine yet", step=f"enginetour lists show {name!r}")
        with store.database.writing() as connection:
            number = select(func.max(EDITIONS.c.number)).where(EDITIONS.c.list == name)
            there = connection.execute(number).scalar() or 0, revisions_in(connection, name)[-1].number
            if there != (newest, made.revision):
                continue  # somebody published or defined meanwhile: an edition never goes back behind another
            if newest and not again and _read(connection, name, newest).numbers() == made.numbers():
                what = f"nothing has changed since edition {newest} of {name!r}"
                raise UsageRefused(what, step="--again publishes it all the same")
            made = replace(made, number=newest + 1, note=codecs.clean(note))
            _write(connection, made)
        return made


def editions_of(store: Store, name: str | None = None) -> list[Edition]:
    """Published editions without their lines, of one list or all, oldest first of each; UsageRefused for no list."""
    if name is not None:
        revisions_of(store, name)
    rows = select(EDITIONS).order_by(EDITIONS.c.list, EDITIONS.c.number)
    with store.database.reading() as connection:
        found = connection.execute(rows if name is None else rows.where(EDITIONS.c.list == name)).fetchall()
    return [_edition(row, ()) for row in found]


def edition(store: Store, name: str, number: int | None = None) -> Edition:
    """One edition as it was published, the newest for None; UsageRefused tells which there are."""
    revisions_of(store, name)
    known = _numbers(store, name)
    if not known:
        raise UsageRefused(f"the list {name!r} has no edition yet", step=f"enginetour publish {name!r} makes one")
    if number is not None and number not in known:
        raise UsageRefused(f"the list {name!r} has no edition {number}, it has 1 to {known[-1]}")
    with store.database.reading() as connection:
        return _read(connection, name, number or known[-1])


def renamed(made: Edition, known: Mapping[str, tuple[int, ...]]) -> dict[str, str]:
    """The names of an edition's engines as another list (`known`) tells the same versions; others keep theirs."""
    name_of = {version: name for name, versions in known.items() for version in versions}
    found: dict[str, str] = {}
    for name, versions in made.versions.items():
        others = {name_of[version] for version in versions if version in name_of}
        found[name] = name if name in others or len(others) != 1 else others.pop()
    return found


def same_zero(before: Edition, after: Edition, loose: Collection[str] = ()) -> frozenset[str]:
    """The engines of both, by the later names, whose ratings are measured from one zero point.

    That of a pool are its anchors, `loose` ones among them, or its average: then it is the pool that has most engines
    in common with the earlier one, and the other way round. Where the terms set other anchors only the pools matter.
    """
    named = renamed(before, after.versions)
    then = [{named.get(name, name) for name in pool} for pool in before.story["pools"]]
    now = [set(pool) for pool in after.story["pools"]]
    shared = {(one, other): len(then[one] & now[other]) for one in range(len(then)) for other in range(len(now))}
    partner = {one: max(range(len(now)), key=lambda other: shared[one, other]) for one in range(len(then)) if now}
    back = {other: max(range(len(then)), key=lambda one: shared[one, other]) for other in range(len(now)) if then}
    fixed = {named.get(name, name): rating for name, rating in before.story["anchors"].items()}
    same_terms = fixed == after.story["anchors"] and before.story.get("level") == after.story.get("level")
    anchors = {*fixed, *loose} if same_terms else set()
    alike = (
        then[one] & now[other]
        for one, other in shared
        if (anchors & then[one] & now[other])
        or (not anchors & (then[one] | now[other]) and partner[one] == other and back[other] == one)
    )
    return frozenset().union(*alike)


def lines_by_name(store: Store, made: Edition) -> dict[str, Line]:
    """Each engine's line in an edition by its plain name; of several versions the newest counts."""
    with store.database.reading() as connection:
        plain = {row.id: row.name for row in connection.execute(select(ENGINES.c.id, ENGINES.c.name))}
    line_of = {line.name: line for line in made.lines}
    rated = sorted((version, name) for name, versions in made.versions.items() for version in versions)
    return {plain[version]: line_of[name] for version, name in rated if name in line_of} | line_of


def _current(store: Store, name: str) -> tuple[Edition, int]:
    """As `current`, with the number of the newest edition; 0 for none."""
    newest = (_numbers(store, name) or [0])[-1]
    revision = revisions_of(store, name)[-1]
    selection = selected(store, revision.definition)
    made = edition_of(name, revision.number, selection, list_of(store, selection))
    if not newest:
        return made, newest
    return _compared(made, edition(store, name, newest), revision.definition.loose), newest


def _compared(made: Edition, before: Edition, loose: Collection[str]) -> Edition:
    """With the differences against an earlier edition, engine version by engine version."""
    now = renamed(before, made.versions)
    ratings = {now.get(line.name, line.name): line.rating for line in before.lines}
    alike = same_zero(before, made, loose)

    def compared(line: Line) -> Line:
        if line.name not in ratings:
            return replace(line, difference=None)
        if line.name not in alike:
            return replace(line, difference=None, remarks=(*line.remarks, OTHER_POOL))
        return replace(line, difference=line.rating - ratings[line.name])

    return replace(made, lines=tuple(map(compared, made.lines)))


def _numbers(store: Store, name: str) -> list[int]:
    with store.database.reading() as connection:
        rows = select(EDITIONS.c.number).where(EDITIONS.c.list == name).order_by(EDITIONS.c.number)
        return [row[0] for row in connection.execute(rows)]


def _write(connection: Connection, made: Edition) -> None:
    story = {**made.story, "versions": made.versions, "at": made.moment.at}
    row = {"list": made.name, "number": made.number, "revision": made.revision, "made": made.made}
    row |= {"last_game": made.moment.game, "last_imported": made.moment.imported, "games": made.games}
    row |= {"residual": made.residual, "story": codecs.packed(story), "note": made.note}
    key = made_id(connection.execute(insert(EDITIONS), row))
    lines = [{**asdict(line), "edition": key, "remarks": codecs.packed(line.remarks)} for line in made.lines]
    connection.execute(insert(EDITION_LINES), lines)


def _read(connection: Connection, name: str, number: int) -> Edition:
    row = connection.execute(select(EDITIONS).where(EDITIONS.c.list == name, EDITIONS.c.number == number)).one()
    rows = select(EDITION_LINES).where(EDITION_LINES.c.edition == row.id).order_by(EDITION_LINES.c.ordinal)
    names = [field.name for field in fields(Line) if field.name != "remarks"]
    lines = (
        Line(**{key: getattr(line, key) for key in names}, remarks=tuple(json.loads(line.remarks)))
        for line in connection.execute(rows)
    )
    return _edition(row, tuple(lines))


def _edition(row: Any, lines: tuple[Line, ...]) -> Edition:
    story = json.loads(row.story)
    versions = {name: tuple(found) for name, found in story.pop("versions").items()}
    moment = Moment(row.last_game, row.last_imported, story.pop("at"))
    head = (row.list, row.number, row.revision, row.made, moment, row.games, row.residual)
    return Edition(*head, story, versions, row.note, lines)
