"""Options that may make an engine read or write a file: a debug log, a book, tables. Told, never refused.

Many engines end at their first move, or go on without a word, where a net or tables are not where an option says.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from enginetour.engines.identity import is_written
from enginetour.model.task import EngineSpec, Side

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


def absent_paths(sides: Iterable[Side]) -> Iterator[str]:
    """A sentence for each option that names what an engine is to read, and that is not on this machine."""
    for side in sides:
        for name, value in side.spec.options:
            paths = [] if is_written(name) or "://" in value else value.split(os.pathsep)
            if absent := [path for path in paths if _is_absent(path, side.spec)]:
                yield f"{side.spec.name}: {name} = {value}: there is no {' and no '.join(absent)}"


def _is_absent(path: str, spec: EngineSpec) -> bool:
    """A whole path, or one with a folder in it; a bare name may lie anywhere, or within the engine."""
    if "/" not in path or "{scratch}" in path or "\0" in path:
        return False
    folders = (spec.dir or "/", os.path.dirname(os.path.realpath(spec.command[0])))  # noqa: PTH120 - a text
    return not any(os.path.exists(os.path.join(folder, path)) for folder in folders)  # noqa: PTH110, PTH118
