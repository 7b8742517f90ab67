"""GoDraw: rounds drawn by lot inside groups of equal McMahon scores, guided by origin, family and colours."""

from __future__ import annotations

from dataclasses import replace

from pydantic import Field as Setting

from enginetour.formats.godraw_part import Draw, Stuck, guides, preference
from enginetour.formats.pairing.exact import CERTIFIED, Bars, whole_round
from enginetour.formats.pairing.field import Dice, Field, Paired
from enginetour.formats.pairing.historic_colours import seated
from enginetour.formats.pairing.scoregroups import group_of
from enginetour.formats.pairing_system import Reason
from enginetour.formats.starts import Starting, StartingOptions

JITTER = 1000  # our decision: equals of the whole round are told apart by lot, in thousandths of a preference


class GoDrawOptions(StartingOptions):
    """Settings of GoDraw."""

    attempts: int = Setting(
        default=100, ge=1, le=10_000, description="draws before the round is matched as a whole; our decision: 100"
    )
    forbid_family: bool = Setting(
        default=False, description="whether entrants of one family must not meet, unless there is no round without"
    )
    strict: bool = Setting(
        default=False,
        description="whether to stop when no round is left without a rematch; else the fewest, oldest ones",
    )


class GoDraw(Starting):
    """Rounds by guided lot, from the top score group on."""

    unplayed = "own"
    bye = "by lot of the last score group, among those with the fewest byes (GoDraw, our decision)"
    options: GoDrawOptions

    def pair(self, field: Field) -> Paired:
        """The first draw with an end; after the last one, one matching with the same preferences."""
        field = replace(field, counted=self.scores(field))
        options, colours = self.options, self.options.games_per_pairing == 1
        bars = Bars(options.strict, options.forbid_family)
        for attempt in range(1, options.attempts + 1):
            draw = Draw(field, bars, colours, Dice(field.seed, "godraw", field.number, attempt))
            byes, there = self._rest(draw)
            try:
                pairs = draw.pairs(there)
            except Stuck:
                continue
            return Paired(seated(field, pairs, "godraw"), byes, f"by rule: draw {attempt}")
        return self._whole(field, bars)

    def explain(self, field: Field, one: int, other: int) -> tuple[Reason, ...]:
        """What guides the lot, met or not, in its order."""
        field = replace(field, counted=self.scores(field))
        colours = self.options.games_per_pairing == 1
        told = guides(field, one, other, colours=colours)
        return tuple(Reason(name, int(met), 1, "GoDraw, Vuorinen 2010") for name, met in told)

    def rules(self, field: Field, paired: Paired, one: int, other: int) -> tuple[str, ...]:
        """Groups, floats and the lot."""
        field = replace(field, counted=self.scores(field))
        upper, lower = sorted((one, other), key=lambda member: -group_of(field, member))
        names, groups = [member.name for member in field.members], [group_of(field, at) for at in (upper, lower)]
        if groups[0] == groups[1]:
            told = f"both are of the group of MMS {groups[0]}: the lot, guided by these, says who of it meet"
        else:
            told = (
                f"{names[upper]} is of the group of MMS {groups[0]}, {names[lower]} of that of {groups[1]}: they meet "
                "only as the float of an odd group, one who lost last round down, one who fell and won up"
            )
        return (told, *super().rules(field, paired, one, other))

    def boards_ahead(self, field: Field, rounds_left: int) -> tuple[int, int]:
        """All of them; a strict tournament may end before."""
        boards = len(field.present) // 2 * rounds_left
        return 0 if self.options.strict else boards, boards

    def _rest(self, draw: Draw) -> tuple[tuple[int, ...], list[int]]:
        there = list(draw.field.present)
        if len(there) % 2 == 0:
            return (), there
        bye = draw.bye(there)
        return (bye,), [member for member in there if member != bye]

    def _whole(self, field: Field, bars: Bars) -> Paired:
        """Score groups as near as can be, then the preferences, then the lot."""
        colours, dice = self.options.games_per_pairing == 1, Dice(field.seed, "godraw", field.number, "whole")
        byes, there = self._rest(Draw(field, bars, colours, dice))
        there.sort(key=lambda member: (-group_of(field, member), member))
        group = 10 * JITTER * len(there)  # more than all preferences of a round together

        def worth(one: int, other: int) -> int:
            gap = group_of(field, one) - group_of(field, other)
            lot = dice.below(JITTER)
            return JITTER * preference(field, one, other, colours=colours) + lot - group * gap * gap

        pairs, broken = whole_round(field, there, worth, bars)
        stuck = f"{self.options.attempts} draws without an end"
        remarks = (f"{stuck}: the whole round is matched by the same preferences", *broken)
        return Paired(seated(field, pairs, "godraw"), byes, f"fallback: {stuck}; {CERTIFIED}", remarks)
