"""Tests of reports/html/page."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from enginetour.formats.pairing.standings import CrossRow
from enginetour.model.game import Outcome, format_fixed
from enginetour.reports.charts import canvas
from enginetour.reports.html import game
from enginetour.reports.html.page import (
    HTML_DIR,
    CrossGames,
    Site,
    crosstable_markup,
    engine_link,
    format_rounded,
    read_asset,
    section_id,
)
from enginetour.reports.review.engines import opponents_of
from enginetour.reports.review.pages import report_pages, report_site
from enginetour.reports.review.tournament import review_tournament
from enginetour.reports.review.write import write_report
from enginetour.reports.sheet import safe_text
from enginetour.store.tournaments import Store
from tests.support import databases
from tests.support.databases import BUBBLE, Page, broken, leads_away, reported_played, runs_strange

# The pages of a report: whole, safe, linked to each other and to nothing else, and of bearable size.

GOLDEN = Path(__file__).parents[2] / "golden" / "report"
FOUR = ("Fruit 2.1", "Toga II", "Phalanx XXV", "HoiChess")
LARGEST = 2_000_000  # bytes of a page
FIGURE = re.compile(r"<figure.*?</figure>", re.DOTALL)


def test_every_page_is_whole_and_every_link_leads_somewhere(tmp_path: Path) -> None:
    """All files of a bubble's report are well-formed, lead to files that are there, and to no other host."""
    store, log = reported_played(tmp_path / "db", ("A", "B", "C", "D", "E", "F"), "bubble", BUBBLE)
    with store:
        count, numbers = write_report(log, tmp_path / "report").pages, log.last_number
    folder = tmp_path / "report"
    read = {str(one.relative_to(folder)): Page(one.read_text("utf-8")) for one in folder.rglob("*.html")}
    assert len(read) == count
    assert {"index.html", "crosstable.html", "ladder.html", "games.html", "incidents.html", "fairness.html"} <= set(
        read
    )
    assert {f"games/{number}.html" for number in range(1, numbers + 1)} < set(read)
    for here, page in read.items():
        assert broken(folder, here, read) == [], here
        assert leads_away(page) == [], here
        assert runs_strange(page) == [], here
        assert len(set(page.ids)) == len(page.ids), here
        assert sum(tag == "h1" for tag, _ in page.elements) == 1, here
        assert [own["lang"] for own in page.tags("html")] == ["en"]
        (policy,) = (own["content"] for own in page.tags("meta") if own.get("http-equiv") == "Content-Security-Policy")
        assert policy is not None and policy.startswith("default-src 'none'") and "unsafe" not in policy


@pytest.mark.parametrize(("system", "options"), [("swiss", {"rounds": 3}), ("bubble", BUBBLE)])
def test_golden(tmp_path: Path, system: str, options: dict[str, int]) -> None:
    """The pages of a small report, but for their charts, are as they were looked at."""
    store, log = reported_played(tmp_path / "db", FOUR, system, options)
    with store:
        review = review_tournament(log, again="enginetour run autumn.toml")
    made = {address: make() for address, make in report_pages(review, report_site(review))}
    told = "\n".join(f"==> {here} <==\n{FIGURE.sub('<figure/>', text)}" for here, text in made.items())
    assert told == (GOLDEN / f"{system}.txt").read_text("utf-8")


@pytest.mark.parametrize("system", ["roundrobin", "swiss", "bubble", "cup", "match"])
@pytest.mark.parametrize("most", [0, 1, 3])
def test_pages_of_a_tournament_under_way(tmp_path: Path, system: str, most: int) -> None:
    """There is a report from before the first game on, of any format."""
    names = FOUR[:2] if system == "match" else FOUR
    options = {"bubble": BUBBLE, "match": {"games": 4}, "swiss": {"rounds": 2}}.get(system, {})
    store, log = reported_played(tmp_path / "db", names, system, options, most=most)
    with store:
        review = review_tournament(log)
    for here, make in report_pages(review, report_site(review)):
        page = Page(make())
        assert "nan" not in page.said.lower().split(), here
        assert ("· not finished" in page.said) == (here == "index.html"), here


def test_two_hundred_engines_are_one_readable_crosstable() -> None:
    """A crosstable of 200 with two games each stays below the limit, its first column and its head stand still."""
    names = [f"Engine number {n} of a long name {n % 7}.{n % 10}" for n in range(200)]
    cells = [
        [CrossGames(((1000 * r + c, 2), (1000 * c + r, 0))) if r != c else None for c in range(200)] for r in range(200)
    ]
    rows = [CrossRow(name, 199 * 2, 199 * 2, tuple(own)) for name, own in zip(names, cells, strict=True)]
    site = Site("x", (), {name: f"engine-{n}" for n, name in enumerate(names)})
    text = str(crosstable_markup(rows, site, "crosstable.html"))
    assert len(text.encode()) < LARGEST
    page = Page(text)
    assert sum(own.get("class") == "stick" for own in page.tags("th")) == 201
    assert page.said.count("10") >= 200 * 199
    css = read_asset("report.css")
    assert re.search(r"\.cross \.stick \{[^}]*position: sticky; left: 0", css)
    assert re.search(r"\.cross thead th \{[^}]*position: sticky; top: 0", css)


def test_crosstable_of_many_links_stays_small() -> None:
    """Just as many games as still are linked one by one make a page below the limit."""
    names = [f"{n}" * 30 for n in range(1, 101)]
    numbers = iter(range(10**6))
    cells = [
        [CrossGames(((next(numbers), 2), (next(numbers), 0))) if r != c else None for c in range(100)]
        for r in range(100)
    ]
    rows = [CrossRow(name, 198, 198, tuple(own)) for name, own in zip(names, cells, strict=True)]
    text = str(crosstable_markup(rows, Site("x", ()), "crosstable.html"))
    assert '<a href="games/' in text
    assert len(text.encode()) < LARGEST


