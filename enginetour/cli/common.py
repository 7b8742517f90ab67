"""Options, output and requests that commands share: --db, -t, --json, --csv, -o, and the control socket."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from enginetour.interop.files import is_special, refuse_valuable, replace_bytes
from enginetour.model.errors import InputRefused, StoreRefused, TourError, UsageRefused
from enginetour.reports.sheet import PLAIN_WIDTH, Sheet, format_count, json_text, safe_text
from enginetour.store.address import Address, parse_address

if TYPE_CHECKING:
    from enginetour.ratings.ratinglist import RatingList
    from enginetour.reports.charts.canvas import Picture
    from enginetour.store.dialect import Lock
    from enginetour.store.log import TournamentLog
    from enginetour.store.tournaments import Store


# Common options and the output of tables as text, JSON or CSV.

_MARKED_UP = ("markdown", "bbcode", "html")  # those of reports.markup
FORMATS = ("text", *_MARKED_UP, "csv", "json")
_FORM = "enginetour.form"  # keys of click's context
_VIEW = "enginetour.view"
_HOME = "enginetour.home"
F = TypeVar("F", bound=Callable[..., Any])


class _Counted(click.IntRange):
    """A number from 1 on; who gives a configuration is told how tournaments are named."""

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


def database_option(command: F) -> F:
    """``--db FILE``, ``--db postgresql://...``, ENGINETOUR_DB, or results/enginetour.db of the workspace."""
    words = "The database: a file, or postgresql://USER@HOST:PORT/NAME; default: the workspace's."
    return click.option("--db", type=Database(), envvar="ENGINETOUR_DB", metavar="FILE|URL", help=words)(command)


def tournament_options(command: F) -> F:
    """``-t TOURNAMENT``, ``--edition N``, ``--db FILE``."""
    return tournament_option(click.option("--edition", type=COUNTED, help="Edition; default: the newest.")(command))


def tournament_option(command: F) -> F:
    """``-t TOURNAMENT`` and ``--db FILE``; the command gets the name of a tournament whose configuration was given."""

    @wraps(command)
    def named(*args: Any, db: Address | None, name: str | None, which: str | None = None, **given: Any) -> Any:
        if which is None and _is_config(given.get("list_name")):
            which, given["list_name"] = given["list_name"], None
        if name is not None and which is not None:
            raise click.UsageError(f"{which!r} and -t {name!r} are two tournaments: give one of them")
        name, db = _meant(which or name, db)
        return command(*args, db=db, name=name, **given)

    words = "Its name, or the configuration that is run; default: the newest."
    option = click.option("-t", "--tournament", "name", metavar="TOURNAMENT", help=words)
    return database_option(option(named))  # type: ignore[return-value]


def tournament_argument(command: F) -> F:
    """``[TOURNAMENT]`` as `tournament_option`, above it, for commands that take no other word."""
    return click.argument("which", metavar="[TOURNAMENT]", required=False)(command)


def _is_config(word: object) -> bool:
    """A file that ends as configurations do, and is there or has a folder: no list or tournament is called so."""
    return isinstance(word, str) and word.endswith(".toml") and (os.sep in word or Path(word).is_file())


def _meant(name: str | None, db: Address | None) -> tuple[str | None, Address | None]:
    """The tournament of a configuration and its workspace's database; anything else is a name."""
    if name is None or not _is_config(name):
        return name, db
    from enginetour.interop.toml import read_toml
    from enginetour.tournament.config.workspace import database_of

    path = Path(name)
    table, _ = read_toml(path, "a configuration", named=True)
    section = table.get("tournament")
    named = section.get("name") if isinstance(section, dict) else None
    if not isinstance(named, str):
        raise InputRefused("no name under [tournament]", place=str(path), step="enginetour check tells what it lacks")
    click.get_current_context().meta[_HOME] = home = path.resolve().parent
    return named, database_of(home, db)


def config_home() -> Path:
    """The folder of the configuration that was given for its tournament, else the one we are in."""
    context = click.get_current_context(silent=True)
    return Path.cwd() if context is None else context.meta.get(_HOME) or Path.cwd()


