"""Tests of engines/machine."""

from __future__ import annotations

import bz2
import os
import threading
import time
from pathlib import Path
from queue import SimpleQueue
from unittest import mock

import pytest

from enginetour.cli import session
from enginetour.engines import machine as cores
from enginetour.engines.machine import (
    CPUS,
    Cores,
    Machine,
    ProcessorAllowance,
    Workload,
    allowed_processors,
    find_cores,
    off_engine_cores,
    set_affinity,
    this_machine,
)
from enginetour.engines.process import EngineProcess, end_all
from enginetour.model.errors import InputRefused, MachineFailure
from enginetour.model.game import Game, Opening, Pairing
from enginetour.model.task import EngineSpec, GameTask, Rules, Side, TimeTerms
from enginetour.model.timecontrol import TimeControl
from enginetour.store.tournaments import Store
from enginetour.tournament import executor, run
from enginetour.tournament.executor import LocalExecutor, SlotSettings
from enginetour.tournament.plan import own_cores
from tests.support.engines import COMMAND, KEPT, LONG, odd, scripted, task
from tests.support.tournaments import LONG_S, config, entrant, read, tour

# Separate cores for engines.


def machine(
    folder: Path, monkeypatch: pytest.MonkeyPatch, siblings: dict[int, str], ours: set[int], quota: int = 99
) -> Cores:
    """Return a machine with these threads, some of which are usable; two engines need a core in each slot."""
    for number, text in siblings.items():
        place = folder / f"cpu{number}" / "topology"
        place.mkdir(parents=True)
        (place / "thread_siblings_list").write_text(f"{text}\n")
        (place / "physical_package_id").write_text("0\n")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: ours)
    monkeypatch.setattr(cores, "allowed_processors", lambda: ProcessorAllowance(min(len(ours), quota)))
    return find_cores(2, folder)


EIGHT = {0: "0,4", 1: "1,5", 2: "2,6", 3: "3,7", 4: "0,4", 5: "1,5", 6: "2,6", 7: "3,7"}


def test_siblings_are_avoided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four cores of two threads serve two slots of two, not three; no two engines share a core."""
    found = machine(tmp_path, monkeypatch, EIGHT, set(range(8)))
    assert [found.engines(slot) for slot in (0, 1)] == [(0, 1), (2, 3)]
    assert not found.lacking(2)
    told = "3 concurrent games with 2 cores each need 6 cores, but 4 can be used (with 8 threads)"
    assert found.lacking(3) == told
    assert found.others(0, 1) == (2, 6, 3, 7)
    assert found.others(1, 2) == (2, 3)
    assert found.rest(2) == ()


def test_only_what_we_may_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An affinity that contains one thread of a core uses that one; neighbors 0-1 stay together."""
    found = machine(tmp_path, monkeypatch, {0: "0-1", 1: "0-1", 2: "2-3", 3: "2-3"}, {1, 2, 3})
    assert found.cores == ((1,), (2, 3))
    assert found.engines(0) == (1, 2)


