"""Render templates as pages, and a whole report as one file. All inserted text is escaped."""

from __future__ import annotations

import base64
import hashlib
import json
import marshal
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, lru_cache
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import markupsafe
import pydantic_core
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
from enginetour.reports.sheet import format_count, format_duration, format_points, format_whole, safe_text

if TYPE_CHECKING:
    from jinja2 import BytecodeCache, Environment

GENERATOR_TAG = '<meta name="generator" content="enginetour report">'  # identifies a page of a report
HTML_DIR = Path(__file__).parent
REPORT_ASSETS = ("report.css", "report.js")  # used by every page
_SOURCES = (".py", ".html", ".css", ".js")
STATE_CSS = "state.css"  # shows a note if a run has started since the report was written
GAME_ASSETS = ("game.css", "board.js", "pieces.js")  # used by pages of games
# This policy forbids inline content and content from other hosts. It also works for files on disk, because Chromium
# treats them as 'self'.
_CONTENT_POLICY = (
    "default-src 'none'; img-src 'self' data:; style-src 'self'; script-src 'self'; base-uri 'none'; form-action 'none'"
)
LIVE_POLICY = f"{_CONTENT_POLICY}; connect-src 'self'"  # for pages that receive events


def render_page(template: str, *, site: Site, here: str, policy: str = _CONTENT_POLICY, **rows: object) -> str:
    """Render a page of a report. `here` is the address of the page, relative to the root of the report.

    `rows` are the values for the template. A value that the template uses and `rows` does not contain is an error.
    """
    place = here if any(here == address for address, _ in site.pages) else "".join(here.rpartition("/")[:2])
    frame = () if site.single else _frame(site, place, policy)
    return _environment().get_template(template).render(site=site, here=here, policy=policy, frame=frame, **rows)


@lru_cache(64)
def _frame(site: Site, here: str, policy: str) -> list[Markup]:
    """Return the markup around the title, the head and the content of a page; it is the same for most pages."""
    text = _environment().get_template("frame.html").render(site=site, here=here, policy=policy)
    return [trusted_markup(part) for part in text.split("<!-- page -->\n")]


def read_asset(name: str) -> str:
    """Return the text of a bundled style sheet or script, or of ``pieces.js``, which is made from python-chess."""
    return _pieces_script() if name == "pieces.js" else (HTML_DIR / "assets" / name).read_text("utf-8")


PIECE_LETTERS = "KQRBNPkqrbnp"
_NAMED = re.compile(r'<g id="[^"]*" class="[^"]*"')
_STYLED = re.compile(r' style="([^"]*)"')


@cache
def _pieces_script() -> str:
    """Return a script with the SVG of each piece by its FEN letter. The ids are `piece-LETTER`.

    Styles are converted to attributes, because the security policy of pages forbids inline styles. The script is kept,
    because python-chess takes longer to load than a page takes.
    """
    found = find_spec("chess")
    assert found is not None and found.origin is not None
    source = hashlib.blake2b(Path(found.origin).with_name("svg.py").read_bytes(), digest_size=16).hexdigest()
    head, path = f"{program_digest()}{source}".encode(), _KEPT / "pieces"
    with suppress(OSError, ValueError):
        if (kept := path.read_bytes()).startswith(head):
            return kept.removeprefix(head).decode()
    from chess.svg import PIECES

    drawn = {letter: _plain(letter, PIECES[letter]) for letter in PIECE_LETTERS}
    text = f"window.chessPieces = {json.dumps(drawn)};\n"
    _keep(path, head + text.encode())
    return text


def _plain(letter: str, drawing: str) -> str:
    named = _NAMED.sub(f'<g id="piece-{letter}"', drawing, count=1)
    return _STYLED.sub(lambda found: "".join(_attributes(found[1])), named)


def _attributes(style: str) -> Iterator[str]:
    for rule in filter(None, map(str.strip, style.split(";"))):
        name, _, value = rule.partition(":")
        yield f' {name.strip()}="{value.strip()}"'


_KEPT = HTML_DIR / "templates" / "__pycache__"  # what depends on the program only, as Python keeps compiled modules


def _keep(path: Path, data: bytes) -> None:
    """Write a file, unless this user cannot change the installation or Python writes no compiled modules."""
    fresh = path.with_suffix(f".{os.getpid()}")
    with suppress(OSError):
        if not sys.dont_write_bytecode:
            path.parent.mkdir(exist_ok=True)
            fresh.write_bytes(data)
            fresh.replace(path)


