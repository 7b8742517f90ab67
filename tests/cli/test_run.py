"""`enginetour run`: requests, changes between runs, clusters, changed engines, --stop-at."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock
from zoneinfo import ZoneInfo

import pytest

from enginetour.cli import session
from enginetour.cli.changing import machine_lines
from enginetour.cli.run import stop_time
from enginetour.cli.session import StopAt
from enginetour.interop.files import bundled_directory
from enginetour.model.errors import UsageRefused
from enginetour.reports.pgn import UNFINISHED_LINE
from enginetour.store.database import Database
from enginetour.store.replay import fold
from enginetour.store.sqlite import TournamentLock
from enginetour.store.tournaments import Store
from enginetour.testing import PLAYING
from enginetour.tournament import run as run_module
from enginetour.tournament.changes import StoppedTournament, TournamentEditor
from enginetour.tournament.cluster import executor
from enginetour.tournament.control import ask, socket_path
from enginetour.tournament.executor import probe_executor
from enginetour.tournament.plan import prepare
from enginetour.tournament.scheduler import RunEnd
from tests.support.databases import STOPS, WITH_NET, foreign, garbage, newer, with_trigger
from tests.support.tournaments import (
    BUSY_S,
    GONE_S,
    THREE,
    Forked,
    Heard,
    audit,
    config,
    default_signals,
    ended,
    entrant,
    pgn_games,
    quick,
    read,
    running,
    scheduler,
    scripted,
    tour,
    unwrapped,
)

# What once broke a run, or made it say what was not so.

ROBIN = "cycles = {}\ngames_per_pairing = 2"
LONG = ROBIN.format(100)


def robin(folder: Path, cycles: int = 1, more: str = "") -> Path:
    return config(folder, THREE, "roundrobin", ROBIN.format(cycles), more)


def database(folder: Path) -> Path:
    (folder / "results").mkdir(exist_ok=True)
    return folder / "results" / "enginetour.db"


@pytest.mark.parametrize("out", ["/dev/full", "closed"])
def test_words_that_reach_nobody_do_not_end_a_run(tmp_path: Path, out: str) -> None:
    """If its output cannot be written, a run plays all games and its exit code is that of the games."""
    path = robin(tmp_path)
    command = [sys.executable, "-m", "enginetour", "run", str(path)]
    if out == "closed":
        reading, writing = os.pipe()
        os.close(reading)
    else:
        writing = os.open(out, os.O_WRONLY)
    done = subprocess.run(command, cwd=tmp_path, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert done.returncode == 0, done.stderr
    assert "the tournament continues" in done.stderr
    assert "Exception ignored" not in done.stderr
    assert audit(tmp_path) == 6


def test_a_pgn_that_cannot_be_written_does_not_end_a_run(tmp_path: Path) -> None:
    """A PGN file that cannot be written is reported once, and the next run completes it."""
    path, pgn = robin(tmp_path), database(tmp_path).with_name("trial.pgn")
    pgn.mkdir()
    told = tour(tmp_path, "run", str(path)).stderr
    assert told.count("trial.pgn not written") == 1
    assert audit(tmp_path) == 6
    pgn.rmdir()
    tour(tmp_path, "run", str(path))
    assert pgn_games(pgn) == 6


def test_a_game_struck_out_in_a_running_tournament(tmp_path: Path) -> None:
    """A game that is voided while a tournament runs leaves its count and its PGN file."""
    path = config(tmp_path, THREE, "roundrobin", LONG)
    with running(tmp_path, path) as process:
        assert "it will be replayed" in tour(tmp_path, "void", "1").stdout
        asked = ask(socket_path(database(tmp_path), "trial"), {"do": "status"})
        process.send(signal.SIGINT)
        process.ended()
    assert asked is not None
    assert asked["games_done"] + asked["remaining"][0] == 600
    games = audit(tmp_path)
    assert pgn_games(database(tmp_path).with_name("trial.pgn")) == games - 1


REQUESTS = (
    '{"do":"void","game":Infinity}',
    '{"do":"void","game":1e999}',
    '{"do":"void","game":null}',
    '{"do":"void","game":' + "9" * 30 + "}",
    '{"do":"add","entrant":null,"spec":"null"}',
    '{"do":"add","entrant":{},"spec":"[]"}',
    '{"do":"add","id":"wren4","command":["/bin/sh"]}',
    '{"do":"add","id":{"engine":"wren4"}}',
    '{"do":"replace","engine":"Wren 1","id":"../../bin/sh"}',
    '{"do":"add","spec":"' + "[" * 30_000 + '"}',
    '{"do":"add","id":' + "[" * 900 + "]" * 900 + "}",
    '{"do":"withdraw","engine":"Wren 1\\ud800"}',
    '{"do":"withdraw","engine":"Wren 1","why":null}',
    '{"do":"slots","slots":true}',
    '{"do":"status","more":1}',
    '{"do":["add"]}',
    '{"do":"withdraw","engine":["Wren 1"]}',
)


def test_no_request_ends_a_running_tournament(tmp_path: Path) -> None:
    """Any message through the socket is answered, and the games continue."""
    path = config(tmp_path, THREE, "roundrobin", LONG)
    with running(tmp_path, path) as process:
        for request in REQUESTS:
            answer = ask(socket_path(database(tmp_path), "trial"), json.loads(request))
            assert answer is not None
            assert not answer["ok"]
        process.first_game()


def test_a_removed_database_ends_the_run_with_one_line(tmp_path: Path) -> None:
    """If its database is removed, a run ends with one line and reports no more games."""
    path = config(tmp_path, THREE, "roundrobin", LONG)
    with Forked(tmp_path, ["run", str(path)], tmp_path / "errors") as run:
        first = run.first_game().decode()
        database(tmp_path).rename(tmp_path / "kept.db")
        (tmp_path / "results" / "enginetour.db-wal").rename(tmp_path / "kept.db-wal")
        code, out, err = run.ended()
    assert code == 7
    assert "removed or replaced" in err.splitlines()[-1]
    with Store.open(tmp_path / "kept.db", create=False) as store:
        kept = len(store.tournament("trial").games())
    assert f"{first}{out}".count("Finished game") in (kept, kept + 1)


SLOW = """\
import sys, time
open({started!r}, "w").close()
for line in sys.stdin:
    if line.strip() == "uci":
        time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_engines_are_probed(tmp_path: Path, number: signal.Signals) -> None:
    """A signal during the probes ends the run at once with its code, and nothing is written."""
    started = tmp_path / "started"
    os.mkfifo(started)
    (tmp_path / "slow.py").write_text(SLOW.format(started=str(started)))
    entrant = f'\n[[entrants]]\nname = "Slow"\nprotocol = "uci"\ncommand = ["{sys.executable}", "slow.py"]\n'
    entrant += f'dir = "{tmp_path}"\nquirks = {{ handshake_timeout = 60.0 }}'
    path = robin(tmp_path, more=entrant)
    command = [sys.executable, "-m", "enginetour", "run", str(path)]
    with subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, preexec_fn=default_signals
    ) as process:
        started.read_text()  # until the engine has opened it
        process.send_signal(number)
        _, told = process.communicate(timeout=GONE_S + BUSY_S)
    assert process.returncode == 128 + number, told
    assert "stopped before the first game" in told
    assert not (tmp_path / "results").exists()


