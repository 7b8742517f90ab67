"""Print tables and JSON as --json, --csv and --format select: text, markup, CSV, JSON."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any, TypeVar

import click

from enginetour.reports.sheet import MARKUPS, PLAIN_WIDTH, Sheet, json_text, render, safe_text

_F = TypeVar("_F", bound=Callable[..., Any])
_FORMATS = ("text", *MARKUPS, "csv", "json")
_FORM = "enginetour.form"  # keys of click's context
_VIEW = "enginetour.view"


def output_form() -> str:
    """Return how this command prints its tables, one of _FORMATS."""
    context = click.get_current_context(silent=True)
    return "text" if context is None else str(context.meta.get(_FORM, "text"))


def set_form(form: str) -> None:
    """Print the tables of this command in this form, one of _FORMATS."""
    click.get_current_context().meta[_FORM] = form


def echo(words: object, *, err: bool = False) -> None:
    """Print one line that quotes names, whatever is in them; `err`: on stderr."""
    click.echo(safe_text(words), err=err)


def print_text(text: str) -> None:
    """Print text that was made of a database, after the end of its view: a slow reader delays no other program."""
    _end_view()
    click.echo(text, nl=False)


def hold_view(view: ExitStack) -> None:
    """Keep a view of a database until this command prints."""
    click.get_current_context().meta[_VIEW] = view


def _end_view() -> None:
    context = click.get_current_context(silent=True)
    view: ExitStack | None = None if context is None else context.meta.pop(_VIEW, None)
    if view is not None:
        view.close()


def print_json(value: object) -> None:
    """Print one JSON value."""
    print_text(json_text(value) + "\n")


def print_sheet(sheet: Sheet, value: object | None = None) -> None:
    """Print a sheet in the form of this command; `value` is the JSON where it is more than the rows."""
    if output_form() == "json":
        print_json(value if value is not None else [dict(row) for row in sheet.rows])
    else:
        print_text(format_sheet(sheet, output_form(), width()))


def format_sheet(sheet: Sheet, form: str, columns: int) -> str:
    """Format a sheet as CSV, in a markup language, or as text that is `columns` wide."""
    if form == "csv":
        return sheet.csv()
    return MARKUPS[form](sheet) if form in MARKUPS else render(sheet, columns)


def refuse_tables(what: str) -> None:
    """Raise UsageError if CSV or a markup language was asked for output that is not a table."""
    if (form := output_form()) not in ("text", "json"):
        raise click.UsageError(f"--format {form} is for tables: {what}")


def width() -> int:
    """Return the columns of the terminal, or those of a file."""
    return shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else PLAIN_WIDTH


def is_live_terminal() -> bool:
    """Whether stdout is a terminal that can redraw: not a pipe, not TERM=dumb."""
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


@contextmanager
def progress_bar(length: int, label: str) -> Iterator[Callable[[int], object]]:
    """Show a bar on stderr, on a terminal only; the function advances it."""
    if not sys.stderr.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        yield lambda _: None
        return
    with click.progressbar(length=length, label=label, file=sys.stderr) as bar:
        yield bar.update


format_option = click.option(
    "--format", "form", type=click.Choice(_FORMATS), metavar="FORMAT", help=f"{', '.join(_FORMATS)}; default: text."
)


def output_options(command: _F) -> _F:
    """Add ``--json``, ``--csv`` and ``--format``, which select how the command's tables are printed."""

    @wraps(command)
    def formed(*args: Any, form: str | None, as_json: bool, as_csv: bool, **given: Any) -> Any:
        flag = "json" if as_json else "csv" if as_csv else form
        if form not in (None, flag):
            raise click.UsageError(f"--{flag} and --format {form} do not go together")
        set_form(flag or "text")
        return command(*args, **given)

    csv = click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
    json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    return json(csv(format_option(formed)))  # type: ignore[return-value]


def _set_json(_: click.Context, __: click.Parameter, asked: bool) -> None:
    if asked:
        set_form("json")


# For commands without tables: ``--json`` alone.
json_option = click.option("--json", is_flag=True, expose_value=False, callback=_set_json, help="Print JSON.")
