"""Check the accessibility of a page in the browser.

language     html has lang, the page has a title
headings     one h1, no skipped levels
landmarks    one main, every nav has a name, the first link leads to the content
names        every link, button and field has a name; every image has a text or is decorative
ids          ids are unique, and references of aria exist
tables       header cells have a scope
contrast     at least 4.5 for text, 3 for large text (WCAG 2.2, 1.4.3)
"""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

_FINDINGS = Path(__file__).with_suffix(".js").read_text("utf-8")


def findings(page: Page) -> list[str]:
    """Return the faults of a page, one line each."""
    found: list[str] = page.evaluate(_FINDINGS.partition("\n")[2])
    return found


def is_wider_than_its_window(page: Page) -> bool:
    """Whether the page scrolls sideways; elements in it may."""
    return bool(page.evaluate("document.documentElement.scrollWidth > window.innerWidth"))