def test_a_quota_is_no_core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quota of three processors does not fill four cores; without a topology every processor is a core."""
    assert machine(tmp_path, monkeypatch, EIGHT, set(range(8)), quota=3).lacking(2)
    assert find_cores(1, tmp_path / "none").cores == ((0,), (1,), (2,))


def test_we_go_elsewhere_and_come_back() -> None:
    """All threads of this process are pinned during games and released afterwards; without room nothing changes."""
    before = os.sched_getaffinity(0)
    first, *others = sorted(before)
    with off_engine_cores(Cores(((first,), *((number,) for number in others)), 1), 1):
        assert os.sched_getaffinity(0) == (set(others) or before)
    assert os.sched_getaffinity(0) == before
    Cores(((first,),), 1, tuple(before)).keep_off(1)
    assert os.sched_getaffinity(0) == before
    set_affinity(2**22, (first,))  # no process has this number: pid_max, proc_sys_kernel(5)


def test_engines_of_a_slot_have_its_cores(tmp_path: Path) -> None:
    """Engines are pinned before their program is loaded, to the processors of the slot; without them, to none."""
    first, here = min(os.sched_getaffinity(0)), os.sched_getaffinity(0)
    for given, bound in (((first,), {first}), ((), here)):
        with mock.patch.dict(os.environ, {CPUS: ",".join(map(str, given))}):
            process = EngineProcess(odd("quiet"))
        try:
            assert os.sched_getaffinity(process.engine_pid) == bound
        finally:
            end_all([process])


def processors(game: Game) -> set[str]:
    """Return the processors that the engines of a game reported, a text for each answer."""
    return {line.split()[-1] for move in game.moves for line in move.lines}


def test_each_slot_has_cores_of_its_own() -> None:
    """The engines of an executor's slots run on their own cores only."""
    found = find_cores(1)
    slots = min(2, len(found.cores))
    specs = scripted("uci", "tells-processors"), scripted("cecp", "tells-processors")
    white, black = (Side(spec, TimeControl.parse(LONG)) for spec in specs)
    task = GameTask(Pairing("w", "b"), white, black, Opening(), Rules(), keep_lines=KEPT)
    with LocalExecutor(slots, settings=SlotSettings(cores=found)) as place:
        games = [place.submit(task, slot).result(LONG_S) for slot in range(slots)]
    assert [processors(game) for game in games if isinstance(game, Game)] == [
        {str(found.cores[slot][0])} for slot in range(slots)
    ]


def test_a_tournament_with_affinity(tmp_path: Path) -> None:
    """With affinity engines have one processor in each game, without it all processors."""
    specs = [scripted("uci", "tells-processors", name="U"), scripted("cecp", "tells-processors", name="C")]
    entrants = "".join(entrant(spec.name, spec.command, spec.protocol) for spec in specs)
    for affinity, expected in (("true", find_cores(1).engines(0)), ("false", os.sched_getaffinity(0))):
        path = config(tmp_path, (), "match", "games = 2", entrants, name=affinity, tc="60")
        play = f"[play]\naffinity = {affinity}\nkeep_lines = '{KEPT}'\n"
        path.write_text(path.read_text().replace("[play]\n", play))
        tour(tmp_path, "run", str(path))
        with Store.open(tmp_path / "results" / "enginetour.db", create=False) as store:
            told = processors(store.tournament(affinity).game(1).game)
        assert told == {",".join(map(str, sorted(expected)))}


@pytest.fixture
def binds(monkeypatch: pytest.MonkeyPatch) -> SimpleQueue[tuple[int, tuple[int, ...]]]:
    """Return what would be pinned, by process; nothing is pinned, so the processors need not exist."""
    told: SimpleQueue[tuple[int, tuple[int, ...]]] = SimpleQueue()
    for module in (cores, executor):
        monkeypatch.setattr(module, "set_affinity", lambda pid, processors: told.put((pid, processors)))
    return told


def drained(told: SimpleQueue[tuple[int, tuple[int, ...]]]) -> list[tuple[bool, tuple[int, ...]]]:
    """Return so far: whether it was this process or a slot's, and to what."""
    return [(pid == os.getpid(), to) for pid, to in (told.get() for _ in range(told.qsize()))]


FOUR_CORES = Cores(((0,), (1,), (2,), (3,)), 1, (0, 1, 2, 3))


def test_slots_and_we_keep_off_the_engines(binds: SimpleQueue[tuple[int, tuple[int, ...]]]) -> None:
    """A slot's process and this one use processors without engines, also after a change of concurrency."""
    with LocalExecutor(2, command=COMMAND, settings=SlotSettings(cores=FOUR_CORES)) as place:
        place.submit(task("draw"), 1).result(LONG_S)
        assert drained(binds) == [(True, (2, 3)), (False, (2, 3))]
        place.resize(3)
        place.submit(task("draw"), 1).result(LONG_S)
        assert drained(binds) == [(True, (3,)), (False, (3,))]


def test_without_room_nobody_is_in_another_slots_way(binds: SimpleQueue[tuple[int, tuple[int, ...]]]) -> None:
    """Without room a slot's process shares the cores of its own engines, and this process may run anywhere."""
    with LocalExecutor(4, command=COMMAND, settings=SlotSettings(cores=FOUR_CORES)) as place:
        place.submit(task("draw"), 3).result(LONG_S)
        assert drained(binds) == [(True, (0, 1, 2, 3)), (False, (3,))]


