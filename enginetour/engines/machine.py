"""Processors, cores, memory, load, speed.

Threads of a core share its units: an engine has the first one we may use, and nobody the others.
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
    """The processor's model, as /proc/cpuinfo names it; its architecture where it has no name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2] for line in lines if line.startswith(("model name", "Model", "cpu model")))
    return next((" ".join(name.split()) for name in names if name.strip()), os.uname().machine)


def memory_mb() -> int:
    """All of it, in MiB, whatever is in use."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20


# How fast this machine is: a fixed piece of work of our own, timed by the processor time it takes.
#
# The work is bzip2 of a text of moves: integers, branches and a few megabytes of tables, as in engines, in C that has
# not changed since 2019 (libbz2 1.0.8). bzip2 and a chess engine stood side by side in the integer part of SPEC
# CPU2006.

_DIGESTS = 10_000  # of 16 moves each: 0.8 MB, one block of bzip2, more than a second-level cache holds
ROUNDS = 20  # the best counts: whatever else runs makes rounds longer, nothing makes them shorter
_REFERENCE = 17.0  # MB/s of an AMD EPYC with 2 processors at a load of 13 (measured): there the speed is 1


def speed_test_text() -> bytes:
    """The same bytes everywhere, whatever the version of Python."""
    squares = [file + rank for file in "abcdefgh" for rank in "12345678"]
    digests = b"".join(hashlib.sha256(number.to_bytes(4, "big")).digest() for number in range(_DIGESTS))
    pairs = zip(digests[::2], digests[1::2], strict=True)
    return " ".join(squares[one & 63] + squares[other & 63] for one, other in pairs).encode("ascii")


def measure_speed(rounds: int = ROUNDS) -> float:
    """This machine's against the reference: 2 is twice as fast. Takes about a second; three digits."""
    text = speed_test_text()
    spent = []
    for _ in range(rounds):
        begun = time.thread_time_ns()  # a worker of a cluster has other threads, and they work meanwhile
        bz2.compress(text, 9)
        spent.append(time.thread_time_ns() - begun)
    return round(len(text) * 1000 / min(spent) / _REFERENCE, 3)


# The processors that games may have: those of our affinity, or fewer where a control group has a quota.

_GROUPS = Path("/sys/fs/cgroup")  # cgroups(7)
_OWN_GROUPS = Path("/proc/self/cgroup")  # hierarchy:controllers:path, cgroups(7)


@dataclass(frozen=True, slots=True)
class ProcessorAllowance:
    """How many, and what says so, in words that follow a number of processors."""

    count: int
    why: str = ""
    group: str = ""  # the control group with the quota, the same for all in it, however each of them calls it

    def __str__(self) -> str:
        plural = "s" * (self.count != 1)
        return f"{self.count} processor{plural}{self.why}"


def allowed_processors(own: Path = _OWN_GROUPS, groups: Path = _GROUPS) -> ProcessorAllowance:
    """For this process: whole ones, at least one."""
    bound = len(os.sched_getaffinity(0))
    quota, folder = min(_quotas(own, groups), key=itemgetter(0), default=(float(bound), groups))
    if quota >= bound:
        return ProcessorAllowance(bound)
    return ProcessorAllowance(max(1, int(quota)), f" (a quota of {quota:g} of {bound})", _mark(folder))


def _quotas(own: Path, groups: Path) -> Iterator[tuple[float, Path]]:
    """Processors' worth of time that each group above us may use, where it is limited; and its folder."""
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
    """By its inode: from inside a container every group is called the root."""
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


# Cores of their own for the engines of each slot, and the rest for us (runner spec 14).

_TOPOLOGY = Path("/sys/devices/system/cpu")  # Documentation/admin-guide/cputopology.rst
CPUS = "ENGINETOUR_CPUS"  # in a slot's environment: those of its engines, comma separated


@dataclass(frozen=True, slots=True)
class Cores:
    """The cores that we may use, each with its processors (its threads), and how many a slot's engines want."""

    cores: tuple[tuple[int, ...], ...]
    each: int
    processors: tuple[int, ...] = ()  # all that we may use

    def lacking(self, slots: int) -> str:
        """Why they do not do for so many slots, "" where they do."""
        want, have = slots * self.each, len(self.cores)
        if want <= have:
            return ""
        threads = sum(map(len, self.cores))
        apart = f", their {threads} processors are threads of them" if threads > have else ""
        of_slots = f"{slots} slot{'s' * (slots != 1)} of {self.each}"
        return f"{of_slots} want {want} core{'s' * (want != 1)} of their own, there are {have}{apart}"

    def engines(self, slot: int) -> tuple[int, ...]:
        """Processors of a slot's engines; none for a slot beyond all cores."""
        return tuple(core[0] for core in self.cores[slot * self.each : (slot + 1) * self.each])

    def others(self, slot: int, slots: int) -> tuple[int, ...]:
        """Processors of a slot's own process: what no slot's engines have, or theirs where nothing is left."""
        return self.rest(slots) or self.engines(slot)

    def keep_off(self, slots: int) -> None:
        """This process, all its threads, on what the engines leave; where nothing is left it may run anywhere."""
        set_affinity(os.getpid(), self.rest(slots) or self.processors)

    def rest(self, slots: int) -> tuple[int, ...]:
        """What the engines of so many slots leave."""
        return tuple(number for core in self.cores[slots * self.each :] for number in core)


