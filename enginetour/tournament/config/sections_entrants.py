"""``[[entrants]]``: who takes part."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, field_validator, model_validator

from enginetour.engines.enginefile import VariableName, told_apart
from enginetour.model.task import Restart, Sandbox
from enginetour.ratings import grades
from enginetour.tournament.config.spelling import STRICT, Control, Name, Rating, printable


class OwnBookSection(BaseModel):
    """``own_book``: a Polyglot book from which we play for this engine, off its clock, up to `plies` of the game."""

    model_config = STRICT
    file: Annotated[str, Field(min_length=1, max_length=4096)]
    choice: Literal["weight", "best"] = "weight"
    plies: Annotated[int, Field(ge=1, le=400)] = 40


class EntrantSection(BaseModel):
    """``[[entrants]]``: an engine file by its id, or a command of its own, or a glob over engine ids."""

    model_config = STRICT
    engine: str | None = None
    glob: str | None = None
    name: Name | None = None
    command: tuple[str, ...] | None = None
    protocol: Literal["uci", "cecp"] | None = None
    dir: str | None = None
    env: dict[str, str] = {}
    options: dict[str, str | int | float | bool] = {}
    limits: tuple[Literal["clock", "movetime", "nodes", "depth"], ...] | None = None
    quirks: dict[str, Any] = {}
    resources: dict[str, Any] = {}
    sandbox: Sandbox | None = None
    pass_env: Annotated[tuple[VariableName, ...], Field(strict=False)] = ()
    keep_scratch: bool = False
    tc: Control | None = None
    white_tc: Control | None = None
    black_tc: Control | None = None
    tc_factor: Annotated[float, Field(ge=0.001, le=1000)] | None = None
    margin_ms: Annotated[int, Field(ge=0, le=60_000)] | None = None
    ponder: bool | None = None
    restart: Restart | None = None
    own_book: OwnBookSection | None = None
    new: bool = False
    rating: Rating | None = None  # on the scale of [tournament] rating_scale; a grade of Go is its middle
    family: str = ""
    origin: str = ""
    _name = field_validator("name", "family", "origin")(printable)
    _options = field_validator("options")(told_apart)

    @field_validator("own_book", mode="before")
    @classmethod
    def _book(cls, value: object) -> object:
        return {"file": value} if isinstance(value, str) else value

    @field_validator("command", "limits", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("rating", mode="before")
    @classmethod
    def _graded(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        grade = grades.parse(value)
        if grade is None:
            raise ValueError(f"a rating is a number or {grades.ALLOWED}")
        return grade.rating()

    @model_validator(mode="after")
    def _one_source(self) -> EntrantSection:
        given = [key for key in ("engine", "command", "glob") if getattr(self, key)]
        if len(given) != 1:
            raise ValueError(f"give one of engine, command, glob; found {' and '.join(given) or 'none'}")
        if self.command and not self.command[0].strip():
            raise ValueError("command begins with a program")
        if self.command and not (self.name and self.protocol):
            raise ValueError("an entrant with a command needs name and protocol (uci or cecp)")
        if not self.command and self.protocol:
            raise ValueError("protocol belongs to an entrant with a command; an engine file has its own")
        if self.glob and self.name:
            raise ValueError("a glob takes the names from the engine files")
        return self
