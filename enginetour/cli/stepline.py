"""A line on a terminal that tells which step a long examination has come to; nothing anywhere else."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence

from enginetour.reports.sheet import safe

ERASE = "\r\x1b[K"  # to the beginning of the line, and what stands there away: ECMA-48, EL


class StepLine:
    """On stderr, so that a report on stdout stays clean; `names` are examined one after the other."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = list(names)
        self._shown = False
        self._there = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"

    def step(self, number: int, count: int, what: str) -> None:
        """The first of the names has come to this one."""
        if self._there:
            words = safe(f"{self._names[0]}: step {number} of {count}, {what}")
            sys.stderr.write(f"{ERASE}{words[: shutil.get_terminal_size((80, 24)).columns - 1]}")
            sys.stderr.flush()
            self._shown = True

    def clear(self) -> None:
        """The first has ended: its line goes, and the next one is on."""
        self._names.pop(0)
        if self._shown:
            sys.stderr.write(ERASE)
            sys.stderr.flush()
            self._shown = False
