"""Round robin, gauntlet and Scheveningen: formats whose pairs are known from the start.

Their games can be played in any order. Colors are swapped in even cycles; with an even number of games per match they
alternate within the match. Without `swap` one entrant of a pair has White in all games: always the seed, or the member
of the first team. An entrant that joins later plays its games after all other games.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby
from typing import Annotated, Self, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationInfo, model_validator
from pydantic import Field as Setting

from enginetour.formats.base import (
    BY_RATING,
    Counts,
    Format,
    FormatState,
    RatingHandicap,
    Rest,
    check_present,
    listed,
    lists_as_tuples,
    refuse_twice,
)
from enginetour.formats.pairing import standings
from enginetour.formats.pairing.field import BLACK, NEITHER, WHITE, Field, Kind, Member, Turn
from enginetour.formats.pairing.persistent import Map
from enginetour.formats.pairing.schedule import (
    MOST_GAMES,
    Colors,
    GameSchedule,
    Order,
    berger,
    fair_count,
    games_per_opening,
    match_games,
    rounds_of,
    slide,
    window_size,
)
from enginetour.formats.pairing.standings import Codes, Grid, Scored, table, total, with_game, with_results
from enginetour.formats.pairing.tiebreaks import PlacementTerms
from enginetour.model.errors import InputRefused, did_you_mean
from enginetour.model.game import (
    Added,
    Entrant,
    Event,
    Extended,
    GameFinished,
    GameKey,
    GameVoided,
    Outcome,
    Pairing,
    Replaced,
    StandingsRow,
    Withdrawn,
)


class ListOptions(BaseModel):
    """Settings of all formats with a fixed list of pairs."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, validate_default=True)

    cycles: int = Setting(default=1, ge=1, description="Number of cycles; 2 makes a double round robin.")
    games_per_pairing: Annotated[
        int,
        Setting(ge=1, description="Number of games per match in a cycle: 1 or an even number."),
        AfterValidator(fair_count),
    ] = 1
    swap: bool = Setting(
        default=True,
        description="Swap colors after each game of a pair. false: one entrant of a pair has White in all games "
        "(always the seed, or the member of the first team).",
    )
    reverse: bool = Setting(default=False, description="Exchange White and Black in all games.")
    handicap: RatingHandicap | None = Setting(default=None, description=BY_RATING)
    placement: Codes = Setting(
        default=(),
        description="Order of the table: up to six codes such as NBW, LPR, SDC. Default: points, SB, DE, WIN.",
    )

    @model_validator(mode="after")
    def _colors_at_odds(self) -> Self:
        if self.reverse and self.handicap is not None:
            raise ValueError(
                "reverse and handicap exclude each other, because the stronger engine has White with a handicap. "
                "Hint: remove one of them"
            )
        return self


def _some_entrants(wanted: int | list[str], info: ValidationInfo) -> int | list[str]:
    key = info.field_name
    if isinstance(wanted, int) and wanted < 1:
        raise ValueError(f"{key} must be at least 1 (found {wanted})")
    if isinstance(wanted, list) and not wanted:
        raise ValueError(f"{key} is an empty list. Hint: name at least one entrant")
    if isinstance(wanted, list) and len(set(wanted)) < len(wanted):
        twice = next(name for name in wanted if wanted.count(name) > 1)
        raise ValueError(f"{key}: {twice!r} is listed twice")
    return wanted


_Some = Annotated[int | list[str], AfterValidator(_some_entrants)]
"""A number of entrants from the start of the list, or a list of names without duplicates; at least one."""


def _selected_names(names: tuple[str, ...], wanted: int | list[str], key: str) -> frozenset[str]:
    """Return the entrants that a setting selects; raise ValueError for an unknown name or if all are selected."""
    if isinstance(wanted, list):
        for name in wanted:
            if name not in names:
                raise ValueError(f"{key}: {name!r} is not an entrant")
    count = wanted if isinstance(wanted, int) else len(wanted)
    if count >= len(names):
        raise ValueError(f"{key}: {count} of {len(names)} entrants leave no opponents. Hint: select fewer entrants")
    return frozenset(names[:wanted] if isinstance(wanted, int) else wanted)


_Board = tuple[str, str, int, int]  # White and Black of the first game, cycle (the first is 0), round (the first is 1)


