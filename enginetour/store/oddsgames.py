"""Games at time odds: no list of even games has them, so they are told apart, by what the giver scored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from sqlalchemy import ColumnElement, Connection, func, select

from enginetour.model.game import Outcome
from enginetour.store.queries import EVEN_READ, ODDS, STANDING
from enginetour.store.tables import GAMES, IMPORTED_GAMES

UNKNOWN = 0  # bands, of games from files whose odds do not say who gives what
Scores = dict[int, tuple[int, int]]  # bands given -> games, half points of those that gave them


def scores_at_odds(
    connection: Connection, *wanted: ColumnElement[bool], read: ColumnElement[bool] | None = None
) -> Scores:
    """Of the games at odds that are `wanted` (of GAMES), by bands; which results count is among the conditions.

    With `read`, a condition of the kind on IMPORTED_GAMES, those from files too.
    """
    handicap, outcome = GAMES.c.handicap, GAMES.c.outcome
    rows = select(handicap, outcome, func.count()).where(ODDS, *wanted).group_by(handicap, outcome)
    games, points = Counter[int](), Counter[int]()
    for given, result, count in connection.execute(rows):
        games[abs(given)] += count
        points[abs(given)] += count * Outcome(result).half_points(white=given > 0)
    if read is not None:
        given, scored = IMPORTED_GAMES.c.handicap, IMPORTED_GAMES.c.half_points
        rows = select(given, scored, func.count()).where(~EVEN_READ, read).group_by(given, scored)
        for bands, half_points, count in connection.execute(rows):
            games[abs(bands or UNKNOWN)] += count
            points[abs(bands or UNKNOWN)] += count * (half_points if (bands or 0) > 0 else 2 - half_points)
    return {bands: (games[bands], points[bands]) for bands in sorted(games)}


def scores_told(scores: Mapping[int, tuple[int, int]]) -> str:
    """``games at odds, apart from the list: 5; the giver scored 2.5 of 3 at 1 band, 0.5 of 2 at 2 bands``."""
    parts = [
        f"{points / 2:g} of {games:,} at {bands} band{'s' * (bands > 1)}"
        for bands, (games, points) in scores.items()
        if bands != UNKNOWN
    ]
    total = sum(games for games, _ in scores.values())
    words = [f"games at odds, apart from the list: {total:,}"]
    words += [f"the giver scored {', '.join(parts)}"] if parts else []
    words += [f"{scores[UNKNOWN][0]:,} of unknown size"] if UNKNOWN in scores and parts else []
    return "; ".join(words)


def odds_by_entrant(connection: Connection, tournament: int) -> dict[str, int]:
    """How many of an entrant's games that count were at odds, for those that have any."""
    standing = ODDS, GAMES.c.tournament == tournament, STANDING
    found = Counter[str]()
    for white, black in connection.execute(select(GAMES.c.white, GAMES.c.black).where(*standing)):
        found.update((white, black))
    return dict(found)
