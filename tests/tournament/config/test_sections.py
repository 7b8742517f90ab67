"""Tests of tournament/config/sections."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from enginetour.model.errors import InputRefused
from enginetour.model.task import Quirks, Rules
from enginetour.openings.choice import OpeningSettings
from enginetour.reports.pgn import COMMENT_FIELDS
from enginetour.store.tournaments import Store
from enginetour.tournament.config.load import load
from enginetour.tournament.config.sections import (
    ALL,
    EntrantSection,
    NotifySection,
    PlaySection,
    ResignSettings,
    TableSettings,
)
from tests.support.databases import meddled
from tests.support.tournaments import (
    BUBBLE,
    FOUR,
    audit,
    config,
    left_running,
    pgn_games,
    read,
    running,
    tour,
    try_engines_once,
    unwrapped,
)

# [notify].


def written(folder: Path, text: str) -> Path:
    return config(folder, ("wren1", "wren2"), "roundrobin", "", f"\n[notify]\n{text}\n")


def test_read(tmp_path: Path) -> None:
    """All channels are read; by default all events are sent."""
    path = written(tmp_path, 'command = ["./tell", "me"]\nwebhook = "https://x.org:8/y?z=1"\napprise = ["ntfy://x"]')
    found = load(path).notify
    assert tuple(found.channels()) == ("command", "webhook", "apprise")
    assert found.on == ALL
    assert load(written(tmp_path, 'on = ["finished"]')).notify.on == ("finished",)
    assert load(config(tmp_path, ("wren1", "wren2"))).notify == NotifySection()


@pytest.mark.parametrize(
    "text, words",
    [
        ('webhook = "file:///etc/passwd"', "http"),
        ('webhook = "https://"', "http"),
        ('webhook = "http://x.org:99999/"', "http"),
        ('webhook = "http://x.org/a b"', "http"),
        ('command = "rm -r x"', "must be a list"),
        ('command = [""]', "notify"),
        ('on = ["finish"]', "finished"),
        ('hook = "http://x.org"', "hook"),
    ],
)
def test_refused(tmp_path: Path, text: str, words: str) -> None:
    """The error is one line with file and line and what is allowed."""
    with pytest.raises(InputRefused, match=words) as refused:
        load(written(tmp_path, text))
    assert "trial.toml:" in str(refused.value)


def test_addresses_are_not_stored(tmp_path: Path) -> None:
    """Addresses of notifications are not stored, because they may be secrets and may change on resume."""
    path = written(tmp_path, 'webhook = "https://x.org/secret"')
    assert "secret" not in str(load(path).as_stored())


# Defaults of [play].


def test_defaults() -> None:
    """The defaults are those of runner spec 17."""
    play = PlaySection()
    assert (play.concurrency, play.affinity, play.start_parallel, play.restart) == (1, "quick", 4, "auto")
    assert (play.hang_limit, play.doubtful_flag, play.timemargin) == (60.0, "void", None)
    assert (play.max_moves, play.repetition, play.fifty) == (600, 3, 50)
    assert (play.draw, play.resign, play.tablebases, play.draw_offers) == (None, None, None, False)
    assert (play.ponder, play.speed, play.variant, play.engine_log, play.sandbox) == (
        False, None, "standard", False, "none"
    )  # fmt: skip
    assert ResignSettings(movecount=4, score=600).twosided
    tables = TableSettings(path=("/tables",))
    assert (tables.fifty, tables.only, tables.adjudicate, tables.engines) == (True, "both", True, False)
    openings = OpeningSettings()
    assert (openings.order, openings.start, openings.per, openings.repeat) == ("random", 1, None, None)
    own = EntrantSection(engine="x")
    assert (own.ponder, own.restart, own.timemargin, own.tc_factor, own.own_book) == (None, None, None, None, None)


@pytest.mark.parametrize("names", ["all", ["all"], list(COMMENT_FIELDS)])
def test_all_comments_have_a_name(names: object) -> None:
    """ "all" means every comment, as in `export --comments all` and `match --pgn all`."""
    assert PlaySection.model_validate({"pgn": names}).pgn == COMMENT_FIELDS


def test_defaults_of_an_engine() -> None:
    """An engine file without quirks has the usual time limits."""
    quirks = Quirks()
    assert (quirks.handshake_timeout, quirks.ready_timeout, quirks.fence) == (60.0, 60.0, "off")
    assert (quirks.line_delay_ms, quirks.movetime, quirks.max_plies, quirks.restart) == (0, "st", 0, False)
    assert not (quirks.whitepov or quirks.lenient_promotion or quirks.st_fraction or quirks.no_cores)


def test_rules_have_the_same_defaults() -> None:
    """Rules of a game without a configuration have the same defaults."""
    play, rules = PlaySection(), Rules()
    for name in ("repetition", "fifty", "max_moves", "hang_limit", "doubtful_flag", "draw", "resign", "draw_offers"):
        assert getattr(rules, name) == getattr(play, name)


# Whole tournaments between bundled engines, by the command line.


@pytest.mark.usefixtures("_nothing_is_left_running")
def test_a_bubble_ends_with_history_list_and_pgn(workspace: Path) -> None:
    """A bubble of both protocols ends with its history, the rating list and a complete PGN."""
    path = config(workspace, FOUR)
    done = tour(workspace, "run", str(path))
    assert "final ranking" in done.stdout
    assert "wins the edition" in done.stdout
    assert "Finished game 1 (" in done.stdout
    games = audit(workspace)
    assert done.stdout.count("Finished game ") == games
    listed = read(workspace, "ratings")["list"]
    assert sorted(row["name"] for row in listed) == ["Wren 1", "Wren 2", "Wren 3", "Wren 4"]
    assert pgn_games(workspace / "results" / "trial.pgn") == games
    of_file = read_plain(workspace, "rate", str(workspace / "results" / "trial.pgn"), "--pairs", "--json")
    assert (of_file["list"], of_file["caption"]) == (listed, read(workspace, "ratings")["caption"])
    assert any("errors by game pairs" in line for line in of_file["caption"])
    again = tour(workspace, "run", str(path))
    assert "Finished game" not in again.stdout
    assert audit(workspace) == games


@pytest.mark.usefixtures("_nothing_is_left_running")
def test_a_stopped_run_goes_on_where_it_was(workspace: Path) -> None:
    """--max-games stops with code 8; the same command resumes, and no game is played twice."""
    path = config(workspace, FOUR, "roundrobin", "cycles = 1\ngames_per_pairing = 2")
    tour(workspace, "run", str(path), "--max-games", "5", expect=8)
    assert audit(workspace) == 5
    done = tour(workspace, "run", str(path))
    assert "resuming after 5 of 12" in done.stderr
    assert audit(workspace) == 12
    assert read(workspace, "standings")["finished"] is True


@pytest.mark.usefixtures("_nothing_is_left_running")
def test_openings_are_dealt_as_they_were(workspace: Path) -> None:
    """A tournament that was stored without `per` resumes with one opening for all pairs."""
    path = config(workspace, FOUR, "swiss", "rounds = 2\ngames_per_pairing = 2")
    results = workspace / "results"
    tour(workspace, "run", str(path), "--max-games", "2", expect=8)
    meddled(results / "enginetour.db", "update tournaments set config = json_remove(config, '$.per')")
    tour(workspace, "run", str(path))
    assert len(_starts(results / "trial.pgn")) == 1
    tour(workspace, "run", str(path), "--new", "--max-games", "3", expect=8)
    (later,) = set(results.glob("*.pgn")) - {results / "trial.pgn"}
    assert len(_starts(later)) == 2


def _starts(pgn: Path) -> set[str]:
    """Return the different first moves of the games, which are all book moves."""
    bodies = pgn.read_text("utf-8").split("\n\n")[1::2]
    return {body.split("3. ")[0] for body in bodies}


@pytest.mark.usefixtures("_nothing_is_left_running")
def test_a_gauntlet_is_played_and_rated(workspace: Path) -> None:
    """A gauntlet of one seed against three others is played with both colors."""
    path = config(workspace, FOUR, "gauntlet", "seeds = 1\ngames_per_pairing = 2")
    tour(workspace, "run", str(path))
    assert audit(workspace) == 6
    table = read(workspace, "standings")["table"]
    assert max(row["games"] for row in table) == 6


@pytest.mark.usefixtures("_nothing_is_left_running")
def test_killed_in_the_middle_nothing_is_lost_or_doubled(workspace: Path) -> None:
    """After SIGKILL every reported game is there, and the resume finishes the tournament."""
    path = config(workspace, FOUR)
    for stop_after in (2, 3):
        announced = _killed_after(workspace, path, stop_after)
        assert audit(workspace) >= announced
    tour(workspace, "run", str(path))
    audit(workspace)
    assert read(workspace, "status")["state"] == "finished"


def _killed_after(folder: Path, path: Path, games: int) -> int:
    command = [sys.executable, "-u", "-m", "enginetour", "run", str(path)]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as running:
        assert running.stdout is not None
        seen = 0
        for line in running.stdout:
            seen += line.startswith("Finished game")
            if seen == games:
                running.kill()
                break
        return seen


@pytest.mark.usefixtures("_nothing_is_left_running")
def test_ctrl_c_stops_tidily(workspace: Path) -> None:
    """After SIGINT the game in progress ends, the exit code is 130, and the message shows how to resume."""
    path = config(workspace, FOUR, settings=BUBBLE.replace("games_per_pairing = 2", "games_per_pairing = 200"))
    with running(workspace, path) as run:
        run.send(signal.SIGINT)
        code, _, told = run.ended()
    assert code == 130, told
    assert f"enginetour run {path} resumes it" in told
    audit(workspace)


@pytest.mark.usefixtures("_nothing_is_left_running")
def test_a_second_run_is_refused_at_once(workspace: Path) -> None:
    """A second run exits with code 5 and names the first; status asks the first run."""
    path = config(workspace, FOUR, settings=BUBBLE.replace("games_per_pairing = 2", "games_per_pairing = 200"))
    with running(workspace, path) as first:
        second = tour(workspace, "run", str(path), expect=5)
        assert "already running" in second.stderr
        assert str(first.pid) in second.stderr
        assert read(workspace, "status")["state"] == "running"
        told = tour(workspace, "withdraw", "Wren 4", "--why", "trial")
        assert "Wren 4 withdraws" in told.stdout
        first.send(signal.SIGTERM)
        assert first.ended()[0] == 143
    audit(workspace)
    status = {row["name"]: row["status"] for row in read(workspace, "standings")["table"]}
    assert status["Wren 4"] == "withdrawn"


@pytest.mark.usefixtures("_nothing_is_left_running")
def test_changes_are_events_of_the_log(workspace: Path) -> None:
    """withdraw, add, replace and void change a stopped tournament, and the resume plays by them."""
    path = config(workspace, FOUR, "roundrobin", "cycles = 1\ngames_per_pairing = 2")
    tour(workspace, "run", str(path), "--max-games", "4", expect=8)
    tour(workspace, "withdraw", "Wren 1")
    assert "it will be replayed" in tour(workspace, "void", "4", "--why", "trial").stdout
    tour(workspace, "add", "wren5")
    tour(workspace, "replace", "Wren 2", "wren6")
    twice = tour(workspace, "withdraw", "Wren 1", expect=2)
    assert "Wren 1" in twice.stderr
    tour(workspace, "run", str(path))
    audit(workspace)
    table = {row["name"]: row for row in read(workspace, "standings")["table"]}
    assert {name for name, row in table.items() if row["status"] == "withdrawn"} == {"Wren 1", "Wren 2"}
    assert {row["games"] for row in table.values() if not row["status"]} == {6}


@pytest.mark.usefixtures("_nothing_is_left_running")
def test_the_next_edition_starts_from_the_ratings(workspace: Path) -> None:
    """`run --new` starts edition 2 in the order of the ratings."""
    settings = "cycles = 2\ngames_per_pairing = 2"
    path = config(workspace, ("wren1", "wren6"), "roundrobin", settings, strong=True)
    tour(workspace, "run", str(path), "--max-games", "1", expect=8)
    early = tour(workspace, "run", str(path), "--new", expect=2)
    assert "has not ended" in early.stderr
    tour(workspace, "run", str(path))
    tour(workspace, "run", str(path), "--new")
    with Store.open(workspace / "results" / "enginetour.db", create=False) as store:
        second = store.tournament("trial")
        assert second.edition == 2
        assert [entrant.name for entrant in second.entrants] == ["Wren 6", "Wren 1"]


@pytest.mark.usefixtures("_nothing_is_left_running")
def test_frozen_settings_and_changed_engines_stop_a_resume(workspace: Path) -> None:
    """A changed time control or option stops a resume with a hint, and nothing is written."""
    path = config(workspace, FOUR)
    tour(workspace, "run", str(path), "--max-games", "1", expect=8)
    before = (workspace / "results" / "enginetour.db").read_bytes()
    text = path.read_text()
    path.write_text(text.replace("depth=1", "depth=2"))
    frozen = tour(workspace, "run", str(path), expect=5)
    assert "trial.toml:" in frozen.stderr
    assert "cannot change" in frozen.stderr
    path.write_text(text.replace('engine = "wren1"', 'engine = "wren1"\noptions = { Seed = 5 }'))
    changed = tour(workspace, "run", str(path), expect=3)
    assert "Wren 1" in changed.stderr
    assert "--accept-change" in changed.stderr
    assert (workspace / "results" / "enginetour.db").read_bytes() == before
    tour(workspace, "run", str(path), "--accept-change")
    audit(workspace)


FAULTY = "import os\nos._exit(3)\n"  # at once: sys.exit closes the output first, and ends later on a busy machine
DUMB = "import sys\nfor line in sys.stdin: print('what?', flush=True)\n"


@pytest.mark.usefixtures("_nothing_is_left_running")
@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        ('\n[[entrants]]\nengine = "nosuch"', 3, ("trial.toml:", "nosuch", "engines list")),
        ('\n[[entrants]]\nengine = "wren1"', 3, ("trial.toml:", "two entrants have the name 'Wren 1'")),
        ('\n[[entrants]]\nname = "X"\ncommand = ["./missing"]\nprotocol = "uci"', 4, ("trial.toml:", "missing")),
        ('\n[[entrants]]\nname = "X"\ncommand = ["{python}", "{here}/faulty.py"]\nprotocol = "uci"', 4, ("exit 3",)),
        (
            '\n[[entrants]]\nname = "X"\ncommand = ["{python}", "{here}/dumb.py"]\nprotocol = "uci"\n'
            "quirks = { handshake_timeout = 0.5 }",
            4,
            ("X", "check that it uses uci"),
        ),
        ('\n[[entrants]]\nengine = "wren5"\noptions = { Sede = 1 }', 3, ("Wren 5", "Seed")),
        ('\n[[entrants]]\nengine = "wren5"\noptions = { Seed = "many" }', 3, ("Wren 5", "Seed")),
        ('\n[[entrants]]\nengine = "wren2"\nname = "Y"\ntc = "nodes=100"', 3, ("Y", "nodes")),
    ],
)  # fmt: skip
def test_an_engine_that_cannot_play_stops_the_run_before_game_1(
    workspace: Path, more: str, code: int, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine that cannot play is one error with the right exit code, and nothing is written."""
    try_engines_once(monkeypatch)
    (workspace / "faulty.py").write_text(FAULTY)
    (workspace / "dumb.py").write_text(DUMB)
    path = config(workspace, FOUR, more=more)
    done = tour(workspace, "run", str(path), expect=code)
    said = [line for line in done.stderr.splitlines() if line.startswith("enginetour:")]
    assert len(said) == 1
    assert all(word in said[0] for word in words), said
    assert list((workspace / "results").iterdir()) == []


