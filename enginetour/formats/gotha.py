"""Pairing systems by the Gotha criteria, for Swiss and McMahon.

A system defines the scores, the groups and the criteria; this module does the rest.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, model_validator
from pydantic import Field as Setting

from enginetour.formats.base import ForbidFamily, Strict
from enginetour.formats.pairing import criteria, draw, standings
from enginetour.formats.pairing.criteria import (
    Criterion,
    Flags,
    Ints,
    Lineup,
    PairRandom,
    Span,
    Value,
    lineup_of,
    random_by_names,
    random_by_seed,
    same_family,
    stones,
    weigh,
)
from enginetour.formats.pairing.draw import (
    FloatPosition,
    FloatRule,
    FloatSuitability,
    Seeding,
    gotha_bye,
    last_bye,
    seeding,
)
from enginetour.formats.pairing.field import CERTIFIED, Dice, Field, Paired
from enginetour.formats.pairing.mcmahon import Starts
from enginetour.formats.pairing.tiebreaks import PlacementTerms
from enginetour.formats.rounds import PairingSystem, Reason, WeightedRound
from enginetour.formats.starts import BandOptions

FLOAT_RULES = (
    "Which entrants float. position: by float_down and float_up; sos-even: highest SOS down, lowest up; godraw: down "
    "after a loss, up after a float down and a win; information: entrants with the most wins float up, to opponents "
    "100 to 300 points above the strongest opponent they have beaten; compensate: only floats that undo earlier "
    "floats; fide: the bottom of a group floats down and the top floats up, considering the floats of two rounds."
)


class Handicap(BaseModel):
    """Handicap in bands that the stronger entrant gives. Source: OpenGotha 3.51."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, validate_default=True)

    correction: int = Setting(
        default=1, ge=0, le=50, description="Number of bands that are subtracted from the difference in bands."
    )
    ceiling: int = Setting(default=9, ge=1, le=50, description="Largest handicap, in bands.")
    threshold: int | None = Setting(
        default=None, description="Band from which no entrant gives a handicap. Default: none."
    )


HandicapByScore = Annotated[
    Handicap | None,
    Setting(
        description="Handicap in bands by McMahon score: a table with correction (in bands, default 1), ceiling (in "
        "bands, default 9) and threshold (a band, default none). Default: no handicap."
    ),
]


class GothaOptions(BandOptions):
    """Settings of all systems of the Gotha type."""

    bye: Literal["gotha", "thesis"] = Setting(
        default="gotha",
        description="Who gets the bye, among the entrants with the fewest byes. gotha: the entrant with the smallest "
        "sum of its band and twice its McMahon score; thesis: the last in the standings (Vuorinen 2010).",
    )
    random: int = Setting(
        default=0, ge=0, le=10**9, description="Weight of the random choice among equal pairs, in weight units (Gotha)."
    )
    chance: Literal["seed", "names"] = Setting(
        default="seed",
        description="Source of random numbers: the seed of the tournament, or the names of a pair as in OpenGotha 3.51,"
        " for comparison with its tournaments.",
    )
    renumber: bool = Setting(
        default=False,
        description="Before pairing inside groups, number the places in each group again, without floats and the bye "
        "(Vuorinen 2010); Gotha does not.",
    )
    forfeit_counts_as_met: bool = Setting(
        default=True, description="Do not pair two entrants again after a forfeit, as in Gotha."
    )
    absence_in_sos: bool = Setting(
        default=False, description="Count an absence as half a win in the SOS of opponents; Gotha does not."
    )
    forbid_family: ForbidFamily = False
    strict: Strict = False


@dataclass(frozen=True, slots=True, eq=False)
class PairingContext:
    """Data of a round before it is paired: scores, groups, and the terms of the placement."""

    points: tuple[tuple[int, ...], ...]  # scores that define the groups, in the form of `Field.points`
    span: Span
    starts: Starts
    mms: tuple[int, ...]  # current McMahon scores, in points
    strength: tuple[int, ...]  # current strength in bands, for the handicap
    terms: PlacementTerms


@dataclass(frozen=True, slots=True, eq=False)
class CriteriaInput:
    """Data of a round for the criteria; `stones` is None without a handicap."""

    field: Field
    context: PairingContext
    lineup: Lineup
    meetings: Ints
    chance: PairRandom
    strength: Ints
    stones: Value | None

    @property
    def met(self) -> Flags:
        """Return a matrix over the lineup that is true for pairs that have met."""
        return self.meetings > 0


