"""What can be read off a bubble's state: the table of a round robin, the interim ranking, the games to come."""

from __future__ import annotations

from fractions import Fraction

from enginetour.formats.bubble_state import BubbleState
from enginetour.formats.pairing.docket import legs
from enginetour.formats.pairing.standings import table, total
from enginetour.model.game import Placed

HALF = Fraction(1, 2)  # what an engine without a game counts as: rule of the interim ranking


def final_table(state: BubbleState) -> tuple[Placed, ...]:
    """The members by their matches among each other: points, SB, DE, higher place in the list; best first."""
    return table(state.section[::-1], state.grid, ("SB", "DE"))


def on_record(state: BubbleState, lines: tuple[Placed, ...]) -> dict[str, object]:
    """What a decision's note keeps of its round robin; half points and quarter points."""
    number = legs(state.pair_games)
    return {
        "active": list(state.section),
        "table": [[line.name, line.half_points, line.tiebreaks[0][1]] for line in lines],
        "games": [
            [game.white, game.black, (game.meeting - 1) * number + game.leg, str(state.docket.played[game.key])]
            for game in state.docket.games
        ],
        "games_total": state.finished,
    }


def interim(state: BubbleState) -> tuple[Placed, ...]:
    """Everybody best first with a status; members of an unfinished round robin by score per game, then list place."""
    members = sorted(state.section, key=lambda name: (_form(state, name), state.place[name]))
    upward = [(name, "final") for name in state.new]
    upward += [(name, "active") for name in members]
    upward += [(name, "parked") for name in state.parked]
    upward += [(name, "waiting") for name in state.old]
    ranked = [_line(state, rank, name, status) for rank, (name, status) in enumerate(reversed(upward), 1)]
    return (*ranked, *(_line(state, None, name, "withdrawn") for name in state.withdrawn))


def bounds(state: BubbleState, size: int) -> tuple[int, int]:
    """Fewest and most games to come: everybody waiting meets a full section; at most all pairs meet."""
    if state.ended:
        return (0, 0)
    games, left = state.pair_games, state.docket.left
    fewest = max(left, left + len(state.old) * (size - 1) * games - len(state.early.results))
    still_in = (*state.old, *state.section, *state.parked)
    names = frozenset(still_in)
    unmet = sum(len(names) - 1 - state.met_among(name, names) for name in still_in) // 2
    half_played = 0
    if games > 1:
        half_played = len({game.pair for game in state.docket.unfinished()}) * games - left
    early = sum(names.issuperset(key[:2]) for key in state.early.results)
    return (fewest, unmet * games - half_played - early)


def _form(state: BubbleState, name: str) -> Fraction:
    tally = total(state.grid, name, state.section)
    return Fraction(tally.half_points, 2 * tally.games) if tally.games else HALF


def _line(state: BubbleState, rank: int | None, name: str, status: str) -> Placed:
    tally = total(state.grid, name)
    return Placed(rank, name, tally.half_points, tally.games, status)
