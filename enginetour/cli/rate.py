"""`enginetour rate`: compute a rating list from PGN files, without a database."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginetour.cli.listoptions import (
    Display,
    check_typed_aliases,
    display_options,
    errors_option,
    file_list_options,
    flags,
    present,
    table,
)
from enginetour.cli.match import TestRequest, print_file_test, sprt_options
from enginetour.cli.options import (
    PATH,
    ListOutput,
    list_output,
    many_option,
    output_option,
    size_of,
    without_collecting,
)
from enginetour.cli.printing import echo, output_form, output_options, progress_bar
from enginetour.interop.tally import engine_name
from enginetour.model.errors import GAMES_LEFT_OUT, UsageRefused
from enginetour.tournament.rating import describe_duplicates, duplicate_files, rate_files, refuse_twice

if TYPE_CHECKING:
    from enginetour.interop.tally import Tally


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE.pgn...", type=PATH)
@output_options
@display_options
@output_option
@errors_option
@file_list_options
@click.option("--pairs", "by_pairs", is_flag=True, help="Compute errors from game pairs (one opening, colors swapped).")
@many_option(
    "--start",
    metavar="NAME=RATING",
    callback=table,
    help="Starting rating of an engine: a number, or a Go grade such as 6k (not for ml).",
)
@click.option("--by-event", is_flag=True, help="Count each Event tag, not each file, as a tournament (not for ml).")
@click.option("--strict", is_flag=True, help="Exit with code 9 if games were left out.")
@sprt_options
@without_collecting()
def rate(
    files: tuple[Path, ...],
    display: Display,
    output: Path | None,
    errors_for: tuple[str, ...],
    by_pairs: bool,
    start: tuple[tuple[str, str], ...],
    by_event: bool,
    strict: bool,
    test: TestRequest | None,
    fields: dict[str, Any],
) -> None:
    """Compute a rating list from PGN files, also .gz and .zst.

    Games need the tags White, Black and Result. Filters may need more tags.
    --pairs detects openings by the FEN tag or by book moves. Games that
    cannot be counted are reported with file and line.

    Example: enginetour rate night.pgn --anchor "Fruit 2.1=2784"

    Example: enginetour rate go.pgn --system gor --by-event --start "Zen=6k"

    Example: enginetour rate night.pgn --sprt "My engine 2" Fruit 0 5
    """
    if strict and test is not None:
        raise UsageRefused("cannot be combined with --sprt", place="--strict", step="use only one of them")
    refuse_twice(files)
    into = list_output(output, files)
    display.check(output_form())
    fields = {name: value for name, value in fields.items() if value is not None}
    likelihood = fields.get("system", "ml") == "ml"
    if test is not None:
        others = "--pairs" if by_pairs else "display options" if display != Display() or errors_for else ""
        others = "--start" if start else "--by-event" if by_event else others
        _test(files, fields, test, into, others)
        return
    if not likelihood and (display != Display() or errors_for or by_pairs):
        raise UsageRefused("columns, layouts, matrices, errors and confidence need --system ml")
    made = rate_files(
        files,
        fields,
        bar=partial(reading_bar, files),
        broken=_check_names,
        by_pairs=by_pairs,
        by_event=by_event,
        start=dict(start),
        errors_for=errors_for,
    )
    found, names = made.found, ", ".join(path.name for path in files)
    if likelihood:
        if not into.put_picture(found, f"ratings · {names}", display=display != Display()):
            how: dict[str, Any] = {"value": made.value, "notes": made.notes}
            into.put(present(found, made.pairs, display, output_form(), into.columns, **how), size_of(found))
    else:
        from enginetour.ratings.systems import system_title
        from enginetour.reports.editions import list_sheet
        from enginetour.reports.ratinglist import list_json

        title = f"{system_title(found.model)} · {names}"
        if not into.put_picture(found, title, display=False):
            into.put_sheet(list_sheet(title, found), {**list_json(found, display.confidence), **made.value}, found)
    sys.exit(GAMES_LEFT_OUT if strict and made.left_out else 0)


def _test(files: tuple[Path, ...], fields: dict[str, Any], asked: TestRequest, into: ListOutput, others: str) -> None:
    """Print the sequential test of two engines. Raise UsageRefused if options of a list were given.

    `others` names given options that are not in `fields`.
    """
    unused = flags(name for name in fields if name != "aliases") or ("--output" if into.path is not None else others)
    if unused:
        raise UsageRefused(f"cannot be combined with {unused}", place="--sprt", step="omit these options")
    from enginetour.interop.gamefilter import EngineNames
    from enginetour.interop.pgn import read_games

    with reading_bar(files) as progress:
        games = read_games(files, progress=progress)
    _check_names(games)
    naming = EngineNames(fields.get("aliases"))
    print_file_test(files, games, naming, asked, describe_duplicates(duplicate_files(files)))


def _check_names(tally: Tally) -> None:
    """Print the places of games that cannot be counted. Raise UsageRefused for an --alias of an unknown engine."""
    report_broken_games(tally)
    check_typed_aliases(lambda: map(engine_name, tally.names))


# Reading PGN files: progress bar, duplicate files, games that cannot be counted.

BIG = 200_000_000  # bytes; reading them takes about 0.5 s
_MB = 1_000_000  # bytes
_BROKEN_SHOWN = 10  # number of broken games that are printed; --json has more


def reading_bar(files: Sequence[Path]) -> AbstractContextManager[Callable[[int], object]]:
    """Show a progress bar, but only for large files, because for small files it would only flash."""
    size = sum(path.stat().st_size for path in files if path.is_file())
    return nullcontext(lambda _: None) if size < BIG else progress_bar(size, "reading", "MB", _MB)


def report_broken_games(tally: Tally) -> None:
    """Print on stderr the places of games that cannot be counted."""
    for place, why in tally.broken[:_BROKEN_SHOWN]:
        echo(f"{place}: {why}", err=True)
    if (more := tally.broken_games - _BROKEN_SHOWN) > 0:
        echo(f"... and {more:,} more broken games; --json has their places", err=True)
