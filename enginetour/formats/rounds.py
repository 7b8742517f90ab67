"""Format that plays the rounds of a pairing system.

A round is paired when the last game of the round before is finished, so it does not depend on the order in which games
ended. An entrant that withdraws is absent from the next round on; its opponents win its unplayed games of this round.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as made
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import BaseModel, model_validator
from pydantic import Field as Setting

from enginetour.formats.base import (
    BY_RATING,
    FEWEST,
    ColorOptions,
    Format,
    FormatState,
    GamesOfMatch,
    RatingHandicap,
    RequestedByes,
    RoundsByName,
    check_present,
    refuse_twice,
    without_odds_colors,
)
from enginetour.formats.pairing import standings, tiebreaks
from enginetour.formats.pairing.field import BLACK, NEITHER, WHITE, Board, Field, Kind, Member, Paired, Turn, Unpairable
from enginetour.formats.pairing.persistent import Map
from enginetour.formats.pairing.schedule import GameSchedule, fair_count, games_per_opening, match_games, window_size
from enginetour.formats.pairing.standings import Codes
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

if TYPE_CHECKING:
    from enginetour.formats.pairing.blossom import Numbers


_NOBODY = Paired(())


@dataclass(frozen=True, slots=True)
class RoundsState(FormatState):
    """State of a tournament in rounds: finished rounds in `field`, the boards of the current round, withdrawals."""

    field: Field
    gone: frozenset[int] = frozenset()
    half: tuple[int, ...] = ()  # entrants with a half-point bye in this round
    paired: Paired = _NOBODY
    games: tuple[tuple[Pairing, ...], ...] = ()  # games of each board
    schedule: GameSchedule = made(default_factory=GameSchedule)
    encounters: int = 0
    met: Map[tuple[int, int], int] = made(default_factory=Map)  # number of encounters so far, by pair of places
    running: bool = False
    over: bool = False  # no further round can be paired

    def place(self, name: str) -> int:
        """Return the place of an entrant; raise ValueError if it is unknown or has withdrawn."""
        names = [member.name for member in self.field.members]
        check_present(name, names, {names[place] for place in self.gone})
        return names.index(name)

    @property
    def present(self) -> tuple[int, ...]:
        """Places of the entrants that have not withdrawn."""
        return tuple(place for place in range(len(self.field.members)) if place not in self.gone)

    def result(self, number: int) -> tuple[int, int, int]:
        """Return the half points of White and Black of a board, and its number of finished games.

        A game that was canceled by a withdrawal is a win for the other entrant.
        """
        board = self.paired.boards[number]
        first = self.field.members[board.white].name
        white = black = played = 0
        for game in self.games[number]:
            outcome = self.schedule.played.get(game.key)
            if outcome is not None:
                mine = outcome.half_points(white=game.white == first)
                white, black, played = white + mine, black + 2 - mine, played + 1
            elif game.key in self.schedule.off:
                stayed = [place not in self.gone for place in (board.white, board.black)]
                white, black = white + 2 * (stayed == [True, False]), black + 2 * (stayed == [False, True])
        return white, black, played


_FEW_NAMES = 5  # entrants of a starting group that are listed by name


@dataclass(frozen=True, slots=True)
class StartingGroup:
    """Entrants that start round 1 with the same points: the name of the group, these points, and their places.

    The points count for the pairing; virtual points do not count in the table.
    """

    name: str
    points: float
    places: tuple[int, ...]

    def text(self, members: Sequence[Member]) -> str:
        """Format ``start 1 (band 3): Fruit, Toga``; of a large group, only the strongest and the weakest are named."""
        there = sorted((members[place] for place in self.places), key=lambda one: -(one.rating or 0.0))
        names = [one.name for one in there]
        ratings = [one.rating for one in there if one.rating is not None]
        if len(names) <= _FEW_NAMES:
            return f"{self.name}: {', '.join(names)}"
        rated = f", ratings {max(ratings):g} to {min(ratings):g}" if ratings else ""
        return f"{self.name}: {names[0]} to {names[-1]} ({len(names)} entrants{rated})"


@dataclass(frozen=True, slots=True)
class Reason:
    """One criterion of one pair: its value and the largest possible value, in units of the weight."""

    name: str
    worth: int
    most: int
    source: str


@dataclass(frozen=True, slots=True, eq=False)
class WeightedRound:
    """The weights of all pairs; the round is the matching with the largest sum of weights.

    `weights[i, j]` is the weight of the pair members[i] and members[j]; the number of members is even. `barred` is 0
    for allowed pairs; it is larger for pairs that are less acceptable, as in `matching.relaxed_matching`.
    """

    members: tuple[int, ...]
    weights: Numbers
    barred: Numbers


class RoundsOptions(ColorOptions):
    """Settings of all systems that pair in rounds."""

    colors_by = "the pairing system"

    rounds: int = Setting(default=5, ge=1, le=1000, description="Number of rounds.")
    games_per_pairing: GamesOfMatch = 1
    scoring: Literal["games", "match"] = Setting(
        default="games", description="games: the points of all games count; match: a match counts 1, 1/2 or 0 points."
    )
    placement: Codes = Setting(
        default=(),
        description="Order of the table: up to six codes such as MMS, BH-C1, DE. Default: the order of the system.",
    )
    unplayed: Literal["preset", "own", "start", "zero", "fide", "fide-2023", "fide-2009"] = Setting(
        default="preset",
        description="How a round without a game counts in tie-breaks that add up opponents' scores. own: own score; "
        "start: own starting score; zero: nothing; fide, fide-2023: FIDE C.07 section 16 of 2026 or 2023; fide-2009: "
        "FIDE's virtual opponent of 2009; preset: the rule of the system.",
    )
    handicap: RatingHandicap | None = Setting(default=None, description=BY_RATING)
    bye_points: float | None = Setting(
        default=None,
        ge=0,
        description="Points for a bye: a multiple of 0.5, from 0 to the points of a won match. Default: the points of "
        "a won match.",
    )
    absent: RoundsByName = Setting(
        default={},
        description='Rounds that entrants miss, by name, for example { "Wren 3" = [1, 2] }; the entrants are not '
        "paired in these rounds.",
    )
    half_bye: RoundsByName = Setting(
        default={},
        description="Rounds that entrants miss at their request, by name; an entrant gets half of a match's points for "
        "each of these rounds (FIDE C.04, H in TRF).",
    )

    @classmethod
    def most_rounds(cls, entrants: int) -> int:
        """Return the largest number of rounds without a rematch; with an odd number of entrants each has one bye."""
        return max(1, entrants - 1 + entrants % 2)

    @model_validator(mode="after")
    def _bye_worth(self) -> Self:
        win = self.won_match
        if self.bye_points is not None and (2 * self.bye_points % 1 or 2 * self.bye_points > win):
            raise ValueError(
                f"bye_points must be between 0 and {win / 2:g} in steps of 0.5 (found {self.bye_points:g})"
            )
        return self

    @property
    def won_match(self) -> int:
        """Half points of a won match."""
        return 2 * (self.games_per_pairing if self.scoring == "games" else 1)


_BYE_RULES = {
    "gotha": "the smallest value of band + 2 * McMahon score + 1000 * byes; among equal entrants, the last (Gotha)",
    "thesis": "the last in order among the entrants with the fewest byes (Vuorinen 2010)",
    "gopair": "an entrant marked BYE, otherwise a random entrant of the middle 80 % that has lost a game and has not "
    "missed a round (gopair manual 2005)",
}


class PairingSystem(ABC):
    """System that pairs the next round and orders the table; subclasses implement `pair` and can override the rest."""

    version = 1
    codes: tuple[str, ...] = ("PTS",)
    unplayed: tiebreaks.Unplayed = "zero"
    evens_sos = False  # whether the pairing makes the SOS of all entrants similar
    late_entry = True  # whether entrants can join during the tournament
    extensible = True  # whether rounds can be added
    bounded = True  # whether more rounds than opponents are an error
    score = "points"  # name of the values of `scores`
    # which entrant gets the bye if no setting decides: a key of _BYE_RULES, or a description
    bye = "thesis"

    def __init__(self, options: Any) -> None:
        self.options = options

    @classmethod
    def own_decisions(cls, model: type[BaseModel]) -> dict[str, str]:
        """Return the values that the system uses for settings of `model` without a fixed default, by setting."""
        if "placement" not in model.model_fields:
            return {}
        found = {"placement": ", ".join(cls.codes), "unplayed": cls.unplayed}
        who = model.model_fields.get("bye")
        if who is None or not isinstance(who.default, str):
            found["bye"] = _BYE_RULES.get(cls.bye, cls.bye)
        return found

    def check(self, members: tuple[Member, ...]) -> None:
        """Raise ValueError if the field cannot be paired; here, if a `bounded` system has too many rounds."""
        most = RoundsOptions.most_rounds(len(members))
        if self.bounded and self.options.rounds > most:
            raise ValueError(
                f"rounds must be at most {most} with {len(members)} entrants, to avoid rematches "
                f"(found {self.options.rounds}). Hint: roundrobin with cycles allows more games"
            )

    def rounds(self, _members: tuple[Member, ...]) -> int:
        """Return the largest number of rounds; the tournament ends earlier if a round has no boards."""
        return int(self.options.rounds)

    @abstractmethod
    def pair(self, field: Field) -> Paired:
        """Pair the next round of the present entrants; raise Unpairable if no legal round exists."""

    def paired(self, field: Field) -> Paired:
        """Pair the next round with the handicaps of the settings.

        Colors of handicap games do not count, and the engine that gives a handicap has White.
        """
        handicap = getattr(self.options, "handicap", None)
        if handicap is None:
            return self.pair(field)
        found = self.pair(without_odds_colors(field))
        return handicap.seated(field, found) if isinstance(handicap, RatingHandicap) else found

    def alone(self, field: Field) -> Paired:
        """Return the round for a field in which at most one entrant is present: this entrant has a bye."""
        return Paired((), field.present)

    def explain(self, _field: Field, _one: int, _other: int) -> tuple[Reason, ...]:
        """Return the value of each criterion for a pair; the sum of the values is the weight of the pair.

        Return an empty tuple if the system pairs by a fixed rule.
        """
        return ()

    def rules(self, field: Field, paired: Paired, one: int, other: int) -> tuple[str, ...]:
        """Return sentences about rules, other than the criteria, that decided about two entrants; here, the bye."""
        chosen = getattr(self.options, "bye", self.bye)
        rule = chosen if isinstance(chosen, str) else self.bye
        return tuple(
            f"{field.members[place].name} has the bye: {_BYE_RULES.get(rule, rule)}"
            for place in (one, other)
            if place in paired.byes
        )

    def weighed(self, _field: Field) -> WeightedRound | None:
        """Return the weights of the next round without entrants that have a bye, or None if a fixed rule pairs."""
        return None

    @property
    def order(self) -> tuple[str, ...]:
        """The codes that order the table."""
        return self.options.placement or self.codes

    def chosen_unplayed(self) -> tiebreaks.Unplayed:
        """Return how rounds without a game count in tie-breaks that add up opponents' scores."""
        chosen: tiebreaks.Unplayed | Literal["preset"] = self.options.unplayed
        return self.unplayed if chosen == "preset" else chosen

    def terms(self, _field: Field) -> tiebreaks.PlacementTerms:
        """Return the values that the table needs in addition to the field, such as starting scores in subclasses."""
        return tiebreaks.PlacementTerms(unplayed=self.chosen_unplayed())

    def table(self, field: Field, members: tuple[int, ...]) -> tuple[StandingsRow, ...]:
        """Return the table of these members, ordered by the codes of `order`, with the best member first."""
        return standings.rank_by_codes(field, self.order, members, self.terms(field))

    def scores(self, field: Field) -> tuple[tuple[int, ...], ...]:
        """Return the scores that decide the pairing, before each round and now, in half points."""
        return field.points

    def starting_notes(self, _field: Field) -> tuple[tuple[str, str], ...]:
        """Return notes (kind, sentence) about facts that are known before round 1 but not in the settings."""
        return ()

    def starting_groups(self, field: Field) -> tuple[StartingGroup, ...]:
        """Return the groups in which the present entrants start round 1, best first; here, all start equal."""
        name = "order by rating" if self.order[:1] == ("RATING",) else "all start with 0 points"
        return (StartingGroup(name, 0.0, field.present),)

    def warnings(self) -> tuple[str, ...]:
        """Return warnings about settings that contradict each other, shown before round 1."""
        return standings.warnings(self.order, evens_sos=self.evens_sos)

    def rating_warnings(self, _errors: Sequence[float]) -> tuple[str, ...]:
        """Return warnings about ratings with these standard errors; here none, because ratings only set the order."""
        return ()

    def bye_points(self, field: Field) -> int:
        """Return the half points that a bye of this round gives."""
        chosen = getattr(self.options, "bye_points", None)
        return field.win if chosen is None else round(2 * chosen)

    def more(self, _field: Field, _board: Board, _points: tuple[int, int], _played: int) -> int:
        """Return the number of games to add to a match that must not end in a draw."""
        return 0

    def boards_ahead(self, field: Field, rounds_left: int) -> tuple[int, int]:
        """Return the smallest and the largest number of boards in `rounds_left` rounds.

        They are valid if no entrant joins or withdraws. With the setting `strict` the smallest number is 0, because
        such a tournament can end earlier.
        """
        boards = len(field.present) // 2 * rounds_left
        return 0 if getattr(self.options, "strict", False) else boards, boards

    def games_ahead(self, _boards: int) -> int:
        """Return the largest number of games that `more` can add on these boards."""
        return 0