def find_cores(each: int, topology: Path = _TOPOLOGY) -> Cores:
    """Those of this process's affinity, neighbours side by side; no more than a quota of its group lets it use."""
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
    """``0-1,4`` as numbers; none where the kernel does not tell."""
    try:
        parts = [part.split("-") for part in path.read_text().strip().split(",")]
        return tuple(number for part in parts for number in range(int(part[0]), int(part[-1]) + 1))
    except (OSError, ValueError):
        return ()


def set_affinity(pid: int, processors: tuple[int, ...]) -> None:
    """All threads of a process to these; none, or a process that has gone, changes nothing."""
    if not processors:
        return
    with suppress(OSError):
        for thread in list(Path(f"/proc/{pid}/task").iterdir()):
            os.sched_setaffinity(int(thread.name), processors)


@contextmanager
def off_engine_cores(cores: Cores | None, slots: int) -> Iterator[None]:
    """This process on what the engines leave, for a while."""
    before = os.sched_getaffinity(0)
    if cores is not None:
        cores.keep_off(slots)
    try:
        yield
    finally:
        if cores is not None:
            set_affinity(os.getpid(), tuple(before))


# How much memory the processes of an engine hold, for those that have a limit: anonymous and resident.
#
# Never the address space: mapped nets and tablebases count there, and belong to the page cache. A page shared by a
# process and the child it forked is counted once, but only when it matters: the kernel walks all pages for that.

MEMORY_CHECK_NS = 250_000_000  # four looks a second, reliability spec 4.1
MB = 1_000_000  # bytes
KILLED_PREFIX = "killed: "  # how the end of such an engine is told
_GB = 1000  # MB, from which on a size is told in GB


def memory_excess(pids: Sequence[int], limit_mb: int | None) -> str:
    """``killed: 1.9 GB over limit 1.5 GB`` where they hold more than their limit, else ""."""
    if limit_mb is None:
        return ""
    held = sum(_field(f"/proc/{pid}/status", b"RssAnon:") for pid in pids)
    if held > limit_mb * MB and len(pids) > 1:
        held = min(held, sum(_field(f"/proc/{pid}/smaps_rollup", b"Pss_Anon:") for pid in pids) or held)
    return f"{KILLED_PREFIX}{_size(held / MB)} over limit {_size(limit_mb)}" if held > limit_mb * MB else ""


def peak_memory_kb(pid: int) -> int:
    """Sum of the most memory (peak resident set size) of a process and of all it started; 0 where none is seen."""
    return sum(_field(f"/proc/{one}/status", b"VmHWM:") for one in process_tree(pid)) // 1024


def _field(path: str, key: bytes) -> int:
    """Bytes, from a line in kB of proc_pid_status(5) or proc_pid_smaps(5); 0 for a process that is gone."""
    # Behind a line break: a process chooses its name, without one.
    begin = (text := read_proc(path)).find(b"\n" + key) + 1
    return int(text[begin + len(key) :].split(None, 1)[0]) * 1024 if begin else 0


def _size(megabytes: float) -> str:
    return f"{megabytes / _GB:.1f} GB" if megabytes >= _GB else f"{megabytes:.0f} MB"


# Processor time of an engine: of its process, of all that it started, and of those of them that were waited for.

_TIMES = slice(11, 15)  # utime, stime, cutime, cstime behind the name: proc_pid_stat(5)
_THREADS = 17  # num_threads, likewise
_OF_PROCESS = 2  # CPUCLOCK_SCHED, a clock of the whole process: linux/posix-timers.h


class CpuTime:
    """Of `root` and all below it, among them the engine itself; a launcher above it does not grow."""

    def __init__(self, root: int, engine: int) -> None:
        self._root, self._engine = root, engine
        self._used_ms: int | None = None
        self._alone_ns = 0  # of the engine's clock when that was looked at, where it had no other process

    @property
    def last_ms(self) -> int | None:
        """As it was when it was last asked for."""
        return self._used_ms

    def ms(self, *, whole: bool) -> int | None:
        """Since the start, by the kernel's ticks of 10 ms; None while nothing was ever seen.

        Not `whole`: where the engine had no other process when that was last asked for, by its own clock since then.
        """
        alone = process_cpu_ns(self._engine)
        if self._alone_ns and not whole:
            return (self._used_ms or 0) + (max(alone, self._alone_ns) - self._alone_ns) // 1_000_000
        if (now := _tree_cpu_ms(self._root)) is not None:
            self._used_ms = max(now[0], self._used_ms or 0)  # what was killed together is nobody's to count
            self._alone_ns = alone if now[1] == self._engine else 0
        return self._used_ms


