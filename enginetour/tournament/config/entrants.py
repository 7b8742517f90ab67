"""Settings of each entrant (time controls, margins, tablebases), and the rules of a game."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
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
from enginetour.tournament.config.sections import EntrantSection, TableSettings

# Engines of an entrant: the engine file it names, those of a glob, or a command of its own.


def engines_of(section: EntrantSection, registry: Registry, folder: Path, place: str = "") -> Iterator[EngineEntry]:
    """Yield the engines that a section means, its own settings put over those of the engine file.

    Relative paths of its command, and `dir`, begin at `folder`, the configuration's. Options are the caller's.
    """
    if section.command and section.protocol:
        name = section.name or Path(section.command[0]).name
        found = [EngineEntry(name, name, section.command, section.protocol, folder=folder)]
    elif section.glob:
        found = [registry.get(engine) for engine in registry.ids if fnmatch.fnmatchcase(engine, section.glob)]
        if not found:
            step = "list them by: enginetour engines list"
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
# 1. The most particular word counts alone: the entrant's own for the colour (`white_tc`, `black_tc`), then its `tc`,
#    then the tournament's for the colour under ``[play]``, then the tournament's `tc`.
# 2. The entrant's `tc_factor` multiplies what was found: times and nodes.
# 3. In a game at odds the giver's is divided after that (`odds`).
# 4. Times, not nodes, are divided by the `speed` of the machine (`Side.at_speed`).

_SHORTEST_CECP_MS = 1_000  # `level` cannot say a shorter base (runner spec 8)


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
    if not tc.is_divisible:
        step = "give it a clock, a movetime or nodes, or leave tc_factor out"
        raise InputRefused(f"{name} plays by {tc}, which no factor changes", place=at, step=step)
    try:
        return tc.scaled(section.tc_factor), place
    except ValueError as error:
        raise InputRefused(f"{name}: {error}", place=at, step="choose a smaller tc_factor") from None


def _number(config: Config, section: EntrantSection) -> int | None:
    return next((number for number, each in enumerate(config.entrants) if each is section), None)


def describe_controls(side: Side) -> str:
    """``10+0.1``, or ``10+0.1 with White, 5+0.1 with Black``."""
    return str(side.tc) if side.black is None else f"{side.tc} with White, {side.black.tc} with Black"


def control_warnings(sides: Iterable[Side]) -> Iterator[str]:
    """What a tester should know of the engines' controls before the first game, each of it once."""
    shortest: dict[TimeControl, list[str]] = {}
    likened: dict[TimeControl, None] = {}
    for side in sides:
        for tc in dict.fromkeys(side.controls):
            if side.spec.protocol == "cecp" and tc.stages and tc.stages[0].base_ms < _SHORTEST_CECP_MS:
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


# The rules of a tournament's games, from its ``[play]``: bounds were checked before, here tables are looked for.

_SYZYGY_PATH = "SyzygyPath"  # the option of UCI engines, and what stands for CECP's egtpath


def rules_of(config: Config) -> Rules:
    """InputRefused for tables that are not there, are damaged, or are of no use for the variant."""
    play = config.play
    return Rules(
        play.repetition,
        play.fifty,
        play.max_moves,
        play.hang_limit,
        play.doubtful_flag,
        draw=None if play.draw is None else DrawRule(**play.draw.model_dump()),
        resign=None if play.resign is None else ResignRule(**play.resign.model_dump()),
        tables=_table_rule(config),
        draw_offers=play.draw_offers,
    )


def _table_rule(config: Config) -> TablebaseRule | None:
    settings = config.play.tablebases
    if settings is None:
        return None
    place, variant = config.at("play", "tablebases"), config.play.variant
    if not tablebases.has_tables(variant):
        raise InputRefused(f"there are no tables for {variant}", place=place, step="leave tablebases out")
    found = find_tables(config)
    if not found.wdl:
        where = ", ".join(table_folders(config))
        step = f"name the folders that hold files such as {tablebases.example_file(variant)}"
        raise InputRefused(f"no Syzygy tables for {variant} in {where}", place=place, step=step)
    if not settings.adjudicate:
        return None
    return TablebaseRule(table_folders(config), settings.pieces or found.most, settings.fifty, settings.only)


