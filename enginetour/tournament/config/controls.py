"""By which time control an entrant plays each colour, when a configuration names several.

1. The most particular word counts alone: the entrant's own for the colour (`white_tc`, `black_tc`), then its `tc`,
   then the tournament's for the colour under ``[play]``, then the tournament's `tc`.
2. The entrant's `tc_factor` multiplies what was found: times and nodes.
3. In a game at odds the giver's is divided after that (`odds`).
4. Times, not nodes, are divided by the `speed` of the machine (`Side.at_speed`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from enginetour.model.errors import InputRefused
from enginetour.model.task import Side, is_divisible
from enginetour.model.timecontrol import LONGEST_STAGE_MS, Stage, TimeControl, seconds_text
from enginetour.tournament.config.config import Config
from enginetour.tournament.config.sections_entrants import EntrantSection

SHORTEST_CECP_MS = 1_000  # `level` cannot say a shorter base (runner spec 8)


def control_of(config: Config, section: EntrantSection, name: str, *, white: bool) -> tuple[TimeControl, str]:
    """An entrant's control with that colour, and the place that names it; InputRefused for a factor it cannot take."""
    key = "white_tc" if white else "black_tc"
    play, number = config.play, _number(config, section)
    found = ((section, key), (section, "tc"), (play, key), (play, "tc"))
    owner, said = next((owner, said) for owner, said in found if getattr(owner, said) is not None)
    tc = TimeControl.parse(getattr(owner, said))
    place = config.at("play", said) if owner is play or number is None else config.at("entrants", number, said)
    if section.tc_factor is None:
        return tc, place
    at = place if number is None else config.at("entrants", number, "tc_factor")
    if not is_divisible(tc):
        step = "give it a clock, a movetime or nodes, or leave tc_factor out"
        raise InputRefused(f"{name} plays by {tc}, which no factor changes", place=at, step=step)
    try:
        return tc.scaled(section.tc_factor), place
    except ValueError as error:
        raise InputRefused(f"{name}: {error}", place=at, step="choose a smaller tc_factor") from None


def _number(config: Config, section: EntrantSection) -> int | None:
    """Its place in the file; None for one that is not of the file."""
    return next((number for number, each in enumerate(config.entrants) if each is section), None)


def told(side: Side) -> str:
    """``10+0.1``, or ``10+0.1 with White, 5+0.1 with Black``."""
    return str(side.tc) if side.black is None else f"{side.tc} with White, {side.black.tc} with Black"


def cautions(sides: Iterable[Side]) -> Iterator[str]:
    """What a tester should know of the engines' controls before the first game, each of it once."""
    shortest: dict[TimeControl, list[str]] = {}
    likened: dict[TimeControl, None] = {}
    for side in sides:
        for tc in {side.tc: None, side.black.tc if side.black is not None else side.tc: None}:
            if side.spec.protocol == "cecp" and tc.stages and tc.stages[0].base_ms < SHORTEST_CECP_MS:
                shortest.setdefault(tc, []).append(side.spec.name)
            if _looks_like_minutes(tc):
                likened[tc] = None
    for tc, names in shortest.items():
        are, whose = ("is", "its") if len(names) == 1 else ("are", "their")
        base = f"{', '.join(names)} {are} told a base of 0:01"
        yield f"{base}, {whose} protocol knows no shorter one; {whose} clock is {tc}"
    for tc in likened:
        first, rest = tc.stages
        minutes, seconds = first.base_ms // 1000, rest.base_ms // 1000
        meant = TimeControl((Stage(first.moves, (60 * minutes + seconds) * 1000, rest.increment_ms),))
        then = f"{seconds} s for the rest" if seconds else f"{seconds_text(rest.increment_ms)} s a move"
        time = f"{minutes} min {seconds} s" if seconds else f"{minutes} min"
        yield f"{tc} is {first.moves} moves in {minutes} s, then {then}; if {time} were meant, write {meant}"


def _looks_like_minutes(tc: TimeControl) -> bool:
    """``40/1:30``, ``40/15:00+5``: minutes for cutechess and fastchess, two stages here and in PGN."""
    if len(tc.stages) != 2:
        return False
    first, rest = tc.stages
    if rest.moves or first.increment_ms or first.base_ms % 1000 or first.base_ms > LONGEST_STAGE_MS // 60:
        return False
    return not rest.base_ms or (first.base_ms < 10_000 and rest.base_ms in range(10_000, 60_000, 1000))
