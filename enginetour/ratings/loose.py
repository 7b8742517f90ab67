"""Loose anchors: engines believed to stand near a rating, which hold the level of a list without fixing anybody.

Ordo's manual calls them so; to Bayes they are a bell curve about each of them, and games may pull them off.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from enginetour.ratings.base import LARGEST
from enginetour.ratings.priors import GaussianPrior

SMALLEST_SD = 1.0  # points, as ratings are shown; below it residuals pass 1e-8 at levels of 10,000 (tried)
_WORDS = re.compile(r"\s*([-+]?[\d.]+)\s*(?:±|\+-|\+/-)\s*([\d.]+)\s*")


class Near(NamedTuple):
    """Where an engine is believed to stand, with the standard deviation of that, in points of the list."""

    rating: float
    sd: float

    @property
    def told(self) -> str:
        """As `near` reads it."""
        return f"{self.rating:g} ± {self.sd:g}"


Loose = Mapping[str, Near]


def near(words: str) -> Near:
    """What ``2784+-15`` or ``2784±15`` means; ValueError says what can be written."""
    found = _WORDS.fullmatch(words)
    try:
        read = Near(*map(float, found.groups())) if found else None
    except ValueError:
        read = None
    if read is None or not (-LARGEST <= read.rating <= LARGEST and SMALLEST_SD <= read.sd <= LARGEST):
        allowed = f"RATING+-SD, as 2784+-15, the SD between {SMALLEST_SD:g} and {LARGEST:,}"
        raise ValueError(f"write {allowed}; found {words!r}")
    return read


def held(names: Iterable[str], loose: Loose, sd: float | None = None) -> GaussianPrior | None:
    """The belief in those of `names` that are loose anchors; None where there is none.

    With `sd` all others are believed to stand that near to where the loose anchors do on average, weighed by how sure
    they are.
    """
    names = tuple(names)
    own = {name: loose[name] for name in names if name in loose}
    if not own:
        return None
    weight = sum(each.sd**-2 for each in own.values())
    centre = sum(each.rating * each.sd**-2 for each in own.values()) / weight
    others = {} if sd is None else {name: Near(centre, sd) for name in names if name not in own}
    believed = {**own, **others}
    return GaussianPrior(
        {name: each.sd for name, each in believed.items()}, {name: each.rating for name, each in believed.items()}
    )
