"""Tests of interop/gametags."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from enginetour.cli.main import cli
from enginetour.interop.gamefilter import GameFilter
from enginetour.interop.gametags import _handicap_bands, _is_standard
from enginetour.interop.pgn import PIECE, read_games, scan
from enginetour.interop.tally import OF_VARIANT
from enginetour.model.game import Outcome
from enginetour.reports.pgn import export_pgn
from enginetour.store.check import inspect
from enginetour.store.definition import ListDefinition
from enginetour.store.games import head_to_head
from enginetour.store.lists import rate_selection
from enginetour.store.ratings import ratings_of, update_ratings
from enginetour.store.selection import select_games
from enginetour.store.tournaments import Store
from tests.support.databases import add_game, draft, enter, game, invoke, meddled, rows
from tests.support.tournaments import tour, unwrapped

# Games at odds in files are recognized by their tags and left out of lists unless requested.

ODDS = (0, 2, -1, 0, 1, 0)  # bands that White gives, game by game
RESULTS = (Outcome.WHITE, Outcome.DRAW, Outcome.BLACK, Outcome.DRAW, Outcome.BLACK, Outcome.BLACK)


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """Write the export of a tournament with a handicap in three of six games."""
    path = tmp_path / "handicap.pgn"
    with Store.open(tmp_path / "home.db") as store:
        log = store.create_tournament(draft())
        for meeting, (bands, outcome) in enumerate(zip(ODDS, RESULTS, strict=True), 1):
            made = game(outcome=outcome, meeting=meeting)
            clocks = ("60+0.5", "180+2") if bands > 0 else ("180+2", "60+0.5" if bands else "180+2")
            pairing = replace(made.pairing, handicap=bands)
            add_game(log, replace(made, pairing=pairing, white_tc=clocks[0], black_tc=clocks[1]))
        path.write_text("".join(export_pgn(log)))
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
    """The handicap is the number of bands, or unknown; empty and negative values are no odds."""
    assert _handicap_bands({name.encode(): value.encode() for name, value in tags.items()}) == bands


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
    """Lists of an exported file agree with those of the database, with and without games at odds."""
    definition = ListDefinition.model_validate(parts)
    with Store.open(tmp_path / "home.db") as home, Store.open(tmp_path / "away.db") as away:
        assert (enter(away, export).games, enter(home, export).games) == (6, 0)
        ours, theirs = (
            rate_selection(home, select_games(home, definition)),
            rate_selection(away, select_games(away, definition)),
        )
        assert [(row.name, row.rating, row.games) for row in theirs.rows] == [
            (row.name, row.rating, row.games) for row in ours.rows
        ]
        assert theirs.caption == ours.caption
        assert select_games(away, definition).left_out == select_games(home, definition).left_out


def test_even_systems_and_tests_leave_them_out(tmp_path: Path, export: Path) -> None:
    """Incremental ratings, sequential tests and the import's list count three games of six."""
    with Store.open(tmp_path / "x.db") as away:
        found = enter(away, export, "club")
        assert (found.games, found.odds) == (6, 3)
        update_ratings(away, "elo")
        assert ratings_of(away, "elo")["Fruit"][1] == 3
        assert len(head_to_head(away.database, "Fruit", "Toga").games) == 3
    told = invoke(tmp_path, "import", "--list").output
    assert "at odds" in told
    own = invoke(tmp_path, "ratings", "-t", "club").output
    assert "games at time odds, not rated: 3; the engine giving odds scored" in " ".join(own.split())


@pytest.mark.parametrize("change", [("", ""), ("[White ", "%\n[White "), ("\n", "\r\n")])
def test_both_readers_know_them(tmp_path: Path, export: Path, change: tuple[str, str]) -> None:
    """Both readers recognize games at odds, in columns and in a tally."""
    export.write_bytes(export.read_bytes().decode().replace(*change).encode() if change[0] else export.read_bytes())
    games = read_games([export])
    assert games.odds == {1: 2, 2: -1, 4: 1}
    assert set(games.black_control) == {1, 2, 4}
    assert scan([export]).pairs(str)[0].games.sum() == 3
    assert scan([export], take_odds=True).pairs(str)[0].games.sum() == 6


