"""TOML files of users: reading with limits, lines of keys, and writing.

The standard parser does not report lines, so a second pass over valid text finds the line of every key.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enginetour.interop.files import read_whole, split_flag
from enginetour.model.errors import InputRefused
from enginetour.model.validation import KeyPath, Meant, dotted, first_error, short_repr

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError


# Reading TOML files of users within limits, and finding the line of an error.

# Bytes; files written by hand are far smaller.
_LARGEST_FILE = 1_000_000
_DEEPEST = 32  # nested keys; the parser's time increases with the square of the number of parts of a dotted key
# Matches only where a key may begin, so that every character is read once and text in strings is not matched.
_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_LONG_KEY = re.compile(rf"(?m:^|[\[{{,])[ \t]*+{_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{_DEEPEST}}}")
_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'', re.DOTALL)
_SCALAR = re.compile(r"[^,\]}\n#]*")


def read_toml(path: Path, what: str, *, step: str = "", named: bool = False) -> tuple[dict[str, Any], str]:
    """Return table and text of a file of at most 1 MB; errors name file and line.

    `what` is the kind of file with its article, for errors. If `named`, the user gave the file on the command line, and
    it may be a pipe.
    """
    try:
        content = read_whole(path, _LARGEST_FILE, named=named)
        text = content.decode("utf-8-sig")  # some editors write a byte order mark
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        if found := _LONG_KEY.search(text):
            line = text.count("\n", 0, found.start()) + 1
            raise InputRefused(f"a key has more than {_DEEPEST} parts", place=f"{path}:{line}")
        table = tomllib.loads(text)
        _check_values(table, path, text)
        return table, text
    except FileNotFoundError:
        meant = Path(f"{path}.toml")
        step = f"use {meant}" if meant.is_file() else step
        raise InputRefused(f"file not found, expected {what}", place=str(path), step=step) from None
    except IsADirectoryError:
        raise InputRefused(f"found a directory, expected {what}", place=str(path)) from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        problem = f"the text is not UTF-8 (found byte 0x{content[error.start]:02x})"
        raise InputRefused(problem, place=f"{path}:{line}", step="save the file as UTF-8") from None
    except OSError as error:
        raise InputRefused(f"cannot be read: {error.strerror or error}", place=str(path)) from None
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(str(error), path, text) from None
    except RecursionError:
        raise InputRefused("not valid TOML: nested too deeply", place=str(path)) from None
    except ValueError:  # Python does not convert numbers of more than 4,300 digits
        raise InputRefused("not valid TOML: a number has more than 4300 digits", place=str(path)) from None


def _syntax_error(error: str, path: Path, text: str) -> InputRefused:
    found = re.search(r" \(at line (\d+), (column \d+)\)$", error)
    line = int(found[1]) if found else text.count("\n") + 1
    what = f"{error[: found.start()]} in {found[2]}" if found else error
    if error.startswith(("Cannot ", "Duplicate ")) and (twice := _Scan(text).twice):
        keys, first, line = twice
        what = f"{dotted(keys)} is written twice, first in line {first}. Hint: remove one of the two"
    return InputRefused(f"not valid TOML: {what}", place=f"{path}:{line}")


def _check_values(value: object, path: Path, text: str, keys: KeyPath = ()) -> None:
    """Raise InputRefused for very deep nesting, for integers of more than 64 bits (TOML 1.0), and for null characters.

    The operating system does not accept null characters in paths, arguments and environments, only in content of files.
    """
    if len(keys) > _DEEPEST:
        raise InputRefused("not valid TOML: nested too deeply", place=place_of_key(path, text, keys))
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            _check_values(inner, path, text, (*keys, key))
    elif isinstance(value, str) and "\0" in value and "files" not in keys:
        what = f"{dotted(keys)}: contains a null character (found {short_repr(value)})"
        raise InputRefused(what, place=place_of_key(path, text, keys))
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        limit = f"at most {2**63 - 1}" if value > 0 else f"at least {-(2**63)}"
        what = f"{dotted(keys)}: must be {limit} (found {short_repr(value)})"
        step = "write it in quotes" if "options" in keys else ""
        raise InputRefused(what, place=place_of_key(path, text, keys), step=step)


def place_of_key(path: Path, text: str, keys: Iterable[str | int]) -> str:
    """Return ``file:line`` of a key for messages, or only the file if none of `keys` is in its text."""
    line = line_of_key(text, keys)
    return f"{path}:{line}" if line else str(path)


def line_of_key(text: str, keys: Iterable[str | int]) -> int:
    """Return the line (from 1) of the deepest of `keys` in `text`, or 0 if there is none; list items count from 0.

    Keys that are not in the text are ignored, because pydantic adds names of validators.
    """
    lines = _lines(text)
    path: KeyPath = ()
    for key in keys:
        if (*path, key) in lines:
            path = (*path, key)
    return lines.get(path, 0)


def validation_error(
    error: ValidationError,
    path: Path,
    text: str,
    model: type[BaseModel],
    *,
    under: KeyPath = (),
    meant: Meant = lambda _, __: "",
) -> InputRefused:
    """Convert the first validation error to one line: the place, the value found, and the allowed values.

    `meant` may return the end of the line for an unknown key, given the key and the known keys.
    """
    keys, text_ = first_error(error.errors(include_url=False), model, _lines(text), under=under, meant=meant)
    return InputRefused(text_, place=place_of_key(path, text, keys))


@lru_cache(maxsize=8)
def _lines(text: str) -> dict[KeyPath, int]:
    return _Scan(text).lines


class _Scan:
    """Scan valid TOML once; `lines` maps every path of keys to its first line.

    `twice` is the first key that is written twice, which is not valid TOML, with both lines; None without one.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.counted = (0, 1)  # (offset, line) of the last position, so that lines are counted once
        self.lines: dict[KeyPath, int] = {}
        self.items: dict[KeyPath, int] = {}  # arrays of tables: number of tables so far
        self.twice: tuple[KeyPath, int, int] | None = None
        self._values: set[KeyPath] = set()  # keys with a value
        self._tables: set[KeyPath] = set()  # keys with a header, or with inner keys outside of a header
        table: KeyPath = ()
        while self._skip():
            before = self.at
            if self._take("[["):
                table = self._resolve(self._keys(()))
                self._once(table, table in self._tables)
                self.items[table] = self.items.get(table, -1) + 1
                table = self._note((*table, self.items[table]))
                self._take("]]")
            elif self._take("["):
                table = self._resolve(self._keys(()))
                self._once(table, table in self._tables or table in self.items)
                self._tables.add(self._note(table))
                self._take("]")
            else:
                self._pair(table)
            if self.at == before:
                return  # not valid TOML: keep the lines found so far

    def _skip(self) -> bool:
        blank = _BLANK.match(self.text, self.at)
        self.at = blank.end() if blank else self.at
        return self.at < len(self.text)

    def _take(self, token: str) -> bool:
        self._skip()
        if self.text.startswith(token, self.at):
            self.at += len(token)
            return True
        return False

    def _note(self, path: KeyPath) -> KeyPath:
        offset, line = self.counted
        line += self.text.count("\n", offset, self.at)
        self.counted = (self.at, line)
        for length in range(1, len(path) + 1):
            self.lines.setdefault(path[:length], line)
        return path

    def _once(self, path: KeyPath, known: bool, outer: int = 0) -> None:  # noqa: FBT001
        """Keep the path if it is `known`, or if a part of it longer than `outer` has a value already."""
        values = (path[:length] for length in range(outer + 1, len(path) + 1))
        found = next((part for part in values if part in self._values), path if known else None)
        if found is not None and self.twice is None:
            line = self.counted[1] + self.text.count("\n", self.counted[0], self.at)
            self.twice = found, self.lines[found], line

    def _resolve(self, path: KeyPath) -> KeyPath:
        """Return the keys of a header with the number of the newest table after each array of tables."""
        full: KeyPath = ()
        for place, key in enumerate(path):
            full = (*full, key)
            if full in self.items and place < len(path) - 1:
                full = (*full, self.items[full])
        return full

    def _keys(self, under: KeyPath) -> KeyPath:
        path = under
        while self._skip():
            found = _BARE.match(self.text, self.at) or _STRING.match(self.text, self.at)
            if found is None:
                break
            key = found[0]
            if key[0] in "\"'":
                key = str(tomllib.loads(f"key = {key}")["key"])
            path = (*path, key)
            self.at = found.end()
            if not self._take("."):
                break
        return path

    def _pair(self, under: KeyPath) -> None:
        self._skip()
        path = self._keys(under)
        if path != under:
            self._once(path, path in self._tables, len(under))
            self._tables.update(path[:length] for length in range(len(under) + 1, len(path)))
            self._values.add(self._note(path))
        if self._take("="):
            self._skip()
            self._value(path)

    def _value(self, path: KeyPath) -> None:
        if self._take("["):
            number = 0
            while self._skip() and not self._take("]"):
                before = self.at
                self._value(self._note((*path, number)))
                self._take(",")
                number += 1
                if self.at == before:
                    return
        elif self._take("{"):
            while self._skip() and not self._take("}"):
                before = self.at
                self._pair(path)
                self._take(",")
                if self.at == before:
                    return
        else:
            found = _STRING.match(self.text, self.at) or _SCALAR.match(self.text, self.at)
            self.at = found.end() if found else self.at


