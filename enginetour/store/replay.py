"""Replay the log of a stored tournament: compute its current state, and compare the decisions with the stored ones."""

from __future__ import annotations

import json
from itertools import zip_longest
from math import isclose
from typing import Any

from enginetour.formats.base import SYSTEMS, Format, make_format, options_model, replay
from enginetour.model.errors import StoreRefused, UsageRefused
from enginetour.model.game import Note
from enginetour.model.plugins import PluginRefused, refuse_missing, stored_plugins
from enginetour.store.games import TournamentReader
from enginetour.store.tournaments import Store


def fold(log: TournamentReader) -> tuple[Format[Any], Any]:
    """Replay a log, and return its format and the current state.

    Raise StoreRefused if another format version wrote the log.
    """
    format_ = format_of(log)
    if hasattr(format_, "follow"):
        format_.follow(note for _, note in log.notes())
    try:
        return format_, replay(format_, log.entrants, log.events())
    except ValueError as error:
        raise StoreRefused(f"the log cannot be replayed: {error}", place=log.title) from None


def audit(log: TournamentReader) -> tuple[Format[Any], Any]:
    """Replay a log and compare its decisions with the stored ones. Raise StoreRefused with the first difference.

    The sentences of a decision are not compared, because a later release may word them differently. Numbers with a
    decimal point may differ by a part of 10^9, because another machine may round them differently.
    """
    format_, state = fold(log)
    written = [note for _, note in log.notes()]
    folded = format_.notes(state)
    for number, (one, other) in enumerate(zip_longest(written, folded), 1):
        if one is None or other is None or not _agree(_as_json(one), _as_json(other)):
            was, now = (note.text if note else "nothing" for note in (one, other))
            what = f"decision {number} is stored as {was!r}, but the replay of the log gives {now!r}"
            raise StoreRefused(what, place=log.title, step="restore a backup, or start another tournament")
    return format_, state


_SENTENCES = ("guarantee", "remarks")


_CLOSE = 1e-9  # relative difference


def _as_json(note: Note) -> str:
    return json.dumps([note.kind, [field for field in note.fields if field[0] not in _SENTENCES]])


def _agree(one: str, other: str) -> bool:
    return one == other or _is_same(json.loads(one), json.loads(other))


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return isclose(one, other, rel_tol=_CLOSE)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_is_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_is_same(one[key], other[key]) for key in one)
    return type(one) is type(other) and bool(one == other)


def format_of(log: TournamentReader) -> Format[Any]:
    """Make the format of a stored tournament from its stored settings."""
    try:
        if log.system not in SYSTEMS:
            refuse_missing(stored_plugins(log.config), log.title, SYSTEMS.group)
            step = "use the enginetour version that wrote it"
            raise StoreRefused(f"unknown format {log.system!r}", place=log.title, step=step)
        _ = SYSTEMS[log.system]  # to load a plug-in
    except PluginRefused as error:  # only this tournament of the database cannot be read
        raise StoreRefused(error.what, place=error.place, step=error.step) from None
    settings = {key: value for key, value in log.config["format"].items() if key != "system"}
    # The settings are validated as JSON, because JSON has lists where the options have tuples.
    options = options_model(log.system).model_validate_json(json.dumps(settings))
    format_ = make_format(log.system, options, log.seed)
    if format_.version != log.format_version:
        written = f"was written by version {log.format_version} of the format {log.system}"
        what = f"{written}, but this is version {format_.version}"
        raise StoreRefused(what, place=log.title, step="use the enginetour version that wrote it")
    return format_


def require_finished(store: Store, name: str) -> None:
    """Raise UsageRefused if the newest edition of a tournament has not ended."""
    if not store.has(name):
        return
    log = store.tournament(name)
    format_, state = fold(log)
    if format_.offers(state):
        step = "resume it with run, without --new; withdraw engines that cannot play"
        raise UsageRefused(f"{log.title} has not ended", place="--new", step=step)


def last_standings(store: Store, name: str) -> list[str]:
    """Return the names in the current standings of the newest edition of a tournament, best first."""
    format_, state = fold(store.tournament(name))
    return [line.name for line in format_.standings(state) if line.rank is not None]
