"""Which class of time control a game belongs to: every game has exactly one.

class                            seconds for the first 40 moves     source
ultrabullet, bullet, blitz,      below 30, 180, 480, 1500, and      Lichess: base + 40 increments
rapid, classical                 everything above
nodes, depth, movetime           none: a class by the limit's name  ours; a clock beside it changes nothing
odds                             the sides are of different classes ours
unknown                          the control cannot be read         ours; games from files
"""

from __future__ import annotations

from functools import lru_cache

from enginetour.model.timecontrol import TimeControl

MOVES = 40  # Lichess: a game is taken to last 40 moves
BOUNDS_S = {"ultrabullet": 30, "bullet": 180, "blitz": 480, "rapid": 1500}  # Lichess: estimated seconds, exclusive
SLOWEST = "classical"
LIMITS = ("nodes", "depth", "movetime")  # the first that is there names the class
ODDS, UNKNOWN = "odds", "unknown"
TIME_CLASSES = (*BOUNDS_S, SLOWEST, *LIMITS, ODDS, UNKNOWN)


def time_class(white_tc: str, black_tc: str) -> str:
    """The class of a game with these controls, one of `TIME_CLASSES`."""
    white, black = class_of(white_tc), class_of(black_tc)
    return white if white == black else ODDS


@lru_cache(maxsize=4096)
def class_of(control: str) -> str:
    """The class of one control, as we write it or as a PGN tag has it."""
    try:
        parsed = TimeControl.parse(control)
    except ValueError:
        return UNKNOWN
    for limit in LIMITS:
        if limit in parsed.limits:
            return limit
    seconds = thinking_ms(parsed) / 1000
    return next((name for name, bound in BOUNDS_S.items() if seconds < bound), SLOWEST)


def thinking_ms(control: TimeControl) -> int:
    """What a clock gives one side for the first 40 moves; periods that repeat are counted as they begin."""
    total, left, number = 0, MOVES, 0
    while left > 0:
        stage = control.stage(number)
        moves = min(stage.moves or left, left)
        total += stage.base_ms + moves * stage.increment_ms
        left -= moves
        number += 1
    return total


def bounds_told(classes: tuple[str, ...]) -> str:
    """The classes with their bounds, for the caption of a list: ``blitz (180 to 480 s for 40 moves)``."""
    return ", ".join(_told(name) for name in classes)


def _told(name: str) -> str:
    ends = [0, *BOUNDS_S.values()]
    if name == SLOWEST:
        return f"{name} (from {ends[-1]} s for {MOVES} moves)"
    if name not in BOUNDS_S:
        return name
    place = list(BOUNDS_S).index(name)
    return f"{name} ({ends[place]} to {ends[place + 1]} s for {MOVES} moves)"
