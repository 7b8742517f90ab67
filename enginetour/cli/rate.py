"""`enginetour rate`: a list straight from PGN files, without a store."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from enginetour.cli.common import output_options, say, width
from enginetour.cli.display import Display, asked_errors, display_options, present
from enginetour.cli.gamefiles import left_out_told, reading_bar, tell_broken, without_collecting
from enginetour.cli.listoptions import number, ratings
from enginetour.cli.memory import keep_memory
from enginetour.errors import InputRefused, UsageRefused
from enginetour.reports.sheet import PLAIN_WIDTH

if TYPE_CHECKING:
    from enginetour.interop.selection import LeftOut
    from enginetour.interop.tally import Tally
    from enginetour.ratings.likelihood import ModelName

FEW_NAMED = 10  # engines in a note


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE.pgn...", type=click.Path(path_type=Path))
@output_options
@display_options
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File to write: .csv, .json, else text.")
@click.option(
    "--model",
    type=click.Choice(["logistic", "davidson", "raokupper"]),
    default="logistic",
    show_default=True,
    help="Draws as half a win (Ordo), by Davidson, or BayesElo's.",
)
@click.option(
    "--anchor",
    "anchors",
    multiple=True,
    metavar="NAME=ELO",
    callback=ratings,
    help="Fix an engine's rating; repeat.",
)
@click.option("--average", metavar="ELO", callback=number, help="Average of each pool; default 0, or by the anchors.")
@click.option("--advantage", default="0", metavar="ELO|fit", callback=number, help="White's advantage; default 0.")
@click.option(
    "--scale", default="400", metavar="POINTS", callback=number, help="Points at ten to one; Ordo's are 403.514."
)
@click.option(
    "--prior",
    type=click.Choice(["auto", "none"]),
    default="auto",
    show_default=True,
    help="Where games bound no rating: a wide Gaussian, or groups apart.",
)
@click.option("--aliases", type=click.Path(path_type=Path), help='Lines of "name","alias","alias".')
@click.option("--include", multiple=True, metavar="GLOB", help="Only games between such engines; repeat.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="No games of such engines; repeat.")
@click.option("--errors-for", multiple=True, metavar="GLOB", help="Whose errors, in pools of over 4,000; repeat.")
@click.option("--min-games", type=click.IntRange(min=0), default=0, help="Leave out engines with fewer games.")
@without_collecting()
def rate(
    files: tuple[Path, ...],
    as_json: bool,
    as_csv: bool,
    display: Display,
    output: Path | None,
    model: ModelName,
    anchors: tuple[tuple[str, float], ...],
    scale: float,
    average: float | None,
    advantage: float | Literal["fit"],
    prior: Literal["auto", "none"],
    aliases: Path | None,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    errors_for: tuple[str, ...],
    min_games: int,
) -> None:
    """The rating list of PGN files (also .gz), by maximum likelihood.

    A game needs the tags White, Black and Result; moves are not read. What
    cannot be counted is told with file and line.

    Example: enginetour rate night.pgn --anchor "Fruit 2.1=2784"
    """
    if output is not None:
        as_json, as_csv = as_json or output.suffix == ".json", as_csv or output.suffix == ".csv"
    display.check(as_json=as_json, as_csv=as_csv)
    fixed = {name: rating for name, rating in anchors if name}
    if fixed and average is not None:
        raise click.UsageError("--anchor gives the level already; leave out --average")
    if output is not None and output.is_dir():
        raise UsageRefused(f"{output} is a folder", place="--output", step="name a file in it")
    if output is not None and any(_same(output, path) for path in files):
        raise UsageRefused(f"{output} is one of the games' files", place="--output", step="choose another name")
    from enginetour.interop.aliases import read_aliases
    from enginetour.interop.pgnscan import scan

    keep_memory()
    known = read_aliases(aliases) if aliases else {}
    with reading_bar(files) as progress:
        tally = scan(files, progress)
    tell_broken(tally)
    from enginetour.interop.selection import select
    from enginetour.ratings.listing import rating_list

    pairs, left = select(tally, aliases=known, include=include, exclude=exclude, min_games=min_games)
    if not len(pairs.games):
        raise InputRefused(f"no game to rate; left out: {left_out_told(left)}", place=", ".join(map(str, files)))
    _refuse_strangers(fixed, pairs.names)
    found = rating_list(
        pairs,
        model=model,
        prior=prior,
        anchors=fixed,
        advantage=advantage,
        scale=scale,
        mean=average,
        errors_for=asked_errors(errors_for, pairs),
        skipped=left.games,
    )
    value = {
        "files": list(map(str, files)),
        "left_out": {**asdict(left), "games": left.games},
        "broken": [{"place": place, "why": why} for place, why in tally.broken],
    }
    room = width() if output is None else PLAIN_WIDTH
    text = present(
        found, pairs, display, room=room, as_json=as_json, as_csv=as_csv, value=value, notes=_notes(tally, left)
    )
    if output is None:
        click.echo(text, nl=False)
        return
    _write(output, text)
    say(f"{output} written: {len(found.rows):,} engines, {found.games:,} games", err=True)


def _notes(tally: Tally, left: LeftOut) -> list[str]:
    """What was left out or read in another way."""
    notes = []
    if left.games:
        notes.append(f"games left out: {left_out_told(left)}")
    if left.engines:
        notes.append(f"too few games: {', '.join(left.engines[:FEW_NAMED])}{', ...' * (len(left.engines) > FEW_NAMED)}")
    if tally.latin:
        notes.append(f"{tally.latin} names are not UTF-8 and were read as Latin-1")
    return notes


def _refuse_strangers(fixed: dict[str, float], names: tuple[str, ...]) -> None:
    from difflib import get_close_matches

    for name in fixed:
        if name not in names:
            close = get_close_matches(name, names, n=1)
            raise UsageRefused(
                f"{name!r} has no games here{f', did you mean {close[0]!r}?' if close else ''}", place="--anchor"
            )


def _same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)


def _write(path: Path, text: str) -> None:
    """Beside, then renamed: a reader sees the old list or the new one."""
    beside = path.with_name(f".{path.name}.new")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC  # a link there is not ours
        with os.fdopen(os.open(beside, flags, 0o666), "w", encoding="utf-8") as sink:
            sink.write(text)
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
