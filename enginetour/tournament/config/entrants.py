"""Resolve the entrants of a configuration: engines, time controls, time margins, tablebases, and the game rules."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from enginetour.engines.enginefile import EngineEntry, override
from enginetour.engines.identity import fingerprint
from enginetour.engines.registry import Registry, to_spec
from enginetour.interop.files import file_digest
from enginetour.interop.toml import toml_value
from enginetour.model.errors import EngineRefused, InputRefused, UsageRefused
from enginetour.model.game import Entrant
from enginetour.model.task import (
    DrawRule,
    EngineSpec,
    OwnBook,
    ResignRule,
    Rules,
    Side,
    TablebaseRule,
    TimeTerms,
)
from enginetour.model.timecontrol import (
    LONGEST_STAGE_MS,
    Stage,
    TimeControl,
    odds_divisor,
    seconds_text,
)
from enginetour.model.variants import VARIANTS
from enginetour.openings.polyglot import PolyglotBook
from enginetour.referee import tablebases
from enginetour.referee.tablebases import FEWEST_PIECES, TableFiles
from enginetour.tournament.config.load import Config
from enginetour.tournament.config.sections import DefaultsSection, EntrantSection, TableSettings, combined_options

# Engines of an entrant: its engine file, the engine files of a glob, or a command.


def engines_of(section: EntrantSection, registry: Registry, folder: Path, place: str = "") -> Iterator[EngineEntry]:
    """Yield the engines of a section. Its settings override the settings in the engine file.

    The caller handles the engine options. Relative paths in the command and in `dir` start at `folder`, the directory
    of the configuration.
    """
    if section.command and section.protocol:
        name = section.name or Path(section.command[0]).name
        found = [EngineEntry(name, name, section.command, section.protocol, folder=folder)]
    elif section.glob:
        found = [registry.get(engine) for engine in registry.ids if fnmatch.fnmatchcase(engine, section.glob)]
        if not found:
            step = "list the engine files: enginetour engines list"
            raise InputRefused(f"no engine file matches {section.glob!r}", place=place, step=step)
    else:
        found = [registry.get(section.engine or "", place)]
    for entry in found:
        path = section.dir if section.dir in (None, "scratch") else str(folder / section.dir)
        yield replace(
            entry,
            dir=path or entry.dir,
            limits=frozenset(section.limits) if section.limits else entry.limits,
            env={**entry.env, **section.env},
            pass_env=(*entry.pass_env, *section.pass_env),
            keep_scratch=entry.keep_scratch or section.keep_scratch,
            sandbox=section.sandbox or entry.sandbox,
            resources=override(entry.resources, section.resources, place),
            quirks=override(entry.quirks, section.quirks, place),
        )


# Time control of an entrant with each color.
#
# 1. Only the most specific key counts: the entrant's key for the color (`white_tc`, `black_tc`), then its `tc`, then
#    the key for the color under ``[play]``, then `tc` under ``[play]``.
# 2. The entrant's `tc_factor` multiplies times and nodes.
# 3. In a game at odds, the times and nodes of the side that gives odds are then divided (`odds`).
# 4. Times, but not nodes, are divided by the `speed` of the machine (`Side.at_speed`).

_SHORTEST_CECP_MS = 1_000  # `level` of CECP cannot express a shorter base time (runner spec 8)


def control_of(config: Config, section: EntrantSection, name: str, *, white: bool) -> tuple[TimeControl, str]:
    """Return an entrant's time control with a color, and the place where it is set.

    Raise InputRefused if `tc_factor` cannot be applied to the time control.
    """
    key = "white_tc" if white else "black_tc"
    play, number = config.play, _number(config, section)
    found = ((section, key), (section, "tc"), (play, key), (play, "tc"))
    owner, used = next((owner, used) for owner, used in found if getattr(owner, used) is not None)
    tc = TimeControl.parse(getattr(owner, used))
    place = config.at("play", used) if owner is play or number is None else config.at("entrants", number, used)
    if section.tc_factor is None:
        return tc, place
    at = place if number is None else config.at("entrants", number, "tc_factor")
    if not tc.is_divisible:
        step = "use a clock, a movetime or nodes, or remove tc_factor"
        raise InputRefused(f"tc_factor cannot scale {tc} of {name}", place=at, step=step)
    try:
        return tc.scaled(section.tc_factor), place
    except ValueError as error:
        raise InputRefused(f"{name}: {error}", place=at, step="use a smaller tc_factor") from None


def _number(config: Config, section: EntrantSection) -> int | None:
    return next((number for number, each in enumerate(config.entrants) if each is section), None)


def describe_controls(side: Side) -> str:
    """Return a text such as ``10+0.1``, or ``10+0.1 with White, 5+0.1 with Black``."""
    return str(side.tc) if side.black is None else f"{side.tc} with White, {side.black.tc} with Black"


def control_warnings(sides: Iterable[Side]) -> Iterator[str]:
    """Yield warnings about time controls, each once. A tester should read them before the first game."""
    shortest: dict[TimeControl, list[str]] = {}
    like_minutes: dict[TimeControl, None] = {}
    for side in sides:
        for tc in dict.fromkeys(side.controls):
            if side.spec.protocol == "cecp" and tc.stages and tc.stages[0].base_ms < _SHORTEST_CECP_MS:
                shortest.setdefault(tc, []).append(side.spec.name)
            if _looks_like_minutes(tc):
                like_minutes[tc] = None
    for tc, names in shortest.items():
        yield f"CECP cannot express a base time below 1 s: enginetour sends 0:01 for {tc} to {', '.join(names)}"
    for tc in like_minutes:
        first, rest = tc.stages
        minutes, seconds = first.base_ms // 1000, rest.base_ms // 1000
        meant = TimeControl((Stage(first.moves, (60 * minutes + seconds) * 1000, rest.increment_ms),))
        then = f"{seconds} s for the rest" if seconds else f"{seconds_text(rest.increment_ms)} s a move"
        time = f"{minutes} min {seconds} s" if seconds else f"{minutes} min"
        yield f"{tc} means {first.moves} moves in {minutes} s, then {then}; for {time}, write {meant}"


def _looks_like_minutes(tc: TimeControl) -> bool:
    """Return whether a time control such as ``40/1:30`` may be meant in minutes, as in cutechess.

    enginetour reads it as two stages.
    """
    if len(tc.stages) != 2:
        return False
    first, rest = tc.stages
    if rest.moves or first.increment_ms or first.base_ms % 1000 or first.base_ms > LONGEST_STAGE_MS // 60:
        return False
    return not rest.base_ms or (first.base_ms < 10_000 and rest.base_ms in range(10_000, 60_000, 1000))


# Rules of the games, from ``[play]``. The sections have already checked the numbers; this code finds the tablebases.

_SYZYGY_PATH = "SyzygyPath"  # option of UCI engines; CECP engines receive it as `egtpath`


def rules_of(config: Config) -> Rules:
    """Return the game rules. Raise InputRefused if tablebases are missing, damaged or for another variant."""
    play, draw, resign = config.play, config.play.draw, config.play.resign
    return Rules(
        play.repetition,
        play.fifty,
        play.max_moves,
        play.hang_limit,
        play.doubtful_flag,
        draw=None if draw is None else DrawRule(draw.movenumber, draw.movecount, draw.score),
        resign=None if resign is None else ResignRule(resign.movecount, resign.score, resign.twosided),
        tables=_table_rule(config),
        draw_offers=play.draw_offers,
    )


def _table_rule(config: Config) -> TablebaseRule | None:
    settings = config.play.tablebases
    if settings is None:
        return None
    place, variant = config.at("play", "tablebases"), config.play.variant
    if not tablebases.has_tables(variant):
        raise InputRefused(f"Syzygy tables do not support {variant}", place=place, step="remove tablebases")
    found = find_tables(config)
    if not found.wdl:
        where = ", ".join(table_folders(config))
        step = f"give the directories that contain files such as {tablebases.example_file(variant)}"
        raise InputRefused(f"Syzygy tables for {variant} not found in {where}", place=place, step=step)
    if not settings.adjudicate:
        return None
    return TablebaseRule(table_folders(config), settings.pieces or found.most, settings.fifty, settings.only)


def table_folders(config: Config) -> tuple[str, ...]:
    """Return the absolute directories of the tablebases. Relative paths start at the configuration's directory."""
    settings = config.play.tablebases
    if settings is None:
        return ()
    base = config.path.resolve().parent
    return tuple(str((base / Path(folder).expanduser()).resolve()) for folder in settings.path)


