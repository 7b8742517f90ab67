"""Rating lists as their users ask for them: of PGN files, of a tournament, of a database, or of a named list.

The places in errors are the options of the commands; the Python API has arguments with the same names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from enginetour.interop.tally import normal_name
from enginetour.model.errors import (
    InputRefused,
    UsageRefused,
    match_name,
    no_match_hint,
    suggest,
    usage_errors,
)

if TYPE_CHECKING:
    from enginetour.interop.gamefilter import GameFilter, SelectedGames, UnratedGames
    from enginetour.interop.pgn import Progress
    from enginetour.interop.tally import Tally
    from enginetour.ratings.pairs import Openings, Pairs
    from enginetour.ratings.priors import LooseAnchors, Prior
    from enginetour.ratings.ratinglist import RatingList
    from enginetour.reports.encounters import NextEncounters
    from enginetour.store.definition import ListDefinition
    from enginetour.store.log import TournamentLog
    from enginetour.store.selection import Selection
    from enginetour.store.tournaments import Store

T = TypeVar("T")

# Lists in the database.

ONLY_ANCHORS = {"system", "anchors"}  # with only these fields, the tournament's list or stored ratings are shown


def rate_stored(
    store: Store,
    list_name: str | None,
    log: TournamentLog | None,
    fields: Mapping[str, Any],
    *,
    as_of: str | None = None,
    errors_for: tuple[str, ...] = (),
) -> tuple[str, RatingList]:
    """Return the heading and the rating list of a named list, of a tournament, or of a whole database.

    Args:
        store: the open database.
        list_name: name of the list; None for the list of `log` or of the database.
        log: the tournament; None for the whole database.
        fields: fields of a list definition that replace those of the list, or the defaults.
        as_of: a day, a time, ``edition N`` or ``game N``; None for the present state.
        errors_for: patterns of the engines that have errors in a pool of more than 4,000 engines.
    """
    from enginetour.ratings.likelihood import ModelName
    from enginetour.ratings.systems import system_title
    from enginetour.store.lists import rate_selection, tournament_rating_list
    from enginetour.store.ratings import require_system

    require_system(store, fields.get("system") or "ml")
    title, found = "all tournaments", None
    if list_name is not None:
        title, selection = _defined_games(store, list_name, fields, as_of)
    else:
        if log is not None:
            title = log.title
            if as_of is None:
                log.require_not_removed()
            find = partial(entrant_named, log, option="--anchor")
            anchors = {key: resolve_names(fields[key], find) for key in ("anchors", "loose") if fields.get(key)}
            fields = {**fields, **anchors}
        if log is not None and as_of is None and set(fields) <= ONLY_ANCHORS and not errors_for:
            anchor = log.config.get("ratings", {}).get("anchor", {})
            found = tournament_rating_list(log, definition_from(fields).anchors or anchor)
        else:
            selection = _games_of(store, log, fields, as_of)
    if found is None:
        found = rate_selection(store, selection, errors_for=requested_errors(errors_for, selection.pairs))
    then = f", as of {as_of}" if as_of else ""
    # The heading names an incremental system, because the lists of two systems look alike.
    return f"{'ratings' if found.model in get_args(ModelName) else system_title(found.model)} · {title}{then}", found


def rate_next(
    store: Store,
    list_name: str | None,
    log: TournamentLog | None,
    fields: Mapping[str, Any],
    *,
    games: int | None = None,
    control: str = "",
    playable: Callable[[Mapping[str, Any]], Collection[str]] | None = None,
) -> NextEncounters:
    """Return the encounters that reduce the errors of a list most per hour.

    Args:
        store: the open database.
        list_name: name of the list; None for the list of `log` or of the database.
        log: the tournament; None for the whole database.
        fields: fields of a list definition that replace those of the list, or the defaults.
        games: number of games of each encounter, even; None for the default.
        control: time control of the games whose durations count; "" for the most frequent one.
        playable: returns the engines that can play, from their rows in the database by name; None for all engines.

    Raises:
        UsageRefused: The list has fewer than two engines that can play or too many engines, or is incremental.
    """
    from enginetour.reports.encounters import GAMES, next_encounters
    from enginetour.store.lists import game_times

    if games is not None and (games < 2 or games % 2):
        step = "each opening has both colors"
        raise UsageRefused(f"must be an even number of at least 2 (found {games})", place="--games", step=step)
    if list_name is not None:
        title, selection = _defined_games(store, list_name, fields, None)
    else:
        title, selection = "all tournaments" if log is None else log.title, _games_of(store, log, fields, None)
    if selection.definition.system != "ml":
        what = f"the rating system {selection.definition.system} does not have errors that games could reduce"
        raise UsageRefused(what, step="use a maximum-likelihood list (--system ml)")
    times = game_times(store, selection, control)
    among = None if playable is None else playable(times.engines)
    return next_encounters(title, selection, times, games=games or GAMES, among=among)


def _defined_games(store: Store, name: str, fields: Mapping[str, Any], as_of: str | None) -> tuple[str, Selection]:
    from enginetour.store.counts import edition_in
    from enginetour.store.definition import revisions_of
    from enginetour.store.editions import read_edition
    from enginetour.store.ratings import require_system
    from enginetour.store.selection import select_games

    revisions, number = revisions_of(store, name), edition_in(as_of)
    made = None if number is None else read_edition(store, name, number)
    revision = revisions[-1] if made is None else next(one for one in revisions if one.revision == made.revision)
    title = f"{name}, revision {revision.revision}" + (", changed by options" if fields else "")
    require_system(store, fields.get("system", revision.definition.system) or "ml")
    definition = definition_from(fields, revision.definition)
    return title, select_games(store, definition, made.moment if made else as_of)


def _games_of(store: Store, log: TournamentLog | None, fields: Mapping[str, Any], as_of: str | None) -> Selection:
    """Return the games of a tournament, or of the whole database if `log` is None.

    If no anchors are given, the anchors of the tournament apply.
    """
    from enginetour.store.counts import moment_of
    from enginetour.store.lists import games_of_tournament
    from enginetour.store.selection import select_games

    definition = definition_from(fields)
    if log is None:
        return select_games(store, definition, as_of)
    inside = games_of_tournament(log) | {"by": fields.get("by") or "name"}
    with store.database.reading() as connection:
        moment = None if as_of is None else moment_of(connection, as_of, log.id)
    selection = select_games(store, definition.model_copy(update=inside), moment)
    if definition.system == "ml" and not definition.anchors and not definition.loose and definition.average is None:
        anchor = log.config.get("ratings", {}).get("anchor", {})
        anchors = {name: rating for name, rating in anchor.items() if selection.names_by_term.get(name)}
        selection = replace(selection, definition=selection.definition.model_copy(update={"anchors": anchors}))
    return selection


def definition_from(fields: Mapping[str, Any], base: ListDefinition | None = None) -> ListDefinition:
    """Return `base` (or the default list definition) changed by `fields`. Raise UsageRefused for invalid values."""
    from enginetour.store.definition import ListDefinition, parse_definition

    before = (base or ListDefinition()).model_dump()
    kept = {name: value for name, value in before.items() if name not in fields}
    changed = {name: value for name, value in fields.items() if value is not None}
    return parse_definition({**kept, **changed})


# Names of engines.


def entrant_named(log: TournamentLog, word: str, option: str = "--engine") -> str:
    """Return the entrant whose name equals `word`, or the only entrant whose name begins with it.

    Raise UsageRefused, which names `option`, if there is no such entrant.
    """
    name = match_name(word, log.specs)
    if name is None:
        hint = no_match_hint(word, log.specs) or suggest(word, log.specs)
        raise UsageRefused(f"{word!r} is not an entrant of {log.title}{hint}", place=option)
    return name


def resolve_names(fixed: Mapping[str, T], find: Callable[[str], str], place: str = "--anchor") -> dict[str, T]:
    """Return the mapping with each key replaced by `find`. Raise UsageRefused if two keys mean the same engine."""
    resolved: dict[str, T] = {}
    for word, value in fixed.items():
        name = find(word)
        if name in resolved:
            raise UsageRefused(f"{name!r} has two values (the second one is given as {word!r})", place=place)
        resolved[name] = value
    return resolved


def name_with_games(word: str, names: Sequence[str], place: str = "--anchor") -> str:
    """Return the engine whose name equals `word`, or the only engine whose name begins with it.

    Raise UsageRefused, which names the option `place`, if there is no such engine.
    """
    name = match_name(word, names)
    if name is None:
        raise UsageRefused(f"no games of {word!r} found{no_match_hint(word, names)}", place=place)
    return name


def requested_errors(patterns: Sequence[str], pairs: Pairs) -> set[str] | None:
    """Return the engines that match the patterns, or None if there are no patterns.

    Raise UsageRefused if a pattern does not match any engine.
    """
    from fnmatch import fnmatchcase

    wanted: set[str] = set()
    for pattern in patterns:
        found = {name for name in pairs.names if fnmatchcase(name, pattern)}
        if not found:
            step = "use a pattern such as 'F*'"
            raise UsageRefused(f"no engine matches {pattern!r}", place="--errors-for", step=step)
        wanted |= found
    return wanted or None


# Lists of PGN files, without a database.

# Fields that do not apply to PGN files, because these have no versions, families, machines or tournaments.
STORE_ONLY = ("tournaments", "not_tournaments", "hardware", "best_of_family", "by")
_NO_PAIRS = (
    "no game pairs found. A game pair is two games with the same opening (FEN tag or book moves) and swapped colors"
)
Bar = Callable[[], AbstractContextManager["Progress"]]  # shows the progress of reading while it is entered


@dataclass(frozen=True, slots=True)
class FileList:
    """The rating list of PGN files.

    `value` contains the values of its JSON in addition to those of the list. `notes` are sentences about games that
    were left out or count twice.
    """

    found: RatingList
    pairs: Pairs
    left_out: int
    value: Mapping[str, object]
    notes: Sequence[str]


def rate_files(
    files: Sequence[Path],
    fields: Mapping[str, Any],
    *,
    bar: Bar,
    broken: Callable[[Tally], None],
    by_pairs: bool = False,
    by_event: bool = False,
    start: Mapping[str, str] | None = None,
    errors_for: Sequence[str] = (),
) -> FileList:
    """Compute a rating list from PGN files.

    Args:
        files: the files, also compressed.
        fields: fields of a list definition.
        bar: makes a context that shows the progress of reading.
        broken: receives the games that were read, before games that cannot be counted are left out.
        by_pairs: compute errors from game pairs (only for maximum likelihood).
        by_event: count each Event tag as a tournament (only for incremental systems).
        start: starting ratings by engine (only for incremental systems).
        errors_for: patterns of the engines that have errors in a pool of more than 4,000 engines.

    Raises:
        UsageRefused: A file is given twice, or the fields are not valid.
        InputRefused: A file cannot be read, or has no game to rate.
    """
    refuse_twice(files)
    if lost := [name for name in STORE_ONLY if name in fields]:
        raise UsageRefused(f"{lost[0]} applies only to lists of a database", step="import the files first")
    incremental = {"--start": start, "--by-event": by_event, "--setting": "settings" in fields}
    system = fields.get("system", "ml")
    if system == "ml" and (only := [option for option, there in incremental.items() if there]):
        raise UsageRefused("needs --system elo, gor, egf or egf2021", place=only[0])
    if system != "ml":
        return _incremental(files, fields, start or {}, bar, broken, by_event=by_event)
    fixed, loose = _anchors(fields)
    wanted = _game_filter(fields)
    with bar() as progress:
        tally, taken = _read(files, wanted, progress, games=by_pairs)
    broken(tally)
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
    twins = duplicate_files(files)
    notes = [*describe_duplicates(twins), *_notes(tally, left, pairs.names)]
    if by_pairs and not openings:
        notes.append(_NO_PAIRS)
    return FileList(found, pairs, left.games, _read_json(files, tally, left, twins), notes)


def _game_filter(fields: Mapping[str, Any]) -> GameFilter:
    from enginetour.interop.gamefilter import GameFilter

    wanted = GameFilter(**{name: fields[name] for name in GameFilter.__slots__ if name in fields})
    wanted.check()
    return wanted


def _select(
    files: Sequence[Path], tally: Tally, taken: SelectedGames | None, **names: Any
) -> tuple[Pairs, UnratedGames]:
    """Return the games to rate and the games left out. Raise InputRefused if no game remains."""
    from enginetour.interop.gamefilter import select_games

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
    files: Sequence[Path], wanted: GameFilter, progress: Progress, *, games: bool
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
    files: Sequence[Path],
    fields: Mapping[str, Any],
    start: Mapping[str, str],
    bar: Bar,
    broken: Callable[[Tally], None],
    *,
    by_event: bool,
) -> FileList:
    from enginetour.interop.gamefilter import EngineNames, rated_games
    from enginetour.interop.pgn import read_games
    from enginetour.ratings.incremental import Version, lineage
    from enginetour.ratings.ratinglist import incremental_list
    from enginetour.store.definition import parse_definition
    from enginetour.store.ratings import system_named

    definition = parse_definition(dict(fields))
    known, settings = system_named(definition.system), definition.system_settings()
    wanted = _game_filter(fields)
    with bar() as progress:
        games = read_games(files, progress=progress, by_event=by_event)
    broken(games)
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
    value = {"start": entered, **_read_json(files, games, left, twins)}
    return FileList(found, pairs, left.games, value, notes)


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


def _read_json(files: Sequence[Path], tally: Tally, left: UnratedGames, twins: Sequence[object]) -> dict[str, object]:
    return {
        "files": list(map(str, files)),
        "same_content": twins,
        "left_out": left.to_json(),
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


# Files and games that count twice, or not at all.


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
