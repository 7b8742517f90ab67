"""Every two engines that met, game by game and by pairs of games."""

from __future__ import annotations

from enginetour.reports.games import pairings


def test_a_pairing_is_seen_from_the_first_of_the_list() -> None:
    """Whoever had White in how many games, and whichever way round the pairs were counted."""
    counts = {("B", "A"): (3, 1, 0), ("A", "B"): (1, 2, 1), ("C", "A"): (0, 1, 0)}
    sheet = pairings("t", ["A", "B", "C"], counts, {("B", "A"): (0, 1, 1, 2, 0)})
    first, second = sheet.rows
    assert (first["engine"], first["opponent"]) == ("A", "B")
    assert (first["wins"], first["draws"], first["losses"], first["score"]) == (1, 3, 4, 0.3125)
    assert first["pentanomial"] == [0, 2, 1, 1, 0]
    assert (second["engine"], second["opponent"], second["pentanomial"]) == ("A", "C", None)


def test_engines_that_did_not_meet_have_no_line() -> None:
    """Nor have those whose games were all struck out."""
    assert pairings("t", ["A", "B"], {("A", "B"): (0, 0, 0)}, {}).rows == ()
