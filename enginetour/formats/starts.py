"""Settings of McMahon starting scores: bands, bar, floor and groups."""

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
from enginetour.formats.rounds import PairingSystem, RoundsOptions, StartingGroup
from enginetour.model.errors import did_you_mean

ABSENCE = (
    "Where a missed round counts as half a win. standings: in the table; pairing-only: only in the pairing and in the "
    "SOS of opponents, as in EPM; nothing: nowhere."
)
Band = Annotated[int, Setting(ge=-(10**6), le=10**6)]


class BandOptions(RoundsOptions):
    """Settings of rating bands."""

    base: float = Setting(
        default=0.0,
        ge=-100_000,
        le=100_000,
        description="Rating at which band 0 begins. With rating_scale = go the default is 2050, which makes bands equal"
        " to Go grades.",
    )
    width: float = Setting(default=100.0, ge=1, le=10**6, description="Rating points per band.")


class StartingOptions(BandOptions):
    """Settings of starting scores."""

    bar: Band | Literal["auto"] = Setting(
        default="auto",
        description="Band from which all entrants start with equal scores; Gotha: 3 (4 dan). auto: includes the "
        "strongest max(2 * rounds, 8) entrants or all within 300 rating points of the best, whichever are fewer; "
        "includes even fewer if the table of groups requires it.",
    )
    floor: Band | Literal["auto"] = Setting(
        default="auto",
        description="Band up to which all entrants start with equal scores; Gotha: -20 (20 kyu). auto: determined "
        "like the bar, but from the weakest entrants.",
    )
    groups: Literal["table", "bands"] | Annotated[int, Setting(ge=1, le=1000)] = Setting(
        default="table",
        description="Number of groups into which bands are merged. table: as many as the rounds can mix (Vuorinen "
        "2010); bands: no merging (Gotha).",
    )
    zero: Band | None = Setting(
        default=None,
        description="Band that starts with 0 points (only with groups = bands); Gotha: -30. Default: the floor.",
    )
    corrections: dict[str, Annotated[int, Setting(ge=-1, le=2)]] = Setting(
        default={},
        description="Points added by hand to the starting scores of entrants, by name, from -1 to 2 (Gotha).",
    )
    bonus: dict[str, Annotated[float, Setting(ge=-1000, le=1000, multiple_of=0.5)]] = Setting(
        default={}, description="Points added by hand to the table only, by name, in steps of 0.5."
    )
    absence: Absence = Setting(default="standings", description=ABSENCE)
    whole: bool = Setting(
        default=True, description="Round the sum of the points of unplayed rounds down to whole wins (EGF)."
    )

    @model_validator(mode="after")
    def _zero_of_bands(self) -> StartingOptions:
        if self.zero is not None and self.groups != "bands":
            raise ValueError('zero needs groups = "bands", because merged groups start at 0')
        if isinstance(self.bar, int) and isinstance(self.floor, int) and self.floor > self.bar:
            raise ValueError(f"floor must not be above bar = {self.bar} (found {self.floor})")
        if self.bonus and not {"MMS", "STS"} & set(self.placement or ("MMS",)):
            raise ValueError("bonus needs the code MMS or STS in placement")
        return self


