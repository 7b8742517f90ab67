"""Templates to pages; a whole report in one file. Everything that is put into a page is made safe and escaped."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from enginetour.reports.html.tables import (
    LEFT_OUT,
    Site,
    engine_link,
    game_link,
    section_id,
    sheet_table,
    trusted_markup,
)
from enginetour.reports.sheet import Sheet, format_count, format_duration, format_points, format_whole, safe_text

if TYPE_CHECKING:
    from jinja2 import Environment
    from jinja2.runtime import Context

GENERATOR_TAG = '<meta name="generator" content="enginetour report">'  # by which a report is known again
HTML_DIR = Path(__file__).parent
REPORT_ASSETS = ("report.css", "report.js")  # of every report
STATE_CSS = "state.css"  # of a report on the disk: whether a run has begun since it was made
GAME_ASSETS = ("game.css", "board.js")  # of pages of games, beside the pieces
# From disk, too: Chromium takes 'self' of a file: page for files. Nothing inline, nothing from anywhere else.
_CONTENT_POLICY = (
    "default-src 'none'; img-src 'self' data:; style-src 'self'; script-src 'self'; base-uri 'none'; form-action 'none'"
)
LIVE_POLICY = f"{_CONTENT_POLICY}; connect-src 'self'"  # of pages that wait for news


def render_page(template: str, *, site: Site, here: str, policy: str = _CONTENT_POLICY, **rows: object) -> str:
    """A page of a report; `here` is its own address from the root. A row that the template misses is an error."""
    place = here if any(here == address for address, _ in site.pages) else "".join(here.rpartition("/")[:2])
    frame = () if site.single else _frame(policy, site.title, site.pages, site.foot, site.prefix, place)
    return _environment().get_template(template).render(site=site, here=here, policy=policy, frame=frame, **rows)


@lru_cache(64)
def _frame(
    policy: str, title: str, pages: tuple[tuple[str, str], ...], foot: str, prefix: str, here: str
) -> list[Markup]:
    """The parts around the title, head and content of a page, which most pages of a folder share."""
    site = Site(title, pages, foot=foot, prefix=prefix)
    text = _environment().get_template("frame.html").render(site=site, here=here, policy=policy)
    return [trusted_markup(part) for part in text.split("<!-- page -->\n")]


def read_asset(name: str) -> str:
    """One of our own style sheets and scripts."""
    return (HTML_DIR / "assets" / name).read_text("utf-8")


@cache
def _environment() -> Environment:
    """Loaded when a page is made and not before: other commands never pay for it."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context

    made = Environment(
        loader=FileSystemLoader(HTML_DIR / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalized,
        auto_reload=False,  # or each page asks the disk for three templates
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update(_FILTERS)
    made.globals |= {"anchor": section_id, "generator": trusted_markup(GENERATOR_TAG), "state": STATE_CSS}
    made.globals |= {name: pass_context(make) for name, make in _MAKERS.items()}
    return made


def _link(context: Context, address: str) -> str:
    site: Site = context["site"]
    return site.link(address, context["here"])


def _engine(context: Context, name: str) -> Markup:
    return engine_link(name, context["site"], context["here"])


def _game(context: Context, number: int, words: object = None) -> Markup:
    return game_link(number, context["site"], context["here"], words)


def _table(context: Context, sheet: Sheet, **options: Any) -> Markup:
    return sheet_table(sheet, context["site"], context["here"], **options)


def _finalized(value: object) -> object:
    """Words of engines and people without anything that turns a line round; None is nothing."""
    if value is None:
        return ""
    return safe_text(value) if type(value) is str else value  # markup of ours is a subclass


def format_utc(seconds: float | None) -> str:
    """UTC seconds as people write them: ``2026-11-21 20:05 UTC``."""
    return "" if seconds is None else f"{datetime.fromtimestamp(seconds, UTC).isoformat(' ', 'minutes')[:16]} UTC"


def _format_percent(share: float | None) -> str:
    """``52.4 %``."""
    return "" if share is None else f"{100 * share:.1f} %"


_FILTERS: Mapping[str, Callable[..., object]] = {
    "points": format_points,
    "duration": format_duration,
    "moment": format_utc,
    "percent": _format_percent,
    "rounded": format_whole,
    "counted": format_count,
}

# What a template calls with its page in mind: an address, a name, a game, a sheet.
_MAKERS: Mapping[str, Callable[..., object]] = {"link": _link, "engine": _engine, "game": _game, "table": _table}


# A whole report in one file: sections one below the other, with the style sheets and scripts in it.

MAX_FILE_BYTES = 2_000_000  # bytes: what mail and forums still take
_HEADING = re.compile(r"(</?)h([1-5])(?=[\s>])")


@dataclass(frozen=True, slots=True)
class Section:
    """A page without its head and foot; `summary`: it is folded below these words."""

    address: str
    text: Markup
    summary: str = ""

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.text.encode())


def make_section(address: str, text: str, summary: str = "") -> Section:
    """A page made for a single file; below the first one all headings are a step deeper."""
    if address != "index.html":
        text = _HEADING.sub(lambda found: f"{found[1]}h{int(found[2]) + 1}", text)
    return Section(address, trusted_markup(text), summary)


def single_file(
    site: Site,
    sections: Sequence[Section],
    *,
    styles: Sequence[str],
    scripts: Sequence[str],
    missing: str,
    command: str,
    shared: Markup | None = None,
) -> str:
    """The file. `missing` tells what was left out, "" for nothing; `command` is how to have all of it.

    `shared` are definitions that drawings in it use.
    """
    return render_page(
        "single.html",
        site=site,
        here="index.html",
        policy=_policy(styles, scripts),
        sections=sections,
        styles=[*map(trusted_markup, styles)],
        scripts=[*map(trusted_markup, scripts)],
        shared=shared,
        missing=missing,
        command=command,
        left_out_id=LEFT_OUT,
        limit=MAX_FILE_BYTES // 1_000_000,
    )


def _policy(styles: Sequence[str], scripts: Sequence[str]) -> str:
    """Nothing runs and nothing styles but these very texts (CSP 3, 2.3.1: hashes)."""
    style, script = (" ".join(map(_hashed, texts)) or "'none'" for texts in (styles, scripts))
    rest = "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'"
    return f"{rest}; style-src {style}; script-src {script}"


def _hashed(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
