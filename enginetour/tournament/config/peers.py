"""Commands of cutechess-cli and fastchess, translated into a configuration.

theirs                                    ours
-sprt without model                       normalized (fastchess), logistic (cutechess)
-openings without order                   sequential
no timemargin=                            margin_ms = 0
a threshold of 0 that switches a rule off no rule
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enginetour.interop.toml import ConfigDraft, read_value, unique_names
from enginetour.model.errors import InputRefused, TourError, UsageRefused
from enginetour.tournament.config.peeroptions import (
    ELSEWHERE,
    PLACE,
    SHOWN,
    VARIANTS,
    PeerEngine,
    PeerOption,
    PeerSchedule,
    Program,
    log,
    openings,
    parse_command,
    pgn_comments,
    tablebases,
)

if TYPE_CHECKING:
    from enginetour.engines.registry import Registry


# Configurations written by commands: a file that is not valid is removed.


def write_draft(draft: ConfigDraft, path: Path, words: Mapping[str, str] | None = None) -> None:
    """Write and validate it; a refusal takes the file away again.

    `words` has for a key, for one of the n-th entrant (``1.tc``), for that entrant (``1.``) or for all (``*``) what was
    typed on the command line: refusals are told with it.
    """
    from enginetour.tournament.config import load as config

    text, fresh = draft.text(), not path.parent.exists()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as sink:
            sink.write(text)
    except FileExistsError:
        raise UsageRefused("there is a file already", place=str(path), step="choose another name") from None
    try:
        config.load(path)
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
    """What wrote that line; "" where nothing did."""
    if not 0 < number <= len(lines):
        return ""
    key = re.match(r"[\w-]*", lines[number - 1])
    entrant = lines[:number].count("[[entrants]]")
    names = [f"{entrant}.{key and key[0]}", f"{entrant}."] if entrant else [key[0] if key else ""]
    return next((words[name] for name in (*names, "*") if name in words), "")


def known_keys() -> dict[str, frozenset[str]]:
    """The keys this version has, by section."""
    from enginetour.openings.choice import OpeningSettings
    from enginetour.tournament.config.sections import EntrantSection, PlaySection

    return {
        "play": frozenset(PlaySection.model_fields),
        "openings": frozenset(OpeningSettings.model_fields),
        "entrants": frozenset(EntrantSection.model_fields),
    }


def _id_of(registry: Registry, name: str) -> str | None:
    """The engine file of an id or of an engine's name."""
    if name in registry.paths:
        return name
    return next((entry.id for entry in registry.entries() if entry.name == name), None)


def from_command(text: str, file: Path, name: str | None) -> tuple[str, ...]:
    """Write the configuration that says what a command of cutechess-cli or fastchess says; what it could not say.

    Paths of the command begin here, in the folder where it would have been run.
    """
    from enginetour.engines.registry import of_workspace
    from enginetour.tournament.config.workspace import workspace_of

    registry = of_workspace(workspace_of(Path.cwd()))
    draft, said = translate_command(text, name or file.stem, lambda wanted: _id_of(registry, wanted))
    if name:  # goes before -event
        draft = replace(draft, tournament={**draft.tournament, "name": name})
    draft, gone = draft.without_unknown(known_keys())
    said = (*said, *(f"{key}: this version has no such setting, left out" for key in gone))
    if file.parent.resolve() != Path.cwd().resolve():
        draft = draft.anchored(Path.cwd())
    write_draft(draft, file, {"*": PLACE})
    return said


# Translate a command of cutechess-cli or fastchess; unsupported options are listed.

LONGEST_NAME = 64  # characters of [tournament] name
_LONGEST_MARGIN = 60_000  # ms
_MOST_MOVES = 2_000
_ADDING = ("draw", "resign", "openings", "sprt")  # given again, fastchess adds to what it has


