"""Many boards at once: the lines of a hundred games are played and spelled ply by ply, all of them in one step.

A report of 10,000 games has 10 million moves in its lines. python-chess spells one in 25 us, `mailbox` in 3 us, this in
0.6 us (measured on lines of 14 engines, 12 plies on average). For lines in UCI's words by the rules of chess and
Chess960; what it takes for a move, and its spelling, are those of `mailbox`.

Arrays have a row for each line. A board is 64 squares and an empty one (PAD) for whatever lies beyond the edge.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enginetour.reports.html.geometry import BETWEEN, LEAPS, NAMES, PAWNS, SIGHT, STEPS
from enginetour.reports.html.mailbox import (
    BISHOP,
    KING,
    KNIGHT,
    LARGE,
    PAWN,
    QUEEN,
    ROOK,
    SMALL,
    effects,
    is_safe,
)
from enginetour.reports.html.replay import change

Array = NDArray[Any]

PAD = 64
WIDTH = 65
_FIRST_SMALL = 96  # codes of small letters, Black's pieces, are above
_PROMOTED = "qrbn"
_BECOMES = np.array([0, QUEEN, ROOK, BISHOP, KNIGHT], dtype=np.uint8)

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


_RAYS = np.stack([_padded([_ray(square, step) for step in _DIRECTIONS], 7).reshape(56) for square in range(64)])
"""By square: all others that a queen sees from there, in eight directions of seven."""
LEAPING = _padded([sorted(near) for near in LEAPS], 8)
_PAWNS = np.stack([_padded([sorted(near) for near in side], 2) for side in PAWNS])  # by who attacks, 1 is White
_IS_LEAP, _IS_STEP = _pairs(LEAPS), _pairs(STEPS)
_BETWEEN = _padded([BETWEEN[QUEEN].get(pair, ()) for pair in range(64 * 64)], 6)
_SLIDES = np.zeros((128, 64 * 64), dtype=bool)  # by kind and pair
for _kind, _ways in BETWEEN.items():
    _SLIDES[_kind, list(_ways)] = True
ALONG = np.zeros((128, 8), dtype=bool)  # by kind and direction
ALONG[ROOK, :4] = ALONG[BISHOP, 4:] = ALONG[QUEEN] = True
_LETTERS = (PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING)
_HEADS = np.array(
    [
        [("" if kind == PAWN else chr(kind)) + ("", name[0], name[1], name)[apart] for name in NAMES]
        for kind in _LETTERS
        for apart in range(4)
    ],
    dtype=object,
)
"""By kind and how much is told of where the piece came from (nothing, file, rank, both), and by that square."""
_HEAD_OF = np.zeros(128, dtype=np.intp)
_HEAD_OF[list(_LETTERS)] = range(0, 24, 4)
_TAILS = np.array(
    [
        f"{cross}{name}{became}{check}"
        for became in ("", "=Q", "=R", "=B", "=N")
        for cross in ("", "x")
        for check in ("", "+")
        for name in NAMES
    ],
    dtype=object,
)
_SEES = np.zeros((256, 2, 8), dtype=bool)
"""By piece, colour that attacks (1 is White) and direction."""
for _kind in (ROOK, BISHOP, QUEEN):
    _SEES[_kind, 1] = _SEES[_kind | SMALL, 0] = ALONG[_kind]


@dataclass(frozen=True, slots=True)
class Played:
    """As far as the lines could be played: for each how many moves, and the boards after the last of them.

    `sans` and `changes` are those moves by line and place, the latter as `replay.change` writes them.
    """

    counts: Array
    sans: Array
    changes: Array
    boards: Array


Origins = Callable[[Array, Array, Array, Array], Array]
"""Of boards, rows of them, codes that only say where a piece goes, and who moves: codes, -1 where there is none."""


def played(
    starts: Sequence[bytearray], white: Sequence[bool], codes: Sequence[Sequence[int]], origins: Origins
) -> Played:
    """Lines as CODES from the boards they start on. Those from OPEN on say where a piece goes, `origins` from where.

    A code below 0 is a word that is none, and ends its line.
    """
    count = len(starts)
    lengths = np.fromiter(map(len, codes), dtype=np.intp, count=count)
    longest = int(lengths.max(initial=0))
    told = np.full((count, longest), -1, dtype=np.intp)
    told[np.arange(longest) < lengths[:, None]] = np.fromiter(chain.from_iterable(codes), dtype=np.intp)
    boards = np.zeros((count, WIDTH), dtype=np.uint8)
    boards[:, :64] = np.frombuffer(b"".join(starts), dtype=np.uint8).reshape(count, 64)
    sans, changes = np.empty((count, longest), dtype=object), np.empty((count, longest), dtype=object)
    found = Played(np.zeros(count, dtype=np.intp), sans, changes, boards)
    live, whose = np.arange(count), np.asarray(white, dtype=bool)
    for place in range(longest):
        step = told[live, place]
        side = whose[live] ^ bool(place % 2)
        unclear = np.flatnonzero(step >= OPEN)
        if len(unclear):
            step[unclear] = origins(boards, live[unclear], step[unclear], side[unclear])
        there = step >= 0
        live = _step(found, live[there], step[there], side[there], place)
        if not len(live):
            break
    return found


def _step(found: Played, live: Array, codes: Array, white: Array, place: int) -> Array:
    """Play and spell a move on each of the boards `live`; those on which it could be done."""
    flat = found.boards.reshape(-1)
    start, end, became = codes & 63, codes >> 6 & 63, codes >> 12
    base = live * WIDTH
    piece, target = flat[base + start], flat[base + end]
    kind = piece & LARGE
    own = (piece != 0) & ((piece < _FIRST_SMALL) == white)
    free = (target == 0) | ((target < _FIRST_SMALL) != white)
    pair = start << 6 | end
    able = _SLIDES[kind & 127, pair] & free
    rows = np.flatnonzero(able)
    able[rows] = ~flat[base[rows, None] + _BETWEEN[pair[rows]]].any(axis=1)
    able |= ((kind == KNIGHT) & _IS_LEAP[pair] | (kind == KING) & _IS_STEP[pair]) & free
    able &= own & (became == 0)
    passing = np.zeros(len(live), dtype=bool)
    rows = np.flatnonzero((kind == PAWN) & own)
    able[rows], passing[rows] = _pawns(flat, base[rows], start[rows], end[rows], became[rows], white[rows])
    castles = {}
    for row in np.flatnonzero((kind == KING) & own & ~able & (start >> 3 == end >> 3)).tolist():
        board = bytearray(found.boards[live[row], :64].tobytes())
        what = effects(board, NAMES[start[row]] + NAMES[end[row]], white=bool(white[row]))
        if what is not None:
            able[row] = True
            castles[row] = what
    if not able.all():
        castles = {int(able[:row].sum()): what for row, what in castles.items()}
        codes, live, base, start, end, became = (
            codes[able],
            live[able],
            base[able],
            start[able],
            end[able],
            became[able],
        )
        piece, kind, target, white, passing = piece[able], kind[able], target[able], white[able], passing[able]
    cross = (target != 0) | passing
    apart = np.where(kind == PAWN, cross, 0).astype(np.intp)
    _tell_apart(found.boards, live, base, start, end, piece, white, apart)
    arrived = np.where(became > 0, _BECOMES[became] | (piece & SMALL), piece)
    flat[base + start] = 0
    flat[base + end] = arrived
    beside = start & 56 | end & 7
    flat[(base + beside)[passing]] = 0
    changes = WORDS[codes & 4095]
    for row in np.flatnonzero(passing | (became > 0)).tolist():
        what = ((int(start[row]), 0), (int(end[row]), int(arrived[row])), (int(beside[row]), 0))
        changes[row] = change(what if passing[row] else what[:2], "")
    for row, what in castles.items():
        changes[row] = change(what, "")
        for square, code in (*((square, 0) for square, _ in what[:2]), *what[2:]):
            found.boards[live[row], square] = code
    check = _checks(found.boards, live, base, start, end, arrived, white, passing)
    tails = _TAILS[((became * 2 + cross) * 2 + check) * 64 + end]
    words = _HEADS[_HEAD_OF[kind & 127] + apart, start] + tails
    for row, what in castles.items():
        words[row] = ("O-O" if what[2][0] & 7 == 6 else "O-O-O") + "+" * bool(check[row])
    found.sans[live, place] = words
    found.changes[live, place] = changes
    found.counts[live] += 1
    return live


def _pawns(flat: Array, base: Array, start: Array, end: Array, became: Array, white: Array) -> tuple[Array, Array]:
    """Which of these pawns can go so, and which of them take in passing."""
    forward = np.where(white, 8, -8)
    passed = np.clip(start + forward, 0, 63)
    target = flat[base + end]
    far = (end == passed + forward) & (start >> 3 == np.where(white, 1, 6)) & (flat[base + passed] == 0)
    push = (start & 7 == end & 7) & (target == 0) & ((end == passed) | far)
    oblique = (np.abs((start & 7) - (end & 7)) == 1) & (np.abs(end - passed) == 1)
    takes = oblique & (target != 0) & ((target < _FIRST_SMALL) != white)
    other = np.where(white, PAWN | SMALL, PAWN)
    passing = oblique & (target == 0) & (flat[base + (start & 56 | end & 7)] == other)
    last = (end >> 3 == 0) | (end >> 3 == 7)
    return (push | takes | passing) & (last == (became > 0)), passing


def first_seen(flat: Array, base: Array, square: Array) -> tuple[Array, Array]:
    """In each direction from a square: the first piece and where it stands."""
    rays = _RAYS[square]
    seen = flat[base[:, None] + rays].reshape(-1, 8, 7)
    nearest = (seen != 0).argmax(axis=2)[:, :, None]
    pieces = np.take_along_axis(seen, nearest, axis=2)[:, :, 0]
    return pieces, np.take_along_axis(rays.reshape(-1, 8, 7), nearest, axis=2)[:, :, 0]


def _tell_apart(
    boards: Array, live: Array, base: Array, start: Array, end: Array, piece: Array, white: Array, apart: Array
) -> None:
    """Say in `apart` how much of its origin a piece's move needs, where another of its kind could make it too."""
    flat, kind = boards.reshape(-1), piece & LARGE
    rows = np.flatnonzero((kind != PAWN) & (kind != KING))
    rows = rows[(boards[live[rows]] == piece[rows, None]).sum(axis=1) > 1]
    leaping, sliding = rows[kind[rows] == KNIGHT], rows[kind[rows] != KNIGHT]
    near = LEAPING[end[leaping]]
    there = flat[base[leaping, None] + near] == piece[leaping, None]
    seen, where = first_seen(flat, base[sliding], end[sliding])
    along = (seen == piece[sliding, None]) & ALONG[kind[sliding] & 127]
    for some, hits, squares in ((leaping, there, near), (sliding, along, where)):
        hits &= squares != start[some, None]
        for at in np.flatnonzero(hits.any(axis=1)).tolist():
            row = int(some[at])
            board, target = bytearray(boards[live[row], :64].tobytes()), int(end[row])
            twins = [
                twin
                for twin in squares[at][hits[at]].tolist()
                if is_safe(board, ((twin, 0), (target, int(piece[row]))), white=bool(white[row]))
            ]
            if twins:
                same_file = any(twin & 7 == start[row] & 7 for twin in twins)
                same_rank = any(twin >> 3 == start[row] >> 3 for twin in twins)
                apart[row] = 1 if not same_file else 3 if same_rank else 2


def _checks(
    boards: Array, live: Array, base: Array, start: Array, end: Array, arrived: Array, white: Array, passing: Array
) -> Array:
    """Which of the moves just played give check."""
    kings = boards[live] == np.where(white, KING | SMALL, KING)[:, None]
    king = kings.argmax(axis=1)
    kind, side = arrived & LARGE, white.astype(np.intp)
    check = (kind == KNIGHT) & _IS_LEAP[end << 6 | king]
    check |= (kind == PAWN) & (_PAWNS[side, king] == end[:, None]).any(axis=1)
    on_line = _SLIDES[QUEEN, king << 6 | start] | _SLIDES[QUEEN, king << 6 | end] | passing | (kind == KING)
    rows = np.flatnonzero(on_line)
    seen, _ = first_seen(boards.reshape(-1), base[rows], king[rows])
    check[rows] |= _SEES[seen, side[rows, None], np.arange(8)].any(axis=1)
    given: Array = check & kings.any(axis=1)
    return given