@pytest.mark.usefixtures("_nothing_is_left_running")
def test_a_database_from_elsewhere_is_refused_unchanged(workspace: Path) -> None:
    """A foreign database, or a file that is not one, ends with code 5 and does not change."""
    path = config(workspace, FOUR)
    database = workspace / "results" / "enginetour.db"
    meddled(database, "create table theirs (x)")
    for content in (database.read_bytes(), b"not a database at all\n" * 100):
        database.write_bytes(content)
        done = tour(workspace, "run", str(path), expect=5)
        assert "enginetour.db" in done.stderr
        assert database.read_bytes() == content


@pytest.mark.usefixtures("_nothing_is_left_running")
def test_bad_opening_files_are_refused_by_line(workspace: Path) -> None:
    """An invalid or missing opening book ends with code 3 and shows file and line."""
    (workspace / "bad.epd").write_text("8/8/8/8/8/8/8/8 w - -\n")
    path = config(workspace, FOUR)
    text = path.read_text()
    path.write_text(text.replace("[play]", '[play]\nopenings = { file = "bad.epd" }'))
    assert "bad.epd:1" in tour(workspace, "run", str(path), expect=3).stderr
    path.write_text(text.replace("[play]", '[play]\nopenings = { file = "none.epd" }'))
    assert "none.epd" in tour(workspace, "run", str(path), expect=3).stderr
    assert list((workspace / "results").iterdir()) == []


