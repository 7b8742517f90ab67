"""Tests of engines/process."""

from __future__ import annotations

import json
import os
import resource
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enginetour.cli.output import NonBlockingStream
from enginetour.engines import machine, process, strays
from enginetour.engines import protocol as base
from enginetour.engines.process import ENDING, EngineProcess, end_all, running_engines, wait
from enginetour.engines.sandbox import remove_scratch
from enginetour.engines.starting import LAUNCHER, RECORD, launcher_records, why_no_namespace
from enginetour.engines.wire import LineBuffer
from enginetour.model.errors import StartFailed
from enginetour.model.game import Termination
from enginetour.model.task import EngineSpec, ProbeTask
from enginetour.referee import relay
from enginetour.referee.link import Link
from enginetour.tournament.control import ControlServer
from enginetour.tournament.executor import LocalExecutor
from enginetour.tournament.loopthread import LoopThread
from tests.support.engines import BOTH, ODD, SECOND, Protocol, alive, drawn, game, lines_of, lost, odd, scripted, sound
from tests.support.tournaments import BUSY_S, LONG_S, left_running, until

# One engine process: its start, its pipes, its end, and nothing left of it.

pytestmark = pytest.mark.usefixtures("engines_ended")


def outside(engine: EngineProcess, number: int) -> int:
    """Return the process id outside of the process with this number in the engine's namespace."""
    if engine.init is None:
        return number
    for pid in strays.process_tree(engine.init):
        with open(f"/proc/{pid}/status", errors="replace") as file:
            inside = next(line.split()[-1] for line in file if line.startswith("NSpid:"))
        if int(inside) == number:
            return pid
    raise AssertionError(f"no process {number} in its namespace")


def child_of(engine: EngineProcess) -> int:
    """Return the process id outside of the child that an engine reported."""
    return outside(engine, int(next(line for line in lines_of(engine, 1) if line.startswith("child")).split()[1]))


@pytest.fixture(params=["pid", "off"])
def namespace(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With a PID namespace, if this machine has one, and without."""
    monkeypatch.setenv("ENGINETOUR_NAMESPACE", request.param)
    return str(request.param)


def test_an_engine_starts_in_a_clean_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine has its own session, default signals, no core file, 3 descriptors and a small environment."""
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.setenv("SECRET", "s")
    monkeypatch.setenv("WANTED", "w")
    monkeypatch.setenv("ENGINETOUR_PASS_ENV", "WANTED, MISSING")
    old = signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    try:
        engine = EngineProcess(odd("report", "{scratch}/x", env=(("NET", "{scratch}/net"),)), tag="run-1")
    finally:
        signal.signal(signal.SIGINT, old)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})
    told = json.loads(lines_of(engine, 1)[0])
    scratch = str(engine.scratch)
    assert stat.S_IMODE(engine.scratch.stat().st_mode) == 0o700
    environment = told.pop("environment")
    assert environment.pop("ENGINETOUR_TAG") == engine.tag
    assert engine.tag.startswith("run-1/")
    environment.pop("LC_CTYPE", None)  # set by the Python that runs the scripted engine
    assert environment == {
        "PATH": os.environ["PATH"],
        "HOME": os.environ["HOME"],
        "TMPDIR": scratch,
        "LANG": "C.UTF-8",
        "WANTED": "w",
        "NET": f"{scratch}/net",
    }
    assert told == {
        "session": True,
        "blocked": "0" * 16,
        "ignored": [],
        "core": [0, 0],
        "oom": 500,
        "cwd": scratch,
        "descriptors": [0, 1, 2],
        "arguments": [f"{scratch}/x"],
    }
    engine.end()
    assert engine.exit_status() == "exit 0"
    assert not engine.scratch.exists()


