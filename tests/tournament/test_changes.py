"""Tests of tournament/changes."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from enginetour.model.errors import UsageRefused
from enginetour.testing import PLAYING
from enginetour.tournament.changes import RunController
from enginetour.tournament.requests import parsed
from enginetour.tournament.scheduler import RunEnd
from tests.support.tournaments import (
    FOUR,
    THREE,
    Forked,
    airborne,
    audit,
    config,
    entrant,
    read,
    running,
    scripted,
    settle,
    tour,
)

# Messages about changes.


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Play one game of a tournament of two cycles, to be copied by the tests."""
    folder = tmp_path_factory.mktemp("begun")
    tour(folder, "run", config(folder, THREE, "roundrobin", "cycles = 2").name, "--max-games", "1", expect=8)
    return folder


@pytest.fixture
def stopped(begun: Path, tmp_path: Path) -> Path:
    """Copy that tournament to the test's own directory."""
    return shutil.copytree(begun, tmp_path / "stopped")


def test_each_sentence_of_a_change_stands_alone(stopped: Path) -> None:
    """Each sentence of a reply is complete, and none is repeated."""
    assert tour(stopped, "withdraw", "Wren 2").stdout.startswith("Wren 2 withdraws; ")
    assert tour(stopped, "add", "wren4").stdout == "Wren 4 joins; its 4 games follow after all other games.\n"
    said = tour(stopped, "replace", "Wren 1", "wren5").stdout
    assert said.startswith("Wren 5 takes the place of Wren 1. Wren 1 withdraws; ")
    assert ". Wren 5 joins; " in said
    assert said.endswith(".\n")


def test_choices_after_a_change_are_lines_of_their_own(tmp_path: Path) -> None:
    """An adaptive tournament shows each choice after a change on its own line, and what a void game changes."""
    path = config(tmp_path, FOUR, "adaptive", "games = 60\nahead = 2\ngoal = { error = 60 }")
    tour(tmp_path, "run", str(path), "--max-games", "5", expect=8)
    void, *others = tour(tmp_path, "void", "1").stdout.splitlines()
    assert void.endswith(" is void; it is not replayed, and the next games are chosen without its result.")
    assert others == []
    assert tour(tmp_path, "void", "5").stdout.endswith("is void; it will be replayed.\n")
    for words in (("withdraw", "Wren 2"), ("replace", "Wren 1", "wren5")):
        change, *choices = tour(tmp_path, *words).stdout.splitlines()
        assert "games are canceled, and its finished games do not count for opponents." in change
        assert change.endswith(".")
        assert choices
        assert all(re.fullmatch(r"\d+\. Wren \d - Wren \d: .+\.", line) for line in choices)
    table = " ".join(tour(tmp_path, "standings").stdout.split())
    assert "RATING: rating after the counted games, in Elo (the average is 0 before the first game); ± is" in table


def test_a_bubble_says_once_who_takes_a_place(tmp_path: Path) -> None:
    """A bubble reports a replacement in one sentence."""
    path = config(tmp_path, FOUR)
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    said = tour(tmp_path, "replace", "Wren 1", "wren5").stdout
    assert said.count("takes the place of Wren 1") == 1
    assert "Wren 1 withdraws" in said


def test_a_game_in_the_air_of_who_leaves_is_told_of(tmp_path: Path) -> None:
    """The reply of a withdrawal mentions the game in progress, which counts for the ratings only."""
    (tmp_path / "results").mkdir()
    engines = scripted("Ada", "uci", "--fault", "hang", "--at", "1") + scripted("Bo", "uci")
    path = config(
        tmp_path, (), "roundrobin", "games_per_pairing = 2", engines, tc="600", play="openings = { plies = 0 }"
    )
    with Forked(tmp_path, ["run", str(path)], tmp_path / "errors") as run:
        run.hear(b"Started game 1")
        said = tour(tmp_path, "withdraw", "Bo").stdout
        assert said.endswith(" Its game against Ada is played to its end and counts for the ratings only.\n")


def test_an_engine_of_the_same_name_needs_another(stopped: Path) -> None:
    """The error for a name that is in use mentions the option for another name."""
    refused = tour(stopped, "add", "wren1", expect=2)
    assert refused.stderr.splitlines()[-1].endswith(". Hint: give the new entrant another name with --name.")


