"""Scores that engines gave and we told wrongly."""

from __future__ import annotations

from enginetour.reports import pgn


def test_a_score_beyond_every_mate_is_told_as_it_is() -> None:
    """HoiChess says 99994 before it is mated: no mate in -67994 moves."""
    assert pgn.score_words(-99_994) == "-999.94"
    assert pgn.score_words(32_000) == "+M0"