def test_two_runs_that_make_one_database(tmp_path: Path) -> None:
    """If two runs start at the same time, the second resumes the tournament of the first."""
    path, db = robin(tmp_path), database(tmp_path)
    first = iter([True])

    def overtaken() -> None:
        if next(first, False):
            tour(tmp_path, "run", str(path), "--max-games", "2", expect=8)

    how: dict[str, Any] = {"new": False, "accept_change": False, "tell": print, "check_stop": overtaken}
    with probe_executor() as place, run_module.open_session(prepare(path, db), place, **how) as session:
        assert session.resumed
        assert session.log.edition == 1
        assert len(session.log.games()) == 2


def test_a_newcomer_that_cannot_obey_the_control_is_refused(tmp_path: Path) -> None:
    """An engine that does not support the time control cannot join a tournament."""
    path = config(tmp_path, THREE, "roundrobin", LONG)
    (tmp_path / "engines").mkdir(exist_ok=True)
    (tmp_path / "engines" / "clocky.toml").write_text(
        f'name = "Clocky"\nprotocol = "uci"\ncommand = ["{sys.executable}", "{_wren()}"]\nlimits = ["clock"]\n'
    )
    with running(tmp_path, path) as process:
        assert "does not support depth" in tour(tmp_path, "add", "clocky", expect=3).stderr
        process.first_game()
    assert "does not support depth" in tour(tmp_path, "replace", "Wren 1", "clocky", expect=3).stderr
    assert "Clocky" not in tour(tmp_path, "standings").stdout


def _wren() -> Path:
    return bundled_directory("engines") / "wren.py"


def mine(folder: Path, text: str) -> str:
    """Return an engine of the tester, which is rebuilt sometimes."""
    (folder / "mine.py").write_text(_wren().read_text() + text)
    for name in ("wren_levels.py", "wren_search.py", "wren_voice.py"):
        (folder / name).write_text((_wren().parent / name).read_text())
    return f'\n[[entrants]]\nname = "{{}}"\nprotocol = "uci"\ncommand = ["{sys.executable}", "{folder}/mine.py"]\n'


def test_an_engine_that_was_replaced_may_change(tmp_path: Path) -> None:
    """The file of a replaced engine may change; the configuration may name the old engine, the new one, or both."""
    entrant = mine(tmp_path, "")
    path = robin(tmp_path, more=entrant.format("Mine 1"))
    tour(tmp_path, "run", str(path), "--max-games", "3", expect=8)
    mine(tmp_path, "# better\n")
    assert "Mine 1" in tour(tmp_path, "run", str(path), "--max-games", "1", expect=3).stderr
    with Store.open(database(tmp_path)) as store:
        log = store.tournament()
        plan = prepare(robin(tmp_path, more=entrant.format("Mine 2")), None)
        format_, state = fold(log)
        desk = TournamentEditor(log, format_, StoppedTournament(state))
        desk.replace("Mine 1", plan.entrants[-1], plan.sides["Mine 2"].spec, "rebuilt")
    for names in (("Mine 1",), ("Mine 2",), ("Mine 1", "Mine 2")):
        robin(tmp_path, more="".join(entrant.format(name) for name in names))
        tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    tour(tmp_path, "run", str(path))
    audit(tmp_path)
    assert {row["name"]: row["status"] for row in read(tmp_path, "standings")["table"]}["Mine 1"] == "withdrawn"


