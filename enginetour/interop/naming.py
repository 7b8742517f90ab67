"""What the engines of game files are called here: aliases first, then patterns of the names that are wanted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase

from enginetour.interop.tally import normal_name
from enginetour.model.errors import UsageRefused


def any_fits(name: str, globs: Collection[str]) -> bool:
    """One of the patterns fits the name, or is the name: brackets mark versions as well as sets of signs."""
    return any(name == glob or fnmatchcase(name, glob) for glob in globs)


class Naming:
    """The name to count an engine under, None for one whose games are left out. Remembers which patterns fitted."""

    def __init__(
        self, aliases: Mapping[str, str] | None = None, include: Iterable[str] = (), exclude: Iterable[str] = ()
    ) -> None:
        self.aliases = {normal_name(other): normal_name(name) for other, name in (aliases or {}).items()}
        self.include = tuple(map(normal_name, include))
        self.exclude = tuple(map(normal_name, exclude))
        self._answered: set[str] = set()

    def __call__(self, name: str) -> str | None:
        """By the name as a file has it."""
        name = self.aliases.get(name, name)
        fits = {pattern for pattern in (*self.include, *self.exclude) if any_fits(name, (pattern,))}
        self._answered |= fits
        if (self.include and fits.isdisjoint(self.include)) or not fits.isdisjoint(self.exclude):
            return None
        return name

    def refuse_unanswered(self) -> None:
        """UsageRefused for a pattern that no engine answered to: it is misspelt."""
        for pattern in (*self.include, *self.exclude):
            if pattern not in self._answered:
                raise UsageRefused(f"no engine is called like {pattern!r}", step="patterns are as in a shell: 'Fruit*'")
