"""Which pages and pictures a report contains."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial

from markupsafe import Markup, escape

from enginetour.reports import editions, ratinglist, standings
from enginetour.reports.charts import lists
from enginetour.reports.charts.canvas import Picture
from enginetour.reports.charts.output import svg
from enginetour.reports.games import incident_lines
from enginetour.reports.html.page import format_utc, render_page
from enginetour.reports.html.tables import Site, crosstable_markup, list_address, list_parts, list_table, notes_list
from enginetour.reports.ladder import orders_sheet
from enginetour.reports.ratinglist import matrix_sheet
from enginetour.reports.review import charts, fairness
from enginetour.reports.review import lists as histories
from enginetour.reports.review.engines import EngineReview, engine_facts, opponents_table
from enginetour.reports.review.lists import ListedEngine, ListHistory, ListReview
from enginetour.reports.review.tournament import TournamentReview, leaders_note
from enginetour.reports.sheet import WIDE_COLUMNS, Column, Sheet, format_count, safe_text
from enginetour.reports.standings import pairing_report
from enginetour.store.careers import PublishedRating
from enginetour.store.games import GameLine

# Which pages a report has, and what stands on each: from a review to texts, one page at a time.

_PageMaker = Callable[[], str]
_MOST_TROUBLED = 10  # engines with incidents on the first page
_MAX_LOG_LENGTH = 1_200_000  # characters of traffic on the page of incidents; the rest is on the games' own pages
_UNBROKEN = 1_000  # columns: the box scrolls, lines are broken for nobody


def report_site(review: TournamentReview, *, prefix: str = "", single: bool = False) -> Site:
    """What the pages share."""
    facts = review.facts
    wrong = sum(not line.incident.is_warning for line in review.incidents)
    pages = [("index.html", "Overview"), ("crosstable.html", "Crosstable")]
    pages += [("ladder.html", "Ladder")] if review.ladder is not None else []
    pages += [("rounds.html", "Rounds")] if review.rounds else []
    pages += [("games.html", "Games"), ("incidents.html", f"Incidents ({wrong})" if wrong else "Incidents")]
    pages += [("fairness.html", "Fairness")]
    pages += [("history.html", "History")] if review.history.lists or review.history.paths else []
    games_told = f"{format_count(facts.games, 'game')} that count{'s' * (facts.games == 1)}"
    foot = f"{facts.title}: {games_told}, {format_count(facts.entrants, 'engine')}. Made by enginetour."
    return Site(facts.title, tuple(pages), review.slugs, foot=foot, prefix=prefix, single=single)


def report_pages(review: TournamentReview, site: Site) -> Iterator[tuple[str, _PageMaker]]:
    """Address and maker of every page but those of single games; each is made when it is asked for."""
    yield "index.html", partial(_index_page, review, site)
    yield "crosstable.html", partial(_crosstable_page, review, site)
    if review.ladder is not None:
        yield "ladder.html", partial(_ladder_page, review, site)
    if review.rounds:
        yield "rounds.html", partial(_rounds_page, review, site)
    parts = list_parts(review.games)
    for number in range(len(parts)):
        yield list_address(number), partial(_games_page, review, site, parts, number)
    yield "incidents.html", partial(_incidents_page, review, site)
    yield "fairness.html", partial(_fairness_page, review, site)
    if review.history.lists or review.history.paths:
        yield "history.html", partial(_history_page, review, site)
    for engine in review.engines:
        yield f"engines/{engine.slug}.html", partial(_engine_page, review, site, engine)


def _chart_figure(picture: Picture | None) -> Markup | None:
    """The chart as it stands in a figure of a page: its title in words, then the drawing."""
    if picture is None:
        return None
    caption = f"<figcaption>{escape(safe_text(picture.title))}</figcaption>"
    return Markup(f"{caption}\n{svg(picture)}")  # noqa: S704  # its words are escaped where it is drawn


def _index_page(review: TournamentReview, site: Site) -> str:
    """Who is best and how sure that is, what happened, what went wrong, what next."""
    return render_page(
        "index.html",
        site=site,
        here="index.html",
        facts=review.facts,
        chart=_chart_figure(charts.rating_picture(review.ratings)),
        ratings=ratinglist.likelihood_sheet("rating list", review.ratings, _columns(review)),
        standings=standings.standings_sheet("standings", review.standings, review.odds),
        test=review.test,
        story=review.story,
        course=_chart_figure(charts.best_scores_picture(review.standings, review.games)),
        advice=review.advice,
        trouble=_trouble(review, most=_MOST_TROUBLED),
        wrong=sum(not line.incident.is_warning for line in review.incidents),
        warnings=sum(line.incident.is_warning for line in review.incidents),
        fairness=review.fairness,
    )


def _crosstable_page(review: TournamentReview, site: Site) -> str:
    """Everybody against everybody, the cells leading to the games."""
    here = "crosstable.html"
    sums = {row.name: row.half_points for row in review.crosstable}
    why = standings.points_notes(review.standings, sums, by_match=dict(review.facts.settings).get("scoring") == "match")
    rows = [
        replace(row, half_points=line.half_points)
        for row, line in zip(review.crosstable, review.standings, strict=True)
    ]
    return render_page(here, site=site, here=here, table_of=crosstable_markup(rows, site, here) + notes_list(why))


def _ladder_page(review: TournamentReview, site: Site) -> str:
    """The bubble's story as a picture and in words."""
    here, facts = "ladder.html", review.facts
    title = "Who was in the section, and at which place"
    picture = charts.ladder_picture(review.notes, facts.games, review.standings, title)
    orders, chart = orders_sheet(review.standings, review.by_rating), _chart_figure(picture)
    return render_page(here, site=site, here=here, steps=review.ladder, chart=chart, orders=orders)