def test_nobody_joins_who_does_not_play_the_variant(tmp_path: Path) -> None:
    """An engine that does not support the variant cannot join."""
    able = scripted("Ada", "uci", "--variants", "chess960") + scripted("Bo", "uci", "--variants", "chess960")
    path = config(tmp_path, (), "roundrobin", "games_per_pairing = 2", able, tc="600", play='variant = "chess960"')
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    for words in (("add", "wren4"), ("replace", "Bo", "wren4")):
        assert "Wren 4 does not declare chess960" in tour(tmp_path, *words, expect=3).stderr
    assert {row["name"] for row in read(tmp_path, "standings")["table"]} == {"Ada", "Bo"}


@pytest.mark.parametrize(
    ("number", "told"), [("9" * 30, "must be between 1 and"), ("999", "run enginetour games for a list")]
)
def test_a_game_that_cannot_be(stopped: Path, number: str, told: str) -> None:
    """A game number beyond the largest one of a database is a usage error."""
    assert told in tour(stopped, "void", number, expect=2).stderr


def test_a_void_game_says_what_it_was(stopped: Path) -> None:
    """The list of games shows that a game is void, with its former result and cause."""
    tour(stopped, "void", "1", "--why", "swapping")
    assert "annulled, was " in tour(stopped, "games").stdout


def rounds(text: str) -> list[str]:
    """Return the numbers of the games in a PGN, in order."""
    return re.findall(r'^\[Round "(.+)"\]$', text, re.MULTILINE)


def test_a_game_struck_out_leaves_the_pgn_of_the_last_run(begun: Path, tmp_path: Path) -> None:
    """Voiding a game without a running tournament also removes it from the PGN."""
    stopped = shutil.copytree(begun, tmp_path / "stopped")
    tour(stopped, "run", "trial.toml", "--max-games", "2", expect=8)
    pgn = stopped / "results" / "trial.pgn"
    assert len(rounds(pgn.read_text())) == 3
    tour(stopped, "void", "2")
    exported = tour(stopped, "export", "pgn").stdout
    assert pgn.read_text() == exported
    assert [one.partition(".")[2] for one in rounds(exported)] == ["1", "3"]


def test_a_pgn_that_cannot_be_written_fails_no_change(stopped: Path) -> None:
    """A PGN that cannot be written is one warning and no failure; a missing one is not created."""
    pgn = stopped / "results" / "trial.pgn"
    pgn.unlink()
    tour(stopped, "withdraw", "Wren 2")
    assert not pgn.exists()
    pgn.mkdir()
    done = tour(stopped, "void", "1")
    assert "is void" in done.stdout
    assert done.stderr.count("trial.pgn cannot be written") == 1


