"""The command line. Nothing heavy is imported before a command runs: help and completion stay quick."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from enginetour import __version__
from enginetour.model.errors import SchemaOutdated, StorageFailed, TourError, UsageRefused, closest_match

LONGEST_LINE = 2000  # signs of a refusal: a screenful
GARBAGE = 20_000  # objects between two looks for garbage: at 700 a tenth of a start went into them (measured)
# command -> (group in the help, module, function, one line of help)
COMMANDS: dict[str, tuple[str, str, str, str]] = {
    "init": ("Set up", "setup", "init", "write a commented configuration to start from"),
    "engines": ("Set up", "engines", "engines", "list, find, add and check engines"),
    "systems": ("Set up", "setup", "systems", "the formats and their settings, with sources"),
    "check": ("Set up", "setup", "check", "validate a configuration, start every engine, tell the plan"),
    "run": ("Play", "run", "run", "start or resume a tournament"),
    "match": ("Play", "match", "match", "engines against each other, without a configuration"),
    "demo": ("Play", "run", "demo", "a small bubble tournament between the engines we ship"),
    "pair": ("Play", "pairing", "pair", "the next round of a tournament of another program"),
    "simulate": ("Play", "simulate", "simulate", "play formats without engines: games, accuracy"),
    "slots": ("Play", "changing", "slots", "more or fewer games at once, while running"),
    "machines": ("Play", "changing", "machines", "the machines of a cluster, while running"),
    "pause": ("Play", "changing", "pause", "let no game begin, while running"),
    "unpause": ("Play", "changing", "unpause", "let games begin again"),
    "finish": ("Play", "changing", "finish", "let the running games end, then the run"),
    "status": ("Read", "reading", "status", "progress, games in the air, estimate, incidents"),
    "standings": ("Read", "reading", "standings", "the table with tie-breaks"),
    "crosstable": ("Read", "reading", "crosstable", "who did what against whom"),
    "ladder": ("Read", "reading", "ladder", "the bubble's story: each decision with its reason"),
    "games": ("Read", "games", "games", "the games, or one of them with its moves"),
    "report": ("Read", "report", "report", "pages to look at in a browser: result, games, incidents"),
    "ratings": ("Read", "lists", "ratings", "a rating list from the store"),
    "chart": ("Read", "charts", "chart", "pictures for forums: list, crosstable, ladder, history"),
    "lists": ("Lists", "lists", "lists", "rating lists by name: define one, show what it takes"),
    "publish": ("Lists", "lists", "publish", "freeze a list as an edition"),
    "editions": ("Lists", "lists", "editions", "what was published of the lists"),
    "diff": ("Lists", "lists", "diff", "what moved between two editions, and why"),
    "history": ("Lists", "lists", "history", "an engine's ratings, opponents and days"),
    "rate": ("Read", "rate", "rate", "a rating list straight from PGN files"),
    "serve": ("Read", "report", "serve", "the live page: every tournament of a database in the browser"),
    "imports": ("Read", "imports", "imports", "what was imported, when and from which files"),
    "import": ("Change", "imports", "import_", "take the games of PGN files into the store"),
    "withdraw": ("Change", "changing", "withdraw", "take an engine out of a tournament"),
    "add": ("Change", "changing", "add", "let an engine join a tournament"),
    "replace": ("Change", "changing", "replace", "put another engine in the place of one"),
    "void": ("Change", "changing", "void", "strike out a game"),
    "export": ("Change", "games", "export", "games and results as pgn, csv or json"),
    "db": ("Keep", "database", "db", "check the database, copy it, bring it up to date"),
}


# what other programs call them -> the commands it may be
SYNONYMS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("start", "play", "restart", "tournament"), ("run",)),
    **dict.fromkeys(("resume", "continue"), ("run", "unpause")),  # after a stop, after a pause
    **dict.fromkeys(("stop", "quit", "abort", "cancel", "kill"), ("finish",)),
    **dict.fromkeys(("remove", "delete"), ("withdraw", "void")),  # an engine, a game
    "sprt": ("match",),
    **dict.fromkeys(("table", "results", "result", "score"), ("standings",)),
    **dict.fromkeys(("elo", "rating"), ("ratings",)),
    **dict.fromkeys(("pgn", "save"), ("export",)),
    **dict.fromkeys(("new", "create"), ("init",)),
    **dict.fromkeys(("validate", "test"), ("check",)),
    **dict.fromkeys(("web", "live"), ("serve",)),
}


class _Lazy(click.Group):
    """A group that knows its commands by name and imports one only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        _, module, function, _ = COMMANDS[cmd_name]
        found: click.Command = getattr(import_module(f"enginetour.cli.{module}"), function)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click, with the nearest command in the refusal."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = closest_match(args[0], COMMANDS)
            close = SYNONYMS.get(args[0].casefold()) or ((near,) if near else ())
            if not close:
                raise
            raise click.UsageError(f"{error.message} Did you mean {' or '.join(map(repr, close))}?", ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        drawers: dict[str, list[tuple[str, str]]] = {}
        for name, (drawer, _, _, words) in COMMANDS.items():
            drawers.setdefault(drawer, []).append((name, words))
        for drawer, rows in drawers.items():
            with formatter.section(drawer):
                formatter.write_dl(rows)


def _version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    """Ours, and whether plies are compiled here: who has no C compiler wonders why another machine is quicker."""
    if asked:
        from enginetour.referee.compiled import native  # nobody else in this process needs it

        click.echo(f"enginetour {__version__}, plies in {'Python' if native is None else 'C'}")
        ctx.exit()


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version.")
def cli() -> None:
    """Leave a field of chess engines alone overnight, find a rating list you can trust.

    One file describes a tournament, `enginetour run FILE` starts it, and the
    same command resumes it after any stop.

    Exit codes: 0 all played, 1 our failure, 2 usage, 3 input refused, 4 engine
    refused, 5 store busy or unusable, 6 incidents (--fail-on), 7 storage full,
    8 stopped as asked, 9 games left out (rate --strict), 129, 130, 143 stopped by a signal.
    """


def main() -> None:
    """Run the command line; every refusal is one line on stderr and its exit code."""
    # One thread for linear algebra: a fit must not take the processors of the engines that play, and beside them two
    # threads wait for each other: 112 ms for 200 unknowns, alone 0.2 (measured).
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Nothing plugs into our models; to look for what might, among all packages there are, takes 3 ms (measured).
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    gc.set_threshold(GARBAGE)
    _open_the_closed()
    try:
        code = cli(standalone_mode=False)
    except click.ClickException as error:
        _cleaned(_spelt(error)).show()
        code = error.exit_code
    except click.exceptions.Abort:
        code = 130
    except TourError as error:
        _complain(error)
        code = error.exit_code
        if isinstance(error, SchemaOutdated) and sys.stdin.isatty() and sys.stderr.isatty():
            _offer_upgrade(error.address)
    except BrokenPipeError:
        # The reader has gone (`| head`): no traceback, and none at shutdown either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except KeyboardInterrupt:
        code = 130
    except OSError as error:
        refused = StorageFailed(error.strerror or str(error), place=str(error.filename or ""))
        _complain(refused)
        code = refused.exit_code
    except Exception as error:  # our own failure: one line here, the traceback where asked
        if isinstance(error, UnicodeEncodeError) and (odd := _not_utf8(sys.argv)):
            _complain(f"not UTF-8: {odd!r}")  # the store and files of ours hold nothing else
            sys.exit(UsageRefused.exit_code)
        if os.environ.get("ENGINETOUR_DEBUG"):
            raise
        _complain(f"our own failure, {type(error).__name__}: {error}")
        click.echo(f"where it happened: {kept_traceback()}; please report it", err=True)
        code = 1
    gc.freeze()  # the process ends: to look for cycles once more takes 14 ms after a list (measured)
    sys.exit(code if isinstance(code, int) else 0)


def _offer_upgrade(database: Any) -> None:
    """Upgrade a database if the user agrees, and run the same command again."""
    from enginetour.store.backup import upgrade_database

    try:
        if not click.confirm("Upgrade it now? A backup is made first.", default=True, err=True):
            return
        made = upgrade_database(database)
    except click.exceptions.Abort:
        return
    except TourError as error:
        _complain(error)
        return
    click.echo(f"{database}: schema {made.before} upgraded to {made.after}; backup: {made.backup}", err=True)
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606


def _open_the_closed() -> None:
    """Streams closed before we were started (`>&-`) go nowhere; else the database would take their numbers."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8", closefd=False))  # noqa: SIM115


def _spelt(error: click.ClickException) -> click.ClickException:
    """For `-games`, as other runners write it, the option that was meant: click reads one of letters, `-g`."""
    if not isinstance(error, click.NoSuchOption) or error.ctx is None:
        return error
    known = {option for param in error.ctx.command.params for option in param.opts if option.startswith("--")}
    typed = next((word for word in sys.argv[1:] if word.startswith(error.option_name) and len(word) > 2), "")
    if typed.startswith("--") or f"-{typed}" not in known:
        return error
    return click.NoSuchOption(typed, possibilities=[f"-{typed}"], ctx=error.ctx)


def _cleaned(error: click.ClickException) -> click.ClickException:
    """The same refusal, what was typed in it as text."""
    message = error.format_message()
    words = "\n".join(map(_safe, message.split("\n")))
    return error if words == message else click.UsageError(words, getattr(error, "ctx", None))


def _complain(error: object) -> None:
    """One line on stderr, whatever names and files of others are quoted in it."""
    line = " ".join(_safe(f"enginetour: {error}").split())
    click.echo(line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 3]}...", err=True)


def _safe(words: str) -> str:
    from enginetour.reports.sheet import safe_text as safe

    return safe(words)


def _not_utf8(words: Sequence[str]) -> str | None:
    """The first word with bytes that are no UTF-8: Python keeps them as halves of surrogate pairs (PEP 383)."""
    return next((word for word in words if any("\ud800" <= sign <= "\udfff" for sign in word)), None)


def kept_traceback() -> str:
    """Write the traceback being handled to a file of its own; its path."""
    import tempfile
    import traceback

    with tempfile.NamedTemporaryFile(
        "w", prefix="enginetour-failure-", suffix=".txt", delete=False, encoding="utf-8", errors="backslashreplace"
    ) as sink:
        traceback.print_exc(file=sink)
    return sink.name
