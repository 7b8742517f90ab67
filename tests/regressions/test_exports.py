from __future__ import annotations

import fcntl
import os
import re
import threading
from pathlib import Path

import pytest

from enginetour.interop import trf
from tests.storing import add_game, game, sound_log
from tests.touring import FOUR, THREE, config, pgn_games, read, tour


def points(folder: Path) -> dict[str, float]:
    """By the report, whose sums are of its cells."""
    tour(folder, "export", "trf", "-o", "out.trf")
    return {entry.name: (entry.points or 0) / 2 for entry in trf.read((folder / "out.trf").read_bytes()).entries}


def table(folder: Path) -> dict[str, float]:
    return {line["name"]: line["points"] for line in read(folder, "standings")["table"]}


def test_a_report_has_the_points_of_the_table(tmp_path: Path) -> None:
    """A game struck out after its round was won by both sides, a pending one was forfeited, so was one on top of a win.

    Struck out it still counts in the table: played, unrated. Called off it goes to whoever stayed.
    """
    path = config(tmp_path, FOUR, "dutch", "rounds = 3\ngames_per_pairing = 2")
    tour(tmp_path, "run", str(path), "--max-games", "5", expect=8)
    assert points(tmp_path) == table(tmp_path)
    running = (tmp_path / "out.trf").read_text()
    assert " + " not in running and "+\n" not in running
    tour(tmp_path, "void", "2")
    assert points(tmp_path) == table(tmp_path)
    entries = trf.read((tmp_path / "out.trf").read_bytes()).entries
    struck = [cell.result for entry in entries for cell in entry.cells if cell.result in "WDL"]
    assert sorted(struck) in (["D", "D"], ["L", "W"])
    tour(tmp_path, "withdraw", read(tmp_path, "games")[4]["white"])
    assert points(tmp_path) == table(tmp_path)


@pytest.mark.parametrize("command", ["export pgn", "export csv", "ratings"])
def test_what_is_no_plain_file_is_written_into(tmp_path: Path, command: str) -> None:
    """-o /dev/null made a file of the machine's device, for whoever had the right to: a named pipe stays one too."""
    path = config(tmp_path, FOUR[:2], "roundrobin", "")
    tour(tmp_path, "run", str(path))
    os.mkfifo(tmp_path / "pipe")
    heard: list[str] = []
    reader = threading.Thread(target=lambda: heard.append((tmp_path / "pipe").read_text()), daemon=True)
    reader.start()
    tour(tmp_path, *command.split(), "-o", "pipe")
    assert (tmp_path / "pipe").is_fifo()
    reader.join(20.0)
    assert "Wren 1" in heard[0]


def test_a_pipe_in_the_place_of_the_pgn_holds_up_no_run(tmp_path: Path) -> None:
    """Nobody reads it: told once, all games are played."""
    path = config(tmp_path, FOUR[:2], "roundrobin", "games_per_pairing = 2")
    (tmp_path / "results").mkdir()
    os.mkfifo(tmp_path / "results" / "trial.pgn")
    done = tour(tmp_path, "run", str(path))
    assert done.stderr.count("trial.pgn not written") == 1
    assert "trial.pgn lacks games; enginetour export pgn -o FILE writes all" in done.stdout
    assert len(read(tmp_path, "games")) == 2


def test_a_list_is_put_into_its_file_as_an_export_is(tmp_path: Path) -> None:
    """Two who write one file at once once mixed it, and a link in the way was removed, which was somebody else's."""
    (tmp_path / "results").mkdir()
    store, log = sound_log(tmp_path / "results" / "enginetour.db")
    with store:
        add_game(log, game())
    beside = tmp_path / ".list.md.new"
    with beside.open("w") as theirs:
        fcntl.flock(theirs, fcntl.LOCK_EX)
        theirs.write("half")
        theirs.flush()
        tour(tmp_path, "ratings", "-o", "list.md", expect=7)
        assert beside.read_text() == "half"
    beside.unlink()
    beside.symlink_to("elsewhere")
    tour(tmp_path, "ratings", "-o", "list.md", expect=7)
    assert beside.is_symlink()
    assert not (tmp_path / "list.md").exists()


def test_a_pgn_of_another_database_is_put_aside(tmp_path: Path) -> None:
    """The database had been removed: the next run's first game took the place of all that the PGN still had."""
    path = config(tmp_path, THREE, "roundrobin", "games_per_pairing = 2")
    tour(tmp_path, "run", str(path), "--max-games", "3", expect=8)
    results = tmp_path / "results"
    whole = (results / "trial.pgn").read_text()
    for file in results.glob("enginetour.db*"):
        file.unlink()
    again = re.sub('GameStartTime "2', 'GameStartTime "1', whole)  # a second may be the same
    (results / "trial.pgn").write_text(again)
    done = tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    assert "trial.pgn held games of another database: it is trial.old-1.pgn now" in done.stderr
    assert (results / "trial.old-1.pgn").read_text() == again
    assert (results / "trial.pgn").read_text() == tour(tmp_path, "export", "pgn").stdout
    assert pgn_games(results / "trial.pgn") == 1
    assert "old-2" not in tour(tmp_path, "run", str(path)).stderr


def test_a_single_game_is_as_an_export_has_it(tmp_path: Path) -> None:
    """Its PGN lacked the ratings with which its engines came."""
    path = config(tmp_path, ("wren1", "wren2"), "match", "games = 2")
    path.write_text(path.read_text().replace('engine = "wren1"', 'engine = "wren1"\nrating = 1510'))
    tour(tmp_path, "run", str(path))
    exported = tour(tmp_path, "export", "pgn").stdout
    first, second = (tour(tmp_path, "games", number).stdout for number in "12")
    assert '[WhiteElo "1510"]' in first and '[BlackElo "1510"]' in second
    assert exported.startswith(first[: first.rindex("}")])
