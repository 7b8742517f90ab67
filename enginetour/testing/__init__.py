"""For authors of plug-ins and engines: laws that each plug-in must keep, and scripted engines with one fault each.

``pytest --pyargs enginetour.testing`` tries the laws on each registered format, rating system, notifier and reader of
openings, also on those of plug-ins. It needs the extra `testing`.
"""

from __future__ import annotations

import sys
from pathlib import Path

PLAYING = str(Path(__file__).parent / "engines" / "playing.py")  # one game with one fault; see scripted.py


def scripted_engine(fault: str = "", *, protocol: str = "uci", at: int = 2, moves: str = "") -> tuple[str, ...]:
    """Return the command of a scripted engine, which moves knights back and forth.

    Args:
        fault: The fault, such as "crash", "illegal" or "slow"; "" for none. The class `Scripted` lists them.
        protocol: "uci" or "cecp".
        at: Number of the search with the fault, from 1.
        moves: Moves instead, such as "e2e4,d2d4"; with a slash between those of White and those of Black.
    """
    command = [sys.executable, "-E", "-S", PLAYING, "--protocol", protocol, "--fault", fault, "--at", str(at)]
    return (*command, "--moves", moves) if moves else tuple(command)
