"""A match of two: a number of games, or a sequential test (SPRT) that ends it as soon as it knows.

The test looks at encounters in the order in which they were scheduled, each once all before it are complete: a long
game makes the look wait, a short one never jumps the queue. In the order in which pairs end the short ones come
first, and where wins are shorter than losses (2:5 here) 16 slots turned 5 % of wrong H1 into 9 % for 0 against
40 Elo and 13 % for 0 against 100, in 600 simulated tests each; in this order it was 5 % and 3 %.
"""

from __future__ import annotations

from dataclasses import replace

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from enginetour.errors import InputRefused
from enginetour.formats.match_state import MatchState
from enginetour.model import (
    Entrant,
    Event,
    Extended,
    GameFinished,
    GameVoided,
    Note,
    Outcome,
    Pairing,
    Placed,
    Withdrawn,
)
from enginetour.ratings.matchtest import MatchTest
from enginetour.ratings.pentanomial import GAME_CLASSES, PAIR_CLASSES, statistics_of
from enginetour.ratings.samplenumber import assumed_chances, foretold, sample_number
from enginetour.ratings.sequential import ERROR, Model, Sprt, Walk, step
from enginetour.ratings.stopped import estimate

# Pairs of the assumed kind that count beside those seen when the length is guessed (our choice): after as many of
# its own a match is believed half.
ASSUMED_WEIGHT = 20