@dataclass(frozen=True, slots=True)
class ListState(FormatState):
    """State of a tournament with a fixed list of pairs; without `seeds` all entrants meet each other."""

    names: tuple[str, ...] = ()  # in list order, including withdrawn entrants
    seeds: frozenset[str] = frozenset()
    gone: tuple[str, ...] = ()
    schedule: GameSchedule = field(default_factory=GameSchedule)
    grid: Grid = field(default_factory=Map)
    cycles: int = 1
    rounds: int = 0
    encounters: int = 0
    ratings: Map[str, float | None] = field(default_factory=Map)  # as configured

    @property
    def present(self) -> tuple[str, ...]:
        """Names of the entrants that have not withdrawn, in list order."""
        return tuple(name for name in self.names if name not in self.gone)


class PairList(Format[ListState], ABC):
    """Format with a fixed list of pairs; subclasses provide the boards.

    Games of withdrawn entrants do not count in the table of the others. The notes of the format have the kinds warning,
    schedule, withdraw, add and extend.
    """

    version = 1

    def __init__(self, options: ListOptions) -> None:
        self.options = options

    def start(self, entrants: tuple[Entrant, ...]) -> ListState:
        """Return the state with all games scheduled; raise ValueError for a repeated name or unsuitable settings."""
        names = tuple(entrant.name for entrant in entrants)
        refuse_twice(names, "entrant")
        ratings = Map({entrant.name: entrant.rating for entrant in entrants})
        if self.options.handicap is not None:
            self.options.handicap.check(ratings)
        state = self._widened(self._seeded(ListState(names, ratings=ratings)), self.options.cycles)
        state = self._scheduled(state, self._boards(state, range(state.cycles)))
        for warning in standings.warnings(self.options.placement):
            state = state.noted("warning", warning)
        text = f"{len(names)} entrants, {state.rounds} rounds, {state.schedule.left} games"
        return state.noted("schedule", text, entrants=list(names), rounds=state.rounds, games=state.schedule.left)

    def offers(self, state: ListState) -> tuple[Pairing, ...]:
        """Return the earliest unplayed games, round by round."""
        return state.schedule.open()

    def step(self, state: ListState, event: Event) -> ListState:
        """Return the state after one event; raise ValueError if the event is impossible in this state."""
        match event:
            case GameFinished(pairing, outcome):
                wanted = state.schedule.counts(pairing)
                if outcome is Outcome.VOID:
                    return state
                schedule = state.schedule.finished(pairing, outcome)
                if not wanted:
                    return replace(state, schedule=schedule)
                grid = with_game(state.grid, Scored(pairing.white, pairing.black, outcome))
                return replace(state, schedule=schedule, grid=grid)
            case GameVoided(pairing, outcome):
                was = state.schedule.voidable(pairing)
                if was is None or any(name in state.gone for name in pairing.pair):
                    return replace(state, schedule=state.schedule.annulled(pairing, outcome))
                grid = with_game(state.grid, Scored(pairing.white, pairing.black, was), -1)
                return replace(state, schedule=state.schedule.reopened(pairing), grid=grid)
            case Withdrawn(name):
                return self._left(state, name)
            case Added(entrant):
                seeded = self._newcomer_is_seed(state)
                return self._joined(state, entrant, len(state.names), seeded=seeded)
            case Replaced(name, entrant):
                state = self._left(state, name)
                return self._joined(state, entrant, state.names.index(name), seeded=name in state.seeds)
            case Extended(grown):
                return self._extended(state, dict(grown))

    def steps(self, state: ListState, events: Iterable[Event]) -> ListState:
        """Return the state after several events. Games that just count are recorded together, which is faster."""
        results: dict[GameKey, Outcome] = {}
        counts: dict[tuple[str, str], list[int]] = {}

        def recorded() -> ListState:
            if not results:
                return state
            rows = with_results(state.grid, {pair: (c[0], c[1], c[2]) for pair, c in counts.items()})
            grid = state.grid.update({name: Map(row) for name, row in rows.items()})
            return replace(state, schedule=state.schedule.all_finished(results), grid=grid)

        for event in events:
            if isinstance(event, GameFinished) and event.outcome is not Outcome.VOID:
                pairing, key = event.pairing, event.pairing.key
                offered = None if key in results else state.schedule.scheduled(key)
                if offered is not None and offered.white == pairing.white:
                    results[key] = event.outcome
                    found = counts.setdefault((pairing.white, pairing.black), [0, 0, 0])
                    found[2 - event.outcome.half_points(white=True)] += 1
                    continue
            state = self.step(recorded(), event)
            results, counts = {}, {}
        return recorded()

    def rest(self, state: ListState) -> Rest | None:
        """Return all unplayed games. With codes for the placement, the table also depends on single games: None."""
        if self.options.placement:
            return None
        games = tuple(state.schedule.unfinished())
        rows = {name: dict(row.items()) for name, row in state.grid.items()}

        def final(results: Counts) -> tuple[StandingsRow, ...]:
            grid = rows | with_results(rows, results)  # plain rows: many tables may be computed
            return self.standings(replace(state, grid=cast("Grid", grid)))

        return Rest(games, final)

    def remaining(self, state: ListState) -> tuple[int, int]:
        """Return the exact number of remaining games, as the lower and the upper bound."""
        return (state.schedule.left, state.schedule.left)

    def standings(self, state: ListState) -> tuple[StandingsRow, ...]:
        """Return the table in the order of the chosen codes (default: points, SB, DE, WIN), withdrawn entrants last."""
        return (*self._table(state), *_withdrawn_lines(state))

    def _table(self, state: ListState) -> tuple[StandingsRow, ...]:
        """Rank the present entrants by the games among them."""
        codes = self.options.placement
        if not codes:
            return table(state.present, state.grid)
        field, terms = self._field(state), PlacementTerms(absence="nothing", pair_list=True)
        return standings.rank_by_codes(field, codes, range(len(field.members)), terms)

    def _field(self, state: ListState) -> Field:
        """Return the present entrants as a tournament in rounds, without matches against withdrawn entrants."""
        there, each = {name: place for place, name in enumerate(state.present)}, self.options.games_per_pairing
        rows = [[Turn()] * len(there) for _ in range(state.rounds)]
        boards = groupby(
            (game for game in state.schedule.games if game.white in there and game.black in there),
            key=lambda game: (game.round, frozenset(game.pair)),
        )
        for (number, _), games in boards:
            match = list(games)
            first, row = match[0], rows[number - 1]
            found = [state.schedule.played.get(game.key) for game in match]
            mine = sum(
                outcome.half_points(white=game.white == first.white)
                for game, outcome in zip(match, found, strict=True)
                if outcome is not None
            )
            count = sum(outcome is not None for outcome in found)
            white, black = there[first.white], there[first.black]
            colors = (WHITE, BLACK) if each == 1 else (NEITHER, NEITHER)
            row[white] = Turn(Kind.PLAYED, black, colors[0], mine, first.handicap, count)
            row[black] = Turn(Kind.PLAYED, white, colors[1], 2 * count - mine, -first.handicap, count)
        members = tuple(Member(name, state.ratings.get(name)) for name in state.present)
        return Field(members, tuple(map(tuple, rows)), tuple(range(len(there))), state.rounds, 2 * each)

    def _seeded(self, state: ListState) -> ListState:
        """Choose the seeds; raise ValueError if the settings do not fit the field."""
        return state

    def _newcomer_is_seed(self, _state: ListState) -> bool:
        return False

    def _opponents(self, state: ListState, *, seeded: bool) -> tuple[str, ...]:
        """Return the opponents of an entrant that joins, in list order."""
        return tuple(name for name in state.present if not state.seeds or seeded != (name in state.seeds))

    @abstractmethod
    def _rounds(self, state: ListState) -> Iterator[list[tuple[str, str]]]:
        """Yield the rounds of a cycle of the present entrants, as (White, Black) of the first game of each pair."""

    def _boards(self, state: ListState, cycles: Iterable[int]) -> Iterator[_Board]:
        """Return the boards of whole cycles, in rounds after the existing ones."""
        number = state.rounds
        for cycle in cycles:
            for pairs in self._rounds(state):
                number += 1
                for pair in pairs:
                    yield (*self._turned(*pair, cycle), cycle, number)

    def _turned(self, white: str, black: str, cycle: int) -> tuple[str, str]:
        """Return White and Black: swapped in even cycles unless matches are balanced or `swap` is off.

        `reverse` exchanges White and Black in all cycles.
        """
        swaps = self.options.swap and self.options.games_per_pairing == 1 and cycle % 2 == 1
        return (black, white) if swaps != self.options.reverse else (white, black)

    def _scheduled(self, state: ListState, boards: Iterable[_Board]) -> ListState:
        games, each = self.options.games_per_pairing, games_per_opening(self.options.games_per_pairing)
        swap = self.options.swap
        encounters, rounds = state.encounters, state.rounds
        pairings: list[Pairing] = []
        for board in boards:
            white, black, cycle, number, given = self._at_odds(state, board)
            pairings += match_games(
                white,
                black,
                games=games,
                encounter=encounters + 1,
                number=number,
                earlier=cycle * games // each,
                handicap=given,
                swap=swap,
            )
            encounters += games // each
            rounds = max(rounds, number)
        return replace(state, schedule=state.schedule.extended(pairings), encounters=encounters, rounds=rounds)

    def _at_odds(self, state: ListState, board: _Board) -> tuple[str, str, int, int, int]:
        """Return the board with the handicap that its White gives; the weaker engine has Black."""
        white, black, cycle, number = board
        handicap = self.options.handicap
        given = 0 if handicap is None else handicap.between(state.ratings.get(white), state.ratings.get(black))
        return (white, black, cycle, number, given) if given >= 0 else (black, white, cycle, number, -given)

    def _widened(self, state: ListState, cycles: int) -> ListState:
        """Set the number of cycles and the size of the schedule's window; raise ValueError for too many games."""
        pairs, each = sum(1 for _ in self._boards(state, range(1))), self.options.games_per_pairing
        if pairs * cycles * each > MOST_GAMES:
            factors = f"pairs {pairs} * cycles {cycles} * games_per_pairing {each}"
            raise ValueError(
                f"a tournament can have at most {MOST_GAMES:,} games (found {pairs * cycles * each:,}: {factors})"
            )
        per_name = len(state.names) * cycles * self.options.games_per_pairing
        return replace(state, cycles=cycles, schedule=state.schedule._replace(width=window_size(per_name)))

    def _extended(self, state: ListState, grown: dict[str, int]) -> ListState:
        """Add cycles after all games.

        If no entrant has joined or withdrawn, the schedule is the same as if it had started with these cycles.
        """
        cycles = grown.pop("cycles", state.cycles)
        if grown or cycles <= state.cycles:
            raise ValueError(f"cycles must be greater than {state.cycles}")
        before = state.schedule.left
        wider = self._widened(state, cycles)
        longer = self._scheduled(wider, self._boards(wider, range(state.cycles, cycles)))
        more = longer.schedule.left - before
        text = f"{cycles} cycles instead of {state.cycles}: {more} more games"
        return longer.noted("extend", text, cycles=cycles, games=more)

    def _left(self, state: ListState, name: str) -> ListState:
        check_present(name, state.names, state.gone)
        schedule, called_off = state.schedule.without(name)
        text = (
            f"{name} withdraws; {len(called_off)} games are canceled, and its finished games do not count for opponents"
        )
        state = replace(state, schedule=schedule, gone=(*state.gone, name))
        return state.noted("withdraw", text, engine=name, called_off=len(called_off))

    def _joined(self, state: ListState, entrant: Entrant, at: int, *, seeded: bool) -> ListState:
        name = entrant.name
        if name in state.names:
            raise ValueError(f"{name} is already in this tournament")
        opponents = self._opponents(state, seeded=seeded)
        first, by_seed = state.rounds + 1, bool(state.seeds) and not self.options.swap
        boards: list[_Board] = []
        for cycle in range(state.cycles):
            for seat, other in enumerate(opponents):
                is_first = seeded or other not in state.seeds if by_seed else seat % 2 == 0
                pair = (name, other) if is_first else (other, name)
                boards.append((*self._turned(*pair, cycle), cycle, first + cycle * len(opponents) + seat))
        names, ratings = (*state.names[:at], name, *state.names[at:]), state.ratings.set(name, entrant.rating)
        state = replace(state, names=names, ratings=ratings)
        if seeded:
            state = replace(state, seeds=state.seeds | {name})
        before = state.schedule.left
        state = self._scheduled(state, boards)
        more = state.schedule.left - before
        return state.noted(
            "add", f"{name} joins; its {more} games follow after all other games", engine=name, games=more
        )


