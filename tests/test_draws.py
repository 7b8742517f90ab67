"""Draws by agreement between CECP engines, offered, passed on, accepted (FIDE 9.1; runner spec 7)."""

from __future__ import annotations

import pytest

from enginetour.engines.position import Position
from enginetour.engines.wire import Said, What
from enginetour.model.game import Outcome, Termination
from enginetour.model.task import EngineSpec, Rules, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.referee.ends import Draws, Ends
from enginetour.referee.seats import Seat
from tests.playing import game, scripted

OFFER = Said(What.OFFER, "offer draw")


def table() -> tuple[Seat, Seat, Draws]:
    """Two seats and their offers, before the first move."""
    side = Side(EngineSpec("engine", ("/engine",), "cecp"), TimeControl.parse("1"), 50)
    white, black = Seat(side, Rules(), white=True), Seat(side, Rules(), white=False)
    return white, black, Draws((white, black), Ends(Position(), Rules()), by_agreement=True)


def standing(*seats: Seat) -> list[bool]:
    """Whose offers stand."""
    return [seat.offers_draw for seat in seats]


@pytest.mark.parametrize("answer", ["agrees", "agrees-by-claim"])
def test_an_offer_that_is_answered_ends_the_game(answer: str) -> None:
    """Who is told of an offer and offers a draw too, or claims it, has agreed."""
    played = game(scripted("cecp", "offer"), scripted("cecp", answer, at=99), draw_offers=True)
    assert (played.outcome, played.termination, played.cause) == (
        Outcome.DRAW,
        Termination.AGREEMENT,
        "Draw by agreement",
    )
    assert played.plies == 3
    assert not played.culprit


def test_without_draw_offers_nobody_hears_of_them() -> None:
    """An offer is not passed on, so that nobody can take it for a draw."""
    played = game(scripted("cecp", "offer"), scripted("cecp", "agrees-by-claim", at=99))
    assert played.termination is Termination.REPETITION


@pytest.mark.parametrize(("second", "agreed"), [(2, True), (3, False)])
def test_two_offers_agree_within_one_pair_of_moves(second: int, agreed: bool) -> None:
    """An engine that is not told of offers may still make one in time; a move later the first has lapsed."""
    black = scripted("cecp", "offer", name="black", at=second)
    played = game(scripted("cecp", "offer", at=2), black, draw_offers=True)
    assert (played.termination is Termination.AGREEMENT) == agreed, played.cause


def test_an_offer_out_of_turn_is_made_with_the_next_move() -> None:
    """It does not accept what the opponent offers in the same search, but stands with the own move."""
    white, black, draws = table()
    assert draws.heard(white, OFFER, thinking=True) is None
    assert draws.heard(black, OFFER, thinking=False) is None
    assert draws.answered(white) is None
    agreed = draws.asked(black)
    assert agreed is not None
    assert agreed.termination is Termination.AGREEMENT


def test_a_move_declines_an_offer() -> None:
    """After the answer of its opponent an offer stands no more; the next one is a new one."""
    white, black, draws = table()
    draws.heard(white, OFFER, thinking=True)
    assert draws.answered(white) is None
    assert standing(white, black) == [True, False]
    assert draws.asked(black) is None
    assert draws.answered(black) is None
    assert standing(white, black) == [False, False]
    assert draws.asked(white) is None
    assert draws.heard(black, OFFER, thinking=False) is None
    assert standing(white, black) == [False, False]
