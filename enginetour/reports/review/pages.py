"""The pages of the reports of a tournament and of a rating list."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial

from markupsafe import Markup, escape

from enginetour.reports import editions, ratinglist, standings
from enginetour.reports.bubble import orders_sheet
from enginetour.reports.charts import lists
from enginetour.reports.charts.bubble import bubble_chart, round_robins
from enginetour.reports.charts.canvas import Picture
from enginetour.reports.charts.output import CHART_WIDTH, PHONE_WIDTH, svg
from enginetour.reports.games import incident_lines
from enginetour.reports.html.page import format_utc, render_page
from enginetour.reports.html.tables import Site, crosstable_markup, list_address, list_parts, list_table, notes_list
from enginetour.reports.ratinglist import matrix_sheet
from enginetour.reports.review import charts, fairness
from enginetour.reports.review import lists as histories
from enginetour.reports.review.engines import EngineReview, engine_facts, opponents_table
from enginetour.reports.review.goal import GoalReview, goal_picture, purposes_sheet
from enginetour.reports.review.lists import ListedEngine, ListHistory, ListReview
from enginetour.reports.review.tournament import TournamentReview, leaders_note
from enginetour.reports.sheet import WIDE_COLUMNS, Column, Sheet, format_count, safe_text
from enginetour.reports.standings import pairing_report
from enginetour.store.careers import PublishedRating
from enginetour.store.games import GameLine

# The report of a tournament.

_PageMaker = Callable[[], str]
_MAX_TROUBLED = 10  # engines with incidents on the first page
_MAX_LOG_LENGTH = 1_200_000  # characters of engine logs on the page of incidents; pages of games have the rest
_NEXT = ("enginetour", "next", "-o", "next.toml")
_UNBROKEN = 1_000  # columns; the box of the log scrolls, so lines are not wrapped


def report_site(review: TournamentReview, *, prefix: str = "", single: bool = False) -> Site:
    """Return the common properties of the pages of a tournament's report."""
    title, pages = review.facts.title, tuple((address, label) for address, label, _ in _main_pages(review))
    return Site(title, pages, review.slugs, foot=_foot(title), prefix=prefix, single=single)


def _foot(title: str) -> str:
    """Return the foot of all pages. It has no counts, so that a new game does not change all pages."""
    return f"{title}. Written by enginetour."


def _main_pages(review: TournamentReview) -> Iterator[tuple[str, str, Callable[[TournamentReview, Site], str] | None]]:
    """Yield the address, the label and the maker of each page of the navigation; the list of games has several."""
    yield "index.html", "Overview", _index_page
    yield "crosstable.html", "Crosstable", _crosstable_page
    if review.bubble is not None:
        yield "bubble.html", "Bubble history", _bubble_page
    if review.goal is not None:
        yield "goal.html", "Goal", partial(_goal_page, review.goal)
    if review.rounds:
        yield "rounds.html", "Rounds", _rounds_page
    yield "games.html", "Games", None
    yield "incidents.html", "Incidents", _incidents_page
    yield "fairness.html", "Fairness", _fairness_page
    if review.history.lists or review.history.paths:
        yield "history.html", "History", _history_page


def report_pages(review: TournamentReview, site: Site) -> Iterator[tuple[str, _PageMaker]]:
    """Yield the address of each page and the function that renders it. Pages of single games are not included."""
    for address, _, make in _main_pages(review):
        if make is not None:
            yield address, partial(make, review, site)
            continue
        parts = list_parts(review.games)
        for number in range(len(parts)):
            yield list_address(number), partial(_games_page, review, site, parts, number)
    for engine in review.engines:
        yield f"engines/{engine.slug}.html", partial(_engine_page, review, site, engine)


def _chart_figure(picture: Picture | None, phone: Picture | None = None) -> Markup | None:
    """Return the content of a figure: the title of the chart, the chart, and the chart for a phone."""
    if picture is None:
        return None
    caption = f"<figcaption>{escape(safe_text(picture.title))}</figcaption>"
    small = "" if phone is None else svg(phone, "phone")
    return Markup(f"{caption}\n{svg(picture)}{small}")  # noqa: S704  # charts escape their texts


def both_widths(draw: Callable[..., Picture | None]) -> Markup | None:
    """Return the content of a figure with a chart that `draw` makes for wide windows and for phones."""
    return _chart_figure(draw(), draw(width=PHONE_WIDTH))


def _index_page(review: TournamentReview, site: Site) -> str:
    columns = ("pool", *WIDE_COLUMNS) if len(review.ratings.pools) > 1 else WIDE_COLUMNS
    return render_page(
        "index.html",
        site=site,
        here="index.html",
        facts=review.facts,
        chart=both_widths(partial(charts.rating_picture, review.ratings)),
        ratings=ratinglist.likelihood_sheet("rating list", review.ratings, columns),
        standings=standings.standings_sheet("standings", review.standings, review.odds, meanings=review.meanings),
        withdrawals=tuple(one.note for one in review.withdrawals if one.note),
        orders=None if review.bubble is None else orders_sheet(review.standings, review.by_rating),
        test=review.test,
        forecast=review.forecast,
        summary=review.summary,
        course=both_widths(charts.best_scores_chart(review.standings, review.games)),
        advice=review.advice,
        trouble=_trouble(review, most=_MAX_TROUBLED),
        incidents=sum(not line.incident.is_warning for line in review.incidents),
        warnings=sum(line.incident.is_warning for line in review.incidents),
        fairness=review.fairness,
        following=None if review.following is None else review.following.sheet(),
        following_command=shlex.join([*_NEXT, "-t", review.facts.name, "--edition", str(review.facts.edition)]),
    )


