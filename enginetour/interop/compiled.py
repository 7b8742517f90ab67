"""Load the compiled part (enginetour._native, written in C) if it was built.

The compiled part plays ordinary plies, writes the record of a game and scans usual PGN text. It only saves time. If no
C compiler was available at the installation, or with ENGINETOUR_NO_NATIVE=1 in the environment, Python code does the
same work (tests/laws/test_native.py and tests/interop/test_pgn.py compare the results).
"""

from __future__ import annotations

import os
from types import ModuleType

INTERFACE = 5  # version of `_native`'s interface; a module with another version is not used


def _loaded() -> ModuleType | None:
    if os.environ.get("ENGINETOUR_NO_NATIVE", "") not in ("", "0"):
        return None
    try:
        from enginetour import _native
    except ImportError:
        return None
    return _native if getattr(_native, "INTERFACE", None) == INTERFACE else None


native = _loaded()
