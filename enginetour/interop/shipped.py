"""What comes with the program: the folders ``engines`` and ``configs``, in a checkout as in an installed wheel."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from enginetour.model.errors import TourError


def shipped(folder: Literal["engines", "configs"]) -> Path:
    """Absolute path of a shipped folder. A wheel keeps it inside the package, a checkout beside it."""
    package = Path(__file__).resolve().parents[1]
    for place in (package / "shipped" / folder, package.parent / folder):
        if place.is_dir():
            return place
    raise TourError(
        f"the folder {folder} of the program is missing", place=str(package), step="install enginetour anew"
    )


def shipped_suite() -> Path:
    """Our own opening suite, used when a configuration names none."""
    return shipped("configs") / "suite.pgn"
