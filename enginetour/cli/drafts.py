"""Configurations written by commands: whole, valid, or not there at all."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from enginetour.errors import InputRefused, UsageRefused

if TYPE_CHECKING:
    from enginetour.draft import Draft
    from enginetour.registry import Registry


def write_draft(draft: Draft, path: Path, words: dict[str, str] | None = None) -> None:
    """Write and validate it; a refusal takes the file away again.

    `words` names the option of the command line for a key, or for all by ``*``: refusals are told with it.
    """
    from enginetour import config

    text = draft.text()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as sink:
            sink.write(text)
    except FileExistsError:
        raise UsageRefused("there is a file already", place=str(path), step="choose another name") from None
    try:
        config.load(path)
    except InputRefused as error:
        path.unlink()
        error.place = _option_of(error.place, path, text, words or {}) or error.place
        raise
    except BaseException:
        path.unlink()
        raise


def _option_of(place: str, path: Path, text: str, words: dict[str, str]) -> str:
    """The option that wrote the line a refusal names; "" where none did."""
    number = place.removeprefix(f"{path}:")
    lines = text.splitlines()
    if number == place or not number.isdecimal() or not 0 < int(number) <= len(lines):
        return ""
    key = re.match(r"[\w-]*", lines[int(number) - 1])
    return words.get(key[0], words.get("*", "")) if key else ""


def known_keys() -> dict[str, frozenset[str]]:
    """The keys this version has, by section."""
    from enginetour.openings import OpeningSettings
    from enginetour.sections.entrants import EntrantSection
    from enginetour.sections.play import PlaySection

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
    from enginetour.interop.peerline import PLACE
    from enginetour.interop.peermatch import translated
    from enginetour.plan import registry_of
    from enginetour.workspace import workspace_of

    registry = registry_of(workspace_of(Path.cwd()))
    draft, said = translated(text, name or file.stem, lambda wanted: id_of(registry, wanted))
    draft, gone = draft.without_unknown(known_keys())
    said = (*said, *(f"{key}: this version has no such setting, left out" for key in gone))
    if file.parent.resolve() != Path.cwd().resolve():
        draft = draft.anchored(Path.cwd())
    write_draft(draft, file, {"*": PLACE})
    return said
