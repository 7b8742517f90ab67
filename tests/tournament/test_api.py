"""The Python API, as a script uses it, and its equality with the command line."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import chess
import pytest
from sqlalchemy import insert

import enginetour as et
from enginetour.model import frames
from enginetour.model.errors import UsageRefused
from enginetour.store.backup import upgrade_database
from tests.support.databases import older
from tests.support.tournaments import config, tour

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def league(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recorded database with games, imports, lists and editions."""
    path = older(tmp_path_factory.mktemp("league") / "league.db", "league")
    upgrade_database(path)
    return path


def printed(path: Path, *words: str) -> Any:
    """Return the JSON that a command prints."""
    return json.loads(tour(path.parent, *words, "--json", "--db", path.name).stdout)


def as_json(value: object) -> Any:
    """Return a value as a JSON document has it."""
    return json.loads(json.dumps(value))


def test_the_package_has_types() -> None:
    """Type checkers read its types; `make check` checks a user's script with them (tests/programs/api_user.py)."""
    assert (ROOT / "enginetour" / "py.typed").exists()


def test_the_import_loads_nothing() -> None:
    """The API is loaded on its first use, and nothing else: each launcher of an engine loads this package."""
    code = "import sys; before = {*sys.modules}; import enginetour; dir(enginetour); print({*sys.modules} - before)"
    ran = subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "{'enginetour'}"
    assert set(et.__all__) < set(dir(et))
    with pytest.raises(AttributeError, match="nonsense"):
        _ = et.nonsense  # type: ignore[attr-defined]


def test_rows_equal_those_of_the_commands(league: Path) -> None:
    """Games, standings and ratings are those that the commands print as JSON."""
    with et.open(league) as db:
        name = db.tournaments()[-1].name
        assert as_json(db.rows("games")) == printed(league, "games")["rows"]
        assert (
            as_json(db.rows("games", tournament=name, incidents=True))
            == printed(league, "games", "--incidents")["rows"]
        )
        assert as_json(db.rows("standings")) == printed(league, "standings")["table"]
        assert as_json(db.rows("crosstable")) == printed(league, "crosstable")["table"]
        for table in ("lists", "editions", "imports"):
            assert as_json(db.rows(table)) == printed(league, table)["rows"] != []
        own = [row for row in printed(league, "editions")["rows"] if row["list"] == "blitz"]
        assert as_json(db.rows("editions", name="blitz")) == own
        assert {row["game"] for row in db.rows("incidents")} == {
            row["number"] for row in printed(league, "games", "--incidents")["rows"]
        }
        for found, words in (
            (db.ratings(), ["--all"]),
            (db.ratings(tournament=name), ["-t", name]),
            (db.ratings(min_games=30, engines=["Pebble*"]), ["--all", "--min-games", "30", "--engine", "Pebble*"]),
            (db.ratings(as_of="game 40"), ["--all", "--as-of", "game 40"]),
            (db.ratings(system="elo", by="name"), ["--all", "--system", "elo", "--by", "name"]),
        ):
            document = printed(league, "ratings", *words)
            assert {key: document[key] for key in found.to_json()} == as_json(found.to_json()), words


def test_rated_files_equal_the_command(league: Path, tmp_path: Path) -> None:
    """`rate` has the list of the command, for both kinds of systems, and refuses unknown fields."""
    pgn = tmp_path / "games.pgn"
    tour(league.parent, "export", "pgn", "--db", league.name, "-o", str(pgn))
    best = et.rate(pgn).rows[0].name
    for found, words in (
        (et.rate(pgn, anchor={best: 3000.0}, pairs=True), ["--anchor", f"{best}=3000", "--pairs"]),
        (et.rate([pgn], system="elo", start={best: 2500}), ["--system", "elo", "--start", f"{best}=2500"]),
    ):
        document = json.loads(tour(tmp_path, "rate", "games.pgn", "--json", *words).stdout)
        assert {key: document[key] for key in found.to_json()} == as_json(found.to_json()), words
    with pytest.raises(et.TourError, match="unknown field 'ancor', did you mean 'anchors'"):
        et.rate(pgn, ancor={best: 3000})
    with pytest.raises(et.TourError, match="hardware applies only to lists of a database"):
        et.rate(pgn, hardware=["x*"])
    with pytest.raises(et.TourError, match="files: must have at least one file"):
        et.rate([])
    assert et.chart(et.rate(pgn), tmp_path / "list.svg").read_text().startswith("<?xml")
    with pytest.raises(et.TourError, match=r"unsupported image format '.gif'"):
        et.chart(et.rate(pgn), "list.gif")


def test_games_have_moves_and_a_test(league: Path) -> None:
    """The moves of a game lead to its final position; the test uses pairs, and names an engine without games."""
    with et.open(league) as db:
        games = db.games(engine="Pebble 0")
        number = games[0].number
        stored = printed(league, "games", str(number))
        assert games[0].moves().end().board().fen() == chess.Board(stored["final_fen"]).fen()
        found = et.sprt(games, games[0].white, elo0=0, elo1=5)
        assert found.pairs is not None
        with pytest.raises(et.TourError, match="no games of 'Nobody'"):
            et.sprt(games, "Nobody", elo0=0, elo1=5)
        with pytest.raises(et.TourError, match="elo0 must be below elo1"):
            et.sprt(games, games[0].white, elo0=5, elo1=0)
        with pytest.raises(et.TourError, match=r"must be tournaments, games, .* or imports"):
            db.rows("moves")
        with pytest.raises(et.TourError, match="cannot be combined"):
            db.ratings("blitz", tournament="x")