def _in_blocks(lines: Sequence[StandingsRow], state: ListState, *, seeds_first: bool) -> tuple[StandingsRow, ...]:
    """Split the table into seeds and others, because the two have different opponents; ranks are consecutive."""
    ranked: list[StandingsRow] = []
    for seeded in (seeds_first, not seeds_first):
        block = [line for line in lines if (line.name in state.seeds) is seeded]
        ranks = [line.rank for line in block]
        above = len(ranked) + 1
        ranked += [replace(line, rank=above + ranks.index(line.rank)) for line in block]
    return tuple(ranked)


def _withdrawn_lines(state: ListState) -> tuple[StandingsRow, ...]:
    sums = {name: total(state.grid, name) for name in state.gone}
    return tuple(StandingsRow(None, name, tally.half_points, tally.games, "withdrawn") for name, tally in sums.items())


class RoundRobinOptions(ListOptions):
    """Settings of the round robin."""

    order: Order = Setting(
        default="berger",
        description="berger: the tables of FIDE C.05; seats: two rotating rows (Vuorinen 2010); circle: two rotating "
        "rows with the lower row reversed, so that the first entrant meets the last.",
    )
    colors: Colors = Setting(
        default="balanced",
        description="balanced: each entrant has White about as often as Black; rows (only with order = seats or "
        "circle): the upper row has White in every second round.",
    )
    pairs: Annotated[tuple[tuple[str, str], ...], BeforeValidator(lists_as_tuples)] = Setting(
        default=(),
        description='Only these pairs meet, for example [["Fruit", "Toga II"], ["Toga II", "Phalanx"]]; `enginetour '
        "next` chooses such pairs. Default: all pairs.",
    )

    @model_validator(mode="after")
    def _pairs_differ(self) -> RoundRobinOptions:
        for one, other in self.pairs:
            if one == other:
                raise ValueError(f"pairs: {one!r} cannot meet itself")
        refuse_twice((f"{min(pair)} - {max(pair)}" for pair in self.pairs), "pairs: the pair")
        return self

    @model_validator(mode="after")
    def _rows(self) -> RoundRobinOptions:
        if self.colors == "rows" and self.order == "berger":
            raise ValueError("colors = 'rows' requires order = 'seats' or 'circle'")
        return self


