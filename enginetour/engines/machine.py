"""Processors, cores, memory, load and speed of this machine.

Threads of a core share its units: an engine gets the first usable thread of a core, and the others stay free.
"""

from __future__ import annotations

import bz2
import hashlib
import os
import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal

from enginetour.engines.strays import MOST_PROCESSES, children, process_tree, read_proc


@cache
def processor_name() -> str:
    """Return the processor's model from /proc/cpuinfo, or its architecture if it has no name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2] for line in lines if line.startswith(("model name", "Model", "cpu model")))
    return next((" ".join(name.split()) for name in names if name.strip()), os.uname().machine)


def memory_mb() -> int:
    """Return the total memory in MiB, used or not."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20


# The speed of this machine: a fixed piece of work, timed by the processor time that it takes.
#
# The work is bzip2 of a text of moves: integers, branches and a few megabytes of tables, as in engines, in C code that
# has not changed since 2019 (libbz2 1.0.8). The integer part of SPEC CPU2006 contained both bzip2 and a chess engine.

_DIGESTS = 10_000  # of 16 moves each: 0.8 MB, one block of bzip2, more than a second-level cache holds
ROUNDS = 20  # the best counts: other processes make rounds longer, nothing makes them shorter
_REFERENCE = 17.0  # MB/s of an AMD EPYC with 2 processors at a load of 13 (measured); this is speed 1


def speed_test_text() -> bytes:
    """Return the text of the speed test: the same bytes with every version of Python."""
    squares = [file + rank for file in "abcdefgh" for rank in "12345678"]
    digests = b"".join(hashlib.sha256(number.to_bytes(4, "big")).digest() for number in range(_DIGESTS))
    pairs = zip(digests[::2], digests[1::2], strict=True)
    return " ".join(squares[one & 63] + squares[other & 63] for one, other in pairs).encode("ascii")


def measure_speed(rounds: int = ROUNDS) -> float:
    """Return this machine's speed against the reference, with three digits; 2 is twice as fast.

    Takes about a second.
    """
    text = speed_test_text()
    spent = []
    for _ in range(rounds):
        begun = time.thread_time_ns()  # a cluster worker has other threads, which work at the same time
        bz2.compress(text, 9)
        spent.append(time.thread_time_ns() - begun)
    return round(len(text) * 1000 / min(spent) / _REFERENCE, 3)


# The processors that games may use: those of the process's affinity, or fewer if a control group has a quota.

_GROUPS = Path("/sys/fs/cgroup")  # cgroups(7)
_OWN_GROUPS = Path("/proc/self/cgroup")  # hierarchy:controllers:path, cgroups(7)


@dataclass(frozen=True, slots=True)
class ProcessorAllowance:
    """A number of processors, and a text that explains it and follows that number."""

    count: int
    why: str = ""
    group: str = ""  # the control group with the quota; the same for all its processes, whatever name they see

    def __str__(self) -> str:
        plural = "s" * (self.count != 1)
        return f"{self.count} processor{plural}{self.why}"


def allowed_processors(own: Path = _OWN_GROUPS, groups: Path = _GROUPS) -> ProcessorAllowance:
    """Return how many whole processors this process may use, at least one."""
    bound = len(os.sched_getaffinity(0))
    quota, folder = min(_quotas(own, groups), key=itemgetter(0), default=(float(bound), groups))
    if quota >= bound:
        return ProcessorAllowance(bound)
    return ProcessorAllowance(max(1, int(quota)), f" (a quota of {quota:g} of {bound})", _mark(folder))


def _quotas(own: Path, groups: Path) -> Iterator[tuple[float, Path]]:
    """Yield the quota of each group above this process that has one, in processors, and the directory of the group."""
    for line in _read(own).splitlines():
        number, controllers, place = line.split(":", 2)
        if number == "0":
            # cpu.max: ``QUOTA PERIOD`` in us, or ``max PERIOD``. Source: Documentation/admin-guide/cgroup-v2.rst
            folder, files = groups, ["cpu.max"]
        elif "cpu" in controllers.split(","):
            # -1 is no limit. Source: Documentation/scheduler/sched-bwc.rst
            folder, files = groups / "cpu", ["cpu.cfs_quota_us", "cpu.cfs_period_us"]
        else:
            continue
        steps = [step for step in place.split("/") if step not in ("", "..")]
        for depth in range(len(steps) + 1):
            group = folder.joinpath(*steps[:depth])
            quota, period, *_ = *" ".join(_read(group / file) for file in files).split(), "", ""
            if quota.isdigit() and period.isdigit() and int(period):
                yield int(quota) / int(period), group


