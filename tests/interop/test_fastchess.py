"""The config.json of fastchess: its settings as a configuration, and its results as an import."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from enginetour.interop.fastchess import read_fastchess
from enginetour.model.errors import InputRefused
from enginetour.tournament.config.load import load
from tests.support.tournaments import tour

LIMIT = {
    "tc": {"increment": 80, "fixed_time": 0, "time": 8000, "moves": 40, "timemargin": 20},
    "nodes": 0,
    "plies": 0,
}
STATS = {
    "New vs Old": {
        "wins": 13,
        "losses": 6,
        "draws": 8,
        "penta_WW": 3,
        "penta_WD": 4,
        "penta_WL": 2,
        "penta_DD": 1,
        "penta_LD": 2,
        "penta_LL": 1,
    }
}


def engine(name: str, **more: Any) -> dict[str, Any]:
    """Return an engine with the keys that fastchess writes."""
    usual = {"name": name, "dir": "", "cmd": "./engine", "args": "", "restart": False, "options": [], "limit": LIMIT}
    return {**usual, "variant": 0, **more}


def written(folder: Path, **more: Any) -> Path:
    """Write a file with the keys that fastchess writes."""
    path = folder / "config.json"
    values = {
        "resign": {"move_count": 3, "score": 600, "twosided": True, "enabled": True},
        "draw": {"move_number": 34, "move_count": 8, "score": 20, "enabled": True},
        "maxmoves": {"move_count": 1, "enabled": False},
        "tb_adjudication": {"syzygy_dirs": "", "max_pieces": 0, "ignore_50_move_rule": False, "enabled": False},
        "opening": {"file": "8moves.pgn", "format": 1, "order": 0, "plies": 8, "start": 3},
        "pgn": {"additional_lines_rgx": [], "event_name": "Patch", "site": "Lab", "file": "x.pgn", "notation": 0}
        | {"append_file": True, "track_nodes": True, "track_pv": False, "min": False, "crc": False},
        "epd": {"file": "", "append_file": True},
        "sprt": {"alpha": 0.05, "beta": 0.1, "elo0": -1.5, "elo1": 3.0, "model": "normalized", "enabled": True},
        "config_name": "config.json",
        "output": 0,
        "seed": 7,
        "variant": 0,
        "type": 0,
        "gauntlet_seeds": 1,
        "games": 2,
        "rounds": 500,
        "concurrency": 3,
        "recover": True,
        "noswap": False,
        "reverse": False,
        "report_penta": True,
        "affinity": False,
        "log": {"file": "", "engine_coms": False},
        "engines": [
            engine("New", options=[["Hash", "16"], ["Move Overhead", "5"]], args="-x 'a b'", restart=True),
            engine("Old", options=[["Hash", "16"]]),
        ],
        "stats": STATS,
        **more,
    }
    path.write_text(json.dumps(values, indent=4))
    return path


def test_the_settings_become_a_configuration(tmp_path: Path) -> None:
    """Engines, limits, openings, rules, test, PGN and schedule are translated; notes name what differs."""
    said = tour(tmp_path, "init", "patch.toml", "--from-config", str(written(tmp_path))).stderr
    assert "-pgnout x.pgn: the PGN is written to results/" in said
    read = load(tmp_path / "patch.toml")
    assert read.path.read_text().startswith("# from config.json of fastchess\n")
    assert (read.tournament.name, read.tournament.seed) == ("Patch", 7)
    assert (read.system, read.format_options.games, read.format_options.games_per_pairing) == ("match", 1000, 2)
    test = read.format_options.sprt
    assert (test.elo0, test.elo1, test.alpha, test.beta, test.model) == (-1.5, 3.0, 0.05, 0.1, "normalized")
    play = read.play
    assert (play.tc, play.timemargin, play.concurrency, play.pgn) == ("40/8+0.08", 20, 3, ("nodes",))
    assert (play.openings.file, play.openings.order, play.openings.plies, play.openings.start) == (
        *("8moves.pgn", "random", 8, 3),
    )
    assert play.draw is not None and (play.draw.movenumber, play.draw.movecount, play.draw.score) == (34, 8, 20)
    assert play.resign is not None and (play.resign.movecount, play.resign.score, play.resign.twosided) == (
        3,
        600,
        True,
    )
    assert play.tags == {"Site": "Lab"}
    new, old = read.entrants
    assert new.command == ("./engine", "-x", "a b") and old.command == ("./engine",)
    assert new.options == {"Hash": 16, "Move Overhead": 5} and (new.restart, old.restart) == ("on", None)


@pytest.mark.parametrize(
    ("limit", "tc"),
    [
        ({"tc": {"fixed_time": 250}}, "movetime=0.25"),
        ({"tc": {"time": 1000}, "nodes": 5000}, "1,nodes=5000"),
        ({"tc": {}, "plies": 6}, "depth=6"),
        ({"tc": {"time": 123456, "increment": 1}}, "123.456+0.001"),
    ],
)
def test_limits(tmp_path: Path, limit: dict[str, Any], tc: str) -> None:
    """Each limit is the time control of the same meaning."""
    source = written(tmp_path, engines=[engine("A", limit=limit), engine("B", limit=limit), engine("C", limit=LIMIT)])
    tour(tmp_path, "init", "x.toml", "--name", "x", "--from-config", str(source))
    read = load(tmp_path / "x.toml")
    assert read.system == "roundrobin"
    assert [one.tc for one in read.entrants] == [tc, tc, "40/8+0.08"]


def test_the_results_are_an_import(tmp_path: Path) -> None:
    """The counts of games and pairs are those of fastchess; a second import has no new games."""
    source = str(written(tmp_path))
    done = tour(tmp_path, "import", source)
    assert "config: 27 games imported, 0 duplicates" in done.stdout and "has counts only" in done.stderr
    found = json.loads(tour(tmp_path, "ratings", "--all", "--sprt", "New", "Old", "0", "5", "--json").stdout)
    assert (found["wins"], found["draws"], found["losses"], found["lone_games"]) == (13, 8, 6, 1)
    assert found["pentanomial"] == [1, 2, 3, 4, 3]
    assert "nothing new: all 27 games" in tour(tmp_path, "import", source, "--name", "again").stdout
    white = [game[0] for game in read_fastchess(Path(source)).games()]
    assert abs(white.count("New") - white.count("Old")) == 1


def test_both_orders_of_two_engines_are_added(tmp_path: Path) -> None:
    """Older versions of fastchess write A vs B and B vs A; without pairs, single games are imported."""
    stats = {"A vs B": {"wins": 3, "draws": 0, "losses": 1}, "B vs A": {"wins": 2, "draws": 2, "losses": 0}}
    tour(tmp_path, "import", str(written(tmp_path, stats=stats)))
    found = json.loads(tour(tmp_path, "ratings", "--all", "--sprt", "A", "B", "0", "5", "--json").stdout)
    assert (found["wins"], found["draws"], found["losses"], found["pentanomial"]) == (3, 2, 3, None)


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"engines": []}, "-engine twice"),
        ({"engines": "x"}, "is not a config.json of fastchess"),
        ({"engines": [{"name": "x"}]}, "is not a config.json of fastchess"),
        ({"rounds": "many"}, 'rounds: must be a whole number (found "many")'),
        ({"rounds": True}, "rounds: must be a whole number (found true)"),
        ({"opening": {"file": 3}}, "opening.file: must be text (found 3)"),
        (
            {"engines": [engine("x", options=["Hash"]), engine("y")]},
            "engines.1.options: must be a list of [NAME, VALUE]",
        ),
        ({"draw": {"enabled": True, "score": -5}}, "draw.score: must be at least 0"),
        ({"type": 0, "engines": [engine("x", limit={}), engine("y", limit={})]}, "no search limit"),
    ],
)
def test_files_that_cannot_be_translated(tmp_path: Path, more: dict[str, Any], what: str) -> None:
    """An invalid file is an error of one line with its name, and no configuration is written."""
    done = tour(tmp_path, "init", "x.toml", "--from-config", str(written(tmp_path, **more)), expect=3)
    assert what in done.stderr and "config.json" in done.stderr and len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "x.toml").exists()


@pytest.mark.parametrize(
    ("stats", "what"),
    [
        ({}, "contains no results under stats"),
        (None, "contains no results under stats"),
        ({"A": {"wins": 1}}, "a table with keys NAME vs NAME"),
        ({"A vs B": {"wins": -1}}, "must be at least 0"),
        ({"A vs B": {"wins": 1, "penta_WW": 1}}, "counts with at least the wins of all pairs"),
        ({"A vs B": {"wins": 10**9}}, "at most 10,000,000 games"),
    ],
)
def test_results_that_cannot_be_imported(tmp_path: Path, stats: object, what: str) -> None:
    """Contradictory and too many results are errors."""
    with pytest.raises(InputRefused, match=what):
        read_fastchess(written(tmp_path, stats=stats)).write_games(tmp_path / "x.pgn")


def test_a_file_is_not_combined_with_a_command(tmp_path: Path) -> None:
    """--from-config excludes --from-command and the settings of a new configuration."""
    words = ("init", "x.toml", "--from-config", str(written(tmp_path)))
    assert "cannot be combined with --from-config" in tour(tmp_path, *words, "--tc", "1+0", expect=2).stderr
    assert "cannot be combined with --from-config" in tour(tmp_path, *words, "--from-command", "x", expect=2).stderr
    for text, what in (
        ("{", "config.json:1: not valid JSON: Expecting"),
        ("[" * 100_000, "config.json: not valid JSON: nested too deeply"),
        (f'{{"a": {"9" * 5000}}}', "config.json: not valid JSON: a number has more than 4300 digits"),
        ('{"a": "x\\ud800"}', "config.json: a text has half of a character"),
    ):
        (tmp_path / "config.json").write_text(text)
        assert what in tour(tmp_path, *words, expect=3).stderr