def output_options(command: F) -> F:
    """``--json``, ``--csv`` and ``--format``; the command gets `as_json` and `as_csv`, `formatted` does the others."""

    @wraps(command)
    def gathered(*args: Any, form: str | None, as_json: bool, as_csv: bool, **given: Any) -> Any:
        flag = "json" if as_json else "csv" if as_csv else form
        if form not in (None, flag):
            raise click.UsageError(f"--{flag} and --format {form} do not go together")
        set_format(flag)
        return command(*args, as_json=flag == "json", as_csv=flag == "csv", **given)

    csv = click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
    json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    return json(csv(format_option(gathered)))  # type: ignore[return-value]


def format_option(command: F) -> F:
    """``--format`` as `form`, None where it is not given."""
    words = f"{', '.join(FORMATS)}; default: text."
    return click.option("--format", "form", type=click.Choice(FORMATS), metavar="FORMAT", help=words)(command)


def set_format(form: str | None) -> None:
    """From here on this command shows its sheets so; None and text are text."""
    click.get_current_context().meta[_FORM] = form


def markup() -> str | None:
    """The language asked for that neither JSON nor CSV is; None for plain text."""
    context = click.get_current_context(silent=True)
    form = None if context is None else context.meta.get(_FORM)
    return form if form in _MARKED_UP else None


def format_sheet(sheet: Sheet, room: int) -> str:
    """A sheet in the language asked for, as text of `room` columns where none was."""
    form = markup()
    if form is None:
        from enginetour.reports.sheet import render

        return render(sheet, room)
    from enginetour.reports.sheet import MARKUPS

    return MARKUPS[form](sheet)


def refuse_tables(what: str) -> None:
    """UsageError where CSV or a language for tables was asked for and there is no table."""
    form = click.get_current_context().meta.get(_FORM)
    if form not in (None, "text", "json"):
        raise click.UsageError(f"--format {form} is for tables: {what}")


def say(words: object, *, err: bool = False) -> None:
    """Print one line that quotes names, whatever is in them; `err`: on stderr."""
    click.echo(safe_text(words), err=err)


def quote_command(*words: object, db: Address | None = None) -> str:
    """A command of ours to be typed: with blanks in a name it has its quotes, and it means the same database."""
    there = [] if db is None else ["--db", db]
    return shlex.join(map(str, ["enginetour", *words, *there]))


def say_json(value: object) -> None:
    """Print one JSON value."""
    print_text(json_text(value) + "\n")


def print_text(text: str) -> None:
    """Print what was made of a store, which is read no more: whoever pages through it holds up nobody else there."""
    context = click.get_current_context(silent=True)
    view: ExitStack | None = None if context is None else context.meta.pop(_VIEW, None)
    if view is not None:
        view.close()
    click.echo(text, nl=False)


def width() -> int:
    """Columns of the terminal, or of a file that has no edge."""
    return shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else PLAIN_WIDTH