def _mark(folder: Path) -> str:
    """Identify a group by its inode, because inside a container every group is called the root."""
    try:
        about = folder.stat()
    except OSError:
        return ""
    return f"{about.st_dev:x}-{about.st_ino:x}"


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


# Separate cores for the engines of each slot, and the rest for enginetour itself (runner spec 14).

_TOPOLOGY = Path("/sys/devices/system/cpu")  # Documentation/admin-guide/cputopology.rst
CPUS = "ENGINETOUR_CPUS"  # environment of a slot: the processors of its engines, comma separated


@dataclass(frozen=True, slots=True)
class Cores:
    """The usable cores, each with its processors (its threads), and how many the engines of a slot need."""

    cores: tuple[tuple[int, ...], ...]
    each: int
    processors: tuple[int, ...] = ()  # all usable processors

    def lacking(self, slots: int) -> str:
        """Return why there are not enough cores for this number of slots; "" if there are."""
        want, have = slots * self.each, len(self.cores)
        if want <= have:
            return ""
        threads = sum(map(len, self.cores))
        threads_text = f" (with {threads} threads)" if threads > have else ""
        games = f"{slots} concurrent game{'s' * (slots != 1)} with {self.each} core{'s' * (self.each != 1)} each"
        return f"{games} need {want} core{'s' * (want != 1)}, but {have} can be used{threads_text}"

    def engines(self, slot: int) -> tuple[int, ...]:
        """Return the processors of a slot's engines; none if no cores are left for the slot."""
        return tuple(core[0] for core in self.cores[slot * self.each : (slot + 1) * self.each])

    def others(self, slot: int, slots: int) -> tuple[int, ...]:
        """Return the processors of a slot's own process: those without engines, or its engines' if there are none."""
        return self.rest(slots) or self.engines(slot)

    def keep_off(self, slots: int) -> None:
        """Pin this process with all its threads to what the engines leave; if nothing is left, it may run anywhere."""
        set_affinity(os.getpid(), self.rest(slots) or self.processors)

    def rest(self, slots: int) -> tuple[int, ...]:
        """Return the processors that the engines of this number of slots leave."""
        return tuple(number for core in self.cores[slots * self.each :] for number in core)


def find_cores(each: int, topology: Path = _TOPOLOGY) -> Cores:
    """Return the cores of this process's affinity, neighbors side by side, limited by the quota of its group."""
    ours = os.sched_getaffinity(0)
    found: dict[tuple[int, ...], tuple[int, ...]] = {}
    for number in sorted(ours):
        place = topology / f"cpu{number}" / "topology"
        siblings = _listed(place / "thread_siblings_list") or (number,)
        package = _listed(place / "physical_package_id") or (0,)
        found[(*package, *siblings)] = tuple(sibling for sibling in siblings if sibling in ours)
    cores = tuple(found[key] for key in sorted(found))
    return Cores(cores[: allowed_processors().count], each, tuple(sorted(ours)))


def _listed(path: Path) -> tuple[int, ...]:
    """Return ``0-1,4`` in a file as numbers; none if the kernel does not report them."""
    try:
        parts = [part.split("-") for part in path.read_text().strip().split(",")]
        return tuple(number for part in parts for number in range(int(part[0]), int(part[-1]) + 1))
    except (OSError, ValueError):
        return ()


def set_affinity(pid: int, processors: tuple[int, ...]) -> None:
    """Pin all threads of a process. Without processors, or if the process has ended, nothing changes."""
    if not processors:
        return
    with suppress(OSError):
        for thread in list(Path(f"/proc/{pid}/task").iterdir()):
            os.sched_setaffinity(int(thread.name), processors)


@contextmanager
def off_engine_cores(cores: Cores | None, slots: int) -> Iterator[None]:
    """Pin this process to what the engines leave, for the duration of a block."""
    before = os.sched_getaffinity(0)
    if cores is not None:
        cores.keep_off(slots)
    try:
        yield
    finally:
        if cores is not None:
            set_affinity(os.getpid(), tuple(before))


# The memory of an engine's processes, for engines with a limit: anonymous and resident.
#
# Never the address space: it contains mapped nets and tablebases, which belong to the page cache. A page shared by a
# process and the child it forked is counted once, but only when it matters, because the kernel then walks all pages.

