"""Commands report, site and serve: HTML reports, the site of a league, and the live page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from enginetour.cli.options import (
    TournamentChoice,
    config_home,
    count_option,
    database_option,
    many_option,
    open_store,
    output_path_option,
    tournament_options,
    without_collecting,
)
from enginetour.cli.printing import echo
from enginetour.model.errors import UsageRefused
from enginetour.store.address import Address, existing_database, report_of, results_of, rows_of_others

if TYPE_CHECKING:
    from enginetour.store.tournaments import Store


@click.command()
@click.argument("list_name", metavar="[LIST]", required=False)
@tournament_options
@output_path_option(
    "Directory for the pages, or FILE.html for a single file.", metavar="PATH", show_default="next to the database"
)
@without_collecting()
def report(list_name: str | None, chosen: TournamentChoice, output: Path | None) -> None:
    """Write an HTML report of a tournament, or of the rating list LIST.

    The report of a tournament has ratings, results, fairness, incidents,
    advice and all games. The report of a list has ratings, comparisons,
    editions and engines. A browser can show the pages without a network. An
    existing report is replaced.

    Example: enginetour report -t autumn -o ~/autumn

    Example: enginetour report blitz -o blitz.html
    """
    from enginetour.reports.review.write import list_report_dir, write_list_report, write_report

    if list_name is not None and (chosen.name or chosen.edition):
        raise UsageRefused("cannot be combined with LIST, because a list defines its tournaments", place="-t")
    with open_store(chosen.db) as store:
        results = _results(store)
        if list_name is not None:
            start = write_list_report(store, list_name, output or list_report_dir(results, list_name))
        else:
            log = chosen.log(store)
            start = write_report(log, output or report_of(results, log.slug))
        echo(f"report: {start}")


@click.command()
@click.option("--league", metavar="NAME", show_default="that with the newest season", help="Name of the league.")
@database_option
@output_path_option("Directory for the pages.", metavar="DIR", show_default="next to the database")
@click.option(
    "--url", default="", metavar="URL", help="Address at which the site is published, for the links of the feeds."
)
def site(league: str | None, db: Address | None, output: Path | None, url: str) -> None:
    """Write the site of a league: seasons, engines, ratings, games, feeds.

    The site can be published as it is, and a browser can show it from disk.
    If the directory contains the site, only files that change are written.

    Example: enginetour site

    Example: enginetour site -o ~/public_html --url https://example.org/chess
    """
    from enginetour.reports.site.write import site_dir, write_site
    from enginetour.store.seasons import league_of

    if url and not url.startswith(("http://", "https://")):
        raise UsageRefused(f"{url!r} is not a valid URL", place="--url", step="begin it with https://")
    with without_collecting(), open_store(db) as store:
        name = league_of(store, league)
        base = f"{url.rstrip('/')}/" if url else ""
        written = write_site(store, name, output or site_dir(_results(store), name), base=base)
        echo(f"site: {written.start} ({written.changed:,} of {written.files:,} files have changed)")


def _results(store: Store) -> Path:
    """Return the directory of the results next to the database."""
    place = store.database.path
    return results_of(config_home(), place.resolve() if isinstance(place, Path) else place)


PORT = 8390
_NICENESS = 10  # engines get processors before the pages do: setpriority(2)
NEW = "new"
MOST_FAILURES = 20  # number of different internal errors that are printed, so that the output stays readable


@click.command()
@database_option
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen on; other addresses need --token."
)
@count_option("--port", least=0, most=65535, default=PORT, show_default=True, help="TCP port; 0 selects a free one.")
@click.option(
    "--token",
    envvar="ENGINETOUR_TOKEN",
    show_envvar=True,
    metavar="TEXT",
    help='Access token, at least 16 characters; "new" generates one.',
)
@many_option("--allow-host", "names", metavar="NAME", help="Another host name of this server.")
def serve(db: Address | None, host: str, port: int, token: str | None, names: tuple[str, ...]) -> None:
    """Show all tournaments of a database live in the browser.

    Shows boards, clocks, evaluations, standings, incidents and reports. The
    pages cannot change anything. Install the packages for this command with
    pip install 'enginetour[web]'.

    Only this machine can open the pages. From another machine, use ssh -L
    8390:localhost:8390 HOST. With --host 0.0.0.0, everyone who has the token
    can open them from other machines, without encryption.

    Programs get the same data as JSON and PGN from addresses that begin with
    /api/v1; openapi.json there lists them.

    Example: enginetour serve

    Example: enginetour serve --host 0.0.0.0 --token new
    """
    import importlib.util
    import os
    import secrets

    if lacking := [
        name for name in ("fastapi", "httptools", "starlette", "uvicorn") if importlib.util.find_spec(name) is None
    ]:
        step = "run pip install 'enginetour[web]'"
        raise UsageRefused(f"{' and '.join(lacking)} not found", place="serve", step=step)
    from enginetour.web import server
    from enginetour.web.app import create_app
    from enginetour.web.hub import TournamentHub
    from enginetour.web.pages import DatabaseReader

    made = secrets.token_urlsafe(24) if token == NEW else ""
    token = made or token or ""
    if token and len(token) < server.MIN_TOKEN_LENGTH:
        what = f"must have at least {server.MIN_TOKEN_LENGTH} characters (found {len(token)})"
        raise UsageRefused(what, place="--token", step=f"generate a token with --token {NEW}")
    if not token and not server.is_loopback(host):
        what = "needs a token, because other machines can reach this address"
        raise UsageRefused(what, place=f"--host {host}", step=f"add --token {NEW}, or set ENGINETOUR_TOKEN")
    database = existing_database(Path.cwd(), db)
    with rows_of_others(database):
        reader = DatabaseReader(database)
        listener = server.open_socket(host, port)
        failed = _failure_reporter()
        hub = TournamentHub(reader, lambda text: echo(text, err=True), failed)
        app = create_app(hub, reader)
        guard = server.RequestGuard(app, hosts=(host, *names), token=token, failed=failed)
        shown = f"[{host}]" if ":" in host else host
        echo(f"database {database}")
        echo(f"http://{shown}:{listener.getsockname()[1]}/{f'?token={made}' if made else ''}   (stop with Ctrl-C)")
        os.nice(_NICENESS)
        server.serve(guard, hub, listener)


def _failure_reporter() -> Callable[[Exception], None]:
    """Return a function that prints each internal error once, with the file of its traceback."""
    reported: set[str] = set()

    def failed(error: Exception) -> None:
        from enginetour.cli.main import kept_traceback

        text = f"{type(error).__name__}: {error}"
        if text not in reported and len(reported) < MOST_FAILURES:
            reported.add(text)
            step = f"report it with the traceback in {kept_traceback()}"
            echo(f"internal error, {text}. Hint: {step}.", err=True)

    return failed
