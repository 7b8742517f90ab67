"""Swiss systems with the current Gotha criteria: groups of equal wins, in the whole field or inside categories."""

from __future__ import annotations

from itertools import pairwise
from math import inf
from typing import Annotated, Literal

import numpy as np
from pydantic import Field as Setting
from pydantic import field_validator

from enginetour.formats.gotha import (
    ByCriteria,
    CriteriaInput,
    CriteriaOptions,
    EarlySeeding,
    FamilyWeight,
    HandicapByScore,
    LateSeeding,
    PairingContext,
    Weight,
)
from enginetour.formats.pairing import criteria, mcmahon
from enginetour.formats.pairing.criteria import Criterion, Ints, Span
from enginetour.formats.pairing.field import Field, Member
from enginetour.formats.pairing.mcmahon import Starts, band_starts, first_round_members, mcmahon_points
from enginetour.formats.pairing.tiebreaks import PlacementTerms
from enginetour.formats.rounds import StartingGroup
from enginetour.formats.starts import Band, check_rated

LEAD = 2  # number of bands above the bar at which an exempt entrant counts (OpenGotha 3.51)
MARGIN = 3  # number of bands that the handicap criterion adds to bar - floor + rounds played (OpenGotha 3.51)


class SwissGothaOptions(CriteriaOptions):
    """Settings of the Swiss with current criteria; the defaults are those of OpenGotha 3.51, which ignores families."""


