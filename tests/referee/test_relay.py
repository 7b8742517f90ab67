"""Tests of referee/relay."""

from __future__ import annotations

import fcntl
import gc
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import chess
import pytest

from enginetour.engines.pipes import Traffic
from enginetour.interop.compiled import native
from enginetour.model.game import Game, Opening, Outcome
from enginetour.model.task import DrawRule, EngineSpec
from enginetour.model.timecontrol import TimeControl
from enginetour.referee import clock, relay
from enginetour.referee.ends import position_key
from enginetour.referee.record import RawPly
from enginetour.referee.startup import EnginePool
from tests.support.engines import Protocol, game, scripted, sound

# Compiled plies: plain plies are played, others are handed over unchanged.

PLAIN, BOOKS, STIRRED, SLOW, ODD, ENDED = range(6)  # native/relay.h
NEVER = 1 << 62
LONG = 60_000  # ms on both clocks
Reply = bytes | Callable[["Desk"], None]


class Desk:
    """Two engines played by this test: a thread writes the next reply to each `go`."""

    def __init__(self, *replies: Reply, board: chess.Board | None = None, **terms: Any) -> None:
        assert native is not None
        self.replies, self.heard = list(replies), list[bytes]()
        self.board = board or chess.Board()
        self.moves: list[str] = []
        self.plies: list[Any] = []
        self.gaps: list[int] = []
        self.traffic = Traffic(0)
        self.halts = SimpleNamespace(continued=False)
        self.control, self.tell = os.pipe()
        self.ins = [os.pipe2(os.O_NONBLOCK), os.pipe2(os.O_NONBLOCK)]  # by color: the input of the engine
        self.outs = [os.pipe2(os.O_NONBLOCK), os.pipe2(os.O_NONBLOCK)]
        self.err = os.pipe2(os.O_NONBLOCK)
        judge = terms.pop("judge", None)
        queue = terms.pop("queue", -1)
        rules = {"repetition": 3, "halfmoves": 100, "most_plies": 400, "longest_line": 3500} | terms
        self.own = native.Relay(
            self.moves,
            self.plies.append,
            self.gaps.append,
            RawPly,
            self.halts,
            judge,
            queue,
            *rules.values(),
        )
        for white in (0, 1):
            ends = self.ins[white][1], self.outs[white][0]
            self.own.seat(bool(white), white, *ends, self.traffic.extend, b" depth 9", [])
            self.clock(white)
        self.own.watch(((self.control, 1, "c"), (self.err[0], 1, "s")))
        self.take()

    @property
    def noted(self) -> list[tuple[str, bytes]]:
        return [(way, text) for way, _, text in self.traffic.pieces()]

    def clock(self, white: int, rest: int = LONG, to_go: int = 0) -> None:
        self.own.clock(bool(white), rest, 10, 50, to_go, 0, 0, -1, 0)

    def take(self) -> None:
        assert self.own.take(self.board, b"position startpos", False, 0, 0, 0, {position_key(self.board): 1}, 0)

    def run(self, *, urgent: bool = False, quick: int = 0) -> int:
        voices = threading.Thread(target=self._voices)
        self.busy = True
        voices.start()
        try:
            return int(self.own.run(0, 0, 0, urgent, 0, NEVER, NEVER, quick))
        finally:
            self.busy = False
            voices.join()

    def _voices(self) -> None:
        """Check that the threads end after the run."""
        white = self.board.turn
        held = b""
        while self.busy:
            try:
                held += os.read(self.ins[white][0], 65536)
            except BlockingIOError:
                time.sleep(0.0005)
                continue
            if held.endswith(b"\n") and self.replies:
                self.heard.append(held)
                held = b""
                reply = self.replies.pop(0)
                if callable(reply):
                    reply(self)
                else:
                    os.write(self.outs[white][1], reply)
                    white = not white

    def left(self) -> SimpleNamespace:
        names = ["thinking", "text", "stamp", "go", "write", "gap", "answered"]
        names += ["waited", "now", "until", "taken", "unread", "end"]
        return SimpleNamespace(**dict(zip(names, self.own.ply(), strict=True)))

    def close(self) -> None:
        del self.own
        for one, other in (*self.ins, *self.outs, self.err, (self.control, self.tell)):
            os.close(one)
            os.close(other)


