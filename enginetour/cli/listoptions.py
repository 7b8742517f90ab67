"""Options of a rating list: filters, model terms, columns, layout, matrix.

An option that is not given leaves the list's own value, an empty one (``--engine ''``) takes the default back.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from enginetour.cli.common import format_sheet, markup
from enginetour.model.errors import UsageRefused, did_you_mean, match_name, no_match_hint
from enginetour.ratings.incremental import LARGEST
from enginetour.reports.columns import COLUMN_KEYS, WIDE_COLUMNS
from enginetour.reports.sheet import json_text

if TYPE_CHECKING:
    from enginetour.ratings.matrices import MatrixName
    from enginetour.ratings.pairs import Pairs
    from enginetour.ratings.ratinglist import RatingList
    from enginetour.store.definition import ListDefinition


# Filters and model terms, shared by every command that computes a list.

F = TypeVar("F", bound=Callable[..., Any])
SYSTEMS = ("ml", "elo", "gor", "egf", "egf2021")
MODELS = ("logistic", "davidson", "raokupper")
TERMS = ("system", "settings", "model", "prior", "advantage", "anchors", "loose", "average", "scale", "by")
_TAKEN_BACK = ""
_SMALLEST_SCALE = 1  # points at ten to one


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
    least = _SMALLEST_SCALE if param.name == "scale" else -LARGEST
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


# Options without meaning for PGN files, which have no versions, families, machines and tournaments.
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
    from enginetour.store.definition import ListDefinition, parse_definition

    fields = given(asked)
    before = (base or ListDefinition()).model_dump()
    changed = {name: value for name, value in fields.items() if value is not None}
    return parse_definition(
        {**{name: value for name, value in before.items() if name not in fields}, **changed}, "list options"
    )


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


# Display of a likelihood list: columns, layouts, matrices, head to head.

_EVERYBODY = "all"


@dataclass(frozen=True, slots=True)
class Display:
    """What was asked for; nothing of it is the usual list."""

    columns: tuple[str, ...] = ()
    layout: str = "plain"
    matrix: MatrixName | None = None
    versus: str | None = None
    confidence: float = 95.0

    def check(self, *, as_json: bool, as_csv: bool) -> None:
        """Click's refusal of what cannot be had together."""
        asked = {"--matrix": self.matrix, "--head-to-head": self.versus, "--columns": self.columns}
        asked["--layout"] = self.layout if self.layout != "plain" else None
        given = [name for name, value in asked.items() if value]
        if len(given) > 1 and (given != ["--columns", "--layout"] or self.layout != "ordo"):
            raise click.UsageError(f"{given[0]} and {given[1]} do not go together")
        if self.layout != "plain" and as_json:
            raise click.UsageError("--layout is for text, and ordo's for --csv; leave out --json")
        if self.layout in ("ccrl", "bayeselo") and as_csv:
            raise click.UsageError(f"--layout {self.layout} is text: leave out --csv, or take --layout ordo")
        if self.layout != "plain" and (form := markup()):
            raise click.UsageError(f"--layout is for text, and ordo's for --csv; leave out --format {form}")
        if self.columns and as_json:
            raise click.UsageError("--json has all columns: leave out --columns")


def display_options(command: F) -> F:
    """``--columns``, ``--layout``, ``--matrix``, ``--head-to-head``, ``--confidence``, gathered as `display`."""

    @wraps(command)
    def gathered(*args: Any, **given: Any) -> Any:
        chosen = {field.name: given.pop(field.name) for field in fields(Display)}
        return command(*args, display=Display(**chosen), **given)

    for option in reversed(_DISPLAY_OPTIONS):
        gathered = option(gathered)
    return gathered  # type: ignore[return-value]


def present(
    found: RatingList,
    pairs: Pairs | None,
    display: Display,
    *,
    title: str = "",
    room: int,
    as_json: bool,
    as_csv: bool,
    value: Mapping[str, object] | None = None,
    notes: Sequence[str] = (),
) -> str:
    """The text, CSV or JSON to print. `value` is more for the JSON, `notes` for the text.

    `pairs` has all games; without it those between engines rated apart are not known, and the text says so.
    """
    from enginetour.ratings.ratinglist import at_confidence, quantile

    found = at_confidence(found, display.confidence)
    if pairs is None and (display.matrix == "score" or display.versus is not None):
        from enginetour.ratings.ratinglist import fit_bases, rated_games

        pairs = rated_games(list(fit_bases(found.rows).values()))
        notes = (*notes, *(("games between engines rated apart are not shown",) if len(found.pools) > 1 else ()))
    more: dict[str, object] = {"confidence": display.confidence, **(value or {})}
    if display.matrix is not None:
        from enginetour.ratings.matrices import matrix_of
        from enginetour.reports import ratinglist as matrices

        made = matrix_of(display.matrix, found, pairs, quantile(display.confidence))
        if as_json:
            told = matrices.matrix_json(made, confidence=display.confidence)
            return json_text({**found.to_json(), **more, "matrix": told}) + "\n"
        from enginetour.reports.ratinglist import list_footer as footing
        from enginetour.reports.ratinglist import remark_notes as remarks
        from enginetour.reports.ratinglist import unrated_notes as unrated

        below = (*remarks(found), *unrated(found), *found.caption, footing(found, display.confidence), *notes)
        sheet = matrices.matrix_sheet(title, made, confidence=display.confidence, notes=below)
        return sheet.csv() if as_csv else format_sheet(sheet, room)
    if display.versus is not None and pairs is not None:
        return _head_to_head(found, pairs, display, title, room, as_json=as_json, as_csv=as_csv, more=more, notes=notes)
    if as_json:
        return json_text({**found.to_json(), **more}) + "\n"
    if display.layout != "plain":
        from enginetour.reports.ratinglist import ORDO_COLUMNS as ORDO_ALL
        from enginetour.reports.ratinglist import ORDO_DEFAULT as ORDO_USUAL
        from enginetour.reports.ratinglist import ordo_csv
        from enginetour.reports.ratinglist import render_layout as laid_out

        columns = ORDO_ALL if display.columns == COLUMN_KEYS else display.columns or ORDO_USUAL
        if lost := sorted(set(columns) - set(ORDO_ALL)):
            raise UsageRefused(f"Ordo's layout has no column {lost[0]}", place="--columns", step=", ".join(ORDO_ALL))
        if as_csv:
            return ordo_csv(found, columns)
        return laid_out(display.layout, found, room, columns=columns, confidence=display.confidence, notes=notes)
    from enginetour.reports.ratinglist import fitting_columns as roomy
    from enginetour.reports.ratinglist import likelihood_sheet as likelihood

    pool = ("pool",) if len(found.pools) > 1 else ()
    columns = display.columns or ((*pool, *WIDE_COLUMNS) if as_csv else roomy(found, room))
    sheet = likelihood(title, found, columns, confidence=display.confidence, notes=notes)
    return sheet.csv() if as_csv else format_sheet(sheet, room)


