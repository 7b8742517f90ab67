"""Tie-breaks by hand."""

from enginetour.formats.pairing.standings import Scored, cross
from enginetour.formats.pairing.tiebreaks import NOTHING, against, direct_encounter, sonneborn_berger, wins
from enginetour.model.game import Outcome

GAMES = [
    Scored("A", "B", Outcome.WHITE),
    Scored("C", "A", Outcome.WHITE),
    Scored("B", "C", Outcome.DRAW),
    Scored("D", "A", Outcome.BLACK),
    Scored("B", "D", Outcome.WHITE),
    Scored("C", "D", Outcome.BLACK),
]
CROSS = cross(GAMES)
SCORES = {"A": 4, "B": 3, "C": 3, "D": 2}


def test_sonneborn_berger_in_quarter_points() -> None:
    """Beaten opponents count whole, drawn ones half, in quarter points."""
    assert sonneborn_berger("A", CROSS, SCORES) == 2 * 3 + 2 * 2  # beat B and D
    assert sonneborn_berger("B", CROSS, SCORES) == 1 * 3 + 2 * 2  # drew C, beat D
    assert sonneborn_berger("C", CROSS, SCORES) == 2 * 4 + 1 * 3


def test_sonneborn_berger_counts_listed_opponents_only() -> None:
    """A withdrawn opponent is worth nothing."""
    assert sonneborn_berger("A", CROSS, {"A": 2, "B": 1, "C": 3}) == 2 * 1


def test_direct_encounter_among_the_tied() -> None:
    """Only points against the others of the group count."""
    assert direct_encounter(["A", "B", "C"], CROSS) == {"A": 2, "B": 1, "C": 3}
    assert direct_encounter(["A"], CROSS) == {"A": 0}


def test_direct_encounter_needs_all_to_have_met() -> None:
    """One pair that has not met silences it."""
    assert direct_encounter(["A", "B"], cross([GAMES[1]])) == {"A": 0, "B": 0}


def test_wins_are_counted() -> None:
    """Whichever colour they came with."""
    assert {name: wins(name, CROSS, SCORES) for name in SCORES} == {"A": 2, "B": 1, "C": 1, "D": 1}


def test_strangers_have_an_empty_tally() -> None:
    """Who has not met, or is not known, has no points."""
    assert against(CROSS, "A", "Z") is NOTHING
    assert against(CROSS, "Z", "A") is NOTHING
