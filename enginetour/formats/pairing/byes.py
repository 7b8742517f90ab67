"""Who rests in an odd field: the rules of Gotha and of the thesis. Fewest byes so far come first in both."""

from __future__ import annotations

from collections.abc import Sequence

from enginetour.formats.pairing.field import Field

BYE_WEIGHT = 1000  # Gotha: of a bye so far, beside bands and scores


def gotha_bye(field: Field, bands: Sequence[int], points: Sequence[int]) -> int:
    """Smallest band + 2 * McMahon score + 1000 * byes so far; of equals the last in entry order.

    `points` are McMahon points of every member, in points of games.
    """
    return min(
        field.present,
        key=lambda at: ((bands[at] + BYE_WEIGHT * field.byes(at)) * field.win + 2 * points[at], -at),
    )


def last_bye(field: Field, order: Sequence[int]) -> int:
    """The last of the standings, `order` best first, among those with the fewest byes. Source: Vuorinen 2010."""
    return min(reversed(order), key=field.byes)
