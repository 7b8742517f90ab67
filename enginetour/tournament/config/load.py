"""Load a configuration file (TOML): validation, previous keys, "did you mean" for an unknown key, error messages."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from enginetour.formats.base import SYSTEMS, Format, make_format, options_model
from enginetour.interop.toml import line_of_key, place_of_key, read_toml, validation_error
from enginetour.model.errors import InputRefused, LeagueFound, did_you_mean, suggest
from enginetour.model.plugins import Registry, UnknownName, plugins_used
from enginetour.model.renamed import RenamedKey, rename_keys, system_name
from enginetour.model.validation import KeyPath, known_keys
from enginetour.openings.choice import READERS
from enginetour.ratings import grades
from enginetour.tournament.config.sections import (
    DefaultsSection,
    EntrantSection,
    NotifySection,
    PlaySection,
    QualitySection,
    RatingsSection,
    ReportSection,
    TournamentSection,
)

# Suggestions for keys of other programs (cutechess-cli, fastchess, xboard), and for keys in the wrong section.

_FORMAT = "this key under [format]"
_LIMIT = 'tc = "10+0.1", "movetime=0.1", "nodes=1000" or "depth=8"'
_OPTION = "options = {{ {} = ... }} of an entrant"
_OPTION_OF_ALL = "options = {{ {} = ... }} under [defaults]"
_LIMIT_KEYS = ("depth", "inc", "movetime", "nodes", "st", "time", "time_control", "timecontrol")
_OTHER_KEYS: Mapping[str, Mapping[str, str]] = {
    "": dict.fromkeys(("engine", "engines", "player", "players"), "'entrants'") | {"each": "'defaults'"},
    "tournament": {
        **dict.fromkeys(("format", "system"), "[format] with system = ..."),
        **dict.fromkeys(("cycles", "games", "games_per_pairing", "rounds"), _FORMAT),
    },
    "format": {"games": "'games_per_pairing'", "rounds": "'cycles'"},
    "play": {
        **dict.fromkeys(("book", "epd", "pgnin", "polyglot"), "'openings'"),
        **dict.fromkeys(("egtb", "syzygy", "syzygypath", "tb"), "'tablebases'"),
        **dict.fromkeys(_LIMIT_KEYS, _LIMIT),
        **dict.fromkeys(("cycles", "games", "games_per_pairing", "rounds"), _FORMAT),
        "hash": _OPTION_OF_ALL.format("Hash"),
        **dict.fromkeys(("cores", "threads"), _OPTION_OF_ALL.format("Threads")),
    },
    "entrants": {
        "args": "command = [PROGRAM, ARGUMENT, ...]",
        **dict.fromkeys(_LIMIT_KEYS, _LIMIT),
        "cmd": "'command'",
        "proto": "'protocol'",
        "hash": _OPTION.format("Hash"),
        "threads": _OPTION.format("Threads"),
        **dict.fromkeys(("author", "files", "max_copies", "package", "version"), "this key in engines/*.toml"),
    },
}


_SECTIONS = ("tournament", "format", "play", "quality", "ratings", "notify", "report", "defaults", "entrants")


def _suggestion(keys: KeyPath, known: Collection[str]) -> str:
    """Return ``, did you mean ...?`` for an unknown key, or "". `known` are the keys of the section that has it."""
    *place, key = [part for part in keys if isinstance(part, str)]
    if len(place) > 1:  # _OTHER_KEYS does not contain keys of inner tables
        return ""
    section = "".join(place)
    other = _OTHER_KEYS.get(section, {}).get(key.lower(), "")
    if other.strip("'") in known or " " in other:
        return f", did you mean {other}?"
    if section == "entrants" and key[:1].isupper():  # names of engine options usually begin with a capital letter
        return f", did you mean {_OPTION.format(key)}?"
    having = [name for name in _SECTIONS if name != section and key in known_keys(Config, (name,))]
    if having == ["defaults", "entrants"] and not section:
        return f", did you mean {key} = ... under [defaults], or of an entrant, after its [[entrants]]?"
    if having == ["entrants"] and not section:
        return f", did you mean {key} = ... of an entrant, after its [[entrants]]?"
    return f", did you mean this key under [{having[0]}]?" if having else ""


# Keys of [play] that may change on resume: they control the run and do not change the results of games.
_CHANGEABLE = {
    "concurrency",
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
    "engine_log",
}


class Config(BaseModel):
    """A whole configuration. `format_options` contains the validated options of the chosen format.

    `notices` are lines about previous keys in the file. `text` is the text of the file with current keys; the line
    numbers in messages are found in it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True, arbitrary_types_allowed=True)
    tournament: TournamentSection
    format: dict[str, Any]
    # Defaults are not validated, because each section would then need its own validator in addition to this model's.
    play: PlaySection = PlaySection.model_construct()
    quality: QualitySection = QualitySection.model_construct()
    ratings: RatingsSection = RatingsSection.model_construct()
    notify: NotifySection = NotifySection.model_construct()
    report: ReportSection = ReportSection.model_construct()
    defaults: DefaultsSection = DefaultsSection.model_construct()
    entrants: Annotated[tuple[EntrantSection, ...], Field(min_length=1, strict=False)]
    path: Path
    text: str
    format_options: Any = None
    notices: tuple[str, ...] = ()
    # Keys of this configuration that the file contains in another place, because the file describes a league.
    written: dict[KeyPath, KeyPath] = {}

    @property
    def system(self) -> str:
        """The name of the format in the registry."""
        return system_name(str(self.format["system"]))

    @property
    def later(self) -> str:
        """How a setting can change that cannot change in a tournament that has begun, for messages."""
        edition = "start the next edition with run --new after this one has ended"
        return "change it before the next season" if self.written else edition

    def make_format(self) -> Format[Any]:
        """Make the format with the options of this file."""
        return make_format(self.system, self.format_options, self.tournament.seed)

    def at(self, *keys: str | int) -> str:
        """Return ``file:line`` of a key, for messages.

        A key that an entrant inherits is that of the other entrant, or of ``[defaults]``.
        """
        if len(keys) == 3 and keys[0] == "entrants":
            key, heirs = keys[2], list[int]()
            number = keys[1] if isinstance(keys[1], int) else None
            while number is not None and number not in heirs:
                if self._is_written("entrants", number, key):
                    return place_of_key(self.path, self.text, self._in_file("entrants", number, key))
                heirs.append(number)
                number = self.heritage(number)
            if self._is_written("defaults", key):
                keys = ("defaults", key)
        return place_of_key(self.path, self.text, self._in_file(*keys))

    def _is_written(self, *keys: str | int) -> bool:
        place = self._in_file(*keys)
        return line_of_key(self.text, place) != line_of_key(self.text, place[:-1])

    def _in_file(self, *keys: str | int) -> KeyPath:
        """Return the place of a key in the file."""
        for length in range(len(keys), 0, -1):
            if (place := self.written.get(keys[:length])) is not None:
                return (*place, *keys[length:])
        return keys

    def heritage(self, number: int) -> int | None:
        """Return the number of the entrant from which an entrant inherits, or None."""
        wanted = self.entrants[number].inherit
        others = (
            place for place, one in enumerate(self.entrants) if place != number and wanted == (one.name or one.engine)
        )
        return None if wanted is None else next(others, None)

    def frozen_part(self) -> dict[str, Any]:
        """Return what may not change on resume, ready for JSON: format, seed, time controls, rules, openings."""
        held = self.model_dump(mode="json", include={"play", "format_options"}, exclude={"play": _CHANGEABLE})
        return {
            "tournament": {"seed": self.tournament.seed},
            "format": {"system": self.system, **held["format_options"]},
            "play": held["play"],
        }

    def as_stored(self) -> dict[str, Any]:
        """Return the configuration as the database stores it, ready for JSON."""
        stored = self.frozen_part() | self.model_dump(mode="json", include={"tournament", "ratings"})
        stored["defaults"] = self.defaults.model_dump(mode="json", exclude_unset=True)
        found: list[tuple[Registry[Any], str]] = [(SYSTEMS, self.system)]
        if incremental := [system for system in self.ratings.systems if system != "ml"]:
            from enginetour.ratings.systems import SYSTEMS as RATINGS  # imported here: a match starts faster without it

            found += [(RATINGS, system) for system in incremental]
        if self.book_kind in READERS:
            found.append((READERS, self.book_kind))
        if self.notify.plugins:
            from enginetour.tournament.notify import NOTIFIERS  # imported here, because it is rarely used

            found += [(NOTIFIERS, name) for name in self.notify.plugins]
        used = plugins_used(*found)
        return stored | ({"plugins": used} if used else {})

    @property
    def book_kind(self) -> str:
        """The ending of the opening book without its dot, or "" if there is none."""
        return Path(self.play.openings.file or "").suffix.lower().removeprefix(".")