def test_a_run_is_elsewhere_from_before_its_first_game_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, binds: SimpleQueue[tuple[int, tuple[int, ...]]]
) -> None:
    """The scheduler and its slot leave the engines' cores during a run; at the end all is as before."""
    before = tuple(os.sched_getaffinity(0))
    first = min(before)
    there = Cores(((first,), (1001,), (1002,)), 1, before)
    for module in (run, session):
        monkeypatch.setattr(module, "own_cores", lambda *_: there)
    path = config(tmp_path, ("wren1", "wren2"), "match", "games = 2")
    path.write_text(path.read_text().replace("[play]", "[play]\naffinity = true"))
    tour(tmp_path, "run", str(path))
    assert drained(binds) == [(True, (1001, 1002))] * 2 + [(False, (1001, 1002)), (True, before)]


def test_processors_that_are_not_there(tmp_path: Path) -> None:
    """A missing processor is a failure of the machine, and its number is reported."""
    with (
        mock.patch.dict(os.environ, {CPUS: "1000"}),
        pytest.raises(MachineFailure, match="processors 1000 are not available"),
    ):
        EngineProcess(odd("quiet"))


@pytest.mark.parametrize(("threads", "ponder", "each"), [(1, False, 1), (3, False, 3), (3, True, 6)])
def test_a_slot_has_as_many_as_its_engines_threads(threads: int, ponder: bool, each: int) -> None:
    """A slot has as many cores as the pair with most threads needs, of which both may think at a time."""
    specs = [EngineSpec(name, ("/x",), "uci", options=(("Threads", str(threads)),), ponder=ponder) for name in "AB"]
    sides = [Side(spec, TimeControl.parse(LONG)) for spec in specs]
    words = f"7: affinity: 1000 concurrent games with {each} core{'s' * (each > 1)} each"
    with pytest.raises(InputRefused, match=words):
        own_cores(sides, 1000, "t.toml:7")


def test_refused_with_the_reason(tmp_path: Path) -> None:
    """If there are not enough cores, check and run report the line of the setting; the log may continue without it."""
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "")
    plain = path.read_text()
    path.write_text(plain.replace('tc = "depth=1"', 'tc = "depth=1"\naffinity = true\nconcurrency = 1000'))
    for command in ("check", "run"):
        done = tour(tmp_path, command, str(path), expect=3)
        assert "affinity: 1000 concurrent games with 1 core each need 1000 cores, but" in done.stderr
        assert f"trial.toml:{1 + path.read_text()[: path.read_text().index('affinity')].count(chr(10))}" in done.stderr
    before = os.sched_getaffinity(0)
    path.write_text(plain.replace('tc = "depth=1"', 'tc = "depth=1"\naffinity = true'))
    tour(tmp_path, "run", str(path), "--max-games", "1")
    assert os.sched_getaffinity(0) == before
    path.write_text(plain)
    tour(tmp_path, "run", str(path))


# Clocks by the speed of the machine: measured once, stored with the tournament and with every game.

OLD = '\n[[entrants]]\nname = "Old"\ncommand = ["true"]\nprotocol = "cecp"\n'


def test_the_work_is_the_same_everywhere() -> None:
    """The text of the speed test is always the same."""
    text = cores.speed_test_text()
    assert len(text) == 799_999
    assert text.startswith(b"d8h8 e2d1 a5f2 f8d4 ")
    assert cores.measure_speed(rounds=1) > 0


