"""A sequential test straight from PGN: which games are pairs, and that a file says what the store says."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from enginetour.cli.main import cli
from enginetour.interop.gamefilter import Naming
from enginetour.interop.gamepairs import match_games
from enginetour.interop.pgn import read_games
from enginetour.model.errors import UsageRefused
from enginetour.model.game import Outcome
from enginetour.ratings.pentanomial import paired
from enginetour.reports.pgn import games_text
from enginetour.store.tournaments import Store
from tests.storing import add_game, draft, game


def written(*games: tuple[str, str, str, str], moves: str = "1. e4 {+0.3/9 1s} 1-0") -> str:
    """White, Black, result and further tags a game."""
    return "".join(
        f'[Event "E"]\n[White "{white}"]\n[Black "{black}"]\n[Result "{result}"]\n{tags}\n{moves}\n\n'
        for white, black, result, tags in games
    )


def met(path: Path, *aliases: tuple[str, str]) -> list[tuple[object, int]]:
    return list(match_games(read_games([path]), Naming(dict(aliases)), "A", "B"))


def fen(number: int, clocks: str = "0 1") -> str:
    """A position of its own for 1 to 6."""
    return f'[SetUp "1"]\n[FEN "4k3/8/8/8/8/{number}P{7 - number}/8/4K3 w - - {clocks}"]\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "g.pgn"


def test_colours_swapped_on_one_position_are_a_pair(path: Path) -> None:
    """Wherever they stand among other games; the same colours again wait for another partner."""
    path.write_text(
        written(
            ("A", "B", "1-0", fen(1)),
            ("A", "B", "1/2-1/2", fen(2)),
            ("C", "A", "1-0", fen(1)),
            ("A", "B", "0-1", fen(1)),
            ("B", "A", "0-1", fen(1)),
            ("B", "A", "1-0", fen(1)),
            ("B", "A", "*", fen(2)),
        )
    )
    games = met(path)
    assert [points for _, points in games] == [2, 1, 0, 2, 0]
    assert paired(games) == [4, 0]


def test_long_and_packed_files(tmp_path: Path, path: Path) -> None:
    """A pair may begin in one file and end in another, packed or not; games are read in pieces of any size."""
    text = written(*[(*("AB" if number % 2 else "BA"), "1-0", fen(number // 2 % 4 + 1)) for number in range(40)])
    path.write_text(text)
    assert len(paired(met(path))) == 20
    packed = tmp_path / "more.pgn.gz"
    packed.write_bytes(gzip.compress((text + written(("A", "B", "1-0", fen(6)))).encode()))
    path.write_text(text + written(("B", "A", "1-0", fen(6))))
    assert len(paired(match_games(read_games([path, packed]), Naming(), "A", "B"))) == 41


def test_a_file_says_what_the_store_says(tmp_path: Path) -> None:
    """The export of a match has its pairs, its counts and its ratio."""
    path = tmp_path / "match.pgn"
    outcomes = [Outcome.WHITE, Outcome.DRAW, Outcome.BLACK, Outcome.WHITE, Outcome.DRAW, Outcome.WHITE, Outcome.WHITE]
    with Store.open(tmp_path / "x.db") as store:
        log = store.create_tournament(draft())
        for number, outcome in enumerate(outcomes):
            names = ("Fruit", "Toga") if number % 2 == 0 else ("Toga", "Fruit")
            add_game(log, game(*names, outcome, meeting=number // 2 + 1, leg=number % 2 + 1))
        path.write_text("".join(games_text(log)))
    ours = json.loads(invoke("ratings", "--all", "--sprt", "Fruit", "Toga", "0", "5", "--db", tmp_path / "x.db").stdout)
    theirs = json.loads(invoke("rate", path, "--sprt", "Fruit", "Toga", "0", "5").stdout)
    assert {key: ours[key] for key in ("games", "wins", "pentanomial", "elo", "los", "sprt")} == {
        key: theirs[key] for key in ("games", "wins", "pentanomial", "elo", "los", "sprt")
    }
    assert theirs["lone_games"] == 1


def invoke(*words: object) -> Result:
    return CliRunner().invoke(cli, [*map(str, words), "--json"], standalone_mode=True)


def test_names_and_refusals(path: Path) -> None:
    """Aliases count; strangers, one engine, engines that never met and options of lists are refused."""
    path.write_text(written(("A", "B", "1-0", ""), ("A 2", "B", "1-0", ""), ("C", "B", "1-0", "")))
    assert [points for _, points in met(path, ("A 2", "A"))] == [2, 2]
    for words, refusal in (
        (("A", "D"), "'D' has no games here"),
        (("A", "A"), "one engine"),
        (("A", "C"), "have not met"),
    ):
        done = invoke("rate", path, "--sprt", *words, 0, 5)
        assert isinstance(done.exception, UsageRefused)
        assert refusal in str(done.exception)
    for words in (
        ("--min-games", "3"),
        ("--since", "2026-01-01"),
        ("--head-to-head", "A"),
        ("-o", "x.txt"),
        ("--errors-for", "A"),
    ):
        assert "--sprt makes no list" in invoke("rate", path, "--sprt", "A", "B", 0, 5, *words).output
    assert "leave out --pairs" in invoke("rate", path, "--sprt", "A", "B", 0, 5, "--pairs").output
    assert "belongs to --sprt" in invoke("rate", path, "--alpha", "0.1").output
    assert json.loads(invoke("rate", path, "--sprt", "A", "B", 0, 5, "--alias", "A 2=A").stdout)["games"] == 2
