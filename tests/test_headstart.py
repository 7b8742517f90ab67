"""A new tournament begins while the rest of the program is loaded, and nothing of it shows but the time."""

from __future__ import annotations

import resource
import sys
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from enginetour.headstart import HeadStart, warmed
from enginetour.model import Game, Outcome, Termination
from enginetour.plan import prepare
from enginetour.store.tournaments import Store
from enginetour.tournament import opened
from tests.touring import FOUR, audit, config, left_running, tour, try_engines_once, typed

COUNTING = """
import os, sys
open({starts!r}, "a").write("x")
for line in sys.stdin:
    words = line.split()
    if words[0] == "position":
        count = len(words[words.index("moves") + 1:]) if "moves" in words else 0
    elif words[0] == "go":
        print("bestmove", ["g1f3", "g8f6", "f3g1", "f6g8"][count % 4], flush=True)
    elif words[0] == "quit":
        break
    print({{"uci": "uciok", "isready": "readyok"}}.get(words[0], ""), flush=True)
"""


def counting(folder: Path) -> tuple[Path, Path]:
    """A tournament of two engines that leave a sign at each start; it, and where."""
    (folder / "results").mkdir()
    starts = folder / "starts"
    (folder / "counting.py").write_text(COUNTING.format(starts=str(starts)))
    command = f'command = ["{sys.executable}", "-S", "{folder / "counting.py"}"]\nprotocol = "uci"'
    more = "".join(f'\n[[entrants]]\nname = "{name}"\n{command}' for name in ("Ada", "Dot"))
    path = config(folder, (), "roundrobin", "games_per_pairing = 4", more)
    path.write_text(path.read_text().replace("[play]", "[play]\nopenings = { plies = 0 }"))
    return path, starts


def test_engines_start_once_for_probe_and_games(tmp_path: Path) -> None:
    """Who was found fit waits for its game in the slot where that is played; a resume starts it again."""
    path, starts = counting(tmp_path)
    tour(tmp_path, "run", str(path), "--max-games", "2", expect=8)
    assert starts.read_text() == "xx"
    tour(tmp_path, "run", str(path))
    assert starts.read_text() == "xxxx"
    assert audit(tmp_path) == 4
    assert left_running(tmp_path) == []


def test_a_new_name_has_its_head_start_in_a_database_that_is_there(tmp_path: Path) -> None:
    """Engines start once for probe and games, as with the first tournament; one that goes on begins with the loop."""
    path, starts = counting(tmp_path)
    tour(tmp_path, "run", str(path))
    starts.unlink()
    other = tmp_path / "other.toml"
    other.write_text(path.read_text().replace('name = "trial"', 'name = "other"'))
    tour(tmp_path, "run", str(other), "--max-games", "2", expect=8)
    assert starts.read_text() == "xx"
    assert warmed(other, None, None) is None
    tour(tmp_path, "run", str(other))
    with Store.open(tmp_path / "results" / "enginetour.db", create=False) as store:
        assert [line.number for line in store.tournament("other").games()] == [1, 2, 3, 4]
    assert audit(tmp_path) == 4
    assert left_running(tmp_path) == []


def test_a_match_has_its_head_start(tmp_path: Path) -> None:
    """Commands start once to learn what they speak, and once for probe and games."""
    _, starts = counting(tmp_path)
    words = [f"{sys.executable} -S {tmp_path / 'counting.py'} {name}" for name in ("Ada", "Dot")]
    typed(tmp_path, "match", *words, "--games", "2", "--tc", "10+0", "--openings", "plies=0")
    assert starts.read_text() == "xxxx"
    assert left_running(tmp_path) == []


def test_another_database_has_no_head_start(tmp_path: Path) -> None:
    """Nothing begins for one that is there, for cores of their own, for more slots than processors, or for no TOML."""
    path, _ = counting(tmp_path)
    whole = path.read_text()
    there = tmp_path / "there.db"
    there.touch()
    assert warmed(path, there, None) is None
    assert warmed(path, None, 10_000) is None
    for other in (whole.replace("[play]", "[play]\naffinity = true"), "[tournament", "play = 3", 'tournament = "x"'):
        path.write_text(other)
        assert warmed(path, None, None) is None


