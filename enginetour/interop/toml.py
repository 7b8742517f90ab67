"""Users' TOML files: bounded reading, line of a key, writing.

The standard parser keeps no places, so a second pass over text it has accepted notes the line of every key.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from enginetour.interop.files import read_whole, split_flag
from enginetour.model.errors import InputRefused, suggest

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


# What a validation found, in words for whoever wrote the file: no kind of Python, and all that a key may be.

_LIST = frozenset({"tuple_type", "list_type"})
_KEY = frozenset({"extra_forbidden", "missing", "model_type"})  # findings about keys: never one of two kinds of value
_SHOULD = "input should be "


def _most_telling(errors: Sequence[ErrorDetails]) -> ErrorDetails:
    """The first; of a table that lacks a key and has an unknown one, the unknown: it is the one in other words."""
    first = errors[0]
    table = first["loc"][:-1]
    unknown = (one for one in errors if one["type"] == "extra_forbidden" and one["loc"][:-1] == table)
    return next(unknown, first) if first["type"] == "missing" else first


def _alternatives(
    errors: Sequence[ErrorDetails], first: ErrorDetails, under: _KeyPath, known: Collection[_KeyPath]
) -> tuple[_KeyPath, tuple[ErrorDetails, ...]]:
    """The key that `first` is about, and all findings of what else it may be, where it may be of several kinds.

    pydantic tells one finding a kind, each with the kind's name behind the key; `known` are the keys of the file.
    """
    keys = (*under, *first["loc"])
    written = _written(keys, known)
    values = [one for one in errors if one["type"] not in _KEY]
    same = [one for one in values if _written((*under, *one["loc"]), known)[: len(written)] == written]
    if first["type"] in _KEY or len(written) == len(keys) or len(same) < 2:
        return keys, (first,)
    deepest = max(same, key=lambda one: len(_written((*under, *one["loc"]), known)))
    at = _written((*under, *deepest["loc"]), known)
    return (at, (deepest,)) if len(at) > len(written) else (written, tuple(same))


def _written(keys: _KeyPath, known: Collection[_KeyPath]) -> _KeyPath:
    """The same without names of kinds and validators, which no file has."""
    path: _KeyPath = ()
    for key in keys:
        if (*path, key) in known:
            path = (*path, key)
    return path


def describe_findings(findings: Sequence[ErrorDetails]) -> str:
    """What is allowed, all kinds in one."""
    first, *others = [_allowed(one) for one in findings]
    if not others and findings[0]["type"] in _LIST and isinstance(findings[0]["input"], str):
        return 'write a list: ["..."]'
    return " or ".join([first, *(words.removeprefix(_SHOULD) for words in others)])


def _allowed(finding: ErrorDetails) -> str:
    kind = finding["type"]
    if kind in _LIST:
        return f"{_SHOULD}a list"
    if kind == "dict_type":
        return f"{_SHOULD}a table: {{ name = ... }}"
    if kind == "bool_type":
        return f"{_SHOULD}true or false"
    words = finding["msg"]
    ours = words.removeprefix("Value error, ")  # may begin with a code or a name, which stays as it is
    return ours if ours != words else words[:1].lower() + words[1:]


def _mentions(words: str, found: str) -> bool:
    """Whether the words name what was found already: 0 is not told by "greater than or equal to 50"."""
    return re.search(rf"(?<![\w.]){re.escape(found)}(?![\w.])", words) is not None


def short_repr(value: object) -> str:
    """As Python writes it, at most 60 characters."""
    try:
        found = repr(value)
    except ValueError:  # Python writes no number of more than 4300 digits
        return "a number of thousands of digits"
    return found if len(found) <= 60 else f"{found[:57]}..."


# Hand-written TOML: reading it within bounds, and telling in which line a finding is.

# Written by hand; a megabyte of TOML is another kind of file.
_LARGEST_FILE = 1_000_000
_FEW_KEYS = 8  # of a table, which a refusal can name
_DEEPEST = 32  # keys in each other; the parser's time grows with the square of a dotted key
# Where a key may begin only, so that no letter is looked at twice and words in texts are none.
_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_LONG_KEY = re.compile(rf"(?m:^|[\[{{,])[ \t]*+{_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{_DEEPEST}}}")
_KeyPath = tuple[str | int, ...]
_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'', re.DOTALL)
_SCALAR = re.compile(r"[^,\]}\n#]*")


def read_toml(path: Path, what: str, *, step: str = "", named: bool = False) -> tuple[dict[str, Any], str]:
    """The table and the text of a file of at most 1 MB; InputRefused names file and line.

    `what` is the kind of file with its article, for the message. `named` on the command line, it may be a pipe.
    """
    try:
        text = read_whole(path, _LARGEST_FILE, named=named).decode(
            "utf-8-sig"
        )  # some editors put a byte order mark first
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        if found := _LONG_KEY.search(text):
            line = text.count("\n", 0, found.start()) + 1
            raise InputRefused(f"a key of more than {_DEEPEST} parts", place=f"{path}:{line}")
        table = tomllib.loads(text)
        _refuse_unfit(table, path, text)
        return table, text
    except FileNotFoundError:
        meant = Path(f"{path}.toml")
        step = f"did you mean {meant}?" if meant.is_file() else step
        raise InputRefused(f"no such file, expected {what}", place=str(path), step=step) from None
    except IsADirectoryError:
        raise InputRefused(f"a folder, expected {what}", place=str(path)) from None
    except UnicodeDecodeError:
        raise InputRefused("not UTF-8 text", place=str(path)) from None
    except OSError as error:
        raise InputRefused(f"cannot read: {error.strerror or error}", place=str(path)) from None
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        raise InputRefused(f"not TOML: {error}", place=f"{path}:{line}") from None
    except RecursionError:
        raise InputRefused("not TOML for people: nested too deeply", place=str(path)) from None
    except ValueError:  # Python reads no number of more than 4300 digits
        raise InputRefused("not TOML: a number of thousands of digits", place=str(path)) from None


def _refuse_unfit(value: object, path: Path, text: str, keys: _KeyPath = ()) -> None:
    """InputRefused for what is deeper than any setting, and for whole numbers beyond 64 bits (TOML 1.0, Integer)."""
    if len(keys) > _DEEPEST:
        raise InputRefused("not TOML for people: nested too deeply", place=_place(path, text, keys))
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            _refuse_unfit(inner, path, text, (*keys, key))
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise InputRefused("a whole number beyond 64 bits", place=_place(path, text, keys), step="write it in quotes")


def _place(path: Path, text: str, keys: _KeyPath) -> str:
    line = line_of_key(text, keys)
    return f"{path}:{line}" if line else str(path)


def line_of_key(text: str, keys: Iterable[str | int]) -> int:
    """Line (from 1) of the deepest of `keys` that `text` holds, 0 if none; list items are counted from 0.

    Keys that are not in the text are passed over: pydantic puts names of validators between them.
    """
    lines = _lines(text)
    path: _KeyPath = ()
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
    under: _KeyPath = (),
    meant: Callable[[_KeyPath, Collection[str]], str] = lambda _, __: "",
) -> InputRefused:
    """The first finding of pydantic as one line: place, what was found, what is allowed.

    `meant` is asked for the end of the line first where a key is unknown, with the keys that are known.
    """
    errors = error.errors()
    first = _most_telling(errors)
    keys, found = _alternatives(errors, first, under, _lines(text))
    line = line_of_key(text, keys)
    place = f"{path}:{line}" if line else str(path)
    name = ".".join(str(key) for key in keys if not str(key).startswith("function-"))
    more = f" (and {len(errors) - len(found)} more)" if len(errors) > len(found) else ""
    if first["type"] == "extra_forbidden":
        known = known_keys(model, first["loc"][:-1])
        return InputRefused(
            f"unknown key {name!r}{meant(keys, known) or suggest(str(keys[-1]), known)}{more}", place=place
        )
    if first["type"] == "missing":
        return InputRefused(f"{name} is missing{more}", place=place)
    if first["type"] == "model_type":
        known = known_keys(model, first["loc"])
        of = f" of {', '.join(known)}" if 0 < len(known) <= _FEW_KEYS else ""
        return InputRefused(f"{name}: expected a table{of}, found {short_repr(first['input'])}{more}", place=place)
    words, value = describe_findings(found), found[0]["input"]
    there = "" if isinstance(value, dict) or _mentions(words, short_repr(value)) else f", found {short_repr(value)}"
    return InputRefused(f"{name}: {words}{there}{more}" if name else f"{words}{there}{more}", place=place)


def known_keys(model: type[BaseModel], keys: _KeyPath) -> list[str]:
    """Field names of the model that `keys` lead to, through sections, optional ones and lists."""
    current: type[BaseModel] | None = model
    for key in keys:
        if isinstance(key, int) or current is None:
            continue
        field = current.model_fields.get(key)
        current = _model_in(field.annotation) if field else None
    return list(current.model_fields) if current else []


def _model_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in getattr(annotation, "__args__", ()) if (found := _model_in(part))), None)


@lru_cache(maxsize=8)
def _lines(text: str) -> dict[_KeyPath, int]:
    return _Scan(text).lines


class _Scan:
    """One pass over valid TOML; `lines` maps every path of keys to the line where it first stands."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.counted = (0, 1)  # (offset, line) reached so far: lines are counted once
        self.lines: dict[_KeyPath, int] = {}
        self.items: dict[_KeyPath, int] = {}  # arrays of tables: how many tables so far
        table: _KeyPath = ()
        while self._skip():
            before = self.at
            if self._take("[["):
                table = self._resolve(self._keys(()))
                self.items[table] = self.items.get(table, -1) + 1
                table = self._note((*table, self.items[table]))
                self._take("]]")
            elif self._take("["):
                table = self._note(self._resolve(self._keys(())))
                self._take("]")
            else:
                self._pair(table)
            if self.at == before:
                return  # no TOML after all: what has been noted stands

    def _skip(self) -> bool:
        blank = _BLANK.match(self.text, self.at)
        self.at = blank.end() if blank else self.at
        return self.at < len(self.text)

    def _take(self, sign: str) -> bool:
        self._skip()
        if self.text.startswith(sign, self.at):
            self.at += len(sign)
            return True
        return False

    def _note(self, path: _KeyPath) -> _KeyPath:
        offset, line = self.counted
        line += self.text.count("\n", offset, self.at)
        self.counted = (self.at, line)
        for length in range(1, len(path) + 1):
            self.lines.setdefault(path[:length], line)
        return path

    def _resolve(self, path: _KeyPath) -> _KeyPath:
        """A header's keys with the number of the newest table put in after each array of tables."""
        full: _KeyPath = ()
        for place, key in enumerate(path):
            full = (*full, key)
            if full in self.items and place < len(path) - 1:
                full = (*full, self.items[full])
        return full

    def _keys(self, under: _KeyPath) -> _KeyPath:
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

    def _pair(self, under: _KeyPath) -> None:
        self._skip()
        path = self._keys(under)
        if path != under:
            self._note(path)
        if self._take("="):
            self._skip()
            self._value(path)

    def _value(self, path: _KeyPath) -> None:
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


# A configuration about to be written: settings as a command line gave them, and the TOML that says the same.

_SECTIONS = ("tournament", "format", "play")


@dataclass(frozen=True, slots=True)
class ConfigDraft:
    """Sections by key; a value is what TOML can hold, a mapping becomes an inline table.

    `remarks` stand above everything as comments.
    """

    tournament: Mapping[str, Any]
    format: Mapping[str, Any]
    entrants: tuple[Mapping[str, Any], ...]
    play: Mapping[str, Any] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    def anchored(self, base: Path) -> ConfigDraft:
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


def absolute_if_exists(value: Any, base: Path) -> Any:
    """A net or folder that an option names from `base` by its whole path: engines start in folders of their own."""
    if not isinstance(value, str) or not ("/" in value or "." in value):
        return value
    path = _path(value, base)
    return path if os.path.exists(path) else value  # noqa: PTH110 - also of a text that is too long for a name


def _there(word: str, base: Path) -> str:
    flag, name = split_flag(word)
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


def unique_names(names: Sequence[str]) -> list[str]:
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
