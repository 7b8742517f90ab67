"""What once broke a run, or made it say what was not so."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from enginetour.interop.files import shipped
from enginetour.reports.pgn import UNFINISHED
from enginetour.store.replay import fold
from enginetour.store.sqlite import TournamentLock
from enginetour.store.tournaments import Store
from enginetour.tournament import run
from enginetour.tournament.changes import desk_of
from enginetour.tournament.control import ask, socket_path
from enginetour.tournament.plan import prepare
from enginetour.tournament.probing import trial_place
from tests.touring import BUSY_S, GONE_S, THREE, audit, config, default_signals, pgn_games, read, running, tour

ROBIN = "cycles = {}\ngames_per_pairing = 2"
LONG = ROBIN.format(100)


def robin(folder: Path, cycles: int = 1, more: str = "") -> Path:
    return config(folder, THREE, "roundrobin", ROBIN.format(cycles), more)


def database(folder: Path) -> Path:
    (folder / "results").mkdir(exist_ok=True)
    return folder / "results" / "enginetour.db"


@pytest.mark.parametrize("out", ["/dev/full", "closed"])
def test_words_that_reach_nobody_do_not_end_a_run(tmp_path: Path, out: str) -> None:
    """Output to a full disk, or into a pipe whose reader has gone: all games are played, and the exit code says so."""
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
    assert "the tournament goes on" in done.stderr
    assert "Exception ignored" not in done.stderr
    assert audit(tmp_path) == 6


def test_a_pgn_that_cannot_be_written_does_not_end_a_run(tmp_path: Path) -> None:
    """It is told once; when it can be written again the next run makes it whole."""
    path, pgn = robin(tmp_path), database(tmp_path).with_name("trial.pgn")
    pgn.mkdir()
    told = tour(tmp_path, "run", str(path)).stderr
    assert told.count("trial.pgn not written") == 1
    assert audit(tmp_path) == 6
    pgn.rmdir()
    tour(tmp_path, "run", str(path))
    assert pgn_games(pgn) == 6


def test_a_game_struck_out_in_a_running_tournament(tmp_path: Path) -> None:
    """It leaves the count and the PGN."""
    path = config(tmp_path, THREE, "roundrobin", LONG)
    with running(tmp_path, path) as process:
        assert "offered again" in tour(tmp_path, "void", "1").stdout
        asked = ask(socket_path(database(tmp_path), "trial"), {"do": "status"})
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
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
    """Whatever comes through the socket is answered or refused; the games go on."""
    path = config(tmp_path, THREE, "roundrobin", LONG)
    with running(tmp_path, path) as process:
        for request in REQUESTS:
            answer = ask(socket_path(database(tmp_path), "trial"), json.loads(request))
            assert answer is not None
            assert not answer["ok"]
        assert process.stdout is not None
        assert next(line for line in process.stdout if line.startswith("Finished game"))


def test_a_removed_database_ends_the_run_with_one_line(tmp_path: Path) -> None:
    """No game is announced that nobody will find again."""
    path = config(tmp_path, THREE, "roundrobin", LONG)
    with running(tmp_path, path, stderr=subprocess.PIPE) as process:
        database(tmp_path).rename(tmp_path / "kept.db")
        (tmp_path / "results" / "enginetour.db-wal").rename(tmp_path / "kept.db-wal")
        assert process.stdout is not None
        assert process.stderr is not None
        out, err = process.stdout.read(), process.stderr.read()  # what came in one breath with the first game too
        process.wait(60)
    assert process.returncode == 7
    assert "removed or replaced" in err.splitlines()[-1]
    with Store.open(tmp_path / "kept.db", create=False) as store:
        kept = len(store.tournament("trial").games())
    assert 1 + sum(line.startswith("Finished game") for line in out.splitlines()) in (kept, kept + 1)


SLOW = """\
import sys, time
open({started!r}, "w").close()
for line in sys.stdin:
    if line.strip() == "uci":
        time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_engines_are_probed(tmp_path: Path, number: signal.Signals) -> None:
    """It is heeded at once, nothing is written, and the exit code names it."""
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
    """One makes the tournament while the other probes, plays and stops: the other goes on with it."""
    path, db = robin(tmp_path), database(tmp_path)
    first = iter([True])

    def overtaken() -> None:
        if next(first, False):
            tour(tmp_path, "run", str(path), "--max-games", "2", expect=8)

    how: dict[str, Any] = {"new": False, "accept_change": False, "tell": print, "heed": overtaken}
    with trial_place() as place, run.opened(prepare(path, db), place, **how) as session:
        assert session.resumed
        assert session.log.edition == 1
        assert len(session.log.games()) == 2