@dataclass(slots=True)
class _Translation:
    """What was understood so far."""

    program: Program
    engines: list[PeerEngine] = field(default_factory=list)
    each: list[str] = field(default_factory=list)
    numbers: dict[str, str] = field(default_factory=dict)  # -games, -rounds, ... as given
    tournament: dict[str, Any] = field(default_factory=dict)
    format: dict[str, Any] = field(default_factory=dict)
    play: dict[str, Any] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    recovers: bool = False
    by_games: bool = False  # its test counts games, not pairs
    has_epd: bool = False  # its suite is said to be one
    srand: str = ""


def translate_command(
    text: str, name: str, find_id: Callable[[str], str | None]
) -> tuple[ConfigDraft, tuple[str, ...]]:
    """The configuration, and what was left out or is other than there, a line each.

    `name` is the tournament's without ``-event``; `find_id` gives our engine file of a name in their list.
    """
    program, options, around = parse_command(text)
    reading = _Translation(program, said=list(around), by_games=program == "cutechess-cli")
    gathered: dict[str, tuple[str, ...]] = {}
    for given in options:
        if given.option in _ADDING:
            given = PeerOption(given.option, (*gathered.get(given.option, ()), *given.words))
            gathered[given.option] = given.words
        _take(reading, given)
    for engine in reading.engines:
        engine.take(reading.each)
    if len(reading.engines) < 2:
        unsaid = f" ({reading.said[0]})" if reading.said else ""
        what = f"{len(reading.engines) or 'no'} engine, a match needs two{unsaid}"
        raise InputRefused(what, place=PLACE, step="give -engine twice")
    _schedule(reading)
    entrants = _entrants(reading, find_id)
    _unsaid(reading)
    said = list(dict.fromkeys(reading.said))
    for engine in reading.engines:
        said += [line for line in engine.said if line not in said]
    tournament = {"name": name, "seed": 1, **reading.tournament}
    remarks = (f"from a command of {program}", *said)
    return ConfigDraft(tournament, reading.format, entrants, reading.play, remarks), tuple(said)


def _take(reading: _Translation, given: PeerOption) -> None:
    """One option of either program; those that are spelt alike mean the same in both."""
    option, play = given.option, reading.play
    words = " ".join((f"-{option}", *given.words))
    if option == "engine":
        engine = PeerEngine(reading.program)
        engine.take(given.words)
        reading.engines.append(engine)
    elif option == "each":
        reading.each += given.words
    elif option == "repeat" and reading.program == "fastchess":
        reading.numbers["games"] = given.first if len(given.words) == 1 and given.first.isdecimal() else "2"
    elif option in ("games", "rounds", "repeat", "seeds", "tbpieces"):
        reading.numbers[option] = given.first or "2"
    elif option in ("noswap", "reverse", "tbignore50", "tournament", "tb", "tbadjudicate"):
        reading.numbers[option] = given.first or "true"
    elif option == "openings":
        play["openings"] = openings(given, reading.said)
        reading.has_epd = given.values().get("format") == "epd"
    elif option in ("draw", "resign"):
        rule = _rule(option, given, reading)
        if rule is not None:
            play[option] = rule
    elif option == "sprt":
        model = "normalized" if reading.program == "fastchess" else "logistic"
        numbers = {key: _number("sprt", key, value) for key, value in given.values().items() if key != "model"}
        reading.format["sprt"] = {**numbers, "model": given.values().get("model", model)}
    elif option == "maxmoves":
        if given.first != "0":
            play["max_moves"] = _at_most(_MOST_MOVES, read_value(given.first), words, reading.said)
    elif option == "concurrency":
        play["slots"] = _slots(read_value(given.first), words, reading)
    elif option == "use-affinity":
        play["affinity"] = True
        if given.first:
            reading.said.append(
                f"{words}: cores are chosen here; taskset -c {given.first} enginetour run FILE limits them"
            )
    elif option == "srand":
        reading.srand = given.first
        reading.tournament["seed"] = int(given.first) % 2**63 if given.first.isdecimal() else 1
    elif option == "event":
        _named(" ".join(given.words), reading)
    elif option == "variant":
        if given.first != "standard":
            play["variant"] = VARIANTS.get(given.first, given.first)
    elif option in ("startup-ms", "ping-ms", "ucinewgame-ms"):
        quirk = "handshake_timeout" if option == "startup-ms" else "ready_timeout"
        reading.said.append(f"-{option} {given.first}: set {quirk} under quirks of an entrant, in seconds")
    elif option == "quick":
        _quick(reading, given)
    elif option == "pgnout":
        pgn_comments(given, reading.program, play, reading.said)
    elif option == "log":
        log(given, play, reading.said)
    else:
        _leave_out(option, words, reading)