class _ByWins(ByCriteria):
    """System with groups of equal whole wins inside each category; by default there is one category."""

    def context(self, field: Field) -> PairingContext:
        """Return the context with groups of equal wins; McMahon scores are used for byes."""
        starts = self.starts(field)
        mms = mcmahon_points(field, starts.wins)[-1]
        step, played = 1 + self.options.half_groups, len(field.history)
        # Band minus starting score of the first member, so that all strengths have one scale.
        zero = starts.bands[0] - starts.wins[0]
        strength = tuple(points // field.win + zero for points in mms)
        categories = self.categories(field)
        span = Span(step * played, step * played + 1, step, max(categories, default=0) + 1)
        terms = PlacementTerms(
            starts=starts.wins,
            bands=starts.bands,
            categories=categories,
            unplayed=self.chosen_unplayed(),
            by_wins=True,
            absence_in_sos=self.options.absence_in_sos,
        )
        return PairingContext(field.points, span, starts, mms, strength, terms)

    def starts(self, field: Field) -> Starts:
        """Return starting scores by bands; the lowest band starts with 0. Without ratings all are in one band."""
        bands = self._bands(field)
        return band_starts(bands, max(bands), min(bands), min(bands), [0] * len(bands))

    def categories(self, field: Field) -> tuple[int, ...]:
        """Return the category of each member; 0 is the top."""
        return (0,) * len(field.members)

    def _bands(self, field: Field) -> list[int]:
        return mcmahon.bands(field.members, self.options.base, self.options.width)


class SwissGotha(_ByWins):
    """Swiss without categories; ratings are optional."""

    name = "swiss-gotha"
    codes = ("NBW", "SOSW", "SOSOSW")
    options: SwissGothaOptions

    def by_rating(self, _field: Field) -> bool:
        """Return True: the rating orders a group in all rounds."""
        return True


class SwissCatOptions(CriteriaOptions):
    """Settings of the Swiss by category; unless noted, defaults are those of OpenGotha 3.51."""

    categories: list[float] | Annotated[int, Setting(ge=1, le=100)] = Setting(
        default=3,
        description="Number of categories of equal size by rating, or the lowest rating of each category but the last, "
        "in falling order; Gotha: [2050, 1550] (1 dan, 5 kyu).",
    )
    category_weight: Weight = Setting(
        default=2 * 10**13, description="Weight of a pair in the same category, in weight units."
    )
    seeding: EarlySeeding = "split-random"
    seeding_later: LateSeeding = "fold"
    family_weight: FamilyWeight = 2 * 10**13
    handicap_weight: Weight = Setting(
        default=2 * 10**13,
        description="Weight of similar McMahon scores, in weight units, so that handicaps are small.",
    )
    bar: Band | Literal["auto"] = Setting(
        default="auto",
        description="Entrants in this band and in higher bands start with the same McMahon score; Gotha: 8 "
        "(9 dan). auto: the highest band.",
    )
    floor: Band | Literal["auto"] = Setting(
        default="auto",
        description="Entrants in this band and in lower bands start with the same McMahon score; Gotha: -30 "
        "(30 kyu). auto: the lowest band.",
    )
    exempt_wins: bool = Setting(
        default=True, description="Exempt entrants that have won half of all rounds from the handicap criterion."
    )
    exempt_band: Band | None = Setting(
        default=None,
        description="Exempt entrants from the handicap criterion when their band plus wins reaches this number; Gotha: "
        "0 (1 dan). Default: no exemption by band.",
    )
    handicap: HandicapByScore = None  # type: ignore[assignment]  # by score, not by rating

    @field_validator("categories")
    @classmethod
    def _falling(cls, limits: list[float] | int) -> list[float] | int:
        if isinstance(limits, list) and any(upper <= lower for upper, lower in pairwise(limits)):
            raise ValueError("categories must be ratings in falling order, for example [2400, 2000]")
        return limits


class SwissCat(_ByWins):
    """Swiss inside each category; entrants of different categories meet only if necessary."""

    name = "swiss-cat"
    codes = ("CAT", "NBW", "EXT", "EXR")
    options: SwissCatOptions

    def check(self, members: tuple[Member, ...]) -> None:
        """Raise ValueError if the field cannot be paired or an entrant has no rating."""
        super().check(members)
        check_rated(self.name, members)

    def starts(self, field: Field) -> Starts:
        """Return starting scores by bands between floor and bar; the floor starts with 0."""
        options, bands = self.options, self._bands(field)
        bar = max(bands) if options.bar == "auto" else options.bar
        floor = min(*bands, bar) if options.floor == "auto" else options.floor
        return band_starts(bands, max(bar, floor), floor, floor, [0] * len(bands))

    def categories(self, field: Field) -> tuple[int, ...]:
        """Return the categories by rating limits, or as equal parts of the members of round 1."""
        options = self.options
        ratings = [
            options.base + options.width * member.band
            if member.band is not None
            else -inf
            if member.rating is None
            else member.rating
            for member in field.members
        ]
        limits = self.options.categories
        if isinstance(limits, int):
            falling = sorted((ratings[at] for at in first_round_members(field)), reverse=True)
            limits = [falling[-(-len(falling) * part // limits) - 1] for part in range(1, limits)]
        return tuple(sum(rating < limit for limit in limits) for rating in ratings)

    def starting_groups(self, field: Field) -> tuple[StartingGroup, ...]:
        """Return the entrants by category; all start with 0 points."""
        found = self.categories(field)
        return tuple(
            StartingGroup(f"category {number + 1}", 0.0, tuple(at for at in field.present if found[at] == number))
            for number in sorted({found[at] for at in field.present})
        )

    def criteria(self, inputs: CriteriaInput) -> tuple[Criterion, ...]:
        """Return the current criteria, with categories and small handicaps."""
        options, starts = self.options, inputs.context.starts
        reach = starts.top - starts.bottom + MARGIN + len(inputs.field.history)
        return (
            *super().criteria(inputs),
            criteria.category(inputs.lineup, options.category_weight),
            criteria.handicap(self._handicap_scores(inputs), reach, options.handicap_weight),
        )

    def _handicap_scores(self, inputs: CriteriaInput) -> Ints:
        """Return McMahon scores in wins; exempt members get a score that no other member reaches."""
        options, field, context = self.options, inputs.field, inputs.context
        highest = context.starts.top + LEAD + len(field.history)
        found = []
        for at in inputs.lineup.member.tolist():
            wins = field.scores[at] // field.win
            reached = options.exempt_band is not None and context.starts.bands[at] + wins >= options.exempt_band
            winner = options.exempt_wins and 2 * field.scores[at] >= field.win * field.rounds
            at_bar = context.starts.wins[at] >= context.starts.top
            found.append(highest if reached or winner or at_bar else context.mms[at] // field.win)
        return np.array(found, dtype=np.int64)
