"""Templates to pages: everything that is put into one is text, made safe and escaped on its way in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from enginetour.reports.html import tables
from enginetour.reports.html.site import GENERATOR, Site, anchor
from enginetour.reports.sheet import Sheet, counted, points, safe
from enginetour.reports.text import duration

if TYPE_CHECKING:
    from jinja2 import Environment
    from jinja2.runtime import Context


ROOM = Path(__file__).parent
ASSETS = ("report.css", "report.js")  # of every report
STATE = "state.css"  # of a report on the disk: whether a run has begun since it was made
GAME_ASSETS = ("game.css", "board.js")  # of pages of games, beside the pieces
# From disk, too: Chromium takes 'self' of a file: page for files. Nothing inline, nothing from anywhere else.
POLICY = (
    "default-src 'none'; img-src 'self' data:; style-src 'self'; script-src 'self'; base-uri 'none'; form-action 'none'"
)


def render(template: str, *, site: Site, here: str, policy: str = POLICY, **rows: object) -> str:
    """A page of a report; `here` is its own address from the root. A row that the template misses is an error."""
    return _environment().get_template(template).render(site=site, here=here, policy=policy, **rows)


def asset(name: str) -> str:
    """One of our own style sheets and scripts."""
    return (ROOM / "assets" / name).read_text("utf-8")


@cache
def _environment() -> Environment:
    """Loaded when a page is made and not before: other commands never pay for it."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context

    made = Environment(
        loader=FileSystemLoader(ROOM / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalized,
        auto_reload=False,  # or each page asks the disk for three templates
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update(_FILTERS)
    made.globals |= {"anchor": anchor, "generator": Markup(GENERATOR), "state": STATE}  # noqa: S704  # ours
    made.globals |= {name: pass_context(make) for name, make in _MAKERS.items()}
    return made


def _link(context: Context, address: str) -> str:
    site: Site = context["site"]
    return site.link(address, context["here"])


def _engine(context: Context, name: str) -> Markup:
    return tables.engine(name, context["site"], context["here"])


def _game(context: Context, number: int, words: object = None) -> Markup:
    return tables.game(number, context["site"], context["here"], words)


def _table(context: Context, sheet: Sheet, **options: Any) -> Markup:
    return tables.table(sheet, context["site"], context["here"], **options)


def _finalized(value: object) -> object:
    """Words of engines and people without anything that turns a line round; None is nothing."""
    if value is None:
        return ""
    return safe(value) if type(value) is str else value  # markup of ours is a subclass


def day_and_time(seconds: float | None) -> str:
    """UTC seconds as people write them: ``2026-11-21 20:05 UTC``."""
    return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def percent(share: float | None) -> str:
    """``52.4 %``."""
    return "" if share is None else f"{100 * share:.1f} %"


def rounded(number: float | None) -> str:
    """Whole points, nothing for None."""
    return "" if number is None else str(round(number))


_FILTERS: Mapping[str, Callable[..., object]] = {
    "points": points,
    "duration": duration,
    "moment": day_and_time,
    "percent": percent,
    "rounded": rounded,
    "counted": counted,
}

# What a template calls with its page in mind: an address, a name, a game, a sheet.
_MAKERS: Mapping[str, Callable[..., object]] = {"link": _link, "engine": _engine, "game": _game, "table": _table}
