"""How the games of each engine ended: by the board, by adjudication, by somebody's fault."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from enginetour.model.game import Outcome, Termination
from enginetour.reports.sheet import Column, Sheet

_ORDER = {str(termination): place for place, termination in enumerate(Termination)}


class Ended(Protocol):
    """A game that is over: between whom, and how."""

    @property
    def white(self) -> str: ...  # noqa: D102
    @property
    def black(self) -> str: ...  # noqa: D102
    @property
    def outcome(self) -> Outcome: ...  # noqa: D102
    @property
    def termination(self) -> str: ...  # noqa: D102
    @property
    def counts(self) -> bool: ...  # noqa: D102


def endings_counted(games: Iterable[Ended]) -> Counter[str]:
    """How many games that count ended in each way."""
    return Counter(game.termination for game in games if game.counts)


def endings(title: str, names: Sequence[str], games: Iterable[Ended]) -> Sheet:
    """A line for each engine and way to end that it met: won, drawn, lost, and void or struck out."""
    rows: dict[tuple[str, str], Counter[str]] = {}
    for game in games:
        for name, white in ((game.white, True), (game.black, False)):
            won = ("lost", "drawn", "won")[game.outcome.half_points(white=white)] if game.counts else "void"
            rows.setdefault((name, game.termination), Counter())[won] += 1
    places = {name: place for place, name in enumerate(names)}
    kinds = ("won", "drawn", "lost", "void")
    columns = (
        Column("name", "engine", left=True, flexible=True),
        Column("termination", "ended by", left=True),
        *(Column(kind, kind) for kind in kinds),
    )
    ordered = sorted(rows, key=lambda row: (places.get(row[0], len(places)), row[0], _ORDER[row[1]]))
    cells = tuple(
        {"name": name, "termination": ending, **{kind: rows[name, ending][kind] for kind in kinds}}
        for name, ending in ordered
    )
    shown = tuple(
        {
            "name": "" if place and ordered[place - 1][0] == name else name,
            **{kind: "" for kind in kinds if not rows[name, ending][kind]},
        }
        for place, (name, ending) in enumerate(ordered)
    )
    return Sheet(title, columns, cells, shown)


def endings_words(found: Mapping[str, int]) -> str:
    """``ended by: 12 mate, 5 repetition, 8 adjudication-draw``; "" without a game."""
    parts = [f"{found[ending]} {ending}" for ending in sorted(found, key=_ORDER.__getitem__)]
    return f"ended by: {', '.join(parts)}" if parts else ""
