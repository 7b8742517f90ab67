"""Move texts of engines: the plain form first and fast, odd forms only when it fails (runner spec 6, 7)."""

from __future__ import annotations

import re
from functools import lru_cache

import chess

from enginetour.engines.quick import is_plainly_legal

_PLAIN = re.compile(r"([a-h][1-8])[-x]?([a-h][1-8])(?:[=(/]?([nbrq])\)?)?", re.IGNORECASE)
_TRAILING = re.compile(r"[+#!?.,;]+$")
_BARE_PROMOTION = re.compile(r"([a-h][18])[(/]?([NBRQnbrq])\)?$")
# King takes rook: the Chess960 form of castling, tolerated in standard chess.
LONGEST = 16  # characters of a move in any form, marks included: a7xb8=(Q)+!? has 13
_ROOK_TAKING = frozenset({"e1h1", "e1a1", "e8h8", "e8a8"})
_PROMOTIONS = frozenset("nbrq")


# A move is never changed, so one object serves all games; a fifth of the time of making it anew (measured).
written = lru_cache(maxsize=4096)(chess.Move.from_uci)


def san_of(board: chess.Board, move: chess.Move) -> str:
    """SAN as engines read it: a pawn is dropped by its letter, as python-chess does not write it."""
    san = board.san(move)
    return f"P{san}" if san[0] == "@" else san


def read_move(
    board: chess.Board, text: str, *, lenient_promotion: bool = False, usual: bool = False, check: bool | None = None
) -> tuple[chess.Move | None, bool]:
    """The legal move that `text` means, or None; and whether its form was odd (worth one warning).

    `usual`: FIDE's rules hold; `check`: whether the side to move is in check, where that is known.

    Null moves, pawns as promotions and moves of the other side are never legal; kings as promotions and drops only
    where the board's variant has them.
    """
    plain = len(text) == 4 or (len(text) == 5 and (text[4] in _PROMOTIONS or (text[4] == "k" and _crowns(board))))
    if plain and text not in _ROOK_TAKING:
        try:
            move = written(text)
        except ValueError:
            pass
        else:
            if (usual and is_plainly_legal(board, move, check=check)) or board.is_legal(move):
                return move, False
    meant = _odd(board, text, lenient_promotion) if len(text) <= LONGEST else None
    return meant, meant is not None and meant.uci() != text


def _odd(board: chess.Board, text: str, lenient: bool) -> chess.Move | None:  # noqa: FBT001
    text = _TRAILING.sub("", text.strip())
    plain = _PLAIN.fullmatch(text)
    if plain is not None and (text[:2].islower() or (text.isupper() and plain[1].isupper())):
        squares = (plain[1] + plain[2]).lower()
        move = _legal(board, squares + (plain[3] or "").lower())
        if move is None and lenient and plain[3] is None:
            move = _legal(board, squares + "q")
        if move is not None:
            return move
    return _san(board, text, lenient)


def _legal(board: chess.Board, uci: str) -> chess.Move | None:
    try:
        return board.parse_uci(uci) or None
    except ValueError:
        return None


def _san(board: chess.Board, text: str, lenient: bool) -> chess.Move | None:  # noqa: FBT001
    san = text.replace("0-0-0", "O-O-O").replace("0-0", "O-O").replace("o-o-o", "O-O-O").replace("o-o", "O-O")
    promotion = _BARE_PROMOTION.search(san)
    if promotion is not None:
        san = f"{san[: promotion.start()]}{promotion[1]}={promotion[2].upper()}"
    for form in (san, san + "=Q") if lenient else (san,):
        try:
            move = board.parse_san(form)
        except ValueError:
            continue
        if move and move.promotion != chess.PAWN and (move.promotion != chess.KING or _crowns(board)):
            return move
    return None


def _crowns(board: chess.Board) -> bool:
    """Pawns may become kings: where captures are compulsory, a king is a piece like others."""
    return type(board).captures_compulsory
