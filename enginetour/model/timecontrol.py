"""Time controls: grammar (40/60+0.6 and others), parser, time classes (bullet, blitz, rapid, ...), and time odds.

A clock has stages ``moves/seconds+increment`` joined by ``:``. A stage without ``moves/`` lasts to the end of the game,
and the last stage repeats. ``hourglass=S`` is a clock too: it adds the time that one side uses to the other (PGN:
``*S``). ``movetime=S``, ``nodes=N`` and ``depth=N`` are joined by commas; the last two can follow a clock. ``M:SS``
does not mean minutes, as it does in cutechess and fastchess: ``:`` joins stages, as in PGN.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache

# One day per stage: a longer stage is a mistake.
LONGEST_STAGE_MS = 86_400_000
# Engines search less than 256 plies (MAX_PLY of Stockfish is 246). Nodes have 15 digits, which is more than a day.
_LARGEST = {"nodes": 10**15 - 1, "depth": 1000}
_SECONDS = r"(?:[0-9]{1,6}(?:\.[0-9]{0,3})?|\.[0-9]{1,3})"  # `.1` is valid, as in cutechess and fastchess
_STAGE = re.compile(rf"(?:([0-9]{{1,4}})/)?({_SECONDS})(?:\+({_SECONDS}))?")


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of a clock: `moves` moves in `base_ms` milliseconds, plus `increment_ms` after each move.

    If `moves` is 0, the stage lasts to the end of the game.
    """

    moves: int
    base_ms: int
    increment_ms: int = 0


@dataclass(frozen=True, slots=True)
class TimeControl:
    """A clock (stages), or a fixed time per move, nodes or depth; the first limit that is reached ends a search.

    An hourglass is a clock of one stage without increment; used time is added to the opponent's clock.
    """

    stages: tuple[Stage, ...] = ()
    movetime_ms: int | None = None
    nodes: int | None = None
    depth: int | None = None
    hourglass: bool = False

    @property
    def limits(self) -> frozenset[str]:
        """The search limits that an engine must support: clock, movetime, nodes, depth."""
        present = {
            "clock": bool(self.stages),
            "movetime": self.movetime_ms is not None,
            "nodes": self.nodes is not None,
            "depth": self.depth is not None,
        }
        return frozenset(name for name, there in present.items() if there)

    def stage(self, number: int) -> Stage:
        """Return the stage with this number, counted from 0; the last stage repeats."""
        return self.stages[min(number, len(self.stages) - 1)]

    @classmethod
    def parse(cls, text: str) -> TimeControl:
        """Parse a time control; raise ValueError, with the reason, if it is not valid."""
        stages: tuple[Stage, ...] = ()
        hourglass = False
        limits: dict[str, int] = {}
        for part in (piece.strip() for piece in text.split(",")):
            name, equals, value = (bit.strip() for bit in part.partition("="))
            if not equals and part.startswith("*"):  # PGN standard, 9.6.1
                name, value = "hourglass", part[1:]
            if not equals or name == "hourglass":
                if stages:
                    raise ValueError(f"a time control can have only one clock (found {text!r})")
                hourglass = name == "hourglass"
                stages = (
                    _sand(value, text) if hourglass else tuple(_stage(one.strip(), text) for one in part.split(":"))
                )
                continue
            if name not in ("movetime", "nodes", "depth"):
                raise ValueError(f"unknown limit {name!r} in {text!r}; known: hourglass, movetime, nodes, depth")
            if name in limits:
                raise ValueError(f"{name} is given twice in {text!r}")
            limits[name] = _movetime(value, text) if name == "movetime" else _count(name, value, text)
        if "movetime" in limits and stages:
            raise ValueError(f"a clock cannot be combined with a fixed time per move (found {text!r})")
        return cls(stages, limits.get("movetime"), limits.get("nodes"), limits.get("depth"), hourglass)

    def scaled(self, by: float, *, nodes: bool = True) -> TimeControl:
        """Multiply times in milliseconds and, if wanted, nodes; round down, but never to zero.

        Moves of a stage and depth do not change. Raise ValueError for a stage or a move of more than a day.
        """
        factor = Decimal(str(by))
        found = self._changed(lambda amount: int(amount * factor), nodes=nodes)
        if (
            max((found.movetime_ms or 0, *(max(one.base_ms, one.increment_ms) for one in found.stages)))
            > LONGEST_STAGE_MS
        ):
            raise ValueError(f"{self} multiplied by {by:g} is longer than a day")
        return found

    def seconds(self, moves: int) -> float | None:
        """Return the time of one side for a number of moves; None without a clock or a time per move."""
        if self.movetime_ms is not None:
            return moves * self.movetime_ms / 1000
        if not self.stages or self.hourglass:
            return None
        number, used = 0, 0
        while moves:
            stage = self.stage(number)
            length = min(stage.moves or moves, moves)
            used += stage.base_ms + length * stage.increment_ms
            moves -= length
            number += 1
        return used / 1000

    @property
    def is_divisible(self) -> bool:
        """Return whether there is a clock, a time per move or a number of nodes to divide."""
        return bool(self.stages or self.movetime_ms or self.nodes)

    def divided(self, by: float) -> TimeControl:
        """Divide times in milliseconds and nodes, rounded down but never to zero; depth does not change."""
        return self._changed(lambda amount: int(amount / by))

    def _changed(self, change: Callable[[int], int], *, nodes: bool = True) -> TimeControl:
        def part(amount: int) -> int:
            return max(1, change(amount)) if amount else 0

        return replace(
            self,
            stages=tuple(Stage(each.moves, part(each.base_ms), part(each.increment_ms)) for each in self.stages),
            movetime_ms=self.movetime_ms and part(self.movetime_ms),
            nodes=part(self.nodes) if nodes and self.nodes else self.nodes,
        )

    def __str__(self) -> str:
        """Format as text that `parse` converts back."""
        parts = []
        if self.hourglass:
            parts.append(f"hourglass={seconds_text(self.stages[0].base_ms)}")
        elif self.stages:
            parts.append(":".join(_stage_text(stage) for stage in self.stages))
        if self.movetime_ms is not None:
            parts.append(f"movetime={seconds_text(self.movetime_ms)}")
        if self.nodes is not None:
            parts.append(f"nodes={self.nodes}")
        if self.depth is not None:
            parts.append(f"depth={self.depth}")
        return ",".join(parts)