def _leave_out(option: str, words: str, reading: _Translation) -> None:
    if option in ELSEWHERE:
        reading.said.append(f"{words}: {ELSEWHERE[option]}")
        reading.recovers |= option == "recover"
        reading.by_games |= words in ("-report penta=false", "-output format=cutechess")
    elif option in SHOWN:
        reading.said.append(f"{words}: it shows something and ends, left out")
    else:
        reading.said.append(f"{words}: no option of {reading.program} that is known here, left out")


def _rule(option: str, given: PeerOption, reading: _Translation) -> dict[str, Any] | None:
    """``-draw`` or ``-resign`` as our setting, their defaults where a word is missing; None: off."""
    values, said = given.values(), reading.said
    known = ("movenumber", "movecount", "score") if option == "draw" else ("movecount", "score", "twosided")
    said += [f"-{option} {key}={values[key]}: not known here, left out" for key in values if key not in known]
    if option == "draw":
        named = {"after_move": ("movenumber", "0"), "moves": ("movecount", "1"), "score": ("score", "0")}
    else:
        named = {"moves": ("movecount", "1"), "score": ("score", "0")}
    rule: dict[str, Any] = {
        ours: int(_number(option, key, values.get(key, usual))) for ours, (key, usual) in named.items()
    }
    switch = "movenumber" if option == "draw" else "movecount"
    if reading.program == "cutechess-cli" and _number(option, switch, values.get(switch, "1")) == 0:
        said.append(f"-{option} {switch}=0: cutechess-cli does not judge then, and neither do we")
        return None
    if option == "resign":
        rule["two_sided"] = values.get("twosided", "false") == "true"
        if rule["score"] == 0:
            said.append("-resign score=0: 1 is the least here")
            rule["score"] = 1
    return rule


def _at_most(most: int, value: Any, words: str, said: list[str]) -> Any:
    """`value`, or the most there can be here, which is said."""
    if not isinstance(value, int) or value <= most:
        return value
    said.append(f"{words}: {most} is the most here")
    return most


def _slots(count: Any, words: str, reading: _Translation) -> Any:
    """As given; of fastchess 0 and below are counted down from all processors."""
    if reading.program != "fastchess" or not isinstance(count, int) or count > 0:
        return count
    slots = max(1, (os.cpu_count() or 1) + count)
    reading.said.append(f"{words}: {slots} on this machine")
    return slots


def _named(name: str, reading: _Translation) -> None:
    if not name:
        return
    reading.tournament["name"] = name[:LONGEST_NAME].strip()
    if len(name) > LONGEST_NAME:
        reading.said.append(f"-event {name}: cut to {LONGEST_NAME} characters")