@pytest.fixture
def desk() -> Iterator[Callable[..., Desk]]:
    """Make them, and close their pipes."""
    made: list[Desk] = []

    def make(*replies: Reply, **terms: Any) -> Desk:
        made.append(Desk(*replies, **terms))
        return made[-1]

    yield make
    for one in made:
        one.close()


INFO = b"info depth 3 score cp 20 pv e2e4\n"
END = b"bestmove (none)\n"  # played by no engine


def test_plain_plies_are_played(desk: Callable[..., Desk]) -> None:
    """Plain plies have the lines, clocks, record, board and keys of Python; the next ply is handed over."""
    table = desk(INFO + b"bestmove e2e4 ponder e7e5\n", b"bestmove e7e5\r\n", b"bestmove g1f3\n", END)
    assert table.run() == ODD
    assert table.moves == ["e2e4", "e7e5", "g1f3"]
    assert table.heard[0] == b"position startpos\ngo wtime 60000 btime 60000 winc 10 binc 10 depth 9\n"
    assert table.heard[2].startswith(b"position startpos moves e2e4 e7e5\ngo wtime ")
    left = table.left()
    assert (left.thinking, left.text, left.end) == (True, END, None)
    assert [(ply.seat, ply.search, ply.mark, gap is None) for ply, gap in table.plies] == [
        (1, INFO, "", True), (0, b"", "", False), (1, b"", "", False)
    ]  # fmt: skip
    assert len(table.gaps) == 3
    line, begun, anchor, seen = table.own.give(table.board)
    assert (line, begun, anchor) == (b"position startpos moves e2e4 e7e5 g1f3", True, 2)
    told = chess.Board()
    counts: dict[Any, int] = {}
    for uci in table.moves:
        told.push_uci(uci)
        counts = {position_key(told): 1} if told.halfmove_clock == 0 else counts | {position_key(told): 1}
    assert (table.board.fen(), seen) == (told.fen(), counts)
    rest, _, moves, total, longest, least, uses, searches, asked, *_ = table.own.clocked(True)
    assert (moves, searches, uses) == (2, 2, 0)
    assert (rest, least <= LONG, longest <= total) == (LONG - total + 20, True, True)
    assert asked and table.own.clocked(False)[7] == 2  # the last one was begun
    assert [way for way, _ in table.noted].count(">") == 4


@pytest.mark.parametrize(
    "reply",
    [
        b"bestmove e2e5\n",  # illegal
        b"bestmove e1g1\n",
        b"bestmove e4\n",  # odd
        b"bestmove e2e4 \x07\n",
        b"bestmove e2e4 \x7f\n",
        b"bestmove e2e4 \x80\n",
        b"bestmove e2e4\xff\n",
        b"\xa0bestmove e2e4\n",
        b" bestmove e2e4\n",
        b"bestmoved e2e4\n",
        b"bestmove\n",
        b"info string bestmove e2e4\n",
        b"bestmove e2e4",  # in pieces
        b"bestmove e2e4\nbestmove e2e4\n",  # more than an answer
        b"bestmove e2e4\ninfo depth 1\n",
    ],
)
def test_what_is_no_plain_answer_is_handed_over(reply: bytes, desk: Callable[..., Desk]) -> None:
    """An answer that is not plain is handed over unchanged."""
    table = desk(reply)
    assert table.run() == ODD
    left = table.left()
    assert (left.thinking, left.text, table.moves, table.plies) == (True, reply, [], [])
    assert left.go <= left.stamp <= time.monotonic_ns()


def test_a_flood_is_handed_over_before_it_fills_the_memory(desk: Callable[..., Desk]) -> None:
    """A search with more than 64 KiB of output is handed over."""

    def flood(table: Desk) -> None:
        while table.busy:
            try:
                os.write(table.outs[1][1], INFO * 100)
            except BlockingIOError:
                time.sleep(0.0002)

    table = desk(flood)
    assert table.run() == ODD
    assert 65536 <= len(table.left().text) <= 2 * 65536


def test_words_out_of_turn_come_with_no_search_begun(desk: Callable[..., Desk]) -> None:
    """Output before `go` is handed over, and `go` is not written."""
    table = desk()
    os.write(table.outs[1][1], b"bestmove e2e4\n")
    assert table.run() == ODD
    left = table.left()
    assert (left.thinking, left.unread, table.noted) == (False, b"bestmove e2e4\n", [("<", b"bestmove e2e4\n")])


