"""Options that commands share, --db, -t and --edition, and the database and tournament they select."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from enginetour.cli.printing import echo, format_sheet, hold_view, output_form, set_form, width
from enginetour.interop.files import is_special, refuse_valuable, replace_bytes
from enginetour.model.errors import InputRefused, StoreRefused, TourError, UsageRefused
from enginetour.reports.sheet import MARKUPS, PLAIN_WIDTH, Sheet, json_text
from enginetour.store.address import Address, database_of, parse_address

if TYPE_CHECKING:
    from enginetour.ratings.ratinglist import RatingList
    from enginetour.reports.charts.canvas import Picture
    from enginetour.store.log import TournamentLog
    from enginetour.store.tournaments import Store


# Options that commands share, --db, -t and --edition, and the database and tournament they select.

_HOME = "enginetour.home"  # key of click's context
PATH = click.Path(path_type=Path)
F = TypeVar("F", bound=Callable[..., Any])


class _Counted(click.IntRange):
    """A number from 1 on; for a configuration the refusal shows how a tournament is named."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number; click's BadParameter for anything else."""
        if _is_config(value):
            self.fail(f"{value!r} is no number; a tournament is named by -t {value}", param, ctx)
        return super().convert(value, param, ctx)


COUNTED = _Counted(1, 2**63 - 1)  # number of a game or an edition: what a column holds (SQLite file format 2.1)


class Database(click.ParamType[Address]):
    """A file, or ``postgresql://USER@HOST:PORT/NAME``; a password in it is never shown again."""

    name = "file or address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Address:
        """The address; UsageRefused for one that is none."""
        return parse_address(value) if isinstance(value, str) else value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Files, as the shell knows them."""
        return [CompletionItem(incomplete, type="file")]


def gathered(options: Sequence[Callable[[Any], Any]], argument: str, make: Callable[..., Any]) -> Callable[[F], F]:
    """Return a decorator that adds options, and passes what `make` makes of their values as one argument."""

    def named(*_: object) -> None: ...

    for option in reversed(options):
        option(named)
    names = [param.name for param in named.__click_params__]  # type: ignore[attr-defined]

    def add(command: F) -> F:
        @wraps(command)
        def gathering(*args: Any, **given: Any) -> Any:
            return command(*args, **{argument: make(**{name: given.pop(name) for name in names})}, **given)

        for option in reversed(options):
            gathering = option(gathering)
        return gathering  # type: ignore[return-value]

    return add


database_option = click.option(
    "--db",
    type=Database(),
    envvar="ENGINETOUR_DB",
    metavar="FILE|URL",
    help="The database: a file, or postgresql://USER@HOST:PORT/NAME; default: the workspace's.",
)


@dataclass(frozen=True, slots=True)
class TournamentChoice:
    """The tournament and the database that the options of a command select; the newest ones for None."""

    db: Address | None = None
    name: str | None = None
    edition: int | None = None

    @property
    def database(self) -> Address:
        """The database, that of the workspace for none."""
        return database_of(Path.cwd(), self.db)

    @contextmanager
    def open(self, *, change: bool = False, lasting: bool = False, quiet: bool = False) -> Iterator[TournamentLog]:
        """Open the database as `open_store` does; the log of the tournament."""
        with open_store(self.db, change=change, lasting=lasting) as store:
            yield self.log(store, quiet=quiet)

    def log(self, store: Store, *, quiet: bool = False) -> TournamentLog:
        """Return the tournament's log; show which one is meant if none was named."""
        log = store.tournament(self.name, self.edition)
        if self.name is None and not quiet:
            echo(f"tournament {log.name}, edition {log.edition}", err=True)
        return log


def tournament_options(command: F) -> F:
    """Add ``-t TOURNAMENT``, ``--edition N`` and ``--db FILE``, as a TournamentChoice."""
    return tournament_option(click.option("--edition", type=COUNTED, help="Edition; default: the newest.")(command))


