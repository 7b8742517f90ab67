"""What an engine is, in words for its page, and the table of its opponents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from markupsafe import Markup

from enginetour.reports.html.crosstable import SIGNS
from enginetour.reports.html.page import rounded
from enginetour.reports.html.site import Site
from enginetour.reports.html.tables import boxed, engine, game
from enginetour.reports.review.engines import EngineReview, Opponent
from enginetour.reports.sheet import points

MOST_SIGNS = 4_000  # games linked one by one on a page; more are told as points
_HEADS = ("rating", "games", "points", "W", "D", "L", "score", "perf.")


def facts(one: EngineReview) -> tuple[tuple[str, str], ...]:
    """Words and values. Of the command only the program's name: reports are given to others, folders are private."""
    return tuple((key, value) for key, value in _facts(one) if value)


def _facts(one: EngineReview) -> Iterator[tuple[str, str]]:
    spec = one.spec
    yield "calls itself", one.entered.own_name if one.entered.own_name != one.name else ""
    yield "family", one.entered.family
    yield "origin", one.entered.origin
    yield "program", PurePath(spec.command[0]).name if spec.command else ""
    yield "protocol", spec.protocol.upper()
    yield "options", ", ".join(f"{name} = {value}" for name, value in spec.options)
    yield "fingerprint", spec.fingerprint
    yield "place in the starting list", str(one.entered.place)


def opponents(one: EngineReview, site: Site, here: str) -> Markup:
    """A line each, best rated first, every game linked."""
    linked = sum(len(opponent.games) for opponent in one.opponents) <= MOST_SIGNS
    heads = "".join(f'<th scope="col" class="n">{head}</th>' for head in _HEADS)
    if linked:
        heads += '<th scope="col">games, <span class="mono">1</span> won, <span class="mono">=</span> drawn</th>'
    lines = "\n".join(_line(opponent, site, here, linked=linked) for opponent in one.opponents)
    made = (
        f'<table class="table">\n<thead><tr><th scope="col">opponent</th>{heads}</tr></thead>\n'
        f"<tbody>\n{lines}\n</tbody>\n</table>"
    )
    return boxed(Markup(made), "opponents")  # noqa: S704  # names were escaped by `engine`, the rest is ours


def _line(one: Opponent, site: Site, here: str, *, linked: bool) -> str:
    won, drawn, lost = (sum(half == points for _, half, _ in one.games) for points in (2, 1, 0))
    cells = (
        rounded(one.rating),
        str(len(one.games)),
        points(one.half_points),
        *(str(count) for count in (won, drawn, lost)),
        f"{100 * one.share:.1f} %",
        rounded(one.performance),
    )
    told = "".join(f'<td class="n">{cell}</td>' for cell in cells)
    signs = " ".join(game(number, site, here, SIGNS[half]) for number, half, _ in one.games)
    games = f'<td class="wrap mono">{signs}</td>' if linked else ""
    return f'<tr><th scope="row">{engine(one.name, site, here)}</th>{told}{games}</tr>'
