"""Incremental Elo: R' = R + K (S - E), with the usual K policies.

policy    K                                                         source
fixed     `k`                                                       Elo 1978
by-games  `k_new` for the first `new_games` rated games, then `k`   common in rating lists
fide      40 below 30 games; then 10 once the peak reached 2400;    FIDE B.02 8.3.3
          else 20
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from enginetour.ratings import incremental
from enginetour.ratings.incremental import LARGEST, Lineage, Mode, RatingState, Rule, Standing

NEW_GAMES = 30  # FIDE B.02 8.3.3
_K_NEW, _K_USUAL, _K_TOP = 40.0, 20.0, 10.0  # FIDE B.02 8.3.3
_TOP_RATING = 2400.0  # FIDE B.02 8.3.3
_MOST_K = 1000.0  # 25 times the largest usual value; anything larger is a typing error


class EloSettings(BaseModel):
    """Settings of the rating system `elo`. Ratings and advantages are in Elo points."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True, allow_inf_nan=False)

    mode: Mode = Field(
        default="sequential",
        description='Rate after each game ("sequential") or after each tournament ("batch").',
    )
    k_policy: Literal["fixed", "by-games", "fide"] = Field(
        default="fixed",
        description='Choice of K: always `k` ("fixed"), `k_new` for new engines ("by-games"), or 40, 20 and 10 by the'
        ' FIDE rules ("fide").',
    )
    k: float = Field(default=16.0, gt=0, le=_MOST_K, description="K factor in Elo points per game.")
    k_new: float = Field(
        default=_K_NEW,
        gt=0,
        le=_MOST_K,
        description='K factor of new engines in Elo points per game, with k_policy "by-games".',
    )
    new_games: int = Field(
        default=NEW_GAMES,
        ge=0,
        description='Number of rated games during which an engine is new, with k_policy "by-games".',
    )
    adv: float = Field(default=0.0, ge=-LARGEST, le=LARGEST, description="Advantage of the white pieces in Elo points.")
    clip: float | None = Field(
        default=None,
        gt=0,
        description="Largest rating difference that is used, in Elo points (FIDE: 400). Default: no limit.",
    )
    start_value: float = Field(
        default=0.0,
        ge=-LARGEST,
        le=LARGEST,
        description="Rating of an engine without a start rating, in Elo points.",
    )
    inherit: bool = Field(default=False, description="Whether a new version starts with the rating of its predecessor.")


def expected_score(gap: float) -> float:
    """Return the expected score of the side that is `gap` points ahead: 1/(1+10^(-gap/400)), Elo 1978."""
    try:
        return float(1 / (1 + 10 ** (-gap / 400)))
    except OverflowError:  # the side is more than 123,000 points behind
        return 0.0


@dataclass(frozen=True, slots=True)
class _EloRule(Rule):
    def weight(self, standing: Standing, _event: str = "", /) -> float:
        """Return K by the policy."""
        settings: EloSettings = self.settings
        if settings.k_policy == "fixed":
            return settings.k
        if settings.k_policy == "by-games":
            return settings.k_new if standing.games < settings.new_games else settings.k
        if standing.games < NEW_GAMES:
            return _K_NEW
        return _K_TOP if standing.peak >= _TOP_RATING else _K_USUAL

    def expected(self, white: float, black: float, _handicap: int = 0, /) -> tuple[float, float]:
        """Return the expected scores; the clip applies to the rating difference without the advantage, as in FIDE."""
        gap = white - black
        if self.settings.clip is not None:
            gap = max(-self.settings.clip, min(self.settings.clip, gap))
        return expected_score(gap + self.settings.adv), expected_score(-gap - self.settings.adv)


def begin(settings: EloSettings, start: Mapping[str, float], lineage: Lineage | None = None) -> RatingState:
    """Return the state before the first game; `start` contains the start ratings of engines."""
    return incremental.begin(_EloRule(settings, "elo"), start, lineage)
