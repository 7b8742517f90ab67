"""Total pairing error by its published example, and the figures of rounds by hand."""

from __future__ import annotations

from math import log, tanh

import pytest

from enginetour.formats.pairing.field import BLACK, WHITE, Field, Kind, Member, Turn
from enginetour.reports.standings import PairingError, pairing_error, pairing_figures, relative_strengths

NATURAL = log(10) / 400
NOBODY = Turn()


def meeting(count: int, *boards: tuple[int, int, int]) -> tuple[Turn, ...]:
    """One round: White, Black, White's half points."""
    row = [NOBODY] * count
    for white, black, points in boards:
        row[white] = Turn(Kind.PLAYED, black, WHITE, points, 0, 1)
        row[black] = Turn(Kind.PLAYED, white, BLACK, 2 - points, 0, 1)
    return tuple(row)


FOUR = tuple(map(Member, "ABCD"))
TWO_ROUNDS = Field(FOUR, (meeting(4, (0, 1, 2), (2, 3, 2)), meeting(4, (0, 2, 1), (1, 3, 2))), rounds=2)


def test_the_worked_example() -> None:
    """A 100, B 50, C 0, D -150 in two rounds: squares add up to 150000 (Vuorinen 2010, 7.1)."""
    found = pairing_error(TWO_ROUNDS, (100.0, 50.0, 0.0, -150.0), range(2))
    assert found.total == pytest.approx(24.206146, abs=1e-6)
    assert found.rms == pytest.approx(136.930639, abs=1e-6)


def test_it_shrinks_with_the_size_of_the_tournament() -> None:
    """The same gap of 1 on every board: 0.040 in 32 x 5, and an RMS gap of 1 whatever the size."""
    boards = tuple((one, one + 1, 1) for one in range(0, 32, 2))
    field = Field(tuple(Member(str(place)) for place in range(32)), (meeting(32, *boards),) * 5)
    found = pairing_error(field, tuple(float(place % 2) for place in range(32)), range(5))
    assert found.total == pytest.approx(0.0395285, abs=1e-7)
    assert found.rms == 1.0


def test_relative_strengths_solve_their_equations() -> None:
    """What everybody scored, with half a point of the phantom draw, is what its strength expects."""
    field, strengths = TWO_ROUNDS, relative_strengths(TWO_ROUNDS)
    for member, own in enumerate(strengths):
        expected = (1 + tanh(own * NATURAL / 2)) / 2 - 0.5
        for turn in field.turns(member):
            assert turn.opponent is not None
            expected += (1 + tanh((own - strengths[turn.opponent]) * NATURAL / 2)) / 2
        assert expected == pytest.approx(field.scores[member] / 2, abs=1e-9)
    assert strengths[0] > strengths[2] > strengths[1] > strengths[3]


def test_byes_forfeits_and_strangers_say_nothing() -> None:
    """Nobody has met anybody: no strengths, no error, no gap."""
    row = (Turn(Kind.FORFEIT, 1, WHITE, 2), Turn(Kind.FORFEIT, 0, BLACK, 0), Turn(Kind.BYE, points=2))
    field = Field(FOUR[:3], (row,))
    assert relative_strengths(field) == (0.0, 0.0, 0.0)
    assert pairing_figures(field)[-1].error == PairingError(0.0, None)
    assert pairing_figures(Field(FOUR))[-1].error == PairingError(0.0, None)


def test_matches_enter_by_their_points() -> None:
    """Three of four half points weigh as a win and a draw."""
    match = (Turn(Kind.PLAYED, 1, 0, 3, 0, 2), Turn(Kind.PLAYED, 0, 0, 1, 0, 2))
    singly = (meeting(2, (0, 1, 2)), meeting(2, (1, 0, 1)))
    one = relative_strengths(Field(FOUR[:2], (match,), win=4))
    assert one == pytest.approx(relative_strengths(Field(FOUR[:2], singly)), abs=1e-9)


def test_figures_of_rounds() -> None:
    """Boards of unequal scores, rematches, uneven colours, byes but not absences; and all rounds in one line."""
    rounds = (
        meeting(4, (0, 1, 2), (2, 3, 1)),
        (*meeting(4, (0, 1, 1))[:2], Turn(Kind.BYE), Turn()),
        meeting(4, (0, 2, 0), (1, 3, 0)),
    )
    lines = pairing_figures(Field(FOUR, rounds, rounds=3))
    told = [(r.number, r.boards, r.floats, r.widest, r.rematches, r.uneven, r.unpaired) for r in lines]
    assert told == [
        (1, 2, 0, 0, 0, 0, 0),
        (2, 1, 1, 2, 1, 2, 1),
        (3, 2, 1, 2, 0, 2, 0),
        (0, 5, 2, 2, 1, 2, 1),
    ]
    assert lines[-1].error == pairing_error(Field(FOUR, rounds), relative_strengths(Field(FOUR, rounds)), range(3))


def test_starting_points_make_floats() -> None:
    """With a lead of one win for A the first board is unequal."""
    field = Field(FOUR, (meeting(4, (0, 1, 1), (2, 3, 1)),))
    scores = [[one + more for one, more in zip(row, (2, 0, 0, 0), strict=True)] for row in field.points]
    assert [line.floats for line in pairing_figures(field, scores)] == [1, 1]


def test_a_game_at_odds_has_no_colours() -> None:
    """Whoever is stronger has White there anyway."""
    rounds = (meeting(2, (0, 1, 2)),) * 2
    assert pairing_figures(Field(FOUR[:2], rounds))[-1].uneven == 2
    odds = (Turn(Kind.PLAYED, 1, WHITE, 2, 3, 1), Turn(Kind.PLAYED, 0, BLACK, 0, -3, 1))
    assert pairing_figures(Field(FOUR[:2], (rounds[0], odds)))[-1].uneven == 0


def test_no_round_yet() -> None:
    """One line that says so."""
    (line,) = pairing_figures(Field(FOUR))
    assert (line.number, line.boards, line.error.rms) == (0, 0, None)
