"""What once went wrong with settings: those an older program did not know, and those that no machine word holds."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import chess
import chess.pgn
import pytest

from tests.test_polyglot import book
from tests.touring import FOUR, config, read, tour

TWO = FOUR[:2]


def test_a_tournament_begun_before_a_setting_existed(tmp_path: Path) -> None:
    """Its stored configuration lacks the key, and the default in the file was taken for a change: no way to resume."""
    path = config(tmp_path, FOUR, "dutch", "rounds = 2")
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    with closing(sqlite3.connect(tmp_path / "results" / "enginetour.db", isolation_level=None)) as db:
        text = "json_remove(config, '$.format.absent', '$.format.initial_colour', '$.play.repetition')"
        assert db.execute(f"UPDATE tournaments SET config = {text}").rowcount == 1
    changed = config(tmp_path, FOUR, "dutch", 'rounds = 2\ninitial_colour = "black"')
    assert "frozen" in tour(tmp_path, "run", str(changed), expect=5).stderr
    tour(tmp_path, "run", str(config(tmp_path, FOUR, "dutch", "rounds = 2")))


@pytest.mark.parametrize("command", ["check", "run"])
def test_ratings_an_order_cannot_bring(tmp_path: Path, command: str) -> None:
    """Without a database an order by ratings knows none; a system that needs them failed with a trace."""
    path = config(tmp_path, FOUR, "mcmahon", "rounds = 2")
    path.write_text(path.read_text().replace("seed = 4", 'seed = 4\norder = "rating"'))
    done = tour(tmp_path, command, str(path), expect=3)
    assert "needs the rating" in done.stderr and f"{path}:" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("settings", "rating"), [("", "1e300"), ("", "-1e7"), ('width = 1e-9\ngroups = "bands"', "1000")]
)
def test_numbers_beyond_all_ratings(tmp_path: Path, settings: str, rating: str) -> None:
    """Bands of a huge rating or a tiny width fit no machine word: a trace, or all the memory there is."""
    path = config(tmp_path, FOUR, "mcmahon", f"rounds = 2\n{settings}")
    path.write_text(path.read_text().replace('"wren1"', f'"wren1"\nrating = {rating}'))
    done = tour(tmp_path, "check", str(path), expect=3)
    assert "should be" in done.stderr and f"{path}:" in done.stderr


@pytest.mark.parametrize("command", ["check", "run"])
def test_contradictory_criteria_are_told(tmp_path: Path, command: str) -> None:
    """Warnings of a placement that works against itself stood in the notes of the log, where nobody reads."""
    path = config(tmp_path, TWO, "swiss-gotha", 'rounds = 1\nplacement = ["NBW", "DC", "SDC"]')
    assert "warning: placement has both DC and SDC" in tour(tmp_path, command, str(path)).stdout
    if command == "check":
        assert "DC and SDC" in json.loads(tour(tmp_path, command, str(path), "--json").stdout)["warnings"][0]


def test_a_first_round_that_nobody_can_play(tmp_path: Path) -> None:
    """One family that may not meet, strictly: check found it fit, and the tournament had no game."""
    path = config(tmp_path, FOUR, "dutch", "rounds = 2\nforbid_family = true\nstrict = true")
    path.write_text(path.read_text().replace("[[entrants]]", '[[entrants]]\nfamily = "W"'))
    done = tour(tmp_path, "check", str(path), expect=3)
    assert "round 1 cannot be paired" in done.stderr and done.stderr.count("\n") == 1


def test_an_order_by_ratings_with_a_database(tmp_path: Path) -> None:
    """Ratings of an earlier tournament pair the next one; check, which writes nothing, says that run knows them."""
    tour(tmp_path, "run", str(config(tmp_path, TWO, "roundrobin", "cycles = 1", name="first")))
    path = config(tmp_path, TWO, "mcmahon", "rounds = 1")
    path.write_text(path.read_text().replace("seed = 4", 'seed = 4\norder = "rating"'))
    assert "games: told by run" in tour(tmp_path, "check", str(path)).stdout
    tour(tmp_path, "run", str(path))


def test_swiss_scores_are_wins(tmp_path: Path) -> None:
    """SOS and the floats of the report went by McMahon scores in a Swiss, where those only choose who rests."""
    path = config(tmp_path, FOUR, "swiss-gotha", 'rounds = 1\nplacement = ["NBW", "SOS", "SOSW"]')
    ratings = iter((1800, 1500, 1200, 900))
    lines = [
        f"{line}\nrating = {next(ratings)}" if line.startswith("engine") else line
        for line in path.read_text().splitlines()
    ]
    path.write_text("\n".join(lines))
    tour(tmp_path, "run", str(path))
    assert all(line["SOS"] == line["SOSW"] for line in read(tmp_path, "standings")["table"])
    assert read(tmp_path, "standings", "--pairing-report")["rounds"][0]["floats"] == 0


def test_openings_that_leave_no_move(tmp_path: Path) -> None:
    """The opening ended the game, which was taken for the machine's failure and played again for ever."""
    path = config(tmp_path, TWO, "match", "games = 2")
    path.write_text(path.read_text().replace("[play]", "[play]\nmax_moves = 5"))
    said = tour(tmp_path, "check", str(path), expect=3).stderr
    assert "trial.toml:8: max_moves 5 is reached within the opening 'balanced" in said
    path.write_text(path.read_text().replace("max_moves = 5", "max_moves = 5\nopenings = { plies = 9 }"))
    assert "Finished game 2" in tour(tmp_path, "run", str(path)).stdout


