"""The JSON Schema of a configuration file, from the pydantic models of its sections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from enginetour.engines.enginefile import file_model
from enginetour.formats.base import SYSTEMS, options_model
from enginetour.ratings.systems import SYSTEMS as RATINGS
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
ENGINE_TABLES = ("quirks", "resources")  # tables of an engine file, which an entrant may have too
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


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a configuration file, for editors such as Taplo."""
    schema = _File.model_json_schema()
    definitions = schema["$defs"]
    engine_file = file_model().model_json_schema()
    definitions |= engine_file["$defs"]
    for name in ("DefaultsSection", "EntrantSection"):
        for key in ENGINE_TABLES:
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
