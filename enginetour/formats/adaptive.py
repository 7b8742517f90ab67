"""Adaptive format: each encounter is the one that gives the most information about a goal per second of play.

After each encounter, the ratings and their covariance are computed again, and the next encounter is the one that is
expected to reduce the variance of the goal most (`ratings/design.py`). The tournament ends when the goal is reached.

Encounters are numbered in the order of their choice. Encounter m + `ahead` is chosen when encounters 1 to m are
complete, with their results only; the others count with their expected information. The choice therefore does not
depend on the order in which games end. If it did, short games would come first and bias the ratings, as in a sequential
test (see `match`). No encounter is chosen while the open ones are expected to reach a goal with an error.

The choice is the same on machines with different linear algebra libraries: values are compared with nine significant
digits, and the seed breaks ties. A replay follows the notes of the log between pairs of nearly equal value.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from math import floor, log10
from typing import Annotated, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator
from pydantic import Field as Setting

from enginetour.formats.base import (
    Format,
    FormatState,
    GamesOfMatch,
    check_present,
    listed,
    lists_as_tuples,
    refuse_twice,
)
from enginetour.formats.outlook import Outlook, describe_goal, describe_value, doubts, expected_games, outlook
from enginetour.formats.pairing.field import Dice
from enginetour.formats.pairing.persistent import Map
from enginetour.formats.pairing.schedule import MOST_GAMES, game_name, games_per_opening, match_games
from enginetour.formats.pairing.standings import Grid, Scored, total, with_game
from enginetour.model.errors import did_you_mean
from enginetour.model.game import (
    RESULTS,
    Added,
    Entrant,
    Event,
    Extended,
    GameFinished,
    GameKey,
    GameVoided,
    Note,
    Outcome,
    Pairing,
    Replaced,
    StandingsRow,
    Withdrawn,
    format_fixed,
)
from enginetour.ratings.design import (
    Goal,
    Posterior,
    Progress,
    Sketch,
    information,
    permitted,
    posterior,
    progress,
    scatter,
)
from enginetour.ratings.pentanomial import NORMAL_95
from enginetour.ratings.priors import PRIOR_SD, DivisionPrior, GaussianPrior

_Matrix = NDArray[np.float64]
_Places = NDArray[np.intp]


_Count = Annotated[int, Setting(ge=0, le=MOST_GAMES)]
_Earlier = tuple[str, str, _Count, _Count, _Count]  # White, Black, White's wins, draws and losses


class AdaptiveOptions(BaseModel):
    """Settings of the adaptive format."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True, validate_default=True)

    goal: Goal = Setting(
        default=Goal(error=20.0),
        json_schema_extra={"default": {"error": 20.0}},  # only the key that is set
        description="The tournament ends when this goal is reached: { error = 10 }, { los = 0.95 }, "
        '{ top = 3, los = 0.95 }, { entrant = "dev", error = 8 } or '
        '{ divisions = [["A", "B"], ["C", "D"]], error = 20 }.',
    )
    known: Annotated[tuple[_Earlier, ...], BeforeValidator(lists_as_tuples)] = Setting(
        default=(),
        description="Earlier results between entrants, for example in their divisions: White, Black, and White's wins, "
        'draws and losses, for example [["A", "B", 3, 5, 2], ["B", "A", 4, 4, 2]]. They count for the ratings and '
        "their errors, but not in the table.",
    )
    games: int = Setting(default=10_000, ge=1, le=MOST_GAMES, description="Largest number of games.")
    hours: float | None = Setting(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="Largest sum of the durations of all games, in hours. With two concurrent games, 8 hours of a night"
        " are 16 hours. Default: no limit.",
    )
    games_per_pairing: GamesOfMatch = 2
    min_opponents: int = Setting(
        default=3, ge=0, description="Number of opponents that every entrant meets, if there are as many."
    )
    min_games: int = Setting(default=6, ge=0, description="Number of games that every entrant plays.")
    share: float = Setting(
        default=0.25,
        gt=0,
        le=1,
        description="Largest share of an entrant's games against the same opponent, from 0 to 1; or twice the even "
        "share if that is larger.",
    )
    forbid_family: bool = Setting(default=False, description="Do not pair entrants of the same family.")
    prior: float = Setting(
        default=PRIOR_SD,
        gt=0,
        le=10_000,
        allow_inf_nan=False,
        description="Standard deviation of the ratings before the first game, in Elo.",
    )
    prior_error: float | None = Setting(
        default=None,
        gt=0,
        le=10_000,
        allow_inf_nan=False,
        description="Standard error of the entrants' ratings, in Elo; the calculation then begins with these ratings. "
        "Default: ratings are not used.",
    )
    ahead: int = Setting(
        default=8,
        ge=1,
        le=2000,
        description="Number of encounters that are open at the same time: at least twice the number of concurrent "
        "games. Each choice uses the results before these encounters.",
    )

    @model_validator(mode="after")
    def _one_encounter(self) -> AdaptiveOptions:
        if self.games < self.games_per_pairing:
            raise ValueError(f"games must be at least games_per_pairing, {self.games_per_pairing} (found {self.games})")
        return self

    @model_validator(mode="after")
    def _no_floors_between_divisions(self) -> AdaptiveOptions:
        for key in ("min_opponents", "min_games", "share") if self.goal.divisions else ():
            if getattr(self, key) != type(self).model_fields[key].default:
                raise ValueError(f"{key} has no effect with a goal that has divisions. Hint: remove {key}")
        return self

    @model_validator(mode="after")
    def _known_once(self) -> AdaptiveOptions:
        for white, black, *_ in self.known:
            if white == black:
                raise ValueError(f"known: {white!r} cannot meet itself")
        refuse_twice((f"{white} - {black}" for white, black, *_ in self.known), "known: the pair")
        return self


