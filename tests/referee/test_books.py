"""When the books of a game are written: never while a quick answer is waited for, never long after."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import SimpleNamespace

import chess
import pytest

from enginetour.engines.position import Position
from enginetour.engines.process import NEVER_NS
from enginetour.model.game import MoveMade
from enginetour.model.task import Rules, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.referee.books import (
    HELD_NS,
    HELD_PLIES,
    LIVE_INTERVAL_NS,
    PATIENCE_NS,
    STEP_PLIES,
    LiveMoves,
    RawPly,
    Record,
)
from enginetour.referee.seats import Seat
from enginetour.referee.startup import EnginePool
from tests.support.engines import SHUFFLE, Eavesdropper, sound

SECOND_NS = 1_000_000_000


class Table:
    """Books in which plies can be entered without a game."""

    def __init__(self) -> None:
        self.link, self.position = Eavesdropper(), Position()
        self.books = Record(self.position, self.link, EnginePool())

    def play(self, plies: int, elapsed_ms: int = 20) -> None:
        for _ in range(plies):
            move = chess.Move.from_uci(SHUFFLE[len(self.position.moves) % len(SHUFFLE)])
            self.books.enter(RawPly(move, None, elapsed_ms))
            self.position.push(move)

    def ask(self, go_ns: int) -> int:
        """A search begins; when the books want their first step in it."""
        side = Side(sound(), TimeControl.parse("60"))
        white, black = (Seat(side, Rules(), white=white) for white in (True, False))
        for seat in (white, black):
            seat.sit(Silent())  # type: ignore[arg-type]  # all that the books ask of an engine
        self.books.search_begun(white, black, go_ns)
        return self.books.due_ns

    def work(self) -> int:
        """Steps up to the last."""
        steps = 0
        while self.books.due_ns < NEVER_NS:
            self.books.step()
            steps += 1
        return steps


class Silent:
    """An engine that gives no reason for a note."""

    def __init__(self) -> None:
        self.new_notes: list[object] = []
        self.process = SimpleNamespace(engine_pid=0)


@pytest.fixture
def table() -> Iterator[Table]:
    found = Table()
    yield found
    found.books.release()


def test_there_is_nothing_to_do_before_a_ply(table: Table) -> None:
    """An engine that thinks on its first move is waited for without a break."""
    assert table.ask(SECOND_NS) == NEVER_NS


def test_plies_of_quick_searches_wait_for_each_other(table: Table) -> None:
    """A quarter of a second, but for no search that may be answered at once; then, or when they are many, all."""
    table.play(1)
    assert table.ask(SECOND_NS) == SECOND_NS + HELD_NS
    table.play(1)
    assert table.ask(SECOND_NS + HELD_NS // 2) == SECOND_NS + HELD_NS
    late = SECOND_NS + HELD_NS - 1
    assert table.ask(late) == late + PATIENCE_NS
    assert table.ask(9 * SECOND_NS) == 9 * SECOND_NS + PATIENCE_NS
    table.play(HELD_PLIES - 3)
    assert table.ask(9 * SECOND_NS + 1) == 9 * SECOND_NS + 1 + PATIENCE_NS
    table.play(1)
    assert table.ask(9 * SECOND_NS + 2) == 9 * SECOND_NS + 2


def test_a_ply_of_a_slow_game_waits_for_no_other(table: Table) -> None:
    """None would come in time: it is on the live page as soon as before."""
    table.play(1, elapsed_ms=HELD_NS // 1_000_000)
    assert table.ask(SECOND_NS) == SECOND_NS + PATIENCE_NS


def test_a_row_of_plies_is_written_piece_by_piece(table: Table) -> None:
    """A step is some 30 us; afterwards the next one waits anew. Sides take turns at being thinking meanwhile."""
    assert HELD_PLIES % 2
    table.play(HELD_PLIES)
    assert table.ask(SECOND_NS) == SECOND_NS
    assert table.work() == -(-HELD_PLIES // STEP_PLIES)
    assert [move.uci for move in table.books.moves] == (list(SHUFFLE) * HELD_PLIES)[:HELD_PLIES]
    table.play(1)
    assert table.ask(5 * SECOND_NS) == 5 * SECOND_NS + HELD_NS


def test_who_looks_on_sees_both_ends_of_an_hourglass(table: Table) -> None:
    """What the mover has used stands on the other clock."""
    live = LiveMoves(table.link, table.position, (1000, 1000), hourglass=True)
    live.next_ns = 0
    live.look([MoveMade("g1f3", "Nf3", clock_ms=700, elapsed_ms=300)])
    assert table.link.told[-1][1][0]["clocks"] == [700, 1300]


def test_moves_are_told_ten_times_a_second_at_most(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written in between is told together, in the first search that lasts until it is time to."""
    now = SECOND_NS
    monkeypatch.setattr(time, "monotonic_ns", lambda: now)
    table.books._live = LiveMoves(table.link, table.position, (None, None))

    def step() -> int:
        table.ask(now)
        table.books.step()
        return table.books.due_ns

    table.play(1)
    assert step() == SECOND_NS + LIVE_INTERVAL_NS  # it is written, and told in this search if that lasts so long
    table.play(1)
    now += 1
    assert step() == SECOND_NS + LIVE_INTERVAL_NS
    assert table.ask(now) == SECOND_NS + LIVE_INTERVAL_NS
    assert table.link.told == []
    now = SECOND_NS + LIVE_INTERVAL_NS
    assert table.ask(now) == now + PATIENCE_NS  # nor is a quick answer kept waiting by it
    assert step() == NEVER_NS
    ((name, told),) = table.link.told
    assert (name, [move["ply"] for move in told]) == ("moves", [1, 2])
    table.play(1)
    assert step() == now + LIVE_INTERVAL_NS
    assert len(table.link.told) == 1
