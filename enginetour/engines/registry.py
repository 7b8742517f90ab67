"""Engines by id, search for engines on this machine, and import of engines.json from Cute Chess."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from enginetour.engines.enginefile import LONGEST_NAME, EngineEntry, override, read_entry, version_in_name
from enginetour.engines.sandbox import explain_not_runnable
from enginetour.interop.files import bundled_directory, one_line, parse_json, read_whole, split_flag
from enginetour.model.errors import EngineRefused, InputRefused, did_you_mean
from enginetour.model.task import EngineSpec, OptionValue, Quirks

_LARGEST_FILE = 16_000_000  # bytes; ten thousand engines with all their options
_MOST_ENGINES = 10_000
_ELSEWHERE = {
    "ponder": "ponder is not imported; set it for the entrant in the configuration",
    "debug": "debug is not needed, because the engine log of an abnormal game is stored with its incident",
    "stderrFile": "stderrFile is not needed, because stderr is stored with incidents",
    "validateClaims": "validateClaims is not needed, because claims are always checked on the board",
    "timeoutScaleFactor": "timeoutScaleFactor is not imported; set handshake_timeout and ready_timeout in seconds "
    "under [quirks]",
}
_USUAL: dict[str, Any] = {"ponder": False, "debug": False, "stderrFile": "", "validateClaims": True}


@dataclass(frozen=True, slots=True)
class ImportedEngine:
    """One engine of the list; `notes` list its settings that cannot be set in an engine file."""

    entry: EngineEntry
    notes: tuple[str, ...] = ()


def read_engines(path: Path) -> tuple[tuple[ImportedEngine, ...], tuple[str, ...]]:
    """Read an engine list of Cute Chess; return its engines with unique ids, and an error for each unreadable engine.

    Raises InputRefused if the file is not such a list.
    """
    try:
        content = read_whole(path, _LARGEST_FILE)
    except FileNotFoundError:
        raise InputRefused(
            "file not found", place=str(path), step="give the path of the file engines.json of Cute Chess"
        ) from None
    except OSError as error:
        raise InputRefused(f"cannot be read: {error.strerror or error}", place=str(path)) from None
    table = parse_json(content, str(path))
    if not isinstance(table, list) or len(table) > _MOST_ENGINES:
        raise InputRefused("is not an engine list of Cute Chess", place=str(path))
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
        raise ValueError("is not a JSON object")
    name, command = _text(row, "name"), _text(row, "command")
    protocol = {"uci": "uci", "xboard": "cecp"}.get(_text(row, "protocol"))
    if not name or not command:
        raise ValueError(f"{name or 'no name'}: name and command are required")
    if protocol is None:
        raise ValueError(f"{name}: protocol must be uci or xboard (found {row.get('protocol')!r})")
    folder = _text(row, "workingDirectory")
    lines = row.get("initStrings", [])
    quirks = {"whitepov": row.get("whitepov") is True, "restart": row.get("restart") == "on"}
    entry = EngineEntry(
        id=_free(re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._")[:60] or "engine", taken),
        name=one_line(name, 100),
        command=_command(command, folder, base),
        protocol=protocol,  # type: ignore[arg-type]  # one of two words, by the table above
        dir=(folder if "\\" in folder else str(base / folder)) if folder else None,
        options=_options(row.get("options", [])),
        quirks=override(Quirks(), {**quirks, "init": [line for line in lines if isinstance(line, str) and line]}, name),
    )
    notes = [text for key, text in _ELSEWHERE.items() if key in row and row[key] != _USUAL.get(key, 1)]
    variants = [one for one in row.get("variants", []) if one != "standard"]
    if variants:
        notes.append(
            "variants is not needed, because the engine reports its variants itself "
            f"(found {', '.join(map(str, variants))[:60]})"
        )
    return ImportedEngine(entry, tuple(notes))


def _text(row: dict[str, Any], key: str) -> str:
    value = row.get(key, "")
    if not isinstance(value, str):
        raise ValueError(f"{key} must be text (found {value!r})")
    return value.strip()


def _command(command: str, folder: str, base: Path) -> tuple[str, ...]:
    """Return the program and its arguments.

    The path of a program in the working directory or next to the list becomes absolute. A path with a backslash is a
    Windows path and stays unchanged.
    """
    places = [base / folder, base] if folder else [base]
    is_program = any((place / command).is_file() for place in places)
    words = [command] if is_program or "\\" in command else shlex.split(command)
    if "/" in words[0]:
        there = next((place / words[0] for place in places if (place / words[0]).is_file()), base / words[0])
        words[0] = os.path.abspath(there)  # noqa: PTH100 - links stay
    return tuple(words)


def _options(rows: object) -> dict[str, OptionValue]:
    """Return the options that differ from the engine's defaults; buttons are not pressed."""
    options: dict[str, OptionValue] = {}
    for row in rows if isinstance(rows, list) else ():
        if not isinstance(row, dict) or row.get("type") == "button" or "value" not in row:
            continue
        name, value = row.get("name"), row["value"]
        if isinstance(name, str) and isinstance(value, str | int | float | bool) and value != row.get("default"):
            options[name] = value
    return options