def seconds_text(ms: int) -> str:
    """Format milliseconds as seconds without trailing zeros: 1500 -> ``1.5``."""
    return f"{ms / 1000:.3f}".rstrip("0").rstrip(".")


def _milliseconds(number: str) -> int:
    return int(Decimal(number) * 1000)


def _stage(piece: str, text: str) -> Stage:
    match = _STAGE.fullmatch(piece)
    if match is None:
        where = "" if piece == text else f" in {text!r}"
        example = "for example 10+0.1, 40/60+0.6, hourglass=60 or nodes=1000"
        raise ValueError(f"{piece!r} is not a valid time control{where}; write {example}")
    moves = int(match[1]) if match[1] is not None else 0
    stage = Stage(moves, _milliseconds(match[2]), _milliseconds(match[3] or "0"))
    if match[1] is not None and moves == 0:
        raise ValueError(f"a stage must have at least 1 move (found {text!r})")
    if stage.base_ms + stage.increment_ms <= 0 or max(stage.base_ms, stage.increment_ms) > LONGEST_STAGE_MS:
        hint = "" if piece == text else "; write minutes in seconds, 1:30 as 90"
        raise ValueError(f"a stage must be longer than 0 s and at most a day (found {piece!r}){hint}")
    return stage


def _sand(value: str, text: str) -> tuple[Stage, ...]:
    if not re.fullmatch(_SECONDS, value):
        raise ValueError(
            f"hourglass must be a number of seconds above 0, without increment (found {value!r} in {text!r})"
        )
    return (_stage(value, text),)


def _stage_text(stage: Stage) -> str:
    moves = f"{stage.moves}/" if stage.moves else ""
    increment = f"+{seconds_text(stage.increment_ms)}" if stage.increment_ms else ""
    return f"{moves}{seconds_text(stage.base_ms)}{increment}"


def _movetime(value: str, text: str) -> int:
    if not re.fullmatch(_SECONDS, value) or not 0 < _milliseconds(value) <= LONGEST_STAGE_MS:
        raise ValueError(f"movetime must be a number of seconds above 0 (found {value!r} in {text!r})")
    return _milliseconds(value)


def _count(name: str, value: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,15}", value) or not 1 <= int(value) <= _LARGEST[name]:
        raise ValueError(f"{name} must be a whole number from 1 to {_LARGEST[name]} (found {value!r} in {text!r})")
    return int(value)


LONG_GAME = 80  # moves of a long game between engines; CCRL's games have 60 to 70 on average
# Share of the time of a long game that an average game takes: 0.75 to 0.85 for engines of Debian (measured).
_USUAL_SHARE = 0.8


