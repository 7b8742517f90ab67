"""Options of a rating list: filters, model terms, columns, layout, matrix.

An option that is not given leaves the list's own value, an empty one (``--engine ''``) takes the default back.
"""

from __future__ import annotations

import gc
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from enginetour.cli.options import PATH, gathered
from enginetour.cli.printing import format_sheet
from enginetour.model.errors import UsageRefused, did_you_mean, match_name, no_match_hint
from enginetour.ratings.incremental import LARGEST
from enginetour.reports.sheet import COLUMN_KEYS, WIDE_COLUMNS, json_text

if TYPE_CHECKING:
    from enginetour.ratings.matrices import MatrixName
    from enginetour.ratings.pairs import Pairs
    from enginetour.ratings.ratinglist import RatingList
    from enginetour.store.definition import ListDefinition


# Filters and model terms, shared by every command that computes a list.

T = TypeVar("T")
_SYSTEMS = ("ml", "elo", "gor", "egf", "egf2021")
_MODELS = ("logistic", "davidson", "raokupper")
TERMS = ("system", "settings", "model", "prior", "advantage", "anchors", "loose", "average", "scale", "by")
_TAKEN_BACK = ""
_SMALLEST_SCALE = 1  # points at ten to one


@contextmanager
def without_collecting() -> Iterator[None]:
    """Measured: a tenth of the reading goes to looking for cycles among millions of tuples that have none."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _finite(ctx: click.Context, param: click.Parameter, value: str | None) -> float | str | None:
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
    return value if value == _TAKEN_BACK else _finite(ctx, param, value)


def _day(ctx: click.Context, param: click.Parameter, value: str | None) -> date | str | None:
    if value is None or value == _TAKEN_BACK:
        return value
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is no day, write 2026-11-01", ctx, param) from None


def table(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """``NAME=VALUE`` each; the last ``=`` divides."""
    if values == (_TAKEN_BACK,):
        return ((_TAKEN_BACK, _TAKEN_BACK),)
    pairs: list[tuple[str, str]] = []
    for value in values:
        name, _, text = (part.strip() for part in value.rpartition("="))
        if not name or not text:
            raise click.BadParameter(f"write {param.metavar}, found {value!r}", ctx, param)
        pairs.append((name, text))
    given: dict[str, str] = {}
    for name, text in pairs:
        if given.setdefault(name, text) != text:
            raise click.BadParameter(f"{name!r} is given as {given[name]} and as {text}; leave one out", ctx, param)
    return tuple(pairs)


def _words(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ARG001
    return values if values == (_TAKEN_BACK,) else tuple(word.strip() for value in values for word in value.split(","))


def _ratings(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[str, Any], ...]:
    """Names with numbers; one pair of nothing where an empty value takes them back."""
    pairs = table(ctx, param, values)
    return tuple((name, name and _finite(ctx, param, text)) for name, text in pairs)


def _many(*words: str, **settings: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
    return words, {"multiple": True, **settings}


def _one(*words: str, **settings: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
    return words, settings


_OPTIONS = (
    _one("--system", type=click.Choice(_SYSTEMS), help="Likelihood (ml, default), Elo, Czech GoR, EGF GoR."),
    _many("--setting", "settings", metavar="KEY=VALUE", callback=table, help="Of an incremental system; repeat."),
    _one(
        "--model",
        "likelihood",
        type=click.Choice(_MODELS),
        help="Draws as half a win (default), by Davidson, or BayesElo's.",
    ),
    _one("--prior", metavar="PRIOR", help="auto (default), none, gaussian=SD, draws=W, virtual=P."),
    _one("--advantage", metavar="ELO|fit", callback=_number, help="White's advantage; default 0."),
    _many("--anchor", "anchors", metavar="NAME=RATING", callback=_ratings, help="Fix an engine's rating; repeat."),
    _many(
        "--loose-anchor",
        "loose",
        metavar="NAME=RATING+-SD",
        callback=table,
        help="Believe an engine near a rating; repeat.",
    ),
    _one("--average", metavar="ELO", callback=_number, help="Average of each pool; default 0, or by anchors."),
    _one("--scale", metavar="POINTS", callback=_number, help="Points at ten to one; default 400, Ordo's are 403.514."),
    _many("--tournaments", metavar="GLOB", help="Only games of such tournaments; 'NAME #2' is one edition."),
    _many("--not-tournaments", metavar="GLOB", help="No games of such tournaments; repeat."),
    _many("--engine", "--include", "engines", metavar="GLOB", help="Only games between such engines; repeat."),
    _many("--not-engine", "--exclude", "not_engines", metavar="GLOB", help="No games of such engines; repeat."),
    _one("--since", metavar="DAY", callback=_day, help="First day (UTC), as 2026-11-01."),
    _one("--until", metavar="DAY", callback=_day, help="Last day (UTC)."),
    _many(
        "--time-class",
        "time_classes",
        metavar="CLASS",
        help="bullet, blitz, rapid, ..., nodes, depth, movetime; repeat.",
    ),
    _many("--tc", metavar="GLOB", help="Only games at such controls; repeat."),
    _many(
        "--exclude-termination",
        metavar="WORD,...",
        callback=_words,
        help="Leave out games that ended by time, crash, stall, illegal-move or adjudication.",
    ),
    _many("--hardware", metavar="GLOB", help="Only games on such processors; repeat."),
    _one("--odds/--even", "odds", default=None, help="Count games at time odds, too; default even ones only."),
    _one("--variant", metavar="NAME", help="Games of that variant: chess960, crazyhouse, ...; default standard."),
    _one("--min-games", type=click.IntRange(min=0), help="Leave out engines with fewer games."),
    _one(
        "--best-of-family/--whole-families",
        "best_of_family",
        default=None,
        help="Show only the best engine of each family.",
    ),
    _one("--by", type=click.Choice(["version", "name"]), help="Rate engine versions (default) or add them up by name."),
    _many("--alias", "alias", metavar="OTHER=NAME", callback=table, help="Rate OTHER as NAME; repeat."),
    _one("--aliases", type=PATH, help='The same from lines of "name","alias","alias".'),
)


def _field(words: tuple[str, ...]) -> str:
    """The name under which click hands an option on."""
    return words[-1].partition("/")[0].lstrip("-").replace("-", "_")


# Options without meaning for PGN files, which have no versions, families, machines and tournaments.
_STORE_ONLY = ("tournaments", "not_tournaments", "hardware", "best_of_family", "by")


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
            fields[field] = None if value in (_TAKEN_BACK, (_TAKEN_BACK,)) else value
    if asked["alias"] or asked["aliases"]:
        fields["aliases"] = _aliases(asked["alias"], asked["aliases"]) or None
    return fields


# Every filter and term, as `fields` of a definition (a field taken back is None), and those of a list from files.
list_options = gathered([click.option(*words, **settings) for words, settings in _OPTIONS], "fields", _fields)
file_list_options = gathered(
    [click.option(*words, **settings) for words, settings in _OPTIONS if _field(words) not in _STORE_ONLY],
    "fields",
    _fields,
)


def resolve_names(fixed: Mapping[str, T], find: Callable[[str], str], place: str = "--anchor") -> dict[str, T]:
    """Return what is fixed by the names that `find` finds; UsageRefused for two words of one name."""
    resolved: dict[str, T] = {}
    for word, value in fixed.items():
        name = find(word)
        if name in resolved:
            raise UsageRefused(f"{name!r} is fixed twice, the second time as {word!r}", place=place)
        resolved[name] = value
    return resolved


def flags(fields: Iterable[str]) -> str:
    """The options that give these fields, as they are typed."""
    typed = {_field(words): words[0].partition("/")[0] for words, _ in _OPTIONS}
    return ", ".join(typed.get(field, "--alias" if field == "aliases" else f"--{field}") for field in fields)


def definition_from(fields: Mapping[str, Any], base: ListDefinition | None = None) -> ListDefinition:
    """Return the definition of `fields` on top of `base` or the defaults; UsageRefused for what does not fit."""
    from enginetour.store.definition import ListDefinition, parse_definition

    before = (base or ListDefinition()).model_dump()
    kept = {name: value for name, value in before.items() if name not in fields}
    changed = {name: value for name, value in fields.items() if value is not None}
    return parse_definition({**kept, **changed}, "list options")


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

    def check(self, form: str) -> None:
        """Raise UsageError for what does not go together, or not with this form of output."""
        asked = {"--matrix": self.matrix, "--head-to-head": self.versus, "--columns": self.columns}
        asked["--layout"] = self.layout if self.layout != "plain" else None
        given = [name for name, value in asked.items() if value]
        if len(given) > 1 and (given != ["--columns", "--layout"] or self.layout != "ordo"):
            raise click.UsageError(f"{given[0]} and {given[1]} do not go together")
        if self.layout != "plain" and form not in ("text", "csv"):
            flag = "--json" if form == "json" else f"--format {form}"
            raise click.UsageError(f"--layout is for text, and ordo's for --csv; leave out {flag}")
        if self.layout in ("ccrl", "bayeselo") and form == "csv":
            raise click.UsageError(f"--layout {self.layout} is text: leave out --csv, or take --layout ordo")
        if self.columns and form == "json":
            raise click.UsageError("--json has all columns: leave out --columns")


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
    """Format a list in the form asked for; `columns` is the width of text, `value` adds to JSON, `notes` to text.

    `pairs` has all games; without it those between engines rated apart are not known, and the text says so.
    """
    from enginetour.ratings.opponents import rated_games
    from enginetour.ratings.ratinglist import at_confidence, fit_bases, quantile
    from enginetour.reports import ratinglist as sheets

    confidence = display.confidence
    found = at_confidence(found, confidence)
    if pairs is None and (display.matrix == "score" or display.versus is not None):
        pairs = rated_games(list(fit_bases(found.rows).values()))
        notes = (*notes, *(("games between engines rated apart are not shown",) if len(found.pools) > 1 else ()))
    json = {**found.to_json(), "confidence": confidence, **(value or {})} if form == "json" else {}
    if display.matrix is not None:
        from enginetour.ratings.matrices import matrix_of

        matrix = matrix_of(display.matrix, found, pairs, quantile(confidence))
        if form == "json":
            return json_text({**json, "matrix": sheets.matrix_json(matrix, confidence=confidence)}) + "\n"
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
            what = f"Ordo's layout has no column {lost[0]}"
            raise UsageRefused(what, place="--columns", step=", ".join(sheets.ORDO_COLUMNS))
        if form == "csv":
            return sheets.ordo_csv(found, keys)
        return sheets.render_layout(display.layout, found, columns, columns=keys, confidence=confidence, notes=notes)
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
    from enginetour.ratings.ratinglist import fit_bases, quantile
    from enginetour.reports import ratinglist as sheets

    word, confidence, wide = display.versus or _EVERYBODY, display.confidence, quantile(display.confidence)
    only = None if word == _EVERYBODY else name_with_games(word, pairs.names, "--against")
    met = dict(opponents_of(pairs, list(fit_bases(found.rows).values()), only=only))
    if form == "json":
        records = sheets.head_to_head_json(met, found, quantile=wide, confidence=confidence)
        return json_text({**json, "head_to_head": records}) + "\n"
    if form == "csv" or (only is None and form != "text"):
        return format_sheet(sheets.head_to_head_sheet(met, found, quantile=wide), form, columns)
    if only is None:
        return sheets.head_to_head_text(met, found, columns, confidence=confidence, notes=notes)
    heading = f"{only} · {title}" if title else only
    sheet = sheets.engine_sheet(heading, only, met[only], found, quantile=wide, confidence=confidence, notes=notes)
    return format_sheet(sheet, form, columns)


def name_with_games(word: str, names: Sequence[str], place: str = "--anchor") -> str:
    """Return the engine that a word means; UsageRefused for none."""
    name = match_name(word, names)
    if name is None:
        raise UsageRefused(f"{word!r} has no games here{no_match_hint(word, names)}", place=place)
    return name


# Patterns for `requested_errors`.
errors_option = click.option(
    "--errors-for", multiple=True, metavar="GLOB", help="Whose errors, in pools of over 4,000; repeat."
)


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


# ``--columns``, ``--layout``, ``--matrix``, ``--head-to-head``, ``--confidence``, as `display`.
display_options = gathered(
    (
        click.option(
            "--columns", callback=_columns, metavar="A,B,C", help="Columns in this order, by their keys; or all."
        ),
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
    ),
    "display",
    Display,
)
