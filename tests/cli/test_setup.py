"""Commands for the time before the first game."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.tournaments import tour


def test_init_names_the_schema_of_its_configuration(tmp_path: Path) -> None:
    """The first line is for editors with Taplo; the file that it names has every section."""
    tour(tmp_path, "init", "night.toml", "--engine", "wren1", "--engine", "wren2")
    first = (tmp_path / "night.toml").read_text("utf-8").splitlines()[0]
    assert first == "#:schema results/configuration.schema.json"
    schema = json.loads((tmp_path / "results" / "configuration.schema.json").read_text("utf-8"))
    sections = {"tournament", "format", "play", "quality", "ratings", "notify", "report", "defaults", "entrants"}
    assert sections == set(schema["properties"])
