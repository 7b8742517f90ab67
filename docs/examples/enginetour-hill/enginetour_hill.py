"""King of the hill: each entrant in turn plays a match against the king, and the winner is the king from then on."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from pydantic import BaseModel, ConfigDict, Field

from enginetour.formats.base import Format, FormatState, GamesOfMatch, System, check_present, refuse_twice
from enginetour.formats.pairing.schedule import games_per_opening, match_games
from enginetour.model.game import (
    Added,
    Entrant,
    Event,
    Extended,
    GameFinished,
    GameVoided,
    Outcome,
    Pairing,
    Replaced,
    StandingsRow,
    Withdrawn,
)


class HillOptions(BaseModel):
    """Settings of the format hill."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    games_per_pairing: GamesOfMatch = 2
    from_last: bool = Field(default=False, description="Whether the last entrant is the first king.")


@dataclass(frozen=True, slots=True)
class HillState(FormatState):
    """State of a tournament. `games` are the unplayed games of the present match, `finished` all finished games."""

    names: tuple[str, ...]
    king: str = ""
    challenger: str = ""
    waiting: tuple[str, ...] = ()
    beaten: tuple[str, ...] = ()  # most recent first
    gone: tuple[str, ...] = ()
    games: tuple[Pairing, ...] = ()
    finished: tuple[tuple[Pairing, Outcome], ...] = ()
    canceled: frozenset[Pairing] = frozenset()  # games of entrants that withdrew; they may still be in progress
    matches: int = 0

    def half_points(self, name: str, opponent: str = "") -> int:
        """Return the half points of an entrant, against all opponents or against one."""
        return sum(
            outcome.half_points(white=game.white == name)
            for game, outcome in self.finished
            if name in game.pair and (not opponent or opponent in game.pair)
        )


