"""A configuration about to be written: settings as a command line gave them, and the TOML that says the same."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from enginetour.model.task import flag_and_word

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SECTIONS = ("tournament", "format", "play")


@dataclass(frozen=True, slots=True)
class Draft:
    """Sections by key; a value is what TOML can hold, a mapping becomes an inline table.

    `remarks` stand above everything as comments.
    """

    tournament: Mapping[str, Any]
    format: Mapping[str, Any]
    entrants: tuple[Mapping[str, Any], ...]
    play: Mapping[str, Any] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    def without_unknown(self, known: Mapping[str, Collection[str]]) -> tuple[Draft, tuple[str, ...]]:
        """Only keys that the sections of this version have, `play.openings` included; and those that went."""
        gone: list[str] = []

        def kept(section: str, settings: Mapping[str, Any]) -> dict[str, Any]:
            unknown = [key for key in settings if key not in known[section]]
            gone.extend(f"{section}.{key}" for key in unknown if f"{section}.{key}" not in gone)
            return {key: value for key, value in settings.items() if key not in unknown}

        play = kept("play", self.play)
        if isinstance(play.get("openings"), Mapping):
            play["openings"] = kept("openings", play["openings"])
        entrants = tuple(kept("entrants", entrant) for entrant in self.entrants)
        return replace(self, play=play, entrants=entrants), tuple(gone)

    def anchored(self, base: Path) -> Draft:
        """Every path that begins at `base` made absolute: the file may be written to another folder."""
        play = {key: _anchored(key, value, base) for key, value in self.play.items()}
        entrants = tuple(
            {key: _anchored(key, value, base) for key, value in entrant.items()} for entrant in self.entrants
        )
        return replace(self, play=play, entrants=entrants)

    def text(self) -> str:
        """The file; one setting a line, so that a refusal names the setting by its line."""
        lines = [f"# {line}" for line in self.remarks]
        for name in _SECTIONS:
            section: Mapping[str, Any] = getattr(self, name)
            lines += ["", f"[{name}]", *_settings(section)] if section else []
        for entrant in self.entrants:
            lines += ["", "[[entrants]]", *_settings(entrant)]
        return "\n".join(lines).lstrip("\n") + "\n"


def _anchored(key: str, value: Any, base: Path) -> Any:
    if key == "command":
        program, *more = value
        return [_path(program, base) if "/" in program else program, *(_there(word, base) for word in more)]
    if key in ("openings", "own_book") and isinstance(value, Mapping):
        return {name: _path(one, base) if name == "file" else one for name, one in value.items()}
    if key == "tablebases" and isinstance(value, Mapping) and isinstance(value.get("path"), str):
        folders = value["path"].split(os.pathsep)
        return {**value, "path": os.pathsep.join(_path(folder, base) for folder in folders if folder)}
    return _path(value, base) if key == "eco" or (key == "dir" and value != "scratch") else value


def _path(text: str, base: Path) -> str:
    return os.path.abspath(base / Path(text).expanduser())  # noqa: PTH100 - links stay


def found_here(value: Any, base: Path) -> Any:
    """A net or folder that an option names from `base` by its whole path: engines start in folders of their own."""
    if not isinstance(value, str) or not ("/" in value or "." in value):
        return value
    path = _path(value, base)
    return path if os.path.exists(path) else value  # noqa: PTH110 - also of a text that is too long for a name


def _there(word: str, base: Path) -> str:
    """A script or net among arguments."""
    flag, name = flag_and_word(word)
    named = not name.startswith("-") and ("/" in name or "." in name)
    return f"{flag}{_path(name, base)}" if named and (base / name).is_file() else word


def _settings(section: Mapping[str, Any]) -> list[str]:
    return [f"{_key(key)} = {toml_value(value)}" for key, value in section.items()]


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else toml_value(key)


def toml_value(value: object) -> str:
    """A value as TOML writes it; JSON's strings are TOML's but for DEL."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(str(key))} = {toml_value(one)}' for key, one in value.items())} }}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(toml_value(one) for one in value)}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def read_value(text: str) -> str | int | float | bool:
    """A setting as typed: a number or true and false where it reads as one, else text."""
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"[+-]?\d{1,18}", text):
        return int(text)
    if re.fullmatch(r"[+-]?\d{0,18}\.\d{1,18}", text):  # .05 too
        return float(text)
    return text


def read_option(text: str) -> str | int | float | bool:
    """An engine's option as typed: text too where the number would be sent in other digits (007, 1.50)."""
    value = read_value(text)
    return value if isinstance(value, bool) or str(value) == text else text


def told_apart(names: Sequence[str]) -> list[str]:
    """The same names, of equal ones the later with a number behind them."""
    taken: set[str] = set()
    apart: list[str] = []
    for name in names:
        free, number = name, 2
        while free in taken:
            free, number = f"{name} ({number})", number + 1
        taken.add(free)
        apart.append(free)
    return apart
