"""What the next edition of a tournament has of its own."""

from __future__ import annotations

from pathlib import Path

from tests.touring import config, read, tour


def test_the_next_edition_has_other_openings(tmp_path: Path) -> None:
    """Engines that always move alike would play every game of the last edition again, and it would count twice."""
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "cycles = 3")
    path.write_text(path.read_text().replace("seed = 4", 'seed = 4\norder = "file"'))
    tour(tmp_path, "run", path.name)
    tour(tmp_path, "run", path.name, "--new")
    first, second = (
        [read(tmp_path, "games", str(number), "--edition", edition)["opening"]["name"] for number in (1, 2, 3)]
        for edition in ("1", "2")
    )
    assert not set(first) & set(second)
