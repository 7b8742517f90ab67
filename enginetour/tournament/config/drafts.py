"""Configurations written by commands: whole, valid, or not there at all."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from enginetour.model.errors import TourError, UsageRefused

if TYPE_CHECKING:
    from enginetour.engines.registry import Registry
    from enginetour.interop.toml import Draft


def write_draft(draft: Draft, path: Path, words: Mapping[str, str] | None = None) -> None:
    """Write and validate it; a refusal takes the file away again.

    `words` has for a key, for one of the n-th entrant (``1.tc``), for that entrant (``1.``) or for all (``*``) what was
    typed on the command line: refusals are told with it.
    """
    from enginetour.tournament.config import config

    text, fresh = draft.text(), not path.parent.exists()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as sink:
            sink.write(text)
    except FileExistsError:
        raise UsageRefused("there is a file already", place=str(path), step="choose another name") from None
    try:
        config.load(path)
    except BaseException as error:
        take_back(path, with_folder=fresh)
        if isinstance(error, TourError):
            name_typed(error, path, text, words or {})
        raise


def take_back(path: Path, *, with_folder: bool) -> None:
    """The file of what is refused, and the folder that was made for it."""
    path.unlink()
    if with_folder:
        with suppress(OSError):  # somebody else has put something there
            path.parent.rmdir()


def name_typed(error: TourError, path: Path, text: str, words: Mapping[str, str]) -> None:
    """A refusal that names lines of a file written by a command tells what was typed instead, where that is known."""

    def typed(found: re.Match[str]) -> str:
        return _typed_at(int(found[1]), text.splitlines(), words) or found[0]

    line = re.compile(rf"(?:{re.escape(str(path))}|\b{re.escape(path.name)}):(\d+)")
    error.place, error.what, error.step = (line.sub(typed, part) for part in (error.place, error.what, error.step))


def _typed_at(number: int, lines: Sequence[str], words: Mapping[str, str]) -> str:
    """What wrote that line; "" where nothing did."""
    if not 0 < number <= len(lines):
        return ""
    key = re.match(r"[\w-]*", lines[number - 1])
    entrant = lines[:number].count("[[entrants]]")
    names = [f"{entrant}.{key and key[0]}", f"{entrant}."] if entrant else [key[0] if key else ""]
    return next((words[name] for name in (*names, "*") if name in words), "")


def known_keys() -> dict[str, frozenset[str]]:
    """The keys this version has, by section."""
    from enginetour.openings.choice import OpeningSettings
    from enginetour.tournament.config.play import PlaySection
    from enginetour.tournament.config.sections_entrants import EntrantSection

    return {
        "play": frozenset(PlaySection.model_fields),
        "openings": frozenset(OpeningSettings.model_fields),
        "entrants": frozenset(EntrantSection.model_fields),
    }


def id_of(registry: Registry, name: str) -> str | None:
    """The engine file of an id or of an engine's name."""
    if name in registry.paths:
        return name
    return next((entry.id for entry in registry.entries() if entry.name == name), None)


def from_command(text: str, file: Path, name: str | None) -> tuple[str, ...]:
    """Write the configuration that says what a command of cutechess-cli or fastchess says; what it could not say.

    Paths of the command begin here, in the folder where it would have been run.
    """
    from enginetour.engines.registry import of_workspace
    from enginetour.tournament.config.peerline import PLACE
    from enginetour.tournament.config.peermatch import translated
    from enginetour.tournament.config.workspace import workspace_of

    registry = of_workspace(workspace_of(Path.cwd()))
    draft, said = translated(text, name or file.stem, lambda wanted: id_of(registry, wanted))
    if name:  # goes before -event
        draft = replace(draft, tournament={**draft.tournament, "name": name})
    draft, gone = draft.without_unknown(known_keys())
    said = (*said, *(f"{key}: this version has no such setting, left out" for key in gone))
    if file.parent.resolve() != Path.cwd().resolve():
        draft = draft.anchored(Path.cwd())
    write_draft(draft, file, {"*": PLACE})
    return said
