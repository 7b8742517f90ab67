"""Reference of all configuration keys, and the JSON Schema of a configuration file, both from the pydantic models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from enginetour.engines.enginefile import file_model
from enginetour.formats.base import SYSTEMS, options_model
from enginetour.interop.toml import toml_value
from enginetour.ratings.systems import SYSTEMS as RATINGS
from enginetour.tournament.config.league import LeagueSection
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

_Schema = Mapping[str, Any]
_ENGINE_TABLES = ("quirks", "resources")  # tables of an engine file, which an entrant may have too
# Keys that also accept text, which a validator converts: a grade, a file, directories as in PATH, or "all".
_ALSO_TEXT = {
    "DefaultsSection": ("own_book",),
    "EntrantSection": ("own_book", "rating"),
    "TableSettings": ("path",),
    "PlaySection": ("pgn",),
    "CzechSettings": ("start_value",),
    "EgfSettings": ("start_value",),
    "Egf2021Settings": ("start_value",),
}


class _File(BaseModel):
    """A configuration file of enginetour: a tournament between chess engines."""

    model_config = ConfigDict(extra="forbid", title="enginetour configuration")
    tournament: TournamentSection = Field(description="Name, random seed and starting list.")
    format: dict[str, Any] = Field(description="Tournament format and its settings.")
    play: PlaySection | None = Field(default=None, description="Time control, concurrency, openings and rules.")
    quality: QualitySection | None = Field(default=None, description="Limits of failures of an engine.")
    ratings: RatingsSection | None = Field(default=None, description="Rating systems and their settings.")
    notify: NotifySection | None = Field(default=None, description="Notifications.")
    report: ReportSection | None = Field(default=None, description="HTML report.")
    defaults: DefaultsSection | None = Field(default=None, description="Settings of all entrants.")
    entrants: Annotated[list[EntrantSection], Field(min_length=1)] = Field(description="Entrants, best first.")


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """A key of a configuration or of an engine file.

    Attributes:
        key: Path with dots, such as ``play.draw.movecount``.
        type: ``string``, ``integer``, ``number``, ``boolean``, ``table``, ``list of string``; several joined by "or".
        default: Default as TOML, or "" if there is none.
        allowed: Allowed values or range; "" if every value of the type is allowed.
        required: Whether the key must be given in its table.
        description: Description in one or two sentences.
        systems: The formats that have the key; empty outside of ``[format]``.
    """

    key: str
    type: str
    default: str
    allowed: str
    required: bool
    description: str
    systems: tuple[str, ...] = ()


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a configuration file, for editors such as Taplo."""
    schema = _File.model_json_schema()
    definitions = schema["$defs"]
    engine_file = file_model().model_json_schema()
    definitions |= engine_file["$defs"]
    for name in ("DefaultsSection", "EntrantSection"):
        for key in _ENGINE_TABLES:
            entry = definitions[name]["properties"][key]
            definitions[name]["properties"][key] = {
                "description": entry["description"],
                "$ref": f"#/$defs/{key.title()}",
            }
    for name, keys in _ALSO_TEXT.items():
        for key in keys:
            entry = definitions[name]["properties"][key]
            about = {each: entry.pop(each) for each in ("default", "description", "title") if each in entry}
            definitions[name]["properties"][key] = {
                "anyOf": [*entry.get("anyOf", [entry]), {"type": "string"}],
                **about,
            }
    definitions["RatingsSection"]["properties"]["systems"]["items"]["enum"] = ["ml", *RATINGS]
    formats: list[_Schema] = []
    for name, system in SYSTEMS.items():
        made = options_model(name).model_json_schema()
        definitions |= made.pop("$defs", {})
        made["properties"] = {"system": {"const": name, "description": system.summary}, **made["properties"]}
        formats.append({**made, "required": ["system", *made.get("required", ())]})
    described = schema["properties"]["format"]["description"]
    schema["properties"]["format"] = {"description": described, "oneOf": formats}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def list_keys() -> list[ConfigKey]:
    """List all keys of a configuration file, section by section. Formats with the same key share an item."""
    schema = json_schema()
    found: list[ConfigKey] = []
    for section, properties in schema["properties"].items():
        if section != "format":
            found += _keys_of(_alternatives(properties, schema)[0], schema, section)
            continue
        shared: dict[ConfigKey, list[str]] = {}
        for made in properties["oneOf"]:
            for key in _keys_of(made, schema, section):
                if key.key != "format.system":
                    shared.setdefault(key, []).append(made["properties"]["system"]["const"])
        names = ", ".join(toml_value(name) for name in SYSTEMS)
        found.append(ConfigKey("format.system", "string", "", names, required=True, description="Tournament format."))
        found += [_of_systems(key, systems) for key, systems in shared.items()]
    return found