def expected_seconds(controls: Iterable[TimeControl]) -> float | None:
    """Return the expected seconds of a game with these time controls, or None if one of them has no time limit."""
    longest = [tc.seconds(LONG_GAME) for tc in controls]
    known = [seconds for seconds in longest if seconds is not None]
    return 2 * _USUAL_SHARE * sum(known) / len(known) if known and len(known) == len(longest) else None


def pgn_control(text: str) -> str:
    """Convert a time control to PGN, where an hourglass begins with an asterisk."""
    return text.replace("hourglass=", "*")


def format_controls(white: str, black: str) -> str:
    """Format both time controls of an entrant: ``10+0.1``, or one for each color."""
    return white if white == black else f"{white} with White, {black} with Black"


# Time classes: each game has exactly one.
#
# class                            seconds for the first 40 moves     source
# ultrabullet, bullet, blitz,      below 30, 180, 480, 1500, and      Lichess: base + 40 increments
# rapid, classical                 everything above
# nodes, depth, movetime           none; also with a clock            a choice of enginetour: named after the limit
# odds                             the sides have different classes   a choice of enginetour
# unknown                          the control is not valid           a choice of enginetour; games from files

_MOVES = 40  # Lichess estimates 40 moves per game
_BOUNDS_S = {"ultrabullet": 30, "bullet": 180, "blitz": 480, "rapid": 1500}  # Lichess: estimated seconds, exclusive
_SLOWEST = "classical"
_LIMITS = ("nodes", "depth", "movetime")  # the first limit that is present is the class
ODDS, UNKNOWN = "odds", "unknown"
TIME_CLASSES = (*_BOUNDS_S, _SLOWEST, *_LIMITS, ODDS, UNKNOWN)


def time_class(white_tc: str, black_tc: str) -> str:
    """Return the class of a game with these time controls, one of `TIME_CLASSES`."""
    white, black = class_of(white_tc), class_of(black_tc)
    return white if white == black else ODDS


@lru_cache(maxsize=4096)
def class_of(control: str) -> str:
    """Return the class of one time control in the notation of enginetour or of a PGN tag."""
    try:
        parsed = TimeControl.parse(control)
    except ValueError:
        return UNKNOWN
    for limit in _LIMITS:
        if limit in parsed.limits:
            return limit
    seconds = _thinking_ms(parsed) / 1000
    return next((name for name, bound in _BOUNDS_S.items() if seconds < bound), _SLOWEST)


def _thinking_ms(control: TimeControl) -> int:
    """Return the time of a clock for one side's first 40 moves; a repeated stage counts as soon as it starts."""
    total, left, number = 0, _MOVES, 0
    while left > 0:
        stage = control.stage(number)
        moves = min(stage.moves or left, left)
        total += stage.base_ms + moves * stage.increment_ms
        left -= moves
        number += 1
    return total


def describe_time_classes(classes: tuple[str, ...]) -> str:
    """Format classes with their limits for the caption of a list: ``blitz (180 to 480 s for 40 moves)``."""
    return ", ".join(_describe_class(name) for name in classes)


def _describe_class(name: str) -> str:
    ends = [0, *_BOUNDS_S.values()]
    if name == _SLOWEST:
        return f"{name} (from {ends[-1]} s for {_MOVES} moves)"
    if name not in _BOUNDS_S:
        return name
    place = list(_BOUNDS_S).index(name)
    return f"{name} ({ends[place]} to {ends[place + 1]} s for {_MOVES} moves)"


# Time odds: a handicap in bands shortens the clock of the side that gives it.
#
# A handicap of h bands divides the time by 2^(100 h / 70), at most by 32; the `odds` table of the user replaces this
# formula. The worth of a doubling of time differs from engine to engine, so ratings exclude games at odds.

_BAND = 100  # rating points of a band, which is a grade or a handicap stone in Go (Vuorinen 2010)
DOUBLING = 70  # assumed worth of a doubling of time in rating points: a choice of enginetour between 50 and 100
# A choice of enginetour: five doublings; shorter clocks would measure the operating system, not the engine.
MAX_ODDS = 32.0


def odds_divisor(bands: int, table: Sequence[float] | None = None) -> float:
    """Return the divisor of the time of the side that gives odds; the last value of a table repeats."""
    if bands < 1:
        return 1.0
    if table:
        return table[min(bands, len(table)) - 1]
    return float(min(MAX_ODDS, 2 ** (bands * _BAND / DOUBLING)))