def _number(option: str, key: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputRefused(f"{key} is a number, found {text!r}", place=f"{PLACE}, -{option}") from None


def _quick(reading: _Translation, given: PeerOption) -> None:
    """The short form of fastchess: 25 000 pairs at 10+0.1 from a book, draws adjudicated."""
    for word in given.words:
        key, _, value = word.partition("=")
        if key == "cmd":
            engine = PeerEngine(reading.program)
            engine.take([word, "tc=10+0.1"])
            reading.engines.append(engine)
        elif key == "book":
            reading.play["openings"] = {"file": value, "order": "random"}
        else:
            reading.said.append(f"-quick {word}: not known here, left out")
    reading.numbers |= {"games": "2", "rounds": "25000"}
    reading.play["draw"] = {"after_move": 30, "moves": 8, "score": 8}
    reading.play["slots"] = _slots(-2, "-quick: all processors but two", reading)
    reading.recovers = True


def _schedule(reading: _Translation) -> None:
    """``[format]`` with its test, and how long an opening lasts."""
    schedule = PeerSchedule(reading.program, len(reading.engines), reading.numbers, reading.said)
    sprt = reading.format.pop("sprt", None)
    reading.format = schedule.format()
    if sprt is not None and reading.format["system"] == "match":
        reading.format["sprt"] = sprt
        reading.said.append("-sprt: bounds are drawn in by how far a step jumps over them, a run tells both")
        in_pairs = reading.format["games_per_pairing"] == 2 and sprt["model"] != "bayesian"
        if in_pairs and reading.by_games:
            here = "here pairs of games on one opening, with pairs = false games"
            reading.said.append(f"-sprt: {reading.program} counts games so; {here}")
    elif sprt is not None:
        reading.said.append("-sprt: a test is between two engines, left out")
    if openings := schedule.openings(reading.play.get("openings", {})):
        reading.play["openings"] = openings
    if "tb" in reading.numbers:
        reading.play["tablebases"] = tablebases(reading.numbers, reading.said)


def _unsaid(reading: _Translation) -> None:
    """What they do though no option says so, and is other than here."""
    play, said = reading.play, reading.said
    if "openings" not in play and "variant" not in play:
        said.append("without -openings they begin at the starting position; here the shipped suite is used")
    if not reading.recovers:
        said.append("without -recover they end with the first crash; here it is a loss, and the tournament goes on")
    if reading.program == "cutechess-cli" and any(engine.is_nameless for engine in reading.engines):
        said.append("without name= an engine has the name that it tells there, here that of its program")
    suite = play.get("openings", {})
    book = suite.get("file", "")
    if "max_moves" in play and reading.program == "fastchess" and book and not book.endswith(".epd"):
        said.append("-maxmoves: fastchess counts from the end of the opening, here its moves count")
    if reading.program == "cutechess-cli" and "draw" in play and (reading.has_epd or book.endswith(".epd")):
        said.append("-draw movenumber: cutechess-cli counts from the position of an EPD, here by its move numbers")
    if reading.program == "cutechess-cli" and ("draw" in play or "resign" in play):
        said.append("-draw, -resign: cutechess-cli takes bounds for scores, here exact scores alone count")
    if reading.srand and suite.get("order") == "random":
        said.append(f"-srand {reading.srand}: the order that it draws is another here")


def _entrants(reading: _Translation, find_id: Callable[[str], str | None]) -> tuple[Mapping[str, Any], ...]:
    """The engines in their order; what all share goes to [play]."""
    engines = reading.engines
    names = unique_names([engine.name or f"engine {n}" for n, engine in enumerate(engines, 1)])
    entrants = [engine.entrant(name, find_id) for engine, name in zip(engines, names, strict=True)]
    shared: dict[str, list[Any]] = {
        "tc": [engine.control() for engine in engines],
        "margin_ms": [_margin(engine) for engine in engines],
    }
    if any(tc.startswith(("nodes", "depth")) for tc in shared["tc"]):
        reading.said.append("without a clock they wait for ever; here a move has 60 s, hang_limit under [play]")
    for key, values in shared.items():
        if all(value == values[0] for value in values):
            reading.play[key] = values[0]
            continue
        for entrant, value in zip(entrants, values, strict=True):
            entrant[key] = value
    return tuple(entrants)


def _margin(engine: PeerEngine) -> int:
    margin = int(_number("engine", "timemargin", engine.given.get("timemargin", "0")))
    return int(_at_most(_LONGEST_MARGIN, margin, f"timemargin={margin}", engine.said))
