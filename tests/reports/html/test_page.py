"""Tests of the pages of a report."""

from __future__ import annotations

import re
import shutil
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from enginetour.model.game import Outcome, format_fixed
from enginetour.reports.charts import canvas
from enginetour.reports.html import page as html_page
from enginetour.reports.html.page import HTML_DIR, read_asset, render_page
from enginetour.reports.html.tables import Site
from enginetour.reports.review.engines import opponents_of
from enginetour.reports.review.pages import report_pages, report_site
from enginetour.reports.review.tournament import review_tournament
from enginetour.reports.review.write import write_report
from enginetour.reports.sheet import format_whole, safe_text
from enginetour.store.tournaments import Store
from tests.support import databases
from tests.support.databases import BUBBLE, Page, broken, leads_away, reported_played, runs_strange

GOLDEN = Path(__file__).parents[2] / "golden" / "report"
FOUR = ("Fruit 2.1", "Toga II", "Phalanx XXV", "HoiChess")
FIGURE = re.compile(r"<figure.*?</figure>", re.DOTALL)


def test_every_page_is_whole_and_every_link_leads_somewhere(tmp_path: Path) -> None:
    """All pages of a report are well-formed, and their links lead to existing pages only."""
    store, log = reported_played(tmp_path / "db", ("A", "B", "C", "D", "E", "F"), "bubble", BUBBLE)
    with store:
        count, numbers = len(list(write_report(log, tmp_path / "report").parent.rglob("*.html"))), log.last_number
    folder = tmp_path / "report"
    read = {str(one.relative_to(folder)): Page(one.read_text("utf-8")) for one in folder.rglob("*.html")}
    assert len(read) == count
    assert {"index.html", "crosstable.html", "bubble.html", "games.html", "incidents.html", "fairness.html"} <= set(
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


def test_compiled_templates_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled templates are used again unless they are damaged or other templates or programs made them."""

    def rendered() -> str:
        html_page._environment.cache_clear()
        return render_page("incidents.html", site=Site("autumn", ()), here="incidents.html", lines=[], trouble=None)

    shutil.copytree(HTML_DIR / "templates", tmp_path / "templates", ignore=shutil.ignore_patterns("__pycache__"))
    kept = tmp_path / "templates" / "__pycache__"
    monkeypatch.setattr(html_page, "HTML_DIR", tmp_path)
    monkeypatch.setattr(html_page, "_KEPT", kept)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    expected = rendered()
    assert not kept.exists()
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    try:
        assert rendered() == expected
        before = {path: path.stat().st_mtime_ns for path in kept.iterdir()}
        assert rendered() == expected and before
        assert {path: path.stat().st_mtime_ns for path in kept.iterdir()} == before
        for damaged in (lambda data: data[: len(data) // 2], lambda data: data[:80] + b"?" * 9, lambda _: b""):
            for path in before:
                path.write_bytes(damaged(path.read_bytes()))
            assert rendered() == expected
        template = tmp_path / "templates" / "incidents.html"
        template.write_text(template.read_text().replace("<h1>Incidents", "<h1>Other"))
        assert rendered() == expected.replace("<h1>Incidents", "<h1>Other")
    finally:
        html_page._environment.cache_clear()


def test_the_drawings_of_the_pieces_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The script with the pieces is made once for a program, and read after that; the program stays the same."""
    monkeypatch.setattr(html_page, "_KEPT", tmp_path / "kept")
    monkeypatch.setattr(html_page, "HTML_DIR", tmp_path / "reports" / "html")  # the program is below tmp_path
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    html_page.program_digest.cache_clear()
    before = html_page.program_digest()
    try:
        for _ in range(2):
            html_page._pieces_script.cache_clear()
            made = html_page.read_asset("pieces.js")
            (file,) = (tmp_path / "kept").iterdir()
            assert file.read_text().endswith(made)
            file.write_text(file.read_text().replace("#000", "#010"))
            html_page._pieces_script.cache_clear()
            assert html_page.read_asset("pieces.js") == made.replace("#000", "#010")
            file.write_text(f"other program {made}")
        html_page.program_digest.cache_clear()
        assert html_page.program_digest() == before
    finally:
        html_page._pieces_script.cache_clear()
        html_page.program_digest.cache_clear()


@pytest.mark.parametrize(("system", "options"), [("swiss", {"rounds": 3}), ("bubble", BUBBLE)])
def test_golden(tmp_path: Path, system: str, options: dict[str, int]) -> None:
    """The pages of a small report, without charts, equal recorded ones."""
    store, log = reported_played(tmp_path / "db", FOUR, system, options)
    with store:
        review = review_tournament(log, again="enginetour run autumn.toml")
    made = {address: make() for address, make in report_pages(review, report_site(review))}
    told = "\n".join(f"==> {here} <==\n{FIGURE.sub('<figure/>', text)}" for here, text in made.items())
    assert told == (GOLDEN / f"{system}.txt").read_text("utf-8")


@pytest.mark.parametrize("system", ["roundrobin", "swiss", "bubble", "knockout", "match"])
@pytest.mark.parametrize("most", [0, 1, 3])
def test_pages_of_a_tournament_under_way(tmp_path: Path, system: str, most: int) -> None:
    """A report exists before the first game of every format."""
    names = FOUR[:2] if system == "match" else FOUR
    options = {"bubble": BUBBLE, "match": {"games": 4}, "swiss": {"rounds": 2}}.get(system, {})
    store, log = reported_played(tmp_path / "db", names, system, options, most=most)
    with store:
        review = review_tournament(log)
    for here, make in report_pages(review, report_site(review)):
        page = Page(make())
        assert "nan" not in page.said.lower().split(), here
        assert ("· not finished" in page.said) == (here == "index.html"), here


@pytest.mark.parametrize(("here", "up"), [("index.html", ""), ("games-2.html", ""), ("engines/fruit.html", "../")])
def test_a_page_links_from_its_own_folder(here: str, up: str) -> None:
    """Links are relative to the directory of the page."""
    page = render_page("crosstable.html", site=Site("x", (("index.html", "Overview"),)), here=here, table_of="")
    assert f'href="{up}assets/report.css"' in page and f'<a href="{up}index.html"' in page
    assert ("aria-current" in page) == (here == "index.html")


def test_colors_are_those_of_the_charts() -> None:
    """The style sheet and the charts have the same colors."""
    light, _, dark = read_asset("report.css").partition("prefers-color-scheme: dark")
    wanted = dict(canvas.LIGHT_COLORS)
    assert {role: re.search(rf"--{role}: (#\w+);", light)[1] for role in wanted} == wanted  # type: ignore[index]
    assert wanted.keys() <= set(re.findall(r"--([\w-]+): #\w+;", dark.partition("}")[0]))


def test_hostile_store(tmp_path: Path) -> None:
    """Hostile text is shown as text on every page."""
    databases.store(tmp_path / "db")
    with Store.open(tmp_path / "db", create=False) as store:
        for summary in store.tournaments():
            review = review_tournament(store.tournament(summary.name, summary.edition))
            for here, make in report_pages(review, report_site(review)):
                page = Page(make())
                assert leads_away(page) == [], here
                assert runs_strange(page) == [], here
                assert all(sign == "\n" or safe_text(sign) == sign for sign in set(page.text)), here


# Rounding.


@pytest.mark.parametrize("noise", [1e-13, -1e-13])
def test_equal_ratings_stand_by_name_and_none_is_minus_nothing(noise: float) -> None:
    """Engines whose ratings differ by rounding errors are ordered by name, and no rating is -0."""
    games: list[Any] = [
        SimpleNamespace(white="Rybka", black=black, number=number, outcome=Outcome.DRAW, counts=True)
        for number, black in enumerate(("Toga", "Fruit"), 1)
    ]
    met = opponents_of(games, {"Fruit": noise, "Toga": -noise})["Rybka"]
    assert [one.name for one in met] == ["Fruit", "Toga"]
    assert [format_whole(one.rating) for one in met] == ["0", "0"]


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
    """Numbers are rounded before they are formatted."""
    assert format_fixed(value, digits, signed=signed) == told


# Style sheets.

SHEETS = sorted((HTML_DIR / "assets").glob("*.css"))


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.name)
def test_no_rule_stands_twice(sheet: Path) -> None:
    """No rule occurs twice in a style sheet."""
    lines = Counter(line.strip() for line in sheet.read_text("utf-8").splitlines() if "{" in line and "}" in line)
    assert [line for line, count in lines.items() if count > 1] == []


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.name)
def test_paper_is_light(sheet: Path) -> None:
    """Dark colors apply to screens only."""
    assert "@media (prefers-color-scheme" not in sheet.read_text("utf-8")
