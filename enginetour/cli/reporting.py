"""`enginetour report`: the pages of a tournament, or of a list, to look at in a browser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from enginetour.cli.common import chosen, home, open_store, say, tournament_options
from enginetour.model.errors import TourError
from enginetour.store.address import Address
from enginetour.tournament.config.workspace import report_of

if TYPE_CHECKING:
    from enginetour.store.games import TournamentReader
    from enginetour.store.tournaments import Store


@click.command()
@click.argument("list_name", metavar="[LIST]", required=False)
@tournament_options
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Folder, or FILE.html for all in one; default: beside the database.",
)
def report(
    list_name: str | None, db: Address | None, name: str | None, edition: int | None, output: Path | None
) -> None:
    """A report to look at in a browser, from the disk and without network.

    Who is best and how sure that is, what happened, was it fair, what went
    wrong, what next; every game to replay. With LIST, one of `lists define`:
    the list, who is stronger than whom, editions, engines. A report that
    stands there already is replaced, anything else is refused.

    Example: enginetour report -t autumn -o ~/autumn

    Example: enginetour report blitz -o blitz.html
    """
    from enginetour.reports.review.write import list_folder, write_list_report, write_report

    if list_name is not None and (name or edition):
        raise click.UsageError("a list names its tournaments itself: leave out -t and --edition")
    with open_store(db) as store:
        if list_name is not None:
            target = output or list_folder(_results(store), list_name)
            say(f"report: {write_list_report(store, list_name, target).start}")
            return
        log = chosen(store, name, edition)
        target = output or report_of(_results(store), log.slug)
        written = write_report(log, target)
        say(f"report: {written.start}")


def _results(store: Store) -> Path:
    """The folder of the database; where that is on a server, the usual one of this workspace."""
    from enginetour.tournament.config.workspace import results_of

    place = store.database.path
    return results_of(home(), place.resolve() if isinstance(place, Path) else place)


class _Hurried(Exception):
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

    def heed() -> None:
        if hurried():
            raise _Hurried

    try:
        heed()
        written = write_report(log, report_of(results, log.slug), again=again, suspended=suspended, heed=heed)
        tell(f"report: {written.start}")
    except _Hurried:
        tell("no report: stopped in a hurry; enginetour report writes it")
    except (OSError, TourError) as error:
        tell(f"no report: {error}")
    except Exception as error:  # ours; all games are in the store, and the run's exit code is about them
        tell(f"no report, our own failure, {type(error).__name__}: {error}; enginetour report tells where")
