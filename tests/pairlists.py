"""Fields, results and colours for the formats that have a pair list."""

from __future__ import annotations

from collections import Counter

from enginetour.formats.pairlist import ListState, PairList
from enginetour.model.game import Entrant, GameFinished, Outcome, Pairing


def field(count: int) -> tuple[Entrant, ...]:
    return tuple(Entrant(f"E{number}") for number in range(count))


def played(format_: PairList, state: ListState, games: int = 10**6) -> ListState:
    """The earlier in the list always wins."""
    for _ in range(games):
        offers = format_.offers(state)
        if not offers:
            break
        white_wins = offers[0].white < offers[0].black
        state = format_.step(state, GameFinished(offers[0], Outcome.WHITE if white_wins else Outcome.BLACK))
    return state


def surplus(games: tuple[Pairing, ...]) -> Counter[str]:
    """Whites minus Blacks."""
    whites: Counter[str] = Counter(game.white for game in games)
    whites.subtract(game.black for game in games)
    return whites
