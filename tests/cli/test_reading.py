"""Commands that show a tournament, and messages of a run about itself."""

from __future__ import annotations

import signal
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from enginetour.cli.reading import wrap_sentences
from enginetour.interop.files import bundled_directory
from tests.support.databases import Server, add_game, draft, game, open_log
from tests.support.network import Stage, move, start
from tests.support.tournaments import Forked, config, loaded_by, pgn_games, read, running, tour, unwrapped

# What reading commands say to what they do not know, and what a run says of itself.


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a workspace with a finished round robin of three engines."""
    made = tmp_path_factory.mktemp("reading")
    tour(made, "run", config(made, ("wren1", "wren2", "wren3"), "roundrobin", "").name)
    return made


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("games", "--engine", "Wren 4"), "did you mean 'Wren "),
        (("games", "--termination", "crsh"), "did you mean 'crash'"),
        (("ratings", "--anchor", "Wren 4=2000"), "did you mean 'Wren "),
        (("ratings", "--all", "--anchor", "Nobody=2000"), "Nobody"),
        (("ratings", "--anchor", "Wren 1=nan"), "NAME=RATING"),
        (("ratings", "--system", "elo", "--anchor", "Wren 1=2000"), "--system ml"),
        (("standings", "--edition", "7"), "edition 7"),
    ],
)
def test_a_name_that_is_not_there_is_refused(folder: Path, words: tuple[str, ...], told: str) -> None:
    """An unknown engine is an error instead of an empty table."""
    done = tour(folder, *words, expect=None)
    assert done.returncode in (2, 3)
    assert done.stdout == ""
    assert told in done.stderr


@pytest.mark.parametrize(
    "words", [("status",), ("standings",), ("crosstable",), ("standings", "-t"), ("export", "csv", "-t")]
)
def test_a_tournament_is_named_by_its_configuration_too(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """A configuration file selects its tournament and the database of its workspace, from any directory."""
    monkeypatch.delenv("ENGINETOUR_DB", raising=False)
    there = tour(folder, *words, "trial").stdout
    assert there
    assert tour(tmp_path, *words, str(folder / "trial.toml")).stdout == there
    nowhere = tour(folder, *words, "other.toml", expect=2)
    assert "tournament 'other.toml' not found" in nowhere.stderr
    assert "choose one of: trial" in nowhere.stderr
    mistyped = tour(tmp_path, *words, str(folder / "other.toml"), expect=3)
    assert mistyped.stderr == f"enginetour: {folder / 'other.toml'}: file not found, expected a configuration\n"


def test_a_configuration_tells_where_the_files_of_its_tournament_are(
    workspace: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, server: Server
) -> None:
    """With a database on a server, a configuration file selects the directory of engines, PGN and report."""
    monkeypatch.setenv("ENGINETOUR_DB", server.schema())
    path = config(workspace, ("wren1", "wren2", "wren3"), "roundrobin", "")
    tour(workspace, "run", str(path))
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    tour(elsewhere, "void", "2", "-t", str(path))
    assert pgn_games(workspace / "results" / "trial.pgn") == 2
    tour(elsewhere, "report", str(path))
    assert (workspace / "results" / "trial-report" / "index.html").is_file()
    (workspace / "engines").mkdir(exist_ok=True)
    bundled = bundled_directory("engines")
    wren = (bundled / "wren4.toml").read_text("utf-8").replace("{here}", str(bundled))
    (workspace / "engines" / "mine.toml").write_text(wren, "utf-8")
    tour(elsewhere, "add", "mine", "--name", "Mine", "-t", str(path))
    (below := workspace / "games").mkdir()
    tour(below, "report")
    assert not (below / "results").exists()
    assert not any(elsewhere.iterdir())


def test_where_a_list_may_stand_a_configuration_is_its_tournament(folder: Path) -> None:
    """A configuration file in place of a list name selects its tournament; -t cannot be added."""
    assert tour(folder, "ratings", "trial.toml").stdout == tour(folder, "ratings", "-t", "trial").stdout
    assert "name a tournament with -t" in tour(folder, "ratings", "trial", expect=2).stderr


def test_a_configuration_that_names_no_tournament_is_refused(folder: Path, tmp_path: Path) -> None:
    """A configuration without a name is an error; two tournaments in one command are an error."""
    (tmp_path / "x.toml").write_text("tournament = 3\n", "utf-8")
    done = tour(folder, "status", str(tmp_path / "x.toml"), expect=3)
    assert "x.toml: no name under [tournament]" in done.stderr
    (tmp_path / "x.toml").write_text('[league]\nname = "x"\n')
    for words in (("status", "x.toml"), ("pause", "-t", "x.toml")):
        done = tour(tmp_path, *words, expect=3)
        assert "x.toml: describes a league, not a tournament. Hint: name one of its tournaments (" in done.stderr
    assert f"use {tmp_path / 'x'}.toml" in tour(folder, "run", str(tmp_path / "x"), expect=3).stderr
    assert "two tournaments are named" in tour(folder, "status", "trial", "-t", "trial", expect=2).stderr


PLAYING = {"chess", "enginetour.tournament.config.load", "enginetour.tournament.run", "alembic", "jinja2"}
RATING = {"numpy", "networkx", "enginetour.ratings.likelihood"}
READING = {
    **dict.fromkeys(("status", "standings", "crosstable", "games", "games 1"), PLAYING | RATING),
    **dict.fromkeys(("ratings", "lists", "editions", "imports", "export pgn"), PLAYING),
}


@pytest.mark.parametrize("command", READING)
def test_tables_are_told_without_what_plays_and_rates(folder: Path, command: str) -> None:
    """Reading commands load no modules that play, and tables load none that rate: a third of their time (measured)."""
    said, modules = loaded_by(*command.split(), folder=folder)
    assert said
    assert modules.isdisjoint(READING[command])


def test_a_configuration_where_a_number_belongs_is_told_how_it_is_named(folder: Path) -> None:
    """A configuration file instead of a number is an error that shows -t."""
    for command in ("games", "void"):
        done = tour(folder, command, "trial.toml", expect=2)
        assert "'trial.toml' is not a number; -t trial.toml selects a tournament" in done.stderr
    assert "'nothing' is not a valid number" in tour(folder, "games", "nothing", expect=2).stderr


def test_no_games_are_told(folder: Path) -> None:
    """A message about an empty table is on stderr."""
    assert "no games found" in tour(folder, "games", "--termination", "crash").stderr


def test_the_crosstable_as_json_names_the_opponents(folder: Path) -> None:
    """The crosstable as JSON has opponents by name, because column numbers change after each game."""
    rows = read(folder, "crosstable")["table"]
    assert {row["name"]: set(row["against"]) for row in rows} == {
        name: {"Wren 1", "Wren 2", "Wren 3"} - {name} for name in ("Wren 1", "Wren 2", "Wren 3")
    }


def test_every_json_is_one_object_or_the_list_of_games(folder: Path) -> None:
    """JSON output is an object; only that of `games` is a list."""
    for command in ("status", "standings", "crosstable", "ratings", "systems"):
        assert isinstance(unwrapped(tour(folder, command, "--json").stdout), dict)
    assert isinstance(read(folder, "games"), list)
    assert isinstance(unwrapped(tour(folder, "engines", "list", "--json").stdout), dict)


def test_a_run_tells_the_command_that_resumes_it(tmp_path: Path) -> None:
    """A run prints the command that resumes it with its database, its progress, and the command of the next edition."""
    path = config(tmp_path, ("wren1", "wren2", "wren3"), "roundrobin", "")
    words = ("run", path.name, "--db", "my games.db")
    first = tour(tmp_path, *words, "--max-games", "1", expect=8)
    assert "enginetour run trial.toml --db 'my games.db' resumes it" in first.stderr
    assert "resuming after 1 of 3 games" in tour(tmp_path, *words).stderr
    again = tour(tmp_path, *words).stderr
    assert "trial finished after 3 games" in again
    assert "enginetour run trial.toml --db 'my games.db' --new" in again


def test_a_finished_match_of_one_game(tmp_path: Path) -> None:
    """A run of a finished tournament counts one game in the singular."""
    words = ("run", config(tmp_path, ("wren1", "wren2"), "match", "games = 1\ngames_per_pairing = 1").name)
    tour(tmp_path, *words)
    assert "trial finished after 1 game; " in tour(tmp_path, *words).stderr


def test_a_running_tournament_answers_without_the_database(tmp_path: Path) -> None:
    """Commands for a running tournament load no module of the database."""
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "cycles = 5000")
    with running(tmp_path, path) as run:
        for command in ("status", "pause -t trial", "concurrency 1", "unpause", "status -t trial", "finish"):
            said, modules = loaded_by(*command.split(), folder=tmp_path)
            assert modules.isdisjoint({"sqlmodel", "sqlalchemy"}), command
            assert said
        assert run.ended()[0] == 8
    assert read(tmp_path, "status", "-t", "trial")["state"] == "stopped"


def test_a_name_in_a_pgn_is_the_name(tmp_path: Path) -> None:
    """Braces in names stay in PGN tags, so that other programs read the same name."""
    more = '\n[[entrants]]\nengine = "wren1"\nname = "A {b}"'
    tour(tmp_path, "run", config(tmp_path, ("wren2",), "roundrobin", "", more).name)
    assert 'A {b}"]' in tour(tmp_path, "export", "pgn").stdout


def test_what_cannot_be_written_can_be_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists can be read from a database without write permission."""
    from enginetour.store.database import Database

    opened: list[bool] = []
    real = Database.open.__func__  # type: ignore[attr-defined]

    def noted(cls: type[Database], /, path: Path, *, readonly: bool = False, **more: Any) -> Database:
        opened.append(readonly)
        return real(cls, path, readonly=readonly, **more)  # type: ignore[no-any-return]

    monkeypatch.setattr(Database, "open", classmethod(noted))
    for words in (("status",), ("standings",), ("crosstable",), ("games", "1"), ("ratings",), ("export", "pgn")):
        tour(folder, *words)
    assert opened == [True] * 6


