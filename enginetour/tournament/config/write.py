"""Write a new configuration: the starter text of `enginetour init`, and drafts that commands make and validate."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, count, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enginetour.engines.registry import find_program, of_workspace, to_spec
from enginetour.formats.base import make_format, options_model
from enginetour.formats.pairing.field import Member
from enginetour.interop.files import write_new
from enginetour.interop.toml import ConfigDraft, unique_names
from enginetour.model.errors import EngineRefused, TourError, UsageRefused, suggest
from enginetour.model.timecontrol import TimeControl
from enginetour.ratings import grades
from enginetour.store.address import workspace_of
from enginetour.tournament.config.entrants import refuse_limits
from enginetour.tournament.config.load import current_text, load
from enginetour.tournament.config.sections import LARGEST_RATING

if TYPE_CHECKING:
    from enginetour.formats.rounds import Rounds
    from enginetour.store.tournaments import Store

_WRENS = ("wren6", "wren5", "wren4", "wren3", "wren2", "wren1")
_ONE_PLY = "Elo of the bundled engines at one ply, average 1500"  # from a round robin of twelve games per pair
_RATINGS = {"wren8": 1616, "wren7": 1609, "wren6": 1376, "wren5": 1583, "wren4": 1276, "wren3": 1119} | {
    "wren2": 1022,
    "wren1": 827,
}
_SINGLE_GAMES = ("dutch", "swiss")  # with game pairs, their color rules would have no effect
_MAIN_SETTINGS = ("size", "cycles", "rounds", "seeds", "games")  # settings of formats that `init` shows
_ENTRANTS = {
    "bubble": "Entrants, best first. A bubble starts with the weakest.",
    "gauntlet": "The first entrant plays against all others.",
    "match": "The match measures the strength of the first entrant.",
}


def chosen_engines(named: tuple[str, ...], system: str, tc: TimeControl, folder: Path) -> tuple[str, ...]:
    """Return the ids of the engines of a new configuration. Without named engines, bundled engines are used.

    The programs need not be installed; `enginetour check` checks this.

    Raises:
        UsageRefused: A named engine does not have an engine file.
        InputRefused: An engine does not support the time control.
    """
    registry = of_workspace(workspace_of(folder))
    for unknown in (engine for engine in named if engine not in registry.ids):
        what = f"engine {unknown!r} not found{suggest(unknown, registry.ids)}"
        raise UsageRefused(what, place="--engine", step="list the engine files: enginetour engines list")
    chosen = named or _WRENS[: 2 if system == "match" else None]
    for engine in chosen:
        with suppress(EngineRefused):
            refuse_limits(to_spec(registry.get(engine)), tc, "--tc")
    return chosen


def placeholders(count: int) -> list[dict[str, object]]:
    """Return sections of `count` entrants with bundled engines, best first, for engines that are not known yet.

    Further copies of an engine have another random seed.
    """
    engines = sorted(_RATINGS, key=lambda engine: -_RATINGS[engine])
    found: list[dict[str, object]] = []
    for place in range(count):
        copy, number = divmod(place, len(engines))
        section = {"engine": engines[number], "name": f"Engine {place + 1}"}
        found.append({**section, "options": {"Seed": copy + 1}} if copy else dict(section))
    return found


def new_names(engines: tuple[str, ...], folder: Path) -> tuple[str, ...]:
    """Return a new name for each engine whose name an earlier engine already has, and "" for all other engines."""
    registry = of_workspace(workspace_of(folder))
    own = [registry.get(engine).name for engine in engines]
    firsts = [engines[own.index(name)] for name in own]  # the first of several files with the same name keeps it
    apart = [
        name if first == engine else f"{name} ({engine})"
        for name, first, engine in zip(own, firsts, engines, strict=True)
    ]
    return tuple(new if new != name else "" for new, name in zip(unique_names(apart), own, strict=True))


def uses_ratings(system: str) -> bool:
    """Return whether ratings decide the initial scores of the format, or it cannot pair entrants without ratings."""
    from enginetour.formats.rounds import Rounds  # imported here, because a match starts faster without it

    model = options_model(system)
    made = make_format(system, model(**({"rounds": 1} if "rounds" in model.model_fields else {})))
    if not isinstance(made, Rounds):
        return False
    return made.system.score == "MMS" or (_pairs(made, 2000.0) and not _pairs(made, None))


def _pairs(made: Rounds, rating: float | None) -> bool:
    try:
        made.system.check(tuple(Member(name, rating) for name in "ABCD"))
    except ValueError:
        return False
    return True


def known_ratings(
    engines: tuple[str, ...], folder: Path, ask: Callable[[str], str] | None
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the ratings to write for engines, as TOML with a comment, and the engines that still need a rating.

    Bundled engines have ratings relative to each other. An engine whose file contains a rating does not need one.

    Args:
        engines: Ids of engine files.
        folder: Directory of the configuration.
        ask: Function that returns what the user types for an engine, or ""; None if the user is not asked.
    """
    if set(engines) <= set(_RATINGS):
        return {engine: f"{_RATINGS[engine]}  # {_ONE_PLY}" for engine in engines}, ()
    registry, found = of_workspace(workspace_of(folder)), dict[str, str]()
    lacking: list[str] = []
    for engine in engines:
        if registry.get(engine).rating is not None:
            continue
        if ask is not None and (typed := _typed_rating(engine, ask)):
            found[engine] = typed
        else:
            lacking.append(engine)
    return found, tuple(lacking)


