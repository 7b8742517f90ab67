"""Options of a rating list: filters, model terms, columns, layout, matrix.

If an option is not given, a named list keeps its value. An empty value (``--engine ''``) restores the default.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from enginetour.cli.options import RealRange, gathered, many_option, parameter_of, path_option
from enginetour.cli.printing import format_sheet
from enginetour.interop.tally import normal_name
from enginetour.model.errors import UsageRefused, did_you_mean, suggest, usage_errors
from enginetour.ratings.incremental import LARGEST
from enginetour.reports.sheet import COLUMN_KEYS, WIDE_COLUMNS, json_text
from enginetour.tournament.rating import STORE_ONLY

if TYPE_CHECKING:
    from enginetour.ratings.matrices import MatrixName
    from enginetour.ratings.pairs import Pairs
    from enginetour.ratings.ratinglist import RatingList


class SystemChoice(click.Choice[str]):
    """A rating system: one of the built-in ones, or one of a plug-in."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name; the registry is loaded only for a name that is not built in."""
        if value not in self.choices:
            from enginetour.ratings.systems import SYSTEMS

            if value in SYSTEMS:
                return value
        return super().convert(value, param, ctx)


# Filters and model terms, shared by every command that computes a list.

T = TypeVar("T")
_SYSTEMS = ("ml", "elo", "gor", "egf", "egf2021")
LIKELIHOODS = ("logistic", "davidson", "raokupper")
TERMS = ("system", "settings", "model", "prior", "advantage", "anchors", "loose", "average", "scale", "by")
_RESTORED = ""  # the value that restores the default
_SMALLEST_SCALE = 1  # smallest value of --scale, in rating points


def _finite(ctx: click.Context, param: click.Parameter, value: str | None) -> float | str | None:
    """Parse a number in the range of ratings. Return None unchanged, and also ``fit`` if the metavar allows it."""
    if value is None or (value == "fit" and "fit" in str(param.metavar)):
        return value
    try:
        found = float(value)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise click.BadParameter(f"must be {param.metavar} with a finite number (found {value!r})", ctx, param)
    least = _SMALLEST_SCALE if param.name == "scale" else -LARGEST
    if not least <= found <= LARGEST:
        raise click.BadParameter(f"must be between {least} and {LARGEST} (found {value})", ctx, param)
    return found


def _number(ctx: click.Context, param: click.Parameter, value: str | None) -> float | str | None:
    return value if value == _RESTORED else _finite(ctx, param, value)


def _day(ctx: click.Context, param: click.Parameter, value: str | None) -> date | str | None:
    if value is None or value == _RESTORED:
        return value
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise click.BadParameter(f"must be a date such as 2026-11-01 (found {value!r})", ctx, param) from None