def _rounds_page(review: TournamentReview, site: Site) -> str:
    """Round by round: who met whom, the results, and why these pairs."""
    here = "rounds.html"
    report = pairing_report("pairing report", review.figures, review.notes)
    return render_page(here, site=site, here=here, rounds=review.rounds, report=report)


def _games_page(review: TournamentReview, site: Site, parts: Sequence[Sequence[GameLine]], number: int) -> str:
    """The list of games, or a part of it where it is long."""
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
    """What went wrong, with the talk that led to it: what cost a game first, then the warnings; each oldest first."""
    here, room, lines = "incidents.html", _MAX_LOG_LENGTH, []
    for line in sorted(review.incidents, key=lambda one: one.incident.is_warning):
        talk = list(incident_lines(line.incident, _UNBROKEN))[2:]
        room -= sum(map(len, talk))
        lines.append((line, talk if room >= 0 else None))
    return render_page(here, site=site, here=here, trouble=_trouble(review), lines=lines)


def _fairness_page(review: TournamentReview, site: Site) -> str:
    """Was it fair: colours, openings, the referee, the machine."""
    here, found = "fairness.html", review.fairness
    return render_page(
        here,
        site=site,
        here=here,
        fairness=found,
        games=review.facts.games,
        more_openings=not dict(review.facts.settings).get("openings", "").startswith("the usual start"),
        measures=fairness.measures_sheet(found),
        openings=fairness.openings_sheet(found),
        margins=fairness.margins_sheet(found),
        own=fairness.referee_share_sheet(found),
        charts=[_chart_figure(picture) for picture in charts.fairness_pictures(found)],
    )


def _history_page(review: TournamentReview, site: Site) -> str:
    """The engines in published lists, and by incremental systems."""
    here = "history.html"
    paths = [
        (name, histories.paths_sheet(own), _chart_figure(charts.paths_picture(name, own)))
        for name, own in histories.paths_by_system(review.history)
    ]
    return render_page(here, site=site, here=here, lists=[*map(_list_parts, review.history.lists)], paths=paths)


def _list_parts(one: ListHistory) -> tuple[object, ...]:
    chart = _chart_figure(charts.editions_picture(one))
    return one, histories.editions_sheet(one), histories.engines_sheet(one), chart


def _engine_page(review: TournamentReview, site: Site, engine: EngineReview) -> str:
    """One engine: what it is, against whom it did what, its time, its endings, its incidents."""
    here = f"engines/{engine.slug}.html"
    faced = [lists.OpponentScore(met.name, met.rating, met.half_points, len(met.games)) for met in engine.opponents]
    return render_page(
        "engine.html",
        site=site,
        here=here,
        engine_of=engine,
        facts=engine_facts(engine),
        opponents=opponents_table(engine, site, here),
        chart=_chart_figure(charts.opponents_picture(None if engine.row is None else engine.row.rating, faced)),
        incidents=[line for line in review.incidents if line.incident.at_fault == engine.name],
        paths=[path for path in review.history.paths if path.name == engine.name],
    )


