"""Options that say what a list is made of, shared by every command that makes one.

An option that is not given leaves the list's own value, an empty one (``--engine ''``) takes the default back.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from enginetour.model.errors import UsageRefused
from enginetour.ratings.pairs import LARGEST

if TYPE_CHECKING:
    from enginetour.store.definition import ListDefinition


F = TypeVar("F", bound=Callable[..., Any])
SYSTEMS = ("ml", "elo", "gor", "egf", "egf2021")
MODELS = ("logistic", "davidson", "raokupper")
TERMS = ("system", "settings", "model", "prior", "advantage", "anchors", "loose", "average", "scale", "by")
_TAKEN_BACK = ""
SMALLEST_SCALE = 1  # points at ten to one


def number(ctx: click.Context, param: click.Parameter, value: str | None) -> float | str | None:
    """A number of a size that ratings have, nothing, or ``fit`` where that is possible."""
    if value is None or (value == "fit" and "fit" in str(param.metavar)):
        return value
    try:
        found = float(value)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise click.BadParameter(f"{value!r} is no finite number; write {param.metavar}", ctx, param)
    least = SMALLEST_SCALE if param.name == "scale" else -LARGEST
    if not least <= found <= LARGEST:
        raise click.BadParameter(f"{value} is not between {least} and {LARGEST}", ctx, param)
    return found


def _number(ctx: click.Context, param: click.Parameter, value: str | None) -> float | str | None:
    return value if value == _TAKEN_BACK else number(ctx, param, value)


def _day(ctx: click.Context, param: click.Parameter, value: str | None) -> date | str | None:
    if value is None or value == _TAKEN_BACK:
        return value
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is no day, write 2026-11-01", ctx, param) from None


def table(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """``NAME=VALUE`` each; the last ``=`` divides."""
    pairs = [] if values == (_TAKEN_BACK,) else [value.rpartition("=") for value in values]
    for (name, _, text), value in zip(pairs, values, strict=False):
        if not name.strip() or not text.strip():
            raise click.BadParameter(f"write {param.metavar}, found {value!r}", ctx, param)
    said: dict[str, str] = {}
    for name, text in ((name.strip(), text.strip()) for name, _, text in pairs):
        if said.setdefault(name, text) != text:
            raise click.BadParameter(f"{name!r} is given as {said[name]} and as {text}; leave one out", ctx, param)
    return (
        ((_TAKEN_BACK, _TAKEN_BACK),)
        if values == (_TAKEN_BACK,)
        else tuple((n.strip(), t.strip()) for n, _, t in pairs)
    )


def _words(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG001
    """Words with commas between them."""
    return values if values == (_TAKEN_BACK,) else tuple(word.strip() for value in values for word in value.split(","))


def ratings(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[str, Any], ...]:
    """Names with numbers; one pair of nothing where an empty value takes them back."""
    pairs = table(ctx, param, values)
    return tuple((name, name and number(ctx, param, text)) for name, text in pairs)


_OPTIONS: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
    (("--system",), {"type": click.Choice(SYSTEMS), "help": "Likelihood (ml, default), Elo, Czech GoR, EGF GoR."}),
    (
        ("--setting", "settings"),
        {"multiple": True, "metavar": "KEY=VALUE", "callback": table, "help": "Of an incremental system; repeat."},
    ),
    (
        ("--model", "likelihood"),
        {"type": click.Choice(MODELS), "help": "Draws as half a win (default), by Davidson, or BayesElo's."},
    ),
    (("--prior",), {"metavar": "PRIOR", "help": "auto (default), none, gaussian=SD, draws=W, virtual=P."}),
    (("--advantage",), {"metavar": "ELO|fit", "callback": _number, "help": "White's advantage; default 0."}),
    (
        ("--anchor", "anchors"),
        {"multiple": True, "metavar": "NAME=RATING", "callback": ratings, "help": "Fix an engine's rating; repeat."},
    ),
    (
        ("--loose-anchor", "loose"),
        {
            "multiple": True,
            "metavar": "NAME=RATING+-SD",
            "callback": table,
            "help": "Believe an engine near a rating; repeat.",
        },
    ),
    (
        ("--average",),
        {"metavar": "ELO", "callback": _number, "help": "Average of each pool; default 0, or by anchors."},
    ),
    (
        ("--scale",),
        {"metavar": "POINTS", "callback": _number, "help": "Points at ten to one; default 400, Ordo's are 403.514."},
    ),
    (
        ("--tournaments",),
        {"multiple": True, "metavar": "GLOB", "help": "Only games of such tournaments; 'NAME #2' is one edition."},
    ),
    (("--not-tournaments",), {"multiple": True, "metavar": "GLOB", "help": "No games of such tournaments; repeat."}),
    (
        ("--engine", "--include", "engines"),
        {"multiple": True, "metavar": "GLOB", "help": "Only games between such engines; repeat."},
    ),
    (
        ("--not-engine", "--exclude", "not_engines"),
        {"multiple": True, "metavar": "GLOB", "help": "No games of such engines; repeat."},
    ),
    (("--since",), {"metavar": "DAY", "callback": _day, "help": "First day (UTC), as 2026-11-01."}),
    (("--until",), {"metavar": "DAY", "callback": _day, "help": "Last day (UTC)."}),
    (
        ("--time-class", "time_classes"),
        {"multiple": True, "metavar": "CLASS", "help": "bullet, blitz, rapid, ..., nodes, depth, movetime; repeat."},
    ),
    (("--tc",), {"multiple": True, "metavar": "GLOB", "help": "Only games at such controls; repeat."}),
    (
        ("--exclude-termination",),
        {
            "multiple": True,
            "metavar": "WORD,...",
            "callback": _words,
            "help": "Leave out games that ended by time, crash, stall, illegal-move or adjudication.",
        },
    ),
    (("--hardware",), {"multiple": True, "metavar": "GLOB", "help": "Only games on such processors; repeat."}),
    (("--odds/--even", "odds"), {"default": None, "help": "Count games at time odds, too; default even ones only."}),
    (
        ("--variant",),
        {"metavar": "NAME", "help": "Games of that variant: chess960, crazyhouse, ...; default standard."},
    ),
    (("--min-games",), {"type": click.IntRange(min=0), "help": "Leave out engines with fewer games."}),
    (
        ("--best-of-family/--whole-families", "best_of_family"),
        {"default": None, "help": "Show only the best engine of each family."},
    ),
    (
        ("--by",),
        {"type": click.Choice(["version", "name"]), "help": "Rate engine versions (default) or add them up by name."},
    ),
    (
        ("--alias", "alias"),
        {"multiple": True, "metavar": "OTHER=NAME", "callback": table, "help": "Rate OTHER as NAME; repeat."},
    ),
    (("--aliases",), {"type": click.Path(path_type=Path), "help": 'The same from lines of "name","alias","alias".'}),
)


# What a list of files has no use for: its names have no versions, families, machines and tournaments.
_STORE_ONLY = ("tournaments", "not_tournaments", "hardware", "best_of_family", "by")


def list_options(command: F) -> F:
    """Every filter and term; the command takes them as ``**asked`` and hands them to `definition_from`."""
    for words, settings in reversed(_OPTIONS):
        command = click.option(*words, **settings)(command)
    return command


def file_list_options(command: F) -> F:
    """Those that a list straight from files can have."""
    for words, settings in reversed(_OPTIONS):
        if _field(words) not in _STORE_ONLY:
            command = click.option(*words, **settings)(command)
    return command


def given(asked: dict[str, Any]) -> dict[str, Any]:
    """Fields of a definition that were asked for, with their values; a field taken back has None."""
    fields: dict[str, Any] = {}
    for name, value in asked.items():
        if value is None or value == () or name in ("alias", "aliases", "settings", "anchors", "loose"):
            continue
        field = "model" if name == "likelihood" else name  # --sprt-model is called model
        fields[field] = None if value in (_TAKEN_BACK, (_TAKEN_BACK,)) else value
    if asked.get("settings"):
        fields["settings"] = {name: _value(text) for name, text in asked["settings"] if name} or None
    if asked["anchors"]:
        fields["anchors"] = {name: rating for name, rating in asked["anchors"] if name} or None
    if asked["loose"]:
        fields["loose"] = {name: words for name, words in asked["loose"] if name} or None
    if asked["alias"] or asked["aliases"]:
        fields["aliases"] = _aliases(asked["alias"], asked["aliases"]) or None
    return fields


def flags(fields: Iterable[str]) -> str:
    """The options that give these fields, as they are typed."""
    typed = {_field(words): words[0].partition("/")[0] for words, _ in _OPTIONS}
    return ", ".join(typed.get(field, "--alias" if field == "aliases" else f"--{field}") for field in fields)


def _field(words: tuple[str, ...]) -> str:
    """The name under which click hands an option on."""
    return words[-1].partition("/")[0].lstrip("-").replace("-", "_")


def definition_from(asked: dict[str, Any], base: ListDefinition | None = None) -> ListDefinition:
    """The definition asked for, on top of `base` or the defaults; UsageRefused for what does not fit together."""
    from enginetour.store.definition import ListDefinition, defined

    fields = given(asked)
    before = (base or ListDefinition()).model_dump()
    changed = {name: value for name, value in fields.items() if value is not None}
    return defined({**{name: value for name, value in before.items() if name not in fields}, **changed}, "list options")


def _aliases(pairs: tuple[tuple[str, str], ...], path: Path | None) -> dict[str, str]:
    from enginetour.interop.gamefilter import read_aliases

    found = read_aliases(path) if path else {}
    for other, name in pairs:
        if other and found.setdefault(other, name) != name:
            raise UsageRefused(f"{other!r} is also an alias of {found[other]!r}", place="--alias")
    return found


def _value(text: str) -> object:
    """A setting as TOML and JSON write it; words without quotes are text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
