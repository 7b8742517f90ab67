"""What can wait until an engine thinks: notation, scores, live events, warnings (runner spec section 4).

The referee puts raw plies in and takes one step at a time, only while no pipe has anything to read.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import chess

from enginetour.adapters.position import ROOM, Position
from enginetour.model import Incident, MoveMade, SideRecord
from enginetour.referee.clock import RunQueue
from enginetour.referee.link import Link
from enginetour.referee.seats import Seat, incident, question
from enginetour.referee.shelf import SOME_TRAFFIC, EngineShelf
from enginetour.supervise.workload import Workload


class RawPly(NamedTuple):
    """One ply as it was played; `search` is the engine's raw output."""

    move: chess.Move
    seat: Seat | None  # None: of the opening
    elapsed_ms: int = 0
    clock_ms: int | None = None
    search: bytes = b""
    book: bool = False  # played by us from the book of its side


class Books:
    """The record of one game as it grows, a shadow board behind the real one."""

    def __init__(self, position: Position, link: Link, shelf: EngineShelf) -> None:
        self._position = position
        self._shadow = position.start_board()
        self._link = link
        self._shelf = shelf
        self._raw: deque[RawPly] = deque()
        self._seats: tuple[Seat, ...] = ()
        self._used: dict[Seat, int | None] = {}  # processor time in ms at the beginning of the game
        self._spent: dict[Seat, int] = {}  # and in it
        self.moves: list[MoveMade] = []
        self.incidents: list[Incident] = []
        self._gaps: list[int] = []
        self._queue = RunQueue()
        self.workload = Workload()
        self.waited_ns = 0  # of this process for a CPU, at the last step
        self._asked: tuple[Seat, Seat] | None = None  # who thinks and who waits, until that was noted
        self._watched: Seat | None = None  # whose memory is to be looked at

    def begin(self, *seats: Seat) -> None:
        """Whose warnings to watch, and whose processor time."""
        self._seats = seats
        self._used = {seat: seat.cpu_ms() for seat in seats}

    @property
    def final_fen(self) -> str:
        """The position on the board."""
        return self._position.board.fen()

    def enter(self, ply: RawPly) -> None:
        """Take a ply, do nothing yet."""
        self._raw.append(ply)

    def relayed(self, gap_ns: int) -> None:
        """One answer became the opponent's `go` after `gap_ns`."""
        self._gaps.append(gap_ns)

    def search_begun(self, seat: Seat, other: Seat) -> None:
        """There is something to note about the search under way, and `other` may ponder meanwhile."""
        self._asked = seat, other

    @property
    def pending(self) -> bool:
        """Whether a step would do anything."""
        return self._asked is not None or bool(self._raw) or self._watched is not None

    def step(self) -> None:
        """One ply of bookkeeping."""
        if self._asked is not None:
            seat, other = self._asked
            self._asked = None
            if other.side.spec.ponder:
                other.engine.ponder(question(self._position, other, seat))
            self.waited_ns = self._queue.waited_ns()
            self._position.shorten(ROOM)
            self._warnings()
            return
        if self._raw:
            self._write(self._raw.popleft())
        elif self._watched is not None:
            self._watched.look()
            self._watched = None

    def watch(self, seat: Seat) -> None:
        """Look at its engine's memory when there is time."""
        self._watched = seat

    def waited_now(self) -> int:
        """Nanoseconds this process has waited for a CPU since the last step of the search under way."""
        return self._queue.waited_ns() - self.waited_ns

    def close(self) -> None:
        """Do all that is left; nobody thinks any more."""
        self._asked = None
        while self.pending:
            self.step()
        self._warnings()
        for seat, begun in self._used.items():
            now = seat.cpu_ms()
            if now is not None and begun is not None:
                self._spent[seat] = now - begun

    def release(self) -> None:
        """No more steps; the descriptor goes back."""
        self._queue.close()

    def _write(self, raw: RawPly) -> None:
        san = self._shadow.san(raw.move)
        mover = self._shadow.turn
        self._shadow.push(raw.move)
        if raw.seat is None:
            self.moves.append(MoveMade(raw.move.uci(), san, book=True))
            return
        if raw.book:
            move = MoveMade(raw.move.uci(), san, 0, raw.clock_ms, book=True)
        else:
            thought = raw.seat.engine.thought(raw.search, white=mover == chess.WHITE)
            said = thought.score, thought.depth, thought.nodes, thought.pv
            move = MoveMade(raw.move.uci(), san, raw.elapsed_ms, raw.clock_ms, *said)
        self.moves.append(move)
        clocks = [None if seat.clock.rest_ms is None else seat.clock.rest_ms for seat in self._seats]
        self._link.tell(
            "move",
            {
                "ply": len(self.moves),
                "uci": move.uci,
                "san": san,
                "score": move.score,
                "depth": move.depth,
                "elapsed_ms": move.elapsed_ms,
                "clock_ms": move.clock_ms,
                "clocks": clocks,
            },
        )

    def _warnings(self) -> None:
        for seat in self._seats:
            engine = seat.present
            while engine is not None and engine.new_notes:
                kind, words = engine.new_notes.pop(0)
                seat.warnings.append(f"{kind}: {words}")
                if (seat.name, kind) not in self._shelf.warned:
                    self._shelf.warned.add((seat.name, kind))
                    cause = f"{kind}: {words}"
                    ply = len(self._position.moves)
                    self.incidents.append(incident(seat, "protocol-warning", cause, ply, SOME_TRAFFIC))

    def side_record(self, seat: Seat) -> SideRecord:
        """What one engine did."""
        clock = seat.clock
        return SideRecord(
            own_name=seat.present.own_name if seat.present is not None else "",
            moves=clock.moves,
            think_ms=clock.total_ms,
            longest_ms=clock.longest_ms,
            least_clock_ms=clock.least_ms,
            margin_uses=clock.margin_uses,
            warnings=tuple(seat.warnings),
            cpu_ms=self._spent.get(seat),
            speed=seat.side.speed,
            ponders=seat.present.ponders if seat.present is not None else None,
            ponder_hits=seat.present.ponder_hits if seat.present is not None else None,
        )

    def relay_us(self) -> tuple[int, int, int] | None:
        """Relay gap in microseconds: median, 99th percentile, largest; None without one."""
        if not self._gaps:
            return None
        gaps = sorted(self._gaps)
        ranks = (len(gaps) // 2, min(len(gaps) - 1, len(gaps) * 99 // 100), len(gaps) - 1)
        median, high, largest = (gaps[rank] // 1000 for rank in ranks)
        return median, high, largest
