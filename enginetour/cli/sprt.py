"""`--sprt`: the sequential test of two engines over the games they have, in the store or in files."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from enginetour.cli.common import show

if TYPE_CHECKING:
    from enginetour.interop.gametags import Games
    from enginetour.ratings.sequential import Sprt
    from enginetour.store.log import TournamentLog
    from enginetour.store.tournaments import Store


Command = TypeVar("Command", bound=Callable[..., Any])
Asked = tuple[str, str, float, float]  # engine, opponent, elo0, elo1


def sprt_options(command: Command) -> Command:
    """The options of a test: `sprt`, `model`, `alpha`, `beta`, all None where they are not given."""
    options = (
        click.option(
            "--sprt",
            type=(str, str, float, float),
            metavar="A B ELO0 ELO1",
            help="No list: is A nearer ELO1 above B than ELO0? W/D/L, pairs, LLR, Elo, LOS, nElo.",
        ),
        click.option(
            "--sprt-model",
            "model",
            type=click.Choice(["logistic", "normalized", "bayesian"]),
            help="What ELO0 and ELO1 are: Elo (default), nElo, BayesElo.",
        ),
        click.option("--alpha", type=float, metavar="P", help="Chance of H1 when ELO0 is true, 0.05 unless told."),
        click.option("--beta", type=float, metavar="P", help="Chance of H0 when ELO1 is true, 0.05 unless told."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def asked_test(sprt: Asked | None, model: str | None, alpha: float | None, beta: float | None) -> Sprt | None:
    """The test that was asked for, None without ``--sprt``; UsageError where it cannot be made."""
    for word, value in (("--sprt-model", model), ("--alpha", alpha), ("--beta", beta)):
        if sprt is None and value is not None:
            raise click.UsageError(f"{word} belongs to --sprt")
    if sprt is None:
        return None
    from enginetour.ratings.sequential import ERROR, Sprt

    errors = (ERROR if alpha is None else alpha, ERROR if beta is None else beta)
    try:
        return Sprt(*sprt[2:], model or "logistic", *errors)  # type: ignore[arg-type]  # click has checked the model
    except ValueError as error:
        raise click.UsageError(f"--sprt: {error}") from None


def tell_test(
    store: Store, log: TournamentLog | None, engines: tuple[str, str], test: Sprt, *, as_json: bool, as_csv: bool
) -> None:
    """The test over the games of two engines in one tournament, or in the whole store without `log`.

    Pairs are looked at in the order of the schedule, as a match under the test looks at them.
    """
    from enginetour.store.games import meetings

    met = meetings(store.database, *engines, tournament=None if log is None else log.id)
    notes = [f"added up: {', '.join(versions)}" for versions in met.versions if len(versions) > 1]
    notes += [_unopened_told(*each) for each in met.unopened.items()]
    title = "all tournaments" if log is None else log.title
    value = {"versions": [list(versions) for versions in met.versions], "openings_not_kept": dict(met.unopened)}
    _tell(test, met.names, met.scheduled, title, notes, value, as_json=as_json, as_csv=as_csv)


def _unopened_told(title: str, games: int) -> str:
    """Of an import that was made before openings were kept."""
    from enginetour.reports.sheet import counted

    again = f"enginetour import --remove {shlex.quote(title)}, then import its files again"
    return f"{counted(games, 'game')} of {title} counted one by one: no openings were kept then; {again}"


def tell_file_test(
    files: Sequence[Path],
    games: Games,
    naming: Callable[[str], str | None],
    engines: tuple[str, str],
    test: Sprt,
    notes: Sequence[str],
    *,
    as_json: bool,
    as_csv: bool,
) -> None:
    """The test over the games of two engines in files, in their order."""
    from enginetour.interop.gamepairs import match_games, meant_engines

    engines = meant_engines(games, naming, engines)
    met = match_games(games, naming, *engines)
    value = {"files": list(map(str, files))}
    _tell(test, engines, met, ", ".join(path.name for path in files), notes, value, as_json=as_json, as_csv=as_csv)


def _tell(
    test: Sprt,
    engines: tuple[str, str],
    games: Sequence[tuple[Hashable, int]],
    title: str,
    notes: Sequence[str],
    value: Mapping[str, object],
    *,
    as_json: bool,
    as_csv: bool,
) -> None:
    from enginetour.ratings.sequential import match_test
    from enginetour.reports import sprt as sheets

    found = match_test(test, games)
    if as_csv:
        show(sheets.line(engines, found), as_json=False, as_csv=True)
        return
    sheet = sheets.story(f"{engines[0]} against {engines[1]} · {title}", engines, found, notes)
    show(sheet, as_json=as_json, as_csv=False, value={"engines": list(engines), **value, **found.to_json()})