def test_a_newcomer_that_cannot_obey_the_control_is_refused(tmp_path: Path) -> None:
    """Before its event is written: after that neither this run nor the next could play it."""
    path = config(tmp_path, THREE, "roundrobin", LONG)
    (tmp_path / "engines").mkdir()
    (tmp_path / "engines" / "clocky.toml").write_text(
        f'name = "Clocky"\nprotocol = "uci"\ncommand = ["{sys.executable}", "{_wren()}"]\nlimits = ["clock"]\n'
    )
    with running(tmp_path, path) as process:
        assert "does not obey depth" in tour(tmp_path, "add", "clocky", expect=3).stderr
        assert process.stdout is not None
        assert next(line for line in process.stdout if line.startswith("Finished game"))
    assert "does not obey depth" in tour(tmp_path, "replace", "Wren 1", "clocky", expect=3).stderr
    assert "Clocky" not in tour(tmp_path, "standings").stdout


def _wren() -> Path:
    return shipped("engines") / "wren.py"


def mine(folder: Path, text: str) -> str:
    """An engine of the tester's own, which it rebuilds now and then."""
    (folder / "mine.py").write_text(_wren().read_text() + text)
    for name in ("wren_levels.py", "wren_search.py", "wren_voice.py"):
        (folder / name).write_text((_wren().parent / name).read_text())
    return f'\n[[entrants]]\nname = "{{}}"\nprotocol = "uci"\ncommand = ["{sys.executable}", "{folder}/mine.py"]\n'


def test_an_engine_that_was_replaced_may_change(tmp_path: Path) -> None:
    """Its file is rebuilt, which is why it was replaced; the configuration may name the old one, the new, or both."""
    entrant = mine(tmp_path, "")
    path = robin(tmp_path, more=entrant.format("Mine 1"))
    tour(tmp_path, "run", str(path), "--max-games", "3", expect=8)
    mine(tmp_path, "# better\n")
    assert "Mine 1" in tour(tmp_path, "run", str(path), "--max-games", "1", expect=3).stderr
    with Store.open(database(tmp_path)) as store:
        log = store.tournament()
        plan = prepare(robin(tmp_path, more=entrant.format("Mine 2")), None)
        desk = desk_of(log, *fold(log))
        desk.replace("Mine 1", plan.entrants[-1], plan.sides["Mine 2"].spec, "rebuilt")
    for names in (("Mine 1",), ("Mine 2",), ("Mine 1", "Mine 2")):
        robin(tmp_path, more="".join(entrant.format(name) for name in names))
        tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    tour(tmp_path, "run", str(path))
    audit(tmp_path)
    assert {row["name"]: row["status"] for row in read(tmp_path, "standings")["table"]}["Mine 1"] == "withdrawn"


