"""Commands report and serve: report pages for a browser, and the live page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from enginetour.cli.options import (
    PATH,
    TournamentChoice,
    config_home,
    database_option,
    open_store,
    rows_of_others,
    tournament_options,
)
from enginetour.cli.printing import echo
from enginetour.model.errors import TourError, UsageRefused
from enginetour.store.address import Address, database_of, report_of, results_of

if TYPE_CHECKING:
    from enginetour.store.games import TournamentReader


# `enginetour report`: HTML pages of a tournament or a list.


@click.command()
@click.argument("list_name", metavar="[LIST]", required=False)
@tournament_options
@click.option("-o", "--output", type=PATH, help="Folder, or FILE.html for all in one; default: beside the database.")
def report(list_name: str | None, chosen: TournamentChoice, output: Path | None) -> None:
    """A report to look at in a browser, from the disk and without network.

    Who is best and how sure that is, what happened, was it fair, what went
    wrong, what next; every game to replay. With LIST, one of `lists define`:
    the list, who is stronger than whom, editions, engines. A report that
    stands there already is replaced, anything else is refused.

    Example: enginetour report -t autumn -o ~/autumn

    Example: enginetour report blitz -o blitz.html
    """
    from enginetour.reports.review.write import list_report_dir, write_list_report, write_report

    if list_name is not None and (chosen.name or chosen.edition):
        raise click.UsageError("a list names its tournaments itself: leave out -t and --edition")
    with open_store(chosen.db) as store:
        place = store.database.path
        results = results_of(config_home(), place.resolve() if isinstance(place, Path) else place)
        if list_name is not None:
            written = write_list_report(store, list_name, output or list_report_dir(results, list_name))
        else:
            log = chosen.log(store)
            written = write_report(log, output or report_of(results, log.slug))
        echo(f"report: {written.start}")


class _StopRequested(Exception):
    """Whoever runs the tournament is in a hurry."""


def has_report(results: Path, log: TournamentReader) -> bool:
    """There is one where a run would write it."""
    return (report_of(results, log.slug) / "index.html").exists()


def outdate_report(results: Path, log: TournamentReader) -> None:
    """A run begins: until it ends the report that is there says that it is not up to date."""
    if has_report(results, log):
        from enginetour.reports.review.write import mark_outdated

        mark_outdated(report_of(results, log.slug))


def has_newest_report(results: Path, log: TournamentReader) -> bool:
    """There is one that was made after the newest event: a run that is killed while it makes one leaves the last."""
    try:
        return (report_of(results, log.slug) / "index.html").stat().st_mtime >= log.last_at
    except OSError:
        return False


def report_at_end(
    results: Path,
    log: TournamentReader,
    tell: Callable[[str], None],
    hurried: Callable[[], bool],
    again: str,
    suspended: Sequence[str],
) -> None:
    """What `run` leaves for the morning. Nothing of it may harm the run: what fails is told in a line."""
    from enginetour.reports.review.write import write_report

    def check_hurry() -> None:
        if hurried():
            raise _StopRequested

    try:
        check_hurry()
        folder = report_of(results, log.slug)
        written = write_report(log, folder, again=again, suspended=suspended, before_page=check_hurry)
        tell(f"report: {written.start}")
    except _StopRequested:
        tell("no report: stopped in a hurry; enginetour report writes it")
    except (OSError, TourError) as error:
        tell(f"no report: {error}")
    except Exception as error:  # ours; all games are in the store, and the run's exit code is about them
        tell(f"no report, our own failure, {type(error).__name__}: {error}; enginetour report tells where")


# `enginetour serve`: the live page.

PORT = 8390
_NICENESS = 10  # half a dozen engines that think go before a page: setpriority(2)
NEW = "new"
MOST_FAILURES = 20  # different ones that are told: a log is read by people


@click.command()
@database_option
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at; others need --token.")
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0: a free one.")
@click.option(
    "--token",
    envvar="ENGINETOUR_TOKEN",
    help='Secret of 16 signs or more, better in ENGINETOUR_TOKEN; "new" makes one.',
)
@click.option("--allow-host", "names", multiple=True, metavar="NAME", help="Another name under which it is reached.")
def serve(db: Address | None, host: str, port: int, token: str | None, names: tuple[str, ...]) -> None:
    """Show all tournaments of a database in the browser, running ones live.

    Boards, clocks, evaluations, standings and incidents follow the games; the
    pages of the report are there too. Nothing can be changed from a page. Needs
    the extra: pip install 'enginetour[web]'.

    Only this machine can see it. From elsewhere by ssh: ssh -L 8390:localhost:8390
    HOST. With --host 0.0.0.0 everybody who has the token can, without encryption.

    Example: enginetour serve

    Example: enginetour serve --host 0.0.0.0 --token new
    """
    import importlib.util
    import os
    import secrets

    if lacking := [name for name in ("starlette", "uvicorn") if importlib.util.find_spec(name) is None]:
        step = "pip install 'enginetour[web]'"
        raise UsageRefused(f"serve needs {' and '.join(lacking)}", step=step)
    from enginetour.web import server
    from enginetour.web.app import create_app
    from enginetour.web.hub import TournamentHub
    from enginetour.web.pages import DatabaseReader

    made = secrets.token_urlsafe(24) if token == NEW else ""
    token = made or token or ""
    if token and len(token) < server.MIN_TOKEN_LENGTH:
        what = f"a token has {server.MIN_TOKEN_LENGTH} signs or more"
        raise UsageRefused(what, place="--token", step=f"--token {NEW} makes one")
    if not token and not server.is_loopback(host):
        what = "others can reach this address, so a page needs a token"
        raise UsageRefused(what, place=f"--host {host}", step=f"add --token {NEW}, or set ENGINETOUR_TOKEN")
    database = database_of(Path.cwd(), db)
    with rows_of_others(database):
        reader = DatabaseReader(database)
        listener = server.open_socket(host, port)
        failed = _failure_reporter()
        hub = TournamentHub(reader, lambda words: echo(words, err=True), failed)
        app = server.RequestGuard(create_app(hub, reader), hosts=(host, *names), token=token, failed=failed)
        shown = f"[{host}]" if ":" in host else host
        echo(f"database {database}")
        echo(f"http://{shown}:{listener.getsockname()[1]}/{f'?token={made}' if made else ''}   Ctrl-C ends it")
        os.nice(_NICENESS)
        server.serve(app, hub, listener)


def _failure_reporter() -> Callable[[Exception], None]:
    """A failure of ours is told once, with the file that has its traceback."""
    reported: set[str] = set()

    def failed(error: Exception) -> None:
        from enginetour.cli.main import kept_traceback

        words = f"{type(error).__name__}: {error}"
        if words not in reported and len(reported) < MOST_FAILURES:
            reported.add(words)
            echo(f"our own failure, {words}; where it happened: {kept_traceback()}; please report it", err=True)

    return failed
