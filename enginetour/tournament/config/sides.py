"""What each entrant plays by: its time controls and margins, and whether it obeys such limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from enginetour.engines.identity import fingerprint
from enginetour.interop.files import file_digest
from enginetour.interop.toml import toml_value
from enginetour.model import task
from enginetour.model.errors import InputRefused
from enginetour.model.task import EngineSpec, OwnBook, Side, Terms
from enginetour.model.timecontrol import TimeControl
from enginetour.model.variants import VARIANTS
from enginetour.openings.polyglot import Book
from enginetour.tournament.config.config import Config
from enginetour.tournament.config.controls import control_of
from enginetour.tournament.config.rulebook import offered_to
from enginetour.tournament.config.sections_entrants import EntrantSection

# Margins in ms for a clock and for a fixed time a move (runner spec 3).
CLOCK_MARGIN_MS = 50
MOVETIME_MARGIN_MS = 100
UNEVEN = 0.997  # stands for a speed that is yet to be measured: no whole seconds stay whole


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


def refuse_one_glass(sides: Mapping[str, Side], config: Config) -> None:
    """InputRefused where some play by an hourglass and others do not: what one uses runs to the other."""
    playing = {name: [side.playing(white=white).tc for white in (True, False)] for name, side in sides.items()}
    with_glass = {name: tc for name, tcs in playing.items() for tc in tcs if tc.hourglass}
    without = {name: tc for name, tcs in playing.items() for tc in tcs if not tc.hourglass}
    if with_glass and without:
        (one, glass), (other, clock) = next(iter(with_glass.items())), next(iter(without.items()))
        who = (
            f"{one} plays by {glass} and {other} by {clock}" if one != other else f"{one} plays by {glass} and {clock}"
        )
        what = f"{who}; what one uses of an hourglass runs to the other"
        raise InputRefused(what, place=config.at("play", "tc"), step="give all of them an hourglass, or none")


def side_of(config: Config, spec: EngineSpec, section: EntrantSection | None = None) -> Side:
    """A spec with the time controls, margins and sandbox it plays by; InputRefused for a limit it does not obey."""
    own = section or EntrantSection(engine=spec.name)
    white, black = (_terms(config, spec, own, white=colour) for colour in (True, False))
    if own.sandbox is None and spec.sandbox == "none":
        spec = replace(spec, sandbox=config.play.sandbox)
    ponder = config.play.ponder if own.ponder is None else own.ponder
    spec = replace(spec, offered=offered_to(config, spec))
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
    """The book we play from for an engine; InputRefused for a file that is none, and in other variants."""
    if own.own_book is None:
        return None
    path = config.path.resolve().parent / Path(own.own_book.file).expanduser()
    if not VARIANTS[config.play.variant].is_usual:
        what = f"a Polyglot book knows chess and Chess960 only, and {config.play.variant} is played"
        raise InputRefused(what, place=str(path), step="leave own_book out")
    Book(path).close()
    return OwnBook(str(path), own.own_book.choice, own.own_book.plies, digest=file_digest(path))


def _terms(config: Config, spec: EngineSpec, own: EntrantSection, *, white: bool) -> Terms:
    tc, place = control_of(config, own, spec.name, white=white)
    margin = own.margin_ms if own.margin_ms is not None else config.play.margin_ms
    if margin is None:
        if tc.movetime_ms is not None:
            margin = max(MOVETIME_MARGIN_MS, spec.quirks.movetime_margin_ms)
        else:
            margin = max(CLOCK_MARGIN_MS, spec.quirks.clock_margin_ms)
    refuse_limits(spec, tc, place)
    _refuse_speed(config, spec, tc)
    _refuse_odds(config, spec, tc)
    return Terms(tc, margin)


def _refuse_speed(config: Config, spec: EngineSpec, tc: TimeControl) -> None:
    """InputRefused when an engine cannot be told the times that the machine's speed makes of its control."""
    speed, place = config.play.speed, config.at("play", "speed")
    if speed is None:
        return
    tried = UNEVEN if speed == "measure" else speed
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
    if not task.is_divisible(tc):
        step = "give it a clock, a movetime or nodes, or leave handicap out"
        raise InputRefused(f"{spec.name} plays by {tc}, which odds cannot shorten", place=place, step=step)
    try:
        for bands in range(1, handicap.ceiling + 1):
            refuse_limits(spec, task.divided(tc, task.divisor(bands, table)), place)
    except InputRefused as error:
        error.step = 'give it a clock such as "10+0.1", or leave handicap out'
        raise
