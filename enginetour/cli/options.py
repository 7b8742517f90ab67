"""Options that many commands share, the database, tournament and file that they select, and their completion."""

from __future__ import annotations

import gc
import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from enginetour.cli.printing import echo, format_sheet, hold_view, output_form, set_form, width
from enginetour.interop.files import bundled_directory, is_special, refuse_valuable, replace_bytes
from enginetour.model.errors import InputRefused, LeagueFound, TourError, UsageRefused
from enginetour.reports.sheet import MARKUPS, PLAIN_WIDTH, Sheet, json_text
from enginetour.store.address import (
    Address,
    NameKind,
    database_of,
    existing_database,
    names_in,
    newest_tournaments,
    parse_address,
    rows_of_others,
    slug_of,
    workspace_of,
)

if TYPE_CHECKING:
    from enginetour.ratings.ratinglist import RatingList
    from enginetour.reports.charts.canvas import Picture
    from enginetour.store.log import TournamentLog
    from enginetour.store.tournaments import Store


_HOME = "enginetour.home"  # key in the meta data of click's context
PATH = click.Path(path_type=Path)
F = TypeVar("F", bound=Callable[..., Any])


class _Counted(click.IntRange):
    """A parameter type that accepts the number of a game or an edition.

    If the value is a configuration file, the error explains that -t selects a tournament.
    """

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number. Raise click.BadParameter for anything else."""
        if _is_config(value):
            self.fail(f"{value!r} is not a number; -t {value} selects a tournament", param, ctx)
        return super().convert(value, param, ctx)

    def _describe_range(self) -> str:
        return "x>=1"


COUNTED = _Counted(1, 2**63 - 1)  # largest integer of a database column (SQLite file format 2.1)


class RealRange(click.FloatRange):
    """A parameter type for numbers in a range. It refuses nan, which click accepts in every range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number. Raise click.BadParameter for anything else."""
        found = super().convert(value, param, ctx)
        if found != found:
            self.fail(f"{found} is not in the range {self._describe_range()}.", param, ctx)
        return found


class Database(click.ParamType[Address]):
    """A parameter type for a database: a file, or ``postgresql://USER@HOST:PORT/NAME``.

    Error messages never show a password in the address.
    """

    name = "file or address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Address:
        """Return the address. Raise UsageRefused if it is not valid."""
        return parse_address(value) if isinstance(value, str) else value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Let the shell complete the names of files."""
        return [CompletionItem(incomplete, type="file")]


def parameter_of(option: Callable[[Any], Any]) -> click.Parameter:
    """Return the parameter that a decorator of click adds to a command."""

    def bare() -> None: ...

    (made,) = option(bare).__click_params__
    return made  # type: ignore[no-any-return]


def gathered(options: Sequence[Callable[[Any], Any]], argument: str, make: Callable[..., Any]) -> Callable[[F], F]:
    """Return a decorator that adds options and passes their values to the command as one argument, built by `make`."""
    names = [parameter_of(option).name for option in options]

    def add(command: F) -> F:
        @wraps(command)
        def gathering(*args: Any, **given: Any) -> Any:
            return command(*args, **{argument: make(**{name: given.pop(name) for name in names})}, **given)

        for option in reversed(options):
            gathering = option(gathering)
        return gathering  # type: ignore[return-value]

    return add


def count_option(*names: str, least: int = 1, most: int | None = None, **settings: Any) -> Callable[[F], F]:
    """Return a decorator that adds an option with a whole number N from `least` to `most` (None: no limit)."""
    return click.option(*names, type=click.IntRange(least, most), metavar="N", **settings)


def path_option(*names: str, metavar: str = "FILE", **settings: Any) -> Callable[[F], F]:
    """Return a decorator that adds an option with the path of a file or directory."""
    return click.option(*names, type=PATH, metavar=metavar, **settings)


def output_path_option(help: str, **settings: Any) -> Callable[[F], F]:  # noqa: A002 - the name in click
    """Return a decorator that adds ``-o PATH``, the file or directory that a command writes."""
    return path_option("-o", "--output", help=help, **settings)


def many_option(*names: str, help: str, **settings: Any) -> Callable[[F], F]:  # noqa: A002 - the name in click
    """Return a decorator that adds an option that can be given several times."""
    return click.option(*names, multiple=True, help=f"{help} Can be given several times.", **settings)


database_option = click.option(
    "--db",
    type=Database(),
    envvar="ENGINETOUR_DB",
    metavar="FILE|URL",
    show_envvar=True,
    show_default="database of the workspace",
    help="Database: a file, or postgresql://USER@HOST:PORT/NAME.",
)


