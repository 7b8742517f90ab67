"""A list's pages."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from enginetour.model.game import format_fixed
from enginetour.ratings.matrices import Matrix, matrix_of
from enginetour.ratings.ratinglist import SHARED, RatingList, Row
from enginetour.reports.html.page import format_utc
from enginetour.reports.ratinglist import SYSTEM_NAMES
from enginetour.reports.review.engines import page_slugs
from enginetour.reports.sheet import Column, Sheet
from enginetour.store.careers import Opponent, PublishedRating, opponents_of, results_by_opponent
from enginetour.store.definition import describe_definition, revisions_of
from enginetour.store.editions import Edition, editions_of, lines_by_name, read_edition
from enginetour.store.lists import rate_selection
from enginetour.store.ratings import ratings_by_game
from enginetour.store.selection import select_games
from enginetour.store.tournaments import Store

# Ratings through time: a tournament's engines in the editions of published lists, and by incremental systems.


@dataclass(frozen=True, slots=True)
class ListHistory:
    """One list: its editions (number, made, games, note), oldest first; the engines asked for, the best now first."""

    name: str
    editions: tuple[tuple[int, float, int, str], ...]
    engines: tuple[tuple[str, tuple[PublishedRating, ...]], ...]


@dataclass(frozen=True, slots=True)
class RatingPath:
    """An engine's rating by an incremental system after each of its games of the tournament: (number, rating)."""

    system: str
    name: str
    before: float
    points: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class RatingHistory:
    """What the store knows of these engines beyond the tournament's own list."""

    lists: tuple[ListHistory, ...]
    paths: tuple[RatingPath, ...]


def history_of(store: Store, tournament: int, names: Sequence[str]) -> RatingHistory:
    """Lists in which one of the names stands, and the rating events of the tournament's games."""
    by_list: dict[str, list[Edition]] = {}
    for head in editions_of(store):
        by_list.setdefault(head.list, []).append(head)
    lists = (list_history(store, name, heads, names) for name, heads in by_list.items())
    return RatingHistory(tuple(one for one in lists if one.engines), _paths(store, tournament, names))


def list_history(
    store: Store, name: str, heads: Sequence[Edition], wanted: Collection[str] | None = None
) -> ListHistory:
    """Of all engines, or of those wanted; best of the newest edition first."""
    found: dict[str, list[PublishedRating]] = {}
    for head in heads:
        made = read_edition(store, name, head.number)
        for engine, line in lines_by_name(store, made).items():
            if wanted is None or engine in wanted:
                found.setdefault(engine, []).append(PublishedRating.of(head, engine, line))
    ordered = sorted(found.items(), key=lambda one: (-one[1][-1].edition, -round(one[1][-1].rating, SHARED), one[0]))
    told = tuple((head.number, head.made_unix, head.games, head.note) for head in heads)
    return ListHistory(name, told, tuple((engine, tuple(points)) for engine, points in ordered))


def _paths(store: Store, tournament: int, names: Sequence[str]) -> tuple[RatingPath, ...]:
    """By the systems that have rated all of the tournament that counts: others are of an earlier state of it."""
    found = ratings_by_game(store, tournament)
    places = {name: place for place, name in enumerate(names)}
    ordered = sorted(found.items(), key=lambda one: places.get(one[0][1], len(places)))
    return tuple(
        RatingPath(system, name, before, tuple(points))
        for (system, name), (before, points) in ordered
        if name in places
    )


# A rating list of the store as a report shows it: the list now, who is stronger than whom, editions, engines.

_MOST_COMPARED = 200  # engines of a matrix that can be read
_WITH_ERRORS = ("logistic", "davidson", "raokupper")  # models of a likelihood list


@dataclass(frozen=True, slots=True)
class ListedEngine:
    """One engine of the list; `editions` are its lines in the published ones, oldest first."""

    name: str
    slug: str
    row: Row
    opponents: tuple[Opponent, ...]
    editions: tuple[PublishedRating, ...]