def table_folders(config: Config) -> tuple[str, ...]:
    """The folders of the tables, absolute; relative ones begin at the configuration."""
    settings = config.play.tablebases
    if settings is None:
        return ()
    base = config.path.resolve().parent
    return tuple(str((base / Path(folder).expanduser()).resolve()) for folder in settings.path)


def find_tables(config: Config) -> TableFiles:
    """The tables in those folders; InputRefused for a folder that cannot be read, or files that are no tables."""
    place = config.at("play", "tablebases")
    try:
        found = tablebases.find_tables(table_folders(config), config.play.variant)
    except OSError as error:
        raise InputRefused(f"{error.filename}: {error.strerror}", place=place, step="correct path") from None
    if found.damaged:
        more = f" and {len(found.damaged) - 1} more" if len(found.damaged) > 1 else ""
        what = f"{found.damaged[0]}{more}: cut, or no table (of 64 bytes a block and 16 behind them)"
        raise InputRefused(what, place=place, step="get the file again")
    return found


def describe_tables(config: Config) -> tuple[str, ...]:
    """What tables there are and which are missing, for `check`; nothing without the rule."""
    settings = config.play.tablebases
    if settings is None:
        return ()
    found = find_tables(config)
    return found.lines(max(FEWEST_PIECES, settings.pieces or found.most))


def tablebase_options(config: Config, spec: EngineSpec) -> tuple[tuple[str, str], ...]:
    """The path of the tables for an engine that bears it, and whose own options do not name one."""
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

# Margins in ms for a clock and for a fixed time a move (runner spec 3).
CLOCK_MARGIN_MS = 50
_MOVETIME_MARGIN_MS = 100
_UNEVEN = 0.997  # stands for a speed that is yet to be measured: no whole seconds stay whole


def refuse_limits(spec: EngineSpec, tc: TimeControl, place: str) -> None:
    """InputRefused when an engine does not obey the limits of its control (runner spec 8)."""
    missing = sorted(tc.limits - spec.limits)
    if missing:
        allowed = ", ".join(sorted(spec.limits))
        what = f"{spec.name} does not obey {' and '.join(missing)} ({tc}); its limits: {allowed}"
        listed = toml_value(sorted((*spec.limits, *missing)))
        raise InputRefused(
            what,
            place=place,
            step=f"choose another tc, or give this entrant its own; limits = {listed} says that it does",
        )
    if spec.protocol == "cecp" and tc.nodes is not None and tc.limits & {"clock", "movetime"}:
        what = f"{spec.name} speaks CECP, which has no nodes beside a time, found {tc}"
        raise InputRefused(what, place=place, step="leave the time out, or give this entrant a tc of its own")
    uses_st = spec.protocol == "cecp" and tc.movetime_ms is not None and spec.quirks.movetime == "st"
    if uses_st and tc.movetime_ms is not None and tc.movetime_ms % 1000 and not spec.quirks.st_fraction:
        what = f"{spec.name} takes a fixed time a move in whole seconds only, found {tc}"
        raise InputRefused(what, place=place, step='choose movetime=1, a clock such as "1+0.05", or another engine')


def refuse_mixed_hourglass(sides: Mapping[str, Side], config: Config) -> None:
    """InputRefused where some play by an hourglass and others do not: what one uses runs to the other."""
    with_glass = {name: tc for name, side in sides.items() for tc in side.controls if tc.hourglass}
    without = {name: tc for name, side in sides.items() for tc in side.controls if not tc.hourglass}
    if with_glass and without:
        (one, glass), (other, clock) = next(iter(with_glass.items())), next(iter(without.items()))
        who = (
            f"{one} plays by {glass} and {other} by {clock}" if one != other else f"{one} plays by {glass} and {clock}"
        )
        what = f"{who}; what one uses of an hourglass runs to the other"
        raise InputRefused(what, place=config.at("play", "tc"), step="give all of them an hourglass, or none")