def _typed_rating(engine: str, ask: Callable[[str], str]) -> str:
    """Ask until the answer is a number or a grade, and return it as TOML; "" if nothing is typed."""
    while text := ask(engine).strip():
        if grades.parse(text) is not None:
            return json.dumps(text)
        with suppress(ValueError):
            number = float(text)
            if abs(number) <= LARGEST_RATING:
                return f"{number:.10g}"
    return ""


def starter_text(
    name: str,
    system: str,
    tc: str,
    engines: tuple[str, ...],
    games: int | None,
    play: Mapping[str, str | None],
    ratings: tuple[Mapping[str, str], tuple[str, ...]] = ({}, ()),
    names: tuple[str, ...] = (),
) -> str:
    """Return a configuration with the usual settings. The number of rounds is at most the number of opponents.

    Args:
        name: Name of the tournament.
        system: Name of the format.
        tc: Time control.
        engines: Ids of engine files, best first.
        games: Games per pairing. None means 1 in a FIDE Swiss and 2 in other formats.
        play: `openings` and `variant` of ``[play]``.
        ratings: As `known_ratings` returns them.
        names: As `new_names` returns them.
    """
    games = games or (1 if system in _SINGLE_GAMES else 2)
    openings, variant = play["openings"], play["variant"]
    lines = [
        "[tournament]",
        f"name = {json.dumps(name, ensure_ascii=False)}",
        "seed = 1",
        "",
        "[format]",
        f'system = "{system}"  # its settings: enginetour systems {system}',
        f"games_per_pairing = {games}" + "  # each opening with both colors" * (games % 2 == 0),
        *_format_lines(system, len(engines)),
        "",
        "[play]",
        f'tc = "{tc}"',
        "# concurrency = 2  # concurrent games",
        f"openings = {{ file = {json.dumps(openings, ensure_ascii=False)} }}"
        if openings
        else '# openings = { file = "book.epd" }  # default: bundled openings',
        *([] if variant == "standard" else [f"variant = {json.dumps(variant)}"]),
        "# draw = { movenumber = 40, movecount = 8, score = 10 }  # adjudication; score in centipawns",
        "# resign = { movecount = 4, score = 600 }",
        '# tablebases = { path = "syzygy" }',
        "",
        f"# {_ENTRANTS.get(system, 'Entrants, best first.')}",
        *_entrant_lines(engines, ratings, names),
        "# [[entrants]]  # an engine without an engine file",
        '# name = "My engine"',
        '# command = ["./my-engine"]',
        '# protocol = "uci"  # or "cecp"',
    ]
    return "\n".join(lines) + "\n"


def _format_lines(system: str, entrants: int) -> Iterator[str]:
    model = options_model(system)
    for key, field in model.model_fields.items():
        if key == "rounds" and field.default > (most := model.most_rounds(entrants)):
            yield f"rounds = {most}  # the largest number for {entrants} entrants"
        elif key in _MAIN_SETTINGS:
            yield f"# {key} = {json.dumps(field.default)}"
    if system == "adaptive":
        yield "goal = { error = 20 }  # or { los = 0.95 }, { top = 3, los = 0.95 }"
        yield "# hours = 8.0  # sum of the durations of all games"
    if system == "match":
        yield "# sprt = { elo0 = 0, elo1 = 5 }  # sequential test; games is the largest number of games"


def _entrant_lines(
    engines: tuple[str, ...], ratings: tuple[Mapping[str, str], tuple[str, ...]], names: tuple[str, ...]
) -> Iterator[str]:
    known, lacking = ratings
    for engine, name in zip_longest(engines, names):
        yield "[[entrants]]"
        yield f"engine = {json.dumps(engine)}"
        if name:
            yield f"name = {json.dumps(name, ensure_ascii=False)}"
        if engine in known:
            yield f"rating = {known[engine]}"
        elif engine in lacking:
            yield '# rating = 2000  # or a Go grade such as "6k"'