def _crosstable_page(review: TournamentReview, site: Site) -> str:
    here = "crosstable.html"
    sums = {row.name: row.half_points for row in review.crosstable}
    why = standings.points_notes(review.standings, sums, by_match=dict(review.facts.settings).get("scoring") == "match")
    rows = [
        replace(row, half_points=line.half_points)
        for row, line in zip(review.crosstable, review.standings, strict=True)
    ]
    return render_page(here, site=site, here=here, table_of=crosstable_markup(rows, site, here) + notes_list(why))


def _bubble_page(review: TournamentReview, site: Site) -> str:
    here, facts = "bubble.html", review.facts
    rounds, title = round_robins(review.notes, facts.games), "Engines in the section and their places"
    return render_page(
        here,
        site=site,
        here=here,
        steps=review.bubble,
        chart=both_widths(partial(bubble_chart, rounds, review.standings, title=title)),
        orders=orders_sheet(review.standings, review.by_rating),
        finished=facts.finished,
    )


def _goal_page(goal: GoalReview, review: TournamentReview, site: Site) -> str:
    here, left = "goal.html", "" if review.facts.finished else goal.left
    chart, purposes = both_widths(partial(goal_picture, goal)), purposes_sheet(goal)
    return render_page(here, site=site, here=here, goal=goal, left=left, chart=chart, purposes=purposes)


def _rounds_page(review: TournamentReview, site: Site) -> str:
    here = "rounds.html"
    report = pairing_report("pairing report", review.figures, review.notes)
    return render_page(here, site=site, here=here, rounds=review.rounds, report=report)


def _games_page(review: TournamentReview, site: Site, parts: Sequence[Sequence[GameLine]], number: int) -> str:
    return render_page(
        "games.html",
        site=site,
        here=list_address(number),
        games=list_table(parts[number], site, list_address(number)),
        parts=[(list_address(place), part) for place, part in enumerate(parts)],
        names=sorted({name for game in parts[number] for name in (game.white, game.black)}),
        endings=sorted({game.termination for game in parts[number]}),
        void=review.facts.void,
    )


def _incidents_page(review: TournamentReview, site: Site) -> str:
    """Render the incidents, then the warnings, each with its engine log. The oldest are first."""
    here, room, lines = "incidents.html", _MAX_LOG_LENGTH, []
    for line in sorted(review.incidents, key=lambda one: one.incident.is_warning):
        log = list(incident_lines(line.incident, _UNBROKEN))[2:]
        room -= sum(map(len, log))
        text = escape("".join([f"{safe_text(one)}\n" for one in log])) if room >= 0 else None
        lines.append((line, text))
    return render_page(here, site=site, here=here, trouble=_trouble(review), lines=lines)


def _fairness_page(review: TournamentReview, site: Site) -> str:
    here, found = "fairness.html", review.fairness
    draw = partial(charts.fairness_pictures, found)
    return render_page(
        here,
        site=site,
        here=here,
        fairness=found,
        games=review.facts.games,
        more_openings=not dict(review.facts.settings).get("openings", "").startswith("the initial position"),
        measures=fairness.measures_sheet(found),
        openings=fairness.openings_sheet(found),
        margins=fairness.margins_sheet(found),
        own=fairness.referee_share_sheet(found),
        charts=[_chart_figure(*both) for both in zip(*map(draw, (CHART_WIDTH, PHONE_WIDTH)), strict=True)],
    )


def _history_page(review: TournamentReview, site: Site) -> str:
    here = "history.html"
    paths = [
        (name, histories.paths_sheet(own), both_widths(partial(charts.paths_picture, name, own)))
        for name, own in histories.paths_by_system(review.history)
    ]
    return render_page(here, site=site, here=here, lists=[*map(_list_parts, review.history.lists)], paths=paths)


def _list_parts(one: ListHistory) -> tuple[object, ...]:
    chart = both_widths(partial(charts.editions_picture, one))
    return one, histories.editions_sheet(one), histories.engines_sheet(one), chart


def _engine_page(review: TournamentReview, site: Site, engine: EngineReview) -> str:
    here = f"engines/{engine.slug}.html"
    faced = [lists.OpponentScore(met.name, met.rating, met.half_points, len(met.games)) for met in engine.opponents]
    efforts = engine.efforts
    return render_page(
        "engine.html",
        site=site,
        here=here,
        engine_of=engine,
        facts=[fact for fact in engine_facts(engine) if fact[1]],
        opponents=opponents_table(engine, site, here),
        chart=_chart_figure(charts.opponents_picture(None if engine.row is None else engine.row.rating, faced)),
        efforts=[
            (column.header, text)
            for cells in efforts.cells()
            for column, text in zip(efforts.columns, cells, strict=True)
            if text
        ],
        incidents=review.trouble.get(engine.name, ()),
        paths=[path for path in review.history.paths if path.name == engine.name],
    )


