"""One TOML file per engine; hints written back.

`command` is a list (or one word) and may hold ``{python}`` (the running interpreter), ``{here}`` (the folder of the
file), ``{scratch}`` (the process's own folder) and ``{program:NAME}`` (another program, as found on this machine).
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import reprlib
import tempfile
import tomllib
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import MISSING, asdict, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast, get_type_hints

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, create_model, field_validator

from enginetour.interop.toml import describe_findings, read_toml, toml_value, validation_error
from enginetour.model.errors import InputRefused, suggest
from enginetour.model.game import Entrant
from enginetour.model.task import (
    Bounds,
    EngineSpec,
    LimitName,
    Line,
    OptionValue,
    Quirks,
    Resources,
    Sandbox,
    VariableName,
)

# What an engine obeys when its file does not say: all of UCI; `sd` and `nps` only where known (runner spec 8).
USUAL_LIMITS: Mapping[str, frozenset[LimitName]] = {
    "uci": frozenset({"clock", "movetime", "nodes", "depth"}),
    "cecp": frozenset({"clock", "movetime"}),
}
LOST_COMMAND = ("/nonexistent/lost-command",)  # the command of an engine of which a damaged database has none left
LONGEST_NAME = 100  # characters of an engine's name
# The first number of a name that is a version: 17.1 of "Stockfish 17.1 64-bit", 31 of "Lc0 v0.31" (not the 0 of Lc0).
_RELEASE = re.compile(r"(?<![\w.])v?(\d+(?:\.\d+)*[a-z]?)(?![a-z\d]|-bit)", re.IGNORECASE)
_SLUG = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_Table = TypeVar("_Table", bound=Quirks | Resources)
_Word = Annotated[Line, Bounds(min_length=1)]
_FileName = Annotated[str, Bounds(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]


def refuse_equal_options(options: Mapping[str, OptionValue]) -> Mapping[str, OptionValue]:
    """The same; ValueError for two that are one: case does not tell options apart (UCI, "setoption")."""
    known: dict[str, str] = {}
    for name in options:
        if (other := known.setdefault(name.strip().casefold(), name)) != name:
            raise ValueError(f"{other!r} and {name!r} are one option: leave one out")
    return options


@dataclass(frozen=True)
class EngineEntry:
    """An engine of the registry: where its file is, and the keys of an engine file.

    Relative paths and ``{here}`` begin at `folder`, `path` is its file if it has one.
    """

    id: str
    name: Annotated[str, Bounds(min_length=1, max_length=LONGEST_NAME)]
    command: Annotated[tuple[_Word, ...], Bounds(strict=False, min_length=1, max_length=256)]
    protocol: Literal["uci", "cecp"]
    folder: Path = field(default_factory=Path.cwd)
    path: Path | None = None
    dir: _Word | None = None
    env: Mapping[_Word, Line] = field(default_factory=dict)
    version: Line = ""
    author: Line = ""
    family: Line = ""
    origin: Line = ""
    rating: Annotated[float, Bounds(ge=-100_000, le=100_000)] | None = None  # as in a configuration
    package: Annotated[str, Bounds(pattern=r"^[a-z0-9.+ -]*$")] = ""  # for `apt install`, the next step
    options: Mapping[_Word, Line | int | float | bool] = field(default_factory=dict)
    limits: Annotated[frozenset[LimitName], Bounds(strict=False, min_length=1)] | None = None
    files: Mapping[_FileName, str] = field(default_factory=dict)
    max_copies: Annotated[int, Bounds(ge=0, le=1024)] = 0
    sandbox: Sandbox = "none"
    pass_env: Annotated[tuple[VariableName, ...], Bounds(strict=False, max_length=64)] = ()
    keep_scratch: bool = False
    resources: Resources = field(default_factory=Resources)
    quirks: Quirks = field(default_factory=Quirks)

    @property
    def obeyed(self) -> frozenset[LimitName]:
        """The search limits it obeys, the protocol's usual ones when its file does not say."""
        return self.limits if self.limits is not None else USUAL_LIMITS[self.protocol]

    def contradicts(self, reported: str) -> bool:
        """Whether the name and version in the file are those of another release than the name an engine reports."""
        stated = version_in_name(self.name) or version_in_name(self.version)
        if not stated or reported.casefold() == self.name.casefold():
            return False
        found = version_in_name(reported)
        return found != stated if found else any(sign.isdigit() for sign in reported)


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class _EngineFile(_Section):
    args: Annotated[tuple[Line, ...], Bounds(strict=False, max_length=256)] = ()
    _options = field_validator("options", check_fields=False)(refuse_equal_options)

    @field_validator("command", mode="before", check_fields=False)
    @classmethod
    def _one_word(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value

    @field_validator("name", check_fields=False)
    @classmethod
    def _printable(cls, text: str) -> str:
        if not text.isprintable() or text != text.strip():
            raise ValueError("a name is printable text without blanks at its ends")
        return text


class _Stored(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True, allow_inf_nan=False)

    @field_validator("*")
    @classmethod
    def _without_nul(cls, value: object) -> object:
        if _holds_nul(value):
            raise ValueError("holds a null character, which no program can be given")
        return value


class _StoredSpec(_Stored):
    @field_validator("command", check_fields=False)
    @classmethod
    def _program(cls, words: tuple[str, ...]) -> tuple[str, ...]:
        if not words[0].strip():
            raise ValueError("a command begins with a program")
        return words


def _holds_nul(value: object) -> bool:
    return "\0" in value if isinstance(value, str) else isinstance(value, tuple) and any(map(_holds_nul, value))


_TABLES = (Quirks, Resources)  # the dataclasses that are tables of others


@cache
def _model(
    kind: Any, base: type[BaseModel], *, without: Collection[str] = (), required: Collection[str] = ()
) -> type[BaseModel]:
    """A model of pydantic with the fields and bounds of a dataclass; a dataclass among them is a table.

    It is made when it is first asked for: a run between commands reads no engine file.
    """
    hints = get_type_hints(kind, include_extras=True)
    read: dict[str, Any] = {}
    for one in fields(kind):
        hint: Any = hints[one.name]
        if one.name in without:
            continue
        if hint in _TABLES:
            made = AfterValidator(lambda table, hint=hint: hint(**dict(table)))
            read[one.name] = (Annotated[_model(hint, _Section), made], hint())
        elif one.default_factory is not MISSING:
            read[one.name] = (hint, Field(default_factory=one.default_factory))
        else:
            read[one.name] = (hint, ... if one.default is MISSING or one.name in required else one.default)
    return create_model(kind.__name__, __base__=base, **read)


def _spec_model() -> type[BaseModel]:
    """What a database has of an engine.

    Its words are wider than those of an engine file: placeholders are filled in, and older versions wrote it too. A
    field that is not there has its default, but for `limits`, which every version wrote.
    """
    return _model(EngineSpec, _StoredSpec, required=("limits",))


class _StoredEntrant(_Stored):
    model_config = ConfigDict(extra="ignore")
    name: str
    new: bool
    rating: float | None
    family: str
    origin: str


def stored_entrant(row: Mapping[str, object]) -> Entrant:
    """Back from the columns or the JSON of a database; ValueError as below."""
    try:
        return Entrant(**_StoredEntrant.model_validate(dict(row)).model_dump())
    except ValidationError as error:
        raise ValueError(describe_error(error)) from None


def parse_json(text: object) -> Any:
    """What a text of a database holds; ValueError for anything that is not JSON, however deep it is nested."""
    if not isinstance(text, str):
        raise ValueError(f"it is not text (found {reprlib.repr(text)})")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else error
        raise ValueError(f"it is not JSON ({why}; found {reprlib.repr(text)})") from None


def stored_spec(text: object) -> EngineSpec:
    """Back from the JSON of a database; ValueError with one line about the first thing that is wrong."""
    try:
        return EngineSpec(**dict(_spec_model().model_validate(parse_json(text))))
    except ValidationError as error:
        raise ValueError(describe_error(error)) from None


def salvaged_spec(name: str, *sources: object) -> EngineSpec:
    """What is left of a damaged one: each key from the first source in which it is valid, else its default.

    Where no source has a command it is `LOST`, which no machine can run.
    """
    whole: dict[str, Any] = {"name": name, "command": LOST_COMMAND, "protocol": "uci", "limits": ()}
    for key in _spec_model().model_fields:
        for source in sources if key != "name" else ():
            if isinstance(source, Mapping) and key in source and _is_valid({**whole, key: source[key]}):
                whole[key] = source[key]
                break
    whole["limits"] = whole["limits"] or tuple(USUAL_LIMITS["uci"])  # it was entered because it has the one it needs
    return EngineSpec(**dict(_spec_model().model_validate(whole)))


def _is_valid(fields_: Mapping[str, Any]) -> bool:
    try:
        _spec_model().model_validate(fields_)
    except ValidationError:
        return False
    return True


def describe_error(error: ValidationError, *, skip: int = 0) -> str:
    """The first of what a model finds wrong, in one line: the key without its first `skip` parts, and the value."""
    first = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in first["loc"][skip:])
    if first["type"] == "extra_forbidden":
        return f"unknown key {reprlib.repr(key)}"
    words = "not a JSON object" if first["type"] == "model_type" else describe_findings([first])
    found = "" if first["type"] == "missing" else f" (found {reprlib.repr(first['input'])})"
    return f"{key}: {words}{found}" if key else f"{words}{found}"


