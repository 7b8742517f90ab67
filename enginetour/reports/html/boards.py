"""Many boards at once: the lines of a hundred games are played and spelled ply by ply, all of them in one step.

A report of 10,000 games has 10 million moves in its lines. python-chess spells one in 17 us, `mailbox` in 2 us, this in
0.6 us (measured on lines of 14 engines, 12 plies on average). For lines by the rules of chess and Chess960; what it
takes for a move, and its spelling, are those of `mailbox`. Arrays have a row for each line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from enginetour.reports.html.boardtables import (
    BECOMES,
    FIRST_SMALL,
    HEAD_OF,
    HEADS,
    IS_LEAP,
    IS_STEP,
    OPEN,
    PATHS,
    PAWN_FROM,
    SEES,
    SLIDES,
    TAILS,
    THROUGH,
    WIDTH,
    WORDS,
    Array,
)
from enginetour.reports.html.geometry import NAMES
from enginetour.reports.html.mailbox import (
    BISHOP,
    KING,
    KNIGHT,
    LARGE,
    PAWN,
    QUEEN,
    SMALL,
    Effects,
    effects,
    gives_check,
    is_safe,
    told_apart,
)
from enginetour.reports.html.replay import change


@dataclass(frozen=True, slots=True)
class Played:
    """As far as the lines could be played: for each how many moves, and the boards after the last of them.

    `sans` and `changes` are those moves by line and place, the latter as `replay.change` writes them.
    """

    counts: Array
    sans: Array
    changes: Array
    boards: Array
    kings: Array  # where Black's and White's stands, -1 where there is none
    checked: Array  # the side to move may be in check


Origins = Callable[[Array, Array, Array, Array], Array]
"""Of boards, rows of them, codes that only say where a piece goes, and who moves: codes, -1 where there is none."""


def played(
    starts: Sequence[bytearray], white: Sequence[bool], codes: Sequence[Sequence[int]], origins: Origins
) -> Played:
    """Lines as `boardtables.CODES` from the boards they start on.

    Codes from OPEN on say where a piece goes, `origins` from where. Below 0 is a word that is none: it ends its line.
    """
    count = len(starts)
    lengths = np.fromiter(map(len, codes), dtype=np.intp, count=count)
    longest = int(lengths.max(initial=0))
    told = np.full((count, longest), -1, dtype=np.intp)
    told[np.arange(longest) < lengths[:, None]] = np.fromiter(chain.from_iterable(codes), dtype=np.intp)
    boards = np.zeros((count, WIDTH), dtype=np.uint8)
    boards[:, :64] = np.frombuffer(b"".join(starts), dtype=np.uint8).reshape(count, 64)
    sans, changes = np.empty((count, longest), dtype=object), np.empty((count, longest), dtype=object)
    kings = np.stack([_only(boards == KING | SMALL), _only(boards == KING)], axis=1)
    found = Played(np.zeros(count, dtype=np.intp), sans, changes, boards, kings, np.ones(count, dtype=bool))
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


def _only(where: Array) -> Array:
    """The column that is true in each row, -1 in a row without one."""
    return np.where(where.any(axis=1), where.argmax(axis=1), -1)


def _step(found: Played, live: Array, codes: Array, white: Array, place: int) -> Array:
    """Play and spell a move on each of the boards `live`; those on which it could be done."""
    flat = found.boards.reshape(-1)
    start, end, became = codes & 63, codes >> 6 & 63, codes >> 12
    base = live * WIDTH
    piece, target = flat[base + start], flat[base + end]
    kind = piece & LARGE
    own = (piece != 0) & ((piece < FIRST_SMALL) == white)
    free = (target == 0) | ((target < FIRST_SMALL) != white)
    pair = start << 6 | end
    able = SLIDES[kind & 127, pair] & free
    rows = np.flatnonzero(able)
    able[rows] = ~flat[base[rows, None] + PATHS[pair[rows]]].any(axis=1)
    able |= ((kind == KNIGHT) & IS_LEAP[pair] | (kind == KING) & IS_STEP[pair]) & free
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
    _tell_apart(found, live, start, end, piece, white, apart)
    arrived = np.where(became > 0, BECOMES[became] | (piece & SMALL), piece)
    flat[base + start] = 0
    flat[base + end] = arrived
    beside = start & 56 | end & 7
    flat[(base + beside)[passing]] = 0
    rows = np.flatnonzero(kind == KING)
    found.kings[live[rows], white[rows].astype(np.intp)] = end[rows]
    changes = WORDS[codes & 4095]
    for row, what in castles.items():
        changes[row] = change(what, "")
        for square, code in (*((square, 0) for square, _ in what[:2]), *what[2:]):
            found.boards[live[row], square] = code
        found.kings[live[row], int(white[row])] = what[2][0]
    check = _checks(found, live, base, start, end, arrived, white)
    for row in np.flatnonzero(passing | (became > 0)).tolist():
        what = ((int(start[row]), 0), (int(end[row]), int(arrived[row])), (int(beside[row]), 0))
        changes[row] = change(what if passing[row] else what[:2], "")
        if passing[row]:
            check[row] = _by_many(found, int(live[row]), what, white=bool(white[row]))
    for row, what in castles.items():
        check[row] = _by_many(found, int(live[row]), what, white=bool(white[row]))
    found.checked[live] = check
    tails = TAILS[((became * 2 + cross) * 2 + check) * 64 + end]
    words = HEADS[HEAD_OF[kind & 127] + apart, start] + tails
    for row, what in castles.items():
        words[row] = ("O-O" if what[2][0] & 7 == 6 else "O-O-O") + "+" * bool(check[row])
    found.sans[live, place] = words
    found.changes[live, place] = changes
    found.counts[live] += 1
    return live


def _by_many(found: Played, line: int, what: Effects, *, white: bool) -> bool:
    """Whether a move of more than two squares gave check."""
    king = int(found.kings[line, int(not white)])
    return king >= 0 and gives_check(bytearray(found.boards[line, :64].tobytes()), king, what, white=white)


def _pawns(flat: Array, base: Array, start: Array, end: Array, became: Array, white: Array) -> tuple[Array, Array]:
    """Which of these pawns can go so, and which of them take in passing."""
    forward = np.where(white, 8, -8)
    passed = np.clip(start + forward, 0, 63)
    target = flat[base + end]
    far = (end == passed + forward) & (start >> 3 == np.where(white, 1, 6)) & (flat[base + passed] == 0)
    push = (start & 7 == end & 7) & (target == 0) & ((end == passed) | far)
    oblique = (np.abs((start & 7) - (end & 7)) == 1) & (np.abs(end - passed) == 1)
    takes = oblique & (target != 0) & ((target < FIRST_SMALL) != white)
    other = np.where(white, PAWN | SMALL, PAWN)
    passing = oblique & (target == 0) & (flat[base + (start & 56 | end & 7)] == other)
    last = (end >> 3 == 0) | (end >> 3 == 7)
    return (push | takes | passing) & (last == (became > 0)), passing


def _tell_apart(found: Played, live: Array, start: Array, end: Array, piece: Array, white: Array, apart: Array) -> None:
    """Say in `apart` how much of its origin a piece's move needs, where another of its kind could make it too."""
    boards, kind = found.boards, piece & LARGE
    rows = np.flatnonzero((kind != PAWN) & (kind != KING))
    same = boards[live[rows]] == piece[rows, None]
    same[np.arange(len(rows)), start[rows]] = False
    others = same.sum(axis=1)
    for row in rows[others > 1].tolist():
        board = bytearray(boards[live[row], :64].tobytes())
        told = told_apart(board, int(start[row]), int(end[row]), white=bool(white[row]), royal=True)
        apart[row] = 0 if not told else 3 if len(told) > 1 else 2 if told.isdigit() else 1
    twin = same.argmax(axis=1)[others == 1]
    rows = rows[others == 1]
    pair = twin << 6 | end[rows]
    slides = SLIDES[kind[rows] & 127, pair]
    able = slides | ((kind[rows] == KNIGHT) & IS_LEAP[pair])
    clear = ~boards.reshape(-1)[(live[rows] * WIDTH)[slides, None] + PATHS[pair[slides]]].any(axis=1)
    able[slides] = clear
    king = found.kings[live[rows], white[rows].astype(np.intp)]
    bound = found.checked[live[rows]] | (king < 0) | SLIDES[QUEEN, np.maximum(king, 0) << 6 | twin]
    for at in np.flatnonzero(able & bound).tolist():
        row, other = int(rows[at]), int(twin[at])
        board = bytearray(boards[live[row], :64].tobytes())
        able[at] = is_safe(board, ((other, 0), (int(end[row]), int(piece[row]))), white=bool(white[row]))
    apart[rows[able]] = np.where(twin & 7 == start[rows] & 7, 2, 1)[able]


def _checks(found: Played, live: Array, base: Array, start: Array, end: Array, arrived: Array, white: Array) -> Array:
    """Which of the moves just played give check, by the piece that moved or by what it stood before."""
    flat, side = found.boards.reshape(-1), white.astype(np.intp)
    king = found.kings[live, 1 - side]
    there = king >= 0
    king = np.maximum(king, 0)
    kind, to, through = arrived & LARGE, king << 6 | end, king << 6 | start
    check = (kind == KNIGHT) & IS_LEAP[to]
    check |= (kind == PAWN) & (PAWN_FROM[side, king] == end[:, None]).any(axis=1)
    rows = np.flatnonzero(SLIDES[kind & 127, to])
    check[rows] = ~flat[base[rows, None] + PATHS[to[rows]]].any(axis=1)
    rows = np.flatnonzero(SLIDES[QUEEN, through] & ~check)
    seen = flat[base[rows, None] + THROUGH[through[rows]]]
    first = seen[np.arange(len(rows)), (seen != 0).argmax(axis=1)]
    check[rows] = SEES[first, side[rows], SLIDES[BISHOP, through[rows]].astype(np.intp)]
    given: Array = check & there
    return given
