"""The only files that are sent: our style sheets and scripts, by name from a list, and python-chess's pieces."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import sha256

from enginetour.reports.html import game, page

KINDS = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
OWN = ("live.css", "live.js", "doors.js")
NAMES = (*page.ASSETS, "game.css", "board.js", "pieces.js", *OWN)


@dataclass(frozen=True, slots=True)
class Asset:
    """A file as it is sent."""

    body: bytes
    etag: str
    media_type: str


@cache
def asset(name: str) -> Asset | None:
    """One of the list, None for any other name."""
    if name not in NAMES:
        return None
    text = game.script() if name == "pieces.js" else page.asset(name)
    body = text.encode()
    return Asset(body, f'"{sha256(body).hexdigest()[:32]}"', KINDS[name.rpartition(".")[2]])