def test_an_entrants_own_control_is_frozen_too(tmp_path: Path) -> None:
    """Another tc for one engine is refused; left out of the file it goes on with the one it had."""
    own = '\n[[entrants]]\nengine = "wren4"\ntc = "depth={}"'
    path = robin(tmp_path, more=own.format(2))
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    robin(tmp_path, more=own.format(1))
    assert "Wren 4 is frozen" in tour(tmp_path, "run", str(path), expect=5).stderr
    robin(tmp_path)
    told = tour(tmp_path, "run", str(path)).stdout
    assert "Wren 4 is no longer in trial.toml and plays on; enginetour withdraw -t trial 'Wren 4' takes it out" in told
    assert "plays on" not in tour(tmp_path, "run", str(path)).stdout
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
    """Who meets whom follows from those of the beginning; the new one was passed over without a word."""
    path = robin(tmp_path)
    text = path.read_text().replace('engine = "wren2"', 'engine = "wren2"\nrating = 1500')
    path.write_text(text)
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    path.write_text(text.replace("1500", "1600").replace('engine = "wren3"', 'engine = "wren3"\nrating = 1400'))
    said = tour(tmp_path, "run", str(path), "--max-games", "1", expect=8).stdout
    assert "warning: Wren 2 keeps the rating it began with, 1500; trial.toml says 1600" in said
    assert "warning: Wren 3 began without a rating; trial.toml says 1400" in said
    path.write_text(text)
    assert "rating" not in tour(tmp_path, "run", str(path), "--max-games", "1", expect=8).stdout.partition("Started")[0]


def test_an_entrant_is_not_renamed_between_two_runs(tmp_path: Path) -> None:
    """It went on by its old name, and the same program joined beside it by the new one, with as many games again."""
    path = robin(tmp_path)
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    path.write_text(path.read_text().replace('engine = "wren2"', 'engine = "wren2"\nname = "Mine"'))
    for command in ("check", "run"):
        told = tour(tmp_path, command, str(path), expect=5).stderr
        assert "the file has Mine instead of Wren 2, and trial would play on with both; put back what it had" in told
    assert {row["name"] for row in read(tmp_path, "standings")["table"]} == {"Wren 1", "Wren 2", "Wren 3"}
    path.write_text(path.read_text() + '\n[[entrants]]\nengine = "wren2"\n')  # two copies are two entrants
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    assert "Mine" in {row["name"] for row in read(tmp_path, "standings")["table"]}


def test_a_copy_of_the_file_for_other_engines_is_another_tournament(tmp_path: Path) -> None:
    """Its name was left as it was: both fields were played as one, though the first tournament had ended."""
    path = robin(tmp_path)
    tour(tmp_path, "run", str(path))
    copy = tmp_path / "other.toml"
    copy.write_text(path.read_text().replace("wren1", "wren4").replace("wren2", "wren5").replace("wren3", "wren6"))
    told = tour(tmp_path, "run", str(copy), expect=5).stderr
    assert "the file has Wren 4 and 2 more instead of Wren 1 and 2 more" in told
    assert "another tournament has another name" in told
    tour(tmp_path, "run", str(copy), "--new")
    assert {row["name"] for row in read(tmp_path, "standings")["table"]} == {"Wren 4", "Wren 5", "Wren 6"}


def test_more_cycles_in_the_file(tmp_path: Path) -> None:
    """On resume, also of a tournament that has ended, and again after a stop; fewer than now are refused."""
    path = robin(tmp_path)
    tour(tmp_path, "run", str(path))
    robin(tmp_path, 3)
    assert (
        "3 cycles instead of 1: 12 more games" in tour(tmp_path, "run", str(path), "--max-games", "4", expect=8).stdout
    )
    assert read(tmp_path, "status")["remaining"] == [8, 8]
    assert "instead of" not in tour(tmp_path, "run", str(path)).stdout
    robin(tmp_path, 2)
    assert "cycles is frozen for trial: it was 3" in tour(tmp_path, "run", str(path), expect=5).stderr
    assert audit(tmp_path) == 18
    decisions = json.loads(tour(tmp_path, "export", "json").stdout)["decisions"]
    assert decisions[-1] == "3 cycles instead of 1: 12 more games"


def test_what_cannot_grow_is_frozen(tmp_path: Path) -> None:
    """Games per pairing of a round robin, the size of a bubble: one line with the reason, nothing written."""
    path = robin(tmp_path)
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    before = database(tmp_path).read_bytes()
    path.write_text(path.read_text().replace("games_per_pairing = 2", "games_per_pairing = 4"))
    told = tour(tmp_path, "run", str(path), expect=5).stderr
    assert "trial.toml:7" in told
    assert "games_per_pairing is frozen for trial: it was 2, the file says 4 (only more than 1 cycles" in told
    assert database(tmp_path).read_bytes() == before


