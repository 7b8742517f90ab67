"""Tests of the reference of configuration keys and of the JSON Schema."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from enginetour.formats.base import SYSTEMS
from enginetour.tournament.config.reference import json_schema, list_keys, list_league_keys

KEYS = list_keys()


def test_every_key_has_a_description() -> None:
    """Every key has a description."""
    assert [key.key for key in KEYS if not key.description.strip()] == []


def test_what_a_line_holds() -> None:
    """Type, default and allowed values come from the models; formats that share a key share a line."""
    found = {key.key: key for key in KEYS if not key.systems}
    concurrency, score, order = found["play.concurrency"], found["play.draw.score"], found["play.openings.order"]
    assert (concurrency.type, concurrency.default, concurrency.allowed) == ("integer", "1", "1 to 1024")
    assert (score.type, score.required, score.default) == ("integer", True, "")
    assert (order.type, order.default, order.allowed) == ("string", '"random"', '"random", "sequential"')
    assert found["play.affinity"].type == "boolean or string"
    assert found["entrants.own_book.plies"].default == "40"
    assert found["entrants.rating"].type == "number or string"
    assert '"swiss"' in found["format.system"].allowed
    by_system = [key for key in KEYS if key.key == "format.size"]
    assert [key.systems for key in by_system] == [("bubble",)]
    assert {name for key in KEYS for name in key.systems} == set(SYSTEMS)


def paths(table: dict[str, Any], before: str = "") -> Iterator[str]:
    """Yield the keys of a TOML table with dots, including lists of tables."""
    for key, value in table.items():
        yield before + key
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, dict):
                yield from paths(each, f"{before}{key}.")


FREE = (
    "league.divisions.format",
    "league.divisions.play",
    "entrants.options",
    "entrants.env",
    "ratings.anchor",
    "entrants.quirks",
    "entrants.resources",
)


@pytest.mark.parametrize("path", sorted(Path(__file__).parents[3].glob("configs/*.toml")), ids=lambda path: path.stem)
def test_keys_of_bundled_configurations_are_listed(path: Path) -> None:
    """The keys of bundled configurations are in the reference."""
    known = {key.key for key in [*KEYS, *list_league_keys()]} | {
        "league",
        "tournament",
        "format",
        "play",
        "ratings",
        "entrants",
        "notify",
        "report",
    }
    used = {
        key
        for key in paths(tomllib.loads(path.read_text("utf-8")))
        if not key.startswith(tuple(f"{one}." for one in FREE))
    }
    assert used <= known


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
