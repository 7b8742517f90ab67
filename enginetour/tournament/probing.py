"""Probe engines: start and test every engine once before game 1, so that the user sees errors early."""

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
from enginetour.openings.choice import OpeningBook
from enginetour.openings.positions import needs_setboard
from enginetour.tournament.config.entrants import without_options
from enginetour.tournament.executor import LocalExecutor, probe_executor

if TYPE_CHECKING:
    from enginetour.referee.compliance.exam import Compliance


_PROTOCOLS = ("uci", "cecp")
_TRY_UCI_S = 2.0  # seconds to try UCI alone, before a program is started in both protocols
_LOOK_S = 0.2  # seconds between two checks for a stop; a run must end within 5 s of SIGTERM (reliability spec 3)
MOST_FAILURES = 3  # failures of the machine in a row, after which probing ends (reliability spec 1)

StopRequested = Callable[[Mapping[str, ProbeResult]], bool]
Detected = tuple[EngineSpec, ProbeResult]  # an engine that responded in a protocol, and its probe
Begun = Mapping[str, Future[Any]]  # probes by the name of the entrant
_Tried = dict[tuple[int, str], ProbeResult]


def begin_probes(sides: Mapping[str, Side], executor: LocalExecutor) -> Begun:
    """Start to probe engines in an executor without waiting, and return a future for each name."""
    return {name: executor.submit(ProbeTask(side.spec, side.variant)) for name, side in sides.items()}


def probe_all(
    sides: Mapping[str, Side],
    check_stop: Callable[[], None] = lambda: None,
    hidden: Path | None = None,
    enough: StopRequested = lambda _: False,
    executor: LocalExecutor | None = None,
    begun: Begun | None = None,
) -> dict[str, ProbeResult]:
    """Start every engine once, a few at a time, in slot processes. Return one probe per name, in the given order.

    A crash of a slot counts as a failure of the machine, and its probes are repeated. Raise TourError after three such
    failures in a row without a result.

    Args:
        sides: Engines by name.
        check_stop: Called several times a second; an error that it raises ends the probes.
        hidden: A directory that sandboxes hide.
        enough: Function that returns whether the given probes are enough. If so, the others are dropped.
        executor: Executor that starts the engines. Default: a new `probe_executor`.
        begun: Probes in the same executor that `begin_probes` started, by name.
    """
    started = dict(begun or {})
    tasks = {name: ProbeTask(side.spec, side.variant) for name, side in sides.items()}
    found: dict[str, ProbeResult] = {}
    failures = 0
    with nullcontext(executor) if executor is not None else probe_executor(hidden) as slots:
        while len(found) < len(tasks) and not enough(found):
            probed, failure = _round(slots, tasks, started, found, check_stop, enough)
            found |= probed
            failures = 0 if probed else failures + 1
            if failure is not None:
                time.sleep(_LOOK_S)  # a service manager may end slots and this run together: wait for its signal
                check_stop()
            if failure is not None and failures == MOST_FAILURES:
                what = f"the engines cannot be probed: {failure}"
                raise TourError(what, step=failure.step)
        if len(found) < len(tasks):
            slots.abandon()
    return {name: found[name] for name in sides if name in found}


def _round(
    executor: LocalExecutor,
    tasks: Mapping[str, ProbeTask],
    started: dict[str, Future[Any]],
    known: Mapping[str, ProbeResult],
    check_stop: Callable[[], None],
    enough: StopRequested,
) -> tuple[dict[str, ProbeResult], TaskFailed | None]:
    found: dict[str, ProbeResult] = {}
    failure: TaskFailed | None = None
    try:
        futures = {
            name: started.pop(name) if name in started else executor.submit(task)
            for name, task in tasks.items()
            if name not in known
        }
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


