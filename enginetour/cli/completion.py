"""Completion of the names of tournaments, lists, entrants and engines by the shell; it prints no errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from enginetour.interop.files import bundled_directory
from enginetour.model.errors import TourError
from enginetour.store.address import existing_database, workspace_of
from enginetour.store.names import NameKind, names_in

# command and parameter -> what its value names; the other commands use "*"
_KINDS: dict[tuple[str, str], tuple[NameKind | str, ...]] = {
    ("*", "which"): ("tournament",),
    ("*", "list_name"): ("list",),
    ("*", "tournament"): ("tournament",),
    ("withdraw", "engine"): ("entrant",),
    ("replace", "old"): ("entrant",),
    ("replace", "engine"): ("file",),
    ("add", "engine"): ("file",),
    ("match", "engine"): ("file",),
    ("check", "engine"): ("file",),
    ("history", "engine"): ("engine",),
    ("history", "engines"): ("engine",),
    **{(command, "name"): ("list",) for command in ("show", "explain", "publish", "editions", "diff", "remove")},
}


class _Names(click.types.StringParamType):
    """A text whose values are names in the database, or engine files of the workspace."""

    def __init__(self, kinds: tuple[str, ...]) -> None:
        self.kinds = kinds

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the names that begin with the typed characters."""
        found: list[str] = []
        with suppress(TourError, OSError):
            for kind in self.kinds:
                found += _files(incomplete) if kind == "file" else _in_database(ctx, kind, incomplete)
        return [CompletionItem(name) for name in found]


def _in_database(ctx: click.Context, kind: Any, start: str) -> list[str]:
    database = existing_database(Path.cwd(), ctx.params.get("db"))
    return names_in(database, kind, start) if isinstance(database, Path) else []


def _files(start: str) -> Iterator[str]:
    folders = (workspace_of(Path.cwd()) / "engines", bundled_directory("engines"))
    return iter(
        sorted({path.stem for folder in folders for path in folder.glob("*.toml") if path.stem.startswith(start)})
    )


def complete_names(command: click.Command) -> None:
    """Make the parameters of a command complete names."""
    for param in command.params:
        name = "tournament" if "--tournament" in param.opts else param.name or ""
        kinds = _KINDS.get((command.name or "", name)) or _KINDS.get(("*", name))
        if kinds is not None and isinstance(param.type, click.types.StringParamType):
            param.type = _Names(kinds)
