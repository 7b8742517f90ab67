"""Print tables and values in the format that --json, --csv or --format selects."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any, TypeVar

import click

from enginetour.model.errors import UsageRefused
from enginetour.reports.sheet import MARKUPS, PLAIN_WIDTH, Sheet, json_text, render, safe_text

_F = TypeVar("_F", bound=Callable[..., Any])
_FORMATS = ("text", *MARKUPS, "csv", "json")
_BAR = 20  # characters, so that the line with work and rate fits a terminal of 80
_REDRAWN = 0.1  # seconds between two drawings of the bar
_SHORTEST = 0.001  # seconds; no rate is computed from less
# Keys in the meta data of click's context.
_FORM = "enginetour.form"
_VIEW = "enginetour.view"


def output_form() -> str:
    """Return the format of this command's tables: text, markdown, html, bbcode, csv or json."""
    context = click.get_current_context(silent=True)
    return "text" if context is None else str(context.meta.get(_FORM, "text"))


def set_form(form: str) -> None:
    """Set the format of this command's tables."""
    click.get_current_context().meta[_FORM] = form


def echo(text: object, *, err: bool = False) -> None:
    """Print one line on stdout, or on stderr if `err` is true. Replace control characters, which names may contain."""
    click.echo(safe_text(text), err=err)


def print_text(text: str) -> None:
    """End the view of the database, then print text: a slow reader of the output must not keep the view open."""
    _end_view()
    click.echo(text, nl=False)


def hold_view(view: ExitStack) -> None:
    """Keep a view of the database open until this command prints."""
    click.get_current_context().meta[_VIEW] = view


def _end_view() -> None:
    context = click.get_current_context(silent=True)
    view: ExitStack | None = None if context is None else context.meta.pop(_VIEW, None)
    if view is not None:
        view.close()


def print_json(value: object) -> None:
    """Print a value as JSON."""
    print_text(json_text(value) + "\n")


def print_result(value: Mapping[str, object], lines: Iterable[str]) -> None:
    """Print the result of a command without tables: as JSON if it was asked for, otherwise as lines."""
    if output_form() == "json":
        print_json(value)
        return
    for line in lines:
        echo(line)


def print_sheet(sheet: Sheet, value: object | None = None) -> None:
    """Print a sheet in the format of this command. `value` is the value for JSON; None means the list of rows."""
    if output_form() == "json":
        print_json(value if value is not None else [dict(row) for row in sheet.rows])
    else:
        print_text(format_sheet(sheet, output_form(), width()))


def format_sheet(sheet: Sheet, form: str, columns: int) -> str:
    """Format a sheet as CSV, in a markup language, or as text of `columns` characters per line."""
    if form == "csv":
        return sheet.csv()
    return MARKUPS[form](sheet) if form in MARKUPS else render(sheet, columns)


def refuse_tables(what: str) -> None:
    """Raise UsageRefused if CSV or a markup language was selected, because the output `what` is not a table."""
    if (form := output_form()) not in ("text", "json"):
        raise UsageRefused(f"does not support {what}", place=f"--format {form}", step="use text or json")


def width() -> int:
    """Return the number of characters per line: of the terminal, or the fixed number for files and pipes."""
    return shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else PLAIN_WIDTH


def is_live_terminal(*, err: bool = False) -> bool:
    """Return whether stdout, or stderr, is a terminal that can redraw lines, that is, not a pipe or TERM=dumb."""
    return (sys.stderr if err else sys.stdout).isatty() and os.environ.get("TERM", "dumb") != "dumb"


@contextmanager
def progress_bar(length: int, label: str, unit: str = "", size: int = 1) -> Iterator[Callable[[int], object]]:
    """Show a progress bar on stderr if stderr is a terminal; yield a function that advances the bar.

    After the remaining time, the bar shows the finished work, all work and the rate in `unit` if there is one; a unit
    is `size` steps. Ctrl-C raises KeyboardInterrupt meanwhile, because the bar hides the cursor and must show it again.
    """
    if not is_live_terminal(err=True):
        yield lambda _: None
        return
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        begun = drawn = time.monotonic()
        done = shown = 0

        def work(_: object) -> str | None:
            rate = done / size / max(time.monotonic() - begun, _SHORTEST)
            return f"{done / size:,.0f} of {length / size:,.0f} {unit}, {rate:,.0f} {unit}/s" if unit else None

        bar = click.progressbar(length=length, label=label, item_show_func=work, width=_BAR, file=sys.stderr)
        with bar:

            def advance(steps: int) -> None:
                nonlocal done, shown, drawn
                done += steps
                if done >= length or time.monotonic() - drawn > _REDRAWN:
                    bar.update(done - shown)
                    shown, drawn = done, time.monotonic()

            yield advance
    finally:
        signal.signal(signal.SIGINT, before)


format_option = click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    metavar="FORMAT",
    show_default="text",
    help=f"Output format: {', '.join(_FORMATS)}.",
)


def output_options(command: _F) -> _F:
    """Add ``--json``, ``--csv`` and ``--format``, which select the format of the command's tables."""

    @wraps(command)
    def formed(*args: Any, form: str | None, as_json: bool, as_csv: bool, **given: Any) -> Any:
        flag = "json" if as_json else "csv" if as_csv else form
        if form not in (None, flag):
            raise UsageRefused(
                f"cannot be combined with --format {form}", place=f"--{flag}", step="use only one of them"
            )
        set_form(flag or "text")
        return command(*args, **given)

    csv = click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
    json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    return json(csv(format_option(formed)))  # type: ignore[return-value]


def _set_json(_: click.Context, __: click.Parameter, asked: bool) -> None:
    if asked:
        set_form("json")


# ``--json`` for commands without tables.
json_option = click.option("--json", is_flag=True, expose_value=False, callback=_set_json, help="Print JSON.")
