"""The contents of an engine's page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf, log10
from pathlib import PurePath

from markupsafe import Markup

from enginetour.model.game import StandingsRow
from enginetour.model.task import EngineSpec
from enginetour.ratings.pentanomial import ELO_SCALE
from enginetour.ratings.ratinglist import SHARED, Row
from enginetour.reports.html.tables import RESULT_SIGNS, Site, engine_links, game_links, scroll_box
from enginetour.reports.sheet import Sheet, format_points, format_whole
from enginetour.store.address import slug_of
from enginetour.store.games import GameLine, LineupEntry

_Played = tuple[int, int, bool]
"""The number of a game, the half points of the engine, and whether the engine had White."""


@dataclass(frozen=True, slots=True)
class OpponentGames:
    """All games of an engine against one opponent: its half points, and the opponent's rating from this tournament."""

    name: str
    games: tuple[_Played, ...]
    half_points: int
    rating: float | None

    @property
    def share(self) -> float:
        """Return the share of the points, 0 to 1."""
        return self.half_points / (2 * len(self.games))

    @property
    def performance(self) -> float | None:
        """Return the performance rating, or None if the score is 0 or 100 % or the opponent has no rating."""
        share = self.share
        if self.rating is None or not 0 < share < 1:
            return None
        return self.rating + ELO_SCALE * log10(share / (1 - share))


@dataclass(frozen=True, slots=True)
class EngineReview:
    """One engine with its row of the standings (`placed`), of the rating list (`row`) and of other tables."""

    name: str
    slug: str
    entered: LineupEntry
    spec: EngineSpec
    placed: StandingsRow | None
    row: Row | None
    opponents: tuple[OpponentGames, ...]
    efforts: Sheet
    endings: Sheet

    @property
    def colors(self) -> list[tuple[int, int]]:
        """Return the half points and the number of games with White, then the same with Black."""
        own = [(points, white) for opponent in self.opponents for _, points, white in opponent.games]
        sides = [[points for points, white in own if white is side] for side in (True, False)]
        return [(sum(points), len(points)) for points in sides]


def opponents_of(games: Iterable[GameLine], ratings: Mapping[str, float]) -> dict[str, tuple[OpponentGames, ...]]:
    """Return the opponents of each engine, best rated first and unrated ones last."""
    met: dict[str, dict[str, list[_Played]]] = {}
    for line in games:
        if line.counts:
            white, black, points = line.white, line.black, line.outcome.half_points(white=True)
            met.setdefault(white, {}).setdefault(black, []).append((line.number, points, True))
            met.setdefault(black, {}).setdefault(white, []).append((line.number, 2 - points, False))
    place = {name: round(rating, SHARED) for name, rating in ratings.items()}
    return {
        name: tuple(
            OpponentGames(other, tuple(played), sum([points for _, points, _ in played]), ratings.get(other))
            for other, played in sorted(others.items(), key=lambda one: (-place.get(one[0], -inf), one[0]))
        )
        for name, others in met.items()
    }


_MAX_LINKED_GAMES = 4_000  # games; a page with more does not link to each of them
_HEADS = ("rating", "games", "points", "W", "D", "L", "score", "perf.")
_CLASSES = tuple("n wide" if head in ("rating", "points", "W", "D", "L") else "n" for head in _HEADS)
_CELLS = "".join(f'<td class="{kind}">%s</td>' for kind in _CLASSES)


def engine_facts(one: EngineReview) -> Iterator[tuple[str, str]]:
    """Yield labels and texts about an engine. The texts of unknown facts are empty.

    Of the command, only the name of the program is shown, because directories are private.
    """
    spec = one.spec
    yield "reported name", one.entered.own_name if one.entered.own_name != one.name else ""
    yield "family", one.entered.family
    yield "origin", one.entered.origin
    yield "program", PurePath(spec.command[0]).name if spec.command else ""
    yield "protocol", spec.protocol.upper()
    yield "options", ", ".join(f"{name} = {value}" for name, value in spec.options)
    yield "fingerprint", spec.fingerprint
    yield "place in the starting list", str(one.entered.starting_rank)


def opponents_table(one: EngineReview, site: Site, here: str) -> Markup:
    """Return the opponents, best rated first, with links to all games."""
    linked = sum(len(opponent.games) for opponent in one.opponents) <= _MAX_LINKED_GAMES
    heads = "".join(f'<th scope="col" class="{kind}">{head}</th>' for head, kind in zip(_HEADS, _CLASSES, strict=True))
    if linked:
        heads += '<th scope="col">results (<span class="mono">1</span> won, <span class="mono">=</span> drawn)</th>'
    link, engine = game_links(site, here) if linked else None, engine_links(site, here)
    lines = "\n".join([_line(opponent, engine(opponent.name), link) for opponent in one.opponents])
    return scroll_box(f'<th scope="col">opponent</th>{heads}', lines, "opponents")


def _line(one: OpponentGames, name: str, link: Callable[[int, object], str] | None) -> str:
    results = [half for _, half, _ in one.games]
    cells = (
        format_whole(one.rating),
        len(results),
        format_points(one.half_points),
        *map(results.count, (2, 1, 0)),
        f"{100 * one.share:.1f} %",
        format_whole(one.performance),
    )
    signs = "" if link is None else " ".join([link(number, RESULT_SIGNS[half]) for number, half, _ in one.games])
    games = "" if link is None else f'<td class="wrap mono">{signs}</td>'
    return f'<tr><th scope="row">{name}</th>{_CELLS % cells}{games}</tr>'


def page_slugs(names: Iterable[str]) -> dict[str, str]:
    """Return a different file name for the page of each engine: the slug of its name, with a number if necessary."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        if name not in found:
            slug, again = slug_of(name), 1
            while slug in taken:
                again += 1
                slug = slug_of(name, again)
            taken.add(slug)
            found[name] = slug
    return found
