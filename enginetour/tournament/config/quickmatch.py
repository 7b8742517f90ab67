"""Draft the configuration of `enginetour match` from engines (id, name or command) and typed settings."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os.path import abspath
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

from enginetour.engines.registry import Registry, find_program, no_program
from enginetour.interop.toml import ConfigDraft, absolute_if_exists, read_option, read_value, unique_names
from enginetour.model.errors import InputRefused, UsageRefused, suggest
from enginetour.model.renamed import rename_keys
from enginetour.model.task import EngineSpec, ProbeResult
from enginetour.ratings.sequential import OPEN_GAMES
from enginetour.tournament.config.sections import LONGEST_NAME, EntrantSection

LONGEST = 64  # characters of a name
SHORT = 24  # characters; a longer name with arguments keeps only the arguments that the other engines lack
# Programs whose arguments contain the program to run.
_INTERPRETER = re.compile(
    r"(python|pypy|perl|ruby|lua|node|java|mono|dotnet|wine|bash|sh|env)[\d.]*|(io)?nice|taskset|chrt|numactl|stdbuf|timeout"
)
_SUFFIX = re.compile(r"(?<=.)\.[A-Za-z]{1,5}$")  # a file suffix; the end of stockfish-16.1 is not one


@dataclass(frozen=True, slots=True)
class _EngineName:
    """The parts from which the name of an engine with a command is made.

    Attributes:
        short: File name of the program without its suffix.
        words: Arguments of the program.
        folders: Names of the directories of the program, nearest first.
        file: File name of the program.
    """

    short: str
    words: str = ""
    folders: tuple[str, ...] = ()
    file: str = ""


def _callname(command: Sequence[str], base: Path) -> _EngineName:
    """Return the name of a command that was typed in the directory `base`.

    It is the name of the program, or of the program that an interpreter runs.
    """
    place = 0
    if len(command) > 1 and _INTERPRETER.fullmatch(Path(command[0]).name):
        files = (number for number, word in enumerate(command) if number and (base / word).is_file())
        plain = [number for number, word in enumerate(command) if number and not re.match("-|.*=", word)]
        named = (number for number in plain if not _INTERPRETER.fullmatch(command[number]))
        programs = (number for number in named if find_program(command[number], base))  # excludes the 5 of nice -n 5
        place = next(files, next(programs, next(iter(plain), 0)))
    file = Path(command[place])
    found = None if place else find_program(command[0], base)
    parents = Path(found or abspath(base / file)).parents  # noqa: PTH100 - symbolic links stay as typed
    words = " ".join(" ".join(command[place + 1 :]).split())
    short = _SUFFIX.sub("", file.name)[:LONGEST]
    return _EngineName(short, words, tuple(parent.name for parent in parents), file.name[:LONGEST])


def _full_names(names: Sequence[_EngineName]) -> list[str]:
    """Return a name for each engine that distinguishes it from the others.

    Engines with the same short name get the file suffix (``sf.old``, ``sf.new``); if that is not enough, they get their
    arguments, then a directory (``sf (old)``). Long arguments are shortened: ``sf --net nets/a.nnue --threads 4`` and
    ``sf --net nets/b.nnue --threads 4`` become ``sf a.nnue`` and ``sf b.nnue``.
    """
    files = {name.short: {one.file for one in names if one.short == name.short} for name in names}
    shown = [(name.file if len(files[name.short]) > 1 else "") or name.short for name in names]
    full = [_with_words(word, name, alike) for word, name, alike in _alike(shown, names)]
    return [_cut(text, _folder(name, alike)) for text, name, alike in _alike(full, names)]


def _alike(
    shown: Sequence[str], names: Sequence[_EngineName]
) -> Iterator[tuple[str, _EngineName, Sequence[_EngineName]]]:
    """Yield each shown name with its engine and all engines that have this shown name."""
    for word, name in zip(shown, names, strict=True):
        yield word, name, [one for one, other in zip(names, shown, strict=True) if other == word]


def _with_words(shown: str, name: _EngineName, alike: Sequence[_EngineName]) -> str:
    if len(alike) == 1:
        return shown
    whole = f"{shown} {name.words}".strip()
    if len(whole) <= SHORT:
        return whole
    others = [set(one.words.split()) for one in alike if one.words != name.words]
    own = [word for word in name.words.split() if not all(word in other for other in others)]
    last = " ".join(word.rstrip("/").rpartition("/")[2] or word for word in own)
    return f"{shown} {last}"[: max(SHORT, len(shown))].strip()


def _folder(name: _EngineName, alike: Sequence[_EngineName]) -> str:
    """Return the nearest directory name that distinguishes these engines, or "" if none distinguishes them all."""
    places = {one.folders for one in alike}
    for level, nearest in enumerate(zip(*places, strict=False)):
        if len(set(nearest)) > 1:
            return name.folders[level] if len(set(nearest)) == len(places) else ""
    return ""


def _cut(name: str, folder: str) -> str:
    mark = f" ({folder})" if folder else ""
    return (name[: max(0, LONGEST - len(mark))].strip() + mark)[:LONGEST].strip()


_Detect = Callable[[Sequence[tuple[str, ...]], str | None, Path], list[tuple[EngineSpec, ProbeResult]]]
_BETWEEN = re.compile(r",\s*(?=\w+=)")  # a comma between KEY=VALUE items
_PARTED = frozenset({"path"})  # list settings that parse a text themselves, such as directories separated as in PATH
MOST_NAMED = 3  # engines in the name of a tournament


@dataclass(frozen=True, slots=True)
class MatchRequest:
    """What the user typed for a match.

    Attributes:
        engines: Ids, names or commands.
        play: Settings of ``[play]``.
        games: Games of the match, or of each pairing.
        sprt: Settings of the sequential test.
        error: Error of the Elo difference at which the match ends, in Elo.
        system: Format of a tournament of more than two engines.
        seeds: Number of gauntlet engines.
        options: Engine options, ``NAME=VALUE`` or ``ENGINE.NAME=VALUE``.
        settings: Keys of entrants, in the same form.
        name: Name of the tournament; "" to use the names of the engines.
        seed: Random seed.
    """

    engines: tuple[str, ...]
    play: Mapping[str, Any] = field(default_factory=dict)
    games: int | None = None
    sprt: Mapping[str, Any] | None = None
    error: float | None = None
    system: str | None = None
    seeds: int | None = None
    options: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    name: str = ""
    seed: int = 1


@dataclass(frozen=True, slots=True)
class _MatchEngine:
    """An engine of the match with its section. `called` are the names that ENGINE can be in ``ENGINE.NAME=VALUE``."""

    name: _EngineName
    section: Mapping[str, Any]
    called: frozenset[str]


def draft_match(asked: MatchRequest, registry: Registry, base: Path, detect: _Detect) -> ConfigDraft:
    """Return the configuration of a match. Commands are started once to detect their protocols."""
    if len(asked.engines) < 2:
        found = f"found {len(asked.engines)}" if asked.engines else "found none"
        raise UsageRefused(f"a match needs at least two engines ({found})", step="give them by id, name or command")
    seats = _seats(asked.engines, registry, base, detect)
    names = unique_names(_full_names([seat.name for seat in seats]))
    entrants: list[dict[str, Any]] = []
    for seat, name in zip(seats, names, strict=True):
        named = {} if name == seat.name.short and "engine" in seat.section else {"name": name}
        entrants.append({**named, **seat.section})
    seats = [replace(seat, called=_called(seat, name, names)) for seat, name in zip(seats, names, strict=True)]
    for text in asked.options:
        for number, key, value in _meant(text, seats, "--option"):
            entrants[number].setdefault("options", {})[key] = absolute_if_exists(read_option(value), base)
    for text in asked.settings:
        for number, key, value in _meant(text, seats, "--entrant"):
            table, _, inner = key.partition(".")
            if inner and _is_table(EntrantSection, table):  # resources.memory=200, as in TOML
                added = parse_setting(EntrantSection, table, f"{shlex.quote(inner)}={shlex.quote(value)}")
                before = entrants[number].get(table)
                entrants[number][table] = {**before, **added} if isinstance(before, dict) else added
            else:
                entrants[number][key] = parse_setting(EntrantSection, key, value)
    names = [str(entrant.get("name", seat.name.short)) for entrant, seat in zip(entrants, seats, strict=True)]
    shown = names if len(names) <= MOST_NAMED else [*names[: MOST_NAMED - 1], f"{len(names) - MOST_NAMED + 1} more"]
    name = asked.name or " vs ".join(shown)[:LONGEST_NAME].strip()
    tournament = {"name": name, "seed": asked.seed}
    drafted, previous = rename_keys({"play": dict(asked.play), "entrants": entrants})
    if any(key.both for key in previous):  # the loader reports it
        drafted = {"play": asked.play, "entrants": entrants}
    format_ = _format(asked, len(entrants))
    return ConfigDraft(tournament, format_, tuple(drafted["entrants"]), drafted["play"]).anchored(base)


def parse_setting(section: type[BaseModel], key: str, text: str) -> Any:
    """Parse the text of a setting by its type: text, a list, a number, true or false, or ``movecount=8 score=10``."""
    if key not in section.model_fields:
        return parse_value(text)
    kind = _kind(section.model_fields[key].annotation)
    if kind is str:
        return text
    if is_list(section, key):
        words = _kind(get_args(kind)[0]) is str
        return [part if words else read_value(part) for part in _parts(text)]
    table = _table(text)
    if table is not None and isinstance(kind, type) and issubclass(kind, BaseModel):
        return {name: parse_setting(kind, name, value) for name, value in table.items()}
    return table if table is not None and kind == dict[str, str] else parse_value(text)


def is_list(section: type[BaseModel], key: str) -> bool:
    """Return whether a setting takes several values, written ``nodes,pv`` on a command line."""
    return key not in _PARTED and get_origin(_kind(section.model_fields[key].annotation)) is tuple


def _is_table(section: type[BaseModel], key: str) -> bool:
    """Return whether a setting is a table of keys."""
    kind = _kind(section.model_fields[key].annotation) if key in section.model_fields else None
    return get_origin(kind) is dict or (isinstance(kind, type) and issubclass(kind, BaseModel))


def _kind(annotation: object) -> object:
    """Return the only type that an annotation allows in addition to None, or None if it allows several types."""
    parts = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else [annotation]
    kinds = {get_args(part)[0] if get_origin(part) is Annotated else part for part in parts} - {type(None)}
    return kinds.pop() if len(kinds) == 1 else None


def parse_value(text: str) -> Any:
    """Parse ``50``, ``true``, text, ``[2, 4]``, or a table such as ``movecount=8 score=10``."""
    if (table := _table(text)) is not None:
        return {key: read_value(value) for key, value in table.items()}
    if text.startswith("[") and text.endswith("]"):
        return [read_value(part) for part in _parts(text)]
    return read_value(text)


def _table(text: str) -> dict[str, str] | None:
    try:
        words = shlex.split(_BETWEEN.sub(" ", text))
    except ValueError:  # an unbalanced quote
        return None
    if not words or not all("=" in word and not word.startswith("=") for word in words):
        return None
    return {key: value for key, _, value in (word.partition("=") for word in words)}


def _parts(text: str) -> list[str]:
    listed = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    return [part.strip() for part in listed.split(",") if part.strip()]


def with_number(draft: ConfigDraft, number: int) -> ConfigDraft:
    """Return the draft with a number appended to its tournament name, or unchanged for the number 1."""
    if number == 1:
        return draft
    mark = f" ({number})"
    name = str(draft.tournament["name"])[: LONGEST_NAME - len(mark)] + mark
    return replace(draft, tournament={**draft.tournament, "name": name})


def _format(asked: MatchRequest, count: int) -> dict[str, Any]:
    system = asked.system or ("match" if count == 2 else "roundrobin")
    settings: dict[str, Any] = {"system": system}
    ends = {key: value for key, value in (("sprt", asked.sprt), ("error", asked.error)) if value is not None}
    if ends and system != "match":
        option = next(iter(ends))
        what = "a test needs exactly two engines" if option == "sprt" else "a target error needs exactly two engines"
        raise UsageRefused(what, place=f"--{option}", step=f"give two engines, or remove --{option}")
    if asked.seeds is not None and system != "gauntlet":
        raise UsageRefused("seeds can only be used with a gauntlet", place="--seeds", step="add --format gauntlet")
    if system == "match":
        settings["games"] = asked.games or (OPEN_GAMES if ends else 100)
        if ends:
            settings |= ends
        elif settings["games"] % 2:  # no game pairs: each game has its own opening
            settings["games_per_pairing"] = 1
        return settings
    settings["games_per_pairing"] = asked.games or 2
    if asked.seeds is not None:
        settings["seeds"] = asked.seeds
    return settings


def _seats(words: Sequence[str], registry: Registry, base: Path, detect: _Detect) -> list[_MatchEngine]:
    """Return an engine for each word. Engines without an engine file are started together to detect their protocols."""
    known = {word: registry.get(word) for word in words if word in registry.paths}
    if any("/" not in word or find_program(word, base) is None for word in words if word not in known):
        known = {entry.name: entry for entry in reversed(registry.entries())} | known
    commands = [_command(word, registry, base) for word in words if word not in known]
    found = zip(commands, detect(commands, None, base), strict=True)
    seats = []
    for word in words:
        if (entry := known.get(word)) is not None:
            seats.append(
                _MatchEngine(_EngineName(entry.name), {"engine": entry.id}, frozenset({word, entry.id, entry.name}))
            )
            continue
        command, (spec, _) = next(found)
        name = _callname(command, base)
        section = {"command": list(spec.command), "protocol": spec.protocol}
        seats.append(_MatchEngine(name, section, frozenset({word, name.short, Path(command[0]).name})))
    return seats


def _command(word: str, registry: Registry, base: Path) -> tuple[str, ...]:
    try:
        is_program = "/" in word and find_program(word, base) is not None  # its path may contain a space
        command = (word,) if is_program else tuple(shlex.split(word))
    except ValueError as error:
        raise UsageRefused(f"is not a valid command line: {error}", place=word) from None
    if not command or find_program(command[0], base) is None:
        if command and (there := no_program(command[0], base)):
            raise InputRefused(there, place="match")
        known = suggest(word, registry.ids)
        hint = known if known.startswith(", did") else ""
        step = "list the engine files: enginetour engines list"
        raise InputRefused(f"{word!r} is not an engine file or a program{hint}", place="match", step=step)
    return command


def _called(seat: _MatchEngine, name: str, names: Sequence[str]) -> frozenset[str]:
    if "command" in seat.section and seat.name.short != name and seat.name.short in names:
        return seat.called - {seat.name.short} | {name}
    return seat.called | {name}


def _meant(text: str, seats: Sequence[_MatchEngine], option: str) -> list[tuple[int, str, str]]:
    """Return (engine, key, value) for the engine before the dot, given by name or number, or for all engines."""
    left, equals, value = text.partition("=")
    if not equals or not left:
        step = f'write {option} "ENGINE.NAME=VALUE", or NAME=VALUE for all'
        raise UsageRefused(f"no value in {text!r}", place=option, step=step)
    named = [(name, number) for number, seat in enumerate(seats) for name in {*seat.called, str(number + 1)}]
    for name, number in sorted(named, key=lambda one: (-len(one[0]), *one)):  # sf.dev is tried before sf
        if left.casefold().startswith(f"{name.casefold()}."):
            same = [n for n, other in enumerate(seats) if name in other.called or n == number]
            return [(n, left[len(name) + 1 :], value) for n in same]
    word, dot, key = left.partition(".")
    begun = [
        n for n, seat in enumerate(seats) if any(name.casefold().startswith(word.casefold()) for name in seat.called)
    ]
    if dot and word and key and len(begun) == 1:
        return [(begun[0], key, value)]
    if dot and word.isdecimal():
        raise UsageRefused(
            f"engine {word} does not exist (found {text!r})", place=option, step=f"use 1 to {len(seats)}"
        )
    return [(n, left, value) for n in range(len(seats))]
