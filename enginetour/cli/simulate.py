"""Command simulate: simulate formats without engines, to compare their numbers of games and the list accuracy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginetour.cli.options import PATH, count_option, database_option
from enginetour.cli.printing import echo, output_form, output_options, print_json, print_sheet, progress_bar
from enginetour.formats.bubble import Bubble
from enginetour.interop.bubblecase import read_case
from enginetour.model.errors import InputRefused, UsageRefused
from enginetour.model.game import Entrant, GameFinished, Note
from enginetour.store.address import Address

if TYPE_CHECKING:
    from enginetour.formats.simulation import SimulationModel


_COMMA = r",(?![^\[\]]*\])"  # matches a comma between systems, but not a comma in the list of a setting
NUMBER = click.FloatRange(min=0, max=10_000)


@click.command()
@click.argument("config", metavar="[CONFIG]", required=False, type=PATH)
@click.option("--case", type=PATH, metavar="FILE", help="Print the trace of a bubble case (JSON).")
@click.option(
    "--compare",
    "systems",
    metavar="NAME,NAME",
    help="Compare formats with the same random entrants; NAME:key=value changes a setting.",
)
@count_option("--entrants", least=2, most=2000, show_default="32", help="Number of entrants (with --compare).")
@count_option("--rounds", most=1000, show_default="6", help="Number of rounds (with --compare).")
@count_option("--fields", most=1_000_000, show_default="200", help="Number of simulated tournaments.")
@click.option(
    "--spread", type=NUMBER, metavar="ELO", show_default="150", help="Standard deviation of random strengths, in Elo."
)
@click.option(
    "--noise",
    type=NUMBER,
    metavar="ELO",
    show_default="150, or 0 for a CONFIG with ratings",
    help="Standard deviation of ratings around the true strength, in Elo.",
)
@count_option("--seed", least=0, show_default="1", help="Random seed.")
@database_option
@output_options
def simulate(
    config: Path | None,
    case: Path | None,
    systems: str | None,
    entrants: int | None,
    rounds: int | None,
    fields: int | None,
    spread: float | None,
    noise: float | None,
    seed: int | None,
    db: Address | None,
) -> None:
    """Simulate formats without engines: games and accuracy of the list.

    With CONFIG, the format of that file is simulated. The strengths are the
    ratings of its entrants, or random values. --compare simulates several
    formats.

    Example: enginetour simulate --compare swiss-gotha,mcmahon --noise 400
    """
    chosen = [word for word, value in (("CONFIG", config), ("--case", case), ("--compare", systems)) if value]
    if len(chosen) != 1:
        found = " and ".join(chosen) or "none"
        step = "see enginetour simulate --help"
        raise UsageRefused(f"needs exactly one of CONFIG, --case and --compare (found {found})", step=step)
    form = output_form()
    idle = {
        "--entrants": (entrants, systems),
        "--rounds": (rounds, systems),
        "--fields": (fields, not case),
        "--spread": (spread, not case),
        "--noise": (noise, not case),
        "--seed": (seed, not case),
        "--csv": (form if form == "csv" else None, not case),
        "--format": (form if form not in ("text", "csv", "json") else None, not case),
    }
    for option, (value, used) in idle.items():
        if value is not None and not used:
            raise UsageRefused(f"has no effect with {chosen[0]}", place=option, step=f"omit {option}")
    count, start = fields or 200, 1 if seed is None else seed
    if case is not None:
        _case(case)
    elif systems is not None:
        world = _world(spread, 150.0 if noise is None else noise)
        _compare(systems, world, entrants or 32, rounds or 6, count, start)
    elif config is not None:
        _config(config, db, spread, noise, count, start)


def _world(spread: float | None, noise: float) -> SimulationModel:
    from enginetour.formats.simulation import SimulationModel

    return SimulationModel(noise=noise) if spread is None else SimulationModel(spread=spread, noise=noise)


def _compare(systems: str, world: SimulationModel, entrants: int, rounds: int, count: int, seed: int) -> None:
    from enginetour.formats.simulation import compare, parse_system
    from enginetour.reports import sprt as sheets

    contenders = [parse_system(words.strip(), rounds) for words in re.split(_COMMA, systems)]
    with progress_bar(count, "simulating") as advance:
        found = compare(contenders, world, entrants=entrants, count=count, seed=seed, progress=advance)
    if output_form() in ("json", "csv"):
        print_sheet(sheets.comparison_rows(found))
        return
    of = f"{count} fields of {entrants} engines, {rounds} rounds"
    title = f"{of}, strengths ± {world.spread:g}, noise {world.noise:g}"
    print_sheet(sheets.comparison_sheet(title, found))


def _config(path: Path, db: Address | None, spread: float | None, noise: float | None, count: int, seed: int) -> None:
    from enginetour.formats.base import make_format
    from enginetour.formats.simulation import simulate_many
    from enginetour.reports import sprt as sheets
    from enginetour.tournament.plan import estimate_duration, prepare, refuse_few

    plan = prepare(path, db)
    refuse_few(plan)
    config = plan.config
    unrated = [entrant.name for entrant in plan.entrants if entrant.rating is None]
    if spread is not None and not unrated:
        raise UsageRefused("has no effect, because all entrants have ratings", place="--spread", step="omit --spread")
    world = replace(_world(spread, (150.0 if unrated else 0.0) if noise is None else noise), odds=config.play.odds)
    with progress_bar(count, "simulating") as advance:
        found = simulate_many(
            lambda number: make_format(config.system, config.format_options, number),
            plan.entrants,
            world,
            count=count,
            seed=seed,
            progress=advance,
        )
    estimate = estimate_duration(plan)
    longest = estimate["longest_hours"]
    hours = None if longest is None else longest * found.figures["games"].mean / estimate["most"]
    if output_form() in ("json", "csv"):
        sheet = sheets.rehearsal_row(found, hours)
        print_sheet(sheet, dict(sheet.rows[0]))
        return
    strengths = f"random strengths ± {world.spread:g} in the order of the file" if unrated else "strengths as rated"
    title = f"{config.tournament.name}: {count} simulations, {strengths}, noise {world.noise:g}"
    print_sheet(sheets.rehearsal_sheet(title, found, hours))
    if unrated and len(unrated) < len(plan.entrants):
        echo(f"{len(unrated)} entrants have no rating ({unrated[0]} ...), so all strengths are random", err=True)


def _case(case: Path) -> None:
    from enginetour.interop.bubblecase import LARGEST_FILE, trace_bubble
    from enginetour.interop.files import read_whole

    try:
        text = read_whole(case, LARGEST_FILE)
    except OSError as error:
        raise InputRefused(f"cannot be read: {error.strerror}", place=str(case)) from None
    notes = decisions(text, str(case))
    if output_form() == "json":
        print_json(trace_bubble(notes))
        return
    echo("rules are the steps of H.G. Muller's article (2007): 1 start, 4 return from parking,")
    echo("5 next engine of the list, 8 return from parking after the end of the list")
    step = 0
    for note in notes:
        fields: dict[str, Any] = dict(note.fields)
        lead = f"{fields['step']:>3}" if fields["step"] != step else ""
        step = fields["step"]
        for line in _decision_lines(note, fields):
            echo(f"{lead:>3}  {line}")
            lead = ""
    echo(f"ranking, best first: {', '.join(reversed(trace_bubble(notes)['ranking']))}")


def _decision_lines(note: Note, fields: Mapping[str, Any]) -> list[str]:
    """Format one decision of a bubble: an entry with its rule, or an exit with the table that decided it."""
    if "table" in fields:
        table = ", ".join(f"{name} {half / 2:g}" for name, half, _ in fields["table"]) or "the section is empty"
        parked = ", ".join(fields["parked"]) or "none"
        return [table, f"{note.text} ({fields['reason']}), {fields['games_total']} games", f"parked: {parked}"]
    entries = fields.get("entered") or [fields["replacement"]] if note.kind in ("enter", "unpark", "withdraw") else []
    rules = "".join(f" (rule {rule})" for rule in sorted({entry["rule"] for entry in entries if entry}))
    return [note.text + rules]


def decisions(source: str | bytes | Mapping[str, object], place: str = "case") -> tuple[Note, ...]:
    """Play a bubble case and return its decisions.

    `source` is JSON text or the parsed value. Raise InputRefused with `place` and the invalid field.
    """
    case = read_case(source, place)
    bubble = Bubble(case.options, due=case.withdrawals)
    state = bubble.start(tuple(Entrant(name) for name in reversed(case.ranking)))
    while games := bubble.offers(state):
        state = bubble.step(state, GameFinished(games[0], case.outcome(games[0])))
    return tuple(bubble.notes(state))