def load(path: Path) -> Config:
    """Read and validate a configuration. Raise InputRefused with the file, the line and the allowed values."""
    table, text, notices = read_current(path)
    if "league" in table:
        step = f"play it with enginetour run {path}, then use the names of its tournaments"
        raise LeagueFound(
            "describes a league, not a tournament", place=place_of_key(path, text, ("league",)), step=step
        )
    _refuse_unknown_sections(path, text, table)
    config = validated(path, text, table, notices)
    for number, entrant in enumerate(config.entrants):
        if entrant.replaces is not None:
            place = config.at("entrants", number, "replaces")
            raise InputRefused("replaces is only for a league", place=place, step="remove it, or use inherit")
    return config


def read_current(path: Path) -> tuple[dict[str, Any], str, tuple[str, ...]]:
    """Read a file. Return its table and text with current keys, and a notice for each previous key."""
    table, text = read_toml(path, "a configuration", step="enginetour init writes one", named=True)
    table, renamed = rename_keys(table)
    notices: dict[str, str] = {}  # by the previous key, with the line where it first occurs
    for key in renamed:
        old, place = f"{key.section}.{key.path[-1]}", place_of_key(path, text, key.path)
        if key.both:
            what = f"{key.section}.{key.current} and its previous name {key.path[-1]} are both given"
            raise InputRefused(what, place=place, step=f"remove {key.path[-1]}")
        notices.setdefault(old, f"{place}: {old} is now called {key.current}; the previous name still works")
    format_ = table.get("format")
    named = format_.get("system") if isinstance(format_, dict) else None
    if isinstance(named, str) and (current := system_name(named)) != named:
        place = place_of_key(path, text, ("format", "system"))
        notices["system"] = f"{place}: {named} is now called {current}; the previous name still works"
    return table, _with_current_keys(text, renamed), tuple(notices.values())


