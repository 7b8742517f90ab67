"""Reads the database for the live page: pages of reports, standings, and the list of tournaments."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from enginetour.formats.base import Format
from enginetour.model.errors import StoreRefused
from enginetour.model.game import StandingsRow
from enginetour.reports.bubble import bubble_decisions
from enginetour.reports.html.game import game_page
from enginetour.reports.html.page import LIVE_POLICY, render_page
from enginetour.reports.html.tables import Site
from enginetour.reports.progress import format_games, format_round, format_state, recorded_progress, status_json
from enginetour.reports.review import pages
from enginetour.reports.review.engines import page_slugs
from enginetour.reports.review.tournament import TournamentReview, game_rows, review_tournament
from enginetour.reports.sheet import format_points, safe_text
from enginetour.reports.sprt import end_state, is_undecided
from enginetour.store.address import Address
from enginetour.store.games import GameLine
from enginetour.store.lists import tournament_rating_list
from enginetour.store.log import TournamentLog
from enginetour.store.replay import format_of
from enginetour.store.tables import TournamentEntry
from enginetour.store.tournaments import Store, tournament_entries
from enginetour.web.live import MAX_LINES, incident_line

_T = TypeVar("_T")
_Key = TypeVar("_Key")


class DatabaseReader:
    """Reads the database in one thread, so that two concurrent pages do not take more memory than one.

    Each answer shows the database at one moment, even if games end while the answer is made.
    """

    def __init__(self, path: Address) -> None:
        """Open the database. Raise the same errors as `Store.open`."""
        self.path = path
        self._store = Store.open(path, create=False, readonly=True)
        self._standings = StandingsCache(self._store)
        self._pages = ReportPages(self._store)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="database")

    def close(self) -> None:
        """Close the database."""
        self._thread.shutdown(wait=True, cancel_futures=True)
        self._store.close()

    async def entries(self) -> list[TournamentEntry]:
        """Return the tournaments of the database."""
        return await self._run(partial(tournament_entries, self._store))

    async def standing(self, entry: TournamentEntry, *, lines: bool) -> StandingsData:
        """Return standings, progress and, if `lines` is true, the last games and incidents of a tournament."""
        return await self._run(partial(self._standings.read, entry, lines=lines))

    async def page(self, entry: TournamentEntry, address: str) -> str | None:
        """Return a page of the report of a tournament, or None for an unknown address."""
        return await self._run(partial(self._pages.page, entry, address))

    async def live(self, entry: TournamentEntry, snapshot: Mapping[str, Any]) -> str:
        """Return the live page of a tournament."""
        return await self._run(partial(self._pages.live, entry, snapshot))

    async def read(self, work: Callable[[Store, StandingsCache], _T]) -> _T:
        """Return the result of a function that reads the database in its thread."""
        return await self._run(lambda: work(self._store, self._standings))

    async def index(self, entries: list[TournamentEntry], running: Mapping[str, Any], shown: str) -> str:
        """Return the page of all tournaments.

        `running` contains the progress of running tournaments by slug. `shown` is the result of `TournamentHub.shown`.
        """

        def made() -> str:
            # Running tournaments first, then the newest ones.
            listed = sorted(entries, key=lambda entry: (entry.slug not in running, -entry.id))[:_MOST_LISTED]
            states = {entry.slug: self._standings.state(entry) for entry in listed if entry.slug not in running}
            return self._pages.index(listed, running, states, hidden=len(entries) - len(listed), shown=shown)

        return await self._run(made)

    async def _run(self, work: Callable[[], _T]) -> _T:
        def read() -> _T:
            with self._store.database.snapshot():
                return work()

        return await asyncio.get_running_loop().run_in_executor(self._thread, read)


# Pages of reports. They are rendered on demand and cached until the event log changes.

_MAX_PAGES = 64  # cached pages of one tournament
_KEPT_REVIEWS = 4  # cached tournaments; the review of 10,000 games takes about 50 MB
_REVIEW_SHARE = 0.1  # largest share of one processor for new reviews of a running tournament
_LIVE, _ALL = ("live.html", "Live"), ("../../", "All tournaments")
_ALWAYS = (
    ("index.html", "Overview"),
    ("crosstable.html", "Crosstable"),
    ("games.html", "Games"),
    ("incidents.html", "Incidents"),
    ("fairness.html", "Fairness"),
)
_MOST_LISTED = 200  # tournaments on the page of all tournaments


@dataclass
class _CachedReview:
    """The review of a tournament at a position of its event log, with pages rendered from it."""

    log: TournamentLog
    review: TournamentReview
    site: Site
    position: int
    until: float  # CLOCK_MONOTONIC; until then, the review is used even if the event log has changed
    pages: OrderedDict[str, str] = field(default_factory=OrderedDict)


class ReportPages:
    """The pages of all tournaments of a database. It is used by one thread at a time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._reviews: OrderedDict[int, _CachedReview] = OrderedDict()

    def page(self, entry: TournamentEntry, address: str) -> str | None:
        """Return a page of the report, or None for an unknown address."""
        cached = self._review(entry)
        if address in cached.pages:
            cached.pages.move_to_end(address)
            return cached.pages[address]
        if address.startswith("games/"):
            made = self._game(cached, address)
        else:
            make = dict(pages.report_pages(cached.review, cached.site)).get(address)
            made = None if make is None else make()
        if made is not None:
            _keep(cached.pages, address, made, _MAX_PAGES)
        return made

    def live(self, entry: TournamentEntry, snapshot: Mapping[str, Any]) -> str:
        """Return the current live page. Its script updates it."""
        cached = self._reviews.get(entry.id)
        site = cached.site if cached is not None else _bare_site(entry, snapshot)
        rows = {"live": {**snapshot, "title": entry.title}, "headline": _headline(snapshot["progress"])}
        return render_page("live.html", site=site, here="live.html", policy=LIVE_POLICY, **rows)

    def index(
        self,
        listed: Sequence[TournamentEntry],
        running: Mapping[str, Mapping[str, Any]],
        states: Mapping[str, str],
        *,
        hidden: int,
        shown: str,
    ) -> str:
        """Return the page of the tournaments in `listed`.

        `hidden` is the number of other tournaments. The page compares `shown` to detect later changes.
        """
        counts = {(line.name, line.edition): line.games for line in self._store.tournaments()}
        lines = [
            {
                "slug": entry.slug,
                "title": entry.title,
                "system": entry.system,
                "page": "live.html" if entry.slug in running else "index.html",
                "state": running[entry.slug].get("state", "running") if entry.slug in running else states[entry.slug],
                "games": f"{counts.get((entry.name, entry.edition), 0):,}",
                "created_unix": entry.created_unix,
            }
            for entry in listed
        ]
        groups = [
            ("Running", [line for line in lines if line["slug"] in running]),
            ("Not running", [line for line in lines if line["slug"] not in running]),
        ]
        site = Site("enginetour", (("index.html", "Tournaments"),), prefix="/")
        database = self._store.database.path.name
        return render_page(
            "live_index.html",
            site=site,
            here="index.html",
            policy=LIVE_POLICY,
            groups=groups,
            hidden=hidden,
            database=database,
            shown=shown,
        )

    def _review(self, entry: TournamentEntry) -> _CachedReview:
        cached = self._reviews.get(entry.id)
        log = cached.log if cached is not None else self._store.tournament(entry.name, entry.edition)
        position = log.last_position
        if cached is None or (cached.position != position and time.monotonic() >= cached.until):
            begun = time.monotonic()
            review = review_tournament(log)
            site = pages.report_site(review, prefix=_prefix(entry))
            site = replace(site, pages=(_LIVE, *site.pages, _ALL))
            ended = time.monotonic()
            cached = _CachedReview(log, review, site, position, ended + (ended - begun) / _REVIEW_SHARE)
        _keep(self._reviews, entry.id, cached, _KEPT_REVIEWS)
        return cached

    @staticmethod
    def _game(cached: _CachedReview, address: str) -> str | None:
        """Return the page of a game that is in the event log now, even if it ended after the review."""
        number = address.removeprefix("games/").removesuffix(".html")
        if not (number.isascii() and number.isdigit() and len(number) < 10 and address.endswith(".html")):
            return None
        review, place = cached.review, int(number)
        for row in islice(game_rows(cached.log, review.encounters, [place], review.purposes), 1):
            return game_page(row, cached.site)
        return None


