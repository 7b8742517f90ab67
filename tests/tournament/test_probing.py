"""Tests of warnings about openings that an engine does not support."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from enginetour.model.errors import EngineRefused
from enginetour.model.game import Opening, Pairing
from enginetour.model.task import EngineSpec, ProbeResult, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.openings.books import read_openings
from enginetour.openings.choice import OpeningBook
from enginetour.openings.polyglot import BookLines
from enginetour.openings.positions import needs_setboard
from enginetour.tournament.probing import unsupported_openings
from tests.support.tournaments import config, scripted, tour, unwrapped

ENDING = "4k3/8/8/8/8/8/4P3/4K3 b - - 0 1"
NO_RIGHTS = "r3k2r/8/8/8/8/8/8/R3K2R w - - 0 1"
COUNTED = "4k3/8/8/8/8/8/4P3/4K3 w - - 7 40"
BOOK = (
    Opening("moves", 1, None, ("e2e4",)),
    Opening("ending", 2, ENDING),
    Opening("bare", 3, NO_RIGHTS),
    Opening("", 4, COUNTED),
)


def named(openings: tuple[Opening, ...], setboard: str | None, protocol: str = "cecp") -> list[str]:
    side = Side(EngineSpec("Shy", ("/x",), protocol), TimeControl.parse("1"))  # type: ignore[arg-type]
    features = () if setboard is None else (("setboard", setboard),)
    return list(
        unsupported_openings(OpeningBook(openings), {"Shy": side}, {"Shy": ProbeResult("Shy", features=features)})
    )


@pytest.mark.parametrize("setboard", ["0", None])
def test_what_edit_cannot_express(setboard: str | None) -> None:
    """Unsupported openings are counted and the first is named; Black to move and move counters are supported."""
    (words,) = named(BOOK, setboard)
    assert words.startswith(
        "Shy does not support setboard, so it cannot play 1 of 4 openings; the first of these is number 3 (bare): "
    )
    with pytest.raises(EngineRefused, match="cannot play any of 1 openings; the first of these is number 3"):
        named(BOOK[2:3], setboard)


def test_what_can_be_told() -> None:
    """Moves and plain positions are supported, and everything by engines with setboard or UCI."""
    assert not named(BOOK[:2], "0")
    assert not named(BOOK, "1")
    assert not named(BOOK, None, "uci")


def test_variants_begin_where_edit_does_not() -> None:
    """Positions of other variants are unsupported, because `edit` has only the pieces of chess."""
    shuffled = Opening("960", 1, "rkrnnqbb/pppppppp/8/8/8/8/PPPPPPPP/RKRNNQBB w KQkq - 0 1", (), "", "chess960")
    with pytest.raises(EngineRefused, match="cannot play any of 1 openings"):
        named((shuffled,), "0")


CASE = Path(__file__).parents[1] / "cases" / "openings" / "counters-and-rights.epd"


def test_spares_are_a_matter_of_the_numbers_alone() -> None:
    """Every game has an opening that edit can express, the same for both colors and for each replay."""
    book = OpeningBook(tuple(cast("Iterable[Opening]", read_openings(CASE))), seed=3, order="random")
    assert [needs_setboard(opening) for opening in book.openings] == [False, False, True, False]
    games = [Pairing("Shy", "Ada", n, leg, n) for n in range(1, 13) for leg in (1, 2)]
    spares = [spare for game in games if (spare := book.spare(game)) is not None]
    assert len(spares) == len(games)
    assert not any(map(needs_setboard, spares))
    assert spares[::2] == spares[1::2] == [book.spare(game) for game in games[::2]]
    assert replace(book, openings=(Opening("bare", 1, NO_RIGHTS),)).spare(games[0]) is None


def test_endless_lines_of_a_book_are_not_all_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an endless book only one line is checked, because all lines start in the initial position."""
    book = BookLines.__new__(BookLines)
    book.choice = "weight"
    monkeypatch.setattr(BookLines, "__getitem__", lambda book, place: BOOK[0])
    side = Side(EngineSpec("Shy", ("/x",), "cecp"), TimeControl.parse("1"))
    assert not list(unsupported_openings(OpeningBook(book), {"Shy": side}, {"Shy": ProbeResult("Shy")}))


@pytest.fixture
def shy(tmp_path: Path) -> Path:
    """Write a match of Wren 1 against an engine without setboard, with openings of suite.epd."""
    more = scripted("Shy", "cecp", "--fault", "no-setboard", "--moves", "e1d1/e8d8")
    more += 'limits = ["clock", "depth"]\n'
    return config(
        tmp_path, ("wren1",), "match", "games = 2", more, play='max_moves = 1\nopenings = { file = "suite.epd" }'
    )


def test_what_cannot_be_played_is_refused_before_game_1(shy: Path) -> None:
    """`check` and `run` name the engine, the opening and a solution, and start nothing."""
    shy.with_name("suite.epd").write_text(f"{NO_RIGHTS}\n")
    words = "Shy does not support setboard, so it cannot play any of 1 openings; the first of these is number 1: "
    for command in ("check", "run"):
        refused = tour(shy.parent, command, str(shy), expect=4)
        assert words in refused.stderr
    assert not (shy.parent / "results" / "enginetour.db").exists()


def test_another_opening_is_dealt(shy: Path) -> None:
    """Both games start from the only supported position, and `check` says so."""
    shy.with_name("suite.epd").write_text(f"{NO_RIGHTS}\n{COUNTED}\n")
    note = "warning: Shy does not support setboard, so it cannot play 1 of 2 openings"
    assert note in tour(shy.parent, "check", str(shy)).stdout
    run = tour(shy.parent, "run", str(shy))
    assert note in run.stdout
    games = unwrapped(tour(shy.parent, "games", "--json").stdout)
    assert len(games) == 2 and all(game["result"] != "*" for game in games)
    pgn = tour(shy.parent, "export", "pgn").stdout
    assert pgn.count('[FEN "4k3/') == 2
