"""An engine that is a script, written as a tester would write it (found by playing one from a file of his own)."""

from __future__ import annotations

from pathlib import Path

from enginetour.engines.enginefile import EngineEntry
from enginetour.engines.registry import to_spec
from tests.touring import config, read, tour

WREN = Path(__file__).parents[2] / "engines"


def test_a_script_is_found_from_the_folder_of_the_configuration(tmp_path: Path) -> None:
    """`command = ["python3", "mine/engine.py"]` plays, from whatever folder the engine itself is started in."""
    (tmp_path / "results").mkdir()
    (tmp_path / "mine").symlink_to(WREN)
    command = '["{python}", "mine/wren.py", "1"]'
    mine = f'\n[[entrants]]\nname = "Mine"\ncommand = {command}\nprotocol = "cecp"\nlimits = ["depth"]'
    path = config(tmp_path, ("wren1",), "roundrobin", "games_per_pairing = 2", mine)
    tour(tmp_path, "run", str(path))
    assert {row["name"] for row in read(tmp_path, "standings")["table"]} == {"Wren 1", "Mine"}


def test_only_words_that_name_a_file_there_are_changed(tmp_path: Path) -> None:
    """Flags, placeholders, plain words and paths to nothing stay as written."""
    (tmp_path / "net.bin").write_text("x")
    (tmp_path / "word").write_text("x")
    words = ("sh", "net.bin", "word", "--net.bin", "{scratch}/net.bin", "other/net.bin")
    spec = to_spec(EngineEntry("e", "E", words, "uci", folder=tmp_path))
    assert spec.command[1:] == (str(tmp_path / "net.bin"), *words[2:])