class RoundRobin(PairList):
    """Every entrant meets every other entrant `cycles` times, or only the entrants with which it is in `pairs`."""

    options: RoundRobinOptions

    def _seeded(self, state: ListState) -> ListState:
        """Check the chosen pairs; raise ValueError for an unknown name or an entrant without a pair."""
        chosen = list(dict.fromkeys(chain.from_iterable(self.options.pairs)))
        for name in chosen:
            if name not in state.names:
                raise ValueError(f"pairs: {name!r} is not an entrant{did_you_mean(name, state.names)}")
        if chosen and (idle := [name for name in state.names if name not in chosen]):
            raise ValueError(f"pairs: no pair contains {listed(idle)}. Hint: add a pair, or remove the entrant")
        return state

    def _rounds(self, state: ListState) -> Iterator[list[tuple[str, str]]]:
        names, chosen = state.present, {frozenset(pair) for pair in self.options.pairs}
        for pairs in rounds_of(self.options.order, self.options.colors, len(names)):
            found = [(names[white], names[black]) for white, black in pairs]
            if chosen:
                found = [pair for pair in found if frozenset(pair) in chosen]
            if found:
                yield found

    def _joined(self, state: ListState, entrant: Entrant, at: int, *, seeded: bool) -> ListState:
        if self.options.pairs:
            raise ValueError("entrants cannot join, because the setting pairs lists who meets whom")
        return super()._joined(state, entrant, at, seeded=seeded)


