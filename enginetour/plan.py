"""From a configuration to what can be played: engines resolved and probed, openings loaded, the games foretold.

Nothing here writes. Everything a tester could have got wrong is found before the first game.
"""

from __future__ import annotations

import os
import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from enginetour import config as configuration
from enginetour import identity, odds, openings
from enginetour.config import Config
from enginetour.errors import EngineRefused, InputRefused, MachineFailure, TourError, UsageRefused
from enginetour.formats.base import Format
from enginetour.model import Entrant, Pairing
from enginetour.places import LocalPlace
from enginetour.registry import Registry, to_spec
from enginetour.registry import load as load_registry
from enginetour.sections.entrants import EntrantSection
from enginetour.shipped import shipped
from enginetour.task import EngineSpec, GameTask, Probe, ProbeTask, Rules, Side
from enginetour.timecontrol import TimeControl
from enginetour.tomlplace import near
from enginetour.workspace import database_of, workspace_of

# Margins in ms for a clock and for a fixed time a move (runner spec 3).
CLOCK_MARGIN_MS = 50
MOVETIME_MARGIN_MS = 100
# Moves of a long game between engines; CCRL's games last 60 to 70 on average.
LONG_GAME = 80
EDITION_SEEDS = 1 << 32  # seeds of people are smaller: no edition has that of another tournament
FEWEST = 2  # a game has two sides
# Engines started at once (runner spec 14).
START_PARALLEL = 4
HEED_S = 0.2  # between two looks at whether to go on: SIGTERM has 5 s in all (reliability spec 3)


@dataclass(frozen=True)
class Plan:
    """A tournament that could start: entrants best first as written, and each one's side."""

    config: Config
    workspace: Path
    database: Path
    format: Format[Any]
    entrants: tuple[Entrant, ...]
    sides: Mapping[str, Side]
    suite: openings.OpeningSuite
    rules: Rules

    def task(self, sides: Mapping[str, Side], pairing: Pairing, replay: int) -> GameTask:
        """The game of a pairing, with its opening and its odds."""
        seats = sides[pairing.white], sides[pairing.black]
        white, black = odds.at_odds(*seats, pairing.handicap, self.config.play.odds)
        return GameTask(
            pairing=pairing,
            white=white,
            black=black,
            opening=self.suite.pick(pairing),
            rules=self.rules,
            replay=replay,
        )

    def of_edition(self, number: int) -> Plan:
        """The same with a shuffle of openings of its own: engines that always move alike repeat no edition."""
        return replace(self, suite=replace(self.suite, seed=self.suite.seed + (number - 1) * EDITION_SEEDS))

    def side(self, spec: EngineSpec, section: EntrantSection | None = None) -> Side:
        """A spec with the time control and margin it plays by; InputRefused for a limit it does not obey."""
        own = section or EntrantSection(engine=spec.name)
        tc = TimeControl.parse(own.tc or self.config.play.tc)
        margin = own.margin_ms if own.margin_ms is not None else self.config.play.margin_ms
        if margin is None:
            fixed = tc.movetime_ms is not None
            margin = max(MOVETIME_MARGIN_MS, spec.quirks.movetime_margin_ms) if fixed else CLOCK_MARGIN_MS
        refuse_limits(spec, tc, self.config.at("play", "tc"))
        self._refuse_odds(spec, tc)
        return Side(spec, tc, margin)

    def _refuse_odds(self, spec: EngineSpec, tc: TimeControl) -> None:
        """InputRefused when an engine could not give what the format may ask of it, or a table nobody asks for."""
        handicap, place = getattr(self.config.format_options, "handicap", None), self.config.at("format", "handicap")
        table = self.config.play.odds
        if handicap is None:
            if table is not None:
                step = "add handicap = {} under [format], or leave odds out"
                raise InputRefused("odds without a handicap", place=self.config.at("play", "odds"), step=step)
            return
        if not odds.is_divisible(tc):
            step = "give it a clock, a movetime or nodes, or leave handicap out"
            raise InputRefused(f"{spec.name} plays by {tc}, which odds cannot shorten", place=place, step=step)
        try:
            for bands in range(1, handicap.ceiling + 1):
                refuse_limits(spec, odds.divided(tc, odds.divisor(bands, table)), place)
        except InputRefused as error:
            error.step = 'give it a clock such as "10+0.1", or leave handicap out'
            raise


def registry_of(workspace: Path) -> Registry:
    """The engine files of a workspace, then those we ship."""
    return load_registry([workspace / "engines", shipped("engines")])