def version_in_name(name: str) -> str:
    """The version in the name of an engine, "" without one."""
    found = _RELEASE.search(name)
    return found[1].lower() if found else ""


def read_entry(path: Path) -> EngineEntry:
    """An engine file; its id is the file's name. InputRefused names file, line and what is allowed."""
    table, text = read_toml(path, "an engine file")
    model = _model(EngineEntry, _EngineFile, without=("id", "path", "folder"))
    try:
        read = dict(model.model_validate(table))
    except ValidationError as error:
        raise validation_error(error, path, text, model) from None
    command = (*read.pop("command"), *read.pop("args"))
    return EngineEntry(id=path.stem, path=path, folder=path.parent, command=command, **read)


def override(now: _Table, changes: Mapping[str, object], place: str) -> _Table:
    """Quirks or resources with those of a configuration put over them; InputRefused for unknown or impossible ones."""
    if not changes:
        return now
    kind = type(now)
    known, word = asdict(now), kind.__name__.lower()
    for key in changes:
        if key not in known:
            raise InputRefused(f"unknown {word[:-1]} {key!r}{suggest(key, known)}", place=place)
    try:
        return kind(**dict(_model(cast("Any", kind), _Section).model_validate({**known, **changes})))
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(key) for key in (word, *first["loc"]))
        raise InputRefused(f"{name}: {first['msg']}, found {first['input']!r}", place=place) from None


