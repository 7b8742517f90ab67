"""History of one engine: its published ratings, rating events, opponents and days of activity."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from math import log10

from sqlalchemy import Connection, func, or_, select

from enginetour.model.errors import UsageRefused
from enginetour.ratings.incremental import RatingEvent
from enginetour.ratings.pentanomial import ELO_SCALE
from enginetour.store.counts import import_stands
from enginetour.store.definition import ListDefinition, revisions_of
from enginetour.store.editions import Edition, editions_of, read_edition
from enginetour.store.engines import engine_names, rated_names, versions_named
from enginetour.store.lists import rate_selection
from enginetour.store.ratings import rating_history, stored_systems
from enginetour.store.selection import Selection, select_games
from enginetour.store.tables import GAMES, IMPORTED_GAMES, STANDING, EditionLine, RankedEngine
from enginetour.store.tournaments import Store


class PublishedRating(RankedEngine):
    """The rating of an engine in one edition of a list; `name` is the displayed name."""

    list: str
    edition: int
    made_unix: float

    @classmethod
    def of(cls, head: Edition, name: str, line: EditionLine) -> PublishedRating:
        """Make the rating from a line of an edition."""
        own = {key: getattr(line, key) for key in RankedEngine.model_fields}
        place = {"list": head.list, "edition": head.number, "made_unix": head.made_unix}
        return cls.model_construct(**{**own, **place, "name": name})


@dataclass(frozen=True, slots=True)
class Opponent:
    """Results of an engine against one opponent.

    `gap` is the engine's rating minus the opponent's rating in Elo, or None if one of them is not rated. `performance`
    is the opponent's rating plus the Elo difference that corresponds to the score, or None for a score of 0 or 100 %.
    """

    name: str
    games: int
    wins: int
    draws: int
    losses: int
    score: float
    rating: float | None
    gap: float | None
    performance: float | None


@dataclass(frozen=True, slots=True)
class _CareerOf:
    """History of an engine. `name` is the name in the list; `rating` is None if the list does not rate it."""

    name: str
    rating: float | None
    games: int
    first: date | None
    last: date | None
    published: tuple[PublishedRating, ...]
    events: tuple[RatingEvent, ...]
    opponents: tuple[Opponent, ...]


def career(store: Store, engine: str, *, list_name: str | None = None) -> _CareerOf:
    """Return the history of an engine by its displayed name, or of all versions of a name together.

    Opponents, games and gaps are those of the list `list_name`. By default they are those of a maximum-likelihood list
    of the whole database. Raise UsageRefused for an unknown name, and for an engine without games in the list.
    """
    with store.database.reading() as connection:
        versions, _ = versions_named(connection, engine)
        plain = engine_names(connection)[min(versions)]
    base = ListDefinition() if list_name is None else revisions_of(store, list_name)[-1].definition
    base = base.model_copy(update={"best_of_family": False})  # versions of the same family are opponents too
    selection = select_games(store, base)
    shown = {name for name, own in selection.versions.items() if versions & set(own)}
    if len(shown) > 1:
        selection = select_games(store, base.model_copy(update={"by": "name"}))
        # An anchor of one version does not apply to all versions together.
        kept = {
            kind: {anchor: rating for anchor, rating in there.items() if anchor in selection.names}
            for kind, there in (("anchors", base.anchors), ("loose", base.loose))
        }
        selection = replace(selection, definition=selection.definition.model_copy(update=kept))
        shown = {name for name, own in selection.versions.items() if versions & set(own)}
    if not shown:
        where = "that count" if list_name is None else f"in the list {list_name!r}"
        raise UsageRefused(f"{engine!r} has no games {where}", step="run enginetour imports to see removed imports")
    name = shown.pop()
    found = rate_selection(store, selection)
    own = set(selection.versions[name])
    with store.database.reading() as connection:
        first, last = _days(connection, own)
        names = rated_names(connection)
        systems = stored_systems(connection)
    mine = {names[version] for version in versions}
    events = [event for system in systems for event in rating_history(store, system, plain) if event.engine in mine]
    ratings = {row.name: row.rating for row in found.rows}
    met = tuple(opponents_of(ratings.get(name), results_by_opponent(selection, {name}).get(name, {}), ratings))
    games = sum(opponent.games for opponent in met)
    return _CareerOf(name, ratings.get(name), games, first, last, tuple(_published(store, own)), tuple(events), met)


def results_by_opponent(selection: Selection, wanted: Collection[str]) -> dict[str, dict[str, list[int]]]:
    """Return wins, draws and losses against each opponent, for the engines in `wanted` that have games."""
    pairs = selection.pairs
    found: dict[str, dict[str, list[int]]] = {}
    for white, black, *results in zip(pairs.white, pairs.black, pairs.wins, pairs.draws, pairs.losses, strict=True):
        one, other = pairs.names[white], pairs.names[black]
        for name, opponent, counts in ((one, other, results), (other, one, results[::-1])):
            if name in wanted:
                kept = found.setdefault(name, {}).setdefault(opponent, [0, 0, 0])
                for place, count in enumerate(counts):
                    kept[place] += int(count)
    return found


def opponents_of(
    own: float | None, met: Mapping[str, Sequence[int]], ratings: Mapping[str, float]
) -> Iterator[Opponent]:
    """Yield the opponents of an engine with the rating `own`. The opponent with the most games is first."""
    for opponent, (wins, draws, losses) in sorted(met.items(), key=lambda item: (-sum(item[1]), item[0])):
        games = wins + draws + losses
        score, rating = (wins + draws / 2) / games, ratings.get(opponent)
        worth = None if rating is None or not 0 < score < 1 else rating + ELO_SCALE * log10(score / (1 - score))
        gap = None if rating is None or own is None else own - rating
        yield Opponent(opponent, games, wins, draws, losses, score, rating, gap, worth)


def _published(store: Store, versions: set[int]) -> Iterable[PublishedRating]:
    for head in sorted(editions_of(store), key=lambda made: made.made_unix):
        names = {name for name, own in head.versions.items() if versions & set(own)}
        if not names:
            continue
        for line in read_edition(store, head.list, head.number).lines:
            if line.name in names:
                yield PublishedRating.of(head, line.name, line)


def _days(connection: Connection, versions: set[int]) -> tuple[date | None, date | None]:
    """Return the days of the first and last game that counts. Imported games without a full date are not used."""
    ends = func.min(GAMES.c.ended_unix), func.max(GAMES.c.ended_unix)
    own = or_(GAMES.c.white_engine.in_(versions), GAMES.c.black_engine.in_(versions))
    played = connection.execute(select(*ends).where(own, STANDING)).one()
    days = [datetime.fromtimestamp(seconds, UTC).date() for seconds in played if seconds is not None]
    ends = func.min(IMPORTED_GAMES.c.played_yyyymmdd), func.max(IMPORTED_GAMES.c.played_yyyymmdd)
    own = or_(IMPORTED_GAMES.c.white_engine.in_(versions), IMPORTED_GAMES.c.black_engine.in_(versions))
    full_date = IMPORTED_GAMES.c.played_yyyymmdd % 100 > 0, IMPORTED_GAMES.c.played_yyyymmdd // 100 % 100 > 0
    rows = select(*ends).where(own, *full_date, import_stands())
    days += [_day(number) for number in connection.execute(rows).one() if number]
    return (min(days), max(days)) if days else (None, None)


def _day(number: int) -> date:
    """Make a date of a number yyyymmdd. An invalid day of a file becomes the 28th, which every month has."""
    year, month, day = number // 10_000, number // 100 % 100, number % 100
    try:
        return date(year, month, day)
    except ValueError:
        return date(max(year, 1), min(month, 12), 28)