class SprtOptions(BaseModel):
    """A sequential test; refused as `Sprt` refuses it.

    `pairs`: it looks at pairs of games on one opening, which are not independent; false: at each game.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    elo0: float
    elo1: float
    alpha: float = ERROR
    beta: float = ERROR
    model: Model = "logistic"
    pairs: bool = True

    @model_validator(mode="after")
    def _testable(self) -> SprtOptions:
        self.test()
        return self

    def test(self) -> Sprt:
        """The test it describes."""
        return Sprt(self.elo0, self.elo1, self.model, self.alpha, self.beta)


class MatchOptions(BaseModel):
    """Settings of the match."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, validate_default=True)

    games_per_pairing: int = Field(
        default=2,
        ge=1,
        le=2,
        description="games on one opening: 2 (games is even) gives both the same colours, 1 takes turns",
    )
    games: int = Field(default=100, ge=1, description="games of the match; with sprt the most there can be")
    swap: bool = Field(default=True, description="colours change from game to game; false: the first has White in all")
    reverse: bool = Field(default=False, description="the second entrant begins with White")
    sprt: SprtOptions | None = Field(
        default=None,
        description="{ elo0 = 0, elo1 = 5, alpha = 0.05, beta = 0.05 }: stop once it is known whether the first "
        'entrant is elo1 or only elo0 ahead; model = "logistic", "normalized" (nElo) or "bayesian" (by games); '
        "pairs = false: by games, each opening's two too",
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
        if not isinstance(sprt, dict | SprtOptions | None):
            raise ValueError("write sprt = { elo0 = 0, elo1 = 5 }")
        return sprt


class Match:
    """Two entrants, the first of them the one in question; a decided match takes what is in the air, no more."""

    version = 1

    def __init__(self, options: MatchOptions) -> None:
        self.legs = options.games_per_pairing
        self.games = options.games
        self.swap, self.reverse = options.swap, options.reverse
        self.test = options.sprt.test() if options.sprt else None
        by_pairs = options.sprt is None or (options.sprt.pairs and options.sprt.model != "bayesian")  # it knows none
        self.unit = self.legs if by_pairs else 1
        self.classes = PAIR_CLASSES if self.unit == 2 else GAME_CLASSES

    def start(self, entrants: tuple[Entrant, ...]) -> MatchState:
        """The state before the first game. InputRefused: not two entrants."""
        names = tuple(entrant.name for entrant in entrants)
        if len(names) != 2 or names[0] == names[1]:
            found = f"found {len(names)}: {', '.join(names)}"
            step = 'leave two, or choose system = "gauntlet"'
            raise InputRefused(f"a match is between two entrants, {found}", place="entrants", step=step)
        first, second = names
        walk = Walk((0,) * self.classes) if self.test else None
        state = MatchState(
            (first, second), self.legs, self.unit, self.games, walk, swap=self.swap, reverse=self.reverse
        )
        state = state.shown()
        text = f"{first} against {second}, {'at most ' if self.test else ''}{self.games} games"
        return state.noted("schedule", text, entrants=[first, second], games=self.games)

    def offers(self, state: MatchState) -> tuple[Pairing, ...]:
        """The earliest games still to be played; none once a verdict has fallen or one of the two has left."""
        return () if state.is_over else tuple(state.pairing(number) for number in state.open())

    def ahead(self, _: MatchState) -> tuple[Pairing, ...]:
        """None: the window reaches as far as anybody needs."""
        return ()

    def step(self, state: MatchState, event: Event) -> MatchState:
        """The state after one event; ValueError: it cannot have happened here."""
        match event:
            case GameFinished(pairing, outcome):
                return self._finished(state, pairing, outcome)
            case GameVoided(pairing, _):
                return self._voided(state, pairing)
            case Withdrawn(name):
                if name not in state.pair:
                    raise ValueError(f"{name} is not in this match")
                if name in state.gone:
                    raise ValueError(f"{name} has withdrawn already")
                broken = ", the match is broken off" if self.offers(state) else ""
                state = replace(state, gone=(*state.gone, name))
                return state.noted("withdraw", f"{name} withdraws{broken}", engine=name)
            case Extended(grown):
                return self._extended(state, dict(grown))
            case _:
                raise ValueError("a match stays between the two that began it: withdraw one, then run --new")

    def remaining(self, state: MatchState) -> tuple[int, int]:
        """With a test at least what the next look waits for; without one known exactly."""
        left = 0 if state.is_over else state.most - len(state.outcomes)
        if self.test is None or not left:
            return left, left
        return sum(number not in state.outcomes for number in state.games_of(state.looked)), left

    def likely(self, state: MatchState) -> int:
        """The test's average length from here, if what has been seen is true; some assumed pairs steady it at first."""
        fewest, most = self.remaining(state)
        if self.test is None or state.walk is None or not most:
            return most
        middle = (self.test.elo0 + self.test.elo1) / 2
        assumed = self.test.likeliest(assumed_chances(len(state.walk.counts)), middle)
        seen = [count + ASSUMED_WEIGHT * chance for count, chance in zip(state.walk.counts, assumed, strict=True)]
        chances = [count / sum(seen) for count in seen]
        looks = sample_number(self.test, chances, state.walk.llr)
        waiting = sum(number in state.outcomes for number in range(state.looked * self.unit, state.reach))
        return min(max(fewest, round(looks * self.unit) - waiting), most)

    def standings(self, state: MatchState) -> tuple[Placed, ...]:
        """Points of all games that count, those played beyond the verdict too; who withdrew stands last."""
        losses, draws, wins = state.counts
        first, second = state.pair
        lines = [(2 * wins + draws, first), (2 * losses + draws, second)]
        lines.sort(key=lambda line: (line[1] in state.gone, -line[0]))
        best, placed = lines[0][0], []
        for points, name in lines:
            out = name in state.gone
            rank = None if out else 1 if points == best else 2
            placed.append(Placed(rank, name, points, sum(state.counts), "withdrawn" if out else ""))
        return tuple(placed)

    def notes(self, state: MatchState) -> tuple[Note, ...]:
        """Kinds: schedule, verdict, reopened, undecided, withdraw, extend."""
        return state.notes

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
        return {truth: self.unit * looks for truth, looks in foretold(self.test, self.classes).items()}

    def _finished(self, state: MatchState, pairing: Pairing, outcome: Outcome) -> MatchState:
        number = state.number(pairing)
        if number in state.outcomes or number in state.late:
            raise ValueError(f"game {pairing.leg} of encounter {pairing.meeting} is finished already")
        if outcome is Outcome.VOID:
            return state
        if state.gone:
            return replace(state, late=state.late | {number})
        state = state.with_outcome(number, outcome.half_points(white=pairing.white == state.pair[0]))
        return state if state.verdict else self._walked(state)

    def _voided(self, state: MatchState, pairing: Pairing) -> MatchState:
        """A game that was looked at takes the walk back to before it; one beyond the verdict only leaves the counts."""
        number = state.number(pairing)
        if number in state.late:
            return replace(state, late=state.late - {number})
        if number not in state.outcomes:
            raise ValueError(f"game {pairing.leg} of encounter {pairing.meeting} is not a finished game")
        verdict, ended = state.verdict, state.looked * self.unit == state.most
        state = state.without(number)
        if number // self.unit >= state.looked:
            return state
        state = self._walked(replace(state, looked=0, walk=Walk((0,) * self.classes) if self.test else None))
        if not verdict and not (ended and self.test):
            return state
        what = f"{verdict} is taken back" if verdict else "the match goes on"
        return state.noted("reopened", f"{what}: a game of encounter {pairing.meeting} is void", was=verdict)

    def _walked(self, state: MatchState) -> MatchState:
        """Look at every unit that is complete and has nothing missing before it, until the verdict."""
        looked, walk = state.looked, state.walk
        while not (walk and walk.verdict) and (unit := state.unit_outcome(looked)) is not None:
            looked += 1
            if self.test and walk:
                walk = step(self.test, walk, unit)
        if looked == state.looked:
            return state
        state = replace(state, looked=looked, walk=walk)
        if not state.verdict:  # after a verdict nothing comes on offer that was not there before
            state = state.shown()
        if walk is None or self.test is None or not (walk.verdict or looked * self.unit == state.most):
            return state
        each, ratio = "pairs" if self.unit == 2 else "games", round(walk.llr, 3) or 0.0
        figures: dict[str, object] = {"after": looked, "counts": list(walk.counts), "llr": ratio}
        counts = "-".join(map(str, walk.counts))
        if not walk.verdict:
            text = f"no verdict after all {looked} {each} ({counts}), LLR {ratio:.3f}"
            return state.noted("undecided", text, **figures)
        meaning = self.test.meaning(walk.verdict, state.pair[0])
        text = f"{walk.verdict} after {looked} {each} ({counts}), LLR {ratio:.3f}: {meaning}"
        return state.noted("verdict", text, verdict=walk.verdict, **figures)

    def _extended(self, state: MatchState, grown: dict[str, int]) -> MatchState:
        games = grown.pop("games", state.most)
        if grown or games <= state.most or games % self.legs:
            number = "an even number" if self.legs == 2 else "a number"
            raise ValueError(f"only {number} of games above {state.most} can be added")
        if state.is_over:
            raise ValueError(f"the match is decided: {state.notes[-1].text}")
        text = f"{games} games instead of {state.most}"
        return replace(state, most=games).shown().noted("extend", text, games=games)