def test_the_working_directory_follows_the_rule(tmp_path: Path) -> None:
    """The working directory is the program's own if writable and not the system's, else scratch, or as named."""
    program = tmp_path / "engine"
    program.write_text("#!/bin/sh\npwd\nread x\n")
    program.chmod(0o755)
    for spec, expected in (
        (EngineSpec("own", (str(program),), "uci"), str(tmp_path)),
        (EngineSpec("system", ("/bin/sh", "-c", "pwd"), "uci"), None),
        (EngineSpec("named", (str(program),), "uci", dir="/"), "/"),
        (EngineSpec("asked", (str(program),), "uci", dir="scratch"), None),
        (EngineSpec("script", ("/bin/sh", str(program)), "uci"), str(tmp_path)),
    ):
        engine = EngineProcess(spec)
        assert lines_of(engine, 1) == [expected or str(engine.scratch)], spec.name
        engine.kill()


def test_generated_files_lie_in_scratch_and_nowhere_else() -> None:
    """Generated files are written into scratch with {scratch} replaced; a name that leads outside is rejected."""
    engine = EngineProcess(odd("quiet", files=(("sub/engine.ini", "book = {scratch}/book.bin\n"),)))
    assert (engine.scratch / "sub" / "engine.ini").read_text() == f"book = {engine.scratch}/book.bin\n"
    for name in ("../escape", "/tmp/escape"):
        with pytest.raises(StartFailed, match="outside"):
            EngineProcess(odd("quiet", files=((name, ""),)))


def test_every_failed_start_is_named(tmp_path: Path) -> None:
    """Each reason of a failed start has its own text."""
    elf = bytearray(Path("/proc/self/exe").read_bytes()[:4096])
    elf[18:20] = b"\xf3\x00" if elf[18:20] != b"\xf3\x00" else b"\x3e\x00"  # RISC-V or x86-64
    cases = {
        "plain": (b"echo", 0o644, "not executable"),
        "orphan": (b"#!/no/such/interpreter -x\n", 0o755, "interpreter /no/such/interpreter is missing"),
        "windows lines": (b"#!/bin/sh\r\nexec stockfish\r\n", 0o755, "its lines end with CR LF"),
        "foreign": (bytes(elf), 0o755, "another processor architecture"),
        "windows": (b"MZ\x90\x00", 0o755, "wine"),
        "text": (b"just text\n", 0o755, "neither a program"),
    }
    for name, (content, mode, words) in cases.items():
        path = tmp_path / name
        path.write_bytes(content)
        path.chmod(mode)
        with pytest.raises(StartFailed, match=words) as caught:
            EngineProcess(EngineSpec(name, (str(path),), "uci"))
        assert caught.value.category == "start-failure"
    with pytest.raises(StartFailed, match="does not exist"):
        EngineProcess(EngineSpec("gone", (str(tmp_path / "gone"),), "uci"))
    with pytest.raises(StartFailed, match="a directory"):
        EngineProcess(EngineSpec("folder", (str(tmp_path),), "uci"))
    with pytest.raises(StartFailed, match="cannot be entered"):
        EngineProcess(EngineSpec("lost", ("/bin/true",), "uci", dir=str(tmp_path / "gone")))
    with pytest.raises(StartFailed, match="null byte"):
        EngineProcess(EngineSpec("null", ("/bin/true", "a\0b"), "uci"))


def test_a_failed_start_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed start or an ended engine leaves no descriptor and no scratch directory."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with pytest.raises(StartFailed):
            EngineProcess(EngineSpec("gone", ("/no/such/engine",), "uci"))
        EngineProcess(odd("quiet")).kill()
    assert len(os.listdir("/proc/self/fd")) == before
    assert os.listdir(tmp_path) == []


def test_an_answer_before_the_death_is_read_and_the_death_is_named(namespace: str) -> None:
    """Output before a crash is read; then the end is reported with its signal and the last lines."""
    engine = EngineProcess(odd("crashes"))
    assert lines_of(engine, 9) == ["bestmove e2e4"]
    assert engine.eof
    until(engine.exit_status)
    assert engine.exit_status() == "signal 11 (SIGSEGV)"
    assert engine.stderr() == ("about to fail",)
    engine.kill()
    assert engine.exit_status() == "signal 11 (SIGSEGV)"
    assert engine.traffic()[-1].endswith(" < bestmove e2e4")