def test_other_threads_make_no_machine_slower(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other threads of the process do not change the measured speed."""

    spent: list[int] = []

    def busy() -> None:
        begun = time.thread_time_ns()
        sum(range(3_000_000))
        spent.append(time.thread_time_ns() - begun)

    def beside(*_: object) -> None:
        other = threading.Thread(target=busy)
        other.start()
        other.join()

    monkeypatch.setattr(bz2, "compress", beside)
    charged = len(cores.speed_test_text()) * 1000 / (cores.measure_speed(rounds=1) * cores._REFERENCE)
    assert charged < spent[0] / 10


@pytest.mark.parametrize(
    ("control", "speed", "expected"),
    [
        ("10+0.1", 2.0, "5+0.05"),
        ("40/60", 0.5, "40/120"),
        ("1,nodes=10", 0.1, "10,nodes=10"),
        ("depth=9", 3.0, "depth=9"),
    ],
)
def test_times_are_divided_and_nodes_are_not(control: str, speed: float, expected: str) -> None:
    """A machine twice as fast has half the time; nodes stay the same."""
    side = Side(EngineSpec("E", ("/e",), "uci"), TimeControl.parse(control), black=TimeTerms(TimeControl.parse("1"), 9))
    played = side.playing(white=True).at_speed(speed)
    assert (str(played.tc), played.speed) == (expected, speed)
    assert side.at_speed(None) is side


def test_what_was_measured_here_is_not_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stored speed of the same host and processor is not measured again; a set number needs no measurement."""
    monkeypatch.setattr(cores, "measure_speed", lambda: 1.5)
    first = this_machine("measure")
    assert first.speed == 1.5
    monkeypatch.setattr(cores, "measure_speed", lambda: 7.0)
    assert this_machine("measure", first.to_json()) == first
    assert this_machine("measure", {**first.to_json(), "host": "elsewhere"}).speed == 7.0
    assert this_machine("measure", {**first.to_json(), "processor": "another"}).speed == 7.0
    assert this_machine(2.0, first.to_json()).speed == 2.0
    assert this_machine(None, first.to_json()).speed is None
    assert Machine("h", "p", 1.6).words == "speed 1.6 of h (p): times are multiplied by 0.625"


def test_a_tournament_is_played_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """check and run report the speed, games store their clocks, and a resume uses the measured speed."""
    monkeypatch.setattr(cores, "measure_speed", lambda: 2.0)
    tc = '60+1,depth=1"\nspeed = "measure"\n#'
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "games_per_pairing = 2", tc=tc)
    assert "times are multiplied by 0.500" in tour(tmp_path, "check", str(path)).stdout
    assert "times are multiplied by 0.500" in tour(tmp_path, "run", str(path), "--max-games", "1", expect=8).stdout
    monkeypatch.setattr(cores, "measure_speed", lambda: 5.0)
    tour(tmp_path, "run", str(path))
    assert {(line["white_tc"], line["black_tc"]) for line in read(tmp_path, "games")} == {("30+0.5,depth=1",) * 2}
    with Store.open(tmp_path / "results" / "enginetour.db", create=False) as store:
        log = store.tournament("trial")
        assert log.config["machine"] == cores.this_machine(2.0).to_json()
        assert [(log.game(number).game.white.speed, log.game(number).game.black.speed) for number in (1, 2)] == [
            (2.0, 2.0)
        ] * 2


@pytest.mark.parametrize(
    ("speed", "tc", "words"),
    [
        ('"measure"', "movetime=1", "Old supports a fixed time per move in whole seconds only (found movetime=1.003)"),
        ("1.5", "movetime=1", "found movetime=0.666"),
        ("0.1", "86400", "Wren 1: 86400 multiplied by 10 is longer than a day"),
        ('"fast"', "9", "play.speed"),
        ("0", "9", "play.speed"),
    ],
)
def test_refused(tmp_path: Path, speed: str, tc: str, words: str) -> None:
    """A time control that an engine does not support, or an invalid speed, is reported at its line."""
    path = config(tmp_path, ("wren1",), "roundrobin", "", OLD, tc=f'{tc}"\nspeed = {speed}\n#')
    line = path.read_text().splitlines().index(f"speed = {speed}") + 1
    refused = tour(tmp_path, "check", str(path), expect=3).stderr
    assert words in refused
    assert f"trial.toml:{line}" in refused


