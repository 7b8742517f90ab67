"""`log_traffic` was no setting: of a game that ended well nobody could see what its engines were told."""

from __future__ import annotations

from pathlib import Path

from tests.touring import config, tour


def traffic(folder: Path) -> list[list[str]]:
    return [path.read_text().splitlines() for path in sorted((folder / "results" / "trial.traffic").glob("*.log"))]


def test_each_game_has_its_own(tmp_path: Path) -> None:
    """From the first word of its game to the last, both sides in the order of time; an engine kept alive or not."""
    (tmp_path / "results").mkdir()
    path = config(tmp_path, ("wren1", "wren2"), "match", "games = 2")
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    assert not traffic(tmp_path)
    path.write_text(path.read_text().replace("[play]\n", "[play]\nlog_traffic = true\n"))
    tour(tmp_path, "run", str(path))
    ((title, *lines),) = traffic(tmp_path)
    assert title.startswith("# game 2: Wren 2 - Wren 1, ")
    stamps = [float(line.split()[0]) for line in lines]
    assert stamps == sorted(stamps)
    assert stamps[0] >= 0
    pgn = (tmp_path / "results" / "trial.pgn").read_text()
    plies = int(pgn.rpartition('[PlyCount "')[2].partition('"')[0])
    openers = int(pgn.rpartition('[OpeningPlies "')[2].partition('"')[0])
    answers = [line for line in lines if " < bestmove " in line or " < move " in line]
    assert len(answers) == plies - openers
    assert {line.split()[1] for line in answers} == {"White", "Black"}


def test_engines_that_live_on(tmp_path: Path) -> None:
    """What was said in the game before is not told again."""
    (tmp_path / "results").mkdir()
    path = config(tmp_path, ("wren1", "wren2"), "match", "games = 2", tc="depth=1")
    path.write_text(path.read_text().replace("[play]\n", "[play]\nlog_traffic = true\n"))
    tour(tmp_path, "run", str(path))
    for lines in traffic(tmp_path):  # one may have been probed before, too
        begun = [line.split(" > ")[1] for line in lines if line.endswith(("> ucinewgame", "> new"))]
        assert sorted(begun) == ["new", "ucinewgame"]


def test_a_folder_that_cannot_be_written_ends_no_run(tmp_path: Path) -> None:
    """It is told, and the games are in the store."""
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "trial.traffic").write_text("no folder")
    path = config(tmp_path, ("wren1", "wren2"), "match", "games = 2")
    path.write_text(path.read_text().replace("[play]\n", "[play]\nlog_traffic = true\n"))
    done = tour(tmp_path, "run", str(path))
    assert "the traffic of game 1 not written" in done.stdout + done.stderr
    assert (tmp_path / "results" / "trial.pgn").read_text().count("[Event ") == 2
