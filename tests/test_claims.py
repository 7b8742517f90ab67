"""What engines say of their own searches, held against the board."""

from __future__ import annotations

import chess
import pytest

from enginetour.engines.wire import Thought
from enginetour.referee.verdict import Claims

Search = tuple[str, Thought]


def broken(*searches: Search, fen: str = chess.STARTING_FEN, ms: int = 100, reads_pv: bool = True) -> dict[str, int]:
    """Kinds and counts after one side's searches, each from the same position, by FIDE's rules as by any others."""
    found = []
    for usual in (True, False):
        claims, board = Claims(reads_pv=reads_pv, usual=usual), chess.Board(fen)
        for uci, thought in searches:
            for _ in claims.heard(thought, chess.Move.from_uci(uci), board, ms) or ():
                pass
        found.append(claims.broken())
    assert found[0] == found[1]
    return {kind: number for kind, number, _ in found[0]}


def test_a_sound_search_claims_nothing_false() -> None:
    """A legal PV that begins with the move."""
    assert broken(("e2e4", Thought(30, 9, 1, "e2e4 e7e5 g1f3 b8c6 f1b5 g8f6 e1g1"))) == {}


@pytest.mark.parametrize(
    ("thought", "kind"),
    [
        (Thought(30, 9, 1, "d2d4 d7d5"), "pv-other"),
        (Thought(30, 9, 1, "e2e4 e7e5 e4e5"), "pv-illegal"),
        (Thought(30, 9, 1, "e2e4 0000 g1f3"), "pv-illegal"),
        (Thought(30, 9, 1, "e2e4 e7e5 nonsense"), "pv-illegal"),
        (Thought(), "no-score"),
    ],
)
def test_each_kind_is_seen(thought: Thought, kind: str) -> None:
    """One search, one kind, once."""
    assert broken(("e2e4", thought)) == {kind: 1}


def test_a_claim_tells_its_move_by_the_number_of_the_pgn() -> None:
    """Behind an opening of four moves an engine's first is the fifth, which was called move 1."""
    claims = Claims(reads_pv=True, usual=True)
    board = chess.Board("r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 5")
    claims.heard(Thought(), chess.Move.from_uci("f1b5"), board, 100)
    assert claims.broken() == (("no-score", 1, "move 5: played f1b5 without any scored line"),)


def test_a_forced_move_needs_no_score() -> None:
    """An engine with one legal move may answer at once."""
    assert broken(("h1g1", Thought()), fen="8/8/8/8/8/6k1/4r3/7K w - - 0 1") == {}


def test_the_pv_of_a_quick_search_is_looked_at_no_further_than_its_milliseconds() -> None:
    """The fourth ply is wrong: seen after 4 ms, not after 3."""
    wrong = ("e2e4", Thought(30, 9, 1, "e2e4 e7e5 g1f3 a1a5"))
    assert broken(wrong, ms=3) == {}
    assert broken(wrong, ms=4) == {"pv-illegal": 1}


def test_a_pv_of_cecp_is_text() -> None:
    """Numbers and SAN are read where they can be; what follows the first move is nobody's business."""
    said = Thought(30, 9, 1, "(-) 1. Nf3 e4 whatever")
    assert broken(("g1f3", said), reads_pv=False) == {}
    assert broken(("e2e4", said), reads_pv=False) == {"pv-other": 1}


def test_a_mate_that_comes_in_time_is_a_promise_kept() -> None:
    """Mate in 3, 2, 1; and mate in 3 with another score between."""
    assert broken(*(("e2e4", Thought(32_000 - n)) for n in (3, 2, 1))) == {}
    assert broken(("e2e4", Thought(31_997)), ("d2d4", Thought(900)), ("e2e4", Thought(31_999))) == {}


def test_a_mate_that_does_not_come_is_counted_once() -> None:
    """Mate in 2, and two moves later still no mate."""
    assert broken(("e2e4", Thought(31_998)), ("d2d4", Thought(31_998)), *[("e2e4", Thought(50))] * 3) == {
        "mate-late": 1
    }


def test_from_mating_to_being_mated() -> None:
    """No reply of the opponent can do that; from being mated to mating, its blunder can."""
    assert broken(("e2e4", Thought(31_990)), ("d2d4", Thought(-31_995))) == {"mate-lost": 1}
    assert broken(("e2e4", Thought(-31_990)), ("d2d4", Thought(31_995))) == {}
    assert broken(("e2e4", Thought(31_990, bound=-1)), ("d2d4", Thought(-31_995))) == {}


def test_a_scale_of_its_own_promises_no_mate() -> None:
    """Scores beyond the mates count no moves."""
    assert broken(("e2e4", Thought(40_000)), *[("d2d4", Thought(30))] * 3) == {}
    assert broken(("e2e4", Thought(31_990)), ("d2d4", Thought(-40_000))) == {}


@pytest.mark.parametrize("bound", [-1, 1])
def test_a_bound_has_no_variation(bound: int) -> None:
    """What a search that failed leaves as PV leads nowhere."""
    assert broken(("e2e4", Thought(30, 9, 1, "d2d4 d7d5", bound=bound))) == {}
