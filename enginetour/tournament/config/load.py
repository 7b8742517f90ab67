"""Load a configuration file (TOML): validation, "did you mean" for an unknown key, error messages."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from enginetour.formats.base import SYSTEMS, Format, make_format, options_model, system_name
from enginetour.interop.toml import known_keys, line_of_key, read_toml, validation_error
from enginetour.model.errors import InputRefused, did_you_mean, suggest
from enginetour.ratings import grades
from enginetour.tournament.config.sections import (
    EntrantSection,
    NotifySection,
    PlaySection,
    RatingsSection,
    ReportSection,
    TournamentSection,
)

# Keys of other programs, or in the wrong section: suggestions.
#
# Words of cutechess-cli, fastchess and xboard by their manuals.

_FORMAT = "it under [format]"
_LIMIT = 'tc = "10+0.1", "movetime=0.1", "nodes=1000" or "depth=8"'
_OPTION = "options = {{ {} = ... }} of an entrant"
_WORDS: Mapping[str, Mapping[str, str]] = {
    "": dict.fromkeys(("engine", "engines", "player", "players"), "'entrants'"),
    "tournament": {
        **dict.fromkeys(("format", "system"), "[format] with system = ..."),
        **dict.fromkeys(("cycles", "games", "games_per_pairing", "rounds"), _FORMAT),
    },
    "format": {"games": "'games_per_pairing'", "rounds": "'cycles'"},
    "play": {
        "concurrency": "'slots'",
        **dict.fromkeys(("book", "epd", "pgnin", "polyglot"), "'openings'"),
        **dict.fromkeys(("egtb", "syzygy", "syzygypath", "tb"), "'tablebases'"),
        **dict.fromkeys(("depth", "inc", "movetime", "nodes", "st", "time", "time_control", "timecontrol"), _LIMIT),
        **dict.fromkeys(("cycles", "games", "games_per_pairing", "rounds"), _FORMAT),
        "hash": _OPTION.format("Hash"),
        **dict.fromkeys(("cores", "threads"), _OPTION.format("Threads")),
    },
    "entrants": {
        "args": "command = [PROGRAM, ARGUMENT, ...]",
        **dict.fromkeys(("depth", "inc", "movetime", "nodes", "st", "time", "time_control", "timecontrol"), _LIMIT),
        "cmd": "'command'",
        "proto": "'protocol'",
        "hash": _OPTION.format("Hash"),
        "threads": _OPTION.format("Threads"),
        **dict.fromkeys(("author", "files", "max_copies", "package", "version"), "it in engines/*.toml"),
    },
}


def suggest_key(path: tuple[str | int, ...], known: Collection[str], sections: Mapping[str, Collection[str]]) -> str:
    """The end of a validation_error of the key at `path`, nothing without an idea.

    `known` are the keys of its section, `sections` those of all.
    """
    *place, key = [part for part in path if isinstance(part, str)]
    if len(place) > 1:  # keys within keys have words of their own
        return ""
    section = "".join(place)
    words = _WORDS.get(section, {}).get(key.lower(), "")
    if words.strip("'") in known or " " in words:
        return f", did you mean {words}?"
    if section == "entrants" and key[:1].isupper():  # as engines' own options begin, by custom
        return f", did you mean {_OPTION.format(key)}?"
    theirs = [name for name, keys in sections.items() if key in keys and name != section]
    if theirs == ["entrants"] and not section:
        return f", did you mean {key} = ... of an entrant, behind its [[entrants]]?"
    return f", did you mean it under [{theirs[0]}]?" if theirs else ""


# One TOML file -> a validated tournament; every validation_error names file, line, what was found and what is allowed.

_SECTIONS = ("tournament", "format", "play", "ratings", "notify", "report", "entrants")
# What of [play] may change on resume: how the run is kept, not what is measured.
_CHANGEABLE = {
    "slots",
    "affinity",
    "start_parallel",
    "grace",
    "on_suspend",
    "suspend_patience",
    "sandbox",
    "speed",
    "pgn",
    "eco",
    "keep_lines",
    "log_traffic",
}


class Config(BaseModel):
    """A whole tournament as written; `format_options` is the validated model of the chosen system."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True, arbitrary_types_allowed=True)
    tournament: TournamentSection
    format: dict[str, Any]
    # Defaults are not validated: that would build a validator for each section, beside the one of the whole.
    play: PlaySection = PlaySection.model_construct()
    ratings: RatingsSection = RatingsSection.model_construct()
    notify: NotifySection = NotifySection.model_construct()
    report: ReportSection = ReportSection.model_construct()
    entrants: Annotated[tuple[EntrantSection, ...], Field(min_length=1, strict=False)]
    path: Path
    text: str
    format_options: Any = None

    @property
    def system(self) -> str:
        """The name of the format in the registry."""
        return system_name(str(self.format["system"]))

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
        held = self.model_dump(mode="json", include={"play", "format_options"}, exclude={"play": _CHANGEABLE})
        return {
            "tournament": {"seed": self.tournament.seed},
            "format": {"system": self.system, **held["format_options"]},
            "play": held["play"],
        }

    def as_stored(self) -> dict[str, Any]:
        """The whole configuration, JSON-ready, as the store keeps it."""
        return self.frozen_part() | self.model_dump(mode="json", include={"tournament", "ratings"})


