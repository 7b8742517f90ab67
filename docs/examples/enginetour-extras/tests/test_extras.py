"""What the three plug-ins do. The laws that they must keep are in enginetour.testing."""

import json
from pathlib import Path

from enginetour_extras import fast, lines, sans

from enginetour.ratings.incremental import RatedGame


def test_a_win_is_worth_fifty_points() -> None:
    """With K = 100, a win between equal engines changes both ratings by 50 points."""
    first, second = fast.PLUGIN.rate([RatedGame("A", "B", 2, 1)], fast.PLUGIN.settings, {"A": 2000, "B": 2000})
    assert (first.after, second.after) == (2050, 1950)


def test_each_event_is_a_line(tmp_path: Path) -> None:
    """The file has one line of JSON for each event."""
    for number in (1, 2):
        lines.send(lines.Settings(file="log.txt"), {"event": "incident", "game": number, "text": "a\nb"}, tmp_path)
    assert [json.loads(line)["game"] for line in (tmp_path / "log.txt").read_text().splitlines()] == [1, 2]


def test_each_line_is_an_opening(tmp_path: Path) -> None:
    """An opening has the text of its line as its name, and the line in errors about its moves."""
    (tmp_path / "book.sans").write_bytes(sans.PLUGIN.example)
    first, second = sans.read(tmp_path / "book.sans")
    assert (first.name, second.sans) == ("e4 e5 Nf3", ((2, "d4"), (2, "d5"), (2, "c4")))
