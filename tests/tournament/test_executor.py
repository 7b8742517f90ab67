"""Tests of tournament/executor."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError, wait
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from enginetour.engines import strays
from enginetour.engines.sandbox import TAG_LINK
from enginetour.model.errors import InternalFailure, MachineFailure, TourError
from enginetour.model.game import Game
from enginetour.model.task import EngineSpec, ProbeResult, ProbeTask, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.referee.link import VERSION, frame
from enginetour.store.tournaments import Store
from enginetour.tournament import executor, probing
from enginetour.tournament.executor import SLOT, LocalExecutor, SlotSettings, end_leftovers
from tests.support.engines import COMMAND, alive, odd, scripted, task
from tests.support.tournaments import BUSY_S, GONE_S, LONG_S, audit, config, quick, tour, until
from tests.tournament.test_scheduler import LATER, NOW, offers

# Slots on this machine.


class Heard:
    """Collects live events."""

    def __init__(self) -> None:
        self.events: SimpleQueue[tuple[int, str, object]] = SimpleQueue()

    def __call__(self, slot: int, name: str, payload: object) -> None:
        self.events.put((slot, name, payload))

    def playing(self) -> tuple[int, object]:
        """Return slot and payload of the next game that starts."""
        slot, name, payload = self.events.get(timeout=LONG_S)
        assert name == "playing"
        return slot, payload


@pytest.fixture
def heard() -> Heard:
    """Collect the events of the executor under test."""
    return Heard()


@pytest.fixture
def place_of_places(heard: Heard) -> Iterator[LocalExecutor]:
    """Make two slots with the scripted referee, whose games do not report the start of their engines."""
    with LocalExecutor(2, heard, command=COMMAND, settings=SlotSettings(start_parallel=16)) as place:
        yield place


def cause(place_of_places: LocalExecutor, what: str, prefer: int | None = None) -> list[str]:
    """Play a game at once and return process id and tag of its slot."""
    game = place_of_places.submit(task(what), prefer).result(LONG_S)
    assert isinstance(game, Game)
    return game.cause.split()[1:]


def test_slots_start_when_needed_and_stay(place_of_places: LocalExecutor, heard: Heard) -> None:
    """Games one after another need only one slot, whose process is kept."""
    first = cause(place_of_places, "one")
    assert cause(place_of_places, "two") == first
    assert len(processes(place_of_places)) == 1


def processes(place_of_places: LocalExecutor) -> list[int]:
    """Return all processes that this executor started."""
    own = [
        seen.pid
        for seen in strays.process_table()
        if strays.process_tag(seen.pid).startswith(f"{place_of_places.settings.tag}/")
    ]
    return [pid for pid in own if alive(pid)]


def test_a_probe_is_a_task_too(place_of_places: LocalExecutor) -> None:
    """An engine is probed by the same kind of process that plays games."""
    probe = place_of_places.submit(ProbeTask(odd("quiet"))).result(LONG_S)
    assert isinstance(probe, ProbeResult)
    assert probe.own_name == "probed"


def test_games_wait_for_a_slot_and_all_are_played(place_of_places: LocalExecutor, heard: Heard) -> None:
    """More games than slots are queued and played, and each future gets its own result."""
    futures = [place_of_places.submit(task(f"game-{number}")) for number in range(20)]
    games = [future.result(LONG_S) for future in futures]
    assert [game.pairing.white for game in games if isinstance(game, Game)] == [f"game-{n}" for n in range(20)]
    assert len(processes(place_of_places)) <= 2


def test_engines_start_a_few_at_once(heard: Heard) -> None:
    """The second game starts its engines only after those of the first have started or the game has ended."""
    with LocalExecutor(3, heard, command=COMMAND, settings=SlotSettings(start_parallel=1)) as place:
        futures = [place.submit(task(what)) for what in ("one", "two", "three")]
        assert len({str(game.result(LONG_S)) for game in futures}) == 3
        assert len(processes(place)) == 1
        place.submit(task("begins"))
        assert heard.events.get(timeout=LONG_S)[:2] == (0, "start")
        place.submit(task("begins"))
        assert heard.events.get(timeout=LONG_S)[:2] == (1, "start")
        place.stop(now=True)


def test_the_setting_reaches_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`start_parallel` of [play] limits the engines that start at the same time in a run."""
    at_once: list[int] = []

    class Counting(LocalExecutor):
        def _assign(self) -> None:
            super()._assign()
            at_once.append(sum(slot.starting for slot in self._slots.values()))

    monkeypatch.setattr(executor, "LocalExecutor", Counting)
    path = quick(tmp_path, system="roundrobin", settings="", play="start_parallel = 1")
    tour(tmp_path, "run", str(path), "--concurrency", "2", "--force")
    assert max(at_once) == 2