# The registry.

# directories in which Debian installs engines; systemd, ssh commands and root often do not have them in PATH
GAMES = ("/usr/games", "/usr/local/games")
_PROGRAM = re.compile(r"\{program:([^{}]+)\}")


@dataclass(frozen=True)
class Registry:
    """Engine files by id. A file is read when it is needed, so a broken file affects only commands that name it."""

    paths: Mapping[str, Path]

    @property
    def ids(self) -> tuple[str, ...]:
        """Return all ids in alphabetical order, with numbers ordered by value."""
        return tuple(sorted(self.paths, key=_natural))

    def get(self, engine: str, place: str = "") -> EngineEntry:
        """Return the entry with this id. Raises InputRefused, which suggests the closest id, if there is none."""
        if engine not in self.paths:
            step = "list all engines with enginetour engines list"
            raise InputRefused(f"unknown engine {engine!r}{did_you_mean(engine, self.paths)}", place=place, step=step)
        return read_entry(self.paths[engine])

    def entries(self, broken: Callable[[InputRefused], object] = lambda _: None) -> tuple[EngineEntry, ...]:
        """Return every readable entry in the order of `ids`; call `broken` with the error of each unreadable entry."""
        found = []
        for engine in self.ids:
            try:
                found.append(read_entry(self.paths[engine]))
            except InputRefused as refused:
                broken(refused)
        return tuple(found)


def load(folders: Iterable[Path]) -> Registry:
    """Return the engine files of some directories; an earlier directory takes precedence for the same id."""
    paths: dict[str, Path] = {}
    for folder in folders:
        if folder.is_dir():
            for path in sorted(folder.glob("*.toml")):
                if not path.name.startswith(".") and path.is_file():
                    paths.setdefault(path.stem, path)
    return Registry(paths)


def of_workspace(workspace: Path) -> Registry:
    """Return the engine files of a workspace and the bundled engine files."""
    return load([workspace / "engines", bundled_directory("engines")])


def to_spec(
    entry: EngineEntry, *, name: str | None = None, options: Mapping[str, OptionValue] | None = None
) -> EngineSpec:
    """Return how to start an engine, with the absolute path of its program and placeholders replaced.

    ``{scratch}`` is replaced later, at each start of a process. `options` replace options of the entry; option names
    are not case-sensitive. Raises EngineRefused if a program is missing.
    """
    command = [_filled(word, entry) for word in entry.command]
    command[0] = _resolved(command[0], entry)
    command[1:] = [_beside(word, entry) for word in command[1:]]
    settings: dict[str, tuple[str, str]] = {}
    for key, value in [*entry.options.items(), *(options or {}).items()]:
        text = str(value).lower() if isinstance(value, bool) else str(value)
        settings[key.casefold()] = (settings.get(key.casefold(), (key, ""))[0], _filled(text, entry))
    folder = entry.dir
    if folder is not None and folder != "scratch" and "{scratch}" not in folder:
        folder = str(_absolute(_filled(folder, entry), entry))
    return EngineSpec(
        name=name or entry.name,
        command=tuple(command),
        protocol=entry.protocol,
        dir=folder,
        env=tuple(sorted((key, _filled(value, entry)) for key, value in entry.env.items())),
        options=tuple(settings.values()),
        files=tuple((file, _filled(text, entry)) for file, text in sorted(entry.files.items())),
        limits=entry.supported_limits,
        quirks=entry.quirks,
        max_copies=entry.max_copies,
        resources=entry.resources,
        sandbox=entry.sandbox,
        pass_env=entry.pass_env,
        keep_scratch=entry.keep_scratch,
    )


