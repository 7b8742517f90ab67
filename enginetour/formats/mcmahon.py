"""McMahon: stronger entrants start with more points, so similar strengths meet from the first round.

Three functions weigh its pairs: today's (`mcmahon`), Gerlach's as it can be reconstructed (`gerlach`), and the older
one (`gotha-2005`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from pydantic import Field as Setting
from pydantic import model_validator

from enginetour.formats.gotha import (
    ByCriteria,
    CriteriaInput,
    CriteriaOptions,
    Gotha,
    GothaOptions,
    Handicap,
    PairingContext,
    Weight,
)
from enginetour.formats.pairing.criteria import Criterion, OlderGotha, OlderSeeding, Span
from enginetour.formats.pairing.draw import FloatRule, Seeding
from enginetour.formats.pairing.field import Field, Member
from enginetour.formats.pairing.mcmahon import Starts
from enginetour.formats.pairing.tiebreaks import PlacementTerms
from enginetour.formats.starts import Band, Starting, StartingOptions, check_rated

MARGIN = 4  # OpenGotha 3.51: groups beyond bar - floor + rounds played; corrections from -1 to 2 are among them
LEAD = 2  # OpenGotha 3.51: groups kept free above the bar


class _StartOptions(StartingOptions, GothaOptions):
    """What everybody begins with, where Gotha's criteria weigh."""

    cup_top_group: bool = Setting(
        default=False,
        description="whether those at the bar play a cup inside, which leads in STS and SOSTS: two wins for the "
        "unbeaten through the quarter-final, two more through the semi-final (Gotha)",
    )
    handicap: Handicap | None = Setting(  # type: ignore[assignment]  # by score, not by rating
        default=None,
        description="bands the stronger gives, by McMahon score; none for engines. A table with correction (1), "
        "ceiling (9) and threshold (none)",
    )

    @model_validator(mode="after")
    def _cup_counts(self) -> _StartOptions:
        if self.cup_top_group and not {"STS", "SOSTS"} & set(self.placement):
            raise ValueError('cup_top_group counts in STS and SOSTS alone: placement = ["STS", "SOSTS"]')
        return self


class _FromStarts(Starting, Gotha):
    """Groups of equal McMahon scores."""

    step = 1  # groups a win

    def check(self, members: tuple[Member, ...]) -> None:
        """ValueError also without a rating, which says who starts where."""
        super().check(members)
        check_rated(self.name, members)

    def given(self) -> Handicap | None:
        """As the settings have it."""
        return self.options.handicap  # type: ignore[no-any-return]

    def context(self, field: Field) -> PairingContext:
        """McMahon scores, in groups from the bar downwards."""
        starts, points, played = self.starts(field), self.scores(field), len(field.history)
        span = Span(
            self.step * (starts.top + LEAD + played),
            self.step * (starts.top - starts.bottom + MARGIN + played),
            self.step,
        )
        return PairingContext(
            points, span, starts, points[-1], self._strength(field, starts, points[-1]), self.pairing_terms(field)
        )

    def pairing_terms(self, field: Field) -> PlacementTerms:
        """With the absences in the sums of opponents and with the cup inside."""
        found, options = super().pairing_terms(field), self.options
        top = self.starts(field).top
        cup = (at for at, wins in enumerate(found.starts) if options.cup_top_group and wins >= top)
        return replace(found, absence_in_sos=options.absence_in_sos, cup=frozenset(cup))

    def _strength(self, field: Field, starts: Starts, points: Sequence[int]) -> tuple[int, ...]:
        """In bands: with merged groups a group is no band, so wins count from the own band."""
        if self.options.groups == "bands":
            _, floor = self.limits(field)
            zero = floor if self.options.zero is None else self.options.zero
            return tuple(value // field.win + zero for value in points)
        gained = (value // field.win - start for value, start in zip(points, starts.wins, strict=True))
        return tuple(grade + wins for grade, wins in zip(starts.bands, gained, strict=True))


class McMahonOptions(_StartOptions, CriteriaOptions):
    """Settings of McMahon by today's criteria; defaults as OpenGotha 3.51 where nothing else is said."""

    seeding: Seeding = Setting(default="split-random", description="ideal pairs in a group, in the first rounds")
    family_weight: Weight = Setting(default=10**11, description="weight of families and origins that differ")


class McMahon(_FromStarts, ByCriteria):
    """Today's criteria on McMahon scores."""

    name = "mcmahon"
    options: McMahonOptions

    sos_code = "SOSM"

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self.step = 1 + options.half_groups

    def by_rating(self, field: Field) -> bool:
        """In the first rounds only."""
        return self.first_rounds(field)


class GerlachOptions(McMahonOptions):
    """Settings of MacMahon by Christoph Gerlach, a reconstruction: only the architecture is public.

    Score before even SOS before fold by SOS before family and origin before colours.
    """

    score_weight: Weight = Setting(default=10**14, description="weight of near score groups (reconstruction)")
    float_weight: Weight = Setting(default=10**11, description="unit of floats (reconstruction)")
    float_rule: FloatRule = Setting(default="sos-even", description="who floats: highest SOS down, lowest up (Gerlach)")
    compensate: bool = Setting(default=False, description="whether floats undo earlier ones (reconstruction: no)")
    seeding_weight: Weight = Setting(default=10**9, description="weight of the fold (reconstruction)")
    seeding: Seeding = Setting(default="fold", description="ideal pairs in a group, by SOS (Gerlach)")
    seeding_later: Seeding = Setting(default="fold", description="ideal pairs in a group, after seeding_rounds")
    family_weight: Weight = Setting(default=10**7, description="weight of families and origins (reconstruction)")
    colour_weight: Weight = Setting(default=10**4, description="weight of opposite balances (reconstruction)")


class Gerlach(McMahon):
    """The same machinery with other weights."""

    name = "gerlach"
    options: GerlachOptions


class Gotha2005Options(_StartOptions):
    """Settings of the older Gotha function: Mac-Mahon defaults of its documentation page, about 2005."""

    seeding: OlderSeeding = Setting(default="split-random", description="ideal pairs among equal scores")
    exempt_wins: bool = Setting(
        default=False,
        description="whether entrants that have won half of all rounds are exempt from handicap, origin and family",
    )
    exempt_above: Band | Literal["bar"] = Setting(
        default="bar",
        description="entrants above this band are exempt from handicap, origin and family; 4 dan in Gotha, the bar",
    )


class Gotha2005(_FromStarts):
    """The older function on McMahon scores, in groups of half steps."""

    name = "gotha-2005"
    options: Gotha2005Options
    step = 2  # groups a win

    def criteria(self, inputs: CriteriaInput) -> tuple[Criterion, ...]:
        """In the order of its documentation."""
        options, field = self.options, inputs.field
        enough = field.win * field.rounds
        limit = self.limits(field)[0] if options.exempt_above == "bar" else options.exempt_above
        exempt = [
            inputs.context.starts.bands[at] > limit or (options.exempt_wins and 2 * field.scores[at] >= enough)
            for at in inputs.lineup.member.tolist()
        ]
        given = self.given()
        older = OlderGotha(
            field,
            inputs.lineup,
            inputs.met,
            inputs.chance,
            np.array(exempt, dtype=np.bool_),
            inputs.strength,
            None if given is None else given.correction,
            options.seeding,
            options.random,
        )
        return older.criteria()
