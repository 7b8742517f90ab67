"""Where pieces can go on an empty board, as tables; squares are 0 to 63 from a1, pairs of them `a << 6 | b`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

NAMES = tuple(f"{file}{rank}" for rank in "12345678" for file in "abcdefgh")
MOVES = {a + b: (start, end) for start, a in enumerate(NAMES) for end, b in enumerate(NAMES)}
"""The first four letters of a move in UCI's words, as squares."""
DROPS = {f"{letter}@{name}": (ord(letter), end) for letter in "PNBRQ" for end, name in enumerate(NAMES)}

_STRAIGHT = ((0, 1), (0, -1), (1, 0), (-1, 0))
_OBLIQUE = ((1, 1), (1, -1), (-1, 1), (-1, -1))
_LEAP = ((1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2))


def _along(square: int, step: tuple[int, int]) -> tuple[int, ...]:
    """All squares from `square` to the edge."""
    file, rank = square % 8 + step[0], square // 8 + step[1]
    found = []
    while 0 <= file < 8 and 0 <= rank < 8:
        found.append(rank * 8 + file)
        file, rank = file + step[0], rank + step[1]
    return tuple(found)


def _next(steps: Iterable[tuple[int, int]]) -> tuple[frozenset[int], ...]:
    return tuple(frozenset(_along(square, step)[0] for step in steps if _along(square, step)) for square in range(64))


def _between(steps: Iterable[tuple[int, int]]) -> dict[int, tuple[int, ...]]:
    lines = ((square, _along(square, step)) for square in range(64) for step in steps)
    return {square << 6 | end: line[:at] for square, line in lines for at, end in enumerate(line)}


def _sight(straight: bytes, oblique: bytes) -> dict[int, tuple[tuple[int, ...], bytes]]:
    found = {}
    for steps, seers in ((_STRAIGHT, straight), (_OBLIQUE, oblique)):
        for square in range(64):
            for step in steps:
                line = _along(square, step)
                found.update({square << 6 | end: (line, seers) for end in line})
    return found


LEAPS, STEPS = _next(_LEAP), _next(_STRAIGHT + _OBLIQUE)
_ways = _between(_STRAIGHT), _between(_OBLIQUE)
BETWEEN: Mapping[int, Mapping[int, tuple[int, ...]]] = {
    ord("R"): _ways[0],
    ord("B"): _ways[1],
    ord("Q"): _ways[0] | _ways[1],
}
"""By kind of piece and pair: the squares that must be free, where it can go at all."""
SIGHT = (_sight(b"rq", b"bq"), _sight(b"RQ", b"BQ"))
"""By colour (White is 1) and pair: the line from one square through the other to the edge, and who sees along it."""
PAWNS = (_next([(-1, 1), (1, 1)]), _next([(-1, -1), (1, -1)]))
"""By colour (White is 1) and square: from where its pawns attack it."""