def test_a_run_says_why_its_goal_is_out_of_reach(tmp_path: Path) -> None:
    """If the entrant of an adaptive goal withdraws, the last lines of the run say that the goal cannot be reached."""
    goal = 'goal = { entrant = "Wren 2", error = 50 }\ngames = 40'
    path = config(tmp_path, THREE, "adaptive", goal)
    tour(tmp_path, "run", str(path), "--max-games", "2", expect=8)
    tour(tmp_path, "withdraw", "Wren 2")
    done = tour(tmp_path, "run", str(path)).stdout
    assert "\nstate: finished, the goal cannot be reached without the entrants that withdrew\n" in done


def test_an_entrants_own_control_is_frozen_too(tmp_path: Path) -> None:
    """A changed tc of one entrant is an error; without it in the file, the entrant keeps its own."""
    own = '\n[[entrants]]\nengine = "wren4"\ntc = "depth={}"'
    path = robin(tmp_path, more=own.format(2))
    ended = tour(tmp_path, "run", str(path), "--max-games", "1", expect=8).stdout
    assert "\nstate: stopped, --max-games was reached\n" in ended
    robin(tmp_path, more=own.format(1))
    assert "Wren 4 cannot change" in tour(tmp_path, "run", str(path), expect=5).stderr
    robin(tmp_path)
    told = tour(tmp_path, "run", str(path)).stdout
    assert (
        "Wren 4 is no longer in trial.toml but stays in the tournament. "
        "Hint: to remove it, run enginetour withdraw -t trial 'Wren 4'" in told
    )
    assert "stays in the tournament" not in tour(tmp_path, "run", str(path)).stdout
    with Store.open(database(tmp_path), create=False) as store:
        controls = {
            (side, control)
            for stored in store.tournament().full_games()
            for side, control in (
                (stored.game.pairing.white, stored.game.white_tc),
                (stored.game.pairing.black, stored.game.black_tc),
            )
        }
    assert controls == {("Wren 1", "depth=1"), ("Wren 2", "depth=1"), ("Wren 3", "depth=1"), ("Wren 4", "depth=2")}


def test_a_rating_changed_between_two_runs_is_told_not_to_hold(tmp_path: Path) -> None:
    """A rating that was changed between two runs has no effect, and a warning reports it."""
    path = robin(tmp_path)
    text = path.read_text().replace('engine = "wren2"', 'engine = "wren2"\nrating = 1500')
    path.write_text(text)
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    path.write_text(text.replace("1500", "1600").replace('engine = "wren3"', 'engine = "wren3"\nrating = 1400'))
    said = tour(tmp_path, "run", str(path), "--max-games", "1", expect=8).stdout
    assert (
        "warning: Wren 2 keeps its starting rating 1500; the rating 1600 in trial.toml applies to the next edition"
        in said
    )
    assert "warning: Wren 3 started without a rating; the rating 1400 in trial.toml applies to the next edition" in said
    path.write_text(text)
    assert "rating" not in tour(tmp_path, "run", str(path), "--max-games", "1", expect=8).stdout.partition("Started")[0]


def test_an_entrant_is_not_renamed_between_two_runs(tmp_path: Path) -> None:
    """An entrant that was renamed between two runs is an error."""
    path = robin(tmp_path)
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    path.write_text(path.read_text().replace('engine = "wren2"', 'engine = "wren2"\nname = "Mine"'))
    for command in ("check", "run"):
        told = tour(tmp_path, command, str(path), expect=5).stderr
        assert "the file has Mine instead of Wren 2; trial would continue with both. Hint: restore the entrants" in told
    assert {row["name"] for row in read(tmp_path, "standings")["table"]} == {"Wren 1", "Wren 2", "Wren 3"}
    path.write_text(path.read_text() + '\n[[entrants]]\nengine = "wren2"\n')  # two copies are two entrants
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    assert "Mine" in {row["name"] for row in read(tmp_path, "standings")["table"]}


def test_a_copy_of_the_file_for_other_engines_is_another_tournament(tmp_path: Path) -> None:
    """A configuration of the same name with other entrants is an error."""
    path = robin(tmp_path)
    tour(tmp_path, "run", str(path))
    copy = tmp_path / "other.toml"
    copy.write_text(path.read_text().replace("wren1", "wren4").replace("wren2", "wren5").replace("wren3", "wren6"))
    told = tour(tmp_path, "run", str(copy), expect=5).stderr
    assert "the file has Wren 4 and 2 more instead of Wren 1 and 2 more" in told
    assert "set another tournament name" in told
    tour(tmp_path, "run", str(copy), "--new")
    assert {row["name"] for row in read(tmp_path, "standings")["table"]} == {"Wren 4", "Wren 5", "Wren 6"}


