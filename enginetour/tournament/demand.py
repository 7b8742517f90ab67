"""What the games of a tournament want at once: processors for slots, threads and engines that ponder; open files."""

from __future__ import annotations

import resource
from collections.abc import Iterable, Iterator
from itertools import permutations

from enginetour.engines.machine import Cores, allowed, find
from enginetour.model.errors import InputRefused, UsageRefused
from enginetour.model.task import Declared, Side

# Open files of a run: 22 with two slots, 4 of them for each; of a slot 23 while an engine starts (measured),
# and one for the name of its processor.
FILES, SLOT_FILES = 32, 4


def wanted(sides: Iterable[Side], slots: int) -> int:
    """Processors of the hungriest pair times slots: one side thinks, the other may ponder."""
    each = [(side.spec.threads, side.spec.ponder) for side in sides]
    games = (thinks + (ponders if may else 0) for (thinks, _), (ponders, may) in permutations(each, 2))
    return slots * max(games, default=max((own for own, _ in each), default=0))


def shortage(sides: Iterable[Side], slots: int, processors: int) -> Iterator[str]:
    """A warning where there are fewer than wanted."""
    sides = tuple(sides)
    want = wanted(sides, slots)
    if want > processors:
        why = " and pondering" if any(side.spec.ponder for side in sides) else ""
        here = f"this machine has {processors} for it"
        yield f"games want {want} processors at once by slots, threads{why}; {here}: engines steal each other's time"


def crowded(sides: Iterable[Side], slots: int) -> Iterator[str]:
    """The warning where this process may use fewer."""
    return shortage(sides, slots, allowed().count)


def refuse_crowd(slots: int, *, force: bool) -> None:
    """UsageRefused for more slots than this process may use processors, unless that is meant."""
    here = allowed()
    if slots > here.count and not force:
        what = f"{slots} slots on {here} would steal time from the engines"
        raise UsageRefused(what, step="lower slots, or say --force")


def own_cores(sides: Iterable[Side], slots: int, place: str) -> Cores:
    """For the engines of each slot as many as its hungriest pair wants; InputRefused at `place` where they lack."""
    found = find(wanted(sides, 1))
    if lacking := found.lacking(slots):
        step = "lower slots or the engines' threads, or leave affinity out"
        raise InputRefused(f"affinity: {lacking}", place=place, step=step)
    return found


def silent_ponderers(side: Side, declared: Iterable[Declared]) -> Iterator[str]:
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


def few_files(slots: int) -> tuple[int, int] | None:
    """How many files this process may open and how many so many slots need; None where they suffice."""
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = FILES + SLOT_FILES * slots
    return (most, needed) if most != resource.RLIM_INFINITY and most < needed else None


def refuse_few_files(slots: int) -> None:
    """UsageRefused before anything starts, where games would fail one after the other."""
    if (few := few_files(slots)) is not None:
        most, needed = few
        what = f"{most} open files are too few, {slots} slot{'s' * (slots != 1)} need {needed}"
        raise UsageRefused(what, place="ulimit -n", step="say ulimit -n 1024")
