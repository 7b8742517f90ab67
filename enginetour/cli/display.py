"""How a likelihood list is shown: columns, layouts, matrices, head to head; the options and what they print."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from enginetour.cli.common import formatted, markup
from enginetour.model.errors import UsageRefused, called, did_you_mean, not_called
from enginetour.reports.ratinglist import ALL, WIDE
from enginetour.reports.sheet import dumps

if TYPE_CHECKING:
    from enginetour.ratings.matrices import MatrixName
    from enginetour.ratings.pairs import Pairs
    from enginetour.ratings.ratinglist import RatingList


F = TypeVar("F", bound=Callable[..., Any])

EVERYBODY = "all"


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

    for option in reversed(_OPTIONS):
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
        from enginetour.ratings.ratinglist import games_in, grounds_of

        pairs = games_in(list(grounds_of(found.rows).values()))
        notes = (*notes, *(("games between engines rated apart are not shown",) if len(found.pools) > 1 else ()))
    more: dict[str, object] = {"confidence": display.confidence, **(value or {})}
    if display.matrix is not None:
        from enginetour.ratings.matrices import matrix_of
        from enginetour.reports import ratinglist as matrices

        made = matrix_of(display.matrix, found, pairs, quantile(display.confidence))
        if as_json:
            told = matrices.matrix_json(made, confidence=display.confidence)
            return dumps({**found.to_json(), **more, "matrix": told}) + "\n"
        from enginetour.reports.ratinglist import footing, remarks, unrated

        below = (*remarks(found), *unrated(found), *found.caption, footing(found, display.confidence), *notes)
        sheet = matrices.sheet(title, made, confidence=display.confidence, notes=below)
        return sheet.csv() if as_csv else formatted(sheet, room)
    if display.versus is not None and pairs is not None:
        return _head_to_head(found, pairs, display, title, room, as_json=as_json, as_csv=as_csv, more=more, notes=notes)
    if as_json:
        return dumps({**found.to_json(), **more}) + "\n"
    if display.layout != "plain":
        from enginetour.reports.ratinglist import ORDO_ALL, ORDO_USUAL, laid_out, ordo_csv

        columns = ORDO_ALL if display.columns == ALL else display.columns or ORDO_USUAL
        if lost := sorted(set(columns) - set(ORDO_ALL)):
            raise UsageRefused(f"Ordo's layout has no column {lost[0]}", place="--columns", step=", ".join(ORDO_ALL))
        if as_csv:
            return ordo_csv(found, columns)
        return laid_out(display.layout, found, room, columns=columns, confidence=display.confidence, notes=notes)
    from enginetour.reports.ratinglist import likelihood, roomy

    pool = ("pool",) if len(found.pools) > 1 else ()
    columns = display.columns or ((*pool, *WIDE) if as_csv else roomy(found, room))
    sheet = likelihood(title, found, columns, confidence=display.confidence, notes=notes)
    return sheet.csv() if as_csv else formatted(sheet, room)


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
    from enginetour.ratings.ratinglist import grounds_of, opposition, quantile
    from enginetour.reports import ratinglist as headtohead

    word, wide = display.versus or EVERYBODY, quantile(display.confidence)
    name = word if word == EVERYBODY else called(word, pairs.names)
    if name is None:
        raise UsageRefused(f"{word!r} has no games here{not_called(word, pairs.names)}", place="--against")
    only = None if name == EVERYBODY else name
    met = dict(opposition(pairs, list(grounds_of(found.rows).values()), only=only))
    if as_json:
        told = headtohead.head_to_head_json(met, found, quantile=wide, confidence=display.confidence)
        return dumps({**found.to_json(), **more, "head_to_head": told}) + "\n"
    if as_csv:
        return headtohead.everybody(met, found, quantile=wide).csv()
    if only is None and markup():
        return formatted(headtohead.everybody(met, found, quantile=wide), room)
    if only is None:
        return headtohead.blocks(met, found, room, confidence=display.confidence, notes=notes)
    heading = f"{only} · {title}" if title else only
    sheet = headtohead.one(heading, only, met[only], found, quantile=wide, confidence=display.confidence, notes=notes)
    return formatted(sheet, room)


def errors_option(command: F) -> F:
    """``--errors-for GLOB`` as `errors_for`, patterns for `asked_errors`."""
    words = "Whose errors, in pools of over 4,000; repeat."
    return click.option("--errors-for", multiple=True, metavar="GLOB", help=words)(command)


def asked_errors(patterns: Sequence[str], pairs: Pairs) -> set[str] | None:
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
    if value.strip() == EVERYBODY:
        return ALL
    keys = tuple(dict.fromkeys(key.strip().replace("-", "_") for key in value.split(",") if key.strip()))
    for key in keys:
        if key not in ALL:
            raise click.BadParameter(
                f"no column {key!r}{did_you_mean(key, ALL)}; there are {', '.join(ALL)}", ctx, param
            )
    if not keys:
        raise click.BadParameter(f"name some of {', '.join(ALL)}", ctx, param)
    return keys


def _confidence(ctx: click.Context, param: click.Parameter, value: float) -> float:
    """Click lets nan pass through every range."""
    if value != value:
        raise click.BadParameter("nan is not in the range 50<=x<=99.99", ctx, param)
    return value


_OPTIONS = (
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