def test_more_cycles_in_the_file(tmp_path: Path) -> None:
    """More cycles in the configuration extend a tournament, also a finished one; fewer are an error."""
    path = robin(tmp_path)
    tour(tmp_path, "run", str(path))
    robin(tmp_path, 3)
    assert (
        "3 cycles instead of 1: 12 more games" in tour(tmp_path, "run", str(path), "--max-games", "4", expect=8).stdout
    )
    assert read(tmp_path, "status")["remaining"] == [8, 8]
    assert "instead of" not in tour(tmp_path, "run", str(path)).stdout
    robin(tmp_path, 2)
    assert "cycles cannot change in trial: it was 3" in tour(tmp_path, "run", str(path), expect=5).stderr
    assert audit(tmp_path) == 18
    decisions = unwrapped(tour(tmp_path, "export", "json").stdout)["decisions"]
    assert decisions[-1] == "3 cycles instead of 1: 12 more games"


def test_what_cannot_grow_is_frozen(tmp_path: Path) -> None:
    """A changed setting that cannot be extended is an error of one line, and nothing is written."""
    path = robin(tmp_path)
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    before = database(tmp_path).read_bytes()
    path.write_text(path.read_text().replace("games_per_pairing = 2", "games_per_pairing = 4"))
    told = tour(tmp_path, "run", str(path), expect=5).stderr
    assert "trial.toml:7" in told
    assert "games_per_pairing cannot change in trial: it was 2, found 4 (" in told
    assert database(tmp_path).read_bytes() == before


def test_a_change_waits_for_a_run_that_is_just_ending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change waits for a run that is ending, and fails if that takes too long."""
    path = robin(tmp_path)
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    lock = TournamentLock(database(tmp_path), "trial")
    lock.acquire()
    monkeypatch.setattr("enginetour.cli.changing.PATIENCE_S", 0.0)
    assert "already running" in tour(tmp_path, "withdraw", "Wren 1", expect=5).stderr
    monkeypatch.undo()
    timer = threading.Timer(0.3, lock.release)
    timer.start()
    tour(tmp_path, "withdraw", "Wren 1")
    timer.join()


def test_a_first_file_of_nothing_is_filled(tmp_path: Path) -> None:
    """An empty database file of a killed run is used by the next run."""
    path = robin(tmp_path)
    database(tmp_path).touch()
    tour(tmp_path, "run", str(path))
    assert audit(tmp_path) == 6


@pytest.mark.parametrize("streams", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_harm_nothing(tmp_path: Path, streams: str) -> None:
    """A run with closed standard streams plays, and its files do not get their descriptors."""
    path = robin(tmp_path)
    command = f'exec "$0" -m enginetour run "$1" --max-games 1 {streams}'
    done = subprocess.run(
        ["/bin/sh", "-c", command, sys.executable, str(path)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 8, done.stderr
    assert audit(tmp_path) == 1


def test_an_engine_whose_file_says_that_it_does_not_ponder(tmp_path: Path) -> None:
    """The setting ponder overrides the engine file, and the engine counts as unchanged."""
    (tmp_path / "engines").mkdir()
    command = json.dumps([sys.executable, "-I", "-S", PLAYING])
    for name in ("a", "b"):
        text = f'name = "{name}"\nprotocol = "uci"\ncommand = {command}\n[options]\nPonder = false\n'
        (tmp_path / "engines" / f"{name}.toml").write_text(text)
    path = config(tmp_path, ("a", "b"), "match", "games = 2", play="ponder = true")
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    tour(tmp_path, "run", str(path))


def test_engines_without_a_namespace_are_told_of_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing PID namespace is reported once per machine."""
    monkeypatch.setenv("ENGINETOUR_NAMESPACE", "off")
    told = tour(
        tmp_path, "run", str(quick(tmp_path, system="roundrobin", settings=ROBIN.format(1), play="concurrency = 2"))
    )
    warning = "warning: engines run without a PID namespace (ENGINETOUR_NAMESPACE=off): they end with enginetour"
    assert told.stderr.count(warning) == 1


def test_a_report_of_before_the_end_is_written_anew(tmp_path: Path) -> None:
    """A run without games to play replaces the report that a killed run left."""
    path = robin(tmp_path)
    before, reporting = path.read_text(), path.read_text().replace("write = false", "write = true")
    path.write_text(reporting)
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    page = tmp_path / "results" / "trial-report" / "index.html"
    assert "not finished" in page.read_text("utf-8")
    path.write_text(before)
    tour(tmp_path, "run", str(path))
    path.write_text(reporting)
    assert "report: " in tour(tmp_path, "run", str(path)).stderr
    assert "not finished" not in page.read_text("utf-8")
    assert "report: " not in tour(tmp_path, "run", str(path)).stderr


