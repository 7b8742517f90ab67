"""The list of games of a report: a line each, in parts where one page would be too much."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from markupsafe import Markup

from enginetour.reports.endings import Ended
from enginetour.reports.html.site import Site
from enginetour.reports.html.tables import boxed, game, isolated
from enginetour.reports.text import duration

LARGEST = 1_400_000  # bytes of a part, as estimated: pages stay below 2 MB
_LINE = 190  # bytes of a line without its names (measured)
_HEADS = ("White", "Black", "result", "ended by")


class Listed(Ended, Protocol):
    """A game as a line of a list."""

    @property
    def number(self) -> int: ...  # noqa: D102
    @property
    def plies(self) -> int: ...  # noqa: D102
    @property
    def started(self) -> float: ...  # noqa: D102
    @property
    def ended(self) -> float: ...  # noqa: D102
    @property
    def incidents(self) -> int: ...  # noqa: D102
    @property
    def voided(self) -> bool: ...  # noqa: D102
    @property
    def round(self) -> int: ...  # noqa: D102


def address(part: int) -> str:
    """Of a part of the list, from 0."""
    return "games.html" if part == 0 else f"games-{part + 1}.html"


def parts(games: Iterable[Listed]) -> list[list[Listed]]:
    """The games in order, as many to a page as it can hold; one empty part without games."""
    found: list[list[Listed]] = [[]]
    size = 0
    for one in games:
        size += _LINE + sum(len(isolated(name, cut=True).encode()) for name in (one.white, one.black))
        if size > LARGEST:
            found.append([])
            size = 0
        found[-1].append(one)
    return found


def table(games: Sequence[Listed], site: Site, here: str) -> Markup:
    """A line each; the scripts filter by the words in it."""
    names = {name: isolated(name, cut=True) for one in games for name in (one.white, one.black)}
    lines = "\n".join(_line(one, names, site, here) for one in games)
    heads = "".join(f'<th scope="col">{head}</th>' for head in _HEADS)
    head = (
        f'<tr><th scope="col" class="n">#</th><th scope="col" class="n">round</th>{heads}'
        '<th scope="col" class="n">moves</th><th scope="col" class="n">time</th><th scope="col">incidents</th></tr>'
    )
    made = f'<table class="table" id="game-list">\n<thead>{head}</thead>\n<tbody>\n{lines}\n</tbody>\n</table>'
    return boxed(Markup(made), "games")  # noqa: S704  # names were escaped above, the rest are words of ours


def _line(one: Listed, names: dict[str, str], site: Site, here: str) -> str:
    result = "struck out" if one.voided else str(one.outcome)
    trouble = str(one.incidents) if one.incidents else ""
    return (
        f'<tr><td class="n">{game(one.number, site, here)}</td><td class="n">{one.round}</td>'
        f"<td>{names[one.white]}</td><td>{names[one.black]}</td><td>{result}</td><td>{one.termination}</td>"
        f'<td class="n">{(one.plies + 1) // 2}</td><td class="n">{duration(one.ended - one.started)}</td>'
        f"<td>{trouble}</td></tr>"
    )
