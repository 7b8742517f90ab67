"""Options for McMahon starting scores: bands, bar, floor and groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field as Setting
from pydantic import model_validator

from enginetour.formats.base import listed
from enginetour.formats.pairing import mcmahon
from enginetour.formats.pairing.field import Field, Member
from enginetour.formats.pairing.mcmahon import Starts, mcmahon_points
from enginetour.formats.pairing.tiebreaks import Absence, PlacementTerms
from enginetour.formats.rounds import PairingSystem, RoundsOptions
from enginetour.model.errors import did_you_mean

ABSENCE = (
    "where half a win for a missed round counts. standings: everywhere; pairing-only: in the pairing and in the "
    "opponents' SOS (EPM); nothing: nowhere"
)
Band = Annotated[int, Setting(ge=-(10**6), le=10**6)]


class BandOptions(RoundsOptions):
    """How ratings make bands."""

    base: float = Setting(
        default=0.0,
        ge=-100_000,
        le=100_000,
        description="rating at which band 0 begins; 2050 makes bands grades of Go, the default with rating_scale = go",
    )
    width: float = Setting(default=100.0, ge=1, le=10**6, description="rating points of a band: one grade")


class StartingOptions(BandOptions):
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
    absence: Absence = Setting(default="standings", description=ABSENCE)
    whole: bool = Setting(
        default=True, description="whether the points of unplayed rounds are rounded down to wins together (EGF)"
    )

    @model_validator(mode="after")
    def _zero_of_bands(self) -> StartingOptions:
        if self.zero is not None and self.groups != "bands":
            raise ValueError('zero is the band that starts from 0 and needs groups = "bands"; merged groups start at 0')
        if isinstance(self.bar, int) and isinstance(self.floor, int) and self.floor > self.bar:
            raise ValueError(f"floor {self.floor} is above the bar {self.bar}")
        if self.bonus and not {"MMS", "STS"} & set(self.placement or ("MMS",)):
            raise ValueError("bonus counts in MMS and STS alone: placement has neither")
        return self


class Starting(PairingSystem):
    """A system whose groups have equal McMahon scores. Without any rating all start alike."""

    options: Any
    codes = ("MMS", "SOSM", "SOSOSM")
    score = "MMS"
    version = 2  # 1: the bar was the lower of its two limits, and the table of groups did not limit it

    def check(self, members: tuple[Member, ...]) -> None:
        """ValueError also for a correction or a bonus of nobody."""
        super().check(members)
        names = [member.name for member in members]
        for key, named in (("corrections", self.options.corrections), ("bonus", self.options.bonus)):
            for name in named:
                if name not in names:
                    raise ValueError(f"{key} names {name!r}, who is no entrant{did_you_mean(name, names)}")

    def rating_warnings(self, errors: Sequence[float]) -> tuple[str, ...]:
        """A table that begins with the ratings is worse than one without where they are off by more than a band."""
        width = self.options.width
        unsure = sum(error > width for error in errors)
        if not unsure:
            return ()
        return (
            f"the ratings of {unsure} of {len(errors)} entrants are uncertain by more than a band of {width:g}: "
            "starting points then hurt more than they help; swiss has none",
        )

    def scores(self, field: Field) -> tuple[tuple[int, ...], ...]:
        """Return McMahon scores, which make the groups, before each round so far and now."""
        absence = self.options.absence != "nothing"
        return mcmahon_points(field, self.starts(field).wins, absence=absence, whole=self.options.whole)

    def starting_notes(self, field: Field) -> tuple[tuple[str, str], ...]:
        """Return bands, bar, floor and starting scores; warnings where one group is left or a rating is missing."""
        options, starts = self.options, self.starts(field)
        (bar, floor), names = self.limits(field), [member.name for member in field.members]
        by_start: dict[int, list[int]] = {}
        for at, wins in enumerate(starts.wins):
            by_start.setdefault(wins, []).append(at)
        unrated = [member.name for member in field.members if member.rating is None]
        found = []
        if len(unrated) < len(names):
            bands_of = f"bands of {options.width:g} rating points, band 0 begins at {options.base:g}"
            found.append(("starts", f"{bands_of}: bar {bar}, floor {floor}"))
            for wins in sorted(by_start, reverse=True):
                bands = [starts.bands[at] for at in by_start[wins]]
                span = f"bands {min(bands)} to {max(bands)}" if min(bands) < max(bands) else f"band {bands[0]}"
                found.append(("starts", f"start {wins} ({span}): {', '.join(names[at] for at in by_start[wins])}"))
            if unrated:
                found.append(("warning", f"{listed(unrated)} without a rating: the lowest rating counts instead"))
        if len(by_start) == 1 and options.groups != 1:
            step = "the settings groups, bar and floor make groups" if found else "no entrant has a rating"
            found.append(("warning", f"all start alike: this is a Swiss; {step}"))
        return tuple(found)

    def terms(self, field: Field) -> PlacementTerms:
        """With the points by hand, which pair nobody."""
        bonus = tuple(round(2 * self.options.bonus.get(member.name, 0)) for member in field.members)
        return replace(self.pairing_terms(field), bonus=bonus)

    def pairing_terms(self, field: Field) -> PlacementTerms:
        """Return what orders the members for the pairing: starts, bands, and how rounds without a game count."""
        starts, options = self.starts(field), self.options
        return PlacementTerms(
            starts=starts.wins,
            bands=starts.bands,
            unplayed=self.chosen_unplayed(),
            absence=options.absence,
            whole=options.whole,
        )

    def limits(self, field: Field) -> tuple[int, int]:
        """The bands of bar and floor; where they follow from the field, the field of round 1."""
        options, first = self.options, mcmahon.first_round_members(field)
        known = self._ratings(field)
        ratings = [known[at] for at in first]
        every = mcmahon.bands(field.members, options.base, options.width)
        bands = [every[at] for at in first]
        rises, falls = options.bar == "auto", options.floor == "auto"
        bar = mcmahon.bar_of(ratings, bands, options.rounds) if rises else options.bar
        floor = mcmahon.floor_of(ratings, bands, options.rounds) if falls else options.floor
        bar, floor = (bar, min(floor, bar)) if falls else (max(floor, bar), floor)
        if options.groups == "bands":
            return bar, floor
        table = options.groups == "table"
        fewest = mcmahon.fewest_groups(len(first), options.rounds) if table else options.groups
        return mcmahon.spread_limits(bands, bar, floor, fewest=fewest, rises=rises, falls=falls)

    def starts(self, field: Field) -> Starts:
        """What everybody begins with; whoever came late is fitted in."""
        options, first = self.options, mcmahon.first_round_members(field)
        bands = mcmahon.bands(field.members, options.base, options.width)
        bar, floor = self.limits(field)
        corrections = [options.corrections.get(member.name, 0) for member in field.members]
        if options.groups == "bands":
            return mcmahon.band_starts(bands, bar, floor, floor if options.zero is None else options.zero, corrections)
        wanted = mcmahon.groups_wanted(len(first), options.rounds) if options.groups == "table" else options.groups
        lowest = mcmahon.merge_bands(mcmahon.clamp_bands([bands[at] for at in first], bar, floor), wanted)
        return mcmahon.group_starts(lowest, bands, corrections)

    def _ratings(self, field: Field) -> list[float]:
        """Entrants without a rating start from the floor."""
        known = [member.rating for member in field.members if member.rating is not None]
        return [min(known, default=0.0) if member.rating is None else member.rating for member in field.members]


def check_rated(system: str, members: tuple[Member, ...]) -> None:
    """ValueError names the first of those without a rating, and the key."""
    unrated = [member.name for member in members if member.rating is None]
    if unrated:
        raise ValueError(
            f"{system} needs the rating of every entrant (without one: {listed(unrated)}): give "
            "rating = ..., or choose swiss-gotha, which does not need ratings"
        )