def test_a_match_tells_of_minutes_before_its_first_game(tmp_path: Path) -> None:
    """`match` warns of a time control that looks like minutes before its first game."""
    words = ("match", "wren1", "wren2", "--tc", "40/1:30", "--games", "2", "--max-moves", "8")
    told = "warning: 40/1:30 means 40 moves in 1 s, then 30 s for the rest; for 1 min 30 s, write 40/90"
    assert told in tour(tmp_path, *words).stdout


def test_a_change_is_made_where_a_run_ends_before_it_answers(tmp_path: Path) -> None:
    """If a run ends before it answers, the command makes the change itself."""
    path = robin(tmp_path)
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    lock = TournamentLock(database(tmp_path), "trial")
    lock.acquire()
    place = socket_path(database(tmp_path), "trial")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.fspath(place))
        listener.listen()

        def end() -> None:
            connection, _ = listener.accept()
            place.unlink()
            connection.recv(1 << 16)
            connection.close()
            lock.release()

        ending = threading.Thread(target=end)
        ending.start()
        told = tour(tmp_path, "withdraw", "Wren 1")
        ending.join()
    assert told.stdout.startswith("Wren 1 withdraws")


def test_after_a_kill_the_pgn_and_the_report_say_that_they_are_not_up_to_date(tmp_path: Path) -> None:
    """After a kill, the PGN file and the report state that they are not up to date."""
    path = robin(tmp_path, 30)
    path.write_text(path.read_text().replace("write = false", "write = true"))
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    pgn, report = tmp_path / "results" / "trial.pgn", tmp_path / "results" / "trial-report"
    state, shown = report / "assets" / "state.css", ".outdated[hidden] { display: block; }"
    assert UNFINISHED_LINE not in pgn.read_bytes()
    for page in ("index.html", "games/1.html"):
        text = (report / page).read_text()
        assert "This report is outdated" in text
        assert "assets/state.css" in text
    assert shown not in state.read_text()
    with running(tmp_path, path) as process:
        process.send(signal.SIGKILL)
    assert pgn.read_bytes().endswith(UNFINISHED_LINE)
    assert shown in state.read_text()
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    assert UNFINISHED_LINE not in pgn.read_bytes()
    assert shown not in state.read_text()
    assert pgn_games(pgn) == audit(tmp_path)


# `run --executor`: errors before the first game are one line each.

WRENS = ("wren1", "wren2")
CLUSTER = "dask=tcp://127.0.0.1:{port}"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a configuration in a workspace."""
    (tmp_path / "results").mkdir()
    return config(tmp_path, WRENS, "roundrobin", "")


@pytest.mark.parametrize("place", ["mars", "dask=127.0.0.1:8786"])
def test_no_place(tmp_path: Path, path: Path, place: str) -> None:
    """The error for an invalid --executor shows what an address looks like."""
    refused = tour(tmp_path, "run", str(path), "--executor", place, expect=2)
    line = f"enginetour: --executor: '{place}' is not a valid executor. Hint: use dask=tcp://HOST:8786 or dask=tls://HOST:8786."
    assert refused.stderr.strip() == line


def test_without_the_extra(tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error without Dask names the package to install, and where."""
    for name in [name for name in sys.modules if name.startswith("enginetour.tournament.cluster")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "distributed", None)
    refused = tour(tmp_path, "run", str(path), "--executor", CLUSTER.format(port=1), expect=2)
    assert refused.stderr.strip().endswith("run pip install 'enginetour[dask]' here and on every machine.")
    assert "Dask is not installed" in refused.stderr


def test_wrong_address(tmp_path: Path, path: Path) -> None:
    """Without a cluster at the address, the error is one line with the next step, and nothing is written."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        place = CLUSTER.format(port=taken.getsockname()[1])  # bound, and nobody listens
        refused = tour(tmp_path, "run", str(path), "--executor", place, expect=2)
    assert "no Dask scheduler responds at tcp://127.0.0.1" in refused.stderr
    assert refused.stderr.strip().endswith("start one there: dask scheduler.")
    assert refused.stderr.count("\n") == 1
    assert list((tmp_path / "results").iterdir()) == []


def test_who_answers_is_no_scheduler(tmp_path: Path, path: Path) -> None:
    """A server that closes every connection is reported as not being a Dask scheduler."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        threading.Thread(target=hang_up, args=(other,), daemon=True).start()
        refuses_who_is_no_scheduler(tmp_path, path, other)
        other.shutdown(socket.SHUT_RDWR)


