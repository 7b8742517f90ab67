"""Tests of the JSON Schema of configurations."""

from __future__ import annotations

import json

from enginetour.formats.base import SYSTEMS
from enginetour.tournament.config.reference import json_schema


def test_the_schema_is_complete() -> None:
    """The schema is valid JSON, its references exist, and each format has its own settings."""
    schema = json_schema()
    text = json.dumps(schema)
    for reference in text.split('"$ref": "')[1:]:
        name = reference.partition('"')[0]
        assert name.removeprefix("#/$defs/") in schema["$defs"], name
    formats = {one["properties"]["system"]["const"]: one for one in schema["properties"]["format"]["oneOf"]}
    assert set(formats) == set(SYSTEMS) and "size" in formats["bubble"]["properties"]
    assert all(one["required"][0] == "system" and one["additionalProperties"] is False for one in formats.values())
    assert set(schema["required"]) == {"tournament", "format", "entrants"}
