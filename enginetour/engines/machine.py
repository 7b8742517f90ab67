"""Processors, cores, memory, load and speed of this machine.

The threads of a core share its units. Therefore, an engine gets the first usable thread of a core, and the other
threads of this core stay free.
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

# Open files of a run: 22 with two slots, 4 of them per slot; a slot uses 23 while an engine starts, and one more for
# the name of its processor (measured).
FILES, SLOT_FILES = 32, 4


def most_files() -> int | None:
    """Return the limit of open files of this process, or None without a limit."""
    import resource  # imported here: other systems than Linux do not have it

    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if most == resource.RLIM_INFINITY else most


@cache
def processor_name() -> str:
    """Return the model name of the processor from /proc/cpuinfo, or the architecture if there is no model name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2] for line in lines if line.startswith(("model name", "Model", "cpu model")))
    return next((" ".join(name.split()) for name in names if name.strip()), os.uname().machine)


def memory_mb() -> int:
    """Return the total memory of the machine in MiB, whether it is used or not."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20


# The speed of this machine, measured as the processor time for a fixed piece of work.
#
# The work is to compress a text of moves with bzip2. Like engines, bzip2 uses integers, branches and tables of a few
# megabytes, and its C code has not changed since 2019 (libbz2 1.0.8). The integer part of the benchmark SPEC CPU2006
# contained both bzip2 and a chess engine.

_DIGESTS = 10_000  # number of digests of 16 moves each: 0.8 MB, one block of bzip2, larger than a second-level cache
ROUNDS = 20  # the fastest round is used, because other processes make rounds longer and nothing makes them shorter
_REFERENCE = 17.0  # MB/s of an AMD EPYC with 2 processors at a load of 13 (measured); defined as speed 1


def speed_test_text() -> bytes:
    """Return the text of the speed test, which has the same bytes with every version of Python."""
    squares = [file + rank for file in "abcdefgh" for rank in "12345678"]
    digests = b"".join(hashlib.sha256(number.to_bytes(4, "big")).digest() for number in range(_DIGESTS))
    pairs = zip(digests[::2], digests[1::2], strict=True)
    return " ".join(squares[one & 63] + squares[other & 63] for one, other in pairs).encode("ascii")


def measure_speed(rounds: int = ROUNDS) -> float:
    """Return the speed of this machine relative to the reference, with three decimals; 2 is twice as fast.

    The measurement takes about a second.
    """
    text = speed_test_text()
    spent = []
    for _ in range(rounds):
        begun = time.thread_time_ns()  # only this thread, because a cluster worker has other threads that work, too
        bz2.compress(text, 9)
        spent.append(time.thread_time_ns() - begun)
    return round(len(text) * 1000 / min(spent) / _REFERENCE, 3)


# The processors that games may use: all processors of the process's affinity, or fewer if a control group has a quota.

_GROUPS = Path("/sys/fs/cgroup")  # cgroups(7)
_OWN_GROUPS = Path("/proc/self/cgroup")  # hierarchy:controllers:path, cgroups(7)


@dataclass(frozen=True, slots=True)
class ProcessorAllowance:
    """A number of processors, and a text that is shown after the number and explains it."""

    count: int
    why: str = ""
    group: str = ""  # identifies the control group with the quota, also if its processes see it under different names

    def __str__(self) -> str:
        plural = "s" * (self.count != 1)
        return f"{self.count} processor{plural}{self.why}"


def allowed_processors(own: Path = _OWN_GROUPS, groups: Path = _GROUPS) -> ProcessorAllowance:
    """Return the number of whole processors that this process may use, at least one."""
    bound = len(os.sched_getaffinity(0))
    quota, folder = min(_quotas(own, groups), key=itemgetter(0), default=(float(bound), groups))
    if quota >= bound:
        return ProcessorAllowance(bound)
    return ProcessorAllowance(max(1, int(quota)), f" (a quota of {quota:g} of {bound})", _mark(folder))


def _quotas(own: Path, groups: Path) -> Iterator[tuple[float, Path]]:
    """Yield the quota, in processors, and the directory of each control group of this process that has a quota."""
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
    """Return an id of a control group from its inode, because in a container every group has the name of the root."""
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


# Separate cores for the engines of each slot; the other cores are for enginetour itself (runner spec 14).

_TOPOLOGY = Path("/sys/devices/system/cpu")  # Documentation/admin-guide/cputopology.rst
CPUS = "ENGINETOUR_CPUS"  # environment variable of a slot: the processors of its engines, separated by commas


@dataclass(frozen=True, slots=True)
class Cores:
    """The usable cores, and the number of cores that the engines of a slot need."""

    cores: tuple[tuple[int, ...], ...]  # the processors (threads) of each core
    each: int  # number of cores for each slot
    processors: tuple[int, ...] = ()  # all usable processors

    def lacking(self, slots: int) -> str:
        """Return why there are not enough cores for this number of slots, or "" if there are enough."""
        want, have = slots * self.each, len(self.cores)
        if want <= have:
            return ""
        threads = sum(map(len, self.cores))
        threads_text = f" (with {threads} threads)" if threads > have else ""
        games = f"{slots} concurrent game{'s' * (slots != 1)} with {self.each} core{'s' * (self.each != 1)} each"
        return f"{games} need {want} core{'s' * (want != 1)}, but {have} can be used{threads_text}"

    def engines(self, slot: int) -> tuple[int, ...]:
        """Return the processors for the engines of a slot; an empty tuple if no cores are left for the slot."""
        return tuple(core[0] for core in self.cores[slot * self.each : (slot + 1) * self.each])

    def others(self, slot: int, slots: int) -> tuple[int, ...]:
        """Return the processors for the process of a slot: all processors without engines.

        If there are none, return the processors of its engines.
        """
        return self.rest(slots) or self.engines(slot)

    def keep_off(self, slots: int) -> None:
        """Pin all threads of this process to the processors without engines, or to all processors if there are none."""
        set_affinity(os.getpid(), self.rest(slots) or self.processors)

    def rest(self, slots: int) -> tuple[int, ...]:
        """Return the processors that are not used by the engines of this number of slots."""
        return tuple(number for core in self.cores[slots * self.each :] for number in core)


def find_cores(each: int, topology: Path = _TOPOLOGY) -> Cores:
    """Return the cores that this process may use, limited by the quota of its control group.

    Cores of the same package are next to each other. `each` is the number of cores for each slot.
    """
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
    """Read a list such as ``0-1,4`` from a file; return an empty tuple if the kernel does not provide the file."""
    try:
        parts = [part.split("-") for part in path.read_text().strip().split(",")]
        return tuple(number for part in parts for number in range(int(part[0]), int(part[-1]) + 1))
    except (OSError, ValueError):
        return ()


def set_affinity(pid: int, processors: tuple[int, ...]) -> None:
    """Pin all threads of a process to `processors`. Do nothing if `processors` is empty or the process has ended."""
    if not processors:
        return
    with suppress(OSError):
        for thread in list(Path(f"/proc/{pid}/task").iterdir()):
            os.sched_setaffinity(int(thread.name), processors)


@contextmanager
def off_engine_cores(cores: Cores | None, slots: int) -> Iterator[None]:
    """Pin this process to the processors without engines, for the duration of a block."""
    before = os.sched_getaffinity(0)
    if cores is not None:
        cores.keep_off(slots)
    try:
        yield
    finally:
        if cores is not None:
            set_affinity(os.getpid(), tuple(before))


# The memory of an engine's processes, for engines with a memory limit. Anonymous resident memory counts.
#
# The address space does not count, because it includes mapped nets and tablebases, which are in the page cache. Pages
# that a process shares with a forked child are counted only once if the result exceeds the limit; this count is slow,
# because the kernel then reads all pages.

MEMORY_CHECK_NS = 250_000_000  # four checks per second, reliability spec 4.1
MB = 1_000_000  # bytes
KILLED_PREFIX = "killed: "  # beginning of the exit status of an engine that exceeded its memory limit
_GB = 1000  # MB; from this size on, sizes are shown in GB


def memory_excess(pids: Sequence[int], limit_mb: int | None) -> str:
    """Return a text such as ``killed: 1.9 GB over limit 1.5 GB`` if the processes exceed their limit, else ""."""
    if limit_mb is None:
        return ""
    held = sum(_field(f"/proc/{pid}/status", b"RssAnon:") for pid in pids)
    if held > limit_mb * MB and len(pids) > 1:
        held = min(held, sum(_field(f"/proc/{pid}/smaps_rollup", b"Pss_Anon:") for pid in pids) or held)
    return f"{KILLED_PREFIX}{_size(held / MB)} over limit {_size(limit_mb)}" if held > limit_mb * MB else ""


def peak_memory_kb(pid: int) -> int:
    """Return the sum of the peak resident memory of a process and its descendants, in kB; 0 if /proc shows none."""
    return sum(_field(f"/proc/{one}/status", b"VmHWM:") for one in process_tree(pid)) // 1024


def _field(path: str, key: bytes) -> int:
    """Return the value of `key` in a /proc file (proc_pid_status(5), proc_pid_smaps(5)), in bytes.

    Return 0 if the process has ended.
    """
    # The key must follow a line break, because a process can choose its name, but the name has no line breaks.
    begin = (text := read_proc(path)).find(b"\n" + key) + 1
    return int(text[begin + len(key) :].split(None, 1)[0]) * 1024 if begin else 0


def _size(megabytes: float) -> str:
    return f"{megabytes / _GB:.1f} GB" if megabytes >= _GB else f"{megabytes:.0f} MB"


# The processor time of an engine: the time of its process and of all descendants, also of descendants that have ended.

_TIMES = slice(11, 15)  # utime, stime, cutime, cstime among the fields after the name: proc_pid_stat(5)
_THREADS = 17  # num_threads among the fields after the name
_OF_PROCESS = 2  # CPUCLOCK_SCHED, the clock of a whole process: linux/posix-timers.h


class CpuTime:
    """The processor time of the process `root` and all its descendants, which include the process `engine`.

    `root` may be the launcher, because the launcher itself uses almost no processor time.
    """

    def __init__(self, root: int, engine: int) -> None:
        self._root, self._engine = root, engine
        self._used_ms: int | None = None
        self._alone_ns = 0  # the engine's own clock at the last full reading; 0 if it had other processes then

    @property
    def last_ms(self) -> int | None:
        """The last result of a full reading by `ms`."""
        return self._used_ms

    def ms(self, *, whole: bool) -> int | None:
        """Return the processor time since the start in ms (in ticks of 10 ms), or None if no process was ever visible.

        If `whole` is false, and the engine had no other process at the last full reading, the time since then is taken
        from the engine's own clock, which is faster.
        """
        alone = process_cpu_ns(self._engine)
        if self._alone_ns and not whole:
            return (self._used_ms or 0) + (max(alone, self._alone_ns) - self._alone_ns) // 1_000_000
        if (now := _tree_cpu_ms(self._root)) is not None:
            # the time of processes that were killed together is no longer visible, so the larger value is kept
            self._used_ms = max(now[0], self._used_ms or 0)
            self._alone_ns = alone if now[1] == self._engine else 0
        return self._used_ms


def _tree_cpu_ms(root: int) -> tuple[int, int] | None:
    """Return the processor time of a process and its descendants in ms, and the id of the last process of the tree.

    Descendants that have ended and were waited for are included. Return None if /proc does not show the process. It
    takes about 30 us for each process (measured).
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
    """Return the id of the clock of one process, a negative number: clock_getcpuclockid(3)."""
    return ~pid << 3 | _OF_PROCESS