def find_program(word: str, folder: Path) -> str | None:
    """Return the absolute path of a program, or None if it is not found.

    `word` is a path relative to `folder`, or a name that is searched for in PATH and GAMES.
    """
    if "/" in word:
        path = Path(os.path.abspath(folder / Path(word).expanduser()))  # noqa: PTH100 - links stay: venvs are links
        return str(path) if path.is_file() and os.access(path, os.X_OK) else None
    found = shutil.which(word) or shutil.which(word, path=os.pathsep.join(GAMES))
    return os.path.abspath(found) if found else None  # noqa: PTH100 - as above


def no_program(word: str, folder: Path) -> str:
    """Return why `find_program` does not accept an existing file, or "" if no such file exists."""
    path = Path(os.path.abspath(folder / Path(word).expanduser()))  # noqa: PTH100 - as above
    if "/" in word:
        return explain_not_runnable(path) if os.path.exists(path) else ""  # noqa: PTH110 - accepts too long names
    here = os.path.isfile(path)  # noqa: PTH113 - as above
    return f"{word!r} is searched for in PATH only; write ./{word} for the file in {folder.absolute()}" if here else ""


def candidates(command: Sequence[str], folder: Path) -> tuple[EngineSpec, EngineSpec]:
    """Return the specs of a command for two probes, first as UCI and then as CECP; each probe starts a new process.

    If `command` is only the program of a bundled engine file, the arguments in that file are added (``gnuchess
    --uci``). If the CECP probe receives no features, the program did not answer.
    """
    program = Path(command[0]).name
    args = {}
    for path in load([bundled_directory("engines")]).paths.values() if len(command) == 1 else ():
        # the test of the text is rarely true, and parsing all files would take as long as a probe
        if json.dumps(program) in path.read_text("utf-8"):
            entry = read_entry(path)
            if entry.command[0] == program and len(entry.command) > 1:
                args[entry.protocol] = entry.command[1:]
    uci, cecp = (
        EngineEntry(program, program, (*command, *args.get(protocol, ())), protocol, folder=folder)
        for protocol in ("uci", "cecp")
    )
    return to_spec(uci), to_spec(cecp)


def _filled(text: str, entry: EngineEntry) -> str:
    text = text.replace("{python}", sys.executable).replace("{here}", str(entry.folder.absolute()))
    return _PROGRAM.sub(lambda match: _resolved(match[1], entry), text)


def _beside(word: str, entry: EngineEntry) -> str:
    """Return a word that names a file in the entry's directory as an absolute path; return other words unchanged.

    The engine does not start in that directory, so a relative path of a script or net would not be found.
    """
    flag, name = split_flag(word)
    names_file = not name.startswith(("-", "{")) and ("/" in name or "." in name)
    return f"{flag}{_absolute(name, entry)}" if names_file and (entry.folder / name).is_file() else word


def _resolved(word: str, entry: EngineEntry) -> str:
    found = find_program(word, entry.folder)
    if found is None:
        place = str(entry.path) if entry.path else ""
        if reason := no_program(word, entry.folder):
            raise EngineRefused(f"{entry.name}: {reason}", place=place)
        places = "" if "/" in word else f" in PATH, {', '.join(GAMES)}"
        step = f"run apt install {entry.package}" if entry.package else "install the program, or correct `command`"
        raise EngineRefused(f"{entry.name}: program {word!r} not found{places}", place=place, step=step)
    return found


def _absolute(text: str, entry: EngineEntry) -> Path:
    return Path(os.path.abspath(entry.folder / Path(text).expanduser()))  # noqa: PTH100 - links stay


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name) if part]


