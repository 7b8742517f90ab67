"""Engine files: read and write one TOML file per engine, and add hints of compliance checks.

`command` is a list (or one word) and may contain ``{python}`` (the running Python interpreter), ``{here}`` (the
directory of the file), ``{scratch}`` (the scratch directory of the process) and ``{program:NAME}`` (the path of another
program on this machine).
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
from typing import Annotated, Any, Literal, TypeVar, cast, get_args, get_type_hints

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, create_model, field_validator

from enginetour.interop.toml import read_toml, toml_value, validation_error
from enginetour.model.errors import InputRefused, storage_failure, suggest
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
from enginetour.model.validation import plain_error

# Search limits that an engine supports if its file does not list limits. For CECP, `sd` and `nps` are not among them,
# because not every engine supports these commands (runner spec 8).
USUAL_LIMITS: Mapping[str, frozenset[LimitName]] = {
    "uci": frozenset({"clock", "movetime", "nodes", "depth"}),
    "cecp": frozenset({"clock", "movetime"}),
}
LOST_COMMAND = ("/nonexistent/lost-command",)  # command of an engine whose command was lost in a damaged database
LONGEST_NAME = 100  # maximum number of characters in the name of an engine
# The first number of a name that is a version: 17.1 in "Stockfish 17.1 64-bit", 31 in "Lc0 v0.31" (not the 0 of Lc0).
_RELEASE = re.compile(r"(?<![\w.])v?(\d+(?:\.\d+)*[a-z]?)(?![a-z\d]|-bit)", re.IGNORECASE)
_SLUG = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_Table = TypeVar("_Table", bound=Quirks | Resources)
_Word = Annotated[Line, Bounds(min_length=1)]
_FileName = Annotated[str, Bounds(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]


def refuse_equal_options(options: Mapping[str, OptionValue]) -> Mapping[str, OptionValue]:
    """Return the options. Raise ValueError if two names differ only in case, because UCI ignores case."""
    known: dict[str, str] = {}
    for name in options:
        if (other := known.setdefault(name.strip().casefold(), name)) != name:
            raise ValueError(f"{other!r} and {name!r} are the same option; remove one of them")
    return options


def refuse_unusable_variables(variables: Mapping[str, str]) -> Mapping[str, str]:
    """Return environment variables. Raise ValueError for a name with which no process can be started."""
    for name in variables:
        if not name or "=" in name:
            raise ValueError(f"the name of a variable must not be empty or contain '=' (found {name!r})")
    return variables


@dataclass(frozen=True)
class EngineEntry:
    """An engine of the registry: the keys of its engine file, and the place of the file.

    `folder` replaces ``{here}`` and is the base of relative paths. `path` is the engine file, or None without a file.
    """

    id: str
    name: Annotated[str, Bounds(min_length=1, max_length=LONGEST_NAME), "Name of the engine in tables and reports."]
    command: Annotated[
        tuple[_Word, ...],
        Bounds(strict=False, min_length=1, max_length=256),
        "Program and arguments, as a list or one word. The program is a name in PATH, "
        "or a path relative to the directory of the engine file.",
    ]
    protocol: Annotated[Literal["uci", "cecp"], 'Protocol of the engine: "uci", or "cecp" (WinBoard protocol 1 and 2).']
    folder: Path = field(default_factory=Path.cwd)
    path: Path | None = None
    dir: Annotated[
        _Word | None,
        'Working directory; "scratch" is a temporary directory. '
        'Default: the directory of the program if it is writable, else "scratch".',
    ] = None
    env: Annotated[Mapping[_Word, Line], "Environment variables of the engine."] = field(default_factory=dict)
    version: Annotated[Line, "Version of the engine, for tables."] = ""
    author: Annotated[Line, "Author of the engine, for tables."] = ""
    family: Annotated[Line, "Family of related engines, for formats that keep relatives apart."] = ""
    origin: Annotated[Line, "Country or team of the engine, for formats that keep relatives apart."] = ""
    rating: Annotated[
        Annotated[float, Bounds(ge=-100_000, le=100_000)] | None,
        "Rating of entrants that do not set one, on the rating scale of the tournament. Default: none.",
    ] = None
    package: Annotated[
        str, Bounds(pattern=r"^[a-z0-9.+ -]*$"), "Packages to install with `apt install` if the program is missing."
    ] = ""
    options: Annotated[
        Mapping[_Word, Line | int | float | bool], "UCI or CECP options, sent at every start of the engine."
    ] = field(default_factory=dict)
    limits: Annotated[
        Annotated[frozenset[LimitName], Bounds(strict=False, min_length=1)] | None,
        "Search limits that the engine supports. Default: all for UCI; clock and movetime for CECP.",
    ] = None
    files: Annotated[
        Mapping[_FileName, str], "Files that are written into the engine's scratch directory at its start."
    ] = field(default_factory=dict)
    max_copies: Annotated[
        int, Bounds(ge=0, le=1024), "Largest number of copies of the engine that run at the same time; 0: no limit."
    ] = 0
    sandbox: Annotated[Sandbox, 'Sandbox of the engine: "bwrap", "landlock" or "none".'] = "none"
    pass_env: Annotated[
        tuple[VariableName, ...],
        Bounds(strict=False, max_length=64),
        "Names of environment variables that the engine gets in addition to PATH, HOME, TMPDIR and LANG.",
    ] = ()
    keep_scratch: Annotated[bool, "Whether to keep the engine's scratch directory after the engine ends."] = False
    resources: Annotated[Resources, "Limits of the engine's processes."] = field(default_factory=Resources)
    quirks: Annotated[Quirks, "How the engine differs from its protocol."] = field(default_factory=Quirks)

    @property
    def supported_limits(self) -> frozenset[LimitName]:
        """The search limits that the engine supports: the limits in its file, or the usual limits of its protocol."""
        return self.limits if self.limits is not None else USUAL_LIMITS[self.protocol]

    def contradicts(self, reported: str) -> bool:
        """Return whether the release in the file differs from the release in the name that the engine reports."""
        stated = version_in_name(self.name) or version_in_name(self.version)
        if not stated or reported.casefold() == self.name.casefold():
            return False
        found = version_in_name(reported)
        return found != stated if found else any(char.isdigit() for char in reported)


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class _EngineFile(_Section):
    args: Annotated[tuple[Line, ...], Bounds(strict=False, max_length=256)] = Field(
        default=(), description="Further arguments, appended to `command`."
    )
    _options = field_validator("options", check_fields=False)(refuse_equal_options)
    _env = field_validator("env", check_fields=False)(refuse_unusable_variables)

    @field_validator("command", mode="before", check_fields=False)
    @classmethod
    def _one_word(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value

    @field_validator("name", check_fields=False)
    @classmethod
    def _printable(cls, text: str) -> str:
        if not text.isprintable() or text != text.strip():
            raise ValueError("a name must be printable text without spaces at the beginning or end")
        return text


class _Stored(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True, allow_inf_nan=False)

    @field_validator("*")
    @classmethod
    def _without_nul(cls, value: object) -> object:
        if _holds_nul(value):
            raise ValueError("contains a null character")
        return value


class _StoredSpec(_Stored):
    @field_validator("command", check_fields=False)
    @classmethod
    def _program(cls, words: tuple[str, ...]) -> tuple[str, ...]:
        if not words[0].strip():
            raise ValueError("a command must begin with a program")
        return words


def _holds_nul(value: object) -> bool:
    return "\0" in value if isinstance(value, str) else isinstance(value, tuple) and any(map(_holds_nul, value))


_TABLES = (Quirks, Resources)  # dataclasses whose values are tables within other tables


@cache
def _model(
    kind: Any, base: type[BaseModel], *, without: Collection[str] = (), required: Collection[str] = ()
) -> type[BaseModel]:
    """Return a pydantic model with the fields, bounds and descriptions of the dataclass `kind`.

    Nested dataclasses are tables. The model is created on first use, because most commands do not read engine files.

    Args:
        kind: the dataclass.
        base: base class of the model.
        without: fields that the model does not have.
        required: fields that must be given although the dataclass has a default.
    """
    hints = get_type_hints(kind, include_extras=True)
    read: dict[str, Any] = {}
    for one in fields(kind):
        hint: Any = hints[one.name]
        if one.name in without:
            continue
        text = next((each for each in getattr(hint, "__metadata__", ()) if isinstance(each, str)), None)
        table = next((each for each in _TABLES if each in (hint, *get_args(hint)[:1])), None)
        if table is not None:
            made = AfterValidator(lambda values, table=table: table(**dict(values)))
            read[one.name] = (Annotated[_model(table, _Section), made], Field(default=table(), description=text))
        elif one.default_factory is not MISSING:
            read[one.name] = (hint, Field(default_factory=one.default_factory, description=text))
        else:
            default = ... if one.default is MISSING or one.name in required else one.default
            read[one.name] = (hint, Field(default=default, description=text))
    return create_model(kind.__name__, __base__=base, **read)


def _spec_model() -> type[BaseModel]:
    """Return the model of an engine in a database.

    Its bounds are wider than the bounds of an engine file, because placeholders have been replaced, and because the
    engine may have been stored by an older version. A missing field gets its default, but `limits` must be there,
    because all versions store it.
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
    """Return the entrant from the columns or the JSON of a database. Raise ValueError if they are not valid."""
    try:
        return Entrant(**_StoredEntrant.model_validate(dict(row)).model_dump())
    except ValidationError as error:
        raise ValueError(plain_error(error, table="a JSON object")) from None


