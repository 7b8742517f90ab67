"""`enginetour rate`: a list straight from PGN files, without a store."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from enginetour.cli.common import ListOutput, list_output, output_option, output_options, size_words
from enginetour.cli.games import (
    describe_duplicates,
    describe_left_out,
    duplicate_files,
    reading_bar,
    refuse_twice,
    report_broken_games,
    without_collecting,
)
from enginetour.cli.listoptions import (
    Display,
    display_options,
    errors_option,
    file_list_options,
    flags,
    given,
    present,
    requested_errors,
    table,
)
from enginetour.cli.match import requested_test, show_file_test, sprt_options
from enginetour.interop.tally import normal_name
from enginetour.model.errors import GAMES_LEFT_OUT, InputRefused, UsageRefused, match_name, no_match_hint

if TYPE_CHECKING:
    from enginetour.interop.gamefilter import GameFilter, SelectedGames, UnratedGames
    from enginetour.interop.pgn import Progress
    from enginetour.interop.tally import Tally
    from enginetour.ratings.models import LooseAnchors, Prior
    from enginetour.ratings.pairs import Openings, Pairs
    from enginetour.ratings.sequential import Sprt


_NO_PAIRS = "no two games are a pair: one opening (a FEN tag, or moves marked book) with colours swapped"

T = TypeVar("T")


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE.pgn...", type=click.Path(path_type=Path))
@output_options
@display_options
@output_option
@errors_option
@file_list_options
@click.option("--pairs", "by_pairs", is_flag=True, help="Errors by pairs of games on one opening, colours swapped.")
@click.option(
    "--start",
    multiple=True,
    metavar="NAME=RATING",
    callback=table,
    help="Rating that an engine enters with, or a Go grade as 6k; with --system gor, egf, egf2021 or elo.",
)
@click.option("--by-event", is_flag=True, help="With such a system: each Event tag is a tournament, not each file.")
@click.option("--strict", is_flag=True, help="Print the list, then exit with code 9 if games were left out.")
@sprt_options
@without_collecting()
def rate(
    files: tuple[Path, ...],
    as_json: bool,
    as_csv: bool,
    display: Display,
    output: Path | None,
    errors_for: tuple[str, ...],
    by_pairs: bool,
    start: tuple[tuple[str, str], ...],
    by_event: bool,
    strict: bool,
    sprt: tuple[str, str, float, float] | None,
    model: str | None,
    alpha: float | None,
    beta: float | None,
    **asked: Any,
) -> None:
    """The rating list of PGN files (also .gz, .zst), by maximum likelihood.

    A game needs the tags White, Black and Result; others are read where a
    filter asks for them, opening moves (marked book, or a FEN tag) by --pairs
    alone. What cannot be counted is told with file and line.

    Example: enginetour rate night.pgn --anchor "Fruit 2.1=2784"

    Go ratings: enginetour rate go.pgn --system gor --by-event --start "GNU Go=6k"

    A sequential test: enginetour rate night.pgn --sprt "My engine 2" Fruit 0 5
    """
    refuse_twice(files)
    if strict and sprt is not None:
        raise click.UsageError("--strict is for a list: leave it or --sprt out")
    into = list_output(output, as_json=as_json, as_csv=as_csv, sources=files)
    display.check(as_json=into.as_json, as_csv=into.as_csv)
    test, fields = requested_test(sprt, model, alpha, beta), {k: v for k, v in given(asked).items() if v is not None}
    incremental = {"--start": start, "--by-event": by_event, "--setting": "settings" in fields}
    if fields.get("system", "ml") == "ml" and (only := [option for option, there in incremental.items() if there]):
        raise click.UsageError(f"{only[0]} is for --system elo, gor, egf or egf2021")
    if sprt is not None and test is not None:
        others = "--pairs" if by_pairs else "how to show one" if display != Display() or errors_for else ""
        _test(files, fields, sprt[:2], test, into, others)
        return
    if fields.get("system", "ml") != "ml":
        if display != Display() or errors_for or by_pairs:
            raise click.UsageError("columns, layouts, matrices, errors and confidence are for --system ml")
        code = _incremental(files, fields, dict(start), into, by_event=by_event)
        sys.exit(code if strict else 0)
    fixed, loose = _anchors(fields)
    from enginetour.interop.gamefilter import GameFilter, select_games

    wanted = GameFilter(**{name: fields[name] for name in GameFilter.__slots__ if name in fields})
    wanted.check()
    with reading_bar(files) as progress:
        tally, taken = _read(files, wanted, progress, games=by_pairs)
    report_broken_games(tally)
    from enginetour.ratings.ratinglist import rating_list

    names = {"aliases": fields.get("aliases"), "include": fields.get("engines", ())}
    names["exclude"] = fields.get("not_engines", ())
    pairs, left = select_games(tally, **names, min_games=fields.get("min_games", 0), taken=taken)
    if not len(pairs.games):
        raise InputRefused(f"no game to rate; left out: {describe_left_out(left)}", place=", ".join(map(str, files)))
    fixed, loose = _known(fixed, pairs.names), _known(loose, pairs.names)
    openings = _openings(tally, names["aliases"], pairs, taken) if by_pairs else None
    found = rating_list(
        pairs,
        openings=openings,
        prior=_prior(fields.get("prior", "auto")),
        anchors=fixed,
        loose=loose,
        mean=fields.get("average"),
        **{name: fields[name] for name in ("model", "advantage", "scale") if name in fields},
        errors_for=requested_errors(errors_for, pairs),
        skipped=left.games,
    )
    code = GAMES_LEFT_OUT if strict and left.games else 0
    if into.put_picture(found, f"ratings · {', '.join(path.name for path in files)}", shown=display != Display()):
        sys.exit(code)
    value = _read_told(files, tally, left, twins := duplicate_files(files))
    notes = [*describe_duplicates(twins), *_notes(tally, left, pairs.names)]
    if by_pairs and not openings:
        notes.append(_NO_PAIRS)
    form: dict[str, Any] = {"room": into.room, "as_json": into.as_json, "as_csv": into.as_csv}
    text = present(found, pairs, display, **form, value=value, notes=notes)
    into.put(text, size_words(found))
    sys.exit(code)


def _anchors(fields: Mapping[str, Any]) -> tuple[dict[str, float], LooseAnchors]:
    """Ratings of anchors, and rating and deviation of loose ones, by normal name; UsageError next to --average."""
    fixed = {normal_name(name): rating for name, rating in fields.get("anchors", {}).items()}
    loose = {normal_name(name): near for name, near in _loose(fields.get("loose", {})).items()}
    if (fixed or loose) and "average" in fields:
        raise click.UsageError("an anchor gives the level already; leave out --average")
    return fixed, loose


def _read(
    files: tuple[Path, ...], wanted: GameFilter, progress: Progress, *, games: bool
) -> tuple[Tally, SelectedGames | None]:
    """What was played, and which of it a filter takes; one by one where more than names and results is asked for."""
    if games or wanted.asks_tags:
        from enginetour.interop.pgn import read_games

        found = read_games(files, progress=progress)
        return found, wanted.taken(found)
    from enginetour.interop.pgn import scan

    return scan(files, progress, take_odds=wanted.odds), None


def _incremental(
    files: tuple[Path, ...], fields: dict[str, Any], start: Mapping[str, str], into: ListOutput, *, by_event: bool
) -> int:
    """A list by a system that rates game by game or tournament by tournament; the exit code of --strict."""
    from enginetour.interop.gamefilter import EngineNames, GameFilter, rated_games, select_games
    from enginetour.interop.pgn import read_games
    from enginetour.ratings.incremental import Version, lineage
    from enginetour.ratings.ratinglist import incremental_list
    from enginetour.reports.editions import list_sheet as listed
    from enginetour.reports.ratinglist import SYSTEM_NAMES
    from enginetour.store.definition import parse_definition
    from enginetour.store.ratings import system_named

    definition = parse_definition(fields, "list options")
    known, settings = system_named(definition.system), definition.system_settings()
    wanted = GameFilter(**{name: fields[name] for name in GameFilter.__slots__ if name in fields})
    wanted.check()
    with reading_bar(files) as progress:
        games = read_games(files, progress=progress, by_event=by_event)
    report_broken_games(games)
    names: dict[str, Any] = {
        "aliases": definition.aliases,
        "include": definition.engines,
        "exclude": definition.not_engines,
    }
    taken = wanted.taken(games)
    pairs, left = select_games(games, **names, min_games=definition.min_games, taken=taken)
    if not len(pairs.games):
        raise InputRefused(f"no game to rate; left out: {describe_left_out(left)}", place=", ".join(map(str, files)))
    brought = {normal_name(name): _entry(words, definition.system) for name, words in start.items()}
    entered = _known(brought, pairs.names, place="--start")
    rated = rated_games(games, EngineNames(**names), set(pairs.names), taken[0], list(map(str, files)))
    relatives = lineage(Version(name, name) for name in pairs.names)
    ratings = {event.engine: event.after for event in known.rate(rated, settings, entered, relatives)}
    notes = [*describe_duplicates(twins := duplicate_files(files)), *_notes(games, left, pairs.names)]
    found = incremental_list(pairs, ratings, definition.system, skipped=left.games, notes=notes)
    title = f"{SYSTEM_NAMES[definition.system]} · {', '.join(path.name for path in files)}"
    value = {**found.to_json(), "start": entered, **_read_told(files, games, left, twins)}
    if not into.put_picture(found, title, shown=False):
        into.put_sheet(listed(title, found), value, size_words(found))
    return GAMES_LEFT_OUT if left.games else 0


def _entry(words: str, system: str) -> float:
    """A rating, or a grade of Go on the scale of the system."""
    from enginetour.ratings import grades
    from enginetour.ratings.gor import grade_rating

    graded = system != "elo" and grades.parse(words) is not None
    try:
        if graded and system != "egf2021":
            return grade_rating(words, "egf" if system == "egf" else "czech")
        if system == "elo" and grades.parse(words) is not None:
            raise UsageRefused(f"{words!r} is a grade of Go, and Elo has none", place="--start", step="write a number")
        return grades.rating(words)
    except InputRefused as refusal:
        raise UsageRefused(refusal.what, place="--start", step=refusal.step) from None
    except ValueError as error:
        raise UsageRefused(str(error), place="--start") from None


def _read_told(files: tuple[Path, ...], tally: Tally, left: UnratedGames, twins: Sequence[object]) -> dict[str, object]:
    """What was read and left out, for JSON."""
    return {
        "files": list(map(str, files)),
        "same_content": twins,
        "left_out": {**asdict(left), "games": left.games},
        "broken": [{"place": place, "why": why} for place, why in tally.broken],
        "respelled": dict(tally.respelled),
        "contradicted": tally.contradicted,
    }


def _openings(
    tally: Tally, aliases: Mapping[str, str] | None, pairs: Pairs, taken: SelectedGames | None
) -> Openings | None:
    """What of the rated games came in pairs; None where they were not read one by one."""
    from enginetour.interop.gamefilter import EngineNames
    from enginetour.interop.gamepairs import openings_of_games
    from enginetour.interop.gametags import GameColumns

    if taken is None or not isinstance(tally, GameColumns):
        return None
    return openings_of_games(tally, EngineNames(aliases), pairs.names, taken[0])


def _test(
    files: tuple[Path, ...], fields: dict[str, Any], engines: tuple[str, str], test: Sprt, into: ListOutput, others: str
) -> None:
    """Instead of a list: the sequential test of two engines, under their aliases. `others` is what a list alone has."""
    words = flags(name for name in fields if name != "aliases") or ("--output" if into.path is not None else others)
    if words:
        raise click.UsageError(f"--sprt makes no list: leave out {words}")
    from enginetour.interop.gamefilter import EngineNames
    from enginetour.interop.pgn import read_games

    with reading_bar(files) as progress:
        games = read_games(files, progress=progress)
    report_broken_games(games)
    naming = EngineNames(fields.get("aliases"))
    show_file_test(
        files,
        games,
        naming,
        engines,
        test,
        describe_duplicates(duplicate_files(files)),
        as_json=into.as_json,
        as_csv=into.as_csv,
    )


def _loose(words: dict[str, str]) -> LooseAnchors:
    if not words:
        return {}  # numpy is imported while a second process reads
    from enginetour.ratings.models import parse_loose_anchor

    try:
        return {name: parse_loose_anchor(told) for name, told in words.items()}
    except ValueError as error:
        raise UsageRefused(str(error), place="--loose-anchor") from None


def _prior(words: str) -> Literal["auto", "none"] | Prior:
    from enginetour.ratings.models import parse_prior

    try:
        return parse_prior(words)
    except ValueError as error:
        raise UsageRefused(str(error), place="--prior") from None


def _notes(tally: Tally, left: UnratedGames, names: tuple[str, ...]) -> list[str]:
    """What was left out or read in another way."""
    from enginetour.interop.gamefilter import FEW_NAMED, spelling_notes

    notes = []
    if left.games:
        notes.append(f"games left out: {describe_left_out(left)}")
    if left.engines:
        notes.append(f"too few games: {', '.join(left.engines[:FEW_NAMED])}{', ...' * (len(left.engines) > FEW_NAMED)}")
    if tally.latin:
        notes.append(f"{tally.latin} names are not UTF-8 and were read as Latin-1")
    return notes + spelling_notes(tally, names)


def _known(fixed: Mapping[str, T], names: tuple[str, ...], place: str = "--anchor") -> dict[str, T]:
    """What is fixed, by the names of the engines that are meant."""
    meant: dict[str, T] = {}
    for word, rating in fixed.items():
        if (name := match_name(word, names)) is None:
            raise UsageRefused(f"{word!r} has no games here{no_match_hint(word, names)}", place=place)
        if name in meant:
            raise UsageRefused(f"{name!r} is fixed twice, the second time as {word!r}", place=place)
        meant[name] = rating
    return meant
