"""Swiss systems by the current Gotha criteria: groups of equal wins, in all or inside categories."""

from __future__ import annotations

from itertools import pairwise
from math import inf
from typing import Annotated, Literal

import numpy as np
from pydantic import Field as Setting
from pydantic import field_validator

from enginetour.formats.gotha import ByCriteria, CriteriaInput, CriteriaOptions, Handicap, PairingContext, Weight
from enginetour.formats.pairing import criteria, mcmahon
from enginetour.formats.pairing.criteria import Criterion, Ints, Span
from enginetour.formats.pairing.draw import Seeding
from enginetour.formats.pairing.field import Field, Member
from enginetour.formats.pairing.mcmahon import Starts, band_starts, first_round_members, mcmahon_points
from enginetour.formats.pairing.tiebreaks import PlacementTerms
from enginetour.formats.starts import Band, check_rated

LEAD = 2  # OpenGotha 3.51: bands above the bar at which an exempt entrant counts there
MARGIN = 3  # OpenGotha 3.51: bands beyond bar - floor + rounds played in the handicap's criterion


class SwissGothaOptions(CriteriaOptions):
    """Settings of the Swiss by today's criteria; defaults as OpenGotha 3.51, which knows no families here."""


class _ByWins(ByCriteria):
    """Groups of equal whole wins inside each category, of which there is one by default."""

    def context(self, field: Field) -> PairingContext:
        """Wins make the groups; McMahon scores run on beside them, for byes."""
        starts = self.starts(field)
        mms = mcmahon_points(field, starts.wins)[-1]
        step, played = 1 + self.options.half_groups, len(field.history)
        zero = starts.bands[0] - starts.wins[0]  # no bar cuts the first: all have one scale
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
        """By bands, the lowest from 0; without ratings all are in one band."""
        bands = self._bands(field)
        return band_starts(bands, max(bands), min(bands), min(bands), [0] * len(bands))

    def categories(self, field: Field) -> tuple[int, ...]:
        """Of every member, 0 on top."""
        return (0,) * len(field.members)

    def _bands(self, field: Field) -> list[int]:
        return mcmahon.bands(field.members, self.options.base, self.options.width)


class SwissGotha(_ByWins):
    """Ratings are welcome and not needed."""

    name = "swiss-gotha"
    codes = ("NBW", "SOSW", "SOSOSW")
    options: SwissGothaOptions

    def by_rating(self, _field: Field) -> bool:
        """In all rounds."""
        return True


class SwissCatOptions(CriteriaOptions):
    """Settings of the Swiss by category; defaults as OpenGotha 3.51 where nothing else is said."""

    categories: list[float] | Annotated[int, Setting(ge=1, le=100)] = Setting(
        default=3,
        description="how many, of equal size by rating; or the lowest rating of each but the last, falling: Gotha has "
        "1 dan and 5 kyu, [2050, 1550]",
    )
    category_weight: Weight = Setting(default=2 * 10**13, description="weight of the same category")
    seeding: Seeding = Setting(default="split-random", description="ideal pairs in a group, in the first rounds")
    seeding_later: Seeding = Setting(default="fold", description="ideal pairs in a group, after seeding_rounds")
    family_weight: Weight = Setting(default=2 * 10**13, description="weight of families and origins that differ")
    handicap_weight: Weight = Setting(
        default=2 * 10**13, description="weight of near McMahon scores, so that handicaps are small"
    )
    bar: Band | Literal["auto"] = Setting(
        default="auto", description="band from which on McMahon scores start alike; auto: the highest, Gotha: 8 (9 dan)"
    )
    floor: Band | Literal["auto"] = Setting(
        default="auto", description="band up to which they start alike; auto: the lowest, Gotha: -30 (30 kyu)"
    )
    exempt_wins: bool = Setting(
        default=True, description="whether who has won half of all rounds counts as of the top there"
    )
    exempt_band: Band | None = Setting(
        default=None, description="band and wins from which on everybody does, too; Gotha: 0 (1 dan)"
    )
    handicap: Handicap | None = Setting(  # type: ignore[assignment]  # by score, not by rating
        default=None,
        description="bands the stronger gives, by McMahon score; none for engines. A table with correction (1), "
        "ceiling (9) and threshold (none)",
    )

    @field_validator("categories")
    @classmethod
    def _falling(cls, limits: list[float] | int) -> list[float] | int:
        if isinstance(limits, list) and any(upper <= lower for upper, lower in pairwise(limits)):
            raise ValueError("categories are the lowest ratings of each, falling, as [2400, 2000]")
        return limits


class SwissCat(_ByWins):
    """A Swiss inside each category; categories meet only where they must."""

    name = "swiss-cat"
    codes = ("CAT", "NBW", "EXT", "EXR")
    options: SwissCatOptions

    def check(self, members: tuple[Member, ...]) -> None:
        """ValueError also without a rating, which says who is in which category."""
        super().check(members)
        check_rated(self.name, members)

    def given(self) -> Handicap | None:
        """As the settings have it."""
        return self.options.handicap

    def by_rating(self, field: Field) -> bool:
        """In the first rounds only."""
        return self.first_rounds(field)

    def starts(self, field: Field) -> Starts:
        """By bands between floor and bar, the floor from 0."""
        options, bands = self.options, self._bands(field)
        bar = max(bands) if options.bar == "auto" else options.bar
        floor = min(*bands, bar) if options.floor == "auto" else options.floor
        return band_starts(bands, max(bar, floor), floor, floor, [0] * len(bands))

    def categories(self, field: Field) -> tuple[int, ...]:
        """By limits, or in equal parts of the field of round 1."""
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

    def criteria(self, inputs: CriteriaInput) -> tuple[Criterion, ...]:
        """Today's, with categories and small handicaps."""
        options, starts = self.options, inputs.context.starts
        reach = starts.top - starts.bottom + MARGIN + len(inputs.field.history)
        return (
            *super().criteria(inputs),
            criteria.category(inputs.lineup, options.category_weight),
            criteria.handicap(self._pseudo(inputs), reach, options.handicap_weight),
        )

    def _pseudo(self, inputs: CriteriaInput) -> Ints:
        """McMahon scores in wins, for who is exempt one that nobody else reaches."""
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