class Gotha(PairingSystem):
    """Pairing system in which each round has the maximum weight; subclasses define the scores and the criteria."""

    name: str
    options: Any
    unplayed = "start"
    memory: int | None = None  # number of recent rounds in which floats count, or None for all rounds

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self.version = type(self).version + (options.chance == "names")  # version 1 drew colors from the seed

    @abstractmethod
    def context(self, field: Field) -> PairingContext:
        """Return the scores and groups of a round."""

    @abstractmethod
    def criteria(self, inputs: CriteriaInput) -> tuple[Criterion, ...]:
        """Return the criteria whose values add up to the weight of a pair."""

    @property
    def given(self) -> Handicap | None:
        """Handicap by score that stronger entrants give, if the settings have one."""
        found = getattr(self.options, "handicap", None)
        return found if isinstance(found, Handicap) else None

    def by_rating(self, _field: Field) -> bool:
        """Return whether the rating is the last key of the order inside groups."""
        return False

    def pair(self, field: Field) -> Paired:
        """Return the heaviest round without a rematch. Raises Unpairable only if `strict` is set."""
        context = self.context(field)
        byes = self._byes(field, context)
        inputs = self._inputs(field, context)
        if self.options.renumber:
            renumbered, _, apart = self._settled(inputs, byes)
            pairs, remarks = self._heaviest(renumbered, byes, apart)
        else:
            pairs, remarks = self._heaviest(inputs, byes)
        boards = draw.assign_colors(
            field,
            inputs.lineup,
            pairs,
            self._dice(field, "colours"),
            inputs.stones,
            inputs.strength,
            named=inputs.chance if self.options.chance == "names" else None,
        )
        return Paired(boards, byes, draw.IN_TWO_STEPS if self.options.renumber else CERTIFIED, remarks)

    def explain(self, field: Field, one: int, other: int) -> tuple[Reason, ...]:
        """Return the values of all criteria for a pair of present members; they add up to its weight.

        With `renumber`, the values are those for the renumbered groups, unless one of the two floats or has the bye.
        """
        context = self.context(field)
        inputs = self._inputs(field, context)
        number = {member: at for at, member in enumerate(inputs.lineup.member.tolist())}
        a, b = np.array([number[one]]), np.array([number[other]])
        if self.options.renumber:
            renumbered, out, _ = self._settled(inputs, self._byes(field, context))
            inputs = inputs if (out[a] | out[b]).any() else renumbered
        return tuple(
            Reason(criterion.name, int(criterion.value(a, b)[0]), criterion.most, criterion.source)
            for criterion in self.criteria(inputs)
        )

    def rules(self, field: Field, paired: Paired, one: int, other: int) -> tuple[str, ...]:
        """Explain byes and, with `renumber`, floats."""
        texts = super().rules(field, paired, one, other)
        if not self.options.renumber:
            return texts
        lineup = self.lineup(field)
        group = dict(zip(lineup.member.tolist(), lineup.group.tolist(), strict=True))
        mates = {at: sum(board.pair) - at for board in paired.boards for at in board.pair}
        names = [member.name for member in field.members]
        floats = [(at, mates[at]) for at in (one, other) if at in mates and group[at] != group[mates[at]]]
        return (
            *texts,
            *(
                f"{names[at]} floats to {names[mate]}: this is decided before the groups are paired"
                for at, mate in floats
            ),
        )

    def weighed(self, field: Field) -> WeightedRound | None:
        """Return the weights and the forbidden pairs of the next round, without the member that has the bye.

        Pairs of the same family are forbidden less than rematches. Return None with `renumber`, because the weights
        inside the groups depend on the floats.
        """
        if self.options.renumber:
            return None
        context = self.context(field)
        inputs = self._inputs(field, context)
        stay = ~np.isin(inputs.lineup.member, self._byes(field, context))
        bars = draw.bar_levels(_part(inputs.meetings, stay), self._kin(inputs, stay))
        return WeightedRound(tuple(inputs.lineup.member[stay].tolist()), self._weights(inputs, stay), bars)

    def terms(self, field: Field) -> PlacementTerms:
        """Return the terms of the table with the starts, bands and categories of this field."""
        return self.context(field).terms

    def lineup(self, field: Field) -> Lineup:
        """Return group, place, floats and balance of all present members, including the one with the bye."""
        return self._inputs(field, self.context(field)).lineup

    def ranked(self, field: Field, context: PairingContext, *, by_rating: bool) -> list[int]:
        """Return the present members, best first, by the codes of the table, then by entry order.

        With `by_rating`, the rating comes before the entry order.
        """
        found: list[int] = []
        for _, tied in standings.order_by_codes(field, self.order, field.present, context.terms):
            found += sorted(tied, key=lambda at: -_known(field, at)) if by_rating else tied
        return found

    def _byes(self, field: Field, context: PairingContext) -> tuple[int, ...]:
        if len(field.present) % 2 == 0:
            return ()
        if self.options.bye == "thesis":
            return (last_bye(field, self.ranked(field, context, by_rating=False)),)
        return (gotha_bye(field, context.starts.bands, context.mms),)

    def _heaviest(
        self, inputs: CriteriaInput, byes: tuple[int, ...], apart: Flags | None = None
    ) -> tuple[list[tuple[int, int]], tuple[str, ...]]:
        stay = ~np.isin(inputs.lineup.member, byes)
        return draw.pair_heaviest(
            inputs.field,
            inputs.lineup.member[stay],
            self._weights(inputs, stay),
            _part(inputs.meetings, stay),
            self._kin(inputs, stay),
            strict=self.options.strict,
            apart=None if apart is None else _part(apart, stay),
        )

    def _settled(self, inputs: CriteriaInput, byes: tuple[int, ...]) -> tuple[CriteriaInput, Flags, Flags]:
        """Keep the floats of the heaviest round and number the places inside the groups again.

        Return the new input, the members that float or have the bye, and the pairs that are no longer possible.
        """
        lineup = inputs.lineup
        pairs, _ = self._heaviest(inputs, byes)
        floating, apart = draw.fix_floats(pairs, lineup.member, lineup.group)
        out = floating | np.isin(lineup.member, byes)
        return replace(inputs, lineup=lineup.renumbered(out)), out, apart

    def _weights(self, inputs: CriteriaInput, stay: Flags) -> Ints:
        """Compute the weights with the bye included, so that the weight of a pair does not depend on the bye."""
        return _part(weigh(self.criteria(inputs), len(inputs.lineup)), stay)

    def _kin(self, inputs: CriteriaInput, stay: Flags) -> Flags | None:
        return _part(same_family(inputs.field, inputs.lineup), stay) if self.options.forbid_family else None

    def _inputs(self, field: Field, context: PairingContext) -> CriteriaInput:
        order = self.ranked(field, context, by_rating=self.by_rating(field))
        categories = context.terms.categories
        lineup = lineup_of(field, context.points, context.span, order, categories=categories, recent=self.memory)
        given = self.given
        limit = given.threshold if given is not None else None
        strength = np.array(context.strength, dtype=np.int64)[lineup.member]
        strength = strength if limit is None else np.minimum(strength, limit)
        if self.options.chance == "names":
            chance = random_by_names([member.drawn or f"{member.name}A" for member in field.members])
        else:
            chance = random_by_seed(self._dice(field, "pairs"), len(field.members))
        return CriteriaInput(
            field,
            context,
            lineup,
            draw.last_meetings(field, lineup, forfeits=self.options.forfeit_counts_as_met),
            chance,
            strength,
            None if given is None else stones(strength, given.correction, given.ceiling),
        )

    def _dice(self, field: Field, purpose: str) -> Dice:
        return Dice(field.seed, self.name, field.number, purpose)


