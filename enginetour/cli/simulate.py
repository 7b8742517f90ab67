"""Tournaments without engines: a case played through the format's contract, one game at a time."""

from __future__ import annotations

from collections.abc import Mapping

from enginetour.formats.bubble import Bubble
from enginetour.interop.bubblecase import read_case
from enginetour.model.game import Entrant, GameFinished, Note


def decisions(source: str | bytes | Mapping[str, object], place: str = "case") -> tuple[Note, ...]:
    """Play a bubble case, JSON text or loaded, and return its decisions. InputRefused names `place` and the field."""
    case = read_case(source, place)
    bubble = Bubble(case.options, due=case.withdrawals)
    state = bubble.start(tuple(Entrant(name) for name in reversed(case.ranking)))
    while games := bubble.offers(state):
        state = bubble.step(state, GameFinished(games[0], case.outcome(games[0])))
    return tuple(bubble.notes(state))
