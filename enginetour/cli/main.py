"""Start of the command line: list of commands, errors, exit codes.

Heavy modules are imported only when a command runs, so that help and completion are fast.
"""

from __future__ import annotations

import gc
import os
import re
import select
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import click

from enginetour import __version__
from enginetour.model.errors import (
    SchemaOutdated,
    TourError,
    UsageRefused,
    closest_match,
    storage_failure,
)

LONGEST_LINE = 2000  # maximum number of characters of an error; about one screen
# Objects between two garbage collections. With Python's default of 700, collections take 10 % of the startup time
# (measured).
GARBAGE = 20_000
# command -> (group in the help, module, function, summary)
COMMANDS: dict[str, tuple[str, str, str, str]] = {
    "init": ("Setup", "setup", "init", "Write a commented configuration to start from"),
    "engines": ("Setup", "engines", "engines", "List, find, add and check engines"),
    "systems": ("Setup", "setup", "systems", "List the tournament formats and their settings"),
    "plan": ("Setup", "simulate", "plan", "Compare formats for a night, and write the best one"),
    "check": ("Setup", "setup", "check", "Check a configuration and start every engine once"),
    "run": ("Play", "run", "run", "Start or resume a tournament"),
    "match": ("Play", "match", "match", "Play engines against each other without a configuration"),
    "season": ("Play", "season", "season", "Show the seasons of a league, or begin the next one"),
    "demo": ("Play", "run", "demo", "Play a small tournament between bundled engines"),
    "pair": ("Play", "pairing", "pair", "Pair the next round of another program's tournament"),
    "simulate": ("Play", "simulate", "simulate", "Simulate tournament formats without engines"),
    "status": ("Running tournament", "reading", "status", "Show progress, games in progress and estimated end"),
    "forecast": ("Running tournament", "simulate", "forecast", "Simulate the rest: games, hours, places, winner"),
    "concurrency": ("Running tournament", "changing", "concurrency", "Set the number of concurrent games"),
    "machines": ("Running tournament", "changing", "machines", "List or drain the machines of a cluster"),
    "pause": ("Running tournament", "changing", "pause", "Pause a running tournament (start no new games)"),
    "unpause": ("Running tournament", "changing", "unpause", "Start games again after a pause"),
    "finish": ("Running tournament", "changing", "finish", "Stop a tournament after the games in progress"),
    "standings": ("Results", "reading", "standings", "Show the table with tie-breaks"),
    "crosstable": ("Results", "reading", "crosstable", "Show the head-to-head results of all entrants"),
    "bubble": ("Results", "reading", "bubble", "Show the bubble history: each decision and its reason"),
    "games": ("Results", "games", "games", "List games, or show one with its moves"),
    "report": ("Results", "report", "report", "Write an HTML report"),
    "site": ("Results", "report", "site", "Write the site of a league"),
    "serve": ("Results", "report", "serve", "Show all tournaments of a database live in the browser"),
    "chart": ("Results", "charts", "chart", "Draw charts as PNG or SVG files"),
    "export": ("Results", "games", "export", "Export games and results"),
    "ratings": ("Rating lists", "lists", "ratings", "Show a rating list from the database"),
    "next": ("Rating lists", "lists", "next_games", "Show the encounters that reduce the errors of a list most"),
    "rate": ("Rating lists", "rate", "rate", "Compute a rating list from PGN files"),
    "sprt": ("Rating lists", "match", "sprt", "Compute an SPRT and Elo from counts of games"),
    "lists": ("Rating lists", "lists", "lists", "List, define and show named rating lists"),
    "publish": ("Rating lists", "lists", "publish", "Publish an edition of a rating list"),
    "editions": ("Rating lists", "lists", "editions", "List the published editions"),
    "diff": ("Rating lists", "lists", "diff", "Compare two editions of a rating list"),
    "history": ("Rating lists", "lists", "history", "Show an engine's ratings, opponents and activity"),
    "withdraw": ("Change a tournament", "changing", "withdraw", "Withdraw an engine from a tournament"),
    "add": ("Change a tournament", "changing", "add", "Add an engine to a tournament"),
    "replace": ("Change a tournament", "changing", "replace", "Replace an engine with another one"),
    "void": ("Change a tournament", "changing", "void", "Void a game"),
    "import": ("Database", "database", "import_", "Import games from PGN files"),
    "imports": ("Database", "database", "imports", "List the imports"),
    "db": ("Database", "database", "db", "Check, repair, back up, copy or upgrade the database"),
}

