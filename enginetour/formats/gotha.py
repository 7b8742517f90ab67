"""The Gotha criteria as a pairing system, for Swiss and McMahon.

A system says what the scores are, how they make groups and which criteria weigh; the rest is here.
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
from enginetour.formats.pairing.field import Dice, Field, Paired
from enginetour.formats.pairing.mcmahon import Starts
from enginetour.formats.pairing.tiebreaks import PlacementTerms
from enginetour.formats.rounds import PairingSystem, Reason, WeightedRound
from enginetour.formats.starts import BandOptions


class Handicap(BaseModel):
    """When and how much the stronger gives, in bands. Source: OpenGotha 3.51."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, validate_default=True)

    correction: int = Setting(default=1, ge=0, le=50, description="bands that are not given")
    ceiling: int = Setting(default=9, ge=1, le=50, description="most bands given")
    threshold: int | None = Setting(default=None, description="band from which on nobody gives any; none by default")


class GothaOptions(BandOptions):
    """Settings of every system of the Gotha kind."""

    bye: Literal["gotha", "thesis"] = Setting(
        default="gotha",
        description="who rests in an odd field, fewest byes first. gotha: smallest band + twice the McMahon score; "
        "thesis: the last of the standings (Vuorinen 2010)",
    )
    random: int = Setting(default=0, ge=0, le=10**9, description="weight of chance among equals (Gotha)")
    chance: Literal["seed", "names"] = Setting(
        default="seed",
        description="where random numbers come from: the tournament's seed, or the two names as in OpenGotha 3.51, "
        "to compare with its tournaments",
    )
    renumber: bool = Setting(
        default=False,
        description="whether floats and whoever rests are taken out and places counted anew before groups are paired "
        "inside (Vuorinen 2010); Gotha: no, places are those of all present",
    )
    forfeit_counts_as_met: bool = Setting(
        default=True, description="whether a pair whose game was not played may not be paired again (Gotha: yes)"
    )
    absence_in_sos: bool = Setting(
        default=False, description="whether an absence adds half a win to what the opponents' SOS see (Gotha: no)"
    )
    forbid_family: bool = Setting(
        default=False, description="whether entrants of one family must not meet, as long as a round without it exists"
    )
    strict: bool = Setting(
        default=False,
        description="whether to stop when no round without a rematch is left; else the fewest and least recent",
    )


@dataclass(frozen=True, slots=True, eq=False)
class PairingContext:
    """What a round stands on before anybody is paired: scores, groups, and the terms of the placement."""

    points: tuple[tuple[int, ...], ...]  # that make groups, as `Field.points`
    span: Span
    starts: Starts
    mms: tuple[int, ...]  # now, in points
    strength: tuple[int, ...]  # now, in bands: what a handicap goes by
    terms: PlacementTerms


@dataclass(frozen=True, slots=True, eq=False)
class CriteriaInput:
    """A round as the criteria see it. `stones` is nothing where nobody gives a handicap."""

    field: Field
    context: PairingContext
    lineup: Lineup
    meetings: Ints
    chance: PairRandom
    strength: Ints
    stones: Value | None

    @property
    def met(self) -> Flags:
        """Who has met, as a matrix over the lineup."""
        return self.meetings > 0


class Gotha(PairingSystem):
    """Rounds of maximum weight. Subclasses say what the scores and the criteria are."""

    name: str
    options: Any
    unplayed = "start"
    memory: int | None = None  # rounds in which floats count; all by default

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self.version = type(self).version + (options.chance == "names")  # before, colors were drawn from the seed

    @abstractmethod
    def context(self, field: Field) -> PairingContext:
        """Scores and groups of a round."""

    @abstractmethod
    def criteria(self, inputs: CriteriaInput) -> tuple[Criterion, ...]:
        """All that weighs."""

    def given(self) -> Handicap | None:
        """The handicap the stronger gives; by default none."""
        return None

    def by_rating(self, _field: Field) -> bool:
        """Whether the rating is the last key of the placement inside groups."""
        return False

    def pair(self, field: Field) -> Paired:
        """The heaviest round without rematch; Unpairable only if strict."""
        context = self.context(field)
        byes = self._byes(field, context)
        inputs = self._inputs(field, context)
        if self.options.renumber:
            renumbered, _, apart = self._settled(inputs, byes)
            pairs, remarks = self._heaviest(renumbered, byes, apart)
        else:
            pairs, remarks = self._heaviest(inputs, byes)
        boards = draw.assign_colours(
            field,
            inputs.lineup,
            pairs,
            self._dice(field, "colours"),
            inputs.stones,
            inputs.strength,
            named=inputs.chance if self.options.chance == "names" else None,
        )
        return Paired(boards, byes, draw.IN_TWO_STEPS if self.options.renumber else draw.CERTIFIED, remarks)

    def explain(self, field: Field, one: int, other: int) -> tuple[Reason, ...]:
        """What each criterion finds in a pair of those present; the worths add up to its weight.

        With `renumber` that inside the groups, unless one of the two floats or rests.
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
        """With `renumber`, who floats."""
        texts = super().rules(field, paired, one, other)
        if not self.options.renumber:
            return texts
        lineup = self.lineup(field)
        group = dict(zip(lineup.member.tolist(), lineup.group.tolist(), strict=True))
        mates = {at: sum(board.pair) - at for board in paired.boards for at in board.pair}
        names = [member.name for member in field.members]
        floats = [(at, mates[at]) for at in (one, other) if at in mates and group[at] != group[mates[at]]]
        return (*texts, *(f"{names[at]} floats to {names[mate]}: settled before the groups" for at, mate in floats))

    def weighed(self, field: Field) -> WeightedRound | None:
        """The weights of the next round, without whoever rests; bars are families, then rematches.

        None with `renumber`: there the weights inside the groups follow from the floats.
        """
        if self.options.renumber:
            return None
        context = self.context(field)
        inputs = self._inputs(field, context)
        stay = ~np.isin(inputs.lineup.member, self._byes(field, context))
        bars = draw.bar_levels(_part(inputs.meetings, stay), self._kin(inputs, stay))
        return WeightedRound(tuple(inputs.lineup.member[stay].tolist()), self._weights(inputs, stay), bars)

    def terms(self, field: Field) -> PlacementTerms:
        """With the starts, bands and categories of this field."""
        return self.context(field).terms

    def lineup(self, field: Field) -> Lineup:
        """Everybody present with group, place, floats and balance; the bye taker, too."""
        return self._inputs(field, self.context(field)).lineup

    def ranked(self, field: Field, context: PairingContext, *, by_rating: bool) -> list[int]:
        """Those present, best first, by the table's codes, then rating where it is asked for, then entry order."""
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
        """Places anew once the floats of the heaviest round stand; who floats or rests; which pairs are out then."""
        lineup = inputs.lineup
        pairs, _ = self._heaviest(inputs, byes)
        floating, apart = draw.fix_floats(pairs, lineup.member, lineup.group)
        out = floating | np.isin(lineup.member, byes)
        return replace(inputs, lineup=lineup.renumbered(out)), out, apart

    def _weights(self, inputs: CriteriaInput, stay: Flags) -> Ints:
        """Weighed with whoever rests, so that a pair weighs the same whoever that is."""
        return _part(weigh(self.criteria(inputs), len(inputs.lineup)), stay)

    def _kin(self, inputs: CriteriaInput, stay: Flags) -> Flags | None:
        return _part(same_family(inputs.field, inputs.lineup), stay) if self.options.forbid_family else None

    def _inputs(self, field: Field, context: PairingContext) -> CriteriaInput:
        order = self.ranked(field, context, by_rating=self.by_rating(field))
        categories = context.terms.categories
        lineup = lineup_of(field, context.points, context.span, order, categories=categories, recent=self.memory)
        given = self.given()
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