def test_a_place_plays_for_another_tag_in_the_slots_it_has(place_of_places: LocalExecutor, heard: Heard) -> None:
    """An executor continues with another tag in the same slots, directories and processes."""
    before = cause(place_of_places, "draw")
    assert before[1].startswith(f"{place_of_places.settings.tag}/")
    place_of_places.reassign(1, heard, SlotSettings("db:another"))
    after = cause(place_of_places, "draw")
    assert (after[0], after[1].partition("/")[0]) == (before[0], "db:another")
    folder = place_of_places._slots[0].scratch
    assert os.readlink(folder / TAG_LINK) == place_of_places._slots[0].tag == after[1]


def test_what_a_place_abandons_fails_and_it_goes_on(place_of_places: LocalExecutor, heard: Heard) -> None:
    """After the first answer of an engine, the other probes are dropped, and the executor continues."""
    futures = [place_of_places.submit(task("waits")) for _ in range(3)]
    heard.playing()
    place_of_places.abandon()
    with pytest.raises(MachineFailure, match="dropped"):
        futures[2].result(LONG_S)
    assert not wait(futures, LONG_S).not_done
    assert cause(place_of_places, "draw")


def test_the_preferred_slot_is_taken_if_it_is_free(place_of_places: LocalExecutor, heard: Heard) -> None:
    """A game goes to the slot that it prefers if that is free, else to another, never beyond the size."""
    place_of_places.submit(task("waits"), prefer=1)
    assert heard.playing()[0] == 1
    place_of_places.submit(task("waits"), prefer=1)
    assert heard.playing()[0] == 0
    place_of_places.stop(now=True)


def test_a_preference_for_a_slot_that_is_none_is_no_hindrance(place_of_places: LocalExecutor) -> None:
    """A preference for a slot that no longer exists is ignored."""
    assert cause(place_of_places, "draw", prefer=7)


def test_a_dead_slot_fails_its_game_with_words_and_is_replaced(place_of_places: LocalExecutor, tmp_path: Path) -> None:
    """A killed slot is the machine's failure, one that ends by itself an internal error; both show its last output."""
    with pytest.raises(MachineFailure, match=r"slot 0 ended \(signal 9 \(SIGKILL\)\): last words"):
        place_of_places.submit(task("die"), prefer=0).result(LONG_S)
    memory = str(tmp_path / "memory")
    with pytest.raises(InternalFailure, match=r"exit 7"):
        place_of_places.submit(task("once", memory=memory)).result(LONG_S)
    assert place_of_places.submit(task("once", memory=memory)).result(LONG_S)
    with pytest.raises(InternalFailure, match="a mistake of ours"):
        place_of_places.submit(task("raise")).result(LONG_S)


def test_a_slot_into_whose_pipe_somebody_writes_is_replaced(place_of_places: LocalExecutor, heard: Heard) -> None:
    """If another process writes into the pipe of a slot, its game fails and the slot is replaced."""
    future = place_of_places.submit(task("waits"))
    _, pid = heard.playing()
    with open(f"/proc/{pid}/fd/{results_of(pid)}", "wb", buffering=0) as results:
        results.write(b"bestmove e2e4\n")
    with pytest.raises(InternalFailure, match="another process wrote into its pipe"):
        future.result(LONG_S)
    assert cause(place_of_places, "draw")


