"""`-o FILE`: a list into a file whose ending says what it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from enginetour.cli.common import MARKED_UP, ask_for, formatted, markup, say, width
from enginetour.interop.files import is_special, refuse_kept, replace_bytes
from enginetour.model.errors import UsageRefused
from enginetour.reports.sheet import PLAIN_WIDTH, Sheet, dumps

if TYPE_CHECKING:
    from enginetour.ratings.ratinglist import RatingList


F = TypeVar("F", bound=Callable[..., Any])
_BY_ENDING = {".json": "json", ".csv": "csv", ".md": "markdown", ".html": "html"}


def output_option(command: F) -> F:
    """``-o FILE`` as `output`."""
    return click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path),
        help="File to write: .csv, .json, .md, .html, .png, .svg, else text.",
    )(command)


@dataclass(frozen=True, slots=True)
class Target:
    """Where a list goes, the screen for no `path`, and in which form."""

    path: Path | None
    as_json: bool
    as_csv: bool

    @property
    def room(self) -> int:
        """Columns of the text."""
        return width() if self.path is None else PLAIN_WIDTH

    def put_picture(self, found: RatingList, title: str, *, shown: bool) -> bool:
        """A list as a picture where the file is one, else False; `shown` is asking for looks that no picture has."""
        from enginetour.cli.charts import drawn_as, put

        if self.path is None or not drawn_as(self.path):
            return False
        from enginetour.reports.charts.lists import of_list

        if shown or self.as_json or self.as_csv or markup():
            what = "a picture of a list has looks of its own: leave out how to show it"
            raise UsageRefused(what, place="--output", step="or write into a file that is no picture")
        put(self.path, of_list(found, title))
        return True

    def put_sheet(self, sheet: Sheet, value: object, told: str) -> None:
        """A sheet in the form asked for; `value` is its JSON. UsageRefused for a file that is a picture."""
        from enginetour.cli.charts import drawn_as

        if self.path is not None and drawn_as(self.path):
            raise UsageRefused("no picture is made of this table", place="--output", step="enginetour chart")
        text = sheet.csv() if self.as_csv else dumps(value) + "\n" if self.as_json else formatted(sheet, self.room)
        self.put(text, told)

    def put(self, text: str, told: str) -> None:
        """All of it, or the file as it was; a written file is told on stderr."""
        if self.path is None:
            click.echo(text, nl=False)
        else:
            write_whole(self.path, text.encode(), told)


def write_whole(path: Path, content: bytes, told: str) -> None:
    """All of it, or the file as it was; a written file is told on stderr, a device or pipe is only written into."""
    replace_bytes(path, [content])
    if not is_special(path):
        say(f"{path} written: {told}", err=True)


def target(output: Path | None, *, as_json: bool, as_csv: bool, sources: Sequence[Path] = ()) -> Target:
    """The file's ending tells the form; UsageRefused for a folder, and for a file that is to be kept."""
    if output is None:
        return Target(None, as_json, as_csv)
    if output.is_dir():
        raise UsageRefused(f"{output} is a folder", place="--output", step="name a file in it")
    if any(_same(output, path) for path in sources):
        raise UsageRefused(f"{output} is one of the games' files", place="--output", step="choose another name")
    refuse_kept(output, "--output")
    told = _BY_ENDING.get(output.suffix)
    if markup() and told not in (None, markup()):
        raise click.UsageError(f"--format {markup()} and {output.name} do not go together")
    if not (as_json or as_csv) and told in MARKED_UP:
        ask_for(told)
    return Target(output, as_json or told == "json", as_csv or told == "csv")


def size_words(found: RatingList) -> str:
    """What a file with this list holds."""
    return f"{len(found.rows):,} engines, {found.games:,} games"


def _same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)