# word that other programs use -> the commands that it may mean
SYNONYMS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("start", "play", "restart", "tournament"), ("run",)),
    **dict.fromkeys(("resume", "continue"), ("run", "unpause")),  # `run` after a stop, `unpause` after a pause
    **dict.fromkeys(("stop", "quit", "abort", "cancel", "kill"), ("finish",)),
    **dict.fromkeys(("remove", "delete"), ("withdraw", "void")),  # `withdraw` for an engine, `void` for a game
    **dict.fromkeys(("table", "results", "result", "score"), ("standings",)),
    **dict.fromkeys(("elo", "rating"), ("ratings",)),
    **dict.fromkeys(("pgn", "save"), ("export",)),
    **dict.fromkeys(("new", "create"), ("init",)),
    **dict.fromkeys(("validate", "test"), ("check",)),
    **dict.fromkeys(("web", "live"), ("serve",)),
    **dict.fromkeys(("predict", "eta"), ("forecast",)),
}

# Commands that start engines or reach a running tournament; the others work on each system that has Python.
NEED_LINUX = {"check", "match", "serve", "status"} | {
    name for name, (_, module, _, _) in COMMANDS.items() if module in ("changing", "engines", "run")
}

# previous name -> the present one; the previous names still work
PREVIOUS_COMMANDS = {"ladder": "bubble", "slots": "concurrency"}
PREVIOUS_OPTIONS = {"--slots": "--concurrency", "--place": "--executor"}


class _Formatter(click.HelpFormatter):
    """A formatter that shows the default of an option without the parentheses that click adds to texts."""

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        shown = [(name, re.sub(r"default: \((.+)\)(?=[];])", r"default: \1", text)) for name, text in rows]
        super().write_dl(shown, col_max, col_spacing)


class _Context(click.Context):
    formatter_class = _Formatter


def _with_context(command: click.Command) -> click.Command:
    command.context_class = _Context
    if "_ENGINETOUR_COMPLETE" in os.environ:
        from enginetour.cli.options import complete_names  # imported here: only the completion of a shell needs it

        complete_names(command)
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        _with_context(inner)
    return command


@contextmanager
def _ending_with_reader() -> Iterator[None]:
    """End the command with code 0 if the reader of its output has ended, as in ``| head``; click would use code 1."""
    try:
        yield
    except BrokenPipeError as error:
        ends = select.poll()
        ends.register(sys.stdout.fileno(), 0)
        if not ends.poll(0):  # a pipe to another process has broken
            raise storage_failure(error) from error
        # Print no traceback, not even when Python closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise click.exceptions.Exit(0) from None


