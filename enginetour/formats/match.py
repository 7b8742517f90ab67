"""Match between two engines: a fixed number of games, an SPRT, or a target error.

The test evaluates encounters in scheduled order, each after all earlier ones are complete. If it evaluated pairs in the
order in which they end, short games would come first and bias the test. Example: in 600 simulated tests with 16 slots
and wins shorter than losses (2:5), wrong H1 decisions rose from 5 % to 9 % for 0 against 40 Elo and to 13 % for 0
against 100 Elo. In scheduled order they were 5 % and 3 %.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from enginetour.formats.base import Format, FormatState, check_present
from enginetour.formats.pairing.persistent import Map
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
    """Settings of a sequential test.

    With `pairs`, the test evaluates game pairs on the same opening, because their two games are not independent.
    Without it, the test evaluates single games.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    elo0: float = Field(description="Elo difference of hypothesis H0.")
    elo1: float = Field(description="Elo difference of hypothesis H1, greater than elo0.")
    alpha: float = Field(default=ERROR, description="Probability of a wrong decision for H1.")
    beta: float = Field(default=ERROR, description="Probability of a wrong decision for H0.")
    model: Model = Field(
        default="logistic", description="logistic (Elo), normalized (nElo) or bayesian (by single games)."
    )
    pairs: bool = Field(
        default=True, description="Evaluate game pairs (two games on the same opening); false: evaluate single games."
    )

    @model_validator(mode="after")
    def _testable(self) -> _SprtOptions:
        self.test()
        return self

    def test(self) -> Sprt:
        return Sprt(self.elo0, self.elo1, self.model, self.alpha, self.beta)


