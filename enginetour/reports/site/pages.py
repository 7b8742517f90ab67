"""The pages of a league's site, and the script with the names that its other scripts use."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from markupsafe import Markup, escape

from enginetour.reports.charts.curves import movement_chart
from enginetour.reports.forecast import forecast_sheet
from enginetour.reports.html.game import empty_board
from enginetour.reports.html.page import format_utc, render_page
from enginetour.reports.html.tables import Site, cross_table, engine_link, scroll_box, trusted_markup
from enginetour.reports.league import moves_sheet, playoff_text, stage_state
from enginetour.reports.ratinglist import likelihood_sheet
from enginetour.reports.review.charts import rating_picture
from enginetour.reports.review.pages import both_widths
from enginetour.reports.sheet import format_count, format_halves, format_points, format_whole, safe_text
from enginetour.reports.site.feeds import ATOM, JSON_FEED, NewGame
from enginetour.reports.site.games import GAMES_A_SCRIPT, LINES_A_SCRIPT
from enginetour.reports.site.league import LeagueReview, Place, Played, Results, SeasonReview, sum_results
from enginetour.store.seasons import Stage

_NEWEST = 20  # games on the first page
_MOST_MATCHUPS = 3_000  # two engines each, that are listed or linked; with more of them, a page would exceed 2 MB
_ZONES = {"promotion": "good", "relegation": "bad"}
_PLACES = (("#", "n"), ("engine", ""), ("points", "n"), ("games", "n"))  # columns
_RESULTS = (("games", "n"), ("won", "n wide"), ("drawn", "n wide"), ("lost", "n wide"), ("score", "n"))  # columns
Cell = str | int | Markup | None


def site_pages(review: LeagueReview, games: Sequence[NewGame]) -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield the address of each page, and of the script with names, and the function that makes it."""
    pages = ("index.html", "League"), ("seasons.html", "Seasons"), ("engines.html", "Engines")
    pages += ("ratings.html", "Ratings"), ("games.html", "Games")  # type: ignore[assignment]
    site = Site(review.name, pages, review.slugs, foot=f"{review.name}. Written by enginetour.", is_report=False)
    made = _Pages(review, site, games)
    yield "index.html", made.index
    yield "seasons.html", made.seasons
    for season in review.seasons:
        yield season.address, partial(made.season, season)
    for played in review.played:
        yield played.address, partial(made.tournament, played)
    yield "engines.html", made.engines
    for name, slug in review.slugs.items():
        yield f"engines/{slug}.html", partial(made.engine, name, f"engines/{slug}.html")
    yield "ratings.html", made.ratings
    yield "games.html", made.games
    yield "game.html", made.game
    yield "lists/names.js", partial(_names_script, review)


def _names_script(review: LeagueReview) -> str:
    """Return a script with all tournaments, the newest season first, and the page of each engine."""
    tournaments = [
        {
            "slug": one.log.slug,
            "title": safe_text(one.log.title),
            "label": safe_text(one.stage.label),
            "season": one.season,
            "games": one.facts["games"],
        }
        for one in review.played
    ]
    engines = [(safe_text(name), slug) for name, slug in review.slugs.items()]
    found = {"tournaments": tournaments, "engines": engines, "perScript": GAMES_A_SCRIPT, "perList": LINES_A_SCRIPT}
    return f"siteNames({json.dumps(found, separators=(',', ':'))});\n"


def _table(heads: Sequence[tuple[str, str]], rows: Iterable[Sequence[Cell]], label: str) -> Markup:
    """Return a table. `heads` are texts and classes of the columns; the first cell without a class is a row header."""
    first = next((at for at, (_, kind) in enumerate(heads) if not kind), -1)
    marks = [f' class="{kind}"' if kind else "" for _, kind in heads]
    head = "".join(f'<th scope="col"{mark}>{escape(text)}</th>' for (text, _), mark in zip(heads, marks, strict=True))
    lines = []
    for row in rows:
        cells = []
        for at, (cell, mark) in enumerate(zip(row, marks, strict=True)):
            text = "" if cell is None else escape(safe_text(cell)) if type(cell) is str else escape(cell)
            cells.append(f'<th scope="row">{text}</th>' if at == first else f"<td{mark}>{text}</td>")
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return scroll_box(head, "\n".join(lines), label)


def _half_points(results: Results) -> int:
    return 2 * results[0] + results[1]


def _score(results: Results) -> str:
    return format_points(_half_points(results))