class _Lazy(click.Group):
    """A group that imports the module of a command only when the command is used."""

    def make_context(self, *args: Any, **settings: Any) -> click.Context:
        with _ending_with_reader():
            return super().make_context(*args, **settings)

    def invoke(self, ctx: click.Context) -> Any:
        with _ending_with_reader():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        _, module, function, _ = COMMANDS[cmd_name]
        return _with_context(getattr(import_module(f"enginetour.cli.{module}"), function))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve the command, and replace previous names of commands and options."""
        _require_linux(PREVIOUS_COMMANDS.get(args[0], args[0]))
        name, command, rest = super().resolve_command(ctx, [_present_name(args[0], PREVIOUS_COMMANDS), *args[1:]])
        if name == "chart" and rest:
            rest = [_present_name(rest[0], PREVIOUS_COMMANDS), *rest[1:]]
        options = {option for param in command.params for option in param.opts} if command is not None else ()
        renamed = {old: new for old, new in PREVIOUS_OPTIONS.items() if new in options}
        end = rest.index("--") if "--" in rest else len(rest)
        return name, command, [*(_present_name(word, renamed) for word in rest[:end]), *rest[end:]]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        for name, (group, _, _, summary) in COMMANDS.items():
            groups.setdefault(group, []).append((name, summary))
        for group, rows in groups.items():
            with formatter.section(group):
                formatter.write_dl(rows)


def _require_linux(command: str) -> None:
    if command in NEED_LINUX and not sys.platform.startswith("linux"):
        step = "rate, ratings, report, pair, simulate and other commands that read results work here"
        raise UsageRefused(f"enginetour {command} needs Linux (found {sys.platform})", step=step)


def _present_name(word: str, renamed: Mapping[str, str]) -> str:
    """Return the word with a previous name replaced by the present one, also in ``--option=value``; print a note."""
    name, equals, value = word.partition("=")
    if name not in renamed:
        return word
    click.echo(f"note: {name} is now called {renamed[name]}; the previous name still works", err=True)
    return f"{renamed[name]}{equals}{value}"


def _version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    """Print the version, and whether the move loop is compiled; if it is not, fast games take more CPU time."""
    if asked:
        from enginetour.interop.compiled import native  # imported here: other commands do not need it

        click.echo(f"enginetour {__version__} (move loop in {'Python' if native is None else 'C'})")
        ctx.exit()


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version.")
def cli() -> None:
    """Play chess engine tournaments and compute rating lists.

    A configuration file describes a tournament. `enginetour run FILE` starts
    it. The same command resumes it after a stop or a crash.

    Exit codes: 0 finished, 1 internal error, 2 wrong usage, 3 invalid
    configuration or input file, 4 engine cannot play, 5 database busy or not
    usable, 6 incidents (--fail-on), 7 disk full, 8 stopped on request, 9 games
    left out (rate --strict), 10 pairings differ (pair --check-all), 129, 130
    or 143 stopped by a signal.
    """


def main() -> None:
    """Run the command line; print each error as one line on stderr and exit with its code."""
    # Linear algebra uses one thread, because a fit must not take processors from engines that play. Next to busy
    # engines, two threads also wait for each other: 112 ms instead of 0.2 ms for 200 unknowns (measured).
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # enginetour's models have no plugins; the search for them in all installed packages takes 3 ms (measured).
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    gc.set_threshold(GARBAGE)
    _open_closed_streams()
    try:
        code = cli(prog_name="enginetour", standalone_mode=False)
    except click.ClickException as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # without arguments; click has this class since version 8.2
            error.show()
        else:
            _print_error(_usage_error(error))
        code = error.exit_code
    except click.exceptions.Abort:
        code = 130
    except TourError as error:
        _print_error(error)
        code = error.exit_code
        if isinstance(error, SchemaOutdated) and sys.stdin.isatty() and sys.stderr.isatty():
            _offer_upgrade(error.address)
    except KeyboardInterrupt:
        code = 130
    except OSError as error:
        failure = storage_failure(error)
        _print_error(failure)
        code = failure.exit_code
    except Exception as error:
        if isinstance(error, UnicodeEncodeError) and (odd := _not_utf8(sys.argv)):
            _print_error(f"not UTF-8: {odd!r}")  # the database and the files of enginetour are UTF-8
            sys.exit(UsageRefused.exit_code)
        if os.environ.get("ENGINETOUR_DEBUG"):
            raise
        step = f"report it with the traceback in {kept_traceback()}"
        _print_error(TourError(f"internal error, {type(error).__name__}: {error}", step=step))
        code = 1
    gc.freeze()  # the process ends, and another search for cycles would take 14 ms after a list (measured)
    sys.exit(code if isinstance(code, int) else 0)


# The form of all usage errors: ``enginetour: PLACE: what is wrong (found VALUE). Hint: what to do.``


def _usage_error(error: click.ClickException) -> UsageRefused:
    ctx = getattr(error, "ctx", None)
    what, place = error.format_message(), ""
    command = [word for word in sys.argv[1:2] if word in COMMANDS]  # errors of the parser have no context
    step = f"see {' '.join(['enginetour', *command]) if ctx is None else ctx.command_path} --help"
    if isinstance(error, click.NoSuchOption):
        name, close = _unknown_option(error)
        what = f"unknown option {name}"
        step = _did_you_mean(close) or step
    elif ctx is not None and isinstance(ctx.command, click.Group) and what.startswith("No such command"):
        name = str(getattr(error, "command_name", error.message.strip(".").rpartition(" command ")[2].strip("'")))
        known = ctx.command.list_commands(ctx)
        near = closest_match(name, known)
        close = [*(SYNONYMS.get(name.casefold(), ()) if ctx.parent is None else ()), *([near] if near else [])]
        what = f"unknown command {name!r}"
        step = _did_you_mean(list(dict.fromkeys(close))) or step
    elif isinstance(error, click.MissingParameter):
        what = f"{_name_of(error.param, ctx)} is missing"
    elif isinstance(error, click.BadParameter):
        what, place = _value_error(error), _name_of(error.param, ctx)
    what = what.strip().removesuffix(".")
    if what[1:2].islower():  # a word, not a metavar
        what = what[0].lower() + what[1:]
    return UsageRefused(what, place=place, step=step)


def _did_you_mean(names: Sequence[str]) -> str:
    return f"did you mean {' or '.join(map(repr, names[:3]))}?" if names else ""


def _name_of(param: click.Parameter | None, ctx: click.Context | None) -> str:
    """Return an option with its dashes, or an argument as in the usage line."""
    if isinstance(param, click.Option):
        return max(param.opts, key=len)
    return "" if param is None or ctx is None else param.get_error_hint(ctx).strip("'[]. ")


def _value_error(error: click.BadParameter) -> str:
    """Return what is wrong with a value; describe ranges and choices in enginetour's standard phrases."""
    kind = error.param.type if error.param is not None else None
    if isinstance(kind, (click.IntRange, click.FloatRange)):
        value, out_of_range, _ = error.message.partition(" is not in the range ")
        if out_of_range:
            limits = f"between {kind.min} and {kind.max}" if kind.max is not None else f"at least {kind.min}"
            if kind.min_open:
                limits = f"above {kind.min}" + ("" if kind.max is None else f" and at most {kind.max}")
            return f"must be {limits} (found {value})"
    if isinstance(kind, click.Choice):
        value, not_one, _ = error.message.partition(" is not one of ")
        if not_one:
            return f"must be one of {', '.join(map(str, kind.choices))} (found {value})"
    return error.message.replace("valid integer range", "valid integer").replace("valid float range", "valid number")


