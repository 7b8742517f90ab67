"""How the rounds of a tournament were paired, as a table."""

from __future__ import annotations

from pathlib import Path

from enginetour.model.game import Note
from enginetour.reports.standings import pairing_figures, pairing_report
from tests.pastfields import field_of, rated
from tests.touring import config, read, tour


def test_a_row_a_round_and_one_for_all() -> None:
    """Floats, gaps, rematches and who rested, with the guarantee noted when the round was paired."""
    field = field_of(rated(4, 3, 2, 1), "A1B C1D", "A1C B=D", "A1B C0D")
    notes = (Note("round", "", (("round", 2), ("guarantee", "by rule"))), Note("add", ""))
    rows = pairing_report("", pairing_figures(field), notes).rows
    assert [row["round"] for row in rows] == [1, 2, 3, None]
    assert [row["boards"] for row in rows] == [2, 2, 2, 6]
    assert [row["floats"] for row in rows] == [0, 0, 2, 2]
    assert [row["widest"] for row in rows] == [0, 0, 1.5, 1.5]
    assert [row["rematches"] for row in rows] == [0, 0, 2, 2]
    assert [row["guarantee"] for row in rows] == [None, "by rule", None, None]


def test_the_command(tmp_path: Path) -> None:
    """Rounds of a tournament played, as JSON and for people; a bubble has none."""
    tour(tmp_path, "run", str(config(tmp_path, ("wren1", "wren2", "wren3"), "dutch", "rounds = 2")))
    rounds = read(tmp_path, "standings", "--pairing-report")["rounds"]
    assert [(row["round"], row["boards"], row["without"]) for row in rounds] == [(1, 1, 1), (2, 1, 1), (None, 2, 2)]
    assert rounds[0]["guarantee"] == "maximum weight, certified"
    told = tour(tmp_path, "standings", "--pairing-report").stdout
    assert "RMS gap  proof" in told and "\n[1] maximum weight, certified\n" in told
    assert max(map(len, told.splitlines())) <= 80
    tour(
        tmp_path, "run", str(config(tmp_path, ("wren1", "wren2", "wren3"), name="other")), "--max-games", "1", expect=8
    )
    assert "is not paired in rounds" in tour(tmp_path, "standings", "--pairing-report", expect=2).stderr
