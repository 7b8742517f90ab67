"""Games of files at odds: known by their tags, in no list of even games, and there when they are asked for."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from enginetour.cli.main import cli
from enginetour.interop.gametags import bands_in
from enginetour.interop.pgn import PIECE, read_games, scan
from enginetour.model.game import Outcome
from enginetour.reports.pgn import games_text
from enginetour.store.check import inspect
from enginetour.store.definition import ListDefinition
from enginetour.store.games import meetings
from enginetour.store.lists import list_of
from enginetour.store.ratings import ratings_of, refresh
from enginetour.store.selection import selected
from enginetour.store.tournaments import Store
from tests.storing import add_game, draft, game, meddled
from tests.test_imports import enter, invoke, rows

ODDS = (0, 2, -1, 0, 1, 0)  # bands that White gives, game by game
RESULTS = (Outcome.WHITE, Outcome.DRAW, Outcome.BLACK, Outcome.DRAW, Outcome.BLACK, Outcome.BLACK)


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """A tournament of Fruit and Toga with a handicap in three of its six games, as it is exported."""
    path = tmp_path / "handicap.pgn"
    with Store.open(tmp_path / "home.db") as store:
        log = store.create_tournament(draft())
        for meeting, (bands, outcome) in enumerate(zip(ODDS, RESULTS, strict=True), 1):
            made = game(outcome=outcome, meeting=meeting)
            clocks = ("60+0.5", "180+2") if bands > 0 else ("180+2", "60+0.5" if bands else "180+2")
            pairing = replace(made.pairing, handicap=bands)
            add_game(log, replace(made, pairing=pairing, white_tc=clocks[0], black_tc=clocks[1]))
        path.write_text("".join(games_text(log)))
    return path


@pytest.mark.parametrize(
    ("tags", "bands"),
    [
        ({}, 0),
        ({"Handicap": "White gives 2"}, 2),
        ({"Handicap": "Black gives 13"}, -13),
        ({"Handicap": "two stones"}, None),
        ({"Handicap": "none"}, 0),
        ({"Odds": "Queen"}, None),
        ({"TimeOdds": "-"}, 0),
        ({"Handicap": "White gives 1", "TimeOdds": "2:1"}, 1),
        ({"Oddsmaker": "Queen"}, 0),
    ],
)
def test_what_tags_say(tags: dict[str, str], bands: int | None) -> None:
    """Bands where our own words tell them, else that there are odds; blank words and denials are none."""
    assert bands_in({name.encode(): value.encode() for name, value in tags.items()}) == bands


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"odds": True},
        {"time_classes": ("blitz",)},
        {"time_classes": ("odds",), "odds": True},
        {"tc": ("60*",), "odds": True},
    ],
)
def test_lists_elsewhere_are_those_at_home(tmp_path: Path, export: Path, parts: dict[str, Any]) -> None:
    """The same games, ratings and caption, with and without games at odds, by class and by control."""
    definition = ListDefinition.model_validate(parts)
    with Store.open(tmp_path / "home.db") as home, Store.open(tmp_path / "away.db") as away:
        assert (enter(away, export).games, enter(home, export).games) == (6, 0)
        ours, theirs = list_of(home, selected(home, definition)), list_of(away, selected(away, definition))
        assert [(row.name, row.rating, row.games) for row in theirs.rows] == [
            (row.name, row.rating, row.games) for row in ours.rows
        ]
        assert theirs.caption == ours.caption
        assert selected(away, definition).left_out == selected(home, definition).left_out


def test_even_systems_and_tests_leave_them_out(tmp_path: Path, export: Path) -> None:
    """Incremental ratings, a sequential test and the import's own list count three games of six."""
    with Store.open(tmp_path / "x.db") as away:
        found = enter(away, export, "club")
        assert (found.games, found.odds) == (6, 3)
        refresh(away, "elo")
        assert ratings_of(away, "elo")["Fruit"][1] == 3
        assert len(meetings(away.database, "Fruit", "Toga").games) == 3
    told = invoke(tmp_path, "import", "--list").output
    assert "at odds" in told
    own = invoke(tmp_path, "ratings", "-t", "club").output
    assert "games at odds, apart from the list: 3; the giver scored" in " ".join(own.split())


@pytest.mark.parametrize("change", [("", ""), ("[White ", "%\n[White "), ("\n", "\r\n")])
def test_both_readers_know_them(tmp_path: Path, export: Path, change: tuple[str, str]) -> None:
    """The quick one and the careful one, in columns and in a tally."""
    export.write_bytes(export.read_bytes().decode().replace(*change).encode() if change[0] else export.read_bytes())
    games = read_games([export])
    assert games.odds == {1: 2, 2: -1, 4: 1}
    assert set(games.black_control) == {1, 2, 4}
    assert scan([export]).pairs(str)[0].games.sum() == 3
    assert scan([export], take_odds=True).pairs(str)[0].games.sum() == 6


def test_a_piece_of_long_games_is_looked_through(tmp_path: Path, export: Path) -> None:
    """One game at odds among thousands, in files of short and of long games, is left out alone."""
    plain = '[Event "E"]\n[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n1. e4 {%s} 1-0\n\n'
    odd = plain.replace('"1-0"]', '"1-0"]\n[Handicap "White gives 1"]')
    for moves in ("", "+0.31/18 0.104s " * 100):
        path = tmp_path / "many.pgn"
        number = 3 * PIECE // (len(plain) + len(moves))
        path.write_text(plain % moves * number + odd % moves + plain % moves * number)
        assert scan([path]).pairs(str)[0].games.sum() == 2 * number


def test_rate_leaves_them_out_and_says_so(tmp_path: Path, export: Path) -> None:
    """As the lists of the store do; a game that is unfinished is told once."""
    text = export.read_text()
    second = text.split("\n\n[Event")[1].replace('[Result "1/2-1/2"]', '[Result "*"]')
    export.write_text(f"{text}[Event{second}\n\n")
    told = json.loads(CliRunner().invoke(cli, ["rate", str(export), "--json"]).stdout)
    assert (told["games"], told["left_out"]["apart"], told["left_out"]["others"]) == (3, {"odds": 3}, {"*": 1})


def test_the_check_counts_them(tmp_path: Path, export: Path) -> None:
    """The check compares games at odds with what the import says it brought."""
    with Store.open(tmp_path / "away.db") as away:
        enter(away, export)
        assert inspect(away).findings == ()
        assert [row[9] for row in rows(tmp_path / "away.db", "imported_games")].count("") == 3
    meddled(tmp_path / "away.db", "UPDATE imports SET odds = 2")
    with Store.open(tmp_path / "away.db") as away:
        assert "brought 2 games at odds, 3 are there" in [one.what for one in inspect(away).findings]
