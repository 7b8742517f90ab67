from __future__ import annotations

from pathlib import Path

import pytest

from tests.touring import config, read, tour


@pytest.mark.parametrize("system", ["cup", "double-elimination"])
def test_the_pairing_report_of_a_knockout(tmp_path: Path, system: str) -> None:
    """The report asked a knock-out for a setting it does not have, and failed with a trace."""
    tour(tmp_path, "run", str(config(tmp_path, ("wren1", "wren2", "wren3"), system, "")), "--max-games", "2", expect=8)
    rounds = read(tmp_path, "standings", "--pairing-report")["rounds"]
    assert rounds[0]["boards"] == 1 and rounds[-1]["round"] is None


def test_a_knockout_ends_with_its_last_round(tmp_path: Path) -> None:
    """Decided before the most rounds it could have needed, it was told as finished in round 3 of more."""
    tour(tmp_path, "run", str(config(tmp_path, ("wren1", "wren4", "wren2"), "double-elimination", "")))
    number, rounds = read(tmp_path, "status")["round"]
    assert number == rounds
