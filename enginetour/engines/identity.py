"""Fingerprints of engines, engine files that are replaced during a run, and options that open files.

Paths, names, clocks and margins are not part of a fingerprint. Therefore, an engine that was moved to another directory
is the same engine, and an engine that was built again is a different engine.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from enginetour.interop.files import refuse_special, split_flag
from enginetour.model.errors import EngineRefused, InputRefused
from enginetour.model.task import EngineSpec, Side

# Number of hex digits of a fingerprint (64 bits). The probability of a collision among a million versions is 3 in 100
# million.
_LENGTH = 16
# Options that change only output and logs, not the moves.
_IDLE = re.compile(
    r"(?<![a-z])(log|debug)(?![a-z])|(log|debug)[ _-]?(file|path|dir|level)"
    r"|\b(show\w*|uci_opponent|uci_showcurrline|uci_showwdl)\b",
    re.IGNORECASE,
)
# Options for a file in which an engine stores what it has learned. The engine itself changes this file, so the content
# is not part of its fingerprint.
_LEARNT = re.compile(r"experience|learn|hash ?file|persist", re.IGNORECASE)
_READ = re.compile(r"file|path|book|net|weights|tables|syzygy", re.IGNORECASE)  # options for files that engines read
_IMPORT = re.compile(r"^\s*(?:from|import)\s+(\w+)", re.MULTILINE)


# Data that distinguish versions of a file, without its content: device, inode, size, time of the last write and time of
# the last change of any kind (ns). The time of the last change also detects a new file with the write time of the old.
_State = tuple[int, int, int, int, int]
_Content = Callable[[str], str]


def fingerprint(spec: EngineSpec) -> str:
    """Return the fingerprint of an engine (16 hex digits). Raise EngineRefused if one of its files cannot be read."""
    return take_fingerprint(spec)[0]


def take_fingerprint(spec: EngineSpec) -> tuple[str, dict[str, _State]]:
    """Return the fingerprint of an engine, and the state of each of its files just before the file was read.

    Raise EngineRefused if a file cannot be read.
    """
    whole = hashlib.sha256()
    covered: dict[str, _State] = {}

    def content(path: str) -> str:
        covered[path] = now = file_state(path)
        return _digest(path, now)

    try:
        for part in _parts(spec, content):
            whole.update(len(part).to_bytes(4, "big") + part.encode("utf-8", "surrogateescape"))
    except OSError as error:
        reason = error.strerror or str(error)
        raise EngineRefused(f"{spec.name}: {error.filename} cannot be read: {reason}") from None
    return whole.hexdigest()[:_LENGTH], covered


def file_state(path: str) -> _State:
    """Return the current state of a file. Raise OSError if the file does not exist."""
    found = os.stat(path)  # noqa: PTH116 - faster for a text, before every game
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _parts(spec: EngineSpec, content: _Content) -> Iterator[str]:
    """Yield every text that is part of the fingerprint, with its kind. The order of options in `spec` does not matter.

    `content` returns the digest of a file.
    """
    yield f"protocol {spec.protocol}"
    yield f"program {content(spec.command[0])}"
    for argument in spec.command[1:]:
        flag, word = split_flag(argument)
        file = None if _is_written(flag) else _file(word, spec)
        if file is None:
            yield f"argument {argument}"
        else:
            yield f"argument {flag}{content(file)}"
            yield from (f"module {module.name} {content(str(module))}" for module in _modules(Path(file)))
    for name, value in sorted((name.casefold(), value) for name, value in spec.options):
        if not _IDLE.search(name):
            file = None if _LEARNT.search(name) else _read_by(name, value, spec)
            yield f"option {name} {value if file is None else content(file)}"
    for name, text in sorted(spec.files):
        yield f"file {name}"
        yield from (_line(line, spec, content) for line in text.splitlines())
    yield from (f"env {name} {value}" for name, value in sorted(spec.env))
    yield from (f"init {line}" for line in spec.quirks.init)


def _is_written(name: str) -> bool:
    """Return whether the engine itself writes the file of this option, such as a log or a file of learned data."""
    return bool(_IDLE.search(name) or _LEARNT.search(name))


def _line(line: str, spec: EngineSpec, content: _Content) -> str:
    """Return a line of a generated file; in ``key = /path/of/a/file``, the digest of the file replaces its path."""
    key, equals, value = line.partition("=")
    file = _file(value.strip(), spec) if equals and "/" in value else None
    return line if file is None else f"{key}={content(file)}"


def _file(word: str, spec: EngineSpec) -> str | None:
    return next(filter(os.path.isfile, _places(word, spec)), None)


def _read_by(name: str, value: str, spec: EngineSpec) -> str | None:
    """Return the file that an option names, or None if there is no such file.

    Raise EngineRefused for a pipe or device, because the engine would wait for it.
    """
    for path in _places(value, spec):
        if os.path.isfile(path):  # noqa: PTH113 - a text
            return path
        if _READ.search(name) and os.path.exists(path):  # noqa: PTH110 - as above
            try:
                refuse_special(Path(path))
            except InputRefused as refused:
                raise EngineRefused(f"{spec.name}: option {name}: {refused}") from None
    return None


def _places(word: str, spec: EngineSpec) -> Iterator[str]:
    if not word or len(word) > 4096 or "{scratch}" in word or "\0" in word:
        return
    program = os.path.dirname(os.path.realpath(spec.command[0]))  # noqa: PTH120 - realpath is a text
    folders = [spec.dir] if spec.dir and spec.dir != "scratch" else []
    for folder in (*folders, program):
        yield os.path.join(folder, word)  # noqa: PTH118 - as above


def _modules(script: Path) -> list[Path]:
    """Return the modules next to a Python script that it imports by name, directly or indirectly."""
    found: set[Path] = set()
    unread = [script] if script.suffix == ".py" else []
    while unread:
        named = _IMPORT.findall(unread.pop().read_text("utf-8", "replace"))
        new = {path for name in named if (path := script.with_name(f"{name}.py")).is_file()} - found - {script}
        found |= new
        unread += new
    return sorted(found)


@lru_cache(maxsize=1024)
def _digest(path: str, now: _State) -> str:  # noqa: ARG001 - the state is the cache's key
    """Return the SHA-256 of a file. The file is read only once for each state (in this process)."""
    with open(path, "rb") as file:  # noqa: PTH123 - as above
        return hashlib.file_digest(file, "sha256").hexdigest()


# Detection of engines whose files were replaced after their fingerprint was taken, between two runs or during a run.
#
# A new build with the same name is a different engine; its games must not count for the old build.


def changed_engines_error(names: Iterable[str], place: str) -> InputRefused:
    """Return the error about engines that have changed, with the same text for a resumed and a running tournament."""
    what = f"changed since the last game: {', '.join(names)} (binary, net or options)"
    step = "restore the files, continue with enginetour run FILE --accept-change, or use enginetour replace OLD NEW"
    return InputRefused(what, place=place, step=step)


def new_fingerprint(spec: EngineSpec) -> str | None:
    """Return the fingerprint of the current files if it differs from `spec.fingerprint`.

    Return None if it does not differ, or if a file cannot be read.
    """
    try:
        now = take_fingerprint(spec)[0]
    except EngineRefused:
        return None
    return now if spec.fingerprint and now != spec.fingerprint else None


class EngineFiles:
    """Checks the files of a run's engines before each game, with one `stat` for each file (microseconds in total).

    A game that began before a change counts, because its engines had already been started or were about to be started.
    """

    def __init__(self, place: str) -> None:
        self._place = place
        self._seen: dict[str, tuple[str, dict[str, _State]]] = {}  # name -> fingerprint, states of its files

    def refuse_changed(self, *specs: EngineSpec) -> None:
        """Raise InputRefused if the fingerprint of an engine has changed. Files with only a new time do not count."""
        changed = [self._described(spec) for spec in specs if not self._is_known(spec) and not self._is_same(spec)]
        if changed:
            raise changed_engines_error(changed, self._place)

    def _is_known(self, spec: EngineSpec) -> bool:
        fingerprint, files = self._seen.get(spec.name, ("", {}))
        try:
            return fingerprint == spec.fingerprint and all(file_state(path) == then for path, then in files.items())
        except OSError:
            return False

    def _described(self, spec: EngineSpec) -> str:
        """Return the name of the engine and its missing files, because a missing net or script changes the engine."""
        gone = [path for path in self._seen.get(spec.name, ("", {}))[1] if not Path(path).exists()]
        return f"{spec.name} ({' and '.join(gone)} not found)" if gone else spec.name

    def _is_same(self, spec: EngineSpec) -> bool:
        try:
            fingerprint, files = take_fingerprint(spec)
        except (
            EngineRefused
        ):  # a file is missing or is being written: the start will fail, and the game will be played again
            self._seen.pop(spec.name, None)
            return True
        if spec.fingerprint and fingerprint != spec.fingerprint:
            return False
        self._seen[spec.name] = spec.fingerprint, files
        return True


# Options that may make an engine read or write a file, such as a debug log, a book or tablebases. They are reported,
# but never rejected.
#
# If a net or tablebases are missing, many engines exit at their first move or continue without a message.

_NAME = re.compile("file|path|log|dir", re.IGNORECASE)  # BookFile, SyzygyPath, Debug Log, LogDir
_NONE = frozenset({"", "<empty>", "false", "0"})  # UCI writes an empty text as <empty>


def path_options(sides: Iterable[Side]) -> tuple[str, ...]:
    """Return a line such as ``Toga II: BookFile = /books/toga.bin`` for each file option that is set or offered."""
    return tuple(
        f"{side.spec.name}: {name} = {value}"
        for side in sides
        for name, value in (*side.spec.options, *side.spec.offered)
        if is_path(name, value)
    )


def is_path(name: str, value: str) -> bool:
    """Return whether an option may open a file: its value contains a slash, or its name suggests a file.

    In the second case, the value must not be empty.
    """
    return "/" in value or (_NAME.search(name) is not None and value.strip().casefold() not in _NONE)


def missing_paths(sides: Iterable[Side]) -> Iterator[str]:
    """Yield a line for each option with a file that the engine reads, and that does not exist on this machine."""
    for side in sides:
        for name, value in side.spec.options:
            paths = [] if _is_written(name) or "://" in value else value.split(os.pathsep)
            if absent := [path for path in paths if _is_absent(path, side.spec)]:
                yield f"{side.spec.name}: {name} = {value}: not found: {', '.join(absent)}"


def _is_absent(path: str, spec: EngineSpec) -> bool:
    """Return whether a path does not exist. A name without a directory counts as existing.

    The engine may search for such a name in other directories, or the file may be embedded in the engine.
    """
    if "/" not in path or "{scratch}" in path or "\0" in path:
        return False
    folders = (spec.dir or "/", os.path.dirname(os.path.realpath(spec.command[0])))  # noqa: PTH120 - a text
    return not any(os.path.exists(os.path.join(folder, path)) for folder in folders)  # noqa: PTH110, PTH118