@pytest.mark.parametrize("place", ["missing/games.pgn", "."])
def test_an_export_makes_no_folders(place: str, folder: Path) -> None:
    """An export to a missing directory, or to a directory, is an error and creates nothing."""
    before = sorted(path.name for path in folder.iterdir())
    assert "-o" in tour(folder, "export", "pgn", "-o", place, expect=2).stderr
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_run_that_ends_while_it_is_asked_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a run ends while it is asked for its status, the status includes its last game."""
    (tmp_path / "results").mkdir()
    store, log = open_log(tmp_path / "results" / "enginetour.db")
    monkeypatch.setattr("enginetour.tournament.control.ask", lambda *_: add_game(log, game()) and None)
    with store:
        assert read(tmp_path, "status")["games_done"] == 1


def test_status_breaks_its_sentences_at_blanks(monkeypatch: pytest.MonkeyPatch) -> None:
    """`status` wraps lines at word boundaries in a terminal, and not in a pipe."""
    words = "bubble · autumn · finished\nended by: 54 adjudication-resign, 9 adjudication-tablebase, 3 time"
    assert wrap_sentences(words) == words
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "40")
    assert wrap_sentences(words).splitlines() == [
        "bubble · autumn · finished",
        "ended by: 54 adjudication-resign, 9",
        "  adjudication-tablebase, 3 time",
    ]


# ``status --watch``: how far a tournament is, again and again, as long as it runs.


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_it_looks_every_two_seconds_until_the_run_is_over(
    options: tuple[str, ...], stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`status --watch` prints the status until the run has ended."""
    pauses: list[float] = []
    stage.playing = [start() | move(2, score=-20)]
    with ExitStack() as run:
        run.enter_context(stage.running())

        def sleep(seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == 2:
                run.close()
                stage.store.create_tournament(draft("winter"))  # the newest from now on

        monkeypatch.setattr(time, "sleep", sleep)
        done = tour(stage.database.parents[1], "status", "--watch", *options)
    assert pauses == [2.0, 2.0]
    assert done.stderr == "tournament autumn, edition 1\n"  # once
    told = done.stdout
    assert (told.count("running"), told.count("stopped")) == (2, 1)
    assert "Fruit" in told
    assert "winter" not in told


def test_a_stopped_tournament_is_looked_at_once(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """`status --watch` prints the status of a stopped tournament once."""
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("it waits"))
    assert "stopped" in tour(stage.database.parents[1], "status", "--watch").stdout


def test_ctrl_c_ends_it_without_a_word(stage: Stage) -> None:
    """Ctrl-C ends `status --watch` with exit code 130 and without a message."""
    folder = stage.database.parents[1]
    with stage.running(), Forked(folder, ["status", "--watch"], folder / "err") as looking:
        looking.hear(b"running")
        looking.send(signal.SIGINT)
        code, _, told = looking.ended()
        assert (code, told.strip()) == (128 + signal.SIGINT, "tournament autumn, edition 1")
