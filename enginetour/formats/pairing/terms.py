"""What a system adds to the field before its table can be made: starts, bands, how rounds without a game count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Unplayed = Literal["own", "start", "zero", "fide", "fide-2023", "fide-2009"]
"""What a round without a game adds to the own SOS: own score (Vuorinen 2010), own start (Gotha), 0, C.07 section 16.

FIDE's rules are those of 2026, of 2023 (no ceiling for the dummy) and of 2009 to 2023 (a virtual opponent).
"""
FIDE = ("fide", "fide-2023", "fide-2009")

Absence = Literal["standings", "pairing-only", "nothing"]
"""Where the half win of an absence counts in a McMahon score; pairing-only: and in the opponents' SOS (EPM)."""


@dataclass(frozen=True, slots=True)
class Terms:
    """All by place in the entry order; what is empty is the same for everybody, `bands` then follow the ratings."""

    starts: tuple[int, ...] = ()  # in won matches
    bands: tuple[int, ...] = ()
    categories: tuple[int, ...] = ()  # 0 is the top one
    ratings: tuple[float | None, ...] = ()  # as they are now; empty: as the members brought them
    cup: frozenset[int] = frozenset()  # a top group that plays a cup inside the tournament
    unplayed: Unplayed = "zero"
    absence: Absence = "standings"
    whole: bool = True  # points of byes and absences are rounded down to whole wins together
    by_wins: bool = False  # the tournament is about wins, McMahon scores run beside them
    bonus: tuple[int, ...] = ()  # half points by hand, in standings only
    pair_list: bool = False  # all pairs are known from the start, so a round without an opponent is not a round
    absence_in_sos: bool = False  # each absence adds half a win to what the opponents' SOS see, unrounded