def test_the_other_sides_words_end_the_run(desk: Callable[..., Desk]) -> None:
    """Output of the other side ends the run and stays in its pipe."""
    table = desk(lambda table: os.write(table.outs[0][1], b"info x\n"))
    assert table.run() == ODD
    assert (table.left().thinking, os.read(table.outs[0][0], 99)) == (True, b"info x\n")


def test_the_place_is_heard(desk: Callable[..., Desk]) -> None:
    """A message on the control pipe ends the run during a search."""
    table = desk(lambda table: os.write(table.tell, b"x"))
    assert (table.run(), table.left().thinking) == (ODD, True)


def test_what_the_way_of_an_answer_cost_is_told(desk: Callable[..., Desk], tmp_path: Path) -> None:
    """The write, the gap and the kernel's figures are handed over."""
    (tmp_path / "schedstat").write_bytes(b"1 7 1\n")
    with (tmp_path / "schedstat").open("rb") as queue:
        table = desk(b"bestmove e2e4\n", b"bestmove e7e5\n", END, queue=queue.fileno())
        assert table.run() == ODD
    left = table.left()
    assert left.write > 0
    assert left.gap == table.gaps[-1] == left.go - left.write - left.answered > 0
    assert left.waited == b"1 7 1\n"


def test_stderr_is_for_who_drains_it(desk: Callable[..., Desk]) -> None:
    """Output on stderr is reported, and the search continues."""
    table = desk(lambda table: os.write(table.err[1], b"cough"))
    assert table.run() == STIRRED
    os.read(table.err[0], 99)
    os.write(table.outs[1][1], b"bestmove e2e4\n")
    table.replies.append(END)
    table.board.turn = chess.BLACK  # for the threads: whose turn comes
    assert table.run() == ODD
    assert table.moves == ["e2e4"]


