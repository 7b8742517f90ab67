"""A whole report in one file: sections one below the other, with the style sheets and scripts in it."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from enginetour.reports.html.page import render
from enginetour.reports.html.site import LEFT_OUT, Site

LARGEST = 2_000_000  # bytes: what mail and forums still take
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


def section(address: str, text: str, summary: str = "") -> Section:
    """A page made for a single file; below the first one all headings are a step deeper."""
    if address != "index.html":
        text = _HEADING.sub(lambda found: f"{found[1]}h{int(found[2]) + 1}", text)
    return Section(address, Markup(text), summary)  # noqa: S704  # a page of ours, escaped when it was made


def whole(
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
    return render(
        "single.html",
        site=site,
        here="index.html",
        policy=_policy(styles, scripts),
        sections=sections,
        styles=[Markup(text) for text in styles],  # noqa: S704  # ours
        scripts=[Markup(text) for text in scripts],  # noqa: S704  # ours
        shared=shared,
        missing=missing,
        command=command,
        left_out_id=LEFT_OUT,
        limit=LARGEST // 1_000_000,
    )


def _policy(styles: Sequence[str], scripts: Sequence[str]) -> str:
    """Nothing runs and nothing styles but these very texts (CSP 3, 2.3.1: hashes)."""
    style, script = (" ".join(map(_hashed, texts)) or "'none'" for texts in (styles, scripts))
    rest = "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'"
    return f"{rest}; style-src {style}; script-src {script}"


def _hashed(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