def _tree_cpu_ms(root: int) -> tuple[int, int] | None:
    """Processor time of a process, its descendants and those of them that were waited for, and the youngest of them.

    None when none is seen. Some 30 us for each (measured).
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
    """The number of the clock of one process, which is negative: clock_getcpuclockid(3)."""
    return ~pid << 3 | _OF_PROCESS


def process_cpu_ns(pid: int) -> int:
    """Processor time of one process, 0.3 us (measured); 0 where there is none."""
    try:
        return time.clock_gettime_ns(cpu_clock_id(pid))
    except OSError:
        return 0


# How busy the machine was while a game was played: what else wanted its processors, and what its host took of them.

_STAT = "/proc/stat"  # proc(5)
_LOADAVG = "/proc/loadavg"  # proc(5)
_PRESSURE = "/proc/pressure/cpu"  # Documentation/accounting/psi.rst; not every kernel has it
_OVERLOAD = 1.25  # x the processors, from which a load leaves no game alone: ours are a part of it (our choice)
_HIGH_PRESSURE = 10.0  # % of the last 10 s in which something waited for a processor (our choice)
_STEAL, _COUNTERS = 7, 8  # place of steal among the counters of the line "cpu", and how many make up all time: proc(5)


class Workload:
    """Looks at the machine when it is made and when it is asked; what a kernel does not tell is None."""

    def __init__(self) -> None:
        self._load = load_average()
        self._ticks = _ticks()

    def load(self) -> float | None:
        """The load average of a minute, the larger of then and now: processes that run or wait to."""
        loads = [load for load in (self._load, load_average()) if load is not None]
        return max(loads, default=None)

    def steal_percent(self) -> float | None:
        """Percentage of the processors' time since then that the host of a virtual machine gave to others."""
        now = _ticks()
        passed = [after - before for before, after in zip(self._ticks, now, strict=False)]
        return max(0.0, 100 * passed[_STEAL] / sum(passed)) if len(passed) == _COUNTERS and sum(passed) > 0 else None


def is_busy() -> bool:
    """Whether more wants to run than there are processors: in the last seconds, or on the average of a minute."""
    return _cpu_pressure() > _HIGH_PRESSURE or (load_average() or 0.0) > (processor_count() or 1)


def describe_overload(load: float | None = None) -> str:
    """``load 15 on 2 processors`` where that leaves no game its own processor, else ""."""
    load, here = load_average() if load is None else load, processor_count()
    return "" if load is None or here is None or load <= _OVERLOAD * here else describe_load(load, here)


def describe_load(load: float, here: int) -> str:
    """``load 15 on 2 processors``."""
    return f"load {load:.0f} on {here} processor{'s' * (here != 1)}"


def runnable_threads() -> int:
    """Threads that run or wait to at this moment, us among them; 0 where the kernel does not tell."""
    fields = read_proc(_LOADAVG).split()
    return int(fields[3].partition(b"/")[0]) if len(fields) > 3 else 0


def _cpu_pressure() -> float:
    _, _, rest = read_proc(_PRESSURE).partition(b"avg10=")
    return float(rest.split(None, 1)[0]) if rest else 0.0


@cache
def processor_count() -> int | None:
    """Those of the machine, as the load average counts for all of them."""
    return os.cpu_count()


def load_average() -> float | None:
    """The load average of a minute, None where the system has none."""
    try:
        return os.getloadavg()[0]
    except OSError:
        return None


def _ticks() -> list[int]:
    """Time of all processors by what they did: user, nice, system, idle, iowait, irq, softirq, steal; [] for none."""
    line = read_proc(_STAT).partition(b"\n")[0].split()
    return [int(field) for field in line[1 : 1 + _COUNTERS]] if line[:1] == [b"cpu"] else []


# The machine a tournament is played on: its speed, once measured, holds for it and is kept with the tournament.

SpeedSetting = Literal["measure"] | float | None  # as play.speed: to be measured, a number of the user's own, none


@dataclass(frozen=True, slots=True)
class Machine:
    """Where games are played; `speed` is against the reference of `pace`, None where clocks do not go by it."""

    host: str
    processor: str
    speed: float | None = None

    def to_json(self) -> dict[str, Any]:
        """As it is stored with the configuration."""
        return asdict(self)

    @property
    def words(self) -> str:
        """``speed 1.04 of HOST (PROCESSOR): times are multiplied by 0.962``."""
        assert self.speed is not None
        return f"speed {self.speed:g} of {self.host} ({self.processor}): times are multiplied by {1 / self.speed:.3f}"


def this_machine(wish: SpeedSetting, stored: Mapping[str, Any] | None = None) -> Machine:
    """This machine at the speed asked for; one that was measured here before is not measured again."""
    host, model = platform.node(), processor_name()
    if wish != "measure":
        return Machine(host, model, wish)
    known = stored or {}
    if (known.get("host"), known.get("processor")) == (host, model) and known.get("speed"):
        return Machine(host, model, float(known["speed"]))
    return Machine(host, model, measure_speed())