def test_a_search_that_is_no_longer_quick_is_told_of(desk: Callable[..., Desk]) -> None:
    """A search that is no longer fast is reported once, and continues."""
    table = desk()
    assert (table.run(quick=1), table.left().thinking, table.own.stirs()) == (SLOW, True, False)
    os.write(table.outs[1][1], b"bestmove d2d4\n")
    table.replies.append(END)
    table.board.turn = chess.BLACK
    assert table.run(quick=NEVER // 2) == ODD
    assert table.moves == ["d2d4"]


def test_books_that_are_due_come_first(desk: Callable[..., Desk]) -> None:
    """Due bookkeeping comes first, during a search that continues."""
    table = desk()
    assert (table.run(urgent=True), table.left().thinking, table.own.stirs()) == (BOOKS, True, False)
    os.write(table.outs[1][1], b"bestmove d2d4\n")
    assert table.own.stirs()
    table.replies.append(END)
    table.board.turn = chess.BLACK
    assert table.run() == ODD
    assert table.moves == ["d2d4"]


def test_a_full_pipe_is_told_by_what_it_took(desk: Callable[..., Desk]) -> None:
    """A full pipe is reported with the bytes that it took."""
    table = desk()
    size = fcntl.fcntl(table.ins[1][1], fcntl.F_SETPIPE_SZ, 4096)
    while True:
        try:
            os.write(table.ins[1][1], b"x" * size)
        except BlockingIOError:
            break
    assert table.own.run(0, 0, 0, False, 0, NEVER, NEVER, 0) == ODD
    left = table.left()
    assert (left.thinking, left.taken, left.unread[:17]) == (True, 0, b"position startpos")


def test_the_end_of_an_engine_is_handed_over(desk: Callable[..., Desk]) -> None:
    """End of file is handed over, during a search and before it."""
    table = desk(lambda table: os.dup2(table.err[1], table.outs[1][1]) and None)
    assert (table.run(), table.left().thinking, table.left().text) == (ODD, True, b"")
    dead = desk()
    os.dup2(dead.err[1], dead.outs[1][1])
    assert (dead.run(), dead.left().thinking) == (ODD, False)


@pytest.mark.parametrize(("rest", "to_go"), [(-50, 0), (LONG, 1)])
def test_late_answers_and_the_ends_of_stages_are_judged_by_python(
    rest: int, to_go: int, desk: Callable[..., Desk]
) -> None:
    """Late answers and ends of stages are left to Python, without a charge."""
    table = desk(b"bestmove e2e4\n")
    table.clock(1, rest, to_go) if rest > 0 else table.own.clock(True, -1, 0, 0, 0, 1, 1, -1, 0)
    assert (table.run(), table.moves, table.own.clocked(True)[2]) == (ODD, [], 0)


@pytest.mark.parametrize(
    ("fen", "move"),
    [
        ("7k/5Q2/6K1/8/8/8/8/8 w - - 0 1", "f7g7"),  # mate
        ("7k/8/6K1/5Q2/8/8/8/8 w - - 0 1", "f5f7"),  # stalemate
        ("7k/8/6K1/8/8/8/8/6r1 w - - 0 1", "g6f5"),  # none of it: plain
        ("7k/8/8/8/8/8/6r1/7K w - - 0 1", "h1g2"),  # bare kings
        ("7k/8/8/8/8/8/1R4r1/7K w - - 99 90", "b2b3"),  # illegal too
        ("7k/8/8/8/8/8/1R6/7K w - - 99 90", "b2b3"),  # fifty moves
    ],
)
def test_ends_are_left_to_python(fen: str, move: str, desk: Callable[..., Desk]) -> None:
    """A move that ends the game is not made."""
    table = desk(f"bestmove {move}\n".encode(), END, board=chess.Board(fen))
    assert table.run() == ODD
    assert table.moves == ([move] if move == "g6f5" else [])


def test_adjudication_is_asked_with_the_last_exact_score(desk: Callable[..., Desk]) -> None:
    """Adjudication gets the last exact score; its result ends the run after the move."""
    asked: list[Any] = []

    def judge(*told: Any) -> Any:
        asked.append(told)
        return "over" if len(asked) == 2 else None

    bound = b"info depth 4 score cp 90 lowerbound\n"
    table = desk(INFO + bound + b"bestmove e2e4\n", bound + b"bestmove g8f6\n", judge=judge)
    assert table.run() == ENDED
    assert asked == [(1, False, 0, 1, 20), (0, True, 1, 2, None)]
    assert (table.left().end, table.left().thinking, table.moves) == ("over", False, ["e2e4", "g8f6"])


def test_a_stop_of_this_process_is_seen_before_the_answer_counts(desk: Callable[..., Desk]) -> None:
    """SIGCONT of this process is noticed before the answer counts."""
    table = desk(b"bestmove e2e4\n")
    table.halts.continued = True
    assert (table.run(), table.moves) == (ODD, [])


def test_a_signal_ends_the_run_when_its_handler_ran(desk: Callable[..., Desk]) -> None:
    """A signal ends the run after its handler."""
    ran: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, _: ran.append(number))
    try:
        table = desk(lambda table: os.kill(os.getpid(), signal.SIGUSR1))
        main = threading.main_thread()
        table.replies[0] = lambda table: signal.pthread_kill(main.ident, signal.SIGUSR1)  # type: ignore[arg-type]
        assert (table.run(), ran, table.left().thinking) == (ODD, [signal.SIGUSR1], True)
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_an_exception_of_a_handler_comes_through(desk: Callable[..., Desk]) -> None:
    """An exception of a signal handler is raised."""

    def stop(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, stop)
    try:
        main = threading.main_thread()
        table = desk(lambda table: signal.pthread_kill(main.ident, signal.SIGUSR1))  # type: ignore[arg-type]
        with pytest.raises(KeyboardInterrupt):
            table.run()
    finally:
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize(
    "board", [chess.Board("k7/8/8/8/8/8/8/8 w - - 0 1"), chess.Board("k7/Q7/8/8/8/8/8/K7 w - - 0 1")]
)
def test_odd_positions_are_not_taken(board: chess.Board, desk: Callable[..., Desk]) -> None:
    """Odd positions are left to Python from the first ply."""
    table = desk()
    assert not table.own.take(board, b"position", False, 0, 0, 0, {}, 0)


def test_a_game_leaves_no_descriptor() -> None:
    """A game leaves no descriptor open, even with an adjudicator."""
    gc.collect()  # objects of earlier tests
    gc.disable()
    try:
        game(sound(), sound(), draw=DrawRule(1, 50, 10))
        before = os.listdir("/proc/self/fd")
        game(sound(), sound(), draw=DrawRule(1, 50, 10))
        assert len(os.listdir("/proc/self/fd")) == len(before)
    finally:
        gc.enable()


