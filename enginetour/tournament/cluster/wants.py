"""What the games of a plan need on every machine of a cluster."""

from __future__ import annotations

from enginetour.engines.registry import of_workspace
from enginetour.model.errors import InputRefused
from enginetour.model.task import Side
from enginetour.tournament.cluster.orders import Demand, Origin
from enginetour.tournament.config.rulebook import folders_of, look
from enginetour.tournament.demand import wanted
from enginetour.tournament.plan import Plan

MEASURE = "measure"
HASH = frozenset({"hash", "memory"})  # UCI's usual name; ours for the CECP command


def demand_of(plan: Plan, *, force: bool) -> Demand:
    """InputRefused for settings that are of one machine."""
    play = plan.config.play
    if play.affinity is True:
        step = "leave affinity out, or start each worker under taskset"
        raise InputRefused("affinity is of one machine", place=plan.config.at("play", "affinity"), step=step)
    if play.speed not in (None, MEASURE):
        what = f"speed = {play.speed} is of one machine"
        raise InputRefused(what, place=plan.config.at("play", "speed"), step='say speed = "measure"')
    sides = tuple(plan.sides.values())
    tables = look(plan.config) if play.tablebases is not None else None
    books = {(side.own_book.path, side.own_book.digest) for side in sides if side.own_book is not None}
    clocks = {side.playing(white=white).tc for side in sides for white in (True, False)}
    return Demand(
        specs=tuple(side.spec for side in sides),
        origins=tuple(_origins(plan).items()),
        folders=folders_of(plan.config),
        tables=len(tables.wdl) + len(tables.dtz) if tables is not None else 0,
        variant=play.variant,
        books=tuple(sorted(books)),
        processors=wanted(sides, 1),
        hash_mb=sum(sorted(map(hash_mb, sides))[-2:]),
        crowded=force,
        start_parallel=play.start_parallel,
        clocks=tuple(sorted(clocks, key=str)) if play.speed == MEASURE else (),
    )


def hash_mb(side: Side) -> int:
    """Of its engine, as the options say; 0 where they do not."""
    given = (value for name, value in side.spec.options if name.casefold() in HASH)
    return max((int(value) for value in given if value.isascii() and value.isdigit()), default=0)


def _origins(plan: Plan) -> dict[str, Origin]:
    """By entrant; none for a command that stands in the configuration itself."""
    registry, folder = of_workspace(plan.workspace), plan.config.path.resolve().parent
    found = {}
    for section in plan.config.entrants:
        if section.command:
            continue
        options = tuple(
            (name, str(value).lower() if isinstance(value, bool) else str(value))
            for name, value in section.options.items()
        )
        for entry in registry.matching(section, folder):
            found[section.name or entry.name] = Origin(entry.id, options)
    return found