def results_of(pid: object) -> int:
    """Return the descriptor on which a slot sends frames: its first output pipe other than stderr."""
    folder = Path(f"/proc/{pid}/fd")
    errors = os.readlink(folder / "2")
    for one in sorted(folder.iterdir(), key=lambda path: int(path.name)):
        flags = (Path(f"/proc/{pid}/fdinfo") / one.name).read_text().split()[3]
        if os.readlink(one).startswith("pipe:") and os.readlink(one) != errors and int(flags, 8) & os.O_WRONLY:
            return int(one.name)
    raise AssertionError(f"{pid} has no such pipe")


def test_a_game_in_which_enginetour_fails_is_set_aside(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After three internal errors a game stays open with one incident and exit code 1; the next run tries it."""
    monkeypatch.setattr(executor, "LocalExecutor", partial(LocalExecutor, command=COMMAND))
    path = config(workspace, ("wren1", "wren2", "wren3"), "roundrobin", "games_per_pairing = 1")
    path.write_text(path.read_text().replace('engine = "wren1"', 'engine = "wren1"\nname = "raise"'))
    for runs in (1, 2):
        run = tour(workspace, "run", str(path), expect=1)
        told = run.stdout + run.stderr
        assert told.count("is replayed: the slot failed: ValueError('a mistake of ours')") == 2
        assert told.count("stays open after 3 internal errors") == 1
        assert "enginetour games -t trial --incidents lists them" in told
        with Store.open(workspace / "results" / "enginetour.db", create=False) as store:
            log = store.tournament("trial")
            incidents = [incident for _, incident in log.incidents()]
            assert [one.at_fault for one in incidents] == ["enginetour"] * runs
            assert all("internal error in raise - Wren" in one.cause for one in incidents)
            assert len(log.games(counting=True)) == 2
    audit(workspace)


def test_the_engines_of_a_dead_slot_die_with_it(place_of_places: LocalExecutor, heard: Heard) -> None:
    """After SIGKILL of a slot, its engines, their escaped children and the scratch directory are gone."""
    future = place_of_places.submit(task("plays", odd("deaf"), odd("escapes")))
    _, payload = heard.playing()
    assert isinstance(payload, tuple)
    slot, engines, children = payload
    os.kill(slot, signal.SIGKILL)
    with pytest.raises(MachineFailure):
        future.result(LONG_S)
    until(lambda: not any(alive(pid) for pid in [*engines, *children]), 1.0 + BUSY_S)  # reliability 3
    assert cause(place_of_places, "draw")


@pytest.mark.parametrize("what", ["plays", "hangs", "waits"])
def test_stop_now_leaves_nothing_alive(place_of_places: LocalExecutor, heard: Heard, what: str) -> None:
    """`stop(now=True)` fails all games; slots and engines are dead on return, even a slot that ignores signals."""
    running = [place_of_places.submit(task(what, odd("deaf"), odd("deaf"))) for _ in range(2)]
    queued = place_of_places.submit(task("draw"))
    for _ in running:
        heard.playing()
    place_of_places.stop(now=True)
    assert processes(place_of_places) == []
    for future in [*running, queued]:
        if what == "waits" and future is not queued:
            assert future.done()  # a game that ends at the last moment may count
        else:
            assert isinstance(future.exception(LONG_S), MachineFailure)


def test_a_stopped_slot_is_killed_too(place_of_places: LocalExecutor, heard: Heard) -> None:
    """A slot process stopped by SIGSTOP is killed too."""
    place_of_places.submit(task("waits"))
    _, pid = heard.playing()
    assert isinstance(pid, int)
    os.kill(pid, signal.SIGSTOP)
    place_of_places.stop(now=True)
    assert not alive(pid)


def test_stop_lets_running_games_end(heard: Heard) -> None:
    """A normal stop returns at once; the game in progress ends and counts, all others are rejected."""
    with LocalExecutor(1, heard, command=COMMAND) as place:
        running, queued = place.submit(task("waits")), place.submit(task("draw"))
        heard.playing()
        place.stop(now=False)
        assert isinstance(running.result(LONG_S), Game)
        assert isinstance(queued.exception(LONG_S), MachineFailure)
        with pytest.raises(RuntimeError, match="stopped"):
            place.submit(task("draw"))
        until(lambda: processes(place) == [])


def test_a_queued_game_can_be_cancelled(heard: Heard) -> None:
    """A queued game can be cancelled; the next one in the queue is played."""
    with LocalExecutor(1, heard, command=COMMAND) as place:
        place.submit(task("waits"))
        heard.playing()
        taken_back, kept = place.submit(task("never")), place.submit(task("draw"))
        assert taken_back.cancel()
        place.resize(2)
        assert isinstance(kept.result(LONG_S), Game)
        with pytest.raises(CancelledError):
            taken_back.result(LONG_S)


def test_slots_can_be_more_or_fewer_while_games_run(place_of_places: LocalExecutor, heard: Heard) -> None:
    """Fewer slots take effect as games end, more slots at once."""
    kept = place_of_places.submit(task("waits"), prefer=0)
    surplus = place_of_places.submit(task("waits"), prefer=1)
    pids = {heard.playing()[1], heard.playing()[1]}
    place_of_places.resize(1)
    assert isinstance(surplus.result(LONG_S), Game)
    until(lambda: len(processes(place_of_places)) == 1)
    assert not kept.done()
    assert set(processes(place_of_places)) < pids
    place_of_places.resize(3)
    for index in (1, 2):
        place_of_places.submit(task("waits"), prefer=index)
    assert {heard.playing()[0], heard.playing()[0]} == {1, 2}


def test_close_leaves_no_descriptor_and_no_thread() -> None:
    """An executor leaves no descriptor and no thread, and a second close does nothing."""
    before = len(os.listdir("/proc/self/fd")), threading.active_count()
    for _ in range(3):
        place = LocalExecutor(2, command=COMMAND)
        cause(place, "draw")
        place.submit(task("die")).exception(LONG_S)
        place.close()
        place.close()
        place.stop(now=True)
        with pytest.raises(RuntimeError):
            place.submit(task("draw"))
    assert (len(os.listdir("/proc/self/fd")), threading.active_count()) == before


def test_a_slot_imports_nothing_from_the_current_folder(tmp_path: Path) -> None:
    """A file in the current directory that is named like a module is not imported."""
    for name in ("pickle.py", "chess.py", "enginetour.py"):
        (tmp_path / name).write_text("raise SystemExit('the wrong file was loaded')")
    ended = subprocess.run(SLOT, input=b"", capture_output=True, cwd=tmp_path, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, frame(("hello", VERSION)), b"")


def test_a_slot_that_cannot_be_started_fails_its_game_only(heard: Heard) -> None:
    """If the program of a slot is missing, each game fails, and the executor can be closed."""
    with LocalExecutor(1, heard, command=("/no/such/python",)) as place:
        for _ in range(2):
            with pytest.raises(MachineFailure, match="slot 0 cannot be started"):
                place.submit(task("draw")).result(LONG_S)


def test_slots_and_engines_go_with_a_scheduler_that_was_killed(tmp_path: Path) -> None:
    """After SIGKILL of the scheduler, slots, engines and escaped children are gone, and scratch files are removed."""
    program = (
        "import sys, threading\n"
        "from enginetour.tournament.executor import LocalExecutor\n"
        "from tests.referee.test_slot import task\n"
        "from tests.engines.test_process import odd\n"
        f"place = LocalExecutor(2, lambda *told: print(told[2], flush=True), command={COMMAND!r})\n"
        "for _ in range(2): place.submit(task('plays', odd('deaf'), odd('escapes')))\n"
        "threading.Event().wait()\n"
    )
    root = str(Path(__file__).parents[2])
    environment = os.environ | {"TMPDIR": str(tmp_path), "PYTHONPATH": root}
    call = [sys.executable, "-c", program]
    with subprocess.Popen(call, stdout=subprocess.PIPE, text=True, env=environment) as scheduler:
        assert scheduler.stdout
        pids: list[int] = []
        for _ in range(2):
            slot, engines, children = eval(scheduler.stdout.readline())
            pids += [slot, *engines, *children]
        assert len(pids) == 8
        assert all(alive(pid) for pid in pids)
        scheduler.kill()
    until(lambda: not any(alive(pid) for pid in pids), GONE_S)
    until(lambda: os.listdir(tmp_path) == [], BUSY_S)


def test_leftovers_of_an_earlier_run_are_found_by_its_tag(heard: Heard) -> None:
    """Processes with the tag of an earlier run are ended and named; those of another tag are not."""
    tag = f"mine-{os.getpid()}"  # tests of another process may run at the same time
    with (
        LocalExecutor(1, heard, SlotSettings(tag), command=COMMAND) as mine,
        LocalExecutor(1, heard, SlotSettings(f"{tag}-too"), command=COMMAND) as other,
    ):
        mine.submit(task("plays"))
        other.submit(task("plays"))
        heard.playing(), heard.playing()
        own, others = processes(mine), processes(other)
        assert len(own) >= 3
        assert len(end_leftovers(tag)) == len(own)
        assert processes(other) == others
        assert end_leftovers(tag) == ()


def test_a_listener_that_fails_stops_the_place_and_nobody_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """After an internal error of a listener all futures fail, new games are rejected, and no process is left."""
    told: SimpleQueue[object] = SimpleQueue()
    monkeypatch.setattr(threading, "excepthook", lambda failure: told.put(failure.exc_value))

    def listener(slot: int, name: str, payload: object) -> None:
        raise ValueError("a listener's mistake")

    place = LocalExecutor(1, listener, command=COMMAND)
    futures = [place.submit(task("waits")), place.submit(task("draw"))]
    for future in futures:
        with pytest.raises(MachineFailure, match="a listener's mistake"):
            future.result(LONG_S)
    place.close()
    assert isinstance(told.get(timeout=LONG_S), ValueError)
    assert processes(place) == []
    with pytest.raises(RuntimeError, match="a listener's mistake"):
        place.submit(task("draw"))


def test_engines_that_wait_hear_quit_at_the_end(tmp_path: Path, heard: Heard) -> None:
    """A slot that is closed between games ends its engines by `quit`, so that they can save what they learn."""
    said = tmp_path / "said"
    script = f"import sys; open({str(said)!r}, 'w').write(sys.stdin.readline())"
    listens = EngineSpec("listens", (sys.executable, "-S", "-c", script), "uci", dir="scratch")
    with LocalExecutor(1, heard, command=COMMAND) as place:
        place.submit(task("keeps", listens, odd("quiet"))).result(LONG_S)
    assert said.read_text() == "quit\n"


# Former bugs.


def test_a_slot_that_takes_the_last_descriptor_is_a_failure_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a slot takes the last descriptor, it is ended as a failure of the machine, and the next game is played."""
    usual = os.pidfd_open

    def failing(pid: int) -> Any:
        monkeypatch.setattr(os, "pidfd_open", usual)
        raise OSError(errno.EMFILE, "Too many open files")

    with LocalExecutor(1, command=COMMAND) as place:
        monkeypatch.setattr(os, "pidfd_open", failing)
        with pytest.raises(MachineFailure, match="slot 0 cannot be watched: Too many open files"):
            place.submit(task("one")).result(LONG_S)
        assert processes(place) == []
        assert cause(place, "two")


@pytest.mark.parametrize("signalled", [False, True])
def test_a_machine_that_cannot_probe_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch, *, signalled: bool) -> None:
    """A machine that cannot probe engines is one error, unless a service manager is ending the run."""

    class Stopped(Exception):
        pass

    class Failing(LocalExecutor):
        def submit(self, task: Any, prefer: int | None = None) -> Any:
            raise MachineFailure("no process can be started")

    def check_stop() -> None:
        if signalled:
            raise Stopped("stopped by a signal")

    monkeypatch.setattr(executor, "LocalExecutor", Failing)
    side = Side(EngineSpec("X", ("/bin/cat",), "uci"), TimeControl.parse("1+0"))
    with pytest.raises(Stopped if signalled else TourError, match="by a signal" if signalled else "probed: no process"):
        probing.probe_all({"X": side}, check_stop=check_stop)


