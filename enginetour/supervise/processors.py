"""The processors that games may have: those of our affinity, or fewer where a control group has a quota."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")  # cgroups(7)
OWN_GROUPS = Path("/proc/self/cgroup")  # hierarchy:controllers:path, cgroups(7)


@dataclass(frozen=True, slots=True)
class Allowed:
    """How many, and what says so, in words that follow a number of processors."""

    count: int
    why: str = ""

    def __str__(self) -> str:
        plural = "s" * (self.count != 1)
        return f"{self.count} processor{plural}{self.why}"


def allowed(own: Path = OWN_GROUPS, groups: Path = GROUPS) -> Allowed:
    """For this process: whole ones, at least one."""
    bound = len(os.sched_getaffinity(0))
    quota = min(_quotas(own, groups), default=float(bound))
    return Allowed(bound) if quota >= bound else Allowed(max(1, int(quota)), f" (a quota of {quota:g} of {bound})")


def _quotas(own: Path, groups: Path) -> Iterator[float]:
    """Processors' worth of time that each group above us may use, where it is limited."""
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
            quota = parse(folder.joinpath(*steps[:depth]))
            if quota is not None:
                yield quota


def _second(folder: Path) -> float | None:
    """``QUOTA PERIOD`` in microseconds, or ``max PERIOD``. Source: Documentation/admin-guide/cgroup-v2.rst, cpu.max."""
    return _share(*_read(folder / "cpu.max").split()[:2])


def _first(folder: Path) -> float | None:
    """-1 is no limit. Source: Documentation/scheduler/sched-bwc.rst."""
    return _share(*(_read(folder / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period")))


def _share(quota: str = "", period: str = "") -> float | None:
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() and int(period) else None


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""