class Rounds(Format[RoundsState]):
    """Format that plays the rounds of a pairing system.

    The notes of the format have the kinds end, warning, starts, round, withdraw, add, extend and stuck.
    """

    def __init__(self, system: PairingSystem, seed: int = 1) -> None:
        self.system = system
        self.options: RoundsOptions = system.options
        self.leave = RequestedByes(self.options.absent, self.options.half_bye)
        self.version = system.version
        self.seed = seed
        self.win = 2 * (self.options.games_per_pairing if self.options.scoring == "games" else 1)

    def start(self, entrants: tuple[Entrant, ...]) -> RoundsState:
        """Return the state in which round 1 is paired.

        Raise ValueError for a repeated name or a field that cannot be paired.
        """
        names = [entrant.name for entrant in entrants]
        refuse_twice(names, "entrant")
        members = tuple(map(_member, entrants))
        self.system.check(members)
        handicap = getattr(self.options, "handicap", None)
        if isinstance(handicap, RatingHandicap):
            handicap.check({entrant.name: entrant.rating for entrant in entrants})
        rounds = self.system.rounds(members)
        self.leave.check(names, rounds)
        state = RoundsState(Field(members, (), tuple(range(len(members))), rounds, self.win, self.seed))
        for warning in self.system.warnings():
            state = state.noted("warning", warning)
        there = self._there(members, state.present, 1)
        for kind, text in self.system.starting_notes(replace(state.field, present=there)):
            state = state.noted(kind, text)
        return self._settled(state)

    def offers(self, state: RoundsState) -> tuple[Pairing, ...]:
        """Return the unplayed games of the current round, board by board."""
        return state.schedule.open()

    def step(self, state: RoundsState, event: Event) -> RoundsState:
        """Return the state after one event; after the last game of a round the next round is paired."""
        match event:
            case GameFinished(pairing, outcome):
                wanted = state.schedule.counts(pairing)
                if outcome is Outcome.VOID:
                    return state
                state = replace(state, schedule=state.schedule.finished(pairing, outcome))
                return self._settled(state) if wanted else state
            case GameVoided(pairing, outcome):
                was = state.schedule.voidable(pairing)
                left = {state.field.members[place].name for place in state.gone}
                if was is None or not left.isdisjoint(pairing.pair):
                    return replace(state, schedule=state.schedule.annulled(pairing, outcome))
                return replace(state, schedule=state.schedule.reopened(pairing))
            case Withdrawn(name):
                return self._settled(self._left(state, name))
            case Added(entrant):
                return self._settled(self._joined(state, entrant))
            case Replaced(name, entrant):
                return self._settled(self._left(self._joined(state, entrant), name))
            case Extended(grown):
                return self._settled(self._extended(state, dict(grown)))

    def remaining(self, state: RoundsState) -> tuple[int, int]:
        """Return bounds of the number of remaining games; they are valid unless an entrant joins or withdraws."""
        left, each = state.schedule.left, self.options.games_per_pairing
        if not left or not state.running:
            return left, left
        there = replace(state.field, present=state.present)
        fewest, most = self._boards_ahead(there)
        open_boards = len(state.paired.boards)
        return left + fewest * each, left + most * each + self.system.games_ahead(open_boards + most)

    def _boards_ahead(self, field: Field) -> tuple[int, int]:
        """Return bounds of the number of boards after the current round, without entrants that requested a bye."""
        left = field.rounds - field.number
        if not self.leave:
            return self.system.boards_ahead(field, left)
        fewest = most = 0
        for number in range(field.number + 1, field.rounds + 1):
            passed = ((Turn(),) * len(field.members),) * (number - field.number - 1)
            there = self._there(field.members, field.present, number)
            bounds = self.system.boards_ahead(replace(field, history=(*field.history, *passed), present=there), 1)
            fewest, most = fewest + bounds[0], most + bounds[1]
        return fewest, most

    def _there(self, members: Sequence[Member], present: Iterable[int], number: int) -> tuple[int, ...]:
        """Return the entrants without a requested bye in this round."""
        return tuple(place for place in present if not self.leave.takes(members[place].name, number))

    def stage(self, state: RoundsState) -> tuple[int, int]:
        """Return the number of the current or last round, and of all rounds (in a knockout: the largest number)."""
        number = state.field.number - (not state.running)
        return number, number if state.over and not self.system.extensible else state.field.rounds

    def too_late(self, state: RoundsState) -> str:
        """Return the reason why an entrant that joins now would not play a game, or "" if it would play."""
        number, rounds = self.stage(state)
        return (
            f"the last round ({number} of {rounds}) is already paired"
            if number >= rounds and self.system.late_entry
            else ""
        )

    def so_far(self, state: RoundsState, *, by_match: bool | None = None) -> Field:
        """Return the field including the finished games of the current round.

        `by_match`: True counts points of matches, False counts points of games, None uses the setting `scoring`.
        """
        if not state.running:
            return state.field
        row = [Turn() for _ in state.field.members]
        for place in state.paired.byes:
            row[place] = Turn(Kind.BYE, points=self.system.bye_points(state.field))
        for place in state.half:
            row[place] = Turn(Kind.HALF_BYE, points=state.field.win // 2)
        colors = (NEITHER, NEITHER) if self.options.games_per_pairing > 1 else (WHITE, BLACK)
        for number, board in enumerate(state.paired.boards):
            white, black, played = state.result(number)
            if self.options.scoring == "match" if by_match is None else by_match:
                lead = (white > black) - (white < black)
                white, black = (1 + lead, 1 - lead) if white or black else (0, 0)
            kind = Kind.PLAYED if played or state.schedule.left else Kind.FORFEIT
            row[board.white] = Turn(kind, board.black, colors[0], white, board.handicap, played)
            row[board.black] = Turn(kind, board.white, colors[1], black, -board.handicap, played)
        return replace(state.field, history=(*state.field.history, tuple(row)))

    def standings(self, state: RoundsState) -> tuple[StandingsRow, ...]:
        """Return the table by the criteria of the system, including the finished games of the current round."""
        now = self.so_far(state)
        ranked = self.system.table(now, state.present)
        gone = [
            StandingsRow(None, now.members[m].name, now.scores[m], now.games(m), "withdrawn", unplayed=now.unplayed(m))
            for m in sorted(state.gone)
        ]
        return (*ranked, *gone)

    def _settled(self, state: RoundsState) -> RoundsState:
        """Close the current round and pair the next, if all games are finished and another round follows."""
        while not state.schedule.left and not state.over:
            if state.running:
                state = self._further(state)
            number = state.field.number + state.running
            if state.schedule.left or number > state.field.rounds or len(state.present) < FEWEST:
                return self._ended(state)
            if state.running:
                state = replace(state, field=self.so_far(state), running=False)
            there = self._there(state.field.members, state.present, number)
            half = tuple(m for m in state.present if self.leave.halves(state.field.members[m].name, number))
            state = self._paired(replace(state, field=replace(state.field, present=there), half=half))
        return state

    def _ended(self, state: RoundsState) -> RoundsState:
        """Keep the last round open, because a game that is voided later is played again; note the end of a knockout."""
        if state.schedule.left or not state.running or self.system.extensible:
            return state
        return _noted_end(state, self.system.pair(replace(self.so_far(state), present=state.present)))

    def _paired(self, state: RoundsState) -> RoundsState:
        number, there = state.field.number, state.field.present
        alone = len(there) < FEWEST  # all other entrants have requested byes
        try:
            paired = self.system.alone(state.field) if alone else self.system.paired(state.field)
        except Unpairable as error:
            text = f"round {number} cannot be paired: {error}"
            return replace(state, over=True, paired=_NOBODY, games=()).noted("stuck", text, round=number)
        if not paired.boards and not alone:
            return _noted_end(replace(state, over=True, paired=_NOBODY, games=()), paired)
        each, games = self.options.games_per_pairing, list[tuple[Pairing, ...]]()
        for board in paired.boards:
            state, match = _match(state, board, each)
            games.append(match)
        schedule = state.schedule.renewed((game for match in games for game in match), window_size(2 * each))
        state = replace(state, paired=paired, games=tuple(games), schedule=schedule, running=True)
        names = [member.name for member in state.field.members]
        pairs = [[names[board.white], names[board.black]] for board in paired.boards]
        byes = [names[place] for place in paired.byes]
        odds = [board.handicap for board in paired.boards]
        fields: dict[str, object] = {"odds": odds} if any(odds) else {}
        half = [names[place] for place in state.half]
        absent = [names[place] for place in state.present if place not in {*there, *state.half}]
        fields |= {key: who for key, who in (("half_byes", half), ("absent", absent)) if who}
        texts = [
            f"{' - '.join(pair)}{f' (odds {given})' * bool(given)}" for pair, given in zip(pairs, odds, strict=True)
        ]
        asides = [
            f"{word} {', '.join(who)}"
            for word, who in (("bye", byes), ("half-point bye", half), ("absent", absent))
            if who
        ]
        text = f"round {number}: " + "; ".join([", ".join(texts) or "no games", *asides, *paired.remarks])
        fields |= {"guarantee": paired.guarantee, "remarks": [*paired.remarks]}
        return state.noted("round", text, round=number, pairs=pairs, byes=byes, **fields)

    def _further(self, state: RoundsState) -> RoundsState:
        """Add games to matches that must not end in a draw.

        They are added in board order, so that the order in which games end has no effect.
        """
        games = list(state.games)
        for number, board in enumerate(state.paired.boards):
            if state.gone.isdisjoint(board.pair):
                count = self.system.more(state.field, board, state.result(number)[:2], len(games[number]))
                if fair_count(count):
                    state, added = _match(state, board, count)
                    games[number] += added
                    state = replace(state, schedule=state.schedule.extended(added))
        return replace(state, games=tuple(games))

    def _left(self, state: RoundsState, name: str) -> RoundsState:
        place = state.place(name)
        schedule, called_off = state.schedule.without(name)
        text = f"{name} withdraws" + (f"; its opponents win {len(called_off)} unplayed games" if called_off else "")
        state = replace(state, schedule=schedule, gone=state.gone | {place})
        return state.noted("withdraw", text, engine=name, called_off=len(called_off))

    def _joined(self, state: RoundsState, entrant: Entrant) -> RoundsState:
        if not self.system.late_entry:
            raise ValueError("entrants cannot join after round 1 is paired")
        if entrant.name in {member.name for member in state.field.members}:
            raise ValueError(f"{entrant.name} is already in this tournament")
        members = (*state.field.members, _member(entrant))
        history = tuple((*row, Turn()) for row in state.field.history)
        state = replace(state, field=replace(state.field, members=members, history=history), over=False)
        text = f"{entrant.name} joins from the next round on"
        return state.noted("add", text, engine=entrant.name)

    def _extended(self, state: RoundsState, grown: dict[str, int]) -> RoundsState:
        rounds = grown.pop("rounds", state.field.rounds)
        if not self.system.extensible:
            raise ValueError("rounds cannot be added: their number follows from the number of entrants")
        if grown or rounds <= state.field.rounds:
            raise ValueError(f"rounds must be greater than {state.field.rounds}")
        text = f"{rounds} rounds instead of {state.field.rounds}"
        state = replace(state, field=replace(state.field, rounds=rounds))
        return state.noted("extend", text, rounds=rounds)


def _member(entrant: Entrant) -> Member:
    return Member(entrant.name, entrant.rating, entrant.family, entrant.origin)


def _match(state: RoundsState, board: Board, count: int) -> tuple[RoundsState, tuple[Pairing, ...]]:
    """Return the state that counts the encounters of a board, and the games of the board."""
    names, earlier, more = state.field.members, state.met.get(board.pair, 0), count // games_per_opening(count)
    games = match_games(
        names[board.white].name,
        names[board.black].name,
        games=count,
        encounter=state.encounters + 1,
        number=state.field.number,
        earlier=earlier,
        handicap=board.handicap,
    )
    met = state.met.set(board.pair, earlier + more)
    return replace(state, encounters=state.encounters + more, met=met), tuple(games)


def _noted_end(state: RoundsState, after: Paired) -> RoundsState:
    """Add one note with the remarks of a system after its last round, unless the state already has this note."""
    text = "; ".join(after.remarks)
    return state if not text or state.notes[-1].text == text else state.noted("end", text)
