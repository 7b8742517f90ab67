"""Pages as text: made when somebody asks, kept as long as the log says the same."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from enginetour.reports.html.game import game_page
from enginetour.reports.html.page import render_page
from enginetour.reports.html.tables import Site
from enginetour.reports.progress import format_games, format_round
from enginetour.reports.review import pages
from enginetour.reports.review.tournament import TournamentReview, game_rows, review_tournament
from enginetour.store.log import TournamentLog
from enginetour.store.tables import TournamentEntry
from enginetour.store.tournaments import Store

_MAX_PAGES = 64  # pages of one tournament: who looks at one looks at its neighbours
_KEPT_REVIEWS = 4  # tournaments; the review of 10,000 games takes some 50 MB
# A review is made anew when the log has moved on, but takes no more than this part of one processor.
_REVIEW_SHARE = 0.1
_LIVE, _ALL = ("live.html", "Live"), ("../../", "All tournaments")
_ALWAYS = tuple(
    (f"{name}.html", words)
    for name, words in (
        ("index", "Overview"),
        ("crosstable", "Crosstable"),
        ("games", "Games"),
        ("incidents", "Incidents"),
        ("fairness", "Fairness"),
    )
)
_MOST_LISTED = 200  # tournaments on the first page


@dataclass
class _CachedReview:
    """The review of a tournament at a position of its log, and pages made from it."""

    log: TournamentLog
    review: TournamentReview
    site: Site
    position: int
    until: float  # CLOCK_MONOTONIC: it serves till then, even if the log has moved on
    pages: OrderedDict[str, str] = field(default_factory=OrderedDict)


class ReportPages:
    """Of all tournaments of a store. One thread at a time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._shelves: OrderedDict[int, _CachedReview] = OrderedDict()

    def page(self, entry: TournamentEntry, address: str) -> str | None:
        """A page of the report, None for an address that it has not."""
        shelf = self._shelf(entry)
        if address in shelf.pages:
            shelf.pages.move_to_end(address)
            return shelf.pages[address]
        made = self._game(shelf, address) if address.startswith("games/") else self._other(shelf, address)
        if made is not None:
            shelf.pages[address] = made
            while len(shelf.pages) > _MAX_PAGES:
                shelf.pages.popitem(last=False)
        return made

    def live(self, entry: TournamentEntry, room: Mapping[str, Any]) -> str:
        """The live page as it is now, to be followed from here by its script."""
        shelf = self._shelves.get(entry.id)
        site = shelf.site if shelf is not None else _bare_site(entry, room)
        told = {**room, "title": entry.title}
        return render_page("live.html", site=site, here="live.html", room=told, headline=_headline(room["progress"]))

    def index(
        self,
        shown: Sequence[TournamentEntry],
        running: Mapping[str, Mapping[str, Any]],
        states: Mapping[str, str],
        *,
        left: int,
        told: str,
    ) -> str:
        """The tournaments that are `listed`; `left` are not, `told` is what the page is compared with later."""
        counts = {(line.name, line.edition): line.games for line in self._store.tournaments()}
        lines = [
            {
                "slug": entry.slug,
                "title": entry.title,
                "system": entry.system,
                "page": "live.html" if entry.slug in running else "index.html",
                "state": running[entry.slug].get("state", "running") if entry.slug in running else states[entry.slug],
                "games": f"{counts.get((entry.name, entry.edition), 0):,}",
                "created": entry.created,
            }
            for entry in shown
        ]
        groups = [
            ("Running", [line for line in lines if line["slug"] in running]),
            ("Not running", [line for line in lines if line["slug"] not in running]),
        ]
        site = Site("enginetour", (("index.html", "Tournaments"),), prefix="/")
        database = self._store.database.path.name
        return render_page(
            "live_index.html", site=site, here="index.html", groups=groups, left=left, database=database, shown=told
        )

    def _shelf(self, entry: TournamentEntry) -> _CachedReview:
        shelf = self._shelves.get(entry.id)
        log = shelf.log if shelf is not None else self._store.tournament(entry.name, entry.edition)
        position = log.last_position
        if shelf is None or (shelf.position != position and time.monotonic() >= shelf.until):
            begun = time.monotonic()
            review = review_tournament(log)
            site = pages.report_site(review, prefix=_prefix(entry))
            site = replace(site, pages=(_LIVE, *site.pages, _ALL))
            ended = time.monotonic()
            shelf = _CachedReview(log, review, site, position, ended + (ended - begun) / _REVIEW_SHARE)
            self._shelves[entry.id] = shelf
        self._shelves.move_to_end(entry.id)
        while len(self._shelves) > _KEPT_REVIEWS:
            self._shelves.popitem(last=False)
        return shelf

    @staticmethod
    def _other(shelf: _CachedReview, address: str) -> str | None:
        makers = dict(pages.report_pages(shelf.review, shelf.site))
        return makers[address]() if address in makers else None

    @staticmethod
    def _game(shelf: _CachedReview, address: str) -> str | None:
        """A game that is in the log now, however old the review is."""
        number = address.removeprefix("games/").removesuffix(".html")
        if not (number.isascii() and number.isdigit() and len(number) < 10 and address.endswith(".html")):
            return None
        for row in islice(game_rows(shelf.log, shelf.review.encounters, int(number), int(number)), 1):
            return game_page(row, shelf.site)
        return None


def listed_tournaments(wanted: Sequence[TournamentEntry], running: Container[str]) -> list[TournamentEntry]:
    """Those on the first page: running ones, then the newest."""
    return sorted(wanted, key=lambda entry: (entry.slug not in running, -entry.id))[:_MOST_LISTED]


def _prefix(entry: TournamentEntry) -> str:
    return f"/t/{entry.slug}/"


def _bare_site(entry: TournamentEntry, room: Mapping[str, Any]) -> Site:
    """What can be told before there is a review, which takes seconds for 10,000 games: the live page need not wait."""
    slugs = {row["name"]: row["slug"] for row in room["table"]["rows"] if row["slug"]}
    return Site(entry.title, (_LIVE, *_ALWAYS, _ALL), slugs, prefix=_prefix(entry), foot="Made by enginetour.")


def _headline(progress: Mapping[str, Any]) -> str:
    """``swiss · running · round 3 of 5 · 57 of 90 games``; the script adds what needs a clock."""
    if "games_done" not in progress:
        return ""
    fewest, most = progress["remaining"]
    parts = [str(progress["system"]), str(progress["state"])]
    parts += [format_round(progress["round"])] if progress.get("round") else []
    return " · ".join([*parts, format_games(int(progress["games_done"]), (fewest, most))])
