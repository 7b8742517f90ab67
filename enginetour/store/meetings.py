"""The games of two engines against each other, over one tournament or all of them."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, and_, or_, select

from enginetour.errors import UsageRefused
from enginetour.model import Outcome
from enginetour.store.lists import rated_names
from enginetour.store.queries import STRUCK
from enginetour.store.tables import ENGINES, GAMES
from enginetour.store.tournaments import Store
from enginetour.tomlplace import near

PairKey = tuple[int, int, int, int, int]  # tournament, versions of both, meeting, pair of legs


@dataclass(frozen=True, slots=True)
class Meetings:
    """Games that count, in the order of the log, as (key of their pair, half points of the first engine).

    The two games of a pair have one opening and the colours swapped: legs 1 and 2, 3 and 4, ... of a meeting of the
    same two versions. `versions` are those that met, the first engine's and the second's.
    """

    games: tuple[tuple[PairKey, int], ...]
    versions: tuple[tuple[str, ...], tuple[str, ...]]


def meetings(store: Store, one: str, other: str, *, tournament: int | None = None) -> Meetings:
    """What `one` scored against `other`; a plain name stands for all versions of that name.

    UsageRefused for names that have no games here, or have not met.
    """
    wanted = [GAMES.c.outcome != Outcome.VOID.value, ~STRUCK]
    if tournament is not None:
        wanted.append(GAMES.c.tournament == tournament)
    with store.database.reading() as connection:
        shown = rated_names(connection)
        first, second = (_versions(connection, shown, name) for name in (one, other))
        if first & second:
            raise UsageRefused(f"{one!r} and {other!r} are one engine, a test needs two", place="--sprt")
        white, black = GAMES.c.white_engine, GAMES.c.black_engine
        as_white = and_(white.in_(first), black.in_(second))
        as_black = and_(white.in_(second), black.in_(first))
        columns = (GAMES.c.tournament, white, black, GAMES.c.meeting, GAMES.c.leg, GAMES.c.outcome)
        rows = connection.execute(select(*columns).where(*wanted, or_(as_white, as_black)).order_by(GAMES.c.id)).all()
    if not rows:
        where = "in this tournament" if tournament is not None else "yet"
        step = "without a game there is nothing to test" + ("; --all asks the whole store" if tournament else "")
        raise UsageRefused(f"{one!r} and {other!r} have not met {where}", place="--sprt", step=step)
    games, met = [], (set[str](), set[str]())
    for edition, white_engine, black_engine, meeting, leg, outcome in rows:
        is_white = white_engine in first
        own, foe = (white_engine, black_engine) if is_white else (black_engine, white_engine)
        met[0].add(shown[own])
        met[1].add(shown[foe])
        games.append(((edition, own, foe, meeting, (leg + 1) // 2), Outcome(outcome).half_points(white=is_white)))
    return Meetings(tuple(games), (tuple(sorted(met[0])), tuple(sorted(met[1]))))


def _versions(connection: Connection, shown: dict[int, str], name: str) -> set[int]:
    """The rows of an engine: those shown under the name, else all that bear it."""
    plain = {row.id: row.name for row in connection.execute(select(ENGINES.c.id, ENGINES.c.name))}
    found = {key for key, words in shown.items() if words == name} or {k for k, own in plain.items() if own == name}
    if not found:
        raise UsageRefused(
            f"{name!r} is not in this store{near(name, [*shown.values(), *plain.values()])}", place="--sprt"
        )
    return found
