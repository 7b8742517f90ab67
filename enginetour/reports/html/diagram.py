"""A board as SVG: squares, pieces, the squares of the last move, and the same in words for who cannot see it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from markupsafe import Markup

from enginetour.reports.html.ownmarkup import own
from enginetour.reports.html.pieces import EDGE, LETTERS, symbols
from enginetour.reports.html.replay import EMPTY

_SIZE = 8 * EDGE
_DARK = "".join(f"M{x * EDGE} {y * EDGE}h{EDGE}v{EDGE}h-{EDGE}z" for y in range(8) for x in range(8) if (x + y) % 2)
_FILES = "".join(
    f'<text x="{at * EDGE + 43}" y="357" text-anchor="end">{name}</text>' for at, name in enumerate("abcdefgh")
)
_RANKS = "".join(f'<text x="3" y="{at * EDGE + 11}">{8 - at}</text>' for at in range(8))
_SQUARES = f'<path class="light" d="M0 0h{_SIZE}v{_SIZE}H0z"/><path class="dark" d="{_DARK}"/>'
_NAMES = [f"{file}{rank}" for rank in "12345678" for file in "abcdefgh"]
_SIDES = (("White", "KQRBNP"), ("Black", "kqrbnp"))
_WORDS = {"k": "King", "q": "Queen", "r": "Rook", "b": "Bishop", "n": "Knight", "p": "pawn"}


def diagram(squares: str, last: Iterable[int], *, own_pieces: bool = True) -> Markup:
    """White below. `last` are squares of the last move; `own_pieces`: the drawings of its pieces come with it."""
    used = "".join(letter for letter in LETTERS if letter in squares)
    marks = "".join(
        f'<rect x="{_left(at)}" y="{_top(at)}" width="{EDGE}" height="{EDGE}"/>' for at in sorted(set(last))
    )
    pieces = "".join(
        f'<use href="#piece-{letter}" x="{_left(at)}" y="{_top(at)}"/>'
        for at, letter in enumerate(squares)
        if letter != EMPTY
    )
    return own(
        f'<svg class="board" viewBox="0 0 {_SIZE} {_SIZE}" role="img" aria-label="{in_words(squares)}">'
        f"{symbols(used) if own_pieces else ''}{_SQUARES}"
        f'<g class="last">{marks}</g><g class="names" aria-hidden="true">{_FILES}{_RANKS}</g>'
        f'<g class="men">{pieces}</g></svg>'
    )


def in_words(squares: str) -> str:
    """``White: King g1, Queen d3, pawns f2 g2; Black: King g8``."""
    places: dict[str, list[str]] = {}
    for name, letter in zip(_NAMES, squares, strict=True):
        places.setdefault(letter, []).append(name)
    return "; ".join(f"{side}: {_told(places, letters)}" for side, letters in _SIDES)


def _told(places: Mapping[str, Sequence[str]], letters: str) -> str:
    groups = [
        f"{_WORDS[letter.lower()]}{'s' * (len(places[letter]) > 1)} {' '.join(places[letter])}"
        for letter in letters
        if letter in places
    ]
    return ", ".join(groups) or "nothing"


def _left(square: int) -> int:
    return (square & 7) * EDGE


def _top(square: int) -> int:
    return (7 - (square >> 3)) * EDGE