# A configuration to write: settings of a command line as TOML.

_SECTIONS = ("tournament", "format", "play")


@dataclass(frozen=True, slots=True)
class ConfigDraft:
    """Sections of a configuration by key; values are TOML values, and mappings become inline tables.

    `remarks` are comments at the top of the file. `more` are the other sections, such as ``ratings``.
    """

    tournament: Mapping[str, Any]
    format: Mapping[str, Any]
    entrants: tuple[Mapping[str, Any], ...]
    play: Mapping[str, Any] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    more: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def anchored(self, base: Path) -> ConfigDraft:
        """Return the draft with absolute paths instead of paths relative to `base`, for a file in another directory."""

        def anchored(section: Mapping[str, Any]) -> dict[str, Any]:
            return {key: _anchored(key, value, base) for key, value in section.items()}

        more = {name: anchored(section) for name, section in self.more.items()}
        return replace(self, play=anchored(self.play), entrants=tuple(map(anchored, self.entrants)), more=more)

    def text(self) -> str:
        """Return the text of the file, one setting per line, so that errors can name its line."""
        lines = [f"# {line}" for line in self.remarks]
        sections: dict[str, Mapping[str, Any]] = {name: getattr(self, name) for name in _SECTIONS}
        for name, section in {**sections, **self.more}.items():
            lines += ["", f"[{name}]", *_settings(section)] if section else []
        for entrant in self.entrants:
            lines += ["", "[[entrants]]", *_settings(entrant)]
        return "\n".join(lines).lstrip("\n") + "\n"