def find_tables(config: Config) -> TableFiles:
    """Return the tablebase files of a configuration. Raise InputRefused if a directory or a file cannot be used."""
    place = config.at("play", "tablebases")
    try:
        found = tablebases.find_tables(table_folders(config), config.play.variant)
    except OSError as error:
        what = f"{error.filename} cannot be read: {error.strerror}"
        raise InputRefused(what, place=place, step="correct path") from None
    if found.damaged:
        more = f" and {len(found.damaged) - 1} more" if len(found.damaged) > 1 else ""
        what = f"{found.damaged[0]}{more}: truncated, or not a Syzygy table (multiple of 64 bytes, plus 16)"
        raise InputRefused(what, place=place, step="download the file again")
    return found


def describe_tables(config: Config) -> tuple[str, ...]:
    """Return lines for `check` about existing and missing tablebase files, or nothing without tablebases."""
    settings = config.play.tablebases
    if settings is None:
        return ()
    found = find_tables(config)
    return found.lines(max(FEWEST_PIECES, settings.pieces or found.most))


def tablebase_options(config: Config, spec: EngineSpec) -> tuple[tuple[str, str], ...]:
    """Return the option with the tablebase directories, if the engine supports it and does not set it itself."""
    settings: TableSettings | None = config.play.tablebases
    if (
        settings is None
        or not settings.engines
        or spec.quirks.no_tablebases
        or any(name.casefold() == _SYZYGY_PATH.casefold() for name, _ in spec.options)
    ):
        return ()
    return ((_SYZYGY_PATH, os.pathsep.join(table_folders(config))),)


