"""McMahon: stronger entrants start with more points, so similar strengths meet from round 1.

There are three functions for the weights of pairs: the current Gotha function (`mcmahon`), a reconstruction of
Gerlach's function (`gerlach`), and the older Gotha function (`gotha-2005`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from pydantic import Field as Setting
from pydantic import model_validator

from enginetour.formats.gotha import (
    FLOAT_RULES,
    ByCriteria,
    CriteriaInput,
    CriteriaOptions,
    EarlySeeding,
    FamilyWeight,
    Gotha,
    GothaOptions,
    HandicapByScore,
    LateSeeding,
    PairingContext,
    Weight,
)
from enginetour.formats.pairing.criteria import Criterion, OlderGotha, OlderSeeding, Span
from enginetour.formats.pairing.draw import FloatRule
from enginetour.formats.pairing.field import Field, Member
from enginetour.formats.pairing.mcmahon import Starts
from enginetour.formats.pairing.tiebreaks import PlacementTerms
from enginetour.formats.starts import Band, Starting, StartingOptions, check_rated

MARGIN = 4  # OpenGotha 3.51: groups in addition to bar - floor + rounds played, for corrections from -1 to 2
LEAD = 2  # OpenGotha 3.51: empty groups above the bar


class _StartOptions(StartingOptions, GothaOptions):
    """Settings of all McMahon systems with Gotha criteria."""

    cup_top_group: bool = Setting(
        default=False,
        description="Play a knockout among the entrants at the bar, which counts in STS and SOSTS: two wins for "
        "entrants that are still unbeaten after the quarter-final, and two more after the semi-final (Gotha).",
    )
    handicap: HandicapByScore = None  # type: ignore[assignment]  # by score, not by rating

    @model_validator(mode="after")
    def _cup_counts(self) -> _StartOptions:
        if self.cup_top_group and not {"STS", "SOSTS"} & set(self.placement):
            raise ValueError('cup_top_group needs STS or SOSTS in placement. Hint: set placement = ["STS", "SOSTS"]')
        return self


class _FromStarts(Starting, Gotha):
    """Pairing system with Gotha criteria and groups of equal McMahon scores."""

    step = 1  # groups per win

    def check(self, members: tuple[Member, ...]) -> None:
        """Raise ValueError if the field cannot be paired or an entrant has no rating."""
        super().check(members)
        check_rated(self.name, members)

    def context(self, field: Field) -> PairingContext:
        """Return McMahon scores in groups from the bar downwards."""
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
        """Return the terms for the pairing, with absences in SOS and the knockout in the top group."""
        found, options = super().pairing_terms(field), self.options
        top = self.starts(field).top
        cup = (at for at, wins in enumerate(found.starts) if options.cup_top_group and wins >= top)
        return replace(found, absence_in_sos=options.absence_in_sos, cup=frozenset(cup))

    def _strength(self, field: Field, starts: Starts, points: Sequence[int]) -> tuple[int, ...]:
        """Return the strength of each member in bands.

        If groups are merged bands, the score is not in bands, so the wins are added to the band of the member.
        """
        if self.options.groups == "bands":
            _, floor = self.limits(field)
            zero = floor if self.options.zero is None else self.options.zero
            return tuple(value // field.win + zero for value in points)
        gained = (value // field.win - start for value, start in zip(points, starts.wins, strict=True))
        return tuple(grade + wins for grade, wins in zip(starts.bands, gained, strict=True))


class McMahonOptions(_StartOptions, CriteriaOptions):
    """Settings of McMahon with current criteria; if nothing else is noted, defaults are those of OpenGotha 3.51."""

    seeding: EarlySeeding = "split-random"
    family_weight: FamilyWeight = 10**11


class McMahon(_FromStarts, ByCriteria):
    """McMahon with the current criteria."""

    name = "mcmahon"
    options: McMahonOptions

    sos_code = "SOSM"

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self.step = 1 + options.half_groups


_RECONSTRUCTED = "The default is reconstructed, because the original value is not public."


class GerlachOptions(McMahonOptions):
    """Settings of `gerlach`, a reconstruction of the program MacMahon by Christoph Gerlach.

    Only the architecture of MacMahon is public, so all weights are reconstructed. The score has the largest weight,
    then similar SOS, the fold by SOS, family and origin, and colors.
    """

    score_weight: Weight = Setting(
        default=10**14, description=f"Weight of similar scores, in weight units. {_RECONSTRUCTED}"
    )
    float_weight: Weight = Setting(
        default=10**11, description=f"Weight of one step of the float criterion, in weight units. {_RECONSTRUCTED}"
    )
    float_rule: FloatRule = Setting(default="sos-even", description=FLOAT_RULES)
    compensate: bool = Setting(default=False, description=f"Prefer floats that undo earlier floats. {_RECONSTRUCTED}")
    seeding_weight: Weight = Setting(
        default=10**9, description=f"Weight of the seeding inside a group, in weight units. {_RECONSTRUCTED}"
    )
    seeding: EarlySeeding = "fold"
    seeding_later: LateSeeding = "fold"
    family_weight: FamilyWeight = 10**7
    color_weight: Weight = Setting(
        default=10**4, description=f"Weight of opposite color balances, in weight units. {_RECONSTRUCTED}"
    )


class Gerlach(McMahon):
    """McMahon with the criteria of `mcmahon` and other weights."""

    name = "gerlach"
    options: GerlachOptions


class Gotha2005Options(_StartOptions):
    """Settings of the older Gotha function; the defaults are from its documentation page of about 2005."""

    seeding: OlderSeeding = Setting(
        default="split-random", description="Ideal pairs of entrants with equal scores: fold, slip or split-random."
    )
    exempt_wins: bool = Setting(
        default=False,
        description="Exempt entrants that have won half of all rounds from handicap, origin and family.",
    )
    exempt_above: Band | Literal["bar"] = Setting(
        default="bar",
        description="Exempt entrants above this band from handicap, origin and family; 4 dan in Gotha. Default: the "
        "bar.",
    )


class Gotha2005(_FromStarts):
    """McMahon with the older Gotha function and groups of half wins."""

    name = "gotha-2005"
    options: Gotha2005Options
    step = 2  # groups per win

    def criteria(self, inputs: CriteriaInput) -> tuple[Criterion, ...]:
        """Return the criteria in the order of Gotha's documentation."""
        options, field = self.options, inputs.field
        enough = field.win * field.rounds
        limit = self.limits(field)[0] if options.exempt_above == "bar" else options.exempt_above
        exempt = [
            inputs.context.starts.bands[at] > limit or (options.exempt_wins and 2 * field.scores[at] >= enough)
            for at in inputs.lineup.member.tolist()
        ]
        older = OlderGotha(
            field,
            inputs.lineup,
            inputs.met,
            inputs.chance,
            np.array(exempt, dtype=np.bool_),
            inputs.strength,
            None if self.given is None else self.given.correction,
            options.seeding,
            options.random,
        )
        return older.criteria()
