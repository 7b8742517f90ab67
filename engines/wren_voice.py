"""What both protocols of Wren share: hearing while thinking, sharing out the time, the board and its past."""

from __future__ import annotations

import os
import select
import time

import chess
from wren_levels import DEEPEST, LEVELS, Placement, placement
from wren_search import MATE, Limits, Search

AUTHOR = "the enginetour authors"
LARGEST_SEED = 2**31 - 1
RESERVE_MS = 250  # never planned away: a busy machine may keep us waiting as long
HORIZON = 28  # moves a game is taken to last still
# CECP: what ends a search without a move, to be obeyed right after it.
ABORTING = frozenset({"new", "force", "result", "setboard"})


def say(text: str) -> None:
    """One line out, at once."""
    os.write(1, f"{text}\n".encode())


def share(rest_ms: float, increment_ms: float, moves_left: int) -> tuple[float, float]:
    """Milliseconds to aim for and never to pass, so that the reserve stays."""
    spare = rest_ms - RESERVE_MS
    if spare <= 0:
        hard = max(1.0, rest_ms / 25, min(increment_ms / 2, rest_ms / 10))
        return hard, hard
    due = spare / (min(moves_left, HORIZON) + 1 if moves_left else HORIZON) + 0.7 * increment_ms
    hard = max(1.0, min(2.2 * due, spare / 3))
    return min(0.45 * due, hard), hard


def fixed(ms: float) -> tuple[float, float]:
    """The same for a fixed time: what waking up and answering take is kept back."""
    hard = max(1.0, ms * 0.6, ms - 20)
    return hard, hard


class Wire:
    """Standard input as lines, also between two nodes of a search."""

    def __init__(self) -> None:
        self.waiting: list[str] = []
        self.rest = b""
        self.poll = select.poll()
        self.poll.register(0, select.POLLIN)
        self.stopping = False
        self.aborted = False
        self.cecp = False

    def read(self) -> list[str]:
        """The whole lines of one read; leaves the program at end of file."""
        piece = os.read(0, 65536)
        if not piece:
            raise SystemExit
        *lines, self.rest = (self.rest + piece).split(b"\n")
        return [text for line in lines if (text := line.decode("ascii", "replace").strip())]

    def next(self) -> str:
        """The next command; waits for it."""
        while not self.waiting:
            self.waiting += self.read()
        return self.waiting.pop(0)

    def stop(self) -> bool:
        """Take in what has come while thinking; True when the search is to stop."""
        while self.poll.poll(0):
            self.hear(self.read())
        return self.stopping

    def start(self) -> None:
        """A search begins: what came with its command may concern it already."""
        self.stopping = self.aborted = False
        lines, self.waiting = self.waiting, []
        self.hear(lines)

    def hear(self, lines: list[str]) -> None:
        """Answer at once what may be answered in a search, keep the rest for later."""
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
    """One engine: its board, its settings, its ways of saying what it thinks."""

    def __init__(self, level: int) -> None:
        self.wire = Wire()
        self.level = level
        self.seed = 0
        self.board = chess.Board()
        self.seen: set[Placement] = set()

    def option(self, name: str, value: str) -> None:
        """Level and Seed; what is out of range changes nothing."""
        if value.isascii() and value.isdecimal():
            number = int(value)
            if name.lower() == "level" and 1 <= number <= len(LEVELS):
                self.level = number
            elif name.lower() == "seed" and number <= LARGEST_SEED:
                self.seed = number

    def setup(self, board: chess.Board) -> None:
        """A new position without a past."""
        self.board = board
        self.seen = {placement(board)}

    def push(self, move: chess.Move) -> None:
        """A move on the board; positions before an irreversible one cannot come again."""
        self.board.push(move)
        if self.board.halfmove_clock == 0:
            self.seen.clear()
        self.seen.add(placement(self.board))

    def think(self, limits: Limits) -> chess.Move | None:
        """A move for the side to move; None in a finished position."""
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
        """What a finished depth has found, in the protocol's words; mate counts moves, not plies."""
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