def wrap_sentences(words: str) -> str:
    """Sentences, a line each, broken at blanks where the terminal would break words; a file has no edge."""
    import textwrap

    if not sys.stdout.isatty():
        return words
    folds = textwrap.TextWrapper(width(), subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    return "\n".join(map(folds.fill, words.splitlines()))


def show_sheet(sheet: Sheet, *, as_json: bool, as_csv: bool, value: object | None = None) -> None:
    """Print a sheet as asked; `value` is the JSON where it is more than the rows."""
    if as_json:
        say_json(value if value is not None else [dict(row) for row in sheet.rows])
    elif as_csv:
        print_text(sheet.csv())
    else:
        print_text(format_sheet(sheet, width()))


@contextmanager
def open_store(db: Address | None, *, change: bool = False, lasting: bool = False) -> Iterator[Store]:
    """The store, to be read by whoever may read it unless there is something to `change`; StoreRefused for none.

    What is read is all of one moment, until the first of it is `put` out, but for a command that is `lasting`, which
    waits for others: a file's log cannot be folded in meanwhile.
    StoreRefused also where rows that nobody of ours wrote cannot be read.
    """
    from enginetour.store.tournaments import Store
    from enginetour.tournament.config.workspace import database_of

    path = database_of(Path.cwd(), db)
    with rows_of_others(path), Store.open(path, create=False, readonly=not change) as store, ExitStack() as view:
        if not (change or lasting):
            view.enter_context(store.database.snapshot())
            click.get_current_context().meta[_VIEW] = view
        yield store


@contextmanager
def rows_of_others(path: Address) -> Iterator[None]:
    """A failure while a database is read is the database's fault where an inspection finds something in it.

    Then it is StoreRefused; in a sound one it stays our own failure.
    """
    from enginetour.store.dialect import UNREADABLE

    try:
        yield
    except TourError:
        raise
    except UNREADABLE as error:
        from enginetour.store.check import oddity
        from enginetour.store.database import database_exists

        found = oddity(path) if database_exists(path) else ""
        if not found:
            raise
        step = "enginetour db check tells all that is wrong; put a backup in its place"
        raise StoreRefused(f"cannot be read, {found}", place=str(path), step=step) from error


def choose_tournament(store: Store, name: str | None, edition: int | None, *, quiet: bool = False) -> TournamentLog:
    """The tournament asked for; says which one is meant when none was named."""
    log = store.tournament(name, edition)
    if name is None and not quiet:
        say(f"tournament {log.name}, edition {log.edition}", err=True)
    return log


def is_live_terminal() -> bool:
    """A terminal that can redraw: not a pipe, not TERM=dumb."""
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


# `-o FILE`: write a list to a file; the extension selects the format.

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
class ListOutput:
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
        if self.path is None or not picture_ending(self.path):
            return False
        from enginetour.reports.charts.lists import list_chart

        if shown or self.as_json or self.as_csv or markup():
            what = "a picture of a list has looks of its own: leave out how to show it"
            raise UsageRefused(what, place="--output", step="or write into a file that is no picture")
        put_picture(self.path, list_chart(found, title))
        return True

    def put_sheet(self, sheet: Sheet, value: object, told: str) -> None:
        """A sheet in the form asked for; `value` is its JSON. UsageRefused for a file that is a picture."""
        if self.path is not None and picture_ending(self.path):
            raise UsageRefused("no picture is made of this table", place="--output", step="enginetour chart")
        text = (
            sheet.csv() if self.as_csv else json_text(value) + "\n" if self.as_json else format_sheet(sheet, self.room)
        )
        self.put(text, told)

    def put(self, text: str, told: str) -> None:
        """All of it, or the file as it was; a written file is told on stderr."""
        if self.path is None:
            click.echo(text, nl=False)
        else:
            _write_whole(self.path, text.encode(), told)


def _write_whole(path: Path, content: bytes, told: str) -> None:
    """All of it, or the file as it was; a written file is told on stderr, a device or pipe is only written into."""
    replace_bytes(path, [content])
    if not is_special(path):
        say(f"{path} written: {told}", err=True)


def list_output(output: Path | None, *, as_json: bool, as_csv: bool, sources: Sequence[Path] = ()) -> ListOutput:
    """The file's ending tells the form; UsageRefused for a folder, and for a file that is to be kept."""
    if output is None:
        return ListOutput(None, as_json, as_csv)
    if output.is_dir():
        raise UsageRefused(f"{output} is a folder", place="--output", step="name a file in it")
    if any(_same(output, path) for path in sources):
        raise UsageRefused(f"{output} is one of the games' files", place="--output", step="choose another name")
    refuse_valuable(output, "--output")
    told = _BY_ENDING.get(output.suffix)
    if markup() and told not in (None, markup()):
        raise click.UsageError(f"--format {markup()} and {output.name} do not go together")
    if not (as_json or as_csv) and told in _MARKED_UP:
        set_format(told)
    return ListOutput(output, as_json or told == "json", as_csv or told == "csv")


def size_words(found: RatingList) -> str:
    """What a file with this list holds."""
    return f"{len(found.rows):,} engines, {found.games:,} games"


def _same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)


def machine_lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """One line a worker, then what is missing where."""
    for row in rows:
        if row["state"] == "gone":
            yield f"{row['machine']}: gone, {_games_played(row)}" + (f" ({row['why']})" if row["why"] else "")
            continue
        speed = f", speed {row['speed']:g}" if row["speed"] else ""
        told = {"aside": f"set aside: {row['why']}", "drained": "drained", "fit": format_count(row["slots"], "slot")}
        state = told.get(row["state"], "gets no games" if row["state"] == "lacking" else "looks what it has")
        yield f"{row['machine']} ({row['processor'] or row['address']}{speed}): {state}, {_games_played(row)}"
        for words in row["lacks"]:
            yield f"  {row['machine']} lacks {words}"


