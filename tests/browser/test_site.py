"""The site of a league from disk in a browser: search, games, and phones."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import Page, expect

from enginetour.reports.site.write import write_site
from enginetour.store.tournaments import Store
from tests.browser.accessible import findings, is_wider_than_its_window
from tests.browser.conftest import PHONE, Opened, until
from tests.support.databases import league_played

NAMES = ("Ada <i>", "Bea", "Cid", "constructor", "__proto__", "Fay", "Gus \u202eX", "H" * 80)
DIVISIONS, GAMES = 6, 13_200


def site(folder: Path, seasons: int = 2) -> Path:
    """Write the site of a small league and return its directory."""
    league_played(folder / "db", NAMES, seasons, left=4)
    with Store.open(folder / "db", create=False) as store:
        return write_site(store, "Mini", folder / "site").start.parent


def rows(page: Page) -> list[str]:
    """Return the lines of the list of games."""
    return page.locator("#game-list tbody tr").all_inner_texts()


def loaded(page: Page) -> None:
    """Wait until the list of games is there."""
    until(page, "!document.getElementById('search').hidden")


def test_pages_fit_a_phone_and_are_accessible(tmp_path: Path, opened: Opened) -> None:
    """No page scrolls sideways on a phone, and all pages are accessible."""
    folder = site(tmp_path)
    pages = ["index.html", "seasons.html", "seasons/2.html", "engines.html", "ratings.html", "games.html"]
    pages += [str(next((folder / kind).iterdir()).relative_to(folder)) for kind in ("engines", "tournaments")]
    for address in pages:
        page = opened(f"file://{folder / address}", viewport=PHONE)
        assert not is_wider_than_its_window(page), address
        assert findings(page) == [], address
    assert page.evaluate("getComputedStyle(document.querySelector('.table')).borderCollapse") == "collapse"


def test_games_are_found_and_opened(tmp_path: Path, opened: Opened) -> None:
    """A search finds games by engine and result, and its links open a game with its moves."""
    page = opened(f"file://{site(tmp_path)}/games.html")
    loaded(page)
    expect(page.locator("#count")).to_have_text("16 of 16 games")
    page.get_by_label("Search").fill("bea time")
    assert all("Bea" in line and "time" in line for line in rows(page))
    page.get_by_label("Search").fill("nothing like this")
    expect(page.locator("#count")).to_have_text("0 of 16 games")
    page.get_by_label("Search").fill("")
    page.locator("#scope").select_option("all")
    until(page, "/^([0-9]+) of \\1 games$/.test(document.getElementById('count').textContent)")
    assert page.locator("#count").inner_text() > "40 of 40 games"
    page.get_by_label("Engine").select_option("Ada <i>")
    page.get_by_label("Opponent").select_option("Bea")
    page.get_by_label("Result").select_option("void")
    assert rows(page) == []
    page.get_by_label("Result").select_option("all")
    assert rows(page)
    assert all("Ada <i>" in line and "Bea" in line for line in rows(page))
    page.locator("#game-list tbody a").first.click()
    expect(page.locator(".game.live")).to_be_attached()
    expect(page.locator("h1")).to_contain_text("Ada <i>")
    assert page.locator(".moves td.m").count() == 2
    page.get_by_label("first position").click()
    expect(page.locator(".announced")).to_have_text("Start of the game")
    assert findings(page) == []
    assert not is_wider_than_its_window(page)
    number = int(page.url.rpartition("/")[2])
    page.get_by_role("link", name="previous").click()
    expect(page.locator("#which")).to_contain_text(f", game {number - 1}")
    expect(page.locator(".game.live")).to_be_attached()


def test_a_result_of_a_crosstable_leads_to_its_games(tmp_path: Path, opened: Opened) -> None:
    """A cell of the crosstable opens the games of both engines, and a game that does not exist is one sentence."""
    folder = site(tmp_path)
    first = next(path for path in sorted((folder / "tournaments").iterdir()) if "premier" in path.name)
    page = opened(f"file://{first}")
    page.locator("table.cross td a").first.click()
    loaded(page)
    assert len(rows(page)) == 2
    page = opened(f"file://{folder}/game.html#no/1")
    expect(page.locator("#problem")).to_have_text("This game is not on this site.")


def test_without_scripts_results_can_be_read(tmp_path: Path, opened: Opened) -> None:
    """Without scripts, tables of results are complete, and the list of games leads to them."""
    folder = site(tmp_path)
    page = opened(f"file://{folder}/games.html", java_script_enabled=False)
    expect(page.locator("#search")).to_be_hidden()
    page.locator("main p a").first.click()
    expect(page.locator("table.cross")).to_be_visible()


def a_season(folder: Path) -> None:
    """Replace the lists of a site by those of a season of 79,200 games."""
    tournaments, size = [], 1_000
    for number in range(1, DIVISIONS + 1):
        slug, names = f"division-{number}", [f"Engine {number} {place}" for place in range(12)]
        tournaments.append({"slug": slug, "title": slug, "label": slug, "season": 1, "games": GAMES})
        (folder / "lists" / slug).mkdir()
        for part, first in enumerate(range(1, GAMES + 1, size), 1):
            count = min(size, GAMES - first + 1)
            found = {
                "first": first,
                "white": [at % 12 for at in range(count)],
                "black": [(at + 1 + at // 12 % 11) % 12 for at in range(count)],
                "result": "1=0"[number % 3] * count,
                "ending": [at % 3 for at in range(count)],
                "plies": [80] * count,
                "ended": [1_790_000_000, *[30] * (count - 1)],
                "incidents": {},
                "opening": [at % 250 for at in range(count)],
                "names": names,
                "openings": [f"A{at:02} Opening number {at}" for at in range(250)],
                "endings": ["mate", "time", "repetition"],
            }
            text = f"siteList({json.dumps([slug, part, found])});\n"
            (folder / "lists" / slug / f"{part:04}.js").write_text(text)
    known = {"tournaments": tournaments, "engines": [], "perScript": 100, "perList": size}
    (folder / "lists" / "names.js").write_text(f"siteNames({json.dumps(known)});\n")


SEARCH = """(words) => {
  const field = document.getElementById("words");
  const times = Array.from({ length: 9 }, () => {
    field.value = words;
    const began = performance.now();
    field.dispatchEvent(new Event("input"));
    document.body.getBoundingClientRect();
    return performance.now() - began;
  });
  return times.sort((one, other) => one - other)[4];
}"""


def test_a_search_in_a_season(tmp_path: Path, opened: Opened) -> None:
    """A search in 79,200 games shows its result in 100 ms (measured, printed), and all games can be paged through."""
    folder = site(tmp_path, 1)
    a_season(folder)
    page = opened(f"file://{folder}/games.html")
    loaded(page)
    expect(page.locator("#count")).to_have_text("79,200 of 79,200 games")
    for words in ("engine", "engine 3 11 opening 24", "repetition 1/2-1/2", "nothing"):
        print(f"search for {words!r}: {page.evaluate(SEARCH, words):.0f} ms")
    page.get_by_label("Search").fill("division 5 7")
    expect(page.locator("#count")).to_have_text("0 of 79,200 games")
    page.get_by_label("Search").fill("mate")
    mates = DIVISIONS * sum(-(-min(1_000, GAMES - first) // 3) for first in range(0, GAMES, 1_000))
    expect(page.locator("#count")).to_have_text(f"{mates:,} of 79,200 games")
    page.get_by_role("button", name="Next").click()
    expect(page.locator("#shown")).to_have_text("101–200")
    assert len(rows(page)) == 100


def test_names_of_javascript_are_names(tmp_path: Path, opened: Opened) -> None:
    """Engines with the names of properties of every object have links to their pages."""
    folder = site(tmp_path)
    page = opened(f"file://{folder}/games.html")
    loaded(page)
    for name in ("constructor", "__proto__"):
        page.get_by_label("Engine").select_option(name)
        address = page.locator("#game-list tbody a", has_text=name).first.get_attribute("href")
        assert address is not None
        assert (folder / address).is_file()