def test_a_piece_of_long_games_is_looked_through(tmp_path: Path, export: Path) -> None:
    """One game at odds among thousands is left out, with short and long games."""
    plain = '[Event "E"]\n[White "A"]\n[Black "B"]\n[Result "1-0"]\n\n1. e4 {%s} 1-0\n\n'
    odd = plain.replace('"1-0"]', '"1-0"]\n[Handicap "White gives 1"]')
    for moves in ("", "+0.31/18 0.104s " * 100):
        path = tmp_path / "many.pgn"
        number = 3 * PIECE // (len(plain) + len(moves))
        path.write_text(plain % moves * number + odd % moves + plain % moves * number)
        assert scan([path]).pairs(str)[0].games.sum() == 2 * number


def test_rate_leaves_them_out_and_says_so(tmp_path: Path, export: Path) -> None:
    """`rate` leaves out games at odds with a note, like lists of the database."""
    text = export.read_text()
    second = text.split("\n\n[Event")[1].replace('[Result "1/2-1/2"]', '[Result "*"]')
    export.write_text(f"{text}[Event{second}\n\n")
    told = unwrapped(CliRunner().invoke(cli, ["rate", str(export), "--json"]).stdout)
    assert (told["games"], told["left_out"]["apart"], told["left_out"]["others"]) == (3, {"odds": 3}, {"*": 1})


def test_the_check_counts_them(tmp_path: Path, export: Path) -> None:
    """`check` compares games at odds with the numbers of the import."""
    with Store.open(tmp_path / "away.db") as away:
        enter(away, export)
        assert inspect(away).findings == ()
        assert [row[9] for row in rows(tmp_path / "away.db", "imported_games")].count("") == 3
    meddled(tmp_path / "away.db", "UPDATE imports SET odds_games = 2")
    with Store.open(tmp_path / "away.db") as away:
        assert "it had 2 games at time odds, but 3 were found" in [one.what for one in inspect(away).findings]


VARIANT_RESULTS = ("1-0", "1/2-1/2", "0-1", "1-0")
MOVES = "1. e4 {[%eval 0.1]} e5 " * 60  # a header is a small part of a game
PLAIN, LONG = "1. e4 ", MOVES


def games(white: str, black: str, tag: str = "", moves: str = PLAIN) -> str:
    """Return four games; `tag` is the value of a Variant tag."""
    variant = f'[Variant "{tag}"]\n' if tag else ""
    return "".join(
        f'[Event "E"]\n[White "{white}"]\n[Black "{black}"]\n[Result "{result}"]\n{variant}\n{moves}{result}\n\n'
        for result in VARIANT_RESULTS
    )


def names(found: dict[str, Any]) -> set[str]:
    return {row["name"] for row in found["list"]}


@pytest.mark.parametrize(
    ("value", "standard"),
    [(b"Standard", True), (b"", True), (b"?", True), (b"From Position", True), (b"chess960", False), (b"\xff", False)],
)
def test_which_values_are_standard(value: bytes, standard: bool) -> None:
    """Usual spellings of standard chess are recognized; other values are variants."""
    assert _is_standard(value) is standard


@pytest.mark.parametrize("moves", [PLAIN, LONG])
@pytest.mark.parametrize("black", ["[Black ", "[Black  "], ids=["quick", "careful"])
def test_the_scan_sets_other_variants_aside(tmp_path: Path, moves: str, black: str) -> None:
    """The scan sets games of variants aside, whichever reader is used."""
    path = tmp_path / "mixed.pgn"
    path.write_text((games("A", "B", "", moves) + games("A", "B", "Crazyhouse", moves)).replace("[Black ", black))
    assert scan([path]).results.tobytes().count(OF_VARIANT) == len(VARIANT_RESULTS)
    kept = read_games([path])
    assert len(kept.variants) == len(VARIANT_RESULTS)
    assert GameFilter().taken(kept)[1] == {"variant": len(VARIANT_RESULTS)}
    assert GameFilter(variant="crazyhouse").taken(kept)[1] == {"variant": len(VARIANT_RESULTS)}


