"""The stream of a system's rating events as it is stored, and what every engine had at any place of it.

Nothing else is kept for going on from the middle: a state restored from the rows goes on with the bits of a replay
from the first game.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, func, or_, select

from enginetour.store.removals import removed
from enginetour.store.sqlwords import larger
from enginetour.store.tables import EVENTS, RATING_EVENTS, RATING_REVISIONS

EVENT = tuple(column for column in RATING_EVENTS.c if column.name not in ("system", "revision", "place"))
_ROW = RATING_EVENTS.c


class Span(NamedTuple):
    """Of this revision the rows from place `start` to before `end` hold."""

    revision: int
    start: int
    end: int


class Career(NamedTuple):
    """An engine in the stream up to some place; `game` and `imported` are the newest of its games, 0 for none."""

    first: int  # place of its first row
    entry: float
    rating: float
    peak: float
    games: int
    game: int
    imported: int


@dataclass(frozen=True, slots=True)
class Stream:
    """The rating events of a system that hold now: of each revision what no later one replaced."""

    connection: Connection
    system: str
    spans: tuple[Span, ...]

    def __len__(self) -> int:
        return self.spans[-1].end if self.spans else 0

    def rows(self, start: int = 0) -> list[Any]:
        """Place and event of every row from place `start` on."""
        chosen = select(_ROW.place, *EVENT).order_by(_ROW.place)
        return [row for part in self._parts(start) for row in self.connection.execute(chosen.where(part))]

    def first_struck(self) -> int:
        """Place of the first row whose game, or import, was struck out since; the length if there is none."""
        struck = select(EVENTS.c.game).where(EVENTS.c.kind == "voided")
        chosen = select(func.min(_ROW.place)).where(or_(_ROW.game.in_(struck), _ROW.tournament.in_(removed())))
        places = (self.connection.execute(chosen.where(part)).scalar() for part in self._parts())
        return next((place for place in places if place is not None), len(self))

    def careers(self, end: int | None = None) -> dict[int, Career]:
        """Every engine with a row before place `end`, by its key."""
        found: dict[int, Career] = {}
        for part in self._parts(0, end):
            for engine, *columns in self.connection.execute(_careers(part)):
                career = Career(*columns)
                if engine in found:
                    old = found[engine]
                    newest = {"game": max(old.game, career.game), "imported": max(old.imported, career.imported)}
                    peak = max(old.peak, career.peak)
                    career = career._replace(first=old.first, entry=old.entry, peak=peak, **newest)
                found[engine] = career
        return found

    def rating_before(self, engine: int, end: int) -> float:
        """The rating of an engine that has a row before place `end`."""
        newest = select(_ROW.after).where(_ROW.engine == engine).order_by(_ROW.place.desc()).limit(1)
        ratings = (self.connection.execute(newest.where(part)).scalar() for part in reversed(self._parts(0, end)))
        return float(next(rating for rating in ratings if rating is not None))

    def _parts(self, start: int = 0, end: int | None = None) -> list[ColumnElement[bool]]:
        """One condition for the rows of each revision, in order: thousands of them would not fit into one."""
        last = len(self) if end is None else end
        cut = [Span(s.revision, max(s.start, start), min(s.end, last)) for s in self.spans]
        return [
            and_(_ROW.system == self.system, _ROW.revision == s.revision, _ROW.place >= s.start, _ROW.place < s.end)
            for s in cut
            if s.start < s.end
        ]


def stream(connection: Connection, system: str) -> Stream:
    """What is stored of a system."""
    rows = select(RATING_REVISIONS.c.revision, RATING_REVISIONS.c.start).where(RATING_REVISIONS.c.system == system)
    newest_first = connection.execute(rows.order_by(RATING_REVISIONS.c.revision.desc())).fetchall()
    spans: list[Span] = []
    end: int | None = None
    for revision, start in newest_first:
        if end is None:
            end = _length(connection, system, revision, start)
        if start < end:
            spans.append(Span(revision, start, end))
            end = start
    return Stream(connection, system, tuple(reversed(spans)))


def _length(connection: Connection, system: str, revision: int, start: int) -> int:
    """Where the newest revision ends: after its last row, or at its start if it only made the stream shorter."""
    last = select(func.max(_ROW.place)).where(_ROW.system == system, _ROW.revision == revision)
    place = connection.execute(last).scalar()
    return start if place is None else int(place) + 1


def _careers(part: ColumnElement[bool]) -> Any:
    """One scan for the ends of every career, then the two rows at its ends by their keys."""
    ends = (
        select(
            _ROW.engine,
            func.min(_ROW.system).label("system"),  # all rows of a part have the same
            func.min(_ROW.revision).label("revision"),
            func.min(_ROW.place).label("first"),
            func.max(_ROW.place).label("last"),
            func.max(_ROW.before).label("before"),
            func.max(_ROW.after).label("after"),
            func.max(_ROW.games).label("games"),
            func.coalesce(func.max(_ROW.game), 0).label("game"),
            func.coalesce(func.max(_ROW.imported), 0).label("imported"),
        )
        .where(part)
        .group_by(_ROW.engine)
        .subquery()
    )
    one, other = RATING_EVENTS.alias(), RATING_EVENTS.alias()
    joined = ends
    for row, place in ((one, ends.c.first), (other, ends.c.last)):
        same = and_(row.c.system == ends.c.system, row.c.revision == ends.c.revision, row.c.place == place)
        joined = joined.join(row, same)  # type: ignore[assignment]
    peak = larger(ends.c.before, ends.c.after)
    columns = (ends.c.engine, ends.c.first, one.c.before, other.c.after, peak, ends.c.games, ends.c.game)
    return select(*columns, ends.c.imported).select_from(joined)