# Time controls and margins of each entrant, and whether its engine supports them.

# Default time margins in ms, for a clock and for a fixed time per move (runner spec 3).
CLOCK_MARGIN_MS = 50
_MOVETIME_MARGIN_MS = 100
_UNEVEN = 0.997  # used while the speed is not measured yet; divided by it, no time is a whole number of seconds


def refuse_limits(spec: EngineSpec, tc: TimeControl, place: str) -> None:
    """Raise InputRefused if an engine does not support the limits of a time control (runner spec 8)."""
    missing = sorted(tc.limits - spec.limits)
    if missing:
        allowed = ", ".join(sorted(spec.limits))
        what = f"{spec.name} does not support {' and '.join(missing)} (found {tc}); it supports {allowed}"
        listed = toml_value(sorted((*spec.limits, *missing)))
        step = f"use another tc; if the engine supports {' and '.join(missing)}, write limits = {listed}"
        raise InputRefused(what, place=place, step=step)
    if spec.protocol == "cecp" and tc.nodes is not None and tc.limits & {"clock", "movetime"}:
        what = f"{spec.name} uses CECP, which cannot combine nodes with a time (found {tc})"
        raise InputRefused(what, place=place, step="remove the time, or give this entrant its own tc")
    uses_st = spec.protocol == "cecp" and tc.movetime_ms is not None and spec.quirks.movetime == "st"
    if uses_st and tc.movetime_ms is not None and tc.movetime_ms % 1000 and not spec.quirks.st_fraction:
        what = f"{spec.name} supports a fixed time per move in whole seconds only (found {tc})"
        raise InputRefused(what, place=place, step='use movetime=1, a clock such as "1+0.05", or another engine')


def refuse_mixed_hourglass(sides: Mapping[str, Side], config: Config) -> None:
    """Raise InputRefused if only some entrants use an hourglass, which adds one side's time to the other's clock."""
    with_glass = {name: tc for name, side in sides.items() for tc in side.controls if tc.hourglass}
    without = {name: tc for name, side in sides.items() for tc in side.controls if not tc.hourglass}
    if with_glass and without:
        (one, glass), (other, clock) = next(iter(with_glass.items())), next(iter(without.items()))
        who = f"{one} uses {glass} and {other} uses {clock}" if one != other else f"{one} uses {glass} and {clock}"
        what = f"both sides must use an hourglass, but {who}"
        raise InputRefused(what, place=config.at("play", "tc"), step="use an hourglass for all entrants, or for none")


def resolve(
    section: EntrantSection,
    registry: Registry,
    folder: Path,
    place: str,
    is_gone: Callable[[str], bool] = lambda _name: False,
    *,
    defaults: DefaultsSection,
) -> Iterable[tuple[Entrant, EngineSpec, EngineEntry]]:
    """Yield each entrant of a section with its engine specification (including the fingerprint) and its engine file.

    Options of `defaults` have priority over those of the engine file. They are optional unless the engine file or the
    section sets them too. If an engine cannot be used and `is_gone` is true for its entrant, the entrant is omitted.
    """
    try:
        for entry in engines_of(section, registry, folder, place):
            name = section.name or entry.name
            known = {option.casefold() for option in (*entry.options, *section.options)}
            optional = tuple(sorted(option.casefold() for option in defaults.options if option.casefold() not in known))
            try:
                spec = to_spec(entry, name=name, options=combined_options(defaults.options, section.options))
                spec = replace(spec, optional=optional, fingerprint=fingerprint(spec))
            except EngineRefused:
                if is_gone(name):
                    continue
                raise
            rating = section.rating if section.rating is not None else entry.rating
            family, origin = section.family or entry.family, section.origin or entry.origin
            yield Entrant(name, section.new, rating, family, origin), spec, entry
    except (EngineRefused, InputRefused, UsageRefused) as error:
        if not error.place:
            error.place = place
        raise


