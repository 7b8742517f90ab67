"""What rating systems have in common: the games they read and the events they write.

Both are named tuples: a fold makes two events a game, and a frozen dataclass takes nearly four times as long.
"""

from __future__ import annotations

from typing import NamedTuple

CAPTION = "incremental: no error can be given; more games, surer ratings"
LARGEST = 1_000_000  # points; no list spans a hundredth of it, and a double still tells a 1e-9th of one


class RatedGame(NamedTuple):
    """A game as rating systems see it. `game` grows in log order; `event` names the tournament edition.

    `handicap`: bands or stones that White gives, below 0 those that Black gives.
    """

    white: str
    black: str
    white_half_points: int  # 0, 1, 2
    game: int
    event: str = ""
    handicap: int = 0


class RatingEvent(NamedTuple):
    """One change of one rating, append-only. `game` is None for systems that rate a whole event at once.

    `weight` is the K or con that was used; `games` counts the engine's rated games after this event.
    """

    system: str
    engine: str
    event: str
    game: int | None
    before: float
    change: float
    after: float
    weight: float
    games: int
