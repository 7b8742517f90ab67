"""One TOML file -> a validated tournament; every refusal names file, line, what was found and what is allowed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from enginetour.errors import InputRefused
from enginetour.formats.base import SYSTEMS, Format, make_format, options_model
from enginetour.notices import NotifySection
from enginetour.openings import OpeningSettings
from enginetour.ratings.egf2021 import Egf2021Settings
from enginetour.ratings.elo import EloSettings
from enginetour.ratings.gor import CzechSettings, EgfSettings
from enginetour.timecontrol import TimeControl
from enginetour.tomlplace import near, read_toml, refusal, toml_place

_STRICT = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
Name = Annotated[str, Field(min_length=1, max_length=100)]
Rating = Annotated[float, Field(ge=-100_000, le=100_000)]  # our choice: beyond every scale, and bands stay small
Divisor = Annotated[float, Field(gt=1, le=1000)]
ORDERS = ("file", "rating", "standings")


def _printable(text: str | None) -> str | None:
    if text is not None and (not text.isprintable() or text != text.strip()):
        raise ValueError("a name is printable text without blanks at its ends")
    return text


def _control(text: str) -> str:
    return str(TimeControl.parse(text))


def listed_order(order: str | None) -> tuple[str, int | None] | None:
    """List and edition of ``list:NAME`` or ``list:NAME#3``, None for another order or a word that is none."""
    found = re.fullmatch(r"list:([^#]+)(?:#([1-9]\d{0,8}))?", order or "")
    return None if found is None else (found[1], int(found[2]) if found[2] else None)


class TournamentSection(BaseModel):
    """``[tournament]``: its name, the seed of all chance, and the order of the starting list."""

    model_config = _STRICT
    name: Annotated[str, Field(min_length=1, max_length=64)]
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    order: str | None = None
    _name = field_validator("name")(_printable)

    @field_validator("order")
    @classmethod
    def _known_order(cls, words: str | None) -> str | None:
        if words is None or words in ORDERS or listed_order(words):
            return words
        raise ValueError(f"an order is {', '.join(ORDERS)}, list:NAME or list:NAME#EDITION{near(words, ORDERS)}")


