"""What the page of a game gives to its script, ``assets/board.js``: the start, the plies, the lines as they were sent.

The script knows the rules and writes lines in move notation when a reader opens the page. Here a position is read for
the drawing of the board only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from markupsafe import Markup, escape

from enginetour.model.game import Game, MoveMade
from enginetour.model.variants import start_fen
from enginetour.reports.html.page import trusted_markup
from enginetour.reports.sheet import safe_text

EMPTY_SQUARE = "-"
MAX_LINE_WORDS = 30  # shown of a line: of 25,000 lines of 14 engines 6 in a thousand had more plies (measured)
MAX_LINES_BYTES = 400_000  # bytes of all lines of a game; those of usual games take 15 KB
_CHECKS_TO_WIN = 3  # three-check: rules of the variant
_NO_POSITION = "8/8/8/8/8/8/8/8 w - - 0 1"
_UCI = re.compile(r"[a-h][1-8][a-h][1-8][qrbnk]?|[PNBRQ]@[a-h][1-8]")
_CHECKS = re.compile(r"(\+?)(\d)\+(\d)")
_SQUARE = re.compile("[a-h][1-8]")
_NAMES = [f"{file}{rank}" for rank in "12345678" for file in "abcdefgh"]
_LETTERS = frozenset("PNBRQKpnbrqk" + EMPTY_SQUARE)
_PLAIN = re.compile("[ !#-%(-;=?-~]*")  # ASCII without <>&"'


@dataclass(frozen=True, slots=True)
class StartPosition:
    """The position a game begins with, and how its plies, counted from 0, are numbered."""

    fen: str
    white_begins: bool = True
    number: int = 1  # of the first move

    def is_white(self, ply: int) -> bool:
        """Whether White makes the ply."""
        return (ply % 2 == 0) is self.white_begins

    def label(self, ply: int) -> str:
        """``12.`` or ``12…``, the number before the ply."""
        number = self.number + (ply + (not self.white_begins)) // 2
        return f"{number}." if self.is_white(ply) else f"{number}…"


def start_position(game: Game) -> StartPosition:
    """The start of a game; an empty board where the record's makes no sense."""
    fen = _usual(game.opening.variant) if game.opening.fen is None else game.opening.fen
    return _start(fen)


@cache
def _usual(variant: str) -> str:
    return start_fen(variant)


@lru_cache(1024)
def _start(fen: str) -> StartPosition:
    if not fen.isascii() or not fen.isprintable() or board_squares(fen) is None:
        return StartPosition(_NO_POSITION)
    _, *rest = fen.split()
    last = rest[-1] if len(rest) > 3 else ""
    number = max(1, int(last)) if last.isdigit() and len(last) < 6 else 1
    return StartPosition(" ".join(fen.split()), rest[:1] != ["b"], number)


def board_squares(fen: str) -> str | None:
    """64 letters from a1 to h8, `EMPTY` for an empty square; None for what is not FEN."""
    ranks = fen.partition(" ")[0].partition("[")[0].replace("~", "").split("/")[:8]
    rows = [_row(rank) for rank in reversed(ranks)]
    found = "".join(rows)
    return found if [len(row) for row in rows] == [8] * 8 and set(found) <= _LETTERS else None


@lru_cache(4096)
def _row(rank: str) -> str:
    return "".join(EMPTY_SQUARE * int(sign) if sign in "12345678" else sign for sign in rank)


def pieces_in_hand(fen: str, *, white: bool) -> str:
    """Crazyhouse: the pieces in a side's hand, strongest first, as FEN's last brackets have them."""
    pocket = fen.partition(" ")[0].partition("[")[2].rstrip("]")
    return " ".join("".join(letter * pocket.count(letter if white else letter.lower()) for letter in "QRBNP"))


def checks_given(fen: str) -> tuple[int, int]:
    """Three-check: by White and by Black. FEN has those that are left, ``3+3``, or those given, ``+0+0``."""
    for field in fen.split()[1:]:
        if found := _CHECKS.fullmatch(field):
            given, left, right = found[1], int(found[2]), int(found[3])
            return (left, right) if given else (_CHECKS_TO_WIN - left, _CHECKS_TO_WIN - right)
    return 0, 0


def last_squares(moves: Sequence[MoveMade]) -> tuple[int, ...]:
    """The squares that the last move names."""
    last = moves[-1].uci if moves else ""
    return tuple(_NAMES.index(name) for name in _SQUARE.findall(last)) if _UCI.fullmatch(last) else ()


def replay_json(start: StartPosition, game: Game, moves: Sequence[MoveMade]) -> Markup:
    """The JSON that the script reads, which has no word of an engine but moves."""
    plies = [move.uci for move in moves]
    first = next((ply for ply, uci in enumerate(plies) if not _UCI.fullmatch(uci)), len(plies))
    found = {
        "variant": game.opening.variant,
        "fen": start.fen,
        "white": start.white_begins,
        "number": start.number,
        "plies": " ".join(plies[:first]),
        "clocks": [move.clock_ms for move in moves],
    }
    return trusted_markup(json.dumps(found, separators=(",", ":")).replace("<", "\\u003c"))


@dataclass(frozen=True, slots=True)
class LineList:
    """The list of lines: `markup` has an item for each of the first `count` plies; `cut`: a line had more words."""

    markup: Markup
    count: int
    cut: bool
    found: bool


def line_list(start: StartPosition, moves: Sequence[MoveMade], room: int) -> LineList:
    """The lines as they were sent, an item for every ply, empty without a line, as many as `room` in bytes takes."""
    parts: list[str] = []
    is_cut = is_any = False
    number, dots = start.number, "." if start.white_begins else "…"
    for move in moves:
        part = ""
        if move.pv:
            line = move.pv
            if line.count(" ") >= MAX_LINE_WORDS or not line.isprintable():
                words = line.split(None, MAX_LINE_WORDS)
                if len(words) > MAX_LINE_WORDS:
                    words[-1] = "…"
                    is_cut = True
                line = " ".join(words)
            part = f"{number}{dots} {engine_text(line)}"
            is_any = True
        room -= len(part) if part.isascii() else len(part.encode())
        if room < 0:
            break
        parts.append(part)
        if dots == ".":
            dots = "…"
        else:
            number, dots = number + 1, "."
    items = "</li>\n<li>".join(parts)
    return LineList(trusted_markup(f"<li>{items}</li>" if parts else ""), len(parts), is_cut, is_any)


def engine_text(words: str) -> str:
    """Words of an engine as markup. Nearly all of them are plain and need no escaping."""
    return words if _PLAIN.fullmatch(words) else str(escape(safe_text(words)))