def _trouble(review: TournamentReview, most: int | None = None) -> Sheet:
    """Return a table of the engines with incidents or warnings.

    `most` limits the table to the engines with the most incidents.
    """
    columns = (
        Column("engine", "engine", left=True),
        Column("incidents", "incidents"),
        Column("warnings", "warnings"),
        Column("kinds", "kinds", left=True),
    )
    rows = []
    for name, lines in review.trouble.items():
        own = [line.incident for line in lines]
        count = sum(not one.is_warning for one in own)
        kinds = dict.fromkeys(one.category for one in own)
        rows.append({"engine": name, "incidents": count, "warnings": len(own) - count, "kinds": ", ".join(kinds)})
    rows.sort(key=lambda row: (-int(str(row["incidents"])), str(row["engine"])))
    more = 0 if most is None else max(0, len(rows) - most)
    notes = (f"and {format_count(more, 'more engine')}",) if more else ()
    return Sheet("incidents by engine", columns, tuple(rows[:most]), notes=notes)


# The report of a rating list.

_PHONE_COLUMNS, _PAPER_COLUMNS = 7, 20  # opponents in a matrix that fit on a phone, and on a sheet of A4 in portrait


def list_site(review: ListReview) -> Site:
    """Return the common properties of the pages of a list's report."""
    pages = [("index.html", "List")]
    pages += [("superiority.html", "Who is stronger")] if review.los is not None else []
    pages += [("history.html", "History")] if review.history.editions else []
    return Site(review.name, tuple(pages), review.slugs, frozenset(), _foot(review.name))


def list_pages(review: ListReview, site: Site) -> Iterator[tuple[str, _PageMaker]]:
    """Yield the address of each page and the function that renders it."""
    yield "index.html", partial(_index, review, site)
    if review.los is not None:
        yield "superiority.html", partial(_superiority, review, site)
    if review.history.editions:
        yield "history.html", partial(_history, review, site)
    for engine in review.engines:
        yield f"engines/{engine.slug}.html", partial(_engine, site, engine)


def _index(review: ListReview, site: Site) -> str:
    return render_page(
        "list.html",
        site=site,
        here="index.html",
        name=review.name,
        revision=review.revision,
        definition=list(review.definition.items()),
        lead=leaders_note(review.found) if review.has_errors else "",
        chart=both_widths(partial(charts.rating_picture, review.found)) if review.has_errors else None,
        ratings=editions.list_sheet("rating list", review.found),
        following=None if review.following is None else review.following.sheet(),
        following_command=shlex.join([*_NEXT, review.name]),
    )


def matrix_kind(engines: int) -> str:
    """Return the classes of a matrix of ratings. Their meaning is that of `crosstable_markup`."""
    return "cross" + " many" * (engines > _PHONE_COLUMNS) + " most" * (engines > _PAPER_COLUMNS)


def _superiority(review: ListReview, site: Site) -> str:
    here = "superiority.html"
    assert review.los is not None
    kind = matrix_kind(len(review.los.names))
    matrix = matrix_sheet("likelihood of superiority", review.los)
    return render_page(here, site=site, here=here, matrix=matrix, kind=kind)


def _history(review: ListReview, site: Site) -> str:
    here = "history.html"
    return render_page(here, site=site, here=here, lists=[_list_parts(review.history)], paths=[])


def _engine(site: Site, engine: ListedEngine) -> str:
    met = {"name": engine.name, "rating": engine.row.rating, "games": engine.row.games, "first": None, "last": None}
    sheet = editions.opponents_sheet({**met, "opponents": [asdict(opponent) for opponent in engine.opponents]})
    faced = [lists.OpponentScore(one.name, one.rating, 2 * one.wins + one.draws, one.games) for one in engine.opponents]
    return render_page(
        "listengine.html",
        site=site,
        here=f"engines/{engine.slug}.html",
        one=engine,
        opponents=sheet,
        editions=_editions(engine.editions),
        chart=_chart_figure(charts.opponents_picture(engine.row.rating, faced)),
        curve=both_widths(partial(charts.career_picture, engine.name, engine.editions)),
    )


def _editions(points: tuple[PublishedRating, ...]) -> Sheet:
    columns = (
        Column("edition", "edition"),
        Column("made", "published", left=True),
        Column("rank", "#"),
        Column("rating", "rating"),
        Column("games", "games"),
    )
    rows = tuple(
        {
            "edition": point.edition,
            "made": format_utc(point.made_unix),
            "rank": point.rank,
            "rating": histories.format_rating(point),
            "games": point.games,
        }
        for point in reversed(points)
    )
    return Sheet("editions", columns, rows)
