"""The report of a tournament or of a rating list: its review, its pages and its games, into a folder or one file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

from enginetour.interop.files import replace_file
from enginetour.model.errors import UsageRefused
from enginetour.reports.html import pieces
from enginetour.reports.html.gamepage import game_page
from enginetour.reports.html.page import GAME_ASSETS, asset
from enginetour.reports.review.games import game_rows
from enginetour.reports.review.listpages import list_pages, list_site
from enginetour.reports.review.listreview import list_review
from enginetour.reports.review.pages import pages, site_of
from enginetour.reports.review.reportfile import list_text, report_text
from enginetour.reports.review.reportfolder import refuse_other, write
from enginetour.reports.review.review import RESUME, review_of
from enginetour.store.address import slug_of
from enginetour.store.games import TournamentReader
from enginetour.store.tournaments import Store


@dataclass(frozen=True, slots=True)
class Written:
    """Where to begin reading, and how much was written."""

    start: Path
    pages: int


def list_folder(results: Path, name: str) -> Path:
    """Where the report of a list stands unless another place is asked for."""
    return results / f"{slug_of(name)}-list-report"


def write_report(
    log: TournamentReader,
    target: Path,
    *,
    again: str = RESUME,
    suspended: Sequence[str] = (),
    heed: Callable[[], None] = lambda: None,
) -> Written:
    """Into the folder `target`, replacing a report that is there, or into the file `target` if it ends in .html.

    `heed` as `reportfolder.write` calls it.
    """
    if not is_file(target):
        refuse_other(target)
    review = review_of(log, again=again, suspended=suspended)
    if is_file(target):
        return _one_file(target, report_text(log, review))
    site = site_of(review)
    games = ((f"games/{row.number}.html", partial(game_page, row, site)) for row in game_rows(log))
    assets = {name: asset(name) for name in GAME_ASSETS} | {"pieces.js": pieces.script()}
    count = write(target, chain(pages(review, site), games), assets, heed=heed)
    return Written(target / "index.html", count)


def write_list_report(store: Store, name: str, target: Path) -> Written:
    """As `write_report`, of a list; UsageRefused for a name that no list has."""
    if not is_file(target):
        refuse_other(target)
    review = list_review(store, name)
    if is_file(target):
        return _one_file(target, list_text(review))
    made = list_pages(review, list_site(review))
    return Written(target / "index.html", write(target, made, {}, heed=lambda: None))


def is_file(target: Path) -> bool:
    """A report in one file is meant."""
    return target.suffix.lower() in (".html", ".htm")


def _one_file(target: Path, text: str) -> Written:
    if target.is_dir():
        raise UsageRefused("is a folder", place=str(target), step="name a file, or a folder without .html")
    replace_file(target, [text])
    return Written(target, 1)
