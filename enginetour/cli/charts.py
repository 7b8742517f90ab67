"""`enginetour chart`: pictures for forums and pages, PNG or SVG."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from enginetour.cli.common import choose_tournament, open_store, picture_ending, put_picture, tournament_options
from enginetour.cli.listoptions import given, list_options
from enginetour.model.errors import UsageRefused
from enginetour.store.address import Address

if TYPE_CHECKING:
    from enginetour.reports.charts.canvas import Picture
    from enginetour.store.games import TournamentReader


F = TypeVar("F", bound=Callable[..., Any])


def _picture_options(command: F) -> F:
    """``-o FILE`` as `output`, which is .png or .svg, and ``--title``."""
    title = click.option("--title", metavar="TEXT", help="Above the picture, instead of its own.")
    words = "The picture: FILE.png or FILE.svg."
    output = click.option(
        "-o", "--output", required=True, type=click.Path(path_type=Path), callback=_picture, help=words
    )
    return output(title(command))


def _of_log(draw: Callable[..., Picture]) -> Any:
    """Add the picture's options; the function draws the tournament that is asked for from its log."""

    @wraps(draw)
    def drawn(
        db: Address | None, name: str | None, edition: int | None, output: Path, title: str | None, **given: Any
    ) -> None:
        with open_store(db) as store:
            picture = draw(choose_tournament(store, name, edition), **given)
        put_picture(output, picture, title)

    return _picture_options(drawn)


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
    db: Address | None,
    name: str | None,
    edition: int | None,
    everything: bool,
    as_of: str | None,
    output: Path,
    title: str | None,
    **asked: Any,
) -> None:
    """A rating list with error bars.

    Of LIST, a tournament, or the store, with the filters of `enginetour
    ratings`.

    Example: enginetour chart list --time-class blitz -o blitz.png
    """
    from enginetour.cli.lists import ListSelection, requested_list

    which = ListSelection(list_name, name, edition, everything, as_of)
    if list_name is None and given(asked).get("system") not in (None, "ml"):
        step = "leave out --system, or enginetour chart history --system"
        raise UsageRefused("incremental ratings have no errors to draw", place="--system", step=step)
    from enginetour.reports.charts.lists import list_chart

    with open_store(db) as store:
        heading, found = requested_list(store, which, asked)
    put_picture(output, list_chart(found, heading), title)


@chart.command()
@tournament_options
@_of_log
def crosstable(log: TournamentReader) -> Picture:
    """Who did what against whom; blue is above half, orange below.

    Example: enginetour chart crosstable -o crosstable.png
    """
    from enginetour.reports.review import charts as posters

    return posters.crosstable(log)


@chart.command()
@tournament_options
@click.option("--by", type=click.Choice(["games", "rounds"]), help="What runs to the right; default: what fits.")
@_of_log
def ladder(log: TournamentReader, by: str | None) -> Picture:
    """The bubble over time: who was in the section, parked, and out.

    Example: enginetour chart ladder -o ladder.svg
    """
    from enginetour.reports.review import charts as posters

    return posters.ladder(log, by_games=None if by is None else by == "games")


@chart.command()
@click.argument("list_name", metavar="[LIST]", required=False)
@tournament_options
@click.option("--system", type=click.Choice(["elo", "gor", "egf", "egf2021"]), help="Ratings game by game, of -t.")
@click.option("--engine", "engines", multiple=True, metavar="NAME", help="Only this engine; repeat.")
@_picture_options
def history(
    list_name: str | None,
    db: Address | None,
    name: str | None,
    edition: int | None,
    system: str | None,
    engines: tuple[str, ...],
    output: Path,
    title: str | None,
) -> None:
    """Ratings over the editions of LIST, or game by game.

    Example: enginetour chart history blitz --engine "Toga II" -o toga.png

    Game by game: enginetour chart history --system elo -o elo.svg
    """
    from enginetour.reports.review import charts as posters

    if (list_name is None) == (system is None):
        raise UsageRefused("give LIST for its editions, or --system for a tournament", step="enginetour lists")
    if list_name is not None and (name or edition):
        raise UsageRefused("a list names its tournaments itself", place="-t", step="leave it out")
    with open_store(db) as store:
        if list_name is not None:
            picture = posters.editions(store, list_name, engines)
        else:
            picture = posters.paths(store, choose_tournament(store, name, edition), system or "", engines)
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
    from enginetour.reports.review import charts as posters

    return posters.scores(log, engines)


@chart.command()
@click.argument("engine")
@tournament_options
@_of_log
def opponents(log: TournamentReader, engine: str) -> Picture:
    """An engine's score against each opponent, by their ratings.

    Example: enginetour chart opponents "Toga II" -o toga.png
    """
    from enginetour.reports.review import charts as posters

    return posters.opponents(log, engine)


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
    from enginetour.reports.review import charts as posters

    return posters.fairness(log, kind)