def _unknown_option(error: click.NoSuchOption) -> tuple[str, list[str]]:
    """Return the option as the user wrote it, and similar options.

    click reads ``-games``, the form of other programs, as the option -g.
    """
    from difflib import get_close_matches  # imported here: the program starts faster without it

    ctx, name = error.ctx, error.option_name
    if ctx is None:
        return name, []
    known = [option for param in ctx.command.get_params(ctx) for option in param.opts if option.startswith("--")]
    typed = next((word for word in sys.argv[1:] if word.startswith(name) and len(word) > 2), "")
    if typed.startswith("-") and not typed.startswith("--"):
        return typed, get_close_matches(f"-{typed}", known)
    return name, get_close_matches(name, known)


def _print_error(error: object) -> None:
    """Print an error as one line on stderr; replace control characters, because it may quote names and files."""
    from enginetour.reports.sheet import safe_text

    line = " ".join(safe_text(f"enginetour: {error}").split())
    click.echo(line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 3]}...", err=True)


def _offer_upgrade(database: Any) -> None:
    """Ask the user whether to upgrade the database; if so, upgrade it and run the same command again."""
    from enginetour.store.backup import upgrade_database

    try:
        if not click.confirm("Upgrade it now? A backup is made first.", default=True, err=True):
            return
        made = upgrade_database(database)
    except click.exceptions.Abort:
        return
    except TourError as error:
        _print_error(error)
        return
    click.echo(f"{database}: schema {made.before} upgraded to {made.after}; backup: {made.backup}", err=True)
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606


def _open_closed_streams() -> None:
    """Open /dev/null for each standard stream that the caller closed (`>&-`).

    Otherwise, a database file would get the descriptor of the stream.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8", closefd=False))  # noqa: SIM115


def _not_utf8(words: Sequence[str]) -> str | None:
    """Return the first word with bytes that are not UTF-8; Python keeps such bytes as surrogates (PEP 383)."""
    return next((word for word in words if any("\ud800" <= character <= "\udfff" for character in word)), None)


def kept_traceback() -> str:
    """Write the current traceback to a new file and return the file's path."""
    import tempfile
    import traceback

    with tempfile.NamedTemporaryFile(
        "w", prefix="enginetour-failure-", suffix=".txt", delete=False, encoding="utf-8", errors="backslashreplace"
    ) as sink:
        traceback.print_exc(file=sink)
    return sink.name