def test_the_end_is_seen_though_a_child_holds_the_pipes(namespace: str) -> None:
    """The end of an engine is seen at once though a child holds its pipes; the child is ended too."""
    engine = EngineProcess(odd("forks", "asked"))
    child = child_of(engine)  # while the namespace exists
    engine.write(b"end\n")
    deadline = time.monotonic_ns() + 60 * SECOND
    while not engine.eof:
        assert wait((engine,), None, deadline).readable
        engine.read()
    until(engine.exit_status)
    assert engine.exit_status() == "exit 3"
    assert not alive(child) or engine.init is None
    engine.kill()
    until(lambda: not alive(child))
    assert engine.orphans == ()


def test_the_end_is_seen_after_the_last_words() -> None:
    """Output that came with the end is read first; then the end is seen, though a child holds the pipes."""
    engine = EngineProcess(odd("forks"))
    until(engine.exit_status)
    said = b""
    while not engine.eof:
        assert wait((engine,), None, time.monotonic_ns() + 60 * SECOND).readable, "its end was not seen"
        said += engine.read()[0]
    assert said.startswith(b"child ")
    engine.kill()


@pytest.mark.parametrize("state", ["alive", "ended"])
def test_a_child_in_a_session_of_its_own_is_found_and_told(state: str, namespace: str) -> None:
    """A daemon that an engine left behind is found by its namespace or tag, ended and reported."""
    engine = EngineProcess(odd("escapes"))
    child = child_of(engine)
    assert os.getsid(child) not in (engine.pid, engine.engine_pid)
    name = Path(f"/proc/{child}/comm").read_text().strip()
    if state == "alive":
        engine.kill()
    else:
        engine.end()
    assert not alive(child)
    assert [told.startswith(f"{name} (") for told in engine.orphans] == [True]


@pytest.mark.parametrize("name", [b"x\rstray 9", b"a\nfailed exec 2", b"\xff) S 1 (", b")\x85\x0b\x1c", b"running"])
def test_any_name_of_a_leftover_process_is_reported(name: bytes, namespace: str) -> None:
    """A process with line breaks, brackets or invalid UTF-8 in its name is ended and reported once, in one line."""
    engine = EngineProcess(odd("renamed", name.hex()))
    child = child_of(engine)
    engine.end()
    assert not alive(child)
    (told,) = engine.orphans
    assert told.isprintable()
    assert told.endswith(")")


@pytest.mark.parametrize(
    "junk", [b"stray 9\n", b"\nstray 9 zz\ninit 0\n", b"failed namespace 1\n", b"\xff" * 65_000, b"running\r\x1c\n" * 9]
)
def test_an_engine_that_writes_into_the_pipe_of_its_report_harms_nobody(junk: bytes) -> None:
    """Data that an engine writes into the launcher's pipe is ignored, even if it fills the pipe."""
    if why_no_namespace():
        pytest.skip(f"no PID namespace here: {why_no_namespace()}")
    engine = EngineProcess(odd("scribbles", junk.hex()))
    engine.write(b"scribble\n")
    lines_of(engine, 1)
    engine.end()
    assert engine.orphans == ()
    assert engine.deaf is False
    again = EngineProcess(odd("escapes"))
    child = child_of(again)
    again.end()
    assert not alive(child)
    assert len(again.orphans) == 1
    assert not why_no_namespace()


