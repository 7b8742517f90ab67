"""What makes two engine versions the same: the content of program, scripts and nets, arguments, options that matter.

Paths, names, clocks and margins do not count: a moved engine is the same engine, a rebuilt one is another.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

from enginetour.interop.files import refuse_special
from enginetour.model.errors import EngineRefused, InputRefused
from enginetour.model.task import EngineSpec, flag_and_word

# Hex digits of a fingerprint: 64 bits, a chance collision among a million versions is 3 in 100 million.
LENGTH = 16
# Options that change what is written down, never what is played.
_IDLE = re.compile(
    r"(?<![a-z])(log|debug)(?![a-z])|(log|debug)[ _-]?(file|path|dir|level)"
    r"|\b(show\w*|uci_opponent|uci_showcurrline|uci_showwdl)\b",
    re.IGNORECASE,
)
# Options that name a file in which an engine keeps what it learns: it writes there itself, and stays the same engine.
_LEARNT = re.compile(r"experience|learn|hash ?file|persist", re.IGNORECASE)
_READ = re.compile(r"file|path|book|net|weights|tables|syzygy", re.IGNORECASE)  # options that name what an engine reads
_IMPORT = re.compile(r"^\s*(?:from|import)\s+(\w+)", re.MULTILINE)


# What tells a file's versions apart without reading it: device, inode, size, ns of the last write and of the last
# change of anything; the last one also sees a file put in place with the times of the old one.
State = tuple[int, int, int, int, int]
_Content = Callable[[str], str]


def fingerprint(spec: EngineSpec) -> str:
    """Hex text of 16 digits; EngineRefused when a file of the engine cannot be read."""
    return taken(spec)[0]


def taken(spec: EngineSpec) -> tuple[str, dict[str, State]]:
    """The fingerprint, and the files it covers with their states before they were read; EngineRefused as above."""
    whole = hashlib.sha256()
    covered: dict[str, State] = {}

    def content(path: str) -> str:
        covered[path] = now = state(path)
        return _digest(path, now)

    try:
        for part in _parts(spec, content):
            whole.update(len(part).to_bytes(4, "big") + part.encode("utf-8", "surrogateescape"))
    except OSError as error:
        reason = error.strerror or str(error)
        raise EngineRefused(f"{spec.name}: cannot read {error.filename}: {reason}") from None
    return whole.hexdigest()[:LENGTH], covered


def state(path: str) -> State:
    """As the file is now; OSError where there is none."""
    found = os.stat(path)  # noqa: PTH116 - a text, and looked at before every game
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _parts(spec: EngineSpec, content: _Content) -> Iterator[str]:
    """Every text that counts, each kind marked, in an order that does not depend on how the spec was written."""
    yield f"protocol {spec.protocol}"
    yield f"program {content(spec.command[0])}"
    for argument in spec.command[1:]:
        flag, word = flag_and_word(argument)
        file = None if is_written(flag) else _file(word, spec)
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


def is_written(name: str) -> bool:
    """Whether a file that this option names is the engine's own to write: a log, or what it learns."""
    return bool(_IDLE.search(name) or _LEARNT.search(name))


def _line(line: str, spec: EngineSpec, content: _Content) -> str:
    """A line of a generated file; ``key = /path/of/a/file`` stands for the file's content."""
    key, equals, value = line.partition("=")
    file = _file(value.strip(), spec) if equals and "/" in value else None
    return line if file is None else f"{key}={content(file)}"


def _file(word: str, spec: EngineSpec) -> str | None:
    """The file that a word names, from the engine's folder or beside its program; None if it names none."""
    return next(filter(os.path.isfile, _places(word, spec)), None)


def _read_by(name: str, value: str, spec: EngineSpec) -> str | None:
    """The file that an option names; EngineRefused for a pipe or a device, at which the engine would wait for ever."""
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
    """Where a file of that name would be."""
    if not word or len(word) > 4096 or "{scratch}" in word or "\0" in word:
        return
    program = os.path.dirname(os.path.realpath(spec.command[0]))  # noqa: PTH120 - realpath is a text
    folders = [spec.dir] if spec.dir and spec.dir != "scratch" else []
    for folder in (*folders, program):
        yield os.path.join(folder, word)  # noqa: PTH118 - as above


def _modules(script: Path) -> list[Path]:
    """The modules beside a Python script that it and they import by name."""
    found: set[Path] = set()
    unread = [script] if script.suffix == ".py" else []
    while unread:
        named = _IMPORT.findall(unread.pop().read_text("utf-8", "replace"))
        new = {path for name in named if (path := script.with_name(f"{name}.py")).is_file()} - found - {script}
        found |= new
        unread += new
    return sorted(found)


@lru_cache(maxsize=1024)
def _digest(path: str, now: State) -> str:  # noqa: ARG001 - the state is the cache's key
    """SHA-256 of a file; read once in this process while its state stays."""
    with open(path, "rb") as file:  # noqa: PTH123 - as above
        return hashlib.file_digest(file, "sha256").hexdigest()