class GauntletOptions(ListOptions):
    """Settings of the gauntlet."""

    seeds: _Some = Setting(
        default=1, description="Entrants that meet all others: the first N entrants, or a list of names."
    )
    seeds_meet: bool = Setting(default=False, description="Let the seeds meet each other too.")


class Gauntlet(PairList):
    """One or several seeds meet all other entrants, which do not meet each other."""

    options: GauntletOptions

    def _opponents(self, state: ListState, *, seeded: bool) -> tuple[str, ...]:
        if seeded and self.options.seeds_meet:
            return state.present
        return super()._opponents(state, seeded=seeded)

    def standings(self, state: ListState) -> tuple[StandingsRow, ...]:
        """Return the table: the seeds, then the other entrants, then the withdrawn entrants."""
        return (*_in_blocks(self._table(state), state, seeds_first=True), *_withdrawn_lines(state))

    def _seeded(self, state: ListState) -> ListState:
        return replace(state, seeds=_selected_names(state.names, self.options.seeds, "seeds"))

    def _rounds(self, state: ListState) -> Iterator[list[tuple[str, str]]]:
        front = [name for name in state.present if name in state.seeds]
        back = [name for name in state.present if name not in state.seeds]
        among = berger(len(front)) if self.options.seeds_meet else ()
        surplus = [0] * len(front)  # Whites minus Blacks in the games among the seeds
        for white, black in (pair for pairs in among for pair in pairs):
            surplus[white] += 1
            surplus[black] -= 1
        if any(surplus):  # a seed with more White than Black games among the seeds starts with Black against the others
            turn = [int(extra > 0) for extra in surplus]
        else:  # all seeds beyond the number of the others start against the first of them, so their colors alternate
            turn = [seed % 2 if seed >= len(back) else 0 for seed in range(len(front))]
        for pairs in slide(len(front), len(back)):
            found = []
            for seed, other in pairs:
                is_white = turn[seed] % 2 == 0 or not self.options.swap
                found.append((front[seed], back[other]) if is_white else (back[other], front[seed]))
                turn[seed] += 1
            yield found
        for pairs in among:
            yield [(front[white], front[black]) for white, black in pairs]


