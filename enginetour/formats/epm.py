"""EPM, a pairing program of European Go tournaments: floats from the middle, then backtracking through lists by weight.

Groups are by McMahon scores; the lists are sorted by the older Gotha function without a handicap.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from pydantic import Field as Setting

from enginetour.formats.epm_part import Steps, TooLong, first_round
from enginetour.formats.pairing import order
from enginetour.formats.pairing.byes import last_bye
from enginetour.formats.pairing.chance import seeded
from enginetour.formats.pairing.drawing import last_meetings
from enginetour.formats.pairing.exact import CERTIFIED, Bars, Worth, whole_round
from enginetour.formats.pairing.field import Dice, Field, Paired
from enginetour.formats.pairing.historic_colours import seated
from enginetour.formats.pairing.lineup import Span, line_up
from enginetour.formats.pairing.older import Older
from enginetour.formats.pairing.present import Criterion, weigh
from enginetour.formats.pairing.scoregroups import group_of, score_groups
from enginetour.formats.pairing.terms import Absence
from enginetour.formats.pairing_system import Reason
from enginetour.formats.starts import ABSENCE, Starting, StartingOptions


class EpmOptions(StartingOptions):
    """Settings of EPM."""

    absence: Absence = Setting(default="pairing-only", description=ABSENCE)
    seeding: Literal["fold", "slip", "split-random"] = Setting(
        default="split-random", description="ideal pairs among equal scores, for the lists (Gotha documentation, 2005)"
    )
    exempt_wins: bool = Setting(
        default=False,
        description="whether entrants that have won half of all rounds may meet any origin and family (Gotha, 2005)",
    )
    steps: int = Setting(
        default=100_000, ge=1, le=10_000_000, description="steps before the round is matched as a whole; our decision"
    )
    forbid_family: bool = Setting(
        default=False, description="whether entrants of one family must not meet, unless there is no round without"
    )
    strict: bool = Setting(
        default=False,
        description="whether to stop when no round is left without a rematch; else the fewest, oldest ones",
    )


class Epm(Starting):
    """Rounds by backtracking from the top. In an odd field the last without an earlier bye rests (Vuorinen 2010)."""

    unplayed = "own"
    options: EpmOptions

    def pair(self, field: Field) -> Paired:
        """The first round there is; if the steps do not suffice or there is none, the heaviest."""
        field = replace(field, counted=self.scores(field))
        bars, order = Bars(self.options.strict, self.options.forbid_family), self._ranked(field)
        byes = (last_bye(field, order),) if len(order) % 2 else ()
        order = [member for member in order if member not in byes]
        worth = self._worth(field)
        try:
            pairs, _ = first_round(field, score_groups(field, order), worth, bars, Steps(self.options.steps))
            why = "no round whichever way the odd groups float"
        except TooLong:
            pairs, why = None, f"{self.options.steps} steps without a round"
        if pairs is not None:
            return Paired(seated(field, pairs, "epm"), byes, "by rule, exhaustive")
        pairs, broken = whole_round(field, order, worth, bars)
        remarks = (f"{why}: the whole round is matched by the same weights", *broken)
        return Paired(seated(field, pairs, "epm"), byes, f"fallback: {why}; {CERTIFIED}", remarks)

    def explain(self, field: Field, one: int, other: int) -> tuple[Reason, ...]:
        """What the lists are sorted by."""
        number = {member: at for at, member in enumerate(field.present)}
        a, b = np.array([number[one]]), np.array([number[other]])
        return tuple(
            Reason(criterion.name, int(criterion.value(a, b)[0]), criterion.most, criterion.source)
            for criterion in self._criteria(field)
        )

    def rules(self, field: Field, paired: Paired, one: int, other: int) -> tuple[str, ...]:
        """Groups and floats, and where each of the two stands in the other's list."""
        field = replace(field, counted=self.scores(field))
        bars, worth = Bars(self.options.strict, self.options.forbid_family), self._worth(field)
        names = [member.name for member in field.members]
        order = [member for member in self._ranked(field) if member not in paired.byes]
        mates = {at: sum(board.pair) - at for board in paired.boards for at in board.pair}
        groups = [group_of(field, at) for at in (one, other)]
        told = [] if groups[0] == groups[1] else [
            f"groups of MMS {groups[0]} and {groups[1]}: between them odd groups float, from the middle on, and then "
            "the lists decide"
        ]  # fmt: skip
        for place, wanted in ((one, other), (other, one)):
            if place not in mates or wanted not in mates:
                continue
            free = [at for at in order if at != place and bars.allow(field, place, at)]
            ranked = sorted(free, key=lambda at: -worth(place, at))
            where = {at: f"{ranked.index(at) + 1} of {len(ranked)}" for at in ranked}
            mate = mates[place]
            got = "" if mate == wanted else f"; it got {names[mate]}, {where.get(mate, 'barred')}"
            told.append(f"in the list of {names[place]}, {names[wanted]} is {where.get(wanted, 'barred')}{got}")
        return (*told, *super().rules(field, paired, one, other))

    def boards_ahead(self, field: Field, rounds_left: int) -> tuple[int, int]:
        """All of them; a strict tournament may end before."""
        boards = len(field.present) // 2 * rounds_left
        return 0 if self.options.strict else boards, boards

    def _ranked(self, field: Field) -> list[int]:
        """By McMahon score and sums over opponents whatever the table shows, then rating, then entry order."""
        groups = order.ordered(field, self.codes, field.present, self.pairing_terms(field))
        return [
            member for _, tied in groups for member in sorted(tied, key=lambda at: -(field.members[at].rating or 0))
        ]

    def _worth(self, field: Field) -> Worth:
        weights = weigh(self._criteria(field), len(field.present))
        number = {member: at for at, member in enumerate(field.present)}
        return lambda one, other: int(weights[number[one], number[other]])

    def _criteria(self, field: Field) -> tuple[Criterion, ...]:
        """In groups of half wins, as the older function has them."""
        scores = self.scores(field)
        most, least = (2 * limit(scores[-1], default=0) // field.win for limit in (max, min))
        lineup = line_up(field, scores, Span(most, most - least + 1, 2), self._ranked(field))
        enough = field.win * field.rounds
        exempt = [self.options.exempt_wins and 2 * field.scores[at] >= enough for at in field.present]
        chance = seeded(Dice(field.seed, "epm", field.number, "pairs"), len(field.members))
        met = last_meetings(field, lineup, forfeits=False) > 0
        return Older(
            field, lineup, met, chance, np.array(exempt, dtype=np.bool_), seeding=self.options.seeding
        ).criteria()