def _keep(kept: OrderedDict[_Key, _T], key: _Key, value: _T, most: int) -> None:
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > most:
        kept.popitem(last=False)


def _prefix(entry: TournamentEntry) -> str:
    return f"/t/{entry.slug}/"


def _bare_site(entry: TournamentEntry, snapshot: Mapping[str, Any]) -> Site:
    """Return a site without a review, so that the live page does not wait. A review of 10,000 games takes seconds."""
    slugs = {row["name"]: row["slug"] for row in snapshot["table"]["rows"] if row["slug"]}
    bubble = (("bubble.html", "Bubble history"),) if entry.system == "bubble" else ()
    return Site(
        entry.title,
        (_LIVE, *_ALWAYS[:2], *bubble, *_ALWAYS[2:], _ALL),
        slugs,
        prefix=_prefix(entry),
        foot="Written by enginetour.",
    )


def _headline(progress: Mapping[str, Any]) -> str:
    """Return a text such as ``swiss · running · round 3 of 5 · 57 of 90 games``. The script adds the times."""
    if "games_done" not in progress:
        return ""
    fewest, most = progress["remaining"]
    parts = [str(progress["system"]), format_state(progress)]
    parts += [format_round(progress["round"])] if progress.get("round") else []
    return " · ".join([*parts, format_games(int(progress["games_done"]), (fewest, most))])


# Standings of tournaments, updated from game to game.

_MAX_ENGINES = 400  # rows of a live table; the page of the crosstable has all engines
_MAX_TOURNAMENTS = 16  # cached tournaments; one of 10,000 games takes 5 MB (measured)


