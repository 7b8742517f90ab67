"""Which pages a report has, and what stands on each: from a review to texts, one page at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from markupsafe import Markup, escape

from enginetour.reports import ratings, text
from enginetour.reports.charts.marks import Picture
from enginetour.reports.charts.output import svg
from enginetour.reports.columns import WIDE
from enginetour.reports.html import gamelist
from enginetour.reports.html.crosstable import crosstable
from enginetour.reports.html.page import render
from enginetour.reports.html.site import Site
from enginetour.reports.html.tables import notes
from enginetour.reports.pairingreport import pairing_report
from enginetour.reports.review import pictures
from enginetour.reports.review.engines import EngineReview
from enginetour.reports.review.review import Review
from enginetour.reports.sheet import Column, Sheet, counted, safe

Maker = Callable[[], str]
MOST_TROUBLED = 10  # engines with incidents on the first page


def site_of(review: Review, *, prefix: str = "", single: bool = False) -> Site:
    """What the pages share."""
    facts = review.facts
    wrong = sum(not line.incident.is_warning for line in review.incidents)
    pages = [("index.html", "Overview"), ("crosstable.html", "Crosstable")]
    pages += [("ladder.html", "Ladder")] if review.ladder else []
    pages += [("rounds.html", "Rounds")] if review.rounds else []
    pages += [("games.html", "Games"), ("incidents.html", f"Incidents ({wrong})" if wrong else "Incidents")]
    pages += [("fairness.html", "Fairness")]
    pages += [("history.html", "History")] if review.history.lists or review.history.paths else []
    games_told = f"{counted(facts.games, 'game')} that count{'s' * (facts.games == 1)}"
    foot = f"{facts.title}: {games_told}, {counted(facts.entrants, 'engine')}. Made by enginetour."
    return Site(facts.title, tuple(pages), review.slugs, foot=foot, prefix=prefix, single=single)


def pages(review: Review, site: Site) -> Iterator[tuple[str, Maker]]:
    """Address and maker of every page but those of single games; each is made when it is asked for."""
    yield "index.html", partial(index_page, review, site)
    yield "crosstable.html", partial(crosstable_page, review, site)
    if review.ladder:
        yield "ladder.html", partial(ladder_page, review, site)
    if review.rounds:
        yield "rounds.html", partial(rounds_page, review, site)
    parts = gamelist.parts(review.games)
    for number in range(len(parts)):
        yield gamelist.address(number), partial(games_page, review, site, parts, number)
    yield "incidents.html", partial(incidents_page, review, site)
    yield "fairness.html", partial(fairness_page, review, site)
    if review.history.lists or review.history.paths:
        yield "history.html", partial(history_page, review, site)
    for engine in review.engines:
        yield f"engines/{engine.slug}.html", partial(engine_page, review, site, engine)


def drawn(picture: Picture | None) -> Markup | None:
    """The chart as it stands in a figure of a page: its title in words, then the drawing."""
    if picture is None:
        return None
    caption = f"<figcaption>{escape(safe(picture.title))}</figcaption>"
    return Markup(f"{caption}\n{svg(picture)}")  # noqa: S704  # its words are escaped where it is drawn


def index_page(review: Review, site: Site) -> str:
    """Who is best and how sure that is, what happened, what went wrong, what next."""
    return render(
        "index.html",
        site=site,
        here="index.html",
        facts=review.facts,
        chart=drawn(pictures.rating_list(review)),
        ratings=ratings.likelihood("rating list", review.ratings, _columns(review)),
        standings=text.standings("standings", review.standings, review.odds),
        test=review.test,
        story=review.story,
        course=drawn(pictures.scores(review)),
        advice=review.advice,
        trouble=_trouble(review, most=MOST_TROUBLED),
        wrong=sum(not line.incident.is_warning for line in review.incidents),
        warnings=sum(line.incident.is_warning for line in review.incidents),
        fairness=review.fairness,
    )


def crosstable_page(review: Review, site: Site) -> str:
    """Everybody against everybody, the cells leading to the games."""
    here = "crosstable.html"
    sums = {row.name: row.half_points for row in review.crosstable}
    why = text.apart(review.standings, sums, by_match=dict(review.facts.settings).get("scoring") == "match")
    rows = [
        replace(row, half_points=line.half_points)
        for row, line in zip(review.crosstable, review.standings, strict=True)
    ]
    return render(here, site=site, here=here, table_of=crosstable(rows, site, here) + notes(why))


def ladder_page(review: Review, site: Site) -> str:
    """The bubble's story as a picture and in words."""
    here, ladder = "ladder.html", review.ladder
    assert ladder is not None
    return render(
        here, site=site, here=here, ladder=ladder, chart=drawn(pictures.ladder(review)), orders=_orders(review)
    )