def test_too_few_files_for_games_have_no_head_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It took those by which `ulimit -n` is named as what is wrong: a run told of a module that it could not read."""
    path, _ = counting(tmp_path)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (35, 4096))
    assert warmed(path, None, None) is None
    monkeypatch.setattr(resource, "getrlimit", lambda _: (36, 4096))
    with warmed(path, None, None) or pytest.fail("36 files are enough for a slot"):
        pass


@pytest.mark.parametrize("setting", ["speed = 1.5", "start_parallel = 1"])
def test_what_may_turn_out_otherwise_is_not_begun(tmp_path: Path, setting: str) -> None:
    """Where clocks depend on a speed or starts on a limit the plan waits for the loop; so it does with other slots."""
    path, starts = counting(tmp_path)
    path.write_text(path.read_text().replace("[play]", f"[play]\n{setting}"))
    with HeadStart("test", 1, "trial") as ahead:
        ahead.begin(prepare(path, None), 1)
        assert not ahead.begun
    path.write_text(path.read_text().replace(setting, ""))
    with HeadStart("test", 1, "trial") as ahead:
        ahead.begin(prepare(path, None), 2)
        assert not ahead.begun
    assert not starts.exists()


def test_only_the_very_game_is_taken_over_and_once(tmp_path: Path) -> None:
    """Its live events are heard by whoever listens later, in their order; any other task is a task as usual."""
    path, _ = counting(tmp_path)
    plan = prepare(path, None)
    pairing = plan.format.offers(plan.format.start(plan.entrants))[0]
    task = plan.task(plan.sides, pairing, 0)
    heard: list[str] = []
    with HeadStart("test", 1, "trial") as ahead:
        ahead.begin(plan, 1, most_games=1)
        assert list(ahead.found(lambda: None) or ()) == ["Ada", "Dot"]
        assert ahead.has_begun(task)
        assert not ahead.has_begun(plan.task(plan.sides, pairing, 1))
        first: Future[Any] = ahead.submit(task, prefer=0)
        first.result(60)
        assert not ahead.has_begun(task)
        ahead.listen(lambda slot, name, payload: heard.append(name))
        again = ahead.submit(task, prefer=0)
        assert again is not first
        again.result(60)
    assert heard[0] == "start"
    assert heard.count("start") == 2


def test_games_go_on_until_the_loop_takes_over(tmp_path: Path) -> None:
    """All that are on offer are played while the program is loaded, each once; then none begins by itself."""
    path, _ = counting(tmp_path)
    plan = prepare(path, None)
    tasks = [plan.task(plan.sides, pairing, 0) for pairing in plan.format.offers(plan.format.start(plan.entrants))]
    heard: list[str] = []
    third = threading.Event()

    def hear(slot: int, name: str, payload: object) -> None:
        heard.append(name)
        if heard.count("start") == 3:
            third.set()

    with HeadStart("test", 1, "trial") as ahead:
        ahead.begin(plan, 1)
        assert ahead.found(lambda: None)
        ahead.listen(hear)
        assert third.wait(60)
        assert ahead.goes_on(tasks[0], hear)
        begun = len(ahead._games)
        games = [ahead.submit(task, prefer=0) for task in tasks]
        assert [game.result(60).pairing for game in games] == [task.pairing for task in tasks]
    assert begun >= 3
    assert heard.count("start") == heard.count("end") == len(tasks) == 4


def test_no_game_begins_with_an_engine_that_was_replaced(tmp_path: Path) -> None:
    """Not after it was; and if the first game may have been played by another engine none has begun."""
    path, _ = counting(tmp_path)
    plan = prepare(path, None)
    tasks = [plan.task(plan.sides, pairing, 0) for pairing in plan.format.offers(plan.format.start(plan.entrants))]
    program = tmp_path / "counting.py"
    program.write_text(program.read_text() + "# another")
    with HeadStart("test", 1, "trial") as ahead:
        ahead.begin(plan, 1)
        assert ahead.found(lambda: None)
        assert not any(map(ahead.has_begun, tasks))
        assert not ahead.goes_on(tasks[0], None)


def test_no_game_begins_after_one_that_was_void(tmp_path: Path) -> None:
    """What that means is for the loop to say."""
    path, _ = counting(tmp_path)
    plan = prepare(path, None)
    with HeadStart("test", 1, "trial") as ahead:
        ahead._plan = plan
        ahead._open = list(plan.format.offers(plan.format.start(plan.entrants)))
        void: Future[Any] = Future()
        void.set_result(Game(ahead._open[0], Outcome.VOID, Termination.CRASH))
        ahead._ended(ahead._open[0], void)
        assert not ahead._games
        assert not ahead._open


def test_an_unfit_engine_is_refused_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As without a head start: one line, exit 4, no database, no process."""
    try_engines_once(monkeypatch)
    path, _ = counting(tmp_path)
    path.write_text(path.read_text().replace("counting.py", "missing.py", 1))
    done = tour(tmp_path, "run", str(path), expect=4)
    assert "Ada" in done.stderr
    assert not (tmp_path / "results" / "enginetour.db").exists()
    assert left_running(tmp_path) == []


def test_a_field_with_more_engines_is_probed_whole(tmp_path: Path) -> None:
    """Those of later games are probed too, and the games are those of any run."""
    (tmp_path / "results").mkdir()
    path = config(tmp_path, FOUR, "roundrobin", "")
    tour(tmp_path, "run", str(path))
    assert audit(tmp_path) == 6
    with Store.open(tmp_path / "results" / "enginetour.db", create=False) as store:
        assert [line.number for line in store.tournament("trial").games()] == [1, 2, 3, 4, 5, 6]


def test_a_database_that_appears_meanwhile_ends_it(tmp_path: Path) -> None:
    """Another run was quicker: its tournament goes on, and of ours nothing is left that plays beside it."""
    path, _ = counting(tmp_path)
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    plan, told = prepare(path, None), list[str]()
    with HeadStart("test", 1, "trial") as ahead:
        ahead.begin(plan, 1)
        with opened(plan, new=False, accept_change=False, tell=told.append, ahead=ahead) as session:
            assert session.resumed
            assert session.ahead is None
            assert not ahead.begun
            with pytest.raises(RuntimeError, match="closed"):
                ahead.submit(session.task(plan.format.offers(plan.format.start(plan.entrants))[0], 0))
