"""Match between two engines: a fixed number of games, an SPRT, or a target error.

The test looks at encounters in the order in which they were scheduled, each once all before it are complete: a long
game makes the look wait, a short one never jumps the queue. In the order in which pairs end the short ones come
first, and where wins are shorter than losses (2:5 here) 16 slots turned 5 % of wrong H1 into 9 % for 0 against
40 Elo and 13 % for 0 against 100, in 600 simulated tests each; in this order it was 5 % and 3 %.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from immutables import Map
from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from enginetour.formats.base import Format, FormatState, check_present
from enginetour.model.errors import InputRefused
from enginetour.model.game import (
    Entrant,
    Event,
    Extended,
    GameFinished,
    GameVoided,
    Outcome,
    Pairing,
    StandingsRow,
    Withdrawn,
)
from enginetour.ratings.pentanomial import (
    FEW_GAMES,
    GAME_CLASSES,
    PAIR_CLASSES,
    class_counts,
    error_of,
    is_error_at_most,
    statistics_of,
)
from enginetour.ratings.sequential import (
    ERROR,
    MatchTest,
    Model,
    Sprt,
    Walk,
    assumed_chances,
    estimate,
    expected_lengths,
    sample_number,
    step,
)


class _SprtOptions(BaseModel):
    """A sequential test; refused as `Sprt` refuses it.

    `pairs`: it looks at pairs of games on one opening, which are not independent; false: at each game.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    elo0: float
    elo1: float
    alpha: float = ERROR
    beta: float = ERROR
    model: Model = "logistic"
    pairs: bool = True

    @model_validator(mode="after")
    def _testable(self) -> _SprtOptions:
        self.test()
        return self

    def test(self) -> Sprt:
        """The test it describes."""
        return Sprt(self.elo0, self.elo1, self.model, self.alpha, self.beta)