@dataclass(frozen=True, slots=True)
class StandingsData:
    """The live data of a tournament, ready for JSON."""

    table: dict[str, Any]
    progress: dict[str, Any]
    lines: tuple[dict[str, Any], ...] = ()
    incidents: tuple[dict[str, Any], ...] = ()


@dataclass
class Fold:
    """The state of a tournament at a `position` of its event log."""

    log: TournamentLog
    format: Format[Any]
    state: Any
    position: int = 0
    rated: int = -1  # the position at which ratings were computed
    elo: dict[str, tuple[float | None, float | None, float | None]] = field(default_factory=dict)


class StandingsCache:
    """The states of the tournaments that were read last. It is used by one thread at a time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._folds: OrderedDict[int, Fold] = OrderedDict()
        self._states: dict[int, tuple[int, str]] = {}  # tournament -> position of its event log, its state

    def read(self, entry: TournamentEntry, *, lines: bool) -> StandingsData:
        """Return the current standings and progress, and the last games and incidents if `lines` is true."""
        fold = self.fold(entry)
        log = fold.log
        if fold.rated != fold.position:
            rows = tournament_rating_list(log, log.config.get("ratings", {}).get("anchor") or {}).rows
            fold.elo = {row.name: (row.rating, row.plus, row.minus) for row in rows}
            fold.rated = fold.position
        figures = recorded_progress(log, fold.format, fold.state)
        progress = status_json(figures, "stopped" if fold.format.offers(fold.state) else "finished")
        del progress["playing"]
        games = [_game_line(game) for game in log.games(limit=MAX_LINES)] if lines else []
        incidents = [
            incident_line(number, incident, "warning" if incident.is_warning else "incident")
            for number, incident in (log.incidents()[-MAX_LINES:] if lines else ())
        ]
        return StandingsData(_table(fold, figures.incidents), progress, tuple(games), tuple(incidents))

    def fold(self, entry: TournamentEntry) -> Fold:
        """Return the current state of a tournament, and keep it for the next call."""
        fold = self._folded(entry)
        _keep(self._folds, entry.id, fold, _MAX_TOURNAMENTS)
        return fold

    def state(self, entry: TournamentEntry) -> str:
        """Return the state of a tournament, or the reason why it cannot be read."""
        try:
            position = self._store.tournament(entry.name, entry.edition).last_position
            if self._states.get(entry.id, (-1, ""))[0] != position:
                self._states[entry.id] = position, _state(self._folded(entry))
        except StoreRefused as refused:
            return f"cannot be read: {refused.what}"
        return self._states[entry.id][1]

    def _folded(self, entry: TournamentEntry) -> Fold:
        """Return the state after all events of the log. Raise StoreRefused if the format does not allow an event."""
        fold = self._folds.get(entry.id)
        if fold is None:
            log = self._store.tournament(entry.name, entry.edition)
            format_ = format_of(log)
            fold = Fold(log, format_, format_.start(log.entrants))
        last = fold.log.last_position
        if last > fold.position:
            try:
                for event in fold.log.events(after=fold.position):
                    fold.state = fold.format.step(fold.state, event)
                    fold.position += 1
            except ValueError as error:
                raise StoreRefused(
                    f"the log does not match the tournament format: {error}", place=entry.title
                ) from None
        return fold


def _table(fold: Fold, wrong: Mapping[str, int]) -> dict[str, Any]:
    placed = fold.format.standings(fold.state)
    slugs = page_slugs([*(line.name for line in placed), *fold.log.specs])
    rows = []
    for line in placed[:_MAX_ENGINES]:
        bye = f" ({format_points(line.unplayed)} bye)" if line.unplayed else ""
        elo = (None if value is None else round(value) for value in fold.elo.get(line.name, (None, None, None)))
        rows.append(
            {
                "rank": line.rank,
                "name": safe_text(line.name),
                "slug": slugs.get(line.name),
                "points": format_points(line.half_points) + bye,
                "games": line.games,
                **dict(zip(("elo", "plus", "minus"), elo, strict=True)),
                "status": safe_text(line.status),
                "incidents": wrong.get(line.name, 0),
            }
        )
    return {"rows": rows, "more": max(0, len(placed) - _MAX_ENGINES), "decisions": _decisions(fold, placed)}


def _decisions(fold: Fold, placed: Sequence[StandingsRow]) -> list[dict[str, Any]] | None:
    """Return the last decisions of a bubble, or None for another format."""
    if fold.log.system != "bubble":
        return None
    found = list(bubble_decisions(fold.format.notes(fold.state), placed))[-MAX_LINES:]
    return [{"step": step, "text": safe_text(text)} for step, _, text in found]


def _state(fold: Fold) -> str:
    if fold.format.offers(fold.state):
        return "stopped"
    return end_state(undecided=is_undecided(fold.format, fold.state))


def _game_line(game: GameLine) -> dict[str, Any]:
    return {
        "number": game.number,
        "white": safe_text(game.white),
        "black": safe_text(game.black),
        "result": "*" if game.voided else str(game.outcome),
        "cause": safe_text(game.how),
        "plies": game.plies,
        "seconds": round(game.ended_unix - game.started_unix, 3),
        "decisions": [],
    }
