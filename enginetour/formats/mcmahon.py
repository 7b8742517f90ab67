"""McMahon: who is stronger starts with more points, so near strengths meet from the first round on.

Three functions weigh its pairs: today's (`mcmahon`), Gerlach's as it can be reconstructed (`gerlach`), and the older
one (`gotha-2005`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field as Setting
from pydantic import model_validator

from enginetour import mcmahon
from enginetour.criteria.floats import Rule
from enginetour.criteria.lineup import Span
from enginetour.criteria.older import Older, OlderSeeding
from enginetour.criteria.present import Criterion
from enginetour.criteria.seeding import Seeding
from enginetour.field import Field, Member
from enginetour.formats.gotha import Band, Gotha, GothaOptions, Ground, Handicap, Scene, check_rated
from enginetour.formats.gotha_criteria import ByCriteria, CriteriaOptions, Weight
from enginetour.mcmahon import Starts, mcmahon_points
from enginetour.nearmiss import did_you_mean
from enginetour.placement import Terms
from enginetour.placement.terms import Absence

MARGIN = 4  # OpenGotha 3.51: groups beyond bar - floor + rounds played; corrections from -1 to 2 are among them
LEAD = 2  # OpenGotha 3.51: groups kept free above the bar


class StartOptions(GothaOptions):
    """What everybody begins with."""

    bar: Band | Literal["auto"] = Setting(
        default="auto",
        description="band from which on all entrants start alike. auto: the smaller of two groups, the strongest "
        "max(2 * rounds, 8) entrants or all within 300 points of the best, and smaller still where the table of "
        "groups would be missed; Gotha: 3 (4 dan)",
    )
    floor: Band | Literal["auto"] = Setting(
        default="auto",
        description="band up to which all entrants start alike. auto: as the bar, from below; Gotha: -20 (20 kyu)",
    )
    groups: Literal["table", "bands"] | Annotated[int, Setting(ge=1, le=1000)] = Setting(
        default="table",
        description="bands merged into so many groups. table: as many as the rounds can mix (Vuorinen 2010); "
        "bands: none are merged (Gotha)",
    )
    zero: Band | None = Setting(
        default=None, description="with groups = bands: the band that starts from 0; the floor by default, Gotha: -30"
    )
    corrections: dict[str, Annotated[int, Setting(ge=-1, le=2)]] = Setting(
        default={}, description="points by hand for entrants by name, -1 to 2: a bar group, a super group (Gotha)"
    )
    bonus: dict[str, Annotated[float, Setting(ge=-1000, le=1000, multiple_of=0.5)]] = Setting(
        default={}, description="points by hand for entrants by name, halves too: they count in the standings only"
    )
    cup_top_group: bool = Setting(
        default=False,
        description="whether those at the bar play a cup inside, which leads in STS and SOSTS: two wins for the "
        "unbeaten through the quarter-final, two more through the semi-final (Gotha)",
    )
    absence: Absence = Setting(
        default="standings",
        description="where half a win for a missed round counts; pairing-only: and in the opponents' SOS (EPM)",
    )
    whole: bool = Setting(
        default=True, description="whether the points of unplayed rounds are rounded down to wins together (EGF)"
    )
    handicap: Handicap | None = Setting(  # type: ignore[assignment]  # by score, not by rating
        default=None,
        description="bands the stronger gives, by McMahon score; none for engines. A table with correction (1), "
        "ceiling (9) and threshold (none)",
    )

    @model_validator(mode="after")
    def _zero_of_bands(self) -> StartOptions:
        if self.zero is not None and self.groups != "bands":
            raise ValueError('zero is the band that starts from 0 and needs groups = "bands"; merged groups start at 0')
        if isinstance(self.bar, int) and isinstance(self.floor, int) and self.floor > self.bar:
            raise ValueError(f"floor {self.floor} is above the bar {self.bar}")
        if self.cup_top_group and not {"STS", "SOSTS"} & set(self.placement):
            raise ValueError('cup_top_group counts in STS and SOSTS alone: placement = ["STS", "SOSTS"]')
        if self.bonus and not {"MMS", "STS"} & set(self.placement or ("MMS",)):
            raise ValueError("bonus counts in MMS and STS alone: placement has neither")
        return self


class FromStarts(Gotha):
    """Groups of equal McMahon scores."""

    codes = ("MMS", "SOSM", "SOSOSM")
    options: Any
    score = "MMS"
    version = 2  # 1: the bar was the lower of its two limits, and the table of groups did not limit it
    step = 1  # groups a win

    def scores(self, field: Field) -> tuple[tuple[int, ...], ...]:
        """Return McMahon scores, which make the groups."""
        return self.ground(field).points

    def foreword(self, field: Field) -> tuple[tuple[str, str], ...]:
        """Return bands, bar, floor and starting scores; a warning where bar and floor leave one group."""
        options, starts = self.options, self.starts(field)
        bar, floor = self.limits(field)
        bands_of = f"bands of {options.width:g} rating points, band 0 begins at {options.base:g}"
        lines = [f"{bands_of}: bar {bar}, floor {floor}"]
        by_start: dict[int, list[int]] = {}
        for at, wins in enumerate(starts.wins):
            by_start.setdefault(wins, []).append(at)
        for wins in sorted(by_start, reverse=True):
            bands = [starts.bands[at] for at in by_start[wins]]
            span = f"bands {min(bands)} to {max(bands)}" if min(bands) < max(bands) else f"band {bands[0]}"
            lines.append(f"start {wins} ({span}): {', '.join(field.members[at].name for at in by_start[wins])}")
        found = [("starts", line) for line in lines]
        if len(by_start) == 1 and options.groups != 1:
            step = "the settings groups, bar and floor make groups"
            found.append(("warning", f"all start alike: this is a Swiss; {step}"))
        return tuple(found)

    def check(self, members: tuple[Member, ...]) -> None:
        """ValueError also without a rating, which says who starts where, and for a correction of nobody."""
        super().check(members)
        check_rated(self.name, members)
        names = [member.name for member in members]
        for key, named in (("corrections", self.options.corrections), ("bonus", self.options.bonus)):
            for name in named:
                if name not in names:
                    raise ValueError(f"{key} names {name!r}, who is no entrant{did_you_mean(name, names)}")

    def doubts(self, errors: Sequence[float]) -> tuple[str, ...]:
        """A table that begins with the ratings is worse than one without where they are off by more than a band."""
        width = self.options.width
        unsure = sum(error > width for error in errors)
        if not unsure:
            return ()
        return (
            f"the ratings of {unsure} of {len(errors)} entrants are uncertain by more than a band of {width:g}: "
            "starting points then hurt more than they help; swiss has none",
        )

    def given(self) -> Handicap | None:
        """As the settings have it."""
        return self.options.handicap  # type: ignore[no-any-return]

    def ground(self, field: Field) -> Ground:
        """McMahon scores, in groups from the bar downwards."""
        starts = self.starts(field)
        absence: Absence = self.options.absence
        points = mcmahon_points(field, starts.wins, absence=absence != "nothing", whole=self.options.whole)
        played = len(field.history)
        span = Span(
            self.step * (starts.top + LEAD + played),
            self.step * (starts.top - starts.bottom + MARGIN + played),
            self.step,
        )
        terms = Terms(
            starts=starts.wins,
            bands=starts.bands,
            unplayed=self.chosen_unplayed(),
            absence=absence,
            whole=self.options.whole,
            absence_in_sos=self.options.absence_in_sos,
            cup=frozenset(self._at_bar(starts)) if self.options.cup_top_group else frozenset(),
        )
        return Ground(points, span, starts, points[-1], self._strength(field, starts, points[-1]), terms)

    def terms(self, field: Field) -> Terms:
        """With the points by hand, which pair nobody."""
        bonus = tuple(round(2 * self.options.bonus.get(member.name, 0)) for member in field.members)
        return replace(super().terms(field), bonus=bonus)

    def limits(self, field: Field) -> tuple[int, int]:
        """The bands of bar and floor; where they follow from the field, the field of round 1."""
        options, first = self.options, mcmahon.founders(field)
        known = self._ratings(field)
        ratings = [known[at] for at in first]
        bands = [mcmahon.band(rating, options.base, options.width) for rating in ratings]
        rises, falls = options.bar == "auto", options.floor == "auto"
        bar = mcmahon.bar_of(ratings, bands, options.rounds) if rises else options.bar
        floor = mcmahon.floor_of(ratings, bands, options.rounds) if falls else options.floor
        bar, floor = (bar, min(floor, bar)) if falls else (max(floor, bar), floor)
        if options.groups == "bands":
            return bar, floor
        table = options.groups == "table"
        fewest = mcmahon.fewest_groups(len(first), options.rounds) if table else options.groups
        return mcmahon.apart(bands, bar, floor, fewest=fewest, rises=rises, falls=falls)

    def starts(self, field: Field) -> Starts:
        """What everybody begins with; whoever came late is fitted in."""
        options, first = self.options, mcmahon.founders(field)
        bands = [mcmahon.band(rating, options.base, options.width) for rating in self._ratings(field)]
        bar, floor = self.limits(field)
        corrections = [options.corrections.get(member.name, 0) for member in field.members]
        if options.groups == "bands":
            return mcmahon.laddered(bands, bar, floor, floor if options.zero is None else options.zero, corrections)
        wanted = mcmahon.groups_wanted(len(first), options.rounds) if options.groups == "table" else options.groups
        lowest = mcmahon.merged(mcmahon.between([bands[at] for at in first], bar, floor), wanted)
        return mcmahon.grouped(lowest, bands, corrections)

    def _ratings(self, field: Field) -> list[float]:
        """Whoever came late without one starts from the floor."""
        known = [member.rating for member in field.members if member.rating is not None]
        return [min(known, default=0.0) if member.rating is None else member.rating for member in field.members]

    def _at_bar(self, starts: Starts) -> Iterable[int]:
        """Whoever starts with the most."""
        return (member for member, wins in enumerate(starts.wins) if wins >= starts.top)

    def _strength(self, field: Field, starts: Starts, points: Sequence[int]) -> tuple[int, ...]:
        """In bands: with merged groups a group is no band, so wins count from the own band."""
        if self.options.groups == "bands":
            _, floor = self.limits(field)
            zero = floor if self.options.zero is None else self.options.zero
            return tuple(value // field.win + zero for value in points)
        gained = (value // field.win - start for value, start in zip(points, starts.wins, strict=True))
        return tuple(grade + wins for grade, wins in zip(starts.bands, gained, strict=True))


class McMahonOptions(StartOptions, CriteriaOptions):
    """Settings of McMahon by today's criteria; defaults as OpenGotha 3.51 where nothing else is said."""

    seeding: Seeding = Setting(default="split-random", description="ideal pairs in a group, in the first rounds")
    family_weight: Weight = Setting(default=10**11, description="weight of families and origins that differ")


class McMahon(FromStarts, ByCriteria):
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
    float_rule: Rule = Setting(default="sos-even", description="who floats: highest SOS down, lowest up (Gerlach)")
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


class Gotha2005Options(StartOptions):
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


class Gotha2005(FromStarts):
    """The older function on McMahon scores, in groups of half steps."""

    name = "gotha-2005"
    options: Gotha2005Options
    step = 2  # groups a win

    def criteria(self, scene: Scene) -> tuple[Criterion, ...]:
        """In the order of its documentation."""
        options, field = self.options, scene.field
        enough = field.win * field.rounds
        limit = self.limits(field)[0] if options.exempt_above == "bar" else options.exempt_above
        exempt = [
            scene.ground.starts.bands[at] > limit or (options.exempt_wins and 2 * field.scores[at] >= enough)
            for at in scene.lineup.member.tolist()
        ]
        given = self.given()
        older = Older(
            field,
            scene.lineup,
            scene.met,
            scene.chance,
            np.array(exempt, dtype=np.bool_),
            scene.strength,
            None if given is None else given.correction,
            options.seeding,
            options.random,
        )
        return older.criteria()
