"""The machine a game is played on, in the words of its own kernel."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path


@cache
def processor() -> str:
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
