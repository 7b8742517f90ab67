"""The live page of a tournament that is being played: how soon it knows, how it reads."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.accessible import findings, is_wider_than_its_window
from tests.browser.conftest import PHONE, Opened, joined, shot, until

UPDATE_MS = 300  # from the slot's stamp to the page: what the live page promises
WATCH = """() => {
  window.late = [];
  new MutationObserver((changes) => {
    for (const { target } of changes) window.late.push(Date.now() - 1000 * Number(target.dataset.at));
  }).observe(document.getElementById("boards"), { subtree: true, attributes: true, attributeFilter: ["data-ply"] });
}"""


def test_a_move_is_on_the_page_within_moments(live: str, opened: Opened) -> None:
    """From the slot's stamp of a move to its board in the page: under 0.3 s, as the best of ten moves shows."""
    page = opened(f"{live}/live.html")
    page.evaluate(WATCH)
    until(page, "window.late.length >= 10")
    late = page.evaluate("window.late")
    assert min(late) < UPDATE_MS, late
    until(page, "document.querySelector('.curve polyline')?.getAttribute('points').split(' ').length > 2")  # in a game
    expect(page.locator(".game")).to_have_count(1)
    expect(page.locator(".clock.runs")).to_have_count(1)  # none between two games
    expect(page.locator("#table tbody tr")).to_have_count(2)
    shot(page, "live")
    assert findings(page) == []


def test_it_is_readable_in_the_dark_and_on_a_phone(live: str, opened: Opened) -> None:
    """Contrast, names and headings hold in the dark too; nothing makes a phone scroll sideways."""
    page = joined(opened(f"{live}/live.html", color_scheme="dark", viewport=PHONE))
    page.wait_for_selector(".game")
    shot(page, "live-dark-phone")
    assert findings(page) == []
    assert not is_wider_than_its_window(page)


def test_without_scripts_there_are_table_and_games(live: str, opened: Opened) -> None:
    """What stood when it was loaded is told without a script, and that the boards need one."""
    page = opened(f"{live}/live.html", java_script_enabled=False)
    assert page.locator("#table tbody tr").count() == 2
    assert "switched off" in page.locator("noscript").inner_text()
    assert page.locator("#games li").count() > 0
