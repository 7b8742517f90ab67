"""State of a bubble tournament: list, section, parking, and which engines leave and enter next.

Lists are ordered from bottom to top, as in the article. This module describes the states; `bubble` makes the decisions.
Source: H.G. Muller, WinBoard forum, 19 June 2007.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from math import prod
from typing import Any, Literal, Self

from pydantic import Field as Setting
from pydantic import ValidationInfo, field_validator, model_validator

from enginetour.formats.base import ColorOptions, FormatState, GamesOfMatch
from enginetour.formats.pairing.persistent import Map
from enginetour.formats.pairing.schedule import GameSchedule, games_per_opening, match_games, window_size
from enginetour.formats.pairing.standings import Grid, Scored, table, total, with_game
from enginetour.formats.pairing.tiebreaks import NOTHING, Tally, against
from enginetour.model.game import GameKey, Outcome, Pairing, StandingsRow


class BubbleOptions(ColorOptions):
    """Settings of the bubble; the defaults are Muller's values (10, 15, 5) with one game per match."""

    size: int = Setting(default=10, ge=2, description="Number of engines in the section, which plays round robins.")
    min_matches: int = Setting(
        default=15,
        ge=0,
        description="Number of matches (not games) that an engine must have played in this edition before it can drop "
        "out.",
    )
    unpark_threshold: int = Setting(
        default=5,
        ge=0,
        description="A parked engine returns if it has met fewer than this number of the remaining engines in the "
        "section; at most size - 1. Finished matches count, not games. If size is less than 6, the default is the half "
        "of it, rounded down.",
    )
    games_per_pairing: GamesOfMatch = 1

    @model_validator(mode="before")
    @classmethod
    def _fitting_default(cls, given: Any) -> Any:
        size = given.get("size") if isinstance(given, dict) else None
        if isinstance(size, int) and size <= cls.model_fields["unpark_threshold"].default:
            return {"unpark_threshold": size // 2} | given
        return given

    @field_validator("unpark_threshold")
    @classmethod
    def _below_size(cls, threshold: int, info: ValidationInfo) -> int:
        size = info.data.get("size")
        if size is not None and threshold > size - 1:
            # With a larger threshold, the tournament would never end: an engine that has met all size - 1 others would
            # return from parking again and again.
            what = f"must be at most size - 1 = {size - 1} (found {threshold})"
            raise ValueError(f"{what}. Hint: set unpark_threshold = {size // 2}, or remove it")
        return threshold


@dataclass(frozen=True, slots=True)
class EarlyGames:
    """Games of a later round robin that are played early; their results wait until that round robin begins.

    `promised` keeps the colors and numbers of games that may be in progress; `results` has the finished ones.

    A pair may no longer be due, for example after a withdrawal. Then its other games are no longer offered, but the
    result of a game in progress is accepted. The result waits here and counts if the pair becomes due again. All games
    of the match stay promised.
    """

    promised: Map[GameKey, Pairing] = field(default_factory=Map)
    results: Map[GameKey, Outcome] = field(default_factory=Map)

    def match(self, pair: tuple[str, str]) -> tuple[Pairing, ...]:
        """Return the promised games of a pair in order."""
        games = (game for game in self.promised.values() if game.pair == pair)
        return tuple(sorted(games, key=lambda game: (game.meeting, game.leg)))

    def is_begun(self, pair: tuple[str, str]) -> bool:
        """Return whether a game of this pair is finished."""
        return any(key[:2] == pair for key in self.results)

    def promising(self, games: Iterable[Pairing]) -> EarlyGames:
        """Return this object with these games added to the promised ones, which are always accepted."""
        return replace(self, promised=self.promised.update({game.key: game for game in games}))

    def held_back(self, match: Iterable[Pairing], key: GameKey, outcome: Outcome) -> EarlyGames:
        """Store the result of one game of this match until its round robin begins."""
        return replace(self.promising(match), results=self.results.set(key, outcome))

    def released(self, key: GameKey) -> EarlyGames:
        """Remove a result, because it counts now or is void."""
        return replace(self, results=self.results.delete(key))

    def without(self, name: str) -> tuple[EarlyGames, dict[GameKey, Outcome | None]]:
        """Return this object without the games of an entrant, and the removed games with their outcomes.

        The outcome of an unfinished game is None.
        """
        gone = {key: self.results.get(key) for key in self.promised if name in key[:2]}
        promised, results = self.promised, self.results
        for key, outcome in gone.items():
            promised = promised.delete(key)
            results = results if outcome is None else results.delete(key)
        return EarlyGames(promised, results), gone


_Origin = Literal["start", "list", "parked"]


@dataclass(frozen=True, slots=True)
class PlannedWithdrawal:
    """Planned withdrawal of an engine, which takes effect when `after_games` games are finished."""

    engine: str
    after_games: int


@dataclass(frozen=True, slots=True)
class Entry:
    """Engine that enters the section. `rule` is the step in the article.

    `met` is the number of members that it has met, `to_play` the number that it must still meet.
    """

    engine: str
    origin: _Origin
    rule: int
    met: int
    to_play: int

    def as_json(self) -> dict[str, object]:
        """Return the entry with the keys of the trace."""
        fields = asdict(self)
        return {"engine": fields.pop("engine"), "from": fields.pop("origin"), **fields}


@dataclass(frozen=True, slots=True)
class BubbleState(FormatState):
    """Immutable state of an edition; a step takes little time, even in long tournaments.

    `place` is the place in the starting list (a higher number is better). `met` has the opponents of finished matches.
    `balance` is the number of games with White minus the number of games with Black, over all scheduled games. For the
    forecast, `listed` and `returned` count the matches of engines that entered from the list and from parking.
    `withdrawn` entrants are not ranked; `gone` has all entrants that withdrew. `early` has games of the next round
    robin that were certain before it began.
    """

    pair_games: int
    place: Mapping[str, int] = field(default_factory=dict)
    old: tuple[str, ...] = ()
    section: tuple[str, ...] = ()
    parked: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    withdrawn: tuple[str, ...] = ()
    gone: frozenset[str] = frozenset()
    schedule: GameSchedule = field(default_factory=GameSchedule)
    early: EarlyGames = field(default_factory=EarlyGames)
    undisturbed: bool = True  # no entrant joined or withdrew by an event, and no game was voided
    grid: Grid = field(default_factory=Map)
    met: Map[str, frozenset[str]] = field(default_factory=Map)
    balance: Map[str, int] = field(default_factory=Map)
    finished: int = 0
    encounters: int = 0
    number: int = 1
    listed: int = 0
    returned: int = 0
    due: tuple[PlannedWithdrawal, ...] = ()
    ended: bool = False

    def matches(self, name: str) -> int:
        """Return the number of matches that an engine has finished in this edition."""
        return len(self.met.get(name, frozenset()))

    def met_among(self, name: str, others: Iterable[str]) -> int:
        """Return the number of engines in `others` that the engine `name` has met."""
        return len(self.met.get(name, frozenset()).intersection(others))

    def noted(self, kind: str, text: str, **fields: object) -> Self:
        """Return this state with one more decision, which is stored with the number of the round robin."""
        return FormatState.noted(self, kind, text, step=self.number, **fields)

    def replacement(self, remaining: Iterable[str], threshold: int) -> Entry | None:
        """Return the engine that enters by rules 6 and 7; None if list and parking are empty."""
        rest = frozenset(remaining)
        met = {name: self.met_among(name, rest) for name in self.parked}
        if self.old:
            for parked in self.parked:
                if met[parked] < threshold:
                    return Entry(parked, "parked", 4, met[parked], len(rest) - met[parked])
            return Entry(self.old[0], "list", 5, 0, len(rest))
        if self.parked:
            fewest = min(self.parked, key=lambda parked: met[parked])  # the first of equal engines was parked first
            return Entry(fewest, "parked", 8, met[fewest], len(rest) - met[fewest])
        return None

    def entered(self, entry: Entry) -> BubbleState:
        """Move an engine to the section and schedule its matches against unmet members, lowest opponent first."""
        name = entry.engine
        met = self.met.get(name, frozenset())
        unmet = [(name, other) for other in self.section if other not in met]
        parked = entry.origin == "parked"
        state = replace(
            self,
            old=self.old if parked else tuple(other for other in self.old if other != name),
            parked=tuple(other for other in self.parked if other != name) if parked else self.parked,
            section=tuple(sorted((*self.section, name), key=self.place.__getitem__)),
            listed=self.listed + (0 if parked else entry.to_play),
            returned=self.returned + (entry.to_play if parked else 0),
        )
        return state.scheduled(unmet)

    def scheduled(self, pairs: Iterable[tuple[str, str]]) -> BubbleState:
        """Add matches to the schedule in this order, with their colors.

        With one game per match, the engine with the smaller color balance has White; if both are equal, the lower one
        in the list. With more games, the lower one has White in game 1, then colors alternate. A match that has started
        early keeps its promised colors, and its results count from now on.
        """
        pairs, encounters = tuple(pairs), self.encounters
        balance = {name: self.balance.get(name, 0) for pair in pairs for name in pair}
        games: list[Pairing] = []
        for pair in pairs:
            low, high = sorted(pair, key=self.place.__getitem__)
            white, black = low, high
            if self.pair_games == 1 and balance[high] < balance[low]:
                white, black = high, low
            match = tuple(
                match_games(white, black, games=self.pair_games, encounter=encounters + 1, number=self.number)
            )
            encounters += self.pair_games // games_per_opening(self.pair_games)
            for game in self.early.match(match[0].pair) if self.early.is_begun(match[0].pair) else match:
                balance[game.white] += 1
                balance[game.black] -= 1
                games.append(game)
        schedule = self.schedule.extended(games)
        state = replace(self, schedule=schedule, balance=self.balance.update(balance), encounters=encounters)
        for game in games:
            outcome = self.early.results.get(game.key)
            if outcome is not None:
                state = replace(state, early=state.early.released(game.key)).recorded(game, outcome)
        return state

    def next_round_robin(self, size: int) -> BubbleState:
        """Return this state with an empty schedule for the next round robin."""
        width = window_size((size - 1) * self.pair_games)
        return replace(self, schedule=self.schedule.renewed((), width), number=self.number + 1)

    def withdrawn_from_section(self, name: str) -> BubbleState:
        """Remove a member; its unplayed games are canceled and do not count for the color balance."""
        schedule, called_off = self.schedule.without(name)
        balance = self.balance
        for game in called_off:
            balance = _shifted(balance, game, -1)
        section = tuple(member for member in self.section if member != name)
        return replace(self, schedule=schedule, balance=balance, section=section)

    def without_early(self, name: str) -> BubbleState:
        """Cancel the promised games of an engine; games in progress are accepted but do not count."""
        early, gone = self.early.without(name)
        return replace(self, early=early, schedule=self.schedule.set_aside(gone))

    def as_promised(self, pairing: Pairing) -> BubbleState:
        """Return this state with the promised colors and numbers of a match, if this game was played with them.

        This is necessary if the match was scheduled with other colors or numbers after the promise.
        """
        if self.early.promised.get(pairing.key) != pairing or self.schedule.scheduled(pairing.key) in (None, pairing):
            return self
        balance = self.balance
        match = self.early.match(pairing.pair)
        for game in match:
            was = self.schedule.scheduled(game.key)
            if was is not None:
                balance = _shifted(_shifted(balance, was, -1), game, 1)
        return replace(self, schedule=self.schedule.renumbered(match), balance=balance)

    def recorded(self, pairing: Pairing, outcome: Outcome) -> BubbleState:
        """Add the result of a game; the pair counts as met when all games of its match are finished."""
        white, black = pairing.white, pairing.black
        grid = with_game(self.grid, Scored(white, black, outcome))
        met = self.met
        if against(grid, white, black).games == self.pair_games:
            met = met.set(white, met.get(white, frozenset()) | {black})
            met = met.set(black, met.get(black, frozenset()) | {white})
        schedule = self.schedule.finished(pairing, outcome)
        return replace(self, schedule=schedule, grid=grid, met=met, finished=self.finished + 1)

    def erased(self, pairing: Pairing, outcome: Outcome) -> BubbleState:
        """Remove the result of a game of this round robin; the game is played again."""
        white, black = pairing.white, pairing.black
        grid = with_game(self.grid, Scored(white, black, outcome), -1)
        met = self.met.set(white, self.met.get(white, frozenset()) - {black})
        met = met.set(black, met.get(black, frozenset()) - {white})
        schedule = self.schedule.reopened(pairing)
        return replace(self, schedule=schedule, grid=grid, met=met, finished=self.finished - 1)


def _shifted(balance: Map[str, int], game: Pairing, sign: int) -> Map[str, int]:
    balance = balance.set(game.white, balance.get(game.white, 0) + sign)
    return balance.set(game.black, balance.get(game.black, 0) - sign)


_Reason = Literal["last_below_min_matches", "last_has_min_matches", "last_has_met_all_left"]


@dataclass(frozen=True, slots=True)
class Choice:
    """Decision after a round robin, by rules 4 to 8: which engine leaves the section and which enters.

    `leaver` is parked or drops out. `last` is the last engine in the table, and `matches` is the number of matches that
    it had played. `entry` is the engine that enters.
    """

    action: Literal["park", "drop"]
    leaver: str
    reason: _Reason
    last: str
    matches: int
    entry: Entry


def choose_change(state: BubbleState, top: str, last: str, options: BubbleOptions) -> Choice:
    """Return the decision after a complete round robin; list and parking must not both be empty."""
    matches = state.matches(last)
    reason: _Reason = "last_below_min_matches"
    if matches >= options.min_matches:  # rule 4
        reason = "last_has_min_matches"
    elif not state.old:
        back = state.replacement(without(state.section, top), options.unpark_threshold)
        if back is not None and not back.to_play:  # rule 8
            reason = "last_has_met_all_left"
    parks = reason == "last_below_min_matches"  # rule 5
    leaver = top if parks else last
    entry = state.replacement(without(state.section, leaver), options.unpark_threshold)
    assert entry is not None, "list and parking are not both empty"
    return Choice("park" if parks else "drop", leaver, reason, last, matches, entry)


def remove_leaver(state: BubbleState, choice: Choice) -> BubbleState:
    """Move the leaver to parking or to the final ranking; the new engine does not enter yet."""
    section = without(state.section, choice.leaver)
    if choice.action == "drop":
        return replace(state, section=section, new=(*state.new, choice.leaver))
    return replace(state, section=section, parked=(*state.parked, choice.leaver))


def without(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    """Return the names without `name`, in the same order."""
    return tuple(other for other in names if other != name)


def final_table(state: BubbleState) -> tuple[StandingsRow, ...]:
    """Rank the members, best first, by points, SB, DE and place in the list; only matches among them count."""
    return table(state.section[::-1], state.grid, ("SB", "DE"))


def table_fields(state: BubbleState, lines: tuple[StandingsRow, ...]) -> dict[str, object]:
    """Return the data of a round robin for the note of its decision.

    Points are in half points, and Sonneborn-Berger is in quarter points.
    """
    number = games_per_opening(state.pair_games)
    return {
        "active": list(state.section),
        "table": [[line.name, line.half_points, line.tiebreaks[0][1]] for line in lines],
        "games": [
            [game.white, game.black, (game.meeting - 1) * number + game.leg, str(state.schedule.played[game.key])]
            for game in state.schedule.games
        ],
        "games_total": state.finished,
    }


def interim_table(state: BubbleState) -> tuple[StandingsRow, ...]:
    """Return all entrants, best first, with a rank and a status.

    Members of an unfinished round robin are ordered by score per game, then by their place in the list.
    """
    members = sorted(state.section, key=lambda name: (_score_rate(state, name), state.place[name]))
    upward = [(name, "final") for name in state.new]
    upward += [(name, "active") for name in members]
    upward += [(name, "parked") for name in state.parked]
    upward += [(name, "waiting") for name in state.old]
    ranked = [_line(state, rank, name, status) for rank, (name, status) in enumerate(reversed(upward), 1)]
    return (*ranked, *(_line(state, None, name, "withdrawn") for name in state.withdrawn))


def remaining_bounds(state: BubbleState, size: int) -> tuple[int, int]:
    """Return the smallest and the largest possible number of remaining games.

    The smallest number assumes that each waiting engine meets a full section, the largest that all pairs meet.
    """
    if state.ended:
        return (0, 0)
    games, left = state.pair_games, state.schedule.left
    fewest = max(left, left + len(state.old) * (size - 1) * games - len(state.early.results))
    still_in = (*state.old, *state.section, *state.parked)
    names = frozenset(still_in)
    unmet = sum(len(names) - 1 - state.met_among(name, names) for name in still_in) // 2
    half_played = 0
    if games > 1:
        half_played = len({game.pair for game in state.schedule.unfinished()}) * games - left
    early = sum(names.issuperset(key[:2]) for key in state.early.results)
    return (fewest, unmet * games - half_played - early)


def _score_rate(state: BubbleState, name: str) -> Fraction:
    tally = total(state.grid, name, state.section)
    return Fraction(tally.half_points, 2 * tally.games) if tally.games else Fraction(1, 2)


def _line(state: BubbleState, rank: int | None, name: str, status: str) -> StandingsRow:
    tally = total(state.grid, name)
    return StandingsRow(rank, name, tally.half_points, tally.games, status)


_MOST_MATCHES, _MOST_CASES = 4, 100  # limits of open matches and of combinations of their totals (bubble spec 6)

_Pair = tuple[str, str]


def certain_games(state: BubbleState, options: BubbleOptions) -> tuple[Pairing, ...]:
    """Return the unplayed games of the next round robin that are certain to be played, in playing order.

    The function computes the decision for all possible totals of the open matches. A game that is in the next round
    robin in all cases, with the same colors and numbers, may be played now. The cases differ only in their tables, so
    each pair of leaving and entering engine is evaluated once. Source: bubble spec 6.
    """
    if state.ended or state.due or not (state.old or state.parked):
        return ()
    if not 0 < state.schedule.left <= _MOST_MATCHES * state.pair_games:
        return ()
    left = Counter(game.pair for game in state.schedule.unfinished())
    if len(left) > _MOST_MATCHES or prod(2 * games + 1 for games in left.values()) > _MOST_CASES:
        return ()
    complete = _all_met(state, left)
    seen: set[tuple[str, str]] = set()
    common: tuple[Pairing, ...] | None = None
    for grid in _cases(state.grid, left):
        lines = final_table(replace(complete, grid=grid))
        choice = choose_change(complete, lines[0].name, lines[-1].name, options)
        if (choice.leaver, choice.entry.engine) in seen:
            continue
        seen.add((choice.leaver, choice.entry.engine))
        games = remove_leaver(complete, choice).next_round_robin(options.size).entered(choice.entry).schedule.games
        common = games if common is None else tuple(game for game in common if game in games)
        if not common:
            return ()
    return tuple(game for game in common or () if game.key not in state.early.results)


def _all_met(state: BubbleState, pairs: Mapping[_Pair, int]) -> BubbleState:
    """Return the state at the time of the decision: all open pairs count as met, but their results are missing."""
    met = state.met
    for pair in pairs:
        for name, other in (pair, pair[::-1]):
            met = met.set(name, met.get(name, frozenset()) | {other})
    return replace(state, met=met)


def _cases(grid: Grid, left: Mapping[_Pair, int]) -> Iterator[Grid]:
    """Return the tallies after all open matches, for each combination of their totals; the number of wins stays."""
    if not left:
        yield grid
        return
    (pair, games), *others = left.items()
    for points in range(2 * games + 1):
        filled = grid
        for (name, other), gained in ((pair, points), (pair[::-1], 2 * games - points)):
            row = filled.get(name, Map[str, Tally]())
            old = row.get(other, NOTHING)
            filled = filled.set(name, row.set(other, Tally(old.half_points + gained, old.games + games, old.wins)))
        yield from _cases(filled, dict(others))