def _part(matrix: NDArray[Any], stay: Flags) -> NDArray[Any]:
    return matrix if stay.all() else matrix[np.ix_(stay, stay)]


def _known(field: Field, at: int) -> float:
    rating = field.members[at].rating
    return float("-inf") if rating is None else rating


# limited so that the sum of seven weights fits into the 64-bit integers of the matching
Weight = Annotated[int, Setting(ge=0, le=10**14)]

FamilyWeight = Annotated[
    Weight, Setting(description="Weight of different families and origins, in weight units; 0 ignores them.")
]
EarlySeeding = Annotated[
    Seeding,
    Setting(
        description="Ideal pairs inside a group in the first seeding_rounds rounds: fold (the first meets the last), "
        "slip (the first of the upper half meets the first of the lower half), split-random (a random one of the other"
        " half), double-fold (fold inside each half), adjacent (neighbors) or random."
    ),
]
LateSeeding = Annotated[Seeding, Setting(description="Ideal pairs inside a group after seeding_rounds rounds.")]


class CriteriaOptions(GothaOptions):
    """Settings of the systems with current criteria; if nothing else is noted, defaults are those of OpenGotha 3.51."""

    score_weight: Weight = Setting(
        default=10**11,
        description="Weight of similar scores, in weight units; small differences cost little (concave curve).",
    )
    half_groups: bool = Setting(
        default=False,
        description="Put scores with half a win into separate groups; Gotha puts 2 and 2 1/2 wins into the same group.",
    )
    float_weight: Weight = Setting(
        default=2 * 10**7,
        description="Weight of one step of the float criterion, in weight units; a float that does not repeat an "
        "earlier float counts two steps.",
    )
    compensate: bool = Setting(default=True, description="Prefer floats that undo earlier floats.")
    float_rule: FloatRule = Setting(default="position", description=FLOAT_RULES)
    float_down: FloatPosition = Setting(
        default="middle",
        description="Position, inside its group, of the entrant that floats down; only used with float_rule = "
        "position.",
    )
    float_up: FloatPosition = Setting(
        default="middle",
        description="Position, inside its group, of the entrant that floats up; only used with float_rule = position.",
    )
    seeding_weight: Weight = Setting(
        default=5 * 10**6, description="Weight of the seeding inside a group, in weight units."
    )
    seeding: EarlySeeding = "slip"
    seeding_later: LateSeeding = "slip"
    seeding_rounds: int = Setting(
        default=2, ge=0, le=1000, description="Number of rounds paired by seeding; later rounds use seeding_later."
    )
    color_weight: Weight = Setting(
        default=10**6,
        description="Weight of opposite color balances, in weight units; no effect if a match has both colors.",
    )
    family_weight: FamilyWeight = 0
    family_worth: float = Setting(
        default=3.0,
        ge=0,
        le=100,
        description="Score difference, in groups, that is accepted for an opponent of another family.",
    )
    origin_worth: float = Setting(
        default=1.0,
        ge=0,
        le=100,
        description="Score difference, in groups, that is accepted for an opponent of another origin.",
    )
    families: list[list[str]] = Setting(
        default=[], description="Groups of families that count as half related, for example [[A, B], [C, D]]."
    )

    @model_validator(mode="after")
    def _used(self) -> CriteriaOptions:
        if self.float_rule != "position" and (self.float_down, self.float_up) != ("middle", "middle"):
            raise ValueError(f'float_down and float_up need float_rule = "position" (found {self.float_rule})')
        if self.families and not self.family_weight:
            raise ValueError("families has no effect with family_weight = 0. Hint: set family_weight above 0")
        return self


