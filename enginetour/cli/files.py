"""Files of -o for lists and pictures: the extension selects the format, and a file is written whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from enginetour.cli.options import PATH
from enginetour.cli.printing import echo, format_sheet, output_form, set_form, width
from enginetour.interop.files import is_special, refuse_valuable, replace_bytes
from enginetour.model.errors import UsageRefused
from enginetour.reports.sheet import MARKUPS, PLAIN_WIDTH, Sheet, json_text

if TYPE_CHECKING:
    from enginetour.ratings.ratinglist import RatingList
    from enginetour.reports.charts.canvas import Picture

_BY_ENDING = {".json": "json", ".csv": "csv", ".md": "markdown", ".html": "html"}
# ``-o FILE`` for a list.
output_option = click.option(
    "-o", "--output", type=PATH, help="File to write: .csv, .json, .md, .html, .png, .svg, else text."
)


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