MEMORY_CHECK_NS = 250_000_000  # four checks per second, reliability spec 4.1
MB = 1_000_000  # bytes
KILLED_PREFIX = "killed: "  # beginning of the exit status of an engine that exceeded its memory limit
_GB = 1000  # MB, from which on sizes are shown in GB


def memory_excess(pids: Sequence[int], limit_mb: int | None) -> str:
    """Return ``killed: 1.9 GB over limit 1.5 GB`` if the processes exceed their limit, else ""."""
    if limit_mb is None:
        return ""
    held = sum(_field(f"/proc/{pid}/status", b"RssAnon:") for pid in pids)
    if held > limit_mb * MB and len(pids) > 1:
        held = min(held, sum(_field(f"/proc/{pid}/smaps_rollup", b"Pss_Anon:") for pid in pids) or held)
    return f"{KILLED_PREFIX}{_size(held / MB)} over limit {_size(limit_mb)}" if held > limit_mb * MB else ""


def peak_memory_kb(pid: int) -> int:
    """Return the sum of the peak resident memory of a process and all its descendants, in kB; 0 if none is visible."""
    return sum(_field(f"/proc/{one}/status", b"VmHWM:") for one in process_tree(pid)) // 1024


def _field(path: str, key: bytes) -> int:
    """Return the bytes in a line in kB of proc_pid_status(5) or proc_pid_smaps(5); 0 if the process is gone."""
    # The key must follow a line break: a process can choose its name, but not with a line break in it.
    begin = (text := read_proc(path)).find(b"\n" + key) + 1
    return int(text[begin + len(key) :].split(None, 1)[0]) * 1024 if begin else 0


def _size(megabytes: float) -> str:
    return f"{megabytes / _GB:.1f} GB" if megabytes >= _GB else f"{megabytes:.0f} MB"


# Processor time of an engine: of its process, of all descendants, and of those descendants that were waited for.

_TIMES = slice(11, 15)  # utime, stime, cutime, cstime behind the name: proc_pid_stat(5)
_THREADS = 17  # num_threads, likewise
_OF_PROCESS = 2  # CPUCLOCK_SCHED, a clock of the whole process: linux/posix-timers.h


class CpuTime:
    """Processor time of `root` and all its descendants, among them the engine; a launcher above it adds nothing."""

    def __init__(self, root: int, engine: int) -> None:
        self._root, self._engine = root, engine
        self._used_ms: int | None = None
        self._alone_ns = 0  # the engine's own clock at the last look, if it had no other process then

    @property
    def last_ms(self) -> int | None:
        """The result of the last call of `ms`."""
        return self._used_ms

    def ms(self, *, whole: bool) -> int | None:
        """Return the ms since the start, in the kernel's ticks of 10 ms; None if no process was ever visible.

        Without `whole`: if the engine had no other process at the last call, its own clock counts the time since then.
        """
        alone = process_cpu_ns(self._engine)
        if self._alone_ns and not whole:
            return (self._used_ms or 0) + (max(alone, self._alone_ns) - self._alone_ns) // 1_000_000
        if (now := _tree_cpu_ms(self._root)) is not None:
            # time of processes that were killed together is not visible any more, so the larger value counts
            self._used_ms = max(now[0], self._used_ms or 0)
            self._alone_ns = alone if now[1] == self._engine else 0
        return self._used_ms


