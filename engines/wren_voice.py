"""Parts of Wren for both protocols: input during a search, use of time, the board and earlier positions."""

from __future__ import annotations

import os
import select
import time

import chess
from wren_levels import DEEPEST, LEVELS, Placement, placement
from wren_search import MATE, Limits, Search

AUTHOR = "the enginetour authors"
LARGEST_SEED = 2**31 - 1
RESERVE_MS = 250  # never used for a search: a busy machine may delay the answer by as much
HORIZON = 28  # number of moves that a game is expected to last
# CECP commands that end a search without a move, and are executed right after it.
ABORTING = frozenset({"new", "force", "result", "setboard"})


def say(text: str) -> None:
    """Write one line at once."""
    os.write(1, f"{text}\n".encode())


def share(rest_ms: float, increment_ms: float, moves_left: int) -> tuple[float, float]:
    """Return the milliseconds to aim for and the most to use, so that the reserve remains."""
    spare = rest_ms - RESERVE_MS
    if spare <= 0:
        hard = max(1.0, rest_ms / 25, min(increment_ms / 2, rest_ms / 10))
        return hard, hard
    due = spare / (min(moves_left, HORIZON) + 1 if moves_left else HORIZON) + 0.7 * increment_ms
    hard = max(1.0, min(2.2 * due, spare / 3))
    return min(0.45 * due, hard), hard


def fixed(ms: float) -> tuple[float, float]:
    """Return both times for a fixed time per move, without the time to wake up and answer."""
    hard = max(1.0, ms * 0.6, ms - 20)
    return hard, hard


class Wire:
    """Standard input as lines, also during a search."""

    def __init__(self) -> None:
        self.waiting: list[str] = []
        self.rest = b""
        self.poll = select.poll()
        self.poll.register(0, select.POLLIN)
        self.stopping = False
        self.aborted = False
        self.cecp = False

    def read(self) -> list[str]:
        """Return the whole lines of one read; exit at end of file."""
        piece = os.read(0, 65536)
        if not piece:
            raise SystemExit
        *lines, self.rest = (self.rest + piece).split(b"\n")
        return [text for line in lines if (text := line.decode("ascii", "replace").strip())]

    def next(self) -> str:
        """Wait for the next command and return it."""
        while not self.waiting:
            self.waiting += self.read()
        return self.waiting.pop(0)

    def stop(self) -> bool:
        """Read what has come during a search; return whether the search must stop."""
        while self.poll.poll(0):
            self.hear(self.read())
        return self.stopping

    def start(self) -> None:
        """Start a search: lines that came together with its command may already concern it."""
        self.stopping = self.aborted = False
        lines, self.waiting = self.waiting, []
        self.hear(lines)

    def hear(self, lines: list[str]) -> None:
        """Answer what may be answered during a search, and keep other lines for later."""
        for line in lines:
            word = line.split()[0]
            if word == "quit":
                raise SystemExit
            if word in ("stop", "?"):
                self.stopping = True
            elif word == "isready":
                say("readyok")
            elif word == "ping" and not self.waiting:
                say(f"pong {line[4:].strip()}")
            else:
                self.waiting.append(line)
                self.aborted |= self.cecp and word in ABORTING
                self.stopping |= self.aborted


class Wren:
    """One engine: its board, its settings, and the output of its search."""

    def __init__(self, level: int) -> None:
        self.wire = Wire()
        self.level = level
        self.seed = 0
        self.board = chess.Board()
        self.seen: set[Placement] = set()

    def option(self, name: str, value: str) -> None:
        """Set Level or Seed; a value out of range changes nothing."""
        if value.isascii() and value.isdecimal():
            number = int(value)
            if name.lower() == "level" and 1 <= number <= len(LEVELS):
                self.level = number
            elif name.lower() == "seed" and number <= LARGEST_SEED:
                self.seed = number

    def setup(self, board: chess.Board) -> None:
        """Set up a position without earlier positions."""
        self.board = board
        self.seen = {placement(board)}

    def push(self, move: chess.Move) -> None:
        """Make a move on the board; positions before an irreversible move cannot occur again."""
        self.board.push(move)
        if self.board.halfmove_clock == 0:
            self.seen.clear()
        self.seen.add(placement(self.board))

    def think(self, limits: Limits) -> chess.Move | None:
        """Return a move for the side to move; None in a finished position."""
        self.wire.start()
        search = Search(
            self.board,
            LEVELS[self.level - 1],
            self.seed,
            seen=frozenset(self.seen),
            stop=self.wire.stop,
            tell=self.tell,
        )
        return search.think(limits, time.monotonic())

    def tell(self, depth: int, score: int, nodes: int, ms: int, line: list[chess.Move]) -> None:
        """Report a finished depth in the form of the protocol; a mate counts moves, not plies."""
        if self.wire.aborted:
            return
        moves = " ".join(move.uci() for move in line)
        mate = 0 if abs(score) < MATE - 4 * DEEPEST else (MATE - abs(score) + 1) // 2
        if self.wire.cecp:
            shown = score if not mate else (100_000 + mate if score > 0 else -100_000 - mate)
            if self.talks:
                say(f"{depth} {shown} {ms // 10} {nodes} {moves}")
        else:
            shown_uci = f"cp {score}" if not mate else f"mate {mate if score > 0 else -mate}"
            say(f"info depth {depth} score {shown_uci} nodes {nodes} time {ms} pv {moves}")

    talks = True
