"""Chromium of Debian, driven by Playwright, without access to other hosts."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, expect, sync_playwright

from tests.support.network import served
from tests.support.tournaments import BUBBLE, FOUR, config, running, tour

SHOTS = Path(__file__).parent / "shots"  # ignored by git, for inspection after a run
NAMES = ("chromium", "chromium-browser", "google-chrome")
UNUSED = (
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup"),  # two pages of the address bar in each window
    *(
        "HttpsUpgrades",
        "PaintHolding",
        "Translate",
        "MediaRouter",
        "LensOverlay",
    ),  # as Playwright, whose list this replaces
    *("AimEnabled", "OptimizationHints", "NetworkTimeServiceQuerying", "PreconnectToSearch"),  # ask other hosts
)
ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
    f"--disable-features={','.join(UNUSED)}",
)
PHONE = {"width": 390, "height": 800}
PATIENCE_MS = 90_000  # on a busy machine, the first page of a browser took 31 s
Opened = Callable[..., Page]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The Chromium of this machine; the test is skipped if there is none."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("chromium is not on this machine")
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=program, headless=True, args=list(ARGUMENTS))
        yield made
        made.close()


@pytest.fixture
def opened(browser: Browser) -> Iterator[Opened]:
    """Open an address in a new context; errors in the console and requests to other hosts fail the test."""
    contexts: list[BrowserContext] = []
    wrong: list[str] = []

    def heard(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            wrong.append(f"{message.page.url if message.page else ''}: {message.text}")

    def opened(url: str, *, quiet: bool = True, **options: object) -> Page:
        context = browser.new_context(**options)  # type: ignore[arg-type]
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        page = context.new_page()
        home = urlsplit(url).netloc

        def asked(request: Request) -> None:
            parts = urlsplit(request.url)
            if parts.scheme not in ("data", "blob") and parts.netloc != home:
                wrong.append(f"asked {request.url}")

        page.on("request", asked)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        if quiet:
            page.on("console", heard)
        page.goto(url)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.fixture(scope="session")
def finished() -> Iterator[Path]:
    """A workspace with a finished bubble."""
    with tempfile.TemporaryDirectory(prefix="enginetour-browser-") as name:
        folder = Path(name)
        tour(folder, "run", str(config(folder, FOUR, "bubble", BUBBLE, strong=True)))
        yield folder


@pytest.fixture(scope="session")
def site(finished: Path) -> Iterator[str]:
    """The address of the finished bubble on a server."""
    with served(finished) as url:
        yield f"{url}/t/trial"


@pytest.fixture(scope="module")  # its engines use CPU until it ends
def live() -> Iterator[str]:
    """The address of a running tournament, until the end of a module's tests."""
    with tempfile.TemporaryDirectory(prefix="enginetour-browser-") as name:
        folder = Path(name)
        settings = "cycles = 1000\ngames_per_pairing = 2"
        path = config(folder, ("wren7", "wren8"), "roundrobin", settings, tc="3+0.03", strong=True)
        with running(folder, path) as _, served(folder) as url:
            yield f"{url}/t/trial"


def until(page: Page, expression: str) -> None:
    """Wait until an expression is true. Playwright's own wait needs eval, which the pages forbid."""
    end = time.monotonic() + PATIENCE_MS / 1000
    while not page.evaluate(expression):
        assert time.monotonic() < end, f"never so: {expression}"
        page.wait_for_timeout(50)


def joined(page: Page) -> Page:
    """Wait until a live page shows the state of the stream."""
    expect(page.locator("#headline")).to_contain_text("running")
    return page


def shot(page: Page, name: str) -> None:
    """Save a screenshot of the whole page."""
    SHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SHOTS / f"{name}.png", full_page=True)
