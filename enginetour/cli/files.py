"""Files out: export."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from enginetour.cli.common import chosen, open_store, put, say, tournament_argument, tournament_options
from enginetour.store.address import Address

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from enginetour.interop.roundfiles import Played
    from enginetour.model.game import GameKey
    from enginetour.store.log import TournamentLog


@click.command()
@click.argument("kind", type=click.Choice(["pgn", "epd", "csv", "json", "trf", "tde"]))
@tournament_argument
@tournament_options
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="File to replace, for tde a folder; default: standard output.",
)
@click.option("--comments", metavar="NAMES", help="Of pgn: what a move tells more, as nodes,nps,pv; or all.")
@click.option("--eco", type=click.Path(path_type=Path), help="Of pgn: names openings by this file, as eco.pgn.")
def export(
    kind: str,
    db: Address | None,
    name: str | None,
    edition: int | None,
    output: Path | None,
    comments: str | None,
    eco: Path | None,
) -> None:
    """Games and results of a tournament as PGN, CSV or JSON.

    Their final positions as EPD; tournaments in rounds also as TRF (FIDE) or
    TDE files (AGA). The SHA-256 of a PGN or EPD file is told.
    --comments: timeleft, latency, nodes, seldepth, nps, hashfull, tbhits, pv,
    lines (those that keep_lines of the configuration kept).
    --eco: the eco.pgn of pgn-extract, or a table of lichess's chess-openings.

    Example: enginetour export pgn -t autumn-bubble -o games.pgn
    """
    from enginetour.cli.games import game_rows, games_sheet
    from enginetour.interop.files import refuse_kept, replace_file
    from enginetour.model.errors import UsageRefused
    from enginetour.openings.eco import read_names
    from enginetour.reports.pgn import final_positions, games_text
    from enginetour.reports.sheet import dumps

    if kind != "pgn" and (comments is not None or eco is not None):
        raise click.UsageError(f"{'--eco' if comments is None else '--comments'} goes with pgn")
    names = read_names(eco, "--eco") if eco is not None else None
    paged = output is None and kind in ("pgn", "epd")  # games are read as they are told
    with open_store(db, lasting=paged) as store:
        log = chosen(store, name, edition)
        if kind == "tde":
            _export_tde(log, output)
            return
        if kind == "trf":
            from enginetour.interop.roundfiles import report

            chunks: Iterable[str] = [report(_played(log)).text()]
        elif kind == "pgn":
            chunks = games_text(log, comments=_extras(comments), names=names)
        elif kind == "epd":
            chunks = final_positions(log)
        elif kind == "csv":
            chunks = [games_sheet(log.title, log.games()).csv()]
        else:
            whole = {"tournament": log.title, "system": log.system, "games": game_rows(log.games())}
            whole["decisions"] = [note.text for _, note in log.notes()]
            chunks = [dumps(whole), "\n"]
        if output is not None:
            if output.is_dir() or not output.absolute().parent.is_dir():
                raise UsageRefused("not a file in a folder that is there", place=str(output), step="choose another -o")
            refuse_kept(output, "--output")
            digest = sha256()
            replace_file(output, _digested(chunks, digest))
            told = f", SHA-256 {digest.hexdigest()}" if kind in ("pgn", "epd") else ""
            say(f"{output} written{told}", err=True)
            return
        for chunk in chunks:
            put(chunk)


def _extras(comments: str | None) -> tuple[str, ...]:
    """The names of --comments; UsageRefused for one that is none."""
    from enginetour.model.errors import UsageRefused, near
    from enginetour.reports.pgn import EXTRAS

    names = tuple(filter(None, (word.strip() for word in (comments or "").split(","))))
    if names == ("all",):
        return EXTRAS
    for name in names:
        if name not in EXTRAS:
            what = f"no comment is called {name!r}{near(name, EXTRAS)}"
            raise UsageRefused(what, place="--comments", step=f"choose of {', '.join(EXTRAS)}, or all")
    return names


def _digested(chunks: Iterable[str], digest: Any) -> Iterator[str]:
    for chunk in chunks:
        digest.update(chunk.encode("utf-8"))
        yield chunk


def _played(log: TournamentLog) -> Played:
    """The tournament with its games by round and pair; UsageRefused unless it is one in rounds."""
    from enginetour.formats.rounds import Rounds
    from enginetour.interop.roundfiles import Sat, played
    from enginetour.model.errors import UsageRefused
    from enginetour.model.game import Pairing
    from enginetour.store.replay import fold

    format_, state = fold(log)
    if not isinstance(format_, Rounds):
        step = "export pgn, csv or json"
        raise UsageRefused(f"a {log.system} is not paired in rounds", place=log.title, step=step)
    decided = state.docket  # a game struck out later counts there, one that came in after a withdrawal does not
    found: dict[GameKey, tuple[int, Sat]] = {}
    for line in log.games():
        key = Pairing(line.white, line.black, line.meeting, line.leg).key
        if decided.played.get(key) is line.outcome:  # of several, as after a void, the latest
            found[key] = line.round, Sat(line.white, line.outcome, key not in decided.struck)
    games: dict[tuple[int, frozenset[str]], list[Sat]] = {}
    for key, (number, sat) in found.items():
        games.setdefault((number, frozenset(key[:2])), []).append(sat)
    return played(log.name, log.system, format_, state, games)


def _export_tde(log: TournamentLog, folder: Path | None) -> None:
    from enginetour.interop.files import replace_file
    from enginetour.interop.roundfiles import register
    from enginetour.model.errors import UsageRefused
    from enginetour.ratings import grades

    if folder is None or not folder.is_dir():
        raise UsageRefused("several files: name a folder that is there", place="-o", step="export tde -o FOLDER")
    by_go = log.config.get("tournament", {}).get("rating_scale") == "go"
    texts = register(_played(log), grades.GO if by_go else grades.AGA)
    for name in texts:
        if (folder / name).exists():
            raise UsageRefused("there is a file already", place=str(folder / name), step="choose another folder")
    for name, text in texts.items():
        replace_file(folder / name, [text])
        say(f"{folder / name} written", err=True)