def tournament_option(command: F) -> F:
    """Add ``-t TOURNAMENT`` and ``--db FILE``, as a TournamentChoice; a configuration may name its tournament."""

    @wraps(command)
    def chosen(
        *args: Any,
        db: Address | None,
        name: str | None,
        edition: int | None = None,
        which: str | None = None,
        **given: Any,
    ) -> Any:
        if which is None and _is_config(given.get("list_name")):
            which, given["list_name"] = given["list_name"], None
        if name is not None and which is not None:
            raise click.UsageError(f"{which!r} and -t {name!r} are two tournaments: give one of them")
        name, db = _named(which or name, db)
        return command(*args, chosen=TournamentChoice(db, name, edition), **given)

    words = "Its name, or the configuration that is run; default: the newest."
    option = click.option("-t", "--tournament", "name", metavar="TOURNAMENT", help=words)
    return database_option(option(chosen))  # type: ignore[return-value]


# ``[TOURNAMENT]`` as `tournament_option`, above it, for commands that take no other word.
tournament_argument = click.argument("which", metavar="[TOURNAMENT]", required=False)


def _is_config(word: object) -> bool:
    """A file that ends as configurations do, and is there or has a folder: no list or tournament is called so."""
    return isinstance(word, str) and word.endswith(".toml") and (os.sep in word or Path(word).is_file())


def _named(name: str | None, db: Address | None) -> tuple[str | None, Address | None]:
    """The tournament of a configuration and its workspace's database; anything else is a name."""
    if name is None or not _is_config(name):
        return name, db
    from enginetour.interop.toml import read_toml

    path = Path(name)
    table, _ = read_toml(path, "a configuration", named=True)
    section = table.get("tournament")
    named = section.get("name") if isinstance(section, dict) else None
    if not isinstance(named, str):
        raise InputRefused("no name under [tournament]", place=str(path), step="enginetour check tells what it lacks")
    click.get_current_context().meta[_HOME] = home = path.resolve().parent
    return named, database_of(home, db)


def config_home() -> Path:
    """Return the folder of the configuration that named its tournament, else the current one."""
    context = click.get_current_context(silent=True)
    return Path.cwd() if context is None else context.meta.get(_HOME) or Path.cwd()


@contextmanager
def usage_errors(place: str) -> Iterator[None]:
    """Raise UsageRefused, with the option, for a ValueError about its value."""
    try:
        yield
    except ValueError as error:
        raise UsageRefused(str(error), place=place) from None


def quote_command(*words: object, db: Address | None = None) -> str:
    """Return an enginetour command to be typed: words with blanks are quoted, and the database is the same."""
    return shlex.join(map(str, ["enginetour", *words, *([] if db is None else ["--db", db])]))


@contextmanager
def open_store(db: Address | None, *, change: bool = False, lasting: bool = False) -> Iterator[Store]:
    """Open the database, for reading unless there is something to `change`; StoreRefused if there is none.

    What is read is of one moment, until the command prints. A command that waits for others is `lasting` and reads
    what is new: a file's log cannot be folded in meanwhile. StoreRefused also for rows that cannot be read.
    """
    from enginetour.store.tournaments import Store

    path = database_of(Path.cwd(), db)
    with rows_of_others(path), Store.open(path, create=False, readonly=not change) as store, ExitStack() as view:
        if not (change or lasting):
            view.enter_context(store.database.snapshot())
            hold_view(view)
        yield store


@contextmanager
def rows_of_others(path: Address) -> Iterator[None]:
    """Raise StoreRefused for a failure while a database is read, if an inspection finds something wrong in it.

    In a sound one it stays an internal error.
    """
    from enginetour.store.dialect import UNREADABLE

    try:
        yield
    except TourError:
        raise
    except UNREADABLE as error:
        from enginetour.store.check import first_fault
        from enginetour.store.database import database_exists

        found = first_fault(path) if database_exists(path) else ""
        if not found:
            raise
        step = "enginetour db check tells all that is wrong; put a backup in its place"
        raise StoreRefused(f"cannot be read, {found}", place=str(path), step=step) from error


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