@dataclass(frozen=True, slots=True)
class ListReview:
    """`los` is None for a list without errors, and for one of more than `MOST_COMPARED` engines."""

    name: str
    revision: int
    definition: Mapping[str, str]  # what it asks beyond the defaults
    found: RatingList
    los: Matrix | None
    history: ListHistory
    engines: tuple[ListedEngine, ...]
    slugs: Mapping[str, str]

    @property
    def has_errors(self) -> bool:
        """It is one by likelihood."""
        return self.found.model in _WITH_ERRORS


def list_review(store: Store, name: str) -> ListReview:
    """The list as it is now, on its newest terms; UsageRefused for a name that no list has."""
    revision = revisions_of(store, name)[-1]
    selection = select_games(store, revision.definition)
    found = rate_selection(store, selection)
    names = [row.name for row in found.rows]
    ratings, slugs = {row.name: row.rating for row in found.rows}, page_slugs(names)
    met = results_by_opponent(selection, ratings.keys())
    history = list_history(store, name, editions_of(store, name))
    points = dict(history.engines)
    compared = found.model in _WITH_ERRORS and 1 < len(names) <= _MOST_COMPARED
    return ListReview(
        name=name,
        revision=revision.revision,
        definition=describe_definition(revision.definition),
        found=found,
        los=matrix_of("los", found, None) if compared else None,
        history=history,
        engines=tuple(
            ListedEngine(
                row.name,
                slugs[row.name],
                row,
                tuple(opponents_of(row.rating, met.get(row.name, {}), ratings)),
                points.get(row.name, ()),
            )
            for row in found.rows
        ),
        slugs=slugs,
    )


# The history page's tables: editions of a list, engines through them, and paths of incremental systems.

_MOST_EDITIONS = 12  # columns: the newest


def editions_sheet(one: ListHistory) -> Sheet:
    """Every edition of the list, newest first."""
    columns = (
        Column("edition", "edition"),
        Column("made", "published", left=True),
        Column("games", "games"),
        Column("note", "note", left=True),
    )
    rows = tuple(
        {"edition": number, "made": format_utc(made), "games": games, "note": note}
        for number, made, games, note in reversed(one.editions)
    )
    return Sheet("editions", columns, rows)


def engines_sheet(one: ListHistory) -> Sheet:
    """An engine a line, its rating with error in each of the newest editions."""
    numbers = [number for number, *_ in one.editions][-_MOST_EDITIONS:]
    columns = (
        Column("name", "engine", left=True),
        *(Column(f"e{number}", f"edition {number}") for number in numbers),
    )
    rows = []
    for name, points in one.engines:
        by_number = {point.edition: format_rating(point) for point in points}
        rows.append({"name": name, **{f"e{number}": by_number.get(number, "") for number in numbers}})
    return Sheet("engines through the editions", columns, tuple(rows))


def format_rating(point: PublishedRating) -> str:
    """``2641 ±60``; the larger distance where the bounds differ."""
    bounds = [bound for bound in (point.plus, point.minus) if bound is not None]
    return f"{round(point.rating)} ±{max(bounds):.0f}" if len(bounds) == 2 else str(round(point.rating))


def paths_by_system(history: RatingHistory) -> Iterator[tuple[str, tuple[RatingPath, ...]]]:
    """The paths of each incremental system, by its name for people."""
    for system in dict.fromkeys(path.system for path in history.paths):
        yield SYSTEM_NAMES[system], tuple(path for path in history.paths if path.system == system)


def paths_sheet(own: Sequence[RatingPath]) -> Sheet:
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
        row: dict[str, object] = {key: format_fixed(value, 1) for key, value in told.items()}
        change = format_fixed(ratings[-1] - path.before, 1, signed=True)
        rows.append({"name": path.name, **row, "change": change, "games": len(path.points)})
    return Sheet("ratings game by game", columns, tuple(rows))
