"""Keys and systems that were renamed: their previous names are still read, from files and from the database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

KeyPath = tuple[str | int, ...]

# (section, ..., previous key) -> current key. Names of draw and resign rules are those of cutechess-cli and fastchess.
RENAMED_KEYS: Mapping[tuple[str, ...], str] = {
    ("play", "slots"): "concurrency",
    ("play", "margin_ms"): "timemargin",
    ("play", "log_traffic"): "engine_log",
    ("play", "draw", "after_move"): "movenumber",
    ("play", "draw", "moves"): "movecount",
    ("play", "resign", "moves"): "movecount",
    ("play", "resign", "two_sided"): "twosided",
    ("entrants", "margin_ms"): "timemargin",
    ("format", "colours"): "colors",
    ("format", "initial_colour"): "initial_color",
    ("format", "colour_weight"): "color_weight",
}


FORMER_NAMES = {"cup": "knockout"}  # previous name of a tournament system -> present name


class RenamedKey(NamedTuple):
    """A previous key that a configuration uses; `both` is True if the configuration also has the current key."""

    path: KeyPath
    current: str
    both: bool

    @property
    def section(self) -> str:
        """The section and table of the key, such as ``play.draw``."""
        return ".".join(key for key in self.path[:-1] if isinstance(key, str))


def system_name(name: str) -> str:
    """Return the present name of a system for a present or former name; an unknown name is returned unchanged."""
    return FORMER_NAMES.get(name, name)


def rename_keys(config: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[RenamedKey, ...]]:
    """Return a configuration with current keys, and the previous keys that it used.

    Where both keys are given, the current one is kept.
    """
    found: list[RenamedKey] = []
    sections = {path[0] for path in RENAMED_KEYS}
    renamed = {key: _renamed(each, (key,), found) if key in sections else each for key, each in config.items()}
    return renamed, tuple(found)


def _renamed(value: Any, path: KeyPath, found: list[RenamedKey]) -> Any:
    if isinstance(value, list | tuple):
        return [_renamed(each, (*path, number), found) for number, each in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    names = tuple(key for key in path if isinstance(key, str))
    table: dict[str, Any] = {}
    for key, each in value.items():
        current = RENAMED_KEYS.get((*names, key), key)
        if current != key:
            found.append(RenamedKey((*path, key), current, current in value))
            if current in value:
                continue
        table[current] = _renamed(each, (*path, key), found)
    return table