def process_cpu_ns(pid: int) -> int:
    """Return the processor time of one process in ns, or 0 if there is no such process. It takes 0.3 us (measured)."""
    try:
        return time.clock_gettime_ns(cpu_clock_id(pid))
    except OSError:
        return 0


# The load of the machine during a game: other work of its processors, and processor time that was used by its host.

_STAT = "/proc/stat"  # proc(5)
_LOADAVG = "/proc/loadavg"  # proc(5)
_PRESSURE = "/proc/pressure/cpu"  # Documentation/accounting/psi.rst; not every kernel has it
_OVERLOAD = 1.25  # load per processor; above it, games do not have processors for themselves (chosen value)
_HIGH_PRESSURE = 10.0  # % of the last 10 s in which a thread waited for a processor (chosen value)
_STEAL, _COUNTERS = 7, 8  # index of steal among the counters of the line "cpu", and number of counters: proc(5)


class Workload:
    """The load of the machine since the creation of this object. Values are None if the kernel does not report them."""

    def __init__(self) -> None:
        self._load = load_average()
        self._ticks = _ticks()

    def load(self) -> float | None:
        """Return the larger load average of one minute: at the creation of this object or now.

        The load is the number of processes that run or wait to run.
        """
        loads = [load for load in (self._load, load_average()) if load is not None]
        return max(loads, default=None)

    def steal_percent(self) -> float | None:
        """Return the percentage of processor time that the host of a virtual machine has used for other work.

        The time is counted from the creation of this object.
        """
        now = _ticks()
        passed = [after - before for before, after in zip(self._ticks, now, strict=False)]
        return max(0.0, 100 * passed[_STEAL] / sum(passed)) if len(passed) == _COUNTERS and sum(passed) > 0 else None


