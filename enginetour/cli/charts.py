"""`enginetour chart`: charts as PNG or SVG files."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginetour.cli.listoptions import SystemChoice, list_options
from enginetour.cli.lists import ListSelection, all_option, as_of_option
from enginetour.cli.options import (
    PATH,
    F,
    TournamentChoice,
    many_option,
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
    if ctx.resilient_parsing:  # the command line is only completed for a shell, so the file is not checked
        return value
    if picture_ending(value) is None:
        what = f"unsupported image format {value.suffix!r} (found {value})"
        raise UsageRefused(what, place=param.opts[-1], step="use .png or .svg")
    if value.is_dir():
        raise UsageRefused(f"{value} is a directory", place=param.opts[-1], step="name a file in it")
    if not value.parent.is_dir():
        raise UsageRefused(f"directory {value.parent} does not exist", place=param.opts[-1], step="create it first")
    return value


def _picture_options(command: F) -> F:
    """Add the options ``-o FILE`` (the image file to write) and ``--title TEXT``."""
    words = "Image file to write, .png or .svg."
    output = click.option("-o", "--output", required=True, type=PATH, metavar="FILE", callback=_picture, help=words)
    title = click.option(
        "--title", metavar="TEXT", show_default="depends on the kind of chart", help="Title of the chart."
    )
    return output(title(command))


def _of_log(draw: Callable[..., Picture]) -> Any:
    """Add the options of a chart to a command. `draw` draws the chart from the log of the selected tournament."""

    @wraps(draw)
    def drawn(chosen: TournamentChoice, output: Path, title: str | None, **given: Any) -> None:
        with chosen.open() as log:
            picture = draw(log, **given)
        put_picture(output, picture, title)

    return _picture_options(drawn)


@click.group()
def chart() -> None:
    """Draw charts as PNG or SVG files.

    The ending of the file name selects the format.

    Example: enginetour chart bubble -t autumn-bubble -o bubble.png
    """


@chart.command(name="list")
@click.argument("list_name", metavar="[LIST]", required=False)
@tournament_options
@all_option
@as_of_option
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
    """Draw a rating list with error bars.

    Draws LIST, a tournament, or the whole database. The filters are the same
    as in `enginetour ratings`.

    Example: enginetour chart list --time-class blitz -o blitz.png
    """
    which = ListSelection(list_name, chosen, everything, as_of)
    if list_name is None and fields.get("system") not in (None, "ml"):
        step = "omit --system, or use enginetour chart history --system"
        raise UsageRefused("incremental ratings have no error bars", place="--system", step=step)
    from enginetour.reports.charts.lists import list_chart

    with open_store(chosen.db) as store:
        heading, found = which.rate(store, fields)
    put_picture(output, list_chart(found, heading), title)


@chart.command()
@tournament_options
@_of_log
def crosstable(log: TournamentReader) -> Picture:
    """Draw the head-to-head results of all entrants.

    Scores above one half are blue, scores below are orange.

    Example: enginetour chart crosstable -o crosstable.png
    """
    from enginetour.reports.review import charts

    return charts.crosstable(log)


@chart.command()
@tournament_options
@click.option(
    "--by",
    type=click.Choice(["games", "rounds"]),
    show_default="games if there is room for them",
    help="Unit of the x-axis.",
)
@_of_log
def bubble(log: TournamentReader, by: str | None) -> Picture:
    """Draw the history of a bubble: section, parking and drop-outs.

    Example: enginetour chart bubble -o bubble.svg
    """
    from enginetour.reports.review import charts

    return charts.bubble(log, by_games=None if by is None else by == "games")


@chart.command()
@click.argument("list_name", metavar="[LIST]", required=False)
@tournament_options
@click.option(
    "--system",
    type=SystemChoice(["elo", "gor", "egf", "egf2021"]),
    help="Draw the ratings of a tournament game by game, in this rating system.",
)
@many_option("--engine", "engines", metavar="NAME", help="Draw only this engine.")
@_picture_options
def history(
    list_name: str | None,
    chosen: TournamentChoice,
    system: str | None,
    engines: tuple[str, ...],
    output: Path,
    title: str | None,
) -> None:
    """Draw ratings over the editions of LIST, or game by game.

    Example: enginetour chart history blitz --engine "Toga II" -o toga.png

    Example: enginetour chart history --system elo -o elo.svg
    """
    from enginetour.reports.review import charts

    if (list_name is None) == (system is None):
        found = "none" if list_name is None else "both"
        step = "name a LIST to draw its editions, or use --system to draw a tournament"
        raise UsageRefused(f"needs either LIST or --system (found {found})", step=step)
    if list_name is not None and (chosen.name or chosen.edition):
        raise UsageRefused("cannot be combined with LIST, because a list defines its tournaments", place="-t")
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
    """Draw each engine's points above 50 %, game by game.

    Draws each ENGINE, or the best entrants if none is given.

    Example: enginetour chart score -t autumn-swiss -o score.png
    """
    from enginetour.reports.review import charts

    return charts.scores(log, engines)


@chart.command()
@click.argument("engine")
@tournament_options
@_of_log
def opponents(log: TournamentReader, engine: str) -> Picture:
    """Draw an engine's score by the rating of each opponent.

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
    help="What to draw: white (White's score), relay (the referee's latency) or load (the load of the machine).",
)
@_of_log
def fairness(log: TournamentReader, kind: str) -> Picture:
    """Draw White's score, latency or load, to judge the fairness.

    Example: enginetour chart fairness --of relay -o relay.png
    """
    from enginetour.reports.review import charts

    return charts.fairness(log, kind)
