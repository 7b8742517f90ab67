"""A game's moves as positions on a board: what changes with each ply, and what is in hand or counted.

A script that shows the game knows no rules: it is told which squares change. A change is written as
``e2e4`` (what stands on e2 goes to e4), ``e8Q`` (a white queen stands on e8) or ``d5-`` (d5 is empty).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from enginetour.model import Game, MoveMade
from enginetour.reports.html.geometry import NAMES, STEPS
from enginetour.reports.html.mailbox import LARGE, PAWN, Effects, effects, placed
from enginetour.variants import start_fen

CHECKS_TO_WIN = 3  # three-check: rules of the variant


@dataclass(frozen=True, slots=True)
class Replay:
    """`boards` has the position before each ply that can be shown, and the one after the last.

    `plies` are (effects, change) of each; `hands` and `checks` are told by variant, one more than plies; moves from
    `len(plies)` on cannot be shown: the record has something there that no piece can do.
    """

    boards: tuple[bytearray, ...]
    plies: tuple[tuple[Effects, str], ...]
    white_begins: bool
    number: int  # of the first move
    variant: str
    hands: tuple[str, ...] = ()  # pieces in hand by FEN's letters
    checks: tuple[tuple[int, int], ...] = ()  # given by White and by Black

    def is_white(self, ply: int) -> bool:
        """Whether White makes the ply, counted from 0."""
        return (ply % 2 == 0) is self.white_begins

    def label(self, ply: int) -> str:
        """``12.`` or ``12…``, the number before the ply counted from 0."""
        number = self.number + (ply + (not self.white_begins)) // 2
        return f"{number}." if self.is_white(ply) else f"{number}…"


def replayed(game: Game) -> Replay:
    """The positions of a game, as far as its record makes sense."""
    opening = game.opening
    try:
        fen = _start(opening.variant) if opening.fen is None else opening.fen
        first, *rest = fen.split()
        squares = placed(first)
    except (ValueError, KeyError):
        first, rest, squares = "8/8/8/8/8/8/8/8", [], bytearray(64)
    white = rest[:1] != ["b"]
    boards, plies = [squares], []
    side, atomic = white, opening.variant == "atomic"
    for move in game.moves:
        what = effects(squares, move.uci, white=side)
        if what is None:
            break
        if atomic:
            what = exploded(squares, what)
        squares = squares[:]
        for square, code in what:
            squares[square] = code
        boards.append(squares)
        plies.append((what, change(what, move.uci)))
        side = not side
    last = rest[-1] if len(rest) > 3 else ""
    number = max(1, int(last)) if last.isascii() and last.isdigit() and len(last) < 6 else 1
    found = Replay(tuple(boards), tuple(plies), white, number, opening.variant)
    if opening.variant == "crazyhouse":
        hands = tuple(_hands(found, first, game.moves))
        return Replay(found.boards, found.plies, white, number, opening.variant, hands=hands)
    if opening.variant == "3check":
        checks = tuple(_checks(found, rest, game.moves))
        return Replay(found.boards, found.plies, white, number, opening.variant, checks=checks)
    return found


@cache
def _start(variant: str) -> str:
    return start_fen(variant)


def exploded(squares: bytearray, what: Effects) -> Effects:
    """Atomic chess: a capture also takes what made it, and all but pawns around it."""
    if len(what) < 2 or len(what) > 3:
        return what
    (start, _), (end, _), *beside = what
    if not squares[end] and not beside:
        return what
    blown = tuple((at, 0) for at in sorted(STEPS[end]) if at != start and squares[at] and squares[at] & LARGE != PAWN)
    return ((start, 0), (end, 0), *beside, *blown)


def change(what: Effects, uci: str) -> str:
    """The same in the script's words."""
    if len(what) == 2 and len(uci) == 4 and what[1][1] and not what[0][1] and uci[1] != "@":
        return uci
    return "".join(f"{NAMES[square]}{chr(code) if code else '-'}" for square, code in what)


def _hands(replay: Replay, placement: str, moves: Sequence[MoveMade]) -> Iterator[str]:
    """Crazyhouse: what is taken changes sides, as a pawn if it was one once."""
    hand = Counter(placement.partition("[")[2].rstrip("]")) & Counter(dict.fromkeys("PNBRQpnbrq", 64))
    promoted = _promoted(placement.partition("[")[0])
    yield _in_order(hand)
    for ply, (what, _) in enumerate(replay.plies):
        before, uci = replay.boards[ply], moves[ply].uci
        if uci[1:2] == "@":
            hand[uci[0] if replay.is_white(ply) else uci[0].lower()] -= 1
        elif len(what) < 4:
            (start, _), (end, _), *beside = what
            taken = beside[0][0] if beside else end
            if before[taken]:
                letter = "p" if taken in promoted else chr(before[taken]).lower()
                hand[letter.upper() if replay.is_white(ply) else letter] += 1
            promoted.discard(taken)
            if start in promoted or len(uci) == 5:
                promoted.discard(start)
                promoted.add(end)
        yield _in_order(hand)


def _promoted(ranks: str) -> set[int]:
    """Squares of pieces that FEN marks with ``~``: they were pawns."""
    found = set()
    for rank, letters in zip(range(7, -1, -1), ranks.split("/"), strict=False):
        at = rank * 8
        for letter in letters:
            if letter == "~":
                found.add(at - 1)
            else:
                at += int(letter) if letter.isdigit() else 1
    return found


def _in_order(hand: Counter[str]) -> str:
    return "".join(letter * hand[letter] for letter in "QRBNPqrbnp")


def _checks(replay: Replay, rest: Sequence[str], moves: Sequence[MoveMade]) -> Iterator[tuple[int, int]]:
    """Three-check: FEN tells what is left, ``3+3``, or what was given, ``+0+0``."""
    given = [0, 0]
    for field in rest:
        left, plus, right = field.lstrip("+").partition("+")
        if plus and left.isdigit() and right.isdigit():
            told = [int(left), int(right)]
            given = told if field.startswith("+") else [CHECKS_TO_WIN - count for count in told]
    yield given[0], given[1]
    for ply in range(len(replay.plies)):
        given[not replay.is_white(ply)] += moves[ply].san.endswith(("+", "#"))
        yield given[0], given[1]


def final_board(game: Game) -> bytearray:
    """The position the record ends with, an empty board where it tells none."""
    try:
        return placed(game.final_fen.split(" ")[0])
    except ValueError:
        return bytearray(64)