def refuse_unused(other: str, options: Mapping[str, object]) -> None:
    """Raise UsageRefused for the first given option, because it has no effect with `other`.

    `options` maps each option to its value; None, False and () mean that it was not given. Nothing is refused if
    `other` is empty.
    """
    unused = next((name for name, given in options.items() if not (given is None or given is False or given == ())), "")
    if other and unused:
        raise UsageRefused(f"has no effect with {other}", place=unused, step=f"omit {unused}")


def refuse_group_options(ctx: click.Context) -> None:
    """Raise UsageRefused if options of a subcommand are given before its name."""
    typed = ctx.get_parameter_source("db") is click.core.ParameterSource.COMMANDLINE
    if typed or output_form() != "text":
        place = f"{ctx.info_name} {ctx.invoked_subcommand}"
        raise UsageRefused("options must follow the subcommand", place=place)


@dataclass(frozen=True, slots=True)
class TournamentChoice:
    """The database and the tournament that a command's options select."""

    db: Address | None = None  # the database; None for the database of the workspace
    name: str | None = None  # name of the tournament; None for the newest tournament
    edition: int | None = None  # number of the edition; None for the newest edition
    config: Path | None = None  # the configuration file that names the tournament, if the user gave it

    @property
    def database(self) -> Address:
        """Return the selected database, or the database of the workspace if none was selected."""
        return existing_database(Path.cwd(), self.db)

    @contextmanager
    def open(self, *, lasting: bool = False) -> Iterator[TournamentLog]:
        """Open the database as `open_store` does, to read it, and yield the log of the tournament."""
        with open_store(self.db, lasting=lasting) as store:
            yield self.log(store)

    def log(self, store: Store, *, quiet: bool = False) -> TournamentLog:
        """Return the log of the tournament; print its name on stderr if the user did not name one."""
        log = store.tournament(self.name, self.edition)
        if self.name is None and not quiet:
            echo(f"tournament {log.name}, edition {log.edition}", err=True)
        return log

    def ask_running(
        self, request: Mapping[str, Any], *, once: bool = False, quiet: bool = False
    ) -> list[tuple[dict[str, Any], TournamentChoice]]:
        """Send a request to the tournament.

        If the user named no tournament, also send it to the others of its season of a league; if `once` is true, only
        until one of them answers. Return the answers of those that are running, and the choice with the name of each.
        The sockets are next to the database file, so the database modules are not loaded. Return no answer for a
        database on a server, and for a choice with an edition. Print the names as `log` does.
        """
        database = self.database
        if self.edition is not None or not isinstance(database, Path):
            return []
        from enginetour.tournament.control import ConnectionClosed, ask, socket_path

        found, names = [], newest_tournaments(database) if self.name is None else [(self.name, 0)]
        for name, edition in names:
            with suppress(ConnectionClosed):
                if (answer := ask(socket_path(database, slug_of(name)), request)) is not None:
                    found.append((answer, replace(self, name=name)))
                    if edition and not quiet:
                        echo(f"tournament {name}, edition {edition}", err=True)
                    if once:
                        break
        return found


def tournament_options(command: F) -> F:
    """Add ``-t TOURNAMENT``, ``--edition N`` and ``--db``, and pass them as a TournamentChoice."""
    words = "Edition of the tournament."
    edition = click.option("--edition", type=COUNTED, metavar="N", show_default="newest", help=words)
    return tournament_option(edition(command))


def tournament_option(command: F) -> F:
    """Add ``-t TOURNAMENT`` and ``--db``, and pass them as a TournamentChoice.

    The value of -t may also be a configuration file.
    """

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
            what = f"two tournaments are named: {which!r} and {name!r}"
            raise UsageRefused(what, place="-t", step="name one of them")
        config = Path(which or name or "") if _is_config(which or name) else None
        name, db = _named(which or name, db)
        return command(*args, chosen=TournamentChoice(db, name, edition, config), **given)

    words = "Name of the tournament, or its configuration file."
    option = click.option(
        "-t", "--tournament", "name", metavar="TOURNAMENT", show_default="newest in the database", help=words
    )
    return database_option(option(chosen))  # type: ignore[return-value]


# The argument ``[TOURNAMENT]``, for commands without other arguments; place it above `tournament_option`.
tournament_argument = click.argument("which", metavar="[TOURNAMENT]", required=False)


def _is_config(word: object) -> bool:
    """Return whether a word names a configuration file.

    It ends in .toml, and it contains a path separator or the file exists.
    """
    return isinstance(word, str) and word.endswith(".toml") and (os.sep in word or Path(word).is_file())


