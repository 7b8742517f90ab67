"""The contents of the report of a rating list, and rating histories."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from enginetour.model.game import format_fixed
from enginetour.ratings.matrices import Matrix, matrix_of
from enginetour.ratings.ratinglist import SHARED, RatingList, Row
from enginetour.ratings.systems import system_title
from enginetour.reports.editions import LIKELIHOODS
from enginetour.reports.encounters import NextEncounters, list_encounters
from enginetour.reports.html.page import format_utc
from enginetour.reports.review.engines import page_slugs
from enginetour.reports.sheet import Column, Sheet
from enginetour.store.careers import Opponent, PublishedRating, opponents_of, results_by_opponent
from enginetour.store.definition import describe_definition, revisions_of
from enginetour.store.editions import Edition, editions_of, lines_by_name, read_edition
from enginetour.store.lists import rate_selection
from enginetour.store.ratings import ratings_by_game
from enginetour.store.selection import select_games
from enginetour.store.tournaments import Store

# Rating histories.


@dataclass(frozen=True, slots=True)
class ListHistory:
    """The editions of a list without their lines, oldest first, and its engines, best first."""

    name: str
    editions: tuple[Edition, ...]
    engines: tuple[tuple[str, tuple[PublishedRating, ...]], ...]


@dataclass(frozen=True, slots=True)
class RatingPath:
    """The ratings of an engine by an incremental system after each of its games: (number of the game, rating)."""

    system: str
    name: str
    before: float
    points: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class RatingHistory:
    """The published ratings and the incremental ratings of a tournament's engines."""

    lists: tuple[ListHistory, ...]
    paths: tuple[RatingPath, ...]


def history_of(store: Store, tournament: int, names: Sequence[str]) -> RatingHistory:
    """Return the lists that contain one of the names, and the incremental ratings from the tournament's games."""
    by_list: dict[str, list[Edition]] = {}
    for head in editions_of(store):
        by_list.setdefault(head.list, []).append(head)
    lists = (list_history(store, name, heads, names) for name, heads in by_list.items())
    places = {name: place for place, name in enumerate(names)}
    # The systems that have rated all games of the tournament that count.
    found = ratings_by_game(store, tournament)
    ordered = sorted(found.items(), key=lambda one: places.get(one[0][1], len(places)))
    paths = (
        RatingPath(system, name, before, tuple(points))
        for (system, name), (before, points) in ordered
        if name in places
    )
    return RatingHistory(tuple(one for one in lists if one.engines), tuple(paths))


def list_history(
    store: Store, name: str, heads: Sequence[Edition], wanted: Collection[str] | None = None
) -> ListHistory:
    """Return the history of a list with all its engines, or only with those in `wanted`."""
    found: dict[str, list[PublishedRating]] = {}
    for head in heads:
        made = read_edition(store, name, head.number)
        for engine, line in lines_by_name(store, made).items():
            if wanted is None or engine in wanted:
                found.setdefault(engine, []).append(PublishedRating.of(head, engine, line))
    ordered = sorted(found.items(), key=lambda one: (-one[1][-1].edition, -round(one[1][-1].rating, SHARED), one[0]))
    return ListHistory(name, tuple(heads), tuple((engine, tuple(points)) for engine, points in ordered))


# The report of a list.

_MOST_COMPARED = 200  # engines; a larger matrix is not readable


@dataclass(frozen=True, slots=True)
class ListedEngine:
    """One engine of the list; `editions` are its published ratings, oldest first."""

    name: str
    slug: str
    row: Row
    opponents: tuple[Opponent, ...]
    editions: tuple[PublishedRating, ...]


@dataclass(frozen=True, slots=True)
class ListReview:
    """The contents of the report of a list. `los` is None for a list without errors or with too many engines."""

    name: str
    revision: int
    definition: Mapping[str, str]  # settings that differ from the defaults
    found: RatingList
    los: Matrix | None
    following: NextEncounters | None  # what to play next
    history: ListHistory
    engines: tuple[ListedEngine, ...]
    slugs: Mapping[str, str]

    @property
    def has_errors(self) -> bool:
        """Return whether the list has errors, which only maximum-likelihood lists have."""
        return self.found.model in LIKELIHOODS


def list_review(store: Store, name: str) -> ListReview:
    """Return the current list, computed with its newest definition. Raise UsageRefused if no list has this name."""
    revision = revisions_of(store, name)[-1]
    selection = select_games(store, revision.definition)
    found = rate_selection(store, selection)
    names = [row.name for row in found.rows]
    ratings, slugs = {row.name: row.rating for row in found.rows}, page_slugs(names)
    met = results_by_opponent(selection, ratings.keys())
    history = list_history(store, name, editions_of(store, name))
    points = dict(history.engines)
    compared = found.model in LIKELIHOODS and 1 < len(names) <= _MOST_COMPARED
    return ListReview(
        name=name,
        revision=revision.revision,
        definition=describe_definition(revision.definition),
        found=found,
        los=matrix_of("los", found, None) if compared else None,
        following=list_encounters(store, name, revision.definition),
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


# Tables of the history page.

_MOST_EDITIONS = 12  # editions, one in each column


def editions_sheet(one: ListHistory) -> Sheet:
    """Return the editions of the list, newest first."""
    columns = (
        Column("edition", "edition"),
        Column("made", "published", left=True),
        Column("games", "games"),
        Column("note", "note", left=True),
    )
    rows = tuple(
        {"edition": head.number, "made": format_utc(head.made_unix), "games": head.games, "note": head.note}
        for head in reversed(one.editions)
    )
    return Sheet("editions", columns, rows)


def engines_sheet(one: ListHistory) -> Sheet:
    """Return a row for each engine with its rating and error in the newest editions."""
    numbers = [head.number for head in one.editions[-_MOST_EDITIONS:]]
    columns = (
        Column("name", "engine", left=True),
        *(Column(f"e{number}", f"edition {number}") for number in numbers),
    )
    rows = []
    for name, points in one.engines:
        by_number = {point.edition: format_rating(point) for point in points}
        rows.append({"name": name, **{f"e{number}": by_number.get(number, "") for number in numbers}})
    return Sheet("ratings in the editions", columns, tuple(rows))


def format_rating(point: PublishedRating) -> str:
    """Format ``2641 ±60``, with the larger side of the interval."""
    bounds = [bound for bound in (point.plus, point.minus) if bound is not None]
    return f"{round(point.rating)} ±{max(bounds):.0f}" if len(bounds) == 2 else str(round(point.rating))


def paths_by_system(history: RatingHistory) -> Iterator[tuple[str, tuple[RatingPath, ...]]]:
    """Yield the name of each incremental system with its paths."""
    for system in dict.fromkeys(path.system for path in history.paths):
        yield system_title(system), tuple(path for path in history.paths if path.system == system)


def paths_sheet(own: Sequence[RatingPath]) -> Sheet:
    """Return a table of the first, lowest, highest and last rating of each engine. The best engine is first."""
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
        values = {"before": path.before, "lowest": min(ratings), "highest": max(ratings), "after": ratings[-1]}
        row: dict[str, object] = {key: format_fixed(value, 1) for key, value in values.items()}
        change = format_fixed(ratings[-1] - path.before, 1, signed=True)
        rows.append({"name": path.name, **row, "change": change, "games": len(path.points)})
    return Sheet("ratings game by game", columns, tuple(rows))