def prepare(path: Path, db: Path | None) -> Plan:
    """Read a configuration and resolve all it names; refuses with place and next step, writes nothing."""
    config = configuration.load(path)
    folder = config.path.resolve().parent
    workspace = workspace_of(folder)
    registry = registry_of(workspace)
    games = getattr(config.format_options, "games_per_pairing", 1)
    suite = _suite(config, games, folder)
    play = config.play
    rules = Rules(play.repetition, play.fifty, play.max_moves, play.hang_limit, play.doubtful_flag)
    plan = Plan(config, workspace, database_of(folder, db), config.make_format(), (), {}, suite, rules)
    entrants: list[Entrant] = []
    sides: dict[str, Side] = {}
    for number, section in enumerate(config.entrants):
        for entrant, spec in resolve(section, registry, folder, config.at("entrants", number)):
            if entrant.name in sides:
                at = config.at("entrants", number, "name" if section.name else "engine")
                step = "give each its own name"
                raise InputRefused(f"two entrants are called {entrant.name!r}", place=at, step=step)
            entrants.append(entrant)
            sides[entrant.name] = plan.side(spec, section)
    _refuse_seeds(config, sides)
    for name in config.ratings.anchor:
        if name not in sides:
            what = f"anchor {name!r} is no entrant{near(name, sides)}"
            raise InputRefused(what, place=config.at("ratings", "anchor", name))
    plan = replace(plan, entrants=tuple(entrants), sides=sides)
    if len(entrants) >= FEWEST and config.tournament.order in (None, "file"):  # other orders bring ratings along
        refuse_field(plan)
    return plan


def _suite(config: Config, games: int, folder: Path) -> openings.OpeningSuite:
    """The openings; a refusal of their file also tells where the configuration names it."""
    try:
        return openings.load(config.play.openings, seed=config.tournament.seed, legs=min(2, games), folder=folder)
    except InputRefused as error:
        named = f"named in {config.at('play', 'openings', 'file')}"
        error.step = f"{error.step}; {named}" if error.step else named
        raise


def resolve(
    section: EntrantSection, registry: Registry, folder: Path, place: str
) -> Iterable[tuple[Entrant, EngineSpec]]:
    """The entrants of one section with how each is started, fingerprint included."""
    try:
        for entry in registry.matching(section, folder, place):
            name = section.name or entry.name
            options = {**entry.options, **section.options}
            spec = to_spec(entry, name=name, options=options)
            spec = replace(spec, fingerprint=identity.fingerprint(spec))
            rating = section.rating if section.rating is not None else entry.rating
            family, origin = section.family or entry.family, section.origin or entry.origin
            yield Entrant(name, section.new, rating, family, origin), spec
    except (EngineRefused, InputRefused, UsageRefused) as error:
        if not error.place:
            error.place = place
        raise


def refuse_limits(spec: EngineSpec, tc: TimeControl, place: str) -> None:
    """InputRefused when an engine does not obey the limits of its control (runner spec 8)."""
    missing = sorted(tc.limits - spec.limits)
    if missing:
        allowed = ", ".join(sorted(spec.limits))
        what = f"{spec.name} does not obey {' and '.join(missing)} ({tc}); its limits: {allowed}"
        raise InputRefused(what, place=place, step="choose another tc, or give this entrant its own")
    uses_st = spec.protocol == "cecp" and tc.movetime_ms is not None and spec.quirks.movetime == "st"
    if uses_st and tc.movetime_ms is not None and tc.movetime_ms % 1000 and not spec.quirks.st_fraction:
        what = f"{spec.name} takes a fixed time a move in whole seconds only, found {tc}"
        raise InputRefused(what, place=place, step='choose movetime=1, a clock such as "1+0.05", or another engine')


def probe_all(
    sides: Mapping[str, Side],
    limits: Mapping[str, tuple[TimeControl, ...]] | None = None,
    heed: Callable[[], None] = lambda: None,
) -> dict[str, Probe]:
    """Start every engine once, a few at a time, in slot processes; one probe per name, in the order given.

    `heed` is called several times a second; what it raises ends the probes.
    """
    place = LocalPlace(min(START_PARALLEL, os.cpu_count() or 1))
    try:
        futures = {
            name: place.submit(ProbeTask(side.spec, (limits or {}).get(name, ()))) for name, side in sides.items()
        }
        waiting = set(futures.values())
        while waiting:
            heed()
            waiting = wait(waiting, timeout=HEED_S).not_done
        return {name: cast("Probe", future.result()) for name, future in futures.items()}
    except MachineFailure as failure:
        time.sleep(HEED_S)  # a service manager ends slots and us in one go: the signal comes first
        heed()
        raise TourError(f"the engines cannot be tried: {failure}", step="see to the machine, then try again") from None
    finally:
        place.close()


