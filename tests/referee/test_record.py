"""Tests of the record: bookkeeping never delays a fast answer, and never waits for long."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import SimpleNamespace

import chess
import pytest

from enginetour.engines.position import Position
from enginetour.engines.process import NEVER_NS
from enginetour.engines.wire import SearchInfo
from enginetour.model.game import MoveMade
from enginetour.model.task import Rules, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.referee.record import (
    HELD_NS,
    HELD_PLIES,
    LIVE_INTERVAL_NS,
    PATIENCE_NS,
    STEP_PLIES,
    UNWATCHED_INTERVAL_NS,
    LiveMoves,
    RawPly,
    Record,
    SearchClaims,
)
from enginetour.referee.startup import EnginePool, Seat
from tests.support.engines import SHUFFLE, Eavesdropper, sound

SECOND_NS = 1_000_000_000


class Table:
    """A record in which plies can be entered without a game."""

    def __init__(self, *, watched: bool = True) -> None:
        self.link, self.position = Eavesdropper(), Position()
        self.record = Record(self.position, self.link, EnginePool(), watched=watched)

    def play(self, plies: int, elapsed_ms: int = 20) -> None:
        for _ in range(plies):
            move = chess.Move.from_uci(SHUFFLE[len(self.position.moves) % len(SHUFFLE)])
            self.record.enter(RawPly(None, elapsed_ms))
            self.position.push(move)

    def ask(self, go_ns: int) -> int:
        """Start a search; return when the first step of bookkeeping is due in it."""
        side = Side(sound(), TimeControl.parse("60"))
        white, black = (Seat(side, Rules(), white=white) for white in (True, False))
        for seat in (white, black):
            seat.sit(Silent())  # type: ignore[arg-type]  # all that the books ask of an engine
        self.record.search_begun(white, black, go_ns)
        return self.record.due_ns

    def work(self) -> int:
        """Run all steps."""
        steps = 0
        while self.record.due_ns < NEVER_NS:
            self.record.step()
            steps += 1
        return steps


class Silent:
    """An engine without warnings."""

    def __init__(self) -> None:
        self.new_notes: list[object] = []
        self.process = SimpleNamespace(engine_pid=0)


@pytest.fixture
def table() -> Iterator[Table]:
    found = Table()
    yield found
    found.record.release()


def test_there_is_nothing_to_do_before_a_ply(table: Table) -> None:
    """Before the first ply there is no bookkeeping."""
    assert table.ask(SECOND_NS) == NEVER_NS


def test_plies_of_quick_searches_wait_for_each_other(table: Table) -> None:
    """Plies of fast searches wait for a quarter of a second, or until there are many."""
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
    """A ply of a slow game does not wait for others."""
    table.play(1, elapsed_ms=HELD_NS // 1_000_000)
    assert table.ask(SECOND_NS) == SECOND_NS + PATIENCE_NS


def test_a_row_of_plies_is_written_piece_by_piece(table: Table) -> None:
    """A step takes about 30 us; sides take turns."""
    assert HELD_PLIES % 2
    table.play(HELD_PLIES)
    assert table.ask(SECOND_NS) == SECOND_NS
    assert table.work() == -(-HELD_PLIES // STEP_PLIES)
    assert [move.uci for move in table.record.moves] == (list(SHUFFLE) * HELD_PLIES)[:HELD_PLIES]
    table.play(1)
    assert table.ask(5 * SECOND_NS) == 5 * SECOND_NS + HELD_NS


def test_who_looks_on_sees_both_ends_of_an_hourglass(table: Table) -> None:
    """Both hourglasses are reported: the mover's time goes to the other clock."""
    live = LiveMoves(table.link, table.position, (1000, 1000), watched=True, hourglass=True)
    live.next_ns = 0
    live.look([MoveMade("g1f3", "Nf3", clock_ms=700, elapsed_ms=300)])
    assert table.link.told[-1][1][0]["clocks"] == [700, 1300]


