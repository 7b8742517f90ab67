"""Settings of formats that see to colours themselves: what other formats know of colours is refused with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, model_validator

ELSEWHERE = "match, roundrobin, gauntlet and scheveningen"  # that have them


class OwnColours(BaseModel):
    """The base of such settings; `colours_by` is what chooses White."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, validate_default=True)

    colours_by: ClassVar[str] = "the balance of colours so far"

    @model_validator(mode="before")
    @classmethod
    def _not_ours(cls, settings: object) -> object:
        for key in ("swap", "reverse"):
            if isinstance(settings, Mapping) and key in settings and key not in cls.model_fields:
                raise ValueError(f"{key} is for {ELSEWHERE}: here {cls.colours_by} decides who has White; leave it out")
        return settings