def write_entry(folder: Path, entry: EngineEntry) -> Path:
    """Write ``ID.toml`` whole or not at all; InputRefused when there is such a file already."""
    if not _SLUG.fullmatch(entry.id):
        raise InputRefused(f"{entry.id!r} is no file name: lower-case letters, digits, dot, dash, underscore")
    path = folder / f"{entry.id}.toml"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        number, draft = tempfile.mkstemp(prefix=f".{entry.id}-", suffix=".draft", dir=folder)
        try:
            with os.fdopen(number, "w", encoding="utf-8") as out:
                out.write(entry_text(entry))
                out.flush()
                os.fsync(out.fileno())
            Path(draft).chmod(0o644)
            os.link(draft, path)  # fails where a file is; a rename would replace it
        finally:
            with contextlib.suppress(FileNotFoundError):
                Path(draft).unlink()
    except FileExistsError:
        raise InputRefused("there is an engine file of this name", place=str(path), step="remove it first") from None
    except OSError as error:
        raise InputRefused(f"cannot write: {error.strerror or error}", place=str(path)) from None
    return path


def entry_text(entry: EngineEntry) -> str:
    """The TOML that `read_entry` reads back to the same entry; what has its default is left out."""
    lines = [f"name = {_toml(entry.name)}", f"command = {_toml(entry.command)}", f"protocol = {_toml(entry.protocol)}"]
    for key in (
        "dir",
        "version",
        "author",
        "family",
        "origin",
        "rating",
        "package",
        "max_copies",
        "sandbox",
        "keep_scratch",
    ):
        value = getattr(entry, key)
        if value not in (None, "", 0, "none"):
            lines.append(f"{key} = {_toml(value)}")
    if entry.limits is not None:
        lines.append(f"limits = {_toml(tuple(sorted(entry.limits)))}")
    if entry.pass_env:
        lines.append(f"pass_env = {_toml(entry.pass_env)}")
    tables = {"env": entry.env, "options": entry.options, "files": entry.files}
    for section, table in {**tables, "resources": _odd(entry.resources), "quirks": _odd(entry.quirks)}.items():
        if table:
            lines += ["", f"[{section}]", *(f"{_toml(key)} = {_toml(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def _odd(now: Quirks | Resources) -> dict[str, Any]:
    usual = type(now)()
    return {key: value for key, value in asdict(now).items() if value != getattr(usual, key)}


def _toml(value: object) -> str:
    """A value of an engine file; JSON's strings are TOML's but for DEL."""
    if isinstance(value, tuple | list):
        return f"[{', '.join(_toml(one) for one in value)}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


# What an examination found, written into an engine file: lines are changed or added, everything else stays.

_HEADER = re.compile(r"[ \t]*\[")


def with_hints(text: str, hints: Mapping[str, object]) -> str:
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
    written = with_hints(text, hints)
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