@dataclass(frozen=True, slots=True, eq=False)
class _Tallies:
    """Sums by places of entrants, in the order in which they joined; symmetric arrays count each pair twice.

    `counts` has White's wins, draws and losses in complete encounters, and `earlier` those in the setting `known`.
    `encounters` has the chosen encounters of a pair and `met` their openings. `surplus` is the number of games with
    White minus games with Black. `ms` is the playing time of `timed` games in milliseconds.
    """

    counts: _Matrix
    earlier: _Matrix
    encounters: _Matrix
    met: _Places
    surplus: _Places
    ms: _Matrix
    timed: _Matrix

    @classmethod
    def of(cls, entrants: int) -> _Tallies:
        pairs, each = (entrants, entrants), (entrants,)
        whole = np.zeros(pairs, np.intp), np.zeros(each, np.intp)
        counts = np.zeros((*pairs, 3)), np.zeros((*pairs, 3))
        return cls(*counts, np.zeros(pairs), *whole, np.zeros(each), np.zeros(each))

    def grown(self) -> _Tallies:
        """Return the tallies with one more entrant."""
        more = _Tallies.of(len(self.ms) + 1)
        for name in _Tallies.__dataclass_fields__:
            old, new = getattr(self, name), getattr(more, name)
            new[tuple(slice(0, size) for size in old.shape)] = old
        return more

    def copied(self, *names: str) -> _Tallies:
        """Return the tallies with copies of these arrays, which can be changed."""
        return replace(self, **{name: getattr(self, name).copy() for name in names})


@dataclass(frozen=True, slots=True)
class AdaptiveState(FormatState):
    """State of an adaptive tournament.

    Choices are numbered from 1 in the order in which they were made: `chosen` were made, and the first `looked` are
    complete and counted. `off` are the canceled games that may have been in progress, `void` are counted games that
    were voided later. `most` is the largest number of games and `used` the number of scheduled games. `reached` is true
    if the goal is reached by the counted games. `divisions` has the present entrants of each division of the goal.
    """

    names: tuple[str, ...] = ()  # in the order in which they joined, including withdrawn entrants
    gone: tuple[str, ...] = ()
    entrants: Map[str, Entrant] = field(default_factory=Map)
    most: int = 0
    choices: Map[int, tuple[Pairing, ...]] = field(default_factory=Map)
    chosen: int = 0
    looked: int = 0
    played: Map[GameKey, GameFinished] = field(default_factory=Map)
    off: Map[GameKey, Outcome | None] = field(default_factory=Map)
    void: Map[GameKey, Outcome] = field(default_factory=Map)
    used: int = 0
    openings: int = 0
    reached: bool = False
    divisions: tuple[tuple[str, ...], ...] = ()
    grid: Grid = field(default_factory=Map)
    # Computed from the fields above, and kept because computing them takes time.
    tallies: _Tallies = field(default_factory=lambda: _Tallies.of(0), compare=False)
    known: Posterior | None = field(default=None, compare=False)  # of the present entrants, after the counted games
    course: Progress | None = field(default=None, compare=False)
    sketch: Sketch | None = field(default=None, compare=False)  # only for large fields

    @property
    def present(self) -> tuple[str, ...]:
        """Names of the entrants that have not withdrawn."""
        return tuple(name for name in self.names if name not in self.gone)

    @property
    def here(self) -> _Places:
        """Places of the present entrants in the tallies."""
        return np.array([at for at, name in enumerate(self.names) if name not in self.gone], np.intp)

    def open(self) -> Iterator[Pairing]:
        """Return the games that can be played now, in the order of their choice."""
        waiting = chain.from_iterable(self.choices[number] for number in range(self.looked + 1, self.chosen + 1))
        return (game for game in waiting if game.key not in self.played and game.key not in self.off)

    def pending(self) -> Counter[tuple[str, str]]:
        """Return the numbers of games in encounters that are not counted yet, by pair."""
        waiting = chain.from_iterable(self.choices[number] for number in range(self.looked + 1, self.chosen + 1))
        return Counter(game.pair for game in waiting if game.key not in self.off)