def test_who_answers_says_nothing(tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that never answers is reported after a time limit."""
    monkeypatch.setattr(executor, "CONNECT_S", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as other:
        refuses_who_is_no_scheduler(tmp_path, path, other, "no answer within 0.3 s")


def hang_up(other: socket.socket) -> None:
    """Close every connection until the server is shut down."""
    with suppress(OSError):
        while True:
            other.accept()[0].close()


def refuses_who_is_no_scheduler(folder: Path, path: Path, other: socket.socket, why: str = r"[^<>]+") -> None:
    place = CLUSTER.format(port=other.getsockname()[1])
    refused = tour(folder, "run", str(path), "--executor", place, expect=2)
    address = re.escape(place.removeprefix("dask="))
    assert re.search(f"no Dask scheduler responds at {address} \\({why}\\). Hint: start one there", refused.stderr)
    assert refused.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("line", "step"), [("affinity = true", "remove affinity"), ("speed = 1.5", 'speed = "measure"')]
)
def test_settings_of_one_machine(tmp_path: Path, path: Path, line: str, step: str) -> None:
    """Settings of one machine, such as affinity and a given speed, are errors with a cluster."""
    path.write_text(path.read_text().replace("[play]\n", f"[play]\n{line}\n").replace('"depth=1"', '"1+0.1"'))
    refused = tour(tmp_path, "run", str(path), "--executor", CLUSTER.format(port=1), expect=3)
    assert step in refused.stderr


def test_machines_in_words() -> None:
    """`machines` prints one line per worker, and what it lacks below."""
    row = {"machine": "io", "address": "tcp://1", "slots": 4, "busy": 1, "played": 1, "processor": "EPYC", "speed": 1.5}
    fit = row | {"state": "fit", "lacks": [], "why": ""}
    odd = row | {
        "state": "lacking",
        "lacks": ["book: no file b", "Owl: no program owl"],
        "processor": "",
        "speed": None,
        "why": "",
    }
    aside = row | {"state": "aside", "lacks": [], "why": "it died", "busy": 0, "played": 2}
    gone = {"machine": "europa", "state": "gone", "played": 3, "why": ""}
    assert list(machine_lines([fit, odd, aside, gone])) == [
        "io (EPYC, speed 1.5): 4 slots, 1 game played, 1 in progress",
        "io (tcp://1): gets no games, 1 game played, 1 in progress",
        "  io lacks book: no file b",
        "  io lacks Owl: no program owl",
        "io (EPYC, speed 1.5): not used: it died, 2 games played",
        "europa: disconnected, 3 games played",
    ]


# Rows of the table of stops as `run` shows them: exit code, one line, and nothing touched.


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (newer, "newer enginetour version"),
        (with_trigger, "contains the trigger 't'"),
        (foreign, "another program"),
        (garbage, "not a SQLite database"),
    ],
)
def test_a_database_that_is_not_ours_to_write(tmp_path: Path, make: Callable[[Path], None], words: str) -> None:
    """A read-only database gives exit code 5 before any engine starts, and does not change."""
    results = tmp_path / "results"
    results.mkdir()
    path = results / "enginetour.db"
    make(path)
    before = path.read_bytes(), os.listdir(results)
    told = tour(tmp_path, "run", str(quick(tmp_path)), expect=5)
    assert words in told.stderr
    assert told.stderr.count("\n") == 1
    assert (path.read_bytes(), os.listdir(results)) == before


def netty(folder: Path, net: str = "x.nnue") -> Path:
    """Return a round robin of an engine with a net and one without."""
    (folder / "netty.py").write_text(WITH_NET)
    own = entrant("Netty", [sys.executable, "-I", str(folder / "netty.py")])
    own += f'\noptions = {{ EvalFile = "{folder / net}" }}\n'
    return config(folder, (), "roundrobin", "cycles = 3", own + scripted("Ada", "uci"), tc="60+1")


@pytest.mark.parametrize("command", ["check", "run"])
@pytest.mark.parametrize(
    ("key", "code"),
    [
        ("[play]\nopenings = { file = 'PIPE' }", 3),
        ("[play]\nopenings = { file = 'PIPE.bin' }", 3),
        ("own_book = { file = 'PIPE' }", 3),
        ("options = { EvalFile = 'PIPE' }", 4),
        ("options = { EvalFile = '/dev/tty' }", 4),
    ],
)
def test_a_pipe_or_a_device_is_no_file_of_a_tournament(tmp_path: Path, command: str, key: str, code: int) -> None:
    """A pipe or a device as an input file is an error of one line, because reading could wait for ever."""
    for name in ("PIPE", "PIPE.bin"):
        os.mkfifo(tmp_path / name)
    path = netty(tmp_path)
    text = path.read_text().replace("[play]", key) if key.startswith("[play]") else path.read_text()
    option = f'options = {{ EvalFile = "{tmp_path / "x.nnue"}" }}'
    (tmp_path / "x.nnue").write_text("weights")
    path.write_text(text if key.startswith("[play]") else text.replace(option, key).replace("PIPE", f"{tmp_path}/PIPE"))
    told = tour(tmp_path, command, str(path), expect=code).stderr
    assert "expected a regular file" in told and told.count("\n") == 1
    assert not (tmp_path / "results").exists()


def test_a_configuration_may_come_through_a_pipe(tmp_path: Path) -> None:
    """A configuration may be a pipe; it is read once."""
    path = netty(tmp_path)
    (tmp_path / "x.nnue").write_text("weights")
    text = path.read_text()
    path.unlink()
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(text,))
    writer.start()
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    writer.join()
    assert audit(tmp_path) == 1


def test_a_changed_net_under_the_same_option_stops_a_resume(tmp_path: Path) -> None:
    """A changed net file stops a resume; with --accept-change it becomes a new engine version."""
    (tmp_path / "x.nnue").write_text("weights")
    path = netty(tmp_path)
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    before = (tmp_path / "results" / "enginetour.db").read_bytes()
    (tmp_path / "x.nnue").write_text("others")
    assert STOPS in tour(tmp_path, "run", str(path), expect=3).stderr
    assert (tmp_path / "results" / "enginetour.db").read_bytes() == before
    (tmp_path / "x.nnue").write_text("weights")
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    (tmp_path / "x.nnue").write_text("others")
    tour(tmp_path, "run", str(path), "--accept-change")
    assert audit(tmp_path) == 3
    connection = sqlite3.connect(tmp_path / "results" / "enginetour.db")
    played = "SELECT count(*) FROM games JOIN engines ON engines.id IN (white_engine, black_engine)"
    by_version = f"{played} WHERE engines.name = 'Netty' GROUP BY fingerprint ORDER BY engines.id"
    assert connection.execute(by_version).fetchall() == [(2,), (1,)]
    connection.close()


def test_an_option_and_a_program_that_changed_stop_a_resume_too(tmp_path: Path) -> None:
    """A changed option or program stops a resume."""
    for name in ("x.nnue", "y.nnue"):
        (tmp_path / name).write_text("weights")
    path = netty(tmp_path)
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    netty(tmp_path, "y.nnue")
    assert STOPS in tour(tmp_path, "run", str(path), expect=3).stderr
    netty(tmp_path)
    (tmp_path / "netty.py").write_text(WITH_NET + "# another\n")
    assert STOPS in tour(tmp_path, "run", str(path), expect=3).stderr


ODD = (
    ("A", (("Hash", "1"), ("Log", "x"))),
    ("A", (("Hash", "1\nLog"), ("x", ""))),
    ("A", (("Hash", "1,Log"), ("x", ""))),
    ("A", (('Hash","1"],["Log', "x"),)),
    ("A", (("Hash", "1 name Log value x"),)),
    ("A", (("hash", "1"), ("Log", "x"))),
    ("a", (("Hash", "1"), ("Log", "x"))),
    ("A ", (("Hash", "1"), ("Log", "x"))),
    ("Ä", (("Hash", "1"),)),  # composed
    ("A\u0308", (("Hash", "1"),)),  # the same to the eye
    ("A|Hash=1", ()),
    ("A", ()),
)


def test_names_and_options_never_collide_in_the_store(tmp_path: Path) -> None:
    """Names and options with separators never collide: each is its own engine version."""
    from enginetour.model.game import Entrant
    from enginetour.model.task import EngineSpec
    from enginetour.store.engines import engine_version

    specs = [EngineSpec(name, ("/opt/x",), "uci", options=options, fingerprint="f") for name, options in ODD]
    with Database.open(tmp_path / "t.db") as database:
        for _ in range(2):
            with database.writing() as connection:
                rows = [engine_version(connection, spec, Entrant(spec.name)) for spec in specs]
            assert len(set(rows)) == len(ODD)
    with Store.open(tmp_path / "t.db", create=False) as store:
        assert store.tournaments() == []


# A time after which no game begins.

EVENING = datetime(2026, 11, 21, 22, 30, tzinfo=ZoneInfo("Europe/Prague"))


@pytest.mark.parametrize(
    "words, hours",
    [
        ("07:00", 8.5),
        ("7:00", 8.5),
        ("22:30", 24),
        ("23:00", 0.5),
        ("2026-11-22T07:00", 8.5),
        ("2026-11-22 07:00:00", 8.5),
        ("2026-11-22T06:00Z", 8.5),
        ("2026-11-22T07:00+02:00", 7.5),
    ],
)
def test_local_unless_it_says_otherwise(monkeypatch: pytest.MonkeyPatch, words: str, hours: float) -> None:
    """HH:MM is the next such time of the local clock; an ISO time is used as given."""
    monkeypatch.setenv("TZ", "Europe/Prague")
    time.tzset()
    try:
        assert stop_time(words, EVENING) == (EVENING + timedelta(hours=hours)).timestamp()
    finally:
        monkeypatch.delenv("TZ")
        time.tzset()


@pytest.mark.parametrize(
    "words", ["7", "25:00", "07:60", "", "2026-11-22", "tomorrow", "07:00+02:00", "2026-11-20T07:00"]
)
def test_refused(words: str) -> None:
    """An invalid time or a time in the past is an error of one line."""
    with pytest.raises(UsageRefused) as refused:
        stop_time(words, EVENING)
    assert "--stop-at" in str(refused.value)


def test_the_night_the_clocks_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """07:00 is the local time also in a night when the clocks change."""
    monkeypatch.setenv("TZ", "Europe/Prague")
    time.tzset()
    try:
        before = datetime(2026, 10, 24, 22, 0).astimezone()
        assert stop_time("07:00", before) - before.timestamp() == 10 * 3600
        within = datetime(2026, 10, 25, 2, 45, fold=1).astimezone()
        assert stop_time("02:50", within) - within.timestamp() == 5 * 60
    finally:
        monkeypatch.delenv("TZ")
        time.tzset()


def test_no_game_begins_then() -> None:
    """From the time of --stop-at on, no game starts, and one message reports it."""
    said = Heard()
    stop = StopAt(3.0, said, clock=iter([1.0, 2.0, 3.0, 4.0, 5.0]).__next__)
    loop = scheduler(ended, watcher=stop)
    assert loop.run() is RunEnd.STOPPED
    assert len(loop.executor.tasks) == 2  # type: ignore[attr-defined]
    assert [words.endswith("finishing games in progress") for words in said.words] == [True]


def test_it_is_the_clock_on_the_wall() -> None:
    """A time in the past stops the loop at once, a later one does not."""
    now = time.time()
    for at, end in ((now - 1, RunEnd.STOPPED), (now + 3600, RunEnd.FINISHED)):
        assert scheduler(ended, watcher=StopAt(at, Heard())).run() is end


def on_our_clock(late: Path) -> None:
    """In the new process: the time of --stop-at comes when a file exists."""
    clock = partial(StopAt, clock=lambda: math.inf if late.exists() else 0.0)
    mock.patch.object(session, "StopAt", clock).start()


def test_real_play(tmp_path: Path) -> None:
    """`status` shows the time of --stop-at; the run exits with code 8, and the same command resumes it."""
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "cycles = 500")
    (tmp_path / "results").mkdir()
    then = datetime.now().astimezone() + timedelta(hours=1)
    words = ["run", str(path), "--stop-at", then.isoformat()]
    run = Forked(tmp_path, words, tmp_path / "errors", partial(on_our_clock, tmp_path / "late"))
    run.first_game()
    told = read(tmp_path, "status")
    assert (told["state"], told["stop_at"]) == ("running", f"{then.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}")
    assert " · stops " in tour(tmp_path, "status").stdout
    (tmp_path / "late").touch()
    code, _, said = run.ended()
    assert code == 8
    assert "--stop-at reached, no new games" in said
    assert 0 < audit(tmp_path) < 500
    assert "stop_at" not in read(tmp_path, "status")
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)


GAMES = "".join(
    f'[White "A"]\n[Black "B"]\n[Result "{result}"]\n\n{result}\n\n' for result in ("1-0", "0-1", "1/2-1/2")
)


@pytest.mark.parametrize(("given", "used"), [(None, "1"), ("4", "4")])
def test_a_list_takes_one_processor_unless_told(
    given: str | None, used: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Linear algebra uses one thread, because two threads take twice as long next to running games."""
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", given or "")
    if given is None:
        monkeypatch.delenv("OPENBLAS_NUM_THREADS")
    (tmp_path / "g.pgn").write_text(GAMES, "utf-8")
    tour(tmp_path, "rate", "g.pgn")
    assert os.environ["OPENBLAS_NUM_THREADS"] == used


def test_defaults_that_an_engine_does_not_have(tmp_path: Path) -> None:
    """Options of [defaults] that no engine has are left out with a note; a changed option is a changed engine."""
    more = "".join(f'\n[[entrants]]\nengine = "wren{level}"' for level in (1, 3, 2))
    usual = "\n[defaults]\noptions = { Seed = 2, Threads = 1, Contempt = 7 }"
    path = config(tmp_path, (), "roundrobin", "", usual + more, strong=True)
    note = "option Contempt of [defaults] is left out for Wren 1, Wren 3, Wren 2: these engines do not have it"
    checked = tour(tmp_path, "check", str(path)).stdout
    assert note in checked and "defaults of all entrants: options = { Seed = 2, Threads = 1, Contempt = 7 }" in checked
    assert note in tour(tmp_path, "run", str(path), "--max-games", "1", expect=8).stdout
    with Store.open(tmp_path / "results" / "enginetour.db", create=False) as store:
        log = store.tournament("trial")
        assert {spec.options for spec in log.specs.values()} == {(("Seed", "2"),)}
        assert log.config["defaults"] == {"options": {"Seed": 2, "Threads": 1, "Contempt": 7}}
    path.write_text(path.read_text().replace("Seed = 2", "Seed = 3"))
    assert "changed since the last game: Wren 1, Wren 2, Wren 3" in tour(tmp_path, "run", str(path), expect=None).stderr
    tour(tmp_path, "run", str(path), "--accept-change", "--max-games", "1", expect=8)
    assert "Contempt of [defaults] is left out for Wren 4: the" in tour(tmp_path, "add", "wren4").stderr
    with Store.open(tmp_path / "results" / "enginetour.db", create=False) as store:
        assert store.tournament("trial").specs["Wren 4"].options == (("Seed", "2"),)
    path.write_text(path.read_text().replace("Contempt = 7", "Contempt = 8"))  # no engine has it
    assert "resuming after 2 of 6" in tour(tmp_path, "run", str(path)).stderr
    path.write_text(f"{path.read_text()}\noptions = {{ Contempt = 7 }}")
    assert "engine Wren 2: unknown option 'Contempt'" in tour(tmp_path, "check", str(path), expect=3).stderr
