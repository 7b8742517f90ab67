"""Probes: start and test every engine once before game 1."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from enginetour.engines.enginefile import EngineEntry, version_in_name
from enginetour.engines.registry import candidates
from enginetour.interop.files import bundled_directory
from enginetour.model.errors import EngineRefused, InputRefused, TaskFailed, TourError
from enginetour.model.game import Opening
from enginetour.model.task import EngineSpec, ProbeResult, ProbeTask, Quirks, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.model.variants import STANDARD
from enginetour.openings.choice import OpeningSuite
from enginetour.openings.positions import needs_setboard
from enginetour.tournament.executor import LocalExecutor, probe_executor

if TYPE_CHECKING:
    from enginetour.referee.compliance.exam import Compliance


# Start every engine once before game 1, so that errors appear while the user is still present.

_PROTOCOLS = ("uci", "cecp")
_TRY_UCI_S = 2.0  # for UCI alone, before a program is started in both protocols
_LOOK_S = 0.2  # between two looks at whether to go on: SIGTERM has 5 s in all (reliability spec 3)
MOST_FAILURES = 3  # of the machine in a row (reliability spec 1)

StopRequested = Callable[[Mapping[str, ProbeResult]], bool]
Detected = tuple[EngineSpec, ProbeResult]  # an engine that answered in a protocol, and its answer
_Tried = dict[tuple[int, str], ProbeResult]


def probe_all(
    sides: Mapping[str, Side],
    check_stop: Callable[[], None] = lambda: None,
    hidden: Path | None = None,
    enough: StopRequested = lambda _: False,
    executor: LocalExecutor | None = None,
) -> dict[str, ProbeResult]:
    """Start every engine once, a few at a time, in slot processes; one probe per name, in the order given.

    They run in `executor`, else in a new `probe_executor`. As soon as what was found is `enough`, the other probes are
    dropped. `check_stop` is called several times a second; what it raises ends the probes. A slot that dies is the
    machine's failure: its probes are repeated, TourError after three in a row without a result.
    """
    tasks = {name: ProbeTask(side.spec, side.variant) for name, side in sides.items()}
    found: dict[str, ProbeResult] = {}
    failures = 0
    with nullcontext(executor) if executor is not None else probe_executor(hidden) as slots:
        while len(found) < len(tasks) and not enough(found):
            told, failure = _round(slots, tasks, found, check_stop, enough)
            found |= told
            failures = 0 if told else failures + 1
            if failure is not None:
                time.sleep(_LOOK_S)  # a service manager ends slots and us in one go: the signal comes first
                check_stop()
            if failure is not None and failures == MOST_FAILURES:
                what = f"the engines cannot be tried: {failure}"
                raise TourError(what, step=failure.step)
        if len(found) < len(tasks):
            slots.abandon()
    return {name: found[name] for name in sides if name in found}


def _round(
    executor: LocalExecutor,
    tasks: Mapping[str, ProbeTask],
    known: Mapping[str, ProbeResult],
    check_stop: Callable[[], None],
    enough: StopRequested,
) -> tuple[dict[str, ProbeResult], TaskFailed | None]:
    found: dict[str, ProbeResult] = {}
    failure: TaskFailed | None = None
    try:
        futures = {name: executor.submit(task) for name, task in tasks.items() if name not in known}
    except TaskFailed as none:
        return found, none
    waiting = set(futures.values())
    while waiting and not enough({**known, **_ended_well(futures)}):
        check_stop()
        waiting = wait(waiting, timeout=_LOOK_S).not_done
    for name, future in futures.items():
        if future in waiting:
            continue
        try:
            found[name] = cast("ProbeResult", future.result())
        except TaskFailed as one:
            failure = one
    return found, failure


def _ended_well(futures: Mapping[str, Future[Any]]) -> dict[str, ProbeResult]:
    return {name: future.result() for name, future in futures.items() if future.done() and not future.exception()}


def detect(command: tuple[str, ...], protocol: str | None, folder: Path) -> Detected:
    """The first protocol in which the program answers; EngineRefused when it answers in none.

    Relative paths of the command begin at `folder`.
    """
    return detect_each((command,), protocol, folder)[0]


def detect_each(
    commands: Sequence[tuple[str, ...]], protocol: str | None, folder: Path, executor: LocalExecutor | None = None
) -> list[Detected]:
    """As `detect`, for several at a time, in an `executor` if one is given.

    Most engines speak UCI and answer at once. Those that do not are started in each protocol, for as long as a start
    may take, and the first answer decides.
    """
    specs = {
        number: dict(zip(_PROTOCOLS, candidates(command, folder), strict=True))
        for number, command in enumerate(commands)
    }
    found: _Tried = {}
    if protocol is None:
        hasty = {
            (number, "uci"): replace(each["uci"], quirks=Quirks(handshake_timeout=_TRY_UCI_S))
            for number, each in specs.items()
        }
        found = _tried(hasty, found, executor)
    silent = [number for number in specs if _spoken(found, number) is None]
    wanted = {
        (number, word): specs[number][word] for number in silent for word in _PROTOCOLS if protocol in (None, word)
    }
    found |= _tried(wanted, found, executor)
    answers = []
    for number, command in enumerate(commands):
        word = _spoken(found, number)
        if word is None:
            problems = [problem for key, probe in found.items() if key[0] == number for problem in probe.problems]
            raise EngineRefused(
                problems[0] if problems else "it answers neither uci nor xboard",
                place=shlex.join(command),
                step="is it an engine? start it by hand and type uci",
            )
        answers.append((specs[number][word], found[number, word]))
    return answers


def _tried(specs: Mapping[tuple[int, str], EngineSpec], known: _Tried, executor: LocalExecutor | None) -> _Tried:
    """Probes by command and protocol, until each command has answered in one."""
    keys = {f"{number} {word}": (number, word) for number, word in specs}
    sides = {name: Side(specs[key], TimeControl.parse("1+0")) for name, key in keys.items()}

    def enough(found: Mapping[str, ProbeResult]) -> bool:
        now = {**known, **{keys[name]: probe for name, probe in found.items()}}
        return all(_spoken(now, number) is not None for number, _ in specs)

    return (
        {keys[name]: probe for name, probe in probe_all(sides, enough=enough, executor=executor).items()}
        if specs
        else {}
    )


def _spoken(found: _Tried, number: int) -> str | None:
    return next((word for word in _PROTOCOLS if (number, word) in found and not found[number, word].problems), None)


def known_probes(sides: Mapping[str, Side], detected: Iterable[Detected]) -> dict[str, ProbeResult]:
    """The probes of those that were detected a moment ago, and play as they were started then."""
    return {
        name: replace(probe, name=name)
        for name, side in sides.items()
        for spec, probe in detected
        if side.variant == STANDARD and replace(side.spec, name=spec.name, fingerprint=spec.fingerprint) == spec
    }


def refuse_unfit(found: Mapping[str, ProbeResult], sides: Mapping[str, Side]) -> None:
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


def release_warnings(found: Mapping[str, ProbeResult], files: Mapping[str, EngineEntry]) -> Iterator[str]:
    """A sentence for each engine that reports another release than its engine file states."""
    for name, probe in found.items():
        entry = files.get(name)
        if entry is None or not probe.own_name or not entry.contradicts(probe.own_name):
            continue
        stated = entry.name if version_in_name(entry.name) else f"{entry.name} {entry.version}"
        bundled = entry.path is not None and entry.path.parent == bundled_directory("engines")
        step = "enginetour engines find writes a file with that name" if bundled else f"correct name in {entry.path}"
        yield f"{name}: the engine file says {stated!r}, the engine reports {probe.own_name!r}. Hint: {step}"


def _lacks_nps(probe: ProbeResult, side: Side) -> bool:
    """A CECP engine whose control has nodes, which it can be told by `nps` alone (protocol spec, "nps")."""
    asked = side.spec.protocol == "cecp" and any(tc.nodes is not None for tc in side.controls)
    return asked and dict(probe.features).get("nps", "0") in ("0", "")


# Openings that an engine does not support: a CECP engine without setboard has only `edit`.
#
# `edit` lists the pieces. Castling rights and en passant follow from the squares, or cannot be expressed.


def unsupported_openings(
    suite: OpeningSuite, sides: Mapping[str, Side], probes: Mapping[str, ProbeResult]
) -> Iterator[str]:
    """A sentence for each engine that was probed and gets other openings than those of the suite in some games.

    EngineRefused where there are none for it.
    """
    shy = [name for name, probe in probes.items() if sides[name].spec.protocol == "cecp" and not _sets_board(probe)]
    if not shy:
        return
    looked, unsaid = 0, list[Opening]()
    for opening in _looked_at(suite):
        looked += 1
        if needs_setboard(opening):
            unsaid.append(opening)
    if not unsaid:
        return
    first = unsaid[0]
    called = f" ({first.name})" if first.name else ""
    why = f"the first is number {first.index}{called}: edit cannot express castling rights, en passant or variants"
    if len(unsaid) == looked:
        what = f"{shy[0]} has no setboard and cannot be told any of {looked} openings, {why}"
        raise EngineRefused(what, place=suite.source, step="choose other openings, or leave the engine out")
    for name in shy:
        yield (
            f"{name} has no setboard and cannot be told {len(unsaid)} of {looked} openings, {why}; "
            "its games begin at others of the suite instead"
        )


def _sets_board(probe: ProbeResult) -> bool:
    return dict(probe.features).get("setboard", "0") not in ("0", "")


def _looked_at(suite: OpeningSuite) -> Iterable[Opening]:
    """All of a suite that is not too large, else its beginning; lines drawn from a book start where every game does."""
    first = suite.openings[0]
    return [first] if first.fen is None and len(suite.openings) > suite.ahead else islice(suite.openings, suite.ahead)


# Compliance checks, one engine after another, each in a slot process.


def examine_each(
    specs: Iterable[EngineSpec], only: tuple[str, ...] = (), on_step: Callable[[int, int, str], None] | None = None
) -> Iterator[Compliance]:
    """The course of each, as it ends; `only` these steps. One at a time: two would judge each other's times.

    `on_step` is told the number, how many there are and the words of each step as it begins, in another thread, and
    nothing of an engine once its course has come back.
    """
    from enginetour.referee.compliance.exam import ComplianceTask  # the rules of chess: no run needs them here

    def heard(_: int, name: str, payload: object) -> None:
        if name == "step" and on_step is not None:
            on_step(*cast("tuple[int, int, str]", payload))

    with LocalExecutor(1, heard) as executor:
        for spec in specs:
            try:
                yield cast("Compliance", executor.submit(ComplianceTask(spec, only)).result())
            except TaskFailed as failure:
                raise TourError(f"{spec.name} cannot be tried: {failure}", step=failure.step) from None
