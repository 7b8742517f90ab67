"""What a page owes to people who do not see it, or not well: found in the page as the browser has made it.

language     html has lang, the page a title
headings     one h1, no level left out on the way down
landmarks    one main, a nav with a name, a link to the content first
names        every link, button and field has one; every picture words or is marked as none
ids          none twice; what aria refers to is there
tables       header cells have a scope
contrast     text at least 4.5 against what is behind it, large text 3 (WCAG 2.2, 1.4.3)
"""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

_FINDINGS = Path(__file__).with_suffix(".js").read_text("utf-8")


def findings(page: Page) -> list[str]:
    """What is wrong, a line each."""
    found: list[str] = page.evaluate(_FINDINGS.partition("\n")[2])
    return found


def is_wider_than_its_window(page: Page) -> bool:
    """The page scrolls sideways; boxes in it may."""
    return bool(page.evaluate("document.documentElement.scrollWidth > window.innerWidth"))
