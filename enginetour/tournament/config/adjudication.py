"""``draw``, ``resign`` and ``tablebases`` under ``[play]``: when a game is ended before its end."""

from __future__ import annotations

import os
from typing import Annotated, Literal

from pydantic import BaseModel, Field, field_validator, model_validator

from enginetour.tournament.config.spelling import STRICT

Moves = Annotated[int, Field(ge=1, le=1000)]
Folder = Annotated[str, Field(min_length=1, max_length=4096)]


class DrawSettings(BaseModel):
    """Both scores within `score` centipawns for `moves` moves each, with `after_move` moves played or more.

    A capture or a pawn move starts the count of moves again. It does not change the count for `resign`.
    """

    model_config = STRICT
    after_move: Annotated[int, Field(ge=0, le=2000)]
    moves: Moves
    score: Annotated[int, Field(ge=0, le=10_000)]


class ResignSettings(BaseModel):
    """A side at -`score` centipawns or less for `moves` moves has lost; `two_sided`: if the other one agrees."""

    model_config = STRICT
    moves: Moves
    score: Annotated[int, Field(ge=1, le=31_000)]  # mates count as 32 000 less their moves
    two_sided: bool = True


class TableSettings(BaseModel):
    """Syzygy tables in the folders of `path`, parted as in PATH or listed.

    `pieces` (default: as many as there are tables for) and `only` limit what they decide, ``adjudicate = false``
    leaves it all to the engines; with ``fifty = false`` a win counts however long it takes. ``engines = true`` gives
    the folders to engines that declare SyzygyPath or, in CECP, egt with syzygy.
    """

    model_config = STRICT
    path: Annotated[tuple[Folder, ...], Field(min_length=1, max_length=64)]
    pieces: Annotated[int, Field(ge=3, le=7)] | None = None
    fifty: bool = True
    only: Literal["wins", "draws", "both"] = "both"
    adjudicate: bool = True
    engines: bool = False

    @field_validator("path", mode="before")
    @classmethod
    def _parted(cls, value: object) -> object:
        if isinstance(value, str):
            value = [folder for folder in value.split(os.pathsep) if folder]
        if not isinstance(value, list | tuple) or not value:
            raise ValueError(f'a folder, some parted by "{os.pathsep}" as in PATH, or a list of them')
        return tuple(value)

    @model_validator(mode="after")
    def _of_use(self) -> TableSettings:
        if not self.adjudicate and not self.engines:
            raise ValueError("tables that neither adjudicate nor are given to engines: leave them out")
        return self
