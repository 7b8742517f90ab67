"""What boards side by side look up: arrays by square, by pair of squares (`a << 6 | b`), by kind of piece.

Kinds are the bytes of capital letters. A board is 64 squares and an empty one (PAD) for whatever lies beyond the edge.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enginetour.reports.html import geometry
from enginetour.reports.html.geometry import LEAPS, NAMES, SIGHT, STEPS
from enginetour.reports.html.mailbox import BISHOP, KING, KNIGHT, PAWN, QUEEN, ROOK, SMALL

Array = NDArray[Any]

PAD = 64
WIDTH = 65
FIRST_SMALL = 96  # codes of small letters, Black's pieces, are above
_PROMOTED = "qrbn"
BECOMES = np.array([0, QUEEN, ROOK, BISHOP, KNIGHT], dtype=np.uint8)

CODES = {a + b: start | end << 6 for start, a in enumerate(NAMES) for end, b in enumerate(NAMES)}
"""A move in UCI's words: square, square << 6, and what a pawn becomes (1 to 4) << 12."""
CODES |= {
    f"{a}{b}{letter}": CODES[a + b] | place << 12
    for place, letter in enumerate(_PROMOTED, 1)
    for a in NAMES
    for b in NAMES
    if a[1] + b[1] in ("78", "21")
}
WORDS = np.array([NAMES[pair & 63] + NAMES[pair >> 6] for pair in range(64 * 64)], dtype=object)
"""Of a code without what a pawn becomes."""
OPEN = 1 << 15
"""Codes from here on only say where a piece goes (`saidboards`)."""


def _padded(rows: Sequence[Sequence[int]], width: int) -> Array:
    table = np.full((len(rows), width), PAD, dtype=np.intp)
    for place, row in enumerate(rows):
        table[place, : len(row)] = row
    return table


def _pairs(near: Sequence[frozenset[int]]) -> Array:
    table = np.zeros(64 * 64, dtype=bool)
    for square, others in enumerate(near):
        table[[square << 6 | other for other in others]] = True
    return table


_DIRECTIONS = (8, -8, 1, -1, 9, -9, 7, -7)  # straight ones first


def _ray(square: int, step: int) -> tuple[int, ...]:
    return SIGHT[0][square << 6 | square + step][0] if square + step in STEPS[square] else ()


RAYS = np.stack([_padded([_ray(square, step) for step in _DIRECTIONS], 7).reshape(56) for square in range(64)])
"""By square: all others that a queen sees from there, in eight directions of seven."""
LEAPING = _padded([sorted(near) for near in LEAPS], 8)
PAWN_FROM = np.stack([_padded([sorted(near) for near in side], 2) for side in geometry.PAWNS])
"""By colour that attacks (1 is White) and square: where its pawns would stand."""
IS_LEAP, IS_STEP = _pairs(LEAPS), _pairs(STEPS)
PATHS = _padded([geometry.BETWEEN[QUEEN].get(pair, ()) for pair in range(64 * 64)], 6)
"""By pair: the squares between, that must be free."""
THROUGH = _padded([SIGHT[0][pair][0] if pair in SIGHT[0] else () for pair in range(64 * 64)], 7)
"""By pair: from one square through the other to the edge."""
SLIDES = np.zeros((128, 64 * 64), dtype=bool)
"""By kind and pair: it can go there on an empty board."""
for _slider, _paths in geometry.BETWEEN.items():
    SLIDES[_slider, list(_paths)] = True
ALONG = np.zeros((128, 8), dtype=bool)
"""By kind and direction, as RAYS has them."""
ALONG[ROOK, :4] = ALONG[BISHOP, 4:] = ALONG[QUEEN] = True
_LETTERS = (PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING)
HEADS = np.array(
    [
        [("" if kind == PAWN else chr(kind)) + ("", name[0], name[1], name)[apart] for name in NAMES]
        for kind in _LETTERS
        for apart in range(4)
    ],
    dtype=object,
)
"""By kind and how much is told of where the piece came from (nothing, file, rank, both), and by that square."""
HEAD_OF = np.zeros(128, dtype=np.intp)
HEAD_OF[list(_LETTERS)] = range(0, 24, 4)
TAILS = np.array(
    [
        f"{cross}{name}{became}{check}"
        for became in ("", "=Q", "=R", "=B", "=N")
        for cross in ("", "x")
        for check in ("", "+")
        for name in NAMES
    ],
    dtype=object,
)
SEES = np.zeros((256, 2, 2), dtype=bool)
"""By piece, colour that attacks (1 is White), and whether it looks straight or obliquely."""
for _kind, _ways in ((ROOK, [0]), (BISHOP, [1]), (QUEEN, [0, 1])):
    SEES[_kind, 1, _ways] = SEES[_kind | SMALL, 0, _ways] = True