def without_options(spec: EngineSpec, names: Collection[str]) -> EngineSpec:
    """Return the engine without the options `names`, which are in lower case, and with its fingerprint."""
    kept = tuple((name, value) for name, value in spec.options if name.casefold() not in names)
    if kept == spec.options:
        return spec
    fewer = replace(spec, options=kept)
    return replace(fewer, fingerprint=fingerprint(fewer)) if spec.fingerprint else fewer


def side_of(config: Config, spec: EngineSpec, section: EntrantSection | None = None) -> Side:
    """Return an engine with its time controls, margins and sandbox. Raise InputRefused for an unsupported limit."""
    own = section or EntrantSection(engine=spec.name).with_defaults(config.defaults)
    white, black = (_terms(config, spec, own, white=is_white) for is_white in (True, False))
    if own.sandbox is None and spec.sandbox == "none":
        spec = replace(spec, sandbox=config.play.sandbox)
    ponder = config.play.ponder if own.ponder is None else own.ponder
    spec = replace(spec, offered=tablebase_options(config, spec))
    spec = _pondering(spec, own) if ponder else spec
    spec = replace(spec, restart=own.restart or config.play.restart)
    book = _own_book(config, own)
    return Side(spec, white.tc, white.margin_ms, config.play.variant, book, black=black if black != white else None)


def _pondering(spec: EngineSpec, own: EntrantSection) -> EngineSpec:
    """Return the engine with pondering. Its Ponder option becomes true, unless the entrant's own options set it."""
    decided = any(name.casefold() == "ponder" for name in own.options)
    options = tuple((name, value if decided or name.casefold() != "ponder" else "true") for name, value in spec.options)
    pondering = replace(spec, options=options, offered=(*spec.offered, ("Ponder", "true")), ponder=True)
    if options == spec.options or not spec.fingerprint:
        return pondering
    return replace(pondering, fingerprint=fingerprint(pondering))  # the fingerprint includes the options


def _own_book(config: Config, own: EntrantSection) -> OwnBook | None:
    if own.own_book is None:
        return None
    path = config.path.resolve().parent / Path(own.own_book.file).expanduser()
    if not VARIANTS[config.play.variant].is_usual:
        what = f"own_book does not support {config.play.variant}: Polyglot books are for chess and Chess960"
        raise InputRefused(what, place=str(path), step="remove own_book")
    PolyglotBook(path).close()
    return OwnBook(str(path), own.own_book.choice, own.own_book.plies, digest=file_digest(path))


def _terms(config: Config, spec: EngineSpec, own: EntrantSection, *, white: bool) -> TimeTerms:
    tc, place = control_of(config, own, spec.name, white=white)
    margin = own.timemargin if own.timemargin is not None else config.play.timemargin
    if margin is None:
        if tc.movetime_ms is not None:
            margin = max(_MOVETIME_MARGIN_MS, spec.quirks.movetime_margin_ms)
        else:
            margin = max(CLOCK_MARGIN_MS, spec.quirks.clock_margin_ms)
    refuse_limits(spec, tc, place)
    _refuse_speed(config, spec, tc)
    _refuse_odds(config, spec, tc)
    return TimeTerms(tc, margin)


def _refuse_speed(config: Config, spec: EngineSpec, tc: TimeControl) -> None:
    speed, place = config.play.speed, config.at("play", "speed")
    if speed is None:
        return
    tried = _UNEVEN if speed == "measure" else speed
    try:
        refuse_limits(spec, tc.scaled(1 / tried, nodes=False), place)
    except ValueError as error:
        raise InputRefused(f"{spec.name}: {error}", place=place, step="use a shorter tc") from None
    except InputRefused as error:
        error.step = 'use a clock such as "10+0.1", or remove speed'
        raise


def _refuse_odds(config: Config, spec: EngineSpec, tc: TimeControl) -> None:
    """Raise InputRefused if an engine cannot play at the odds of the format, or if odds are set without a handicap."""
    handicap, place = getattr(config.format_options, "handicap", None), config.at("format", "handicap")
    table = config.play.odds
    if handicap is None:
        if table is not None:
            step = "add handicap = {} under [format], or remove odds"
            raise InputRefused("odds requires a handicap", place=config.at("play", "odds"), step=step)
        return
    if not tc.is_divisible:
        step = "use a clock, a movetime or nodes, or remove handicap"
        raise InputRefused(f"time odds cannot shorten {tc} of {spec.name}", place=place, step=step)
    try:
        for bands in range(1, handicap.ceiling + 1):
            refuse_limits(spec, tc.divided(odds_divisor(bands, table)), place)
    except InputRefused as error:
        error.step = 'use a clock such as "10+0.1", or remove handicap'
        raise
