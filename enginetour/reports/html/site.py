"""What the pages of one report share: its name, its pages, and how one of them is linked from another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

LEFT_OUT = "left-out"  # id of the section that says what a single file has no room for
GENERATOR = '<meta name="generator" content="enginetour report">'  # by which a report is known again


@dataclass(frozen=True, slots=True)
class Site:
    """`pages` are (address, label) of the navigation, addresses from the root of the report.

    `slugs` name the page of each engine by the engine's name; `games` are the numbers that have a page of their own,
    None for all. `prefix` stands before every address of a served report. `single`: all is in one file, but for the
    addresses in `left_out`; who follows a link to one of them is told so.
    """

    title: str
    pages: tuple[tuple[str, str], ...]
    slugs: Mapping[str, str] = field(default_factory=dict)
    games: frozenset[int] | None = None
    foot: str = ""
    prefix: str = ""
    single: bool = False
    left_out: frozenset[str] = frozenset()

    def link(self, address: str, here: str) -> str:
        """Where `address` is, seen from the page `here`."""
        if self.single:
            return f"#{LEFT_OUT if address in self.left_out else anchor(address)}"
        return self.prefix + address if self.prefix else "../" * here.count("/") + address

    def engine(self, name: str) -> str | None:
        """Address of an engine's page, if it has one."""
        slug = self.slugs.get(name)
        return None if slug is None else f"engines/{slug}.html"

    def game(self, number: int) -> str | None:
        """Address of a game's page, if it has one."""
        return f"games/{number}.html" if self.games is None or number in self.games else None


def anchor(address: str) -> str:
    """The id of a page's section where all are in one file: ``engines-toga``, ``index`` or ``games-12``."""
    page, _, part = address.partition("#")
    return part or page.removesuffix(".html").replace("/", "-")