def _head_to_head(
    found: RatingList,
    pairs: Pairs,
    display: Display,
    title: str,
    room: int,
    *,
    as_json: bool,
    as_csv: bool,
    more: dict[str, object],
    notes: Sequence[str],
) -> str:
    from enginetour.ratings.ratinglist import fit_bases, opponents_of, quantile
    from enginetour.reports import ratinglist as headtohead

    word, wide = display.versus or _EVERYBODY, quantile(display.confidence)
    name = word if word == _EVERYBODY else match_name(word, pairs.names)
    if name is None:
        raise UsageRefused(f"{word!r} has no games here{no_match_hint(word, pairs.names)}", place="--against")
    only = None if name == _EVERYBODY else name
    met = dict(opponents_of(pairs, list(fit_bases(found.rows).values()), only=only))
    if as_json:
        told = headtohead.head_to_head_json(met, found, quantile=wide, confidence=display.confidence)
        return json_text({**found.to_json(), **more, "head_to_head": told}) + "\n"
    if as_csv:
        return headtohead.head_to_head_sheet(met, found, quantile=wide).csv()
    if only is None and markup():
        return format_sheet(headtohead.head_to_head_sheet(met, found, quantile=wide), room)
    if only is None:
        return headtohead.head_to_head_text(met, found, room, confidence=display.confidence, notes=notes)
    heading = f"{only} · {title}" if title else only
    sheet = headtohead.engine_sheet(
        heading, only, met[only], found, quantile=wide, confidence=display.confidence, notes=notes
    )
    return format_sheet(sheet, room)


def errors_option(command: F) -> F:
    """``--errors-for GLOB`` as `errors_for`, patterns for `asked_errors`."""
    words = "Whose errors, in pools of over 4,000; repeat."
    return click.option("--errors-for", multiple=True, metavar="GLOB", help=words)(command)


def requested_errors(patterns: Sequence[str], pairs: Pairs) -> set[str] | None:
    """The engines whose errors are wanted in a large pool; UsageRefused for a pattern nobody answers to."""
    from fnmatch import fnmatchcase

    wanted: set[str] = set()
    for pattern in patterns:
        found = {name for name in pairs.names if fnmatchcase(name, pattern)}
        if not found:
            raise UsageRefused(
                f"no engine is called like {pattern!r}", place="--errors-for", step="as in a shell: 'F*'"
            )
        wanted |= found
    return wanted or None


def _columns(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Keys in any order, ``all`` for all of them."""
    if value is None:
        return ()
    if value.strip() == _EVERYBODY:
        return COLUMN_KEYS
    keys = tuple(dict.fromkeys(key.strip().replace("-", "_") for key in value.split(",") if key.strip()))
    for key in keys:
        if key not in COLUMN_KEYS:
            raise click.BadParameter(
                f"no column {key!r}{did_you_mean(key, COLUMN_KEYS)}; there are {', '.join(COLUMN_KEYS)}", ctx, param
            )
    if not keys:
        raise click.BadParameter(f"name some of {', '.join(COLUMN_KEYS)}", ctx, param)
    return keys


def _confidence(ctx: click.Context, param: click.Parameter, value: float) -> float:
    """Click lets nan pass through every range."""
    if value != value:
        raise click.BadParameter("nan is not in the range 50<=x<=99.99", ctx, param)
    return value


_DISPLAY_OPTIONS = (
    click.option("--columns", callback=_columns, metavar="A,B,C", help="Columns in this order, by their keys; or all."),
    click.option(
        "--layout",
        type=click.Choice(["plain", "ordo", "ccrl", "bayeselo"]),
        default="plain",
        show_default=True,
        help="The text as those print it; ordo also for --csv.",
    ),
    click.option(
        "--matrix",
        type=click.Choice(["los", "diff", "errors", "score"]),
        help="Everybody against everybody instead of the list.",
    ),
    click.option(
        "--head-to-head",
        "--against",
        "versus",
        metavar="NAME|all",
        help="An engine against its opponents, or all against theirs.",
    ),
    click.option(
        "--confidence",
        type=click.FloatRange(50, 99.99),
        callback=_confidence,
        default=95.0,
        show_default=True,
        metavar="PERCENT",
        help="Of + and -.",
    ),
)
