"""Compiled clocks equal the Python clocks: charged times, time losses, use of the margin, and `go` commands."""

from __future__ import annotations

import os
import time
from itertools import cycle

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from enginetour.engines.position import Position, written
from enginetour.engines.protocol import Ask
from enginetour.engines.uci_lines import go_command, go_limits
from enginetour.model.game import Termination
from enginetour.model.task import EngineSpec, Side
from enginetour.model.timecontrol import Stage, TimeControl
from enginetour.referee import relay
from enginetour.referee.clock import MS, Clock
from enginetour.referee.ends import position_key
from tests.referee.test_relay import NEVER, Desk
from tests.support.engines import SHUFFLE, game, scripted

SPEC = EngineSpec("e", ("/e",), "uci")
INCREMENTS = st.integers(0, 2)
STAGES = st.builds(Stage, moves=st.integers(1, 4), base_ms=st.integers(1, 5), increment_ms=INCREMENTS)
LAST = st.builds(Stage, moves=st.integers(0, 2), base_ms=st.integers(1, 5), increment_ms=INCREMENTS)
CLOCKS = st.builds(
    lambda first, last, nodes: TimeControl((*first, last), nodes=nodes),
    st.lists(STAGES, max_size=1), LAST, st.sampled_from([None, None, 7]),
)  # fmt: skip
FIXED = st.builds(TimeControl, movetime_ms=st.integers(1, 3))
COUNTED = st.builds(TimeControl, nodes=st.integers(1, 9))
CONTROLS = st.one_of(CLOCKS, CLOCKS, FIXED, COUNTED)


class Twins(Desk):
    """Compiled clocks and Python clocks with the same moves and stamps."""

    def __init__(self, sides: list[tuple[TimeControl, int]]) -> None:
        super().__init__(repetition=1 << 20, halfmoves=0)
        self.position = Position()
        self.clocks = [Clock(Side(SPEC, tc, margin), 0.004) for tc, margin in sides]
        for white, clock in enumerate(self.clocks):
            ends = self.ins[white][1], self.outs[white][0]
            self.own.seat(bool(white), white, *ends, self.traffic.extend, go_limits(clock.tc).encode("ascii"), [])
        self.hand_over()

    def hand_over(self) -> None:
        """Continue the game in Python, as `Relay.takes` does."""
        position = self.position
        line = position.line, position.words_begun, len(position.moves), position.anchor, position.begun_at
        assert self.own.take(position.board, *line, {position_key(position.board): 1}, 0)
        for white, clock in enumerate(self.clocks):
            rest, least = (-1 if ms is None else ms for ms in (clock.rest_ms, clock.least_ms))
            self.own.clock(
                bool(white), rest, clock.increment_ms, clock.margin_ms, clock.moves_to_go,
                clock.flag_ns(), clock.limit_ms, least, clock.longest_ms,
            )  # fmt: skip
        self.before = [(clock.moves, clock.total_ms, clock.margin_uses) for clock in self.clocks]

    def begin(self) -> None:
        """Start the clock of the side to move, which may already be over on a busy machine."""
        self._run()
        assert self.left().thinking
        assert not self.left().text

    def takes(self) -> bool:
        """Whether the compiled code booked the move and started the next search; otherwise Python continues."""
        plies = len(self.plies)
        while True:
            self._run()  # after a late wake-up nothing is read
            if len(self.plies) > plies or self.left().text:
                return len(self.plies) > plies

    def _run(self) -> None:
        self.own.run(0, 0, 0, True, 0, NEVER, NEVER, 0)

    def told(self, *, white: bool) -> str:
        """Return the `go` of the current search."""
        clock, other = self.clocks[white], self.clocks[not white]
        ask = Ask(
            self.position, white, clock.tc, clock.shown_ms(), other.shown_ms(),
            clock.increment_ms, other.increment_ms, clock.moves_to_go,
        )  # fmt: skip
        words: str = os.read(self.ins[white][0], 65536).decode().splitlines()[-1]
        assert words == go_command(ask)
        return words

    def agree(self) -> None:
        for white, (clock, (moves, total, uses)) in enumerate(zip(self.clocks, self.before, strict=True)):
            rest, to_go, *sums = self.own.clocked(bool(white))[:7]
            least = -1 if clock.least_ms is None else clock.least_ms
            assert (rest, to_go) == (-1 if clock.rest_ms is None else clock.rest_ms, clock.moves_to_go)
            booked = clock.moves - moves, clock.total_ms - total, clock.longest_ms, least, clock.margin_uses - uses
            assert tuple(sums) == booked


TIGHT = TimeControl((Stage(moves=0, base_ms=2, increment_ms=0),)), 1


@settings(deadline=None, max_examples=60)
@example(sides=[TIGHT, TIGHT], thoughts=[3, 3])  # the whole margin is used
@given(
    sides=st.lists(st.tuples(CONTROLS, st.integers(0, 3)), min_size=2, max_size=2),
    thoughts=st.lists(st.integers(0, 5), min_size=1, max_size=8),
)
def test_compiled_clocks_are_ours(sides: list[tuple[TimeControl, int]], thoughts: list[int]) -> None:
    """Clocks of two sides with any time controls and margins are equal until a time loss; `thoughts` are minimal ms.

    Ends of stages and time losses are left to Python without a booking.
    """
    table = Twins(sides)
    try:
        table.begin()
        for thought, text in zip(thoughts, cycle(SHUFFLE), strict=False):
            white = table.position.board.turn
            clock = table.clocks[white]
            table.told(white=white)
            begun = table.left().go
            while time.monotonic_ns() < begun + thought * MS:
                pass
            os.write(table.outs[white][1], f"bestmove {text}\n".encode())
            ours = clock.moves_to_go == 1
            if not table.takes():
                elapsed = table.left().stamp - begun
                assert ours or elapsed >= clock.flag_ns()
                table.agree()
                if clock.charge(elapsed) is None:
                    return
                table.position.push(written(text))
                table.hand_over()
                table.begin()
                continue
            elapsed = max(stamp for way, stamp, _ in table.traffic.pieces() if way == "<") - begun
            spent = clock.charge(elapsed)
            assert spent is not None
            assert not ours
            table.position.push(written(text))
            table.agree()
            entered = table.plies[-1][0]
            assert (entered.elapsed_ms, entered.clock_ms) == (spent, clock.rest_ms)
    finally:
        table.close()


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("tc", ["0.001+0.002", "3/0.001+0.002:0.003", "movetime=0.001"])
def test_moves_that_used_the_margin_are_counted(tc: str, compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Moves that use the margin leave only the increment, and are counted, compiled or not."""
    if not compiled:
        monkeypatch.setattr(relay, "native", None)
    late = scripted("uci", "late", at=2, seconds=0.02)
    played = game(late, late, white_tc=tc, black_tc=tc, margin=60_000)
    assert played.termination is Termination.REPETITION, played.cause
    for side, moves in ((played.white, played.moves[::2]), (played.black, played.moves[1::2])):
        clock = Clock(Side(SPEC, TimeControl.parse(tc), 60_000), 60.0)
        for move in moves:
            assert clock.charge(move.elapsed_ms * MS) == move.elapsed_ms
            assert move.clock_ms == clock.rest_ms
        assert side.margin_uses == clock.margin_uses > 0