def stored_json(text: object) -> Any:
    """Return the value of a JSON text from a database. Raise ValueError if it is not valid or is nested too deeply."""
    if not isinstance(text, str):
        raise ValueError(f"it is not text (found {reprlib.repr(text)})")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else error
        raise ValueError(f"it is not JSON ({why}; found {reprlib.repr(text)})") from None


def stored_spec(text: object) -> EngineSpec:
    """Return the engine from the JSON of a database. Raise ValueError with a line about the first error in it."""
    try:
        return EngineSpec(**dict(_spec_model().model_validate(stored_json(text))))
    except ValidationError as error:
        raise ValueError(plain_error(error, table="a JSON object")) from None


def salvaged_spec(name: str, *sources: object) -> EngineSpec:
    """Return a damaged engine, with each key from the first of the `sources` in which it is valid, or its default.

    If no source has a valid command, the command is `LOST_COMMAND`, which no machine can run.
    """
    whole: dict[str, Any] = {"name": name, "command": LOST_COMMAND, "protocol": "uci", "limits": ()}
    for key in _spec_model().model_fields:
        for source in sources if key != "name" else ():
            if isinstance(source, Mapping) and key in source and _is_valid({**whole, key: source[key]}):
                whole[key] = source[key]
                break
    # the engine supports the search limit of its tournament, which is not known here, so it gets all limits
    whole["limits"] = whole["limits"] or tuple(USUAL_LIMITS["uci"])
    return EngineSpec(**dict(_spec_model().model_validate(whole)))