def validated(path: Path, text: str, table: dict[str, Any], notices: Sequence[str]) -> Config:
    """Validate the table of a configuration.

    Entrants get the settings that they inherit and those of ``[defaults]``.
    """
    scale = _scale(path, text, table)
    if scale is not None:
        table["tournament"] = {**table["tournament"], "rating_scale": scale}
    try:
        options = format_options(path, text, table.get("format"), scale)
        read = {**table, "path": path, "text": text, "format_options": options, "notices": tuple(notices)}
        config = Config.model_validate(read)
    except UnknownName as error:
        error.tournament = str(table["tournament"].get("name", ""))
        error.place = error.place or place_of_key(path, text, ("ratings", "systems"))
        raise
    except ValidationError as error:
        raise validation_error(error, path, text, Config, meant=_suggestion) from None
    for number, entrant in enumerate(config.entrants):
        if entrant.glob and config.tournament.order is None:
            step = 'add order = "rating" or order = "file" under [tournament]'
            raise InputRefused("glob needs an order", place=config.at("entrants", number, "glob"), step=step)
    entrants = (_inherited(config, number).with_defaults(config.defaults) for number in range(len(config.entrants)))
    return config.model_copy(update={"entrants": tuple(entrants)})


def _inherited(config: Config, number: int, heirs: tuple[int, ...] = ()) -> EntrantSection:
    """Return an entrant with the settings that it inherits. `heirs` inherit from it, directly or indirectly."""
    section = config.entrants[number]
    if section.inherit is None:
        return section
    place = config.at("entrants", number, "inherit")
    if number in heirs:
        circle = [config.entrants[one].inherit for one in heirs[heirs.index(number) :]]
        what = f"inherit: {circle[-1]} inherits from itself through {', '.join(map(str, circle[:-1]))}"
        raise InputRefused(what, place=place, step="remove one inherit")
    other = config.heritage(number)
    if other is None:
        names = [word for one in config.entrants if one is not section and (word := one.name or one.engine)]
        what = f"inherit: no other entrant is named {section.inherit!r}{suggest(section.inherit, names)}"
        raise InputRefused(what, place=place, step="use the name of an entrant, or its engine id if it has no name")
    try:
        return section.inheriting(_inherited(config, other, (*heirs, number)))
    except ValueError as error:
        raise InputRefused(str(error), place=place) from None


