"""`enginetour rate`: compute a rating list from PGN files, without a database."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from enginetour.cli.listoptions import (
    Display,
    display_options,
    errors_option,
    file_list_options,
    flags,
    name_with_games,
    present,
    requested_errors,
    resolve_names,
    table,
    without_collecting,
)
from enginetour.cli.match import TestRequest, print_file_test, sprt_options
from enginetour.cli.options import PATH, ListOutput, list_output, many_option, output_option, size_of, usage_errors
from enginetour.cli.printing import echo, output_form, output_options, progress_bar
from enginetour.interop.tally import normal_name
from enginetour.model.errors import GAMES_LEFT_OUT, InputRefused, UsageRefused

if TYPE_CHECKING:
    from enginetour.interop.gamefilter import GameFilter, SelectedGames, UnratedGames
    from enginetour.interop.pgn import Progress
    from enginetour.interop.tally import Tally
    from enginetour.ratings.pairs import Openings, Pairs
    from enginetour.ratings.priors import LooseAnchors, Prior


_NO_PAIRS = (
    "no game pairs found. A game pair is two games with the same opening (FEN tag or book moves) and swapped colors"
)

T = TypeVar("T")


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE.pgn...", type=PATH)
@output_options
@display_options
@output_option
@errors_option
@file_list_options
@click.option("--pairs", "by_pairs", is_flag=True, help="Compute errors from game pairs (one opening, colors swapped).")
@many_option(
    "--start",
    metavar="NAME=RATING",
    callback=table,
    help="Starting rating of an engine: a number, or a Go grade such as 6k (not for ml).",
)
@click.option("--by-event", is_flag=True, help="Count each Event tag, not each file, as a tournament (not for ml).")
@click.option("--strict", is_flag=True, help="Exit with code 9 if games were left out.")
@sprt_options
@without_collecting()
def rate(
    files: tuple[Path, ...],
    display: Display,
    output: Path | None,
    errors_for: tuple[str, ...],
    by_pairs: bool,
    start: tuple[tuple[str, str], ...],
    by_event: bool,
    strict: bool,
    test: TestRequest | None,
    fields: dict[str, Any],
) -> None:
    """Compute a rating list from PGN files, also .gz and .zst.

    Games need the tags White, Black and Result. Filters may need more tags.
    --pairs detects openings by the FEN tag or by book moves. Games that
    cannot be counted are reported with file and line.

    Example: enginetour rate night.pgn --anchor "Fruit 2.1=2784"

    Example: enginetour rate go.pgn --system gor --by-event --start "Zen=6k"

    Example: enginetour rate night.pgn --sprt "My engine 2" Fruit 0 5
    """
    refuse_twice(files)
    if strict and test is not None:
        raise UsageRefused("cannot be combined with --sprt", place="--strict", step="use only one of them")
    into = list_output(output, files)
    display.check(output_form())
    fields = {name: value for name, value in fields.items() if value is not None}
    incremental = {"--start": start, "--by-event": by_event, "--setting": "settings" in fields}
    if fields.get("system", "ml") == "ml" and (only := [option for option, there in incremental.items() if there]):
        raise UsageRefused("needs --system elo, gor, egf or egf2021", place=only[0])
    if test is not None:
        others = "--pairs" if by_pairs else "display options" if display != Display() or errors_for else ""
        _test(files, fields, test, into, others)
        return
    if fields.get("system", "ml") != "ml":
        if display != Display() or errors_for or by_pairs:
            raise UsageRefused("columns, layouts, matrices, errors and confidence need --system ml")
        code = _incremental(files, fields, dict(start), into, by_event=by_event)
        sys.exit(code if strict else 0)
    fixed, loose = _anchors(fields)
    wanted = _game_filter(fields)
    with reading_bar(files) as progress:
        tally, taken = _read(files, wanted, progress, games=by_pairs)
    names = {"aliases": fields.get("aliases"), "include": fields.get("engines", ())}
    names["exclude"] = fields.get("not_engines", ())
    pairs, left = _select(files, tally, taken, **names, min_games=fields.get("min_games", 0))
    from enginetour.ratings.ratinglist import rating_list  # only here, so that numpy loads while a second process reads

    fixed, loose = _resolved(fixed, pairs.names), _resolved(loose, pairs.names)
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
    title = f"ratings · {', '.join(path.name for path in files)}"
    if not into.put_picture(found, title, display=display != Display()):
        value = _read_json(files, tally, left, twins := duplicate_files(files))
        notes = [*describe_duplicates(twins), *_notes(tally, left, pairs.names)]
        if by_pairs and not openings:
            notes.append(_NO_PAIRS)
        text = present(found, pairs, display, output_form(), into.columns, value=value, notes=notes)
        into.put(text, size_of(found))
    sys.exit(GAMES_LEFT_OUT if strict and left.games else 0)


def _game_filter(fields: Mapping[str, Any]) -> GameFilter:
    from enginetour.interop.gamefilter import GameFilter

    wanted = GameFilter(**{name: fields[name] for name in GameFilter.__slots__ if name in fields})
    wanted.check()
    return wanted


def _select(
    files: tuple[Path, ...], tally: Tally, taken: SelectedGames | None, **names: Any
) -> tuple[Pairs, UnratedGames]:
    """Return the games to rate and the games left out. Raise InputRefused if no game remains."""
    from enginetour.interop.gamefilter import select_games

    report_broken_games(tally)
    pairs, left = select_games(tally, **names, taken=taken)
    if not len(pairs.games):
        raise InputRefused(f"no game to rate; left out: {describe_left_out(left)}", place=", ".join(map(str, files)))
    return pairs, left


def _anchors(fields: Mapping[str, Any]) -> tuple[dict[str, float], LooseAnchors]:
    """Return the anchors and the loose anchors by normal name. Raise UsageRefused if --average is given, too."""
    fixed = {normal_name(name): rating for name, rating in fields.get("anchors", {}).items()}
    loose = {normal_name(name): near for name, near in _loose(fields.get("loose", {})).items()}
    if (fixed or loose) and "average" in fields:
        raise UsageRefused("cannot be combined with anchors", place="--average", step="use only one of them")
    return fixed, loose


def _read(
    files: tuple[Path, ...], wanted: GameFilter, progress: Progress, *, games: bool
) -> tuple[Tally, SelectedGames | None]:
    """Read the games, and return them with the choice of the filter.

    If the filter needs only names and results, and `games` is false, only the results are counted, and the choice is
    None.
    """
    if games or wanted.asks_tags:
        from enginetour.interop.pgn import read_games

        found = read_games(files, progress=progress)
        return found, wanted.taken(found)
    from enginetour.interop.pgn import scan

    return scan(files, progress, take_odds=wanted.odds), None


def _incremental(
    files: tuple[Path, ...], fields: dict[str, Any], start: Mapping[str, str], into: ListOutput, *, by_event: bool
) -> int:
    """Print the list of an incremental system; return the exit code for --strict."""
    from enginetour.interop.gamefilter import EngineNames, rated_games
    from enginetour.interop.pgn import read_games
    from enginetour.ratings.incremental import Version, lineage
    from enginetour.ratings.ratinglist import incremental_list
    from enginetour.reports.editions import list_sheet
    from enginetour.reports.ratinglist import SYSTEM_NAMES
    from enginetour.store.definition import parse_definition
    from enginetour.store.ratings import system_named

    definition = parse_definition(fields, "list options")
    known, settings = system_named(definition.system), definition.system_settings()
    wanted = _game_filter(fields)
    with reading_bar(files) as progress:
        games = read_games(files, progress=progress, by_event=by_event)
    names: dict[str, Any] = {"aliases": definition.aliases, "include": definition.engines}
    names["exclude"] = definition.not_engines
    taken = wanted.taken(games)
    pairs, left = _select(files, games, taken, **names, min_games=definition.min_games)
    entered = {normal_name(name): _entry(words, definition.system) for name, words in start.items()}
    entered = _resolved(entered, pairs.names, "--start")
    rated = rated_games(games, EngineNames(**names), set(pairs.names), taken[0], list(map(str, files)))
    relatives = lineage(Version(name, name) for name in pairs.names)
    ratings = {event.engine: event.after for event in known.rate(rated, settings, entered, relatives)}
    notes = [*describe_duplicates(twins := duplicate_files(files)), *_notes(games, left, pairs.names)]
    found = incremental_list(pairs, ratings, definition.system, skipped=left.games, notes=notes)
    title = f"{SYSTEM_NAMES[definition.system]} · {', '.join(path.name for path in files)}"
    value = {**found.to_json(), "start": entered, **_read_json(files, games, left, twins)}
    if not into.put_picture(found, title, display=False):
        into.put_sheet(list_sheet(title, found), value, found)
    return GAMES_LEFT_OUT if left.games else 0


def _entry(words: str, system: str) -> float:
    """Parse a rating, or a Go grade as its rating on the scale of the system."""
    from enginetour.ratings import grades
    from enginetour.ratings.gor import grade_rating

    graded = grades.parse(words) is not None
    if graded and system == "elo":
        raise UsageRefused(f"must be a number for --system elo (found the Go grade {words!r})", place="--start")
    try:
        with usage_errors("--start"):
            if graded and system != "egf2021":
                return grade_rating(words, "egf" if system == "egf" else "czech")
            return grades.rating(words)
    except InputRefused as refusal:
        raise UsageRefused(refusal.what, place="--start", step=refusal.step) from None


def _read_json(files: tuple[Path, ...], tally: Tally, left: UnratedGames, twins: Sequence[object]) -> dict[str, object]:
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
    """Return the game pairs of the rated games, or None if the games were only counted."""
    from enginetour.interop.gamefilter import EngineNames
    from enginetour.interop.gamepairs import openings_of_games
    from enginetour.interop.gametags import GameColumns

    if taken is None or not isinstance(tally, GameColumns):
        return None
    return openings_of_games(tally, EngineNames(aliases), pairs.names, taken[0])


def _test(files: tuple[Path, ...], fields: dict[str, Any], asked: TestRequest, into: ListOutput, others: str) -> None:
    """Print the sequential test of two engines. Raise UsageRefused if options of a list were given.

    `others` names given options that are not in `fields`.
    """
    unused = flags(name for name in fields if name != "aliases") or ("--output" if into.path is not None else others)
    if unused:
        raise UsageRefused(f"cannot be combined with {unused}", place="--sprt", step="omit these options")
    from enginetour.interop.gamefilter import EngineNames
    from enginetour.interop.pgn import read_games

    with reading_bar(files) as progress:
        games = read_games(files, progress=progress)
    report_broken_games(games)
    naming = EngineNames(fields.get("aliases"))
    print_file_test(files, games, naming, asked, describe_duplicates(duplicate_files(files)))


def _loose(words: dict[str, str]) -> LooseAnchors:
    if not words:
        return {}  # return before the import below, because numpy loads while a second process reads files
    from enginetour.ratings.priors import parse_loose_anchor

    with usage_errors("--loose-anchor"):
        return {name: parse_loose_anchor(text) for name, text in words.items()}


def _prior(words: str) -> Literal["auto", "none"] | Prior:
    from enginetour.ratings.priors import parse_prior

    with usage_errors("--prior"):
        return parse_prior(words)


def _notes(tally: Tally, left: UnratedGames, names: tuple[str, ...]) -> list[str]:
    from enginetour.interop.gamefilter import FEW_NAMED, spelling_notes

    notes = []
    if left.games:
        notes.append(f"games left out: {describe_left_out(left)}")
    if left.engines:
        notes.append(f"too few games: {', '.join(left.engines[:FEW_NAMED])}{', ...' * (len(left.engines) > FEW_NAMED)}")
    if tally.latin:
        notes.append(f"{tally.latin} names are not UTF-8 and were read as Latin-1")
    return notes + spelling_notes(tally, names)


def _resolved(fixed: Mapping[str, T], names: tuple[str, ...], place: str = "--anchor") -> dict[str, T]:
    return resolve_names(fixed, lambda word: name_with_games(word, names, place), place)


# Reading PGN files: progress bar, duplicate files, games that cannot be counted.

BIG = 200_000_000  # bytes; reading them takes about 0.5 s
_BROKEN_SHOWN = 10  # number of broken games that are printed; --json has more


def reading_bar(files: Sequence[Path]) -> AbstractContextManager[Callable[[int], object]]:
    """Show a progress bar, but only for large files, because for small files it would only flash."""
    size = sum(path.stat().st_size for path in files if path.is_file())
    return nullcontext(lambda _: None) if size < BIG else progress_bar(size, "reading")


def refuse_twice(files: Sequence[Path]) -> None:
    """Raise UsageRefused for a file that is given twice, under any path, because its games would count twice."""
    seen: dict[tuple[int, int], Path] = {}
    for path in files:
        try:
            found = path.stat()
        except OSError:
            continue  # reported when the file is read
        first = seen.setdefault((found.st_dev, found.st_ino), path)
        if first is not path and S_ISREG(found.st_mode):
            named = f", also as {first}" if first != path else ""
            what = f"is given twice{named}, so its games would count twice"
            raise UsageRefused(what, place=str(path), step="name each file only once")


def duplicate_files(files: Sequence[Path]) -> list[list[str]]:
    """Return the groups of files with the same content, also if compressed; their games count more than once."""
    if len(files) == 1:
        return []
    from enginetour.interop.pgn import same_content

    return [list(map(str, group)) for group in same_content(files)]


def describe_duplicates(twins: Sequence[Sequence[str]]) -> list[str]:
    """Return one note about all groups of `duplicate_files`, or an empty list if there are no groups."""
    groups = "; ".join(map(" = ".join, twins))
    return [f"files with the same content, whose games count more than once: {groups}"] if groups else []


def report_broken_games(tally: Tally) -> None:
    """Print on stderr the places of games that cannot be counted."""
    for place, why in tally.broken[:_BROKEN_SHOWN]:
        echo(f"{place}: {why}", err=True)
    if (more := tally.broken_games - _BROKEN_SHOWN) > 0:
        echo(f"... and {more:,} more broken games; --json has their places", err=True)


def describe_left_out(left: UnratedGames) -> str:
    """Return the numbers of games that were left out, with the reasons."""
    first = {result: f" ({place})" for result, place in left.places.items()}
    parts = [f"{n:,} with result {result or 'blank'}{first.get(result, '')}" for result, n in left.others.items()]
    reasons = {
        "broken": left.broken,
        "of an engine against itself": left.alone,
        "of excluded engines": left.unwanted,
        "of engines with too few games": left.few,
    }
    parts += [f"{count:,} {reason}" for reason, count in reasons.items() if count]
    names = ", ".join(f"{name} {count:,}" for name, count in left.variants.items())
    filters = {"odds": "at time odds", "variant": f"of other variants ({names}; select one with --variant NAME)"}
    parts += [f"{count:,} {filters.get(part, f'by {part}')}" for part, count in left.apart.items()]
    return ", ".join(parts)
