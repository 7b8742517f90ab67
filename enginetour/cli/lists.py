"""`enginetour ratings`: a list from the store, or the sequential test of two engines."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from enginetour.cli.common import chosen, open_store, output_options, show, tournament_options
from enginetour.cli.sprt import asked_test, sprt_options, tell_test
from enginetour.errors import UsageRefused

if TYPE_CHECKING:
    from enginetour.store.log import TournamentLog


@click.command()
@tournament_options
@output_options
@click.option(
    "--system",
    type=click.Choice(["ml", "elo", "gor", "egf", "egf2021"]),
    default="ml",
    show_default=True,
    help="Maximum likelihood, Elo, Czech GoR, EGF GoR.",
)
@click.option("--anchor", "anchors", multiple=True, metavar="NAME=RATING", help="Fix an engine's rating; repeat.")
@click.option("--all", "everything", is_flag=True, help="All tournaments of the store in one list.")
@sprt_options
def ratings(
    db: Path | None,
    name: str | None,
    edition: int | None,
    as_json: bool,
    as_csv: bool,
    system: str,
    anchors: tuple[str, ...],
    everything: bool,
    sprt: tuple[str, str, float, float] | None,
    model: str | None,
    alpha: float | None,
    beta: float | None,
) -> None:
    """The rating list of a tournament or the whole store, or a test of two.

    Example: enginetour ratings --anchor "Fruit 2.1=2784"

    A sequential test: enginetour ratings --all --sprt "Toga II" Fruit 0 5
    """
    from enginetour.cli import tell
    from enginetour.ratings.listing import rating_list
    from enginetour.reports import ratings as sheets
    from enginetour.store.lists import counted_pairs, ratings_of, refresh

    fixed = dict(_anchor(words) for words in anchors)
    if fixed and system != "ml":
        raise click.UsageError("--anchor is for --system ml")
    test = asked_test(sprt, model, alpha, beta)
    if sprt is not None and (fixed or system != "ml"):
        raise click.UsageError("--sprt makes no list: leave out --anchor and --system")
    with open_store(db, change=system != "ml") as store:
        log = None if everything else chosen(store, name, edition)
        if sprt is not None and test is not None:
            tell_test(store, log, sprt[:2], test, as_json=as_json, as_csv=as_csv)
            return
        if log is not None:
            _refuse_strangers(fixed, log)
        title = "all tournaments" if log is None else log.title
        if system == "ml":
            found = (
                rating_list(counted_pairs(store), anchors=fixed)
                if log is None
                else tell.tournament_list(log, fixed or log.config["ratings"]["anchor"])
            )
            sheet = sheets.likelihood(f"ratings · {title}", found)
            show(sheet, as_json=as_json, as_csv=as_csv, value=found.to_json())
            return
        refresh(store, system)
        known = ratings_of(store, system)
        if log is not None:
            known = tell.of_tournament(log, known)
        sheet = sheets.incremental(f"{tell.SYSTEM_NAMES[system]} · {title}", known)
        show(sheet, as_json=as_json, as_csv=as_csv, value={"list": [dict(row) for row in sheet.rows], "model": system})


def _refuse_strangers(fixed: dict[str, float], log: TournamentLog) -> None:
    from enginetour.tomlplace import near

    for name in fixed:
        if name not in log.specs:
            raise UsageRefused(f"{name!r} is not in {log.title}{near(name, log.specs)}", place="--anchor")


def _anchor(words: str) -> tuple[str, float]:
    name, equals, rating = words.rpartition("=")
    try:
        if not equals or not name or not math.isfinite(float(rating)):
            raise ValueError
        return name, float(rating)
    except ValueError:
        raise click.UsageError(f"--anchor takes NAME=RATING, found {words!r}") from None
