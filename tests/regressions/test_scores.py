"""Scores that engines gave and we told wrongly."""

from __future__ import annotations

import pytest

from enginetour.adapters.uci_lines import last_thought
from enginetour.reports import pgn


def test_a_score_beyond_every_mate_is_told_as_it_is() -> None:
    """HoiChess says 99994 before it is mated: no mate in -67994 moves."""
    assert pgn.score_words(-99_994) == "-999.94"
    assert pgn.score_words(32_000) == "+M0"


@pytest.mark.parametrize(("word", "bound"), [("lowerbound", 1), ("upperbound", -1)])
def test_a_bound_at_the_end_of_its_line_is_one(word: str, bound: int) -> None:
    """Nothing need follow it: it was read as an exact score, by which games are adjudicated."""
    line = f"info depth 4 score cp 90 {word}".encode()
    assert last_thought(line).bound == bound
    assert last_thought(b"info depth 3 score cp 20\n" + line, bounds=False).score == 20