class ByCriteria(Gotha):
    """Pairing system by the current criteria; subclasses add criteria for their type of groups."""

    sos_code = "SOSW"  # code by which the rule `sos-even` measures the strength of opponents

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self.memory = draw.MEMORY.get(options.float_rule)
        self.evens_sos = options.float_rule == "sos-even"

    def criteria(self, inputs: CriteriaInput) -> tuple[Criterion, ...]:
        """Return the criteria, beginning with the usually lowest weight."""
        options, lineup = self.options, inputs.lineup
        found = [criteria.base(), criteria.not_met(inputs.met)]
        if options.random:
            found.append(criteria.random(lineup, inputs.chance, options.random))
        if options.games_per_pairing == 1:
            found.append(criteria.colors(lineup, inputs.stones, options.color_weight))
        kind = options.seeding if inputs.field.number <= options.seeding_rounds else options.seeding_later
        found += [
            seeding(lineup, kind, inputs.chance, options.seeding_weight),
            draw.floats(lineup, self._suited(inputs), options.float_weight, compensate=options.compensate),
            criteria.score(lineup, options.score_weight),
        ]
        if options.family_weight:
            found.append(
                criteria.kinship(
                    inputs.field,
                    lineup,
                    options.family_weight,
                    family_worth=options.family_worth,
                    origin_worth=options.origin_worth,
                    groups=options.families,
                )
            )
        return tuple(found)

    def _suited(self, inputs: CriteriaInput) -> FloatSuitability:
        options, lineup = self.options, inputs.lineup
        unit: int = options.float_weight
        if options.float_rule == "position":
            return draw.by_position(lineup, options.float_down, options.float_up, unit)
        sos: Sequence[int] = ()
        if options.float_rule == "sos-even":
            values = standings.code_values(inputs.field, (self.sos_code,), inputs.context.terms)[self.sos_code]
            sos = [values[at] for at in lineup.member.tolist()]
        return draw.by_rule(inputs.field, lineup, options.float_rule, sos, unit)

    def by_rating(self, field: Field) -> bool:
        """Return whether the rating orders a group: only in the first rounds, which use `seeding`."""
        return field.number <= int(self.options.seeding_rounds)