# Two values are nearly equal if they may be equal with nine significant digits on another machine.
_NEAR = 2e-8
_DIGITS = 9


class Adaptive(Format[AdaptiveState]):
    """Format that chooses each encounter by its expected information about a goal.

    Games of withdrawn entrants do not count for the others. The notes have the kinds warning, schedule, chosen,
    reached, reopened, undecided, stuck, withdraw, add and extend.
    """

    # Version 1 had too large errors of large differences, and version 2 chose encounters that the goal did not need.
    version = 3
    after_void = "it is not replayed, and the next games are chosen without its result"

    def __init__(self, options: AdaptiveOptions, seed: int = 1) -> None:
        self.options, self.seed = options, seed
        self.goal = options.goal
        self._least = -(-options.min_games // options.games_per_pairing)  # encounters of an entrant
        self.earlier = {(white, black): (wins, draws, losses) for white, black, wins, draws, losses in options.known}
        self._recorded: Mapping[int, tuple[str, str]] = {}
        begin = "the average is 0 before the first game" if options.prior_error is None else "begins with known ratings"
        self.meanings = {"RATING": f"rating after the counted games, in Elo ({begin}); ± is its 95 % error"}

    def follow(self, notes: Iterable[Note]) -> None:
        """Follow the choices of a log in a replay, if their values are nearly equal to the best values."""
        chosen = (dict(note.fields) for note in notes if note.kind == "chosen")
        self._recorded = {cast("int", one["choice"]): (str(one["white"]), str(one["black"])) for one in chosen}

    def start(self, entrants: tuple[Entrant, ...]) -> AdaptiveState:
        """Return the state with the first choices; raise ValueError if the settings do not fit the entrants."""
        names = tuple(entrant.name for entrant in entrants)
        refuse_twice(names, "entrant")
        if len(names) < 2:
            raise ValueError(f"an adaptive tournament needs at least two entrants (found {len(names)})")
        self.goal.check(names)
        for name in dict.fromkeys(chain.from_iterable(self.earlier)):
            if name not in names:
                raise ValueError(f"known: {name!r} is not an entrant{did_you_mean(name, names)}")
        families = {entrant.family for entrant in entrants}
        if self.options.forbid_family and len(families) == 1 and "" not in families:
            raise ValueError(
                f"all entrants have the family {families.pop()!r}, so no pair can play. Hint: set forbid_family = false"
            )
        state = AdaptiveState(names=names, entrants=Map({one.name: one for one in entrants}), most=self.options.games)
        state = replace(state, tallies=replace(_Tallies.of(len(names)), earlier=self._earlier(names)))
        state = replace(state, divisions=self.goal.divisions)
        for warning in (*self._unrated(entrants), *self.doubts(entrants, self.options.games)):
            state = state.noted("warning", warning)
        text = f"{len(names)} entrants, at most {state.most} games, until {describe_goal(self.goal)}"
        state = state.noted("schedule", text, entrants=list(names), games=state.most)
        return self._filled(self._learned(state))

    def offers(self, state: AdaptiveState) -> tuple[Pairing, ...]:
        """Return the unplayed games of the open encounters, in the order of their choice."""
        return tuple(state.open())

    def step(self, state: AdaptiveState, event: Event) -> AdaptiveState:
        """Return the state after one event; raise ValueError if the event is impossible in this state."""
        match event:
            case GameFinished():
                return self._finished(state, event)
            case GameVoided(pairing, outcome):
                return self._voided(state, pairing, outcome)
            case Withdrawn(name):
                return self._filled(self._learned(self._counted(self._left(state, name))))
            case Added(entrant):
                if state.divisions:
                    step = "Hint: `enginetour replace` gives a new entrant the place of another one"
                    raise ValueError(f"{entrant.name} cannot join, because its division is not known. {step}")
                return self._filled(self._learned(self._joined(state, entrant)))
            case Replaced(name, entrant):
                check_present(name, state.names, state.gone)
                heirs = tuple(tuple(entrant.name if one == name else one for one in own) for own in state.divisions)
                state = replace(self._joined(state, entrant), divisions=heirs)
                return self._filled(self._learned(self._counted(self._left(state, name))))
            case Extended(grown):
                return self._filled(self._extended(state, dict(grown)))

    def remaining(self, state: AdaptiveState) -> tuple[int, int]:
        """Return the games of the open encounters, and the games that the settings allow."""
        left = sum(1 for _ in state.open())
        each = self.options.games_per_pairing
        return left, left + (max(0, state.most - state.used) // each * each if left else 0)

    def likely(self, state: AdaptiveState) -> int:
        """Return an estimate of the remaining games, from the ratings so far and their errors."""
        fewest, most = self.remaining(state)
        if state.course is None or state.known is None or fewest == most:
            return most
        if not state.played and self.goal.error is None:  # without results, all ratings are equal: no gap is known
            known, prior_error, counts = state.known, self.options.prior_error, range(fewest, most)
            return fewest + bisect_left(counts, 1, key=lambda n: not any(doubts(self.goal, known, n, prior_error)))
        return min(max(fewest, self._expected(state) - self._pending_games(state) + fewest), most)

    def standings(self, state: AdaptiveState) -> tuple[StandingsRow, ...]:
        """Return the table in the order of the ratings, with their errors; withdrawn entrants are last."""
        sums = {name: total(state.grid, name) for name in state.names}
        lines: list[StandingsRow] = []
        known = state.known
        if known is not None:
            errors = NORMAL_95 * np.sqrt(known.variances())
            order = sorted(range(len(known.names)), key=lambda at: -round(float(known.mode[at]), 6))
            last = None
            for at in order:
                name, rating = known.names[at], round(float(known.mode[at]), 6)
                among = total(state.grid, name, state.present)
                rank = lines[-1].rank if rating == last else len(lines) + 1
                codes = (("RATING", round(rating)),)
                error = f"± {format_fixed(float(errors[at]), 0)}"
                lines.append(StandingsRow(rank, name, among.half_points, among.games, error, codes))
                last = rating
        here = {line.name for line in lines}
        rest = [name for name in state.names if name not in here]
        lines += [StandingsRow(None, name, sums[name].half_points, sums[name].games, "withdrawn") for name in rest]
        return tuple(lines)

    # Events.

    def _finished(self, state: AdaptiveState, event: GameFinished) -> AdaptiveState:
        pairing, outcome = event.pairing, event.outcome
        key = _scheduled(state, pairing)
        if key in state.played or key in state.void or state.off.get(key) is not None:
            raise ValueError(f"{game_name(pairing)} is already finished")
        if outcome is Outcome.VOID:
            return state
        if key in state.off:
            return replace(state, off=state.off.set(key, outcome))
        grid = with_game(state.grid, Scored(pairing.white, pairing.black, outcome))
        return self._advanced(replace(state, played=state.played.set(key, event), grid=grid))

    def _voided(self, state: AdaptiveState, pairing: Pairing, outcome: Outcome) -> AdaptiveState:
        """Void a game. A game that has been counted is only removed from the ratings; others are offered again."""
        key = _scheduled(state, pairing)
        if state.off.get(key) is not None:
            return replace(state, off=state.off.set(key, None))
        event = state.played.get(key)
        if event is None or key in state.void:
            raise ValueError(f"{game_name(pairing)} is not a finished game")
        if any(name in state.gone for name in pairing.pair):
            return replace(state, void=state.void.set(key, outcome))
        grid = with_game(state.grid, Scored(pairing.white, pairing.black, event.outcome), -1)
        state = replace(state, grid=grid)
        if pairing.round > state.looked:
            return replace(state, played=state.played.delete(key))
        tallies = state.tallies.copied("counts")
        tallies.counts[_seat(state, pairing)][RESULTS.index(event.outcome)] -= 1
        state = replace(state, void=state.void.set(key, outcome), used=state.used - 1, tallies=tallies)
        return self._filled(self._learned(state))

    def _left(self, state: AdaptiveState, name: str) -> AdaptiveState:
        check_present(name, state.names, state.gone)
        off = [game.key for game in state.open() if name in game.pair]
        text = f"{name} withdraws; {len(off)} games are canceled, and its finished games do not count for opponents"
        state = replace(
            state,
            gone=(*state.gone, name),
            off=state.off.update(dict.fromkeys(off)),
            used=state.used - len(off),
            divisions=tuple(tuple(one for one in division if one != name) for division in state.divisions),
        )
        return state.noted("withdraw", text, engine=name, called_off=len(off))

    def _joined(self, state: AdaptiveState, entrant: Entrant) -> AdaptiveState:
        name = entrant.name
        if name in state.names:
            raise ValueError(f"{name} is already in this tournament")
        entrants, tallies = state.entrants.set(name, entrant), state.tallies.grown()
        state = replace(state, names=(*state.names, name), entrants=entrants, tallies=tallies)
        return state.noted("add", f"{name} joins", engine=name)

    def _extended(self, state: AdaptiveState, grown: dict[str, int]) -> AdaptiveState:
        games = grown.pop("games", state.most)
        if grown or games <= state.most:
            raise ValueError(f"games must be greater than {state.most}")
        text = f"at most {games} games instead of {state.most}"
        return replace(state, most=games).noted("extend", text, games=games)

    # Counting complete encounters, in the order of their choice.

    def _advanced(self, state: AdaptiveState) -> AdaptiveState:
        """Count the encounters that are complete now. After each of them, make the choice that depends on it."""
        while (after := self._counted_one(state)) is not None:
            games = after.choices[after.looked]
            state = self._filled(self._sketched(after, games) if self._is_between(after) else self._learned(after))
        return state

    def _counted(self, state: AdaptiveState) -> AdaptiveState:
        """Count the encounters that are complete now, without choices."""
        while (after := self._counted_one(state)) is not None:
            state = after
        return state

    def _counted_one(self, state: AdaptiveState) -> AdaptiveState | None:
        number = state.looked + 1
        if number > state.chosen:
            return None
        games = state.choices[number]
        if any(game.key not in state.played and game.key not in state.off for game in games):
            return None
        tallies = state.tallies.copied("counts", "ms", "timed")
        for event in (state.played[game.key] for game in games if game.key in state.played):
            seat = _seat(state, event.pairing)
            tallies.counts[seat][RESULTS.index(event.outcome)] += 1
            if event.ms is not None:
                tallies.ms[list(seat)] += event.ms
                tallies.timed[list(seat)] += 1
        return replace(state, looked=number, tallies=tallies)

    def _is_between(self, state: AdaptiveState) -> bool:
        """Return whether the ratings of a large field are only updated after an encounter, not computed again.

        They are computed again after every block of encounters, and when no encounter is open any more.
        """
        block = len(state.here) // _BLOCKS
        return state.sketch is not None and state.looked % block != 0 and state.looked < state.chosen

    def _sketched(self, state: AdaptiveState, games: Sequence[Pairing]) -> AdaptiveState:
        """Return the state with the ratings of a large field updated after the games of an encounter."""
        sketch, place = state.sketch, {name: at for at, name in enumerate(state.present)}
        events = [state.played[game.key] for game in games if game.key in state.played]
        events = [event for event in events if event.pairing.white in place and event.pairing.black in place]
        if sketch is None or not events:
            return state
        whites, blacks = ([place[name] for name in names] for names in zip(*map(_sides, events), strict=True))
        sketch = sketch.with_games(whites, blacks, [1 - RESULTS.index(event.outcome) for event in events])
        return replace(state, sketch=sketch, known=sketch.posterior)

    def _learned(self, state: AdaptiveState) -> AdaptiveState:
        """Return the state with the ratings after the counted games, and a note if the goal is reached or not any more.

        The goal is not reached before every entrant has its least number of games and opponents.
        """
        present = state.present
        if not present:
            return replace(state, known=None, course=None, sketch=None, reached=False)
        each, aim = np.ix_(state.here, state.here), self._aim(state)
        counts, earlier = state.tallies.counts[each], state.tallies.earlier[each]
        known = posterior(present, counts + earlier, self._priors(state, present), state.known)
        if aim is None:
            return replace(state, known=known, course=None, sketch=None, reached=False)
        found = progress(known, aim)
        reached = bool(found.done) and not self._lacking(state).any()
        sketch = Sketch.of(known, aim) if len(present) > _LARGE else None
        was, state = state.reached, replace(state, known=known, course=found, sketch=sketch, reached=reached)
        if reached == was:
            return state
        games = int(counts.sum())
        kind, what = ("reached", "the goal is reached") if reached else ("reopened", "the goal is not reached any more")
        text = f"{what} after {games} games: {describe_value(self.goal, found)}"
        return state.noted(kind, text, games=games, value=float(found.reached))

    # Choosing encounters.

    def _filled(self, state: AdaptiveState) -> AdaptiveState:
        """Choose encounters until enough are open, the goal is reached, or games or hours are used up."""
        while not state.reached and state.course is not None and state.chosen - state.looked < self.options.ahead:
            if not self._affords(state):
                break
            ahead = self._ahead(state)
            if self._suffices(state, ahead.posterior):
                return state
            choice = self._choice(state, ahead)
            if choice is None:
                break
            state = self._with_choice(state, choice)
        return state if state.reached or state.looked < state.chosen else self._ended(state)

    def _ahead(self, state: AdaptiveState) -> Sketch:
        """Return what is known, with the expected information of the open encounters."""
        known, aim = state.known, self._aim(state)
        assert known is not None and aim is not None
        place = {name: at for at, name in enumerate(known.names)}
        pending = np.zeros((len(place), len(place)))
        for (one, other), games in state.pending().items():
            if one in place and other in place:
                pending[place[one], place[other]] = pending[place[other], place[one]] = games / _PAIR
        if state.sketch is not None:
            return state.sketch.expected(pending)
        return Sketch.of(known.informed(pending * information(known)), aim)

    def _suffices(self, state: AdaptiveState, ahead: Posterior) -> bool:
        """Return whether the open encounters are expected to reach the goal.

        Only errors can be foreseen; likelihoods of an order depend on the results.
        """
        aim = self._aim(state)
        if aim is None or aim.error is None or state.looked == state.chosen or self._lacking(state).any():
            return False
        return bool(progress(ahead, aim).done)

    def _ended(self, state: AdaptiveState) -> AdaptiveState:
        """Return the state with a note on why the tournament ends without its goal."""
        if state.known is None or state.course is None:
            kind, text = "stuck", "the goal cannot be reached without the entrants that withdrew"
        elif self._affords(state):
            kind, text = "stuck", "no pair can play: all entrants are of the same family"
        else:
            kind, text = (
                "undecided",
                f"the goal is not reached after {state.used} games: {describe_value(self.goal, state.course)}",
            )
        return state if state.notes[-1:] == (Note(kind, text),) else state.noted(kind, text)

    def _affords(self, state: AdaptiveState) -> bool:
        """Return whether games and hours suffice for another encounter."""
        if state.used + self.options.games_per_pairing > state.most:
            return False
        if self.options.hours is None or not (timed := float(state.tallies.timed.sum())):
            return True
        spent = float(state.tallies.ms.sum()) / 2
        expected = self._pending_games(state) * float(state.tallies.ms.sum()) / timed
        return spent + expected < self.options.hours * _MS_PER_HOUR

    def _choice(self, state: AdaptiveState, ahead: Sketch) -> _Choice | None:
        """Return the pair with the largest gain per second among the allowed pairs; None if no pair can play.

        `ahead` is what is known, with the expected information of the open encounters.
        """
        known, course, aim = state.known, state.course, self._aim(state)
        assert known is not None and course is not None and aim is not None
        allowed = self._allowed(state)
        pairs = np.flatnonzero(allowed)
        if not len(pairs):
            return None
        gain, ms = ahead.gains().ravel()[pairs], self._milliseconds(state).ravel()[pairs]
        worth = gain / ms
        picked = self._picked(state, pairs, worth, known.names)
        row, column = divmod(int(pairs[picked]), len(known.names))
        both = known.names[row], known.names[column]
        if self._lacking(state)[[row, column]].any():
            purpose = Purpose("floor", both)
        elif state.divisions:
            own = sorted(at for at, names in enumerate(state.divisions, 1) if not set(both).isdisjoint(names))
            purpose = Purpose("divisions", both, tuple(own))
        else:
            purpose = _purpose(known, course, aim, row, column)
        timed = float(ms[picked]) if state.tallies.timed.any() else None
        return _Choice(*both, purpose, float(gain[picked]), timed)

    def _picked(self, state: AdaptiveState, pairs: _Places, worth: _Matrix, names: Sequence[str]) -> int:
        """Return the index of the best pair: the recorded one if it is nearly the best, else one by the seed."""
        best = float(worth.max())
        if recorded := self._recorded.get(state.chosen + 1):
            place = {name: at for at, name in enumerate(names)}
            if recorded[0] in place and recorded[1] in place:
                low, high = sorted((place[recorded[0]], place[recorded[1]]))
                (at,) = np.nonzero(pairs == low * len(names) + high)
                if len(at) and worth[at[0]] >= best * (1 - _NEAR):
                    return int(at[0])
        ties = np.flatnonzero(_rounded(worth) == _rounded(worth).max())
        return int(ties[Dice(self.seed, "adaptive", state.chosen + 1).below(len(ties))])

    def _with_choice(self, state: AdaptiveState, choice: _Choice) -> AdaptiveState:
        number, each, course = state.chosen + 1, self.options.games_per_pairing, state.course
        assert course is not None
        seats = sorted((state.names.index(choice.one), state.names.index(choice.other)))
        tallies = state.tallies.copied("encounters", "met", "surplus")
        earlier = int(tallies.met[seats[0], seats[1]])
        turned = int(tallies.surplus[seats[0]] - tallies.surplus[seats[1]]) or (1 if earlier % 2 else -1)
        first, second = seats if turned < 0 else seats[::-1]
        white, black = state.names[first], state.names[second]
        games = tuple(
            match_games(white, black, games=each, encounter=state.openings + 1, number=number, earlier=earlier)
        )
        openings = each // games_per_opening(each)
        for one, other in (seats, seats[::-1]):
            tallies.encounters[one, other] += 1
            tallies.met[one, other] += openings
        for game in games:
            tallies.surplus[state.names.index(game.white)] += 1
            tallies.surplus[state.names.index(game.black)] -= 1
        state = replace(
            state,
            choices=state.choices.set(number, games),
            chosen=number,
            used=state.used + each,
            openings=state.openings + openings,
            tallies=tallies,
        )
        purpose = choice.purpose
        fields = {"choice": number, "white": white, "black": black, "purpose": purpose.kind}
        fields |= {"engines": list(purpose.engines), "gain": choice.gain, "ms": choice.ms}
        fields |= {"value": float(course.reached), "games": int(tallies.counts.sum())}
        return state.noted("chosen", f"{number}. {white} - {black}: {purpose.text}", **fields)

    def _allowed(self, state: AdaptiveState) -> NDArray[np.bool_]:
        """Return the pairs that can be chosen, above the diagonal."""
        options, able, encounters = self.options, self._able(state), self._encounters(state)
        if state.divisions:
            return np.triu(able)
        found = able & permitted(
            encounters, able, opponents=options.min_opponents, fewest=self._least, share=options.share
        )
        return np.triu(found)

    def _able(self, state: AdaptiveState) -> NDArray[np.bool_]:
        """Return the pairs of present entrants that may play each other, as a symmetric array."""
        present, aim = state.present, self._aim(state)
        able = (aim or self.goal).meets(present)
        if self.options.forbid_family:
            families = np.array([state.entrants[name].family for name in present])
            able &= (families[:, None] != families) | (families == "")
        return able

    def _encounters(self, state: AdaptiveState) -> _Matrix:
        """Return the number of chosen encounters of each pair of present entrants."""
        here = state.here
        return np.asarray(state.tallies.encounters[np.ix_(here, here)])

    def _lacking(self, state: AdaptiveState) -> NDArray[np.bool_]:
        """Return which present entrants lack opponents or games."""
        encounters, able = self._encounters(state), self._able(state)
        met, others = (encounters > 0).sum(axis=1), able.sum(axis=1)
        lacks = (met < np.minimum(self.options.min_opponents, others)) | (encounters.sum(axis=1) < self._least)
        return np.asarray(lacks & (others > 0) & (not state.divisions))

    def _milliseconds(self, state: AdaptiveState) -> _Matrix:
        """Return the expected milliseconds of a game of each pair; equal for all before the first game."""
        ms, timed = state.tallies.ms, state.tallies.timed
        usual = float(ms.sum() / timed.sum()) if timed.any() and ms.any() else 1.0
        own = np.where(timed > 0, np.maximum(ms, 1.0) / np.maximum(timed, 1), usual)[state.here]
        return np.asarray((own[:, None] + own) / 2)

    def _pending_games(self, state: AdaptiveState) -> int:
        return sum(state.pending().values())

    def _aim(self, state: AdaptiveState) -> Goal | None:
        """Return the goal for the present entrants; None if it needs entrants that withdrew.

        A division without entrants is left out, so the divisions above and below it become neighbors.
        """
        present, divisions = state.present, tuple(filter(None, state.divisions))
        if self.goal.divisions:
            return self.goal.model_copy(update={"divisions": divisions}) if len(divisions) > 1 else None
        of = tuple(name for name in self.goal.of if name in present)
        if len(present) < 2 or (self.goal.of and not of):
            return None
        if self.goal.entrant is not None and self.goal.entrant not in present:
            return None
        if self.goal.top is not None and self.goal.top >= len(present):
            return None
        return self.goal if of == self.goal.of else self.goal.model_copy(update={"of": of})

    def _earlier(self, names: Sequence[str]) -> _Matrix:
        """Return White's wins, draws and losses before this tournament by places of names."""
        found, place = np.zeros((len(names), len(names), 3)), {name: at for at, name in enumerate(names)}
        for (white, black), results in self.earlier.items():
            found[place[white], place[black]] = results
        return found

    @cached_property
    def division_prior(self) -> DivisionPrior | None:
        """What is assumed about the entrants before the first game; None without divisions."""
        names, sd = tuple(chain.from_iterable(self.goal.divisions)), self.options.prior
        return self.goal.division_prior(sd, scatter(self._earlier(names), names, self.goal, sd)) if names else None

    def _priors(self, state: AdaptiveState, names: Sequence[str]) -> GaussianPrior | DivisionPrior:
        return self._prior_of([state.entrants[name] for name in names], self._aim(state))

    def _prior_of(self, entrants: Sequence[Entrant], aim: Goal | None) -> GaussianPrior | DivisionPrior:
        if self.options.prior_error is None:
            own = self.division_prior
            if own is not None and aim is not None:
                return aim.division_prior(own.sd, own.scatter)
            return GaussianPrior(self.options.prior)
        known = {entrant.name: entrant.rating for entrant in entrants if entrant.rating is not None}
        average = sum(known.values()) / len(known) if known else 0.0
        mean = {entrant.name: known.get(entrant.name, average) for entrant in entrants}
        sd = {name: self.options.prior_error if name in known else self.options.prior for name in mean}
        return GaussianPrior(sd, mean)

    # Estimates.

    def outlook(self, state: AdaptiveState) -> Outlook | None:
        """Return how far the goal is reached, and what is expected; None if the goal cannot be reached any more."""
        known, course, aim = state.known, state.course, self._aim(state)
        if known is None or course is None or aim is None:
            return None
        names, earlier = known.names, state.tallies.earlier[np.ix_(state.here, state.here)]
        before = posterior(names, earlier, self._priors(state, names))
        return outlook(aim, known, course, before, int(state.tallies.counts.sum()))

    def doubts(self, entrants: Sequence[Entrant], games: int) -> Iterator[str]:
        """Yield a sentence if this number of games cannot be expected to reach the goal, with what they reach."""
        names = tuple(entrant.name for entrant in entrants)
        before = posterior(names, self._earlier(names), self._prior_of(entrants, self.goal))
        floor = len(names) * self.options.min_games // 2
        return doubts(self.goal, before, games, self.options.prior_error, floor)

    def _expected(self, state: AdaptiveState) -> int:
        """Return an estimate of the games that the goal still needs after the counted games."""
        known, course, aim = state.known, state.course, self._aim(state)
        return 0 if known is None or course is None or aim is None else expected_games(aim, known, course)

    def _unrated(self, entrants: Sequence[Entrant]) -> Iterator[str]:
        if self.options.prior_error is None:
            return
        unrated = [entrant.name for entrant in entrants if entrant.rating is None]
        if len(unrated) == len(entrants):
            raise ValueError(
                "prior_error needs ratings, but no entrant has one. Hint: set rating = ... in the [[entrants]] "
                "sections, or remove prior_error"
            )
        if unrated:
            begin = f"the average of the others ± {self.options.prior:g} Elo"
            yield f"{listed(unrated)}: the entrant has no rating, so the calculation begins with {begin}"


@dataclass(frozen=True, slots=True)
class Purpose:
    """What an encounter is for: `kind` is floor, error, version, place, top or divisions.

    `engines` are those it tells about, and `divisions` the numbers of their divisions from 1, the highest.
    """

    kind: str
    engines: tuple[str, ...]
    divisions: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """Return the purpose as a text."""
        names = " and ".join(self.engines)
        match self.kind:
            case "floor":
                return "first games of the entrants"
            case "error":
                return f"to reduce the error of {names}"
            case "version":
                return f"to compare {names} with the others"
            case "divisions":
                return f"to compare divisions {' and '.join(map(str, self.divisions))}"
            case _:
                return f"to separate {names}"


@dataclass(frozen=True, slots=True)
class _Choice:
    one: str
    other: str
    purpose: Purpose
    gain: float
    ms: float | None


_MS_PER_HOUR = 3_600_000
_PAIR = 2  # games of a pair, the unit of `design`
# Fields with more entrants compute the ratings and judge the goal after every eighth of n encounters, because both take
# O(n^3) steps. In between, ratings and gains are updated (enginetour's choice).
_LARGE = 64
_BLOCKS = 8


def _rounded(worth: _Matrix) -> _Matrix:
    """Return the values in units of the ninth significant digit of the largest one."""
    best = float(worth.max())
    return np.rint(worth * 10.0 ** (_DIGITS - 1 - floor(log10(best)))) if best > 0 else np.zeros(worth.shape)


def _purpose(known: Posterior, course: Progress, aim: Goal, one: int, other: int) -> Purpose:
    """Return whom an encounter tells most about: an entrant, or a pair in doubt."""
    tells = known.covariance[:, one] - known.covariance[:, other]
    if aim.entrant is not None:
        return Purpose("version", (aim.entrant,))
    if aim.error is not None:
        at = np.array([known.names.index(name) for name in aim.of]) if aim.of else slice(None)
        most = _rounded(np.abs(tells - tells[at].mean()))
        return Purpose("error", (known.names[int(most.argmax())],))
    rows, columns = np.nonzero(np.triu(course.doubt, 1))
    if not len(rows):
        rows, columns = np.array([one]), np.array([other])
    told = int(_rounded((tells[rows] - tells[columns]) ** 2).argmax())
    pair = int(rows[told]), int(columns[told])
    return Purpose("place" if aim.top is None else "top", tuple(known.names[at] for at in pair))


def _scheduled(state: AdaptiveState, pairing: Pairing) -> GameKey:
    """Return the key of a game; raise ValueError if it was never chosen with these colors."""
    if pairing not in state.choices.get(pairing.round, ()):
        raise ValueError(f"{game_name(pairing)} was not chosen")
    return pairing.key


def _seat(state: AdaptiveState, pairing: Pairing) -> tuple[int, int]:
    return state.names.index(pairing.white), state.names.index(pairing.black)


def _sides(event: GameFinished) -> tuple[str, str]:
    return event.pairing.white, event.pairing.black
