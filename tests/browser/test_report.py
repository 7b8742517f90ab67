"""A report from disk in a browser, as a directory and as a single file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from playwright.sync_api import expect

from enginetour.formats.pairing.standings import CrossRow
from enginetour.ratings.matrices import Matrix
from enginetour.reports.html.page import read_asset
from enginetour.reports.html.tables import CrossGames, Site, crosstable_markup, sheet_table
from enginetour.reports.ratinglist import matrix_sheet
from enginetour.reports.review.pages import matrix_kind
from enginetour.reports.review.write import write_report
from tests.browser.accessible import findings, is_wider_than_its_window
from tests.browser.conftest import PHONE, Opened
from tests.support.databases import BUBBLE, reported_played

SCROLLS_NOT = "(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.querySelector('.scroll'))"
NAMES = ("Fruit 2.1", "Toga <b>II</b>", "Phalanx \u202eXXV", "H" * 100)


def report(folder: Path, target: str) -> str:
    """Make a report in `folder` and return its address."""
    store, log = reported_played(folder / "db", NAMES, "bubble", BUBBLE)
    with store:
        return f"file://{write_report(log, folder / target)}"


def test_folder_from_disk(tmp_path: Path, opened: Opened) -> None:
    """Styles and scripts are loaded from disk under the page's policy, and links work."""
    page = opened(report(tmp_path, "report"))
    expect(page.locator("h1")).to_have_text("autumn")
    assert page.evaluate("getComputedStyle(document.querySelector('.table')).borderCollapse") == "collapse"
    page.get_by_role("link", name="Crosstable").click()
    page.locator("table.cross td a").first.click()
    expect(page.locator("h1")).to_contain_text("Fruit 2.1")
    page.get_by_role("link", name="Overview").click()
    expect(page.locator("h1")).to_have_text("autumn")


def test_games_are_filtered(tmp_path: Path, opened: Opened) -> None:
    """The list of games can be filtered by engine and by incidents, and a name with markup is a name."""
    page = opened(report(tmp_path, "report").replace("index.html", "games.html"))
    lines = page.locator("#game-list tbody tr")
    everything = lines.count()
    page.get_by_label("Engine").select_option("Toga <b>II</b>")
    shown = page.locator("#game-list tbody tr:visible")
    assert 0 < shown.count() < everything
    assert all("Toga <b>II</b>" in words for words in shown.all_inner_texts())
    expect(page.locator("#filter-count")).to_have_text(f"{shown.count()} of {everything} games")
    page.get_by_label("Engine").select_option("all")
    page.get_by_label("with incidents").check()
    assert 0 < shown.count() < everything


def test_one_file(tmp_path: Path, opened: Opened) -> None:
    """The hashes allow the scripts and styles, a link opens a collapsed part, and a phone does not scroll sideways."""
    page = opened(report(tmp_path, "one.html"), viewport=PHONE)
    assert not is_wider_than_its_window(page)
    assert findings(page) == []
    assert page.evaluate("getComputedStyle(document.querySelector('.table')).borderCollapse") == "collapse"
    expect(page.locator("#filter")).to_be_visible()
    expect(page.locator("#games-1")).to_be_hidden()
    page.locator("#game-list a").first.click()
    expect(page.locator("#games-1")).to_be_visible()


def test_a_position_among_incidents_is_broken_on_a_phone(tmp_path: Path, opened: Opened) -> None:
    """A FEN of up to 70 characters is wrapped on a phone."""
    start = Path(report(tmp_path, "report").removeprefix("file://"))
    accused = next(one for one in (start.parent / "engines").iterdir() if "loses on time" in one.read_text())
    page = opened(f"file://{accused}", viewport=PHONE)
    fen = "rnbqk1nr/p1p1p1p1/1p1p1p1p/P1P1P1P1/1P1P1P1P/n1b1q1r1/R1B1Q1N1/1N1K1B1R w - - 0 13"
    page.locator("ul.plain > li").first.evaluate("(line, words) => line.append(words)", fen)
    assert not is_wider_than_its_window(page)


def test_without_scripts_everything_can_be_read(tmp_path: Path, opened: Opened) -> None:
    """Without scripts, every page is complete and has no useless filter."""
    page = opened(report(tmp_path, "report").replace("index.html", "games.html"), java_script_enabled=False)
    expect(page.locator("#filter")).to_be_hidden()
    expect(page.locator("#game-list tbody tr").first).to_be_visible()


def styled(folder: Path, markup: str) -> str:
    """Write a page with the style sheet of reports and return its address."""
    (folder / "report.css").write_text(read_asset("report.css"), "utf-8")
    head = '<!doctype html><meta name="viewport" content="width=device-width"><link rel="stylesheet" href="report.css">'
    (folder / "index.html").write_text(f"{head}<main>{markup}</main>", "utf-8")
    return (folder / "index.html").as_uri()


def test_a_long_matrix_fits_a_phone(tmp_path: Path, opened: Opened) -> None:
    """A phone shows all likelihoods of a list of twenty engines, with the numbers of the opponents."""
    names = tuple(f"Engine number {number}" for number in range(20))
    values = np.full((20, 20), 0.999)
    np.fill_diagonal(values, np.nan)
    sheet = matrix_sheet("", Matrix("los", names, (1,) * 20, values))
    page = opened(
        styled(tmp_path, sheet_table(sheet, Site("x", ()), "index.html", kind=matrix_kind(20))), viewport=PHONE
    )
    assert not is_wider_than_its_window(page)
    assert page.evaluate(SCROLLS_NOT)
    assert page.locator("td:visible", has_text=">99").count() == 20 * 19
    page.set_viewport_size({"width": 1280, "height": 900})
    assert page.evaluate("getComputedStyle(document.querySelector('.cross tr')).display") == "table-row"


def test_a_long_crosstable_fits_a_phone(tmp_path: Path, opened: Opened) -> None:
    """A phone shows all results of a long crosstable, with the numbers of the opponents, without scrolling sideways."""
    rows = [
        CrossRow(f"Engine {r}", 38, 38, tuple(CrossGames(((1, 2), (2, 0))) if r != c else None for c in range(20)))
        for r in range(20)
    ]
    page = opened(styled(tmp_path, crosstable_markup(rows, Site("x", ()), "index.html")), viewport=PHONE)
    assert not is_wider_than_its_window(page)
    assert page.evaluate(SCROLLS_NOT)
    assert page.locator("td a:visible").count() == 20 * 19 * 2
    page.set_viewport_size({"width": 1280, "height": 900})
    assert page.evaluate("getComputedStyle(document.querySelector('.cross tr')).display") == "table-row"
