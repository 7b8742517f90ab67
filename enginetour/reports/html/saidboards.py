"""Moves in SAN on many boards at once: which square each piece comes from. The quick twin of `saidmove.as_uci`."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from enginetour.reports.html.boardtables import ALONG, CODES, LEAPING, OPEN, RAYS, WIDTH, Array
from enginetour.reports.html.geometry import NAMES
from enginetour.reports.html.mailbox import KING, KNIGHT, LARGE, PAWN, SMALL
from enginetour.reports.html.saidmove import Meant, as_uci, meant

_PROMOTED = "qrbn"
_SQUARES = {name: at for at, name in enumerate(NAMES)}
_CASTLING = ord("O")
# Above the move's own bits and OPEN: the piece, then file and rank of where it stands, from 1; 0 is not told.
_PIECE, _FILE, _RANK = 16, 24, 28


@lru_cache(maxsize=1 << 14)
def code(word: str) -> int:
    """Of `boardtables.CODES` where a word says the whole move, else from OPEN on; -1 for a word that is no move."""
    found = CODES.get(word)
    if found is not None:
        return found
    said = meant(word)
    if said is None or isinstance(said, str):
        return CODES.get(said or "", -1)
    if not said.end:
        return OPEN | _CASTLING << _PIECE | said.rank + 1 << _RANK
    return _open(said)


def _open(said: Meant) -> int:
    became = _PROMOTED.find(said.end[2:3] or "-") + 1
    where = said.file + 1 << _FILE | said.rank + 1 << _RANK
    return OPEN | said.piece << _PIECE | where | became << 12 | _SQUARES[said.end[:2]] << 6


def origins(boards: Array, live: Array, codes: Array, white: Array) -> Array:
    """The codes with the square each piece comes from, -1 where none can; of several the first that is safe."""
    kind = codes >> _PIECE & 127
    found = np.full(len(codes), -1, dtype=np.intp)
    end = codes >> 6 & 63
    piece = (kind | np.where(white, 0, SMALL)).astype(np.uint8)
    base = live * WIDTH
    flat = boards.reshape(-1)
    rows = np.flatnonzero(kind == _CASTLING)
    for row in rows.tolist():
        board = bytearray(boards[live[row], :64].tobytes())
        word = as_uci(board, "O-O" if codes[row] >> _RANK else "O-O-O", white=bool(white[row]))
        found[row] = CODES.get(word or "", -1)
    rows = np.flatnonzero(kind == KING)
    kings = boards[live[rows]] == piece[rows, None]
    found[rows] = np.where(kings.any(axis=1), kings.argmax(axis=1) | end[rows] << 6, -1)
    rows = np.flatnonzero(kind == PAWN)
    found[rows] = _pawns(flat, base[rows], codes[rows], end[rows], white[rows])
    rows = np.flatnonzero(kind == KNIGHT)
    near = LEAPING[end[rows]]
    _choose(found, boards, live, codes, white, rows, near, flat[base[rows, None] + near] == piece[rows, None])
    rows = np.flatnonzero((kind != KNIGHT) & (kind != KING) & (kind != PAWN) & (kind != _CASTLING))
    seen, where = _first_seen(flat, base[rows], end[rows])
    _choose(found, boards, live, codes, white, rows, where, (seen == piece[rows, None]) & ALONG[kind[rows]])
    return found


def _pawns(flat: Array, base: Array, codes: Array, end: Array, white: Array) -> Array:
    """A pawn that takes is told by its file; one that does not comes straight, from one or two squares away."""
    back = np.where(white, -8, 8)
    file = (codes >> _FILE & 15) - 1
    near = end + back
    takes = (file >= 0) & (file != end & 7)
    own = np.where(white, PAWN, PAWN | SMALL)
    inside = np.clip(near, 0, 63)
    straight = np.where(flat[base + inside] == own, inside, np.clip(near + back, 0, 63))
    start = np.where(takes, inside & 56 | file & 7, straight)
    return np.where(inside == near, start | end << 6 | codes & 7 << 12, -1)


def _first_seen(flat: Array, base: Array, square: Array) -> tuple[Array, Array]:
    """In each direction from a square: the first piece and where it stands."""
    rays = RAYS[square]
    seen = flat[base[:, None] + rays].reshape(-1, 8, 7)
    nearest = (seen != 0).argmax(axis=2)[:, :, None]
    pieces = np.take_along_axis(seen, nearest, axis=2)[:, :, 0]
    return pieces, np.take_along_axis(rays.reshape(-1, 8, 7), nearest, axis=2)[:, :, 0]


def _choose(
    found: Array, boards: Array, live: Array, codes: Array, white: Array, rows: Array, where: Array, able: Array
) -> None:
    """From the squares of each row that are able and fit what is told of them."""
    file, rank = (codes[rows] >> _FILE & 15)[:, None], (codes[rows] >> _RANK & 15)[:, None]
    able = able & ((file == 0) | (where & 7 == file - 1)) & ((rank == 0) | (where >> 3 == rank - 1))
    count = able.sum(axis=1)
    first = np.take_along_axis(where, able.argmax(axis=1)[:, None], axis=1)[:, 0]
    found[rows] = np.where(count > 0, first | (codes[rows] & ~(63 | ~0x7FFF)), -1)
    for at in np.flatnonzero(count > 1).tolist():
        row = int(rows[at])
        board = bytearray(boards[live[row], :64].tobytes())
        wanted = codes[row]
        word = Meant(
            int(wanted >> _PIECE & 127) & LARGE,
            int(wanted >> _FILE & 15) - 1,
            int(wanted >> _RANK & 15) - 1,
            NAMES[wanted >> 6 & 63],
        )
        found[row] = CODES.get(as_uci(board, word, white=bool(white[row])) or "", -1)