@given(st.lists(st.one_of(st.binary(max_size=40), st.sampled_from([b"ready", b"init 7", b"stray 9 6162"])), max_size=9))
def test_whatever_a_report_holds_is_read_without_an_error(lines: list[bytes]) -> None:
    """Records of the launcher are found among any bytes, and nothing else is read as a record."""
    found = launcher_records(b"".join(line + b"\n" for line in lines))
    assert all(RECORD.fullmatch(b" ".join(record)) for record in found)
    assert [record for record in found if record == [b"init", b"7"]] == [[b"init", b"7"]] * sum(
        line.split(b"\n").count(b"init 7") for line in lines
    )


def test_a_process_that_names_itself_like_a_field_does_not_hide_its_memory(tmp_path: Path) -> None:
    """A process name that looks like a field does not hide the memory of the process."""
    for name in (b"\rRssAnon: 0", b"\rRssAnon: x", b"\rVmHWM: x", b"VmHWM:"):
        engine = EngineProcess(odd("renamed", name.hex()))
        child_of(engine)
        assert machine.memory_excess([engine.engine_pid], 1).startswith("killed: ")
        assert machine.peak_memory_kb(engine.engine_pid) > 1000
        engine.kill()


def test_only_the_right_tag_is_signalled() -> None:
    """Only processes with the right tag are signalled, not those whose tag begins in the same way."""
    tag = (
        # of a directory that is not UTF-8; tests of another process may run at the same time
        f"night-\udcff-{os.getpid()}"
    )
    one, other = EngineProcess(odd("quiet"), tag=tag), EngineProcess(odd("quiet"), tag=f"{tag}ly")
    mine = {one.pid, *strays.process_tree(one.pid)}
    assert {seen.pid for seen, _ in strays.kill_tagged((tag,))} == mine
    assert other.exit_status() == ""
    until(one.exit_status)
    assert one.exit_status() == "signal 9 (SIGKILL)"