def _is_valid(fields_: Mapping[str, Any]) -> bool:
    try:
        _spec_model().model_validate(fields_)
    except ValidationError:
        return False
    return True


def version_in_name(name: str) -> str:
    """Return the version in the name of an engine, or "" if the name does not contain a version."""
    found = _RELEASE.search(name)
    return found[1].lower() if found else ""


def file_model() -> type[BaseModel]:
    """Return the pydantic model of an engine file; its fields are the keys and their descriptions."""
    return _model(EngineEntry, _EngineFile, without=("id", "path", "folder"))


def read_entry(path: Path) -> EngineEntry:
    """Read an engine file. The id of the engine is the name of the file.

    Raise InputRefused, with the file, the line and the allowed values, if the file is not valid.
    """
    table, text = read_toml(path, "an engine file")
    model = file_model()
    try:
        read = dict(model.model_validate(table))
    except ValidationError as error:
        raise validation_error(error, path, text, model) from None
    command = (*read.pop("command"), *read.pop("args"))
    return EngineEntry(id=path.stem, path=path, folder=path.parent, command=command, **read)


def override(now: _Table, changes: Mapping[str, object], place: str) -> _Table:
    """Return the quirks or resources `now` with the `changes` of a configuration.

    Raise InputRefused, which names `place`, for unknown keys and invalid values.
    """
    if not changes:
        return now
    kind = type(now)
    known, word = asdict(now), kind.__name__.lower()
    for key in changes:
        if key not in known:
            raise InputRefused(f"unknown {word[:-1]} {key!r}{suggest(key, known)}", place=place)
    model = _model(cast("Any", kind), _Section)
    try:
        return kind(**dict(model.model_validate({**known, **changes})))
    except ValidationError as error:
        raise InputRefused(plain_error(error, model, changes, under=(word,)), place=place) from None


