"""The pieces on a board, as python-chess draws them: read from it when a report is written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache

from markupsafe import Markup

from enginetour.reports.html.ownmarkup import own

LETTERS = "KQRBNPkqrbnp"
EDGE = 45  # units of a square, as python-chess draws pieces
_NAMED = re.compile(r'<g id="[^"]*" class="[^"]*"')
_STYLED = re.compile(r' style="([^"]*)"')


@cache
def drawn() -> Mapping[str, str]:
    """By FEN's letter: SVG of EDGE x EDGE units with the id `piece-LETTER`, and no style of its own.

    A page's policy forbids styles in the markup, so they become attributes.
    """
    from chess.svg import PIECES

    return {letter: _plain(letter, PIECES[letter]) for letter in LETTERS}


def _plain(letter: str, drawing: str) -> str:
    named = _NAMED.sub(f'<g id="piece-{letter}"', drawing, count=1)
    return _STYLED.sub(lambda found: "".join(_attributes(found[1])), named)


def _attributes(style: str) -> Iterable[str]:
    for rule in filter(None, map(str.strip, style.split(";"))):
        name, _, value = rule.partition(":")
        yield f' {name.strip()}="{value.strip()}"'


@lru_cache(1024)  # of the same pieces are many games left
def symbols(letters: str = LETTERS) -> Markup:
    """Definitions of the pieces that a board on the page uses."""
    return Markup("<defs>{}</defs>").format(Markup("").join(own(drawn()[letter]) for letter in letters))


def script() -> str:
    """The text of ``assets/pieces.js``: all pieces, for those that the page's own board did not need."""
    return f"window.chessPieces = {json.dumps(dict(drawn()))};\n"
