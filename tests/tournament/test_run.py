"""Tests of tournament/run."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from enginetour.model.errors import InputRefused, StoreRefused, TourError
from enginetour.model.task import OwnBook, Side
from enginetour.store.log import TournamentLog
from enginetour.store.tournaments import Store
from enginetour.tournament.events import EventLog, catch_up, event_line
from enginetour.tournament.plan import Plan, prepare
from enginetour.tournament.run import grown_settings, same_engines, stored_controls
from tests.support.tournaments import THREE, Forked, Tour, config, killed, quick, scripted, tour

# Twenty kills at random moments; the night tests do hundreds, also by real clocks.

KILLS = 20


def test_twenty_kills_lose_and_double_nothing(workspace: Path) -> None:
    """After a SIGKILL of the scheduler or of all processes, reported games are kept and the rest is as without it."""
    dice = random.Random(20)

    def tours() -> Iterator[Tour]:
        for number in count(1):
            path = quick(workspace, f"trial-{number}")
            yield Tour(workspace, path, dice, slots=1 + number % 2, start=Forked, start_s=0.4)

    assert killed(workspace, tours(), KILLS).startswith(f"{KILLS} kills in ")


def dying(lines: int, torn: float) -> None:
    """Kill this process after `lines` lines of the log and a share `torn` of the next line."""
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
    """Killed before and within each line of the event log, resumed runs add what it lacks, each game once."""
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
    """Return the games and incidents in the order of the event log; each line must be an event."""
    lines = [json.loads(line) for line in journal.path.read_text("ascii").splitlines()]
    return [event for event in lines if event["event"] in ("game", "incident", "warning")]


# `run --fail-on incidents`.

INCIDENTS = 6
ENOUGH = 8


def test_incidents_are_an_exit_code_where_asked_for(tmp_path: Path) -> None:
    """A crash gives exit code 6, also if the run stops early, and also for an earlier run."""
    more = scripted("odd", "uci", "--fault", "crash", "--at", "2")
    path = str(config(tmp_path, ("wren1",), "match", "games = 4", more))
    tour(tmp_path, "run", path, "--max-games", "1", expect=ENOUGH)
    done = tour(tmp_path, "run", path, "--max-games", "1", "--fail-on", "incidents", expect=INCIDENTS)
    assert "disconnects: exit 3" in done.stdout
    tour(tmp_path, "run", path)
    tour(tmp_path, "run", path, "--fail-on", "incidents", expect=INCIDENTS)


def test_warnings_are_none(tmp_path: Path) -> None:
    """Warnings do not change the exit code."""
    more = scripted("odd", "uci", "--fault", "upper", "--at", "2")
    path = str(config(tmp_path, ("wren1",), "match", "games = 2", more))
    text = Path(path).read_text().replace("[play]\n", "[play]\nmax_moves = 4\nopenings = { plies = 0 }\n")
    Path(path).write_text(text)
    assert "warning: odd: odd-move: " in tour(tmp_path, "run", path, "--fail-on", "incidents").stdout


# Changes in the file on resume.


def _log(**known: Any) -> TournamentLog:
    return cast("TournamentLog", SimpleNamespace(title="trial", extended_settings={}, gone=(), **known))


@pytest.mark.parametrize(("before", "now"), [(1, 2), (2, 2), (3, 2)])
def test_cycles_may_grow_and_not_shrink(tmp_path: Path, before: int, now: int) -> None:
    """Cycles can be increased, but not reduced."""
    plan = prepare(config(tmp_path, ("wren1", "wren2"), "roundrobin", f"cycles = {now}"), tmp_path / "t.db")
    stored = plan.config.frozen_part()
    log = _log(config={**stored, "format": {**stored["format"], "cycles": before}, "suite": plan.book.digest})
    if before <= now:
        assert grown_settings(plan, log) == ({"cycles": now} if before < now else {})
        return
    with pytest.raises(StoreRefused, match="cycles cannot change in trial: it was 3, found 2"):
        grown_settings(plan, log)


@pytest.mark.parametrize("now", ["", ", pairs = false"])
def test_a_test_of_before_there_was_a_choice_of_units(tmp_path: Path, now: str) -> None:
    """A setting that the stored test lacks may have its default, but no other value."""
    path = config(tmp_path, ("wren1", "wren2"), "match", f"sprt = {{ elo0 = 0, elo1 = 5{now} }}")
    plan = prepare(path, tmp_path / "t.db")
    stored = plan.config.frozen_part()
    sprt = {key: value for key, value in stored["format"]["sprt"].items() if key != "pairs"}
    log = _log(config={**stored, "format": {**stored["format"], "sprt": sprt}, "suite": plan.book.digest})
    if not now:
        assert grown_settings(plan, log) == {}
        return
    with pytest.raises(StoreRefused, match=r"format\.sprt cannot change in trial"):
        grown_settings(plan, log)


def _resumed(plan: Plan, before: Mapping[str, Side], gone: tuple[str, ...] = ()) -> dict[str, Side]:
    log = _log(config={"sides": stored_controls(before)}, specs={name: side.spec for name, side in before.items()})
    log = cast("TournamentLog", SimpleNamespace(**{**vars(log), "gone": gone}))
    return same_engines(plan, log, accept_change=False)[0]


def test_an_engine_that_has_left_may_change(tmp_path: Path) -> None:
    """A withdrawn engine may change; a change of any other stops the resume."""
    plan = prepare(config(tmp_path, ("wren1", "wren2")), tmp_path / "t.db")
    first, *_ = names = list(plan.sides)
    before = {**plan.sides, first: replace(plan.sides[first], spec=replace(plan.sides[first].spec, fingerprint="0"))}
    assert list(_resumed(plan, before, gone=(first,))) == names[1:]
    with pytest.raises(InputRefused, match=f"changed since the last game: {first}"):
        _resumed(plan, before)


@pytest.mark.parametrize("now", [None, OwnBook("b", "best", 9, digest="1"), OwnBook("b", "best", 8, digest="2")])
def test_an_own_book_is_frozen(tmp_path: Path, now: OwnBook | None) -> None:
    """A new, longer or changed own book is an error; the same book in another directory is not."""
    plan = prepare(config(tmp_path, ("wren1", "wren2")), tmp_path / "t.db")
    first = next(iter(plan.sides))

    def having(book: OwnBook | None) -> dict[str, Side]:
        return {**plan.sides, first: replace(plan.sides[first], own_book=book)}

    before = having(OwnBook("a", "best", 8, digest="1"))
    moved = replace(plan, sides=having(OwnBook("elsewhere/a", "best", 8, digest="1")))
    assert _resumed(moved, before).keys() == plan.sides.keys()
    with pytest.raises(StoreRefused, match=f"own_book of {first} cannot change in trial"):
        _resumed(replace(plan, sides=having(now)), before)


DAMAGES: tuple[object, ...] = (
    {"tc": 5, "margin_ms": 50},
    {"tc": "depth=1", "margin_ms": "long"},
    {"tc": "depth=1"},
    {"tc": "depth=1", "margin_ms": 50, "own_book": {"path": 5}},
    {"tc": "depth=1", "margin_ms": 50, "own_book": [5]},
    {"tc": "depth=1", "margin_ms": 50, "black": "depth=1"},
    [5],
)


def test_a_damaged_control_is_refused_in_one_line(tmp_path: Path) -> None:
    """A damaged time control is an error of one line, also if the path of its book is a file descriptor."""
    path = config(tmp_path, THREE, "roundrobin", "cycles = 2")
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    config(tmp_path, ("wren1", "wren3"), "roundrobin", "cycles = 2")
    raw = sqlite3.connect(tmp_path / "results" / "enginetour.db", isolation_level=None)
    (text,) = raw.execute("SELECT config FROM tournaments").fetchone()
    for damage in DAMAGES:
        stored = json.loads(text)
        stored["sides"]["Wren 2"] = damage
        raw.execute("UPDATE tournaments SET config = ?", (json.dumps(stored),))
        refused = tour(tmp_path, "run", str(path), expect=5).stderr
        assert refused.count("\n") == 1
        assert "the time control of 'Wren 2' cannot be read" in refused
    raw.close()


# Stored configurations of older versions.


def _frozen_log(plan: Plan, **changes: Any) -> TournamentLog:
    stored = {**plan.config.frozen_part(), "suite": plan.book.digest, **changes}
    return cast("TournamentLog", SimpleNamespace(config=stored, extended_settings={}, title="trial"))


def test_settings_that_an_older_enginetour_did_not_have(tmp_path: Path) -> None:
    """A tournament that was stored without newer settings resumes with their defaults."""
    plan = prepare(config(tmp_path, ("wren1", "wren2")), tmp_path / "t.db")
    play = plan.config.frozen_part()["play"]
    older = {key: value for key, value in play.items() if key != "variant"}
    older["openings"] = {key: value for key, value in play["openings"].items() if key not in ("moves", "choice")}
    assert grown_settings(plan, _frozen_log(plan, play=older)) == {}


def test_a_book_that_changed_is_another(tmp_path: Path) -> None:
    """An opening book with the same name but other content is an error."""
    plan = prepare(config(tmp_path, ("wren1", "wren2")), tmp_path / "t.db")
    with pytest.raises(TourError, match="the openings of trial have changed since it started"):
        grown_settings(plan, _frozen_log(plan, suite="0"))


def test_a_tournament_with_the_first_labels_of_the_bundled_book_continues(tmp_path: Path) -> None:
    """The bundled openings may have their former labels; other books may not change."""
    first = "858bde0be4a96838daf3e837b9d749dc"
    path = config(tmp_path, ("wren1", "wren2"))
    plan = prepare(path, tmp_path / "t.db")
    assert grown_settings(plan, _frozen_log(plan, suite=first)) == {}
    (tmp_path / "own.epd").write_text("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1\n")
    path.write_text(path.read_text().replace("[play]", '[play]\nopenings = { file = "own.epd" }'))
    with pytest.raises(TourError, match="have changed since it started"):
        grown_settings(other := prepare(path, tmp_path / "t.db"), _frozen_log(other, suite=first))


HASH = "options = { Hash = 2 }\n"


def test_nothing_is_written_before_all_engines_can_play(tmp_path: Path) -> None:
    """If a new entrant cannot start, the log has neither the increased settings nor the changed engine of the file."""
    path = config(tmp_path, (), "roundrobin", "cycles = 2", scripted("Ada", "uci") + scripted("Bo", "uci"))
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    text = path.read_text().replace("cycles = 2", "cycles = 3").replace(ada := scripted("Ada", "uci"), f"{ada}{HASH}")
    path.write_text(text + scripted("Cy", "uci", "--fault", "exit-at-start"))
    tour(tmp_path, "run", str(path), "--accept-change", expect=4)
    with Store.open(tmp_path / "results" / "enginetour.db", create=False) as store:
        log = store.tournament()
        assert log.extended_settings == {}
        assert log.specs["Ada"].options == ()