class Starting(PairingSystem):
    """System whose groups have equal McMahon scores; without any rating all entrants start equal."""

    options: Any
    codes = ("MMS", "SOSM", "SOSOSM")
    score = "MMS"
    version = 2  # in version 1 the bar was the lower of its two limits, and the table of groups did not limit it

    def check(self, members: tuple[Member, ...]) -> None:
        """Raise ValueError if the field cannot be paired, or a correction or bonus has an unknown name."""
        super().check(members)
        names = [member.name for member in members]
        for key, named in (("corrections", self.options.corrections), ("bonus", self.options.bonus)):
            for name in named:
                if name not in names:
                    raise ValueError(f"{key}: {name!r} is not an entrant{did_you_mean(name, names)}")

    def rating_warnings(self, errors: Sequence[float]) -> tuple[str, ...]:
        """Warn if ratings are uncertain by more than a band, because starting scores then make the table inaccurate."""
        width = self.options.width
        unsure = sum(error > width for error in errors)
        if not unsure:
            return ()
        return (
            f"the ratings of {unsure} of {len(errors)} entrants are uncertain by more than a band of {width:g} points, "
            "so starting scores make the table less accurate. Hint: use swiss, which does not have starting scores",
        )

    def scores(self, field: Field) -> tuple[tuple[int, ...], ...]:
        """Return the McMahon scores, which make the groups, before each round and now."""
        absence = self.options.absence != "nothing"
        return mcmahon_points(field, self.starts(field).wins, absence=absence, whole=self.options.whole)

    def starting_notes(self, field: Field) -> tuple[tuple[str, str], ...]:
        """Return bands, bar, floor and starting scores, and warnings about missing ratings or a single group."""
        options = self.options
        (bar, floor), names = self.limits(field), [member.name for member in field.members]
        groups = self.starting_groups(field)
        unrated = [member.name for member in field.members if member.rating is None]
        found = []
        if len(unrated) < len(names):
            bands_of = f"bands of {options.width:g} rating points, band 0 begins at {options.base:g}"
            found.append(("starts", f"{bands_of}: bar {bar}, floor {floor}"))
            found += [("starts", group.text(field.members)) for group in groups]
            if unrated:
                found.append(("warning", f"no rating: {listed(unrated)}. The lowest rating is used instead"))
        if len(groups) == 1 and options.groups != 1:
            step = ". Hint: change the settings groups, bar or floor to get more than one group"
            why = step if found else ": no entrant has a rating"
            found.append(("warning", f"all entrants start equal, as in a Swiss{why}"))
        return tuple(found)

    def starting_groups(self, field: Field) -> tuple[StartingGroup, ...]:
        """Return the entrants by starting score, highest first."""
        starts = self.starts(field)
        by_start: dict[int, list[int]] = {}
        for at, wins in enumerate(starts.wins):
            by_start.setdefault(wins, []).append(at)
        found = []
        for wins in sorted(by_start, reverse=True):
            bands = [starts.bands[at] for at in by_start[wins]]
            span = f"bands {min(bands)} to {max(bands)}" if min(bands) < max(bands) else f"band {bands[0]}"
            found.append(StartingGroup(f"start {wins} ({span})", wins * field.win / 2, tuple(by_start[wins])))
        return tuple(found)

    def terms(self, field: Field) -> PlacementTerms:
        """Return the terms of the table, with the bonus, which does not count for the pairing."""
        bonus = tuple(round(2 * self.options.bonus.get(member.name, 0)) for member in field.members)
        return replace(self.pairing_terms(field), bonus=bonus)

    def pairing_terms(self, field: Field) -> PlacementTerms:
        """Return the terms that order the members for the pairing."""
        starts, options = self.starts(field), self.options
        return PlacementTerms(
            starts=starts.wins,
            bands=starts.bands,
            unplayed=self.chosen_unplayed(),
            absence=options.absence,
            whole=options.whole,
        )

    def limits(self, field: Field) -> tuple[int, int]:
        """Return the bands of bar and floor; automatic limits depend on the members of round 1."""
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
        """Return the starting scores of all members, including members that joined later."""
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
        """Return all ratings; an entrant without a rating gets the lowest of the others."""
        known = [member.rating for member in field.members if member.rating is not None]
        return [min(known, default=0.0) if member.rating is None else member.rating for member in field.members]


def check_rated(system: str, members: tuple[Member, ...]) -> None:
    """Raise ValueError if an entrant has no rating."""
    unrated = [member.name for member in members if member.rating is None]
    if unrated:
        raise ValueError(
            f"{system} needs a rating for every entrant (missing: {listed(unrated)}). Hint: set rating = ... for each, "
            "or use swiss-gotha, which does not need ratings"
        )
