"""Write a new configuration: the starter text of `enginetour init`, and drafts that commands make and validate."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from enginetour.engines.registry import of_workspace, to_spec
from enginetour.formats.base import make_format, options_model
from enginetour.formats.pairing.field import Member
from enginetour.interop.toml import ConfigDraft, unique_names
from enginetour.model.errors import EngineRefused, TourError, UsageRefused, suggest
from enginetour.model.timecontrol import TimeControl
from enginetour.ratings import grades
from enginetour.store.address import workspace_of
from enginetour.tournament.config.entrants import refuse_limits
from enginetour.tournament.config.load import load
from enginetour.tournament.config.sections import LARGEST_RATING

if TYPE_CHECKING:
    from enginetour.formats.rounds import Rounds

_WRENS = ("wren6", "wren5", "wren4", "wren3", "wren2", "wren1")
_ONE_PLY = "Elo of the bundled engines at one ply, average 1500"  # a round robin of twelve games a pair
_RATINGS = {"wren8": 1616, "wren7": 1609, "wren6": 1376, "wren5": 1583, "wren4": 1276, "wren3": 1119} | {
    "wren2": 1022,
    "wren1": 827,
}


def chosen_engines(named: tuple[str, ...], system: str, tc: TimeControl, folder: Path) -> tuple[str, ...]:
    """The engine files of a new configuration, those of our own where none are named.

    UsageRefused for a name without a file; InputRefused for one that does not obey the control. Whether its program is
    installed is for ``check`` to say.
    """
    registry = of_workspace(workspace_of(folder))
    for unknown in (engine for engine in named if engine not in registry.ids):
        step = "enginetour engines list names those with a file"
        raise UsageRefused(
            f"there is no engine {unknown!r}{suggest(unknown, registry.ids)}", place="--engine", step=step
        )
    chosen = named or _WRENS[: 2 if system == "match" else None]
    for engine in chosen:
        with suppress(EngineRefused):
            refuse_limits(to_spec(registry.get(engine)), tc, "--tc")
    return chosen


def new_names(engines: tuple[str, ...], folder: Path) -> tuple[str, ...]:
    """For each engine the name to write, where another one before it has that of its engine file; "" elsewhere."""
    registry = of_workspace(workspace_of(folder))
    own = [registry.get(engine).name for engine in engines]
    firsts = [engines[own.index(name)] for name in own]  # of several files with one name the first keeps it
    apart = [
        name if first == engine else f"{name} ({engine})"
        for name, first, engine in zip(own, firsts, engines, strict=True)
    ]
    return tuple(new if new != name else "" for new, name in zip(unique_names(apart), own, strict=True))


def uses_ratings(system: str) -> bool:
    """Whether the system starts entrants by their ratings, or pairs no field in which one lacks a rating."""
    from enginetour.formats.rounds import Rounds  # here: a configuration is written before a match starts

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
    """The ratings to write by engine, as TOML with a comment, and the engines that still need one.

    Bundled engines have a rating among themselves, and engine files that have one need none here. `ask` returns what
    the user types for an engine, "" for nothing; without it nobody is asked.
    """
    if set(engines) <= set(_RATINGS):
        return {engine: f"{_RATINGS[engine]}  # {_ONE_PLY}" for engine in engines}, ()
    registry, found = of_workspace(workspace_of(folder)), dict[str, str]()
    lacking: list[str] = []
    for engine in engines:
        if registry.get(engine).rating is not None:
            continue
        if ask is not None and (typed := _typed(engine, ask)):
            found[engine] = typed
        else:
            lacking.append(engine)
    return found, tuple(lacking)


def _typed(engine: str, ask: Callable[[str], str]) -> str:
    """A number or a grade in quotes, as TOML; asked again until it is one of them, "" if nothing is typed."""
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
    games: int,
    play: Mapping[str, str | None],
    ratings: tuple[Mapping[str, str], tuple[str, ...]] = ({}, ()),
    names: tuple[str, ...] = (),
) -> str:
    """Every setting that is not default is there, the others as comments; rounds are no more than opponents.

    `ratings` are as `known_ratings` finds them, `names` as `new_names` does.
    """
    lines = [
        "[tournament]",
        f"name = {json.dumps(name, ensure_ascii=False)}",
        "seed = 1  # of openings and all other chance",
        "",
        "[format]",
        f'system = "{system}"  # enginetour systems {system}',
        f"games_per_pairing = {games}  # 2: each opening with both colours",
    ]
    lines += _format_lines(system, len(engines))
    lines += [
        "",
        "[play]",
        f'tc = "{tc}"',
        '# black_tc = "8+0.1"  # with Black another clock, as in Armageddon; white_tc is the same for White',
        "# ponder = true  # engines think in their opponents' time too",
        '# pgn = ["nodes", "nps", "pv"]  # comments of moves tell these too, or "all": enginetour export --help',
        '# eco = "eco.pgn"  # codes of ECO and names of openings in the PGN, by the file that pgn-extract brings along',
        "# log_traffic = true  # what engines are told and say, a file a game",
        '# speed = "measure"  # clocks by the speed of this machine',
        "# slots = 1  # games at once",
        "# affinity = true  # engines on cores of their own; false: anywhere, in quick games too",
        '# restart = "on"  # a new process for each game; "auto" after an abnormal end, "off" after a death only',
        "# draw = { after_move = 40, moves = 8, score = 10 }  # both within 10 centipawns for 8 moves each,",
        "#   without a capture or a pawn move in between: each starts the count again",
        "# resign = { moves = 4, score = 600 }  # the opponent must agree, unless two_sided = false",
        '# tablebases = { path = "syzygy" }  # what they know is played no further',
        f"openings = {{ file = {json.dumps(play['openings'], ensure_ascii=False)} }}"
        if play["openings"]
        else '# openings = { file = "suite.epd", order = "random" }  # default: the small suite we ship',
        '# in it per = "encounter": each match has a fresh one; "pairing": all pairs play the same ones',
        f"{'# ' if play['variant'] == 'standard' else ''}variant = {json.dumps(play['variant'])}  # chess960, ...",
        "",
        "[ratings]",
        '# systems = ["ml", "elo", "gor", "egf", "egf2021"]',
        '# anchor = { "Name" = 2800 }',
        "# [ratings.gor]  # settings of a system that systems names; elo, egf and egf2021 have theirs",
        "# start_value = 1500  # of engines that bring no rating; without it GoR starts them at 100, its floor",
        "# inherit = true  # a new version starts from the rating of its predecessor",
        "",
        "# [notify]  # when it has finished or stopped, at incidents, suspended engines and a full disk",
        '# command = ["./tell-me"]  # the event as JSON on stdin, and in ENGINETOUR_EVENT, ENGINETOUR_TEXT, ...',
        '# webhook = "https://example.org/hook"  # the same JSON by POST',
        "",
        "# [report]  # pages to look at in a browser, written at the end of a run",
        "# write = false  # only when asked for: enginetour report",
        "",
        "# The old ranking, best first; a bubble starts at the lower end.",
    ]
    lines += _entrant_lines(engines, ratings, names)
    lines += [
        "# [[entrants]]",
        '# name = "My engine dev"',
        '# command = ["./my-engine"]',
        '# protocol = "uci"  # or "cecp"',
        '# tc = "5+0.05"  # of its own, and so white_tc and black_tc; tc_factor = 0.5 halves what it has',
        "# options = { Hash = 64, Threads = 1 }",
    ]
    return "\n".join(lines) + "\n"


def _format_lines(system: str, entrants: int) -> Iterator[str]:
    model = options_model(system)
    for key, field in model.model_fields.items():
        if key == "rounds" and field.default > (most := model.most_rounds(entrants)):
            yield f"rounds = {most}  # Number of rounds; {entrants} entrants can play at most {most}."
        elif key != "games_per_pairing":
            shown = "..." if field.default is None else json.dumps(field.default)
            yield f"# {key} = {shown}  # {field.description}"


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
            yield '# rating = 2000  # a number, or a grade of Go such as "6k"'


def write_draft(draft: ConfigDraft, path: Path, words: Mapping[str, str] | None = None) -> None:
    """Write and validate it; a refusal takes the file away again.

    `words` has for a key, for one of the n-th entrant (``1.tc``), for that entrant (``1.``) or for all (``*``) what was
    typed on the command line: refusals are told with it.
    """
    text, fresh = draft.text(), not path.parent.exists()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as sink:
            sink.write(text)
    except FileExistsError:
        raise UsageRefused("there is a file already", place=str(path), step="choose another name") from None
    try:
        load(path)
    except BaseException as error:
        remove_draft(path, with_folder=fresh)
        if isinstance(error, TourError):
            locate_typed(error, path, text, words or {})
        raise


def remove_draft(path: Path, *, with_folder: bool) -> None:
    """The file of what is refused, and the folder that was made for it."""
    path.unlink()
    if with_folder:
        with suppress(OSError):  # somebody else has put something there
            path.parent.rmdir()


def locate_typed(error: TourError, path: Path, text: str, words: Mapping[str, str]) -> None:
    """A refusal that names lines of a file written by a command tells what was typed instead, where that is known."""

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