@cache
def program_digest() -> str:
    """Return a digest of the source files of enginetour and of the packages that pages are made with.

    From the same data, the same program makes the same pages.
    """
    import jinja2

    found = hashlib.blake2b(repr([sys.version, pydantic_core.__version__]).encode(), digest_size=16)
    packages = (HTML_DIR.parents[1], Path(jinja2.__file__).parent, Path(markupsafe.__file__).parent)
    for name in sorted(chain.from_iterable(map(_sources, packages))):
        with open(name, "rb") as file:  # noqa: PTH123  # `Path` takes as long as the rest
            found.update(file.read())
    return found.hexdigest()


def _sources(package: Path) -> Iterator[str]:
    for folder, _, names in os.walk(package):
        yield from (f"{folder}/{name}" for name in names if name.endswith(_SOURCES))


@cache
def _environment() -> Environment:
    """Return the template environment. Jinja is imported here, so that other commands do not load it."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context

    made = Environment(
        loader=FileSystemLoader(HTML_DIR / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalized,
        auto_reload=False,  # otherwise Jinja checks three template files for changes for each page
        bytecode_cache=_compiled_templates(),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update(_FILTERS)
    made.globals |= {"anchor": section_id, "generator": trusted_markup(GENERATOR_TAG), "state": STATE_CSS}
    made.globals |= {name: pass_context(make) for name, make in _MAKERS.items()}
    return made


def _compiled_templates() -> BytecodeCache:
    """Return a cache that keeps compiled templates next to the templates, as Python keeps compiled modules.

    They depend on the templates, and on filters and options in this program.
    """
    from jinja2 import bccache

    class Compiled(bccache.BytecodeCache):
        def load_bytecode(self, bucket: bccache.Bucket) -> None:
            head, path = _head_and_path(bucket)
            with suppress(OSError, EOFError, ValueError, TypeError):  # it is compiled again, for whatever reason
                if (found := path.read_bytes()).startswith(head):
                    bucket.code = marshal.loads(found.removeprefix(head))  # noqa: S302  # as the import of a module

        def dump_bytecode(self, bucket: bccache.Bucket) -> None:
            head, path = _head_and_path(bucket)
            _keep(path, head + marshal.dumps(bucket.code))

    def _head_and_path(bucket: bccache.Bucket) -> tuple[bytes, Path]:
        name = f"{bucket.key}.{sys.implementation.cache_tag}"
        return f"{program_digest()}{bucket.checksum}".encode(), _KEPT / name

    return Compiled()


def _finalized(value: object) -> object:
    """Remove unsafe characters from texts of engines and users, and replace None by an empty text."""
    if value is None:
        return ""
    return safe_text(value) if type(value) is str else value  # Markup is a subclass of str


def format_utc(seconds: float | None) -> str:
    """Format UTC seconds as ``2026-11-21 20:05 UTC``, and None as an empty text."""
    return "" if seconds is None else f"{datetime.fromtimestamp(seconds, UTC).isoformat(' ', 'minutes')[:16]} UTC"


def _format_percent(share: float | None) -> str:
    """Format a share as ``52.4 %``, and None as an empty text."""
    return "" if share is None else f"{100 * share:.1f} %"


_FILTERS: Mapping[str, Callable[..., object]] = {
    "points": format_points,
    "duration": format_duration,
    "moment": format_utc,
    "percent": _format_percent,
    "rounded": format_whole,
    "counted": format_count,
}

# Functions that templates can call. Their results depend on the address of the page.
_MAKERS: Mapping[str, Callable[..., object]] = {
    "link": lambda context, address: context["site"].link(address, context["here"]),
    "engine": lambda context, name: engine_link(name, context["site"], context["here"]),
    "game": lambda context, number, text=None: game_link(number, context["site"], context["here"], text),
    "table": lambda context, sheet, **options: sheet_table(sheet, context["site"], context["here"], **options),
}


# A whole report in one file, with its style sheets and scripts.

MAX_FILE_BYTES = 2_000_000  # bytes; mail servers and forums accept files of this size
_HEADING = re.compile(r"(</?)h([1-5])(?=[\s>])")


@dataclass(frozen=True, slots=True)
class Section:
    """One page of a report as a section of a single-file report, without head and foot.

    With a `summary`, the section is collapsed and shows only the summary until the reader opens it.
    """

    address: str
    text: Markup
    summary: str = ""

    @property
    def size(self) -> int:
        """Return the size in bytes."""
        return len(self.text.encode())


def make_section(address: str, text: str, summary: str = "") -> Section:
    """Return a page as a section of a single file. Its headings are one level lower, except on the first page."""
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
    """Return the text of a report in a single file.

    `missing` is a text that names what was left out, and `command` is the command that writes the whole report.
    `shared` contains SVG definitions that several drawings use.
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
    """Return a content security policy that allows only these scripts and styles, by their hashes (CSP 3, 2.3.1)."""
    style, script = (" ".join(map(_hashed, texts)) or "'none'" for texts in (styles, scripts))
    rest = "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'"
    return f"{rest}; style-src {style}; script-src {script}"


def _hashed(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