def test_a_clock_of_more_than_a_day_is_refused_once_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock of more than a day is rejected after the measurement; nothing has been written."""
    monkeypatch.setattr(cores, "measure_speed", lambda: 0.1)
    path = config(tmp_path, ("wren1", "wren3"), "roundrobin", "", tc='20000,depth=1"\nspeed = "measure"\n#')
    assert "longer than a day" in tour(tmp_path, "run", str(path), expect=3).stderr


def test_a_speed_that_keeps_whole_seconds_is_taken(tmp_path: Path) -> None:
    """With speed 0.5, two seconds per move are allowed, because every CECP engine supports whole seconds."""
    path = config(tmp_path, ("wren2", "wren4"), "roundrobin", "", tc='movetime=1"\nspeed = 0.5\n#')
    tour(tmp_path, "check", str(path))


# How many processors games may use.

FOUR = {0, 1, 2, 3}


def group(folder: Path, path: str, **files: str) -> None:
    (folder / path).mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / path / name.replace("__", ".", 1)).write_text(text)


def found(tmp_path: Path, own: str, monkeypatch: pytest.MonkeyPatch) -> ProcessorAllowance:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: FOUR)
    (tmp_path / "own").write_text(own)
    return allowed_processors(tmp_path / "own", tmp_path / "groups")


def test_affinity_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a quota the affinity counts; "max" is not a quota, nor is a kernel without groups."""
    group(tmp_path / "groups", "a", cpu__max="max 100000\n")
    assert str(found(tmp_path, "0::/a\n", monkeypatch)) == "4 processors"
    assert allowed_processors(tmp_path / "missing", tmp_path / "groups") == ProcessorAllowance(4)


def test_the_smallest_quota_above_us_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The smallest quota counts, because a group limits all groups below it; parts of a processor are ignored."""
    group(tmp_path / "groups", "outer/inner", cpu__max="300000 100000\n")
    group(tmp_path / "groups", "outer", cpu__max="250000 100000\n")
    assert str(found(tmp_path, "0::/outer/inner\n", monkeypatch)) == "2 processors (a quota of 2.5 of 4)"


def test_a_tiny_quota_is_one_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One slot is always possible; in a container the root's own file counts."""
    group(tmp_path / "groups", "", cpu__max="20000 100000\n")
    assert found(tmp_path, "0::/../..\n", monkeypatch).count == 1


def test_the_older_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Version 1 of control groups has two files, and a hierarchy for each controller."""
    group(tmp_path / "groups", "cpu/box", cpu__cfs_quota_us="100000\n", cpu__cfs_period_us="50000\n")
    assert found(tmp_path, "7:memory:/box\n4:cpu,cpuacct:/box\n", monkeypatch).count == 2
    group(tmp_path / "groups", "cpu/box", cpu__cfs_quota_us="-1\n")
    assert found(tmp_path, "4:cpu,cpuacct:/box\n", monkeypatch).count == 4


# The load of the machine.


@pytest.fixture
def stat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cores, "_STAT", tmp_path / "stat")
    return tmp_path / "stat"


def test_steal_is_a_percentage_of_the_time_since(stat: Path) -> None:
    """Steal is a percentage of the time since the start; guest time is not counted twice."""
    stat.write_text("cpu  100 0 50 800 0 0 0 900 70 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n")
    seen = Workload()
    stat.write_text("cpu  160 0 60 820 0 0 0 910 90 0\n")
    assert seen.steal_percent() == 10.0


@pytest.mark.parametrize("text", [None, "", "cpu  1 2 3 4\n", "intr 1 2 3 4 5 6 7 8 9\n", "cpu  1 1 1 1 1 1 1 1\n"])
def test_what_the_kernel_does_not_tell(stat: Path, text: str | None) -> None:
    """Unknown figures are None: no file, an older kernel, another system, or no time passed."""
    if text is not None:
        stat.write_text(text)
    assert Workload().steal_percent() is None


def test_the_larger_load_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The larger load of the begin and the end of a game counts."""
    for loads in ([2.5, 0.5], [0.5, 2.5]):
        monkeypatch.setattr(os, "getloadavg", lambda loads=loads: (loads.pop(), 0.0, 0.0))
        assert Workload().load() == 2.5


def test_no_load_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no load if getloadavg fails, as where /proc is hidden."""

    def hidden() -> tuple[float, float, float]:
        raise OSError

    monkeypatch.setattr(os, "getloadavg", hidden)
    assert Workload().load() is None
