"""Time controls: the grammar of 40/60+0.6 and the like, how it is parsed, and time classes (bullet, blitz, rapid, ...).

Stages ``moves/seconds+increment`` joined by ``:``; without ``moves/`` a stage lasts for ever and the last
stage repeats. ``hourglass=S`` is a clock too: what one side uses runs to the other (PGN: ``*S``). ``movetime=S``,
``nodes=N``, ``depth=N`` stand alone or beside each other after a comma, the last two beside a clock too. ``M:SS`` is
not read as minutes, as cutechess and fastchess do: ``:`` joins stages, as in PGN.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache

# One day per stage: a longer stage is a typing error.
LONGEST_STAGE_MS = 86_400_000
_SECONDS = r"(?:\d{1,6}(?:\.\d{0,3})?|\.\d{1,3})"  # `.1` as both peers read it
_STAGE = re.compile(rf"(?:(\d{{1,4}})/)?({_SECONDS})(?:\+({_SECONDS}))?")


@dataclass(frozen=True, slots=True)
class Stage:
    """`moves` in `base_ms` milliseconds, `increment_ms` after each; `moves` 0 lasts to the end of the game."""

    moves: int
    base_ms: int
    increment_ms: int = 0


@dataclass(frozen=True, slots=True)
class TimeControl:
    """A clock (stages) or a fixed time a move, nodes, depth; what comes first ends a search.

    An hourglass is a clock of one stage without increment, whose time goes to an opponent with another one.
    """

    stages: tuple[Stage, ...] = ()
    movetime_ms: int | None = None
    nodes: int | None = None
    depth: int | None = None
    hourglass: bool = False

    @property
    def limits(self) -> frozenset[str]:
        """The kinds of limit an engine must obey for this control: clock, movetime, nodes, depth."""
        present = {
            "clock": bool(self.stages),
            "movetime": self.movetime_ms is not None,
            "nodes": self.nodes is not None,
            "depth": self.depth is not None,
        }
        return frozenset(name for name, there in present.items() if there)

    def stage(self, number: int) -> Stage:
        """Stage `number` from 0; the last one repeats."""
        return self.stages[min(number, len(self.stages) - 1)]

    @classmethod
    def parse(cls, text: str) -> TimeControl:
        """Read the grammar above; ValueError says what is wrong in words for the user."""
        stages: tuple[Stage, ...] = ()
        hourglass = False
        limits: dict[str, int] = {}
        for part in (piece.strip() for piece in text.split(",")):
            name, equals, value = (bit.strip() for bit in part.partition("="))
            if not equals and part.startswith("*"):  # as PGN has it (9.6.1 of its standard)
                name, value = "hourglass", part[1:]
            if not equals or name == "hourglass":
                if stages:
                    raise ValueError(f"two clocks in {text!r}")
                hourglass = name == "hourglass"
                stages = (
                    _sand(value, text) if hourglass else tuple(_stage(one.strip(), text) for one in part.split(":"))
                )
                continue
            if name not in ("movetime", "nodes", "depth"):
                raise ValueError(f"unknown limit {name!r} in {text!r}; known: hourglass, movetime, nodes, depth")
            if name in limits:
                raise ValueError(f"{name} twice in {text!r}")
            limits[name] = _movetime(value, text) if name == "movetime" else _count(name, value, text)
        if "movetime" in limits and stages:
            raise ValueError(f"a clock or a fixed time a move, found both in {text!r}")
        return cls(stages, limits.get("movetime"), limits.get("nodes"), limits.get("depth"), hourglass)

    def scaled(self, by: float, *, nodes: bool = True) -> TimeControl:
        """Times in whole milliseconds and, if wanted, nodes, times `by`; rounded down but never to nothing.

        Moves of a stage and depth stay. ValueError for a stage, or a move, of more than a day.
        """
        factor = Decimal(str(by))
        found = self._changed(lambda amount: int(amount * factor), nodes=nodes)
        if (
            max((found.movetime_ms or 0, *(max(one.base_ms, one.increment_ms) for one in found.stages)))
            > LONGEST_STAGE_MS
        ):
            raise ValueError(f"{self} times {by:g} is more than a day")
        return found

    @property
    def is_divisible(self) -> bool:
        """Whether there is a clock, a time a move or a number of nodes to divide; a depth is none of them."""
        return bool(self.stages or self.movetime_ms or self.nodes)

    def divided(self, by: float) -> TimeControl:
        """Times in whole milliseconds and nodes, rounded down but never to nothing; moves of a stage and depth stay."""
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
        """The text that `parse` reads back to the same control."""
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
    """Milliseconds as seconds without trailing zeros: 1500 -> ``1.5``."""
    return f"{ms / 1000:.3f}".rstrip("0").rstrip(".")


def _milliseconds(number: str) -> int:
    return int(Decimal(number) * 1000)


def _stage(piece: str, text: str) -> Stage:
    match = _STAGE.fullmatch(piece)
    if match is None:
        where = "" if piece == text else f" in {text!r}"
        raise ValueError(f"cannot read {piece!r}{where}; write for example 10+0.1, 40/60+0.6, hourglass=60, nodes=1000")
    moves = int(match[1]) if match[1] is not None else 0
    stage = Stage(moves, _milliseconds(match[2]), _milliseconds(match[3] or "0"))
    if match[1] is not None and moves == 0:
        raise ValueError(f"a stage of 0 moves in {text!r}")
    if stage.base_ms + stage.increment_ms <= 0 or max(stage.base_ms, stage.increment_ms) > LONGEST_STAGE_MS:
        hint = "" if piece == text else "; minutes are written in seconds, 1:30 as 90"
        raise ValueError(f"a stage must last more than 0 s and at most a day, found {piece!r}{hint}")
    return stage


def _sand(value: str, text: str) -> tuple[Stage, ...]:
    if not re.fullmatch(_SECONDS, value):
        raise ValueError(f"hourglass is seconds above 0, without increment, found {value!r} in {text!r}")
    return (_stage(value, text),)


def _stage_text(stage: Stage) -> str:
    moves = f"{stage.moves}/" if stage.moves else ""
    increment = f"+{seconds_text(stage.increment_ms)}" if stage.increment_ms else ""
    return f"{moves}{seconds_text(stage.base_ms)}{increment}"


def _movetime(value: str, text: str) -> int:
    if not re.fullmatch(_SECONDS, value) or not 0 < _milliseconds(value) <= LONGEST_STAGE_MS:
        raise ValueError(f"movetime is seconds above 0, found {value!r} in {text!r}")
    return _milliseconds(value)


def _count(name: str, value: str, text: str) -> int:
    if not re.fullmatch(r"\d{1,15}", value) or int(value) < 1:
        raise ValueError(f"{name} is a whole number above 0, found {value!r} in {text!r}")
    return int(value)


def pgn_control(text: str) -> str:
    """A control as PGN names it: an hourglass by its asterisk, everything else in our words."""
    return text.replace("hourglass=", "*")


def format_controls(white: str, black: str) -> str:
    """What somebody plays by, for people: ``10+0.1``, or one control with each colour."""
    return white if white == black else f"{white} with White, {black} with Black"


# Time classes: every game has exactly one.
#
# class                            seconds for the first 40 moves     source
# ultrabullet, bullet, blitz,      below 30, 180, 480, 1500, and      Lichess: base + 40 increments
# rapid, classical                 everything above
# nodes, depth, movetime           none: a class by the limit's name  ours; a clock beside it changes nothing
# odds                             the sides are of different classes ours
# unknown                          the control cannot be read         ours; games from files

_MOVES = 40  # Lichess: a game is taken to last 40 moves
_BOUNDS_S = {"ultrabullet": 30, "bullet": 180, "blitz": 480, "rapid": 1500}  # Lichess: estimated seconds, exclusive
_SLOWEST = "classical"
_LIMITS = ("nodes", "depth", "movetime")  # the first that is there names the class
ODDS, UNKNOWN = "odds", "unknown"
TIME_CLASSES = (*_BOUNDS_S, _SLOWEST, *_LIMITS, ODDS, UNKNOWN)


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
    for limit in _LIMITS:
        if limit in parsed.limits:
            return limit
    seconds = _thinking_ms(parsed) / 1000
    return next((name for name, bound in _BOUNDS_S.items() if seconds < bound), _SLOWEST)


def _thinking_ms(control: TimeControl) -> int:
    """What a clock gives one side for the first 40 moves; periods that repeat are counted as they begin."""
    total, left, number = 0, _MOVES, 0
    while left > 0:
        stage = control.stage(number)
        moves = min(stage.moves or left, left)
        total += stage.base_ms + moves * stage.increment_ms
        left -= moves
        number += 1
    return total


def describe_time_classes(classes: tuple[str, ...]) -> str:
    """The classes with their bounds, for the caption of a list: ``blitz (180 to 480 s for 40 moves)``."""
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
# A handicap of h divides the giver's time by 2^(100 h / 70), at most by 32; a table of the user's own replaces the
# formula. What a doubling of time is worth differs from engine to engine, so games at odds are no even games for
# ratings.

_BAND = 100  # rating points of a band: a grade, so a handicap stone, of Go (Vuorinen 2010)
DOUBLING = 70  # rating points that a doubling of time is assumed to be worth: our choice between 50 and 100
MAX_ODDS = 32.0  # our choice: five doublings; shorter clocks measure the operating system, not the engine


def odds_divisor(bands: int, table: Sequence[float] | None = None) -> float:
    """By what the time of the giver of so many bands is divided; beyond the end of a table its last number holds."""
    if bands < 1:
        return 1.0
    if table:
        return table[min(bands, len(table)) - 1]
    return float(min(MAX_ODDS, 2 ** (bands * _BAND / DOUBLING)))