def slug(name: str) -> str:
    """A name as a safe file name: lower case ``[a-z0-9._-]``, 1 to 64 characters, never starting with a dot."""
    cleaned = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-.")[:64]
    return cleaned or "tournament"


def load(path: Path) -> Config:
    """Read and validate a configuration; InputRefused names file, line and what is allowed."""
    table, text = read_toml(path, "a configuration", step="enginetour init writes one", named=True)
    _refuse_bare(path, text, table)
    scale = _scale(path, text, table)
    if scale is not None:
        table["tournament"] = {**table["tournament"], "rating_scale": scale}
    options = _format_options(path, text, table.get("format"), scale)
    try:
        config = Config.model_validate({**table, "path": path, "text": text, "format_options": options})
    except ValidationError as error:
        raise validation_error(error, path, text, Config, meant=_meant) from None
    _refuse_impossible(config)
    return config


def _refuse_bare(path: Path, text: str, table: dict[str, Any]) -> None:
    for key in table:
        if key not in _SECTIONS:
            slip = (
                did_you_mean(key, _SECTIONS) if isinstance(table[key], dict) else ""
            )  # [rating], no key of an entrant
            what = f"unknown key {key!r}{slip or _meant((key,), _SECTIONS) or suggest(key, _SECTIONS)}"
            raise InputRefused(what, place=_at(path, text, (key,)))
    if "tournament" not in table and any(key in table for key in ("format", "play", "entrants")):
        raise InputRefused('[tournament] with name = "..." is missing', place=str(path))
    if "format" not in table and isinstance(table.get("tournament"), dict):
        for key in {"format", "system"} & table["tournament"].keys():  # where other programs have it
            what = f"unknown key 'tournament.{key}'{_meant(('tournament', key), ())}"
            raise InputRefused(what, place=_at(path, text, ("tournament", key)))
    if "format" in table and not table.get("entrants"):
        step = 'add [[entrants]] with engine = "..." for each, best first; enginetour engines list tells which'
        raise InputRefused("no entrants", place=_at(path, text, ("entrants",)), step=step)
    if isinstance(table.get("entrants"), dict):
        raise InputRefused("entrants is a list: write [[entrants]] for each", place=_at(path, text, ("entrants",)))


def _scale(path: Path, text: str, table: dict[str, Any]) -> object:
    """The scale of the ratings as written, or that of Go where a rating is a grade; None where nothing says it."""
    tournament, entrants = table.get("tournament"), table.get("entrants")
    if not isinstance(tournament, dict) or not isinstance(entrants, list):
        return None
    scale = tournament.get("rating_scale")
    for number, entrant in enumerate(entrants):
        if isinstance(entrant, dict) and isinstance(entrant.get("rating"), str):
            if scale not in (None, "go"):
                what = f"rating: {entrant['rating']!r} is a grade of Go, and rating_scale is {scale!r}"
                step = 'set rating_scale = "go" under [tournament], or write ratings as numbers'
                raise InputRefused(what, place=_at(path, text, ("entrants", number, "rating")), step=step)
            return "go"
    return scale


def _meant(keys: tuple[str | int, ...], known: Collection[str]) -> str:
    return suggest_key(keys, known, {name: known_keys(Config, (name,)) for name in _SECTIONS})


def _format_options(path: Path, text: str, table: object, scale: object) -> Any:
    if not isinstance(table, dict) or "system" not in table:
        known = ", ".join(sorted(SYSTEMS))
        raise InputRefused(f'[format] needs system = "..."; known: {known}', place=_at(path, text, ("format",)))
    system = table["system"]
    if not isinstance(system, str) or system_name(system) not in SYSTEMS:
        place = _at(path, text, ("format", "system"))
        raise InputRefused(
            f"unknown format {system!r}{suggest(str(system), SYSTEMS)}",
            place=place,
            step="enginetour systems lists them",
        )
    model = options_model(system_name(system))
    settings = {key: value for key, value in table.items() if key != "system"}
    if scale == "go" and "base" in model.model_fields:
        settings.setdefault("base", grades.GO)  # bands are grades
    try:
        return model.model_validate(settings)
    except ValidationError as error:
        raise validation_error(error, path, text, model, under=("format",), meant=_meant) from None


def _refuse_impossible(config: Config) -> None:
    for number, entrant in enumerate(config.entrants):
        if entrant.glob and config.tournament.order is None:
            step = 'add order = "rating" or order = "file" under [tournament]'
            raise InputRefused("a glob has no order of its own", place=config.at("entrants", number, "glob"), step=step)


def _at(path: Path, text: str, keys: tuple[str | int, ...]) -> str:
    line = line_of_key(text, tuple(keys))
    return f"{path}:{line}" if line else str(path)
