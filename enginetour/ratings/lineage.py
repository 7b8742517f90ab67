"""Which engine version comes after which: whose rating a new one takes over where a list asks for it.

The predecessor is the newest rated version of the same name, else the newest rated engine of the same family. Newest
is what entered the store last; rated is what has a rated game by then.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

# A version begins with a digit, perhaps behind a v, at the beginning of a word or behind a hyphen or underscore.
_VERSION = re.compile(r"(?<=\S)[\s_-]+[vV]?\d.*", re.DOTALL)


def stem(name: str) -> str:
    """A name without its version, and what follows that: ``Toga II 1.4 64-bit`` is a ``Toga II``."""
    return _VERSION.sub("", name)


class Version(NamedTuple):
    """An engine version as the games name it; an empty family is none."""

    engine: str
    name: str
    family: str = ""


class Counted(Protocol):
    """Anything that knows how many rated games it has."""

    @property
    def games(self) -> int:
        """Rated ones, so far."""


@dataclass(frozen=True, slots=True)
class Lineage:
    """Relatives of every engine, newest first: those of its name, then those of its family."""

    relatives: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]

    def predecessor(self, engine: str, standings: Mapping[str, Counted]) -> str | None:
        """Its newest relative with a rated game among `standings`; None for the first of its kind."""
        for kind in self.relatives.get(engine, ()):
            for relative in kind:
                if relative != engine and relative in standings and standings[relative].games:
                    return relative
        return None


def lineage(versions: Iterable[Version]) -> Lineage:
    """Of versions in the order in which they came, oldest first."""
    known = list(versions)
    of_name: dict[str, list[str]] = {}
    of_family: dict[str, list[str]] = {}
    for version in reversed(known):
        of_name.setdefault(version.name, []).append(version.engine)
        if version.family:
            of_family.setdefault(version.family, []).append(version.engine)
    same_name = {name: tuple(engines) for name, engines in of_name.items()}
    same_family = {family: tuple(engines) for family, engines in of_family.items()}
    return Lineage({v.engine: (same_name[v.name], same_family.get(v.family, ())) for v in known})
