"""Openings that an engine cannot be told are named before the first game."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from enginetour.model import Opening
from enginetour.openings import OpeningSuite
from enginetour.polyglot import BookLines
from enginetour.task import EngineSpec, Probe, Side
from enginetour.timecontrol import TimeControl
from enginetour.untellable import untellable
from tests.touring import config, tour

ENDING = "4k3/8/8/8/8/8/4P3/4K3 b - - 0 1"
NO_RIGHTS = "r3k2r/8/8/8/8/8/8/R3K2R w - - 0 1"
COUNTED = "4k3/8/8/8/8/8/4P3/4K3 w - - 7 40"
SUITE = (
    Opening("moves", 1, None, ("e2e4",)),
    Opening("ending", 2, ENDING),
    Opening("bare", 3, NO_RIGHTS),
    Opening("", 4, COUNTED),
)


def named(openings: tuple[Opening, ...], setboard: str | None, protocol: str = "cecp") -> list[str]:
    side = Side(EngineSpec("Shy", ("/x",), protocol), TimeControl.parse("1"))  # type: ignore[arg-type]
    features = () if setboard is None else (("setboard", setboard),)
    return list(untellable(OpeningSuite(openings), {"Shy": side}, {"Shy": Probe("Shy", features=features)}))


@pytest.mark.parametrize("setboard", ["0", None])
def test_what_edit_cannot_say(setboard: str | None) -> None:
    """Counted, and the first one by its number and name; a Black to move is no hindrance."""
    (words,) = named(SUITE, setboard)
    assert words.startswith("Shy has no setboard and cannot be told 2 of 4 openings, the first is number 3 (bare): ")
    (words,) = named(SUITE[3:], setboard)
    assert "1 of 1 openings, the first is number 4: " in words


def test_what_can_be_told() -> None:
    """Moves and plain positions; anything to engines with setboard and those of UCI."""
    assert not named(SUITE[:2], "0")
    assert not named(SUITE, "1")
    assert not named(SUITE, None, "uci")


def test_variants_begin_where_edit_does_not() -> None:
    """Its pieces are those of chess."""
    (words,) = named(
        (Opening("960", 1, "rkrnnqbb/pppppppp/8/8/8/8/PPPPPPPP/RKRNNQBB w KQkq - 0 1", (), "", "chess960"),), "0"
    )
    assert "1 of 1" in words


def test_endless_lines_of_a_book_are_not_all_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them start where every game does."""
    book = BookLines.__new__(BookLines)
    book.choice = "weight"
    monkeypatch.setattr(BookLines, "__getitem__", lambda book, place: SUITE[0])
    side = Side(EngineSpec("Shy", ("/x",), "cecp"), TimeControl.parse("1"))
    assert not list(untellable(OpeningSuite(book), {"Shy": side}, {"Shy": Probe("Shy")}))


def test_check_and_run_tell_it(tmp_path: Path) -> None:
    """Before anything is played."""
    script = Path(__file__).parent / "engines" / "scripted.py"
    command = [sys.executable, str(script), "--protocol", "cecp", "--fault", "no-setboard"]
    more = f'\n[[entrants]]\nname = "Shy"\nprotocol = "cecp"\ncommand = {command}\nlimits = ["clock", "depth"]\n'
    path = config(tmp_path, ("wren1",), "match", "games = 2", more)
    (tmp_path / "suite.epd").write_text(f"{NO_RIGHTS}\n")
    path.write_text(path.read_text().replace("[play]\n", '[play]\nopenings = { file = "suite.epd" }\n'))
    warning = "warning: Shy has no setboard and cannot be told 1 of 1 openings"
    assert warning in tour(tmp_path, "check", str(path)).stdout
    assert warning in tour(tmp_path, "run", str(path), "--max-games", "1", expect=None).stdout