def write_entry(folder: Path, entry: EngineEntry) -> Path:
    """Write the engine file ``ID.toml``, completely or not at all. Raise InputRefused if it already exists."""
    if not _SLUG.fullmatch(entry.id):
        step = "use lower-case letters, digits, dots, dashes and underscores"
        raise InputRefused(f"{entry.id!r} is not a valid engine id", step=step)
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
            os.link(draft, path)  # fails if the file exists, while a rename would replace it
        finally:
            with contextlib.suppress(FileNotFoundError):
                Path(draft).unlink()
    except FileExistsError:
        raise InputRefused("engine file already exists", place=str(path), step="choose another id") from None
    except OSError as error:
        raise storage_failure(error, path, "cannot be written") from None
    return path


def entry_text(entry: EngineEntry) -> str:
    """Return the TOML text of an engine file for `entry`, without keys that have their default."""
    lines = [f"{key} = {toml_value(getattr(entry, key))}" for key in ("name", "command", "protocol")]
    names = "dir version author family origin rating package max_copies sandbox keep_scratch"
    keys = {name: getattr(entry, name) for name in names.split()}
    keys |= {"limits": sorted(entry.limits or ()), "pass_env": entry.pass_env}
    lines += [f"{key} = {toml_value(one)}" for key, one in keys.items() if one not in (None, "", 0, "none", [], ())]
    tables = {"env": entry.env, "options": entry.options, "files": entry.files}
    tables |= {"resources": _changed_keys(entry.resources), "quirks": _changed_keys(entry.quirks)}
    for section, table in tables.items():
        if table:
            lines += ["", f"[{section}]", *(f"{toml_value(key)} = {toml_value(one)}" for key, one in table.items())]
    return "\n".join(lines) + "\n"


def _changed_keys(now: Quirks | Resources) -> dict[str, Any]:
    usual = type(now)()
    return {key: value for key, value in asdict(now).items() if value != getattr(usual, key)}


# Write the hints of compliance checks into an engine file: change or add their lines, and keep all other text.

_HEADER = re.compile(r"[ \t]*\[")


def with_hints(text: str, hints: Mapping[str, object]) -> str:
    """Return the text of an engine file with the hints added. A key ``quirks.NAME`` is written under [quirks]."""
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
    """Return the numbers of the first line of a section and of the line after it, or -1 and -1 if there is none."""
    start = 0
    if name:
        header = rf"[ \t]*\[[ \t]*{re.escape(name)}[ \t]*\][ \t]*(?:#.*)?"
        start = next((n + 1 for n, line in enumerate(lines) if re.fullmatch(header, line)), -1)
    if start < 0:
        return -1, -1
    end = next((n for n in range(start, len(lines)) if _HEADER.match(lines[n])), len(lines))
    return start, end


def write_hints(path: Path, target: Path, hints: Mapping[str, object]) -> None:
    """Add hints to the engine file `path`, and write the result to `target`.

    `target` is the same file, or the copy of a bundled file in the workspace. Raise InputRefused, without a change, if
    the hints cannot be added.
    """
    text = path.read_text(encoding="utf-8")
    if path != target and "{here}" in text:
        step = f"copy the engine file and these files to {target.parent}, then try again"
        raise InputRefused("the engine file refers to files in its own directory", place=str(path), step=step)
    written = with_hints(text, hints)
    target.parent.mkdir(parents=True, exist_ok=True)
    number, draft = tempfile.mkstemp(prefix=f".{target.stem}-", suffix=".toml", dir=target.parent)
    try:
        with os.fdopen(number, "w", encoding="utf-8") as out:
            out.write(written)
        if not _holds(written, hints):
            raise InputRefused("the file has several keys on one line", place=str(path), step="add the hints by hand")
        read_entry(Path(draft))
        Path(draft).chmod(0o644)
        Path(draft).replace(target)
    finally:
        with suppress(FileNotFoundError):
            Path(draft).unlink()


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
