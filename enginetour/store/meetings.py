"""The games of two engines against each other, over one tournament or all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, or_, select

from enginetour.interop.gametags import NOT_TOLD, Partners
from enginetour.model.errors import UsageRefused, called, near, not_called
from enginetour.model.game import Outcome
from enginetour.store.database import Database
from enginetour.store.queries import EVEN, EVEN_READ, STRUCK
from enginetour.store.ratednames import rated_names
from enginetour.store.removals import stands, title_of
from enginetour.store.tables import ENGINES, GAMES, IMPORTED_GAMES, TOURNAMENTS
from enginetour.store.variantgames import odd_ones

PairKey = tuple[int, int, int, int, int]  # tournament, versions of both, meeting or imported game, pair of legs
# Tournament, White's and Black's version, the rest of the key, half points, opening of a game from a file, where kept
_Game = tuple[int, int, int, int, int, int, int | None]


@dataclass(frozen=True, slots=True)
class Meetings:
    """Games that count as (key of their pair, half points of the first engine): ours in log order, then from files.

    The two games of a pair have one opening and the colours swapped: legs 1 and 2, 3 and 4, ... of a meeting of the
    same two versions; in files what `gameopenings` takes for one. `places` sort the games. `versions` are those that
    met, the first engine's and the second's; `unopened` counts games by the titles of imports that kept no openings.
    """

    games: tuple[tuple[PairKey, int], ...]
    places: tuple[PairKey, ...]
    versions: tuple[tuple[str, ...], tuple[str, ...]]
    unopened: Mapping[str, int]
    names: tuple[str, str]  # of the two engines, as they were meant

    @property
    def scheduled(self) -> list[tuple[PairKey, int]]:
        """Pairs of a tournament in the order of its schedule, games of files as they stand there.

        Where games run side by side, the order in which they end favours the short ones.
        """
        order = sorted(range(len(self.games)), key=self.places.__getitem__)
        return [self.games[at] for at in order]


def meetings(database: Database, one: str, other: str, *, tournament: int | None = None) -> Meetings:
    """What `one` scored against `other`; a plain name stands for all versions of that name.

    UsageRefused for names that have no games here, or have not met.
    """
    with database.reading() as connection:
        shown = rated_names(connection)
        (first, one), (second, other) = (_versions(connection, shown, name) for name in (one, other))
        if first & second:
            raise UsageRefused(f"{one!r} and {other!r} are one engine, a test needs two", place="--sprt")
        rows = [*_played(connection, first, second, tournament), *_imported(connection, first, second, tournament)]
        unopened = _titles(connection, Counter(row[0] for row in rows if row[-1] is None))
    if not rows:
        where = "in this tournament" if tournament is not None else "yet"
        step = "without a game there is nothing to test" + ("; --all asks the whole store" if tournament else "")
        raise UsageRefused(f"{one!r} and {other!r} have not met {where}", place="--sprt", step=step)
    games, places, met = [], [], (set[str](), set[str]())
    partners = Partners[PairKey]()
    for edition, white_engine, black_engine, meeting, pair, points, opening in rows:
        is_white = white_engine in first
        own, foe = (white_engine, black_engine) if is_white else (black_engine, white_engine)
        met[0].add(shown[own])
        met[1].add(shown[foe])
        place = (edition, own, foe, meeting, pair)
        places.append(place)
        key = partners.pair_of((own, foe), opening or NOT_TOLD, "white" if is_white else "black", place)
        games.append((key, points if is_white else 2 - points))
    return Meetings(tuple(games), tuple(places), (tuple(sorted(met[0])), tuple(sorted(met[1]))), unopened, (one, other))


def _played(connection: Connection, first: set[int], second: set[int], tournament: int | None) -> Iterator[_Game]:
    """Even games of our tournaments that count, in the order of the log."""
    columns = (GAMES.c.tournament, GAMES.c.white_engine, GAMES.c.black_engine, GAMES.c.meeting, GAMES.c.leg)
    rows = select(*columns, GAMES.c.outcome).where(GAMES.c.outcome != Outcome.VOID.value, ~STRUCK, EVEN)
    rows = rows.where(_met(GAMES.c.white_engine, GAMES.c.black_engine, first, second))
    if tournament is not None:
        rows = rows.where(GAMES.c.tournament == tournament)
    elif odd := odd_ones(connection):
        rows = rows.where(GAMES.c.tournament.not_in(odd))
    for edition, white, black, meeting, leg, outcome in connection.execute(rows.order_by(GAMES.c.id)):
        yield edition, white, black, meeting, (leg + 1) // 2, Outcome(outcome).half_points(white=True), NOT_TOLD


def _imported(connection: Connection, first: set[int], second: set[int], tournament: int | None) -> Iterator[_Game]:
    """Even games read from files, in their order."""
    games = IMPORTED_GAMES.c
    rows = select(games.tournament, games.white, games.black, games.id, games.half_points, games.opening)
    rows = rows.where(_met(games.white, games.black, first, second), stands(), EVEN_READ)
    if tournament is not None:
        rows = rows.where(games.tournament == tournament)
    elif odd := odd_ones(connection):
        rows = rows.where(games.tournament.not_in(odd))
    for edition, white, black, number, points, opening in connection.execute(rows.order_by(games.id)):
        yield edition, white, black, number, 0, points, opening


def _titles(connection: Connection, counts: Mapping[int, int]) -> dict[str, int]:
    """The counts by the titles of the imports."""
    rows = select(TOURNAMENTS.c.id, TOURNAMENTS.c.name, TOURNAMENTS.c.edition).order_by(TOURNAMENTS.c.id)
    found = connection.execute(rows).fetchall() if counts else []
    return {title_of(row.name, row.edition): counts[row.id] for row in found if row.id in counts}


def _met(
    white: ColumnElement[int], black: ColumnElement[int], first: set[int], second: set[int]
) -> ColumnElement[bool]:
    """One of the first against one of the second, whoever has White."""
    return or_(and_(white.in_(first), black.in_(second)), and_(white.in_(second), black.in_(first)))


def _versions(connection: Connection, shown: dict[int, str], name: str) -> tuple[set[int], str]:
    """The rows of an engine, those shown under the name or else all that bear it, and its name if that is a part."""
    plain = {row.id: row.name for row in connection.execute(select(ENGINES.c.id, ENGINES.c.name))}
    known = [*shown.values(), *plain.values()]
    meant = name if name in known else called(name, plain.values()) or called(name, known)
    found = {key for key, words in shown.items() if words == meant} or {k for k, own in plain.items() if own == meant}
    if not found or meant is None:
        raise UsageRefused(
            f"{name!r} is not in this store{not_called(name, known) or near(name, known)}", place="--sprt"
        )
    return found, meant