class MatchOptions(BaseModel):
    """Settings of the match."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True, validate_default=True)

    games_per_pairing: int = Field(
        default=2,
        ge=1,
        le=2,
        description="Games per opening. With 2, each engine plays each opening with both colors, and the number of "
        "games must be even; with 1, colors alternate.",
    )
    games: int = Field(default=100, ge=1, description="Number of games; with sprt or error, the maximum number.")
    swap: bool = Field(
        default=True, description="Swap colors after each game; false: the first engine has White in all games."
    )
    reverse: bool = Field(default=False, description="Give the second engine White in the first game.")
    sprt: _SprtOptions | None = Field(
        default=None,
        description="Stop when a sequential test decides whether the first engine is stronger by elo1 or only by elo0: "
        '{ elo0 = 0, elo1 = 5, alpha = 0.05, beta = 0.05 }; model = "logistic", "normalized" (nElo) or "bayesian" (by '
        "single games); pairs = false evaluates single games. Default: no test.",
    )
    error: float | None = Field(
        default=None,
        ge=0.1,
        le=1000,
        allow_inf_nan=False,
        description="Stop when the error of the Elo difference is at most this value, in Elo. The error is half of the "
        "95 % confidence interval, computed from game pairs. While one engine has not lost a point, the error is "
        "unknown and the match continues. Default: no limit.",
    )

    @field_validator("games")
    @classmethod
    def _whole_pairs(cls, games: int, info: ValidationInfo) -> int:
        if games % info.data.get("games_per_pairing", 1):
            raise ValueError(
                f"games must be even with games_per_pairing = 2 (found {games}). "
                "Hint: use an even number or games_per_pairing = 1"
            )
        return games

    @field_validator("sprt", mode="before")
    @classmethod
    def _table(cls, sprt: object) -> object:
        if not isinstance(sprt, dict | _SprtOptions | None):
            raise ValueError("sprt is not a valid table. Hint: write sprt = { elo0 = 0, elo1 = 5 }")
        return sprt

    @field_validator("error")
    @classmethod
    def _one_end(cls, error: float | None, info: ValidationInfo) -> float | None:
        if error is not None and info.data.get("sprt") is not None:
            raise ValueError("sprt and error exclude each other. Hint: remove one of them")
        return error


# number of open games offered at once: enough for 128 slots, and few enough to search all of them (enginetour's choice)
WINDOW = 256


@dataclass(frozen=True, slots=True)
class MatchState(FormatState):
    """State of a match: finished games, offered games, and how far the test has evaluated them.

    Games are numbered from 0 in scheduled order; outcomes are half points of the first entrant. The test evaluates
    units: encounters or single games. The first `looked` units are complete and evaluated; games below `reach` have
    been offered.

    `legs` games share the same opening, `unit` games form a unit, and `most` is the largest number of games. `counts`
    are losses, draws and wins; `late` are games that ended after a withdrawal. Without an SPRT, `seen` counts the
    evaluated units by outcome, and `known` is true if their error is as small as requested. The time for a step does
    not depend on the length of the match.
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
        """Return the verdict "H0" or "H1", or "" if there is no verdict yet."""
        return self.walk.verdict if self.walk else ""

    @property
    def is_decided(self) -> bool:
        """Return whether the test has a verdict or the error is small enough."""
        return bool(self.verdict) or self.known

    @property
    def is_over(self) -> bool:
        """Return whether no games are offered any more."""
        return bool(self.is_decided or self.gone)

    def pairing(self, number: int) -> Pairing:
        """Return game `number`; `swap` alternates colors, and `reverse` gives the second entrant White in game 1."""
        encounter, leg = divmod(number, self.legs)
        first, second = self.pair
        turned = self.reverse != (self.swap and number % 2 == 1)
        names = (second, first) if turned else (first, second)
        return Pairing(*names, encounter + 1, leg + 1, encounter + 1, encounter + 1)

    def number(self, pairing: Pairing) -> int:
        """Return the number of a game. Raises ValueError if the game was never offered with these colors."""
        number = (pairing.meeting - 1) * self.legs + pairing.leg - 1
        known = set(pairing.pair) == set(self.pair) and 1 <= pairing.leg <= self.legs and 0 <= number < self.reach
        if not known or self.pairing(number).white != pairing.white:
            which = f"game {pairing.leg} of encounter {pairing.meeting}"
            raise ValueError(f"{pairing.white} - {pairing.black}, {which}, was not scheduled")
        return number

    def open(self) -> Iterator[int]:
        """Return the numbers of the offered games; an offered game stays offered until it is played."""
        return (n for n in range(self.looked * self.unit, self.reach) if n not in self.outcomes)

    def shown(self) -> MatchState:
        """Return this state with more games offered, up to the window after the last evaluated unit."""
        return replace(self, reach=max(self.reach, min(self.most, self.looked * self.unit + WINDOW)))

    def with_outcome(self, number: int, half_points: int) -> MatchState:
        """Return this state with one more result."""
        outcomes = self.outcomes.set(number, half_points)
        return replace(self, outcomes=outcomes, counts=self._counts(half_points, 1))

    def without(self, number: int) -> MatchState:
        """Return this state without the result of a game."""
        counts = self._counts(self.outcomes[number], -1)
        return replace(self, outcomes=self.outcomes.delete(number), counts=counts)

    def games_of(self, unit: int) -> range:
        """Return the numbers of the games of a unit."""
        return range(unit * self.unit, (unit + 1) * self.unit)

    def unit_outcome(self, unit: int) -> int | None:
        """Return the sum of the half points of a unit, or None if a game is missing."""
        outcomes = [self.outcomes.get(number) for number in self.games_of(unit)]
        return None if None in outcomes else sum(outcome or 0 for outcome in outcomes)

    def ahead(self) -> list[int]:
        """Return the outcomes of complete units that the test has not evaluated.

        It does not evaluate them because an earlier unit is not complete, or because the match is over.
        """
        found = (self.unit_outcome(unit) for unit in range(self.looked, self.reach // self.unit))
        return [outcome for outcome in found if outcome is not None]

    def pairs(self) -> tuple[int, ...] | None:
        """Return the number of complete game pairs by half points; None if each opening is played once."""
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


# number of assumed units, added to the evaluated ones when the length of a match is estimated (enginetour's choice)
_ASSUMED_WEIGHT = 20
HALF = 0.5  # half an outcome, added to the count of each outcome (Jeffreys' prior)


class Match(Format[MatchState]):
    """Format of a match between two entrants; the first one is the tested engine.

    A decided match accepts the games in progress but offers no others. Its notes have the kinds schedule, verdict,
    known, reopened, undecided, withdraw and extend.
    """

    version = 1

    def __init__(self, options: MatchOptions) -> None:
        self.legs = options.games_per_pairing
        self.games = options.games
        self.swap, self.reverse = options.swap, options.reverse
        self.test = options.sprt.test() if options.sprt else None
        self.error = options.error
        # the bayesian model uses single games
        by_pairs = options.sprt is None or (options.sprt.pairs and options.sprt.model != "bayesian")
        self.unit = self.legs if by_pairs else 1
        self.classes = PAIR_CLASSES if self.unit == 2 else GAME_CLASSES

    @property
    def _stops(self) -> bool:
        return self.test is not None or self.error is not None

    def start(self, entrants: tuple[Entrant, ...]) -> MatchState:
        """Return the state before the first game. Raises InputRefused if there are not exactly two entrants."""
        names = tuple(entrant.name for entrant in entrants)
        if len(names) != 2 or names[0] == names[1]:
            found = f"found {len(names)}: {', '.join(names)}"
            step = 'keep two entrants, or choose system = "gauntlet"'
            raise InputRefused(f"a match needs exactly two entrants ({found})", place="entrants", step=step)
        first, second = names
        state = MatchState(names, self.legs, self.unit, self.games, swap=self.swap, reverse=self.reverse)
        state = self._unseen(state).shown()
        text = f"{first} against {second}, {'at most ' if self._stops else ''}{self.games} games"
        return state.noted("schedule", text, entrants=[first, second], games=self.games)

    def offers(self, state: MatchState) -> tuple[Pairing, ...]:
        """Return the earliest unplayed games; the result is empty after a verdict or a withdrawal."""
        return () if state.is_over else tuple(state.pairing(number) for number in state.open())

    def step(self, state: MatchState, event: Event) -> MatchState:
        """Return the state after one event. Raises ValueError if the event is impossible in this state."""
        match event:
            case GameFinished(pairing, outcome):
                return self._finished(state, pairing, outcome)
            case GameVoided(pairing, _):
                return self._voided(state, pairing)
            case Withdrawn(name):
                check_present(name, state.pair, state.gone, "match")
                broken = ", the match ends" if self.offers(state) else ""
                state = replace(state, gone=(*state.gone, name))
                return state.noted("withdraw", f"{name} withdraws{broken}", engine=name)
            case Extended(grown):
                return self._extended(state, dict(grown))
            case _:
                raise ValueError(
                    "entrants of a match cannot be added or replaced. "
                    "Hint: withdraw one, then start a new edition with run --new"
                )

    def remaining(self, state: MatchState) -> tuple[int, int]:
        """Return the fewest and the most remaining games; with a test, only the next unit is certain to be played."""
        left = 0 if state.is_over else state.most - len(state.outcomes)
        if not self._stops or not left:
            return left, left
        return sum(number not in state.outcomes for number in state.games_of(state.looked)), left

    def likely(self, state: MatchState) -> int:
        """Return an estimate of the remaining games, from the results so far and a few assumed results."""
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
            # the error is inversely proportional to the square root of the number of units
            looks = sum(seen) * (error / self.error) ** 2 - state.looked
        else:
            return most
        waiting = sum(number in state.outcomes for number in range(state.looked * self.unit, state.reach))
        return min(max(fewest, round(looks * self.unit) - waiting), most)

    def standings(self, state: MatchState) -> tuple[StandingsRow, ...]:
        """Return the table of all games that count, including games after the verdict; a withdrawn entrant is last."""
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
        """Return the current state of the test, including games after the verdict.

        Return None if there is no test or no game.
        """
        if self.test is None or state.walk is None or not state.outcomes:
            return None
        walk, pairs = state.walk, state.pairs()
        for unit in state.ahead() if walk.verdict else ():
            walk = step(self.test, walk, unit)
        counts = pairs if pairs and any(pairs) else state.counts
        return MatchTest(self.test, state.counts, pairs, walk, statistics_of(counts), estimate(self.test, walk))

    def expected_games(self) -> dict[str, float] | None:
        """Return the expected number of games of the test if elo0, the middle, or elo1 is true (Wald 1947)."""
        if self.test is None:
            return None
        return {truth: self.unit * looks for truth, looks in expected_lengths(self.test, self.classes).items()}

    def _finished(self, state: MatchState, pairing: Pairing, outcome: Outcome) -> MatchState:
        number = state.number(pairing)
        if number in state.outcomes or number in state.late:
            raise ValueError(f"game {pairing.leg} of encounter {pairing.meeting} is already finished")
        if outcome is Outcome.VOID:
            return state
        if state.gone:
            return replace(state, late=state.late | {number})
        state = state.with_outcome(number, outcome.half_points(white=pairing.white == state.pair[0]))
        return state if state.is_decided else self._evaluated(state)

    def _voided(self, state: MatchState, pairing: Pairing) -> MatchState:
        """Void a game. If the test already evaluated it, the test is evaluated again from that game on.

        A game after the verdict is only removed from the counts.
        """
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
        state = self._evaluated(self._unseen(replace(state, looked=0)))
        if not decided and not (ended and self._stops):
            return state
        what = f"the decision ({was}) is withdrawn" if decided else "the match continues"
        return state.noted("reopened", f"{what}: a game of encounter {pairing.meeting} is void", was=was)

    def _unseen(self, state: MatchState) -> MatchState:
        none = (0,) * self.classes
        return replace(state, walk=Walk(none) if self.test else None, seen=none if self.error else (), known=False)

    def _evaluated(self, state: MatchState) -> MatchState:
        """Evaluate all complete units in scheduled order, until the match is decided."""
        before = state.looked
        while not state.is_decided and (unit := state.unit_outcome(state.looked)) is not None:
            state = self._with_unit(state, unit)
        if state.looked == before:
            return state
        if not state.is_decided:  # a decided match offers no new games
            state = state.shown()
        if not self._stops or not (state.is_decided or state.looked * self.unit == state.most):
            return state
        return self._ended(state)

    def _with_unit(self, state: MatchState, unit: int) -> MatchState:
        walk = step(self.test, state.walk, unit) if self.test and state.walk else None
        seen = tuple(count + (place == unit) for place, count in enumerate(state.seen))
        return replace(state, looked=state.looked + 1, walk=walk, seen=seen, known=self._is_known(seen))

    def _is_known(self, seen: tuple[int, ...]) -> bool:
        """Return whether the error is as small as requested, with and without half an outcome more of each kind.

        Without the additional outcomes, a few equal results would look certain (Jeffreys 1946). If there are many
        results, they have no effect.
        """
        if self.error is None or sum(seen) < FEW_GAMES:
            return False
        return all(is_error_at_most(self.error, counts) for counts in (seen, [count + HALF for count in seen]))

    def _ended(self, state: MatchState) -> MatchState:
        """Record a note of the decision, or of the end of all games without a decision."""
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
            raise ValueError(f"games must be {number} greater than {state.most}")
        if state.is_over:
            raise ValueError(f"the match is decided: {state.notes[-1].text}")
        text = f"{games} games instead of {state.most}"
        return replace(state, most=games).shown().noted("extend", text, games=games)