def _anchored(key: str, value: Any, base: Path) -> Any:
    if key == "command" and value:
        program, *more = value
        return [_path(program, base) if "/" in program else program, *(_there(word, base) for word in more)]
    if key in ("openings", "own_book") and isinstance(value, Mapping):
        return {name: _path(one, base) if name == "file" else one for name, one in value.items()}
    if key == "tablebases" and isinstance(value, Mapping) and "path" in value:
        return {**value, "path": _anchored_folders(value["path"], base)}
    is_path = key in ("eco", "own_book") or (key == "dir" and value != "scratch")
    return _path(value, base) if is_path and isinstance(value, str) else value


def _anchored_folders(folders: Any, base: Path) -> Any:
    """Return directories in the form in which they are given: a list, or separated as in PATH."""
    if isinstance(folders, str):
        return os.pathsep.join(_path(folder, base) for folder in folders.split(os.pathsep) if folder)
    return [_path(folder, base) for folder in folders] if isinstance(folders, list) else folders


def _path(text: str, base: Path) -> str:
    return os.path.abspath(base / Path(text).expanduser())  # noqa: PTH100 - links stay


def absolute_if_exists(value: Any, base: Path) -> Any:
    """Return the absolute path of a file or directory that an option names relative to `base`.

    It must be absolute because engines start in their own directories. Other values are returned unchanged.
    """
    if not isinstance(value, str) or not ("/" in value or "." in value):
        return value
    path = _path(value, base)
    return path if os.path.exists(path) else value  # noqa: PTH110 - also for text too long for a file name


def _there(word: str, base: Path) -> str:
    flag, name = split_flag(word)
    named = not name.startswith("-") and ("/" in name or "." in name)
    return f"{flag}{_path(name, base)}" if named and (base / name).is_file() else word


def _settings(section: Mapping[str, Any]) -> list[str]:
    return [f"{_key(key)} = {toml_value(value)}" for key, value in section.items()]


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else toml_value(key)


def toml_value(value: object) -> str:
    """Return a value in TOML notation; strings are written as in JSON, except for the character DEL."""
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_key(str(key))} = {toml_value(one)}" for key, one in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(toml_value(one) for one in value)}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def read_value(text: str) -> str | int | float | bool:
    """Convert a setting that the user typed: to a number or truth value if it has this form, otherwise to text."""
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"[+-]?\d{1,18}", text):
        return int(text)
    if re.fullmatch(r"[+-]?\d{0,18}\.\d{1,18}", text):  # .05 too
        return float(text)
    return text


def read_option(text: str) -> str | int | float | bool:
    """Convert an engine option that the user typed; a number that would be sent with other digits (007) stays text."""
    value = read_value(text)
    return value if isinstance(value, bool) or str(value) == text else text


def unique_names(names: Sequence[str]) -> list[str]:
    """Return the names; each later occurrence of the same name gets a number."""
    taken: set[str] = set()
    apart: list[str] = []
    for name in names:
        free, number = name, 2
        while free in taken:
            free, number = f"{name} ({number})", number + 1
        taken.add(free)
        apart.append(free)
    return apart
