"""Tags that say a game was at odds: our own exports' Handicap, and what other programs call Odds.

Such games are no even games: lists leave them out unless they are asked for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

HANDICAP = b"Handicap"  # "White gives 2", in bands: `reports.pgn`
_GIVES = re.compile(rb"(White|Black) gives ([1-9]\d{0,2})")
_EVEN = {b"", b"?", b"-", b"0", b"no", b"none"}  # values that mean there are none


def is_odds_tag(name: bytes) -> bool:
    """Handicap, Odds, or a tag of one kind of odds: TimeOdds, WhiteOdds."""
    return name == HANDICAP or name.endswith(b"Odds")


def says_odds(value: bytes) -> bool:
    """The raw value of such a tag does not deny it."""
    return value.strip().lower() not in _EVEN


def bands_in(tags: Mapping[bytes, bytes]) -> int | None:
    """Bands that White gives, below 0 takes; None for odds whose size is not told in bands."""
    found = [(name, value) for name, value in tags.items() if is_odds_tag(name) and says_odds(value)]
    if not found:
        return 0
    gives = _GIVES.fullmatch(tags.get(HANDICAP, b"").strip())
    if gives is None:
        return None
    return int(gives[2]) if gives[1] == b"White" else -int(gives[2])