DIES_ONCE = """\
import os, signal
from enginetour.referee import slot
try:
    os.mkdir({mark!r})
except FileExistsError:
    slot.main()
else:
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_slot_that_dies_while_engines_are_probed_is_a_retry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slot that dies during a probe is a failure of the machine, and the probe is repeated without a message."""
    command = (sys.executable, "-P", "-c", DIES_ONCE.format(mark=str(tmp_path / "died")))
    monkeypatch.setattr(executor, "LocalExecutor", partial(LocalExecutor, command=command))
    sides = {name: Side(scripted(name=name), TimeControl.parse("1+0")) for name in ("Ada", "Bea", "Cid")}
    found = probing.probe_all(sides)
    assert (tmp_path / "died").exists()
    assert list(found) == ["Ada", "Bea", "Cid"]
    assert [probe.problems for probe in found.values()] == [(), (), ()]


ANOTHER = """\
import os, sys
from enginetour.referee import slot
if os.path.exists({mark!r}):
    slot.VERSION = "9.9.9 (another)"
slot.main()
"""


def test_a_slot_of_another_version_is_told_nothing(tmp_path: Path) -> None:
    """After an update, a new slot gets no task, because it would misread it; an old slot plays on."""
    mark = tmp_path / "updated"
    command = (sys.executable, "-P", "-c", ANOTHER.format(mark=str(mark)))
    with LocalExecutor(2, command=command) as place:
        there = ProbeTask(scripted(name="Ada"))
        assert isinstance(place.submit(there, prefer=0).result(LONG_S), ProbeResult)
        mark.touch()
        with pytest.raises(TourError, match=r"was updated during this run: from .* to 9\.9\.9") as told:
            place.submit(there, prefer=1).result(LONG_S)
        assert (told.value.exit_code, told.value.step) == (1, "start the run again with the same command")
        assert isinstance(place.submit(there, prefer=0).result(LONG_S), ProbeResult)


def test_a_run_whose_package_was_updated_ends_with_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose package was updated ends with one line and exit code 1; the same command resumes."""
    mark = tmp_path / "updated"
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "cycles = 2")
    command = (sys.executable, "-P", "-c", ANOTHER.format(mark=str(mark)))
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    mark.touch()
    monkeypatch.setattr(executor, "LocalExecutor", partial(LocalExecutor, command=command))
    told = tour(tmp_path, "run", str(path), expect=1)
    complaints = [line for line in told.stderr.splitlines() if line.startswith("enginetour: ")]
    assert len(complaints) == 1
    assert complaints[0].endswith("9.9.9 (another). Hint: start the run again with the same command.")
    assert audit(tmp_path) == 1
    mark.unlink()
    tour(tmp_path, "run", str(path))
    assert audit(tmp_path) == 2


def test_one_more_slot_finds_its_game_at_once() -> None:
    """An added slot gets a game at once, although the format was asked before without looking ahead."""
    made, _, allotment = offers(1)
    state = list(NOW)
    assert tuple(made.wanted(state)) == NOW
    allotment.slots = 2
    assert tuple(made.wanted(state)) == NOW + LATER
