"""A move as engines write it in their lines, in UCI's words: SAN with all its habits, since CECP asks for none."""

from __future__ import annotations

import re
from functools import lru_cache

from enginetour.reports.html.geometry import DROPS, MOVES, NAMES
from enginetour.reports.html.mailbox import EMPTY, KING, PAWN, ROOK, SMALL, effects, is_safe

ORNAMENT = re.compile(r"\d*\.+|[^A-Za-z0-9]+")  # a word that is no move: "12.", "...", "(-)"
_NUMBERED = re.compile(r"\d*\.+")
_SAN = re.compile(r"([KQRBN]?)([a-h]?)([1-8]?)[x:-]?([a-h][1-8])(?:=?\(?([QRBNqrbn])\)?)?(?:e\.?p\.?)?")
_CASTLES = {"O-O": 1, "O-O-O": -1}


def as_uci(squares: bytearray, word: str, *, white: bool) -> str | None:
    """None for what is no move of this position. Two pieces that could both go there: the first that safely can."""
    if word[:4] in MOVES:
        return word
    meant = _meant(word)
    side = EMPTY if white else SMALL
    if meant is None:
        return None
    if isinstance(meant, int):
        return _castle(squares, meant, king=KING | side, rook=ROOK | side)
    if isinstance(meant, str):
        return meant
    piece, start_as, end = meant
    able = []
    start = squares.find(piece | side)
    while start >= 0:
        if start in start_as:
            uci = NAMES[start] + end
            what = effects(squares, uci, white=white)
            if what is not None and len(what) < 4:
                able.append((uci, what))
        start = squares.find(piece | side, start + 1)
    if len(able) > 1:
        able = [one for one in able if is_safe(squares, one[1], white=white)]
    return able[0][0] if able else None


@lru_cache(maxsize=1 << 14)  # all there are with check signs and without, several times
def _meant(word: str) -> int | str | tuple[int, frozenset[int], str] | None:
    """Where a castling goes; a drop, or a move in UCI's words; or the piece, where it may stand, and where it goes."""
    numbered = _NUMBERED.match(word)
    plain = (word[numbered.end() :] if numbered else word).rstrip("+#!?")
    if plain[:4] in MOVES or plain in DROPS:
        return plain
    if plain[:1] == "@":
        return f"P{plain}"
    step = _CASTLES.get(plain.replace("0", "O").replace("o", "O"))
    if step is not None:
        return step
    found = _SAN.fullmatch(plain)
    if found is None:
        return None
    letter, file, rank, end, promoted = found.groups()
    start_as = frozenset(at for at, name in enumerate(NAMES) if file in ("", name[0]) and rank in ("", name[1]))
    return ord(letter) if letter else PAWN, start_as, end + (promoted or "").lower()


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