def test_a_report_of_before_a_change_is_named(stopped: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A change names the command that updates an outdated report; without a report, nothing is printed."""
    assert "report" not in tour(stopped, "withdraw", "Wren 2").stderr
    tour(stopped, "report")
    told = tour(stopped, "void", "1").stderr
    assert told.count("does not show this change. Hint: enginetour report -t trial writes it again.") == 1
    database = stopped / "results" / "enginetour.db"
    told = tour(tmp_path_factory.mktemp("elsewhere"), "withdraw", "Wren 3", "--db", str(database)).stderr
    assert (
        f"enginetour report --db {database} -t trial writes it again" in told
    )  # the report was not found from the working directory


def test_who_left_may_be_gone_from_the_disk(tmp_path: Path) -> None:
    """`run` does not need the program of a withdrawn engine."""
    program = tmp_path / "gone.sh"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -I -S {PLAYING} --protocol uci\n")
    program.chmod(0o755)
    engines = scripted("Ada", "uci") + scripted("Bo", "uci") + entrant("Gone", [str(program)])
    path = config(tmp_path, (), "gauntlet", 'seeds = ["Gone", "Ada"]\ngames_per_pairing = 2', engines, tc="60+1")
    tour(tmp_path, "run", path.name, "--max-games", "1", expect=8)
    program.unlink()
    assert "not found" in tour(tmp_path, "run", path.name, expect=4).stderr
    tour(tmp_path, "withdraw", "Gone")
    assert "state: finished" in tour(tmp_path, "run", path.name).stdout
    assert audit(tmp_path) >= 2
    assert "not found" in tour(tmp_path, "run", path.name, "--new", expect=4).stderr


@pytest.mark.parametrize("words", [("add", "wren2"), ("replace", "Wren 1", "wren2")])
def test_a_newcomer_obeys_the_control_of_either_color(tmp_path: Path, words: tuple[str, ...]) -> None:
    """An engine joins only if it supports the time controls of both colors."""
    path = config(
        tmp_path,
        ("wren1", "wren3", "wren5"),
        "roundrobin",
        "cycles = 1",
        tc="1+0.01",
        play='max_moves = 8\nblack_tc = "nodes=9"',
    )
    tour(tmp_path, "run", path.name, "--max-games", "1", expect=8)
    assert "Wren 2 does not support nodes (found nodes=9)" in tour(tmp_path, *words, expect=3).stderr
    assert tour(tmp_path, "add", "wren7").stdout.startswith("Wren 7 joins")
    tour(tmp_path, "run", path.name)


def test_nobody_joins_after_the_last_round_is_paired(tmp_path: Path) -> None:
    """No engine joins after the last round was paired; with one more round it can."""
    path = config(tmp_path, FOUR, "swiss", "rounds = 1")
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    for command in (("add", "wren5"), ("replace", "Wren 1", "wren5")):
        told = tour(tmp_path, *command, expect=2).stderr
        assert (
            "Wren 5 cannot join any more: the last round (1 of 1) is already paired. Hint: increase the rounds" in told
        )
    text = path.read_text("utf-8") + '\n[[entrants]]\nengine = "wren5"\n'
    path.write_text(text, "utf-8")
    assert "Wren 5 cannot join any more" in tour(tmp_path, "run", str(path), expect=2).stderr
    path.write_text(text.replace("rounds = 1", "rounds = 2"), "utf-8")
    assert "Wren 5 joins from the next round on." in tour(tmp_path, "run", str(path)).stdout
    assert audit(tmp_path) == 4


def test_the_control_of_a_newcomer_is_told(tmp_path: Path) -> None:
    """The reply to a replacement describes both time controls if they differ."""
    path = config(tmp_path, ("wren1", "wren3", "wren5"), "roundrobin", "cycles = 1")
    path.write_text(path.read_text().replace('engine = "wren1"', 'engine = "wren1"\ntc = "nodes=9"'))
    tour(tmp_path, "run", path.name, "--max-games", "1", expect=8)
    said = tour(tmp_path, "replace", "Wren 1", "wren7").stdout
    assert "Wren 7 plays with depth=1; Wren 1 had nodes=9. " in said
    assert "plays with" not in tour(tmp_path, "replace", "Wren 3", "wren4").stdout


def test_the_edition_that_is_the_newest_may_be_named(stopped: Path) -> None:
    """--edition accepts the newest edition."""
    words = ("Wren 2", "--edition", "1")
    assert tour(stopped, "withdraw", *words).stdout.startswith("Wren 2 withdraws; ")
    told = tour(stopped, "void", "1", "--edition", "2", expect=2).stderr
    assert "enginetour: --edition: must be 1, the newest edition of trial (found 2). Hint: omit --edition." in told


def test_the_beginning_of_a_name_is_asked_about(stopped: Path) -> None:
    """A name that begins like several entrants lists at most three of them."""
    assert "did you mean 'Wren 2'?" in tour(stopped, "withdraw", "wren2", expect=2).stderr
    assert ". Hint: use one of Wren 2, Wren 3, Wren 1" in tour(stopped, "withdraw", "Fruit", expect=2).stderr


# Requests to a running tournament.


def helm(seats: int = 99) -> tuple[RunController, list[str]]:
    told: list[str] = []

    def refuse(slots: int, force: bool) -> None:
        if slots > 4 and not force:
            raise UsageRefused("too many")

    return RunController(airborne(seats)[0], refuse, told.append, lambda text: told.append(f"noted: {text}")), told


def asked(steer: RunController, request: dict[str, Any]) -> dict[str, Any] | None:
    """Parse and carry out a request, as the socket does."""
    return steer.carry_out(parsed(request))


def said(found: dict[str, Any] | None) -> str:
    assert found is not None
    return str(found["said" if found["ok"] else "error"])


def test_slots_are_refused_before_anything_changes() -> None:
    """An invalid or too high number of slots changes nothing; a forced one and a lower one are accepted."""
    steer, told = helm()
    for wish in (0, 1025, "3", None, True, 2.0):
        with pytest.raises(UsageRefused, match="slots: slots: must be"):
            asked(steer, {"do": "slots", "slots": wish})
    assert said(asked(steer, {"do": "slots", "slots": 5})) == "too many"
    assert (steer.scheduler.slots, told) == (2, [])
    assert said(asked(steer, {"do": "slots", "slots": 5, "force": True})) == "concurrency 5 instead of 2"
    assert (
        said(asked(steer, {"do": "slots", "slots": 1})) == "concurrency 1 instead of 5; it is reached when 1 game ends"
    )
    assert steer.scheduler.slots == 1
    assert told == ["concurrency 5 instead of 2, by request", "concurrency 1 instead of 5, by request"]


def test_two_people_at_once() -> None:
    """A repeated request says that nothing changes, and is not reported twice."""
    steer, told = helm()
    assert "2 games in progress" in said(asked(steer, {"do": "pause"}))
    assert said(asked(steer, {"do": "pause"})) == "already paused"
    assert "start again" in said(asked(steer, {"do": "unpause"}))
    assert said(asked(steer, {"do": "unpause"})) == "not paused"
    assert said(asked(steer, {"do": "slots", "slots": 2})) == "concurrency 2, unchanged"
    assert len(told) == 2
    for _ in range(2):
        assert said(asked(steer, {"do": "finish"})).startswith("stopping")
    stopping = "stopping by request: no new games start, games in progress are played to the end"
    assert told[2:] == [stopping, f"noted: {stopping}"]
    for late in ("pause", "unpause", "slots"):
        assert "is stopping" in said(asked(steer, {"do": late} | ({"slots": 3} if late == "slots" else {})))
    assert asked(steer, {"do": "withdraw", "engine": "Wren 1"}) is None


def test_a_pause_takes_back_what_waits_for_a_seat() -> None:
    """A pause cancels games that wait for a slot of a cluster; they start after the pause."""
    steer, told = helm(seats=1)
    loop, begun = steer.scheduler, steer.scheduler.playing()
    assert "1 game in progress is played to the end" in said(asked(steer, {"do": "pause"}))
    settle(loop)
    assert loop.playing() == begun[:1]
    asked(steer, {"do": "unpause"})
    settle(loop)
    assert loop.playing() == begun
    assert told == ["paused by request: games start again after enginetour unpause", "pause ended by request"]


def test_finish_ends_a_pause() -> None:
    """A paused run ends after its games when it is told to finish."""
    steer, _ = helm()
    asked(steer, {"do": "pause"})
    asked(steer, {"do": "finish"})
    for future in list(steer.scheduler.flying):
        steer.scheduler.executor.end(steer.scheduler.executor.futures.index(future))  # type: ignore[attr-defined]
    settle(steer.scheduler)
    assert steer.scheduler.run() is RunEnd.STOPPED


@pytest.mark.parametrize("command", [("concurrency", "2"), ("pause",), ("unpause",), ("finish",)])
def test_nobody_runs_it(tmp_path: Path, command: tuple[str, ...]) -> None:
    """Without a running tournament these commands print one line with a hint and change nothing."""
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "")
    tour(tmp_path, "run", str(path), "--max-games", "1")
    done = tour(tmp_path, *command, expect=2)
    assert "trial is not running" in done.stderr
    assert ("--concurrency N" in done.stderr) == (command[0] == "concurrency")


def test_a_run_is_steered(tmp_path: Path) -> None:
    """Concurrency, pause and finish of a running tournament show in status, output and event log."""
    path = config(tmp_path, ("wren1", "wren2", "wren3"), "roundrobin", "cycles = 500")
    with running(tmp_path, path) as process:
        tour(tmp_path, "concurrency", "5", "--force")
        assert read(tmp_path, "pause")["ok"]
        found = read(tmp_path, "status")
        assert (found["state"], found["slots"]) == ("paused", 5)
        assert "paused" in tour(tmp_path, "status").stdout
        tour(tmp_path, "concurrency", "1")
        tour(tmp_path, "unpause")
        assert read(tmp_path, "status")["state"] == "running"
        assert "stopping" in tour(tmp_path, "finish").stdout
        assert process.ended()[0] == 8
    assert audit(tmp_path) >= 1
    journal = [json.loads(line) for line in (tmp_path / "results" / "trial.log.jsonl").read_text().splitlines()]
    beside = ("game", "incident", "warning")
    busy = ("clocks are unreliable", "no longer wait long")  # from other load on the machine
    kinds = [one["event"] for one in journal if one["event"] not in beside and not any(w in one["text"] for w in busy)]
    assert kinds[0] == "started" and kinds[-1] == "stopped"
    orders = ["asked", "paused", "resumed", "slots", "slots"]  # one event each, and no "trouble"
    assert sorted(kinds[1:-1]) == orders
    (pause,) = (event["cause"] for event in journal if event["event"] == "paused")
    assert pause == "paused by request: games start again after enginetour unpause"


def test_too_much_at_once_is_told_and_played(tmp_path: Path) -> None:
    """More concurrent games than processors need --force, and then a warning shows how many they need."""
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "")
    assert (
        "use fewer concurrent games, or --force"
        in tour(tmp_path, "run", str(path), "--concurrency", "999", expect=2).stderr
    )
    done = tour(tmp_path, "run", str(path), "--concurrency", "200", "--force", "--max-games", "1")
    assert "warning: 200 concurrent games with threads need 200 processors, but this machine has" in done.stderr