class Delayed:
    """A relay whose last wait ended so much too late, as after a freeze."""

    def __init__(self, own: Any, late_ns: int) -> None:
        self._own, self._late_ns = own, late_ns

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    def ply(self) -> Any:
        told = list(self._own.ply())
        told[8] += self._late_ns
        return tuple(told)


@pytest.mark.usefixtures("answered")
def test_a_freeze_in_a_compiled_wait_blames_nobody(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """A freeze in a compiled wait is no engine's fault."""
    monkeypatch.setattr(clock, "OVERSLEPT_NS", NEVER)
    made = relay.CompiledRelay

    def delayed(*words: Any) -> Any:
        found = made(*words)
        found._own = Delayed(found._own, 60_000_000_000)
        return found

    late = scripted("uci", "late", at=1, seconds=0.65)
    with monkeypatch.context() as patch:
        patch.setattr(relay, "CompiledRelay", delayed)
        played = game(late, sound(), white_tc="0.5", doubtful_flag="void")
    assert (played.outcome, played.category, played.culprit) == (Outcome.VOID, "host", ""), played.cause
    request.getfixturevalue("idle")
    played = game(late, sound(), white_tc="0.5", doubtful_flag="void")
    assert (played.outcome, played.culprit) == (Outcome.BLACK, "late"), played.cause


# Clocks sent before each move, compared with the record of the game.

WHITE, BLACK = "3/60+1:40+0.5,nodes=7", "50+2,depth=3"


def clocks_before(played: Game) -> list[tuple[int, int]]:
    """Return milliseconds of White and Black before each ply."""
    left = [TimeControl.parse(text).stage(0) for text in (played.white_tc, played.black_tc)]
    now = [stage.base_ms + stage.increment_ms for stage in left]
    found = []
    for ply, move in enumerate(played.moves):
        found.append((now[0], now[1]))
        assert move.clock_ms is not None
        now[ply % 2] = move.clock_ms
    return found


def lines_to(pool: EnginePool, *specs: EngineSpec) -> list[list[str]]:
    told = []
    for engine in pool.take(*specs):
        assert engine is not None
        told.append([line.split(" > ", 1)[1] for line in engine.process.traffic(400) if " > " in line])
        pool.end(engine)
    return told


@pytest.mark.parametrize("compiled", [True, False])
def test_uci_engines_are_told_both_clocks(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """UCI engines get both clocks, White's first, with increments, moves to go and limits."""
    if not compiled:
        monkeypatch.setattr(relay, "native", None)
    white, black = scripted(name="w"), scripted(name="b")
    pool = EnginePool()
    played = game(white, black, white_tc=WHITE, black_tc=BLACK, pool=pool)
    assert played.outcome is Outcome.DRAW, played.cause
    before = clocks_before(played)
    stages = [(1000, f" movestogo {3 - move}") for move in range(3)] + [(500, "")] * len(before)
    asked: tuple[list[str], list[str]] = ([], [])
    for ply, (own, other) in enumerate(before):
        increment = stages[(ply + 1) // 2][0]  # White's after its moves so far
        words = f"go wtime {own} btime {other} winc {increment} binc 2000"
        asked[ply % 2].append(words + (" depth 3" if ply % 2 else f"{stages[ply // 2][1]} nodes 7"))
    for expected, told in zip(asked, lines_to(pool, white, black), strict=True):
        assert [line for line in told if line.startswith("go ")] == expected


@pytest.mark.parametrize("white_protocol", ["cecp", "uci"])
def test_cecp_engines_are_told_their_own_clock_first(white_protocol: Protocol) -> None:
    """CECP engines get their own clock first, in hundredths of a second."""
    white = scripted(white_protocol, name="w")
    black = scripted("uci" if white_protocol == "cecp" else "cecp", name="b")
    pool = EnginePool()
    played = game(white, black, white_tc="60+1", black_tc="50+2", pool=pool, opening=Opening())
    assert played.outcome is Outcome.DRAW, played.cause
    side = int(white_protocol == "uci")
    told = lines_to(pool, white, black)[side]
    before = [clocks if side == 0 else clocks[::-1] for clocks in clocks_before(played)[side::2]]
    assert [line for line in told if line.startswith(("time", "otim"))] == [
        f"{word} {ms // 10}" for clocks in before for word, ms in zip(("time", "otim"), clocks, strict=True)
    ]