def is_busy() -> bool:
    """Return whether there was more work than the processors could do, in the last seconds or in the last minute."""
    return _cpu_pressure() > _HIGH_PRESSURE or (load_average() or 0.0) > (processor_count() or 1)


def describe_overload(load: float | None = None) -> str:
    """Return ``load 15 on 2 processors`` if games do not have processors for themselves at this load, else "".

    `load` is the load average; None for the current one.
    """
    load, here = load_average() if load is None else load, processor_count()
    return "" if load is None or here is None or load <= _OVERLOAD * here else describe_load(load, here)


def describe_load(load: float, here: int) -> str:
    """Return a text such as ``load 15 on 2 processors``; `here` is the number of processors."""
    return f"load {load:.0f} on {here} processor{'s' * (here != 1)}"


def runnable_threads() -> int:
    """Return the number of threads that run or wait to run, with this thread; 0 if the kernel does not report it."""
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
    """Return the load average of one minute, or None if the system does not report it."""
    try:
        return os.getloadavg()[0]
    except OSError:
        return None


def _ticks() -> list[int]:
    """Return the ticks of all processors, or [] if the kernel does not report them.

    They are user, nice, system, idle, iowait, irq, softirq and steal.
    """
    line = read_proc(_STAT).partition(b"\n")[0].split()
    return [int(field) for field in line[1 : 1 + _COUNTERS]] if line[:1] == [b"cpu"] else []


# The machine of a tournament: its speed is measured once, and stored with the tournament.

SpeedSetting = Literal["measure"] | float | None  # the setting play.speed: "measure", the speed itself, or not set


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine that plays games. `speed` is relative to the reference, or None if clocks do not depend on it."""

    host: str
    processor: str
    speed: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON that is stored with the configuration."""
        return asdict(self)

    @property
    def words(self) -> str:
        """A text such as ``speed 1.04 of HOST (PROCESSOR): times are multiplied by 0.962``."""
        assert self.speed is not None
        return f"speed {self.speed:g} of {self.host} ({self.processor}): times are multiplied by {1 / self.speed:.3f}"


def this_machine(wish: SpeedSetting, stored: Mapping[str, Any] | None = None) -> Machine:
    """Return this machine with the speed `wish`, or with its measured speed if `wish` is "measure".

    If `stored` has a speed that was measured on this machine, it is not measured again.
    """
    host, model = platform.node(), processor_name()
    if wish != "measure":
        return Machine(host, model, wish)
    known = stored or {}
    if (known.get("host"), known.get("processor")) == (host, model) and known.get("speed"):
        return Machine(host, model, float(known["speed"]))
    return Machine(host, model, measure_speed())