def refuse_few(plan: Plan) -> None:
    """InputRefused when there is nobody to play against."""
    if len(plan.entrants) < FEWEST:
        what = f"{len(plan.entrants)} entrant, a tournament needs two"
        raise InputRefused(what, place=plan.config.at("entrants"), step="add another")


def refuse_unfit(found: Mapping[str, Probe], sides: Mapping[str, Side]) -> None:
    """EngineRefused naming the first engine that cannot play; a wrong option is the configuration's fault."""
    unfit = {name: probe for name, probe in found.items() if probe.problems}
    for name, probe in unfit.items():
        more = f" (and {len(unfit) - 1} more)" if len(unfit) > 1 else ""
        if probe.category == "bad-option":
            raise InputRefused(f"{probe.problems[0]}{more}", place=f"engine {name}")
        raise EngineRefused(
            f"{probe.problems[0]}{more}",
            place=f"engine {name}",
            step=f"does it speak {sides[name].spec.protocol}? try it by hand: {shlex.join(sides[name].spec.command)}",
        )


def foretold(plan: Plan) -> dict[str, Any]:
    """JSON-ready: games to come at most, at least and likely, an upper bound of the hours for them, and warnings.

    InputRefused for a field that cannot be paired.
    """
    refuse_field(plan)
    state = plan.format.start(plan.entrants)
    fewest, most = plan.format.remaining(state)
    longest = [_longest_s(side.tc) for side in plan.sides.values()]
    hours = None
    if all(seconds is not None for seconds in longest):
        hours = most * 2 * max(seconds or 0.0 for seconds in longest) / 3600 / plan.config.play.slots
    return {
        "fewest": fewest,
        "most": most,
        "likely": plan.format.likely(state),
        "longest_hours": hours,
        "openings": len(plan.suite.openings),
        "warnings": [note.text for note in plan.format.notes(state) if note.is_warning],
        "test": plan.format.foretold() if hasattr(plan.format, "foretold") else None,
    }


def _longest_s(tc: TimeControl) -> float | None:
    """Seconds one side can use in `LONG_GAME` moves; None where no clock bounds it."""
    if tc.movetime_ms is not None:
        return LONG_GAME * tc.movetime_ms / 1000
    if not tc.stages:
        return None
    moves, number, used = LONG_GAME, 0, 0
    while True:
        stage = tc.stage(number)
        length = min(stage.moves or moves, moves)
        used += stage.base_ms + length * stage.increment_ms
        moves -= length
        number += 1
        if not moves:
            return used / 1000


def refuse_field(plan: Plan) -> None:
    """A field the format cannot take, with the line of the first entrant beyond two."""
    config = plan.config
    try:
        state = plan.format.start(plan.entrants)
        if not plan.format.offers(state):
            raise ValueError("; ".join(note.text for note in plan.format.notes(state)) or "there is nothing to play")
    except InputRefused as error:
        error.place = config.at("entrants", min(FEWEST, len(config.entrants) - 1))
        raise
    except ValueError as error:
        raise InputRefused(str(error), place=config.at("format", "system")) from None


def _refuse_seeds(config: Config, sides: Mapping[str, Side]) -> None:
    seeds = getattr(config.format_options, "seeds", None)
    if isinstance(seeds, tuple | list):
        unknown = [name for name in seeds if name not in sides]
        doubled = [name for name, times in Counter(seeds).items() if times > 1]
        if set(seeds) >= set(sides):
            raise InputRefused("seeds: all entrants leave nobody to play against", place=config.at("format", "seeds"))
        for name, words in [(n, "is no entrant") for n in unknown] + [(n, "is there twice") for n in doubled]:
            allowed = ", ".join(sides)
            raise InputRefused(f"seed {name!r} {words}; entrants: {allowed}", place=config.at("format", "seeds"))
    elif isinstance(seeds, int) and seeds >= len(sides):
        what = f"seeds: {seeds} of {len(sides)} entrants leave nobody to play against"
        raise InputRefused(what, place=config.at("format", "seeds"))