@pytest.mark.usefixtures("_nothing_is_left_running")
def test_exports_and_tables_in_every_form(workspace: Path) -> None:
    """Games are exported as PGN, CSV and JSON; tables are printed as text, CSV and JSON."""
    path = config(workspace, FOUR)
    tour(workspace, "run", str(path))
    games = audit(workspace)
    assert tour(workspace, "export", "pgn").stdout.count("[Event ") == games
    assert len(tour(workspace, "export", "csv").stdout.splitlines()) == games + 1
    assert len(read_plain(workspace, "export", "json")["games"]) == games
    assert tour(workspace, "crosstable", "--csv").stdout.startswith("rank,name,points")
    assert read(workspace, "bubble")["finished"] is True
    assert "[White " in tour(workspace, "games", "1").stdout
    assert read(workspace, "games", "1")["number"] == 1
    for system in ("elo", "gor", "egf", "egf2021"):
        assert len(read(workspace, "ratings", "--system", system)["list"]) == 4


def read_plain(folder: Path, *words: str) -> Any:
    return unwrapped(tour(folder, *words).stdout)


@pytest.fixture
def _nothing_is_left_running(tmp_path: Path) -> Iterator[None]:
    """Check that no engine or slot of this directory is left."""
    yield
    assert left_running(tmp_path) == []
