"""What a plan comes to before its first game: games, hours, warnings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from enginetour.model.timecontrol import TimeControl
from enginetour.reports.sheet import counted
from enginetour.tournament.config.controls import cautions, told
from enginetour.tournament.config.rulebook import table_lines
from enginetour.tournament.demand import crowded
from enginetour.tournament.plan import FEWEST, Plan, refuse_field, scale_doubts

# Moves of a long game between engines; CCRL's games last 60 to 70 on average.
LONG_GAME = 80


def foretold(plan: Plan) -> dict[str, Any]:
    """JSON-ready: games to come at most, at least and likely, an upper bound of the hours for them, and warnings.

    InputRefused for a field that cannot be paired.
    """
    refuse_field(plan)
    state = plan.format.start(plan.entrants)
    notes = plan.format.notes(state)
    fewest, most = plan.format.remaining(state)
    sides = plan.sides.values()
    moves, speed = long_game(plan), _speed(plan)
    played = [side.playing(white=white).at_speed(speed) for side in sides for white in (True, False)]
    longest = [_longest_s(side.tc, moves) for side in played]
    hours = None
    if all(seconds is not None for seconds in longest):
        hours = most * 2 * max(seconds or 0.0 for seconds in longest) / 3600 / plan.config.play.slots
    return {
        "fewest": fewest,
        "most": most,
        "likely": plan.format.likely(state),
        "longest_hours": hours,
        "openings": len(plan.suite.openings),
        "tables": list(table_lines(plan.config)),
        "suite": plan.suite.told + (plan.suite.shared(_meetings(plan)) if len(plan.entrants) > FEWEST else ""),
        "starts": [note.text for note in notes if note.kind == "starts"],
        "warnings": [note.text for note in notes if note.is_warning]
        + [f"round 1: {remark}" for note in notes for remark in note.remarks]
        + list(scale_doubts(plan))
        + list(cautions(sides))
        + list(_again(plan, most))
        + list(crowded(sides, plan.config.play.slots)),
        "controls": {name: told(side) for name, side in plan.sides.items()},
        "test": plan.format.foretold() if hasattr(plan.format, "foretold") else None,
    }


def long_game(plan: Plan) -> int:
    """Moves of a game by which hours are reckoned."""
    return min(LONG_GAME, plan.config.play.max_moves)


def _speed(plan: Plan) -> float | None:
    """By which clocks go, as far as it is known."""
    wish = plan.wanted_speed
    return plan.speed if plan.speed is not None or isinstance(wish, str) else wish


def _meetings(plan: Plan) -> int:
    """Games of two that meet as often as the format lets them meet on purpose."""
    options = plan.config.format_options
    return int(options.games_per_pairing) * int(getattr(options, "cycles", 1))


def _again(plan: Plan, most: int) -> Iterator[str]:
    """Without a clock two that have played an opening with both colours play the same games on it again."""
    played = [side.playing(white=white).tc for side in plan.sides.values() for white in (True, False)]
    if any(tc.stages or tc.movetime_ms for tc in played):
        return
    pair = most if len(plan.entrants) == FEWEST else _meetings(plan) if plan.suite.per == "pairing" else 0
    openings = len(plan.suite.openings)
    if pair > 2 * openings:
        again = f"{pair - 2 * openings} of {pair} games of two are an earlier one over again"
        yield f"without a clock {again}, with {counted(openings, 'opening')}: figures count them as new"


def _longest_s(tc: TimeControl, moves: int) -> float | None:
    """Seconds one side can use in so many moves; None where no clock bounds it."""
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