class PlaySection(BaseModel):
    """``[play]``: time control, slots, openings and the rules by which the referee ends a game.

    `odds` is by what the time of the giver of 1, 2, ... bands is divided, instead of the formula of `odds`.
    """

    model_config = _STRICT
    tc: str = "10+0.1"
    slots: Annotated[int, Field(ge=1, le=1024)] = 1
    margin_ms: Annotated[int, Field(ge=0, le=60_000)] | None = None
    hang_limit: Annotated[float, Field(gt=0, le=86_400)] = 60.0
    doubtful_flag: Literal["void", "loss"] = "void"
    max_moves: Annotated[int, Field(ge=1, le=2000)] = 600
    repetition: Annotated[int, Field(ge=3, le=5)] = 3
    fifty: Annotated[int, Field(ge=50, le=75)] = 50
    grace: Annotated[float, Field(ge=0, le=86_400)] = 60.0
    odds: tuple[Divisor, ...] | None = None
    openings: OpeningSettings = OpeningSettings()
    _tc = field_validator("tc")(_control)

    @field_validator("odds", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("odds")
    @classmethod
    def _growing(cls, table: tuple[float, ...] | None) -> tuple[float, ...] | None:
        if table is not None and (not table or list(table) != sorted(table)):
            raise ValueError("divisors of time for 1, 2, ... bands, never falling, as [2, 4, 8]")
        return table

    @field_validator("openings", mode="before")
    @classmethod
    def _suite(cls, value: object) -> object:
        if isinstance(value, str):
            raise ValueError(f'write openings = {{ file = "{value}" }}')
        return value


class RatingsSection(BaseModel):
    """``[ratings]``: which systems are shown, the engine whose rating is fixed, and settings by incremental system.

    They hold for all games of the store: where a system has none here, those it was last given hold.
    """

    model_config = _STRICT
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


class EntrantSection(BaseModel):
    """``[[entrants]]``: an engine file by its id, or a command of its own, or a glob over engine ids."""

    model_config = _STRICT
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
    tc: str | None = None
    margin_ms: Annotated[int, Field(ge=0, le=60_000)] | None = None
    new: bool = False
    rating: Rating | None = None
    family: str = ""
    origin: str = ""
    _name = field_validator("name")(_printable)

    @field_validator("command", "limits", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("tc")
    @classmethod
    def _tc(cls, text: str | None) -> str | None:
        return None if text is None else _control(text)

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


class Config(BaseModel):
    """A whole tournament as written; `format_options` is the validated model of the chosen system."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, arbitrary_types_allowed=True)
    tournament: TournamentSection
    format: dict[str, Any]
    play: PlaySection = PlaySection()
    ratings: RatingsSection = RatingsSection()
    notify: NotifySection = NotifySection()
    entrants: Annotated[tuple[EntrantSection, ...], Field(min_length=1)]
    path: Path
    text: str
    format_options: Any = None

    @field_validator("entrants", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @property
    def system(self) -> str:
        """The name of the format in the registry."""
        return str(self.format["system"])

    @property
    def slug(self) -> str:
        """The tournament's name as a file name: ``[a-z0-9._-]``, at most 64."""
        return slug(self.tournament.name)

    def make_format(self) -> Format[Any]:
        """The format with the options of this file."""
        return make_format(self.system, self.format_options, self.tournament.seed)

    def at(self, *keys: str | int) -> str:
        """``file:line`` of a key, for messages."""
        return _at(self.path, self.text, keys)

    def frozen_part(self) -> dict[str, Any]:
        """What may not change on resume, JSON-ready: format, seed, controls, rules, openings."""
        play = self.play.model_dump(mode="json", exclude={"slots", "grace"})
        return {
            "tournament": {"seed": self.tournament.seed},
            "format": {"system": self.system, **self.format_options.model_dump(mode="json")},
            "play": play,
        }

    def as_stored(self) -> dict[str, Any]:
        """The whole configuration, JSON-ready, as the store keeps it."""
        whole = self.frozen_part()
        whole["tournament"] = self.tournament.model_dump(mode="json")
        whole["ratings"] = self.ratings.model_dump(mode="json")
        return whole


def slug(name: str) -> str:
    """A name as a safe file name: lower case ``[a-z0-9._-]``, 1 to 64 characters, never starting with a dot."""
    cleaned = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-.")[:64]
    return cleaned or "tournament"


def load(path: Path) -> Config:
    """Read and validate a configuration; InputRefused names file, line and what is allowed."""
    table, text = read_toml(path, "a configuration", step="enginetour init writes one")
    for key in ("path", "text", "format_options"):
        if key in table:
            raise InputRefused(
                f"unknown key {key!r}; known: tournament, format, play, ratings, notify, entrants",
                place=_at(path, text, (key,)),
            )
    _refuse_bare(path, text, table)
    options = _format_options(path, text, table.get("format"))
    try:
        config = Config.model_validate({**table, "path": path, "text": text, "format_options": options})
    except ValidationError as error:
        raise refusal(error, path, text, Config) from None
    _refuse_impossible(config)
    return config


def _refuse_bare(path: Path, text: str, table: dict[str, Any]) -> None:
    """Whole sections that are not there, or are written as something else."""
    if "tournament" not in table and any(key in table for key in ("format", "play", "entrants")):
        raise InputRefused('[tournament] with name = "..." is missing', place=str(path))
    if "format" in table and not table.get("entrants"):
        step = 'add [[entrants]] with engine = "..." for each, best first; enginetour engines list tells which'
        raise InputRefused("no entrants", place=_at(path, text, ("entrants",)), step=step)
    if isinstance(table.get("entrants"), dict):
        raise InputRefused("entrants is a list: write [[entrants]] for each", place=_at(path, text, ("entrants",)))


def _format_options(path: Path, text: str, table: object) -> Any:
    if not isinstance(table, dict) or "system" not in table:
        known = ", ".join(sorted(SYSTEMS))
        raise InputRefused(f'[format] needs system = "..."; known: {known}', place=_at(path, text, ("format",)))
    system = table["system"]
    if system not in SYSTEMS:
        place = _at(path, text, ("format", "system"))
        raise InputRefused(
            f"unknown format {system!r}{near(str(system), SYSTEMS)}", place=place, step="enginetour systems lists them"
        )
    model = options_model(str(system))
    settings = {key: value for key, value in table.items() if key != "system"}
    try:
        return model.model_validate(settings)
    except ValidationError as error:
        raise refusal(error, path, text, model, under=("format",)) from None


def _refuse_impossible(config: Config) -> None:
    for number, entrant in enumerate(config.entrants):
        if entrant.glob and config.tournament.order is None:
            step = 'add order = "rating" or order = "file" under [tournament]'
            raise InputRefused("a glob has no order of its own", place=config.at("entrants", number, "glob"), step=step)


def _at(path: Path, text: str, keys: tuple[str | int, ...]) -> str:
    """``file:line`` of the deepest key that is in the text."""
    line = toml_place(text, tuple(keys))
    return f"{path}:{line}" if line else str(path)
