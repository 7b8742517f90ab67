"""``engines.json`` of Cute Chess: the engines its users have set up, as engine files of ours.

Keys as written by Cute Chess 1.5.1 (its class EngineConfiguration).
"""

from __future__ import annotations

import json
import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enginetour.engines.enginefile import EngineEntry, override
from enginetour.interop.files import read_whole
from enginetour.model.errors import InputRefused
from enginetour.model.task import OptionValue, Quirks

_LARGEST_FILE = 16_000_000  # bytes; ten thousand engines with all their options
_MOST_ENGINES = 10_000
_ELSEWHERE = {
    "ponder": "ponder: a setting of the entrant in a configuration",
    "debug": "debug: the traffic of abnormal games is kept with their incidents",
    "stderrFile": "stderrFile: stderr is kept with incidents",
    "validateClaims": "validateClaims: claims are always tested on the board",
    "timeoutScaleFactor": "timeoutScaleFactor: set handshake_timeout and ready_timeout under [quirks], in seconds",
}
_USUAL: dict[str, Any] = {"ponder": False, "debug": False, "stderrFile": "", "validateClaims": True}


@dataclass(frozen=True, slots=True)
class ImportedEngine:
    """One engine of the list; `said` is what its file cannot say, by name."""

    entry: EngineEntry
    said: tuple[str, ...] = ()


def read_engines(path: Path) -> tuple[tuple[ImportedEngine, ...], tuple[str, ...]]:
    """The engines in their order, each with an id of its own, and those that are none of ours, a line each.

    InputRefused when the file is no such list.
    """
    try:
        table = json.loads(read_whole(path, _LARGEST_FILE).decode("utf-8-sig"))
    except FileNotFoundError:
        raise InputRefused("no such file, expected engines.json of Cute Chess", place=str(path)) from None
    except (ValueError, RecursionError) as error:
        what = getattr(error, "msg", "too deep")
        line = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise InputRefused(f"not JSON: {what}", place=f"{path}{line}") from None
    except OSError as error:
        raise InputRefused(f"cannot read: {error.strerror or error}", place=str(path)) from None
    if not isinstance(table, list) or len(table) > _MOST_ENGINES:
        raise InputRefused("expected a list of engines, as Cute Chess writes it", place=str(path))
    found: list[ImportedEngine] = []
    skipped: list[str] = []
    taken: set[str] = set()
    for number, row in enumerate(table, 1):
        try:
            found.append(_engine(row, path.resolve().parent, taken))
        except (ValueError, InputRefused) as error:
            skipped.append(f"engine {number}: {error}")
    return tuple(found), tuple(skipped)


def _engine(row: object, base: Path, taken: set[str]) -> ImportedEngine:
    if not isinstance(row, dict):
        raise ValueError("no table")
    name, command = _text(row, "name"), _text(row, "command")
    protocol = {"uci": "uci", "xboard": "cecp"}.get(_text(row, "protocol"))
    if not name or not command:
        raise ValueError(f"{name or 'no name'}: name and command are needed")
    if protocol is None:
        raise ValueError(f"{name}: protocol is uci or xboard, found {row.get('protocol')!r}")
    folder = _text(row, "workingDirectory")
    lines = row.get("initStrings", [])
    quirks = {"whitepov": row.get("whitepov") is True, "restart": row.get("restart") == "on"}
    entry = EngineEntry(
        id=_id(name, taken),
        name=" ".join("".join(sign if sign.isprintable() else " " for sign in name).split())[:100],
        command=_command(command, folder, base),
        protocol=protocol,  # type: ignore[arg-type]  # one of two words, by the table above
        dir=(folder if "\\" in folder else str(base / folder)) if folder else None,
        options=_options(row.get("options", [])),
        quirks=override(Quirks(), {**quirks, "init": [line for line in lines if isinstance(line, str) and line]}, name),
    )
    said = [words for key, words in _ELSEWHERE.items() if key in row and row[key] != _USUAL.get(key, 1)]
    variants = [one for one in row.get("variants", []) if one != "standard"]
    if variants:
        said.append(f"variants: an engine tells them itself, found {', '.join(map(str, variants))[:60]}")
    return ImportedEngine(entry, tuple(said))


def _text(row: dict[str, Any], key: str) -> str:
    value = row.get(key, "")
    if not isinstance(value, str):
        raise ValueError(f"{key} is text, found {value!r}")
    return value.strip()


def _command(command: str, folder: str, base: Path) -> tuple[str, ...]:
    """Program and arguments; a program beside its working folder or the list is named absolutely.

    A backslash is one of a path of Windows, which is left as it is.
    """
    places = [base / folder, base] if folder else [base]
    is_program = any((place / command).is_file() for place in places)
    words = [command] if is_program or "\\" in command else shlex.split(command)
    if "/" in words[0]:
        there = next((place / words[0] for place in places if (place / words[0]).is_file()), base / words[0])
        words[0] = os.path.abspath(there)  # noqa: PTH100 - links stay
    return tuple(words)


def _options(rows: object) -> dict[str, OptionValue]:
    """Those that are not as the engine has them by itself; buttons are not pressed."""
    options: dict[str, OptionValue] = {}
    for row in rows if isinstance(rows, list) else ():
        if not isinstance(row, dict) or row.get("type") == "button" or "value" not in row:
            continue
        name, value = row.get("name"), row["value"]
        if isinstance(name, str) and isinstance(value, str | int | float | bool) and value != row.get("default"):
            options[name] = value
    return options


def _id(name: str, taken: set[str]) -> str:
    slug = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._")[:60] or "engine"
    free, number = slug, 2
    while free in taken:
        free, number = f"{slug}-{number}", number + 1
    taken.add(free)
    return free