def table(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Split each ``NAME=VALUE`` at its last ``=``. Raise click.BadParameter for other text or two values of a name."""
    if values == (_RESTORED,):
        return ((_RESTORED, _RESTORED),)
    pairs: list[tuple[str, str]] = []
    for value in values:
        name, _, text = (part.strip() for part in value.rpartition("="))
        if not name or not text:
            raise click.BadParameter(f"must be {param.metavar} (found {value!r})", ctx, param)
        pairs.append((name, text))
    given: dict[str, str] = {}
    for name, text in pairs:
        if given.setdefault(name, text) != text:
            raise click.BadParameter(f"{name!r} has two values (found {given[name]} and {text})", ctx, param)
    return tuple(pairs)


def _words(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG001
    return values if values == (_RESTORED,) else tuple(word.strip() for value in values for word in value.split(","))


def _ratings(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[str, Any], ...]:
    """Return pairs of name and number, or one empty pair if an empty value restores the default."""
    pairs = table(ctx, param, values)
    return tuple((name, name and _finite(ctx, param, text)) for name, text in pairs)


_OPTIONS = (
    click.option(
        "--system",
        type=SystemChoice(_SYSTEMS),
        show_default="ml",
        help="Rating system: maximum likelihood, Elo, Czech GoR or EGF GoR.",
    ),
    many_option(
        "--setting",
        "settings",
        metavar="KEY=VALUE",
        callback=table,
        help="Set a key of the rating system, such as k=20 for elo (not for ml).",
    ),
    click.option(
        "--model",
        "likelihood",
        type=click.Choice(LIKELIHOODS),
        show_default="logistic",
        help="Draw model: half a win, Davidson, or Rao-Kupper as in BayesElo.",
    ),
    click.option(
        "--prior",
        metavar="PRIOR",
        show_default="auto",
        help="Prior of the ratings: auto, none, gaussian=SD, draws=W or virtual=P.",
    ),
    click.option(
        "--advantage", metavar="ELO|fit", callback=_number, show_default="0", help="White's advantage in Elo."
    ),
    many_option("--anchor", "anchors", metavar="NAME=RATING", callback=_ratings, help="Fix the rating of an engine."),
    many_option(
        "--loose-anchor",
        "loose",
        metavar="NAME=RATING+-SD",
        callback=table,
        help="Prior rating of an engine and its standard deviation.",
    ),
    click.option(
        "--average",
        metavar="ELO",
        callback=_number,
        show_default="0 without anchors",
        help="Average rating of each rating pool.",
    ),
    click.option(
        "--scale",
        metavar="POINTS",
        callback=_number,
        show_default="400",
        help="Rating difference at odds of ten to one; Ordo uses 403.514.",
    ),
    many_option(
        "--tournaments", metavar="GLOB", help="Only games of these tournaments; 'NAME #2' selects one edition."
    ),
    many_option("--not-tournaments", metavar="GLOB", help="No games of these tournaments."),
    many_option("--engine", "--include", "engines", metavar="GLOB", help="Only games between these engines."),
    many_option("--not-engine", "--exclude", "not_engines", metavar="GLOB", help="No games of these engines."),
    click.option("--since", metavar="DATE", callback=_day, help="First day (UTC) of the games, such as 2026-11-01."),
    click.option("--until", metavar="DATE", callback=_day, help="Last day (UTC) of the games."),
    many_option(
        "--time-class",
        "time_classes",
        metavar="CLASS",
        help="Only games of this class: bullet, blitz, rapid, ..., nodes, depth, movetime.",
    ),
    many_option("--tc", metavar="GLOB", help="Only games with these time controls."),
    many_option(
        "--exclude-termination",
        metavar="WORD,...",
        callback=_words,
        help="Leave out games that ended by time, crash, stall, illegal-move or adjudication.",
    ),
    many_option("--hardware", metavar="GLOB", help="Only games on these processors."),
    click.option(
        "--odds/--even",
        "odds",
        default=None,
        show_default="even",
        help="Count games with the handicap of the format, too.",
    ),
    click.option(
        "--variant", metavar="NAME", show_default="standard", help="Only games of this variant: chess960, ..."
    ),
    click.option("--min-games", type=click.IntRange(min=0), metavar="N", help="Leave out engines with fewer games."),
    click.option(
        "--best-of-family/--whole-families",
        "best_of_family",
        default=None,
        help="Show only the best engine of each family.",
    ),
    click.option(
        "--by",
        type=click.Choice(["version", "name"]),
        show_default="version",
        help="Rate each engine version, or all versions of a name as one engine.",
    ),
    many_option("--alias", "alias", metavar="OTHER=NAME", callback=table, help="Rate the engine OTHER as NAME."),
    path_option("--aliases", help='Aliases from a file with lines "name","alias","alias".'),
)


def _fields(**asked: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in asked.items():
        if value is None or value == () or name in ("alias", "aliases"):
            continue
        field = "model" if name == "likelihood" else name  # --sprt-model is called model
        if name == "settings":
            fields[field] = {key: _value(text) for key, text in value if key} or None
        elif name in ("anchors", "loose"):
            fields[field] = {engine: rating for engine, rating in value if engine} or None
        else:
            fields[field] = None if value in (_RESTORED, (_RESTORED,)) else value
    if asked["alias"] or asked["aliases"]:
        fields["aliases"] = _aliases(asked["alias"], asked["aliases"]) or None
    return fields


# All filters and terms, passed to the command as `fields` of a list definition (None restores a default).
# `file_list_options` has only those that apply to PGN files.
list_options = gathered(_OPTIONS, "fields", _fields)
file_list_options = gathered([one for one in _OPTIONS if parameter_of(one).name not in STORE_ONLY], "fields", _fields)


def flags(fields: Iterable[str]) -> str:
    """Return the options that set these fields of a list definition, separated by commas."""
    typed = {param.name: param.opts[0] for param in map(parameter_of, _OPTIONS)}
    return ", ".join(typed.get(field, "--alias" if field == "aliases" else f"--{field}") for field in fields)


def _aliases(pairs: tuple[tuple[str, str], ...], path: Path | None) -> dict[str, str]:
    from enginetour.interop.gamefilter import EngineNames, read_aliases

    found = read_aliases(path) if path else {}
    for other, name in pairs:
        if other and found.setdefault(other, name) != name:
            raise UsageRefused(f"{other!r} is an alias of {found[other]!r} already", place="--alias")
    with usage_errors("--alias"):
        EngineNames.check_aliases(found)
    return found


def check_typed_aliases(names: Callable[[], Iterable[str]]) -> None:
    """Raise UsageRefused if an engine of --alias is not in `names`. A file of aliases can have more engines."""
    if not (typed := [other for other, _ in click.get_current_context().params["alias"] if other]):
        return
    known = set(names())
    for other in typed:
        if known.isdisjoint((other, normal_name(other))):
            raise UsageRefused(f"no games of {other!r} found{suggest(other, known)}", place="--alias")


def _value(text: str) -> object:
    """Parse a setting as JSON; text without quotes stays text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


# Display of a maximum-likelihood list: columns, layouts, matrices, head-to-head results.

_EVERYBODY = "all"


@dataclass(frozen=True, slots=True)
class Display:
    """The display options of a list; with the defaults, the usual list is printed."""

    columns: tuple[str, ...] = ()
    layout: str = "plain"
    matrix: MatrixName | None = None
    versus: str | None = None
    confidence: float = 95.0

    def check(self, form: str) -> None:
        """Raise UsageRefused for options that cannot be combined with each other or with this output format."""
        asked = {"--matrix": self.matrix, "--head-to-head": self.versus, "--columns": self.columns}
        asked["--layout"] = self.layout if self.layout != "plain" else None
        given = [name for name, value in asked.items() if value]
        if len(given) > 1 and (given != ["--columns", "--layout"] or self.layout != "ordo"):
            raise UsageRefused(f"cannot be combined with {given[1]}", place=given[0], step="use only one of them")
        if self.layout != "plain" and form not in ("text", "csv"):
            flag = "--json" if form == "json" else f"--format {form}"
            raise UsageRefused(f"cannot be combined with {flag}", place="--layout", step="use only one of them")
        if self.layout in ("ccrl", "bayeselo") and form == "csv":
            step = "use --layout ordo, or omit --csv"
            raise UsageRefused("cannot be combined with --csv", place=f"--layout {self.layout}", step=step)
        if self.columns and form == "json":
            raise UsageRefused("cannot be combined with --json, which has all columns", place="--columns")


def present(
    found: RatingList,
    pairs: Pairs | None,
    display: Display,
    form: str,
    columns: int,
    *,
    title: str = "",
    value: Mapping[str, object] | None = None,
    notes: Sequence[str] = (),
) -> str:
    """Format a list according to `display` and the output format `form`, with `columns` characters per line of text.

    `pairs` has all games. It is None if games between engines of different rating pools are unknown; a note reports
    that. `value` has additional values for JSON, and `notes` are added below text.
    """
    from enginetour.ratings.opponents import rated_games
    from enginetour.ratings.ratinglist import at_confidence, fit_bases, quantile
    from enginetour.reports import ratinglist as sheets

    confidence = display.confidence
    found = at_confidence(found, confidence)
    if pairs is None and (display.matrix == "score" or display.versus is not None):
        pairs = rated_games(list(fit_bases(found.rows).values()))
        apart = "games between engines of different rating pools are not shown"
        notes = (*notes, *((apart,) if len(found.pools) > 1 else ()))
    json = {**sheets.list_json(found, confidence), **(value or {})} if form == "json" else {}
    if display.matrix is not None:
        from enginetour.ratings.matrices import matrix_of

        matrix = matrix_of(display.matrix, found, pairs, quantile(confidence))
        if form == "json":
            return json_text({**json, "matrix": sheets.matrix_json(matrix, confidence)}) + "\n"
        remarks = (*sheets.remark_notes(found), *sheets.unrated_notes(found), *found.caption)
        below = (*remarks, sheets.list_footer(found, confidence), *notes)
        return format_sheet(sheets.matrix_sheet(title, matrix, confidence=confidence, notes=below), form, columns)
    if display.versus is not None and pairs is not None:
        return _head_to_head(found, pairs, display, form, columns, title=title, json=json, notes=notes)
    if form == "json":
        return json_text(json) + "\n"
    if display.layout != "plain":
        keys = sheets.ORDO_COLUMNS if display.columns == COLUMN_KEYS else display.columns or sheets.ORDO_DEFAULT
        if lost := sorted(set(keys) - set(sheets.ORDO_COLUMNS)):
            what = f"the layout ordo does not have the column {lost[0]}"
            raise UsageRefused(what, place="--columns", step=f"use {', '.join(sheets.ORDO_COLUMNS)}")
        if form == "csv":
            return sheets.ordo_csv(found, keys)
        return sheets.render_layout(display.layout, found, columns, keys, confidence, notes)
    wide = ((*(("pool",) if len(found.pools) > 1 else ()), *WIDE_COLUMNS)) if form == "csv" else ()
    keys = display.columns or wide or sheets.fitting_columns(found, columns)
    return format_sheet(sheets.likelihood_sheet(title, found, keys, confidence=confidence, notes=notes), form, columns)


def _head_to_head(
    found: RatingList,
    pairs: Pairs,
    display: Display,
    form: str,
    columns: int,
    *,
    title: str,
    json: dict[str, object],
    notes: Sequence[str],
) -> str:
    from enginetour.ratings.opponents import opponents_of
    from enginetour.ratings.ratinglist import fit_bases
    from enginetour.reports import ratinglist as sheets
    from enginetour.tournament.rating import name_with_games

    word, confidence = display.versus or _EVERYBODY, display.confidence
    only = None if word == _EVERYBODY else name_with_games(word, pairs.names, "--against")
    met = dict(opponents_of(pairs, list(fit_bases(found.rows).values()), only=only))
    if form == "json":
        records = sheets.head_to_head_json(met, found, confidence)
        return json_text({**json, "head_to_head": records}) + "\n"
    if form == "csv" or (only is None and form != "text"):
        return format_sheet(sheets.head_to_head_sheet(met, found, confidence), form, columns)
    if only is None:
        return sheets.head_to_head_text(met, found, columns, confidence, notes)
    heading = f"{only} · {title}" if title else only
    sheet = sheets.engine_sheet(heading, only, met[only], found, confidence, notes)
    return format_sheet(sheet, form, columns)


# The option whose patterns `requested_errors` evaluates.
errors_option = many_option(
    "--errors-for",
    metavar="GLOB",
    help="In rating pools of over 4,000 engines, compute errors only for these engines.",
)


def _columns(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...]:
    if value is None:
        return ()
    if value.strip() == _EVERYBODY:
        return COLUMN_KEYS
    keys = tuple(dict.fromkeys(key.strip().replace("-", "_") for key in value.split(",") if key.strip()))
    for key in keys:
        if key not in COLUMN_KEYS:
            hint = did_you_mean(key, COLUMN_KEYS) or f"; use {', '.join(COLUMN_KEYS)}"
            raise click.BadParameter(f"unknown column {key!r}{hint}", ctx, param)
    if not keys:
        raise click.BadParameter(f"must be one or more of {', '.join(COLUMN_KEYS)}", ctx, param)
    return keys


# The options of `Display`, passed to the command as `display`.
display_options = gathered(
    (
        click.option("--columns", callback=_columns, metavar="A,B,C", help="Keys of the columns in order, or all."),
        click.option(
            "--layout",
            type=click.Choice(["plain", "ordo", "ccrl", "bayeselo"]),
            default="plain",
            show_default=True,
            help="Layout of the text, as in other programs; ordo also works with --csv.",
        ),
        click.option(
            "--matrix",
            type=click.Choice(["los", "diff", "errors", "score"]),
            help="Print a matrix of all pairs of engines instead of the list.",
        ),
        click.option(
            "--head-to-head",
            "--against",
            "versus",
            metavar="NAME|all",
            help="Print the results of one engine, or of all engines, against each opponent.",
        ),
        click.option(
            "--confidence",
            type=RealRange(50, 99.99),
            default=95.0,
            show_default=True,
            metavar="PERCENT",
            help="Confidence level of the intervals + and -, in percent.",
        ),
    ),
    "display",
    Display,
)
