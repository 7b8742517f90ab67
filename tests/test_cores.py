"""Cores of their own for engines."""

from __future__ import annotations

import os
from pathlib import Path
from queue import SimpleQueue
from unittest import mock

import pytest

from enginetour.cli import run
from enginetour.engines import machine as cores
from enginetour.engines.machine import CPUS, Allowed, Cores, bind, elsewhere, find
from enginetour.engines.process import EngineProcess, end_all
from enginetour.model.errors import InputRefused, MachineFailure
from enginetour.model.game import Game, Opening, Pairing
from enginetour.model.task import EngineSpec, GameTask, Rules, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.store.tournaments import Store
from enginetour.tournament import places
from enginetour.tournament import run as run_module
from enginetour.tournament.limits import own_cores
from enginetour.tournament.places import LocalPlace
from tests.playing import LONG, scripted
from tests.test_places import COMMAND
from tests.test_process import odd
from tests.test_slot import task
from tests.touring import LONG_S, config, entrant, tour


def machine(
    folder: Path, monkeypatch: pytest.MonkeyPatch, siblings: dict[int, str], ours: set[int], quota: int = 99
) -> Cores:
    """A machine with these threads, of which we may use some; two want a core in each slot."""
    for number, text in siblings.items():
        place = folder / f"cpu{number}" / "topology"
        place.mkdir(parents=True)
        (place / "thread_siblings_list").write_text(f"{text}\n")
        (place / "physical_package_id").write_text("0\n")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: ours)
    monkeypatch.setattr(cores, "allowed", lambda: Allowed(min(len(ours), quota)))
    return find(2, folder)


EIGHT = {0: "0,4", 1: "1,5", 2: "2,6", 3: "3,7", 4: "0,4", 5: "1,5", 6: "2,6", 7: "3,7"}


def test_siblings_are_avoided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four cores of two threads carry two slots of two, and are refused a third; no two engines share a core."""
    found = machine(tmp_path, monkeypatch, EIGHT, set(range(8)))
    assert [found.engines(slot) for slot in (0, 1)] == [(0, 1), (2, 3)]
    assert not found.lacking(2)
    told = "3 slots of 2 want 6 cores of their own, there are 4, their 8 processors are threads of them"
    assert found.lacking(3) == told
    assert found.others(0, 1) == (2, 6, 3, 7)
    assert found.others(1, 2) == (2, 3)
    assert found.rest(2) == ()


def test_only_what_we_may_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An affinity that leaves one thread of a core leaves that one; neighbours 0-1 stay together."""
    found = machine(tmp_path, monkeypatch, {0: "0-1", 1: "0-1", 2: "2-3", 3: "2-3"}, {1, 2, 3})
    assert found.cores == ((1,), (2, 3))
    assert found.engines(0) == (1, 2)


def test_a_quota_is_no_core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A group that may use three processors' time cannot fill four cores; without a topology all are plain."""
    assert machine(tmp_path, monkeypatch, EIGHT, set(range(8)), quota=3).lacking(2)
    assert find(1, tmp_path / "none").cores == ((0,), (1,), (2,))


def test_we_go_elsewhere_and_come_back() -> None:
    """Every thread of ours is bound while games run, and is as before afterwards; no room changes nothing."""
    before = os.sched_getaffinity(0)
    first, *others = sorted(before)
    with elsewhere(Cores(((first,), *((number,) for number in others)), 1), 1):
        assert os.sched_getaffinity(0) == (set(others) or before)
    assert os.sched_getaffinity(0) == before
    Cores(((first,),), 1, tuple(before)).keep_off(1)
    assert os.sched_getaffinity(0) == before
    bind(2**22, (first,))  # nobody has this number: pid_max, proc_sys_kernel(5)


def test_engines_of_a_slot_have_its_cores(tmp_path: Path) -> None:
    """Their processes are bound before the program is loaded, to what the slot was given; else they run anywhere."""
    first, here = min(os.sched_getaffinity(0)), os.sched_getaffinity(0)
    for given, bound in (((first,), {first}), ((), here)):
        with mock.patch.dict(os.environ, {CPUS: ",".join(map(str, given))}):
            process = EngineProcess(odd("quiet"))
        try:
            assert os.sched_getaffinity(process.engine_pid) == bound
        finally:
            end_all([process])


KEPT = "processors [0-9,]+$"  # what these engines say with each search


def processors(game: Game) -> set[str]:
    """Those that the engines of a game said they may use, a text for each answer."""
    return {line.split()[-1] for move in game.moves for line in move.lines}


def test_each_slot_has_cores_of_its_own() -> None:
    """The engines of a place's slots run where they belong, and nowhere else."""
    found = find(1)
    slots = min(2, len(found.cores))
    specs = scripted("uci", "tells-processors"), scripted("cecp", "tells-processors")
    white, black = (Side(spec, TimeControl.parse(LONG)) for spec in specs)
    task = GameTask(Pairing("w", "b"), white, black, Opening(), Rules(), keep_lines=KEPT)
    with LocalPlace(slots, cores=found) as place:
        games = [place.submit(task, slot).result(LONG_S) for slot in range(slots)]
    assert [processors(game) for game in games if isinstance(game, Game)] == [
        {str(found.cores[slot][0])} for slot in range(slots)
    ]


