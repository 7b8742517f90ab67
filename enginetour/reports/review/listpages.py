"""Which pages the report of a list has, and what stands on each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial

from enginetour.reports import careers, editions
from enginetour.reports.charts import opposition
from enginetour.reports.html.page import day_and_time, render
from enginetour.reports.html.site import Site
from enginetour.reports.matrix import sheet
from enginetour.reports.review import historysheets, pictures
from enginetour.reports.review.advice import told_apart
from enginetour.reports.review.listreview import ListedEngine, ListReview
from enginetour.reports.review.pages import drawn
from enginetour.reports.sheet import Column, Sheet, counted
from enginetour.store.careers import Published

Maker = Callable[[], str]


def list_site(review: ListReview) -> Site:
    """What the pages share."""
    pages = [("index.html", "List")]
    pages += [("superiority.html", "Who is stronger")] if review.los is not None else []
    pages += [("history.html", "History")] if review.history.editions else []
    found = review.found
    foot = f"{review.name}: {counted(found.games, 'game')}, {counted(len(found.rows), 'engine')}. Made by enginetour."
    return Site(review.name, tuple(pages), review.slugs, frozenset(), foot)


def list_pages(review: ListReview, site: Site) -> Iterator[tuple[str, Maker]]:
    """Address and maker of every page."""
    yield "index.html", partial(_index, review, site)
    if review.los is not None:
        yield "superiority.html", partial(_superiority, review, site)
    if review.history.editions:
        yield "history.html", partial(_history, review, site)
    for engine in review.engines:
        yield f"engines/{engine.slug}.html", partial(_engine, site, engine)


def _index(review: ListReview, site: Site) -> str:
    chart = pictures.rated(review.found) if review.has_errors else None
    return render(
        "list.html",
        site=site,
        here="index.html",
        name=review.name,
        revision=review.revision,
        definition=list(review.definition.items()),
        apart=told_apart(review.found) if review.has_errors else "",
        chart=drawn(chart),
        ratings=editions.listed("rating list", review.found),
    )


def _superiority(review: ListReview, site: Site) -> str:
    here = "superiority.html"
    assert review.los is not None
    return render(here, site=site, here=here, matrix=sheet("likelihood of superiority", review.los))


def _history(review: ListReview, site: Site) -> str:
    one = review.history
    told = (one, historysheets.editions(one), historysheets.engines(one), drawn(pictures.editions(one)))
    return render("history.html", site=site, here="history.html", lists=[told], paths=[])


def _engine(site: Site, engine: ListedEngine) -> str:
    met = {"name": engine.name, "rating": engine.row.rating, "games": engine.row.games, "first": None, "last": None}
    sheet = careers.opponents({**met, "opponents": [asdict(opponent) for opponent in engine.opponents]})
    faced = [opposition.Faced(one.name, one.rating, 2 * one.wins + one.draws, one.games) for one in engine.opponents]
    chart = opposition.score_by_rating(engine.row.rating, faced, title="Score by the opponent's rating")
    return render(
        "listengine.html",
        site=site,
        here=f"engines/{engine.slug}.html",
        one=engine,
        opponents=sheet,
        editions=_editions(engine.editions),
        chart=drawn(chart) if any(line.rating is not None for line in faced) else None,
        curve=drawn(pictures.career(engine)),
    )


def _editions(points: tuple[Published, ...]) -> Sheet:
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
            "made": day_and_time(point.made),
            "rank": point.rank,
            "rating": historysheets.rated(point),
            "games": point.games,
        }
        for point in reversed(points)
    )
    return Sheet("editions", columns, rows)
