"""Options that may make an engine read or write a file: a debug log, a book, tables. Told, never refused."""

from __future__ import annotations

import re
from collections.abc import Iterable

from enginetour.task import Side

_NAME = re.compile("file|path|log|dir", re.IGNORECASE)  # BookFile, SyzygyPath, Debug Log, LogDir
_NONE = frozenset({"", "<empty>", "false", "0"})  # UCI writes an empty text as <empty>


def path_options(sides: Iterable[Side]) -> tuple[str, ...]:
    """``Toga II: BookFile = /books/toga.bin`` for each such option that is given or offered to an engine."""
    return tuple(
        f"{side.spec.name}: {name} = {value}"
        for side in sides
        for name, value in (*side.spec.options, *side.spec.offered)
        if is_path(name, value)
    )


def is_path(name: str, value: str) -> bool:
    """A value with a slash, or any that says something under a name that speaks of files."""
    return "/" in value or (_NAME.search(name) is not None and value.strip().casefold() not in _NONE)