def _games_played(row: Mapping[str, Any]) -> str:
    busy = f", {row['busy']} in the air" if row.get("busy") else ""
    return f"{format_count(row['played'], 'game')} played{busy}"


# Requests to a running tournament through its socket, and the output of the answer.

_NOTICE_S = 2.0  # of waiting for a run that does not listen, after which that is told
# A run probes its engines before it listens, and writes its ratings and its report after its last game.
PATIENCE_S = 120.0


@contextmanager
def ask_run(
    database: Address, log: TournamentLog, request: dict[str, Any]
) -> Iterator[tuple[dict[str, Any] | None, Lock]]:
    """The answer, and the tournament's lock; None where nobody runs it: the lock is ours to the end of this.

    UsageRefused, and nothing is asked, for what is no valid request.
    A run that begins or ends holds the lock without listening: it is waited for, then StoreRefused.
    """
    from enginetour.store.address import slug_of
    from enginetour.store.database import lock_of
    from enginetour.tournament.control import socket_path
    from enginetour.tournament.requests import parsed

    asked = parsed(request).to_json()
    lock = lock_of(database, slug_of(log.name))
    begun, told = time.monotonic(), False
    while (answer := _asked(socket_path(database, slug_of(log.name)), asked)) is None:
        try:
            lock.acquire()
            break
        except StoreRefused:
            waited = time.monotonic() - begun
            if waited >= PATIENCE_S:
                raise
            if waited >= _NOTICE_S and not told:
                told = True
                say(f"waiting for the run of {log.title}, which begins or ends at this moment", err=True)
        time.sleep(0.1)
    try:
        yield answer, lock
    finally:
        lock.release()


def _asked(path: Path, asked: Mapping[str, Any]) -> dict[str, Any] | None:
    """The answer of the run; None where none listens, or where it ended before it answered."""
    from enginetour.tournament.control import ConnectionClosed, ask

    try:
        return ask(path, asked)
    except ConnectionClosed:
        return None


def print_answer(answer: Mapping[str, Any], *, as_json: bool) -> int:
    """Say it; the exit code. A refusal is TourError with that of the run, in JSON it is told as it is."""
    code = 0 if answer["ok"] else int(answer.get("exit", 1))
    if as_json:
        say_json(answer)
        return code
    if not answer["ok"]:
        refused = TourError(str(answer["error"]))
        refused.exit_code = code
        raise refused
    for line in [answer["said"]] if isinstance(answer["said"], str) else machine_lines(answer["said"]):
        say(line)
    return 0


# Progress line of a compliance check, on terminals only.

ERASE = "\r\x1b[K"  # to the beginning of the line, and what stands there away: ECMA-48, EL


class StepLine:
    """On stderr, so that a report on stdout stays clean; `names` are examined one after the other."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = list(names)
        self._shown = False
        self._there = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"

    def step(self, number: int, count: int, what: str) -> None:
        """The first of the names has come to this one."""
        if self._there:
            words = safe_text(f"{self._names[0]}: step {number} of {count}, {what}")
            sys.stderr.write(f"{ERASE}{words[: shutil.get_terminal_size((80, 24)).columns - 1]}")
            sys.stderr.flush()
            self._shown = True

    def clear(self) -> None:
        """The first has ended: its line goes, and the next one is on."""
        self._names.pop(0)
        if self._shown:
            sys.stderr.write(ERASE)
            sys.stderr.flush()
            self._shown = False


_PICTURE_ENDINGS = (".png", ".svg")


def picture_ending(path: Path) -> str | None:
    """The ending by which a file is a picture, None for another file."""
    return path.suffix.lower() if path.suffix.lower() in _PICTURE_ENDINGS else None


def put_picture(path: Path, picture: Picture, title: str | None = None) -> None:
    """Write a picture in the language of its ending, under its own title or another."""
    from enginetour.reports.charts.canvas import with_title as retitled
    from enginetour.reports.charts.output import png, svg_file

    if title is not None:
        picture = retitled(picture, title)
    content = png(picture) if picture_ending(path) == ".png" else svg_file(picture).encode()
    _write_whole(path, content, picture.title)
