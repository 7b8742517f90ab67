"""``[ratings]``: which rating systems are shown, and how they reckon."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, field_validator, model_validator

from enginetour.ratings.elo import EloSettings
from enginetour.ratings.gor import CzechSettings, Egf2021Settings, EgfSettings
from enginetour.tournament.config.spelling import STRICT


class RatingsSection(BaseModel):
    """``[ratings]``: which systems are shown, the engine whose rating is fixed, and settings by incremental system.

    They hold for all games of the store: where a system has none here, those it was last given hold.
    """

    model_config = STRICT
    systems: tuple[Literal["ml", "elo", "gor", "egf", "egf2021"], ...] = ("ml",)
    anchor: dict[str, float] = {}
    elo: EloSettings | None = None
    gor: CzechSettings | None = None
    egf: EgfSettings | None = None
    egf2021: Egf2021Settings | None = None

    @field_validator("systems", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @model_validator(mode="after")
    def _settings_are_used(self) -> RatingsSection:
        for system in self.settings():
            if system not in self.systems:
                raise ValueError(f"settings for {system}, which systems does not name")
        return self

    def settings(self) -> dict[str, BaseModel]:
        """The settings that are given, by system."""
        found = {"elo": self.elo, "gor": self.gor, "egf": self.egf, "egf2021": self.egf2021}
        return {system: settings for system, settings in found.items() if settings is not None}