# Search for engines on this machine: the programs of the bundled engine files, and newer versions of them.

_MARK = re.compile(r" \((?:CECP|PolyGlot)\)$")
_VERSION = re.compile(r"[-_ ]?v?\d[\w.+-]*", re.ASCII)


def find(folder: Path) -> tuple[EngineEntry, ...]:
    """Return the known engines on this machine that have no engine file in `folder`, ready for `write_entry`.

    The search finds the programs of the bundled engine files, and programs with the same name followed by a version.
    """
    present = load([folder])
    have = {start for entry in present.entries() if (start := _start(entry))}
    taken = set(present.paths)
    found: list[EngineEntry] = []
    known = [entry for entry in load([bundled_directory("engines")]).entries() if not entry.command[0].startswith("{")]
    for entry in known:
        start = _start(entry)
        if start and start not in have:
            found.append(replace(entry, id=_free(entry.id, taken), path=None))
            have.add(start)
    for path in _programs():
        for entry in known:
            version = path.name.removeprefix(entry.command[0])
            if version == path.name or not _VERSION.fullmatch(version):
                continue
            called = f"{entry.name} ({path.name})"
            newer = replace(entry, command=(str(path), *entry.command[1:]), name=called, version="", package="")
            start = _start(newer)
            if start and start not in have:
                slug = re.sub(r"[^a-z0-9._-]+", "-", f"{entry.id}{version}".lower())[:64]
                found.append(replace(newer, id=_free(slug, taken), path=None))
                have.add(start)
    return tuple(found)


def named(found: Sequence[EngineEntry], reported: Mapping[str, str], taken: Iterable[str]) -> tuple[EngineEntry, ...]:
    """Return the entries with the names that the engines report; each name is unique and not in `taken`.

    `reported` maps ids to reported names. The bundled name stays if it contains the reported release. If an engine
    reports no release, the release that the same program reports in the other protocol is used.
    """
    releases = {_program(entry): at for entry in found if (at := version_in_name(reported.get(entry.id, "")))}
    names, renamed = set(taken), list[EngineEntry]()
    for entry in found:
        new = _renamed(entry, reported.get(entry.id, ""), releases.get(_program(entry), ""))
        if new.name in names:
            new = replace(new, name=f"{new.name[: LONGEST_NAME - len(entry.id) - 3]} ({entry.id})")
        names.add(new.name)
        renamed.append(new)
    return tuple(renamed)


def _renamed(entry: EngineEntry, own: str, elsewhere: str) -> EngineEntry:
    at = version_in_name(own) or elsewhere
    if not own or own.casefold() == entry.name.casefold() or (at and at == version_in_name(entry.name)):
        return entry
    mark = _MARK.search(entry.name)  # the mark of a protocol or adapter, such as "(CECP)"
    tail = f"{'' if version_in_name(own) or not at else f' {at}'}{mark[0] if mark else ''}"
    return replace(entry, name=own[: LONGEST_NAME - len(tail)].strip() + tail, version=at)


def _program(entry: EngineEntry) -> str:
    return os.path.realpath(to_spec(entry).command[0])


def _start(entry: EngineEntry) -> tuple[str, ...] | None:
    """Return protocol, real path of the program, and arguments, or None if the program is not on this machine.

    Two engine files with the same result start the same engine.
    """
    try:
        spec = to_spec(entry)
    except EngineRefused:
        return None
    return (spec.protocol, os.path.realpath(spec.command[0]), *spec.command[1:])


def _programs() -> list[Path]:
    seen: dict[str, Path] = {}
    for folder in dict.fromkeys([*os.environ.get("PATH", "").split(os.pathsep), *GAMES]):
        try:
            names = sorted(os.listdir(folder or "."))  # noqa: PTH208 - names only, thousands of them
        except OSError:
            continue
        for name in names:
            seen.setdefault(name, Path(os.path.abspath(folder or "."), name))  # noqa: PTH100 - links stay
    return [path for path in seen.values() if os.access(path, os.X_OK) and path.is_file()]


def _free(wanted: str, taken: set[str]) -> str:
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted[:60]}-{number}", number + 1
    taken.add(name)
    return name
