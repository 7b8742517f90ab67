"""``[report]``: whether the pages for the morning are written at the end of each run."""

from __future__ import annotations

from pydantic import BaseModel

from enginetour.tournament.config.spelling import STRICT


class ReportSection(BaseModel):
    """``[report]``: `enginetour report` writes it at any time, too."""

    model_config = STRICT
    write: bool = True
