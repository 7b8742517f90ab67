"""Known engines on this machine: the programs of the engine files we ship, and newer versions of them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from enginetour.engines.enginefile import LONGEST_NAME, EngineEntry, release
from enginetour.engines.registry import GAMES, load, to_spec
from enginetour.interop.files import shipped
from enginetour.model.errors import EngineRefused

_MARK = re.compile(r" \((?:CECP|PolyGlot)\)$")
_VERSION = re.compile(r"[-_ ]?v?\d[\w.+-]*", re.ASCII)


def find(folder: Path) -> tuple[EngineEntry, ...]:
    """Known engines on this machine for which `folder` has no file, ready for `write_entry`.

    Looked for are the programs of the engine files we ship, then the same names with a version behind them.
    """
    present = load([folder])
    have = {start for entry in present.entries() if (start := _start(entry))}
    taken = set(present.paths)
    found: list[EngineEntry] = []
    known = [entry for entry in load([shipped("engines")]).entries() if not entry.command[0].startswith("{")]
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
    """The same under the names that the engines report, by id, each name once and none that is `taken`.

    The name that enginetour knows stays where it has the reported release. Where an engine reports no release, the
    other protocol of the same program may.
    """
    releases = {_program(entry): at for entry in found if (at := release(reported.get(entry.id, "")))}
    names, renamed = set(taken), list[EngineEntry]()
    for entry in found:
        new = _renamed(entry, reported.get(entry.id, ""), releases.get(_program(entry), ""))
        if new.name in names:
            new = replace(new, name=f"{new.name[: LONGEST_NAME - len(entry.id) - 3]} ({entry.id})")
        names.add(new.name)
        renamed.append(new)
    return tuple(renamed)


def _renamed(entry: EngineEntry, own: str, elsewhere: str) -> EngineEntry:
    at = release(own) or elsewhere
    if not own or own.casefold() == entry.name.casefold() or (at and at == release(entry.name)):
        return entry
    mark = _MARK.search(entry.name)  # of its protocol or adapter: "(CECP)"
    tail = f"{'' if release(own) or not at else f' {at}'}{mark[0] if mark else ''}"
    return replace(entry, name=own[: LONGEST_NAME - len(tail)].strip() + tail, version=at)


def _program(entry: EngineEntry) -> str:
    return os.path.realpath(to_spec(entry).command[0])


def _start(entry: EngineEntry) -> tuple[str, ...] | None:
    """What tells two engine files of one machine apart: protocol, real program, arguments; None if not here."""
    try:
        spec = to_spec(entry)
    except EngineRefused:
        return None
    return (spec.protocol, os.path.realpath(spec.command[0]), *spec.command[1:])


def _programs() -> list[Path]:
    """Everything in PATH and the games folders that can be run, in order, each name once."""
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
