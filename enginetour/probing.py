"""Every engine started once before game 1: those that cannot play are refused while somebody is there to hear it."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import wait
from pathlib import Path
from typing import cast

from enginetour.errors import EngineRefused, InputRefused, TaskFailed, TourError
from enginetour.places import START_PARALLEL, LocalPlace
from enginetour.registry import candidates
from enginetour.task import EngineSpec, Probe, ProbeTask, Side
from enginetour.timecontrol import TimeControl

HEED_S = 0.2  # between two looks at whether to go on: SIGTERM has 5 s in all (reliability spec 3)
MOST_FAILURES = 3  # of the machine in a row (reliability spec 1)


def probe_all(
    sides: Mapping[str, Side],
    heed: Callable[[], None] = lambda: None,
    hidden: Path | None = None,
) -> dict[str, Probe]:
    """Start every engine once, a few at a time, in slot processes; one probe per name, in the order given.

    Sandboxes hide the folder `hidden`.
    `heed` is called several times a second; what it raises ends the probes. A slot that dies is the machine's failure:
    what it had not told is tried again, TourError after three in a row that told nothing.
    """
    tasks = {name: ProbeTask(side.spec, side.variant) for name, side in sides.items()}
    found: dict[str, Probe] = {}
    failures = 0
    with LocalPlace(min(START_PARALLEL, os.cpu_count() or 1), hidden=hidden) as place:
        while len(found) < len(tasks):
            told, failure = _round(place, {name: task for name, task in tasks.items() if name not in found}, heed)
            found |= told
            failures = 0 if told else failures + 1
            if failure is not None:
                time.sleep(HEED_S)  # a service manager ends slots and us in one go: the signal comes first
                heed()
            if failure is not None and failures == MOST_FAILURES:
                what = f"the engines cannot be tried: {failure}"
                raise TourError(what, step=failure.step)
    return {name: found[name] for name in sides}


def _round(
    place: LocalPlace, tasks: Mapping[str, ProbeTask], heed: Callable[[], None]
) -> tuple[dict[str, Probe], TaskFailed | None]:
    """What could be told of these engines, and why of others it could not."""
    found: dict[str, Probe] = {}
    failure: TaskFailed | None = None
    try:
        futures = {name: place.submit(task) for name, task in tasks.items()}
    except TaskFailed as none:
        return found, none
    waiting = set(futures.values())
    while waiting:
        heed()
        waiting = wait(waiting, timeout=HEED_S).not_done
    for name, future in futures.items():
        try:
            found[name] = cast("Probe", future.result())
        except TaskFailed as one:
            failure = one
    return found, failure


def detect(command: tuple[str, ...], protocol: str | None, folder: Path) -> tuple[EngineSpec, Probe]:
    """The first protocol in which the program answers; EngineRefused when it answers in none.

    Relative paths of the command begin at `folder`.
    """
    return detect_each((command,), protocol, folder)[0]


def detect_each(
    commands: Sequence[tuple[str, ...]], protocol: str | None, folder: Path
) -> list[tuple[EngineSpec, Probe]]:
    """As `detect`, for several at a time: UCI of all, then CECP of those that do not speak it."""
    found: dict[int, tuple[EngineSpec, Probe]] = {}
    specs = [candidates(command, folder) for command in commands]
    for tried in zip(*specs, strict=True):
        wanted = {
            str(number): Side(spec, TimeControl.parse("1+0"))
            for number, spec in enumerate(tried)
            if protocol in (None, spec.protocol) and (number not in found or not _speaks(*found[number]))
        }
        if wanted:
            found |= {int(key): (wanted[key].spec, probe) for key, probe in probe_all(wanted).items()}
    for number, command in enumerate(commands):
        if number not in found or not _speaks(*found[number]):
            problems = found[number][1].problems if number in found else ()
            raise EngineRefused(
                problems[0] if problems else "it answers neither uci nor xboard",
                place=shlex.join(command),
                step="is it an engine? start it by hand and type uci",
            )
    return [found[number] for number in range(len(commands))]


def _speaks(spec: EngineSpec, probe: Probe) -> bool:
    return not probe.problems and (spec.protocol == "uci" or bool(probe.features))


def refuse_unfit(found: Mapping[str, Probe], sides: Mapping[str, Side]) -> None:
    """EngineRefused naming the first that cannot play; wrong options and variants are the configuration's fault."""
    unfit = {name: probe for name, probe in found.items() if probe.problems}
    for name in found:
        if name not in unfit and _lacks_nps(found[name], sides[name]):
            what = f"{name} cannot be limited by nodes: it does not declare nps"
            raise InputRefused(what, place=f"engine {name}", step="give it a clock, and take nodes out of its limits")
    for name, probe in unfit.items():
        more = f" (and {len(unfit) - 1} more)" if len(unfit) > 1 else ""
        if probe.category == "bad-option":
            raise InputRefused(f"{probe.problems[0]}{more}", place=f"engine {name}")
        if any(what == "variant" and not good for what, good, _ in probe.steps):
            what = f"{name} {probe.problems[0]}{more}"
            step = "choose another variant under [play], or another engine"
            raise InputRefused(what, place="play.variant", step=step)
        spoke = all(good or what != "start" for what, good, _ in probe.steps)
        asked = f"does it speak {sides[name].spec.protocol}? " if spoke and len(probe.problems) == 1 else ""
        by_hand = f"{asked}try it by hand: {shlex.join(sides[name].spec.command)}"
        raise EngineRefused(f"{'; '.join(probe.problems)}{more}", place=f"engine {name}", step=by_hand)


def _lacks_nps(probe: Probe, side: Side) -> bool:
    """A CECP engine whose control has nodes, which it can be told by `nps` alone (protocol spec, "nps")."""
    controls = (side.tc, side.black.tc) if side.black is not None else (side.tc,)
    asked = side.spec.protocol == "cecp" and any(tc.nodes is not None for tc in controls)
    return asked and dict(probe.features).get("nps", "0") in ("0", "")