class MatchOptions(BaseModel):
    """Settings of the match."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True, validate_default=True)

    games_per_pairing: int = Field(
        default=2,
        ge=1,
        le=2,
        description="games on one opening: 2 (games is even) gives both the same colours, 1 takes turns",
    )
    games: int = Field(default=100, ge=1, description="games of the match; with sprt or error the most there can be")
    swap: bool = Field(default=True, description="colours change from game to game; false: the first has White in all")
    reverse: bool = Field(default=False, description="the second entrant begins with White")
    sprt: _SprtOptions | None = Field(
        default=None,
        description="{ elo0 = 0, elo1 = 5, alpha = 0.05, beta = 0.05 }: stop once it is known whether the first "
        'entrant is elo1 or only elo0 ahead; model = "logistic", "normalized" (nElo) or "bayesian" (by games); '
        "pairs = false: by games, each opening's two too",
    )
    error: float | None = Field(
        default=None,
        ge=0.1,
        le=1000,
        allow_inf_nan=False,
        description="stop once the Elo difference is known so well: half of its 95 % interval, by pairs of an opening. "
        "While one side has not lost a point there is none, and the match goes on",
    )

    @field_validator("games")
    @classmethod
    def _whole_pairs(cls, games: int, info: ValidationInfo) -> int:
        if games % info.data.get("games_per_pairing", 1):
            other = "games_per_pairing = 1 takes any number"
            raise ValueError(f"games {games} is odd: an even number gives both the same colours, {other}")
        return games

    @field_validator("sprt", mode="before")
    @classmethod
    def _table(cls, sprt: object) -> object:
        if not isinstance(sprt, dict | _SprtOptions | None):
            raise ValueError("write sprt = { elo0 = 0, elo1 = 5 }")
        return sprt

    @field_validator("error")
    @classmethod
    def _one_end(cls, error: float | None, info: ValidationInfo) -> float | None:
        if error is not None and info.data.get("sprt") is not None:
            raise ValueError("sprt and error both end a match: give one of them")
        return error


WINDOW = 256  # open games offered at once, for 128 slots (our choice): a look at them goes through all


@dataclass(frozen=True, slots=True)
class MatchState(FormatState):
    """Which games are in, which may be played, how far the test has looked; a step costs the same in long matches.

    Games are numbered from 0 in the order of the schedule, outcomes are half points of the first entrant. The test
    looks at units: encounters, or single games. `looked` units are complete from the start on, and walked over; games
    below `reach` have been on offer.

    `legs` games have one opening, `unit` games make one look, `most` games can be played. `counts` are losses, draws,
    wins; `late` are games that came in after a withdrawal. Without a walk `seen` counts the units looked at by their
    outcomes, and `known` is whether their error is as small as was asked for.
    """

    pair: tuple[str, str]
    legs: int
    unit: int
    most: int
    walk: Walk | None = None
    seen: tuple[int, ...] = ()
    known: bool = False
    outcomes: Map[int, int] = field(default_factory=Map)
    counts: tuple[int, int, int] = (0, 0, 0)
    looked: int = 0
    reach: int = 0
    late: frozenset[int] = frozenset()
    gone: tuple[str, ...] = ()
    swap: bool = True
    reverse: bool = False

    @property
    def verdict(self) -> str:
        """H0, H1 or "" while there is none."""
        return self.walk.verdict if self.walk else ""

    @property
    def is_decided(self) -> bool:
        """What was to be found out is."""
        return bool(self.verdict) or self.known

    @property
    def is_over(self) -> bool:
        """Nothing more is offered, whatever has not been played."""
        return bool(self.is_decided or self.gone)

    def pairing(self, number: int) -> Pairing:
        """A game as it is offered; the colours alternate unless `swap` is off, `reverse` begins with the second."""
        encounter, leg = divmod(number, self.legs)
        first, second = self.pair
        turned = self.reverse != (self.swap and number % 2 == 1)
        names = (second, first) if turned else (first, second)
        return Pairing(*names, encounter + 1, leg + 1, encounter + 1, encounter + 1)

    def number(self, pairing: Pairing) -> int:
        """Which game it is; ValueError: it was never on offer, or with the other colours."""
        number = (pairing.meeting - 1) * self.legs + pairing.leg - 1
        known = set(pairing.pair) == set(self.pair) and 1 <= pairing.leg <= self.legs and 0 <= number < self.reach
        if not known or self.pairing(number).white != pairing.white:
            which = f"game {pairing.leg} of encounter {pairing.meeting}"
            raise ValueError(f"{pairing.white} - {pairing.black}, {which}, was never on offer")
        return number

    def open(self) -> Iterator[int]:
        """Games on offer, unless the match is over; once shown a game stays."""
        return (n for n in range(self.looked * self.unit, self.reach) if n not in self.outcomes)

    def shown(self) -> MatchState:
        """As many games on offer as the window holds beyond what the test has looked at."""
        return replace(self, reach=max(self.reach, min(self.most, self.looked * self.unit + WINDOW)))

    def with_outcome(self, number: int, half_points: int) -> MatchState:
        """One game more."""
        outcomes = self.outcomes.set(number, half_points)
        return replace(self, outcomes=outcomes, counts=self._counts(half_points, 1))

    def without(self, number: int) -> MatchState:
        """One game less."""
        counts = self._counts(self.outcomes[number], -1)
        return replace(self, outcomes=self.outcomes.delete(number), counts=counts)

    def games_of(self, unit: int) -> range:
        """The numbers of its games."""
        return range(unit * self.unit, (unit + 1) * self.unit)

    def unit_outcome(self, unit: int) -> int | None:
        """Half points of all its games; None while one of them is missing."""
        outcomes = [self.outcomes.get(number) for number in self.games_of(unit)]
        return None if None in outcomes else sum(outcome or 0 for outcome in outcomes)

    def ahead(self) -> list[int]:
        """Outcomes of units that are complete and not looked at: something before them is missing, or it is over."""
        found = (self.unit_outcome(unit) for unit in range(self.looked, self.reach // self.unit))
        return [outcome for outcome in found if outcome is not None]

    def pairs(self) -> tuple[int, ...] | None:
        """All complete pairs on one opening by their half points; None where each opening is played once."""
        if self.legs == 1:
            return None
        if self.walk and self.unit == self.legs:
            known = class_counts(self.ahead(), PAIR_CLASSES)
            return tuple(one + other for one, other in zip(self.walk.counts, known, strict=True))
        couples = ((self.outcomes.get(n), self.outcomes.get(n + 1)) for n in range(0, self.reach, 2))
        whole = [one + other for one, other in couples if one is not None and other is not None]
        return class_counts(whole, PAIR_CLASSES)

    def _counts(self, half_points: int, change: int) -> tuple[int, int, int]:
        losses, draws, wins = (n + change * (place == half_points) for place, n in enumerate(self.counts))
        return losses, draws, wins


# Pairs of the assumed kind that count beside those seen when the length is guessed (our choice): after as many of
# its own a match is believed half.
_ASSUMED_WEIGHT = 20
HALF = 0.5  # of an outcome of each kind: Jeffreys' prior of such counts


class Match(Format[MatchState]):
    """Two entrants, the first of them the one in question; a decided match takes what is in the air, no more.

    Kinds of its notes: schedule, verdict, known, reopened, undecided, withdraw, extend.
    """

    version = 1

    def __init__(self, options: MatchOptions) -> None:
        self.legs = options.games_per_pairing
        self.games = options.games
        self.swap, self.reverse = options.swap, options.reverse
        self.test = options.sprt.test() if options.sprt else None
        self.error = options.error
        by_pairs = options.sprt is None or (options.sprt.pairs and options.sprt.model != "bayesian")  # it knows none
        self.unit = self.legs if by_pairs else 1
        self.classes = PAIR_CLASSES if self.unit == 2 else GAME_CLASSES

    @property
    def _stops(self) -> bool:
        return self.test is not None or self.error is not None

    def start(self, entrants: tuple[Entrant, ...]) -> MatchState:
        """The state before the first game. InputRefused: not two entrants."""
        names = tuple(entrant.name for entrant in entrants)
        if len(names) != 2 or names[0] == names[1]:
            found = f"found {len(names)}: {', '.join(names)}"
            step = 'leave two, or choose system = "gauntlet"'
            raise InputRefused(f"a match is between two entrants, {found}", place="entrants", step=step)
        first, second = names
        state = MatchState(names, self.legs, self.unit, self.games, swap=self.swap, reverse=self.reverse)
        state = self._unseen(state).shown()
        text = f"{first} against {second}, {'at most ' if self._stops else ''}{self.games} games"
        return state.noted("schedule", text, entrants=[first, second], games=self.games)

    def offers(self, state: MatchState) -> tuple[Pairing, ...]:
        """The earliest games still to be played; none once a verdict has fallen or one of the two has left."""
        return () if state.is_over else tuple(state.pairing(number) for number in state.open())

    def step(self, state: MatchState, event: Event) -> MatchState:
        """The state after one event; ValueError: it cannot have happened here."""
        match event:
            case GameFinished(pairing, outcome):
                return self._finished(state, pairing, outcome)
            case GameVoided(pairing, _):
                return self._voided(state, pairing)
            case Withdrawn(name):
                check_present(name, state.pair, state.gone, "match")
                broken = ", the match is broken off" if self.offers(state) else ""
                state = replace(state, gone=(*state.gone, name))
                return state.noted("withdraw", f"{name} withdraws{broken}", engine=name)
            case Extended(grown):
                return self._extended(state, dict(grown))
            case _:
                raise ValueError("a match stays between the two that began it: withdraw one, then run --new")

    def remaining(self, state: MatchState) -> tuple[int, int]:
        """With a test or an error to reach at least what the next look waits for; without one known exactly."""
        left = 0 if state.is_over else state.most - len(state.outcomes)
        if not self._stops or not left:
            return left, left
        return sum(number not in state.outcomes for number in state.games_of(state.looked)), left

    def likely(self, state: MatchState) -> int:
        """The average length from here, if what has been seen is true; some assumed pairs steady it at first."""
        fewest, most = self.remaining(state)
        if not self._stops or not most:
            return most
        chances = assumed_chances(self.classes)
        if self.test is not None:
            chances = tuple(self.test.likeliest(chances, (self.test.elo0 + self.test.elo1) / 2))
        counts = state.walk.counts if state.walk else state.seen
        seen = [count + _ASSUMED_WEIGHT * chance for count, chance in zip(counts, chances, strict=True)]
        if self.test is not None and state.walk is not None:
            looks = sample_number(self.test, [count / sum(seen) for count in seen], state.walk.llr)
        elif self.error is not None and (error := error_of(seen)) is not None:
            looks = sum(seen) * (error / self.error) ** 2 - state.looked  # an error falls with the root of the number
        else:
            return most
        waiting = sum(number in state.outcomes for number in range(state.looked * self.unit, state.reach))
        return min(max(fewest, round(looks * self.unit) - waiting), most)

    def standings(self, state: MatchState) -> tuple[StandingsRow, ...]:
        """Points of all games that count, those played beyond the verdict too; who withdrew stands last."""
        losses, draws, wins = state.counts
        first, second = state.pair
        lines = [(2 * wins + draws, first), (2 * losses + draws, second)]
        lines.sort(key=lambda line: (line[1] in state.gone, -line[0]))
        best, placed = lines[0][0], []
        for points, name in lines:
            out = name in state.gone
            rank = None if out else 1 if points == best else 2
            placed.append(StandingsRow(rank, name, points, sum(state.counts), "withdrawn" if out else ""))
        return tuple(placed)

    def tested(self, state: MatchState) -> MatchTest | None:
        """What the test says now, games beyond the verdict in the counts; None without a test or a game."""
        if self.test is None or state.walk is None or not state.outcomes:
            return None
        walk, pairs = state.walk, state.pairs()
        for unit in state.ahead() if walk.verdict else ():
            walk = step(self.test, walk, unit)
        counts = pairs if pairs and any(pairs) else state.counts
        return MatchTest(self.test, state.counts, pairs, walk, statistics_of(counts), estimate(self.test, walk))

    def foretold(self) -> dict[str, float] | None:
        """Games the test takes on average if elo0, the middle or elo1 is true (Wald 1947); None without a test."""
        if self.test is None:
            return None
        return {truth: self.unit * looks for truth, looks in expected_lengths(self.test, self.classes).items()}

    def _finished(self, state: MatchState, pairing: Pairing, outcome: Outcome) -> MatchState:
        number = state.number(pairing)
        if number in state.outcomes or number in state.late:
            raise ValueError(f"game {pairing.leg} of encounter {pairing.meeting} is finished already")
        if outcome is Outcome.VOID:
            return state
        if state.gone:
            return replace(state, late=state.late | {number})
        state = state.with_outcome(number, outcome.half_points(white=pairing.white == state.pair[0]))
        return state if state.is_decided else self._walked(state)

    def _voided(self, state: MatchState, pairing: Pairing) -> MatchState:
        """A game that was looked at takes the walk back to before it; one beyond the verdict only leaves the counts."""
        number = state.number(pairing)
        if number in state.late:
            return replace(state, late=state.late - {number})
        if number not in state.outcomes:
            raise ValueError(f"game {pairing.leg} of encounter {pairing.meeting} is not a finished game")
        decided, ended = state.is_decided, state.looked * self.unit == state.most
        was = f"an error of {self.error:g} Elo" if state.known else state.verdict
        state = state.without(number)
        if number // self.unit >= state.looked:
            return state
        state = self._walked(self._unseen(replace(state, looked=0)))
        if not decided and not (ended and self._stops):
            return state
        what = f"{was} is taken back" if decided else "the match goes on"
        return state.noted("reopened", f"{what}: a game of encounter {pairing.meeting} is void", was=was)

    def _unseen(self, state: MatchState) -> MatchState:
        none = (0,) * self.classes
        return replace(state, walk=Walk(none) if self.test else None, seen=none if self.error else (), known=False)

    def _walked(self, state: MatchState) -> MatchState:
        """Look at every unit that is complete and has nothing missing before it, until the end that was asked for."""
        before = state.looked
        while not state.is_decided and (unit := state.unit_outcome(state.looked)) is not None:
            state = self._looked(state, unit)
        if state.looked == before:
            return state
        if not state.is_decided:  # after that nothing comes on offer that was not there before
            state = state.shown()
        if not self._stops or not (state.is_decided or state.looked * self.unit == state.most):
            return state
        return self._ended(state)

    def _looked(self, state: MatchState, unit: int) -> MatchState:
        walk = step(self.test, state.walk, unit) if self.test and state.walk else None
        seen = tuple(count + (place == unit) for place, count in enumerate(state.seen))
        return replace(state, looked=state.looked + 1, walk=walk, seen=seen, known=self._is_known(seen))

    def _is_known(self, seen: tuple[int, ...]) -> bool:
        """The error is as small as was asked for, and stays so with half an outcome more of each kind.

        These keep a few equal results from looking certain (Jeffreys 1946); of many they are nothing.
        """
        if self.error is None or sum(seen) < FEW_GAMES:
            return False
        return all(is_error_at_most(self.error, counts) for counts in (seen, [count + HALF for count in seen]))

    def _ended(self, state: MatchState) -> MatchState:
        """With the decision on record, or that there was none."""
        each, counts = "pairs" if self.unit == 2 else "games", state.walk.counts if state.walk else state.seen
        seen = f"{state.looked} {each} ({'-'.join(map(str, counts))})"
        figures: dict[str, object] = {"after": state.looked, "counts": list(counts)}
        if state.walk is None or self.test is None:
            error = error_of(state.seen)
            shown = "unknown" if error is None else f"{error:.1f} Elo"
            figures |= {"error": None if error is None else round(error, 2)}
            kind, after = ("known", "after") if state.known else ("undecided", "after all")
            return state.noted(kind, f"error {shown} {after} {seen}", **figures)
        ratio = round(state.walk.llr, 3) or 0.0
        figures |= {"llr": ratio}
        if not state.verdict:
            text = f"no verdict after all {seen}, LLR {ratio:.3f}"
            return state.noted("undecided", text, **figures)
        meaning = self.test.meaning(state.walk.verdict, state.pair[0])
        text = f"{state.verdict} after {seen}, LLR {ratio:.3f}: {meaning}"
        return state.noted("verdict", text, verdict=state.verdict, **figures)

    def _extended(self, state: MatchState, grown: dict[str, int]) -> MatchState:
        games = grown.pop("games", state.most)
        if grown or games <= state.most or games % self.legs:
            number = "an even number" if self.legs == 2 else "a number"
            raise ValueError(f"only {number} of games above {state.most} can be added")
        if state.is_over:
            raise ValueError(f"the match is decided: {state.notes[-1].text}")
        text = f"{games} games instead of {state.most}"
        return replace(state, most=games).shown().noted("extend", text, games=games)
