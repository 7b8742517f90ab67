"""A rating list of the store as a report shows it: the list now, who is stronger than whom, editions, engines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from enginetour.ratings.matrices import Matrix, matrix_of
from enginetour.ratings.ratinglist import RatingList, Row
from enginetour.reports.review.editions import ListHistory, list_history
from enginetour.reports.review.slugs import slugs_of
from enginetour.store.careers import Opponent, Published, met_by, opponents_of
from enginetour.store.definition import described, revisions_of
from enginetour.store.editions import editions_of
from enginetour.store.lists import list_of
from enginetour.store.selection import selected
from enginetour.store.tournaments import Store

MOST_COMPARED = 200  # engines of a matrix that can be read
WITH_ERRORS = ("logistic", "davidson", "raokupper")  # models of a likelihood list


@dataclass(frozen=True, slots=True)
class ListedEngine:
    """One engine of the list; `editions` are its lines in the published ones, oldest first."""

    name: str
    slug: str
    row: Row
    opponents: tuple[Opponent, ...]
    editions: tuple[Published, ...]


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
        return self.found.model in WITH_ERRORS


def list_review(store: Store, name: str) -> ListReview:
    """The list as it is now, on its newest terms; UsageRefused for a name that no list has."""
    revision = revisions_of(store, name)[-1]
    selection = selected(store, revision.definition)
    found = list_of(store, selection)
    names = [row.name for row in found.rows]
    ratings, slugs = {row.name: row.rating for row in found.rows}, slugs_of(names)
    met = met_by(selection, ratings.keys())
    history = list_history(store, name, editions_of(store, name))
    points = dict(history.engines)
    compared = found.model in WITH_ERRORS and 1 < len(names) <= MOST_COMPARED
    return ListReview(
        name=name,
        revision=revision.number,
        definition=described(revision.definition),
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
