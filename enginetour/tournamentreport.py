"""The report of a tournament, or of a rating list: its review, its pages and its games, put into a folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from enginetour import reportfolder
from enginetour.errors import UsageRefused
from enginetour.review.listpages import list_pages, list_site
from enginetour.review.listreview import list_review
from enginetour.review.pages import pages, site_of
from enginetour.review.review import RESUME, review_of
from enginetour.store.importlog import IMPORT
from enginetour.store.reader import TournamentReader
from enginetour.store.slugs import slug_of
from enginetour.store.tournaments import Store


@dataclass(frozen=True, slots=True)
class Written:
    """Where to begin reading, and how much was written."""

    start: Path
    pages: int
    games: int


def folder_of(results: Path, slug: str) -> Path:
    """Where the report of a tournament stands unless another place is asked for: beside its PGN."""
    return results / f"{slug}-report"


def write_report(
    log: TournamentReader,
    target: Path,
    *,
    again: str = RESUME,
    suspended: Sequence[str] = (),
    heed: Callable[[], None] = lambda: None,
) -> Written:
    """Into the folder `target`, replacing a report that is there. `heed` as `reportfolder.write` calls it."""
    refuse_import(log)
    reportfolder.refuse_other(target)
    review = review_of(log, again=again, suspended=suspended)
    site = site_of(review, games=frozenset())
    count = reportfolder.write(target, pages(review, site), heed=heed)
    return Written(target / "index.html", count, 0)


def list_folder(results: Path, name: str) -> Path:
    """Where the report of a list stands unless another place is asked for."""
    return results / f"{slug_of(name)}-list-report"


def write_list_report(store: Store, name: str, target: Path) -> Written:
    """As `write_report`, of a list; UsageRefused for a name that no list has."""
    reportfolder.refuse_other(target)
    review = list_review(store, name)
    count = reportfolder.write(target, list_pages(review, list_site(review)), heed=lambda: None)
    return Written(target / "index.html", count, 0)


def refuse_import(log: TournamentReader) -> None:
    """UsageRefused for games from files: they have no moves here."""
    if log.system == IMPORT:
        step = "make a list of them: enginetour lists define NAME, then enginetour report NAME"
        raise UsageRefused("are games from files, their moves are not in the store", place=log.title, step=step)