def rounds_page(review: Review, site: Site) -> str:
    """Round by round: who met whom, the results, and why these pairs."""
    here = "rounds.html"
    report = pairing_report("pairing report", review.figures, review.notes)
    return render(here, site=site, here=here, rounds=review.rounds, report=report)


def games_page(review: Review, site: Site, parts: Sequence[Sequence[gamelist.Listed]], number: int) -> str:
    """The list of games, or a part of it where it is long."""
    return render(
        "games.html",
        site=site,
        here=gamelist.address(number),
        games=gamelist.table(parts[number], site, gamelist.address(number)),
        parts=[(gamelist.address(place), part) for place, part in enumerate(parts)],
        names=sorted({name for game in parts[number] for name in (game.white, game.black)}),
        endings=sorted({game.termination for game in parts[number]}),
        void=review.facts.void,
    )


def incidents_page(review: Review, site: Site) -> str:
    """What went wrong, with the talk that led to it."""
    from enginetour.reports.review.traffic import told

    here = "incidents.html"
    return render(here, site=site, here=here, trouble=_trouble(review), lines=told(review.incidents))


def fairness_page(review: Review, site: Site) -> str:
    """Was it fair: colours, openings, the referee, the machine."""
    from enginetour.reports.review import fairnesssheets as sheets

    here, found = "fairness.html", review.fairness
    return render(
        here,
        site=site,
        here=here,
        fairness=found,
        games=review.facts.games,
        more_openings=not dict(review.facts.settings).get("openings", "").startswith("the usual start"),
        measures=sheets.measures(found),
        openings=sheets.openings(found),
        margins=sheets.margins(found),
        own=sheets.own_shares(found),
        charts=[drawn(picture) for picture in pictures.fairness(found)],
    )


def history_page(review: Review, site: Site) -> str:
    """The engines in published lists, and by incremental systems."""
    from enginetour.reports.review import historysheets as sheets

    here = "history.html"
    lists = [
        (one, sheets.editions(one), sheets.engines(one), drawn(pictures.editions(one))) for one in review.history.lists
    ]
    paths = [
        (name, sheets.paths(own), drawn(pictures.paths(name, own))) for name, own in sheets.by_system(review.history)
    ]
    return render(here, site=site, here=here, lists=lists, paths=paths)


def engine_page(review: Review, site: Site, engine: EngineReview) -> str:
    """One engine: what it is, against whom it did what, its time, its endings, its incidents."""
    from enginetour.reports.review.enginefacts import facts, opponents

    here = f"engines/{engine.slug}.html"
    return render(
        "engine.html",
        site=site,
        here=here,
        engine_of=engine,
        facts=facts(engine),
        opponents=opponents(engine, site, here),
        chart=drawn(pictures.opponents(engine)),
        incidents=[line for line in review.incidents if line.incident.at_fault == engine.name],
        paths=[path for path in review.history.paths if path.name == engine.name],
    )


def _columns(review: Review) -> tuple[str, ...]:
    return ("pool", *WIDE) if len(review.ratings.pools) > 1 else WIDE


def _orders(review: Review) -> Sheet:
    """Both orders of a bubble side by side."""
    assert review.ladder is not None
    ranking = [line for line in review.ladder.ranking if line.rank is not None]
    columns = (
        Column("rank", "#"),
        Column("engine", "drop-out order" if review.facts.finished else "order so far", left=True),
        Column("status", "status", left=True),
        Column("opponent", "rating order", left=True),
    )
    rated = (*review.ladder.by_rating, *("",) * (len(ranking) - len(review.ladder.by_rating)))
    rows = tuple(
        {"rank": line.rank, "engine": line.name, "status": line.status, "opponent": other}
        for line, other in zip(ranking, rated, strict=True)
    )
    return Sheet("both orders", columns, rows)


def _trouble(review: Review, most: int | None = None) -> Sheet:
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
    notes = (f"and {counted(more, 'more engine')}",) if more else ()
    return Sheet("incidents by engine", columns, tuple(rows[:most]), notes=notes)