def resolve(
    section: EntrantSection,
    registry: Registry,
    folder: Path,
    place: str,
    is_gone: Callable[[str], bool] = lambda _name: False,
) -> Iterable[tuple[Entrant, EngineSpec, EngineEntry]]:
    """The entrants of one section with how each is started, fingerprint included, and the engine file that says so.

    One that `is_gone` may be refused.
    """
    try:
        for entry in engines_of(section, registry, folder, place):
            name = section.name or entry.name
            options = {**entry.options, **section.options}
            try:
                spec = to_spec(entry, name=name, options=options)
                spec = replace(spec, fingerprint=fingerprint(spec))
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


def side_of(config: Config, spec: EngineSpec, section: EntrantSection | None = None) -> Side:
    """A spec with the time controls, margins and sandbox it plays by; InputRefused for a limit it does not obey."""
    own = section or EntrantSection(engine=spec.name)
    white, black = (_terms(config, spec, own, white=colour) for colour in (True, False))
    if own.sandbox is None and spec.sandbox == "none":
        spec = replace(spec, sandbox=config.play.sandbox)
    ponder = config.play.ponder if own.ponder is None else own.ponder
    spec = replace(spec, offered=tablebase_options(config, spec))
    spec = _pondering(spec, own) if ponder else spec
    spec = replace(spec, restart=own.restart or config.play.restart)
    book = _own_book(config, own)
    return Side(spec, white.tc, white.margin_ms, config.play.variant, book, black=black if black != white else None)


def _pondering(spec: EngineSpec, own: EntrantSection) -> EngineSpec:
    """Its option says so too, whatever the engine file has there; what the entrant's own options say stands."""
    decided = any(name.casefold() == "ponder" for name in own.options)
    options = tuple((name, value if decided or name.casefold() != "ponder" else "true") for name, value in spec.options)
    pondering = replace(spec, options=options, offered=(*spec.offered, ("Ponder", "true")), ponder=True)
    if options == spec.options or not spec.fingerprint:
        return pondering
    return replace(pondering, fingerprint=fingerprint(pondering))  # its options are part of it


def _own_book(config: Config, own: EntrantSection) -> OwnBook | None:
    if own.own_book is None:
        return None
    path = config.path.resolve().parent / Path(own.own_book.file).expanduser()
    if not VARIANTS[config.play.variant].is_usual:
        what = f"a Polyglot book knows chess and Chess960 only, and {config.play.variant} is played"
        raise InputRefused(what, place=str(path), step="leave own_book out")
    PolyglotBook(path).close()
    return OwnBook(str(path), own.own_book.choice, own.own_book.plies, digest=file_digest(path))


def _terms(config: Config, spec: EngineSpec, own: EntrantSection, *, white: bool) -> TimeTerms:
    tc, place = control_of(config, own, spec.name, white=white)
    margin = own.margin_ms if own.margin_ms is not None else config.play.margin_ms
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
        raise InputRefused(f"{spec.name}: {error}", place=place, step="choose a shorter tc") from None
    except InputRefused as error:
        error.step = 'give it a clock such as "10+0.1", or leave speed out'
        raise


def _refuse_odds(config: Config, spec: EngineSpec, tc: TimeControl) -> None:
    """InputRefused when an engine could not give what the format may ask of it, or a table nobody asks for."""
    handicap, place = getattr(config.format_options, "handicap", None), config.at("format", "handicap")
    table = config.play.odds
    if handicap is None:
        if table is not None:
            step = "add handicap = {} under [format], or leave odds out"
            raise InputRefused("odds without a handicap", place=config.at("play", "odds"), step=step)
        return
    if not tc.is_divisible:
        step = "give it a clock, a movetime or nodes, or leave handicap out"
        raise InputRefused(f"{spec.name} plays by {tc}, which odds cannot shorten", place=place, step=step)
    try:
        for bands in range(1, handicap.ceiling + 1):
            refuse_limits(spec, tc.divided(odds_divisor(bands, table)), place)
    except InputRefused as error:
        error.step = 'give it a clock such as "10+0.1", or leave handicap out'
        raise