def _columns(review: TournamentReview) -> tuple[str, ...]:
    return ("pool", *WIDE_COLUMNS) if len(review.ratings.pools) > 1 else WIDE_COLUMNS


def _trouble(review: TournamentReview, most: int | None = None) -> Sheet:
    """A line for each engine that had an incident or a warning, or for the `most` with most of them."""
    columns = (
        Column("engine", "engine", left=True),
        Column("incidents", "incidents"),
        Column("warnings", "warnings"),
        Column("kinds", "kinds", left=True),
    )
    rows = []
    for name in dict.fromkeys(line.incident.at_fault for line in review.incidents):
        own = [line.incident for line in review.incidents if line.incident.at_fault == name]
        grave = sum(not one.is_warning for one in own)
        kinds = dict.fromkeys(one.category for one in own)
        rows.append({"engine": name, "incidents": grave, "warnings": len(own) - grave, "kinds": ", ".join(kinds)})
    rows.sort(key=lambda row: (-int(str(row["incidents"])), str(row["engine"])))
    more = 0 if most is None else max(0, len(rows) - most)
    notes = (f"and {format_count(more, 'more engine')}",) if more else ()
    return Sheet("incidents by engine", columns, tuple(rows[:most]), notes=notes)


# Which pages the report of a list has, and what stands on each.


def list_site(review: ListReview) -> Site:
    """What the pages share."""
    pages = [("index.html", "List")]
    pages += [("superiority.html", "Who is stronger")] if review.los is not None else []
    pages += [("history.html", "History")] if review.history.editions else []
    found = review.found
    counts = f"{format_count(found.games, 'game')}, {format_count(len(found.rows), 'engine')}"
    foot = f"{review.name}: {counts}. Made by enginetour."
    return Site(review.name, tuple(pages), review.slugs, frozenset(), foot)


def list_pages(review: ListReview, site: Site) -> Iterator[tuple[str, _PageMaker]]:
    """Address and maker of every page."""
    yield "index.html", partial(_index, review, site)
    if review.los is not None:
        yield "superiority.html", partial(_superiority, review, site)
    if review.history.editions:
        yield "history.html", partial(_history, review, site)
    for engine in review.engines:
        yield f"engines/{engine.slug}.html", partial(_engine, site, engine)


def _index(review: ListReview, site: Site) -> str:
    chart = charts.rating_picture(review.found) if review.has_errors else None
    return render_page(
        "list.html",
        site=site,
        here="index.html",
        name=review.name,
        revision=review.revision,
        definition=list(review.definition.items()),
        apart=leaders_note(review.found) if review.has_errors else "",
        chart=_chart_figure(chart),
        ratings=editions.list_sheet("rating list", review.found),
    )


def _superiority(review: ListReview, site: Site) -> str:
    here = "superiority.html"
    assert review.los is not None
    return render_page(here, site=site, here=here, matrix=matrix_sheet("likelihood of superiority", review.los))


def _history(review: ListReview, site: Site) -> str:
    here = "history.html"
    return render_page(here, site=site, here=here, lists=[_list_parts(review.history)], paths=[])


def _engine(site: Site, engine: ListedEngine) -> str:
    met = {"name": engine.name, "rating": engine.row.rating, "games": engine.row.games, "first": None, "last": None}
    sheet = editions.opponents_sheet({**met, "opponents": [asdict(opponent) for opponent in engine.opponents]})
    faced = [lists.OpponentScore(one.name, one.rating, 2 * one.wins + one.draws, one.games) for one in engine.opponents]
    curve = charts.career_picture(engine.name, engine.editions)
    return render_page(
        "listengine.html",
        site=site,
        here=f"engines/{engine.slug}.html",
        one=engine,
        opponents=sheet,
        editions=_editions(engine.editions),
        chart=_chart_figure(charts.opponents_picture(engine.row.rating, faced)),
        curve=_chart_figure(curve),
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