def test_a_tournament_with_affinity(tmp_path: Path) -> None:
    """The setting reaches its engines: with it they have one processor each game, without it all of ours."""
    specs = [scripted("uci", "tells-processors", name="U"), scripted("cecp", "tells-processors", name="C")]
    entrants = "".join(entrant(spec.name, spec.command, spec.protocol) for spec in specs)
    for affinity, expected in (("true", find(1).engines(0)), ("false", os.sched_getaffinity(0))):
        path = config(tmp_path, (), "match", "games = 2", entrants, name=affinity, tc="60")
        play = f"[play]\naffinity = {affinity}\nkeep_lines = '{KEPT}'\n"
        path.write_text(path.read_text().replace("[play]\n", play))
        tour(tmp_path, "run", str(path))
        with Store.open(tmp_path / "results" / "enginetour.db", create=False) as store:
            told = processors(store.tournament(affinity).game(1).game)
        assert told == {",".join(map(str, sorted(expected)))}


@pytest.fixture
def binds(monkeypatch: pytest.MonkeyPatch) -> SimpleQueue[tuple[int, tuple[int, ...]]]:
    """What would be bound where, by process; nobody is, so that processors need not be there."""
    told: SimpleQueue[tuple[int, tuple[int, ...]]] = SimpleQueue()
    for module in (cores, places):
        monkeypatch.setattr(module, "bind", lambda pid, processors: told.put((pid, processors)))
    return told


def drained(told: SimpleQueue[tuple[int, tuple[int, ...]]]) -> list[tuple[bool, tuple[int, ...]]]:
    """So far: whether it was this process or a slot's, and to what."""
    return [(pid == os.getpid(), to) for pid, to in (told.get() for _ in range(told.qsize()))]


FOUR_CORES = Cores(((0,), (1,), (2,), (3,)), 1, (0, 1, 2, 3))


def test_slots_and_we_keep_off_the_engines(binds: SimpleQueue[tuple[int, tuple[int, ...]]]) -> None:
    """A slot's process and ours have what no slot's engines have, also after a change of slots."""
    with LocalPlace(2, command=COMMAND, cores=FOUR_CORES) as place:
        place.submit(task("draw"), 1).result(LONG_S)
        assert drained(binds) == [(True, (2, 3)), (False, (2, 3))]
        place.resize(3)
        place.submit(task("draw"), 1).result(LONG_S)
        assert drained(binds) == [(True, (3,)), (False, (3,))]


def test_without_room_nobody_is_in_another_slots_way(binds: SimpleQueue[tuple[int, tuple[int, ...]]]) -> None:
    """Then a slot's process shares the cores of its own engines, and we run anywhere."""
    with LocalPlace(4, command=COMMAND, cores=FOUR_CORES) as place:
        place.submit(task("draw"), 3).result(LONG_S)
        assert drained(binds) == [(True, (0, 1, 2, 3)), (False, (3,))]


def test_a_run_is_elsewhere_from_before_its_first_game_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, binds: SimpleQueue[tuple[int, tuple[int, ...]]]
) -> None:
    """The scheduler goes off the engines' cores, its slot follows, and at the end we are where we were."""
    before = tuple(os.sched_getaffinity(0))
    first = min(before)
    there = Cores(((first,), (1001,), (1002,)), 1, before)
    for module in (run_module, run):
        monkeypatch.setattr(module, "own_cores", lambda *_: there)
    path = config(tmp_path, ("wren1", "wren2"), "match", "games = 2")
    path.write_text(path.read_text().replace("[play]", "[play]\naffinity = true"))
    tour(tmp_path, "run", str(path))
    assert drained(binds) == [(True, (1001, 1002))] * 2 + [(False, (1001, 1002)), (True, before)]


def test_processors_that_are_not_there(tmp_path: Path) -> None:
    """A processor that was taken away is the machine's failure, with its number."""
    with mock.patch.dict(os.environ, {CPUS: "1000"}), pytest.raises(MachineFailure, match="processors 1000 cannot"):
        EngineProcess(odd("quiet"))


@pytest.mark.parametrize(("threads", "ponder", "each"), [(1, False, 1), (3, False, 3), (3, True, 6)])
def test_a_slot_has_as_many_as_its_engines_threads(threads: int, ponder: bool, each: int) -> None:
    """Those of its hungriest pair, of which both may think at a time."""
    specs = [EngineSpec(name, ("/x",), "uci", options=(("Threads", str(threads)),), ponder=ponder) for name in "AB"]
    sides = [Side(spec, TimeControl.parse(LONG)) for spec in specs]
    with pytest.raises(InputRefused, match=f"7: affinity: 1000 slots of {each} want {1000 * each} cores of their own"):
        own_cores(sides, 1000, "t.toml:7")


def test_refused_with_the_reason(tmp_path: Path) -> None:
    """Where cores lack, check and run say so at the line that asks for them; the log may go on without."""
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "")
    plain = path.read_text()
    path.write_text(plain.replace('tc = "depth=1"', 'tc = "depth=1"\naffinity = true\nslots = 1000'))
    for command in ("check", "run"):
        done = tour(tmp_path, command, str(path), expect=3)
        assert "affinity: 1000 slots of 1 want 1000 cores of their own, there are" in done.stderr
        assert f"trial.toml:{1 + path.read_text()[: path.read_text().index('affinity')].count(chr(10))}" in done.stderr
    before = os.sched_getaffinity(0)
    path.write_text(plain.replace('tc = "depth=1"', 'tc = "depth=1"\naffinity = true'))
    tour(tmp_path, "run", str(path), "--max-games", "1")
    assert os.sched_getaffinity(0) == before
    path.write_text(plain)
    tour(tmp_path, "run", str(path))