class _Pages:
    def __init__(self, review: LeagueReview, site: Site, games: Sequence[NewGame]) -> None:
        self.review, self.site, self.newest = review, site, games
        self.places = review.places
        self.rated = {row.name: row for row in review.ratings.rows} if review.ratings else {}
        self.cross = {one.log.slug: one.cross_results() for one in review.played}

    def _render(self, template: str, here: str, **rows: object) -> str:
        rows |= {"atom": self.site.link(ATOM, here), "json_feed": self.site.link(JSON_FEED, here)}
        return render_page(f"site/{template}", site=self.site, here=here, **rows)  # type: ignore[arg-type]

    def _link(self, address: str, text: object, here: str) -> Markup:
        shown = escape(safe_text(text)) if isinstance(text, str) else escape(text)
        return trusted_markup(f'<a href="{escape(self.site.link(address, here))}">{shown}</a>')

    def _engine(self, name: str, here: str) -> Markup:
        return engine_link(name, self.site, here)

    def _games_link(self, here: str, text: object, *, of: str = "", one: str = "", other: str = "") -> Markup:
        """Return a link to the list of games of a tournament, an engine or two engines."""
        parts = {"t": of, "a": self.review.slugs.get(one, ""), "b": self.review.slugs.get(other, "")}
        wanted = "&".join(f"{key}={value}" for key, value in parts.items() if value)
        return self._link(f"games.html#{wanted}", text, here)

    # Tables.

    def _standings(self, season: SeasonReview, stage: Stage, here: str) -> Markup:
        heads = (*_PLACES, ("zone", "zone"))
        rows = [
            (one.rank, self._engine(one.name, here), format_halves(one.points), one.games, _zone(one))
            for one in season.places
            if one.stage is stage
        ]
        return _table(heads, rows, stage.label)

    def _divisions(self, season: SeasonReview, here: str) -> list[dict[str, Any]]:
        played = {one.stage.title: one for one in season.played}
        return [
            {
                "label": stage.label,
                "address": played[stage.title].address if stage.title in played else "",
                "state": stage_state(stage),
                "table": self._standings(season, stage, here),
            }
            for stage in season.book.divisions
        ]

    def _new_games(self, games: Sequence[NewGame], here: str) -> Markup:
        heads = (
            ("ended", "nowrap wide"),
            ("tournament", "wide"),
            ("White", "name"),
            ("Black", "name"),
            ("result", "nowrap"),
        )
        rows = [
            (
                format_utc(new.line.ended_unix),
                self._link(new.played.address, new.played.stage.label, here),
                self._engine(new.line.white, here),
                self._engine(new.line.black, here),
                self._link(new.address, new.result, here),
            )
            for new in games
        ]
        return _table(heads, rows, "newest games")

    def _movement(self) -> Markup | None:
        seasons = [season.number for season in self.review.seasons]
        sizes = [(stage.label, len(stage.ranked)) for stage in self.review.newest.book.divisions]
        found = {
            name: {one.season: one.overall for one in places if one.overall is not None}
            for name, places in self.places.items()
        }
        own = {name: places for name, places in found.items() if places}
        if not own:
            return None
        title = "Place of each engine in the league by season"
        return both_widths(partial(movement_chart, sizes, own, seasons, title=title))

    # Pages.

    def index(self) -> str:
        here, season = "index.html", self.review.newest
        return self._render(
            "index.html",
            here,
            season=season,
            state=self._state(season),
            divisions=self._divisions(season, here),
            games=self._new_games(self.newest[:_NEWEST], here),
            movement=self._movement() if len(self.review.seasons) > 1 else None,
            seasons=[(one.address, one.number) for one in reversed(self.review.seasons)],
        )

    def _state(self, season: SeasonReview) -> str:
        left = season.book.playable()
        games = format_count(season.games, "game")
        if not left:
            return f"{games}, finished"
        begun = [stage for stage in left if stage.log]
        return f"{games} so far; {'in progress' if begun else 'next'}: {', '.join(s.label for s in begun or left)}"

    def seasons(self) -> str:
        here = "seasons.html"
        heads = (("season", "n"), ("first place", ""), ("began", "nowrap"), ("games", "n"), ("state", "wide"))
        rows = []
        for season in reversed(self.review.seasons):
            first = next((one.name for one in season.places if one.overall == 1 and one.games), None)
            rows.append((
                self._link(season.address, season.number, here),
                None if first is None else self._engine(first, here),
                format_utc(season.book.stored.created_unix)[:10],
                f"{season.games:,}",
                "finished" if season.is_finished else "in progress",
            ))  # fmt: skip
        return self._render("seasons.html", here, table_of=_table(heads, rows, "seasons"), movement=self._movement())

    def season(self, season: SeasonReview) -> str:
        here = season.address
        forecasts = [
            (one.stage.label, forecast_sheet(one.facts["forecast"]))
            for one in season.played
            if one.facts["forecast"] and one.stage.kind == "division"
        ]
        others = [stage for stage in season.book.stages() if stage.kind != "division"]
        addresses = {one.stage.title: one.address for one in season.played}
        return self._render(
            "season.html",
            here,
            season=season,
            state=self._state(season),
            divisions=self._divisions(season, here),
            others=[
                (
                    stage.label,
                    addresses.get(stage.title, ""),
                    stage_state(stage),
                    playoff_text(stage) if stage.kind == "playoff" else ", ".join(stage.entrants),
                )
                for stage in others
            ],
            moves=moves_sheet(season.book.stored) if season.moves else None,
            waiting=", ".join(season.book.season.waiting),
            coming=[(stage.label, _remaining(stage)) for stage in season.book.playable()],
            forecasts=forecasts,
            before=season.number - 1 if season.number > 1 else None,
            after=season.number + 1 if season.number < self.review.newest.number else None,
        )

    def tournament(self, one: Played) -> str:
        here, season = one.address, self.review.seasons[one.season - 1]
        is_division = one.stage.kind == "division"
        names = [str(row[1]) for row in one.facts["standings"]]
        forecast = one.facts["forecast"]
        return self._render(
            "tournament.html",
            here,
            played=one,
            season=season,
            state=stage_state(one.stage),
            standings=self._standings(season, one.stage, here) if is_division else self._plain_standings(one, here),
            cross=self._crosstable(one, names, here),
            matchups=self._matchups(one, names, here),
            games=self._games_link(here, "All games", of=one.log.slug),
            forecast=None if forecast is None else forecast_sheet(forecast),
        )

    def _plain_standings(self, one: Played, here: str) -> Markup:
        rows = [
            (rank, self._engine(name, here), format_points(points), games)
            for rank, name, points, games, *_ in one.facts["standings"]
        ]
        return _table(_PLACES, rows, one.stage.label)

    def _crosstable(self, one: Played, names: Sequence[str], here: str) -> Markup:
        """Return the crosstable; each cell is a link to its games."""
        found = self.cross[one.log.slug]
        is_linked = len(one.facts["counts"]) <= _MOST_MATCHUPS
        rows = []
        for name in names:
            own = found.get(name, {})
            half_points, games = (sum(map(count, own.values())) for count in (_half_points, sum))
            cells = [
                '<td class="self"></td>'
                if name == other
                else self._cross_cell(one, name, other, own.get(other), here, is_linked=is_linked)
                for other in names
            ]
            rows.append((name, half_points, games, "".join(cells)))
        kind = "cross" + " many" * (len(names) > 3) + " most" * (len(names) > 14)
        return cross_table(rows, kind, self.site, here)

    def _cross_cell(
        self, one: Played, name: str, other: str, results: Results | None, here: str, *, is_linked: bool
    ) -> str:
        if results is None or not sum(results):
            return "<td></td>"
        look = ' class="p"' if results[0] > results[2] else ' class="m"' if results[0] < results[2] else ""
        text = escape(_score(results))
        if is_linked:
            text = self._games_link(here, text, of=one.log.slug, one=name, other=other)
        return f"<td{look}>{text}</td>"

    def _matchups(self, one: Played, names: Sequence[str], here: str) -> Markup | None:
        """Return the results of every two engines, or None if there are too many of them."""
        if len(one.facts["counts"]) > _MOST_MATCHUPS:
            return None
        heads = (("engine", ""), ("opponent", "name"), *_RESULTS)
        found, rows = self.cross[one.log.slug], []
        for number, name in enumerate(names):
            for other in names[number + 1 :]:
                if results := found.get(name, {}).get(other):
                    link = self._games_link(here, _score(results), of=one.log.slug, one=name, other=other)
                    rows.append((self._engine(name, here), self._engine(other, here), sum(results), *results, link))
        return _table(heads, rows, "matchups")

    def engines(self) -> str:
        here = "engines.html"
        heads = (("engine", ""), ("seasons", "n"), ("now", "wrap"), ("best place", "n"), ("rating", "n"))
        newest = self.review.newest.number
        order = sorted(self.places, key=lambda name: _order(self.places[name], newest))
        rows = []
        for name in order:
            places = self.places[name]
            now = places[-1] if places and places[-1].season == newest else None
            best = min((one.overall for one in places if one.overall and one.games), default=None)
            where = "waiting" if name in self.review.newest.book.season.waiting else "not in the league"
            if now is not None:
                where = now.stage.label if now.rank is None else f"{now.stage.label}, place {now.rank}"
            rating = format_whole(self.rated[name].rating) if name in self.rated else None
            rows.append((self._engine(name, here), len(places), where, best, rating))
        return self._render("engines.html", here, table_of=_table(heads, rows, "engines"))

    def engine(self, name: str, here: str) -> str:
        places = self.places[name]
        heads = (
            ("season", "n"),
            ("division", "name"),
            ("place", "n"),
            ("in the league", "n wide"),
            ("points", "n"),
            ("games", "n wide"),
            ("zone", "zone"),
            ("how it came here", "wrap wide"),
        )
        rows = []
        for one in reversed(places):
            season = self.review.seasons[one.season - 1]
            address = next((played.address for played in season.played if played.stage is one.stage), season.address)
            move = season.move_of(name)
            rows.append((
                self._link(season.address, one.season, here),
                self._link(address, one.stage.label, here),
                one.rank, one.overall, format_halves(one.points), one.games, _zone(one),
                f"{move.kind}: {move.why}" if move else "",
            ))  # fmt: skip
        current = places[-1] if places and places[-1].season == self.review.newest.number else None
        return self._render(
            "engine.html",
            here,
            name=name,
            current=current,
            row=self.rated.get(name),
            places=_table(heads, rows, "places") if rows else None,
            opponents=self._opponents(name, here),
            lines=list(self._lines_of(name, here)),
            games=self._games_link(here, "All games of this engine", one=name),
        )

    def _opponents(self, name: str, here: str) -> Markup | None:
        """Return the results against each opponent in all seasons, the best rated first."""
        found: dict[str, Results] = {}
        for one in self.review.played:
            for other, results in self.cross[one.log.slug].get(name, {}).items():
                found[other] = sum_results(found.get(other, (0, 0, 0)), results)
        heads = (("opponent", ""), ("rating", "n"), *_RESULTS, ("%", "n"))
        rows, ratings = [], self.rated
        for other in sorted(found, key=lambda each: -ratings[each].rating if each in ratings else 1e9):
            results = found[other]
            share = 50 * _half_points(results) / sum(results)
            rows.append((
                self._engine(other, here), format_whole(ratings[other].rating) if other in ratings else "",
                sum(results), *results, self._games_link(here, _score(results), one=name, other=other), f"{share:.1f}",
            ))  # fmt: skip
        return _table(heads, rows, "opponents") if rows else None

    def _lines_of(self, name: str, here: str) -> Iterator[tuple[Markup, Markup]]:
        """Yield a link to each tournament of an engine and its line of the crosstable."""
        for one in self.review.played:
            own = self.cross[one.log.slug].get(name)
            if own:
                order = [str(row[1]) for row in one.facts["standings"] if row[1] in own]
                parts = [
                    trusted_markup(
                        f"{self._engine(other, here)} "
                        f"{self._games_link(here, _score(own[other]), of=one.log.slug, one=name, other=other)}"
                        f'<span class="muted">/{sum(own[other])}</span>'
                    )
                    for other in order
                ]
                yield self._link(one.address, one.log.title, here), Markup(" · ").join(parts)

    def ratings(self) -> str:
        found = self.review.ratings
        heads = (("upper division", ""), ("lower division", "name"), ("difference in Elo", "n"), ("± 95 %", "n"))
        gaps = [(gap.upper, gap.lower, f"{gap.difference:.0f}", f"{gap.error:.1f}") for gap in self.review.gaps]
        return self._render(
            "ratings.html",
            "ratings.html",
            ratings=None if found is None else likelihood_sheet("rating list", found),
            chart=None if found is None else both_widths(partial(rating_picture, found)),
            gaps=_table(heads, gaps, "divisions") if gaps else None,
            divisions=len(self.review.newest.book.divisions),
        )

    def games(self) -> str:
        tables = [
            (season.number, [(one.address, one.stage.label) for one in season.played])
            for season in reversed(self.review.seasons)
        ]
        return self._render("games.html", "games.html", seasons=tables)

    def game(self) -> str:
        return self._render("game.html", "game.html", board=empty_board())


def _zone(place: Place) -> Cell:
    kind = _ZONES.get(place.zone, "")
    return trusted_markup(f'<span class="{kind}">{escape(place.zone)}</span>') if kind else place.zone


def _order(places: Sequence[Place], newest: int) -> tuple[int, int]:
    """Return the key of the order of engines: those of the newest season by place, then those that left lately."""
    if not places:
        return newest + 1, 0
    return newest - places[-1].season, places[-1].overall or 10**6


def _remaining(stage: Stage) -> str:
    if stage.remaining is None:
        return "not begun"
    low, high = stage.remaining
    return f"{high:,} games remain" if low == high else f"{low:,} to {high:,} games remain"