def test_a_word_in_a_comment_is_none(tmp_path: Path) -> None:
    """Text in moves that looks like a Variant tag is ignored."""
    path = tmp_path / "comment.pgn"
    path.write_text(games("A", "B", moves='1. e4 {\n[Variant "Atomic"]\n} '))
    assert not scan([path]).results.tobytes().count(OF_VARIANT)
    assert not read_games([path]).variants


def test_a_list_of_files_is_of_one_variant(tmp_path: Path) -> None:
    """A list of files is of standard chess unless a variant is given, with a note about other games."""
    path = tmp_path / "mixed.pgn"
    path.write_text(games("A", "B", "Standard") + games("C", "D", "Fischerandom") + games("E", "F", "Atomic"))
    assert names(unwrapped(tour(tmp_path, "rate", str(path), "--json").stdout)) == {"A", "B"}
    assert "games left out: 8 of other variants (chess960 4, atomic 4; select one with --variant NAME)" in " ".join(
        tour(tmp_path, "rate", str(path)).stdout.split()
    )
    shuffled = unwrapped(tour(tmp_path, "rate", str(path), "--variant", "chess960", "--json").stdout)
    assert names(shuffled) == {"C", "D"}
    done = tour(tmp_path, "rate", str(path), "--variant", "atomics", expect=2)
    assert "did you mean 'atomic'" in done.stderr


def test_a_file_of_another_variant_is_told(tmp_path: Path) -> None:
    """A list without a game raises an error that names the variant of the file."""
    path = tmp_path / "frc.pgn"
    path.write_text(games("C", "D", "chess 960"))
    assert "4 of other variants (chess960 4; select one with --variant NAME" in " ".join(
        tour(tmp_path, "rate", str(path), expect=3).stderr.split()
    )


def test_an_import_is_of_one_variant(tmp_path: Path) -> None:
    """An import is of standard chess unless a variant is given, with a note about other games."""
    (tmp_path / "results").mkdir()
    (tmp_path / "mixed.pgn").write_text(games("A", "B") + games("C", "D", "Atomic"))
    (tmp_path / "atomic.pgn").write_text(games("C", "D", "Atomic"))
    assert "games left out: 4 of other variants" in tour(tmp_path, "import", "mixed.pgn").stdout
    assert names(unwrapped(tour(tmp_path, "ratings", "--all", "--json").stdout)) == {"A", "B"}
    assert "4 of other variants" in tour(tmp_path, "import", "atomic.pgn", expect=3).stderr
    told = " ".join(tour(tmp_path, "import", "mixed.pgn", "--variant", "atomic", "--name", "loud").stdout.split())
    assert "4 games imported" in told and "games left out: 4 of other variants (standard 4;" in told
    assert "nothing new" in tour(tmp_path, "import", "mixed.pgn").stdout
    for more in ((), ("--as-of", "2100-01-01"), ("--tc", "*")):  # by kept counts, and by games
        every = ("ratings", "--all", "--json", *more)
        assert names(unwrapped(tour(tmp_path, *every).stdout)) == {"A", "B"}
        assert names(unwrapped(tour(tmp_path, *every, "--variant", "atomic").stdout)) == {"C", "D"}
    assert "have no games" in tour(tmp_path, "ratings", "--all", "--sprt", "C", "D", "0", "5", expect=2).stderr
    assert names(unwrapped(tour(tmp_path, "ratings", "--all", "--system", "elo", "--json").stdout)) == {"A", "B"}
    assert tour(tmp_path, "db", "check").stdout.startswith("sound")
    assert "did you mean 'atomic'" in tour(tmp_path, "import", "mixed.pgn", "--variant", "atomics", expect=2).stderr
