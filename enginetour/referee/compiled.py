"""The part in C, where it was built: the path of a plain ply and the record of a game.

Nothing hangs on it but time: without a C compiler at the installation, or with ENGINETOUR_NO_NATIVE=1 in the
environment, Python does the same (tests/laws/test_native.py holds one against the other).
"""

from __future__ import annotations

import os
from types import ModuleType

INTERFACE = 3  # of `_native` as it is called here: one that was built from other sources is not used


def _loaded() -> ModuleType | None:
    if os.environ.get("ENGINETOUR_NO_NATIVE", "") not in ("", "0"):
        return None
    try:
        from enginetour import _native
    except ImportError:
        return None
    return _native if getattr(_native, "INTERFACE", None) == INTERFACE else None


native = _loaded()
