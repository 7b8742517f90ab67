"""The live page of a running tournament: latency and readability."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.accessible import findings, is_wider_than_its_window
from tests.browser.conftest import PHONE, Opened, joined, shot, until

UPDATE_MS = 300  # promised time from the slot's stamp to the page
WATCH = """() => {
  window.late = [];
  new MutationObserver((changes) => {
    for (const { target } of changes) window.late.push(Date.now() - 1000 * Number(target.dataset.at));
  }).observe(document.getElementById("boards"), { subtree: true, attributes: true, attributeFilter: ["data-ply"] });
}"""


def test_a_move_is_on_the_page_within_moments(live: str, opened: Opened) -> None:
    """The best of ten moves is on the page within 0.3 s after the slot's stamp."""
    page = opened(f"{live}/live.html")
    page.evaluate(WATCH)
    until(page, "window.late.length >= 10")
    late = page.evaluate("window.late")
    assert min(late) < UPDATE_MS, late
    until(
        page, "document.querySelector('.curve polyline')?.getAttribute('points').split(' ').length > 2"
    )  # during a game
    expect(page.locator(".game")).to_have_count(1)
    expect(page.locator(".clock.runs")).to_have_count(1)  # no clock runs between games
    expect(page.locator("#table tbody tr")).to_have_count(2)
    shot(page, "live")
    assert findings(page) == []


def test_it_is_readable_in_the_dark_and_on_a_phone(live: str, opened: Opened) -> None:
    """Contrast, names and headings are right in the dark scheme, and a phone does not scroll sideways."""
    page = joined(opened(f"{live}/live.html", color_scheme="dark", viewport=PHONE))
    page.wait_for_selector(".game")
    shot(page, "live-dark-phone")
    assert findings(page) == []
    assert not is_wider_than_its_window(page)


def test_without_scripts_there_are_table_and_games(live: str, opened: Opened) -> None:
    """Without scripts, the page shows table and games, and says that boards need scripts."""
    page = opened(f"{live}/live.html", java_script_enabled=False)
    assert page.locator("#table tbody tr").count() == 2
    assert "JavaScript is off" in page.locator("noscript").inner_text()
    assert page.locator("#games li").count() > 0
