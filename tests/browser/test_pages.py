"""All pages of a report in a browser: links, color schemes, phone, keyboard, no requests to other hosts."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urldefrag, urljoin, urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.accessible import findings, is_wider_than_its_window
from tests.browser.conftest import PHONE, Opened, shot
from tests.support.tournaments import tour

KINDS = ("index", "crosstable", "bubble", "games", "incidents", "fairness", "engines", "game")


def kind_of(url: str) -> str:
    """Return the kind of a page, which is the same for all engines and for all games."""
    path = urlsplit(url).path
    parent = path.rsplit("/", 2)[-2]
    return {"engines": "engines", "games": "game"}.get(parent, path.rsplit("/", 1)[-1].removesuffix(".html"))


def test_every_page_is_there_and_sound(site: str, opened: Opened) -> None:
    """Every link from the overview leads to a page, and the first page of each kind is accessible."""
    page = opened(f"{site}/index.html")
    seen, due, first = set[str](), [f"{site}/index.html"], dict[str, str]()
    while due:
        url = due.pop(0)
        if url in seen:
            continue
        seen.add(url)
        answer = page.goto(url)
        assert answer is not None
        assert answer.status == 200, url
        if kind_of(url) not in first:
            first[kind_of(url)] = url
            assert findings(page) == [], url
            shot(page, f"page-{kind_of(url)}")
        elif len(seen) > 40:
            continue
        found = [
            urldefrag(urljoin(url, link))[0]
            for link in page.locator("a").evaluate_all("all => all.map((one) => one.href)")
        ]
        due += [link for link in found if link.startswith(f"{site}/") and link not in seen]
    assert set(KINDS) <= first.keys()


@pytest.mark.parametrize("name", ["index", "crosstable", "bubble", "games", "fairness", "engine", "games/1"])
def test_in_the_dark_and_on_a_phone(site: str, opened: Opened, name: str) -> None:
    """Contrast is sufficient in the dark scheme, and a phone does not scroll sideways."""
    page = opened(f"{site}/index.html", color_scheme="dark", viewport=PHONE)
    if name == "engine":
        page.locator("main a[href*='engines/']").first.click()
        expect(page).to_have_url(re.compile("/engines/"))
        page.wait_for_load_state()
    else:
        page.goto(f"{site}/{name}.html")
    shot(page, f"page-{name.replace('/', '-')}-dark-phone")
    assert findings(page) == []
    assert not is_wider_than_its_window(page)


def test_a_report_from_disk_is_the_same(finished: Path, opened: Opened) -> None:
    """A report on disk has working styles, links and scripts."""
    tour(finished, "report")
    folder = next(path for path in (finished / "results").iterdir() if (path / "index.html").is_file())
    page = opened((folder / "index.html").as_uri())
    assert page.evaluate("getComputedStyle(document.querySelector('.skip')).position") == "absolute"
    page.locator("nav a", has_text="Games").click()
    expect(page).to_have_url(re.compile("/games.html$"))
    page.locator("main a[href*='games/']").first.click()
    expect(page).to_have_url(re.compile("/games/[0-9]+.html$"))
    expect(page.locator("main svg.board")).to_be_visible()


def test_a_game_is_replayed_by_keyboard(site: str, opened: Opened) -> None:
    """Home, arrows and End show positions, which are described as text."""
    page = opened(f"{site}/games/1.html")
    men, said = page.locator("svg.board .men > *"), page.locator("p.announced")
    last = men.count()
    page.keyboard.press("Home")
    expect(men).to_have_count(32)
    at_home = said.inner_text()
    page.keyboard.press("ArrowRight")
    expect(said).not_to_have_text(at_home)
    page.keyboard.press("End")
    expect(men).to_have_count(last)


def test_the_first_key_leads_to_the_content(site: str, opened: Opened) -> None:
    """Tab shows the link to the content, and Enter follows it."""
    page = opened(f"{site}/index.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.locator(".skip").bounding_box()["x"] >= 0  # type: ignore[index]
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("#main$"))  # the browser navigates asynchronously