def test_a_change_waits_for_a_run_that_is_just_ending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The socket is closed, the lock still held: the change is made a moment later, or refused if it lasts."""
    path = robin(tmp_path)
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    lock = TournamentLock(database(tmp_path), "trial")
    lock.acquire()
    monkeypatch.setattr("enginetour.cli.common.PATIENCE_S", 0.0)
    assert "already running" in tour(tmp_path, "withdraw", "Wren 1", expect=5).stderr
    monkeypatch.undo()
    timer = threading.Timer(0.3, lock.release)
    timer.start()
    tour(tmp_path, "withdraw", "Wren 1")
    timer.join()


def test_a_first_file_of_nothing_is_filled(tmp_path: Path) -> None:
    """A kill in the very first moment leaves an empty database: the same command goes on."""
    path = robin(tmp_path)
    database(tmp_path).touch()
    tour(tmp_path, "run", str(path))
    assert audit(tmp_path) == 6


@pytest.mark.parametrize("streams", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_harm_nothing(tmp_path: Path, streams: str) -> None:
    """As cron jobs and daemons leave them: a run ended in our own failure, and its files took their numbers."""
    path = robin(tmp_path)
    command = f'exec "$0" -m enginetour run "$1" --max-games 1 {streams}'
    done = subprocess.run(
        ["/bin/sh", "-c", command, sys.executable, str(path)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 8, done.stderr
    assert audit(tmp_path) == 1


def test_an_engine_whose_file_says_that_it_does_not_ponder(tmp_path: Path) -> None:
    """The setting goes over its file, so it is no other engine than a moment ago: no game could begin."""
    (tmp_path / "engines").mkdir()
    script = Path(__file__).parents[1] / "engines" / "scripted.py"
    command = json.dumps([sys.executable, str(script), "--protocol", "uci"])
    for name in ("a", "b"):
        text = f'name = "{name}"\nprotocol = "uci"\ncommand = {command}\n[options]\nPonder = false\n'
        (tmp_path / "engines" / f"{name}.toml").write_text(text)
    path = config(tmp_path, ("a", "b"), "match", "games = 2")
    path.write_text(path.read_text().replace("[play]\n", "[play]\nponder = true\n"))
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    tour(tmp_path, "run", str(path))


def test_a_report_of_before_the_end_is_written_anew(tmp_path: Path) -> None:
    """A run that is killed over its report leaves an older one: the next run had nothing to play, and left it too."""
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
    """Only check did, and a match has none before it: 40/1:30 was played in 1 s for 40 moves, without a word."""
    words = ("match", "wren1", "wren2", "--tc", "40/1:30", "--games", "2", "--max-moves", "8")
    told = "warning: 40/1:30 is 40 moves in 1 s, then 30 s for the rest; if 1 min 30 s were meant, write 40/90"
    assert told in tour(tmp_path, *words).stdout


def test_a_change_is_made_where_a_run_ends_before_it_answers(tmp_path: Path) -> None:
    """`add` near the end of a run answered with 5: the run had closed its socket and still wrote its report."""
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
    """Both looked complete until the next run."""
    path = robin(tmp_path, 30)
    path.write_text(path.read_text().replace("write = false", "write = true"))
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    pgn, report = tmp_path / "results" / "trial.pgn", tmp_path / "results" / "trial-report"
    state, shown = report / "assets" / "state.css", ".outdated[hidden] { display: block; }"
    assert UNFINISHED not in pgn.read_bytes()
    for page in ("index.html", "games/1.html"):
        text = (report / page).read_text()
        assert "This report is not up to date" in text
        assert "assets/state.css" in text
    assert shown not in state.read_text()
    with running(tmp_path, path) as process:
        process.kill()
        process.wait()
    assert pgn.read_bytes().endswith(UNFINISHED)
    assert shown in state.read_text()
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    assert UNFINISHED not in pgn.read_bytes()
    assert shown not in state.read_text()
    assert pgn_games(pgn) == audit(tmp_path)