def test_a_child_in_the_engines_own_session_is_no_orphan(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that dies with the engine's group a moment later is not reported."""
    engine = EngineProcess(odd("forks"))
    until(engine.exit_status)
    late = strays.ProcessInfo(10**9, "slow", "R", os.getpid(), engine.pid, engine.pid, 1)
    monkeypatch.setattr(strays, "kill_orphans", lambda living: [late])
    engine.kill()
    assert engine.orphans == ()


def test_deaf_engines_end_together() -> None:
    """Engines that ignore `quit` and SIGTERM are killed together and marked; others are not."""
    engines = [EngineProcess(odd("deaf")) for _ in range(8)]
    polite = EngineProcess(odd("quiet"))
    for engine in engines:
        lines_of(engine, 1)
    begun = time.monotonic()
    end_all([*engines, polite])
    assert time.monotonic() - begun < 15  # 2.5 s in all; one after the other would take 20 s
    assert [engine.deaf for engine in [*engines, polite]] == [True] * 8 + [False]
    assert [engine.exit_status() for engine in engines] == ["signal 9 (SIGKILL)"] * 8
    assert polite.exit_status() == "exit 0"
    assert not any(alive(engine.pid) for engine in engines)
    end_all(engines)


@pytest.mark.parametrize("whom", ["pid", "engine_pid"])
def test_a_stopped_engine_dies_too(whom: str, namespace: str) -> None:
    """SIGKILL reaches a stopped engine or launcher."""
    engine = EngineProcess(odd("quiet"))
    os.kill(getattr(engine, whom), signal.SIGSTOP)
    engine.kill()
    assert not alive(engine.engine_pid)
    assert engine.exit_status() == "signal 9 (SIGKILL)"


def test_an_engine_that_does_not_read_never_blocks_us() -> None:
    """A full pipe never blocks; it keeps what fits, then the engine counts as broken."""
    engine = EngineProcess(odd("unread"))
    for _ in range(3):
        engine.write(b"x" * 40_000)
    assert (len(engine.out) > 0, engine.broken) == (True, False)
    assert wait((engine,), None, time.monotonic_ns() + SECOND // 20).readable == ()
    engine.write(b"x" * 40_000)
    assert (len(engine.out) > 0, engine.broken) == (False, True)


def test_a_closed_input_is_a_fact_and_no_exception() -> None:
    """Writing to an engine that closed its input sets `broken`."""
    engine = EngineProcess(odd("closes-stdin"))
    assert lines_of(engine, 1) == ["closed"]
    assert engine.write(b"go\n") <= time.monotonic_ns()
    assert engine.broken


def test_a_closed_input_is_seen_without_a_write() -> None:
    """A wait reports a closed input once, and no output is lost."""
    engine = EngineProcess(odd("closes-stdin"))
    until(lambda: wait((engine,), None, time.monotonic_ns() + SECOND).readable and engine.broken)
    assert lines_of(engine, 1) == ["closed"]
    assert wait((engine,), None, time.monotonic_ns() + SECOND // 20).readable == ()


def test_waiting_input_is_pushed_when_there_is_room() -> None:
    """A long command reaches a slow reader in order."""
    engine = EngineProcess(odd("quiet"))
    for number in range(1000):
        engine.write(b"%0100d\n" % number)
        if len(engine.out):
            wait((engine,), None, time.monotonic_ns())
            engine.read()
    assert not engine.broken
    end_all((engine,))
    assert engine.exit_status() == "exit 0"


@pytest.mark.parametrize("mode", ["chatter", "endless"])
def test_output_does_not_move_a_deadline_nor_fill_memory(mode: str) -> None:
    """Output without end neither moves a deadline nor fills the memory."""
    engine = EngineProcess(odd(mode))
    intake = LineBuffer()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert wait((engine,), None, time.monotonic_ns() + 60 * SECOND).readable, "it said nothing"
    deadline = time.monotonic_ns() + SECOND // 2
    total = 0
    while wait((engine,), None, deadline).readable and time.monotonic_ns() < deadline:
        data, _ = engine.read()
        intake.feed(data)
        total += len(data)
    assert time.monotonic_ns() >= deadline
    assert total
    assert wait((engine,), None, time.monotonic_ns() + 60 * SECOND).readable, "its output had an end"
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 5_000, f"{grown} KiB more after {total} bytes"
    engine.kill()


def test_a_flood_on_stderr_is_drained_and_bounded() -> None:
    """3 MB on stderr never block an engine; the last lines remain, escaped."""
    engine = EngineProcess(odd("complains"))
    assert lines_of(engine, 1) == ["done"]
    assert len(engine._stderr) <= 64 * 1024
    until(lambda: engine.stderr(1) == ("the last words",))
    assert engine.stderr(2)[0] == "nonsense \\x1b[31m"


def test_a_wait_ends_for_the_control_pipe() -> None:
    """The control descriptor is part of every wait."""
    engine = EngineProcess(odd("quiet"))
    reading, writing = os.pipe()
    os.write(writing, b"!")
    wake = wait((engine,), reading, time.monotonic_ns() + 10 * SECOND)
    assert (wake.readable, wake.control) == ((), True)
    os.close(reading)
    os.close(writing)


@pytest.mark.parametrize("number", [signal.SIGABRT, signal.SIGSEGV, signal.SIGKILL, signal.SIGTERM, 0])
def test_the_signal_that_ended_an_engine_is_told(number: int, namespace: str) -> None:
    """The exit status shows the engine's signal, though another process is between."""
    engine = EngineProcess(odd("quiet"))
    engine.write(f"kill {number}\n".encode() if number else b"quit\n")
    until(engine.exit_status)
    assert engine.exit_status() == (f"signal {number} ({signal.Signals(number).name})" if number else "exit 0")
    engine.kill()


def test_a_polite_signal_reaches_the_engine(namespace: str) -> None:
    """SIGTERM to the group reaches an engine and ends it."""
    engine = EngineProcess(EngineSpec("sleeper", ("/bin/sleep", "600"), "uci", dir="scratch"))
    engine.signal(signal.SIGTERM)
    until(engine.exit_status)
    assert engine.exit_status() == "signal 15 (SIGTERM)"


def test_engines_die_with_a_parent_that_was_killed(namespace: str) -> None:
    """After SIGKILL of its parent an engine ends, even if it ignores everything."""
    program = (
        "import sys, time; from enginetour.engines.process import EngineProcess; "
        "from enginetour.model.task import EngineSpec; "
        f"e = EngineProcess(EngineSpec('deaf', (sys.executable, '-I', '-S', {ODD!r}, 'deaf'), 'uci')); "
        "print(e.engine_pid, e.scratch, flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        pid, scratch = parent.stdout.readline().split()
        assert alive(int(pid))
        parent.kill()
    until(lambda: not alive(int(pid)))
    remove_scratch(Path(scratch))


def test_the_launcher_does_not_start_an_engine_for_a_dead_parent(tmp_path: Path) -> None:
    """The launcher does not start an engine for another parent than expected."""
    reading, writing = os.pipe()
    mark = tmp_path / "ran"
    call = [*LAUNCHER, "1", str(writing), "/", "namespace=pid", "--", "/usr/bin/touch", str(mark)]
    ended = subprocess.run(call, pass_fds=(writing,), check=False)
    os.close(writing)
    assert ended.returncode == 1
    assert os.read(reading, 10) == b""
    assert not mark.exists()
    os.close(reading)


def test_scratch_is_wiped_without_following_links(tmp_path: Path) -> None:
    """Directories without permissions, links, odd names and depth are removed; targets of links stay."""
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "book").write_text("x")
    engine = EngineProcess(odd("litters"))
    assert lines_of(engine, 1) == ["littered"]
    (engine.scratch / "out").symlink_to(kept)
    deep = engine.scratch
    for _ in range(300):
        deep = deep / "deeper"
        deep.mkdir()
    engine.kill()
    assert not engine.scratch.exists()
    assert (kept / "book").read_text() == "x"
    link = tmp_path / "link"
    link.symlink_to(kept)
    assert remove_scratch(link) == 1
    assert (kept / "book").exists()


# Threads that handle the signals which end the program.

SIGNS = sum(1 << (number - 1) for number in ENDING)  # proc(5), SigBlk


def blocked(task: Path) -> bool:
    """Return whether a thread or process blocks all of them."""
    fields = dict(line.split(":\t", 1) for line in (task / "status").read_text().splitlines() if ":\t" in line)
    return int(fields["SigBlk"], 16) & SIGNS == SIGNS


def threads() -> set[str]:
    return set(os.listdir("/proc/self/task"))


def test_only_the_main_thread_hears_them(tmp_path: Path) -> None:
    """Only the main thread receives ending signals: another thread would not wake it."""
    before = threads()
    reader, writer = os.pipe()
    NonBlockingStream(writer)  # its thread ends with the process
    loop = LoopThread("loop")
    with LocalExecutor(1) as place, ControlServer(tmp_path / "socket", SimpleQueue()):
        until(lambda: len(threads() - before) == 4)
        until(lambda: all(blocked(Path("/proc/self/task", each)) for each in threads() - before))
        place.submit(ProbeTask(sound())).result(LONG_S)
        (slot,) = place._slots.values()
        assert not blocked(Path("/proc", str(slot.process.pid)))  # it has its own main thread
    loop.wait_for(loop.end())
    loop.join()
    os.close(reader)
    os.close(writer)


# Engines behind a command that passes lines on, like ssh to another machine.

# of a write: two more processes pass the answer on, and a sleep may take longer than requested
UNDISTURBED_NS = 100_000
RELAYING = str(Path(__file__).parents[1] / "programs" / "relaying.py")


class Looking(Link):
    """A look at which processes of an engine run, by their mark, when its game has its first move."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark
        self.seen: list[str] = []

    def tell(self, name: str, payload: object) -> None:
        if name == "moves" and not self.seen:
            self.seen = left_running(self.mark)


@pytest.fixture
def mark(tmp_path: Path) -> Iterator[Path]:
    """Return a mark that identifies the wrapper and its program; both have ended afterwards."""
    yield tmp_path
    assert not running_engines
    until(lambda: not left_running(tmp_path), BUSY_S)


def wrapped(engine: EngineSpec, mark: Path, *words: str) -> EngineSpec:
    """Return the same engine behind the wrapper."""
    command = (sys.executable, "-E", "-S", RELAYING, "--mark", str(mark), *words, *engine.command)
    return replace(engine, command=command)


@pytest.fixture
def writing(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[int]]:
    """Return how long each write took that started a search, by engine, in ns; its clock starts after that."""
    go, write = base.Engine.go, EngineProcess.write
    took: dict[str, list[int]] = {}
    last = 0

    def timed_write(process: EngineProcess, data: bytes) -> int:
        nonlocal last
        begun = time.monotonic_ns()
        stamp = write(process, data)
        last = stamp - begun
        return stamp

    def timed_go(engine: base.Engine, ask: base.Ask) -> int:
        stamp = go(engine, ask)
        took.setdefault(engine.spec.name, []).append(last)
        return stamp

    monkeypatch.setattr(relay, "native", None)  # it writes by itself
    monkeypatch.setattr(EngineProcess, "write", timed_write)
    monkeypatch.setattr(base.Engine, "go", timed_go)
    return took


@BOTH
def test_the_way_of_an_answer_is_charged(protocol: Protocol, mark: Path, writing: dict[str, list[int]]) -> None:
    """Each move costs the time that its answer was held back, whatever the engine reports.

    A process that was preempted during the write has not waited that long for the answer.
    """
    here, looking = replace(sound(protocol), name="here"), Looking(mark)
    played = drawn(game(wrapped(sound(protocol), mark, "--ms", "100"), here, link=looking))
    assert not played.incidents
    assert {"relaying.py" in command for command in looking.seen} == {True, False}
    spent = [move.elapsed_ms for move in played.moves[::2]]
    for charged, own_ns in zip(spent, writing["sound"], strict=True):
        assert charged >= (100 if own_ns < UNDISTURBED_NS else (100 * base.MS - own_ns) // base.MS), own_ns
    assert played.moves[-2].clock_ms == 60_000 - sum(spent)


@BOTH
def test_an_answer_that_is_long_under_way_loses_on_time(protocol: Protocol, mark: Path) -> None:
    """An answer that is held back too long loses on time, though the engine answered at once."""
    engine = wrapped(replace(sound(protocol), name="far"), mark, "--ms", "1000")
    lost(game(engine, sound(protocol), white_tc="0.2"), "far", Termination.TIME)


@pytest.mark.parametrize("apart", [(), ("--apart",)])
@BOTH
def test_a_kill_takes_both(
    protocol: Protocol, apart: tuple[str, ...], mark: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine that hangs is ended with its wrapper, in any session."""
    monkeypatch.setattr(base, "OWED_NS", 100 * base.MS)
    monkeypatch.setattr(process, "QUIT_WAIT", 0.2)
    engine = wrapped(scripted(protocol, "deaf", at=1), mark, *apart)
    lost(game(engine, sound(protocol), white_tc="0.2"), "deaf", Termination.TIME)


@pytest.mark.parametrize("apart", [(), ("--apart",)])
@BOTH
def test_a_lost_connection_is_a_crash(protocol: Protocol, apart: tuple[str, ...], mark: Path) -> None:
    """A wrapper that ends while a move is owed is a crash with its exit code; its program is ended."""
    engine = wrapped(replace(sound(protocol), name="far"), mark, "--breaks", "2", *apart)
    played = lost(game(engine, sound(protocol)), "far", Termination.CRASH)
    assert played.plies == 2
    assert "exit 255" in played.cause