def _named(name: str | None, db: Address | None) -> tuple[str | None, Address | None]:
    """Return the name of the tournament and its database; if `name` is a configuration file, read both from it."""
    if name is None or not _is_config(name):
        return name, db
    from enginetour.interop.toml import read_toml

    path = Path(name)
    table, _ = read_toml(path, "a configuration", named=True)
    if "league" in table:
        step = "name one of its tournaments (enginetour season lists them); without a name, the newest one is used"
        raise LeagueFound("describes a league, not a tournament", place=str(path), step=step)
    section = table.get("tournament")
    named = section.get("name") if isinstance(section, dict) else None
    if not isinstance(named, str):
        step = f"run {quote_command('check', path)}"
        raise InputRefused("no name under [tournament]", place=str(path), step=step)
    click.get_current_context().meta[_HOME] = home = path.resolve().parent
    return named, database_of(home, db)


def config_home() -> Path:
    """Return the directory of the configuration file that the user named, or else the current directory."""
    context = click.get_current_context(silent=True)
    return Path.cwd() if context is None else context.meta.get(_HOME) or Path.cwd()


def quote_command(*words: object, db: Address | None = None) -> str:
    """Return an enginetour command as the user can type it, with shell quotes and the same database."""
    return shlex.join(map(str, ["enginetour", *words, *([] if db is None else ["--db", db])]))


def announce_config(file: Path, *, err: bool = False) -> None:
    """Print that a configuration was written, with the commands that check and start it."""
    commands = f"{quote_command('check', file)} checks it, {quote_command('run', file)} starts it"
    echo(f"{file} written; {commands}", err=err)


def refuse_output(path: Path) -> None:
    """Raise UsageRefused if an output file is a directory, has no directory, or must not be replaced."""
    refuse_valuable(path, "--output")
    if path.is_dir() or not path.absolute().parent.is_dir():
        what = f"must be a file in an existing directory (found {path})"
        raise UsageRefused(what, place="--output", step="choose another file")


@contextmanager
def open_store(db: Address | None, *, change: bool = False, lasting: bool = False) -> Iterator[Store]:
    """Open an existing database, read-only unless `change` is true.

    All reads until the command prints use the same snapshot. If `change` or `lasting` is true, there is no snapshot,
    so new rows are read, too. `lasting` is for commands that wait for a running tournament, because SQLite cannot
    shorten its log during a snapshot. Raise StoreRefused if the database does not exist or cannot be read.
    """
    from enginetour.store.tournaments import Store

    path = existing_database(Path.cwd(), db)
    if path != database_of(Path.cwd(), db):
        echo(f"database {path}", err=True)
    with rows_of_others(path), Store.open(path, create=False, readonly=not change) as store, ExitStack() as view:
        if not (change or lasting):
            view.enter_context(store.database.snapshot())
            hold_view(view)
        yield store