class Hill(Format[HillState]):
    """Each entrant in turn plays a match against the king; a drawn match does not change the king."""

    version = 1  # a change of the pairings for the same results needs another version

    def __init__(self, options: HillOptions) -> None:
        self.options = options

    def start(self, entrants: tuple[Entrant, ...]) -> HillState:
        """Return the state before the first game: the king meets the second entrant."""
        names = tuple(entrant.name for entrant in entrants)
        refuse_twice(names, "entrant")
        order = names[::-1] if self.options.from_last else names
        return self._paired(HillState(names, king=order[0], waiting=order[1:]))

    def offers(self, state: HillState) -> tuple[Pairing, ...]:
        """Return the unplayed games of the present match."""
        return state.games

    def step(self, state: HillState, event: Event) -> HillState:
        """Return the state after one event; raise ValueError if it is impossible."""
        match event:
            case GameFinished(game, outcome):
                return self._with_game(state, game, outcome)
            case GameVoided(game, outcome):
                return self._without_game(state, game, outcome)
            case Withdrawn(name):
                return self._paired(self._left(state, name))
            case Added(entrant):
                return self._paired(_joined(state, entrant, len(state.names), len(state.waiting)))
            case Replaced(old, entrant):
                place = state.waiting.index(old) if old in state.waiting else len(state.waiting)
                left = self._left(state, old)
                return self._paired(_joined(left, entrant, state.names.index(old), place))
            case Extended():
                raise ValueError("each entrant plays one match, so this format cannot be extended")

    def remaining(self, state: HillState) -> tuple[int, int]:
        """Return the exact number of remaining games, as the lower and the upper bound."""
        games = len(state.games) + len(state.waiting) * self.options.games_per_pairing
        return games, games

    def standings(self, state: HillState) -> tuple[StandingsRow, ...]:
        """Return the king, the challenger and the beaten entrants, then the others without a rank."""
        ranked = [name for name in (state.king, state.challenger, *state.beaten) if name]
        lines = [_line(state, name, rank, "king" if rank == 1 else "") for rank, name in enumerate(ranked, 1)]
        lines += [_line(state, name, None, "waiting") for name in state.waiting]
        return (*lines, *(_line(state, name, None, "withdrawn") for name in state.gone))

    def _paired(self, state: HillState) -> HillState:
        """Start the next match if no match is in progress and an entrant waits."""
        if state.challenger or not state.waiting:
            return state
        if not state.king:  # the king withdrew
            return self._paired(replace(state, king=state.waiting[0], waiting=state.waiting[1:]))
        challenger, number = state.waiting[0], state.matches + 1
        each = self.options.games_per_pairing
        encounter = state.matches * (each // games_per_opening(each)) + 1
        games = tuple(match_games(state.king, challenger, games=each, encounter=encounter, number=number))
        state = replace(state, challenger=challenger, waiting=state.waiting[1:], games=games, matches=number)
        return state.noted("match", f"{challenger} plays against the king, {state.king}", engine=challenger)

    def _with_game(self, state: HillState, game: Pairing, outcome: Outcome) -> HillState:
        if game not in state.games and game not in state.canceled:
            raise ValueError(f"{game.white} - {game.black} is not a game of this match")
        if outcome is Outcome.VOID:
            return state
        finished = (*state.finished, (game, outcome))
        if game in state.canceled:
            return replace(state, finished=finished, canceled=state.canceled - {game})
        state = replace(state, finished=finished, games=tuple(one for one in state.games if one != game))
        return state if state.games else self._paired(self._decided(state))

    def _decided(self, state: HillState) -> HillState:
        """Return the state after the last game of a match."""
        king, challenger = state.king, state.challenger
        mine, theirs = state.half_points(king, challenger), state.half_points(challenger, king)
        winner, loser = (challenger, king) if theirs > mine else (king, challenger)
        state = replace(state, king=winner, challenger="", beaten=(loser, *state.beaten))
        return state.noted("king", f"{winner} is the king after a match against {loser}", engine=winner)

    def _without_game(self, state: HillState, game: Pairing, outcome: Outcome) -> HillState:
        """Remove a game. It is offered again if its match is not decided; otherwise the decision stands."""
        if (game, outcome) not in state.finished:
            raise ValueError(f"{game.white} - {game.black} has not been finished with {outcome}")
        present = bool(state.challenger) and set(game.pair) == {state.king, state.challenger}
        return replace(
            state,
            finished=tuple(one for one in state.finished if one != (game, outcome)),
            games=(*state.games, game) if present else state.games,
        )

    def _left(self, state: HillState, name: str) -> HillState:
        check_present(name, state.names, state.gone)
        if name in (state.king, state.challenger):
            king = state.challenger if name == state.king else state.king
            canceled = state.canceled | set(state.games)
            state = replace(state, king=king, challenger="", games=(), canceled=canceled)
        waiting, beaten = (tuple(one for one in found if one != name) for found in (state.waiting, state.beaten))
        state = replace(state, waiting=waiting, beaten=beaten, gone=(*state.gone, name))
        return state.noted("withdraw", f"{name} withdraws", engine=name)


def _joined(state: HillState, entrant: Entrant, at: int, place: int) -> HillState:
    """Add an entrant at a place of the starting list and at a place among the waiting entrants."""
    if entrant.name in state.names:
        raise ValueError(f"{entrant.name} is already in this tournament")
    names = (*state.names[:at], entrant.name, *state.names[at:])
    waiting = (*state.waiting[:place], entrant.name, *state.waiting[place:])
    return replace(state, names=names, waiting=waiting).noted("add", f"{entrant.name} joins", engine=entrant.name)


def _line(state: HillState, name: str, rank: int | None, status: str) -> StandingsRow:
    games = sum(name in game.pair for game, _ in state.finished)
    return StandingsRow(rank, name, state.half_points(name), games, status)


def example_settings(dice: random.Random, _entrants: int) -> dict[str, object]:
    """Return settings for the laws of enginetour.testing."""
    return {"games_per_pairing": dice.choice([1, 2, 4]), "from_last": dice.random() < 0.5}


CONTRACT = 1
PLUGIN = System(
    "enginetour_hill:Hill",
    summary="each entrant in turn plays a match against the king; the winner is the king from then on",
    source="king of the hill, as in other games",
    examples=example_settings,
)