def current_text(text: str) -> str:
    """Return the text of a valid configuration with current keys, or any other text unchanged."""
    try:
        return _with_current_keys(text, rename_keys(tomllib.loads(text))[1])
    except tomllib.TOMLDecodeError:
        return text


def _with_current_keys(text: str, renamed: Sequence[RenamedKey]) -> str:
    """Return the text of a configuration with current keys on the same lines."""
    lines = text.split("\n")
    for key in renamed:
        if line := line_of_key(text, key.path):
            found = re.compile(rf"\b{re.escape(str(key.path[-1]))}(?=[\"']?\s*=)")
            lines[line - 1] = found.sub(key.current, lines[line - 1], count=1)
    return "\n".join(lines)


def _refuse_unknown_sections(path: Path, text: str, table: dict[str, Any]) -> None:
    for key in table:
        if key not in _SECTIONS:
            # [rating] is a misspelled section; a key outside of all sections is more likely one of an entrant.
            close = did_you_mean(key, _SECTIONS) if isinstance(table[key], dict) else ""
            what = f"unknown key {key!r}{close or _suggestion((key,), _SECTIONS) or suggest(key, _SECTIONS)}"
            raise InputRefused(what, place=place_of_key(path, text, (key,)))
    if "tournament" not in table and any(key in table for key in ("format", "play", "entrants")):
        raise InputRefused('[tournament] with name = "..." is missing', place=str(path))
    if "format" not in table and isinstance(table.get("tournament"), dict):
        for key in {"format", "system"} & table["tournament"].keys():  # other programs use this section
            what = f"unknown key 'tournament.{key}'{_suggestion(('tournament', key), ())}"
            raise InputRefused(what, place=place_of_key(path, text, ("tournament", key)))
    if "format" in table and not table.get("entrants"):
        step = 'add [[entrants]] with engine = "..." for each, best first; enginetour engines list shows the engines'
        raise InputRefused("no entrants", place=place_of_key(path, text, ("entrants",)), step=step)
    if isinstance(table.get("entrants"), dict):
        what = "entrants must be a list of tables"
        raise InputRefused(
            what, place=place_of_key(path, text, ("entrants",)), step="write [[entrants]] for each entrant"
        )


def _scale(path: Path, text: str, table: dict[str, Any]) -> object:
    """Return the scale of the ratings as written, "go" if a rating is a Go grade, or None if neither is given."""
    tournament, entrants = table.get("tournament"), table.get("entrants")
    if not isinstance(tournament, dict) or not isinstance(entrants, list):
        return None
    scale = tournament.get("rating_scale")
    for number, entrant in enumerate(entrants):
        if isinstance(entrant, dict) and isinstance(entrant.get("rating"), str):
            if scale not in (None, "go"):
                what = f"rating: {entrant['rating']!r} is a Go grade, but rating_scale is {scale!r}"
                step = 'set rating_scale = "go" under [tournament], or write ratings as numbers'
                raise InputRefused(what, place=place_of_key(path, text, ("entrants", number, "rating")), step=step)
            return "go"
    return scale


def format_options(path: Path, text: str, table: object, scale: object, under: KeyPath = ("format",)) -> Any:
    """Return the validated settings of a format; `under` is the place of its table in the file."""
    if not isinstance(table, dict) or "system" not in table:
        known = ", ".join(sorted(SYSTEMS))
        raise InputRefused(f'[format] needs system = "..."; known: {known}', place=place_of_key(path, text, under))
    system = table["system"]
    if not isinstance(system, str) or system_name(system) not in SYSTEMS:
        what = f"unknown format {system!r}{suggest(str(system), SYSTEMS)}"
        step = "list the formats: enginetour systems"
        raise UnknownName(what, place=place_of_key(path, text, (*under, "system")), step=step)
    model = options_model(system_name(system))
    settings = {key: value for key, value in table.items() if key != "system"}
    if scale == "go" and "base" in model.model_fields:
        settings.setdefault("base", grades.GO)  # McMahon bands are then grades
    try:
        return model.model_validate(settings)
    except ValidationError as error:
        raise validation_error(error, path, text, model, under=under, meant=_suggestion) from None
