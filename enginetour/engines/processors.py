"""The processors that games may have: those of our affinity, or fewer where a control group has a quota."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")  # cgroups(7)
OWN_GROUPS = Path("/proc/self/cgroup")  # hierarchy:controllers:path, cgroups(7)


@dataclass(frozen=True, slots=True)
class Allowed:
    """How many, and what says so, in words that follow a number of processors."""

    count: int
    why: str = ""
    group: str = ""  # the control group with the quota, the same for all in it, however each of them calls it

    def __str__(self) -> str:
        plural = "s" * (self.count != 1)
        return f"{self.count} processor{plural}{self.why}"


def allowed(own: Path = OWN_GROUPS, groups: Path = GROUPS) -> Allowed:
    """For this process: whole ones, at least one."""
    bound = len(os.sched_getaffinity(0))
    quota, folder = min(_quotas(own, groups), key=itemgetter(0), default=(float(bound), groups))
    if quota >= bound:
        return Allowed(bound)
    return Allowed(max(1, int(quota)), f" (a quota of {quota:g} of {bound})", _mark(folder))


def _quotas(own: Path, groups: Path) -> Iterator[tuple[float, Path]]:
    """Processors' worth of time that each group above us may use, where it is limited; and its folder."""
    for line in _read(own).splitlines():
        number, controllers, place = line.split(":", 2)
        if number == "0":
            folder, parse = groups, _second
        elif "cpu" in controllers.split(","):
            folder, parse = groups / "cpu", _first
        else:
            continue
        steps = [step for step in place.split("/") if step not in ("", "..")]
        for depth in range(len(steps) + 1):
            group = folder.joinpath(*steps[:depth])
            quota = parse(group)
            if quota is not None:
                yield quota, group


def _second(folder: Path) -> float | None:
    """``QUOTA PERIOD`` in microseconds, or ``max PERIOD``. Source: Documentation/admin-guide/cgroup-v2.rst, cpu.max."""
    return _share(*_read(folder / "cpu.max").split()[:2])


def _first(folder: Path) -> float | None:
    """-1 is no limit. Source: Documentation/scheduler/sched-bwc.rst."""
    return _share(*(_read(folder / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period")))


def _mark(folder: Path) -> str:
    """By its inode: from inside a container every group is called the root."""
    try:
        about = folder.stat()
    except OSError:
        return ""
    return f"{about.st_dev:x}-{about.st_ino:x}"


def _share(quota: str = "", period: str = "") -> float | None:
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() and int(period) else None


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""