def entrant_sections(engines: Mapping[str, Any], folder: Path) -> dict[str, dict[str, Any]]:
    """Return a section ``[[entrants]]`` for each engine version of a database that can play on this machine.

    An engine has its engine file if there is one with its name, otherwise the command with which it played. The options
    are those with which it played. Of several versions with the same name, only the newest one can play.

    Args:
        engines: Rows of engine versions by name.
        folder: Directory of the configuration.
    """
    files = {entry.name: entry for entry in reversed(of_workspace(workspace_of(folder)).entries())}
    found: dict[str, dict[str, Any]] = {}
    newest: dict[str, int] = {}
    for row in engines.values():
        newest[row.name] = max(row.id, newest.get(row.name, 0))
    for name, row in engines.items():
        if row.id != newest[row.name]:
            continue
        options = dict(row.options)
        if (entry := files.get(row.name)) is not None:
            with suppress(EngineRefused):
                own = dict(to_spec(entry).options)
                found[name] = {"engine": entry.id, "name": row.name} | (
                    {"options": options} if options not in ({}, own) else {}
                )
        elif row.command and row.protocol and find_program(row.command[0], folder) is not None:
            section = {"name": row.name, "command": list(row.command), "protocol": row.protocol}
            found[name] = section | ({"options": options} if options else {})
    return found


def free_name(name: str, store: Store) -> str:
    """Return the name of a new tournament: `name`, with a number if the database has tournaments of that name."""
    numbered = (f"{name} {number}" if number > 1 else name for number in count(1))
    return next(each for each in numbered if not store.has(each))


def draft_pairs(
    name: str, pairs: Sequence[tuple[str, str]], sections: Mapping[str, Mapping[str, Any]], *, games: int, tc: str
) -> ConfigDraft:
    """Return a configuration that plays these pairs, with `games` games for each pair.

    `sections` has the entrants by the names in `pairs`, as `entrant_sections` returns them.
    """
    names = [*dict.fromkeys(chain.from_iterable(pairs))]
    plain = {each: str(sections[each]["name"]) for each in names}
    format_ = {"system": "roundrobin", "games_per_pairing": games, "pairs": [[plain[a], plain[b]] for a, b in pairs]}
    remark = f"The games that reduce the errors of the list most per hour, chosen by enginetour next: {name}"
    return ConfigDraft(
        {"name": name, "seed": 1}, format_, tuple(sections[each] for each in names), {"tc": tc}, (remark,)
    )


def write_draft(draft: ConfigDraft, path: Path, words: Mapping[str, str] | None = None) -> None:
    """Write a draft and validate it; remove the file if it is not valid.

    Args:
        draft: The configuration.
        path: A file that does not exist yet.
        words: Texts that the user typed, for error messages. Their keys are a key of the file (``tc``), a key of the
            n-th entrant (``1.tc``), any key of this entrant (``1.``), or any key of the file (``*``).
    """
    text, fresh = draft.text(), not path.parent.exists()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_new(path, text)
    except FileExistsError:
        raise UsageRefused("file already exists", place=str(path), step="choose another name") from None
    try:
        load(path)
    except BaseException as error:
        remove_draft(path, with_folder=fresh)
        if isinstance(error, TourError):
            locate_typed(error, path, text, words or {})
        raise


_MOST_FILES = 1000  # maximum number of configurations with the same name


def write_match(draft: ConfigDraft, folder: Path, words: Mapping[str, str] | None = None) -> tuple[Path, bool]:
    """Write the configuration of a match into a directory. Return its file, and whether it is new.

    Equal configurations have the same file.
    """
    from enginetour.tournament.config.quickmatch import with_number

    for number in range(1, _MOST_FILES):
        numbered = with_number(draft, number)
        path = folder / f"{_file_name(str(numbered.tournament['name']))}.toml"
        if not path.exists():
            write_draft(numbered, path, words)
            return path, True
        text = path.read_text(encoding="utf-8", errors="replace")
        if numbered.text() in (text, current_text(text)):
            return path, False
    what = f"has {_MOST_FILES} configurations of this name already"
    raise UsageRefused(what, place=str(folder), step="choose another name with --name")


def _file_name(title: str) -> str:
    """Convert a name to a safe file name: lower case ``[a-z0-9._-]``, 1 to 64 characters, without a leading dot."""
    return re.sub(r"[^a-z0-9._-]+", "-", title.lower()).strip("-.")[:64] or "tournament"


def remove_draft(path: Path, *, with_folder: bool) -> None:
    """Remove a draft that is not valid, and the directory that was made for it."""
    path.unlink()
    if with_folder:
        with suppress(OSError):  # the directory now contains other files
            path.parent.rmdir()


def locate_typed(error: TourError, path: Path, text: str, words: Mapping[str, str]) -> None:
    """Replace line numbers of a generated file in an error by what the user typed, if this is known."""

    def typed(found: re.Match[str]) -> str:
        return _typed_at(int(found[1]), text.splitlines(), words) or found[0]

    line = re.compile(rf"(?:{re.escape(str(path))}|\b{re.escape(path.name)}):(\d+)")
    error.place, error.what, error.step = (line.sub(typed, part) for part in (error.place, error.what, error.step))


def _typed_at(number: int, lines: Sequence[str], words: Mapping[str, str]) -> str:
    if not 0 < number <= len(lines):
        return ""
    key = re.match(r"[\w-]*", lines[number - 1])
    entrant = lines[:number].count("[[entrants]]")
    names = [f"{entrant}.{key and key[0]}", f"{entrant}."] if entrant else [key[0] if key else ""]
    return next((words[name] for name in (*names, "*") if name in words), "")
