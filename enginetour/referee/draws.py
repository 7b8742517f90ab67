"""Draws that the players bring about: a claim of the rules, or an agreement (FIDE 9.1, 9.2; runner spec 7).

An offer stands until the opponent has answered a search without a word of it. One that is made out of turn is made
with the next move. Whoever offers or claims a draw while the opponent's offer stands has agreed.
"""

from __future__ import annotations

from collections.abc import Sequence

from enginetour.engines.wire import Said, What
from enginetour.model.game import Outcome, Termination
from enginetour.referee.ends import Ends
from enginetour.referee.referee_seats import Seat
from enginetour.referee.verdict import Verdict, rightly_drawn


class Draws:
    """Claims and offers in one game; offers mean nothing unless `by_agreement`."""

    def __init__(self, seats: Sequence[Seat], ends: Ends, *, by_agreement: bool) -> None:
        white, black = seats
        self._others = {white: black, black: white}
        self._ends = ends
        self._by_agreement = by_agreement
        self._early: set[Seat] = set()  # who offered while the opponent was thinking

    def asked(self, seat: Seat) -> Verdict | None:
        """It is about to be asked for a move."""
        if seat in self._early:
            self._early.remove(seat)
            seat.offers_draw = True
        return self._due(seat)

    def heard(self, seat: Seat, said: Said, *, thinking: bool) -> Verdict | None:
        """What it said was no fault and ended nothing else."""
        if said.what is What.OFFER and self._by_agreement:
            if thinking:
                seat.offers_draw = True
            else:
                self._early.add(seat)
        return self._due(seat) if thinking else None

    def answered(self, seat: Seat) -> Verdict | None:
        """Its move is on the board: a claim that came with it is judged, an offer to it has been declined."""
        verdict = self._due(seat)
        seat.draw_claimed = False
        self._others[seat].offers_draw = False
        return verdict

    def _due(self, seat: Seat) -> Verdict | None:
        if seat.draw_claimed and (why := self._ends.drawn()):
            return rightly_drawn(seat, why)
        if self._others[seat].offers_draw and (seat.offers_draw or seat.draw_claimed):
            return Verdict(Outcome.DRAW, Termination.AGREEMENT, "Draw by agreement")
        return None
