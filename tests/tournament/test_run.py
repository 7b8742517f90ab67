"""Tests of tournament/run."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import count
from pathlib import Path

from enginetour.tournament.events import EventLog, catch_up, event_line
from tests.support.tournaments import Forked, Tour, config, killed, quick, tour

# Twenty kills at random moments in every test run; hundreds of them, by real clocks too, are the night's.

KILLS = 20


def test_twenty_kills_lose_and_double_nothing(workspace: Path) -> None:
    """SIGKILL of the scheduler or of everybody, at any moment: announced games stay, the rest is as if unbroken."""
    dice = random.Random(20)

    def tours() -> Iterator[Tour]:
        for number in count(1):
            path = quick(workspace, f"trial-{number}")
            yield Tour(workspace, path, dice, slots=1 + number % 2, start=Forked, start_s=0.4)

    assert killed(workspace, tours(), KILLS).startswith(f"{KILLS} kills in ")


def dying(lines: int, torn: float) -> None:
    """Kill this process after `lines` lines of the log and the share `torn` of the next line."""
    left, write = lines, EventLog.__call__

    def written(journal: EventLog, event: Mapping[str, object]) -> None:
        nonlocal left
        if not left:
            line = event_line(event)
            with journal.path.open("ab") as sink:
                sink.write(line[: int(len(line) * torn)])
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        write(journal, event)

    EventLog.__call__ = written  # type: ignore[method-assign, assignment]  # this process ends with it


def test_a_resumed_run_completes_its_log(workspace: Path) -> None:
    """Killed before each line of the log and within it, the resumed runs write what the log lacks: each game once."""
    dice = random.Random(2)
    one = Tour(workspace, quick(workspace), dice, slots=2)
    code: int = -signal.SIGKILL
    while code:
        one.start = partial(Forked, before=partial(dying, dice.randint(0, 6), dice.choice((0.0, 0.5, 0.99))))
        life = one.begin()
        code = life.end()
        assert code in (0, -signal.SIGKILL), life.said()
        one.after(life, code)
    assert one.lives > 3
    one.start = Forked
    one.finish()
    journal = EventLog(workspace / "results" / f"{one.name}.log.jsonl", print)
    assert b"}{" not in journal.path.read_bytes()
    seen = written_of(journal)
    with one.log() as (log, _):
        assert [event["number"] for event in seen if event["event"] == "game"] == [line.number for line in log.games()]
        whole = EventLog(workspace / "whole.jsonl", print)
        whole({"event": "started", "tournament": log.title, "resumed": False})
        assert catch_up(log, whole, bool) == log.last_number
    assert [{**event, "at": ""} for event in seen] == [{**event, "at": ""} for event in written_of(whole)]


def written_of(journal: EventLog) -> list[dict[str, object]]:
    """The games and their incidents in the order of the log; each of its lines is an event."""
    lines = [json.loads(line) for line in journal.path.read_text("ascii").splitlines()]
    return [event for event in lines if event["event"] in ("game", "incident", "warning")]


# `run --fail-on incidents`: the exit code for scripts that must notice what went wrong.

INCIDENTS = 6
ENOUGH = 8


def test_incidents_are_an_exit_code_where_asked_for(tmp_path: Path) -> None:
    """A crash lost its game and nothing else; also when the run stops early, and of an earlier run."""
    script = Path(__file__).parents[1] / "programs" / "scripted.py"
    command = json.dumps([sys.executable, str(script), "--protocol", "uci", "--fault", "crash", "--at", "2"])
    more = f'\n[[entrants]]\nname = "odd"\nprotocol = "uci"\ncommand = {command}\n'
    path = str(config(tmp_path, ("wren1",), "match", "games = 4", more))
    tour(tmp_path, "run", path, "--max-games", "1", expect=ENOUGH)
    done = tour(tmp_path, "run", path, "--max-games", "1", "--fail-on", "incidents", expect=INCIDENTS)
    assert "disconnects: exit 3" in done.stdout
    tour(tmp_path, "run", path)
    tour(tmp_path, "run", path, "--fail-on", "incidents", expect=INCIDENTS)


def test_warnings_are_none(tmp_path: Path) -> None:
    """What was tolerated is told, and fails nobody's script."""
    script = Path(__file__).parents[1] / "programs" / "scripted.py"
    command = json.dumps([sys.executable, str(script), "--protocol", "uci", "--fault", "upper", "--at", "2"])
    more = f'\n[[entrants]]\nname = "odd"\nprotocol = "uci"\ncommand = {command}\n'
    path = str(config(tmp_path, ("wren1",), "match", "games = 2", more))
    text = Path(path).read_text().replace("[play]\n", "[play]\nmax_moves = 4\nopenings = { plies = 0 }\n")
    Path(path).write_text(text)
    assert "warning: odd: odd-move: " in tour(tmp_path, "run", path, "--fail-on", "incidents").stdout
