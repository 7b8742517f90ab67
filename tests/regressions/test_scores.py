"""Scores that engines gave and we told wrongly."""

from __future__ import annotations

import pytest

from enginetour.engines.uci_lines import last_thought
from enginetour.model.game import MoveMade
from enginetour.reports import pgn
from enginetour.reports.progress import Progress, now_line


def test_a_score_beyond_every_mate_is_told_as_it_is() -> None:
    """HoiChess says 99994 before it is mated: no mate in -67994 moves."""
    assert pgn.score_words(-99_994) == "-999.94"
    assert pgn.score_words(32_000) == "+M0"


@pytest.mark.parametrize(("score", "words"), [(2**63 - 1, "+1000.00"), (-(2**63), "-1000.00"), (100_001, "+1000.00")])
def test_a_score_that_no_engine_means_is_not_printed_as_it_came(score: int, words: str) -> None:
    """In comments of the PGN, on the pages and in the line of the games under way; a depth neither."""
    move = MoveMade("e2e4", "e4", score=score, depth=10**17, elapsed_ms=5)
    assert pgn.comment(move) == f"{words}/999 0.005s"
    made = Progress("match", "trial")
    made.event(0, "start", {"white": "A", "black": "B", "moves": []})
    made.event(0, "move", {"ply": 1, "uci": "e2e4", "score": score})
    assert now_line(made).endswith(f", {words[:-1]}")


@pytest.mark.parametrize(("word", "bound"), [("lowerbound", 1), ("upperbound", -1)])
def test_a_bound_at_the_end_of_its_line_is_one(word: str, bound: int) -> None:
    """Nothing need follow it: it was read as an exact score, by which games are adjudicated."""
    line = f"info depth 4 score cp 90 {word}".encode()
    assert last_thought(line).bound == bound
    assert last_thought(b"info depth 3 score cp 20\n" + line, bounds=False).score == 20
