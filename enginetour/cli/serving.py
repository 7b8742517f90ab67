"""The live page: `enginetour serve`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from enginetour.cli.common import database_option, rows_of_others, say
from enginetour.model.errors import UsageRefused
from enginetour.store.address import Address

PORT = 8390
NICENESS = 10  # half a dozen engines that think go before a page: setpriority(2)
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
    from enginetour.tournament.config.workspace import database_of
    from enginetour.web import server
    from enginetour.web.app import site
    from enginetour.web.hall import Hall, Library
    from enginetour.web.server import LEAST_TOKEN, Guard

    made = secrets.token_urlsafe(24) if token == NEW else ""
    token = made or token or ""
    if token and len(token) < LEAST_TOKEN:
        raise UsageRefused(f"a token has {LEAST_TOKEN} signs or more", place="--token", step=f"--token {NEW} makes one")
    if not token and not server.is_loopback(host):
        what = "others can reach this address, so a page needs a token"
        raise UsageRefused(what, place=f"--host {host}", step=f"add --token {NEW}, or set ENGINETOUR_TOKEN")
    database = database_of(Path.cwd(), db)
    with rows_of_others(database):
        library = Library(database)
        listener = server.listening(host, port)
        failed = _tell_failure()
        hall = Hall(library, lambda words: say(words, err=True), failed)
        app = Guard(site(hall, library), hosts=(host, *names), token=token, failed=failed)
        shown = f"[{host}]" if ":" in host else host
        say(f"database {database}")
        say(f"http://{shown}:{listener.getsockname()[1]}/{f'?token={made}' if made else ''}   Ctrl-C ends it")
        os.nice(NICENESS)
        server.run(app, hall, listener)


def _tell_failure() -> Callable[[Exception], None]:
    """A failure of ours is told once, with the file that has its traceback."""
    told: set[str] = set()

    def failed(error: Exception) -> None:
        from enginetour.cli.main import kept_traceback

        words = f"{type(error).__name__}: {error}"
        if words not in told and len(told) < MOST_FAILURES:
            told.add(words)
            say(f"our own failure, {words}; where it happened: {kept_traceback()}; please report it", err=True)

    return failed