def test_long_lists_of_games_are_parted(tmp_path: Path) -> None:
    """20,000 games with long names take several pages, each below the limit, and none is lost."""
    store, log = reported_played(tmp_path / "db", FOUR, most=1)
    with store:
        (line,) = log.games()
    games = [replace(line, number=n, white="W" * 100, black="<" * 50, outcome=Outcome.WHITE) for n in range(1, 20_001)]
    parts = game.list_parts(games)
    assert [one.number for part in parts for one in part] == list(range(1, 20_001))
    site = Site("x", ())
    sizes = [len(str(game.list_table(part, site, game.list_address(n))).encode()) for n, part in enumerate(parts[:2])]
    assert len(parts) > 2
    assert all(LARGEST / 2 < size < LARGEST * 0.95 for size in sizes), sizes


def test_colours_are_those_of_the_charts() -> None:
    """The style sheet and the charts have one palette, light and dark."""
    light, _, dark = read_asset("report.css").partition("prefers-color-scheme: dark")
    wanted = dict(canvas.LIGHT_COLORS)
    assert {role: re.search(rf"--{role}: (#\w+);", light)[1] for role in wanted} == wanted  # type: ignore[index]
    assert wanted.keys() <= set(re.findall(r"--([\w-]+): #\w+;", dark.partition("}")[0]))


def test_addresses_of_a_site() -> None:
    """A link leads from wherever it stands: up from a folder, below the prefix of a server, inside a single file."""
    site = Site("x", ())
    assert site.link("games/3.html", "index.html") == "games/3.html"
    assert site.link("index.html", "games/3.html") == "../index.html"
    assert replace(site, prefix="/t/autumn/").link("games/3.html", "games/4.html") == "/t/autumn/games/3.html"
    assert replace(site, single=True).link("games/3.html", "index.html") == "#games-3"
    assert section_id("index.html") == "index"


def test_engines_without_a_page_are_not_linked() -> None:
    """A name that has no page, and a game that has none, are words."""
    site = Site("x", (), {"Fruit": "fruit"}, frozenset({3}))
    assert (site.engine("Fruit"), site.engine("Toga")) == ("engines/fruit.html", None)
    assert (site.game(3), site.game(4)) == ("games/3.html", None)


def test_long_names_keep_their_ends() -> None:
    """Two builds of an engine whose names differ in the last sign only differ in every table, however narrow."""
    site, names = Site("x", ()), [f"engine-dev-20261122-{end}" for end in ("a1b2c3d4", "a1b2c3d5")]
    told = [str(engine_link(name, site, "index.html", cut=True)) for name in names]
    assert told[0] == '<bdi class="long"><span>engine-dev-20261122-a1</span><span>b2c3d4</span></bdi>'
    assert told[1].endswith("<span>b2c3d5</span></bdi>")
    assert str(engine_link("Fruit 2.1 <b>", site, "index.html", cut=True)) == "<bdi>Fruit 2.1 &lt;b&gt;</bdi>"
    assert str(engine_link(names[0], site, "index.html")) == f"<bdi>{names[0]}</bdi>"


def test_hostile_store(tmp_path: Path) -> None:
    """Names, causes, traffic and notes of a store that wants to harm its reader are text on every page."""
    databases.store(tmp_path / "db")
    with Store.open(tmp_path / "db", create=False) as store:
        for summary in store.tournaments():
            review = review_tournament(store.tournament(summary.name, summary.edition))
            for here, make in report_pages(review, report_site(review)):
                page = Page(make())
                assert leads_away(page) == [], here
                assert runs_strange(page) == [], here
                assert all(sign == "\n" or safe_text(sign) == sign for sign in set(page.text)), here


# A report told "-0" and changed the order of equal engines from one kind of processor to the next.


@pytest.mark.parametrize("noise", [1e-13, -1e-13])
def test_equal_ratings_stand_by_name_and_none_is_minus_nothing(noise: float) -> None:
    """Which of two equal engines a fit leaves a hair above the other, and above 0, is up to the processor."""
    games: list[Any] = [
        SimpleNamespace(white="Rybka", black=black, number=number, outcome=Outcome.DRAW, counts=True)
        for number, black in enumerate(("Toga", "Fruit"), 1)
    ]
    met = opponents_of(games, {"Fruit": noise, "Toga": -noise})["Rybka"]
    assert [one.name for one in met] == ["Fruit", "Toga"]
    assert [format_rounded(one.rating) for one in met] == ["0", "0"]


@pytest.mark.parametrize(
    ("value", "digits", "signed", "told"),
    [
        (-1e-13, 0, False, "0"),
        (-0.04, 1, True, "+0.0"),
        (-0.06, 1, True, "-0.1"),
        (12.0, 1, False, "12.0"),
        (-0.0, 2, False, "0.00"),
    ],
)
def test_a_figure_is_never_minus_nothing(value: float, digits: int, signed: bool, told: str) -> None:
    """Rounded first, then told."""
    assert format_fixed(value, digits, signed=signed) == told


# What was wrong in our style sheets.

SHEETS = sorted((HTML_DIR / "assets").glob("*.css"))


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.name)
def test_no_rule_stands_twice(sheet: Path) -> None:
    """A block pasted once more among the rules for phones undid what stood between."""
    lines = Counter(line.strip() for line in sheet.read_text("utf-8").splitlines() if "{" in line and "}" in line)
    assert [line for line, count in lines.items() if count > 1] == []


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.name)
def test_paper_is_light(sheet: Path) -> None:
    """Whoever prints from a dark desktop gets no dark board."""
    assert "@media (prefers-color-scheme" not in sheet.read_text("utf-8")