@pytest.mark.parametrize(("watched", "interval"), [(True, LIVE_INTERVAL_NS), (False, UNWATCHED_INTERVAL_NS)])
def test_moves_are_told_together(*, watched: bool, interval: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several moves are reported together, more often if somebody watches the game."""
    assert LIVE_INTERVAL_NS < UNWATCHED_INTERVAL_NS
    now = SECOND_NS
    monkeypatch.setattr(time, "monotonic_ns", lambda: now)
    table = Table(watched=watched)
    side = Side(sound(), TimeControl.parse("60"))
    table.record.begin(*(Seat(side, Rules(), white=white) for white in (True, False)))

    def step() -> int:
        table.ask(now)
        table.record.step()
        return table.record.due_ns

    table.play(1)
    assert step() == SECOND_NS + interval  # it is written, and reported in this search if that is long enough
    table.play(1)
    now += 1
    assert step() == SECOND_NS + interval
    assert table.ask(now) == SECOND_NS + interval
    assert table.link.told == []
    now = SECOND_NS + interval
    assert table.ask(now) == now + PATIENCE_NS  # it does not delay a fast answer either
    assert step() == NEVER_NS
    ((name, told),) = table.link.told
    assert (name, [move["ply"] for move in told]) == ("moves", [1, 2])
    table.play(1)
    assert step() == now + interval
    assert len(table.link.told) == 1


# Claims of engines about their searches, compared with the board.

Search = tuple[str, SearchInfo]
E4, D4 = "e2e4", "d2d4"
NO_MATE = [(E4, SearchInfo(50))] * 3


@pytest.mark.parametrize(
    ("searches", "broken"),
    [
        ([(E4, SearchInfo(30, 9, 1, "e2e4 e7e5 g1f3 b8c6 f1b5 g8f6 e1g1"))], ""),  # legal, and begins with the move
        ([(E4, SearchInfo(30, 9, 1, "d2d4 d7d5"))], "pv-other"),
        ([(E4, SearchInfo(30, 9, 1, "e2e4 e7e5 e4e5"))], "pv-illegal"),
        ([(E4, SearchInfo(30, 9, 1, "e2e4 0000 g1f3"))], "pv-illegal"),
        ([(E4, SearchInfo(30, 9, 1, "e2e4 e7e5 nonsense"))], "pv-illegal"),
        ([(E4, SearchInfo())], "no-score"),
        # A mate in time is correct: in 3, 2, 1; in 3 with another score between.
        ([(E4, SearchInfo(32_000 - n)) for n in (3, 2, 1)], ""),
        ([(E4, SearchInfo(31_997)), (D4, SearchInfo(900)), (E4, SearchInfo(31_999))], ""),
        # A missing mate is counted once: in 2, and two moves later still no mate.
        ([(E4, SearchInfo(31_998)), (D4, SearchInfo(31_998)), *NO_MATE], "mate-late"),
        # No reply of the opponent turns a mate into being mated; its blunder turns being mated into a mate.
        ([(E4, SearchInfo(31_990)), (D4, SearchInfo(-31_995))], "mate-lost"),
        ([(E4, SearchInfo(-31_990)), (D4, SearchInfo(31_995))], ""),
        ([(E4, SearchInfo(31_990, bound=-1)), (D4, SearchInfo(-31_995))], ""),
        # Scores beyond the mates are a scale of the engine.
        ([(E4, SearchInfo(40_000)), *NO_MATE], ""),
        ([(E4, SearchInfo(31_990)), (D4, SearchInfo(-40_000))], ""),
        # The PV of a bound proves nothing.
        ([(E4, SearchInfo(30, 9, 1, "d2d4 d7d5", bound=-1))], ""),
        ([(E4, SearchInfo(30, 9, 1, "d2d4 d7d5", bound=1))], ""),
    ],
)
def test_each_kind_is_seen(searches: list[Search], broken: str) -> None:
    """Each kind of claim is counted once; a sound search gives none."""
    assert claimed(*searches) == ({broken: 1} if broken else {})


def claimed(*searches: Search, fen: str = chess.STARTING_FEN, ms: int = 100, reads_pv: bool = True) -> dict[str, int]:
    """Return kinds and counts, by FIDE's rules and by others."""
    found = []
    for usual in (True, False):
        claims, board = SearchClaims(reads_pv=reads_pv, usual=usual), chess.Board(fen)
        for uci, thought in searches:
            for _ in claims.heard(thought, chess.Move.from_uci(uci), board, ms) or ():
                pass
        found.append(claims.broken())
    assert found[0] == found[1]
    return {kind: number for kind, number, _ in found[0]}


def test_a_claim_tells_its_move_by_the_number_of_the_pgn() -> None:
    """A claim has the move number of the PGN, also after an opening."""
    claims = SearchClaims(reads_pv=True, usual=True)
    board = chess.Board("r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 5")
    claims.heard(SearchInfo(), chess.Move.from_uci("f1b5"), board, 100)
    assert claims.broken() == (("no-score", 1, "move 5: played f1b5 without reporting a score"),)


def test_a_forced_move_needs_no_score() -> None:
    """A forced move needs no score."""
    assert claimed(("h1g1", SearchInfo()), fen="8/8/8/8/8/6k1/4r3/7K w - - 0 1") == {}


def test_the_pv_of_a_quick_search_is_looked_at_no_further_than_its_milliseconds() -> None:
    """As many plies of a PV are checked as the search took milliseconds."""
    wrong = (E4, SearchInfo(30, 9, 1, "e2e4 e7e5 g1f3 a1a5"))
    assert claimed(wrong, ms=3) == {}
    assert claimed(wrong, ms=4) == {"pv-illegal": 1}


def test_a_pv_of_cecp_is_text() -> None:
    """In CECP only the first move of a PV is checked."""
    said = SearchInfo(30, 9, 1, "(-) 1. Nf3 e4 whatever")
    assert claimed(("g1f3", said), reads_pv=False) == {}
    assert claimed((E4, said), reads_pv=False) == {"pv-other": 1}
