"""`enginetour chart`: pictures for forums and pages, PNG or SVG."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginetour.cli.listoptions import list_options
from enginetour.cli.lists import ListSelection
from enginetour.cli.options import (
    PATH,
    F,
    TournamentChoice,
    open_store,
    picture_ending,
    put_picture,
    tournament_options,
)
from enginetour.model.errors import UsageRefused

if TYPE_CHECKING:
    from enginetour.reports.charts.canvas import Picture
    from enginetour.store.games import TournamentReader


def _picture(ctx: click.Context, param: click.Parameter, value: Path) -> Path:
    if ctx.resilient_parsing:  # a shell completes the line
        return value
    if picture_ending(value) is None:
        raise UsageRefused(f"{value} is no picture's name", place=param.opts[-1], step="end it in .png or .svg")
    if value.is_dir():
        raise UsageRefused(f"{value} is a folder", place=param.opts[-1], step="name a file in it")
    if not value.parent.is_dir():
        raise UsageRefused(f"there is no folder {value.parent}", place=param.opts[-1], step="make it first")
    return value


def _picture_options(command: F) -> F:
    """Add ``-o FILE`` as `output`, which is .png or .svg, and ``--title``."""
    words = "The picture: FILE.png or FILE.svg."
    output = click.option("-o", "--output", required=True, type=PATH, callback=_picture, help=words)
    return output(click.option("--title", metavar="TEXT", help="Above the picture, instead of its own.")(command))


def _of_log(draw: Callable[..., Picture]) -> Any:
    """Add the options of a picture; the function draws the tournament that is asked for from its log."""

    @wraps(draw)
    def drawn(chosen: TournamentChoice, output: Path, title: str | None, **given: Any) -> None:
        with chosen.open() as log:
            picture = draw(log, **given)
        put_picture(output, picture, title)

    return _picture_options(drawn)


@click.group()
def chart() -> None:
    """Pictures for forums and pages, PNG or SVG as the file's name ends.

    A PNG is light and twice as fine as it is wide; an SVG has real text.

    Example: enginetour chart ladder -t autumn-bubble -o ladder.png
    """


@chart.command(name="list")
@click.argument("list_name", metavar="[LIST]", required=False)
@tournament_options
@click.option("--all", "everything", is_flag=True, help="All tournaments of the store in one list.")
@click.option("--as-of", metavar="MOMENT", help="The list of then: a day, a time (UTC), 'edition N', 'game N'.")
@list_options
@_picture_options
def list_(
    list_name: str | None,
    chosen: TournamentChoice,
    everything: bool,
    as_of: str | None,
    output: Path,
    title: str | None,
    fields: dict[str, Any],
) -> None:
    """A rating list with error bars.

    Of LIST, a tournament, or the store, with the filters of `enginetour
    ratings`.

    Example: enginetour chart list --time-class blitz -o blitz.png
    """
    which = ListSelection(list_name, chosen, everything, as_of)
    if list_name is None and fields.get("system") not in (None, "ml"):
        step = "leave out --system, or enginetour chart history --system"
        raise UsageRefused("incremental ratings have no errors to draw", place="--system", step=step)
    from enginetour.reports.charts.lists import list_chart

    with open_store(chosen.db) as store:
        heading, found = which.rate(store, fields)
    put_picture(output, list_chart(found, heading), title)


@chart.command()
@tournament_options
@_of_log
def crosstable(log: TournamentReader) -> Picture:
    """Who did what against whom; blue is above half, orange below.

    Example: enginetour chart crosstable -o crosstable.png
    """
    from enginetour.reports.review import charts

    return charts.crosstable(log)


@chart.command()
@tournament_options
@click.option("--by", type=click.Choice(["games", "rounds"]), help="What runs to the right; default: what fits.")
@_of_log
def ladder(log: TournamentReader, by: str | None) -> Picture:
    """The bubble over time: who was in the section, parked, and out.

    Example: enginetour chart ladder -o ladder.svg
    """
    from enginetour.reports.review import charts

    return charts.ladder(log, by_games=None if by is None else by == "games")


@chart.command()
@click.argument("list_name", metavar="[LIST]", required=False)
@tournament_options
@click.option("--system", type=click.Choice(["elo", "gor", "egf", "egf2021"]), help="Ratings game by game, of -t.")
@click.option("--engine", "engines", multiple=True, metavar="NAME", help="Only this engine; repeat.")
@_picture_options
def history(
    list_name: str | None,
    chosen: TournamentChoice,
    system: str | None,
    engines: tuple[str, ...],
    output: Path,
    title: str | None,
) -> None:
    """Ratings over the editions of LIST, or game by game.

    Example: enginetour chart history blitz --engine "Toga II" -o toga.png

    Game by game: enginetour chart history --system elo -o elo.svg
    """
    from enginetour.reports.review import charts

    if (list_name is None) == (system is None):
        raise UsageRefused("give LIST for its editions, or --system for a tournament", step="enginetour lists")
    if list_name is not None and (chosen.name or chosen.edition):
        raise UsageRefused("a list names its tournaments itself", place="-t", step="leave it out")
    with open_store(chosen.db) as store:
        if list_name is not None:
            picture = charts.editions(store, list_name, engines)
        else:
            picture = charts.paths(store, chosen.log(store), system or "", engines)
    put_picture(output, picture, title)


@chart.command()
@click.argument("engines", metavar="[ENGINE]...", nargs=-1)
@tournament_options
@_of_log
def score(log: TournamentReader, engines: tuple[str, ...]) -> Picture:
    """Points above half, game by game.

    Of the best of the table, or of each ENGINE.

    Example: enginetour chart score -t autumn-swiss -o score.png
    """
    from enginetour.reports.review import charts

    return charts.scores(log, engines)


@chart.command()
@click.argument("engine")
@tournament_options
@_of_log
def opponents(log: TournamentReader, engine: str) -> Picture:
    """An engine's score against each opponent, by their ratings.

    Example: enginetour chart opponents "Toga II" -o toga.png
    """
    from enginetour.reports.review import charts

    return charts.opponents(log, engine)


@chart.command()
@tournament_options
@click.option(
    "--of",
    "kind",
    type=click.Choice(["white", "relay", "load"]),
    default="white",
    show_default=True,
    help="White's share, the referee's delays, the machine.",
)
@_of_log
def fairness(log: TournamentReader, kind: str) -> Picture:
    """Was it fair: White's share, the referee's delays, the load.

    Example: enginetour chart fairness --of relay -o relay.png
    """
    from enginetour.reports.review import charts

    return charts.fairness(log, kind)
