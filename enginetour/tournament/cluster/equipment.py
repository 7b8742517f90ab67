"""What this machine has of what a tournament needs: engines, tables, books, processors, memory.

An engine is looked for in three places: the engine file of its id in ``engines/`` of the workspace in which the worker
was started; the manager's own path; the engine files we ship, which find programs in PATH. It is the same engine where
its fingerprint is the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from enginetour.engines import identity
from enginetour.engines.identity import is_path
from enginetour.engines.machine import allowed, memory_mb
from enginetour.engines.registry import Registry, load, to_spec
from enginetour.interop.files import file_digest, shipped
from enginetour.model.errors import TourError
from enginetour.model.task import EngineSpec
from enginetour.referee.tablebases import found_in
from enginetour.tournament.cluster.orders import Demand, Origin
from enginetour.tournament.cluster.sharing import crowding
from enginetour.tournament.config.workspace import workspace_of


class NotHere(Exception):
    """This machine has not got the engine; the words say where it was looked for."""


def here(spec: EngineSpec, origin: Origin | None, start: Path) -> EngineSpec:
    """The engine as this machine starts it, for a worker started in `start`. Raises NotHere."""
    told: list[str] = []
    for found in _candidates(spec, origin, workspace_of(start) / "engines"):
        if isinstance(found, str):
            told.append(found)
            continue
        try:
            print_ = identity.fingerprint(found)
        except TourError as refusal:
            told.append(str(refusal).removeprefix(f"{spec.name}: "))
            continue
        if print_ == spec.fingerprint or not spec.fingerprint:
            return found
        told.append(f"another build: {found.command[0]} makes it {print_}, not {spec.fingerprint}")
    raise NotHere("; ".join(dict.fromkeys(told)))


def _candidates(spec: EngineSpec, origin: Origin | None, engines: Path) -> Iterator[EngineSpec | str]:
    """Ways to start it, and words where there is none; an engine file of this machine is the only one that counts."""
    own = load([engines])
    if origin is not None and origin.engine in own.paths:
        yield _by_file(spec, origin, own)
        return
    if os.access(spec.command[0], os.X_OK):
        yield spec
    else:
        yield f"no program {spec.command[0]}"
    ours = load([shipped("engines")])
    if origin is not None and origin.engine in ours.paths:
        yield _by_file(spec, origin, ours)


def _by_file(spec: EngineSpec, origin: Origin, registry: Registry) -> EngineSpec | str:
    """As the engine file says: program, folder, environment, and the paths among the options; the rest stays."""
    try:
        there = to_spec(registry.get(origin.engine), name=spec.name, options=dict(origin.options))
    except TourError as refusal:
        return str(refusal).removeprefix(f"{spec.name}: ")
    paths = {name.casefold(): value for name, value in there.options if is_path(name, value)}
    options = tuple(
        (name, paths.get(name.casefold(), value) if is_path(name, value) else value) for name, value in spec.options
    )
    return replace(spec, command=there.command, dir=there.dir, env=there.env, files=there.files, options=options)


def lacking(demand: Demand, slots: int, start: Path, speed: float) -> tuple[str, ...]:
    """What a worker with so many slots, started in `start`, has not got, a few words each."""
    return tuple(_lacking(demand, slots, start, speed))


def _lacking(demand: Demand, slots: int, start: Path, speed: float) -> Iterator[str]:
    for spec in demand.specs:
        try:
            here(spec, demand.origin(spec.name), start)
        except NotHere as words:
            yield f"{spec.name}: {words}"
    yield from _tables(demand)
    for path, digest in demand.books:
        if not Path(path).is_file():
            yield f"book: no file {path}"
        elif digest and file_digest(Path(path)) != digest:
            yield f"book: {path} is another one"
    yield from crowding(demand, slots, allowed().count, memory_mb())
    for clock in demand.clocks:
        try:
            clock.scaled(1 / speed, nodes=False)
        except ValueError as words:
            yield f"speed: {words}"


def _tables(demand: Demand) -> Iterator[str]:
    missing = [folder for folder in demand.folders if not Path(folder).is_dir()]
    if missing:
        yield f"tablebases: no folder {', '.join(missing)}"
    elif demand.folders:
        there = found_in(demand.folders, demand.variant)
        count = len(there.wdl) + len(there.dtz)
        if count < demand.tables:
            yield f"tablebases: {count} of {demand.tables} files in {', '.join(demand.folders)}"