@contextmanager
def without_collecting() -> Iterator[None]:
    """Switch garbage collection off: it takes 10 % of the time to read millions of tuples (measured) and finds nothing.

    The tuples do not form cycles. Objects that exist at the end are not searched later either.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


_BY_ENDING = {".json": "json", ".csv": "csv", ".md": "markdown", ".html": "html"}
# ``-o FILE`` for a rating list.
output_option = output_path_option(
    "Write to FILE. Its ending selects the format: .csv, .json, .md, .html, .png or .svg; others are text.",
)


@dataclass(frozen=True, slots=True)
class ListOutput:
    """Where a rating list goes: to a file, or to the screen if `path` is None."""

    path: Path | None

    @property
    def columns(self) -> int:
        """Return the width of the text in characters."""
        return width() if self.path is None else PLAIN_WIDTH

    def put_picture(self, found: RatingList, title: str, *, display: bool) -> bool:
        """Draw the list and return True if the file is an image; else return False.

        Raise UsageRefused for an image if options change the text of the list (`display`) or select an output format.
        """
        if self.path is None or not picture_ending(self.path):
            return False
        from enginetour.reports.charts.lists import list_chart

        if display or output_form() != "text":
            what = "an image ignores --columns, --layout, --matrix and output formats"
            raise UsageRefused(what, place="--output", step="omit these options, or write to a text file")
        put_picture(self.path, list_chart(found, title))
        return True

    def put_sheet(self, sheet: Sheet, value: object, found: RatingList | None = None) -> None:
        """Write a sheet in the format of this command. `value` is its JSON. Raise UsageRefused for an image file."""
        if self.path is not None and picture_ending(self.path):
            step = "use enginetour chart"
            raise UsageRefused("this table cannot be written as an image", place="--output", step=step)
        form = output_form()
        text = json_text(value) + "\n" if form == "json" else format_sheet(sheet, form, self.columns)
        self.put(text, f"{len(sheet.rows):,} engines" if found is None else size_of(found))

    def put(self, text: str, content: str) -> None:
        """Print the text, or write it to the file and report a description of its `content` on stderr."""
        if self.path is None:
            click.echo(text, nl=False)
        else:
            _write_whole(self.path, text.encode(), content)


def _write_whole(path: Path, data: bytes, content: str) -> None:
    replace_bytes(path, [data])
    if not is_special(path):
        echo(f"{path} written: {content}", err=True)


def list_output(output: Path | None, sources: Sequence[Path] = ()) -> ListOutput:
    """Select the format by the ending of the file `output`, and return the output.

    Raise UsageRefused for a directory, for one of the input files `sources`, and for a file that must not be replaced.
    """
    if output is None:
        return ListOutput(None)
    if output.is_dir():
        raise UsageRefused(f"{output} is a directory", place="--output", step="name a file in it")
    if any(output.exists() and path.exists() and output.samefile(path) for path in sources):
        raise UsageRefused(f"{output} is an input file", place="--output", step="choose another name")
    refuse_valuable(output, "--output")
    form, ending = output_form(), _BY_ENDING.get(output.suffix)
    if form in MARKUPS and ending not in (None, form):
        raise UsageRefused(f"cannot be combined with --format {form} (found {output.name})", place="--output")
    if ending is not None and (form == "text" or ending == "json"):
        set_form(ending)
    return ListOutput(output)


def size_of(found: RatingList) -> str:
    """Describe the size of a rating list."""
    return f"{len(found.rows):,} engines, {found.games:,} games"


def picture_ending(path: Path) -> str | None:
    """Return the ending of an image file, or None for another file."""
    return path.suffix.lower() if path.suffix.lower() in (".png", ".svg") else None


def put_picture(path: Path, picture: Picture, title: str | None = None) -> None:
    """Write a picture in the format that the ending of the file selects; `title` replaces the title of the picture."""
    from enginetour.reports.charts.output import picture_file, with_title

    if title is not None:
        picture = with_title(picture, title)
    _write_whole(path, picture_file(picture, path), picture.title)


# Completion of names by the shell. It prints no errors.

# command and parameter -> what its value names; the other commands use "*"
_KINDS: dict[tuple[str, str], tuple[NameKind | str, ...]] = {
    ("*", "which"): ("tournament",),
    ("*", "list_name"): ("list",),
    ("*", "tournament"): ("tournament",),
    ("withdraw", "engine"): ("entrant",),
    ("replace", "old"): ("entrant",),
    ("replace", "engine"): ("file",),
    ("add", "engine"): ("file",),
    ("match", "engine"): ("file",),
    ("check", "engine"): ("file",),
    ("history", "engine"): ("engine",),
    ("history", "engines"): ("engine",),
    **{(command, "name"): ("list",) for command in ("show", "explain", "publish", "editions", "diff", "remove")},
}


class _Names(click.types.StringParamType):
    """A text whose values are names in the database, or engine files of the workspace."""

    def __init__(self, kinds: tuple[str, ...]) -> None:
        self.kinds = kinds

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the names that begin with the typed characters."""
        found: list[str] = []
        with suppress(TourError, OSError):
            for kind in self.kinds:
                found += _files(incomplete) if kind == "file" else _in_database(ctx, kind, incomplete)
        return [CompletionItem(name) for name in found]


def _in_database(ctx: click.Context, kind: Any, start: str) -> list[str]:
    database = existing_database(Path.cwd(), ctx.params.get("db"))
    return names_in(database, kind, start) if isinstance(database, Path) else []


def _files(start: str) -> Iterator[str]:
    folders = (workspace_of(Path.cwd()) / "engines", bundled_directory("engines"))
    return iter(
        sorted({path.stem for folder in folders for path in folder.glob("*.toml") if path.stem.startswith(start)})
    )


def complete_names(command: click.Command) -> None:
    """Make the parameters of a command complete names."""
    for param in command.params:
        name = "tournament" if "--tournament" in param.opts else param.name or ""
        kinds = _KINDS.get((command.name or "", name)) or _KINDS.get(("*", name))
        if kinds is not None and isinstance(param.type, click.types.StringParamType):
            param.type = _Names(kinds)
