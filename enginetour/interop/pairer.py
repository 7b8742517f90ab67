"""Another program's tournament by enginetour's systems: its next round, by file and user, and its table."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from enginetour.formats.base import SYSTEMS, make_format, options_model
from enginetour.formats.dutch import Dutch
from enginetour.formats.gotha import Handicap
from enginetour.formats.information import Information
from enginetour.formats.options import RatingHandicap
from enginetour.formats.pairing import standings, tiebreaks
from enginetour.formats.rounds import PairingSystem, RoundsOptions
from enginetour.interop.foreign import Foreign
from enginetour.interop.tomlplace import refusal
from enginetour.interop.trf import Report
from enginetour.interop.trffield import as_played
from enginetour.interop.trfheader import header
from enginetour.model.errors import InputRefused, UsageRefused, near
from enginetour.model.game import Placed
from enginetour.ratings import grades
from enginetour.ratings.gor import FLOOR

FIDE_RULES = {"fide": "2026", "fide-2023": "2023", "fide-2009": "2009"}
SHOWN = 8  # names in a note
OWN_ROUNDS = ("absent", "half_bye")  # name rounds to come, of which only one is paired here
HEEDED = ("initial_colour", "drop")  # of a file, by every system: first round and absences are part of the field


def settings(words: Iterable[str]) -> dict[str, object]:
    """``key=value`` each, the value as in a configuration or a bare word. UsageRefused for anything else."""
    found: dict[str, object] = {}
    for word in words:
        key, sign, value = word.partition("=")
        if not sign or not key.strip():
            raise UsageRefused(f"{word!r} is not key=value", place="--set", step="enginetour systems NAME lists keys")
        try:
            found[key.strip()] = tomllib.loads(f"value = {value}")["value"]
        except (ValueError, RecursionError):  # no TOML, a number of thousands of digits, brackets in brackets
            found[key.strip()] = value.strip()
    return found


def rounds_system(name: str) -> None:
    """UsageRefused unless the registry has a system of that name that pairs in rounds."""
    if name not in SYSTEMS:
        raise UsageRefused(f"unknown system {name!r}{near(name, _in_rounds())}", place="--system")
    if not SYSTEMS[name].rounds:
        known = ", ".join(_in_rounds())
        raise UsageRefused(f"{name} does not pair in rounds; those that do: {known}", place="--system")


def _in_rounds() -> list[str]:
    return [name for name, system in SYSTEMS.items() if system.rounds]


def _by_name(foreign: Foreign, given: Mapping[str, object]) -> dict[str, object]:
    """The settings with names where the marks of gopair have ids of the file."""

    def name(label: object) -> object:
        place = foreign.place(label) if isinstance(label, str) else None
        return label if place is None else foreign.field.members[place].name

    found = dict(given)
    if (bye := found.get("bye")) is not None:
        found["bye"] = [name(label) for label in (bye if isinstance(bye, list) else [str(bye)])]
    if isinstance(drop := found.get("drop"), dict):
        found["drop"] = {name(label): rounds for label, rounds in drop.items()}
    return found


def _written(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def on_scale(system: PairingSystem, foreign: Foreign) -> Foreign:
    """The tournament with ratings on the scale of the system: GoR begins 1 dan at 2050 and has none below 100."""
    if foreign.one_dan is None or not isinstance(system, Information) or system.model != "gor":
        return foreign
    above = grades.GO - foreign.one_dan
    members = tuple(
        replace(member, rating=None if member.rating is None else max(FLOOR, member.rating + above))
        for member in foreign.field.members
    )
    if members == foreign.field.members:
        return foreign
    return replace(foreign, field=replace(foreign.field, members=members), one_dan=None)


def pairer(name: str, foreign: Foreign, given: Mapping[str, object]) -> tuple[PairingSystem, tuple[str, ...]]:
    """The system with settings of file and user, the user's first, and what must be told of those it has no use for.

    InputRefused: the field is none it can pair.
    """
    rounds_system(name)
    for key in OWN_ROUNDS:
        if key in given:
            what, step = f"{key} plans the rounds of a tournament of ours", "--absent names who is away in this round"
            raise UsageRefused(what, place="--set", step=step)
    if "bye_points" in given:
        what, step = "bye_points are those of a tournament of ours", "a line 162 with P says what a bye is worth"
        raise UsageRefused(what, place="--set", step=step)
    if "rounds" in given:
        raise UsageRefused("rounds are those of the tournament", place="--set", step="--rounds N says how many")
    model: Any = options_model(name)
    fields = model.model_fields
    by_score = "handicap" in fields and Handicap in get_args(fields["handicap"].annotation)
    used = set(fields) - (set() if by_score else {"handicap"})  # that of a file is by McMahon score
    idle = {key: value for key, value in foreign.settings.items() if key not in used and key not in HEEDED}
    told = []
    if idle:
        named = ", ".join(idle) if len(idle) > 1 else ", ".join(f"{key} = {_written(idle[key])}" for key in idle)
        told.append(f"settings of the file without effect in {name}: {named}")
    if foreign.field.virtual and "acceleration" not in fields:
        told.append(f"the file has virtual points (250, XXA), which {name} does not use")
    wanted = {key: value for key, value in foreign.settings.items() if key in used}
    wanted |= _by_name(foreign, given) if name == "gopair" else given
    if "rounds" in fields:
        wanted["rounds"] = foreign.field.rounds
    try:
        options = model.model_validate(wanted)
    except ValidationError as error:
        refused = refusal(error, Path("--set"), "", model)
        raise UsageRefused(refused.what, place="--set", step=f"enginetour systems {name}") from None
    rounds: Any = make_format(name, options)
    system: PairingSystem = rounds.system
    rated = on_scale(system, foreign)
    if rated is not foreign:
        more = grades.GO - (foreign.one_dan or 0)
        raised = f"the ratings of the file count {more:g} points more with {name}: GoR begins 1 dan at {grades.GO:g}"
        lowest = f"with {name}, ratings below {FLOOR:g} count as {FLOOR:g}, the lowest of GoR"
        told.append(f"{raised}, and its lowest rating is {FLOOR:g}" if more else lowest)
    most = RoundsOptions.most_rounds(len(foreign.field.members))
    if "rounds" in fields and foreign.field.rounds > most:
        told.append(f"{foreign.field.rounds} rounds need rematches: without any the entrants can play at most {most}")
    system.bounded = False  # as long as another program's tournament goes
    try:
        system.check(rated.field.members)
        handicap = getattr(options, "handicap", None)
        if isinstance(handicap, RatingHandicap):
            handicap.check({member.name: member.rating for member in foreign.field.members})
    except ValueError as error:
        raise InputRefused(str(error), place=name) from None
    return system, tuple(told)


@dataclass(frozen=True, slots=True)
class Ranking:
    """The table of a file; `finished` where all its rounds are played."""

    title: str
    placed: tuple[Placed, ...]
    finished: bool
    notes: tuple[str, ...]


def ranking(report: Report, codes: Sequence[str] | None, unplayed: tiebreaks.Unplayed) -> Ranking:
    """The table by these codes, else by those of the file's lines 202 and 212, else by those of the Dutch system.

    UsageRefused for codes that do not exist. A code of the file that enginetour does not have ends its order.
    """
    said, foreign = header(report), as_played(report)
    field, notes = foreign.field, list(foreign.warnings)
    if codes is not None:
        try:
            order = standings.checked(tuple(codes))
        except ValueError as error:
            raise UsageRefused(str(error), place="--placement") from None
    else:
        order, unknown = _order(said.codes)
        if unknown:
            notes.append(f"tie-break {unknown} of the file is not available: the table ends before it")
    placed = standings.placed(field, order, tuple(range(len(field.members))), tiebreaks.Terms(unplayed=unplayed))
    if unplayed in FIDE_RULES:
        notes.append(f"rounds without a game count by FIDE's rules of {FIDE_RULES[unplayed]} (--unplayed {unplayed})")
    notes += _ranked_otherwise(report, placed, foreign)
    is_open = any(not turn.games and turn.met for row in field.history[-1:] for turn in row)
    return Ranking(said.name or report.place, placed, len(field.history) >= field.rounds and not is_open, tuple(notes))


def ranking_by(
    name: str,
    title: str,
    foreign: Foreign,
    columns: Mapping[str, Sequence[Fraction]],
    codes: Sequence[str] | None,
    unplayed: tiebreaks.Unplayed | None,
) -> Ranking:
    """The table of a file after its last round, by a system with the settings of the file and these of the user.

    The `columns` of the file are compared with it. UsageRefused for codes that do not exist.
    """
    chosen = {"placement": None if codes is None else list(codes), "unplayed": unplayed}
    given: dict[str, object] = {key: value for key, value in chosen.items() if value is not None}
    if name == "gopair" and "method" not in foreign.settings:
        given["method"] = "best"  # a table needs no opponents that are left
    system, told = pairer(name, foreign, given)
    field = foreign.field
    placed = system.table(field, tuple(range(len(field.members))))
    notes = [*foreign.warnings, *told]
    columns = columns if len(field.history) >= field.rounds else {}  # they are those after the last round
    found = standings.values(field, tuple(columns), system.terms(field))
    for code, column in columns.items():
        lowest = code == "CAT" and min(column) > 0  # some count categories from 1
        mine = [Fraction(value, tiebreaks.PLACEMENT_CODES[code].per) + lowest for value in found[code]]
        other = [(at, ours, said) for at, (ours, said) in enumerate(zip(mine, column, strict=True)) if ours != said]
        if other:
            at, ours, said = other[0]
            more = f", and {len(other) - 1} more" if len(other) > 1 else ""
            notes.append(
                f"{code} of {field.members[at].name} is {float(said):g} in the file, {float(ours):g} here{more}"
            )
    is_open = any(
        turn.met and turn.opponent is not None and not turn.points and not row[turn.opponent].points
        for row in field.history[-1:]
        for turn in row
    )
    return Ranking(title, placed, len(field.history) >= field.rounds and not is_open, tuple(notes))


def _order(codes: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """The codes of a file as ours, up to the first that is unknown, which comes with them."""
    if not codes:
        return Dutch.codes, ""
    found: list[str] = []
    for code in codes:
        mine = code.replace(":GP", "").replace("/", "-").replace("#", "-")
        mine = {"RTNG": "RATING"}.get(mine, mine)
        if mine not in tiebreaks.PLACEMENT_CODES:
            return tuple(found or ("PTS",)), code
        found.append(mine)
    return tuple(found), ""


def _ranked_otherwise(report: Report, placed: Sequence[Placed], foreign: Foreign) -> list[str]:
    """Entrants that the file gives other ranks, where all have one."""
    ranks = {entry.name: entry.rank for entry in report.entries}
    if None in ranks.values() or len(ranks) != len(foreign.labels):
        return []
    other = [f"{line.name} ({ranks[line.name]})" for line in placed if ranks[line.name] != line.rank]
    more = ", ..." if len(other) > SHOWN else ""
    return [f"the file has other ranks for {len(other)} entrants: {', '.join(other[:SHOWN])}{more}"] if other else []
