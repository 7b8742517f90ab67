"""What the page of a game gives to its script, ``assets/board.js``: the start, the plies, the lines as they were sent.

The script knows the rules and writes lines in move notation when a reader opens the page. Here a position is read for
the drawing of the board only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate, cycle

from markupsafe import Markup, escape

from enginetour.model.game import Game, MoveMade
from enginetour.model.variants import start_fen
from enginetour.reports.html.page import trusted_markup
from enginetour.reports.sheet import safe_text

EMPTY_SQUARE = "-"
MAX_PLIES = 3000  # of a page, which says where the rest is: fifty moves without progress end most games before
MAX_LINE_WORDS = 30  # shown of a line: of 25,000 lines of 14 engines 6 in a thousand had more plies (measured)
MAX_LINES_BYTES = 400_000  # bytes of all lines of a game; those of usual games take 15 KB
_CHECKS_TO_WIN = 3  # three-check: rules of the variant
_NO_POSITION = "8/8/8/8/8/8/8/8 w - - 0 1"
_MOVES = re.compile(r"(?:(?:[a-h][1-8][a-h][1-8][qrbnk]?|[PNBRQ]@[a-h][1-8]) )*")
_CHECKS = re.compile(r"(\+?)(\d)\+(\d)")
_SQUARE = re.compile("[a-h][1-8]")
_LETTERS = frozenset("PNBRQKpnbrqk" + EMPTY_SQUARE)


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


    def signs(self) -> Iterator[int]:
        """What turns the mover's score into White's, ply by ply."""
        return cycle((1, -1) if self.white_begins else (-1, 1))


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


def last_squares(moves: Sequence[MoveMade]) -> list[str]:
    """The squares that the last move names."""
    last = moves[-1].uci if moves else ""
    return _SQUARE.findall(last) if _MOVES.fullmatch(f"{last} ") else []


def replay_json(start: StartPosition, game: Game, moves: Sequence[MoveMade]) -> Markup:
    """The JSON that the script reads, which has no word of an engine but moves."""
    plies = _MOVES.match("".join(f"{move.uci} " for move in moves))
    found = {
        "variant": game.opening.variant,
        "fen": start.fen,
        "white": start.white_begins,
        "number": start.number,
        "plies": plies[0].rstrip() if plies else "",
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
    cut = [move.pv if move.pv.count(" ") < MAX_LINE_WORDS else _cut(move.pv) for move in moves]
    if not "".join(cut).isprintable():
        cut = [safe_text(line) for line in cut]
    labels = _labels(start.number, start.white_begins)
    lines = [f"{label} {line}" if line else "" for label, line in zip(labels, cut, strict=False)]
    text = str(escape("\n".join(lines)))
    if len(text.encode()) > room:
        sizes = accumulate(len(escape(line).encode()) for line in lines)
        lines = [line for line, size in zip(lines, sizes, strict=True) if size <= room]
        text = str(escape("\n".join(lines)))
    items = text.replace("\n", "</li>\n<li>")
    is_cut = any(line.endswith(" …") for line in cut)
    return LineList(trusted_markup(f"<li>{items}</li>" if lines else ""), len(lines), is_cut, any(cut))


@lru_cache(16)
def _labels(number: int, white_begins: bool) -> list[str]:  # noqa: FBT001
    start = StartPosition("", white_begins, number)
    return [start.label(ply) for ply in range(MAX_PLIES)]


def _cut(line: str) -> str:
    words = line.split(None, MAX_LINE_WORDS)
    return " ".join([*words[:MAX_LINE_WORDS], "…"] if len(words) > MAX_LINE_WORDS else words)
