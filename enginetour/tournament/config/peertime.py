"""Time controls as cutechess-cli and fastchess write them: ``40/1:30+0.5`` has minutes before the colon."""

from __future__ import annotations

import re

from enginetour.model.timecontrol import TimeControl

_CLOCK = re.compile(
    r"(?:(?P<moves>\d+|inf|infinite)/)?(?:(?P<minutes>\d+(?:\.\d+)?):)?(?P<seconds>\d*\.?\d+)s?"
    r"(?:\+(?P<increment>\d*\.?\d+)s?)?",
    re.IGNORECASE,
)


def control_of(*, tc: str = "", st: str = "", nodes: str = "", depth: str = "") -> TimeControl:
    """What an engine's limits mean together; ValueError in words for the user.

    ``tc=inf`` is no limit of its own and needs another one.
    """
    parts = []
    if st:
        parts.append(f"movetime={_seconds(st.removesuffix('s'))}")
    elif tc and tc.lower() not in ("inf", "infinite"):
        parts.append(_clock(tc))
    parts += [f"{word}={value}" for word, value in (("nodes", nodes), ("depth", depth)) if value.strip("0")]
    if not parts:
        raise ValueError("no limit: give tc, st, nodes or depth" + (f", found tc={tc}" if tc else ""))
    return TimeControl.parse(",".join(parts))


def _clock(tc: str) -> str:
    sand = tc.startswith("hg")  # cutechess-cli alone has it, and refuses moves or an increment beside it
    found = _CLOCK.fullmatch(tc.removeprefix("hg"))
    if found is None or (sand and (found["moves"] or found["increment"])):
        raise ValueError(f"cannot read tc={tc}; their form is moves/minutes:seconds+increment")
    count = found["moves"] or "0"
    moves = f"{int(count)}/" if count.isdecimal() and int(count) else ""  # inf and 0 are all of them
    seconds = float(found["minutes"] or 0) * 60 + float(found["seconds"])
    increment = f"+{_seconds(found['increment'])}" if found["increment"] and float(found["increment"]) else ""
    return f"{'hourglass=' * sand}{moves}{_seconds(seconds)}{increment}"


def _seconds(value: str | float) -> str:
    """Cut to milliseconds, as both programs do."""
    return f"{int(float(value) * 1000 + 1e-6) / 1000:.3f}".rstrip("0").rstrip(".")