def _tree_cpu_ms(root: int) -> tuple[int, int] | None:
    """Return the processor time in ms of a process and its descendants, and the youngest; None without /proc data.

    Descendants that were waited for are included. Takes about 30 us for each process (measured).
    """
    pids, ticks = [root], []
    for pid in pids:
        if text := read_proc(f"/proc/{pid}/stat"):
            fields = text[text.rindex(b")") + 2 :].split()
            ticks.append(sum(map(int, fields[_TIMES])))
            if len(pids) < MOST_PROCESSES:
                pids += children(pid, threads=int(fields[_THREADS]))
    return (sum(ticks) * 1000 // os.sysconf("SC_CLK_TCK"), pids[-1]) if ticks else None


def cpu_clock_id(pid: int) -> int:
    """Return the number of the clock of one process, which is negative: clock_getcpuclockid(3)."""
    return ~pid << 3 | _OF_PROCESS


def process_cpu_ns(pid: int) -> int:
    """Return the processor time of one process in ns, in 0.3 us (measured); 0 if there is no such process."""
    try:
        return time.clock_gettime_ns(cpu_clock_id(pid))
    except OSError:
        return 0


# The load of the machine during a game: other work for its processors, and what its host took of them.

_STAT = "/proc/stat"  # proc(5)
_LOADAVG = "/proc/loadavg"  # proc(5)
_PRESSURE = "/proc/pressure/cpu"  # Documentation/accounting/psi.rst; not every kernel has it
_OVERLOAD = 1.25  # x the processors: from this load on, games do not have processors of their own (chosen value)
_HIGH_PRESSURE = 10.0  # % of the last 10 s in which something waited for a processor (chosen value)
_STEAL, _COUNTERS = 7, 8  # place of steal among the counters of the line "cpu", and the number of counters: proc(5)


class Workload:
    """The load of the machine from the creation of this object on; None for what a kernel does not report."""

    def __init__(self) -> None:
        self._load = load_average()
        self._ticks = _ticks()

    def load(self) -> float | None:
        """Return the load average of a minute, the larger of both times: processes that run or wait to run."""
        loads = [load for load in (self._load, load_average()) if load is not None]
        return max(loads, default=None)

    def steal_percent(self) -> float | None:
        """Return the percentage of processor time since then that the host of a virtual machine gave to others."""
        now = _ticks()
        passed = [after - before for before, after in zip(self._ticks, now, strict=False)]
        return max(0.0, 100 * passed[_STEAL] / sum(passed)) if len(passed) == _COUNTERS and sum(passed) > 0 else None


def is_busy() -> bool:
    """Return whether more threads want to run than there are processors: in the last seconds, or in the last minute."""
    return _cpu_pressure() > _HIGH_PRESSURE or (load_average() or 0.0) > (processor_count() or 1)


def describe_overload(load: float | None = None) -> str:
    """Return ``load 15 on 2 processors`` if games do not have processors of their own at that load, else ""."""
    load, here = load_average() if load is None else load, processor_count()
    return "" if load is None or here is None or load <= _OVERLOAD * here else describe_load(load, here)


def describe_load(load: float, here: int) -> str:
    """Return ``load 15 on 2 processors``."""
    return f"load {load:.0f} on {here} processor{'s' * (here != 1)}"


def runnable_threads() -> int:
    """Return the threads that run or wait to run now, including this one; 0 if the kernel does not report them."""
    fields = read_proc(_LOADAVG).split()
    return int(fields[3].partition(b"/")[0]) if len(fields) > 3 else 0


def _cpu_pressure() -> float:
    _, _, rest = read_proc(_PRESSURE).partition(b"avg10=")
    return float(rest.split(None, 1)[0]) if rest else 0.0


@cache
def processor_count() -> int | None:
    """Return the number of processors of the whole machine, to which the load average refers."""
    return os.cpu_count()


def load_average() -> float | None:
    """Return the load average of a minute, None if the system does not report it."""
    try:
        return os.getloadavg()[0]
    except OSError:
        return None


def _ticks() -> list[int]:
    """Return the ticks of all processors: user, nice, system, idle, iowait, irq, softirq, steal; [] if unknown."""
    line = read_proc(_STAT).partition(b"\n")[0].split()
    return [int(field) for field in line[1 : 1 + _COUNTERS]] if line[:1] == [b"cpu"] else []


# The machine of a tournament: its speed is measured once, and stored with the tournament.

SpeedSetting = Literal["measure"] | float | None  # as play.speed: "measure", a number set by the user, or none


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine that plays games; `speed` is relative to the reference, None if clocks do not depend on it."""

    host: str
    processor: str
    speed: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the form in which it is stored with the configuration."""
        return asdict(self)

    @property
    def words(self) -> str:
        """``speed 1.04 of HOST (PROCESSOR): times are multiplied by 0.962``."""
        assert self.speed is not None
        return f"speed {self.speed:g} of {self.host} ({self.processor}): times are multiplied by {1 / self.speed:.3f}"


def this_machine(wish: SpeedSetting, stored: Mapping[str, Any] | None = None) -> Machine:
    """Return this machine with the requested speed; a speed that was measured here before is not measured again."""
    host, model = platform.node(), processor_name()
    if wish != "measure":
        return Machine(host, model, wish)
    known = stored or {}
    if (known.get("host"), known.get("processor")) == (host, model) and known.get("speed"):
        return Machine(host, model, float(known["speed"]))
    return Machine(host, model, measure_speed())