Weight = Annotated[int, Setting(ge=0, le=10**14)]  # seven of them fit the matching's machine words


class CriteriaOptions(GothaOptions):
    """Settings of the systems by today's criteria; defaults as OpenGotha 3.51 where nothing else is said."""

    score_weight: Weight = Setting(default=10**11, description="weight of near score groups; concave in the difference")
    half_groups: bool = Setting(
        default=False, description="whether half a win makes a group of its own; Gotha joins 2 and 2 1/2"
    )
    float_weight: Weight = Setting(default=2 * 10**7, description="unit of floats: a float that repeats none has two")
    compensate: bool = Setting(default=True, description="whether floats undo earlier ones")
    float_rule: FloatRule = Setting(
        default="position",
        description="who floats. position: by float_down and float_up; sos-even: highest SOS down, lowest up; "
        "godraw: lost last round down, floated down and won up; information: most wins up, to one 100-300 points above "
        "the strongest beaten; compensate: whom it evens out; fide: bottom down, top up, two rounds remembered",
    )
    float_down: FloatPosition = Setting(
        default="middle", description="with position: where in its group a float down is"
    )
    float_up: FloatPosition = Setting(default="middle", description="with position: where in its group a float up is")
    seeding_weight: Weight = Setting(default=5 * 10**6, description="weight of the seeding inside a group")
    seeding: Seeding = Setting(default="slip", description="ideal pairs in a group, in the first rounds")
    seeding_later: Seeding = Setting(default="slip", description="ideal pairs in a group, after seeding_rounds")
    seeding_rounds: int = Setting(default=2, ge=0, le=1000, description="rounds paired by seeding")
    colour_weight: Weight = Setting(default=10**6, description="weight of opposite colour balances; off with both")
    family_weight: Weight = Setting(default=0, description="weight of families and origins that differ; 0: none")
    family_worth: float = Setting(
        default=3.0, ge=0, le=100, description="groups of score difference that a strange family is worth"
    )
    origin_worth: float = Setting(
        default=1.0, ge=0, le=100, description="groups of score difference that a strange origin is worth"
    )
    families: list[list[str]] = Setting(
        default=[], description="groups of families that are half related, as [[A, B], [C, D]]"
    )

    @model_validator(mode="after")
    def _used(self) -> CriteriaOptions:
        if self.float_rule != "position" and (self.float_down, self.float_up) != ("middle", "middle"):
            raise ValueError(f'float_down and float_up need float_rule = "position", here it is {self.float_rule}')
        if self.families and not self.family_weight:
            raise ValueError("families says who is half related, which weighs nothing: set family_weight above 0")
        return self


class ByCriteria(Gotha):
    """Today's function; a subclass adds what its kind of groups needs."""

    sos_code = "SOSW"  # tells `sos-even` who had strong opponents

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self.memory = draw.MEMORY.get(options.float_rule)
        self.evens_sos = options.float_rule == "sos-even"

    def criteria(self, inputs: CriteriaInput) -> tuple[Criterion, ...]:
        """In the order of their weights as a rule, lowest first."""
        options, lineup = self.options, inputs.lineup
        found = [criteria.base(), criteria.not_met(inputs.met)]
        if options.random:
            found.append(criteria.random(lineup, inputs.chance, options.random))
        if options.games_per_pairing == 1:
            found.append(criteria.colours(lineup, inputs.stones, options.colour_weight))
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

    def first_rounds(self, field: Field) -> bool:
        """Whether the round is paired by the first of the two seedings."""
        return field.number <= int(self.options.seeding_rounds)