def detect_each(
    commands: Sequence[tuple[str, ...]], protocol: str | None, folder: Path, executor: LocalExecutor | None = None
) -> list[Detected]:
    """Return the programs of several commands, each with its protocol and its probe.

    Relative paths of the commands start at `folder`. Raise EngineRefused if a program does not respond in any protocol.
    Most engines use UCI and respond at once. The others are started in each protocol with the usual time limit, and the
    first response decides. If `executor` is given, it starts the engines.
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
            what = problems[0] if problems else "does not respond to uci or xboard"
            step = "check that it is an engine: start it by hand and type uci"
            raise EngineRefused(what, place=shlex.join(command), step=step)
        answers.append((specs[number][word], found[number, word]))
    return answers


def _tried(specs: Mapping[tuple[int, str], EngineSpec], known: _Tried, executor: LocalExecutor | None) -> _Tried:
    """Return probes by number of the command and protocol. Stop when each command has responded in one protocol."""
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


def known_probes(sides: Mapping[str, Side], detected: Iterable[Detected]) -> Begun:
    """Return the probes of engines that were detected just before, if they play with the same settings."""
    found: dict[str, Future[Any]] = {}
    for name, side in sides.items():
        for spec, probe in detected:
            if side.variant == STANDARD and replace(side.spec, name=spec.name, fingerprint=spec.fingerprint) == spec:
                found[name] = Future()
                found[name].set_result(replace(probe, name=name))
    return found


def refuse_unfit(found: Mapping[str, ProbeResult], sides: Mapping[str, Side]) -> None:
    """Raise an error for the first engine that cannot play.

    It is InputRefused if an option, a limit or the variant is the cause, and EngineRefused otherwise.
    """
    unfit = {name: probe for name, probe in found.items() if probe.problems}
    for name in found:
        if name not in unfit and _lacks_nps(found[name], sides[name]):
            what = f"{name} does not support nodes: it does not declare the feature nps"
            raise InputRefused(what, place=f"engine {name}", step="use a clock, and remove nodes from its limits")
    for name, probe in unfit.items():
        more = f" (and {len(unfit) - 1} more)" if len(unfit) > 1 else ""
        if probe.category == "bad-option":
            raise InputRefused(f"{probe.problems[0]}{more}", place=f"engine {name}")
        if any(what == "variant" and not good for what, good, _ in probe.steps):
            what = f"{name} {probe.problems[0]}{more}"
            step = "use another variant under [play], or another engine"
            raise InputRefused(what, place="play.variant", step=step)
        spoke = all(good or what != "start" for what, good, _ in probe.steps)
        asked = f"check that it uses {sides[name].spec.protocol}; " if spoke and len(probe.problems) == 1 else ""
        by_hand = f"{asked}start it by hand: {shlex.join(sides[name].spec.command)}"
        raise EngineRefused(f"{'; '.join(probe.problems)}{more}", place=f"engine {name}", step=by_hand)


def without_lacking(
    sides: Mapping[str, Side], probes: Mapping[str, ProbeResult]
) -> tuple[dict[str, Side], tuple[str, ...]]:
    """Return the sides without options of ``[defaults]`` that the probed engines do not have, and notes about them."""
    found, lacking = dict(sides), dict[str, list[str]]()
    for name, probe in probes.items():
        spec = sides[name].spec
        if probe.problems or not spec.optional:
            continue
        from enginetour.engines.cecp import feature_options  # imported here: a match starts faster without it

        has = {option.name.casefold() for option in probe.options} | feature_options(dict(probe.features))
        missing = [option for option, _ in spec.options if option.casefold() in {*spec.optional} - has]
        found[name] = replace(sides[name], spec=without_options(spec, [option.casefold() for option in missing]))
        for option in missing:
            lacking.setdefault(option, []).append(name)
    return found, tuple(
        f"option {option} of [defaults] is left out for {', '.join(names)}: the engine does not have it"
        if len(names) == 1
        else f"option {option} of [defaults] is left out for {', '.join(names)}: these engines do not have it"
        for option, names in lacking.items()
    )


def release_warnings(found: Mapping[str, ProbeResult], files: Mapping[str, EngineEntry]) -> Iterator[str]:
    """Yield a warning for each engine that does not report the version in its engine file."""
    for name, probe in found.items():
        entry = files.get(name)
        if entry is None or not probe.own_name or not entry.contradicts(probe.own_name):
            continue
        stated = entry.name if version_in_name(entry.name) else f"{entry.name} {entry.version}"
        bundled = entry.path is not None and entry.path.parent == bundled_directory("engines")
        step = (
            "enginetour engines find writes a file with that name" if bundled else f"correct the name in {entry.path}"
        )
        yield f"{name}: the engine file has {stated!r}, but the engine reports {probe.own_name!r}. Hint: {step}"


def _lacks_nps(probe: ProbeResult, side: Side) -> bool:
    """Return whether a CECP engine has a node limit without `nps`, the only command for it (protocol spec, "nps")."""
    asked = side.spec.protocol == "cecp" and any(tc.nodes is not None for tc in side.controls)
    return asked and dict(probe.features).get("nps", "0") in ("0", "")


# Openings that a CECP engine without setboard does not support: `edit` lists only the pieces, so castling rights and en
# passant must follow from the squares.


def unsupported_openings(
    book: OpeningBook, sides: Mapping[str, Side], probes: Mapping[str, ProbeResult]
) -> Iterator[str]:
    """Yield a warning for each probed engine that needs other openings in some games.

    Raise EngineRefused if an engine does not support any of the openings.
    """
    shy = [name for name, probe in probes.items() if sides[name].spec.protocol == "cecp" and not _sets_board(probe)]
    if not shy:
        return
    looked, unsupported = 0, list[Opening]()
    for opening in _looked_at(book):
        looked += 1
        if needs_setboard(opening):
            unsupported.append(opening)
    if not unsupported:
        return
    first = unsupported[0]
    called = f" ({first.name})" if first.name else ""
    edit = "the CECP command edit does not support castling rights, en passant or variants"
    why = f"the first of these is number {first.index}{called}: {edit}"
    if len(unsupported) == looked:
        what = f"{shy[0]} does not support setboard, so it cannot play any of {looked} openings; {why}"
        raise EngineRefused(what, place=book.source, step="use other openings, or remove the engine")
    for name in shy:
        yield (
            f"{name} does not support setboard, so it cannot play {len(unsupported)} of {looked} openings; {why}; "
            "its games use other openings instead"
        )


def _sets_board(probe: ProbeResult) -> bool:
    return dict(probe.features).get("setboard", "0") not in ("0", "")


def _looked_at(book: OpeningBook) -> Iterable[Opening]:
    """Return the openings to check: all openings of a small book, or the first ones of a large book.

    If a large book starts from the usual position, its first opening is enough.
    """
    first = book.openings[0]
    return [first] if first.fen is None and len(book.openings) > book.ahead else islice(book.openings, book.ahead)


# Compliance checks, one engine after another, each in a slot process.


def examine_each(
    specs: Iterable[EngineSpec], only: tuple[str, ...] = (), on_step: Callable[[int, int, str], None] | None = None
) -> Iterator[Compliance]:
    """Yield the compliance check of each engine when it ends. `only` selects the steps.

    The engines are checked one at a time, because two would influence each other's times. `on_step` is called in
    another thread when a step starts, with its number, the number of steps, and its text.
    """
    from enginetour.referee.compliance.exam import ComplianceTask  # imported here, as it loads the rules of chess

    def report_step(_: int, name: str, payload: object) -> None:
        if name == "step" and on_step is not None:
            on_step(*cast("tuple[int, int, str]", payload))

    with LocalExecutor(1, report_step) as executor:
        for spec in specs:
            try:
                yield cast("Compliance", executor.submit(ComplianceTask(spec, only)).result())
            except TaskFailed as failure:
                raise TourError(f"{spec.name} cannot be checked: {failure}", step=failure.step) from None
