"""Limits of the machine checked before game 1: processors, open files, and the hours a tournament takes."""

from __future__ import annotations

import resource
from collections.abc import Iterable, Iterator
from itertools import permutations
from typing import Any

from enginetour.engines.machine import Cores, allowed_processors, find_cores
from enginetour.model.errors import InputRefused, UsageRefused
from enginetour.model.task import DeclaredOption, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.reports.sheet import format_count
from enginetour.tournament.config.entrants import control_warnings, describe_controls, describe_tables
from enginetour.tournament.plan import FEWEST, Plan, refuse_field, scale_doubts

# Processors (slots, threads, pondering) and open files that concurrent games need.

# Open files of a run: 22 with two slots, 4 of them for each; of a slot 23 while an engine starts (measured),
# and one for the name of its processor.
FILES, _SLOT_FILES = 32, 4


def processors_wanted(sides: Iterable[Side], slots: int) -> int:
    """Processors of the hungriest pair times slots: one side thinks, the other may ponder."""
    each = [(side.spec.threads, side.spec.ponder) for side in sides]
    games = (thinks + (ponders if may else 0) for (thinks, _), (ponders, may) in permutations(each, 2))
    return slots * max(games, default=max((own for own, _ in each), default=0))


def processor_shortage(sides: Iterable[Side], slots: int, processors: int) -> Iterator[str]:
    """A warning where there are fewer than wanted."""
    sides = tuple(sides)
    want = processors_wanted(sides, slots)
    if want > processors:
        why = " and pondering" if any(side.spec.ponder for side in sides) else ""
        here = f"this machine has {processors} for it"
        yield f"games want {want} processors at once by slots, threads{why}; {here}: engines steal each other's time"


def overload_warnings(sides: Iterable[Side], slots: int) -> Iterator[str]:
    """The warning where this process may use fewer."""
    return processor_shortage(sides, slots, allowed_processors().count)


def refuse_overload(slots: int, *, force: bool) -> None:
    """UsageRefused for more slots than this process may use processors, unless that is meant."""
    here = allowed_processors()
    if slots > here.count and not force:
        what = f"{slots} slots on {here} would steal time from the engines"
        raise UsageRefused(what, step="lower slots, or say --force")


def own_cores(sides: Iterable[Side], slots: int, place: str) -> Cores:
    """For the engines of each slot as many as its hungriest pair wants; InputRefused at `place` where they lack."""
    found = find_cores(processors_wanted(sides, 1))
    if lacking := found.lacking(slots):
        step = "lower slots or the engines' threads, or leave affinity out"
        raise InputRefused(f"affinity: {lacking}", place=place, step=step)
    return found


def silent_ponderers(side: Side, declared: Iterable[DeclaredOption]) -> Iterator[str]:
    """A warning where pondering was asked of an engine that will not be told to."""
    spec = side.spec
    if not spec.ponder or spec.protocol == "cecp":
        return
    if spec.quirks.line_delay_ms:
        yield f"{spec.name} does not ponder: it needs line_delay_ms between its lines"
    elif any(name.casefold() == "ponder" and value.casefold() == "false" for name, value in spec.options):
        yield f"{spec.name} does not ponder: its options say Ponder = false"
    elif not any(option.name.casefold() == "ponder" for option in declared):
        yield f"{spec.name} does not ponder: it declares no option Ponder"


def _few_files(slots: int) -> tuple[int, int] | None:
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = FILES + _SLOT_FILES * slots
    return (most, needed) if most != resource.RLIM_INFINITY and most < needed else None


def refuse_few_files(slots: int) -> None:
    """UsageRefused before anything starts, where games would fail one after the other."""
    if (few := _few_files(slots)) is not None:
        most, needed = few
        what = f"{most} open files are too few, {slots} slot{'s' * (slots != 1)} need {needed}"
        raise UsageRefused(what, place="ulimit -n", step="say ulimit -n 1024")


# Estimate before the first game: number of games, hours, warnings.

# Moves of a long game between engines; CCRL's games last 60 to 70 on average.
_LONG_GAME = 80


def estimate_duration(plan: Plan) -> dict[str, Any]:
    """JSON-ready: games to come at most, at least and likely, an upper bound of the hours for them, and warnings.

    InputRefused for a field that cannot be paired.
    """
    refuse_field(plan)
    state = plan.format.start(plan.entrants)
    notes = plan.format.notes(state)
    fewest, most = plan.format.remaining(state)
    sides = plan.sides.values()
    moves, speed = long_game_moves(plan), _speed(plan)
    controls = [tc for side in sides for tc in side.controls]
    longest = [_longest_s(tc if speed is None else tc.scaled(1 / speed, nodes=False), moves) for tc in controls]
    hours = None
    if all(seconds is not None for seconds in longest):
        hours = most * 2 * max(seconds or 0.0 for seconds in longest) / 3600 / plan.config.play.slots
    return {
        "fewest": fewest,
        "most": most,
        "likely": plan.format.likely(state),
        "longest_hours": hours,
        "openings": len(plan.suite.openings),
        "tables": list(describe_tables(plan.config)),
        "suite": plan.suite.description + (plan.suite.shared(_meetings(plan)) if len(plan.entrants) > FEWEST else ""),
        "starts": [note.text for note in notes if note.kind == "starts"],
        "warnings": [note.text for note in notes if note.is_warning]
        + [f"round 1: {remark}" for note in notes for remark in note.remarks]
        + list(scale_doubts(plan))
        + list(control_warnings(sides))
        + list(_again(plan, most))
        + list(overload_warnings(sides, plan.config.play.slots)),
        "controls": {name: describe_controls(side) for name, side in plan.sides.items()},
        "test": plan.format.foretold() if hasattr(plan.format, "foretold") else None,
    }


def long_game_moves(plan: Plan) -> int:
    """Moves of a game by which hours are reckoned."""
    return min(_LONG_GAME, plan.config.play.max_moves)


def _speed(plan: Plan) -> float | None:
    wish = plan.wanted_speed
    return plan.speed if plan.speed is not None or isinstance(wish, str) else wish


def _meetings(plan: Plan) -> int:
    """Games of two that meet as often as the format lets them meet on purpose."""
    options = plan.config.format_options
    return int(options.games_per_pairing) * int(getattr(options, "cycles", 1))


def _again(plan: Plan, most: int) -> Iterator[str]:
    """Without a clock two that have played an opening with both colours play the same games on it again."""
    if any(tc.stages or tc.movetime_ms for side in plan.sides.values() for tc in side.controls):
        return
    pair = most if len(plan.entrants) == FEWEST else _meetings(plan) if plan.suite.per == "pairing" else 0
    openings = len(plan.suite.openings)
    if pair > 2 * openings:
        again = f"{pair - 2 * openings} of {pair} games of two are an earlier one over again"
        yield f"without a clock {again}, with {format_count(openings, 'opening')}: figures count them as new"


def _longest_s(tc: TimeControl, moves: int) -> float | None:
    if tc.movetime_ms is not None:
        return moves * tc.movetime_ms / 1000
    if not tc.stages or tc.hourglass:
        return None
    number, used = 0, 0
    while True:
        stage = tc.stage(number)
        length = min(stage.moves or moves, moves)
        used += stage.base_ms + length * stage.increment_ms
        moves -= length
        number += 1
        if not moves:
            return used / 1000
