"""Cute Chess's list of engines: what of it our engine files say, and what is said beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from enginetour.engines.enginefile import read_entry
from enginetour.engines.enginesjson import read_engines
from enginetour.model.errors import InputRefused
from tests.support.tournaments import tour

KITE: dict[str, Any] = {
    "name": "Kite 2.0 / dev",
    "command": "./kite",
    "workingDirectory": "engines of mine",
    "stderrFile": "",
    "protocol": "uci",
    "timeoutScaleFactor": 1,
    "options": [
        {"name": "Hash", "type": "spin", "value": 64, "default": 16, "min": 1, "max": 1024},
        {"name": "Threads", "type": "spin", "value": 1, "default": 1, "min": 1, "max": 8},
        {"name": "Clear Hash", "type": "button", "value": None},
        {"name": "Own Book", "type": "check", "value": False, "default": True},
    ],
}
HERON: dict[str, Any] = {
    "name": "Heron",
    "command": "heron -x --quiet",
    "protocol": "xboard",
    "initStrings": ["random", "book off"],
    "whitepov": True,
    "restart": "on",
    "ponder": True,
    "timeoutScaleFactor": 2,
    "variants": ["standard", "fischerandom"],
}


def listed(tmp_path: Path, *rows: object) -> Path:
    """A list as Cute Chess writes it."""
    path = tmp_path / "engines.json"
    path.write_text(json.dumps(rows))
    return path


def test_what_an_engine_file_says(tmp_path: Path) -> None:
    """Options that differ from the engine's own, lines at the start, point of view, restart; the program absolute."""
    (tmp_path / "engines of mine").mkdir()
    (tmp_path / "engines of mine" / "kite").touch()
    (kite, heron), skipped = read_engines(listed(tmp_path, KITE, HERON))
    assert not skipped
    assert kite.entry.id == "kite-2.0-dev"
    assert kite.entry.command == (str(tmp_path / "engines of mine" / "kite"),)
    assert kite.entry.options == {"Hash": 64, "Own Book": False}
    assert not kite.said
    assert heron.entry.command == ("heron", "-x", "--quiet")
    assert heron.entry.protocol == "cecp"
    assert heron.entry.quirks.init == ("random", "book off")
    assert heron.entry.quirks.whitepov
    assert heron.entry.quirks.restart
    assert [words.partition(":")[0] for words in heron.said] == ["ponder", "timeoutScaleFactor", "variants"]


def test_a_list_from_windows_keeps_its_paths(tmp_path: Path) -> None:
    """It said ``C:Enginesmy kite.exe`` in two words, which nobody finds and mends."""
    row = {"name": "K", "command": "C:\\Engines\\my kite.exe", "workingDirectory": "C:\\Engines", "protocol": "uci"}
    ((one,), _) = read_engines(listed(tmp_path, row))
    assert one.entry.command == ("C:\\Engines\\my kite.exe",)
    assert one.entry.dir == "C:\\Engines"


def test_engines_of_one_name_have_ids_of_their_own(tmp_path: Path) -> None:
    """The later ones are numbered."""
    found, _ = read_engines(listed(tmp_path, HERON, HERON, {**HERON, "name": "heron"}))
    assert [one.entry.id for one in found] == ["heron", "heron-2", "heron-3"]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (7, "no table"),
        ({**HERON, "protocol": "uci2"}, "protocol is uci or xboard, found 'uci2'"),
        ({**HERON, "name": ""}, "no name: name and command are needed"),
        ({**HERON, "command": 3}, "command is text, found 3"),
        ({**HERON, "command": "'"}, "No closing quotation"),
        ({**HERON, "initStrings": ["a\nb"]}, "init"),
    ],
)
def test_what_is_no_engine_is_left_out_by_number(tmp_path: Path, row: object, told: str) -> None:
    """The others come all the same."""
    found, skipped = read_engines(listed(tmp_path, row, KITE))
    assert [one.entry.name for one in found] == ["Kite 2.0 / dev"]
    assert len(skipped) == 1
    assert skipped[0].startswith("engine 1: ")
    assert told in skipped[0]


@pytest.mark.parametrize("text", ["", "{}", "[1", "[" * 100_000])
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    """With its name."""
    path = tmp_path / "engines.json"
    path.write_text(text)
    with pytest.raises(InputRefused, match=r"engines\.json"):
        read_engines(path)


def test_import_writes_files_and_leaves_those_that_are_there(tmp_path: Path) -> None:
    """A second time nothing is written."""
    (tmp_path / "engines").mkdir()
    path = listed(tmp_path, KITE, HERON, 7)
    told = tour(tmp_path, "engines", "import", path.name)
    assert "2 engine files written" in told.stdout
    assert "left out, engine 3: no table" in told.stderr
    assert read_entry(tmp_path / "engines" / "heron.toml").quirks.whitepov
    again = tour(tmp_path, "engines", "import", path.name)
    assert "0 engine files written" in again.stdout
    assert "heron: there is an engine file of this name, left as it is" in again.stderr
    config = 'cutechess-cli -engine conf=Heron -engine conf="Kite 2.0 / dev" -each tc=1+0.01 -rounds 2'
    tour(tmp_path, "init", "it.toml", "--from-command", config)
    assert 'engine = "heron"' in (tmp_path / "it.toml").read_text()