class ScheveningenOptions(ListOptions):
    """Settings of the Scheveningen system."""

    team: _Some | None = Setting(
        default=None,
        description="First team: the first N entrants, or a list of names; all others are the second team. Default: the"
        " first half.",
    )


class Scheveningen(PairList):
    """Two teams; the first team is stored as `seeds`.

    A new entrant joins the smaller team, or the second team if both have the same size.
    """

    options: ScheveningenOptions

    def standings(self, state: ListState) -> tuple[StandingsRow, ...]:
        """Return the tables of both teams, the team with more points first; the status shows the points of the team."""
        placed = self._table(state)
        lines = {True: 0, False: 0}
        games = 0
        for line in _in_blocks(placed, state, seeds_first=True):
            lines[line.name in state.seeds] += line.half_points
            games += line.games
        statuses = {first: f"team {1 if first else 2}: {lines[first] / 2:g} of {games // 2}" for first in lines}
        ranked = _in_blocks(placed, state, seeds_first=lines[True] >= lines[False])
        return (
            *(replace(line, status=statuses[line.name in state.seeds]) for line in ranked),
            *_withdrawn_lines(state),
        )

    def _seeded(self, state: ListState) -> ListState:
        """Choose the first team; raise InputRefused for unknown names or a team of all entrants."""
        team = self.options.team
        wanted = (len(state.names) + 1) // 2 if team is None else team
        try:
            return replace(state, seeds=_selected_names(state.names, wanted, "team"))
        except ValueError as error:
            step = f"choose from the entrants {', '.join(state.names)}"
            raise InputRefused(str(error), place="format.team", step=step) from None

    def _newcomer_is_seed(self, state: ListState) -> bool:
        first = sum(name in state.seeds for name in state.present)
        return 2 * first < len(state.present)

    def _rounds(self, state: ListState) -> Iterator[list[tuple[str, str]]]:
        """Return the rounds with colors in a checkerboard pattern: White and Black games differ by at most one."""
        first = [name for name in state.present if name in state.seeds]
        second = [name for name in state.present if name not in state.seeds]
        for pairs in slide(len(first), len(second)):
            yield [
                (first[one], second[other])
                if (one + other) % 2 == 0 or not self.options.swap
                else (second[other], first[one])
                for one, other in pairs
            ]
