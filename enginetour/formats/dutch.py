"""The FIDE Dutch system as a format: what chess users mean by a Swiss.

A pairing number is the place in the entry order; with ``order = "rating"`` that is the FIDE initial ranking.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field as Setting

from enginetour.formats.dutch_part import explain, pair_dutch
from enginetour.formats.pairing.field import BLACK, WHITE, Dice, Field, Paired
from enginetour.formats.pairing_system import PairingSystem, Reason, RoundsOptions

COLOURS = {"white": WHITE, "black": BLACK}


class DutchOptions(RoundsOptions):
    """Settings of the Dutch system."""

    rounds: int = Setting(default=7, ge=1, le=1000, description="rounds in all; the last has a relaxed colour rule")
    initial_colour: Literal["lot", "white", "black"] = Setting(
        default="lot", description="colour of the first entrant in round 1; FIDE C.04.3: drawn by lot (from the seed)"
    )
    acceleration: Literal["none", "baku"] = Setting(
        default="none",
        description="baku: virtual points for the upper half in the first half of the rounds (FIDE Handbook C.04)",
    )
    forbid_family: bool = Setting(
        default=False, description="whether entrants of one family must not meet; FIDE knows no families"
    )
    strict: bool = Setting(
        default=False,
        description="whether to stop when no legal round is left; else the law is broken least: rematches last of all, "
        "the fewest and the least recent",
    )


class Dutch(PairingSystem):
    """Rounds by the Dutch system; colours count for nothing when every match has both."""

    codes = ("PTS", "BH-C1", "BH", "SB", "DE")
    unplayed = "fide"
    bye = "the lowest score that leaves the others pairable, then the fewest unplayed games (FIDE C.04.3)"
    options: DutchOptions

    def pair(self, field: Field) -> Paired:
        """The next round; Unpairable only if strict."""
        options = self.options
        lot = (WHITE, BLACK)[Dice(field.seed, "dutch", "initial colour").below(2)]
        return pair_dutch(
            field,
            initial_colour=COLOURS.get(options.initial_colour, lot),
            accelerated=self._accelerated,
            colour_blind=options.games_per_pairing > 1,
            forbid_family=options.forbid_family,
            strict=options.strict,
        )

    def alone(self, field: Field) -> Paired:
        """A bye that nobody has twice without a remark."""
        return self.pair(field) if field.present else super().alone(field)

    @property
    def _accelerated(self) -> int:
        return (self.options.rounds + 1) // 2 if self.options.acceleration == "baku" else 0

    def explain(self, field: Field, one: int, other: int) -> tuple[Reason, ...]:
        """Each criterion that speaks of a pair; those of a whole bracket show in the round that would be made."""
        blind = self.options.games_per_pairing > 1
        told = explain(field, one, other, accelerated=self._accelerated, colour_blind=blind)
        return tuple(Reason(name, int(met), 1, f"FIDE C.04.3 {number}") for name, met, number in told)

    def boards_ahead(self, field: Field, rounds_left: int) -> tuple[int, int]:
        """All of them; a strict tournament may end before."""
        boards = len(field.present) // 2 * rounds_left
        return 0 if self.options.strict else boards, boards