def test_a_session_writes_only_if_asked(league: Path, tmp_path: Path) -> None:
    """A session reads rows as objects. Rows are added only to a database that was opened for writing."""
    copy = tmp_path / "copy.db"
    copy.write_bytes(league.read_bytes())
    engine: dict[str, Any] = {"name": "New", "options": (), "protocol": "uci", "own_name": "", "family": ""}
    engine |= {"origin": "", "command": ()}
    added, also = (insert(et.models.Engine).values(fingerprint=text, **engine) for text in ("x", "y"))
    named = et.select(et.models.Engine).where(et.models.Engine.name == "New")
    with et.open(copy) as db:
        with db.session() as session:
            assert session.exec(named).all() == []
        with (
            pytest.raises(et.TourError, match=r"was opened for reading\. Hint: open it with writable=True"),
            db.session() as session,
        ):
            session.exec(added)
    with et.open(copy, writable=True) as db:
        with pytest.raises(KeyError), db.session() as session:
            session.exec(added)
            raise KeyError
        with db.session() as session:
            assert session.exec(named).all() == []
            session.exec(added)
            session.commit()  # the transaction continues until the block ends
            session.exec(also)
    with et.open(copy) as db, db.session() as session:
        rows = session.exec(named).all()
    assert [(row.name, row.protocol) for row in rows] == [("New", "uci")] * 2


def test_frames_need_their_packages(league: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing package is one line with the command that installs it; otherwise it receives the rows."""
    with et.open(league) as db:
        monkeypatch.setitem(sys.modules, "pandas", None)
        with pytest.raises(et.TourError, match=r"pandas is not installed\. Hint: run pip install pandas"):
            db.frame("games")
        kept = SimpleNamespace(from_records=list, from_pylist=list)
        monkeypatch.setattr(frames, "import_module", lambda name: SimpleNamespace(DataFrame=kept, Table=kept))
        assert db.frame("games") == db.to_arrow("games") == db.rows("games")
        assert db.ratings().to_frame() == db.ratings().to_arrow() == db.rows("ratings")


def test_a_run_is_stopped_from_another_thread_and_resumed(tmp_path: Path) -> None:
    """A stopped run has a state and figures at any time; the next run finishes the tournament."""
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "games_per_pairing = 6", tc="depth=1")
    tournament = et.Tournament.from_toml(path)
    seen: list[Mapping[str, object]] = []
    states, threads = list[str](), list[threading.Thread]()

    def elsewhere() -> None:
        run.stop()
        states.append(run.status()["state"])

    def hear(event: Mapping[str, object]) -> None:
        seen.append(event)
        if event["event"] == "game":
            states.append(run.state)
            assert run.status()["games_done"] == event["number"]
            threads.append(threading.Thread(target=elsewhere))
            threads[-1].start()

    run = et.Run(tournament, on_event=hear)
    with pytest.raises(et.TourError, match="has not begun its games"):
        run.status()
    assert (run.state, run.play(), run.state) == ("new", "stopped", "stopped")
    for thread in threads:
        thread.join()
    assert states[0] == "running"
    assert "stopping" in states
    with pytest.raises(et.TourError, match="has been played"):
        run.play()
    assert seen[-1]["event"] in ("stopped", "trouble")
    assert et.run(tournament).state == "finished"
    with et.open(tournament.database) as db:  # type: ignore[arg-type]
        assert [game.number for game in db.games()] == [1, 2, 3, 4, 5, 6]


def test_the_last_event_of_a_run_without_a_screen(tmp_path: Path) -> None:
    """The last event has the games that remain at the end of the run, not those at its start."""
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "games_per_pairing = 6", tc="depth=1")
    seen: list[Mapping[str, object]] = []
    et.run(et.Tournament.from_toml(path), on_event=seen.append, max_games=2)
    (last,) = (event for event in seen if event["event"] == "stopped")
    assert (last["games_done"], last["remaining"]) == (2, (4, 4))
    assert "2 of 6 games" in str(last["text"])


def test_one_game_without_a_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A game starts in the given position, and nothing is left in the directory."""
    monkeypatch.chdir(tmp_path)
    fen = "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"
    game = et.play("wren1", "wren2", tc="depth=1", opening=fen)
    assert game.moves().headers["FEN"] == fen
    assert (game.white, game.black, game.result) == ("Wren 1", "Wren 2", game.moves().headers["Result"])
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UsageRefused, match="not a valid FEN"):
        et.play("wren1", "wren2", opening="e4")
    with pytest.raises(et.TourError, match="'none' is not an engine file or a program"):
        et.play("wren1", "none")
    with pytest.raises(et.TourError, match=r"^play.tc: 'soon' is not a valid time control"):
        et.play("wren1", "wren2", tc="soon")
