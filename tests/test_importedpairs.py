"""Pairs of imported games on one opening: beside tournaments, over several imports, and where none were kept."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result

from enginetour.cli.main import cli
from enginetour.model.game import Outcome
from enginetour.ratings.pentanomial import paired
from enginetour.store.games import meetings
from enginetour.store.tournaments import Store
from tests.storing import add_game, game, meddled, open_log

BOOK = "1. e4 {book} c5 {book} 2. Nf3 {+0.1/9 1s}"
WORDS = ("ratings", "--all", "--sprt", "Fruit", "Toga", "0", "5")


def pgn(*games: tuple[str, str, str]) -> str:
    """White, Black, result a game, all on one opening, each with a round of its own."""
    return "".join(
        f'[Event "E"]\n[Round "{number}"]\n[White "{white}"]\n[Black "{black}"]\n[Result "{result}"]\n\n'
        f"{BOOK} {result}\n\n"
        for number, (white, black, result) in enumerate(games)
    )


def invoke(folder: Path, *words: object) -> Result:
    line = [*map(str, words), "--db", str(folder / "x.db")]
    return CliRunner().invoke(cli, line, catch_exceptions=False)


def pairs_in(folder: Path) -> tuple[list[int], dict[str, int]]:
    with Store.open(folder / "x.db", readonly=True) as store:
        met = meetings(store.database, "Fruit", "Toga")
    return paired(met.scheduled), dict(met.unopened)


def test_pairs_of_a_file_that_grows_and_goes(tmp_path: Path) -> None:
    """The partner may come with a later import; one that is struck out takes its games along."""
    path = tmp_path / "g.pgn"
    path.write_text(pgn(("Fruit", "Toga", "1-0")))
    invoke(tmp_path, "import", path)
    assert pairs_in(tmp_path)[0] == []
    path.write_text(pgn(("Fruit", "Toga", "1-0"), ("Toga", "Fruit", "1/2-1/2"), ("Toga", "Fruit", "1-0")))
    invoke(tmp_path, "import", path)
    assert pairs_in(tmp_path)[0] == [3]
    invoke(tmp_path, "import", "--remove", "g #1")
    assert pairs_in(tmp_path)[0] == []
    assert "1 game imported" in invoke(tmp_path, "import", path).output
    assert pairs_in(tmp_path)[0] == [3]


def test_pairs_beside_a_tournament(tmp_path: Path) -> None:
    """Games of a tournament are pairs by their schedule, those of files among themselves."""
    store, log = open_log(tmp_path / "x.db")
    path = tmp_path / "g.pgn"
    path.write_text(pgn(("Fruit", "Toga", "1-0"), ("Toga", "Fruit", "0-1")))
    with store:
        for meeting in (1, 2):
            add_game(log, game("Fruit", "Toga", Outcome.BLACK, meeting=meeting, leg=1))
        invoke(tmp_path, "import", path)
        add_game(log, game("Toga", "Fruit", Outcome.DRAW, meeting=1, leg=2))
    assert pairs_in(tmp_path)[0] == [1, 4]


def test_an_import_that_kept_no_openings_is_told(tmp_path: Path) -> None:
    """Of a database of before: its games stand alone, and the note says what brings their pairs."""
    path = tmp_path / "g.pgn"
    path.write_text(pgn(("Fruit", "Toga", "1-0"), ("Toga", "Fruit", "0-1")))
    invoke(tmp_path, "import", path, "--name", "my games")
    assert "counted one by one" not in invoke(tmp_path, *WORDS).output
    meddled(tmp_path / "x.db", "UPDATE imported_games SET opening = NULL")
    assert pairs_in(tmp_path) == ([], {"my games": 2})
    told = " ".join(invoke(tmp_path, *WORDS).output.split())
    assert "2 games of my games counted one by one: no openings were kept then" in told
    assert json.loads(invoke(tmp_path, *WORDS, "--json").stdout)["openings_not_kept"] == {"my games": 2}
    invoke(tmp_path, "import", "--remove", "my games")
    invoke(tmp_path, "import", path, "--name", "my games")
    assert pairs_in(tmp_path) == ([4], {})


def test_pairs_come_in_the_order_of_the_file(tmp_path: Path) -> None:
    """As a test of the file looks at them: the pair that is complete first, though the other one began before it."""
    path = tmp_path / "g.pgn"
    outer = pgn(("Fruit", "Toga", "1-0"), ("Toga", "Fruit", "0-1"))
    middle = outer.rindex("[Event")
    inner = pgn(("Fruit", "Toga", "0-1"), ("Toga", "Fruit", "1-0")).replace("c5", "e5")
    path.write_text(outer[:middle] + inner + outer[middle:])
    invoke(tmp_path, "import", path)
    assert pairs_in(tmp_path)[0] == [0, 4]
