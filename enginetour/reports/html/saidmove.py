"""A move as engines write it in their lines, in UCI's words: SAN with all its habits, since CECP asks for none."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from enginetour.reports.html.geometry import DROPS, MOVES, NAMES
from enginetour.reports.html.mailbox import EMPTY, KING, PAWN, ROOK, SMALL, effects, is_safe

ORNAMENT = re.compile(r"\d*\.+|[^A-Za-z0-9]+")  # a word that is no move: "12.", "...", "(-)"
_NUMBERED = re.compile(r"\d*\.+")
_SAN = re.compile(r"([KQRBN]?)([a-h]?)([1-8]?)[x:-]?([a-h][1-8])(?:=?\(?([QRBNqrbn])\)?)?(?:e\.?p\.?)?")
_CASTLES = {"O-O": 1, "O-O-O": -1}


def as_uci(squares: bytearray, word: str | Meant, *, white: bool) -> str | None:
    """None for what is no move of this position. Two pieces that could both go there: the first that safely can."""
    said = word if isinstance(word, Meant) else word if word[:4] in MOVES else meant(word)
    side = EMPTY if white else SMALL
    if said is None or isinstance(said, str):
        return said
    if said.piece == KING and not said.end:
        return _castle(squares, said.rank, king=KING | side, rook=ROOK | side)
    piece, able = said.piece | side, []
    start = squares.find(piece)
    while start >= 0:
        if said.file in (-1, start & 7) and said.rank in (-1, start >> 3):
            uci = NAMES[start] + said.end
            what = effects(squares, uci, white=white)
            if what is not None and len(what) < 4:
                able.append((uci, what))
        start = squares.find(piece, start + 1)
    if len(able) > 1:
        able = [one for one in able if is_safe(squares, one[1], white=white)]
    return able[0][0] if able else None


class Meant(NamedTuple):
    """A piece's move: file and rank of where it stands as far as told, from 0, else -1; where it goes, and becomes.

    Castling is the King's move to nowhere: `rank` 1 is short, -1 long.
    """

    piece: int
    file: int
    rank: int
    end: str


@lru_cache(maxsize=1 << 14)  # all there are with check signs and without, several times
def meant(word: str) -> Meant | str | None:
    """What a word says without a board: a move or a drop in UCI's words where it is clear, None for no move at all."""
    numbered = _NUMBERED.match(word)
    plain = (word[numbered.end() :] if numbered else word).rstrip("+#!?")
    if plain[:4] in MOVES or plain in DROPS:
        return plain
    if plain[:1] == "@":
        return f"P{plain}"
    step = _CASTLES.get(plain.replace("0", "O").replace("o", "O"))
    if step is not None:
        return Meant(KING, -1, step, "")
    found = _SAN.fullmatch(plain)
    if found is None:
        return None
    letter, file, rank, end, promoted = found.groups()
    end += (promoted or "").lower()
    if file and rank:
        return f"{file}{rank}{end}"
    return Meant(ord(letter) if letter else PAWN, "abcdefgh".find(file or "-"), int(rank or 0) - 1, end)


def _castle(squares: bytearray, step: int, *, king: int, rook: int) -> str | None:
    """King takes rook, which `effects` understands on every back rank: the outermost one on that side."""
    at = squares.find(king)
    if at < 0:
        return None
    edge = at | 7 if step > 0 else at & 56
    for square in range(edge, at, -step):
        if squares[square] == rook:
            return NAMES[at] + NAMES[square]
    return None
