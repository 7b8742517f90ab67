"""Lines of an engine's output that a tester wants to keep with its moves."""

from __future__ import annotations

import re
from itertools import islice

from enginetour.engines.wire import printable

KEPT_LINES = 20  # of one search that match a pattern: a record is no log
KEPT_LENGTH = 300  # bytes of such a line, and all the pattern is tried on: no engine can make a search for it long


def kept_lines(search: bytes, pattern: re.Pattern[str]) -> tuple[str, ...]:
    """The last lines of a search's output in which the pattern is found, oldest first."""
    lines = (line[:KEPT_LENGTH].decode("utf-8", "replace").strip() for line in reversed(search.split(b"\n")))
    found = (printable(line, KEPT_LENGTH) for line in lines if line and pattern.search(line))
    return tuple(reversed(list(islice(found, KEPT_LINES))))