def test_openings_longer_than_an_engine_plays(tmp_path: Path) -> None:
    """The same where it is the engine whose games have an end: the run waited for the machine for ever."""
    more = '\n[[entrants]]\nengine = "wren3"\nquirks = { max_plies = 5 }\n'
    path = config(tmp_path, TWO[:1], "match", "games = 2", more)
    said = tour(tmp_path, "check", str(path), expect=3).stderr
    assert "max_plies 5 of Wren 3" in said
    assert "is reached within the opening 'balanced" in said
    path.write_text(path.read_text().replace("[play]", "[play]\nopenings = { plies = 4 }"))
    assert "Finished game 2" in tour(tmp_path, "run", str(path)).stdout


def test_a_book_whose_lines_leave_no_move(tmp_path: Path) -> None:
    """The same with a Polyglot book, of which nobody knows how long its lines are."""
    book(tmp_path / "book.bin", {"e2e4 e7e5 g1f3 b8c6 f1c4 g8f6": 1})
    path = config(tmp_path, TWO, "match", "games = 2")
    path.write_text(path.read_text().replace("[play]", '[play]\nmax_moves = 3\nopenings = { file = "book.bin" }'))
    assert "Finished game 2" in tour(tmp_path, "run", str(path)).stdout
    assert [game["plies"] for game in read(tmp_path, "games")] == [6, 6]
    path.write_text(path.read_text().replace('"book.bin"', '"book.bin", moves = 3'))
    said = tour(tmp_path, "check", str(path), expect=3).stderr
    assert "trial.toml:8: max_moves 3 is reached within lines of 6 plies" in said


def test_an_opening_drawn_on_its_way(tmp_path: Path) -> None:
    """Fifty moves without a capture, then one: only its end was looked at."""
    board = chess.Board("7k/8/8/8/8/p7/8/R6K w - - 98 80")
    game = chess.pgn.Game.from_board(board)
    node: chess.pgn.GameNode = game
    for text in ("a1a2", "h8h7", "a2a3"):
        node = node.add_main_variation(chess.Move.from_uci(text))
    (tmp_path / "late.pgn").write_text(f"{game}\n")
    path = config(tmp_path, TWO, "match", "games = 2")
    path.write_text(path.read_text().replace("[play]", '[play]\nopenings = { file = "late.pgn" }'))
    said = tour(tmp_path, "check", str(path), expect=3).stderr
    assert "the fifty-move rule is fulfilled after 2 plies" in said
