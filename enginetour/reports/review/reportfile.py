"""A report in one file: what finds room in it, the most telling first."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from enginetour.reports.html import pieces
from enginetour.reports.html.gamepage import game_page
from enginetour.reports.html.page import asset
from enginetour.reports.html.single import LARGEST, Section, section, whole
from enginetour.reports.html.site import Site
from enginetour.reports.review.games import game_rows
from enginetour.reports.review.listpages import list_pages, list_site
from enginetour.reports.review.listreview import ListReview
from enginetour.reports.review.pages import pages, site_of
from enginetour.reports.review.review import Review
from enginetour.store.games import TournamentReader

HEAD = 14_000  # bytes of the file beside its sections, styles and scripts: 10,400 with the pieces (measured)
FOLD = 300  # bytes around a folded section, with two names of 100 signs
ENGINES = "engines/"
# What goes first where not everything finds room: addresses, or what they begin with.
_LESS = (ENGINES, "games", "history.html", "superiority.html", "rounds.html", "crosstable.html", "incidents.html")
Pages = Iterable[tuple[str, Callable[[], str]]]


def report_text(log: TournamentReader, review: Review) -> str:
    """The pages of a tournament, and as many of its games as find room: those with incidents first."""
    styles, scripts = (asset("report.css"), asset("game.css")), (asset("report.js"), asset("board.js"))
    names = {f"{ENGINES}{engine.slug}.html": engine.name for engine in review.engines}
    site = site_of(review, single=True)
    room = LARGEST - HEAD - sum(len(text.encode()) for text in (*styles, *scripts))
    made = list(_sections(pages(review, site), names))
    kept = _fitting(made, room)
    troubled = {line.number: None for line in review.incidents}
    wanted = list(troubled | dict.fromkeys(game.number for game in review.games))
    games = set(_that_fit(log, wanted, site, room - _size(kept)))
    site = _without(replace(site, games=frozenset(games)), made, kept)
    there = {one.address for one in kept}
    again = _sections(((address, make) for address, make in pages(review, site) if address in there), names)
    played = [_game(log, number, site) for number in sorted(games)]
    shared = pieces.symbols() if played else None  # of every board of the file
    missing = _missing(site, len(wanted) - len(games))
    command = shlex.join(["enginetour", "report", "-t", review.facts.name, "--edition", str(review.facts.edition)])
    parts = [*again, *played]
    return whole(site, parts, styles=styles, scripts=scripts, missing=missing, command=command, shared=shared)


def list_text(review: ListReview) -> str:
    """The pages of a list."""
    styles, scripts = (asset("report.css"),), (asset("report.js"),)
    names = {f"{ENGINES}{engine.slug}.html": engine.name for engine in review.engines}
    site = replace(list_site(review), single=True)
    made = list(_sections(list_pages(review, site), names))
    kept = _fitting(made, LARGEST - HEAD - sum(len(text.encode()) for text in (*styles, *scripts)))
    site = _without(site, made, kept)
    there = {one.address for one in kept}
    again = list(_sections(((a, make) for a, make in list_pages(review, site) if a in there), names))
    command = shlex.join(["enginetour", "report", review.name])
    return whole(site, again, styles=styles, scripts=scripts, missing=_missing(site, 0), command=command)


def _sections(made: Pages, names: Mapping[str, str]) -> Iterator[Section]:
    """Those of engines are folded below their names."""
    return (section(address, make(), names.get(address, "")) for address, make in made)


def _fitting(made: Sequence[Section], room: int) -> list[Section]:
    """All, or without the less telling ones as long as they are too much."""
    kept = list(made)
    for beginning in _LESS:
        if _size(kept) > room:
            kept = [one for one in kept if not one.address.startswith(beginning)]
    if sum(one.address.startswith("games") for one in kept) > 1:  # a list in parts has the same places in each
        kept = [one for one in kept if not one.address.startswith("games")]
    return kept


def _size(sections: Sequence[Section]) -> int:
    return sum(one.size + FOLD for one in sections)


def _that_fit(log: TournamentReader, numbers: Sequence[int], site: Site, room: int) -> Iterator[int]:
    """Games in the order wanted, up to the first for which there is no room."""
    for number in numbers:
        room -= _game(log, number, site).size + FOLD
        if room < 0:
            return
        yield number


def _game(log: TournamentReader, number: int, site: Site) -> Section:
    (row,) = game_rows(log, number, number)
    pairing = row.game.pairing
    words = f"Game {number}: {pairing.white} – {pairing.black} {row.game.outcome}"
    return section(f"games/{number}.html", game_page(row, site), words)


def _without(site: Site, made: Sequence[Section], kept: Sequence[Section]) -> Site:
    """The site as its links must be when only some sections are kept."""
    out = frozenset(one.address for one in made) - {one.address for one in kept}
    slugs = {} if any(address.startswith(ENGINES) for address in out) else site.slugs
    return replace(site, left_out=out, slugs=slugs, pages=tuple(page for page in site.pages if page[0] not in out))


def _missing(site: Site, games: int) -> str:
    """What was left out, in words that go with "left out"."""
    parts = [f"{games:,} games"] if games > 1 else ["one game"] if games else []
    if any(address.startswith(ENGINES) for address in site.left_out):
        parts.append("the pages of the engines")
    if any(address.startswith("games") for address in site.left_out):
        parts.append("the list of games")
    parts += [f"the {address.removesuffix('.html')}" for address in sorted(site.left_out) if not _grouped(address)]
    if not parts:
        return ""
    is_one = len(parts) == 1 and parts[0] == "one game"
    return f"{' and '.join(filter(None, (', '.join(parts[:-1]), parts[-1])))} {'is' if is_one else 'are'}"


def _grouped(address: str) -> bool:
    return address.startswith((ENGINES, "games"))
