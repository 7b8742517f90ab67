"""Print tables and JSON as --json, --csv, --format and -o select: text, markup, CSV, JSON, pictures."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from enginetour.interop.files import is_special, refuse_valuable, replace_bytes
from enginetour.model.errors import UsageRefused
from enginetour.reports.sheet import MARKUPS, PLAIN_WIDTH, Sheet, json_text, render, safe_text

if TYPE_CHECKING:
    from enginetour.ratings.ratinglist import RatingList
    from enginetour.reports.charts.canvas import Picture

FORMATS = ("text", *MARKUPS, "csv", "json")
_FORM = "enginetour.form"  # keys of click's context
_VIEW = "enginetour.view"
_BY_ENDING = {".json": "json", ".csv": "csv", ".md": "markdown", ".html": "html"}


def output_form() -> str:
    """Return how this command prints its tables, one of FORMATS."""
    context = click.get_current_context(silent=True)
    return "text" if context is None else str(context.meta.get(_FORM, "text"))


def set_form(form: str) -> None:
    """Print the tables of this command in this form, one of FORMATS."""
    click.get_current_context().meta[_FORM] = form


def echo(words: object, *, err: bool = False) -> None:
    """Print one line that quotes names, whatever is in them; `err`: on stderr."""
    click.echo(safe_text(words), err=err)


def print_text(text: str) -> None:
    """Print text that was made of a database, after the end of its view: a slow reader delays no other program."""
    end_view()
    click.echo(text, nl=False)


def hold_view(view: ExitStack) -> None:
    """Keep a view of a database until this command prints."""
    click.get_current_context().meta[_VIEW] = view


def end_view() -> None:
    """End the view of the database that this command holds, if any."""
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
    """Format a sheet as CSV, in a markup language, or as text of so many columns."""
    if form == "csv":
        return sheet.csv()
    return MARKUPS[form](sheet) if form in MARKUPS else render(sheet, columns)


def refuse_tables(what: str) -> None:
    """UsageError where CSV or a markup language was asked for and there is no table."""
    if (form := output_form()) not in ("text", "json"):
        raise click.UsageError(f"--format {form} is for tables: {what}")


def width() -> int:
    """Return the columns of the terminal, or those of a file."""
    return shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else PLAIN_WIDTH


def wrap_sentences(words: str) -> str:
    """Break lines at blanks where a terminal would break words; in a file they stay whole."""
    if not sys.stdout.isatty():
        return words
    wrapper = textwrap.TextWrapper(width(), subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return "\n".join(map(wrapper.fill, words.splitlines()))


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


@dataclass(frozen=True, slots=True)
class ListOutput:
    """Where a list goes: a file, or the screen for no `path`."""

    path: Path | None

    @property
    def columns(self) -> int:
        """Columns of the text."""
        return width() if self.path is None else PLAIN_WIDTH

    def put_picture(self, found: RatingList, title: str, *, display: bool) -> bool:
        """Write a list as a picture where the file is one, else return False; `display`: options of the text."""
        if self.path is None or not picture_ending(self.path):
            return False
        from enginetour.reports.charts.lists import list_chart

        if display or output_form() != "text":
            what = "a picture of a list has looks of its own: leave out how to show it"
            raise UsageRefused(what, place="--output", step="or write into a file that is no picture")
        put_picture(self.path, list_chart(found, title))
        return True

    def put_sheet(self, sheet: Sheet, value: object, found: RatingList | None = None) -> None:
        """Write a sheet in the form of this command; `value` is its JSON. UsageRefused for a picture file."""
        if self.path is not None and picture_ending(self.path):
            raise UsageRefused("no picture is made of this table", place="--output", step="enginetour chart")
        form = output_form()
        text = json_text(value) + "\n" if form == "json" else format_sheet(sheet, form, self.columns)
        self.put(text, f"{len(sheet.rows):,} engines" if found is None else size_of(found))

    def put(self, text: str, content: str) -> None:
        """Print the text, or write the file whole and tell its `content` on stderr."""
        if self.path is None:
            click.echo(text, nl=False)
        else:
            _write_whole(self.path, text.encode(), content)


def _write_whole(path: Path, data: bytes, content: str) -> None:
    replace_bytes(path, [data])
    if not is_special(path):
        echo(f"{path} written: {content}", err=True)


def list_output(output: Path | None, sources: Sequence[Path] = ()) -> ListOutput:
    """Take the form from the file's ending; UsageRefused for a folder, and for a file that is to be kept."""
    if output is None:
        return ListOutput(None)
    if output.is_dir():
        raise UsageRefused(f"{output} is a folder", place="--output", step="name a file in it")
    if any(output.exists() and path.exists() and output.samefile(path) for path in sources):
        raise UsageRefused(f"{output} is one of the games' files", place="--output", step="choose another name")
    refuse_valuable(output, "--output")
    form, ending = output_form(), _BY_ENDING.get(output.suffix)
    if form in MARKUPS and ending not in (None, form):
        raise click.UsageError(f"--format {form} and {output.name} do not go together")
    if ending is not None and (form == "text" or ending == "json"):
        set_form(ending)
    return ListOutput(output)


def size_of(found: RatingList) -> str:
    """Return what a file with this list holds."""
    return f"{len(found.rows):,} engines, {found.games:,} games"


def picture_ending(path: Path) -> str | None:
    """Return the ending by which a file is a picture, None for another file."""
    return path.suffix.lower() if path.suffix.lower() in (".png", ".svg") else None


def put_picture(path: Path, picture: Picture, title: str | None = None) -> None:
    """Write a picture in the format of its ending, under its own title or another."""
    from enginetour.reports.charts.canvas import with_title
    from enginetour.reports.charts.output import png, svg_file

    if title is not None:
        picture = with_title(picture, title)
    data = png(picture) if picture_ending(path) == ".png" else svg_file(picture).encode()
    _write_whole(path, data, picture.title)
