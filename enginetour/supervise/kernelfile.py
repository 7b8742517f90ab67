"""Small files in which the kernel tells of processes and of itself: proc(5)."""

from __future__ import annotations

import os

PAGE = 4096  # bytes: what is asked for stands in the first ones; a file object costs half as much again (measured)


def told(path: str) -> bytes:
    """What it says, up to a page of it; b"" where there is no such file, or the process is gone."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(file, PAGE)
    except OSError:  # it went between the two
        return b""
    finally:
        os.close(file)
