"""What an examination found, written into an engine file: lines are changed or added, everything else stays."""

from __future__ import annotations

import os
import re
import tempfile
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from enginetour.engines.enginefile import read_entry
from enginetour.interop.toml import toml_value
from enginetour.model.errors import InputRefused

_HEADER = re.compile(r"[ \t]*\[")


def hinted(text: str, hints: Mapping[str, object]) -> str:
    """The text of an engine file with each hint in it; a key ``quirks.NAME`` belongs under [quirks]."""
    lines = text.splitlines()
    for key, value in hints.items():
        section, _, name = key.rpartition(".")
        written = f"{name} = {toml_value(value)}"
        start, end = _section(lines, section)
        if start < 0:
            lines += ["", f"[{section}]", written]
            continue
        there = next((n for n in range(start, end) if re.match(rf"[ \t]*{re.escape(name)}[ \t]*=", lines[n])), None)
        if there is None:
            while end > start and not lines[end - 1].strip():
                end -= 1
            lines.insert(end, written)
        else:
            lines[there] = written
    return "\n".join(lines) + "\n"


def _section(lines: list[str], name: str) -> tuple[int, int]:
    """The first line inside a section and the line after its last; -1 where it is not there."""
    start = 0
    if name:
        header = rf"[ \t]*\[[ \t]*{re.escape(name)}[ \t]*\][ \t]*(?:#.*)?"
        start = next((n + 1 for n, line in enumerate(lines) if re.fullmatch(header, line)), -1)
    if start < 0:
        return -1, -1
    end = next((n for n in range(start, len(lines)) if _HEADER.match(lines[n])), len(lines))
    return start, end


def write_hints(path: Path, target: Path, hints: Mapping[str, object]) -> None:
    """Put hints into the engine file `path`, as `target` (the same file, or the workspace's copy of one we ship).

    InputRefused, and no change, when the result would not be read with them.
    """
    text = path.read_text(encoding="utf-8")
    if path != target and "{here}" in text:
        step = f"copy it to {target} with what it needs, and try again"
        raise InputRefused("names files beside it", place=str(path), step=step)
    written = hinted(text, hints)
    number, draft = tempfile.mkstemp(prefix=f".{target.stem}-", suffix=".toml", dir=_made(target.parent))
    try:
        with os.fdopen(number, "w", encoding="utf-8") as out:
            out.write(written)
        if not _holds(written, hints):
            raise InputRefused("its keys are not written line by line", place=str(path), step="add them by hand")
        read_entry(Path(draft))
        Path(draft).chmod(0o644)
        Path(draft).replace(target)
    finally:
        with suppress(FileNotFoundError):
            Path(draft).unlink()


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _holds(text: str, hints: Mapping[str, object]) -> bool:
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    for key, value in hints.items():
        section, _, name = key.rpartition(".")
        there = table.get(section, {}) if section else table
        wanted = list(value) if isinstance(value, tuple) else value
        if not isinstance(there, dict) or there.get(name) != wanted:
            return False
    return True