def list_league_keys() -> list[ConfigKey]:
    """List all keys of the section ``[league]`` of a league file."""
    schema = LeagueSection.model_json_schema()
    return list(_keys_of(schema, schema, "league"))


def list_engine_keys() -> list[ConfigKey]:
    """List all keys of an engine file."""
    schema = file_model().model_json_schema()
    return list(_keys_of(schema, schema, ""))


def _of_systems(key: ConfigKey, systems: list[str]) -> ConfigKey:
    return ConfigKey(key.key, key.type, key.default, key.allowed, key.required, key.description, tuple(systems))


def _keys_of(table: _Schema, schema: _Schema, path: str) -> Iterator[ConfigKey]:
    for name, entry in table["properties"].items():
        key, kinds = f"{path}.{name}" if path else name, _alternatives(entry, schema)
        default = entry.get("default")
        yield ConfigKey(
            key=key,
            type=" or ".join(dict.fromkeys(_type(kind, schema) for kind in kinds)),
            default="" if default is None or isinstance(default, dict) else toml_value(default),
            allowed=" or ".join(filter(None, map(_allowed, kinds))),
            required=name in table.get("required", ()),
            description=entry.get("description", ""),
        )
        for kind in kinds:
            if "properties" in kind and not (path in ("defaults", "entrants") and name in _ENGINE_TABLES):
                yield from _keys_of(kind, schema, key)


def _alternatives(entry: _Schema, schema: _Schema) -> list[_Schema]:
    """Return the kinds of value that an entry allows, except null. For a list of tables, return the table."""
    if "$ref" in entry:
        return _alternatives(schema["$defs"][entry["$ref"].rpartition("/")[2]], schema)
    for key in ("anyOf", "oneOf", "allOf"):
        if key in entry:
            return [kind for each in entry[key] for kind in _alternatives(each, schema)]
    if entry.get("type") == "array" and "properties" in (item := _items(entry, schema)[0]):
        return [item]
    return [] if entry.get("type") == "null" else [entry]


def _items(entry: _Schema, schema: _Schema) -> list[_Schema]:
    items = entry.get("prefixItems", [entry["items"]] if "items" in entry else [{}])
    return [kind for item in items for kind in _alternatives(item, schema)]


def _type(kind: _Schema, schema: _Schema) -> str:
    if "enum" in kind or "const" in kind:
        return "string"
    found: str | list[str] = kind.get("type", "any")
    if found == "array":
        return f"list of {' or '.join(dict.fromkeys(_type(item, schema) for item in _items(kind, schema)))}"
    return " or ".join(found) if isinstance(found, list) else "table" if found == "object" else found


def _allowed(kind: _Schema) -> str:
    if kind.get("type") == "array":
        return _allowed(kind.get("items", {}))
    if "enum" in kind or "const" in kind:
        return ", ".join(toml_value(value) for value in kind.get("enum", [kind.get("const")]))
    low, above = kind.get("minimum"), kind.get("exclusiveMinimum")
    high, below = kind.get("maximum"), kind.get("exclusiveMaximum")
    if low is not None and high is not None:
        return f"{_number(low)} to {_number(high)}"
    ends = (("at least", low), ("above", above), ("at most", high), ("below", below))
    return ", ".join(f"{words} {_number(end)}" for words, end in ends if end is not None)


def _number(value: float) -> str:
    return f"{value:g}" if abs(value) < 10**6 else str(value)
